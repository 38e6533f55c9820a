/* Regular expressions in the syntax of Go, which is that of RE2: `pattern` in the schemas of custom
 * resources. A pattern searches a text, it need not match the whole; the time is linear in the
 * text, and a compiled pattern takes at most COR_PATTERN_BYTES_MAX. Most take far less, so that a
 * pattern is compiled with the least of a few maxima that is enough for it.
 *
 * The first call of cor_pattern_compile() loads the module of schema/re2/, which costs a few
 * milliseconds.
 * Owner: the caller.  Thread: any; a pattern may be matched by several threads at once. */
#ifndef COR_SCHEMA_STRUCTURAL_PATTERN_H
#define COR_SCHEMA_STRUCTURAL_PATTERN_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/work.h"

#define COR_PATTERN_BYTES_MAX (8u << 20)
/* What kept patterns may take together, of one account and of the process. */
#define COR_PATTERN_ACCOUNT_MAX (32u << 20)
#define COR_PATTERNS_BYTES_MAX  (256u << 20)

struct cor_pattern;

/* What the kept patterns of one owner may take. Zeroed at the beginning. */
struct cor_pattern_account {
    atomic_size_t bytes;
};

/* 0; -COR_EINVALID: it is not a pattern, and Go's words were appended to `why` (NULL: nobody asks):
 * "error parsing regexp: missing closing ): `(`"; -COR_ENOMEM; -COR_EINTERNAL: the module cannot be
 * loaded, and the reason was appended. */
int cor_pattern_compile(struct cor_str text, struct cor_pattern **ret_pattern, struct cor_buf *why);

struct cor_pattern *cor_pattern_free(struct cor_pattern *pattern); /* NULL is fine */
COR_DEFINE_CLEANUP(struct cor_pattern, cor_pattern_free)

/* Charges the pattern to the account and to the process, until it is freed; the account must
 * outlive it. False: there is no room for it, and whoever has compiled it frees it after its use.
 */
bool cor_pattern_keep(struct cor_pattern *pattern, struct cor_pattern_account *account);

/* What it may take at most, which is what it is charged with. */
size_t cor_pattern_bytes(const struct cor_pattern *pattern);

/* The steps (base/work.h) that a search of a text of so many bytes takes at most. Nearly all take a
 * small part of it: a step for each COR_WORK_STEP_BYTES. */
uint64_t cor_pattern_steps(const struct cor_pattern *pattern, size_t text_bytes);

/* Does the pattern match anywhere in the text, which is valid UTF-8? 1, 0, -COR_ENOMEM. */
int cor_pattern_matches(const struct cor_pattern *pattern, struct cor_str text);

#endif
