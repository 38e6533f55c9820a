/* A client of one server: calls, and the connections they share. TLS lets the server choose HTTP/2
 * or HTTP/1.1 (ALPN, as `tls` offers them). Over HTTP/2 calls are streams of one connection, up to
 * the server's limit, and of another beyond it; over HTTP/1.1 a call takes an idle connection or
 * makes one, which is kept when its answer has ended. Bodies are shown as they come and never held:
 * what a consumer has not looked at is not asked for. They are not decompressed, and none is asked
 * for compressed. Behaviour: docs/internals/http.md.
 * Owner: its opener.  Thread: the loop's of `net`. No function calls back before it returns. */
#ifndef COR_HTTP_CLIENT_H
#define COR_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/header.h"
#include "net/resolver.h"

struct cor_http_call;
struct cor_http_client;
struct cor_net;
struct cor_tls;
struct cor_tls_files;

#define COR_HTTP_CLIENT_CALLS_MAX 1000 /* under way at once */
#define COR_HTTP_CLIENT_IDLE_MAX  25   /* HTTP/1.1: connections kept for later */
/* Connections without a call are closed after this; servers keep theirs longer. */
#define COR_HTTP_CLIENT_IDLE_MS            90000
#define COR_HTTP_CLIENT_CONNECT_TIMEOUT_MS 30000
/* HTTP/2: a server that is silent so long while calls wait for it is asked, and has so long to
 * answer: client-go's ReadIdleTimeout and PingTimeout. */
#define COR_HTTP_CLIENT_SILENCE_MS   30000
#define COR_HTTP_CLIENT_PING_MS      15000
#define COR_HTTP_CLIENT_CERT_MS      300000      /* client-go's CertCallbackRefreshDuration */
#define COR_HTTP_CLIENT_BODY_MAX     (16u << 20) /* of a request */
#define COR_HTTP_CLIENT_HEADERS_MAX  60          /* of a request */
#define COR_HTTP_CLIENT_REDIRECT_MAX 10
#define COR_HTTP_CLIENT_GOAWAY_MAX   7 /* times that a call is sent again after GOAWAYs */

struct cor_http_client_opts {
    const char *host; /* a name or a numeric address; NULL: `unix_path`. Copied, as all strings */
    uint16_t port;
    const char *unix_path;
    struct cor_tls *tls; /* NULL: plain. A reference is taken */
    /* Instead of `tls`, NULL: none. Looked at before a connection is made (once a second at most)
     * and every COR_HTTP_CLIENT_CERT_MS; must stay valid until on_closed. */
    struct cor_tls_files *tls_files;
    const char *server_name;     /* for TLS; NULL: `host` */
    bool knows_h2;               /* without TLS: HTTP/2 by prior knowledge, not HTTP/1.1 */
    uint64_t connect_timeout_ms; /* 0: COR_HTTP_CLIENT_CONNECT_TIMEOUT_MS */
    uint64_t silence_ms;         /* HTTP/2; 0: COR_HTTP_CLIENT_SILENCE_MS */
    uint64_t ping_ms;            /* 0: COR_HTTP_CLIENT_PING_MS */
    const char *proxy_url;       /* see http/proxy.h; NULL: none. An https proxy needs `tls`, and is
                                    trusted as the server is. Not for Unix sockets */
    cor_resolve_fn resolve;      /* NULL: the system's resolver, on a worker thread */
    void *resolve_arg;
};

/* Nothing is connected yet. 0, -COR_ENOMEM; of the proxy's URL: -COR_EINVAL, -COR_ENOTSUP. */
int cor_http_client_open(struct cor_net *net, const struct cor_http_client_opts *opts,
                         struct cor_http_client **ret_client);

/* Connections are made with this from now on, and those with the old one are closed, from a later
 * turn; their calls end with -COR_EBROKEN. A reference is taken. Only for a client that was opened
 * with `tls` or `tls_files`. */
void cor_http_client_set_tls(struct cor_http_client *c, struct cor_tls *tls);

/* Calls under way end with -COR_ECANCELED, from a later turn; then `on_closed` (may be NULL), and
 * the memory is gone. */
void cor_http_client_close(struct cor_http_client *c, void (*on_closed)(void *arg), void *arg);

/* A negative return ends the call with that code. Other calls may be opened, and any call
 * cancelled, from a callback. */
struct cor_http_call_cbs {
    int (*on_head)(void *arg, int status, const struct cor_http_header *headers, size_t nheaders);
    int (*on_body)(void *arg, struct cor_str piece);
    /* Always the last; the call is gone after it. 0: the answer is complete. -COR_EUNREACHABLE: no
     * connection, or the server refused the stream: it has seen nothing. -COR_ETIMEOUT: the
     * deadline, or too slow to connect. -COR_ETLS. -COR_EPROTOCOL: no HTTP came back. -COR_EBROKEN:
     * the connection or the stream broke. -COR_ECANCELED, -COR_ENOMEM. `text` is one line,
     * borrowed. */
    void (*on_done)(void *arg, int r, const char *text);
};

struct cor_http_call_opts {
    struct cor_str method, target;
    /* Without Host, lengths, Connection and Accept-Encoding. */
    const struct cor_http_header *headers;
    size_t nheaders;
    struct cor_str body;
    uint64_t deadline_ms;                /* for the whole call, from now; 0: none */
    const struct cor_http_call_cbs *cbs; /* must stay valid */
    void *arg;
};

/* The options are copied. A redirection to the same server is followed (docs/internals/http.md),
 * any other is an answer. 0, -COR_EBUSY (too many), -COR_ETOOBIG, -COR_ENOMEM. */
int cor_http_call_open(struct cor_http_client *c, const struct cor_http_call_opts *opts,
                       struct cor_http_call **ret_call);

/* No callback after this, and the call is gone. */
void cor_http_call_cancel(struct cor_http_call *call);

#endif
