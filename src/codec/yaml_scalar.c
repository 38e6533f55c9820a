#include "codec/yaml_scalar.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/words.h"

#define DIGITS_MAX 17
/* A longer scalar is not a number that fits; yaml.v2 would read a few more digits of a float. */
#define NUMBER_TEXT_MAX 400

#define IS_ONE_OF(text, words) cor_str_is_one_of(text, words, COR_ARRAY_LEN(words))

static bool find_word(struct cor_str text, struct cor_yaml_scalar *ret)
{
    static const char *const trues[] = {"y",    "Y",    "yes", "Yes", "YES", "true",
                                        "True", "TRUE", "on",  "On",  "ON"};
    static const char *const falses[] = {"n",     "N",     "no",  "No",  "NO", "false",
                                         "False", "FALSE", "off", "Off", "OFF"};
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const nans[] = {".nan", ".NaN", ".NAN"};
    static const char *const infs[] = {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"};
    static const char *const minus_infs[] = {"-.inf", "-.Inf", "-.INF"};

    if (text.n > 5)
        return false;
    if (IS_ONE_OF(text, trues))
        *ret = (struct cor_yaml_scalar){.kind = COR_YAML_BOOL, .boolean = true};
    else if (IS_ONE_OF(text, falses))
        *ret = (struct cor_yaml_scalar){.kind = COR_YAML_BOOL};
    else if (IS_ONE_OF(text, nulls))
        *ret = (struct cor_yaml_scalar){.kind = COR_YAML_NULL};
    else if (IS_ONE_OF(text, nans))
        *ret = (struct cor_yaml_scalar){.kind = COR_YAML_FLOAT, .number = NAN};
    else if (IS_ONE_OF(text, infs))
        *ret = (struct cor_yaml_scalar){.kind = COR_YAML_FLOAT, .number = INFINITY};
    else if (IS_ONE_OF(text, minus_infs))
        *ret = (struct cor_yaml_scalar){.kind = COR_YAML_FLOAT, .number = -INFINITY};
    else
        return false;
    return true;
}

/* Takes up to `max` digits off the front. */
static bool take_digits(struct cor_str *s, size_t min, size_t max, unsigned *ret)
{
    size_t n = 0;

    *ret = 0;
    for (; n < max && n < s->n && isdigit((unsigned char)s->p[n]); n++)
        *ret = *ret * 10 + (unsigned)(s->p[n] - '0');
    *s = cor_str_from(*s, n);
    return n >= min;
}

static bool take_char(struct cor_str *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = cor_str_from(*s, 1);
    return true;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && leap);
}

static bool take_zone(struct cor_str *s)
{
    unsigned hours, minutes;

    if (take_char(s, 'Z'))
        return true;
    return (take_char(s, '+') || take_char(s, '-')) && take_digits(s, 2, 2, &hours) &&
           take_char(s, ':') && take_digits(s, 2, 2, &minutes) && hours <= 24 && minutes < 60;
}

/* The four layouts that yaml.v2 tries: RFC 3339 with short fields, T or t; a space and no zone; a
 * date alone. */
static bool is_timestamp(struct cor_str s)
{
    unsigned year, month, day, hour, minute, second, fraction;
    bool zoned;

    if (!take_digits(&s, 4, 4, &year) || !take_char(&s, '-') || !take_digits(&s, 1, 2, &month) ||
        !take_char(&s, '-') || !take_digits(&s, 1, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 || day > days_in_month(year, month))
        return false;
    if (s.n == 0)
        return true;
    zoned = take_char(&s, 'T') || take_char(&s, 't');
    if (!zoned && !take_char(&s, ' '))
        return false;
    if (!take_digits(&s, 1, 2, &hour) || !take_char(&s, ':') || !take_digits(&s, 1, 2, &minute) ||
        !take_char(&s, ':') || !take_digits(&s, 1, 2, &second))
        return false;
    if (take_char(&s, '.') && !take_digits(&s, 1, NUMBER_TEXT_MAX, &fraction))
        return false;
    return hour < 24 && minute < 60 && second < 60 && (!zoned || take_zone(&s)) && s.n == 0;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

static int take_base(struct cor_str *s)
{
    int base = 10, prefix = 2;

    if (s->n < 2 || s->p[0] != '0')
        return 10;
    switch (s->p[1]) {
    case 'x':
    case 'X':
        base = 16;
        break;
    case 'b':
    case 'B':
        base = 2;
        break;
    case 'o':
    case 'O':
        base = 8;
        break;
    default:
        base = 8;
        prefix = 1;
    }
    *s = cor_str_from(*s, (size_t)prefix);
    return base;
}

/* strconv.ParseInt() and ParseUint() with base 0. */
static bool to_int(struct cor_str s, struct cor_yaml_scalar *ret)
{
    bool negative = take_char(&s, '-');
    bool is_signed = negative || take_char(&s, '+');
    uint64_t v = 0, max = is_signed ? (uint64_t)INT64_MAX + negative : UINT64_MAX;
    int base = take_base(&s);

    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        int d = digit_of(s.p[i]);

        if (d >= base || v > (max - (uint64_t)d) / (uint64_t)base)
            return false;
        v = v * (uint64_t)base + (uint64_t)d;
    }
    *ret =
        (struct cor_yaml_scalar){.kind = COR_YAML_INT, .negative = negative && v, .magnitude = v};
    return true;
}

static size_t skip_digits(struct cor_str s, size_t at)
{
    while (at < s.n && isdigit((unsigned char)s.p[at]))
        at++;
    return at;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool looks_float(struct cor_str s)
{
    size_t at = s.n && (s.p[0] == '-' || s.p[0] == '+');
    size_t start = at, digits;

    at = skip_digits(s, at);
    digits = at - start;
    if (at < s.n && s.p[at] == '.') {
        start = ++at;
        at = skip_digits(s, at);
        digits += at - start;
    }
    if (digits == 0)
        return false;
    if (at < s.n && (s.p[at] == 'e' || s.p[at] == 'E')) {
        at++;
        if (at < s.n && (s.p[at] == '-' || s.p[at] == '+'))
            at++;
        start = at;
        at = skip_digits(s, at);
        if (at == start)
            return false;
    }
    return at == s.n;
}

static bool to_float(const char *z, struct cor_yaml_scalar *ret)
{
    double v;

    if (!looks_float(cor_strz(z)))
        return false;
    v = strtod(z, NULL);
    if (isinf(v))
        return false;
    *ret = (struct cor_yaml_scalar){.kind = COR_YAML_FLOAT, .number = v};
    return true;
}

static bool find_number(struct cor_str text, struct cor_yaml_scalar *ret)
{
    char plain[NUMBER_TEXT_MAX + 1];
    size_t n = 0;

    if (text.n > NUMBER_TEXT_MAX)
        return false;
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_' || text.p[0] == '.')
            plain[n++] = text.p[i];
    plain[n] = '\0';
    if (strlen(plain) != n)
        return false;
    return (text.p[0] != '.' && to_int(cor_str(plain, n), ret)) || to_float(plain, ret);
}

struct cor_yaml_scalar cor_yaml_resolve(struct cor_str text)
{
    struct cor_yaml_scalar scalar = {.kind = COR_YAML_STR};
    char first = text.n ? text.p[0] : '\0';

    if (find_word(text, &scalar))
        return scalar;
    if (isdigit((unsigned char)first) && is_timestamp(text))
        scalar.kind = COR_YAML_TIMESTAMP;
    else if (isdigit((unsigned char)first) || first == '+' || first == '-' || first == '.')
        (void)find_number(text, &scalar);
    return scalar;
}

/* [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)? */
bool cor_yaml_is_base60(struct cor_str s)
{
    size_t colons = 0;

    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = cor_str_from(s, 1);
    if (s.n == 0 || !isdigit((unsigned char)s.p[0]))
        return false;
    while (s.n && (isdigit((unsigned char)s.p[0]) || s.p[0] == '_'))
        s = cor_str_from(s, 1);
    while (take_char(&s, ':')) {
        unsigned v;

        if (!take_digits(&s, 1, 2, &v) || v > 59)
            return false;
        colons++;
    }
    if (colons == 0)
        return false;
    if (take_char(&s, '.'))
        while (s.n && (isdigit((unsigned char)s.p[0]) || s.p[0] == '_'))
            s = cor_str_from(s, 1);
    return s.n == 0;
}

/* The shortest decimal digits that read back as `v` (positive, finite), and the exponent of the
 * first: 1.5 is "15" and 0. */
static int shortest(double v, bool is_float32, char digits[DIGITS_MAX + 1], int *ret_exp)
{
    char text[COR_YAML_NUMBER_MAX];
    int n = 0;

    for (int precision = 0; precision < DIGITS_MAX; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision, v);
        if (is_float32 ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v)
            break;
    }
    for (const char *p = text; *p && *p != 'e'; p++)
        if (*p != '.')
            digits[n++] = *p;
    while (n > 1 && digits[n - 1] == '0')
        n--;
    digits[n] = '\0';
    *ret_exp = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    return n;
}

/* Digits with the point after the digit of exponent 0, zeros where there are none. */
static void format_fixed(const char *digits, int n, int exp, char *out, size_t cap)
{
    size_t at = 0;

    for (int e = exp > 0 ? exp : 0; (e > exp - n || e >= 0) && at + 2 < cap; e--) {
        if (e == -1)
            out[at++] = '.';
        out[at++] = e <= exp && e > exp - n ? digits[exp - e] : '0';
    }
    out[at] = '\0';
}

static void format(double v, bool is_float32, int exp_min, int exp_max, const char *exp_format,
                   char out[COR_YAML_NUMBER_MAX])
{
    char digits[DIGITS_MAX + 1];
    int exp, n, at = 0;

    if (signbit(v))
        out[at++] = '-';
    n = shortest(fabs(v), is_float32, digits, &exp);
    if (v == 0 || (exp >= exp_min && exp < exp_max)) {
        format_fixed(digits, n, exp, out + at, COR_YAML_NUMBER_MAX - (size_t)at);
        return;
    }
    at += snprintf(out + at, COR_YAML_NUMBER_MAX - (size_t)at, "%c%s%s", digits[0],
                   n > 1 ? "." : "", digits + 1);
    snprintf(out + at, COR_YAML_NUMBER_MAX - (size_t)at, exp_format, exp < 0 ? '-' : '+', abs(exp));
}

void cor_yaml_format_json(double v, char out[COR_YAML_NUMBER_MAX])
{
    format(v, false, -6, 21, "e%c%d", out);
}

void cor_yaml_format_g(double v, bool is_float32, char out[COR_YAML_NUMBER_MAX])
{
    v = is_float32 ? (double)(float)v : v;
    if (isnan(v))
        snprintf(out, COR_YAML_NUMBER_MAX, ".nan");
    else if (isinf(v))
        snprintf(out, COR_YAML_NUMBER_MAX, "%s.inf", v < 0 ? "-" : "");
    else
        format(v, is_float32, -4, 6, "e%c%02d", out);
}
