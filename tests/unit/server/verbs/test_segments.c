/* What a client may write into a segment of a path or into a field selector. */
#include <stdio.h>

#include "api_fixture.h"

#define MAPS "/api/v1/namespaces/default/configmaps"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

static bool has_status(void *arg)
{
    struct fx_call *call = arg;

    return call->is_bare || call->sink.is_done || call->sink.status != 0;
}

/* Until the head of the answer is there: a watch has no end. */
static void wait_for_status(struct fx_call *call)
{
    if (!cor_loop_run_until(call->fx->loop, has_status, call, FX_TIMEOUT_MS))
        fail_msg("no answer after %d ms", FX_TIMEOUT_MS);
}

/* As kube-apiserver answers, but that it answers 500 for an object in such a namespace. */
TEST(segments, that_are_dots_name_a_namespace_without_objects)
{
    static const char *const dots[] = {".", "..", "%2e", "%2e%2e", "%2E%2E"};
    const char *body = "{\"metadata\":{\"name\":\"x\"}}";
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", MAPS, body);
    for (size_t i = 0; i < COR_ARRAY_LEN(dots); i++) {
        char all[128], one[160], named[256], lease[256];
        FX_CALL watch;

        snprintf(all, sizeof(all), "/api/v1/namespaces/%s/configmaps", dots[i]);
        snprintf(one, sizeof(one), "%s/x", all);
        snprintf(named, sizeof(named), "%s?fieldSelector=metadata.name%%3Dx", all);
        snprintf(lease, sizeof(lease), "/apis/coordination.k8s.io/v1/namespaces/%s/leases/x",
                 dots[i]);
        assert_at(fx_do(&fx, 200, "GET", all, ""), "items", "[]");
        assert_at(fx_do(&fx, 200, "GET", named, ""), "items", "[]");
        assert_at(fx_do(&fx, 200, "DELETE", all, ""), "items", "[]");
        fx_do(&fx, 404, "GET", one, "");
        fx_do(&fx, 404, "PUT", one, body);
        fx_do(&fx, 404, "PATCH", one, "{}");
        fx_do(&fx, 404, "DELETE", one, "");
        fx_do(&fx, 400, "POST", all, body);
        fx_do(&fx, 400, "PUT", lease, body);
        snprintf(named, sizeof(named), "%s?watch=1", all);
        fx_start(&fx, &watch, "GET", named, "", NULL);
        wait_for_status(&watch);
        assert_int_equal(watch.sink.status, 200);
        snprintf(one, sizeof(one), MAPS "/%s", dots[i]);
        fx_do(&fx, 400, "GET", one, "");
        snprintf(one, sizeof(one), "/api/v1/namespaces/%s", dots[i]);
        fx_do(&fx, 400, "GET", one, "");
    }
    fx_do(&fx, 200, "GET", MAPS "/x", "");
    fx_close(&fx);
}

TEST(segments, below_apis_without_a_group_are_nothing)
{
    struct fx fx;

    open_ready(&fx);
    assert_string_equal(fx_do(&fx, 404, "GET", "/apis//v1/namespaces/default/configmaps", ""),
                        "404 page not found");
    assert_string_equal(fx_do(&fx, 404, "POST", "/apis//v1/namespaces/default/configmaps", "{}"),
                        "404 page not found");
    fx_do(&fx, 404, "GET", "/api//v1/namespaces/default/configmaps", "");
    fx_close(&fx);
}

static void try_all(struct fx *fx, const char *segment)
{
    static const char *const targets[] = {
        "/api/v1/namespaces/%s/configmaps",
        "/api/v1/namespaces/%s/configmaps/x",
        "/api/v1/namespaces/%s/pods/x/status",
        "/api/v1/namespaces/%s",
        "/api/v1/namespaces/%s/status",
        "/api/v1/namespaces/default/configmaps/%s",
        "/api/v1/namespaces/default/pods/x/%s",
        "/api/v1/namespaces/default/pods/%s/eviction",
        "/api/v1/namespaces/default/pods/%s/binding",
        "/api/v1/namespaces/default/%s",
        "/api/%s/namespaces/default/configmaps",
        "/apis/%s/v1/namespaces/default/deployments",
        "/apis/apps/%s/namespaces/default/deployments",
        "/apis/apps/v1/namespaces/default/deployments/%s/scale",
        "/api/v1/watch/namespaces/%s/configmaps",
        "/apis/%s",
        "/openapi/v3/%s",
        "/%s",
        "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%%3D%s",
        "/api/v1/configmaps?fieldSelector=metadata.namespace%%3D%s",
        "/api/v1/configmaps?fieldSelector=%s%%3Da",
        "/api/v1/configmaps?labelSelector=%s",
        "/api/v1/configmaps?labelSelector=a+in+(%s)",
    };
    static const char *const methods[] = {"GET", "PUT", "PATCH", "POST", "DELETE"};

    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        for (size_t j = 0; j < COR_ARRAY_LEN(methods); j++) {
            char target[8192];
            FX_CALL call;

            snprintf(target, sizeof(target), targets[i], segment);
            fx_start(fx, &call, methods[j], target, j == 0 ? "" : "{\"metadata\":{\"name\":\"x\"}}",
                     NULL);
            wait_for_status(&call);
            if (!call.is_bare && (call.sink.status < 200 || call.sink.status >= 500))
                fail_msg("%s %s: %d %s", methods[j], target, call.sink.status,
                         cor_buf_z(&call.sink.body));
        }
    }
}

TEST(segments, of_any_bytes_are_never_a_failure_of_the_server)
{
    static const char *const segments[] = {
        "",       ".",     "..",  "%2e%2e", "%2f",       "a%2fb", "..%2f..", "%2e%2e%2f%2e%2e",
        "%00",    "a%00b", "%ff", "%c3%28", "%20",       "%25",   "%0a",     "%7f",
        "a%5cb",  "a..b",  "*",   "~",      "%2e%2e%2e", ";",     "=",       "%ef%bb%bf",
        "%c3%a9", "A",     "a_b", "a:b",    "%22",       "-",     "status",  "%3f",
    };
    char longest[4000];
    struct fx fx;

    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(segments); i++)
        try_all(&fx, segments[i]);
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    try_all(&fx, longest);
    fx_close(&fx);
}

/* No object has such a name, and none is found. */
TEST(segments, of_a_selected_name_may_have_any_length)
{
    char target[6000];
    struct fx fx;
    size_t n;

    open_ready(&fx);
    n = (size_t)snprintf(target, sizeof(target), MAPS "?fieldSelector=metadata.name%%3D");
    memset(target + n, 'a', 5000);
    target[n + 5000] = '\0';
    assert_at(fx_do(&fx, 200, "GET", target, ""), "items", "[]");
    assert_at(fx_do(&fx, 200, "DELETE", target, ""), "items", "[]");
    fx_close(&fx);
}
