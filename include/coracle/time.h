/* Times as API objects have them: RFC 3339, with seconds (Time: creationTimestamp) or microseconds
 * (MicroTime: renewTime of a Lease). Numbers are counted from 1970, in UTC. Thread: any (pure). */
#ifndef CORACLE_TIME_H
#define CORACLE_TIME_H

#include <stdint.h>

#include "coracle/api.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "2025-01-01T00:00:00Z" and its NUL; years 0 to 9999. */
#define COR_TIME_TEXT_MAX 21
/* "2025-01-01T00:00:00.000000Z" and its NUL. */
#define COR_MICRO_TIME_TEXT_MAX 28

/* Write the time in UTC, with a NUL, to `out`, which has room for COR_TIME_TEXT_MAX or
 * COR_MICRO_TIME_TEXT_MAX bytes, and return the text. A time outside the years 0 to 9999 is written
 * as the nearest one within them. */
COR_API struct cor_str cor_time_print(int64_t unix_s, char *out);
COR_API struct cor_str cor_micro_time_print(int64_t unix_us, char *out);

/* Read a time with any offset, with the liberties that Go's time.Parse() takes; what is finer than
 * the result is dropped. 0, -COR_EINVAL. */
COR_API int cor_time_parse(struct cor_str text, int64_t *ret_unix_s);
COR_API int cor_micro_time_parse(struct cor_str text, int64_t *ret_unix_us);

#ifdef __cplusplus
}
#endif

#endif
