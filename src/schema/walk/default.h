/* Defaults of the built-in kinds: the rules of api/x.rules applied to an object
 * (docs/internals/types.md).
 * Owner: nobody (no state).  Thread: any. */
#ifndef COR_SCHEMA_WALK_DEFAULT_H
#define COR_SCHEMA_WALK_DEFAULT_H

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Fills in the defaults of `json`, canonical bytes of a normalised object (schema/walk/normalize.h)
 * of `type`, a struct. 0: there is nothing to fill in, and nothing was appended. 1: the object with
 * its defaults was appended to `out`, in canonical form. -COR_ENOMEM, -COR_ETOOBIG (out's maximum).
 * `out` is as before unless 1 is returned. Defaulting again changes nothing.
 *
 * A parent's rules apply before those of its fields. Values that do not fit their types stay as
 * they are. The time is linear in the bytes. */
int cor_default(const struct cor_type *type, struct cor_str json, struct cor_buf *out);

/* The same for the defaults of a kind that wait until the server has added its part to the object:
 * for objects that are about to be stored, and for stored objects. */
int cor_default_late(const struct cor_type *type, struct cor_str json, struct cor_buf *out);

#endif
