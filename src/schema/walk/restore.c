/* clang-format off */
/* The mistake that upstream's converter finds first, in an object that has at least one.
 *
 * The converter goes over the fields of a struct in the order of declaration and stops at the first
 * mistake. This walk goes over the members of the JSON once instead, so that its work is linear, and
 * keeps of each struct the mistake whose field is declared first:
 *
 *   out: ... | the best mistake of this struct so far | the mistake of the present member
 *
 * The second replaces the first when its field comes before, else it is dropped. Keys of maps have no
 * order upstream; here the first mistake in byte order counts.
 * Failures: only memory. Thread: any (pure). */
/* clang-format on */
#include "schema/walk/restore.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/err.h"
#include "schema/walk/read.h"
#include "json/text/scan.h"

static int restore_value(struct cor_json_iter *it, const struct cor_type *type,
                         struct cor_buf *out);

static bool restore_is_integer(struct cor_str number)
{
    int64_t n;

    return cor_json_to_i64(number, &n) == 0;
}

/* Go's kind of what a JSON value is decoded to. */
static const char *restore_kind(struct cor_str value)
{
    switch (cor_json_type(value)) {
    case COR_JSON_OBJECT:
        return "map";
    case COR_JSON_ARRAY:
        return "slice";
    case COR_JSON_NUMBER:
        return restore_is_integer(value) ? "int64" : "float64";
    default:
        return cor_json_go_type(cor_json_type(value));
    }
}

/* The words of a mistake: `what`, and the kind of the value. */
static int restore_refuse(struct cor_buf *out, const char *what, const char *kind)
{
    int r = cor_buf_addf(out, "%s%s", what, kind);

    return r < 0 ? r : 1;
}

/* Go converts an integer to a string, which the converter does not want; it converts nothing else.
 */
static int restore_string(struct cor_str value, const struct cor_type *type, struct cor_buf *out)
{
    int r;

    if (cor_json_type(value) == COR_JSON_STRING)
        return 0;
    if (cor_json_type(value) != COR_JSON_NUMBER || !restore_is_integer(value))
        return restore_refuse(out, "unrecognized type: ", "string");
    r = cor_buf_addf(out, "cannot convert int64 to %.*s", COR_STR_ARG(cor_type_go_name(type)));
    return r < 0 ? r : 1;
}

/* A float without a fraction is converted. */
static int restore_integer(struct cor_str value, const struct cor_type *type, struct cor_buf *out)
{
    struct cor_str name = cor_type_go_name(type);
    char text[64], *end;
    double number;
    int r;

    if (cor_json_type(value) != COR_JSON_NUMBER) {
        r = cor_buf_addf(out, "unrecognized type: %.*s", COR_STR_ARG(name));
        return r < 0 ? r : 1;
    }
    if (restore_is_integer(value) || value.n >= sizeof(text))
        return 0;
    memcpy(text, value.p, value.n);
    text[value.n] = '\0';
    number = strtod(text, &end);
    if (number > -9e18 && number < 9e18 && number == (double)(int64_t)number)
        return 0;
    r = cor_buf_addf(out, "cannot convert float64 to %.*s", COR_STR_ARG(name));
    return r < 0 ? r : 1;
}

static int restore_bytes(struct cor_str value, struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    struct cor_json_iter it = cor_json_iter(value);
    struct cor_str raw, decoded;
    size_t at;
    int r = 0;

    while (cor_json_type(value) == COR_JSON_ARRAY && cor_json_iter_elem(&it)) {
        if (cor_json_type(cor_json_iter_value(&it)) != COR_JSON_NUMBER)
            return restore_refuse(out, "unrecognized type: ", "uint8");
    }
    if (cor_json_type(value) == COR_JSON_ARRAY)
        return 0;
    if (cor_json_to_raw(value, &raw) < 0)
        return restore_refuse(out, "cannot restore slice from ", restore_kind(value));
    cor_buf_init(&text, raw.n);
    r = cor_buf_reserve(&text, raw.n);
    if (r == 0)
        r = cor_json_unescape(raw, text.p, raw.n, &decoded);
    if (r < 0 || cor_base64_decode(COR_BASE64_STD, decoded, NULL, &at) == 0)
        return r;
    r = cor_buf_addf(out, "error decoding from json: illegal base64 data at input byte %zu", at);
    return r < 0 ? r : 1;
}

/* A type with a decoder of its own gets the value as JSON. */
static int restore_by_decoder(struct cor_str value, const struct cor_type *type,
                              struct cor_buf *out)
{
    COR_CLEANUP(cor_read_report_freep) struct cor_read_report *report = cor_read_report_new();
    int r = report ? cor_read(value, type, report) : -COR_ENOMEM;

    if (r != -COR_EINVAL)
        return r;
    r = cor_buf_adds(out, cor_buf_str(&report->error));
    return r < 0 ? r : 1;
}

/* Is the field of `a` declared before that of `b`? Both are members of one struct, whose fields are
 * in the tables in the order of declaration. */
static bool restore_comes_first(const struct cor_member *a, const struct cor_member *b)
{
    for (size_t i = 0; i < COR_TYPE_INLINE_MAX; i++) {
        const struct cor_type_field *of_a = a->via[i] ? a->via[i] : a->field;
        const struct cor_type_field *of_b = b->via[i] ? b->via[i] : b->field;

        if (of_a != of_b)
            return of_a < of_b;
    }
    return a->field < b->field;
}

static int restore_struct(struct cor_json_iter *it, const struct cor_type *type,
                          struct cor_buf *out)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));
    struct cor_member member, best = {.field = NULL};
    size_t begin = out->n;
    struct cor_str key;

    while (cor_json_iter_member(&inner, &key)) {
        size_t mark = out->n;
        int r;

        if (!cor_type_find_member(type, key, &member))
            continue;
        r = restore_value(&inner, cor_type_field_type(member.field), out);
        if (r < 0)
            return r;
        if (r == 1 && (!best.field || restore_comes_first(&member, &best))) {
            memmove(out->p + begin, out->p + mark, out->n - mark);
            cor_buf_truncate(out, begin + (out->n - mark));
            best = member;
        } else {
            cor_buf_truncate(out, mark);
        }
    }
    cor_json_iter_leave(it, &inner);
    return best.field ? 1 : 0;
}

/* A list, or a map. */
static int restore_each(struct cor_json_iter *it, const struct cor_type *type, struct cor_buf *out)
{
    struct cor_json_iter inner = cor_json_iter(cor_json_iter_open_value(it));
    bool is_map = cor_type_shape(type) == COR_SHAPE_MAP;
    struct cor_str key;
    int r = 0;

    while (r == 0 && (is_map ? cor_json_iter_member(&inner, &key) : cor_json_iter_elem(&inner)))
        r = restore_value(&inner, cor_type_element(type), out);
    cor_json_iter_leave(it, &inner);
    return r;
}

static int restore_scalar(struct cor_str value, const struct cor_type *type, struct cor_buf *out)
{
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRING:
        return restore_string(value, type, out);
    case COR_SHAPE_BOOL:
        return cor_json_type(value) == COR_JSON_BOOL
                   ? 0
                   : restore_refuse(out, "unrecognized type: ", "bool");
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
        return restore_integer(value, type, out);
    case COR_SHAPE_FLOAT64:
        return cor_json_type(value) == COR_JSON_NUMBER
                   ? 0
                   : restore_refuse(out, "unrecognized type: ", "float64");
    case COR_SHAPE_BYTES:
        return restore_bytes(value, out);
    case COR_SHAPE_TIME:
    case COR_SHAPE_MICRO_TIME:
    case COR_SHAPE_DURATION:
    case COR_SHAPE_QUANTITY:
    case COR_SHAPE_INT_OR_STRING:
    case COR_SHAPE_SCHEMA_OR_BOOL:
    case COR_SHAPE_SCHEMA_OR_ARRAY:
    case COR_SHAPE_SCHEMA_OR_STRINGS:
        return restore_by_decoder(value, type, out);
    case COR_SHAPE_RAW:
    case COR_SHAPE_FIELDS_V1:
    case COR_SHAPE_JSON:
    case COR_SHAPE_STRUCT:
    case COR_SHAPE_LIST:
    case COR_SHAPE_MAP:
    case COR_SHAPES:
        break;
    }
    return 0;
}

/* Judges the present value of `it`, and moves `it` behind it unless memory is out. */
static int restore_value(struct cor_json_iter *it, const struct cor_type *type, struct cor_buf *out)
{
    enum cor_json_type got = cor_json_type(cor_json_iter_open_value(it));
    enum cor_shape shape = cor_type_shape(type);

    if (got == COR_JSON_NULL)
        return 0;
    if (shape == COR_SHAPE_STRUCT)
        return got == COR_JSON_OBJECT ? restore_struct(it, type, out)
                                      : restore_refuse(out, "cannot restore struct from: ",
                                                       restore_kind(cor_json_iter_value(it)));
    if (shape == COR_SHAPE_MAP)
        return got == COR_JSON_OBJECT ? restore_each(it, type, out)
                                      : restore_refuse(out, "cannot restore map from ",
                                                       restore_kind(cor_json_iter_value(it)));
    if (shape == COR_SHAPE_LIST)
        return got == COR_JSON_ARRAY ? restore_each(it, type, out)
                                     : restore_refuse(out, "cannot restore slice from ",
                                                      restore_kind(cor_json_iter_value(it)));
    return restore_scalar(cor_json_iter_value(it), type, out);
}

/* An iterator that is at the one value of `json`. */
static struct cor_json_iter restore_at(struct cor_str json)
{
    return (struct cor_json_iter){json.p, json.p + json.n, json.p};
}

int cor_restore_error(struct cor_str json, const struct cor_type *type, struct cor_buf *out)
{
    struct cor_json_iter it = restore_at(json);

    assert(json.n > 0 && type);
    return restore_value(&it, type, out);
}
