/* APIServices in a snapshot: what is read of an object, discovery's order, and which rows a remote
 * service hides. */
#include <stdio.h>

#include "api_fixture.h"

#include "base/err.h"
#include "base/mem.h"
#include "server/catalog/api_service.h"
#include "server/catalog/served.h"
#include "server/docs/discovery_docs.h"

static struct cor_object *object_of(const char *json)
{
    struct cor_object *stored, *object;

    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &stored, NULL), 0);
    assert_int_equal(cor_object_at(stored, 7, &object), 0);
    cor_object_unref(stored);
    return object;
}

/* One service as a row of a table. `service` is the member of the spec, or "". */
static struct cor_api_service *service_of(const char *group, const char *version,
                                          int group_priority, int version_priority,
                                          const char *service)
{
    struct cor_api_service *made;
    struct cor_object *object;
    char json[1024];

    snprintf(json, sizeof(json),
             "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\",\"metadata\":{"
             "\"name\":\"%s.%s\",\"uid\":\"u-%s-%s\"},\"spec\":{\"group\":\"%s\",\"version\":"
             "\"%s\",\"groupPriorityMinimum\":%d,\"versionPriority\":%d%s}}",
             version, group, group, version, group, version, group_priority, version_priority,
             service);
    object = object_of(json);
    assert_int_equal(cor_api_service_new(object, &made), 0);
    assert_true(cor_api_service_is_of(made, object));
    cor_object_unref(object);
    return made;
}

#define REMOTE ",\"service\":{\"namespace\":\"wardle\",\"name\":\"api\",\"port\":443}"

static struct cor_served *serve(struct cor_api_service *const *services, size_t nservices)
{
    const struct cor_resource_row *rows[256], *builtins;
    struct cor_served_opts opts = {
        .rows = rows, .services = services, .nservices = nservices, .generation = 2};
    struct cor_served *served;

    builtins = cor_api_builtins(&opts.nrows);
    for (size_t i = 0; i < opts.nrows; i++)
        rows[i] = &builtins[i];
    assert_int_equal(cor_served_new(&opts, &served), 0);
    return served;
}

TEST(api_service, has_what_the_spec_says)
{
    struct cor_api_service *service;
    struct cor_object *object = object_of(
        "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\",\"metadata\":{"
        "\"name\":\"v1alpha1.wardle.example.com\",\"uid\":\"u\"},\"spec\":{\"caBundle\":\"UEVN\","
        "\"group\":\"wardle.example.com\",\"groupPriorityMinimum\":2000,\"service\":{\"name\":"
        "\"api\",\"namespace\":\"wardle\",\"port\":8443},\"version\":\"v1alpha1\","
        "\"versionPriority\":200},\"status\":{\"conditions\":[{\"type\":\"Other\",\"status\":"
        "\"False\"},{\"type\":\"Available\",\"status\":\"True\"}]}}");

    assert_int_equal(cor_api_service_new(object, &service), 0);
    assert_true(cor_str_eqz(service->name, "v1alpha1.wardle.example.com"));
    assert_true(cor_str_eqz(service->api_version, "wardle.example.com/v1alpha1"));
    assert_true(cor_str_eqz(service->service_ns, "wardle"));
    assert_true(cor_str_eqz(service->service_name, "api"));
    assert_true(cor_str_eqz(service->ca_bundle, "PEM"));
    assert_true(cor_str_eqz(service->uid, "u"));
    assert_int_equal(service->service_port, 8443);
    assert_int_equal(service->group_priority, 2000);
    assert_int_equal(service->version_priority, 200);
    assert_int_equal(service->rev, 7);
    assert_true(service->is_remote);
    assert_false(service->insecure_skip_tls_verify);
    assert_true(cor_api_service_is_available(service));
    cor_api_service_unref(service);
    cor_object_unref(object);
}

/* Another program may have written to the store what validation refuses. */
TEST(api_service, is_not_made_of_what_validation_refuses)
{
    static const char *const specs[] = {
        "\"version\":\"v1\",\"groupPriorityMinimum\":1,\"versionPriority\":1",
        "",
        "\"version\":\"v1\",\"groupPriorityMinimum\":0,\"versionPriority\":1",
        "\"version\":\"v1\",\"groupPriorityMinimum\":1,\"versionPriority\":99999",
        "\"version\":\"v1\",\"groupPriorityMinimum\":1,\"versionPriority\":1,\"service\":{}",
        "\"version\":\"v1\",\"groupPriorityMinimum\":1,\"versionPriority\":1,\"service\":{\"name\":"
        "\"a\",\"namespace\":\"b\",\"port\":65536}",
        "\"version\":\"v1\",\"groupPriorityMinimum\":1,\"versionPriority\":1,\"service\":{\"name\":"
        "\"a\",\"namespace\":\"b\"},\"caBundle\":\"!\"",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(specs); i++) {
        struct cor_api_service *service;
        struct cor_object *object;
        char json[512];

        snprintf(json, sizeof(json),
                 "{\"kind\":\"APIService\",\"metadata\":{\"name\":\"v1.a\"},\"spec\":{\"group\":"
                 "\"%s\"%s%s}}",
                 i == 0 ? "b" : "a", specs[i][0] ? "," : "", specs[i]);
        object = object_of(json);
        assert_int_equal(cor_api_service_new(object, &service), -COR_EINVAL);
        cor_object_unref(object);
    }
}

/* Contract extension 4.1.5, 4.2.5: groups by the highest priority of their services, ties by name;
 * versions by their priority, ties as Kubernetes prefers versions. The group of the
 * APIServices is first. */
TEST(api_service, orders_groups_and_versions_by_priority)
{
    static const struct {
        const char *group, *version;
        int group_priority, version_priority;
    } rows[] = {
        {"b.io", "v1", 100, 10},     {"a.io", "v1", 100, 10},   {"z.io", "v1beta1", 50, 1},
        {"z.io", "v1", 3000, 1},     {"a.io", "v2", 100, 10},   {"a.io", "v1alpha1", 100, 20},
        {"core.io", "v1", 19000, 1}, {"b.io", "v1-x", 100, 10},
    };
    /* "v1-x.b.io" comes before "v1.a.io" as bytes: its group has that rank. */
    static const char *const expected[] = {
        "v1",           "apiregistration.k8s.io/v1",
        "core.io/v1",   "z.io/v1",
        "z.io/v1beta1", "b.io/v1",
        "b.io/v1-x",    "a.io/v1alpha1",
        "a.io/v2",      "a.io/v1",
    };
    struct cor_api_service *services[COR_ARRAY_LEN(rows)];
    const struct cor_served_version *v;
    struct cor_served *served;
    size_t n;

    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        services[i] = service_of(rows[i].group, rows[i].version, rows[i].group_priority,
                                 rows[i].version_priority, "");
    served = serve(services, COR_ARRAY_LEN(services));
    v = cor_served_versions(served, &n);
    for (size_t i = 0; i < COR_ARRAY_LEN(expected); i++)
        assert_true(cor_str_eqz(v[i].api_version, expected[i]));
    /* Built-in versions without an APIService are served, and are not listed. */
    for (size_t i = 0; i < n; i++)
        assert_int_equal(v[i].is_listed, i < COR_ARRAY_LEN(expected));
    (void)cor_served_services(served, &n);
    assert_int_equal(n, COR_ARRAY_LEN(rows));
    assert_non_null(
        cor_served_find(served, COR_STR("apps"), COR_STR("v1"), COR_STR("deployments"), NULL));
    cor_served_unref(served);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        cor_api_service_unref(services[i]);
}

/* Contract extension 4.4.1: whatever the local server serves under that group version is hidden. */
TEST(api_service, hides_local_rows_behind_a_remote_service)
{
    struct cor_api_service *services[] = {
        service_of("apps", "v1", 17800, 15, REMOTE),
        service_of("batch", "v1", 17400, 15, ""),
        service_of("wardle.example.com", "v1alpha1", 2000, 200, REMOTE),
        service_of("apiregistration.k8s.io", "v1", 20000, 15, REMOTE),
    };
    struct cor_served *served = serve(services, COR_ARRAY_LEN(services));

    assert_null(
        cor_served_find(served, COR_STR("apps"), COR_STR("v1"), COR_STR("deployments"), NULL));
    assert_ptr_equal(cor_served_service(served, COR_STR("apps"), COR_STR("v1")), services[0]);
    assert_ptr_equal(cor_served_service(served, COR_STR("wardle.example.com"), COR_STR("v1alpha1")),
                     services[2]);
    assert_null(cor_served_service(served, COR_STR("wardle.example.com"), COR_STR("v1")));
    assert_null(cor_served_service(served, COR_STR("batch"), COR_STR("v1")));
    assert_non_null(
        cor_served_find(served, COR_STR("batch"), COR_STR("v1"), COR_STR("jobs"), NULL));
    /* Nobody can take the APIServices away, or they could not be repaired. */
    assert_null(cor_served_service(served, COR_STR("apiregistration.k8s.io"), COR_STR("v1")));
    assert_non_null(cor_served_find(served, COR_STR("apiregistration.k8s.io"), COR_STR("v1"),
                                    COR_STR("apiservices"), NULL));
    cor_served_unref(served);
    for (size_t i = 0; i < COR_ARRAY_LEN(services); i++)
        cor_api_service_unref(services[i]);
}

/* Contract extension 4.5.1: /apis lists all APIServices, whatever they are available. */
TEST(api_service, lists_groups_that_are_not_available)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out;
    struct cor_api_service *service =
        service_of("wardle.example.com", "v1alpha1", 2000, 200, REMOTE);
    struct cor_served *served = serve(&service, 1);
    const struct cor_served_doc *doc;

    cor_buf_init(&out, 4096);
    assert_false(cor_api_service_is_available(service));
    assert_int_equal(cor_discovery_doc(served, COR_DOC_GROUPS, NULL, &doc), 0);
    assert_string_equal(
        cor_buf_z(&doc->json),
        "{\"kind\":\"APIGroupList\",\"apiVersion\":\"v1\",\"groups\":[{\"name\":"
        "\"apiregistration.k8s.io\",\"versions\":[{\"groupVersion\":\"apiregistration.k8s.io/v1\","
        "\"version\":\"v1\"}],\"preferredVersion\":{\"groupVersion\":\"apiregistration.k8s.io/v1\","
        "\"version\":\"v1\"}},{\"name\":\"wardle.example.com\",\"versions\":[{\"groupVersion\":"
        "\"wardle.example.com/v1alpha1\",\"version\":\"v1alpha1\"}],\"preferredVersion\":{"
        "\"groupVersion\":\"wardle.example.com/v1alpha1\",\"version\":\"v1alpha1\"}}]}");
    assert_int_equal(cor_discovery_group(served, COR_STR("wardle.example.com"), &out), 0);
    assert_at(cor_buf_z(&out), "preferredVersion.version", "v1alpha1");
    cor_buf_reset(&out);
    assert_int_equal(cor_discovery_group(served, COR_STR("apps"), &out), 0);
    cor_buf_reset(&out);
    assert_int_equal(
        cor_discovery_version(served, COR_STR("wardle.example.com"), COR_STR("v1alpha1"), &out),
        -COR_ENOTFOUND);
    cor_served_unref(served);
    cor_api_service_unref(service);
}

TEST(api_service, is_whole_or_not_made_without_memory)
{
    struct cor_object *object =
        object_of("{\"kind\":\"APIService\",\"metadata\":{\"name\":\"v1.a.io\",\"uid\":\"u\"},"
                  "\"spec\":{\"group\":\"a.io\",\"version\":\"v1\",\"groupPriorityMinimum\":1,"
                  "\"versionPriority\":1,\"caBundle\":\"UEVN\",\"service\":{\"name\":\"n\","
                  "\"namespace\":\"s\"}}}");

    FOR_EACH_FAILED_ALLOC(n) {
        const struct cor_resource_row *rows[] = {
            cor_api_builtin(COR_STR("apps"), COR_STR("v1"), COR_STR("deployments"))};
        struct cor_api_service *service;
        struct cor_served *served;
        int r = cor_api_service_new(object, &service);

        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            continue;
        }
        r = cor_served_new(
            &(struct cor_served_opts){
                .rows = rows, .nrows = 1, .services = &service, .nservices = 1, .generation = 1},
            &served);
        if (r < 0)
            assert_int_equal(r, -COR_ENOMEM);
        else
            assert_ptr_equal(cor_served_service(served, COR_STR("a.io"), COR_STR("v1")), service);
        if (r == 0)
            cor_served_unref(served);
        cor_api_service_unref(service);
    }
    cor_object_unref(object);
}
