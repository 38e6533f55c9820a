/* The server's side of a WebSocket connection (RFC 6455), without I/O, for a server that sends
 * messages and has no use for those of its client: bytes of the client go in, and what they have to
 * be answered with comes out (pongs, the end). wslay reads and writes the frames.
 *
 * A message of the server is one frame: cor_ws_begin() writes what precedes its bytes, which the
 * caller writes itself. Between these bytes nothing of this session may be written, so no input is
 * given to it meanwhile.
 * Owner: its maker.  Thread: one at a time. */
#ifndef COR_NET_SESSION_WS_H
#define COR_NET_SESSION_WS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"

struct cor_ws;

/* A message of the client that is longer ends the connection (1009). None is kept. */
#define COR_WS_MESSAGE_MAX (1u << 20)
/* What a session has allocated, roughly; wslay allocates with the C library's functions. */
#define COR_WS_BYTES (16u * 1024)
/* What cor_ws_begin() appends at most. */
#define COR_WS_HEAD_MAX 10
/* The size of the text of Sec-WebSocket-Accept, with its NUL. */
#define COR_WS_ACCEPT_MAX 29

/* NULL: out of memory. */
struct cor_ws *cor_ws_new(void);
/* NULL is fine; returns NULL. */
struct cor_ws *cor_ws_free(struct cor_ws *ws);

/* Takes bytes of the client, and appends what must be sent for them: at most as many bytes, and the
 * end. 0; -COR_ECANCELED: the client has ended the connection, or has broken the protocol, and
 * after `out` nothing may be sent; -COR_ENOMEM. */
int cor_ws_feed(struct cor_ws *ws, struct cor_str in, struct cor_buf *out);

/* Appends what precedes a message of `n` bytes, which is not 0. 0, -COR_ENOMEM. */
int cor_ws_begin(struct cor_ws *ws, bool is_binary, size_t n, struct cor_buf *out);

/* Appends the end of the connection (1000). Nothing may be sent afterwards. 0, -COR_ENOMEM. */
int cor_ws_end(struct cor_ws *ws, struct cor_buf *out);

/* The value of Sec-WebSocket-Accept for a Sec-WebSocket-Key, which may be any text. 0, -COR_ENOMEM.
 */
int cor_ws_accept(struct cor_str key, char ret_accept[COR_WS_ACCEPT_MAX]);

#endif
