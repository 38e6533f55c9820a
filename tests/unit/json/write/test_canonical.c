#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "test.h"
#include "json/patch/patch.h"
#include "json/text/json.h"

static const struct cor_json_limits limits = {.bytes_max = 1536 * 1024,
                                              .depth_max = COR_JSON_DEPTH_MAX};

static void expect(const char *in, const char *want)
{
    struct cor_buf out;
    bool canonical = false;

    cor_buf_init(&out, 1 << 20);
    assert_int_equal(cor_json_canonicalize(cor_strz(in), &limits, &out, NULL, NULL), 0);
    assert_string_equal(cor_buf_z(&out), want);
    assert_int_equal(cor_json_check(cor_buf_str(&out), &limits, &canonical, NULL), 0);
    assert_true(canonical);
    cor_buf_deinit(&out);
}

TEST(canonical, puts_kind_and_api_version_first_and_sorts_the_rest)
{
    expect(
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"z\":\"1\",\"b\":\"2\"}},\"apiVersion\":\"v1\","
        "\"data\":{},\"kind\":\"ConfigMap\"}",
        "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{},"
        "\"metadata\":{\"labels\":{\"b\":\"2\",\"z\":\"1\"},\"name\":\"a\"}}");
}

TEST(canonical, sorts_by_bytes_at_every_level_but_the_first_two_only_outermost)
{
    expect("{\"spec\":[{\"kind\":1,\"apiVersion\":2}],\"Z\":1,\"a\":{\"kind\":1,\"b\":2}}",
           "{\"Z\":1,\"a\":{\"b\":2,\"kind\":1},\"spec\":[{\"apiVersion\":2,\"kind\":1}]}");
    expect("[{\"kind\":1,\"apiVersion\":2}]", "[{\"apiVersion\":2,\"kind\":1}]");
    expect("{\"abcdefghj\":1,\"abcdefghi\":2,\"abcdefgh\":3,\"\xc3\xa9\":4,\"\":5}",
           "{\"\":5,\"abcdefgh\":3,\"abcdefghi\":2,\"abcdefghj\":1,\"\xc3\xa9\":4}");
    expect("{\"a\\u0000\":1,\"a\":2,\"\\u0061\\n\":3}", "{\"a\":2,\"a\\u0000\":1,\"a\\n\":3}");
}

TEST(canonical, keeps_numbers_as_written)
{
    expect(" [0, -0, 1e3, 1E+3, 1.0, 1.50, 9223372036854775807, -9223372036854775808, "
           "18446744073709551615, 123456789012345678901234567890, 0.1e-7, 1e308]",
           "[0,-0,1e3,1E+3,1.0,1.50,9223372036854775807,-9223372036854775808,"
           "18446744073709551615,123456789012345678901234567890,0.1e-7,1e308]");
}

TEST(canonical, escapes_only_what_must_be)
{
    expect("[\"\\u0041\\/\\u00e9\\u20ac\\ud83d\\ude00<>&\\u2028\\u007f\"]",
           "[\"A/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80<>&\xe2\x80\xa8\x7f\"]");
    expect("[\"\\u0008\\u0009\\u000A\\u000c\\u000D\\u0022\\u005C\\u0000\\u001F\"]",
           "[\"\\b\\t\\n\\f\\r\\\"\\\\\\u0000\\u001f\"]");
    expect("{\"b\\u0022\":\"\",\"a\":\"long enough to leave the first word \\u0001 behind\"}",
           "{\"a\":\"long enough to leave the first word \\u0001 behind\",\"b\\\"\":\"\"}");
}

TEST(canonical, replaces_lone_surrogates_as_go_does)
{
    expect("[\"\\ud800\",\"\\udc00x\",\"\\ud800\\ud800\\udc00\",\"\\ud800\\u0041\",\"\\\\ud800\"]",
           "[\"\xef\xbf\xbd\",\"\xef\xbf\xbdx\",\"\xef\xbf\xbd\xf0\x90\x80\x80\","
           "\"\xef\xbf\xbd"
           "A\",\"\\\\ud800\"]");
}

TEST(canonical, leaves_canonical_bytes_alone_and_appends)
{
    struct cor_buf out;

    cor_buf_init(&out, 100);
    assert_int_equal(cor_buf_addz(&out, "data: "), 0);
    assert_int_equal(cor_json_canonicalize(COR_STR("{\"a\":[1]}"), &limits, &out, NULL, NULL), 0);
    assert_int_equal(cor_json_canonicalize(COR_STR(" null "), &limits, &out, NULL, NULL), 0);
    assert_string_equal(cor_buf_z(&out), "data: {\"a\":[1]}null");
    cor_buf_deinit(&out);
}

TEST(canonical, sorts_large_objects)
{
    struct cor_buf in, out;
    char before[16] = "";

    cor_buf_init(&in, 1 << 20);
    cor_buf_init(&out, 1 << 20);
    assert_int_equal(cor_buf_addc(&in, '{'), 0);
    for (unsigned i = 0; i < 5000; i++)
        assert_int_equal(cor_buf_addf(&in, "%s\"k%05u\": %u", i ? "," : "", i * 7919 % 5003, i), 0);
    assert_int_equal(cor_buf_addc(&in, '}'), 0);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&in), &limits, &out, NULL, NULL), 0);
    for (const char *p = cor_buf_z(&out); (p = strstr(p, "\"k")); p += 8) {
        assert_true(strncmp(before, p, 7) < 0);
        memcpy(before, p, 7);
    }
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
}

static void expect_dups(const char *in, const char *want_out, size_t n, const char *const *paths)
{
    struct cor_json_dups dups;
    struct cor_buf out;

    cor_json_dups_init(&dups);
    cor_buf_init(&out, 1 << 20);
    assert_int_equal(cor_json_canonicalize(cor_strz(in), &limits, &out, &dups, NULL), 0);
    assert_string_equal(cor_buf_z(&out), want_out);
    assert_int_equal(dups.n, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(dups.v[i].path, paths[i]);
        assert_true(i == 0 || dups.v[i - 1].offset < dups.v[i].offset);
    }
    cor_json_dups_deinit(&dups);
    cor_buf_deinit(&out);
}

TEST(canonical, the_last_of_equal_keys_wins_and_each_is_reported_by_path)
{
    expect_dups("{\"a\":1,\"a\":2,\"a\":3}", "{\"a\":3}", 1, (const char *[]){"a"});
    expect_dups("{\"spec\":{\"replicas\":1,\"replicas\":2,\"x\":[{\"image\":1},{\"image\":1,"
                "\"image\":2}]},\"kind\":\"A\",\"kind\":\"B\"}",
                "{\"kind\":\"B\",\"spec\":{\"replicas\":2,\"x\":[{\"image\":1},{\"image\":2}]}}", 3,
                (const char *[]){"spec.replicas", "spec.x[1].image", "kind"});
    expect_dups("[{\"op\":1,\"op\":2}]", "[{\"op\":2}]", 1, (const char *[]){"[0].op"});
    expect_dups("{\"\":1,\"\":2}", "{\"\":2}", 1, (const char *[]){""});
    expect_dups("{\"\\u0061\":1,\"a\":2}", "{\"a\":2}", 1, (const char *[]){"a"});
}

TEST(canonical, reports_inside_overridden_values_and_each_path_once)
{
    expect_dups("{\"b\":{\"x\":1,\"x\":2},\"b\":{\"x\":3,\"x\":4},\"a\":[1,1]}",
                "{\"a\":[1,1],\"b\":{\"x\":4}}", 2, (const char *[]){"b.x", "b"});
}

TEST(canonical, reports_the_place_of_the_repeated_key)
{
    struct cor_json_dups dups;
    struct cor_buf out;

    cor_json_dups_init(&dups);
    cor_buf_init(&out, 100);
    assert_int_equal(
        cor_json_canonicalize(COR_STR("{\"ab\":1, \"ab\":2}"), &limits, &out, &dups, NULL), 0);
    assert_int_equal(dups.n, 1);
    assert_int_equal(dups.v[0].offset, 10);
    cor_json_dups_deinit(&dups);
    cor_buf_deinit(&out);
}

TEST(canonical, reports_at_most_a_hundred_and_those_are_the_first)
{
    struct cor_json_dups dups;
    struct cor_buf in, out;
    char name[16];

    cor_json_dups_init(&dups);
    cor_buf_init(&in, 1 << 20);
    cor_buf_init(&out, 1 << 20);
    assert_int_equal(cor_buf_addc(&in, '{'), 0);
    for (unsigned i = 0; i < 150; i++) /* descending, against the order of the writer */
        assert_int_equal(
            cor_buf_addf(&in, "%s\"k%03u\":1,\"k%03u\":2", i ? "," : "", 200 - i, 200 - i), 0);
    assert_int_equal(cor_buf_addc(&in, '}'), 0);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&in), &limits, &out, &dups, NULL), 0);
    assert_int_equal(dups.n, COR_JSON_DUPS_MAX);
    for (unsigned i = 0; i < dups.n; i++) {
        snprintf(name, sizeof(name), "k%03u", 200 - i);
        assert_string_equal(dups.v[i].path, name);
    }
    cor_json_dups_deinit(&dups);
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
}

TEST(canonical, writes_a_thousand_levels)
{
    struct cor_buf in, out, patched;

    cor_buf_init(&in, 1 << 20);
    cor_buf_init(&out, 1 << 20);
    cor_buf_init(&patched, 1 << 20);
    for (unsigned i = 0; i < COR_JSON_DEPTH_MAX - 1; i++)
        assert_int_equal(cor_buf_addz(&in, "{\"b\":1,\"a\":"), 0);
    assert_int_equal(cor_buf_addz(&in, "[]"), 0);
    for (unsigned i = 0; i < COR_JSON_DEPTH_MAX - 1; i++)
        assert_int_equal(cor_buf_addc(&in, '}'), 0);
    assert_int_equal(cor_json_canonicalize(cor_buf_str(&in), &limits, &out, NULL, NULL), 0);
    assert_int_equal(out.n, in.n);
    assert_int_equal(
        cor_json_merge_patch(cor_buf_str(&out), cor_buf_str(&in), &limits, &patched, NULL, NULL),
        0);
    assert_true(cor_str_eq(cor_buf_str(&patched), cor_buf_str(&out)));
    cor_buf_reset(&patched);
    assert_int_equal(
        cor_json_json_patch(cor_buf_str(&out),
                            COR_STR("[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]"), &limits,
                            &patched, NULL, NULL),
        0);
    cor_buf_deinit(&in);
    cor_buf_deinit(&out);
    cor_buf_deinit(&patched);
}

TEST(canonical, refuses_what_does_not_fit_and_keeps_the_buffer)
{
    struct cor_json_limits small = {.bytes_max = 10, .depth_max = 5};
    struct cor_json_error err;
    struct cor_buf out;

    cor_buf_init(&out, 8);
    assert_int_equal(cor_buf_addc(&out, 'x'), 0);
    assert_int_equal(cor_json_canonicalize(COR_STR("[1, 2, 3]"), &small, &out, NULL, &err),
                     -COR_ETOOBIG);
    assert_int_equal(cor_json_canonicalize(COR_STR("[\"12345678\"]"), &small, &out, NULL, &err),
                     -COR_ETOOBIG);
    assert_int_equal(cor_json_canonicalize(COR_STR("[1, x]"), &small, &out, NULL, &err),
                     -COR_EINVAL);
    assert_int_equal(err.offset, 4);
    assert_string_equal(cor_buf_z(&out), "x");
    cor_buf_deinit(&out);
}

TEST(canonical, survives_every_failed_allocation)
{
    static const char in[] =
        "{\"b\":{\"y\":1,\"x\":2,\"x\":[{\"\":1,\"\":2}]},\"a\":\"\\ud800\",\"a\":1}";

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_json_dups dups;
        struct cor_buf out;
        int r;

        cor_json_dups_init(&dups);
        cor_buf_init(&out, 1000);
        r = cor_json_canonicalize(cor_strz(in), &limits, &out, &dups, NULL);
        if (test_alloc_failed()) {
            assert_int_equal(r, -COR_ENOMEM);
            assert_int_equal(out.n, 0);
        } else {
            assert_int_equal(r, 0);
            assert_string_equal(cor_buf_z(&out), "{\"a\":1,\"b\":{\"x\":[{\"\":2}],\"y\":1}}");
            assert_int_equal(dups.n, 3);
            assert_string_equal(dups.v[1].path, "b.x[0].");
        }
        cor_json_dups_deinit(&dups);
        cor_buf_deinit(&out);
    }
}

/* A guide by names: the value of a member "raw" is raw, whatever it is in. */
static const void *raw_of_kind(struct cor_str kind, struct cor_str api_version)
{
    return cor_str_eqz(kind, "K") && cor_str_eqz(api_version, "v1") ? "node" : NULL;
}

static const void *raw_of_member(const void *node, struct cor_str key)
{
    return cor_str_eqz(key, "raw") ? cor_json_raw_node : node;
}

static const void *raw_of_element(const void *node)
{
    return node;
}

/* Contract types 2.4.5, 2.2.4. */
TEST(canonical, raw_values_keep_their_bytes_but_for_spaces)
{
    static const struct cor_json_guide guide = {raw_of_kind, raw_of_member, raw_of_element};
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"{\"raw\": { \"b\" : [ 1.0 , true ] , \"a\":\"\\u0026 \\/ \\\" \\\\\",\"b\":2}, \"kind\":\"K\", "
         "\"apiVersion\":\"v1\"}",
         "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"raw\":{\"b\":[1.0,true],\"a\":\"\\u0026 \\/ "
         "\\\" \\\\\",\"b\":2}}"},
        /* In lists and objects; the last of equal keys counts outside of raw values. */
        {"{\"kind\":\"K\",\"apiVersion\":\"v1\",\"z\":[{\"y\":1,\"raw\":{\"b\":1,\"a\":2},"
         "\"\\u0072aw\":{\"d\":1,\"c\":2}}],\"a\":\"\\u0026\"}",
         "{\"kind\":\"K\",\"apiVersion\":\"v1\",\"a\":\"&\",\"z\":[{\"raw\":{\"d\":1,\"c\":2},"
         "\"y\":1}]}"},
        /* Another kind has none. */
        {"{\"raw\":{\"b\":1,\"a\":2},\"kind\":\"K\",\"apiVersion\":\"v2\"}",
         "{\"kind\":\"K\",\"apiVersion\":\"v2\",\"raw\":{\"a\":2,\"b\":1}}"},
    };
    const struct cor_json_limits guided = {1 << 16, COR_JSON_DEPTH_MAX, false, &guide, NULL};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 16};

        assert_int_equal(cor_json_canonicalize(cor_strz(cases[i].in), &guided, &out, NULL, NULL),
                         0);
        assert_string_equal(cor_buf_z(&out), cases[i].out);
    }
}
