/* Internals of the queue. Each change is in two lists: all changes in the order of arrival, and the
 * changes of its key. The objects of the newest list are an exception: they wait in one array,
 * `listed`, numbered like changes. cor_delta_fifo_unpack() makes them changes like the others, as
 * soon as the changes of a key are asked for. A queue by key never uses the array.
 *
 * Invariants, under the lock: a key has a record exactly while it has changes outside `listed`; a
 * record's list is oldest first; `n` counts the changes, those of `listed` too. */
#ifndef COR_CACHE_DELTA_FIFO_INT_H
#define COR_CACHE_DELTA_FIFO_INT_H

#include "base/buf.h"
#include "base/dlist.h"
#include "base/lock.h"
#include "base/map.h"
#include "cache/queues/delta_fifo.h"
#include "cache/queues/delta_list.h"

struct cor_delta_node {
    struct cor_dlist in_order;
    struct cor_dlist in_record;
    struct cor_delta_record *record;
    uint64_t seq;    /* grows along the order */
    bool is_retried; /* its consumer refused it and wants it again */
    struct cor_delta delta;
};

/* Most keys have one change, and the record contains it: one block for both, of a size that the C
 * library merges with its neighbours at once, so that the memory of a long list returns to the
 * system while the list is consumed. */
struct cor_delta_record {
    struct cor_dlist link;   /* in records */
    struct cor_dlist deltas; /* of this key */
    size_t n;
    struct cor_delta_node first; /* free while its `record` is NULL */
    size_t key_len;
    char key[];
};

struct cor_delta_fifo {
    struct cor_reflector_store store;
    struct cor_delta_fifo_opts opts;
    struct cor_lock lock;
    struct cor_cond ready;
    struct cor_map by_key;    /* key -> record */
    struct cor_dlist order;   /* changes, oldest first */
    struct cor_dlist records; /* by first pending change */
    struct cor_buf key;       /* of the call under way */
    size_t n;                 /* changes, */
    size_t nretried;          /* those among them that were put back by their consumer */
    size_t initial;           /* pops until the first list is consumed */
    uint64_t last_seq;        /* of the newest change */
    struct cor_cache_waiters waiters;
    bool populated, closed;
    struct cor_delta_list staged; /* of the replace under way */
    struct cor_delta_list listed; /* pending, each as COR_DELTA_REPLACED; empty by key */
};

/* All run under the lock; `object` is borrowed. 0 or the errors of the store. */
int cor_delta_enqueue(struct cor_delta_fifo *f, enum cor_delta_type type, struct cor_str key,
                      struct cor_object *object, bool is_tombstone);
/* Drops the changes after `last` (a link of `order`, or `order` itself). */
void cor_delta_truncate(struct cor_delta_fifo *f, const struct cor_dlist *last);

bool cor_delta_has_synced_locked(const struct cor_delta_fifo *f);

/* The end of a call that changed the queue: releases the lock and calls those who waited for it. */
void cor_delta_fifo_unlock(struct cor_delta_fifo *f);

/* The changes were refused with `err`: ends the waits for their revisions, or holds them when the
 * changes are tried again. 0 or -COR_ENOMEM. */
int cor_delta_fifo_refuse(struct cor_delta_fifo *f, struct cor_str key,
                          const struct cor_delta *deltas, size_t n, int err, bool is_retried);

/* Makes `listed` empty; all or nothing. 0 or -COR_ENOMEM. Before cor_delta_peek(). */
int cor_delta_fifo_unpack(struct cor_delta_fifo *f);

struct cor_delta_record *cor_delta_peek(struct cor_delta_fifo *f, struct cor_str key);

/* The `n` oldest changes of a record, for a callback: `*ret_deltas` is `one` when they are one,
 * else an array that the caller frees. The objects are borrowed. 0 or -COR_ENOMEM. */
int cor_delta_record_read(const struct cor_delta_record *record, size_t n, struct cor_delta *one,
                          struct cor_delta **ret_deltas);

/* The newest change of a record. */
const struct cor_delta *cor_delta_newest(const struct cor_delta_record *record);

extern const struct cor_reflector_store_ops cor_delta_fifo_store_ops;

#endif
