/* Custom resources from the creation of their definition to its deletion: conditions, discovery,
 * all verbs, several versions, changes while watches are open. Numbers are lines of contract crd.
 */
#include "crd_fixture.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "server/api/api_loop.h"
#include "server/crd/crds_int.h"

/* Contract crd 2.1.3, 2.1.4, 2.2.5, 2.3.2, 2.6.3 to 2.6.6. */
static void check_definition(bool has_caches)
{
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, has_caches);
    doc = fx_do(&c.fx, 201, "POST", CRDS, KETTLE_CRD(PROPS(SPEC_A)));
    assert_at(doc, "status.storedVersions[0]", "v1");
    assert_at(doc, "status.acceptedNames.plural", "");
    assert_string_equal(condition(doc, "NamesAccepted"), "none");
    doc = await(&c, CRDS "/kettles.shop.example.org", "status.conditions[1].status", "True");
    assert_string_equal(condition(doc, "NamesAccepted"), "True NoConflicts: no conflicts found");
    assert_string_equal(condition(doc, "Established"),
                        "True InitialNamesAccepted: the initial names have been accepted");
    assert_at(doc, "status.acceptedNames.singular", "kettle");
    assert_at(doc, "status.acceptedNames.listKind", "KettleList");
    assert_at(doc, "metadata.generation", "1");
    doc = await(&c, "/apis/shop.example.org/v1", "kind", "APIResourceList");
    assert_non_null(strstr(
        doc, "{\"name\":\"kettles\",\"singularName\":\"kettle\",\"namespaced\":true,\"kind\":"
             "\"Kettle\",\"verbs\":[\"delete\",\"deletecollection\",\"get\",\"list\",\"patch\","
             "\"create\",\"update\",\"watch\"],\"shortNames\":[\"kt\"],\"categories\":[\"all\"],"
             "\"storageVersionHash\":\"sdXqAI/D/IE=\"}"));
    assert_non_null(strstr(doc, "{\"name\":\"kettles/status\",\"singularName\":\"\",\"namespaced\":"
                                "true,\"kind\":\"Kettle\",\"verbs\":[\"get\",\"patch\","
                                "\"update\"]}"));
    doc = fx_do_with(&c.fx, 200, "GET", "/apis", "",
                     &(struct fx_headers){.accept = "application/json;g=apidiscovery.k8s.io;v=v2;"
                                                    "as=APIGroupDiscoveryList"});
    assert_non_null(strstr(doc, "\"responseKind\":{\"group\":\"shop.example.org\",\"version\":"
                                "\"v1\",\"kind\":\"Kettle\"}"));
    crd_fx_close(&c);
}

TEST(crds, a_definition_is_accepted_established_and_discovered)
{
    check_definition(false);
    check_definition(true);
}

/* Contract crd 2.4.1. */
TEST(crds, a_definition_of_a_protected_group_says_whether_it_is_approved)
{
    static const char path[] = CRDS "/pots.cook.k8s.io";
    struct crd_fx c = {0};

    crd_fx_open(&c, true);
    fx_do(&c.fx, 201, "POST", CRDS,
          "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","
          "\"metadata\":{\"name\":\"pots.cook.k8s.io\",\"annotations\":{"
          "\"api-approved.kubernetes.io\":\"unapproved, \\\"a test\\\"\"}},\"spec\":{\"group\":"
          "\"cook.k8s.io\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"pots\",\"kind\":\"Pot\"},"
          "\"versions\":[" VERSION("v1", STORED, ANY) "]}}");
    assert_string_equal(
        condition(await(&c, path, "status.conditions[2].reason", "UnapprovedAnnotation"),
                  "KubernetesAPIApprovalPolicyConformant"),
        "False UnapprovedAnnotation: not approved: \"unapproved, \\\"a test\\\"\"");
    fx_do_with(&c.fx, 200, "PATCH", path,
               "{\"metadata\":{\"annotations\":{\"api-approved.kubernetes.io\":"
               "\"https://example.org/1\"}}}",
               &(struct fx_headers){.content_type = "application/merge-patch+json"});
    assert_string_equal(
        condition(await(&c, path, "status.conditions[2].reason", "ApprovedAnnotation"),
                  "KubernetesAPIApprovalPolicyConformant"),
        "True ApprovedAnnotation: approved in https://example.org/1");
    crd_fx_close(&c);
}

/* Contract crd F1, F2, F3, 4.11.2, 4.11.3, B1, B6. */
TEST(crds, instances_have_all_verbs)
{
    struct crd_fx c = {0};
    const char *doc;
    char body[1024];

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(PROPS(SPEC_A ",\"status\":{\"type\":\"object\"," ANY "}")));
    doc = fx_do(&c.fx, 201, "POST", KETTLES,
                KETTLE("k", ",\"spec\":{\"a\":\"x\",\"b\":1},\"status\":{\"n\":1}"));
    assert_at(doc, "metadata.generation", "1");
    assert_at(doc, "metadata.namespace", "default");
    assert_at(doc, "spec.a", "x");
    assert_at(doc, "spec.b", "");
    assert_at(doc, "status.n", "");
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES, ""), "items[0].spec.a", "x");
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES, ""), "kind", "KettleList");
    doc = fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
    assert_at(doc, "metadata.generation", "1");
    doc = fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"spec\":{\"a\":\"y\"},\"status\":{\"n\":2}}");
    assert_at(doc, "metadata.generation", "2");
    assert_at(doc, "status.n", "");
    doc = fx_do(&c.fx, 200, "PATCH", KETTLES "/k/status",
                "{\"metadata\":{\"labels\":{\"l\":\"2\"}},\"spec\":{\"a\":\"z\"},\"status\":{\"n\":"
                "3}}");
    assert_at(doc, "metadata.generation", "2");
    assert_at(doc, "metadata.labels.l", "1");
    assert_at(doc, "spec.a", "y");
    assert_at(doc, "status.n", "3");
    snprintf(body, sizeof(body),
             "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\","
             "\"metadata\":{\"name\":\"k\",\"resourceVersion\":\"%s\"},"
             "\"spec\":{\"a\":\"w\"}}",
             fx_at(doc, "metadata.resourceVersion"));
    doc = fx_do(&c.fx, 200, "PUT", KETTLES "/k", body);
    assert_at(doc, "metadata.generation", "3");
    assert_at(doc, "status.n", "3");
    /* The resourceVersion has to be given. */
    assert_at(fx_do(&c.fx, 422, "PUT", KETTLES "/k", KETTLE("k", "")), "details.causes[0].field",
              "metadata.resourceVersion");
    assert_at(fx_do(&c.fx, 200, "DELETE", KETTLES "/k", ""), "status", "Success");
    fx_do(&c.fx, 404, "GET", KETTLES "/k", "");
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("l", ""));
    fx_do(&c.fx, 200, "DELETE", KETTLES, "");
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES, ""), "items[0]", "");
    crd_fx_close(&c);
}

/* Contract crd F5, 4.11.7: without the subresource the status is a field as any other. */
TEST(crds, a_status_without_its_subresource_counts)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, true);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced", VERSION("v1", STORED, ANY)));
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ",\"status\":{\"n\":1}"));
    assert_at(fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"status\":{\"n\":2}}"),
              "metadata.generation", "2");
    fx_do(&c.fx, 404, "GET", KETTLES "/k/status", "");
    crd_fx_close(&c);
}

/* Contract crd B1, B17, B19, B20, B21, 4.1.2, 4.2.3, 3.1.12. */
TEST(crds, bodies_are_refused_in_upstreams_words)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(PROPS(SPEC_A)));
    assert_at(fx_do(&c.fx, 400, "POST", KETTLES "?fieldValidation=Strict",
                    KETTLE("k", ",\"spec\":{\"a\":\"x\",\"b\":1,\"c\":{\"d\":2}}")),
              "message",
              "Kettle in version \"v1\" cannot be handled as a Kettle: strict decoding error: "
              "unknown field \"spec.b\", unknown field \"spec.c\"");
    assert_at(fx_do(&c.fx, 400, "POST", KETTLES "?fieldValidation=Strict",
                    "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                    "\"name\":\"k\",\"colour\":\"red\"},\"spec\":{\"a\":\"x\",\"a\":\"y\"}}"),
              "message",
              "Kettle in version \"v1\" cannot be handled as a Kettle: strict decoding error: "
              "duplicate field \"spec.a\", unknown field \"metadata.colour\"");
    assert_at(fx_do(&c.fx, 400, "POST", KETTLES,
                    "{\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":\"k\"}}"),
              "message",
              "the object provided is unrecognized (must be of type Kettle): Object 'Kind' is "
              "missing in '{\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":\"k\"}}' "
              "({\"apiVersion\":\"shop.example.or ...)");
    assert_at(fx_do(&c.fx, 422, "POST", KETTLES,
                    "{\"kind\":\"Teapot\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                    "\"name\":\"k\"}}"),
              "message",
              "Teapot.shop.example.org \"k\" is invalid: kind: Invalid value: \"Teapot\": must be "
              "Kettle");
    assert_at(fx_do(&c.fx, 400, "POST", KETTLES, "{\"kind\":\"Kettle\",\"metadata\":{}}"),
              "message",
              "the API version in the data () does not match the expected API version "
              "(shop.example.org/v1)");
    assert_at(fx_do(&c.fx, 400, "POST", KETTLES,
                    "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                    "\"name\":\"k\",\"labels\":{\"a\":1}}}"),
              "message",
              "Kettle in version \"v1\" cannot be handled as a Kettle: json: cannot unmarshal "
              "number into Go struct field ObjectMeta.labels of type string");
    assert_at(
        fx_do(&c.fx, 422, "POST", KETTLES, KETTLE("k", ",\"spec\":{\"a\":1}")), "message",
        "Kettle.shop.example.org \"k\" is invalid: spec.a: Invalid value: \"integer\": spec.a "
        "in body must be of type string: \"integer\"");
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ""));
    fx_do_with(&c.fx, 415, "PATCH", KETTLES "/k", "{}",
               &(struct fx_headers){.content_type = "application/strategic-merge-patch+json"});
    crd_fx_close(&c);
}

/* An update of one of many members: the work is linear, or this test takes minutes. */
TEST(crds, an_object_with_many_members_is_updated)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 2u << 20};
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(ANY));
    assert_int_equal(cor_buf_addz(&body, "{\"kind\":\"Kettle\",\"apiVersion\":"
                                         "\"shop.example.org/v1\",\"metadata\":{\"name\":\"k\"}"),
                     0);
    for (int i = 0; i < 50000; i++)
        assert_int_equal(cor_buf_addf(&body, ",\"m%05d\":\"0123456789\"", i), 0);
    assert_int_equal(cor_buf_addc(&body, '}'), 0);
    fx_do(&c.fx, 201, "POST", KETTLES, cor_buf_z(&body));
    assert_at(fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"),
              "metadata.generation", "1");
    assert_at(fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"m49999\":\"9\"}"), "metadata.generation",
              "2");
    assert_at(fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"m00000\":null}"), "metadata.generation",
              "3");
    crd_fx_close(&c);
}

TEST(crds, a_large_body_without_a_kind_is_a_bad_request)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1u << 20};
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(ANY));
    assert_int_equal(cor_buf_addz(&body, "{\"apiVersion\":\"shop.example.org/v1\",\"spec\":\""), 0);
    for (int i = 0; i < 70 * 1024; i++)
        assert_int_equal(cor_buf_addc(&body, 'x'), 0);
    assert_int_equal(cor_buf_addz(&body, "\"}"), 0);
    doc = fx_do(&c.fx, 400, "POST", KETTLES, cor_buf_z(&body));
    assert_non_null(strstr(doc, "Object 'Kind' is missing in "));
    crd_fx_close(&c);
}

/* Contract crd H1, H2, 2.2.2, 2.2.4, 2.2.6, 3.2.1. */
TEST(crds, a_name_that_is_used_is_accepted_when_it_is_free)
{
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(ANY));
    fx_do(&c.fx, 201, "POST", CRDS,
          CRD_OF("kettlets", "Kettlet", ",\"shortNames\":[\"kt\"]", "Namespaced",
                 VERSION("v1", STORED, ANY)));
    doc = await(&c, CRDS "/kettlets.shop.example.org", "status.conditions[0].status", "False");
    assert_string_equal(condition(doc, "NamesAccepted"),
                        "False ShortNamesConflict: \"kt\" is already in use");
    assert_string_equal(condition(doc, "Established"),
                        "False NotAccepted: not all names are accepted");
    assert_at(doc, "status.acceptedNames.plural", "kettlets");
    assert_at(doc, "status.acceptedNames.shortNames[0]", "");
    assert_string_equal(
        fx_do(&c.fx, 404, "GET", "/apis/shop.example.org/v1/namespaces/default/kettlets", ""),
        "404 page not found");
    fx_do(&c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    doc = await(&c, CRDS "/kettlets.shop.example.org", "status.conditions[1].status", "True");
    assert_at(doc, "status.acceptedNames.shortNames[0]", "kt");
    await(&c, "/apis/shop.example.org/v1/namespaces/default/kettlets", "kind", "KettletList");
    crd_fx_close(&c);
}

/* Contract crd 2.1.2. */
TEST(crds, what_may_be_defined_is_unavailable_until_the_definitions_are_read)
{
    struct cor_crds_opts opts = {0};
    struct crd_fx c = {0};
    const char *doc;

    fx_open(&c.fx);
    fx_bootstrap(&c.fx);
    opts.api = c.fx.api;
    assert_int_equal(cor_crds_new(&opts, &c.crds, NULL), 0);
    doc = fx_do(&c.fx, 503, "GET", KETTLES, "");
    assert_at(doc, "reason", "ServiceUnavailable");
    assert_at(doc, "message",
              "the request has been made before all known HTTP paths have been installed, please "
              "try again");
    assert_at(doc, "details.retryAfterSeconds", "5");
    fx_do(&c.fx, 503, "GET", "/apis/shop.example.org", "");
    fx_do(&c.fx, 404, "GET", "/api/v1/nothings", "");
    assert_int_equal(cor_crds_start(c.crds, NULL), 0);
    assert_true(cor_loop_run_until(c.fx.loop, is_synced, &c, FX_TIMEOUT_MS));
    fx_do(&c.fx, 404, "GET", KETTLES, "");
    crd_fx_close(&c);
}

#define SHORT_NAMES(names) "{\"spec\":{\"names\":{\"shortNames\":" names "}}}"

/* Contract crd 2.1.5, 2.2.1, 2.2.3, 2.2.7, 2.3.3: short names are accepted together or not at all,
 * a definition may be in its own way, and what is Established stays so. */
TEST(crds, short_names_are_accepted_together)
{
    struct crd_fx c = {0};
    const char *doc;
    char since[64];

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(ANY));
    define(&c, CRD_OF("pots", "Pot", ",\"shortNames\":[\"p\"]", "Namespaced",
                      VERSION("v1", STORED, ANY)));
    snprintf(since, sizeof(since), "%s",
             fx_at(fx_do(&c.fx, 200, "GET", CRDS "/pots.shop.example.org", ""),
                   "status.conditions[1].lastTransitionTime"));
    fx_do(&c.fx, 200, "PATCH", CRDS "/pots.shop.example.org",
          SHORT_NAMES("[\"q\",\"kt\",\"kettles\"]"));
    doc = await(&c, CRDS "/pots.shop.example.org", "status.conditions[0].status", "False");
    assert_string_equal(condition(doc, "NamesAccepted"),
                        "False ShortNamesConflict: [\"kt\" is already in use, \"kettles\" is "
                        "already in use]");
    assert_at(doc, "status.acceptedNames.shortNames", "[\"p\"]");
    /* A condition stays in its place, and keeps its time while it does not change. */
    assert_at(doc, "status.conditions[1].type", "Established");
    assert_at(doc, "status.conditions[1].status", "True");
    assert_at(doc, "status.conditions[1].lastTransitionTime", since);
    assert_non_null(strstr(fx_do(&c.fx, 200, "GET", "/apis/shop.example.org/v1", ""),
                           "\"shortNames\":[\"p\"]"));
    fx_do(&c.fx, 200, "PATCH", CRDS "/pots.shop.example.org", SHORT_NAMES("[\"q\"]"));
    await(&c, CRDS "/pots.shop.example.org", "status.acceptedNames.shortNames", "[\"q\"]");
    /* Its own plural is in use as well. */
    fx_do(&c.fx, 200, "PATCH", CRDS "/pots.shop.example.org", SHORT_NAMES("[\"pots\"]"));
    doc = await(&c, CRDS "/pots.shop.example.org", "status.conditions[0].status", "False");
    assert_string_equal(condition(doc, "NamesAccepted"),
                        "False ShortNamesConflict: \"pots\" is already in use");
    crd_fx_close(&c);
}

#define MANY 20000

/* A patch of MANY short names with this letter, and one more. */
static void write_many(struct cor_buf *out, char letter, const char *last)
{
    cor_buf_reset(out);
    assert_int_equal(cor_buf_addz(out, "{\"spec\":{\"names\":{\"shortNames\":["), 0);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(cor_buf_addf(out, "\"%c%05d\",", letter, i), 0);
    assert_int_equal(cor_buf_addf(out, "\"%s\"]}}}", last), 0);
}

/* The names of one definition are looked for in those of the others without comparing each with
 * each, which would take minutes. */
TEST(crds, many_short_names_are_judged_soon)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf patch = {.max = 1u << 20};
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(ANY));
    define(&c, CRD_OF("pots", "Pot", "", "Namespaced", VERSION("v1", STORED, ANY)));
    write_many(&patch, 'k', "kt");
    fx_do(&c.fx, 200, "PATCH", CRDS "/kettles.shop.example.org", cor_buf_z(&patch));
    await(&c, CRDS "/kettles.shop.example.org", "status.acceptedNames.shortNames[20000]", "kt");
    write_many(&patch, 'p', "k12345");
    fx_do(&c.fx, 200, "PATCH", CRDS "/pots.shop.example.org", cor_buf_z(&patch));
    doc = await(&c, CRDS "/pots.shop.example.org", "status.conditions[0].status", "False");
    assert_string_equal(condition(doc, "NamesAccepted"),
                        "False ShortNamesConflict: \"k12345\" is already in use");
    write_many(&patch, 'p', "pt");
    fx_do(&c.fx, 200, "PATCH", CRDS "/pots.shop.example.org", cor_buf_z(&patch));
    await(&c, CRDS "/pots.shop.example.org", "status.acceptedNames.shortNames[20000]", "pt");
    crd_fx_close(&c);
}

/* Contract crd H7, H8, 2.6.1, 4.5.4, 4.5.7. */
TEST(crds, several_versions_are_one_resource)
{
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, true);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced",
                      VERSION("v1", STORED, PROPS(SPEC_A)) "," VERSION(
                          "v2beta1", "\"storage\":false,\"deprecated\":true,",
                          ANY) "," VERSION("v10", "\"storage\":false,",
                                           ANY) "," VERSION("foo1", "\"storage\":false,", ANY)));
    doc = fx_do(&c.fx, 200, "GET", "/apis/shop.example.org", "");
    assert_at(doc, "versions[0].version", "v10");
    assert_at(doc, "versions[1].version", "v1");
    assert_at(doc, "versions[2].version", "v2beta1");
    assert_at(doc, "versions[3].version", "foo1");
    assert_at(doc, "preferredVersion.version", "v10");
    doc = fx_do(&c.fx, 201, "POST", "/apis/shop.example.org/v10/namespaces/default/kettles",
                "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v10\",\"metadata\":{"
                "\"name\":\"k\"},\"spec\":{\"a\":\"x\",\"b\":1}}");
    assert_at(doc, "apiVersion", "shop.example.org/v10");
    assert_at(doc, "spec.a", "x");
    assert_at(doc, "spec.b", ""); /* the stored version does not know it */
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES "/k", ""), "apiVersion", "shop.example.org/v1");
    {
        FX_CALL call;

        fx_start(&c.fx, &call, "GET", "/apis/shop.example.org/v2beta1/namespaces/default/kettles/k",
                 "", NULL);
        fx_wait(&call);
        assert_at(cor_buf_z(&call.sink.body), "apiVersion", "shop.example.org/v2beta1");
    }
    crd_fx_close(&c);
}

/* Contract crd B15, H3, 3.2.3 to 3.2.5, 4.5.6. */
TEST(crds, a_changed_schema_ends_watches_and_shows_new_defaults)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(PROPS("\"spec\":{\"type\":\"object\"}")));
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ",\"spec\":{}"));
    {
        FX_CALL watch;
        const char *rv =
            fx_at(fx_do(&c.fx, 200, "GET", KETTLES "/k", ""), "metadata.resourceVersion");
        char was[64];

        snprintf(was, sizeof(was), "%s", rv);
        fx_start(&c.fx, &watch, "GET", KETTLES "?watch=true", "", NULL);
        /* A label changes nothing. */
        fx_do(&c.fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
              "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
        fx_do(&c.fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
              "{\"spec\":{\"versions\":[" VERSION(
                  "v1", STORED STATUS,
                  PROPS("\"spec\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\","
                        "\"default\":\"z\"}}}")) "]}}");
        fx_wait(&watch);
        assert_int_equal(watch.sink.status, 200);
        await(&c, KETTLES "/k", "spec.a", "z");
        assert_at(await(&c, KETTLES, "items[0].spec.a", "z"), "items[0].metadata.resourceVersion",
                  was);
    }
    crd_fx_close(&c);
}

/* Contract crd H4, H5, 2.6.3, 3.1.11, 5.2, 5.4, 5.5, 5.7, 5.8, 5.10. */
TEST(crds, instances_go_before_their_definition)
{
    struct crd_fx c = {0};
    const char *doc;
    char uid[64];

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(ANY));
    doc = fx_do(&c.fx, 201, "POST", KETTLES,
                "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{"
                "\"name\":\"k\",\"finalizers\":[\"example.org/f\"]}}");
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("free", ""));
    doc = fx_do(&c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    snprintf(uid, sizeof(uid), "%s", fx_at(doc, "metadata.uid"));
    assert_at(doc, "metadata.finalizers[0]", "customresourcecleanup.apiextensions.k8s.io");
    assert_at(doc, "metadata.generation", "1");
    assert_at(doc, "metadata.deletionGracePeriodSeconds", "");
    assert_string_equal(
        condition(doc, "Terminating"),
        "True InstanceDeletionPending: CustomResourceDefinition marked for deletion; "
        "CustomResource deletion will begin soon");
    doc = await(&c, CRDS "/kettles.shop.example.org", "status.conditions[2].reason",
                "InstanceDeletionInProgress");
    await(&c, KETTLES "/free", NULL, NULL);
    assert_at(fx_do(&c.fx, 403, "POST", KETTLES, KETTLE("k2", "")), "message",
              "kettles.shop.example.org \"k2\" is forbidden: create not allowed while custom "
              "resource definition is terminating");
    assert_non_null(strstr(fx_do(&c.fx, 200, "GET", "/apis/shop.example.org/v1", ""),
                           "\"verbs\":[\"delete\",\"deletecollection\",\"get\",\"list\","
                           "\"watch\"]"));
    fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"metadata\":{\"finalizers\":null}}");
    await(&c, CRDS "/kettles.shop.example.org", NULL, NULL);
    await(&c, "/apis/shop.example.org", NULL, NULL);
    fx_do(&c.fx, 404, "GET", KETTLES, "");
    define(&c, KETTLE_CRD(ANY));
    doc = fx_do(&c.fx, 200, "GET", CRDS "/kettles.shop.example.org", "");
    assert_string_not_equal(fx_at(doc, "metadata.uid"), uid);
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES, ""), "items[0]", "");
    crd_fx_close(&c);
}

/* Instances that no version serves any more go as well: another definition of the same name would
 * show them again. */
TEST(crds, instances_of_a_definition_that_serves_no_version_go_before_it)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, true);
    define(&c, KETTLE_CRD(ANY));
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ""));
    fx_do(&c.fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
          "{\"spec\":{\"versions\":[{\"name\":\"v1\",\"served\":false,\"storage\":true,"
          "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\"," ANY "}}}]}}");
    await(&c, KETTLES, NULL, NULL);
    fx_do(&c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    await(&c, CRDS "/kettles.shop.example.org", NULL, NULL);
    await(&c, "/apis/shop.example.org", NULL, NULL);
    define(&c, KETTLE_CRD(ANY));
    assert_at(fx_do(&c.fx, 200, "GET", KETTLES, ""), "items[0]", "");
    crd_fx_close(&c);
}

static bool waits_for_a_cache(void *arg)
{
    return cor_timer_is_set(&((struct crd_fx *)arg)->crds->retry);
}

TEST(crds, stops_while_a_cache_is_being_filled)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, true);
    fx_do(&c.fx, 201, "POST", CRDS, KETTLE_CRD(ANY));
    assert_true(cor_loop_run_until(c.fx.loop, waits_for_a_cache, &c, FX_TIMEOUT_MS));
    crd_fx_close(&c);
}

/* Is the schema of the row compiled that serves `kettles` in this version? */
static bool is_compiled(const struct crd_fx *c, const char *version)
{
    const struct cor_served *served = cor_api_loop(c->fx.api, 0)->served;
    const struct cor_resource_row *const *rows;
    size_t n;

    rows = cor_served_rows(served, &n);
    for (size_t i = 0; i < n; i++) {
        if (rows[i]->custom && cor_str_eqz(rows[i]->plural, "kettles") &&
            cor_str_eqz(rows[i]->version, version))
            return cor_custom_schema_weight(rows[i]->custom->schema) == 0;
    }
    fail_msg("%s is not served", version);
    return false;
}

/* A server has many definitions, most of which nobody writes objects of. */
TEST(crds, a_schema_is_compiled_with_the_first_request_that_needs_it)
{
    static const char v2[] = "/apis/shop.example.org/v2/namespaces/default/kettles";
    struct crd_fx c = {0};

    crd_fx_open(&c, true);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced",
                      VERSION("v1", STORED STATUS, PROPS(SPEC_A)) "," VERSION(
                          "v2", "\"storage\":false,", PROPS(SPEC_A))));
    fx_do(&c.fx, 200, "GET", KETTLES, "");
    fx_do(&c.fx, 200, "GET", v2, "");
    fx_do(&c.fx, 404, "GET", KETTLES "/k", "");
    fx_do(&c.fx, 404, "DELETE", KETTLES "/k", "");
    fx_do(&c.fx, 200, "DELETE", KETTLES, "");
    fx_do(&c.fx, 200, "GET", "/apis/shop.example.org/v1", "");
    fx_do(&c.fx, 200, "GET", "/openapi/v3/apis/shop.example.org/v1", "");
    assert_false(is_compiled(&c, "v1"));
    assert_false(is_compiled(&c, "v2"));
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ",\"spec\":{\"a\":\"x\",\"b\":1}"));
    assert_true(is_compiled(&c, "v1"));
    assert_false(is_compiled(&c, "v2"));
    assert_at(fx_do(&c.fx, 200, "GET", v2, ""), "items[0].spec.a", "x");
    assert_true(is_compiled(&c, "v2"));
    crd_fx_close(&c);
}

TEST(crds, the_first_write_fails_whole_without_memory_for_the_schema)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    define(&c, KETTLE_CRD(PROPS(SPEC_A)));
    fx_fail_each_alloc(&c.fx, "POST", KETTLES "?dryRun=All",
                       KETTLE("l", ",\"spec\":{\"a\":\"x\",\"b\":1}"), NULL);
    assert_true(is_compiled(&c, "v1"));
    crd_fx_close(&c);
}

static uint64_t jobs(const struct crd_fx *c)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(c->fx.offload, &stats);
    return stats.jobs;
}

/* A write needs the schema of its own version, and that of the stored one. */
TEST(crds, long_schemas_are_compiled_on_a_thread_whichever_version_is_written)
{
    static const char *const versions[] = {"v1", "v2"};

    for (size_t i = 0; i < COR_ARRAY_LEN(versions); i++) {
        COR_CLEANUP(cor_buf_deinit)
        struct cor_buf words = {.max = 1u << 20}, crd = {.max = 1u << 20};
        struct crd_fx c = {0};
        char target[128], body[256];
        uint64_t before;

        for (size_t k = 0; k < 10000; k++)
            assert_int_equal(cor_buf_addz(&words, "0123456789"), 0);
        assert_int_equal(
            cor_buf_addf(
                &crd,
                CRD_OF("kettles", "Kettle", "", "Namespaced",
                       VERSION("v1", STORED, "\"description\":\"%s\"," PROPS(SPEC_A)) "," VERSION(
                           "v2", "\"storage\":false,", PROPS(SPEC_A))),
                cor_buf_z(&words)),
            0);
        crd_fx_open(&c, false);
        define(&c, cor_buf_z(&crd));
        before = jobs(&c);
        snprintf(target, sizeof(target), "/apis/shop.example.org/%s/namespaces/default/kettles",
                 versions[i]);
        snprintf(body, sizeof(body),
                 "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/%s\",\"metadata\":{"
                 "\"name\":\"a\"}}",
                 versions[i]);
        assert_false(is_compiled(&c, "v1"));
        fx_do(&c.fx, 201, "POST", target, body);
        assert_true(is_compiled(&c, "v1"));
        assert_true(jobs(&c) > before);
        before = jobs(&c);
        fx_do(&c.fx, 200, "DELETE", target, "");
        fx_do(&c.fx, 201, "POST", target, body);
        assert_int_equal(jobs(&c), before);
        crd_fx_close(&c);
    }
}

#define KETTLES_V2 "/apis/shop.example.org/v2/namespaces/default/kettles"

TEST(crds, requests_of_instances_fail_whole_without_memory)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced",
                      VERSION("v1", STORED STATUS, PROPS(SPEC_A)) "," VERSION(
                          "v2", "\"storage\":false," STATUS, PROPS(SPEC_A))));
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ",\"spec\":{\"a\":\"x\"}"));
    fx_fail_each_alloc(&c.fx, "GET", KETTLES_V2 "/k", "", NULL);
    fx_fail_each_alloc(&c.fx, "GET", KETTLES, "", NULL);
    fx_fail_each_alloc(&c.fx, "POST", KETTLES "?dryRun=All",
                       KETTLE("l", ",\"spec\":{\"a\":\"x\",\"b\":1}"), NULL);
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES "/k?dryRun=All", "{\"spec\":{\"a\":\"y\"}}", NULL);
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES "/k?dryRun=All",
                       "{\"metadata\":{\"finalizers\":[\"b\",\"a.b\"]}}", NULL);
    /* The version that is not stored has to see the present object its own way. */
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES_V2 "/k?dryRun=All", "{\"spec\":{\"a\":\"y\"}}",
                       NULL);
    fx_fail_each_alloc(&c.fx, "PATCH", KETTLES_V2 "/k/status?dryRun=All",
                       "{\"status\":{\"a\":\"y\"}}", NULL);
    crd_fx_close(&c);
}
