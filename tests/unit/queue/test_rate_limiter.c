/* The numbers are those of client-go's default_rate_limiters (contract client 2.3). */
#include "coracle/rate_limiter.h"
#include "test.h"

#include <stdio.h>

static uint64_t when(struct cor_rate_limiter *l, const char *key)
{
    return cor_rate_limiter_when(l, key, 0);
}

/* Contract client 2.3.2. */
TEST(rate_limiter, exponential_doubles_per_key_until_forgotten)
{
    struct cor_rate_limiter *l = cor_rate_limiter_new_exponential(1, 1000 * 1000);
    static const uint64_t expected[] = {1, 2, 4, 8, 16};

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(when(l, "one"), expected[i]);
    assert_int_equal(cor_rate_limiter_requeues(l, "one"), 5);
    assert_int_equal(when(l, "two"), 1);
    assert_int_equal(when(l, "two"), 2);
    assert_int_equal(cor_rate_limiter_requeues(l, "two"), 2);
    cor_rate_limiter_forget(l, "one");
    assert_int_equal(cor_rate_limiter_requeues(l, "one"), 0);
    assert_int_equal(when(l, "one"), 1);
    cor_rate_limiter_forget(l, "never seen");
    cor_rate_limiter_free(l);
}

/* Contract client 2.3.2, 2.3.3: the second is client-go's DefaultItemBased. */
TEST(rate_limiter, exponential_stops_at_its_maximum_however_often_it_fails)
{
    struct cor_rate_limiter *item_based = cor_rate_limiter_new_exponential(1, 1000 * 1000);
    struct cor_rate_limiter *l = cor_rate_limiter_new_exponential(1, 1000);

    for (int i = 0; i < 5; i++)
        when(l, "one");
    assert_int_equal(when(l, "one"), 32);
    for (int i = 0; i < 1000; i++)
        when(l, "one");
    assert_int_equal(when(l, "one"), 1000);
    for (int i = 0; i < 19; i++)
        when(item_based, "one");
    assert_int_equal(when(item_based, "one"), 524288);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(when(item_based, "one"), 1000 * 1000);
    cor_rate_limiter_free(l);
    cor_rate_limiter_free(item_based);
}

TEST(rate_limiter, exponential_doubles_as_long_as_the_maximum_is_not_reached)
{
    struct cor_rate_limiter *l = cor_rate_limiter_new_exponential(5, 23);
    static const uint64_t expected[] = {5, 10, 20, 23, 23};

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(when(l, "one"), expected[i]);
    cor_rate_limiter_free(l);
}

/* Contract client 2.3.4. */
TEST(rate_limiter, fast_slow_is_fast_first)
{
    struct cor_rate_limiter *l = cor_rate_limiter_new_fast_slow(5, 10000, 3);

    for (int i = 0; i < 3; i++)
        assert_int_equal(when(l, "one"), 5);
    assert_int_equal(when(l, "one"), 10000);
    assert_int_equal(when(l, "two"), 5);
    cor_rate_limiter_forget(l, "one");
    assert_int_equal(when(l, "one"), 5);
    cor_rate_limiter_free(l);
}

/* Contract client 2.3.5. */
TEST(rate_limiter, bucket_takes_tokens_of_the_future)
{
    struct cor_rate_limiter *l = cor_rate_limiter_new_bucket(10, 2);

    assert_int_equal(cor_rate_limiter_when(l, "a", 5000), 0);
    assert_int_equal(cor_rate_limiter_when(l, "b", 5000), 0);
    assert_int_equal(cor_rate_limiter_when(l, "c", 5000), 100);
    assert_int_equal(cor_rate_limiter_when(l, "a", 5000), 200);
    assert_int_equal(cor_rate_limiter_when(l, "a", 5300), 0);
    assert_int_equal(cor_rate_limiter_requeues(l, "a"), 0);
    cor_rate_limiter_free(l);
}

/* Contract client 2.3.6. */
TEST(rate_limiter, max_of_asks_all_and_takes_the_longest)
{
    struct cor_rate_limiter *l =
        cor_rate_limiter_new_max_of(cor_rate_limiter_new_fast_slow(5, 3000, 3),
                                    cor_rate_limiter_new_exponential(1, 1000 * 1000));
    static const uint64_t expected[] = {5, 5, 5, 3000, 3000};

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(when(l, "one"), expected[i]);
    assert_int_equal(cor_rate_limiter_requeues(l, "one"), 5);
    cor_rate_limiter_forget(l, "one");
    assert_int_equal(when(l, "one"), 5);
    cor_rate_limiter_free(l);
}

/* Contract client 2.3.7: client-go's TestWithMaxWaitRateLimiter. */
TEST(rate_limiter, capped_is_never_longer_than_its_maximum_and_counts_as_before)
{
    struct cor_rate_limiter *l =
        cor_rate_limiter_new_capped(cor_rate_limiter_new_fast_slow(5, 1000 * 1000, 3), 500);
    static const uint64_t expected[] = {5, 5, 5, 500, 500};

    for (size_t i = 0; i < 5; i++)
        assert_int_equal(when(l, "one"), expected[i]);
    assert_int_equal(cor_rate_limiter_requeues(l, "one"), 5);
    assert_int_equal(cor_rate_limiter_requeues(l, "two"), 0);
    cor_rate_limiter_forget(l, "one");
    assert_int_equal(cor_rate_limiter_requeues(l, "one"), 0);
    assert_int_equal(when(l, "one"), 5);
    cor_rate_limiter_free(l);
}

/* Contract client 2.3.8. */
TEST(rate_limiter, the_controllers_begins_at_5_ms_and_holds_crowds_to_10_a_second)
{
    struct cor_rate_limiter *l = cor_rate_limiter_new_controller();
    char key[16];

    for (int i = 0; i < 100; i++) {
        snprintf(key, sizeof(key), "key-%d", i);
        assert_int_equal(when(l, key), 5);
    }
    assert_int_equal(when(l, "crowd"), 100);
    assert_int_equal(when(l, "crowd"), 200);
    cor_rate_limiter_free(l);
}

TEST(rate_limiter, a_failure_that_cannot_be_remembered_counts_as_none)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_rate_limiter *l =
            cor_rate_limiter_new_capped(cor_rate_limiter_new_controller(), 1000);

        if (l)
            assert_int_equal(when(l, "one"), 5);
        else
            assert_true(test_alloc_failed());
        cor_rate_limiter_free(l);
    }
}
