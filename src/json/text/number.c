/* Which JSON numbers a double can hold.
 *
 * Go's decoder gives a number without a type an int64 or, failing that, a float64, and refuses one
 * whose magnitude rounds to infinity. The answer is found in the decimal digits, without strtod():
 * that one depends on the process's locale and wants a terminated copy.
 * Flow: the exponent of the first digit that is not zero decides, except at 308, where the digits
 * are compared with those of the smallest magnitude that rounds to infinity, 2^1024 - 2^970.
 * Numbers that are too small round to zero and are held. Thread: any (pure). */
#include <assert.h>

#include "base/ascii.h"
#include "json/text/json_int.h"

#define EXPONENT_MAX 308
/* An exponent beyond this decides alone: no number of digits within the limit of 4 GB makes up for
 * it. */
#define EXPONENT_CLAMP (INT64_C(1) << 40)

static const char infinite_from[] =
    "1797693134862315807937289714053034150799341327100378269361737789804449682927647509466490179775"
    "8720709633028641669288791094655554785194040263065748867150582068190890200070838367627385484581"
    "7711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699"
    "508093042880177904174497792";

static int64_t read_exponent(const char *p, const char *end)
{
    bool negative = p < end && *p == '-';
    int64_t v = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    for (; p < end && cor_is_digit(*p); p++) {
        if (v < EXPONENT_CLAMP)
            v = v * 10 + (*p - '0');
    }
    return negative ? -v : v;
}

/* Are the digits from `p` on, with or without a point among them, at least those of the limit? */
static bool reaches_limit(const char *p, const char *end)
{
    for (size_t i = 0; i < sizeof(infinite_from) - 1; i++) {
        char digit;

        if (p < end && *p == '.')
            p++;
        digit = p < end && cor_is_digit(*p) ? *p++ : '0';
        if (digit != infinite_from[i])
            return digit > infinite_from[i];
    }
    return true;
}

bool cor_json_number_is_finite(struct cor_str number)
{
    const char *p = number.p, *end = number.p + number.n, *first = NULL;
    int64_t exponent = -1, written = 0;
    bool after_point = false;

    assert(number.n > 0);
    if (*p == '-')
        p++;
    for (; p < end && (cor_is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            after_point = true;
            continue;
        }
        if (!first && *p != '0')
            first = p;
        if (first && !after_point)
            exponent++;
        else if (!first && after_point)
            exponent--;
    }
    if (!first)
        return true;
    if (p < end)
        written = read_exponent(p + 1, end);
    exponent += written;
    if (exponent != EXPONENT_MAX)
        return exponent < EXPONENT_MAX;
    return !reaches_limit(first, end);
}
