/* Revisions with many events, as a transaction or a range deletion written past the servers makes
 * them: no window begins inside of one, and no watch ends there. */
#include <stdio.h>

#include "fake_engine.h"

#define MANY 300

static struct fake f;

static void open_from(struct fake_watch *w, cor_rev rev, const char *fields)
{
    char rv[24];
    struct cor_reader_watch_opts opts;

    snprintf(rv, sizeof(rv), "%llu", (unsigned long long)rev);
    opts = fake_watch_opts(w, rv, fields);
    fake_watch_open(&f, w, "/pods", &opts);
}

/* `n` changes of one pod, one revision each. */
static void change(size_t n)
{
    for (size_t i = 0; i < n; i++)
        fake_put(&f, "other", "p", i % 2 ? "a" : "b", NULL);
}

static void check_count(cor_rev from, size_t n)
{
    struct fake_watch w;

    open_from(&w, from, "");
    fake_settle(&f);
    fake_settle(&f);
    if (w.n != n)
        fail_msg("from %llu: %zu events instead of %zu", (unsigned long long)from, w.n, n);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.last, f.rev);
    fake_watch_close(&w);
}

/* Segments are evicted, one after the other, while the revision begins at every place of one. */
TEST(revisions, one_that_eviction_meets_leaves_as_a_whole)
{
    for (size_t lead = 0; lead < 128; lead += 9) {
        cor_rev before;

        fake_open(&f, 0);
        f.keeps_history = true;
        fake_put_many(&f, "ns", MANY, "a");
        change(lead);
        before = f.rev;
        fake_delete_many(&f, "ns", MANY);
        change(110);
        cor_clock_manual_advance(&f.clock, 76000);
        change(1);
        check_count(before, MANY + 111);
        check_count(before + 1, 111);
        fake_close(&f);
    }
}

/* The last revision is larger than what stays at least; nothing but it is there. */
TEST(revisions, one_at_the_end_of_the_window_stays_until_every_loop_has_seen_it)
{
    struct fake_watch live;
    cor_rev before;

    fake_open(&f, 64u << 10); /* less than the revision weighs */
    f.keeps_history = true;
    fake_put_many(&f, "ns", MANY, "a");
    before = f.rev;
    open_from(&live, before, "");
    fake_settle(&f);
    fake_delete_many(&f, "ns", MANY);
    fake_settle(&f);
    assert_int_equal(live.n, MANY);
    assert_false(live.ended || live.error);
    /* After 75 s it may leave, although nothing follows. */
    cor_clock_manual_advance(&f.clock, 76000);
    change(1);
    fake_settle(&f);
    assert_true(cor_cacher_stats(f.cacher).window_events < 100);
    assert_int_equal(live.n, MANY + 1);
    fake_watch_close(&live);
    fake_close(&f);
}

/* The byte budget of history cuts between revisions. */
TEST(revisions, history_is_extended_by_whole_ones_within_the_budget)
{
    struct fake_watch w;
    cor_rev revs[12];

    fake_open(&f, 1000u << 10);
    f.keeps_history = true;
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i++)
        revs[i] = fake_put_many(&f, "ns", 100, i % 2 ? "a" : "b");
    fake_restart(&f);
    open_from(&w, revs[0] - 1, "");
    while (w.n < 100 * COR_ARRAY_LEN(revs) && !w.error)
        fake_settle(&f);
    assert_int_equal(w.error, 0);
    fake_watch_close(&w);
    assert_uint_in_range(cor_cacher_stats(f.cacher).window_events, 100, 1100);
    assert_int_equal(cor_cacher_stats(f.cacher).window_events % 100, 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(revs); i++) {
        open_from(&w, revs[i], "");
        while (w.last != f.rev && revs[i] != f.rev && !w.error)
            fake_settle(&f);
        assert_int_equal(w.error, 0);
        assert_int_equal(w.n, (COR_ARRAY_LEN(revs) - 1 - i) * 100);
        fake_watch_close(&w);
    }
    fake_close(&f);
}

static bool is_over(void *arg)
{
    const struct fake_watch *w = arg;

    return w->ended || w->error;
}

/* A revision of MANY deletions after two others of MANY changes, of which a watch has seen the
 * first `at` that it selects. Returns the revision before it. */
static cor_rev open_inside(struct fake_watch *w, size_t at, const char *fields)
{
    cor_rev before;

    fake_open(&f, 1u << 20);
    f.keeps_history = true;
    fake_put_many(&f, "ns", MANY, "a");
    before = fake_put_many(&f, "ns", MANY, "b");
    open_from(w, before, fields);
    w->pause_at = at;
    fake_settle(&f);
    fake_delete_many(&f, "ns", MANY);
    fake_settle(&f);
    assert_int_equal(w->n, at);
    return before;
}

/* The revision leaves the window, with the places of those that are inside of it. */
static void let_it_go(void)
{
    change(110);
    cor_clock_manual_advance(&f.clock, 76000);
    change(1);
    fake_settle(&f);
    assert_int_equal(cor_cacher_reader_stats(f.reader).evicted, 1);
}

/* A plain end would make the client go on after the revision of which it has seen a part, and a 410
 * would make it list again, although the store has the rest. */
TEST(revisions, a_watch_that_is_evicted_inside_of_one_is_given_the_rest_and_ends)
{
    static const size_t places[] = {1, 127, 128, 129, 200, MANY - 1};

    for (size_t i = 0; i < COR_ARRAY_LEN(places); i++) {
        struct fake_watch w;
        cor_rev before = open_inside(&w, places[i], "");

        let_it_go();
        cor_watch_resume(w.watch);
        fake_wait(&f, is_over, &w);
        assert_int_equal(w.error, 0);
        assert_true(w.ended);
        assert_int_equal(w.n, MANY);
        assert_int_equal(w.last, before + 1);
        fake_watch_close(&w);
        fake_close(&f);
    }
}

TEST(revisions, a_watch_that_selects_is_given_what_it_selects_of_the_rest)
{
    struct fake_watch w;

    open_inside(&w, 1, "spec.nodeName=b,metadata.namespace=ns");
    let_it_go();
    /* It waits for its client, holds no reading meanwhile, and would end between two revisions. */
    fake_settle(&f);
    assert_int_equal(cor_cachers_stats(f.cachers).replays, 0);
    assert_false(cor_watch_finish(w.watch, 0));
    cor_watch_resume(w.watch);
    fake_wait(&f, is_over, &w);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.n, MANY);
    assert_true(cor_watch_finish(w.watch, 0));
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(revisions, a_watch_that_loses_its_cache_inside_of_one_is_given_the_rest_and_ends)
{
    struct fake_watch inside, between;
    cor_rev before = open_inside(&inside, 129, "");

    open_from(&between, before, "");
    fake_settle(&f);
    assert_int_equal(between.n, MANY);
    fake_break(&f);
    fake_settle(&f);
    cor_watch_resume(inside.watch);
    fake_wait(&f, is_over, &inside);
    fake_wait(&f, is_over, &between);
    assert_int_equal(inside.error, 0);
    assert_int_equal(inside.n, MANY);
    assert_true(between.ended);
    fake_watch_close(&inside);
    fake_watch_close(&between);
    fake_close(&f);
}

/* The reading begins earlier, for another watch, and passes other revisions of many keys before. */
TEST(revisions, a_watch_is_given_the_rest_by_a_reading_that_others_began)
{
    struct fake_watch w, old;
    cor_rev before = open_inside(&w, 100, "");

    let_it_go();
    open_from(&old, before - 2, "metadata.namespace=ns");
    cor_watch_resume(w.watch);
    fake_wait(&f, is_over, &w);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.n, MANY);
    while (old.n < 3 * MANY && !old.error && !old.ended)
        fake_settle(&f);
    assert_int_equal(old.n, 3 * MANY);
    assert_false(old.error || old.ended);
    fake_watch_close(&w);
    fake_watch_close(&old);
    fake_close(&f);
}

TEST(revisions, a_watch_whose_rest_of_one_was_compacted_ends_with_410)
{
    struct fake_watch w;

    open_inside(&w, 200, "");
    let_it_go();
    f.feed_compact_rev = f.rev;
    cor_watch_resume(w.watch);
    fake_wait(&f, is_over, &w);
    assert_int_equal(w.error, 410);
    assert_int_equal(w.n, 200);
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(revisions, the_rest_of_one_survives_every_failed_allocation_without_a_gap)
{
    size_t ncut = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        struct fake_watch w;

        test_fail_alloc(0, false);
        open_inside(&w, 200, "");
        change(110);
        cor_clock_manual_advance(&f.clock, 76000);
        change(1);
        test_fail_alloc(n, false);
        cor_watch_resume(w.watch);
        fake_wait(&f, is_over, &w);
        assert_true(w.error || (w.ended && w.n == MANY));
        ncut += w.error == 410;
        fake_watch_close(&w);
        test_fail_alloc(0, false);
        fake_close(&f);
    }
    assert_true(ncut > 0);
}

/* A watch that has seen a part of a revision when it comes to a value that cannot be decoded: the
 * value is in another segment of the window than what was delivered before. */
TEST(revisions, an_idle_watch_that_meets_an_unreadable_value_inside_of_one_ends_with_410)
{
    struct fake_watch all, others;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    change(1);
    open_from(&all, f.rev, "");
    opts = fake_watch_opts(&others, "", "");
    fake_watch_open(&f, &others, "/pods/other", &opts);
    fake_settle(&f);
    f.junk = "p200";
    fake_put_many(&f, "ns", MANY, "a");
    fake_settle(&f);
    assert_uint_in_range(all.n, 1, 199);
    assert_int_equal(all.last, f.rev);
    assert_int_equal(all.error, 410);
    fake_watch_close(&all);
    /* The others saw nothing of that revision, and are between two of them. */
    assert_false(others.ended || others.error);
    change(1);
    fake_settle(&f);
    assert_int_equal(others.last, f.rev);
    assert_true(cor_watch_finish(others.watch, 0));
    fake_watch_close(&others);
    f.junk = NULL;
    fake_close(&f);
}

/* The value is the first of its revision that the watch would see: the client resumes before it. */
TEST(revisions, an_idle_watch_that_meets_an_unreadable_value_before_one_ends_plainly)
{
    struct fake_watch w;
    cor_rev before;

    fake_open(&f, 0);
    change(1);
    open_from(&w, f.rev, "");
    fake_settle(&f);
    before = fake_put(&f, "ns", "a", "a", NULL);
    fake_settle(&f);
    f.junk = "p000";
    fake_put_many(&f, "ns", MANY, "a");
    fake_settle(&f);
    assert_int_equal(w.last, before);
    assert_true(w.ended);
    assert_int_equal(w.error, 0);
    fake_watch_close(&w);
    f.junk = NULL;
    fake_close(&f);
}

/* What a deadline and a server's end do: the rest of the revision comes, then the end. */
TEST(revisions, a_watch_that_is_asked_to_finish_ends_after_the_one_it_is_in)
{
    for (size_t at = 1; at < MANY; at += 13) {
        struct fake_watch w;

        fake_open(&f, 0);
        fake_put_many(&f, "ns", MANY, "a");
        open_from(&w, f.rev, "");
        w.pause_at = at;
        fake_settle(&f);
        assert_true(cor_watch_finish(w.watch, 0));
        fake_delete_many(&f, "ns", MANY);
        change(5);
        fake_settle(&f);
        assert_int_equal(w.n, at);
        assert_false(cor_watch_finish(w.watch, 0));
        cor_watch_resume(w.watch);
        fake_settle(&f);
        fake_settle(&f);
        assert_int_equal(w.n, MANY);
        assert_true(w.ended);
        assert_true(cor_watch_finish(w.watch, 0));
        fake_watch_close(&w);
        fake_close(&f);
    }
}

/* Of what it selects it has seen the last event; the revision goes on for others. */
TEST(revisions, a_watch_of_one_object_finishes_without_seeing_more)
{
    struct fake_watch w;

    fake_open(&f, 0);
    fake_put_many(&f, "ns", MANY, "a");
    open_from(&w, f.rev - 1, "metadata.name=p010,metadata.namespace=ns");
    w.pause_at = 1;
    fake_settle(&f);
    assert_int_equal(w.n, 1);
    fake_delete_many(&f, "ns", MANY);
    fake_settle(&f);
    assert_true(cor_watch_finish(w.watch, 0));
    fake_watch_close(&w);
    fake_close(&f);
}

/* What a definition that is removed does: what came before is delivered, whatever the watch is at.
 */
TEST(revisions, a_watch_that_finishes_with_one_is_given_everything_before_it)
{
    struct fake_watch slow, idle, old, first;
    cor_rev upto, before;

    fake_open(&f, 0);
    f.keeps_history = true;
    before = fake_put_many(&f, "ns", 10, "a");
    fake_settle(&f);
    open_from(&slow, before, "");
    open_from(&idle, before, "");
    slow.pause_at = 1;
    fake_settle(&f);
    for (size_t i = 0; i < 10; i++) {
        char name[8];

        snprintf(name, sizeof(name), "p%03zu", i);
        upto = fake_delete(&f, "ns", name);
    }
    open_from(&old, before - 1, "");
    open_from(&first, before, "");
    assert_false(cor_watch_finish(slow.watch, upto));
    assert_false(cor_watch_finish(idle.watch, upto));
    assert_false(cor_watch_finish(old.watch, upto));
    assert_false(cor_watch_finish(first.watch, upto));
    fake_wait(&f, is_over, &idle);
    fake_wait(&f, is_over, &old);
    fake_wait(&f, is_over, &first);
    assert_int_equal(slow.n, 1);
    assert_false(slow.ended);
    change(5); /* of the next definition */
    fake_settle(&f);
    cor_watch_resume(slow.watch);
    fake_wait(&f, is_over, &slow);
    assert_int_equal(slow.n, 10);
    assert_int_equal(idle.n, 10);
    assert_int_equal(old.n, 20);
    assert_int_equal(first.n, 10);
    assert_int_equal(slow.last, upto);
    fake_watch_close(&slow);
    fake_watch_close(&idle);
    fake_watch_close(&old);
    fake_watch_close(&first);
    fake_close(&f);
}

/* The caches of this server may be behind the one who names the revision. No event of theirs need
 * come. */
TEST(revisions, a_watch_that_finishes_with_a_later_one_waits_until_the_caches_have_reached_it)
{
    struct fake_watch w, other;

    fake_open(&f, 0);
    fake_put(&f, "ns", "p", "a", NULL);
    open_from(&w, f.rev, "");
    open_from(&other, f.rev, "");
    fake_settle(&f);
    assert_true(cor_watch_finish(w.watch, f.rev));
    assert_false(cor_watch_finish(w.watch, f.rev + 2));
    assert_false(cor_watch_finish(other.watch, f.rev + 2));
    assert_true(cor_watch_finish(other.watch, 0));
    fake_bump(&f);
    fake_settle(&f);
    assert_false(w.ended);
    fake_bump(&f);
    fake_wait(&f, is_over, &w);
    assert_int_equal(w.error, 0);
    assert_false(other.ended);
    fake_watch_close(&w);
    fake_watch_close(&other);
    fake_close(&f);
}

static bool has_paused(void *arg)
{
    const struct fake_watch *w = arg;

    return w->n == w->pause_at;
}

TEST(revisions, a_replayed_watch_finishes_with_the_one_that_it_was_asked_for)
{
    struct fake_watch w;
    cor_rev before;

    fake_open(&f, 64u << 10);
    f.keeps_history = true;
    before = fake_put_many(&f, "ns", MANY, "a");
    change(MANY);
    fake_restart(&f);
    open_from(&w, before, "");
    w.pause_at = 1;
    fake_wait(&f, has_paused, &w);
    assert_false(cor_watch_finish(w.watch, before + 20));
    cor_watch_resume(w.watch);
    fake_wait(&f, is_over, &w);
    assert_int_equal(w.error, 0);
    assert_int_equal(w.last, before + 20);
    assert_int_equal(w.n, 20);
    fake_watch_close(&w);
    fake_close(&f);
}
