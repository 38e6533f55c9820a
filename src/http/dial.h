/* clang-format off */
/* One attempt to reach a server, up to a stream that is ready for use: the name is looked up, each
 * of its addresses is tried, a proxy makes a tunnel, TLS agrees on a protocol.
 * Owner: its opener.  Thread: the loop's of `net`. No function calls back before it returns.
 *
 *   open ──► on_done ──► cor_dial_close ──► on_closed   (close may come at any time) */
/* clang-format on */
#ifndef COR_HTTP_DIAL_H
#define COR_HTTP_DIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "net/stream/resolver.h"

struct cor_dial;
struct cor_net;
struct cor_proxy;
struct cor_stream;
struct cor_tls;

/* All that is pointed to must stay valid until on_closed; of `tls` a reference is taken. */
struct cor_dial_opts {
    const char *host; /* a name or a numeric address; NULL: `unix_path` */
    uint16_t port;
    const char *unix_path;
    struct cor_tls *tls;           /* NULL: plain */
    const char *server_name;       /* for TLS; NULL: `host` */
    bool is_h1_only;               /* offers only HTTP/1.1, whatever `tls` says */
    const struct cor_proxy *proxy; /* NULL: none. `tls` is also for the way to an https proxy */
    cor_resolve_fn resolve;        /* NULL: the system's resolver */
    void *resolve_arg;
    uint64_t timeout_ms; /* for all of it; each address gets an equal share of what is left */
    /* 0: `take_stream` is open; it is to be handed over before on_done returns. Else it is NULL:
     * -COR_EUNREACHABLE (no address took a connection, or the proxy refused), -COR_ETIMEOUT,
     * -COR_ETLS, -COR_EPROTOCOL (no HTTP came from the proxy), -COR_EIO, -COR_ENOMEM. `text` is
     * one line, borrowed while it runs. */
    void (*on_done)(int r, const char *text, struct cor_stream *take_stream, void *arg);
    void *arg;
};

/* 0, -COR_ENOMEM, -COR_EINVAL (an unusable path or server name). */
int cor_dial_open(struct cor_net *net, const struct cor_dial_opts *opts,
                  struct cor_dial **ret_dial);

/* No on_done after this. `on_closed` (may be NULL) comes from a later turn, when nothing of it is
 * left; a running look-up by the system cannot be aborted, and is awaited. */
void cor_dial_close(struct cor_dial *d, void (*on_closed)(void *arg), void *arg);

#endif
