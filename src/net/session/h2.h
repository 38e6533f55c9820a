/* One side of an HTTP/2 connection, without I/O: bytes go in, streams come out by callback, and
 * frames go to the owner's `send`. Request and response bodies are never kept: a write takes what
 * the windows and the output have room for, and is copied once, to `send`; the rest waits with its
 * writer until on_writable. (Only what is written from inside a callback waits here, within the
 * same bounds, until that feed ends.)
 * Owner: its maker.  Thread: one at a time.
 *
 * Callbacks come from cor_h2_feed(), cor_h2_turn() and cor_h2_drop_all() only. From them every
 * function here may be called but these three and cor_h2_free(). */
#ifndef COR_NET_SESSION_H2_H
#define COR_NET_SESSION_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/str.h"
#include "net/session/h2_stream.h"

enum cor_h2_role { COR_H2_SERVER, COR_H2_CLIENT };

/* What a client says first, also on a plain socket without ALPN. */
#define COR_H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct cor_h2_cbs {
    /* Bytes of output that `send` takes now, several KB when nothing waits; what control frames may
     * need is left out of it. */
    size_t (*room)(void *arg);
    /* Copies all of the spans. 0, -COR_EBUSY (control frames only: asked again at the next turn),
     * or another negative code, with which the session fails. */
    int (*send)(const struct cor_str *spans, size_t nspans, void *arg);
    /* cor_h2_turn() is to be called as soon as there is room, from a later turn of the loop. */
    void (*want_turn)(void *arg);
    /* Server role: a new request. It must give the stream its callbacks, or return a negative code
     * (see struct cor_h2_stream_cbs). */
    int (*on_request)(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg);
    /* The answer to cor_h2_ping(). May be NULL. */
    void (*on_pong)(void *arg);
    /* The peer takes no new streams. Those it will not answer are closed with REFUSED_STREAM. May
     * be NULL. */
    void (*on_goaway)(uint32_t code, void *arg);
};

struct cor_h2_limits {
    uint32_t streams_max; /* open at once: the peer's (server role), ours (client role) */
    uint32_t window;      /* body bytes a stream may send before cor_h2_consume(); bounds on_body */
    size_t head_max;      /* of a head, as SETTINGS_MAX_HEADER_LIST_SIZE counts; also of trailers */
    size_t headers_max;   /* their number */
};

/* `limits` and `cbs` must stay valid. The first frames are sent by the first turn or feed.
 * 0, -COR_ENOMEM. */
int cor_h2_new(enum cor_h2_role role, const struct cor_h2_limits *limits,
               const struct cor_h2_cbs *cbs, void *arg, struct cor_h2 **ret_h2);
/* Calls nobody back. */
struct cor_h2 *cor_h2_free(struct cor_h2 *h);

/* Takes all of the bytes, sends what is due. An owner whose output is full should stop reading, or
 * answers to control frames pile up (up to a limit, which ends the session).
 * 0, or the session has failed and GOAWAY has been sent if that was possible: -COR_EINVAL
 * (protocol), -COR_EBUSY (a flood: see docs/internals/h2.md), -COR_ENOMEM, or what `send` returned.
 * Then only cor_h2_drop_all() and cor_h2_free() may be called. */
int cor_h2_feed(struct cor_h2 *h, struct cor_str in, uint64_t now_ms);

/* Sends what waits, and calls back what has become due. Fails as cor_h2_feed(). */
int cor_h2_turn(struct cor_h2 *h, uint64_t now_ms);

/* After a failure, or when the peer said GOAWAY with an error: one line; "" without one. */
const char *cor_h2_error(const struct cor_h2 *h);

/* The owner gives up on this peer: the session fails as after a flood, with -COR_EBUSY and
 * GOAWAY(ENHANCE_YOUR_CALM), from the feed or turn that runs or is due. `text`: one line. */
void cor_h2_end_flood(struct cor_h2 *h, const char *text);

/* Bytes that the session holds for heads that are not complete, and for output of callbacks. */
size_t cor_h2_bytes(const struct cor_h2 *h);

/* The transport is gone: on_closed(code) for every stream that is held. */
void cor_h2_drop_all(struct cor_h2 *h, uint32_t code);

/* Says GOAWAY in two steps: streams that are under way go on, and those that the peer opens before
 * it has heard of it (server role); the second step follows by itself. */
void cor_h2_shutdown(struct cor_h2 *h);

/* Either side said GOAWAY and no stream is left: the owner ends the connection. */
bool cor_h2_is_done(const struct cor_h2 *h);

/* Client role: after a feed, nothing is to be sent but answers to pings, and they were not. They go
 * with the next frames; cor_h2_turn() sends them at last. gRPC servers ping at every request, and
 * an answer of its own would cost as much as the request. */
bool cor_h2_owes_pong(const struct cor_h2 *h);

/* Has the peer's first SETTINGS frame come? */
bool cor_h2_is_greeted(const struct cor_h2 *h);

/* 0, -COR_ENOMEM. */
int cor_h2_ping(struct cor_h2 *h);

size_t cor_h2_nstreams(const struct cor_h2 *h);

/* Client role: would a stream that is opened now go out at once, below both limits? */
bool cor_h2_takes_stream(const struct cor_h2 *h);

/* Others are in base/limits.h; docs/internals/h2.md has the reasons. */
#define COR_H2_HEAD_MAX     COR_HEAD_BYTES_MAX
#define COR_H2_HEADERS_MAX  COR_HEAD_FIELDS_MAX
#define COR_H2_INTERIM_MAX  5
#define COR_H2_SETTINGS_MAX 32

#endif
