/* Inside cacher/: the keys that a walk over a snapshot visits. A walk has a prefix, and its
 * predicate may narrow it further: the namespace, the name, or the value of a trigger field. So the
 * walk costs what it selects, and not what the cache has.
 * Thread: any.  Owner: a local of whoever begins a walk; it is not needed after that. */
#ifndef COR_STORAGE_CACHER_CACHE_RANGE_H
#define COR_STORAGE_CACHER_CACHE_RANGE_H

#include "base/limits.h"
#include "meta/names/key.h"
#include "meta/select/predicate.h"
#include "storage/cacher/snapshot.h"

struct cache_range {
    struct cor_str prefix;            /* borrowed, or `text` */
    bool is_key;                      /* the prefix is the only key */
    char text[COR_KEY_BYTES_MAX + 1]; /* with a NUL */
};

/* The keys that begin with `prefix` and that `predicate` (NULL: everything) can select. `prefix` is
 * borrowed. */
void cor_cache_range_init(struct cache_range *range, const struct cor_watch_cache *c,
                          struct cor_str prefix, const struct cor_predicate *predicate);

/* Is the key in the range, if it is not below the prefix? */
static inline bool cache_range_has(const struct cache_range *range, struct cor_str key)
{
    return range->is_key ? cor_str_eq(key, range->prefix) : cor_str_starts(key, range->prefix);
}

/* The indexes that have a value to look up, as bits. */
unsigned cor_cache_range_indexes(const struct cor_watch_cache *c,
                                 const struct cor_predicate *predicate);

/* Puts the iterator before the first entry of the range at or behind the key `from`, in the tree or
 * in the index that has the fewest entries of the range. */
void cor_cache_range_seek(const struct cache_range *range, const struct cor_cache_snapshot *s,
                          const struct cor_predicate *predicate, struct cor_str from,
                          struct cor_btree_iter *ret_it);

#endif
