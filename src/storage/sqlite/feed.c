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
/* A live feed keeps the room for this many events between batches. */
#define PENDING_KEEP 64

static struct cor_sqlite_feed *of_range(struct cor_feed_range *range)
{
    return COR_CONTAINER_OF(range, struct cor_sqlite_feed, range);
}

static void deliver(struct cor_sqlite_feed *feed, const struct cor_feed_event *events, size_t n,
                    cor_rev upto)
{
    struct cor_feed_batch batch = {.events = events, .nevents = n, .upto = upto};

    feed->opts.on_batch(feed->opts.arg, &batch);
}

static void spend(struct cor_sqlite_feed *feed, size_t events)
{
    if (feed->credit != SIZE_MAX)
        feed->credit -= events;
}

static void break_feed(struct cor_sqlite_feed *feed, int err, const char *message)
{
    feed->state = COR_FEED_BROKEN;
    cor_list_remove(&feed->link);
    if (!feed->closing)
        feed->opts.on_broken(feed->opts.arg, err, message);
}

/* Where the feed stands after `pos` moved or it got credit. */
static void settle(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;

    if (feed->pos == e->rev) {
        feed->state = COR_FEED_LIVE;
        if (feed->wants_progress) {
            feed->wants_progress = false;
            deliver(feed, NULL, 0, e->rev);
        }
        return;
    }
    feed->state = COR_FEED_BEHIND;
    if (feed->credit > 0 && cor_list_empty(&feed->link))
        cor_list_push(&e->behind, &feed->link);
}

static void start(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;
    char message[96];

    feed->pos = feed->opts.from ? feed->opts.from : e->rev;
    feed->indexed = cor_feed_index_add(&e->feeds, &feed->range) == 0;
    if (!feed->indexed) {
        break_feed(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
    } else if (e->read_only) {
        break_feed(feed, -COR_ENOTSUP, "a store that is open read-only has no feeds");
    } else if (feed->pos > e->rev) {
        snprintf(message, sizeof(message), "revision %llu is in the future: the store is at %llu",
                 (unsigned long long)feed->pos, (unsigned long long)e->rev);
        break_feed(feed, -COR_EFUTURE, message);
    } else if (feed->pos < e->compact_rev) {
        snprintf(message, sizeof(message), "revision %llu has been compacted, the oldest is %llu",
                 (unsigned long long)feed->pos, (unsigned long long)e->compact_rev);
        break_feed(feed, -COR_EEXPIRED, message);
    } else {
        settle(feed);
    }
}

static void finish_close(struct cor_sqlite_feed *feed)
{
    struct cor_sqlite_engine *e = feed->engine;

    assert(cor_list_empty(&feed->command));
    cor_list_remove(&feed->link);
    if (feed->indexed)
        cor_feed_index_remove(&e->feeds, &feed->range);
    feed->opts.on_closed(feed->opts.arg);
    cor_free(feed->pending);
    cor_free(feed);
    pthread_mutex_lock(&e->lock);
    e->nfeeds--;
    pthread_mutex_unlock(&e->lock);
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
    feed->pos = page->upto;
    spend(feed, page->nevents);
    if (page->nevents > 0)
        deliver(feed, page->events, page->nevents, page->upto);
    cor_history_page_deinit(page);
    settle(feed);
}

static struct cor_sqlite_feed *next_page(struct cor_sqlite_engine *e)
{
    struct cor_list *link;

    pthread_mutex_lock(&e->lock);
    link = cor_list_pop(&e->feed_pages);
    pthread_mutex_unlock(&e->lock);
    return link ? COR_CONTAINER_OF(link, struct cor_sqlite_feed, job) : NULL;
}

struct command {
    struct cor_sqlite_feed *feed;
    size_t credit;
    bool progress, close;
};

static bool next_command(struct cor_sqlite_engine *e, struct command *ret)
{
    struct cor_list *link;
    struct cor_sqlite_feed *feed;

    pthread_mutex_lock(&e->lock);
    link = cor_list_pop(&e->feed_commands);
    if (link) {
        feed = COR_CONTAINER_OF(link, struct cor_sqlite_feed, command);
        *ret = (struct command){feed, feed->credit_added, feed->progress_asked, feed->close_asked};
        feed->credit_added = 0;
        feed->progress_asked = false;
    }
    pthread_mutex_unlock(&e->lock);
    return link != NULL;
}

static void obey(const struct command *cmd)
{
    struct cor_sqlite_feed *feed = cmd->feed;

    if (cmd->close) {
        feed->closing = true;
        if (feed->state != COR_FEED_READING)
            finish_close(feed);
        return;
    }
    feed->credit = cor_feed_add_credit(feed->credit, cmd->credit);
    feed->wants_progress |= cmd->progress;
    if (feed->state == COR_FEED_NEW)
        start(feed);
    else if (feed->state == COR_FEED_LIVE)
        feed->pos = feed->engine->rev;
    if (feed->state == COR_FEED_LIVE || feed->state == COR_FEED_BEHIND)
        settle(feed);
}

void cor_feeds_commands(struct cor_sqlite_engine *e)
{
    struct cor_sqlite_feed *feed;
    struct command cmd;

    while (next_command(e, &cmd))
        obey(&cmd);
    while ((feed = next_page(e)))
        take_page(feed);
}

/* The feed leaves the live ones just before `rev`; what it got of this batch is still delivered. */
static void fall_behind(struct cor_sqlite_feed *feed, cor_rev rev)
{
    feed->state = COR_FEED_BEHIND;
    feed->pos = rev - 1;
    if (feed->credit > 0)
        cor_list_push(&feed->engine->behind, &feed->link);
}

static bool make_room(struct cor_sqlite_feed *feed)
{
    size_t cap = feed->pending_cap ? feed->pending_cap * 2 : 4;
    struct cor_feed_event *pending;

    if (feed->npending < feed->pending_cap)
        return true;
    pending = cor_realloc(feed->pending, cap * sizeof(*pending));
    if (!pending)
        return false;
    feed->pending = pending;
    feed->pending_cap = cap;
    return true;
}

static void offer(struct cor_sqlite_feed *feed, struct cor_change *change, struct cor_list *touched)
{
    if (feed->state != COR_FEED_LIVE)
        return;
    if (!change->kv) {
        change->kv =
            cor_kv_new(change->key, change->value, change->create_rev, change->rev, change->lease);
        if (change->kv && change->object)
            change->kv->object = cor_object_ref(change->object);
    }
    if (feed->credit == 0 || !change->kv || !make_room(feed)) {
        if (feed->opts.in_step)
            break_feed(feed, -COR_ENOMEM, cor_err_text(-COR_ENOMEM));
        else
            fall_behind(feed, change->rev);
        return;
    }
    spend(feed, 1);
    if (feed->npending == 0)
        cor_list_push(touched, &feed->touched);
    feed->pending[feed->npending++] =
        (struct cor_feed_event){.kv = change->kv, .prev = change->prev, .deleted = change->deleted};
}

void cor_feeds_publish(struct cor_sqlite_engine *e)
{
    struct cor_list touched, *link;

    cor_list_init(&touched);
    for (size_t i = 0; i < e->nchanges; i++) {
        struct cor_feed_range *range;
        size_t at = SIZE_MAX;

        while ((range = cor_feed_index_next(&e->feeds, e->changes[i].key, &at)))
            offer(of_range(range), &e->changes[i], &touched);
    }
    while ((link = cor_list_pop(&touched))) {
        struct cor_sqlite_feed *feed = COR_CONTAINER_OF(link, struct cor_sqlite_feed, touched);

        if (feed->state != COR_FEED_BROKEN)
            deliver(feed, feed->pending, feed->npending,
                    feed->state == COR_FEED_LIVE ? e->rev : feed->pos);
        feed->npending = 0;
        if (feed->pending_cap > PENDING_KEEP) {
            feed->pending = cor_free(feed->pending);
            feed->pending_cap = 0;
        }
    }
}

void cor_feed_read_page(struct cor_sqlite_feed *feed, struct cor_sqlite_db *db)
{
    struct cor_sqlite_engine *e = feed->engine;

    cor_history_read(db, feed->range.key, feed->range.end, feed->pos, feed->page_max, &feed->page);
    pthread_mutex_lock(&e->lock);
    cor_list_push(&e->feed_pages, &feed->job);
    cor_sqlite_engine_wake_locked(e);
    pthread_mutex_unlock(&e->lock);
}

bool cor_feeds_turn(struct cor_sqlite_engine *e)
{
    struct cor_list *link;

    for (size_t pages = 0; pages < TURN_PAGES && (link = cor_list_pop(&e->behind));) {
        struct cor_sqlite_feed *feed = COR_CONTAINER_OF(link, struct cor_sqlite_feed, link);

        feed->page_max = feed->credit;
        if (e->readers && e->rev - feed->pos > HANDOVER_REVS) {
            feed->state = COR_FEED_READING;
            cor_readers_feed(e->readers, feed);
            continue;
        }
        cor_history_read(e->db, feed->range.key, feed->range.end, feed->pos, feed->page_max,
                         &feed->page);
        take_page(feed);
        pages++;
    }
    return !cor_list_empty(&e->behind);
}

static void tell_locked(struct cor_sqlite_feed *feed)
{
    if (cor_list_empty(&feed->command))
        cor_list_push(&feed->engine->feed_commands, &feed->command);
    cor_sqlite_engine_wake_locked(feed->engine);
}

int cor_sqlite_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                         struct cor_feed **ret_feed)
{
    struct cor_sqlite_engine *e = (struct cor_sqlite_engine *)engine;
    struct cor_sqlite_feed *feed = cor_calloc(1, sizeof(*feed) + opts->key.n + 1 + opts->end.n);

    if (!feed)
        return -COR_ENOMEM;
    feed->base.ops = engine->ops;
    feed->engine = e;
    feed->opts = *opts;
    cor_feed_range_copy(&feed->range, (char *)(feed + 1), opts->key, opts->end);
    feed->credit = opts->credit;
    cor_list_init(&feed->command);
    cor_list_init(&feed->link);
    cor_list_init(&feed->touched);
    cor_list_init(&feed->job);
    pthread_mutex_lock(&e->lock);
    if (e->nfeeds >= COR_FEEDS_MAX) {
        pthread_mutex_unlock(&e->lock);
        cor_free(feed);
        return -COR_EBUSY;
    }
    e->nfeeds++;
    *ret_feed = &feed->base;
    tell_locked(feed);
    pthread_mutex_unlock(&e->lock);
    return 0;
}

void cor_sqlite_feed_credit(struct cor_feed *feed, size_t events)
{
    struct cor_sqlite_feed *f = (struct cor_sqlite_feed *)feed;

    pthread_mutex_lock(&f->engine->lock);
    f->credit_added = cor_feed_add_credit(f->credit_added, events);
    tell_locked(f);
    pthread_mutex_unlock(&f->engine->lock);
}

void cor_sqlite_feed_progress(struct cor_feed *feed)
{
    struct cor_sqlite_feed *f = (struct cor_sqlite_feed *)feed;

    pthread_mutex_lock(&f->engine->lock);
    f->progress_asked = true;
    tell_locked(f);
    pthread_mutex_unlock(&f->engine->lock);
}

void cor_sqlite_feed_close(struct cor_feed *feed)
{
    struct cor_sqlite_feed *f = (struct cor_sqlite_feed *)feed;

    pthread_mutex_lock(&f->engine->lock);
    assert(!f->close_asked);
    f->close_asked = true;
    tell_locked(f);
    pthread_mutex_unlock(&f->engine->lock);
}
