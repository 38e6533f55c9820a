/* clang-format off */
/* History that does not fit in front of the window, read for the watches themselves.
 *
 *   join ──► GATHER_MS ──► feed ──► backlog ──► one event: decoded, given to the watches of its buckets ──► next
 *                                              │                         │
 *                                              │ a watch is paused       └─► the window is reached:
 *                                              ▼                             the watches begin there
 *                                            held ──► the watch goes on, or is put aside
 *
 * 1. A replay gathers watches for a moment before it opens its feed from the earliest of their
 *    places, because many come back at once when a server is started again. The feed's credit
 *    bounds what a replay holds, as it does for a watch over the store (store_backlog.h). What it
 *    holds is charged to its watches in equal parts. replay_join.c says which replay a watch joins,
 *    and for which client a replay counts.
 * 2. An event is matched through the index of all watches (watch_index.c), so it costs those
 *    watches of the replay that may want it, and no others.
 * 3. A watch that is paused when an event of its own comes holds the replay, for a while: alone it
 *    may take ALONE_MS. The watches of a shared replay may hold it for SHARED_MS, and then for as
 *    long again as it has run. After that the watch is put aside. It keeps its place and nothing
 *    else, and joins a replay again when its client reads. So a client that does not read keeps
 *    neither a feed nor the others waiting.
 * 4. Between two revisions the window is looked at. When all of its events are after what was
 *    given, the watches begin there, as one does that comes with that revision.
 *
 * What fails: a feed that is refused because history was compacted ends the watches that need it
 * with 410; those that begin later join another replay. A value that cannot be decoded ends the
 * watches over its key, whose clients then get the store's own watch (cache_watch.c). Every other failure
 * ends all watches of the replay with an ERROR event. A watch that is put aside and finds no replay
 * ends plainly. Inside a revision each of these ends is a 410.
 *
 * Callbacks may open, pause and close any watch of the reader. A replay is freed in a later turn
 * than the one that closes it.
 *
 * Thread: the reader's loop. */
/* clang-format on */
#include "base/mem.h"
#include "storage/cacher/replay_int.h"

#define GATHER_MS 10
#define ALONE_MS  5000
#define SHARED_MS 2000
/* Watches that are looked at before other work of the loop gets its turn. */
#define TURN_VISITS 16384
/* For a client whose watch finds no feed of the engine. */
#define BUSY_RETRY_S 1

static void replay_drop_change(struct replay *r)
{
    cor_cache_entry_unref(r->change.now);
    cor_cache_entry_unref(r->change.old);
    r->change = (struct cor_window_event){0};
    r->has_change = false;
    r->change_bytes = 0;
}

void cor_cacher_replay_end(struct replay *r, struct cacher_watch *last)
{
    assert(!r->is_closing && r->nwatches == 0);
    r->is_closing = true;
    r->last = last;
    last->nreplays++;
    cor_dlist_remove(&r->link);
    r->reader->nreplays--;
    cor_timer_cancel(&r->timer);
    cor_store_backlog_clear(&r->backlog);
    if (r->feed.feed)
        cor_store_feed_close(&r->feed);
    else
        cor_loop_post_always(r->turn.loop, &r->closed_mail);
}

/* The feed. */

static void replay_free(struct replay *r)
{
    struct cacher_reader *reader = r->reader;
    struct cacher_watch *last = r->last;

    assert(r->is_closing && !r->turn.is_posted);
    replay_drop_change(r);
    cor_feed_share_give(&reader->cacher->cachers->replays, r->share);
    cor_free(r);
    reader->busy--;
    cor_cacher_watch_replay_closed(last);
}

static void on_closed(struct store_feed *feed)
{
    replay_free(COR_CONTAINER_OF(feed, struct replay, feed));
}

static void on_closed_mail(struct cor_mail *mail)
{
    replay_free(COR_CONTAINER_OF(mail, struct replay, closed_mail));
}

/* The charge of the watches of a replay has grown. The callback may close any of them: then some
 * are called twice. */
static void replay_tell_held(struct replay *r)
{
    for (size_t n = r->nwatches; n > 0 && r->nwatches > 0; n--) {
        struct cor_dlist *link = cor_dlist_pop(&r->watches);
        struct cacher_sync *sync = COR_CONTAINER_OF(link, struct cacher_sync, of_replay);

        cor_dlist_push(&r->watches, link);
        if (sync->watch->paused && sync->watch->on_held)
            sync->watch->on_held(sync->watch->arg);
    }
}

static void on_batch(struct store_feed *feed, struct store_feed_batch *take_batch)
{
    struct replay *r = COR_CONTAINER_OF(feed, struct replay, feed);

    if (r->is_closing) {
        cor_store_feed_batch_free(take_batch);
        return;
    }
    cor_store_backlog_push(&r->backlog, take_batch);
    replay_schedule(r);
    if (r->held_at_ms > 0)
        replay_tell_held(r);
}

/* What has come before is given first. */
static void on_broken(struct store_feed *feed, int err, const char *message)
{
    struct replay *r = COR_CONTAINER_OF(feed, struct replay, feed);

    r->err = err;
    replay_schedule(r);
}

/* How a replay fails. */

void cor_cacher_replay_fail_watch(struct cacher_watch *w, int err, cor_rev base)
{
    struct cor_status *status = &w->sync->status;
    cor_rev rev = cor_cacher_replay_place(w).rev - 1;

    if (cor_cacher_replay_is_inside(w))
        status = NULL;
    else if (err == -COR_EEXPIRED)
        (void)cor_status_expired(status, "too old resource version: %llu (%llu)",
                                 (unsigned long long)rev, (unsigned long long)base);
    else if (err == -COR_ENOMEM)
        (void)cor_store_no_memory(status);
    else if (err == -COR_EBUSY)
        (void)cor_status_too_many_requests(status, "too many feeds of the store are open",
                                           BUSY_RETRY_S);
    else
        (void)cor_storage_internal(status, "the history since %llu cannot be read: %s",
                                   (unsigned long long)rev, cor_err_text(err));
    cor_cacher_watch_end(w, status);
}

/* History up to the replay's place was compacted, or up to where the caches have heard it was. The
 * watches that begin later go on in another one. */
static void replay_move_on(struct replay *r)
{
    struct cor_cacher *cacher = r->reader->cacher;
    struct cor_dlist rest, *link;
    cor_rev base, floor;

    cor_lock_acquire(&cacher->cache.lock);
    base = cacher->cache.window.base;
    floor = cacher->cache.compact_rev > r->at.rev ? cacher->cache.compact_rev : r->at.rev;
    if (floor > cacher->history.floor)
        cacher->history.floor = floor;
    cor_lock_release(&cacher->cache.lock);
    cor_dlist_init(&rest);
    COR_DLIST_FOREACH_SAFE(at, &r->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(at, struct cacher_sync, of_replay)->watch;

        if (cor_cacher_replay_place(w).rev <= floor) {
            cor_cacher_replay_fail_watch(w, -COR_EEXPIRED, base);
            continue;
        }
        cor_cacher_replay_leave(w);
        cor_dlist_push(&rest, &w->sync->of_replay);
    }
    while ((link = cor_dlist_pop(&rest)))
        cor_cacher_replay_rejoin(COR_CONTAINER_OF(link, struct cacher_sync, of_replay)->watch);
}

static void replay_fail(struct replay *r, int err)
{
    if (err == -COR_EEXPIRED) {
        replay_move_on(r);
        return;
    }
    COR_DLIST_FOREACH_SAFE(link, &r->watches)
        cor_cacher_replay_fail_watch(COR_CONTAINER_OF(link, struct cacher_sync, of_replay)->watch,
                                     err, 0);
}

/* A value that cannot be decoded. No selector can tell whether a watch would see it, so all watches
 * over its key that have not passed it end, and what would contain it is read from the store. */
static void replay_end_over_unreadable(struct replay *r, struct cor_str key)
{
    struct cor_watch_cache *cache = &r->reader->cacher->cache;

    cor_lock_acquire(&cache->lock);
    cor_watch_cache_set_blind_locked(cache, r->at.rev);
    cor_lock_release(&cache->lock);
    COR_DLIST_FOREACH_SAFE(link, &r->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_sync, of_replay)->watch;

        if (!place_is_before(r->at, cor_cacher_replay_place(w)) && cor_cacher_watch_covers(w, key))
            cor_cacher_watch_end(w, NULL);
    }
}

/* One event. */

/* The version of a value: the watch cache's own, when it is still the present one. */
static int replay_entry(struct replay *r, const struct cor_kv *kv,
                        struct cor_cache_entry **ret_entry)
{
    struct cor_cacher *cacher = r->reader->cacher;
    struct cor_object *object;
    int err;

    *ret_entry = cor_watch_cache_get_version(&cacher->cache, cor_kv_key(kv), kv->mod_rev);
    if (*ret_entry)
        return 0;
    err = cor_store_try_decode(r->reader->store, kv, 0, &object, NULL, NULL);
    if (err < 0)
        return err;
    *ret_entry = cor_cache_entry_new(cor_kv_key(kv), object, &cacher->triggers);
    return *ret_entry ? 0 : -COR_ENOMEM;
}

/* Makes the event the replay's next one. False: the replay has failed. */
static bool replay_take(struct replay *r, const struct cor_feed_event *event)
{
    cor_rev rev = event->kv->mod_rev;
    bool is_last = cor_store_backlog_next_rev(&r->backlog) != rev;
    int err = 0;

    if (rev > r->at.rev)
        r->at = (struct replay_place){rev, 0};
    r->next =
        is_last ? (struct replay_place){rev + 1, 0} : (struct replay_place){rev, r->at.nth + 1};
    r->change.rev = rev;
    r->change.nth = r->at.nth < COR_WINDOW_NTH_MAX ? r->at.nth : COR_WINDOW_NTH_MAX;
    if (event->prev)
        err = replay_entry(r, event->prev, &r->change.old);
    if (err == 0 && !event->deleted)
        err = replay_entry(r, event->kv, &r->change.now);
    r->has_change = true;
    if (err == -COR_EINTERNAL) {
        replay_end_over_unreadable(r, cor_kv_key(event->kv));
        r->change.now = cor_cache_entry_unref(r->change.now);
        r->change.old = cor_cache_entry_unref(r->change.old);
        return !r->is_closing;
    }
    if (err < 0)
        replay_fail(r, err);
    return err == 0;
}

/* Gives the event to those watches of the bucket that are the replay's. False: one of them is
 * paused. */
static bool replay_visit(struct replay *r, struct watch_bucket *bucket)
{
    struct cor_dlist todo, *link;
    bool is_given = true;

    cor_dlist_init(&todo);
    cor_dlist_splice(&todo, &bucket->replaying);
    while ((link = cor_dlist_pop(&todo))) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_watch, link);
        struct cor_reader_event event;

        cor_dlist_push(&bucket->replaying, link);
        r->visits++;
        if (r->is_closing || w->sync->replay != r || place_is_before(r->at, w->sync->place) ||
            !cor_cacher_watch_sees(w, &r->change, &event))
            continue;
        w->sync->is_held = w->paused;
        if (w->paused) {
            is_given = false;
            continue;
        }
        w->sync->place = r->next;
        cor_cacher_watch_deliver(w, &r->change, &event);
    }
    return is_given;
}

static bool replay_give(struct replay *r)
{
    struct watch_bucket *buckets[WATCH_BUCKETS_MAX];
    bool is_given = true;
    size_t n;

    if (!r->change.now && !r->change.old) /* It could not be decoded. */
        return true;
    n = cor_cacher_watch_index_match(&r->reader->index, &r->change, buckets);
    for (size_t i = 0; i < n && !r->is_closing; i++)
        is_given &= replay_visit(r, buckets[i]);
    return is_given;
}

/* The window begins at or before the replay's place: the watches that are between two revisions go
 * on there. */
static void replay_reach_window(struct replay *r)
{
    struct cor_watch_cache *cache = &r->reader->cacher->cache;

    if (r->at.rev <= r->base)
        return;
    cor_lock_acquire(&cache->lock);
    r->base = cache->window.base;
    cor_lock_release(&cache->lock);
    if (r->at.rev <= r->base)
        return;
    COR_DLIST_FOREACH_SAFE(link, &r->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_sync, of_replay)->watch;
        struct replay_place place = cor_cacher_replay_place(w);

        if (place.nth > 0)
            continue;
        w->plan.rev = place.rev - 1;
        cor_cacher_replay_leave(w);
        cor_cacher_watch_begin(w);
    }
}

void cor_cacher_replay_finish(struct cacher_watch *w)
{
    assert(w->state == WATCH_REPLAYING && w->finish_rev > 0);
    if (w->sync->replay)
        replay_note_finishing(w->sync->replay, w);
}

/* Ends the watches that have been given everything up to the revision that they finish with. */
static void replay_end_finishing(struct replay *r)
{
    if (r->at.rev <= r->finish_rev)
        return;
    r->finish_rev = UINT64_MAX;
    COR_DLIST_FOREACH_SAFE(link, &r->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_sync, of_replay)->watch;

        if (w->finish_rev > 0 && w->finish_rev < r->at.rev && !cor_cacher_replay_is_inside(w))
            cor_cacher_watch_end(w, NULL);
        else
            replay_note_finishing(r, w);
    }
}

/* All watches have the event. */
static void replay_pass(struct replay *r)
{
    size_t credit = cor_store_backlog_credit(&r->backlog, r->change_bytes);

    if (credit > 0)
        cor_feed_credit(r->feed.feed, credit);
    replay_drop_change(r);
    r->at = r->next;
    if (r->at.nth > 0)
        return;
    replay_end_finishing(r);
    if (!r->is_closing)
        replay_reach_window(r);
}

/* The feed is complete up to `upto`. */
static void replay_pass_mark(struct replay *r, cor_rev upto)
{
    if (upto + 1 > r->at.rev)
        r->at = (struct replay_place){upto + 1, 0};
    replay_end_finishing(r);
    if (!r->is_closing)
        replay_reach_window(r);
}

/* A paused watch holds the replay. */

static void replay_release(struct replay *r)
{
    uint64_t held_ms;

    if (r->held_at_ms == 0)
        return;
    r->released_at_ms = cor_loop_now_ms(r->turn.loop);
    held_ms = r->released_at_ms - r->held_at_ms;
    r->held_at_ms = 0;
    cor_timer_cancel(&r->timer);
    r->patience_ms -= held_ms < r->patience_ms ? held_ms : r->patience_ms;
}

/* Each watch that is paused before the event keeps its place, and leaves. */
static void replay_put_aside(struct replay *r)
{
    COR_DLIST_FOREACH_SAFE(link, &r->watches) {
        struct cacher_watch *w = COR_CONTAINER_OF(link, struct cacher_sync, of_replay)->watch;

        if (w->sync->is_held && w->paused)
            cor_cacher_replay_leave(w);
    }
    replay_schedule(r);
}

static void replay_open_feed(struct replay *r)
{
    struct cor_cacher *cacher = r->reader->cacher;
    int err = cor_store_feed_open(&r->feed, cacher->cachers->engine, r->turn.loop,
                                  store_key_str(&cacher->prefix), store_key_end(&cacher->prefix),
                                  r->at.rev - 1, STORE_BACKLOG_FIRST_CREDIT);

    r->is_gathering = false;
    r->released_at_ms = cor_loop_now_ms(r->turn.loop);
    if (err < 0)
        replay_fail(r, err);
    else
        cor_feed_progress(r->feed.feed);
}

static void replay_on_timer(struct cor_timer *timer)
{
    struct replay *r = COR_CONTAINER_OF(timer, struct replay, timer);

    if (r->is_gathering) {
        replay_open_feed(r);
        return;
    }
    replay_release(r);
    replay_put_aside(r);
}

static void replay_hold(struct replay *r)
{
    uint64_t now_ms = cor_loop_now_ms(r->turn.loop), wait_ms;

    if (r->held_at_ms > 0)
        return;
    r->held_at_ms = now_ms;
    r->patience_ms += now_ms - r->released_at_ms;
    r->patience_ms = r->patience_ms < SHARED_MS ? r->patience_ms : SHARED_MS;
    wait_ms = r->nwatches > 1 ? r->patience_ms : ALONE_MS;
    if (wait_ms == 0 || cor_timer_set(&r->timer, wait_ms) < 0) {
        r->held_at_ms = 0;
        replay_put_aside(r);
        return;
    }
    replay_tell_held(r);
}

/* Turns. */

/* One event, or what is between two. False: there is nothing more to do now. */
static bool replay_step(struct replay *r, size_t *bytes)
{
    struct cor_feed_event event;
    bool is_taken;
    cor_rev upto;

    if (!r->has_change && store_backlog_is_empty(&r->backlog)) {
        if (r->err < 0)
            replay_fail(r, r->err);
        return false;
    }
    if (!r->has_change && cor_store_backlog_pop_mark(&r->backlog, &upto)) {
        replay_pass_mark(r, upto);
        return !r->is_closing;
    }
    if (!r->has_change) {
        r->change_bytes = cor_store_backlog_pop(&r->backlog, &event);
        *bytes += r->change_bytes *
                  (cor_store_decodes_event_slowly(r->reader->store, &event) ? STORE_RENEW_COST : 1);
        is_taken = replay_take(r, &event);
        cor_kv_unref(event.kv);
        cor_kv_unref(event.prev);
        if (!is_taken)
            return false;
    }
    if (!replay_give(r)) {
        if (!r->is_closing)
            replay_hold(r);
        return false;
    }
    if (r->is_closing)
        return false;
    replay_release(r);
    replay_pass(r);
    return !r->is_closing;
}

static void replay_on_turn(struct store_turn *turn)
{
    struct replay *r = COR_CONTAINER_OF(turn, struct replay, turn);
    size_t items = 0, bytes = 0;

    assert(cor_loop_is_current(turn->loop));
    r->visits = 0;
    while (!r->is_closing && replay_step(r, &bytes)) {
        if (++items == STORE_TURN_ITEMS_MAX || bytes >= STORE_TURN_BYTES_MAX ||
            r->visits >= TURN_VISITS) {
            replay_schedule(r);
            return;
        }
    }
}

int cor_cacher_replay_new(struct cacher_watch *w, struct cor_feed_share *take_share,
                          struct replay **ret_replay)
{
    struct cacher_reader *reader = w->reader;
    struct replay *r = cor_calloc(1, sizeof(*r));

    if (!r)
        return -COR_ENOMEM;
    r->reader = reader;
    r->at.rev = w->sync->place.rev;
    r->finish_rev = UINT64_MAX;
    r->payer = w;
    r->share = take_share;
    r->patience_ms = SHARED_MS;
    r->is_gathering = true;
    r->closed_mail.on_mail = on_closed_mail;
    r->feed.with_prev = true;
    r->feed.on_batch = on_batch;
    r->feed.on_broken = on_broken;
    r->feed.on_closed = on_closed;
    cor_dlist_init(&r->link);
    cor_dlist_init(&r->watches);
    cor_store_backlog_init(&r->backlog);
    store_turn_init(&r->turn, reader->loop->loop, replay_on_turn);
    cor_timer_init(&r->timer, reader->loop->loop, replay_on_timer);
    if (cor_timer_set(&r->timer, GATHER_MS) < 0) {
        cor_free(r);
        return -COR_ENOMEM;
    }
    reader->busy++;
    reader->nreplays++;
    cor_dlist_push(&reader->replays, &r->link);
    *ret_replay = r;
    return 0;
}

void cor_cacher_replay_resume(struct cacher_watch *w)
{
    assert(w->state == WATCH_REPLAYING);
    if (!w->sync->replay)
        cor_cacher_replay_rejoin(w);
    else if (w->sync->replay->held_at_ms > 0)
        replay_schedule(w->sync->replay);
}
