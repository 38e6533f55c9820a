/* clang-format off */
/* Decides whether an object is garbage, and deletes it if so (contract 2.5 and 2.7):
 *
 *   GET the object ── 404 or another uid ──► the graph learns that it is absent
 *     │
 *     ├── its deletion waits for dependents ──► none blocks: remove foregroundDeletion;
 *     │                                         else the dependents that block become due
 *     ├── no owner references ──► nothing
 *     ▼
 *   classify each reference: in the absent-owner cache, or GET the owner
 *     │        dangling: there is no such owner; waiting: it waits for dependents; solid: else
 *     ▼
 *   any solid ──► PATCH the others away, if there are any
 *   any waiting, and dependents of its own ──► [a cycle? PATCH own references to non-blocking] DELETE Foreground
 *   else ──► DELETE with the policy that the object's finalizers name
 *                └── 409: GET again; if only other fields changed, DELETE without the resourceVersion
 *
 * Each error ends the attempt, and the object is tried again after the queue's delay. Two errors
 * are final: an object without a namespace that names an owner of a namespaced kind is left alone
 * forever. A virtual node for which nothing was to be done is tried again until a feed shows its
 * object, or the object is absent. */
/* clang-format on */
#include <assert.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "server/controllers/gc/gc_int.h"

static void delete_classify(struct cor_gc_attempt *a);

/* The attempt has found nothing more to do. */
static void delete_settle(struct cor_gc_attempt *a)
{
    const struct cor_gc_node *node = cor_gc_graph_find(&a->gc->graph, a->id.uid);

    if (node && node->is_virtual)
        cor_gc_attempt_again(a);
    else
        cor_gc_attempt_done(a);
}

/* Deleting. */

static void on_deleted_again(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    if (answer->error)
        cor_gc_attempt_fail_with(a, answer);
    else
        delete_settle(a);
}

static void on_conflict_read(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    struct cor_removal_options opts = {.propagation = a->policy, .uid = a->id.uid};

    if (cor_gc_answer_is(answer, -COR_ENOTFOUND)) {
        delete_settle(a);
        return;
    }
    if (answer->error || !cor_str_eq(cor_object_uid(answer->object), a->id.uid) ||
        cor_str_eq(cor_object_resource_version(answer->object),
                   cor_object_resource_version(a->latest)) ||
        !cor_str_eq(cor_object_owners(answer->object), cor_object_owners(a->latest))) {
        cor_gc_attempt_fail(a, -COR_ECONFLICT, NULL);
        return;
    }
    /* Something else has changed, not the references that were looked up. */
    cor_gc_attempt_remove(a, &opts, on_deleted_again);
}

static void on_deleted(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    struct cor_resource_path path;

    if (cor_gc_answer_is(answer, -COR_ECONFLICT) && cor_gc_path(a->gc, &a->id, &path, NULL))
        cor_gc_attempt_read(a, &path, on_conflict_read);
    else if (answer->error)
        cor_gc_attempt_fail_with(a, answer);
    else
        delete_settle(a);
}

static void delete_send(struct cor_gc_attempt *a, const char *policy)
{
    struct cor_removal_options opts = {
        .propagation = cor_strz(policy),
        .uid = a->id.uid,
        .resource_version = cor_object_resource_version(a->latest),
    };

    a->policy = opts.propagation;
    cor_gc_attempt_remove(a, &opts, on_deleted);
}

/* Patching references. */

static void on_merge_patched(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    if (answer->error)
        cor_gc_attempt_fail_with(a, answer);
    else
        delete_settle(a);
}

static void on_references_dropped(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    if (!cor_gc_answer_is(answer, -COR_EMEDIATYPE)) {
        on_merge_patched(a, answer);
        return;
    }
    cor_buf_reset(&a->patch);
    if (cor_gc_patch_drop_merge(&a->patch, a->latest, a->uids, a->ndangling + a->nwaiting) < 0)
        cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
    else
        cor_gc_attempt_patch(a, COR_PATCH_MERGE, on_merge_patched);
}

static void on_unblocked_merged(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    if (answer->error)
        cor_gc_attempt_fail_with(a, answer);
    else
        delete_send(a, "Foreground");
}

static void on_unblocked(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    if (!cor_gc_answer_is(answer, -COR_EMEDIATYPE)) {
        on_unblocked_merged(a, answer);
        return;
    }
    cor_buf_reset(&a->patch);
    if (cor_gc_patch_unblock_merge(&a->patch, a->latest) < 0)
        cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
    else
        cor_gc_attempt_patch(a, COR_PATCH_MERGE, on_unblocked_merged);
}

/* Deciding (2.5.8). */

static bool has_deleting_dependent(const struct cor_gc_node *node)
{
    COR_DLIST_FOREACH(link, &node->dependents) {
        if (COR_CONTAINER_OF(link, struct cor_gc_edge, link)->dependent->deleting_dependents)
            return true;
    }
    return false;
}

static void delete_decide(struct cor_gc_attempt *a)
{
    const struct cor_gc_node *node = cor_gc_graph_find(&a->gc->graph, a->id.uid);
    struct cor_gc_deletion deletion = cor_gc_deletion(a->latest);
    size_t nother = a->ndangling + a->nwaiting;

    if (a->nsolid > 0 && nother == 0) {
        delete_settle(a);
    } else if (a->nsolid > 0) {
        /* The two lists become one: dangling first. */
        for (size_t i = 0; i < a->nwaiting; i++)
            a->uids[a->ndangling + i] = a->uids[a->nrefs + i];
        cor_buf_reset(&a->patch);
        if (cor_gc_patch_drop(&a->patch, a->id.uid, a->uids, nother) < 0)
            cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
        else
            cor_gc_attempt_patch(a, COR_PATCH_STRATEGIC, on_references_dropped);
    } else if (a->nwaiting > 0 && node && cor_gc_node_has_dependents(node)) {
        if (!has_deleting_dependent(node)) {
            delete_send(a, "Foreground");
            return;
        }
        /* The dependent may be the owner that waits. Its deletion must not wait for this object. */
        cor_buf_reset(&a->patch);
        if (cor_gc_patch_unblock(&a->patch, a->latest) < 0)
            cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
        else
            cor_gc_attempt_patch(a, COR_PATCH_STRATEGIC, on_unblocked);
    } else if (deletion.has_orphan) {
        delete_send(a, "Orphan");
    } else {
        delete_send(a, deletion.has_foreground ? "Foreground" : "Background");
    }
}

/* Classifying (2.5.5). */

static struct cor_gc_identity owner_identity(const struct cor_gc_attempt *a, struct cor_str ns)
{
    const struct cor_gc_ref *ref = &a->ref;

    return (struct cor_gc_identity){ref->api_version, ref->kind, ns, ref->name, ref->uid};
}

static void note_dangling(struct cor_gc_attempt *a)
{
    a->uids[a->ndangling++] = a->ref.uid;
}

static void on_owner_read(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    struct cor_gc_deletion deletion;

    if (answer->error && !cor_gc_answer_is(answer, -COR_ENOTFOUND)) {
        cor_gc_attempt_fail_with(a, answer);
        return;
    }
    /* The reference names the owner by its name; one with another uid is another object. */
    if (answer->error || !cor_str_eq(cor_object_uid(answer->object), a->ref.uid)) {
        struct cor_gc_identity absent = owner_identity(a, a->req.at.ns);

        cor_gc_absent_add(&a->gc->graph, &absent);
        note_dangling(a);
    } else {
        deletion = cor_gc_deletion(answer->object);
        if (deletion.is_begun && deletion.has_foreground)
            a->uids[a->nrefs + a->nwaiting++] = a->ref.uid;
        else
            a->nsolid++;
    }
    delete_classify(a);
}

/* Is the owner that `a->ref` names known to be absent? Owners without a namespace first. */
static bool owner_is_absent(struct cor_gc_attempt *a, struct cor_str ns)
{
    struct cor_gc_identity in_cluster = owner_identity(a, COR_STR(""));
    struct cor_gc_identity in_namespace = owner_identity(a, ns);

    return cor_gc_absent_has(&a->gc->graph, &in_cluster) ||
           cor_gc_absent_has(&a->gc->graph, &in_namespace);
}

/* Continues with the references that were not looked up, until one needs a request or none is left.
 */
static void delete_classify(struct cor_gc_attempt *a)
{
    struct cor_str ns = cor_object_namespace(a->latest);

    while (cor_gc_refs_next(&a->refs, &a->ref)) {
        struct cor_gc_identity owner = owner_identity(a, ns);
        struct cor_resource_path path;
        struct cor_status why = {0};
        const struct cor_port_resource *resource;

        if (owner_is_absent(a, ns)) {
            note_dangling(a);
            continue;
        }
        resource = cor_gc_map_kind(a->gc, owner.api_version, owner.kind, &why);
        if (!resource)
            cor_gc_attempt_fail(a, why.err, &why);
        else if (resource->is_namespaced && ns.n == 0)
            cor_gc_attempt_done(a); /* cluster-scoped objects cannot refer to namespaced owners */
        else if (cor_gc_path(a->gc, &owner, &path, &why))
            cor_gc_attempt_read(a, &path, on_owner_read);
        cor_status_deinit(&why);
        return;
    }
    delete_decide(a);
}

/* Foreground deletion (2.7.1, 2.7.2). */

static void delete_waiting(struct cor_gc_attempt *a, struct cor_gc_node *node)
{
    size_t nblocking = 0;

    COR_DLIST_FOREACH(link, &node->dependents) {
        struct cor_gc_edge *edge = COR_CONTAINER_OF(link, struct cor_gc_edge, link);

        if (!edge->blocks)
            continue;
        nblocking++;
        if (!edge->dependent->deleting_dependents)
            cor_gc_graph_want_delete(&a->gc->graph, edge->dependent);
    }
    if (nblocking == 0) {
        cor_gc_remove_finalizer(a, COR_GC_FOREGROUND);
        return;
    }
    cor_gc_pump_soon(a->gc);
    cor_gc_attempt_done(a);
}

static void on_object_read(struct cor_gc_attempt *a, const struct cor_api_answer *answer)
{
    struct cor_gc_followed *f = cor_gc_followed_by_number(a->gc, a->number);
    struct cor_gc_refs_iter it;
    struct cor_gc_node *node;

    if (cor_gc_answer_is(answer, -COR_ENOTFOUND) ||
        (!answer->error && !cor_str_eq(cor_object_uid(answer->object), a->id.uid))) {
        bool again = cor_gc_graph_absent(&a->gc->graph, &a->id);

        cor_gc_pump_soon(a->gc);
        if (again)
            cor_gc_attempt_again(a);
        else
            cor_gc_attempt_done(a);
        return;
    }
    if (answer->error) {
        cor_gc_attempt_fail_with(a, answer);
        return;
    }
    a->latest = cor_object_ref(answer->object);
    /* A deletion after this answer removes the node, if the feed has been watching since the
     * request was sent: then the feed stands for the object from now on. */
    if (f && !f->is_listing && f->was_listed && f->origin.list == a->list) {
        if (cor_gc_graph_present(&a->gc->graph, &f->origin, a->latest) < 0) {
            cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
            return;
        }
        cor_gc_pump_soon(a->gc);
    }
    node = cor_gc_graph_find(&a->gc->graph, a->id.uid);
    if (!node) {
        cor_gc_attempt_done(a); /* A feed has shown its deletion meanwhile. */
        return;
    }
    if (node->deleting_dependents) {
        delete_waiting(a, node);
        return;
    }
    for (it = cor_gc_refs(a->latest); cor_gc_refs_next(&it, &a->ref);)
        a->nrefs++;
    if (a->nrefs == 0) {
        delete_settle(a);
        return;
    }
    a->uids = cor_calloc(2 * a->nrefs, sizeof(a->uids[0]));
    if (!a->uids) {
        cor_gc_attempt_fail(a, -COR_ENOMEM, NULL);
        return;
    }
    a->refs = cor_gc_refs(a->latest);
    delete_classify(a);
}

void cor_gc_delete(void *arg, struct cor_reconcile *rec)
{
    struct cor_gc_queue *q = arg;
    struct cor_gc *gc = q->gc;
    struct cor_gc_attempt *a = cor_gc_attempt_new(gc, rec);
    const struct cor_port_resource *resource;
    const struct cor_gc_node *node;
    struct cor_resource_path path;
    struct cor_status why = {0};

    if (!a)
        return;
    node = cor_gc_graph_find(&gc->graph, a->id.uid);
    /* A deletion ends by itself; the dependents are looked at when the object is gone. */
    if (node->being_deleted && !node->deleting_dependents && !node->is_virtual) {
        cor_gc_attempt_done(a);
        return;
    }
    resource = cor_gc_map_kind(gc, a->id.api_version, a->id.kind, &why);
    if (!resource) {
        cor_gc_attempt_fail(a, why.err, &why);
    } else if (resource->is_namespaced && a->id.ns.n == 0) {
        /* Only an object without a namespace can have named it so, which is an error of that
         * object. */
        cor_gc_attempt_done(a);
    } else if (cor_gc_path(gc, &a->id, &path, &why)) {
        struct cor_gc_followed *f = cor_gc_followed_of(gc, &resource->gvr);

        a->number = f ? f->origin.resource : COR_GC_RESOURCES_MAX;
        a->list = f ? f->origin.list : 0;
        cor_gc_attempt_read(a, &path, on_object_read);
    }
    cor_status_deinit(&why);
}
