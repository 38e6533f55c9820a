/* clang-format off */
/* A gRPC client's way to one service that has several addresses. It keeps one HTTP/2 connection, to
 * the first address that answers, and makes a new one, to the next, when that one fails; after a
 * round in which none answered it waits, 0.1 s at first, 5 s at most. Calls (grpc/grpc_call.h) run side
 * by side on the connection.
 * Owner: its opener.  Thread: the loop's of `net`. No function calls back before it returns.
 *
 *   CONNECTING ──► READY ──► CONNECTING …       a call that is opened now waits for the connection
 *        └───────► FAILING (backoff) ──► CONNECTING …        … fails with UNAVAILABLE */
/* clang-format on */
#ifndef COR_GRPC_GRPC_CHANNEL_H
#define COR_GRPC_GRPC_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct cor_grpc_channel;
struct cor_net;
struct cor_tls;

struct cor_grpc_endpoint {
    const char *host; /* a name or a numeric address; NULL: `unix_path` */
    uint16_t port;
    const char *unix_path;
};

struct cor_grpc_channel_opts {
    const struct cor_grpc_endpoint *endpoints; /* copied; 1 to COR_GRPC_ENDPOINTS_MAX */
    size_t nendpoints;
    struct cor_tls *tls; /* for all of them, with ALPN "h2"; NULL: plain. A reference is taken */
    const char *server_name;     /* TLS and :authority; NULL: the endpoint's host */
    size_t recv_max;             /* bytes of one received message; 0: COR_GRPC_RECV_MAX */
    uint64_t connect_timeout_ms; /* per address; 0: COR_GRPC_CONNECT_TIMEOUT_MS */
    /* A connection that was silent for keepalive_ms is pinged, and given up when nothing comes for
     * keepalive_timeout_ms. 0: COR_GRPC_KEEPALIVE_MS and _TIMEOUT_MS, as etcd's clients use. */
    uint64_t keepalive_ms, keepalive_timeout_ms;
    /* READY is entered (0) or left (a negative code, one line of why). May be NULL. */
    void (*on_state)(struct cor_grpc_channel *ch, int r, const char *why, void *arg);
    void *arg;
};

#define COR_GRPC_ENDPOINTS_MAX        16
#define COR_GRPC_CONNECT_TIMEOUT_MS   5000
#define COR_GRPC_KEEPALIVE_MS         30000
#define COR_GRPC_KEEPALIVE_TIMEOUT_MS 10000
/* Calls under way or waiting. */
#define COR_GRPC_CALLS_MAX 1000
/* etcd refuses requests above 1.5 MiB; its own clients send 2 MiB at most. */
#define COR_GRPC_SEND_MAX (2u << 20)
/* A page of a range: the caller's limit times etcd's largest value must fit. */
#define COR_GRPC_RECV_MAX (64u << 20)

/* Begins to connect. 0, -COR_EINVAL (no endpoint, too many, an unusable one), -COR_ENOMEM. */
int cor_grpc_channel_open(struct cor_net *net, const struct cor_grpc_channel_opts *opts,
                          struct cor_grpc_channel **ret_channel);

/* Every call ends with CANCELLED, from a later turn; then `on_closed` (may be NULL), and the memory
 * is gone. No on_state after this. */
void cor_grpc_channel_close(struct cor_grpc_channel *ch, void (*on_closed)(void *arg), void *arg);

/* The endpoint in use or tried last, as "host:port", for logs. Borrowed. */
const char *cor_grpc_channel_peer(const struct cor_grpc_channel *ch);

#endif
