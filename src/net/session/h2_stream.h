/* clang-format off */
/* One stream of an HTTP/2 session (net/session/h2.h): a request and its response.
 * Thread: the session's. No function here calls back.
 *
 * A stream is held by the user from cor_h2_open() or on_request until
 *   cor_h2_reset()   it gives up,
 *   on_closed        both sides have ended, or the peer reset it, or the connection is over,
 *   server role: the end of the response is said; what the peer still sends is refused,
 * and is not touched afterwards. */
/* clang-format on */
#ifndef COR_NET_SESSION_H2_STREAM_H
#define COR_NET_SESSION_H2_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "net/session/header.h"

struct cor_h2;
struct cor_h2_stream;

#define COR_H2_LENGTH_UNKNOWN UINT64_MAX
/* Fields of a head that is sent; its reason, as those in net/session/h2.h, in docs/internals/h2.md.
 */
#define COR_H2_SEND_HEADERS_MAX 288

/* RFC 9113's error codes that are said or looked at here. */
enum cor_h2_code {
    COR_H2_NO_ERROR = 0,
    COR_H2_PROTOCOL_ERROR = 1,
    COR_H2_INTERNAL_ERROR = 2,
    COR_H2_REFUSED_STREAM = 7, /* the peer has done nothing: safe to send again */
    COR_H2_CANCEL = 8,
    COR_H2_ENHANCE_YOUR_CALM = 11,
};
/* Never on the wire: the code that a user of cor_h2_drop_all() may give when a connection broke. */
#define COR_H2_LOST UINT32_MAX
/* Neither: there was no memory for the head or the trailers that came, and the stream was reset. */
#define COR_H2_NO_MEMORY (UINT32_MAX - 1)

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
     * wanted; else the peer's code, COR_H2_NO_MEMORY, or that of cor_h2_drop_all(). */
    void (*on_closed)(struct cor_h2_stream *s, uint32_t code, void *arg);
};

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

#endif
