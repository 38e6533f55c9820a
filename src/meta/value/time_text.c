#include "meta/value/time_text.h"

#include <stdio.h>
#include <time.h>

#include "base/err.h"

/* Writes `value` below 10^digits as exactly so many digits; returns what follows them. */
static char *put_digits(char *out, int value, size_t digits)
{
    for (size_t i = digits; i-- > 0; value /= 10)
        out[i] = (char)('0' + value % 10);
    return out + digits;
}

/* By hand: strftime() would not pad a year below 1000, and every create prints a time. */
struct cor_str cor_time_print(int64_t unix_s, char *out)
{
    time_t t = (time_t)(unix_s < COR_TIME_MIN_S   ? COR_TIME_MIN_S
                        : unix_s > COR_TIME_MAX_S ? COR_TIME_MAX_S
                                                  : unix_s);
    struct tm tm;
    char *at = out;

    gmtime_r(&t, &tm);
    at = put_digits(at, tm.tm_year + 1900, 4);
    *at++ = '-';
    at = put_digits(at, tm.tm_mon + 1, 2);
    *at++ = '-';
    at = put_digits(at, tm.tm_mday, 2);
    *at++ = 'T';
    at = put_digits(at, tm.tm_hour, 2);
    *at++ = ':';
    at = put_digits(at, tm.tm_min, 2);
    *at++ = ':';
    at = put_digits(at, tm.tm_sec, 2);
    *at++ = 'Z';
    *at = '\0';
    return cor_str(out, (size_t)(at - out));
}

struct cor_str cor_micro_time_print(int64_t unix_us, char *out)
{
    int64_t us = unix_us % 1000000, s = unix_us / 1000000;
    struct cor_str text;
    int n;

    if (us < 0) {
        us += 1000000;
        s--;
    }
    if (s < COR_TIME_MIN_S || s > COR_TIME_MAX_S)
        us = s < COR_TIME_MIN_S ? 0 : 999999;
    text = cor_time_print(s, out);
    n = snprintf(out + text.n - 1, COR_MICRO_TIME_TEXT_MAX - text.n + 1, ".%06dZ", (int)us);
    return cor_str(out, text.n - 1 + (size_t)n);
}

/* How far the text has been read, and why not further. */
struct reading {
    struct cor_str rest;
    struct cor_time_error error;
};

/* What is at `rest` is not the layout's `element`. */
static int mismatch(struct reading *r, struct cor_str rest, const char *element)
{
    r->error = (struct cor_time_error){.rest = rest, .element = element};
    return -COR_EINVAL;
}

static int out_of_range(struct reading *r, const char *what)
{
    r->error = (struct cor_time_error){.range = what};
    return -COR_EINVAL;
}

static bool is_digit(struct cor_str s, size_t at)
{
    return at < s.n && s.p[at] >= '0' && s.p[at] <= '9';
}

/* Exactly `digits`, or one less when `may_be_short`. */
static int read_number(struct reading *r, size_t digits, bool may_be_short, const char *element,
                       int *ret)
{
    struct cor_str begin = r->rest;
    size_t n = 0;
    int v = 0;

    while (n < digits && is_digit(begin, n))
        v = v * 10 + (begin.p[n++] - '0');
    if (n < digits && !(may_be_short && n + 1 == digits && n > 0))
        return mismatch(r, begin, element);
    r->rest = cor_str_from(begin, n);
    *ret = v;
    return 0;
}

static int skip(struct reading *r, const char *separator)
{
    if (r->rest.n == 0 || r->rest.p[0] != separator[0])
        return mismatch(r, r->rest, separator);
    r->rest = cor_str_from(r->rest, 1);
    return 0;
}

/* "Z", or hours and minutes with a sign; Go allows 24 hours and 60 minutes. */
static int read_offset(struct reading *r, int64_t *ret_s)
{
    struct cor_str begin = r->rest;
    int hours, minutes;

    *ret_s = 0;
    if (begin.n > 0 && begin.p[0] == 'Z') {
        r->rest = cor_str_from(begin, 1);
        return 0;
    }
    if (begin.n < 6 || (begin.p[0] != '+' && begin.p[0] != '-') || begin.p[3] != ':')
        return mismatch(r, begin, "Z07:00");
    r->rest = cor_str_from(begin, 1);
    if (read_number(r, 2, false, "Z07:00", &hours) < 0 || skip(r, ":") < 0 ||
        read_number(r, 2, false, "Z07:00", &minutes) < 0)
        return mismatch(r, begin, "Z07:00");
    if (hours > 24)
        return out_of_range(r, "time zone offset hour");
    if (minutes > 60)
        return out_of_range(r, "time zone offset minute");
    *ret_s = (begin.p[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return 0;
}

/* Microseconds of the digits after the point; finer ones are dropped. */
static int64_t read_fraction(struct reading *r)
{
    int64_t us = 0, unit = 100000;

    if (r->rest.n < 2 || (r->rest.p[0] != '.' && r->rest.p[0] != ',') || !is_digit(r->rest, 1))
        return 0;
    r->rest = cor_str_from(r->rest, 1);
    for (; is_digit(r->rest, 0); r->rest = cor_str_from(r->rest, 1)) {
        us += (r->rest.p[0] - '0') * unit;
        unit /= 10;
    }
    return us;
}

/* The same for a fraction that must be there and have six digits. */
static int read_six_digits(struct reading *r, int64_t *ret_us)
{
    struct cor_str begin = r->rest;
    int us = 0;

    if (begin.n < 7 || (begin.p[0] != '.' && begin.p[0] != ','))
        return mismatch(r, begin, ".000000");
    r->rest = cor_str_from(begin, 1);
    if (read_number(r, 6, false, ".000000", &us) < 0)
        return mismatch(r, begin, ".000000");
    *ret_us = us;
    return 0;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

    return days[month - 1] + (month == 2 && is_leap);
}

static int read_date(struct reading *r, struct tm *tm)
{
    if (read_number(r, 4, false, "2006", &tm->tm_year) < 0 || skip(r, "-") < 0 ||
        read_number(r, 2, false, "01", &tm->tm_mon) < 0)
        return -COR_EINVAL;
    if (tm->tm_mon < 1 || tm->tm_mon > 12)
        return out_of_range(r, "month");
    return skip(r, "-") < 0 ? -COR_EINVAL : read_number(r, 2, false, "02", &tm->tm_mday);
}

static int read_clock(struct reading *r, struct tm *tm)
{
    if (skip(r, "T") < 0 || read_number(r, 2, true, "15", &tm->tm_hour) < 0)
        return -COR_EINVAL;
    if (tm->tm_hour > 23)
        return out_of_range(r, "hour");
    if (skip(r, ":") < 0 || read_number(r, 2, false, "04", &tm->tm_min) < 0)
        return -COR_EINVAL;
    if (tm->tm_min > 59)
        return out_of_range(r, "minute");
    if (skip(r, ":") < 0 || read_number(r, 2, false, "05", &tm->tm_sec) < 0)
        return -COR_EINVAL;
    return tm->tm_sec > 59 ? out_of_range(r, "second") : 0;
}

static int parse_time(struct cor_str text, bool has_six_digits, int64_t *ret_unix_us,
                      struct cor_time_error *reterr)
{
    struct reading r = {.rest = text};
    struct tm tm = {0};
    int64_t offset = 0, us = 0;
    int e = read_date(&r, &tm);

    if (e == 0)
        e = read_clock(&r, &tm);
    if (e == 0 && has_six_digits)
        e = read_six_digits(&r, &us);
    else if (e == 0)
        us = read_fraction(&r);
    if (e == 0)
        e = read_offset(&r, &offset);
    if (e == 0 && r.rest.n > 0)
        e = mismatch(&r, r.rest, NULL);
    if (e == 0 && (tm.tm_mday < 1 || tm.tm_mday > days_in(tm.tm_year, tm.tm_mon)))
        e = out_of_range(&r, "day");
    if (e < 0) {
        *reterr = r.error;
        return e;
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_unix_us = ((int64_t)timegm(&tm) - offset) * 1000000 + us;
    return 0;
}

int cor_micro_time_parse_why(struct cor_str text, int64_t *ret_unix_us,
                             struct cor_time_error *reterr)
{
    return parse_time(text, false, ret_unix_us, reterr);
}

int cor_six_digit_time_parse_why(struct cor_str text, int64_t *ret_unix_us,
                                 struct cor_time_error *reterr)
{
    return parse_time(text, true, ret_unix_us, reterr);
}

int cor_micro_time_parse(struct cor_str text, int64_t *ret_unix_us)
{
    struct cor_time_error ignored;

    return cor_micro_time_parse_why(text, ret_unix_us, &ignored);
}

int cor_time_parse(struct cor_str text, int64_t *ret_unix_s)
{
    int64_t us;
    int r = cor_micro_time_parse(text, &us);

    if (r == 0)
        *ret_unix_s = us / 1000000 - (us % 1000000 < 0);
    return r;
}

static struct cor_str print_pair(char *out, int64_t a, char a_unit, int64_t b, char b_unit)
{
    int n = b > 0 ? snprintf(out, COR_AGE_TEXT_MAX, "%lld%c%lld%c", (long long)a, a_unit,
                             (long long)b, b_unit)
                  : snprintf(out, COR_AGE_TEXT_MAX, "%lld%c", (long long)a, a_unit);

    return cor_str(out, n > 0 ? (size_t)n : 0);
}

struct cor_str cor_age_print(int64_t seconds, char *out)
{
    int64_t minutes = seconds / 60, hours = seconds / 3600, days = hours / 24;

    if (seconds < -1)
        return COR_STR("<invalid>");
    if (seconds < 0)
        return COR_STR("0s");
    if (seconds < 120)
        return print_pair(out, seconds, 's', 0, 0);
    if (minutes < 10)
        return print_pair(out, minutes, 'm', seconds % 60, 's');
    if (minutes < 180)
        return print_pair(out, minutes, 'm', 0, 0);
    if (hours < 8)
        return print_pair(out, hours, 'h', minutes % 60, 'm');
    if (hours < 48)
        return print_pair(out, hours, 'h', 0, 0);
    if (hours < 24 * 8)
        return print_pair(out, days, 'd', hours % 24, 'h');
    if (hours < 24 * 365 * 2)
        return print_pair(out, days, 'd', 0, 0);
    if (hours < 24 * 365 * 8)
        return print_pair(out, days / 365, 'y', days % 365, 'd');
    return print_pair(out, days / 365, 'y', 0, 0);
}
