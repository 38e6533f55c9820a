#include "alloc_fixture.h"

#include <stdio.h>

#include "base/err.h"
#include "loop/timer.h"

#define SERVICE(name, spec) "{\"metadata\":{\"name\":\"" name "\"},\"spec\":{" spec "}}"
#define PORT_80             "\"ports\":[{\"port\":80}]"

static const char *create(struct afx *a, const char *body)
{
    return fx_do(&a->fx, 201, "POST", SERVICES, body);
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct afx *)arg)->fx.api, 0)) == 0;
}

static bool has_default_range(void *arg)
{
    struct cor_addr_range range;

    return cor_address_index_range(cor_alloc_index(arg), COR_IPV4, &range) == 0;
}

/* The request is refused with this code and message, and leaves nothing reserved. */
static void check_refused(struct afx *a, int code, const char *body, const char *message)
{
    size_t before = afx_addresses(a);
    char ports[4096];

    snprintf(ports, sizeof(ports), "%s", afx_ports(a));
    assert_at(fx_do(&a->fx, code, "POST", SERVICES, body), "message", message);
    assert_int_equal(afx_addresses(a), before);
    assert_string_equal(afx_ports(a), ports);
}

/* Contract types 4.5.6. */
TEST(allocate, the_default_range_is_an_object_that_is_ready)
{
    struct afx a;
    const char *cidr;

    afx_open(&a, NULL, NULL);
    cidr = fx_do(&a.fx, 200, "GET", CIDRS "/kubernetes", "");
    assert_at(cidr, "spec.cidrs", "[\"10.0.0.0/24\"]");
    assert_at(cidr, "status.conditions",
              "[{\"lastTransitionTime\":\"2025-01-01T00:00:00Z\",\"message\":\"Kubernetes default "
              "Service CIDR is ready\",\"reason\":\"\",\"status\":\"True\",\"type\":\"Ready\"}]");
    afx_close(&a);
}

/* Contract types 4.5.1, 4.5.6. */
TEST(allocate, a_new_service_has_an_address_that_an_object_reserves)
{
    struct afx a;
    const char *service, *address;
    char path[128], ip[64];

    afx_open(&a, NULL, NULL);
    service = create(&a, SERVICE("s", PORT_80));
    snprintf(ip, sizeof(ip), "%s", fx_at(service, "spec.clusterIP"));
    assert_memory_equal(ip, "10.0.0.", 7);
    assert_string_equal(fx_at(service, "spec.clusterIPs[0]"), ip);
    assert_at(service, "spec.ipFamilies", "[\"IPv4\"]");
    assert_at(service, "spec.ipFamilyPolicy", "SingleStack");
    assert_string_equal(fx_do(&a.fx, 200, "GET", SERVICES "/s", ""), service);
    snprintf(path, sizeof(path), "%s/%s", ADDRESSES, ip);
    address = fx_do(&a.fx, 200, "GET", path, "");
    assert_at(address, "metadata.labels",
              "{\"ipaddress.kubernetes.io/ip-family\":\"IPv4\",\"ipaddress.kubernetes.io/"
              "managed-by\":\"ipallocator.k8s.io\"}");
    assert_at(address, "spec.parentRef",
              "{\"name\":\"s\",\"namespace\":\"default\",\"resource\":\"services\"}");
    assert_at(address, "metadata.creationTimestamp", "2025-01-01T00:00:00Z");
    fx_do(&a.fx, 200, "DELETE", SERVICES "/s", "");
    fx_do(&a.fx, 404, "GET", path, "");
    afx_close(&a);
}

/* Contract types 4.5.2. */
TEST(allocate, headless_and_external_services_have_no_address)
{
    struct afx a;
    const char *service;

    afx_open(&a, NULL, NULL);
    service = create(&a, SERVICE("h", "\"clusterIP\":\"None\",\"selector\":{\"a\":\"b\"}"));
    assert_at(service, "spec.clusterIPs", "[\"None\"]");
    assert_at(service, "spec.ipFamilies", "[\"IPv4\"]");
    assert_at(service, "spec.ipFamilyPolicy", "SingleStack");
    service = create(&a, SERVICE("n", "\"clusterIP\":\"None\""));
    assert_at(service, "spec.ipFamilies", "[\"IPv4\",\"IPv6\"]");
    assert_at(service, "spec.ipFamilyPolicy", "RequireDualStack");
    service = create(&a, SERVICE("e", "\"type\":\"ExternalName\",\"externalName\":\"x.y\""));
    assert_at(service, "spec.clusterIP", "");
    assert_at(service, "spec.ipFamilies", "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

/* Contract validation 8.2.1. */
TEST(allocate, an_address_that_is_asked_for_is_given_once)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    assert_at(create(&a, SERVICE("s", "\"clusterIP\":\"10.0.0.9\"," PORT_80)), "spec.clusterIPs",
              "[\"10.0.0.9\"]");
    check_refused(
        &a, 422, SERVICE("t", "\"clusterIP\":\"10.0.0.9\"," PORT_80),
        "Service \"t\" is invalid: spec.clusterIPs: Invalid value: [\"10.0.0.9\"]: failed "
        "to allocate IP 10.0.0.9: provided IP is already allocated");
    check_refused(&a, 422, SERVICE("t", "\"clusterIP\":\"10.0.0.255\"," PORT_80),
                  "Service \"t\" is invalid: spec.clusterIPs: Invalid value: [\"10.0.0.255\"]: "
                  "failed to allocate IP 10.0.0.255: the provided network does not match the "
                  "current range");
    check_refused(
        &a, 422, SERVICE("t", "\"clusterIP\":\"fd00::1\"," PORT_80),
        "Service \"t\" is invalid: spec.clusterIPs[0]: Invalid value: [\"fd00::1\"]: IPv6 "
        "is not configured on this cluster");
    fx_do(&a.fx, 200, "DELETE", SERVICES "/s", "");
    create(&a, SERVICE("t", "\"clusterIP\":\"10.0.0.9\"," PORT_80));
    afx_close(&a);
}

/* Contract types 4.5.5. */
TEST(allocate, a_full_range_refuses_and_takes_again_what_is_released)
{
    struct afx a;
    char body[128];

    afx_open(&a, "10.0.0.0/29", NULL);
    for (int i = 0; i < 6; i++) {
        snprintf(body, sizeof(body), SERVICE("s%d", PORT_80), i);
        create(&a, body);
    }
    check_refused(&a, 500, SERVICE("t", PORT_80),
                  "Internal error occurred: failed to allocate a serviceIP: range is full");
    fx_do(&a.fx, 200, "DELETE", SERVICES "/s3", "");
    create(&a, SERVICE("t", PORT_80));
    afx_close(&a);
}

TEST(allocate, a_name_that_is_taken_gives_the_reservation_back)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    create(&a, SERVICE("s", PORT_80));
    check_refused(&a, 409, SERVICE("s", PORT_80), "services \"s\" already exists");
    check_refused(&a, 422, SERVICE("S", PORT_80),
                  "Service \"S\" is invalid: metadata.name: Invalid value: \"S\": a DNS-1035 label "
                  "must consist of lower case alphanumeric characters or '-', start with an "
                  "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  "
                  "or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')");
    afx_close(&a);
}

TEST(allocate, a_generated_name_is_the_one_that_the_reservation_has)
{
    struct afx a;
    const char *service;
    char path[128];

    afx_open(&a, NULL, NULL);
    service = create(&a, "{\"metadata\":{\"generateName\":\"web-\"},\"spec\":{" PORT_80 "}}");
    snprintf(path, sizeof(path), "%s/%s", ADDRESSES, fx_at(service, "spec.clusterIP"));
    assert_string_equal(fx_at(fx_do(&a.fx, 200, "GET", path, ""), "spec.parentRef.name"),
                        fx_at(service, "metadata.name"));
    assert_memory_equal(fx_at(service, "metadata.name"), "web-", 4);
    afx_close(&a);
}

/* Contract types 4.5.1, 4.5.5. */
TEST(allocate, a_dry_run_reserves_nothing)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    create(&a, SERVICE("s", "\"clusterIP\":\"10.0.0.9\"," PORT_80));
    assert_at(fx_do(&a.fx, 201, "POST", SERVICES "?dryRun=All", SERVICE("t", PORT_80)),
              "spec.clusterIP", "10.0.0.0");
    assert_at(fx_do(&a.fx, 201, "POST", SERVICES "?dryRun=All",
                    SERVICE("t", "\"clusterIP\":\"10.0.0.9\"," PORT_80)),
              "spec.clusterIP", "10.0.0.9");
    assert_at(fx_do(&a.fx, 422, "POST", SERVICES "?dryRun=All",
                    SERVICE("t", "\"clusterIP\":\"10.1.0.9\"," PORT_80)),
              "message",
              "Service \"t\" is invalid: spec.clusterIPs: Invalid value: [\"10.1.0.9\"]: failed to "
              "allocate IP 10.1.0.9: the provided IP (10.1.0.9) is not in the valid range. The "
              "range of valid IPs is 10.0.0.0/24");
    fx_do(&a.fx, 200, "DELETE", SERVICES "/s?dryRun=All", "");
    assert_int_equal(afx_addresses(&a), 1);
    afx_close(&a);
}

/* Contract types 4.5.11. */
TEST(allocate, the_last_finalizer_takes_the_reservation_along)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    create(&a, "{\"metadata\":{\"name\":\"s\",\"finalizers\":[\"a.b/c\"]},\"spec\":{" PORT_80 "}}");
    fx_do(&a.fx, 201, "POST", "/api/v1/namespaces/default/endpoints",
          "{\"metadata\":{\"name\":\"s\"}}");
    fx_do(&a.fx, 200, "DELETE", SERVICES "/s", "");
    assert_int_equal(afx_addresses(&a), 1);
    fx_do(&a.fx, 200, "PATCH", SERVICES "/s/status", "{\"metadata\":{\"finalizers\":null}}");
    fx_do(&a.fx, 404, "GET", SERVICES "/s", "");
    fx_do(&a.fx, 404, "GET", "/api/v1/namespaces/default/endpoints/s", "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

TEST(allocate, a_collection_that_is_deleted_releases_all_of_it)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    create(&a, SERVICE("s", PORT_80));
    create(&a, SERVICE("t", PORT_80));
    fx_do(&a.fx, 200, "DELETE", SERVICES, "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

TEST(allocate, a_range_that_is_added_is_used_and_a_deleted_one_comes_back)
{
    struct afx a;

    afx_open(&a, "10.0.0.0/29", NULL);
    fx_do(&a.fx, 201, "POST", CIDRS,
          "{\"metadata\":{\"name\":\"more\"},\"spec\":{\"cidrs\":[\"10.1.0.0/24\"]}}");
    create(&a, SERVICE("s", "\"clusterIP\":\"10.1.0.9\"," PORT_80));
    fx_do(&a.fx, 200, "DELETE", CIDRS "/more", "");
    check_refused(
        &a, 422, SERVICE("t", "\"clusterIP\":\"10.1.0.10\"," PORT_80),
        "Service \"t\" is invalid: spec.clusterIPs: Invalid value: [\"10.1.0.10\"]: "
        "failed to allocate IP 10.1.0.10: the provided network does not match the current "
        "range");
    fx_do(&a.fx, 200, "DELETE", CIDRS "/kubernetes", "");
    fx_do(&a.fx, 200, "GET", CIDRS "/kubernetes", "");
    afx_close(&a);
}

static void on_idle_timer(struct cor_timer *timer)
{
}

static bool never(void *arg)
{
    return false;
}

/* A retry that has no memory for its timer does not end the retries. */
TEST(allocate, the_default_range_comes_back_although_a_timer_could_not_be_set)
{
    static struct cor_timer timers[4096];
    struct afx_hold deleting, creating;
    size_t n = 0;
    FX_CALL call;
    struct afx a;

    afx_open(&a, NULL, NULL);
    afx_hold(&a, &deleting, COR_ENGINE_WRITE, "servicecidrs/kubernetes");
    fx_start(&a.fx, &call, "DELETE", CIDRS "/kubernetes", "", NULL);
    afx_wait_held(&a, &deleting);
    afx_hold(&a, &creating, COR_ENGINE_WRITE, "servicecidrs/kubernetes");
    afx_let_go(&a, &deleting);
    fx_wait(&call);
    afx_wait_held(&a, &creating);
    /* From here on another timer of the loop needs memory. */
    test_fail_alloc(1, true);
    do {
        assert_true(n < COR_ARRAY_LEN(timers));
        cor_timer_init(&timers[n], a.fx.loop, on_idle_timer);
    } while (cor_timer_set(&timers[n++], FX_TIMEOUT_MS) == 0);
    afx_fail_held(&creating, -COR_EUNREACHABLE);
    (void)cor_loop_run_until(a.fx.loop, never, NULL, 5);
    test_fail_alloc(0, false);
    assert_true(cor_loop_run_until(a.fx.loop, has_default_range, a.alloc, FX_TIMEOUT_MS));
    while (n-- > 0)
        cor_timer_cancel(&timers[n]);
    fx_do(&a.fx, 200, "GET", CIDRS "/kubernetes", "");
    afx_close(&a);
}

/* A reservation whose client has gone is given back, or belongs to the Service that was stored. */
TEST(allocate, a_reader_that_goes_leaves_no_reservation_behind)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    for (int i = 0; i < 4; i++) {
        struct fx_call call;

        fx_start(&a.fx, &call, "POST", SERVICES, SERVICE("s", PORT_80), NULL);
        for (int turn = 0; turn < i; turn++)
            afx_turn(&a);
        fx_call_deinit(&call);
        fx_do(&a.fx, 0, "DELETE", SERVICES "/s", "");
    }
    fx_do(&a.fx, 0, "DELETE", SERVICES "/s", "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

/* A Service that is so large that threads plan and make it. */
static const char *large_service(char *out, size_t max)
{
    size_t n = (size_t)snprintf(
        out, max, "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[");

    for (int i = 0; i < 2000; i++)
        n += (size_t)snprintf(out + n, max - n, "%s{\"name\":\"port-%d\",\"port\":%d}",
                              i > 0 ? "," : "", i, i + 1);
    snprintf(out + n, max - n, "]}}");
    return out;
}

TEST(allocate, a_large_service_is_reserved_and_released_as_a_small_one)
{
    struct afx a;
    char body[100000];

    afx_open(&a, NULL, NULL);
    large_service(body, sizeof(body));
    assert_at(create(&a, body), "spec.ports[1999].name", "port-1999");
    assert_at(fx_do(&a.fx, 200, "PATCH", SERVICES "/s", "{\"spec\":{\"type\":\"ClusterIP\"}}"),
              "spec.ports[7].nodePort", "");
    assert_string_equal(afx_ports(&a), "");
    fx_do(&a.fx, 200, "PATCH", SERVICES "/s", "{\"spec\":{\"type\":\"NodePort\"}}");
    fx_do(&a.fx, 500, "POST", SERVICES, body); /* the range is full */
    fx_do(&a.fx, 200, "DELETE", SERVICES "/s", "");
    assert_string_equal(afx_ports(&a), "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

TEST(allocate, a_reader_that_goes_during_a_large_service_leaves_no_reservation_behind)
{
    struct afx a;
    char body[100000];

    afx_open(&a, NULL, NULL);
    large_service(body, sizeof(body));
    for (int i = 0; i < 12; i++) {
        struct fx_call call;

        fx_start(&a.fx, &call, "POST", SERVICES, body, NULL);
        for (int turn = 0; turn < i; turn++)
            afx_turn(&a);
        fx_call_deinit(&call);
        fx_do(&a.fx, 0, "DELETE", SERVICES "/s", "");
    }
    assert_true(cor_loop_run_until(a.fx.loop, has_no_calls, &a, FX_TIMEOUT_MS));
    fx_do(&a.fx, 0, "DELETE", SERVICES "/s", "");
    assert_string_equal(afx_ports(&a), "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

TEST(allocate, every_failed_allocation_leaves_nothing_reserved)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&a.fx, &call, "POST", SERVICES,
                 "{\"metadata\":{\"generateName\":\"s\"},\"spec\":{" PORT_80 "}}", NULL);
        fx_wait(&call);
        assert_true(call.is_bare || call.sink.is_aborted || call.sink.status == 500 ||
                    call.sink.status == 201);
    }
    fx_do(&a.fx, 200, "DELETE", SERVICES, "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

/* The repair of a server that is alone on its store releases leaks at once, because nothing can be
 * under way before it. A request that comes so early is not taken for a leak. */
TEST(allocate, a_service_that_is_created_during_the_first_repair_keeps_its_address)
{
    struct afx_hold reading, storing;
    FX_CALL call;
    struct afx a;

    afx_open(&a, NULL, NULL);
    afx_stop(&a);
    /* The repair begins by reading the ports: it waits there until the Service has its address and
     * port, and the Service is stored only after the repair. */
    afx_hold(&a, &reading, COR_ENGINE_RANGE, "servicenodeports");
    afx_begin(&a, NULL, NULL);
    afx_wait_held(&a, &reading);
    afx_hold(&a, &storing, COR_ENGINE_WRITE, "services/specs/default/s");
    fx_start(&a.fx, &call, "POST", SERVICES, SERVICE("s", "\"type\":\"NodePort\"," PORT_80), NULL);
    afx_wait_held(&a, &storing);
    afx_let_go(&a, &reading);
    afx_wait_ready(&a);
    afx_let_go(&a, &storing);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 201);
    afx_check_whole(&a);
    afx_close(&a);
}

/* A failed reservation may have been stored all the same, and is undone; meanwhile the address may
 * belong to another request that creates a Service of the same name. */
TEST(allocate, undoing_a_failed_reservation_leaves_the_address_of_a_namesake)
{
    struct afx_hold reserving;
    FX_CALL call;
    struct afx a;

    afx_open(&a, NULL, NULL);
    afx_hold(&a, &reserving, COR_ENGINE_WRITE, "ipaddresses/10.0.0.9");
    fx_start(&a.fx, &call, "POST", SERVICES, SERVICE("s", "\"clusterIP\":\"10.0.0.9\"," PORT_80),
             NULL);
    afx_wait_held(&a, &reserving);
    create(&a, SERVICE("s", "\"clusterIP\":\"10.0.0.9\"," PORT_80));
    afx_fail_held(&reserving, -COR_ETIMEOUT);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 504);
    afx_check_whole(&a);
    afx_close(&a);
}

/* A client that comes before the ranges are known is told to try again. */
TEST(allocate, a_service_that_comes_before_the_ranges_are_known_may_be_tried_again)
{
    struct afx_hold creating;
    FX_CALL call;
    struct afx a;

    a = (struct afx){.fx = {0}};
    fx_open(&a.fx);
    fx_bootstrap(&a.fx);
    afx_hold(&a, &creating, COR_ENGINE_WRITE, "servicecidrs/kubernetes");
    afx_begin(&a, NULL, NULL);
    for (int i = 0; i < 2; i++) {
        fx_start(&a.fx, &call, "POST", SERVICES,
                 i == 0 ? SERVICE("s", PORT_80)
                        : SERVICE("s", "\"clusterIP\":\"10.0.0.9\"," PORT_80),
                 NULL);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 429);
        assert_str(sink_header(&call.sink, "Retry-After"), "1");
        fx_call_deinit(&call);
    }
    afx_wait_held(&a, &creating);
    afx_let_go(&a, &creating);
    afx_wait_ready(&a);
    fx_start(&a.fx, &call, "POST", SERVICES, SERVICE("s", PORT_80), NULL);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 201);
    afx_check_whole(&a);
    afx_close(&a);
}

#define DUAL "10.96.0.0/16,fd00:10:96::/112"

/* Sends a change of the Service s, which is refused with this message. */
static void check_change(struct afx *a, int code, const char *patch, const char *message)
{
    assert_at(fx_do(&a->fx, code, "PATCH", SERVICES "/s", patch), "message", message);
    afx_check_whole(a);
}

static const char *change(struct afx *a, const char *patch)
{
    const char *service = fx_do(&a->fx, 200, "PATCH", SERVICES "/s", patch);

    afx_check_whole(a);
    return service;
}

/* Contract types 4.5.3. */
TEST(allocate, a_dual_stack_service_has_an_address_of_each_family)
{
    struct afx a;
    const char *service;

    afx_open(&a, DUAL, NULL);
    service = create(&a, SERVICE("s", "\"ipFamilyPolicy\":\"PreferDualStack\"," PORT_80));
    assert_at(service, "spec.ipFamilies", "[\"IPv4\",\"IPv6\"]");
    assert_memory_equal(fx_at(service, "spec.clusterIPs[1]"), "fd00:10:96::", 12);
    assert_int_equal(afx_addresses(&a), 2);
    service = create(&a, SERVICE("t", "\"ipFamilyPolicy\":\"RequireDualStack\",\"ipFamilies\":"
                                      "[\"IPv6\"]," PORT_80));
    assert_at(service, "spec.ipFamilies", "[\"IPv6\",\"IPv4\"]");
    assert_at(create(&a, SERVICE("u", "\"clusterIP\":\"fd00:10:96::7\"," PORT_80)),
              "spec.ipFamilies", "[\"IPv6\"]");
    afx_check_whole(&a);
    fx_do(&a.fx, 200, "DELETE", SERVICES, "");
    assert_int_equal(afx_addresses(&a), 0);
    afx_close(&a);
}

/* Contract types 4.5.4, validation 8.1.28, 8.1.30, 8.2.3. */
TEST(allocate, a_service_gains_and_loses_its_second_family)
{
    struct afx a;
    const char *service;

    afx_open(&a, DUAL, NULL);
    create(&a, SERVICE("s", "\"clusterIP\":\"10.96.7.7\"," PORT_80));
    service = change(&a, "{\"spec\":{\"ipFamilyPolicy\":\"RequireDualStack\"}}");
    assert_at(service, "spec.clusterIPs[0]", "10.96.7.7");
    assert_at(service, "spec.ipFamilies", "[\"IPv4\",\"IPv6\"]");
    assert_int_equal(afx_addresses(&a), 2);
    check_change(&a, 422, "{\"spec\":{\"clusterIPs\":[\"10.96.7.7\"]}}",
                 "Service \"s\" is invalid: spec.ipFamilyPolicy: Invalid value: "
                 "\"RequireDualStack\": must be 'SingleStack' to release the secondary cluster IP");
    check_change(
        &a, 422,
        "{\"spec\":{\"clusterIP\":\"10.96.7.8\",\"clusterIPs\":[\"10.96.7.8\"],"
        "\"ipFamilies\":[\"IPv4\"],\"ipFamilyPolicy\":\"SingleStack\"}}",
        "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.96.7.8\"]: may "
        "not change once set");
    service = change(&a, "{\"spec\":{\"ipFamilyPolicy\":\"SingleStack\"}}");
    assert_at(service, "spec.clusterIPs", "[\"10.96.7.7\"]");
    assert_int_equal(afx_addresses(&a), 1);
    check_change(
        &a, 422, "{\"spec\":{\"clusterIP\":\"10.96.7.8\"}}",
        "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.96.7.8\"]: may "
        "not change once set");
    assert_at(change(&a, "{\"spec\":{\"clusterIP\":null,\"clusterIPs\":null}}"), "spec.clusterIP",
              "10.96.7.7");
    afx_close(&a);
}

/* Stored before there were lists of addresses. */
#define OLD_SERVICE                                                                                \
    "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"s\",\"namespace\":"      \
    "\"default\",\"uid\":\"u\"},\"spec\":{\"clusterIP\":\"10.0.0.77\",\"ports\":[{\"port\":80,"    \
    "\"protocol\":\"TCP\",\"targetPort\":80}],\"sessionAffinity\":\"None\",\"type\":\"ClusterIP\"}}"

/* Contract validation 8.1.28. */
TEST(allocate, the_only_address_of_an_old_service_may_not_change)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    fx_put_raw(&a.fx, "/registry/services/specs/default/s", OLD_SERVICE);
    afx_repair(&a);
    assert_at(fx_do(&a.fx, 422, "PATCH", SERVICES "/s", "{\"spec\":{\"clusterIP\":\"10.0.0.78\"}}"),
              "message",
              "Service \"s\" is invalid: spec.clusterIPs[0]: Invalid value: [\"10.0.0.78\"]: may "
              "not change once set");
    assert_at(change(&a, "{\"metadata\":{\"labels\":{\"a\":\"b\"}}}"), "spec.clusterIPs",
              "[\"10.0.0.77\"]");
    afx_close(&a);
}

/* Contract types 4.5.8. */
TEST(allocate, a_change_of_the_type_reserves_and_releases)
{
    struct afx a;
    const char *service;

    afx_open(&a, NULL, NULL);
    create(&a, SERVICE("s", PORT_80));
    service = change(&a, "{\"spec\":{\"type\":\"LoadBalancer\",\"externalTrafficPolicy\":"
                         "\"Local\"}}");
    assert_string_not_equal(fx_at(service, "spec.healthCheckNodePort"), "");
    assert_string_not_equal(fx_at(service, "spec.ports[0].nodePort"), "");
    check_change(
        &a, 422, "{\"spec\":{\"healthCheckNodePort\":30001}}",
        "Service \"s\" is invalid: spec.healthCheckNodePort: Forbidden: field is immutable");
    service = change(&a, "{\"spec\":{\"type\":\"NodePort\"}}");
    assert_at(service, "spec.healthCheckNodePort", "");
    assert_at(service, "spec.allocateLoadBalancerNodePorts", "");
    service = change(&a, "{\"spec\":{\"type\":\"ClusterIP\"}}");
    assert_at(service, "spec.ports[0].nodePort", "");
    assert_at(service, "spec.externalTrafficPolicy", "");
    assert_string_equal(afx_ports(&a), "");
    service = change(&a, "{\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"a.b\"}}");
    assert_at(service, "spec.clusterIP", "");
    assert_at(service, "spec.clusterIPs", "");
    assert_at(service, "spec.ipFamilies", "");
    assert_at(service, "spec.ipFamilyPolicy", "");
    assert_at(service, "spec.internalTrafficPolicy", "");
    assert_int_equal(afx_addresses(&a), 0);
    service = change(&a, "{\"spec\":{\"type\":\"ClusterIP\",\"externalName\":null}}");
    assert_int_equal(afx_addresses(&a), 1);
    afx_close(&a);
}

#define NODE_PORTS(ports) "\"type\":\"NodePort\",\"ports\":[" ports "]"

/* Contract types 4.5.7, 4.5.8, validation 8.2.2, 8.2.5. */
TEST(allocate, node_ports_are_given_once_kept_by_name_and_shared_by_protocols)
{
    struct afx a;
    const char *service;

    afx_open(&a, NULL, NULL);
    service = create(&a, SERVICE("s", NODE_PORTS("{\"name\":\"a\",\"port\":80,\"nodePort\":30500},"
                                                 "{\"name\":\"b\",\"port\":81}")));
    check_refused(
        &a, 422, SERVICE("t", NODE_PORTS("{\"port\":80,\"nodePort\":30500}")),
        "Service \"t\" is invalid: spec.ports[0].nodePort: Invalid value: 30500: provided "
        "port is already allocated");
    check_refused(&a, 422, SERVICE("t", NODE_PORTS("{\"port\":80,\"nodePort\":80}")),
                  "Service \"t\" is invalid: spec.ports[0].nodePort: Invalid value: 80: provided "
                  "port is not in the valid range. The range of valid ports is 30000-32767");
    service = fx_do(&a.fx, 200, "PUT", SERVICES "/s",
                    SERVICE("s", NODE_PORTS("{\"name\":\"c\",\"port\":82},"
                                            "{\"name\":\"a\",\"port\":80}")));
    assert_at(service, "spec.ports[1].nodePort", "30500");
    afx_check_whole(&a);
    assert_at(fx_do(&a.fx, 500, "PUT", SERVICES "/s",
                    SERVICE("s", NODE_PORTS("{\"name\":\"a\",\"port\":80,\"nodePort\":30501},"
                                            "{\"name\":\"b\",\"port\":81,\"nodePort\":30501}"))),
              "message", "duplicate nodePort: {TCP 30501}");
    afx_check_whole(&a);
    service = create(
        &a, SERVICE("u", NODE_PORTS("{\"name\":\"a\",\"port\":80},{\"name\":\"b\",\"port\":80,"
                                    "\"protocol\":\"UDP\"}")));
    assert_string_equal(fx_at(service, "spec.ports[0].nodePort"),
                        fx_at(service, "spec.ports[1].nodePort"));
    afx_check_whole(&a);
    afx_close(&a);
}

/* Contract types 4.5.5, 4.5.7. */
TEST(allocate, a_dry_run_gives_no_port_twice)
{
    struct afx a;
    const char *service;

    afx_open(&a, NULL, NULL);
    create(&a, SERVICE("s", NODE_PORTS("{\"port\":80,\"nodePort\":30500}")));
    assert_at(fx_do(&a.fx, 422, "POST", SERVICES "?dryRun=All",
                    SERVICE("t", NODE_PORTS("{\"port\":80,\"nodePort\":30500}"))),
              "message",
              "Service \"t\" is invalid: spec.ports[0].nodePort: Invalid value: 30500: provided "
              "port is already allocated");
    assert_at(fx_do(&a.fx, 422, "POST", SERVICES "?dryRun=All",
                    SERVICE("t", NODE_PORTS("{\"name\":\"a\",\"port\":80,\"nodePort\":30501},"
                                            "{\"name\":\"b\",\"port\":81,\"nodePort\":30501}"))),
              "message",
              "Service \"t\" is invalid: spec.ports[1].nodePort: Invalid value: 30501: provided "
              "port is already allocated");
    service = fx_do(&a.fx, 201, "POST", SERVICES "?dryRun=All",
                    SERVICE("t", NODE_PORTS("{\"name\":\"a\",\"port\":80},"
                                            "{\"name\":\"b\",\"port\":81,\"nodePort\":32800},"
                                            "{\"name\":\"c\",\"port\":82}")));
    assert_at(service, "spec.ports[0].nodePort", "32769");
    assert_at(service, "spec.ports[2].nodePort", "32801");
    afx_check_whole(&a);
    afx_close(&a);
}

/* Contract types 4.5.7. */
TEST(allocate, a_full_range_of_ports_refuses)
{
    struct afx a;

    afx_open(&a, NULL, "30000-30001");
    create(&a, SERVICE("s", NODE_PORTS("{\"name\":\"a\",\"port\":80},{\"name\":\"b\","
                                       "\"port\":81}")));
    check_refused(&a, 500, SERVICE("t", NODE_PORTS("{\"port\":80}")),
                  "Internal error occurred: failed to allocate a nodePort: range is full");
    fx_do(&a.fx, 200, "DELETE", SERVICES "/s", "");
    create(&a, SERVICE("t", NODE_PORTS("{\"port\":80}")));
    afx_check_whole(&a);
    afx_close(&a);
}

TEST(allocate, an_update_without_memory_keeps_what_the_service_has)
{
    struct afx a;

    afx_open(&a, NULL, NULL);
    create(&a, SERVICE("s", PORT_80));
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&a.fx, &call, "PATCH", SERVICES "/s",
                 n % 2 ? "{\"spec\":{\"type\":\"NodePort\"}}"
                       : "{\"spec\":{\"type\":\"ClusterIP\"}}",
                 NULL);
        fx_wait(&call);
    }
    /* What was left by an answer that there was no memory for is repaired. */
    afx_repair(&a);
    cor_clock_manual_advance_us(&a.fx.clock, UINT64_C(60000) * 1000);
    afx_repair(&a);
    afx_check_whole(&a);
    afx_close(&a);
}

static bool has_second_range(void *arg)
{
    struct cor_addr_range range;

    return cor_address_index_range(cor_alloc_index(arg), COR_IPV6, &range) == 0;
}

TEST(allocate, a_second_family_of_the_flags_is_added_to_the_default_range)
{
    struct afx a;

    afx_open(&a, "10.96.0.0/16", NULL);
    afx_stop(&a);
    afx_start(&a, DUAL, NULL);
    assert_true(cor_loop_run_until(a.fx.loop, has_second_range, a.alloc, FX_TIMEOUT_MS));
    assert_at(fx_do(&a.fx, 200, "GET", CIDRS "/kubernetes", ""), "spec.cidrs",
              "[\"10.96.0.0/16\",\"fd00:10:96::/112\"]");
    create(&a, SERVICE("s", "\"ipFamilyPolicy\":\"RequireDualStack\"," PORT_80));
    afx_check_whole(&a);
    /* Other ranges than the flags' stay. */
    afx_stop(&a);
    afx_start(&a, "10.97.0.0/16", NULL);
    assert_at(fx_do(&a.fx, 200, "GET", CIDRS "/kubernetes", ""), "spec.cidrs[0]", "10.96.0.0/16");
    afx_close(&a);
}
