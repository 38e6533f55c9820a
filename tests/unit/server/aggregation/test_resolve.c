/* Where a Service is reached: the order of overrides, EndpointSlices, ClusterIP and ExternalName.
 */
#include <stdio.h>

#include "../port/port_fixture.h"
#include "base/err.h"
#include "server/aggregation/resolve.h"

struct resolving {
    struct pfx p;
    struct cor_resolve rs;
    bool is_done;
    int r;
};

static void on_done(struct cor_resolve *rs, int r)
{
    struct resolving *s = COR_CONTAINER_OF(rs, struct resolving, rs);

    s->is_done = true;
    s->r = r;
}

static bool is_done(void *arg)
{
    return ((struct resolving *)arg)->is_done;
}

static void open_with(struct resolving *s, const struct cor_resolve_overrides *overrides)
{
    pfx_open(&s->p, false);
    fx_do(&s->p.a.fx, 201, "POST", "/api/v1/namespaces", "{\"metadata\":{\"name\":\"wardle\"}}");
    cor_resolve_init(&s->rs, &s->p.ip.port, overrides, on_done);
}

static const char *found(struct resolving *s, uint16_t port, const struct cor_service_address *kept,
                         const struct cor_service_address *avoided)
{
    static char text[COR_RESOLVE_HOST_MAX + 32];
    const struct cor_service_ref ref = {COR_STR("wardle"), COR_STR("api"), port};

    s->is_done = false;
    if (cor_resolve_start(&s->rs, &ref, kept, avoided) == 1)
        pfx_wait(&s->p, is_done, s);
    else
        s->r = 0;
    snprintf(text, sizeof(text), "%d %s %u", s->r, s->rs.found.host, s->rs.found.port);
    return s->r < 0 ? "none" : text + 2;
}

#define WARDLE_SERVICES "/api/v1/namespaces/wardle/services"
#define WARDLE_SLICES   "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices"

static void put_service(struct resolving *s, const char *spec)
{
    char body[512];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"api\"},\"spec\":{%s}}", spec);
    fx_do(&s->p.a.fx, 201, "POST", WARDLE_SERVICES, body);
}

static void put_slice(struct resolving *s, const char *name, const char *rest)
{
    char body[1024];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"kubernetes.io/service-name\":\"api\"}},"
             "\"addressType\":\"IPv4\",%s}",
             name, rest);
    fx_do(&s->p.a.fx, 201, "POST", WARDLE_SLICES, body);
}

TEST(resolve, a_service_that_is_missing_or_lacks_the_port_is_not_found)
{
    struct resolving s;

    open_with(&s, NULL);
    assert_string_equal(found(&s, 443, NULL, NULL), "none");
    assert_int_equal(s.r, -COR_ENOTFOUND);
    put_service(&s, "\"clusterIP\":\"10.0.0.7\",\"ports\":[{\"port\":443}]");
    assert_string_equal(found(&s, 8443, NULL, NULL), "none");
    assert_int_equal(s.r, -COR_ENOTFOUND);
    pfx_close(&s.p);
}

TEST(resolve, without_ready_endpoints_it_is_the_cluster_ip)
{
    struct resolving s;

    open_with(&s, NULL);
    put_service(&s, "\"clusterIP\":\"10.0.0.7\",\"ports\":[{\"name\":\"https\",\"port\":443}]");
    assert_string_equal(found(&s, 443, NULL, NULL), "10.0.0.7 443");
    put_slice(&s, "a",
              "\"ports\":[{\"name\":\"https\",\"port\":8443}],\"endpoints\":[{\"addresses\":"
              "[\"10.1.0.1\"],\"conditions\":{\"ready\":false}}]");
    assert_string_equal(found(&s, 443, NULL, NULL), "10.0.0.7 443");
    put_slice(&s, "b",
              "\"ports\":[{\"name\":\"other\",\"port\":8443}],\"endpoints\":[{\"addresses\":"
              "[\"10.1.0.2\"]}]");
    assert_string_equal(found(&s, 443, NULL, NULL), "10.0.0.7 443");
    pfx_close(&s.p);
}

TEST(resolve, a_ready_endpoint_of_the_ports_name_comes_before_the_cluster_ip)
{
    struct resolving s;
    const struct cor_service_address one = {"10.1.0.1", 8443}, two = {"10.1.0.2", 8443};

    open_with(&s, NULL);
    put_service(&s, "\"clusterIP\":\"10.0.0.7\",\"ports\":[{\"name\":\"https\",\"port\":443}]");
    put_slice(&s, "a",
              "\"ports\":[{\"name\":\"https\",\"port\":8443}],\"endpoints\":[{\"addresses\":"
              "[\"10.1.0.1\"]},{\"addresses\":[\"10.1.0.2\"],\"conditions\":{\"ready\":true}}]");
    for (int i = 0; i < 10; i++) {
        assert_string_equal(found(&s, 443, &one, NULL), "10.1.0.1 8443");
        assert_string_equal(found(&s, 443, &two, NULL), "10.1.0.2 8443");
        assert_string_equal(found(&s, 443, NULL, &one), "10.1.0.2 8443");
        assert_string_equal(found(&s, 443, &one, &one), "10.1.0.2 8443");
    }
    pfx_close(&s.p);
}

TEST(resolve, a_headless_service_has_only_its_endpoints)
{
    struct resolving s;

    open_with(&s, NULL);
    put_service(&s, "\"clusterIP\":\"None\",\"ports\":[{\"port\":443}]");
    assert_string_equal(found(&s, 443, NULL, NULL), "none");
    assert_int_equal(s.r, -COR_ENOTFOUND);
    put_slice(&s, "a",
              "\"ports\":[{\"port\":8443}],\"endpoints\":[{\"addresses\":[\"10.1.0.1\"]}]");
    assert_string_equal(found(&s, 443, NULL, NULL), "10.1.0.1 8443");
    pfx_close(&s.p);
}

/* A service whose only server restarts is found again when that server is back. */
TEST(resolve, an_address_that_failed_is_taken_when_there_is_no_other)
{
    struct resolving s;
    const struct cor_service_address one = {"10.1.0.1", 8443};

    open_with(&s, NULL);
    put_service(&s, "\"clusterIP\":\"None\",\"ports\":[{\"port\":443}]");
    put_slice(&s, "a",
              "\"ports\":[{\"port\":8443}],\"endpoints\":[{\"addresses\":[\"10.1.0.1\"]}]");
    assert_string_equal(found(&s, 443, &one, &one), "10.1.0.1 8443");
    put_slice(&s, "b",
              "\"ports\":[{\"port\":8443}],\"endpoints\":[{\"addresses\":[\"10.1.0.2\"]}]");
    assert_string_equal(found(&s, 443, &one, &one), "10.1.0.2 8443");
    pfx_close(&s.p);
}

/* Contract extension 4.3.5: endpoints do not count for ExternalName. */
TEST(resolve, an_external_name_is_asked_at_the_port_of_the_api_service)
{
    struct resolving s;

    open_with(&s, NULL);
    put_service(&s, "\"type\":\"ExternalName\",\"externalName\":\"api.example.com\"");
    assert_string_equal(found(&s, 8443, NULL, NULL), "api.example.com 8443");
    pfx_close(&s.p);
}

TEST(resolve, an_override_needs_no_service)
{
    struct cor_resolve_overrides overrides = {0};
    struct resolving s;

    assert_int_equal(cor_resolve_overrides_add(&overrides,
                                               COR_STR("other.wardle=10.9.9.9:1,"
                                                       "api.wardle=[::1]:8443"),
                                               NULL),
                     0);
    open_with(&s, &overrides);
    assert_string_equal(found(&s, 443, NULL, NULL), "::1 8443");
    pfx_close(&s.p);
    cor_resolve_overrides_deinit(&overrides);
}

TEST(resolve, an_override_that_cannot_be_read_is_named)
{
    static const char *const bad[] = {"api=1.2.3.4:5",
                                      "api.wardle",
                                      "api.wardle=host",
                                      "api.wardle=host:0",
                                      "api.wardle=h:65536",
                                      "api.wardle=::1:5",
                                      "=h:5",
                                      "api.wardle=:5"};
    struct cor_resolve_overrides overrides = {0};
    struct cor_status st;

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        cor_status_init(&st);
        assert_int_equal(cor_resolve_overrides_add(&overrides, cor_strz(bad[i]), &st), -COR_EINVAL);
        assert_non_null(strstr(cor_status_message(&st), "--aggregator-resolve"));
        assert_non_null(strstr(cor_status_message(&st), bad[i]));
        cor_status_deinit(&st);
    }
    cor_resolve_overrides_deinit(&overrides);
}

TEST(resolve, ends_once_without_memory)
{
    struct resolving s;

    open_with(&s, NULL);
    put_service(&s, "\"clusterIP\":\"10.0.0.7\",\"ports\":[{\"name\":\"https\",\"port\":443}]");
    put_slice(&s, "a",
              "\"ports\":[{\"name\":\"https\",\"port\":8443}],\"endpoints\":[{\"addresses\":"
              "[\"10.1.0.1\"]}]");
    FOR_EACH_FAILED_ALLOC(n) {
        const char *at;

        test_fail_alloc(n, false);
        at = found(&s, 443, NULL, NULL);
        if (s.r == 0)
            assert_true(strcmp(at, "10.1.0.1 8443") == 0 || strcmp(at, "10.0.0.7 443") == 0);
    }
    pfx_close(&s.p);
}
