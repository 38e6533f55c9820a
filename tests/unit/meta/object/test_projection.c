#include "base/cleanup.h"
#include "base/err.h"
#include "coracle/projection.h"
#include "meta/object/object.h"
#include "test.h"

static const char pod[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web\",\"namespace\":\"default\","
    "\"uid\":\"u-1\",\"resourceVersion\":\"70\",\"labels\":{\"a/b\":\"1\",\"app\":\"web\"},"
    "\"managedFields\":[{\"manager\":\"x\"}]},"
    "\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"}]},\"status\":{\"podIP\":\"10.0.0.1\",\"phase\":\"Running\"}}";

static void expect(const struct cor_projection_opts *opts, const char *want)
{
    struct cor_projection *p;
    struct cor_object *object;

    assert_int_equal(cor_projection_new(opts, &p, NULL), 0);
    assert_int_equal(cor_object_from_json(cor_strz(pod), &object, NULL), 0);
    assert_int_equal(cor_projection_transform(p, &object, NULL), 0);
    assert_str(cor_object_json(object), want);
    assert_str(cor_object_name(object), "web");
    assert_str(cor_object_namespace(object), "default");
    assert_str(cor_object_resource_version(object), "70");
    assert_int_equal(object->rev, 70);
    cor_object_unref(object);
    cor_projection_free(p);
}

static const struct cor_str three[] = {COR_STR("status.phase"), COR_STR("spec.nodeName"),
                                       COR_STR("status.podIP")};

#define KEPT_META                                                                                  \
    "\"metadata\":{\"name\":\"web\",\"namespace\":\"default\",\"resourceVersion\":\"70\"}"
#define KEPT_REST                                                                                  \
    "\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\",\"podIP\":\"10.0.0.1\"}}"

TEST(projection, keeps_the_named_fields_and_what_the_cache_needs)
{
    expect(&(struct cor_projection_opts){COR_PROJECTION_OPTS, .fields = three, .nfields = 3},
           "{" KEPT_META "," KEPT_REST);
    expect(&(struct cor_projection_opts){COR_PROJECTION_OPTS, .fields = three, .nfields = 3,
                                         .keep_type = true},
           "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"," KEPT_META "," KEPT_REST);
}

TEST(projection, keeps_labels_for_selectors)
{
    expect(
        &(struct cor_projection_opts){COR_PROJECTION_OPTS, .fields = three, .nfields = 1,
                                      .keep_labels = true},
        "{\"metadata\":{\"labels\":{\"a/b\":\"1\",\"app\":\"web\"},\"name\":\"web\",\"namespace\":"
        "\"default\",\"resourceVersion\":\"70\"},\"status\":{\"phase\":\"Running\"}}");
}

TEST(projection, fields_may_be_absent_whole_or_odd)
{
    static const struct cor_str odd[] = {COR_STR("spec"), COR_STR("spec.nodeName"),
                                         COR_STR("metadata.labels['a/b']"),
                                         COR_STR("status.missing.field")};

    expect(
        &(struct cor_projection_opts){COR_PROJECTION_OPTS, .fields = odd, .nfields = 4},
        "{\"metadata\":{\"labels\":{\"a/b\":\"1\"},\"name\":\"web\",\"namespace\":\"default\","
        "\"resourceVersion\":\"70\"},\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"}]}}");
}

TEST(projection, drops_managed_fields_alone)
{
    expect(
        &(struct cor_projection_opts){COR_PROJECTION_OPTS, .drop_managed_fields = true},
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web\",\"namespace\":\"default\","
        "\"uid\":\"u-1\",\"resourceVersion\":\"70\",\"labels\":{\"a/b\":\"1\",\"app\":\"web\"}},"
        "\"spec\":{\"nodeName\":\"n\",\"containers\":[{\"name\":\"c\"}]},\"status\":{\"podIP\":\"10.0.0.1\",\"phase\":\"Running\"}}");
}

/* Bytes of a server that does not write them as tightly as it could. */
TEST(projection, drops_managed_fields_among_white_space)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        {"{\"metadata\":{\"managedFields\":[] , \"name\":\"a\"}}",
         "{\"metadata\":{ \"name\":\"a\"}}"},
        {"{\"metadata\":{\"name\":\"a\",\n\t\"managedFields\" : [1]\r\n}}",
         "{\"metadata\":{\"name\":\"a\"\r\n}}"},
        {"{\"metadata\":{\"name\":\"a\" , \"managedFields\":[] , \"uid\":\"b\"}}",
         "{\"metadata\":{\"name\":\"a\" ,  \"uid\":\"b\"}}"},
        {"{\"metadata\":{ \"managedFields\":[{}] }}", "{\"metadata\":{  }}"},
    };
    const struct cor_projection_opts opts = {COR_PROJECTION_OPTS, .drop_managed_fields = true};
    struct cor_projection *p;

    assert_int_equal(cor_projection_new(&opts, &p, NULL), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_object *object;

        assert_int_equal(cor_object_from_json(cor_strz(cases[i].json), &object, NULL), 0);
        assert_int_equal(cor_projection_transform(p, &object, NULL), 0);
        assert_str(cor_object_json(object), cases[i].want);
        cor_object_unref(object);
    }
    cor_projection_free(p);
}

TEST(projection, everything_is_the_same_object)
{
    const struct cor_projection_opts opts = {COR_PROJECTION_OPTS};
    struct cor_projection *p;
    struct cor_object *object, *same;

    assert_int_equal(cor_projection_new(&opts, &p, NULL), 0);
    assert_int_equal(cor_object_from_json(cor_strz(pod), &object, NULL), 0);
    assert_int_equal(cor_projection_apply(p, object, &same, NULL), 0);
    assert_ptr_equal(same, object);
    cor_object_unref(same);
    cor_object_unref(object);
    cor_projection_free(p);
}

TEST(projection, refuses_paths_by_name)
{
    static const struct cor_str bad[] = {COR_STR("spec.nodeName"), COR_STR("spec.containers[0]")};
    static const struct cor_str worse[] = {COR_STR("a..b")};
    struct cor_projection_opts opts = {COR_PROJECTION_OPTS, .fields = bad, .nfields = 2};
    struct cor_projection *p;
    struct cor_status why;

    cor_status_init(&why);
    assert_int_equal(cor_projection_new(&opts, &p, &why), -COR_EINVAL);
    assert_string_equal(cor_status_message(&why),
                        "spec.containers[0]: a kept field is named by keys only");
    opts = (struct cor_projection_opts){COR_PROJECTION_OPTS, .fields = worse, .nfields = 1};
    assert_int_equal(cor_projection_new(&opts, &p, &why), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&why), "a..b: "));
    opts.nfields = 1000;
    assert_int_equal(cor_projection_new(&opts, &p, &why), -COR_ETOOBIG);
    cor_status_deinit(&why);
}

TEST(projection, survives_failed_allocations)
{
    const struct cor_projection_opts opts = {COR_PROJECTION_OPTS, .fields = three, .nfields = 3};

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_projection *p = NULL;
        struct cor_object *object = NULL;

        if (cor_object_from_json(cor_strz(pod), &object, NULL) == 0 &&
            cor_projection_new(&opts, &p, NULL) == 0 &&
            cor_projection_transform(p, &object, NULL) < 0)
            assert_str(cor_object_json(object), pod);
        cor_object_unref(object);
        cor_projection_free(p);
    }
}
