/* clang-format off */
/* The read walk: JSON and a type go side by side, as Go's decoder goes over both.
 *
 *   value ──► by the type's shape:
 *     struct           each member is looked up in the tables ──► its value, with the field's type;
 *                      a name that the type does not have, or a second one, is a finding
 *     list, map        each element; a map's key that comes twice is a finding
 *     scalar           the JSON type, then the range or the form
 *     raw JSON         nothing inside is looked at
 *     schema or ...    a decoder within the decoder (read_nested)
 *
 * What goes wrong, in the order in which it counts:
 *   1. A text that its own decoder refuses (a time, a quantity, an int-or-string, whatever a nested
 *      decoder finds) ends the walk at once, whatever was wrong before.
 *   2. Another value that the type cannot hold is remembered, the first of them only, and the walk
 *      goes on, because the first kind may follow.
 *   3. Findings count only when there is neither.
 * report->error has the words of what is remembered, and behind them those that end the walk. A
 * mistake in a nested decoder will end the walk, so its words replace those of the decoders around
 * it. That is why all of them fit into COR_READ_ERROR_MAX: a path is as long as the depth of JSON
 * lets it be, and a number is cut.
 * A walk without a report only asks whether there is anything at all, and ends at the first thing.
 * Without memory the walk ends with -COR_ENOMEM.
 * Thread: any (pure). */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/err.h"
#include "base/str_set.h"
#include "meta/value/quantity.h"
#include "schema/walk/read_int.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define LITERAL_SHOWN_MAX 1024 /* bytes of a number that a message repeats; Go repeats all */
#define FIELD_NAME_MAX    128  /* bytes of the longest name in the tables, with room */
#define KEYS_MAX          (1u << 31)

struct read_walk {
    struct cor_read_report *report; /* NULL: the walk only asks whether there would be one */
    struct cor_str json;
    struct cor_buf scratch; /* a text without its escapes */
    struct cor_buf keys;    /* of maps, without escapes; room for all, so that none moves */
    bool has_error;         /* the present decoder remembers one, in report->error */
    unsigned nested;        /* decoders around the present one */
    struct cor_read_place *nested_at; /* where the outermost of the nested decoders began */
    bool is_over;                     /* nothing that follows counts */
    int r;                            /* the result, once the walk is over */
};

static void read_value(struct read_walk *w, struct cor_json_iter *it, const struct cor_type *type,
                       struct cor_read_place *at);

static void read_end(struct read_walk *w, int r)
{
    w->is_over = true;
    w->r = r;
}

/* --- What goes wrong. --- */

/* Writes the names of the fields on the way to `at`, with points between them. */
static int read_add_fields(const struct cor_read_place *at, struct cor_buf *out)
{
    size_t mark;
    int r;

    if (!at)
        return 0;
    mark = out->n;
    r = read_add_fields(at->up, out);
    if (r == 0 && at->owner && out->n > mark)
        r = cor_buf_addc(out, '.');
    return r == 0 && at->owner ? cor_buf_adds(out, at->name) : r;
}

/* Go names the struct that declares the innermost field, and the fields on the way to it, without
 * keys and indices. The nested decoders' own paths are lost, since the outermost decoder overwrites
 * them with its own. */
static int read_add_mismatch(struct read_walk *w, const struct cor_read_place *at,
                             struct cor_str what, struct cor_str go_type)
{
    struct cor_buf *out = &w->report->error;
    const struct cor_read_place *innermost;
    int r;

    if (w->nested > 0)
        at = w->nested_at;
    innermost = at;
    while (innermost && !innermost->owner)
        innermost = innermost->up;
    r = cor_buf_addf(out, "json: cannot unmarshal %.*s into Go ", COR_STR_ARG(what));
    if (r == 0 && innermost)
        r = cor_buf_addf(out, "struct field %.*s.", COR_STR_ARG(cor_type_name(innermost->owner)));
    else if (r == 0)
        r = cor_buf_addz(out, "value");
    if (r == 0)
        r = read_add_fields(innermost, out);
    return r < 0 ? r : cor_buf_addf(out, " of type %.*s", COR_STR_ARG(go_type));
}

/* The present decoder is about to write the words of the first mistake that it remembers. The words
 * of the decoders around it count no more, because this mistake will end the walk. */
static void read_begin_words(struct read_walk *w)
{
    w->has_error = true;
    if (w->nested > 0)
        cor_buf_reset(&w->report->error);
}

/* Remembers that the type cannot hold a value, unless there is an earlier one. */
static void read_mismatch(struct read_walk *w, const struct cor_read_place *at, struct cor_str what,
                          struct cor_str go_type)
{
    if (!w->report) {
        read_end(w, -COR_EINVAL);
    } else if (!w->has_error) {
        read_begin_words(w);
        if (read_add_mismatch(w, at, what, go_type) < 0)
            read_end(w, -COR_ENOMEM);
    }
}

/* Ends the walk with the words behind `from` in the error; what precedes them does not count any
 * more. */
static void read_abort(struct read_walk *w, size_t from)
{
    struct cor_buf *error = &w->report->error;

    memmove(error->p, error->p + from, error->n - from);
    cor_buf_truncate(error, error->n - from);
    read_end(w, -COR_EINVAL);
}

/* The result of a decoder that ends the walk when it fails; it wrote its words behind `from`. */
static void read_checked(struct read_walk *w, int r, size_t from)
{
    if (r == -COR_EINVAL && w->report)
        read_abort(w, from);
    else if (r < 0)
        read_end(w, r);
}

static void read_type_error(struct read_walk *w, const struct cor_json_iter *it,
                            const struct cor_read_place *at, struct cor_str go_type)
{
    enum cor_json_type type = cor_json_type(cor_json_iter_open_value(it));

    read_mismatch(w, at, cor_strz(cor_json_go_type(type)), go_type);
}

/* The same by a decoder that ends the walk. */
static void read_type_error_at_once(struct read_walk *w, const struct cor_json_iter *it,
                                    const struct cor_read_place *at, struct cor_str go_type)
{
    enum cor_json_type type = cor_json_type(cor_json_iter_open_value(it));
    size_t from = w->report ? w->report->error.n : 0;
    int r = 0;

    if (w->report)
        r = read_add_mismatch(w, at, cor_strz(cor_json_go_type(type)), go_type);
    read_checked(w, r < 0 ? -COR_ENOMEM : -COR_EINVAL, from);
}

static void read_find(struct read_walk *w, const char *what, struct cor_read_place *at,
                      struct cor_str raw_key)
{
    int r;

    /* A nested decoder is not strict. */
    if (w->nested > 0)
        return;
    if (!w->report) {
        read_end(w, -COR_EINVAL);
        return;
    }
    r = cor_read_report_find(w->report, what, at, raw_key, &w->scratch);
    if (r < 0)
        read_end(w, r);
}

/* --- Scalars. --- */

static char read_first(const struct cor_json_iter *it)
{
    return it->value < it->end ? *it->value : '\0';
}

static bool read_is_number(char first)
{
    return first == '-' || (first >= '0' && first <= '9');
}

/* What Go calls a number that its type cannot hold, for a message. */
struct read_literal {
    char text[LITERAL_SHOWN_MAX + 8];
};

static struct cor_str read_print_number(struct cor_str number, struct read_literal *out)
{
    size_t n = number.n < LITERAL_SHOWN_MAX ? number.n : LITERAL_SHOWN_MAX;
    int printed = snprintf(out->text, sizeof(out->text), "number %.*s", (int)n, number.p);

    return cor_str(out->text, (size_t)printed);
}

static bool read_is_integer(struct cor_str number, int64_t min, int64_t max)
{
    int64_t n;

    return cor_json_to_i64(number, &n) == 0 && n >= min && n <= max;
}

/* Takes the number that comes. False: there is none, which is an error unless null comes. */
static bool read_number(struct read_walk *w, struct cor_json_iter *it, struct cor_str go_type,
                        const struct cor_read_place *at, struct cor_str *ret_number)
{
    char first = read_first(it);

    if (!read_is_number(first)) {
        if (first != 'n')
            read_type_error(w, it, at, go_type);
        return false;
    }
    *ret_number = cor_json_iter_value(it);
    return true;
}

static void read_integer(struct read_walk *w, struct cor_json_iter *it, int64_t min, int64_t max,
                         struct cor_str go_type, const struct cor_read_place *at)
{
    struct read_literal shown;
    struct cor_str number;

    if (read_number(w, it, go_type, at, &number) && !read_is_integer(number, min, max))
        read_mismatch(w, at, read_print_number(number, &shown), go_type);
}

static void read_float(struct read_walk *w, struct cor_json_iter *it, struct cor_str go_type,
                       const struct cor_read_place *at)
{
    struct read_literal shown;
    struct cor_str number, huge;

    if (read_number(w, it, go_type, at, &number) && cor_json_find_huge(number, &huge) == 0)
        read_mismatch(w, at, read_print_number(number, &shown), go_type);
}

/* The text of the present string. A walk without a report decodes no escapes: it ends, and leaves
 * the answer to one with a report. False: the walk is over. */
static bool read_text(struct read_walk *w, struct cor_json_iter *it, struct cor_str *ret_text)
{
    struct cor_str raw = COR_STR("");
    int r;

    (void)cor_json_to_raw(cor_json_iter_value(it), &raw);
    *ret_text = raw;
    if (cor_str_find(raw, '\\') < 0)
        return true;
    if (!w->report) {
        read_end(w, -COR_EINVAL);
        return false;
    }
    cor_buf_reset(&w->scratch);
    r = cor_buf_reserve(&w->scratch, raw.n);
    if (r == 0)
        r = cor_json_unescape(raw, w->scratch.p, raw.n, ret_text);
    if (r < 0)
        read_end(w, -COR_ENOMEM);
    return r == 0;
}

/* A string in base64, or a list of numbers. A wrong base64 has no place in Go's words, but the walk
 * goes on as after any value that the type cannot hold. */
static void read_bytes(struct read_walk *w, struct cor_json_iter *it, struct cor_str go_type,
                       struct cor_read_place *at)
{
    struct cor_json_iter inner;
    struct cor_str text;
    size_t where = 0;

    switch (read_first(it)) {
    case 'n':
        return;
    case '"':
        if (!read_text(w, it, &text) || cor_base64_decode(COR_BASE64_STD, text, NULL, &where) == 0)
            return;
        if (!w->report) {
            read_end(w, -COR_EINVAL);
        } else if (!w->has_error) {
            read_begin_words(w);
            if (cor_buf_addf(&w->report->error, "illegal base64 data at input byte %zu", where) < 0)
                read_end(w, -COR_ENOMEM);
        }
        return;
    case '[':
        inner = cor_json_iter(cor_json_iter_open_value(it));
        while (!w->is_over && cor_json_iter_elem(&inner))
            read_integer(w, &inner, 0, UINT8_MAX, COR_STR("uint8"), at);
        cor_json_iter_leave(it, &inner);
        return;
    default:
        read_type_error(w, it, at, go_type);
    }
}

static void read_time(struct read_walk *w, struct cor_json_iter *it, bool is_micro,
                      const struct cor_read_place *at)
{
    struct cor_buf *why = w->report ? &w->report->error : NULL;
    size_t from = why ? why->n : 0;
    struct cor_str text;

    if (read_first(it) == 'n')
        return;
    if (read_first(it) != '"')
        read_type_error_at_once(w, it, at, COR_STR("string"));
    else if (read_text(w, it, &text))
        read_checked(w, cor_read_time(text, is_micro, why), from);
}

/* Go's parser gets the bytes of any value, without the quotes of a string. */
static void read_quantity(struct read_walk *w, struct cor_json_iter *it)
{
    struct cor_buf *why = w->report ? &w->report->error : NULL;
    size_t from = why ? why->n : 0;
    struct cor_str value;
    const char *mistake;

    if (read_first(it) == 'n')
        return;
    value = cor_json_iter_value(it);
    (void)cor_json_to_raw(value, &value);
    mistake = cor_quantity_mistake(cor_str_trim(value));
    if (mistake)
        read_checked(w, why && cor_buf_addz(why, mistake) < 0 ? -COR_ENOMEM : -COR_EINVAL, from);
}

/* Whatever is not a string is read as an int32 by a decoder of its own. */
static void read_int_or_string(struct read_walk *w, struct cor_json_iter *it,
                               const struct cor_read_place *at)
{
    size_t from = w->report ? w->report->error.n : 0;
    char first = read_first(it);
    struct read_literal shown;
    struct cor_str number;
    int r = -COR_EINVAL;

    if (first == '"' || first == 'n')
        return;
    if (!read_is_number(first)) {
        read_type_error_at_once(w, it, at, COR_STR("int32"));
        return;
    }
    number = cor_json_iter_value(it);
    if (read_is_integer(number, INT32_MIN, INT32_MAX))
        return;
    if (w->report &&
        read_add_mismatch(w, at, read_print_number(number, &shown), COR_STR("int32")) < 0)
        r = -COR_ENOMEM;
    read_checked(w, r, from);
}

/* --- Values that hold others. --- */

/* Escapes in a name are decoded only when the name is not found as written. */
size_t cor_read_find_member(const struct cor_type *type, struct cor_str raw_key)
{
    size_t i = cor_type_member_index(type, raw_key);
    char name[FIELD_NAME_MAX];
    struct cor_str text;

    if (i != SIZE_MAX || cor_str_find(raw_key, '\\') < 0 ||
        cor_json_unescape(raw_key, name, sizeof(name), &text) < 0)
        return i;
    return cor_type_member_index(type, text);
}

static void read_struct(struct read_walk *w, struct cor_json_iter *it, const struct cor_type *type,
                        struct cor_read_place *at)
{
    struct cor_read_place here = {.up = at, .owner = type};
    struct cor_member member;
    struct cor_str raw_key;
    uint64_t seen = 0;

    _Static_assert(COR_TYPE_MEMBERS_MAX <= 64, "a word has a bit for each member");
    while (!w->is_over && cor_json_iter_member(it, &raw_key)) {
        size_t i = cor_read_find_member(type, raw_key);

        if (i == SIZE_MAX) {
            read_find(w, "unknown", at, raw_key);
            continue;
        }
        cor_type_member(type, i, &member);
        here.name = cor_type_field_name(member.field);
        here.hash = 0;
        if (seen >> i & 1)
            read_find(w, "duplicate", at, here.name);
        seen |= (uint64_t)1 << i;
        read_value(w, it, cor_type_field_type(member.field), &here);
    }
}

/* Looks for a key among those before it; false: the walk is over. */
static bool read_map_key(struct read_walk *w, struct cor_str_set *keys, struct cor_read_place *at,
                         struct cor_str raw_key)
{
    struct cor_str text = raw_key;
    bool is_new = true;
    int r = 0;

    if (cor_str_find(raw_key, '\\') >= 0) {
        /* The set borrows the text, so that it must not move. */
        if (!w->keys.p)
            r = cor_buf_reserve(&w->keys, w->json.n);
        if (r == 0)
            r = cor_json_unescape(raw_key, w->keys.p + w->keys.n, w->json.n - w->keys.n, &text);
        if (r == 0)
            w->keys.n += text.n;
    }
    if (r == 0)
        r = cor_str_set_add(keys, text, &is_new);
    if (r < 0)
        read_end(w, -COR_ENOMEM);
    else if (!is_new)
        read_find(w, "duplicate", at, raw_key);
    return !w->is_over;
}

static void read_map(struct read_walk *w, struct cor_json_iter *it, const struct cor_type *type,
                     struct cor_read_place *at)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set keys;
    const struct cor_type *element = cor_type_element(type);
    bool is_string = cor_type_shape(element) == COR_SHAPE_STRING;
    struct cor_read_place here = {.up = at};

    cor_str_set_init(&keys, KEYS_MAX);
    while (!w->is_over && cor_json_iter_member(it, &here.name)) {
        if (w->report && w->nested == 0 && !read_map_key(w, &keys, at, here.name))
            break;
        here.hash = 0;
        if (!is_string || read_first(it) != '"')
            read_value(w, it, element, &here);
    }
}

static void read_list(struct read_walk *w, struct cor_json_iter *it, const struct cor_type *type,
                      struct cor_read_place *at)
{
    const struct cor_type *element = cor_type_element(type);
    struct cor_read_place here = {.up = at};

    for (; !w->is_over && cor_json_iter_elem(it); here.index++) {
        here.hash = 0;
        read_value(w, it, element, &here);
    }
}

/* A type whose Go code calls another decoder for its bytes, which begin with `opening`: as a value
 * of `type`, or as a list of strings when that is NULL. The decoder is not strict. What it finds
 * ends the walk, with the place of the present value. */
static void read_nested(struct read_walk *w, struct cor_json_iter *it, char opening,
                        const struct cor_type *type, struct cor_read_place *at)
{
    bool had_error = w->has_error;
    struct cor_json_iter inner;

    if (w->nested++ == 0)
        w->nested_at = at;
    w->has_error = false;
    inner = cor_json_iter(cor_json_iter_open_value(it));
    if (opening == '{') {
        read_struct(w, &inner, type, at);
    } else {
        while (!w->is_over && cor_json_iter_elem(&inner)) {
            if (type)
                read_value(w, &inner, type, at);
            else if (read_first(&inner) != '"' && read_first(&inner) != 'n')
                read_type_error(w, &inner, at, COR_STR("string"));
        }
    }
    if (!w->is_over)
        cor_json_iter_leave(it, &inner);
    if (!w->is_over && w->has_error)
        read_abort(w, 0);
    w->nested--;
    w->has_error = had_error;
}

static void read_schema_or(struct read_walk *w, struct cor_json_iter *it,
                           const struct cor_type *type, struct cor_read_place *at)
{
    enum cor_shape shape = cor_type_shape(type);
    char first = read_first(it);
    size_t from = w->report ? w->report->error.n : 0;
    int r = -COR_EINVAL;

    if (first == '{') {
        read_nested(w, it, '{', cor_type_element(type), at);
    } else if (first == '[' && shape != COR_SHAPE_SCHEMA_OR_BOOL) {
        read_nested(w, it, '[', shape == COR_SHAPE_SCHEMA_OR_ARRAY ? cor_type_element(type) : NULL,
                    at);
    } else if (shape == COR_SHAPE_SCHEMA_OR_BOOL && first != 't' && first != 'f' && first != 'n') {
        if (w->report && cor_buf_addz(&w->report->error, "boolean or JSON schema expected") < 0)
            r = -COR_ENOMEM;
        read_checked(w, r, from);
    }
}

/* Walks over the members or elements of the present value, which begins with `opening`; another one
 * is a mistake, except for null. */
static void read_container(struct read_walk *w, struct cor_json_iter *it,
                           const struct cor_type *type, char opening, struct cor_read_place *at)
{
    char first = read_first(it);
    struct cor_json_iter inner;

    if (first == 'n')
        return;
    if (first != opening) {
        read_type_error(w, it, at, cor_type_go_name(type));
        return;
    }
    inner = cor_json_iter(cor_json_iter_open_value(it));
    if (opening == '[')
        read_list(w, &inner, type, at);
    else if (cor_type_shape(type) == COR_SHAPE_MAP)
        read_map(w, &inner, type, at);
    else
        read_struct(w, &inner, type, at);
    if (!w->is_over)
        cor_json_iter_leave(it, &inner);
}

static void read_value(struct read_walk *w, struct cor_json_iter *it, const struct cor_type *type,
                       struct cor_read_place *at)
{
    char first = read_first(it);

    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
    case COR_SHAPE_MAP:
        read_container(w, it, type, '{', at);
        break;
    case COR_SHAPE_LIST:
        read_container(w, it, type, '[', at);
        break;
    case COR_SHAPE_STRING:
        if (first != '"' && first != 'n')
            read_type_error(w, it, at, cor_type_go_name(type));
        break;
    case COR_SHAPE_BOOL:
        if (first != 't' && first != 'f' && first != 'n')
            read_type_error(w, it, at, cor_type_go_name(type));
        break;
    case COR_SHAPE_INT32:
        read_integer(w, it, INT32_MIN, INT32_MAX, cor_type_go_name(type), at);
        break;
    case COR_SHAPE_INT64:
        read_integer(w, it, INT64_MIN, INT64_MAX, cor_type_go_name(type), at);
        break;
    case COR_SHAPE_FLOAT64:
        read_float(w, it, cor_type_go_name(type), at);
        break;
    case COR_SHAPE_BYTES:
        read_bytes(w, it, cor_type_go_name(type), at);
        break;
    case COR_SHAPE_TIME:
        read_time(w, it, false, at);
        break;
    case COR_SHAPE_MICRO_TIME:
        read_time(w, it, true, at);
        break;
    case COR_SHAPE_QUANTITY:
        read_quantity(w, it);
        break;
    case COR_SHAPE_INT_OR_STRING:
        read_int_or_string(w, it, at);
        break;
    case COR_SHAPE_DURATION: /* no built-in kind has one */
        if (first != '"')
            read_type_error_at_once(w, it, at, COR_STR("string"));
        break;
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        read_schema_or(w, it, type, at);
        break;
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
    case COR_SHAPES:
        break;
    }
}

static void read_all(struct read_walk *w, const struct cor_type *type)
{
    struct cor_str value = cor_str_trim(w->json);
    struct cor_json_iter it = {value.p, value.p + value.n, value.p};

    if (value.n > 0)
        read_value(w, &it, type, NULL);
}

bool cor_read_is_clean(struct cor_str json, const struct cor_type *type)
{
    struct read_walk w = {.json = json};

    assert(type);
    read_all(&w, type);
    return !w.is_over;
}

int cor_read(struct cor_str json, const struct cor_type *type, struct cor_read_report *report)
{
    struct read_walk w = {.json = json, .report = report};

    assert(type && report->error.max > 0 && report->error.n == 0);
    cor_buf_init(&w.scratch, json.n + COR_READ_TEXTS_MAX);
    cor_buf_init(&w.keys, json.n);
    read_all(&w, type);
    cor_buf_deinit(&w.scratch);
    cor_buf_deinit(&w.keys);
    if (w.r == 0 && w.has_error)
        w.r = -COR_EINVAL;
    if (w.r == -COR_EINVAL) {
        report->n = 0;
        cor_buf_reset(&report->texts);
    }
    return w.r;
}
