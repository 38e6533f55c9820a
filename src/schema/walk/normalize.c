/* clang-format off */
/* The normal form is made by edits: one walk goes over the canonical bytes and the type together,
 * and each place that differs from what Go would write is replaced. Between two edits the bytes are
 * copied as they are; without an edit nothing is copied, and the object is in normal form already.
 *
 *   walk_struct   merges the members of the object with those of the type, both sorted by name
 *     ├─ a member of the object alone: cut
 *     ├─ a member of the type alone:   written if Go writes it (COR_FIELD_WRITTEN)
 *     └─ of both:                      walk_member: cut, zero, or walk_value
 *   walk_value    by the shape of the type: containers recurse, texts are rewritten one by one
 *
 * What Go leaves out can be seen before a value is walked: elements of lists and entries of maps
 * are never dropped, so a container is empty after the walk only if it was empty before.
 * Failures: no memory, or a result beyond the buffer's maximum; the walk then stops. Thread: any. */
/* clang-format on */
#include "schema/walk/normalize.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "meta/value/quantity.h"
#include "meta/value/time_text.h"
#include "schema/types/types_int.h"
#include "json/text/float_text.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define GROWTH_GUESS 256 /* what zero values usually add */
#define TEXT_MAX     64
/* The instant that Go calls zero: the first second of the year 1. */
#define ZERO_TIME_S (-62135596800)

struct walk {
    const char *begin, *end;
    const char *done; /* the bytes before it are in `out`, or were replaced there */
    struct cor_buf *out;
    bool is_changed;
    bool has_empty; /* a list or map without elements was dropped */
    uint8_t seen;   /* enum cor_field_flag of all members of the object */
    unsigned depth;
    int error;
};

static void walk_value(struct walk *w, const struct cor_type *type, struct cor_json_iter *it);

static const struct cor_type *type_of(const struct cor_type_field *field)
{
    return &cor_types[field->type];
}

static void walk_check(struct walk *w, int r)
{
    if (r < 0 && w->error == 0)
        w->error = r;
}

static void add(struct walk *w, struct cor_str text)
{
    walk_check(w, cor_buf_adds(w->out, text));
}

/* Begins an edit: what precedes `from` is kept. The caller adds what is there instead. */
static void keep_until(struct walk *w, const char *from)
{
    assert(w->done <= from && from <= w->end);
    if (!w->is_changed) {
        size_t n = (size_t)(w->end - w->begin);

        w->is_changed = true;
        /* Without room for a guess, the bytes grow the buffer when they come. */
        if (w->out->max - w->out->n >= n + GROWTH_GUESS)
            walk_check(w, cor_buf_reserve(w->out, n + GROWTH_GUESS));
    }
    add(w, cor_str(w->done, (size_t)(from - w->done)));
    w->done = from;
}

static void replace(struct walk *w, const char *from, const char *to, struct cor_str text)
{
    keep_until(w, from);
    add(w, text);
    w->done = to;
}

/* Appends the zero value of a type as Go writes it. */
static void add_zero(struct walk *w, const struct cor_type *type);

/* Appends the member of a field that is not set and that Go writes all the same. */
static void add_zero_member(struct walk *w, const struct cor_type_field *field, bool need_comma)
{
    add(w, need_comma ? COR_STR(",\"") : COR_STR("\""));
    add(w, cor_type_field_name(field));
    add(w, COR_STR("\":"));
    if (field->flags & COR_FIELD_POINTER)
        add(w, COR_STR("null"));
    else
        add_zero(w, type_of(field));
}

static void add_zero_struct(struct walk *w, const struct cor_type *type)
{
    bool need_comma = false;

    add(w, COR_STR("{"));
    for (size_t m = 0; m < type->nmembers; m++) {
        const struct cor_type_field *field =
            &cor_type_fields[cor_type_members[type->first_member + m].field];

        if (!(field->flags & COR_FIELD_WRITTEN))
            continue;
        add_zero_member(w, field, need_comma);
        need_comma = true;
    }
    add(w, COR_STR("}"));
}

/* The zero value of a shape; a struct's is made of its members' (p is NULL). */
static struct cor_str zero_of(enum cor_shape shape)
{
    switch (shape) {
    case COR_SHAPE_STRUCT:
        return (struct cor_str){NULL, 0};
    case COR_SHAPE_STRING:
        return COR_STR("\"\"");
    case COR_SHAPE_BOOL:
    case COR_SHAPE_SCHEMA_OR_BOOL:
        return COR_STR("false");
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_FLOAT64:
    case COR_SHAPE_INT_OR_STRING:
        return COR_STR("0");
    case COR_SHAPE_QUANTITY:
        return COR_STR("\"0\"");
    case COR_SHAPE_DURATION:
        return COR_STR("\"0s\"");
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
    case COR_SHAPE_BYTES:
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
    case COR_SHAPES:
        break;
    }
    return COR_STR("null");
}

static void add_zero(struct walk *w, const struct cor_type *type)
{
    struct cor_str zero = zero_of((enum cor_shape)type->shape);

    if (zero.p)
        add(w, zero);
    else
        add_zero_struct(w, type);
}

static bool is_number_zero(struct cor_str value)
{
    return cor_str_eq(value, COR_STR("0")) || cor_str_eq(value, COR_STR("-0"));
}

/* A decimal digit is where the pattern has a 0; every other byte is the pattern's. */
static bool has_pattern(struct cor_str text, struct cor_str pattern)
{
    if (text.n != pattern.n)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        bool is_digit = text.p[i] >= '0' && text.p[i] <= '9';

        if (pattern.p[i] == '0' ? !is_digit : text.p[i] != pattern.p[i])
            return false;
    }
    return true;
}

static int64_t seconds_of(int64_t us)
{
    return us / 1000000 - (us % 1000000 < 0);
}

/* Returns whether this is the instant that represents an unset time in Go. A Time has only seconds.
 */
static bool is_zero_time(struct cor_str value, bool is_micro)
{
    struct cor_str raw;
    int64_t us;

    /* Go's zero time is the first instant of the year 1. Written with an offset it may be in the
     * year 0, so its text begins with a 0 in any case. */
    return cor_json_to_raw(value, &raw) == 0 && raw.n > 0 && raw.p[0] == '0' &&
           cor_micro_time_parse(raw, &us) == 0 && seconds_of(us) == ZERO_TIME_S &&
           (!is_micro || us % 1000000 == 0);
}

static void walk_time(struct walk *w, struct cor_str value, bool is_micro)
{
    char text[COR_MICRO_TIME_TEXT_MAX + 2];
    struct cor_str raw, printed;
    int64_t us;

    if (cor_json_to_raw(value, &raw) < 0 ||
        (raw.n > 0 && raw.p[0] != '0' &&
         has_pattern(raw, is_micro ? COR_STR("0000-00-00T00:00:00.000000Z")
                                   : COR_STR("0000-00-00T00:00:00Z"))) ||
        cor_micro_time_parse(raw, &us) < 0)
        return;
    if (is_zero_time(value, is_micro)) {
        replace(w, value.p, value.p + value.n, COR_STR("null"));
        return;
    }
    printed = is_micro ? cor_micro_time_print(us, text) : cor_time_print(seconds_of(us), text);
    if (!cor_str_eq(printed, raw))
        replace(w, raw.p, raw.p + raw.n, printed);
}

static void walk_quantity(struct walk *w, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_str raw, trimmed;
    bool is_text = cor_json_to_raw(value, &raw) == 0;
    int r;

    if (!is_text && cor_json_type(value) != COR_JSON_NUMBER)
        return;
    trimmed = cor_str_trim(is_text ? raw : value);
    cor_buf_init(&text, value.n + TEXT_MAX);
    r = cor_quantity_rewrite(trimmed, 0, &text, NULL);
    if (r < 0 && r != -COR_EINVAL)
        walk_check(w, r);
    if (r < 0 || (r == 0 && is_text && trimmed.n == raw.n))
        return;
    keep_until(w, value.p);
    add(w, COR_STR("\""));
    add(w, r == 1 ? cor_buf_str(&text) : trimmed);
    add(w, COR_STR("\""));
    w->done = value.p + value.n;
}

static void walk_float(struct walk *w, struct cor_str value)
{
    char copy[TEXT_MAX], text[COR_FLOAT_TEXT_MAX];
    struct cor_str printed;
    double number;

    if (cor_json_type(value) != COR_JSON_NUMBER || value.n >= sizeof(copy))
        return;
    memcpy(copy, value.p, value.n);
    copy[value.n] = '\0';
    number = strtod(copy, NULL);
    /* No client can send such a number, but a store may have it. */
    if (!isfinite(number))
        return;
    printed = cor_float_print(number, text);
    if (!cor_str_eq(printed, value))
        replace(w, value.p, value.p + value.n, printed);
}

static unsigned base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (unsigned)(c - 'A');
    if (c >= 'a' && c <= 'z')
        return (unsigned)(c - 'a') + 26;
    return c >= '0' && c <= '9' ? (unsigned)(c - '0') + 52 : c == '+' ? 62 : 63;
}

/* Would Go write this base64 as it is? It has no line breaks, and no bits that count for nothing.
 */
static bool is_base64_canonical(struct cor_str raw)
{
    unsigned padding = raw.n > 0 && raw.p[raw.n - 1] == '=';

    if (raw.n % 4 != 0 || memchr(raw.p, '\\', raw.n))
        return false;
    if (padding == 0)
        return true;
    padding += raw.p[raw.n - 2] == '=';
    return (base64_value(raw.p[raw.n - 1 - padding]) & (padding == 1 ? 3 : 15)) == 0;
}

/* Go also reads bytes from a list of numbers. -COR_EINVAL: these are not bytes. */
static int bytes_of_list(struct cor_str value, struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(value);
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it)) {
        struct cor_str element = cor_json_iter_value(&it);
        int64_t number = 0;

        if (!cor_str_eq(element, COR_STR("null")) &&
            (cor_json_to_i64(element, &number) < 0 || number < 0 || number > 255))
            return -COR_EINVAL;
        r = cor_buf_addc(out, (char)number);
    }
    return r;
}

static int bytes_of_text(struct cor_str raw, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf room = {0};
    struct cor_str text;
    int r;

    cor_buf_init(&room, raw.n + 1);
    r = cor_buf_reserve(&room, raw.n + 1);
    if (r == 0)
        r = cor_json_unescape(raw, room.p, raw.n, &text);
    return r < 0 ? r : cor_base64_decode(COR_BASE64_STD, text, out, NULL);
}

static void walk_bytes(struct walk *w, struct cor_str value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes = {0}, text = {0};
    struct cor_str raw;
    bool is_list = cor_json_type(value) == COR_JSON_ARRAY;
    int r;

    if (!is_list && (cor_json_to_raw(value, &raw) < 0 || is_base64_canonical(raw)))
        return;
    cor_buf_init(&bytes, value.n);
    cor_buf_init(&text, 2 * value.n + TEXT_MAX);
    r = is_list ? bytes_of_list(value, &bytes) : bytes_of_text(raw, &bytes);
    if (r == 0)
        r = cor_base64_encode(COR_BASE64_STD, cor_buf_str(&bytes), &text);
    if (r < 0) {
        if (r != -COR_EINVAL)
            walk_check(w, r);
        return;
    }
    keep_until(w, value.p);
    add(w, COR_STR("\""));
    add(w, cor_buf_str(&text));
    add(w, COR_STR("\""));
    w->done = value.p + value.n;
}

/* Any JSON keeps its bytes, except for the spaces between them and for Go's escapes in texts. */
static void walk_raw(struct walk *w, struct cor_str value)
{
    bool in_text = false;

    for (const char *p = value.p, *end = value.p + value.n; p < end && w->error == 0; p++) {
        switch (*p) {
        case '"':
            in_text = !in_text;
            break;
        case '\\':
            p++;
            break;
        case '<':
            replace(w, p, p + 1, COR_STR("\\u003c"));
            break;
        case '>':
            replace(w, p, p + 1, COR_STR("\\u003e"));
            break;
        case '&':
            replace(w, p, p + 1, COR_STR("\\u0026"));
            break;
        case '\xe2': /* U+2028 and U+2029, which JavaScript takes for line breaks */
            if (end - p >= 3 && p[1] == '\x80' && (p[2] == '\xa8' || p[2] == '\xa9')) {
                replace(w, p, p + 3, p[2] == '\xa8' ? COR_STR("\\u2028") : COR_STR("\\u2029"));
                p += 2;
            }
            break;
        default:
            if (!in_text && cor_json_is_space(*p))
                replace(w, p, p + 1, COR_STR(""));
        }
    }
}

static void replace_by_zero(struct walk *w, const struct cor_type *type, struct cor_str value)
{
    struct cor_str zero = zero_of((enum cor_shape)type->shape);

    if (zero.p && cor_str_eq(zero, value))
        return;
    keep_until(w, value.p);
    add_zero(w, type);
    w->done = value.p + value.n;
}

/* What Go makes of null in a list, or as the value of a map's key. Bytes and lists without elements
 * come back from protobuf as such. */
static void replace_null(struct walk *w, const struct cor_type *type, struct cor_str value)
{
    if (type->shape == COR_SHAPE_BYTES)
        replace(w, value.p, value.p + value.n, COR_STR("\"\""));
    else if (type->shape == COR_SHAPE_LIST)
        replace(w, value.p, value.p + value.n, COR_STR("[]"));
    else
        replace_by_zero(w, type, value);
}

/* Walks the current value of `it` if it is set, and makes it a zero value if it is null. */
static void walk_element(struct walk *w, const struct cor_type *type, struct cor_json_iter *it)
{
    if (*it->value == 'n')
        replace_null(w, type, cor_json_iter_value(it));
    else
        walk_value(w, type, it);
}

/* Texts and booleans are in normal form when they are there. */
static bool is_plain(const struct cor_type *type)
{
    return type->shape == COR_SHAPE_STRING || type->shape == COR_SHAPE_BOOL;
}

static void walk_elements(struct walk *w, const struct cor_type *element, struct cor_json_iter *it)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));
    bool is_map = *it->value == '{', plain = is_plain(element);
    struct cor_str key;

    if (plain && cor_json_iter_skip_texts(it))
        return;
    while (w->error == 0 &&
           (is_map ? cor_json_iter_member(&inner, &key) : cor_json_iter_elem(&inner))) {
        if (!plain || *inner.value == 'n')
            walk_element(w, element, &inner);
    }
    cor_json_iter_leave(it, &inner);
}

/* Returns whether Go would write nothing for this value of a field with omitempty. */
static bool is_empty(enum cor_shape shape, const struct cor_json_iter *it)
{
    const char *value = it->value;

    switch (shape) {
    case COR_SHAPE_LIST:
        return value[0] == '[' && value[1] == ']';
    case COR_SHAPE_MAP:
        return value[0] == '{' && value[1] == '}';
    case COR_SHAPE_STRING:
        return value[0] == '"' && value[1] == '"';
    case COR_SHAPE_BYTES:
        return (value[0] == '"' && value[1] == '"') || (value[0] == '[' && value[1] == ']');
    case COR_SHAPE_BOOL:
        return value[0] == 'f';
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_FLOAT64:
        return (value[0] == '0' || value[0] == '-') &&
               is_number_zero(cor_json_first_value(cor_json_iter_open_value(it)));
    default:
        return false;
    }
}

/* A time that is zero was never set, and so was a choice of schemas without any. */
static bool is_unset(const struct cor_type *type, const struct cor_json_iter *it)
{
    const char *value = it->value;

    if (value[0] == 'n')
        return true;
    switch ((enum cor_shape)type->shape) {
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
        return value[0] == '"' && value[1] == '0' &&
               is_zero_time(cor_json_first_value(cor_json_iter_open_value(it)),
                            type->shape == COR_SHAPE_MICRO_TIME);
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        return value[0] == '[' && value[1] == ']';
    default:
        return false;
    }
}

/* Does Go leave out this member, although the object has it? */
static bool is_left_out(const struct cor_type_field *field, const struct cor_json_iter *it)
{
    const struct cor_type *type = type_of(field);

    if (is_unset(type, it))
        return !(field->flags & COR_FIELD_WRITTEN);
    return (field->flags & (COR_FIELD_OMITEMPTY | COR_FIELD_POINTER)) == COR_FIELD_OMITEMPTY &&
           is_empty((enum cor_shape)type->shape, it);
}

/* Walks a member that is kept. */
static void walk_member(struct walk *w, const struct cor_type_field *field,
                        struct cor_json_iter *it)
{
    const struct cor_type *type = type_of(field);
    bool is_pointer = field->flags & COR_FIELD_POINTER;
    bool is_container = type->shape == COR_SHAPE_LIST || type->shape == COR_SHAPE_MAP;
    struct cor_str value;

    if (!is_unset(type, it) &&
        (is_pointer || !is_container || !is_empty((enum cor_shape)type->shape, it))) {
        walk_value(w, type, it);
        return;
    }
    value = cor_json_iter_value(it);
    if (*value.p == 'n' && (is_pointer || is_container))
        return;
    w->has_empty |= is_container;
    if (is_pointer || is_container)
        replace(w, value.p, value.p + value.n, COR_STR("null"));
    else
        replace_by_zero(w, type, value);
}

/* Where the walk of a struct is. */
struct place {
    const char *at;  /* end of what was read of the object: its brace, or a member */
    bool need_comma; /* a member was kept or written */
};

static void write_unset(struct walk *w, const struct cor_type_field *field, struct place *place)
{
    keep_until(w, place->at);
    add_zero_member(w, field, place->need_comma);
    place->need_comma = true;
}

/* Puts a comma before a member that is kept, or takes it away; `begin` is the member's quote. */
static void mend_comma(struct walk *w, const struct place *place, const char *begin)
{
    bool has_comma = place->at < begin;

    if (has_comma != place->need_comma)
        replace(w, place->at, begin, place->need_comma ? COR_STR(",") : COR_STR(""));
}

static void cut_member(struct walk *w, struct place *place, const char *end)
{
    replace(w, place->at, end, COR_STR(""));
    place->at = end;
}

/* Byte order of a member's name and a key without escapes. */
static int compare_name(const char *name, struct cor_str key)
{
    int order = strncmp(name, key.p, key.n);

    return order == 0 && name[key.n] != '\0' ? 1 : order;
}

static bool is_type_key(struct cor_str key)
{
    return cor_str_eq(key, COR_STR("kind")) || cor_str_eq(key, COR_STR("apiVersion"));
}

/* The current value of `it`, an object, and `type`, a struct. In the outermost object kind and
 * apiVersion precede all others, and are kept. */
static void walk_struct(struct walk *w, const struct cor_type *type, struct cor_json_iter *it)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));
    struct place place = {it->value + 1, false};
    bool is_top = w->depth == 0 && (type->flags & COR_TYPE_KIND);
    struct cor_str key;
    size_t m = 0;

    assert(w->depth < COR_JSON_DEPTH_MAX);
    w->depth++;
    while (w->error == 0 && cor_json_iter_member(&inner, &key)) {
        const struct cor_type_field *field = NULL;
        int order = 1;

        if (is_top && is_type_key(key)) {
            (void)cor_json_iter_value(&inner);
            mend_comma(w, &place, key.p - 1);
            place = (struct place){inner.p, true};
            continue;
        }
        /* No field's name has escapes, and a key with one may be elsewhere in the order. */
        for (; m < type->nmembers && !memchr(key.p, '\\', key.n); m++) {
            field = &cor_type_fields[cor_type_members[type->first_member + m].field];
            order = compare_name(cor_type_pool + field->name, key);
            if (order >= 0)
                break;
            if (field->flags & COR_FIELD_WRITTEN)
                write_unset(w, field, &place);
        }
        if (order != 0) {
            (void)cor_json_iter_value(&inner);
            cut_member(w, &place, inner.p);
            continue;
        }
        m++;
        if (is_left_out(field, &inner)) {
            w->has_empty |= *inner.value == '[' || *inner.value == '{';
            (void)cor_json_iter_value(&inner);
            cut_member(w, &place, inner.p);
            continue;
        }
        mend_comma(w, &place, key.p - 1);
        w->seen |= field->flags;
        walk_member(w, field, &inner);
        place = (struct place){inner.p, true};
    }
    for (; w->error == 0 && m < type->nmembers; m++) {
        const struct cor_type_field *field =
            &cor_type_fields[cor_type_members[type->first_member + m].field];

        if (field->flags & COR_FIELD_WRITTEN)
            write_unset(w, field, &place);
    }
    w->depth--;
    cor_json_iter_leave(it, &inner);
}

/* What is not a container. On its own, so that the frames of the recursion stay small. */
__attribute__((noinline)) static void walk_scalar(struct walk *w, const struct cor_type *type,
                                                  struct cor_str value)
{
    switch ((enum cor_shape)type->shape) {
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
    case COR_SHAPE_INT_OR_STRING:
        if (value.p[0] == '-' && is_number_zero(value))
            replace(w, value.p, value.p + value.n, COR_STR("0"));
        break;
    case COR_SHAPE_FLOAT64:
        walk_float(w, value);
        break;
    case COR_SHAPE_BYTES:
        walk_bytes(w, value);
        break;
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
        walk_time(w, value, type->shape == COR_SHAPE_MICRO_TIME);
        break;
    case COR_SHAPE_QUANTITY:
        walk_quantity(w, value);
        break;
    case COR_SHAPE_RAW:
    case COR_SHAPE_JSON:
        walk_raw(w, value);
        break;
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        if (cor_str_eq(value, COR_STR("[]")))
            replace(w, value.p, value.p + value.n, COR_STR("null"));
        break;
    default:
        break;
    }
}

/* The value may have another type in JSON than its shape: it is kept then. */
static void walk_value(struct walk *w, const struct cor_type *type, struct cor_json_iter *it)
{
    char first = *it->value;

    switch ((enum cor_shape)type->shape) {
    case COR_SHAPE_STRUCT:
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
        if (first == '{') {
            walk_struct(w, type->shape == COR_SHAPE_STRUCT ? type : &cor_types[type->element], it);
            return;
        }
        if (first == '[' && type->shape == COR_SHAPE_SCHEMA_OR_ARRAY && it->value[1] != ']') {
            walk_elements(w, &cor_types[type->element], it);
            return;
        }
        break;
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
        if (first == (type->shape == COR_SHAPE_LIST ? '[' : '{')) {
            walk_elements(w, &cor_types[type->element], it);
            return;
        }
        break;
    default:
        break;
    }
    walk_scalar(w, type, cor_json_iter_value(it));
}

int cor_normalize(const struct cor_type *type, struct cor_str json, struct cor_buf *out)
{
    struct cor_normalize_notes ignored;

    return cor_normalize_noting(type, json, out, &ignored);
}

int cor_normalize_noting(const struct cor_type *type, struct cor_str json, struct cor_buf *out,
                         struct cor_normalize_notes *ret_notes)
{
    struct walk w = {.begin = json.p, .end = json.p + json.n, .done = json.p, .out = out};
    struct cor_json_iter it = {json.p, json.p + json.n, json.p};
    size_t before = out->n;

    assert(type->shape == COR_SHAPE_STRUCT && json.n > 0);
    *ret_notes = (struct cor_normalize_notes){0};
    if (json.p[0] != '{')
        return 0;
    walk_struct(&w, type, &it);
    ret_notes->has_gated = w.seen & COR_FIELD_GATED;
    ret_notes->has_empty = w.has_empty;
    if (w.is_changed)
        keep_until(&w, w.end);
    if (w.error < 0)
        cor_buf_truncate(out, before);
    return w.error < 0 ? w.error : w.is_changed;
}
