/* An ordered map from byte-string keys to reference-counted items, as a copy-on-write B-tree. One
 * writer changes it; a snapshot is its state at one moment, taken in O(1), read without a lock.
 * An entry is an item and a 64-bit fingerprint; the key lives in the item and is not copied.
 * docs/internals/btree.md tells how nodes and references live and die.
 *
 * Thread: functions that take a `struct cor_btree *` belong to the writer's thread, except
 * cor_btree_snapshot() and cor_btree_snapshots(), which any thread may call. A snapshot belongs to
 * whoever holds a reference. The tree's lock is a leaf and is held for no allocation and no
 * callback. Each change is atomic to a snapshot; a caller that wants several seen as one, or a root
 * paired with a revision, holds a lock of its own around both.
 * Owner: one; the tree outlives its snapshots. */
#ifndef COR_BASE_BTREE_H
#define COR_BASE_BTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"

struct cor_btree;
struct cor_btree_snap;
struct cor_btree_node;

/* What the tree needs to know about its items. An item's key never changes while a tree holds the
 * item. `unref` is called on the writer's thread only; `key` on any thread. */
struct cor_btree_type {
    struct cor_str (*key)(const void *item);
    void (*ref)(void *item);
    void (*unref)(void *item);
};

struct cor_btree_entry {
    void *item;
    uint64_t fingerprint;
};

/* `type` must stay valid. NULL when out of memory. An empty tree has no nodes. */
struct cor_btree *cor_btree_new(const struct cor_btree_type *type);

/* Drops all items. No snapshot may be left: see cor_btree_snapshots(). Returns NULL. */
struct cor_btree *cor_btree_free(struct cor_btree *t);
COR_DEFINE_CLEANUP(struct cor_btree, cor_btree_free)

/* Inserts the item under its key, or replaces the one that is there; the tree takes a reference of
 * its own. `ret_old`, unless NULL, gets the previous item (the caller unrefs it), or NULL when the
 * key is new. 0, or -COR_ENOMEM, which leaves all as it was. */
int cor_btree_put(struct cor_btree *t, void *item, uint64_t fingerprint, void **ret_old);

/* `ret_old`, unless NULL, gets the removed item (the caller unrefs it). 0, -COR_ENOTFOUND, or
 * -COR_ENOMEM (the path to a shared entry must be copied), which leave all as it was. */
int cor_btree_remove(struct cor_btree *t, struct cor_str key, void **ret_old);

/* Makes `entries` the whole content, in O(n): a snapshot sees the old state or the new one. The old
 * items go by cor_btree_reclaim(). 0, -COR_EINVAL (keys not strictly ascending), or -COR_ENOMEM,
 * which leave all as it was. */
int cor_btree_replace(struct cor_btree *t, const struct cor_btree_entry *entries, size_t n);

/* The same in two steps, for several trees that must change together: all are staged, which may
 * fail, and then all committed, which cannot. `entries` are borrowed until the commit or the
 * discard, one of which follows, and no change of the tree comes between. */
struct cor_btree_staged {
    struct cor_btree_node *root;
    const struct cor_btree_entry *entries;
    size_t n;
};
int cor_btree_stage(struct cor_btree *t, const struct cor_btree_entry *entries, size_t n,
                    struct cor_btree_staged *ret_staged);
void cor_btree_commit(struct cor_btree *t, struct cor_btree_staged staged);
void cor_btree_discard(struct cor_btree *t, struct cor_btree_staged staged);

/* Makes sure that the item of `key` can be replaced or removed without an allocation, until the
 * next snapshot: its path is copied now where a snapshot shows it. 0, -COR_ENOTFOUND or
 * -COR_ENOMEM. */
int cor_btree_own(struct cor_btree *t, struct cor_str key);

/* Empties the tree in O(1); the items go by cor_btree_reclaim(). */
void cor_btree_clear(struct cor_btree *t);

/* Frees at most `max_nodes` nodes that nothing reads any more, and drops the items that went with
 * them (at most 62 a node). True while there is more to do. Call it after clear, replace and now
 * and then: releasing a snapshot leaves all work to it. */
bool cor_btree_reclaim(struct cor_btree *t, size_t max_nodes);

/* Memory of all nodes: the tree's, what only snapshots show, and what waits for reclaim. */
size_t cor_btree_bytes(const struct cor_btree *t);

/* Snapshots with a reference left. */
size_t cor_btree_snapshots(struct cor_btree *t);

/* The present state with one reference, in O(1); two callers without a change between them share
 * one snapshot. 0 or -COR_ENOMEM. */
int cor_btree_snapshot(struct cor_btree *t, struct cor_btree_snap **ret_snap);

struct cor_btree_snap *cor_btree_snap_ref(struct cor_btree_snap *s);

/* O(1), frees no node and drops no item. Returns NULL. */
struct cor_btree_snap *cor_btree_snap_unref(struct cor_btree_snap *s);
COR_DEFINE_CLEANUP(struct cor_btree_snap, cor_btree_snap_unref)

/* A state to read: a snapshot's, valid while a reference to it is held, or the live tree's, valid
 * on the writer's thread until the next change. What the functions below hand out is borrowed for
 * that time. */
struct cor_btree_view {
    const struct cor_btree_type *type;
    const struct cor_btree_node *root; /* NULL: empty */
};

struct cor_btree_view cor_btree_live(const struct cor_btree *t);
struct cor_btree_view cor_btree_snap_view(const struct cor_btree_snap *s);

size_t cor_btree_count(struct cor_btree_view v);
bool cor_btree_peek(struct cor_btree_view v, struct cor_str key, struct cor_btree_entry *ret);

/* The entry with `rank` others before it; false past the end. */
bool cor_btree_peek_nth(struct cor_btree_view v, size_t rank, struct cor_btree_entry *ret);

/* Entries with a key below `key`, and those plus the ones that begin with `prefix`: O(log n). */
size_t cor_btree_rank(struct cor_btree_view v, struct cor_str key);
size_t cor_btree_rank_past(struct cor_btree_view v, struct cor_str prefix);

/* A position between two entries of a range. It needs no release and does not allocate. */
struct cor_btree_iter {
    struct cor_btree_entry entry; /* the one last passed */
    const struct cor_btree_node *root, *leaf;
    const struct cor_btree_type *type;
    size_t begin, end, at; /* ranks: the range is [begin, end), `at` comes next */
    unsigned i;            /* of `at` in `leaf` */
};

/* Each starts before the first entry of its range: keys in [from, end), all from `from` on when
 * `end.p` is NULL, or keys that begin with `prefix`. */
void cor_btree_iter_range(struct cor_btree_iter *it, struct cor_btree_view v, struct cor_str from,
                          struct cor_str end);
void cor_btree_iter_prefix(struct cor_btree_iter *it, struct cor_btree_view v,
                           struct cor_str prefix);

/* Moves before the first entry >= `key`, or before the entry of this rank in the whole view; a
 * target outside the range means its nearer end. */
void cor_btree_iter_seek(struct cor_btree_iter *it, struct cor_str key);
void cor_btree_iter_seek_rank(struct cor_btree_iter *it, size_t rank);

/* Passes one entry and shows it in it->entry; false at the end of the range, with it->entry as it
 * was. */
bool cor_btree_iter_next(struct cor_btree_iter *it);

/* Passes entries up to and including the next with (fingerprint & mask) == mask, and touches no
 * item on the way. */
bool cor_btree_iter_next_covering(struct cor_btree_iter *it, uint64_t mask);

/* Entries of the range that next has still to pass. */
static inline size_t cor_btree_iter_remaining(const struct cor_btree_iter *it)
{
    return it->end - it->at;
}

#endif
