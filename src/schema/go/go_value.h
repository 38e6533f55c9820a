/* Bad values as upstream's error messages print them (contract validation 1.4;
 * docs/internals/formats.md): plain strings as Go's %q, numbers and booleans as they are, all else
 * as JSON of the internal form of the value, in which a struct has all its fields, by their names
 * in Go and in the order of their declaration. Types of meta/v1 have the JSON that clients see.
 * Thread: any (pure). */
#ifndef COR_SCHEMA_GO_GO_VALUE_H
#define COR_SCHEMA_GO_GO_VALUE_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "schema/types/types.h"

/* Appends a value. `json` is canonical and has the form of the type; with p == NULL the value is
 * absent: nil or zero. `is_pointer`: the value is a pointer in Go, which decides what absent means,
 * and prints a string as JSON. Work is linear in `json` and in the fields of the structs in it;
 * recursion is bounded by the types. 0, -COR_ENOMEM, -COR_ETOOBIG (out's maximum); on failure `out`
 * may have grown. */
int cor_go_value(const struct cor_type *type, bool is_pointer, struct cor_str json,
                 struct cor_buf *out);

/* Appends a text as Go's encoding/json writes it: in quotes, `<`, `>`, `&` and the two line
 * separators of Unicode as \u escapes, invalid UTF-8 as \ufffd. The same errors. */
int cor_go_json_string(struct cor_str text, struct cor_buf *out);

#endif
