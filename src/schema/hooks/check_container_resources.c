/* The hooks of validation for what containers and pods request and are limited to, in upstream's
 * order (contract validation 3.2.11, 4.1.7): limits, requests beside limits, huge pages, claims.
 * Lists of resources are walked in the order of their names. Thread: any. */
#include <stdlib.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/value/quantity.h"
#include "schema/format/resource_name.h"
#include "schema/hooks/check_old_mistakes.h"
#include "schema/hooks/hooks.h"

#define QUANTITY_MAX 256u  /* bytes of a sum */
#define NAMES_MAX    4096u /* bytes of the claims that a message names */
#define PAGES_MAX    64    /* sizes of huge pages that are added up; a machine has two or three */

static bool is_compute(struct cor_str name)
{
    return cor_str_eq(name, COR_STR("cpu")) || cor_str_eq(name, COR_STR("memory"));
}

static int compare_quantities(struct cor_check *check, struct cor_str a, struct cor_str b)
{
    int order = 0, r = cor_quantity_cmp(a, b, &order);

    /* Quantities were read before; those of too many digits are taken as equal. */
    if (r == -COR_ENOMEM)
        cor_check_note(check, r);
    return order;
}

/* The name of a resource: of a container, or of a pod as a whole. */
static void check_name(struct cor_check *check, const struct cor_place *entry, bool is_pod)
{
    static const char *const of_pods[] = {"cpu", "hugepages-", "memory"};
    size_t before = check->errors->n;

    if (!is_pod) {
        cor_format_add_text(COR_FORMAT_CONTAINER_RESOURCE_NAME, entry->key, &entry->path,
                            check->errors);
        return;
    }
    cor_format_add_text(COR_FORMAT_RESOURCE_NAME, entry->key, &entry->path, check->errors);
    if (check->errors->n == before && !is_compute(entry->key) &&
        !cor_resource_is_hugepages(entry->key)) {
        struct cor_field_value value = cor_field_string(entry->key);

        cor_field_errors_add_not_supported(check->errors, &entry->path, value, of_pods,
                                           COR_ARRAY_LEN(of_pods));
    }
}

/* What limits and requests have in common; notes which of both sorts of resources are there. */
static void check_entry(struct cor_check *check, const struct cor_place *entry, bool is_pod,
                        bool *has_compute)
{
    check_name(check, entry, is_pod);
    cor_resource_add_quantity(entry->key, cor_place_text(check, entry), &entry->path,
                              check->errors);
    *has_compute = *has_compute || is_compute(entry->key);
}

static void check_pages(struct cor_check *check, const struct cor_place *entry, bool *has_pages)
{
    struct cor_str quantity = cor_place_text(check, entry);

    if (!cor_resource_is_hugepages(entry->key))
        return;
    *has_pages = true;
    if (!cor_resource_fills_pages(entry->key, quantity) &&
        !cor_old_has(check, entry, COR_OLD_PAGES))
        cor_check_add_value(check, COR_FIELD_INVALID, entry, cor_field_string(quantity),
                            cor_check_printf(check, "%.*s is not positive integer multiple of %.*s",
                                             COR_STR_ARG(quantity), COR_STR_ARG(entry->key)));
}

/* A walk over a map in step with another one: keys of both are in order. */
struct in_step {
    struct cor_each each;
    struct cor_place entry;
    bool has_entry;
};

static void in_step_begin(struct in_step *step, struct cor_check *check,
                          const struct cor_place *map)
{
    step->each = cor_each(check, map);
    step->has_entry = cor_each_next(check, &step->each, &step->entry);
}

/* Has the map the key? It is not before the one that was asked for last. */
static bool in_step_find(struct in_step *step, struct cor_check *check, struct cor_str key)
{
    while (step->has_entry && cor_str_cmp(step->entry.key, key) < 0)
        step->has_entry = cor_each_next(check, &step->each, &step->entry);
    return step->has_entry && cor_str_eq(step->entry.key, key);
}

static void check_request(struct cor_check *check, const struct cor_place *entry,
                          const struct cor_place *limits, struct in_step *step)
{
    struct cor_str quantity = cor_place_text(check, entry), most;
    bool may_differ = cor_resource_may_overcommit(entry->key);
    int order;

    if (!in_step_find(step, check, entry->key)) {
        if (!may_differ)
            cor_check_required(check, limits, "Limit must be set for non overcommitable resources");
        return;
    }
    most = cor_place_text(check, &step->entry);
    order = compare_quantities(check, quantity, most);
    if (order != 0 && !may_differ)
        cor_check_add_value(check, COR_FIELD_INVALID, entry->parent, cor_field_string(quantity),
                            cor_check_printf(check, "must be equal to %.*s limit of %.*s",
                                             COR_STR_ARG(entry->key), COR_STR_ARG(most)));
    else if (order > 0)
        cor_check_add_value(check, COR_FIELD_INVALID, entry->parent, cor_field_string(quantity),
                            cor_check_printf(check,
                                             "must be less than or equal to %.*s limit of %.*s",
                                             COR_STR_ARG(entry->key), COR_STR_ARG(most)));
}

/* --- Claims ----------------------------------------------------------------------------------- */

static int order_names(const void *a, const void *b)
{
    return cor_str_cmp(*(const struct cor_str *)a, *(const struct cor_str *)b);
}

/* The names of the pod's claims, sorted as upstream prints them, as many as fit. They are made once
 * for all messages. */
static const char *claim_names(struct cor_check *check, const struct cor_place *claims)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = NAMES_MAX};
    struct cor_place claim;
    struct cor_str *names;
    size_t n = 0;
    int r = 0;

    if (check->claim_names)
        return check->claim_names;
    names = cor_calloc(cor_place_length(check, claims), sizeof(*names));
    if (!names) {
        cor_check_note(check, -COR_ENOMEM);
        return "";
    }
    COR_EACH(check, claims, claim)
        names[n++] = cor_field_text(check, &claim, "name");
    qsort(names, n, sizeof(*names), order_names);
    for (size_t i = 0; i < n && r == 0; i++) {
        if (i == 0 || !cor_str_eq(names[i], names[i - 1]))
            r = cor_buf_addf(&text, "%s%.*s", i > 0 ? ", " : "", COR_STR_ARG(names[i]));
    }
    cor_free(names);
    if (r == -COR_ENOMEM)
        cor_check_note(check, r);
    check->claim_names = cor_check_printf(check, "%s", cor_buf_z(&text));
    return check->claim_names;
}

static void check_claim_exists(struct cor_check *check, const struct cor_place *claim,
                               struct cor_str name)
{
    static const char words[] = "must be one of the names in pod.spec.resourceClaims";
    const struct cor_place *spec = cor_place_around(claim, "PodSpec");
    struct cor_place claims;
    const char *detail;

    if (cor_check_has_seen(check, COR_SEEN_CLAIMS, name))
        return;
    if (check->errors->n >= COR_STATUS_CAUSES_MAX)
        return;
    if (!spec || !cor_place_field(check, spec, "resourceClaims", &claims) ||
        cor_place_length(check, &claims) == 0)
        detail = cor_check_printf(check, "%s which is empty", words);
    else
        detail = cor_check_printf(check, "%s: %s", words, claim_names(check, &claims));
    cor_check_add_value(check, COR_FIELD_NOT_FOUND, claim, cor_field_string(name), detail);
}

/* A claim may be used once as a whole, or once for each of its requests. `used` has the names of
 * claims and of "claim/request" that came before, `in_parts` the claims of the latter. */
static void check_claims(struct cor_check *check, const struct cor_place *claims)
{
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set used = {.nfew = 0}, in_parts = {.nfew = 0};
    struct cor_place claim, request;

    cor_str_set_init(&used, COR_OBJECT_BYTES_MAX_DEFAULT);
    cor_str_set_init(&in_parts, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, claims, claim) {
        struct cor_str name = cor_field_text(check, &claim, "name"), part;
        struct cor_str key;
        bool is_new = true;

        if (name.n == 0) {
            cor_check_required(check, &claim, NULL);
            continue;
        }
        cor_place_field(check, &claim, "request", &request);
        part = cor_place_text(check, &request);
        if (cor_str_set_has(&used, name)) {
            cor_check_add_value(check, COR_FIELD_DUPLICATE, &claim, cor_field_string(name), NULL);
        } else if (part.n > 0) {
            cor_check_format(check, &request, COR_FORMAT_DNS_LABEL);
            key = cor_check_concat(check, (struct cor_str[]){name, COR_STR("/"), part}, 3);
            cor_check_note(check, cor_str_set_add(&used, key, &is_new));
            if (!is_new)
                cor_check_add_value(check, COR_FIELD_DUPLICATE, &claim, cor_field_string(key),
                                    NULL);
            cor_check_note(check, cor_str_set_add(&in_parts, name, &is_new));
        } else {
            if (cor_str_set_has(&in_parts, name))
                cor_check_add_value(check, COR_FIELD_DUPLICATE, &claim, cor_field_string(name),
                                    NULL);
            cor_check_note(check, cor_str_set_add(&used, name, &is_new));
        }
        check_claim_exists(check, &claim, name);
    }
}

/* --- Hooks ------------------------------------------------------------------------------------ */

COR_HOOK(resource_requirements)
{
    bool is_pod = cor_str_eq(arg, COR_STR("pod")), has_compute = false, has_pages = false;
    struct cor_place limits, requests, claims, entry;
    struct in_step step;

    if (!cor_place_is_present(place))
        return;
    cor_place_field(check, place, "limits", &limits);
    cor_place_field(check, place, "requests", &requests);
    cor_place_field(check, place, "claims", &claims);
    COR_EACH(check, &limits, entry) {
        check_entry(check, &entry, is_pod, &has_compute);
        check_pages(check, &entry, &has_pages);
    }
    in_step_begin(&step, check, &limits);
    COR_EACH(check, &requests, entry) {
        check_entry(check, &entry, is_pod, &has_compute);
        check_request(check, &entry, &limits, &step);
        check_pages(check, &entry, &has_pages);
    }
    if (has_pages && !has_compute)
        cor_check_forbidden(check, place, "HugePages require cpu or memory");
    check_claims(check, &claims);
}

/* What a pod needs in addition to its containers is checked as limits, as upstream's paths show. */
COR_HOOK(resource_limits)
{
    bool has_compute = false, has_pages = false;
    struct cor_place list = *place, entry;

    if (!cor_place_is_present(place))
        return;
    list.path = cor_field_child(&place->path, COR_STR("limits"));
    COR_EACH(check, &list, entry) {
        check_entry(check, &entry, false, &has_compute);
        check_pages(check, &entry, &has_pages);
    }
    if (has_pages && !has_compute)
        cor_check_forbidden(check, place, "HugePages require cpu or memory");
}

/* --- The pod as a whole ----------------------------------------------------------------------- */

/* A quantity's text; p == NULL: none. */
typedef struct cor_str quantity;

static quantity quantity_of(struct cor_check *check, const struct cor_place *owner,
                            const char *which, struct cor_str name)
{
    struct cor_place resources, list, entry;

    cor_place_field(check, owner, "resources", &resources);
    cor_place_field(check, &resources, which, &list);
    if (!cor_place_entry(check, &list, name, &entry))
        return (quantity){NULL, 0};
    return cor_place_text(check, &entry);
}

/* The sum as upstream prints it. A sum of too many digits is left out. */
static quantity sum_of(struct cor_check *check, quantity a, quantity b)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = QUANTITY_MAX};
    int r;

    if (!a.p || !b.p)
        return a.p ? a : b;
    r = cor_quantity_add(a, b, &text);
    if (r == -COR_ENOMEM)
        cor_check_note(check, r);
    return r < 0 ? a : cor_strz(cor_check_printf(check, "%s", cor_buf_z(&text)));
}

static quantity larger_of(struct cor_check *check, quantity a, quantity b)
{
    if (!a.p || !b.p)
        return a.p ? a : b;
    return compare_quantities(check, b, a) > 0 ? b : a;
}

/* What all containers need of a resource: those that run at once, or what an init container needs
 * at its time beside those before it that keep running, if that is more. */
static quantity needed_together(struct cor_check *check, const struct cor_place *spec,
                                const char *which, struct cor_str name)
{
    quantity sum = {NULL, 0}, running = {NULL, 0}, most = {NULL, 0}, own;
    struct cor_place list, container;

    cor_place_field(check, spec, "containers", &list);
    COR_EACH(check, &list, container)
        sum = sum_of(check, sum, quantity_of(check, &container, which, name));
    cor_place_field(check, spec, "initContainers", &list);
    COR_EACH(check, &list, container) {
        own = quantity_of(check, &container, which, name);
        if (cor_str_eq(cor_field_text(check, &container, "restartPolicy"), COR_STR("Always"))) {
            sum = sum_of(check, sum, own);
            running = sum_of(check, running, own);
            most = larger_of(check, most, running);
        } else {
            most = larger_of(check, most, sum_of(check, own, running));
        }
    }
    return larger_of(check, sum, most);
}

/* An entry of the pod's own list is at least what the containers need together. */
static void check_together(struct cor_check *check, const struct cor_place *spec,
                           const struct cor_place *list, const char *which, bool only_pages)
{
    struct cor_each each = cor_each(check, list);
    size_t left = PAGES_MAX;
    struct cor_place entry;

    while (left > 0 && cor_each_next(check, &each, &entry)) {
        bool is_pages = cor_resource_is_hugepages(entry.key);
        quantity own = cor_place_text(check, &entry), sum;

        if (!is_pages && (only_pages || !is_compute(entry.key)))
            continue;
        left--;
        /* A default may have been capped when it was written; upstream compares it before. */
        if (cor_str_eq(own, COR_STR("9223372036854775807")))
            continue;
        sum = needed_together(check, spec, which, entry.key);
        if (sum.p && compare_quantities(check, sum, own) > 0)
            cor_check_add_value(
                check, COR_FIELD_INVALID, &entry, cor_field_string(own),
                cor_check_printf(check,
                                 "must be greater than or equal to aggregate container %s of %.*s",
                                 which, COR_STR_ARG(sum)));
    }
}

/* No container may have more than the pod. */
static void check_container_limits(struct cor_check *check, const struct cor_place *spec,
                                   const struct cor_place *resources,
                                   const struct cor_place *pod_limits)
{
    struct cor_field_path containers_path =
        cor_field_child(&resources->path, COR_STR("containers"));
    struct cor_place list, container, own, limits, entry;
    struct in_step step;
    struct cor_each each, inner;
    size_t i = 0;

    cor_place_field(check, spec, "containers", &list);
    each = cor_each(check, &list);
    for (; cor_each_next(check, &each, &container); i++) {
        struct cor_field_path container_path = cor_field_index(&containers_path, i);

        cor_place_field(check, &container, "resources", &own);
        cor_place_field(check, &own, "limits", &limits);
        if (cor_place_length(check, &limits) == 0)
            continue;
        in_step_begin(&step, check, pod_limits);
        inner = cor_each(check, &limits);
        while (cor_each_next(check, &inner, &entry)) {
            struct cor_field_path key = cor_field_key(&container_path, entry.key);
            struct cor_field_path path = cor_field_child(&key, COR_STR("limits"));
            quantity limit = cor_place_text(check, &entry);

            if (!in_step_find(&step, check, entry.key) ||
                compare_quantities(check, limit, cor_place_text(check, &step.entry)) <= 0)
                continue;
            cor_check_add(check, COR_FIELD_INVALID, &path, cor_field_string(limit),
                          cor_check_printf(check,
                                           "must be less than or equal to pod limits of %.*s",
                                           COR_STR_ARG(cor_place_text(check, &step.entry))));
        }
    }
}

COR_HOOK(pod_level_resources)
{
    struct cor_place resources, limits, requests;

    cor_place_field(check, place, "resources", &resources);
    cor_place_field(check, &resources, "limits", &limits);
    cor_place_field(check, &resources, "requests", &requests);
    check_together(check, place, &requests, "requests", false);
    check_together(check, place, &limits, "limits", true);
    if (cor_place_length(check, &limits) <= PAGES_MAX)
        check_container_limits(check, place, &resources, &limits);
}

/* --- How containers are resized --------------------------------------------------------------- */

/* Upstream reports all but repeated resources at the list. */
static void add_to_list(struct cor_check *check, const struct cor_place *list, struct cor_str value,
                        const char *const *known, size_t n)
{
    if (value.n == 0)
        cor_check_required(check, list, NULL);
    else
        cor_field_errors_add_not_supported(check->errors, &list->path, cor_field_string(value),
                                           known, n);
}

COR_HOOK(resize_policy)
{
    static const char *const resources[] = {"cpu", "memory"};
    static const char *const policies[] = {"NotRequired", "RestartContainer"};
    COR_CLEANUP(cor_str_set_deinit) struct cor_str_set seen = {.nfew = 0};
    const struct cor_place *spec = cor_place_around(place, "PodSpec");
    struct cor_place item;
    bool never, is_new;

    never = spec && cor_str_eq(cor_field_text(check, spec, "restartPolicy"), COR_STR("Never"));
    cor_str_set_init(&seen, COR_OBJECT_BYTES_MAX_DEFAULT);
    COR_EACH(check, place, item) {
        struct cor_str name = cor_field_text(check, &item, "resourceName");
        struct cor_str policy = cor_field_text(check, &item, "restartPolicy");

        is_new = true;
        cor_check_note(check, cor_str_set_add(&seen, name, &is_new));
        if (!is_new)
            cor_check_add_value(check, COR_FIELD_DUPLICATE, &item, cor_field_string(name), NULL);
        if (!is_compute(name))
            add_to_list(check, place, name, resources, COR_ARRAY_LEN(resources));
        if (!cor_str_eq(policy, cor_strz(policies[0])) &&
            !cor_str_eq(policy, cor_strz(policies[1])))
            add_to_list(check, place, policy, policies, COR_ARRAY_LEN(policies));
        if (never && !cor_str_eq(policy, cor_strz(policies[0])))
            cor_check_add_value(check, COR_FIELD_INVALID, place, cor_field_string(policy),
                                "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
}
