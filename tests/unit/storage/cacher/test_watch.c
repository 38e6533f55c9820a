#include <stdio.h>

#include "base/mem.h"
#include "fake_engine.h"
#include "storage/cacher/watch_int.h"

#define BOOKMARK_BEFORE_MS 2000 /* the deadline, as src/storage/cacher/watch.c has it */

static struct fake f;

static const char *rv(cor_rev rev)
{
    static char text[4][24];
    static unsigned turn;
    char *out = text[turn++ % 4];

    snprintf(out, sizeof(text[0]), "%llu", (unsigned long long)rev);
    return out;
}

static struct cor_cacher_reader_stats stats(void)
{
    return cor_cacher_reader_stats(f.reader);
}

static void open_from(struct fake_watch *w, cor_rev rev, const char *fields)
{
    struct cor_reader_watch_opts opts = fake_watch_opts(w, rv(rev), fields);

    fake_watch_open(&f, w, "/pods", &opts);
}

TEST(cacher_watch, events_for_another_node_neither_end_nor_cost_an_idle_watcher)
{
    enum { EVENTS = 20000 };
    struct fake_watch b;

    fake_open(&f, 1u << 20);
    open_from(&b, f.rev, "spec.nodeName=node-b");
    fake_settle(&f);
    assert_int_equal(stats().idle, 1);
    cor_watch_pause(b.watch);
    for (int i = 0; i < EVENTS; i++) {
        fake_put(&f, "ns", "p", "node-a", i % 2 ? "x" : "y");
        if (i % 100 == 0)
            fake_settle(&f);
    }
    fake_settle(&f);
    assert_int_equal(stats().events, EVENTS);
    assert_int_equal(stats().visits, 0);
    assert_int_equal(stats().walked, 0);
    assert_int_equal(stats().idle, 1);
    assert_true(cor_cachers_stats(f.cachers).evicted > 0);
    cor_watch_resume(b.watch);
    fake_put(&f, "ns", "p", "node-b", NULL);
    fake_settle(&f);
    assert_false(b.ended);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.last_type, COR_WATCH_ADDED);
    fake_watch_close(&b);
    fake_close(&f);
}

/* What one event for the first watcher costs, with `n` watchers each on its own node. */
static uint64_t visits_of_an_event(size_t n)
{
    struct fake_watch *watches = cor_calloc(n, sizeof(*watches));
    struct cor_cacher_reader_stats before, after;
    char fields[64];

    fake_open(&f, 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(fields, sizeof(fields), "spec.nodeName=node-%zu", i);
        open_from(&watches[i], f.rev, fields);
    }
    fake_settle(&f);
    assert_int_equal(stats().idle, n);
    before = stats();
    fake_put(&f, "ns", "p", "node-0", NULL);
    fake_settle(&f);
    after = stats();
    assert_int_equal(watches[0].n, 1);
    for (size_t i = 0; i < n; i++)
        fake_watch_close(&watches[i]);
    fake_close(&f);
    cor_free(watches);
    return after.visits - before.visits + after.walked - before.walked;
}

TEST(cacher_watch, an_event_costs_its_watchers_however_many_others_there_are)
{
    assert_int_equal(visits_of_an_event(50), 1);
    assert_int_equal(visits_of_an_event(5000), 1);
}

TEST(cacher_watch, watchers_that_do_not_read_cost_the_others_nothing)
{
    enum { N = 5000, STUCK = N / 10, EVENTS = 40 };
    struct fake_watch *watches = cor_calloc(N, sizeof(*watches));
    struct cor_cacher_reader_stats before, after;

    fake_open(&f, 0);
    for (size_t i = 0; i < N; i++)
        open_from(&watches[i], f.rev, "");
    fake_settle(&f);
    for (size_t i = 0; i < STUCK; i++)
        cor_watch_pause(watches[i].watch);
    fake_put(&f, "ns", "p", "a", NULL);
    fake_settle(&f);
    assert_int_equal(stats().lagging, STUCK);
    before = stats();
    for (int i = 0; i < EVENTS; i++) {
        fake_put(&f, "ns", "p", i % 2 ? "a" : "b", NULL);
        fake_settle(&f);
    }
    after = stats();
    assert_int_equal(after.visits - before.visits, (N - STUCK) * EVENTS);
    assert_int_equal(after.deliveries - before.deliveries, (N - STUCK) * EVENTS);
    assert_int_equal(after.walked, before.walked);
    for (size_t i = 0; i < STUCK; i++)
        cor_watch_resume(watches[i].watch);
    fake_settle(&f);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(watches[i].n, EVENTS + 1);
        assert_int_equal(watches[i].last, f.rev);
        fake_watch_close(&watches[i]);
    }
    fake_close(&f);
    cor_free(watches);
}

/* Who was called, in order. */
static const void *calls[16];
static size_t ncalls;

static void note_call(void *arg, const struct cor_reader_event *event)
{
    assert_true(ncalls < COR_ARRAY_LEN(calls));
    calls[ncalls++] = arg;
}

static void open_noted(struct fake_watch *w, const char *fields)
{
    struct cor_reader_watch_opts opts = fake_watch_opts(w, rv(f.rev), fields);

    opts.on_event = note_call;
    fake_watch_open(&f, w, "/pods", &opts);
}

TEST(cacher_watch, events_that_come_together_reach_each_watcher_in_a_row)
{
    struct fake_watch a, b, c;
    const void *want[] = {&a, &a, &a, &b, &b, &b, &c, &c};

    fake_open(&f, 0);
    ncalls = 0;
    open_noted(&a, "");
    open_noted(&b, "");
    open_noted(&c, "spec.nodeName=n");
    fake_settle(&f);
    fake_put(&f, "ns", "p", "n", "1");
    fake_put(&f, "ns", "q", "other", "2");
    fake_put(&f, "ns", "p", "n", "3");
    fake_settle(&f);
    assert_int_equal(ncalls, COR_ARRAY_LEN(want));
    /* Which of the buckets comes first is not said. */
    if (calls[0] == &c)
        assert_memory_equal(&calls[2], want, 6 * sizeof(want[0]));
    else
        assert_memory_equal(calls, want, sizeof(want));
    fake_watch_close(&a);
    fake_watch_close(&b);
    fake_watch_close(&c);
    fake_close(&f);
}

TEST(cacher_watch, a_lagging_watcher_walks_its_own_events_only)
{
    struct fake_watch b;
    struct cor_cacher_reader_stats before;

    fake_open(&f, 0);
    open_from(&b, f.rev, "spec.nodeName=node-b");
    fake_settle(&f);
    cor_watch_pause(b.watch);
    fake_put(&f, "ns", "b0", "node-b", NULL);
    for (int i = 0; i < 3000; i++) {
        fake_put(&f, "ns", "a", "node-a", i % 2 ? "x" : "y");
        if (i % 1000 == 0)
            fake_put(&f, "ns", i ? "b2" : "b1", "node-b", i > 1000 ? "x" : "y");
    }
    fake_settle(&f);
    assert_int_equal(stats().lagging, 1);
    before = stats();
    cor_watch_resume(b.watch);
    fake_settle(&f);
    assert_int_equal(b.n, 4);
    assert_int_equal(stats().walked - before.walked, 4);
    assert_int_equal(stats().idle, 1);
    fake_watch_close(&b);
    fake_close(&f);
}

TEST(cacher_watch, what_is_kept_for_a_lagging_watcher_counts_as_history)
{
    enum { EVENTS = 500 };
    struct fake_watch a;
    size_t with;

    fake_open(&f, 0);
    open_from(&a, f.rev, "spec.nodeName=node-a");
    fake_settle(&f);
    cor_watch_pause(a.watch);
    for (int i = 0; i < EVENTS; i++)
        fake_put(&f, "ns", "p", "node-a", NULL);
    fake_settle(&f);
    assert_int_equal(stats().lagging, 1);
    with = cor_cachers_stats(f.cachers).bytes;
    fake_watch_close(&a);
    assert_true(cor_cachers_stats(f.cachers).bytes + EVENTS * sizeof(uint64_t) <= with);
    fake_close(&f);
}

TEST(cacher_watch, a_lagging_watcher_whose_event_was_evicted_ends_plainly)
{
    struct fake_watch slow, fast;
    char filler[1001];

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 1u << 20);
    open_from(&slow, f.rev, "");
    open_from(&fast, f.rev, "");
    fake_settle(&f);
    cor_watch_pause(slow.watch);
    for (int i = 0; i < 3000; i++) {
        filler[0] = i % 2 ? 'a' : 'b';
        fake_put(&f, "ns", "p", "a", filler);
        cor_clock_manual_advance(&f.clock, 1);
        fake_settle(&f);
    }
    assert_int_equal(slow.n, 0);
    assert_int_equal(stats().evicted, 1);
    /* Evictions were put off for its sake first, but only as long as the time budget lasted. */
    assert_true(cor_cachers_stats(f.cachers).put_off > 0);
    assert_true(cor_cachers_stats(f.cachers).bytes <= (1u << 20) + 200 * 1500);
    cor_watch_resume(slow.watch);
    fake_settle(&f);
    assert_true(slow.ended);
    assert_int_equal(slow.n, 0);
    assert_false(fast.ended);
    assert_int_equal(fast.n, 3000);
    fake_watch_close(&slow);
    fake_watch_close(&fast);
    fake_close(&f);
}

TEST(cacher_watch, events_leave_after_75_s_but_for_the_last_hundred)
{
    struct fake_watch w;

    fake_open(&f, 0);
    for (int i = 0; i < 1000; i++)
        fake_put(&f, "ns", "p", i % 2 ? "a" : "b", NULL);
    cor_clock_manual_advance(&f.clock, 74000);
    fake_put(&f, "ns", "p", "c", NULL);
    f.compact_rev = f.rev; /* no history to extend the window by */
    open_from(&w, 2, "");
    fake_settle(&f);
    assert_int_equal(w.n, 1000);
    fake_watch_close(&w);
    cor_clock_manual_advance(&f.clock, 2000);
    fake_put(&f, "ns", "p", "d", NULL);
    open_from(&w, 2, "");
    fake_settle(&f);
    assert_int_equal(w.error, 410);
    fake_watch_close(&w);
    open_from(&w, f.rev - 100, "");
    fake_settle(&f);
    assert_int_equal(w.n, 100);
    fake_watch_close(&w);
    fake_close(&f);
}

/* TestEmptyWatchEventCache, TestMarker */
TEST(cacher_watch, from_before_the_window_is_410_with_the_oldest_revision)
{
    struct fake_watch w;

    fake_open(&f, 0);
    fake_put(&f, "ns", "p", "a", NULL);
    fake_break(&f);
    f.compact_rev = f.rev;
    assert_true(cor_loop_run_until(f.loop, (bool (*)(void *))cor_cacher_is_ready, f.cacher,
                                   FAKE_TIMEOUT_MS));
    open_from(&w, f.rev - 1, "");
    fake_settle(&f);
    assert_int_equal(w.error, 410);
    assert_string_equal(w.message, "too old resource version: 1 (2)");
    fake_watch_close(&w);
    open_from(&w, f.rev + 1, "");
    fake_settle(&f);
    fake_put(&f, "ns", "p", "b", NULL);
    fake_settle(&f);
    assert_int_equal(w.n, 0);
    fake_put(&f, "ns", "p", "c", NULL);
    fake_settle(&f);
    assert_int_equal(w.n, 1);
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(cacher_watch, a_broken_feed_ends_watchers_plainly_and_reads_are_told_to_retry)
{
    struct cor_status status;
    struct fake_watch w, again;
    struct cor_reader_watch_opts opts;

    cor_status_init(&status);
    fake_open(&f, 0);
    open_from(&w, f.rev, "");
    fake_settle(&f);
    fake_break(&f);
    fake_settle(&f);
    assert_true(w.ended);
    opts = fake_watch_opts(&again, "", "");
    assert_int_equal(cor_reader_watch(f.reader, COR_STR("/pods"), &opts, &again.watch, &status),
                     -COR_EBUSY);
    assert_int_equal(status.code, 429);
    assert_int_equal(status.retry_after_s, 1);
    assert_string_equal(cor_status_message(&status),
                        "storage is (re)initializing: the disk is gone");
    fake_put(&f, "ns", "missed", "a", NULL);
    assert_true(cor_loop_run_until(f.loop, (bool (*)(void *))cor_cacher_is_ready, f.cacher,
                                   FAKE_TIMEOUT_MS));
    fake_watch_open(&f, &again, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(again.n, 1);
    fake_watch_close(&again);
    fake_watch_close(&w);
    cor_status_deinit(&status);
    fake_close(&f);
}

TEST(cacher_watch, initial_events_end_in_one_annotated_bookmark_of_the_global_revision)
{
    struct fake_watch w;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    for (int i = 0; i < 600; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        fake_put(&f, "ns", name, "a", NULL);
    }
    fake_bump(&f);
    opts = fake_watch_opts(&w, "", "");
    opts.options.send_initial_events = COR_TRUE;
    opts.options.allow_bookmarks = true;
    fake_watch_open(&f, &w, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(w.n, 600);
    assert_int_equal(w.bookmarks, 1);
    assert_true(w.initial_end);
    assert_int_equal(w.bookmark, f.rev);
    fake_watch_close(&w);
    fake_close(&f);
}

static bool has_bookmark(void *arg)
{
    return ((struct fake_watch *)arg)->bookmarks > 0;
}

/* Until its bookmark is due in so many milliseconds; anew when the machine has stood still for as
 * long. */
static void open_with_bookmark(struct fake_watch *w, uint64_t due_ms)
{
    bool is_late;

    do {
        struct cor_reader_watch_opts opts = fake_watch_opts(w, rv(f.rev), "");

        opts.deadline_ms = cor_loop_now_ms(f.loop) + BOOKMARK_BEFORE_MS + due_ms;
        opts.options.allow_bookmarks = true;
        fake_watch_open(&f, w, "/pods", &opts);
        fake_settle(&f);
        is_late = !cor_timer_is_set(&((struct cacher_watch *)w->watch)->bookmark_timer);
        if (is_late)
            fake_watch_close(w);
    } while (is_late);
    assert_int_equal(w->bookmarks, 0);
}

TEST(cacher_watch, a_bookmark_comes_two_seconds_before_the_deadline_at_the_revision_reached)
{
    struct fake_watch with, without;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    opts = fake_watch_opts(&without, rv(f.rev), "");
    opts.deadline_ms = cor_loop_now_ms(f.loop) + BOOKMARK_BEFORE_MS + 100;
    fake_watch_open(&f, &without, "/pods", &opts);
    open_with_bookmark(&with, 100);
    fake_bump(&f);
    fake_wait(&f, has_bookmark, &with);
    assert_int_equal(with.bookmark, f.rev);
    assert_false(with.initial_end);
    assert_int_equal(without.bookmarks, 0);
    fake_watch_close(&with);
    fake_watch_close(&without);
    fake_close(&f);
}

/* The loop's own place may lie behind a watch: it was read before the watch began, or the loop lost
 * the rest of a revision. A client would go on from the bookmark and see events again. */
TEST(cacher_watch, a_bookmark_never_says_less_than_the_last_event)
{
    struct cacher_reader *reader;
    struct cacher_watch *own;
    struct fake_watch w;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    opts = fake_watch_opts(&w, rv(f.rev), "");
    opts.options.allow_bookmarks = true;
    fake_watch_open(&f, &w, "/pods", &opts);
    fake_settle(&f);
    fake_put(&f, "ns", "p", "a", NULL);
    fake_settle(&f);
    assert_int_equal(w.last, f.rev);
    own = (struct cacher_watch *)w.watch;
    reader = cacher_reader_of(f.reader);
    reader->done_rev = f.rev - 1;
    own->bookmark_due = true;
    cor_cacher_watch_bookmark(own);
    assert_int_equal(w.bookmarks, 0);
    reader->done_rev = f.rev;
    own->bookmark_due = true;
    cor_cacher_watch_bookmark(own);
    assert_int_equal(w.bookmarks, 1);
    assert_int_equal(w.bookmark, f.rev);
    fake_watch_close(&w);
    fake_close(&f);
}

/* TestCacheWatcherHandlesFiltering */
TEST(cacher_watch, a_selector_turns_changes_into_added_modified_and_deleted)
{
    struct fake_watch w;

    fake_open(&f, 0);
    open_from(&w, f.rev, "spec.nodeName=a");
    fake_settle(&f);
#define STEP(change, count, type)                                                                  \
    change;                                                                                        \
    fake_settle(&f);                                                                               \
    assert_int_equal(w.n, count);                                                                  \
    assert_int_equal(w.last_type, type)
    STEP(fake_put(&f, "ns", "p", "b", NULL), 0, 0);
    STEP(fake_put(&f, "ns", "p", "a", NULL), 1, COR_WATCH_ADDED);
    STEP(fake_put(&f, "ns", "p", "a", "x"), 2, COR_WATCH_MODIFIED);
    STEP(fake_put(&f, "ns", "p", "b", "x"), 3, COR_WATCH_DELETED);
    assert_int_equal(w.last, f.rev);
    STEP(fake_delete(&f, "ns", "p"), 3, COR_WATCH_DELETED);
    STEP(fake_put(&f, "ns", "p", "a", "y"), 4, COR_WATCH_ADDED);
    STEP(fake_delete(&f, "ns", "p"), 5, COR_WATCH_DELETED);
    assert_int_equal(w.last, f.rev);
#undef STEP
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(cacher_watch, a_watcher_that_pauses_at_every_event_gets_each_once_and_in_order)
{
    static const char *const fields[] = {"", "spec.nodeName=a", "metadata.name=p"};

    fake_open(&f, 0);
    for (size_t k = 0; k < COR_ARRAY_LEN(fields); k++) {
        struct fake_watch w;
        cor_rev from = f.rev;

        fake_put(&f, "ns", "p", "a", "0");
        open_from(&w, from, fields[k]);
        w.pause_each = true;
        for (int i = 0; i < 300; i++) {
            fake_put(&f, "ns", "p", "a", i % 2 ? "x" : "y");
            fake_put(&f, "ns", "other", "b", i % 2 ? "x" : "y");
            if (i % 3 == 0) {
                cor_rev last = w.last;
                size_t n = w.n;

                cor_watch_resume(w.watch);
                fake_settle(&f);
                assert_int_equal(w.n, n + 1);
                assert_true(w.last > last);
            }
        }
        w.pause_each = false;
        cor_watch_resume(w.watch);
        fake_settle(&f);
        assert_int_equal(w.n, k == 0 ? 601 : 301);
        fake_watch_close(&w);
    }
    fake_close(&f);
}

TEST(cacher_watch, one_that_is_paused_at_once_opens_and_waits)
{
    struct fake_watch w;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    fake_put(&f, "ns", "p", "a", NULL);
    opts = fake_watch_opts(&w, "0", "");
    fake_watch_open(&f, &w, "/pods", &opts);
    cor_watch_pause(w.watch);
    fake_settle(&f);
    assert_int_equal(w.opened, 1);
    assert_int_equal(w.n, 0);
    cor_watch_resume(w.watch);
    fake_settle(&f);
    assert_int_equal(w.n, 1);
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(cacher_watch, opening_survives_every_failed_allocation)
{
    fake_open(&f, 0);
    fake_put(&f, "ns", "p", "a", NULL);
    FOR_EACH_FAILED_ALLOC(n) {
        struct fake_watch w;
        struct cor_reader_watch_opts opts;

        memset(&w, 0, sizeof(w));
        test_fail_alloc(0, false);
        opts = fake_watch_opts(&w, "", "spec.nodeName=a");
        opts.options.send_initial_events = COR_TRUE;
        opts.options.allow_bookmarks = true;
        test_fail_alloc(n, false);
        w.f = &f;
        if (cor_reader_watch(f.reader, COR_STR("/pods"), &opts, &w.watch, NULL) < 0) {
            cor_predicate_deinit(&w.predicate);
            continue;
        }
        fake_settle(&f);
        assert_true((w.n == 1 && w.bookmarks == 1) || w.ended || w.error == 500);
        fake_watch_close(&w);
    }
    fake_close(&f);
}

static bool both_have_bookmarks(void *arg)
{
    struct fake_watch *watches = arg;

    return watches[0].bookmarks > 0 && watches[1].bookmarks > 0;
}

/* Its bookmark is due and is sent after part of a burst was dispatched: fake_engine.c checks that
 * it does not stand before the events. */
TEST(cacher_watch, a_bookmark_within_a_burst_is_not_behind_the_events)
{
    struct fake_watch watches[2];
    cor_rev from;

    fake_open(&f, 0);
    open_with_bookmark(&watches[1], 10);
    cor_watch_pause(watches[1].watch);
    open_with_bookmark(&watches[0], 10);
    fake_wait(&f, has_bookmark, &watches[0]);
    assert_int_equal(watches[1].bookmarks, 0);
    from = f.rev;
    fake_put(&f, "ns", "p", "a", NULL);
    for (int i = 0; i < 200; i++)
        fake_put_two(&f, "ns", "p", "q", i % 2 ? "a" : "b");
    cor_watch_resume(watches[1].watch);
    fake_wait(&f, both_have_bookmarks, watches);
    assert_true(watches[1].n_before_bookmark > 0 && watches[1].n_before_bookmark < 401);
    assert_int_equal(watches[1].bookmark, from + 1 + watches[1].n_before_bookmark / 2);
    fake_settle(&f);
    assert_int_equal(watches[1].n, 401);
    fake_watch_close(&watches[0]);
    fake_watch_close(&watches[1]);
    fake_close(&f);
}

/* The history that the first watch asked for is of a cache that was listed anew meanwhile. */
TEST(cacher_watch, history_that_comes_after_a_relist_is_asked_for_again)
{
    struct fake_watch before, after;
    cor_rev from;

    fake_open(&f, 0);
    from = fake_put(&f, "ns", "p", "a", NULL);
    fake_put(&f, "ns", "p", "b", NULL);
    fake_break(&f);
    assert_true(cor_loop_run_until(f.loop, (bool (*)(void *))cor_cacher_is_ready, f.cacher,
                                   FAKE_TIMEOUT_MS));
    f.hold_next = true;
    open_from(&before, from, "");
    fake_settle(&f);
    assert_non_null(f.held);
    fake_break(&f);
    fake_settle(&f);
    assert_true(before.ended);
    assert_true(cor_loop_run_until(f.loop, (bool (*)(void *))cor_cacher_is_ready, f.cacher,
                                   FAKE_TIMEOUT_MS));
    f.compact_rev = f.rev;
    open_from(&after, from, "");
    fake_settle(&f);
    assert_int_equal(after.opened, 1);
    fake_release(&f);
    fake_settle(&f);
    assert_int_equal(after.error, 410);
    fake_watch_close(&before);
    fake_watch_close(&after);
    fake_close(&f);
}

static void write_again(struct fake_watch *w)
{
    if (w->n < 100)
        fake_put(w->f, "ns", "p", w->n % 2 ? "a" : "b", NULL);
}

struct bystander {
    struct cor_mail mail;
    struct fake_watch *w;
    size_t events_before;
};

static void on_bystander(struct cor_mail *mail)
{
    struct bystander *b = COR_CONTAINER_OF(mail, struct bystander, mail);

    b->events_before = b->w->n;
}

TEST(cacher_watch, a_writer_that_never_rests_leaves_the_loop_its_other_work)
{
    struct fake_watch w;
    struct bystander other = {.mail.on_mail = on_bystander, .w = &w};

    fake_open(&f, 0);
    open_from(&w, f.rev, "");
    w.on_each = write_again;
    fake_settle(&f);
    fake_put(&f, "ns", "p", "a", NULL);
    cor_loop_post_always(f.loop, &other.mail);
    while (w.n < 100)
        fake_settle(&f);
    assert_int_equal(other.events_before, 1);
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(cacher_watch, closing_needs_no_feed)
{
    fake_open(&f, 0);
    for (int i = 0; i < 2000; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        fake_put(&f, "ns", name, "a", NULL);
    }
    f.refuse_feeds = true;
    fake_break(&f);
    fake_settle(&f);
    fake_close(&f);
}

/* Without its feed a cache would never hear of a change. */
TEST(cacher_watch, caches_whose_feed_is_refused_are_not_opened)
{
    struct cor_cachers_opts opts = {.loops = &f.loop, .nloops = 1};
    struct cor_cachers *cachers = NULL;

    fake_open(&f, 0);
    opts.engine = &f.engine;
    f.refuse_feeds = true;
    assert_int_equal(cor_cachers_open(&opts, &cachers), -COR_EBUSY);
    assert_null(cachers);
    f.refuse_feeds = false;
    fake_close(&f);
}

static void note_get(void *arg, const struct cor_store_reply *reply)
{
    assert_int_equal(reply->err, 0);
    *(cor_rev *)arg = reply->object->rev;
}

TEST(cacher_watch, a_reader_that_is_opened_without_memory_reads_or_fails)
{
    struct cor_store_get_opts opts = {.resource_version = COR_STR("0")};
    cor_rev rev;

    fake_open(&f, 0);
    rev = fake_put(&f, "ns", "p", "a", NULL);
    cor_reader_free(f.reader);
    FOR_EACH_FAILED_ALLOC(n) {
        cor_rev got = 0;
        int r = cor_cacher_reader_new(f.cacher, f.store, &f.reader);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        test_fail_alloc(0, false);
        assert_int_equal(
            cor_reader_get(f.reader, COR_STR("/pods/ns/p"), &opts, note_get, &got, NULL), 0);
        fake_settle(&f);
        assert_int_equal(got, rev);
        /* What the cache cannot answer is read from the store. */
        opts.resource_version = COR_STR("");
        got = 0;
        assert_int_equal(
            cor_reader_get(f.reader, COR_STR("/pods/ns/p"), &opts, note_get, &got, NULL), 0);
        fake_settle(&f);
        assert_int_equal(got, rev);
    }
    fake_close(&f);
}

static void wait_until_ready(void)
{
    assert_true(cor_loop_run_until(f.loop, (bool (*)(void *))cor_cacher_is_ready, f.cacher,
                                   FAKE_TIMEOUT_MS));
}

static bool is_held(void *arg)
{
    return ((struct fake *)arg)->held != NULL;
}

static bool is_closed(void *arg)
{
    return *(bool *)arg;
}

static void set_closed(void *arg)
{
    *(bool *)arg = true;
}

/* Closing does not wait for the next round, nor for more than the page under way. */
TEST(cacher_watch, closing_while_a_list_is_read_drops_it)
{
    bool closed = false;

    fake_open(&f, 0);
    for (int i = 0; i < 600; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        fake_put(&f, "ns", name, "a", NULL);
    }
    fake_break(&f);
    f.hold_next = true;
    fake_wait(&f, is_held, &f);
    fake_release(&f);
    cor_reader_free(f.reader);
    f.reader = NULL;
    cor_cacher_close(f.cacher, set_closed, &closed);
    fake_wait(&f, is_closed, &closed);
    f.cacher = NULL;
    fake_close(&f);
}

/* What is written while there is no feed is in no list that was begun before. */
TEST(cacher_watch, a_list_during_which_the_feed_broke_is_not_used)
{
    struct fake_watch w;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    fake_put(&f, "ns", "a", "x", NULL);
    fake_break(&f);
    f.hold_next = true;
    fake_wait(&f, is_held, &f);
    fake_break(&f);
    fake_release(&f);
    fake_put(&f, "ns", "missed", "x", NULL);
    fake_settle(&f);
    assert_false(cor_cacher_is_ready(f.cacher));
    wait_until_ready();
    opts = fake_watch_opts(&w, "0", "");
    fake_watch_open(&f, &w, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(w.n, 2);
    fake_watch_close(&w);
    fake_close(&f);
}

/* What is written while the list is read comes after it, and what is in the list does not come
 * again. */
TEST(cacher_watch, changes_during_a_list_are_applied_once_after_it)
{
    struct fake_watch w;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    fake_put(&f, "ns", "a", "x", NULL);
    fake_break(&f);
    f.hold_next = true;
    fake_wait(&f, is_held, &f);
    fake_put(&f, "ns", "a", "y", NULL);
    fake_release(&f);
    fake_put(&f, "ns", "b", "y", NULL);
    fake_put(&f, "ns", "b", "z", NULL);
    fake_delete(&f, "ns", "a");
    wait_until_ready();
    opts = fake_watch_opts(&w, "0", "");
    fake_watch_open(&f, &w, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(w.n, 1);
    assert_int_equal(w.last, f.rev - 1);
    fake_watch_close(&w);
    open_from(&w, f.rev - 3, "");
    fake_settle(&f);
    assert_int_equal(w.n, 3);
    fake_watch_close(&w);
    fake_close(&f);
}

TEST(cacher_watch, changes_of_one_revision_are_all_delivered_at_it)
{
    struct fake_watch live, later;
    cor_rev from;

    fake_open(&f, 0);
    from = f.rev;
    open_from(&live, from, "");
    fake_settle(&f);
    for (int i = 0; i < 150; i++)
        fake_put_two(&f, "ns", "a", "b", i % 2 ? "x" : "y");
    fake_settle(&f);
    assert_int_equal(live.n, 300);
    assert_int_equal(live.last, f.rev);
    open_from(&later, from + 100, "");
    fake_settle(&f);
    assert_int_equal(later.n, 100);
    fake_watch_close(&live);
    fake_watch_close(&later);
    fake_close(&f);
}

TEST(cacher_watch, history_is_read_once_for_every_list)
{
    struct fake_watch w;
    cor_rev from;

    fake_open(&f, 0);
    from = fake_put(&f, "ns", "a", "x", NULL);
    fake_put(&f, "ns", "a", "y", NULL);
    for (size_t round = 1; round <= 2; round++) {
        fake_break(&f);
        f.compact_rev = f.rev;
        wait_until_ready();
        for (int i = 0; i < 2; i++) {
            open_from(&w, from, "");
            fake_settle(&f);
            assert_int_equal(w.error, 410);
            fake_watch_close(&w);
            assert_int_equal(f.statuses, round);
        }
    }
    fake_close(&f);
}

/* The loop itself was too slow: what it has not dispatched has left. */
TEST(cacher_watch, an_idle_watcher_that_missed_events_ends)
{
    struct fake_watch w;
    char filler[1001];

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 100u << 10);
    open_from(&w, f.rev, "");
    fake_settle(&f);
    for (int i = 0; i < 1000; i++)
        fake_put(&f, "ns", "p", i % 2 ? "a" : "b", filler);
    fake_settle(&f);
    assert_true(w.ended);
    assert_int_equal(w.n, 0);
    fake_watch_close(&w);
    fake_close(&f);
}

/* A watch from a revision that is still to come gets no bookmark before it. */
TEST(cacher_watch, a_bookmark_waits_for_the_revision_asked_for)
{
    struct fake_watch ahead, level;
    struct cor_reader_watch_opts opts;

    fake_open(&f, 0);
    opts = fake_watch_opts(&ahead, rv(f.rev + 10), "");
    opts.deadline_ms = cor_loop_now_ms(f.loop) + BOOKMARK_BEFORE_MS + 10;
    opts.options.allow_bookmarks = true;
    fake_watch_open(&f, &ahead, "/pods", &opts);
    open_with_bookmark(&level, 10);
    fake_wait(&f, has_bookmark, &level);
    fake_settle(&f);
    assert_int_equal(ahead.bookmarks, 0);
    fake_watch_close(&ahead);
    fake_watch_close(&level);
    fake_close(&f);
}

/* Waiting that no lagging watcher needs any more is not charged: the budget is there next time. */
TEST(cacher_watch, the_time_budget_fills_again_when_no_one_lags)
{
    struct fake_watch slow;
    char filler[1001];
    uint64_t put_off;

    memset(filler, 'x', 1000);
    filler[1000] = 0;
    fake_open(&f, 100u << 10);
    for (int round = 0; round < 2; round++) {
        put_off = cor_cachers_stats(f.cachers).put_off;
        open_from(&slow, f.rev, "");
        fake_settle(&f);
        cor_watch_pause(slow.watch);
        for (int i = 0; i < 600 && !slow.ended; i++) {
            fake_put(&f, "ns", "p", i % 2 ? "a" : "b", filler);
            cor_clock_manual_advance(&f.clock, 1);
            fake_settle(&f);
        }
        assert_true(cor_cachers_stats(f.cachers).put_off > put_off + 50);
        fake_watch_close(&slow);
        cor_clock_manual_advance(&f.clock, 10000);
        fake_bump(&f);
    }
    fake_close(&f);
}

TEST(cacher_watch, one_that_has_not_opened_yet_opens_before_it_ends)
{
    struct fake_watch first, late;

    fake_open(&f, 0);
    open_from(&first, f.rev, "");
    fake_settle(&f);
    fake_put(&f, "ns", "p", "a", NULL);
    open_from(&late, f.rev, "");
    fake_break(&f);
    fake_settle(&f);
    assert_true(first.ended);
    assert_int_equal(late.opened, 1);
    assert_true(late.ended);
    fake_watch_close(&first);
    fake_watch_close(&late);
    fake_close(&f);
}

static void on_listed(void *arg, int err, struct cor_status *status,
                      struct cor_list_cursor *take_cursor)
{
    size_t *n = arg;

    assert_int_equal(err, 0);
    for (*n = 0; cor_list_cursor_next(take_cursor); (*n)++)
        ;
    cor_list_cursor_free(take_cursor);
}

TEST(cacher_watch, a_list_that_finds_the_cache_lost_reads_the_store)
{
    struct cor_store_list_opts opts = {.options.recursive = true};
    size_t n = SIZE_MAX;

    fake_open(&f, 0);
    fake_put(&f, "ns", "a", "x", NULL);
    assert_int_equal(cor_reader_list(f.reader, COR_STR("/pods"), &opts, on_listed, &n, NULL), 0);
    fake_break(&f);
    fake_put(&f, "ns", "missed", "x", NULL);
    fake_settle(&f);
    assert_int_equal(n, 2);
    fake_close(&f);
}
