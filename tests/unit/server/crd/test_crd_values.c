/* Values of custom resources that are read in a way of their own: embedded resources and numbers.
 * The answers are those of a kube-apiserver of 1.34. Numbers are lines of contract crd. */
#include "crd_fixture.h"

#define SPEC_T                                                                                     \
    "\"spec\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"},\"i\":{\"type\":"   \
    "\"integer\"},\"any\":{" ANY "},\"t\":{\"type\":\"object\","                                   \
    "\"x-kubernetes-embedded-resource\":true," ANY "}}}"
#define WITH(spec) KETTLE("k", ",\"spec\":{" spec "}")
#define POD(rest)  "\"t\":{\"apiVersion\":\"v1\",\"kind\":\"Pod\"," rest "}"
#define CANNOT     "Kettle in version \"v1\" cannot be handled as a Kettle: "
#define IS_INVALID "Kettle.shop.example.org \"k\" is invalid: "
#define DRY        KETTLES "?dryRun=All"

static void open_kettles(struct crd_fx *c)
{
    crd_fx_open(c, false);
    define(c, KETTLE_CRD(PROPS(SPEC_T)));
}

/* Contract crd 4.9.1, 4.2.1. */
TEST(crd_values, metadata_of_an_embedded_resource_is_kubernetes_own)
{
    struct crd_fx c = {0};
    const char *doc;

    open_kettles(&c);
    doc = fx_do(&c.fx, 201, "POST", DRY,
                WITH(POD("\"metadata\":{\"name\":\"x\",\"zz\":1,\"creationTimestamp\":null}")));
    assert_at(doc, "spec.t.metadata", "{\"name\":\"x\"}");
    assert_at(fx_do(&c.fx, 201, "POST", DRY, WITH(POD("\"metadata\":null"))), "spec.t.metadata",
              "{}");
    assert_at(fx_do(&c.fx, 400, "POST", DRY "&fieldValidation=Strict",
                    WITH("\"yy\":1," POD("\"metadata\":{\"zz\":1}"))),
              "message",
              CANNOT "strict decoding error: unknown field \"spec.yy\", unknown field "
                     "\"spec.t.metadata.zz\"");
    assert_at(fx_do(&c.fx, 400, "POST", DRY "&fieldValidation=Ignore",
                    WITH(POD("\"metadata\":{\"labels\":{\"a\":1}}"))),
              "message",
              CANNOT "spec.t.metadata: Invalid value: {\"labels\":{\"a\":1}}: json: cannot "
                     "unmarshal number into Go struct field ObjectMeta.labels of type string");
    assert_at(fx_do(&c.fx, 400, "POST", DRY, WITH("\"t\":{\"apiVersion\":\"v1\",\"kind\":1}")),
              "message", CANNOT "spec.t.kind: Invalid value: 1: must be a string");
    crd_fx_close(&c);
}

/* Contract crd 4.9.2. */
TEST(crd_values, an_embedded_resource_needs_a_kind_and_a_version)
{
    struct crd_fx c = {0};

    open_kettles(&c);
    assert_at(fx_do(&c.fx, 422, "POST", DRY, WITH("\"t\":{}")), "message",
              IS_INVALID "[spec.t.apiVersion: Required value, spec.t.kind: Required value]");
    assert_at(fx_do(&c.fx, 422, "POST", DRY, WITH("\"t\":{\"apiVersion\":\"\",\"kind\":\"\"}")),
              "message",
              IS_INVALID "[spec.t.apiVersion: Invalid value: \"\": must not be empty, "
                         "spec.t.kind: Invalid value: \"\": must not be empty]");
    assert_at(fx_do(&c.fx, 422, "POST", DRY, WITH(POD("\"metadata\":{\"name\":\"A/B\"}"))),
              "message",
              IS_INVALID "spec.t.metadata.name: Invalid value: \"A/B\": may not contain '/'");
    fx_do(&c.fx, 201, "POST", DRY, WITH(POD("\"metadata\":{\"finalizers\":[\"f\"]}")));
    fx_do(&c.fx, 201, "POST", KETTLES, WITH(POD("\"metadata\":{\"name\":\"x\"}")));
    assert_at(fx_do(&c.fx, 422, "PATCH", KETTLES "/k", "{\"spec\":{\"t\":{\"kind\":null}}}"),
              "details.causes[0].field", "spec.t.kind");
    crd_fx_close(&c);
}

/* Contract crd 4.1.1: numbers are decoded, and written again. */
TEST(crd_values, numbers_are_stored_in_one_form)
{
    struct crd_fx c = {0};
    const char *doc;

    open_kettles(&c);
    doc = fx_do(&c.fx, 201, "POST", KETTLES,
                WITH("\"i\":3.0,\"n\":1e3,\"any\":[2.50,1e30,-0.0,100000000000000000000,1E-7]"));
    assert_at(doc, "spec",
              "{\"any\":[2.5,1e+30,-0,100000000000000000000,1e-7],\"i\":3,\"n\":1000}");
    doc = fx_do(&c.fx, 200, "GET", KETTLES "/k", "");
    assert_at(doc, "spec.i", "3");
    assert_at(doc, "metadata.generation", "1");
    /* An integer is no double before it is stored. */
    assert_at(fx_do(&c.fx, 200, "PATCH", KETTLES "/k", "{\"spec\":{\"i\":3.0}}"),
              "metadata.generation", "2");
    crd_fx_close(&c);
}

/* Contract crd 4.1.5: what cannot be read is dropped from a stored object, and from nothing else.
 */
TEST(crd_values, stored_values_are_read_as_far_as_they_can)
{
    struct crd_fx c = {0};
    const char *doc;

    open_kettles(&c);
    fx_put_raw(&c.fx, "/registry/shop.example.org/kettles/default/k",
               "{\"kind\":\"Kettle\",\"apiVersion\":\"shop.example.org/v1\",\"metadata\":{\"name\":"
               "\"k\",\"namespace\":\"default\",\"uid\":\"u\"},\"spec\":{\"n\":3.0,\"t\":{"
               "\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"labels\":1,\"name\":\"x\","
               "\"zz\":1}}}}");
    doc = await(&c, KETTLES "/k", "spec.n", "3");
    assert_at(doc, "spec.t.metadata", "{\"name\":\"x\"}");
    crd_fx_close(&c);
}

TEST(crd_values, values_fail_whole_without_memory)
{
    struct crd_fx c = {0};

    open_kettles(&c);
    fx_fail_each_alloc(&c.fx, "POST", DRY,
                       WITH("\"n\":3.0," POD("\"metadata\":{\"zz\":1,\"name\":\"x\"}")), NULL);
    fx_fail_each_alloc(&c.fx, "POST", DRY, WITH(POD("\"metadata\":{\"labels\":1}")), NULL);
    crd_fx_close(&c);
}
