/* clang-format off */
/* A connection: TCP, Unix socket, or TLS over TCP; opened from an accepted socket or by connecting.
 * Input is read into the loop's scratch and shown by callback. Output is copied and sent once per
 * loop turn, as full TLS records; it has a maximum. A stream that is idle holds no buffers.
 * Owner: its opener.  Thread: the loop's. No function calls back before it returns.
 *
 *   open ──► on_open ──► on_data … ──► on_end ──► cor_stream_close ──► on_closed
 *                        (cor_stream_close may come at any time, also from a callback) */
/* clang-format on */
#ifndef COR_NET_STREAM_STREAM_H
#define COR_NET_STREAM_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/stream/peer.h"

struct cor_net;
struct cor_stream;
struct cor_tls;

/* What one read brings at most, and so what may still arrive after cor_stream_read_stop(): 64 KB,
 * and the TLS record that its first bytes complete. */
#define COR_STREAM_READ_MAX (80u * 1024)

struct cor_stream_cbs {
    /* Connected, and the handshake is done. */
    void (*on_open)(struct cor_stream *s, void *arg);
    /* All of it must be taken. */
    void (*on_data)(struct cor_stream *s, struct cor_str bytes, void *arg);
    /* Half of the buffer is free again, after cor_stream_want_writable(). */
    void (*on_writable)(struct cor_stream *s, void *arg);
    /* No input comes any more. 0: the peer has ended its side; output may go on, and when it fails
     * later, on_end comes once more with the reason. -COR_ETIMEOUT: it took no output for stall_ms.
     * -COR_ETLS: TLS failed. -COR_EUNREACHABLE: could not connect. -COR_ENOMEM, -COR_EIO. */
    void (*on_end)(struct cor_stream *s, int why, void *arg);
    /* Follows each cor_stream_end(), also of a stream that has failed: all output has been sent, or
     * never will be. */
    void (*on_drained)(struct cor_stream *s, void *arg);
    /* What waits to be sent is `n` bytes now, after the socket did not take all of it or has taken
     * more. Never for output that goes out at once. NULL: not wanted. */
    void (*on_waiting)(struct cor_stream *s, size_t n, void *arg);
    /* The peer has ended its side while reading is stopped, and more of what it sent before may be
     * unread; told about a second later, and again twice a second. NULL: not wanted, and then a
     * peer that is gone is not noticed either while reading is stopped. */
    void (*on_left)(struct cor_stream *s, void *arg);
};

struct cor_stream_opts {
    const struct cor_stream_cbs *cbs; /* must stay valid */
    void *arg;
    struct cor_tls *tls;     /* NULL: plain. A reference is taken */
    const char *server_name; /* TLS client: for SNI and verification; a name or a numeric address */
    bool is_h1_only;         /* TLS client: offers HTTP/1.1 alone, whatever `tls` would */
    size_t out_max;          /* bytes of output that may wait */
    uint64_t stall_ms; /* how long what the socket did not take at once (256 KB at most) may wait;
                          0: forever */
};

/* The stream has another user from now on, with a maximum of its own: this hands it from the code
 * that connected it to the code that uses it. `cbs` must stay valid. */
void cor_stream_hand_over(struct cor_stream *s, const struct cor_stream_cbs *cbs, void *arg,
                          size_t out_max);

/* From a connected socket, whose descriptor is the stream's from the call on, success or failure.
 * 0, -COR_ENOMEM, -COR_EIO. */
int cor_stream_open(struct cor_net *net, int take_fd, const struct cor_stream_opts *opts,
                    struct cor_stream **ret_stream);

/* `host` is numeric. -COR_EINVAL when it is not. A failure to connect comes as on_end. */
int cor_stream_connect(struct cor_net *net, const char *host, uint16_t port,
                       const struct cor_stream_opts *opts, struct cor_stream **ret_stream);
int cor_stream_connect_unix(struct cor_net *net, const char *path,
                            const struct cor_stream_opts *opts, struct cor_stream **ret_stream);

/* Client: TLS begins on an open stream, inside the TLS it may have already: on_open comes again
 * when the handshake is done. Nothing must wait to be sent. The last two as in the options. 0,
 * -COR_ENOMEM, -COR_EINVAL (server name). */
int cor_stream_start_tls(struct cor_stream *s, struct cor_tls *tls, const char *server_name,
                         bool is_h1_only);

/* Copies all of the spans. 0, -COR_EBUSY (they do not fit; nothing was taken), -COR_ENOMEM,
 * -COR_ECANCELED (ended or failed). Before on_open it waits. */
int cor_stream_write(struct cor_stream *s, const struct cor_str *spans, size_t nspans);

/* Bytes that a write would take now. */
size_t cor_stream_room(const struct cor_stream *s);

/* One on_writable, as soon as half of out_max is free. */
void cor_stream_want_writable(struct cor_stream *s);
/* One on_writable at the end of this turn or of the next, whether there is room or not. */
void cor_stream_want_turn(struct cor_stream *s);

/* Stops reading the socket, or goes on. Of the peer's end only what on_left says is noticed
 * meanwhile. */
void cor_stream_read_stop(struct cor_stream *s);
void cor_stream_read_start(struct cor_stream *s);

/* Has the peer sent nothing that is not read yet, not even its end? Asks the system, so that a loop
 * which has not looked for a while does not write to a connection that was closed meanwhile. */
bool cor_stream_is_quiet(const struct cor_stream *s);

/* Ends this side after the output that waits; input still comes. */
void cor_stream_end(struct cor_stream *s);

/* Gives the stream up: drops its output; on_end(why) comes at the end of the turn, unless it was
 * called with a failure before. `why` is negative. */
void cor_stream_fail(struct cor_stream *s, int why);

/* No callback but `on_closed` (may be NULL) after this; it comes from a later turn, and the memory
 * is gone after it. Output that has not been sent is dropped. */
void cor_stream_close(struct cor_stream *s, void (*on_closed)(void *arg), void *arg);

/* Why it failed, of the system or of OpenSSL, such as "connection refused" or "certificate has
 * expired"; NULL when there is nothing to say. It stays valid. */
const char *cor_stream_error(const struct cor_stream *s);

/* The certificate is known from on_open on. */
const struct cor_peer *cor_stream_peer(const struct cor_stream *s);

/* What both sides chose, from on_open on; empty without TLS or agreement. */
struct cor_str cor_stream_alpn(const struct cor_stream *s);

#endif
