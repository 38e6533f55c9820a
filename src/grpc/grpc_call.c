/* A call from its opening to its on_done: the request's head, messages out, deadline, cancellation.
 * What comes in is in grpc_call_recv.c. */
#include "grpc/grpc_call.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "coracle/version.h"
#include "grpc/grpc_channel_int.h"

#define FIXED_HEADERS 4
/* gRPC's timeouts have at most eight digits. */
#define TIMEOUT_MAX UINT64_C(99999999)
/* Spans of a message that are sent without being copied first. */
#define SPANS_MAX 15

struct cor_grpc_call *cor_grpc_call_free(struct cor_grpc_call *call)
{
    struct cor_grpc_channel *ch = call->ch;

    cor_dlist_remove(&call->link);
    cor_timer_cancel(&call->deadline);
    cor_message_reader_deinit(&call->reader);
    cor_buf_deinit(&call->out);
    cor_buf_deinit(&call->message);
    cor_free(call->request);
    cor_free(call->metadata);
    cor_free(call);
    cor_grpc_channel_call_gone(ch);
    return NULL;
}

static void drop_stream(struct cor_grpc_call *call, uint32_t code)
{
    if (call->stream)
        cor_h2_reset(COR_STEAL(call->stream), code);
}

/* The text is kept as far as memory allows: the code is what counts. */
static void set_status(struct cor_grpc_call *call, enum cor_grpc_code code, const char *text)
{
    cor_buf_reset(&call->message);
    cor_buf_addz(&call->message, text);
    call->status.code = code;
    call->has_status = true;
}

void cor_grpc_call_fail(struct cor_grpc_call *call, enum cor_grpc_code code, const char *text,
                        bool is_untouched)
{
    if (call->state == COR_GRPC_CALL_DONE)
        return;
    drop_stream(call, COR_H2_CANCEL);
    call->state = COR_GRPC_CALL_DONE;
    call->status.is_untouched = is_untouched;
    set_status(call, code, text);
}

void cor_grpc_call_finish(struct cor_grpc_call *call)
{
    struct cor_grpc_status status = call->status;
    bool is_ok = status.code == COR_GRPC_OK;

    assert(call->state == COR_GRPC_CALL_DONE && !call->is_busy);
    status.message = cor_buf_str(&call->message);
    cor_timer_cancel(&call->deadline);
    cor_dlist_remove(&call->link);
    call->is_busy = true;
    if (call->on_reply)
        call->on_reply(&status, is_ok ? call->reply : COR_STR(""), call->arg);
    else
        call->cbs->on_done(call, &status, call->arg);
    cor_grpc_call_free(call);
}

static void on_deadline(struct cor_timer *timer)
{
    struct cor_grpc_call *call = COR_CONTAINER_OF(timer, struct cor_grpc_call, deadline);

    cor_grpc_call_fail(call, COR_GRPC_DEADLINE_EXCEEDED, "deadline exceeded",
                       call->state == COR_GRPC_CALL_WAITING);
    cor_grpc_call_finish(call);
}

static struct cor_str timeout_text(struct cor_grpc_call *call, char text[16])
{
    uint64_t now_ms = cor_loop_now_ms(cor_net_loop(call->ch->net));
    uint64_t left_ms = call->deadline_ms > now_ms ? call->deadline_ms - now_ms : 1;

    if (left_ms <= TIMEOUT_MAX)
        snprintf(text, 16, "%llum", (unsigned long long)left_ms);
    else
        snprintf(text, 16, "%lluS", (unsigned long long)(left_ms / 1000 % (TIMEOUT_MAX + 1)));
    return cor_strz(text);
}

static int open_stream(struct cor_grpc_call *call, struct cor_str method,
                       const struct cor_http_header *metadata, size_t nmetadata)
{
    struct cor_http_header headers[FIXED_HEADERS + COR_GRPC_METADATA_MAX] = {
        {COR_STR("content-type"), COR_STR("application/grpc")},
        {COR_STR("te"), COR_STR("trailers")},
        {COR_STR("user-agent"), COR_STR("coracle/" COR_VERSION)},
    };
    struct cor_grpc_link *link = call->ch->active;
    struct cor_h2_request req = {.method = COR_STR("POST"),
                                 .scheme = call->ch->opts.tls ? COR_STR("https") : COR_STR("http"),
                                 .authority = cor_strz(link->authority),
                                 .path = method,
                                 .headers = headers,
                                 .nheaders = 3,
                                 .has_body = true};
    char timeout[16];

    if (call->deadline_ms > 0)
        headers[req.nheaders++] =
            (struct cor_http_header){COR_STR("grpc-timeout"), timeout_text(call, timeout)};
    for (size_t i = 0; i < nmetadata; i++)
        headers[req.nheaders++] = metadata[i];
    return cor_h2_open(cor_client_conn_h2(link->conn), &req, &cor_grpc_stream_cbs, call,
                       &call->stream);
}

static char *put(char **at, struct cor_str s)
{
    char *p = *at;

    memcpy(p, s.p, s.n);
    *at += s.n;
    return p;
}

/* Keeps the request until there is a connection. */
static int keep_request(struct cor_grpc_call *call, const struct cor_grpc_call_opts *opts)
{
    size_t n = opts->method.n + 1;
    char *at;

    for (size_t i = 0; i < opts->nmetadata; i++)
        n += opts->metadata[i].name.n + opts->metadata[i].value.n;
    call->request = at = cor_alloc(n);
    call->metadata = cor_calloc(opts->nmetadata + 1, sizeof(*call->metadata));
    if (!call->request || !call->metadata)
        return -COR_ENOMEM;
    call->method = cor_str(put(&at, opts->method), opts->method.n);
    for (size_t i = 0; i < opts->nmetadata; i++) {
        const struct cor_http_header *from = &opts->metadata[i];

        call->metadata[i].name = cor_str(put(&at, from->name), from->name.n);
        call->metadata[i].value = cor_str(put(&at, from->value), from->value.n);
    }
    call->nmetadata = opts->nmetadata;
    return 0;
}

void cor_grpc_call_start(struct cor_grpc_call *call)
{
    int r = open_stream(call, call->method, call->metadata, call->nmetadata);

    if (r == -COR_ECANCELED)
        return;
    cor_dlist_remove(&call->link);
    cor_dlist_push(&call->ch->calls, &call->link);
    call->request = cor_free(call->request);
    call->metadata = cor_free(call->metadata);
    if (r < 0) {
        cor_grpc_call_fail(call, COR_GRPC_RESOURCE_EXHAUSTED, cor_err_text(r), true);
        cor_grpc_call_finish(call);
        return;
    }
    call->state = COR_GRPC_CALL_RUNNING;
    cor_grpc_call_pump(call);
}

/* Where the channel stands decides. */
static int begin(struct cor_grpc_call *call, const struct cor_grpc_call_opts *opts)
{
    struct cor_grpc_channel *ch = call->ch;
    int r = -COR_ECANCELED;

    if (ch->state == COR_GRPC_CHANNEL_READY)
        r = open_stream(call, opts->method, opts->metadata, opts->nmetadata);
    if (r == 0) {
        call->state = COR_GRPC_CALL_RUNNING;
        cor_dlist_push(&ch->calls, &call->link);
        return 0;
    }
    if (r != -COR_ECANCELED)
        return r;
    if (ch->state == COR_GRPC_CHANNEL_FAILING) {
        cor_grpc_call_fail(call, COR_GRPC_UNAVAILABLE, ch->why, true);
        cor_grpc_channel_set_due(ch, call);
        return 0;
    }
    r = keep_request(call, opts);
    if (r == 0)
        cor_dlist_push(&ch->waiting, &call->link);
    return r;
}

static int new_call(struct cor_grpc_channel *ch, const struct cor_grpc_call_opts *opts,
                    struct cor_grpc_call **ret_call)
{
    struct cor_grpc_call *call;
    int r = 0;

    assert(ch->state != COR_GRPC_CHANNEL_CLOSING && cor_loop_is_current(cor_net_loop(ch->net)));
    if (opts->nmetadata > COR_GRPC_METADATA_MAX)
        return -COR_ETOOBIG;
    if (ch->ncalls == COR_GRPC_CALLS_MAX)
        return -COR_EBUSY;
    call = cor_calloc(1, sizeof(*call));
    if (!call)
        return -COR_ENOMEM;
    ch->ncalls++;
    call->ch = ch;
    cor_dlist_init(&call->link);
    cor_timer_init(&call->deadline, cor_net_loop(ch->net), on_deadline);
    cor_message_reader_init(&call->reader, ch->opts.recv_max, COR_GRPC_WINDOW);
    cor_buf_init(&call->out, COR_GRPC_SEND_MAX + COR_GRPC_SEND_QUEUE_BYTES);
    cor_buf_init(&call->message, 4096);
    if (opts->timeout_ms > 0) {
        call->deadline_ms = cor_loop_now_ms(cor_net_loop(ch->net)) + opts->timeout_ms;
        r = cor_timer_set(&call->deadline, opts->timeout_ms);
    }
    if (r == 0)
        r = begin(call, opts);
    if (r < 0) {
        cor_grpc_call_free(call);
        return r;
    }
    *ret_call = call;
    return 0;
}

int cor_grpc_call_open(struct cor_grpc_channel *ch, const struct cor_grpc_call_opts *opts,
                       const struct cor_grpc_call_cbs *cbs, void *arg,
                       struct cor_grpc_call **ret_call)
{
    int r = new_call(ch, opts, ret_call);

    if (r < 0)
        return r;
    (*ret_call)->cbs = cbs;
    (*ret_call)->arg = arg;
    return 0;
}

/* Appends what is left of the spans after their first `skip` bytes. The room is there. */
static void queue_spans(struct cor_grpc_call *call, const struct cor_str *spans, size_t n,
                        size_t skip)
{
    for (size_t i = 0; i < n; i++) {
        size_t skipped = skip < spans[i].n ? skip : spans[i].n;

        skip -= skipped;
        cor_buf_adds(&call->out, cor_str_from(spans[i], skipped));
    }
}

void cor_grpc_call_pump(struct cor_grpc_call *call)
{
    struct cor_str rest = cor_str_from(cor_buf_str(&call->out), call->out_done);
    bool ends = call->out_ends && !call->is_ended;

    if (!call->stream || (rest.n == 0 && !ends))
        return;
    call->out_done += cor_h2_write(call->stream, &rest, 1, 0, ends);
    if (call->out_done < call->out.n)
        return;
    call->is_ended = call->out_ends;
    call->out_done = 0;
    cor_buf_deinit(&call->out);
}

static int send_message(struct cor_grpc_call *call, const struct cor_str *spans, size_t nspans,
                        bool is_last)
{
    size_t n = 0, queued = call->out.n - call->out_done, taken = 0;
    struct cor_str batch[1 + SPANS_MAX];
    char prefix[COR_GRPC_PREFIX_BYTES];

    assert(nspans <= SPANS_MAX && !call->out_ends);
    if (call->state == COR_GRPC_CALL_DONE)
        return -COR_ECANCELED;
    for (size_t i = 0; i < nspans; i++)
        n += (batch[1 + i] = spans[i]).n;
    if (n > COR_GRPC_SEND_MAX)
        return -COR_ETOOBIG;
    if (queued > 0 && queued + n > COR_GRPC_SEND_QUEUE_BYTES) {
        call->is_short = true;
        return -COR_EBUSY;
    }
    cor_message_prefix(prefix, n);
    batch[0] = cor_str(prefix, sizeof(prefix));
    n += sizeof(prefix);
    if ((!call->stream || queued > 0 || cor_h2_room(call->stream) < n) &&
        cor_buf_reserve(&call->out, n) < 0)
        return -COR_ENOMEM;
    call->out_ends = is_last;
    if (call->stream && queued == 0)
        taken = cor_h2_write(call->stream, batch, 1 + nspans, 0, is_last);
    if (taken < n)
        queue_spans(call, batch, 1 + nspans, taken);
    else
        call->is_ended = is_last;
    return 0;
}

int cor_grpc_call_send(struct cor_grpc_call *call, const struct cor_str *spans, size_t nspans)
{
    return send_message(call, spans, nspans, false);
}

void cor_grpc_call_end(struct cor_grpc_call *call)
{
    call->out_ends = true;
    if (call->out.n == call->out_done)
        cor_grpc_call_pump(call);
}

int cor_grpc_unary(struct cor_grpc_channel *ch, const struct cor_grpc_call_opts *opts,
                   const struct cor_str *spans, size_t nspans, cor_grpc_reply_cb on_reply,
                   void *arg, struct cor_grpc_call **ret_call)
{
    struct cor_grpc_call *call;
    int r = new_call(ch, opts, &call);

    if (r < 0)
        return r;
    call->on_reply = on_reply;
    call->arg = arg;
    r = send_message(call, spans, nspans, true);
    if (r < 0 && r != -COR_ECANCELED) {
        cor_grpc_call_cancel(call);
        return r;
    }
    if (ret_call)
        *ret_call = call;
    return 0;
}

void cor_grpc_call_cancel(struct cor_grpc_call *call)
{
    drop_stream(call, COR_H2_CANCEL);
    if (call->is_busy)
        call->is_cancelled = true;
    else
        cor_grpc_call_free(call);
}
