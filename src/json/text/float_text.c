#include "json/text/float_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 17 /* that tell every double from its neighbours */

/* "d.ddde±xx" with as few digits as tell the number. */
static void print_shortest(double value, char *out)
{
    for (int digits = 1; digits <= DIGITS_MAX; digits++) {
        snprintf(out, COR_FLOAT_TEXT_MAX, "%.*e", digits - 1, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

struct cor_str cor_float_print(double value, char *out)
{
    char text[COR_FLOAT_TEXT_MAX], digits[COR_FLOAT_TEXT_MAX], *e;
    double size = fabs(value);
    size_t n = 0, w = 0;
    int point; /* digits before it; 0 and less: zeros are between it and the digits */

    assert(isfinite(value));
    print_shortest(value, text);
    e = strchr(text, 'e');
    if (value != 0 && (size < 1e-6 || size >= 1e21)) {
        /* Go has no zero before the last digit of an exponent: 1e-7. */
        if (e[2] == '0')
            memmove(e + 2, e + 3, strlen(e + 3) + 1);
        n = strlen(text);
        memcpy(out, text, n + 1);
        return cor_str(out, n);
    }
    for (const char *p = text; p < e; p++) {
        if (*p >= '0' && *p <= '9')
            digits[n++] = *p;
    }
    point = (int)strtol(e + 1, NULL, 10) + 1;
    if (text[0] == '-')
        out[w++] = '-';
    if (point <= 0)
        out[w++] = '0';
    for (int i = point <= 0 ? point : 0; i < (int)n || i < point; i++) {
        if (i == point)
            out[w++] = '.';
        out[w++] = i >= 0 && i < (int)n ? digits[i] : '0';
    }
    out[w] = '\0';
    return cor_str(out, w);
}
