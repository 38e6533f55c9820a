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
 *
 * The pod is walked once. Each quantity that counts is kept as an entry of its resource's group, in the order of the containers, so that
 * the sum of a resource touches its own entries only, however many containers and names there are.
 * Thread: any (pure). */
/* clang-format on */
#include "server/controllers/quota/quota_pods.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "coracle/metadata.h"

/* More than an object has room for. */
#define ENTRIES_MAX (1u << 22)
#define NO_ENTRY    UINT32_MAX

/* A quantity that counts. Of a container there may be several, the greatest of which counts. */
struct pod_entry {
    struct cor_str text;
    uint32_t container; /* the containers first, then the init containers */
    uint32_t next;      /* of its group; NO_ENTRY: it is the last */
    bool is_init, is_sidecar;
};

/* A resource of the requests or the limits. */
struct pod_group {
    struct cor_str resource;
    uint32_t first, last;           /* entries of containers; NO_ENTRY: there are none */
    struct cor_str whole, overhead; /* of the pod itself; empty: none */
};

/* A container in the status. */
struct pod_status {
    struct cor_str name;
    uint32_t order;
    struct cor_view view;
};

struct cor_quota_pod {
    const struct cor_object *object;
    bool is_live, is_infeasible; /* the kubelet has refused the resize that the pod asks for */
    bool has_deadline, is_best_effort, crosses_namespaces;
    struct cor_str priority_class;
    struct pod_entry *entries;
    size_t nentries, entries_cap;
    struct pod_group *groups; /* of requests and limits, by list_of() */
    size_t ngroups, groups_cap;
    struct cor_map by_resource[2]; /* resource -> index into `groups` plus 1 */
    struct pod_status *statuses;   /* by name, then in their order */
    size_t nstatuses, statuses_cap;
};

static struct cor_view member(struct cor_view view, const char *key)
{
    return cor_view_member(view, cor_strz(key));
}

static struct cor_str text_of(struct cor_view view)
{
    return cor_view_text_or(view, NULL, 0, "");
}

static bool is_live_at(const struct cor_object *pod, int64_t now_ms)
{
    struct cor_str phase = text_of(cor_quota_part(pod, "status", "phase"));
    int64_t deleted_s, grace_s;

    if (cor_str_eqz(phase, "Failed") || cor_str_eqz(phase, "Succeeded"))
        return false;
    return cor_object_deletion_time(pod, &deleted_s) < 0 ||
           cor_object_deletion_grace_s(pod, &grace_s) < 0 || now_ms <= (deleted_s + grace_s) * 1000;
}

static bool resize_is_infeasible(const struct cor_object *pod)
{
    struct cor_view_iter it = cor_view_iter(cor_quota_part(pod, "status", "conditions"));

    while (cor_view_next(&it))
        if (cor_str_eqz(text_of(member(it.value, "type")), "PodResizePending"))
            return cor_str_eqz(text_of(member(it.value, "reason")), "Infeasible");
    return false;
}

/* ---- what the status shows of containers ---- */

static int compare_statuses(const void *a, const void *b)
{
    const struct pod_status *x = a, *y = b;
    int order = cor_str_cmp(x->name, y->name);

    return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

static int pod_gather_statuses(struct cor_quota_pod *pod)
{
    static const char *const lists[] = {"containerStatuses", "initContainerStatuses"};
    struct cor_view status = member(cor_object_view(pod->object), "status");
    int r = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        struct cor_view_iter it = cor_view_iter(member(status, lists[i]));

        while (r == 0 && cor_view_next(&it)) {
            r = COR_ARRAY_RESERVE(&pod->statuses, pod->nstatuses, &pod->statuses_cap, ENTRIES_MAX);
            if (r < 0)
                break;
            pod->statuses[pod->nstatuses] = (struct pod_status){text_of(member(it.value, "name")),
                                                                (uint32_t)pod->nstatuses, it.value};
            pod->nstatuses++;
        }
    }
    if (pod->nstatuses > 1)
        qsort(pod->statuses, pod->nstatuses, sizeof(pod->statuses[0]), compare_statuses);
    return r;
}

/* The last of this name, of either list; a view of nothing when there is none. */
static struct cor_view pod_status_of(const struct cor_quota_pod *pod, struct cor_str name)
{
    size_t low = 0, high = pod->nstatuses;

    while (low < high) { /* the first behind those of this name */
        size_t middle = low + (high - low) / 2;

        if (cor_str_cmp(pod->statuses[middle].name, name) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && cor_str_eq(pod->statuses[low - 1].name, name) ? pod->statuses[low - 1].view
                                                                    : (struct cor_view){{0}};
}

/* ---- entries ---- */

static const char *list_of(bool is_limit)
{
    return is_limit ? "limits" : "requests";
}

/* The group of the resource, which is made when there is none. NULL, with the reason in `r`. */
static struct pod_group *pod_group_at(struct cor_quota_pod *pod, bool is_limit,
                                      struct cor_str resource, int *r)
{
    uintptr_t at = (uintptr_t)cor_map_peek(&pod->by_resource[is_limit], resource);

    if (at > 0)
        return &pod->groups[at - 1];
    *r = COR_ARRAY_RESERVE(&pod->groups, pod->ngroups, &pod->groups_cap, ENTRIES_MAX);
    if (*r == 0)
        *r = cor_map_put(&pod->by_resource[is_limit], resource,
                         (void *)(uintptr_t)(pod->ngroups + 1), NULL);
    if (*r < 0)
        return NULL;
    pod->groups[pod->ngroups] =
        (struct pod_group){.resource = resource, .first = NO_ENTRY, .last = NO_ENTRY};
    return &pod->groups[pod->ngroups++];
}

/* Keeps each quantity of `values`, a map of resources, for the container of `like`. */
static int pod_add_entries(struct cor_quota_pod *pod, bool is_limit, struct cor_view values,
                           const struct pod_entry *like)
{
    struct cor_view_iter it = cor_view_iter(values);
    int r = 0;

    while (r == 0 && cor_view_next(&it)) {
        struct pod_entry entry = *like;
        struct pod_group *group;

        entry.text = cor_quota_text(it.value);
        entry.next = NO_ENTRY;
        if (entry.text.n == 0 || !(group = pod_group_at(pod, is_limit, it.key, &r)))
            continue;
        r = COR_ARRAY_RESERVE(&pod->entries, pod->nentries, &pod->entries_cap, ENTRIES_MAX);
        if (r < 0)
            break;
        if (group->first == NO_ENTRY)
            group->first = (uint32_t)pod->nentries;
        else
            pod->entries[group->last].next = (uint32_t)pod->nentries;
        group->last = (uint32_t)pod->nentries;
        pod->entries[pod->nentries++] = entry;
    }
    return r;
}

static int pod_add_container(struct cor_quota_pod *pod, struct cor_view container,
                             const struct pod_entry *like)
{
    struct cor_view asked = member(container, "resources"), status = {{0}}, shown;
    int r = 0;

    if (!like->is_init || like->is_sidecar)
        status = pod_status_of(pod, text_of(member(container, "name")));
    shown = member(status, "resources");
    for (int is_limit = 0; is_limit < 2 && r == 0; is_limit++) {
        const char *list = list_of(is_limit);

        if (cor_view_type(shown) != COR_JSON_OBJECT) {
            r = pod_add_entries(pod, is_limit, member(asked, list), like);
            continue;
        }
        r = pod_add_entries(pod, is_limit, member(shown, list), like);
        if (r == 0 && !pod->is_infeasible)
            r = pod_add_entries(pod, is_limit, member(asked, list), like);
        if (r == 0 && !is_limit)
            r = pod_add_entries(pod, is_limit, member(status, "allocatedResources"), like);
    }
    return r;
}

/* May spec.resources of a pod have the resource? */
static bool is_pod_level(struct cor_str resource)
{
    return cor_str_eqz(resource, "cpu") || cor_str_eqz(resource, "memory") ||
           cor_str_starts(resource, COR_STR("hugepages-"));
}

/* Notes what the pod itself has of each resource. */
static int pod_add_own(struct cor_quota_pod *pod, bool is_limit, struct cor_view values,
                       bool is_overhead)
{
    struct cor_view_iter it = cor_view_iter(values);
    int r = 0;

    while (r == 0 && cor_view_next(&it)) {
        struct pod_group *group;

        if ((!is_overhead && !is_pod_level(it.key)) ||
            !(group = pod_group_at(pod, is_limit, it.key, &r)))
            continue;
        if (is_overhead)
            group->overhead = cor_quota_text(it.value);
        else
            group->whole = cor_quota_text(it.value);
    }
    return r;
}

static int pod_gather(struct cor_quota_pod *pod)
{
    struct cor_view spec = member(cor_object_view(pod->object), "spec");
    struct cor_view_iter it = cor_view_iter(member(spec, "containers"));
    struct pod_entry like = {.container = 0};
    int r = pod_gather_statuses(pod);

    for (; r == 0 && cor_view_next(&it); like.container++)
        r = pod_add_container(pod, it.value, &like);
    it = cor_view_iter(member(spec, "initContainers"));
    like.is_init = true;
    for (; r == 0 && cor_view_next(&it); like.container++) {
        like.is_sidecar = cor_str_eqz(text_of(member(it.value, "restartPolicy")), "Always");
        r = pod_add_container(pod, it.value, &like);
    }
    for (int is_limit = 0; is_limit < 2 && r == 0; is_limit++) {
        r = pod_add_own(pod, is_limit, member(member(spec, "resources"), list_of(is_limit)), false);
        if (r == 0)
            r = pod_add_own(pod, is_limit, member(spec, "overhead"), true);
    }
    return r;
}

/* ---- requests and limits ---- */

static int amount_max(struct cor_quota_amount *most, const struct cor_quota_amount *other)
{
    int order, err = cor_quantity_cmp(cor_strz(other->text), cor_strz(most->text), &order);

    if (err == 0 && order > 0)
        *most = *other;
    return err;
}

static int text_max(struct cor_quota_amount *most, struct cor_str text)
{
    int order, err = cor_quantity_cmp(text, cor_strz(most->text), &order);

    return err == 0 && order > 0 ? cor_quantity_canonical(text, most->text) : err;
}

/* Sets `to` to what the container of the entry `*at` needs, and moves `*at` behind its entries. */
static int container_needs(const struct cor_quota_pod *pod, uint32_t *at,
                           struct cor_quota_amount *to)
{
    const struct pod_entry *entry = &pod->entries[*at];
    uint32_t container = entry->container;
    int err = 0;

    *to = (struct cor_quota_amount){"0"};
    *at = entry->next;
    if (*at == NO_ENTRY || pod->entries[*at].container != container)
        return cor_quantity_plus(cor_strz(to->text), entry->text, to->text);
    err = text_max(to, entry->text);
    for (; err == 0 && *at != NO_ENTRY && pod->entries[*at].container == container;
         *at = pod->entries[*at].next)
        err = text_max(to, pod->entries[*at].text);
    return err;
}

/* An init container without the resource needs nothing more than the sidecars before it, which has
 * been looked at with the last of them. */
static int containers_need(const struct cor_quota_pod *pod, const struct pod_group *group,
                           struct cor_quota_amount *sum)
{
    struct cor_quota_amount needs, sidecars = {"0"}, most = {"0"};
    uint32_t at = group->first;
    int err = 0;

    while (err == 0 && at != NO_ENTRY) {
        bool is_init = pod->entries[at].is_init, is_sidecar = pod->entries[at].is_sidecar;

        err = container_needs(pod, &at, &needs);
        if (err == 0 && (!is_init || is_sidecar))
            err = cor_quota_plus(sum, &needs);
        if (err < 0 || !is_init)
            continue;
        err = cor_quota_plus(&needs, &sidecars); /* what runs at the same time */
        if (err == 0 && is_sidecar)
            sidecars = needs;
        if (err == 0)
            err = amount_max(&most, &needs);
    }
    return err < 0 ? err : amount_max(sum, &most);
}

int cor_quota_pod_add(const struct cor_quota_pod *pod, bool is_limit, struct cor_str resource,
                      struct cor_quota_amount *sum)
{
    uintptr_t at = (uintptr_t)cor_map_peek(&pod->by_resource[is_limit], resource);
    struct cor_quota_amount total = {"0"};
    const struct pod_group *group;
    int err = 0, is_some = 0;

    if (at == 0 || !pod->is_live)
        return 0;
    group = &pod->groups[at - 1];
    if (group->whole.n > 0)
        err = cor_quantity_plus(cor_strz(total.text), group->whole, total.text);
    else
        err = containers_need(pod, group, &total);
    if (err == 0)
        err = cor_quantity_cmp(cor_strz(total.text), COR_STR("0"), &is_some);
    if (err == 0 && group->overhead.n > 0 && (is_some != 0 || !is_limit))
        err = cor_quantity_plus(cor_strz(total.text), group->overhead, total.text);
    return err < 0 ? err : cor_quota_plus(sum, &total);
}

/* ---- scopes ---- */

static bool has_deadline_in(const struct cor_object *pod)
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
static bool is_best_effort_pod(const struct cor_object *pod)
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

/* Does a term of the affinity reach into other namespaces? A preferred term is inside a weighted
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

bool cor_quota_pod_is_in(const struct cor_quota_pod *pod, struct cor_str scope,
                         struct cor_view requirement)
{
    if (cor_str_eqz(scope, "Terminating"))
        return pod->has_deadline;
    if (cor_str_eqz(scope, "NotTerminating"))
        return !pod->has_deadline;
    if (cor_str_eqz(scope, "BestEffort"))
        return pod->is_best_effort;
    if (cor_str_eqz(scope, "NotBestEffort"))
        return !pod->is_best_effort;
    if (cor_str_eqz(scope, "PriorityClass"))
        return cor_quota_selects(requirement, pod->priority_class);
    if (cor_str_eqz(scope, "CrossNamespacePodAffinity"))
        return pod->crosses_namespaces;
    return false;
}

/* ---- the pod ---- */

int cor_quota_pod_new(const struct cor_object *object, int64_t now_ms,
                      struct cor_quota_pod **ret_pod)
{
    struct cor_quota_pod *pod = cor_calloc(1, sizeof(*pod));
    int r;

    if (!pod)
        return -COR_ENOMEM;
    pod->object = object;
    pod->is_live = is_live_at(object, now_ms);
    pod->is_infeasible = resize_is_infeasible(object);
    pod->has_deadline = has_deadline_in(object);
    pod->is_best_effort = is_best_effort_pod(object);
    pod->crosses_namespaces = affinity_crosses_namespaces(object);
    pod->priority_class = text_of(cor_quota_part(object, "spec", "priorityClassName"));
    for (size_t i = 0; i < COR_ARRAY_LEN(pod->by_resource); i++)
        cor_map_init(&pod->by_resource[i], ENTRIES_MAX);
    r = pod->is_live ? pod_gather(pod) : 0;
    if (r < 0) {
        cor_quota_pod_free(pod);
        return r;
    }
    *ret_pod = pod;
    return 0;
}

struct cor_quota_pod *cor_quota_pod_free(struct cor_quota_pod *pod)
{
    if (!pod)
        return NULL;
    for (size_t i = 0; i < COR_ARRAY_LEN(pod->by_resource); i++)
        cor_map_deinit(&pod->by_resource[i]);
    cor_free(pod->entries);
    cor_free(pod->groups);
    cor_free(pod->statuses);
    cor_free(pod);
    return NULL;
}

bool cor_quota_pod_is_live(const struct cor_quota_pod *pod)
{
    return pod->is_live;
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
    uint64_t h = (is_live_at(pod, now_ms) ? 1u : 0) | (has_deadline_in(pod) ? 2u : 0) |
                 (resize_is_infeasible(pod) ? 4u : 0);

    h = h * 31 + cor_str_hash(cor_quota_part(pod, "spec", "resources").json);
    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        struct cor_view_iter it = cor_view_iter(cor_quota_part(pod, lists[i].part, lists[i].list));

        while (cor_view_next(&it))
            for (size_t k = 0; k < COR_ARRAY_LEN(lists[i].keys); k++)
                h = h * 31 + cor_str_hash(member(it.value, lists[i].keys[k]).json);
    }
    return h;
}
