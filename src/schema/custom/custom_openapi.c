/* clang-format off */
/* From the JSON schema of a definition to the schemas of OpenAPI documents.
 *
 *   cor_custom_openapi_write_kind   the kind: the definition's schema and what every kind has
 *     schema_write                  one schema: its members in turn, by the table `keywords`
 *       schema_write_properties     properties, with those of every object in an embedded resource
 *       schema_write_required       their names, without what version 2 does not require
 *       schema_write_junctors       allOf, anyOf, oneOf and not, which only version 3 has
 *   cor_custom_openapi_write_list   the list of the kind
 *
 * The bytes are canonical JSON that the rules of CustomResourceDefinitions have accepted; members
 * that have another type than they should are left out. Recursion is bounded by the depth of JSON.
 * Failures are the writer's. */
/* clang-format on */
#include "schema/custom/custom_openapi.h"

#include <assert.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "schema/convert/conversion.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "json/text/scan.h"
#include "json/write/print.h"

#define OBJECT_META "meta_v1.ObjectMeta"
#define LIST_META   "meta_v1.ListMeta"

enum keyword_form {
    KEYWORD_ANY,   /* copied */
    KEYWORD_TEXT,  /* copied unless it is empty */
    KEYWORD_FLAG,  /* copied if it is true */
    KEYWORD_ARRAY, /* copied unless it is empty */
};

/* What is copied; everything else has a function of its own, or is in no document (example,
 * externalDocs, id, $schema). */
static const struct keyword {
    const char *name;
    enum keyword_form form;
} keywords[] = {
    {"description", KEYWORD_TEXT},
    {"enum", KEYWORD_ARRAY},
    {"exclusiveMaximum", KEYWORD_FLAG},
    {"exclusiveMinimum", KEYWORD_FLAG},
    {"format", KEYWORD_TEXT},
    {"maxItems", KEYWORD_ANY},
    {"maxLength", KEYWORD_ANY},
    {"maxProperties", KEYWORD_ANY},
    {"maximum", KEYWORD_ANY},
    {"minItems", KEYWORD_ANY},
    {"minLength", KEYWORD_ANY},
    {"minProperties", KEYWORD_ANY},
    {"minimum", KEYWORD_ANY},
    {"multipleOf", KEYWORD_ANY},
    {"pattern", KEYWORD_TEXT},
    {"title", KEYWORD_TEXT},
    {"uniqueItems", KEYWORD_FLAG},
    {"x-kubernetes-embedded-resource", KEYWORD_FLAG},
    {"x-kubernetes-int-or-string", KEYWORD_FLAG},
    {"x-kubernetes-list-map-keys", KEYWORD_ARRAY},
    {"x-kubernetes-list-type", KEYWORD_TEXT},
    {"x-kubernetes-map-type", KEYWORD_TEXT},
    {"x-kubernetes-preserve-unknown-fields", KEYWORD_FLAG},
    {"x-kubernetes-validations", KEYWORD_ARRAY},
};

/* A schema while it is written. */
struct schema {
    struct cor_str json;
    bool is_root, is_embedded; /* an object of the API: apiVersion, kind and metadata are added */
    bool is_nullable, preserves;
    bool has_children; /* its properties and items are written */
};

static void schema_write(struct cor_json_writer *w, enum cor_openapi_version version,
                         struct cor_str json, bool is_root);

static struct cor_str member(struct cor_str object, const char *key)
{
    return cor_convert_member(object, key);
}

static bool flag(struct cor_str object, const char *key)
{
    return cor_str_eq(member(object, key), COR_STR("true"));
}

static bool is_text(struct cor_str object, const char *key, const char *text)
{
    return cor_convert_is_text(member(object, key), text);
}

static bool keyword_is_kept(const struct keyword *keyword, struct cor_str value)
{
    switch (keyword->form) {
    case KEYWORD_TEXT:
        return !cor_str_eq(value, COR_STR("\"\""));
    case KEYWORD_FLAG:
        return cor_str_eq(value, COR_STR("true"));
    case KEYWORD_ARRAY:
        return !cor_str_eq(value, COR_STR("[]"));
    case KEYWORD_ANY:
        break;
    }
    return true;
}

/* Both are sorted: the keys of the object, and the table. */
static void schema_write_keywords(struct cor_json_writer *w, struct cor_str json)
{
    struct cor_json_iter it = cor_json_iter(json);
    struct cor_str key;
    size_t i = 0;

    while (i < COR_ARRAY_LEN(keywords) && cor_json_iter_member(&it, &key)) {
        while (i < COR_ARRAY_LEN(keywords) && cor_str_cmp(key, cor_strz(keywords[i].name)) > 0)
            i++;
        if (i < COR_ARRAY_LEN(keywords) && cor_str_eqz(key, keywords[i].name)) {
            struct cor_str value = cor_json_iter_value(&it);

            if (cor_json_type(value) != COR_JSON_NULL && keyword_is_kept(&keywords[i], value)) {
                cor_json_raw_key(w, key);
                cor_json_raw(w, value);
            }
        }
    }
}

/* --- what every object of the API has -------------------------------------------------------- */

/* The words of a field of the types that every kind has. */
static struct cor_str words_of(const char *type_name, const char *field)
{
    struct cor_member found;
    const struct cor_type *type = cor_type_named(cor_strz(type_name));

    if (!type || !cor_type_find_member(type, cor_strz(field), &found))
        return COR_STR("");
    return cor_type_field_words(found.field);
}

static void text_property_write(struct cor_json_writer *w, const char *name)
{
    struct cor_str words = words_of("meta_v1.TypeMeta", name);

    cor_json_key(w, cor_strz(name));
    cor_json_print(w, "{description?:%s,type:'string'}", words);
}

/* A reference with a description: version 3 wraps it, because its readers ignore what is beside a
 * reference. */
static void metadata_property_write(struct cor_json_writer *w, enum cor_openapi_version version,
                                    const char *type_name)
{
    const struct cor_type *type = cor_type_named(cor_strz(type_name));
    char ref[COR_CUSTOM_OPENAPI_NAME_MAX], buf[COR_OPENAPI_NAME_MAX];

    assert(type);
    snprintf(ref, sizeof(ref), "%s%.*s",
             version == COR_OPENAPI_3 ? "#/components/schemas/" : "#/definitions/",
             COR_STR_ARG(cor_openapi_name(type, buf)));
    cor_json_print(w, "metadata:{description:%s", cor_type_words(type));
    if (version == COR_OPENAPI_3) {
        cor_json_print(w, "allOf:[{");
    }
    cor_json_member(w, COR_STR("$ref"), cor_strz(ref));
    if (version == COR_OPENAPI_3) {
        cor_json_end_object(w);
        cor_json_end_array(w);
    }
    cor_json_end_object(w);
}

static void kind_properties_write(struct cor_json_writer *w, enum cor_openapi_version version,
                                  const char *metadata_type)
{
    text_property_write(w, "apiVersion");
    text_property_write(w, "kind");
    metadata_property_write(w, version, metadata_type);
}

void cor_custom_openapi_add(struct cor_openapi_set *set)
{
    cor_openapi_add(set, cor_type_named(COR_STR(OBJECT_META)));
    cor_openapi_add(set, cor_type_named(COR_STR(LIST_META)));
}

/* --- a schema ------------------------------------------------------------------------------- */

static bool has_kind_properties(const struct schema *schema)
{
    return schema->is_root || schema->is_embedded;
}

static void schema_write_properties(struct cor_json_writer *w, enum cor_openapi_version version,
                                    const struct schema *schema)
{
    struct cor_str properties =
        schema->has_children ? member(schema->json, "properties") : (struct cor_str){NULL, 0};
    struct cor_json_iter it = cor_json_iter(properties.p ? properties : COR_STR("{}"));
    bool is_begun = has_kind_properties(schema);
    struct cor_str key;

    if (is_begun) {
        cor_json_key(w, COR_STR("properties"));
        cor_json_begin_object(w);
        kind_properties_write(w, version, OBJECT_META);
    }
    while (cor_json_iter_member(&it, &key)) {
        struct cor_str value = cor_json_iter_value(&it);

        if (has_kind_properties(schema) &&
            (cor_str_eq(key, COR_STR("apiVersion")) || cor_str_eq(key, COR_STR("kind")) ||
             cor_str_eq(key, COR_STR("metadata"))))
            continue;
        if (!is_begun) {
            cor_json_key(w, COR_STR("properties"));
            cor_json_begin_object(w);
            is_begun = true;
        }
        cor_json_raw_key(w, key);
        schema_write(w, version, value, false);
    }
    if (is_begun)
        cor_json_end_object(w);
}

/* Version 2 has no nullable values: a property that may be null is not required, and nothing is if
 * the values of a map may be null. */
static bool is_required(enum cor_openapi_version version, const struct schema *schema,
                        struct cor_str raw_name)
{
    struct cor_str properties = member(schema->json, "properties"), property;

    if (version == COR_OPENAPI_3)
        return true;
    if (flag(member(schema->json, "additionalProperties"), "nullable"))
        return false;
    /* Names with escapes are never nullable here: such a property is required in vain. */
    return !schema->has_children || !properties.p ||
           cor_json_get(properties, raw_name, COR_JSON_SORTED, &property) < 0 ||
           !flag(property, "nullable");
}

static void required_begin(struct cor_json_writer *w, bool *is_begun)
{
    if (*is_begun)
        return;
    cor_json_key(w, COR_STR("required"));
    cor_json_begin_array(w);
    *is_begun = true;
}

static void schema_write_required(struct cor_json_writer *w, enum cor_openapi_version version,
                                  const struct schema *schema)
{
    struct cor_str list = member(schema->json, "required"), raw;
    struct cor_json_iter it = cor_json_iter(list.p ? list : COR_STR("[]"));
    bool is_begun = false, has_kind = false, has_version = false;

    while (cor_json_iter_elem(&it)) {
        struct cor_str name = cor_json_iter_value(&it);

        if (cor_json_to_raw(name, &raw) < 0 || !is_required(version, schema, raw))
            continue;
        has_kind = has_kind || cor_str_eq(raw, COR_STR("kind"));
        has_version = has_version || cor_str_eq(raw, COR_STR("apiVersion"));
        required_begin(w, &is_begun);
        cor_json_raw(w, name);
    }
    if (schema->is_embedded && !has_kind) {
        required_begin(w, &is_begun);
        cor_json_string(w, COR_STR("kind"));
    }
    if (schema->is_embedded && !has_version) {
        required_begin(w, &is_begun);
        cor_json_string(w, COR_STR("apiVersion"));
    }
    if (is_begun)
        cor_json_end_array(w);
}

static void schema_array_write(struct cor_json_writer *w, const char *key, struct cor_str before,
                               struct cor_str list)
{
    struct cor_json_iter it = cor_json_iter(list.p ? list : COR_STR("[]"));

    cor_json_key(w, cor_strz(key));
    cor_json_begin_array(w);
    if (before.n > 0)
        cor_json_raw(w, before);
    while (cor_json_iter_elem(&it))
        schema_write(w, COR_OPENAPI_3, cor_json_iter_value(&it), false);
    cor_json_end_array(w);
}

#define INT_OR_STRING "[{\"type\":\"integer\"},{\"type\":\"string\"}]"

/* A value that is an integer or a text is described by anyOf, unless the author has done so; where
 * the author has another anyOf, by the first of allOf. */
static void schema_write_junctors(struct cor_json_writer *w, struct cor_str json)
{
    struct cor_str all = member(json, "allOf"), any = member(json, "anyOf");
    struct cor_str one = member(json, "oneOf"), not_one = member(json, "not"), first = {"", 0};
    struct cor_json_iter it = cor_json_iter(all.p ? all : COR_STR("[]"));
    bool says_so = !flag(json, "x-kubernetes-int-or-string") ||
                   cor_str_eq(any, COR_STR(INT_OR_STRING)) ||
                   (cor_json_iter_elem(&it) &&
                    cor_str_eq(member(cor_json_iter_value(&it), "anyOf"), COR_STR(INT_OR_STRING)));

    if (!says_so && !any.p)
        any = COR_STR(INT_OR_STRING);
    else if (!says_so)
        first = COR_STR("{\"anyOf\":" INT_OR_STRING "}");
    if (all.p || first.n > 0)
        schema_array_write(w, "allOf", first, all);
    if (any.p)
        schema_array_write(w, "anyOf", COR_STR(""), any);
    if (one.p)
        schema_array_write(w, "oneOf", COR_STR(""), one);
    if (not_one.p) {
        cor_json_key(w, COR_STR("not"));
        schema_write(w, COR_OPENAPI_3, not_one, false);
    }
}

/* Version 2 leaves the type out where its readers would refuse values that are allowed. */
static bool has_type(enum cor_openapi_version version, const struct schema *schema)
{
    if (version == COR_OPENAPI_3)
        return true;
    if (schema->is_nullable || (schema->preserves && is_text(schema->json, "type", "object")))
        return false;
    return !is_text(schema->json, "type", "array") ||
           (schema->has_children && member(schema->json, "items").p);
}

static void schema_write_map(struct cor_json_writer *w, enum cor_openapi_version version,
                             struct cor_str values)
{
    cor_json_key(w, COR_STR("additionalProperties"));
    if (cor_json_type(values) == COR_JSON_OBJECT)
        schema_write(w, version, values, false);
    else
        cor_json_raw(w, values);
}

/* The members of the object that is open. */
static void schema_write_members(struct cor_json_writer *w, enum cor_openapi_version version,
                                 struct cor_str json, bool is_root)
{
    struct schema schema = {.json = json,
                            .is_root = is_root,
                            .is_nullable = flag(json, "nullable"),
                            .preserves = flag(json, "x-kubernetes-preserve-unknown-fields")};
    struct cor_str type = member(json, "type"), items = member(json, "items");
    struct cor_str value = member(json, "default"), map = member(json, "additionalProperties");

    schema.has_children = version == COR_OPENAPI_3 || (!schema.is_nullable && !schema.preserves);
    schema.is_embedded = flag(json, "x-kubernetes-embedded-resource") &&
                         (version == COR_OPENAPI_3 || !schema.preserves);
    schema_write_keywords(w, json);
    if (type.p && has_type(version, &schema) && !cor_str_eq(type, COR_STR("\"\""))) {
        cor_json_key(w, COR_STR("type"));
        cor_json_raw(w, type);
    }
    if (version == COR_OPENAPI_3 && schema.is_nullable) {
        cor_json_key(w, COR_STR("nullable"));
        cor_json_bool(w, true);
    }
    if (version == COR_OPENAPI_3 && value.p) {
        cor_json_key(w, COR_STR("default"));
        cor_json_raw(w, value);
    }
    schema_write_required(w, version, &schema);
    schema_write_properties(w, version, &schema);
    if (items.p && schema.has_children) {
        cor_json_key(w, COR_STR("items"));
        schema_write(w, version, items, false);
    }
    if (map.p)
        schema_write_map(w, version, map);
    if (version == COR_OPENAPI_3)
        schema_write_junctors(w, json);
}

static void schema_write(struct cor_json_writer *w, enum cor_openapi_version version,
                         struct cor_str json, bool is_root)
{
    cor_json_begin_object(w);
    if (cor_json_type(json) == COR_JSON_OBJECT)
        schema_write_members(w, version, json, is_root);
    cor_json_end_object(w);
}

/* --- kinds ---------------------------------------------------------------------------------- */

struct cor_str cor_custom_openapi_name(const struct cor_resource_row *row, struct cor_str kind,
                                       char *buf, size_t max)
{
    size_t n = 0;

    for (size_t end = row->group.n; end > 0;) {
        size_t from = end;

        while (from > 0 && row->group.p[from - 1] != '.')
            from--;
        n += (size_t)snprintf(buf + n, max - n, "%.*s.", (int)(end - from), row->group.p + from);
        end = from > 0 ? from - 1 : 0;
        if (n >= max)
            return cor_str(buf, max - 1);
    }
    n += (size_t)snprintf(buf + n, max - n, "%.*s.%.*s", COR_STR_ARG(row->version),
                          COR_STR_ARG(kind));
    return cor_str(buf, n < max ? n : max - 1);
}

/* The extensions of both schemas: the kind, and the fields that can be selected by. */
static void extensions_write(struct cor_json_writer *w, const struct cor_resource_row *row,
                             struct cor_str kind)
{
    struct cor_str fields =
        row->custom ? member(row->custom->version, "selectableFields") : (struct cor_str){NULL, 0};
    struct cor_json_iter it = cor_json_iter(fields.p ? fields : COR_STR("[]"));
    bool is_begun = false;

    cor_json_key(w, COR_STR("x-kubernetes-group-version-kind"));
    cor_json_begin_array(w);
    cor_openapi_write_kind(w, row->group, kind, row->version);
    cor_json_end_array(w);
    while (cor_json_iter_elem(&it)) {
        struct cor_str raw;

        if (cor_json_to_raw(member(cor_json_iter_value(&it), "jsonPath"), &raw) < 0)
            continue;
        if (!is_begun) {
            cor_json_key(w, COR_STR("x-kubernetes-selectable-fields"));
            cor_json_begin_array(w);
            is_begun = true;
        }
        cor_json_begin_object(w);
        cor_json_key(w, COR_STR("fieldPath"));
        cor_json_begin_string(w);
        cor_json_add_raw_text(w, raw.n > 0 && raw.p[0] == '.' ? cor_str_from(raw, 1) : raw);
        cor_json_end_string(w);
        cor_json_end_object(w);
    }
    if (is_begun)
        cor_json_end_array(w);
}

void cor_custom_openapi_write_kind(struct cor_json_writer *w, enum cor_openapi_version version,
                                   const struct cor_resource_row *row)
{
    struct cor_str schema = {NULL, 0};

    if (row->custom && cor_custom_schema_is_shown(row->custom->schema))
        schema = member(member(row->custom->version, "schema"), "openAPIV3Schema");
    cor_json_begin_object(w);
    if (!schema.p ||
        (version == COR_OPENAPI_2 && flag(schema, "x-kubernetes-preserve-unknown-fields")))
        cor_json_member(w, COR_STR("type"), COR_STR("object"));
    else
        schema_write_members(w, version, schema, true);
    extensions_write(w, row, row->kind);
    cor_json_end_object(w);
}

void cor_custom_openapi_write_list(struct cor_json_writer *w, enum cor_openapi_version version,
                                   const struct cor_resource_row *row)
{
    char ref[COR_CUSTOM_OPENAPI_NAME_MAX + 32], name[COR_CUSTOM_OPENAPI_NAME_MAX], words[256];

    (void)cor_custom_openapi_name(row, row->kind, name, sizeof(name));
    snprintf(ref, sizeof(ref), "%s%s",
             version == COR_OPENAPI_3 ? "#/components/schemas/" : "#/definitions/", name);
    cor_json_begin_object(w);
    snprintf(words, sizeof(words), "%.*s is a list of %.*s", COR_STR_ARG(row->list_kind),
             COR_STR_ARG(row->kind));
    cor_json_print(w, "description:%s,type:'object',required:%j,properties:{", words,
                   COR_STR("[\"items\"]"));
    kind_properties_write(w, version, LIST_META);
    cor_json_key(w, COR_STR("items"));
    cor_json_begin_object(w);
    snprintf(words, sizeof(words), "List of %.*s.", COR_STR_ARG(row->plural));
    cor_json_print(w, "description:%s,type:'array',items:{", words);
    cor_json_member(w, COR_STR("$ref"), cor_strz(ref));
    cor_json_print(w, "}}}");
    extensions_write(w, row, row->list_kind);
    cor_json_end_object(w);
}
