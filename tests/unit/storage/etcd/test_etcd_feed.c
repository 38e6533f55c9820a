#include "base/err.h"
#include "etcd_feed_fixture.h"
#include "loop/loop.h"

TEST(etcd_feed, live_feeds_get_their_keys_from_one_watch_of_all)
{
    struct sink a, b;
    struct etcd_stream *main;

    open_engine(true);
    main = start_at_10(&a, "/a/", "/a0", SIZE_MAX);
    sink_open(&b, "/b/", "/b0", 10, SIZE_MAX, false);
    assert_null(stream_at(1));
    SAY(main, 12, {"/a/1", 11}, {"/b/1", 12});
    SAY(main, 13, {"-/a/1", 13});
    assert_sink(&a, "+/a/1@11|12 -/a/1@13|13 ");
    assert_sink(&b, "+/b/1@12|12 ");
    sink_close(&a);
    sink_close(&b);
    close_engine();
}

TEST(etcd_feed, one_key_is_not_its_children)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/a", "", SIZE_MAX);
    SAY(stream_at(0), 13, {"/a/1", 11}, {"/a", 12}, {"/b", 13});
    assert_sink(&sink, "+/a@12|13 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, fragments_of_a_revision_are_delivered_together)
{
    struct sink sink;
    struct etcd_stream *main;

    open_engine(true);
    main = start_at_10(&sink, "/", "0", SIZE_MAX);
    SAY_PART(main, 12, {"/1", 11}, {"/2", 12});
    assert_sink(&sink, "+/1@11|11 ");
    SAY_PART(main, 12, {"/3", 12});
    assert_sink(&sink, "");
    SAY(main, 12, {"/4", 12});
    assert_sink(&sink, "+/2@12+/3@12+/4@12|12 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, a_lost_stream_goes_on_after_the_last_whole_revision)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/", "0", SIZE_MAX);
    SAY_PART(stream_at(0), 12, {"/1", 11}, {"/2", 12});
    assert_sink(&sink, "+/1@11|11 ");
    cut(stream_at(0));
    assert_watches(stream_at(0), "", 12, false);
    SAY(stream_at(0), 13, {"/2", 12}, {"/3", 12}, {"/4", 13});
    assert_sink(&sink, "+/2@12+/3@12+/4@13|13 ");
    /* What a member repeats is dropped. */
    SAY(stream_at(0), 14, {"/4", 13}, {"/5", 14});
    assert_sink(&sink, "+/5@14|14 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, a_feed_from_an_old_revision_catches_up_by_its_own_watch)
{
    struct sink first, old;
    struct etcd_stream *own;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, true);
    own = stream_at(1);
    assert_watches(own, "/b/", 5, true);
    say_created(own, 1, 10);
    assert_int_equal(own->progress, 1);
    SAY(own, 10, {"/b/1", 6, 3}, {"/b/2", 9});
    assert_sink(&old, "+/b/1@6(3)+/b/2@9|9 ");
    /* The main watch is further: its event comes by the own watch too, and only from there. */
    SAY(stream_at(0), 11, {"/b/3", 11});
    assert_sink(&old, "");
    SAY(own, 11, {"/b/3", 11});
    assert_sink(&old, "+/b/3@11|11 ");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, progress_ends_the_catching_up_of_a_quiet_range)
{
    struct sink first, old;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    say_created(stream_at(1), 1, 10);
    SAY_PROGRESS(stream_at(1), 12);
    assert_sink(&old, "|12 ");
    assert_null(stream_at(1));
    /* In step now; what progress has covered does not come again. */
    SAY(stream_at(0), 13, {"/b/1", 11}, {"/b/1", 12}, {"/b/1", 13});
    assert_sink(&old, "+/b/1@13|13 ");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, progress_that_the_main_watch_has_passed_is_asked_for_again)
{
    struct sink first, old;
    struct etcd_stream *own;
    unsigned asked;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    own = stream_at(1);
    say_created(own, 1, 10);
    SAY(stream_at(0), 12, {"/a/1", 11}, {"/a/2", 12});
    asked = own->progress;
    SAY_PROGRESS(own, 11);
    assert_int_equal(own->progress, asked + 1);
    assert_sink(&old, "|11 ");
    SAY_PROGRESS(own, 12);
    assert_sink(&old, "|12 ");
    assert_null(stream_at(1));
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, progress_that_etcd_dropped_is_asked_for_again)
{
    struct sink first, old;
    struct etcd_stream *own;

    fake_session_repeat_questions();
    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    own = stream_at(1);
    while (own->progress < 3)
        turn();
    cut(own);
    assert_watches(stream_at(1), "/b/", 5, false);
    say_created(stream_at(1), 1, 10);
    assert_int_equal(stream_at(1)->progress, 1);
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, without_progress_answers_all_keys_show_how_far_it_is)
{
    struct sink first, old;
    struct etcd_stream *own;

    open_engine(false);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    own = stream_at(1);
    assert_watches(own, "", 5, false);
    SAY(own, 10, {"/a/1", 5}, {"/b/1", 6}, {"/c/1", 7});
    assert_sink(&old, "+/b/1@6|7 ");
    SAY(own, 10, {"/a/1", 8}, {"/a/2", 9}, {"/a/3", 10});
    turn();
    assert_null(stream_at(1));
    SAY(stream_at(0), 11, {"/b/2", 11});
    assert_sink(&old, "+/b/2@11|11 ");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, without_credit_only_the_position_is_kept)
{
    struct sink first, slow;
    struct etcd_stream *main;

    open_engine(true);
    main = start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&slow, "/b/", "/b0", 10, 2, false);
    SAY(main, 13, {"/b/1", 11}, {"/b/2", 12}, {"/b/3", 13});
    assert_sink(&slow, "+/b/1@11+/b/2@12|12 ");
    assert_null(stream_at(1));
    SAY(main, 14, {"/b/4", 14});
    assert_sink(&slow, "");
    cor_feed_credit(slow.feed, 1);
    turn();
    assert_watches(stream_at(1), "/b/", 13, false);
    SAY(stream_at(1), 14, {"/b/3", 13}, {"/b/4", 14});
    assert_sink(&slow, "+/b/3@13|13 ");
    assert_null(stream_at(1));
    sink_close(&slow);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, credit_never_splits_a_revision)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/", "0", 1);
    SAY(stream_at(0), 12, {"/1", 11}, {"/2", 11}, {"/3", 11}, {"/4", 12});
    assert_sink(&sink, "+/1@11+/2@11+/3@11|11 ");
    sink_close(&sink);
    close_engine();
}

TEST(etcd_feed, previous_versions_are_asked_for_while_somebody_wants_them)
{
    struct sink plain, picky;

    open_engine(true);
    start_at_10(&plain, "/a/", "/a0", SIZE_MAX);
    SAY(stream_at(0), 11, {"/a/1", 11});
    sink_open(&picky, "/a/", "/a0", 11, SIZE_MAX, true);
    turn();
    assert_watches(stream_at(0), "", 12, true);
    assert_null(stream_at(1));
    SAY(stream_at(0), 12, {"/a/1", 12, 11});
    assert_sink(&picky, "+/a/1@12(11)|12 ");
    assert_sink(&plain, "+/a/1@11|11 +/a/1@12(11)|12 ");
    sink_close(&picky);
    turn();
    assert_watches(stream_at(0), "", 13, false);
    sink_close(&plain);
    close_engine();
}

static void say_compacted(struct etcd_stream *stream)
{
    Etcd__WatchResponse m = ETCD__WATCH_RESPONSE__INIT;
    uint8_t bytes[64];

    m.watch_id = 1;
    m.canceled = true;
    m.compact_revision = 20;
    say_bytes(stream, bytes, etcd__watch_response__pack(&m, bytes));
}

TEST(etcd_feed, a_compacted_revision_breaks_the_feed)
{
    struct sink first, old;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    say_compacted(stream_at(1));
    assert_int_equal(old.err, -COR_EEXPIRED);
    assert_int_equal(first.err, 0);
    /* The main watch was away for too long: everybody in step begins anew. */
    say_compacted(stream_at(0));
    assert_int_equal(first.err, -COR_EEXPIRED);
    sink_close(&old);
    sink_close(&first);
    sink_open(&first, "/a/", "/a0", 0, SIZE_MAX, false);
    say_revision(stream_at(0), 30);
    assert_watches(stream_at(0), "", 31, false);
    sink_close(&first);
    close_engine();
}

/* Etcd before 3.4.31 and 3.5.13 goes on with later events when it cannot tell at once that the
 * revision is compacted. */
TEST(etcd_feed, a_revision_that_etcd_skips_while_a_feed_catches_up_breaks_the_feed)
{
    struct sink first, old, other;

    open_engine(false);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    sink_open(&other, "/b/", "/b0", 6, SIZE_MAX, false);
    assert_nth_watches(stream_at(1), 0, "", 5, false);
    assert_nth_watches(stream_at(1), 1, "", 7, false);
    SAY_TO(stream_at(1), 1, 10, {"/b/1", 9}, {"/b/2", 10});
    assert_int_equal(old.err, -COR_EEXPIRED);
    assert_sink(&old, "");
    /* One that begins in time is complete. */
    SAY_TO(stream_at(1), 2, 10, {"/a/1", 7}, {"/b/3", 8}, {"/b/1", 9}, {"/b/2", 10});
    assert_int_equal(other.err, 0);
    assert_sink(&other, "+/b/3@8+/b/1@9+/b/2@10|10 ");
    assert_int_equal(first.err, 0);
    sink_close(&other);
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

/* Etcd before 3.4.34 and 3.5.16 loses a deletion at the revision up to which it compacts. */
TEST(etcd_feed, a_deletion_that_etcd_loses_at_its_compaction_breaks_the_feed)
{
    struct sink first, old;

    open_engine(true);
    session.keeps_deletions = false;
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, false);
    assert_watches(stream_at(1), "", 5, false);
    assert_int_equal(stream_at(1)->progress, 0);
    SAY(stream_at(1), 10, {"/b/1", 6}, {"/a/1", 7});
    assert_int_equal(old.err, -COR_EEXPIRED);
    assert_sink(&old, "");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

/* Also between two answers, and inside a revision that came in fragments. */
TEST(etcd_feed, a_revision_that_etcd_skips_breaks_the_feeds_in_step)
{
    struct sink first, second;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&second, "/b/", "/b0", 10, SIZE_MAX, false);
    SAY(stream_at(0), 11, {"/a/1", 11});
    SAY_PART(stream_at(0), 14, {"/a/2", 12}, {"/a/3", 12});
    assert_int_equal(first.err, 0);
    SAY(stream_at(0), 14, {"/a/4", 12}, {"/b/1", 14});
    assert_int_equal(first.err, -COR_EEXPIRED);
    assert_int_equal(second.err, -COR_EEXPIRED);
    assert_sink(&first, "+/a/1@11|11 ");
    assert_sink(&second, "");
    sink_close(&second);
    sink_close(&first);
    /* Who comes next begins at the store's revision. */
    sink_open(&first, "/a/", "/a0", 0, SIZE_MAX, false);
    say_revision(stream_at(0), 14);
    SAY(stream_at(0), 15, {"/a/1", 15});
    assert_sink(&first, "+/a/1@15|15 ");
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, an_event_whose_previous_version_was_compacted_breaks_the_feed)
{
    struct sink first, old;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, true);
    SAY(stream_at(1), 10, {"-/b/1", 5});
    assert_int_equal(old.err, 0);
    turn();
    assert_watches(stream_at(1), "/b/", 5, true);
    SAY(stream_at(1), 10, {"-/b/1", 5});
    assert_int_equal(old.err, -COR_EEXPIRED);
    assert_sink(&old, "");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

/* etcd notes that previous values are wanted only after the watch has begun. */
TEST(etcd_feed, an_event_that_came_before_etcd_knew_what_is_wanted_is_asked_for_again)
{
    struct sink first, old;

    open_engine(true);
    start_at_10(&first, "/a/", "/a0", SIZE_MAX);
    sink_open(&old, "/b/", "/b0", 4, SIZE_MAX, true);
    SAY(stream_at(1), 10, {"-/b/1", 5});
    turn();
    assert_watches(stream_at(1), "/b/", 5, true);
    SAY(stream_at(1), 10, {"-/b/1", 5, 3});
    assert_int_equal(old.err, 0);
    assert_sink(&old, "-/b/1@5(3)|5 ");
    sink_close(&old);
    sink_close(&first);
    close_engine();
}

TEST(etcd_feed, a_request_for_progress_is_answered_with_the_position)
{
    struct sink sink;

    open_engine(true);
    start_at_10(&sink, "/a/", "/a0", SIZE_MAX);
    SAY(stream_at(0), 12, {"/b/1", 11}, {"/b/1", 12});
    cor_feed_progress(sink.feed);
    assert_sink(&sink, "|12 ");
    sink_close(&sink);
    close_engine();
}

#define TIMERS 64

static void on_nothing(struct cor_timer *timer)
{
}

/* Takes all places that the loop has for timers: the next one that is set needs memory. */
static size_t take_timer_places(struct cor_timer timers[TIMERS])
{
    size_t n = 0;
    int r = 0;

    while (r == 0) {
        assert_true(n < TIMERS);
        cor_timer_init(&timers[n], session.loop, on_nothing);
        test_fail_alloc(1, false);
        r = cor_timer_set(&timers[n], 3600000);
        test_fail_alloc(0, false);
        n += r == 0;
    }
    return n;
}

static bool somebody_waits(void *arg)
{
    return !cor_dlist_empty(&session.waiting);
}

/* Memory runs out, and stays so for a while, somewhere between the opening of the first feed and
 * its question for the store's revision. A feed that was not told so asks when there is memory
 * again. */
TEST(etcd_feed, a_retry_does_not_need_memory)
{
    const struct cor_feed_opts opts = {
        .key = COR_STR("/"), .end = COR_STR("0"), .credit = SIZE_MAX};
    size_t nretried = 0;
    bool has_failed = true;

    for (size_t n = 1; has_failed; n++) {
        struct cor_timer timers[TIMERS];
        struct sink sink;
        size_t ntimers;

        open_engine(true);
        sink_prepare(&sink, &opts);
        ntimers = take_timer_places(timers);
        test_fail_alloc(n, true);
        turn();
        has_failed = test_alloc_failed();
        test_fail_alloc(0, false);
        if (sink.err == 0 && !stream_at(0)) {
            nretried++;
            assert_true(cor_loop_run_until(session.loop, somebody_waits, NULL, 60000));
            turn();
        }
        assert_int_equal(sink.err == 0, stream_at(0) != NULL);
        while (ntimers > 0)
            cor_timer_cancel(&timers[--ntimers]);
        sink_close(&sink);
        close_engine();
    }
    assert_true(nretried > 0);
}

TEST(etcd_feed, a_failed_allocation_loses_no_event)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct sink sink;
        bool failed;

        test_fail_alloc(0, false);
        open_engine(true);
        start_at_10(&sink, "/", "0", SIZE_MAX);
        test_fail_alloc(n, false);
        SAY(stream_at(0), 12, {"/1", 11}, {"/2", 12});
        failed = test_alloc_failed();
        test_fail_alloc(0, false);
        turn();
        if (failed && sink.text.n == 0) {
            /* The watch began anew, or the feed fell behind and has a watch of its own. */
            struct etcd_stream *again = stream_at(1) ? stream_at(1) : stream_at(0);

            assert_int_equal(again->creates[0]->create_request->start_revision, 11);
            SAY(again, 12, {"/1", 11}, {"/2", 12});
        }
        assert_sink(&sink, "+/1@11+/2@12|12 ");
        sink_close(&sink);
        close_engine();
    }
}

/* A user who may not read all keys. */

/* A cache's feed, in step at 10 over the prefix /r/. */
static void narrow_open(struct sink *cache)
{
    static char bytes[16];
    const struct cor_feed_opts opts = {
        .key = COR_STR("\0"),
        .end = COR_STR("\xff"),
        .credit = SIZE_MAX,
        .in_step = true,
    };

    open_engine(true);
    cor_feed_range_copy(&engine.prefix, bytes, COR_STR("/r/"), COR_STR("/r0"));
    sink_open_with(cache, &opts);
    say_revision(stream_at(0), 10);
    assert_watches(stream_at(0), "", 11, false);
    say_control(stream_at(0), -1, true, 10, REFUSED);
    turn();
    assert_int_equal(cache->err, 0);
    assert_watches(stream_at(0), "/r/", 11, false);
    say_created(stream_at(0), 1, 10);
}

TEST(etcd_feed, where_all_keys_are_refused_the_prefix_is_watched)
{
    struct sink cache, one;

    narrow_open(&cache);
    sink_open(&one, "/r/a/", "/r/a0", 0, SIZE_MAX, false);
    assert_null(stream_at(1));
    SAY(stream_at(0), 12, {"/r/a/1", 11}, {"/r/b/1", 12});
    assert_sink(&cache, "+/r/a/1@11+/r/b/1@12|12 ");
    assert_sink(&one, "+/r/a/1@11|12 ");
    sink_close(&one);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, over_a_prefix_a_revision_that_was_seen_is_reached_by_progress)
{
    struct sink cache, one;

    narrow_open(&cache);
    sink_open(&one, "/r/a/", "/r/a0", 0, SIZE_MAX, false);
    cor_etcd_feeds_saw(&engine, 10);
    assert_int_equal(stream_at(0)->progress, 0);
    /* A write outside of the prefix: only progress shows that nothing is missing. */
    cor_etcd_feeds_saw(&engine, 13);
    cor_etcd_feeds_saw(&engine, 13);
    assert_int_equal(stream_at(0)->progress, 1);
    SAY_PROGRESS(stream_at(0), 13);
    assert_sink(&cache, "|13 ");
    assert_sink(&one, "");
    SAY(stream_at(0), 14, {"/r/a/1", 14});
    assert_sink(&one, "+/r/a/1@14|14 ");
    sink_close(&one);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, over_a_prefix_a_request_for_progress_asks_etcd_too)
{
    struct sink cache, one;

    narrow_open(&cache);
    sink_open(&one, "/r/a/", "/r/a0", 0, SIZE_MAX, false);
    cor_feed_progress(one.feed);
    assert_sink(&one, "|10 ");
    SAY_PROGRESS(stream_at(0), 13);
    assert_sink(&one, "|13 ");
    SAY_PROGRESS(stream_at(0), 14);
    assert_sink(&one, "");
    sink_close(&one);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, a_key_outside_of_the_prefix_keeps_its_own_watch)
{
    struct sink cache, key, refused;

    narrow_open(&cache);
    sink_open(&key, "compact_rev_key", "", 10, SIZE_MAX, false);
    assert_watches(stream_at(1), "compact_rev_key", 11, false);
    say_created(stream_at(1), 1, 10);
    SAY(stream_at(1), 12, {"compact_rev_key", 12});
    assert_sink(&key, "+compact_rev_key@12|12 ");
    cor_feed_progress(key.feed);
    turn();
    SAY_PROGRESS(stream_at(1), 12);
    assert_sink(&key, "|12 ");
    assert_non_null(stream_at(1));
    sink_open(&refused, "/other/", "/other0", 10, SIZE_MAX, false);
    say_control(stream_at(1), -1, true, 10, REFUSED);
    assert_int_equal(refused.err, -COR_EINTERNAL);
    sink_close(&refused);
    sink_close(&key);
    sink_close(&cache);
    close_engine();
}

TEST(etcd_feed, without_progress_answers_a_prefix_is_not_enough)
{
    static char bytes[16];
    struct sink sink;

    open_engine(false);
    cor_feed_range_copy(&engine.prefix, bytes, COR_STR("/r/"), COR_STR("/r0"));
    start_at_10(&sink, "/r/", "/r0", SIZE_MAX);
    say_control(stream_at(0), -1, true, 10, REFUSED);
    assert_int_equal(sink.err, -COR_EINTERNAL);
    sink_close(&sink);
    close_engine();
}
