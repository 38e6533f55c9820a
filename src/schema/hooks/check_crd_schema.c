/* clang-format off */
/* The schemas of a CustomResourceDefinition (contract crd 1.5 to 1.7): is a schema structural, and
 * does it use keywords that the server knows? In upstream's order:
 *
 *   root          what the subresource `status` and the root forbid
 *   unsupported   a keyword that no structural schema has: the structure is not looked at then, and
 *                 the keyword is an error of its own only when no other one was found
 *   structure     types, items and properties are there; nothing but value validation below allOf,
 *                 anyOf, oneOf and not. The errors are sorted by their text
 *   defaults      only if the structure has no mistake: the schema accepts them (check_crd_values.c)
 *   keywords      each schema in it: types, list types, map keys, texts of rules (check_crd_keywords.c)
 *
 * What is not checked: rules in CEL (docs/COMPAT.md).
 *
 * Each function recurses into the schemas of a schema; JSON is at most COR_JSON_DEPTH_MAX deep.
 * Failures: no memory, which the errors keep. Thread: any. */
/* clang-format on */
#include <stdlib.h>
#include <string.h>

#include "schema/hooks/check_crd_parts.h"
#include "schema/hooks/hooks.h"
#include "json/text/scan.h"

/* Calls `visit` for a schema and for the schemas in it until a call returns a text, and returns
 * that text. */
typedef const char *(*visit_fn)(struct cor_check *check, const struct cor_place *schema);
static const char *visit_schemas(struct cor_check *check, const struct cor_place *schema,
                                 visit_fn visit)
{
    static const char *const lists[] = {"allOf", "anyOf", "oneOf", "properties"};
    static const char *const single[] = {"items", "additionalProperties"};
    const char *found = visit(check, schema);
    struct cor_place list, item;

    if (!found && cor_place_field(check, schema, "not", &item))
        found = visit_schemas(check, &item, visit);
    for (size_t i = 0; !found && i < COR_ARRAY_LEN(lists); i++) {
        struct cor_each each;

        if (!cor_place_field(check, schema, lists[i], &list))
            continue;
        each = cor_each(check, &list);
        while (!found && cor_each_next(check, &each, &item))
            found = visit_schemas(check, &item, visit);
    }
    for (size_t i = 0; !found && i < COR_ARRAY_LEN(single); i++) {
        if (schema_of(check, schema, single[i], &item))
            found = visit_schemas(check, &item, visit);
    }
    return found;
}

static const char *find_default(struct cor_check *check, const struct cor_place *schema)
{
    return has_member(check, schema, "default") ? "" : NULL;
}

COR_HOOK(crd_defaults_pruned)
{
    struct cor_place preserve, list, version, validation, schema;
    struct cor_each each;
    bool has_default = false;

    cor_place_field(check, place, "preserveUnknownFields", &preserve);
    if (!cor_place_bool(check, &preserve))
        return;
    cor_place_field(check, place, "versions", &list);
    each = cor_each(check, &list);
    while (!has_default && cor_each_next(check, &each, &version))
        has_default = cor_place_field(check, &version, "schema", &validation) &&
                      cor_place_field(check, &validation, "openAPIV3Schema", &schema) &&
                      visit_schemas(check, &schema, find_default);
    if (has_default)
        cor_check_invalid(check, &preserve, "must be false in order to use defaults in the schema");
}

/* --- Keywords that no structural schema has --------------------------------------------------- */

static const char *find_unsupported(struct cor_check *check, const struct cor_place *schema)
{
    static const char *const names[] = {
        "id",           "$schema",         "$ref",       "patternProperties",
        "dependencies", "additionalItems", "definitions"};
    struct cor_place member;

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (!cor_place_field(check, schema, names[i], &member) ||
            (i < 3 && cor_place_text(check, &member).n == 0))
            continue;
        return cor_check_printf(check, "OpenAPIV3Schema '%s' is not supported",
                                i == 1 ? "schema" : names[i]);
    }
    if (cor_place_field(check, schema, X_PRESERVE, &member) && !cor_place_bool(check, &member))
        return "internal error: '" X_PRESERVE "' must be true or undefined";
    if (has_item_list(check, schema))
        return "OpenAPIV3Schema 'items' must be a schema, but is an array";
    return NULL;
}

/* --- Structure -------------------------------------------------------------------------------- */

enum level { LEVEL_ROOT, LEVEL_ITEM, LEVEL_FIELD };

/* May the types of the two alternatives be given, because they say what int-or-string means? */
static bool is_int_or_string_list(struct cor_check *check, const struct cor_place *schema)
{
    struct cor_place list;

    return cor_place_field(check, schema, "anyOf", &list) &&
           cor_str_eqz(cor_place_json(check, &list),
                       "[{\"type\":\"integer\"},{\"type\":\"string\"}]");
}

static void check_nested(struct cor_check *check, const struct cor_place *schema,
                         bool skips_any_of);

/* Checks the pattern, and what is below allOf, anyOf, oneOf and not. `skips_any_of`: anyOf is that
 * of an int-or-string; `skips_first`: that of the first schema in allOf is. */
static void check_junctors(struct cor_check *check, const struct cor_place *schema,
                           bool skips_any_of, bool skips_first)
{
    struct cor_place list, item;

    cor_crd_check_pattern(check, schema);
    for (size_t i = 0; i < COR_ARRAY_LEN(crd_junctors); i++) {
        bool is_first = strcmp(crd_junctors[i], "allOf") == 0;

        if ((skips_any_of && strcmp(crd_junctors[i], "anyOf") == 0) ||
            !cor_place_field(check, schema, crd_junctors[i], &list))
            continue;
        COR_EACH(check, &list, item) {
            check_nested(check, &item,
                         is_first && skips_first && is_int_or_string_list(check, &item));
            is_first = false;
        }
    }
    if (cor_place_field(check, schema, "not", &item))
        check_nested(check, &item, false);
}

/* Checks a schema that may only restrict values: the structure is said elsewhere. */
static void check_nested(struct cor_check *check, const struct cor_place *schema, bool skips_any_of)
{
    static const struct {
        const char *name, *detail;
    } forbidden[] = {
        {"type", "must be empty to be structural"},
        {"default", "must be undefined to be structural"},
        {"title", "must be empty to be structural"},
        {"description", "must be empty to be structural"},
        {"nullable", "must be false to be structural"},
        {X_PRESERVE, "must be false to be structural"},
        {X_EMBEDDED, "must be false to be structural"},
        {X_INT_OR_STR, "must be false to be structural"},
        {X_MAP_KEYS, "must be empty to be structural"},
        {X_LIST_TYPE, "must be undefined to be structural"},
        {X_MAP_TYPE, "must be undefined to be structural"},
        {X_VALIDATIONS, "must be empty to be structural"},
    };
    struct cor_place member, item;

    check_junctors(check, schema, skips_any_of, false);
    if (schema_of(check, schema, "items", &item))
        check_nested(check, &item, false);
    if (cor_place_field(check, schema, "properties", &member)) {
        COR_EACH(check, &member, item) {
            check_nested(check, &item, false);
            if (cor_str_eqz(item.key, "metadata"))
                cor_check_forbidden(check, &item, "must not be specified in a nested context");
        }
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(forbidden); i++) {
        cor_place_field(check, schema, forbidden[i].name, &member);
        if (cor_place_is_set(check, &member))
            cor_check_forbidden(check, &member, forbidden[i].detail);
    }
    if (cor_place_field(check, schema, "additionalProperties", &member) &&
        first_byte(check, &member) != 'f')
        cor_check_forbidden(check, &member, "must be undefined to be structural");
}

/* Has the schema of the root's metadata anything but the type, a default, which another check
 * forbids, and the properties name and generateName? */
static bool restricts_metadata(struct cor_check *check, const struct cor_place *schema)
{
    static const char *const allowed[] = {"type", "default", "externalDocs", "example"};
    struct cor_json_iter it = cor_json_iter(cor_place_json(check, schema));
    struct cor_place properties, item;
    struct cor_str key;

    while (cor_json_iter_member(&it, &key)) {
        bool is_allowed = cor_str_eqz(key, "properties");

        for (size_t i = 0; i < COR_ARRAY_LEN(allowed); i++)
            is_allowed = is_allowed || cor_str_eqz(key, allowed[i]);
        if (!is_allowed)
            return true;
        cor_json_iter_value(&it);
    }
    if (!cor_place_field(check, schema, "properties", &properties))
        return false;
    COR_EACH(check, &properties, item) {
        if (!cor_str_eqz(item.key, "name") && !cor_str_eqz(item.key, "generateName"))
            return true;
    }
    return false;
}

/* Checks a property that all resources have. */
static void check_resource_property(struct cor_check *check, const struct cor_place *property,
                                    enum level level)
{
    if ((cor_str_eqz(property->key, "kind") || cor_str_eqz(property->key, "apiVersion")) &&
        !is_type(check, property, "string"))
        refuse_text(check, property, "type", "must be string");
    if (!cor_str_eqz(property->key, "metadata"))
        return;
    if (!is_type(check, property, "object"))
        refuse_text(check, property, "type", "must be object");
    if (level == LEVEL_ROOT && restricts_metadata(check, property))
        cor_check_forbidden(check, property,
                            "must not specify anything other than name and generateName, but "
                            "metadata is implicitly specified");
}

static void check_type_is_there(struct cor_check *check, const struct cor_place *schema,
                                enum level level)
{
    static const char *const details[] = {
        [LEVEL_ROOT] = "must not be empty at the root",
        [LEVEL_ITEM] = "must not be empty for specified array items",
        [LEVEL_FIELD] = "must not be empty for specified object fields",
    };
    bool is_embedded = cor_field_bool(check, schema, X_EMBEDDED), is_empty, is_object;

    is_empty = cor_field_text(check, schema, "type").n == 0;
    is_object = is_type(check, schema, "object");
    if (is_embedded && is_empty)
        require(check, schema, "type", "must be object if " X_EMBEDDED " is true");
    else if (is_embedded && !is_object)
        refuse_text(check, schema, "type", "must be object if " X_EMBEDDED " is true");
    else if (is_empty && !cor_field_bool(check, schema, X_INT_OR_STR) &&
             !cor_field_bool(check, schema, X_PRESERVE))
        require(check, schema, "type", details[level]);
    if (level == LEVEL_ROOT && !is_empty && !is_object)
        refuse_text(check, schema, "type", "must be object at the root");
}

static void check_structure(struct cor_check *check, const struct cor_place *schema,
                            enum level level)
{
    bool is_embedded = cor_field_bool(check, schema, X_EMBEDDED);
    struct cor_place properties, additional, item;

    if (is_type(check, schema, "array") && !has_member(check, schema, "items"))
        require(check, schema, "items", "must be specified");
    if (schema_of(check, schema, "items", &item))
        check_structure(check, &item, LEVEL_ITEM);
    cor_place_field(check, schema, "properties", &properties);
    COR_EACH(check, &properties, item) {
        check_structure(check, &item, LEVEL_FIELD);
        if (level == LEVEL_ROOT || is_embedded)
            check_resource_property(check, &item, level);
    }
    if (cor_place_field(check, schema, "additionalProperties", &additional)) {
        if (level == LEVEL_ROOT)
            cor_check_forbidden(check, &additional, "must not be used at the root");
        if (schema_of(check, schema, "additionalProperties", &item))
            check_structure(check, &item, LEVEL_FIELD);
        if (is_embedded)
            cor_check_forbidden(check, &additional, "must not be used if " X_EMBEDDED " is set");
    }
    if (cor_field_bool(check, schema, X_INT_OR_STR)) {
        if (cor_field_bool(check, schema, X_PRESERVE))
            refuse_value(check, schema, X_PRESERVE, "must be false if " X_INT_OR_STR " is true");
        if (is_embedded)
            refuse_value(check, schema, X_EMBEDDED, "must be false if " X_INT_OR_STR " is true");
    }
    check_junctors(check, schema, is_int_or_string_list(check, schema), true);
    check_type_is_there(check, schema, level);
    if (is_embedded && !cor_field_bool(check, schema, X_PRESERVE) &&
        cor_place_length(check, &properties) == 0)
        cor_check_required(check, &properties,
                           "must not be empty if " X_EMBEDDED " is true without " X_PRESERVE);
}

/* By `field: body`, the text of an error. */
static int compare_errors(const void *left, const void *right)
{
    const struct cor_field_error *a = left, *b = right;
    const unsigned char *x = (const unsigned char *)a->field, *y = (const unsigned char *)b->field;

    while (*x && *x == *y) {
        x++;
        y++;
    }
    if (!*x && !*y)
        return strcmp(a->body, b->body);
    return (*x ? *x : ':') - (*y ? *y : ':');
}

/* --- The root --------------------------------------------------------------------------------- */

/* The schema of `status` is taken out of the root's when the subresource is on: the root may only
 * have what is not lost then. */
static void check_root_of_status(struct cor_check *check, const struct cor_place *schema)
{
    static const char *const before_type[] = {"id", "$schema", "$ref"};
    static const char *const others[] = {
        "default",
        "enum",
        "maxProperties",
        "minProperties",
        "allOf",
        "oneOf",
        "anyOf",
        "not",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions",
        "nullable",
        "additionalProperties",
        X_EMBEDDED,
        X_INT_OR_STR,
        X_MAP_KEYS,
        X_LIST_TYPE,
        X_MAP_TYPE,
    };
    struct cor_place member;
    bool is_refused = false;

    for (size_t i = 0; i < COR_ARRAY_LEN(before_type); i++) {
        cor_place_field(check, schema, before_type[i], &member);
        is_refused = is_refused || cor_place_is_set(check, &member);
    }
    if (!is_refused && cor_field_text(check, schema, "type").n > 0 &&
        !is_type(check, schema, "object")) {
        refuse_text(
            check, schema, "type",
            "only \"object\" is allowed as the type at the root of the schema if the status "
            "subresource is enabled");
        return;
    }
    for (size_t i = 0; !is_refused && i < COR_ARRAY_LEN(others); i++) {
        cor_place_field(check, schema, others[i], &member);
        is_refused = cor_place_is_present(&member) &&
                     (member.is_pointer || !cor_place_is_empty(check, &member));
    }
    if (is_refused) {
        struct cor_place shown = *schema;

        shown.is_pointer = false;
        cor_check_invalid(
            check, &shown,
            "only [Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum "
            "MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items "
            "Properties ExternalDocs Example XPreserveUnknownFields XValidations] fields are "
            "allowed at the root of the schema if the status subresource is enabled");
    }
}

/* Is the subresource `status` on, for any version that has this schema? */
static bool is_status_on(struct cor_check *check, const struct cor_place *schema)
{
    const struct cor_place *version = schema->parent->parent;
    struct cor_place subresources;

    if (cor_check_has_seen(check, COR_SEEN_SHARED, COR_STR("schema")))
        return cor_check_has_seen(check, COR_SEEN_SHARED, COR_STR("status"));
    return cor_place_field(check, version, "subresources", &subresources) &&
           has_member(check, &subresources, "status");
}

COR_HOOK(crd_schema)
{
    size_t before = check->errors->n, first;
    const char *unsupported;

    if (!cor_place_is_present(place))
        return;
    if (is_status_on(check, place))
        check_root_of_status(check, place);
    if (cor_field_bool(check, place, "nullable"))
        forbid(check, place, "nullable", "nullable cannot be true at the root");
    unsupported = visit_schemas(check, place, find_unsupported);
    first = check->errors->n;
    if (!unsupported) {
        check_structure(check, place, LEVEL_ROOT);
        cor_crd_check_complete(check, place);
    }
    if (check->errors->n > first)
        qsort(check->errors->v + first, check->errors->n - first, sizeof(*check->errors->v),
              compare_errors);
    else if (!unsupported && visit_schemas(check, place, find_default))
        cor_crd_check_defaults(check, place);
    cor_crd_check_keywords(check, place);
    if (unsupported && check->errors->n == before)
        cor_check_add_value(check, COR_FIELD_INVALID, place, cor_field_string(COR_STR("")),
                            unsupported);
}
