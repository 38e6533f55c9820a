#include "test.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"

struct element {
    uint64_t number;
    char more[20];
};

struct list {
    struct element *v;
    size_t n, cap;
};

static int list_add(struct list *list, uint64_t number, size_t max)
{
    int r = COR_ARRAY_RESERVE(&list->v, list->n, &list->cap, max);

    if (r == 0)
        list->v[list->n++] = (struct element){.number = number};
    return r;
}

TEST(array, keeps_its_elements_when_it_grows)
{
    struct list list = {0};

    for (uint64_t i = 0; i < 1000; i++) {
        size_t cap = list.cap;

        assert_int_equal(list_add(&list, i, COR_ARRAY_NO_MAX), 0);
        assert_true(list.cap >= list.n);
        assert_true(cap == 0 || list.cap == cap || list.cap == 2 * cap);
    }
    for (uint64_t i = 0; i < 1000; i++)
        assert_int_equal(list.v[i].number, i);
    cor_free(list.v);
}

TEST(array, refuses_one_more_than_its_maximum_and_allocates_no_more_than_it)
{
    static const size_t maxima[] = {1, 5, 8, 13, 16, 100};

    for (size_t i = 0; i < COR_ARRAY_LEN(maxima); i++) {
        struct list list = {0};

        while (list.n < maxima[i])
            assert_int_equal(list_add(&list, list.n, maxima[i]), 0);
        assert_int_equal(list_add(&list, 7, maxima[i]), -COR_ETOOBIG);
        assert_int_equal(list.n, maxima[i]);
        assert_int_equal(list.cap, maxima[i] <= 8 ? maxima[i] : list.cap);
        assert_true(list.cap <= maxima[i]);
        assert_int_equal(list.v[maxima[i] - 1].number, maxima[i] - 1);
        cor_free(list.v);
    }
}

TEST(array, a_maximum_of_nothing_holds_nothing)
{
    struct list list = {0};

    assert_int_equal(list_add(&list, 1, 0), -COR_ETOOBIG);
    assert_null(list.v);
}

TEST(array, is_as_before_when_an_allocation_fails)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct list list = {0};
        int r = 0;

        for (uint64_t i = 0; i < 20 && r == 0; i++)
            r = list_add(&list, i, COR_ARRAY_NO_MAX);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_true(list.n == 0 || list.n == 8 || list.n == 16 || list.n == 20);
        for (uint64_t i = 0; i < list.n; i++)
            assert_int_equal(list.v[i].number, i);
        cor_free(list.v);
    }
}

TEST(array, makes_room_for_several_at_once)
{
    for (size_t n = 0; n <= 20; n++)
        for (size_t more = 0; more <= 40; more++) {
            struct list list = {0};
            int r;

            while (list.n < n)
                assert_int_equal(list_add(&list, list.n, 33), 0);
            r = COR_ARRAY_RESERVE_MORE(&list.v, list.n, more, &list.cap, 33);
            assert_int_equal(r, n + more <= 33 ? 0 : -COR_ETOOBIG);
            assert_true(list.cap <= 33);
            if (r == 0)
                assert_true(list.cap >= n + more);
            for (uint64_t i = 0; i < n; i++)
                assert_int_equal(list.v[i].number, i);
            cor_free(list.v);
        }
}

TEST(array, a_size_that_no_memory_has_is_out_of_memory)
{
    char *v = NULL;
    size_t cap = PTRDIFF_MAX;

    assert_int_equal(cor_array_grow(&v, 1, cap, 1, &cap, COR_ARRAY_NO_MAX), -COR_ENOMEM);
    assert_int_equal(cap, PTRDIFF_MAX);
}
