/* The hooks of validation for ConfigMap, Secret and ServiceAccount
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_config.h"

#include "base/base64.h"
#include "base/err.h"
#include "schema/hooks/hooks.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* The keys of both maps are sorted, so they are walked in step. */
COR_HOOK(config_keys)
{
    struct cor_place binary;
    struct cor_each each, others;
    struct cor_str key, other;
    bool has_other;

    cor_place_field(check, place->parent, "binaryData", &binary);
    each = cor_each(check, place);
    others = cor_each(check, &binary);
    has_other = cor_each_next_key(check, &others, &other);
    while (cor_each_next_key(check, &each, &key)) {
        struct cor_field_path path = cor_field_key(&place->path, key);

        cor_format_add_text(COR_FORMAT_CONFIG_KEY, key, &path, check->errors);
        while (has_other && cor_str_cmp(other, key) < 0)
            has_other = cor_each_next_key(check, &others, &other);
        if (has_other && cor_str_eq(other, key))
            cor_check_add(check, COR_FIELD_INVALID, &path, cor_field_string(key),
                          "duplicate of key present in binaryData");
    }
}

/* What Go's decoder says of the bytes when it reads them into a map; NULL: they are fine. */
static const char *go_map_mistake(struct cor_check *check, struct cor_str bytes)
{
    static const struct cor_json_limits limits = {
        .bytes_max = 4u << 20, .depth_max = COR_JSON_DEPTH_MAX, .any_number = true};
    struct cor_json_error error;
    enum cor_json_type type;
    bool is_canonical;

    if (cor_json_check(bytes, &limits, &is_canonical, &error) < 0)
        return cor_check_printf(check, "%s", error.message);
    type = cor_json_type(cor_json_first_value(bytes));
    if (type == COR_JSON_OBJECT || type == COR_JSON_NULL)
        return NULL;
    return cor_check_printf(
        check, "json: cannot unmarshal %s into Go value of type map[string]interface {}",
        cor_json_go_type(type));
}

COR_HOOK(docker_config)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes = {.max = 4u << 20};
    struct cor_place entry;
    const char *mistake;

    if (!cor_place_entry(check, place, arg, &entry)) {
        cor_check_required(check, &entry, NULL);
        return;
    }
    cor_check_note(check,
                   cor_base64_decode(COR_BASE64_STD, cor_place_text(check, &entry), &bytes, NULL));
    mistake = go_map_mistake(check, cor_buf_str(&bytes));
    if (mistake)
        cor_check_add_value(check, COR_FIELD_INVALID, &entry,
                            cor_field_string(COR_STR("<secret contents redacted>")), mistake);
}
