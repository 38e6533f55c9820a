/* A cacher: what keeps the watch cache of one resource. It fills the cache by a list and the feed
 * of all cachers, lists again when that fails, and is read through one reader per loop. Thread: the
 * home loop's, unless a function says otherwise.  Owner: the server. */
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
    struct cor_store *store; /* the home loop's store of this resource; borrowed */
    bool namespaced;         /* keys are prefix/namespace/name; else prefix/name */
    /* Watches and lists that select one value of one of these are indexed by it: spec.nodeName.
     * Copied; ends with NULL, and is NULL where there are none (triggers.h). */
    const char *const *trigger_fields;
    /* The cache was filled, for the first time or again. On the home loop; NULL: not wanted. */
    void (*on_filled)(void *arg);
    void *arg;
};

/* Begins to fill the watch cache. Two cachers have all keys in common or none. 0 or -COR_ENOMEM. */
int cor_cacher_open(const struct cor_cacher_opts *opts, struct cor_cacher **ret_cacher,
                    struct cor_status *reterr_status);

/* May be called when all its readers are freed, and with them every cursor and watch. `on_closed`
 * (NULL: not wanted) follows on the home loop; the cacher is freed before it. */
void cor_cacher_close(struct cor_cacher *cacher, void (*on_closed)(void *arg), void *arg);

/* May the watch cache be read? From any thread. */
bool cor_cacher_is_ready(struct cor_cacher *cacher);
/* Did the last attempt to fill it fail, and why? Another follows. From any thread. */
bool cor_cacher_is_failing(struct cor_cacher *cacher, char reterr_why[COR_READY_MESSAGE_MAX]);

/* Makes the reader of one loop; a loop has one at a time. `store` is that loop's store of the
 * resource, which answers what the cache cannot; borrowed. Thread: that loop's. 0 or -COR_ENOMEM.
 */
int cor_cacher_reader_new(struct cor_cacher *cacher, struct cor_store *store,
                          struct cor_reader **ret_reader);

/* What a reader's watches cost. */
struct cor_cacher_reader_stats {
    uint64_t events;     /* that were dispatched on its loop */
    uint64_t visits;     /* times that an event was offered to a watch */
    uint64_t walked;     /* events that watches looked at to catch up */
    uint64_t deliveries; /* calls of on_event() with the event of an object */
    uint64_t evicted;    /* watches that ended because their next event had left the window */
    uint64_t idle, lagging;
};

/* From any thread, while the reader is there. */
struct cor_cacher_reader_stats cor_cacher_reader_stats(const struct cor_reader *reader);

struct cor_cacher_stats {
    cor_rev rev;            /* of its last event or list */
    uint64_t fills;         /* how often it was listed */
    uint64_t received;      /* events */
    uint64_t objects;       /* that it has now */
    uint64_t window_events; /* events in the window */
    size_t window_bytes;
    uint64_t idle, lagging; /* watches of all its readers */
    uint64_t deliveries, evicted;
    uint64_t checks_passed, checks_failed, checks_errors; /* comparisons with the store */
};

/* From any thread. */
struct cor_cacher_stats cor_cacher_stats(struct cor_cacher *cacher);

#endif
