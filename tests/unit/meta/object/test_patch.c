#include "base/err.h"
#include "meta/object/object.h"
#include "meta/object/object_patch.h"
#include "test.h"

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object = NULL;

    assert_int_equal(cor_object_from_json(cor_strz(json), &object, NULL), 0);
    return object;
}

/* Contract controllers 6.8.4 */
TEST(patch, has_the_difference_of_two_objects)
{
    struct cor_object *before =
        object_of("{\"spec\":{\"b\":1,\"a\":2},\"metadata\":{\"resourceVersion\":\"7\"}}");
    struct cor_object *same =
        object_of("{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"a\":2, \"b\":1}}");
    struct cor_object *after = object_of(
        "{\"metadata\":{\"labels\":{\"x\":\"y\"},\"resourceVersion\":\"7\"},\"spec\":{\"a\":2}}");
    struct cor_patch *patch = NULL;

    assert_int_equal(cor_patch_between(before, same, false, &patch, NULL), 0);
    assert_true(cor_patch_is_empty(patch));
    assert_str(cor_patch_json(patch), "{}");
    cor_patch_free(patch);
    assert_int_equal(cor_patch_between(before, same, true, &patch, NULL), 0);
    assert_false(cor_patch_is_empty(patch));
    assert_str(cor_patch_json(patch), "{\"metadata\":{\"resourceVersion\":\"7\"}}");
    cor_patch_free(patch);
    assert_int_equal(cor_patch_between(before, after, false, &patch, NULL), 0);
    assert_str(cor_patch_json(patch),
               "{\"metadata\":{\"labels\":{\"x\":\"y\"}},\"spec\":{\"b\":null}}");
    cor_patch_free(patch);
    assert_int_equal(cor_patch_between(before, after, true, &patch, NULL), 0);
    assert_str(cor_patch_json(patch), "{\"metadata\":{\"labels\":{\"x\":\"y\"},"
                                      "\"resourceVersion\":\"7\"},\"spec\":{\"b\":null}}");
    assert_null(cor_patch_free(patch));
    cor_object_unref(before);
    cor_object_unref(same);
    cor_object_unref(after);
}

TEST(patch, a_lock_needs_a_version)
{
    struct cor_object *before = object_of("{\"metadata\":{\"name\":\"a\"}}");
    struct cor_status why = {0};
    struct cor_patch *patch = NULL;

    assert_int_equal(cor_patch_between(before, before, true, &patch, &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why),
                        "cannot use OptimisticLock, object \"a\" does not have any resource "
                        "version we can use");
    cor_status_deinit(&why);
    cor_object_unref(before);
}

TEST(patch, a_part_has_the_version_when_it_has_anything)
{
    struct cor_object *before = object_of("{\"spec\":1,\"status\":{\"a\":1}}");
    struct cor_object *after = object_of("{\"spec\":1,\"status\":{\"a\":2}}");
    struct cor_patch *patch = NULL;

    assert_int_equal(
        cor_patch_between_parts(before, after, COR_MERGE_DIFF_BUT, COR_STR("7"), &patch, NULL), 0);
    assert_true(cor_patch_is_empty(patch));
    cor_patch_free(patch);
    assert_int_equal(
        cor_patch_between_parts(before, after, COR_MERGE_DIFF_ONLY, COR_STR("7"), &patch, NULL), 0);
    assert_str(cor_patch_json(patch),
               "{\"status\":{\"a\":2},\"metadata\":{\"resourceVersion\":\"7\"}}");
    cor_patch_free(patch);
    cor_object_unref(before);
    cor_object_unref(after);
}

TEST(patch, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *before = NULL, *after = NULL;
        struct cor_patch *patch = NULL;

        if (cor_object_from_json(COR_STR("{\"metadata\":{\"resourceVersion\":\"7\"}}"), &before,
                                 NULL) == 0 &&
            cor_object_from_json(COR_STR("{\"spec\":{\"a\":1}}"), &after, NULL) == 0 &&
            cor_patch_between(before, after, true, &patch, NULL) == 0) {
            assert_false(test_alloc_failed());
            assert_str(cor_patch_json(patch),
                       "{\"metadata\":{\"resourceVersion\":\"7\"},\"spec\":{\"a\":1}}");
        }
        cor_patch_free(patch);
        cor_object_unref(before);
        cor_object_unref(after);
    }
}
