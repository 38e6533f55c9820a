/* A client's way to a server process over HTTPS: one request at a time, the response as it comes.
 * With HTTP/1.1 each is a connection, with HTTP/2 they are the streams of one.
 * Owner: whoever opened it.  Thread: the loop's. */
#ifndef COR_TEST_HTTP_CONN_H
#define COR_TEST_HTTP_CONN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct cor_loop;
struct http_conn;
struct server_process;

/* What the connections of one loop share. */
struct http_client;

struct http_client *http_client_open(struct cor_loop *loop, const struct server_process *server,
                                     bool is_h2);
/* After all connections were closed; runs the loop until they are gone. */
void http_client_close(struct http_client *client);

struct http_conn_cbs {
    void (*on_head)(int status, void *arg);
    void (*on_body)(struct cor_str piece, void *arg);
    /* The response is whole; the next request may be sent. */
    void (*on_done)(void *arg);
    /* The connection ended; it only can be closed. */
    void (*on_lost)(void *arg);
};

/* `cbs` must stay valid. `is_narrow`: HTTP/1.1 with a small receive buffer, so that the server soon
 * notices when nobody reads. NULL: no connection can be had. */
struct http_conn *http_conn_open(struct http_client *client, const struct http_conn_cbs *cbs,
                                 void *arg, bool is_narrow);

/* No callback after this; also from a callback. NULL is fine. */
void http_conn_close(struct http_conn *conn);

/* `content_type` may be NULL: no body. */
void http_conn_send(struct http_conn *conn, const char *method, const char *path,
                    const char *content_type, struct cor_str body);

/* Stops reading, or goes on. */
void http_conn_pause(struct http_conn *conn, bool is_paused);

#endif
