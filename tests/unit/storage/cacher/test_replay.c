/* History that does not fit in front of the window: it is read for the watches that begin there,
 * which share the reading, until they reach the window. */
#include <stdio.h>

#include "base/limits.h"
#include "fake_engine.h"
#include "storage/cacher/replay.h"

static struct fake f;
static char filler[1001];

/* So small that nothing is put in front of the window: every watch from before it is replayed. */
#define NO_ROOM 1

static struct cor_reader_watch_opts opts_from(struct fake_watch *w, cor_rev rev, const char *fields)
{
    static char rv[24];

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)rev);
    return fake_watch_opts(w, rv, fields);
}

static void open_from(struct fake_watch *w, cor_rev rev, const char *fields)
{
    struct cor_reader_watch_opts opts = opts_from(w, rev, fields);

    fake_watch_open(&f, w, "/pods", &opts);
}

static void change(size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%zu", i % 7);
        fake_put(&f, "ns", name, f.rev % 2 ? "a" : "b", filler);
    }
}

/* Puts a history of `n` changes before a cache without room for any of it. */
static void open_history(size_t n)
{
    memset(filler, 'x', 1000);
    fake_open(&f, NO_ROOM);
    f.keeps_history = true;
    change(n);
    fake_restart(&f);
    f.feeds_opened = 0;
}

static bool is_over(void *arg)
{
    const struct fake_watch *w = arg;

    return w->error || w->ended || w->last == f.rev;
}

static bool has_paused(void *arg)
{
    const struct fake_watch *w = arg;

    return w->n >= w->pause_at;
}

static bool has_paused_or_failed(void *arg)
{
    const struct fake_watch *w = arg;

    return w->error || has_paused(arg);
}

/* Has the watch seen everything after `from` exactly once, with an event for each revision? */
static void check_all(struct fake_watch *w, cor_rev from)
{
    fake_wait(&f, is_over, w);
    assert_int_equal(w->error, 0);
    assert_false(w->ended);
    assert_int_equal(w->n, f.rev - from);
    assert_int_equal(w->last, f.rev);
}

static void check_no_replays(void)
{
    fake_settle(&f);
    assert_int_equal(cor_cachers_stats(f.cachers).replays, 0);
}

/* They come in any order. */
TEST(replay, of_many_watches_from_about_the_same_revision_is_one_reading)
{
    static struct fake_watch w[300];
    cor_rev from;

    open_history(2000);
    from = f.rev - 1900;
    for (size_t i = COR_ARRAY_LEN(w); i-- > 0;)
        open_from(&w[i], from + i, "");
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        check_all(&w[i], from + i);
    assert_int_equal(f.feeds_opened, 1);
    check_no_replays();
    change(5);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        check_all(&w[i], from + i);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        fake_watch_close(&w[i]);
    fake_close(&f);
}

/* An event is offered to the watches of its node, and to no others. */
TEST(replay, of_watches_that_select_offers_each_event_to_those_that_may_want_it)
{
    static struct fake_watch w[100];
    struct cor_cacher_reader_stats before, after;
    cor_rev from;

    open_history(400);
    from = f.rev - 300;
    before = cor_cacher_reader_stats(f.reader);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        open_from(&w[i], from, i == 0 ? "spec.nodeName=a" : "spec.nodeName=none");
    while (cor_cachers_stats(f.cachers).replays > 0 || w[0].n == 0)
        fake_settle(&f);
    after = cor_cacher_reader_stats(f.reader);
    /* A pod moves with each of its changes, so each event concerns both nodes. */
    assert_uint_in_range(w[0].n, 250, 300);
    assert_int_equal(after.deliveries - before.deliveries, w[0].n);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++) {
        assert_int_equal(i == 0 ? 0 : w[i].n, 0);
        assert_false(w[i].error || w[i].ended);
        fake_watch_close(&w[i]);
    }
    fake_close(&f);
}

/* What it reads does not enter the budget, and the window keeps what it has. */
TEST(replay, takes_no_other_watch_its_place)
{
    struct fake_watch lagging, w;
    size_t bytes, events;
    uint64_t evicted;
    cor_rev from, seen;

    open_history(1000);
    open_from(&lagging, f.rev, "");
    fake_settle(&f);
    cor_watch_pause(lagging.watch);
    seen = f.rev;
    change(90);
    fake_settle(&f);
    bytes = cor_cachers_stats(f.cachers).bytes;
    events = cor_cacher_stats(f.cacher).window_events;
    evicted = cor_cachers_stats(f.cachers).evicted;
    from = f.rev - 1050;
    open_from(&w, from, "");
    check_all(&w, from);
    assert_int_equal(cor_cachers_stats(f.cachers).bytes, bytes);
    assert_int_equal(cor_cacher_stats(f.cacher).window_events, events);
    assert_int_equal(cor_cachers_stats(f.cachers).evicted, evicted);
    cor_watch_resume(lagging.watch);
    check_all(&lagging, seen);
    fake_watch_close(&w);
    fake_watch_close(&lagging);
    fake_close(&f);
}

/* A client that does not read keeps the others waiting for a while only. It keeps its place, and
 * gets the rest when it reads again. */
TEST(replay, goes_on_without_a_watch_that_does_not_read)
{
    struct fake_watch slow, fast;
    struct cor_reader_watch_opts opts;
    cor_rev from;

    open_history(1000);
    from = f.rev - 900;
    opts = opts_from(&slow, from, "");
    slow.pause_at = 400;
    fake_watch_open(&f, &slow, "/pods", &opts);
    open_from(&fast, from, "");
    fake_wait(&f, has_paused, &slow);
    fake_settle(&f);
    assert_uint_in_range(fast.n, 400, 401);
    assert_true(cor_watch_held(slow.watch) > 0);
    assert_true(cor_watch_held(slow.watch) + cor_watch_held(fast.watch) <=
                COR_STORE_WATCH_BYTES_MAX);
    check_all(&fast, from);
    check_no_replays();
    assert_int_equal(cor_watch_held(slow.watch), 0);
    for (size_t i = 0; i < 6; i++) {
        change(50);
        fake_settle(&f);
    }
    assert_int_equal(slow.n, 400);
    cor_watch_resume(slow.watch);
    check_all(&slow, from);
    check_all(&fast, from);
    check_no_replays();
    fake_watch_close(&slow);
    fake_watch_close(&fast);
    fake_close(&f);
}

/* Who reads a long history slowly is in a reading of his own. */
TEST(replay, of_long_ago_keeps_no_younger_watch_waiting)
{
    struct fake_watch slow, young, near;
    struct cor_reader_watch_opts opts;

    open_history(9000);
    opts = opts_from(&slow, f.rev - 8900, "");
    slow.pause_at = 1;
    fake_watch_open(&f, &slow, "/pods", &opts);
    fake_wait(&f, has_paused, &slow);
    open_from(&young, f.rev - 100, "");
    open_from(&near, f.rev - 110, "");
    check_all(&young, f.rev - 100);
    check_all(&near, f.rev - 110);
    assert_int_equal(f.feeds_opened, 2);
    assert_int_equal(slow.n, 1);
    assert_true(cor_watch_held(slow.watch) > 0);
    cor_watch_resume(slow.watch);
    check_all(&slow, f.rev - 8900);
    check_no_replays();
    fake_watch_close(&slow);
    fake_watch_close(&young);
    fake_watch_close(&near);
    fake_close(&f);
}

/* There are fewer readings than there may be places: those that are left are for watches that
 * begin before all of them. */
TEST(replay, far_from_the_others_is_shared_when_half_of_them_are_open)
{
    struct fake_watch w[COR_REPLAYS_OF_READER_MAX];
    const size_t n = COR_ARRAY_LEN(w);
    cor_rev last;

    open_history(5000 * (n + 1));
    last = f.rev;
    for (size_t i = 0; i < n; i++) {
        struct cor_reader_watch_opts opts = opts_from(&w[i], last - 5000 * (n - i), "");

        w[i].pause_at = 1;
        fake_watch_open(&f, &w[i], "/pods", &opts);
        if (i < n / 2)
            fake_wait(&f, has_paused, &w[i]);
    }
    fake_settle(&f);
    assert_int_equal(cor_cachers_stats(f.cachers).replays, n / 2);
    for (size_t i = 0; i < n; i++) {
        w[i].pause_at = 0;
        cor_watch_resume(w[i].watch);
    }
    for (size_t i = 0; i < n; i++)
        check_all(&w[i], last - 5000 * (n - i));
    check_no_replays();
    for (size_t i = 0; i < n; i++)
        fake_watch_close(&w[i]);
    fake_close(&f);
}

/* The same inside a revision: what it was given of that revision is not given again. */
TEST(replay, splits_no_revision_for_a_watch_that_does_not_read)
{
    struct fake_watch slow, fast;
    struct cor_reader_watch_opts opts;
    cor_rev from;

    open_history(10);
    from = f.rev;
    for (size_t i = 0; i < 6; i++)
        fake_put_many(&f, "many", 50, i % 2 ? "a" : "b");
    fake_restart(&f);
    opts = opts_from(&slow, from, "");
    slow.pause_at = 120;
    fake_watch_open(&f, &slow, "/pods", &opts);
    open_from(&fast, from, "");
    fake_wait(&f, has_paused, &slow);
    fake_wait(&f, is_over, &fast);
    check_no_replays();
    assert_int_equal(fast.n, 300);
    assert_int_equal(slow.n, 120);
    assert_false(cor_watch_finish(slow.watch, 0)); /* It is inside a revision. */
    cor_watch_resume(slow.watch);
    while (!slow.ended && !slow.error)
        fake_settle(&f);
    assert_int_equal(slow.error, 0);
    assert_int_equal(slow.n, 150);
    fake_watch_close(&slow);
    fake_watch_close(&fast);
    fake_close(&f);
}

/* It begins 10 revisions before the place that the one before it has reached, and then reads no
 * more: it needs a reading of its own. */
static void open_apart(struct fake_watch *w, size_t i, const char *client)
{
    struct cor_reader_watch_opts opts = opts_from(w, f.rev - 500 - 10 * i, "");

    opts.client = cor_strz(client);
    w->pause_at = 1;
    fake_watch_open(&f, w, "/pods", &opts);
    fake_wait(&f, has_paused_or_failed, w);
}

TEST(replay, one_too_many_is_429_with_retry_after)
{
    static const char *const clients[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    struct fake_watch w[COR_REPLAYS_OF_READER_MAX + 1], joins;

    open_history(1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        open_apart(&w[i], i, clients[i]);
    assert_int_equal(cor_cachers_stats(f.cachers).replays, COR_REPLAYS_OF_READER_MAX);
    assert_true(w[COR_REPLAYS_OF_READER_MAX].refused);
    assert_int_equal(w[COR_REPLAYS_OF_READER_MAX].error, 429);
    assert_int_equal(w[COR_REPLAYS_OF_READER_MAX].retry_s, 1);
    /* One that needs no reading of its own is served. */
    open_from(&joins, f.rev - 200, "");
    fake_settle(&f);
    assert_false(joins.error);
    for (size_t i = 0; i < COR_REPLAYS_OF_READER_MAX; i++)
        cor_watch_resume(w[i].watch);
    for (size_t i = 0; i < COR_REPLAYS_OF_READER_MAX; i++)
        check_all(&w[i], f.rev - 500 - 10 * i);
    check_all(&joins, f.rev - 200);
    check_no_replays();
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        fake_watch_close(&w[i]);
    fake_watch_close(&joins);
    fake_close(&f);
}

/* Watches from falling revisions, none of which can share a reading with the one before it. */
static size_t open_all_of(struct fake_watch *w, size_t from, const char *client)
{
    size_t n = 0;

    do
        open_apart(&w[n], from + n, client);
    while (!w[n++].error);
    assert_true(w[n - 1].refused);
    assert_int_equal(w[n - 1].error, 429);
    assert_int_equal(w[n - 1].retry_s, 1);
    return n;
}

/* However many clients take all they get. */
TEST(replay, of_one_client_leave_one_for_the_next)
{
    static const char *const clients[] = {"a", "b", "c"};
    struct fake_watch w[COR_REPLAYS_OF_READER_MAX + 3], last;
    size_t n = 0;

    open_history(1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(clients); i++) {
        n += open_all_of(w + n, n, clients[i]);
        assert_int_equal(cor_cachers_stats(f.cachers).replays,
                         COR_REPLAYS_OF_READER_MAX - (COR_REPLAYS_OF_READER_MAX >> (i + 1)));
    }
    open_apart(&last, n, "d");
    assert_int_equal(last.error, 0);
    fake_watch_close(&last);
    for (size_t i = 0; i < n; i++)
        fake_watch_close(&w[i]);
    check_no_replays();
    /* All of them have been given back. */
    n = open_all_of(w, 0, "b");
    assert_int_equal(n, COR_REPLAYS_OF_READER_MAX / 2 + 1);
    for (size_t i = 0; i < n; i++)
        fake_watch_close(&w[i]);
    fake_close(&f);
}

/* Who has left may begin others, and who stays pays for what it keeps open. */
TEST(replay, is_counted_for_a_client_whose_watch_is_left)
{
    struct fake_watch w[COR_REPLAYS_OF_READER_MAX], stays[COR_REPLAYS_OF_READER_MAX / 2];
    size_t n = 0;

    open_history(1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(stays); i++) {
        struct cor_reader_watch_opts opts;

        open_apart(&w[i], i, "begins");
        /* The nearest one that has not passed its place. */
        opts = opts_from(&stays[i], f.rev - 500 - 10 * i + 5, "");
        opts.client = COR_STR("stays");
        stays[i].pause_at = 1;
        fake_watch_open(&f, &stays[i], "/pods", &opts);
    }
    fake_settle(&f);
    assert_int_equal(cor_cachers_stats(f.cachers).replays, COR_ARRAY_LEN(stays));
    for (size_t i = 0; i < COR_ARRAY_LEN(stays); i++)
        fake_watch_close(&w[i]);
    open_apart(&w[n], 20 + n, "stays");
    assert_int_equal(w[n++].error, 429);
    open_apart(&w[n], 20 + n, "begins");
    assert_int_equal(w[n++].error, 0);
    for (size_t i = 0; i < n; i++)
        fake_watch_close(&w[i]);
    for (size_t i = 0; i < COR_ARRAY_LEN(stays); i++)
        fake_watch_close(&stays[i]);
    check_no_replays();
    fake_close(&f);
}

/* Somebody compacts what is about to be read: who needs it is told 410, the others go on. */
TEST(replay, of_compacted_history_is_410_for_those_who_need_it)
{
    struct fake_watch w[9];

    open_history(1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        open_from(&w[i], f.rev - 900 + 100 * i, "");
    f.feed_compact_rev = f.rev - 550;
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++) {
        fake_wait(&f, is_over, &w[i]);
        if (i < 4)
            assert_int_equal(w[i].error, 410);
        else
            check_all(&w[i], f.rev - 900 + 100 * i);
        fake_watch_close(&w[i]);
    }
    check_no_replays();
    fake_close(&f);
}

/* The caches have heard of the compaction: one refusal is enough for all that begin before it. */
TEST(replay, of_compacted_history_is_not_tried_for_each_place)
{
    struct fake_watch w[9];
    cor_rev from;

    open_history(1000);
    from = f.rev - 900;
    fake_compact(&f, from + 350);
    change(1);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        open_from(&w[i], from + 100 * i, "");
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++) {
        fake_wait(&f, is_over, &w[i]);
        assert_int_equal(w[i].error, i < 4 ? 410 : 0);
        /* The note of the compaction is a revision without an event. */
        assert_int_equal(w[i].n, i < 4 ? 0 : f.rev - from - 100 * i - 1);
    }
    assert_int_equal(f.feeds_opened, 2);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        fake_watch_close(&w[i]);
    check_no_replays();
    fake_close(&f);
}

TEST(replay, that_fails_tells_why)
{
    struct fake_watch w;

    open_history(1000);
    f.feed_err = -COR_EIO;
    open_from(&w, f.rev - 900, "");
    fake_wait(&f, is_over, &w);
    assert_int_equal(w.error, 500);
    fake_watch_close(&w);
    f.feed_err = 0;
    f.refuse_feeds = true;
    open_from(&w, f.rev - 900, "");
    fake_wait(&f, is_over, &w);
    assert_int_equal(w.error, 429);
    fake_watch_close(&w);
    f.refuse_feeds = false;
    open_from(&w, f.rev - 900, "");
    check_all(&w, f.rev - 900);
    fake_watch_close(&w);
    fake_close(&f);
}

/* The client that comes again gets the store's own watch (test_unreadable.c). */
TEST(replay, of_a_value_that_cannot_be_decoded_ends_plainly_before_it)
{
    struct fake_watch w;
    cor_rev from, junk;

    memset(filler, 'x', 1000);
    fake_open(&f, NO_ROOM);
    f.keeps_history = true;
    change(100);
    from = f.rev;
    change(50);
    f.junk = "broken";
    junk = fake_put(&f, "ns", "broken", "a", "");
    f.junk = NULL;
    fake_put(&f, "ns", "broken", "a", "");
    change(50);
    fake_restart(&f);
    open_from(&w, from, "");
    fake_wait(&f, is_over, &w);
    assert_true(w.ended);
    assert_int_equal(w.last, junk - 1);
    fake_watch_close(&w);
    open_from(&w, junk + 1, "");
    check_all(&w, junk + 1);
    fake_watch_close(&w);
    fake_close(&f);
}

/* The cache is lost, or everybody leaves, in the middle of it. */
TEST(replay, may_be_given_up_at_any_time)
{
    for (size_t at = 0; at < 60; at += 7) {
        struct fake_watch w[3];

        open_history(200);
        for (size_t i = 0; i < COR_ARRAY_LEN(w); i++) {
            struct cor_reader_watch_opts opts = opts_from(&w[i], f.rev - 190, "");

            w[i].pause_at = at;
            fake_watch_open(&f, &w[i], "/pods", &opts);
        }
        if (at > 0)
            fake_wait(&f, has_paused, &w[0]);
        if (at % 2)
            fake_break(&f);
        for (size_t i = 0; i < COR_ARRAY_LEN(w); i++) {
            fake_watch_close(&w[i]);
            assert_false(w[i].error);
        }
        fake_close(&f);
    }
}

TEST(replay, survives_every_failed_allocation_without_a_gap)
{
    open_history(300);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_reader_watch_opts opts;
        struct fake_watch w;

        test_fail_alloc(0, false);
        opts = opts_from(&w, f.rev - 40, "");
        w.f = &f;
        test_fail_alloc(n, false);
        if (cor_reader_watch(f.reader, COR_STR("/pods"), &opts, &w.watch, NULL) < 0) {
            cor_predicate_deinit(&w.predicate);
            continue;
        }
        fake_wait(&f, is_over, &w);
        assert_true(w.n == 40 || w.ended || w.error);
        assert_true(w.n == 0 || w.last == f.rev - 40 + w.n);
        fake_watch_close(&w);
    }
    fake_close(&f);
}
