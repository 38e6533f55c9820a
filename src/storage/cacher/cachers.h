/* The cachers: the watch caches of all resources of a server, with the one feed of the whole store
 * that keeps them up to date, the one revision up to which all of them are complete, and the one
 * byte budget for their history.
 *
 * The callbacks of the feed run on the engine thread, which is the only writer of all watch caches;
 * while there is no feed, the home loop is. For each batch the writer applies the changes,
 * publishes the revision and mails the loops; then the engine acknowledges the writes.
 * docs/internals/cacher.md shows why a cached read with resourceVersion "" is therefore
 * linearizable. Thread: the home loop's, unless a function says otherwise.  Owner: the server. */
#ifndef COR_STORAGE_CACHER_CACHERS_H
#define COR_STORAGE_CACHER_CACHERS_H

#include <stddef.h>
#include <stdint.h>

#include "meta/status/revision.h"

struct cor_cachers;
struct cor_clock;
struct cor_engine;
struct cor_loop;
struct cor_offload;

struct cor_cachers_opts {
    struct cor_engine *engine;
    struct cor_loop *const *loops; /* the loops that read; the first is the home loop, which also
                                    * fills the caches and has the timer */
    size_t nloops;
    size_t bytes_max; /* for all windows, kept roots, what snapshots alone hold, and the numbers
                       * that are kept for lagging watches; 0: the default */
    const struct cor_clock *clock; /* NULL: the real one */
    struct cor_offload *offload; /* decodes values that must be brought into the form of the schema;
                                  * outlives the cachers. NULL: the home loop does */
};

/* Opens the feed. 0, -COR_ENOMEM, -COR_EBUSY. */
int cor_cachers_open(const struct cor_cachers_opts *opts, struct cor_cachers **ret_cachers);

/* May be called when every cacher is closed. `on_closed` follows on the home loop: the cachers are
 * freed then, and none of their mail is on its way to any loop. The loops must be running. */
void cor_cachers_close(struct cor_cachers *cachers, void (*on_closed)(void *arg), void *arg);

struct cor_cachers_stats {
    size_t bytes; /* of history, as the budget counts it */
    size_t bytes_max;
    size_t pinned; /* what snapshots of lists and watches alone hold; not part of `bytes` */
    uint64_t ended_lists, ended_watches; /* slow ones that were ended for what they held */
    size_t replays;                      /* readings of history for watches that are under way */
    uint64_t evicted;                    /* segments that left by the byte budget */
    uint64_t put_off; /* batches after which an eviction was put off for lagging watches */
    cor_rev rev;      /* every ready watch cache is complete up to here */
    cor_rev seen; /* clients may have seen this; it is ahead of `rev` while a batch is applied */
};

/* From any thread. */
struct cor_cachers_stats cor_cachers_stats(const struct cor_cachers *cachers);

#endif
