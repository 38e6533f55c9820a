/* One connection: its socket, which protocol it speaks, its end. The protocols are in conn_h1.c and
 * conn_h2.c. */
#include <assert.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/server_int.h"

static void on_stream_closed(void *arg)
{
    struct cor_conn *c = arg;
    struct cor_http_worker *w = c->worker;

    cor_list_remove(&c->link);
    cor_conn_h1_free(c);
    cor_conn_h2_free(c);
    cor_buf_deinit(&c->pending);
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

void cor_conn_gone(struct cor_conn *c, int why)
{
    cor_response_tell_gone(&c->resp, why);
    cor_conn_h2_gone(c, why);
    cor_conn_cut(c);
}

void cor_conn_end(struct cor_conn *c)
{
    c->state = COR_CONN_ENDING;
    cor_timer_cancel(&c->timer);
    cor_stream_end(c->stream);
}

void cor_conn_set_timer(struct cor_conn *c, struct cor_timer *timer, uint64_t due_ms)
{
    uint64_t now_ms = cor_conn_now_ms(c);

    if (due_ms == COR_HTTP_NO_DEADLINE)
        cor_timer_cancel(timer);
    else if (cor_timer_set(timer, due_ms > now_ms ? due_ms - now_ms : 0) < 0)
        cor_stream_fail(c->stream, -COR_ENOMEM);
}

static bool open_protocol(struct cor_conn *c, bool is_h2)
{
    if ((is_h2 ? cor_conn_h2_open(c) : cor_conn_h1_open(c)) == 0)
        return true;
    cor_stream_fail(c->stream, -COR_ENOMEM);
    return false;
}

static void on_open(struct cor_stream *s, void *arg)
{
    struct cor_conn *c = arg;

    c->is_open = true;
    if (cor_str_eqz(cor_stream_alpn(s), "h2"))
        open_protocol(c, true);
}

/* Without ALPN the first bytes tell: HTTP/2 begins with a preface that is no HTTP/1.1. False: more
 * of them are needed. */
static bool choose_protocol(struct cor_conn *c, struct cor_str bytes)
{
    struct cor_str preface = COR_STR(COR_H2_PREFACE);

    preface = cor_str_from(preface, c->pending.n);
    if (cor_stream_alpn(c->stream).n > 0)
        return open_protocol(c, false);
    if (bytes.n >= preface.n && cor_str_starts(bytes, preface))
        return open_protocol(c, true);
    if (bytes.n >= preface.n || !cor_str_starts(preface, bytes))
        return open_protocol(c, false);
    if (cor_buf_adds(&c->pending, bytes) < 0)
        cor_stream_fail(c->stream, -COR_ENOMEM);
    return false;
}

static void feed(struct cor_conn *c, struct cor_str bytes)
{
    if (c->h2)
        cor_conn_h2_data(c, bytes);
    else
        cor_conn_h1_data(c, bytes);
}

static void on_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct cor_conn *c = arg;
    struct cor_buf begun;

    if (c->state != COR_CONN_READING && c->state != COR_CONN_RESPONDING)
        return;
    if (!c->h1 && !c->h2) {
        if (!choose_protocol(c, bytes))
            return;
        begun = c->pending;
        cor_buf_init(&c->pending, begun.max);
        if (begun.n > 0)
            feed(c, cor_buf_str(&begun));
        cor_buf_deinit(&begun);
    }
    if (c->state != COR_CONN_CLOSING)
        feed(c, bytes);
}

static void on_writable(struct cor_stream *s, void *arg)
{
    struct cor_conn *c = arg;

    if (c->h2)
        cor_conn_h2_writable(c);
    else
        cor_conn_h1_writable(c);
}

/* A client that has ended its side while a handler works is taken to be gone, as Go's server does;
 * it still gets what has been said completely. */
static void on_end(struct cor_stream *s, int why, void *arg)
{
    struct cor_conn *c = arg;

    c->peer_ended = true;
    if (cor_response_is_held(&c->resp) || c->nexchanges > 0)
        cor_conn_gone(c, why == -COR_ETIMEOUT || why == -COR_ENOMEM ? why : -COR_ECANCELED);
    else if (why < 0 || c->state == COR_CONN_LINGERING)
        cor_conn_cut(c);
    else if (c->state == COR_CONN_READING)
        cor_conn_end(c);
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
    cor_conn_set_timer(c, &c->timer, cor_conn_now_ms(c) + COR_HTTP_LINGER_MS);
}

static const struct cor_stream_cbs stream_cbs = {on_open, on_data, on_writable, on_end, on_drained};

static void on_timer(struct cor_timer *timer)
{
    struct cor_conn *c = COR_CONTAINER_OF(timer, struct cor_conn, timer);

    if (c->state == COR_CONN_LINGERING || (!c->h1 && !c->h2))
        cor_conn_cut(c);
    else if (c->h2)
        cor_conn_h2_timer(c);
    else
        cor_conn_h1_timer(c);
}

void cor_conn_drain(struct cor_conn *c)
{
    if (!c->is_open)
        cor_conn_cut(c);
    else if (c->h2)
        cor_conn_h2_drain(c);
    else if (c->h1)
        cor_conn_h1_drain(c);
    else if (c->state == COR_CONN_READING)
        cor_conn_end(c);
}

static struct cor_conn *new_conn(struct cor_http_worker *w)
{
    struct cor_conn *c = cor_calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    c->worker = w;
    c->begun_ms = cor_loop_now_ms(w->loop);
    cor_timer_init(&c->timer, w->loop, on_timer);
    cor_buf_init(&c->pending, COR_HTTP_PENDING_MAX + COR_STREAM_READ_MAX);
    cor_list_init(&c->exchanges);
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
        cor_free(c);
        cor_worker_conn_closed(w);
        return;
    }
    cor_list_push(&w->conns, &c->link);
    cor_conn_set_timer(c, &c->timer, c->begun_ms + cor_conn_limits(c)->head_timeout_ms);
}
