#include "meta/time_text.h"

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
    assert_str(cor_micro_time_print(INT64_MAX, text), "");
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
