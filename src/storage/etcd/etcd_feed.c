/* clang-format off */
/* Feeds of the etcd engine. etcd_feed.h has a feed's states.
 *
 * The main watch is one watch over all keys, opened when the first feed comes:
 *
 *   OFF ──► ASKING (a linearizable read tells the store's revision) ──► ON ──► events, progress
 *    ▲         │ the read failed: again after ASK_RETRY_MS             │
 *    └─────────┴──────────────────────────────────────────────────────┘ the watch broke
 *
 * Each event of it goes to the LIVE feeds whose range has the key. Each feed is delivered to once
 * per message of etcd, with `upto` = the main watch's position: every revision of the store changes
 * some key, so a watch over all keys is complete up to its last event.
 *
 * etcd's user may not be allowed to read all keys. Then the main watch goes on over the prefix only
 * (main_narrow()), and its last event says nothing about later revisions of other keys. How far it
 * is must be asked: `is_narrow` means that progress requests are sent when somebody needs to know.
 *
 * Orders (open, credit, progress, close) come from other threads: they are written under the
 * engine's lock and one mail is posted, on_command(), which calls feed_settle(). feed_settle() is
 * the one place that decides what a feed does next:
 *   the main watch is not ON       start it; the feed stays as it is until on_asked()
 *   `pos` has reached the main's   LIVE
 *   no credit                      BEHIND, without a watch
 *   else                           CATCHING: a watch of its own from `pos`, until the first case
 *
 * A feed moves from its own watch to the main one only between two messages of etcd, on this loop,
 * at equal positions, so nothing is lost or repeated. A revision is never split between batches.
 *
 * Failures.
 *   the connection       watches resume at their position by themselves (etcd_watch.c); feeds wait
 *   no memory, no credit a live feed falls BEHIND just before the event; one that is `in_step`
 *                        breaks with -COR_ENOMEM
 *   compacted            the feed whose watch it is breaks with -COR_EEXPIRED; if it is the main
 *                        watch's, all LIVE and NEW feeds break, and the main watch begins again at
 *                        the present revision
 *   refused              of the main watch: the prefix is tried where progress can be trusted, else
 *                        as above
 *
 * Thread: the engine's loop, except cor_etcd_feed_open() and feed_tell() (any). */
/* clang-format on */
#include "storage/etcd/etcd_feed.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "storage/etcd/etcd_messages.h"

/* Why a watch over the prefix cannot replace the main watch. */
#define TOO_OLD       "a user who may not read all keys needs etcd 3.4.31, 3.5.13 or later"
#define REASON_MAX    384
#define ASK_RETRY_MS  200
#define FAR_MS        3600000 /* the main timer when nothing is to be tried again */
#define ASK_BYTES_MAX 256

static void feed_settle(struct etcd_feed *feed);
static void main_start(struct etcd_engine *e);

static struct etcd_feed *of_range(struct cor_feed_range *range)
{
    return COR_CONTAINER_OF(range, struct etcd_feed, base.range);
}

/* The main watch brings previous versions only while a live feed wants them. etcd cannot change a
 * watch, so it is closed and opened again at its position: nothing is lost or repeated. */
static void main_set_prev(struct etcd_engine *e)
{
    bool with_prev = e->nprev > 0;

    if (e->main_state != ETCD_MAIN_ON || e->main.with_prev == with_prev)
        return;
    cor_etcd_watch_close(&e->main);
    e->main.with_prev = with_prev;
    cor_etcd_watch_open(&e->main);
}

/* The one place that changes a feed's state: counts who wants previous versions, and closes the
 * feed's own watch when it is not CATCHING any more. */
static void feed_set_state(struct etcd_feed *feed, enum etcd_feed_state state)
{
    struct etcd_engine *e = feed->engine;

    if (feed->state == ETCD_FEED_LIVE && feed->base.opts.with_prev)
        e->nprev--;
    if (state == ETCD_FEED_LIVE && feed->base.opts.with_prev)
        e->nprev++;
    if (feed->state == ETCD_FEED_CATCHING && state != ETCD_FEED_CATCHING)
        cor_etcd_watch_close(&feed->watch);
    feed->state = state;
    main_set_prev(e);
}

/* Ends the feed with an error; its owner closes it. To a client of the API it is a failure of the
 * store, not of the client's rights, when etcd refuses the server: upstream answers the same. */
static void feed_break(struct etcd_feed *feed, int err, const char *message)
{
    assert(err < 0 && feed->state != ETCD_FEED_BROKEN);
    feed_set_state(feed, ETCD_FEED_BROKEN);
    if (err == -COR_EFORBIDDEN)
        err = -COR_EINTERNAL;
    cor_lock_assert_none();
    feed->base.opts.on_broken(feed->base.opts.arg, err, message);
}

/* Does the last gathered event belong to this revision? */
static bool feed_continues_revision(const struct etcd_feed *feed, cor_rev rev)
{
    return feed->base.npending > 0 &&
           feed->base.pending[feed->base.npending - 1].kv->mod_rev == rev;
}

/* Takes gathered events of `rev` out again: the feed is complete up to just before it. */
static void feed_cut(struct etcd_feed *feed, cor_rev rev)
{
    while (feed_continues_revision(feed, rev))
        feed->base.npending--;
    feed->base.pos = rev - 1;
}

/* Gathers an event for the next batch. False: there is no memory or no credit for it, and the feed
 * was cut to be complete up to just before the event's revision. */
static bool feed_add(struct etcd_feed *feed, const struct cor_feed_event *event)
{
    cor_rev rev = event->kv->mod_rev;

    /* A revision is never split: its last events may take more credit than there is. */
    if ((feed->base.credit > 0 || feed_continues_revision(feed, rev)) &&
        cor_feed_gather(&feed->base, event))
        return true;
    feed_cut(feed, rev);
    return false;
}

/* Live feeds. */

/* An event at or below `pos` was delivered already by the feed's own watch, which was faster. */
static void feed_offer(struct etcd_feed *feed, const struct cor_feed_event *event,
                       struct cor_dlist *touched)
{
    if (feed->state != ETCD_FEED_LIVE || event->kv->mod_rev <= feed->base.pos)
        return;
    if (cor_dlist_empty(&feed->base.touched))
        cor_dlist_push(touched, &feed->base.touched);
    if (feed_add(feed, event))
        return;
    if (feed->base.opts.in_step)
        feed_break(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
    else
        feed_set_state(feed, ETCD_FEED_BEHIND);
}

/* Delivers what was gathered. A feed that fell behind in this message gets the events before the
 * cut, and then reads on by itself. */
static void feed_hand_out(struct etcd_feed *feed, cor_rev upto)
{
    if (feed->state == ETCD_FEED_LIVE)
        cor_feed_deliver(&feed->base, feed->base.pending, feed->base.npending, upto);
    else if (feed->state == ETCD_FEED_BEHIND && feed->base.npending > 0)
        cor_feed_deliver(&feed->base, feed->base.pending, feed->base.npending, feed->base.pos);
    cor_feed_release(&feed->base);
    if (feed->state == ETCD_FEED_BEHIND)
        feed_settle(feed);
}

static void on_main_events(struct etcd_watch *w, const struct cor_feed_event *events, size_t n)
{
    struct etcd_engine *e = COR_CONTAINER_OF(w, struct etcd_engine, main);
    struct cor_dlist touched, *link;

    cor_dlist_init(&touched);
    for (size_t i = 0; i < n; i++) {
        struct cor_feed_range *range;
        size_t at = SIZE_MAX;

        while ((range = cor_feed_index_next(&e->feeds, cor_kv_key(events[i].kv), &at)))
            feed_offer(of_range(range), &events[i], &touched);
    }
    while ((link = cor_dlist_pop(&touched)))
        feed_hand_out(COR_CONTAINER_OF(link, struct etcd_feed, base.touched), w->pos);
}

static bool range_contains(const struct cor_feed_range *outer, const struct cor_feed_range *inner)
{
    return cor_str_cmp(outer->key, inner->key) <= 0 && cor_str_cmp(inner->end, outer->end) <= 0;
}

/* Does the main watch see every event that the feed is to get? A feed may ask for more keys than
 * etcd's user can read; it then gets the keys under the prefix, so the narrow watch is enough. */
static bool main_covers(const struct etcd_engine *e, const struct etcd_feed *feed)
{
    return !e->is_narrow || range_contains(&e->prefix, &feed->base.range) ||
           range_contains(&feed->base.range, &e->prefix);
}

/* The main watch goes on over the prefix, from its position. Live feeds of other keys were complete
 * up to that position, and need watches of their own from there. */
static void main_narrow(struct etcd_engine *e)
{
    e->is_narrow = true;
    e->main.key = e->prefix.key;
    e->main.end = e->prefix.end;
    cor_etcd_watch_open(&e->main);
    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds) {
        struct etcd_feed *feed = COR_CONTAINER_OF(link, struct etcd_feed, link);

        if (feed->state != ETCD_FEED_LIVE || main_covers(e, feed))
            continue;
        if (feed->base.pos < e->main.pos)
            feed->base.pos = e->main.pos;
        feed_settle(feed);
    }
}

/* etcd has nothing more up to the watch's position. Only feeds that must stay current, and those
 * that asked, are called. */
static void on_main_progress(struct etcd_watch *w)
{
    struct etcd_engine *e = COR_CONTAINER_OF(w, struct etcd_engine, main);

    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds) {
        struct etcd_feed *feed = COR_CONTAINER_OF(link, struct etcd_feed, link);

        if (feed->state != ETCD_FEED_LIVE || feed->base.pos >= w->pos ||
            !(feed->base.opts.in_step || feed->wants_more))
            continue;
        feed->wants_more = false;
        cor_feed_deliver(&feed->base, NULL, 0, w->pos);
    }
}

void cor_etcd_feeds_saw(struct etcd_engine *e, cor_rev rev)
{
    assert(cor_loop_is_current(e->loop));
    if (e->is_narrow && e->main_state == ETCD_MAIN_ON && rev > e->main.pos)
        cor_etcd_watch_ask_progress(&e->main);
}

/* The timer is always set (FAR_MS when nothing is to be done), because moving a timer that is set
 * needs no memory and cannot fail. A retry that could not be set would leave all feeds silent. */
static void main_set_timer(struct etcd_engine *e, uint64_t ms)
{
    int r = cor_timer_set(&e->main_timer, ms);

    assert(r == 0);
    (void)r;
}

/* Without a main watch no live feed can go on, and those that are NEW have no start. Feeds that are
 * CATCHING have a watch of their own and go on. */
static void on_main_broken(struct etcd_watch *w, int err, const char *message)
{
    struct etcd_engine *e = COR_CONTAINER_OF(w, struct etcd_engine, main);
    char text[REASON_MAX];

    cor_etcd_watch_close(w);
    if (err == -COR_EFORBIDDEN && !e->is_narrow && e->prefix.key.n > 0) {
        if (cor_etcd_session_has_progress(e->session)) {
            main_narrow(e);
            return;
        }
        snprintf(text, sizeof(text), "%s: %s", message, TOO_OLD);
        message = text;
    }
    e->main_state = ETCD_MAIN_OFF;
    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds) {
        struct etcd_feed *feed = COR_CONTAINER_OF(link, struct etcd_feed, link);

        if (feed->state == ETCD_FEED_LIVE || feed->state == ETCD_FEED_NEW)
            feed_break(feed, err, message);
    }
    main_set_timer(e, ASK_RETRY_MS);
}

/* The main watch begins at the store's revision, which a linearizable read returns. */

static void on_asked(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_engine *e = call->arg;
    struct cor_range_req answer = {0};

    e->main_asks = NULL;
    if (reply->err < 0 || cor_etcd_decode_range(reply->message, &answer) < 0) {
        e->main_state = ETCD_MAIN_OFF;
        if (!cor_dlist_empty(&e->all_feeds))
            main_set_timer(e, ASK_RETRY_MS);
        return;
    }
    e->main.pos = answer.ret_rev;
    cor_range_req_deinit(&answer);
    e->main.with_prev = e->nprev > 0;
    e->main_state = ETCD_MAIN_ON;
    cor_etcd_watch_open(&e->main);
    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds) {
        struct etcd_feed *feed = COR_CONTAINER_OF(link, struct etcd_feed, link);

        if (feed->state == ETCD_FEED_NEW)
            feed_settle(feed);
    }
}

static void main_start(struct etcd_engine *e)
{
    struct cor_range_req ask = {.key = cor_etcd_engine_probe_key(e), .keys_only = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};

    if (e->main_state != ETCD_MAIN_OFF || cor_dlist_empty(&e->all_feeds))
        return;
    cor_buf_init(&out, ASK_BYTES_MAX);
    if (cor_etcd_encode_range(&ask, 0, &out) < 0 ||
        cor_etcd_call_start(e->session, &cor_etcd_method_range, &out, on_asked, e, &e->main_asks) <
            0)
        main_set_timer(e, ASK_RETRY_MS);
    else
        e->main_state = ETCD_MAIN_ASKING;
}

static void on_main_timer(struct cor_timer *timer)
{
    struct etcd_engine *e = COR_CONTAINER_OF(timer, struct etcd_engine, main_timer);

    main_set_timer(e, FAR_MS);
    main_start(e);
}

/* Feeds that catch up. */

static bool feed_wants(const struct etcd_feed *feed, const struct cor_feed_event *event)
{
    struct cor_str key = cor_kv_key(event->kv);

    return cor_str_cmp(key, feed->base.range.key) >= 0 &&
           cor_str_cmp(key, feed->base.range.end) < 0;
}

/* Events of a feed's own watch, which may be over more keys than the feed's. */
static void on_own_events(struct etcd_watch *w, const struct cor_feed_event *events, size_t n)
{
    struct etcd_feed *feed = COR_CONTAINER_OF(w, struct etcd_feed, watch);
    cor_rev upto = w->pos;
    bool fits = true;

    for (size_t i = 0; i < n && fits; i++)
        fits = !feed_wants(feed, &events[i]) || feed_add(feed, &events[i]);
    if (!fits) {
        upto = feed->base.pos;
        feed_set_state(feed, ETCD_FEED_BEHIND);
    }
    if (feed->base.npending > 0)
        cor_feed_deliver(&feed->base, feed->base.pending, feed->base.npending, upto);
    feed->base.pos = upto;
    cor_feed_release(&feed->base);
    feed_settle(feed);
}

static void on_own_progress(struct etcd_watch *w)
{
    struct etcd_feed *feed = COR_CONTAINER_OF(w, struct etcd_feed, watch);

    feed->base.wants_progress = false;
    cor_feed_deliver(&feed->base, NULL, 0, w->pos);
    feed_settle(feed);
    /* The main watch has moved on meanwhile: ask again, until the two positions meet. */
    if (feed->state == ETCD_FEED_CATCHING && main_covers(feed->engine, feed))
        cor_etcd_watch_ask_progress(w);
}

static void on_own_broken(struct etcd_watch *w, int err, const char *message)
{
    feed_break(COR_CONTAINER_OF(w, struct etcd_feed, watch), err, message);
}

/* Opens the feed's own watch. It is over the feed's keys where etcd can be trusted. An etcd whose
 * progress answers may be wrong, or that loses deletions, gets a watch over all keys instead: such
 * a watch needs no progress answer to know how far it is, and sees that a revision is missing. */
static void feed_catch_up(struct etcd_feed *feed)
{
    const struct etcd_engine *e = feed->engine;
    bool own_keys = e->is_narrow || (cor_etcd_session_has_progress(e->session) &&
                                     cor_etcd_session_keeps_deletions(e->session));
    bool is_wide = e->is_narrow && range_contains(&feed->base.range, &e->prefix);
    const struct cor_feed_range *range = is_wide ? &e->prefix : &feed->base.range;
    struct etcd_watch *w = &feed->watch;

    w->key = own_keys ? range->key : ETCD_ALL_KEYS;
    w->end = own_keys ? range->end : ETCD_ALL_KEYS;
    w->with_prev = feed->base.opts.with_prev;
    w->is_alone = false;
    w->pos = feed->base.pos;
    feed_set_state(feed, ETCD_FEED_CATCHING);
    cor_etcd_watch_open(w);
    if (own_keys)
        cor_etcd_watch_ask_progress(w);
}

/* Answers a question for progress: at once with what is known, and again when a narrow watch has
 * asked etcd. */
static void feed_give_progress(struct etcd_feed *feed)
{
    struct etcd_engine *e = feed->engine;

    if (feed->state == ETCD_FEED_LIVE) {
        feed->base.wants_progress = false;
        feed->wants_more = e->is_narrow;
        cor_feed_deliver(&feed->base, NULL, 0, feed->base.pos);
        if (e->is_narrow)
            cor_etcd_watch_ask_progress(&e->main);
    } else if (feed->state == ETCD_FEED_CATCHING && e->is_narrow) {
        cor_etcd_watch_ask_progress(&feed->watch);
    }
}

/* Decides what the feed does next, after `pos` has moved or an order has come; see the head. */
static void feed_settle(struct etcd_feed *feed)
{
    struct etcd_engine *e = feed->engine;

    if (e->main_state != ETCD_MAIN_ON) {
        main_start(e);
        return;
    }
    if (feed->base.pos == 0)
        feed->base.pos = e->main.pos;
    if (feed->base.pos >= e->main.pos && main_covers(e, feed))
        feed_set_state(feed, ETCD_FEED_LIVE);
    else if (feed->base.credit == 0)
        feed_set_state(feed, ETCD_FEED_BEHIND);
    else if (feed->state != ETCD_FEED_CATCHING)
        feed_catch_up(feed);
    if (feed->base.wants_progress)
        feed_give_progress(feed);
}

/* The last call of the feed's owner, then its memory. */
static void feed_finish_close(struct etcd_feed *feed)
{
    struct etcd_engine *e = feed->engine;

    assert(!feed->told);
    feed_set_state(feed, ETCD_FEED_BROKEN);
    if (feed->indexed)
        cor_feed_index_remove(&e->feeds, &feed->base.range);
    cor_dlist_remove(&feed->link);
    cor_lock_assert_none();
    feed->base.opts.on_closed(feed->base.opts.arg);
    cor_feed_deinit(&feed->base);
    cor_free(feed);
    atomic_fetch_sub(&e->nfeeds, 1);
}

static void feed_start(struct etcd_feed *feed)
{
    feed->indexed = cor_feed_index_add(&feed->engine->feeds, &feed->base.range) == 0;
    if (!feed->indexed)
        feed_break(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
}

/* Carries out what other threads have asked for; the first command of a feed registers it. */
static void on_command(struct cor_mail *mail)
{
    struct etcd_feed *feed = COR_CONTAINER_OF(mail, struct etcd_feed, command);
    struct etcd_engine *e = feed->engine;
    bool close;

    assert(cor_loop_is_current(e->loop));
    cor_lock_acquire(&e->lock);
    feed->told = false;
    close = cor_feed_take_orders(&feed->base);
    cor_lock_release(&e->lock);
    if (cor_dlist_empty(&feed->link)) {
        cor_dlist_push(&e->all_feeds, &feed->link);
        feed_start(feed);
    }
    /* `pos` of a live feed moves only with its own events; it is complete up to the main's. */
    if (feed->state == ETCD_FEED_LIVE && feed->base.pos < e->main.pos)
        feed->base.pos = e->main.pos;
    if (close)
        feed_finish_close(feed);
    else if (feed->state != ETCD_FEED_BROKEN)
        feed_settle(feed);
}

/* Any thread, under the engine's lock. One mail is enough for all orders up to its delivery. */
static void feed_tell(struct cor_feed *base)
{
    struct etcd_feed *feed = COR_CONTAINER_OF(base, struct etcd_feed, base);

    if (feed->told)
        return;
    feed->told = true;
    cor_loop_post_always(feed->engine->loop, &feed->command);
}

int cor_etcd_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                       struct cor_feed **ret_feed)
{
    struct etcd_engine *e = (struct etcd_engine *)engine;
    struct etcd_feed *feed = cor_calloc(1, sizeof(*feed) + opts->key.n + 1 + opts->end.n);

    if (!feed)
        return -COR_ENOMEM;
    if (atomic_fetch_add(&e->nfeeds, 1) >= COR_ENGINE_FEEDS_MAX) {
        atomic_fetch_sub(&e->nfeeds, 1);
        cor_free(feed);
        return -COR_EBUSY;
    }
    cor_feed_init(&feed->base, opts, (char *)(feed + 1), &e->lock, feed_tell);
    feed->engine = e;
    feed->command.on_mail = on_command;
    cor_dlist_init(&feed->link);
    cor_etcd_watch_init(&feed->watch, &e->streams);
    feed->watch.on_events = on_own_events;
    feed->watch.on_progress = on_own_progress;
    feed->watch.on_broken = on_own_broken;
    *ret_feed = &feed->base;
    cor_lock_acquire(&e->lock);
    feed_tell(&feed->base);
    cor_lock_release(&e->lock);
    return 0;
}

void cor_etcd_feeds_init(struct etcd_engine *e)
{
    cor_dlist_init(&e->all_feeds);
    cor_timer_init(&e->main_timer, e->loop, on_main_timer);
    cor_etcd_watch_streams_init(&e->streams, e->session);
    cor_etcd_watch_init(&e->main, &e->streams);
    e->main.is_alone = true;
    e->main.key = e->main.end = ETCD_ALL_KEYS;
    e->main.on_events = on_main_events;
    e->main.on_progress = on_main_progress;
    e->main.on_broken = on_main_broken;
}

int cor_etcd_feeds_start(struct etcd_engine *e)
{
    return cor_timer_set(&e->main_timer, FAR_MS);
}

void cor_etcd_feeds_deinit(struct etcd_engine *e)
{
    assert(cor_dlist_empty(&e->all_feeds));
    cor_timer_cancel(&e->main_timer);
    cor_etcd_watch_close(&e->main);
    if (e->main_asks)
        cor_etcd_call_cancel(COR_STEAL(e->main_asks));
    cor_feed_index_deinit(&e->feeds);
}
