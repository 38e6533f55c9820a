/* Watches: where they begin, their initial state, bookmarks, their end. */
#include <stdio.h>

#include "base/mem.h"
#include "fake_engine.h"
#include "storage/cacher/cache_watch_int.h"

#define BOOKMARK_BEFORE_MS 2000 /* the deadline, as src/storage/cacher/cache_watch.c has it */

static struct fake f;

static const char *rv(cor_rev rev)
{
    static char text[4][24];
    static unsigned turn;
    char *out = text[turn++ % 4];

    snprintf(out, sizeof(text[0]), "%llu", (unsigned long long)rev);
    return out;
}

static void open_from(struct fake_watch *w, cor_rev rev, const char *fields)
{
    struct cor_reader_watch_opts opts = fake_watch_opts(w, rv(rev), fields);

    fake_watch_open(&f, w, "/pods", &opts);
}

/* TestEmptyWatchEventCache, TestMarker */
TEST(cacher_watch, from_before_the_window_is_410_with_the_oldest_revision)
{
    struct fake_watch w;

    fake_open(&f, 0);
    fake_put(&f, "ns", "p", "a", NULL);
    fake_break(&f);
    f.compact_rev = f.rev;
    fake_wait_ready(&f);
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
    fake_wait_ready(&f);
    f.hold_next = true;
    open_from(&before, from, "");
    fake_settle(&f);
    assert_non_null(f.held);
    fake_break(&f);
    fake_settle(&f);
    assert_true(before.ended);
    fake_wait_ready(&f);
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
        fake_wait_ready(&f);
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
