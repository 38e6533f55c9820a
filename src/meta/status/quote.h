/* A string in quotes as Go's %q prints it: what Kubernetes' messages put around names and values.
 * Thread: any. */
#ifndef COR_META_STATUS_QUOTE_H
#define COR_META_STATUS_QUOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

/* Appends `s` in double quotes, with Go's escapes for quotes, backslashes, control characters,
 * invalid UTF-8 (\x..) and code points that do not print (\u...., \U........). Code points that
 * Unicode has not assigned are printed as they are. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_quote(struct cor_str s, struct cor_buf *out);

/* Does the code point print, as Go's unicode.IsPrint has it? Of spaces only that of ASCII does. */
bool cor_quote_prints(uint32_t c);

/* The number of bytes that cor_quote() appends. */
size_t cor_quote_bytes(struct cor_str s);

/* Appends `s` with `&`, `<` and `>` as HTML entities, so that a browser never takes an error
 * message for HTML. The same errors. */
int cor_quote_html(struct cor_str s, struct cor_buf *out);

#endif
