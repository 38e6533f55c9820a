/* clang-format off */
/* The graph of owners and dependents that the garbage collector works on. It has no I/O and no
 * time: changes of objects and results of look-ups go in, and nodes that need work come out.
 *
 *   feeds: objects of each resource ──► observe, forget, relist ──┐
 *                                                                 ├──► nodes, edges ──► due nodes
 *   attempts: "the owner is absent", "the owner is present" ──────┘                        │
 *                                                attempt-to-delete, attempt-to-orphan ◄────┘
 *
 * What is kept. A node exists only for
 *   - an object that has owner references,
 *   - an object that another object names as its owner, whether it exists or not,
 *   - an object whose deletion waits for the collector: it has the finalizer foregroundDeletion or
 *     orphan.
 * For all other objects there is an entry of gc_uids.h: 35 bytes at most. The entry is needed for
 * one rule only: a warning when an owner is in another namespace.
 *
 * A node is virtual while nothing but references is known about its object. An attempt looks the
 * object up. An object that was observed before the first reference to it is such a virtual node,
 * too: the look-up finds it, and cor_gc_graph_present() makes the node real. Upstream keeps a node
 * for every object instead, and does not need this look-up.
 *
 * Cost: each call visits the references of one object, or the dependents of one owner. All other
 * work is a look-up in a hash map. Only cor_gc_graph_relisted() visits all nodes.
 * Maximum: as many nodes as objects and references exist; the absent-owner cache has 500 entries.
 * What an aggregated server shows costs it nothing, so its nodes have no more than
 * COR_GC_REMOTE_BYTES_MAX; an object of it with references over COR_GC_REMOTE_REFS_MAX has no owners.
 * Owner: whoever embeds it.  Thread: one at a time. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_GC_GC_GRAPH_H
#define COR_SERVER_CONTROLLERS_GC_GC_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/limits.h"
#include "base/lru.h"
#include "base/map.h"
#include "meta/object/object.h"
#include "server/controllers/gc/gc_identity.h"
#include "server/controllers/gc/gc_refs.h"
#include "server/controllers/gc/gc_uids.h"

#define COR_GC_ABSENT_MAX 500
#define COR_GC_NODES_MAX  (1u << 28)

/* A reference of a node to an owner. */
struct cor_gc_edge {
    struct cor_dlist link; /* in the owner's `dependents`; in no list without an owner */
    struct cor_gc_node *dependent;
    struct cor_gc_node *owner; /* NULL: the owner is no longer in the graph, or its uid is unusable,
                                  or is_repeat */
    struct cor_gc_ref ref;     /* its texts are in the dependent's `refs_json` */
    struct cor_gc_edge *next_repeat; /* another reference of the node with this uid; NULL: none */
    bool is_repeat; /* an earlier reference of the node has the same uid, and has the edge */
    bool blocks;    /* this reference, or a repeat of it, blocks the deletion of the owner */
};

struct cor_gc_node {
    struct cor_gc_identity id; /* its texts but the uid are in `strings` */
    char *strings;
    struct cor_gc_edge *edges; /* all references, in their order */
    size_t nedges;
    char *refs_json;             /* metadata.ownerReferences of the last version; NULL: none */
    size_t refs_len;             /* of it */
    struct cor_dlist dependents; /* edges */
    struct cor_dlist due;        /* in the graph's `due` */
    uint32_t resource;           /* whose feed has observed it, when it is not virtual */
    bool is_virtual;             /* no feed has shown the object yet */
    bool was_observed;           /* its coordinates are known, also when it is virtual again */
    bool being_deleted;          /* never cleared */
    bool deleting_dependents;    /* never cleared */
    /* The last version was being deleted with this finalizer. A transition is a change of these. */
    bool had_foreground, had_orphan;
    bool wants_delete, wants_orphan; /* which attempts it is due for */
    uint32_t list;                   /* the last list of its resource before it was seen */
    size_t remote_bytes;             /* what it counts for in the graph's `remote_bytes` */
    char uid[];                      /* the key of the graph's map */
};

struct cor_gc_graph {
    struct cor_map nodes; /* by uid */
    struct cor_dlist due; /* nodes */
    struct cor_lru absent;
    struct cor_gc_uids uids; /* not of aggregated servers */
    size_t remote_bytes;     /* of nodes that such servers have shown, with their references */
    /* The dependent names an owner that exists in another namespace. `named` is the owner as the
     * reference names it, in the dependent's namespace. May be NULL. */
    void (*on_wrong_namespace)(void *arg, const struct cor_gc_identity *dependent,
                               const struct cor_gc_identity *named);
    void *arg;
};

/* Cannot fail. */
void cor_gc_graph_init(struct cor_gc_graph *g);
void cor_gc_graph_deinit(struct cor_gc_graph *g);

/* Where an object comes from. */
struct cor_gc_origin {
    struct cor_str api_version, kind; /* of the resource's feed */
    uint32_t resource;                /* its number, below COR_GC_RESOURCES_MAX */
    uint32_t list;                    /* of the resource: 1 for the first, then 2 … */
    bool is_remote;                   /* an aggregated server's */
};

/* A feed shows an object: new, changed, or from a list. 0, or -COR_ENOMEM, -COR_ETOOBIG (beyond
 * COR_GC_REMOTE_BYTES_MAX): the graph is as before; the feed must show the object again. */
int cor_gc_graph_observe(struct cor_gc_graph *g, const struct cor_gc_origin *from,
                         const struct cor_object *object);

/* A feed shows that the object was deleted. Cannot fail. */
void cor_gc_graph_forget(struct cor_gc_graph *g, const struct cor_gc_origin *from,
                         const struct cor_object *object);

/* The list `from->list` of the resource is complete. Nodes of the
 * resource that were not in the list become virtual and due: only a look-up decides that they are
 * absent. Cannot fail. */
void cor_gc_graph_relisted(struct cor_gc_graph *g, const struct cor_gc_origin *from);

/* An attempt has looked the object up, and there is no object with this identity: upstream's
 * virtual delete event. True: the node has moved on to other coordinates that its dependents name,
 * and is to be attempted again, with the delay of a failure. `id` must not point into the node. */
bool cor_gc_graph_absent(struct cor_gc_graph *g, const struct cor_gc_identity *id);

/* An attempt has looked up a virtual node and found its object, and the feed `from` will show later
 * changes of it: the node becomes real. `object` is the answer. 0, or -COR_ENOMEM: the node stays
 * virtual. */
int cor_gc_graph_present(struct cor_gc_graph *g, const struct cor_gc_origin *from,
                         const struct cor_object *object);

/* NULL: there is none. */
struct cor_gc_node *cor_gc_graph_find(const struct cor_gc_graph *g, struct cor_str uid);

/* The node that has been due for longest, with its wants; NULL: none. The node stays due until
 * cor_gc_graph_taken(). */
static inline struct cor_gc_node *cor_gc_graph_due(const struct cor_gc_graph *g)
{
    return cor_dlist_empty(&g->due) ? NULL : COR_CONTAINER_OF(g->due.next, struct cor_gc_node, due);
}
void cor_gc_graph_taken(struct cor_gc_graph *g, struct cor_gc_node *node);

/* Makes the node due for an attempt-to-delete. */
void cor_gc_graph_want_delete(struct cor_gc_graph *g, struct cor_gc_node *node);

static inline bool cor_gc_node_has_dependents(const struct cor_gc_node *node)
{
    return !cor_dlist_empty(&node->dependents);
}

/* Frees an entry of the cache. */
void cor_gc_absent_drop(struct cor_lru_link *take);

/* The absent-owner cache: identities that do not exist. Uids are never used again, so entries need
 * no expiry. Without memory an entry is not added. */
void cor_gc_absent_add(struct cor_gc_graph *g, const struct cor_gc_identity *id);
bool cor_gc_absent_has(struct cor_gc_graph *g, const struct cor_gc_identity *id);

#endif
