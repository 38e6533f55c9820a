/* How far a watch lets its feed run ahead, seen from an engine that counts the credit. */
#include "base/limits.h"
#include "storage/store/store_watch.h"

#include "loop/loop.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/feed.h"
#include "test.h"

struct source {
    struct cor_engine engine;
    struct cor_feed feed;
    struct cor_feed_opts opts;
    bool is_open;
    size_t credit; /* given and not used */
};

static void range(struct cor_engine *engine, struct cor_range_req *req)
{
    req->ret_rev = 5;
    cor_engine_req_done(&req->req, 0);
}

static int open_source(struct cor_engine *engine, const struct cor_feed_opts *opts,
                       struct cor_feed **ret_feed)
{
    struct source *s = COR_CONTAINER_OF(engine, struct source, engine);

    s->opts = *opts;
    s->credit = opts->credit;
    s->is_open = true;
    *ret_feed = &s->feed;
    return 0;
}

static void tell(struct cor_feed *feed)
{
    struct source *s = COR_CONTAINER_OF(feed, struct source, feed);

    s->credit += feed->credit_added;
    if (cor_feed_take_orders(feed))
        s->opts.on_closed(s->opts.arg);
}

static struct cor_lock lock = COR_LOCK_INITIALIZER(COR_LOCK_SQLITE_ENGINE);
static const struct cor_engine_ops source_ops = {.range = range, .feed_open = open_source};

struct bed {
    struct source source;
    struct cor_loop *loop;
    struct cor_store *store;
    struct cor_store_watch *watch;
    struct cor_kv *kv;
    cor_rev rev;
    size_t sent, seen;
    size_t pause_at; /* not 0: it pauses after so many events */
    bool ended, closed;
    int error; /* of an ERROR event: its HTTP code */
};

static void on_event(void *arg, const struct cor_reader_event *event)
{
    struct bed *b = arg;

    assert_false(b->ended || b->error);
    if (!event) {
        b->ended = true;
        return;
    }
    if (event->type == COR_WATCH_ERROR) {
        b->error = event->status->code;
        return;
    }
    assert_int_equal(event->type, COR_WATCH_MODIFIED);
    if (++b->seen == b->pause_at)
        cor_store_watch_pause(b->watch);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

/* Events of about `bytes` each. */
static void bed_open(struct bed *b, size_t bytes)
{
    struct cor_store_opts opts = {.resource_prefix = "/pods"};
    struct cor_store_watch_opts watch = {
        .options.resource_version = COR_STR("5"), .on_event = on_event, .arg = b};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;

    *b = (struct bed){
        .source.engine.ops = &source_ops, .source.feed = {.lock = &lock, .tell = tell}, .rev = 5};
    assert_int_equal(cor_loop_new(1024, &b->loop), 0);
    opts.engine = &b->source.engine;
    opts.loop = b->loop;
    assert_int_equal(cor_store_new(&opts, &b->store, NULL), 0);
    cor_buf_init(&json, 2 * bytes + 256);
    assert_int_equal(cor_buf_addz(&json, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{},"
                                         "\"spec\":\""),
                     0);
    while (json.n < bytes)
        assert_int_equal(cor_buf_addc(&json, 'x'), 0);
    assert_int_equal(cor_buf_addz(&json, "\"}"), 0);
    b->kv = cor_kv_new(COR_STR("/registry/pods/a"), cor_buf_str(&json), 2, 6, 0);
    assert_int_equal(cor_store_watch_open(b->store, COR_STR("/pods/a"), &watch, &b->watch, NULL),
                     0);
    assert_true(cor_loop_run_until(b->loop, is_true, &b->source.is_open, 60000));
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void bed_close(struct bed *b)
{
    cor_store_watch_close(b->watch, on_closed, &b->closed);
    assert_true(cor_loop_run_until(b->loop, is_true, &b->closed, 60000));
    cor_kv_unref(b->kv);
    cor_store_free(b->store);
    cor_loop_free(b->loop);
}

/* Sends as many events as there is credit for, one by one. */
static void send_all(struct bed *b)
{
    struct cor_kv *small = cor_kv_new(COR_STR("/registry/pods/a"), COR_STR("{}"), 2, 5, 0);

    while (b->source.credit > 0) {
        struct cor_feed_event event = {b->kv, small, false};
        struct cor_feed_batch batch = {&event, 1, ++b->rev};

        b->source.credit--;
        b->sent++;
        b->source.opts.on_batch(b->source.opts.arg, &batch);
    }
    cor_kv_unref(small);
}

static bool all_seen(void *arg)
{
    struct bed *b = arg;

    return b->seen == b->sent;
}

TEST(store_watch, feed_runs_at_most_a_hundred_events_ahead)
{
    struct bed b;
    size_t most = 0;

    bed_open(&b, 100);
    for (int i = 0; i < 20; i++) {
        send_all(&b);
        most = b.sent - b.seen > most ? b.sent - b.seen : most;
        assert_true(cor_loop_run_until(b.loop, all_seen, &b, 60000));
        assert_uint_in_range(b.source.credit, 1, COR_STORE_WATCH_EVENTS_MAX);
    }
    assert_uint_in_range(most, COR_STORE_WATCH_EVENTS_MAX / 2, COR_STORE_WATCH_EVENTS_MAX);
    bed_close(&b);
}

TEST(store_watch, paused_watch_gives_no_credit)
{
    struct bed b;

    bed_open(&b, 100);
    cor_store_watch_pause(b.watch);
    send_all(&b);
    assert_false(cor_loop_run_until(b.loop, all_seen, &b, 20));
    assert_int_equal(b.seen, 0);
    assert_int_equal(b.source.credit, 0);
    cor_store_watch_resume(b.watch);
    assert_true(cor_loop_run_until(b.loop, all_seen, &b, 60000));
    assert_true(b.source.credit > 0);
    bed_close(&b);
}

TEST(store_watch, feed_of_large_events_runs_ahead_by_bytes)
{
    struct bed b;

    bed_open(&b, 1 << 20);
    /* Before the first one has shown how large they are, and each brings the version before. */
    assert_true(2 * b.source.credit << 20 <= COR_STORE_WATCH_BYTES_MAX);
    for (int i = 0; i < 5; i++) {
        send_all(&b);
        assert_true(cor_loop_run_until(b.loop, all_seen, &b, 60000));
        assert_uint_in_range(b.source.credit, 1, COR_STORE_WATCH_BYTES_MAX >> 20);
    }
    bed_close(&b);
}

/* One event that alone is above the bound still goes through. */
TEST(store_watch, event_above_the_byte_bound_still_moves_on)
{
    struct bed b;

    bed_open(&b, COR_STORE_WATCH_BYTES_MAX + 1);
    for (int i = 0; i < 3; i++) {
        send_all(&b);
        assert_true(cor_loop_run_until(b.loop, all_seen, &b, 60000));
        assert_int_equal(b.source.credit, 1);
    }
    bed_close(&b);
}

/* One batch of two revisions with 30 events each; the object of event `unreadable` cannot be read.
 */
static void send_two_revisions(struct bed *b, size_t unreadable)
{
    struct cor_kv *small = cor_kv_new(COR_STR("/registry/pods/a"), COR_STR("{}"), 2, 5, 0);
    struct cor_feed_event events[60];
    struct cor_feed_batch batch = {events, COR_ARRAY_LEN(events), 7};

    for (size_t i = 0; i < COR_ARRAY_LEN(events); i++) {
        struct cor_str value = i == unreadable ? COR_STR("{") : cor_kv_value(b->kv);

        events[i] = (struct cor_feed_event){
            cor_kv_new(COR_STR("/registry/pods/a"), value, 2, i < 30 ? 6 : 7, 0), small, false};
    }
    b->source.opts.on_batch(b->source.opts.arg, &batch);
    for (size_t i = 0; i < COR_ARRAY_LEN(events); i++)
        cor_kv_unref(events[i].kv);
    cor_kv_unref(small);
}

static bool has_paused(void *arg)
{
    struct bed *b = arg;

    return b->seen == b->pause_at;
}

static bool has_ended(void *arg)
{
    struct bed *b = arg;

    return b->ended || b->error;
}

TEST(store_watch, that_is_asked_to_finish_ends_after_the_revision_it_is_in)
{
    for (size_t at = 1; at <= 60; at++) {
        struct bed b;

        bed_open(&b, 100);
        b.pause_at = at;
        assert_true(cor_store_watch_finish(b.watch, 0));
        send_two_revisions(&b, SIZE_MAX);
        assert_true(cor_loop_run_until(b.loop, has_paused, &b, 60000));
        assert_int_equal(cor_store_watch_finish(b.watch, 0), at % 30 == 0);
        if (at % 30 > 0) {
            cor_store_watch_resume(b.watch);
            assert_true(cor_loop_run_until(b.loop, has_ended, &b, 60000));
            assert_int_equal(b.error, 0);
            assert_int_equal(b.seen, at < 30 ? 30 : 60);
        }
        bed_close(&b);
    }
}

static void send_mark(struct bed *b, cor_rev upto)
{
    struct cor_feed_batch mark = {.upto = upto};

    b->source.opts.on_batch(b->source.opts.arg, &mark);
}

/* What its definition was removed at is behind the events that are on their way. */
TEST(store_watch, that_finishes_with_a_revision_first_delivers_what_its_feed_still_has)
{
    struct bed b;

    bed_open(&b, 100);
    assert_true(cor_store_watch_finish(b.watch, 5)); /* where it began */
    assert_false(b.source.feed.wants_progress);
    assert_false(cor_store_watch_finish(b.watch, 10));
    assert_true(b.source.feed.wants_progress);
    b.source.feed.wants_progress = false;
    send_mark(
        &b, 5); /* this feed knows less than the one that told of revision 10, and is asked again */
    assert_true(cor_loop_run_until(b.loop, is_true, &b.source.feed.wants_progress, 60000));
    send_two_revisions(&b, SIZE_MAX);
    send_mark(&b, 9);
    assert_false(cor_loop_run_until(b.loop, has_ended, &b, 1));
    assert_int_equal(b.seen, 60);
    send_mark(&b, 10);
    assert_true(cor_loop_run_until(b.loop, has_ended, &b, 60000));
    assert_int_equal(b.error, 0);
    bed_close(&b);
}

TEST(store_watch, that_finishes_with_a_revision_delivers_nothing_of_a_later_one)
{
    struct bed b;

    bed_open(&b, 100);
    assert_false(cor_store_watch_finish(b.watch, 6));
    send_two_revisions(&b, SIZE_MAX); /* 6 and 7 */
    assert_true(cor_loop_run_until(b.loop, has_ended, &b, 60000));
    assert_int_equal(b.seen, 30);
    bed_close(&b);
}

/* Who shuts down does not wait for what is far away, and what is far away does not make it wait. */
TEST(store_watch, that_is_asked_to_finish_twice_takes_the_earlier_end)
{
    struct bed b;

    bed_open(&b, 100);
    assert_false(cor_store_watch_finish(b.watch, 1000));
    assert_true(cor_store_watch_finish(b.watch, 0));
    b.pause_at = 10;
    send_two_revisions(&b, SIZE_MAX);
    assert_true(cor_loop_run_until(b.loop, has_paused, &b, 60000));
    assert_false(cor_store_watch_finish(b.watch, 0));
    assert_false(cor_store_watch_finish(b.watch, 1000));
    cor_store_watch_resume(b.watch);
    assert_true(cor_loop_run_until(b.loop, has_ended, &b, 60000));
    assert_int_equal(b.seen, 30);
    bed_close(&b);
}

/* One who goes on after the revision would never see the rest of it. */
TEST(store_watch, that_fails_inside_a_revision_ends_with_410)
{
    for (size_t at = 0; at < 60; at++) {
        struct bed b;

        bed_open(&b, 100);
        send_two_revisions(&b, at);
        assert_true(cor_loop_run_until(b.loop, has_ended, &b, 60000));
        assert_int_equal(b.seen, at);
        assert_int_equal(b.error, at % 30 == 0 ? 500 : 410);
        bed_close(&b);
    }
}
