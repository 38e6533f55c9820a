/* Durations in Go's notation: "300ms", "1m30s", "1.5h". Thread: any (pure). */
#ifndef COR_BASE_DURATION_H
#define COR_BASE_DURATION_H

#include <stdint.h>

#include "base/str.h"

/* Nanoseconds. 0, -COR_EINVAL (not a duration: "", "5", "1x"), -COR_ETOOBIG (beyond 290 years). */
int cor_duration_parse(struct cor_str s, int64_t *ret_ns);

/* The same. On failure `reterr_unit` is the text that is where a unit should, borrowed: empty when
 * there is none, and p is NULL when something else is wrong. */
int cor_duration_parse_why(struct cor_str s, int64_t *ret_ns, struct cor_str *reterr_unit);

#endif
