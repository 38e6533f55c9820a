/* One connection: its socket, which protocol it speaks, its end. The protocols are in conn_h1.c and
 * conn_h2.c. */
#include <assert.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/http_server_int.h"
#include "net/host/host.h"

/* So many of the oldest connections are looked at for one that may be ended. */
#define REPLACED_OF 256

static void leave_unknown(struct cor_conn *c)
{
    if (cor_dlist_empty(&c->unknown_link))
        return;
    cor_dlist_remove(&c->unknown_link);
    atomic_fetch_sub_explicit(&c->worker->nunknown, 1, memory_order_relaxed);
}

static void on_stream_closed(void *arg)
{
    struct cor_conn *c = arg;
    struct cor_http_worker *w = c->worker;

    cor_dlist_remove(&c->link);
    cor_conn_h1_deinit(c);
    cor_conn_h2_deinit(c);
    cor_buf_deinit(&c->pending);
    cor_budget_share_deinit(&c->share);
    cor_free(c);
    cor_worker_conn_closed(w);
}

int cor_conn_charge(struct cor_conn *c, size_t *charged, size_t bytes)
{
    int r = 0;

    if (bytes > *charged)
        r = cor_budget_take(&c->share, bytes - *charged);
    else if (bytes < *charged)
        cor_budget_give(&c->share, *charged - bytes);
    if (r == 0)
        *charged = bytes;
    return r;
}

int cor_conn_charge_input(struct cor_conn *c, size_t *charged, size_t bytes)
{
    if (bytes < *charged || bytes > COR_HTTP_INPUT_FREE)
        return cor_conn_charge(c, charged, bytes);
    cor_budget_add(&c->share, bytes - *charged);
    *charged = bytes;
    return 0;
}

int cor_conn_set_sender(struct cor_conn *c, enum cor_http_rank rank, struct cor_str name)
{
    int r = cor_budget_move(&c->share, rank, name);

    if (r == 0)
        leave_unknown(c);
    return r;
}

void cor_conn_cut(struct cor_conn *c)
{
    if (c->state == COR_CONN_CLOSING)
        return;
    c->state = COR_CONN_CLOSING;
    leave_unknown(c);
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

/* Without ALPN the first bytes tell: HTTP/2 begins with a preface that is not HTTP/1.1. False: more
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
    if (c->is_tunnel && why == 0 && cor_response_is_held(&c->resp))
        cor_conn_h1_peer_ended(c);
    else if (cor_response_is_held(&c->resp) || c->nexchanges > 0)
        cor_conn_gone(c, why == -COR_ETIMEOUT || why == -COR_ENOMEM ? why : -COR_ECANCELED);
    else if (why < 0 || c->state == COR_CONN_LINGERING)
        cor_conn_cut(c);
    else if (c->state == COR_CONN_READING)
        cor_conn_end(c);
}

/* Input waits for the handler, or for the output, and the client has ended its side. It is taken to
 * be gone, as in on_end(), except that a tunnel has two ends, and its handler takes the rest first.
 */
static void on_left(struct cor_stream *s, void *arg)
{
    struct cor_conn *c = arg;

    if (!c->is_tunnel && (cor_response_is_held(&c->resp) || c->nexchanges > 0))
        cor_conn_gone(c, -COR_ECANCELED);
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

/* Ends a connection that has not authenticated for the sake of others. */
static void replace(struct cor_conn *c)
{
    atomic_fetch_add_explicit(&c->worker->replaced, 1, memory_order_relaxed);
    cor_conn_gone(c, -COR_ECANCELED);
    cor_budget_share_deinit(&c->share);
}

/* Unauthenticated connections hold too much. Ends the oldest of them whose output is not read; if
 * there is none, this one, whose output has just grown. */
static void end_unread(struct cor_conn *c)
{
    struct cor_http_worker *w = c->worker;
    size_t n = 0;

    COR_DLIST_FOREACH_SAFE(it, &w->unknown) {
        struct cor_conn *old = COR_CONTAINER_OF(it, struct cor_conn, unknown_link);

        if (n++ == REPLACED_OF || !cor_budget_is_over(&c->share))
            break;
        if (old != c && old->out_charged > 0 && old->share.account == c->share.account)
            replace(old);
    }
    if (cor_budget_is_over(&c->share))
        replace(c);
}

/* The share is charged with what waits for its reader. */
static void on_waiting(struct cor_stream *s, size_t n, void *arg)
{
    struct cor_conn *c = arg;
    bool has_grown = n > c->out_charged;

    if (has_grown)
        cor_budget_add(&c->share, n - c->out_charged);
    else
        cor_budget_give(&c->share, c->out_charged - n);
    c->out_charged = n;
    if (has_grown && !cor_dlist_empty(&c->unknown_link) && cor_budget_is_over(&c->share))
        end_unread(c);
}

static const struct cor_stream_cbs stream_cbs = {on_open,    on_data,    on_writable, on_end,
                                                 on_drained, on_waiting, on_left};

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
    cor_dlist_init(&c->exchanges);
    cor_dlist_init(&c->ready);
    cor_dlist_init(&c->woken);
    cor_dlist_init(&c->unknown_link);
    return c;
}

static struct cor_str source_of(const struct cor_peer *peer, char text[COR_HOST_SOURCE_MAX])
{
    if (!peer->is_unix)
        return cor_host_source(peer->address, text);
    snprintf(text, COR_HOST_SOURCE_MAX, "@%lu", (unsigned long)peer->uid);
    return cor_strz(text);
}

/* Has it nothing under way that anybody would miss? */
static bool is_idle(const struct cor_conn *c)
{
    return c->state == COR_CONN_READING && !cor_response_is_held(&c->resp) && c->nexchanges == 0;
}

/* Clients that dribble a body, or do not read an answer, are at work forever. */
static bool waits_for_peer(const struct cor_conn *c)
{
    return cor_response_waits_for_peer(&c->resp) && cor_conn_h2_waits_for_peer(c);
}

/* Ends the oldest connection of this loop that has not authenticated and that `may_end` allows;
 * with a `source` only of those from there. False: there is none. */
static bool end_oldest(struct cor_http_worker *w, const struct cor_str *source,
                       bool (*may_end)(const struct cor_conn *c))
{
    size_t n = 0;

    COR_DLIST_FOREACH_SAFE(it, &w->unknown) {
        struct cor_conn *c = COR_CONTAINER_OF(it, struct cor_conn, unknown_link);

        if (n++ == REPLACED_OF)
            break;
        if (!may_end(c) || (source && !cor_budget_is_of(&c->share, COR_HTTP_UNKNOWN, *source)))
            continue;
        atomic_fetch_add_explicit(&w->replaced, 1, memory_order_relaxed);
        cor_conn_gone(c, -COR_ECANCELED);
        cor_budget_share_deinit(&c->share);
        return true;
    }
    return false;
}

/* One that does nothing; or else one for which the server only waits. */
static bool replace_one(struct cor_http_worker *w, const struct cor_str *source)
{
    return end_oldest(w, source, is_idle) || end_oldest(w, source, waits_for_peer);
}

/* A place for the connection. 0, -COR_EBUSY, -COR_ENOMEM. */
static int enter(struct cor_conn *c, bool is_one_too_many)
{
    struct cor_http_worker *w = c->worker;
    struct cor_budget *budget = &w->server->budget;
    char text[COR_HOST_SOURCE_MAX];
    struct cor_str source = source_of(cor_stream_peer(c->stream), text);
    int r;

    if (is_one_too_many && !replace_one(w, NULL))
        return -COR_EBUSY;
    r = cor_budget_share_init(budget, source, &c->share);
    if (r == -COR_EBUSY && (replace_one(w, &source) || replace_one(w, NULL)))
        r = cor_budget_share_init(budget, source, &c->share);
    return r;
}

void cor_conn_open(struct cor_http_worker *w, int take_fd, struct cor_tls *tls,
                   bool is_one_too_many)
{
    struct cor_conn *c = new_conn(w);
    struct cor_stream_opts opts = {.cbs = &stream_cbs,
                                   .arg = c,
                                   .tls = tls,
                                   .out_max = COR_OUTPUT_WAITING_MAX + COR_HTTP_OUT_SLACK,
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
    cor_dlist_push(&w->conns, &c->link);
    if (enter(c, is_one_too_many) < 0) {
        atomic_fetch_add_explicit(&w->refused, 1, memory_order_relaxed);
        cor_conn_cut(c);
        return;
    }
    /* Only now: it must not be found when a connection is looked for that could make room for it.
     */
    cor_dlist_push(&w->unknown, &c->unknown_link);
    atomic_fetch_add_explicit(&w->nunknown, 1, memory_order_relaxed);
    cor_conn_set_timer(c, &c->timer, c->begun_ms + cor_conn_limits(c)->head_timeout_ms);
}
