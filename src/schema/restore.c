/* A walk over a value and its type together. Every function returns 1 when it has found the error
 * and written its words, 0 when the value fits, or a failure of the buffer. */
#include "schema/restore.h"

#include <string.h>

#include "json/scan.h"

/* What the value is in Go after decoding into an interface. */
static const char *restore_kind(struct cor_str value)
{
    switch (cor_json_type(value)) {
    case COR_JSON_OBJECT:
        return "map";
    case COR_JSON_ARRAY:
        return "slice";
    case COR_JSON_STRING:
        return "string";
    case COR_JSON_BOOL:
        return "bool";
    default: {
        int64_t integer;

        return cor_json_to_i64(value, &integer) == 0 ? "int64" : "float64";
    }
    }
}

static int restore_fail(struct cor_buf *out, const char *before, const char *kind,
                        const char *between, struct cor_str type)
{
    int r = cor_buf_addf(out, "%s%s%s%.*s", before, kind, between, COR_STR_ARG(type));

    return r < 0 ? r : 1;
}

/* Of a scalar: Go can convert an integer to a string, so that one is refused in other words. */
static int restore_scalar(const char *kind, const struct cor_type *type, struct cor_buf *out)
{
    static const struct {
        enum cor_shape shape;
        const char *name;
    } names[] = {{COR_SHAPE_STRING, "string"},
                 {COR_SHAPE_BOOL, "bool"},
                 {COR_SHAPE_INT32, "int32"},
                 {COR_SHAPE_INT64, "int64"},
                 {COR_SHAPE_FLOAT64, "float64"}};
    enum cor_shape shape = cor_type_shape(type);
    bool is_integer = shape == COR_SHAPE_INT32 || shape == COR_SHAPE_INT64;

    if (shape == COR_SHAPE_STRING && strcmp(kind, "int64") == 0)
        return restore_fail(out, "cannot convert ", kind, " to ", cor_type_go_name(type));
    if (is_integer && strcmp(kind, "float64") == 0)
        return restore_fail(out, "cannot convert ", kind, " to ", cor_type_go_name(type));
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++)
        if (names[i].shape == shape)
            return restore_fail(out, "unrecognized type: ", names[i].name, "", COR_STR(""));
    return 0;
}

static int restore_value(struct cor_str value, const struct cor_type *type, struct cor_buf *out);

static int restore_struct(struct cor_str object, const struct cor_type *type, struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(object);
    struct cor_str key;
    int r = 0;

    while (r == 0 && cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);
        struct cor_member m;

        if (cor_type_find_member(type, key, &m))
            r = restore_value(value, cor_type_field_type(m.field), out);
    }
    return r;
}

static int restore_list(struct cor_str list, const struct cor_type *type, struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(list);
    int r = 0;

    while (r == 0 && cor_json_iter_elem(&it))
        r = restore_value(cor_json_iter_value(&it), cor_type_element(type), out);
    return r;
}

static int restore_map(struct cor_str map, const struct cor_type *type, struct cor_buf *out)
{
    struct cor_json_iter it = cor_json_iter(map);
    struct cor_str key;
    int r = 0;

    while (r == 0 && cor_json_iter_member(&it, &key))
        r = restore_value(cor_json_iter_value(&it), cor_type_element(type), out);
    return r;
}

static int restore_value(struct cor_str value, const struct cor_type *type, struct cor_buf *out)
{
    const char *kind = restore_kind(value);
    bool is_number = cor_json_type(value) == COR_JSON_NUMBER;

    if (cor_json_type(value) == COR_JSON_NULL)
        return 0;
    switch (cor_type_shape(type)) {
    case COR_SHAPE_STRUCT:
        return strcmp(kind, "map") == 0
                   ? restore_struct(value, type, out)
                   : restore_fail(out, "cannot restore struct from: ", kind, "", COR_STR(""));
    case COR_SHAPE_LIST:
        return strcmp(kind, "slice") == 0
                   ? restore_list(value, type, out)
                   : restore_fail(out, "cannot restore slice from ", kind, "", COR_STR(""));
    case COR_SHAPE_MAP:
        return strcmp(kind, "map") == 0
                   ? restore_map(value, type, out)
                   : restore_fail(out, "cannot restore map from ", kind, "", COR_STR(""));
    case COR_SHAPE_STRING:
        return strcmp(kind, "string") == 0 ? 0 : restore_scalar(kind, type, out);
    case COR_SHAPE_BOOL:
        return strcmp(kind, "bool") == 0 ? 0 : restore_scalar(kind, type, out);
    case COR_SHAPE_INT32:
    case COR_SHAPE_INT64:
        return strcmp(kind, "int64") == 0 ? 0 : restore_scalar(kind, type, out);
    case COR_SHAPE_FLOAT64:
        return is_number ? 0 : restore_scalar(kind, type, out);
    default:
        return 0;
    }
}

int cor_restore_error(struct cor_str json, const struct cor_type *type, struct cor_buf *out)
{
    return restore_value(json, type, out);
}
