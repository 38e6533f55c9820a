/* clang-format off */
/* Kept items of lists in protobuf.
 *
 *   cor_protobuf_cache_use ──► found: a reference, and the item moves to the end of its shard
 *          │ not found: the caller makes the item
 *          ▼
 *   cor_protobuf_cache_add ──► room in the shard ──► a copy of the bytes ──► into the shard
 *
 * An item is read without the lock: it is immutable, and its readers have references. The copy is
 * made without the lock, too, so that another loop may have added the same item meanwhile; then the
 * copy is dropped.
 *
 * Each loop that adds an item sets its timer, which looks for unused items of all shards and is set
 * again while anything is kept. An empty cache has no timer. Without memory for the timer, unused
 * items stay until the next item is added.
 *
 * Failures: none is reported. What cannot be kept is made again by the next list. */
/* clang-format on */
#include "server/shared/protobuf_cache.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "loop/loop.h"

/* Items that one turn of a loop drops: a fraction of a millisecond. */
#define DROPS_AT_ONCE 1024
/* When the next turn goes on. */
#define SWEEP_AGAIN_MS 1

struct cor_protobuf_item *cor_protobuf_item_unref(struct cor_protobuf_item *item)
{
    if (item && cor_ref_put(&item->ref)) {
        cor_object_unref(item->key.object);
        cor_free(item);
    }
    return NULL;
}

static void item_drop(struct cor_lru_link *take)
{
    cor_protobuf_item_unref(COR_CONTAINER_OF(take, struct cor_protobuf_item, link));
}

static size_t item_cost(const struct cor_object *object, size_t n)
{
    return n + object->len + COR_PROTOBUF_ITEM_OVERHEAD;
}

void cor_protobuf_cache_init(struct cor_protobuf_cache *cache, size_t bytes_max)
{
    size_t max = bytes_max / COR_PROTOBUF_SHARDS;

    assert(bytes_max <= COR_PROTOBUF_FLAG_MAX);
    cache->bytes_max = bytes_max;
    for (size_t i = 0; i < COR_PROTOBUF_SHARDS; i++) {
        struct cor_protobuf_shard *shard = &cache->shards[i];

        *shard = (struct cor_protobuf_shard){.max = max};
        cor_lock_init(&shard->lock, COR_LOCK_PROTOBUF_CACHE);
        /* The bytes are the maximum that counts: by them there are never so many items. */
        cor_lru_init(&shard->items, max / COR_PROTOBUF_ITEM_OVERHEAD + 1, item_drop);
    }
}

void cor_protobuf_cache_deinit(struct cor_protobuf_cache *cache)
{
    for (size_t i = 0; i < COR_PROTOBUF_SHARDS; i++) {
        cor_lru_deinit(&cache->shards[i].items);
        cor_lock_deinit(&cache->shards[i].lock);
    }
}

/* Objects are at least 16 bytes apart; the multiplication mixes the bits above. */
static struct cor_protobuf_shard *shard_of(struct cor_protobuf_cache *cache,
                                           const struct cor_object *object)
{
    uint64_t mixed = ((uint64_t)(uintptr_t)object >> 4) * UINT64_C(0x9e3779b97f4a7c15);

    _Static_assert(COR_PROTOBUF_SHARDS == 1 << 4, "the upper four bits choose the shard");
    return &cache->shards[mixed >> 60];
}

static struct cor_str key_bytes(const struct cor_protobuf_item_key *key)
{
    return cor_str((const char *)key, sizeof(*key));
}

/* The least recently used item; NULL: there is none. Under the lock. */
static struct cor_protobuf_item *shard_oldest(const struct cor_protobuf_shard *shard)
{
    if (cor_dlist_empty(&shard->items.order))
        return NULL;
    return COR_CONTAINER_OF(shard->items.order.next, struct cor_protobuf_item, link.link);
}

/* Under the lock. */
static void shard_drop(struct cor_protobuf_shard *shard, struct cor_protobuf_item *item)
{
    size_t cost = item_cost(item->key.object, item->n);

    assert(shard->bytes >= cost);
    shard->bytes -= cost;
    cor_lru_drop(&shard->items, &item->link);
}

/* Drops items that were last used before `since_ms` until `cost` more bytes fit. Under the lock. */
static bool shard_make_room(struct cor_protobuf_shard *shard, size_t cost, uint64_t since_ms)
{
    while (shard->bytes + cost > shard->max) {
        struct cor_protobuf_item *oldest = cost <= shard->max ? shard_oldest(shard) : NULL;

        if (!oldest || oldest->used_ms >= since_ms)
            return false;
        shard_drop(shard, oldest);
    }
    return true;
}

struct cor_protobuf_item *cor_protobuf_cache_use(struct cor_protobuf_cache_loop *part,
                                                 const struct cor_protobuf_item_key *key)
{
    struct cor_protobuf_shard *shard = shard_of(part->cache, key->object);
    uint64_t now_ms = cor_loop_now_ms(part->timer.loop);
    struct cor_protobuf_item *item = NULL;
    struct cor_lru_link *link;

    assert(key->row && !key->row->life && key->type && cor_loop_is_current(part->timer.loop));
    cor_lock_acquire(&shard->lock);
    link = cor_lru_use(&shard->items, key_bytes(key));
    if (link) {
        item = COR_CONTAINER_OF(link, struct cor_protobuf_item, link);
        item->used_ms = now_ms;
        cor_ref_get(&item->ref);
        shard->hits++;
    } else {
        shard->misses++;
    }
    cor_lock_release(&shard->lock);
    return item;
}

static struct cor_protobuf_item *item_new(const struct cor_protobuf_item_key *key,
                                          struct cor_str bytes, uint64_t now_ms)
{
    struct cor_protobuf_item *item = cor_alloc(sizeof(*item) + bytes.n);

    if (!item)
        return NULL;
    *item = (struct cor_protobuf_item){.used_ms = now_ms, .key = *key, .n = bytes.n};
    (void)cor_object_ref(key->object);
    cor_ref_init(&item->ref);
    item->link.key = key_bytes(&item->key);
    memcpy(item->bytes, bytes.p, bytes.n);
    return item;
}

void cor_protobuf_cache_add(struct cor_protobuf_cache_loop *part,
                            const struct cor_protobuf_item_key *key, struct cor_str bytes,
                            uint64_t since_ms)
{
    struct cor_protobuf_shard *shard = shard_of(part->cache, key->object);
    size_t cost = item_cost(key->object, bytes.n);
    struct cor_protobuf_item *item;
    bool is_added = false;

    assert(bytes.n > 0 && key->row && !key->row->life && key->type);
    assert(cor_loop_is_current(part->timer.loop));
    /* A list that is longer than the maximum is refused here, and does not copy its items. */
    if (!COR_LOCKED(&shard->lock, shard_make_room(shard, cost, since_ms)))
        return;
    item = item_new(key, bytes, cor_loop_now_ms(part->timer.loop));
    if (!item)
        return;
    cor_lock_acquire(&shard->lock);
    if (!cor_lru_use(&shard->items, key_bytes(key)) && shard_make_room(shard, cost, since_ms) &&
        cor_lru_add(&shard->items, &item->link) == 0) {
        shard->bytes += cost;
        is_added = true;
    }
    cor_lock_release(&shard->lock);
    if (!is_added)
        cor_protobuf_item_unref(item);
    else if (!cor_timer_is_set(&part->timer))
        (void)cor_timer_set(&part->timer, COR_PROTOBUF_SWEEP_MS);
}

size_t cor_protobuf_cache_drop_unused(struct cor_protobuf_cache *cache, uint64_t before_ms,
                                      size_t nmax)
{
    size_t n = 0;

    for (size_t i = 0; i < COR_PROTOBUF_SHARDS && n < nmax; i++) {
        struct cor_protobuf_shard *shard = &cache->shards[i];
        struct cor_protobuf_item *oldest;

        cor_lock_acquire(&shard->lock);
        while (n < nmax && (oldest = shard_oldest(shard)) && oldest->used_ms < before_ms) {
            shard_drop(shard, oldest);
            n++;
        }
        cor_lock_release(&shard->lock);
    }
    return n;
}

struct cor_protobuf_cache_stats cor_protobuf_cache_stats(struct cor_protobuf_cache *cache)
{
    struct cor_protobuf_cache_stats stats = {0};

    for (size_t i = 0; i < COR_PROTOBUF_SHARDS; i++) {
        struct cor_protobuf_shard *shard = &cache->shards[i];

        cor_lock_acquire(&shard->lock);
        stats.bytes += shard->bytes;
        stats.hits += shard->hits;
        stats.misses += shard->misses;
        cor_lock_release(&shard->lock);
    }
    return stats;
}

static void cache_on_timer(struct cor_timer *timer)
{
    struct cor_protobuf_cache_loop *part =
        COR_CONTAINER_OF(timer, struct cor_protobuf_cache_loop, timer);
    uint64_t now_ms = cor_loop_now_ms(timer->loop);
    uint64_t before_ms = now_ms > COR_PROTOBUF_UNUSED_MS ? now_ms - COR_PROTOBUF_UNUSED_MS : 0;

    if (cor_protobuf_cache_drop_unused(part->cache, before_ms, DROPS_AT_ONCE) == DROPS_AT_ONCE)
        (void)cor_timer_set(timer, SWEEP_AGAIN_MS);
    else if (cor_protobuf_cache_stats(part->cache).bytes > 0)
        (void)cor_timer_set(timer, COR_PROTOBUF_SWEEP_MS);
}

void cor_protobuf_cache_loop_init(struct cor_protobuf_cache_loop *part,
                                  struct cor_protobuf_cache *cache, struct cor_loop *loop)
{
    part->cache = cache;
    cor_timer_init(&part->timer, loop, cache_on_timer);
}

void cor_protobuf_cache_loop_deinit(struct cor_protobuf_cache_loop *part)
{
    if (part->cache)
        cor_timer_cancel(&part->timer);
}
