/* clang-format off */
/* A client's HTTP/2 connection: it is dialled, or takes over a dialled stream; it waits for the
 * server's first frame; then streams may be opened on its session. It speaks HTTP/2 by ALPN over
 * TLS, by prior knowledge on a plain socket.  Owner: its opener. Thread: the loop's of `net`. No
 * function calls back before it returns.
 *
 *   open ──► on_open ──► (streams) ──► on_drain ──► on_end ──► cor_client_conn_close ──► on_closed
 *            (on_end may come at any time; cor_client_conn_close also from a callback) */
/* clang-format on */
#ifndef COR_HTTP_CLIENT_CONN_H
#define COR_HTTP_CLIENT_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "net/session/h2.h"

struct cor_client_conn;
struct cor_net;
struct cor_stream;
struct cor_tls;

struct cor_client_conn_cbs {
    /* The session takes streams. */
    void (*on_open)(struct cor_client_conn *c, void *arg);
    /* The server wants no new streams (GOAWAY); those under way go on, and on_end comes after them.
     */
    void (*on_drain)(struct cor_client_conn *c, void *arg);
    /* Over; every stream has had its on_closed (COR_H2_LOST). 0: drained. -COR_EUNREACHABLE: no
     * address took a connection. -COR_ETIMEOUT: too slow to connect, or silent. -COR_ETLS.
     * -COR_EINVAL, -COR_EPROTOCOL: HTTP/2 failed. -COR_EBUSY: it flooded us. -COR_EIO, -COR_ENOMEM.
     * `text` is one line. */
    void (*on_end)(struct cor_client_conn *c, int why, const char *text, void *arg);
};

/* What is pointed to must stay valid until on_closed. */
struct cor_client_conn_opts {
    const char *host; /* a name or a numeric address; NULL: `unix_path` */
    uint16_t port;
    const char *unix_path;
    struct cor_tls *tls;         /* NULL: plain. A reference is taken */
    const char *server_name;     /* for TLS; NULL: `host` */
    uint64_t connect_timeout_ms; /* to connect, and again for the server's first frame */
    /* When nothing has come for keepalive_ms while streams are open: a ping, and the end when still
     * nothing comes for keepalive_timeout_ms. (Servers count pings without streams as abuse.) */
    uint64_t keepalive_ms, keepalive_timeout_ms;
    const struct cor_h2_limits *limits;
    const struct cor_client_conn_cbs *cbs;
    void *arg;
};

/* Failures to connect come as on_end. 0, -COR_ENOMEM, -COR_EINVAL (an unusable path or name). */
int cor_client_conn_open(struct cor_net *net, const struct cor_client_conn_opts *opts,
                         struct cor_client_conn **ret_conn);

/* Uses a stream that is open; the members of `opts` about connecting are ignored, except the
 * timeout. 0: the connection owns the stream; -COR_ENOMEM: it does not. */
int cor_client_conn_adopt(struct cor_net *net, const struct cor_client_conn_opts *opts,
                          struct cor_stream *stream, struct cor_client_conn **ret_conn);

/* From a later turn every stream that is still open is told (COR_H2_LOST), then comes `on_closed`
 * (may be NULL), and the memory is gone. No other callback after this. */
void cor_client_conn_close(struct cor_client_conn *c, void (*on_closed)(void *arg), void *arg);

/* For opening streams, from on_open until on_drain or on_end. */
struct cor_h2 *cor_client_conn_h2(const struct cor_client_conn *c);

/* The server has said GOAWAY; on_drain may be yet to come. */
bool cor_client_conn_is_draining(const struct cor_client_conn *c);

#endif
