/* clang-format off */
/* A channel: one connection to one of several servers, and the calls that wait for it.
 *
 *   CONNECTING ──► READY ──► the connection ends ──► CONNECTING, to the next target
 *       │ no target could be reached
 *       ▼
 *   FAILING: waiting calls fail; after a backoff ──► CONNECTING        any ──► CLOSING
 *
 * A call that is started while the channel connects waits; a call that is started while it fails ends
 * with UNAVAILABLE. Answers never come from inside a caller's function: calls that are to end are put
 * into `due`, and the timer `soon` ends them. The timer is always set, so that setting it cannot fail.
 *
 * A connection that the server drains (GOAWAY) keeps its calls until they end, beside the new one.
 * A connection that breaks within STEADY_MS counts as one that could not be made. Missing memory is
 * treated like a server that does not answer: the backoff tries again.
 *
 * Thread: the net's loop. */
/* clang-format on */
#include "grpc/grpc_channel.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "grpc/grpc_channel_int.h"
#include "net/stream/tls.h"

/* A connection that broke sooner than this counts as one that could not be made. Else a server that
 * accepts and drops connections would be tried without any pause. */
#define STEADY_MS 1000
#define FAR_MS    (UINT64_C(1) << 40)

static const struct cor_backoff_opts backoff_opts = {.initial_ms = 100,
                                                     .max_ms = 5000,
                                                     .factor = 1.6,
                                                     .jitter = 0.2,
                                                     .steps = COR_BACKOFF_STEPS_MAX};

/* Heads of etcd are small; what a unary reply or a stream's messages hold is bounded elsewhere. */
static const struct cor_h2_limits h2_limits = {.streams_max = COR_GRPC_CALLS_MAX,
                                               .window = COR_GRPC_WINDOW,
                                               .head_max = COR_H2_HEAD_MAX,
                                               .headers_max = COR_H2_HEADERS_MAX};

static uint64_t channel_now_ms(const struct cor_grpc_channel *ch)
{
    return cor_loop_now_ms(cor_net_loop(ch->net));
}

/* The timer is set already, and moving it cannot fail. */
static void channel_wake_soon(struct cor_grpc_channel *ch)
{
    cor_timer_set(&ch->soon, 0);
}

void cor_grpc_channel_set_due(struct cor_grpc_channel *ch, struct cor_grpc_call *call)
{
    cor_dlist_remove(&call->link);
    cor_dlist_push(&ch->due, &call->link);
    channel_wake_soon(ch);
}

void cor_grpc_channel_call_gone(struct cor_grpc_channel *ch)
{
    ch->ncalls--;
    if (ch->state == COR_GRPC_CHANNEL_CLOSING)
        channel_wake_soon(ch);
}

static void channel_free(struct cor_grpc_channel *ch)
{
    cor_timer_cancel(&ch->soon);
    cor_timer_cancel(&ch->retry);
    for (size_t i = 0; i < ch->ntargets; i++) {
        cor_free((char *)ch->targets[i].endpoint.host);
        cor_free((char *)ch->targets[i].endpoint.unix_path);
        cor_free(ch->targets[i].authority);
    }
    cor_tls_unref(ch->opts.tls);
    cor_free(ch->server_name);
    cor_free(ch);
}

static void on_link_closed(void *arg)
{
    struct cor_grpc_link *link = arg;
    struct cor_grpc_channel *ch = link->ch;

    cor_dlist_remove(&link->link);
    cor_free(link);
    if (ch->state == COR_GRPC_CHANNEL_CLOSING)
        channel_wake_soon(ch);
}

static void link_close(struct cor_grpc_link *link)
{
    struct cor_client_conn *conn = COR_STEAL(link->conn);

    if (link->ch->active == link)
        link->ch->active = NULL;
    if (conn)
        cor_client_conn_close(conn, on_link_closed, link);
}

/* The calls are taken off the list first, because a callback may start new ones. */
static void channel_fail_waiting(struct cor_grpc_channel *ch)
{
    struct cor_dlist batch, *link;

    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &ch->waiting);
    while ((link = cor_dlist_pop(&batch))) {
        struct cor_grpc_call *call = COR_CONTAINER_OF(link, struct cor_grpc_call, link);

        cor_grpc_call_fail(call, COR_GRPC_UNAVAILABLE, ch->why, true);
        cor_grpc_channel_set_due(ch, call);
    }
}

static void channel_enter_failing(struct cor_grpc_channel *ch)
{
    ch->state = COR_GRPC_CHANNEL_FAILING;
    ch->failed = 0;
    channel_fail_waiting(ch);
    cor_timer_set(&ch->retry, cor_backoff_next(&ch->backoff, channel_now_ms(ch), &ch->rand));
}

static void channel_start_waiting(struct cor_grpc_channel *ch)
{
    struct cor_dlist batch, *link;

    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &ch->waiting);
    while ((link = cor_dlist_pop(&batch))) {
        cor_dlist_push(&ch->waiting, link);
        if (ch->state == COR_GRPC_CHANNEL_READY)
            cor_grpc_call_start(COR_CONTAINER_OF(link, struct cor_grpc_call, link));
    }
}

static void channel_report_state(struct cor_grpc_channel *ch, int r)
{
    if (ch->opts.on_state)
        ch->opts.on_state(ch, r, r < 0 ? ch->why : "", ch->opts.arg);
}

static void on_open(struct cor_client_conn *conn, void *arg)
{
    struct cor_grpc_link *link = arg;
    struct cor_grpc_channel *ch = link->ch;

    ch->state = COR_GRPC_CHANNEL_READY;
    ch->failed = 0;
    ch->ready_ms = channel_now_ms(ch);
    channel_report_state(ch, 0);
    channel_start_waiting(ch);
}

static void channel_next_target(struct cor_grpc_channel *ch)
{
    ch->current = (ch->current + 1) % ch->ntargets;
}

static int channel_connect(struct cor_grpc_channel *ch);

/* Missing memory is treated like a server that does not answer. */
static void channel_reconnect(struct cor_grpc_channel *ch)
{
    ch->state = COR_GRPC_CHANNEL_CONNECTING;
    if (channel_connect(ch) == 0)
        return;
    snprintf(ch->why, sizeof(ch->why), "%s: out of memory", cor_grpc_channel_peer(ch));
    channel_enter_failing(ch);
}

static void on_drain(struct cor_client_conn *conn, void *arg)
{
    struct cor_grpc_link *link = arg;
    struct cor_grpc_channel *ch = link->ch;

    if (ch->active != link)
        return;
    ch->active = NULL;
    snprintf(ch->why, sizeof(ch->why), "%s: the server is going away", link->authority);
    channel_next_target(ch);
    channel_report_state(ch, -COR_EUNREACHABLE);
    if (ch->state != COR_GRPC_CHANNEL_CLOSING)
        channel_reconnect(ch);
}

static void on_end(struct cor_client_conn *conn, int why, const char *text, void *arg)
{
    struct cor_grpc_link *link = arg;
    struct cor_grpc_channel *ch = link->ch;
    bool was_active = ch->active == link, was_ready = ch->state == COR_GRPC_CHANNEL_READY;

    link_close(link);
    if (!was_active || ch->state == COR_GRPC_CHANNEL_CLOSING)
        return;
    snprintf(ch->why, sizeof(ch->why), "%s: %s", link->authority, text);
    channel_next_target(ch);
    if (was_ready)
        channel_report_state(ch, why < 0 ? why : -COR_EUNREACHABLE);
    if (ch->state == COR_GRPC_CHANNEL_CLOSING)
        return;
    if (was_ready && channel_now_ms(ch) - ch->ready_ms >= STEADY_MS)
        cor_backoff_reset(&ch->backoff);
    else if (was_ready || ++ch->failed >= ch->ntargets) {
        channel_enter_failing(ch);
        return;
    }
    channel_reconnect(ch);
}

static const struct cor_client_conn_cbs conn_cbs = {on_open, on_drain, on_end};

static int channel_connect(struct cor_grpc_channel *ch)
{
    const struct cor_grpc_target *target = &ch->targets[ch->current];
    struct cor_grpc_link *link = cor_calloc(1, sizeof(*link));
    struct cor_client_conn_opts opts = {.host = target->endpoint.host,
                                        .port = target->endpoint.port,
                                        .unix_path = target->endpoint.unix_path,
                                        .tls = ch->opts.tls,
                                        .server_name = ch->server_name,
                                        .connect_timeout_ms = ch->opts.connect_timeout_ms,
                                        .keepalive_ms = ch->opts.keepalive_ms,
                                        .keepalive_timeout_ms = ch->opts.keepalive_timeout_ms,
                                        .limits = &h2_limits,
                                        .cbs = &conn_cbs,
                                        .arg = link};
    int r;

    if (!link)
        return -COR_ENOMEM;
    link->ch = ch;
    link->authority = ch->server_name ? ch->server_name : target->authority;
    r = cor_client_conn_open(ch->net, &opts, &link->conn);
    if (r < 0) {
        cor_free(link);
        return r;
    }
    cor_dlist_push(&ch->links, &link->link);
    ch->active = link;
    return 0;
}

static void on_retry(struct cor_timer *timer)
{
    struct cor_grpc_channel *ch = COR_CONTAINER_OF(timer, struct cor_grpc_channel, retry);

    cor_timer_set(&ch->retry, FAR_MS);
    if (ch->state == COR_GRPC_CHANNEL_FAILING)
        channel_reconnect(ch);
}

static void channel_finish_close(struct cor_grpc_channel *ch)
{
    void (*on_closed)(void *arg) = ch->on_closed;
    void *arg = ch->closed_arg;

    channel_free(ch);
    if (on_closed)
        on_closed(arg);
}

static void on_soon(struct cor_timer *timer)
{
    struct cor_grpc_channel *ch = COR_CONTAINER_OF(timer, struct cor_grpc_channel, soon);
    struct cor_dlist batch, *link;

    cor_timer_set(&ch->soon, FAR_MS);
    cor_dlist_init(&batch);
    cor_dlist_splice(&batch, &ch->due);
    while ((link = cor_dlist_pop(&batch))) {
        struct cor_grpc_call *call = COR_CONTAINER_OF(link, struct cor_grpc_call, link);

        cor_dlist_push(&ch->calls, link);
        cor_grpc_call_deliver(call);
    }
    if (ch->state == COR_GRPC_CHANNEL_CLOSING && ch->ncalls == 0 && cor_dlist_empty(&ch->links))
        channel_finish_close(ch);
}

static int target_copy(struct cor_grpc_target *to, const struct cor_grpc_endpoint *from)
{
    char authority[300];

    if (from->host)
        snprintf(authority, sizeof(authority), strchr(from->host, ':') ? "[%s]:%u" : "%s:%u",
                 from->host, from->port);
    else
        snprintf(authority, sizeof(authority), "localhost");
    to->endpoint.port = from->port;
    to->endpoint.host = from->host ? cor_strdup(from->host) : NULL;
    to->endpoint.unix_path = from->host ? NULL : cor_strdup(from->unix_path);
    to->authority = cor_strdup(authority);
    return to->authority && (to->endpoint.host || to->endpoint.unix_path) ? 0 : -COR_ENOMEM;
}

static int channel_copy_opts(struct cor_grpc_channel *ch, const struct cor_grpc_channel_opts *opts)
{
    int r = 0;

    ch->opts = *opts;
    ch->opts.tls = opts->tls ? cor_tls_ref(opts->tls) : NULL;
    ch->opts.recv_max = opts->recv_max ? opts->recv_max : COR_GRPC_RECV_MAX;
    if (ch->opts.connect_timeout_ms == 0)
        ch->opts.connect_timeout_ms = COR_GRPC_CONNECT_TIMEOUT_MS;
    if (ch->opts.keepalive_ms == 0)
        ch->opts.keepalive_ms = COR_GRPC_KEEPALIVE_MS;
    if (ch->opts.keepalive_timeout_ms == 0)
        ch->opts.keepalive_timeout_ms = COR_GRPC_KEEPALIVE_TIMEOUT_MS;
    if (opts->server_name && !(ch->server_name = cor_strdup(opts->server_name)))
        return -COR_ENOMEM;
    for (size_t i = 0; i < opts->nendpoints && r == 0; i++) {
        if (!opts->endpoints[i].host && !opts->endpoints[i].unix_path)
            return -COR_EINVAL;
        r = target_copy(&ch->targets[ch->ntargets++], &opts->endpoints[i]);
    }
    return r;
}

int cor_grpc_channel_open(struct cor_net *net, const struct cor_grpc_channel_opts *opts,
                          struct cor_grpc_channel **ret_channel)
{
    struct cor_grpc_channel *ch;
    int r;

    if (opts->nendpoints == 0 || opts->nendpoints > COR_GRPC_ENDPOINTS_MAX)
        return -COR_EINVAL;
    ch = cor_calloc(1, sizeof(*ch));
    if (!ch)
        return -COR_ENOMEM;
    ch->net = net;
    cor_dlist_init(&ch->links);
    cor_dlist_init(&ch->waiting);
    cor_dlist_init(&ch->due);
    cor_dlist_init(&ch->calls);
    cor_timer_init(&ch->soon, cor_net_loop(net), on_soon);
    cor_timer_init(&ch->retry, cor_net_loop(net), on_retry);
    cor_rand_init(&ch->rand);
    cor_backoff_init(&ch->backoff, &backoff_opts, channel_now_ms(ch));
    r = channel_copy_opts(ch, opts);
    if (r == 0)
        r = cor_timer_set(&ch->soon, FAR_MS);
    if (r == 0)
        r = cor_timer_set(&ch->retry, FAR_MS);
    if (r == 0)
        r = channel_connect(ch);
    if (r < 0) {
        channel_free(ch);
        return r;
    }
    *ret_channel = ch;
    return 0;
}

static void channel_cancel_calls(struct cor_grpc_channel *ch, struct cor_dlist *calls)
{
    COR_DLIST_FOREACH_SAFE(link, calls) {
        struct cor_grpc_call *call = COR_CONTAINER_OF(link, struct cor_grpc_call, link);

        cor_grpc_call_fail(call, COR_GRPC_CANCELLED, "the connection was given up", false);
        cor_grpc_channel_set_due(ch, call);
    }
}

void cor_grpc_channel_close(struct cor_grpc_channel *ch, void (*on_closed)(void *arg), void *arg)
{
    assert(ch->state != COR_GRPC_CHANNEL_CLOSING && cor_loop_is_current(cor_net_loop(ch->net)));
    ch->state = COR_GRPC_CHANNEL_CLOSING;
    ch->on_closed = on_closed;
    ch->closed_arg = arg;
    cor_dlist_splice(&ch->calls, &ch->due);
    channel_cancel_calls(ch, &ch->waiting);
    channel_cancel_calls(ch, &ch->calls);
    COR_DLIST_FOREACH_SAFE(link, &ch->links)
        link_close(COR_CONTAINER_OF(link, struct cor_grpc_link, link));
    channel_wake_soon(ch);
}

const char *cor_grpc_channel_peer(const struct cor_grpc_channel *ch)
{
    return ch->targets[ch->current].authority;
}
