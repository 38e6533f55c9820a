#include "base/err.h"
#include "coracle/metadata.h"
#include "meta/object/object.h"
#include "test.h"

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

static struct cor_builder *builder_of(const char *json)
{
    struct cor_object *object = object_of(json);
    struct cor_builder *b = NULL;

    assert_int_equal(cor_builder_new(object, &b), 0);
    cor_object_unref(object);
    return b;
}

/* Finishes and frees the builder. */
static void expect_object(struct cor_builder *b, const char *json)
{
    struct cor_object *object = NULL;
    struct cor_status why = {0};

    if (cor_builder_finish(b, &object, &why) < 0)
        fail_msg("%s", cor_status_message(&why));
    assert_string_equal(cor_object_json(object).p, json);
    cor_object_unref(object);
    cor_builder_free(b);
}

/* The same for a builder that has failed. */
static void expect_refusal(struct cor_builder *b, int err, const char *message)
{
    struct cor_object *object = NULL;
    struct cor_status why = {0};

    assert_int_equal(cor_builder_finish(b, &object, &why), err);
    assert_string_equal(cor_status_message(&why), message);
    cor_status_deinit(&why);
    cor_builder_free(b);
}

TEST(metadata, deletion_and_age_are_read_as_unix_seconds)
{
    struct cor_object *dying = object_of(
        "{\"metadata\":{\"creationTimestamp\":\"1970-01-01T00:00:10Z\",\"deletionTimestamp\":"
        "\"1970-01-01T01:00:30+01:00\",\"deletionGracePeriodSeconds\":20}}");
    struct cor_object *alive = object_of("{\"metadata\":{\"deletionTimestamp\":null,"
                                         "\"creationTimestamp\":null,"
                                         "\"deletionGracePeriodSeconds\":null}}");
    struct cor_object *strange = object_of("{\"metadata\":{\"deletionTimestamp\":\"soon\","
                                           "\"deletionGracePeriodSeconds\":\"1\"}}");
    int64_t s = 0;

    assert_true(cor_object_is_being_deleted(dying));
    assert_int_equal(cor_object_deletion_time(dying, &s), 0);
    assert_int_equal(s, 30);
    assert_int_equal(cor_object_creation_time(dying, &s), 0);
    assert_int_equal(s, 10);
    assert_int_equal(cor_object_deletion_grace_s(dying, &s), 0);
    assert_int_equal(s, 20);
    assert_false(cor_object_is_being_deleted(alive));
    assert_int_equal(cor_object_deletion_time(alive, &s), -COR_ENOTFOUND);
    assert_int_equal(cor_object_creation_time(alive, &s), -COR_ENOTFOUND);
    assert_int_equal(cor_object_deletion_grace_s(alive, &s), -COR_ENOTFOUND);
    assert_true(cor_object_is_being_deleted(strange));
    assert_int_equal(cor_object_deletion_time(strange, &s), -COR_EINVAL);
    assert_int_equal(cor_object_creation_time(strange, &s), -COR_ENOTFOUND);
    assert_int_equal(cor_object_deletion_grace_s(strange, &s), -COR_EINVAL);
    cor_object_unref(dying);
    cor_object_unref(alive);
    cor_object_unref(strange);
}

TEST(metadata, generations_are_compared_and_copied)
{
    static const char text[] =
        "{\"metadata\":{\"generation\":7},\"status\":{\"observedGeneration\":6}}";
    struct cor_object *object = object_of(text), *plain = object_of("{}");
    struct cor_builder *b = builder_of(text);

    assert_int_equal(cor_object_generation(object), 7);
    assert_int_equal(cor_object_observed_generation(object), 6);
    assert_int_equal(cor_object_generation(plain), 0);
    assert_int_equal(cor_object_observed_generation(plain), 0);
    assert_int_equal(cor_builder_set_observed_generation(b), 1);
    assert_int_equal(cor_builder_set_observed_generation(b), 0);
    expect_object(b, "{\"metadata\":{\"generation\":7},\"status\":{\"observedGeneration\":7}}");
    cor_object_unref(object);
    cor_object_unref(plain);
}

/* Contract controllers 6.9.5 */
TEST(metadata, finalizers_are_added_once_and_all_equal_ones_are_removed)
{
    struct cor_builder *b = builder_of("{\"metadata\":{\"name\":\"a\"}}");
    struct cor_object *object;

    assert_int_equal(cor_builder_remove_finalizer(b, "example.com/x"), 0);
    assert_int_equal(cor_builder_add_finalizer(b, "example.com/x"), 1);
    assert_int_equal(cor_builder_add_finalizer(b, "example.com/x"), 0);
    assert_int_equal(cor_builder_add_finalizer(b, "example.com/y"), 1);
    expect_object(
        b, "{\"metadata\":{\"finalizers\":[\"example.com/x\",\"example.com/y\"],\"name\":\"a\"}}");

    object = object_of("{\"metadata\":{\"finalizers\":[\"a/x\",\"a\\/\\u0079\"]}}");
    assert_true(cor_object_has_finalizer(object, "a/x"));
    assert_true(cor_object_has_finalizer(object, "a/y"));
    assert_false(cor_object_has_finalizer(object, "a"));
    assert_false(cor_object_has_finalizer(object, ""));
    cor_object_unref(object);

    b = builder_of("{\"metadata\":{\"finalizers\":[\"x\",\"y\",\"x\",\"x\"]}}");
    assert_int_equal(cor_builder_remove_finalizer(b, "x"), 1);
    assert_int_equal(cor_builder_remove_finalizer(b, "x"), 0);
    expect_object(b, "{\"metadata\":{\"finalizers\":[\"y\"]}}");

    b = builder_of("{\"metadata\":{\"finalizers\":[\"x\",\"x\"]}}");
    assert_int_equal(cor_builder_remove_finalizer(b, "x"), 1);
    expect_object(b, "{\"metadata\":{}}");
}

TEST(metadata, a_finalizer_that_cannot_be_added_is_refused_for_good)
{
    struct cor_builder *b = builder_of("{}");

    assert_int_equal(cor_builder_add_finalizer(b, ""), -COR_EINVAL);
    assert_int_equal(cor_builder_add_finalizer(b, "x"), -COR_EINVAL);
    assert_int_equal(cor_builder_remove_finalizer(b, "x"), -COR_EINVAL);
    assert_int_equal(cor_builder_set_observed_generation(b), -COR_EINVAL);
    expect_refusal(b, -COR_EINVAL, "metadata.finalizers: the finalizer is empty");

    b = builder_of("{\"metadata\":{\"finalizers\":\"x\"}}");
    assert_int_equal(cor_builder_add_finalizer(b, "x"), -COR_EINVAL);
    expect_refusal(b, -COR_EINVAL, "metadata.finalizers: the value is not an array");
}

TEST(metadata, keys_with_dots_take_json_and_base64)
{
    struct cor_builder *b = builder_of("{}");

    cor_builder_set_base64_in(b, "data", "tls.key", cor_str("\0\1", 2));
    cor_builder_set_json_in(b, "spec.matchLabels", "a.b/c", COR_STR("[1, 2]"));
    assert_true(cor_view_exists(cor_view_member(
        cor_view_member(cor_builder_view(b), COR_STR("data")), COR_STR("tls.key"))));
    expect_object(b, "{\"data\":{\"tls.key\":\"AAE=\"},\"metadata\":{},\"spec\":{\"matchLabels\":"
                     "{\"a.b/c\":[1,2]}}}");
    b = builder_of("{}");
    assert_int_equal(cor_builder_set_json_in(b, "spec", "a.b", COR_STR("[")), -COR_EINVAL);
    assert_int_equal(cor_builder_set_json_in(b, "spec", "c", COR_STR("1")), -COR_EINVAL);
    assert_int_equal(cor_builder_set_base64_in(b, "data", "c", COR_STR("1")), -COR_EINVAL);
    assert_false(cor_view_exists(cor_view_member(cor_builder_view(b), COR_STR("spec"))));
    cor_builder_free(b);
}

TEST(metadata, survives_failed_allocations)
{
    static const char text[] = "{\"metadata\":{\"finalizers\":[\"x\",\"y\"],\"generation\":2}}";

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *object = NULL, *next = NULL;
        struct cor_builder *b = NULL;

        if (cor_object_from_json(cor_strz(text), &object, NULL) == 0 &&
            cor_builder_new(object, &b) == 0) {
            cor_builder_add_finalizer(b, "z");
            cor_builder_remove_finalizer(b, "x");
            cor_builder_set_base64_in(b, "data", "a.b", COR_STR("1"));
            cor_builder_set_observed_generation(b);
            if (cor_builder_finish(b, &next, NULL) == 0) {
                assert_false(test_alloc_failed());
                assert_string_equal(
                    cor_object_json(next).p,
                    "{\"data\":{\"a.b\":\"MQ==\"},\"metadata\":{\"finalizers\":[\"y\",\"z\"],"
                    "\"generation\":2},\"status\":{\"observedGeneration\":2}}");
            }
        }
        cor_object_unref(next);
        cor_builder_free(b);
        cor_object_unref(object);
    }
}
