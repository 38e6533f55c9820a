/* Type errors in the words of upstream's other decoder. What a strategic merge patch makes is a map
 * of Go that becomes an object field by field, without JSON: the first value that does not fit is
 * named by its types alone. Thread: any (pure). */
#ifndef COR_SCHEMA_RESTORE_H
#define COR_SCHEMA_RESTORE_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/types.h"

/* Appends the words for the first value of `json`, an object of `type` (a struct), that does not
 * fit; upstream takes the fields in the order of their declaration, which matters when several do
 * not. 1: there is such a value; 0: there is none, or it has a decoder of its own (a time, a
 * quantity …), whose words are those of JSON. -COR_ENOMEM, -COR_ETOOBIG. Every level of the type
 * reads the bytes below it once. */
int cor_restore_error(struct cor_str json, const struct cor_type *type, struct cor_buf *out);

#endif
