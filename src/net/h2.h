/* One side of an HTTP/2 connection, without I/O: bytes go in, streams come out by callback, and
 * frames go to the owner's `send`. Request and response bodies are never kept: a write takes what
 * the windows and the output have room for, and is copied once, to `send`; the rest waits with its
 * writer until on_writable. (Only what is written from inside a callback waits here, within the
 * same bounds, until that feed ends.)
 * Owner: its maker.  Thread: one at a time.
 *
 * Callbacks come from cor_h2_feed(), cor_h2_turn() and cor_h2_drop_all() only. From them every
 * function here may be called but these three and cor_h2_free().
 *
 * A stream is held by the user from cor_h2_open() or on_request until
 *   cor_h2_reset()   it gives up,
 *   on_closed        both sides have ended, or the peer reset it, or the connection is over,
 *   server role: the end of the response is said; what the peer still sends is refused,
 * and is not touched afterwards. */
#ifndef COR_NET_H2_H
#define COR_NET_H2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/header.h"

struct cor_h2;
struct cor_h2_stream;

enum cor_h2_role { COR_H2_SERVER, COR_H2_CLIENT };

#define COR_H2_LENGTH_UNKNOWN UINT64_MAX
/* What a client says first, also on a plain socket without ALPN. */
#define COR_H2_PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

/* RFC 9113's error codes that are said or looked at here. */
enum cor_h2_code {
    COR_H2_NO_ERROR = 0,
    COR_H2_PROTOCOL_ERROR = 1,
    COR_H2_INTERNAL_ERROR = 2,
    COR_H2_FLOW_CONTROL_ERROR = 3,
    COR_H2_REFUSED_STREAM = 7, /* the peer has done nothing: safe to send again */
    COR_H2_CANCEL = 8,
    COR_H2_ENHANCE_YOUR_CALM = 11,
};
/* Never on the wire: the code that a user of cor_h2_drop_all() may give when a connection broke. */
#define COR_H2_LOST UINT32_MAX

/* Borrowed while the callback runs. */
struct cor_h2_head {
    struct cor_str method, scheme, authority, path; /* server role; :authority or Host */
    int status;                                     /* client role */
    const struct cor_http_header *headers;          /* names in lower case, no pseudo headers */
    size_t nheaders;
    uint64_t length; /* said or known of the body; else COR_H2_LENGTH_UNKNOWN */
    bool is_last;    /* no body and no trailers follow */
    bool expects_continue;
};

/* A negative code from on_head, on_body and on_trailers resets the stream (-COR_EBUSY:
 * REFUSED_STREAM, else INTERNAL_ERROR); the user does not hold it any more. */
struct cor_h2_stream_cbs {
    int (*on_head)(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg); /* client */
    /* cor_h2_consume() lets the peer send as much again. */
    int (*on_body)(struct cor_h2_stream *s, struct cor_str piece, void *arg);
    /* May be NULL. Borrowed while it runs. */
    int (*on_trailers)(struct cor_h2_stream *s, const struct cor_http_header *headers,
                       size_t nheaders, void *arg);
    /* The peer has ended its side. */
    void (*on_end)(struct cor_h2_stream *s, void *arg);
    /* After a short write: there is room. */
    void (*on_writable)(struct cor_h2_stream *s, void *arg);
    /* The stream is gone. COR_H2_NO_ERROR: complete, or (client) the rest of the request is not
     * wanted; else the peer's code, or that of cor_h2_drop_all(). */
    void (*on_closed)(struct cor_h2_stream *s, uint32_t code, void *arg);
};

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
     * (see above). */
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

/* Client role. Opens a stream; while the peer's limit of streams is reached its head waits, and a
 * write takes nothing. `has_body`: writes follow. 0, -COR_EBUSY (limits->streams_max are open),
 * -COR_ECANCELED (GOAWAY, or stream ids are used up: take another connection), -COR_ETOOBIG,
 * -COR_ENOMEM. */
struct cor_h2_request {
    struct cor_str method, scheme, authority, path;
    const struct cor_http_header *headers;
    size_t nheaders;
    bool has_body;
};
int cor_h2_open(struct cor_h2 *h, const struct cor_h2_request *req,
                const struct cor_h2_stream_cbs *cbs, void *arg, struct cor_h2_stream **ret_stream);

/* `cbs` must stay valid. */
void cor_h2_stream_set_cbs(struct cor_h2_stream *s, const struct cor_h2_stream_cbs *cbs, void *arg);
uint32_t cor_h2_stream_id(const struct cor_h2_stream *s);

/* Server role: the head of the response, once. `has_body`: writes follow; without, this is the end.
 * Names may have any case; CR, LF and NUL in values become spaces. Content-Length is the caller's.
 * 0, or -COR_ENOMEM, -COR_ETOOBIG (more than COR_H2_SEND_HEADERS_MAX fields): as before. */
int cor_h2_respond(struct cor_h2_stream *s, int status, const struct cor_http_header *headers,
                   size_t nheaders, bool has_body);
/* Server role: 100 Continue. */
int cor_h2_continue(struct cor_h2_stream *s);

/* Body bytes: of the spans as one run, after the first `skip`. Returns how many were taken; fewer
 * than there are means on_writable comes later. `is_last`: the body ends here, when all are taken;
 * without any bytes it always does. */
size_t cor_h2_write(struct cor_h2_stream *s, const struct cor_str *spans, size_t nspans,
                    size_t skip, bool is_last);
/* Bytes that a write would take now. */
size_t cor_h2_room(const struct cor_h2_stream *s);
/* Ends the body with trailers. 0, -COR_ENOMEM, -COR_ETOOBIG: as before. */
int cor_h2_write_trailers(struct cor_h2_stream *s, const struct cor_http_header *headers,
                          size_t nheaders);

/* The user has worked off `n` bytes of what on_body showed. */
void cor_h2_consume(struct cor_h2_stream *s, size_t n);

/* Gives the stream up, at any time. */
void cor_h2_reset(struct cor_h2_stream *s, uint32_t code);

/* The numbers below have their reasons in docs/internals/h2.md. */
#define COR_H2_WINDOW            (256u * 1024)
#define COR_H2_STREAMS_MAX       1000
#define COR_H2_HEAD_MAX          (64u * 1024)
#define COR_H2_HEADERS_MAX       256
#define COR_H2_SEND_HEADERS_MAX  64
#define COR_H2_CONTINUATIONS_MAX 6
#define COR_H2_CONTROL_BURST     1000
#define COR_H2_CONTROL_PER_S     100
#define COR_H2_CONTROL_BYTES     1024
#define COR_H2_RESETS_BURST      1000
#define COR_H2_RESETS_PER_S      33
#define COR_H2_ACKS_MAX          100
#define COR_H2_SETTINGS_MAX      32

#endif
