/* One connection: bytes in, one request at a time to the handler, and what happens around it.
 * While a response is made the socket is read on, because only so a client that goes away is
 * noticed; what a pipelining client sends meanwhile waits, within a limit. */
#include <assert.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/server_int.h"

#define BODY_FIRST_BYTES (64u * 1024)

static const struct cor_http_limits *limits_of(const struct cor_conn *c)
{
    return &c->worker->server->opts.limits;
}

static int on_head(const struct cor_h1_head *head, void *arg)
{
    struct cor_conn *c = arg;
    struct cor_http_request *req = &c->resp.request;
    size_t first = head->length < BODY_FIRST_BYTES ? (size_t)head->length : BODY_FIRST_BYTES;

    c->has_head = true;
    c->keep_alive = head->keep_alive;
    c->wants_continue = head->expects_continue && head->length > 0;
    req->headers = head->headers;
    req->nheaders = head->nheaders;
    req->peer = cor_stream_peer(c->stream);
    req->received_us = cor_clock_mono_us(cor_clock_real());
    req->loop = c->worker->index;
    c->resp.deadline_ms = cor_loop_now_ms(c->worker->loop) + limits_of(c)->request_timeout_ms;
    if (cor_request_set_target(req, head->method, head->target) < 0)
        return -COR_EINVAL;
    if (first == 0 || head->length > limits_of(c)->body_max)
        return 0;
    return cor_buf_reserve(&c->body, first);
}

static int on_body(struct cor_str piece, void *arg)
{
    struct cor_conn *c = arg;
    struct cor_http_worker *w = c->worker;
    int r;

    if (w->body_bytes + piece.n > limits_of(c)->bodies_max / w->server->nworkers)
        return -COR_EBUSY;
    r = cor_buf_adds(&c->body, piece);
    if (r == 0)
        w->body_bytes += piece.n;
    return r;
}

static void drop_body(struct cor_conn *c)
{
    c->worker->body_bytes -= c->body.n;
    cor_buf_deinit(&c->body);
}

static int on_message_end(void *arg)
{
    return 0;
}

static const struct cor_h1_cbs h1_cbs = {on_head, on_body, on_message_end};

static void count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static void on_stream_closed(void *arg)
{
    struct cor_conn *c = arg;
    struct cor_http_worker *w = c->worker;

    cor_list_remove(&c->link);
    cor_h1_free(c->h1);
    drop_body(c);
    cor_buf_deinit(&c->pending);
    cor_buf_deinit(&c->resp.tail);
    cor_free(c);
    cor_worker_conn_closed(w);
}

void cor_conn_cut(struct cor_conn *c)
{
    if (c->state == COR_CONN_CLOSING)
        return;
    c->state = COR_CONN_CLOSING;
    c->resp.state = COR_RESPONSE_NONE;
    cor_timer_cancel(&c->timer);
    cor_stream_close(c->stream, on_stream_closed, c);
}

static bool is_held(const struct cor_http_response *resp)
{
    return resp->state == COR_RESPONSE_HELD || resp->state == COR_RESPONSE_STARTED;
}

static void tell_gone(struct cor_conn *c, int why)
{
    struct cor_http_response *resp = &c->resp;

    if (!is_held(resp))
        return;
    assert(resp->cbs && resp->cbs->on_gone);
    resp->state = COR_RESPONSE_NONE;
    resp->cbs->on_gone(resp, why, resp->arg);
}

void cor_conn_gone(struct cor_conn *c, int why)
{
    tell_gone(c, why);
    cor_conn_cut(c);
}

static void end_connection(struct cor_conn *c)
{
    c->state = COR_CONN_ENDING;
    cor_timer_cancel(&c->timer);
    cor_stream_end(c->stream);
}

void cor_conn_finish(struct cor_conn *c)
{
    cor_response_reset(&c->resp);
    drop_body(c);
    c->has_head = false;
    if (!c->keep_alive || c->peer_ended) {
        end_connection(c);
        return;
    }
    cor_h1_next(c->h1, false);
    c->state = COR_CONN_READING;
    c->begun_ms = 0;
    if (c->pending.n > 0)
        cor_stream_want_writable(c->stream);
    cor_conn_settle(c);
}

void cor_conn_settle(struct cor_conn *c)
{
    const struct cor_http_limits *limits = limits_of(c);
    uint64_t now_ms = cor_loop_now_ms(c->worker->loop), due_ms;

    if (c->state == COR_CONN_RESPONDING || (c->state == COR_CONN_READING && c->has_head))
        due_ms = c->resp.deadline_ms;
    else if (c->state == COR_CONN_LINGERING)
        due_ms = now_ms + COR_HTTP_LINGER_MS;
    else if (c->state == COR_CONN_READING && c->begun_ms == 0)
        due_ms = now_ms + limits->idle_timeout_ms;
    else if (c->state == COR_CONN_READING)
        due_ms = c->begun_ms + limits->head_timeout_ms;
    else
        return;
    if (due_ms == COR_HTTP_NO_DEADLINE)
        cor_timer_cancel(&c->timer);
    else if (cor_timer_set(&c->timer, due_ms > now_ms ? due_ms - now_ms : 0) < 0)
        cor_stream_fail(c->stream, -COR_ENOMEM);
}

static const char *error_body(struct cor_conn *c, int status, const char *message,
                              struct cor_buf *out)
{
    const struct cor_http_server_opts *opts = &c->worker->server->opts;
    const char *type = NULL;

    if (opts->on_error)
        type =
            opts->on_error(c->has_head ? &c->resp.request : NULL, status, message, out, opts->arg);
    if (type)
        return type;
    cor_buf_reset(out);
    cor_buf_addf(out, "%d %s: %s\n", status, cor_h1_status_text(status), message);
    return "text/plain; charset=utf-8";
}

void cor_conn_error(struct cor_conn *c, int status, const char *message)
{
    struct cor_http_header headers[] = {{.name = COR_STR("Content-Type")},
                                        {COR_STR("Retry-After"), COR_STR("1")}};
    struct cor_buf body;

    count(&c->worker->errors);
    cor_buf_init(&body, 64u * 1024);
    headers[0].value = cor_strz(error_body(c, status, message, &body));
    c->state = COR_CONN_RESPONDING;
    c->resp.state = COR_RESPONSE_HELD;
    cor_http_response_send(&c->resp, status, headers, status == 429 ? 2 : 1, cor_buf_str(&body));
    cor_buf_deinit(&body);
}

/* A message that could not be read: what follows it cannot be either. */
static void refuse(struct cor_conn *c, int r)
{
    const struct cor_h1_error *error = cor_h1_error(c->h1);

    c->keep_alive = false;
    if (r == -COR_EINVAL && c->has_head && error->status == 500)
        cor_conn_error(c, 400, "malformed request target");
    else if (r == -COR_EBUSY)
        cor_conn_error(c, 429, "too many request bodies at once");
    else if (r == -COR_ENOMEM)
        cor_conn_error(c, 503, "out of memory");
    else
        cor_conn_error(c, error->status, error->text);
}

static void tell_drain(struct cor_conn *c)
{
    struct cor_http_response *resp = &c->resp;

    if (is_held(resp) && resp->cbs->on_drain)
        resp->cbs->on_drain(resp, resp->arg);
}

static void dispatch(struct cor_conn *c)
{
    const struct cor_http_server_opts *opts = &c->worker->server->opts;

    count(&c->worker->requests);
    c->state = COR_CONN_RESPONDING;
    c->resp.state = COR_RESPONSE_HELD;
    c->resp.request.body = cor_buf_str(&c->body);
    if (c->worker->is_draining)
        c->keep_alive = false;
    opts->on_request(&c->resp.request, &c->resp, opts->arg);
    assert(!is_held(&c->resp) || c->resp.cbs);
    if (c->worker->is_draining)
        tell_drain(c);
}

static void keep_for_later(struct cor_conn *c, struct cor_str bytes)
{
    if (bytes.n == 0)
        return;
    if (cor_buf_adds(&c->pending, bytes) < 0) {
        cor_stream_fail(c->stream, -COR_ENOMEM);
        return;
    }
    if (c->pending.n > COR_HTTP_PENDING_MAX)
        cor_stream_read_stop(c->stream);
    if (c->state == COR_CONN_READING)
        cor_stream_want_writable(c->stream);
}

/* Takes input up to the end of one request. */
static void feed(struct cor_conn *c, struct cor_str bytes)
{
    size_t used;
    int r = cor_h1_feed(c->h1, bytes, &used);

    if (r < 0) {
        refuse(c, r);
        return;
    }
    if (c->wants_continue) {
        struct cor_str go_on = COR_STR(COR_H1_CONTINUE);

        c->wants_continue = false;
        if (!cor_h1_is_done(c->h1))
            cor_stream_write(c->stream, &go_on, 1);
    }
    if (!cor_h1_is_done(c->h1)) {
        if (c->begun_ms == 0)
            c->begun_ms = cor_loop_now_ms(c->worker->loop);
        cor_conn_settle(c);
        return;
    }
    dispatch(c);
    if (c->state == COR_CONN_RESPONDING)
        cor_conn_settle(c);
    if (c->state == COR_CONN_READING || c->state == COR_CONN_RESPONDING)
        keep_for_later(c, cor_str_from(bytes, used));
}

static void on_open(struct cor_stream *s, void *arg)
{
    struct cor_conn *c = arg;

    c->is_open = true;
}

static void on_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct cor_conn *c = arg;

    if (c->state == COR_CONN_READING && c->pending.n == 0)
        feed(c, bytes);
    else if (c->state == COR_CONN_READING || c->state == COR_CONN_RESPONDING)
        keep_for_later(c, bytes);
}

static void feed_pending(struct cor_conn *c)
{
    struct cor_buf pending = c->pending;

    cor_buf_init(&c->pending, pending.max);
    feed(c, cor_buf_str(&pending));
    cor_buf_deinit(&pending);
    if (c->state != COR_CONN_CLOSING && c->pending.n <= COR_HTTP_PENDING_MAX && !c->peer_ended)
        cor_stream_read_start(c->stream);
}

static void on_writable(struct cor_stream *s, void *arg)
{
    struct cor_conn *c = arg;
    struct cor_http_response *resp = &c->resp;

    if (c->state == COR_CONN_READING && c->pending.n > 0) {
        feed_pending(c);
    } else if (resp->state == COR_RESPONSE_ENDED) {
        cor_response_pump(resp);
    } else if (resp->is_short) {
        resp->is_short = false;
        if (resp->cbs && resp->cbs->on_writable)
            resp->cbs->on_writable(resp, resp->arg);
    }
}

/* A client that has ended its side while a handler works is taken to be gone, as Go's server does;
 * it still gets what has been said completely. */
static void on_end(struct cor_stream *s, int why, void *arg)
{
    struct cor_conn *c = arg;

    c->peer_ended = true;
    if (is_held(&c->resp))
        cor_conn_gone(c, why == -COR_ETIMEOUT || why == -COR_ENOMEM ? why : -COR_ECANCELED);
    else if (why < 0 || c->state == COR_CONN_LINGERING)
        cor_conn_cut(c);
    else if (c->state == COR_CONN_READING)
        end_connection(c);
}

static void on_drained(struct cor_stream *s, void *arg)
{
    struct cor_conn *c = arg;

    if (c->peer_ended) {
        cor_conn_cut(c);
        return;
    }
    c->state = COR_CONN_LINGERING;
    cor_stream_read_start(c->stream);
    cor_conn_settle(c);
}

static const struct cor_stream_cbs stream_cbs = {on_open, on_data, on_writable, on_end, on_drained};

static void on_deadline(struct cor_conn *c)
{
    if (c->resp.state == COR_RESPONSE_STARTED) {
        cor_conn_gone(c, -COR_ETIMEOUT);
        return;
    }
    if (c->state == COR_CONN_READING)
        c->keep_alive = false;
    tell_gone(c, -COR_ETIMEOUT);
    cor_conn_error(c, 504, "request did not complete within the allotted timeout");
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_conn *c = COR_CONTAINER_OF(timer, struct cor_conn, timer);

    if (c->state == COR_CONN_LINGERING ||
        (c->state == COR_CONN_READING && !c->has_head && !cor_h1_is_begun(c->h1)))
        cor_conn_cut(c);
    else if (c->state == COR_CONN_RESPONDING && c->resp.state == COR_RESPONSE_ENDED)
        cor_conn_cut(c);
    else if (c->state == COR_CONN_RESPONDING || c->has_head)
        on_deadline(c);
    else {
        c->keep_alive = false;
        cor_conn_error(c, 408, "the request's head took too long");
    }
}

void cor_conn_drain(struct cor_conn *c)
{
    c->keep_alive = false;
    if (!c->is_open)
        cor_conn_cut(c);
    else if (c->state == COR_CONN_READING && !cor_h1_is_begun(c->h1) && c->pending.n == 0)
        end_connection(c);
    else
        tell_drain(c);
}

static struct cor_conn *new_conn(struct cor_http_worker *w)
{
    struct cor_conn *c = cor_calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->h1 = cor_h1_new(COR_H1_SERVER, &w->server->h1_limits, &h1_cbs, c);
    if (!c->h1)
        return cor_free(c);
    c->worker = w;
    c->begun_ms = cor_loop_now_ms(w->loop);
    cor_timer_init(&c->timer, w->loop, on_timer);
    cor_buf_init(&c->body, w->server->opts.limits.body_max);
    cor_buf_init(&c->pending, COR_HTTP_PENDING_MAX + COR_STREAM_READ_MAX);
    cor_buf_init(&c->resp.tail, COR_HTTP_TAIL_MAX);
    return c;
}

void cor_conn_open(struct cor_http_worker *w, int take_fd, struct cor_tls *tls)
{
    struct cor_conn *c = new_conn(w);
    struct cor_stream_opts opts = {.cbs = &stream_cbs,
                                   .arg = c,
                                   .tls = tls,
                                   .out_max = COR_HTTP_RESPONSE_MAX + COR_HTTP_OUT_SLACK,
                                   .stall_ms = w->server->opts.limits.request_timeout_ms};

    if (!c) {
        close(take_fd);
        cor_worker_conn_closed(w);
        return;
    }
    if (cor_stream_open(w->net, take_fd, &opts, &c->stream) < 0) {
        cor_h1_free(c->h1);
        cor_free(c);
        cor_worker_conn_closed(w);
        return;
    }
    cor_list_push(&w->conns, &c->link);
    cor_conn_settle(c);
}
