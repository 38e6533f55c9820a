#include "base/err.h"

#include "coracle/view.h"
#include "meta/object/object_received.h"
#include "meta/select/label_selector.h"
#include "test.h"
#include "json/text/json.h"
#include <stdio.h>

/* As kube-apiserver writes it: members in the order of Go's structs. */
#define POD_META                                                                                           \
    "\"metadata\":{\"name\":\"web\",\"namespace\":\"default\",\"uid\":\"u-1\",\"resourceVersion\":\"70\"," \
    "\"labels\":{\"app\":\"web\",\"tier\":\"a\"},\"annotations\":{\"x\":\"\\u003cb\\u003e\"},"             \
    "\"ownerReferences\":[{\"uid\":\"o\"}]},\"spec\":{\"nodeName\":\"n\",\"containers\":[]}}"
#define POD "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"," POD_META

static struct cor_object *receive(const char *json, const char *kind)
{
    struct cor_object *object = NULL;
    struct cor_status why;

    cor_status_init(&why);
    if (cor_object_received(cor_strz(json), cor_strz(kind), COR_STR("v1"), &object, &why) < 0)
        fail_msg("%s: %s", json, cor_status_message(&why));
    cor_status_deinit(&why);
    return object;
}

static void expect_pod(const struct cor_object *object)
{
    struct cor_str value;

    assert_str(cor_object_kind(object), "Pod");
    assert_str(cor_object_api_version(object), "v1");
    assert_str(cor_object_name(object), "web");
    assert_str(cor_object_namespace(object), "default");
    assert_str(cor_object_uid(object), "u-1");
    assert_str(cor_object_labels(object), "{\"app\":\"web\",\"tier\":\"a\"}");
    assert_true(cor_object_label(object, COR_STR("tier"), &value));
    assert_str(value, "a");
    assert_str(cor_str(object->bytes + object->owners.at, object->owners.len), "[{\"uid\":\"o\"}]");
    assert_true(object->fingerprint != 0);
}

TEST(object_received, keeps_the_bytes_as_they_came)
{
    struct cor_object *object = receive(POD, "");

    assert_str(cor_object_json(object), POD);
    expect_pod(object);
    assert_int_equal(object->rev, 70);
    assert_str(cor_object_resource_version(object), "70");
    cor_object_unref(object);
}

TEST(object_received, gives_a_lists_item_its_type)
{
    struct cor_object *object = receive("{" POD_META, "Pod");

    assert_str(cor_object_json(object), POD);
    expect_pod(object);
    assert_str(cor_object_resource_version(object), "70");
    cor_object_unref(object);
    object = receive(POD, "List");
    expect_pod(object);
    cor_object_unref(object);
}

TEST(object_received, has_a_copy_at_another_revision)
{
    struct cor_object *object = receive("{" POD_META, "Pod"), *later, *stored;

    assert_int_equal(cor_object_at(object, 12345, &later), 0);
    expect_pod(later);
    assert_str(cor_object_resource_version(later), "12345");
    assert_int_equal(cor_object_at(later, 0, &stored), 0);
    expect_pod(stored);
    assert_str(cor_object_resource_version(stored), "");
    assert_true(cor_object_same_stored(object, later));
    assert_true(cor_object_same_stored(object, stored));
    cor_object_unref(stored);
    cor_object_unref(later);
    cor_object_unref(object);
}

/* The revision member may stand first, last, alone or nowhere. */
TEST(object_received, finds_its_revision_anywhere_in_metadata)
{
    static const char *const texts[] = {
        "{\"metadata\":{\"resourceVersion\":\"7\",\"name\":\"a\"}}",
        "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}",
        "{\"metadata\":{\"resourceVersion\":\"7\"}}",
        "{\"metadata\":{\"name\":\"a\"}}",
        "{\"metadata\":{}}",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(texts); i++) {
        struct cor_object *object = receive(texts[i], ""), *later;
        bool has_rv = strstr(texts[i], "resource") != NULL;

        assert_str(cor_object_json(object), texts[i]);
        assert_str(cor_object_resource_version(object), has_rv ? "7" : "");
        assert_int_equal(cor_object_at(object, 88, &later), 0);
        assert_str(cor_object_resource_version(later), "88");
        assert_str(cor_object_name(later), strstr(texts[i], "name") ? "a" : "");
        cor_object_unref(object);
        object = receive(later->bytes, "");
        assert_int_equal(object->rev, 88);
        cor_object_unref(object);
        cor_object_unref(later);
    }
}

TEST(object_received, what_is_unusual_becomes_canonical)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"{}", "{\"metadata\":{}}"},
        {"{\"metadata\":null}", "{\"metadata\":{}}"},
        {"{\"metadata\":{\"resourceVersion\": \"7\"}}",
         "{\"metadata\":{\"resourceVersion\":\"7\"}}"},
        {"{\"metadata\":{\"resourceVersion\":null}}", "{\"metadata\":{}}"},
        {"{\"metadata\":{\"labels\":{\"b\":\"1\",\"a\":\"2\"},\"name\":\"x\"}}",
         "{\"metadata\":{\"labels\":{\"a\":\"2\",\"b\":\"1\"},\"name\":\"x\"}}"},
        {"{\"metadata\":{\"labels\":{\"\\u0061\":\"1\"}}}",
         "{\"metadata\":{\"labels\":{\"a\":\"1\"}}}"},
        {"{\"m\\u0065tadata\":{\"name\":\"x\"}}", "{\"metadata\":{\"name\":\"x\"}}"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_object *object = receive(cases[i].json, "");

        assert_str(cor_object_json(object), cases[i].want);
        cor_object_unref(object);
    }
}

TEST(object_received, takes_a_revision_into_metadata_of_spaces)
{
    static const char *const bodies[] = {
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{ }}", "{ \"metadata\" : {\n} }",
        "{\"metadata\":{ \"name\":\"a\"}}", "{\"metadata\":{}}"};
    const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;

    for (size_t i = 0; i < COR_ARRAY_LEN(bodies); i++) {
        struct cor_object *object = receive(bodies[i], "Pod"), *later;
        bool canonical;

        assert_int_equal(cor_object_at(object, 7, &later), 0);
        assert_int_equal(cor_json_check(cor_object_json(later), &limits, &canonical, NULL), 0);
        assert_str(cor_object_resource_version(later), "7");
        cor_object_unref(later);
        cor_object_unref(object);
    }
}

TEST(object_received, types_that_are_half_there_are_completed)
{
    struct cor_object *object = receive("{\"apiVersion\":\"v2\",\"metadata\":{}}", "Pod");

    assert_str(cor_object_json(object), "{\"kind\":\"Pod\",\"apiVersion\":\"v2\",\"metadata\":{}}");
    cor_object_unref(object);
    object = receive("{}", "Pod");
    assert_str(cor_object_json(object), "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{}}");
    cor_object_unref(object);
}

TEST(object_received, takes_any_text_for_a_revision)
{
    static const char *const revisions[] = {"x", "9999999999999999999", "007", "a/1 b"};

    for (size_t i = 0; i < COR_ARRAY_LEN(revisions); i++) {
        char text[128];
        struct cor_object *object;

        snprintf(text, sizeof(text), "{\"metadata\":{\"resourceVersion\":\"%s\"}}", revisions[i]);
        object = receive(text, "");
        assert_str(cor_object_json(object), text);
        assert_str(cor_object_resource_version(object), revisions[i]);
        cor_object_unref(object);
    }
}

TEST(object_received, refuses_what_is_no_object)
{
    static const struct {
        const char *json, *message;
    } cases[] = {
        {"[]", "an object is expected at the top level"},
        {"", "unexpected end of JSON input (line 1, column 1, byte 0)"},
        {"{\"metadata\":[]}", "metadata: an object is expected"},
    };
    struct cor_object *object;
    struct cor_status why;

    cor_status_init(&why);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        assert_int_equal(cor_object_from_json(cor_strz(cases[i].json), &object, &why), -COR_EINVAL);
        assert_string_equal(cor_status_message(&why), cases[i].message);
    }
    cor_status_deinit(&why);
}

TEST(object_received, carries_its_key)
{
    static const struct {
        const char *json, *key;
    } cases[] = {
        {POD, "default/web"},
        {"{\"metadata\":{\"name\":\"a\"}}", "a"},
        {"{\"metadata\":{\"namespace\":\"\",\"name\":\"a\"}}", "a"},
        {"{\"metadata\":{\"labels\":{\"b\":\"\",\"a\":\"\"},\"name\":\"x\",\"namespace\":\"n\"}}",
         "n/x"},
        {"{\"metadata\":{}}", ""},
        {"{}", ""},
    };
    struct cor_object *object, *at, *keyed;

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        object = receive(cases[i].json, "");
        assert_str(cor_object_own_key(object), cases[i].key);
        assert_int_equal(cor_object_at(object, 5, &at), 0);
        assert_str(cor_object_own_key(at), "");
        assert_int_equal(cor_object_with_key(at, &keyed), cases[i].key[0] ? 0 : -COR_EINVAL);
        if (cases[i].key[0]) {
            assert_str(cor_object_own_key(keyed), cases[i].key);
            assert_str(cor_object_json(keyed), at->bytes);
            assert_str(cor_object_resource_version(keyed), "5");
            cor_object_unref(keyed);
            assert_int_equal(cor_object_with_key(object, &keyed), 0);
            assert_ptr_equal(keyed, object);
            cor_object_unref(keyed);
        }
        cor_object_unref(at);
        cor_object_unref(object);
    }
}

TEST(object_received, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *object = NULL;

        if (cor_object_received(COR_STR("{" POD_META), COR_STR("Pod"), COR_STR("v1"), &object,
                                NULL) == 0)
            expect_pod(object);
        object = cor_object_unref(object);
        if (cor_object_received(COR_STR("{ " POD_META), COR_STR("Pod"), COR_STR("v1"), &object,
                                NULL) == 0)
            expect_pod(object);
        cor_object_unref(object);
    }
}
