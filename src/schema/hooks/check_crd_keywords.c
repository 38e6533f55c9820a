/* clang-format off */
/* The keywords in the schemas of a CustomResourceDefinition (contract crd 1.7): each schema in a
 * schema is checked for keywords that the server does not know, for types of lists and maps, and for
 * the texts of its rules. Rules in CEL are not compiled (docs/COMPAT.md).
 *
 *   cor_crd_check_keywords ──► check_keywords, for the root and for each schema in it
 *
 * JSON is at most COR_JSON_DEPTH_MAX deep, and so is the recursion. The keys of a list are compared
 * with the properties of its items by sets, so that the work is linear.
 * Failures: no memory, which the errors keep. Thread: any. */
/* clang-format on */
#include "base/cleanup.h"
#include "base/str_set.h"
#include "schema/hooks/check_crd_parts.h"

/* What a schema must know of the schemas around it. */
struct surroundings {
    bool is_root, is_in_meta;
    const char *no_default; /* why no default may be set; NULL: one may */
};

static void check_unknown_keywords(struct cor_check *check, const struct cor_place *schema,
                                   const struct surroundings *around)
{
    static const char *const types[] = {"array",  "boolean", "integer",
                                        "number", "object",  "string"};
    static const char *const unsupported[] = {"id",          "additionalItems", "patternProperties",
                                              "definitions", "dependencies",    "$ref"};
    struct cor_str type = cor_field_text(check, schema, "type");
    struct cor_place member;
    bool is_known = type.n == 0;

    cor_place_field(check, schema, "type", &member);
    for (size_t i = 0; i < COR_ARRAY_LEN(types); i++)
        is_known = is_known || cor_str_eqz(type, types[i]);
    if (!is_known)
        cor_check_not_supported(check, &member, types, COR_ARRAY_LEN(types));
    if (around->no_default && has_member(check, schema, "default"))
        forbid(check, schema, "default", around->no_default);
    for (size_t i = 0; i < COR_ARRAY_LEN(unsupported); i++) {
        if (has_member(check, schema, unsupported[i]))
            forbid(check, schema, unsupported[i],
                   cor_check_printf(check, "%s is not supported", unsupported[i]));
    }
    if (cor_str_eqz(type, "null"))
        cor_check_forbidden(check, &member,
                            "type cannot be set to null, use nullable as an alternative");
    if (has_item_list(check, schema))
        forbid(check, schema, "items", "items must be a schema object and not an array");
    if (around->is_in_meta && cor_field_bool(check, schema, X_EMBEDDED))
        forbid(check, schema, X_EMBEDDED, "must not be used inside of resource meta");
}

static void check_map_type(struct cor_check *check, const struct cor_place *schema)
{
    static const char *const types[] = {"atomic", "granular"};
    struct cor_place member;
    struct cor_str type;

    if (!cor_place_field(check, schema, X_MAP_TYPE, &member))
        return;
    if (cor_field_text(check, schema, "type").n == 0)
        require(check, schema, "type", "must be object if " X_MAP_TYPE " is specified");
    else if (!is_type(check, schema, "object"))
        refuse_text(check, schema, "type", "must be object if " X_MAP_TYPE " is specified");
    type = cor_place_text(check, &member);
    if (!cor_str_eqz(type, "atomic") && !cor_str_eqz(type, "granular"))
        cor_field_errors_add_not_supported(check->errors, &member.path, cor_field_string(type),
                                           types, COR_ARRAY_LEN(types));
}

/* The items of a set are compared as a whole. Upstream shows the list type in both messages. */
static void check_set_items(struct cor_check *check, const struct cor_place *items)
{
    static const char detail[] = "must be atomic as item of a list with " X_LIST_TYPE "=set";
    struct cor_place list_type, map_type;

    cor_place_field(check, items, X_LIST_TYPE, &list_type);
    cor_place_field(check, items, X_MAP_TYPE, &map_type);
    if (is_type(check, items, "array") && cor_place_is_present(&list_type) &&
        !cor_str_eqz(cor_place_text(check, &list_type), "atomic"))
        cor_check_invalid(check, &list_type, detail);
    if (is_type(check, items, "object") && !cor_str_eqz(cor_place_text(check, &map_type), "atomic"))
        cor_check_add_value(check, COR_FIELD_INVALID, &map_type, cor_check_value(check, &list_type),
                            detail);
}

/* Adds the texts of a list to a set. */
static void add_texts(struct cor_check *check, const struct cor_place *list,
                      struct cor_str_set *set)
{
    struct cor_place item;
    bool is_new;

    COR_EACH(check, list, item)
        cor_check_note(check, cor_str_set_add(set, cor_place_text(check, &item), &is_new));
}

/* Checks the properties that are keys of a list: each is looked at once. */
static void check_key_properties(struct cor_check *check, const struct cor_place *items,
                                 const struct cor_place *keys, struct cor_str_set *names)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set required = {.nfew = 0};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set wanted = {.nfew = 0};
    struct cor_place properties, property, member;
    bool is_new;

    cor_str_set_init(&required, CRD_SCHEMA_TEXTS_MAX);
    cor_str_set_init(&wanted, CRD_SCHEMA_TEXTS_MAX);
    add_texts(check, keys, &wanted);
    cor_place_field(check, items, "required", &member);
    add_texts(check, &member, &required);
    cor_place_field(check, items, "properties", &properties);
    COR_EACH(check, &properties, property) {
        if (!cor_str_set_has(&wanted, property.key))
            continue;
        cor_check_note(check, cor_str_set_add(names, property.key, &is_new));
        /* Upstream shows the type of the item. */
        cor_place_field(check, &property, "type", &member);
        if (is_type(check, items, "object") &&
            (is_type(check, &property, "array") || is_type(check, &property, "object")))
            cor_check_add_value(check, COR_FIELD_INVALID, &member,
                                cor_field_string(cor_field_text(check, items, "type")),
                                "must be a scalar type if parent array's " X_LIST_TYPE " is map");
        if (!cor_str_set_has(&required, property.key) && !has_member(check, &property, "default"))
            require(check, &property, "default",
                    "this property is in " X_MAP_KEYS
                    ", so it must have a default or be a required property");
        if (cor_field_bool(check, &property, "nullable"))
            forbid(check, &property, "nullable",
                   "this property is in " X_MAP_KEYS ", so it cannot be nullable");
    }
}

static void check_list_map(struct cor_check *check, const struct cor_place *schema)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set names = {.nfew = 0};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_field_value shown = cor_field_none();
    struct cor_place keys, items, item;
    bool is_new;

    cor_place_field(check, schema, X_MAP_KEYS, &keys);
    if (cor_place_length(check, &keys) == 0)
        cor_check_required(check, &keys, "must not be empty if " X_LIST_TYPE " is map");
    if (!has_member(check, schema, "items"))
        require(check, schema, "items", "must have a schema if " X_LIST_TYPE " is map");
    if (!schema_of(check, schema, "items", &items)) {
        if (has_member(check, schema, "items"))
            refuse_value(check, schema, "items",
                         "must only have a single schema if " X_LIST_TYPE " is map");
        return;
    }
    if (!is_type(check, &items, "object"))
        refuse_text(check, &items, "type",
                    "must be object if parent array's " X_LIST_TYPE " is map");
    cor_str_set_init(&names, CRD_SCHEMA_TEXTS_MAX);
    cor_str_set_init(&seen, CRD_SCHEMA_TEXTS_MAX);
    check_key_properties(check, &items, &keys, &names);
    if (!is_type(check, &items, "object"))
        return;
    COR_EACH(check, &keys, item) {
        struct cor_str key = cor_place_text(check, &item);

        is_new = true;
        cor_check_note(check, cor_str_set_add(&seen, key, &is_new));
        /* The whole list is shown; it is printed once. */
        if (shown.kind == COR_FIELD_VALUE_NONE && (!is_new || !cor_str_set_has(&names, key)))
            shown = cor_check_value(check, &keys);
        if (!cor_str_set_has(&names, key))
            cor_check_add_value(check, COR_FIELD_INVALID, &keys, shown,
                                "entries must all be names of item properties");
        if (!is_new)
            cor_check_add_value(check, COR_FIELD_INVALID, &keys, shown,
                                "must not contain duplicate entries");
    }
}

static void check_list_type(struct cor_check *check, const struct cor_place *schema)
{
    static const char *const types[] = {"atomic", "set", "map"};
    bool has_type, is_set, is_map, has_keys;
    struct cor_place member, items, keys;
    struct cor_str type;

    has_type = cor_place_field(check, schema, X_LIST_TYPE, &member);
    type = cor_place_text(check, &member);
    is_set = cor_str_eqz(type, "set");
    is_map = cor_str_eqz(type, "map");
    cor_place_field(check, schema, X_MAP_KEYS, &keys);
    has_keys = cor_place_length(check, &keys) > 0;
    if (has_type && cor_field_text(check, schema, "type").n == 0)
        require(check, schema, "type", "must be array if " X_LIST_TYPE " is specified");
    else if (has_type && !is_type(check, schema, "array"))
        refuse_text(check, schema, "type", "must be array if " X_LIST_TYPE " is specified");
    else if (is_set && schema_of(check, schema, "items", &items))
        check_set_items(check, &items);
    if (has_type && !cor_str_eqz(type, "atomic") && !is_set && !is_map)
        cor_field_errors_add_not_supported(check->errors, &member.path, cor_field_string(type),
                                           types, COR_ARRAY_LEN(types));
    if (has_keys && !has_type)
        cor_check_required(check, &member, "must be map if " X_MAP_KEYS " is non-empty");
    else if (has_keys && !is_map)
        refuse_text(check, schema, X_LIST_TYPE, "must be map if " X_MAP_KEYS " is non-empty");
    if (is_map)
        check_list_map(check, schema);
    if ((is_map || is_set) && schema_of(check, schema, "items", &items) &&
        cor_field_bool(check, &items, "nullable"))
        forbid(check, &items, "nullable",
               is_map ? "cannot be nullable when " X_LIST_TYPE " is map"
                      : "cannot be nullable when " X_LIST_TYPE " is set");
}

static bool has_line_break(struct cor_str text)
{
    return cor_str_find(text, '\n') >= 0 || cor_str_find(text, '\r') >= 0;
}

/* Checks the texts of a rule; the rule is not compiled. */
static void check_rule(struct cor_check *check, const struct cor_place *item)
{
    static const char *const reasons[] = {"FieldValueDuplicate", "FieldValueForbidden",
                                          "FieldValueInvalid", "FieldValueRequired"};
    struct cor_str rule = cor_field_text(check, item, "rule");
    struct cor_str message = cor_field_text(check, item, "message");
    struct cor_str expression = cor_field_text(check, item, "messageExpression");
    struct cor_str path = cor_field_text(check, item, "fieldPath"), reason;
    struct cor_place member;
    bool is_known = false;

    if (cor_str_trim(rule).n == 0)
        require(check, item, "rule", "rule is not specified");
    else if (message.n > 0 && cor_str_trim(message).n == 0)
        refuse_text(check, item, "message", "must be non-empty if specified");
    else if (has_line_break(cor_str_trim(message)))
        refuse_text(check, item, "message", "must not contain line breaks");
    else if (has_line_break(cor_str_trim(rule)) && message.n == 0)
        require(check, item, "message", "message must be specified if rule contains line breaks");
    if (expression.n > 0 && cor_str_trim(expression).n == 0)
        require(check, item, "messageExpression",
                "messageExpression must be non-empty if specified");
    if (cor_place_field(check, item, "reason", &member)) {
        reason = cor_place_text(check, &member);
        for (size_t i = 0; i < COR_ARRAY_LEN(reasons); i++)
            is_known = is_known || cor_str_eqz(reason, reasons[i]);
        if (!is_known)
            cor_field_errors_add_not_supported(check->errors, &member.path,
                                               cor_field_string(reason), reasons,
                                               COR_ARRAY_LEN(reasons));
    }
    if (path.n > 0 && cor_str_trim(path).n == 0)
        refuse_text(check, item, "fieldPath", "must be non-empty if specified");
    if (has_line_break(path))
        refuse_text(check, item, "fieldPath", "must not contain line breaks");
}

static void check_keywords(struct cor_check *check, const struct cor_place *schema,
                           const struct surroundings *around);

/* Checks the keywords of the properties. Those that all resources have are metadata. */
static void check_properties(struct cor_check *check, const struct cor_place *schema,
                             const struct surroundings *around)
{
    bool has_meta = around->is_root || cor_field_bool(check, schema, X_EMBEDDED);
    struct cor_place properties, item;

    if (!cor_place_field(check, schema, "properties", &properties))
        return;
    COR_EACH(check, &properties, item) {
        struct surroundings inner = *around;

        inner.is_root = false;
        if (has_meta && (cor_str_eqz(item.key, "metadata") || cor_str_eqz(item.key, "kind") ||
                         cor_str_eqz(item.key, "apiVersion"))) {
            inner.is_in_meta = true;
            if (around->is_root)
                inner.no_default = cor_check_printf(check, "must not be set in top-level %.*s",
                                                    COR_STR_ARG(item.key));
        }
        check_keywords(check, &item, &inner);
    }
}

static void check_keywords(struct cor_check *check, const struct cor_place *schema,
                           const struct surroundings *around)
{
    struct surroundings inner = *around, additional = *around;
    struct cor_place member, item;

    inner.is_root = additional.is_root = false;
    check_unknown_keywords(check, schema, around);
    if (cor_field_bool(check, schema, "uniqueItems"))
        forbid(check, schema, "uniqueItems",
               "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    if (cor_place_field(check, schema, "additionalProperties", &member)) {
        if (has_member(check, schema, "properties") && first_byte(check, &member) != 't')
            cor_check_forbidden(check, &member,
                                "additionalProperties and properties are mutual exclusive");
        if (around->is_in_meta)
            additional.no_default =
                "must not be set inside additionalProperties applying to object metadata";
        if (schema_of(check, schema, "additionalProperties", &item))
            check_keywords(check, &item, &additional);
    }
    check_properties(check, schema, around);
    if (cor_place_field(check, schema, "not", &item))
        check_keywords(check, &item, &inner);
    for (size_t i = 0; i < COR_ARRAY_LEN(crd_junctors); i++) {
        if (!cor_place_field(check, schema, crd_junctors[i], &member))
            continue;
        COR_EACH(check, &member, item)
            check_keywords(check, &item, &inner);
    }
    if (schema_of(check, schema, "items", &item))
        check_keywords(check, &item, &inner);
    if (cor_place_field(check, schema, X_PRESERVE, &member) && !cor_place_bool(check, &member))
        cor_check_add_value(check, COR_FIELD_INVALID, &member, cor_field_json(COR_STR("false")),
                            "must be true or undefined");
    check_map_type(check, schema);
    check_list_type(check, schema);
    if (cor_place_field(check, schema, X_VALIDATIONS, &member)) {
        COR_EACH(check, &member, item)
            check_rule(check, &item);
    }
}

void cor_crd_check_keywords(struct cor_check *check, const struct cor_place *root)
{
    const struct surroundings around = {.is_root = true};

    check_keywords(check, root, &around);
}
