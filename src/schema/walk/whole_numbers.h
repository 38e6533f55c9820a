/* Numbers that are whole but not written so: 1.0, 2e3. Go decodes them into a float64 when it has
 * no type for them, as in a strategic merge patch; what the patch makes becomes a struct
 * afterwards, and a float64 that is whole fits an integer then. Thread: any (pure). */
#ifndef COR_SCHEMA_WALK_WHOLE_NUMBERS_H
#define COR_SCHEMA_WALK_WHOLE_NUMBERS_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Has the JSON a number with a fraction or an exponent? */
bool cor_whole_numbers_are_possible(struct cor_str json);

/* Appends the JSON of an object of `type`. Where the type has an integer, an int-or-string or a
 * quantity, a number whose float64 is whole and fits an int64 is written as that integer. 0,
 * -COR_ENOMEM, -COR_ETOOBIG (out's maximum); `out` is as before on failure. Linear in the bytes. */
int cor_whole_numbers_write(struct cor_str json, const struct cor_type *type, struct cor_buf *out);

#endif
