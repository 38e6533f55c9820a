/* The watch cache: one resource's objects and their recent history in memory. The present state is
 * a tree, the events that led to it are the window, and roots of earlier trees are kept on the way,
 * so that a past revision can be read.
 *
 * Thread: the writer changes it; any thread reads, under `lock`. The lock is held for a look-up or
 * one change, never for a walk. Owner: its cacher; all snapshots are released before it is freed.
 */
#ifndef COR_STORAGE_CACHER_WATCH_CACHE_H
#define COR_STORAGE_CACHER_WATCH_CACHE_H

#include <stdatomic.h>

#include "base/lock.h"
#include "storage/cacher/field_index.h"
#include "storage/cacher/noted_fields.h"
#include "storage/cacher/pins.h"
#include "storage/cacher/unreadable.h"
#include "storage/cacher/window.h"

/* Events between two kept roots. */
#define COR_KEPT_ROOT_EVENTS 256

struct cor_kept_root {
    struct cor_btree_snap *snap;
    struct cor_field_roots *fields; /* of the indexes; NULL: there are none */
    uint64_t next;                  /* number of the first event that is not in it */
    cor_rev rev;                    /* of the last event that is in it, or of the list */
    size_t bytes;                   /* of all objects that it shows */
    struct cor_pin *pin; /* marks where the pins of exact reads from this root are listed; owned */
};

struct cor_watch_cache {
    struct cor_lock lock; /* before the tree's own and before a cachers_loop's */
    struct cor_btree *tree;
    struct cor_field_index index;        /* the same entries by their trigger fields */
    const struct cor_triggers *triggers; /* whose indexes these are; NULL: none; borrowed */
    size_t names_at;    /* in a key: where namespace and name begin; 0: it is not known */
    bool is_namespaced; /* there is a namespace before the name */
    struct cor_window window;
    cor_rev rev;                 /* of the list, or of the last change */
    unsigned nth;                /* the place of that change in its revision */
    cor_rev compact_rev;         /* exact reads below it are refused */
    struct cor_kept_root *roots; /* oldest first */
    size_t nroots, roots_cap;
    uint64_t root_at;     /* the next root is kept when window.next has reached it */
    size_t bytes;         /* of the objects in the tree */
    struct cor_pins pins; /* of all snapshots and kept roots; those of roots are never charged,
                           * because a root leaves with the events that follow it */
    uint64_t history_end; /* events before this number were put in front of the window */
    size_t history_bytes; /* of such events that are still in the window */

    struct cor_noted_fields noted; /* by lists and watches */

    struct cor_unreadable unreadable; /* values that should be in the tree and cannot be decoded */
    cor_rev blind_rev; /* earlier revisions are not certain: some value could not be decoded then */
    _Atomic bool may_be_blind; /* false: neither of the two is set. Set under the lock; a look
                                * without the lock that finds false after a snapshot was taken
                                * holds for that snapshot */
};

/* `totals` count what snapshots alone hold, for all watch caches; they outlive this one, and so do
 * the triggers (NULL: none), with which all entries are made. 0 or -COR_ENOMEM. */
int cor_watch_cache_init(struct cor_watch_cache *c, const struct cor_triggers *triggers,
                         struct cor_pin_totals *totals);
/* No snapshot may be left. Safe on a zeroed struct. */
void cor_watch_cache_deinit(struct cor_watch_cache *c);

/* The writer's. */

/* A list at `rev` becomes the content, and the window is emptied. `entries` are in key order; the
 * tree takes references of its own. `bytes`: of all entries. `unreadable` (NULL: none) are the
 * values of the list that could not be decoded; the caller gets the ones from before in exchange,
 * to be freed. 0, or -COR_ENOMEM: nothing changed. */
int cor_watch_cache_replace(struct cor_watch_cache *c, const struct cor_btree_entry *entries,
                            size_t n, size_t bytes, struct cor_unreadable *unreadable, cor_rev rev);

/* Applies one change, with the lock held: `take_now` was put, or (NULL) `key` was deleted. Deleting
 * an absent key only moves the revision. `rev` is not below the cache's. 0, or -COR_ENOMEM: neither
 * tree nor window has the change. */
int cor_watch_cache_apply_locked(struct cor_watch_cache *c, struct cor_str key,
                                 struct cor_cache_entry *take_now, cor_rev rev, uint64_t now_ms);

/* Applies the change to a value that cannot be decoded, with the lock held: the tree has no object
 * of its key any more, and the window gets an event with an unreadable entry. 0, or -COR_ENOMEM:
 * nothing changed. */
int cor_watch_cache_apply_unreadable_locked(struct cor_watch_cache *c, struct cor_kv *kv,
                                            uint64_t now_ms);

/* Revisions below `rev` are to be read from the store from now on. With the lock held. */
void cor_watch_cache_set_blind_locked(struct cor_watch_cache *c, cor_rev rev);

/* Must a read at `rev` of `key`, or with `recursive` of all keys that begin with it, go to the
 * store, because the cache misses a value there that cannot be decoded? With the lock held. */
bool cor_watch_cache_is_blind_locked(const struct cor_watch_cache *c, struct cor_str key,
                                     bool recursive, cor_rev rev);

/* Puts history in front of the window: `events` (oldest first) are all changes after `base` up to
 * the window's own base, and `bytes[i]` is what each of them adds. As many whole revisions as there
 * is memory for are taken over with their references, the youngest first. Returns how many events,
 * the oldest ones, remain the caller's. */
size_t cor_watch_cache_prepend(struct cor_watch_cache *c, const struct cor_window_event *events,
                               const size_t *bytes, size_t n, cor_rev base);

/* Evicts the oldest segment with the rest of its last revision, and the roots that need them.
 * False: it may not leave; see cor_window_peek_oldest() and cor_window_peek_stale(). */
bool cor_watch_cache_evict(struct cor_watch_cache *c);
bool cor_watch_cache_evict_stale(struct cor_watch_cache *c);

/* The engine was compacted: exact reads below `rev` are refused, and roots that served only them
 * are dropped. */
void cor_watch_cache_compact(struct cor_watch_cache *c, cor_rev rev);

/* Drops roots, window and tree. The items of the tree are freed by cor_watch_cache_reclaim(). */
void cor_watch_cache_clear(struct cor_watch_cache *c);

/* Frees at most `max_nodes` nodes of the tree, and as many of each index, that nothing reads any
 * more. True while there is more to do. */
bool cor_watch_cache_reclaim(struct cor_watch_cache *c, size_t max_nodes);

/* What the byte budget counts of this watch cache: the window, and tree nodes that only roots and
 * snapshots hold. Objects that only snapshots hold are in the pins' totals. */
size_t cor_watch_cache_history_bytes(struct cor_watch_cache *c);

/* From any thread; takes the lock. */

/* The present object of a key, with a reference; NULL: there is none, or (`ret_unreadable`) its
 * value cannot be decoded. */
struct cor_object *cor_watch_cache_get(struct cor_watch_cache *c, struct cor_str key,
                                       bool *ret_unreadable);

/* The present entry of a key, with a reference, when it is of revision `rev`; else NULL. */
struct cor_cache_entry *cor_watch_cache_get_version(struct cor_watch_cache *c, struct cor_str key,
                                                    cor_rev rev);

/* Where the notes of the entries have the predicate's (NULL: everything) fields. */
void cor_watch_cache_places(struct cor_watch_cache *c, const struct cor_predicate *predicate,
                            struct cor_field_places *ret_places);

/* The same as cor_watch_cache_is_blind_locked(). */
bool cor_watch_cache_is_blind(struct cor_watch_cache *c, struct cor_str key, bool recursive,
                              cor_rev rev);

#endif
