/* All watch caches of a server: one feed of the whole store that keeps them up to date, one
 * revision up to which all of them are complete, one byte budget for their history.
 *
 * The feed's callbacks run on the engine thread, which is the only writer of all caches (while
 * there is no feed, the home loop is). For each batch: apply it to the caches, publish its
 * revision, mail the loops; the engine acknowledges the writes afterwards. docs/internals/cacher.md
 * shows why a cache read with resourceVersion "" is therefore linearizable. Thread: the home
 * loop's, unless a function says otherwise.  Owner: the server. */
#ifndef COR_STORAGE_CACHER_CACHERS_H
#define COR_STORAGE_CACHER_CACHERS_H

#include <stddef.h>
#include <stdint.h>

#include "meta/revision.h"

struct cor_cachers;
struct cor_clock;
struct cor_engine;
struct cor_loop;

#define COR_CACHERS_BYTES_DEFAULT (256u << 20)

struct cor_cachers_opts {
    struct cor_engine *engine;
    struct cor_loop *const *loops; /* those that read; the first is home to lists and timers */
    size_t nloops;
    size_t bytes_max; /* of all windows, kept roots, what snapshots alone hold, and numbers for
                       * lagging watches; 0: the default */
    const struct cor_clock *clock; /* NULL: the real one */
};

/* Opens the feed. 0, -COR_ENOMEM, -COR_EBUSY. */
int cor_cachers_open(const struct cor_cachers_opts *opts, struct cor_cachers **ret_cachers);

/* When all cachers are closed. `on_closed` follows on the home loop; the caches are gone then, and
 * no mail of theirs is on its way to any loop. The loops must be running. */
void cor_cachers_close(struct cor_cachers *cachers, void (*on_closed)(void *arg), void *arg);

struct cor_cachers_stats {
    size_t bytes; /* of history, as the budget counts it */
    size_t bytes_max;
    size_t pinned; /* what snapshots of lists and watches alone hold, beside `bytes` */
    uint64_t ended_lists, ended_watches; /* slow ones, for what their snapshots held */
    uint64_t evicted;                    /* segments that left by the byte budget */
    uint64_t put_off; /* batches that left an eviction for later, for lagging watchers' sake */
    cor_rev rev;      /* all caches that are ready are complete up to here */
    cor_rev seen; /* what clients may have seen: `rev`, or ahead of it while a batch is applied */
};

/* From any thread. */
struct cor_cachers_stats cor_cachers_stats(const struct cor_cachers *cachers);

#endif
