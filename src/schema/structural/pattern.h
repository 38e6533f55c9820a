/* Regular expressions in the syntax of Go, which is that of RE2: `pattern` in the schemas of custom
 * resources. A pattern searches a text, it need not match the whole; the time is linear in the
 * text, and a compiled pattern takes at most COR_PATTERN_BYTES_MAX.
 *
 * The first call of cor_pattern_compile() loads the module of schema/re2/, which costs a few
 * milliseconds.
 * Owner: the caller.  Thread: any; a pattern may be matched by several threads at once. */
#ifndef COR_SCHEMA_STRUCTURAL_PATTERN_H
#define COR_SCHEMA_STRUCTURAL_PATTERN_H

#include "base/buf.h"
#include "base/str.h"

#define COR_PATTERN_BYTES_MAX (8u << 20)

struct cor_pattern;

/* 0; -COR_EINVALID: it is no pattern, and Go's words were appended to `why` (NULL: nobody asks):
 * "error parsing regexp: missing closing ): `(`"; -COR_ENOMEM; -COR_EINTERNAL: the module cannot
 * be loaded, and the reason was appended. */
int cor_pattern_compile(struct cor_str text, struct cor_pattern **ret_pattern, struct cor_buf *why);

struct cor_pattern *cor_pattern_free(struct cor_pattern *pattern); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_pattern, cor_pattern_free)

/* Does the pattern match anywhere in the text, which is valid UTF-8? 1, 0, -COR_ENOMEM. */
int cor_pattern_matches(const struct cor_pattern *pattern, struct cor_str text);

#endif
