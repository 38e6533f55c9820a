/* The watch cache of one resource, shared by all loops: fills itself by a list and the caches'
 * feed, lists anew when that breaks, and is read through one reader per loop.
 * Thread: the home loop's, unless a function says otherwise.  Owner: the server. */
#ifndef COR_STORAGE_CACHER_CACHER_H
#define COR_STORAGE_CACHER_CACHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "storage/cacher/cachers.h"
#include "storage/cacher/ready.h"
#include "storage/store/reader.h"

struct cor_cacher;

struct cor_cacher_opts {
    struct cor_cachers *cachers;
    struct cor_store *store;   /* the home loop's of this resource; borrowed */
    bool namespaced;           /* keys are prefix/namespace/name; else prefix/name */
    const char *trigger_field; /* watches that select one value of it are indexed by it, such as
                                * spec.nodeName; NULL: none */
};

/* Begins to fill it. No two cachers may share keys. 0 or -COR_ENOMEM. */
int cor_cacher_open(const struct cor_cacher_opts *opts, struct cor_cacher **ret_cacher,
                    struct cor_status *reterr_status);

/* When all its readers are freed, and with them every cursor and watch. `on_closed` (NULL: not
 * wanted) follows on the home loop; the cacher is gone after it. */
void cor_cacher_close(struct cor_cacher *cacher, void (*on_closed)(void *arg), void *arg);

/* From any thread. */
bool cor_cacher_is_ready(struct cor_cacher *cacher);
/* Has filling it failed, and why? It is tried again. From any thread. */
bool cor_cacher_is_failing(struct cor_cacher *cacher, char reterr_why[COR_READY_MESSAGE_MAX]);

/* The reader of one loop; one per loop at a time. `store` is that loop's store of the resource,
 * where reads go that the cache cannot answer; borrowed. Thread: that loop's. 0 or -COR_ENOMEM. */
int cor_cacher_reader_new(struct cor_cacher *cacher, struct cor_store *store,
                          struct cor_reader **ret_reader);

/* What a reader's watches cost. */
struct cor_cacher_reader_stats {
    uint64_t events;     /* that were dispatched on its loop */
    uint64_t visits;     /* watchers that an event was held against */
    uint64_t walked;     /* events that watchers looked at to catch up */
    uint64_t deliveries; /* on_event() calls with an event of an object */
    uint64_t evicted;    /* watchers that ended because their next event had left the window */
    uint64_t idle, lagging;
};

/* From any thread, while the reader is there. */
struct cor_cacher_reader_stats cor_cacher_reader_stats(const struct cor_reader *reader);

struct cor_cacher_stats {
    cor_rev rev;            /* of its last event or list */
    uint64_t fills;         /* how often it was listed */
    uint64_t received;      /* events */
    uint64_t window_events; /* that are still there */
    size_t window_bytes;
    uint64_t idle, lagging; /* watchers of all its readers */
    uint64_t deliveries, evicted;
    uint64_t checks_passed, checks_failed, checks_errors; /* comparisons with the store */
};

/* From any thread. */
struct cor_cacher_stats cor_cacher_stats(struct cor_cacher *cacher);

#endif
