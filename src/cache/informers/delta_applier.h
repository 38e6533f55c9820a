/* Applies the changes of a queue to an indexer and publishes each: client-go's processDeltas. The
 * changes of a key come in order; those that were applied before memory ran out are not applied
 * again.
 * Thread: the queue's consumer.  Owner: the informer that embeds it. */
#ifndef COR_CACHE_DELTA_APPLIER_H
#define COR_CACHE_DELTA_APPLIER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "cache/informers/handler_fns.h"
#include "cache/queues/delta_fifo.h"
#include "cache/store/indexer.h"

struct cor_delta_applier;

/* Called around the change of the indexer, so that a change is published if and only if it was
 * made. */
struct cor_delta_applier_ops {
    /* Before it: all that may fail. 0 or negative: the indexer stays as it is. May be NULL. */
    int (*prepare)(struct cor_delta_applier *a, const struct cor_change *change);
    /* After it. */
    void (*publish)(struct cor_delta_applier *a, const struct cor_change *change);
    /* The indexer refused the change: drops what was prepared. May be NULL. */
    void (*drop)(struct cor_delta_applier *a);
};

struct cor_delta_applier {
    const struct cor_delta_applier_ops *ops;
    struct cor_indexer *indexer;
    struct cor_buf key; /* of the object at hand */
    size_t napplied;    /* of the oldest key's changes, when memory ran out amid them */
};

void cor_delta_applier_init(struct cor_delta_applier *a, const struct cor_delta_applier_ops *ops,
                            struct cor_indexer *indexer);
void cor_delta_applier_deinit(struct cor_delta_applier *a); /* safe on a zeroed struct */

/* The body of a cor_delta_fn. Stops at the first change that fails: -COR_ENOMEM, what an index
 * function returned, or what prepare did. */
int cor_delta_applier_run(struct cor_delta_applier *a, struct cor_str key,
                          const struct cor_delta *deltas, size_t n, bool in_initial_list);

#endif
