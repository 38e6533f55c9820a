#include "test.h"

#include "net/session/header.h"

static const struct cor_http_header fields[] = {
    {COR_STR("Host"), COR_STR("a")},
    {COR_STR("Accept"), COR_STR("text/plain")},
    {COR_STR("ACCEPT"), COR_STR("application/json")},
};

TEST(header, names_compare_without_case)
{
    assert_true(cor_header_name_eq(COR_STR("Content-Length"), COR_STR("content-LENGTH")));
    assert_false(cor_header_name_eq(COR_STR("Content-Length"), COR_STR("Content-Lengt")));
    assert_false(cor_header_name_eq(COR_STR("a@"), COR_STR("a`")));
    assert_true(cor_header_name_eq(COR_STR(""), COR_STR("")));
}

TEST(header, the_first_of_a_name_is_found)
{
    assert_str(cor_header_find(fields, 3, COR_STR("accept")), "text/plain");
    assert_null(cor_header_find(fields, 3, COR_STR("accep")).p);
    assert_null(cor_header_find(fields, 0, COR_STR("host")).p);
    assert_int_equal(cor_header_count(fields, 3, COR_STR("accept")), 2);
    assert_int_equal(cor_header_count(fields, 3, COR_STR("cookie")), 0);
}

TEST(header, tokens_of_a_list_are_found)
{
    assert_true(cor_header_has_token(COR_STR("keep-alive, Upgrade"), COR_STR("upgrade")));
    assert_true(cor_header_has_token(COR_STR("gzip"), COR_STR("gzip")));
    assert_false(cor_header_has_token(COR_STR("x-gzip, deflate"), COR_STR("gzip")));
    assert_false(cor_header_has_token((struct cor_str){0}, COR_STR("gzip")));
}
