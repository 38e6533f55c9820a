/* A window that grows backwards from the engine's history, and what may happen meanwhile. */
#include <stdio.h>

#include "fake_engine.h"

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
TEST(history, that_does_not_fit_the_window_is_not_put_before_it)
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
    assert_int_equal(w.error, 410);
    assert_int_equal(w.n, 0);
    fake_watch_close(&w);
    fake_close(&f);
}

/* A quarter of the budget at most; what was left out is not claimed to be there. */
TEST(history, within_the_budget_the_youngest_are_kept)
{
    struct fake_watch w;
    char filler[1001];
    cor_rev last;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    restart_with_history(160u << 10, 200, filler);
    last = f.rev;
    open_from(&w, last - 150);
    fake_settle(&f);
    assert_int_equal(w.error, 410);
    fake_watch_close(&w);
    assert_in_range(cor_caches_stats(f.caches).bytes, 20u << 10, 80u << 10);
    open_from(&w, last - 10);
    fake_settle(&f);
    assert_int_equal(w.n, 10);
    assert_int_equal(w.last, last);
    fake_watch_close(&w);
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
    assert_int_equal(w.error, 410);
    fake_watch_close(&w);
    assert_in_range(cor_caches_stats(f.caches).bytes, 4u << 20, 10u << 20);
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
