/* Which watches of one loop an event concerns. Every watch stands in one bucket: that of its key,
 * of its namespace (any prefix of keys), of the value of the trigger field that it selects, or the
 * one for all keys. An event looks up the buckets it belongs to, so it costs those that may want
 * it.
 *
 * While watches of a bucket lag, the bucket keeps the numbers of its events since the first of them
 * fell behind: they walk these, not the window. Thread: the loop's.  Owner: its embedder. */
#ifndef COR_STORAGE_CACHER_WATCH_INDEX_H
#define COR_STORAGE_CACHER_WATCH_INDEX_H

#include <stdatomic.h>

#include "base/dlist.h"
#include "base/map.h"
#include "storage/cacher/window.h"

enum watch_bucket_kind { BUCKET_ALL, BUCKET_PREFIX, BUCKET_KEY, BUCKET_TRIGGER, BUCKET_KINDS };

/* An event of the turn that is under way, in the chain of a bucket that it belongs to. */
struct watch_offer {
    struct watch_offer *next;
    uint64_t number;
    const struct cor_window_event *change;
};

struct watch_bucket {
    struct cor_dlist idle;    /* watches that have seen everything */
    struct cor_dlist lagging; /* watches with an event to see */
    size_t n;                 /* of its watches, in whatever state */
    struct cor_dlist empty;   /* among the index's empties */
    struct cor_dlist turn;    /* among the buckets with offers */
    struct watch_offer *offers, *last_offer;
    bool is_partial;        /* there was no memory for a number: walk the window */
    uint64_t *numbers;      /* a ring of `cap`, `nnumbers` in use from `head` on */
    _Atomic size_t *weight; /* the index's */
    size_t head, nnumbers, cap;
    enum watch_bucket_kind kind;
    struct cor_str text; /* what it is for */
    char bytes[];
};

/* More parents of a key than this are not looked up: a watch for such a prefix is in ALL. */
#define WATCH_PREFIX_DEPTH_MAX 4
#define WATCH_BUCKETS_MAX      (WATCH_PREFIX_DEPTH_MAX + 4)

struct watch_index {
    struct cor_str prefix; /* of all keys; borrowed */
    struct cor_map maps[BUCKET_KINDS];
    _Atomic size_t *weight;   /* what the numbers of buckets weigh is added there */
    struct cor_dlist empties; /* buckets without watches, kept until no event is under way */
};

/* `weight` is borrowed, and other threads may change it too. */
void cor_cacher_watch_index_init(struct watch_index *ix, struct cor_str prefix,
                                 _Atomic size_t *weight);
/* No watch may be left. */
void cor_cacher_watch_index_deinit(struct watch_index *ix);

/* The bucket for one more watch. 0 or -COR_ENOMEM. */
int cor_cacher_watch_index_join(struct watch_index *ix, enum watch_bucket_kind kind,
                                struct cor_str text, struct watch_bucket **ret_bucket);
/* One watch, which stands in none of its lists, leaves. */
void cor_cacher_watch_index_leave(struct watch_index *ix, struct watch_bucket *bucket);
/* Frees buckets without watches; not while an event is under way. */
void cor_cacher_watch_index_purge(struct watch_index *ix);

/* The buckets that the event belongs to; returns how many. */
size_t cor_cacher_watch_index_match(const struct watch_index *ix,
                                    const struct cor_window_event *event,
                                    struct watch_bucket *ret_buckets[WATCH_BUCKETS_MAX]);

/* The event of `offer` belongs to the bucket; returns whether it is the turn's first that does. */
bool cor_cacher_watch_bucket_offer(struct watch_bucket *bucket, struct watch_offer *offer);

/* A lagging watch is there, and this is an event of the bucket. */
void cor_cacher_watch_bucket_push(struct watch_bucket *bucket, uint64_t number);
/* The first of its events after `number`; UINT64_MAX: none. */
uint64_t cor_cacher_watch_bucket_after(const struct watch_bucket *bucket, uint64_t number);
/* No watch lags any more, or the events before `first` have left the window. */
void cor_cacher_watch_bucket_trim(struct watch_bucket *bucket, uint64_t first);

#endif
