#include "base/mem.h"
#include "storage/cacher/watch_int.h"
#include "storage/store/store_event.h"

#define BOOKMARK_MS          60000
#define BOOKMARK_DEADLINE_MS 2000
/* A window that is evicted faster than history can be put in front of it does not reach back. */
#define HISTORY_TRIES 4
#define BUSY_RETRY_S  1

/* Ways out. */

static void sync_free(struct cacher_watch *w)
{
    if (!w->sync)
        return;
    cor_fresh_wait_cancel(&w->sync->wait);
    cor_cache_snapshot_deinit(&w->sync->snapshot);
    cor_status_deinit(&w->sync->status);
    w->sync = cor_free(w->sync);
}

/* It has no place among the reader's watches any more. */
static void leave(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;

    cor_cacher_watch_unlink(w);
    cor_dlist_remove(&w->all);
    cor_timer_cancel(&w->bookmark_timer);
    if (w->started)
        reader->started--;
    w->started = false;
    if (w->state == WATCH_EXTENDING)
        reader->extending--;
    cor_lock_acquire(&reader->loop->lock);
    reader->nwatches--;
    cor_lock_release(&reader->loop->lock);
}

static bool has_left(const struct cacher_watch *w)
{
    return w->state == WATCH_ENDING || w->state == WATCH_ENDED || w->state == WATCH_CLOSED;
}

/* Has it seen some events of a revision and perhaps not all? One that is idle has, when its loop
 * could not dispatch the rest. */
static bool is_inside_revision(const struct cacher_watch *w)
{
    if (is_behind(w))
        return w->is_inside;
    return w->state == WATCH_IDLE && w->rev > 0 && w->rev == w->reader->cut_rev;
}

void cor_cacher_watch_end(struct cacher_watch *w, struct cor_status *status)
{
    if (has_left(w))
        return;
    w->is_cut = !status && is_inside_revision(w);
    leave(w);
    w->state = WATCH_ENDING;
    w->has_error = status != NULL;
    if (status && status != &w->sync->status)
        cor_status_move(&w->sync->status, status);
    if (w->sync) {
        cor_fresh_wait_cancel(&w->sync->wait);
        cor_cache_snapshot_deinit(&w->sync->snapshot);
    }
    cor_cacher_watch_moved(w);
    cor_cacher_watch_schedule(w);
}

/* One that is not paused is being delivered as fast as its loop can: it is not slow. */
void cor_cacher_watches_let_go(struct cacher_reader *reader)
{
    COR_DLIST_FOREACH_SAFE(link, &reader->watches)
    {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_watch, all);

        if (!w->sync || !cor_cache_snapshot_is_leaving(&w->sync->snapshot))
            continue;
        if (!w->paused) {
            cor_cache_snapshot_stay(&w->sync->snapshot);
            continue;
        }
        cacher_count(&reader->counts.evicted, 1);
        atomic_fetch_add(&reader->cacher->cachers->ended_watches, 1);
        cor_cacher_watch_end(w, NULL);
    }
}

static void end_no_memory(struct cacher_watch *w)
{
    if (w->sync)
        cor_store_no_memory(&w->sync->status);
    cor_cacher_watch_end(w, w->sync ? &w->sync->status : NULL);
}

static void watch_free(struct cacher_watch *w)
{
    w->reader->busy--;
    cor_cacher_watch_index_leave(&w->reader->index, w->bucket);
    if (!w->reader->is_dispatching)
        cor_cacher_watch_index_purge(&w->reader->index);
    sync_free(w);
    store_key_deinit(&w->key);
    cor_free(w);
}

static void on_closed_mail(struct cor_mail *mail)
{
    struct cacher_watch *w = COR_CONTAINER_OF(mail, struct cacher_watch, closed_mail);
    void (*on_closed)(void *arg) = w->on_closed;
    void *arg = w->closed_arg;

    watch_free(w);
    if (on_closed)
        on_closed(arg);
}

/* A turn that was posted before comes before the last mail. */
static void watch_close(struct cor_watch *base, void (*on_closed)(void *arg), void *arg)
{
    struct cacher_watch *w = (struct cacher_watch *)base;

    assert(w->state != WATCH_CLOSED && cor_loop_is_current(w->reader->loop->loop));
    if (!has_left(w))
        leave(w);
    w->state = WATCH_CLOSED;
    if (w->sync)
        cor_fresh_wait_cancel(&w->sync->wait);
    cor_cacher_watch_moved(w);
    w->on_closed = on_closed;
    w->closed_arg = arg;
    cor_loop_post_always(w->reader->loop->loop, &w->closed_mail);
}

static void watch_pause(struct cor_watch *base)
{
    ((struct cacher_watch *)base)->paused = true;
}

static void watch_resume(struct cor_watch *base)
{
    struct cacher_watch *w = (struct cacher_watch *)base;

    w->paused = false;
    cor_cacher_watch_schedule(w);
}

static bool watch_finish(struct cor_watch *base)
{
    struct cacher_watch *w = (struct cacher_watch *)base;

    if (w->state == WATCH_ENDING)
        return !w->is_cut && !w->has_error;
    if (!is_inside_revision(w))
        return true;
    w->is_finishing = true;
    return false;
}

static const struct cor_watch_ops watch_ops = {watch_pause, watch_resume, watch_finish,
                                               watch_close};

void cor_cacher_watch_schedule(struct cacher_watch *w)
{
    if (w->turn_posted || w->state == WATCH_CLOSED || w->state == WATCH_ENDED)
        return;
    w->turn_posted = true;
    cor_loop_post_always(w->reader->loop->loop, &w->turn);
}

/* Bookmarks. */

static void set_bookmark_timer(struct cacher_watch *w)
{
    uint64_t now = cor_loop_now_ms(w->reader->loop->loop);
    uint64_t at = now + BOOKMARK_MS;

    if (w->deadline_ms > 0 && w->deadline_ms - BOOKMARK_DEADLINE_MS < at)
        at = w->deadline_ms - BOOKMARK_DEADLINE_MS;
    if (!w->bookmarks || at <= now ||
        (w->deadline_ms > 0 && w->deadline_ms <= BOOKMARK_DEADLINE_MS))
        return;
    if (cor_timer_set(&w->bookmark_timer, at - now) < 0)
        cor_cacher_watch_end(w, NULL);
}

static bool deliver_bookmark(struct cacher_watch *w, cor_rev rev, bool initial_end)
{
    struct cor_reader_event event;

    if (cor_store_event_bookmark(w->reader->store, rev, initial_end, &event, NULL) < 0)
        return false;
    w->on_event(w->arg, &event);
    cor_object_unref(event.object);
    return true;
}

/* The loop's place may lie behind the watch. Then there is no bookmark this time. */
void cor_cacher_watch_bookmark(struct cacher_watch *w)
{
    cor_rev rev = w->reader->done_rev;

    if (!w->bookmark_due || w->paused || w->state != WATCH_IDLE)
        return;
    w->bookmark_due = false;
    if (rev >= w->min_rev && rev >= w->rev)
        deliver_bookmark(w, rev, false);
}

static void on_bookmark_timer(struct cor_timer *timer)
{
    struct cacher_watch *w = COR_CONTAINER_OF(timer, struct cacher_watch, bookmark_timer);

    w->bookmark_due = true;
    set_bookmark_timer(w);
    cor_cacher_dispatch(w->reader);
    cor_cacher_watch_bookmark(w);
}

/* The beginning. */

static int too_old(struct cacher_watch *w, cor_rev oldest)
{
    return cor_status_expired(&w->sync->status, "too old resource version: %llu (%llu)",
                              (unsigned long long)w->plan.rev, (unsigned long long)oldest);
}

/* History could not be read for this watch. */
static int history_failure(struct cacher_watch *w, int err)
{
    struct cor_status *status = &w->sync->status;

    if (err == -COR_ENOMEM)
        return cor_store_no_memory(status);
    if (err == -COR_EBUSY)
        return cor_status_too_many_requests(status, "too many feeds of the store are open",
                                            BUSY_RETRY_S);
    return cor_storage_internal(status, "the history since %llu cannot be read: %s",
                                (unsigned long long)w->plan.rev, cor_err_text(err));
}

/* The watch begins before the window. 1: it waits until history was put there. */
static int wait_for_history_locked(struct cacher_watch *w)
{
    struct cor_cacher *cacher = w->reader->cacher;
    const struct history_wants *wants = &cacher->history;

    bool is_over = w->reading > 0 && w->reading == wants->done;

    w->tries += is_over && wants->err == 0;
    if (w->plan.rev < wants->floor || w->tries == HISTORY_TRIES)
        return too_old(w, cacher->cache.window.base);
    if (is_over && wants->err < 0 && w->plan.rev <= wants->err_at)
        return history_failure(w, wants->err);
    w->reading = cor_cacher_history_want_locked(cacher, w->plan.rev);
    return 1;
}

/* With the cache's lock held: where in the window, or behind which snapshot, the events begin. The
 * cache is complete up to `rev`. 1: it waits for history. */
static int find_place_locked(struct cacher_watch *w, cor_rev rev)
{
    struct cor_cacher *cacher = w->reader->cacher;
    struct cor_window *window = &cacher->cache.window;

    if (w->plan.initial_events) {
        int r = cor_cache_snapshot_now_locked(&cacher->cache, &w->sync->snapshot);

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
        return wait_for_history_locked(w);
    cacher->history.is_fresh &= w->reading == 0;
    w->from = cor_window_after(window, w->plan.rev);
    w->min_rev = w->plan.rev;
    return 0;
}

static void start(struct cacher_watch *w)
{
    struct cor_cache_snapshot *snapshot = &w->sync->snapshot;

    w->started = true;
    w->reader->started++;
    if (!w->plan.initial_events) {
        sync_free(w);
        w->state = WATCH_WALKING;
        cor_cacher_watch_moved(w);
        return;
    }
    cor_cache_iter_init(&w->sync->iter, snapshot, store_key_str(&w->key), store_key_str(&w->key),
                        w->predicate ? cor_predicate_mask(w->predicate) : 0);
    w->state = WATCH_SYNCING;
}

void cor_cacher_watch_begin(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;
    struct cor_cacher *cacher = reader->cacher;
    cor_rev rev = atomic_load(&cacher->cachers->rev);
    bool ready;
    int r = 0;

    if (w->state == WATCH_EXTENDING)
        reader->extending--;
    w->state = WATCH_STARTING;
    cor_lock_acquire(&cacher->cache.lock);
    ready = cacher->ready.state == COR_CACHE_READY && cacher->ready.generation == w->generation;
    rev = rev > cacher->cache.rev ? rev : cacher->cache.rev;
    if (ready)
        r = find_place_locked(w, rev);
    if (ready && r == 0 && reader->started == 0) {
        reader->next = cacher->cache.window.next;
        reader->done_rev = rev;
    }
    cor_lock_release(&cacher->cache.lock);
    if (!ready) {
        cor_cacher_watch_end(w, NULL);
    } else if (r > 0) {
        w->state = WATCH_EXTENDING;
        reader->extending++;
        return;
    } else if (r < 0) {
        if (r == -COR_ENOMEM)
            cor_store_no_memory(&w->sync->status);
        cor_cacher_watch_end(w, &w->sync->status);
    } else {
        start(w);
    }
    cor_cacher_watch_schedule(w);
}

static void on_fresh(struct fresh_wait *wait, bool in_time)
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

static void freshen(struct cacher_watch *w)
{
    struct cor_cachers *cachers = w->reader->cacher->cachers;
    cor_rev need = w->plan.mode == COR_READ_CONSISTENT ? cachers_consistent_rev(cachers)
                                                       : cachers_need(w->plan.rev);

    w->state = WATCH_FRESHENING;
    if (!w->plan.initial_events || cachers_have_reached(cachers, need))
        cor_cacher_watch_begin(w);
    else if (cor_fresh_wait_begin(&w->sync->wait, w->reader->loop, need, on_fresh) < 0)
        end_no_memory(w);
}

static void step_starting(struct cacher_watch *w)
{
    w->on_open(w->arg, 0, NULL);
    if (w->state != WATCH_STARTING)
        return;
    set_bookmark_timer(w);
    if (w->state == WATCH_STARTING)
        freshen(w);
}

/* The initial state. */

static void step_syncing(struct cacher_watch *w)
{
    struct cor_cache_entry *entry = cor_cache_iter_next(&w->sync->iter);
    struct cor_reader_event event;
    struct cor_window_event change = {.now = entry};

    if (!entry) {
        w->state = WATCH_SYNCED;
        return;
    }
    change.rev = entry->object->rev;
    if (cor_cacher_watch_sees(w, &change, &event))
        cor_cacher_watch_deliver(w, &event);
}

static void step_synced(struct cacher_watch *w)
{
    bool wanted = w->plan.end_bookmark;

    w->plan.end_bookmark = false;
    if (wanted) {
        if (!deliver_bookmark(w, w->sync->snapshot.rev, true))
            end_no_memory(w);
        return;
    }
    w->min_rev = w->sync->snapshot.rev;
    sync_free(w);
    w->state = WATCH_WALKING;
    cor_cacher_watch_moved(w);
}

static void step_ending(struct cacher_watch *w)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status cut;
    struct cor_reader_event event = {.type = COR_WATCH_ERROR, .status = &cut};

    cor_status_init(&cut);
    w->state = WATCH_ENDED;
    if (w->has_error)
        event.status = &w->sync->status;
    else if (w->is_cut)
        (void)cor_status_expired(&cut,
                                 "too old resource version: the rest of revision %llu is gone",
                                 (unsigned long long)w->rev);
    w->on_event(w->arg, w->has_error || w->is_cut ? &event : NULL);
}

/* True: go on. */
static bool step(struct cacher_watch *w, size_t max)
{
    switch (w->state) {
    case WATCH_STARTING:
        step_starting(w);
        return true;
    case WATCH_SYNCING:
        step_syncing(w);
        return true;
    case WATCH_SYNCED:
        step_synced(w);
        return true;
    case WATCH_WALKING:
    case WATCH_LAGGING:
        if (cor_cacher_watch_catch_up(w, max))
            cor_cacher_watch_schedule(w);
        return w->state == WATCH_IDLE;
    case WATCH_IDLE:
        cor_cacher_watch_bookmark(w);
        return false;
    case WATCH_ENDING:
        step_ending(w);
        return false;
    case WATCH_FRESHENING:
    case WATCH_EXTENDING:
    case WATCH_ENDED:
    case WATCH_CLOSED:
        break;
    }
    return false;
}

/* One that is paused still opens, and may look for its next event. */
static void on_turn(struct cor_mail *mail)
{
    struct cacher_watch *w = COR_CONTAINER_OF(mail, struct cacher_watch, turn);

    w->turn_posted = false;
    for (size_t i = 0; !w->paused || is_behind(w) || w->state == WATCH_STARTING; i++) {
        if (i == STORE_TURN_ITEMS_MAX) {
            cor_cacher_watch_schedule(w);
            return;
        }
        if (!step(w, STORE_TURN_ITEMS_MAX))
            return;
    }
}

/* Where the watch is indexed: by the narrowest thing that all its events have in common. */

static bool is_plain(struct cor_str value)
{
    for (size_t i = 0; i < value.n; i++) {
        if (value.p[i] == '"' || value.p[i] == '\\' || (unsigned char)value.p[i] < 0x20)
            return false;
    }
    return true;
}

static bool is_deep(struct cor_str prefix, size_t from)
{
    size_t depth = 0;

    for (size_t i = from; i < prefix.n; i++)
        depth += prefix.p[i] == '/';
    return depth > WATCH_PREFIX_DEPTH_MAX;
}

static int join_key(struct cacher_watch *w, struct cor_str name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key;

    cor_buf_init(&key, SIZE_MAX / 2);
    if (cor_buf_adds(&key, store_key_str(&w->key)) < 0 || cor_buf_adds(&key, name) < 0)
        return -COR_ENOMEM;
    return cor_cacher_watch_index_join(&w->reader->index, BUCKET_KEY, cor_buf_str(&key),
                                       &w->bucket);
}

static int join(struct cacher_watch *w)
{
    struct cor_cacher *cacher = w->reader->cacher;
    struct watch_index *index = &w->reader->index;
    struct cor_str key = store_key_str(&w->key);
    bool all = key.n <= cacher->prefix.n;
    struct cor_str value;

    if (!w->recursive)
        return cor_cacher_watch_index_join(index, BUCKET_KEY, key, &w->bucket);
    if (w->predicate && all == !cacher->namespaced &&
        cor_predicate_requires(w->predicate, COR_STR("metadata.name"), &value))
        return join_key(w, value);
    if (w->predicate && cacher->trigger_field.n > 0 &&
        cor_predicate_requires(w->predicate, cacher->trigger_field, &value) && is_plain(value))
        return cor_cacher_watch_index_join(index, BUCKET_TRIGGER, value, &w->bucket);
    if (all || is_deep(key, cacher->prefix.n))
        return cor_cacher_watch_index_join(index, BUCKET_ALL, cor_str("", 0), &w->bucket);
    return cor_cacher_watch_index_join(index, BUCKET_PREFIX, key, &w->bucket);
}

static int watch_init(struct cacher_watch *w, struct cor_str key,
                      const struct cor_reader_watch_opts *opts, struct cor_status *reterr_status)
{
    int r = cor_store_key_init(&w->key, w->reader->store, key, w->recursive, reterr_status);

    if (r == 0)
        r = cor_watch_options_resolve(&opts->options, &w->plan, reterr_status);
    if (r < 0)
        return r;
    if (opts->predicate && !cor_predicate_empty(opts->predicate))
        w->predicate = opts->predicate;
    w->sync = cor_calloc(1, sizeof(*w->sync));
    if (!w->sync)
        return cor_store_no_memory(reterr_status);
    w->sync->watch = w;
    cor_status_init(&w->sync->status);
    return join(w) < 0 ? cor_store_no_memory(reterr_status) : 0;
}

static int check_ready(struct cacher_watch *w, struct cor_status *reterr_status)
{
    struct cor_cacher *cacher = w->reader->cacher;
    int r;

    cor_lock_acquire(&cacher->cache.lock);
    r = cor_ready_check(&cacher->ready, cor_cachers_now_ms(cacher->cachers), reterr_status);
    w->generation = cacher->ready.generation;
    cor_lock_release(&cacher->cache.lock);
    return r;
}

static struct cacher_watch *watch_new(struct cacher_reader *reader,
                                      const struct cor_reader_watch_opts *opts)
{
    struct cacher_watch *w = cor_calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->base.ops = &watch_ops;
    w->reader = reader;
    w->recursive = opts->options.recursive;
    w->bookmarks = opts->options.allow_bookmarks && reader->store->kind[0];
    w->deadline_ms = opts->deadline_ms;
    w->on_open = opts->on_open;
    w->on_event = opts->on_event;
    w->arg = opts->arg;
    w->turn.on_mail = on_turn;
    w->closed_mail.on_mail = on_closed_mail;
    cor_dlist_init(&w->link);
    cor_dlist_init(&w->all);
    w->place = UINT64_MAX;
    cor_timer_init(&w->bookmark_timer, reader->loop->loop, on_bookmark_timer);
    return w;
}

int cor_cacher_reader_watch(struct cor_reader *base, struct cor_str key,
                            const struct cor_reader_watch_opts *opts, struct cor_watch **ret_watch,
                            struct cor_status *reterr_status)
{
    struct cacher_reader *reader = cacher_reader_of(base);
    struct cacher_watch *w = watch_new(reader, opts);
    int r;

    assert(cor_loop_is_current(reader->loop->loop));
    if (!w)
        return cor_store_no_memory(reterr_status);
    r = check_ready(w, reterr_status);
    if (r == 0)
        r = watch_init(w, key, opts, reterr_status);
    if (r < 0) {
        sync_free(w);
        store_key_deinit(&w->key);
        cor_free(w);
        return r;
    }
    reader->busy++;
    cor_dlist_push(&reader->watches, &w->all);
    cor_lock_acquire(&reader->loop->lock);
    reader->nwatches++;
    cor_lock_release(&reader->loop->lock);
    cor_cacher_watch_schedule(w);
    *ret_watch = &w->base;
    return 0;
}
