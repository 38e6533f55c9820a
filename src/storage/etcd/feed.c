#include "storage/etcd/feed.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "storage/etcd/messages.h"

/* Why a prefix is not enough. */
#define TOO_OLD       "a user who may not read all keys needs etcd 3.4.31, 3.5.13 or later"
#define REASON_MAX    384
#define ASK_RETRY_MS  200
#define FAR_MS        3600000
#define ASK_BYTES_MAX 256

static void settle(struct etcd_feed *feed);
static void start_main(struct etcd_engine *e);

static struct etcd_feed *of_range(struct cor_feed_range *range)
{
    return COR_CONTAINER_OF(range, struct etcd_feed, base.range);
}

/* The main watch brings previous versions only while somebody wants them. It is opened anew at its
 * position, so nothing is lost or repeated. */
static void set_prev(struct etcd_engine *e)
{
    bool with_prev = e->nprev > 0;

    if (e->main_state != ETCD_MAIN_ON || e->main.with_prev == with_prev)
        return;
    cor_etcd_watch_close(&e->main);
    e->main.with_prev = with_prev;
    cor_etcd_watch_open(&e->main);
}

static void set_state(struct etcd_feed *feed, enum etcd_feed_state state)
{
    struct etcd_engine *e = feed->engine;

    if (feed->state == ETCD_FEED_LIVE && feed->base.opts.with_prev)
        e->nprev--;
    if (state == ETCD_FEED_LIVE && feed->base.opts.with_prev)
        e->nprev++;
    if (feed->state == ETCD_FEED_CATCHING && state != ETCD_FEED_CATCHING)
        cor_etcd_watch_close(&feed->watch);
    feed->state = state;
    set_prev(e);
}

/* As upstream, what the user of etcd may not do is any failure of the store. */
static void break_feed(struct etcd_feed *feed, int err, const char *message)
{
    set_state(feed, ETCD_FEED_BROKEN);
    if (err == -COR_EFORBIDDEN)
        err = -COR_EINTERNAL;
    feed->base.opts.on_broken(feed->base.opts.arg, err, message);
}

static bool continues_revision(const struct etcd_feed *feed, cor_rev rev)
{
    return feed->base.npending > 0 &&
           feed->base.pending[feed->base.npending - 1].kv->mod_rev == rev;
}

/* The feed is complete up to just before `rev`. */
static void cut(struct etcd_feed *feed, cor_rev rev)
{
    while (continues_revision(feed, rev))
        feed->base.npending--;
    feed->base.pos = rev - 1;
}

/* False: the event does not fit, and the feed is complete up to just before its revision. */
static bool add(struct etcd_feed *feed, const struct cor_feed_event *event)
{
    cor_rev rev = event->kv->mod_rev;

    /* A revision is never split: its last events may overdraw. */
    if ((feed->base.credit > 0 || continues_revision(feed, rev)) &&
        cor_feed_gather(&feed->base, event))
        return true;
    cut(feed, rev);
    return false;
}

/* Live feeds. */

static void offer(struct etcd_feed *feed, const struct cor_feed_event *event,
                  struct cor_dlist *touched)
{
    if (feed->state != ETCD_FEED_LIVE || event->kv->mod_rev <= feed->base.pos)
        return;
    if (cor_dlist_empty(&feed->base.touched))
        cor_dlist_push(touched, &feed->base.touched);
    if (add(feed, event))
        return;
    if (feed->base.opts.in_step)
        break_feed(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
    else
        set_state(feed, ETCD_FEED_BEHIND);
}

static void hand_out(struct etcd_feed *feed, cor_rev upto)
{
    if (feed->state == ETCD_FEED_LIVE)
        cor_feed_deliver(&feed->base, feed->base.pending, feed->base.npending, upto);
    else if (feed->state == ETCD_FEED_BEHIND && feed->base.npending > 0)
        cor_feed_deliver(&feed->base, feed->base.pending, feed->base.npending, feed->base.pos);
    cor_feed_release(&feed->base);
    if (feed->state == ETCD_FEED_BEHIND)
        settle(feed);
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
            offer(of_range(range), &events[i], &touched);
    }
    while ((link = cor_dlist_pop(&touched)))
        hand_out(COR_CONTAINER_OF(link, struct etcd_feed, base.touched), w->pos);
}

static bool contains(const struct cor_feed_range *outer, const struct cor_feed_range *inner)
{
    return cor_str_cmp(outer->key, inner->key) <= 0 && cor_str_cmp(inner->end, outer->end) <= 0;
}

/* Of one that wants more keys than can be read the prefix is all there is. */
static bool is_over(const struct etcd_engine *e, const struct etcd_feed *feed)
{
    return !e->is_narrow || contains(&e->prefix, &feed->base.range) ||
           contains(&feed->base.range, &e->prefix);
}

/* The main watch goes on over the prefix, from where it stands. */
static void narrow(struct etcd_engine *e)
{
    e->is_narrow = true;
    e->main.key = e->prefix.key;
    e->main.end = e->prefix.end;
    cor_etcd_watch_open(&e->main);
    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds)
    {
        struct etcd_feed *feed = COR_CONTAINER_OF(link, struct etcd_feed, link);

        if (feed->state != ETCD_FEED_LIVE || is_over(e, feed))
            continue;
        if (feed->base.pos < e->main.pos)
            feed->base.pos = e->main.pos;
        settle(feed);
    }
}

static void on_main_progress(struct etcd_watch *w)
{
    struct etcd_engine *e = COR_CONTAINER_OF(w, struct etcd_engine, main);

    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds)
    {
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
    if (e->is_narrow && e->main_state == ETCD_MAIN_ON && rev > e->main.pos)
        cor_etcd_watch_ask_progress(&e->main);
}

/* It is always set, far away when nobody needs it, so that setting it cannot fail: a retry that was
 * lost would leave all feeds silent. */
static void set_main_timer(struct etcd_engine *e, uint64_t ms)
{
    int r = cor_timer_set(&e->main_timer, ms);

    assert(r == 0);
    (void)r;
}

static void on_main_broken(struct etcd_watch *w, int err, const char *message)
{
    struct etcd_engine *e = COR_CONTAINER_OF(w, struct etcd_engine, main);
    char text[REASON_MAX];

    cor_etcd_watch_close(w);
    if (err == -COR_EFORBIDDEN && !e->is_narrow && e->prefix.key.n > 0) {
        if (cor_etcd_session_has_progress(e->session)) {
            narrow(e);
            return;
        }
        snprintf(text, sizeof(text), "%s: %s", message, TOO_OLD);
        message = text;
    }
    e->main_state = ETCD_MAIN_OFF;
    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds)
    {
        struct etcd_feed *feed = COR_CONTAINER_OF(link, struct etcd_feed, link);

        if (feed->state == ETCD_FEED_LIVE || feed->state == ETCD_FEED_NEW)
            break_feed(feed, err, message);
    }
    set_main_timer(e, ASK_RETRY_MS);
}

/* Where the main watch begins: at the store's revision, as a linearizable read tells it. */

static void on_asked(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct etcd_engine *e = call->arg;
    struct cor_range_req answer = {0};

    e->main_asks = NULL;
    if (reply->err < 0 || cor_etcd_decode_range(reply->message, &answer) < 0) {
        e->main_state = ETCD_MAIN_OFF;
        if (!cor_dlist_empty(&e->all_feeds))
            set_main_timer(e, ASK_RETRY_MS);
        return;
    }
    e->main.pos = answer.ret_rev;
    cor_range_req_deinit(&answer);
    e->main.with_prev = e->nprev > 0;
    e->main_state = ETCD_MAIN_ON;
    cor_etcd_watch_open(&e->main);
    COR_DLIST_FOREACH_SAFE(link, &e->all_feeds)
    {
        struct etcd_feed *feed = COR_CONTAINER_OF(link, struct etcd_feed, link);

        if (feed->state == ETCD_FEED_NEW)
            settle(feed);
    }
}

static void start_main(struct etcd_engine *e)
{
    struct cor_range_req ask = {.key = cor_etcd_engine_probe_key(e), .keys_only = true};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {0};

    if (e->main_state != ETCD_MAIN_OFF || cor_dlist_empty(&e->all_feeds))
        return;
    cor_buf_init(&out, ASK_BYTES_MAX);
    if (cor_etcd_encode_range(&ask, 0, &out) < 0 ||
        cor_etcd_call_start(e->session, &cor_etcd_method_range, &out, on_asked, e, &e->main_asks) <
            0)
        set_main_timer(e, ASK_RETRY_MS);
    else
        e->main_state = ETCD_MAIN_ASKING;
}

static void on_main_timer(struct cor_timer *timer)
{
    struct etcd_engine *e = COR_CONTAINER_OF(timer, struct etcd_engine, main_timer);

    set_main_timer(e, FAR_MS);
    start_main(e);
}

/* Feeds that catch up. */

static bool wants(const struct etcd_feed *feed, const struct cor_feed_event *event)
{
    struct cor_str key = cor_kv_key(event->kv);

    return cor_str_cmp(key, feed->base.range.key) >= 0 &&
           cor_str_cmp(key, feed->base.range.end) < 0;
}

static void on_own_events(struct etcd_watch *w, const struct cor_feed_event *events, size_t n)
{
    struct etcd_feed *feed = COR_CONTAINER_OF(w, struct etcd_feed, watch);
    cor_rev upto = w->pos;
    bool fits = true;

    for (size_t i = 0; i < n && fits; i++)
        fits = !wants(feed, &events[i]) || add(feed, &events[i]);
    if (!fits) {
        upto = feed->base.pos;
        set_state(feed, ETCD_FEED_BEHIND);
    }
    if (feed->base.npending > 0)
        cor_feed_deliver(&feed->base, feed->base.pending, feed->base.npending, upto);
    feed->base.pos = upto;
    cor_feed_release(&feed->base);
    settle(feed);
}

static void on_own_progress(struct etcd_watch *w)
{
    struct etcd_feed *feed = COR_CONTAINER_OF(w, struct etcd_feed, watch);

    feed->base.wants_progress = false;
    cor_feed_deliver(&feed->base, NULL, 0, w->pos);
    settle(feed);
    /* The main watch was faster. */
    if (feed->state == ETCD_FEED_CATCHING && is_over(feed->engine, feed))
        cor_etcd_watch_ask_progress(w);
}

static void on_own_broken(struct etcd_watch *w, int err, const char *message)
{
    break_feed(COR_CONTAINER_OF(w, struct etcd_feed, watch), err, message);
}

/* Only a watch over all keys shows how far it is where progress answers cannot be trusted, and that
 * something is missing where etcd loses deletions. */
static void catch_up(struct etcd_feed *feed)
{
    const struct etcd_engine *e = feed->engine;
    bool own_keys = e->is_narrow || (cor_etcd_session_has_progress(e->session) &&
                                     cor_etcd_session_keeps_deletions(e->session));
    bool is_wide = e->is_narrow && contains(&feed->base.range, &e->prefix);
    const struct cor_feed_range *range = is_wide ? &e->prefix : &feed->base.range;
    struct etcd_watch *w = &feed->watch;

    w->key = own_keys ? range->key : ETCD_ALL_KEYS;
    w->end = own_keys ? range->end : ETCD_ALL_KEYS;
    w->with_prev = feed->base.opts.with_prev;
    w->is_alone = false;
    w->pos = feed->base.pos;
    set_state(feed, ETCD_FEED_CATCHING);
    cor_etcd_watch_open(w);
    if (own_keys)
        cor_etcd_watch_ask_progress(w);
}

static void give_progress(struct etcd_feed *feed)
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

/* Where the feed stands after `pos` moved or it got credit. */
static void settle(struct etcd_feed *feed)
{
    struct etcd_engine *e = feed->engine;

    if (e->main_state != ETCD_MAIN_ON) {
        start_main(e);
        return;
    }
    if (feed->base.pos == 0)
        feed->base.pos = e->main.pos;
    if (feed->base.pos >= e->main.pos && is_over(e, feed))
        set_state(feed, ETCD_FEED_LIVE);
    else if (feed->base.credit == 0)
        set_state(feed, ETCD_FEED_BEHIND);
    else if (feed->state != ETCD_FEED_CATCHING)
        catch_up(feed);
    if (feed->base.wants_progress)
        give_progress(feed);
}

static void finish_close(struct etcd_feed *feed)
{
    struct etcd_engine *e = feed->engine;

    set_state(feed, ETCD_FEED_BROKEN);
    if (feed->indexed)
        cor_feed_index_remove(&e->feeds, &feed->base.range);
    cor_dlist_remove(&feed->link);
    feed->base.opts.on_closed(feed->base.opts.arg);
    cor_feed_deinit(&feed->base);
    cor_free(feed);
    atomic_fetch_sub(&e->nfeeds, 1);
}

static void start(struct etcd_feed *feed)
{
    feed->indexed = cor_feed_index_add(&feed->engine->feeds, &feed->base.range) == 0;
    if (!feed->indexed)
        break_feed(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
}

static void on_command(struct cor_mail *mail)
{
    struct etcd_feed *feed = COR_CONTAINER_OF(mail, struct etcd_feed, command);
    struct etcd_engine *e = feed->engine;
    bool close;

    cor_lock_acquire(&e->lock);
    feed->told = false;
    close = cor_feed_take_orders(&feed->base);
    cor_lock_release(&e->lock);
    if (cor_dlist_empty(&feed->link)) {
        cor_dlist_push(&e->all_feeds, &feed->link);
        start(feed);
    }
    if (feed->state == ETCD_FEED_LIVE && feed->base.pos < e->main.pos)
        feed->base.pos = e->main.pos;
    if (close)
        finish_close(feed);
    else if (feed->state != ETCD_FEED_BROKEN)
        settle(feed);
}

/* From any thread. */

static void tell(struct cor_feed *base)
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
    cor_feed_init(&feed->base, opts, (char *)(feed + 1), &e->lock, tell);
    feed->engine = e;
    feed->command.on_mail = on_command;
    cor_dlist_init(&feed->link);
    cor_etcd_watch_init(&feed->watch, &e->streams);
    feed->watch.on_events = on_own_events;
    feed->watch.on_progress = on_own_progress;
    feed->watch.on_broken = on_own_broken;
    *ret_feed = &feed->base;
    cor_lock_acquire(&e->lock);
    tell(&feed->base);
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
