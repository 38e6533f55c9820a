/* What leaves the caches, decided by the writer after every batch:
 *
 * 1. Events that are older than 75 s, but for the last 100 and some of a resource.
 * 2. When the history of all resources together weighs more than the budget: the oldest segment of
 *    all, but for the last 100 and some events of a resource. While lagging watchers still need it,
 *    this is put off, for as long as the time budget lasts.
 * 3. Roots whose events have gone, and roots below the engine's compacted revision.
 * 4. Nodes and items that nothing shows any more, a bounded number per batch. */
#include "storage/cacher/cacher_int.h"

#include "base/clock.h"

#define RECLAIM_NODES 64

static void weigh(struct cor_caches *c, struct cor_cacher *cacher)
{
    size_t bytes = cor_watch_cache_history_bytes(&cacher->cache);

    atomic_fetch_add(&c->bytes, bytes - cacher->bytes);
    cacher->bytes = bytes;
}

static uint64_t last_ms(const struct cor_window_segment *segment)
{
    return segment->events[segment->end - 1].at_ms;
}

/* The writer alone changes the window: it may look without the lock. */
static void evict_stale(struct cor_cacher *cacher, uint64_t now_ms)
{
    struct cor_window_segment *oldest;

    while ((oldest = cor_window_peek_oldest(&cacher->cache.window)) &&
           last_ms(oldest) + EVENT_FRESH_MS < now_ms)
        cor_watch_cache_evict(&cacher->cache);
}

static struct cor_cacher *find_oldest(struct cor_caches *c)
{
    struct cor_cacher *found = NULL;
    uint64_t found_ms = UINT64_MAX;

    for (size_t i = 0; i < c->ncachers; i++) {
        struct cor_window_segment *oldest = cor_window_peek_oldest(&c->cachers[i]->cache.window);

        if (oldest && last_ms(oldest) < found_ms) {
            found = c->cachers[i];
            found_ms = last_ms(oldest);
        }
    }
    return found;
}

static bool is_needed(struct cor_caches *c, struct cor_cacher *cacher)
{
    struct cor_window_segment *oldest = cor_window_peek_oldest(&cacher->cache.window);
    uint64_t needed = UINT64_MAX;

    pthread_mutex_lock(&cacher->cache.lock);
    for (size_t l = 0; l < c->nloops; l++) {
        uint64_t number = cacher->readers[l] ? cacher_reader_needs(cacher->readers[l]) : UINT64_MAX;

        needed = number < needed ? number : needed;
    }
    pthread_mutex_unlock(&cacher->cache.lock);
    return needed < oldest->number + oldest->end;
}

static void evict_by_bytes(struct cor_caches *c)
{
    struct cor_cacher *oldest;

    while (atomic_load(&c->bytes) > c->bytes_max && (oldest = find_oldest(c))) {
        uint64_t now_us = cor_clock_mono_us(c->clock);

        if (is_needed(c, oldest) && cor_time_budget_wait(&c->time_budget, now_us)) {
            atomic_fetch_add(&c->put_off, 1);
            return;
        }
        cor_watch_cache_evict(&oldest->cache);
        atomic_fetch_add(&c->evicted, 1);
        oldest->touched = true;
        weigh(c, oldest);
    }
    cor_time_budget_rest(&c->time_budget, cor_clock_mono_us(c->clock));
}

bool caches_evict(struct cor_caches *c)
{
    uint64_t now_ms = caches_now_ms(c);
    size_t budget = RECLAIM_NODES;
    bool more = false;

    for (size_t i = 0; i < c->ncachers; i++) {
        struct cor_cacher *cacher = c->cachers[i];

        if (!cacher->changed && !c->sweep)
            continue;
        if (cacher->cache.compact_rev < c->compact_rev)
            cor_watch_cache_compact(&cacher->cache, c->compact_rev);
        evict_stale(cacher, now_ms);
        cacher->changed = cor_btree_reclaim(cacher->cache.tree, budget);
        more |= cacher->changed;
        budget = cacher->changed ? 1 : budget;
        weigh(c, cacher);
    }
    c->sweep = false;
    evict_by_bytes(c);
    return more;
}
