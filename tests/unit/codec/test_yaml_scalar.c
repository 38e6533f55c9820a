#include "codec/yaml_scalar.h"

#include <math.h>

#include "base/cleanup.h"
#include "test.h"

TEST(yaml_scalar, words_of_yaml_1_1_are_booleans_and_nulls)
{
    static const char *const trues[] = {"y", "Y", "yes", "Yes", "YES", "true", "True", "on", "ON"};
    static const char *const falses[] = {"n", "N", "no", "No", "NO", "false", "FALSE", "off"};
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};
    static const char *const texts[] = {"yEs", "tRUE", "nULL", "<<", "yes ", "none", "On1"};

    for (size_t i = 0; i < COR_ARRAY_LEN(trues); i++)
        assert_true(cor_yaml_resolve(cor_strz(trues[i])).boolean);
    for (size_t i = 0; i < COR_ARRAY_LEN(falses); i++) {
        struct cor_yaml_scalar s = cor_yaml_resolve(cor_strz(falses[i]));

        assert_int_equal(s.kind, COR_YAML_BOOL);
        assert_false(s.boolean);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(nulls); i++)
        assert_int_equal(cor_yaml_resolve(cor_strz(nulls[i])).kind, COR_YAML_NULL);
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        assert_int_equal(cor_yaml_resolve(cor_strz(texts[i])).kind, COR_YAML_STR);
}

TEST(yaml_scalar, integers_have_go_prefixes_and_underscores)
{
    static const struct {
        const char *text;
        bool negative;
        uint64_t magnitude;
    } rows[] = {{"0", false, 0},
                {"-0", false, 0},
                {"+12", false, 12},
                {"-12", true, 12},
                {"1_000", false, 1000},
                {"0x1F", false, 31},
                {"-0x1f", true, 31},
                {"0b101", false, 5},
                {"-0b101", true, 5},
                {"0o17", false, 15},
                {"017", false, 15},
                {"9223372036854775807", false, INT64_MAX},
                {"-9223372036854775808", true, (uint64_t)INT64_MAX + 1},
                {"18446744073709551615", false, UINT64_MAX}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_yaml_scalar s = cor_yaml_resolve(cor_strz(rows[i].text));

        assert_int_equal(s.kind, COR_YAML_INT);
        assert_int_equal(s.negative, rows[i].negative);
        assert_true(s.magnitude == rows[i].magnitude);
    }
}

TEST(yaml_scalar, floats_are_what_go_parses)
{
    static const struct {
        const char *text;
        double number;
    } rows[] = {{"1.5", 1.5}, {".5", 0.5},   {"5.", 5},       {"-1e3", -1000},
                {"08", 8},    {"1E+2", 100}, {"1_0.5", 10.5}, {"18446744073709551616", 0x1p64}};
    static const char *const texts[] = {"1e", "1.5.2", ".",   "-",  "1e999",
                                        "0x", "1.5s",  "--1", "1 2"};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_yaml_scalar s = cor_yaml_resolve(cor_strz(rows[i].text));

        assert_int_equal(s.kind, COR_YAML_FLOAT);
        assert_true(s.number == rows[i].number);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        assert_int_equal(cor_yaml_resolve(cor_strz(texts[i])).kind, COR_YAML_STR);
    assert_true(isnan(cor_yaml_resolve(COR_STR(".NaN")).number));
    assert_true(cor_yaml_resolve(COR_STR("-.inf")).number == -INFINITY);
}

TEST(yaml_scalar, dates_are_timestamps)
{
    static const char *const stamps[] = {"2001-01-02", "2001-1-2", "2024-02-29T10:00:00Z",
                                         "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.10"};
    static const char *const texts[] = {"2001-13-01",       "2023-02-29",  "2001-12-14T21:59:43",
                                        "2001-12-14 21:59", "20010-01-01", "2001-12-14T25:00:00Z"};

    for (size_t i = 0; i < COR_ARRAY_LEN(stamps); i++)
        assert_int_equal(cor_yaml_resolve(cor_strz(stamps[i])).kind, COR_YAML_TIMESTAMP);
    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++)
        assert_int_equal(cor_yaml_resolve(cor_strz(texts[i])).kind, COR_YAML_STR);
}

TEST(yaml_scalar, base_60_numbers_are_known)
{
    assert_true(cor_yaml_is_base60(COR_STR("12:30:45")));
    assert_true(cor_yaml_is_base60(COR_STR("-1_0:59.5")));
    assert_false(cor_yaml_is_base60(COR_STR("12:60")));
    assert_false(cor_yaml_is_base60(COR_STR("10.0.0.1:80")));
    assert_false(cor_yaml_is_base60(COR_STR("a:1")));
}

TEST(yaml_scalar, numbers_are_printed_as_go_prints_them)
{
    static const struct {
        double v;
        const char *json, *g;
    } rows[] = {{0, "0", "0"},
                {-0.0, "-0", "-0"},
                {1.5, "1.5", "1.5"},
                {100, "100", "100"},
                {1000000, "1000000", "1e+06"},
                {0.1, "0.1", "0.1"},
                {1e21, "1e+21", "1e+21"},
                {1e20, "100000000000000000000", "1e+20"},
                {123456789012345680000.0, "123456789012345680000", "1.2345678901234568e+20"},
                {0.000001, "0.000001", "1e-06"},
                {0.0000001, "1e-7", "1e-07"},
                {-2.5e-9, "-2.5e-9", "-2.5e-09"},
                {1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308"}};
    char text[COR_YAML_NUMBER_MAX];

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        cor_yaml_format_json(rows[i].v, text);
        assert_string_equal(text, rows[i].json);
        cor_yaml_format_g(rows[i].v, false, text);
        assert_string_equal(text, rows[i].g);
    }
    cor_yaml_format_g(0.1, true, text);
    assert_string_equal(text, "0.1");
    cor_yaml_format_g(1e300, true, text);
    assert_string_equal(text, ".inf");
    cor_yaml_format_g(-INFINITY, true, text);
    assert_string_equal(text, "-.inf");
}
