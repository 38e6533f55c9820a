/* The limits of warnings are those of upstream's recorder: 4,096 code points in all, and 256 each
 * once that is passed. */
#include "base/limits.h"
#include "server/request/request_warnings.h"

#include "base/err.h"
#include "test.h"

/* A text of `n` times `piece`, and a number that makes it another one. */
static void add_long(struct cor_warnings *warnings, const char *piece, size_t n, size_t number)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {.max = 1u << 20};

    assert_int_equal(cor_buf_addf(&text, "%03zu", number), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addz(&text, piece), 0);
    assert_int_equal(cor_warnings_add(warnings, cor_buf_str(&text)), 0);
}

TEST(warnings, are_header_values_and_kept_once)
{
    COR_CLEANUP(cor_warnings_deinit) struct cor_warnings warnings;

    cor_warnings_init(&warnings);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("say \"a\\b\"")), 0);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("b")), 0);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("say \"a\\b\"")), 0);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("")), 0);
    assert_int_equal(warnings.n, 2);
    assert_true(cor_str_eqz(cor_warnings_at(&warnings, 0), "299 - \"say \\\"a\\\\b\\\"\""));
    assert_true(cor_str_eqz(cor_warnings_at(&warnings, 1), "299 - \"b\""));
}

/* Upstream's recorder drops these, too. One that is too long as well does not cut the others. */
TEST(warnings, with_what_no_header_may_have_are_left_out)
{
    COR_CLEANUP(cor_warnings_deinit) struct cor_warnings warnings;

    cor_warnings_init(&warnings);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("a\nb")), 0);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("\x7f")), 0);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("\xc2\x85")), 0);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("a\xff")), 0);
    add_long(&warnings, "\t", 5000, 0);
    assert_int_equal(warnings.n, 0);
    assert_false(warnings.is_cut);
    assert_int_equal(cor_warnings_add(&warnings, COR_STR("\xc3\xa9")), 0);
    assert_int_equal(warnings.n, 1);
}

TEST(warnings, are_whole_up_to_4096_code_points)
{
    COR_CLEANUP(cor_warnings_deinit) struct cor_warnings warnings;

    cor_warnings_init(&warnings);
    for (size_t i = 0; i < 8; i++)
        add_long(&warnings, "\xc3\xa9", 509, i);
    assert_int_equal(warnings.n, 8);
    assert_int_equal(cor_warnings_at(&warnings, 7).n, 8 + 3 + 2 * 509);
}

TEST(warnings, are_all_cut_when_one_more_does_not_fit)
{
    COR_CLEANUP(cor_warnings_deinit) struct cor_warnings warnings;

    cor_warnings_init(&warnings);
    for (size_t i = 0; i < 30; i++)
        add_long(&warnings, "\"", 509, i);
    /* 16 of 256 code points make 4,096. */
    assert_int_equal(warnings.n, 16);
    for (size_t i = 0; i < warnings.n; i++)
        assert_int_equal(cor_warnings_at(&warnings, i).n, 8 + 3 + 2 * 253);
    assert_memory_equal(cor_warnings_at(&warnings, 15).p, "299 - \"015\\\"", 12);
}

TEST(warnings, are_bounded_in_number)
{
    COR_CLEANUP(cor_warnings_deinit) struct cor_warnings warnings;

    cor_warnings_init(&warnings);
    for (size_t i = 0; i < 1000; i++)
        add_long(&warnings, "", 0, i);
    assert_int_equal(warnings.n, COR_WARNING_HEADERS_MAX);
}

TEST(warnings, stay_whole_when_an_allocation_fails)
{
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_warnings_deinit) struct cor_warnings warnings;
        int a, b;

        cor_warnings_init(&warnings);
        a = cor_warnings_add(&warnings, COR_STR("first"));
        b = cor_warnings_add(&warnings, COR_STR("second"));
        assert_true((a == 0 || a == -COR_ENOMEM) && (b == 0 || b == -COR_ENOMEM));
        assert_int_equal(warnings.n, (a == 0) + (b == 0));
        if (a == 0)
            assert_true(cor_str_eqz(cor_warnings_at(&warnings, 0), "299 - \"first\""));
        if (b == 0)
            assert_true(
                cor_str_eqz(cor_warnings_at(&warnings, warnings.n - 1), "299 - \"second\""));
    }
}
