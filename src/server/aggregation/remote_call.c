/* clang-format off */
/* A call to an aggregated server on behalf of a controller, between a stream of bytes and a sink of
 * objects:
 *
 *   start ──► the target is ready ──► the HTTP call ──► its head ──► WHOLE: bytes to the sink, then its end
 *      └──► refused: a text ──► over                         └──► LIST, WATCH: `rest` ──► slices ──► the reader
 *                                                                    ──► `held` ──► the sink ──► … ──► its end
 *
 * A reader gives all objects of what it is fed, and the sink says after each whether it has room. So a
 * reader is fed in slices in which no more objects can end than `held` has room for; what was not fed
 * stays in `rest`, and the call is paused meanwhile.
 *
 * What can fail:
 *   - the service is not available, has no address, its circuit is open, or no connection, TLS or answer:
 *     503 with the proxy's text (its circuit learns of it); its CA or our certificate: 500;
 *   - a redirection, or an answer in a Content-Encoding: 502;
 *   - after the head, the sink is aborted: the answer breaks off, is no list or watch, is longer than
 *     COR_REMOTE_CALL_BYTES_MAX, takes longer than COR_REMOTE_CALL_MS; all calls to the service hold
 *     more than COR_REMOTE_HELD_MAX; no memory.
 * Every way out is call_free(), after which nothing of the call is touched.
 * Thread: the loop of the targets. */
/* clang-format on */
#include "server/aggregation/remote_call.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/http_client.h"
#include "kit/api_operation.h"
#include "kit/dynamic/list_reader.h"
#include "kit/dynamic/watch_reader.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "json/write/writer.h"

/* An item of a list has at least three bytes, with its comma; the event of a watch has more. */
#define HELD_MAX    64
#define SLICE_BYTES (3 * HELD_MAX)
/* A piece is a window at most, or one read of a socket; one more may have come. */
#define REST_MAX  (2 * COR_TARGET_WINDOW + COR_HTTP_CALL_OUT_MAX)
#define TEXT_MAX  400
#define TAIL_MAX  (256u * 1024) /* of a list, and an ERROR event */
#define JSON_TYPE "application/json"

struct held {
    enum cor_watch_type event;
    struct cor_object *object; /* a reference */
};

struct remote_call {
    struct cor_dlist link; /* in the loop's calls */
    struct cor_remote_calls *calls;
    struct cor_target_use use;
    struct cor_api_service *service;
    const struct cor_server_request *request;
    struct cor_sink *sink;
    struct cor_http_call *http; /* NULL: not begun, or over */
    struct cor_timer timer;
    struct cor_remote_head head;
    enum { WHOLE, LIST, WATCH } kind;
    struct cor_list_reader list;
    struct cor_watch_reader watch;
    struct held held[HELD_MAX];
    size_t next, nheld;
    struct cor_buf rest;  /* what came and was not fed yet */
    size_t rest_at;       /* how much of it was fed */
    struct cor_buf error; /* the ERROR event of a watch, which is its last */
    size_t kept;          /* by the HTTP call, while it is paused */
    uint64_t bytes;       /* of the answer */
    int code;             /* of the answer; 0: none has begun */
    bool is_full;         /* the sink waits for room */
    bool is_paused;
    bool is_whole; /* the answer has come to its end */
};

void cor_remote_calls_init(struct cor_remote_calls *calls)
{
    cor_dlist_init(&calls->list);
}

/* The sink has ended, or is gone. */
static void call_free(struct remote_call *c)
{
    cor_timer_cancel(&c->timer);
    if (c->http)
        cor_http_call_cancel(COR_STEAL(c->http));
    cor_target_use_end(&c->use, -COR_ECANCELED, NULL);
    for (; c->next < c->nheld; c->next++)
        cor_object_unref(c->held[c->next].object);
    cor_list_reader_deinit(&c->list);
    cor_watch_reader_deinit(&c->watch);
    cor_remote_head_deinit(&c->head);
    cor_buf_deinit(&c->rest);
    cor_buf_deinit(&c->error);
    cor_dlist_remove(&c->link);
    cor_api_service_unref(c->service);
    cor_free(c);
}

/* Answers without the service, as a Go server's http.Error(): the reader of the sink makes of it
 * what client-go makes of such a text. */
static void call_reply(struct remote_call *c, int code, const char *what, const char *why)
{
    char text[TEXT_MAX];
    int n = snprintf(text, sizeof(text), "%s%s", what, why);
    const struct cor_str body = cor_str(text, n < TEXT_MAX ? (size_t)n : TEXT_MAX - 1);

    assert(c->code == 0 && n > 0);
    cor_sink_start(c->sink, code, NULL, 0, body.n);
    (void)cor_sink_writev(c->sink, &body, 1, 0);
    cor_sink_end(c->sink);
    call_free(c);
}

/* The service was not asked, or has not answered. */
static void call_refuse(struct remote_call *c, int r, const char *why)
{
    if (r == -COR_EINVAL || r == -COR_ENOMEM)
        call_reply(c, 500, "", why);
    else if (r == -COR_ENOTFOUND)
        call_reply(c, 503, "service unavailable", "");
    else
        call_reply(c, 503, "error trying to reach service: ", why);
}

/* The answer cannot be completed. */
static void call_abort(struct remote_call *c)
{
    assert(c->code > 0);
    cor_sink_abort(c->sink);
    call_free(c);
}

static void call_end(struct remote_call *c)
{
    cor_sink_end(c->sink);
    call_free(c);
}

/* What it holds of the service's bytes. */
static size_t call_held(const struct remote_call *c)
{
    return c->rest.cap + c->kept + c->list.splitter.part.cap + c->watch.splitter.part.cap;
}

/* May the call go on with what it holds? */
static bool call_has_room(const struct remote_call *c)
{
    size_t total = 0;

    if (call_held(c) <= COR_REMOTE_HELD_FREE)
        return true;
    COR_DLIST_FOREACH(link, &c->calls->list) {
        const struct remote_call *other = COR_CONTAINER_OF(link, struct remote_call, link);

        if (cor_str_eq(other->service->service_ns, c->service->service_ns) &&
            cor_str_eq(other->service->service_name, c->service->service_name))
            total += call_held(other);
    }
    return total <= COR_REMOTE_HELD_MAX;
}

/* --- objects ---------------------------------------------------------------------------------- */

static int call_hold(struct remote_call *c, enum cor_watch_type event, struct cor_object *object)
{
    if (c->nheld == HELD_MAX)
        return -COR_EPROTOCOL;
    c->held[c->nheld++] = (struct held){event, cor_object_ref(object)};
    return 0;
}

static int call_on_item(void *arg, struct cor_object *object)
{
    return call_hold(arg, COR_WATCH_ADDED, object);
}

/* What follows an ERROR is not looked at. */
static int call_on_event(void *arg, const struct cor_watch_event *event)
{
    struct remote_call *c = arg;
    int r;

    if (c->error.n > 0)
        return 0;
    if (event->type != COR_WATCH_ERROR)
        return call_hold(c, event->type, event->object);
    r = cor_buf_addz(&c->error, "{\"type\":\"ERROR\",\"object\":");
    if (r == 0)
        r = cor_status_write(event->status, &c->error);
    return r == 0 ? cor_buf_addc(&c->error, '}') : r;
}

static int call_feed(struct remote_call *c, struct cor_str slice)
{
    struct cor_status why = {0};
    int r = c->kind == LIST ? cor_list_reader_feed(&c->list, slice, &why)
                            : cor_watch_reader_feed(&c->watch, slice, &why);

    cor_status_deinit(&why);
    return r;
}

static void call_write(struct remote_call *c, const struct cor_buf *bytes)
{
    const struct cor_str span = cor_buf_str(bytes);

    /* A sink of objects takes all bytes. */
    (void)cor_sink_writev(c->sink, &span, 1, 0);
}

/* What a list says of itself, as a verb leaves it to a sink of objects. The texts are raw. */
static int call_write_tail(struct remote_call *c)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf tail = {0};
    struct cor_list_meta meta = cor_list_reader_meta(&c->list);
    int r;

    cor_buf_init(&tail, TAIL_MAX);
    r = cor_buf_addf(&tail, "{\"metadata\":{\"resourceVersion\":\"%.*s\",\"continue\":\"%.*s\"",
                     COR_STR_ARG(meta.resource_version), COR_STR_ARG(meta.continue_token));
    if (r == 0 && meta.remaining >= 0)
        r = cor_buf_addf(&tail, ",\"remainingItemCount\":%lld", (long long)meta.remaining);
    if (r == 0)
        r = cor_buf_addz(&tail, "}}");
    if (r == 0)
        call_write(c, &tail);
    return r;
}

/* All of the answer was fed and given. */
static void call_finish(struct remote_call *c)
{
    struct cor_status why = {0};
    int r = c->kind == LIST ? cor_list_reader_end(&c->list, &why) : 0;

    cor_status_deinit(&why);
    if (r == 0 && c->kind == LIST)
        r = call_write_tail(c);
    if (r < 0)
        call_abort(c);
    else
        call_end(c);
}

/* Gives what has come, until the sink is full or nothing is left. False: the call is over. */
static bool call_pump(struct remote_call *c)
{
    while (!c->is_full) {
        struct cor_str slice = cor_str_from(cor_buf_str(&c->rest), c->rest_at);

        if (c->next < c->nheld) {
            COR_CLEANUP(cor_object_unrefp) struct cor_object *object = c->held[c->next].object;

            c->is_full = !cor_sink_take_object(c->sink, c->held[c->next++].event, object);
            continue;
        }
        c->next = c->nheld = 0;
        if (c->error.n > 0) {
            call_write(c, &c->error);
            call_end(c);
            return false;
        }
        if (slice.n == 0)
            break;
        slice.n = slice.n < SLICE_BYTES ? slice.n : SLICE_BYTES;
        c->rest_at += slice.n;
        if (call_feed(c, slice) < 0) {
            call_abort(c);
            return false;
        }
    }
    if (c->is_full && c->http && !c->is_paused) {
        c->is_paused = true;
        cor_http_call_pause(c->http);
    }
    if (c->is_full)
        return true;
    cor_buf_deinit(&c->rest);
    cor_buf_init(&c->rest, REST_MAX);
    c->rest_at = 0;
    if (c->is_whole) {
        call_finish(c);
        return false;
    }
    if (c->is_paused) {
        c->is_paused = false;
        c->kept = 0;
        cor_http_call_resume(c->http);
    }
    return true;
}

/* --- the answer ------------------------------------------------------------------------------- */

static void call_begin(struct remote_call *c, int code)
{
    enum cor_api_verb verb = c->request->info.verb;
    bool is_read = code < 300;

    c->code = code;
    c->kind = is_read && verb == COR_API_VERB_LIST    ? LIST
              : is_read && verb == COR_API_VERB_WATCH ? WATCH
                                                      : WHOLE;
    if (c->kind == WATCH)
        cor_timer_cancel(&c->timer);
    cor_sink_start(c->sink, code, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
    cor_remote_head_deinit(&c->head);
}

static int call_on_head(void *arg, int code, const struct cor_http_header *headers, size_t n)
{
    struct remote_call *c = arg;
    struct cor_str encoding = cor_header_find(headers, n, COR_STR("content-encoding"));

    cor_target_use_answered(&c->use);
    if (code >= 300 && code < 400) {
        call_reply(c, 502, "the backend attempted to redirect this request, which is not permitted",
                   "");
        return -COR_ECANCELED;
    }
    if (encoding.n > 0 && !cor_header_name_eq(encoding, COR_STR("identity"))) {
        call_reply(c, 502, "the answer has a Content-Encoding that was not asked for", "");
        return -COR_ECANCELED;
    }
    call_begin(c, code);
    return 0;
}

static int call_on_body(void *arg, struct cor_str piece)
{
    struct remote_call *c = arg;

    c->bytes += piece.n;
    if (c->kind != WATCH && c->bytes > COR_REMOTE_CALL_BYTES_MAX) {
        call_abort(c);
        return -COR_ECANCELED;
    }
    if (c->kind == WHOLE) {
        (void)cor_sink_writev(c->sink, &piece, 1, 0);
        return 0;
    }
    if (cor_buf_adds(&c->rest, piece) < 0) {
        call_abort(c);
        return -COR_ECANCELED;
    }
    if (!call_pump(c))
        return -COR_ECANCELED;
    if (!call_has_room(c)) {
        call_abort(c);
        return -COR_ECANCELED;
    }
    return 0;
}

static int call_on_kept(void *arg, size_t bytes)
{
    struct remote_call *c = arg;

    c->kept = bytes;
    return call_has_room(c) ? 0 : -COR_ETOOBIG;
}

static void call_on_done(void *arg, int r, const char *text)
{
    struct remote_call *c = arg;
    char why[COR_TARGET_TEXT_MAX];

    c->http = NULL;
    if (r < 0 && c->code == 0) {
        cor_target_use_explain(&c->use, r, text, why);
        cor_target_use_end(&c->use, r, why);
        call_refuse(c, r, why);
    } else if (r < 0) {
        call_abort(c);
    } else if (c->kind == WHOLE) {
        call_end(c);
    } else {
        c->is_whole = true;
        (void)call_pump(c);
    }
}

static void call_on_timer(struct cor_timer *timer)
{
    struct remote_call *c = COR_CONTAINER_OF(timer, struct remote_call, timer);

    if (c->http)
        cor_http_call_cancel(COR_STEAL(c->http));
    if (c->code > 0) {
        call_abort(c);
        return;
    }
    cor_target_use_end(&c->use, -COR_ETIMEOUT, "the service does not answer");
    call_refuse(c, -COR_ETIMEOUT, "context deadline exceeded");
}

/* --- the sink --------------------------------------------------------------------------------- */

static void call_on_writable(void *arg)
{
    struct remote_call *c = arg;

    c->is_full = false;
    (void)call_pump(c);
}

static void call_on_gone(void *arg)
{
    call_free(arg);
}

/* The server shuts down: a watch ends, as if its time was over. */
static void call_on_drain(void *arg)
{
    struct remote_call *c = arg;

    if (c->code > 0 && c->kind == WATCH)
        call_end(c);
}

static const struct cor_sink_cbs sink_cbs = {call_on_writable, call_on_gone, call_on_drain};

/* --- the way there ---------------------------------------------------------------------------- */

static void call_go(struct remote_call *c)
{
    static const struct cor_http_call_cbs cbs = {.on_head = call_on_head,
                                                 .on_body = call_on_body,
                                                 .on_done = call_on_done,
                                                 .on_kept = call_on_kept};
    const struct cor_service_address *at = cor_target_use_address(&c->use);
    struct cor_http_call_opts opts = {.method = cor_http_method_name(c->request->method),
                                      .target = c->head.target,
                                      .body = c->request->body,
                                      .keeps_redirects = true,
                                      .cbs = &cbs,
                                      .arg = c};
    int r;

    cor_remote_head_set_host(&c->head, at->host, at->port);
    opts.headers = c->head.headers;
    opts.nheaders = c->head.nheaders;
    r = cor_http_call_open(cor_target_use_client(&c->use), &opts, &c->http);
    if (r < 0)
        call_refuse(c, r, cor_err_text(r));
}

static void call_on_ready(struct cor_target_use *use, int r, const char *text)
{
    struct remote_call *c = COR_CONTAINER_OF(use, struct remote_call, use);

    if (r < 0)
        call_refuse(c, r, text);
    else
        call_go(c);
}

static void call_begin_use(struct remote_call *c, struct cor_targets *targets)
{
    const struct cor_target_spec spec = cor_target_spec_of(c->service);
    const char *text = "";
    int r = cor_target_use_begin(targets, &spec, &c->use, &text);

    if (r <= 0)
        call_on_ready(&c->use, r, text);
}

/* The head of the request: as the proxy makes that of a client's. */
static int call_make_head(struct remote_call *c, const struct cor_remote_names *names)
{
    const struct cor_server_request *q = c->request;
    struct cor_http_header headers[3];
    size_t n = 0;
    const struct cor_str accept = !q->metadata_only ? COR_STR(JSON_TYPE)
                                  : q->info.verb == COR_API_VERB_LIST
                                      ? COR_STR(COR_ACCEPT_METADATA_LIST)
                                      : COR_STR(COR_ACCEPT_METADATA);

    headers[n++] = (struct cor_http_header){COR_STR("Accept"), accept};
    headers[n++] = (struct cor_http_header){COR_STR("User-Agent"), q->user_agent};
    if (q->body.n > 0)
        headers[n++] = (struct cor_http_header){
            COR_STR("Content-Type"), q->content_type.n > 0 ? q->content_type : COR_STR(JSON_TYPE)};
    return cor_remote_head_init(&c->head,
                                &(struct cor_remote_head_opts){.headers = headers,
                                                               .nheaders = n,
                                                               .path = q->info.path,
                                                               .query = q->query,
                                                               .user = cor_user_or_server(q->user),
                                                               .client_address = "",
                                                               .names = names});
}

static struct remote_call *call_new(struct cor_remote_calls *calls,
                                    const struct cor_remote_call_opts *opts)
{
    struct remote_call *c = cor_calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->calls = calls;
    c->service = cor_api_service_ref(opts->service);
    c->request = opts->request;
    c->sink = opts->sink;
    c->use.on_ready = call_on_ready;
    cor_list_reader_init(&c->list, call_on_item, c);
    cor_watch_reader_init(&c->watch, call_on_event, c);
    cor_buf_init(&c->rest, REST_MAX);
    cor_buf_init(&c->error, TAIL_MAX);
    cor_timer_init(&c->timer, cor_targets_loop(opts->targets), call_on_timer);
    cor_dlist_push(&calls->list, &c->link);
    return c;
}

void cor_remote_call_start(struct cor_remote_calls *calls, const struct cor_remote_call_opts *opts)
{
    struct remote_call *c = opts->targets ? call_new(calls, opts) : NULL;
    int r;

    assert(opts->service->is_remote && cor_sink_takes_objects(opts->sink));
    if (!c) {
        static const struct cor_str text = COR_STR_INIT("out of memory");

        cor_sink_start(opts->sink, 500, NULL, 0, text.n);
        (void)cor_sink_writev(opts->sink, &text, 1, 0);
        cor_sink_end(opts->sink);
        return;
    }
    cor_sink_set_cbs(c->sink, &sink_cbs, c);
    if (!cor_api_service_is_available(c->service)) {
        call_refuse(c, -COR_ENOTFOUND, "");
        return;
    }
    r = call_make_head(c, opts->names);
    if (r == 0)
        r = cor_timer_set(&c->timer, COR_REMOTE_CALL_MS);
    if (r < 0)
        call_refuse(c, r, cor_err_text(r));
    else
        call_begin_use(c, opts->targets);
}
