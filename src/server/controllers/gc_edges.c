/* Reads the owner references of an object into edges, and finds an edge by the uid of its owner.
 *
 * cor_gc_new_edges_read() copies the JSON and makes an edge for each reference. The graph compares
 * them with the edges of the node by a finder, and then gives them to the node. A finder scans up
 * to EDGES_FEW edges; with more edges it makes a map, so that an object with thousands of
 * references costs no quadratic work.
 * Failures: no memory; the node keeps its old edges then.  Thread: the graph's. */
#include "server/controllers/gc_edges.h"

#include "base/err.h"
#include "base/mem.h"

#define EDGES_FEW 8 /* up to so many edges are searched without a map */

bool cor_gc_edges_have_blocking(const struct cor_gc_edge *edges, size_t n, struct cor_str uid)
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

    return edge->ref.blocks || cor_gc_edges_have_blocking(node->edges, node->nedges, edge->ref.uid);
}

void cor_gc_finder_deinit(struct cor_gc_finder *f)
{
    cor_map_deinit(&f->map);
}

int cor_gc_finder_init(struct cor_gc_finder *f, struct cor_gc_edge *edges, size_t n)
{
    *f = (struct cor_gc_finder){.edges = edges, .n = n};
    cor_map_init(&f->map, n);
    for (size_t i = 0; n > EDGES_FEW && i < n; i++) {
        if (!cor_map_peek(&f->map, edges[i].ref.uid) &&
            cor_map_put(&f->map, edges[i].ref.uid, &edges[i], NULL) < 0)
            return -COR_ENOMEM;
    }
    return 0;
}

struct cor_gc_edge *cor_gc_finder_find(const struct cor_gc_finder *f, struct cor_str uid)
{
    if (f->n > EDGES_FEW)
        return cor_map_peek(&f->map, uid);
    for (size_t i = 0; i < f->n; i++) {
        if (cor_str_eq(f->edges[i].ref.uid, uid))
            return &f->edges[i];
    }
    return NULL;
}

void cor_gc_new_edges_deinit(struct cor_gc_new_edges *e)
{
    cor_gc_finder_deinit(&e->finder);
    cor_free(e->edges);
    cor_free(e->json);
}

int cor_gc_new_edges_read(struct cor_gc_new_edges *e, struct cor_str owners,
                          enum cor_json_order order, struct cor_gc_node *dependent)
{
    struct cor_gc_refs_iter it;
    struct cor_gc_ref ref;

    *e = (struct cor_gc_new_edges){.json_len = owners.n};
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
    if (cor_gc_finder_init(&e->finder, e->edges, e->n) < 0)
        return -COR_ENOMEM;
    for (size_t i = 0; i < e->n; i++)
        e->edges[i].is_repeat = cor_gc_finder_find(&e->finder, e->edges[i].ref.uid) != &e->edges[i];
    return 0;
}
