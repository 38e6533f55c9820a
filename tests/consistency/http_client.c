#include <stdlib.h>

#include "base/mem.h"
#include "http_conn_int.h"
#include "loop/loop.h"
#include "net/stream/net.h"
#include "net/stream/tls.h"
#include "server_process.h"

#define CLOSE_MS 180000

struct http_client *http_client_open(struct cor_loop *loop, const struct server_process *server,
                                     bool is_h2)
{
    const char *const alpn = is_h2 ? "h2" : "http/1.1";
    const struct cor_tls_opts opts = {
        .role = COR_TLS_CLIENT, .ca_pem = cor_buf_str(&server->ca), .alpn = &alpn, .nalpn = 1};
    struct http_client *client = cor_calloc(1, sizeof(*client));

    if (!client)
        abort();
    client->ops = is_h2 ? &http_conn_h2_ops : &http_conn_h1_ops;
    client->server = server;
    client->loop = loop;
    if (cor_net_open(loop, &client->net) < 0 || cor_tls_new(&opts, &client->tls) < 0)
        abort();
    return client;
}

static bool has_no_conns(void *arg)
{
    struct http_client *client = arg;

    return client->nconns == 0 && client->nlinks == 0;
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
    h2_link_close(client);
    if (!cor_loop_run_until(client->loop, has_no_conns, client, CLOSE_MS))
        abort();
    cor_net_close(client->net, on_net_closed, client);
    if (!cor_loop_run_until(client->loop, is_net_closed, client, CLOSE_MS))
        abort();
    cor_tls_unref(client->tls);
    cor_free(client);
}

struct http_conn *http_conn_open(struct http_client *client, const struct http_conn_cbs *cbs,
                                 void *arg, bool is_narrow)
{
    struct http_conn *conn = client->ops->open(client, is_narrow);

    if (!conn)
        return NULL;
    conn->client = client;
    conn->cbs = cbs;
    conn->arg = arg;
    client->nconns++;
    return conn;
}

void http_conn_close(struct http_conn *conn)
{
    if (!conn)
        return;
    conn->is_closed = true;
    conn->client->ops->close(conn);
}

void http_conn_send(struct http_conn *conn, const char *method, const char *path,
                    const char *content_type, struct cor_str body)
{
    conn->client->ops->send(conn, method, path, content_type, body);
}

void http_conn_pause(struct http_conn *conn, bool is_paused)
{
    conn->client->ops->pause(conn, is_paused);
}
