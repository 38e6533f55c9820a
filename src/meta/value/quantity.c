/* clang-format off */
/* A quantity is read into its parts, and a canonical text is made from them:
 *
 *   take apart (sign, digits before and after the point, suffix) ──► is it echoed? then done ──►
 *   digits as one decimal number with a scale ──► times the binary suffix ──► round ──► cap ──►
 *   print with the largest suffix
 *
 * The arithmetic is done on decimal digits, because quantities have any length: a text of 100
 * digits is kept exactly. A multiplication by 1024 is one pass over the digits, and there are at
 * most six of them.
 * Failures: a text of another form (with upstream's words), and no memory. Thread: any. */
/* clang-format on */
#include "meta/value/quantity.h"

#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

#define WORDS_FORM                                                                                 \
    "quantities must match the regular expression "                                                \
    "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
#define WORDS_SUFFIX "unable to parse quantity's suffix"
#define WORDS_NUMBER "unable to parse numeric part of quantity"

#define NANO                (-9)
#define MILLI               (-3)
#define INT64_DIGITS        18 /* as many digits always fit */
#define BINARY_DIGITS       15
#define BINARY_EXPONENT_MAX 60
#define ROOM                24 /* digits that 2^60 and a carry can add in front */
#define SMALL               40 /* digits that need no memory from the heap */

enum format { DECIMAL, BINARY, EXPONENT };

static const struct suffix {
    struct cor_str text;
    enum format format;
    int exponent; /* of 10, or of 2 */
} suffixes[] = {
    {COR_STR(""), DECIMAL, 0},   {COR_STR("n"), DECIMAL, -9}, {COR_STR("u"), DECIMAL, -6},
    {COR_STR("m"), DECIMAL, -3}, {COR_STR("k"), DECIMAL, 3},  {COR_STR("M"), DECIMAL, 6},
    {COR_STR("G"), DECIMAL, 9},  {COR_STR("T"), DECIMAL, 12}, {COR_STR("P"), DECIMAL, 15},
    {COR_STR("E"), DECIMAL, 18}, {COR_STR("Ki"), BINARY, 10}, {COR_STR("Mi"), BINARY, 20},
    {COR_STR("Gi"), BINARY, 30}, {COR_STR("Ti"), BINARY, 40}, {COR_STR("Pi"), BINARY, 50},
    {COR_STR("Ei"), BINARY, 60},
};

/* A text taken apart. */
struct parts {
    bool is_negative;
    struct cor_str whole, fraction; /* digits; `whole` has no zeros in front and is not empty */
    enum format format;
    int32_t exponent;
};

/* The number D × 10^scale, where D are the digits. */
struct decimal {
    char *digits;
    size_t n;
    int64_t scale;
};

static struct cor_str take_digits(struct cor_str *rest)
{
    size_t n = 0;
    struct cor_str digits;

    while (n < rest->n && rest->p[n] >= '0' && rest->p[n] <= '9')
        n++;
    digits = cor_str(rest->p, n);
    *rest = cor_str_from(*rest, n);
    return digits;
}

/* The suffix has letters, then perhaps a sign and digits. */
static bool has_form_of_suffix(struct cor_str s)
{
    while (s.n > 0 && cor_str_find(COR_STR("eEinumkKMGTP"), s.p[0]) >= 0)
        s = cor_str_from(s, 1);
    if (s.n > 0 && (s.p[0] == '-' || s.p[0] == '+'))
        s = cor_str_from(s, 1);
    (void)take_digits(&s);
    return s.n == 0;
}

static bool read_suffix(struct cor_str text, struct parts *parts)
{
    struct cor_str number;
    int64_t exponent;

    for (size_t i = 0; i < COR_ARRAY_LEN(suffixes); i++) {
        if (cor_str_eq(text, suffixes[i].text)) {
            parts->format = suffixes[i].format;
            parts->exponent = suffixes[i].exponent;
            return true;
        }
    }
    if (text.n < 2 || (text.p[0] != 'e' && text.p[0] != 'E'))
        return false;
    number = cor_str_from(text, text.p[1] == '+' ? 2 : 1);
    if (number.n == 0 || (number.p[0] == '-' && text.p[1] == '+') ||
        cor_str_to_i64(number, &exponent) < 0)
        return false;
    parts->format = EXPONENT;
    parts->exponent = (int32_t)exponent; /* upstream cuts it like this */
    return true;
}

/* Missing digits count as zero, except where upstream's quick way, which counts them so, does not
 * reach: below one nano. */
static const char *take_apart(struct cor_str text, struct parts *ret)
{
    struct cor_str rest = text;
    bool has_digits;

    *ret = (struct parts){.fraction = COR_STR("")};
    if (text.n == 0)
        return WORDS_FORM;
    if (rest.p[0] == '-' || rest.p[0] == '+') {
        ret->is_negative = rest.p[0] == '-';
        rest = cor_str_from(rest, 1);
    }
    ret->whole = take_digits(&rest);
    has_digits = ret->whole.n > 0;
    while (ret->whole.n > 0 && ret->whole.p[0] == '0')
        ret->whole = cor_str_from(ret->whole, 1);
    if (ret->whole.n == 0)
        ret->whole = COR_STR("0");
    if (rest.n > 0 && rest.p[0] == '.') {
        rest = cor_str_from(rest, 1);
        ret->fraction = take_digits(&rest);
    }
    if (!has_form_of_suffix(rest))
        return WORDS_FORM;
    if (!read_suffix(rest, ret))
        return WORDS_SUFFIX;
    has_digits = has_digits || ret->fraction.n > 0;
    return !has_digits && ret->format == EXPONENT && ret->exponent < NANO ? WORDS_NUMBER : NULL;
}

static char digit_at(const struct parts *parts, size_t i)
{
    return i < parts->whole.n ? parts->whole.p[i] : parts->fraction.p[i - parts->whole.n];
}

static bool ends_in_thousands(const struct parts *parts)
{
    size_t n = parts->whole.n + parts->fraction.n;

    return n >= 3 && digit_at(parts, n - 1) == '0' && digit_at(parts, n - 2) == '0' &&
           digit_at(parts, n - 3) == '0';
}

/* Upstream's quick test: does the text keep its spelling? */
static bool is_echoed(const struct parts *parts, unsigned flags)
{
    int64_t digits = (int64_t)(parts->whole.n + parts->fraction.n);
    int32_t scale = (int32_t)((int64_t)parts->exponent - (int64_t)parts->fraction.n);

    if (parts->format == BINARY) {
        char last[4] = "000";
        size_t n = parts->whole.n < 3 ? parts->whole.n : 3;

        if (parts->fraction.n > 0 || digits > BINARY_DIGITS - 1 - parts->exponent * 3 / 10)
            return false;
        /* The last three digits decide whether a number is a multiple of 8. */
        memcpy(last + 3 - n, parts->whole.p + parts->whole.n - n, n);
        return ((last[0] - '0') * 100 + (last[1] - '0') * 10 + last[2] - '0') % 8 != 0;
    }
    if (digits > INT64_DIGITS || scale < NANO || parts->whole.p[0] == '0')
        return false;
    if ((flags & COR_QUANTITY_MILLI) && scale < MILLI)
        return false;
    return scale % 3 == 0 && !ends_in_thousands(parts);
}

static bool is_zero(const struct decimal *d)
{
    for (size_t i = 0; i < d->n; i++) {
        if (d->digits[i] != '0')
            return false;
    }
    return true;
}

/* Zeros in front count for nothing; one digit stays. */
static void drop_leading_zeros(struct decimal *d)
{
    while (d->n > 1 && d->digits[0] == '0') {
        d->digits++;
        d->n--;
    }
}

static void multiply_by_1024(struct decimal *d)
{
    unsigned carry = 0;

    for (size_t i = d->n; i-- > 0;) {
        carry += (unsigned)(d->digits[i] - '0') * 1024;
        d->digits[i] = (char)('0' + carry % 10);
        carry /= 10;
    }
    for (; carry > 0; carry /= 10) {
        *--d->digits = (char)('0' + carry % 10);
        d->n++;
    }
}

static void add_one(struct decimal *d)
{
    size_t i = d->n;

    while (i > 0 && d->digits[i - 1] == '9')
        d->digits[--i] = '0';
    if (i > 0) {
        d->digits[i - 1]++;
    } else {
        *--d->digits = '1';
        d->n++;
    }
}

/* Rounds away from zero, so that no quantity becomes nothing. */
static void round_up_to(struct decimal *d, int64_t scale)
{
    int64_t excess = scale - d->scale;
    struct decimal dropped;

    if (excess <= 0)
        return;
    d->scale = scale;
    if (excess >= (int64_t)d->n) {
        d->digits[0] = is_zero(d) ? '0' : '1';
        d->n = 1;
        return;
    }
    d->n -= (size_t)excess;
    dropped = (struct decimal){d->digits + d->n, (size_t)excess, 0};
    if (!is_zero(&dropped))
        add_one(d);
}

/* The digits before the point, of a number whose scale is at most 0; none when it is below 1. */
static struct cor_str whole_of(const struct decimal *d)
{
    int64_t n = (int64_t)d->n + d->scale;

    return cor_str(d->digits, n > 0 ? (size_t)n : 0);
}

static bool is_whole(const struct decimal *d)
{
    size_t n = whole_of(d).n;
    struct decimal fraction = {d->digits + n, d->n - n, 0};

    return is_zero(&fraction);
}

/* A binary quantity that a client sends is never more than an int64; a sum of such may be. */
static void cap_at_int64(struct decimal *d)
{
    struct cor_str most = COR_STR("9223372036854775807"), whole = whole_of(d);
    int order = whole.n < most.n ? -1 : whole.n > most.n ? 1 : cor_str_cmp(whole, most);

    if (order < 0 || (order == 0 && is_whole(d)))
        return;
    memcpy(d->digits, most.p, most.n);
    d->n = most.n;
    d->scale = 0;
}

static int print_decimal(struct decimal *d, enum format format, struct cor_buf *out)
{
    int r;

    while (d->n > 1 && d->digits[d->n - 1] == '0') {
        d->n--;
        d->scale++;
    }
    r = cor_buf_add(out, d->digits, d->n);
    for (; r == 0 && d->scale % 3 != 0; d->scale--)
        r = cor_buf_addc(out, '0');
    if (r < 0 || d->scale == 0)
        return r;
    if (format == EXPONENT)
        return cor_buf_addf(out, "e%lld", (long long)d->scale);
    for (size_t i = 0; i < COR_ARRAY_LEN(suffixes); i++) {
        if (suffixes[i].format == DECIMAL && suffixes[i].exponent == d->scale)
            return cor_buf_adds(out, suffixes[i].text);
    }
    /* Upstream has no suffix for such a number either, and prints none. */
    return 0;
}

/* Divides a whole number by 1024 when no remainder is left; false: the number is as before. */
static bool divide_by_1024(struct decimal *d)
{
    unsigned rest = 0;

    for (size_t i = 0; i < d->n; i++)
        rest = (rest * 10 + (unsigned)(d->digits[i] - '0')) % 1024;
    if (rest != 0)
        return false;
    for (size_t i = 0; i < d->n; i++) {
        rest = rest * 10 + (unsigned)(d->digits[i] - '0');
        d->digits[i] = (char)('0' + rest / 1024);
        rest %= 1024;
    }
    drop_leading_zeros(d);
    return true;
}

/* Prints a whole number, which is not zero, with the largest suffix that needs no fraction. A sum
 * has any length, so the division is done on its digits. */
static int print_binary(struct decimal *d, struct cor_buf *out)
{
    struct decimal whole = {d->digits, whole_of(d).n, 0};
    int exponent = 0, r;

    while (exponent < BINARY_EXPONENT_MAX && divide_by_1024(&whole))
        exponent += 10;
    r = cor_buf_add(out, whole.digits, whole.n);
    for (size_t i = 0; r == 0 && exponent > 0 && i < COR_ARRAY_LEN(suffixes); i++) {
        if (suffixes[i].format == BINARY && suffixes[i].exponent == exponent)
            return cor_buf_adds(out, suffixes[i].text);
    }
    return r;
}

/* The number that the parts mean, rounded to what upstream keeps. `room` has space for ROOM digits
 * in front of the number's own. */
static struct decimal read_decimal(const struct parts *parts, unsigned flags, char *room)
{
    struct decimal d = {room + ROOM, parts->whole.n + parts->fraction.n, 0};
    bool is_binary = parts->format == BINARY;

    memcpy(d.digits, parts->whole.p, parts->whole.n);
    memcpy(d.digits + parts->whole.n, parts->fraction.p, parts->fraction.n);
    d.scale = -(int64_t)parts->fraction.n;
    if (!is_binary)
        d.scale = (int32_t)(d.scale + parts->exponent);
    for (int32_t e = 0; is_binary && e < parts->exponent; e += 10)
        multiply_by_1024(&d);
    drop_leading_zeros(&d);
    round_up_to(&d, NANO);
    if (flags & COR_QUANTITY_MILLI)
        round_up_to(&d, MILLI);
    return d;
}

static int print_canonical(bool is_negative, struct decimal *d, enum format format,
                           struct cor_buf *out)
{
    int r = 0;

    if (is_zero(d))
        return cor_buf_addc(out, '0');
    if (is_negative)
        r = cor_buf_addc(out, '-');
    if (r < 0)
        return r;
    drop_leading_zeros(d);
    /* Below 1024, and where a fraction would be lost, a binary quantity is shown as a decimal. */
    if (format == BINARY && is_whole(d) &&
        (whole_of(d).n > 4 ||
         (whole_of(d).n == 4 && cor_str_cmp(whole_of(d), COR_STR("1024")) >= 0)))
        return print_binary(d, out);
    return print_decimal(d, format == BINARY ? DECIMAL : format, out);
}

const char *cor_quantity_mistake(struct cor_str text)
{
    struct parts parts;

    return take_apart(text, &parts);
}

int cor_quantity_rewrite(struct cor_str text, unsigned flags, struct cor_buf *out,
                         const char **reterr_why)
{
    char small[ROOM + SMALL], *room = small;
    size_t before = out->n, digits;
    struct parts parts;
    struct decimal d;
    const char *why;
    int r;

    if (cor_str_eq(text, COR_STR("0")))
        return 0;
    why = take_apart(text, &parts);
    if (why) {
        if (reterr_why)
            *reterr_why = why;
        return -COR_EINVAL;
    }
    if (is_echoed(&parts, flags))
        return 0;
    digits = parts.whole.n + parts.fraction.n;
    if (digits > SMALL)
        room = cor_alloc(ROOM + digits);
    if (!room)
        return -COR_ENOMEM;
    d = read_decimal(&parts, flags, room);
    if (parts.format == BINARY)
        cap_at_int64(&d);
    r = print_canonical(parts.is_negative, &d, parts.format, out);
    if (room != small)
        cor_free(room);
    if (r < 0 || cor_str_eq(cor_str(out->p + before, out->n - before), text)) {
        cor_buf_truncate(out, before);
        return r;
    }
    return 1;
}

/* A number for sums: with a sign, and small enough to be kept here. */
struct number {
    char room[ROOM + COR_QUANTITY_SUM_DIGITS];
    struct decimal d;
    bool is_negative;
    enum format format;
};

static int read_number(struct cor_str text, struct number *ret)
{
    struct parts parts;

    if (take_apart(text, &parts))
        return -COR_EINVAL;
    if (parts.whole.n + parts.fraction.n > COR_QUANTITY_SUM_DIGITS)
        return -COR_ETOOBIG;
    ret->is_negative = parts.is_negative;
    ret->format = parts.format;
    ret->d = read_decimal(&parts, 0, ret->room);
    drop_leading_zeros(&ret->d);
    if (is_zero(&ret->d))
        ret->d.scale = 0;
    return 0;
}

/* Adds zeros behind the digits until the number has the scale. */
static int widen(struct number *number, int64_t scale)
{
    struct decimal *d = &number->d;
    size_t zeros = is_zero(d) ? 0 : (size_t)(d->scale - scale);

    if (zeros > COR_QUANTITY_SUM_DIGITS ||
        (size_t)(number->room + sizeof(number->room) - d->digits) < d->n + zeros)
        return -COR_ETOOBIG;
    memset(d->digits + d->n, '0', zeros);
    d->n += zeros;
    d->scale = scale;
    return 0;
}

static int read_both(struct cor_str a, struct cor_str b, struct number *ret_a, struct number *ret_b)
{
    int r = read_number(a, ret_a);

    if (r == 0)
        r = read_number(b, ret_b);
    if (r == 0)
        r = ret_a->d.scale > ret_b->d.scale ? widen(ret_a, ret_b->d.scale)
                                            : widen(ret_b, ret_a->d.scale);
    return r;
}

/* Compares the digits of two numbers that have the same scale, without their signs. */
static int cmp_digits(const struct decimal *a, const struct decimal *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return memcmp(a->digits, b->digits, a->n);
}

/* Adds the digits of `b` to those of `a`, or takes them away, where `a` has at least as many digits
 * and is not less. There is room for a carry. */
static void add_digits(struct decimal *a, const struct decimal *b, bool subtract)
{
    int carry = 0;

    for (size_t i = 0; i < a->n; i++) {
        int digit = i < b->n ? b->digits[b->n - 1 - i] - '0' : 0;
        int sum = a->digits[a->n - 1 - i] - '0' + carry + (subtract ? -digit : digit);

        carry = sum < 0 ? -1 : sum / 10;
        a->digits[a->n - 1 - i] = (char)('0' + (sum + 10) % 10);
    }
    if (carry > 0) {
        *--a->digits = '1';
        a->n++;
    }
    drop_leading_zeros(a);
}

int cor_quantity_add(struct cor_str a, struct cor_str b, struct cor_buf *out)
{
    struct number x, y, *large = &x, *small = &y;
    enum format format;
    size_t before = out->n;
    int r = read_both(a, b, &x, &y);

    if (r < 0)
        return r;
    format = is_zero(&x.d) ? y.format : x.format;
    if (cmp_digits(&x.d, &y.d) < 0) {
        large = &y;
        small = &x;
    }
    add_digits(&large->d, &small->d, large->is_negative != small->is_negative);
    r = print_canonical(large->is_negative, &large->d, format, out);
    if (r < 0)
        cor_buf_truncate(out, before);
    return r;
}

int cor_quantity_cmp(struct cor_str a, struct cor_str b, int *ret_order)
{
    struct number x, y;
    int r = read_both(a, b, &x, &y);

    if (r < 0)
        return r;
    x.is_negative = x.is_negative && !is_zero(&x.d);
    y.is_negative = y.is_negative && !is_zero(&y.d);
    if (x.is_negative != y.is_negative)
        *ret_order = x.is_negative ? -1 : 1;
    else
        *ret_order = x.is_negative ? cmp_digits(&y.d, &x.d) : cmp_digits(&x.d, &y.d);
    return 0;
}

int cor_quantity_sign(struct cor_str text)
{
    struct parts parts;

    if (take_apart(text, &parts))
        return 0;
    for (size_t i = 0; i < parts.whole.n + parts.fraction.n; i++) {
        if (digit_at(&parts, i) != '0')
            return parts.is_negative ? -1 : 1;
    }
    return 0;
}

int cor_quantity_scaled(struct cor_str text, int scale, int64_t *ret)
{
    struct number number;
    uint64_t value;
    int r = read_number(text, &number);

    if (r < 0)
        return r;
    if (number.d.scale < scale)
        round_up_to(&number.d, scale);
    else if ((r = widen(&number, scale)) < 0)
        return r;
    r = cor_str_to_u64(cor_str(number.d.digits, number.d.n), &value);
    if (r < 0 || value > INT64_MAX)
        return -COR_ETOOBIG;
    *ret = number.is_negative ? -(int64_t)value : (int64_t)value;
    return 0;
}
