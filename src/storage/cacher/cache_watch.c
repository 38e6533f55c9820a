/* One watch on a watch cache: its turns and its end. The states are drawn in cache_watch_int.h;
 * cache_watch_begin.c has the beginning, dispatch.c the delivery of events, cache_bookmark.c the
 * bookmarks.
 *
 * A turn of the loop (watch_on_turn()) takes one step after another, at most STORE_TURN_ITEMS_MAX,
 * until the watch is paused, waits for something, or has caught up. Each step calls back at most
 * once, and each callback may pause or close the watch.
 *
 * What fails: a bookmark that cannot be made is left out. Everything else that fails ends the
 * stream (cor_cacher_watch_end()): plainly, or with an ERROR event. A stream that has delivered a
 * part of a revision does not end plainly, because its client would go on after that revision. When
 * the cache has lost the rest, that is read from the engine's history first (replay.h). When it
 * cannot be had, the stream ends with 410.
 *
 * A watch that would have to show a value that cannot be decoded is the store's own watch from the
 * beginning: it ends with the ERROR event that names the key, when it comes to that value. A watch
 * of the cache that meets such a value ends plainly; its client resumes, and gets the store's.
 *
 * Thread: the reader's loop. */
#include "base/mem.h"
#include "storage/cacher/cache_watch_int.h"
#include "storage/store/store_event.h"

/* The end. */

/* Takes the watch out of everything that belongs to the reader. */
static void watch_leave(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;

    cor_cacher_watch_unlink(w);
    cor_dlist_remove(&w->all);
    cor_timer_cancel(&w->bookmark_timer);
    cor_cacher_watch_set_finish(w, 0);
    if (w->started)
        reader->started--;
    w->started = false;
    if (w->state == WATCH_EXTENDING)
        reader->extending--;
    cor_cacher_replay_leave(w);
    cor_lock_acquire(&reader->loop->lock);
    reader->nwatches--;
    cor_lock_release(&reader->loop->lock);
}

static bool watch_has_left(const struct cacher_watch *w)
{
    return w->state == WATCH_ENDING || w->state == WATCH_ENDED || w->state == WATCH_CLOSED;
}

/* Returns whether it may have delivered only some events of a revision. An idle watch may have,
 * when its loop could not dispatch the rest. */
static bool watch_is_inside_revision(const struct cacher_watch *w)
{
    if (is_behind(w))
        return w->is_inside;
    if (w->state == WATCH_REPLAYING)
        return cor_cacher_replay_is_inside(w);
    return w->state == WATCH_IDLE && w->rev > 0 && w->rev == w->reader->cut_rev;
}

void cor_cacher_watch_end(struct cacher_watch *w, struct cor_status *status)
{
    assert(cor_loop_is_current(w->reader->loop->loop));
    assert(!status || w->sync);
    if (watch_has_left(w))
        return;
    w->is_cut = !status && watch_is_inside_revision(w);
    watch_leave(w);
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

/* The watch keeps its place, as one that a replay has put aside, and joins one when its client
 * reads. False: it cannot. */
static bool watch_wants_rest(struct cacher_watch *w)
{
    if (w->finish_rev < w->rev)
        cor_cacher_watch_set_finish(w, w->rev);
    if (w->state == WATCH_REPLAYING) {
        cor_cacher_replay_finish(w);
        return true;
    }
    if (w->nth == COR_WINDOW_NTH_MAX || cor_cacher_watch_sync_init(w) < 0)
        return false;
    cor_cacher_watch_unlink(w);
    w->reader->started--;
    w->started = false;
    w->state = WATCH_REPLAYING;
    w->sync->place = (struct replay_place){w->rev, w->nth + 1};
    cor_cacher_replay_finish(w);
    cor_cacher_watch_moved(w);
    cor_cacher_watch_schedule(w);
    return true;
}

void cor_cacher_watch_lose_place(struct cacher_watch *w)
{
    if (!watch_is_inside_revision(w) || !watch_wants_rest(w))
        cor_cacher_watch_end(w, NULL);
}

static void watch_step_ending(struct cacher_watch *w)
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
    if (!w->is_open)
        w->on_open(w->arg, event.status->err, event.status);
    else
        w->on_event(w->arg, w->has_error || w->is_cut ? &event : NULL);
}

/* A watch that is not paused is delivered to as fast as its loop can: it is not slow, and keeps its
 * snapshot. */
void cor_cacher_watches_let_go(struct cacher_reader *reader)
{
    COR_DLIST_FOREACH_SAFE(link, &reader->watches) {
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

static void watch_finish_close(struct cacher_watch *w)
{
    struct cacher_reader *reader = w->reader;
    void (*on_closed)(void *arg) = w->on_closed;
    void *arg = w->closed_arg;

    reader->busy--;
    cor_cacher_watch_index_leave(&reader->index, w->bucket);
    if (!reader->is_dispatching)
        cor_cacher_watch_index_purge(&reader->index);
    cor_cacher_watch_sync_deinit(w);
    store_key_deinit(&w->key);
    cor_free(w);
    if (on_closed)
        on_closed(arg);
}

/* The owner may free the reader when its watches are closed, so a watch stays as long as a replay
 * that it has closed. */
static void watch_on_closed_mail(struct cor_mail *mail)
{
    struct cacher_watch *w = COR_CONTAINER_OF(mail, struct cacher_watch, closed_mail);

    w->is_gone = true;
    if (w->nreplays == 0)
        watch_finish_close(w);
}

void cor_cacher_watch_replay_closed(struct cacher_watch *w)
{
    assert(w->nreplays > 0);
    if (--w->nreplays == 0 && w->is_gone)
        watch_finish_close(w);
}

/* A turn that was posted before closed_mail runs before it, so the memory stays long enough. */
static void watch_close(struct cor_watch *base, void (*on_closed)(void *arg), void *arg)
{
    struct cacher_watch *w = (struct cacher_watch *)base;

    assert(w->state != WATCH_CLOSED && cor_loop_is_current(w->reader->loop->loop));
    if (!watch_has_left(w))
        watch_leave(w);
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

    assert(cor_loop_is_current(w->reader->loop->loop));
    w->paused = false;
    cor_cacher_watch_schedule(w);
}

static bool watch_finish(struct cor_watch *base, cor_rev upto)
{
    struct cacher_watch *w = (struct cacher_watch *)base;

    assert(w->state != WATCH_CLOSED && cor_loop_is_current(w->reader->loop->loop));
    if (w->state == WATCH_ENDING)
        return !w->is_cut && !w->has_error;
    if (w->finish_rev > 0 && w->finish_rev < upto)
        upto = w->finish_rev;
    if (watch_is_inside_revision(w))
        upto = w->rev > upto ? w->rev : upto;
    else if (w->state == WATCH_ENDED || (w->state == WATCH_IDLE && w->reader->done_rev >= upto))
        upto = 0;
    cor_cacher_watch_set_finish(w, upto);
    if (upto == 0)
        return true;
    if (w->state == WATCH_REPLAYING)
        cor_cacher_replay_finish(w);
    cor_cacher_watch_schedule(w);
    return false;
}

static size_t watch_held(struct cor_watch *base)
{
    return cor_cacher_replay_held((struct cacher_watch *)base);
}

static bool watch_waits(const struct cor_watch *base)
{
    const struct cacher_watch *w = (const struct cacher_watch *)base;

    return w->state == WATCH_FRESHENING || w->state == WATCH_EXTENDING;
}

static const struct cor_watch_ops watch_ops = {watch_pause, watch_resume, watch_finish,
                                               watch_close, watch_held,   watch_waits};

/* Turns. */

void cor_cacher_watch_schedule(struct cacher_watch *w)
{
    if (w->state != WATCH_CLOSED && w->state != WATCH_ENDED)
        store_turn_post(&w->turn);
}

/* One step. True: another may follow at once. */
static bool watch_step(struct cacher_watch *w)
{
    switch (w->state) {
    case WATCH_STARTING:
        cor_cacher_watch_step_starting(w);
        return true;
    case WATCH_SYNCING:
        cor_cacher_watch_step_syncing(w);
        return true;
    case WATCH_SYNCED:
        cor_cacher_watch_step_synced(w);
        return true;
    case WATCH_WALKING:
    case WATCH_LAGGING:
        if (cor_cacher_watch_catch_up(w, STORE_TURN_ITEMS_MAX))
            cor_cacher_watch_schedule(w);
        return w->state == WATCH_IDLE;
    case WATCH_IDLE:
        cor_cacher_watch_bookmark(w);
        if (w->finish_rev > 0)
            cor_cacher_dispatch(w->reader);
        return false;
    case WATCH_ENDING:
        watch_step_ending(w);
        return false;
    case WATCH_REPLAYING:
        cor_cacher_replay_resume(w);
        return false;
    case WATCH_FRESHENING:
    case WATCH_EXTENDING:
    case WATCH_ENDED:
    case WATCH_CLOSED:
        break;
    }
    return false;
}

/* A paused watch still opens, and may look for its next event. */
static void watch_on_turn(struct store_turn *turn)
{
    struct cacher_watch *w = COR_CONTAINER_OF(turn, struct cacher_watch, turn);

    for (size_t i = 0; !w->paused || is_behind(w) || w->state == WATCH_STARTING; i++) {
        if (i == STORE_TURN_ITEMS_MAX) {
            cor_cacher_watch_schedule(w);
            return;
        }
        if (!watch_step(w))
            return;
    }
}

/* Events after this revision are wanted, or the present state. */
cor_rev cor_cacher_watch_first_rev(const struct cacher_watch *w)
{
    return !w->plan.initial_events && w->plan.mode == COR_READ_EXACT ? w->plan.rev : UINT64_MAX;
}

/* 0, 1 (the store's watch is to be opened instead), or negative. */
static int watch_init(struct cacher_watch *w, struct cor_str key,
                      const struct cor_reader_watch_opts *opts, struct cor_status *reterr_status)
{
    struct cor_cacher *cacher = w->reader->cacher;
    int r;

    cor_lock_acquire(&cacher->cache.lock);
    r = cor_ready_check(&cacher->ready, cor_cachers_now_ms(cacher->cachers), reterr_status);
    w->generation = cacher->ready.generation;
    cor_lock_release(&cacher->cache.lock);
    if (r == 0)
        r = cor_store_key_init(&w->key, w->reader->store, key, w->recursive, reterr_status);
    if (r == 0)
        r = cor_watch_options_resolve(&opts->options, &w->plan, reterr_status);
    if (r < 0)
        return r;
    if (cor_watch_cache_is_blind(&cacher->cache, store_key_str(&w->key), w->recursive,
                                 cor_cacher_watch_first_rev(w)))
        return 1;
    if (opts->predicate && !cor_predicate_empty(opts->predicate))
        w->predicate = opts->predicate;
    if (cor_cacher_watch_sync_init(w) < 0 || cor_cacher_watch_join(w) < 0)
        return cor_store_no_memory(reterr_status);
    return 0;
}

int cor_cacher_reader_watch(struct cor_reader *base, struct cor_str key,
                            const struct cor_reader_watch_opts *opts, struct cor_watch **ret_watch,
                            struct cor_status *reterr_status)
{
    struct cacher_reader *reader = cacher_reader_of(base);
    struct cacher_watch *w = cor_calloc(1, sizeof(*w));
    int r;

    assert(cor_loop_is_current(reader->loop->loop));
    if (!w)
        return cor_store_no_memory(reterr_status);
    w->base.ops = &watch_ops;
    w->reader = reader;
    w->recursive = opts->options.recursive;
    w->bookmarks = opts->options.allow_bookmarks && reader->store->kind[0];
    w->client = opts->client.p ? opts->client : COR_STR("");
    w->deadline_ms = opts->deadline_ms;
    w->on_open = opts->on_open;
    w->on_event = opts->on_event;
    w->on_held = opts->on_held;
    w->arg = opts->arg;
    w->closed_mail.on_mail = watch_on_closed_mail;
    cor_dlist_init(&w->link);
    cor_dlist_init(&w->all);
    w->place = UINT64_MAX;
    store_turn_init(&w->turn, reader->loop->loop, watch_on_turn);
    cor_timer_init(&w->bookmark_timer, reader->loop->loop, cor_cacher_watch_on_bookmark_timer);
    r = watch_init(w, key, opts, reterr_status);
    if (r != 0) {
        cor_cacher_watch_sync_deinit(w);
        store_key_deinit(&w->key);
        cor_free(w);
        return r < 0 ? r : cor_reader_watch(reader->raw, key, opts, ret_watch, reterr_status);
    }
    reader->busy++;
    cor_dlist_push(&reader->watches, &w->all);
    /* The writer looks at this count after each batch: see cachers_loop.c. */
    cor_lock_acquire(&reader->loop->lock);
    reader->nwatches++;
    cor_lock_release(&reader->loop->lock);
    cor_cacher_watch_schedule(w);
    *ret_watch = &w->base;
    return 0;
}
