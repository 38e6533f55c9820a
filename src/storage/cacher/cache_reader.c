/* The reader: one cacher as one loop reads it. The operations have files of their own:
 * cache_reader_get.c, cache_reader_list.c, cache_watch.c.
 *
 * Every read is answered from the cache, or by the store when the cache cannot answer it. What the
 * store answers is reported to the cachers (cor_cachers_saw()) before the client gets it, so that
 * later consistent reads of the cache are not older.
 *
 * Thread: the loop's. */
#include "base/mem.h"
#include "storage/cacher/cache_reader_int.h"

void cor_cacher_reader_ask_back(struct cacher_reader *reader)
{
    atomic_store(&reader->asked_back, true);
}

void cor_cacher_reader_update(struct cacher_reader *reader)
{
    assert(cor_loop_is_current(reader->loop->loop));
    cor_cacher_dispatch(reader);
    if (!atomic_load_explicit(&reader->asked_back, memory_order_relaxed))
        return;
    atomic_store(&reader->asked_back, false);
    cor_cacher_watches_let_go(reader);
    cor_cacher_cursors_let_go(reader);
}

uint64_t cor_cacher_reader_needs(const struct cacher_reader *reader)
{
    return atomic_load(&reader->needs);
}

struct cor_cacher_reader_stats cor_cacher_reader_stats(const struct cor_reader *base)
{
    const struct cacher_counts *c = &((const struct cacher_reader *)base)->counts;

    return (struct cor_cacher_reader_stats){
        .events = atomic_load_explicit(&c->events, memory_order_relaxed),
        .visits = atomic_load_explicit(&c->visits, memory_order_relaxed),
        .walked = atomic_load_explicit(&c->walked, memory_order_relaxed),
        .deliveries = atomic_load_explicit(&c->deliveries, memory_order_relaxed),
        .evicted = atomic_load_explicit(&c->evicted, memory_order_relaxed),
        .idle = atomic_load_explicit(&c->idle, memory_order_relaxed),
        .lagging = atomic_load_explicit(&c->lagging, memory_order_relaxed),
    };
}

/* Nothing is suggested for a key that the cache does not have, or while the cache is not ready. */
static struct cor_object *reader_suggest(struct cor_reader *base, struct cor_str key)
{
    struct cacher_reader *reader = cacher_reader_of(base);
    COR_CLEANUP(store_key_deinit) struct store_key physical = {0};
    bool unreadable;

    if (!cor_cacher_is_ready(reader->cacher) ||
        cor_store_key_init(&physical, reader->store, key, false, NULL) < 0)
        return NULL;
    return cor_watch_cache_get(&reader->cacher->cache, store_key_str(&physical), &unreadable);
}

static void reader_free(struct cor_reader *base)
{
    struct cacher_reader *reader = cacher_reader_of(base);
    struct cor_cacher *cacher = reader->cacher;

    assert(reader->busy == 0 && cor_loop_is_current(reader->loop->loop));
    assert(reader->started == 0 && reader->extending == 0 && reader->nreplays == 0);
    cor_lock_acquire(&cacher->cache.lock);
    cacher->readers[reader->loop - cacher->cachers->loops] = NULL;
    cor_lock_acquire(&reader->loop->lock);
    cor_dlist_remove(&reader->dirty);
    cor_lock_release(&reader->loop->lock);
    cor_lock_release(&cacher->cache.lock);
    cor_cacher_watch_index_deinit(&reader->index);
    cor_reader_free(reader->raw);
    cor_free(reader);
}

static const struct cor_reader_ops reader_ops = {
    .get = cor_cacher_reader_get,
    .list = cor_cacher_reader_list,
    .watch = cor_cacher_reader_watch,
    .suggest = reader_suggest,
    .free = reader_free,
};

static struct cachers_loop *find_loop(struct cor_cachers *cachers, const struct cor_loop *loop)
{
    for (size_t i = 0; i < cachers->nloops; i++) {
        if (cachers->loops[i].loop == loop)
            return &cachers->loops[i];
    }
    return NULL;
}

int cor_cacher_reader_new(struct cor_cacher *cacher, struct cor_store *store,
                          struct cor_reader **ret_reader)
{
    struct cacher_reader *reader = cor_calloc(1, sizeof(*reader));

    if (!reader)
        return -COR_ENOMEM;
    if (cor_store_reader_new(store, &reader->raw) < 0) {
        cor_free(reader);
        return -COR_ENOMEM;
    }
    reader->base.ops = &reader_ops;
    reader->cacher = cacher;
    reader->store = store;
    reader->loop = find_loop(cacher->cachers, store->loop);
    assert(reader->loop && cor_loop_is_current(store->loop));
    cor_dlist_init(&reader->dirty);
    cor_dlist_init(&reader->watches);
    cor_dlist_init(&reader->cursors);
    cor_dlist_init(&reader->replays);
    cor_cacher_watch_index_init(&reader->index, store_key_str(&cacher->prefix),
                                &cacher->cachers->bytes);
    store_turn_init(&reader->turn, store->loop, cor_cacher_dispatch_on_turn);
    atomic_init(&reader->needs, UINT64_MAX);
    cor_lock_acquire(&cacher->cache.lock);
    assert(!cacher->readers[reader->loop - cacher->cachers->loops]);
    cacher->readers[reader->loop - cacher->cachers->loops] = reader;
    cor_lock_release(&cacher->cache.lock);
    *ret_reader = &reader->base;
    return 0;
}
