#include <stdio.h>

#include "api_fixture.h"

#include "base/err.h"
#include "storage/engine/engine_int.h"

#define ROLE_REF   ",\"roleRef\":{\"kind\":\"ClusterRole\",\"name\":\"r\"}"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

TEST(create, fills_in_what_the_server_decides)
{
    struct fx fx;
    const char *cm;

    open_ready(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS,
               "{\"data\":{\"k\":\"v\"},\"metadata\":{\"name\":\"a\",\"uid\":\"mine\","
               "\"creationTimestamp\":null,\"deletionTimestamp\":\"2020-01-01T00:00:00Z\","
               "\"deletionGracePeriodSeconds\":5,\"selfLink\":\"/x\"},\"extra\":1}");
    assert_at(cm, "kind", "ConfigMap");
    assert_at(cm, "apiVersion", "v1");
    assert_at(cm, "metadata.namespace", "default");
    assert_at(cm, "metadata.creationTimestamp", "2025-01-01T00:00:00Z");
    assert_int_equal(strlen(fx_at(cm, "metadata.uid")), 36);
    assert_int_equal(fx_at(cm, "metadata.uid")[14], '4');
    assert_at(cm, "metadata.deletionTimestamp", "");
    assert_at(cm, "metadata.deletionGracePeriodSeconds", "");
    assert_at(cm, "metadata.selfLink", "");
    assert_at(cm, "metadata.generation", "");
    assert_string_not_equal(fx_at(cm, "metadata.resourceVersion"), "");
    /* A field that the type does not have is dropped. */
    assert_at(cm, "extra", "");
    assert_string_equal(fx_do(&fx, 200, "GET", CONFIGMAPS "/a", ""), cm);
    fx_close(&fx);
}

#define JOBS            "/apis/batch/v1/namespaces/default/jobs"
#define CONTROLLER_UID  "[\"batch.kubernetes.io/controller-uid\"]"
#define TEMPLATE_LABELS "spec.template.metadata.labels"

/* Contract types 4.6.4. */
TEST(create, a_job_gets_a_selector_and_labels_of_its_own)
{
    struct fx fx;
    const char *job;
    char uid[64];

    open_ready(&fx);
    job = fx_do(&fx, 201, "POST", JOBS,
                "{\"metadata\":{\"generateName\":\"sum-\"},\"spec\":{\"podFailurePolicy\":{},"
                "\"template\":{\"metadata\":"
                "{\"labels\":{\"a\":\"b\"}},\"spec\":"
                "{\"restartPolicy\":\"Never\"," FX_CONTAINERS "}}}}");
    /* Nothing else of the spec is merged: null stays. */
    assert_at(job, "spec.podFailurePolicy", "{\"rules\":null}");
    snprintf(uid, sizeof(uid), "%s", fx_at(job, "metadata.uid"));
    assert_at(job, "spec.selector.matchLabels" CONTROLLER_UID, uid);
    assert_at(job, TEMPLATE_LABELS CONTROLLER_UID, uid);
    assert_at(job, TEMPLATE_LABELS ".controller-uid", uid);
    assert_at(job, TEMPLATE_LABELS ".a", "b");
    assert_string_equal(fx_at(job, TEMPLATE_LABELS ".job-name"), fx_at(job, "metadata.name"));
    assert_string_equal(fx_at(job, TEMPLATE_LABELS "[\"batch.kubernetes.io/job-name\"]"),
                        fx_at(job, "metadata.name"));
    assert_at(job, "spec.template.spec.restartPolicy", "Never");
    /* Without labels of its own it has those of its template, the generated ones too. */
    assert_string_equal(fx_at(job, "metadata.labels"), fx_at(job, TEMPLATE_LABELS));
    job = fx_do(
        &fx, 201, "POST", JOBS,
        "{\"metadata\":{\"name\":\"labelled\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"template\":"
        "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"restartPolicy\":\"Never\"," FX_CONTAINERS
        "}}}}");
    assert_at(job, "metadata.labels", "{\"a\":\"b\"}");
    assert_at(job, TEMPLATE_LABELS ".job-name", "labelled");
    job =
        fx_do(&fx, 201, "POST", JOBS,
              "{\"metadata\":{\"name\":\"by-hand\"},\"spec\":{\"manualSelector\":true,\"selector\":"
              "{\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":"
              "{\"a\":\"b\"}},\"spec\":{\"restartPolicy\":\"Never\"," FX_CONTAINERS "}}}}");
    assert_at(job, "spec.selector.matchLabels", "{\"a\":\"b\"}");
    assert_at(job, TEMPLATE_LABELS, "{\"a\":\"b\"}");
    fx_close(&fx);
}

/* Contract types 3.1.1: a body, the result of a patch, and a body that lacks what was stored. */
TEST(create, defaults_are_filled_in_by_every_write)
{
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define DEPLOYMENT                                                                                        \
    "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":" \
    "{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"image\":\"i\",\"name\":\"c\"}]}}}}"
    struct fx fx;
    const char *d;

    open_ready(&fx);
    d = fx_do(&fx, 201, "POST", DEPLOYMENTS, DEPLOYMENT);
    assert_at(d, "spec.replicas", "1");
    assert_at(d, "spec.strategy",
              "{\"rollingUpdate\":{\"maxSurge\":\"25%\",\"maxUnavailable\":\"25%\"},"
              "\"type\":\"RollingUpdate\"}");
    assert_at(d, "spec.template.spec.containers[0].imagePullPolicy", "Always");
    assert_at(d, "metadata.generation", "1");
    /* What is sent again is the same after its defaults: nothing is written. */
    d = fx_do(&fx, 200, "PUT", DEPLOYMENTS "/d", DEPLOYMENT);
    assert_at(d, "metadata.generation", "1");
    d = fx_do_with(
        &fx, 200, "PATCH", DEPLOYMENTS "/d",
        "{\"spec\":{\"replicas\":null,\"strategy\":null,\"template\":{\"spec\":{\"containers\":"
        "[{\"image\":\"i\",\"name\":\"c\",\"livenessProbe\":{\"httpGet\":{\"port\":1}}}]}}}}",
        &(struct fx_headers){.content_type = "application/merge-patch+json"});
    assert_at(d, "metadata.generation", "2");
    assert_at(d, "spec.replicas", "1");
    assert_at(d, "spec.strategy.type", "RollingUpdate");
    assert_at(d, "spec.template.spec.containers[0].livenessProbe",
              "{\"failureThreshold\":3,\"httpGet\":{\"path\":\"/\",\"port\":1,\"scheme\":\"HTTP\"},"
              "\"periodSeconds\":10,\"successThreshold\":1,\"timeoutSeconds\":1}");
    fx_close(&fx);
#undef DEPLOYMENT
#undef DEPLOYMENTS
}

TEST(create, starts_generation_and_status_where_the_kind_has_them)
{
    struct fx fx;
    const char *d;

    open_ready(&fx);
    d = fx_do(
        &fx, 201, "POST", "/apis/apps/v1/namespaces/default/deployments",
        "{\"metadata\":{\"name\":\"d\",\"generation\":7},\"spec\":{\"replicas\":1," FX_WORKLOAD "},"
        "\"status\":{\"replicas\":9}}");
    assert_at(d, "metadata.generation", "1");
    assert_at(d, "status", "{}");
    d = fx_do(&fx, 201, "POST", "/api/v1/nodes",
              "{\"metadata\":{\"name\":\"n\"},\"status\":{\"phase\":\"x\"}}");
    assert_at(d, "status.phase", "x");
    fx_close(&fx);
}

TEST(create, makes_a_name_of_a_prefix)
{
    struct fx fx;
    const char *cm, *name;

    open_ready(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"generateName\":\"web-\"}}");
    name = fx_at(cm, "metadata.name");
    assert_int_equal(strlen(name), 9);
    assert_memory_equal(name, "web-", 4);
    assert_int_equal(strspn(name + 4, "bcdfghjklmnpqrstvwxz2456789"), 5);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS,
               "{\"metadata\":{\"generateName\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
               "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"}}");
    assert_int_equal(strlen(fx_at(cm, "metadata.name")), 63);
    fx_close(&fx);
}

/* Names of one seed repeat: a second server with the same seed meets the first one's. */
TEST(create, tries_another_name_on_a_collision)
{
    struct fx fx;
    char first[64];
    const char *cm;

    open_ready(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"generateName\":\"x-\"}}");
    memcpy(first, fx_at(cm, "metadata.name"), 8);
    cor_api_free(fx.api);
    assert_int_equal(cor_api_new(&fx.opts, &fx.api, NULL), 0);
    fx_bootstrap(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"generateName\":\"x-\"}}");
    assert_memory_not_equal(first, fx_at(cm, "metadata.name"), 7);
    fx_close(&fx);
}

static const struct {
    const char *what, *target, *body;
    int code;
    const char *reason, *message;
} refusals[] = {
    {"no name", CONFIGMAPS, "{}", 422, "Invalid",
     "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required"},
    {"not JSON", CONFIGMAPS, "{", 400, "BadRequest", NULL},
    {"other namespace", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"b\"}}", 400,
     "BadRequest",
     "the namespace of the provided object does not match the namespace sent on the request"},
    {"other version", CONFIGMAPS, "{\"apiVersion\":\"v2\",\"metadata\":{\"name\":\"a\"}}", 400,
     "BadRequest",
     "ConfigMap in version \"v2\" cannot be handled as a ConfigMap: no kind \"ConfigMap\" is "
     "registered for version \"v2\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""},
    {"other kind", CONFIGMAPS, "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\"}}", 400,
     "BadRequest", NULL},
    {"missing namespace", "/api/v1/namespaces/nope/configmaps", "{\"metadata\":{\"name\":\"a\"}}",
     404, "NotFound", "namespaces \"nope\" not found"},
    {"all namespaces", "/api/v1/configmaps", "{\"metadata\":{\"name\":\"a\"}}", 405,
     "MethodNotAllowed", "the server does not allow this method on the requested resource"},
    {"unknown resource", "/api/v1/namespaces/default/frogs", "{}", 404, "NotFound",
     "the server could not find the requested resource"},
    {"with a revision", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}",
     500, "", "resourceVersion should not be set on objects to be created"},
    {"bad dry run", CONFIGMAPS "?dryRun=Some", "{\"metadata\":{\"name\":\"a\"}}", 422, "Invalid",
     "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported "
     "values: \"All\""},
};

TEST(create, refuses_in_upstreams_words)
{
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        const char *status =
            fx_do(&fx, refusals[i].code, "POST", refusals[i].target, refusals[i].body);

        assert_at(status, "kind", "Status");
        assert_at(status, "status", "Failure");
        assert_at(status, "reason", refusals[i].reason);
        if (refusals[i].message)
            assert_at(status, "message", refusals[i].message);
    }
    fx_close(&fx);
}

TEST(create, an_existing_name_is_a_conflict)
{
    struct fx fx;
    const char *status;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", "/apis/apps/v1/namespaces/default/deployments",
          "{\"metadata\":{\"name\":\"d\",\"finalizers\":[\"a/b\"]},\"spec\":{" FX_WORKLOAD "}}");
    status = fx_do(&fx, 409, "POST", "/apis/apps/v1/namespaces/default/deployments",
                   "{\"metadata\":{\"name\":\"d\"},\"spec\":{" FX_WORKLOAD "}}");
    assert_string_equal(status,
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                        "\"status\":\"Failure\",\"message\":\"deployments.apps \\\"d\\\" already "
                        "exists\",\"reason\":\"AlreadyExists\",\"details\":{\"name\":\"d\","
                        "\"group\":\"apps\",\"kind\":\"deployments\"},\"code\":409}");
    fx_do(&fx, 200, "DELETE", "/apis/apps/v1/namespaces/default/deployments/d", "");
    status = fx_do(&fx, 409, "POST", "/apis/apps/v1/namespaces/default/deployments",
                   "{\"metadata\":{\"name\":\"d\"},\"spec\":{" FX_WORKLOAD "}}");
    assert_at(status, "message", "object is being deleted: deployments.apps \"d\" already exists");
    fx_close(&fx);
}

TEST(create, a_dry_run_stores_nothing)
{
    struct fx fx;
    const char *cm;

    open_ready(&fx);
    cm = fx_do(&fx, 201, "POST", CONFIGMAPS "?dryRun=All", "{\"metadata\":{\"name\":\"a\"}}");
    assert_string_not_equal(fx_at(cm, "metadata.uid"), "");
    assert_at(cm, "metadata.resourceVersion", "");
    fx_do(&fx, 404, "GET", CONFIGMAPS "/a", "");
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 409, "POST", CONFIGMAPS "?dryRun=All", "{\"metadata\":{\"name\":\"a\"}}");
    fx_close(&fx);
}

/* Whether an object has a resourceVersion is the store's question: everything else comes first. */
TEST(create, a_revision_is_refused_by_the_store_alone)
{
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do(&fx, 201, "POST", CONFIGMAPS "?dryRun=All",
                    "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}"),
              "metadata.resourceVersion", "7");
    assert_at(fx_do(&fx, 422, "POST", CONFIGMAPS,
                    "{\"metadata\":{\"name\":\"A\",\"resourceVersion\":\"7\"}}"),
              "reason", "Invalid");
    fx_do(&fx, 404, "POST", "/api/v1/namespaces/nope/configmaps",
          "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}");
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 500, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}");
    fx_do(&fx, 409, "POST", CONFIGMAPS "?dryRun=All",
          "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}");
    fx_close(&fx);
}

/* Contract types 2.1.2, 2.1.4, 2.1.5. The look that upstream's decoder takes at the type of a body.
 */
TEST(create, finds_the_type_of_a_body_as_upstream_does)
{
    static const struct {
        const char *body, *message; /* NULL: it is created */
    } bodies[] = {
        {"{\"apiVersion\":\"/\",\"metadata\":{\"name\":\"a\"}}", NULL},
        {"{\"Kind\":\"ConfigMap\",\"metadata\":{\"name\":\"b\"}}", NULL},
        {"{\"KIND\":\"Pod\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"c\"}}", NULL},
        {"{\"apiVersion\":\"x/\",\"metadata\":{\"name\":\"d\"}}",
         "ConfigMap in version \"\" cannot be handled as a ConfigMap: Object 'apiVersion' is missing "
         "in '{\"apiVersion\":\"x/\",\"metadata\":{\"name\":\"d\"}}'"},
        {"{\"kind\":\"ConfigMap\",\"Kind\":\"Pod\",\"metadata\":{\"name\":\"d\"}}",
         "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to "
         "(core.ConfigMap): unknown conversion"},
        {"{\"\xe2\x84\xaaind\":5,\"metadata\":{\"name\":\"d\"}}",
         "the object provided is unrecognized (must be of type ConfigMap): couldn't get "
         "version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind "
         "of type string ({\"\xe2\x84\xaaind\":5,\"metadata\":{\"name\" ...)"},
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(bodies); i++) {
        const char *answer =
            fx_do(&fx, bodies[i].message ? 400 : 201, "POST", CONFIGMAPS, bodies[i].body);

        if (bodies[i].message)
            assert_at(answer, "message", bodies[i].message);
    }
    assert_at(fx_do(&fx, 201, "POST", "/apis/apps/v1/namespaces/default/deployments",
                    "{\"apiVersion\":\"apps/\",\"metadata\":{\"name\":\"d\"},\"spec\":{" FX_WORKLOAD
                    "}}"),
              "apiVersion", "apps/v1");
    fx_close(&fx);
}

TEST(create, text_that_is_no_utf8_is_replaced)
{
    struct fx fx;
    const char *cm;

    open_ready(&fx);
    cm =
        fx_do(&fx, 201, "POST", CONFIGMAPS,
              "{\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":\"1\",\"k\":\"x\xff\",\"a\":\"2\"}}");
    assert_at(cm, "data.k", "x\xef\xbf\xbd");
    assert_at(cm, "data.a", "2");
    fx_do(&fx, 400, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\"}\xff}");
    cm = fx_do(&fx, 200, "PATCH", CONFIGMAPS "/a", "{\"data\":{\"k\":\"y\xff\"}}");
    assert_at(cm, "data.k", "y\xef\xbf\xbd");
    fx_close(&fx);
}

TEST(create, text_that_is_no_utf8_is_no_mistake_without_memory)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct fx fx;

    open_ready(&fx);
    fx_fail_each_alloc(&fx, "POST", CONFIGMAPS "?dryRun=All",
                       "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"\xff\"}}", NULL);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_fail_each_alloc(&fx, "PATCH", CONFIGMAPS "/a?dryRun=All", "{\"data\":{\"k\":\"\xff\"}}",
                       &merge);
    fx_close(&fx);
}

TEST(create, many_nested_mistakes_in_a_schema_are_a_bad_request)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1u << 20};
    const char *status;
    struct fx fx;

    assert_int_equal(cor_buf_addz(&body,
                                  "{\"metadata\":{\"name\":\"as.x.io\"},\"spec\":{\"versions\":[{"
                                  "\"schema\":{\"openAPIV3Schema\":"),
                     0);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(cor_buf_addf(&body, "{\"minLength\":1.%01000zu,\"items\":", i), 0);
    assert_int_equal(cor_buf_addz(&body, "{\"minLength\":true}"), 0);
    for (size_t i = 0; i < 200; i++)
        assert_int_equal(cor_buf_addc(&body, '}'), 0);
    assert_int_equal(cor_buf_addz(&body, "}}]}}"), 0);
    open_ready(&fx);
    status = fx_do(&fx, 400, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                   cor_buf_z(&body));
    assert_non_null(strstr(status, "json: cannot unmarshal bool into Go struct field "));
    fx_close(&fx);
}

/* The answers are those of kube-apiserver 1.34.1. */
TEST(create, a_pod_may_request_more_memory_than_an_int64_holds)
{
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    pod =
        fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/pods?dryRun=All",
              "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"resources\":{\"limits\":{\"cpu\":\"1\"}},"
              "\"containers\":[{\"name\":\"a\",\"image\":\"x\",\"resources\":{\"requests\":{"
              "\"memory\":\"1Ki\"}}},{\"name\":\"b\",\"image\":\"x\",\"resources\":{\"requests\":{"
              "\"memory\":\"100000000000000000000\"}}}]}}");
    assert_at(pod, "spec.resources.requests.memory", "9223372036854775807");
    pod =
        fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/pods?dryRun=All",
              "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"resources\":{\"limits\":{\"cpu\":\"1\"}},"
              "\"containers\":[{\"name\":\"a\",\"image\":\"x\",\"resources\":{\"requests\":{"
              "\"memory\":\"8Ei\"}}},{\"name\":\"b\",\"image\":\"x\",\"resources\":{\"requests\":{"
              "\"memory\":\"8Ei\"}}},{\"name\":\"c\",\"image\":\"x\",\"resources\":{\"requests\":{"
              "\"memory\":\"8Ei\"}}}]}}");
    assert_at(pod, "spec.resources.requests.memory", "27670116110564327421");
    fx_close(&fx);
}

TEST(create, repeated_fields_are_a_warning_or_an_error)
{
    static const char body[] = "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"1\",\"k\":\"2\"}}";
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do(&fx, 400, "POST", CONFIGMAPS "?fieldValidation=Strict", body), "message",
              "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
              "error: duplicate field \"data.k\"");
    {
        FX_CALL call;

        fx_start(&fx, &call, "POST", CONFIGMAPS, body, NULL);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 201);
        assert_str(sink_header(&call.sink, "Warning"), "299 - \"duplicate field \\\"data.k\\\"\"");
        assert_str(sink_header(&call.sink, "Content-Type"), "application/json");
        assert_str(sink_header(&call.sink, "Cache-Control"), "no-cache, private");
        assert_int_equal(sink_header(&call.sink, "Audit-Id").n, 36);
    }
    assert_at(fx_do(&fx, 422, "POST", CONFIGMAPS "?fieldValidation=Maybe", body), "message",
              "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: "
              "\"Maybe\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"");
    fx_close(&fx);
}

/* Contract types 2.2.5, 2.2.7. A server that took the last text would have no containers. */
TEST(create, repeated_structs_are_merged_as_gos_decoder_merges_them)
{
    static const char body[] =
        "{\"metadata\":{\"name\":\"a\",\"labels\":{\"a\":\"b\"}},\"metadata\":{\"labels\":{\"c\":"
        "\"d\"}},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},\"spec\":{\"nodeName\":"
        "\"n\",\"containers\":[{\"image\":\"j\"}]}}";
    static const char *const modes[] = {"Warn", "Ignore"};
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(modes); i++) {
        char path[128];
        const char *pod;

        (void)snprintf(path, sizeof(path),
                       "/api/v1/namespaces/default/pods?dryRun=All&fieldValidation=%s", modes[i]);
        pod = fx_do(&fx, 201, "POST", path, body);
        assert_at(pod, "metadata.name", "a");
        assert_at(pod, "metadata.labels", "{\"a\":\"b\",\"c\":\"d\"}");
        assert_at(pod, "spec.nodeName", "n");
        assert_at(pod, "spec.containers[0].name", "c");
        assert_at(pod, "spec.containers[0].image", "j");
    }
    fx_fail_each_alloc(&fx, "POST", "/api/v1/namespaces/default/pods?dryRun=All", body, NULL);
    fx_close(&fx);
}

TEST(create, a_namespace_begins_active_with_its_finalizer_and_label)
{
    struct fx fx;
    const char *ns;

    open_ready(&fx);
    ns = fx_do(&fx, 201, "POST", "/api/v1/namespaces",
               "{\"metadata\":{\"name\":\"team\",\"labels\":{\"a\":\"b\"}}}");
    assert_at(ns, "metadata.labels", "{\"a\":\"b\",\"kubernetes.io/metadata.name\":\"team\"}");
    assert_at(ns, "spec.finalizers", "[\"kubernetes\"]");
    assert_at(ns, "status.phase", "Active");
    fx_do(&fx, 200, "DELETE", "/api/v1/namespaces/team", "");
    ns = fx_do(&fx, 403, "POST", "/api/v1/namespaces/team/configmaps",
               "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(ns, "reason", "Forbidden");
    assert_at(ns, "details.causes",
              "[{\"reason\":\"NamespaceTerminating\",\"message\":\"namespace team is being "
              "terminated\",\"field\":\"metadata.namespace\"}]");
    fx_close(&fx);
}

static size_t nwrites;

/* A store in which every name is taken. */
static void refuse_creates(struct cor_engine *engine, struct cor_engine_req *req)
{
    nwrites++;
    cor_engine_req_fail(req, -COR_ECONFLICT, NULL);
}

/* Clients try again only when they are told to wait. */
TEST(create, a_name_that_could_not_be_generated_may_be_tried_again)
{
    struct cor_engine_ops ops;
    const struct cor_engine_ops *own;
    const char *body;
    struct fx fx;
    FX_CALL call;

    open_ready(&fx);
    own = fx.engine->ops;
    ops = *own;
    ops.submit = refuse_creates;
    fx.engine->ops = &ops;
    nwrites = 0;
    fx_start(&fx, &call, "POST", CONFIGMAPS, "{\"metadata\":{\"generateName\":\"web-\"}}", NULL);
    fx_wait(&call);
    fx.engine->ops = own;
    assert_int_equal(nwrites, 8);
    assert_int_equal(call.sink.status, 409);
    assert_str(sink_header(&call.sink, "Retry-After"), "1");
    body = cor_buf_z(&call.sink.body);
    assert_at(body, "reason", "AlreadyExists");
    assert_at(body, "details.retryAfterSeconds", "1");
    assert_at(body, "details.kind", "configmaps");
    assert_memory_equal(fx_at(body, "details.name"), "web-", 4);
    assert_non_null(strstr(fx_at(body, "message"),
                           "\" already exists, the server was not able to generate a unique name "
                           "for the object"));
    fx_call_deinit(&call);
    call = (struct fx_call){0};
    fx_close(&fx);
}

TEST(create, a_field_manager_may_have_spaces)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS "?fieldManager=my%20tool",
          "{\"metadata\":{\"name\":\"a\"}}");
    fx_close(&fx);
}

/* A value that there was no memory to read must not pass for one that was not given. */
TEST(create, a_dry_run_that_cannot_be_read_writes_nothing)
{
    struct fx fx;

    open_ready(&fx);
    fx_fail_each_alloc(&fx, "POST", CONFIGMAPS "?dryRun=Some&dryRun=All",
                       "{\"metadata\":{\"name\":\"a\"}}", NULL);
    fx_fail_each_alloc(&fx, "POST", CONFIGMAPS "?dryRun=All", "{\"metadata\":{\"name\":\"a\"}}",
                       NULL);
    fx_do(&fx, 404, "GET", CONFIGMAPS "/a", "");
    fx_close(&fx);
}

TEST(create, of_a_job_survives_every_failed_allocation)
{
    static const char body[] =
        "{\"metadata\":{\"name\":\"j\"},\"spec\":{\"template\":{\"spec\":{\"containers\":"
        "[{\"image\":\"i\",\"name\":\"c\"}],\"restartPolicy\":\"Never\"}}}}";
    struct fx fx;

    open_ready(&fx);
    fx_fail_each_alloc(&fx, "POST", JOBS "?dryRun=All", body, NULL);
    fx_do(&fx, 404, "GET", JOBS "/j", "");
    fx_close(&fx);
}

TEST(create, survives_every_failed_allocation)
{
    struct fx fx;
    size_t created = 0;

    open_ready(&fx);
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&fx, &call, "POST", CONFIGMAPS,
                 "{\"metadata\":{\"generateName\":\"a-\",\"labels\":{\"x\":\"y\"}},"
                 "\"data\":{\"k\":\"1\",\"k\":\"2\"}}",
                 NULL);
        fx_wait(&call);
        test_fail_alloc(0, false);
        assert_true(call.is_bare || call.sink.is_aborted || call.sink.status == 201 ||
                    call.sink.status == 500);
        created += call.sink.status == 201;
        if (call.sink.status == 201) {
            const char *answer = cor_buf_z(&call.sink.body);
            char target[256];

            assert_at(answer, "metadata.labels", "{\"x\":\"y\"}");
            assert_at(answer, "data", "{\"k\":\"2\"}");
            snprintf(target, sizeof(target), CONFIGMAPS "/%s", fx_at(answer, "metadata.name"));
            assert_at(fx_do(&fx, 200, "GET", target, ""), "metadata.resourceVersion",
                      fx_at(answer, "metadata.resourceVersion"));
        }
        if (call.sink.status == 201)
            break;
    }
    test_fail_alloc(0, false);
    assert_true(created >= 1);
    fx_close(&fx);
}

static void expect_inert(struct fx *fx, const char *method, const char *target, const char *body,
                         const char *warning)
{
    struct fx_headers headers = {.content_type = strcmp(method, "PATCH") == 0
                                                     ? "application/merge-patch+json"
                                                     : "application/json"};
    FX_CALL call;

    fx_start(fx, &call, method, target, body, &headers);
    fx_wait(&call);
    assert_int_equal(call.sink.status / 100, 2);
    assert_str(sink_header(&call.sink, "Warning"), warning);
}

static void expect_no_warning(struct fx *fx, int status, const char *method, const char *target,
                              const char *body)
{
    FX_CALL call;

    fx_start(fx, &call, method, target, body, NULL);
    fx_wait(&call);
    assert_int_equal(call.sink.status, status);
    assert_int_equal(sink_header(&call.sink, "Warning").n, 0);
}

/* What kube-apiserver itself acts on, and this server only keeps. */
TEST(create, objects_that_are_stored_and_do_nothing_come_with_a_warning)
{
    static const struct {
        const char *path, *kind, *lacks;
        const char *members; /* what the kind needs beside its metadata; NULL: nothing */
    } rows[] = {
        {"/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
         "MutatingWebhookConfiguration", "webhooks are not called"},
        {"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
         "ValidatingWebhookConfiguration", "webhooks are not called"},
        {"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
         "ValidatingAdmissionPolicy", "admission policies are not evaluated",
         ",\"spec\":{\"matchConstraints\":{\"resourceRules\":[{\"operations\":[\"*\"],"
         "\"apiGroups\":[\"*\"],\"apiVersions\":[\"*\"],\"resources\":[\"*\"]}]},"
         "\"validations\":[{\"expression\":\"true\"}]}"},
        {"/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
         "ValidatingAdmissionPolicyBinding", "admission policies are not evaluated",
         ",\"spec\":{\"policyName\":\"x\",\"validationActions\":[\"Deny\"]}"},
        {"/apis/rbac.authorization.k8s.io/v1/clusterroles", "ClusterRole",
         "roles are not evaluated"},
        {"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", "ClusterRoleBinding",
         "roles are not evaluated", ROLE_REF},
        {"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", "Role",
         "roles are not evaluated"},
        {"/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings", "RoleBinding",
         "roles are not evaluated", ROLE_REF},
        {"/api/v1/namespaces/default/resourcequotas", "ResourceQuota", "quotas are not enforced"},
        {"/api/v1/namespaces/default/limitranges", "LimitRange", "limits are not enforced"},
    };
    const struct cor_resource_row *resources;
    size_t n, inert = 0;
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const char *made;
        char warning[256], target[256], body[512];

        snprintf(warning, sizeof(warning),
                 "299 - \"%s is stored but has no effect on this server: %s\"", rows[i].kind,
                 rows[i].lacks);
        snprintf(target, sizeof(target), "%s/x", rows[i].path);
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"x\"}%s}",
                 rows[i].members ? rows[i].members : "");
        expect_inert(&fx, "POST", rows[i].path, body, warning);
        expect_inert(&fx, "PATCH", target, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}", warning);
        made = fx_do(&fx, 200, "GET", target, "");
        expect_inert(&fx, "PUT", target, made, warning);
        /* What was refused is not stored. */
        expect_no_warning(&fx, 409, "POST", rows[i].path, body);
        expect_no_warning(&fx, 422, "POST", rows[i].path, "{\"metadata\":{\"name\":\"x/y\"}}");
        expect_no_warning(&fx, 400, "POST", rows[i].path, "{");
    }
    resources = cor_api_builtins(&n);
    for (size_t i = 0; i < n; i++)
        inert += resources[i].inert != NULL;
    assert_int_equal(inert, COR_ARRAY_LEN(rows));
    fx_close(&fx);
}
