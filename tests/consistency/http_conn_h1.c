#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "http_conn_int.h"
#include "net/session/h1.h"
#include "net/stream/stream.h"
#include "server_process.h"

#define OUT_MAX (256u * 1024)
/* A window below the loopback's segment size would be opened by probes only, each 200 ms late. */
#define NARROW (64 * 1024)

struct h1_conn {
    struct http_conn base;
    struct cor_stream *stream;
    struct cor_h1 *h1;
};

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
    struct h1_conn *own = arg;
    struct http_conn *conn = &own->base;
    size_t used;

    while (bytes.n > 0 && !conn->is_closed) {
        if (cor_h1_feed(own->h1, bytes, &used) < 0) {
            conn->cbs->on_lost(conn->arg);
            return;
        }
        bytes = cor_str_from(bytes, used);
        if (conn->is_closed || !cor_h1_is_done(own->h1))
            continue;
        cor_h1_next(own->h1, false);
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

static int connect_stream(struct http_client *client, const struct cor_stream_opts *opts,
                          bool is_narrow, struct cor_stream **ret_stream)
{
    int fd;

    if (!is_narrow)
        return cor_stream_connect(client->net, "127.0.0.1", client->server->port, opts, ret_stream);
    fd = connect_narrow(client->server->port);
    return fd < 0 ? -COR_EUNREACHABLE : cor_stream_open(client->net, fd, opts, ret_stream);
}

static struct http_conn *open_conn(struct http_client *client, bool is_narrow)
{
    struct h1_conn *own = cor_calloc(1, sizeof(*own));
    struct cor_stream_opts opts = {.cbs = &stream_cbs,
                                   .arg = own,
                                   .tls = client->tls,
                                   .server_name = "127.0.0.1",
                                   .out_max = OUT_MAX};

    if (!own)
        abort();
    own->h1 = cor_h1_new(COR_H1_CLIENT, &limits, &h1_cbs, own);
    if (!own->h1)
        abort();
    if (connect_stream(client, &opts, is_narrow, &own->stream) < 0) {
        cor_h1_free(own->h1);
        cor_free(own);
        return NULL;
    }
    return &own->base;
}

static void on_stream_closed(void *arg)
{
    struct h1_conn *own = arg;

    own->base.client->nconns--;
    cor_h1_free(own->h1);
    cor_free(own);
}

static void close_conn(struct http_conn *conn)
{
    cor_stream_close(((struct h1_conn *)conn)->stream, on_stream_closed, conn);
}

static void send_request(struct http_conn *conn, const char *method, const char *path,
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
    (void)cor_stream_write(((struct h1_conn *)conn)->stream, spans, content_type ? 2 : 1);
    cor_buf_deinit(&text);
}

static void pause_conn(struct http_conn *conn, bool is_paused)
{
    struct cor_stream *stream = ((struct h1_conn *)conn)->stream;

    if (is_paused)
        cor_stream_read_stop(stream);
    else
        cor_stream_read_start(stream);
}

const struct http_conn_ops http_conn_h1_ops = {open_conn, close_conn, send_request, pause_conn};
