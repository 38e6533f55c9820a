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
             "\"n\"}}",
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

TEST(eviction, survives_failed_allocations)
{
    struct fx fx;

    open_ready(&fx);
    add_budget(
        &fx, "b",
        "{\"status\":{\"observedGeneration\":1,\"disruptionsAllowed\":9,\"currentHealthy\":9,"
        "\"desiredHealthy\":1}}");
    add_pod(&fx, "p", RUNNING);
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&fx, &call, "POST", PODS "/p/eviction?dryRun=All",
                 "{\"metadata\":{\"name\":\"p\"}}", NULL);
        fx_wait(&call);
        assert_true(call.is_bare || call.sink.is_aborted || call.sink.status >= 200);
    }
    fx_close(&fx);
}
