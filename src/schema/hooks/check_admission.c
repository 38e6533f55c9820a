/* The hooks of validation for webhook configurations and admission policies
 * (schema/check/check.h describes what they work with). Thread: any. */
#include "schema/hooks/check_admission.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/str_set.h"
#include "base/words.h"
#include "schema/hooks/check_old_mistakes.h"
#include "schema/hooks/hooks.h"

/* Texts that a hook compares with one another are of one object, whose size the server limits. */
#define TEXTS_BYTES_MAX            COR_OBJECT_BYTES_MAX_DEFAULT
#define VALUE_EXPRESSION_BYTES_MAX 5120

/* --- Texts ------------------------------------------------------------------------------------ */

COR_WHEN(is_blank)
{
    return cor_str_trim(cor_place_text(check, place)).n == 0;
}

COR_WHEN(has_line_break)
{
    struct cor_str text = cor_str_trim(cor_place_text(check, place));

    return cor_str_find(text, '\n') >= 0 || cor_str_find(text, '\r') >= 0;
}

COR_WHEN(is_cel_identifier)
{
    static const char *const reserved[] = {
        "true",     "false", "null",    "in",        "as",       "break", "const",
        "continue", "else",  "for",     "import",    "function", "if",    "let",
        "loop",     "void",  "package", "namespace", "var",      "while", "return",
    };
    struct cor_str text = cor_place_text(check, place);

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        bool is_letter = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

        if (!is_letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return text.n > 0 && !cor_str_is_one_of(text, reserved, COR_ARRAY_LEN(reserved));
}

/* Adds a text to the set; false: the set has it already. */
static bool add_text(struct cor_check *check, struct cor_str_set *set, struct cor_str text)
{
    bool is_new = true;

    cor_check_note(check, cor_str_set_add(set, text, &is_new));
    return is_new;
}

/* --- Rules ------------------------------------------------------------------------------------ */

COR_HOOK(lone_star)
{
    struct cor_place item;

    if (cor_place_length(check, place) < 2)
        return;
    COR_EACH(check, place, item) {
        if (cor_str_eq(cor_place_text(check, &item), COR_STR("*"))) {
            cor_check_invalid(check, place,
                              cor_check_printf(check,
                                               "if '*' is present, must not specify other %.*s",
                                               COR_STR_ARG(arg)));
            return;
        }
    }
}

/* A resource with a subresource that a wildcard before it covers. */
static void check_subresource(struct cor_check *check, const struct cor_place *item,
                              struct cor_str resource, struct cor_str sub,
                              struct cor_str_set *any_sub, struct cor_str_set *any_resource)
{
    struct cor_str text = cor_place_text(check, item);

    if (cor_str_set_has(any_sub, resource))
        cor_check_invalid(check, item,
                          cor_check_printf(check, "if '%.*s/*' is present, must not specify %.*s",
                                           COR_STR_ARG(resource), COR_STR_ARG(text)));
    if (cor_str_set_has(any_resource, sub))
        cor_check_invalid(check, item,
                          cor_check_printf(check, "if '*/%.*s' is present, must not specify %.*s",
                                           COR_STR_ARG(sub), COR_STR_ARG(text)));
    if (cor_str_eq(sub, COR_STR("*")))
        add_text(check, any_sub, resource);
    if (cor_str_eq(resource, COR_STR("*")))
        add_text(check, any_resource, sub);
}

COR_HOOK(rule_resources)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set any_sub = {.nfew = 0};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set any_resource = {.nfew = 0};
    bool has_all = false, has_star = false, has_plain = false;
    struct cor_place item;

    cor_str_set_init(&any_sub, TEXTS_BYTES_MAX);
    cor_str_set_init(&any_resource, TEXTS_BYTES_MAX);
    COR_EACH(check, place, item) {
        struct cor_str text = cor_place_text(check, &item), sub = text, resource;

        if (text.n == 0) {
            cor_check_required(check, &item, NULL);
            continue;
        }
        has_all = has_all || cor_str_eq(text, COR_STR("*/*"));
        has_star = has_star || cor_str_eq(text, COR_STR("*"));
        resource = cor_str_cut(&sub, '/');
        if (sub.p)
            check_subresource(check, &item, resource, sub, &any_sub, &any_resource);
        else /* Upstream remembers the last one alone. */
            has_plain = !cor_str_eq(text, COR_STR("*"));
    }
    if (has_all && cor_place_length(check, place) > 1)
        cor_check_invalid(check, place, "if '*/*' is present, must not specify other resources");
    if (has_star && has_plain)
        cor_check_invalid(check, place,
                          "if '*' is present, must not specify other resources without "
                          "subresources");
}

COR_HOOK(resource_names)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place item;

    cor_str_set_init(&seen, TEXTS_BYTES_MAX);
    COR_EACH(check, place, item) {
        cor_check_format(check, &item, COR_FORMAT_PATH_SEGMENT);
        if (!add_text(check, &seen, cor_place_text(check, &item)))
            cor_check_duplicate(check, &item);
    }
}

/* --- Webhooks --------------------------------------------------------------------------------- */

bool cor_is_review_version(struct cor_str version)
{
    return cor_str_eqz(version, "v1") || cor_str_eqz(version, "v1beta1");
}

COR_HOOK(review_versions)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place item;
    bool has_known = false;

    if (cor_place_length(check, place) == 0) {
        cor_check_required(check, place, "must specify one of v1, v1beta1");
        return;
    }
    cor_str_set_init(&seen, TEXTS_BYTES_MAX);
    COR_EACH(check, place, item) {
        struct cor_str text = cor_place_text(check, &item);

        if (!add_text(check, &seen, text)) {
            cor_check_invalid(check, &item, "duplicate version");
            continue;
        }
        cor_check_format(check, &item, COR_FORMAT_DNS_1035);
        has_known = has_known || cor_is_review_version(text);
    }
    if (!has_known && !cor_old_has(check, place, COR_OLD_REVIEW_VERSIONS))
        cor_check_invalid(check, place, "must include at least one of v1, v1beta1");
}

/* The place is a field of an element: no element before may have the same text there. */
static void check_once(struct cor_check *check, const struct cor_place *place,
                       enum cor_check_topic topic)
{
    if (!cor_check_see(check, topic, place->parent->parent, cor_place_text(check, place)))
        cor_check_duplicate(check, place);
}

COR_HOOK(webhook_name)
{
    if (cor_place_text(check, place).n > 0 && !cor_old_has(check, place, COR_OLD_WEBHOOK_NAMES))
        check_once(check, place, COR_SEEN_WEBHOOKS);
}

COR_HOOK(condition_name)
{
    if (cor_place_text(check, place).n > 0)
        check_once(check, place, COR_SEEN_MATCH_CONDITIONS);
}

/* --- Policies --------------------------------------------------------------------------------- */

/* Asks a format about a part of a text, and adds one error that has all findings, behind `intro`.
 * The error shows `shown` as its value. */
static void check_part(struct cor_check *check, const struct cor_place *place,
                       enum cor_format format, struct cor_str part, struct cor_str shown,
                       const char *intro)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf why = {.max = TEXTS_BYTES_MAX};

    cor_check_note(check, cor_format_join(format, part, ",", &why));
    if (why.n > 0)
        cor_check_add_value(check, COR_FIELD_INVALID, place, cor_field_string(shown),
                            cor_check_printf(check, "%s%.*s", intro, (int)why.n, why.p));
}

COR_HOOK(param_version)
{
    struct cor_str text = cor_place_text(check, place), version = text, group;

    group = cor_str_cut(&version, '/');
    if (!version.p) {
        version = group;
        group = COR_STR("");
    }
    if (cor_str_find(version, '/') >= 0) {
        cor_check_invalid(
            check, place,
            cor_check_printf(check, "unexpected GroupVersion string: %.*s", COR_STR_ARG(text)));
        return;
    }
    if (group.n > 0)
        check_part(check, place, COR_FORMAT_DNS_SUBDOMAIN, group, group, "");
    if (version.n == 0)
        cor_check_invalid(check, place, "version must be specified");
    else
        check_part(check, place, COR_FORMAT_DNS_1035, version, version, "");
}

COR_HOOK(param_kind)
{
    struct cor_str text = cor_place_text(check, place);
    char *lower = cor_check_lower(check, text);

    if (!lower)
        return;
    check_part(check, place, COR_FORMAT_DNS_1035, (struct cor_str){lower, text.n}, text,
               "may have mixed case, but should otherwise match: ");
}

/* The place is spec.auditAnnotations[i].key. */
COR_HOOK(annotation_key)
{
    const struct cor_place *policy = cor_place_around(place, "ValidatingAdmissionPolicy");
    struct cor_str key = cor_place_text(check, place), name;
    struct cor_place metadata;

    if (!policy)
        return;
    cor_place_field(check, policy, "metadata", &metadata);
    name = cor_field_text(check, &metadata, "name");
    if (name.n == 0)
        cor_check_invalid(check, place, "requires metadata.name be non-empty");
    else
        cor_format_add_text(COR_FORMAT_QUALIFIED_NAME,
                            cor_check_concat(check, (struct cor_str[]){name, COR_STR("/"), key}, 3),
                            &place->path, check->errors);
}

COR_HOOK(annotation_key_once)
{
    check_once(check, place, COR_SEEN_ANNOTATION_KEYS);
}

COR_HOOK(annotation_value)
{
    struct cor_str text = cor_str_trim(cor_place_text(check, place));

    if (text.n == 0)
        cor_check_required(check, place, "valueExpression is not specified");
    else if (text.n > VALUE_EXPRESSION_BYTES_MAX)
        cor_check_required(check, place,
                           cor_check_printf(check, "must not exceed %d bytes in length",
                                            VALUE_EXPRESSION_BYTES_MAX));
}

COR_HOOK(validation_actions)
{
    static const char *const known[] = {"Audit", "Deny", "Warn"};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place item;

    cor_str_set_init(&seen, TEXTS_BYTES_MAX);
    COR_EACH(check, place, item) {
        struct cor_str text = cor_place_text(check, &item);

        if (!cor_str_is_one_of(text, known, COR_ARRAY_LEN(known)))
            cor_check_not_supported(check, &item, known, COR_ARRAY_LEN(known));
        if (!add_text(check, &seen, text))
            cor_check_duplicate(check, &item);
    }
    if (cor_str_set_has(&seen, COR_STR("Deny")) && cor_str_set_has(&seen, COR_STR("Warn")))
        cor_check_invalid(check, place,
                          "must not contain both Deny and Warn (repeating the same validation "
                          "failure information in the API response and headers serves no purpose)");
    if (cor_place_length(check, place) == 0)
        cor_check_required(check, place, "at least one validation action is required");
}
