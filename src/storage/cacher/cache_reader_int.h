/* Inside cacher/: the reader, which is one cacher as one loop reads it; the waits of its reads; its
 * cursors and its watches.
 * Thread: the loop's, except for what is under the cachers_loop's lock.  Owner: whoever made it. */
#ifndef COR_STORAGE_CACHER_CACHE_READER_INT_H
#define COR_STORAGE_CACHER_CACHE_READER_INT_H

#include "storage/cacher/cacher_int.h"
#include "storage/cacher/watch_index.h"

/* A read waits for a revision no longer than this. */
#define FRESH_WAIT_MS 3000
/* The Retry-After for a client whose revision was not reached. */
#define TOO_LARGE_RETRY_S 1

/* As struct cor_cacher_reader_stats. */
struct cacher_counts {
    _Atomic uint64_t events, visits, walked, deliveries, evicted, idle, lagging;
};

/* A read that waits until the watch caches have reached a revision; see fresh_wait.c. */
struct fresh_wait {
    struct cor_dlist
        link; /* in the loop's waits, or among those that ask for the store's revision */
    bool is_asking;
    struct cachers_loop *loop;
    cor_rev need;
    struct cor_timer timer;
    void (*on_done)(struct fresh_wait *wait, bool in_time);
};

struct cacher_reader {
    struct cor_reader base;
    struct cor_cacher *cacher;
    struct cor_store *store;
    struct cor_reader
        *raw; /* the store itself as a reader, for lists that the cache cannot answer */
    struct cachers_loop *loop;
    struct cor_dlist dirty; /* in loop->dirty; under loop->lock */
    size_t nwatches;        /* that want events; under loop->lock, written by the loop */
    size_t busy;            /* reads, watches, cursors and turns that are under way */
    atomic_bool asked_back; /* some snapshot of its watches or cursors is wanted back */
    struct cor_dlist cursors;
    struct cor_dlist replays; /* of history, that watches may join */
    size_t nreplays;

    struct watch_index index;
    struct cor_dlist watches; /* all that have not ended */
    size_t started;           /* of these, how many have a place in the window or are idle */
    size_t extending;         /* and how many wait for history */
    uint64_t generation;      /* of the cache, at the last look */
    uint64_t first;           /* the window's first event, at the last look */
    uint64_t next;            /* number of the first event that was not dispatched */
    cor_rev done_rev;         /* all up to this revision has been dispatched */
    cor_rev cut_rev;          /* of this revision a part may have been dispatched, and the rest was
                               * evicted, or is a value that cannot be decoded and ends the watches
                               * over its key just now; 0: none is cut */
    _Atomic uint64_t needs;   /* see cor_cacher_reader_needs() */
    bool needs_stale;         /* `needs` may be too low */
    size_t finishing;         /* of the watches, how many end with a revision */
    bool is_dispatching;
    struct store_turn turn; /* goes on with the dispatch; counted in `busy` while it is posted */
    struct cacher_counts counts;
    struct fresh_wait finish_wait; /* for the revision that an idle watch finishes with */
};

/* The revision that a consistent read needs when others write to the same store: the store's, which
 * has to be asked for. A client cannot name this number: see cachers_need(). */
#define CACHERS_STORE_REV UINT64_MAX

/* The revision to wait for when a client names `asked`, which may be any number. No store reaches
 * COR_REV_MAX, so waiting for it fails as waiting for every larger number would. */
static inline cor_rev cachers_need(cor_rev asked)
{
    return asked < COR_REV_MAX ? asked : COR_REV_MAX;
}

/* Only the loop counts, so no atomic addition is needed; others may read at any time. */
static inline void cacher_count(_Atomic uint64_t *count, int delta)
{
    uint64_t now = atomic_load_explicit(count, memory_order_relaxed);

    atomic_store_explicit(count, now + (uint64_t)delta, memory_order_relaxed);
}

/* 0: on_done follows, perhaps before this returns. -COR_ENOMEM: it does not. */
int cor_fresh_wait_begin(struct fresh_wait *wait, struct cachers_loop *loop, cor_rev need,
                         void (*on_done)(struct fresh_wait *wait, bool in_time));
/* on_done does not follow. Harmless when nothing is waited for, and on a zeroed struct. */
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

/* In dispatch.c: delivers new events to the watches that want them. */
void cor_cacher_dispatch(struct cacher_reader *reader);
void cor_cacher_dispatch_on_turn(struct store_turn *turn);

/* In list_cursor.c. `prefix` ends in a slash, or is the one key. The caller takes the snapshot into
 * `ret_snapshot`, which is part of the cursor, and then calls begin. 0 or -COR_ENOMEM. */
int cor_cacher_cursor_new(struct cacher_reader *reader, struct cor_str prefix,
                          struct cor_list_cursor **ret_cursor,
                          struct cor_cache_snapshot **ret_snapshot);
/* Finds the end of the page. `from` is the key that it begins at, or empty; `limit` 0: no limit.
 * The predicate (NULL: everything) must outlive the cursor. 0, -COR_ENOMEM, or 1: the end was not
 * found within COR_LIST_LOOKS_AT_ONCE objects, and cor_cacher_cursor_find_page() goes on in another
 * turn.
 */
int cor_cacher_cursor_begin(struct cor_list_cursor *cursor, struct cor_str from, size_t limit,
                            const struct cor_predicate *predicate);
/* Looks at `looks` more objects at most. 0: the head is complete and the objects can be read; 1: it
 * must be called again in another turn; or -COR_ENOMEM. */
int cor_cacher_cursor_find_page(struct cor_list_cursor *cursor, size_t looks);

/* Snapshots of this reader are wanted back: ends the slow lists and the slow watches among those
 * that hold them. In list_cursor.c and in cache_watch.c. */
void cor_cacher_cursors_let_go(struct cacher_reader *reader);
void cor_cacher_watches_let_go(struct cacher_reader *reader);

#endif
