#include "client.h"

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/session/h1.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"
#include "process.h"

#define MAIL_MAX 1024
#define OUT_MAX  (4u << 20)
#define CLOSE_MS 30000

struct client {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_tls *tls;
    size_t nconns;
    bool is_net_closed;
};

struct conn {
    struct client *client;
    struct cor_stream *stream;
    struct cor_h1 *h1;
    const struct conn_cbs *cbs;
    void *arg;
    bool is_closed;
};

static void check(int r, const char *what)
{
    if (r < 0)
        die("%s: %s", what, cor_err_text(r));
}

struct client *client_open(void)
{
    static const char *const alpn[] = {"http/1.1"};
    const struct cor_tls_opts opts = {
        .role = COR_TLS_CLIENT, .is_insecure = true, .alpn = alpn, .nalpn = COR_ARRAY_LEN(alpn)};
    struct client *c = cor_calloc(1, sizeof(*c));

    if (!c)
        die("out of memory");
    check(cor_loop_new(MAIL_MAX, &c->loop), "loop");
    check(cor_net_open(c->loop, &c->net), "net");
    check(cor_tls_new(&opts, &c->tls), "TLS");
    return c;
}

static bool has_no_conns(void *arg)
{
    return ((struct client *)arg)->nconns == 0;
}

static void on_net_closed(void *arg)
{
    ((struct client *)arg)->is_net_closed = true;
}

static bool is_net_closed(void *arg)
{
    return ((struct client *)arg)->is_net_closed;
}

void client_close(struct client *c)
{
    if (!client_run(c, has_no_conns, c, CLOSE_MS))
        die("%zu connections do not close", c->nconns);
    cor_net_close(c->net, on_net_closed, c);
    (void)client_run(c, is_net_closed, c, CLOSE_MS);
    cor_loop_free(c->loop);
    cor_tls_unref(c->tls);
    cor_free(c);
}

bool client_run(struct client *c, bool (*done)(void *arg), void *arg, uint64_t ms)
{
    return cor_loop_run_until(c->loop, done, arg, ms);
}

static int on_h1_head(const struct cor_h1_head *head, void *arg)
{
    struct conn *conn = arg;

    if (conn->cbs->on_head)
        conn->cbs->on_head(head->status, conn->arg);
    return 0;
}

static int on_h1_body(struct cor_str piece, void *arg)
{
    struct conn *conn = arg;

    if (conn->cbs->on_body)
        conn->cbs->on_body(piece, conn->arg);
    return 0;
}

static int on_h1_end(void *arg)
{
    return 0;
}

static const struct cor_h1_limits limits = {
    .head_max = COR_H1_HEAD_MAX, .headers_max = COR_H1_HEADERS_MAX, .body_max = UINT64_MAX};
static const struct cor_h1_cbs h1_cbs = {on_h1_head, on_h1_body, on_h1_end};

static void on_stream_open(struct cor_stream *s, void *arg)
{
    struct conn *conn = arg;

    if (conn->cbs->on_open)
        conn->cbs->on_open(conn->arg);
}

static void on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct conn *conn = arg;

    while (bytes.n > 0 && !conn->is_closed) {
        size_t used;
        int status;

        if (cor_h1_feed(conn->h1, bytes, &used) < 0)
            die("the server's answer: %s", cor_h1_error(conn->h1)->text);
        bytes = cor_str_from(bytes, used);
        if (!cor_h1_is_done(conn->h1))
            continue;
        status = cor_h1_head(conn->h1)->status;
        cor_h1_next(conn->h1, false);
        if (conn->cbs->on_response)
            conn->cbs->on_response(status, conn->arg);
    }
}

static void on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct conn *conn = arg;

    if (!conn->cbs->on_lost)
        die("the server closed a connection: %s", cor_err_text(why));
    conn->cbs->on_lost(why, conn->arg);
}

static const struct cor_stream_cbs stream_cbs = {
    .on_open = on_stream_open, .on_data = on_stream_data, .on_end = on_stream_end};

struct conn *conn_open(struct client *c, uint16_t port, bool is_plain, const struct conn_cbs *cbs,
                       void *arg)
{
    struct conn *conn = cor_calloc(1, sizeof(*conn));
    struct cor_stream_opts opts = {.cbs = &stream_cbs,
                                   .arg = conn,
                                   .tls = is_plain ? NULL : c->tls,
                                   .server_name = "localhost",
                                   .out_max = OUT_MAX};

    if (!conn)
        die("out of memory");
    *conn = (struct conn){.client = c, .cbs = cbs, .arg = arg};
    conn->h1 = cor_h1_new(COR_H1_CLIENT, &limits, &h1_cbs, conn);
    if (!conn->h1)
        die("out of memory");
    check(cor_stream_connect(c->net, "127.0.0.1", port, &opts, &conn->stream), "connect");
    c->nconns++;
    return conn;
}

static void on_stream_closed(void *arg)
{
    struct conn *conn = arg;

    conn->client->nconns--;
    cor_h1_free(conn->h1);
    cor_free(conn);
}

void conn_close(struct conn *conn)
{
    conn->is_closed = true;
    cor_stream_close(conn->stream, on_stream_closed, conn);
}

void conn_send(struct conn *conn, struct cor_str request)
{
    check(cor_stream_write(conn->stream, &request, 1), "send");
}
