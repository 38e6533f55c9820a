/* clang-format off */
/* Types for server-side apply, written as JSON:
 *
 *   "string" "number" "bool" "any" "deduced" "atomic"     scalars, and the two types of any value
 *   {"map":T} {"map":T,"atomic":true}                     a map of texts to T
 *   {"fields":{"a":T},"defaults":{"a":1},"others":T}      a struct; "others" and "atomic" as well
 *   {"list":T} {"set":T} {"keyed":T,"keys":["a"]}         lists: atomic, set, with keys
 *
 * Thread: any.  Owner: the types are in the arena and borrow from the text. */
/* clang-format on */
#ifndef COR_TEST_APPLY_SCHEMA_H
#define COR_TEST_APPLY_SCHEMA_H

#include "base/arena.h"
#include "schema/apply/place.h"

/* `json` is canonical but for the order of the outermost keys. Malformed types and an arena that
 * has failed abort the program. */
const struct cor_apply_type *apply_schema_read(struct cor_arena *arena, struct cor_str json);

#endif
