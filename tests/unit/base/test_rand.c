#include "base/rand.h"
#include "test.h"

TEST(rand, a_seed_gives_the_same_numbers_again)
{
    struct cor_rand a, b, c;
    bool differs = false;

    cor_rand_init_seeded(&a, 42);
    cor_rand_init_seeded(&b, 42);
    cor_rand_init_seeded(&c, 43);
    for (int i = 0; i < 100; i++) {
        uint64_t v = cor_rand_u64(&a);

        assert_true(v == cor_rand_u64(&b));
        differs |= v != cor_rand_u64(&c);
    }
    assert_true(differs);
}

/* First output of xoshiro256** from the state {1, 2, 3, 4}, as its authors' reference gives it. */
TEST(rand, seeded_sequence_is_xoshiro256starstar)
{
    struct cor_rand r;

    cor_rand_init_seeded(&r, 0);
    for (uint64_t i = 0; i < 4; i++)
        r.state[i] = i + 1;
    assert_true(cor_rand_u64(&r) == 11520);
    assert_true(cor_rand_u64(&r) == 0);
    assert_true(cor_rand_u64(&r) == 1509978240);
    assert_true(cor_rand_u64(&r) == UINT64_C(1215971899390074240));
}

TEST(rand, below_stays_below_and_reaches_every_number)
{
    struct cor_rand r;
    int seen[7] = {0};

    cor_rand_init_seeded(&r, test_random());
    for (int i = 0; i < 7000; i++) {
        uint64_t v = cor_rand_below(&r, 7);

        assert_true(v < 7);
        seen[v]++;
    }
    for (int i = 0; i < 7; i++)
        assert_uint_in_range(seen[i], 700, 1300);
    assert_int_equal(cor_rand_below(&r, 1), 0);
}

/* With n = 3 * 2^62 a plain remainder would give the lowest third twice as often. */
TEST(rand, below_has_no_bias_for_large_n)
{
    struct cor_rand r;
    int low = 0;

    cor_rand_init_seeded(&r, test_random());
    for (int i = 0; i < 3000; i++)
        low += cor_rand_below(&r, UINT64_C(3) << 62) < UINT64_C(1) << 62;
    assert_uint_in_range(low, 800, 1200);
}

TEST(rand, unit_is_at_least_0_and_below_1)
{
    struct cor_rand r;
    double sum = 0;

    cor_rand_init_seeded(&r, test_random());
    for (int i = 0; i < 10000; i++) {
        double v = cor_rand_unit(&r);

        assert_true(v >= 0 && v < 1);
        sum += v;
    }
    assert_true(sum > 4700 && sum < 5300);
}

TEST(rand, kernel_numbers_do_not_repeat_and_leave_no_trace)
{
    struct cor_rand a, b;

    cor_rand_init(&a);
    cor_rand_init(&b);
    for (int i = 0; i < 100; i++)
        assert_true(cor_rand_u64(&a) != cor_rand_u64(&b));
    for (size_t i = a.pooled; i < COR_RAND_POOL; i++)
        assert_true(a.pool[i] == 0);
}

TEST(rand, bytes_fill_exactly_what_was_asked_for)
{
    struct cor_rand r;
    unsigned char p[16] = {0};
    bool any = false;

    cor_rand_init(&r);
    for (int round = 0; round < 20; round++) {
        cor_rand_bytes(&r, p, 13);
        any |= p[12] != 0;
        assert_memory_equal(p + 13, "\0\0\0", 3);
    }
    assert_true(any);
}
