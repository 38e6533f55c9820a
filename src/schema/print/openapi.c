/* clang-format off */
/* The emit walk of OpenAPI: one schema for each struct and for each scalar that has a form of its
 * own (times, quantities, raw values).
 *
 *   cor_openapi_add            marks a type and follows its members
 *   cor_openapi_write_schemas  writes each marked type
 *     struct_write             description, type, required, properties, extensions
 *       property_write         one member: its type inline or a reference, its default, its words
 *
 * A reference with something beside it (a default, a description) is wrapped in `allOf` in version
 * 3, because readers of OpenAPI 3.0 ignore what is beside a `$ref`; version 2 writes it beside.
 * Failures are the writer's: it stops writing and reports at the end. Thread: any. */
/* clang-format on */
#include "schema/print/openapi.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "schema/types/types_int.h"
#include "json/write/print.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."
#define CRD  "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."

/* The scalars that have schemas of their own, and their members in each version. */
static const struct scalar_schema {
    const char *name, *words, *v2, *v3; /* no v3: as v2 */
} scalar_schemas[COR_SHAPES] = {
    [COR_SHAPE_TIME] = {META "Time", "A time in RFC 3339, such as 2025-01-31T12:00:00Z.",
                        "\"type\":\"string\",\"format\":\"date-time\"", NULL},
    [COR_SHAPE_MICRO_TIME] = {META "MicroTime", "A time in RFC 3339 with microseconds.",
                              "\"type\":\"string\",\"format\":\"date-time\"", NULL},
    [COR_SHAPE_DURATION] = {META "Duration", "A span of time, such as 1h30m.",
                            "\"type\":\"string\"", NULL},
    [COR_SHAPE_QUANTITY] = {"io.k8s.apimachinery.pkg.api.resource.Quantity",
                            "A number with a unit, such as 100m, 1.5, 2Gi or 1e3.",
                            "\"type\":\"string\"",
                            "\"oneOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]"},
    [COR_SHAPE_INT_OR_STRING] = {"io.k8s.apimachinery.pkg.util.intstr.IntOrString",
                                 "A number, or a text such as a percentage or a name.",
                                 "\"type\":\"string\",\"format\":\"int-or-string\"",
                                 "\"format\":\"int-or-string\",\"oneOf\":[{\"type\":\"integer\"},"
                                 "{\"type\":\"string\"}]"},
    [COR_SHAPE_RAW] = {"io.k8s.apimachinery.pkg.runtime.RawExtension", "Any object.",
                       "\"type\":\"object\"", NULL},
    [COR_SHAPE_FIELDS_V1] = {META "FieldsV1",
                             "A set of fields: each name is a member whose value is the set "
                             "below it.",
                             "\"type\":\"object\"", NULL},
    [COR_SHAPE_JSON] = {CRD "JSON", "Any JSON value.", NULL, NULL},
    [COR_SHAPE_SCHEMA_OR_BOOL] = {CRD "JSONSchemaPropsOrBool", "A schema, true or false.", NULL,
                                  NULL},
    [COR_SHAPE_SCHEMA_OR_ARRAY] = {CRD "JSONSchemaPropsOrArray", "A schema or a list of schemas.",
                                   NULL, NULL},
    [COR_SHAPE_SCHEMA_OR_STRINGS] = {CRD "JSONSchemaPropsOrStringArray",
                                     "A schema or a list of names.", NULL, NULL},
};

/* The plain scalars: what a property says of them, and the zero that Go writes. */
static const struct {
    const char *type, *format, *zero;
} plain_schemas[COR_SHAPES] = {
    [COR_SHAPE_STRING] = {"string", NULL, "\"\""},   [COR_SHAPE_BOOL] = {"boolean", NULL, "false"},
    [COR_SHAPE_INT32] = {"integer", "int32", "0"},   [COR_SHAPE_INT64] = {"integer", "int64", "0"},
    [COR_SHAPE_FLOAT64] = {"number", "double", "0"}, [COR_SHAPE_BYTES] = {"string", "byte", NULL},
};

static size_t type_index(const struct cor_type *type)
{
    return (size_t)(type - cor_types);
}

/* The first fact of this kind from *i on, which is moved behind it; NULL: there are no more. */
static const struct cor_openapi_fact *next_fact(enum cor_fact_of of, size_t index,
                                                enum cor_fact fact, size_t *i)
{
    while (*i < cor_openapi_facts_n) {
        const struct cor_openapi_fact *row = &cor_openapi_facts[(*i)++];

        if (row->index == index && row->of == of && row->fact == fact)
            return row;
    }
    return NULL;
}

static bool has_fact(const struct cor_type_field *field, enum cor_fact fact)
{
    size_t i = 0;

    return next_fact(COR_FACT_OF_FIELD, (size_t)(field - cor_type_fields), fact, &i) != NULL;
}

static struct cor_str words_text(uint32_t offset)
{
    return cor_strz(cor_words_pool + offset);
}

static void description_write(struct cor_json_writer *w, struct cor_str words)
{
    if (words.n > 0)
        cor_json_member(w, COR_STR("description"), words);
}

static bool has_schema(const struct cor_type *type)
{
    return cor_type_shape(type) == COR_SHAPE_STRUCT || scalar_schemas[type->shape].name;
}

void cor_openapi_add(struct cor_openapi_set *set, const struct cor_type *type)
{
    size_t i = type_index(type);
    struct cor_member member;

    assert(i < cor_types_count() && cor_types_count() <= COR_OPENAPI_TYPES_MAX);
    if (set->bits[i / 64] >> i % 64 & 1)
        return;
    set->bits[i / 64] |= UINT64_C(1) << i % 64;
    if (cor_type_element(type))
        cor_openapi_add(set, cor_type_element(type));
    for (size_t m = 0; m < cor_type_nmembers(type); m++) {
        cor_type_member(type, m, &member);
        cor_openapi_add(set, cor_type_field_type(member.field));
    }
}

struct cor_str cor_openapi_name(const struct cor_type *type, char *buf)
{
    struct cor_str prefix, name;

    if (scalar_schemas[type->shape].name)
        return cor_strz(scalar_schemas[type->shape].name);
    if (!has_schema(type))
        return COR_STR("");
    prefix = cor_strz(cor_type_pool + cor_type_packages[type->package].openapi);
    name = cor_type_name(type);
    assert(prefix.n + name.n + 1 < COR_OPENAPI_NAME_MAX);
    memcpy(buf, prefix.p, prefix.n);
    buf[prefix.n] = '.';
    memcpy(buf + prefix.n + 1, name.p, name.n);
    return cor_str(buf, prefix.n + 1 + name.n);
}

static void ref_write_member(struct cor_json_writer *w, enum cor_openapi_version version,
                             const struct cor_type *type)
{
    struct cor_str head =
        version == COR_OPENAPI_3 ? COR_STR("#/components/schemas/") : COR_STR("#/definitions/");
    char text[2 * COR_OPENAPI_NAME_MAX], buf[COR_OPENAPI_NAME_MAX];
    struct cor_str name = cor_openapi_name(type, buf);

    assert(name.n > 0 && head.n + name.n < sizeof(text));
    memcpy(text, head.p, head.n);
    memcpy(text + head.n, name.p, name.n);
    cor_json_member(w, COR_STR("$ref"), cor_str(text, head.n + name.n));
}

void cor_openapi_write_ref(struct cor_json_writer *w, enum cor_openapi_version version,
                           const struct cor_type *type)
{
    cor_json_begin_object(w);
    ref_write_member(w, version, type);
    cor_json_end_object(w);
}

const char *cor_openapi_scalar(const struct cor_type *type)
{
    return plain_schemas[type->shape].type;
}

/* The values in the order of their bytes, as upstream prints them. */
static void enum_write(struct cor_json_writer *w, const struct cor_type *type)
{
    size_t n = cor_type_nvalues(type);
    struct cor_str last = COR_STR("");

    cor_json_key(w, COR_STR("enum"));
    cor_json_begin_array(w);
    for (size_t written = 0; written < n; written++) {
        struct cor_str next = {0};

        for (size_t i = 0; i < n; i++) {
            struct cor_str value = cor_type_value(type, i);

            if ((written == 0 || cor_str_cmp(value, last) > 0) &&
                (!next.p || cor_str_cmp(value, next) < 0))
                next = value;
        }
        if (!next.p)
            break;
        cor_json_string(w, next);
        last = next;
    }
    cor_json_end_array(w);
}

static void shape_write(struct cor_json_writer *w, enum cor_openapi_version version,
                        const struct cor_type *type, bool has_values);

/* The element of a list or a map, whose default is the zero of its type. */
static void element_write(struct cor_json_writer *w, enum cor_openapi_version version,
                          const struct cor_type *type)
{
    bool is_struct = cor_type_shape(type) == COR_SHAPE_STRUCT;
    const char *zero = is_struct ? "{}" : plain_schemas[type->shape].zero;

    cor_json_begin_object(w);
    if (zero && version == COR_OPENAPI_3) {
        cor_json_key(w, COR_STR("default"));
        cor_json_raw(w, cor_strz(zero));
    }
    if (is_struct && version == COR_OPENAPI_3) {
        cor_json_key(w, COR_STR("allOf"));
        cor_json_begin_array(w);
        cor_openapi_write_ref(w, version, type);
        cor_json_end_array(w);
    } else {
        shape_write(w, version, type, true);
    }
    cor_json_end_object(w);
}

/* The members of an open object that describe a value of this type. `has_values`: those of an enum
 * are listed. */
static void shape_write(struct cor_json_writer *w, enum cor_openapi_version version,
                        const struct cor_type *type, bool has_values)
{
    if (has_schema(type)) {
        ref_write_member(w, version, type);
        return;
    }
    switch (cor_type_shape(type)) {
    case COR_SHAPE_LIST:
        cor_json_member(w, COR_STR("type"), COR_STR("array"));
        cor_json_key(w, COR_STR("items"));
        element_write(w, version, cor_type_element(type));
        return;
    case COR_SHAPE_MAP:
        cor_json_member(w, COR_STR("type"), COR_STR("object"));
        cor_json_key(w, COR_STR("additionalProperties"));
        element_write(w, version, cor_type_element(type));
        return;
    default:
        cor_json_member(w, COR_STR("type"), cor_strz(plain_schemas[type->shape].type));
        if (plain_schemas[type->shape].format)
            cor_json_member(w, COR_STR("format"), cor_strz(plain_schemas[type->shape].format));
        if (has_values && cor_type_is(type, COR_TYPE_ENUM))
            enum_write(w, type);
    }
}

/* The extensions that only the facts know. */
static void facts_write(struct cor_json_writer *w, enum cor_fact_of of, size_t index)
{
    const struct cor_openapi_fact *fact;
    size_t i = 0;

    while ((fact = next_fact(of, index, COR_FACT_EXTENSION, &i))) {
        cor_json_key(w, words_text(fact->name));
        cor_json_raw(w, words_text(fact->value));
    }
}

/* What clients merge a field by. */
static void extensions_write(struct cor_json_writer *w, const struct cor_type_field *field)
{
    static const char *const lists[] = {[COR_LIST_KIND_ATOMIC] = "atomic",
                                        [COR_LIST_KIND_SET] = "set",
                                        [COR_LIST_KIND_MAP] = "map"};
    static const char *const maps[] = {
        [COR_MAP_KIND_ATOMIC] = "atomic", [COR_MAP_KIND_GRANULAR] = "granular"};
    unsigned patch = cor_type_field_patch(field);
    enum cor_list_kind list = cor_type_field_list_kind(field);
    enum cor_map_kind map = cor_type_field_map_kind(field);

    if (cor_type_field_nkeys(field) > 0) {
        cor_json_key(w, COR_STR("x-kubernetes-list-map-keys"));
        cor_json_begin_array(w);
        for (size_t i = 0; i < cor_type_field_nkeys(field); i++)
            cor_json_string(w, cor_type_field_key(field, i));
        cor_json_end_array(w);
    }
    if (list != COR_LIST_KIND_NONE)
        cor_json_member(w, COR_STR("x-kubernetes-list-type"), cor_strz(lists[list]));
    if (map != COR_MAP_KIND_NONE)
        cor_json_member(w, COR_STR("x-kubernetes-map-type"), cor_strz(maps[map]));
    if (cor_type_field_patch_key(field).n > 0)
        cor_json_member(w, COR_STR("x-kubernetes-patch-merge-key"),
                        cor_type_field_patch_key(field));
    if (patch)
        cor_json_member(w, COR_STR("x-kubernetes-patch-strategy"),
                        patch & COR_PATCH_FLAG_REPLACE        ? COR_STR("replace")
                        : patch == COR_PATCH_FLAG_MERGE       ? COR_STR("merge")
                        : patch == COR_PATCH_FLAG_RETAIN_KEYS ? COR_STR("retainKeys")
                                                              : COR_STR("merge,retainKeys"));
}

struct cor_str cor_openapi_default(const struct cor_type_field *field)
{
    const struct cor_type *type = cor_type_field_type(field);
    struct cor_str declared = cor_type_field_default(field);
    const char *zero = plain_schemas[type->shape].zero;

    if (declared.n > 0)
        return declared;
    if (cor_type_field_is(field, COR_FIELD_POINTER))
        return COR_STR("");
    if (cor_type_shape(type) == COR_SHAPE_STRUCT)
        return COR_STR("{}");
    if (!zero || cor_type_field_is(field, COR_FIELD_OMITEMPTY))
        return COR_STR("");
    return cor_strz(zero);
}

/* Does anything are beside the type of a property? */
static bool property_is_bare(const struct cor_type_field *field)
{
    size_t i = 0, index = (size_t)(field - cor_type_fields);

    return cor_type_field_words(field).n == 0 && cor_openapi_default(field).n == 0 &&
           cor_type_field_list_kind(field) == COR_LIST_KIND_NONE &&
           cor_type_field_map_kind(field) == COR_MAP_KIND_NONE && !cor_type_field_patch(field) &&
           !next_fact(COR_FACT_OF_FIELD, index, COR_FACT_EXTENSION, &i);
}

static void property_write(struct cor_json_writer *w, enum cor_openapi_version version,
                           const struct cor_type_field *field)
{
    const struct cor_type *type = cor_type_field_type(field);
    struct cor_str value = version == COR_OPENAPI_3 ? cor_openapi_default(field) : COR_STR("");
    size_t index = (size_t)(field - cor_type_fields);

    cor_json_key(w, cor_type_field_name(field));
    cor_json_begin_object(w);
    description_write(w, cor_type_field_words(field));
    if (value.n > 0) {
        cor_json_key(w, COR_STR("default"));
        cor_json_raw(w, value);
    }
    if (has_schema(type) && version == COR_OPENAPI_3 && !property_is_bare(field)) {
        cor_json_key(w, COR_STR("allOf"));
        cor_json_begin_array(w);
        cor_openapi_write_ref(w, version, type);
        cor_json_end_array(w);
    } else {
        shape_write(w, version, type, !has_fact(field, COR_FACT_PLAIN));
    }
    extensions_write(w, field);
    facts_write(w, COR_FACT_OF_FIELD, index);
    cor_json_end_object(w);
}

/* Fields in the order of declaration; those of an inlined struct at its place. */
static void required_write(struct cor_json_writer *w, const struct cor_type *type, size_t *n)
{
    for (size_t i = 0; i < cor_type_nfields(type); i++) {
        const struct cor_type_field *field = cor_type_field(type, i);

        if (cor_type_field_is(field, COR_FIELD_INLINE)) {
            required_write(w, cor_type_field_type(field), n);
            continue;
        }
        if ((cor_type_field_is(field, COR_FIELD_OPTIONAL) ||
             cor_type_field_is(field, COR_FIELD_OMITEMPTY)) &&
            !has_fact(field, COR_FACT_REQUIRED))
            continue;
        if ((*n)++ == 0) {
            cor_json_key(w, COR_STR("required"));
            cor_json_begin_array(w);
        }
        cor_json_string(w, cor_type_field_name(field));
    }
}

void cor_openapi_write_kind(struct cor_json_writer *w, struct cor_str group, struct cor_str kind,
                            struct cor_str version)
{
    cor_json_print(w, "{group:%s,kind:%s,version:%s}", group, kind, version);
}

/* Under which groups and versions clients find the kind: its own, or those that the facts list
 * (all, for the kinds that every group has). */
static void kinds_write(struct cor_json_writer *w, const struct cor_type *type)
{
    const struct cor_type_package *package = &cor_type_packages[type->package];
    size_t i = 0;
    const struct cor_openapi_fact *fact =
        next_fact(COR_FACT_OF_TYPE, type_index(type), COR_FACT_KINDS, &i);
    struct cor_str rest;

    if (!fact && !cor_type_is(type, COR_TYPE_KIND))
        return;
    cor_json_key(w, COR_STR("x-kubernetes-group-version-kind"));
    cor_json_begin_array(w);
    if (!fact)
        cor_openapi_write_kind(w, cor_strz(cor_type_pool + package->group), cor_type_name(type),
                               cor_strz(cor_type_pool + package->version));
    for (rest = fact ? words_text(fact->value) : COR_STR(""); rest.n > 0;) {
        struct cor_str version = cor_str_cut(&rest, ' '), group = cor_str_cut(&version, '/');

        if (!version.p)
            version = group, group = COR_STR("");
        cor_openapi_write_kind(w, group, cor_type_name(type), version);
    }
    cor_json_end_array(w);
}

bool cor_openapi_is_known_in(const struct cor_type *type, struct cor_str api_version)
{
    size_t i = 0;
    const struct cor_openapi_fact *fact =
        next_fact(COR_FACT_OF_TYPE, type_index(type), COR_FACT_KINDS, &i);
    struct cor_str rest = fact ? words_text(fact->value) : COR_STR("");

    while (rest.n > 0) {
        if (cor_str_eq(cor_str_cut(&rest, ' '), api_version))
            return true;
    }
    return false;
}

static void struct_write(struct cor_json_writer *w, enum cor_openapi_version version,
                         const struct cor_type *type)
{
    struct cor_member member;
    size_t nrequired = 0;

    description_write(w, cor_type_words(type));
    cor_json_member(w, COR_STR("type"), COR_STR("object"));
    required_write(w, type, &nrequired);
    if (nrequired > 0)
        cor_json_end_array(w);
    if (cor_type_nmembers(type) > 0) {
        cor_json_key(w, COR_STR("properties"));
        cor_json_begin_object(w);
        for (size_t i = 0; i < cor_type_nmembers(type); i++) {
            cor_type_member(type, i, &member);
            property_write(w, version, member.field);
        }
        cor_json_end_object(w);
    }
    kinds_write(w, type);
    if (cor_type_is(type, COR_TYPE_ATOMIC))
        cor_json_member(w, COR_STR("x-kubernetes-map-type"), COR_STR("atomic"));
    facts_write(w, COR_FACT_OF_TYPE, type_index(type));
}

static void scalar_write(struct cor_json_writer *w, const struct scalar_schema *scalar,
                         enum cor_openapi_version version)
{
    const char *members = version == COR_OPENAPI_3 && scalar->v3 ? scalar->v3 : scalar->v2;
    char text[256];

    assert(strlen(scalar->words) + (members ? strlen(members) : 0) + 32 < sizeof(text));
    snprintf(text, sizeof(text), "{\"description\":\"%s\"%s%s}", scalar->words, members ? "," : "",
             members ? members : "");
    cor_json_raw(w, cor_strz(text));
}

void cor_openapi_write_schemas(struct cor_json_writer *w, enum cor_openapi_version version,
                               const struct cor_openapi_set *set)
{
    char buf[COR_OPENAPI_NAME_MAX];

    for (size_t i = 0; i < cor_types_count(); i++) {
        const struct cor_type *type = cor_type_at(i);
        const struct scalar_schema *scalar = &scalar_schemas[type->shape];

        if (!(set->bits[i / 64] >> i % 64 & 1) || !has_schema(type))
            continue;
        cor_json_key(w, cor_openapi_name(type, buf));
        if (cor_type_shape(type) == COR_SHAPE_STRUCT) {
            cor_json_begin_object(w);
            struct_write(w, version, type);
            cor_json_end_object(w);
        } else {
            scalar_write(w, scalar, version);
        }
    }
}
