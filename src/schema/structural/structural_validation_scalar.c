/* The checks of validation that need no other value: type, enum, strings and numbers, in upstream's
 * order and words (contract crd 4.6.3, 4.7, 4.8). Numbers are what upstream's decoder makes of
 * them: an int64 when they are written as one that fits, else a double. Failures: out of memory,
 * which sticks to the validation. Thread: one at a time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/err.h"
#include "base/utf8.h"
#include "meta/status/quote.h"
#include "schema/go/go_text.h"
#include "schema/structural/numbers.h"
#include "schema/structural/pattern.h"
#include "schema/structural/string_format.h"
#include "schema/structural/structural_validation_int.h"
#include "json/text/scan.h"

#define NUMBER_TEXT_MAX 64
/* Steps that a search may take at most: seconds of a thread, if it ever comes to that. */
#define SEARCH_STEPS_MAX (1u << 27)
/* Steps that searches may take together before the clock says what they took. */
#define UNSURE_STEPS_MAX 4096
#define STEPS_OF_US      33
/* Steps of looking for a value among those of an enum. */
#define STEPS_ENUM 4
/* Integers that JSON has exactly: [-2^53, 2^53 - 1]. */
#define JSON_INTEGER_MAX 9007199254740991.0
#define JSON_INTEGER_MIN (-9007199254740992.0)
#define EPSILON          1e-9
#define DOUBLE_MAX       512 /* bytes of a double without an exponent */

struct number {
    bool is_integer;
    int64_t integer;
    double real;
};

static struct number number_of(const struct cor_validation_run *run, uint32_t value)
{
    struct cor_str json = cor_json_node_bytes(run->json, value);
    struct number number = {0};

    number.is_integer = cor_json_to_i64(json, &number.integer) == 0;
    /* A number is followed by another byte of JSON, which ends it. */
    number.real = number.is_integer ? (double)number.integer : strtod(json.p, NULL);
    return number;
}

/* --- Type --------------------------------------------------------------------------------------
 */

/* Is a double close enough to an integer that JSON has? */
static bool is_json_integer(double real)
{
    double whole = real < 0 ? 0 : trunc(real), diff = fabs(real - whole);

    if (!isfinite(real) || real < JSON_INTEGER_MIN || real > JSON_INTEGER_MAX)
        return false;
    if (real == trunc(real))
        return true;
    if (whole == 0)
        return false;
    return diff / (fabs(real) + whole) < EPSILON;
}

static unsigned type_bit(enum cor_structural_type type)
{
    return type == COR_STRUCTURAL_ANY ? 0 : 1u << type;
}

/* What the value is in terms of types. */
static enum cor_structural_type type_of(const struct cor_validation_run *run, uint32_t value)
{
    switch (cor_value_first(run, value)) {
    case '{':
        return COR_STRUCTURAL_OBJECT;
    case '[':
        return COR_STRUCTURAL_ARRAY;
    case '"':
        return COR_STRUCTURAL_STRING;
    case 't':
    case 'f':
        return COR_STRUCTURAL_BOOLEAN;
    default:
        return number_of(run, value).is_integer ? COR_STRUCTURAL_INTEGER : COR_STRUCTURAL_NUMBER;
    }
}

static size_t refuse_type(struct cor_validation_run *run, const struct cor_way *way,
                          const char *want, const char *actual)
{
    return cor_finding_add(run, COR_FIELD_TYPE_INVALID, way, cor_field_string(cor_strz(actual)),
                           "must be of type %s: \"%s\"", want, actual);
}

struct cor_verdict cor_check_type(struct cor_validation_run *run,
                                  const struct cor_structural_node *node, uint32_t value,
                                  const struct cor_way *way)
{
    static const char *const names[] = {[COR_STRUCTURAL_ANY] = "",
                                        [COR_STRUCTURAL_ARRAY] = "array",
                                        [COR_STRUCTURAL_BOOLEAN] = "boolean",
                                        [COR_STRUCTURAL_INTEGER] = "integer",
                                        [COR_STRUCTURAL_NUMBER] = "number",
                                        [COR_STRUCTURAL_OBJECT] = "object",
                                        [COR_STRUCTURAL_STRING] = "string"};
    const unsigned numeric = 1u << COR_STRUCTURAL_INTEGER | 1u << COR_STRUCTURAL_NUMBER;
    bool is_int_or_string = cor_structural_is(node, COR_STRUCTURAL_INT_OR_STRING);
    unsigned types = is_int_or_string ? 1u << COR_STRUCTURAL_INTEGER | 1u << COR_STRUCTURAL_STRING
                                      : type_bit((enum cor_structural_type)node->type);
    const char *want = is_int_or_string ? "integer,string" : names[node->type];
    bool has_format = cor_validation_format(run, node) != COR_STRING_FORMAT_NONE, is_listed;
    const struct cor_verdict good = {.matches = 1};
    enum cor_structural_type actual;

    if (cor_value_first(run, value) == 'n') {
        if (types != 0 && !cor_structural_is(node, COR_STRUCTURAL_NULLABLE))
            return (struct cor_verdict){.nerrors = refuse_type(run, way, want, "null")};
        return good;
    }
    actual = type_of(run, value);
    /* A string or a list with a format is judged by the format alone, unless it is a number's. */
    if (run->has_all_formats && cor_structural_is(node, COR_STRUCTURAL_FORMATTED) && !has_format &&
        !(types & numeric) && (actual == COR_STRUCTURAL_STRING || actual == COR_STRUCTURAL_ARRAY))
        return good;
    is_listed = types & type_bit(actual) ||
                (actual == COR_STRUCTURAL_NUMBER && types & 1u << COR_STRUCTURAL_INTEGER &&
                 is_json_integer(number_of(run, value).real)) ||
                (actual == COR_STRUCTURAL_INTEGER && types & 1u << COR_STRUCTURAL_NUMBER);
    if (has_format && (actual == COR_STRUCTURAL_STRING || actual == COR_STRUCTURAL_ARRAY)) {
        if (!(types & numeric))
            return good;
    } else if (has_format && !is_listed) {
        struct cor_str format =
            cor_structural_text(run->schema, run->schema->checks[node->checks].format);

        return (struct cor_verdict){.nerrors =
                                        refuse_type(run, way, format.p,
                                                    actual == COR_STRUCTURAL_INTEGER  ? "int64"
                                                    : actual == COR_STRUCTURAL_NUMBER ? "float64"
                                                                                      : "")};
    }
    if (is_listed)
        return good;
    return (struct cor_verdict){.nerrors = refuse_type(run, way, want, names[actual])};
}

/* --- Enum --------------------------------------------------------------------------------------
 */

/* Upstream converts the value to the type of the one it is compared with, so that a number is
 * truncated for an integer. */
static bool are_numbers_equal(struct number value, struct cor_str json)
{
    int64_t integer;

    if (cor_json_to_i64(json, &integer) == 0)
        return value.is_integer ? value.integer == integer : trunc(value.real) == (double)integer;
    return value.real == strtod(json.p, NULL);
}

static size_t refuse_enum(struct cor_validation_run *run, struct cor_structural_run enums,
                          struct cor_str json, const struct cor_way *way, uint32_t value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf words = {.max = 16u << 10};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf number = {.max = 32u << 10};
    int r = cor_buf_addz(&words, "supported values: ");

    for (uint32_t i = 0; i < enums.n && r == 0; i++) {
        struct cor_str text = cor_structural_text(run->schema, run->schema->texts[enums.first + i]);
        struct cor_str raw = text;
        COR_CLEANUP(cor_buf_deinit) struct cor_buf room = {.max = text.n + 1};

        if (cor_json_to_raw(text, &raw) == 0 && (r = cor_buf_reserve(&room, raw.n + 1)) == 0)
            (void)cor_json_unescape(raw, room.p, raw.n, &raw);
        if (r == 0 && i > 0)
            r = cor_buf_addz(&words, ", ");
        if (r == 0)
            r = cor_quote(raw, &words);
    }
    if (r < 0 && r != -COR_ETOOBIG) {
        cor_validation_note(run, r);
        return 1;
    }
    r = cor_structural_is_number(json) ? cor_go_text(json, &number)
                                       : cor_structural_write_numbers(json, &number);
    cor_validation_note(run, r == -COR_ETOOBIG ? 0 : r);
    if (number.n > 0)
        json = cor_buf_str(&number);
    return cor_finding_add_plain(run, COR_FIELD_NOT_SUPPORTED, way,
                                 cor_value_first(run, value) == '"'
                                     ? cor_field_string(cor_value_text(run, value))
                                     : cor_field_json(json),
                                 "%s", cor_buf_z(&words));
}

static bool is_enum(const struct cor_validation_run *run, struct cor_str text, struct cor_str json,
                    uint32_t value)
{
    return cor_structural_is_number(json) && cor_structural_is_number(text)
               ? are_numbers_equal(number_of(run, value), text)
               : cor_str_eq(json, text);
}

/* Is the value among those that are sorted as `like` is? */
static bool is_enum_like(const struct cor_validation_run *run, struct cor_structural_run order,
                         struct cor_str like, uint32_t value)
{
    const uint32_t *sorted = &run->schema->numbers[order.first];
    uint32_t lo = 0, hi = order.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (cor_structural_enum_cmp(
                cor_structural_text(run->schema, run->schema->texts[sorted[mid]]), like) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < order.n; lo++) {
        struct cor_str text = cor_structural_text(run->schema, run->schema->texts[sorted[lo]]);

        if (cor_structural_enum_cmp(text, like) != 0)
            return false;
        if (is_enum(run, text, cor_json_node_bytes(run->json, value), value))
            return true;
    }
    return false;
}

/* A number equals values of two places: the integer that it is truncated to, and itself. */
static bool is_in_order(const struct cor_validation_run *run, struct cor_structural_run order,
                        uint32_t value)
{
    struct cor_str json = cor_json_node_bytes(run->json, value);
    char whole[DOUBLE_MAX];

    if (is_enum_like(run, order, json, value))
        return true;
    if (!cor_structural_is_number(json))
        return false;
    snprintf(whole, sizeof(whole), "%.0f", trunc(number_of(run, value).real));
    return is_enum_like(run, order, cor_strz(whole), value);
}

struct cor_verdict cor_check_enum(struct cor_validation_run *run,
                                  const struct cor_structural_node *node, uint32_t value,
                                  const struct cor_way *way)
{
    const struct cor_structural_checks *checks =
        node->checks == COR_STRUCTURAL_NONE ? NULL : &run->schema->checks[node->checks];
    bool is_listed = false;
    struct cor_str json;

    if (!checks || checks->enums.n == 0)
        return (struct cor_verdict){0};
    json = cor_json_node_bytes(run->json, value);
    /* Few values are compared one by one; numbers among them are read each time. */
    cor_validation_charge(run, STEPS_ENUM + json.n / COR_WORK_STEP_BYTES);
    if (cor_value_first(run, value) != 'n' && checks->enum_order.n > 0)
        is_listed = is_in_order(run, checks->enum_order, value);
    else if (cor_value_first(run, value) != 'n')
        for (uint32_t i = 0; i < checks->enums.n && !is_listed; i++)
            is_listed = is_enum(
                run, cor_structural_text(run->schema, run->schema->texts[checks->enums.first + i]),
                json, value);
    if (is_listed)
        return (struct cor_verdict){0};
    return (struct cor_verdict){.nerrors = cor_validation_keeps(run)
                                               ? refuse_enum(run, checks->enums, json, way, value)
                                               : 1};
}

/* --- Strings -----------------------------------------------------------------------------------
 */

static int64_t count_code_points(struct cor_str text)
{
    int64_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += ((unsigned char)text.p[i] & 0xc0) != 0x80; /* the text is valid UTF-8 */
    return n;
}

/* Keeps a compiled pattern for all who come later. False: there is no room. */
static bool pattern_keep(const struct cor_validation_run *run, struct cor_structural_pattern *slot,
                         struct cor_pattern *pattern)
{
    struct cor_structural_kept *kept = run->schema->kept;
    struct cor_pattern *other = NULL;

    if (!cor_pattern_keep(pattern, &kept->account)) {
        atomic_store(&kept->is_full, true);
        return false;
    }
    if (!atomic_compare_exchange_strong_explicit(&slot->compiled, &other, pattern,
                                                 memory_order_acq_rel, memory_order_acquire))
        return false; /* another thread was faster */
    atomic_fetch_add(&kept->n, 1);
    return true;
}

static uint64_t cpu_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* Charges what has taken longer than it was counted since the last time. */
static void charge_clock(struct cor_validation_run *run)
{
    uint64_t now_us = cpu_us(), counted = run->work.steps - run->clock.steps;
    uint64_t took = run->clock.us == 0 ? 0 : (now_us - run->clock.us) * STEPS_OF_US;

    if (took > counted)
        cor_validation_charge(run, took - counted);
    run->clock.us = now_us;
    run->clock.steps = run->work.steps;
    run->clock.unsure = 0;
}

/* Searches the text. How long RE2 takes is not known before: a step for some bytes, or for some of
 * its states at each byte. Most searches are short even then, and are counted by their bytes; where
 * they add up, the clock is asked. A search that could hold a loop is for a thread, and one that
 * could hold a thread for seconds is not begun. */
static int pattern_search(struct cor_validation_run *run, const struct cor_pattern *pattern,
                          struct cor_str text)
{
    uint64_t most = cor_pattern_steps(pattern, text.n);
    int r;

    if (most > SEARCH_STEPS_MAX)
        return -COR_ETOOBIG;
    if (cor_work_would_yield(&run->work, most))
        return COR_WORK_YIELD;
    run->clock.unsure += most;
    if (run->clock.unsure > UNSURE_STEPS_MAX && run->clock.us == 0)
        charge_clock(run);
    r = cor_pattern_matches(pattern, text);
    if (run->clock.unsure > UNSURE_STEPS_MAX || most > UNSURE_STEPS_MAX)
        charge_clock(run);
    return r;
}

/* Does the pattern match? 1; 0: also when it is not a pattern (`why`); or a negative error. A
 * pattern that stays for later is compiled once; one that does not is charged to each value that
 * meets it. */
static int pattern_matches(struct cor_validation_run *run, struct cor_structural_pattern *slot,
                           struct cor_str text, struct cor_buf *why)
{
    struct cor_pattern *pattern = atomic_load_explicit(&slot->compiled, memory_order_acquire);
    int r;

    if (pattern)
        return pattern_search(run, pattern, text);
    r = cor_pattern_compile(cor_structural_text(run->schema, slot->text), &pattern, why);
    if (r < 0) {
        cor_validation_charge(run, COR_PATTERN_BYTES_MAX / COR_STEP_PATTERN_BYTES);
        return r == -COR_EINVALID ? 0 : r;
    }
    r = pattern_search(run, pattern, text);
    if (!pattern_keep(run, slot, pattern)) {
        cor_validation_charge(run, cor_pattern_bytes(pattern) / COR_STEP_PATTERN_BYTES);
        cor_pattern_free(pattern);
    }
    return r;
}

static size_t check_pattern(struct cor_validation_run *run, struct cor_structural_pattern *slot,
                            struct cor_str text, const struct cor_way *way)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = 16u << 10};
    int r = pattern_matches(run, slot, text, &why);

    cor_validation_note(run, r);
    if (r != 0 || run->error < 0)
        return 0;
    return cor_finding_add(run, COR_FIELD_INVALID, way, cor_field_string(text),
                           "should match '%s%s%s'", cor_structural_text(run->schema, slot->text).p,
                           why.n > 0 ? ", but pattern is invalid: " : "", cor_buf_z(&why));
}

static size_t check_length_and_pattern(struct cor_validation_run *run,
                                       const struct cor_structural_checks *checks,
                                       struct cor_str text, const struct cor_way *way)
{
    const unsigned lengths = COR_STRUCTURAL_HAS_MIN_LENGTH | COR_STRUCTURAL_HAS_MAX_LENGTH;
    int64_t n = checks->has & lengths ? count_code_points(text) : 0;

    if (checks->has & COR_STRUCTURAL_HAS_MAX_LENGTH && checks->max_length < 0)
        return cor_finding_add_plain(run, COR_FIELD_TOO_LONG, way, cor_field_none(),
                                     "value is too long");
    if (checks->has & COR_STRUCTURAL_HAS_MAX_LENGTH && n > checks->max_length)
        return cor_finding_add_plain(
            run, COR_FIELD_TOO_LONG, way, cor_field_none(), "may not be more than %lld byte%s",
            (long long)checks->max_length, checks->max_length == 1 ? "" : "s");
    if (checks->has & COR_STRUCTURAL_HAS_MIN_LENGTH && n < checks->min_length)
        return cor_finding_add(run, COR_FIELD_INVALID, way, cor_field_string(text),
                               "should be at least %lld chars long", (long long)checks->min_length);
    if (checks->pattern != COR_STRUCTURAL_NONE)
        return check_pattern(run, &run->schema->patterns[checks->pattern], text, way);
    return 0;
}

struct cor_verdict cor_check_string(struct cor_validation_run *run,
                                    const struct cor_structural_node *node, uint32_t value,
                                    const struct cor_way *way)
{
    enum cor_string_format format = cor_validation_format(run, node);
    const struct cor_structural_checks *checks;
    struct cor_verdict verdict = {.matches = 1};
    struct cor_str text;
    int accepts;

    if (node->checks == COR_STRUCTURAL_NONE)
        return verdict;
    checks = &run->schema->checks[node->checks];
    cor_validation_charge(run, cor_json_node_raw(run->json, value).n / COR_WORK_STEP_BYTES);
    text = cor_value_text(run, value);
    verdict.nerrors = check_length_and_pattern(run, checks, text, way);
    if (format == COR_STRING_FORMAT_NONE)
        return verdict;
    verdict.matches++;
    accepts = cor_string_format_accepts(format, text);
    cor_validation_note(run, accepts);
    if (accepts == 0 && !cor_validation_keeps(run)) {
        verdict.nerrors++;
    } else if (accepts == 0) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = 32u << 10};
        int r = cor_quote(text, &quoted);

        cor_validation_note(run, r == -COR_ETOOBIG ? 0 : r);
        verdict.nerrors += cor_finding_add(
            run, COR_FIELD_TYPE_INVALID, way, cor_field_string(text), "must be of type %s: %s",
            cor_structural_text(run->schema, checks->format).p, cor_buf_z(&quoted));
    }
    return verdict;
}

/* --- Numbers -----------------------------------------------------------------------------------
 */

/* A number as Go's %v prints it. */
static const char *print_number(struct cor_validation_run *run, bool is_integer, int64_t integer,
                                double real, char *room)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = NUMBER_TEXT_MAX - 1};
    char json[NUMBER_TEXT_MAX];
    int r;

    if (is_integer) {
        snprintf(room, NUMBER_TEXT_MAX, "%lld", (long long)integer);
        return room;
    }
    snprintf(json, sizeof(json), "%.17e", real); /* the exponent says that it is not an integer */
    r = cor_go_text(cor_strz(json), &text);
    cor_validation_note(run, r);
    snprintf(room, NUMBER_TEXT_MAX, "%s", cor_buf_z(&text));
    return room;
}

/* Go's conversion of a double to an int64, as amd64 does it. */
static int64_t to_int64(double real)
{
    return real >= -0x1p63 && real < 0x1p63 ? (int64_t)real : INT64_MIN;
}

static size_t refuse_number(struct cor_validation_run *run, struct number value, const char *words,
                            double bound, const struct cor_way *way)
{
    char value_text[NUMBER_TEXT_MAX], bound_text[NUMBER_TEXT_MAX];

    if (!cor_validation_keeps(run))
        return 1;
    print_number(run, value.is_integer, value.integer, value.real, value_text);
    print_number(run, value.is_integer, to_int64(bound), bound, bound_text);
    return cor_finding_add(run, COR_FIELD_INVALID, way, cor_field_json(cor_strz(value_text)),
                           "should be %s %s", words, bound_text);
}

static size_t check_multiple(struct cor_validation_run *run, struct number value, double factor,
                             const struct cor_way *way)
{
    int64_t whole = to_int64(factor);
    char text[NUMBER_TEXT_MAX];
    bool is_multiple;

    if (value.is_integer ? whole <= 0 : factor <= 0) {
        if (!cor_validation_keeps(run))
            return 1;
        print_number(run, value.is_integer, whole, factor, text);
        return cor_finding_add_plain(run, COR_FIELD_INVALID, way, cor_field_json(cor_strz(text)),
                                     "factor MultipleOf declared for %s must be positive: %s",
                                     cor_value_name(run, way), text);
    }
    if (value.is_integer)
        is_multiple = value.integer % whole == 0;
    else
        is_multiple = is_json_integer(factor < 1 ? 1 / factor * value.real : value.real / factor);
    return is_multiple ? 0 : refuse_number(run, value, "a multiple of", factor, way);
}

/* Is the value beyond the bound? `sign` is 1 for a maximum and -1 for a minimum. */
static bool is_beyond(struct number value, double bound, bool is_exclusive, int sign)
{
    int order;

    if (value.is_integer) {
        int64_t whole = to_int64(bound);

        order = (value.integer > whole) - (value.integer < whole);
    } else {
        order = (value.real > bound) - (value.real < bound);
    }
    return order * sign > 0 || (is_exclusive && order == 0);
}

struct cor_verdict cor_check_number(struct cor_validation_run *run,
                                    const struct cor_structural_node *node, uint32_t value,
                                    const struct cor_way *way)
{
    const struct cor_structural_checks *checks;
    struct cor_verdict verdict = {.matches = 2};
    struct number number;
    bool is_exclusive;

    if (node->checks == COR_STRUCTURAL_NONE)
        return verdict;
    checks = &run->schema->checks[node->checks];
    number = number_of(run, value);
    if (checks->has & COR_STRUCTURAL_HAS_MULTIPLE_OF)
        verdict.nerrors += check_multiple(run, number, checks->multiple_of, way);
    is_exclusive = checks->has & COR_STRUCTURAL_EXCLUSIVE_MINIMUM;
    if (checks->has & COR_STRUCTURAL_HAS_MINIMUM &&
        is_beyond(number, checks->minimum, is_exclusive, -1))
        verdict.nerrors +=
            refuse_number(run, number, is_exclusive ? "greater than" : "greater than or equal to",
                          checks->minimum, way);
    is_exclusive = checks->has & COR_STRUCTURAL_EXCLUSIVE_MAXIMUM;
    if (checks->has & COR_STRUCTURAL_HAS_MAXIMUM &&
        is_beyond(number, checks->maximum, is_exclusive, 1))
        verdict.nerrors +=
            refuse_number(run, number, is_exclusive ? "less than" : "less than or equal to",
                          checks->maximum, way);
    return verdict;
}
