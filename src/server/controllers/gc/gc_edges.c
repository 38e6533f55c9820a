/* Reads the owner references of an object into edges, and finds an edge by the uid of its owner.
 *
 * cor_gc_new_edges_read() copies the JSON and makes an edge for each reference. The graph compares
 * them with the edges of the node by a finder, and then gives them to the node. A finder scans up
 * to EDGES_FEW edges; with more edges it makes a map, so that an object with thousands of
 * references costs no quadratic work. The first edge of a uid leads to its repeats.
 * Failures: no memory; the node keeps its old edges then.  Thread: the graph's. */
#include "server/controllers/gc/gc_edges.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

#define EDGES_FEW 8 /* up to so many edges are searched without a map */

void cor_gc_finder_deinit(struct cor_gc_finder *f)
{
    cor_map_deinit(&f->map);
}

/* Of edges with one uid the first stays in the map: a repeat is put, and then the first again. */
int cor_gc_finder_init(struct cor_gc_finder *f, struct cor_gc_edge *edges, size_t n)
{
    *f = (struct cor_gc_finder){.edges = edges, .n = n};
    cor_map_init(&f->map, n);
    for (size_t i = 0; n > EDGES_FEW && i < n; i++) {
        void *first;

        if (cor_map_put(&f->map, edges[i].ref.uid, &edges[i], &first) < 0)
            return -COR_ENOMEM;
        if (first)
            (void)cor_map_put(&f->map, edges[i].ref.uid, first, NULL);
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

/* Reads each reference once; what they have in common with others is not known yet. */
static int read_refs(struct cor_gc_new_edges *e)
{
    struct cor_gc_refs_iter it = cor_gc_refs_of(cor_str(e->json, e->json_len));
    struct cor_gc_ref ref;
    size_t cap = 0;

    while (cor_gc_refs_next(&it, &ref)) {
        int r = COR_ARRAY_RESERVE(&e->edges, e->n, &cap, COR_ARRAY_NO_MAX);

        if (r < 0)
            return r;
        e->edges[e->n++] = (struct cor_gc_edge){.ref = ref};
    }
    return 0;
}

int cor_gc_new_edges_read(struct cor_gc_new_edges *e, struct cor_str owners,
                          struct cor_gc_node *dependent)
{
    *e = (struct cor_gc_new_edges){.json_len = owners.n};
    e->json = cor_strndup(owners.p, owners.n);
    if (!e->json || read_refs(e) < 0 || cor_gc_finder_init(&e->finder, e->edges, e->n) < 0)
        return -COR_ENOMEM;
    for (size_t i = 0; i < e->n; i++) {
        struct cor_gc_edge *edge = &e->edges[i];
        struct cor_gc_edge *first = cor_gc_finder_find(&e->finder, edge->ref.uid);

        edge->dependent = dependent;
        cor_dlist_init(&edge->link);
        edge->is_repeat = first != edge;
        first->blocks |= edge->ref.blocks;
        if (edge->is_repeat) {
            edge->next_repeat = first->next_repeat;
            first->next_repeat = edge;
        }
    }
    return 0;
}
