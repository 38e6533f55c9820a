/* The waits for a cache: until it has its first list, or until it is at a resourceVersion that a
 * write returned. The queue before the cache embeds this struct under its lock and numbers its
 * changes; a wait for a revision becomes a wait for the last change that was queued when the
 * reflector reached that revision.
 *
 * A wait for a write that the cache refused (cache/queues/refusals.h) ends with the error, or goes
 * on while the write is tried again.
 *
 * Two revisions that are numbers are compared as such; any others are only equal or not.
 * Thread: one at a time (the queue's lock).  Owner: the queue. */
#ifndef COR_CACHE_CACHE_WAITERS_H
#define COR_CACHE_CACHE_WAITERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dlist.h"
#include "base/str.h"
#include "cache/queues/refusals.h"

#define COR_CACHE_WAITERS_MAX   1024 /* at a time */
#define COR_CACHE_WAITER_RV_MAX 127

/* `r`: 0; -COR_ECANCELED (the informer was stopped); or the code that the write of this revision
 * was refused with. Called once, without a lock held, on the thread whose call ended the wait; it
 * may call the informer but not stop or free it. */
typedef void (*cor_cache_wait_fn)(void *arg, int r);

struct cor_cache_waiters {
    struct cor_dlist waiting; /* for the first list, or for a revision to be reached */
    struct cor_dlist placed;  /* for a change to be consumed */
    struct cor_dlist held;    /* for a change that was refused and is tried again */
    struct cor_dlist due;     /* to be called */
    struct cor_refusals refusals;
    size_t n;
    uint64_t next_id;
    size_t rv_len; /* of the revision that the queue is at; 0: none yet */
    char rv[COR_CACHE_WAITER_RV_MAX];
};

void cor_cache_waiters_init(struct cor_cache_waiters *w);
void cor_cache_waiters_deinit(struct cor_cache_waiters *w); /* nobody is called */

/* `rv` NULL: for the first list. `last`: the newest change that was queued. 0, -COR_ENOMEM,
 * -COR_EBUSY (too many), -COR_EINVAL (no revision, or one that is too long), or what the write of
 * this revision was refused with. */
int cor_cache_waiters_add(struct cor_cache_waiters *w, const struct cor_str *rv, uint64_t last,
                          cor_cache_wait_fn fn, void *arg, uint64_t *ret_id);

/* False: no wait has this id any more; it was called, or is about to be. */
bool cor_cache_waiters_remove(struct cor_cache_waiters *w, uint64_t id);

/* The reflector is at `rv`, and `last` is the newest change that was queued. */
void cor_cache_waiters_reached(struct cor_cache_waiters *w, struct cor_str rv, uint64_t last);

/* All changes up to `upto` were consumed; `synced`: the first list was, too. */
void cor_cache_waiters_consumed(struct cor_cache_waiters *w, uint64_t upto, bool synced);

/* The change of `key` at `rv` was refused with `err`, and is tried again or not. 0; -COR_ENOMEM,
 * and then nobody was told and nothing is remembered. */
int cor_cache_waiters_refused(struct cor_cache_waiters *w, struct cor_str key, struct cor_str rv,
                              int err, bool is_retried);

/* A change of `key` was taken, or the object is gone: it is not refused any more. */
void cor_cache_waiters_taken(struct cor_cache_waiters *w, struct cor_str key);

/* The same of all keys without a mark (cor_refusals_mark()). */
void cor_cache_waiters_sweep(struct cor_cache_waiters *w);

/* Returns the error with which this revision's write was refused, or 0. */
int cor_cache_waiters_refusal(const struct cor_cache_waiters *w, struct cor_str rv);

/* Ends all waits: none of these events will happen any more. */
void cor_cache_waiters_cancel(struct cor_cache_waiters *w);

/* Is a cache that is at the queue's revision at this one? */
bool cor_cache_waiters_is_at(const struct cor_cache_waiters *w, struct cor_str rv);

struct cor_cache_call {
    cor_cache_wait_fn fn;
    void *arg;
    int r;
};

/* The next call that is due, taken off. False: none. */
bool cor_cache_waiters_take(struct cor_cache_waiters *w, struct cor_cache_call *ret_call);

static inline bool cor_cache_waiters_any_due(const struct cor_cache_waiters *w)
{
    return !cor_dlist_empty(&w->due);
}

#endif
