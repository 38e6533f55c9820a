#include "base/err.h"
#include "base/limits.h"
#include "base/work.h"
#include "test.h"
#include "json/patch/patch.h"

static const struct cor_json_limits limits = {.bytes_max = 1536 * 1024, .depth_max = 100};

static void expect(const char *doc, const char *patch, const char *want)
{
    struct cor_json_patch_error err = {{0}};
    struct cor_buf out;
    bool canonical = false;

    cor_buf_init(&out, 1 << 20);
    if (cor_json_json_patch(cor_strz(doc), cor_strz(patch), &limits, &out, NULL, &err) < 0)
        fail_msg("%s on %s: %s", patch, doc, err.message);
    assert_string_equal(cor_buf_z(&out), want);
    assert_int_equal(cor_json_check(cor_buf_str(&out), &limits, &canonical, NULL), 0);
    assert_true(canonical);
    cor_buf_deinit(&out);
}

static void refuse(const char *doc, const char *patch, int want, const char *message)
{
    struct cor_json_patch_error err = {{0}};
    struct cor_buf out;

    cor_buf_init(&out, 1 << 20);
    if (cor_json_json_patch(cor_strz(doc), cor_strz(patch), &limits, &out, NULL, &err) != want)
        fail_msg("%s on %s: %s %s", patch, doc, cor_buf_z(&out), err.message);
    assert_string_equal(err.message, message);
    assert_int_equal(out.n, 0);
    cor_buf_deinit(&out);
}

TEST(json_patch, follows_the_rfc)
{
    /* RFC 6902, appendix A, in its order. */
    expect("{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
           "{\"baz\":\"qux\",\"foo\":\"bar\"}");
    expect("{\"foo\":[\"bar\",\"baz\"]}",
           "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
           "{\"foo\":[\"bar\",\"qux\",\"baz\"]}");
    expect("{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
           "{\"foo\":\"bar\"}");
    expect("{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]",
           "{\"foo\":[\"bar\",\"baz\"]}");
    expect("{\"baz\":\"qux\",\"foo\":\"bar\"}",
           "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
           "{\"baz\":\"boo\",\"foo\":\"bar\"}");
    expect("{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
           "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
           "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}");
    expect("{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
           "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
           "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}");
    expect("{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
           "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},"
           "{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]",
           "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}");
    refuse("{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]",
           -COR_EINVALID, "testing value /baz failed: test failed");
    expect("{\"foo\":\"bar\"}",
           "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
           "{\"child\":{\"grandchild\":{}},\"foo\":\"bar\"}");
    expect("{\"foo\":\"bar\"}",
           "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\",\"xyz\":123}]",
           "{\"baz\":\"qux\",\"foo\":\"bar\"}");
    refuse("{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]",
           -COR_EINVALID,
           "add operation does not apply: doc is missing path: \"/baz/bat\": missing value");
    expect("{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
           "{\"/\":9,\"~1\":10}");
    refuse("{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]",
           -COR_EINVALID, "testing value /~01 failed: test failed");
    expect("{\"foo\":[\"bar\"]}",
           "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
           "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}");
}

TEST(json_patch, keeps_the_canonical_order_and_numbers)
{
    expect(
        "{\"kind\":\"A\",\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"b\":\"1\"}},\"n\":1.0}",
        "[{\"op\":\"add\",\"path\":\"/metadata/labels/a~1x\",\"value\":\"\\u0041\"},"
        "{\"op\":\"replace\",\"path\":\"/kind\",\"value\":\"B\"},"
        "{\"op\":\"add\",\"path\":\"/big\",\"value\":9223372036854775807}]",
        "{\"kind\":\"B\",\"apiVersion\":\"v1\",\"big\":9223372036854775807,"
        "\"metadata\":{\"labels\":{\"a/x\":\"A\",\"b\":\"1\"}},\"n\":1.0}");
    expect("{\"a\":\"\\n\\u0001\\\"\"}",
           "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/\\u0002\"}]",
           "{\"\\u0002\":\"\\n\\u0001\\\"\",\"a\":\"\\n\\u0001\\\"\"}");
}

TEST(json_patch, behaves_as_upstream_where_the_rfc_is_stricter)
{
    expect("{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":2}]", "{\"a\":1,\"b\":2}");
    expect("{\"a\":[1,2,3]}", "[{\"op\":\"remove\",\"path\":\"/a/-1\"}]", "{\"a\":[1,2]}");
    expect("{\"a\":[1,2,3]}", "[{\"op\":\"add\",\"path\":\"/a/-1\",\"value\":4}]",
           "{\"a\":[1,2,3,4]}");
    expect("{\"a\":[1,2,3]}", "[{\"op\":\"replace\",\"path\":\"/a/+01\",\"value\":4}]",
           "{\"a\":[1,4,3]}");
    expect("{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", "{\"a\":null}");
    expect("{}", "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"}]", "{\"b\":null}");
    expect("{\"a\":null}", "[{\"op\":\"test\",\"path\":\"/a\"}]", "{\"a\":null}");
    expect("{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{}");
    expect("{\"a\":1}", "[{\"op\":\"add\",\"path\":\"x/b\",\"value\":2}]", "{\"a\":1,\"b\":2}");
    expect("{\"a\":1}", "null", "{\"a\":1}");
    expect("{\"a\":1}", "[]", "{\"a\":1}");
    expect("{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":{\"b\":2}}]", "{\"b\":2}");
    expect("{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":\"x\"}]", "{\"a\":1}");
    expect("{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}}]", "{\"a\":1}");
    expect("{\"\":{\"\":1}}", "[{\"op\":\"test\",\"path\":\"//\",\"value\":1}]", "{\"\":{\"\":1}}");
}

TEST(json_patch, compares_deeply_in_any_order)
{
    expect(
        "{\"a\":{\"x\":[1,{\"y\":null}],\"z\":true}}",
        "[{\"op\":\"remove\",\"path\":\"/a/x\"},{\"op\":\"add\",\"path\":\"/a/x\",\"value\":[1,{\"y\":null}]},"
        "{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"z\":true,\"x\":[1,{\"y\":null}]}}]",
        "{\"a\":{\"x\":[1,{\"y\":null}],\"z\":true}}");
    static const char *const unequal[] = {"{\"x\":1}",
                                          "{\"x\":1,\"y\":2,\"z\":3}",
                                          "{\"x\":1,\"z\":2}",
                                          "{\"x\":1.0,\"y\":2}",
                                          "[1,2]",
                                          "null"};

    for (size_t i = 0; i < COR_ARRAY_LEN(unequal); i++) {
        struct cor_buf patch;

        cor_buf_init(&patch, 1000);
        assert_int_equal(
            cor_buf_addf(&patch, "[{\"op\":\"test\",\"path\":\"/a\",\"value\":%s}]", unequal[i]),
            0);
        refuse("{\"a\":{\"x\":1,\"y\":2}}", cor_buf_z(&patch), -COR_EINVALID,
               "testing value /a failed: test failed");
        cor_buf_deinit(&patch);
    }
}

TEST(json_patch, fails_in_upstreams_words)
{
    static const struct {
        const char *patch, *message;
    } rows[] = {
        {"[{\"op\":\"add\",\"value\":1}]", "add operation failed to decode path: missing value"},
        {"[{\"op\":\"add\",\"path\":\"\",\"value\":1}]",
         "add operation does not apply: doc is missing path: \"\": missing value"},
        {"[{\"op\":\"add\",\"path\":\"/l/9\",\"value\":1}]",
         "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced"},
        {"[{\"op\":\"add\",\"path\":\"/l/-9\",\"value\":1}]",
         "error in add for path: '/l/-9': Unable to access invalid index: -9: invalid index "
         "referenced"},
        {"[{\"op\":\"add\",\"path\":\"/l/x\",\"value\":1}]",
         "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: "
         "parsing \"x\": invalid syntax"},
        {"[{\"op\":\"remove\"}]", "remove operation failed to decode path: missing value"},
        {"[{\"op\":\"remove\",\"path\":\"/x/y\"}]",
         "remove operation does not apply: doc is missing path: \"/x/y\": missing value"},
        {"[{\"op\":\"remove\",\"path\":\"/x\"}]",
         "error in remove for path: '/x': Unable to remove nonexistent key: x: missing value"},
        {"[{\"op\":\"remove\",\"path\":\"/l/2\"}]",
         "error in remove for path: '/l/2': Unable to access invalid index: 2: invalid index "
         "referenced"},
        {"[{\"op\":\"remove\",\"path\":\"/l/-\"}]",
         "error in remove for path: '/l/-': strconv.Atoi: parsing \"-\": invalid syntax"},
        {"[{\"op\":\"remove\",\"path\":\"/l/99999999999999999999\"}]",
         "error in remove for path: '/l/99999999999999999999': strconv.Atoi: parsing "
         "\"99999999999999999999\": value out of range"},
        {"[{\"op\":\"replace\",\"value\":1}]",
         "replace operation failed to decode path: operation missing path field: missing value"},
        {"[{\"op\":\"replace\",\"path\":\"\",\"value\":null}]",
         "replace operation value must be object or array"},
        {"[{\"op\":\"replace\",\"path\":\"\"}]", "replace operation value must be object or array"},
        {"[{\"op\":\"replace\",\"path\":\"/x/y\",\"value\":1}]",
         "replace operation does not apply: doc is missing path: /x/y: missing value"},
        {"[{\"op\":\"replace\",\"path\":\"/l/5\",\"value\":1}]",
         "replace operation does not apply: doc is missing key: /l/5: missing value"},
        {"[{\"op\":\"replace\",\"path\":\"/n/y\",\"value\":1}]",
         "replace operation does not apply: doc is missing path: /n/y: missing value"},
        {"[{\"op\":\"move\",\"path\":\"/b\"}]",
         "move operation failed to decode from: operation, missing from field: missing value"},
        {"[{\"op\":\"move\",\"from\":\"/x/y\",\"path\":\"/b\"}]",
         "move operation does not apply: doc is missing from path: /x/y: missing value"},
        {"[{\"op\":\"move\",\"from\":\"/x\",\"path\":\"/b\"}]",
         "error in move for path: 'x': Unable to remove nonexistent key: x: missing value"},
        {"[{\"op\":\"move\",\"from\":\"/a\"}]",
         "move operation failed to decode path: operation missing path field: missing value"},
        {"[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]",
         "move operation does not apply: doc is missing destination path: /a/b: missing value"},
        {"[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/l/7\"}]",
         "error in move for path: '/l/7': Unable to access invalid index: 7: invalid index "
         "referenced"},
        {"[{\"op\":\"copy\",\"path\":\"/b\"}]",
         "copy operation failed to decode from: operation, missing from field: missing value"},
        {"[{\"op\":\"copy\",\"from\":\"/x/y\",\"path\":\"/b\"}]",
         "copy operation does not apply: doc is missing from path: /x/y: missing value"},
        {"[{\"op\":\"copy\",\"from\":\"/l/4\",\"path\":\"/b\"}]",
         "error in copy for from: '/l/4': Unable to access invalid index: 4: invalid index "
         "referenced"},
        {"[{\"op\":\"copy\",\"from\":\"/a\"}]",
         "copy operation failed to decode path: missing value"},
        {"[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/x/y\"}]",
         "copy operation does not apply: doc is missing destination path: /x/y: missing value"},
        {"[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/l/7\"}]",
         "error while adding value during copy: Unable to access invalid index: 7: invalid index "
         "referenced"},
        {"[{\"op\":\"test\",\"value\":1}]",
         "test operation failed to decode path: operation missing path field: missing value"},
        {"[{\"op\":\"test\",\"path\":\"/x/y\",\"value\":1}]",
         "test operation does not apply: is missing path: /x/y: missing value"},
        {"[{\"op\":\"test\",\"path\":\"/l/2\",\"value\":1}]",
         "error in test for path: '/l/2': Unable to access invalid index: 2: invalid index "
         "referenced"},
        {"[{\"op\":\"test\",\"path\":\"/x\",\"value\":1}]", "testing value /x failed: test failed"},
        {"[{\"op\":\"spam\",\"path\":\"/x\"}]", "Unexpected kind: spam"},
        {"[{\"path\":\"/x\"}]", "Unexpected kind: unknown"},
        {"[null]", "Unexpected kind: unknown"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        refuse("{\"a\":{\"k\":1},\"l\":[1,2],\"n\":null}", rows[i].patch, -COR_EINVALID,
               rows[i].message);
}

TEST(json_patch, refuses_what_is_no_patch)
{
    refuse(
        "{}", "[{]", -COR_EINVAL,
        "error decoding patch: invalid character ']' looking for beginning of object key string");
    refuse("{}", "{\"op\":\"add\"}", -COR_EINVAL,
           "error decoding patch: json: cannot unmarshal object into Go value of type "
           "[]handlers.jsonPatchOp");
    refuse("{}", "[1]", -COR_EINVAL,
           "error decoding patch: json: cannot unmarshal number into Go value of type "
           "handlers.jsonPatchOp");
    /* Before anything is applied: the first operation would fail. */
    refuse("{}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1},{\"op\":\"add\",\"path\":1}]",
           -COR_EINVAL,
           "error decoding patch: json: cannot unmarshal number into Go struct field "
           "jsonPatchOp.path of type string");
    refuse("1", "[]", -COR_EINVAL, "Invalid JSON Document");
}

static void repeat_ops(struct cor_buf *patch, const char *op, unsigned n)
{
    cor_buf_init(patch, limits.bytes_max);
    assert_int_equal(cor_buf_addc(patch, '['), 0);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(cor_buf_addf(patch, "%s%s", i ? "," : "", op), 0);
    assert_int_equal(cor_buf_addc(patch, ']'), 0);
}

/* Contract apply 14.1.4, 16.4.86. */
TEST(json_patch, has_a_maximum_of_operations)
{
    struct cor_buf patch;

    repeat_ops(&patch, "{\"op\":\"test\",\"path\":\"/a\",\"value\":1}", COR_JSON_PATCH_OPS_MAX);
    expect("{\"a\":1}", cor_buf_z(&patch), "{\"a\":1}");
    cor_buf_deinit(&patch);
    repeat_ops(&patch, "{\"op\":\"test\",\"path\":\"/a\",\"value\":1}", COR_JSON_PATCH_OPS_MAX + 1);
    refuse("{\"a\":1}", cor_buf_z(&patch), -COR_ETOOBIG,
           "The allowed maximum operations in a JSON patch is 10000, got 10001");
    cor_buf_deinit(&patch);
}

TEST(json_patch, has_a_maximum_of_copied_bytes)
{
    struct cor_buf patch, doc;

    cor_buf_init(&doc, 1000);
    assert_int_equal(cor_buf_addf(&doc, "{\"a\":[[\"%0900d\"]]}", 0), 0);
    /* The k-th copy is of 907 * 2^k - 1 bytes; the twelfth brings 907 * 4095 - 12 together. */
    repeat_ops(&patch, "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/a/-\"}", 30);
    refuse(cor_buf_z(&doc), cor_buf_z(&patch), -COR_EINVALID,
           "Unable to complete the copy, the accumulated size increase of copy is 3714153, "
           "exceeding the limit 3145728");
    cor_buf_deinit(&patch);
    cor_buf_deinit(&doc);
}

TEST(json_patch, has_a_maximum_of_depth)
{
    static const struct cor_json_limits shallow = {.bytes_max = 1000, .depth_max = 5};
    static const struct cor_str doc = COR_STR("{\"a\":[[[]]],\"b\":[[[]]]}");
    struct cor_json_patch_error err;
    struct cor_buf out;

    cor_buf_init(&out, 1000);
    assert_int_equal(
        cor_json_json_patch(doc, COR_STR("[{\"op\":\"add\",\"path\":\"/a/0/0/0\",\"value\":[]}]"),
                            &shallow, &out, NULL, &err),
        0);
    cor_buf_reset(&out);
    assert_int_equal(
        cor_json_json_patch(doc, COR_STR("[{\"op\":\"add\",\"path\":\"/a/0/0/0\",\"value\":[[]]}]"),
                            &shallow, &out, NULL, &err),
        -COR_EINVALID);
    assert_string_equal(err.message, "error in add for path: '/a/0/0/0': exceeded max depth");
    assert_int_equal(cor_json_json_patch(
                         doc, COR_STR("[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/a/0/0/0\"}]"),
                         &shallow, &out, NULL, &err),
                     -COR_EINVALID);
    cor_buf_deinit(&out);
}

/* A large value that goes up and down where nothing deeper is allowed is measured each time. */
TEST(json_patch, has_a_maximum_of_work)
{
    static const struct cor_json_limits shallow = {1 << 20, 3};
    struct cor_work work = cor_work_new(true);
    struct cor_json_limits counted = shallow;
    struct cor_buf patch, doc, out;
    struct cor_json_patch_error err;

    cor_buf_init(&doc, 1 << 20);
    cor_buf_init(&out, 1 << 20);
    assert_int_equal(cor_buf_addz(&doc, "{\"a\":[0"), 0);
    for (unsigned i = 0; i < 20000; i++)
        assert_int_equal(cor_buf_addz(&doc, ",0"), 0);
    assert_int_equal(cor_buf_addz(&doc, "],\"c\":{}}"), 0);
    repeat_ops(&patch,
               "{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/c/a\"},"
               "{\"op\":\"move\",\"from\":\"/c/a\",\"path\":\"/a\"}",
               COR_JSON_PATCH_OPS_MAX / 2);
    assert_int_equal(
        cor_json_json_patch(cor_buf_str(&doc), cor_buf_str(&patch), &shallow, &out, NULL, &err),
        -COR_ETOOBIG);
    assert_string_equal(err.message, "The JSON patch visits more than 50000000 values");
    /* On a loop it gives up, as soon as it has visited what a slice has time for. */
    counted.work = &work;
    assert_int_equal(
        cor_json_json_patch(cor_buf_str(&doc), cor_buf_str(&patch), &counted, &out, NULL, &err),
        COR_WORK_YIELD);
    assert_uint_in_range(work.steps, work.slice, work.slice + 20000);
    assert_int_equal(out.n, 0);
    cor_buf_deinit(&doc);
    cor_buf_deinit(&out);
    cor_buf_deinit(&patch);
}

TEST(json_patch, has_a_maximum_of_result)
{
    struct cor_buf out;

    cor_buf_init(&out, 12);
    assert_int_equal(cor_json_json_patch(COR_STR("{\"a\":1}"),
                                         COR_STR("[{\"op\":\"add\",\"path\":\"/b\",\"value\":1}]"),
                                         &limits, &out, NULL, NULL),
                     -COR_ETOOBIG);
    assert_int_equal(out.n, 0);
    cor_buf_deinit(&out);
}

TEST(json_patch, reports_repeated_keys_of_the_patch)
{
    struct cor_json_dups dups;
    struct cor_buf out;

    cor_json_dups_init(&dups);
    cor_buf_init(&out, 100);
    assert_int_equal(cor_json_json_patch(COR_STR("{}"),
                                         COR_STR("[{\"op\":\"test\",\"op\":\"add\",\"path\":\"/a\","
                                                 "\"value\":{\"b\":1,\"b\":2}}]"),
                                         &limits, &out, &dups, NULL),
                     0);
    assert_string_equal(cor_buf_z(&out), "{\"a\":{\"b\":2}}");
    assert_int_equal(dups.n, 2);
    assert_string_equal(dups.v[0].path, "[0].op");
    assert_string_equal(dups.v[1].path, "[0].value.b");
    cor_json_dups_deinit(&dups);
    cor_buf_deinit(&out);
}

/* Contract apply 14.1.2. Nothing inside of an unknown member is reported, and nothing twice. */
TEST(json_patch, reports_members_that_operations_do_not_have_in_the_order_of_the_bytes)
{
    static const char patch[] =
        " [ {\"op\":\"add\",\"zoo\":{\"a\":1,\"a\":2},\"path\":\"/a\",\"value\":1,\"zoo\":2,"
        "\"op\":\"add\"},{\"b\\u0061r\":1,\"\\u006fp\":\"test\",\"path\":\"/a\",\"value\":1,"
        "\"Op\":2}]";
    static const struct {
        const char *path;
        bool is_unknown;
    } want[] = {{"[0].zoo", true}, {"[0].op", false}, {"[1].bar", true}, {"[1].Op", true}};

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 100};
        COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;
        int r;

        cor_json_dups_init(&dups);
        r = cor_json_json_patch(COR_STR("{}"), cor_strz(patch), &limits, &out, &dups, NULL);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r < 0)
            continue;
        assert_string_equal(cor_buf_z(&out), "{\"a\":1}");
        assert_int_equal(dups.n, COR_ARRAY_LEN(want));
        for (size_t i = 0; i < dups.n; i++) {
            assert_string_equal(dups.v[i].path, want[i].path);
            assert_int_equal(dups.v[i].is_unknown, want[i].is_unknown);
        }
    }
}

TEST(json_patch, keeps_the_first_hundred_findings)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 100}, patch = {.max = 1 << 20};
    COR_CLEANUP(cor_json_dups_deinit) struct cor_json_dups dups;

    cor_json_dups_init(&dups);
    assert_int_equal(cor_buf_addz(&patch, "[{\"op\":\"test\",\"path\":\"\",\"value\":{}"), 0);
    for (int i = 0; i < 150; i++)
        assert_int_equal(cor_buf_addf(&patch, ",\"x%d\":{\"a\":1,\"a\":1}", i), 0);
    assert_int_equal(cor_buf_addz(&patch, "}]"), 0);
    assert_int_equal(
        cor_json_json_patch(COR_STR("{}"), cor_buf_str(&patch), &limits, &out, &dups, NULL), 0);
    assert_int_equal(dups.n, COR_JSON_DUPS_MAX);
    assert_string_equal(dups.v[0].path, "[0].x0");
    assert_string_equal(dups.v[COR_JSON_DUPS_MAX - 1].path, "[0].x99");
}

/* Upstream decodes member by member, and remembers the first that does not fit. */
TEST(json_patch, names_the_first_member_of_a_wrong_type)
{
    struct cor_json_patch_error why = {.message = ""};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 100};

    assert_int_equal(cor_json_json_patch(COR_STR("{}"),
                                         COR_STR("[{\"path\":{},\"from\":[],\"op\":5}]"), &limits,
                                         &out, NULL, &why),
                     -COR_EINVAL);
    assert_string_equal(why.message, "error decoding patch: json: cannot unmarshal object into Go "
                                     "struct field jsonPatchOp.path of type string");
}

TEST(json_patch, survives_every_failed_allocation)
{
    static const char patch[] =
        "[{\"op\": \"add\",\"path\":\"/b\",\"value\":{\"x\":[1]}},{\"op\":\"copy\",\"from\":\"/b\","
        "\"path\":\"/c\"},{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/c/x/-\"},{\"op\":\"replace\","
        "\"path\":\"/b/x\",\"value\":2},{\"op\":\"test\",\"path\":\"/b\",\"value\":{\"x\":2}},"
        "{\"op\":\"replace\",\"path\":\"\",\"value\":{\"d\":1}},{\"op\":\"copy\",\"from\":\"/e\","
        "\"path\":\"/f\"}]";

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_buf out;
        int r;

        cor_buf_init(&out, 1000);
        r = cor_json_json_patch(COR_STR("{\"a\":1}"), cor_strz(patch), &limits, &out, NULL, NULL);
        if (test_alloc_failed()) {
            assert_int_equal(r, -COR_ENOMEM);
            assert_int_equal(out.n, 0);
        } else {
            assert_int_equal(r, 0);
            assert_string_equal(cor_buf_z(&out), "{\"d\":1,\"f\":null}");
        }
        cor_buf_deinit(&out);
    }
}

/* The same operations on a document small enough to be walked, and on one with indexes: what is
 * beside the touched part must not matter. */
static void add_random_op(struct cor_buf *patch, unsigned size)
{
    static const char *const kinds[] = {"add", "replace", "remove", "test", "move", "copy"};
    const char *kind = kinds[test_random() % 6];
    bool is_list = test_random() % 2;
    unsigned a = (unsigned)(test_random() % (size + 2)), b = (unsigned)(test_random() % (size + 2));
    const char *at = is_list ? "/l/" : "/m/k";

    assert_int_equal(cor_buf_addf(patch,
                                  "%s{\"op\":\"%s\",\"path\":\"%s%u\",\"from\":\"%s%u\","
                                  "\"value\":%u}",
                                  patch->n > 1 ? "," : "[", kind, at, a, at, b, b),
                     0);
}

static void add_document(struct cor_buf *doc, unsigned size)
{
    assert_int_equal(cor_buf_addz(doc, "{\"l\":["), 0);
    for (unsigned i = 0; i < size; i++)
        assert_int_equal(cor_buf_addf(doc, "%s%u", i ? "," : "", i), 0);
    assert_int_equal(cor_buf_addz(doc, "],\"m\":{"), 0);
    for (unsigned i = 0; i < size; i++)
        assert_int_equal(cor_buf_addf(doc, "%s\"k%u\":%u", i ? "," : "", i, i), 0);
    assert_int_equal(cor_buf_addz(doc, "}}"), 0);
}

/* Applies the operations of a patch one by one, each to a fresh tree: nothing is indexed twice. */
static int apply_singly(struct cor_str doc, const struct cor_buf *ops, size_t n,
                        struct cor_buf *out)
{
    struct cor_json_patch_error err;
    struct cor_buf next;
    int r = cor_json_canonicalize(doc, &limits, out, NULL, NULL);

    for (size_t i = 0; r == 0 && i < n; i++) {
        cor_buf_init(&next, 1 << 20);
        r = cor_json_json_patch(cor_buf_str(out), cor_buf_str(&ops[i]), &limits, &next, NULL, &err);
        if (r == 0) {
            cor_buf_deinit(out);
            *out = next;
        } else {
            cor_buf_deinit(&next);
        }
    }
    return r;
}

TEST(json_patch, many_operations_give_what_they_give_one_by_one)
{
    enum { OPS = 40 };

    for (unsigned round = 0; round < 40; round++) {
        unsigned size = (unsigned)(test_random() % 400);
        struct cor_buf doc, whole, sorted, singly, together, ops[OPS];
        struct cor_json_patch_error err;
        size_t n = 0;

        cor_buf_init(&doc, 1 << 20);
        cor_buf_init(&sorted, 1 << 20);
        cor_buf_init(&whole, 1 << 20);
        cor_buf_init(&singly, 1 << 20);
        cor_buf_init(&together, 1 << 20);
        add_document(&doc, size);
        assert_int_equal(cor_json_canonicalize(cor_buf_str(&doc), &limits, &sorted, NULL, NULL), 0);
        while (n < OPS) {
            cor_buf_init(&ops[n], 1 << 10);
            add_random_op(&ops[n], size);
            assert_int_equal(cor_buf_addc(&ops[n], ']'), 0);
            /* One that does not apply ends a patch; only those that do are kept. */
            cor_buf_deinit(&singly);
            if (apply_singly(cor_buf_str(&sorted), ops, n + 1, &singly) < 0) {
                cor_buf_deinit(&ops[n]);
                if (test_random() % 4 == 0)
                    break;
                continue;
            }
            assert_int_equal(
                cor_buf_addf(&whole, "%s%.*s", n ? "," : "[", (int)ops[n].n - 2, ops[n].p + 1), 0);
            n++;
        }
        cor_buf_deinit(&singly);
        assert_int_equal(apply_singly(cor_buf_str(&sorted), ops, n, &singly), 0);
        assert_int_equal(cor_buf_addz(&whole, n ? "]" : "[]"), 0);
        assert_int_equal(cor_json_json_patch(cor_buf_str(&sorted), cor_buf_str(&whole), &limits,
                                             &together, NULL, &err),
                         0);
        assert_string_equal(cor_buf_z(&together), cor_buf_z(&singly));
        for (size_t i = 0; i < n; i++)
            cor_buf_deinit(&ops[i]);
        cor_buf_deinit(&doc);
        cor_buf_deinit(&sorted);
        cor_buf_deinit(&whole);
        cor_buf_deinit(&singly);
        cor_buf_deinit(&together);
    }
}

TEST(json_patch, leaves_nothing_behind_when_an_index_has_no_memory)
{
    struct cor_buf doc;
    bool succeeded = false;

    cor_buf_init(&doc, 1 << 20);
    add_document(&doc, 300);
    FOR_EACH_FAILED_ALLOC(fail) {
        struct cor_json_patch_error err;
        struct cor_buf out;
        int r;

        cor_buf_init(&out, 1 << 20);
        r = cor_json_json_patch(
            cor_buf_str(&doc),
            COR_STR(
                "[{\"op\":\"add\",\"path\":\"/l/150\",\"value\":1},{\"op\":\"remove\","
                "\"path\":\"/m/k7\"},{\"op\":\"add\",\"path\":\"/m/x\",\"value\":2},{\"op\":"
                "\"test\",\"path\":\"/m/x\",\"value\":2},{\"op\":\"remove\",\"path\":\"/l/0\"}]"),
            &limits, &out, NULL, &err);
        assert_true(r == 0 || r == -COR_ENOMEM);
        if (r == 0) {
            assert_non_null(strstr(cor_buf_z(&out), "149,1,150"));
            assert_non_null(strstr(cor_buf_z(&out), "{\"l\":[1,"));
            assert_non_null(strstr(cor_buf_z(&out), "\"x\":2"));
            assert_null(strstr(cor_buf_z(&out), "\"k7\""));
            succeeded = true;
        }
        cor_buf_deinit(&out);
    }
    assert_true(succeeded);
    cor_buf_deinit(&doc);
}
