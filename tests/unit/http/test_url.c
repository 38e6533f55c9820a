#include "http/url.h"

#include "base/err.h"
#include "test.h"

static const char *unescape(const char *in, enum cor_url_part part)
{
    static char text[256];
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    int r;

    cor_buf_init(&out, sizeof(text) - 1);
    r = cor_url_unescape(cor_strz(in), part, &out);
    if (r < 0)
        return cor_err_name(r);
    memcpy(text, cor_buf_z(&out), out.n + 1);
    return text;
}

static const char *escape(const char *in, enum cor_url_part part)
{
    static char text[256];
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, sizeof(text) - 1);
    assert_int_equal(cor_url_escape(cor_strz(in), part, &out), 0);
    memcpy(text, cor_buf_z(&out), out.n + 1);
    return text;
}

TEST(url, a_plus_is_a_space_in_a_query_only)
{
    assert_string_equal(unescape("a+b%20c", COR_URL_QUERY), "a b c");
    assert_string_equal(unescape("a+b%20c", COR_URL_PATH), "a+b c");
}

TEST(url, a_percent_sign_needs_two_hex_digits)
{
    assert_string_equal(unescape("%", COR_URL_PATH), "EINVAL");
    assert_string_equal(unescape("%4", COR_URL_PATH), "EINVAL");
    assert_string_equal(unescape("%4g", COR_URL_PATH), "EINVAL");
    assert_string_equal(unescape("%4A%4a", COR_URL_PATH), "JJ");
}

TEST(url, escapes_as_go_does)
{
    assert_string_equal(escape("a/b c%&=+", COR_URL_QUERY), "a%2Fb+c%25%26%3D%2B");
    assert_string_equal(escape("a/b c%&=+", COR_URL_PATH), "a%2Fb%20c%25&=+");
}

TEST(url, iterates_over_pairs_and_skips_empty_ones_and_semicolons)
{
    struct cor_str rest = COR_STR("&a=1&&b&c;d=2&e=x=y"), name, value;

    assert_int_equal(cor_url_query_next(&rest, &name, &value), 1);
    assert_str(name, "a");
    assert_str(value, "1");
    assert_int_equal(cor_url_query_next(&rest, &name, &value), 1);
    assert_str(name, "b");
    assert_str(value, "");
    assert_int_equal(cor_url_query_next(&rest, &name, &value), -COR_EINVAL);
    assert_int_equal(cor_url_query_next(&rest, &name, &value), 1);
    assert_str(name, "e");
    assert_str(value, "x=y");
    assert_int_equal(cor_url_query_next(&rest, &name, &value), 0);
}

TEST(url, gets_the_first_value_of_a_decoded_name)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 64);
    assert_int_equal(
        cor_url_query_get(COR_STR("x=0&w%61tch=a%2Cb&watch=2"), COR_STR("watch"), &out), 0);
    assert_str(cor_buf_str(&out), "a,b");
    assert_int_equal(cor_url_query_get(COR_STR("x=0"), COR_STR("watch"), &out), -COR_ENOTFOUND);
    cor_buf_reset(&out);
    assert_int_equal(cor_url_query_get(COR_STR("a=%2&%2a=1&a=3"), COR_STR("a"), &out), 0);
    assert_str(cor_buf_str(&out), "3");
}
