/* Times in addition to the public header: why a text is not a time, and ages as tables print them.
 * Thread: any (pure). */
#ifndef COR_META_VALUE_TIME_TEXT_H
#define COR_META_VALUE_TIME_TEXT_H

#include <stdint.h>

#include "base/str.h"
#include "coracle/time.h"

/* The first second of the year 0 and the last one of the year 9999: what RFC 3339 can say. */
#define COR_TIME_MIN_S (-62167219200)
#define COR_TIME_MAX_S 253402300799

/* Why a text is not a time. */
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
