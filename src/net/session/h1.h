/* One side of an HTTP/1.1 connection, without I/O: bytes go in, messages come out by callback, and
 * the heads to send are written to a buffer. One message at a time: after its end the session takes
 * nothing more until cor_h1_next(), so that a pipelined request waits for the answer before it.
 * What two parsers could read differently (both kinds of length, two lengths, folded lines, bare
 * line ends) is refused.
 * Owner: its maker.  Thread: one at a time. */
#ifndef COR_NET_SESSION_H1_H
#define COR_NET_SESSION_H1_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "net/session/header.h"

struct cor_h1;

enum cor_h1_role { COR_H1_SERVER, COR_H1_CLIENT };

#define COR_H1_LENGTH_UNKNOWN UINT64_MAX

struct cor_h1_head {
    struct cor_str method; /* server role */
    struct cor_str target;
    int status; /* client role */
    int minor;  /* HTTP/1.minor */
    const struct cor_http_header *headers;
    size_t nheaders;
    uint64_t length; /* of the body; 0 without one; COR_H1_LENGTH_UNKNOWN when only its end tells */
    bool keep_alive; /* what the sender wishes */
    bool expects_continue;
};

/* Each returns 0, or a negative code that cor_h1_feed() then returns; no session function but
 * cor_h1_head() and cor_h1_set_body_max() may be called from them. on_head, of a message with a
 * body, and on_body may also return COR_H1_PAUSE: the feed ends after the head or the piece, and
 * the next one goes on. */
#define COR_H1_PAUSE 1
struct cor_h1_cbs {
    int (*on_head)(const struct cor_h1_head *head, void *arg);
    int (*on_body)(struct cor_str piece, void *arg);
    int (*on_end)(void *arg);
};

struct cor_h1_limits {
    size_t head_max;    /* bytes of the head, and again of all trailers and chunk extensions */
    size_t headers_max; /* their number */
    uint64_t body_max;
};

#define COR_H1_HEAD_MAX    COR_HEAD_BYTES_MAX
#define COR_H1_HEADERS_MAX COR_HEAD_FIELDS_MAX
/* Responses before the final one (1xx, without 101), which are passed over: more are refused, or a
 * server could keep a call that has no deadline busy forever. */
#define COR_H1_INTERIM_MAX 5

/* NULL: out of memory. `limits` and `cbs` must stay valid. */
struct cor_h1 *cor_h1_new(enum cor_h1_role role, const struct cor_h1_limits *limits,
                          const struct cor_h1_cbs *cbs, void *arg);
struct cor_h1 *cor_h1_free(struct cor_h1 *h);

/* Takes bytes up to the end of the message at most, or to where a callback paused;
 * `ret_used` says how many (always set).
 * 0, or -COR_EINVAL (malformed), -COR_ETOOBIG (a limit), -COR_ENOTSUP, -COR_ENOMEM, or a callback's
 * code; after a failure the session can only be freed, and cor_h1_error() says what to answer. */
int cor_h1_feed(struct cor_h1 *h, struct cor_str in, size_t *ret_used);

/* The peer sends no more. 0 between messages and at the end of a body that ends so (on_end comes),
 * else -COR_EINVAL: the message is cut off. */
int cor_h1_finish(struct cor_h1 *h);

/* Has the message ended? Then cor_h1_next() must come before more input. */
bool cor_h1_is_done(const struct cor_h1 *h);

/* Did the last feed end because a callback paused? */
bool cor_h1_is_paused(const struct cor_h1 *h);

/* Bytes of the current message's body that have not come; COR_H1_LENGTH_UNKNOWN when only its end
 * tells. */
uint64_t cor_h1_body_left(const struct cor_h1 *h);

/* The body of the current message may have this many bytes, rather than limits->body_max. */
void cor_h1_set_body_max(struct cor_h1 *h, uint64_t max);

/* Client role, before the response comes: its request asked for another protocol, so a 101 is a
 * response as others are, and what follows its head is not HTTP. Without this a 101 is refused. */
void cor_h1_take_upgrade(struct cor_h1 *h);

/* Frees the head's memory early, from after on_head on: target and headers are empty then, the
 * other members of cor_h1_head() stay. */
void cor_h1_release_head(struct cor_h1 *h);

/* Bytes that are allocated for the head. */
size_t cor_h1_head_bytes(const struct cor_h1 *h);

/* Has any byte of the current message been seen? */
bool cor_h1_is_begun(const struct cor_h1 *h);

/* Forgets the message, its head and the head's memory. Client role: `to_head` when the next
 * response answers a HEAD request and so has no body. */
void cor_h1_next(struct cor_h1 *h, bool to_head);

/* Of the current message, from on_head until cor_h1_next(). */
const struct cor_h1_head *cor_h1_head(const struct cor_h1 *h);

/* After a failure: the status to answer with (server role), and one line of text. */
struct cor_h1_error {
    int status;
    const char *text;
};
const struct cor_h1_error *cor_h1_error(const struct cor_h1 *h);

/* How an outgoing body is framed. */
enum cor_h1_framing { COR_H1_NO_BODY, COR_H1_LENGTH, COR_H1_CHUNKED, COR_H1_UNTIL_CLOSE };

struct cor_h1_message {
    bool to_head;        /* answers HEAD: says the length, has no body */
    int peer_minor;      /* 0: the peer knows no chunks */
    bool keep_alive;     /* false: "Connection: close" is said */
    uint64_t length;     /* or COR_H1_LENGTH_UNKNOWN */
    struct cor_str date; /* of a response; an empty one is left out */
    const struct cor_http_header *headers;
    size_t nheaders;
};

/* Appends a head. CR, LF and NUL in names and values become spaces. 0, -COR_ENOMEM, -COR_ETOOBIG
 * (`out` is then cut back). */
int cor_h1_write_response(struct cor_buf *out, int status, const struct cor_h1_message *msg,
                          enum cor_h1_framing *ret_framing);
int cor_h1_write_request(struct cor_buf *out, struct cor_str method, struct cor_str target,
                         const struct cor_h1_message *msg, enum cor_h1_framing *ret_framing);

#define COR_H1_CHUNK_HEAD_MAX 18
#define COR_H1_CHUNK_END      "\r\n"
#define COR_H1_LAST_CHUNK     "0\r\n\r\n"
#define COR_H1_CONTINUE       "HTTP/1.1 100 Continue\r\n\r\n"

/* Writes what precedes a chunk of `n` bytes (not 0) and returns its length. */
size_t cor_h1_chunk_head(char out[COR_H1_CHUNK_HEAD_MAX], size_t n);

/* "Not Found"; "" for a status without a name. */
const char *cor_h1_status_text(int status);

#endif
