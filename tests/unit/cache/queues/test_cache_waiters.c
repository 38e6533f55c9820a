#include <stdio.h>

#include "base/err.h"
#include "cache/queues/cache_waiters.h"
#include "test.h"

static void never(void *arg, int r)
{
}

static uint64_t add(struct cor_cache_waiters *w, const char *rv, uint64_t last)
{
    struct cor_str s = cor_strz(rv);
    uint64_t id = 0;

    assert_int_equal(cor_cache_waiters_add(w, rv ? &s : NULL, last, never, w, &id), 0);
    return id;
}

static size_t take_all(struct cor_cache_waiters *w, int expected)
{
    struct cor_cache_call call;
    size_t n = 0;

    for (; cor_cache_waiters_take(w, &call); n++)
        assert_int_equal(call.r, expected);
    return n;
}

TEST(cache_waiters, numbers_are_compared_as_numbers)
{
    struct cor_cache_waiters w;

    cor_cache_waiters_init(&w);
    add(&w, "100", 0);
    cor_cache_waiters_reached(&w, COR_STR("99"), 1);
    cor_cache_waiters_consumed(&w, 1, true);
    assert_int_equal(take_all(&w, 0), 0);
    cor_cache_waiters_reached(&w, COR_STR("1000"), 2);
    assert_true(cor_cache_waiters_is_at(&w, COR_STR("100")));
    cor_cache_waiters_consumed(&w, 1, true);
    assert_int_equal(take_all(&w, 0), 0);
    cor_cache_waiters_consumed(&w, 2, true);
    assert_int_equal(take_all(&w, 0), 1);
    cor_cache_waiters_deinit(&w);
}

/* Contract client 1.15.12: a revision need not be a number. */
TEST(cache_waiters, other_revisions_are_equal_or_not)
{
    struct cor_cache_waiters w;

    cor_cache_waiters_init(&w);
    add(&w, "b-2", 0);
    cor_cache_waiters_reached(&w, COR_STR("c-3"), 1);
    cor_cache_waiters_reached(&w, COR_STR("7"), 1);
    cor_cache_waiters_consumed(&w, 9, true);
    assert_int_equal(take_all(&w, 0), 0);
    cor_cache_waiters_reached(&w, COR_STR("b-2"), 2);
    cor_cache_waiters_consumed(&w, 9, true);
    assert_int_equal(take_all(&w, 0), 1);
    cor_cache_waiters_deinit(&w);
}

TEST(cache_waiters, one_who_comes_late_waits_for_what_is_queued)
{
    struct cor_cache_waiters w;

    cor_cache_waiters_init(&w);
    cor_cache_waiters_reached(&w, COR_STR("10"), 5);
    add(&w, "10", 5);
    cor_cache_waiters_consumed(&w, 4, true);
    assert_int_equal(take_all(&w, 0), 0);
    cor_cache_waiters_consumed(&w, 5, true);
    assert_int_equal(take_all(&w, 0), 1);
    cor_cache_waiters_deinit(&w);
}

TEST(cache_waiters, for_the_first_list_only_that_counts)
{
    struct cor_cache_waiters w;

    cor_cache_waiters_init(&w);
    add(&w, NULL, 0);
    cor_cache_waiters_reached(&w, COR_STR("10"), 1);
    cor_cache_waiters_consumed(&w, 1, false);
    assert_int_equal(take_all(&w, 0), 0);
    cor_cache_waiters_consumed(&w, 1, true);
    assert_int_equal(take_all(&w, 0), 1);
    cor_cache_waiters_deinit(&w);
}

TEST(cache_waiters, can_be_taken_back_until_they_are_called)
{
    struct cor_cache_waiters w;
    uint64_t a, b;

    cor_cache_waiters_init(&w);
    a = add(&w, "10", 0);
    b = add(&w, NULL, 0);
    assert_true(cor_cache_waiters_remove(&w, a));
    assert_false(cor_cache_waiters_remove(&w, a));
    cor_cache_waiters_cancel(&w);
    assert_int_equal(take_all(&w, -COR_ECANCELED), 1);
    assert_false(cor_cache_waiters_remove(&w, b));
    cor_cache_waiters_deinit(&w);
}

TEST(cache_waiters, are_bounded_and_want_a_revision)
{
    struct cor_cache_waiters w;
    struct cor_str rv = COR_STR("1"), none = COR_STR("");
    char longest[COR_CACHE_WAITER_RV_MAX + 1];
    struct cor_str too_long = cor_str(longest, sizeof(longest));
    uint64_t id;

    memset(longest, '1', sizeof(longest));
    cor_cache_waiters_init(&w);
    assert_int_equal(cor_cache_waiters_add(&w, &none, 0, never, NULL, &id), -COR_EINVAL);
    assert_int_equal(cor_cache_waiters_add(&w, &too_long, 0, never, NULL, &id), -COR_EINVAL);
    for (int i = 0; i < COR_CACHE_WAITERS_MAX; i++)
        add(&w, "1", 0);
    assert_int_equal(cor_cache_waiters_add(&w, &rv, 0, never, NULL, &id), -COR_EBUSY);
    cor_cache_waiters_deinit(&w);
}

TEST(cache_waiters, who_waits_for_a_refused_write_is_told_what_with)
{
    struct cor_str refused = COR_STR("10");
    struct cor_cache_waiters w;
    uint64_t id;

    cor_cache_waiters_init(&w);
    add(&w, "10", 0);
    add(&w, "11", 0);
    add(&w, NULL, 0);
    cor_cache_waiters_reached(&w, COR_STR("10"), 5);
    add(&w, "10", 5);
    assert_int_equal(cor_cache_waiters_refused(&w, COR_STR("a"), refused, -COR_ENOTSUP, false), 0);
    assert_int_equal(take_all(&w, -COR_ENOTSUP), 2);
    assert_int_equal(cor_cache_waiters_add(&w, &refused, 5, never, NULL, &id), -COR_ENOTSUP);
    assert_int_equal(cor_cache_waiters_refusal(&w, refused), -COR_ENOTSUP);
    cor_cache_waiters_reached(&w, COR_STR("11"), 6);
    cor_cache_waiters_consumed(&w, 6, true);
    assert_int_equal(take_all(&w, 0), 2);
    cor_cache_waiters_taken(&w, COR_STR("a"));
    assert_int_equal(cor_cache_waiters_refusal(&w, refused), 0);
    add(&w, "10", 6);
    cor_cache_waiters_deinit(&w);
}

TEST(cache_waiters, a_write_that_is_tried_again_is_waited_for)
{
    struct cor_cache_waiters w;
    uint64_t id;

    cor_cache_waiters_init(&w);
    cor_cache_waiters_reached(&w, COR_STR("10"), 5);
    add(&w, "10", 5);
    assert_int_equal(
        cor_cache_waiters_refused(&w, COR_STR("a"), COR_STR("10"), -COR_EINVALID, true), 0);
    id = add(&w, "10", 5);
    add(&w, "10", 5);
    cor_cache_waiters_consumed(&w, 9, true);
    assert_int_equal(take_all(&w, 0), 0);
    assert_true(cor_cache_waiters_remove(&w, id));
    cor_cache_waiters_taken(&w, COR_STR("b"));
    assert_int_equal(take_all(&w, 0), 0);
    cor_cache_waiters_taken(&w, COR_STR("a"));
    assert_int_equal(take_all(&w, 0), 2);
    assert_int_equal(
        cor_cache_waiters_refused(&w, COR_STR("a"), COR_STR("12"), -COR_EINVALID, true), 0);
    add(&w, "12", 5);
    cor_cache_waiters_cancel(&w);
    assert_int_equal(take_all(&w, -COR_ECANCELED), 1);
    cor_cache_waiters_deinit(&w);
}

TEST(cache_waiters, what_a_list_lacks_is_not_refused_any_more)
{
    struct cor_cache_waiters w;

    cor_cache_waiters_init(&w);
    assert_int_equal(
        cor_cache_waiters_refused(&w, COR_STR("a"), COR_STR("10"), -COR_EINVALID, true), 0);
    assert_int_equal(
        cor_cache_waiters_refused(&w, COR_STR("b"), COR_STR("11"), -COR_EINVALID, true), 0);
    add(&w, "10", 0);
    add(&w, "11", 0);
    cor_refusals_unmark(&w.refusals);
    cor_refusals_mark(&w.refusals, COR_STR("b"));
    cor_refusals_mark(&w.refusals, COR_STR("c"));
    cor_cache_waiters_sweep(&w);
    assert_int_equal(take_all(&w, 0), 1);
    assert_int_equal(cor_cache_waiters_refusal(&w, COR_STR("10")), 0);
    assert_int_equal(cor_cache_waiters_refusal(&w, COR_STR("11")), -COR_EINVALID);
    cor_cache_waiters_deinit(&w);
}
