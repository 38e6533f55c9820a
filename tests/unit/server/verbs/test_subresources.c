#include "api_fixture.h"

#include <stdio.h>

#define PODS     "/api/v1/namespaces/default/pods"
#define BINDINGS "/api/v1/namespaces/default/bindings"
#define APPS     "/apis/apps/v1/namespaces/default"
#define CSRS     "/apis/certificates.k8s.io/v1/certificatesigningrequests"
/* A signed PKCS#10 request of CN=u in PEM, in base64. */
#define REQUEST                                                                                    \
    "\"request\":\""                                                                               \
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIR01HNENBUUF3RERFS01BZ0dBMVVF"             \
    "QXd3QmRUQlpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCTTluOXdRR3pMQTNXTWx6Mmxj"             \
    "djJkbmwrV0EybGhBZlVoWURBVjhlYUM1eTU3TThSNHBJS015eGNVLzZsd3FQCmxSSWRGVGx4anMrdWsv"             \
    "ZXdRbWNEbzcrZ0FEQUtCZ2dxaGtqT1BRUURBZ05JQURCRkFpQklXeGQ5bUt6eGo2bHkKdVVsZmttV2FD"             \
    "RWNXVDNtTlV2WGtKdHBKck1yc3FnSWhBTGpYcWlETS95bWEzUTlQRVFpd3lDbHFDc1lXOHNpNQpmb3Uv"             \
    "OUxKU3ZFNzQKLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="                                 \
    "\",\"usages\":[\"client auth\"]"
#define TO_N1(name, more)                                                                          \
    "{\"metadata\":{\"name\":\"" name "\"" more "},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"
#define CANNOT "Binding in version \"v1\" cannot be handled as a Binding: json: cannot unmarshal "

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

static void add_pod(struct fx *fx, const char *name, const char *spec)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"annotations\":{\"a\":\"1\",\"b\":\"2\"},\"labels\":{"
             "\"app\":\"x\"}},\"spec\":%s}",
             name, spec);
    fx_do(fx, 201, "POST", PODS, body);
}

TEST(binding, assigns_a_pod_to_a_node)
{
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    add_pod(&fx, "p", "{" FX_CONTAINERS "}");
    assert_string_equal(fx_do(&fx, 201, "POST", PODS "/p/binding",
                              TO_N1("p", ",\"annotations\":{\"b\":\"3\",\"c\":\"4\"}")),
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                        "\"Success\",\"code\":201}");
    pod = fx_do(&fx, 200, "GET", PODS "/p", "");
    assert_at(pod, "spec.nodeName", "n1");
    assert_at(pod, "metadata.annotations", "{\"a\":\"1\",\"b\":\"3\",\"c\":\"4\"}");
    assert_at(pod, "metadata.generation", "1");
    assert_at(pod, "status.conditions",
              "[{\"lastProbeTime\":null,\"lastTransitionTime\":\"2025-01-01T00:00:00Z\",\"status\":"
              "\"True\",\"type\":\"PodScheduled\"}]");
    add_pod(&fx, "q", "{" FX_CONTAINERS "}");
    fx_do(&fx, 201, "POST", BINDINGS, TO_N1("q", ""));
    assert_at(fx_do(&fx, 200, "GET", PODS "/q", ""), "spec.nodeName", "n1");
    fx_close(&fx);
}

TEST(binding, is_refused_in_upstreams_words)
{
    static const struct {
        int code;
        const char *target, *body, *message;
    } cases[] = {
        {409, PODS "/bound/binding", TO_N1("bound", ""),
         "Operation cannot be fulfilled on pods/binding \"bound\": pod bound is already assigned to "
         "node \"n0\""},
        {409, PODS "/gated/binding", TO_N1("gated", ""),
         "Operation cannot be fulfilled on pods/binding \"gated\": pod gated has non-empty "
         ".spec.schedulingGates"},
        {409, PODS "/going/binding", TO_N1("going", ""),
         "Operation cannot be fulfilled on pods/binding \"going\": pod going is being deleted, "
         "cannot be assigned to a host"},
        {400, PODS "/free/binding", TO_N1("other", ""),
         "name in URL does not match name in Binding object"},
        {500, PODS "/free/binding", "{\"metadata\":{\"name\":\"free\"}}",
         "target.name: Required value"},
        {500, PODS "/free/binding",
         "{\"metadata\":{\"name\":\"free\"},\"target\":{\"kind\":\"Pod\",\"name\":\"n\"}}",
         "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\""},
        {400, PODS "/free/binding", "{\"metadata\":{\"name\":\"free\"},\"target\":{\"name\":5}}",
         CANNOT "number into Go struct field ObjectReference.target.name of type string"},
        {400, BINDINGS, "{\"metadata\":{\"name\":\"free\"},\"target\":{\"name\":{\"a\":\"n1\"}}}",
         CANNOT "object into Go struct field ObjectReference.target.name of type string"},
        {400, PODS "/free/binding",
         "{\"metadata\":{\"name\":\"free\"},\"target\":{\"kind\":[],\"name\":\"n1\"}}",
         CANNOT "array into Go struct field ObjectReference.target.kind of type string"},
        {400, PODS "/free/binding",
         "{\"metadata\":{\"name\":\"free\"},\"target\":{\"name\":\"n1\",\"uid\":true}}",
         CANNOT "bool into Go struct field ObjectReference.target.uid of type types.UID"},
        {400, PODS "/free/binding", "{\"metadata\":{\"name\":\"free\"},\"target\":\"n1\"}",
         CANNOT "string into Go struct field Binding.target of type v1.ObjectReference"},
        {500, PODS "/free/binding", "{\"metadata\":{\"name\":\"free\"},\"target\":{\"name\":null}}",
         "target.name: Required value"},
        {404, PODS "/none/binding", TO_N1("none", ""), "pods \"none\" not found"},
        {400, BINDINGS, "{\"target\":{\"name\":\"n1\"}}", "Name parameter required."},
        {404, "/api/v1/bindings", "{}", "the server could not find the requested resource"},
    };
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "free", "{" FX_CONTAINERS "}");
    add_pod(&fx, "bound", "{\"nodeName\":\"n0\"," FX_CONTAINERS "}");
    add_pod(&fx, "gated", "{\"schedulingGates\":[{\"name\":\"g\"}]," FX_CONTAINERS "}");
    add_pod(&fx, "going", "{\"nodeName\":\"n0\"," FX_CONTAINERS "}");
    fx_do(&fx, 200, "DELETE", PODS "/going", "");
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++)
        assert_at(fx_do(&fx, cases[i].code, "POST", cases[i].target, cases[i].body), "message",
                  cases[i].message);
    fx_do(&fx, 409, "POST", PODS "/free/binding", TO_N1("free", ",\"uid\":\"other\""));
    fx_do(&fx, 409, "POST", PODS "/free/binding", TO_N1("free", ",\"resourceVersion\":\"1\""));
    fx_do(&fx, 201, "POST", PODS "/free/binding?dryRun=All", TO_N1("free", ""));
    assert_at(fx_do(&fx, 200, "GET", PODS "/free", ""), "spec.nodeName", "");
    fx_do(&fx, 405, "GET", PODS "/free/binding", "");
    fx_close(&fx);
}

TEST(scale, shows_and_sets_the_replicas)
{
    struct fx fx;
    const char *scale;

    open_ready(&fx);
    fx_do(
        &fx, 201, "POST", APPS "/deployments",
        "{\"metadata\":{\"name\":\"d\",\"labels\":{\"x\":\"y\"}},\"spec\":{\"replicas\":2,"
        "\"selector\":{\"matchLabels\":{\"b\":\"c\",\"app\":\"x\"},\"matchExpressions\":[{\"key\":"
        "\"k\",\"operator\":\"In\",\"values\":[\"z\",\"a\"]},{\"key\":\"e\",\"operator\":"
        "\"Exists\"}]},\"template\":{\"metadata\":{\"labels\":{\"app\":\"x\",\"b\":\"c\",\"e\":"
        "\"\",\"k\":\"z\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}");
    scale = fx_do(&fx, 200, "GET", APPS "/deployments/d/scale", "");
    assert_at(scale, "kind", "Scale");
    assert_at(scale, "apiVersion", "autoscaling/v1");
    assert_at(scale, "metadata.labels", "");
    assert_string_not_equal(fx_at(scale, "metadata.uid"), "");
    assert_string_not_equal(fx_at(scale, "metadata.resourceVersion"), "");
    assert_at(scale, "spec", "{\"replicas\":2}");
    assert_at(scale, "status", "{\"replicas\":0,\"selector\":\"app=x,b=c,e,k in (a,z)\"}");
    scale = fx_do(&fx, 200, "PUT", APPS "/deployments/d/scale",
                  "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":5}}");
    assert_at(scale, "spec.replicas", "5");
    scale = fx_do(&fx, 200, "PATCH", APPS "/deployments/d/scale", "{\"spec\":{\"replicas\":0}}");
    assert_at(scale, "spec", "{}");
    scale = fx_do(&fx, 200, "GET", APPS "/deployments/d", "");
    assert_at(scale, "spec.replicas", "0");
    assert_at(scale, "metadata.labels.x", "y");
    assert_at(scale, "metadata.generation", "3");
    fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/replicationcontrollers",
          "{\"metadata\":{\"name\":\"r\"},\"spec\":{\"template\":{\"metadata\":{\"labels\":{\"a\":"
          "\"b\"}},\"spec\":{" FX_CONTAINERS "}}}}");
    scale = fx_do(&fx, 200, "GET", "/api/v1/namespaces/default/replicationcontrollers/r/scale", "");
    assert_at(scale, "spec.replicas", "1");
    assert_at(scale, "status.selector", "a=b");
    fx_close(&fx);
}

TEST(scale, is_refused_in_upstreams_words)
{
    static const struct {
        int code;
        const char *body, *message;
    } cases[] = {
        {422, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":-1}}",
         "Scale.autoscaling \"d\" is invalid: spec.replicas: Invalid value: -1: must be greater than "
         "or equal to 0"},
        {409, "{\"metadata\":{\"name\":\"d\",\"resourceVersion\":\"1\"},\"spec\":{}}",
         "Operation cannot be fulfilled on deployments.apps \"d\": the object has been modified; "
         "please apply your changes to the latest version and try again"},
        {400, "{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":\"d\"}}",
         "Deployment in version \"v1\" cannot be handled as a Scale: converting (v1.Deployment) to "
         "(autoscaling.Scale): unknown conversion"},
        {400, "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":\"x\"}}",
         "Scale in version \"v1\" cannot be handled as a Scale: json: cannot unmarshal string into "
         "Go struct field ScaleSpec.spec.replicas of type int32"},
    };
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", APPS "/deployments",
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{" FX_WORKLOAD "}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++)
        assert_at(fx_do(&fx, cases[i].code, "PUT", APPS "/deployments/d/scale", cases[i].body),
                  "message", cases[i].message);
    assert_at(fx_do(&fx, 404, "GET", APPS "/deployments/none/scale", ""), "message",
              "deployments.apps \"none\" not found");
    fx_do(&fx, 405, "DELETE", APPS "/deployments/d/scale", "");
    fx_close(&fx);
}

TEST(parts, ephemeral_containers_and_nothing_else_is_written)
{
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    add_pod(&fx, "p", "{" FX_CONTAINERS "}");
    pod = fx_do(&fx, 200, "PATCH", PODS "/p/ephemeralcontainers",
                "{\"metadata\":{\"labels\":{\"z\":\"1\"}},\"spec\":{\"nodeName\":\"n\","
                "\"ephemeralContainers\":[{\"name\":\"e\",\"image\":\"i\"}]}}");
    assert_at(pod, "spec.ephemeralContainers[0].name", "e");
    assert_at(pod, "spec.nodeName", "");
    assert_at(pod, "metadata.labels", "{\"app\":\"x\"}");
    assert_at(pod, "metadata.generation", "2");
    fx_close(&fx);
}

#define REQUESTS "\"resources\":{\"requests\":{\"cpu\":\"500m\"}}"

TEST(parts, a_resize_changes_resources_only)
{
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    add_pod(&fx, "p",
            "{\"containers\":[{\"name\":\"c\",\"image\":\"i\"," REQUESTS
            "},{\"name\":\"d\",\"image\":\"i\"}]}");
    pod = fx_do(&fx, 200, "PATCH", PODS "/p/resize",
                "{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"other\",\"resources\":{"
                "\"limits\":{\"cpu\":\"1\"}}},{\"name\":\"d\"}],\"nodeName\":\"n\"}}");
    assert_at(pod, "spec.containers[0].image", "i");
    assert_at(pod, "spec.containers[0].resources",
              "{\"limits\":{\"cpu\":\"1\"},\"requests\":{\"cpu\":\"1\"}}");
    assert_at(pod, "spec.nodeName", "");
    fx_do(&fx, 422, "PATCH", PODS "/p/resize",
          "{\"spec\":{\"containers\":[{\"name\":\"d\"},{\"name\":\"c\"}]}}");
    fx_do(&fx, 422, "PATCH", PODS "/p/resize",
          "{\"spec\":{\"containers\":[{\"name\":\"c\"},{\"name\":\"d\"},{\"name\":\"e\"}]}}");
    fx_close(&fx);
}

TEST(parts, an_approval_sets_conditions_with_their_times)
{
    struct fx fx;
    const char *csr;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CSRS,
          "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"signerName\":\"a.io/b\"," REQUEST "}}");
    csr = fx_do(&fx, 200, "PATCH", CSRS "/c/approval",
                "{\"spec\":{\"signerName\":\"x/y\"},\"status\":{\"certificate\":\"eA==\","
                "\"conditions\":[{\"type\":\"Approved\",\"status\":\"True\"}]}}");
    assert_at(csr, "spec.signerName", "a.io/b");
    assert_at(csr, "status.certificate", "");
    assert_at(csr, "status.conditions",
              "[{\"lastTransitionTime\":\"2025-01-01T00:00:00Z\",\"lastUpdateTime\":"
              "\"2025-01-01T00:00:00Z\",\"status\":\"True\",\"type\":\"Approved\"}]");
    fx_close(&fx);
}

TEST(parts, another_uid_is_refused)
{
    static const char *const targets[] = {PODS "/p/ephemeralcontainers", PODS "/p/resize",
                                          PODS "/p/status", CSRS "/c/approval", CSRS "/c/status"};
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "p", "{" FX_CONTAINERS "}");
    fx_do(&fx, 201, "POST", CSRS,
          "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"signerName\":\"a.io/b\"," REQUEST "}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        const char *status =
            fx_do(&fx, 422, "PATCH", targets[i], "{\"metadata\":{\"uid\":\"other\"}}");

        /* A kind that looks at its metadata once more says it twice. */
        assert_at(status, "details.causes[0]",
                  "{\"reason\":\"FieldValueInvalid\",\"message\":\"Invalid value: "
                  "\\\"other\\\": field is immutable\",\"field\":\"metadata.uid\"}");
    }
    fx_do(&fx, 409, "PUT", PODS "/p/resize", "{\"metadata\":{\"name\":\"p\",\"uid\":\"other\"}}");
    fx_do(&fx, 409, "PUT", CSRS "/c/approval", "{\"metadata\":{\"name\":\"c\",\"uid\":\"other\"}}");
    fx_close(&fx);
}

TEST(parts, a_uid_taken_out_or_the_objects_own_is_fine)
{
    struct fx fx;
    char body[256];
    const char *pod;

    open_ready(&fx);
    add_pod(&fx, "p", "{" FX_CONTAINERS "}");
    pod = fx_do(
        &fx, 200, "PATCH", PODS "/p/ephemeralcontainers",
        "{\"metadata\":{\"uid\":null},\"spec\":{\"ephemeralContainers\":[{\"name\":\"e\",\"image\":\"i\"}]}}");
    assert_int_equal(strlen(fx_at(pod, "metadata.uid")), 36);
    snprintf(body, sizeof(body), "{\"metadata\":{\"uid\":\"%s\"}}", fx_at(pod, "metadata.uid"));
    fx_do(&fx, 200, "PATCH", PODS "/p/resize", body);
    fx_close(&fx);
}

TEST(scale, another_uid_is_a_conflict)
{
    struct fx fx;
    char expected[256];
    const char *scale, *status;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", APPS "/deployments",
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{" FX_WORKLOAD "}}");
    scale = fx_do(&fx, 200, "PATCH", APPS "/deployments/d/scale", "{\"metadata\":{\"uid\":null}}");
    status = fx_do(&fx, 409, "PATCH", APPS "/deployments/d/scale",
                   "{\"metadata\":{\"uid\":\"other\"},\"spec\":{\"replicas\":3}}");
    snprintf(expected, sizeof(expected),
             "Operation cannot be fulfilled on deployments/scale.apps \"d\": Precondition failed: "
             "UID in precondition: other, UID in object meta: %s",
             fx_at(scale, "metadata.uid"));
    assert_at(status, "message", expected);
    assert_at(status, "details",
              "{\"name\":\"d\",\"group\":\"apps\",\"kind\":\"deployments/scale\"}");
    fx_do(&fx, 422, "PATCH", APPS "/deployments/d/scale",
          "{\"metadata\":{\"uid\":\"other\"},\"spec\":{\"replicas\":-1}}");
    fx_do(&fx, 409, "PUT", APPS "/deployments/d/scale",
          "{\"metadata\":{\"name\":\"d\",\"uid\":\"other\"},\"spec\":{\"replicas\":3}}");
    fx_close(&fx);
}

TEST(subresources, answer_whole_or_fail_without_memory)
{
    static const struct {
        const char *method, *target, *body;
    } cases[] = {
        {"POST", PODS "/p/binding?dryRun=All", TO_N1("p", ",\"annotations\":{\"x\":\"y\"}")},
        {"POST", BINDINGS "?dryRun=All",
         "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"X\"}}"},
        {"GET", APPS "/deployments/d/scale", ""},
        {"PUT", APPS "/deployments/d/scale?dryRun=All",
         "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":7}}"},
        {"PATCH", PODS "/p/resize?dryRun=All",
         "{\"spec\":{\"containers\":[{\"name\":\"c\",\"resources\":{\"limits\":{}}}]}}"},
        {"PATCH", PODS "/p/resize", "{\"metadata\":{\"uid\":\"other\"}}"},
        {"PATCH", APPS "/deployments/d/scale", "{\"metadata\":{\"uid\":\"other\"}}"},
        {"PATCH", CSRS "/c/approval?dryRun=All",
         "{\"status\":{\"conditions\":[{\"type\":\"Approved\",\"status\":\"True\"}]}}"},
    };
    struct fx fx;

    open_ready(&fx);
    add_pod(&fx, "p", "{" FX_CONTAINERS "}");
    fx_do(&fx, 201, "POST", APPS "/deployments",
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{" FX_WORKLOAD "}}");
    fx_do(&fx, 201, "POST", CSRS,
          "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"signerName\":\"a.io/b\"," REQUEST "}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        fx_fail_each_alloc(&fx, cases[i].method, cases[i].target, cases[i].body, NULL);
    }
    fx_close(&fx);
}
