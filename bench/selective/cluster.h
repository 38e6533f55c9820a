/* The cluster that ./dev bench selective asks about, which grows from size to size: fifteen pods in
 * each namespace, thirty on each node, five events in each namespace. The pods of a node are spread
 * over sixty namespaces. Thread: the client's. */
#ifndef COR_BENCH_CLUSTER_H
#define COR_BENCH_CLUSTER_H

#include <stddef.h>

#include "base/buf.h"
#include "target.h"

#define CLUSTER_SPACE_PODS   15
#define CLUSTER_NODE_PODS    30
#define CLUSTER_SPACE_EVENTS 5
#define CLUSTER_BLOCK        900 /* a cluster has so many pods, or a multiple */
#define CLUSTER_SPENT        20  /* namespaces, "spent0" and so on, from which pods are deleted */
#define CLUSTER_GOING        5   /* pods that go from each of them; the usual number stays */

/* Makes the pods from number `from` to `to` - 1, with their namespaces and events, and in the
 * namespace "busy" an event for each of these namespaces. */
void cluster_grow(const struct target *t, size_t from, size_t to);

/* Makes the pods that the next deletions take: goes=yes, on node-of-those. */
void cluster_spend(const struct target *t);

static inline size_t cluster_spaces(size_t pods)
{
    return pods / CLUSTER_SPACE_PODS;
}

static inline size_t cluster_nodes(size_t pods)
{
    return pods / CLUSTER_NODE_PODS;
}

/* A request without a body. A # in `path` stands for the number of a namespace or of a node. */
struct cluster_ask {
    const char *method, *path, *accept;
    size_t n; /* numbers are below it */
};
void cluster_write_ask(struct cor_buf *out, size_t i, void *arg);

#endif
