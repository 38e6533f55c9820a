#include "http/http_server.h"

#include <assert.h>
#include <unistd.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/http_server_int.h"
#include "net/stream/listener.h"
#include "net/stream/net.h"
#include "net/stream/tls.h"

/* Of a response's head: as much text as a head that is read may have, for a handler that passes one
 * on, and what is between its parts. */
#define HEAD_OUT_MAX (COR_H1_HEAD_MAX + 8u * 1024)
/* Above connections_max, on their way to a loop where they may take another's place. */
#define CONNECTIONS_IN_TRANSIT 64

struct listener {
    struct cor_dlist link;
    struct cor_http_server *server;
    struct cor_listener *socket;
    struct cor_tls *tls;
};

/* An accepted socket on its way to the loop that will keep it. */
struct handover {
    struct cor_mail mail;
    struct cor_http_worker *worker;
    struct cor_tls *tls;
    int fd;
    bool is_one_too_many;
};

static uint64_t or_default(uint64_t value, uint64_t value_default)
{
    return value ? value : value_default;
}

static void fill_limits(struct cor_http_limits *limits)
{
    limits->body_max = or_default(limits->body_max, COR_BODY_BYTES_MAX);
    limits->bodies_max = or_default(limits->bodies_max, COR_HELD_FOR_PEERS_MAX);
    limits->connections_max = or_default(limits->connections_max, COR_CONNECTIONS_MAX);
    limits->head_timeout_ms = or_default(limits->head_timeout_ms, COR_HEAD_TIMEOUT_MS);
    limits->request_timeout_ms = or_default(limits->request_timeout_ms, COR_REQUEST_TIMEOUT_MS);
    limits->idle_timeout_ms = or_default(limits->idle_timeout_ms, COR_IDLE_TIMEOUT_MS);
    limits->h2_streams_max = (uint32_t)or_default(limits->h2_streams_max, COR_H2_STREAMS_MAX);
}

static void on_drain_over(struct cor_timer *timer)
{
    struct cor_http_worker *w = COR_CONTAINER_OF(timer, struct cor_http_worker, drain);

    COR_DLIST_FOREACH_SAFE(it, &w->conns)
        cor_conn_gone(COR_CONTAINER_OF(it, struct cor_conn, link), -COR_ECANCELED);
}

static int open_worker(struct cor_http_server *server, unsigned index, struct cor_loop *loop)
{
    struct cor_http_worker *w = &server->workers[index];

    w->server = server;
    w->index = index;
    w->loop = loop;
    cor_dlist_init(&w->conns);
    cor_dlist_init(&w->unknown);
    cor_buf_init(&w->head, HEAD_OUT_MAX);
    cor_timer_init(&w->drain, loop, on_drain_over);
    return cor_net_open(loop, &w->net);
}

int cor_http_server_new(const struct cor_http_server_opts *opts,
                        struct cor_http_server **ret_server)
{
    COR_CLEANUP(cor_freep)
    struct cor_http_server *server =
        cor_calloc(1, sizeof(*server) + opts->nloops * sizeof(server->workers[0]));
    int r;

    assert(opts->nloops > 0 && opts->on_request);
    if (!server)
        return -COR_ENOMEM;
    server->opts = *opts;
    server->opts.loops = NULL;
    fill_limits(&server->opts.limits);
    server->h1_limits = (struct cor_h1_limits){.head_max = COR_H1_HEAD_MAX,
                                               .headers_max = COR_H1_HEADERS_MAX,
                                               .body_max = server->opts.limits.body_max};
    server->h2_limits = (struct cor_h2_limits){.streams_max = server->opts.limits.h2_streams_max,
                                               .window = COR_H2_WINDOW,
                                               .head_max = COR_H2_HEAD_MAX,
                                               .headers_max = COR_H2_HEADERS_MAX};
    cor_dlist_init(&server->listeners);
    for (unsigned i = 0; i < opts->nloops; i++) {
        r = open_worker(server, i, opts->loops[i]);
        if (r < 0) {
            while (i-- > 0)
                cor_net_close(server->workers[i].net, NULL, NULL);
            return r;
        }
    }
    server->nworkers = opts->nloops;
    cor_budget_init(&server->budget, server->opts.limits.bodies_max,
                    server->opts.limits.connections_max, server->opts.limits.body_max);
    atomic_init(&server->nworkers_open, opts->nloops);
    *ret_server = COR_STEAL(server);
    return 0;
}

/* The worker with the most connections that have not authenticated: one of them may make room. */
static struct cor_http_worker *choose_full(struct cor_http_server *server)
{
    struct cor_http_worker *best = &server->workers[0];

    for (size_t i = 1; i < server->nworkers; i++) {
        if (atomic_load_explicit(&server->workers[i].nunknown, memory_order_relaxed) >
            atomic_load_explicit(&best->nunknown, memory_order_relaxed))
            best = &server->workers[i];
    }
    return best;
}

/* The worker with the fewest connections. */
static struct cor_http_worker *choose(struct cor_http_server *server, uint64_t *ret_total)
{
    struct cor_http_worker *best = &server->workers[0];
    uint64_t total = 0, best_n = UINT64_MAX;

    for (size_t i = 0; i < server->nworkers; i++) {
        uint64_t n = atomic_load_explicit(&server->workers[i].nconns, memory_order_relaxed);

        total += n;
        if (n < best_n) {
            best = &server->workers[i];
            best_n = n;
        }
    }
    *ret_total = total;
    return best;
}

static void take_over(struct cor_http_worker *w, int fd, struct cor_tls *tls, bool is_one_too_many)
{
    if (w->is_draining) {
        close(fd);
        cor_worker_conn_closed(w);
        return;
    }
    cor_conn_open(w, fd, tls, is_one_too_many);
}

static void on_handover(struct cor_mail *mail)
{
    struct handover *h = COR_CONTAINER_OF(mail, struct handover, mail);

    take_over(h->worker, h->fd, h->tls, h->is_one_too_many);
    cor_tls_unref(h->tls);
    cor_free(h);
}

static int hand_over(struct cor_http_worker *w, int fd, struct cor_tls *tls, bool is_one_too_many)
{
    struct handover *h = cor_alloc(sizeof(*h));
    int r;

    if (!h)
        return -COR_ENOMEM;
    *h = (struct handover){.mail.on_mail = on_handover,
                           .worker = w,
                           .tls = tls ? cor_tls_ref(tls) : NULL,
                           .fd = fd,
                           .is_one_too_many = is_one_too_many};
    r = cor_loop_post(w->loop, &h->mail);
    if (r < 0) {
        cor_tls_unref(h->tls);
        cor_free(h);
    }
    return r;
}

static void on_accept(int take_fd, void *arg)
{
    struct listener *l = arg;
    struct cor_http_server *server = l->server;
    struct cor_http_worker *first = &server->workers[0];
    uint64_t total;
    struct cor_http_worker *w = choose(server, &total);
    bool is_full = total >= server->opts.limits.connections_max;

    if (is_full)
        w = choose_full(server);
    if (total >= server->opts.limits.connections_max + CONNECTIONS_IN_TRANSIT) {
        atomic_fetch_add_explicit(&first->refused, 1, memory_order_relaxed);
        close(take_fd);
        return;
    }
    atomic_fetch_add_explicit(&first->accepted, 1, memory_order_relaxed);
    atomic_fetch_add(&w->nconns, 1);
    if (w == first) {
        take_over(w, take_fd, l->tls, is_full);
    } else if (hand_over(w, take_fd, l->tls, is_full) < 0) {
        close(take_fd);
        atomic_fetch_sub(&w->nconns, 1);
    }
}

static struct listener *new_listener(struct cor_http_server *server, struct cor_tls *tls)
{
    struct listener *l = cor_calloc(1, sizeof(*l));

    if (!l)
        return NULL;
    l->server = server;
    l->tls = tls ? cor_tls_ref(tls) : NULL;
    return l;
}

static void free_listener(struct listener *l)
{
    cor_tls_unref(l->tls);
    cor_free(l);
}

/* Keeps a listener whose socket was opened with `r`. */
static int add_listener(struct listener *l, int r)
{
    if (r < 0) {
        free_listener(l);
        return r;
    }
    cor_dlist_push(&l->server->listeners, &l->link);
    l->server->workers[0].nlisteners++;
    return 0;
}

int cor_http_server_listen(struct cor_http_server *server, const char *host, uint16_t port,
                           struct cor_tls *tls, uint16_t *ret_port)
{
    struct listener *l = new_listener(server, tls);
    int r;

    if (!l)
        return -COR_ENOMEM;
    r = cor_listener_open(server->workers[0].net, host, port, on_accept, l, &l->socket);
    if (r == 0 && ret_port)
        *ret_port = cor_listener_port(l->socket);
    return add_listener(l, r);
}

int cor_http_server_listen_unix(struct cor_http_server *server, const char *path, unsigned mode)
{
    struct listener *l = new_listener(server, NULL);

    if (!l)
        return -COR_ENOMEM;
    return add_listener(
        l, cor_listener_open_unix(server->workers[0].net, path, mode, on_accept, l, &l->socket));
}

static void on_worker_closed(void *arg)
{
    struct cor_http_worker *w = arg;
    struct cor_http_server *server = w->server;

    if (atomic_fetch_sub(&server->nworkers_open, 1) == 1 && server->on_closed)
        server->on_closed(server->closed_arg);
}

static void close_worker_if_empty(struct cor_http_worker *w)
{
    if (!w->is_draining || w->is_closing || w->nlisteners > 0 || atomic_load(&w->nconns) > 0)
        return;
    w->is_closing = true;
    cor_timer_cancel(&w->drain);
    cor_net_close(w->net, on_worker_closed, w);
}

void cor_worker_conn_closed(struct cor_http_worker *w)
{
    atomic_fetch_sub(&w->nconns, 1);
    close_worker_if_empty(w);
}

static void drain_worker(struct cor_http_worker *w)
{
    w->is_draining = true;
    COR_DLIST_FOREACH_SAFE(it, &w->conns)
        cor_conn_drain(COR_CONTAINER_OF(it, struct cor_conn, link));
    if (cor_timer_set(&w->drain, w->server->drain_ms) < 0)
        on_drain_over(&w->drain);
    close_worker_if_empty(w);
}

static void on_drain_mail(struct cor_mail *mail)
{
    drain_worker(COR_CONTAINER_OF(mail, struct cor_http_worker, drain_mail));
}

static void on_listener_closed(void *arg)
{
    struct listener *l = arg;
    struct cor_http_worker *w = &l->server->workers[0];

    free_listener(l);
    w->nlisteners--;
    close_worker_if_empty(w);
}

/* Runs on worker 0, which accepts: what it has handed over comes before the other workers' mail. */
static void on_close_mail(struct cor_mail *mail)
{
    struct cor_http_worker *w = COR_CONTAINER_OF(mail, struct cor_http_worker, drain_mail);
    struct cor_http_server *server = w->server;
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(&server->listeners))) {
        struct listener *l = COR_CONTAINER_OF(link, struct listener, link);

        cor_listener_close(l->socket, on_listener_closed, l);
    }
    for (size_t i = 1; i < server->nworkers; i++) {
        server->workers[i].drain_mail.on_mail = on_drain_mail;
        cor_loop_post_always(server->workers[i].loop, &server->workers[i].drain_mail);
    }
    drain_worker(w);
}

void cor_http_server_close(struct cor_http_server *server, uint64_t drain_ms,
                           void (*on_closed)(void *arg), void *arg)
{
    server->drain_ms = drain_ms;
    server->on_closed = on_closed;
    server->closed_arg = arg;
    server->workers[0].drain_mail.on_mail = on_close_mail;
    cor_loop_post_always(server->workers[0].loop, &server->workers[0].drain_mail);
}

struct cor_http_server *cor_http_server_free(struct cor_http_server *server)
{
    if (!server)
        return NULL;
    assert(atomic_load(&server->nworkers_open) == 0);
    for (size_t i = 0; i < server->nworkers; i++)
        cor_buf_deinit(&server->workers[i].head);
    cor_budget_deinit(&server->budget);
    return cor_free(server);
}

void cor_http_server_stats(const struct cor_http_server *server,
                           struct cor_http_server_stats *ret_stats)
{
    *ret_stats = (struct cor_http_server_stats){0};
    for (size_t i = 0; i < server->nworkers; i++) {
        const struct cor_http_worker *w = &server->workers[i];

        ret_stats->connections += atomic_load_explicit(&w->nconns, memory_order_relaxed);
        ret_stats->accepted += atomic_load_explicit(&w->accepted, memory_order_relaxed);
        ret_stats->refused += atomic_load_explicit(&w->refused, memory_order_relaxed);
        ret_stats->requests += atomic_load_explicit(&w->requests, memory_order_relaxed);
        ret_stats->errors += atomic_load_explicit(&w->errors, memory_order_relaxed);
        ret_stats->replaced += atomic_load_explicit(&w->replaced, memory_order_relaxed);
    }
    for (size_t i = 0; i < COR_HTTP_NRANKS; i++)
        ret_stats->held[i] = atomic_load_explicit(&server->budget.bytes[i], memory_order_relaxed);
    for (size_t i = 0; i < COR_BUDGET_NLIMITS; i++)
        ret_stats->refusals[i] =
            atomic_load_explicit(&server->budget.refused[i], memory_order_relaxed);
}
