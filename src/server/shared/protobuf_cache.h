/* Items of lists in protobuf that were made once and are likely to be asked for again: the bytes of
 * an object as a field of a list's message, with the field's tag and length. All loops share them.
 * An item holds a reference to the object that it was made of, so that the object's address is a
 * safe name for it; what is kept counts with both, and with COR_PROTOBUF_ITEM_OVERHEAD.
 *
 * The maximum is divided among COR_PROTOBUF_SHARDS shards, each with a lock of its own, by the
 * object's address. When a shard is full, its least recently used items leave; items that nobody
 * used for COR_PROTOBUF_UNUSED_MS leave too, and with them those of objects that were replaced.
 * Watch caches do not know of any of this: kept items never push out history.
 * Thread: any, except what has a cor_protobuf_cache_loop, which is its loop's.  Owner: the API. */
#ifndef COR_SERVER_PROTOBUF_CACHE_H
#define COR_SERVER_PROTOBUF_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/lru.h"
#include "base/ref.h"
#include "loop/timer.h"
#include "meta/object/object.h"
#include "schema/kinds/resource_row.h"
#include "schema/types/types.h"

#define COR_PROTOBUF_SHARDS 16
/* How often each loop that has added items looks for unused ones, while any are kept. */
#define COR_PROTOBUF_SWEEP_MS 30000
/* What an item costs beside its bytes and its object: the struct, its place in the map, malloc. */
#define COR_PROTOBUF_ITEM_OVERHEAD 256

/* What an item shows, and as which field. All bytes count: there is no padding. */
struct cor_protobuf_item_key {
    struct cor_object *object;          /* as a watch cache has it */
    const struct cor_resource_row *row; /* a built-in one: its version also shapes the metadata */
    const struct cor_type *type;        /* of the item */
    uint64_t number;                    /* of the field */
};
_Static_assert(sizeof(struct cor_protobuf_item_key) == 3 * sizeof(void *) + sizeof(uint64_t),
               "a key has no padding");

/* An item, immutable. */
struct cor_protobuf_item {
    struct cor_ref ref;               /* its shard has one, and everybody who reads it */
    struct cor_lru_link link;         /* under the shard's lock */
    uint64_t used_ms;                 /* under the shard's lock */
    struct cor_protobuf_item_key key; /* its object is a reference */
    size_t n;
    char bytes[];
};

struct cor_protobuf_shard {
    struct cor_lock lock; /* a leaf */
    struct cor_lru items; /* by key */
    size_t bytes, max;
    uint64_t hits, misses;
};

struct cor_protobuf_cache {
    size_t bytes_max; /* 0: nothing is kept */
    struct cor_protobuf_shard shards[COR_PROTOBUF_SHARDS];
};

/* A loop's part. */
struct cor_protobuf_cache_loop {
    struct cor_protobuf_cache *cache;
    struct cor_timer timer; /* set while items are kept that this loop has added */
};

/* `bytes_max` is at most COR_PROTOBUF_FLAG_MAX. Cannot fail. */
void cor_protobuf_cache_init(struct cor_protobuf_cache *cache, size_t bytes_max);
/* No loop's part is in use any more. */
void cor_protobuf_cache_deinit(struct cor_protobuf_cache *cache);

void cor_protobuf_cache_loop_init(struct cor_protobuf_cache_loop *part,
                                  struct cor_protobuf_cache *cache, struct cor_loop *loop);
/* Nothing is added by this loop after this. Harmless when called twice; safe on a zeroed struct. */
void cor_protobuf_cache_loop_deinit(struct cor_protobuf_cache_loop *part);

/* The item, which is now the most recently used one of its shard: a new reference. NULL: it is not
 * kept. */
struct cor_protobuf_item *cor_protobuf_cache_use(struct cor_protobuf_cache_loop *part,
                                                 const struct cor_protobuf_item_key *key);

/* Keeps a copy of `bytes`, unless there is no memory or no room for it. Items that were used at
 * `since_ms` (of cor_loop_now_ms()) or later do not leave for this one: a list that is longer than
 * the maximum passes when it began, and so does not push out its own first items before they are
 * used again. */
void cor_protobuf_cache_add(struct cor_protobuf_cache_loop *part,
                            const struct cor_protobuf_item_key *key, struct cor_str bytes,
                            uint64_t since_ms);

/* Drops items that were last used before `before_ms`, at most `nmax` of them. Their number. */
size_t cor_protobuf_cache_drop_unused(struct cor_protobuf_cache *cache, uint64_t before_ms,
                                      size_t nmax);

struct cor_protobuf_cache_stats {
    size_t bytes;          /* of items, their objects and the overhead */
    uint64_t hits, misses; /* of cor_protobuf_cache_use() */
};
struct cor_protobuf_cache_stats cor_protobuf_cache_stats(struct cor_protobuf_cache *cache);

static inline struct cor_str cor_protobuf_item_bytes(const struct cor_protobuf_item *item)
{
    return cor_str(item->bytes, item->n);
}
struct cor_protobuf_item *
cor_protobuf_item_unref(struct cor_protobuf_item *item); /* NULL is fine */

#endif
