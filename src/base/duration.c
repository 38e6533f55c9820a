#include "base/duration.h"
#include "base/ascii.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"

static const struct {
    const char *name;
    int64_t ns;
} units[] = {
    {"ns", 1},           {"us", 1000},      {"\xc2\xb5s", 1000}, /* U+00B5, the micro sign */
    {"\xce\xbcs", 1000},                                         /* U+03BC, the Greek letter */
    {"ms", 1000000},     {"s", 1000000000}, {"m", 60 * 1000000000LL}, {"h", 3600 * 1000000000LL},
};

/* The unit ends where the next number begins. */
static int take_unit(struct cor_str *s, int64_t *ret_ns, struct cor_str *reterr_unit)
{
    size_t n = 0;

    while (n < s->n && s->p[n] != '.' && !cor_is_digit(s->p[n]))
        n++;
    for (size_t i = 0; i < COR_ARRAY_LEN(units); i++) {
        if (cor_str_eqz(cor_str(s->p, n), units[i].name)) {
            *s = cor_str_from(*s, n);
            *ret_ns = units[i].ns;
            return 0;
        }
    }
    *reterr_unit = cor_str(s->p, n);
    return -COR_EINVAL;
}

/* Adds one number with its unit to `*sum`. Digits after the point that no longer count are
 * dropped, as Go does. */
static int take_part(struct cor_str *s, int64_t *sum, struct cor_str *reterr_unit)
{
    int64_t whole = 0, fraction = 0, unit, v;
    double scale = 1;
    size_t digits = 0;
    int r;

    for (; s->n && cor_is_digit(s->p[0]); *s = cor_str_from(*s, 1), digits++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, s->p[0] - '0', &whole))
            return -COR_ETOOBIG;
    if (s->n && s->p[0] == '.') {
        *s = cor_str_from(*s, 1);
        for (; s->n && cor_is_digit(s->p[0]); *s = cor_str_from(*s, 1), digits++) {
            if (fraction > (INT64_MAX - 9) / 10)
                continue;
            fraction = fraction * 10 + (s->p[0] - '0');
            scale *= 10;
        }
    }
    if (digits == 0)
        return -COR_EINVAL;
    r = take_unit(s, &unit, reterr_unit);
    if (r < 0)
        return r;
    v = (int64_t)((double)fraction * ((double)unit / scale));
    if (__builtin_mul_overflow(whole, unit, &whole) || __builtin_add_overflow(whole, v, &v) ||
        __builtin_add_overflow(*sum, v, sum))
        return -COR_ETOOBIG;
    return 0;
}

int cor_duration_parse_why(struct cor_str s, int64_t *ret_ns, struct cor_str *reterr_unit)
{
    bool negative = s.n > 0 && s.p[0] == '-';
    int64_t sum = 0;
    int r = 0;

    *reterr_unit = (struct cor_str){NULL, 0};
    if (negative || (s.n > 0 && s.p[0] == '+'))
        s = cor_str_from(s, 1);
    if (s.n == 0)
        return -COR_EINVAL;
    if (!cor_str_eqz(s, "0"))
        while (r == 0 && s.n > 0)
            r = take_part(&s, &sum, reterr_unit);
    if (r == 0)
        *ret_ns = negative ? -sum : sum;
    return r;
}

int cor_duration_parse(struct cor_str s, int64_t *ret_ns)
{
    struct cor_str ignored;

    return cor_duration_parse_why(s, ret_ns, &ignored);
}
