/* A window that grows backwards from the engine's history, and what may happen meanwhile. */
#include <stdio.h>

#include "busy_thread.h"
#include "fake_engine.h"
#include "storage/cacher/cacher_int.h"

static struct fake f;

static void open_from(struct fake_watch *w, cor_rev rev)
{
    char rv[24];
    struct cor_reader_watch_opts opts;

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)rev);
    opts = fake_watch_opts(w, rv, "");
    fake_watch_open(&f, w, "/pods", &opts);
}

/* `n` changes of some pods, the last revision of which is returned. */
static cor_rev change(size_t n, const char *more)
{
    for (size_t i = 0; i < n; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%zu", i % 7);
        fake_put(&f, "ns", name, i % 2 ? "a" : "b", more);
    }
    return f.rev;
}

static void restart_with_history(size_t bytes_max, size_t n, const char *more)
{
    fake_open(&f, bytes_max);
    f.keeps_history = true;
    change(n, more);
    fake_restart(&f);
}

TEST(history, changes_while_it_is_read_come_once_and_after_it)
{
    struct fake_watch w;
    cor_rev from;

    restart_with_history(0, 600, NULL);
    from = f.rev - 500;
    f.hold_next = true;
    open_from(&w, from);
    fake_settle(&f);
    change(300, NULL);
    fake_release(&f);
    fake_settle(&f);
    change(5, NULL);
    fake_settle(&f);
    assert_int_equal(w.n, 805);
    assert_int_equal(w.last, f.rev);
    fake_watch_close(&w);
    fake_close(&f);
}

/* Events left the window while history was read: it does not reach the window any more. */
TEST(history, that_does_not_fit_the_window_any_more_is_read_again)
{
    struct fake_watch w;
    cor_rev from;

    restart_with_history(0, 50, NULL);
    from = f.rev - 20;
    change(300, NULL);
    f.hold_next = true;
    open_from(&w, from);
    fake_settle(&f);
    cor_clock_manual_advance(&f.clock, 76000);
    change(1, NULL);
    fake_release(&f);
    fake_settle(&f);
    fake_settle(&f);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.n, f.rev - from);
    fake_watch_close(&w);
    fake_close(&f);
}

/* What one watch meets is told to it alone: the next finds what the store has. */
static void check_served(cor_rev from)
{
    struct fake_watch w;

    open_from(&w, from);
    fake_settle(&f);
    fake_settle(&f);
    if (w.error)
        fail_msg("from %llu: %d %s", (unsigned long long)from, w.error, w.message);
    assert_int_equal(w.n, f.rev - from);
    fake_watch_close(&w);
}

static void check_refused(cor_rev from, int code)
{
    struct fake_watch w;

    open_from(&w, from);
    fake_settle(&f);
    fake_settle(&f);
    assert_int_equal(w.error, code);
    assert_int_equal(w.n, 0);
    fake_watch_close(&w);
}

TEST(history, that_was_compacted_is_refused_and_what_is_left_is_served)
{
    restart_with_history(0, 600, NULL);
    f.compact_rev = f.rev - 400;
    check_refused(f.compact_rev - 1, 410);
    check_served(f.compact_rev);
    check_refused(f.compact_rev - 100, 410);
    check_served(f.rev - 300);
    assert_int_equal(f.statuses, 1);
    fake_close(&f);
}

/* Somebody else has compacted, and the status does not tell it. */
TEST(history, that_turns_out_to_be_compacted_is_refused_and_what_is_left_is_served)
{
    restart_with_history(0, 600, NULL);
    f.feed_compact_rev = f.rev - 400;
    check_refused(f.feed_compact_rev - 1, 410);
    check_refused(f.feed_compact_rev - 200, 410);
    check_served(f.rev - 300);
    check_served(f.feed_compact_rev);
    fake_close(&f);
}

TEST(history, that_a_failure_withholds_is_served_to_the_next)
{
    restart_with_history(0, 600, NULL);
    f.refuse_feeds = true;
    check_refused(f.rev - 300, 429);
    f.refuse_feeds = false;
    f.status_err = -COR_EUNREACHABLE;
    check_refused(f.rev - 300, 500);
    f.status_err = 0;
    f.feed_err = -COR_EIO;
    check_refused(f.rev - 300, 500);
    f.feed_err = 0;
    check_served(f.rev - 300);
    fake_close(&f);
}

/* One reading serves those who asked while it was not begun; one that reaches too far back for one
 * of them is made again for the others. */
TEST(history, that_one_of_several_asks_for_in_vain_is_read_for_the_others)
{
    struct fake_watch w[8];

    restart_with_history(0, 600, NULL);
    f.feed_compact_rev = f.rev - 400;
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        open_from(&w[i], i % 2 ? f.rev - 450 - i : f.rev - 300 - i);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++)
        fake_settle(&f);
    for (size_t i = 0; i < COR_ARRAY_LEN(w); i++) {
        assert_int_equal(w[i].error, i % 2 ? 410 : 0);
        assert_int_equal(w[i].n, i % 2 ? 0 : 300 + i);
        fake_watch_close(&w[i]);
    }
    fake_close(&f);
}

/* What was put in front of the window and has left it counts no more. */
/* The writer tells the watches that a reading is over, and then the home loop: a watch of another
 * loop may want the next one in between. */
TEST(history, that_is_wanted_before_the_last_answer_is_there_is_read_after_it)
{
    struct fake_watch w[2];
    cor_rev from;

    restart_with_history(0, 600, NULL);
    from = f.rev - 300;
    f.hold_next = true;
    open_from(&w[0], from);
    fake_settle(&f);
    cor_lock_acquire(&f.cacher->cache.lock);
    f.cacher->history.done = f.cacher->history.asked;
    cor_lock_release(&f.cacher->cache.lock);
    open_from(&w[1], from);
    fake_settle(&f);
    assert_int_equal(f.statuses, 1);
    fake_release(&f);
    fake_settle(&f);
    fake_settle(&f);
    assert_int_equal(f.statuses, 3); /* the one that was held, again, and the next */
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(w[i].error, 0);
        assert_int_equal(w[i].n, 300);
        fake_watch_close(&w[i]);
    }
    fake_close(&f);
}

TEST(history, that_has_left_the_window_may_be_read_again)
{
    char filler[1001];
    cor_rev from;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    restart_with_history(2u << 20, 250, filler);
    from = f.rev - 240;
    for (size_t i = 0; i < 4; i++) {
        check_served(from);
        cor_clock_manual_advance(&f.clock, 76000);
        change(1, NULL);
        assert_true(cor_cacher_stats(f.cacher).window_events < 240);
    }
    fake_close(&f);
}

static bool is_up_to_date(void *arg)
{
    const struct fake_watch *w = arg;

    return w->error || w->last == f.rev;
}

/* More is read than the first one asks for, but not all that there is. */
TEST(history, a_watch_from_further_back_makes_it_grow_again)
{
    struct fake_watch w;
    cor_rev last;

    restart_with_history(0, 4500, NULL);
    last = f.rev;
    for (cor_rev back = 10; back <= 4490; back += 2240) {
        open_from(&w, last - back);
        fake_wait(&f, is_up_to_date, &w);
        assert_int_equal(w.error, 0);
        assert_int_equal(w.n, back);
        assert_int_equal(w.last, last);
        fake_watch_close(&w);
    }
    fake_close(&f);
}

/* A quarter of the budget at most is put in front of the window. The rest is read for the watch
 * that wants it, and kept by nobody. */
TEST(history, that_does_not_fit_the_budget_is_read_by_the_watch_itself)
{
    struct fake_watch w;
    char filler[1001];
    cor_rev last;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    restart_with_history(160u << 10, 2000, filler);
    last = f.rev;
    open_from(&w, last - 1990);
    fake_wait(&f, is_up_to_date, &w);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.n, 1990);
    assert_uint_in_range(cor_cachers_stats(f.cachers).bytes, 20u << 10, 80u << 10);
    change(3, filler);
    fake_wait(&f, is_up_to_date, &w);
    assert_int_equal(w.n, 1993);
    fake_watch_close(&w);
    fake_close(&f);
}

/* Each reading has what the others left of the quarter. */
TEST(history, that_grows_again_stays_within_the_budget)
{
    struct fake_watch w;
    char filler[1001];
    cor_rev last;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    restart_with_history(32u << 20, 8300, filler);
    last = f.rev;
    open_from(&w, last - 10);
    fake_wait(&f, is_up_to_date, &w);
    assert_int_equal(w.n, 10);
    fake_watch_close(&w);
    open_from(&w, last - 8290);
    fake_wait(&f, is_up_to_date, &w);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.n, 8290);
    fake_watch_close(&w);
    assert_uint_in_range(cor_cachers_stats(f.cachers).bytes, 4u << 20, 10u << 20);
    fake_close(&f);
}

TEST(history, survives_every_failed_allocation_without_a_gap)
{
    fake_open(&f, 0);
    f.keeps_history = true;
    change(300, NULL);
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake_watch w;
        struct cor_reader_watch_opts opts;
        cor_rev from = f.rev - 290;
        char rv[24];

        test_fail_alloc(0, false);
        fake_restart(&f);
        snprintf(rv, sizeof(rv), "%llu", (unsigned long long)from);
        opts = fake_watch_opts(&w, rv, "");
        w.f = &f;
        test_fail_alloc(n, false);
        if (cor_reader_watch(f.reader, COR_STR("/pods"), &opts, &w.watch, NULL) < 0) {
            cor_predicate_deinit(&w.predicate);
            continue;
        }
        fake_settle(&f);
        fake_settle(&f);
        assert_true(w.n == 290 || (w.n == 0 && (w.ended || w.error)));
        fake_watch_close(&w);
    }
    fake_close(&f);
}

/* Values that are older than the schema: a thread brings them into its form. */

static struct cor_offload *open_old(size_t n)
{
    static const struct cor_offload_opts opts = {
        .nthreads = 1, .jobs_max = 8, .bytes_max = 64u << 20};
    struct cor_offload *offload;

    assert_int_equal(cor_offload_new(&opts, &offload), 0);
    fake_open_old(&f, offload);
    f.keeps_history = true;
    change(n, NULL);
    fake_restart(&f);
    return offload;
}

static uint64_t jobs(struct cor_offload *offload)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(offload, &stats);
    return stats.jobs;
}

/* The version that an event wrote is mostly still the present one: then it is the tree's. */
TEST(history, that_wrote_what_is_still_there_costs_no_versions_of_its_own)
{
    struct fake_watch w;
    char filler[1001];
    cor_rev from;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 0);
    f.keeps_history = true;
    from = f.rev;
    for (size_t i = 0; i < 256; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%zu", i);
        fake_put(&f, "ns", name, "a", filler);
    }
    fake_restart(&f);
    check_served(from);
    assert_int_equal(cor_cacher_stats(f.cacher).window_events, 256);
    assert_uint_in_range(cor_cacher_stats(f.cacher).window_bytes, 0, 256 * 64);
    /* They are the events' alone when the objects have changed. */
    for (size_t i = 0; i < 256; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%zu", i);
        fake_put(&f, "ns", name, "b", filler);
    }
    assert_uint_in_range(cor_cacher_stats(f.cacher).window_bytes, 256 * 1000, 256 * 1500);
    open_from(&w, from);
    fake_wait(&f, is_up_to_date, &w);
    assert_int_equal(w.n, 512);
    fake_watch_close(&w);
    fake_close(&f);
}

/* A version that two events share is counted as long as one of them is there. */
TEST(history, whose_beginning_has_left_the_window_is_still_counted)
{
    char filler[1001];
    size_t events;
    cor_rev from;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 0);
    f.keeps_history = true;
    from = f.rev;
    for (size_t i = 0; i < 512; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%zu", i % 256);
        fake_put(&f, "ns", name, i < 256 ? "a" : "b", filler);
    }
    fake_restart(&f);
    check_served(from);
    assert_int_equal(cor_cacher_stats(f.cacher).window_events, 512);
    assert_uint_in_range(cor_cacher_stats(f.cacher).window_bytes, 256 * 1000, 256 * 1500);
    cor_clock_manual_advance(&f.clock, 80000);
    fake_put(&f, "ns", "p0", "c", filler);
    events = cor_cacher_stats(f.cacher).window_events;
    assert_uint_in_range(events, 100, 255);
    assert_uint_in_range(cor_cacher_stats(f.cacher).window_bytes, events * 1000, events * 1500);
    fake_close(&f);
}

static bool has_seen_all(void *arg)
{
    return ((struct fake_watch *)arg)->last == f.rev;
}

TEST(history, of_old_values_is_decoded_by_a_thread_and_comes_in_order)
{
    struct cor_offload *offload = open_old(600);
    uint64_t before = jobs(offload);
    struct fake_watch w;

    open_from(&w, f.rev - 500);
    fake_wait(&f, has_seen_all, &w);
    assert_int_equal(w.n, 500);
    assert_true(jobs(offload) - before >= 500 / 256);
    change(3, NULL);
    fake_wait(&f, has_seen_all, &w);
    assert_int_equal(w.n, 503);
    fake_watch_close(&w);
    fake_close(&f);
    cor_offload_free(offload);
}

/* The cacher closes, or the feed breaks, while a batch waits for the thread. */
TEST(history, of_old_values_may_be_given_up)
{
    for (int breaks = 0; breaks < 2; breaks++) {
        struct cor_offload *offload = open_old(600);
        struct busy_thread busy;
        struct fake_watch w;

        busy_thread_begin(&busy, offload, f.loop, 0);
        open_from(&w, f.rev - 500);
        fake_settle(&f);
        fake_settle(&f);
        assert_int_equal(w.n, 0);
        if (breaks)
            fake_break(&f);
        fake_settle(&f);
        busy_thread_let_go(&busy);
        fake_watch_close(&w);
        fake_stop_cacher(&f);
        busy_thread_join(&busy);
        fake_close(&f);
        cor_offload_free(offload);
    }
}
