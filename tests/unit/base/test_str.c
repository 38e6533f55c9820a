#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "test.h"

TEST(str, orders_by_bytes_with_the_shorter_prefix_first)
{
    assert_true(cor_str_cmp(COR_STR("a"), COR_STR("b")) < 0);
    assert_true(cor_str_cmp(COR_STR("a"), COR_STR("a\0")) < 0);
    assert_true(cor_str_cmp(COR_STR("\xff"), COR_STR("a")) > 0);
    assert_int_equal(cor_str_cmp(COR_STR("ab"), COR_STR("ab")), 0);
}

TEST(str, cut_walks_the_fields_of_a_line)
{
    struct cor_str rest = COR_STR("a,,b");

    assert_str(cor_str_cut(&rest, ','), "a");
    assert_str(cor_str_cut(&rest, ','), "");
    assert_str(cor_str_cut(&rest, ','), "b");
    assert_null(rest.p);
}

TEST(str, reads_numbers_up_to_their_limits)
{
    uint64_t u;
    int64_t i;

    assert_int_equal(cor_str_to_u64(COR_STR("18446744073709551615"), &u), 0);
    assert_true(u == UINT64_MAX);
    assert_int_equal(cor_str_to_u64(COR_STR("18446744073709551616"), &u), -COR_ETOOBIG);
    assert_int_equal(cor_str_to_u64(COR_STR(""), &u), -COR_EINVAL);
    assert_int_equal(cor_str_to_u64(COR_STR("+1"), &u), -COR_EINVAL);
    assert_int_equal(cor_str_to_i64(COR_STR("-9223372036854775808"), &i), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(cor_str_to_i64(COR_STR("9223372036854775808"), &i), -COR_ETOOBIG);
    assert_int_equal(cor_str_to_i64(COR_STR("-"), &i), -COR_EINVAL);
}

TEST(str, trims_white_space_at_both_ends)
{
    assert_str(cor_str_trim(COR_STR(" \ta b\n")), "a b");
    assert_str(cor_str_trim(COR_STR("  ")), "");
}

TEST(str, finds_prefixes_and_suffixes)
{
    assert_true(cor_str_starts(COR_STR("/registry/pods"), COR_STR("/registry/")));
    assert_false(cor_str_starts(COR_STR("/reg"), COR_STR("/registry/")));
    assert_true(cor_str_ends(COR_STR("a.json"), COR_STR(".json")));
    assert_int_equal(cor_str_find(COR_STR("abc"), 'c'), 2);
    assert_int_equal(cor_str_find(COR_STR("abc"), 'd'), -1);
}

TEST(str, gathers_strings_into_one_block)
{
    char first[] = "abc";
    struct cor_str a = cor_strz(first), b = {NULL, 0}, c = COR_STR("d");
    struct cor_str *all[] = {&a, &b, &c};
    char *block = NULL;

    FOR_EACH_FAILED_ALLOC(n) {
        int r = cor_str_gather(all, 3, &block);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_true(r == 0 || a.p == first);
    }
    first[0] = 'x';
    assert_str(a, "abc");
    assert_string_equal(a.p, "abc");
    assert_str(b, "");
    assert_string_equal(c.p, "d");
    assert_ptr_equal(a.p, block);
    cor_free(block);
}
