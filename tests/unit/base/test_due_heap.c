#include "base/due_heap.h"
#include "base/err.h"
#include "test.h"

#define ITEMS 200

static uint64_t pop(struct cor_due_heap *h)
{
    struct cor_due *due = cor_due_heap_peek(h);
    uint64_t at = due->at;

    cor_due_heap_remove(h, due);
    assert_false(cor_due_is_set(due));
    return at;
}

TEST(due_heap, gives_the_earliest_first)
{
    struct cor_due items[ITEMS];
    struct cor_due_heap h = {0};
    uint64_t last = 0;

    for (size_t i = 0; i < ITEMS; i++) {
        cor_due_init(&items[i]);
        assert_int_equal(cor_due_heap_put(&h, &items[i], test_random() % 50), 0);
    }
    for (size_t i = 0; i < ITEMS; i++) {
        uint64_t at = pop(&h);

        assert_true(at >= last);
        last = at;
    }
    assert_null(cor_due_heap_peek(&h));
    cor_due_heap_deinit(&h);
}

TEST(due_heap, equal_times_keep_the_order_of_putting)
{
    struct cor_due items[ITEMS];
    struct cor_due_heap h = {0};

    for (size_t i = 0; i < ITEMS; i++) {
        cor_due_init(&items[i]);
        assert_int_equal(cor_due_heap_put(&h, &items[i], 7), 0);
    }
    assert_int_equal(cor_due_heap_put(&h, &items[0], 7), 0);
    for (size_t i = 1; i < ITEMS; i++) {
        assert_ptr_equal(cor_due_heap_peek(&h), &items[i]);
        pop(&h);
    }
    assert_ptr_equal(cor_due_heap_peek(&h), &items[0]);
    cor_due_heap_deinit(&h);
}

TEST(due_heap, any_link_moves_and_leaves)
{
    struct cor_due items[ITEMS];
    struct cor_due_heap h = {0};
    uint64_t last = 0;
    size_t left = 0;

    for (size_t i = 0; i < ITEMS; i++) {
        cor_due_init(&items[i]);
        assert_int_equal(cor_due_heap_put(&h, &items[i], test_random() % 1000), 0);
    }
    for (size_t i = 0; i < ITEMS; i += 3)
        assert_int_equal(cor_due_heap_put(&h, &items[i], test_random() % 1000), 0);
    for (size_t i = 0; i < ITEMS; i += 2) {
        cor_due_heap_remove(&h, &items[i]);
        cor_due_heap_remove(&h, &items[i]);
    }
    for (; cor_due_heap_peek(&h); left++) {
        uint64_t at = pop(&h);

        assert_true(at >= last);
        last = at;
    }
    assert_int_equal(left, ITEMS / 2);
    cor_due_heap_deinit(&h);
}

TEST(due_heap, a_put_without_memory_changes_nothing)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_due due;
        struct cor_due_heap h = {0};
        int r;

        cor_due_init(&due);
        r = cor_due_heap_put(&h, &due, 1);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(cor_due_is_set(&due), r == 0);
        cor_due_heap_deinit(&h);
    }
}
