/* One pass over the bytes: strings are skipped, numbers that are not an int64 in their plain form
 * are printed again, and everything between two of them is copied as it is. Thread: any (pure). */
#include "schema/structural/numbers.h"

#include <math.h>
#include <stdlib.h>
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

static const char *number_end(const char *p, const char *end)
{
    while (p < end && (strchr("+-.eE", *p) || (*p >= '0' && *p <= '9')) && *p)
        p++;
    return p;
}

/* The number as upstream writes it; `room` is for the text. */
static struct cor_str print_number(struct cor_str number, char *room)
{
    int64_t integer;
    double real;

    if (cor_str_to_i64(number, &integer) == 0 && !cor_str_eq(number, COR_STR("-0")))
        return number;
    real = strtod(number.p, NULL); /* a number is followed by another byte of JSON */
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
