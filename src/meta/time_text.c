#include "meta/time_text.h"

#include <stdio.h>
#include <time.h>

#include "base/err.h"

struct cor_str cor_time_print(int64_t unix_s, char *out)
{
    time_t t = (time_t)unix_s;
    struct tm tm;
    size_t n = 0;

    if (gmtime_r(&t, &tm) && tm.tm_year + 1900 >= 0 && tm.tm_year + 1900 <= 9999)
        n = strftime(out, COR_TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return cor_str(out, n);
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
    text = cor_time_print(s, out);
    if (text.n == 0)
        return text;
    n = snprintf(out + text.n - 1, COR_MICRO_TIME_TEXT_MAX - text.n + 1, ".%06dZ", (int)us);
    return cor_str(out, text.n - 1 + (size_t)n);
}

static int read_number(struct cor_str *rest, size_t digits, char after, int *ret)
{
    int v = 0;

    if (rest->n < digits + (after ? 1 : 0))
        return -COR_EINVAL;
    for (size_t i = 0; i < digits; i++) {
        if (rest->p[i] < '0' || rest->p[i] > '9')
            return -COR_EINVAL;
        v = v * 10 + (rest->p[i] - '0');
    }
    if (after && rest->p[digits] != after)
        return -COR_EINVAL;
    *rest = cor_str_from(*rest, digits + (after ? 1 : 0));
    *ret = v;
    return 0;
}

static int read_offset(struct cor_str rest, int64_t *ret_s)
{
    int hours, minutes, sign;

    if (rest.n == 1 && (rest.p[0] == 'Z' || rest.p[0] == 'z')) {
        *ret_s = 0;
        return 0;
    }
    if (rest.n != 6 || (rest.p[0] != '+' && rest.p[0] != '-'))
        return -COR_EINVAL;
    sign = rest.p[0] == '-' ? -1 : 1;
    rest = cor_str_from(rest, 1);
    if (read_number(&rest, 2, ':', &hours) < 0 || read_number(&rest, 2, 0, &minutes) < 0)
        return -COR_EINVAL;
    *ret_s = sign * (hours * 3600 + minutes * 60);
    return 0;
}

/* Microseconds of the digits after the point; finer ones are dropped. */
static int64_t read_fraction(struct cor_str *rest)
{
    int64_t us = 0, unit = 100000;

    *rest = cor_str_from(*rest, 1);
    while (rest->n > 0 && rest->p[0] >= '0' && rest->p[0] <= '9') {
        us += (rest->p[0] - '0') * unit;
        unit /= 10;
        *rest = cor_str_from(*rest, 1);
    }
    return us;
}

int cor_micro_time_parse(struct cor_str text, int64_t *ret_unix_us)
{
    struct tm tm = {0};
    int64_t offset, us = 0;

    if (read_number(&text, 4, '-', &tm.tm_year) < 0 || read_number(&text, 2, '-', &tm.tm_mon) < 0 ||
        read_number(&text, 2, 'T', &tm.tm_mday) < 0 ||
        read_number(&text, 2, ':', &tm.tm_hour) < 0 || read_number(&text, 2, ':', &tm.tm_min) < 0 ||
        read_number(&text, 2, 0, &tm.tm_sec) < 0)
        return -COR_EINVAL;
    if (text.n > 1 && text.p[0] == '.')
        us = read_fraction(&text);
    if (read_offset(text, &offset) < 0 || tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 ||
        tm.tm_mday > 31 || tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
        return -COR_EINVAL;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    *ret_unix_us = ((int64_t)timegm(&tm) - offset) * 1000000 + us;
    return 0;
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
