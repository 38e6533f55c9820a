/* CustomResourceDefinitions that are read in one walk, and what is written to their status. */
#include "schema/kinds/crd_versions.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "meta/object/object_received.h"
#include "test.h"

#define HEAD                                                                                       \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"things.example.org\",\"resourceVersion\":\"7\"},"
#define V1                                                                                         \
    "{\"name\":\"v1\",\"schema\":{\"openAPIV3Schema\":{\"properties\":{\"storage\":{\"type\":"     \
    "\"string\"},\"}\":{\"type\":\"string\"}},\"type\":\"object\"}},\"served\":true,\"storage\":"  \
    "false,\"zzz\":[{}]}"
#define V2     "{\"additionalPrinterColumns\":[],\"name\":\"v2\",\"storage\":true}"
#define STATUS "{\"conditions\":[],\"storedVersions\":[\"v2\"]}"

static struct cor_object *object_of(const char *json)
{
    struct cor_object *object;

    assert_int_equal(cor_object_canonical(cor_strz(json), &object, NULL), 0);
    return object;
}

static void assert_text(struct cor_str text, const char *want)
{
    assert_true(cor_str_eqz(text, want));
}

TEST(crd_versions, are_found_with_spec_and_status_in_one_walk)
{
    const char *spec = "{\"group\":\"example.org\",\"versions\":[" V1 "," V2 "],\"with\":1}";
    char json[2048];
    struct cor_crd_versions versions = {0};
    struct cor_object *object;
    struct cor_crd crd, plain;

    snprintf(json, sizeof(json), HEAD "\"spec\":%s,\"status\":" STATUS "}", spec);
    object = object_of(json);
    assert_int_equal(cor_crd_read(object, &crd, &versions), 0);
    plain = cor_crd_of(object);
    assert_text(crd.spec.json, spec);
    assert_text(crd.status.json, STATUS);
    assert_ptr_equal(crd.spec.json.p, plain.spec.json.p);
    assert_ptr_equal(crd.status.json.p, plain.status.json.p);
    assert_int_equal(versions.n, 2);
    assert_text(versions.v[0].json, V1);
    assert_text(cor_crd_version_name(&versions.v[0]), "v1");
    assert_true(cor_crd_version_is(&versions.v[0], COR_CRD_SERVED));
    assert_false(cor_crd_version_is(&versions.v[0], COR_CRD_STORAGE));
    assert_null(versions.v[0].members[COR_CRD_COLUMNS].p);
    assert_text(versions.v[1].json, V2);
    assert_text(versions.v[1].members[COR_CRD_COLUMNS], "[]");
    assert_true(cor_crd_version_is(&versions.v[1], COR_CRD_STORAGE));
    assert_false(cor_crd_version_is(&versions.v[1], COR_CRD_SERVED));
    cor_crd_versions_deinit(&versions);
    cor_object_unref(object);
}

/* Another server may have stored anything. */
TEST(crd_versions, are_none_where_something_else_stands)
{
    static const struct {
        const char *spec;
        size_t n;
    } cases[] = {{"7", 0},
                 {"{}", 0},
                 {"[]", 0},
                 {"null", 0},
                 {"{\"versions\":{}}", 0},
                 {"{\"versions\":\"v1\"}", 0},
                 {"{\"versions\":[1,null,\"v1\",[" V1 "]]}", 0},
                 {"{\"versions\":[1," V2 ",{}]}", 2}};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_crd_versions versions = {0};
        struct cor_object *object;
        struct cor_crd crd;
        char json[1024];

        snprintf(json, sizeof(json), HEAD "\"spec\":%s,\"status\":" STATUS "}", cases[i].spec);
        object = object_of(json);
        assert_int_equal(cor_crd_read(object, &crd, &versions), 0);
        assert_int_equal(versions.n, cases[i].n);
        assert_text(crd.spec.json, cases[i].spec);
        assert_text(crd.status.json, STATUS);
        cor_crd_versions_deinit(&versions);
        cor_object_unref(object);
    }
}

TEST(crd_versions, survive_failed_allocations)
{
    struct cor_object *object = object_of(HEAD "\"spec\":{\"versions\":[" V1 "," V2 "]}}");

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_crd_versions versions = {0};
        struct cor_crd crd;
        int r = cor_crd_read(object, &crd, &versions);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_crd_versions_deinit(&versions);
    }
    cor_object_unref(object);
}

/* The spec is nearly all of the text, and stays as it is stored. */
TEST(crd_versions, a_change_of_the_status_does_not_repeat_the_spec)
{
    const struct cor_crd_change change = {
        .conditions = {{"Established", "Approved", COR_STR("words"), true}}, .nconditions = 1};
    struct cor_object *object =
        object_of(HEAD "\"spec\":{\"versions\":[" V1 "]},\"status\":" STATUS "}");
    struct cor_crd crd = cor_crd_of(object);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_object *next = NULL;
        int r = cor_crd_change(&crd, &change, 0, &next);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_text(cor_object_json(next),
                        HEAD "\"status\":{\"conditions\":[{\"lastTransitionTime\":"
                             "\"1970-01-01T00:00:00Z\",\"message\":\"words\",\"reason\":"
                             "\"Approved\",\"status\":\"True\",\"type\":\"Established\"}],"
                             "\"storedVersions\":[\"v2\"]}}");
        cor_object_unref(next);
    }
    cor_object_unref(object);
}
