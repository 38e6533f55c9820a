#include "meta/value/time_text.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "test.h"

TEST(time_text, prints_and_reads_rfc_3339)
{
    char text[COR_TIME_TEXT_MAX];
    int64_t s;

    assert_str(cor_time_print(1735689600, text), "2025-01-01T00:00:00Z");
    assert_int_equal(cor_time_parse(COR_STR("2025-01-01T00:00:00Z"), &s), 0);
    assert_int_equal(s, 1735689600);
    assert_int_equal(cor_time_parse(COR_STR("2025-01-01T01:30:00.123456+01:30"), &s), 0);
    assert_int_equal(s, 1735689600);
    assert_int_equal(cor_time_parse(COR_STR("2025-01-01"), &s), -COR_EINVAL);
    assert_int_equal(cor_time_parse(COR_STR("2025-13-01T00:00:00Z"), &s), -COR_EINVAL);
    assert_int_equal(cor_time_parse(COR_STR("2025-01-01T00:00:00"), &s), -COR_EINVAL);
}

TEST(time_text, outside_of_four_digit_years_is_printed_as_the_nearest_time)
{
    char text[COR_TIME_TEXT_MAX];

    assert_str(cor_time_print(COR_TIME_MAX_S, text), "9999-12-31T23:59:59Z");
    assert_str(cor_time_print(COR_TIME_MAX_S + 1, text), "9999-12-31T23:59:59Z");
    assert_str(cor_time_print(INT64_MAX, text), "9999-12-31T23:59:59Z");
    assert_str(cor_time_print(COR_TIME_MIN_S, text), "0000-01-01T00:00:00Z");
    assert_str(cor_time_print(INT64_MIN, text), "0000-01-01T00:00:00Z");
    assert_str(cor_time_print(-31557014135, text), "0969-12-30T18:44:25Z");
}

/* As kube-apiserver answers for metadata.managedFields[0].time. */
TEST(time_text, is_read_as_go_reads_it)
{
    static const struct {
        const char *text, *range, *rest, *element;
    } rows[] = {
        {"9999-12-31T23:59:59Z", NULL, NULL, NULL},
        {"9999-12-31T23:59:59-01:00", NULL, NULL, NULL},
        {"0000-01-01T00:00:00Z", NULL, NULL, NULL},
        {"2020-01-01T00:00:00.123456789Z", NULL, NULL, NULL},
        {"2020-01-01T00:00:00,5Z", NULL, NULL, NULL},
        {"2020-01-01T0:00:00Z", NULL, NULL, NULL},
        {"2020-01-01T00:00:00+24:00", NULL, NULL, NULL},
        {"2020-01-01T00:00:00+23:60", NULL, NULL, NULL},
        {"2020-02-29T00:00:00Z", NULL, NULL, NULL},
        {"", NULL, "", "2006"},
        {"10000-01-01T00:00:00Z", NULL, "0-01-01T00:00:00Z", "-"},
        {"2020-01-01t00:00:00z", NULL, "t00:00:00z", "T"},
        {"2020-01-01T00:00:00z", NULL, "z", "Z07:00"},
        {"2020-01-01T00:00:00", NULL, "", "Z07:00"},
        {"2020-01-01T00:00:00.Z", NULL, ".Z", "Z07:00"},
        {"2020-01-01T00:00:00Zx", NULL, "x", NULL},
        {"2020-13-01T00:00:00Z", "month", NULL, NULL},
        {"2020-00-01T00:00:00Z", "month", NULL, NULL},
        {"2020-02-30T00:00:00Z", "day", NULL, NULL},
        {"2021-02-29T00:00:00Z", "day", NULL, NULL},
        {"1900-02-29T00:00:00Z", "day", NULL, NULL},
        {"2020-01-00T00:00:00Z", "day", NULL, NULL},
        {"2020-01-01T24:00:00Z", "hour", NULL, NULL},
        {"2020-01-01T00:60:00Z", "minute", NULL, NULL},
        {"2020-01-01T00:00:60Z", "second", NULL, NULL},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_time_error error = {0};
        int64_t us;
        int r = cor_micro_time_parse_why(cor_strz(rows[i].text), &us, &error);
        bool fails = rows[i].range || rows[i].rest;

        if (r != (fails ? -COR_EINVAL : 0))
            fail_msg("%s: %d", rows[i].text, r);
        if (rows[i].range)
            assert_string_equal(error.range, rows[i].range);
        if (rows[i].rest) {
            assert_null(error.range);
            assert_str(error.rest, rows[i].rest);
        }
        if (rows[i].element)
            assert_string_equal(error.element, rows[i].element);
    }
}

/* The table of upstream's duration_test.go. */
TEST(time_text, ages_are_human_durations)
{
    static const struct {
        int64_t s;
        const char *text;
    } cases[] = {
        {-2, "<invalid>"},
        {-1, "0s"},
        {0, "0s"},
        {1, "1s"},
        {70, "70s"},
        {119, "119s"},
        {190, "3m10s"},
        {600, "10m"},
        {70 * 60, "70m"},
        {47 * 3600, "47h"},
        {7 * 3600 + 5, "7h"},
        {3 * 3600 + 60, "3h1m"},
        {49 * 3600, "2d1h"},
        {7 * 86400, "7d"},
        {8 * 86400 + 3600, "8d"},
        {729 * 86400, "729d"},
        {730 * 86400, "2y"},
        {731 * 86400, "2y1d"},
        {8 * 365 * 86400, "8y"},
    };
    char text[COR_AGE_TEXT_MAX];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_str(cor_age_print(cases[i].s, text), cases[i].text);
}

/* metav1.MicroTime. */
TEST(time_text, prints_and_reads_microseconds)
{
    char text[COR_MICRO_TIME_TEXT_MAX];
    int64_t us;

    assert_str(cor_micro_time_print(1735689600000000, text), "2025-01-01T00:00:00.000000Z");
    assert_str(cor_micro_time_print(1735689600000007, text), "2025-01-01T00:00:00.000007Z");
    assert_str(cor_micro_time_print(-1, text), "1969-12-31T23:59:59.999999Z");
    assert_str(cor_micro_time_print(INT64_MAX, text), "9999-12-31T23:59:59.999999Z");
    assert_str(cor_micro_time_print(INT64_MIN, text), "0000-01-01T00:00:00.000000Z");
    assert_int_equal(cor_micro_time_parse(COR_STR("2025-01-01T00:00:00.000007Z"), &us), 0);
    assert_int_equal(us, 1735689600000007);
    assert_int_equal(cor_micro_time_parse(COR_STR("2025-01-01T00:00:00.5+00:00"), &us), 0);
    assert_int_equal(us, 1735689600500000);
    assert_int_equal(cor_micro_time_parse(COR_STR("2025-01-01T00:00:00.1234569Z"), &us), 0);
    assert_int_equal(us, 1735689600123456);
    assert_int_equal(cor_micro_time_parse(COR_STR("1969-12-31T23:59:59.5Z"), &us), 0);
    assert_int_equal(us, -500000);
    assert_int_equal(cor_micro_time_parse(COR_STR("now"), &us), -COR_EINVAL);
}
