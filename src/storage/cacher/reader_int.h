/* Inside cacher/: the reader of one loop, what its reads wait for, and its watches.
 * Thread: the loop's, but for what is under the cachers_loop's lock. */
#ifndef COR_STORAGE_CACHER_READER_INT_H
#define COR_STORAGE_CACHER_READER_INT_H

#include "storage/cacher/cacher_int.h"
#include "storage/cacher/watch_index.h"

/* As long as this a read waits for a revision. */
#define FRESH_WAIT_MS 3000
/* What a client is told to wait when the revision did not come. */
#define TOO_LARGE_RETRY_S 1

/* As struct cor_cacher_reader_stats. */
struct cacher_counts {
    _Atomic uint64_t events, visits, walked, deliveries, evicted, idle, lagging;
};

struct cacher_reader {
    struct cor_reader base;
    struct cor_cacher *cacher;
    struct cor_store *store;
    struct cor_reader *raw; /* of the store */
    struct cachers_loop *loop;
    struct cor_dlist dirty; /* in loop->dirty; under loop->lock */
    size_t nwatches;        /* whose news are wanted; under loop->lock, written by the loop */
    size_t busy;            /* reads, watches and cursors */
    atomic_bool asked_back; /* some snapshot of its watches or cursors is to be let go */
    struct cor_dlist cursors;

    struct watch_index index;
    struct cor_dlist watches; /* all that have not ended */
    size_t started;           /* of these, how many have a place in the window or are idle */
    size_t extending;         /* and how many wait for history */
    uint64_t generation;      /* of the cache, when it was last looked at */
    uint64_t first;           /* of the window, then */
    uint64_t next;            /* number of the first event that was not dispatched */
    cor_rev done_rev;         /* all up to here has been dispatched */
    cor_rev cut_rev;          /* it may be dispatched in part, and the rest has left; 0: none is */
    _Atomic uint64_t needs;   /* see cor_cacher_reader_needs() */
    bool needs_stale;         /* it may be too low */
    bool is_dispatching;
    struct store_turn turn; /* goes on with the dispatch; counted in `busy` while it is posted */
    struct cacher_counts counts;
};

/* What a consistent read waits for when others write to the same store: the store's revision, which
 * is asked for first. No revision that a client names is this one: see cachers_need(). */
#define CACHERS_STORE_REV UINT64_MAX

/* The revision to wait for when a client asks for `asked`, which may be any number. No store
 * reaches COR_REV_MAX, so waiting for it fails as waiting for every larger number would. */
static inline cor_rev cachers_need(cor_rev asked)
{
    return asked < COR_REV_MAX ? asked : COR_REV_MAX;
}

/* The loop alone counts; others may read at any time. */
static inline void cacher_count(_Atomic uint64_t *count, int delta)
{
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);

    atomic_store_explicit(count, now + (uint64_t)delta, memory_order_relaxed);
}

/* A read that waits until the caches have reached a revision. */
struct fresh_wait {
    struct cor_dlist
        link; /* in the loop's waits, or among those that ask for the store's revision */
    bool is_asking;
    struct cachers_loop *loop;
    cor_rev need;
    struct cor_timer timer;
    void (*on_done)(struct fresh_wait *wait, bool in_time);
};

/* on_done follows, perhaps before this returns. 0, or -COR_ENOMEM: it does not. */
int cor_fresh_wait_begin(struct fresh_wait *wait, struct cachers_loop *loop, cor_rev need,
                         void (*on_done)(struct fresh_wait *wait, bool in_time));
/* on_done does not follow. Harmless when nothing is waited for; `wait` may be zeroed. */
void cor_fresh_wait_cancel(struct fresh_wait *wait);

static inline bool cachers_have_reached(const struct cor_cachers *cachers, cor_rev rev)
{
    return atomic_load(&cachers->rev) >= rev;
}

/* The revision that a consistent read must have, or CACHERS_STORE_REV. */
static inline cor_rev cachers_consistent_rev(const struct cor_cachers *cachers)
{
    return cor_engine_shares_store(cachers->engine) ? CACHERS_STORE_REV
                                                    : atomic_load(&cachers->seen);
}

/* The reader of `base`, for the operations' files. */
static inline struct cacher_reader *cacher_reader_of(struct cor_reader *base)
{
    return (struct cacher_reader *)base;
}

int cor_cacher_reader_get(struct cor_reader *base, struct cor_str key,
                          const struct cor_store_get_opts *opts, cor_store_cb on_done, void *arg,
                          struct cor_status *reterr_status);
int cor_cacher_reader_list(struct cor_reader *base, struct cor_str key,
                           const struct cor_store_list_opts *opts, cor_reader_list_cb on_done,
                           void *arg, struct cor_status *reterr_status);
int cor_cacher_reader_watch(struct cor_reader *base, struct cor_str key,
                            const struct cor_reader_watch_opts *opts, struct cor_watch **ret_watch,
                            struct cor_status *reterr_status);

/* In dispatch.c: gives new events to the watches that want them. */
void cor_cacher_dispatch(struct cacher_reader *reader);
void cor_cacher_dispatch_on_turn(struct store_turn *turn);

/* In list_cursor.c. The snapshot is to be taken where `ret_snapshot` says; `prefix` ends in a
 * slash, or is the one key. 0 or -COR_ENOMEM. */
int cor_cacher_cursor_new(struct cacher_reader *reader, struct cor_str prefix,
                          struct cor_list_cursor **ret_cursor,
                          struct cor_cache_snapshot **ret_snapshot);
/* After that: `from` is empty or where the page begins; `limit` 0: all. The predicate (NULL:
 * everything) stays as long as the cursor. 0, -COR_ENOMEM, or 1: the end of the page was not found
 * within COR_LIST_LOOKS_AT_ONCE objects, and cor_cacher_cursor_find_page() goes on in another turn.
 */
int cor_cacher_cursor_begin(struct cor_list_cursor *cursor, struct cor_str from, size_t limit,
                            const struct cor_predicate *predicate);
/* Looks at `looks` more objects at most. 0: the head is complete and the objects can be read; 1: it
 * has to go on in another turn; or -COR_ENOMEM. */
int cor_cacher_cursor_find_page(struct cor_list_cursor *cursor, size_t looks);

/* Snapshots of this reader are asked for: ends the lists, and the watches, that are slow. In
 * list_cursor.c and in watch.c. */
void cor_cacher_cursors_let_go(struct cacher_reader *reader);
void cor_cacher_watches_let_go(struct cacher_reader *reader);

#endif
