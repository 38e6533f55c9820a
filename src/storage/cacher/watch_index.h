/* Which watches of one loop an event concerns. Every watch is in one bucket: that of its key, of
 * its namespace (any prefix of keys), of the value of a trigger field that it selects, or the one
 * for all keys. An event looks up the buckets that it belongs to, so it costs only the watches that
 * may want it.
 *
 * While a watch of a bucket lags, the bucket keeps the numbers of its events since the first watch
 * fell behind. Lagging watches walk these numbers, not the window.
 * Thread: the loop's.  Owner: its embedder. */
#ifndef COR_STORAGE_CACHER_WATCH_INDEX_H
#define COR_STORAGE_CACHER_WATCH_INDEX_H

#include <stdatomic.h>

#include "base/dlist.h"
#include "base/map.h"
#include "storage/cacher/window.h"

/* The bucket of a value of the trigger field `i` is of the kind BUCKET_TRIGGER + i. */
enum watch_bucket_kind {
    BUCKET_ALL,
    BUCKET_PREFIX,
    BUCKET_KEY,
    BUCKET_TRIGGER,
    BUCKET_KINDS = BUCKET_TRIGGER + COR_TRIGGERS_MAX
};

/* An event of the turn that is under way, as one of its buckets has it. */
struct watch_offer {
    struct watch_offer *next;
    uint64_t number;
    const struct cor_window_event *change;
};

struct watch_bucket {
    struct cor_dlist idle;      /* watches that have seen everything */
    struct cor_dlist lagging;   /* watches with an event to see */
    struct cor_dlist replaying; /* watches that history is read for; see replay.c */
    size_t n;                   /* its watches, in any state */
    struct cor_dlist empty;     /* in the index's empties */
    struct cor_dlist turn;      /* in the turn's list of buckets with offers */
    struct watch_offer *offers, *last_offer;
    bool is_partial;        /* there was no memory for a number: lagging watches walk the window */
    uint64_t *numbers;      /* a ring of `cap`, `nnumbers` in use from `head` on */
    _Atomic size_t *weight; /* the index's */
    size_t head, nnumbers, cap;
    enum watch_bucket_kind kind;
    struct cor_str text; /* the key, prefix or value that it is for */
    char bytes[];
};

/* No more parents of a key than this are looked up; a watch for a deeper prefix is in ALL. */
#define WATCH_PREFIX_DEPTH_MAX 4
/* Its key, its parents, the old and the new value of each trigger field, and ALL. */
#define WATCH_BUCKETS_MAX (1 + WATCH_PREFIX_DEPTH_MAX + 2 * COR_TRIGGERS_MAX + 1)

struct watch_index {
    struct cor_str prefix; /* of all keys; borrowed */
    struct cor_map maps[BUCKET_KINDS];
    _Atomic size_t *weight;   /* the bytes of all numbers are added to it */
    struct cor_dlist empties; /* buckets without watches, kept until no event is being dispatched */
};

/* `prefix` and `weight` are borrowed; other threads may change the weight too. */
void cor_cacher_watch_index_init(struct watch_index *ix, struct cor_str prefix,
                                 _Atomic size_t *weight);
/* No watch may be left in it. */
void cor_cacher_watch_index_deinit(struct watch_index *ix);

/* Finds or makes the bucket for one more watch. 0 or -COR_ENOMEM. */
int cor_cacher_watch_index_join(struct watch_index *ix, enum watch_bucket_kind kind,
                                struct cor_str text, struct watch_bucket **ret_bucket);
/* One watch, which is in none of the bucket's lists, leaves it. */
void cor_cacher_watch_index_leave(struct watch_index *ix, struct watch_bucket *bucket);
/* Frees buckets without watches. Not while an event is being dispatched. */
void cor_cacher_watch_index_purge(struct watch_index *ix);

/* Finds the buckets that the event belongs to; returns how many. */
size_t cor_cacher_watch_index_match(const struct watch_index *ix,
                                    const struct cor_window_event *event,
                                    struct watch_bucket *ret_buckets[WATCH_BUCKETS_MAX]);

/* Adds an event of the turn to the bucket. True: it is the bucket's first of this turn. */
bool cor_cacher_watch_bucket_offer(struct watch_bucket *bucket, struct watch_offer *offer);

/* Keeps the number of an event of the bucket for its lagging watches. */
void cor_cacher_watch_bucket_push(struct watch_bucket *bucket, uint64_t number);
/* The first event of the bucket after `number`; UINT64_MAX: there is none. */
uint64_t cor_cacher_watch_bucket_after(const struct watch_bucket *bucket, uint64_t number);
/* Drops the numbers before `first`, whose events have left the window; all, when no watch lags. */
void cor_cacher_watch_bucket_trim(struct watch_bucket *bucket, uint64_t first);

#endif
