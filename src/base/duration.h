/* Durations in Go's notation: "300ms", "1m30s", "1.5h". Thread: any (pure). */
#ifndef COR_BASE_DURATION_H
#define COR_BASE_DURATION_H

#include <stdint.h>

#include "base/str.h"

/* Nanoseconds. 0, -COR_EINVAL (not a duration: "", "5", "1x"), -COR_ETOOBIG (beyond 290 years). */
int cor_duration_parse(struct cor_str s, int64_t *ret_ns);

#endif
