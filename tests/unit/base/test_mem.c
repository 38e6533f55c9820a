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
