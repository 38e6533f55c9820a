#include "base/err.h"
#include "coracle/builder.h"
#include "meta/object/object.h"
#include "test.h"

static struct cor_object *finish(struct cor_builder *b)
{
    struct cor_object *object = NULL;
    struct cor_status why;

    cor_status_init(&why);
    if (cor_builder_finish(b, &object, &why) < 0)
        fail_msg("%s", cor_status_message(&why));
    cor_status_deinit(&why);
    return object;
}

TEST(builder, builds_a_canonical_object)
{
    struct cor_builder *b;
    struct cor_object *object;

    assert_int_equal(cor_builder_new(NULL, &b), 0);
    cor_builder_set_text(b, "metadata.name", COR_STR("web"));
    cor_builder_set_text(b, "apiVersion", COR_STR("v1"));
    cor_builder_set_json(b, "spec", COR_STR(" {\"z\" : 1.50, \"a\": [ ] } "));
    cor_builder_set_text(b, "kind", COR_STR("Pod"));
    cor_builder_set_label(b, "app.kubernetes.io/name", COR_STR("x\"y"));
    cor_builder_set_annotation(b, "it's\\here", COR_STR("1"));
    cor_builder_set_int(b, "spec.priority", -3);
    cor_builder_set_bool(b, "spec.hostNetwork", true);
    cor_builder_append_text(b, "metadata.finalizers", COR_STR("a/b"));
    cor_builder_append_json(b, "spec.a", COR_STR("{}"));
    object = finish(b);
    assert_str(
        cor_object_json(object),
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"annotations\":{\"it's\\\\here\":"
        "\"1\"},\"finalizers\":[\"a/b\"],\"labels\":{\"app.kubernetes.io/name\":\"x\\\"y\"},"
        "\"name\":\"web\"},\"spec\":{\"a\":[{}],\"hostNetwork\":true,\"priority\":-3,\"z\":1.50}}");
    cor_object_unref(object);
    cor_builder_free(b);
}

TEST(builder, changes_an_object_and_leaves_the_old_one)
{
    static const char before[] =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{\"a\":\"1\"},"
        "\"name\":\"web\",\"resourceVersion\":\"7\"}}";
    struct cor_object *object, *next;
    struct cor_builder *b;

    assert_int_equal(cor_object_from_json(cor_strz(before), &object, NULL), 0);
    assert_int_equal(cor_builder_new(object, &b), 0);
    cor_builder_remove_label(b, "a");
    cor_builder_remove_annotation(b, "none");
    cor_builder_remove(b, "kind");
    next = finish(b);
    assert_str(
        cor_object_json(next),
        "{\"apiVersion\":\"v1\",\"metadata\":{\"labels\":{},\"name\":\"web\",\"resourceVersion\":\"7\"}}");
    assert_str(cor_object_resource_version(next), "7");
    assert_str(cor_object_json(object), before);
    cor_object_unref(next);
    cor_builder_set_text(b, "kind", COR_STR("Pod"));
    next = finish(b);
    assert_str(cor_object_kind(next), "Pod");
    cor_object_unref(next);
    cor_builder_free(b);
    cor_object_unref(object);
}

static void expect_failure(const char *path, const char *json, int err, const char *message)
{
    struct cor_object *object;
    struct cor_builder *b;
    struct cor_status why;

    cor_status_init(&why);
    assert_int_equal(cor_builder_new(NULL, &b), 0);
    cor_builder_set_text(b, "spec.name", COR_STR("x"));
    assert_int_equal(cor_builder_set_json(b, path, cor_strz(json)), err);
    assert_int_equal(cor_builder_set_text(b, "spec.name", COR_STR("y")), err);
    assert_int_equal(cor_builder_set_label(b, "a", COR_STR("y")), err);
    assert_int_equal(cor_builder_finish(b, &object, &why), err);
    assert_string_equal(cor_status_message(&why), message);
    cor_status_deinit(&why);
    cor_builder_free(b);
}

TEST(builder, the_first_failure_sticks_and_names_the_path)
{
    expect_failure("spec.name.first", "1", -COR_EINVAL,
                   "spec.name.first: the value is not an object");
    expect_failure("spec.list[0]", "1", -COR_ENOTFOUND, "spec.list[0]: there is no such element");
    expect_failure("spec.x", "{]", -COR_EINVAL,
                   "spec.x: invalid character ']' looking for beginning of object key string");
    expect_failure("spec..x", "1", -COR_EINVAL, "spec..x: not a path");
}

/* "example.com/owner" would become an object `example` with a member `com/owner`. */
TEST(builder, a_key_with_dots_does_not_nest_in_silence)
{
    static const char expected[] =
        "{\"data\":{\"config.json\":\"{}\"},\"metadata\":{\"annotations\":{\"example.com/owner\":\"b\"},"
        "\"labels\":{\"a.b\":\"c\"}}}";
    struct cor_object *object;
    struct cor_builder *b;
    char buf[16];

    expect_failure("metadata.annotations.example.com/owner", "\"a\"", -COR_EINVAL,
                   "metadata.annotations.example.com/owner: a key with dots is quoted: "
                   "['example.com/name']");
    expect_failure("spec.template.metadata.labels.a.b", "\"c\"", -COR_EINVAL,
                   "spec.template.metadata.labels.a.b: a key with dots is quoted: "
                   "['example.com/name']");
    assert_int_equal(cor_builder_new(NULL, &b), 0);
    cor_builder_set_text(b, "metadata.annotations['example.com/owner']", COR_STR("a"));
    cor_builder_set_annotation(b, "example.com/owner", COR_STR("b"));
    cor_builder_set_text(b, "metadata.labels.a\\.b", COR_STR("c"));
    cor_builder_set_text_in(b, "data", "config.json", COR_STR("{}"));
    cor_builder_set_text_in(b, "data", "gone.json", COR_STR(""));
    cor_builder_remove_in(b, "data", "gone.json");
    object = finish(b);
    assert_str(cor_object_json(object), expected);
    assert_str(cor_view_text_or(cor_object_annotation(object, COR_STR("example.com/owner")), buf,
                                sizeof(buf), ""),
               "b");
    assert_false(cor_view_exists(cor_object_annotation(object, COR_STR("example"))));
    cor_object_unref(object);
    cor_builder_free(b);
}

TEST(builder, what_is_no_object_is_refused)
{
    struct cor_object *object;
    struct cor_builder *b;

    assert_int_equal(cor_builder_new(NULL, &b), 0);
    assert_int_equal(cor_builder_set_json(b, "metadata", COR_STR("[]")), 0);
    assert_int_equal(cor_builder_finish(b, &object, NULL), -COR_EINVAL);
    cor_builder_free(b);
}

TEST(builder, has_a_maximum)
{
    struct cor_builder *b;
    size_t n = COR_BUILDER_BYTES_MAX / 2;
    char *text = malloc(n);

    memset(text, 'x', n);
    assert_int_equal(cor_builder_new(NULL, &b), 0);
    assert_int_equal(cor_builder_set_text(b, "data.a", cor_str(text, n)), 0);
    assert_int_equal(cor_builder_set_text(b, "data.b", cor_str(text, n)), -COR_ETOOBIG);
    cor_builder_free(b);
    free(text);
}

TEST(builder, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *object = NULL;
        struct cor_builder *b = NULL;

        if (cor_builder_new(NULL, &b) == 0) {
            cor_builder_set_text(b, "metadata.name", COR_STR("web"));
            cor_builder_set_label(b, "a", COR_STR("b"));
            cor_builder_append_json(b, "spec.list", COR_STR("{\"a\":1}"));
            cor_builder_remove(b, "spec.other");
            if (cor_builder_finish(b, &object, NULL) == 0) {
                assert_false(test_alloc_failed());
                assert_str(cor_object_json(object),
                           "{\"metadata\":{\"labels\":{\"a\":\"b\"},\"name\":\"web\"},\"spec\":"
                           "{\"list\":[{\"a\":1}]}}");
            }
        }
        cor_object_unref(object);
        cor_builder_free(b);
    }
}
