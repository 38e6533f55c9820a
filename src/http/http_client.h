/* A client of one server: calls, and the connections they share. TLS lets the server choose HTTP/2
 * or HTTP/1.1 (ALPN, as `tls` offers them). Over HTTP/2 calls are streams of one connection, up to
 * the server's limit, and of another beyond it; over HTTP/1.1 a call takes an idle connection or
 * makes one, which is kept when its answer has ended. Bodies of answers are shown as they come; a
 * consumer that pauses a call bounds what may come. They are not decompressed, and none is asked
 * for compressed. Behaviour: docs/internals/http.md.
 * Owner: its opener.  Thread: the loop's of `net`. No function calls back before it returns. */
#ifndef COR_HTTP_HTTP_CLIENT_H
#define COR_HTTP_HTTP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/session/header.h"
#include "net/stream/resolver.h"

struct cor_http_call;
struct cor_http_client;
struct cor_net;
struct cor_tls;
struct cor_tls_files;

#define COR_HTTP_CLIENT_CALLS_MAX 1000 /* under way at once, unless the options say otherwise */
#define COR_HTTP_CLIENT_IDLE_MAX  25   /* HTTP/1.1: connections kept for later */
/* Connections without a call are closed after this; servers keep theirs longer. */
#define COR_HTTP_CLIENT_IDLE_MS            90000
#define COR_HTTP_CLIENT_CONNECT_TIMEOUT_MS 30000
/* HTTP/2: a server that is silent for this long while calls wait for it is pinged, and has this
 * long to answer: client-go's ReadIdleTimeout and PingTimeout. */
#define COR_HTTP_CLIENT_SILENCE_MS   30000
#define COR_HTTP_CLIENT_PING_MS      15000
#define COR_HTTP_CLIENT_CERT_MS      300000      /* client-go's CertCallbackRefreshDuration */
#define COR_HTTP_CLIENT_BODY_MAX     (16u << 20) /* of a request */
#define COR_HTTP_CLIENT_HEADERS_MAX  280         /* of a request */
#define COR_HTTP_CLIENT_REDIRECT_MAX 10
#define COR_HTTP_CLIENT_GOAWAY_MAX   7 /* times that a call is sent again after GOAWAYs */
/* HTTP/2: of an answer, what a server may send before it is looked at; as much as Go's client. */
#define COR_HTTP_CLIENT_WINDOW (4u << 20)
/* What waits to be sent of a body that is written piece by piece, or of a tunnel. */
#define COR_HTTP_CALL_OUT_MAX (256u * 1024)

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
    const char *proxy_url;  /* see http/http_proxy.h; NULL: none. An https proxy needs `tls`, and is
                               trusted as the server is. Not for Unix sockets */
    cor_resolve_fn resolve; /* NULL: the system's resolver, on a worker thread */
    void *resolve_arg;
    size_t calls_max;       /* under way at once; 0: COR_HTTP_CLIENT_CALLS_MAX */
    size_t connections_max; /* 0: as many as calls need. A call that would need one more ends with
                               -COR_EBUSY */
    uint32_t window; /* HTTP/2; 0: COR_HTTP_CLIENT_WINDOW. A paused call may have to keep that much,
                        so a client that pauses calls wants a small window */
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
     * the connection or the stream broke. -COR_EBUSY: too many connections. -COR_ETOOBIG: a limit
     * of heads. -COR_ECANCELED, -COR_ENOMEM, or what another callback returned. `text` is one line,
     * borrowed. */
    void (*on_done)(void *arg, int r, const char *text);
    /* After a cor_http_call_write() that was short: there is room. NULL when nothing is written. */
    void (*on_writable)(void *arg);
    /* While the call is paused: so many bytes are allocated for what came since, until it is
     * resumed. A negative code ends the call. Nothing of the client may be called from it. May be
     * NULL. */
    int (*on_kept)(void *arg, size_t bytes);
};

struct cor_http_call_opts {
    struct cor_str method, target;
    /* Without Host, lengths, Connection and Accept-Encoding. */
    const struct cor_http_header *headers;
    size_t nheaders;
    struct cor_str body;
    /* Instead of `body`: the caller writes it piece by piece. `body_length` bytes of it, or
     * COR_HTTP_LENGTH_UNKNOWN: chunked in HTTP/1.1. Such a call is not sent again
     * once a byte of its body has been taken, and a redirection is an answer. */
    bool streams_body;
    uint64_t body_length;
    bool keeps_redirects; /* every redirection is an answer */
    /* The caller's headers ask for another protocol (`Connection: Upgrade` and `Upgrade`; only here
     * Connection is allowed). The call has an HTTP/1.1 connection of its own, and no body. When the
     * answer is a 101, bytes go both ways after it: cor_http_call_write() and on_body,
     * cor_http_call_end_body() for this side's end, and on_done for the other's. Any other answer
     * is an ordinary one. */
    bool wants_upgrade;
    uint64_t deadline_ms;                /* for the whole call, from now; 0: none */
    const struct cor_http_call_cbs *cbs; /* must stay valid */
    void *arg;
};

/* The options are copied. A redirection to the same server is followed (docs/internals/http.md),
 * any other is an answer. 0, -COR_EBUSY (too many calls or connections), -COR_ETOOBIG, -COR_ENOMEM,
 * -COR_EINVAL (a blank or a control character in the method or the target; an unusable server name,
 * of a call that wants an upgrade). */
int cor_http_call_open(struct cor_http_client *c, const struct cor_http_call_opts *opts,
                       struct cor_http_call **ret_call);

/* Bytes of a streamed body, or of a tunnel, copied. Returns how many were taken, which is none
 * before the call has a connection, or the tunnel is there, and after it has ended; fewer than all:
 * on_writable comes, unless on_done does. Not after the end of the body, nor beyond its length. */
size_t cor_http_call_write(struct cor_http_call *call, struct cor_str bytes);

/* A streamed body has been written whole, or this side of a tunnel ends. Once, and with exactly
 * `body_length` bytes written when that is known. An answer may come, and end the call, before. */
void cor_http_call_end_body(struct cor_http_call *call);

/* While a call is paused, no on_body comes; on_head and a failure may. What arrives is kept, within
 * bounds: of HTTP/1.1 one read (COR_STREAM_READ_MAX), of HTTP/2 the window, which is not opened.
 * Other calls of the connection go on. */
void cor_http_call_pause(struct cor_http_call *call);
/* on_body goes on, from a later turn. */
void cor_http_call_resume(struct cor_http_call *call);

/* No callback after this, and the call is gone. */
void cor_http_call_cancel(struct cor_http_call *call);

#endif
