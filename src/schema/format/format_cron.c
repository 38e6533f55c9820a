/* clang-format off */
/* The format of cron schedules: what the standard parser of robfig/cron accepts, and its words for
 * the first thing that is wrong (contract validation 3.3.8).
 *
 *   [TZ=<zone> | CRON_TZ=<zone>] ──► @<descriptor>, or five fields ──► ranges, separated by commas
 *     ──► <low>[-<high>][/<step>]
 *
 * Each function returns 0 when its part is fine. Otherwise it returns 1 and has appended the words
 * to `why`, or -COR_ENOMEM or -COR_ETOOBIG. Thread: any. */
/* clang-format on */
#include <inttypes.h>

#include "base/duration.h"
#include "base/err.h"
#include "base/utf8.h"
#include "meta/status/quote.h"
#include "schema/format/format_int.h"
#include "schema/format/time_zone.h"
#include "schema/go/go_int.h"

#define WHY_MAX (64u << 20) /* it may hold the schedule, quoted */
#define FIELDS  5

/* What a field may hold. */
struct bounds {
    int min, max;
    const char *names; /* three letters each, of the numbers from `min` on; NULL: none */
};

static const struct bounds bounds[FIELDS] = {
    {0, 59, NULL},
    {0, 23, NULL},
    {1, 31, NULL},
    {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"},
    {0, 6, "sunmontuewedthufrisat"},
};

static int refuse(int r)
{
    return r < 0 ? r : 1;
}

/* Reports a range, or a part of it, with the words before it. */
static int refuse_with(struct cor_buf *why, const char *words, struct cor_str expr)
{
    return refuse(cor_buf_addf(why, "%s: %.*s", words, COR_STR_ARG(expr)));
}

static bool is_space(uint32_t cp)
{
    return (cp >= '\t' && cp <= '\r') || cp == ' ' || cp == 0x85 || cp == 0xa0 || cp == 0x1680 ||
           (cp >= 0x2000 && cp <= 0x200a) || cp == 0x2028 || cp == 0x2029 || cp == 0x202f ||
           cp == 0x205f || cp == 0x3000;
}

/* Takes the text up to the next space of Unicode; empty: there is no more. */
static struct cor_str take_word(struct cor_str *rest)
{
    struct cor_str word;
    size_t n = 0;
    uint32_t cp;

    while (rest->n > 0) {
        n = cor_utf8_first(*rest, &cp);
        if (!is_space(cp))
            break;
        *rest = cor_str_from(*rest, n);
    }
    for (n = 0; n < rest->n;) {
        size_t bytes = cor_utf8_first(cor_str_from(*rest, n), &cp);

        if (is_space(cp))
            break;
        n += bytes;
    }
    word = cor_str(rest->p, n);
    *rest = cor_str_from(*rest, n);
    return word;
}

static struct cor_str trim_spaces(struct cor_str text)
{
    struct cor_str rest = text, word, first = take_word(&rest), last = first;

    while ((word = take_word(&rest)).n > 0)
        last = word;
    return first.n > 0 ? cor_str(first.p, (size_t)(last.p + last.n - first.p)) : first;
}

/* A number as Go's Atoi reads it, which is not negative. */
static int read_number(struct cor_str text, int64_t *ret, struct cor_buf *why)
{
    int r = cor_go_atoi(text, ret);
    const char *words = r == -COR_ETOOBIG ? ": value out of range" : ": invalid syntax";

    if (r == 0 && *ret >= 0)
        return 0;
    if (r == 0)
        return refuse(cor_buf_addf(why, "negative number (%" PRId64 ") not allowed: %.*s", *ret,
                                   COR_STR_ARG(text)));
    r = cor_buf_addf(why, "failed to parse int from %.*s: strconv.Atoi: parsing ",
                     COR_STR_ARG(text));
    if (r == 0)
        r = cor_quote(text, why);
    return refuse(r < 0 ? r : cor_buf_addz(why, words));
}

static bool is_name(struct cor_str text, const char *name)
{
    for (size_t i = 0; i < 3; i++) {
        char c = text.p[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        if (c != name[i])
            return false;
    }
    return true;
}

static int read_number_or_name(struct cor_str text, const struct bounds *b, int64_t *ret,
                               struct cor_buf *why)
{
    for (int i = 0; b->names && text.n == 3 && i <= b->max - b->min; i++) {
        if (is_name(text, b->names + (size_t)i * 3)) {
            *ret = b->min + i;
            return 0;
        }
    }
    return read_number(text, ret, why);
}

static int check_bounds(struct cor_str expr, const struct bounds *b, int64_t start, int64_t end,
                        int64_t step, struct cor_buf *why)
{
    if (start < b->min)
        return refuse(cor_buf_addf(why, "beginning of range (%" PRId64 ") below minimum (%d): %.*s",
                                   start, b->min, COR_STR_ARG(expr)));
    if (end > b->max)
        return refuse(cor_buf_addf(why, "end of range (%" PRId64 ") above maximum (%d): %.*s", end,
                                   b->max, COR_STR_ARG(expr)));
    if (start > end)
        return refuse(cor_buf_addf(
            why, "beginning of range (%" PRId64 ") beyond end of range (%" PRId64 "): %.*s", start,
            end, COR_STR_ARG(expr)));
    if (step == 0)
        return refuse_with(why, "step of range should be a positive number", expr);
    return 0;
}

static int check_range(struct cor_str expr, const struct bounds *b, struct cor_buf *why)
{
    struct cor_str step_text = expr, high = cor_str_cut(&step_text, '/');
    struct cor_str low = cor_str_cut(&high, '-');
    int64_t start = b->min, end = b->max, step = 1;
    bool is_star = cor_str_eq(low, COR_STR("*")) || cor_str_eq(low, COR_STR("?"));
    int r;

    if (!is_star) {
        if ((r = read_number_or_name(low, b, &start, why)) != 0)
            return r;
        end = start;
        if (high.p && cor_str_find(high, '-') >= 0)
            return refuse_with(why, "too many hyphens", expr);
        if (high.p && (r = read_number_or_name(high, b, &end, why)) != 0)
            return r;
    }
    if (step_text.p) {
        if (cor_str_find(step_text, '/') >= 0)
            return refuse_with(why, "too many slashes", expr);
        if ((r = read_number(step_text, &step, why)) != 0)
            return r;
        if (!high.p)
            end = b->max; /* "N/step" is "N-max/step" */
    }
    return check_bounds(expr, b, start, end, step, why);
}

/* Ranges that are empty do not count. */
static int check_field(struct cor_str field, const struct bounds *b, struct cor_buf *why)
{
    int r = 0;

    while (r == 0 && field.p) {
        struct cor_str range = cor_str_cut(&field, ',');

        if (range.n > 0)
            r = check_range(range, b, why);
    }
    return r;
}

static int refuse_count(struct cor_str spec, size_t n, struct cor_buf *why)
{
    int r = cor_buf_addf(why, "expected exactly %d fields, found %zu: [", FIELDS, n);

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct cor_str word = take_word(&spec);

        r = cor_buf_addf(why, "%s%.*s", i > 0 ? " " : "", COR_STR_ARG(word));
    }
    return refuse(r < 0 ? r : cor_buf_addc(why, ']'));
}

static int check_fields(struct cor_str spec, struct cor_buf *why)
{
    struct cor_str fields[FIELDS], rest = spec, word;
    size_t n = 0;
    int r = 0;

    for (; (word = take_word(&rest)).n > 0; n++) {
        if (n < FIELDS)
            fields[n] = word;
    }
    if (n != FIELDS)
        return refuse_count(spec, n, why);
    for (size_t i = 0; r == 0 && i < FIELDS; i++)
        r = check_field(fields[i], &bounds[i], why);
    return r;
}

/* As Go's package time quotes a text in its errors: bytes outside printable ASCII as \x... */
static int quote_for_time(struct cor_str text, struct cor_buf *why)
{
    int r = cor_buf_addc(why, '"');

    for (size_t i = 0; r == 0 && i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if (c < ' ' || c >= 0x80)
            r = cor_buf_addf(why, "\\x%02x", c);
        else
            r = cor_buf_addf(why, "%s%c", c == '"' || c == '\\' ? "\\" : "", c);
    }
    return r < 0 ? r : cor_buf_addc(why, '"');
}

static int check_every(struct cor_str descriptor, struct cor_str duration, struct cor_buf *why)
{
    const char *words = "time: invalid duration ";
    struct cor_str unit;
    int64_t ns;
    int r;

    if (cor_duration_parse_why(duration, &ns, &unit) == 0)
        return 0;
    r = cor_buf_addf(why, "failed to parse duration %.*s: ", COR_STR_ARG(descriptor));
    if (r == 0 && unit.p && unit.n > 0) {
        r = cor_buf_addz(why, "time: unknown unit ");
        if (r == 0)
            r = quote_for_time(unit, why);
        words = " in duration ";
    } else if (unit.p) {
        words = "time: missing unit in duration ";
    }
    if (r == 0)
        r = cor_buf_addz(why, words);
    if (r == 0)
        r = quote_for_time(duration, why);
    return refuse(r);
}

static int check_descriptor(struct cor_str text, struct cor_buf *why)
{
    static const char *const known[] = {"@yearly", "@annually", "@monthly", "@weekly",
                                        "@daily",  "@midnight", "@hourly"};
    struct cor_str every = COR_STR("@every ");

    for (size_t i = 0; i < COR_ARRAY_LEN(known); i++) {
        if (cor_str_eqz(text, known[i]))
            return 0;
    }
    if (cor_str_starts(text, every))
        return check_every(text, cor_str_from(text, every.n), why);
    return refuse_with(why, "unrecognized descriptor", text);
}

/* Takes `TZ=<zone> ` from the front. Upstream's parser panics when no space follows the zone; here
 * the fields are missing then. */
static int check_zone(struct cor_str *spec, struct cor_buf *why)
{
    struct cor_str rest = *spec, zone;

    cor_str_cut(&rest, '=');
    zone = cor_str_cut(&rest, ' ');
    *spec = rest.p ? trim_spaces(rest) : COR_STR("");
    switch (cor_time_zone_check(zone)) {
    case COR_TIME_ZONE_OK:
        break;
    case COR_TIME_ZONE_UNKNOWN:
        return refuse(cor_buf_addf(why, "provided bad location %.*s: unknown time zone %.*s",
                                   COR_STR_ARG(zone), COR_STR_ARG(zone)));
    case COR_TIME_ZONE_NO_NAME:
        return refuse(cor_buf_addf(why, "provided bad location %.*s: time: invalid location name",
                                   COR_STR_ARG(zone)));
    }
    return 0;
}

static int check_schedule(struct cor_str spec, struct cor_buf *why)
{
    int r = 0;

    if (spec.n == 0)
        return refuse(cor_buf_addz(why, "empty spec string"));
    if (cor_str_starts(spec, COR_STR("TZ=")) || cor_str_starts(spec, COR_STR("CRON_TZ=")))
        r = check_zone(&spec, why);
    if (r != 0)
        return r;
    return cor_str_starts(spec, COR_STR("@")) ? check_descriptor(spec, why)
                                              : check_fields(spec, why);
}

void cor_format_check_cron(struct cor_format_run *run)
{
    struct cor_buf why = {.max = WHY_MAX};
    int r = check_schedule(run->text, &why);

    if (r != 0)
        cor_format_invalid_made(run, run->text, &why, r < 0 ? r : 0);
}
