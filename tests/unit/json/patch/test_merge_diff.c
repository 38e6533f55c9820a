#include "base/err.h"
#include "test.h"
#include "json/patch/merge_diff.h"
#include "json/patch/patch.h"
#include "json/text/json.h"

static void expect_part(const char *before, const char *after, enum cor_merge_diff_part part,
                        const char *patch)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 1 << 16);
    assert_int_equal(
        cor_json_merge_diff(cor_strz(before), cor_strz(after), part, COR_STR("status"), &out), 0);
    assert_string_equal(cor_buf_z(&out), patch);
}

/* The patch is `patch`, and makes `after` out of `before`. */
static void expect_diff(const char *before, const char *after, const char *patch)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf patched;

    expect_part(before, after, COR_MERGE_DIFF_ALL, patch);
    cor_buf_init(&patched, 1 << 16);
    assert_int_equal(cor_json_merge_patch(cor_strz(before), cor_strz(patch),
                                          &COR_JSON_LIMITS_DEFAULT, &patched, NULL, NULL),
                     0);
    assert_string_equal(cor_buf_z(&patched), after);
}

TEST(merge_diff, has_what_differs_and_nothing_else)
{
    expect_diff("{}", "{}", "{}");
    expect_diff("{\"a\":1,\"b\":[1]}", "{\"a\":1,\"b\":[1]}", "{}");
    expect_diff("{\"a\":1,\"c\":2}", "{\"b\":3,\"c\":2}", "{\"a\":null,\"b\":3}");
    expect_diff("{\"a\":{\"b\":{\"c\":1,\"d\":2}}}", "{\"a\":{\"b\":{\"c\":1,\"d\":3}}}",
                "{\"a\":{\"b\":{\"d\":3}}}");
    expect_diff("{\"a\":[1,2]}", "{\"a\":[2]}", "{\"a\":[2]}");
    expect_diff("{\"a\":{\"b\":1}}", "{\"a\":[]}", "{\"a\":[]}");
    expect_diff("{\"a\":1}", "{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}");
    expect_diff("{\"a\":{\"b\":1}}", "{\"a\":{}}", "{\"a\":{\"b\":null}}");
    expect_diff("{\"a\":{}}", "{}", "{\"a\":null}");
    expect_diff("{}", "{\"a\\nb\":\"\\\"\"}", "{\"a\\nb\":\"\\\"\"}");
    expect_diff("{\"kind\":\"A\",\"apiVersion\":\"v1\",\"a\":1}",
                "{\"kind\":\"B\",\"apiVersion\":\"v2\",\"b\":1}",
                "{\"kind\":\"B\",\"apiVersion\":\"v2\",\"a\":null,\"b\":1}");
    expect_diff("{\"apiVersion\":\"v1\",\"z\":1}", "{\"kind\":\"B\",\"z\":1}",
                "{\"kind\":\"B\",\"apiVersion\":null}");
    expect_diff("{\"a\":{\"a\":1,\"kind\":1}}", "{\"a\":{\"apiVersion\":1,\"kind\":1}}",
                "{\"a\":{\"a\":null,\"apiVersion\":1}}");
}

TEST(merge_diff, can_leave_a_member_out_or_compare_it_alone)
{
    static const char before[] = "{\"spec\":1,\"status\":{\"a\":1,\"status\":1}}";
    static const char after[] = "{\"spec\":2,\"status\":{\"a\":1,\"status\":2}}";

    expect_part(before, after, COR_MERGE_DIFF_BUT, "{\"spec\":2}");
    expect_part(before, after, COR_MERGE_DIFF_ONLY, "{\"status\":{\"status\":2}}");
    expect_part(before, "{}", COR_MERGE_DIFF_ONLY, "{\"status\":null}");
    expect_part("{}", after, COR_MERGE_DIFF_BUT, "{\"spec\":2}");
}

TEST(merge_diff, a_failure_leaves_the_buffer_as_it_was)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;

    cor_buf_init(&out, 8);
    assert_int_equal(cor_buf_addz(&out, "x"), 0);
    assert_int_equal(cor_json_merge_diff(COR_STR("{}"), COR_STR("{\"long\":\"text\"}"),
                                         COR_MERGE_DIFF_ALL, COR_STR(""), &out),
                     -COR_ETOOBIG);
    assert_string_equal(cor_buf_z(&out), "x");
}
