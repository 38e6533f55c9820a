/* Looks for mistakes in the old object. Each finder gets the old struct as a place and runs the
 * rule that the new one is about to be measured by; the errors that the rule adds are counted and
 * thrown away. The check remembers each answer as a bit. Failures: no memory, which the check
 * keeps. Thread: one at a time, as the check. */
#include "schema/hooks/check_old_mistakes.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "schema/format/resource_name.h"
#include "schema/hooks/hooks.h"

typedef bool (*find_fn)(struct cor_check *check, const struct cor_place *old);

static const char *const container_lists[] = {"initContainers", "containers",
                                              "ephemeralContainers"};

/* --- Selectors ---------------------------------------------------------------------------------
 */

static bool is_bad_selector(struct cor_check *check, const struct cor_place *around,
                            const char *field)
{
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors found = {0};
    struct cor_field_errors *errors = check->errors;
    struct cor_place selector;

    if (!cor_place_field(check, around, field, &selector))
        return false;
    check->errors = &found;
    cor_hook_label_selector(check, &selector, COR_STR(""));
    check->errors = errors;
    cor_check_note(check, found.error);
    return found.n > 0;
}

static bool has_bad_term(struct cor_check *check, const struct cor_place *affinity,
                         const char *field, bool is_weighted)
{
    struct cor_place list, item, term;

    cor_place_field(check, affinity, field, &list);
    COR_EACH(check, &list, item) {
        term = item;
        if (is_weighted)
            cor_place_field(check, &item, "podAffinityTerm", &term);
        if (is_bad_selector(check, &term, "labelSelector") ||
            is_bad_selector(check, &term, "namespaceSelector"))
            return true;
    }
    return false;
}

static bool find_affinity_selectors(struct cor_check *check, const struct cor_place *old)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};
    struct cor_place affinity, kind;

    cor_place_field(check, old, "affinity", &affinity);
    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++) {
        cor_place_field(check, &affinity, kinds[i], &kind);
        if (has_bad_term(check, &kind, "requiredDuringSchedulingIgnoredDuringExecution", false) ||
            has_bad_term(check, &kind, "preferredDuringSchedulingIgnoredDuringExecution", true))
            return true;
    }
    return false;
}

static bool find_spread_selectors(struct cor_check *check, const struct cor_place *old)
{
    struct cor_place list, constraint;

    cor_place_field(check, old, "topologySpreadConstraints", &list);
    COR_EACH(check, &list, constraint) {
        if (is_bad_selector(check, &constraint, "labelSelector"))
            return true;
    }
    return false;
}

/* Of the NodeSelector of a pod or of a volume. Those of resource.k8s.io are younger than the rule,
 * and no mistake passes there. */
static bool find_node_values(struct cor_check *check, const struct cor_place *old)
{
    struct cor_place terms, term, expressions, expression, values, value;
    struct cor_each each, inner, innermost;

    if (!cor_place_around(old, "PodSpec") && !cor_place_around(old, "PersistentVolumeSpec"))
        return false;
    cor_place_field(check, old, "nodeSelectorTerms", &terms);
    each = cor_each(check, &terms);
    while (cor_each_next(check, &each, &term)) {
        cor_place_field(check, &term, "matchExpressions", &expressions);
        inner = cor_each(check, &expressions);
        while (cor_each_next(check, &inner, &expression)) {
            cor_place_field(check, &expression, "values", &values);
            innermost = cor_each(check, &values);
            while (cor_each_next(check, &innermost, &value)) {
                if (!cor_format_ok(COR_FORMAT_LABEL_VALUE, cor_place_text(check, &value)))
                    return true;
            }
        }
    }
    return false;
}

/* --- Containers --------------------------------------------------------------------------------
 */

static bool has_parts_of_pages(struct cor_check *check, const struct cor_place *resources)
{
    struct cor_place entry;

    COR_EACH(check, resources, entry) {
        if (cor_resource_is_hugepages(entry.key) &&
            !cor_resource_fills_pages(entry.key, cor_place_text(check, &entry)))
            return true;
    }
    return false;
}

static bool find_pages(struct cor_check *check, const struct cor_place *old)
{
    struct cor_place list, container, resources, map;

    for (size_t i = 0; i < COR_ARRAY_LEN(container_lists); i++) {
        cor_place_field(check, old, container_lists[i], &list);
        COR_EACH(check, &list, container) {
            cor_place_field(check, &container, "resources", &resources);
            cor_place_field(check, &resources, "limits", &map);
            if (has_parts_of_pages(check, &map))
                return true;
            cor_place_field(check, &resources, "requests", &map);
            if (has_parts_of_pages(check, &map))
                return true;
        }
    }
    cor_place_field(check, old, "overhead", &map);
    return has_parts_of_pages(check, &map);
}

static bool find_volume_devices(struct cor_check *check, const struct cor_place *old)
{
    struct cor_place list, container, users, devices;

    if (!cor_place_field(check, old, "hostUsers", &users) || cor_place_bool(check, &users))
        return false;
    for (size_t i = 0; i < COR_ARRAY_LEN(container_lists); i++) {
        cor_place_field(check, old, container_lists[i], &list);
        COR_EACH(check, &list, container) {
            if (cor_place_field(check, &container, "volumeDevices", &devices) &&
                !cor_place_is_empty(check, &devices))
                return true;
        }
    }
    return false;
}

static bool find_sysctls(struct cor_check *check, const struct cor_place *old)
{
    struct cor_place context, list, item;

    cor_place_field(check, old, "securityContext", &context);
    cor_place_field(check, &context, "sysctls", &list);
    COR_EACH(check, &list, item) {
        if (cor_sysctl_mistake(check, old, cor_field_text(check, &item, "name")))
            return true;
    }
    return false;
}

/* --- Webhooks ----------------------------------------------------------------------------------
 */

static bool has_side_effects(struct cor_check *check, const struct cor_place *webhook)
{
    struct cor_str text = cor_field_text(check, webhook, "sideEffects");

    return !cor_str_eqz(text, "None") && !cor_str_eqz(text, "NoneOnDryRun");
}

static bool knows_no_version(struct cor_check *check, const struct cor_place *webhook)
{
    struct cor_place list, version;

    cor_place_field(check, webhook, "admissionReviewVersions", &list);
    COR_EACH(check, &list, version) {
        if (cor_is_review_version(cor_place_text(check, &version)))
            return false;
    }
    return cor_place_length(check, &list) > 0;
}

static bool has_bad_selectors(struct cor_check *check, const struct cor_place *webhook)
{
    return is_bad_selector(check, webhook, "namespaceSelector") ||
           is_bad_selector(check, webhook, "objectSelector");
}

static bool has_webhook(struct cor_check *check, const struct cor_place *old, find_fn is_wrong)
{
    struct cor_place list, webhook;

    cor_place_field(check, old, "webhooks", &list);
    COR_EACH(check, &list, webhook) {
        if (is_wrong(check, &webhook))
            return true;
    }
    return false;
}

static bool find_side_effects(struct cor_check *check, const struct cor_place *old)
{
    return has_webhook(check, old, has_side_effects);
}

static bool find_review_versions(struct cor_check *check, const struct cor_place *old)
{
    return has_webhook(check, old, knows_no_version);
}

static bool find_webhook_selectors(struct cor_check *check, const struct cor_place *old)
{
    return has_webhook(check, old, has_bad_selectors);
}

static bool find_webhook_names(struct cor_check *check, const struct cor_place *old)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    struct cor_place list, webhook;
    struct cor_each each;
    bool is_new = true;

    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_place_field(check, old, "webhooks", &list);
    each = cor_each(check, &list);
    while (is_new && cor_each_next(check, &each, &webhook))
        cor_check_note(check,
                       cor_str_set_add(&seen, cor_field_text(check, &webhook, "name"), &is_new));
    return !is_new;
}

/* --- Asking ------------------------------------------------------------------------------------
 */

static const struct {
    const char *name, *type;
} mistakes[] = {
#define X(symbol, name, type) [COR_OLD_##symbol] = {name, type},
    COR_OLD_MISTAKES(X)
#undef X
};

static const find_fn finders[COR_OLD_MISTAKES_N] = {
    [COR_OLD_PAGES] = find_pages,
    [COR_OLD_AFFINITY_SELECTORS] = find_affinity_selectors,
    [COR_OLD_NODE_VALUES] = find_node_values,
    [COR_OLD_SPREAD_SELECTORS] = find_spread_selectors,
    [COR_OLD_SYSCTLS] = find_sysctls,
    [COR_OLD_VOLUME_DEVICES] = find_volume_devices,
    [COR_OLD_SIDE_EFFECTS] = find_side_effects,
    [COR_OLD_REVIEW_VERSIONS] = find_review_versions,
    [COR_OLD_WEBHOOK_NAMES] = find_webhook_names,
    [COR_OLD_WEBHOOK_SELECTORS] = find_webhook_selectors,
};

static const struct cor_place *find_around(const struct cor_place *inside, const char *type)
{
    if (type[0])
        return cor_place_around(inside, type);
    while (inside->parent)
        inside = inside->parent;
    return inside;
}

bool cor_old_has(struct cor_check *check, const struct cor_place *inside,
                 enum cor_old_mistake mistake)
{
    const struct cor_place *around;
    struct cor_place old;
    unsigned bit = 1u << mistake;

    assert(mistake < COR_OLD_MISTAKES_N && COR_OLD_MISTAKES_N <= 16);
    if (!check->has_old || !(around = find_around(inside, mistakes[mistake].type)))
        return false;
    if (!(check->old_known & bit)) {
        old = cor_place_old(around);
        check->old_known |= (uint16_t)bit;
        if (cor_place_is_present(&old) && finders[mistake](check, &old))
            check->old_found |= (uint16_t)bit;
    }
    return check->old_found & bit;
}

COR_WHEN(old_has)
{
    size_t i = 0;

    while (i < COR_OLD_MISTAKES_N && !cor_str_eq(arg, cor_strz(mistakes[i].name)))
        i++;
    assert(i < COR_OLD_MISTAKES_N);
    return cor_old_has(check, place, (enum cor_old_mistake)i);
}
