/* A 64-bit summary of an object's labels, kept beside its key in the tree: one bit per key, and
 * three per pair of key and value. A selector has a mask of the bits that any match must have, so
 * most objects that do not match are skipped without being touched.
 * Thread: any (values). */
#ifndef COR_META_VALUE_FINGERPRINT_H
#define COR_META_VALUE_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* The bit that some value of `key` sets. */
uint64_t cor_fingerprint_key(struct cor_str key);

/* The bits that `key` with this value sets, its key's bit included. */
uint64_t cor_fingerprint_label(struct cor_str key, struct cor_str value);

/* All bits of a canonical JSON object of strings; 0 for none. A key or a value that needs escapes
 * sets no bits of its own: no selector can name it. */
uint64_t cor_fingerprint_labels(struct cor_str labels);

/* False: the labels do not match. True: they may. */
static inline bool cor_fingerprint_may_match(uint64_t fingerprint, uint64_t mask)
{
    return (fingerprint & mask) == mask;
}

#endif
