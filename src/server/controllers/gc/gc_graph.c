/* The graph of owners and dependents. An observed object goes through these steps:
 *
 *   1. Most objects have no owner references, no node, and are not being deleted: the uid is noted,
 *      and the object needs nothing else.
 *      Objects of aggregated servers are not noted: that would cost our memory for their word, and
 *      its lack costs a warning at most.
 *   2. Everything that needs memory is prepared: the node, its edges, virtual nodes for owners that
 *      are not in the graph, the observed identity. A failure undoes these and returns -COR_ENOMEM.
 *   3. The change is applied, which cannot fail: edges are linked, owners and dependents that may
 *      have to be deleted become due, transitions of the deletion are noticed.
 *   4. Owners that have lost their last dependent, and the node itself if it is no longer needed,
 *      are dropped.
 *
 * Numbers like 2.3.5 name lines of the controllers contract. */
#include "server/controllers/gc/gc_graph.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "server/controllers/gc/gc_coordinates.h"
#include "server/controllers/gc/gc_edges.h"

#define NODE_TEXTS 512 /* bytes: an identity, and the places in the map */

void cor_gc_graph_init(struct cor_gc_graph *g)
{
    *g = (struct cor_gc_graph){0};
    cor_map_init(&g->nodes, COR_GC_NODES_MAX);
    cor_dlist_init(&g->due);
    cor_lru_init(&g->absent, COR_GC_ABSENT_MAX, cor_gc_absent_drop);
}

/* Nodes. */

/* 0, or -COR_ENOMEM. */
static int node_new(struct cor_gc_graph *g, const struct cor_gc_identity *id,
                    struct cor_gc_node **ret_node)
{
    struct cor_gc_node *node = cor_calloc(1, sizeof(*node) + id->uid.n);

    if (!node)
        return -COR_ENOMEM;
    if (cor_gc_identity_copy(id, &node->id, &node->strings) < 0) {
        cor_free(node);
        return -COR_ENOMEM;
    }
    memcpy(node->uid, id->uid.p, id->uid.n);
    node->id.uid = cor_str(node->uid, id->uid.n);
    cor_dlist_init(&node->dependents);
    cor_dlist_init(&node->due);
    if (cor_map_put(&g->nodes, node->id.uid, node, NULL) < 0) {
        cor_free(node->strings);
        cor_free(node);
        return -COR_ENOMEM;
    }
    *ret_node = node;
    return 0;
}

/* Frees a node that is in no list of another node. */
static void node_free(struct cor_gc_graph *g, struct cor_gc_node *node)
{
    assert(cor_dlist_empty(&node->dependents));
    g->remote_bytes -= node->remote_bytes;
    cor_map_remove(&g->nodes, node->id.uid);
    cor_dlist_remove(&node->due);
    cor_free(node->edges);
    cor_free(node->refs_json);
    cor_free(node->strings);
    cor_free(node);
}

void cor_gc_graph_deinit(struct cor_gc_graph *g)
{
    COR_MAP_FOREACH(it, &g->nodes) {
        struct cor_gc_node *node = it.value;

        while (cor_dlist_pop(&node->dependents))
            ;
        cor_dlist_remove(&node->due);
    }
    COR_MAP_FOREACH(it, &g->nodes)
        node_free(g, it.value);
    cor_map_deinit(&g->nodes);
    cor_lru_deinit(&g->absent);
    cor_gc_uids_deinit(&g->uids);
}

struct cor_gc_node *cor_gc_graph_find(const struct cor_gc_graph *g, struct cor_str uid)
{
    return cor_map_peek(&g->nodes, uid);
}

static void node_make_due(struct cor_gc_graph *g, struct cor_gc_node *node)
{
    if (cor_dlist_empty(&node->due))
        cor_dlist_push(&g->due, &node->due);
}

void cor_gc_graph_want_delete(struct cor_gc_graph *g, struct cor_gc_node *node)
{
    node->wants_delete = true;
    node_make_due(g, node);
}

void cor_gc_graph_taken(struct cor_gc_graph *g, struct cor_gc_node *node)
{
    (void)g;
    node->wants_delete = node->wants_orphan = false;
    cor_dlist_remove(&node->due);
}

/* Frees the node if nothing needs it: see "What is kept" in the header. */
static void node_drop_if_unneeded(struct cor_gc_graph *g, struct cor_gc_node *node)
{
    if (cor_gc_node_has_dependents(node) || node->nedges > 0)
        return;
    if (node->is_virtual || !(node->had_foreground || node->had_orphan))
        node_free(g, node);
}

/* Edges. */

/* Takes the edge out of its owner's list. The owner may be freed. */
static void edge_unlink(struct cor_gc_graph *g, struct cor_gc_edge *edge)
{
    struct cor_gc_node *owner = edge->owner;

    edge->owner = NULL;
    cor_dlist_remove(&edge->link);
    if (owner && owner != edge->dependent)
        node_drop_if_unneeded(g, owner);
}

/* Observing. */

/* The change that one observation makes, with all of its memory. */
struct change {
    struct cor_gc_node *node;
    bool node_is_new;
    bool has_edges;                /* the references differ from those of the node */
    struct cor_gc_new_edges edges; /* valid with has_edges */
    struct cor_gc_finder old;      /* the node's edges; valid with has_edges */
    struct cor_gc_identity id;
    char *id_strings; /* of `id`; NULL: the node has this identity */
};

static void change_deinit(struct change *c)
{
    if (c->has_edges) {
        cor_gc_new_edges_deinit(&c->edges);
        cor_gc_finder_deinit(&c->old);
    }
    cor_free(c->id_strings);
}

/* Undoes what change_prepare() put into the graph. */
static void change_abandon(struct cor_gc_graph *g, struct change *c)
{
    for (size_t i = 0; c->has_edges && i < c->edges.n; i++) {
        struct cor_gc_node *owner = c->edges.edges[i].owner;

        if (owner && owner != c->node)
            node_drop_if_unneeded(g, owner);
    }
    if (c->node_is_new)
        node_free(g, c->node);
}

/* Finds or makes the owner of each reference that the node did not have. */
static int change_find_owners(struct cor_gc_graph *g, struct change *c)
{
    for (size_t i = 0; i < c->edges.n; i++) {
        struct cor_gc_edge *edge = &c->edges.edges[i];
        const struct cor_gc_ref *ref = &edge->ref;
        struct cor_gc_identity named = {ref->api_version, ref->kind, c->id.ns, ref->name, ref->uid};
        struct cor_gc_node *owner;

        if (edge->is_repeat || !cor_gc_uid_is_usable(ref->uid) ||
            cor_gc_finder_find(&c->old, ref->uid))
            continue;
        owner = cor_gc_graph_find(g, ref->uid);
        if (!owner) {
            if (node_new(g, &named, &owner) < 0)
                return -COR_ENOMEM;
            owner->is_virtual = true;
        }
        edge->owner = owner;
    }
    return 0;
}

static int change_prepare(struct cor_gc_graph *g, struct change *c, struct cor_str owners)
{
    struct cor_gc_node *node = c->node;
    struct cor_gc_identity id = c->id;

    if (!node) {
        if (node_new(g, &id, &node) < 0)
            return -COR_ENOMEM;
        c->node = node;
        c->node_is_new = true;
    } else if (!cor_gc_identity_eq(&node->id, &id) &&
               cor_gc_identity_copy(&id, &c->id, &c->id_strings) < 0) {
        return -COR_ENOMEM;
    }
    if (cor_str_eq(owners, cor_str(node->refs_json, node->refs_len)))
        return 0;
    c->has_edges = true;
    if (cor_gc_finder_init(&c->old, node->edges, node->nedges) < 0 ||
        cor_gc_new_edges_read(&c->edges, owners, node) < 0)
        return -COR_ENOMEM;
    return change_find_owners(g, c);
}

/* Gives the node its new references (2.3.5, 2.3.6). */
static void change_apply_edges(struct cor_gc_graph *g, struct change *c)
{
    struct cor_gc_node *node = c->node;
    struct cor_gc_edge *old_edges = node->edges;
    char *old_json = node->refs_json; /* The texts of the old edges. */
    size_t nold = node->nedges;
    bool is_doubtful = false;

    /* An owner that a reference of the old version blocked, and that none of the new version
     * blocks, may be able to go. */
    for (size_t i = 0; i < nold; i++) {
        struct cor_str uid = old_edges[i].ref.uid;
        const struct cor_gc_edge *now;
        struct cor_gc_node *owner;

        if (!old_edges[i].blocks)
            continue;
        now = cor_gc_finder_find(&c->edges.finder, uid);
        owner = now && now->blocks ? NULL : cor_gc_graph_find(g, uid);
        if (owner)
            cor_gc_graph_want_delete(g, owner);
    }

    node->edges = COR_STEAL(c->edges.edges);
    node->nedges = c->edges.n;
    node->refs_json = COR_STEAL(c->edges.json);
    node->refs_len = c->edges.json_len;

    for (size_t i = 0; i < node->nedges; i++) {
        struct cor_gc_edge *edge = &node->edges[i];
        struct cor_gc_edge *old =
            edge->is_repeat ? NULL : cor_gc_finder_find(&c->old, edge->ref.uid);
        bool is_new;

        if (edge->is_repeat)
            continue;
        if (old) {
            /* The owner keeps its dependent. */
            edge->owner = old->owner;
            if (edge->owner)
                cor_dlist_push(&edge->owner->dependents, &edge->link);
            /* An attempt may have ended because of another reference (2.9.5). */
            if (!edge->owner || edge->owner->is_virtual ||
                !cor_gc_ref_matches(&edge->ref, &edge->owner->id))
                is_doubtful = true;
            continue;
        }
        if (!edge->owner) {
            is_doubtful = true; /* No object has this uid, so the reference is wrong. */
            continue;
        }
        is_new = edge->owner->is_virtual && !cor_gc_node_has_dependents(edge->owner) &&
                 edge->owner->nedges == 0;
        cor_dlist_push(&edge->owner->dependents, &edge->link);
        if (is_new)
            cor_gc_graph_want_delete(g, edge->owner);
        if (!is_doubtful)
            is_doubtful = cor_gc_reference_is_doubtful(g, edge, is_new);
    }
    if (is_doubtful)
        cor_gc_graph_want_delete(g, node);

    for (size_t i = 0; i < nold; i++)
        edge_unlink(g, &old_edges[i]);
    cor_free(old_edges);
    cor_free(old_json);
}

/* Notices that a deletion begins to wait for the collector (2.4). When both finalizers are there,
 * the dependents are orphaned first. */
static void node_process_transitions(struct cor_gc_graph *g, struct cor_gc_node *node,
                                     struct cor_gc_deletion deletion)
{
    bool orphans = deletion.is_begun && deletion.has_orphan;
    bool waits = deletion.is_begun && deletion.has_foreground && !orphans;

    if (orphans && !node->had_orphan) {
        node->wants_orphan = true;
        node_make_due(g, node);
    }
    if (waits && !node->had_foreground) {
        node->deleting_dependents = true;
        COR_DLIST_FOREACH(link, &node->dependents)
            cor_gc_graph_want_delete(g, cor_gc_edge_of(link)->dependent);
        cor_gc_graph_want_delete(g, node);
    }
    node->had_orphan = orphans;
    node->had_foreground = waits;
}

static struct cor_gc_identity identity_of(const struct cor_gc_origin *from,
                                          const struct cor_object *object)
{
    return (struct cor_gc_identity){from->api_version, from->kind, cor_object_namespace(object),
                                    cor_object_name(object), cor_object_uid(object)};
}

/* What a node that an aggregated server shows counts for: with its texts, and with the owners that
 * only its references name. */
static size_t remote_bytes(const struct cor_gc_origin *from, const struct change *c)
{
    size_t nedges = c->has_edges ? c->edges.n : c->node->nedges;
    size_t refs_len = c->has_edges ? c->edges.json_len : c->node->refs_len;

    if (!from->is_remote)
        return 0;
    return sizeof(struct cor_gc_node) + NODE_TEXTS + refs_len +
           nedges * (sizeof(struct cor_gc_edge) + sizeof(struct cor_gc_node) + NODE_TEXTS);
}

/* The node's object was observed: its coordinates are known now. */
static void node_set_observed(struct cor_gc_graph *g, struct change *c,
                              const struct cor_gc_origin *from)
{
    struct cor_gc_node *node = c->node;

    g->remote_bytes -= node->remote_bytes;
    node->remote_bytes = remote_bytes(from, c);
    g->remote_bytes += node->remote_bytes;

    if (c->id_strings) {
        struct cor_str uid = node->id.uid;

        if (node->is_virtual)
            cor_gc_verify_dependents(g, node, &c->id);
        cor_free(node->strings);
        node->strings = COR_STEAL(c->id_strings);
        node->id = c->id;
        node->id.uid = uid;
    }
    node->is_virtual = false;
    node->was_observed = true;
    node->resource = from->resource;
    node->list = from->list;
}

int cor_gc_graph_observe(struct cor_gc_graph *g, const struct cor_gc_origin *from,
                         const struct cor_object *object)
{
    COR_CLEANUP(change_deinit) struct change c = {0};
    struct cor_str owners = cor_object_owners(object), uid = cor_object_uid(object);
    struct cor_gc_deletion deletion = cor_gc_deletion(object);
    struct cor_gc_place place;
    int r;

    if (!cor_gc_uid_is_usable(uid))
        return 0;
    /* Without memory the uid is missing, which costs a warning event at most. */
    place.resource = from->resource;
    place.ns = cor_gc_namespace_hash(cor_object_namespace(object));
    if (!from->is_remote)
        (void)cor_gc_uids_put(&g->uids, cor_gc_uid(uid), place, from->list & 1);

    if (cor_str_eqz(owners, "[]") || (from->is_remote && owners.n > COR_GC_REMOTE_REFS_MAX))
        owners = COR_STR("");
    c.node = cor_gc_graph_find(g, uid);
    if (!c.node && owners.n == 0 &&
        !(deletion.is_begun && (deletion.has_foreground || deletion.has_orphan)))
        return 0;

    c.id = identity_of(from, object);
    r = change_prepare(g, &c, owners);
    if (r == 0 && from->is_remote &&
        g->remote_bytes - c.node->remote_bytes + remote_bytes(from, &c) > COR_GC_REMOTE_BYTES_MAX)
        r = -COR_ETOOBIG;
    if (r < 0) {
        change_abandon(g, &c);
        return r;
    }
    node_set_observed(g, &c, from);
    if (c.has_edges)
        change_apply_edges(g, &c);
    if (deletion.is_begun)
        c.node->being_deleted = true;
    node_process_transitions(g, c.node, deletion);
    node_drop_if_unneeded(g, c.node);
    return 0;
}

int cor_gc_graph_present(struct cor_gc_graph *g, const struct cor_gc_origin *from,
                         const struct cor_object *object)
{
    COR_CLEANUP(change_deinit) struct change c = {0};
    struct cor_gc_identity id = identity_of(from, object);

    c.node = cor_gc_graph_find(g, id.uid);
    if (!c.node || !c.node->is_virtual)
        return 0;
    if (!cor_gc_identity_eq(&c.node->id, &id) &&
        cor_gc_identity_copy(&id, &c.id, &c.id_strings) < 0)
        return -COR_ENOMEM;
    node_set_observed(g, &c, from);
    return 0;
}

/* Removing. */

/* Removes the node of an object that does not exist (2.3.7). */
static void node_remove(struct cor_gc_graph *g, struct cor_gc_node *node,
                        const struct cor_gc_identity *absent)
{
    struct cor_dlist *link;

    for (size_t i = 0; i < node->nedges; i++) {
        struct cor_gc_node *owner = node->edges[i].owner;

        if (owner && owner->deleting_dependents && owner != node)
            cor_gc_graph_want_delete(g, owner);
        edge_unlink(g, &node->edges[i]);
    }
    if (cor_gc_node_has_dependents(node))
        cor_gc_absent_add(g, absent);
    while ((link = cor_dlist_pop(&node->dependents))) {
        cor_gc_edge_of(link)->owner = NULL;
        cor_gc_graph_want_delete(g, cor_gc_edge_of(link)->dependent);
    }
    node_free(g, node);
}

void cor_gc_graph_forget(struct cor_gc_graph *g, const struct cor_gc_origin *from,
                         const struct cor_object *object)
{
    struct cor_gc_identity id = identity_of(from, object);
    struct cor_gc_node *node = cor_gc_graph_find(g, id.uid);

    cor_gc_uids_remove(&g->uids, cor_gc_uid(id.uid));
    if (!node)
        return;
    if (node->is_virtual && !cor_gc_identity_eq(&node->id, &id))
        cor_gc_verify_dependents(g, node, &id);
    node_remove(g, node, &id);
}

void cor_gc_graph_relisted(struct cor_gc_graph *g, const struct cor_gc_origin *from)
{
    cor_gc_uids_sweep(&g->uids, from->resource, from->list & 1);
    COR_MAP_FOREACH(it, &g->nodes) {
        struct cor_gc_node *node = it.value;

        if (node->is_virtual || node->resource != from->resource || node->list == from->list)
            continue;
        node->is_virtual = true;
        cor_gc_graph_want_delete(g, node);
    }
}

/* The node takes the next coordinates by which its dependents name it. Without memory it keeps
 * those it has, and they are looked up again. */
static void node_move_on(struct cor_gc_node *node, const struct cor_gc_identity *absent)
{
    struct cor_gc_identity next, copy;
    char *strings;

    if (!cor_gc_find_alternative(node, absent, &next) ||
        cor_gc_identity_copy(&next, &copy, &strings) < 0)
        return;
    cor_free(node->strings);
    node->strings = strings;
    copy.uid = node->id.uid;
    node->id = copy;
}

bool cor_gc_graph_absent(struct cor_gc_graph *g, const struct cor_gc_identity *id)
{
    struct cor_gc_node *node = cor_gc_graph_find(g, id->uid);
    bool is_same;
    size_t ndiffering = 0;

    if (!node)
        return false;
    is_same = cor_gc_identity_eq(&node->id, id);
    if (node->was_observed && !is_same) {
        cor_gc_verify_matching(g, node, id, &ndiffering);
        return node->is_virtual;
    }
    if (!node->was_observed) {
        COR_DLIST_FOREACH(link, &node->dependents) {
            bool matches, differs;

            cor_gc_edge_compare(cor_gc_edge_of(link), id, &matches, &differs);
            ndiffering += differs;
        }
        if (ndiffering > 0) {
            cor_gc_verify_matching(g, node, id, &ndiffering);
            if (is_same)
                node_move_on(node, id);
            return true;
        }
    }
    node_remove(g, node, id);
    return false;
}
