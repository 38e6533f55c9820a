/* clang-format off */
/* The hooks of validation for CustomResourceDefinition but those of its schemas, which are in
 * check_crd_schema.c (schema/check/check.h describes what hooks work with).
 *
 * crd_shared runs before all others of the spec. It notes, under COR_SEEN_SHARED, the names of the
 * fields that are equal in all versions, and "status" when a version has that subresource. Upstream
 * moves shared fields from the versions to the spec before it validates; the rule files and
 * crd_versions, which prints the versions, ask for these names.
 *
 * Failures: no memory, which the errors keep. Thread: any. */
/* clang-format on */
#include "schema/hooks/check_crd.h"

#include "base/cleanup.h"
#include "base/utf8.h"
#include "meta/names/key.h"
#include "meta/status/quote.h"
#include "schema/go/go_value.h"
#include "schema/hooks/check_old_mistakes.h"
#include "schema/hooks/hooks.h"
#include "schema/kinds/crd_approval.h"
#include "schema/kinds/custom_fields.h"
#include "schema/walk/equal.h"
#include "json/write/writer.h"

#define CRD_TEXTS_MAX     (32u << 20)
#define DEPRECATION_MAX   256
#define SIMPLE_PATH_WORDS "must be a simple json path starting with ."

static const char *const shared_names[] = {"schema", "subresources", "additionalPrinterColumns",
                                           "selectableFields"};

/* --- Texts ------------------------------------------------------------------------------------ */

/* Adds one error with all findings of the format about `text`, behind `intro`; the error shows the
 * value of the place. */
static void crd_check_joined(struct cor_check *check, const struct cor_place *place,
                             enum cor_format format, struct cor_str text, const char *intro)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = CRD_TEXTS_MAX};

    cor_check_note(check, cor_format_join(format, text, ",", &why));
    if (why.n > 0)
        cor_check_add_value(check, COR_FIELD_INVALID, place,
                            cor_field_string(cor_place_text(check, place)),
                            cor_check_printf(check, "%s%.*s", intro, (int)why.n, why.p));
}

COR_HOOK(joined_format)
{
    enum cor_format format;

    if (cor_format_find(arg, &format))
        crd_check_joined(check, place, format, cor_place_text(check, place), "");
}

COR_HOOK(mixed_case)
{
    struct cor_str text = cor_place_text(check, place);
    char *lower = cor_check_copy(check, text);

    for (size_t i = 0; lower && i < text.n; i++) {
        if (lower[i] >= 'A' && lower[i] <= 'Z')
            lower[i] = (char)(lower[i] - 'A' + 'a');
    }
    if (lower)
        crd_check_joined(check, place, COR_FORMAT_DNS_1035, cor_str(lower, text.n),
                         "may have mixed case, but should otherwise match: ");
}

COR_HOOK(crd_group)
{
    struct cor_str group = cor_place_text(check, place);

    if (!cor_format_ok(COR_FORMAT_DNS_SUBDOMAIN, group))
        crd_check_joined(check, place, COR_FORMAT_DNS_SUBDOMAIN, group, "");
    else if (cor_str_find(group, '.') < 0)
        cor_check_invalid(check, place, "should be a domain with at least one dot");
}

COR_HOOK(crd_name)
{
    static const char *const members[] = {"generateName", "name"};
    struct cor_place metadata, spec, names, name;
    struct cor_str parts[3], wanted, text;
    struct cor_gr gr;

    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, &spec, "names", &names);
    parts[0] = cor_field_text(check, &names, "plural");
    parts[1] = COR_STR(".");
    parts[2] = cor_field_text(check, &spec, "group");
    wanted = cor_check_concat(check, parts, COR_ARRAY_LEN(parts));
    for (size_t i = 0; i < COR_ARRAY_LEN(members); i++) {
        cor_place_field(check, &metadata, members[i], &name);
        text = cor_place_text(check, &name);
        if (text.n > 0 && !cor_str_eq(text, wanted))
            cor_check_invalid(check, &name, "must be spec.names.plural+\".\"+spec.group");
    }
    gr = (struct cor_gr){parts[2], parts[0]};
    if (cor_key_is_builtin(&gr)) {
        cor_place_field(check, &names, "plural", &name);
        cor_check_invalid(check, &name, "instances overlap with built-in resources in storage");
    }
}

/* Would Go print the character as it is? */
static bool is_printable(struct cor_str character)
{
    return cor_str_eqz(character, "\"") || cor_str_eqz(character, "\\") ||
           cor_quote_bytes(character) == character.n + 2;
}

COR_HOOK(deprecation_warning)
{
    struct cor_str text = cor_place_text(check, place);
    uint32_t code_point;
    size_t n;

    if (!cor_place_is_present(place))
        return;
    if (!cor_field_bool(check, place->parent, "deprecated")) {
        cor_check_invalid(check, place, "can only be set for deprecated versions");
        return;
    }
    if (text.n > DEPRECATION_MAX)
        cor_check_invalid(check, place, "must be <= 256 characters long");
    if (text.n == 0)
        cor_check_invalid(check, place, "must not be an empty string");
    for (size_t i = 0; i < text.n; i += n) {
        n = cor_utf8_first(cor_str_from(text, i), &code_point);
        if (is_printable(cor_str(text.p + i, n)))
            continue;
        cor_check_invalid(check, place,
                          cor_check_printf(check,
                                           "must only contain printable UTF-8 characters; "
                                           "non-printable character found at index %zu",
                                           i));
        return;
    }
}

/* --- Paths ------------------------------------------------------------------------------------ */

COR_HOOK(path_under)
{
    struct cor_str text = cor_place_text(check, place);
    bool is_spec = cor_str_starts(text, COR_STR(".spec."));
    bool is_status = cor_str_starts(text, COR_STR(".status."));

    if (text.n == 0 || text.p[0] != '.')
        cor_check_add_value(check, COR_FIELD_INVALID, place, cor_field_string(text),
                            SIMPLE_PATH_WORDS);
    else if (cor_str_eqz(arg, ".spec")     ? !is_spec
             : cor_str_eqz(arg, ".status") ? !is_status
                                           : !is_spec && !is_status)
        cor_check_invalid(
            check, place,
            cor_check_printf(check, "should be a json path under %.*s", COR_STR_ARG(arg)));
}

/* --- What all versions share ------------------------------------------------------------------ */

COR_WHEN(is_first_element)
{
    return place->parent && place->parent->node != COR_JSON_NO_NODE &&
           place->node == place->parent->node + 1;
}

COR_WHEN(crd_shares)
{
    return cor_check_has_seen(check, COR_SEEN_SHARED, arg);
}

COR_HOOK(crd_shared)
{
    bool is_shared[COR_ARRAY_LEN(shared_names)] = {true, true, true, true};
    uint32_t first[COR_ARRAY_LEN(shared_names)];
    struct cor_place list, version, field, status;
    bool has_status = false, is_first = true;

    cor_check_forget(check, COR_SEEN_SHARED);
    cor_place_field(check, place, "versions", &list);
    COR_EACH(check, &list, version) {
        for (size_t i = 0; i < COR_ARRAY_LEN(shared_names); i++) {
            cor_place_field(check, &version, shared_names[i], &field);
            if (is_first)
                first[i] = field.node;
            else if (is_shared[i])
                is_shared[i] =
                    cor_semantic_equal(field.type, field.is_pointer, &check->object.nodes, first[i],
                                       &check->object.nodes, field.node, 0);
        }
        if (!has_status && cor_place_field(check, &version, "subresources", &field))
            has_status = cor_place_field(check, &field, "status", &status);
        is_first = false;
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(shared_names); i++) {
        if (is_shared[i])
            cor_check_see(check, COR_SEEN_SHARED, place, cor_strz(shared_names[i]));
    }
    if (has_status)
        cor_check_see(check, COR_SEEN_SHARED, place, COR_STR("status"));
}

COR_WHEN(crd_old_lacks_schema)
{
    struct cor_place old = cor_place_old(place), list, version, validation, schema;
    bool lacks = false;
    struct cor_each each;

    if (!check->has_old)
        return false;
    cor_place_field(check, &old, "versions", &list);
    each = cor_each(check, &list);
    while (!lacks && cor_each_next(check, &each, &version))
        lacks = !cor_place_field(check, &version, "schema", &validation) ||
                !cor_place_field(check, &validation, "openAPIV3Schema", &schema);
    return lacks;
}

/* --- Versions --------------------------------------------------------------------------------- */

/* Writes the versions as upstream's messages show them: what the versions share is null. */
static struct cor_field_value print_versions(struct cor_check *check, const struct cor_place *list)
{
    static const char *const members[][2] = {
        {"name", "Name"},
        {"served", "Served"},
        {"storage", "Storage"},
        {"deprecated", "Deprecated"},
        {"deprecationWarning", "DeprecationWarning"},
        {"schema", "Schema"},
        {"subresources", "Subresources"},
        {"additionalPrinterColumns", "AdditionalPrinterColumns"},
        {"selectableFields", "SelectableFields"},
    };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = CRD_TEXTS_MAX};
    struct cor_place version, field;
    struct cor_field_value value;
    struct cor_json_writer w;
    char *copy;

    if (!cor_place_is_present(list))
        return cor_check_value(check, list);
    cor_json_writer_init(&w, &out);
    cor_json_begin_array(&w);
    COR_EACH(check, list, version) {
        cor_json_begin_object(&w);
        for (size_t i = 0; i < COR_ARRAY_LEN(members); i++) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf quoted = {.max = CRD_TEXTS_MAX};

            cor_json_key(&w, cor_strz(members[i][1]));
            cor_place_field(check, &version, members[i][0], &field);
            value = cor_check_value(check, &field);
            if (value.kind == COR_FIELD_VALUE_STRING) {
                cor_check_note(check, cor_go_json_string(value.text, &quoted));
                value = cor_field_json(cor_buf_str(&quoted));
            }
            if (cor_check_has_seen(check, COR_SEEN_SHARED, cor_strz(members[i][0])) ||
                value.text.n == 0)
                cor_json_null(&w);
            else
                cor_json_raw(&w, value.text);
        }
        cor_json_end_object(&w);
    }
    cor_json_end_array(&w);
    cor_check_note(check, cor_json_writer_finish(&w));
    copy = cor_check_copy(check, cor_buf_str(&out));
    return copy ? cor_field_json(cor_str(copy, out.n)) : cor_field_none();
}

COR_HOOK(crd_versions)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place list, version, name, shown;
    bool is_unique = true, is_new;
    struct cor_str first = {0};
    size_t nstored = 0;
    struct cor_each each;

    cor_str_set_init(&seen, CRD_TEXTS_MAX);
    cor_place_field(check, place, "versions", &list);
    each = cor_each(check, &list);
    while (cor_each_next(check, &each, &version)) {
        cor_place_field(check, &version, "name", &name);
        is_new = true;
        cor_check_note(check, cor_str_set_add(&seen, cor_place_text(check, &name), &is_new));
        is_unique = is_unique && is_new;
        nstored += cor_field_bool(check, &version, "storage");
        if (!first.p)
            first = cor_place_text(check, &name);
    }
    if (!is_unique)
        cor_check_add_value(check, COR_FIELD_INVALID, &list, print_versions(check, &list),
                            "must contain unique version names");
    if (nstored != 1)
        cor_check_add_value(check, COR_FIELD_INVALID, &list, print_versions(check, &list),
                            "must have exactly one version marked as storage version");
    if (first.n == 0)
        return;
    /* The internal type has the name of the first version in a field of its own. */
    each = cor_each(check, &list);
    if (cor_each_next(check, &each, &version)) {
        cor_place_field(check, &version, "name", &name);
        shown = name;
        shown.path = cor_field_child(&place->path, COR_STR("version"));
        crd_check_joined(check, &shown, COR_FORMAT_DNS_1035, first, "");
    }
}

COR_HOOK(crd_stored_versions)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set stored = {.nfew = 0};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set taken = {.nfew = 0};
    struct cor_place spec, versions, version, status, list, item;
    struct cor_field_value shown;
    struct cor_str name;
    bool is_new;

    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, &spec, "versions", &versions);
    cor_place_field(check, place, "status", &status);
    cor_place_field(check, &status, "storedVersions", &list);
    if (cor_place_length(check, &list) == 0) {
        cor_check_add_value(check, COR_FIELD_INVALID, &list, cor_field_json(COR_STR("null")),
                            "must have at least one stored version");
        return;
    }
    cor_str_set_init(&stored, CRD_TEXTS_MAX);
    cor_str_set_init(&taken, CRD_TEXTS_MAX);
    COR_EACH(check, &list, item)
        cor_check_note(check, cor_str_set_add(&stored, cor_place_text(check, &item), &is_new));
    shown = cor_check_value(check, &list);
    /* The second version of a name finds the name taken, as upstream's does. */
    COR_EACH(check, &versions, version) {
        name = cor_field_text(check, &version, "name");
        is_new = false;
        if (cor_str_set_has(&stored, name))
            cor_check_note(check, cor_str_set_add(&taken, name, &is_new));
        if (!is_new && cor_field_bool(check, &version, "storage"))
            cor_check_add_value(
                check, COR_FIELD_INVALID, &list, shown,
                cor_check_printf(check, "must have the storage version %.*s", COR_STR_ARG(name)));
    }
    COR_EACH(check, &list, item) {
        name = cor_place_text(check, &item);
        if (cor_str_set_has(&taken, name))
            continue;
        cor_check_invalid(
            check, &item,
            cor_check_printf(check,
                             "missing from spec.versions; %.*s was previously a storage version, "
                             "and must remain in spec.versions until a storage migration ensures "
                             "no data remains persisted in %.*s and removes %.*s from "
                             "status.storedVersions",
                             COR_STR_ARG(name), COR_STR_ARG(name), COR_STR_ARG(name)));
    }
}

COR_WHEN(crd_was_established)
{
    struct cor_place old = cor_place_old(place), status, list, item;
    bool is_established = false;
    struct cor_each each;

    if (!check->has_old)
        return false;
    cor_place_field(check, &old, "status", &status);
    cor_place_field(check, &status, "conditions", &list);
    each = cor_each(check, &list);
    while (!is_established && cor_each_next(check, &each, &item))
        is_established = cor_str_eqz(cor_field_text(check, &item, "type"), "Established") &&
                         cor_str_eqz(cor_field_text(check, &item, "status"), "True");
    return is_established;
}

/* --- Approval by the community ---------------------------------------------------------------- */

COR_HOOK(crd_approval)
{
    struct cor_place spec, metadata, annotations, approval, old;
    enum cor_crd_approval now;

    cor_place_field(check, place, "spec", &spec);
    if (!cor_crd_is_protected(cor_field_text(check, &spec, "group")))
        return;
    cor_place_field(check, place, "metadata", &metadata);
    cor_place_field(check, &metadata, "annotations", &annotations);
    cor_place_entry(check, &annotations, COR_STR(COR_CRD_APPROVAL), &approval);
    now = cor_crd_approval_of(cor_place_text(check, &approval));
    old = cor_place_old(&approval);
    if (check->has_old && cor_crd_approval_of(cor_place_text(check, &old)) == now)
        return;
    if (now == COR_APPROVAL_MISSING)
        cor_check_required(check, &approval, COR_CRD_APPROVAL_MISSING);
    if (now == COR_APPROVAL_INVALID)
        cor_check_invalid(check, &approval, COR_CRD_APPROVAL_INVALID);
}

/* --- Conversion ------------------------------------------------------------------------------- */

/* Had the old conversion versions, none of which servers speak? Then the new one may as well. */
static bool had_unknown_versions(struct cor_check *check, const struct cor_place *versions)
{
    struct cor_place old = cor_place_old(versions), item;
    struct cor_each each;
    bool has_known = false;

    if (!check->has_old || cor_place_length(check, &old) == 0)
        return false;
    each = cor_each(check, &old);
    while (!has_known && cor_each_next(check, &each, &item))
        has_known = cor_is_review_version(cor_place_text(check, &item));
    return !has_known;
}

COR_HOOK(conversion_review_versions)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place webhook, list, item;
    bool has_known = false, is_new;

    cor_place_field(check, place, "webhook", &webhook);
    cor_place_field(check, &webhook, "conversionReviewVersions", &list);
    list.path = cor_field_child(&place->path, COR_STR("conversionReviewVersions"));
    if (cor_place_length(check, &list) == 0) {
        cor_check_required(check, &list, NULL);
        return;
    }
    cor_str_set_init(&seen, CRD_TEXTS_MAX);
    COR_EACH(check, &list, item) {
        struct cor_str text = cor_place_text(check, &item);

        is_new = true;
        cor_check_note(check, cor_str_set_add(&seen, text, &is_new));
        if (!is_new) {
            cor_check_invalid(check, &item, "duplicate version");
            continue;
        }
        cor_check_format(check, &item, COR_FORMAT_DNS_1035);
        has_known = has_known || cor_is_review_version(text);
    }
    if (!has_known && !had_unknown_versions(check, &list))
        cor_check_invalid(check, &list, "must include at least one of v1, v1beta1");
}

/* This server calls no webhooks. This is reported when nothing else is wrong, and only for a new
 * strategy: an object that another server has stored can be changed and deleted. */
COR_HOOK(crd_converted_here)
{
    struct cor_place spec, conversion, strategy, old;

    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, &spec, "conversion", &conversion);
    cor_place_field(check, &conversion, "strategy", &strategy);
    old = cor_place_old(&strategy);
    if (check->errors->n > 0 || !cor_str_eqz(cor_place_text(check, &strategy), "Webhook") ||
        (check->has_old && cor_str_eqz(cor_place_text(check, &old), "Webhook")))
        return;
    cor_check_invalid(check, &strategy, "must be None: this server calls no conversion webhooks");
}

/* --- Fields that clients may select by -------------------------------------------------------- */

/* The bytes of the first token of a path: a delimiter, or all up to the next one. */
static size_t token_length(struct cor_str path)
{
    size_t n = 1;

    while (n < path.n && path.p[0] != '.' && path.p[0] != '[' && path.p[0] != ']' &&
           path.p[n] != '.' && path.p[n] != '[' && path.p[n] != ']')
        n++;
    return n;
}

/* Follows the path in the schema. NULL: `ret_schema` is where the path leads; otherwise what is
 * wrong with the path. */
static const char *follow_path(struct cor_check *check, struct cor_str path, uint32_t schema,
                               uint32_t *ret_schema)
{
    while (path.n > 0) {
        uint32_t properties, additional;
        struct cor_str name;

        if (path.p[0] == '[')
            return "array notation is not allowed";
        if (path.p[0] != '.')
            return cor_check_printf(check, "expected [ or . but got: %.*s", (int)token_length(path),
                                    path.p);
        path = cor_str_from(path, 1);
        if (path.n == 0)
            return "unexpected end of JSON path";
        name = cor_str(path.p, token_length(path));
        properties = cor_check_find_entry(check, false, schema, COR_STR("properties"));
        additional = cor_check_find_entry(check, false, schema, COR_STR("additionalProperties"));
        if (properties != COR_JSON_NO_NODE)
            schema = cor_check_find_entry(check, false, properties, name);
        else
            schema = additional;
        if (schema == COR_JSON_NO_NODE || cor_json_node_first(&check->object.nodes, schema) != '{')
            return "does not refer to a valid field";
        path = cor_str_from(path, name.n);
    }
    *ret_schema = schema;
    return NULL;
}

/* Is the path one of a field that may be selected by? Adds what is wrong. */
static bool check_selectable(struct cor_check *check, const struct cor_place *item,
                             const struct cor_place *schema)
{
    struct cor_str path = cor_place_text(check, item), type = COR_STR("");
    uint32_t found = schema->node, node;
    const char *why = follow_path(check, path, schema->node, &found);

    if (why) {
        cor_check_invalid(check, item, cor_check_printf(check, "is an invalid path: %s", why));
        return false;
    }
    if (cor_str_eqz(path, ".metadata") || cor_str_starts(path, COR_STR(".metadata.")))
        cor_check_invalid(check, item, "must not point to fields in metadata");
    node = cor_check_find_entry(check, false, found, COR_STR("type"));
    if (node != COR_JSON_NO_NODE)
        type = cor_check_node_text(check, false, node);
    if (!cor_str_eqz(type, "string") && !cor_str_eqz(type, "boolean") &&
        !cor_str_eqz(type, "integer"))
        cor_check_invalid(check, item,
                          "must point to a field of type string, boolean or integer. Enum string "
                          "fields and strings with formats are allowed.");
    return true;
}

/* Each look into the schema finds a mistake or one more field, so the number of looks is bounded:
 * when there are more fields than may be, further ones are counted alone. */
COR_HOOK(selectable_fields)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place validation, schema, item, path;
    size_t n = 0;
    bool is_new;

    cor_place_field(check, place->parent, "schema", &validation);
    if (!cor_place_field(check, &validation, "openAPIV3Schema", &schema))
        return;
    cor_str_set_init(&seen, CRD_TEXTS_MAX);
    COR_EACH(check, place, item) {
        cor_place_field(check, &item, "jsonPath", &path);
        if (cor_place_text(check, &path).n == 0) {
            cor_check_required(check, &path, NULL);
            continue;
        }
        if (n <= COR_CUSTOM_FIELDS_MAX && !check_selectable(check, &path, &schema))
            continue;
        is_new = true;
        cor_check_note(check, cor_str_set_add(&seen, cor_place_text(check, &path), &is_new));
        if (!is_new)
            cor_check_duplicate(check, &path);
        n += is_new;
    }
    if (n > COR_CUSTOM_FIELDS_MAX)
        cor_field_errors_add_too_many(check->errors, &place->path, n, COR_CUSTOM_FIELDS_MAX);
}
