/* Times as API objects have them, and ages as tables print them.
 * Thread: any (pure). */
#ifndef COR_META_TIME_TEXT_H
#define COR_META_TIME_TEXT_H

#include <stdint.h>

#include "base/str.h"

/* "2025-01-01T00:00:00Z" and its NUL; years 0 to 9999. */
#define COR_TIME_TEXT_MAX 21
/* "2025-01-01T00:00:00.000000Z" and its NUL: a MicroTime. */
#define COR_MICRO_TIME_TEXT_MAX 28

/* The first second of the year 0 and the last one of the year 9999: what RFC 3339 can say. */
#define COR_TIME_MIN_S (-62167219200)
#define COR_TIME_MAX_S 253402300799

/* RFC 3339 in UTC with seconds. A time outside of those years is printed as the nearest one within
 * them: an object with an empty time could be read by no typed client. `out` has room for
 * COR_TIME_TEXT_MAX bytes. */
struct cor_str cor_time_print(int64_t unix_s, char *out);

/* The same with microseconds; `out` has room for COR_MICRO_TIME_TEXT_MAX bytes. */
struct cor_str cor_micro_time_print(int64_t unix_us, char *out);

/* RFC 3339 with any offset, with the liberties that Go's time.Parse() takes; what is finer than the
 * result is dropped. 0, -COR_EINVAL. */
int cor_time_parse(struct cor_str text, int64_t *ret_unix_s);
int cor_micro_time_parse(struct cor_str text, int64_t *ret_unix_us);

/* Why a text is no time. */
struct cor_time_error {
    const char *range;   /* what is out of range, "month"; NULL: the text has another form */
    const char *element; /* of Go's layout, "2006", at which `rest` stands; NULL: `rest` is extra */
    struct cor_str rest; /* borrowed from the text */
};
int cor_micro_time_parse_why(struct cor_str text, int64_t *ret_unix_us,
                             struct cor_time_error *reterr);
/* The same for a text that has to have exactly six digits behind the point, as a MicroTime. */
int cor_six_digit_time_parse_why(struct cor_str text, int64_t *ret_unix_us,
                                 struct cor_time_error *reterr);

#define COR_AGE_TEXT_MAX 32

/* As upstream's HumanDuration: "5s", "3m20s", "2d4h", "400d", "3y12d". */
struct cor_str cor_age_print(int64_t seconds, char *out);

#endif
