/* The indexes of a watch cache: beside the tree by key, one tree for each trigger field, by value
 * and key. They hold the same entries and change with the tree, so that roots taken together show
 * one state, and a list of one value is a range of an index. An object without the field is in no
 * index of it.
 *
 * An entry costs 17 to 25 bytes in each index that it is in, and its value and three bytes; from
 * the second field on also its key once more.
 *
 * Thread: the writer, with the watch cache's lock held where others may take roots; a root as a
 * snapshot of the tree.  Owner: its watch cache. */
#ifndef COR_STORAGE_CACHER_FIELD_INDEX_H
#define COR_STORAGE_CACHER_FIELD_INDEX_H

#include "storage/cacher/cache_entry.h"

struct cor_field_index {
    size_t n; /* as the triggers; all entries have as many */
    struct cor_btree *trees[COR_TRIGGERS_MAX];
};

/* 0 or -COR_ENOMEM, after which only deinit may follow. */
int cor_field_index_init(struct cor_field_index *ix, size_t n);
void cor_field_index_deinit(struct cor_field_index *ix); /* all zero is fine */

/* Takes `old` (NULL: there was none) out and puts `now` in. 0, or -COR_ENOMEM: nothing changed. */
int cor_field_index_put(struct cor_field_index *ix, struct cor_cache_entry *old,
                        struct cor_cache_entry *now);

/* Makes sure that cor_field_index_remove() of the entry cannot fail until the next root is taken. 0
 * or -COR_ENOMEM. */
int cor_field_index_own(struct cor_field_index *ix, const struct cor_cache_entry *old);
void cor_field_index_remove(struct cor_field_index *ix, const struct cor_cache_entry *old);

/* New content, of entries in key order, made before and then taken over in one step. One of commit
 * and deinit follows, and deinit after commit is harmless. 0, or -COR_ENOMEM: there is nothing to
 * commit. */
struct cor_field_index_staged {
    struct cor_field_index *ix; /* NULL: none */
    struct cor_btree_entry *entries[COR_TRIGGERS_MAX];
    struct cor_btree_staged trees[COR_TRIGGERS_MAX];
    size_t n; /* trees that are staged */
};
int cor_field_index_stage(struct cor_field_index *ix, const struct cor_btree_entry *entries,
                          size_t n, struct cor_field_index_staged *ret_staged);
void cor_field_index_commit(struct cor_field_index_staged *staged);
void cor_field_index_staged_deinit(struct cor_field_index_staged *staged);

void cor_field_index_clear(struct cor_field_index *ix);
/* As cor_btree_reclaim(), over all trees. */
bool cor_field_index_reclaim(struct cor_field_index *ix, size_t max_nodes);
/* The memory of nodes beyond what the present entries need with `entry_bytes` each. */
size_t cor_field_index_extra_bytes(const struct cor_field_index *ix, size_t entry_bytes);

/* Roots of the indexes, taken with one of the tree. */
struct cor_field_roots {
    struct cor_btree_snap *snaps[COR_TRIGGERS_MAX]; /* NULL: that one was not wanted */
};
/* Of the indexes whose bits are set in `wanted`. 0, or -COR_ENOMEM: none is taken. */
int cor_field_roots_take(const struct cor_field_index *ix, unsigned wanted,
                         struct cor_field_roots *ret_roots);
/* The same roots once more, as far as they are wanted and `from` has them. */
void cor_field_roots_ref(const struct cor_field_roots *from, unsigned wanted,
                         struct cor_field_roots *ret_roots);
void cor_field_roots_deinit(struct cor_field_roots *roots); /* all zero is fine */

#endif
