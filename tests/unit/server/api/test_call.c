#include "api_fixture.h"

#include "base/err.h"
#include "storage/engine/engine_int.h"
#include "json/text/json.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define BUDGETS    "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
#define PODS       "/api/v1/namespaces/default/pods"

static const struct request {
    const char *method, *target, *body, *content_type;
    bool is_same_again;
} requests[] = {
    {"GET", CONFIGMAPS "/a", "", NULL, true},
    {"GET", CONFIGMAPS, "", NULL, true},
    {"GET", CONFIGMAPS "?watch=1", "", NULL},
    {"POST", CONFIGMAPS,
     "{\"metadata\":{\"generateName\":\"g-\",\"ownerReferences\":["
     "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"name\":\"n\",\"uid\":\"u\"},"
     "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"name\":\"n\",\"uid\":\"u\"}]}}",
     NULL},
    {"POST", CONFIGMAPS "?dryRun=All", "{\"metadata\":{\"generateName\":\"g-\"}}", NULL},
    {"POST", CONFIGMAPS, "{\"metadata\":{\"name\":5}}", NULL, true},
    {"PUT", CONFIGMAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"w\"}}", NULL, true},
    {"PUT", CONFIGMAPS "/going", "{\"metadata\":{\"name\":\"going\"}}", NULL},
    {"PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/new",
     "{\"metadata\":{\"name\":\"new\"}}", NULL},
    {"PATCH", CONFIGMAPS "/a", "{\"data\":{\"k\":\"x\"}}", "application/merge-patch+json", true},
    {"PATCH", CONFIGMAPS "/a", "{\"kind\":\"Pod\"}", "application/merge-patch+json", true},
    {"DELETE", PODS "/p", "{\"kind\":\"Nope\"}", NULL, true},
    {"DELETE", PODS "/p?dryRun=All", "", NULL},
    {"DELETE", PODS "/p", "", NULL},
    {"DELETE", CONFIGMAPS "/b", "", NULL},
    {"DELETE", CONFIGMAPS, "", NULL},
};

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
    fx_do(fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    fx_do(fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\"}}");
    fx_do(fx, 201, "POST", CONFIGMAPS,
          "{\"metadata\":{\"name\":\"going\",\"finalizers\":[\"a.b/c\"]}}");
    fx_do(fx, 200, "DELETE", CONFIGMAPS "/going", "");
    fx_do(fx, 201, "POST", PODS, "{\"metadata\":{\"name\":\"p\"},\"spec\":{" FX_CONTAINERS "}}");
}

/* A pod that runs, and whose eviction takes a disruption of a budget. */
static void add_guarded_pod(struct fx *fx)
{
    fx_do(
        fx, 201, "POST", PODS,
        "{\"metadata\":{\"name\":\"runs\",\"labels\":{\"app\":\"x\"}},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS
        "}}");
    fx_do(
        fx, 200, "PATCH", PODS "/runs/status",
        "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    fx_do(
        fx, 201, "POST", BUDGETS,
        "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"x\"}}}}");
    fx_do(fx, 200, "PATCH", BUDGETS "/b/status",
          "{\"status\":{\"observedGeneration\":1,\"disruptionsAllowed\":1,\"currentHealthy\":2,"
          "\"desiredHealthy\":1}}");
}

/* The client hangs up while the store works: the fixture's close waits until no call is left. */
TEST(call, a_reader_that_goes_at_once_leaves_nothing_behind)
{
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(requests); i++) {
        struct fx_headers headers = {.content_type = requests[i].content_type};
        FX_CALL call;

        fx_start(&fx, &call, requests[i].method, requests[i].target, requests[i].body, &headers);
    }
    fx_do(&fx, 200, "GET", "/livez", "");
    fx_close(&fx);
}

/* An object, from its first byte to its last. */
static void assert_whole(struct cor_str body)
{
    static const struct cor_json_limits limits = COR_JSON_LIMITS_DEFAULT;
    bool is_canonical;

    assert_true(cor_str_starts(body, COR_STR("{\"kind\":\"")));
    assert_int_equal(cor_json_check(body, &limits, &is_canonical, NULL), 0);
}

static void try_request(const struct request *request)
{
    struct fx_headers headers = {.content_type = request->content_type};
    struct fx fx;

    open_ready(&fx);
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&fx, &call, request->method, request->target, request->body, &headers);
        fx_wait(&call);
        assert_true(call.is_bare || call.sink.is_aborted || call.sink.status >= 200);
        if (call.sink.status < 300 && !call.is_bare && !call.sink.is_aborted)
            assert_whole(cor_buf_str(&call.sink.body));
    }
    fx_close(&fx);
}

/* What may be asked again and again has the same answer each time, or says that there was no
 * memory. */
TEST(call, that_says_success_without_memory_is_whole)
{
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(requests); i++) {
        struct fx_headers headers = {.content_type = requests[i].content_type};

        if (requests[i].is_same_again)
            fx_fail_each_alloc(&fx, requests[i].method, requests[i].target, requests[i].body,
                               &headers);
    }
    fx_close(&fx);
}

TEST(call, survives_every_failed_allocation)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(requests); i++) {
        if (!strstr(requests[i].target, "watch=1"))
            try_request(&requests[i]);
    }
}

/* A store that gives up every write, as one that closes does. */
static void cancel_writes(struct cor_engine *engine, struct cor_engine_req *req)
{
    cor_engine_req_fail(req, -COR_ECANCELED, "the store is closing");
}

TEST(call, a_write_that_the_store_gave_up_is_no_success)
{
    static const struct request writes[] = {
        {"PUT", CONFIGMAPS "/a", "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"w\"}}", NULL},
        {"PATCH", CONFIGMAPS "/a", "{\"data\":{\"k\":\"x\"}}", NULL},
        {"DELETE", CONFIGMAPS "/a", "", NULL},
        {"DELETE", CONFIGMAPS, "", NULL},
        {"POST", PODS "/p/binding", "{\"metadata\":{\"name\":\"p\"},\"target\":{\"name\":\"n\"}}",
         NULL},
        {"POST", PODS "/p/eviction", "{\"metadata\":{\"name\":\"p\"}}", NULL},
        {"POST", PODS "/runs/eviction", "{\"metadata\":{\"name\":\"runs\"}}", NULL},
    };
    struct cor_engine_ops ops;
    const struct cor_engine_ops *own;
    struct fx fx;

    open_ready(&fx);
    add_guarded_pod(&fx);
    own = fx.engine->ops;
    ops = *own;
    ops.submit = cancel_writes;
    fx.engine->ops = &ops;
    for (size_t i = 0; i < COR_ARRAY_LEN(writes); i++)
        assert_at(fx_do(&fx, 500, writes[i].method, writes[i].target, writes[i].body), "message",
                  "the store is closing");
    fx.engine->ops = own;
    fx_close(&fx);
}

static bool is_over(void *arg)
{
    return ((struct fx_call *)arg)->sink.is_done;
}

/* A watch may ask for more milliseconds than a number holds; it must not end at once. */
TEST(call, a_watch_may_last_as_long_as_it_likes)
{
    static const char *const targets[] = {
        CONFIGMAPS "?watch=1&timeoutSeconds=18446744073709552",
        CONFIGMAPS "?watch=1&timeoutSeconds=9223372036854775807",
    };
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        FX_CALL call;

        fx_start(&fx, &call, "GET", targets[i], "", NULL);
        assert_false(cor_loop_run_until(fx.loop, is_over, &call, 600));
    }
    fx_close(&fx);
}
