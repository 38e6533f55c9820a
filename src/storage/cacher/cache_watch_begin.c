/* How a watch begins: where it is indexed, at which event it starts, and its initial state.
 *
 *   1. cor_cacher_watch_join(), at the open: the watch joins the bucket of the narrowest thing that
 *      all its events have in common.
 *   2. STARTING: on_open is called, and the bookmark timer is set.
 *   3. FRESHENING: with initial events the cache must first be as young as was asked for.
 *   4. cor_cacher_watch_begin(), with the cache's lock held: from a revision, the watch starts at
 *      the first event after it. With initial events it takes a snapshot and starts behind that.
 *      EXTENDING: the revision lies before the window, and history is put there first
 * (cache_history.c). REPLAYING: it does not fit there, and is read for the watch (replay.c), which
 * then begins again after what it was given.
 *   5. SYNCING delivers the objects of the snapshot, SYNCED the bookmark that ends them. The
 *      snapshot is released, and the watch is WALKING.
 *
 * What fails: each failure ends the stream with an ERROR event. Without memory that is a 500; a
 * revision that the cache does not reach in time is 504 "too large resource version"; a revision
 * that was compacted is 410; when as much history is being read as may be, for its client or for
 * all, it is 429, which is an HTTP status where that is known before the head is sent. When the
 * cache is lost meanwhile, the stream ends plainly.
 *
 * Thread: the reader's loop. */
#include "base/mem.h"
#include "storage/cacher/cache_watch_int.h"
#include "storage/store/store_event.h"

/* Readings of history that may be tried for one watch. A window that is evicted faster than history
 * is put in front of it does not reach back far enough: then the watch is replayed. */
#define HISTORY_TRIES 4
#define BUSY_RETRY_S  1
/* What begin_find_place_locked() has found. */
#define WAITS_FOR_HISTORY 1
#define IS_REPLAYED       2
/* Entries that a step of an initial state may pass over by their notes: about as much work as the
 * look at an object. */
#define SYNC_LOOKS_AT_ONCE 16

int cor_cacher_watch_sync_init(struct cacher_watch *w)
{
    assert(!w->sync);
    w->sync = cor_calloc(1, sizeof(*w->sync));
    if (!w->sync)
        return -COR_ENOMEM;
    w->sync->watch = w;
    cor_dlist_init(&w->sync->of_replay);
    cor_status_init(&w->sync->status);
    return 0;
}

void cor_cacher_watch_sync_deinit(struct cacher_watch *w)
{
    if (!w->sync)
        return;
    assert(!w->sync->replay);
    cor_fresh_wait_cancel(&w->sync->wait);
    cor_cache_snapshot_deinit(&w->sync->snapshot);
    cor_status_deinit(&w->sync->status);
    w->sync = cor_free(w->sync);
}

static void begin_fail_no_memory(struct cacher_watch *w)
{
    cor_store_no_memory(&w->sync->status);
    cor_cacher_watch_end(w, &w->sync->status);
}

static void begin_too_much_history(struct cacher_watch *w)
{
    (void)cor_feed_shares_refuse(&w->reader->cacher->cachers->replays, &w->sync->status);
    cor_cacher_watch_end(w, &w->sync->status);
}

/* The watch begins before the window. WAITS_FOR_HISTORY: until it was put there. IS_REPLAYED: it
 * cannot be put there. Negative: it cannot be read, and the status says why. */
static int begin_want_history_locked(struct cacher_watch *w)
{
    struct cor_cacher *cacher = w->reader->cacher;
    const struct history_wants *wants = &cacher->history;
    struct cor_status *status = &w->sync->status;
    bool is_over = w->reading > 0 && w->reading == wants->done;

    w->tries += is_over && wants->err == 0;
    if (w->plan.rev < wants->floor)
        return cor_status_expired(status, "too old resource version: %llu (%llu)",
                                  (unsigned long long)w->plan.rev,
                                  (unsigned long long)cacher->cache.window.base);
    if (is_over && wants->err < 0 && w->plan.rev <= wants->err_at) {
        if (wants->err == -COR_ENOMEM)
            return cor_store_no_memory(status);
        if (wants->err == -COR_EBUSY)
            return cor_status_too_many_requests(status, "too many feeds of the store are open",
                                                BUSY_RETRY_S);
        return cor_storage_internal(status, "the history since %llu cannot be read: %s",
                                    (unsigned long long)w->plan.rev, cor_err_text(wants->err));
    }
    if (w->tries == HISTORY_TRIES || cor_cacher_history_must_replay_locked(cacher, w->plan.rev))
        return IS_REPLAYED;
    w->reading = cor_cacher_history_want_locked(cacher, w->plan.rev);
    return WAITS_FOR_HISTORY;
}

/* Finds the first event of the watch, and takes the snapshot of its initial state. The cache is
 * complete up to `rev`. WAITS_FOR_HISTORY, IS_REPLAYED: it is before the window. */
static int begin_find_place_locked(struct cacher_watch *w, cor_rev rev)
{
    struct cor_cacher *cacher = w->reader->cacher;
    struct cor_window *window = &cacher->cache.window;

    if (w->plan.initial_events) {
        int r = cor_cache_snapshot_now_locked(&cacher->cache, w->predicate, &w->sync->snapshot);

        if (r < 0)
            return r;
        cor_cache_snapshot_set_owner(&w->sync->snapshot, w->reader);
        w->from = w->sync->snapshot.next;
        w->sync->snapshot.rev = rev;
        return 0;
    }
    w->from = window->next;
    w->min_rev = rev;
    if (w->plan.mode != COR_READ_EXACT)
        return 0;
    if (w->plan.rev < window->base)
        return begin_want_history_locked(w);
    w->from = cor_window_after(window, w->plan.rev);
    w->min_rev = w->plan.rev;
    return 0;
}

static void begin_start(struct cacher_watch *w)
{
    w->started = true;
    w->reader->started++;
    if (!w->plan.initial_events) {
        cor_cacher_watch_sync_deinit(w);
        w->state = WATCH_WALKING;
        cor_cacher_watch_moved(w);
        return;
    }
    cor_cache_iter_init(&w->sync->iter, &w->sync->snapshot, store_key_str(&w->key),
                        store_key_str(&w->key), w->predicate);
    w->state = WATCH_SYNCING;
}

/* Events from the one after `plan.rev` on are read for the watch. */
static void begin_replay(struct cacher_watch *w)
{
    int r;

    w->sync->place = (struct replay_place){w->plan.rev + 1, 0};
    w->min_rev = w->plan.rev;
    r = cor_cacher_replay_join(w);
    if (r == -COR_ENOMEM) {
        begin_fail_no_memory(w);
    } else if (r < 0) {
        begin_too_much_history(w);
    }
}

void cor_cacher_watch_begin(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;
    struct cor_cacher *cacher = reader->cacher;
    cor_rev rev = atomic_load(&cacher->cachers->rev);
    bool ready;
    int r = 0;

    assert(w->state == WATCH_FRESHENING || w->state == WATCH_EXTENDING ||
           w->state == WATCH_REPLAYING);
    if (w->state == WATCH_EXTENDING)
        reader->extending--;
    w->state = WATCH_STARTING;
    cor_lock_acquire(&cacher->cache.lock);
    ready = cacher->ready.state == COR_CACHE_READY && cacher->ready.generation == w->generation;
    rev = rev > cacher->cache.rev ? rev : cacher->cache.rev;
    /* A stream that ends plainly is opened again, and then the store answers: see cache_watch.c. */
    if (ready && atomic_load(&cacher->cache.may_be_blind))
        ready = !cor_watch_cache_is_blind_locked(&cacher->cache, store_key_str(&w->key),
                                                 w->recursive, cor_cacher_watch_first_rev(w));
    if (ready)
        r = begin_find_place_locked(w, rev);
    /* The first watch of a reader says where its loop begins to dispatch. */
    if (ready && r == 0 && reader->started == 0) {
        reader->next = cacher->cache.window.next;
        reader->done_rev = rev;
    }
    cor_lock_release(&cacher->cache.lock);
    if (!ready) {
        cor_cacher_watch_end(w, NULL);
    } else if (r == WAITS_FOR_HISTORY) {
        w->state = WATCH_EXTENDING;
        reader->extending++;
        return;
    } else if (r == IS_REPLAYED) {
        begin_replay(w);
        return;
    } else if (r == -COR_ENOMEM) {
        begin_fail_no_memory(w);
    } else if (r < 0) {
        cor_cacher_watch_end(w, &w->sync->status);
    } else {
        begin_start(w);
    }
    cor_cacher_watch_schedule(w);
}

static void begin_on_fresh(struct fresh_wait *wait, bool in_time)
{
    struct cacher_sync *sync = COR_CONTAINER_OF(wait, struct cacher_sync, wait);
    struct cacher_watch *w = sync->watch;

    if (in_time) {
        cor_cacher_watch_begin(w);
        return;
    }
    if (wait->need == CACHERS_STORE_REV)
        cor_status_set(&sync->status, -COR_EUNREACHABLE, "the store does not tell its revision");
    else
        cor_status_too_large_rv(&sync->status, w->plan.rev > 0 ? w->plan.rev : wait->need,
                                atomic_load(&wait->loop->cachers->rev), TOO_LARGE_RETRY_S);
    cor_cacher_watch_end(w, &sync->status);
}

/* A watch that will be replayed, and has no replay to join. */
static bool begin_is_refused(struct cacher_watch *w)
{
    struct cor_cacher *cacher = w->reader->cacher;
    bool is_replayed;

    if (w->plan.initial_events || w->plan.mode != COR_READ_EXACT)
        return false;
    cor_lock_acquire(&cacher->cache.lock);
    is_replayed = w->plan.rev < cacher->cache.window.base && w->plan.rev >= cacher->history.floor &&
                  cor_cacher_history_must_replay_locked(cacher, w->plan.rev);
    cor_lock_release(&cacher->cache.lock);
    return is_replayed && cor_cacher_replay_is_full(w, w->plan.rev);
}

void cor_cacher_watch_step_starting(struct cacher_watch *w)
{
    struct cor_cachers *cachers = w->reader->cacher->cachers;
    cor_rev need;

    assert(w->state == WATCH_STARTING);
    if (begin_is_refused(w)) {
        begin_too_much_history(w);
        return;
    }
    w->is_open = true;
    w->on_open(w->arg, 0, NULL);
    if (w->state == WATCH_STARTING)
        cor_cacher_watch_set_bookmark_timer(w);
    if (w->state != WATCH_STARTING)
        return;
    w->state = WATCH_FRESHENING;
    need = w->plan.mode == COR_READ_CONSISTENT ? cachers_consistent_rev(cachers)
                                               : cachers_need(w->plan.rev);
    if (!w->plan.initial_events || cachers_have_reached(cachers, need))
        cor_cacher_watch_begin(w);
    else if (cor_fresh_wait_begin(&w->sync->wait, w->reader->loop, need, begin_on_fresh) < 0)
        begin_fail_no_memory(w);
}

/* The next entry that may match; NULL: there is none (*ret_is_over), or none among the next few. */
static struct cor_cache_entry *sync_next(struct cacher_watch *w, bool *ret_is_over)
{
    struct cor_cache_entry *entry;

    *ret_is_over = false;
    for (size_t i = 0; i < SYNC_LOOKS_AT_ONCE; i++) {
        entry = cor_cache_iter_next(&w->sync->iter);
        *ret_is_over = !entry;
        if (!entry || !w->predicate ||
            cor_predicate_may_match(w->predicate, &entry->notes, &w->places))
            return entry;
    }
    return NULL;
}

void cor_cacher_watch_step_syncing(struct cacher_watch *w)
{
    bool is_over;
    struct cor_cache_entry *entry = sync_next(w, &is_over);
    struct cor_reader_event event;
    struct cor_window_event change = {.now = entry};

    if (is_over)
        w->state = WATCH_SYNCED;
    if (!entry)
        return;
    change.rev = entry->object->rev;
    if (cor_cacher_watch_sees(w, &change, &event))
        cor_cacher_watch_deliver(w, &change, &event);
}

void cor_cacher_watch_step_synced(struct cacher_watch *w)
{
    bool wanted = w->plan.end_bookmark;

    /* The callback may pause or close the watch: the next step goes on. */
    w->plan.end_bookmark = false;
    if (wanted) {
        if (cor_store_event_deliver_bookmark(w->reader->store, w->sync->snapshot.rev, true,
                                             w->on_event, w->arg, NULL) < 0)
            begin_fail_no_memory(w);
        return;
    }
    w->min_rev = w->sync->snapshot.rev;
    cor_cacher_watch_sync_deinit(w);
    w->state = WATCH_WALKING;
    cor_cacher_watch_moved(w);
}

/* The bucket. */

static bool is_deep(struct cor_str prefix, size_t from)
{
    size_t depth = 0;

    for (size_t i = from; i < prefix.n; i++)
        depth += prefix.p[i] == '/';
    return depth > WATCH_PREFIX_DEPTH_MAX;
}

int cor_cacher_watch_join(struct cacher_watch *w)
{
    struct cor_cacher *cacher = w->reader->cacher;
    struct watch_index *index = &w->reader->index;
    struct cor_str key = store_key_str(&w->key);
    bool all = key.n <= cacher->prefix.n;
    struct cor_str value;

    assert(!w->bucket);
    cor_watch_cache_places(&cacher->cache, w->predicate, &w->places);
    if (!w->recursive)
        return cor_cacher_watch_index_join(index, BUCKET_KEY, key, &w->bucket);
    /* A name selects one key, where the prefix says all the rest of it. */
    if (w->predicate && all == !cacher->namespaced &&
        cor_predicate_requires(w->predicate, COR_STR("metadata.name"), &value)) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf named;

        cor_buf_init(&named, SIZE_MAX / 2);
        if (cor_buf_adds(&named, key) < 0 || cor_buf_adds(&named, value) < 0)
            return -COR_ENOMEM;
        return cor_cacher_watch_index_join(index, BUCKET_KEY, cor_buf_str(&named), &w->bucket);
    }
    for (unsigned i = 0; w->predicate && i < cacher->triggers.n; i++) {
        if (cor_predicate_requires(w->predicate, cacher->triggers.fields[i], &value) &&
            cor_trigger_text_of(value, &value))
            return cor_cacher_watch_index_join(index, BUCKET_TRIGGER + i, value, &w->bucket);
    }
    if (all || is_deep(key, cacher->prefix.n))
        return cor_cacher_watch_index_join(index, BUCKET_ALL, cor_str("", 0), &w->bucket);
    return cor_cacher_watch_index_join(index, BUCKET_PREFIX, key, &w->bucket);
}
