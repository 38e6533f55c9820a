#include "base/err.h"
#include "coracle/quantity.h"
#include "test.h"

static void expect_sum(const char *a, const char *b, const char *sum, const char *difference)
{
    char to[COR_QUANTITY_TEXT_MAX];

    assert_int_equal(cor_quantity_plus(cor_strz(a), cor_strz(b), to), 0);
    assert_string_equal(to, sum);
    assert_int_equal(cor_quantity_minus(cor_strz(a), cor_strz(b), to), 0);
    assert_string_equal(to, difference);
}

TEST(quantity_text, adds_and_subtracts_exactly_in_the_family_of_the_first)
{
    expect_sum("1", "500m", "1500m", "500m");
    expect_sum("1Gi", "1Mi", "1025Mi", "1023Mi");
    expect_sum("1", "-1", "0", "2");
    expect_sum("0", "1Ki", "1Ki", "-1Ki");
    expect_sum("100m", "+900m", "1", "-800m");
}

TEST(quantity_text, has_a_canonical_form_and_an_order)
{
    char to[COR_QUANTITY_TEXT_MAX];
    int64_t n = 0;
    int order = 9;

    assert_int_equal(cor_quantity_canonical(COR_STR("1000m"), to), 0);
    assert_string_equal(to, "1");
    assert_int_equal(cor_quantity_canonical(COR_STR("1024Ki"), to), 0);
    assert_string_equal(to, "1Mi");
    assert_int_equal(cor_quantity_canonical(COR_STR("5"), to), 0);
    assert_string_equal(to, "5");
    assert_int_equal(cor_quantity_cmp(COR_STR("1000m"), COR_STR("1"), &order), 0);
    assert_int_equal(order, 0);
    assert_int_equal(cor_quantity_cmp(COR_STR("1G"), COR_STR("1Gi"), &order), 0);
    assert_true(order < 0);
    assert_int_equal(cor_quantity_scaled(COR_STR("1.5"), -3, &n), 0);
    assert_int_equal(n, 1500);
    assert_int_equal(cor_quantity_scaled(COR_STR("1.5"), 0, &n), 0);
    assert_int_equal(n, 2);
}

TEST(quantity_text, what_is_no_quantity_or_too_long_is_refused)
{
    static char digits[200];
    char to[COR_QUANTITY_TEXT_MAX];
    int order;

    memset(digits, '1', sizeof(digits) - 1);
    assert_int_equal(cor_quantity_canonical(COR_STR("1x"), to), -COR_EINVAL);
    assert_int_equal(cor_quantity_canonical(COR_STR(""), to), -COR_EINVAL);
    assert_int_equal(cor_quantity_plus(COR_STR("1"), COR_STR("x"), to), -COR_EINVAL);
    assert_int_equal(cor_quantity_minus(COR_STR("1"), COR_STR("--1"), to), -COR_EINVAL);
    assert_int_equal(cor_quantity_minus(COR_STR("1"), COR_STR(""), to), -COR_EINVAL);
    assert_int_equal(cor_quantity_cmp(COR_STR("1"), COR_STR("1 "), &order), -COR_EINVAL);
    assert_int_equal(cor_quantity_minus(COR_STR("1"), cor_strz(digits), to), -COR_ETOOBIG);
}

TEST(quantity_text, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        char to[COR_QUANTITY_TEXT_MAX] = "";

        if (cor_quantity_plus(COR_STR("1"), COR_STR("500m"), to) == 0) {
            assert_false(test_alloc_failed());
            assert_string_equal(to, "1500m");
        }
    }
}
