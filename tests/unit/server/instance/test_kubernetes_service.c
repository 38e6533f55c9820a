#include "../alloc/alloc_fixture.h"

#include "base/err.h"
#include "server/instance/kubernetes_service.h"

#define SERVICE   SERVICES "/kubernetes"
#define ENDPOINTS "/api/v1/namespaces/default/endpoints/kubernetes"
#define SLICE     "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"

struct kfx {
    struct afx a;
    struct cor_kubernetes_service *service;
    bool has_others; /* set before start() */
};

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

/* Starts with this advertised address (NULL: none), and waits for the first pass. */
static void start(struct kfx *k, const char *advertised, uint16_t port)
{
    struct cor_kubernetes_service_opts opts = {.api = k->a.fx.api,
                                               .ip = cor_alloc_first_address(k->a.alloc),
                                               .port = port,
                                               .has_endpoints = true,
                                               .is_advertised = advertised != NULL,
                                               .has_others = k->has_others};
    bool is_done = false;

    if (advertised)
        assert_int_equal(cor_addr_parse(cor_strz(advertised), &opts.advertised), 0);
    assert_int_equal(cor_kubernetes_service_new(&opts, &k->service, NULL), 0);
    cor_kubernetes_service_start(k->service, set_true, &is_done);
    assert_true(cor_loop_run_until(k->a.fx.loop, is_set, &is_done, FX_TIMEOUT_MS));
}

static void stop(struct kfx *k)
{
    bool is_stopped = false;

    cor_kubernetes_service_stop(k->service, set_true, &is_stopped);
    assert_true(cor_loop_run_until(k->a.fx.loop, is_set, &is_stopped, FX_TIMEOUT_MS));
    k->service = cor_kubernetes_service_free(k->service);
}

static void check(struct kfx *k)
{
    bool is_done = false;

    cor_kubernetes_service_check(k->service, set_true, &is_done);
    assert_true(cor_loop_run_until(k->a.fx.loop, is_set, &is_done, FX_TIMEOUT_MS));
}

static const char *get(struct kfx *k, const char *path)
{
    return fx_do(&k->a.fx, 200, "GET", path, "");
}

static const char *rv_of(struct kfx *k, const char *path)
{
    return fx_at(get(k, path), "metadata.resourceVersion");
}

/* Contract server 6.6. */
TEST(kubernetes_service, is_created_with_the_first_address_of_the_range)
{
    struct kfx k = {.has_others = false};
    const char *service;

    afx_open(&k.a, NULL, NULL);
    start(&k, NULL, 6443);
    service = get(&k, SERVICE);
    assert_at(service, "metadata.labels",
              "{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}");
    assert_at(service, "spec",
              "{\"clusterIP\":\"10.0.0.1\",\"clusterIPs\":[\"10.0.0.1\"],\"internalTrafficPolicy\":"
              "\"Cluster\",\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":\"SingleStack\",\"ports\":"
              "[{\"name\":\"https\",\"port\":443,\"protocol\":\"TCP\",\"targetPort\":6443}],"
              "\"sessionAffinity\":\"None\",\"type\":\"ClusterIP\"}");
    afx_check_whole(&k.a);
    /* A server that is reached through loopback only has no endpoint. */
    fx_do(&k.a.fx, 404, "GET", ENDPOINTS, "");
    fx_do(&k.a.fx, 404, "GET", SLICE, "");
    stop(&k);
    afx_close(&k.a);
}

TEST(kubernetes_service, of_an_ipv6_range_has_its_first_address)
{
    struct kfx k = {.has_others = false};

    afx_open(&k.a, "fd00:10:96::/112,10.96.0.0/16", NULL);
    start(&k, "2001:db8::7", 6443);
    assert_at(get(&k, SERVICE), "spec.clusterIPs", "[\"fd00:10:96::1\"]");
    assert_at(get(&k, SLICE), "addressType", "IPv6");
    assert_at(get(&k, SLICE), "endpoints[0].addresses", "[\"2001:db8::7\"]");
    stop(&k);
    afx_close(&k.a);
}

/* Contract server 6.6. */
TEST(kubernetes_service, has_the_advertised_address_as_its_endpoint)
{
    struct kfx k = {.has_others = false};
    const char *endpoints, *slice;

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    endpoints = get(&k, ENDPOINTS);
    assert_at(endpoints, "metadata.labels",
              "{\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}");
    assert_at(endpoints, "subsets",
              "[{\"addresses\":[{\"ip\":\"192.0.2.2\"}],\"ports\":[{\"name\":\"https\",\"port\":"
              "6443,\"protocol\":\"TCP\"}]}]");
    slice = get(&k, SLICE);
    assert_at(slice, "metadata.labels", "{\"kubernetes.io/service-name\":\"kubernetes\"}");
    assert_at(slice, "addressType", "IPv4");
    assert_at(slice, "endpoints",
              "[{\"addresses\":[\"192.0.2.2\"],\"conditions\":{\"ready\":true}}]");
    assert_at(slice, "ports", "[{\"name\":\"https\",\"port\":6443,\"protocol\":\"TCP\"}]");
    stop(&k);
    afx_close(&k.a);
}

TEST(kubernetes_service, is_not_written_while_nothing_differs)
{
    struct kfx k = {.has_others = false};
    static const char *const paths[] = {SERVICE, ENDPOINTS, SLICE};
    const char *before[COR_ARRAY_LEN(paths)];

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    for (size_t i = 0; i < COR_ARRAY_LEN(paths); i++)
        before[i] = rv_of(&k, paths[i]);
    check(&k);
    stop(&k);
    start(&k, "192.0.2.2", 6443);
    for (size_t i = 0; i < COR_ARRAY_LEN(paths); i++)
        assert_string_equal(rv_of(&k, paths[i]), before[i]);
    stop(&k);
    afx_close(&k.a);
}

TEST(kubernetes_service, comes_back_and_its_endpoints_are_put_right)
{
    struct kfx k = {.has_others = false};

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    fx_do(&k.a.fx, 200, "DELETE", SERVICE, "");
    fx_do(&k.a.fx, 200, "PATCH", SLICE, "{\"endpoints\":[]}");
    check(&k);
    assert_at(get(&k, SERVICE), "spec.clusterIP", "10.0.0.1");
    /* They went with the Service. */
    assert_at(get(&k, ENDPOINTS), "subsets[0].addresses[0].ip", "192.0.2.2");
    assert_at(get(&k, SLICE), "endpoints[0].addresses[0]", "192.0.2.2");
    fx_do(
        &k.a.fx, 200, "PATCH", ENDPOINTS,
        "{\"metadata\":{\"labels\":{\"mine\":\"1\"}},\"subsets\":[{\"addresses\":[{\"ip\":"
        "\"192.0.2.9\"},{\"ip\":\"192.0.2.2\"}],\"ports\":[{\"name\":\"https\",\"port\":6443}]}]}");
    check(&k);
    assert_at(get(&k, ENDPOINTS), "subsets[0].addresses", "[{\"ip\":\"192.0.2.2\"}]");
    assert_at(get(&k, ENDPOINTS), "metadata.labels.mine", "1");
    afx_check_whole(&k.a);
    stop(&k);
    afx_close(&k.a);
}

/* The Service itself is not changed, as upstream's. */
TEST(kubernetes_service, gets_endpoints_of_the_port_and_address_of_a_later_start)
{
    const char *before;
    struct kfx k = {.has_others = false};

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    stop(&k);
    start(&k, "192.0.2.3", 7443);
    assert_at(get(&k, SERVICE), "spec.ports[0].targetPort", "6443");
    assert_at(get(&k, ENDPOINTS), "subsets",
              "[{\"addresses\":[{\"ip\":\"192.0.2.3\"}],\"ports\":[{\"name\":\"https\",\"port\":"
              "7443,\"protocol\":\"TCP\"}]}]");
    assert_at(get(&k, SLICE), "ports[0].port", "7443");
    stop(&k);
    /* Nobody but this machine reaches the server now. */
    start(&k, NULL, 6443);
    assert_at(get(&k, ENDPOINTS), "subsets", "");
    assert_at(get(&k, SLICE), "endpoints", "null");
    before = rv_of(&k, SLICE);
    check(&k);
    assert_string_equal(rv_of(&k, SLICE), before);
    stop(&k);
    /* The type of a slice cannot be changed. */
    start(&k, "2001:db8::7", 6443);
    check(&k);
    assert_at(get(&k, SLICE), "addressType", "IPv6");
    assert_at(get(&k, SLICE), "endpoints[0].addresses", "[\"2001:db8::7\"]");
    stop(&k);
    afx_close(&k.a);
}

/* Another server on the store, with another port, has the last word once. */
TEST(kubernetes_service, leaves_the_ports_of_endpoints_alone_after_its_start)
{
    struct kfx k = {.has_others = false};

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    fx_do(&k.a.fx, 200, "PATCH", ENDPOINTS,
          "{\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.2\"}],\"ports\":[{\"name\":\"https\","
          "\"port\":7443}]}]}");
    check(&k);
    assert_at(get(&k, ENDPOINTS), "subsets[0].ports[0].port", "7443");
    assert_at(get(&k, SLICE), "ports[0].port", "7443");
    stop(&k);
    afx_close(&k.a);
}

TEST(kubernetes_service, that_cannot_get_its_address_is_tried_again)
{
    struct kfx k = {.has_others = false};

    afx_open(&k.a, NULL, NULL);
    fx_do(&k.a.fx, 201, "POST", SERVICES,
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"clusterIP\":\"10.0.0.1\"," FX_PORTS "}}");
    start(&k, "192.0.2.2", 6443);
    fx_do(&k.a.fx, 404, "GET", SERVICE, "");
    fx_do(&k.a.fx, 200, "DELETE", SERVICES "/s", "");
    check(&k);
    assert_at(get(&k, SERVICE), "spec.clusterIP", "10.0.0.1");
    get(&k, ENDPOINTS);
    stop(&k);
    afx_close(&k.a);
}

/* The first pass that succeeds sets the ports of the endpoints. */
TEST(kubernetes_service, a_pass_without_its_namespace_has_not_succeeded)
{
    struct kfx k = {.has_others = false};

    fx_open(&k.a.fx);
    afx_start(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    fx_bootstrap(&k.a.fx);
    fx_do(&k.a.fx, 201, "POST", "/api/v1/namespaces/default/endpoints",
          "{\"metadata\":{\"name\":\"kubernetes\",\"labels\":{"
          "\"endpointslice.kubernetes.io/skip-mirror\":\"true\"}},\"subsets\":[{\"addresses\":["
          "{\"ip\":\"192.0.2.2\"}],\"ports\":[{\"name\":\"https\",\"port\":7443}]}]}");
    check(&k);
    assert_at(get(&k, SERVICE), "spec.clusterIP", "10.0.0.1");
    assert_at(get(&k, ENDPOINTS), "subsets[0].ports[0].port", "6443");
    stop(&k);
    afx_close(&k.a);
}

TEST(kubernetes_service, stops_in_the_middle_of_a_pass)
{
    bool is_stopped = false, is_done = false;
    struct afx_hold writing;
    struct kfx k = {.has_others = false};

    afx_open(&k.a, NULL, NULL);
    start(&k, NULL, 6443);
    fx_do(&k.a.fx, 200, "DELETE", SERVICE, "");
    afx_hold(&k.a, &writing, COR_ENGINE_WRITE, "services/specs/default/kubernetes");
    cor_kubernetes_service_check(k.service, set_true, &is_done);
    afx_wait_held(&k.a, &writing);
    cor_kubernetes_service_stop(k.service, set_true, &is_stopped);
    assert_true(cor_loop_run_until(k.a.fx.loop, is_set, &is_stopped, FX_TIMEOUT_MS));
    k.service = cor_kubernetes_service_free(k.service);
    assert_false(is_done);
    afx_let_go(&k.a, &writing);
    afx_close(&k.a);
}

/* Whatever of the pass is under way, a request that is sent, answered or ending included. */
TEST(kubernetes_service, stops_at_any_turn_of_a_pass)
{
    struct kfx k = {.has_others = false};

    afx_open(&k.a, NULL, NULL);
    for (int turns = 0; turns < 16; turns++) {
        bool is_stopped = false, is_done = false, was_done;

        start(&k, "192.0.2.2", 6443);
        /* It may be missing: a creation of the turn before may still be under way. */
        fx_do(&k.a.fx, 0, "DELETE", SERVICE, "");
        cor_kubernetes_service_check(k.service, set_true, &is_done);
        for (int t = 0; t < turns; t++)
            (void)cor_loop_run_ready(k.a.fx.loop, 1);
        was_done = is_done;
        cor_kubernetes_service_stop(k.service, set_true, &is_stopped);
        assert_true(cor_loop_run_until(k.a.fx.loop, is_set, &is_stopped, FX_TIMEOUT_MS));
        k.service = cor_kubernetes_service_free(k.service);
        assert_int_equal(is_done, was_done);
    }
    afx_close(&k.a);
}

struct ending {
    struct cor_kubernetes_service *service;
    bool is_stopped;
};

static void stop_inside(void *arg)
{
    struct ending *ending = arg;

    cor_kubernetes_service_stop(ending->service, set_true, &ending->is_stopped);
}

TEST(kubernetes_service, may_be_stopped_by_the_callback_of_a_pass)
{
    struct kfx k = {.has_others = false};
    struct ending ending = {.is_stopped = false};

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    ending.service = k.service;
    cor_kubernetes_service_check(k.service, stop_inside, &ending);
    assert_true(cor_loop_run_until(k.a.fx.loop, is_set, &ending.is_stopped, FX_TIMEOUT_MS));
    k.service = cor_kubernetes_service_free(k.service);
    afx_close(&k.a);
}

TEST(kubernetes_service, fails_cleanly_without_memory)
{
    struct kfx k = {.has_others = false};

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    FOR_EACH_FAILED_ALLOC(n) {
        check(&k);
    }
    fx_do(&k.a.fx, 200, "DELETE", SERVICE, "");
    fx_do(&k.a.fx, 200, "DELETE", SLICE, "");
    FOR_EACH_FAILED_ALLOC(n) {
        check(&k);
    }
    check(&k);
    assert_at(get(&k, SERVICE), "spec.clusterIP", "10.0.0.1");
    assert_at(get(&k, ENDPOINTS), "subsets[0].addresses[0].ip", "192.0.2.2");
    assert_at(get(&k, SLICE), "endpoints[0].addresses[0]", "192.0.2.2");
    stop(&k);
    afx_close(&k.a);
}

/* The services of two servers that share a store. */
static void share(struct kfx *k, struct cor_kubernetes_service **ret_first)
{
    afx_open(&k->a, NULL, NULL);
    start(k, "192.0.2.7", 6443);
    *ret_first = k->service;
    start(k, "192.0.2.2", 7443);
}

TEST(kubernetes_service, has_the_addresses_of_all_servers_on_the_store)
{
    struct kfx k = {.has_others = true};
    struct cor_kubernetes_service *first, *second;
    const char *before;

    share(&k, &first);
    second = k.service;
    assert_at(get(&k, ENDPOINTS), "subsets[0].ports[0].port", "6443");
    assert_at(get(&k, ENDPOINTS), "subsets[0].addresses",
              "[{\"ip\":\"192.0.2.2\"},{\"ip\":\"192.0.2.7\"}]");
    assert_at(get(&k, SLICE), "endpoints",
              "[{\"addresses\":[\"192.0.2.2\"],\"conditions\":{\"ready\":true}},"
              "{\"addresses\":[\"192.0.2.7\"],\"conditions\":{\"ready\":true}}]");
    /* They do not overwrite one another. */
    before = rv_of(&k, ENDPOINTS);
    check(&k);
    k.service = first;
    check(&k);
    check(&k);
    assert_string_equal(rv_of(&k, ENDPOINTS), before);
    /* A kube-apiserver has its own order, and compares the slice with it. */
    fx_do(
        &k.a.fx, 200, "PATCH", ENDPOINTS,
        "{\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.7\"},{\"ip\":\"192.0.2.2\"}],\"ports\":[{"
        "\"name\":\"https\",\"port\":6443,\"protocol\":\"TCP\"}]}]}");
    before = rv_of(&k, ENDPOINTS);
    check(&k);
    assert_string_equal(rv_of(&k, ENDPOINTS), before);
    assert_at(get(&k, SLICE), "endpoints[0].addresses[0]", "192.0.2.7");
    /* One address twice is not both of them. */
    fx_do(
        &k.a.fx, 200, "PATCH", ENDPOINTS,
        "{\"subsets\":[{\"addresses\":[{\"ip\":\"192.0.2.7\"},{\"ip\":\"192.0.2.7\"}],\"ports\":[{"
        "\"name\":\"https\",\"port\":6443,\"protocol\":\"TCP\"}]}]}");
    check(&k);
    assert_at(get(&k, ENDPOINTS), "subsets[0].addresses",
              "[{\"ip\":\"192.0.2.2\"},{\"ip\":\"192.0.2.7\"}]");
    /* The one that goes is not among them any more. */
    stop(&k);
    k.service = second;
    check(&k);
    assert_at(get(&k, ENDPOINTS), "subsets[0].addresses", "[{\"ip\":\"192.0.2.2\"}]");
    assert_at(get(&k, SLICE), "endpoints[0].addresses", "[\"192.0.2.2\"]");
    stop(&k);
    afx_close(&k.a);
}

TEST(kubernetes_service, stops_while_its_lease_is_being_renewed)
{
    struct kfx k = {.has_others = true};
    bool is_stopped = false, is_done = false;
    struct afx_hold writing;

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    afx_hold(&k.a, &writing, COR_ENGINE_WRITE, "masterleases/192.0.2.2");
    cor_kubernetes_service_check(k.service, set_true, &is_done);
    afx_wait_held(&k.a, &writing);
    cor_kubernetes_service_stop(k.service, set_true, &is_stopped);
    assert_false(is_stopped);
    afx_let_go(&k.a, &writing);
    assert_true(cor_loop_run_until(k.a.fx.loop, is_set, &is_stopped, FX_TIMEOUT_MS));
    k.service = cor_kubernetes_service_free(k.service);
    assert_false(is_done);
    afx_close(&k.a);
}

TEST(kubernetes_service, of_several_servers_fails_cleanly_without_memory)
{
    struct kfx k = {.has_others = true};

    afx_open(&k.a, NULL, NULL);
    start(&k, "192.0.2.2", 6443);
    FOR_EACH_FAILED_ALLOC(n) {
        check(&k);
    }
    check(&k);
    assert_at(get(&k, ENDPOINTS), "subsets[0].addresses", "[{\"ip\":\"192.0.2.2\"}]");
    stop(&k);
    afx_close(&k.a);
}
