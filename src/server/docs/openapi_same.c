/* Compares schemas in canonical form: two sorted sequences of members, in step. Where descriptions
 * do not count, the walk must know which values are schemas: a property may be called
 * "description". Recursion follows the nesting of the schemas, which is bounded
 * (COR_OPENAPI_DEPTH_MAX). */
#include "server/docs/openapi_same.h"

#include "base/cleanup.h"
#include "base/words.h"
#include "json/text/scan.h"

/* The next member that counts. */
static bool next(struct cor_json_iter *it, bool skip_words, bool skip_gvk, struct cor_str *ret_key)
{
    while (cor_json_iter_member(it, ret_key)) {
        if (!(skip_words && cor_str_eq(*ret_key, COR_STR("description"))) &&
            !(skip_gvk && cor_str_eq(*ret_key, COR_STR(COR_OPENAPI_GVK))))
            return true;
    }
    return false;
}

static bool schema_same(struct cor_str a, struct cor_str b, bool is_top);

/* The values of two objects, or the elements of two arrays, are schemas. */
static bool schemas_same(struct cor_str a, struct cor_str b)
{
    struct cor_json_iter x = cor_json_iter(a), y = cor_json_iter(b);
    enum cor_json_type type = cor_json_type(a);
    struct cor_str x_key, y_key;
    bool more_x, more_y;

    if (type != cor_json_type(b) || (type != COR_JSON_OBJECT && type != COR_JSON_ARRAY))
        return cor_str_eq(a, b);
    for (;;) {
        if (type == COR_JSON_OBJECT) {
            more_x = cor_json_iter_member(&x, &x_key);
            more_y = cor_json_iter_member(&y, &y_key);
            if (more_x && more_y && !cor_str_eq(x_key, y_key))
                return false;
        } else {
            more_x = cor_json_iter_elem(&x);
            more_y = cor_json_iter_elem(&y);
        }
        if (!more_x || !more_y)
            return more_x == more_y;
        if (!schema_same(cor_json_iter_value(&x), cor_json_iter_value(&y), false))
            return false;
    }
}

/* Values of the same member of two schemas. */
static bool member_same(struct cor_str key, struct cor_str a, struct cor_str b)
{
    static const char *const many[] = {"allOf", "anyOf",      "definitions",
                                       "oneOf", "properties", "patternProperties"};
    static const char *const one[] = {"additionalItems", "additionalProperties", "items", "not"};

    if (cor_str_is_one_of(key, many, COR_ARRAY_LEN(many)))
        return schemas_same(a, b);
    if (cor_str_is_one_of(key, one, COR_ARRAY_LEN(one)) && cor_json_type(a) == COR_JSON_OBJECT)
        return schema_same(a, b, false);
    return cor_str_eq(a, b);
}

static bool schema_same(struct cor_str a, struct cor_str b, bool is_top)
{
    struct cor_json_iter x = cor_json_iter(a), y = cor_json_iter(b);
    struct cor_str x_key, y_key;

    if (cor_json_type(a) != COR_JSON_OBJECT || cor_json_type(b) != COR_JSON_OBJECT)
        return cor_str_eq(a, b);
    for (;;) {
        bool more_x = next(&x, true, is_top, &x_key), more_y = next(&y, true, is_top, &y_key);

        if (!more_x || !more_y)
            return more_x == more_y;
        if (!cor_str_eq(x_key, y_key) ||
            !member_same(x_key, cor_json_iter_value(&x), cor_json_iter_value(&y)))
            return false;
    }
}

bool cor_openapi_same(struct cor_str a, struct cor_str b, bool skip_words)
{
    struct cor_json_iter x = cor_json_iter(a), y = cor_json_iter(b);
    struct cor_str x_key, y_key;

    if (skip_words)
        return schema_same(a, b, true);
    for (;;) {
        bool more_x = next(&x, false, true, &x_key), more_y = next(&y, false, true, &y_key);

        if (!more_x || !more_y)
            return more_x == more_y;
        if (!cor_str_eq(x_key, y_key) ||
            !cor_str_eq(cor_json_iter_value(&x), cor_json_iter_value(&y)))
            return false;
    }
}
