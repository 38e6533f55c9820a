/* The formats of strings. Each function answers for a whole text: 1 (the format accepts it), 0, or
 * -COR_ENOMEM. What upstream says by a regular expression is written out here, letter by letter of
 * that expression, also where it is odd: the hostname a-b is accepted, ab-c is not. Characters
 * beyond ASCII in host names are judged by their Unicode class, for which the expression itself is
 * used (pattern.h). Thread: any (pure). */
#include "schema/structural/string_format.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/duration.h"
#include "base/err.h"
#include "schema/format/format.h"
#include "schema/go/ip_text.h"
#include "schema/structural/email.h"
#include "schema/structural/pattern.h"

#define NAME_MAX 16 /* no format has a longer name */

enum cor_string_format cor_string_format_find(struct cor_str name)
{
    static const char *const names[] = {"",
#define X(symbol, text, fn) text,
                                        COR_STRING_FORMATS(X)
#undef X
    };
    char plain[NAME_MAX];
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '-')
            continue;
        if (n == NAME_MAX)
            return COR_STRING_FORMAT_NONE;
        plain[n++] = name.p[i];
    }
    for (size_t i = 1; i < COR_ARRAY_LEN(names); i++) {
        if (cor_str_eqz(cor_str(plain, n), names[i]))
            return (enum cor_string_format)i;
    }
    return COR_STRING_FORMAT_NONE;
}

/* --- Characters --------------------------------------------------------------------------------
 */

static bool is_hex(int c)
{
    return cor_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static bool are_all(struct cor_str text, bool (*is)(int))
{
    for (size_t i = 0; i < text.n; i++) {
        if (!is(text.p[i]))
            return false;
    }
    return true;
}

/* --- Identifiers -------------------------------------------------------------------------------
 */

static int check_bson_object_id(struct cor_str text)
{
    return text.n == 24 && are_all(text, is_hex);
}

/* 8-4-4-4-12 hexadecimal digits; each dash may be missing. `version` and `variant`: the first digit
 * of the third and the fourth group, or NULL. */
static int check_uuid_of(struct cor_str text, const char *version, const char *variant)
{
    static const unsigned char groups[] = {8, 4, 4, 4, 12};
    size_t at = 0;

    for (size_t g = 0; g < COR_ARRAY_LEN(groups); g++) {
        const char *first = g == 2 ? version : g == 3 ? variant : NULL;

        if (g > 0 && at < text.n && text.p[at] == '-')
            at++;
        if (text.n - at < groups[g] || !are_all(cor_str(text.p + at, groups[g]), is_hex) ||
            (first && !strchr(first, text.p[at])))
            return 0;
        at += groups[g];
    }
    return at == text.n;
}

static int check_uuid(struct cor_str text)
{
    return check_uuid_of(text, NULL, NULL);
}

static int check_uuid3(struct cor_str text)
{
    return check_uuid_of(text, "3", NULL);
}

static int check_uuid4(struct cor_str text)
{
    return check_uuid_of(text, "4", "89abAB");
}

static int check_uuid5(struct cor_str text)
{
    return check_uuid_of(text, "5", "89abAB");
}

/* Copies what is not left out; SIZE_MAX: that is more than `max` characters. */
static size_t copy_without(struct cor_str text, bool (*is_left_out)(char), char *out, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++) {
        if (is_left_out(text.p[i]))
            continue;
        if (n == max)
            return SIZE_MAX;
        out[n++] = text.p[i];
    }
    return n;
}

static bool is_space_or_dash(char c)
{
    return is_space(c) || c == '-';
}

static int check_isbn10(struct cor_str text)
{
    char digits[10];
    unsigned sum = 0;

    if (copy_without(text, is_space_or_dash, digits, sizeof(digits)) != 10 ||
        !are_all(cor_str(digits, 9), cor_is_digit) ||
        (!cor_is_digit(digits[9]) && digits[9] != 'X'))
        return 0;
    for (unsigned i = 0; i < 10; i++)
        sum += (i + 1) * (digits[i] == 'X' ? 10 : (unsigned)(digits[i] - '0'));
    return sum % 11 == 0;
}

static int check_isbn13(struct cor_str text)
{
    char digits[13];
    unsigned sum = 0;

    if (copy_without(text, is_space_or_dash, digits, sizeof(digits)) != 13 ||
        !are_all(cor_str(digits, 13), cor_is_digit))
        return 0;
    for (unsigned i = 0; i < 12; i++)
        sum += (i % 2 ? 3 : 1) * (unsigned)(digits[i] - '0');
    return (unsigned)(digits[12] - '0') == (10 - sum % 10) % 10;
}

static int check_isbn(struct cor_str text)
{
    return check_isbn10(text) || check_isbn13(text);
}

static bool is_no_digit(char c)
{
    return !cor_is_digit(c);
}

/* Does the number begin and end as one of an issuer does? */
static bool is_issued(const char *d, size_t n)
{
    switch (d[0]) {
    case '4':
        return n == 13 || n == 16;
    case '5':
        return n == 16 && d[1] >= '1' && d[1] <= '5';
    case '6':
        return n == 16 && (memcmp(d, "6011", 4) == 0 || d[1] == '5');
    case '3':
        if (n == 15 && (d[1] == '4' || d[1] == '7'))
            return true;
        if (n == 14 && ((d[1] == '0' && d[2] <= '5') || d[1] == '6' || d[1] == '8'))
            return true;
        return n == 16 && d[1] == '5';
    default:
        return n == 15 && (memcmp(d, "2131", 4) == 0 || memcmp(d, "1800", 4) == 0);
    }
}

static int check_credit_card(struct cor_str text)
{
    char digits[16];
    size_t n = copy_without(text, is_no_digit, digits, sizeof(digits));
    unsigned sum = 0;

    if (n == SIZE_MAX || n < 13 || !is_issued(digits, n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        unsigned digit = (unsigned)(digits[n - 1 - i] - '0') * (i % 2 ? 2 : 1);

        sum += digit >= 10 ? digit % 10 + 1 : digit;
    }
    return sum % 10 == 0;
}

/* Three, two and four digits, with a dash or a space between them. */
static int check_ssn(struct cor_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        bool is_between = i == 3 || i == 6;

        if (is_between ? text.p[i] != '-' && text.p[i] != ' ' : !cor_is_digit(text.p[i]))
            return 0;
    }
    return text.n == 11;
}

/* --- Colours and bytes -------------------------------------------------------------------------
 */

static int check_hex_color(struct cor_str text)
{
    if (text.n > 0 && text.p[0] == '#')
        text = cor_str_from(text, 1);
    return (text.n == 3 || text.n == 6) && are_all(text, is_hex);
}

static void skip_spaces(struct cor_str *text)
{
    while (text->n > 0 && is_space(text->p[0]))
        *text = cor_str_from(*text, 1);
}

/* A number from 0 to 255 without zeros before it. */
static bool take_octet(struct cor_str *text)
{
    unsigned value = 0;
    size_t n = 0;

    while (n < 3 && n < text->n && cor_is_digit(text->p[n]))
        value = value * 10 + (unsigned)(text->p[n++] - '0');
    if (n == 0 || value > 255 || (n > 1 && text->p[0] == '0'))
        return false;
    *text = cor_str_from(*text, n);
    return true;
}

static int check_rgb_color(struct cor_str text)
{
    if (!cor_str_starts(text, COR_STR("rgb(")))
        return 0;
    text = cor_str_from(text, 4);
    for (int i = 0; i < 3; i++) {
        skip_spaces(&text);
        if (!take_octet(&text))
            return 0;
        skip_spaces(&text);
        if (text.n == 0 || text.p[0] != (i < 2 ? ',' : ')'))
            return 0;
        text = cor_str_from(text, 1);
    }
    return text.n == 0;
}

static bool is_base64(int c)
{
    return cor_is_digit(c) || cor_is_letter(c) || c == '+' || c == '/';
}

static int check_byte(struct cor_str text)
{
    size_t padding = 0;

    while (padding < 2 && padding < text.n && text.p[text.n - 1 - padding] == '=')
        padding++;
    return text.n > 0 && text.n % 4 == 0 && are_all(cor_str(text.p, text.n - padding), is_base64);
}

static int check_password(struct cor_str text)
{
    (void)text;
    return 1;
}

/* --- Networks ----------------------------------------------------------------------------------
 */

static int check_uri(struct cor_str text)
{
    return cor_format_is_request_uri(text);
}

static int check_email(struct cor_str text)
{
    return cor_email_is_address(text);
}

static int check_ipv4(struct cor_str text)
{
    struct cor_ip ip;

    return cor_ip_parse(text, &ip) && cor_str_find(text, '.') >= 0;
}

static int check_ipv6(struct cor_str text)
{
    struct cor_ip ip;

    return cor_ip_parse(text, &ip) && !ip.has_extra_zeros && cor_str_find(text, ':') >= 0;
}

static int check_cidr(struct cor_str text)
{
    struct cor_cidr cidr;

    return cor_cidr_parse(text, &cidr);
}

/* 6, 8 or 20 bytes as 00:00:..., 00-00-... or 0000.0000. ... */
static int check_mac(struct cor_str text)
{
    char separator = text.n > 4 ? text.p[2] : 0;
    size_t group = 2, nbytes;

    if (separator != ':' && separator != '-') {
        separator = '.';
        group = 4;
    }
    if (text.n < 14 || (text.n + 1) % (group + 1) != 0)
        return 0;
    nbytes = (text.n + 1) / (group + 1) * (group / 2);
    if (nbytes != 6 && nbytes != 8 && nbytes != 20)
        return 0;
    for (size_t i = 0; i < text.n; i++) {
        bool is_between = i % (group + 1) == group;

        if (is_between ? text.p[i] != separator : !is_hex(text.p[i]))
            return 0;
    }
    return 1;
}

/* A letter, a digit, or a character of the Unicode class S. */
static bool is_host_char(int c)
{
    return cor_is_letter(c) || cor_is_digit(c) || (c && strchr("$+<=>^`|~", c));
}

static bool is_host_char_or_dash(int c)
{
    return is_host_char(c) || c == '-';
}

/* A name without dots: its only dash may be the second character. */
static bool is_single_label(struct cor_str text)
{
    size_t rest = text.n > 1 && text.p[1] == '-' ? 2 : 1;

    return text.n > 0 && is_host_char(text.p[0]) && text.n - rest <= 62 &&
           are_all(cor_str_from(text, rest), is_host_char);
}

/* Labels and dots, and a top-level domain of letters. */
static bool is_dotted_name(struct cor_str text)
{
    struct cor_str rest = text, label = cor_str_cut(&rest, '.');

    for (; rest.p; label = cor_str_cut(&rest, '.')) {
        if (label.n == 0 || label.n > 63 || !is_host_char(label.p[0]) ||
            !is_host_char(label.p[label.n - 1]) || !are_all(label, is_host_char_or_dash))
            return false;
    }
    return label.n >= 2 && label.n <= 63 && label.n < text.n && are_all(label, cor_is_letter);
}

/* Upstream's expression, for names with characters beyond ASCII. */
static int matches_host_pattern(struct cor_str text)
{
    static const char host[] =
        "^([a-zA-Z0-9\\p{S}\\p{L}]((-?[a-zA-Z0-9\\p{S}\\p{L}]{0,62})?)|"
        "([a-zA-Z0-9\\p{S}\\p{L}](([a-zA-Z0-9-\\p{S}\\p{L}]{0,61}[a-zA-Z0-9\\p{S}\\p{L}])?)"
        "(\\.)){1,}([a-zA-Z\\p{L}]){2,63})$";
    COR_CLEANUP(cor_pattern_freep) struct cor_pattern *pattern = NULL;
    int r = cor_pattern_compile(COR_STR(host), &pattern, NULL);

    return r < 0 ? r : cor_pattern_matches(pattern, text);
}

static bool is_ascii(int c)
{
    return (unsigned char)c < 0x80;
}

static bool has_long_label(struct cor_str text)
{
    while (text.p) {
        if (cor_str_cut(&text, '.').n > 63)
            return true;
    }
    return false;
}

static int check_hostname(struct cor_str text)
{
    if (!are_all(text, is_ascii))
        return text.n <= 255 && !has_long_label(text) ? matches_host_pattern(text) : 0;
    return text.n <= 255 && (is_single_label(text) ? text.n <= 63 : is_dotted_name(text));
}

/* --- Times -------------------------------------------------------------------------------------
 */

static bool take_number(struct cor_str *text, size_t digits, unsigned *ret)
{
    *ret = 0;
    if (text->n < digits || !are_all(cor_str(text->p, digits), cor_is_digit))
        return false;
    for (size_t i = 0; i < digits; i++)
        *ret = *ret * 10 + (unsigned)(text->p[i] - '0');
    *text = cor_str_from(*text, digits);
    return true;
}

static bool take_char(struct cor_str *text, char c)
{
    if (text->n == 0 || text->p[0] != c)
        return false;
    *text = cor_str_from(*text, 1);
    return true;
}

static int check_date(struct cor_str text)
{
    static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    unsigned year, month, day;

    if (!take_number(&text, 4, &year) || !take_char(&text, '-') || !take_number(&text, 2, &month) ||
        !take_char(&text, '-') || !take_number(&text, 2, &day) || text.n > 0 || month < 1 ||
        month > 12 || day < 1)
        return 0;
    if (month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))
        return day <= 29;
    return day <= days[month - 1];
}

/* Z, or an offset of hours and minutes, which may be anything. */
static bool is_zone(struct cor_str text)
{
    unsigned ignored;

    if (text.n == 1)
        return text.p[0] == 'z' || text.p[0] == 'Z';
    return (take_char(&text, '+') || take_char(&text, '-')) && take_number(&text, 2, &ignored) &&
           take_char(&text, ':') && take_number(&text, 2, &ignored) && text.n == 0;
}

/* The fraction of a second: digits behind any character but a line break. */
static struct cor_str skip_fraction(struct cor_str text)
{
    size_t first = 1, n;

    if (text.n == 0 || text.p[0] == '\n')
        return text;
    while (first < text.n && ((unsigned char)text.p[first] & 0xc0) == 0x80)
        first++;
    for (n = first; n < text.n && cor_is_digit(text.p[n]);)
        n++;
    return n > first ? cor_str_from(text, n) : text;
}

static int check_date_time(struct cor_str text)
{
    unsigned hour, minute, second;
    size_t t = 0, end;

    while (t < text.n && text.p[t] != 't' && text.p[t] != 'T')
        t++;
    if (t == text.n || !check_date(cor_str(text.p, t)))
        return 0;
    for (end = t + 1; end < text.n && text.p[end] != 't' && text.p[end] != 'T';)
        end++; /* upstream looks at nothing behind a second T */
    text = cor_str(text.p + t + 1, end - t - 1);
    if (!take_number(&text, 2, &hour) || !take_char(&text, ':') ||
        !take_number(&text, 2, &minute) || !take_char(&text, ':') ||
        !take_number(&text, 2, &second) || hour > 23 || minute > 59 || second > 59)
        return 0;
    return is_zone(text) || is_zone(skip_fraction(text));
}

static bool starts_fold(struct cor_str text, const char *prefix)
{
    size_t n = strlen(prefix);

    for (size_t i = 0; i < n; i++) {
        char c = i < text.n ? text.p[i] : 0;

        if ((c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c) != prefix[i])
            return false;
    }
    return true;
}

/* The unit is one of these, or begins with a long one: 3 weekends are a duration. */
static bool is_time_unit(struct cor_str unit)
{
    static const char *const whole[] = {"ns", "us", "\xc2\xb5s", "ms", "s", "m",
                                        "h",  "hr", "d",         "w",  "wk"};
    static const char *const begin[] = {"nano", "micro", "milli", "sec",
                                        "min",  "hour",  "day",   "week"};

    for (size_t i = 0; i < COR_ARRAY_LEN(whole); i++) {
        if (unit.n == strlen(whole[i]) && starts_fold(unit, whole[i]))
            return true;
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(begin); i++) {
        if (starts_fold(unit, begin[i]))
            return true;
    }
    return false;
}

static size_t unit_bytes(struct cor_str text)
{
    size_t n = 0;

    while (n < text.n) {
        if (cor_is_letter(text.p[n]))
            n++;
        else if (text.n - n >= 2 && memcmp(text.p + n, "\xc2\xb5", 2) == 0)
            n += 2;
        else
            break;
    }
    return n;
}

/* Go's notation; else numbers with units anywhere in the text, one of which must be known. */
static int check_duration(struct cor_str text)
{
    int64_t ns;
    bool is_known = false;

    if (cor_duration_parse(text, &ns) == 0)
        return 1;
    while (text.n > 0) {
        struct cor_str unit;
        size_t digits = 0;

        while (digits < text.n && cor_is_digit(text.p[digits]))
            digits++;
        if (digits == 0) {
            text = cor_str_from(text, 1);
            continue;
        }
        unit = cor_str_from(text, digits);
        skip_spaces(&unit);
        unit.n = unit_bytes(unit);
        if (unit.n > 0 && cor_str_to_i64(cor_str(text.p, digits), &ns) < 0)
            return 0; /* the number is too large */
        is_known = is_known || (unit.n > 0 && is_time_unit(unit));
        text = cor_str_from(text, unit.n > 0 ? (size_t)(unit.p + unit.n - text.p) : digits);
    }
    return is_known;
}

/* --- Names of Kubernetes -----------------------------------------------------------------------
 */

/* What a format of Kubernetes' own answers. */
static int check_format(enum cor_format format, struct cor_str text)
{
    int r = cor_format_check_text(format, text, NULL, NULL);

    return r < 0 ? r : r == 0;
}

static int check_k8s_short_name(struct cor_str text)
{
    return check_format(COR_FORMAT_DNS_LABEL, text);
}

static int check_k8s_long_name(struct cor_str text)
{
    return check_format(COR_FORMAT_DNS_SUBDOMAIN, text);
}

int cor_string_format_accepts(enum cor_string_format format, struct cor_str text)
{
    switch (format) {
#define X(symbol, name, fn)                                                                        \
    case COR_STRING_FORMAT_##symbol:                                                               \
        return check_##fn(text);
        COR_STRING_FORMATS(X)
#undef X
    case COR_STRING_FORMAT_NONE:
    case COR_STRING_FORMATS_N:
        break;
    }
    return 1;
}
