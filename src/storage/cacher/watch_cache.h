/* One resource's objects and their recent history in memory: the present state as a tree, the
 * window of events that led to it, and roots kept on the way, so that a past revision can be read.
 *
 * Thread: the writer's (the engine thread) changes it; any thread reads, under `lock`. The lock is
 * held for a look-up or one change, never for a walk. Owner: its cacher; all snapshots are gone
 * before it is. */
#ifndef COR_STORAGE_CACHER_WATCH_CACHE_H
#define COR_STORAGE_CACHER_WATCH_CACHE_H

#include "base/lock.h"
#include "storage/cacher/pins.h"
#include "storage/cacher/window.h"

/* A root is kept every so many events. */
#define COR_KEPT_ROOT_EVENTS 256

struct cor_kept_root {
    struct cor_btree_snap *snap;
    uint64_t next;       /* number of the first event that is not in it */
    cor_rev rev;         /* of the last one that is, or of the list */
    size_t bytes;        /* of all it shows */
    struct cor_pin *pin; /* where exact reads that begin here stand among the pins; its own */
};

struct cor_watch_cache {
    struct cor_lock lock; /* before the tree's own and before a cachers_loop's */
    struct cor_btree *tree;
    struct cor_window window;
    cor_rev rev;                 /* of the list, or of the last event */
    cor_rev compact_rev;         /* no exact read below it */
    struct cor_kept_root *roots; /* oldest first */
    size_t nroots, roots_cap;
    uint64_t root_at;     /* the event after which the next root is kept */
    size_t bytes;         /* of the objects in the tree */
    struct cor_pins pins; /* of all snapshots; those of kept roots, whose events are in the window,
                           * are never charged */
    uint64_t history_end; /* events before this number were put in front of the window */
    size_t history_bytes; /* what those that are still here have added to the window's */
};

/* `totals`: of what snapshots alone hold, shared with other caches; they stay as long as it does. 0
 * or -COR_ENOMEM. */
int cor_watch_cache_init(struct cor_watch_cache *c, struct cor_pin_totals *totals);
/* No snapshot may be left. Safe on a zeroed struct. */
void cor_watch_cache_deinit(struct cor_watch_cache *c);

/* The writer's. */

/* A list at `rev` becomes the content; the window is empty then. `bytes`: of all its entries. 0 or
 * -COR_ENOMEM: as before. */
int cor_watch_cache_replace(struct cor_watch_cache *c, const struct cor_btree_entry *entries,
                            size_t n, size_t bytes, cor_rev rev);

/* One change, with the lock held: `take_now` was put, or (NULL) `key` was deleted. Deleting what is
 * not there only moves the revision. 0, or -COR_ENOMEM: the event is not in it. */
int cor_watch_cache_apply_locked(struct cor_watch_cache *c, struct cor_str key,
                                 struct cor_cache_entry *take_now, cor_rev rev, uint64_t now_ms);

/* Puts history in front of the window: `events` (oldest first) are all changes after `base` up to
 * the window's own base, `bytes[i]` what each adds. As many whole revisions as there is memory for
 * are taken, the youngest first, with their references; the rest stays the caller's. Returns how
 * many events stay. */
size_t cor_watch_cache_prepend(struct cor_watch_cache *c, const struct cor_window_event *events,
                               const size_t *bytes, size_t n, cor_rev base);

/* Lets the oldest segment go with the rest of its last revision, and the roots that need them.
 * False: too little would be left; see cor_window_peek_oldest(), cor_window_peek_stale(). */
bool cor_watch_cache_evict(struct cor_watch_cache *c);
bool cor_watch_cache_evict_stale(struct cor_watch_cache *c);

/* No exact read below `rev` after this. */
void cor_watch_cache_compact(struct cor_watch_cache *c, cor_rev rev);

/* Empties it: drops roots, window and tree, whose items go by cor_btree_reclaim(). */
void cor_watch_cache_clear(struct cor_watch_cache *c);

/* What the budget counts: window, and nodes that only roots and snapshots hold. The objects that
 * only snapshots hold are in the pins' totals. */
size_t cor_watch_cache_history_bytes(struct cor_watch_cache *c);

/* Any thread, lock taken inside. */

/* The present object, with a reference; NULL: none. `ret_rev` gets the cache's revision. */
struct cor_object *cor_watch_cache_get(struct cor_watch_cache *c, struct cor_str key,
                                       cor_rev *ret_rev);

#endif
