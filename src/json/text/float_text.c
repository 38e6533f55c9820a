/* yyjson reads and prints doubles exactly, in a tenth of the time that the C library takes; an
 * object may have a hundred thousand of them. The layout is Go's: yyjson's text is only taken
 * apart. Failures: none. What yyjson does not read as a double is left to the C library. Thread:
 * any. */
#include "json/text/float_text.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#define POOL_BYTES 512 /* more than yyjson allocates for one number */

/* 0.ddd × 10^point; of zero the only digit is 0. */
struct decimal {
    char digits[COR_FLOAT_TEXT_MAX];
    size_t n;
    int point; /* digits before it; 0 and less: zeros are between it and the digits */
};

/* Takes a number's text apart: digits, perhaps a point among them, perhaps an exponent. */
static void decimal_read(struct decimal *d, const char *p)
{
    bool is_fraction = false;

    *d = (struct decimal){.n = 0};
    for (; *p && *p != 'e'; p++) {
        if (*p == '.') {
            is_fraction = true;
            continue;
        }
        if (d->n > 0 || *p != '0') {
            assert(d->n < sizeof(d->digits));
            d->digits[d->n++] = *p;
            d->point += !is_fraction;
        } else {
            d->point -= is_fraction;
        }
    }
    if (*p == 'e')
        d->point += (int)strtol(p + 1, NULL, 10);
    while (d->n > 0 && d->digits[d->n - 1] == '0')
        d->n--;
    if (d->n == 0)
        *d = (struct decimal){.digits = "0", .n = 1, .point = 1};
}

/* The fewest digits that tell the number from its neighbours. */
static void decimal_of(struct decimal *d, double value)
{
    char pool[POOL_BYTES], *text;
    yyjson_val number = {0};
    yyjson_alc alc;

    yyjson_set_real(&number, value);
    (void)yyjson_alc_pool_init(&alc, pool, sizeof(pool));
    text = yyjson_val_write_opts(&number, 0, &alc, NULL, NULL);
    assert(text);
    decimal_read(d, text);
}

static size_t write_with_exponent(const struct decimal *d, char *out)
{
    size_t n = 0;

    out[n++] = d->digits[0];
    if (d->n > 1) {
        out[n++] = '.';
        memcpy(out + n, d->digits + 1, d->n - 1);
        n += d->n - 1;
    }
    /* Go has no zero before the last digit of an exponent: 1e-7. */
    return n + (size_t)snprintf(out + n, COR_FLOAT_TEXT_MAX - n - 1, "e%+d", d->point - 1);
}

static size_t write_plainly(const struct decimal *d, char *out)
{
    size_t n = 0;

    if (d->point <= 0)
        out[n++] = '0';
    for (int i = d->point <= 0 ? d->point : 0; i < (int)d->n || i < d->point; i++) {
        if (i == d->point)
            out[n++] = '.';
        out[n++] = i >= 0 && i < (int)d->n ? d->digits[i] : '0';
    }
    return n;
}

struct cor_str cor_float_print(double value, char *out)
{
    double size = fabs(value);
    struct decimal d;
    size_t n = 0;

    assert(isfinite(value));
    decimal_of(&d, size);
    if (signbit(value))
        out[n++] = '-';
    if (value != 0 && (size < 1e-6 || size >= 1e21))
        n += write_with_exponent(&d, out + n);
    else
        n += write_plainly(&d, out + n);
    out[n] = '\0';
    return cor_str(out, n);
}

double cor_float_read(struct cor_str number)
{
    char pool[POOL_BYTES];
    yyjson_val value = {0};
    yyjson_alc alc;

    (void)yyjson_alc_pool_init(&alc, pool, sizeof(pool));
    /* yyjson makes integers of some texts, and knows no infinity. */
    if (yyjson_read_number(number.p, &value, 0, &alc, NULL) == number.p + number.n &&
        yyjson_is_real(&value))
        return yyjson_get_real(&value);
    return strtod(number.p, NULL);
}
