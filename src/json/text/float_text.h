/* Numbers of the type float64 as Go prints them in JSON. Thread: any (pure). */
#ifndef COR_JSON_TEXT_FLOAT_TEXT_H
#define COR_JSON_TEXT_FLOAT_TEXT_H

#include "base/str.h"

#define COR_FLOAT_TEXT_MAX 32

/* The shortest decimal text that is this number, with an exponent below 1e-6 and from 1e21 on.
 * `value` is finite; `out` has room for COR_FLOAT_TEXT_MAX bytes. */
struct cor_str cor_float_print(double value, char *out);

/* The double that is nearest to a valid JSON number; infinite for what is too large. `number` is
 * followed by a byte that belongs to no number. */
double cor_float_read(struct cor_str number);

#endif
