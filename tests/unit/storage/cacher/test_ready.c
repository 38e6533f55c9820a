#include "storage/cacher/ready.h"

#include "storage/cacher/time_budget.h"
#include "test.h"

/* TestCalculateRetryAfterForUnreadyCache */
TEST(ready, retry_after_grows_with_the_downtime)
{
    static const struct {
        uint64_t s;
        int64_t after;
    } rows[] = {{0, 1}, {1, 1}, {10, 1}, {14, 2}, {20, 3}, {30, 6}, {40, 11}, {60, 30}, {3600, 30}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        assert_int_equal(cor_ready_retry_after_s(rows[i].s * 1000), rows[i].after);
}

TEST(ready, every_entry_is_a_new_generation_and_stopped_stays)
{
    struct cor_ready ready;
    struct cor_status status;

    cor_status_init(&status);
    cor_ready_init(&ready, 0);
    assert_int_equal(cor_ready_check(&ready, 0, &status), -COR_EBUSY);
    assert_string_equal(cor_status_message(&status), "storage is (re)initializing");
    cor_ready_set(&ready, 5);
    cor_ready_set(&ready, 6);
    assert_int_equal(ready.generation, 1);
    assert_int_equal(ready.since_ms, 5);
    assert_int_equal(cor_ready_check(&ready, 7, &status), 0);
    cor_ready_fail(&ready, "no disk", 10);
    cor_ready_fail(&ready, "still none", 20);
    assert_int_equal(cor_ready_check(&ready, 20010, &status), -COR_EBUSY);
    assert_string_equal(cor_status_message(&status), "storage is (re)initializing: still none");
    assert_int_equal(status.code, 429);
    assert_int_equal(status.retry_after_s, 3);
    cor_ready_set(&ready, 30);
    assert_int_equal(ready.generation, 2);
    cor_ready_stop(&ready, 40);
    cor_ready_set(&ready, 50);
    cor_ready_fail(&ready, "late", 60);
    assert_int_equal(cor_ready_check(&ready, 70, &status), -COR_EINTERNAL);
    assert_string_equal(cor_status_message(&status), "apiserver cacher is stopped");
    cor_status_deinit(&status);
}

/* TestTimeBudget: 50 ms a second, 100 ms at most. */
TEST(time_budget, is_spent_by_waiting_and_earned_by_resting)
{
    struct cor_time_budget b;

    cor_time_budget_init(&b, 0);
    assert_true(cor_time_budget_wait(&b, 0));
    assert_true(cor_time_budget_wait(&b, 60000));
    assert_true(cor_time_budget_wait(&b, 90000));
    assert_false(cor_time_budget_wait(&b, 110000));
    cor_time_budget_rest(&b, 110000);
    cor_time_budget_rest(&b, 1110000);
    assert_uint_in_range(b.left_us, 50000, 51000);
    cor_time_budget_rest(&b, 100 * 1000000ull);
    assert_int_equal(b.left_us, COR_TIME_BUDGET_MAX_US);
}
