#include <pthread.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "test.h"

TEST(clock, real_monotonic_time_never_goes_back)
{
    const struct cor_clock *c = cor_clock_real();
    uint64_t before = cor_clock_mono_us(c);

    for (int i = 0; i < 1000; i++) {
        uint64_t now = cor_clock_mono_us(c);

        assert_true(now >= before);
        before = now;
    }
    assert_true(cor_clock_mono_ms(c) >= before / 1000);
}

TEST(clock, real_wall_time_is_unix_time_in_milliseconds)
{
    int64_t now_ms = cor_clock_wall_ms(cor_clock_real());

    assert_true(now_ms > INT64_C(1700000000000));
    assert_true(now_ms < INT64_C(32503680000000));
}

TEST(clock, manual_stands_still_until_it_is_moved)
{
    struct cor_clock_manual m;

    cor_clock_manual_init(&m, 5, 1000);
    assert_int_equal(cor_clock_mono_ms(&m.clock), 5);
    assert_int_equal(cor_clock_wall_ms(&m.clock), 1000);
    cor_clock_manual_advance(&m, 20);
    assert_int_equal(cor_clock_mono_ms(&m.clock), 25);
    assert_int_equal(cor_clock_wall_ms(&m.clock), 1020);
}

TEST(clock, manual_keeps_microseconds_of_both_clocks)
{
    struct cor_clock_manual m;

    cor_clock_manual_init(&m, 0, 0);
    for (int i = 0; i < 4; i++)
        cor_clock_manual_advance_us(&m, 250);
    assert_int_equal(cor_clock_mono_us(&m.clock), 1000);
    assert_int_equal(cor_clock_wall_ms(&m.clock), 1);
}

static void *advance_often(void *arg)
{
    for (int i = 0; i < 1000; i++)
        cor_clock_manual_advance(arg, 1);
    return NULL;
}

TEST(clock, manual_is_read_while_another_thread_moves_it)
{
    struct cor_clock_manual m;
    uint64_t before = 0;
    pthread_t t;

    cor_clock_manual_init(&m, 0, 0);
    assert_int_equal(pthread_create(&t, NULL, advance_often, &m), 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = cor_clock_mono_ms(&m.clock);

        assert_true(now >= before);
        before = now;
    }
    pthread_join(t, NULL);
    assert_int_equal(cor_clock_mono_ms(&m.clock), 1000);
}

static uint64_t us_of(struct timespec at)
{
    return (uint64_t)at.tv_sec * 1000000 + (uint64_t)at.tv_nsec / 1000;
}

/* Between what the clock says before and after, and with a rest of less than a second. */
TEST(clock, a_deadline_lies_so_many_milliseconds_ahead)
{
    static const uint64_t ms[] = {0, 1, 999, 1000, 1001, 1999, 86400999};

    for (size_t i = 0; i < sizeof(ms) / sizeof(ms[0]); i++) {
        for (int j = 0; j < 100; j++) {
            uint64_t before = cor_clock_mono_us(cor_clock_real());
            struct timespec at = cor_deadline_in_ms(ms[i]);
            uint64_t after = cor_clock_mono_us(cor_clock_real());

            assert_true(at.tv_nsec >= 0 && at.tv_nsec < 1000000000);
            assert_true(us_of(at) >= before + ms[i] * 1000);
            assert_true(us_of(at) <= after + ms[i] * 1000);
        }
    }
}
