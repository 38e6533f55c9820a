/* Bad values as upstream's error messages print them (contract validation 1.4;
 * docs/internals/formats.md).
 * Thread: any (pure). */
#ifndef COR_SCHEMA_GO_VALUE_H
#define COR_SCHEMA_GO_VALUE_H

#include "base/buf.h"
#include "base/str.h"

/* Appends a text as Go's encoding/json writes it: in quotes, `<`, `>`, `&` and the two line
 * separators of Unicode as \u escapes, invalid UTF-8 as \ufffd. 0, -COR_ENOMEM, -COR_ETOOBIG; on
 * failure `out` may have grown. */
int cor_go_json_string(struct cor_str text, struct cor_buf *out);

#endif
