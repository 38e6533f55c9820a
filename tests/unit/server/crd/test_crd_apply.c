/* managedFields and server-side apply of custom resources, with the answers of a kube-apiserver of
 * 1.34. Random histories are in tests/differential/histories.py; here is what needs a definition
 * that changes, several versions and failures. Numbers are lines of contract crd. */
#include "crd_fixture.h"

#define KETTLE_2(name, rest)                                                                       \
    "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v2\",\"metadata\":{\"name\":\"" name   \
    "\"}" rest "}"
#define KETTLES_2 "/apis/shop.example.org/v2/namespaces/default/kettles"
#define OTHER     "\"storage\":false,"
#define KEYED     "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"],"
#define LIST(type)                                                                                 \
    "\"l\":{\"type\":\"array\"," type "\"items\":{\"type\":\"object\",\"properties\":{\"name\":{"  \
    "\"type\":\"string\"},\"v\":{\"type\":\"integer\"}},\"required\":[\"name\"]}}"
/* A spec with these properties, whose default tells which schema is served. */
#define SPEC(properties, mark)                                                                     \
    PROPS("\"spec\":{\"type\":\"object\",\"properties\":{" properties                              \
          ",\"mark\":{\"type\":\"string\",\"default\":\"" mark "\"}}}")
#define TEXT "\"t\":{\"type\":\"string\"}"

static const struct fx_headers apply_type = {.content_type = "application/apply-patch+yaml"};

static const char *apply(struct crd_fx *c, int status, const char *target, const char *config)
{
    return fx_do_with(&c->fx, status, "PATCH", target, config, &apply_type);
}

/* "a Apply {"f:spec":{}}; …": the entries of an object, without their versions and times. */
static const char *entries(const char *object)
{
    static char text[4096];
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < 10; i++) {
        char path[64];
        const char *manager;

        snprintf(path, sizeof(path), "metadata.managedFields[%d].manager", i);
        manager = fx_at(object, path);
        if (!*manager)
            break;
        snprintf(path, sizeof(path), "metadata.managedFields[%d].operation", i);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s %s ", n ? "; " : "", manager,
                              fx_at(object, path));
        snprintf(path, sizeof(path), "metadata.managedFields[%d].fieldsV1", i);
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", fx_at(object, path));
    }
    return text;
}

/* Serves other versions from now on, of which the stored one has this mark. */
static void redefine(struct crd_fx *c, const char *versions, const char *mark)
{
    char body[2048];

    snprintf(body, sizeof(body), "{\"spec\":{\"versions\":[%s]}}", versions);
    fx_do(&c->fx, 200, "PATCH", CRDS "/kettles.shop.example.org", body);
    await(c, KETTLES "/probe", "spec.mark", mark);
}

static void open_with(struct crd_fx *c, const char *versions)
{
    char crd[4096];

    crd_fx_open(c, false);
    snprintf(crd, sizeof(crd), CRD_OF("kettles", "Kettle", "", "Namespaced", "%s"), versions);
    define(c, crd);
    /* The mark of this object is not stored. */
    fx_put_raw(&c->fx, "/registry/shop.example.org/kettles/default/probe",
               "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":"
               "\"probe\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":{}}");
    await(c, KETTLES "/probe", "spec.mark", "1");
}

/* Contract crd 4.14.4, 4.14.6. */
TEST(crd_apply, writers_own_what_they_wrote)
{
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(SPEC(TEXT "," LIST(KEYED), "1")));
    doc = fx_do(&c.fx, 201, "POST", KETTLES "?fieldManager=p",
                KETTLE("k", ",\"spec\":{\"l\":[{\"name\":\"a\",\"v\":1}]}"));
    assert_string_equal(entries(doc), "p Update {\"f:spec\":{\".\":{},\"f:l\":{\".\":{},\"k:{"
                                      "\\\"name\\\":\\\"a\\\"}\":{\".\":{},\"f:name\":{},\"f:v\":"
                                      "{}}},\"f:mark\":{}}}");
    doc = fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=m", "{\"spec\":{\"t\":\"x\"}}");
    assert_non_null(strstr(entries(doc), "m Update {\"f:spec\":{\"f:t\":{}}}"));
    doc = apply(&c, 409, KETTLES "/k?fieldManager=a", KETTLE("k", ",\"spec\":{\"t\":\"y\"}"));
    assert_at(doc, "message",
              "Apply failed with 1 conflict: conflict with \"m\" using shop.example.org/v1: "
              ".spec.t");
    doc = apply(&c, 200, KETTLES "/k?fieldManager=a&force=true",
                KETTLE("k", ",\"spec\":{\"t\":\"y\",\"l\":[{\"name\":\"b\"}]}"));
    assert_at(doc, "spec.l[1].name", "b");
    assert_null(strstr(entries(doc), "m Update"));
    /* What the applier gives up, and nobody else owns, goes. */
    doc = apply(&c, 200, KETTLES "/k?fieldManager=a", KETTLE("k", ",\"spec\":{\"t\":\"y\"}"));
    assert_at(doc, "spec.l[1].name", "");
    crd_fx_close(&c);
}

/* Contract crd 4.14.5: nothing is pruned before. */
TEST(crd_apply, an_unknown_field_is_refused)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(SPEC(TEXT, "1")));
    assert_at(apply(&c, 500, KETTLES "/k?fieldManager=a&fieldValidation=Ignore",
                    KETTLE("k", ",\"spec\":{\"zz\":1}")),
              "message",
              "failed to create typed patch object (/k; shop.example.org/v1, Kind=Kettle): "
              ".spec.zz: field not declared in schema");
    fx_do(&c.fx, 404, "GET", KETTLES "/k", "");
    assert_at(apply(&c, 201, KETTLES "/k?fieldManager=a",
                    "apiVersion: shop.example.org/v1\nkind: Kettle\nmetadata: {name: k}\n"
                    "spec: {t: x}\n"),
              "spec.mark", "1");
    crd_fx_close(&c);
}

TEST(crd_apply, an_apply_that_changes_nothing_writes_nothing)
{
    struct crd_fx c = {0};
    char rv[64];

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(SPEC(TEXT ",\"n\":{\"type\":\"number\"}", "1")));
    snprintf(rv, sizeof(rv), "%s",
             fx_at(apply(&c, 201, KETTLES "/k?fieldManager=a",
                         KETTLE("k", ",\"spec\":{\"t\":\"x\",\"n\":3.0}")),
                   "metadata.resourceVersion"));
    assert_at(apply(&c, 200, KETTLES "/k?fieldManager=a",
                    KETTLE("k", ",\"spec\":{\"t\":\"x\",\"n\":3.0}")),
              "metadata.resourceVersion", rv);
    assert_at(apply(&c, 200, KETTLES "/k?fieldManager=b&dryRun=All",
                    KETTLE("k", ",\"spec\":{\"t\":\"x\"}")),
              "metadata.resourceVersion", rv);
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES "/k", ""), "metadata.resourceVersion", rv);
    crd_fx_close(&c);
}

/* Upstream keeps the fields of a custom resource as a map, whose keys are sorted by their bytes and
 * not as paths. Were they stored in another order than they are read, each write would be one. */
TEST(crd_apply, fields_are_in_the_order_of_their_texts)
{
    struct crd_fx c = {0};
    const char *doc;
    char rv[64];

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(SPEC(TEXT ",\"l\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\","
                                    "\"items\":{\"type\":\"integer\"}}",
                               "1")));
    doc = fx_do(&c.fx, 201, "POST", KETTLES "?fieldManager=m",
                KETTLE("k", ",\"spec\":{\"l\":[443,80]}"));
    assert_string_equal(
        entries(doc),
        "m Update {\"f:spec\":{\".\":{},\"f:l\":{\".\":{},\"v:443\":{},\"v:80\":{}},\"f:mark\":{}}}");
    doc = apply(&c, 200, KETTLES "/k?fieldManager=a",
                KETTLE("k", ",\"spec\":{\"l\":[9,80],\"t\":\"x\"}"));
    assert_non_null(
        strstr(entries(doc), "a Apply {\"f:spec\":{\"f:l\":{\"v:80\":{},\"v:9\":{}},\"f:t\":{}}}"));
    snprintf(rv, sizeof(rv), "%s", fx_at(doc, "metadata.resourceVersion"));
    assert_at(apply(&c, 200, KETTLES "/k?fieldManager=a",
                    KETTLE("k", ",\"spec\":{\"l\":[9,80],\"t\":\"x\"}")),
              "metadata.resourceVersion", rv);
    assert_at(fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=m", "{\"spec\":{\"t\":\"x\"}}"),
              "metadata.resourceVersion", rv);
    crd_fx_close(&c);
}

/* As at kube-apiserver (tests/differential/instances.py): only an apply that changes something gets
 * the defaults of its version. */
TEST(crd_apply, an_apply_that_changes_nothing_gets_no_defaults)
{
    struct crd_fx c = {0};
    const char *doc;

    open_with(&c,
              VERSION("v1", STORED, SPEC(TEXT, "1")) "," VERSION(
                  "v2", OTHER, SPEC(TEXT ",\"d\":{\"type\":\"string\",\"default\":\"new\"}", "1")));
    apply(&c, 201, KETTLES "/k?fieldManager=a", KETTLE("k", ",\"spec\":{\"t\":\"x\"}"));
    doc = apply(&c, 200, KETTLES_2 "/k?fieldManager=b", KETTLE_2("k", ",\"spec\":{\"t\":\"x\"}"));
    assert_at(doc, "metadata.generation", "1");
    assert_non_null(strstr(entries(doc), "b Apply "));
    doc = apply(&c, 200, KETTLES_2 "/k?fieldManager=b&force=true",
                KETTLE_2("k", ",\"spec\":{\"t\":\"y\"}"));
    assert_at(doc, "metadata.generation", "2");
    crd_fx_close(&c);
}

/* Contract crd 4.14.5: YAML, which an apply is, has no other form of a whole number. */
TEST(crd_apply, numbers_of_a_configuration_are_read_as_yaml)
{
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(SPEC("\"n\":{\"type\":\"integer\",\"maximum\":5}", "1")));
    doc = apply(&c, 422, KETTLES "/k?fieldManager=a", KETTLE("k", ",\"spec\":{\"n\":1e7}"));
    assert_at(doc, "details.causes[0].message",
              "Invalid value: 10000000: spec.n in body should be less than or equal to 5");
    crd_fx_close(&c);
}

/* Contract crd 4.11.6. */
TEST(crd_apply, an_endpoint_owns_nothing_that_it_resets)
{
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(PROPS(SPEC_A ",\"status\":{\"type\":\"object\",\"properties\":{\"p\":{"
                                       "\"type\":\"string\"}}}")));
    doc = apply(&c, 201, KETTLES "/k?fieldManager=a",
                KETTLE("k", ",\"spec\":{\"a\":\"x\"},\"status\":{\"p\":\"1\"}"));
    assert_string_equal(entries(doc), "a Apply {\"f:spec\":{\"f:a\":{}}}");
    assert_at(doc, "status.p", "");
    doc = apply(&c, 200, KETTLES "/k/status?fieldManager=a",
                KETTLE("k", ",\"spec\":{\"a\":\"y\"},\"status\":{\"p\":\"1\"}"));
    assert_string_equal(entries(doc), "a Apply {\"f:spec\":{\"f:a\":{}}}; a Apply {\"f:status\":{"
                                      "\"f:p\":{}}}");
    assert_at(doc, "spec.a", "x");
    crd_fx_close(&c);
}

/* Contract crd 4.14.1, 4.14.9. */
TEST(crd_apply, each_version_is_compared_in_its_own_schema)
{
    struct crd_fx c = {0};
    const char *doc;

    open_with(&c, VERSION("v1", STORED, SPEC(TEXT ",\"s\":{\"type\":\"string\"}", "1")) "," VERSION(
                      "v2", OTHER, SPEC(TEXT, "1")));
    doc = apply(&c, 201, KETTLES_2 "/k?fieldManager=a", KETTLE_2("k", ",\"spec\":{\"t\":\"x\"}"));
    assert_at(doc, "metadata.managedFields[0].apiVersion", "shop.example.org/v2");
    doc = apply(&c, 409, KETTLES "/k?fieldManager=b", KETTLE("k", ",\"spec\":{\"t\":\"y\"}"));
    assert_at(doc, "details.causes[0].field", ".spec.t");
    /* The live object is none of version 2 with this field. */
    fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=m", "{\"spec\":{\"s\":\"1\"}}");
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES "/k", ""), "metadata.managedFields", "");
    crd_fx_close(&c);
}

TEST(crd_apply, entries_of_a_version_that_is_gone_are_refused)
{
    struct crd_fx c = {0};
    const char *doc;

    open_with(&c, VERSION("v1", STORED, SPEC(TEXT, "1")) "," VERSION("v2", OTHER, SPEC(TEXT, "1")));
    apply(&c, 201, KETTLES_2 "/k?fieldManager=a", KETTLE_2("k", ",\"spec\":{\"t\":\"x\"}"));
    redefine(&c, VERSION("v1", STORED, SPEC(TEXT, "2")), "2");
    assert_at(apply(&c, 500, KETTLES "/k?fieldManager=b", KETTLE("k", "")), "message",
              "request to convert CR to an invalid group/version: shop.example.org/v2");
    /* Any other write drops the entries. */
    doc = fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=m", "{\"spec\":{\"t\":\"z\"}}");
    assert_string_equal(entries(doc), "");
    assert_at(apply(&c, 409, KETTLES "/k?fieldManager=a", KETTLE("k", ",\"spec\":{\"t\":\"x\"}")),
              "details.causes[0].message",
              "conflict with \"before-first-apply\" using shop.example.org/v1");
    crd_fx_close(&c);
}

#define MAP(more, values)                                                                          \
    TEXT ",\"m\":{\"type\":\"object\"" more ",\"additionalProperties\":{" values "}}"
#define ATOMIC ",\"x-kubernetes-map-type\":\"atomic\""
#define EITHER "\"x-kubernetes-int-or-string\":true"

/* As at kube-apiserver (tests/differential/instances.py), which does not follow maps of values
 * without a type. */
TEST(crd_apply, sets_follow_no_map_of_numbers_or_texts)
{
    struct crd_fx c = {0};

    open_with(&c, VERSION("v1", STORED, SPEC(MAP("", EITHER), "1")));
    apply(&c, 201, KETTLES "/k?fieldManager=a", KETTLE("k", ",\"spec\":{\"m\":{\"x\":1}}"));
    redefine(&c, VERSION("v1", STORED, SPEC(MAP(ATOMIC, EITHER), "2")), "2");
    fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=a", "{\"spec\":{\"t\":\"1\"}}");
    assert_non_null(strstr(entries(fx_do(&c.fx, 200, "GET", KETTLES "/k", "")),
                           "a Apply {\"f:spec\":{\"f:m\":{\"f:x\":{}}}}"));
    redefine(&c, VERSION("v1", STORED, SPEC(MAP(ATOMIC, "\"type\":\"integer\""), "3")), "3");
    fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=a", "{\"spec\":{\"t\":\"2\"}}");
    assert_non_null(strstr(entries(fx_do(&c.fx, 200, "GET", KETTLES "/k", "")),
                           "a Apply {\"f:spec\":{\"f:m\":{}}}"));
    crd_fx_close(&c);
}

TEST(crd_apply, sets_follow_a_list_that_becomes_atomic)
{
    struct crd_fx c = {0};
    const char *doc;

    open_with(&c, VERSION("v1", STORED, SPEC(LIST(KEYED), "1")));
    apply(&c, 201, KETTLES "/k?fieldManager=a",
          KETTLE("k", ",\"spec\":{\"l\":[{\"name\":\"a\"}]}"));
    apply(&c, 200, KETTLES "/k?fieldManager=b",
          KETTLE("k", ",\"spec\":{\"l\":[{\"name\":\"b\"}]}"));
    fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=w",
          "{\"metadata\":{\"labels\":{\"l\":\"0\"}}}");
    redefine(&c, VERSION("v1", STORED, SPEC(LIST(""), "2")), "2");
    /* Its writer owns this field already, and no set would have to be read. */
    doc = fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=w",
                "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
    assert_string_equal(entries(doc), "a Apply {\"f:spec\":{\"f:l\":{}}}; b Apply {\"f:spec\":{"
                                      "\"f:l\":{}}}; w Update {\"f:metadata\":{\"f:labels\":{\".\":"
                                      "{},\"f:l\":{}}}}");
    doc = apply(&c, 409, KETTLES "/k?fieldManager=a",
                KETTLE("k", ",\"spec\":{\"l\":[{\"name\":\"a\",\"v\":2}]}"));
    assert_at(doc, "message", "Apply failed with 1 conflict: conflict with \"b\": .spec.l");
    crd_fx_close(&c);
}

/* Contract crd 4.14.10. */
TEST(crd_apply, a_live_object_that_is_none_of_its_schema_is_mended_by_an_update)
{
    static const char loose[] =
        VERSION("v1", STORED,
                SPEC("\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{"
                     "\"name\":{\"type\":\"string\"},\"v\":{\"type\":\"integer\"}}}}",
                     "1"));
    struct crd_fx c = {0};
    const char *doc;

    open_with(&c, loose);
    apply(&c, 201, KETTLES "/k?fieldManager=a", KETTLE("k", ",\"spec\":{\"l\":[{\"v\":1}]}"));
    redefine(&c, VERSION("v1", STORED, SPEC(LIST(KEYED), "2")), "2");
    assert_at(apply(&c, 500, KETTLES "/k?fieldManager=b", KETTLE("k", "")), "message",
              "failed to create typed live object (default/k; shop.example.org/v1, Kind=Kettle): "
              ".spec.l: element 0: associative list with keys has an element that omits all key "
              "fields [\"name\"] (and doesn't have default values for any key fields)");
    doc = fx_do(&c.fx, 200, "PATCH", KETTLES "/k?fieldManager=u",
                "{\"spec\":{\"l\":[{\"name\":\"q\"}]}}");
    assert_string_equal(entries(doc), "");
    doc = apply(&c, 200, KETTLES "/k?fieldManager=b",
                KETTLE("k", ",\"spec\":{\"l\":[{\"name\":\"z\"}]}"));
    assert_string_equal(entries(doc),
                        "b Apply {\"f:spec\":{\"f:l\":{\"k:{\\\"name\\\":\\\"z\\\"}\":{\".\":{},"
                        "\"f:name\":{}}}}}; before-first-apply Update {\"f:spec\":{\".\":{},"
                        "\"f:l\":{\".\":{},\"k:{\\\"name\\\":\\\"q\\\"}\":{\".\":{},\"f:name\":{}}}"
                        ",\"f:mark\":{}}}");
    crd_fx_close(&c);
}

TEST(crd_apply, an_apply_without_memory_fails_whole)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced",
                      VERSION("v1", STORED STATUS, SPEC(TEXT "," LIST(KEYED), "1")) "," VERSION(
                          "v2", OTHER, SPEC(TEXT "," LIST(KEYED), "1"))));
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES "/k?fieldManager=a&dryRun=All",
                       KETTLE("k", ",\"spec\":{\"t\":\"x\"}"), &apply_type);
    apply(&c, 201, KETTLES_2 "/k?fieldManager=a",
          KETTLE_2("k", ",\"spec\":{\"t\":\"x\",\"l\":[{\"name\":\"a\"}]}"));
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES "/k?fieldManager=b&dryRun=All",
                       KETTLE("k", ",\"spec\":{\"l\":[{\"name\":\"b\",\"v\":3.0}]}"), &apply_type);
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES "/k?fieldManager=b&dryRun=All",
                       KETTLE("k", ",\"spec\":{\"t\":\"y\"}"), &apply_type);
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES "/k?fieldManager=a&dryRun=All", KETTLE("k", ""),
                       &apply_type);
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES "/k?fieldManager=m&dryRun=All",
                       "{\"spec\":{\"t\":\"z\"}}", NULL);
    crd_fx_close(&c);
}
