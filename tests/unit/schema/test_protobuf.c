#include "schema/protobuf.h"

#include "base/base64.h"
#include "base/err.h"
#include "test.h"
#include "json/json.h"

/* Bodies as kubectl 1.32 sent them (the status was put together by hand), in base64, and what they
 * mean. */
static const struct {
    const char *what, *body, *json;
} sent[] = {
    {"auth whoami",
     "azhzAAotChhhdXRoZW50aWNhdGlvbi5rOHMuaW8vdjESEVNlbGZTdWJqZWN0UmV2aWV3EhoKEAoAEgAaACIAKgAyADgAQgASBgoECgASABoAIgA=",
     "{\"kind\":\"SelfSubjectReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"metadata\":{}}"},
    {"auth can-i get pods",
     "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSPAoQCgASABoAIgAqADIAOABCABIeChwKB2RlZmF1bHQSA2dldBoAIgAqBHBvZHMyADoAGggIABIAGgAgABoAIgA=",
     "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{\"resourceAttributes\":{\"namespace\":\"default\",\"resource\":\"pods\",\"verb\":\"get\"}}}"},
    {"auth can-i get /healthz",
     "azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RBY2Nlc3NSZXZpZXcSLwoQCgASABoAIgAqADIAOABCABIREg8KCC9oZWFsdGh6EgNnZXQaCAgAEgAaACAAGgAiAA==",
     "{\"kind\":\"SelfSubjectAccessReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{\"nonResourceAttributes\":{\"path\":\"/healthz\",\"verb\":\"get\"}}}"},
    {"auth can-i --list",
     "azhzAAoxChdhdXRob3JpemF0aW9uLms4cy5pby92MRIWU2VsZlN1YmplY3RSdWxlc1JldmlldxIjChAKABIAGgAiACoAMgA4AEIAEgkKB2RlZmF1bHQaBBgAIgAaACIA",
     "{\"kind\":\"SelfSubjectRulesReview\",\"apiVersion\":\"authorization.k8s.io/v1\",\"metadata\":{},\"spec\":{\"namespace\":\"default\"}}"},
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
     "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"nsx\"},\"status\":{"
     "\"conditions\":[{\"status\":\"True\",\"type\":\"A\"}],\"phase\":\"Terminating\"}}"},
    {"create serviceaccount",
     "azhzAAoUCgJ2MRIOU2VydmljZUFjY291bnQSFQoTCgNzYXgSABoAIgAqADIAOABCABoAIgA=",
     "{\"kind\":\"ServiceAccount\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"sax\"}}"},
};

static void decode(const char *base64, struct cor_buf *out)
{
    assert_int_equal(cor_base64_decode(COR_BASE64_STD, cor_strz(base64), out, NULL), 0);
}

TEST(protobuf, reads_what_kubectl_sends)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(sent); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1 << 16}, json = {.max = 1 << 16};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf canonical = {.max = 1 << 16};

        decode(sent[i].body, &body);
        assert_int_equal(cor_protobuf_to_json(cor_buf_str(&body), &json), 0);
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
    assert_int_equal(cor_protobuf_to_json(cor_buf_str(&body), &json), 0);
    assert_string_equal(cor_buf_z(&json),
                        "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"policy/v1\","
                        "\"gracePeriodSeconds\":0,\"preconditions\":{\"uid\":\"u\"},"
                        "\"orphanDependents\":false,\"dryRun\":[\"All\",\"Some\"]}");
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
    assert_int_equal(cor_protobuf_to_json(cor_buf_str(&body), &json), 0);
    assert_string_equal(cor_buf_z(&json),
                        "{\"kind\":\"CertificateSigningRequest\",\"apiVersion\":"
                        "\"certificates.k8s.io/v1\",\"metadata\":{\"creationTimestamp\":"
                        "\"1970-01-01T00:01:00Z\"},\"spec\":{\"request\":\"AQI=\",\"extra\":{"
                        "\"k\":[\"x\",\"y\"]}}}");
}

TEST(protobuf, refuses_other_bytes_and_other_kinds)
{
    static const struct {
        struct cor_str body;
        int r;
    } cases[] = {
        {COR_STR(""), -COR_EINVAL},
        {COR_STR("{}"), -COR_EINVAL},
        {{"k8s\0", 4}, -COR_ENOTSUP},
        {{"k8s\0\x0a", 5}, -COR_EINVAL},
        {{"k8s\0\x0a\x05v", 7}, -COR_EINVAL},
        {{"k8s\0\x03", 5}, -COR_EINVAL},
        {{"k8s\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 15}, -COR_EINVAL},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1024};

        assert_int_equal(cor_protobuf_to_json(cases[i].body, &json), cases[i].r);
    }
}

TEST(protobuf, survives_failed_allocations)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1 << 16};

    decode(sent[5].body, &body);
    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 16};
        int r = cor_protobuf_to_json(cor_buf_str(&body), &json);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
}
