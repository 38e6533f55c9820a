/* One pass over the bytes: strings are skipped, numbers that are not an int64 in their plain form
 * are printed again, and everything between two of them is copied as it is. Thread: any (pure). */
#include "schema/structural/numbers.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/err.h"
#include "json/text/bytes.h"
#include "json/text/float_text.h"

/* Behind the string whose opening quote `p` is at. */
static const char *skip_string(const char *p, const char *end)
{
    p = cor_json_find_quote_or_escape(p + 1, end);
    while (end - p >= 2 && *p == '\\')
        p = cor_json_find_quote_or_escape(p + 2, end);
    return p < end ? p + 1 : end;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static const char *number_end(const char *p, const char *end)
{
    while (p < end && (is_digit(*p) || *p == '.' || *p == '-' || *p == '+' || (*p | 32) == 'e'))
        p++;
    return p;
}

/* Does upstream write the decimal as it is? A text of DBL_DIG digits at most is the shortest one of
 * its number when it has no zeros at its ends; from 1e-6 on it has no exponent. To read and to
 * print such a number costs more than all else that is done with an object of many. */
static bool is_shortest_decimal(struct cor_str number)
{
    const char *p = number.p, *end = number.p + number.n, *point;
    size_t zeros = 0;

    p += *p == '-';
    point = memchr(p, '.', (size_t)(end - p));
    if (!point || end - p > DBL_DIG + 1 || end[-1] == '0')
        return false;
    for (const char *at = p; at < end; at++) {
        if (at != point && !is_digit(*at))
            return false;
    }
    while (point + 1 + zeros < end && point[1 + zeros] == '0')
        zeros++;
    return *p != '0' || (point == p + 1 && zeros < 6);
}

/* The number as upstream writes it; `room` is for the text. */
static struct cor_str print_number(struct cor_str number, char *room)
{
    int64_t integer;
    double real;

    if (cor_str_to_i64(number, &integer) == 0 && !cor_str_eq(number, COR_STR("-0")))
        return number;
    if (is_shortest_decimal(number))
        return number;
    real = cor_float_read(number); /* a number is followed by another byte of JSON */
    if (!isfinite(real))
        return number;
    return cor_float_print(real, room);
}

int cor_structural_write_numbers(struct cor_str json, struct cor_buf *out)
{
    const char *p = json.p, *end = json.p + json.n, *copied = p;
    size_t mark = out->n;
    int r = 0;

    while (p < end && r == 0) {
        char room[COR_FLOAT_TEXT_MAX];
        struct cor_str number, text;

        if (*p == '"') {
            p = skip_string(p, end);
            continue;
        }
        if (*p != '-' && (*p < '0' || *p > '9')) {
            p++;
            continue;
        }
        number = cor_str(p, (size_t)(number_end(p, end) - p));
        text = print_number(number, room);
        if (!cor_str_eq(text, number)) {
            r = cor_buf_add(out, copied, (size_t)(p - copied));
            r = r < 0 ? r : cor_buf_adds(out, text);
            copied = p + number.n;
        }
        p += number.n;
    }
    if (r == 0 && copied > json.p)
        r = cor_buf_add(out, copied, (size_t)(end - copied));
    if (r < 0)
        cor_buf_truncate(out, mark);
    return r < 0 ? r : copied > json.p;
}
