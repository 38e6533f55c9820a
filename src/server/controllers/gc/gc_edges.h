/* The references of objects as edges of the garbage collector's graph: reading them, and finding
 * one by the uid of its owner.
 * Cost: up to 8 edges are compared one by one; more are found in a map.
 * Thread: the graph's.  Owner: gc_graph.c. */
#ifndef COR_SERVER_CONTROLLERS_GC_GC_EDGES_H
#define COR_SERVER_CONTROLLERS_GC_GC_EDGES_H

#include "server/controllers/gc/gc_graph.h"

static inline struct cor_gc_edge *cor_gc_edge_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_gc_edge, link);
}

/* Finds edges by the uid of their owner; of several it finds the first. */
struct cor_gc_finder {
    struct cor_gc_edge *edges;
    size_t n;
    struct cor_map map; /* used for more than a few edges */
};

/* `edges` must stay valid. 0, or -COR_ENOMEM; the deinit is needed after both. */
int cor_gc_finder_init(struct cor_gc_finder *f, struct cor_gc_edge *edges, size_t n);
void cor_gc_finder_deinit(struct cor_gc_finder *f);

/* NULL: there is none. */
struct cor_gc_edge *cor_gc_finder_find(const struct cor_gc_finder *f, struct cor_str uid);

/* The references of one object's version, before they become the node's edges. */
struct cor_gc_new_edges {
    char *json;
    size_t json_len;
    struct cor_gc_edge *edges;
    size_t n;
    struct cor_gc_finder finder;
};

/* Reads the list metadata.ownerReferences. The edges have no owners yet. 0, or -COR_ENOMEM; the
 * deinit is needed after both. */
int cor_gc_new_edges_read(struct cor_gc_new_edges *e, struct cor_str owners,
                          struct cor_gc_node *dependent);
void cor_gc_new_edges_deinit(struct cor_gc_new_edges *e);

#endif
