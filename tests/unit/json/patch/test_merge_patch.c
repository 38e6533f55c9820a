#include "base/err.h"
#include "test.h"
#include "json/patch/patch.h"

static const struct cor_json_limits limits = {.bytes_max = 1 << 20, .depth_max = 100};

static void expect(const char *doc, const char *patch, const char *want)
{
    struct cor_json_patch_error err;
    struct cor_buf out;
    bool canonical = false;

    cor_buf_init(&out, 1 << 20);
    if (cor_json_merge_patch(cor_strz(doc), cor_strz(patch), &limits, &out, NULL, &err) < 0)
        fail_msg("%s onto %s: %s", patch, doc, err.message);
    assert_string_equal(cor_buf_z(&out), want);
    assert_int_equal(cor_json_check(cor_buf_str(&out), &limits, &canonical, NULL), 0);
    assert_true(canonical);
    cor_buf_deinit(&out);
}

static void refuse(const char *doc, const char *patch, int want, const char *message)
{
    struct cor_json_patch_error err;
    struct cor_buf out;

    cor_buf_init(&out, 1 << 20);
    assert_int_equal(
        cor_json_merge_patch(cor_strz(doc), cor_strz(patch), &limits, &out, NULL, &err), want);
    assert_string_equal(err.message, message);
    assert_int_equal(out.n, 0);
    cor_buf_deinit(&out);
}

/* Contract apply 15.3, 15.4. */
TEST(merge_patch, follows_the_rfc_on_objects)
{
    /* RFC 7386, appendix A. */
    expect("{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
    expect("{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}");
    expect("{\"a\":\"b\"}", "{\"a\":null}", "{}");
    expect("{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}");
    expect("{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}");
    expect("{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}");
    expect("{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}");
    expect("{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}");
    expect("{\"e\":null}", "{\"a\":1}", "{\"a\":1,\"e\":null}");
    expect("{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}");
}

TEST(merge_patch, keeps_the_canonical_order)
{
    expect(
        "{\"kind\":\"A\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"},\"spec\":{\"b\":1}}",
        "{\"spec\":{\"z\":1,\"a\":{\"kind\":1,\"apiVersion\":2}},\"data\":{},\"kind\":\"B\"}",
        "{\"kind\":\"B\",\"apiVersion\":\"v1\",\"data\":{},\"metadata\":{\"name\":\"x\"},"
        "\"spec\":{\"a\":{\"apiVersion\":2,\"kind\":1},\"b\":1,\"z\":1}}");
    expect("{\"a\":1}", "{\"kind\":\"B\"}", "{\"kind\":\"B\",\"a\":1}");
    expect("{\"a\\n\":1,\"a \":2}", "{\"a\\u000a\":null,\"a!\":3}", "{\"a \":2,\"a!\":3}");
    expect("{\"n\":1.0}", "{\"m\":1e3}", "{\"m\":1e3,\"n\":1.0}");
}

TEST(merge_patch, prunes_nulls_of_what_it_adds_as_upstream_does)
{
    expect("{}", "{\"a\":[{\"b\":null,\"c\":1},null]}", "{\"a\":[{\"c\":1},null]}");
    expect("{\"a\":[1]}", "{\"a\":[{\"b\":null}]}", "{\"a\":[{}]}");
    expect("{\"a\":null}", "{\"a\":{\"b\":null}}", "{\"a\":{}}");
    expect("{\"a\":1}", "{\"a\":{\"b\":null}}", "{\"a\":{}}");
    /* Over an object, an array is taken as it is. */
    expect("{\"a\":{}}", "{\"a\":[{\"b\":null}]}", "{\"a\":[{\"b\":null}]}");
}

/* Contract apply 15.1, 15.2, 16.4.90. */
TEST(merge_patch, refuses_what_is_no_patch)
{
    refuse("{}", "{\"a\":", -COR_EINVAL, "error decoding patch: unexpected end of JSON input");
    refuse("{}", "null", -COR_EINVAL, "Invalid JSON Patch");
    refuse("{}", "[1]", -COR_EINVAL,
           "error decoding patch: json: cannot unmarshal array into Go value of type "
           "map[string]interface {}");
    refuse("{}", "\"x\"", -COR_EINVAL,
           "error decoding patch: json: cannot unmarshal string into Go value of type "
           "map[string]interface {}");
    refuse("[]", "{}", -COR_EINVAL, "Invalid JSON Document");
}

TEST(merge_patch, reports_repeated_keys_of_the_patch)
{
    struct cor_json_dups dups;
    struct cor_buf out;

    cor_json_dups_init(&dups);
    cor_buf_init(&out, 100);
    assert_int_equal(cor_json_merge_patch(COR_STR("{}"), COR_STR("{\"a\":{\"b\":1,\"b\":2}}"),
                                          &limits, &out, &dups, NULL),
                     0);
    assert_string_equal(cor_buf_z(&out), "{\"a\":{\"b\":2}}");
    assert_int_equal(dups.n, 1);
    assert_string_equal(dups.v[0].path, "a.b");
    cor_json_dups_deinit(&dups);
    cor_buf_deinit(&out);
}

TEST(merge_patch, stops_at_the_limits)
{
    struct cor_json_limits small = {.bytes_max = 10, .depth_max = 2};
    struct cor_json_patch_error err;
    struct cor_buf out;

    cor_buf_init(&out, 12);
    assert_int_equal(cor_json_merge_patch(COR_STR("{\"a\":1}"), COR_STR("{\"b\":12345}"), &small,
                                          &out, NULL, &err),
                     -COR_ETOOBIG);
    assert_string_equal(err.message, "11 bytes of JSON exceed the limit of 10");
    assert_int_equal(cor_json_merge_patch(COR_STR("{\"a\":1}"), COR_STR("{\"b\":123}"), &small,
                                          &out, NULL, &err),
                     -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
    assert_int_equal(
        cor_json_merge_patch(COR_STR("{}"), COR_STR("{\"b\":[[]]}"), &small, &out, NULL, &err),
        -COR_EINVAL);
    assert_string_equal(err.message,
                        "error decoding patch: invalid character '[' exceeded max depth");
    cor_buf_deinit(&out);
}

TEST(merge_patch, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf out;
        int r;

        cor_buf_init(&out, 1000);
        r = cor_json_merge_patch(
            COR_STR("{\"a\":{\"x\":1}}"),
            COR_STR("{\"b\": 1, \"a\": {\"x\": null, \"y\": \"a long enough text "
                    "to make the output grow once more\"}}"),
            &limits, &out, NULL, NULL);
        if (test_alloc_failed()) {
            assert_int_equal(r, -COR_ENOMEM);
            assert_int_equal(out.n, 0);
        } else {
            assert_int_equal(r, 0);
        }
        cor_buf_deinit(&out);
    }
}
