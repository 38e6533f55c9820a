#include "api_fixture.h"

#include <stdio.h>

#include "expected_discovery.h"
#include "schema/protobuf/protobuf.h"

#define AGGREGATED "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

static bool is_ok(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    if (*(const bool *)arg)
        return true;
    snprintf(reterr_why, COR_READY_MESSAGE_MAX, "this is why");
    return false;
}

#define PROTOBUF "application/vnd.kubernetes.protobuf"

/* The bytes of /api are a kube-apiserver's. Contract types 1.4.7. */
TEST(discovery, is_answered_in_protobuf)
{
    static const char *const paths[] = {"/apis", "/apis/apps", "/apis/apps/v1", "/api/v1"};
    static const struct fx_headers protobuf = {.accept = PROTOBUF};
    static const struct fx_headers aggregated = {
        .accept = PROTOBUF ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"};
    static const char api[] = "k8s\0\x0a\x0f\x0a\0\x12\x0b"
                              "APIVersions\x12\x22\x0a\x02v1\x12\x1c\x0a\x09"
                              "0.0.0.0/0\x12\x0f"
                              "192.0.2.2:33443\x1a\0\x22";
    struct fx fx = {0};

    fx_open(&fx);
    assert_int_equal(cor_api_set_address(fx.api, "192.0.2.2:33443"), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(paths); i++) {
        const char *json = fx_do(&fx, 200, "GET", paths[i], "");
        const char *doc = fx_do_protobuf(&fx, 200, "GET", paths[i], "", PROTOBUF);

        assert_at(doc, "kind", fx_at(json, "kind"));
        assert_at(doc, "apiVersion", fx_at(json, "apiVersion"));
        assert_at(doc, "groupVersion", fx_at(json, "groupVersion"));
        assert_at(doc, "groups[1].name", fx_at(json, "groups[1].name"));
        assert_at(doc, "preferredVersion.groupVersion",
                  fx_at(json, "preferredVersion.groupVersion"));
        assert_at(doc, "resources[2].name", fx_at(json, "resources[2].name"));
        assert_at(doc, "resources[2].verbs", fx_at(json, "resources[2].verbs"));
    }
    {
        FX_CALL call;

        fx_start(&fx, &call, "GET", "/api", "", &protobuf);
        fx_wait(&call);
        assert_int_equal(call.sink.body.n, sizeof(api));
        assert_memory_equal(call.sink.body.p, api, sizeof(api));
    }
    {
        const struct cor_gvk none = {COR_STR(""), COR_STR(""), COR_STR("")};
        COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 20};
        struct cor_protobuf doc;
        FX_CALL call;

        fx_start(&fx, &call, "GET", "/apis", "", &aggregated);
        fx_wait(&call);
        assert_str(sink_header(&call.sink, "Content-Type"),
                   PROTOBUF ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList");
        assert_int_equal(cor_protobuf_open(cor_buf_str(&call.sink.body), &doc, NULL), 0);
        assert_int_equal(cor_protobuf_to_json(&doc, cor_protobuf_type(&doc, &none), &json, NULL),
                         0);
        assert_at(cor_buf_z(&json), "apiVersion", "apidiscovery.k8s.io/v2");
        assert_at(cor_buf_z(&json), "items[1].metadata.name", "apps");
        assert_at(cor_buf_z(&json), "items[1].versions[0].resources[1].responseKind.kind",
                  "DaemonSet");
    }
    fx_fail_each_alloc(&fx, "GET", "/apis", "", &aggregated);
    fx_fail_each_alloc(&fx, "GET", "/apis/apps", "", &protobuf);
    fx_close(&fx);
}

/* Contract types 1.4.7. */
TEST(discovery, has_its_version_in_json_alone)
{
    static const struct fx_headers yaml = {.accept = "application/yaml"};
    static const struct fx_headers either = {.accept = PROTOBUF ",application/json"};
    struct fx fx = {0};

    fx_open(&fx);
    assert_at(fx_do_protobuf(&fx, 406, "GET", "/version", "", PROTOBUF), "message",
              "406: Not Acceptable\n\nAvailable representations: application/json");
    fx_do_with(&fx, 406, "GET", "/version", "", &yaml);
    assert_at(fx_do_with(&fx, 200, "GET", "/version", "", &either), "major", "1");
    fx_close(&fx);
}

TEST(discovery, lists_versions_groups_and_resources)
{
    struct fx fx = {0};
    const char *doc;

    fx_open(&fx);
    assert_int_equal(cor_api_set_address(fx.api, "127.0.0.1:6443"), 0);
    assert_string_equal(fx_do(&fx, 200, "GET", "/api", ""),
                        "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"],"
                        "\"serverAddressByClientCIDRs\":[{\"clientCIDR\":\"0.0.0.0/0\","
                        "\"serverAddress\":\"127.0.0.1:6443\"}]}");
    doc = fx_do(&fx, 200, "GET", "/apis", "");
    assert_at(doc, "kind", "APIGroupList");
    assert_at(doc, "groups[0].name", "apiregistration.k8s.io");
    assert_at(doc, "groups[1]",
              "{\"name\":\"apps\",\"versions\":[{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}],"
              "\"preferredVersion\":{\"groupVersion\":\"apps/v1\",\"version\":\"v1\"}}");
    assert_at(fx_do(&fx, 200, "GET", "/apis/apps", ""), "kind", "APIGroup");
    doc = fx_do(&fx, 200, "GET", "/api/v1/", "");
    assert_at(doc, "kind", "APIResourceList");
    assert_at(doc, "apiVersion", "");
    assert_at(doc, "groupVersion", "v1");
    assert_at(doc, "resources[?(@.name=='configmaps')].shortNames", "[\"cm\"]");
    assert_at(doc, "resources[?(@.name=='namespaces')].verbs",
              "[\"create\",\"delete\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]");
    assert_at(doc, "resources[?(@.name=='pods/status')].kind", "Pod");
    doc = fx_do(&fx, 200, "GET", "/apis/apps/v1", "");
    assert_at(doc, "apiVersion", "v1");
    assert_at(doc, "resources[?(@.name=='deployments')]",
              "{\"name\":\"deployments\",\"singularName\":\"deployment\",\"namespaced\":true,"
              "\"kind\":\"Deployment\",\"verbs\":[\"create\",\"delete\",\"deletecollection\","
              "\"get\",\"list\",\"patch\",\"update\",\"watch\"],\"shortNames\":[\"deploy\"],"
              "\"categories\":[\"all\"],\"storageVersionHash\":\"8aSe+NMegvE=\"}");
    assert_string_equal(fx_do(&fx, 404, "GET", "/apis/nope", ""), "404 page not found");
    assert_at(fx_do(&fx, 404, "GET", "/apis/apps/v9/deployments", ""), "reason", "NotFound");
    assert_string_equal(fx_do(&fx, 404, "GET", "/nope", ""), "404 page not found");
    fx_close(&fx);
}

TEST(discovery, aggregates_with_an_etag)
{
    static const struct fx_headers accept = {.accept = AGGREGATED ",application/json"};
    struct fx fx = {0};
    struct fx_headers again = accept;
    const char *doc;
    char etag[64];

    fx_open(&fx);
    {
        FX_CALL call;

        fx_start(&fx, &call, "GET", "/apis", "", &accept);
        assert_str(sink_header(&call.sink, "Content-Type"), AGGREGATED);
        assert_str(sink_header(&call.sink, "Vary"), "Accept");
        assert_str(sink_header(&call.sink, "Cache-Control"), "public");
        assert_null(strstr(cor_buf_z(&call.sink.headers), "no-cache"));
        memcpy(etag, sink_header(&call.sink, "ETag").p, 18);
        etag[18] = 0;
    }
    doc = fx_do_with(&fx, 200, "GET", "/apis", "", &accept);
    assert_at(doc, "kind", "APIGroupDiscoveryList");
    assert_at(doc, "apiVersion", "apidiscovery.k8s.io/v2");
    assert_at(doc, "items[1].metadata.name", "apps");
    assert_at(doc, "items[1].versions[0].freshness", "Current");
    assert_at(doc, "items[1].versions[0].resources[2].responseKind",
              "{\"group\":\"\",\"version\":\"\",\"kind\":\"Deployment\"}");
    assert_at(doc, "items[1].versions[0].resources[2].scope", "Namespaced");
    again.if_none_match = etag;
    assert_string_equal(fx_do_with(&fx, 304, "GET", "/apis", "", &again), "");
    doc = fx_do_with(&fx, 200, "GET", "/api", "", &accept);
    assert_at(doc, "items[0].metadata", "{}");
    assert_at(doc, "items[0].versions[0].resources[0].resource", "bindings");
    fx_close(&fx);
}

/* All clauses of a long Accept are looked at, up to the most that are read, and nothing behind
 * them. */
TEST(discovery, is_aggregated_for_the_last_of_many_clauses)
{
    static const char eight[] = "a/b,a/c,a/d,a/e,a/f,a/g,a/h,a/i";
    struct fx fx = {0};
    struct fx_headers accept = {0};
    char many[1024];

    fx_open(&fx);
    snprintf(many, sizeof(many), "%s,%s,%s,a/b,a/c,a/d,a/e,a/f,a/g,a/h," AGGREGATED, eight, eight,
             eight);
    accept.accept = many;
    assert_at(fx_do_with(&fx, 200, "GET", "/apis", "", &accept), "kind", "APIGroupDiscoveryList");
    snprintf(many, sizeof(many), "application/json;as=x,%s,%s,%s,a/b,a/c,a/d,a/e,a/f,a/g,a/h,a/i",
             eight, eight, eight);
    fx_do_with(&fx, 406, "GET", "/apis", "", &accept);
    fx_close(&fx);
}

TEST(health, answers_ok_or_names_what_failed)
{
    bool engine = true, caches = false;
    const struct cor_health_check checks[] = {
        {.name = "engine", .is_ok = is_ok, .arg = &engine, .live = true, .ready = true},
        {.name = "informer-sync", .is_ok = is_ok, .arg = &caches, .ready = true},
    };
    struct fx fx = {.opts.checks = checks, .opts.nchecks = 2};

    fx_open(&fx);
    assert_string_equal(fx_do(&fx, 200, "GET", "/healthz", ""), "ok");
    assert_string_equal(fx_do(&fx, 200, "GET", "/livez?verbose", ""),
                        "[+]ping ok\n[+]engine ok\nlivez check passed");
    assert_string_equal(fx_do(&fx, 500, "GET", "/readyz", ""),
                        "[+]ping ok\n[+]engine ok\n[-]informer-sync failed: reason withheld\n"
                        "readyz check failed");
    assert_string_equal(fx_do(&fx, 200, "GET", "/readyz?verbose&exclude=informer-sync", ""),
                        "[+]ping ok\n[+]engine ok\n[+]informer-sync excluded: ok\n"
                        "readyz check passed");
    assert_string_equal(fx_do(&fx, 500, "GET", "/readyz/informer-sync", ""),
                        "internal server error: this is why");
    fx_fail_each_alloc(&fx, "GET", "/readyz/informer-sync", "", NULL);
    fx_fail_each_alloc(&fx, "GET", "/readyz?verbose&exclude=informer-sync", "", NULL);
    fx_fail_each_alloc(&fx, "GET", "/healthz?verbose&exclude=nope", "", NULL);
    assert_string_equal(fx_do(&fx, 200, "GET", "/healthz/ping", ""), "ok");
    caches = true;
    assert_string_equal(fx_do(&fx, 200, "GET", "/readyz", ""), "ok");
    fx_do(&fx, 404, "GET", "/healthz/nope", "");
    fx_close(&fx);
}

TEST(version, is_one_that_clients_understand)
{
    struct fx fx = {0};
    const char *version;

    fx_open(&fx);
    version = fx_do(&fx, 200, "GET", "/version", "");
    assert_at(version, "major", "1");
    assert_at(version, "minor", "34");
    assert_memory_equal(fx_at(version, "gitVersion"), "v1.34.", 6);
    fx_close(&fx);
}

static bool root_check_is_ok(void *arg, char reterr_why[COR_READY_MESSAGE_MAX])
{
    return true;
}

TEST(root, lists_the_paths_in_their_order)
{
    static const struct cor_health_check checks[] = {
        {.name = "a", .is_ok = root_check_is_ok, .live = true, .ready = true},
        {.name = "b", .is_ok = root_check_is_ok, .ready = true}};
    static const char *const some[] = {
        "\"/api\"",          "\"/api/v1\"",   "\"/apis\"",       "\"/apis/apps\"",
        "\"/apis/apps/v1\"", "\"/healthz\"",  "\"/healthz/a\"",  "\"/healthz/ping\"",
        "\"/livez/a\"",      "\"/metrics\"",  "\"/openapi/v2\"", "\"/openapi/v3\"",
        "\"/readyz/a\"",     "\"/readyz/b\"", "\"/version\"",
    };
    struct fx fx = {.opts = {.checks = checks, .nchecks = COR_ARRAY_LEN(checks)}};
    const char *text, *at;

    fx_open(&fx);
    text = at = fx_do(&fx, 200, "GET", "/", "");
    assert_memory_equal(text, "{\n  \"paths\": [\n    \"/api\",\n", 27);
    for (size_t i = 0; i < COR_ARRAY_LEN(some); i++) {
        at = strstr(at, some[i]);
        assert_non_null(at);
    }
    assert_null(strstr(text, "\"/livez/b\""));
    fx_fail_each_alloc(&fx, "GET", "/", "", NULL);
    fx_close(&fx);
}

/* The members of a list, as "a,b". */
static const char *joined(const char *json, const char *path)
{
    static char text[4][256];
    static size_t turn;
    char *out = text[turn++ % 4], at[128];
    size_t n = 0;

    out[0] = 0;
    for (size_t i = 0;; i++) {
        const char *value;

        snprintf(at, sizeof(at), "%s[%zu]", path, i);
        value = fx_at(json, at);
        if (!value[0])
            return out;
        n += (size_t)snprintf(out + n, sizeof(text[0]) - n, "%s%s", i > 0 ? "," : "", value);
    }
}

static void check_resource(const char *list, size_t at, const struct expected *want)
{
    char path[8][64];
    static const char *const members[] = {"name",       "kind",       "verbs",
                                          "shortNames", "categories", "namespaced"};

    for (size_t i = 0; i < COR_ARRAY_LEN(members); i++)
        snprintf(path[i], sizeof(path[i]), "resources[%zu].%s", at, members[i]);
    assert_at(list, path[0], want->name);
    assert_at(list, path[1], want->kind);
    assert_string_equal(joined(list, path[2]), want->verbs);
    assert_string_equal(joined(list, path[3]), want->short_names);
    assert_string_equal(joined(list, path[4]), want->categories);
    assert_at(list, path[5], want->is_namespaced ? "true" : "false");
}

/* The fixture's texts stay for a few calls only. */
static const char *kept(const char *json)
{
    static char text[64 * 1024];

    assert_true(strlen(json) < sizeof(text));
    return memcpy(text, json, strlen(json) + 1);
}

/* A resource that is missing, one too many, or one that differs fails here. */
TEST(discovery, is_that_of_kubernetes_1_34)
{
    struct fx fx = {0};
    const char *version = "", *list = NULL;
    char path[128];
    size_t at = 0;

    fx_open(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(expected); i++) {
        if (strcmp(version, expected[i].version) != 0) {
            version = expected[i].version;
            snprintf(path, sizeof(path), "/%s/%s", strchr(version, '/') ? "apis" : "api", version);
            list = kept(fx_do(&fx, 200, "GET", path, ""));
            assert_at(list, "groupVersion", version);
            at = 0;
        }
        if (!expected[i].missing)
            check_resource(list, at++, &expected[i]);
        if (i + 1 == COR_ARRAY_LEN(expected) || strcmp(version, expected[i + 1].version) != 0) {
            snprintf(path, sizeof(path), "resources[%zu].name", at);
            assert_at(list, path, "");
        }
    }
    fx_close(&fx);
}

TEST(discovery, has_the_groups_of_kubernetes_1_34)
{
    struct fx fx = {0};
    const char *groups;
    char path[64];

    fx_open(&fx);
    groups = kept(fx_do(&fx, 200, "GET", "/apis", ""));
    for (size_t i = 0; i < COR_ARRAY_LEN(expected_groups); i++) {
        char versions[64];
        size_t comma = strcspn(expected_groups[i].versions, ",");

        snprintf(path, sizeof(path), "groups[%zu].name", i);
        assert_at(groups, path, expected_groups[i].name);
        snprintf(path, sizeof(path), "groups[%zu].preferredVersion.version", i);
        snprintf(versions, sizeof(versions), "%.*s", (int)comma, expected_groups[i].versions);
        assert_at(groups, path, versions);
        snprintf(path, sizeof(path), "groups[%zu].versions[0].version", i);
        assert_at(groups, path, versions);
        snprintf(path, sizeof(path), "groups[%zu].versions[1].version", i);
        assert_at(groups, path,
                  expected_groups[i].versions[comma] ? expected_groups[i].versions + comma + 1
                                                     : "");
    }
    snprintf(path, sizeof(path), "groups[%zu].name", COR_ARRAY_LEN(expected_groups));
    assert_at(groups, path, "");
    fx_close(&fx);
}
