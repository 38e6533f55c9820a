#include "base/err.h"
#include "coracle/time.h"
#include "coracle/view_values.h"
#include "test.h"

static int decode(const char *json, char *buf, size_t cap, struct cor_str *ret)
{
    return cor_view_base64(cor_view(cor_strz(json)), buf, cap, ret);
}

TEST(view_values, decode_base64)
{
    char buf[16];
    struct cor_str bytes = COR_STR("unchanged");

    assert_int_equal(decode("\"aGVsbG8=\"", buf, sizeof(buf), &bytes), 0);
    assert_str(bytes, "hello");
    assert_int_equal(decode("\"\\/\\/8=\"", buf, sizeof(buf), &bytes), 0);
    assert_int_equal(bytes.n, 2);
    assert_memory_equal(bytes.p, "\xff\xff", 2);
    assert_int_equal(decode("\"\"", buf, sizeof(buf), &bytes), 0);
    assert_int_equal(bytes.n, 0);
    bytes = COR_STR("unchanged");
    assert_int_equal(decode("\"aGVsbG8\"", buf, sizeof(buf), &bytes), -COR_EINVAL);
    assert_int_equal(decode("\"a b=\"", buf, sizeof(buf), &bytes), -COR_EINVAL);
    assert_int_equal(decode("null", buf, sizeof(buf), &bytes), -COR_EINVAL);
    assert_int_equal(decode("", buf, sizeof(buf), &bytes), -COR_ENOTFOUND);
    assert_int_equal(decode("\"aGVsbG8=\"", buf, 4, &bytes), -COR_ETOOBIG);
    assert_str(bytes, "unchanged");
}

TEST(view_values, need_memory_for_base64)
{
    char buf[16];
    struct cor_str bytes = COR_STR("");

    FOR_EACH_FAILED_ALLOC(n) {
        int r = decode("\"aGVsbG8=\"", buf, sizeof(buf), &bytes);

        if (r == 0) {
            assert_str(bytes, "hello");
        } else {
            assert_int_equal(r, -COR_ENOMEM);
            assert_true(test_alloc_failed());
        }
    }
}

static void expect_scaled(const char *json, int64_t total, int64_t down, int64_t up)
{
    struct cor_view view = cor_view(cor_strz(json));
    int64_t n = 77;

    assert_int_equal(cor_view_scaled(view, total, false, &n), 0);
    assert_int_equal(n, down);
    assert_int_equal(cor_view_scaled(view, total, true, &n), 0);
    assert_int_equal(n, up);
}

static void expect_refused(const char *json, int64_t total, int r)
{
    int64_t n = 77;

    assert_int_equal(cor_view_scaled(cor_view(cor_strz(json)), total, true, &n), r);
    assert_int_equal(n, 77);
}

/* The cases of intstr's TestGetScaledValueFromIntOrPercent, and beyond. */
TEST(view_values, scale_percentages)
{
    expect_scaled("123", 0, 123, 123);
    expect_scaled("-5", 10, -5, -5);
    expect_scaled("\"90%\"", 100, 90, 90);
    expect_scaled("\"90%\"", 95, 85, 86);
    expect_scaled("\"25%\"", 3, 0, 1);
    expect_scaled("\"0%\"", 3, 0, 0);
    expect_scaled("\"25%\"", 0, 0, 0);
    expect_scaled("\"+150%\"", 3, 4, 5);
    expect_scaled("\"-50%\"", 3, -2, -1);
    expect_refused("\"%\"", 1, -COR_EINVAL);
    expect_refused("\"\"", 1, -COR_EINVAL);
    expect_refused("\"5\"", 1, -COR_EINVAL);
    expect_refused("\"1.5%\"", 1, -COR_EINVAL);
    expect_refused("\"+-5%\"", 1, -COR_EINVAL);
    expect_refused("\"-%\"", 1, -COR_EINVAL);
    expect_refused("\"APPLE%\"", 1, -COR_EINVAL);
    expect_refused("null", 1, -COR_EINVAL);
    expect_refused("true", 1, -COR_EINVAL);
    expect_refused("2147483648", 1, -COR_ETOOBIG);
    expect_refused("\"9223372036854775807%\"", 2, -COR_ETOOBIG);
    expect_refused("", 1, -COR_ENOTFOUND);
}

TEST(view_values, have_public_times)
{
    char text[COR_MICRO_TIME_TEXT_MAX];
    int64_t t = 0;

    assert_int_equal(cor_time_parse(COR_STR("2026-11-16T23:00:00+01:00"), &t), 0);
    assert_str(cor_time_print(t, text), "2026-11-16T22:00:00Z");
    assert_int_equal(cor_micro_time_parse(COR_STR("2026-11-16T22:00:00.5Z"), &t), 0);
    assert_str(cor_micro_time_print(t, text), "2026-11-16T22:00:00.500000Z");
    assert_int_equal(cor_time_parse(COR_STR("yesterday"), &t), -COR_EINVAL);
}
