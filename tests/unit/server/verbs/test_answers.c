#include <stdio.h>

#include "api_fixture.h"

/* What kube-apiserver v1.34.1 said to the same requests, recorded beside it. */

#define PROTOBUF   "application/vnd.kubernetes.protobuf"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define A          CONFIGMAPS "/a"
#define JSON_PATCH "application/json-patch+json"
#define MERGE      "application/merge-patch+json"
#define STRATEGIC  "application/strategic-merge-patch+json"
#define NOT_HERE   "the server could not find the requested resource"
#define NO_METHOD  "the server does not allow this method on the requested resource"
#define TABLE(v)   "application/json;as=Table;v=" v ";g=meta.k8s.io"
#define PARTIAL(v) "application/json;as=PartialObjectMetadata;v=" v ";g=meta.k8s.io"
#define UNRECOGNIZED                                                                               \
    "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; " \
    "json parse error: "
#define CANNOT     "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: "
#define CRDS       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define CRD_SCHEME "in scheme \"k8s.io/apiextensions-apiserver/pkg/apiserver/apiserver.go:55\""
#define SCHEME     "in scheme \"pkg/api/legacyscheme/scheme.go:30\""
#define OPTIONS_SCHEME                                                                             \
    "in scheme \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
#define NO_NAME "the name of the object (a based on URL) was undeterminable: name must be provided"
#define TYPE_META                                                                                  \
    "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string "               \
    "\"json:\\\"kind,omitempty\\\"\" }"

struct answer {
    const char *method, *target, *body;
    const char *content_type; /* NULL: JSON */
    const char *accept;
    int code;
    const char *reason;
    const char *message; /* NULL: not compared */
    bool has_details;    /* `"details":{}` and nothing in it */
};

static void check(struct fx *fx, const struct answer *a)
{
    struct fx_headers headers = {.content_type = a->content_type, .accept = a->accept};
    const char *answer = fx_do_with(fx, a->code, a->method, a->target, a->body, &headers);

    print_message("# %s %s\n", a->method, a->target);
    assert_at(answer, "reason", a->reason);
    if (a->message)
        assert_at(answer, "message", a->message);
    if (a->has_details)
        assert_at(answer, "details", "{}");
}

static void check_all(const struct answer *answers, size_t n)
{
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    for (size_t i = 0; i < n; i++)
        check(&fx, &answers[i]);
    fx_close(&fx);
}

#define CHECK_ALL(answers) check_all((answers), COR_ARRAY_LEN(answers))

TEST(answers, to_bodies_that_are_no_object)
{
    static const struct answer answers[] = {
        {"POST", CONFIGMAPS, "", NULL, NULL, 400, "BadRequest",
         UNRECOGNIZED "unexpected end of JSON input (<empty>)", false},
        {"POST", CONFIGMAPS, "null", NULL, NULL, 422, "Invalid",
         "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
         false},
        {"POST", CONFIGMAPS, "[]", NULL, NULL, 400, "BadRequest",
         UNRECOGNIZED "json: cannot unmarshal array into Go value of type " TYPE_META " (5b5d)",
         false},
        {"POST", CONFIGMAPS, "{", NULL, NULL, 400, "BadRequest",
         UNRECOGNIZED "unexpected end of JSON input ({)", false},
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"z1\"}} trailing", NULL, NULL, 400,
         "BadRequest",
         UNRECOGNIZED "invalid character 't' after top-level value "
                      "({\"metadata\":{\"name\":\"z1\"}} tra ...)",
         false},
        {"PUT", A, "", NULL, NULL, 400, "BadRequest",
         UNRECOGNIZED "unexpected end of JSON input (<empty>)", false},
        {"PUT", A, "null", NULL, NULL, 400, "BadRequest", NO_NAME, false},
        {"PUT", A, "{\"metadata\":{}}", NULL, NULL, 400, "BadRequest", NO_NAME, false},
        {"POST", CONFIGMAPS, "metadata:\n  name: y1\n name: x\n", "application/yaml", NULL, 400,
         "BadRequest",
         "the object provided is unrecognized (must be of type ConfigMap): yaml: line 2: did not "
         "find expected key (6d657461646174613a0a20206e616d653a2079310a206e616d653a20780a)",
         false},
    };

    CHECK_ALL(answers);
}

TEST(answers, to_metadata_of_the_wrong_types)
{
    static const struct answer answers[] = {
        {"POST", CONFIGMAPS, "{\"metadata\":[]}", NULL, NULL, 400, "BadRequest",
         CANNOT "json: cannot unmarshal array into Go struct field ConfigMap.metadata of type "
                "v1.ObjectMeta",
         false},
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":5}}", NULL, NULL, 400, "BadRequest",
         CANNOT "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of "
                "type string",
         false},
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"z\",\"labels\":[]}}", NULL, NULL, 400,
         "BadRequest",
         CANNOT "json: cannot unmarshal array into Go struct field ObjectMeta.metadata.labels of "
                "type map[string]string",
         false},
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"z\",\"labels\":{\"a\":5}}}", NULL, NULL,
         400, "BadRequest",
         CANNOT "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of "
                "type string",
         false},
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"z\",\"ownerReferences\":[{\"uid\":1}]}}",
         NULL, NULL, 400, "BadRequest",
         CANNOT "json: cannot unmarshal number into Go struct field "
                "OwnerReference.metadata.ownerReferences.uid of type types.UID",
         false},
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"z\",\"finalizers\":[true]}}", NULL, NULL,
         400, "BadRequest",
         CANNOT
         "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.finalizers of "
         "type string",
         false},
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"z\",\"generation\":1.5}}", NULL, NULL, 400,
         "BadRequest",
         CANNOT "json: cannot unmarshal number 1.5 into Go struct field "
                "ObjectMeta.metadata.generation of type int64",
         false},
        {"PUT", A, "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"bad\"}}", NULL, NULL, 400,
         "BadRequest",
         CANNOT "parsing time \"bad\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"bad\" as "
                "\"2006\"",
         false},
        {"POST", CONFIGMAPS, "{\"kind\":5}", NULL, NULL, 400, "BadRequest",
         UNRECOGNIZED "json: cannot unmarshal number into Go struct field .kind of type string "
                      "({\"kind\":5})",
         false},
        {"PATCH", A, "{\"metadata\":{\"labels\":5}}", MERGE, NULL, 422, "Invalid", NULL, false},
    };

    CHECK_ALL(answers);
}

TEST(answers, to_other_kinds_and_versions)
{
    static const struct answer answers[] = {
        {"POST", CONFIGMAPS, "{\"kind\":\"Secret\",\"apiVersion\":\"v1\"}", NULL, NULL, 400,
         "BadRequest",
         "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to "
         "(core.ConfigMap): unknown conversion",
         false},
        /* The kinds that every group has, in any version, in that of a group, and in the core. */
        {"POST", CONFIGMAPS, "{\"kind\":\"Status\",\"apiVersion\":\"any/v9\"}", NULL, NULL, 400,
         "BadRequest",
         "Status in version \"v9\" cannot be handled as a ConfigMap: converting (v1.Status) to "
         "(core.ConfigMap): unknown conversion",
         false},
        {"POST", CONFIGMAPS, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"apps/v1beta2\"}", NULL,
         NULL, 400, "BadRequest",
         "DeleteOptions in version \"v1beta2\" cannot be handled as a ConfigMap: converting "
         "(v1.DeleteOptions) to (core.ConfigMap): unknown conversion",
         false},
        {"POST", CONFIGMAPS, "{\"kind\":\"GetOptions\",\"apiVersion\":\"any/v9\"}", NULL, NULL, 400,
         "BadRequest",
         "GetOptions in version \"v9\" cannot be handled as a ConfigMap: no kind \"GetOptions\" is "
         "registered for version \"any/v9\" " SCHEME,
         false},
        {"POST", CONFIGMAPS, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":[{\"a\":1}]}",
         NULL, NULL, 400, "BadRequest",
         "List in version \"v1\" cannot be handled as a ConfigMap: converting (v1.List) to "
         "(core.ConfigMap): unknown conversion",
         false},
        {"POST", CONFIGMAPS, "{\"kind\":\"List\",\"apiVersion\":\"v1\",\"items\":3}", NULL, NULL,
         400, "BadRequest",
         "List in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into "
         "Go struct field List.items of type []runtime.RawExtension",
         false},
        {"POST", CONFIGMAPS, "{\"kind\":\"List\",\"apiVersion\":\"apps/v1\"}", NULL, NULL, 400,
         "BadRequest",
         "List in version \"v1\" cannot be handled as a ConfigMap: no kind \"List\" is registered for "
         "version \"apps/v1\" " SCHEME,
         false},
        /* The server of CustomResourceDefinitions has a scheme of its own. */
        {"POST", CRDS, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", NULL, NULL, 400, "BadRequest",
         "Pod in version \"v1\" cannot be handled as a CustomResourceDefinition: no kind \"Pod\" is "
         "registered for version \"v1\" " CRD_SCHEME,
         false},
        {"POST", CRDS, "{\"kind\":\"List\",\"apiVersion\":\"v1\"}", NULL, NULL, 400, "BadRequest",
         "List in version \"v1\" cannot be handled as a CustomResourceDefinition: no kind \"List\" is "
         "registered for version \"v1\" " CRD_SCHEME,
         false},
        {"POST", CRDS, "{\"kind\":\"DeleteOptions\"}", NULL, NULL, 400, "BadRequest",
         "DeleteOptions in version \"v1\" cannot be handled as a CustomResourceDefinition: "
         "converting (v1.DeleteOptions) to (apiextensions.CustomResourceDefinition): unknown "
         "conversion",
         false},
        {"POST", CONFIGMAPS, "{\"kind\":\"Nope\",\"apiVersion\":\"v1\"}", NULL, NULL, 400,
         "BadRequest",
         "Nope in version \"v1\" cannot be handled as a ConfigMap: no kind \"Nope\" is registered "
         "for version \"v1\" " SCHEME,
         false},
        {"POST", CONFIGMAPS, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"apps/v1\"}", NULL, NULL, 400,
         "BadRequest", CANNOT "no kind \"ConfigMap\" is registered for version \"apps/v1\" " SCHEME,
         false},
        {"POST", CONFIGMAPS, "{\"apiVersion\":\"a/b/c\"}", NULL, NULL, 400, "BadRequest",
         "the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion "
         "string: a/b/c ({\"apiVersion\":\"a/b/c\"})",
         false},
        {"POST", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
         "{\"kind\":\"HorizontalPodAutoscaler\",\"apiVersion\":\"autoscaling/v1\"}", NULL, NULL,
         400, "BadRequest",
         "the API version in the data (autoscaling/v1) does not match the expected API version "
         "(autoscaling/v2)",
         false},
        {"POST", CONFIGMAPS, "{}", "application/vnd.kubernetes.protobuf", NULL, 400, "BadRequest",
         "the object provided is unrecognized (must be of type ConfigMap): provided data does not "
         "appear to be a protobuf message, expected prefix [107 56 115 0] ({})",
         false},
        {"POST", CONFIGMAPS, "{}", "application/cbor", NULL, 415, "UnsupportedMediaType", NULL,
         false},
    };
    struct fx fx = {0};
    struct fx_headers shouted = {.content_type = "APPLICATION/JSON"};

    CHECK_ALL(answers);
    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do_with(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\"}}", &shouted);
    fx_close(&fx);
}

/* Contract validation 3.5.3. */
TEST(answers, to_options)
{
    static const struct answer answers[] = {
        {"POST", CONFIGMAPS "?dryRun=", "{\"metadata\":{\"name\":\"d\"}}", NULL, NULL, 422,
         "Invalid",
         "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"\"]: supported "
         "values: \"All\"",
         false},
        {"POST", CONFIGMAPS "?dryRun=All&dryRun=X", "{\"metadata\":{\"name\":\"d\"}}", NULL, NULL,
         422, "Invalid",
         "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"All\",\"X\"]: "
         "supported values: \"All\"",
         false},
        {"DELETE", A "?dryRun=X", "", NULL, NULL, 422, "Invalid",
         "DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"X\"]: supported "
         "values: \"All\"",
         false},
        {"POST",
         CONFIGMAPS "?fieldManager=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
         "{\"metadata\":{\"name\":\"d\"}}", NULL, NULL, 422, "Invalid",
         "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Too long: may not be more than "
         "128 bytes",
         false},
        {"POST", CONFIGMAPS "?fieldManager=a%00b", "{\"metadata\":{\"name\":\"d\"}}", NULL, NULL,
         422, "Invalid",
         "CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\x00b\": "
         "invalid character U+0000 (at position 1)",
         false},
        {"PATCH", A "?force=true", "{}", MERGE, NULL, 422, "Invalid",
         "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for "
         "non-apply patch",
         false},
        {"GET", A "?export=true", "", NULL, NULL, 400, "BadRequest",
         "the export parameter, deprecated since v1.14, is no longer supported", false},
        {"GET", CONFIGMAPS "?limit=x", "", NULL, NULL, 400, "BadRequest",
         "strconv.ParseInt: parsing \"x\": invalid syntax", false},
        {"GET", CONFIGMAPS "?watch=1&continue=abc", "", NULL, NULL, 422, "Invalid",
         "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: "
         "resourceVersionMatch is forbidden when continue is provided",
         false},
        {"GET", "/apis/batch/v1/jobs?fieldSelector=nope%3Dx", "", NULL, NULL, 400, "BadRequest",
         "field label \"nope\" not supported for Job", false},
        {"GET", CONFIGMAPS "?includeObject=Bad", "", NULL, TABLE("v1"), 400, "BadRequest",
         "Unable to convert to Table as requested: includeObject: Invalid value: \"Bad\": must be "
         "'Metadata', 'Object', 'None', or empty",
         false},
    };
    struct fx fx = {0};

    CHECK_ALL(answers);
    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 200, "GET", A "?limit=x&timeoutSeconds=y&gracePeriodSeconds=z&export=false", "");
    fx_do(&fx, 200, "GET", CONFIGMAPS "?includeObject=Bad&gracePeriodSeconds=z&export=true", "");
    fx_do_with(&fx, 400, "GET", A "?includeObject=Bad", "",
               &(struct fx_headers){.accept = TABLE("v1")});
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS "?fieldSelector=%3D", ""), "items[0].metadata.name",
              "a");
    assert_null(strchr(fx_do(&fx, 200, "GET", A "?pretty=yes", ""), ' '));
    assert_non_null(strchr(fx_do(&fx, 200, "GET", A "?pretty=T", ""), ' '));
    fx_close(&fx);
}

TEST(answers, to_paths_and_methods)
{
    static const struct answer answers[] = {
        {"POST", "/api/v1/configmaps", "{}", NULL, NULL, 405, "MethodNotAllowed", NO_METHOD, true},
        {"POST", A, "{}", NULL, NULL, 405, "MethodNotAllowed", NO_METHOD, true},
        {"DELETE", "/api/v1/namespaces", "", NULL, NULL, 405, "MethodNotAllowed", NO_METHOD, true},
        {"POST", "/api/v1/watch/namespaces/default/configmaps", "{}", NULL, NULL, 405,
         "MethodNotAllowed", NO_METHOD, true},
        {"POST", "/version", "{}", NULL, NULL, 405, "MethodNotAllowed", NO_METHOD, true},
        {"POST", "/api", "{}", NULL, NULL, 405, "MethodNotAllowed", NO_METHOD, true},
        {"PUT", "/api/v1", "{}", NULL, NULL, 405, "MethodNotAllowed", NO_METHOD, true},
        {"DELETE", "/apis/apps/v1", "", NULL, NULL, 405, "MethodNotAllowed", NO_METHOD, true},
        {"GET", "/api/v2/pods", "", NULL, NULL, 404, "NotFound", NOT_HERE, true},
        {"GET", "/apis/apps/v9", "", NULL, NULL, 404, "NotFound", NOT_HERE, true},
        {"GET", "/api/v1/namespaces/default/namespaces/default", "", NULL, NULL, 404, "NotFound",
         NOT_HERE, true},
        {"GET", "/api/v1/namespaces/default/nodes", "", NULL, NULL, 404, "NotFound", NOT_HERE,
         true},
        {"GET", "/api/v1/namespaces//configmaps/a", "", NULL, NULL, 400, "BadRequest",
         "Namespace parameter required.", false},
    };
    struct fx fx = {0};

    CHECK_ALL(answers);
    fx_open(&fx);
    fx_bootstrap(&fx);
    assert_string_equal(fx_do(&fx, 404, "GET", "//api/v1/namespaces/default", ""),
                        "404 page not found");
    assert_string_equal(fx_do(&fx, 404, "GET", "/livez/", ""), "404 page not found");
    assert_string_equal(fx_do(&fx, 404, "POST", "/nope", "{}"), "404 page not found");
    assert_string_equal(fx_do(&fx, 200, "POST", "/healthz", "{}"), "ok");
    assert_at(fx_do(&fx, 200, "GET", "/api/v1/namespaces//configmaps", ""), "kind",
              "ConfigMapList");
    assert_string_equal(fx_do(&fx, 200, "GET", "/livez?verbose&exclude=nope&exclude=ping", ""),
                        "[+]ping excluded: ok\nwarn: some health checks cannot be excluded: no "
                        "matches for \"nope\"\nlivez check passed");
    fx_close(&fx);
}

TEST(answers, to_accept_headers)
{
    static const struct answer answers[] = {
        {"GET", A, "", NULL, "text/plain", 406, "NotAcceptable",
         "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, " PROTOBUF,
         true},
        {"GET", CONFIGMAPS, "", NULL, "text/plain", 406, "NotAcceptable",
         "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, " PROTOBUF
         ", application/json;stream=watch, " PROTOBUF ";stream=watch",
         true},
        {"DELETE", CONFIGMAPS, "", NULL, "text/plain", 406, "NotAcceptable",
         "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, " PROTOBUF,
         true},
        {"GET", A, "", NULL, TABLE("v2"), 406, "NotAcceptable",
         "only the following media types are accepted: application/json, application/yaml, " PROTOBUF,
         false},
        {"GET", CONFIGMAPS "?watch=1", "", NULL, TABLE("v2"), 406, "NotAcceptable",
         "only the following media types are accepted: application/json, application/yaml, " PROTOBUF,
         false},
        {"GET", A, "", NULL, PROTOBUF ";stream=other", 406, "NotAcceptable",
         "only the following media types are accepted: application/json, application/yaml, " PROTOBUF,
         false},
        {"GET", CONFIGMAPS, "", NULL, PARTIAL("v1"), 406, "NotAcceptable",
         "you requested PartialObjectMetadata, but the requested object is a list "
         "(*core.ConfigMapList)",
         false},
        {"GET", A, "", NULL, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
         406, "NotAcceptable",
         "you requested PartialObjectMetadataList, but the requested object is not a list "
         "(*core.ConfigMap)",
         false},
        {"GET", "/api/v1", "", NULL, "text/html", 406, "NotAcceptable",
         "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, " PROTOBUF,
         true},
        {"GET", "/apis/apps", "", NULL,
         "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", 406,
         "NotAcceptable",
         "only the following media types are accepted: application/json, application/yaml, " PROTOBUF,
         false},
    };
    struct fx_headers v1beta1 = {.accept = TABLE("v1beta1")},
                      partial = {.accept = PARTIAL("v1beta1")};
    struct fx_headers yaml = {.accept = "application/yaml"};
    struct fx fx = {0};

    CHECK_ALL(answers);
    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(fx_do_with(&fx, 200, "GET", A, "", &v1beta1), "rows[0].object.apiVersion",
              "meta.k8s.io/v1beta1");
    assert_at(fx_do_with(&fx, 200, "GET", A, "", &partial), "apiVersion", "meta.k8s.io/v1beta1");
    assert_string_equal(
        fx_do_with(&fx, 406, "GET", CONFIGMAPS "?watch=1", "", &yaml),
        "apiVersion: v1\ncode: 406\nkind: Status\nmessage: 'only the following media "
        "types are accepted: application/json;stream=watch,\n  " PROTOBUF
        ";stream=watch'\nmetadata: {}\nreason: "
        "NotAcceptable\nstatus: Failure");
    assert_memory_equal(fx_do_with(&fx, 200, "GET", "/api/v1", "", &yaml), "groupVersion: v1", 16);
    yaml.accept = "application/json;q=0.1,application/yaml;q=0.5";
    assert_memory_equal(fx_do_with(&fx, 200, "GET", A, "", &yaml), "apiVersion:", 11);
    /* What is no number ends it. */
    yaml.accept = "application/json;q=0.1x9,application/yaml;q=0.15";
    assert_memory_equal(fx_do_with(&fx, 200, "GET", A, "", &yaml), "apiVersion:", 11);
    yaml.accept = "application/yaml;q=0";
    assert_memory_equal(fx_do_with(&fx, 200, "GET", A, "", &yaml), "apiVersion:", 11);
    yaml.accept = "application/yaml;q=0,application/json;q=0.1";
    assert_memory_equal(fx_do_with(&fx, 200, "GET", A, "", &yaml), "{\"kind\":", 8);
    fx_close(&fx);
}

TEST(answers, to_writes)
{
    static const struct answer answers[] = {
        {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"f\",\"finalizers\":[\"bad\"]}}", NULL, NULL,
         422, "Invalid",
         "ConfigMap \"f\" is invalid: metadata.finalizers[0]: Invalid value: \"bad\": name is neither "
         "a standard finalizer name nor is it fully qualified",
         false},
        {"PUT", A, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"abc\"}}", NULL, NULL, 500,
         "", "strconv.ParseUint: parsing \"abc\": invalid syntax", false},
        {"PUT", A, "{\"metadata\":{\"name\":\"a\",\"deletionTimestamp\":\"2001-01-01T00:00:00Z\"}}",
         NULL, NULL, 422, "Invalid",
         "ConfigMap \"a\" is invalid: metadata.deletionTimestamp: Invalid value: "
         "\"2001-01-01T00:00:00Z\": field is immutable",
         false},
        {"PATCH", A, "{}", "application/json", NULL, 415, "UnsupportedMediaType",
         "415: Unsupported Media Type", true},
        {"PATCH", A, "{}", "", NULL, 415, "UnsupportedMediaType", "415: Unsupported Media Type",
         true},
        {"PATCH", A, "[]", STRATEGIC, NULL, 400, "BadRequest",
         "json: cannot unmarshal array into Go value of type map[string]interface {}", false},
        {"PATCH", A, "{", STRATEGIC, NULL, 400, "BadRequest", "unexpected end of JSON input",
         false},
        {"PATCH", A, "[{\"op\":\"replace\",\"path\":\"\",\"value\":{}}]", JSON_PATCH, NULL, 400,
         "BadRequest", NO_NAME, false},
    };
    struct fx_headers strategic = {.content_type = STRATEGIC}, merge = {.content_type = MERGE};
    struct fx fx = {0};
    const char *answer;

    CHECK_ALL(answers);
    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"abc\"},\"data\":{\"k\":\"v\"}}");
    fx_do(&fx, 201, "POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases",
          "{\"metadata\":{\"name\":\"l\",\"finalizers\":[\"mine\"]}}");
    assert_at(fx_do_with(&fx, 200, "PATCH", A, "null", &strategic), "data.k", "v");
    answer = fx_do_with(&fx, 422, "PATCH", A, "{\"apiVersion\":\"v2\"}", &merge);
    assert_at(answer, "details.causes[0].field", "patch");
    assert_non_null(strstr(fx_at(answer, "message"),
                           "\"\" is invalid: patch: Invalid value: \"{\\\"kind\\\":"));
    assert_non_null(strstr(fx_at(answer, "message"),
                           "no kind \"ConfigMap\" is registered for version \"v2\" " SCHEME));
    answer = fx_do_with(&fx, 422, "PATCH", A "?fieldValidation=Strict",
                        "{\"data\":{\"m\":\"1\",\"m\":\"2\"}}", &merge);
    assert_non_null(
        strstr(fx_at(answer, "message"), "strict decoding error: duplicate field \"data.m\""));
    fx_close(&fx);
}

TEST(answers, leave_out_what_is_empty_in_metadata)
{
    struct fx fx = {0};
    const char *cm;

    fx_open(&fx);
    fx_bootstrap(&fx);
    cm = fx_do(
        &fx, 201, "POST", CONFIGMAPS,
        "{\"metadata\":{\"name\":\"a\",\"labels\":{},\"annotations\":null,\"finalizers\":[\"a.b/"
        "c\"],\"ownerReferences\":[],\"managedFields\":[]}}");
    assert_null(strstr(cm, "labels"));
    assert_null(strstr(cm, "annotations"));
    assert_null(strstr(cm, "ownerReferences"));
    assert_non_null(strstr(cm, "\"fieldsV1\":{\"f:metadata\":{\"f:finalizers\":{"));
    cm = fx_do(&fx, 200, "PUT", A,
               "{\"metadata\":{\"name\":\"a\",\"finalizers\":[],\"labels\":{}}}");
    assert_null(strstr(cm, "finalizers"));
    assert_null(strstr(cm, "labels"));
    fx_close(&fx);
}

/* Contract types 2.3.6, 2.6.2. */
TEST(answers, have_what_go_makes_of_null_and_of_nothing)
{
    struct fx_headers merge = {.content_type = MERGE};
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    assert_at(fx_do(&fx, 201, "POST", CONFIGMAPS,
                    "{\"metadata\":{\"name\":\"a\",\"labels\":{\"x\":null}},"
                    "\"data\":{\"k\":\"v\"}}"),
              "metadata.labels", "{\"x\":\"\"}");
    /* A patch that takes the last key of a map leaves no map. */
    assert_null(
        strstr(fx_do_with(&fx, 200, "PATCH", A, "{\"data\":{\"k\":null}}", &merge), "data\":{}"));
    fx_close(&fx);
}

/* Contract apply 13.2.1, 13.3.7: 500 without a reason. */
TEST(answers, to_strategic_merge_patches_that_upstream_does_not_expect)
{
#define UNFIT(map, words) " \"\" is invalid: patch: Invalid value: \"map[" map "]\": " words
    /* Contract types 2.5.2. */
    static const char *const unfit[][2] = {
        {"{\"data\":{\"l\":1}}", UNFIT("data:map[l:1]", "cannot convert int64 to string")},
        {"{\"data\":{\"l\":[]}}", UNFIT("data:map[l:[]]", "unrecognized type: string")},
        {"{\"data\":\"x\"}", UNFIT("data:x", "cannot restore map from string")},
        {"{\"immutable\":1}", UNFIT("immutable:1", "unrecognized type: bool")},
        {"{\"metadata\":{\"finalizers\":{}}}",
         UNFIT("metadata:map[finalizers:map[]]", "cannot restore slice from map")},
        {"{\"metadata\":{\"generation\":1.5}}",
         UNFIT("metadata:map[generation:1.5]", "cannot convert float64 to int64")},
    };
    struct fx_headers strategic = {.content_type = STRATEGIC};
    struct fx fx = {0};
    const char *status;

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    status = fx_do_with(&fx, 500, "PATCH", A, "{\"$patch\":\"frob\"}", &strategic);
    assert_at(status, "message", "unknown patch type: frob in map: map[$patch:frob]");
    assert_at(status, "reason", "");
    /* Contract apply 13.1.5. */
    status = fx_do_with(&fx, 422, "PATCH", A "?fieldValidation=Strict",
                        "{\"z\":[1.5],\"metadata\":{\"u\":{}}}", &strategic);
    assert_at(
        status, "message",
        " \"\" is invalid: patch: Invalid value: \"map[metadata:map[u:map[]] z:[1.5]]\": strict "
        "decoding error: unknown field \"metadata.u\", unknown field \"z\"");
    fx_fail_each_alloc(&fx, "PATCH", A "?fieldValidation=Strict", "{\"z\":\"\\n\"}", &strategic);
    for (size_t i = 0; i < COR_ARRAY_LEN(unfit); i++) {
        status = fx_do_with(&fx, 422, "PATCH", A, unfit[i][0], &strategic);
        assert_at(status, "message", unfit[i][1]);
    }
    fx_fail_each_alloc(&fx, "PATCH", A, unfit[0][0], &strategic);
    fx_close(&fx);
}

/* Where this server is not upstream: docs/COMPAT.md has these lines. */
TEST(answers, that_differ)
{
    struct fx_headers any = {.accept = "application/*"};
    struct fx_headers odd = {.content_type = "application/json;;;bad"};
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do_with(&fx, 201, "POST", CONFIGMAPS,
               "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}", &odd);
    fx_do(&fx, 200, "HEAD", A, "");
    fx_do_with(&fx, 200, "GET", A, "", &any);
    assert_at(fx_do(&fx, 422, "PUT", A,
                    "{\"metadata\":{\"name\":\"a\",\"deletionGracePeriodSeconds\":5}}"),
              "details.causes[2]", "");
    fx_close(&fx);
}

TEST(answers, to_bodies_of_deletions)
{
    static const struct answer answers[] = {
        {"DELETE", A, "[]", NULL, NULL, 500, "",
         "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of "
         "type " TYPE_META,
         false},
        {"DELETE", A, "{", NULL, NULL, 500, "",
         "couldn't get version/kind; json parse error: unexpected end of JSON input", false},
        {"DELETE", A, "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}", NULL, NULL, 500, "",
         "no kind \"Pod\" is registered for version \"v1\" " OPTIONS_SCHEME, false},
        {"DELETE", A, "{\"kind\":\"Pod\"}", NULL, NULL, 500, "",
         "no kind \"Pod\" is registered for version \"meta.k8s.io/v1\" " OPTIONS_SCHEME, false},
        {"DELETE", A, "{\"Kind\":\"Pod\"}", NULL, NULL, 500, "",
         "no kind \"Pod\" is registered for version \"meta.k8s.io/v1\" " OPTIONS_SCHEME, false},
        {"DELETE", A, "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"KIND\":\"Pod\"}", NULL,
         NULL, 500, "", "no kind \"Pod\" is registered for version \"v1\" " OPTIONS_SCHEME, false},
        {"DELETE", A, "{\"apiVersion\":\"a/b/c\"}", NULL, NULL, 500, "",
         "unexpected GroupVersion string: a/b/c", false},
        {"DELETE", A, "{\"apiVersion\":\"v1/\"}", NULL, NULL, 500, "",
         "Object 'apiVersion' is missing in '{\"apiVersion\":\"v1/\"}'", false},
        {"DELETE", A, "{\"apiVersion\":\"meta.k8s.io/\",\"propagationPolicy\":\"a\xff\"}", NULL,
         NULL, 422, "Invalid",
         "DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: "
         "\"a\xef\xbf\xbd\": supported values: \"Foreground\", \"Background\", \"Orphan\", "
         "\"nil\"",
         false},
        {"DELETE", A, "{\"gracePeriodSeconds\":\"x\"}", NULL, NULL, 500, "",
         "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of "
         "type int64",
         false},
        {"DELETE", A, "{\"preconditions\":[]}", NULL, NULL, 500, "",
         "json: cannot unmarshal array into Go struct field DeleteOptions.preconditions of type "
         "v1.Preconditions",
         false},
        {"DELETE", A, "{\"dryRun\":\"All\"}", NULL, NULL, 500, "",
         "json: cannot unmarshal string into Go struct field DeleteOptions.dryRun of type []string",
         false},
        {"DELETE", A, "null", NULL, NULL, 200, "", NULL, false},
    };

    CHECK_ALL(answers);
}

static void do_warned(struct fx *fx, int code, const char *method, const char *target,
                      const char *body, const char *warning)
{
    FX_CALL call = {0};
    struct cor_str value;

    fx_start(fx, &call, method, target, body, NULL);
    fx_wait(&call);
    assert_int_equal(call.sink.status, code);
    value = sink_header(&call.sink, "Warning");
    assert_str(value.p ? value : COR_STR(""), warning);
}

/* Contract controllers 2.10.3. */
TEST(answers, warn_of_what_will_surprise)
{
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    do_warned(
        &fx, 201, "POST", CONFIGMAPS,
        "{\"metadata\":{\"name\":\"o\",\"ownerReferences\":["
        "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"name\":\"n\",\"uid\":\"u\"},"
        "{\"uid\":\"u\",\"kind\":\"X\",\"apiVersion\":\"v1\",\"name\":\"n\"},"
        "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"name\":\"m\",\"uid\":\"u\"}]}}",
        "299 - \".metadata.ownerReferences contains duplicate entries; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; please fix your "
        "requests; duplicate UID(s) observed: u\"");
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS "/o", ""), "metadata.ownerReferences[1].name", "m");
    fx_do(&fx, 201, "POST", "/apis/batch/v1/namespaces/default/jobs",
          "{\"metadata\":{\"name\":\"j\"},\"spec\":{" FX_JOB "}}");
    do_warned(&fx, 200, "DELETE", "/apis/batch/v1/namespaces/default/jobs/j", "",
              "299 - \"child pods are preserved by default when jobs are deleted; set "
              "propagationPolicy=Background to remove them or set propagationPolicy=Orphan to "
              "suppress this warning\"");
    do_warned(&fx, 200, "DELETE",
              "/apis/batch/v1/namespaces/default/jobs/j?propagationPolicy=Orphan", "", "");
    fx_close(&fx);
}

TEST(answers, name_the_flag_that_lets_containers_be_privileged)
{
    static const char pods[] = "/api/v1/namespaces/default/pods";
    static const char body[] =
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\","
        "\"securityContext\":{\"privileged\":%s}}]}}";
    char text[256];
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    snprintf(text, sizeof(text), body, "true");
    do_warned(&fx, 422, "POST", pods, text,
              "299 - \"this server runs without --allow-privileged, which would let containers be "
              "privileged\"");
    snprintf(text, sizeof(text), body, "false");
    do_warned(&fx, 201, "POST", pods, text, "");
    fx_close(&fx);
}

static bool saw_deletion(void *arg)
{
    return strstr(cor_buf_z(&((struct fx_call *)arg)->sink.body), "\"DELETED\"") != NULL;
}

static void delete_pod(struct fx *fx, const char *rv)
{
    static const char pod_path[] = "/api/v1/namespaces/default/pods/p";
    char body[128];
    const char *pod;

    pod = fx_do(fx, 200, "DELETE", "/api/v1/namespaces/default/pods/p?dryRun=All", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "0");
    pod = fx_do(fx, 200, "GET", pod_path, "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "");
    snprintf(body, sizeof(body), "{\"preconditions\":{\"resourceVersion\":\"%s\"}}", rv);
    pod = fx_do(fx, 200, "DELETE", pod_path, body);
    assert_at(pod, "metadata.generation", "2");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "0");
    assert_at(pod, "metadata.deletionTimestamp", "2025-01-01T00:00:00Z");
    fx_do(fx, 404, "GET", pod_path, "");
}

/* A pod that goes at once is shown as marked, in the answer and to its watchers. */
TEST(answers, to_deletions_of_pods)
{
    struct fx fx = {0};
    const char *rv;
    char target[128];

    fx_open(&fx);
    fx_bootstrap(&fx);
    rv = fx_at(fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/pods",
                     "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}"),
               "metadata.resourceVersion");
    snprintf(target, sizeof(target), "/api/v1/pods?watch=1&timeoutSeconds=5&resourceVersion=%s",
             rv);
    {
        FX_CALL watch = {0};

        fx_start(&fx, &watch, "GET", target, "", NULL);
        delete_pod(&fx, rv);
        assert_true(cor_loop_run_until(fx.loop, saw_deletion, &watch, FX_TIMEOUT_MS));
        assert_memory_equal(cor_buf_z(&watch.sink.body), "{\"type\":\"MODIFIED\"", 18);
    }
    fx_close(&fx);
}

TEST(answers, to_writes_of_namespaces)
{
    struct fx fx = {0};
    const char *ns;

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"t\"}}");
    ns = fx_do(
        &fx, 200, "PUT", "/api/v1/namespaces/t",
        "{\"metadata\":{\"name\":\"t\",\"labels\":{\"q\":\"1\"}},\"spec\":{\"finalizers\":[]}}");
    assert_at(ns, "metadata.labels", "{\"kubernetes.io/metadata.name\":\"t\",\"q\":\"1\"}");
    assert_at(ns, "spec", "{\"finalizers\":[\"kubernetes\"]}");
    ns = fx_do(&fx, 200, "PUT", "/api/v1/namespaces/t/status",
               "{\"metadata\":{\"name\":\"t\"},\"status\":{\"phase\":\"Active\"}}");
    assert_at(ns, "metadata.labels", "{\"kubernetes.io/metadata.name\":\"t\"}");
    ns = fx_do(&fx, 200, "PUT", "/api/v1/namespaces/t/finalize",
               "{\"metadata\":{\"name\":\"t\"},\"spec\":{\"finalizers\":[]}}");
    assert_at(ns, "spec", "{}");
    fx_do(&fx, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"going\"}}");
    fx_do(&fx, 200, "DELETE", "/api/v1/namespaces/going", "");
    ns = fx_do(&fx, 403, "POST", "/api/v1/namespaces/going/configmaps",
               "{\"metadata\":{\"name\":\"x\"}}");
    assert_at(ns, "message",
              "configmaps \"x\" is forbidden: unable to create new content in namespace going "
              "because it is being terminated");
    assert_at(ns, "details.name", "x");
    fx_close(&fx);
}

/* A refusal has a form of its own: the first that is asked for without another view, else JSON.
 * Contract types 1.4.6. */
TEST(answers, that_refuse_are_written_in_the_form_that_is_asked_for)
{
    static const struct {
        const char *accept, *type;
    } rows[] = {
        {PROTOBUF, PROTOBUF},
        {PROTOBUF ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1", "application/json"},
        {PROTOBUF ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1," PROTOBUF, PROTOBUF},
        {TABLE("v1") "," PROTOBUF, PROTOBUF},
        {TABLE("v1") ",application/yaml", "application/yaml"},
        {"application/yaml;as=Table;g=meta.k8s.io;v=v1", "application/json"},
        {PROTOBUF ";stream=watch", PROTOBUF},
    };
    static const struct {
        const char *method, *target;
        int status;
    } requests[] = {{"GET", A, 404},
                    {"GET", "/apis/apps/v1/nothing", 404},
                    {"PUT", CONFIGMAPS, 405},
                    {"GET", CONFIGMAPS "?resourceVersion=x&watch=1", 500}};
    struct fx fx = {0};

    fx_open(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        for (size_t j = 0; j < COR_ARRAY_LEN(requests); j++) {
            FX_CALL call;

            fx_start(&fx, &call, requests[j].method, requests[j].target, "",
                     &(struct fx_headers){.accept = rows[i].accept});
            fx_wait(&call);
            /* A watch in YAML is refused before its revision is read. */
            if (call.sink.status != 406)
                assert_int_equal(call.sink.status, requests[j].status);
            assert_str(sink_header(&call.sink, "Content-Type"), rows[i].type);
        }
    }
    fx_close(&fx);
}

/* Kinds in protobuf are checked as those in JSON. Contract types 1.1.5 and 1.2.7. */
TEST(answers, to_kinds_in_protobuf_that_are_not_known)
{
    static const struct {
        const char *method, *target;
        struct cor_str body;
        int status;
        const char *message;
    } rows[] = {
        {"POST", CONFIGMAPS, COR_STR_INIT("k8s\0\x0a\x0c\x0a\x02v9\x12\x06Nobody\x12\0"), 400,
         "Nobody in version \"v9\" cannot be handled as a ConfigMap: no kind \"Nobody\" is "
         "registered for version \"v9\" " SCHEME},
        {"POST", CONFIGMAPS, COR_STR_INIT("k8s\0\x0a\x0c\x0a\x02v1\x12\x06Secret\x12\0"), 400,
         "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to "
         "(core.ConfigMap): unknown conversion"},
        {"DELETE", A, COR_STR_INIT("k8s\0\x0a\x0c\x0a\x02v9\x12\x06Nobody\x12\0"), 500,
         "no kind \"Nobody\" is registered for version \"v9\" in scheme "
         "\"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""},
    };
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        FX_CALL call;

        fx_start_with_body(&fx, &call, rows[i].method, rows[i].target, rows[i].body,
                           &(struct fx_headers){.content_type = PROTOBUF});
        fx_wait(&call);
        assert_int_equal(call.sink.status, rows[i].status);
        assert_at(cor_buf_z(&call.sink.body), "message", rows[i].message);
    }
    fx_close(&fx);
}
