/* clang-format off */
/* The answer to one request, streamed. It may be produced while the handler runs or any time later.
 * Thread: the connection's loop.
 *
 * Lifetime: the handler holds request and response from its first call (on_head, or on_request when
 * it has none) until one of three things, and touches neither afterwards:
 *   cor_http_response_end()    it has said everything
 *   cor_http_response_abort()  it gives up; the client sees a broken connection
 *   on_gone                    the client went away, was cut, or the deadline passed
 * A handler that returns before the end must have set its callbacks. Between on_head and on_request
 * only the deadline may be changed; an answer would have to be given by on_head, unless on_head held
 * the body back or took it as a stream (cor_http_response_hold_body(), _stream_body()).
 *
 * Output is copied and sent once per loop turn. A response buffers COR_OUTPUT_WAITING_MAX bytes at
 * most: a write takes what there is room for, and on_writable tells when there is room again.
 * No function here calls back before it returns. */
/* clang-format on */
#ifndef COR_HTTP_RESPONSE_H
#define COR_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "http/rank.h"
#include "http/request.h"

struct cor_http_response;
struct cor_loop;

/* cor_http_response_set_deadline(): for watches. */
#define COR_HTTP_NO_DEADLINE UINT64_MAX

struct cor_http_response_cbs {
    /* A write was short, and there is room again. May be NULL when writes fit. */
    void (*on_writable)(struct cor_http_response *resp, void *arg);
    /* Over before its end; the memory goes when this returns. `why`: -COR_ECANCELED (the client
     * closed or broke off, its body was refused, or the server's drain time is up), -COR_ETIMEOUT
     * (deadline, or the client stopped reading for as long as a request may take), -COR_ENOMEM.
     * When the response had not been started at its deadline, the client has been sent a 504. */
    void (*on_gone)(struct cor_http_response *resp, int why, void *arg);
    /* The server shuts down: end long streams soon. May be NULL (short requests finish anyway). */
    void (*on_drain)(struct cor_http_response *resp, void *arg);
};

/* `cbs` must stay valid; may be called again to hand the response on. */
void cor_http_response_set_cbs(struct cor_http_response *resp,
                               const struct cor_http_response_cbs *cbs, void *arg);

/* What was set with the callbacks. */
void *cor_http_response_arg(const struct cor_http_response *resp);

struct cor_loop *cor_http_response_loop(const struct cor_http_response *resp);

/* Says who sends the request; called from on_head, or while the body is held back, before any
 * answer. What its connection holds is charged to that user from now on, rather than to the address
 * it comes from (docs/internals/http.md). With COR_HTTP_UNKNOWN, when nobody could be
 * authenticated, `name` is not read and the charge stays as it is. 0; -COR_EBUSY: the server holds
 * too much for this sender already, output that waits to be read included, and the request should
 * be answered with a 429; -COR_ENOMEM. */
int cor_http_response_set_sender(struct cor_http_response *resp, enum cor_http_rank rank,
                                 struct cor_str name);

/* The handler keeps `bytes` of memory for this response; charged until the response is over, or
 * this is called again. 0; -COR_EBUSY: that is too much, and what was said before stays. */
int cor_http_response_hold(struct cor_http_response *resp, size_t bytes);

/* From on_head: the handler decides in a later turn what becomes of the body. Until then no byte of
 * it is asked for (no 100 Continue), and what a client sends unasked is bounded: on HTTP/1.1 it
 * stays in the connection's input, on HTTP/2 the stream's window (COR_H2_WINDOW) is not opened. The
 * handler must set its callbacks, and copy what it needs of the head, which is freed when on_head
 * returns. Later it answers, or calls one of the next two. */
void cor_http_response_hold_body(struct cor_http_response *resp);

/* The body that was held back is collected, and on_request follows from a later turn, as if on_head
 * had accepted the request; or on_gone, after a 413 or a 429. */
void cor_http_response_collect_body(struct cor_http_response *resp);

struct cor_http_body_cbs {
    /* The next piece, borrowed while this runs. Returns how many of its bytes the handler took.
     * Fewer than all: the others stay with the connection, which then stops reading (HTTP/1.1) or
     * does not open the stream's window (HTTP/2), until cor_http_response_resume_body(). The
     * response may be ended or aborted from here; what is returned then does not matter. */
    size_t (*on_body)(struct cor_http_response *resp, struct cor_str piece, void *arg);
    /* All of the body has been taken. (A body that breaks off is an on_gone.) */
    void (*on_body_end)(struct cor_http_response *resp, void *arg);
};

/* From on_head, or while the body is held back: the body is shown in pieces, from a later turn or
 * after on_head has returned, and on_request does not come. The server's body_max does not apply.
 * The response may be started and ended at any time, also before the body has ended: the rest of
 * the body is then dropped as that of a request which on_head refused. Nothing is shown after the
 * response is over. `cbs` must stay valid; `arg` is theirs alone. */
void cor_http_response_stream_body(struct cor_http_response *resp,
                                   const struct cor_http_body_cbs *cbs, void *arg);

/* The handler takes more of a streamed body; what was left of the last piece is shown again, from a
 * later turn. Without effect when nothing was left, and so in on_body itself. */
void cor_http_response_resume_body(struct cor_http_response *resp);

/* The length that the head of the request says: 0 when there is no body, COR_HTTP_LENGTH_UNKNOWN
 * when only its end will tell (chunked). From on_head on. */
uint64_t cor_http_response_body_length(const struct cor_http_response *resp);

/* On cor_loop_now_ms()'s clock. Begins at the server's request_timeout_ms after the head. */
uint64_t cor_http_response_deadline(const struct cor_http_response *resp);
void cor_http_response_set_deadline(struct cor_http_response *resp, uint64_t deadline_ms);

/* What the 504 says when the deadline passes before the response has started. The text is not
 * copied. */
void cor_http_response_set_timeout_text(struct cor_http_response *resp, const char *text);

/* Headers of a response, of any version of HTTP. */
#define COR_HTTP_RESPONSE_HEADERS_MAX 280

/* The head. At most COR_HTTP_RESPONSE_HEADERS_MAX headers. Content-Length, Transfer-Encoding,
 * Connection and Date are added here and may not be among `headers`. With a known length exactly
 * that many bytes must follow before the end (none of them is sent for HEAD, 204 and 304: writes
 * are swallowed). Once per response. CR, LF and NUL in headers become spaces. Cannot fail: out of
 * memory cuts the connection and reaches the handler as on_gone. */
void cor_http_response_start(struct cor_http_response *resp, int status,
                             const struct cor_http_header *headers, size_t nheaders,
                             uint64_t length);

/* Body bytes, copied. Returns how many were taken; fewer than `n` means the buffer is full and
 * on_writable comes later. Each call is one chunk of a chunked body, so write whole items. */
size_t cor_http_response_write(struct cor_http_response *resp, struct cor_str bytes);

/* The same for several spans as one run (an event's three parts, a list's items), of which the
 * first `skip` bytes were taken before. Returns how many were taken after `skip`. */
size_t cor_http_response_writev(struct cor_http_response *resp, const struct cor_str *spans,
                                size_t nspans, size_t skip);

void cor_http_response_end(struct cor_http_response *resp);
void cor_http_response_abort(struct cor_http_response *resp);

/* Another protocol in place of HTTP/1.1 on a connection, from an answer of 101 on. Each write to
 * the response is a message: when it is short, the next write continues it. Without I/O: the
 * functions append bytes to `out`, which are sent. They are called while no message is half
 * written. Thread: the connection's loop. */
struct cor_http_upgrade {
    /* Bytes of the client, and what they are answered with, which is no more than they are and a
     * few bytes. 0; below 0: the connection ends after what is in `out`, and the handler gets
     * on_gone. */
    int (*feed)(struct cor_http_upgrade *upgrade, struct cor_str bytes, struct cor_buf *out);
    /* What precedes a message of `n` bytes, not 0. 0, -COR_ENOMEM. */
    int (*begin)(struct cor_http_upgrade *upgrade, size_t n, struct cor_buf *out);
    /* What is at the end of the connection. 0, -COR_ENOMEM. */
    int (*end)(struct cor_http_upgrade *upgrade, struct cor_buf *out);
    void (*free)(struct cor_http_upgrade *upgrade);
};

/* Returns whether that is possible: only with HTTP/1.1, and not for a request that has a body. */
bool cor_http_response_can_upgrade(const struct cor_http_response *resp);

/* In place of cor_http_response_start(): a 101 with these headers, `Connection` and `Upgrade` among
 * them, and nothing else. The connection ends with the response, and has the upgrade from now on.
 */
void cor_http_response_upgrade(struct cor_http_response *resp,
                               const struct cor_http_header *headers, size_t nheaders,
                               struct cor_http_upgrade *take_upgrade);

/* In place of cor_http_response_start(), HTTP/1.1 only: a 101 with these headers, `Connection` and
 * `Upgrade` among them, and nothing else; what is written and what the client sends are bytes of
 * another protocol from then on. Needs cor_http_response_stream_body() before it, and
 * cor_http_response_can_upgrade(). The body callbacks show what the client sends, with the
 * same back-pressure; on_body_end says that it has ended its side, and writes may go on. The
 * connection ends with the response. */
void cor_http_response_tunnel(struct cor_http_response *resp, const struct cor_http_header *headers,
                              size_t nheaders);

/* Start, write and end of a whole body, of any size up to 64 MB: what does not fit the buffer is
 * copied and sent as the client reads. */
void cor_http_response_send(struct cor_http_response *resp, int status,
                            const struct cor_http_header *headers, size_t nheaders,
                            struct cor_str body);

#endif
