/* The state of a watch cache at one revision: a root, and over it the events between the root's
 * revision and the one that was asked for. A snapshot does not change, and reading it needs no
 * lock. The memory that it alone keeps is charged to its pin, which is in a list of the cache: so a
 * snapshot must not be moved from where it was taken. Thread: whoever holds it.  Owner: its
 * embedder; it is released before the cache is freed. */
#ifndef COR_STORAGE_CACHER_SNAPSHOT_H
#define COR_STORAGE_CACHER_SNAPSHOT_H

#include "meta/select/predicate.h"
#include "storage/cacher/watch_cache.h"

struct cor_overlay_item {
    struct cor_cache_entry *entry; /* of a deleted object: the last one, for its key */
    size_t order;                  /* among the events that the overlay was made of */
    bool deleted;
    bool in_root; /* the root has an object of this key */
};

struct cor_cache_snapshot {
    struct cor_watch_cache *cache; /* NULL: none was taken */
    struct cor_pin pin;
    struct cor_btree_snap *root;
    struct cor_field_roots fields;    /* of the indexes that were wanted */
    struct cor_overlay_item *overlay; /* by key, each key once */
    size_t noverlay;
    cor_rev rev;
    uint64_t next; /* of a snapshot of the present state: number of the first event after it */
};

/* Takes the present state, at the cache's revision, to be walked over for what `predicate` (NULL:
 * everything) selects. 0 or -COR_ENOMEM. */
int cor_cache_snapshot_now(struct cor_watch_cache *c, const struct cor_predicate *predicate,
                           struct cor_cache_snapshot *ret_snapshot);
/* The same, with the cache's lock held. */
int cor_cache_snapshot_now_locked(struct cor_watch_cache *c, const struct cor_predicate *predicate,
                                  struct cor_cache_snapshot *ret_snapshot);

/* Takes the state at `rev`, which the cache has reached. 0, -COR_EEXPIRED (no kept root is old
 * enough, or the events after it are gone), -COR_ENOMEM. */
int cor_cache_snapshot_at(struct cor_watch_cache *c, cor_rev rev,
                          const struct cor_predicate *predicate,
                          struct cor_cache_snapshot *ret_snapshot);

/* Releases it. Safe on a zeroed struct; takes the cache's lock. */
void cor_cache_snapshot_deinit(struct cor_cache_snapshot *s);

/* Names the reader that can be asked to release the snapshot: see pins.h. */
static inline void cor_cache_snapshot_set_owner(struct cor_cache_snapshot *s, void *owner)
{
    atomic_store_explicit(&s->pin.owner, owner, memory_order_release);
}

/* Has its owner been asked to release it? Thread: the owner's loop. */
static inline bool cor_cache_snapshot_is_leaving(const struct cor_cache_snapshot *s)
{
    return s->cache && atomic_load(&s->pin.is_leaving);
}

/* The owner keeps it for now, and may be asked again after a second. Takes the cache's lock. */
void cor_cache_snapshot_stay(struct cor_cache_snapshot *s);

/* How many objects have a key that begins with `prefix` and is not below `from`. Costs O(log n) and
 * a look at each event of the overlay. */
size_t cor_cache_snapshot_count(const struct cor_cache_snapshot *s, struct cor_str prefix,
                                struct cor_str from);

/* A walk over keys that begin with a prefix. It needs no release and allocates nothing. */
struct cor_cache_iter {
    const struct cor_cache_snapshot *snapshot;
    struct cor_btree_iter root; /* over the tree, or over one value of an index */
    uint64_t mask;
    bool has_root; /* root.entry is the next entry of the root, and was not returned yet */
    size_t overlay, overlay_end;
};

/* Begins at `from`, which is not below `prefix`. Of what `predicate` (NULL: everything) does not
 * select it passes over as much as keys, indexes and fingerprints tell; the caller matches the
 * rest. The snapshot was taken for the same predicate, or for none. */
void cor_cache_iter_init(struct cor_cache_iter *it, const struct cor_cache_snapshot *s,
                         struct cor_str prefix, struct cor_str from,
                         const struct cor_predicate *predicate);
/* The next entry, borrowed from the snapshot; NULL at the end. */
struct cor_cache_entry *cor_cache_iter_next(struct cor_cache_iter *it);

#endif
