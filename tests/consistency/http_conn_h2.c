#include <stdlib.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/client_conn.h"
#include "http_conn_int.h"
#include "loop/loop.h"
#include "server_process.h"

#define BODY_MAX     (256u * 1024)
#define CONNECT_MS   30000
#define KEEPALIVE_MS 60000

/* A connection with many streams. */
struct h2_link {
    struct http_client *client;
    struct cor_client_conn *conn;
    struct cor_dlist conns;
    bool is_open;
};

struct h2_conn {
    struct http_conn base;
    struct h2_link *link; /* NULL: it is gone */
    struct cor_dlist in_link;
    struct cor_h2_stream *stream;
    struct cor_buf head, body; /* "METHOD path type" until it is sent; what is to be written */
    size_t written, unconsumed;
    bool is_paused, is_due;
    struct cor_mail lost_mail, gone_mail;
};

static const struct cor_h2_limits limits = {.streams_max = 100,
                                            .window = 64 * 1024,
                                            .head_max = COR_H2_HEAD_MAX,
                                            .headers_max = COR_H2_HEADERS_MAX};

static void lose(struct h2_conn *own)
{
    if (!own->base.is_closed)
        own->base.cbs->on_lost(own->base.arg);
}

static int on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct http_conn *conn = arg;

    conn->cbs->on_head(head->status, conn->arg);
    return 0;
}

/* The callback may close the conn, and the stream with it. */
static int on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct h2_conn *own = arg;

    own->unconsumed += piece.n;
    own->base.cbs->on_body(piece, own->base.arg);
    if (own->stream && !own->is_paused) {
        cor_h2_consume(own->stream, own->unconsumed);
        own->unconsumed = 0;
    }
    return 0;
}

static void on_end(struct cor_h2_stream *s, void *arg)
{
}

static void write_body(struct h2_conn *own)
{
    struct cor_str body = cor_buf_str(&own->body);

    if (own->written < body.n)
        own->written += cor_h2_write(own->stream, &body, 1, own->written, true);
}

static void on_writable(struct cor_h2_stream *s, void *arg)
{
    write_body(arg);
}

static void on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct h2_conn *own = arg;

    own->stream = NULL;
    own->unconsumed = 0;
    if (own->base.is_closed)
        return;
    if (code == COR_H2_NO_ERROR)
        own->base.cbs->on_done(own->base.arg);
    else
        own->base.cbs->on_lost(own->base.arg);
}

static const struct cor_h2_stream_cbs stream_cbs = {.on_head = on_head,
                                                    .on_body = on_body,
                                                    .on_end = on_end,
                                                    .on_writable = on_writable,
                                                    .on_closed = on_closed};

static void open_stream(struct h2_conn *own)
{
    struct cor_str head = cor_buf_str(&own->head);
    struct cor_str method = cor_str_cut(&head, ' '), path = cor_str_cut(&head, ' ');
    struct cor_buf bearer;
    struct cor_http_header headers[] = {{COR_STR("authorization"), {0}},
                                        {COR_STR("content-type"), head}};
    struct cor_h2_request req = {.method = method,
                                 .scheme = COR_STR("https"),
                                 .authority = COR_STR("127.0.0.1"),
                                 .path = path,
                                 .headers = headers,
                                 .nheaders = head.n > 0 ? 2 : 1,
                                 .has_body = head.n > 0};
    int r;

    own->is_due = false;
    cor_buf_init(&bearer, BODY_MAX);
    cor_buf_addf(&bearer, "Bearer %s", cor_buf_z(&own->base.client->server->token));
    headers[0].value = cor_buf_str(&bearer);
    r = cor_h2_open(cor_client_conn_h2(own->link->conn), &req, &stream_cbs, own, &own->stream);
    cor_buf_deinit(&bearer);
    if (r == 0)
        write_body(own);
    else
        cor_loop_post_always(own->base.client->loop, &own->lost_mail);
}

static void on_link_open(struct cor_client_conn *c, void *arg)
{
    struct h2_link *link = arg;

    link->is_open = true;
    COR_DLIST_FOREACH_SAFE(it, &link->conns) {
        struct h2_conn *own = COR_CONTAINER_OF(it, struct h2_conn, in_link);

        if (own->is_due)
            open_stream(own);
    }
}

static void on_link_drain(struct cor_client_conn *c, void *arg)
{
    struct h2_link *link = arg;

    if (link->client->link == link)
        link->client->link = NULL;
}

static void on_link_closed(void *arg)
{
    struct h2_link *link = arg;

    link->client->nlinks--;
    cor_free(link);
}

/* Streams have been told already; those that wait or rest have not. */
static void on_link_end(struct cor_client_conn *c, int why, const char *text, void *arg)
{
    struct h2_link *link = arg;
    struct cor_dlist *it;

    on_link_drain(c, link);
    while ((it = cor_dlist_pop(&link->conns))) {
        struct h2_conn *own = COR_CONTAINER_OF(it, struct h2_conn, in_link);

        own->link = NULL;
        lose(own);
    }
    cor_client_conn_close(c, on_link_closed, link);
}

static const struct cor_client_conn_cbs link_cbs = {on_link_open, on_link_drain, on_link_end};

static struct h2_link *new_link(struct http_client *client)
{
    struct h2_link *link = cor_calloc(1, sizeof(*link));
    struct cor_client_conn_opts opts = {.host = "127.0.0.1",
                                        .port = client->server->port,
                                        .tls = client->tls,
                                        .connect_timeout_ms = CONNECT_MS,
                                        .keepalive_ms = KEEPALIVE_MS,
                                        .keepalive_timeout_ms = KEEPALIVE_MS,
                                        .limits = &limits,
                                        .cbs = &link_cbs,
                                        .arg = link};

    if (!link)
        abort();
    link->client = client;
    cor_dlist_init(&link->conns);
    if (cor_client_conn_open(client->net, &opts, &link->conn) < 0)
        abort();
    client->nlinks++;
    return link;
}

void h2_link_close(struct http_client *client)
{
    struct h2_link *link = COR_STEAL(client->link);

    if (link)
        cor_client_conn_close(link->conn, on_link_closed, link);
}

static void on_lost_mail(struct cor_mail *mail)
{
    lose(COR_CONTAINER_OF(mail, struct h2_conn, lost_mail));
}

static void on_gone_mail(struct cor_mail *mail)
{
    struct h2_conn *own = COR_CONTAINER_OF(mail, struct h2_conn, gone_mail);

    own->base.client->nconns--;
    cor_buf_deinit(&own->head);
    cor_buf_deinit(&own->body);
    cor_free(own);
}

static struct http_conn *open_conn(struct http_client *client, bool is_narrow)
{
    struct h2_conn *own = cor_calloc(1, sizeof(*own));

    if (!own)
        abort();
    if (!client->link)
        client->link = new_link(client);
    own->link = client->link;
    own->lost_mail.on_mail = on_lost_mail;
    own->gone_mail.on_mail = on_gone_mail;
    cor_buf_init(&own->head, BODY_MAX);
    cor_buf_init(&own->body, BODY_MAX);
    cor_dlist_push(&own->link->conns, &own->in_link);
    return &own->base;
}

static void close_conn(struct http_conn *conn)
{
    struct h2_conn *own = (struct h2_conn *)conn;

    if (own->stream)
        cor_h2_reset(COR_STEAL(own->stream), COR_H2_CANCEL);
    cor_dlist_remove(&own->in_link);
    cor_loop_post_always(conn->client->loop, &own->gone_mail);
}

static void send_request(struct http_conn *conn, const char *method, const char *path,
                         const char *content_type, struct cor_str body)
{
    struct h2_conn *own = (struct h2_conn *)conn;

    cor_buf_reset(&own->head);
    cor_buf_reset(&own->body);
    own->written = 0;
    cor_buf_addf(&own->head, "%s %s %s", method, path, content_type ? content_type : "");
    if (content_type)
        cor_buf_adds(&own->body, body);
    own->is_due = true;
    if (own->link && own->link->is_open)
        open_stream(own);
    else if (!own->link)
        cor_loop_post_always(conn->client->loop, &own->lost_mail);
}

static void pause_conn(struct http_conn *conn, bool is_paused)
{
    struct h2_conn *own = (struct h2_conn *)conn;

    own->is_paused = is_paused;
    if (is_paused || !own->stream)
        return;
    cor_h2_consume(own->stream, own->unconsumed);
    own->unconsumed = 0;
}

const struct http_conn_ops http_conn_h2_ops = {open_conn, close_conn, send_request, pause_conn};
