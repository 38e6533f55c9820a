/* A growing buffer of bytes whose maximum is set when it is initialised. The bytes are always
 * followed by a NUL that is not counted, so that text can be handed to C functions.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_BASE_BUF_H
#define COR_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

struct cor_buf {
    char *p;    /* NULL until the first byte */
    size_t n;   /* bytes in use */
    size_t cap; /* bytes allocated, the NUL not counted */
    size_t max; /* n never exceeds it */
    bool is_secret;
};

/* Cannot fail; nothing is allocated before the first byte. */
void cor_buf_init(struct cor_buf *b, size_t max);

/* The same for a password, a key, or a text that may hold one: no byte of it goes back to the
 * allocator, neither when the buffer grows nor when it is freed. */
void cor_buf_init_secret(struct cor_buf *b, size_t max);

/* Frees the bytes; safe on a zeroed struct. The maximum stays. */
void cor_buf_deinit(struct cor_buf *b);

/* Forgets the bytes, keeps the memory. */
void cor_buf_reset(struct cor_buf *b);

/* Room for `n` more bytes. 0, -COR_ENOMEM, -COR_ETOOBIG (the maximum would be passed). All the
 * functions below fail the same way and leave the content as it was. */
int cor_buf_reserve(struct cor_buf *b, size_t n);

int cor_buf_add(struct cor_buf *b, const void *p, size_t n);
int cor_buf_adds(struct cor_buf *b, struct cor_str s);
int cor_buf_addz(struct cor_buf *b, const char *s);
int cor_buf_addc(struct cor_buf *b, char c);
int cor_buf_addf(struct cor_buf *b, const char *fmt, ...) COR_PRINTF(2, 3);
int cor_buf_addv(struct cor_buf *b, const char *fmt, va_list ap) COR_PRINTF(2, 0);
int cor_buf_addu64(struct cor_buf *b, uint64_t v);

/* Cuts the content back to its first `n` bytes. */
void cor_buf_truncate(struct cor_buf *b, size_t n);

/* The content as NUL-terminated text; "" when empty. Borrowed until the next change. */
const char *cor_buf_z(const struct cor_buf *b);

static inline struct cor_str cor_buf_str(const struct cor_buf *b)
{
    return cor_str(b->p ? b->p : "", b->n);
}

/* Hands out the NUL-terminated bytes (cor_free() or cor_free_secret() them) and leaves the buffer
 * empty; `ret_n` may be NULL. NULL on -COR_ENOMEM, which can happen only when the buffer is empty.
 */
char *cor_buf_steal(struct cor_buf *b, size_t *ret_n);

#endif
