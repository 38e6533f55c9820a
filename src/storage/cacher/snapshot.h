/* The state of a watch cache at one revision: a root, and over it the events between the root's
 * revision and the one asked for. It does not change, and reading it needs no lock. What it alone
 * keeps in memory is charged to its pin, so it stays where it was taken: it must not be moved.
 * Thread: whoever holds it.  Owner: its embedder; it goes before the cache does. */
#ifndef COR_STORAGE_CACHER_SNAPSHOT_H
#define COR_STORAGE_CACHER_SNAPSHOT_H

#include "storage/cacher/watch_cache.h"

struct cor_overlay_item {
    struct cor_cache_entry *entry; /* of a deleted object: the last one, for its key */
    size_t order;                  /* among the events that the overlay was made of */
    bool deleted;
    bool in_root; /* the root has an object under this key */
};

struct cor_cache_snapshot {
    struct cor_watch_cache *cache; /* NULL: none was taken */
    struct cor_pin pin;
    struct cor_btree_snap *root;
    struct cor_overlay_item *overlay; /* by key, each key once */
    size_t noverlay;
    cor_rev rev;
    uint64_t next; /* of the present state: number of the first event that is not in it */
};

/* The present state; `rev` is the cache's. 0 or -COR_ENOMEM. */
int cor_cache_snapshot_now(struct cor_watch_cache *c, struct cor_cache_snapshot *ret_snapshot);
/* The same, with the cache's lock held. */
int cor_cache_snapshot_now_locked(struct cor_watch_cache *c,
                                  struct cor_cache_snapshot *ret_snapshot);

/* The state at `rev`, of which the caller knows that the cache has reached it. 0, -COR_EEXPIRED (no
 * root is old enough), -COR_ENOMEM. */
int cor_cache_snapshot_at(struct cor_watch_cache *c, cor_rev rev,
                          struct cor_cache_snapshot *ret_snapshot);

/* Safe on a zeroed struct; takes the cache's lock. */
void cor_cache_snapshot_deinit(struct cor_cache_snapshot *s);

/* `owner` can be asked to let it go: see pins.h. */
static inline void cor_cache_snapshot_set_owner(struct cor_cache_snapshot *s, void *owner)
{
    atomic_store_explicit(&s->pin.owner, owner, memory_order_release);
}

/* Is its owner asked to let it go? The loop's. */
static inline bool cor_cache_snapshot_is_leaving(const struct cor_cache_snapshot *s)
{
    return s->cache && atomic_load(&s->pin.is_leaving);
}

/* The owner keeps it for now, and is asked again after a while. Takes the cache's lock. */
void cor_cache_snapshot_stay(struct cor_cache_snapshot *s);

/* Objects with a key from `from` on that begin with `prefix`: O(log n + events of the overlay). */
size_t cor_cache_snapshot_count(const struct cor_cache_snapshot *s, struct cor_str prefix,
                                struct cor_str from);

/* A walk over keys that begin with a prefix. It needs no release and allocates nothing. */
struct cor_cache_iter {
    const struct cor_cache_snapshot *snapshot;
    struct cor_btree_iter root;
    struct cor_str prefix;
    uint64_t mask;
    bool has_root; /* root.entry is the next of the root, not given out yet */
    size_t overlay;
};

/* From `from` on (not below `prefix`); only entries whose fingerprint covers `mask`. The prefix is
 * borrowed. */
void cor_cache_iter_init(struct cor_cache_iter *it, const struct cor_cache_snapshot *s,
                         struct cor_str prefix, struct cor_str from, uint64_t mask);
/* The next entry, borrowed from the snapshot; NULL at the end. */
struct cor_cache_entry *cor_cache_iter_next(struct cor_cache_iter *it);

#endif
