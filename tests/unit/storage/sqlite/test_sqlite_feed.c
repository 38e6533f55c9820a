#include "engine_fixture.h"

#include <stdio.h>

#include "storage/engine/feed_index.h"

TEST(sqlite_feed, a_live_feed_gets_each_change_with_the_version_before)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        fx_put(&fx, "/a/x", "0", 0, NULL);
        sink_open(&sink, &fx, "/a/", "/a0", 0, SIZE_MAX);
        cor_feed_progress(sink.feed);
        sink_wait_upto(&sink, 2);
        fx_put(&fx, "/a/x", "1", 2, NULL);
        fx_put(&fx, "/b", "1", 0, NULL);
        fx_put(&fx, "/a/y", "1", 0, NULL);
        fx_delete(&fx, "/a/x", 3, NULL);
        sink_wait_events(&sink, 3);
        assert_string_equal(sink_text(&sink), "/a/x=1@3(0) +/a/y=1@5 -/a/x@6(1)");
        sink_close(&sink);
    }
}

TEST(sqlite_feed, an_event_is_delivered_before_its_write_is_answered)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        sink_open(&sink, &fx, "/a", NULL, 0, SIZE_MAX);
        fx_put(&fx, "/a", "1", 0, NULL);
        assert_string_equal(sink_text(&sink), "+/a=1@2");
        sink_close(&sink);
    }
}

TEST(sqlite_feed, history_comes_first_and_is_the_same_as_what_was_live)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        fx_put(&fx, "/b", "1", 0, NULL);
        fx_delete(&fx, "/a", 3, NULL);
        fx_put(&fx, "/a", "3", 0, NULL);
        sink_open(&sink, &fx, "/", "0", 2, SIZE_MAX);
        sink_wait_events(&sink, 4);
        fx_put(&fx, "/b", "2", 4, NULL);
        sink_wait_events(&sink, 5);
        assert_string_equal(sink_text(&sink), "/a=2@3(1) +/b=1@4 -/a@5(2) +/a=3@6 /b=2@7(1)");
        sink_close(&sink);
        sink_open(&sink, &fx, "/b", NULL, 1, SIZE_MAX);
        sink_wait_events(&sink, 2);
        assert_string_equal(sink_text(&sink), "+/b=1@4 /b=2@7(1)");
        sink_close(&sink);
    }
}

TEST(sqlite_feed, delivers_no_more_than_its_credit_and_reads_on_with_more)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        sink_open(&sink, &fx, "/a", NULL, 0, 2);
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        fx_put(&fx, "/a", "3", 3, NULL);
        fx_put(&fx, "/a", "4", 4, NULL);
        fx_rev(&fx);
        assert_int_equal(sink.n, 2);
        cor_feed_credit(sink.feed, 1);
        sink_wait_events(&sink, 3);
        fx_rev(&fx);
        assert_int_equal(sink.n, 3);
        assert_int_equal(sink.upto, 4);
        cor_feed_credit(sink.feed, SIZE_MAX);
        sink_wait_events(&sink, 4);
        fx_put(&fx, "/a", "5", 5, NULL);
        assert_string_equal(sink_text(&sink), "+/a=1@2 /a=2@3(1) /a=3@4(2) /a=4@5(3) /a=5@6(4)");
        sink_close(&sink);
    }
}

TEST(sqlite_feed, progress_says_how_far_an_uninterested_feed_is)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        sink_open(&sink, &fx, "/quiet", NULL, 1, SIZE_MAX);
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        assert_int_equal(sink.batches, 0);
        cor_feed_progress(sink.feed);
        sink_wait_upto(&sink, 3);
        assert_int_equal(sink.n, 0);
        assert_int_equal(sink.batches, 1);
        sink_close(&sink);
    }
}

TEST(sqlite_feed, breaks_when_its_start_is_compacted_or_in_the_future)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        fx_put(&fx, "/a", "3", 3, NULL);
        assert_int_equal(fx_compact(&fx, 3), 0);
        sink_open(&sink, &fx, "/a", NULL, 2, SIZE_MAX);
        sink_wait_broken(&sink, -COR_EEXPIRED);
        sink_close(&sink);
        sink_open(&sink, &fx, "/a", NULL, 5, SIZE_MAX);
        sink_wait_broken(&sink, -COR_EFUTURE);
        sink_close(&sink);
        sink_open(&sink, &fx, "/a", NULL, 3, SIZE_MAX);
        sink_wait_events(&sink, 1);
        assert_string_equal(sink_text(&sink), "/a=3@4(2)");
        sink_close(&sink);
    }
}

TEST(sqlite_feed, a_feed_without_credit_breaks_when_it_is_compacted_under_it)
{
    struct fx fx;
    struct sink sink;

    ON_EACH_STORE(&fx)
    {
        sink_open(&sink, &fx, "/a", NULL, 0, 0);
        fx_put(&fx, "/a", "1", 0, NULL);
        fx_put(&fx, "/a", "2", 2, NULL);
        assert_int_equal(fx_compact(&fx, 3), 0);
        cor_feed_credit(sink.feed, 10);
        sink_wait_broken(&sink, -COR_EEXPIRED);
        assert_int_equal(sink.n, 0);
        sink_close(&sink);
    }
}

enum { WRITERS = 4, WRITES = 500, KEYS = 40 };

struct writer {
    struct cor_write_req write;
    struct fx *fx;
    struct writer_group *group;
    char key[32], value[32];
    unsigned n;
};

struct writer_group {
    size_t running;
    unsigned looked_at; /* writes of the second writer when one_more() was last true */
    unsigned wanted;    /* looks that must come before the last write */
    struct writer writers[WRITERS];
};

static void write_next(struct writer *w, cor_rev expected);

/* Each writer has keys of its own, in two prefixes; now and then it deletes. */
static void on_written(struct cor_engine_req *req)
{
    struct writer *w = COR_CONTAINER_OF(req, struct writer, write.req);
    cor_rev expected = 0;

    assert_int_equal(req->result == 0 || req->result == -COR_ECONFLICT, 1);
    if (req->result == -COR_ECONFLICT)
        expected = w->write.ret_prev ? w->write.ret_prev->mod_rev : 0;
    else
        w->n++;
    if (w->n < WRITES || w->group->wanted > 0)
        write_next(w, expected);
    else
        w->group->running--;
}

static void write_next(struct writer *w, cor_rev expected)
{
    cor_write_req_deinit(&w->write);
    cor_write_req_init(&w->write, w->fx->loop, on_written);
    snprintf(w->key, sizeof(w->key), "/%c/%d-%u", w->n % 3 ? 'a' : 'b',
             (int)(w - w->group->writers), w->n * 7 % KEYS);
    snprintf(w->value, sizeof(w->value), "%u", w->n);
    w->write.key = cor_strz(w->key);
    w->write.value = cor_strz(w->value);
    w->write.expected = expected;
    w->write.is_delete = expected != 0 && w->n % 5 == 0;
    cor_engine_write(w->fx->engine, &w->write);
}

static bool no_writer_runs(void *arg)
{
    return ((struct writer_group *)arg)->running == 0;
}

static void start_writers(struct fx *fx, struct writer_group *group)
{
    memset(group, 0, sizeof(*group));
    group->running = WRITERS;
    for (size_t i = 0; i < WRITERS; i++) {
        group->writers[i].fx = fx;
        group->writers[i].group = group;
        write_next(&group->writers[i], 0);
    }
}

static void finish_writers(struct fx *fx, struct writer_group *group)
{
    assert_true(cor_loop_run_until(fx->loop, no_writer_runs, group, FX_TIMEOUT_MS * 3));
    for (size_t i = 0; i < WRITERS; i++)
        cor_write_req_deinit(&group->writers[i].write);
}

static bool some_writes_done(void *arg)
{
    struct writer_group *group = arg;

    return group->writers[0].n > WRITES / 3;
}

static void assert_in_order(struct sink *sink, cor_rev from)
{
    cor_rev last = from;

    for (size_t i = 0; i < sink->n; i++) {
        assert_true(sink->events[i].rev > last);
        last = sink->events[i].rev;
    }
}

/* Feeds that join from the start of history while four writers are at work see every revision once,
 * in order, as a feed that was live from the beginning does. */
TEST(sqlite_feed, joins_live_writes_out_of_history_without_gap_or_repeat)
{
    static struct writer_group group;
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        struct sink live, late[6], stingy;
        cor_rev end;

        sink_open(&live, &fx, "/", "0", 0, SIZE_MAX);
        start_writers(&fx, &group);
        assert_true(cor_loop_run_until(fx.loop, some_writes_done, &group, FX_TIMEOUT_MS));
        for (size_t i = 0; i < 6; i++)
            sink_open(&late[i], &fx, i % 2 ? "/" : "/a/", i % 2 ? "0" : "/a0", 1 + i / 2 * 50,
                      SIZE_MAX);
        sink_open(&stingy, &fx, "/b/", "/b0", 1, 10);
        cor_feed_credit(stingy.feed, 100000);
        finish_writers(&fx, &group);
        end = fx_rev(&fx);
        assert_int_equal(live.n, end - 1);
        assert_in_order(&live, 1);
        for (size_t i = 0; i < 6; i++) {
            cor_rev from = 1 + i / 2 * 50;
            size_t at = 0;

            cor_feed_progress(late[i].feed);
            sink_wait_upto(&late[i], end);
            for (size_t j = 0; j < live.n; j++) {
                if (live.events[j].rev <= from || (i % 2 == 0 && live.events[j].key[1] != 'a'))
                    continue;
                assert_true(at < late[i].n);
                assert_memory_equal(&late[i].events[at].rev, &live.events[j].rev, sizeof(cor_rev));
                assert_string_equal(late[i].events[at].value, live.events[j].value);
                assert_string_equal(late[i].events[at].prev, live.events[j].prev);
                assert_int_equal(late[i].events[at].deleted, live.events[j].deleted);
                at++;
            }
            assert_int_equal(at, late[i].n);
            sink_close(&late[i]);
        }
        cor_feed_progress(stingy.feed);
        sink_wait_upto(&stingy, end);
        assert_in_order(&stingy, 1);
        sink_close(&stingy);
        sink_close(&live);
    }
}

/* Keys that exist after the feed's events up to `at`. */
static size_t replayed_keys(struct sink *sink, cor_rev at)
{
    size_t n = 0;

    pthread_mutex_lock(&sink->lock);
    for (size_t i = 0; i < sink->n && sink->events[i].rev <= at; i++) {
        if (sink->events[i].deleted)
            n--;
        else if (strcmp(sink->events[i].prev, "-") == 0)
            n++;
    }
    pthread_mutex_unlock(&sink->lock);
    return n;
}

static cor_rev revision_at(struct fx *fx, struct cor_range_req *req, cor_rev at)
{
    fx_range_init(fx, req, "/", "0");
    req->at = at;
    fx_range(fx, req);
    return req->ret_rev;
}

static bool one_more(void *arg)
{
    struct writer_group *group = arg;

    if (group->writers[1].n < group->looked_at + 20 && group->running > 0)
        return false;
    group->looked_at = group->writers[1].n;
    return true;
}

/* Writes, compactions just behind them, exact reads and a feed, all at once: what is read at a
 * revision is what a replay of the feed has there. */
TEST(sqlite_feed, agrees_with_exact_reads_while_history_is_compacted_behind_it)
{
    static struct writer_group group;
    struct fx fx;

    ON_EACH_STORE(&fx)
    {
        struct sink live;
        struct cor_range_req req;

        sink_open(&live, &fx, "/", "0", 0, SIZE_MAX);
        start_writers(&fx, &group);
        group.wanted = 6;
        while (group.running > 0) {
            cor_rev now, at;

            assert_true(cor_loop_run_until(fx.loop, one_more, &group, FX_TIMEOUT_MS));
            now = revision_at(&fx, &req, 0);
            cor_range_req_deinit(&req);
            at = now > 30 ? now - 30 : now;
            revision_at(&fx, &req, at);
            assert_int_equal(req.req.result, 0);
            assert_int_equal(replayed_keys(&live, at), req.ret_nkvs);
            for (size_t i = 0; i < req.ret_nkvs; i++)
                assert_true(req.ret_kvs[i]->mod_rev <= at);
            cor_range_req_deinit(&req);
            assert_int_equal(fx_compact(&fx, at), 0);
            group.wanted -= group.wanted > 0;
        }
        finish_writers(&fx, &group);
        assert_in_order(&live, 1);
        sink_close(&live);
    }
}

TEST(sqlite_feed, may_be_closed_while_its_history_is_read)
{
    struct fx fx;
    struct sink sinks[20];

    ON_EACH_STORE(&fx)
    {
        cor_rev rev = 0;

        for (int i = 0; i < 600; i++)
            assert_int_equal(fx_put(&fx, "/a", "v", rev, &rev), 0);
        for (size_t i = 0; i < 20; i++)
            sink_open(&sinks[i], &fx, "/", "0", 1, SIZE_MAX);
        for (size_t i = 0; i < 20; i++)
            sink_close(&sinks[i]);
    }
}

static void on_nothing(void *arg, const struct cor_feed_batch *batch)
{
}

static void on_never_broken(void *arg, int err, const char *message)
{
    fail();
}

static void on_gone(void *arg)
{
}

TEST(sqlite_feed, there_is_a_maximum_of_feeds)
{
    enum { MAX = 4096 };
    static struct cor_feed *feeds[MAX];
    struct cor_feed_opts opts = {.key = COR_STR("/a"),
                                 .on_batch = on_nothing,
                                 .on_broken = on_never_broken,
                                 .on_closed = on_gone};
    struct cor_feed *over;
    struct fx fx;

    fx_open(&fx, ":memory:");
    for (size_t i = 0; i < MAX; i++)
        assert_int_equal(cor_feed_open(fx.engine, &opts, &feeds[i]), 0);
    assert_int_equal(cor_feed_open(fx.engine, &opts, &over), -COR_EBUSY);
    for (size_t i = 0; i < MAX; i++)
        cor_feed_close(feeds[i]);
    fx_close(&fx);
}

/* Against a plain scan, over nested, equal, disjoint and overlapping ranges. */
TEST(sqlite_feed, the_index_finds_exactly_the_ranges_that_hold_a_key)
{
    enum { RANGES = 40, ROUNDS = 200 };
    static char text[RANGES][2][4];
    struct cor_feed_range ranges[RANGES];
    struct cor_feed_index ix = {0};

    for (int i = 0; i < RANGES; i++) {
        for (int j = 0; j < 2; j++)
            snprintf(text[i][j], 4, "%03d", (int)(test_random() % 60));
        ranges[i].key = cor_strz(text[i][0]);
        ranges[i].end = cor_strz(text[i][1]);
        assert_int_equal(cor_feed_index_add(&ix, &ranges[i]), 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        char key[4];
        size_t at = SIZE_MAX, found = 0, wanted = 0;
        struct cor_feed_range *range;

        snprintf(key, sizeof(key), "%03d", (int)(test_random() % 60));
        while ((range = cor_feed_index_next(&ix, cor_strz(key), &at))) {
            assert_true(cor_str_cmp(range->key, cor_strz(key)) <= 0);
            assert_true(cor_str_cmp(cor_strz(key), range->end) < 0);
            found++;
        }
        for (int i = 0; i < RANGES; i++)
            wanted += strcmp(text[i][0], key) <= 0 && strcmp(key, text[i][1]) < 0;
        assert_int_equal(found, wanted);
    }
    for (int i = 0; i < RANGES; i++)
        cor_feed_index_remove(&ix, &ranges[i]);
    cor_feed_index_deinit(&ix);
}
