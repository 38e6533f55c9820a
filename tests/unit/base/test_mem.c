#include "base/mem.h"
#include "test.h"

TEST(mem, calloc_refuses_a_product_that_overflows)
{
    assert_null(cor_calloc(SIZE_MAX / 2, 3));
}

TEST(mem, the_nth_allocation_fails_and_only_it)
{
    void *a, *b, *c;

    test_fail_alloc(2, false);
    a = cor_alloc(1);
    b = cor_alloc(1);
    c = cor_alloc(1);
    assert_non_null(a);
    assert_null(b);
    assert_non_null(c);
    assert_true(test_alloc_failed());
    cor_free(a);
    cor_free(c);
}

TEST(mem, a_failed_realloc_leaves_the_block)
{
    char *p = cor_strdup("kept");

    test_fail_alloc(1, false);
    assert_null(cor_realloc(p, 1000));
    assert_string_equal(p, "kept");
    cor_free(p);
}

TEST(mem, strndup_ends_in_nul)
{
    char *p = cor_strndup("abcdef", 3);

    assert_string_equal(p, "abc");
    cor_free(p);
}

/* How often each of `allocs` allocations fails in a loop over them; the number of runs that met no
 * failure is `seen[0]`. */
static void failures_of(size_t allocs, unsigned *seen)
{
    size_t last = 1;

    memset(seen, 0, (allocs + 1) * sizeof(*seen));
    FOR_EACH_FAILED_ALLOC(n) {
        size_t failed = 0;

        for (size_t i = 1; i <= allocs; i++) {
            void *p = cor_alloc(1);

            if (!p)
                failed = i;
            cor_free(p);
        }
        assert_int_equal(failed, n > allocs ? 0 : n);
        assert_int_equal(test_alloc_failed(), failed > 0);
        seen[failed]++;
        last = failed;
    }
    assert_int_equal(last, 0);
    assert_int_equal(seen[0], 1);
}

static unsigned sum(const unsigned *seen, size_t from, size_t to)
{
    unsigned n = 0;

    for (size_t i = from; i <= to; i++) {
        assert_true(seen[i] <= 1);
        n += seen[i];
    }
    return n;
}

TEST(mem, a_loop_fails_the_first_allocations_and_a_sample_of_the_others)
{
    enum { ALLOCS = 4064 };
    static unsigned seen[ALLOCS + 1], other[ALLOCS + 1];
    char *before = getenv("COR_TEST_ALLOCATIONS") ? strdup(getenv("COR_TEST_ALLOCATIONS")) : NULL;

    unsetenv("COR_TEST_ALLOCATIONS");
    failures_of(64, seen);
    assert_int_equal(sum(seen, 1, 64), 64);
    failures_of(ALLOCS, seen);
    assert_int_equal(sum(seen, 1, 64), 64);
    assert_uint_in_range(sum(seen, 65, ALLOCS), 40, 100);
    failures_of(ALLOCS, other);
    assert_memory_not_equal(seen, other, sizeof(seen));
    setenv("COR_TEST_ALLOCATIONS", "all", 1);
    failures_of(200, seen);
    assert_int_equal(sum(seen, 1, 200), 200);
    if (before)
        setenv("COR_TEST_ALLOCATIONS", before, 1);
    else
        unsetenv("COR_TEST_ALLOCATIONS");
    free(before);
}
