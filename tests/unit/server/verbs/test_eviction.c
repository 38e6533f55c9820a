#include "api_fixture.h"

#include <stdio.h>

#define PODS     "/api/v1/namespaces/default/pods"
#define BUDGETS  "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define VIOLATES "Cannot evict pod as it would violate the pod's disruption budget."
#define RUNNING                                                                                    \
    "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

static void add_pod(struct fx *fx, const char *name, const char *status)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"x\"}},\"spec\":{\"nodeName\":"
             "\"n\"," FX_CONTAINERS "}}",
             name);
    fx_do(fx, 201, "POST", PODS, body);
    snprintf(body, sizeof(body), PODS "/%s/status", name);
    if (status)
        fx_do(fx, 200, "PATCH", body, status);
}

static void add_budget(struct fx *fx, const char *name, const char *status)
{
    char body[512];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":"
             "\"x\"}}}}",
             name);
    fx_do(fx, 201, "POST", BUDGETS, body);
    snprintf(body, sizeof(body), BUDGETS "/%s/status", name);
    fx_do(fx, 200, "PATCH", body, status);
}

static const char *evict(struct fx *fx, int code, const char *name)
{
    char target[128], body[128];

    snprintf(target, sizeof(target), PODS "/%s/eviction", name);
    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", name);
    return fx_do(fx, code, "POST", target, body);
}

TEST(eviction, deletes_a_pod_that_no_budget_guards)
{
    struct fx fx;
    const char *pod;

    open_ready(&fx);
    add_pod(&fx, "p", RUNNING);
    assert_at(evict(&fx, 201, "p"), "status", "Success");
    pod = fx_do(&fx, 200, "GET", PODS "/p", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "30");
    assert_at(pod, "status.conditions[1]",
              "{\"lastProbeTime\":null,\"lastTransitionTime\":\"2025-01-01T00:00:00Z\",\"message\":"
              "\"Eviction API: evicting\",\"reason\":\"EvictionByEvictionAPI\",\"status\":\"True\","
              "\"type\":\"DisruptionTarget\"}");
    fx_close(&fx);
}

TEST(eviction, takes_a_disruption_of_the_budget)
{
    struct fx fx;
    const char *budget, *status;

    open_ready(&fx);
    add_budget(
        &fx, "b",
        "{\"status\":{\"observedGeneration\":1,\"disruptionsAllowed\":1,\"currentHealthy\":2,"
        "\"desiredHealthy\":1}}");
    add_pod(&fx, "p", RUNNING);
    add_pod(&fx, "q", RUNNING);
    evict(&fx, 201, "p");
    budget = fx_do(&fx, 200, "GET", BUDGETS "/b", "");
    assert_at(budget, "status.disruptionsAllowed", "0");
    assert_at(budget, "status.disruptedPods", "{\"p\":\"2025-01-01T00:00:00Z\"}");
    assert_at(budget, "status.conditions[0].reason", "InsufficientPods");
    status = evict(&fx, 429, "q");
    assert_at(status, "message", VIOLATES);
    assert_at(status, "reason", "TooManyRequests");
    assert_at(status, "details.causes[0].reason", "DisruptionBudget");
    assert_at(status, "details.causes[0].message",
              "The disruption budget b needs 1 healthy pods and has 2 currently");
    assert_at(fx_do(&fx, 200, "GET", PODS "/q", ""), "metadata.deletionTimestamp", "");
    fx_close(&fx);
}

TEST(eviction, asks_no_budget_for_pods_that_do_not_run)
{
    struct fx fx;

    open_ready(&fx);
    add_budget(&fx, "b", "{\"status\":{\"observedGeneration\":1}}");
    add_pod(&fx, "pending", NULL);
    add_pod(&fx, "done", "{\"status\":{\"phase\":\"Succeeded\"}}");
    evict(&fx, 201, "pending");
    evict(&fx, 201, "done");
    fx_do(&fx, 404, "GET", PODS "/done", "");
    fx_close(&fx);
}

TEST(eviction, spares_the_budget_for_a_pod_that_is_not_ready)
{
    struct fx fx;

    open_ready(&fx);
    add_budget(&fx, "b",
               "{\"status\":{\"observedGeneration\":1,\"currentHealthy\":1,\"desiredHealthy\":1}}");
    add_pod(&fx, "p", "{\"status\":{\"phase\":\"Running\"}}");
    evict(&fx, 201, "p");
    assert_at(fx_do(&fx, 200, "GET", BUDGETS "/b", ""), "status.disruptedPods", "");
    fx_close(&fx);
}

TEST(eviction, is_refused_in_upstreams_words)
{
    struct fx fx;
    const char *status;

    open_ready(&fx);
    add_pod(&fx, "p", RUNNING);
    assert_at(fx_do(&fx, 400, "POST", PODS "/p/eviction", "{}"), "message",
              "name in URL does not match name in Eviction object");
    assert_at(evict(&fx, 404, "none"), "message", "pods \"none\" not found");
    status = fx_do(&fx, 409, "POST", PODS "/p/eviction",
                   "{\"metadata\":{\"name\":\"p\"},\"deleteOptions\":{\"preconditions\":{\"uid\":"
                   "\"x\"}}}");
    assert_at(status, "details.kind", "Pod");
    status = fx_do(&fx, 400, "POST", PODS "/p/eviction",
                   "{\"metadata\":{\"name\":\"p\"},\"deleteOptions\":\"x\"}");
    assert_at(status, "message",
              "Eviction in version \"v1\" cannot be handled as a Eviction: json: cannot unmarshal "
              "string into Go struct field Eviction.deleteOptions of type v1.DeleteOptions");
    status =
        fx_do(&fx, 400, "POST", PODS "/p/eviction",
              "{\"metadata\":{\"name\":\"p\"},\"deleteOptions\":{\"preconditions\":{\"uid\":1}}}");
    assert_at(status, "message",
              "Eviction in version \"v1\" cannot be handled as a Eviction: json: cannot unmarshal "
              "number into Go struct field Preconditions.deleteOptions.preconditions.uid of type "
              "types.UID");
    fx_do(&fx, 201, "POST", PODS "/p/eviction?dryRun=All", "{\"metadata\":{\"name\":\"p\"}}");
    assert_at(fx_do(&fx, 200, "GET", PODS "/p", ""), "metadata.deletionTimestamp", "");
    fx_do(&fx, 201, "POST", BUDGETS,
          "{\"metadata\":{\"name\":\"new\"},\"spec\":{\"selector\":{}}}");
    status = evict(&fx, 429, "p");
    assert_at(status, "details.retryAfterSeconds", "10");
    assert_at(status, "details.causes[0].message",
              "The disruption budget new is still being processed by the server.");
    add_budget(&fx, "b", "{\"status\":{\"observedGeneration\":1}}");
    assert_at(evict(&fx, 500, "p"), "message",
              "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
              "not support.");
    fx_close(&fx);
}

/* Is it marked to go, with a disruption of the budget? Neither without the other. */
static bool is_evicted(struct fx *fx, const char *name)
{
    char target[128];
    bool is_going, is_counted;

    snprintf(target, sizeof(target), PODS "/%s", name);
    is_going = fx_at(fx_do(fx, 200, "GET", target, ""), "metadata.deletionTimestamp")[0] != 0;
    snprintf(target, sizeof(target), "status.disruptedPods.%s", name);
    is_counted = fx_at(fx_do(fx, 200, "GET", BUDGETS "/b", ""), target)[0] != 0;
    assert_true(is_counted || !is_going);
    return is_going;
}

/* A pod of its own, evicted while one allocation fails. A 500 may hide an eviction that happened:
 * what is told to have failed can be tried again. */
static void try_eviction(struct fx *fx, size_t n)
{
    char name[32], target[128], body[128];
    FX_CALL call;

    test_fail_alloc(0, false);
    snprintf(name, sizeof(name), "p%zu", n);
    snprintf(target, sizeof(target), PODS "/%s/eviction", name);
    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", name);
    add_pod(fx, name, RUNNING);
    test_fail_alloc(n, false);
    fx_start(fx, &call, "POST", target, body, NULL);
    fx_wait(&call);
    test_fail_alloc(0, false);
    if (call.is_bare) {
        assert_false(is_evicted(fx, name));
        return;
    }
    if (!call.sink.is_aborted)
        assert_int_equal(call.sink.status,
                         call.sink.status == 500 && test_alloc_failed() ? 500 : 201);
    if (call.sink.status == 201) {
        assert_true(is_evicted(fx, name));
        return;
    }
    (void)is_evicted(fx, name);
    evict(fx, 201, name);
    assert_true(is_evicted(fx, name));
}

TEST(eviction, survives_failed_allocations)
{
    struct fx fx;

    open_ready(&fx);
    add_budget(
        &fx, "b",
        "{\"status\":{\"observedGeneration\":1,\"disruptionsAllowed\":9999,\"currentHealthy\":9999,"
        "\"desiredHealthy\":1}}");
    FOR_EACH_FAILED_ALLOC(n) {
        try_eviction(&fx, n);
    }
    fx_close(&fx);
}
