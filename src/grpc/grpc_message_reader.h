/* Cuts a stream of bytes into gRPC messages: a byte of flags, four of length, the message. Bytes
 * are copied only when a message is not whole yet. Owner: whoever embeds it.  Thread: one at a
 * time. */
#ifndef COR_GRPC_GRPC_MESSAGE_READER_H
#define COR_GRPC_GRPC_MESSAGE_READER_H

#include <stdbool.h>

#include "base/buf.h"

#define COR_GRPC_PREFIX_BYTES 5

struct cor_message_reader {
    struct cor_buf kept;
    size_t done;          /* of `kept` or, when that is empty, of `piece` */
    struct cor_str piece; /* borrowed between _add() and _keep() */
    size_t max;
};

/* `kept_max`: bytes that may be added beyond one message of `max`. */
void cor_message_reader_init(struct cor_message_reader *r, size_t max, size_t kept_max);
void cor_message_reader_deinit(struct cor_message_reader *r);

/* More bytes, borrowed until cor_message_reader_keep(). 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_message_reader_add(struct cor_message_reader *r, struct cor_str piece);

/* The next message, borrowed until the next call; `*ret_whole` is false when there is none yet. 0,
 * -COR_ETOOBIG (longer than the maximum), -COR_ENOTSUP (compressed), -COR_EINVAL (unknown flags).
 */
int cor_message_reader_next(struct cor_message_reader *r, bool *ret_whole,
                            struct cor_str *ret_message);

/* Copies what is left of the borrowed bytes. 0, -COR_ENOMEM. */
int cor_message_reader_keep(struct cor_message_reader *r);

/* Does an unfinished message wait? */
bool cor_message_reader_is_midway(const struct cor_message_reader *r);

/* What precedes a message of `n` bytes. */
void cor_message_prefix(char out[COR_GRPC_PREFIX_BYTES], size_t n);

#endif
