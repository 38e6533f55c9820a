/* The rules about coordinates: several dependents may name one uid by different apiVersions, kinds,
 * names or namespaces, and at most one of them is right. These functions compare what the
 * references name with what was observed, or was found to be absent, and make the dependents due
 * that have to be verified. None of them needs memory or can fail.
 * Numbers like 2.9.1 name lines of the controllers contract.
 * Thread: the graph's.  Owner: gc_graph.c. */
#ifndef COR_SERVER_CONTROLLERS_GC_GC_COORDINATES_H
#define COR_SERVER_CONTROLLERS_GC_GC_COORDINATES_H

#include "server/controllers/gc/gc_graph.h"

/* Does the reference have the identity's uid, name, kind and apiVersion? */
bool cor_gc_ref_matches(const struct cor_gc_ref *ref, const struct cor_gc_identity *id);

/* Does the dependent name exactly this identity as the owner of the edge, and does it name the uid
 * with other coordinates? Both are possible when it has several references with one uid. */
void cor_gc_edge_compare(const struct cor_gc_edge *edge, const struct cor_gc_identity *id,
                         bool *ret_matches, bool *ret_differs);

/* A virtual node's object was observed with this identity. Dependents that name another identity
 * are to be verified (2.3.4). */
void cor_gc_verify_dependents(struct cor_gc_graph *g, struct cor_gc_node *node,
                              const struct cor_gc_identity *observed);

/* Must the dependent be verified because of this reference, which is new? Upstream's order of the
 * questions (2.9.4). `is_new`: the owner's node was made for this reference. */
bool cor_gc_reference_is_doubtful(struct cor_gc_graph *g, const struct cor_gc_edge *edge,
                                  bool is_new);

/* Finds the coordinates, other than the absent ones, by which dependents name the node: the first
 * after the absent ones, or else the first of all (2.3.8). False: there are none. */
bool cor_gc_find_alternative(const struct cor_gc_node *node, const struct cor_gc_identity *absent,
                             struct cor_gc_identity *ret);

/* Makes the dependents due that name exactly this identity, which is absent. */
void cor_gc_verify_matching(struct cor_gc_graph *g, struct cor_gc_node *node,
                            const struct cor_gc_identity *absent, size_t *ret_ndiffering);

#endif
