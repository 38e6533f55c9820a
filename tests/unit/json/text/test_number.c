#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/rand.h"
#include "test.h"
#include "json/text/json.h"
#include "json/text/json_int.h"

/* The largest double, and the smallest magnitude that rounds to infinity. */
#define LARGEST "1.7976931348623157e308"
#define HALFWAY                                                                                    \
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"   \
    "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"   \
    "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"   \
    "34271155969950809304288017790417449779"

TEST(number, is_finite_as_far_as_a_double_reaches)
{
    static const char *const finite[] = {
        "0",
        "-0",
        "0.0",
        "1",
        "-1",
        "1.0",
        "1e308",
        "-1e308",
        "1E+308",
        "1e-400",
        "5e-324",
        "0e999999999999999999999",
        "0.000e400",
        "-0e400",
        "18446744073709551615",
        LARGEST,
        "-" LARGEST,
        "17976931348623157e292",
        "0.00017976931348623157e312",
        HALFWAY "1",
        HALFWAY "1.9999999999999999999999999999",
        "123e-99999999999999999999",
        "0."
        "0000000000000000000000000000000000000001e340",
    };
    static const char *const infinite[] = {
        "1e309",
        "-1e309",
        "1e400",
        "-1e400",
        "10e308",
        "0.1e310",
        "1.7976931348623159e308",
        "1e99999999999999999999",
        HALFWAY "2",
        HALFWAY "2.0",
        "-" HALFWAY "2",
        HALFWAY "20e-1",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(finite); i++) {
        if (!cor_json_number_is_finite(cor_strz(finite[i])))
            fail_msg("%s is held by a double", finite[i]);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(infinite); i++) {
        if (cor_json_number_is_finite(cor_strz(infinite[i])))
            fail_msg("%s is held by no double", infinite[i]);
    }
}

/* Digits, a point somewhere among them, and an exponent that brings the number near the limit. */
static void print_near_limit(struct cor_rand *rand, char *out, size_t size)
{
    static const char start[] = "179769313486231580793728971405303";
    size_t n = 1 + cor_rand_below(rand, 330), point = cor_rand_below(rand, n) + 1, at = 0;
    size_t same = cor_rand_below(rand, sizeof(start));
    int exponent = 308 - (int)point + 1 + (int)cor_rand_below(rand, 3) - 1;

    for (size_t i = 0; i < n && at + 32 < size; i++) {
        out[at++] = (char)(i < same ? start[i] : '0' + (int)cor_rand_below(rand, 10));
        if (i == 0 && out[0] == '0')
            out[0] = '1';
        if (i + 1 == point && i + 1 < n)
            out[at++] = '.';
    }
    snprintf(out + at, size - at, "e%d", exponent);
}

TEST(number, agrees_with_the_library_near_the_limit)
{
    struct cor_rand rand;
    size_t infinite = 0;
    char text[512];

    cor_rand_init_seeded(&rand, 11);
    for (int i = 0; i < 20000; i++) {
        bool is_infinite;

        print_near_limit(&rand, text, sizeof(text));
        is_infinite = isinf(strtod(text, NULL));
        infinite += is_infinite;
        if (cor_json_number_is_finite(cor_strz(text)) == is_infinite)
            fail_msg("%s", text);
    }
    assert_uint_in_range(infinite, 2000, 18000);
}

TEST(number, that_no_double_holds_is_refused_unless_it_is_there_already)
{
    static const char in[] = "{\"a\":[1,{\"b\":-1e400}],\"c\":1e500}";
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_json_error err;
    struct cor_str number;
    bool canonical;

    assert_int_equal(cor_json_check(cor_strz(in), &limits, &canonical, &err), -COR_EINVAL);
    assert_string_equal(err.message,
                        "json: cannot unmarshal number -1e400 into Go value of type float64");
    assert_int_equal(err.offset, 13);
    assert_int_equal(cor_json_find_huge(cor_strz(in), &number), 0);
    assert_str(number, "-1e400");
    limits.any_number = true;
    assert_int_equal(cor_json_check(cor_strz(in), &limits, &canonical, &err), 0);
    assert_true(canonical);
    assert_int_equal(cor_json_find_huge(COR_STR("[1e308]"), &number), -COR_ENOTFOUND);
    assert_int_equal(cor_json_find_huge(COR_STR("[1e308"), &number), -COR_EINVAL);
    assert_int_equal(cor_json_find_huge(COR_STR(""), &number), -COR_EINVAL);
}

TEST(number, of_many_digits_is_shortened_in_the_message)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf in = {.max = 4096};
    struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    struct cor_json_error err;
    struct cor_str number;
    bool canonical;

    for (int i = 0; i < 309; i++)
        assert_int_equal(cor_buf_addc(&in, '9'), 0);
    assert_int_equal(cor_json_check(cor_buf_str(&in), &limits, &canonical, &err), -COR_EINVAL);
    assert_string_equal(err.message,
                        "json: cannot unmarshal number 99999999999999999999999999999999... "
                        "into Go value of type float64");
    assert_int_equal(cor_json_find_huge(cor_buf_str(&in), &number), 0);
    assert_int_equal(number.n, 309);
    cor_buf_truncate(&in, 308);
    assert_int_equal(cor_json_check(cor_buf_str(&in), &limits, &canonical, &err), 0);
}
