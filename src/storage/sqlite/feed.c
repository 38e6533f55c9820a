#include "storage/sqlite/feed.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* A feed that is at most this far behind is caught up by the engine thread itself: under steady
 * writes a reader's page is never the last one. */
#define HANDOVER_REVS 256
/* Pages the engine thread reads in a turn. */
#define TURN_PAGES 16

static struct cor_sqlite_feed *of_range(struct cor_feed_range *range)
{
    return COR_CONTAINER_OF(range, struct cor_sqlite_feed, base.range);
}

static void break_feed(struct cor_sqlite_feed *feed, int err, const char *message)
{
    feed->state = COR_FEED_BROKEN;
    cor_dlist_remove(&feed->link);
    if (!feed->closing)
        feed->base.opts.on_broken(feed->base.opts.arg, err, message);
}

/* Where the feed stands after `pos` moved or it got credit. */
static void settle(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;

    if (feed->base.pos == e->rev) {
        feed->state = COR_FEED_LIVE;
        if (feed->base.wants_progress) {
            feed->base.wants_progress = false;
            cor_feed_deliver(&feed->base, NULL, 0, e->rev);
        }
        return;
    }
    feed->state = COR_FEED_BEHIND;
    if (feed->base.credit > 0 && cor_dlist_empty(&feed->link))
        cor_dlist_push(&e->behind, &feed->link);
}

static void start(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;
    char message[96];

    feed->base.pos = feed->base.opts.from ? feed->base.opts.from : e->rev;
    feed->indexed = cor_feed_index_add(&e->feeds, &feed->base.range) == 0;
    if (!feed->indexed) {
        break_feed(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
    } else if (e->read_only) {
        break_feed(feed, -COR_ENOTSUP, "a store that is open read-only has no feeds");
    } else if (feed->base.pos > e->rev) {
        snprintf(message, sizeof(message), "revision %llu is in the future: the store is at %llu",
                 (unsigned long long)feed->base.pos, (unsigned long long)e->rev);
        break_feed(feed, -COR_EFUTURE, message);
    } else if (feed->base.pos < e->compact_rev) {
        snprintf(message, sizeof(message), "revision %llu has been compacted, the oldest is %llu",
                 (unsigned long long)feed->base.pos, (unsigned long long)e->compact_rev);
        break_feed(feed, -COR_EEXPIRED, message);
    } else {
        settle(feed);
    }
}

static void finish_close(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;

    assert(cor_dlist_empty(&feed->command));
    cor_dlist_remove(&feed->link);
    if (feed->indexed)
        cor_feed_index_remove(&e->feeds, &feed->base.range);
    feed->base.opts.on_closed(feed->base.opts.arg);
    cor_feed_deinit(&feed->base);
    cor_free(feed);
    cor_lock_acquire(&e->lock);
    e->nfeeds--;
    cor_lock_release(&e->lock);
}

static void take_page(struct cor_sqlite_feed *feed)
{
    struct cor_history_page *page = &feed->page;

    if (feed->closing) {
        cor_history_page_deinit(page);
        finish_close(feed);
        return;
    }
    if (page->err < 0) {
        break_feed(feed, page->err, page->message);
        return;
    }
    feed->base.pos = page->upto;
    cor_feed_spend(&feed->base, page->nevents);
    if (page->nevents > 0)
        cor_feed_deliver(&feed->base, page->events, page->nevents, page->upto);
    cor_history_page_deinit(page);
    settle(feed);
}

static struct cor_sqlite_feed *next_page(struct cor_sqlite_engine *e)
{
    struct cor_dlist *link;

    cor_lock_acquire(&e->lock);
    link = cor_dlist_pop(&e->feed_pages);
    cor_lock_release(&e->lock);
    return link ? COR_CONTAINER_OF(link, struct cor_sqlite_feed, job) : NULL;
}

static struct cor_sqlite_feed *next_command(struct cor_sqlite_engine *e)
{
    struct cor_sqlite_feed *feed = NULL;
    struct cor_dlist *link;

    cor_lock_acquire(&e->lock);
    link = cor_dlist_pop(&e->feed_commands);
    if (link) {
        feed = COR_CONTAINER_OF(link, struct cor_sqlite_feed, command);
        feed->closing |= cor_feed_take_orders(&feed->base);
    }
    cor_lock_release(&e->lock);
    return feed;
}

static void obey(struct cor_sqlite_feed *feed)
{
    if (feed->closing) {
        if (feed->state != COR_FEED_READING)
            finish_close(feed);
        return;
    }
    if (feed->state == COR_FEED_NEW)
        start(feed);
    else if (feed->state == COR_FEED_LIVE)
        feed->base.pos = feed->engine->rev;
    if (feed->state == COR_FEED_LIVE || feed->state == COR_FEED_BEHIND)
        settle(feed);
}

void cor_feeds_commands(struct cor_sqlite_engine *e)
{
    struct cor_sqlite_feed *feed;

    while ((feed = next_command(e)))
        obey(feed);
    while ((feed = next_page(e)))
        take_page(feed);
}

/* The feed leaves the live ones just before `rev`; what it got of this batch is still delivered. */
static void fall_behind(struct cor_sqlite_feed *feed, cor_rev rev)
{
    feed->state = COR_FEED_BEHIND;
    feed->base.pos = rev - 1;
    if (feed->base.credit > 0)
        cor_dlist_push(&feed->engine->behind, &feed->link);
}

static void offer(struct cor_sqlite_feed *feed, struct cor_sqlite_change *change,
                  struct cor_dlist *touched)
{
    struct cor_feed_event event;

    if (feed->state != COR_FEED_LIVE)
        return;
    if (!change->kv) {
        change->kv =
            cor_kv_new(change->key, change->value, change->create_rev, change->rev, change->lease);
        if (change->kv && change->object)
            change->kv->object = cor_object_ref(change->object);
    }
    event = (struct cor_feed_event){change->kv, change->prev, change->deleted};
    if (feed->base.credit == 0 || !change->kv || !cor_feed_gather(&feed->base, &event)) {
        if (feed->base.opts.in_step)
            break_feed(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
        else
            fall_behind(feed, change->rev);
        return;
    }
    if (feed->base.npending == 1)
        cor_dlist_push(touched, &feed->base.touched);
}

void cor_feeds_publish(struct cor_sqlite_engine *e)
{
    struct cor_dlist touched, *link;

    cor_dlist_init(&touched);
    for (size_t i = 0; i < e->nchanges; i++) {
        struct cor_feed_range *range;
        size_t at = SIZE_MAX;

        while ((range = cor_feed_index_next(&e->feeds, e->changes[i].key, &at)))
            offer(of_range(range), &e->changes[i], &touched);
    }
    while ((link = cor_dlist_pop(&touched))) {
        struct cor_sqlite_feed *feed = COR_CONTAINER_OF(link, struct cor_sqlite_feed, base.touched);

        if (feed->state != COR_FEED_BROKEN)
            cor_feed_deliver(&feed->base, feed->base.pending, feed->base.npending,
                             feed->state == COR_FEED_LIVE ? e->rev : feed->base.pos);
        cor_feed_release(&feed->base);
    }
}

void cor_feed_read_page(struct cor_sqlite_feed *feed, struct cor_sqlite_db *db)
{
    struct cor_sqlite_engine *e = feed->engine;

    cor_history_read(db, feed->base.range.key, feed->base.range.end, feed->base.pos, feed->page_max,
                     &feed->page);
    cor_lock_acquire(&e->lock);
    cor_dlist_push(&e->feed_pages, &feed->job);
    cor_sqlite_engine_wake_locked(e);
    cor_lock_release(&e->lock);
}

bool cor_feeds_turn(struct cor_sqlite_engine *e)
{
    struct cor_dlist *link;

    for (size_t pages = 0; pages < TURN_PAGES && (link = cor_dlist_pop(&e->behind));) {
        struct cor_sqlite_feed *feed = COR_CONTAINER_OF(link, struct cor_sqlite_feed, link);

        feed->page_max = feed->base.credit;
        if (e->readers && e->rev - feed->base.pos > HANDOVER_REVS) {
            feed->state = COR_FEED_READING;
            cor_readers_feed(e->readers, feed);
            continue;
        }
        cor_history_read(e->db, feed->base.range.key, feed->base.range.end, feed->base.pos,
                         feed->page_max, &feed->page);
        take_page(feed);
        pages++;
    }
    return !cor_dlist_empty(&e->behind);
}

static void tell(struct cor_feed *base)
{
    struct cor_sqlite_feed *feed = COR_CONTAINER_OF(base, struct cor_sqlite_feed, base);

    if (cor_dlist_empty(&feed->command))
        cor_dlist_push(&feed->engine->feed_commands, &feed->command);
    cor_sqlite_engine_wake_locked(feed->engine);
}

int cor_sqlite_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                         struct cor_feed **ret_feed)
{
    struct cor_sqlite_engine *e = (struct cor_sqlite_engine *)engine;
    struct cor_sqlite_feed *feed = cor_calloc(1, sizeof(*feed) + opts->key.n + 1 + opts->end.n);

    if (!feed)
        return -COR_ENOMEM;
    cor_feed_init(&feed->base, opts, (char *)(feed + 1), &e->lock, tell);
    feed->engine = e;
    cor_dlist_init(&feed->command);
    cor_dlist_init(&feed->link);
    cor_dlist_init(&feed->job);
    cor_lock_acquire(&e->lock);
    if (e->nfeeds >= COR_ENGINE_FEEDS_MAX) {
        cor_lock_release(&e->lock);
        cor_free(feed);
        return -COR_EBUSY;
    }
    e->nfeeds++;
    *ret_feed = &feed->base;
    tell(&feed->base);
    cor_lock_release(&e->lock);
    return 0;
}
