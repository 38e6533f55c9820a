/* Numbers as upstream writes them: a custom resource is decoded into int64 and double, and written
 * again, so that 3.0 becomes 3 and 1e3 becomes 1000.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_STRUCTURAL_NUMBERS_H
#define COR_SCHEMA_STRUCTURAL_NUMBERS_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the canonical JSON with its numbers in that form. 0: all numbers have it, and nothing was
 * appended; 1: it was appended; -COR_ENOMEM, -COR_ETOOBIG. `out` is as before unless 1 is returned.
 * Linear in the bytes. */
int cor_structural_write_numbers(struct cor_str json, struct cor_buf *out);

#endif
