/* What leaves the watch caches. The writer decides after every batch, in this order:
 *
 * 1. Events that are older than 75 s leave, except for the last 100 or so of a resource. Here and
 *    below, events of one revision leave together. Roots leave with the events that they need, and
 *    so do roots below the compacted revision of the engine.
 * 2. Nodes and items that nothing shows any more are freed, a bounded number per batch.
 * 3. When the history of all resources and what snapshots alone hold exceed the byte budget: while
 *    snapshots hold more than half of it, or no event may leave, the oldest snapshot goes. The loop
 *    of its list or watch is asked to end it. A snapshot is left one second from when the budget
 *    first asked for it, so that a list that is read at full speed can end by itself.
 * 4. Otherwise the oldest segment of all resources leaves; history that was put in front of a
 *    window counts as older than everything else. While a lagging watch still needs it, this is put
 *    off for as long as the time budget lasts.
 *
 * Nothing here allocates, so nothing fails. When nothing may leave, the budget stays exceeded: by
 * what is written in one second, or by the last events of every resource.
 *
 * Thread: the writer's. It alone changes windows, so it may read them without the lock. */
#include "storage/cacher/cacher_int.h"

#include "base/clock.h"

#define RECLAIM_NODES 64
#define PIN_GRACE_MS  1000
/* There may be many pins, so they are looked at no more often than this. */
#define PIN_LOOK_MS 100

/* Brings the total up to date with this cacher's history. */
static void weigh(struct cor_cachers *c, struct cor_cacher *cacher)
{
    size_t bytes = cor_watch_cache_history_bytes(&cacher->cache);

    atomic_fetch_add(&c->bytes, bytes - cacher->bytes);
    cacher->bytes = bytes;
}

static uint64_t last_ms(const struct cor_window_segment *segment)
{
    return segment->events[segment->end - 1].at_ms;
}

static void evict_stale(struct cor_cacher *cacher, uint64_t now_ms)
{
    struct cor_window_segment *oldest;

    while ((oldest = cor_window_peek_stale(&cacher->cache.window)) &&
           last_ms(oldest) + EVENT_FRESH_MS < now_ms)
        cor_watch_cache_evict_stale(&cacher->cache);
}

/* History that was put in front of a window goes before everything else: it can be read again, and
 * should cost no other window its events. */
static uint64_t age_of(const struct cor_cacher *cacher, const struct cor_window_segment *oldest)
{
    return oldest->number < cacher->cache.history_end ? 0 : last_ms(oldest);
}

/* The cacher whose oldest segment that may leave is the oldest of all; NULL: none may. */
static struct cor_cacher *find_oldest(struct cor_cachers *c)
{
    struct cor_cacher *found = NULL;
    uint64_t found_ms = UINT64_MAX;

    for (size_t i = 0; i < c->nsorted; i++) {
        struct cor_window_segment *oldest = cor_window_peek_oldest(&c->sorted[i]->cache.window);

        if (oldest && age_of(c->sorted[i], oldest) < found_ms) {
            found = c->sorted[i];
            found_ms = age_of(c->sorted[i], oldest);
        }
    }
    return found;
}

/* Does a watch of any loop still need the oldest segment? */
static bool is_needed(struct cor_cachers *c, struct cor_cacher *cacher)
{
    uint64_t end = cor_window_oldest_end(&cacher->cache.window);
    uint64_t needed = UINT64_MAX;

    cor_lock_acquire(&cacher->cache.lock);
    for (size_t l = 0; l < c->nloops; l++) {
        uint64_t number =
            cacher->readers[l] ? cor_cacher_reader_needs(cacher->readers[l]) : UINT64_MAX;

        needed = number < needed ? number : needed;
    }
    cor_lock_release(&cacher->cache.lock);
    return needed < end;
}

/* By how many bytes the budget is exceeded. */
static size_t over(const struct cor_cachers *c)
{
    size_t used = atomic_load(&c->bytes) + atomic_load(&c->pins.held);

    return used > c->bytes_max ? used - c->bytes_max : 0;
}

/* The oldest charged snapshot whose owner may be asked for it now. The second of grace of every
 * charged one begins here. */
static struct cor_pin *find_pin_locked(struct cor_cacher *cacher, uint64_t now_ms)
{
    const struct cor_pins *pins = &cacher->cache.pins;
    struct cor_pin *pin = cor_pins_oldest_locked(pins), *found = NULL;

    for (; pin; pin = cor_pins_younger_locked(pins, pin)) {
        if (pin->due_ms == 0)
            pin->due_ms = now_ms + PIN_GRACE_MS;
        if (!found && pin->owner && !pin->is_leaving && pin->due_ms <= now_ms)
            found = pin;
    }
    return found;
}

/* The cacher with the oldest such snapshot. The store's revision orders those of all cachers. */
static struct cor_cacher *find_oldest_pinned(struct cor_cachers *c, uint64_t now_ms)
{
    struct cor_cacher *found = NULL;
    cor_rev found_rev = UINT64_MAX;

    for (size_t i = 0; i < c->nsorted; i++) {
        struct cor_cacher *cacher = c->sorted[i];
        const struct cor_pin *pin;

        cor_lock_acquire(&cacher->cache.lock);
        pin = find_pin_locked(cacher, now_ms);
        if (pin && pin->rev < found_rev) {
            found = cacher;
            found_rev = pin->rev;
        }
        cor_lock_release(&cacher->cache.lock);
    }
    return found;
}

/* Asks the owners of the oldest snapshots of one cacher to release them, until the budget is met or
 * no owner is left to ask. Their bytes do not count against the budget from now on. False: there
 * was no such snapshot. */
static bool ask_back(struct cor_cachers *c)
{
    uint64_t now_ms = cor_cachers_now_ms(c);
    struct cor_cacher *cacher;
    struct cor_pins *pins;
    struct cor_pin *pin;

    if (atomic_load(&c->pins.held) == 0 || now_ms < c->pins_due_ms)
        return false;
    cacher = find_oldest_pinned(c, now_ms);
    if (!cacher) {
        c->pins_due_ms = now_ms + PIN_LOOK_MS;
        return false;
    }
    pins = &cacher->cache.pins;
    cor_lock_acquire(&cacher->cache.lock);
    for (pin = find_pin_locked(cacher, now_ms); pin && over(c);
         pin = cor_pins_younger_locked(pins, pin)) {
        if (!pin->owner || pin->is_leaving || pin->due_ms > now_ms)
            continue;
        cor_pins_leave_locked(pins, pin);
        cor_cacher_reader_ask_back(pin->owner);
    }
    cor_lock_release(&cacher->cache.lock);
    cacher->touched = true;
    return true;
}

static void evict_by_bytes(struct cor_cachers *c)
{
    while (over(c) > 0) {
        bool much = atomic_load(&c->pins.held) > c->bytes_max / 2;
        struct cor_cacher *oldest;
        uint64_t now_us;

        if (much && ask_back(c))
            continue;
        oldest = find_oldest(c);
        if (!oldest && !much && ask_back(c))
            continue;
        if (!oldest)
            break;
        now_us = cor_clock_mono_us(c->clock);
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

bool cor_cachers_evict(struct cor_cachers *c)
{
    uint64_t now_ms = cor_cachers_now_ms(c);
    size_t budget = RECLAIM_NODES;
    bool more = false;

    assert(c->is_writing);
    for (size_t i = 0; i < c->nsorted; i++) {
        struct cor_cacher *cacher = c->sorted[i];

        if (!cacher->changed && !c->sweep)
            continue;
        if (cacher->cache.compact_rev < c->compact_rev)
            cor_watch_cache_compact(&cacher->cache, c->compact_rev);
        evict_stale(cacher, now_ms);
        cacher->changed = cor_watch_cache_reclaim(&cacher->cache, budget);
        more |= cacher->changed;
        budget = cacher->changed ? 1 : budget;
        weigh(c, cacher);
    }
    c->sweep = false;
    evict_by_bytes(c);
    return more;
}
