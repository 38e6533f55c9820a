/* Caches that are filled, lose their feed, and close. */
#include <stdio.h>

#include "base/mem.h"
#include "busy_thread.h"
#include "fake_engine.h"
#include "storage/cacher/cache_watch_int.h"

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

TEST(cacher_fill, a_broken_feed_ends_watchers_plainly_and_reads_are_told_to_retry)
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
    fake_wait_ready(&f);
    fake_watch_open(&f, &again, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(again.n, 1);
    fake_watch_close(&again);
    fake_watch_close(&w);
    cor_status_deinit(&status);
    fake_close(&f);
}

static void count_fill(void *arg)
{
    assert_true(cor_cacher_is_ready(f.cacher));
    ++*(int *)arg;
}

static bool has_one(void *arg)
{
    return *(const int *)arg == 1;
}

static bool has_two(void *arg)
{
    return *(const int *)arg == 2;
}

TEST(cacher_fill, its_owner_is_told_when_it_can_be_read_and_not_after_a_close)
{
    int fills = 0;
    struct cor_cacher_opts opts = {.namespaced = true, .on_filled = count_fill, .arg = &fills};

    fake_open(&f, 0);
    fake_stop_cacher(&f);
    opts.cachers = f.cachers;
    opts.store = f.store;
    assert_int_equal(cor_cacher_open(&opts, &f.cacher, NULL), 0);
    fake_wait(&f, has_one, &fills);
    fake_break(&f); /* and filled again */
    fake_wait(&f, has_two, &fills);
    fake_stop_cacher(&f);
    assert_int_equal(cor_cacher_open(&opts, &f.cacher, NULL), 0);
    fake_stop_cacher(&f);
    assert_int_equal(fills, 2);
    fake_close(&f);
}

TEST(cacher_fill, closing_needs_no_feed)
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
TEST(cacher_fill, caches_whose_feed_is_refused_are_not_opened)
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

TEST(cacher_fill, a_reader_that_is_opened_without_memory_reads_or_fails)
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
TEST(cacher_fill, closing_while_a_list_is_read_drops_it)
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
TEST(cacher_fill, a_list_during_which_the_feed_broke_is_not_used)
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
    fake_wait_ready(&f);
    opts = fake_watch_opts(&w, "0", "");
    fake_watch_open(&f, &w, "/pods", &opts);
    fake_settle(&f);
    assert_int_equal(w.n, 2);
    fake_watch_close(&w);
    fake_close(&f);
}

/* What is written while the list is read comes after it, and what is in the list does not come
 * again. */
TEST(cacher_fill, changes_during_a_list_are_applied_once_after_it)
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
    fake_wait_ready(&f);
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

static void on_listed(void *arg, int err, struct cor_status *status,
                      struct cor_list_cursor *take_cursor)
{
    size_t *n = arg;

    assert_int_equal(err, 0);
    for (*n = 0; cor_list_cursor_next(take_cursor); (*n)++)
        ;
    cor_list_cursor_free(take_cursor);
}

TEST(cacher_fill, a_list_that_finds_the_cache_lost_reads_the_store)
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

/* Values that are older than the schema: threads bring them into its form. */

#define OLD_PODS 700 /* three parts of a page */

static struct cor_offload *open_old(void)
{
    static const struct cor_offload_opts opts = {
        .nthreads = 1, .jobs_max = 1, .bytes_max = 64u << 20};
    struct cor_offload *offload;

    assert_int_equal(cor_offload_new(&opts, &offload), 0);
    fake_open_old(&f, offload);
    fake_put_many(&f, "ns", OLD_PODS, "a");
    return offload;
}

static void close_old(struct cor_offload *offload)
{
    fake_close(&f);
    cor_offload_free(offload);
}

static uint64_t jobs(struct cor_offload *offload)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(offload, &stats);
    return stats.jobs;
}

static bool is_filled(void *arg)
{
    return cor_cacher_is_ready(arg);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

struct old_list {
    bool done;
    int err;
    size_t n;
};

/* Every pod is there once, in order, and has the defaults of its kind. */
static void on_old_listed(void *arg, int err, struct cor_status *status,
                          struct cor_list_cursor *take_cursor)
{
    COR_CLEANUP(cor_list_cursor_freep) struct cor_list_cursor *cursor = take_cursor;
    struct old_list *listed = arg;
    struct cor_object *object;

    listed->done = true;
    listed->err = err;
    while (err == 0 && (object = cor_list_cursor_next(cursor))) {
        char name[24];

        snprintf(name, sizeof(name), "p%03zu", listed->n++);
        assert_true(cor_str_eqz(cor_object_name(object), name));
        assert_non_null(memmem(cor_object_json(object).p, cor_object_json(object).n,
                               "\"restartPolicy\":\"Always\"", 24));
    }
}

static void check_old_list(int err, size_t n)
{
    struct cor_store_list_opts opts = {
        .options = {.recursive = true, .resource_version = COR_STR("0")}};
    struct old_list listed = {.done = false};

    assert_int_equal(
        cor_reader_list(f.reader, COR_STR("/pods"), &opts, on_old_listed, &listed, NULL), 0);
    assert_true(cor_loop_run_until(f.loop, is_true, &listed.done, FAKE_TIMEOUT_MS));
    assert_int_equal(listed.err, err);
    assert_int_equal(listed.n, n);
}

TEST(cacher_fill, old_values_are_decoded_by_a_thread_in_bounded_parts_and_in_order)
{
    struct cor_offload *offload = open_old();
    struct busy_thread busy;
    uint64_t before = jobs(offload);

    fake_restart(&f);
    assert_int_equal(jobs(offload) - before, 3);
    check_old_list(0, OLD_PODS);
    /* While the thread is busy the loop goes on, and the cache is not ready. */
    fake_stop_cacher(&f);
    busy_thread_begin(&busy, offload, f.loop, 0);
    fake_start_cacher(&f);
    fake_settle(&f);
    fake_settle(&f);
    assert_false(cor_cacher_is_ready(f.cacher));
    busy_thread_end(&busy);
    assert_true(cor_loop_run_until(f.loop, is_filled, f.cacher, FAKE_TIMEOUT_MS));
    check_old_list(0, OLD_PODS);
    close_old(offload);
}

/* What cannot be decoded on a thread is set aside as on the loop. */
TEST(cacher_fill, old_values_that_cannot_be_decoded_are_set_aside)
{
    struct cor_offload *offload = open_old();

    f.junk = "p300";
    fake_put(&f, "ns", "p300", "a", NULL);
    fake_restart(&f);
    assert_true(cor_cacher_is_ready(f.cacher));
    check_old_list(-COR_EINTERNAL, 0);
    f.junk = NULL;
    close_old(offload);
}

/* A cacher that closes takes back what has not begun, and waits for what has. */
TEST(cacher_fill, old_values_hold_up_no_close)
{
    struct cor_offload *offload = open_old();
    struct busy_thread busy, second;

    fake_stop_cacher(&f);
    busy_thread_begin(&busy, offload, f.loop, 0);
    fake_start_cacher(&f);
    fake_settle(&f);
    fake_settle(&f);
    /* The part is in the queue of the threads, and comes back without having been decoded. */
    busy_thread_let_go(&busy);
    fake_stop_cacher(&f);
    busy_thread_join(&busy);
    /* The threads have no place for the part: nothing has to come back. */
    busy_thread_begin(&busy, offload, f.loop, 0);
    busy_thread_queue(&second, offload, f.loop, 0);
    fake_start_cacher(&f);
    fake_settle(&f);
    fake_settle(&f);
    fake_stop_cacher(&f);
    busy_thread_end(&busy);
    busy_thread_end(&second);
    close_old(offload);
}

/* When other work has filled the threads, the next tick tries again. */
TEST(cacher_fill, old_values_wait_for_a_place_among_the_threads)
{
    struct cor_offload *offload = open_old();
    struct busy_thread busy, second;

    fake_stop_cacher(&f);
    busy_thread_begin(&busy, offload, f.loop, 0);
    busy_thread_queue(&second, offload, f.loop, 0);
    fake_start_cacher(&f);
    fake_settle(&f);
    fake_settle(&f);
    busy_thread_end(&busy);
    busy_thread_end(&second);
    assert_true(cor_loop_run_until(f.loop, is_filled, f.cacher, FAKE_TIMEOUT_MS));
    check_old_list(0, OLD_PODS);
    close_old(offload);
}

static bool is_ready_or_failing(void *arg)
{
    char why[COR_READY_MESSAGE_MAX];

    return cor_cacher_is_ready(arg) || cor_cacher_is_failing(arg, why);
}

/* A fill without memory fails as a whole; the next attempt is the reflector's. */
TEST(cacher_fill, old_values_survive_every_failed_allocation)
{
    struct cor_offload *offload = open_old();
    struct cor_cacher_opts opts = {.cachers = f.cachers, .store = f.store, .namespaced = true};

    fake_stop_cacher(&f);
    FOR_EACH_FAILED_ALLOC(n) {
        if (cor_cacher_open(&opts, &f.cacher, NULL) < 0) {
            f.cacher = NULL;
            continue;
        }
        assert_true(cor_loop_run_until(f.loop, is_ready_or_failing, f.cacher, FAKE_TIMEOUT_MS));
        test_fail_alloc(0, false);
        assert_int_equal(cor_cacher_reader_new(f.cacher, f.store, &f.reader), 0);
        if (cor_cacher_is_ready(f.cacher))
            check_old_list(0, OLD_PODS);
        fake_stop_cacher(&f);
    }
    close_old(offload);
}
