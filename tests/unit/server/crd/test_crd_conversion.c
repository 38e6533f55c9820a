/* Definitions that ask for what this server does not do: conversion by webhook and rules in CEL. */
#include "crd_fixture.h"

#define WEBHOOK                                                                                    \
    "\"conversion\":{\"strategy\":\"Webhook\",\"webhook\":{\"conversionReviewVersions\":[\"v1\"]," \
    "\"clientConfig\":{\"url\":\"https://host\"}}}"
#define TWO_VERSIONS VERSION("v1", STORED, ANY) "," VERSION("v2", "\"storage\":false,", ANY)
/* A definition as a kube-apiserver has stored it, established. */
#define STORED_CRD(versions, stored_versions)                                                      \
    "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","           \
    "\"metadata\":{\"name\":\"kettles.shop.example.org\",\"uid\":\"u\",\"generation\":1},"         \
    "\"spec\":{" WEBHOOK ",\"group\":\"shop.example.org\",\"scope\":\"Namespaced\",\"names\":{"    \
    "\"plural\":\"kettles\",\"singular\":\"kettle\",\"kind\":\"Kettle\",\"listKind\":"             \
    "\"KettleList\"},\"versions\":[" versions "]},\"status\":{\"acceptedNames\":{\"plural\":"      \
    "\"kettles\",\"singular\":\"kettle\",\"kind\":\"Kettle\",\"listKind\":\"KettleList\"},"        \
    "\"conditions\":[{\"type\":\"NamesAccepted\",\"status\":\"True\",\"reason\":\"NoConflicts\","  \
    "\"message\":\"no conflicts found\"},{\"type\":\"Established\",\"status\":\"True\","           \
    "\"reason\":\"InitialNamesAccepted\",\"message\":\"the initial names have been accepted\"}],"  \
    "\"storedVersions\":[" stored_versions "]}}"
#define KEY "/registry/apiextensions.k8s.io/customresourcedefinitions/kettles.shop.example.org"

TEST(crd_conversion, a_webhook_is_refused_with_words)
{
    struct crd_fx c = {0};
    const char *doc;

    crd_fx_open(&c, false);
    define(&c, CRD_OF("kettles", "Kettle", "", "Namespaced", TWO_VERSIONS));
    doc = fx_do(&c.fx, 422, "PATCH", CRDS "/kettles.shop.example.org", "{\"spec\":{" WEBHOOK "}}");
    assert_at(doc, "details.causes[0].field", "spec.conversion.strategy");
    assert_at(doc, "details.causes[0].message",
              "Invalid value: \"Webhook\": must be None: this server calls no conversion webhooks");
    doc = fx_do(&c.fx, 422, "POST", CRDS,
                "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","
                "\"metadata\":{\"name\":\"pots.shop.example.org\"},\"spec\":{" WEBHOOK ",\"group\":"
                "\"shop.example.org\",\"scope\":\"Cluster\",\"names\":{\"plural\":\"pots\","
                "\"kind\":\"Pot\"},\"versions\":[" TWO_VERSIONS "]}}");
    assert_at(doc, "details.causes[0].field", "spec.conversion.strategy");
    crd_fx_close(&c);
}

/* A definition that another server has stored, which can be changed and deleted. */
TEST(crd_conversion, only_objects_that_need_no_webhook_are_served)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    fx_put_raw(&c.fx, KEY, STORED_CRD(TWO_VERSIONS, "\"v1\""));
    await(&c, KETTLES, "kind", "KettleList");
    fx_do(&c.fx, 404, "GET", "/apis/shop.example.org/v2/namespaces/default/kettles", "");
    assert_at(fx_do(&c.fx, 200, "GET", "/apis/shop.example.org", ""), "versions[1].version", "");
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ""));
    fx_do(&c.fx, 200, "PATCH", CRDS "/kettles.shop.example.org",
          "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}");
    fx_do(&c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    await(&c, CRDS "/kettles.shop.example.org", NULL, NULL);
    fx_put_raw(&c.fx, KEY, STORED_CRD(TWO_VERSIONS, "\"v1\",\"v2\""));
    await(&c, CRDS "/kettles.shop.example.org", "kind", "CustomResourceDefinition");
    /* A second definition shows when the first one was looked at. */
    define(&c, CRD_OF("pots", "Pot", "", "Cluster", VERSION("v3", STORED, ANY)));
    await(&c, "/apis/shop.example.org", "versions[0].version", "v3");
    assert_at(fx_do(&c.fx, 200, "GET", "/apis/shop.example.org", ""), "versions[1].version", "");
    fx_do(&c.fx, 404, "GET", KETTLES, "");
    crd_fx_close(&c);
}

static void expect_warning(struct crd_fx *c, const char *method, const char *target,
                           const char *body, const char *warning)
{
    FX_CALL call;

    fx_start(&c->fx, &call, method, target, body, NULL);
    fx_wait(&call);
    assert_uint_in_range(call.sink.status, 200, 299);
    assert_str(sink_header(&call.sink, "Warning"), warning);
}

/* Rules are kept, and every write says that they are not enforced. */
TEST(crd_conversion, rules_in_cel_are_kept_and_warned_of)
{
#define RULES                                                                                      \
    "\"spec\":{\"type\":\"object\",\"properties\":{\"x-kubernetes-validations\":{\"type\":"        \
    "\"string\"},\"a\":{\"type\":\"string\",\"x-kubernetes-validations\":[{\"rule\":"              \
    "\"self != 'x'\"}]}},\"x-kubernetes-validations\":[{\"rule\":\"has(self.a)\"}]}"
#define WARNING                                                                                      \
    "299 - \"spec.versions[1].schema: x-kubernetes-validations is stored but has no effect on this " \
    "server: rules in CEL are not enforced\""
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    expect_warning(&c, "POST", CRDS,
                   CRD_OF("kettles", "Kettle", "", "Namespaced",
                          VERSION("v1", STORED, PROPS(SPEC_A)) "," VERSION(
                              "v2", "\"storage\":false,", PROPS(RULES))),
                   WARNING);
    expect_warning(&c, "PATCH", CRDS "/kettles.shop.example.org",
                   "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", WARNING);
    assert_at(fx_do(&c.fx, 200, "GET", CRDS "/kettles.shop.example.org", ""),
              "spec.versions[1].schema.openAPIV3Schema.properties.spec.x-kubernetes-validations[0]"
              ".rule",
              "has(self.a)");
    await(&c, KETTLES, "kind", "KettleList");
    fx_do(&c.fx, 201, "POST", KETTLES, KETTLE("k", ",\"spec\":{\"a\":\"x\"}"));
    crd_fx_close(&c);
}
