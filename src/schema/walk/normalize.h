/* What remains of an object after a round trip through upstream's Go types: the walk that decodes
 * JSON into a struct, stores the struct and writes it again (docs/internals/normalize.md).
 *
 *   - members that the type does not have are dropped;
 *   - null means "never set"; what was never set is left out, or written as null, zero or {} where
 *     Go writes it all the same; lists and maps without elements were never set;
 *   - quantities, times, base64 and numbers get their canonical text;
 *   - raw values keep their bytes, and get Go's escapes of <, > and &.
 *
 * A value whose JSON type is not that of its field is left as it is: the read walk refuses such a
 * value when it comes from a client.
 * Owner: nobody.  Thread: any (pure).  One pass, linear in the bytes; recursion is bounded by the
 * depth of JSON. */
#ifndef COR_SCHEMA_WALK_NORMALIZE_H
#define COR_SCHEMA_WALK_NORMALIZE_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Normalises `json`, canonical bytes of an object of `type`, a struct. 0: there is nothing to do,
 * and nothing was appended. 1: the normal form was appended to `out`; it is canonical except for
 * what is inside raw values. -COR_ENOMEM, -COR_ETOOBIG (out's maximum). `out` is as before unless 1
 * is returned. Normalising again changes nothing. */
int cor_normalize(const struct cor_type *type, struct cor_str json, struct cor_buf *out);

/* What the walk has noticed on its way. */
struct cor_normalize_notes {
    bool has_gated; /* a field of a feature gate that is off (schema/walk/gates.h) */
    bool has_empty; /* a list or map without elements, which the normal form does not have */
};
int cor_normalize_noting(const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                         struct cor_normalize_notes *ret_notes);

#endif
