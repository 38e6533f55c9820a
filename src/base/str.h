/* Operations on borrowed strings in addition to those of the public header.
 * Thread: any (a value). */
#ifndef COR_BASE_STR_H
#define COR_BASE_STR_H

#include <stddef.h>
#include <stdint.h>

#include "coracle/str.h"

/* Byte order; the shorter of two equal prefixes comes first. */
int cor_str_cmp(struct cor_str a, struct cor_str b);

bool cor_str_starts(struct cor_str s, struct cor_str prefix);
bool cor_str_ends(struct cor_str s, struct cor_str suffix);

/* Position of the first `c`, or -1. */
ptrdiff_t cor_str_find(struct cor_str s, char c);

/* From byte `from` (at most s.n) to the end. */
static inline struct cor_str cor_str_from(struct cor_str s, size_t from)
{
    return (struct cor_str){s.p + from, s.n - from};
}

/* Cuts `*rest` at the first `sep`: returns what precedes it and leaves what follows it. Without a
 * `sep`, returns all and leaves an empty string with p == NULL. */
struct cor_str cor_str_cut(struct cor_str *rest, char sep);

struct cor_str cor_str_trim(struct cor_str s);

/* Decimal numbers, digits only (and a leading '-' for int64). 0, -COR_EINVAL (not a number), or
 * -COR_ETOOBIG (does not fit). */
int cor_str_to_u64(struct cor_str s, uint64_t *ret);
int cor_str_to_i64(struct cor_str s, int64_t *ret);

/* Copies the bytes of all `n` strings into one block, each with a NUL after it, and points them
 * there: for keeping what a caller's options borrow. cor_free() the block. 0, or -COR_ENOMEM (the
 * strings are as they were). */
int cor_str_gather(struct cor_str *const *strings, size_t n, char **ret_block);

/* A length-aware FNV-1a mix, stable across runs and machines. Not for untrusted hash tables. */
uint64_t cor_str_hash(struct cor_str s);

#endif
