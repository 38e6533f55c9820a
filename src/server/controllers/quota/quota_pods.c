/* clang-format off */
/* The requests and limits of a pod, one resource at a time.
 *
 *   containers: their sum ── init containers that restart (sidecars) are added to it ── each other init container
 *   runs beside the sidecars before it: the greatest of these sums counts when it is greater than the first
 *   ──► spec.resources of the pod replaces cpu, memory and hugepages ──► spec.overhead is added (to a limit
 *   only when there is one)
 *
 * A container whose status shows resources counts with the greatest of what it asks for, has, and was allocated; when its
 * resize is infeasible, what it asks for does not count.
 * Thread: any (pure). */
/* clang-format on */
#include "server/controllers/quota/quota_pods.h"

#include <string.h>

#include "coracle/metadata.h"

static struct cor_view member(struct cor_view view, const char *key)
{
    return cor_view_member(view, cor_strz(key));
}

static struct cor_str text_of(struct cor_view view)
{
    return cor_view_text_or(view, NULL, 0, "");
}

bool cor_quota_pod_is_live(const struct cor_object *pod, int64_t now_ms)
{
    struct cor_str phase = text_of(cor_quota_part(pod, "status", "phase"));
    int64_t deleted_s, grace_s;

    if (cor_str_eqz(phase, "Failed") || cor_str_eqz(phase, "Succeeded"))
        return false;
    return cor_object_deletion_time(pod, &deleted_s) < 0 ||
           cor_object_deletion_grace_s(pod, &grace_s) < 0 || now_ms <= (deleted_s + grace_s) * 1000;
}

/* ---- requests and limits ---- */

struct pod_resource {
    const struct cor_object *pod;
    const char *list; /* "requests" or "limits" */
    struct cor_str resource;
    bool is_infeasible; /* the kubelet has refused the resize that the pod asks for */
};

static bool pod_resize_is_infeasible(const struct cor_object *pod)
{
    struct cor_view_iter it = cor_view_iter(cor_quota_part(pod, "status", "conditions"));

    while (cor_view_next(&it))
        if (cor_str_eqz(text_of(member(it.value, "type")), "PodResizePending"))
            return cor_str_eqz(text_of(member(it.value, "reason")), "Infeasible");
    return false;
}

/* The status of a container, of either list; a view of nothing when there is none. */
static struct cor_view pod_container_status(const struct cor_object *pod, struct cor_str name)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    struct cor_view found = {.json = {0}};

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        struct cor_view_iter it = cor_view_iter(cor_quota_part(pod, "status", lists[i]));

        while (cor_view_next(&it))
            if (cor_str_eq(text_of(member(it.value, "name")), name))
                found = it.value;
    }
    return found;
}

static struct cor_view resource_in(const struct pod_resource *r, struct cor_view resources)
{
    return cor_view_member(member(resources, r->list), r->resource);
}

static bool restarts(struct cor_view container)
{
    return cor_str_eqz(text_of(member(container, "restartPolicy")), "Always");
}

/* Sets `to` to what the container needs of the resource. */
static int container_needs(const struct pod_resource *r, struct cor_view container, bool has_status,
                           struct cor_quota_amount *to)
{
    struct cor_view status = {.json = {0}}, shown;
    int err;

    *to = (struct cor_quota_amount){"0"};
    if (has_status)
        status = pod_container_status(r->pod, text_of(member(container, "name")));
    shown = member(status, "resources");
    if (cor_view_type(shown) != COR_JSON_OBJECT)
        return cor_quota_add_value(to, resource_in(r, member(container, "resources")));
    err = cor_quota_max_value(to, resource_in(r, shown));
    if (err == 0 && !r->is_infeasible)
        err = cor_quota_max_value(to, resource_in(r, member(container, "resources")));
    if (err == 0 && strcmp(r->list, "requests") == 0)
        err = cor_quota_max_value(
            to, cor_view_member(member(status, "allocatedResources"), r->resource));
    return err;
}

static int amount_max(struct cor_quota_amount *most, const struct cor_quota_amount *other)
{
    int order, err = cor_quantity_cmp(cor_strz(other->text), cor_strz(most->text), &order);

    if (err == 0 && order > 0)
        *most = *other;
    return err;
}

static int containers_need(const struct pod_resource *r, struct cor_quota_amount *sum)
{
    struct cor_view_iter it = cor_view_iter(cor_quota_part(r->pod, "spec", "containers"));
    struct cor_quota_amount needs, sidecars = {"0"}, most = {"0"};
    int err = 0;

    while (err == 0 && cor_view_next(&it)) {
        err = container_needs(r, it.value, true, &needs);
        if (err == 0)
            err = cor_quota_plus(sum, &needs);
    }
    it = cor_view_iter(cor_quota_part(r->pod, "spec", "initContainers"));
    while (err == 0 && cor_view_next(&it)) {
        bool is_sidecar = restarts(it.value);

        err = container_needs(r, it.value, is_sidecar, &needs);
        if (err == 0 && is_sidecar)
            err = cor_quota_plus(sum, &needs);
        if (err == 0)
            err = cor_quota_plus(&needs, &sidecars); /* what runs at the same time */
        if (err == 0 && is_sidecar)
            sidecars = needs;
        if (err == 0)
            err = amount_max(&most, &needs);
    }
    return err < 0 ? err : amount_max(sum, &most);
}

/* May spec.resources of a pod have the resource? */
static bool is_pod_level(struct cor_str resource)
{
    return cor_str_eqz(resource, "cpu") || cor_str_eqz(resource, "memory") ||
           cor_str_starts(resource, COR_STR("hugepages-"));
}

int cor_quota_pod_add(const struct cor_object *pod, const char *list, struct cor_str resource,
                      struct cor_quota_amount *sum)
{
    const struct pod_resource r = {.pod = pod,
                                   .list = list,
                                   .resource = resource,
                                   .is_infeasible = pod_resize_is_infeasible(pod)};
    struct cor_view of_pod = resource_in(&r, cor_quota_part(pod, "spec", "resources"));
    struct cor_view overhead = cor_view_member(cor_quota_part(pod, "spec", "overhead"), resource);
    struct cor_quota_amount total = {"0"};
    int err, is_some = 0;

    if (is_pod_level(resource) && cor_quota_text(of_pod).n > 0)
        err = cor_quota_add_value(&total, of_pod);
    else
        err = containers_need(&r, &total);
    if (err == 0)
        err = cor_quantity_cmp(cor_strz(total.text), COR_STR("0"), &is_some);
    if (err == 0 && (is_some != 0 || strcmp(list, "requests") == 0))
        err = cor_quota_add_value(&total, overhead);
    return err < 0 ? err : cor_quota_plus(sum, &total);
}

/* ---- scopes ---- */

static bool has_deadline(const struct cor_object *pod)
{
    return cor_view_int_or(cor_quota_part(pod, "spec", "activeDeadlineSeconds"), -1) >= 0;
}

/* Is cpu or memory of one of the two lists more than zero? */
static bool resources_are_some(struct cor_view resources)
{
    static const char *const lists[] = {"requests", "limits"}, *const names[] = {"cpu", "memory"};

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        for (size_t j = 0; j < COR_ARRAY_LEN(names); j++) {
            int order = 0;

            if (cor_quantity_cmp(cor_quota_text(member(member(resources, lists[i]), names[j])),
                                 COR_STR("0"), &order) == 0 &&
                order > 0)
                return true;
        }
    }
    return false;
}

/* The server sets status.qosClass when it creates a pod. */
static bool is_best_effort(const struct cor_object *pod)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct cor_str class = text_of(cor_quota_part(pod, "status", "qosClass"));
    struct cor_view of_pod = cor_quota_part(pod, "spec", "resources");

    if (class.n > 0)
        return cor_str_eqz(class, "BestEffort");
    if (cor_view_type(of_pod) == COR_JSON_OBJECT)
        return !resources_are_some(of_pod);
    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        struct cor_view_iter it = cor_view_iter(cor_quota_part(pod, "spec", lists[i]));

        while (cor_view_next(&it))
            if (resources_are_some(member(it.value, "resources")))
                return false;
    }
    return true;
}

/* Does a term of the affinity reach into other namespaces? A preferred term is inside of a weighted
 * one. */
static bool terms_cross_namespaces(struct cor_view terms, bool are_weighted)
{
    struct cor_view_iter it = cor_view_iter(terms);

    while (cor_view_next(&it)) {
        struct cor_view term = are_weighted ? member(it.value, "podAffinityTerm") : it.value;

        if (cor_view_len(member(term, "namespaces")) > 0 ||
            cor_view_type(member(term, "namespaceSelector")) == COR_JSON_OBJECT)
            return true;
    }
    return false;
}

static bool affinity_crosses_namespaces(const struct cor_object *pod)
{
    static const char *const kinds[] = {"podAffinity", "podAntiAffinity"};

    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++) {
        struct cor_view kind = member(cor_quota_part(pod, "spec", "affinity"), kinds[i]);

        if (terms_cross_namespaces(member(kind, "requiredDuringSchedulingIgnoredDuringExecution"),
                                   false) ||
            terms_cross_namespaces(member(kind, "preferredDuringSchedulingIgnoredDuringExecution"),
                                   true))
            return true;
    }
    return false;
}

bool cor_quota_pod_is_in(const struct cor_object *pod, struct cor_str scope,
                         struct cor_view requirement)
{
    if (cor_str_eqz(scope, "Terminating"))
        return has_deadline(pod);
    if (cor_str_eqz(scope, "NotTerminating"))
        return !has_deadline(pod);
    if (cor_str_eqz(scope, "BestEffort"))
        return is_best_effort(pod);
    if (cor_str_eqz(scope, "NotBestEffort"))
        return !is_best_effort(pod);
    if (cor_str_eqz(scope, "PriorityClass"))
        return cor_quota_selects(requirement,
                                 text_of(cor_quota_part(pod, "spec", "priorityClassName")));
    if (cor_str_eqz(scope, "CrossNamespacePodAffinity"))
        return affinity_crosses_namespaces(pod);
    return false;
}

/* ---- updates ---- */

uint64_t cor_quota_pod_fingerprint(const struct cor_object *pod, int64_t now_ms)
{
    /* Every part in which a resize, the kubelet or a scope shows itself. */
    static const struct {
        const char *part, *list, *keys[2];
    } lists[] = {
        {"spec", "containers", {"resources", ""}},
        {"spec", "initContainers", {"resources", ""}},
        {"status", "containerStatuses", {"resources", "allocatedResources"}},
        {"status", "initContainerStatuses", {"resources", "allocatedResources"}},
    };
    uint64_t h = (cor_quota_pod_is_live(pod, now_ms) ? 1u : 0) | (has_deadline(pod) ? 2u : 0) |
                 (pod_resize_is_infeasible(pod) ? 4u : 0);

    h = h * 31 + cor_str_hash(cor_quota_part(pod, "spec", "resources").json);
    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        struct cor_view_iter it = cor_view_iter(cor_quota_part(pod, lists[i].part, lists[i].list));

        while (cor_view_next(&it))
            for (size_t k = 0; k < COR_ARRAY_LEN(lists[i].keys); k++)
                h = h * 31 + cor_str_hash(member(it.value, lists[i].keys[k]).json);
    }
    return h;
}
