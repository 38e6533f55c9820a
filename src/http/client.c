#include "http/client.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/list.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "net/h1.h"
#include "net/net.h"
#include "net/resolver.h"
#include "net/stream.h"
#include "net/tls.h"

#define OUT_MAX  (COR_HTTP_CLIENT_BODY_MAX + COR_H1_HEAD_MAX)
#define STALL_MS 30000
#define FAR_MS   (UINT64_C(1) << 40)

/*   RESOLVING ──► CONNECTING (each address) ──► BUSY ◄──► IDLE        and from each to CLOSING */
enum state { RESOLVING, CONNECTING, BUSY, IDLE, CLOSING };

struct conn {
    struct cor_http_client *client;
    struct cor_list link; /* client->conns */
    enum state state;
    struct cor_http_call *call; /* NULL: idle, or its call is gone */
    struct cor_resolver *resolver;
    struct cor_addresses addresses;
    size_t next_address;
    struct cor_stream *stream;
    struct cor_h1 *h1;
    struct cor_timer timer; /* connecting: its deadline; idle: its end */
    size_t nclosing;
    bool is_reused; /* the call under way is not its first */
    bool keep_alive;
};

struct cor_http_call {
    struct cor_http_client *client;
    struct cor_list link; /* client->calls */
    struct conn *conn;
    const struct cor_http_call_cbs *cbs;
    void *arg;
    struct cor_buf request; /* until it was answered: it may be sent again */
    bool is_head, is_idempotent;
    struct cor_timer timer; /* the deadline, or 0 when on_done is due */
    bool is_due;
    int r;
    const char *text;
};

struct cor_http_client {
    struct cor_net *net;
    struct cor_http_client_opts opts;
    char *host, *unix_path, *server_name;
    struct cor_buf authority;
    struct cor_list conns, calls;
    size_t nidle, ncalls;
    bool is_closing;
    struct cor_timer soon; /* closing: looks whether all is gone; always set, so that moving it
                            * cannot fail */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

static const struct cor_h1_limits h1_limits = {
    .head_max = COR_H1_HEAD_MAX, .headers_max = COR_H1_HEADERS_MAX, .body_max = UINT64_MAX};

static void free_client(struct cor_http_client *c)
{
    cor_tls_unref(c->opts.tls);
    cor_free(c->host);
    cor_free(c->unix_path);
    cor_free(c->server_name);
    cor_buf_deinit(&c->authority);
    cor_free(c);
}

static void look_closed(struct cor_http_client *c)
{
    void (*on_closed)(void *arg) = c->on_closed;
    void *arg = c->closed_arg;

    if (!c->is_closing || !cor_list_empty(&c->conns) || !cor_list_empty(&c->calls))
        return;
    cor_timer_cancel(&c->soon);
    free_client(c);
    if (on_closed)
        on_closed(arg);
}

static void on_soon(struct cor_timer *timer)
{
    look_closed(COR_CONTAINER_OF(timer, struct cor_http_client, soon));
}

/* A request may hold a token. */
static void drop_request(struct cor_http_call *call)
{
    if (call->request.n > 0)
        explicit_bzero(call->request.p, call->request.n);
    cor_buf_deinit(&call->request);
}

static void call_free(struct cor_http_call *call)
{
    cor_timer_cancel(&call->timer);
    cor_list_remove(&call->link);
    call->client->ncalls--;
    drop_request(call);
    cor_free(call);
}

/* on_done comes from a later turn. The timer is always set, so that moving it cannot fail. */
static void end_call(struct cor_http_call *call, int r, const char *text)
{
    if (call->is_due)
        return;
    call->is_due = true;
    call->r = r;
    call->text = text;
    if (call->conn) {
        call->conn->call = NULL;
        call->conn = NULL;
    }
    cor_timer_set(&call->timer, 0);
}

static void finish_conn(struct conn *c)
{
    struct cor_http_client *client = c->client;

    if (c->nclosing > 0 || c->resolver)
        return;
    cor_timer_cancel(&c->timer);
    cor_list_remove(&c->link);
    cor_h1_free(c->h1);
    cor_free(c);
    look_closed(client);
}

static void on_stream_closed(void *arg)
{
    struct conn *c = arg;

    c->nclosing--;
    if (c->state == CLOSING)
        finish_conn(c);
}

static void close_stream(struct conn *c)
{
    c->nclosing++;
    cor_stream_close(c->stream, on_stream_closed, c);
    c->stream = NULL;
}

/* Its call, if it has one, must have been ended or moved. */
static void close_conn(struct conn *c)
{
    if (c->state == CLOSING)
        return;
    if (c->state == IDLE)
        c->client->nidle--;
    c->state = CLOSING;
    if (c->resolver)
        cor_resolver_cancel(c->resolver);
    if (c->stream)
        close_stream(c);
    else if (!c->resolver && c->nclosing == 0)
        cor_timer_set(&c->timer, 0);
}

static int attach(struct cor_http_client *client, struct cor_http_call *call, bool fresh);

/* A connection that was idle may have been closed by the server just then: a request that may be
 * sent twice is, once, on a connection of its own. */
static bool try_again(struct conn *c)
{
    struct cor_http_call *call = c->call;

    if (!c->is_reused || !call->is_idempotent || cor_h1_is_begun(c->h1) || call->request.n == 0)
        return false;
    c->call = NULL;
    call->conn = NULL;
    return attach(c->client, call, true) == 0;
}

static void fail_conn(struct conn *c, int r, const char *text)
{
    struct cor_http_call *call = c->call;

    if (c->state == CLOSING)
        return;
    if (call && !(c->state == BUSY && try_again(c)))
        end_call(call, r, text);
    close_conn(c);
}

static int on_head(const struct cor_h1_head *head, void *arg)
{
    struct conn *c = arg;

    c->keep_alive = head->keep_alive;
    if (!c->call)
        return -COR_ECANCELED;
    drop_request(c->call);
    return c->call->cbs->on_head(c->call->arg, head->status, head->headers, head->nheaders);
}

static int on_body(struct cor_str piece, void *arg)
{
    struct conn *c = arg;

    return c->call ? c->call->cbs->on_body(c->call->arg, piece) : -COR_ECANCELED;
}

static int on_end(void *arg)
{
    return 0;
}

static const struct cor_h1_cbs h1_cbs = {on_head, on_body, on_end};

static void become_idle(struct conn *c)
{
    struct cor_http_client *client = c->client;

    if (!c->keep_alive || client->is_closing || client->nidle == COR_HTTP_CLIENT_IDLE_MAX) {
        close_conn(c);
        return;
    }
    cor_h1_next(c->h1, false);
    c->state = IDLE;
    client->nidle++;
    cor_timer_set(&c->timer, COR_HTTP_CLIENT_IDLE_MS);
}

static void on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct conn *c = arg;
    size_t used = 0;
    int r;

    if (c->state != BUSY) {
        /* Nobody asked: what it means cannot be known. */
        if (c->state == IDLE)
            close_conn(c);
        return;
    }
    r = cor_h1_feed(c->h1, bytes, &used);
    if (c->state != BUSY)
        return;
    if (r < 0) {
        fail_conn(c, r, r == -COR_ECANCELED ? "canceled" : cor_h1_error(c->h1)->text);
        return;
    }
    if (!cor_h1_is_done(c->h1))
        return;
    if (used < bytes.n)
        c->keep_alive = false;
    if (c->call)
        end_call(c->call, 0, "");
    become_idle(c);
}

static void send_request(struct conn *c)
{
    struct cor_str request = cor_buf_str(&c->call->request);

    cor_h1_next(c->h1, c->call->is_head);
    c->state = BUSY;
    if (cor_stream_write(c->stream, &request, 1) < 0)
        fail_conn(c, -COR_EIO, "the connection broke");
}

static void on_stream_open(struct cor_stream *s, void *arg)
{
    struct conn *c = arg;

    cor_timer_set(&c->timer, COR_HTTP_CLIENT_IDLE_MS);
    if (c->call)
        send_request(c);
    else
        close_conn(c);
}

static void on_stream_writable(struct cor_stream *s, void *arg)
{
}

static void connect_next(struct conn *c);

static void on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct conn *c = arg;

    if (c->state == CONNECTING && c->next_address < c->addresses.n) {
        close_stream(c);
        connect_next(c);
        return;
    }
    if (c->state == BUSY && why == 0 && c->h1 && cor_h1_is_begun(c->h1) &&
        cor_h1_finish(c->h1) == 0 && cor_h1_is_done(c->h1)) {
        if (c->call)
            end_call(c->call, 0, "");
        close_conn(c);
        return;
    }
    if (c->state == CONNECTING && why != -COR_EINVAL && why != -COR_ENOMEM)
        fail_conn(c, -COR_EUNREACHABLE, "the connection was refused");
    else
        fail_conn(c, why == 0 ? -COR_EIO : why,
                  why == -COR_EINVAL ? "the TLS handshake failed" : "the connection broke");
}

static void on_stream_drained(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs stream_cbs = {on_stream_open, on_stream_data, on_stream_writable,
                                                 on_stream_end, on_stream_drained};

static int connect_stream(struct conn *c, const char *address)
{
    struct cor_http_client *client = c->client;
    struct cor_stream_opts opts = {.cbs = &stream_cbs,
                                   .arg = c,
                                   .tls = client->opts.tls,
                                   .server_name =
                                       client->server_name ? client->server_name : client->host,
                                   .out_max = OUT_MAX,
                                   .stall_ms = STALL_MS};

    c->state = CONNECTING;
    cor_timer_set(&c->timer, client->opts.connect_timeout_ms);
    if (client->unix_path)
        return cor_stream_connect_unix(client->net, client->unix_path, &opts, &c->stream);
    return cor_stream_connect(client->net, address, client->opts.port, &opts, &c->stream);
}

static void connect_next(struct conn *c)
{
    int r = connect_stream(c, c->addresses.at[c->next_address++]);

    if (r < 0)
        fail_conn(c, r, cor_err_text(r));
}

static void on_resolved(int r, const struct cor_addresses *found, void *arg)
{
    struct conn *c = arg;

    c->resolver = NULL;
    if (c->state == CLOSING) {
        finish_conn(c);
        return;
    }
    if (r < 0) {
        fail_conn(c, -COR_EUNREACHABLE, "the host name is not known");
        return;
    }
    c->addresses = *found;
    connect_next(c);
}

static void on_conn_timer(struct cor_timer *timer)
{
    struct conn *c = COR_CONTAINER_OF(timer, struct conn, timer);

    if (c->state == CLOSING)
        finish_conn(c);
    else if (c->state == IDLE)
        close_conn(c);
    else if (c->state == BUSY)
        cor_timer_set(&c->timer, COR_HTTP_CLIENT_IDLE_MS); /* its place is still there */
    else
        fail_conn(c, -COR_ETIMEOUT, "the connection took too long");
}

static void conn_discard(struct conn *c)
{
    cor_timer_cancel(&c->timer);
    cor_list_remove(&c->link);
    cor_h1_free(c->h1);
    cor_free(c);
}

static int conn_new(struct cor_http_client *client, struct conn **ret)
{
    struct conn *c = cor_calloc(1, sizeof(*c));
    int r = -COR_ENOMEM;

    if (!c)
        return r;
    c->client = client;
    cor_list_push(&client->conns, &c->link);
    cor_timer_init(&c->timer, cor_net_loop(client->net), on_conn_timer);
    c->h1 = cor_h1_new(COR_H1_CLIENT, &h1_limits, &h1_cbs, c);
    if (c->h1)
        r = cor_timer_set(&c->timer, client->opts.connect_timeout_ms);
    if (r == 0 && client->unix_path)
        r = connect_stream(c, NULL);
    else if (r == 0)
        r = cor_resolver_open(client->net, client->host, on_resolved, c, &c->resolver);
    if (r < 0) {
        conn_discard(c);
        return r;
    }
    *ret = c;
    return 0;
}

static struct conn *find_idle(struct cor_http_client *client)
{
    COR_LIST_FOREACH(it, &client->conns) {
        struct conn *c = COR_CONTAINER_OF(it, struct conn, link);

        if (c->state == IDLE)
            return c;
    }
    return NULL;
}

static int attach(struct cor_http_client *client, struct cor_http_call *call, bool fresh)
{
    struct conn *c = fresh ? NULL : find_idle(client);
    bool is_reused = c != NULL;
    int r = c ? 0 : conn_new(client, &c);

    if (r < 0)
        return r;
    c->call = call;
    c->is_reused = is_reused;
    call->conn = c;
    if (is_reused) {
        client->nidle--;
        send_request(c);
    }
    return 0;
}

static int set_authority(struct cor_http_client *c)
{
    bool is_default = c->opts.port == (c->opts.tls ? 443 : 80);
    int r;

    cor_buf_init(&c->authority, 512);
    if (c->unix_path)
        return cor_buf_addz(&c->authority, "localhost");
    r = cor_buf_addf(&c->authority, strchr(c->host, ':') ? "[%s]" : "%s", c->host);
    return r < 0 || is_default ? r : cor_buf_addf(&c->authority, ":%u", c->opts.port);
}

static int dup(const char *s, char **ret)
{
    *ret = s ? cor_strdup(s) : NULL;
    return s && !*ret ? -COR_ENOMEM : 0;
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
    c->opts = *opts;
    c->opts.tls = opts->tls ? cor_tls_ref(opts->tls) : NULL;
    if (c->opts.connect_timeout_ms == 0)
        c->opts.connect_timeout_ms = COR_HTTP_CLIENT_CONNECT_TIMEOUT_MS;
    cor_list_init(&c->conns);
    cor_list_init(&c->calls);
    cor_timer_init(&c->soon, cor_net_loop(net), on_soon);
    r = dup(opts->host, &c->host);
    if (r == 0)
        r = dup(opts->unix_path, &c->unix_path);
    if (r == 0)
        r = dup(opts->server_name, &c->server_name);
    if (r == 0)
        r = set_authority(c);
    if (r == 0)
        r = cor_timer_set(&c->soon, FAR_MS);
    if (r < 0) {
        free_client(c);
        return r;
    }
    *ret_client = c;
    return 0;
}

void cor_http_client_close(struct cor_http_client *c, void (*on_closed)(void *arg), void *arg)
{
    assert(!c->is_closing && cor_loop_is_current(cor_net_loop(c->net)));
    c->is_closing = true;
    c->on_closed = on_closed;
    c->closed_arg = arg;
    COR_LIST_FOREACH(it, &c->calls)
        end_call(COR_CONTAINER_OF(it, struct cor_http_call, link), -COR_ECANCELED, "canceled");
    COR_LIST_FOREACH_SAFE(it, &c->conns)
        close_conn(COR_CONTAINER_OF(it, struct conn, link));
    cor_timer_set(&c->soon, 0);
}

static void on_call_timer(struct cor_timer *timer)
{
    struct cor_http_call *call = COR_CONTAINER_OF(timer, struct cor_http_call, timer);
    struct cor_http_client *client = call->client;
    struct conn *c = call->conn;

    if (!call->is_due) {
        end_call(call, -COR_ETIMEOUT, "the deadline has passed");
        if (c)
            close_conn(c);
        return;
    }
    cor_list_remove(&call->link);
    call->cbs->on_done(call->arg, call->r, call->text);
    call_free(call);
    look_closed(client);
}

static int write_request(struct cor_http_call *call, const struct cor_http_call_opts *opts)
{
    struct cor_http_header headers[COR_H1_HEADERS_MAX];
    struct cor_h1_message msg = {.peer_minor = 1, .keep_alive = true, .length = opts->body.n};
    enum cor_h1_framing framing;
    int r;

    if (opts->nheaders + 1 > COR_H1_HEADERS_MAX)
        return -COR_ETOOBIG;
    headers[0] = (struct cor_http_header){COR_STR("Host"), cor_buf_str(&call->client->authority)};
    for (size_t i = 0; i < opts->nheaders; i++)
        headers[i + 1] = opts->headers[i];
    msg.headers = headers;
    msg.nheaders = opts->nheaders + 1;
    r = cor_h1_write_request(&call->request, opts->method, opts->target, &msg, &framing);
    return r < 0 ? r : cor_buf_adds(&call->request, opts->body);
}

int cor_http_call_open(struct cor_http_client *c, const struct cor_http_call_opts *opts,
                       struct cor_http_call **ret_call)
{
    struct cor_http_call *call;
    int r;

    if (c->is_closing || c->ncalls == COR_HTTP_CLIENT_CALLS_MAX)
        return -COR_EBUSY;
    call = cor_calloc(1, sizeof(*call));
    if (!call)
        return -COR_ENOMEM;
    call->client = c;
    call->cbs = opts->cbs;
    call->arg = opts->arg;
    call->is_head = cor_str_eqz(opts->method, "HEAD");
    call->is_idempotent = call->is_head || cor_str_eqz(opts->method, "GET");
    c->ncalls++;
    cor_list_push(&c->calls, &call->link);
    cor_timer_init(&call->timer, cor_net_loop(c->net), on_call_timer);
    cor_buf_init(&call->request, OUT_MAX);
    r = write_request(call, opts);
    if (r == 0)
        r = cor_timer_set(&call->timer, opts->deadline_ms ? opts->deadline_ms : UINT64_MAX);
    if (r == 0)
        r = attach(c, call, false);
    if (r < 0) {
        call_free(call);
        return r;
    }
    *ret_call = call;
    return 0;
}

void cor_http_call_cancel(struct cor_http_call *call)
{
    struct conn *c = call->conn;

    if (c) {
        c->call = NULL;
        close_conn(c);
    }
    call_free(call);
}
