/* Members that a JSON object has more than once. Go's decoder decodes each of them into the same
 * value, one after the other, so that a repeated struct is the sum of its texts, and not the last
 * of them. This walk writes the object that the decoder would have made, without repetitions.
 *
 * Owner: nobody.  Thread: any (pure).  Linear in the bytes; recursion is bounded by the depth of
 * JSON. */
#ifndef COR_SCHEMA_WALK_REPEATED_H
#define COR_SCHEMA_WALK_REPEATED_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Appends the object to `out`, which must have room for json.n bytes below its maximum. `json` is
 * an object whose values `type`, a struct, can hold (cor_read() accepted it). Members that the type
 * does not have are left out. A key of a map may still be there twice: its last value counts, as
 * cor_json_canonicalize() has it. 0, -COR_ENOMEM; `out` is as before on failure. */
int cor_repeated_merge(struct cor_str json, const struct cor_type *type, struct cor_buf *out);

#endif
