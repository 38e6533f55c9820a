/* Random (version 4) UUIDs as text.
 * Thread: that of the source of randomness. */
#ifndef COR_BASE_UUID_H
#define COR_BASE_UUID_H

#include "base/buf.h"
#include "base/rand.h"
#include "base/str.h"

#define COR_UUID_TEXT_MAX 37 /* with its NUL */

/* Writes a new UUID to `out`, with a NUL after it, and returns its text, a view of `out`. */
struct cor_str cor_uuid_print(struct cor_rand *rand, char out[COR_UUID_TEXT_MAX]);

/* Appends a new UUID. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_uuid_add(struct cor_rand *rand, struct cor_buf *out);

#endif
