/* Compares the coordinates (apiVersion, kind, namespace, name) by which dependents name an owner's
 * uid with those that were observed, or that were found to be absent.
 *
 * The graph calls these functions when a virtual node becomes a real one, when a reference is new,
 * and when an attempt found an owner to be absent; the dependents whose references are doubtful
 * become due, and an attempt verifies them against the API.
 * Failures: none; no function allocates memory.  Thread: the graph's. */
#include "server/controllers/gc/gc_coordinates.h"

#include "server/controllers/gc/gc_edges.h"

bool cor_gc_ref_matches(const struct cor_gc_ref *ref, const struct cor_gc_identity *id)
{
    return cor_str_eq(ref->uid, id->uid) && cor_str_eq(ref->name, id->name) &&
           cor_str_eq(ref->kind, id->kind) && cor_str_eq(ref->api_version, id->api_version);
}

void cor_gc_edge_compare(const struct cor_gc_edge *edge, const struct cor_gc_identity *id,
                         bool *ret_matches, bool *ret_differs)
{
    *ret_matches = *ret_differs = false;
    if (id->ns.n > 0 && !cor_str_eq(id->ns, edge->dependent->id.ns)) {
        *ret_differs = true;
        return;
    }
    for (; edge; edge = edge->next_repeat) {
        if (cor_gc_ref_matches(&edge->ref, id))
            *ret_matches = true;
        else
            *ret_differs = true;
    }
}

/* Reports the dependent's first reference to the owner (2.9.1). */
static void report_wrong_namespace(struct cor_gc_graph *g, const struct cor_gc_edge *edge)
{
    const struct cor_gc_node *dependent = edge->dependent;
    struct cor_gc_identity named = {edge->ref.api_version, edge->ref.kind, dependent->id.ns,
                                    edge->ref.name, edge->ref.uid};

    if (g->on_wrong_namespace)
        g->on_wrong_namespace(g->arg, &dependent->id, &named);
}

void cor_gc_verify_dependents(struct cor_gc_graph *g, struct cor_gc_node *node,
                              const struct cor_gc_identity *observed)
{
    COR_DLIST_FOREACH(link, &node->dependents) {
        const struct cor_gc_edge *edge = cor_gc_edge_of(link);
        bool matches, differs;

        cor_gc_edge_compare(edge, observed, &matches, &differs);
        if (!differs)
            continue;
        if (observed->ns.n > 0 && !cor_str_eq(observed->ns, edge->dependent->id.ns))
            report_wrong_namespace(g, edge);
        cor_gc_graph_want_delete(g, edge->dependent);
    }
}

/* Is the owner known to live in another namespace than the dependent? The coordinates of a virtual
 * node are a guess, so the table of uids answers for these. */
static bool lives_elsewhere(const struct cor_gc_graph *g, const struct cor_gc_node *owner,
                            const struct cor_gc_node *dependent)
{
    struct cor_gc_place place;

    if (!owner->is_virtual)
        return owner->id.ns.n > 0 && !cor_str_eq(owner->id.ns, dependent->id.ns);
    return cor_gc_uids_find(&g->uids, cor_gc_uid(owner->id.uid), &place) && place.ns != 0 &&
           place.ns != cor_gc_namespace_hash(dependent->id.ns);
}

bool cor_gc_reference_is_doubtful(struct cor_gc_graph *g, const struct cor_gc_edge *edge,
                                  bool is_new)
{
    const struct cor_gc_node *owner = edge->owner, *dependent = edge->dependent;

    if (lives_elsewhere(g, owner, dependent)) {
        report_wrong_namespace(g, edge);
        return true;
    }
    if (is_new)
        return false;
    if (owner->id.ns.n > 0 && !cor_str_eq(owner->id.ns, dependent->id.ns))
        return true;
    if (!cor_gc_ref_matches(&edge->ref, &owner->id))
        return true;
    /* The owner is virtual and was named by an object without a namespace. It may be of a
     * namespaced kind, and then this object's reference is the right one. */
    return owner->id.ns.n == 0 && dependent->id.ns.n > 0 && owner->is_virtual;
}

bool cor_gc_find_alternative(const struct cor_gc_node *node, const struct cor_gc_identity *absent,
                             struct cor_gc_identity *ret)
{
    struct cor_gc_identity first, next;
    bool has_first = false, has_next = false, is_cluster_scoped = absent->ns.n == 0;

    COR_DLIST_FOREACH(link, &node->dependents) {
        for (const struct cor_gc_edge *edge = cor_gc_edge_of(link); edge;
             edge = edge->next_repeat) {
            const struct cor_gc_ref *ref = &edge->ref;
            struct cor_gc_identity id = {ref->api_version, ref->kind, edge->dependent->id.ns,
                                         ref->name, ref->uid};

            /* The kind of the absent identity has no namespaces, so this one has none either. */
            if (is_cluster_scoped && cor_str_eq(id.kind, absent->kind) &&
                cor_str_eq(id.api_version, absent->api_version))
                id.ns = COR_STR("");
            if (cor_gc_identity_cmp(&id, absent) == 0)
                continue;
            if (!has_first || cor_gc_identity_cmp(&id, &first) < 0)
                first = id;
            has_first = true;
            if (cor_gc_identity_cmp(&id, absent) > 0 &&
                (!has_next || cor_gc_identity_cmp(&id, &next) < 0)) {
                next = id;
                has_next = true;
            }
        }
    }
    if (has_first)
        *ret = has_next ? next : first;
    return has_first;
}

void cor_gc_verify_matching(struct cor_gc_graph *g, struct cor_gc_node *node,
                            const struct cor_gc_identity *absent, size_t *ret_ndiffering)
{
    size_t nmatching = 0, ndiffering = 0;

    COR_DLIST_FOREACH(link, &node->dependents) {
        const struct cor_gc_edge *edge = cor_gc_edge_of(link);
        bool matches, differs;

        cor_gc_edge_compare(edge, absent, &matches, &differs);
        ndiffering += differs;
        if (matches) {
            nmatching++;
            cor_gc_graph_want_delete(g, edge->dependent);
        }
    }
    if (nmatching > 0)
        cor_gc_absent_add(g, absent);
    *ret_ndiffering = ndiffering;
}
