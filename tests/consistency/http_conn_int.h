/* What both protocols of http_conn.h share. */
#ifndef COR_TEST_HTTP_CONN_INT_H
#define COR_TEST_HTTP_CONN_INT_H

#include "http_conn.h"

struct h2_link;

struct http_conn_ops {
    struct http_conn *(*open)(struct http_client *client, bool is_narrow);
    void (*close)(struct http_conn *conn);
    void (*send)(struct http_conn *conn, const char *method, const char *path,
                 const char *content_type, struct cor_str body);
    void (*pause)(struct http_conn *conn, bool is_paused);
};

extern const struct http_conn_ops http_conn_h1_ops, http_conn_h2_ops;

struct http_client {
    const struct http_conn_ops *ops;
    const struct server_process *server;
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_tls *tls;
    struct h2_link *link; /* HTTP/2: the connection that takes new streams, or NULL */
    size_t nconns, nlinks;
    bool is_net_closed;
};

struct http_conn {
    struct http_client *client;
    const struct http_conn_cbs *cbs;
    void *arg;
    bool is_closed;
};

/* HTTP/2: the client needs its connection no more. */
void h2_link_close(struct http_client *client);

#endif
