/* The graph of owners and dependents. An observed object goes through these steps:
 *
 *   1. Most objects have no owner references, no node, and are not being deleted: the uid is noted,
 *      and the object needs nothing else.
 *   2. Everything that needs memory is prepared: the node, its edges, virtual nodes for owners that
 *      are not in the graph, the observed identity. A failure undoes these and returns -COR_ENOMEM.
 *   3. The change is applied, which cannot fail: edges are linked, owners and dependents that may
 *      have to be deleted become due, transitions of the deletion are noticed.
 *   4. Owners that have lost their last dependent, and the node itself if it is no longer needed,
 *      are dropped.
 *
 * Numbers like 2.3.5 name lines of the controllers contract. */
#include "server/controllers/gc_graph.h"

#include <assert.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

#define EDGES_FEW 8 /* up to so many edges are searched without a map */

bool cor_gc_identity_eq(const struct cor_gc_identity *a, const struct cor_gc_identity *b)
{
    return cor_str_eq(a->uid, b->uid) && cor_str_eq(a->name, b->name) && cor_str_eq(a->ns, b->ns) &&
           cor_str_eq(a->kind, b->kind) && cor_str_eq(a->api_version, b->api_version);
}

int cor_gc_identity_copy(const struct cor_gc_identity *from, struct cor_gc_identity *ret,
                         char **ret_strings)
{
    struct cor_gc_identity copy = *from;
    struct cor_str *const strings[] = {&copy.api_version, &copy.kind, &copy.ns, &copy.name,
                                       &copy.uid};
    int r = cor_str_gather(strings, COR_ARRAY_LEN(strings), ret_strings);

    if (r == 0)
        *ret = copy;
    return r;
}

int cor_gc_identity_print(const struct cor_gc_identity *id, struct cor_buf *out)
{
    return cor_buf_addf(out, "[%.*s/%.*s, namespace: %.*s, name: %.*s, uid: %.*s]",
                        COR_STR_ARG(id->api_version), COR_STR_ARG(id->kind), COR_STR_ARG(id->ns),
                        COR_STR_ARG(id->name), COR_STR_ARG(id->uid));
}

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
    cor_map_remove(&g->nodes, node->id.uid);
    cor_dlist_remove(&node->due);
    cor_free(node->edges);
    cor_free(node->refs_json);
    cor_free(node->strings);
    cor_free(node);
}

static struct cor_gc_edge *edge_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_gc_edge, link);
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

static bool edges_have_blocking(const struct cor_gc_edge *edges, size_t n, struct cor_str uid)
{
    for (size_t i = 0; i < n; i++) {
        if (edges[i].ref.blocks && cor_str_eq(edges[i].ref.uid, uid))
            return true;
    }
    return false;
}

bool cor_gc_edge_blocks(const struct cor_gc_edge *edge)
{
    const struct cor_gc_node *node = edge->dependent;

    return edge->ref.blocks || edges_have_blocking(node->edges, node->nedges, edge->ref.uid);
}

/* Takes the edge out of its owner's list. The owner may be freed. */
static void edge_unlink(struct cor_gc_graph *g, struct cor_gc_edge *edge)
{
    struct cor_gc_node *owner = edge->owner;

    edge->owner = NULL;
    cor_dlist_remove(&edge->link);
    if (owner && owner != edge->dependent)
        node_drop_if_unneeded(g, owner);
}

/* Finds edges by the uid of their owner; of several it finds the first. */
struct edge_finder {
    struct cor_gc_edge *edges;
    size_t n;
    struct cor_map map; /* used for more than a few edges */
};

static void finder_deinit(struct edge_finder *f)
{
    cor_map_deinit(&f->map);
}

static int finder_init(struct edge_finder *f, struct cor_gc_edge *edges, size_t n)
{
    *f = (struct edge_finder){.edges = edges, .n = n};
    cor_map_init(&f->map, n);
    for (size_t i = 0; n > EDGES_FEW && i < n; i++) {
        if (!cor_map_peek(&f->map, edges[i].ref.uid) &&
            cor_map_put(&f->map, edges[i].ref.uid, &edges[i], NULL) < 0)
            return -COR_ENOMEM;
    }
    return 0;
}

static struct cor_gc_edge *finder_find(const struct edge_finder *f, struct cor_str uid)
{
    if (f->n > EDGES_FEW)
        return cor_map_peek(&f->map, uid);
    for (size_t i = 0; i < f->n; i++) {
        if (cor_str_eq(f->edges[i].ref.uid, uid))
            return &f->edges[i];
    }
    return NULL;
}

/* The references of one object's version, before they become the node's edges. */
struct new_edges {
    char *json;
    size_t json_len;
    struct cor_gc_edge *edges;
    size_t n;
    struct edge_finder finder;
};

static void new_edges_deinit(struct new_edges *e)
{
    finder_deinit(&e->finder);
    cor_free(e->edges);
    cor_free(e->json);
}

static int new_edges_read(struct new_edges *e, struct cor_str owners, enum cor_json_order order,
                          struct cor_gc_node *dependent)
{
    struct cor_gc_refs_iter it;
    struct cor_gc_ref ref;

    *e = (struct new_edges){.json_len = owners.n};
    e->json = cor_strndup(owners.p, owners.n);
    if (!e->json)
        return -COR_ENOMEM;
    for (it = cor_gc_refs_of(owners, order); cor_gc_refs_next(&it, &ref);)
        e->n++;
    e->edges = cor_calloc(e->n, sizeof(e->edges[0]));
    if (!e->edges) {
        e->n = 0;
        return -COR_ENOMEM;
    }
    it = cor_gc_refs_of(cor_str(e->json, owners.n), order);
    for (size_t i = 0; cor_gc_refs_next(&it, &e->edges[i].ref); i++) {
        e->edges[i].dependent = dependent;
        cor_dlist_init(&e->edges[i].link);
        if (i + 1 == e->n)
            break;
    }
    if (finder_init(&e->finder, e->edges, e->n) < 0)
        return -COR_ENOMEM;
    for (size_t i = 0; i < e->n; i++)
        e->edges[i].is_repeat = finder_find(&e->finder, e->edges[i].ref.uid) != &e->edges[i];
    return 0;
}

/* Rules about coordinates. */

static bool ref_matches(const struct cor_gc_ref *ref, const struct cor_gc_identity *id)
{
    return cor_str_eq(ref->uid, id->uid) && cor_str_eq(ref->name, id->name) &&
           cor_str_eq(ref->kind, id->kind) && cor_str_eq(ref->api_version, id->api_version);
}

/* Does the dependent name exactly this identity as its owner, and does it name the uid with other
 * coordinates? Both are possible when it has several references with one uid. */
static void dependent_compare(const struct cor_gc_node *dependent, const struct cor_gc_identity *id,
                              bool *ret_matches, bool *ret_differs)
{
    *ret_matches = *ret_differs = false;
    if (id->ns.n > 0 && !cor_str_eq(id->ns, dependent->id.ns)) {
        *ret_differs = true;
        return;
    }
    for (size_t i = 0; i < dependent->nedges; i++) {
        const struct cor_gc_ref *ref = &dependent->edges[i].ref;

        if (!cor_str_eq(ref->uid, id->uid))
            continue;
        if (ref_matches(ref, id))
            *ret_matches = true;
        else
            *ret_differs = true;
    }
}

/* Reports the dependent's first reference to this uid (2.9.1). */
static void report_wrong_namespace(struct cor_gc_graph *g, const struct cor_gc_node *dependent,
                                   struct cor_str uid)
{
    for (size_t i = 0; i < dependent->nedges; i++) {
        const struct cor_gc_ref *ref = &dependent->edges[i].ref;

        if (!cor_str_eq(ref->uid, uid))
            continue;
        if (g->on_wrong_namespace) {
            struct cor_gc_identity named = {ref->api_version, ref->kind, dependent->id.ns,
                                            ref->name, ref->uid};

            g->on_wrong_namespace(g->arg, &dependent->id, &named);
        }
        return;
    }
}

/* A virtual node's object was observed with this identity. Dependents that name another identity
 * are to be verified (2.3.4). */
static void verify_dependents(struct cor_gc_graph *g, struct cor_gc_node *node,
                              const struct cor_gc_identity *observed)
{
    COR_DLIST_FOREACH(link, &node->dependents) {
        struct cor_gc_node *dependent = edge_of(link)->dependent;
        bool matches, differs;

        dependent_compare(dependent, observed, &matches, &differs);
        if (!differs)
            continue;
        if (observed->ns.n > 0 && !cor_str_eq(observed->ns, dependent->id.ns))
            report_wrong_namespace(g, dependent, observed->uid);
        cor_gc_graph_want_delete(g, dependent);
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

/* Must the dependent be verified because of this reference, which is new? Upstream's order of the
 * questions (2.9.4). `is_new`: the owner's node was made for this reference. */
static bool reference_is_doubtful(struct cor_gc_graph *g, const struct cor_gc_edge *edge,
                                  bool is_new)
{
    const struct cor_gc_node *owner = edge->owner, *dependent = edge->dependent;

    if (lives_elsewhere(g, owner, dependent)) {
        report_wrong_namespace(g, dependent, edge->ref.uid);
        return true;
    }
    if (is_new)
        return false;
    if (owner->id.ns.n > 0 && !cor_str_eq(owner->id.ns, dependent->id.ns))
        return true;
    if (!ref_matches(&edge->ref, &owner->id))
        return true;
    /* The owner is virtual and was named by an object without a namespace. It may be of a
     * namespaced kind, and then this object's reference is the right one. */
    return owner->id.ns.n == 0 && dependent->id.ns.n > 0 && owner->is_virtual;
}

/* Observing. */

/* The change that one observation makes, with all of its memory. */
struct change {
    struct cor_gc_node *node;
    bool node_is_new;
    bool has_edges;         /* the references differ from those of the node */
    struct new_edges edges; /* valid with has_edges */
    struct edge_finder old; /* the node's edges; valid with has_edges */
    struct cor_gc_identity id;
    char *id_strings; /* of `id`; NULL: the node has this identity */
};

static void change_deinit(struct change *c)
{
    if (c->has_edges) {
        new_edges_deinit(&c->edges);
        finder_deinit(&c->old);
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

        if (edge->is_repeat || !cor_gc_uid_is_usable(ref->uid) || finder_find(&c->old, ref->uid))
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

static int change_prepare(struct cor_gc_graph *g, struct change *c, struct cor_str owners,
                          enum cor_json_order order)
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
    if (finder_init(&c->old, node->edges, node->nedges) < 0 ||
        new_edges_read(&c->edges, owners, order, node) < 0)
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
        struct cor_gc_node *owner = cor_gc_graph_find(g, uid);

        if (owner && old_edges[i].ref.blocks &&
            !edges_have_blocking(c->edges.edges, c->edges.n, uid))
            cor_gc_graph_want_delete(g, owner);
    }

    node->edges = COR_STEAL(c->edges.edges);
    node->nedges = c->edges.n;
    node->refs_json = COR_STEAL(c->edges.json);
    node->refs_len = c->edges.json_len;

    for (size_t i = 0; i < node->nedges; i++) {
        struct cor_gc_edge *edge = &node->edges[i];
        struct cor_gc_edge *old = edge->is_repeat ? NULL : finder_find(&c->old, edge->ref.uid);
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
                !ref_matches(&edge->ref, &edge->owner->id))
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
            is_doubtful = reference_is_doubtful(g, edge, is_new);
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
            cor_gc_graph_want_delete(g, edge_of(link)->dependent);
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

/* The node's object was observed: its coordinates are known now. */
static void node_set_observed(struct cor_gc_graph *g, struct change *c,
                              const struct cor_gc_origin *from)
{
    struct cor_gc_node *node = c->node;

    if (c->id_strings) {
        struct cor_str uid = node->id.uid;

        if (node->is_virtual)
            verify_dependents(g, node, &c->id);
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
    struct cor_str owners = cor_gc_owners(object), uid = cor_object_uid(object);
    struct cor_gc_deletion deletion = cor_gc_deletion(object);
    struct cor_gc_place place;
    int r;

    if (!cor_gc_uid_is_usable(uid))
        return 0;
    /* Without memory the uid is missing, which costs a warning event at most. */
    place.resource = from->resource;
    place.ns = cor_gc_namespace_hash(cor_object_namespace(object));
    (void)cor_gc_uids_put(&g->uids, cor_gc_uid(uid), place, from->list & 1);

    if (cor_str_eqz(owners, "[]"))
        owners = COR_STR("");
    c.node = cor_gc_graph_find(g, uid);
    if (!c.node && owners.n == 0 &&
        !(deletion.is_begun && (deletion.has_foreground || deletion.has_orphan)))
        return 0;

    c.id = identity_of(from, object);
    r = change_prepare(g, &c, owners, cor_object_order(object));
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
        edge_of(link)->owner = NULL;
        cor_gc_graph_want_delete(g, edge_of(link)->dependent);
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
        verify_dependents(g, node, &id);
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

/* Upstream's order of identities: kind, apiVersion, namespace, name; the uid is the same. */
static int identity_cmp(const struct cor_gc_identity *a, const struct cor_gc_identity *b)
{
    int order = cor_str_cmp(a->kind, b->kind);

    if (order == 0)
        order = cor_str_cmp(a->api_version, b->api_version);
    if (order == 0)
        order = cor_str_cmp(a->ns, b->ns);
    return order ? order : cor_str_cmp(a->name, b->name);
}

/* Finds the coordinates, other than the absent ones, by which dependents name the node: the first
 * after the absent ones, or else the first of all (2.3.8). False: there are none. */
static bool find_alternative(const struct cor_gc_node *node, const struct cor_gc_identity *absent,
                             struct cor_gc_identity *ret)
{
    struct cor_gc_identity first, next;
    bool has_first = false, has_next = false, is_cluster_scoped = absent->ns.n == 0;

    COR_DLIST_FOREACH(link, &node->dependents) {
        const struct cor_gc_node *dependent = edge_of(link)->dependent;

        for (size_t i = 0; i < dependent->nedges; i++) {
            const struct cor_gc_ref *ref = &dependent->edges[i].ref;
            struct cor_gc_identity id = {ref->api_version, ref->kind, dependent->id.ns, ref->name,
                                         ref->uid};

            if (!cor_str_eq(ref->uid, absent->uid))
                continue;
            /* The kind of the absent identity has no namespaces, so this one has none either. */
            if (is_cluster_scoped && cor_str_eq(id.kind, absent->kind) &&
                cor_str_eq(id.api_version, absent->api_version))
                id.ns = COR_STR("");
            if (identity_cmp(&id, absent) == 0)
                continue;
            if (!has_first || identity_cmp(&id, &first) < 0)
                first = id;
            has_first = true;
            if (identity_cmp(&id, absent) > 0 && (!has_next || identity_cmp(&id, &next) < 0)) {
                next = id;
                has_next = true;
            }
        }
    }
    if (has_first)
        *ret = has_next ? next : first;
    return has_first;
}

/* Makes the dependents due that name exactly this identity, which is absent. */
static void verify_matching(struct cor_gc_graph *g, struct cor_gc_node *node,
                            const struct cor_gc_identity *absent, size_t *ret_ndiffering)
{
    size_t nmatching = 0, ndiffering = 0;

    COR_DLIST_FOREACH(link, &node->dependents) {
        struct cor_gc_node *dependent = edge_of(link)->dependent;
        bool matches, differs;

        dependent_compare(dependent, absent, &matches, &differs);
        ndiffering += differs;
        if (matches) {
            nmatching++;
            cor_gc_graph_want_delete(g, dependent);
        }
    }
    if (nmatching > 0)
        cor_gc_absent_add(g, absent);
    *ret_ndiffering = ndiffering;
}

/* The node takes the next coordinates by which its dependents name it. Without memory it keeps
 * those it has, and they are looked up again. */
static void node_move_on(struct cor_gc_node *node, const struct cor_gc_identity *absent)
{
    struct cor_gc_identity next, copy;
    char *strings;

    if (!find_alternative(node, absent, &next) || cor_gc_identity_copy(&next, &copy, &strings) < 0)
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
        verify_matching(g, node, id, &ndiffering);
        return node->is_virtual;
    }
    if (!node->was_observed) {
        COR_DLIST_FOREACH(link, &node->dependents) {
            bool matches, differs;

            dependent_compare(edge_of(link)->dependent, id, &matches, &differs);
            ndiffering += differs;
        }
        if (ndiffering > 0) {
            verify_matching(g, node, id, &ndiffering);
            if (is_same)
                node_move_on(node, id);
            return true;
        }
    }
    node_remove(g, node, id);
    return false;
}
