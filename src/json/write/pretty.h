/* JSON for people: indented by two spaces, as Go's MarshalIndent writes it.
 * Thread: any (no state). */
#ifndef COR_JSON_WRITE_PRETTY_H
#define COR_JSON_WRITE_PRETTY_H

#include "base/buf.h"
#include "base/str.h"

/* Appends the valid, minified value `json` as it stands `depth` levels inside others. 0,
 * -COR_ENOMEM, -COR_ETOOBIG; `out` is as before on failure. */
int cor_json_pretty(struct cor_str json, unsigned depth, struct cor_buf *out);

/* The same, indented by one space. */
int cor_json_pretty_narrow(struct cor_str json, struct cor_buf *out);

#endif
