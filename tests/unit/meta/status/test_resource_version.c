#include "base/err.h"
#include "meta/status/resource_version.h"
#include "test.h"

TEST(resource_version, is_empty_or_an_unsigned_number)
{
    static const struct {
        const char *text;
        cor_rev want;
    } rows[] = {{"", 0},    {"0", 0},   {"1", 1},
                {"10", 10}, {"007", 7}, {"18446744073709551615", UINT64_MAX}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        cor_rev rev = 99;

        assert_int_equal(cor_resource_version_parse(cor_strz(rows[i].text), &rev, NULL), 0);
        assert_int_equal(rev, rows[i].want);
    }
}

TEST(resource_version, anything_else_is_refused_in_gos_words)
{
    static const char *const rows[][2] = {
        {"a", "resourceVersion: Invalid value: \"a\": strconv.ParseUint: parsing \"a\": invalid "
              "syntax"},
        {"-1", "resourceVersion: Invalid value: \"-1\": strconv.ParseUint: parsing \"-1\": "
               "invalid syntax"},
        {"1.5", "resourceVersion: Invalid value: \"1.5\": strconv.ParseUint: parsing \"1.5\": "
                "invalid syntax"},
        {"\"", "resourceVersion: Invalid value: \"\\\"\": strconv.ParseUint: parsing \"\\\"\": "
               "invalid syntax"},
        {"18446744073709551616",
         "resourceVersion: Invalid value: \"18446744073709551616\": strconv.ParseUint: parsing "
         "\"18446744073709551616\": value out of range"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_status st = {0};
        cor_rev rev;

        assert_int_equal(cor_resource_version_parse(cor_strz(rows[i][0]), &rev, &st), -COR_EINVAL);
        assert_int_equal(st.code, 500);
        assert_string_equal(st.reason, "");
        assert_string_equal(cor_status_message(&st), rows[i][1]);
        cor_status_deinit(&st);
    }
}

TEST(resource_version, in_a_request_it_is_a_bad_request)
{
    struct cor_status st = {0};
    cor_rev rev;

    assert_int_equal(cor_resource_version_parse_request(COR_STR("x"), &rev, &st), -COR_EINVAL);
    assert_int_equal(st.code, 400);
    assert_string_equal(cor_status_message(&st),
                        "invalid resource version: resourceVersion: Invalid value: \"x\": "
                        "strconv.ParseUint: parsing \"x\": invalid syntax");
    assert_int_equal(cor_resource_version_parse_request(COR_STR("x"), &rev, NULL), -COR_EINVAL);
    cor_status_deinit(&st);
}

TEST(resource_version, out_of_memory_keeps_the_code)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_status st = {0};
        cor_rev rev;

        assert_int_equal(cor_resource_version_parse_request(COR_STR("x"), &rev, &st), -COR_EINVAL);
        assert_int_equal(st.code, 400);
        cor_status_deinit(&st);
    }
}
