#include "schema/protobuf/protobuf.h"

#include "base/base64.h"
#include "base/err.h"
#include "test.h"
#include "json/text/json.h"

/* Bodies as kubectl 1.32 sent them (the status was put together by hand), in base64, and what they
 * mean. */
static const struct {
    const char *what, *body, *json;
} sent[] = {
    {"auth whoami",
     "azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EhoKEAoAEgAaACIAKgAyADgAQgASBgoECgASABoAIgA=",
     "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"metadata\":{},\"status\":{\"userInfo\":{}}}"},
    {"auth can-i get pods",
     "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPAoQCgASABoAIgAqADIAOABCABIeChwKB2RlZmF1bHQSA2dldBoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=",
     "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\",\"resource\":\"pods\",\"verb\":\"get\"}},\"status\":{\"allowed\":false}}"},
    {"auth can-i get /healthz",
     "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSLwoQCgASABoAIgAqADIAOABCABIREg8KCC9oZWFsdGh6EgNnZXQaCAgAEgAaACAAGgAiAA==",
     "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{\"nonResourceAttributes\":{\"path\":\"/healthz\",\"verb\":\"get\"}},\"status\":{\"allowed\":false}}"},
    {"auth can-i --list",
     "azhzAAoxChdhdXRob3JpemF0aW9uLms4cy5pby92MRIWU2VsZlN1YmplY3RSdWxlc1JldmlldxIjChAKABIAGgAiACoAMgA4AEIAEgkKB2RlZmF1bHQaBBgAIgAaACIA",
     "{\"kind\":\"SelfSubjectRulesReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{\"namespace\":\"default\"},\"status\":{\"incomplete\":false,\"nonResourceRules\":null,\"resourceRules\":null}}"},
    {"create configmap",
     "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEiQKEwoDY20xEgAaACIAKgAyADgAQgASBgoBYRIBYhIFCgFjEgAaACIA",
     "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"b\",\"c\":\"\"},\"metadata\":{\"name\":\"cm1\"}}"},
    {"create secret generic",
     "azhzAAoMCgJ2MRIGU2VjcmV0Eh4KEgoCczESABoAIgAqADIAOABCABIGCgFrEgF2GgAaACIA",
     "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"data\":{\"k\":\"dg==\"},\"metadata\":{\"name\":\"s1\"}}"},
    {"create namespace", "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhsKEwoDbnN4EgAaACIAKgAyADgAQgASABoCCgAaACIA",
     "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"nsx\"},\"spec\":{},\"status\":{}}"},
    {"status of a namespace",
     "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEiEKBQoDbnN4GhgKC1Rlcm1pbmF0aW5nEgkKAUESBFRydWUaACIA",
     "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"nsx\"},\"spec\":{},\"status\":{"
     "\"conditions\":[{\"lastTransitionTime\":null,\"status\":\"True\",\"type\":\"A\"}],\"phase\":\"Terminating\"}}"},
    {"create serviceaccount",
     "azhzAAoUCgJ2MRIOU2VydmljZUFjY291bnQSFQoTCgNzYXgSABoAIgAqADIAOABCABoAIgA=",
     "{\"kind\":\"ServiceAccount\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"sax\"}}"},
};

static void decode(const char *base64, struct cor_buf *out)
{
    assert_int_equal(cor_base64_decode(COR_BASE64_STD, cor_strz(base64), out, NULL), 0);
}

static int to_json_of(struct cor_str body, struct cor_buf *json)
{
    const struct cor_gvk none = {COR_STR(""), COR_STR(""), COR_STR("")};
    const struct cor_type *type;
    struct cor_protobuf object;

    if (cor_protobuf_open(body, &object, NULL) < 0)
        return -COR_EINVAL;
    type = cor_protobuf_type(&object, &none);
    return type ? cor_protobuf_to_json(&object, type, json, NULL) : -COR_ENOTSUP;
}

static int to_json(const struct cor_buf *body, struct cor_buf *json)
{
    return to_json_of(cor_buf_str(body), json);
}

TEST(protobuf, reads_what_kubectl_sends)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(sent); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1 << 16}, json = {.max = 1 << 16};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical = {.max = 1 << 16};

        decode(sent[i].body, &body);
        assert_int_equal(to_json(&body, &json), 0);
        assert_int_equal(cor_json_canonicalize(cor_buf_str(&json), &COR_JSON_LIMITS_DEFAULT,
                                               &canonical, NULL, NULL),
                         0);
        if (strcmp(cor_buf_z(&canonical), sent[i].json) != 0)
            fail_msg("%s: %s", sent[i].what, cor_buf_z(&canonical));
    }
}

/* A field whose content is bytes. */
static void add(struct cor_buf *out, unsigned number, struct cor_str bytes)
{
    assert_true(bytes.n < 128);
    assert_int_equal(cor_buf_addc(out, (char)(number << 3 | 2)), 0);
    assert_int_equal(cor_buf_addc(out, (char)bytes.n), 0);
    assert_int_equal(cor_buf_adds(out, bytes), 0);
}

static void add_number(struct cor_buf *out, unsigned number, unsigned char value)
{
    assert_int_equal(cor_buf_addc(out, (char)(number << 3)), 0);
    assert_int_equal(cor_buf_addc(out, (char)value), 0);
}

static void wrap(const char *version, const char *kind, const struct cor_buf *raw,
                 struct cor_buf *out)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf type = {.max = 1024};

    add(&type, 1, cor_strz(version));
    add(&type, 2, cor_strz(kind));
    assert_int_equal(cor_buf_add(out, "k8s\0", 4), 0);
    add(out, 1, cor_buf_str(&type));
    add(out, 2, cor_buf_str(raw));
}

TEST(protobuf, keeps_zeros_that_were_given_on_purpose)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024}, pre = {.max = 1024};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1024}, json = {.max = 1024};

    add_number(&raw, 1, 0);
    add(&pre, 1, COR_STR("u"));
    add(&raw, 2, cor_buf_str(&pre));
    add_number(&raw, 3, 0);
    add(&raw, 5, COR_STR("All"));
    add(&raw, 5, COR_STR("Some"));
    add(&raw, 15, COR_STR("a field of the future"));
    wrap("policy/v1", "DeleteOptions", &raw, &body);
    assert_int_equal(to_json(&body, &json), 0);
    assert_string_equal(cor_buf_z(&json),
                        "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"policy/v1\","
                        "\"dryRun\":[\"All\",\"Some\"],\"gracePeriodSeconds\":0,"
                        "\"orphanDependents\":false,\"preconditions\":{\"uid\":\"u\"}}");
}

TEST(protobuf, times_bytes_and_lists_in_maps_are_as_in_json)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024}, spec = {.max = 1024};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf entry = {.max = 1024}, list = {.max = 1024};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf meta = {.max = 1024}, time = {.max = 1024};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1024}, json = {.max = 1024};

    add_number(&time, 1, 60);
    add(&meta, 8, cor_buf_str(&time));
    add(&meta, 9, COR_STR(""));
    add(&list, 1, COR_STR("x"));
    add(&list, 1, COR_STR("y"));
    add(&entry, 1, COR_STR("k"));
    add(&entry, 2, cor_buf_str(&list));
    add(&spec, 1, COR_STR("\x01\x02"));
    add(&spec, 6, cor_buf_str(&entry));
    add(&raw, 1, cor_buf_str(&meta));
    add(&raw, 2, cor_buf_str(&spec));
    wrap("certificates.k8s.io/v1", "CertificateSigningRequest", &raw, &body);
    assert_int_equal(to_json(&body, &json), 0);
    assert_string_equal(
        cor_buf_z(&json),
        "{\"kind\":\"CertificateSigningRequest\",\"apiVersion\":"
        "\"certificates.k8s.io/v1\",\"metadata\":{\"creationTimestamp\":"
        "\"1970-01-01T00:01:00Z\",\"deletionTimestamp\":null},\"spec\":{\"extra\":{"
        "\"k\":[\"x\",\"y\"]},\"request\":\"AQI=\",\"signerName\":\"\"},\"status\":{}}");
}

/* Contract types 1.1.4. */
TEST(protobuf, refuses_what_is_no_envelope)
{
    static const struct {
        struct cor_str body;
        const char *why;
    } cases[] = {
        {COR_STR(""), "empty data"},
        {COR_STR("{}"), "provided data does not appear to be a protobuf message, expected prefix "
                        "[107 56 115 0]"},
        {{"k8s\0", 4}, "empty body"},
        {{"k8s\0\x0a", 5}, "unexpected EOF"},
        {{"k8s\0\x0a\x05v", 7}, "unexpected EOF"},
        {{"k8s\0\x03", 5}, "proto: Unknown: illegal tag 0 (wire type 3)"},
        {{"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 15}, "proto: integer overflow"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_pb_error why = {.message = ""};
        struct cor_protobuf object;

        assert_int_equal(cor_protobuf_open(cases[i].body, &object, &why), -COR_EINVAL);
        assert_string_equal(why.message, cases[i].why);
    }
}

/* Contract types 1.1.5: what the envelope leaves out is the endpoint's, and the kinds of meta are
 * known in every group. */
TEST(protobuf, finds_the_type_by_the_envelope_and_the_endpoint)
{
    static const struct cor_gvk endpoint = {COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    static const struct {
        const char *api_version, *kind, *type; /* NULL: none */
    } cases[] = {
        {"apps/v1", "DaemonSet", "apps_v1.DaemonSet"},
        {"", "", "apps_v1.Deployment"},
        {"", "StatefulSet", "apps_v1.StatefulSet"},
        {"v1", "Pod", "core_v1.Pod"},
        {"v1", "", NULL},
        {"apps/v1", "DeleteOptions", "meta_v1.DeleteOptions"},
        {"apps/v1", "DeploymentSpec", NULL},
        {"example.com/v1", "Frob", NULL},
        {"a/b/c", "Pod", NULL},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        const struct cor_protobuf object = {cor_strz(cases[i].api_version), cor_strz(cases[i].kind),
                                            COR_STR("")};
        const struct cor_type *want =
            cases[i].type ? cor_type_named(cor_strz(cases[i].type)) : NULL;

        assert_ptr_equal(cor_protobuf_type(&object, &endpoint), want);
    }
}

static void read_as(const char *type, const struct cor_buf *raw, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 16};
    const struct cor_protobuf object = {COR_STR(""), COR_STR(""), cor_buf_str(raw)};
    struct cor_pb_error why = {.message = ""};
    int r = cor_protobuf_to_json(&object, cor_type_named(cor_strz(type)), &json, &why);

    assert_int_equal(r, want[0] == '{' ? 0 : -COR_EINVAL);
    assert_string_equal(r == 0 ? cor_buf_z(&json) : why.message, want);
}

/* Contract types 1.2: what Go always writes is there, what it leaves out is not. */
TEST(protobuf, writes_zero_values_as_go_does)
{
    struct cor_buf none = {0};

    read_as("core_v1.ContainerPort", &none, "{\"containerPort\":0}");
    read_as("apps_v1.DeploymentSpec", &none,
            "{\"selector\":null,\"strategy\":{},\"template\":{\"metadata\":{},\"spec\":{"
            "\"containers\":null}}}");
    read_as("core_v1.NodeSpec", &none, "{}");
    read_as("core_v1.Taint", &none, "{\"effect\":\"\",\"key\":\"\"}");
    read_as("core_v1.ContainerStateRunning", &none, "{\"startedAt\":null}");
    read_as("apps_v1.ControllerRevision", &none, "{\"data\":null,\"metadata\":{},\"revision\":0}");
    read_as("core_v1.HTTPGetAction", &none, "{\"port\":0}");
}

/* Contract types 1.2.3 to 1.2.6. */
TEST(protobuf, merges_messages_and_lets_the_last_scalar_count)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024}, part = {.max = 1024};

    add(&part, 1, COR_STR("a"));
    add(&part, 1, COR_STR("b"));
    add(&raw, 1, cor_buf_str(&part)); /* metadata.name */
    cor_buf_truncate(&part, 0);
    add(&part, 3, COR_STR("ns"));
    add(&raw, 1, cor_buf_str(&part));
    cor_buf_truncate(&part, 0);
    add(&part, 1, COR_STR("k"));
    add(&part, 2, COR_STR("1"));
    add(&raw, 2, cor_buf_str(&part)); /* data */
    cor_buf_truncate(&part, 0);
    add(&part, 1, COR_STR("k"));
    add(&part, 2, COR_STR("2"));
    add(&raw, 2, cor_buf_str(&part));
    cor_buf_truncate(&part, 0);
    add(&part, 1, COR_STR("a"));
    add(&raw, 2, cor_buf_str(&part));
    add(&raw, 15, COR_STR("a field of the future"));
    read_as(
        "core_v1.ConfigMap", &raw,
        "{\"data\":{\"a\":\"\",\"k\":\"2\"},\"metadata\":{\"name\":\"b\",\"namespace\":\"ns\"}}");
    cor_buf_truncate(&raw, 0);
    add(&raw, 4, COR_STR("\x01\x7f")); /* supplementalGroups, packed */
    add_number(&raw, 4, 3);
    read_as("core_v1.PodSecurityContext", &raw, "{\"supplementalGroups\":[1,127,3]}");
}

static void add_data(struct cor_buf *raw, struct cor_str key, const char *value)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf part = {.max = 1024};

    add(&part, 1, key);
    add(&part, 2, cor_strz(value));
    add(raw, 2, cor_buf_str(&part));
}

/* Go's reader of protobuf takes any bytes, and its JSON has U+FFFD for those that are not UTF-8.
 * Keys are in order and each is there once in what becomes of them, too: of keys that become the
 * same one, the last counts, as for who reads Go's JSON. */
TEST(protobuf, keys_of_maps_that_are_not_utf8_stay_in_order_and_apart)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024};

    add_data(&raw, COR_STR("\xff"), "last");
    add_data(&raw, COR_STR("\xf0\x9f\x98\x80"), "smile");
    add_data(&raw, COR_STR("\xfe"), "first");
    add_data(&raw, COR_STR("\xef\xbf\xbd"), "valid");
    add_data(&raw, COR_STR("a\xc3"), "cut");
    add_data(&raw, COR_STR("a\xc3\xa4"), "whole");
    add_data(&raw, COR_STR("b"), "b");
    read_as("core_v1.ConfigMap", &raw,
            "{\"data\":{\"a\xc3\xa4\":\"whole\",\"a\xef\xbf\xbd\":\"cut\",\"b\":\"b\","
            "\"\xef\xbf\xbd\":\"last\",\"\xf0\x9f\x98\x80\":\"smile\"},\"metadata\":{}}");
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1024};
        const struct cor_protobuf object = {COR_STR(""), COR_STR(""), cor_buf_str(&raw)};
        int r = cor_protobuf_to_json(&object, cor_type_named(COR_STR("core_v1.ConfigMap")), &json,
                                     NULL);

        if (r == 0)
            assert_non_null(strstr(cor_buf_z(&json), "\"\xef\xbf\xbd\":\"last\",\"\xf0"));
        else
            assert_int_equal(r, -COR_ENOMEM);
    }
}

/* Contract types 1.2.5: the low 32 bits count. */
TEST(protobuf, cuts_numbers_to_their_width)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024};

    assert_int_equal(cor_buf_add(&raw, "\x08\x81\x80\x80\x80\x10", 6), 0); /* 2^32 + 1 */
    read_as("apps_v1.DeploymentSpec", &raw,
            "{\"replicas\":1,\"selector\":null,\"strategy\":{},\"template\":{\"metadata\":{},"
            "\"spec\":{\"containers\":null}}}");
}

/* Contract types 1.2.7. */
TEST(protobuf, names_the_field_of_a_wrong_wire_type)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024}, inner = {.max = 1024};

    add_number(&raw, 1, 3);
    read_as("core_v1.ConfigMap", &raw, "proto: wrong wireType = 0 for field ObjectMeta");
    cor_buf_truncate(&raw, 0);
    add(&raw, 1, COR_STR("x"));
    read_as("apps_v1.DeploymentSpec", &raw, "proto: wrong wireType = 2 for field Replicas");
    cor_buf_truncate(&raw, 0);
    assert_int_equal(cor_buf_addc(&raw, 4), 0);
    read_as("core_v1.ConfigMap", &raw, "proto: ConfigMap: wiretype end group for non-group");
    cor_buf_truncate(&raw, 0);
    assert_int_equal(cor_buf_addc(&inner, 7), 0);
    add(&raw, 1, cor_buf_str(&inner));
    read_as("core_v1.ConfigMap", &raw, "proto: ObjectMeta: illegal tag 0 (wire type 7)");
}

/* Contract types 1.3: schemas, and what may stand in their place; numbers as Go prints them. */
TEST(protobuf, reads_the_special_types)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024}, inner = {.max = 1024};

    add_number(&inner, 1, 1);
    assert_int_equal(cor_buf_add(&raw, "\xf2\x01", 2), 0); /* 30: additionalProperties */
    assert_int_equal(cor_buf_addc(&raw, (char)inner.n), 0);
    assert_int_equal(cor_buf_adds(&raw, cor_buf_str(&inner)), 0);
    assert_int_equal(cor_buf_add(&raw, "\x49\0\0\0\0\0\0\xf8\x3f", 9), 0); /* 9: maximum 1.5 */
    read_as("apiextensions_v1.JSONSchemaProps", &raw,
            "{\"additionalProperties\":true,\"maximum\":1.5}");
    cor_buf_truncate(&raw, 0);
    cor_buf_truncate(&inner, 0);
    add_number(&inner, 1, 1);
    add(&inner, 3, COR_STR("http"));
    add(&raw, 2, cor_buf_str(&inner)); /* port */
    read_as("core_v1.HTTPGetAction", &raw, "{\"port\":\"http\"}");
    cor_buf_truncate(&raw, 0);
    cor_buf_truncate(&inner, 0);
    add(&inner, 1, COR_STR("{\"b\":1,\"a\":2}"));
    add(&raw, 2, cor_buf_str(&inner)); /* data keeps its order */
    read_as("apps_v1.ControllerRevision", &raw,
            "{\"data\":{\"b\":1,\"a\":2},\"metadata\":{},\"revision\":0}");
    cor_buf_truncate(&raw, 0);
    cor_buf_truncate(&inner, 0);
    add(&inner, 1, COR_STR("{"));
    add(&raw, 2, cor_buf_str(&inner));
    read_as("apps_v1.ControllerRevision", &raw,
            "json: error calling MarshalJSON: invalid bytes of a raw value");
}

/* JSON of a type through protobuf and back. */
static void there_and_back(const char *type, const char *json, const char *want)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf pb = {.max = 1 << 16}, back = {.max = 1 << 16};
    const struct cor_type *of = cor_type_named(cor_strz(type));
    struct cor_pb_error why = {.message = ""};
    struct cor_protobuf object;

    if (cor_protobuf_from_json(COR_STR(""), COR_STR(""), of, cor_strz(json), &pb, &why) < 0)
        fail_msg("%s: %s", json, why.message);
    assert_int_equal(cor_protobuf_open(cor_buf_str(&pb), &object, NULL), 0);
    assert_int_equal(cor_protobuf_to_json(&object, of, &back, &why), 0);
    assert_string_equal(cor_buf_z(&back), want);
}

TEST(protobuf, writes_what_it_reads)
{
    static const struct {
        const char *type, *json;
    } same[] = {
        {"core_v1.ConfigMap",
         "{\"binaryData\":{\"b\":\"AAH/\"},\"data\":{\"a\":\"\",\"b\":\"x\\ny\"},\"immutable\":false,"
         "\"metadata\":{\"creationTimestamp\":\"1969-12-31T23:59:59Z\",\"name\":\"c\"}}"},
        {"core_v1.HTTPGetAction", "{\"path\":\"/\",\"port\":-3}"},
        {"core_v1.HTTPGetAction", "{\"port\":\"http\"}"},
        {"core_v1.ResourceRequirements", "{\"limits\":{\"cpu\":\"1500m\",\"memory\":\"0\"}}"},
        {"core_v1.Volume",
         "{\"configMap\":{\"items\":[{\"key\":\"k\",\"path\":\"p\"}],\"name\":\"n\"},\"name\":\"v\"}"},
        {"coordination_v1.LeaseSpec",
         "{\"leaseDurationSeconds\":0,\"renewTime\":\"1969-12-31T23:59:59.000001Z\"}"},
        {"authorization_v1.SubjectAccessReviewSpec",
         "{\"extra\":{\"k\":[\"a\",\"b\"],\"l\":[]},\"user\":\"u\"}"},
        {"apps_v1.ControllerRevision",
         "{\"data\":{\"z\":1,\"a\":[null]},\"metadata\":{},\"revision\":-1}"},
        {"apiextensions_v1.JSONSchemaProps",
         "{\"additionalProperties\":false,\"default\":[1],\"dependencies\":{\"a\":[\"b\"],\"c\":{\"type\":\"object\"}},"
         "\"items\":[{\"type\":\"string\"}],\"maximum\":-0.25,\"minimum\":1e-7,\"properties\":{\"p\":{\"items\":{},\"not\":{}}}}"},
        {"core_v1.PodSecurityContext", "{\"supplementalGroups\":[0,-1,9223372036854775807]}"},
        {"meta_v1.ManagedFieldsEntry", "{\"fieldsV1\":{\"f:b\":{},\"f:a\":{}},\"manager\":\"m\"}"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(same); i++)
        there_and_back(same[i].type, same[i].json, same[i].json);
    there_and_back("core_v1.ContainerPort", "{\"frob\":1,\"hostIP\":null}",
                   "{\"containerPort\":0}");
    there_and_back("core_v1.ResourceRequirements", "{\"limits\":{\"cpu\":2}}",
                   "{\"limits\":{\"cpu\":\"2\"}}");
}

TEST(protobuf, cannot_write_a_value_of_another_type)
{
    static const struct {
        const char *type, *json, *why;
    } cases[] = {
        {"apps_v1.DeploymentSpec", "{\"replicas\":\"many\"}",
         "cannot encode string as field Replicas of type int32"},
        {"core_v1.ConfigMap", "{\"data\":[]}",
         "cannot encode array as field Data of type map[string]string"},
        {"core_v1.ConfigMap", "{\"data\":{\"a\":1}}",
         "cannot encode number as field Data of type string"},
        {"core_v1.ConfigMap", "{\"metadata\":1}",
         "cannot encode number as field ObjectMeta of type v1.ObjectMeta"},
        {"core_v1.ConfigMap", "{\"metadata\":{\"creationTimestamp\":\"x\"}}",
         "cannot encode string as field CreationTimestamp of type v1.Time"},
        {"core_v1.ConfigMap", "{\"immutable\":1}",
         "cannot encode number as field Immutable of type bool"},
        {"core_v1.Secret", "{\"data\":{\"a\":\"!\"}}",
         "cannot encode string as field Data of type []uint8"},
        {"core_v1.PodSpec", "{\"containers\":{}}",
         "cannot encode object as field Containers of type []v1.Container"},
        {"apiextensions_v1.JSONSchemaProps", "{\"maximum\":\"5\"}",
         "cannot encode string as field Maximum of type float64"},
        {"apiextensions_v1.JSONSchemaProps", "{\"maximum\":1e400}",
         "cannot encode number as field Maximum of type float64"},
        {"apiextensions_v1.JSONSchemaProps", "{\"items\":5}",
         "cannot encode number as field Items of type v1.JSONSchemaPropsOrArray"},
        {"core_v1.HTTPGetAction", "{\"port\":1.5}",
         "cannot encode number as field Port of type intstr.IntOrString"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf pb = {.max = 1 << 16};
        struct cor_pb_error why = {.message = ""};

        assert_int_equal(cor_protobuf_from_json(COR_STR("v1"), COR_STR("K"),
                                                cor_type_named(cor_strz(cases[i].type)),
                                                cor_strz(cases[i].json), &pb, &why),
                         -COR_EINVAL);
        assert_string_equal(why.message, cases[i].why);
    }
}

TEST(protobuf, a_failed_allocation_is_told)
{
    static const char json[] =
        "{\"data\":{\"a\":\"x\\ny\"},\"metadata\":{\"labels\":{\"l\":\"m\"},\"name\":\"c\"}}";

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf pb = {.max = 1 << 16};
        int r = cor_protobuf_from_json(COR_STR("v1"), COR_STR("ConfigMap"),
                                       cor_type_named(COR_STR("core_v1.ConfigMap")), COR_STR(json),
                                       &pb, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}

/* Two bytes each: an empty job with many zeros in JSON, and an entry of a map. */
TEST(protobuf, stops_when_the_result_is_full)
{
    static const struct {
        const char *type;
        unsigned char tag;
        size_t n, max;
    } cases[] = {{"batch_v1.CronJobList", 0x12, 300000, 1 << 20},
                 {"core_v1.ConfigMap", 0x12, (1u << 18) + 1, 1 << 20}};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1 << 20};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = cases[i].max};
        struct cor_protobuf object = {COR_STR(""), COR_STR(""), COR_STR("")};

        for (size_t k = 0; k < cases[i].n; k++)
            assert_int_equal(cor_buf_add(&raw, (char[]){(char)cases[i].tag, 0}, 2), 0);
        object.raw = cor_buf_str(&raw);
        assert_int_equal(
            cor_protobuf_to_json(&object, cor_type_named(cor_strz(cases[i].type)), &json, NULL),
            -COR_ETOOBIG);
    }
}

TEST(protobuf, refuses_messages_that_are_nested_too_deep)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1 << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 20};
    struct cor_protobuf object = {COR_STR(""), COR_STR(""), COR_STR("")};
    struct cor_pb_error why = {.message = ""};

    /* not (28) of not of not …, from the inside out: a tag of two bytes and a length of three. */
    for (size_t i = 0; i < 2000; i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf outer = {.max = 1 << 20};

        assert_int_equal(cor_buf_add(&outer, "\xe2\x01", 2), 0);
        assert_int_equal(cor_buf_addc(&outer, (char)(0x80 | (raw.n & 0x7f))), 0);
        assert_int_equal(cor_buf_addc(&outer, (char)(0x80 | ((raw.n >> 7) & 0x7f))), 0);
        assert_int_equal(cor_buf_addc(&outer, (char)(raw.n >> 14)), 0);
        assert_int_equal(cor_buf_adds(&outer, cor_buf_str(&raw)), 0);
        cor_buf_truncate(&raw, 0);
        assert_int_equal(cor_buf_adds(&raw, cor_buf_str(&outer)), 0);
    }
    object.raw = cor_buf_str(&raw);
    assert_int_equal(
        cor_protobuf_to_json(&object, cor_type_named(COR_STR("apiextensions_v1.JSONSchemaProps")),
                             &json, &why),
        -COR_EINVAL);
    assert_string_equal(why.message, "proto: messages are nested too deep");
}

/* Appends `n` times `open`, then `inside`, then `n` times `}`. */
static void add_nested(struct cor_buf *out, size_t n, const char *open, const char *inside)
{
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_adds(out, cor_strz(open)), 0);
    assert_int_equal(cor_buf_adds(out, cor_strz(inside)), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addc(out, '}'), 0);
}

/* What is stored as JSON can be written in protobuf, and what was written can be read. */
TEST(protobuf, takes_whatever_depth_json_has)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf schema = {.max = 1 << 16}, entry = schema;

    add_nested(&schema, COR_JSON_DEPTH_MAX - 1, "{\"not\":", "{\"type\":\"object\"}");
    there_and_back("apiextensions_v1.JSONSchemaProps", cor_buf_z(&schema), cor_buf_z(&schema));
    assert_int_equal(cor_buf_adds(&entry, COR_STR("{\"fieldsV1\":")), 0);
    add_nested(&entry, COR_JSON_DEPTH_MAX - 2, "{\"f:a\":", "{}");
    assert_int_equal(cor_buf_addc(&entry, '}'), 0);
    there_and_back("meta_v1.ManagedFieldsEntry", cor_buf_z(&entry), cor_buf_z(&entry));
}

/* Storage may have numbers that no double holds; whoever reads a request's body refuses them when
 * the finished JSON is checked. */
TEST(protobuf, keeps_numbers_of_raw_values_that_no_double_holds)
{
    static const char json[] = "{\"data\":{\"n\":1e999},\"metadata\":{},\"revision\":0}";
    bool is_canonical;

    there_and_back("apps_v1.ControllerRevision", json, json);
    assert_int_equal(cor_json_check(cor_strz(json), &COR_JSON_LIMITS_DEFAULT, &is_canonical, NULL),
                     -COR_EINVAL);
}

TEST(protobuf, survives_failed_allocations)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1 << 16};

    decode(sent[5].body, &body);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 16};
        int r = to_json(&body, &json);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}

/* Where a length needs another byte, the guess from the length of the JSON is wrong. */
TEST(protobuf, writes_messages_of_every_length)
{
    static const size_t around[] = {100, 16 * 1024 - 100, 24000 - 100, 2048 * 1024 - 100};
    static char text[2200 * 1024];
    const struct cor_type *type =
        cor_type_of_kind(COR_STR(""), COR_STR("v1"), COR_STR("ConfigMap"));

    for (size_t i = 0; i < COR_ARRAY_LEN(around); i++) {
        for (size_t n = around[i]; n<around[i] + 200; n += around[i]> 1000000 ? 9 : 1) {
            COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 8 << 20};
            COR_CLEANUP(cor_buf_deinit) struct cor_buf bytes = {.max = 8 << 20};
            COR_CLEANUP(cor_buf_deinit) struct cor_buf back = {.max = 8 << 20};
            struct cor_protobuf object;

            memset(text, 'x', n);
            text[n] = 0;
            assert_int_equal(
                cor_buf_addf(&json,
                             "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"k\":"
                             "\"%s\"},\"metadata\":{\"name\":\"a\"}}",
                             text),
                0);
            assert_int_equal(cor_protobuf_from_json(COR_STR("v1"), COR_STR("ConfigMap"), type,
                                                    cor_buf_str(&json), &bytes, NULL),
                             0);
            assert_int_equal(cor_protobuf_open(cor_buf_str(&bytes), &object, NULL), 0);
            assert_int_equal(cor_protobuf_to_json(&object, type, &back, NULL), 0);
            assert_int_equal(back.n > n, 1);
            assert_non_null(strstr(cor_buf_z(&back), cor_buf_z(&json) + 40));
        }
    }
}

/* Contract types 1.2.7 and 1.3. */
TEST(protobuf, checks_the_wire_types_inside_of_special_types)
{
    static const struct {
        const char *type;
        uint32_t number; /* of the field that has the special type */
        uint32_t inner;  /* the field of the special type, with another wire type */
        bool is_text;
        const char *why;
    } rows[] = {
        {"meta_v1.ManagedFieldsEntry", 4, 1, true, "proto: wrong wireType = 2 for field Seconds"},
        {"coordination_v1.LeaseSpec", 3, 2, true, "proto: wrong wireType = 2 for field Nanos"},
        {"core_v1.HTTPGetAction", 2, 2, true, "proto: wrong wireType = 2 for field IntVal"},
        {"core_v1.HTTPGetAction", 2, 3, false, "proto: wrong wireType = 0 for field StrVal"},
        {"core_v1.ResourceFieldSelector", 3, 1, false,
         "proto: wrong wireType = 0 for field String_"},
        {"apps_v1.ControllerRevision", 2, 1, false, "proto: wrong wireType = 0 for field Raw"},
        {"apiextensions_v1.JSONSchemaProps", 30, 1, true,
         "proto: wrong wireType = 2 for field Allows"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024}, inner = {.max = 1024};

        if (rows[i].is_text)
            add(&inner, rows[i].inner, COR_STR("x"));
        else
            add_number(&inner, rows[i].inner, 1);
        if (rows[i].number == 30) {
            assert_int_equal(cor_buf_add(&raw, "\xf2\x01", 2), 0);
            assert_int_equal(cor_buf_addc(&raw, (char)inner.n), 0);
            assert_int_equal(cor_buf_adds(&raw, cor_buf_str(&inner)), 0);
        } else {
            add(&raw, rows[i].number, cor_buf_str(&inner));
        }
        read_as(rows[i].type, &raw, rows[i].why);
    }
}

/* As every reader does with what it does not know. Contract types 1.1.8 and 1.2.7. */
TEST(protobuf, passes_over_groups)
{
    static const struct {
        struct cor_str bytes;
        const char *want;
    } rows[] = {
        {COR_STR_INIT("\x6b\x08\x01\x1a\x01x\x25zzzz\x29zzzzzzzz\x73\x74\x6c"),
         "{\"metadata\":{}}"},
        {COR_STR_INIT("\x6b\x08\x01"), "unexpected EOF"},
        {COR_STR_INIT("\x6b\x1a\x05x"), "unexpected EOF"},
        {COR_STR_INIT("\x6b\x0f\x6c"), "proto: illegal wireType 7"},
        {COR_STR_INIT("\x0b\x0c"), "proto: wrong wireType = 3 for field ObjectMeta"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf raw = {.max = 1024};

        assert_int_equal(cor_buf_adds(&raw, rows[i].bytes), 0);
        read_as("core_v1.ConfigMap", &raw, rows[i].want);
    }
}

/* Of a schema and what stands in its place, Go writes the list first, and null for neither. */
TEST(protobuf, chooses_between_a_schema_and_what_replaces_it_as_go_does)
{
    COR_CLEANUP(cor_buf_deinit)
    struct cor_buf raw = {.max = 1024}, both = {.max = 1024}, schema = {.max = 1024};

    add(&schema, 5, COR_STR("string")); /* type */
    add(&both, 1, cor_buf_str(&schema));
    add(&both, 2, COR_STR(""));
    assert_int_equal(cor_buf_add(&raw, "\xc2\x01", 2), 0); /* 24: items */
    assert_int_equal(cor_buf_addc(&raw, (char)both.n), 0);
    assert_int_equal(cor_buf_adds(&raw, cor_buf_str(&both)), 0);
    read_as("apiextensions_v1.JSONSchemaProps", &raw, "{\"items\":[{}]}");
    cor_buf_truncate(&raw, 0);
    assert_int_equal(cor_buf_add(&raw, "\xc2\x01\0", 3), 0);
    read_as("apiextensions_v1.JSONSchemaProps", &raw, "{\"items\":null}");
}
