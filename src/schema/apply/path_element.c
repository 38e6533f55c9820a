/* Path elements: their order, and their three texts (in memory, in FieldsV1, in messages).
 *
 * Most elements are names of fields without escapes, whose text is the same everywhere: these are
 * compared with memcmp() and borrowed from the bytes that they come from. Only a text with a
 * backslash and a number with a fraction are rewritten, into the arena.
 * Thread: any (no state). */
#include "schema/apply/path_element.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meta/status/quote.h"
#include "json/text/float_text.h"
#include "json/text/json.h"
#include "json/text/scan.h"
#include "json/write/writer.h"

#define KEYS_MAX   32 /* fields of one KEY; upstream's longest key has four */
#define NUMBER_MAX 400
#define JSON_STEPS 16 /* reading the JSON of a KEY or a VALUE, and a step more for a few bytes */

static bool has_backslash(struct cor_str s)
{
    return s.n > 0 && memchr(s.p, '\\', s.n);
}

/* Returns whether the number is written as an integer that certainly fits into an int64. */
static bool is_plain_integer(struct cor_str number)
{
    if (number.n > 18)
        return false;
    for (size_t i = 0; i < number.n; i++) {
        if (number.p[i] == '.' || number.p[i] == 'e' || number.p[i] == 'E')
            return false;
    }
    return true;
}

static double number_value(struct cor_str number)
{
    char text[NUMBER_MAX];

    if (number.n >= sizeof(text)) /* such a number is never a key; any value orders it */
        return number.p[0] == '-' ? -HUGE_VAL : HUGE_VAL;
    memcpy(text, number.p, number.n);
    text[number.n] = '\0';
    return strtod(text, NULL);
}

static int number_cmp(struct cor_str a, struct cor_str b)
{
    int64_t i, j;
    double x, y;

    if (cor_str_to_i64(a, &i) == 0 && cor_str_to_i64(b, &j) == 0)
        return (i > j) - (i < j);
    x = number_value(a);
    y = number_value(b);
    return (x > y) - (x < y);
}

/* The place of a value's type in the order of values. */
static int type_rank(enum cor_json_type type)
{
    switch (type) {
    case COR_JSON_NUMBER:
        return 0;
    case COR_JSON_STRING:
        return 1;
    case COR_JSON_BOOL:
        return 2;
    case COR_JSON_ARRAY:
        return 3;
    case COR_JSON_OBJECT:
        return 4;
    default:
        return 5;
    }
}

static struct cor_str string_raw(struct cor_str value)
{
    return cor_str(value.p + 1, value.n - 2);
}

static int value_cmp(struct cor_str a, struct cor_str b)
{
    enum cor_json_type type = cor_json_type(a);
    int ranks = type_rank(type) - type_rank(cor_json_type(b));

    if (ranks != 0)
        return ranks;
    if (type == COR_JSON_NUMBER)
        return number_cmp(a, b);
    if (type == COR_JSON_STRING)
        return cor_json_raw_cmp(string_raw(a), string_raw(b));
    return cor_str_cmp(a, b); /* false < true; lists and objects are never keys of built-in types */
}

/* Compares two KEYs field by field: the name, then the value; the shorter of two equal beginnings
 * comes first. */
static int key_cmp(struct cor_str a, struct cor_str b)
{
    struct cor_json_iter i = cor_json_iter(a), j = cor_json_iter(b);
    struct cor_str name_a, name_b;
    int c;

    for (;;) {
        bool more_a = cor_json_iter_member(&i, &name_a), more_b = cor_json_iter_member(&j, &name_b);

        if (!more_a || !more_b)
            return (int)more_a - (int)more_b;
        c = cor_json_raw_cmp(name_a, name_b);
        if (c == 0)
            c = value_cmp(cor_json_iter_value(&i), cor_json_iter_value(&j));
        if (c != 0)
            return c;
    }
}

int cor_path_element_cmp(const struct cor_path_element *a, const struct cor_path_element *b)
{
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (cor_str_eq(a->text, b->text))
        return 0;
    switch (a->kind) {
    case COR_PATH_FIELD:
        return cor_json_raw_cmp(a->text, b->text);
    case COR_PATH_KEY:
        return key_cmp(a->text, b->text);
    case COR_PATH_VALUE:
        return value_cmp(a->text, b->text);
    case COR_PATH_INDEX:
        return number_cmp(a->text, b->text);
    }
    return 0;
}

/* Canonical raw text of raw text with escapes: only what must be escaped is. */
static struct cor_str canonical_raw(struct cor_arena *arena, struct cor_str raw)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {0};
    struct cor_str text;
    char *room = cor_arena_alloc(arena, raw.n);
    int r;

    if (!room)
        return cor_str(NULL, 0);
    r = cor_json_unescape(raw, room, raw.n, &text);
    assert(r == 0); /* the text never becomes longer */
    cor_buf_init(&quoted, 6 * raw.n + 2);
    r = cor_json_quote(&quoted, text);
    if (r < 0) {
        arena->error = r;
        return cor_str(NULL, 0);
    }
    return cor_arena_copy(arena, string_raw(cor_buf_str(&quoted)));
}

struct cor_str cor_path_scalar(struct cor_arena *arena, struct cor_str value)
{
    char text[COR_FLOAT_TEXT_MAX];
    double number;

    if (cor_json_type(value) != COR_JSON_NUMBER || is_plain_integer(value))
        return value;
    number = number_value(value);
    if (!isfinite(number))
        return value;
    return cor_arena_copy(arena, cor_float_print(number, text));
}

/* Appends a value of a KEY or a VALUE that FieldsV1 holds: scalars in canonical form, others as
 * they are. */
static int add_read_value(struct cor_arena *arena, struct cor_buf *out, struct cor_str value)
{
    struct cor_str text = value;

    if (cor_json_type(value) == COR_JSON_STRING && has_backslash(value)) {
        text = canonical_raw(arena, string_raw(value));
        return !text.p ? arena->error : cor_buf_addf(out, "\"%.*s\"", (int)text.n, text.p);
    }
    if (cor_json_type(value) == COR_JSON_NUMBER)
        text = cor_path_scalar(arena, value);
    return !text.p ? arena->error : cor_buf_adds(out, text);
}

struct key_field {
    struct cor_str name, value;
};

static int key_field_cmp(const void *a, const void *b)
{
    return cor_json_raw_cmp(((const struct key_field *)a)->name,
                            ((const struct key_field *)b)->name);
}

/* Appends the object of a KEY with its fields in order. */
static int add_read_key(struct cor_arena *arena, struct cor_buf *out, struct cor_str object)
{
    struct key_field fields[KEYS_MAX];
    struct cor_json_iter it = cor_json_iter(object);
    size_t n = 0;
    int r = cor_buf_addc(out, '{');

    if (cor_json_type(object) != COR_JSON_OBJECT)
        return -COR_EINVAL;
    while (n < KEYS_MAX && cor_json_iter_member(&it, &fields[n].name)) {
        fields[n].value = cor_json_iter_value(&it);
        if (has_backslash(fields[n].name))
            fields[n].name = canonical_raw(arena, fields[n].name);
        if (!fields[n].name.p)
            return arena->error;
        n++;
    }
    if (n == KEYS_MAX)
        return -COR_EINVAL;
    qsort(fields, n, sizeof(fields[0]), key_field_cmp);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = cor_buf_addf(out, "%s\"%.*s\":", i > 0 ? "," : "", (int)fields[i].name.n,
                         fields[i].name.p);
        if (r == 0)
            r = add_read_value(arena, out, fields[i].value);
    }
    return r < 0 ? r : cor_buf_addc(out, '}');
}

/* Reads the JSON of a KEY or a VALUE out of the raw text behind "k:" or "v:". */
static int read_json(struct cor_arena *arena, struct cor_str raw, bool is_key,
                     struct cor_str *ret_text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_str text;
    char *room = cor_arena_alloc(arena, raw.n);
    bool is_canonical;
    int r;

    cor_arena_charge(arena, JSON_STEPS + raw.n / COR_WORK_STEP_BYTES);
    if (!room)
        return arena->error;
    r = cor_json_unescape(raw, room, raw.n, &text);
    assert(r == 0);
    r = cor_json_check(text, &limits, &is_canonical, NULL);
    if (r < 0)
        return r == -COR_ETOOBIG ? r : -COR_EINVAL;
    text = cor_json_first_value(text);
    cor_buf_init(&out, 6 * text.n + COR_FLOAT_TEXT_MAX);
    r = is_key ? add_read_key(arena, &out, text) : add_read_value(arena, &out, text);
    if (r < 0)
        return r;
    *ret_text = cor_arena_copy(arena, cor_buf_str(&out));
    return ret_text->p ? 0 : arena->error;
}

static int read_index(struct cor_arena *arena, struct cor_str raw, struct cor_str *ret_text)
{
    char text[24];
    int64_t index;
    int n;

    if (cor_str_to_i64(raw, &index) < 0)
        return -COR_EINVAL;
    n = snprintf(text, sizeof(text), "%lld", (long long)index);
    *ret_text = cor_arena_copy(arena, cor_str(text, (size_t)n));
    return ret_text->p ? 0 : arena->error;
}

int cor_path_element_read(struct cor_arena *arena, struct cor_str raw,
                          struct cor_path_element *ret_element)
{
    struct cor_str rest;
    int r = 0;

    if (raw.n >= 2 && has_backslash(cor_str(raw.p, 2))) {
        raw = canonical_raw(arena, raw);
        if (!raw.p)
            return arena->error;
    }
    if (raw.n < 2 || raw.p[1] != ':')
        return -COR_EINVAL;
    rest = cor_str_from(raw, 2);
    switch (raw.p[0]) {
    case 'f':
        ret_element->kind = COR_PATH_FIELD;
        ret_element->text = has_backslash(rest) ? canonical_raw(arena, rest) : rest;
        return ret_element->text.p ? 0 : arena->error;
    case 'k':
        ret_element->kind = COR_PATH_KEY;
        r = read_json(arena, rest, true, &ret_element->text);
        break;
    case 'v':
        ret_element->kind = COR_PATH_VALUE;
        r = read_json(arena, rest, false, &ret_element->text);
        break;
    case 'i':
        ret_element->kind = COR_PATH_INDEX;
        r = read_index(arena, rest, &ret_element->text);
        break;
    default:
        return 1;
    }
    return r;
}

/* Go escapes these in every text, so that it can stand inside HTML. NULL: the byte needs no escape.
 * `p` has `left` bytes; *ret_n is how many of them the escape replaces. */
static const char *html_escape(const char *p, size_t left, size_t *ret_n)
{
    *ret_n = 1;
    switch (*p) {
    case '<':
        return "u003c";
    case '>':
        return "u003e";
    case '&':
        return "u0026";
    case '\xe2':
        *ret_n = 3;
        if (left >= 3 && p[1] == '\x80' && (p[2] == '\xa8' || p[2] == '\xa9'))
            return p[2] == '\xa8' ? "u2028" : "u2029";
        return NULL;
    default:
        return NULL;
    }
}

/* Appends raw text or JSON text inside the key. In JSON text (`is_nested`) every quote and
 * backslash gets a backslash of its own, because the key is a string again. */
static int add_escaped(struct cor_buf *out, struct cor_str text, bool is_nested)
{
    const char *backslash = is_nested ? "\\\\" : "\\";
    size_t done = 0, n;
    int r = 0;

    for (size_t i = 0; i < text.n && r == 0; i++) {
        const char *escape = html_escape(text.p + i, text.n - i, &n);

        if (!escape && text.p[i] == '\\' && i + 1 < text.n) {
            /* Upstream's writer knows no \b and \f. */
            escape = text.p[i + 1] == 'b' ? "u0008" : text.p[i + 1] == 'f' ? "u000c" : NULL;
            n = 2;
        }
        if (!escape && !(is_nested && (text.p[i] == '"' || text.p[i] == '\\'))) {
            if (text.p[i] == '\\')
                i++;
            continue;
        }
        r = cor_buf_add(out, text.p + done, i - done);
        if (r == 0 && escape) {
            r = cor_buf_addf(out, "%s%s", backslash, escape);
            i += n - 1;
        } else if (r == 0 && text.p[i] == '\\') {
            r = text.p[i + 1] == '"' || text.p[i + 1] == '\\'
                    ? cor_buf_addf(out, "\\\\\\%c", text.p[i + 1])
                    : cor_buf_addf(out, "\\\\%c", text.p[i + 1]);
            i++;
        } else if (r == 0) {
            r = cor_buf_addz(out, "\\\"");
        }
        done = i + 1;
    }
    return r < 0 ? r : cor_buf_add(out, text.p + done, text.n - done);
}

/* Letters, digits and the punctuation of names; nothing of it is ever escaped. */
static bool is_plain_name(struct cor_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i], low = c | 0x20;

        if (!((low >= 'a' && low <= 'z') || (c >= '-' && c <= '9') || c == '_'))
            return false;
    }
    return true;
}

int cor_path_element_write(const struct cor_path_element *element, struct cor_buf *out)
{
    static const struct cor_str prefixes[] = {COR_STR_INIT("\"f:"), COR_STR_INIT("\"k:"),
                                              COR_STR_INIT("\"v:"), COR_STR_INIT("\"i:")};
    int r = cor_buf_adds(out, prefixes[element->kind]);

    if (r == 0)
        r = is_plain_name(element->text)
                ? cor_buf_adds(out, element->text)
                : add_escaped(out, element->text, element->kind != COR_PATH_FIELD);
    return r < 0 ? r : cor_buf_addc(out, '"');
}

/* Appends the text of raw text; `is_quoted`: as Go's %q has it. */
static int print_raw(struct cor_buf *out, struct cor_str raw, bool is_quoted)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf room = {0};
    struct cor_str text = raw;
    int r = 0;

    if (has_backslash(raw)) {
        cor_buf_init(&room, raw.n);
        r = cor_buf_reserve(&room, raw.n);
        if (r < 0)
            return r;
        r = cor_json_unescape(raw, room.p, raw.n, &text);
        assert(r == 0);
    }
    return is_quoted ? cor_quote(text, out) : cor_buf_adds(out, text);
}

static int print_value(struct cor_buf *out, struct cor_str value)
{
    return cor_json_type(value) == COR_JSON_STRING ? print_raw(out, string_raw(value), true)
                                                   : cor_buf_adds(out, value);
}

static int print_key(struct cor_buf *out, struct cor_str key)
{
    struct cor_json_iter it = cor_json_iter(key);
    struct cor_str name;
    const char *before = "";
    int r = 0;

    while (r == 0 && cor_json_iter_member(&it, &name)) {
        r = cor_buf_addz(out, before);
        if (r == 0)
            r = print_raw(out, name, false);
        if (r == 0)
            r = cor_buf_addc(out, '=');
        if (r == 0)
            r = print_value(out, cor_json_iter_value(&it));
        before = ",";
    }
    return r;
}

int cor_path_element_print(const struct cor_path_element *element, struct cor_buf *out)
{
    int r = cor_buf_addz(out, element->kind == COR_PATH_FIELD   ? "."
                              : element->kind == COR_PATH_VALUE ? "[="
                                                                : "[");

    if (r < 0)
        return r;
    switch (element->kind) {
    case COR_PATH_FIELD:
        return print_raw(out, element->text, false);
    case COR_PATH_KEY:
        r = print_key(out, element->text);
        break;
    case COR_PATH_VALUE:
        r = print_value(out, element->text);
        break;
    case COR_PATH_INDEX:
        r = cor_buf_adds(out, element->text);
        break;
    }
    return r < 0 ? r : cor_buf_addc(out, ']');
}
