#include "http_conn.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/h1.h"
#include "net/net.h"
#include "net/stream.h"
#include "net/tls.h"
#include "server_process.h"

#define OUT_MAX  (256u * 1024)
#define CLOSE_MS 30000
/* A window below the loopback's segment size would be opened by probes only, each 200 ms late. */
#define NARROW (64 * 1024)

struct http_client {
    const struct server_process *server;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_tls *tls;
    size_t nconns;
    bool is_net_closed;
};

struct http_conn {
    struct http_client *client;
    struct cor_stream *stream;
    struct cor_h1 *h1;
    const struct http_conn_cbs *cbs;
    void *arg;
    bool is_closed;
};

struct http_client *http_client_open(struct cor_loop *loop, const struct server_process *server)
{
    const struct cor_tls_opts opts = {.role = COR_TLS_CLIENT, .ca_pem = cor_buf_str(&server->ca)};
    struct http_client *client = cor_calloc(1, sizeof(*client));

    if (!client)
        abort();
    client->server = server;
    client->loop = loop;
    if (cor_net_open(loop, &client->net) < 0 || cor_tls_new(&opts, &client->tls) < 0)
        abort();
    return client;
}

static bool has_no_conns(void *arg)
{
    return ((struct http_client *)arg)->nconns == 0;
}

static void on_net_closed(void *arg)
{
    ((struct http_client *)arg)->is_net_closed = true;
}

static bool is_net_closed(void *arg)
{
    return ((struct http_client *)arg)->is_net_closed;
}

void http_client_close(struct http_client *client)
{
    if (!cor_loop_run_until(client->loop, has_no_conns, client, CLOSE_MS))
        abort();
    cor_net_close(client->net, on_net_closed, client);
    if (!cor_loop_run_until(client->loop, is_net_closed, client, CLOSE_MS))
        abort();
    cor_tls_unref(client->tls);
    cor_free(client);
}

static int on_h1_head(const struct cor_h1_head *head, void *arg)
{
    struct http_conn *conn = arg;

    if (!conn->is_closed)
        conn->cbs->on_head(head->status, conn->arg);
    return 0;
}

static int on_h1_body(struct cor_str piece, void *arg)
{
    struct http_conn *conn = arg;

    if (!conn->is_closed)
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

static void on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct http_conn *conn = arg;
    size_t used;

    while (bytes.n > 0 && !conn->is_closed) {
        if (cor_h1_feed(conn->h1, bytes, &used) < 0) {
            conn->cbs->on_lost(conn->arg);
            return;
        }
        bytes = cor_str_from(bytes, used);
        if (conn->is_closed || !cor_h1_is_done(conn->h1))
            continue;
        cor_h1_next(conn->h1, false);
        conn->cbs->on_done(conn->arg);
    }
}

static void on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct http_conn *conn = arg;

    conn->cbs->on_lost(conn->arg);
}

static void on_stream_other(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs stream_cbs = {.on_open = on_stream_other,
                                                 .on_data = on_stream_data,
                                                 .on_writable = on_stream_other,
                                                 .on_end = on_stream_end,
                                                 .on_drained = on_stream_other};

/* A buffer's size counts only before the connection is made. */
static int connect_narrow(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), size = NARROW;

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    if (connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static int connect_stream(struct http_conn *conn, const struct cor_stream_opts *opts,
                          bool is_narrow)
{
    struct http_client *client = conn->client;
    int fd;

    if (!is_narrow)
        return cor_stream_connect(client->net, "127.0.0.1", client->server->port, opts,
                                  &conn->stream);
    fd = connect_narrow(client->server->port);
    return fd < 0 ? -COR_EUNREACHABLE : cor_stream_open(client->net, fd, opts, &conn->stream);
}

struct http_conn *http_conn_open(struct http_client *client, const struct http_conn_cbs *cbs,
                                 void *arg, bool is_narrow)
{
    struct http_conn *conn = cor_calloc(1, sizeof(*conn));
    struct cor_stream_opts opts = {.cbs = &stream_cbs,
                                   .arg = conn,
                                   .tls = client->tls,
                                   .server_name = "127.0.0.1",
                                   .out_max = OUT_MAX};

    if (!conn)
        abort();
    *conn = (struct http_conn){.client = client, .cbs = cbs, .arg = arg};
    conn->h1 = cor_h1_new(COR_H1_CLIENT, &limits, &h1_cbs, conn);
    if (!conn->h1)
        abort();
    if (connect_stream(conn, &opts, is_narrow) < 0) {
        cor_h1_free(conn->h1);
        return cor_free(conn);
    }
    client->nconns++;
    return conn;
}

static void on_stream_closed(void *arg)
{
    struct http_conn *conn = arg;

    conn->client->nconns--;
    cor_h1_free(conn->h1);
    cor_free(conn);
}

void http_conn_close(struct http_conn *conn)
{
    if (!conn)
        return;
    conn->is_closed = true;
    cor_stream_close(conn->stream, on_stream_closed, conn);
}

void http_conn_send(struct http_conn *conn, const char *method, const char *path,
                    const char *content_type, struct cor_str body)
{
    struct cor_buf text;
    struct cor_str spans[2];

    cor_buf_init(&text, OUT_MAX);
    cor_buf_addf(&text, "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer %s\r\n", method,
                 path, cor_buf_z(&conn->client->server->token));
    if (content_type)
        cor_buf_addf(&text, "Content-Type: %s\r\nContent-Length: %zu\r\n", content_type, body.n);
    cor_buf_addz(&text, "\r\n");
    spans[0] = cor_buf_str(&text);
    spans[1] = body;
    /* A stream that has ended says so by on_lost. */
    (void)cor_stream_write(conn->stream, spans, content_type ? 2 : 1);
    cor_buf_deinit(&text);
}

void http_conn_pause(struct http_conn *conn, bool is_paused)
{
    if (is_paused)
        cor_stream_read_stop(conn->stream);
    else
        cor_stream_read_start(conn->stream);
}
