#include "base/err.h"
#include "test.h"
#include "json/text/json.h"

static const struct cor_json_limits limits = {.bytes_max = 1536 * 1024,
                                              .depth_max = COR_JSON_DEPTH_MAX};

static int check(struct cor_str in, bool *ret_canonical)
{
    struct cor_json_error err;

    return cor_json_check(in, &limits, ret_canonical, &err);
}

/* After JSONTestSuite's y_ files. */
static const char *const accepted[] = {
    "[[]   ]",
    "[\"\"]",
    "[]",
    "[\"a\"]",
    "[false]",
    "[null, 1, \"1\", {}]",
    "[null]",
    "[1\n]",
    " [1]",
    "[1,null,null,null,2]",
    "[2] ",
    "[123e65]",
    "[0e+1]",
    "[0e1]",
    "[ 4]",
    "[-0.000000000000000000000000000000000000000000000000000000000000000000000000000001]",
    "[20e1]",
    "[-0]",
    "[-123]",
    "[-1]",
    "[1E22]",
    "[1E-2]",
    "[1E+2]",
    "[123e45]",
    "[123.456e78]",
    "[1e-2]",
    "[1e+2]",
    "[123]",
    "[123.456789]",
    "{\"asd\":\"sdf\", \"dfg\":\"fgh\"}",
    "{\"asd\":\"sdf\"}",
    "{\"a\":\"b\",\"a\":\"c\"}",
    "{}",
    "{\"\":0}",
    "{\"foo\\u0000bar\": 42}",
    "{ \"min\": -1.0e+28, \"max\": 1.0e+28 }",
    "{\"a\":[]}",
    "{\"title\":\"\\u041f\\u043e\\u043b\"}",
    "{\n\"a\": \"b\"\n}",
    "[\"\\u0060\\u012a\\u12AB\"]",
    "[\"\\uD801\\udc37\"]",
    "[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
    "[\"\\\\u0000\"]",
    "[\"a/*b*/c/*d//e\"]",
    "[\"\\uDBFF\\uDFFF\"]",
    "[\"\xef\xbf\xbf\"]",
    "[\"\xf0\x9b\xbf\xbf\"]",
    "[\"\\uFFFF\"]",
    "[\"\x7f\"]",
    "[\"\xe2\x80\xa8\"]",
    "\" \"",
    "42",
    "-0.1",
    "null",
    "true",
    "false",
    "\"\"",
    "[\"a\"]\n",
    "\r\n\t [ true ] \r\n\t ",
    "[\"\\uDADA\"]",
    "[\"\\uD888\\u1234\"]",
    "[\"\\uDd1e\\uD834\"]",
    "[100000000000000000000000]",
};

/* After its n_ files. */
static const char *const refused[] = {
    "",
    " ",
    "[1 true]",
    "[a\xe5]",
    "[\"\": 1]",
    "[\"\"],",
    "[,1]",
    "[1,,2]",
    "[\"x\",,]",
    "[\"x\"]]",
    "[\"\",]",
    "[\"x\"",
    "[x",
    "[3[4]]",
    "[\xff]",
    "[1:2]",
    "[,]",
    "[-]",
    "[   , \"\"]",
    "[\"a\",\n4\n,1,",
    "[1,]",
    "[*]",
    "[1,\n1\n,1",
    "[fals]",
    "[nul]",
    "[tru]",
    "[++1234]",
    "[+1]",
    "[-01]",
    "[-1.0.]",
    "[-2.]",
    "[-NaN]",
    "[.-1]",
    "[.2e-3]",
    "[0.1.2]",
    "[0.3e+]",
    "[0.e1]",
    "[0E]",
    "[0e+]",
    "[1.0e-]",
    "[1eE2]",
    "[1 000.0]",
    "[2.e3]",
    "[9.e+]",
    "[Inf]",
    "[NaN]",
    "[1+2]",
    "[0x1]",
    "[0x42]",
    "[Infinity]",
    "[-Infinity]",
    "[-foo]",
    "[- 1]",
    "[-012]",
    "[012]",
    "[1ea]",
    "[123\xe5]",
    "[1.8011670033376514H-308]",
    "{\"x\", null}",
    "{\"x\"::\"b\"}",
    "{\"a\" b}",
    "{key: 'value'}",
    "{\"a\":\"a\" 123}",
    "{:\"b\"}",
    "{\"a\" \"b\"}",
    "{\"a\":",
    "{\"a\"",
    "{1:1}",
    "{null:null,null:null}",
    "{\"id\":0,,,,,}",
    "{'a':0}",
    "{\"id\":0,}",
    "{\"a\":\"b\"}/**/",
    "{\"a\":\"b\"}#",
    "{\"a\":\"b\",,\"c\":\"d\"}",
    "{a: \"b\"}",
    "{\"a\":\"a",
    "{ \"foo\" : \"bar\", \"a\" }",
    "{\"a\":\"b\"}#{}",
    "[\"\\uD800\\\"]",
    "[\"\\uD800\\u\"]",
    "[\"\\uD800\\u1\"]",
    "[\"\\uD800\\u1x\"]",
    "[\xc3\xa9]",
    "[\"\\x00\"]",
    "[\"\\\\\\\"]",
    "[\"\\\t\"]",
    "[\"\\",
    "[\"\\\"]",
    "[\"\\u00A\"]",
    "[\"\\uD834\\uDd\"]",
    "[\"\\a\"]",
    "[\"\\u00\xe5\"]",
    "[\"a\nb\"]",
    "[\"\t\"]",
    "[\"\x01\"]",
    "\"\\UA66D\"",
    "abc",
    "\"",
    "['single quote']",
    "[\"\xc0\xaf\"]",
    "[\"\xe0\x80\xaf\"]",
    "[\"\xed\xa0\x80\"]",
    "[\"\xf4\xbf\xbf\xbf\"]",
    "[\"\xf5\x80\x80\x80\"]",
    "[\"\x81\"]",
    "[\"\xe9\"]",
    "[\"\xe6\x97\"]",
    "[\"\xf0\x9b\xbf\"]",
    "\xef\xbb\xbf{}",
    "<.>",
    "[<null>]",
    "[1]x",
    "[True]",
    "1]",
    "]",
    "[][]",
    "[",
    "{",
    "{}}",
    "{\"\":",
    "[1\x0c]",
    "[\xe2\x81\xa0]",
    "2@",
    "nul",
    "nullx",
    "truee",
    "--1",
    "1.",
};

TEST(check, accepts_what_is_json)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(accepted); i++) {
        bool canonical;

        if (check(cor_strz(accepted[i]), &canonical) != 0)
            fail_msg("refused: %s", accepted[i]);
    }
}

TEST(check, refuses_what_is_not_json)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(refused); i++) {
        bool canonical;

        if (check(cor_strz(refused[i]), &canonical) != -COR_EINVAL)
            fail_msg("accepted: %s", refused[i]);
    }
}

TEST(check, refuses_a_nul_byte_anywhere)
{
    static const struct cor_str bytes[] = {{"[1]\0", 4}, {"[\"a\0\"]", 6}, {"\0", 1}, {"[\0]", 3}};

    for (size_t i = 0; i < COR_ARRAY_LEN(bytes); i++) {
        bool canonical;

        assert_int_equal(check(bytes[i], &canonical), -COR_EINVAL);
    }
}

TEST(check, says_where_and_why)
{
    /* Messages as encoding/json words them. */
    static const struct {
        const char *in;
        size_t offset;
        unsigned line, column;
        const char *message;
    } rows[] = {
        {"", 0, 1, 1, "unexpected end of JSON input"},
        {"{\"a\":", 5, 1, 6, "unexpected end of JSON input"},
        {"{\n \"a\": x}", 8, 2, 7, "invalid character 'x' looking for beginning of value"},
        {"{\"a\" 1}", 5, 1, 6, "invalid character '1' after object key"},
        {"{\"a\":1 \"b\"}", 7, 1, 8, "invalid character '\"' after object key:value pair"},
        {"{\"a\":1,}", 7, 1, 8, "invalid character '}' looking for beginning of object key string"},
        {"[1 2]", 3, 1, 4, "invalid character '2' after array element"},
        {"[]\n\n'", 4, 3, 1, "invalid character '\\'' after top-level value"},
        {"[\"a\nb\"]", 3, 1, 4, "invalid character '\\n' in string literal"},
        {"[\"\x01\"]", 2, 1, 3, "invalid character '\\x01' in string literal"},
        {"[\"\\q\"]", 3, 1, 4, "invalid character 'q' in string escape code"},
        {"[\"\\u12g4\"]", 6, 1, 7, "invalid character 'g' in \\u hexadecimal character escape"},
        {"[-a]", 2, 1, 3, "invalid character 'a' in numeric literal"},
        {"[1.a]", 3, 1, 4, "invalid character 'a' after decimal point in numeric literal"},
        {"[1ea]", 3, 1, 4, "invalid character 'a' in exponent of numeric literal"},
        {"[01]", 2, 1, 3, "invalid character '1' after array element"},
        {"[trug]", 4, 1, 5, "invalid character 'g' in literal true (expecting 'e')"},
        {"[fa1se]", 3, 1, 4, "invalid character '1' in literal false (expecting 'l')"},
        {"[nil]", 2, 1, 3, "invalid character 'i' in literal null (expecting 'u')"},
        {"\xef\xbb\xbf{}", 0, 1, 1, "invalid character '\xc3\xaf' looking for beginning of value"},
        {"{\"key\":\"ab\xff\"}", 10, 1, 11, "invalid UTF-8 in string literal"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_json_error err;
        bool canonical;

        assert_int_equal(cor_json_check(cor_strz(rows[i].in), &limits, &canonical, &err),
                         -COR_EINVAL);
        assert_string_equal(err.message, rows[i].message);
        assert_int_equal(err.offset, rows[i].offset);
        assert_int_equal(err.line, rows[i].line);
        assert_int_equal(err.column, rows[i].column);
    }
}

TEST(check, tells_canonical_bytes_from_others)
{
    static const char *const canonical_rows[] = {
        "null",
        "1",
        "-0",
        "1E+5",
        "\"\xc3\xa9\"",
        "[]",
        "{}",
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"apiVersion\":1,\"kind\":2}}",
        "{\"apiVersion\":\"v1\",\"a\":1}",
        "{\"kind\":\"x\",\"\":1,\"a\":2}",
        "{\"a\":1,\"aa\":2,\"b\":{\"c\":[{\"x\":1},{\"a\":1}]}}",
        "{\"a\\n\":1,\"a \":2}", /* "a<newline>" stands before "a<space>", though '\\' > ' ' */
        "[\"\\u0000\\u001f\\b\\f\\n\\r\\t\\\"\\\\\x7f/\"]",
        "{\"\\\"\":1,\"\\\\\":2}",
    };
    static const char *const other_rows[] = {
        " 1",
        "1\n",
        "[ ]",
        "{ }",
        "[1, 2]",
        "{\"a\" :1}",
        "{\"a\": 1}",
        "{\"b\":1,\"a\":2}",
        "{\"a\":1,\"a\":2}",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}",
        "{\"a\":1,\"kind\":\"Pod\"}",
        "{\"a\":{\"kind\":1,\"apiVersion\":2}}",
        "[{\"kind\":1,\"apiVersion\":2}]",
        "[\"\\/\"]",
        "[\"\\u0041\"]",
        "[\"\\u000a\"]",
        "[\"\\u001F\"]",
        "[\"\\ud83d\\ude00\"]",
        "[\"\\ud800\"]",
        "[\"\\u00e9\"]",
        "{\"a \":1,\"a\\n\":2}",
        "{\"\\u0061\":1}",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(canonical_rows); i++) {
        bool canonical = false;

        assert_int_equal(check(cor_strz(canonical_rows[i]), &canonical), 0);
        if (!canonical)
            fail_msg("not canonical: %s", canonical_rows[i]);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(other_rows); i++) {
        bool canonical = true;

        assert_int_equal(check(cor_strz(other_rows[i]), &canonical), 0);
        if (canonical)
            fail_msg("canonical: %s", other_rows[i]);
    }
}

TEST(check, stops_at_the_limits)
{
    struct cor_json_limits small = {.bytes_max = 8, .depth_max = 3};
    struct cor_json_error err;
    bool canonical;

    assert_int_equal(cor_json_check(COR_STR("[[[1]]]"), &small, &canonical, &err), 0);
    assert_int_equal(cor_json_check(COR_STR("[[[[]]]]"), &small, &canonical, &err), -COR_EINVAL);
    assert_int_equal(err.offset, 3);
    assert_string_equal(err.message, "invalid character '[' exceeded max depth");
    assert_int_equal(cor_json_check(COR_STR("[1,2,3,4]"), &small, &canonical, &err), -COR_ETOOBIG);
    assert_int_equal(err.offset, 8);
    assert_string_equal(err.message, "9 bytes of JSON exceed the limit of 8");
}

TEST(check, allows_a_thousand_levels)
{
    char in[2 * (COR_JSON_DEPTH_MAX + 1)];
    bool canonical;

    memset(in, '[', COR_JSON_DEPTH_MAX);
    memset(in + COR_JSON_DEPTH_MAX, ']', COR_JSON_DEPTH_MAX);
    assert_int_equal(check(cor_str(in, 2 * COR_JSON_DEPTH_MAX), &canonical), 0);
    assert_true(canonical);
    memset(in, '[', COR_JSON_DEPTH_MAX + 1);
    memset(in + COR_JSON_DEPTH_MAX + 1, ']', COR_JSON_DEPTH_MAX + 1);
    assert_int_equal(check(cor_str(in, sizeof(in)), &canonical), -COR_EINVAL);
}

TEST(check, reads_the_first_of_several_values)
{
    static const struct {
        const char *in;
        size_t n; /* 0: refused */
        bool is_canonical;
    } rows[] = {{"{\"a\":1,\"b\":[]},{\"c\":", 14, true},
                {"{\"b\":1,\"a\":2}]}", 13, false},
                {"[1, 2]nothing", 6, false},
                {"{}", 2, true},
                {"{\"a\":1", 0, false},
                {"{\"a\":\"x", 0, false},
                {"{", 0, false},
                {"{\"a\":+1},", 0, false},
                {"{\"a\":\"\xff\"}", 0, false}};

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct cor_str in = cor_strz(rows[i].in);
        bool is_canonical;
        size_t n;

        assert_int_equal(cor_json_check_first(in, &limits, &is_canonical, &n),
                         rows[i].n > 0 ? 0 : -COR_EINVAL);
        if (rows[i].n == 0)
            continue;
        assert_int_equal(n, rows[i].n);
        assert_int_equal(is_canonical, rows[i].is_canonical);
    }
}

TEST(check, the_first_value_has_the_limits)
{
    const struct cor_json_limits few = {.bytes_max = 9, .depth_max = 1};
    bool is_canonical;
    size_t n;

    assert_int_equal(cor_json_check_first(COR_STR("{\"a\":123}}"), &few, &is_canonical, &n), 0);
    assert_int_equal(n, 9);
    assert_int_equal(cor_json_check_first(COR_STR("{\"a\":1234}"), &few, &is_canonical, &n),
                     -COR_EINVAL);
    assert_int_equal(cor_json_check_first(COR_STR("[[]]"), &few, &is_canonical, &n), -COR_EINVAL);
}
