#include "base/err.h"
#include "meta/status/quote.h"
#include "test.h"

TEST(quote, prints_what_go_prints)
{
    static const struct {
        struct cor_str in;
        const char *want;
    } rows[] = {
        {{"", 0}, "\"\""},
        {COR_STR("a b"), "\"a b\""},
        {COR_STR("a\"b\\c"), "\"a\\\"b\\\\c\""},
        {COR_STR("\a\b\f\n\r\t\v"), "\"\\a\\b\\f\\n\\r\\t\\v\""},
        {{"\0\x1f\x7f", 3}, "\"\\x00\\x1f\\x7f\""},
        {COR_STR("\xff"), "\"\\xff\""},
        {COR_STR("caf\xc3\xa9"), "\"caf\xc3\xa9\""},
        {COR_STR("\xe2\x98\xba"), "\"\xe2\x98\xba\""},
        {COR_STR("\xc2\x80"), "\"\\u0080\""},
        {COR_STR("\xc2\xa0"), "\"\\u00a0\""},
        {COR_STR("\xc2\xa1"), "\"\xc2\xa1\""},
        {COR_STR("\xe2\x80\xa8"), "\"\\u2028\""},
        {COR_STR("\xef\xbb\xbf"), "\"\\ufeff\""},
        {COR_STR("\xef\xbf\xbd"), "\"\xef\xbf\xbd\""},
        {COR_STR("\xf0\x9f\x99\x82"), "\"\xf0\x9f\x99\x82\""},
        {COR_STR("\xf4\x8f\xbf\xbf"), "\"\\U0010ffff\""},
        /* An overlong form, a surrogate, a sequence cut off, one past the last code point. */
        {COR_STR("\xc0\x80"), "\"\\xc0\\x80\""},
        {COR_STR("\xed\xa0\x80"), "\"\\xed\\xa0\\x80\""},
        {COR_STR("\xe2\x98"), "\"\\xe2\\x98\""},
        {COR_STR("\xf4\x90\x80\x80"), "\"\\xf4\\x90\\x80\\x80\""},
        {COR_STR("\xe0\x80\x80"), "\"\\xe0\\x80\\x80\""},
    };
    struct cor_buf b;

    cor_buf_init(&b, 1000);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        cor_buf_reset(&b);
        assert_int_equal(cor_quote(rows[i].in, &b), 0);
        assert_string_equal(cor_buf_z(&b), rows[i].want);
        assert_int_equal(cor_quote_bytes(rows[i].in), b.n);
    }
    cor_buf_deinit(&b);
}

TEST(quote, what_does_not_fit_leaves_the_text_as_it_was)
{
    struct cor_buf b;

    cor_buf_init(&b, 5);
    assert_int_equal(cor_buf_addc(&b, '!'), 0);
    assert_int_equal(cor_quote(COR_STR("abc"), &b), -COR_ETOOBIG);
    assert_string_equal(cor_buf_z(&b), "!");
    assert_int_equal(cor_quote(COR_STR("ab"), &b), 0);
    assert_string_equal(cor_buf_z(&b), "!\"ab\"");
    cor_buf_deinit(&b);
}
