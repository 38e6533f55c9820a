#include "base/utf8.h"
#include "test.h"

static uint32_t first(const char *s, size_t n, size_t *ret_len)
{
    uint32_t cp;

    *ret_len = cor_utf8_first(cor_str(s, n), &cp);
    return cp;
}

TEST(utf8, reads_code_points_of_every_length)
{
    size_t n;

    assert_int_equal(first("A", 1, &n), 'A');
    assert_int_equal(n, 1);
    assert_int_equal(first("\0", 1, &n), 0);
    assert_int_equal(first("\xc3\xa9x", 3, &n), 0xe9);
    assert_int_equal(n, 2);
    assert_int_equal(first("\xe2\x82\xac", 3, &n), 0x20ac);
    assert_int_equal(n, 3);
    assert_int_equal(first("\xf4\x8f\xbf\xbf", 4, &n), 0x10ffff);
    assert_int_equal(n, 4);
}

TEST(utf8, an_invalid_byte_counts_alone)
{
    static const struct cor_str bad[] = {
        {"\x80", 1},             /* continuation first */
        {"\xc0\xaf", 2},         /* overlong / */
        {"\xe0\x80\xaf", 3},     /* overlong */
        {"\xf0\x80\x80\xaf", 4}, /* overlong */
        {"\xed\xa0\x80", 3},     /* surrogate */
        {"\xf4\x90\x80\x80", 4}, /* above U+10FFFF */
        {"\xff", 1},
        {"\xe2\x82", 2}, /* cut */
        {"\xe2\x28\xa1", 3},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        size_t n;

        assert_true(first(bad[i].p, bad[i].n, &n) == COR_UTF8_INVALID);
        assert_int_equal(n, 1);
    }
}

TEST(utf8, says_where_the_first_invalid_byte_is)
{
    assert_int_equal(cor_utf8_find_invalid(COR_STR("")), -1);
    assert_int_equal(cor_utf8_find_invalid(COR_STR("na\xc3\xafve")), -1);
    assert_int_equal(cor_utf8_find_invalid(COR_STR("\xe2\x82\xac\xe2\x82")), 3);
}

TEST(utf8, knows_what_could_steer_a_terminal)
{
    static const uint32_t controls[] = {0, '\n', 0x1b, 0x7f, 0x9b, 0x2028, 0x202e, 0x2066};
    static const uint32_t others[] = {' ', 'a', 0xa0, 0x301, 0x2027, 0x202f, 0x1f600};

    for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++)
        assert_true(cor_utf8_is_control(controls[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_false(cor_utf8_is_control(others[i]));
}
