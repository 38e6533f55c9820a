/* An HTTP/1.1 client of one server: calls, and the connections they share. A call takes an idle
 * connection or makes one; a connection goes back when its answer has ended, and is kept for the
 * next call. Bodies are shown as they come and never held.
 * Owner: its opener.  Thread: the loop's of `net`. No function calls back before it returns. */
#ifndef COR_HTTP_CLIENT_H
#define COR_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/header.h"

struct cor_http_call;
struct cor_http_client;
struct cor_net;
struct cor_tls;

#define COR_HTTP_CLIENT_CALLS_MAX 1000 /* under way at once, each with a connection */
#define COR_HTTP_CLIENT_IDLE_MAX  25   /* connections kept for later */
/* Connections without a call are closed after this; servers keep theirs longer. */
#define COR_HTTP_CLIENT_IDLE_MS            90000
#define COR_HTTP_CLIENT_CONNECT_TIMEOUT_MS 30000
#define COR_HTTP_CLIENT_BODY_MAX           (16u << 20) /* of a request */

struct cor_http_client_opts {
    const char *host; /* a name or a numeric address; NULL: `unix_path`. Copied, as all strings */
    uint16_t port;
    const char *unix_path;
    struct cor_tls *tls;         /* NULL: plain. A reference is taken */
    const char *server_name;     /* for TLS; NULL: `host` */
    uint64_t connect_timeout_ms; /* per address; 0: COR_HTTP_CLIENT_CONNECT_TIMEOUT_MS */
};

/* 0, -COR_ENOMEM. Nothing is connected yet. */
int cor_http_client_open(struct cor_net *net, const struct cor_http_client_opts *opts,
                         struct cor_http_client **ret_client);

/* Calls under way end with -COR_ECANCELED, from a later turn; then `on_closed` (may be NULL), and
 * the memory is gone. */
void cor_http_client_close(struct cor_http_client *c, void (*on_closed)(void *arg), void *arg);

/* A negative return ends the call with that code. */
struct cor_http_call_cbs {
    int (*on_head)(void *arg, int status, const struct cor_http_header *headers, size_t nheaders);
    int (*on_body)(void *arg, struct cor_str piece);
    /* Always the last; the call is gone after it. 0: the answer is complete. -COR_EUNREACHABLE: no
     * connection, so the server has seen nothing. -COR_ETIMEOUT: the deadline, or too slow to
     * connect. -COR_EINVAL: TLS failed, or no HTTP came back. -COR_EIO: the connection broke.
     * -COR_ECANCELED, -COR_ENOMEM. `text` is one line. */
    void (*on_done)(void *arg, int r, const char *text);
};

struct cor_http_call_opts {
    struct cor_str method, target;
    const struct cor_http_header *headers; /* without Host, lengths and Connection */
    size_t nheaders;
    struct cor_str body;
    uint64_t deadline_ms;                /* for the whole call, from now; 0: none */
    const struct cor_http_call_cbs *cbs; /* must stay valid */
    void *arg;
};

/* The options are copied. 0, -COR_EBUSY (too many), -COR_ETOOBIG, -COR_ENOMEM. */
int cor_http_call_open(struct cor_http_client *c, const struct cor_http_call_opts *opts,
                       struct cor_http_call **ret_call);

/* No callback after this, and the call is gone. */
void cor_http_call_cancel(struct cor_http_call *call);

#endif
