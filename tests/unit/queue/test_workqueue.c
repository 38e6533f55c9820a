/* One thread and a clock that the test moves. The cases are those of client-go's workqueue tests
 * (contract client 2.1, 2.2, 2.4, 2.5). */
#include "base/clock.h"
#include "base/err.h"
#include "coracle/workqueue.h"
#include "queue/workqueue_durations.h"
#include "test.h"

static struct cor_clock_manual clk;
static int ready_calls;

static void on_ready(void *arg)
{
    ready_calls++;
}

static struct cor_workqueue *begin(struct cor_rate_limiter *take_limiter)
{
    struct cor_workqueue *q;
    struct cor_workqueue_opts opts = {COR_WORKQUEUE_OPTS, .take_limiter = take_limiter,
                                      .on_ready = on_ready, .clock = &clk.clock};

    cor_clock_manual_init(&clk, 1000, 0);
    ready_calls = 0;
    assert_int_equal(cor_workqueue_new(&opts, &q), 0);
    return q;
}

/* The key that is ready, or "" and the time to ask again in `at`. */
static uint64_t at;
static const char *get(struct cor_workqueue *q)
{
    const char *key;

    at = 0;
    return cor_workqueue_try_get(q, &key, &at) == 0 ? key : "";
}

static void assert_gets(struct cor_workqueue *q, const char *expected)
{
    const char *key = get(q);

    assert_string_equal(key, expected);
    if (key[0])
        cor_workqueue_done(q, key);
}

/* Contract client 2.1.1 to 2.1.3, 2.1.8. */
TEST(workqueue, hands_out_in_the_order_of_first_adding)
{
    struct cor_workqueue *q = begin(NULL);

    assert_int_equal(cor_workqueue_add(q, "a"), 0);
    assert_int_equal(cor_workqueue_add(q, "b"), 0);
    assert_int_equal(cor_workqueue_add(q, "a"), 0);
    assert_int_equal(cor_workqueue_len(q), 2);
    assert_gets(q, "a");
    assert_gets(q, "b");
    assert_gets(q, "");
    assert_int_equal(at, COR_WORKQUEUE_NEVER);
    assert_int_equal(ready_calls, 2);
    cor_workqueue_free(q);
}

/* Contract client 2.1.5, 2.1.6. */
TEST(workqueue, a_key_added_during_its_work_comes_back_once_after_done)
{
    struct cor_workqueue *q = begin(NULL);
    const char *key;

    cor_workqueue_add(q, "a");
    key = get(q);
    assert_string_equal(key, "a");
    for (int i = 0; i < 10; i++)
        assert_int_equal(cor_workqueue_add(q, "a"), 0);
    assert_int_equal(cor_workqueue_len(q), 0);
    assert_gets(q, "");
    cor_workqueue_add(q, "b");
    assert_int_equal(ready_calls, 2);
    cor_workqueue_done(q, key);
    assert_int_equal(ready_calls, 3);
    assert_int_equal(cor_workqueue_len(q), 2);
    assert_gets(q, "b");
    assert_gets(q, "a");
    assert_gets(q, "");
    cor_workqueue_free(q);
}

/* Contract client 2.1.7. */
TEST(workqueue, done_without_get_is_harmless)
{
    struct cor_workqueue *q = begin(NULL);

    cor_workqueue_done(q, "never");
    cor_workqueue_add(q, "a");
    cor_workqueue_done(q, "a");
    assert_int_equal(cor_workqueue_len(q), 1);
    assert_gets(q, "a");
    assert_gets(q, "");
    cor_workqueue_free(q);
}

/* Contract client 2.1.2, 2.1.4, 2.1.14, 2.2.6. */
TEST(workqueue, shutdown_hands_out_what_is_queued_and_takes_no_more)
{
    struct cor_workqueue *q = begin(NULL);
    const char *key;

    cor_workqueue_add(q, "a");
    cor_workqueue_add_after(q, "late", 10);
    cor_workqueue_shutdown(q);
    assert_true(cor_workqueue_is_shutting_down(q));
    assert_int_equal(cor_workqueue_add(q, "b"), -COR_ECANCELED);
    assert_int_equal(cor_workqueue_add_after(q, "b", 1), -COR_ECANCELED);
    cor_clock_manual_advance(&clk, 100);
    assert_gets(q, "a");
    assert_int_equal(cor_workqueue_try_get(q, &key, &at), -COR_ECANCELED);
    assert_int_equal(cor_workqueue_get(q, &key), -COR_ECANCELED);
    cor_workqueue_free(q);
}

/* Contract client 2.2.7: at once, where client-go's loop notices within ten seconds. */
TEST(workqueue, a_drain_drops_what_is_delayed)
{
    struct cor_workqueue *q = begin(NULL);
    struct cor_workqueue_stats s;

    cor_workqueue_add(q, "a");
    cor_workqueue_add_after(q, "late", 10);
    cor_workqueue_shutdown_with_drain(q);
    cor_workqueue_stats(q, &s);
    assert_int_equal(s.delayed, 0);
    assert_int_equal(cor_workqueue_add_after(q, "later", 10), -COR_ECANCELED);
    cor_clock_manual_advance(&clk, 100);
    assert_gets(q, "a");
    assert_gets(q, "");
    assert_int_equal(at, COR_WORKQUEUE_NEVER);
    cor_workqueue_shutdown(q);
    assert_true(cor_workqueue_is_shutting_down(q));
    cor_workqueue_free(q);
}

/* Contract client 2.1.11: only workers are waited for. */
TEST(workqueue, a_drain_does_not_wait_for_what_is_only_queued)
{
    struct cor_workqueue *q = begin(NULL);
    const char *key;

    cor_workqueue_add(q, "a");
    cor_workqueue_shutdown_with_drain(q);
    assert_int_equal(cor_workqueue_len(q), 1);
    assert_gets(q, "a");
    assert_int_equal(cor_workqueue_get(q, &key), -COR_ECANCELED);
    cor_workqueue_free(q);
}

/* Contract client 2.1.12. */
TEST(workqueue, a_key_that_came_back_before_shutdown_is_delivered_after_it)
{
    struct cor_workqueue *q = begin(NULL);
    const char *key;

    cor_workqueue_add(q, "a");
    key = get(q);
    cor_workqueue_add(q, "a");
    cor_workqueue_shutdown(q);
    cor_workqueue_done(q, key);
    assert_gets(q, "a");
    cor_workqueue_free(q);
}

/* Contract client 2.2.1, 2.2.3. */
TEST(workqueue, a_delayed_key_comes_when_its_time_has)
{
    struct cor_workqueue *q = begin(NULL);

    assert_int_equal(cor_workqueue_add_after(q, "a", 50), 0);
    assert_int_equal(cor_workqueue_len(q), 0);
    assert_gets(q, "");
    assert_int_equal(at, 1050);
    cor_clock_manual_advance(&clk, 49);
    assert_gets(q, "");
    cor_clock_manual_advance(&clk, 1);
    assert_gets(q, "a");
    cor_clock_manual_advance(&clk, 10000);
    assert_gets(q, "");
    assert_int_equal(cor_workqueue_add_after(q, "now", 0), 0);
    assert_gets(q, "now");
    cor_workqueue_free(q);
}

/* Contract client 2.2.2. */
TEST(workqueue, of_two_delays_the_earlier_counts)
{
    struct cor_workqueue *q = begin(NULL);

    cor_workqueue_add_after(q, "a", 50);
    cor_workqueue_add_after(q, "a", 70);
    cor_clock_manual_advance(&clk, 60);
    assert_gets(q, "a");
    cor_clock_manual_advance(&clk, 20);
    assert_gets(q, "");
    cor_workqueue_add_after(q, "a", 50);
    ready_calls = 0;
    cor_workqueue_add_after(q, "a", 30);
    assert_int_equal(ready_calls, 1);
    cor_clock_manual_advance(&clk, 40);
    assert_gets(q, "a");
    cor_clock_manual_advance(&clk, 20);
    assert_gets(q, "");
    cor_workqueue_free(q);
}

/* Contract client 2.2.3. */
TEST(workqueue, delayed_keys_come_in_the_order_of_their_times)
{
    struct cor_workqueue *q = begin(NULL);

    cor_workqueue_add_after(q, "third", 1000);
    cor_workqueue_add_after(q, "second", 500);
    cor_workqueue_add_after(q, "first", 300);
    cor_clock_manual_advance(&clk, 2000);
    assert_gets(q, "first");
    assert_gets(q, "second");
    assert_gets(q, "third");
    cor_workqueue_free(q);
}

/* Contract client 2.2.4. */
TEST(workqueue, an_add_does_not_cancel_a_delay)
{
    struct cor_workqueue *q = begin(NULL);

    cor_workqueue_add_after(q, "a", 50);
    cor_workqueue_add(q, "a");
    assert_gets(q, "a");
    cor_clock_manual_advance(&clk, 50);
    assert_gets(q, "a");
    cor_workqueue_free(q);
}

/* Contract client 2.4.1. */
TEST(workqueue, rate_limited_keys_wait_longer_until_forgotten)
{
    struct cor_workqueue *q = begin(cor_rate_limiter_new_exponential(1, 1000 * 1000));

    cor_workqueue_add_rate_limited(q, "one");
    assert_gets(q, "");
    assert_int_equal(at, 1001);
    cor_workqueue_add_rate_limited(q, "one");
    assert_int_equal(cor_workqueue_requeues(q, "one"), 2);
    cor_clock_manual_advance(&clk, 1);
    assert_gets(q, "one");
    cor_workqueue_add_rate_limited(q, "one");
    get(q);
    assert_int_equal(at, 1001 + 4);
    cor_workqueue_forget(q, "one");
    assert_int_equal(cor_workqueue_requeues(q, "one"), 0);
    cor_clock_manual_advance(&clk, 4);
    assert_gets(q, "one");
    cor_workqueue_add_rate_limited(q, "one");
    get(q);
    assert_int_equal(at, 1005 + 1);
    cor_workqueue_free(q);
}

/* Contract client 2.4.2: done forgets nothing, forget does. */
TEST(workqueue, failures_of_a_key_are_remembered_until_it_is_forgotten)
{
    struct cor_workqueue *q = begin(cor_rate_limiter_new_exponential(1, 1000 * 1000));
    size_t live = test_live_allocs();

    cor_workqueue_add_rate_limited(q, "one");
    cor_clock_manual_advance(&clk, 1);
    assert_gets(q, "one");
    assert_gets(q, "");
    assert_int_equal(cor_workqueue_requeues(q, "one"), 1);
    cor_workqueue_add(q, "one");
    assert_gets(q, "one");
    assert_int_equal(cor_workqueue_requeues(q, "one"), 1);
    assert_true(test_live_allocs() > live);
    cor_workqueue_forget(q, "one");
    assert_int_equal(cor_workqueue_requeues(q, "one"), 0);
    cor_workqueue_free(q);
}

TEST(workqueue, has_a_maximum_of_keys)
{
    struct cor_workqueue *q;
    struct cor_workqueue_opts opts = {COR_WORKQUEUE_OPTS, .keys_max = 2};
    const char *key;

    assert_int_equal(cor_workqueue_new(&opts, &q), 0);
    assert_int_equal(cor_workqueue_add(q, "a"), 0);
    assert_int_equal(cor_workqueue_add_after(q, "b", 60000), 0);
    assert_int_equal(cor_workqueue_add(q, "c"), -COR_EBUSY);
    assert_int_equal(cor_workqueue_add(q, "b"), 0);
    assert_int_equal(cor_workqueue_get(q, &key), 0);
    cor_workqueue_done(q, key);
    assert_int_equal(cor_workqueue_add(q, "c"), 0);
    cor_workqueue_free(q);
}

/* Contract client 2.5.1 to 2.5.3. */
TEST(workqueue, counts_its_work)
{
    struct cor_workqueue *q = begin(NULL);
    struct cor_workqueue_stats s;
    const char *key;

    cor_workqueue_add(q, "a");
    cor_clock_manual_advance_us(&clk, 50);
    cor_workqueue_add(q, "a");
    cor_workqueue_stats(q, &s);
    assert_int_equal(s.adds, 1);
    assert_int_equal(s.depth, 1);
    key = get(q);
    cor_workqueue_add(q, "a");
    cor_clock_manual_advance_us(&clk, 25);
    cor_workqueue_stats(q, &s);
    assert_int_equal(s.adds, 2);
    assert_int_equal(s.depth, 1);
    assert_int_equal(s.processing, 1);
    assert_int_equal(s.queue_us, 50);
    assert_int_equal(s.unfinished_us, 25);
    assert_int_equal(s.longest_run_us, 25);
    cor_workqueue_done(q, key);
    cor_workqueue_add_after(q, "b", 5);
    cor_workqueue_stats(q, &s);
    assert_int_equal(s.done, 1);
    assert_int_equal(s.work_us, 25);
    assert_int_equal(s.unfinished_us, 0);
    assert_int_equal(s.retries, 1);
    assert_int_equal(s.delayed, 1);
    cor_workqueue_free(q);
}

/* One key waits for `wait_us`, and is worked on for `work_us`. */
static void work_once(struct cor_workqueue *q, uint64_t wait_us, uint64_t work_us)
{
    const char *key;

    cor_workqueue_add(q, "a");
    cor_clock_manual_advance_us(&clk, wait_us);
    key = get(q);
    cor_clock_manual_advance_us(&clk, work_us);
    cor_workqueue_done(q, key);
}

/* The bounds are client-go's: 10 ns, and eleven times ten. */
TEST(workqueue, counts_durations_by_powers_of_ten)
{
    static const uint64_t queued[COR_WORKQUEUE_DECADES + 1] = {
        [0] = 1, [2] = 1, [3] = 2, [11] = 1, [12] = 1};
    static const uint64_t worked[COR_WORKQUEUE_DECADES + 1] = {[0] = 3, [5] = 1, [6] = 1, [12] = 1};
    struct cor_workqueue *q = begin(NULL);
    struct cor_workqueue_durations d;

    work_once(q, 0, 0);
    work_once(q, 1, 0);
    work_once(q, 2, 0);
    work_once(q, 10, 1000);
    work_once(q, UINT64_C(1000000000), 1001);
    work_once(q, UINT64_C(1000000001), UINT64_C(5000000000));
    cor_workqueue_durations(q, &d);
    assert_memory_equal(d.queued, queued, sizeof(queued));
    assert_memory_equal(d.worked, worked, sizeof(worked));
    cor_workqueue_free(q);
}

TEST(workqueue, loses_no_queued_key_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_workqueue *q;
        struct cor_workqueue_opts opts = {COR_WORKQUEUE_OPTS, .clock = &clk.clock};
        const char *expected;
        int added;

        cor_clock_manual_init(&clk, 1000, 0);
        if (cor_workqueue_new(&opts, &q) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        added = cor_workqueue_add(q, "a");
        if (added < 0)
            assert_int_equal(added, -COR_ENOMEM);
        expected = added == 0 ? "a" : "";
        assert_true(cor_workqueue_add_after(q, "b", 5) == 0 || test_alloc_failed());
        assert_true(cor_workqueue_add_rate_limited(q, "c") == 0 || test_alloc_failed());
        assert_gets(q, expected);
        cor_workqueue_free(q);
    }
}
