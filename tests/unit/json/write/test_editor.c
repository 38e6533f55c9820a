#include "base/err.h"
#include "test.h"
#include "json/write/editor.h"

#define MAX 256

typedef int (*change_fn)(struct cor_json_editor *e, struct cor_str path, struct cor_str value);

static int take_out(struct cor_json_editor *e, struct cor_str path,
                    __attribute__((unused)) struct cor_str value)
{
    return cor_json_editor_remove(e, path);
}

static void expect(change_fn change, const char *before, const char *path, const char *value,
                   const char *after)
{
    struct cor_json_editor e;

    assert_int_equal(cor_json_editor_init(&e, cor_strz(before), MAX), 0);
    assert_int_equal(change(&e, cor_strz(path), cor_strz(value)), 0);
    assert_string_equal(cor_buf_z(&e.bytes), after);
    cor_json_editor_deinit(&e);
}

static void expect_failure(change_fn change, const char *before, const char *path,
                           const char *value, int err, const char *why)
{
    struct cor_json_editor e;

    assert_int_equal(cor_json_editor_init(&e, cor_strz(before), MAX), 0);
    assert_int_equal(change(&e, cor_strz(path), cor_strz(value)), err);
    assert_string_equal(e.why, why);
    assert_string_equal(cor_buf_z(&e.bytes), before);
    cor_json_editor_deinit(&e);
}

TEST(editor, sets_what_is_there)
{
    expect(cor_json_editor_set, "{\"a\":1,\"b\":2}", "a", "[]", "{\"a\":[],\"b\":2}");
    expect(cor_json_editor_set, "{\"a\":{\"b\":\"long\"}}", "a.b", "1", "{\"a\":{\"b\":1}}");
    expect(cor_json_editor_set, "{\"a\":[1,{\"x\":2}]}", "a[1].x", "3", "{\"a\":[1,{\"x\":3}]}");
    expect(cor_json_editor_set, "{\"a\":[1,2]}", "a[-1]", "3", "{\"a\":[1,3]}");
    expect(cor_json_editor_set, "{\"a\":1}", ".", "{}", "{}");
}

TEST(editor, makes_the_objects_on_the_way)
{
    expect(cor_json_editor_set, "{}", "a", "1", "{\"a\":1}");
    expect(cor_json_editor_set, "{\"a\":1}", "b.c.d", "true",
           "{\"a\":1,\"b\":{\"c\":{\"d\":true}}}");
    expect(cor_json_editor_set, "{\"a\":null}", "a.b", "1", "{\"a\":{\"b\":1}}");
    expect(cor_json_editor_set, "{}", "['x\"/y'].z", "1", "{\"x\\\"/y\":{\"z\":1}}");
    expect(cor_json_editor_set, "{\"a\":[{}]}", "a[0].b", "1", "{\"a\":[{\"b\":1}]}");
}

TEST(editor, appends_and_makes_the_array)
{
    expect(cor_json_editor_append, "{\"a\":[]}", "a", "1", "{\"a\":[1]}");
    expect(cor_json_editor_append, "{\"a\":[1]}", "a", "{}", "{\"a\":[1,{}]}");
    expect(cor_json_editor_append, "{}", "a.b", "1", "{\"a\":{\"b\":[1]}}");
    expect(cor_json_editor_append, "{\"a\":null}", "a", "1", "{\"a\":[1]}");
}

TEST(editor, removes_a_field_with_one_comma)
{
    expect(take_out, "{\"a\":1,\"b\":2,\"c\":3}", "a", "", "{\"b\":2,\"c\":3}");
    expect(take_out, "{\"a\":1,\"b\":2,\"c\":3}", "b", "", "{\"a\":1,\"c\":3}");
    expect(take_out, "{\"a\":1,\"b\":2,\"c\":3}", "c", "", "{\"a\":1,\"b\":2}");
    expect(take_out, "{\"a\":{\"b\":1}}", "a.b", "", "{\"a\":{}}");
    expect(take_out, "{\"a\":[1,2]}", "a[0]", "", "{\"a\":[2]}");
    expect(take_out, "{\"a\":[1,2]}", "a[1]", "", "{\"a\":[1]}");
    expect(take_out, "{\"a\":1}", "b.c", "", "{\"a\":1}");
}

TEST(editor, says_why_a_change_is_refused)
{
    static const char doc[] = "{\"a\":1,\"b\":[1],\"c\":{}}";
    char big[MAX + 1];

    expect_failure(cor_json_editor_set, doc, "a.b", "1", -COR_EINVAL, "the value is not an object");
    expect_failure(cor_json_editor_set, doc, "c[0]", "1", -COR_EINVAL, "the value is not an array");
    expect_failure(cor_json_editor_set, doc, "b[1]", "1", -COR_ENOTFOUND,
                   "there is no such element");
    expect_failure(cor_json_editor_set, doc, "c.d[0]", "1", -COR_ENOTFOUND,
                   "there is no such element");
    expect_failure(cor_json_editor_append, doc, "c", "1", -COR_EINVAL, "the value is not an array");
    expect_failure(cor_json_editor_set, doc, "b[*]", "1", -COR_EINVAL,
                   "only keys and indexes can be changed");
    expect_failure(cor_json_editor_set, doc, "a..b", "1", -COR_EINVAL, "not a path");
    expect_failure(take_out, doc, ".", "", -COR_EINVAL, "the whole value cannot be removed");
    memset(big, '1', MAX);
    big[MAX] = '\0';
    expect_failure(cor_json_editor_set, doc, "c.d", big, -COR_ETOOBIG,
                   "the object grows too large");
}

TEST(editor, keeps_the_bytes_when_memory_is_short)
{
    static const char doc[] = "{\"a\":{\"b\":[1]}}";

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_json_editor e;
        int r = cor_json_editor_init(&e, cor_strz(doc), MAX);

        if (r == 0 && cor_json_editor_append(&e, COR_STR("a.b"), COR_STR("2")) < 0)
            assert_string_equal(cor_buf_z(&e.bytes), doc);
        else if (r == 0 && cor_json_editor_set(&e, COR_STR("x.y"), COR_STR("\"long enough\"")) < 0)
            assert_string_equal(cor_buf_z(&e.bytes), "{\"a\":{\"b\":[1,2]}}");
        else if (r == 0)
            assert_string_equal(cor_buf_z(&e.bytes),
                                "{\"a\":{\"b\":[1,2]},\"x\":{\"y\":\"long enough\"}}");
        cor_json_editor_deinit(&e);
    }
}
