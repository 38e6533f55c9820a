/* APIServices as living objects: what a server registers itself, what it leaves alone, and the
 * condition Available of remote ones. Numbers are lines of contract extension. */
#include <stdio.h>

#include "../crd/crd_fixture.h"
#include "recording_target.h"
#include "server/aggregation/api_services_int.h"
#include "server/aggregation/target.h"
#include "server/api/api_loop.h"

#define SERVICES     "/apis/apiregistration.k8s.io/v1/apiservices"
#define NBUILTINS    21
#define MERGE        (&(struct fx_headers){.content_type = "application/merge-patch+json"})
#define WARDLE_AS(v) SERVICES "/" v ".wardle.example.com"
#define REMOTE(version, more)                                                                      \
    "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\",\"metadata\":{"         \
    "\"name\":\"" version ".wardle.example.com\"},\"spec\":{\"group\":\"wardle.example.com\","     \
    "\"version\":\"" version "\",\"groupPriorityMinimum\":2000,\"versionPriority\":200,"           \
    "\"insecureSkipTLSVerify\":true,\"service\":{\"namespace\":\"wardle\",\"name\":\"api\"" more   \
    "}}}"

struct as_fx {
    struct crd_fx c;
    struct cor_api_services *as;
    struct cor_target_config config;
    struct target_ids ids;
    struct recording rec;
    bool is_stopped, has_target;
};

static bool are_registered(void *arg)
{
    struct as_fx *a = arg;

    return cor_api_services_are_published(a->as) && cor_api_services_are_registered(a->as);
}

static void as_fx_start(struct as_fx *a)
{
    const struct cor_api_services_opts opts = {.api = a->c.fx.api, .config = &a->config};

    a->is_stopped = false;
    assert_int_equal(cor_api_services_new(&opts, &a->as, NULL), 0);
    assert_false(cor_api_services_are_registered(a->as));
    assert_int_equal(cor_api_services_start(a->as, NULL), 0);
    assert_true(cor_loop_run_until(a->c.fx.loop, are_registered, a, FX_TIMEOUT_MS));
}

static void as_fx_stop(struct as_fx *a)
{
    cor_api_services_stop(a->as, FX_TIMEOUT_MS, on_stopped, &a->is_stopped);
    assert_true(cor_loop_run_until(a->c.fx.loop, is_set, &a->is_stopped, FX_TIMEOUT_MS));
    cor_api_services_free(a->as);
}

static void as_fx_open(struct as_fx *a, bool has_caches)
{
    crd_fx_open(&a->c, has_caches);
    as_fx_start(a);
}

/* With a server behind the service `api` in `wardle`. */
static void as_fx_open_with_target(struct as_fx *a)
{
    char text[64];

    crd_fx_open(&a->c, true);
    a->has_target = true;
    target_ids_init(&a->ids);
    recording_open(&a->rec, a->c.fx.loop, &a->ids, true);
    snprintf(text, sizeof(text), "api.wardle=127.0.0.1:%u", a->rec.port);
    assert_int_equal(cor_resolve_overrides_add(&a->config.overrides, cor_strz(text), NULL), 0);
    a->config.cert_file = a->ids.cert_file;
    a->config.key_file = a->ids.key_file;
    as_fx_start(a);
}

static void as_fx_close(struct as_fx *a)
{
    as_fx_stop(a);
    if (a->has_target) {
        recording_close(&a->rec);
        target_ids_deinit(&a->ids);
    }
    cor_resolve_overrides_deinit(&a->config.overrides);
    crd_fx_close(&a->c);
}

/* What a client sees of all APIServices, resourceVersions included. */
static const char *items(struct as_fx *a)
{
    return strstr(fx_do(&a->c.fx, 200, "GET", SERVICES, ""), "\"items\"");
}

/* Waits until the condition is this one. */
static void await_available(struct as_fx *a, const char *target, const char *expected)
{
    const char *now = "";

    for (uint64_t end = cor_loop_now_ms(a->c.fx.loop) + FX_TIMEOUT_MS;
         strcmp(now, expected) != 0 && cor_loop_now_ms(a->c.fx.loop) < end;) {
        (void)cor_loop_run_until(a->c.fx.loop, is_set, &a->is_stopped, 1);
        now = condition(fx_do(&a->c.fx, 200, "GET", target, ""), "Available");
    }
    assert_string_equal(now, expected);
}

/* Contract extension 4.1.4, 4.2.1, 4.2.4, 4.2.6, 4.3.1. */
TEST(api_services, registers_what_is_built_in_once)
{
    struct as_fx a = {0};
    char before[64 * 1024];
    const char *doc;

    as_fx_open(&a, true);
    doc = fx_do(&a.c.fx, 200, "GET", SERVICES, "");
    assert_at(doc, "items[20].metadata.name", "v2.autoscaling");
    assert_at(doc, "items[21].metadata.name", "");
    doc = fx_do(&a.c.fx, 200, "GET", SERVICES "/v1.apps", "");
    assert_non_null(strstr(doc, "\"labels\":{\"kube-aggregator.kubernetes.io/automanaged\":"
                                "\"onstart\"}"));
    assert_non_null(strstr(doc, "\"spec\":{\"group\":\"apps\",\"groupPriorityMinimum\":17800,"
                                "\"version\":\"v1\",\"versionPriority\":15}"));
    assert_string_equal(condition(doc, "Available"),
                        "True Local: Local APIServices are always available");
    doc = fx_do(&a.c.fx, 200, "GET", SERVICES "/v1.", "");
    assert_non_null(strstr(doc, "\"spec\":{\"groupPriorityMinimum\":18000,\"version\":\"v1\","
                                "\"versionPriority\":1}"));
    /* The next start writes nothing. */
    snprintf(before, sizeof(before), "%s", items(&a));
    as_fx_stop(&a);
    as_fx_start(&a);
    assert_string_equal(items(&a), before);
    /* A user may delete one: it is served, and not listed. */
    fx_do(&a.c.fx, 200, "DELETE", SERVICES "/v1.batch", "");
    await(&a.c, SERVICES "/v1.batch", NULL, NULL);
    while (strstr(fx_do(&a.c.fx, 200, "GET", "/apis", ""), "\"batch\""))
        (void)cor_loop_run_until(a.c.fx.loop, is_set, &a.is_stopped, 1);
    fx_do(&a.c.fx, 200, "GET", "/apis/batch/v1", "");
    fx_do(&a.c.fx, 404, "GET", SERVICES "/v1.batch", "");
    /* What is changed, or labelled and unknown, is put right by the next start. */
    fx_do_with(&a.c.fx, 200, "PATCH", SERVICES "/v1.policy", "{\"spec\":{\"versionPriority\":7}}",
               MERGE);
    fx_do(&a.c.fx, 201, "POST", SERVICES,
          "{\"metadata\":{\"name\":\"v1.old.io\",\"labels\":{"
          "\"kube-aggregator.kubernetes.io/automanaged\":\"onstart\"}},\"spec\":{\"group\":"
          "\"old.io\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9}}");
    assert_at(fx_do(&a.c.fx, 200, "GET", SERVICES "/v1.old.io", ""), "spec.group", "old.io");
    as_fx_stop(&a);
    as_fx_start(&a);
    await(&a.c, SERVICES "/v1.policy", "spec.versionPriority", "15");
    await(&a.c, SERVICES "/v1.old.io", NULL, NULL);
    fx_do(&a.c.fx, 200, "GET", SERVICES "/v1.batch", "");
    as_fx_close(&a);
}

/* Contract extension 4.2.2, case 40; Contract crd 2.5.1. */
TEST(api_services, registers_custom_resources_while_they_are_served)
{
    static const char path[] = SERVICES "/v1.shop.example.org";
    struct as_fx a = {0};
    char uid[64];
    const char *doc;

    as_fx_open(&a, true);
    define(&a.c, KETTLE_CRD(ANY));
    doc = await(&a.c, path, "spec.groupPriorityMinimum", "1000");
    assert_at(doc, "spec.versionPriority", "100");
    assert_non_null(strstr(doc, "\"kube-aggregator.kubernetes.io/automanaged\":\"true\""));
    snprintf(uid, sizeof(uid), "%s", fx_at(doc, "metadata.uid"));
    /* It is made again, and changed back. */
    fx_do(&a.c.fx, 200, "DELETE", path, "");
    doc = await(&a.c, path, "spec.groupPriorityMinimum", "1000");
    assert_string_not_equal(fx_at(doc, "metadata.uid"), uid);
    fx_do_with(&a.c.fx, 200, "PATCH", path, "{\"spec\":{\"versionPriority\":7}}", MERGE);
    await(&a.c, path, "spec.versionPriority", "100");
    /* It survives a start, and goes with its definition. */
    as_fx_stop(&a);
    as_fx_start(&a);
    fx_do(&a.c.fx, 200, "GET", path, "");
    fx_do(&a.c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
    await(&a.c, path, NULL, NULL);
    /* One that comes back at once has its APIService, whichever change is seen first. */
    for (int i = 0; i < 5; i++) {
        define(&a.c, KETTLE_CRD(ANY));
        fx_do(&a.c.fx, 200, "DELETE", CRDS "/kettles.shop.example.org", "");
        await(&a.c, CRDS "/kettles.shop.example.org", NULL, NULL);
    }
    define(&a.c, KETTLE_CRD(ANY));
    await(&a.c, path, "spec.groupPriorityMinimum", "1000");
    as_fx_close(&a);
}

/* Contract extension 4.2.3. */
TEST(api_services, leaves_those_of_users_alone)
{
    static const char path[] = SERVICES "/v1.shop.example.org";
    struct as_fx a = {0};

    as_fx_open(&a, true);
    fx_do(
        &a.c.fx, 201, "POST", SERVICES,
        "{\"metadata\":{\"name\":\"v1.shop.example.org\"},\"spec\":{\"group\":"
        "\"shop.example.org\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9,"
        "\"service\":{\"namespace\":\"a\",\"name\":\"b\"}}}");
    define(&a.c, KETTLE_CRD(ANY));
    await_available(&a, path, "False ServiceNotFound: service/b in \"a\" is not present");
    assert_at(fx_do(&a.c.fx, 200, "GET", path, ""), "spec.versionPriority", "9");
    /* The remote server answers for it: the rows are hidden. */
    assert_non_null(cor_served_service(cor_api_home(a.c.fx.api)->served,
                                       COR_STR("shop.example.org"), COR_STR("v1")));
    assert_null(cor_served_find(cor_api_home(a.c.fx.api)->served, COR_STR("shop.example.org"),
                                COR_STR("v1"), COR_STR("kettles"), NULL));
    /* When the user takes it away, the automatic one comes and the custom resource is served. */
    fx_do(&a.c.fx, 200, "DELETE", path, "");
    await(&a.c, path, "spec.versionPriority", "100");
    await(&a.c, KETTLES, "kind", "KettleList");
    as_fx_close(&a);
}

static bool is_gone(void *arg)
{
    return !cor_api_services_find(((struct as_fx *)arg)->as, COR_STR("v1.wardle.example.com"));
}

/* Writes of the condition and deletions cross: the group would be passed on for ever. */
TEST(api_services, an_answer_brings_nothing_back_that_was_deleted)
{
    struct cor_object *written;
    struct as_fx a = {0};

    as_fx_open(&a, true);
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("v1", ""));
    await_available(&a, WARDLE_AS("v1"),
                    "False ServiceNotFound: service/api in \"wardle\" is not present");
    assert_false(is_gone(&a));
    written = cor_object_ref(cor_api_services_find(a.as, COR_STR("v1.wardle.example.com"))->object);
    fx_do(&a.c.fx, 200, "DELETE", WARDLE_AS("v1"), "");
    assert_true(cor_loop_run_until(a.c.fx.loop, is_gone, &a, FX_TIMEOUT_MS));
    assert_int_equal(cor_api_services_take_answer(a.as, written), 0);
    assert_true(is_gone(&a));
    cor_object_unref(written);
    as_fx_close(&a);
}

#define SLICES "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices"

/* Contract extension 4.3.2, 4.3.4, 4.3.5, cases 33 and 34: each check in its order. */
static void check_verdicts(bool has_caches)
{
    struct as_fx a = {0};

    as_fx_open(&a, has_caches);
    fx_do(&a.c.fx, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"wardle\"}}");
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("v1alpha1", ""));
    await_available(&a, WARDLE_AS("v1alpha1"),
                    "False ServiceNotFound: service/api in \"wardle\" is not present");
    fx_do(
        &a.c.fx, 201, "POST", "/api/v1/namespaces/wardle/services",
        "{\"metadata\":{\"name\":\"api\"},\"spec\":{\"clusterIP\":\"None\",\"clusterIPs\":[\"None\"],\"ports\":[{\"name\":"
        "\"https\",\"port\":444}]}}");
    await_available(
        &a, WARDLE_AS("v1alpha1"),
        "False ServicePortError: service/api in \"wardle\" is not listening on port 443");
    fx_do_with(&a.c.fx, 200, "PATCH", "/api/v1/namespaces/wardle/services/api",
               "{\"spec\":{\"ports\":[{\"name\":\"https\",\"port\":443}]}}", MERGE);
    await_available(
        &a, WARDLE_AS("v1alpha1"),
        "False EndpointsNotFound: cannot find endpointslices for service/api in \"wardle\"");
    fx_do(&a.c.fx, 201, "POST", SLICES,
          "{\"metadata\":{\"name\":\"api-1\",\"labels\":{\"kubernetes.io/service-name\":\"api\"}},"
          "\"addressType\":\"IPv4\",\"ports\":[{\"name\":\"https\",\"port\":443}],\"endpoints\":[{"
          "\"addresses\":[\"10.1.2.3\"],\"conditions\":{\"ready\":false}}]}");
    await_available(&a, WARDLE_AS("v1alpha1"),
                    "False MissingEndpoints: endpointslices for service/api in \"wardle\" have no "
                    "addresses with port name \"https\"");
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("v1", ",\"port\":9"));
    await_available(&a, WARDLE_AS("v1"),
                    "False ServicePortError: service/api in \"wardle\" is not listening on port 9");
    /* Endpoints do not count for an ExternalName: it is probed. */
    fx_do(&a.c.fx, 200, "DELETE", "/api/v1/namespaces/wardle/services/api", "");
    fx_do(&a.c.fx, 201, "POST", "/api/v1/namespaces/wardle/services",
          "{\"metadata\":{\"name\":\"api\"},\"spec\":{\"type\":\"ExternalName\","
          "\"externalName\":\"localhost\"}}");
    await(&a.c, WARDLE_AS("v1"), "status.conditions[0].reason", "FailedDiscoveryCheck");
    as_fx_close(&a);
}

TEST(api_services, judges_remote_services_by_their_service_and_slices)
{
    check_verdicts(false);
    check_verdicts(true);
}

/* Contract extension 4.3.3. */
TEST(api_services, probes_remote_services_as_the_aggregator)
{
    struct as_fx a = {0};
    char expected[512], since[64];
    const char *doc;

    as_fx_open_with_target(&a);
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("v1alpha1", ""));
    await_available(&a, WARDLE_AS("v1alpha1"), "True Passed: all checks passed");
    assert_true(a.rec.nrequests >= 5);
    assert_true(recording_saw(&a.rec, "GET /apis/wardle.example.com/v1alpha1\n"));
    assert_true(recording_saw(&a.rec, "x-remote-user: system:kube-aggregator\n"));
    assert_true(recording_saw(&a.rec, "x-remote-group: system:masters\n"));
    assert_string_equal(a.rec.client_cn, "front-proxy-client");
    /* The availability is that of the published service, without another snapshot. */
    assert_true(cor_api_service_is_available(cor_served_service(
        cor_api_home(a.c.fx.api)->served, COR_STR("wardle.example.com"), COR_STR("v1alpha1"))));
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("teapot", ""));
    snprintf(expected, sizeof(expected),
             "False FailedDiscoveryCheck: failing or missing response from "
             "https://127.0.0.1:%u/apis/wardle.example.com/teapot: bad status from "
             "https://127.0.0.1:%u/apis/wardle.example.com/teapot: 418",
             a.rec.port, a.rec.port);
    await_available(&a, WARDLE_AS("teapot"), expected);
    /* A service that hangs holds up no other, and no stop. */
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("hang", ""));
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("v1", ""));
    await_available(&a, WARDLE_AS("v1"), "True Passed: all checks passed");
    assert_string_equal(condition(fx_do(&a.c.fx, 200, "GET", WARDLE_AS("hang"), ""), "Available"),
                        "none");
    /* lastTransitionTime stays while the status does: a change of the message does not move it. */
    doc = fx_do(&a.c.fx, 200, "GET", WARDLE_AS("teapot"), "");
    snprintf(since, sizeof(since), "%s", fx_at(doc, "status.conditions[0].lastTransitionTime"));
    fx_do_with(&a.c.fx, 200, "PATCH", WARDLE_AS("teapot") "/status",
               "{\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"False\","
               "\"lastTransitionTime\":\"2020-01-01T00:00:00Z\",\"reason\":\"x\",\"message\":"
               "\"y\"},{\"type\":\"Other\",\"status\":\"True\",\"lastTransitionTime\":"
               "\"2020-01-01T00:00:00Z\"}]}}",
               MERGE);
    await_available(&a, WARDLE_AS("teapot"), expected);
    doc = fx_do(&a.c.fx, 200, "GET", WARDLE_AS("teapot"), "");
    assert_at(doc, "status.conditions[0].lastTransitionTime", "2020-01-01T00:00:00Z");
    assert_at(doc, "status.conditions[1].type", "Other");
    as_fx_close(&a);
}

/* While the circuit of a service is open its versions keep what was found out about them. */
TEST(api_services, an_open_circuit_is_no_verdict)
{
    struct as_fx a = {0};
    bool never = false;
    char expected[512];

    as_fx_open_with_target(&a);
    recording_close(&a.rec);
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("v1", ""));
    snprintf(expected, sizeof(expected),
             "False FailedDiscoveryCheck: failing or missing response from "
             "https://127.0.0.1:%u/apis/wardle.example.com/v1: Get "
             "\"https://127.0.0.1:%u/apis/wardle.example.com/v1\": dial tcp 127.0.0.1:%u: connect: "
             "connection refused",
             a.rec.port, a.rec.port, a.rec.port);
    await_available(&a, WARDLE_AS("v1"), expected);
    for (int i = 0; i < 20; i++) {
        (void)cor_loop_run_until(a.c.fx.loop, is_set, &never, 10);
        assert_string_equal(condition(fx_do(&a.c.fx, 200, "GET", WARDLE_AS("v1"), ""), "Available"),
                            expected);
    }
    recording_open(&a.rec, a.c.fx.loop, &a.ids, true);
    await_available(&a, WARDLE_AS("v1"), "True Passed: all checks passed");
    as_fx_close(&a);
}

/* Contract extension 4.1.1, 4.1.2, 4.1.3, case 36. */
TEST(api_services, refuses_what_registers_nothing)
{
    static const struct {
        const char *name, *spec, *says;
    } rows[] = {
        {"v1.foo",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9",
         "must be `spec.version+\\\".\\\"+spec.group`: \\\"v1.bar\\\""},
        {"v2.", "\"version\":\"v2\",\"groupPriorityMinimum\":9,\"versionPriority\":9",
         "only v1 may have an empty group and it better be legacy kube"},
        {"v1.bar",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":20001,\"versionPriority\":9",
         "must be positive and less than 20000"},
        {"v1.bar",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":1001",
         "must be positive and less than 1000"},
        {"v1.bar",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9,\"caBundle\":\"YQ==\"",
         "local APIServices may not have a caBundle"},
        {"v1.bar",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9,\"insecureSkipTLSVerify\":true",
         "local APIServices may not have insecureSkipTLSVerify"},
        {"v1.bar",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9,\"service\":{\"namespace\":\"a\"}",
         "spec.service.name: Required value"},
        {"v1.bar",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9,\"service\":{\"namespace\":\"a\",\"name\":\"b\",\"port\":65536}",
         "port is not valid: must be between 1 and 65535, inclusive"},
        {"v1.bar",
         "\"group\":\"bar\",\"version\":\"v1\",\"groupPriorityMinimum\":9,\"versionPriority\":9,\"insecureSkipTLSVerify\":true,\"caBundle\":\"YQ==\",\"service\":{\"namespace\":\"a\",\"name\":\"b\"}",
         "may not be true if caBundle is present"},
    };
    struct as_fx a = {0};

    as_fx_open(&a, true);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        const char *answer;
        char body[512];

        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"},\"spec\":{%s}}", rows[i].name,
                 rows[i].spec);
        answer = fx_do(&a.c.fx, 422, "POST", SERVICES, body);
        if (!strstr(answer, rows[i].says))
            fail_msg("%s is not in %s", rows[i].says, answer);
    }
    as_fx_close(&a);
}

TEST(api_services, is_made_whole_or_not_at_all_without_memory)
{
    struct crd_fx c = {0};

    crd_fx_open(&c, false);
    FOR_EACH_FAILED_ALLOC(n) {
        static const struct cor_target_config config;
        const struct cor_api_services_opts opts = {.api = c.fx.api, .config = &config};
        struct cor_api_services *as;
        int r = cor_api_services_new(&opts, &as, NULL);

        if (r < 0)
            assert_int_equal(r, -COR_ENOMEM);
        else
            cor_api_services_free(as);
    }
    crd_fx_close(&c);
}

static bool are_registered_or_failed(void *arg)
{
    return test_alloc_failed() || are_registered(arg);
}

/* After a failed allocation it is stopped in whatever it does, and the next one finishes. */
TEST(api_services, stops_after_any_failed_allocation)
{
    struct as_fx a = {0};

    as_fx_open(&a, false);
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("v1alpha1", ""));
    as_fx_stop(&a);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_api_services_opts opts = {.api = a.c.fx.api, .config = &a.config};
        int r = cor_api_services_new(&opts, &a.as, NULL);

        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            continue;
        }
        a.is_stopped = false;
        r = cor_api_services_start(a.as, NULL);
        if (r == 0)
            assert_true(
                cor_loop_run_until(a.c.fx.loop, are_registered_or_failed, &a, FX_TIMEOUT_MS));
        else
            assert_int_equal(r, -COR_ENOMEM);
        as_fx_stop(&a);
    }
    as_fx_start(&a);
    as_fx_close(&a);
}

struct probed {
    struct as_fx *a;
    size_t nbefore;
};

static bool is_probed(void *arg)
{
    const struct probed *p = arg;

    return p->a->rec.nrequests > p->nbefore;
}

static bool is_probed_or_failed(void *arg)
{
    return test_alloc_failed() || is_probed(arg);
}

/* Whatever there is no memory for: a service that was not asked is not called available. */
TEST(api_services, without_memory_no_service_becomes_available)
{
    struct as_fx a = {0};

    as_fx_open_with_target(&a);
    fx_do(&a.c.fx, 201, "POST", SERVICES, REMOTE("teapot", ""));
    await(&a.c, WARDLE_AS("teapot"), "status.conditions[0].reason", "FailedDiscoveryCheck");
    as_fx_stop(&a);
    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_api_services_opts opts = {.api = a.c.fx.api, .config = &a.config};
        struct probed p = {&a, a.rec.nrequests};

        if (cor_api_services_new(&opts, &a.as, NULL) < 0)
            continue;
        a.is_stopped = false;
        if (cor_api_services_start(a.as, NULL) == 0) {
            assert_true(cor_loop_run_until(a.c.fx.loop, is_probed_or_failed, &p, FX_TIMEOUT_MS));
            /* What is tried again after a pause is not waited for. */
            (void)cor_loop_run_until(a.c.fx.loop, is_probed, &p, 20);
        }
        as_fx_stop(&a);
        if (test_alloc_failed())
            assert_at(fx_do(&a.c.fx, 200, "GET", WARDLE_AS("teapot"), ""),
                      "status.conditions[0].reason", "FailedDiscoveryCheck");
    }
    as_fx_start(&a);
    as_fx_close(&a);
}
