/* Which feeds want a key. An array sorted by the ranges' starts in which every range knows the
 * nearest one before it that holds its start; so a key costs a binary search and the ranges around
 * it, not all feeds. Thread: the engine's.  Owner: the engine. */
#ifndef COR_STORAGE_FEED_INDEX_H
#define COR_STORAGE_FEED_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct cor_feed_range {
    struct cor_str key, end; /* [key, end) */
};

/* Makes the range of bytes copied to `bytes`, which has room for both and one more. One key (`end`
 * is empty) is the range up to the key with a NUL after it. */
void cor_feed_range_copy(struct cor_feed_range *range, char *bytes, struct cor_str key,
                         struct cor_str end);

struct cor_feed_slot {
    struct cor_feed_range *range;
    size_t parent; /* SIZE_MAX: none */
};

struct cor_feed_index {
    struct cor_feed_slot *slots;
    size_t n, cap;
    bool stale; /* slots have changed: the parents are computed before the next walk */
};

/* A zeroed index is empty. 0 or -COR_ENOMEM. */
int cor_feed_index_add(struct cor_feed_index *ix, struct cor_feed_range *range);
void cor_feed_index_remove(struct cor_feed_index *ix, struct cor_feed_range *range);
void cor_feed_index_deinit(struct cor_feed_index *ix);

/* Walks the ranges that hold `key`: begin with `*at` = SIZE_MAX, NULL ends. The index must not
 * change meanwhile. */
struct cor_feed_range *cor_feed_index_next(struct cor_feed_index *ix, struct cor_str key,
                                           size_t *at);

#endif
