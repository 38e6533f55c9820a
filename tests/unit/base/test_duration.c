#include "base/duration.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

TEST(duration, reads_what_go_reads)
{
    static const struct {
        const char *text;
        int64_t ns;
    } rows[] = {{"0", 0},
                {"5s", 5000000000},
                {"-5s", -5000000000},
                {"+5s", 5000000000},
                {"5.s", 5000000000},
                {".5s", 500000000},
                {"1.0s", 1000000000},
                {"1.004s", 1004000000},
                {"100.00100s", 100001000000},
                {"10ns", 10},
                {"11us", 11000},
                {"12\xc2\xb5s", 12000},
                {"12\xce\xbcs", 12000},
                {"13ms", 13000000},
                {"15m", 900000000000},
                {"3h30m", 12600000000000},
                {"10.5s4m", 250500000000},
                {"1h15m30.918273645s", 4530918273645},
                {"0.3333333333333333333h", 1200000000000},
                {"9223372036854775807ns", INT64_MAX}};
    int64_t ns;

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        assert_int_equal(cor_duration_parse(cor_strz(rows[i].text), &ns), 0);
        assert_int_equal(ns, rows[i].ns);
    }
}

TEST(duration, names_the_unit_that_is_none)
{
    static const struct {
        const char *text, *unit;
    } rows[] = {{"1", ""},
                {"-1", ""},
                {"1.0", ""},
                {"1e3", "e"},
                {"0x10s", "x"},
                {"1_0s", "_"},
                {"5s3", ""},
                {"s", NULL},
                {"", NULL},
                {"a", NULL},
                {"99999999999999999999s", NULL},
                {"3000000h", NULL}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_str unit;
        int64_t ns;

        assert_true(cor_duration_parse_why(cor_strz(rows[i].text), &ns, &unit) < 0);
        assert_int_equal(unit.p == NULL, rows[i].unit == NULL);
        if (rows[i].unit)
            assert_str(unit, rows[i].unit);
    }
}

TEST(duration, refuses_the_rest)
{
    static const char *const texts[] = {"",   "3",   "-",  "s",   ".", "-.",
                                        ".s", "+.s", "1d", "1 s", "60"};
    int64_t ns;

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        assert_int_equal(cor_duration_parse(cor_strz(texts[i]), &ns), -COR_EINVAL);
    assert_int_equal(cor_duration_parse(COR_STR("9223372036854775808ns"), &ns), -COR_ETOOBIG);
    assert_int_equal(cor_duration_parse(COR_STR("3000000h"), &ns), -COR_ETOOBIG);
}
