#include "base/err.h"
#include "base/token_bucket.h"
#include "test.h"

/* Contract client 4.13.4. */
TEST(token_bucket, starts_full_and_gives_its_burst_at_once)
{
    struct cor_token_bucket b;

    cor_token_bucket_init(&b, 10, 3, 1000);
    for (int i = 0; i < 3; i++)
        assert_true(cor_token_bucket_try(&b, 1000));
    assert_false(cor_token_bucket_try(&b, 1000));
}

TEST(token_bucket, refills_at_its_rate_up_to_its_burst)
{
    struct cor_token_bucket b;

    cor_token_bucket_init(&b, 10, 2, 0);
    assert_true(cor_token_bucket_try(&b, 0));
    assert_true(cor_token_bucket_try(&b, 0));
    assert_false(cor_token_bucket_try(&b, 99));
    assert_true(cor_token_bucket_try(&b, 100));
    assert_true(cor_token_bucket_try(&b, 100000));
    assert_true(cor_token_bucket_try(&b, 100000));
    assert_false(cor_token_bucket_try(&b, 100000));
}

/* The bucket of client-go's default controller rate limiter: 10 a second, burst 100. */
TEST(token_bucket, reserving_beyond_the_burst_waits_longer_each_time)
{
    struct cor_token_bucket b;
    uint64_t wait;

    cor_token_bucket_init(&b, 10, 100, 0);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(cor_token_bucket_reserve(&b, 0, UINT64_MAX, &wait), 0);
        assert_int_equal(wait, 0);
    }
    for (uint64_t i = 1; i <= 20; i++) {
        assert_int_equal(cor_token_bucket_reserve(&b, 0, UINT64_MAX, &wait), 0);
        assert_int_equal(wait, 100 * i);
    }
    assert_int_equal(cor_token_bucket_reserve(&b, 2000, UINT64_MAX, &wait), 0);
    assert_int_equal(wait, 100);
}

/* Contract client 4.13.4. */
TEST(token_bucket, a_wait_that_is_too_long_takes_nothing)
{
    struct cor_token_bucket b;
    uint64_t wait = 77;

    cor_token_bucket_init(&b, 1, 1, 0);
    assert_true(cor_token_bucket_try(&b, 0));
    assert_int_equal(cor_token_bucket_reserve(&b, 0, 999, &wait), -COR_ETIMEOUT);
    assert_int_equal(wait, 77);
    assert_int_equal(cor_token_bucket_reserve(&b, 0, 1000, &wait), 0);
    assert_int_equal(wait, 1000);
}

TEST(token_bucket, time_that_goes_back_neither_gives_nor_takes_tokens)
{
    struct cor_token_bucket b;

    cor_token_bucket_init(&b, 10, 1, 1000);
    assert_true(cor_token_bucket_try(&b, 1000));
    assert_false(cor_token_bucket_try(&b, 500));
    assert_false(cor_token_bucket_try(&b, 1050));
    assert_true(cor_token_bucket_try(&b, 1100));
}

TEST(token_bucket, fractions_of_tokens_add_up_over_an_hour)
{
    struct cor_token_bucket b;
    int taken = 0;

    cor_token_bucket_init(&b, 3, 1, 0);
    assert_true(cor_token_bucket_try(&b, 0));
    for (uint64_t now = 1; now <= 3600 * 1000; now++)
        taken += cor_token_bucket_try(&b, now);
    assert_uint_in_range(taken, 3600 * 1000 / 334, 10800);
}

TEST(token_bucket, a_rate_near_zero_does_not_overflow_the_wait)
{
    struct cor_token_bucket b;
    uint64_t wait;

    cor_token_bucket_init(&b, 1e-300, 1, 0);
    assert_true(cor_token_bucket_try(&b, 0));
    assert_int_equal(cor_token_bucket_reserve(&b, 0, 1000000, &wait), -COR_ETIMEOUT);
    assert_int_equal(cor_token_bucket_reserve(&b, 0, UINT64_MAX, &wait), 0);
    assert_true(wait == UINT64_MAX);
}
