/* Type errors in the words of upstream's other decoder. What a strategic merge patch makes is a map
 * of Go that becomes an object field by field, without JSON: the first value that does not fit is
 * named by its types alone. Thread: any (pure). */
#ifndef COR_SCHEMA_WALK_RESTORE_H
#define COR_SCHEMA_WALK_RESTORE_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Appends the words for the value of `json`, of the type `type`, that does not fit and whose field
 * is declared first; keys of maps have no order upstream, and here the first in the bytes counts.
 * 1: there is such a value. 0: upstream makes the object (integers may wrap, and 1.0 is one).
 * -COR_ENOMEM, -COR_ETOOBIG. Linear in the bytes, which are valid JSON without space around. */
int cor_restore_error(struct cor_str json, const struct cor_type *type, struct cor_buf *out);

#endif
