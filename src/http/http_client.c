/* The client: its calls, and which connection each is given. How connections live is in
 * client_link.c, what they speak in client_h1.c and client_h2.c. */
#include "http/http_client.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_client_int.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"
#include "net/stream/tls_files.h"

/* How often the files of a certificate are looked at, at most. */
#define CERT_LOOKS_MS 1000
/* What HTTP/1.1 writes of a head beside its words, and beside 4 bytes for each field: the version,
 * the names of the host and of the length, a length. A head that was taken can be sent. */
#define HEAD_FRAME_BYTES 128

static void free_client(struct cor_http_client *c)
{
    cor_timer_cancel(&c->soon);
    cor_timer_cancel(&c->cert);
    cor_tls_unref(c->opts.tls);
    cor_free(c->host);
    cor_free(c->unix_path);
    cor_free(c->server_name);
    cor_buf_deinit(&c->authority);
    cor_proxy_deinit(&c->proxy);
    cor_free(c);
}

void cor_http_client_look_closed(struct cor_http_client *c)
{
    void (*on_closed)(void *arg) = c->on_closed;
    void *arg = c->closed_arg;

    if (!c->is_closing || !cor_dlist_empty(&c->links) || c->ncalls > 0)
        return;
    free_client(c);
    if (on_closed)
        on_closed(arg);
}

static void on_soon(struct cor_timer *timer)
{
    struct cor_http_client *c = COR_CONTAINER_OF(timer, struct cor_http_client, soon);

    cor_timer_set(timer, COR_HTTP_CLIENT_FAR_MS);
    cor_http_client_run_woken(c);
    cor_http_client_look_closed(c);
}

static struct cor_http_call *first_waiting(struct cor_http_client *c)
{
    return COR_CONTAINER_OF(c->waiting.next, struct cor_http_call, link);
}

static bool suits(const struct cor_http_link *l, const struct cor_http_call *call)
{
    if (l->conn)
        return cor_h2_takes_stream(cor_client_conn_h2(l->conn));
    if (l->nserved == 0 || call->needs_fresh)
        return l->nserved == 0;
    /* A call that may be sent again needs no look at whether the server has just ended the
     * connection. */
    return (call->is_idempotent && !call->streams_body && call->nresent == 0) ||
           cor_stream_is_quiet(l->stream);
}

static struct cor_http_link *find_link(struct cor_http_client *c, const struct cor_http_call *call)
{
    COR_DLIST_FOREACH(it, &c->ready) {
        struct cor_http_link *l = COR_CONTAINER_OF(it, struct cor_http_link, ready_link);

        if (suits(l, call))
            return l;
    }
    return NULL;
}

static void run(struct cor_http_link *l, struct cor_http_call *call)
{
    int r = l->h1 ? cor_http_h1_start(l, call) : cor_http_h2_start(l, call);

    if (r == -COR_ECANCELED) { /* The link's end is on its way. */
        cor_http_link_retire(l);
        return;
    }
    if (r < 0) {
        cor_http_call_end(call, r, cor_err_text(r));
        return;
    }
    cor_dlist_remove(&call->link);
    l->client->nwaiting--;
    call->state = COR_HTTP_CALL_RUNNING;
    call->at = l;
    l->nserved++;
    cor_dlist_push(&l->calls, &call->link);
    if (call->wants_writable)
        cor_http_call_set_started(call);
}

/* Until it is known what the server speaks, one connection is tried; it may do for all. */
static bool is_one_for_all(const struct cor_http_client *c)
{
    return c->opts.tls ? !c->is_h1 : c->opts.knows_h2;
}

static size_t dials_wanted(const struct cor_http_client *c)
{
    size_t wanted = is_one_for_all(c) && c->nwaiting > 1 ? 1 : c->nwaiting;
    size_t nopen = c->nlinks - c->ndialling;
    size_t free = nopen < c->opts.connections_max ? c->opts.connections_max - nopen : 0;

    return wanted < free ? wanted : free;
}

/* A call that has found a free connection meanwhile leaves its dial behind. It is finished for the
 * next call that would have to wait, if the server is there and takes one call at a time: with as
 * many calls at once as before there would be a dial for one of them again and again. */
static bool finishes_dials(const struct cor_http_client *c)
{
    return !is_one_for_all(c) && c->nlinks > c->ndialling &&
           c->nidle + c->ndialling < COR_HTTP_CLIENT_IDLE_MAX;
}

static void give_up_dials(struct cor_http_client *c)
{
    COR_DLIST_FOREACH_SAFE(it, &c->links) {
        struct cor_http_link *l = COR_CONTAINER_OF(it, struct cor_http_link, link);

        if (c->ndialling > dials_wanted(c) && l->state < COR_HTTP_LINK_OPEN && !l->is_own)
            cor_http_link_close(l);
    }
}

void cor_http_client_set_tls(struct cor_http_client *c, struct cor_tls *tls)
{
    assert(c->opts.tls && tls);
    cor_tls_ref(tls);
    cor_tls_unref(c->opts.tls);
    c->opts.tls = tls;
    COR_DLIST_FOREACH(it, &c->links)
        cor_http_link_set_stale(COR_CONTAINER_OF(it, struct cor_http_link, link));
}

/* Files that cannot be used leave the certificate as it was, until the next look. */
static void look_at_cert(struct cor_http_client *c)
{
    uint64_t now = cor_loop_now_ms(cor_net_loop(c->net));

    if (!c->opts.tls_files || now - c->cert_looked_ms < CERT_LOOKS_MS)
        return;
    c->cert_looked_ms = now;
    if (cor_tls_files_look(c->opts.tls_files) == 1)
        cor_http_client_set_tls(c, cor_tls_files_peek(c->opts.tls_files));
}

static void on_cert_timer(struct cor_timer *timer)
{
    cor_timer_set(timer, COR_HTTP_CLIENT_CERT_MS);
    look_at_cert(COR_CONTAINER_OF(timer, struct cor_http_client, cert));
}

void cor_http_client_pump(struct cor_http_client *c)
{
    struct cor_http_link *l;
    int r = 0;

    if (c->is_closing)
        return;
    while (c->nwaiting > 0 && (l = find_link(c, first_waiting(c))))
        run(l, first_waiting(c));
    if (c->ndialling < dials_wanted(c))
        look_at_cert(c);
    while (r == 0 && c->ndialling < dials_wanted(c)) {
        r = cor_http_link_open(c);
        if (r < 0)
            cor_http_client_dial_failed(c, r, cor_err_text(r));
    }
    if (c->ndialling > dials_wanted(c) && !finishes_dials(c))
        give_up_dials(c);
    /* Calls that wait for a connection beyond the maximum are ended. */
    while (c->nwaiting > 0 && c->ndialling == 0 && c->nlinks >= c->opts.connections_max)
        cor_http_call_end(first_waiting(c), -COR_EBUSY, "too many connections to the server");
}

void cor_http_client_dial_failed(struct cor_http_client *c, int r, const char *text)
{
    while (c->nwaiting > c->ndialling && (c->ndialling == 0 || dials_wanted(c) > c->ndialling))
        cor_http_call_end(first_waiting(c), r, text);
}

/* A request may hold a token. */
static void drop_request(struct cor_http_call *call)
{
    if (call->request)
        explicit_bzero(call->request, call->request_n);
    call->request = cor_free(call->request);
    call->method = call->target = call->body = (struct cor_str){0};
    call->headers = NULL;
    call->nheaders = 0;
}

static void call_free(struct cor_http_call *call)
{
    cor_timer_cancel(&call->timer);
    call->client->ncalls--;
    drop_request(call);
    cor_free(call->redirect);
    cor_free(call->moved);
    cor_buf_deinit(&call->kept);
    cor_dlist_remove(&call->woken_link);
    cor_free(call);
}

/* An HTTP/1.1 answer that is not read to its end closes its connection, an HTTP/2 one its stream.
 */
static void leave(struct cor_http_call *call)
{
    struct cor_http_link *l = COR_STEAL(call->at);
    struct cor_h2_stream *stream = COR_STEAL(call->stream);

    cor_dlist_remove(&call->link);
    cor_dlist_remove(&call->woken_link);
    if (call->client->current == call)
        call->client->current = NULL;
    if (call->state == COR_HTTP_CALL_WAITING)
        call->client->nwaiting--;
    if (!l)
        return;
    if (stream)
        cor_h2_reset(stream, COR_H2_CANCEL);
    if (call->is_tunnel || l->state < COR_HTTP_LINK_OPEN || (l->h1 && !cor_h1_is_done(l->h1)))
        cor_http_link_close(l);
}

void cor_http_call_end(struct cor_http_call *call, int r, const char *text)
{
    if (call->state == COR_HTTP_CALL_DUE)
        return;
    leave(call);
    call->state = COR_HTTP_CALL_DUE;
    cor_dlist_push(&call->client->due, &call->link);
    call->r = r;
    snprintf(call->text, sizeof(call->text), "%s", text);
    cor_timer_set(&call->timer, 0);
}

static void wait_again(struct cor_http_call *call)
{
    leave(call);
    call->state = COR_HTTP_CALL_WAITING;
    call->has_head = false;
    cor_dlist_push_front(&call->client->waiting, &call->link);
    call->client->nwaiting++;
}

/* A connection that was idle may have been closed by the server just as the request went out. */
static bool may_resend(const struct cor_http_call *call, bool is_unseen)
{
    const struct cor_http_link *l = call->at;
    bool is_draining = l->conn && cor_client_conn_is_draining(l->conn);
    unsigned max = is_unseen && is_draining ? COR_HTTP_CLIENT_GOAWAY_MAX : 1;

    if (call->nresent >= max || call->has_head || call->body_begun || call->wants_upgrade ||
        !call->request || call->client->is_closing)
        return false;
    return is_unseen ||
           (call->is_idempotent && l->nserved > 1 && !(l->h1 && cor_h1_is_begun(l->h1)));
}

void cor_http_call_lost(struct cor_http_call *call, int r, const char *text, bool is_unseen)
{
    if (!may_resend(call, is_unseen)) {
        cor_http_call_end(call, r, text);
        return;
    }
    call->nresent++;
    call->needs_fresh = true;
    wait_again(call);
}

/* Where on the same server an answer sends its client; else an empty string. */
static struct cor_str same_server_target(const struct cor_http_client *c, struct cor_str location)
{
    struct cor_str scheme = c->opts.tls ? COR_STR("https://") : COR_STR("http://");
    struct cor_str authority = cor_buf_str(&c->authority);
    ptrdiff_t fragment;

    if (cor_str_starts(location, scheme)) {
        location = cor_str_from(location, scheme.n);
        if (!cor_str_starts(location, authority))
            return (struct cor_str){0};
        location = cor_str_from(location, authority.n);
    } else if (cor_str_starts(location, COR_STR("//"))) {
        return (struct cor_str){0};
    }
    fragment = cor_str_find(location, '#');
    if (fragment >= 0)
        location.n = (size_t)fragment;
    return cor_str_starts(location, COR_STR("/")) ? location : (struct cor_str){0};
}

static bool is_redirection(int status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* 1: the call goes on elsewhere when this answer has ended. */
static int take_redirection(struct cor_http_call *call, int status,
                            const struct cor_http_header *headers, size_t n)
{
    struct cor_str location, target;

    if (!is_redirection(status) || call->nredirects == COR_HTTP_CLIENT_REDIRECT_MAX ||
        call->keeps_redirects)
        return 0;
    location = cor_header_find(headers, n, COR_STR("location"));
    target = same_server_target(call->client, cor_str(location.p ? location.p : "", location.n));
    if (target.n == 0)
        return 0;
    call->redirect = cor_strndup(target.p, target.n);
    if (!call->redirect)
        return -COR_ENOMEM;
    call->nredirects++;
    call->becomes_get = status < 307 && !cor_str_eqz(call->method, "HEAD");
    return 1;
}

int cor_http_call_head(struct cor_http_call *call, int status,
                       const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_http_client *c = call->client;
    bool is_alive;
    int r = take_redirection(call, status, headers, nheaders);

    call->has_head = true;
    if (r > 0)
        return 0;
    c->current = call;
    if (r == 0 && (call->at->h1 || call->written == call->body.n))
        drop_request(call);
    if (r == 0)
        r = call->cbs->on_head(call->arg, status, headers, nheaders);
    is_alive = c->current == call;
    c->current = NULL;
    if (r < 0 && is_alive)
        cor_http_call_end(call, r, cor_err_text(r));
    return is_alive ? r : -COR_ECANCELED;
}

void cor_http_call_whole(struct cor_http_call *call)
{
    if (!call->redirect) {
        cor_http_call_end(call, 0, "");
        return;
    }
    cor_free(call->moved);
    call->moved = COR_STEAL(call->redirect);
    call->target = cor_strz(call->moved);
    if (call->becomes_get) {
        call->method = COR_STR("GET");
        call->body = (struct cor_str){0};
    }
    call->needs_fresh = false;
    call->nresent = 0;
    wait_again(call);
}

static void on_call_timer(struct cor_timer *timer)
{
    struct cor_http_call *call = COR_CONTAINER_OF(timer, struct cor_http_call, timer);
    struct cor_http_client *c = call->client;

    if (call->state != COR_HTTP_CALL_DUE) {
        cor_timer_set(timer, COR_HTTP_CLIENT_FAR_MS);
        cor_http_call_end(call, -COR_ETIMEOUT, "the deadline has passed");
        cor_http_client_pump(c);
        return;
    }
    cor_dlist_remove(&call->link);
    call->cbs->on_done(call->arg, call->r, call->text);
    call_free(call);
    cor_http_client_look_closed(c);
}

static struct cor_str put(char **at, struct cor_str s)
{
    struct cor_str copy = {*at, s.n};

    if (s.n > 0)
        memcpy(*at, s.p, s.n);
    *at += s.n;
    return copy;
}

static int keep_request(struct cor_http_call *call, const struct cor_http_call_opts *opts)
{
    size_t n = opts->nheaders * sizeof(call->headers[0]) + opts->method.n + opts->target.n;
    char *at;

    if (opts->nheaders > COR_HTTP_CLIENT_HEADERS_MAX || opts->body.n > COR_HTTP_CLIENT_BODY_MAX)
        return -COR_ETOOBIG;
    for (size_t i = 0; i < opts->nheaders; i++)
        n += opts->headers[i].name.n + opts->headers[i].value.n;
    if (n + call->client->authority.n + HEAD_FRAME_BYTES > COR_H1_HEAD_MAX)
        return -COR_ETOOBIG;
    n += opts->body.n;
    call->request = cor_alloc(n);
    if (!call->request)
        return -COR_ENOMEM;
    call->request_n = n;
    call->headers = (struct cor_http_header *)(void *)call->request;
    call->nheaders = opts->nheaders;
    at = call->request + opts->nheaders * sizeof(call->headers[0]);
    for (size_t i = 0; i < opts->nheaders; i++) {
        call->headers[i].name = put(&at, opts->headers[i].name);
        call->headers[i].value = put(&at, opts->headers[i].value);
    }
    call->method = put(&at, opts->method);
    call->target = put(&at, opts->target);
    call->body = put(&at, opts->body);
    return 0;
}

static bool is_idempotent(struct cor_str method)
{
    return cor_str_eqz(method, "GET") || cor_str_eqz(method, "HEAD") ||
           cor_str_eqz(method, "OPTIONS");
}

/* Nothing in it may end the request line, or begin another part of it. */
static bool is_word(struct cor_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    }
    return s.n > 0;
}

int cor_http_call_open(struct cor_http_client *c, const struct cor_http_call_opts *opts,
                       struct cor_http_call **ret_call)
{
    struct cor_http_call *call;
    int r;

    assert(!opts->streams_body || opts->body.n == 0);
    assert(!opts->wants_upgrade || (opts->body.n == 0 && !opts->streams_body));
    if (!is_word(opts->method) || !is_word(opts->target))
        return -COR_EINVAL;
    if (c->is_closing || c->ncalls >= c->opts.calls_max)
        return -COR_EBUSY;
    if (opts->wants_upgrade && c->nlinks >= c->opts.connections_max)
        return -COR_EBUSY;
    call = cor_calloc(1, sizeof(*call));
    if (!call)
        return -COR_ENOMEM;
    call->client = c;
    call->cbs = opts->cbs;
    call->arg = opts->arg;
    call->is_idempotent = is_idempotent(opts->method);
    call->streams_body = opts->streams_body;
    call->body_left = opts->body_length;
    call->keeps_redirects = opts->keeps_redirects || opts->streams_body || opts->wants_upgrade;
    call->wants_upgrade = opts->wants_upgrade;
    cor_dlist_init(&call->woken_link);
    cor_buf_init(&call->kept, c->h2_limits.window + COR_STREAM_READ_MAX);
    c->ncalls++;
    cor_timer_init(&call->timer, cor_net_loop(c->net), on_call_timer);
    r = keep_request(call, opts);
    if (r == 0)
        r = cor_timer_set(&call->timer,
                          opts->deadline_ms ? opts->deadline_ms : COR_HTTP_CLIENT_FAR_MS);
    if (r < 0) {
        call_free(call);
        return r;
    }
    if (opts->wants_upgrade) {
        r = cor_http_link_open_own(c, call);
        if (r < 0)
            call_free(call);
        else
            *ret_call = call;
        return r;
    }
    cor_dlist_push(&c->waiting, &call->link);
    c->nwaiting++;
    cor_http_client_pump(c);
    *ret_call = call;
    return 0;
}

void cor_http_call_cancel(struct cor_http_call *call)
{
    struct cor_http_client *c = call->client;

    leave(call);
    call_free(call);
    cor_http_client_pump(c);
}

static int set_authority(struct cor_http_client *c)
{
    bool is_default = c->opts.port == (c->opts.tls ? 443 : 80);
    int r;

    if (c->unix_path)
        return cor_buf_addz(&c->authority, "localhost");
    r = cor_buf_addf(&c->authority, strchr(c->host, ':') ? "[%s]" : "%s", c->host);
    return r < 0 || is_default ? r : cor_buf_addf(&c->authority, ":%u", c->opts.port);
}

static int set_proxy(struct cor_http_client *c, const char *url)
{
    int r = cor_proxy_init(&c->proxy, url, NULL);

    return r == 0 && c->proxy.is_tls && !c->opts.tls ? -COR_ENOTSUP : r;
}

static int dup(const char *s, char **ret)
{
    *ret = s ? cor_strdup(s) : NULL;
    return s && !*ret ? -COR_ENOMEM : 0;
}

static void set_opts(struct cor_http_client *c, const struct cor_http_client_opts *opts)
{
    c->opts = *opts;
    if (opts->tls_files)
        c->opts.tls = cor_tls_files_peek(opts->tls_files);
    if (c->opts.tls)
        cor_tls_ref(c->opts.tls);
    if (c->opts.connect_timeout_ms == 0)
        c->opts.connect_timeout_ms = COR_HTTP_CLIENT_CONNECT_TIMEOUT_MS;
    if (c->opts.silence_ms == 0)
        c->opts.silence_ms = COR_HTTP_CLIENT_SILENCE_MS;
    if (c->opts.ping_ms == 0)
        c->opts.ping_ms = COR_HTTP_CLIENT_PING_MS;
    if (c->opts.calls_max == 0)
        c->opts.calls_max = COR_HTTP_CLIENT_CALLS_MAX;
    if (c->opts.connections_max == 0)
        c->opts.connections_max = SIZE_MAX;
    c->h2_limits =
        (struct cor_h2_limits){.streams_max = COR_HTTP_CLIENT_CALLS_MAX,
                               .window = opts->window ? opts->window : COR_HTTP_CLIENT_WINDOW,
                               .head_max = COR_H2_HEAD_MAX,
                               .headers_max = COR_H2_HEADERS_MAX};
}

int cor_http_client_open(struct cor_net *net, const struct cor_http_client_opts *opts,
                         struct cor_http_client **ret_client)
{
    struct cor_http_client *c = cor_calloc(1, sizeof(*c));
    int r;

    assert(opts->host || opts->unix_path);
    if (!c)
        return -COR_ENOMEM;
    c->net = net;
    set_opts(c, opts);
    cor_dlist_init(&c->links);
    cor_dlist_init(&c->ready);
    cor_dlist_init(&c->waiting);
    cor_dlist_init(&c->kept);
    cor_dlist_init(&c->due);
    cor_dlist_init(&c->woken);
    cor_buf_init(&c->authority, 512);
    cor_timer_init(&c->soon, cor_net_loop(net), on_soon);
    cor_timer_init(&c->cert, cor_net_loop(net), on_cert_timer);
    r = dup(opts->host, &c->host);
    if (r == 0)
        r = dup(opts->unix_path, &c->unix_path);
    if (r == 0)
        r = dup(opts->server_name, &c->server_name);
    if (r == 0)
        r = set_authority(c);
    if (r == 0 && opts->proxy_url && !opts->unix_path)
        r = set_proxy(c, opts->proxy_url);
    if (r == 0)
        r = cor_timer_set(&c->soon, COR_HTTP_CLIENT_FAR_MS);
    if (r == 0 && opts->tls_files)
        r = cor_timer_set(&c->cert, COR_HTTP_CLIENT_CERT_MS);
    if (r < 0) {
        free_client(c);
        return r;
    }
    *ret_client = c;
    return 0;
}

static void end_all(struct cor_dlist *calls)
{
    COR_DLIST_FOREACH_SAFE(it, calls)
        cor_http_call_end(COR_CONTAINER_OF(it, struct cor_http_call, link), -COR_ECANCELED,
                          "canceled");
}

void cor_http_client_close(struct cor_http_client *c, void (*on_closed)(void *arg), void *arg)
{
    assert(!c->is_closing && cor_loop_is_current(cor_net_loop(c->net)));
    c->is_closing = true;
    c->on_closed = on_closed;
    c->closed_arg = arg;
    end_all(&c->waiting);
    end_all(&c->kept);
    COR_DLIST_FOREACH_SAFE(it, &c->links) {
        struct cor_http_link *l = COR_CONTAINER_OF(it, struct cor_http_link, link);

        end_all(&l->calls);
        cor_http_link_close(l);
    }
    cor_timer_set(&c->soon, 0);
}
