/* Runs a conversion over an object's bytes: the conversions themselves are in crd_conversion.c,
 * event_conversion.c, hpa_conversion.c, scale.c and secret.c. The result is a new object at the
 * same revision, in the normal form of its new version. -COR_ENOMEM and -COR_ETOOBIG are the only
 * failures. Thread: any (pure). */
#include "schema/convert/conversion.h"

#include "base/err.h"
#include "base/limits.h"
#include "meta/status/gvk.h"
#include "schema/types/raw_values.h"
#include "schema/walk/normalize.h"
#include "json/text/scan.h"

/* JSON that becomes a text is escaped, and its escapes once more. */
#define CONVERTED_BYTES_MAX (4u * COR_OBJECT_BYTES_MAX_DEFAULT)

struct cor_str cor_convert_member(struct cor_str object, const char *key)
{
    struct cor_str value;

    if (!object.p || cor_json_type(object) != COR_JSON_OBJECT ||
        cor_json_get(object, cor_strz(key), COR_JSON_SORTED, &value) < 0 ||
        cor_json_type(value) == COR_JSON_NULL)
        return (struct cor_str){NULL, 0};
    return value;
}

bool cor_convert_is_text(struct cor_str value, const char *text)
{
    struct cor_str raw;

    return value.p && cor_json_to_raw(value, &raw) == 0 && cor_str_eqz(raw, text);
}

int cor_convert_version_alone(struct cor_str json, struct cor_json_writer *w)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;

    while (cor_json_iter_member(&it, &key)) {
        if (cor_str_eq(key, COR_STR("kind")) || cor_str_eq(key, COR_STR("apiVersion")))
            continue;
        cor_json_raw_key(w, key);
        cor_json_raw(w, cor_json_iter_value(&it));
    }
    return w->error;
}

static int join(const struct cor_object *object, struct cor_buf *out)
{
    struct cor_str a, b;
    int r;

    cor_object_stored_spans(object, &a, &b);
    r = cor_buf_adds(out, a);
    return r < 0 ? r : cor_buf_adds(out, b);
}

/* Two versions of a kind do not write the same zero values. */
static int normalize(struct cor_str kind, struct cor_str api_version, struct cor_object **object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {0};
    const struct cor_type *type;
    struct cor_object *normal;
    struct cor_gv gv;
    int r;

    if (cor_gv_parse(api_version, &gv, NULL) < 0 ||
        !(type = cor_type_of_kind(gv.group, gv.version, kind)))
        return 0;
    cor_buf_init(&json, CONVERTED_BYTES_MAX);
    r = cor_normalize(type, cor_object_json(*object), &json);
    if (r == 1)
        r = cor_object_from_sorted(cor_buf_str(&json), &normal);
    else
        return r;
    if (r < 0)
        return r;
    cor_object_unref(*object);
    *object = normal;
    return 0;
}

int cor_convert_object(cor_convert_fn convert, struct cor_str kind, struct cor_str api_version,
                       const struct cor_object *object, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf stored = {0}, made = {0};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *converted = NULL;
    struct cor_json_writer w;
    int r;

    cor_buf_init(&stored, CONVERTED_BYTES_MAX);
    cor_buf_init(&made, CONVERTED_BYTES_MAX);
    r = join(object, &stored);
    if (r < 0)
        return r;
    cor_json_writer_init(&w, &made);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), kind);
    cor_json_member(&w, COR_STR("apiVersion"), api_version);
    r = convert(cor_buf_str(&stored), &w);
    cor_json_end_object(&w);
    if (r == 0)
        r = cor_json_writer_finish(&w);
    if (r == 0)
        r = cor_object_read_stored(cor_buf_str(&made), 0, &cor_raw_values, &converted, NULL, NULL);
    if (r == 0)
        r = normalize(kind, api_version, &converted);
    return r < 0 ? r : cor_object_at(converted, object->rev, ret_object);
}
