/* The HTTP server: listeners, connections spread over loops, limits, graceful shutdown. It parses
 * requests and frames responses; what they mean is the handler's business.
 * Owner: its maker.  Thread: each connection lives on one loop, and its handler runs there. */
#ifndef COR_HTTP_HTTP_SERVER_H
#define COR_HTTP_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "http/budget.h"
#include "http/request.h"
#include "http/response.h"

struct cor_http_server;
struct cor_loop;
struct cor_tls;

/* Zero means the default of base/limits.h. */
struct cor_http_limits {
    size_t body_max;             /* a larger request body is a 413 */
    size_t bodies_max;           /* what is held for clients at once: http/budget.h */
    size_t connections_max;      /* over all loops; shares of it likewise */
    uint64_t head_timeout_ms;    /* from the first byte to the end of the head, TLS included */
    uint64_t request_timeout_ms; /* a response's first deadline; also how long a client may
                                    leave output unread */
    uint64_t idle_timeout_ms;    /* between requests */
    uint32_t h2_streams_max;     /* of one HTTP/2 connection at once */
};

struct cor_http_server_opts {
    struct cor_loop *const *loops; /* copied; at least one */
    size_t nloops;
    struct cor_http_limits limits;

    /* Runs on the connection's loop when the head of a request is complete, before a byte of its
     * body is taken; a client that expects it gets 100 Continue only afterwards. It either ends the
     * response, so that the body is never kept and on_request does not come; or sets the response's
     * callbacks and returns without having started it: on_request or on_gone follows; or takes the
     * body as a stream, or decides later (cor_http_response_stream_body(), _hold_body()). The head
     * (everything of the request but method, peer, received_us and loop) is freed when it returns.
     * NULL: every request is accepted, and its head stays until the response is over. */
    void (*on_head)(const struct cor_http_request *req, struct cor_http_response *resp, void *arg);

    /* Runs on the connection's loop for each complete request; see http/response.h for what it may
     * do. Never called again on a connection before the response has ended. */
    void (*on_request)(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg);

    /* Writes the body of an error that this layer answers by itself (400, 408, 413, 414, 431, 501,
     * 504, …) to `out` and returns its content type. NULL, or a returned NULL: plain text. `req` is
     * NULL unless the head could be parsed; its body is empty. */
    const char *(*on_error)(const struct cor_http_request *req, int status, const char *message,
                            struct cor_buf *out, void *arg);
    void *arg;
};

/* The loops must be idle and the caller's (before cor_loop_start()), or there is one loop and this
 * is its thread. 0, -COR_ENOMEM, -COR_EIO. */
int cor_http_server_new(const struct cor_http_server_opts *opts,
                        struct cor_http_server **ret_server);

/* Numeric `host` ("127.0.0.1", "::1"); port 0 takes a free one, and `ret_port` (may be NULL) says
 * which. `tls` NULL: plain HTTP; a reference is taken. Where cor_http_server_new() was called. 0,
 * -COR_EINVAL (not an address), -COR_EEXIST (in use), -COR_EIO, -COR_ENOMEM. */
int cor_http_server_listen(struct cor_http_server *server, const char *host, uint16_t port,
                           struct cor_tls *tls, uint16_t *ret_port);

/* A Unix socket with permissions `mode`; a stale one at `path` is replaced. Same errors. */
int cor_http_server_listen_unix(struct cor_http_server *server, const char *path, unsigned mode);

/* From any thread, once, with the loops turning: stops listening, closes idle connections, calls
 * on_drain of every response, lets requests finish for `drain_ms`, cuts the rest. Then on_closed,
 * on one of the loops, after which nothing of the server happens any more. */
void cor_http_server_close(struct cor_http_server *server, uint64_t drain_ms,
                           void (*on_closed)(void *arg), void *arg);

/* After on_closed, which cor_loop_free() also brings about for loops that were never started. */
struct cor_http_server *cor_http_server_free(struct cor_http_server *server);

/* From any thread, for metrics. */
struct cor_http_server_stats {
    uint64_t connections; /* open now */
    uint64_t accepted;
    uint64_t refused;  /* because there were too many of all, or of the same address */
    uint64_t replaced; /* ended, before they had authenticated, to make room for another */
    uint64_t requests;
    uint64_t errors;                       /* answered by this layer */
    uint64_t held[COR_HTTP_NRANKS];        /* bytes, of a rank and those below it */
    uint64_t refusals[COR_BUDGET_NLIMITS]; /* by each limit of the budget */
};
void cor_http_server_stats(const struct cor_http_server *server,
                           struct cor_http_server_stats *ret_stats);

#endif
