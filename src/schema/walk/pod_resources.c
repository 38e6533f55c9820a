/* What a Pod requests by default, in this order:
 *
 *   1. each container and init container requests its limits, for every resource that it has no
 *      request of;
 *   2. a pod with resources of its own gets the limits of huge pages that its containers have
 *      together, unless the pod says something about them;
 *   3. a pod with limits of its own requests the cpu and the memory that its containers request
 *      together, and of what is left over its limits.
 *
 * Containers together need the sum of those that run at once, or what an init container needs at
 * its time, if that is more: its own and that of the init containers before it that keep running.
 * A quantity that cannot be added up (it has too many digits) leaves the default out. Thread: any.
 */
#include "schema/walk/pod_resources.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "meta/value/quantity.h"
#include "json/text/scan.h"

#define HUGE_PAGES         "hugepages-"
#define HUGE_PAGES_MAX     64 /* sizes that are looked at; a machine has two or three */
#define QUANTITY_BYTES_MAX 256

/* A quantity's text; p == NULL: none. The empty text stands for one that cannot be computed, and
 * whatever is computed from it is empty too. */
typedef struct cor_str quantity;

/* The map "limits" or "requests" of what has resources; NULL: there is none. */
static struct cor_draft_value *resource_list(struct cor_draft *draft, struct cor_draft_value *owner,
                                             const char *which)
{
    struct cor_draft_value *resources =
        owner->is_open ? cor_draft_open_member(draft, owner, "resources") : NULL;

    return resources ? cor_draft_open_member(draft, resources, which) : NULL;
}

static struct cor_draft_value *first_container(struct cor_draft *draft,
                                               struct cor_draft_value *spec, const char *list)
{
    struct cor_draft_value *containers = cor_draft_open_member(draft, spec, list);

    return containers ? containers->first : NULL;
}

static quantity sum_of(struct cor_draft *draft, quantity a, quantity b)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
    char *kept;
    int r;

    if (!a.p || !b.p)
        return a.p ? a : b;
    cor_buf_init(&text, QUANTITY_BYTES_MAX);
    r = cor_quantity_add(a, b, &text);
    if (r == -COR_ENOMEM)
        draft->error = r;
    kept = r < 0 ? NULL : cor_draft_alloc(draft, text.n);
    if (!kept)
        return COR_STR("");
    memcpy(kept, text.p, text.n);
    return cor_str(kept, text.n);
}

static quantity larger_of(quantity a, quantity b)
{
    int order = 0;

    if (!a.p || !b.p)
        return a.p ? a : b;
    if (cor_quantity_cmp(b, a, &order) < 0)
        return COR_STR("");
    return order > 0 ? b : a;
}

static quantity quantity_of(struct cor_draft *draft, struct cor_draft_value *owner,
                            const char *which, struct cor_str resource)
{
    const struct cor_draft_value *map = resource_list(draft, owner, which);
    const struct cor_draft_value *entry = map ? cor_draft_get(map, resource) : NULL;
    struct cor_str raw;

    if (!entry || cor_json_to_raw(entry->json, &raw) < 0)
        return (quantity){NULL, 0};
    return raw;
}

static bool keeps_running(const struct cor_draft_value *init_container)
{
    const struct cor_draft_value *policy = cor_draft_get(init_container, COR_STR("restartPolicy"));

    return policy && cor_str_eq(policy->json, COR_STR("\"Always\""));
}

/* What all containers need of a resource. */
static quantity needed_together(struct cor_draft *draft, struct cor_draft_value *spec,
                                const char *which, struct cor_str resource)
{
    quantity sum = {NULL, 0}, running = {NULL, 0}, most = {NULL, 0};
    struct cor_draft_value *container;

    for (container = first_container(draft, spec, "containers"); container;
         container = container->next)
        sum = sum_of(draft, sum, quantity_of(draft, container, which, resource));
    for (container = first_container(draft, spec, "initContainers"); container;
         container = container->next) {
        quantity own = quantity_of(draft, container, which, resource);

        if (keeps_running(container)) {
            sum = sum_of(draft, sum, own);
            running = sum_of(draft, running, own);
            most = larger_of(most, running);
        } else {
            most = larger_of(most, sum_of(draft, own, running));
        }
    }
    return larger_of(sum, most);
}

/* Sets an entry of the pod's own limits or requests, whose map is made when it is missing. The text
 * is set as upstream reads it again: a sum may be more than the largest quantity with a suffix that
 * is a power of two. */
static void set_own(struct cor_draft *draft, struct cor_draft_value *resources, const char *which,
                    struct cor_str key, quantity text)
{
    struct cor_draft_value *map = cor_draft_open_member(draft, resources, which);
    COR_CLEANUP(cor_buf_deinit) struct cor_buf rewritten = {0};
    char *quoted;
    int r;

    cor_buf_init(&rewritten, QUANTITY_BYTES_MAX);
    r = cor_quantity_rewrite(text, 0, &rewritten, NULL);
    if (r == -COR_ENOMEM)
        draft->error = r;
    if (r > 0)
        text = cor_buf_str(&rewritten);
    quoted = r < 0 ? NULL : cor_draft_alloc(draft, text.n + 2);
    if (!quoted)
        return;
    quoted[0] = quoted[text.n + 1] = '"';
    memcpy(quoted + 1, text.p, text.n);
    if (!map) {
        cor_draft_set(draft, resources, cor_strz(which), COR_STR("{}"));
        map = cor_draft_open_member(draft, resources, which);
    }
    if (map)
        cor_draft_set(draft, map, key, cor_str(quoted, text.n + 2));
}

static bool has_own(struct cor_draft *draft, struct cor_draft_value *resources, const char *which,
                    struct cor_str key)
{
    const struct cor_draft_value *map = cor_draft_open_member(draft, resources, which);

    return map && cor_draft_get(map, key);
}

static void limit_huge_pages(struct cor_draft *draft, struct cor_draft_value *spec,
                             struct cor_draft_value *resources)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct cor_draft_value *container, *limits, *entry;
    size_t left = HUGE_PAGES_MAX;

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        for (container = first_container(draft, spec, lists[i]); container;
             container = container->next) {
            limits = resource_list(draft, container, "limits");
            for (entry = limits ? limits->first : NULL; entry && left > 0; entry = entry->next) {
                quantity text;

                if (!cor_str_starts(entry->key, COR_STR(HUGE_PAGES)))
                    continue;
                left--;
                if (has_own(draft, resources, "requests", entry->key) ||
                    has_own(draft, resources, "limits", entry->key))
                    continue;
                text = needed_together(draft, spec, "limits", entry->key);
                if (text.n > 0)
                    set_own(draft, resources, "limits", entry->key, text);
            }
        }
    }
}

static const struct cor_str summed[] = {COR_STR_INIT("cpu"), COR_STR_INIT("memory")};

/* Can a pod as a whole have a request of this resource? */
static bool is_shared(struct cor_str resource)
{
    return cor_str_eq(resource, summed[0]) || cor_str_eq(resource, summed[1]) ||
           cor_str_starts(resource, COR_STR(HUGE_PAGES));
}

static void request_own(struct cor_draft *draft, struct cor_draft_value *spec,
                        struct cor_draft_value *resources)
{
    const struct cor_draft_value *limits = cor_draft_open_member(draft, resources, "limits");

    if (!limits || !limits->first)
        return;
    for (size_t i = 0; i < COR_ARRAY_LEN(summed); i++) {
        quantity text = {NULL, 0};

        if (!has_own(draft, resources, "requests", summed[i]))
            text = needed_together(draft, spec, "requests", summed[i]);
        if (text.n > 0)
            set_own(draft, resources, "requests", summed[i], text);
    }
    cor_draft_add_missing(draft, resources, "requests", limits, is_shared);
}

static void request_limits(struct cor_draft *draft, struct cor_draft_value *container)
{
    struct cor_draft_value *limits = resource_list(draft, container, "limits");

    if (limits)
        cor_draft_add_missing(draft, limits->parent, "requests", limits, NULL);
}

void cor_pod_resources_default(struct cor_draft *draft, struct cor_draft_value *spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct cor_draft_value *container, *resources, *limits, *requests;

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        for (container = first_container(draft, spec, lists[i]); container;
             container = container->next)
            request_limits(draft, container);
    }
    resources = cor_draft_open_member(draft, spec, "resources");
    if (!resources)
        return;
    limits = cor_draft_open_member(draft, resources, "limits");
    requests = cor_draft_open_member(draft, resources, "requests");
    if ((limits && limits->first) || (requests && requests->first))
        limit_huge_pages(draft, spec, resources);
    request_own(draft, spec, resources);
}
