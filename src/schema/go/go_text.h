/* JSON as Go's %v prints it after decoding: `map[a:1 b:[x true]]`. Upstream prints patches so in
 * its messages. Thread: any (pure). */
#ifndef COR_SCHEMA_GO_GO_TEXT_H
#define COR_SCHEMA_GO_GO_TEXT_H

#include "base/buf.h"
#include "base/str.h"

/* Appends `json`, canonical bytes of any value: maps with their keys sorted, strings without
 * quotes, null as <nil>, numbers as int64 or float64 print. 0, -COR_ENOMEM, -COR_ETOOBIG; on
 * failure `out` may have grown. Recursion is bounded by the depth of JSON. */
int cor_go_text(struct cor_str json, struct cor_buf *out);

/* Appends `json`, any value that is not an object with kind and apiVersion, as Go's %#v prints it:
 * `map[string]interface {}{"a":1, "b":[]interface {}{"x", true}}`. Otherwise the same. */
int cor_go_syntax(struct cor_str json, struct cor_buf *out);

/* What Go calls the type of a value in a map[string]interface{}: "int64", "[]interface {}"; null
 * is "<nil>". */
const char *cor_go_type_of(struct cor_str value);

#endif
