/* The hooks of validation for a resize of a pod (schema/check/check.h describes what they work
 * with). The strategy of the subresource has taken resources and resize policies from the request
 * and all else from the old pod, unless the request has other containers. Thread: any. */
#include "base/err.h"
#include "meta/value/quantity.h"
#include "schema/hooks/hooks.h"
#include "schema/strategies/pod_qos.h"
#include "schema/types/types_int.h"
#include "schema/walk/equal.h"

static bool has_resources(struct cor_check *check, const struct cor_place *spec, bool of_old)
{
    static const char *const lists[] = {"limits", "requests"};
    struct cor_place resources, list;
    size_t n = 0;

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        cor_place_field(check, spec, "resources", &resources);
        cor_place_field(check, &resources, lists[i], &list);
        if (of_old)
            list = cor_place_old(&list);
        n += cor_place_length(check, &list);
    }
    return n > 0;
}

COR_WHEN(has_pod_level_resources)
{
    struct cor_place spec;

    cor_place_field(check, place, "spec", &spec);
    return has_resources(check, &spec, true) || has_resources(check, &spec, false);
}

/* The class that a spec has; "" when no memory is left, which is noted. */
static struct cor_str qos_class(struct cor_check *check, struct cor_str spec)
{
    struct cor_pod_look look = {.qos_class = ""};
    int r = cor_pod_look(spec.p ? spec : COR_STR("{}"), &look);

    cor_check_note(check, r);
    return r < 0 ? COR_STR("") : cor_strz(look.qos_class);
}

/* The old class is the one that the status has; for an older pod without one it follows from its
 * spec. */
COR_WHEN(changes_qos_class)
{
    struct cor_place spec, status, stored, old_spec;
    struct cor_str before;

    cor_place_field(check, place, "spec", &spec);
    cor_place_field(check, place, "status", &status);
    cor_place_field(check, &status, "qosClass", &stored);
    old_spec = cor_place_old(&spec);
    stored = cor_place_old(&stored);
    before = cor_place_text(check, &stored);
    if (before.n == 0)
        before = qos_class(check, cor_place_json(check, &old_spec));
    return !cor_str_eq(before, qos_class(check, cor_place_json(check, &spec)));
}

/* The first container that runs decides: a node that can resize reports what the container has. */
COR_WHEN(runs_without_resize)
{
    struct cor_place old = cor_place_old(place), status, state, field;

    COR_EACH(check, &old, status) {
        cor_place_field(check, &status, "state", &state);
        if (cor_place_field(check, &state, "running", &field))
            return !cor_place_field(check, &status, "resources", &field);
    }
    return false;
}

COR_WHEN(has_other_containers)
{
    static const char *const lists[] = {"containers", "initContainers"};
    struct cor_place list, old, container, name;

    for (size_t i = 0; i < COR_ARRAY_LEN(lists); i++) {
        cor_place_field(check, place, lists[i], &list);
        old = cor_place_old(&list);
        if (cor_place_length(check, &list) != cor_place_length(check, &old))
            return true;
        COR_EACH(check, &list, container) {
            cor_place_field(check, &container, "name", &name);
            if (cor_place_is_changed(check, &name))
                return true;
        }
    }
    return false;
}

static bool may_change(struct cor_str resource)
{
    return cor_str_eq(resource, COR_STR("cpu")) || cor_str_eq(resource, COR_STR("memory"));
}

static size_t count_fixed(struct cor_check *check, const struct cor_place *list)
{
    struct cor_place entry;
    size_t n = 0;

    COR_EACH(check, list, entry)
        n += !may_change(entry.key);
    return n;
}

/* Returns whether resources other than cpu and memory have changed. Upstream lets a container
 * without a list get any. */
static bool changes_list(struct cor_check *check, const struct cor_place *resources,
                         const char *name)
{
    struct cor_place list, old, entry;
    size_t n = 0;

    cor_place_field(check, resources, name, &list);
    old = cor_place_old(&list);
    if (cor_place_length(check, &old) == 0)
        return false;
    COR_EACH(check, &list, entry) {
        if (may_change(entry.key))
            continue;
        if (entry.old == COR_JSON_NO_NODE || cor_place_is_changed(check, &entry))
            return true;
        n++;
    }
    return n != count_fixed(check, &old);
}

/* Upstream forgets the claims of the request, so a container that has claims cannot be resized. */
COR_WHEN(changes_other_resources)
{
    size_t member = cor_type_member_index(place->type, COR_STR("resources"));
    struct cor_place resources, claims;

    cor_place_field(check, place, "resources", &resources);
    cor_place_field(check, &resources, "claims", &claims);
    claims = cor_place_old(&claims);
    return cor_place_length(check, &claims) > 0 || changes_list(check, &resources, "limits") ||
           changes_list(check, &resources, "requests") ||
           !cor_semantic_equal(place->type, false, &check->object.nodes, place->node,
                               &check->old.nodes, place->old, UINT64_C(1) << member);
}
