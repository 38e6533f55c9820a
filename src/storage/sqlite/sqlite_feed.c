/* clang-format off */
/* Feeds of the SQLite engine. sqlite_feed.h has the states.
 *
 * Orders. Another thread opens a feed, gives it credit, asks for progress or closes it: that writes
 * into the feed under the engine's lock, puts the feed into `feed_commands` and wakes the engine
 * thread, which carries the orders out in its next turn (cor_feeds_commands()).
 *
 * Live. After each commit cor_feeds_publish() looks up, for each change, the feeds whose range has
 * the key, gathers the change for each of them, and delivers to each feed once per batch.
 *
 * Behind. A feed that began at an old revision, or had no credit left, reads history page by page:
 *
 *   cor_feeds_turn() ──► more than HANDOVER_REVS behind: a reader thread reads the page
 *          ▲             (READING) ──► feed_pages ──► cor_feeds_commands()
 *          │        └──► less: the engine thread reads the page itself       │
 *          └────── feed_settle(): still behind ◄── feed_take_page() ◄────────┘
 *                        └──► `pos` is the engine's revision: LIVE
 *
 * The engine thread alone changes its revision, so between the last page and LIVE no commit can
 * happen: no event is lost and none is delivered twice.
 *
 * Failures. A live feed for which an event cannot be gathered (no memory, no credit) falls behind
 * just before that event and reads it from history later; a feed that is `in_step` may not do that
 * and breaks. A page that cannot be read, a start outside history, and a start that finds no memory
 * break the feed: on_broken is called once, and the feed waits to be closed. A feed that is closed
 * while a reader has its page ends when the page comes back.
 *
 * Thread: the engine's, except cor_sqlite_feed_open() (any) and cor_feed_read_page() (a reader's).
 */
/* clang-format on */
#include "storage/sqlite/sqlite_feed.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"

/* A feed that is at most this far behind is caught up by the engine thread itself. A page that a
 * reader thread brings is never the last one under steady writes: more was committed meanwhile. */
#define HANDOVER_REVS 256
/* The engine thread reads at most this many pages in one turn. */
#define TURN_PAGES 16

static struct cor_sqlite_feed *of_range(struct cor_feed_range *range)
{
    return COR_CONTAINER_OF(range, struct cor_sqlite_feed, base.range);
}

/* Ends the feed with an error. A feed that is being closed hears nothing more. */
static void feed_break(struct cor_sqlite_feed *feed, int err, const char *message)
{
    assert(err < 0 && feed->state != COR_FEED_READING && feed->state != COR_FEED_BROKEN);
    cor_lock_assert_none();
    feed->state = COR_FEED_BROKEN;
    cor_dlist_remove(&feed->link);
    if (!feed->closing)
        feed->base.opts.on_broken(feed->base.opts.arg, err, message);
}

/* Decides between LIVE and BEHIND after `pos` has moved or credit has come. A feed that is behind
 * without credit stays out of the list: credit that comes later settles it again. */
static void feed_settle(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;

    assert(feed->base.pos <= e->rev);
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

/* A feed's first turn on the engine thread: it is indexed, and its start is compared with what
 * history has. A start of 0 means the present. */
static void feed_start(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;
    char message[96];

    assert(feed->state == COR_FEED_NEW);
    feed->base.pos = feed->base.opts.from ? feed->base.opts.from : e->rev;
    feed->indexed = cor_feed_index_add(&e->feeds, &feed->base.range) == 0;
    if (!feed->indexed) {
        feed_break(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
    } else if (e->read_only) {
        feed_break(feed, -COR_ENOTSUP, "a store that is open read-only has no feeds");
    } else if (feed->base.pos > e->rev) {
        snprintf(message, sizeof(message), "revision %llu is in the future: the store is at %llu",
                 (unsigned long long)feed->base.pos, (unsigned long long)e->rev);
        feed_break(feed, -COR_EFUTURE, message);
    } else if (feed->base.pos < e->compact_rev) {
        snprintf(message, sizeof(message), "revision %llu has been compacted, the oldest is %llu",
                 (unsigned long long)feed->base.pos, (unsigned long long)e->compact_rev);
        feed_break(feed, -COR_EEXPIRED, message);
    } else {
        feed_settle(feed);
    }
}

/* The last call of the feed's owner, then its memory. `nfeeds` is counted down last, because an
 * engine that is closing ends its thread when it reaches 0. */
static void feed_finish_close(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;

    assert(feed->closing && feed->state != COR_FEED_READING);
    assert(cor_dlist_empty(&feed->command));
    cor_dlist_remove(&feed->link);
    if (feed->indexed)
        cor_feed_index_remove(&e->feeds, &feed->base.range);
    cor_lock_assert_none();
    feed->base.opts.on_closed(feed->base.opts.arg);
    cor_feed_deinit(&feed->base);
    cor_free(feed);
    cor_lock_acquire(&e->lock);
    e->nfeeds--;
    cor_lock_release(&e->lock);
}

/* Delivers a page of history, which the engine thread or a reader has read. A feed that was closed
 * while the reader had it ends here. */
static void feed_take_page(struct cor_sqlite_feed *feed)
{
    struct cor_history_page *page = &feed->page;

    assert(feed->state == COR_FEED_BEHIND || feed->state == COR_FEED_READING);
    feed->state = COR_FEED_BEHIND;
    if (feed->closing) {
        cor_history_page_deinit(page);
        feed_finish_close(feed);
        return;
    }
    if (page->err < 0) {
        feed_break(feed, page->err, page->message);
        return;
    }
    feed->base.pos = page->upto;
    cor_feed_spend(&feed->base, page->nevents);
    if (page->nevents > 0)
        cor_feed_deliver(&feed->base, page->events, page->nevents, page->upto);
    cor_history_page_deinit(page);
    feed_settle(feed);
}

static struct cor_sqlite_feed *feeds_next_page(struct cor_sqlite_engine *e)
{
    struct cor_dlist *link;

    cor_lock_acquire(&e->lock);
    link = cor_dlist_pop(&e->feed_pages);
    cor_lock_release(&e->lock);
    return link ? COR_CONTAINER_OF(link, struct cor_sqlite_feed, job) : NULL;
}

static struct cor_sqlite_feed *feeds_next_command(struct cor_sqlite_engine *e)
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

/* Carries out what other threads have asked for. A live feed delivers only what it wants, so its
 * `pos` may be old: it is complete up to the engine's revision all the same. */
static void feed_do_orders(struct cor_sqlite_feed *feed)
{
    if (feed->closing) {
        if (feed->state != COR_FEED_READING)
            feed_finish_close(feed);
        return;
    }
    if (feed->state == COR_FEED_NEW)
        feed_start(feed);
    else if (feed->state == COR_FEED_LIVE)
        feed->base.pos = feed->engine->rev;
    if (feed->state == COR_FEED_LIVE || feed->state == COR_FEED_BEHIND)
        feed_settle(feed);
}

void cor_feeds_commands(struct cor_sqlite_engine *e)
{
    struct cor_sqlite_feed *feed;

    while ((feed = feeds_next_command(e)))
        feed_do_orders(feed);
    while ((feed = feeds_next_page(e)))
        feed_take_page(feed);
}

/* The feed stops being live just before `rev`. What was gathered for it from this batch before that
 * revision is still delivered. */
static void feed_fall_behind(struct cor_sqlite_feed *feed, cor_rev rev)
{
    feed->state = COR_FEED_BEHIND;
    feed->base.pos = rev - 1;
    if (feed->base.credit > 0)
        cor_dlist_push(&feed->engine->behind, &feed->link);
}

/* Gathers one change for one feed. The kv of the change is made for the first feed that wants it,
 * and shared by the others. */
static void feed_offer(struct cor_sqlite_feed *feed, struct cor_sqlite_change *change,
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
            feed_break(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
        else
            feed_fall_behind(feed, change->rev);
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
            feed_offer(of_range(range), &e->changes[i], &touched);
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
        feed_take_page(feed);
        pages++;
    }
    return !cor_dlist_empty(&e->behind);
}

/* Under the engine's lock, on any thread. */
static void feed_tell(struct cor_feed *base)
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
    cor_feed_init(&feed->base, opts, (char *)(feed + 1), &e->lock, feed_tell);
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
    feed_tell(&feed->base);
    cor_lock_release(&e->lock);
    return 0;
}
