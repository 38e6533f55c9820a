#include "storage/store/store_feed.h"

#include <stdio.h>

#include "loop/loop.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/feed.h"
#include "test.h"

/* An engine whose feed the test drives itself. */
struct source {
    struct cor_engine engine;
    struct cor_feed feed;
    struct cor_feed_opts opts;
    int closes;
};

static int open_source(struct cor_engine *engine, const struct cor_feed_opts *opts,
                       struct cor_feed **ret_feed)
{
    struct source *s = COR_CONTAINER_OF(engine, struct source, engine);

    s->opts = *opts;
    *ret_feed = &s->feed;
    return 0;
}

static void tell(struct cor_feed *feed)
{
    COR_CONTAINER_OF(feed, struct source, feed)->closes += feed->close_asked;
}

static struct cor_lock lock = COR_LOCK_INITIALIZER(COR_LOCK_SQLITE_ENGINE);
static const struct cor_engine_ops source_ops = {.feed_open = open_source};

struct bed {
    struct source source;
    struct cor_loop *loop;
    struct store_feed feed;
    cor_rev upto;
    size_t batches, events;
    int err;
    char message[64];
    bool closed;
};

static void on_batch(struct store_feed *feed, struct store_feed_batch *take_batch)
{
    struct bed *b = COR_CONTAINER_OF(feed, struct bed, feed);

    assert_false(b->closed);
    b->batches++;
    b->events += take_batch->nevents;
    b->upto = take_batch->upto;
    cor_store_feed_batch_free(take_batch);
}

static void on_broken(struct store_feed *feed, int err, const char *message)
{
    struct bed *b = COR_CONTAINER_OF(feed, struct bed, feed);

    assert_int_equal(b->err, 0);
    b->err = err;
    snprintf(b->message, sizeof(b->message), "%s", message);
}

static void on_closed(struct store_feed *feed)
{
    COR_CONTAINER_OF(feed, struct bed, feed)->closed = true;
}

static void bed_open(struct bed *b)
{
    *b = (struct bed){
        .source.engine.ops = &source_ops,
        .source.feed = {.lock = &lock, .tell = tell},
        .feed = {.on_batch = on_batch, .on_broken = on_broken, .on_closed = on_closed}};
    assert_int_equal(cor_loop_new(64, &b->loop), 0);
    assert_int_equal(cor_store_feed_open(&b->feed, &b->source.engine, b->loop, COR_STR("a"),
                                         COR_STR("b"), 5, 10),
                     0);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void bed_close(struct bed *b)
{
    cor_store_feed_close(&b->feed);
    cor_store_feed_close(&b->feed);
    assert_int_equal(b->source.closes, 1);
    b->source.opts.on_closed(b->source.opts.arg);
    assert_true(cor_loop_run_until(b->loop, is_true, &b->closed, 60000));
    assert_null(b->feed.feed);
    cor_loop_free(b->loop);
}

static void send(struct bed *b, cor_rev rev)
{
    struct cor_kv *kv = cor_kv_new(COR_STR("a"), COR_STR("{}"), 3, rev, 0);
    struct cor_kv *old = cor_kv_new(COR_STR("a"), COR_STR("{}"), 3, rev - 1, 0);
    struct cor_feed_event events[] = {{kv, old, false}, {old, NULL, true}};
    struct cor_feed_batch batch = {events, 2, rev};

    b->source.opts.on_batch(b->source.opts.arg, &batch);
    cor_kv_unref(kv);
    cor_kv_unref(old);
}

TEST(store_feed, options_reach_the_engine)
{
    struct bed b;

    bed_open(&b);
    assert_str(b.source.opts.key, "a");
    assert_str(b.source.opts.end, "b");
    assert_int_equal(b.source.opts.from, 5);
    assert_int_equal(b.source.opts.credit, 10);
    bed_close(&b);
}

TEST(store_feed, batches_come_over_in_order_and_before_the_close)
{
    struct bed b;

    bed_open(&b);
    send(&b, 6);
    send(&b, 7);
    assert_int_equal(b.batches, 0);
    bed_close(&b);
    assert_int_equal(b.batches, 2);
    assert_int_equal(b.events, 4);
    assert_int_equal(b.upto, 7);
}

TEST(store_feed, nothing_follows_what_broke_it)
{
    struct bed b;

    bed_open(&b);
    send(&b, 6);
    b.source.opts.on_broken(b.source.opts.arg, -COR_EEXPIRED, "compacted");
    send(&b, 7);
    b.source.opts.on_broken(b.source.opts.arg, -COR_EIO, "again");
    bed_close(&b);
    assert_int_equal(b.batches, 1);
    assert_int_equal(b.err, -COR_EEXPIRED);
    assert_string_equal(b.message, "compacted");
}

TEST(store_feed, batch_that_finds_no_memory_breaks_the_feed)
{
    struct cor_kv *kv = cor_kv_new(COR_STR("a"), COR_STR("{}"), 3, 6, 0);
    struct cor_feed_event event = {kv, NULL, false};
    struct cor_feed_batch batch = {&event, 1, 6};
    struct bed b;

    /* First the batch, then the batch and the message about it. */
    for (int persistent = 0; persistent < 2; persistent++) {
        bed_open(&b);
        test_fail_alloc(1, persistent);
        b.source.opts.on_batch(b.source.opts.arg, &batch);
        test_fail_alloc(0, false);
        b.source.opts.on_batch(b.source.opts.arg, &batch);
        bed_close(&b);
        assert_int_equal(b.batches, 0);
        assert_int_equal(b.err, -COR_ENOMEM);
        assert_string_equal(b.message, "out of memory");
    }
    cor_kv_unref(kv);
}
