#include "api_fixture.h"

#include <stdio.h>

#define CONFIGMAPS  "/api/v1/namespaces/default/configmaps"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define PODS        "/api/v1/namespaces/default/pods"
#define LEASES      "/apis/coordination.k8s.io/v1/namespaces/default/leases"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

TEST(update, keeps_what_the_server_owns)
{
    struct fx fx;
    const char *old, *new;

    open_ready(&fx);
    old = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    cor_clock_manual_advance(&fx.clock, 5000);
    new = fx_do(&fx, 200, "PUT", CONFIGMAPS "/a",
                "{\"metadata\":{\"name\":\"a\",\"creationTimestamp\":\"2000-01-01T00:00:00Z\","
                "\"generation\":9},\"data\":{\"k\":\"v\"}}");
    assert_at(new, "metadata.uid", fx_at(old, "metadata.uid"));
    assert_at(new, "metadata.creationTimestamp", "2025-01-01T00:00:00Z");
    assert_at(new, "metadata.generation", "");
    assert_at(new, "metadata.namespace", "default");
    assert_at(new, "data.k", "v");
    assert_string_not_equal(fx_at(new, "metadata.resourceVersion"),
                            fx_at(old, "metadata.resourceVersion"));
    fx_close(&fx);
}

TEST(update, the_same_bytes_change_nothing)
{
    struct fx fx;
    const char *old;

    open_ready(&fx);
    old = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    assert_string_equal(fx_do(&fx, 200, "PUT", CONFIGMAPS "/a", old), old);
    fx_close(&fx);
}

TEST(update, another_revision_is_a_conflict)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    assert_string_equal(
        fx_do(&fx, 409, "PUT", CONFIGMAPS "/c",
              "{\"metadata\":{\"name\":\"c\",\"resourceVersion\":\"1\"}}"),
        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","
        "\"message\":\"Operation cannot be fulfilled on configmaps \\\"c\\\": the object has been "
        "modified; please apply your changes to the latest version and try again\",\"reason\":"
        "\"Conflict\",\"details\":{\"name\":\"c\",\"kind\":\"configmaps\"},\"code\":409}");
    fx_close(&fx);
}

TEST(update, another_uid_is_a_conflict)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"c\"}}");
    assert_at(fx_do(&fx, 409, "PUT", CONFIGMAPS "/c",
                    "{\"metadata\":{\"name\":\"c\",\"uid\":\"other\"}}"),
              "reason", "Conflict");
    fx_close(&fx);
}

TEST(update, leases_need_a_revision_and_may_be_created)
{
    struct fx fx;
    const char *status;

    open_ready(&fx);
    fx_do(&fx, 201, "PUT", LEASES "/l", "{\"metadata\":{\"name\":\"l\"}}");
    status = fx_do(&fx, 422, "PUT", LEASES "/l", "{\"metadata\":{\"name\":\"l\"},\"spec\":{}}");
    assert_at(status, "message",
              "leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: Invalid "
              "value: 0: must be specified for an update");
    assert_at(status, "details.kind", "leases");
    assert_at(fx_do(&fx, 404, "PUT", CONFIGMAPS "/x", "{\"metadata\":{\"name\":\"x\"}}"), "message",
              "configmaps \"x\" not found");
    assert_at(fx_do(&fx, 404, "PUT", "/apis/coordination.k8s.io/v1/namespaces/nope/leases/l",
                    "{\"metadata\":{\"name\":\"l\"}}"),
              "message", "namespaces \"nope\" not found");
    fx_close(&fx);
}

TEST(update, the_name_must_be_the_urls)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(fx_do(&fx, 400, "PUT", CONFIGMAPS "/a", "{\"metadata\":{\"name\":\"b\"}}"), "message",
              "the name of the object (b) does not match the name on the URL (a)");
    fx_close(&fx);
}

TEST(update, generation_counts_changes_of_the_spec)
{
    struct fx fx;
    const char *d;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", DEPLOYMENTS,
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":1," FX_WORKLOAD "}}");
    d = fx_do(
        &fx, 200, "PUT", DEPLOYMENTS "/d",
        "{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"replicas\":1," FX_WORKLOAD
        "}}");
    assert_at(d, "metadata.generation", "1");
    d = fx_do(&fx, 200, "PUT", DEPLOYMENTS "/d",
              "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":2," FX_WORKLOAD "}}");
    assert_at(d, "metadata.generation", "2");
    d = fx_do(&fx, 200, "PATCH", DEPLOYMENTS "/d",
              "{\"metadata\":{\"annotations\":{\"x\":\"y\"}}}");
    assert_at(d, "metadata.generation", "3");
    fx_close(&fx);
}

TEST(update, status_and_spec_have_their_own_endpoints)
{
    struct fx fx;
    const char *d;

    open_ready(&fx);
    fx_do(
        &fx, 201, "POST", DEPLOYMENTS,
        "{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"replicas\":1," FX_WORKLOAD
        "}}");
    d = fx_do(
        &fx, 200, "PUT", DEPLOYMENTS "/d",
        "{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"replicas\":1," FX_WORKLOAD
        "},"
        "\"status\":{\"replicas\":5}}");
    assert_at(d, "status", "{}");
    d = fx_do(&fx, 200, "PUT", DEPLOYMENTS "/d/status",
              "{\"metadata\":{\"name\":\"d\",\"annotations\":{\"n\":\"1\"}},\"spec\":{\"replicas\":"
              "7},\"status\":{\"replicas\":5}}");
    assert_at(d, "spec.replicas", "1");
    assert_at(d, "status.replicas", "5");
    assert_at(d, "metadata.generation", "1");
    assert_at(d, "metadata.labels.a", "b");
    assert_at(d, "metadata.annotations.n", "1");
    d = fx_do(&fx, 200, "PATCH", DEPLOYMENTS "/d/status", "{\"status\":{\"replicas\":6}}");
    assert_at(d, "status.replicas", "6");
    assert_at(fx_do(&fx, 200, "GET", DEPLOYMENTS "/d/status", ""), "status.replicas", "6");
    fx_do(&fx, 404, "GET", CONFIGMAPS "/a/status", "");
    fx_do(&fx, 405, "POST", DEPLOYMENTS "/d/status", "{}");
    fx_close(&fx);
}

/* Contract validation 1.2.2, 1.2.3: metadata by the rules of all objects, what of it may not
 * change, then the program of the kind, which goes over the metadata once more. */
TEST(update, is_validated_whole_or_fails_without_memory)
{
    static const char *const bodies[] = {
        "{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"replicas\":2," FX_WORKLOAD
        "}}",
        "{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b c\"},\"deletionGracePeriodSeconds\":5},\"spec\":{"
        "\"replicas\":-1,\"selector\":{\"matchLabels\":{\"a\":\"c\"}},\"strategy\":{\"type\":\"x\"},\"template\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
    };
    struct fx fx;
    const char *status;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", DEPLOYMENTS,
          "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"replicas\":1," FX_WORKLOAD "}}");
    status = fx_do(&fx, 422, "PUT", DEPLOYMENTS "/d", bodies[1]);
    assert_at(status, "details.causes[0].field", "metadata.labels");
    assert_at(status, "details.causes[1].field", "metadata.deletionGracePeriodSeconds");
    assert_at(status, "details.causes[2].field", "metadata.labels");
    assert_at(status, "details.causes[3].field", "metadata.deletionGracePeriodSeconds");
    assert_at(status, "details.causes[4].field", "metadata.labels");
    assert_at(status, "details.causes[5].field", "spec.replicas");
    assert_at(status, "details.causes[6].field", "spec.template.metadata.labels");
    assert_at(status, "details.causes[7].field", "spec.strategy");
    assert_at(status, "details.causes[8].field", "spec.selector");
    assert_at(status, "details.causes[9]", "");
    for (size_t i = 0; i < COR_ARRAY_LEN(bodies); i++)
        fx_fail_each_alloc(&fx, "PUT", DEPLOYMENTS "/d?dryRun=All", bodies[i], NULL);
    fx_close(&fx);
}

TEST(update, a_dry_run_keeps_the_revision)
{
    struct fx fx;
    const char *old, *new;

    open_ready(&fx);
    old = fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    new = fx_do(&fx, 200, "PUT", CONFIGMAPS "/a?dryRun=All",
                "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    assert_at(new, "data.k", "v");
    assert_at(new, "metadata.resourceVersion", fx_at(old, "metadata.resourceVersion"));
    assert_string_equal(fx_do(&fx, 200, "GET", CONFIGMAPS "/a", ""), old);
    fx_close(&fx);
}

TEST(update, the_last_finalizer_takes_the_object_along)
{
    struct fx fx;
    const char *cm;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.io/f\"]}}");
    cm = fx_do(&fx, 200, "DELETE", CONFIGMAPS "/a", "");
    assert_at(cm, "metadata.deletionTimestamp", "2025-01-01T00:00:00Z");
    assert_at(cm, "metadata.deletionGracePeriodSeconds", "0");
    assert_at(fx_do(&fx, 422, "PATCH", CONFIGMAPS "/a",
                    "{\"metadata\":{\"finalizers\":[\"x.io/f\",\"x.io/g\"]}}"),
              "message",
              "ConfigMap \"a\" is invalid: metadata.finalizers: Forbidden: no new finalizers can "
              "be added if the object is being deleted, found new finalizers "
              "[]string{\"x.io/g\"}");
    cm = fx_do(&fx, 200, "PATCH", CONFIGMAPS "/a", "{\"metadata\":{\"finalizers\":null}}");
    assert_at(cm, "metadata.name", "a");
    fx_do(&fx, 404, "GET", CONFIGMAPS "/a", "");
    fx_close(&fx);
}

TEST(update, a_namespace_is_finished_at_its_finalize_endpoint)
{
    struct fx fx;
    const char *ns;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"team\"}}");
    ns = fx_do(&fx, 200, "DELETE", "/api/v1/namespaces/team", "");
    assert_at(ns, "status.phase", "Terminating");
    assert_at(ns, "spec.finalizers", "[\"kubernetes\"]");
    assert_at(fx_do(&fx, 200, "DELETE", "/api/v1/namespaces/team", ""), "metadata.name", "team");
    fx_do(&fx, 200, "PUT", "/api/v1/namespaces/team",
          "{\"metadata\":{\"name\":\"team\"},\"spec\":{\"finalizers\":[]}}");
    fx_do(&fx, 200, "GET", "/api/v1/namespaces/team", "");
    fx_do(&fx, 200, "PUT", "/api/v1/namespaces/team/finalize",
          "{\"metadata\":{\"name\":\"team\"},\"spec\":{\"finalizers\":[]}}");
    fx_do(&fx, 404, "GET", "/api/v1/namespaces/team", "");
    fx_close(&fx);
}

TEST(patch, merges_and_removes)
{
    struct fx fx;
    const char *cm;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\",\"l\":\"w\"}}");
    cm = fx_do(&fx, 200, "PATCH", CONFIGMAPS "/a", "{\"data\":{\"k\":null,\"m\":\"x\"}}");
    assert_at(cm, "data", "{\"l\":\"w\",\"m\":\"x\"}");
    assert_at(
        fx_do(&fx, 409, "PATCH", CONFIGMAPS "/a", "{\"metadata\":{\"resourceVersion\":\"1\"}}"),
        "reason", "Conflict");
    fx_do(&fx, 400, "PATCH", CONFIGMAPS "/a", "[1");
    fx_do(&fx, 404, "PATCH", CONFIGMAPS "/x", "{}");
    fx_close(&fx);
}

TEST(patch, applies_json_patches)
{
    static const struct fx_headers type = {.content_type = "application/json-patch+json"};
    struct fx fx;
    const char *cm;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    cm = fx_do_with(&fx, 200, "PATCH", CONFIGMAPS "/a",
                    "[{\"op\":\"replace\",\"path\":\"/data/k\",\"value\":\"w\"}]", &type);
    assert_at(cm, "data.k", "w");
    assert_string_equal(fx_do_with(&fx, 422, "PATCH", CONFIGMAPS "/a",
                                   "[{\"op\":\"test\",\"path\":\"/data/k\",\"value\":\"q\"}]",
                                   &type),
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                        "\"Failure\",\"message\":\"the server rejected our request due to an error "
                        "in our request\",\"reason\":\"Invalid\",\"details\":{},\"code\":422}");
    assert_at(fx_do_with(&fx, 400, "PATCH", CONFIGMAPS "/a", "{", &type), "reason", "BadRequest");
    fx_close(&fx);
}

TEST(patch, merges_lists_strategically)
{
    static const struct fx_headers type = {.content_type =
                                               "application/strategic-merge-patch+json"};
    struct fx fx;
    const char *d;

    open_ready(&fx);
    fx_do(
        &fx, 201, "POST", DEPLOYMENTS,
        "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
        "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":"
        "\"a\",\"image\":\"a:1\",\"args\":[\"x\"]},{\"name\":\"b\",\"image\":\"b\"}]}}}}");
    d = fx_do_with(&fx, 200, "PATCH", DEPLOYMENTS "/d",
                   "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"a\","
                   "\"image\":\"a:2\"}]}}}}",
                   &type);
    assert_at(d, "spec.template.spec.containers[0].args", "[\"x\"]");
    assert_at(d, "spec.template.spec.containers[0].image", "a:2");
    assert_at(d, "spec.template.spec.containers[1].name", "b");
    assert_at(d, "spec.template.spec.containers[2]", "");
    assert_at(d, "metadata.generation", "2");
    assert_at(fx_do_with(&fx, 400, "PATCH", DEPLOYMENTS "/d", "[]", &type), "reason", "BadRequest");
    fx_close(&fx);
}

TEST(patch, names_the_types_it_takes)
{
    static const struct fx_headers type = {.content_type = "text/plain"};
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(fx_do_with(&fx, 415, "PATCH", CONFIGMAPS "/a", "{}", &type), "reason",
              "UnsupportedMediaType");
    assert_at(fx_do_with(&fx, 415, "POST", CONFIGMAPS, "{}", &type), "reason",
              "UnsupportedMediaType");
    fx_close(&fx);
}

/* After each failure the object is the old one or the new one. */
static void fail_allocations(const char *method, const char *target, const char *body)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"n\":\"0\"}}");
    FOR_EACH_FAILED_ALLOC(n) {
        const char *after;
        FX_CALL call;

        fx_start(&fx, &call, method, target, body, NULL);
        fx_wait(&call);
        assert_true(call.is_bare || call.sink.is_aborted || call.sink.status == 200 ||
                    call.sink.status == 500);
        test_fail_alloc(0, false);
        after = fx_do(&fx, 200, "GET", CONFIGMAPS "/a", "");
        if (call.sink.status == 200 && !call.sink.is_aborted) {
            assert_at(after, "data.n", "1");
            assert_int_equal(call.sink.body.n, strlen(after) + 1);
            assert_memory_equal(call.sink.body.p, after, strlen(after));
        } else if (strcmp(fx_at(after, "data.n"), "1") != 0) {
            assert_at(after, "data.n", "0");
        }
        /* The next one changes it again. */
        fx_do(&fx, 200, "PUT", CONFIGMAPS "/a",
              "{\"metadata\":{\"name\":\"a\"},\"data\":{\"n\":\"0\"}}");
    }
    fx_close(&fx);
}

TEST(update, survives_every_failed_allocation)
{
    fail_allocations("PUT", CONFIGMAPS "/a",
                     "{\"metadata\":{\"name\":\"a\"},\"data\":{\"n\":\"1\"}}");
}

TEST(patch, survives_every_failed_allocation)
{
    fail_allocations("PATCH", CONFIGMAPS "/a", "{\"data\":{\"n\":\"1\"}}");
}

/* Upstream's finisher answers so for every verb that writes. */
TEST(update, every_write_past_its_deadline_is_a_gateway_timeout)
{
    static const struct {
        const char *method, *target, *body;
    } writes[] = {
        {"PUT", PODS "/p", "{\"metadata\":{\"name\":\"p\",\"labels\":{\"a\":\"b\"}}}"},
        {"PUT", PODS "/p/status",
         "{\"metadata\":{\"name\":\"p\"},\"status\":{\"phase\":\"Running\"}}"},
        {"PATCH", PODS "/p", "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"},
        {"DELETE", PODS "/p", NULL},
        {"DELETE", PODS "/p?gracePeriodSeconds=0", NULL},
        {"DELETE", PODS, NULL},
        {"POST", PODS "/p/binding",
         "{\"metadata\":{\"name\":\"p\"},\"target\":{\"kind\":\"Node\",\"name\":\"n1\"}}"},
        {"POST", PODS "/p/eviction", "{\"metadata\":{\"name\":\"p\"}}"},
    };
    const struct fx_headers late = {.deadline_ms = 1};
    struct fx fx;
    const char *made, *status;

    open_ready(&fx);
    made = fx_do(
        &fx, 201, "POST", PODS,
        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(writes); i++) {
        status = fx_do_with(&fx, 504, writes[i].method, writes[i].target, writes[i].body, &late);
        assert_at(status, "reason", "Timeout");
        assert_at(status, "message",
                  "Timeout: request did not complete within requested timeout - context deadline "
                  "exceeded");
        assert_non_null(strstr(status, "\"details\":{}"));
    }
    assert_string_equal(fx_do(&fx, 200, "GET", PODS "/p", NULL), made);
    /* Of reads, the timeout filter's words. */
    status = fx_do_with(&fx, 504, "GET", PODS, NULL, &late);
    assert_at(status, "message", "Timeout: request did not complete within the allotted timeout");
    fx_close(&fx);
}

TEST(update, a_status_is_never_created)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 404, "PUT", "/api/v1/namespaces/default/services/s/status",
          "{\"metadata\":{\"name\":\"s\"}}");
    fx_do(&fx, 201, "PUT", "/api/v1/namespaces/default/services/s",
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{" FX_PORTS "}}");
    fx_do(&fx, 201, "PUT", "/api/v1/namespaces/default/services/t?dryRun=All",
          "{\"metadata\":{\"name\":\"t\"},\"spec\":{" FX_PORTS "}}");
    fx_do(&fx, 404, "GET", "/api/v1/namespaces/default/services/t", "");
    fx_close(&fx);
}

/* The last finalizer goes while another client writes: the update looks again, and then removes. */
TEST(update, what_finishes_a_deletion_gives_way_to_other_writers)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"f\",\"finalizers\":[\"a.b/c\"]}}");
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/f", "");
    {
        FX_CALL last, other;

        fx_start(&fx, &last, "PATCH", CONFIGMAPS "/f", "{\"metadata\":{\"finalizers\":null}}",
                 NULL);
        fx_start(&fx, &other, "PATCH", CONFIGMAPS "/f", "{\"data\":{\"k\":\"v\"}}", NULL);
        fx_wait(&last);
        fx_wait(&other);
        assert_int_equal(other.sink.status, 200);
        assert_int_equal(last.sink.status, 200);
        assert_non_null(strstr(cor_buf_z(&last.sink.body), "\"k\":\"v\""));
    }
    fx_do(&fx, 404, "GET", CONFIGMAPS "/f", "");
    fx_close(&fx);
}

TEST(update, a_pods_status_leaves_its_owners_alone)
{
    static const char pods[] = "/api/v1/namespaces/default/pods";
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", pods, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}");
    pod =
        fx_do(&fx, 200, "PATCH", "/api/v1/namespaces/default/pods/p/status",
              "{\"metadata\":{\"labels\":{\"x\":\"1\"},\"ownerReferences\":[{\"apiVersion\":\"v1\","
              "\"kind\":\"X\",\"name\":\"n\",\"uid\":\"u\"}]},\"status\":{\"phase\":\"Running\"}}");
    assert_at(pod, "metadata.ownerReferences", "");
    assert_at(pod, "metadata.labels", "{\"x\":\"1\"}");
    assert_at(pod, "status.phase", "Running");
    fx_close(&fx);
}

TEST(update, what_is_going_stays_while_something_waits_for_it)
{
    static const char pods[] = "/api/v1/namespaces/default/pods";
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"f\",\"finalizers\":[\"a.b/c\",\"d.e/f\"]}}");
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/f", "");
    fx_do(&fx, 200, "PATCH", CONFIGMAPS "/f", "{\"metadata\":{\"finalizers\":[\"d.e/f\"]}}");
    fx_do(&fx, 200, "GET", CONFIGMAPS "/f", "");
    fx_do(&fx, 201, "POST", pods,
          "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS "}}");
    fx_do(&fx, 200, "DELETE", "/api/v1/namespaces/default/pods/p", "");
    fx_do(&fx, 200, "PATCH", "/api/v1/namespaces/default/pods/p",
          "{\"metadata\":{\"labels\":{\"x\":\"1\"}}}");
    fx_do(&fx, 200, "GET", "/api/v1/namespaces/default/pods/p", "");
    fx_close(&fx);
}

static bool saw_both_go(void *arg)
{
    const char *first = strstr(cor_buf_z(&((struct fx_call *)arg)->sink.body), "\"DELETED\"");

    return first && strstr(first + 1, "\"DELETED\"");
}

TEST(update, events_expire_whether_they_were_written_to_or_not)
{
    static const char events[] = "/api/v1/namespaces/default/events";
    struct fx fx = {.opts.event_ttl_s = 1};

    fx_open(&fx);
    fx_bootstrap(&fx);
    {
        FX_CALL watch;

        fx_start(&fx, &watch, "GET", "/api/v1/namespaces/default/events?watch=1", "", NULL);
        fx_do(&fx, 201, "POST", events, "{\"metadata\":{\"name\":\"a\"}}");
        fx_do(&fx, 201, "POST", events, "{\"metadata\":{\"name\":\"b\"}}");
        fx_do(&fx, 200, "PATCH", "/api/v1/namespaces/default/events/b", "{\"count\":2}");
        assert_true(cor_loop_run_until(fx.loop, saw_both_go, &watch, FX_TIMEOUT_MS));
    }
    fx_close(&fx);
}

/* The controllers of StatefulSets and DaemonSets compare the bytes of `data`; a revision that was
 * changed on its way would make them create another one. Contract types 2.4.5. */
TEST(update, a_controller_revision_keeps_the_bytes_of_its_data)
{
    static const char revisions[] = "/apis/apps/v1/namespaces/default/controllerrevisions";
    static const char one[] = "/apis/apps/v1/namespaces/default/controllerrevisions/r";
    static const char data[] =
        "\"data\":{\"spec\":{\"template\":{\"$patch\":\"replace\",\"c\":[\"a "
        "\\u0026\\u0026 b \\u003e c\"]}}}";
    static const struct fx_headers strategic = {.content_type =
                                                    "application/strategic-merge-patch+json"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 4096};
    struct fx fx;

    open_ready(&fx);
    assert_int_equal(cor_buf_addf(&body, "{\"metadata\":{\"name\":\"r\"},\"revision\":1,%s}", data),
                     0);
    assert_non_null(strstr(fx_do(&fx, 201, "POST", revisions, cor_buf_z(&body)), data));
    assert_non_null(strstr(fx_do(&fx, 200, "GET", one, ""), data));
    assert_non_null(strstr(
        fx_do_with(&fx, 200, "PATCH", one,
                   "{\"metadata\":{\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":"
                   "\"StatefulSet\",\"name\":\"s\",\"uid\":\"u\"}]},\"revision\":2}",
                   &strategic),
        data));
    /* Keys in any order, and a character that Go escapes. */
    fx_do(&fx, 200, "DELETE", one, "");
    assert_non_null(strstr(fx_do(&fx, 201, "POST", revisions,
                                 "{\"metadata\":{\"name\":\"r\"},\"revision\":1,\"data\":{ \"z\": "
                                 "\"<\", \"a\": 1.0 }}"),
                           "\"data\":{\"z\":\"\\u003c\",\"a\":1.0}"));
    assert_non_null(
        strstr(fx_do(&fx, 200, "GET", one, ""), "\"data\":{\"z\":\"\\u003c\",\"a\":1.0}"));
    fx_close(&fx);
}
