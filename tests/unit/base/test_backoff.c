#include "base/backoff.h"
#include "test.h"

/* The reflector's: client-go's 0.8, 1.6, ... 25.6, 30, 30 seconds, reset after two idle minutes. */
static const struct cor_backoff_opts reflector = {
    .initial_ms = 800,
    .max_ms = 30000,
    .reset_ms = 120000,
    .factor = 2,
    .steps = COR_BACKOFF_STEPS_MAX,
};

TEST(backoff, doubles_up_to_the_cap_and_stays_there)
{
    static const uint64_t expected[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000, 30000};
    struct cor_backoff b;

    cor_backoff_init(&b, &reflector, 0);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_int_equal(cor_backoff_next(&b, 0, NULL), expected[i]);
}

TEST(backoff, starts_over_after_more_than_the_idle_time)
{
    struct cor_backoff b;

    cor_backoff_init(&b, &reflector, 1000);
    assert_int_equal(cor_backoff_next(&b, 1000, NULL), 800);
    assert_int_equal(cor_backoff_next(&b, 121000, NULL), 1600);
    assert_int_equal(cor_backoff_next(&b, 241000, NULL), 3200);
    assert_int_equal(cor_backoff_next(&b, 361001, NULL), 800);
}

TEST(backoff, without_an_idle_time_never_starts_over_by_itself)
{
    struct cor_backoff_opts opts = reflector;
    struct cor_backoff b;

    opts.reset_ms = 0;
    cor_backoff_init(&b, &opts, 1000);
    assert_int_equal(cor_backoff_next(&b, 1000, NULL), 800);
    assert_int_equal(cor_backoff_next(&b, 1000000, NULL), 1600);
    assert_int_equal(cor_backoff_next(&b, 2000000, NULL), 3200);
}

TEST(backoff, reset_brings_back_the_first_delay)
{
    struct cor_backoff b;

    cor_backoff_init(&b, &reflector, 0);
    cor_backoff_next(&b, 0, NULL);
    cor_backoff_next(&b, 0, NULL);
    cor_backoff_reset(&b);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 800);
}

/* Contract client 4.13.3. */
TEST(backoff, jitter_adds_less_than_its_share_and_does_not_add_up)
{
    struct cor_backoff_opts opts = reflector;
    struct cor_backoff b;
    struct cor_rand rand;
    uint64_t base = 800;

    opts.jitter = 1.0;
    cor_rand_init_seeded(&rand, test_random());
    cor_backoff_init(&b, &opts, 0);
    for (int i = 0; i < 50; i++) {
        uint64_t delay = cor_backoff_next(&b, 0, &rand);

        assert_uint_in_range(delay, base, 2 * base - 1);
        base = base * 2 < 30000 ? base * 2 : 30000;
    }
}

TEST(backoff, delay_stops_growing_when_the_steps_are_used_up)
{
    struct cor_backoff_opts opts = {.initial_ms = 10, .factor = 3, .steps = 2};
    struct cor_backoff b;

    cor_backoff_init(&b, &opts, 0);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 10);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 30);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 90);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 90);
}

TEST(backoff, factor_0_keeps_the_delay)
{
    struct cor_backoff_opts opts = {.initial_ms = 10, .steps = 5};
    struct cor_backoff b;

    cor_backoff_init(&b, &opts, 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(cor_backoff_next(&b, 0, NULL), 10);
}

TEST(backoff, keeps_fractions_between_steps)
{
    struct cor_backoff_opts opts = {.initial_ms = 1, .factor = 1.5, .steps = 10};
    struct cor_backoff b;

    cor_backoff_init(&b, &opts, 0);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 1);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 1);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 2);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 3);
    assert_int_equal(cor_backoff_next(&b, 0, NULL), 5);
}

TEST(backoff, does_not_overflow_without_a_cap)
{
    struct cor_backoff_opts opts = {
        .initial_ms = 1000, .factor = 10, .steps = COR_BACKOFF_STEPS_MAX};
    struct cor_backoff b;
    uint64_t before = 0;

    cor_backoff_init(&b, &opts, 0);
    for (int i = 0; i < 2000; i++) {
        uint64_t delay = cor_backoff_next(&b, 0, NULL);

        assert_true(delay >= before);
        before = delay;
    }
}

/* client-go's DefaultBackoff: four tries with 10, 50 and 250 ms between them. */
TEST(backoff, retry_allows_as_many_tries_as_steps)
{
    struct cor_backoff_opts opts = {.initial_ms = 10, .factor = 5, .steps = 4};
    static const uint64_t expected[] = {10, 50, 250};
    struct cor_backoff b;
    uint64_t delay;

    cor_backoff_init(&b, &opts, 0);
    for (int i = 0; i < 3; i++) {
        assert_true(cor_backoff_retry(&b, 0, NULL, &delay));
        assert_int_equal(delay, expected[i]);
    }
    assert_false(cor_backoff_retry(&b, 0, NULL, &delay));
    assert_false(cor_backoff_retry(&b, 0, NULL, &delay));
}

/* Contract client 4.13.3. */
TEST(backoff, retry_ends_when_the_cap_is_met)
{
    struct cor_backoff_opts opts = {.initial_ms = 10, .max_ms = 40, .factor = 5, .steps = 10};
    struct cor_backoff b;
    uint64_t delay = 7;

    cor_backoff_init(&b, &opts, 0);
    assert_false(cor_backoff_retry(&b, 0, NULL, &delay));
    assert_int_equal(delay, 7);
}
