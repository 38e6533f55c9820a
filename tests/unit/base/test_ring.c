#include "base/err.h"
#include "base/ring.h"
#include "test.h"

static char marks[64];

TEST(ring, gives_back_in_the_order_of_pushing)
{
    struct cor_ring r;
    size_t in = 0, out = 0;

    cor_ring_init(&r, 64);
    for (int round = 0; round < 200; round++) {
        for (size_t i = test_random() % 5; i > 0 && cor_ring_len(&r) < 64; i--)
            assert_int_equal(cor_ring_push(&r, &marks[in++ % 64]), 0);
        for (size_t i = test_random() % 4; i > 0 && cor_ring_len(&r) > 0; i--) {
            assert_ptr_equal(cor_ring_peek(&r), &marks[out % 64]);
            assert_ptr_equal(cor_ring_pop(&r), &marks[out++ % 64]);
        }
        assert_int_equal(cor_ring_len(&r), in - out);
    }
    cor_ring_deinit(&r);
}

TEST(ring, refuses_more_than_its_maximum_and_takes_again_after_a_pop)
{
    struct cor_ring r;

    cor_ring_init(&r, 9);
    for (size_t i = 0; i < 9; i++)
        assert_int_equal(cor_ring_push(&r, &marks[i]), 0);
    assert_int_equal(cor_ring_push(&r, &marks[9]), -COR_EBUSY);
    assert_ptr_equal(cor_ring_pop(&r), &marks[0]);
    assert_int_equal(cor_ring_push(&r, &marks[9]), 0);
    assert_int_equal(cor_ring_push(&r, &marks[10]), -COR_EBUSY);
    for (size_t i = 1; i < 10; i++)
        assert_ptr_equal(cor_ring_pop(&r), &marks[i]);
    assert_null(cor_ring_pop(&r));
    assert_null(cor_ring_peek(&r));
    cor_ring_deinit(&r);
}

TEST(ring, with_maximum_0_takes_nothing)
{
    struct cor_ring r;

    cor_ring_init(&r, 0);
    assert_int_equal(cor_ring_push(&r, &marks[0]), -COR_EBUSY);
    cor_ring_deinit(&r);
}

TEST(ring, is_unchanged_when_memory_runs_out)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_ring r;
        size_t in = 0;

        cor_ring_init(&r, 64);
        for (int i = 0; i < 40; i++) {
            int e = cor_ring_push(&r, &marks[in % 64]);

            assert_true(e == 0 || e == -COR_ENOMEM);
            in += e == 0;
        }
        assert_int_equal(cor_ring_len(&r), in);
        for (size_t i = 0; i < in; i++)
            assert_ptr_equal(cor_ring_pop(&r), &marks[i]);
        cor_ring_deinit(&r);
    }
}
