/* Structs as programs use them: objects that are built member by member, values of every sort, what
 * is refused and where, unknown and repeated members, limits. */
#include <stdio.h>

#include "apps_v1_structs.h"
#include "authentication_v1_structs.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "coracle/types/apps_v1_structs.h"
#include "coracle/types/coordination_v1_structs.h"
#include "coracle/types/core_v1_structs.h"
#include "example_v1_structs.h"
#include "policy_v1_structs.h"
#include "test.h"

static struct cor_pool *pool_new(void)
{
    struct cor_pool *pool;

    assert_int_equal(cor_pool_new(0, &pool), 0);
    return pool;
}

/* Contract controllers 5.9.1: only what was set is written, explicit zeros included. */
TEST(struct_values, write_what_was_set_and_nothing_else)
{
    struct cor_pool *pool = pool_new();
    struct cor_apps_v1_deployment_own web;
    struct cor_core_v1_container_own *c;
    struct cor_core_v1_container_port_own *port;
    struct cor_core_v1_resource_requirements_own *resources;
    struct cor_meta_v1_label_selector_own selector = {.unknown_fields = {NULL, 0}};
    struct cor_str json;

    cor_apps_v1_deployment_own_init(&web);
    web.metadata.name = COR_STR("web");
    web.metadata.namespace_ = COR_STR("default");
    web.spec.replicas = cor_opt_int32(0);
    web.spec.selector = &selector;
    assert_int_equal(
        cor_str_map_set(pool, &selector.match_labels, COR_STR("tier"), COR_STR("front")), 0);
    assert_int_equal(cor_str_map_set(pool, &selector.match_labels, COR_STR("app"), COR_STR("x")),
                     0);
    assert_int_equal(cor_str_map_set(pool, &selector.match_labels, COR_STR("app"), COR_STR("web")),
                     0);
    web.spec.template_.metadata.labels = selector.match_labels;
    c = cor_core_v1_container_own_list_add(pool, &web.spec.template_.spec.containers);
    assert_non_null(c);
    c->name = COR_STR("web");
    c->image = COR_STR("");
    c->stdin_ = cor_opt_bool(false);
    assert_int_equal(cor_str_list_add(pool, &c->args, COR_STR("--\"quoted\"")), 0);
    port = cor_core_v1_container_port_own_list_add(pool, &c->ports);
    assert_non_null(port);
    port->container_port = cor_opt_int32(80);
    resources = &c->resources;
    assert_int_equal(cor_str_map_set(pool, &resources->limits, COR_STR("cpu"), COR_STR("500m")), 0);

    assert_int_equal(cor_apps_v1_deployment_own_encode(pool, &web, &json), 0);
    assert_str(json, "{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":"
                     "\"web\",\"namespace\":\"default\"},\"spec\":{\"replicas\":0,\"selector\":{"
                     "\"matchLabels\":{\"app\":\"web\",\"tier\":\"front\"}},\"template\":{"
                     "\"metadata\":{\"labels\":{\"app\":\"web\",\"tier\":\"front\"}},\"spec\":{"
                     "\"containers\":[{\"args\":[\"--\\\"quoted\\\"\"],\"image\":\"\",\"name\":"
                     "\"web\",\"ports\":[{\"containerPort\":80}],\"resources\":{\"limits\":{"
                     "\"cpu\":\"500m\"}},\"stdin\":false}]}}}}");
    assert_int_equal(json.p[json.n], '\0');
    cor_pool_free(pool);
}

TEST(struct_values, are_read_into_members)
{
    static const char json[] =
        "{\"kind\":\"Pod\",\"metadata\":{\"labels\":{\"b\":\"2\",\"a\":\"1\",\"b\":\"3\"},"
        "\"creationTimestamp\":\"2025-01-01T02:00:00+02:00\"},\"spec\":{\"containers\":[{\"name\":"
        "\"caf\\u00e9\\n\",\"resources\":{\"limits\":{\"cpu\":0.5,\"memory\":\"1024Mi\"}},"
        "\"livenessProbe\":{\"httpGet\":{\"port\":\"http\"}}},null],\"nodeName\":null,"
        "\"hostNetwork\":true,\"terminationGracePeriodSeconds\":0},\"status\":{\"podIPs\":[]}}";
    struct cor_pool *pool = pool_new();
    struct cor_core_v1_pod_own pod;
    const struct cor_core_v1_container_own *c;
    struct cor_own_error why;

    assert_int_equal(cor_core_v1_pod_own_decode(pool, cor_strz(json), NULL, &pod, &why), 0);
    assert_int_equal(pod.metadata.labels.n, 2);
    assert_str(pod.metadata.labels.p[0].key, "a");
    assert_str(*cor_str_map_get(&pod.metadata.labels, COR_STR("b")), "3");
    assert_null(cor_str_map_get(&pod.metadata.labels, COR_STR("c")));
    assert_int_equal(pod.metadata.creation_timestamp.unix_s, 1735689600);
    assert_null(pod.metadata.name.p);
    assert_int_equal(pod.spec.containers.n, 2);
    c = pod.spec.containers.p;
    assert_str(c->name, "caf\xc3\xa9\n");
    assert_int_equal(c->name.p[c->name.n], '\0');
    assert_str(*cor_str_map_get(&c->resources.limits, COR_STR("cpu")), "500m");
    assert_str(*cor_str_map_get(&c->resources.limits, COR_STR("memory")), "1Gi");
    assert_int_equal(c->liveness_probe->http_get->port.type, COR_INT_OR_STR_TEXT);
    assert_str(c->liveness_probe->http_get->port.text, "http");
    assert_null(pod.spec.node_name.p);
    assert_true(pod.spec.host_network.value);
    assert_true(pod.spec.termination_grace_period_seconds.is_set);
    assert_int_equal(pod.spec.termination_grace_period_seconds.value, 0);
    assert_false(pod.spec.priority.is_set);
    assert_true(pod.status.pod_ips.p && pod.status.pod_ips.n == 0);
    assert_null(pod.status.conditions.p);
    cor_pool_free(pool);
}

TEST(struct_values, have_bytes_and_microseconds)
{
    struct cor_pool *pool = pool_new();
    struct cor_core_v1_secret_own secret;
    struct cor_coordination_v1_lease_own lease;
    struct cor_str json;

    assert_int_equal(
        cor_core_v1_secret_own_decode(pool, COR_STR("{\"data\":{\"a\":\"AAEC\",\"b\":\"\"}}"), NULL,
                                      &secret, NULL),
        0);
    assert_int_equal(secret.data.p[0].value.n, 3);
    assert_memory_equal(secret.data.p[0].value.p, "\0\1\2", 3);
    assert_int_equal(cor_core_v1_secret_own_encode(pool, &secret, &json), 0);
    assert_str(json, "{\"data\":{\"a\":\"AAEC\",\"b\":\"\"}}");
    cor_coordination_v1_lease_own_init(&lease);
    assert_int_equal(cor_coordination_v1_lease_own_decode(
                         pool, COR_STR("{\"spec\":{\"renewTime\":\"2025-01-01T00:00:00.5Z\"}}"),
                         NULL, &lease, NULL),
                     0);
    assert_int_equal(lease.spec.renew_time.unix_us, 1735689600500000);
    assert_int_equal(cor_coordination_v1_lease_own_encode(pool, &lease, &json), 0);
    assert_str(json, "{\"spec\":{\"renewTime\":\"2025-01-01T00:00:00.500000Z\"}}");
    cor_pool_free(pool);
}

static const struct {
    const char *json, *path, *message;
} mistakes[] = {
    {"[]", "", "an object was expected, but there is a list"},
    {"{\"spec\":{\"containers\":[{},{\"ports\":[{\"containerPort\":3000000000}]}]}}",
     "spec.containers[1].ports[0].containerPort",
     "a number that fits into 32 bits was expected, but it is 3000000000"},
    {"{\"spec\":{\"activeDeadlineSeconds\":9223372036854775808}}", "spec.activeDeadlineSeconds",
     "a number that fits into 64 bits was expected, but it is 9223372036854775808"},
    {"{\"spec\":{\"priority\":1.5}}", "spec.priority",
     "a whole number was expected, but it is 1.5"},
    {"{\"spec\":{\"priority\":\"1\"}}", "spec.priority",
     "a number was expected, but there is a text"},
    {"{\"spec\":{\"hostNetwork\":0}}", "spec.hostNetwork",
     "true or false was expected, but there is a number"},
    {"{\"spec\":{\"nodeSelector\":{\"a\":{}}}}", "spec.nodeSelector.a",
     "a text was expected, but there is an object"},
    {"{\"spec\":{\"nodeSelector\":[]}}", "spec.nodeSelector",
     "an object was expected, but there is a list"},
    {"{\"spec\":{\"containers\":{}}}", "spec.containers",
     "a list was expected, but there is an object"},
    {"{\"spec\":{\"containers\":[true]}}", "spec.containers[0]",
     "an object was expected, but there is a bool"},
    {"{\"spec\":{\"overhead\":{\"cpu\":\"1x\"}}}", "spec.overhead.cpu",
     "a quantity was expected, but it is \"1x\""},
    {"{\"spec\":{\"overhead\":{\"cpu\":[]}}}", "spec.overhead.cpu",
     "a quantity was expected, but there is a list"},
    {"{\"metadata\":{\"creationTimestamp\":\"today\"}}", "metadata.creationTimestamp",
     "a time as 2006-01-02T15:04:05Z was expected, but it is \"today\""},
    {"{\"spec\":{\"containers\":[{\"livenessProbe\":{\"httpGet\":{\"port\":2147483648}}}]}}",
     "spec.containers[0].livenessProbe.httpGet.port",
     "a number that fits into 32 bits was expected, but it is 2147483648"},
    {"{\"kind\":\"Node\"}", "kind", "Pod was expected, but it is \"Node\""},
    {"{\"apiVersion\":\"v2\"}", "apiVersion", "v1 was expected, but it is \"v2\""},
    {"{\"spec\":{\"a\":}}", "",
     "line 1, column 14: invalid character '}' looking for beginning of value"},
};

TEST(struct_values, are_refused_with_their_path)
{
    struct cor_pool *pool = pool_new();

    for (size_t i = 0; i < COR_ARRAY_LEN(mistakes); i++) {
        const struct cor_core_v1_pod_own empty = {.unknown_fields = {NULL, 0}};
        struct cor_core_v1_pod_own pod;
        struct cor_own_error why;

        assert_int_equal(
            cor_core_v1_pod_own_decode(pool, cor_strz(mistakes[i].json), NULL, &pod, &why),
            -COR_EINVAL);
        assert_string_equal(why.path, mistakes[i].path);
        assert_string_equal(why.message, mistakes[i].message);
        assert_memory_equal(&pod, &empty, sizeof(pod));
        assert_int_equal(
            cor_core_v1_pod_own_decode(pool, cor_strz(mistakes[i].json), NULL, &pod, NULL),
            -COR_EINVAL);
    }
    cor_pool_free(pool);
}

TEST(struct_values, that_are_not_base64_are_refused)
{
    struct cor_pool *pool = pool_new();
    struct cor_core_v1_secret_own secret;
    struct cor_own_error why;

    assert_int_equal(cor_core_v1_secret_own_decode(pool, COR_STR("{\"data\":{\"a\":\"!\"}}"), NULL,
                                                   &secret, &why),
                     -COR_EINVAL);
    assert_string_equal(why.path, "data.a");
    assert_string_equal(why.message, "base64 was expected");
    cor_pool_free(pool);
}

/* Raw values, times and lists of texts inside of containers: their space, and their protobuf. */
TEST(struct_values, have_raw_elements_times_and_lists_of_texts)
{
    static const char revision[] = "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\","
                                   "\"data\":{ \"b\" : \"a \\\" b\" ,\n\"a\":[ 1 ] }}";
    static const char budget[] =
        "{\"kind\":\"PodDisruptionBudget\",\"apiVersion\":\"policy/v1\",\"status\":{"
        "\"disruptedPods\":{\"a\":\"2026-01-02T03:04:05Z\",\"b\":null}}}";
    static const char review[] =
        "{\"kind\":\"TokenReview\",\"apiVersion\":\"authentication.k8s.io/v1\",\"status\":{"
        "\"user\":{\"extra\":{\"none\":[],\"some\":[\"a\\\"\",\"b\"]}}}}";
    struct cor_pool *pool = pool_new();
    struct all_apps_v1_controller_revision_own made;
    struct all_policy_v1_pod_disruption_budget_own pdb;
    struct all_authentication_v1_token_review_own token;
    struct cor_str bytes, again;

    assert_int_equal(
        all_apps_v1_controller_revision_own_decode(pool, cor_strz(revision), NULL, &made, NULL), 0);
    assert_int_equal(all_apps_v1_controller_revision_own_encode(pool, &made, &again), 0);
    assert_str(again, "{\"kind\":\"ControllerRevision\",\"apiVersion\":\"apps/v1\","
                      "\"data\":{\"b\":\"a \\\" b\",\"a\":[1]}}");

    assert_int_equal(
        all_policy_v1_pod_disruption_budget_own_decode(pool, cor_strz(budget), NULL, &pdb, NULL),
        0);
    assert_int_equal(all_policy_v1_pod_disruption_budget_own_encode_protobuf(pool, &pdb, &bytes),
                     0);
    assert_int_equal(
        all_policy_v1_pod_disruption_budget_own_decode_protobuf(pool, bytes, NULL, &pdb, NULL), 0);
    assert_int_equal(all_policy_v1_pod_disruption_budget_own_encode(pool, &pdb, &again), 0);
    assert_str(again, budget);
    pdb.status.disrupted_pods.p[0].value = COR_STR("soon");
    assert_int_equal(all_policy_v1_pod_disruption_budget_own_encode_protobuf(pool, &pdb, &bytes),
                     -COR_EINVAL);

    assert_int_equal(
        all_authentication_v1_token_review_own_decode(pool, cor_strz(review), NULL, &token, NULL),
        0);
    assert_int_equal(all_authentication_v1_token_review_own_encode_protobuf(pool, &token, &bytes),
                     0);
    assert_int_equal(
        all_authentication_v1_token_review_own_decode_protobuf(pool, bytes, NULL, &token, NULL), 0);
    assert_int_equal(all_authentication_v1_token_review_own_encode(pool, &token, &again), 0);
    assert_str(again, review);
    token.status.user.extra.p[0].value = COR_STR("{}");
    assert_int_equal(all_authentication_v1_token_review_own_encode_protobuf(pool, &token, &bytes),
                     -COR_EINVAL);
    cor_pool_free(pool);
}

TEST(struct_values, keep_or_drop_or_refuse_what_the_type_does_not_have)
{
    static const char json[] =
        "{\"kind\":\"Pod\",\"x\":[1, {\"y\":\"\\u0041\"}],\"spec\":{\"new\":{},\"node\\u004eame\":\"n\","
        "\"newer\":null}}";
    struct cor_own_opts opts = {COR_OWN_OPTS, .unknown = COR_OWN_UNKNOWN_KEEP};
    struct cor_pool *pool = pool_new();
    struct cor_core_v1_pod_own pod;
    struct cor_own_error why;
    struct cor_str again;

    assert_int_equal(cor_core_v1_pod_own_decode(pool, cor_strz(json), &opts, &pod, &why), 0);
    assert_str(pod.spec.node_name, "n");
    assert_int_equal(cor_core_v1_pod_own_encode(pool, &pod, &again), 0);
    assert_str(again, "{\"kind\":\"Pod\",\"spec\":{\"nodeName\":\"n\",\"new\":{},\"newer\":null},"
                      "\"x\":[1,{\"y\":\"\\u0041\"}]}");
    opts.unknown = COR_OWN_UNKNOWN_DROP;
    assert_int_equal(cor_core_v1_pod_own_decode(pool, cor_strz(json), &opts, &pod, &why), 0);
    assert_int_equal(cor_core_v1_pod_own_encode(pool, &pod, &again), 0);
    assert_str(again, "{\"kind\":\"Pod\",\"spec\":{\"nodeName\":\"n\"}}");
    opts.unknown = COR_OWN_UNKNOWN_REFUSE;
    assert_int_equal(cor_core_v1_pod_own_decode(pool, cor_strz(json), &opts, &pod, &why),
                     -COR_EINVAL);
    assert_string_equal(why.path, "x");
    assert_int_equal(
        cor_core_v1_pod_own_decode(
            pool, COR_STR("{\"spec\":{\"nodeName\":\"a\",\"nodeName\":\"b\"}}"), &opts, &pod, &why),
        -COR_EINVAL);
    assert_string_equal(why.path, "spec.nodeName");
    assert_int_equal(cor_core_v1_pod_own_decode(
                         pool, COR_STR("{\"spec\":{\"nodeSelector\":{\"a\":\"b\",\"a\":\"c\"}}}"),
                         &opts, &pod, &why),
                     -COR_EINVAL);
    assert_string_equal(why.path, "spec.nodeSelector");
    assert_int_equal(
        cor_core_v1_pod_own_decode(pool, COR_STR("{\"spec\":{},\"spec\":{}}"), &opts, &pod, &why),
        -COR_EINVAL);
    assert_string_equal(why.path, "spec");
    assert_int_equal(
        cor_core_v1_pod_own_decode(
            pool, COR_STR("{\"spec\":{\"containers\":[],\"containers\":[{}]}}"), &opts, &pod, &why),
        -COR_EINVAL);
    assert_string_equal(why.path, "spec.containers");
    cor_pool_free(pool);
}

/* 20,000 items, and a map of as many keys in falling order. */
TEST(struct_values, may_be_many)
{
    enum { MANY = 20000 };
    COR_CLEANUP(cor_buf_deinit) struct cor_buf list, map;
    struct cor_pool *pool = pool_new();
    struct cor_core_v1_pod_list_own pods;
    struct cor_core_v1_config_map_own config;
    struct cor_str json;

    cor_buf_init(&list, 1u << 24);
    cor_buf_init(&map, 1u << 24);
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(cor_buf_addf(&list, "%s{\"metadata\":{\"name\":\"p-%d\"}}",
                                      i > 0 ? "," : "{\"kind\":\"PodList\",\"items\":[", i),
                         0);
        assert_int_equal(
            cor_buf_addf(&map, "%s\"k%05d\":\"%d\"", i > 0 ? "," : "{\"data\":{", MANY - i, i), 0);
    }
    assert_int_equal(cor_buf_addz(&list, "]}"), 0);
    assert_int_equal(cor_buf_addz(&map, "}}"), 0);
    assert_int_equal(cor_core_v1_pod_list_own_decode(pool, cor_buf_str(&list), NULL, &pods, NULL),
                     0);
    assert_int_equal(pods.items.n, MANY);
    assert_str(pods.items.p[MANY - 1].metadata.name, "p-19999");
    assert_int_equal(cor_core_v1_pod_list_own_encode(pool, &pods, &json), 0);
    assert_true(cor_str_eq(json, cor_buf_str(&list)));
    assert_int_equal(
        cor_core_v1_config_map_own_decode(pool, cor_buf_str(&map), NULL, &config, NULL), 0);
    assert_int_equal(config.data.n, MANY);
    assert_str(config.data.p[0].key, "k00001");
    assert_str(config.data.p[0].value, "19999");
    cor_pool_free(pool);
}

/* Contract controllers 5.5.1, and section 9: quantities by value, no list as an empty one. */
TEST(struct_values, are_equal_when_kubernetes_says_so)
{
    static const struct {
        const char *a, *b;
        bool is_equal;
    } pairs[] = {
        {"{}", "{\"spec\":{}}", true},
        {"{}", "{\"spec\":{\"hostNetwork\":false,\"nodeName\":\"\"}}", true},
        {"{}", "{\"spec\":{\"containers\":[],\"nodeSelector\":{}}}", true},
        {"{}", "{\"spec\":{\"terminationGracePeriodSeconds\":0}}", false},
        {"{}", "{\"spec\":{\"securityContext\":{}}}", false},
        {"{}", "{\"spec\":{\"nodeSelector\":{\"a\":\"\"}}}", false},
        {"{}", "{\"x\":1}", false},
        {"{\"spec\":{\"overhead\":{\"cpu\":\"1\"}}}",
         "{\"spec\":{\"overhead\":{\"cpu\":\"1000m\"}}}", true},
        {"{\"spec\":{\"nodeSelector\":{\"a\":\"1\",\"b\":\"2\"}}}",
         "{\"spec\":{\"nodeSelector\":{\"b\":\"2\",\"a\":\"1\"}}}", true},
        {"{\"spec\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"}]}}",
         "{\"spec\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]}}", false},
        {"{\"status\":{\"startTime\":\"2025-01-01T00:00:00Z\"}}",
         "{\"status\":{\"startTime\":\"2025-01-01T01:00:00+01:00\"}}", true},
    };
    struct cor_pool *pool = pool_new();

    for (size_t i = 0; i < COR_ARRAY_LEN(pairs); i++) {
        struct cor_core_v1_pod_own a, b;

        assert_int_equal(cor_core_v1_pod_own_decode(pool, cor_strz(pairs[i].a), NULL, &a, NULL), 0);
        assert_int_equal(cor_core_v1_pod_own_decode(pool, cor_strz(pairs[i].b), NULL, &b, NULL), 0);
        assert_int_equal(cor_core_v1_pod_own_equal(&a, &b), pairs[i].is_equal);
        assert_int_equal(cor_core_v1_pod_own_equal(&b, &a), pairs[i].is_equal);
    }
    cor_pool_free(pool);
}

/* Maps that a program made are not sorted. */
TEST(struct_values, compare_maps_in_any_order)
{
    struct cor_str_entry one[] = {{COR_STR_INIT("b"), COR_STR_INIT("2")},
                                  {COR_STR_INIT("a"), COR_STR_INIT("1")}};
    struct cor_str_entry other[] = {{COR_STR_INIT("a"), COR_STR_INIT("1")},
                                    {COR_STR_INIT("b"), COR_STR_INIT("2")}};
    struct cor_core_v1_config_map_own a = {.data = {one, 2, 0}}, b = {.data = {other, 2, 0}};

    assert_true(cor_core_v1_config_map_own_equal(&a, &b));
    other[1].value = COR_STR("3");
    assert_false(cor_core_v1_config_map_own_equal(&a, &b));
    other[1].key = COR_STR("c");
    assert_false(cor_core_v1_config_map_own_equal(&a, &b));
}

TEST(struct_values, have_limits)
{
    struct cor_own_opts opts = {COR_OWN_OPTS, .bytes_max = 10};
    struct cor_core_v1_pod_own pod;
    struct cor_apps_v1_deployment_own loop = {.unknown_fields = {NULL, 0}};
    struct example_v1_website_own site;
    struct cor_pool *pool = pool_new(), *small;
    struct cor_own_error why;
    struct cor_str json;

    assert_int_equal(
        cor_core_v1_pod_own_decode(pool, COR_STR("{\"kind\":\"Pod\"}"), &opts, &pod, &why),
        -COR_ETOOBIG);
    opts.bytes_max = 0;
    opts.depth_max = 2;
    assert_int_equal(
        cor_core_v1_pod_own_decode(pool, COR_STR("{\"a\":{\"b\":{}}}"), &opts, &pod, &why),
        -COR_EINVAL);
    opts.size = 0;
    assert_int_equal(cor_core_v1_pod_own_decode(pool, COR_STR("{}"), &opts, &pod, &why),
                     -COR_EINVAL);
    assert_int_equal(cor_pool_new(100, &small), 0);
    assert_int_equal(
        cor_core_v1_pod_own_decode(small, COR_STR("{\"spec\":{\"containers\":[{\"name\":\"a\"}]}}"),
                                   NULL, &pod, &why),
        -COR_ETOOBIG);
    assert_int_equal(cor_pool_error(small), -COR_ETOOBIG);
    cor_pool_reset(small);
    assert_int_equal(cor_core_v1_pod_own_decode(small, COR_STR("{}"), NULL, &pod, &why), 0);
    cor_pool_free(small);

    loop.unknown_fields = COR_STR("\"a\":");
    assert_int_equal(cor_apps_v1_deployment_own_encode(pool, &loop, &json), -COR_EINVAL);
    example_v1_website_own_init(&site);
    site.spec.pod_template = COR_STR("{} x");
    assert_int_equal(example_v1_website_own_encode(pool, &site, &json), -COR_EINVAL);
    site.spec.pod_template = COR_STR("{}");
    site.spec.weight = cor_opt_double(1.0 / 0.0);
    assert_int_equal(example_v1_website_own_encode(pool, &site, &json), -COR_EINVAL);
    cor_pool_free(pool);
}

TEST(struct_values, of_custom_resources_are_what_json_says)
{
    static const char text[] =
        "{\"kind\":\"Website\",\"apiVersion\":\"example.com/v1\",\"metadata\":{\"name\":\"a\"},"
        "\"spec\":{\"backends\":{\"x\":{\"weight\":0},\"y\":{}},\"certificate\":\"AAEC\",\"codes\":[1,"
        "-2],\"env\":{\"A\":\"b\"},\"expires\":\"2025-01-01T00:00:00.123+01:00\",\"generation\":"
        "4294967296,\"hosts\":[\"h\"],\"image\":\"i\",\"matrix\":[[1,2],[]],\"maxSurge\":\"25%\","
        "\"odd-\\\"name\\\"\":\"o\",\"paused\":false,\"podTemplate\":{\"b\":1,\"a\":2},\"ports\":[{"
        "\"name\":\"http\",\"port\":80}],\"replicas\":0,\"tier\":\"free\",\"weight\":0.25},"
        "\"status\":{}}";
    struct cor_pool *pool = pool_new();
    struct example_v1_website_own site, copy;
    struct cor_own_error why = {.path = ""};
    struct cor_str json;

    assert_int_equal(example_v1_website_own_decode(pool, cor_strz(text), NULL, &site, &why), 0);
    assert_str(site.metadata.name, "a");
    assert_int_equal(site.spec.backends.n, 2);
    assert_true(site.spec.backends.p[0].value.weight.is_set);
    assert_false(site.spec.backends.p[1].value.weight.is_set);
    assert_int_equal(site.spec.codes.p[1], -2);
    assert_int_equal(site.spec.generation.value, INT64_C(4294967296));
    assert_str(site.spec.matrix.p[0], "[1,2]");
    assert_str(site.spec.max_surge.text, "25%");
    assert_str(site.spec.expires, "2025-01-01T00:00:00.123+01:00");
    assert_non_null(site.status);
    assert_int_equal(example_v1_website_own_copy(pool, &site, &copy), 0);
    assert_true(example_v1_website_own_equal(&site, &copy));
    assert_int_equal(example_v1_website_own_encode(pool, &copy, &json), 0);
    assert_str(json, text);
    copy.spec.backends.p[0].value.weight.is_set = false;
    assert_false(example_v1_website_own_equal(&site, &copy));
    assert_non_null(
        example_v1_website_spec_backends_own_map_add(pool, &copy.spec.backends, COR_STR("z")));
    assert_int_equal(copy.spec.backends.n, 3);
    cor_pool_free(pool);
}

/* Contract controllers 5.6.2 to 5.6.4. */
TEST(struct_values, get_the_defaults_of_kubernetes)
{
    struct cor_pool *pool = pool_new();
    struct cor_apps_v1_deployment_own web;
    struct cor_core_v1_service_own service;
    struct cor_core_v1_service_list_own list;
    struct cor_str json;

    assert_int_equal(
        cor_apps_v1_deployment_own_decode(
            pool,
            COR_STR("{\"spec\":{\"replicas\":0,\"strategy\":{\"rollingUpdate\":{\"maxSurge\":1}},"
                    "\"template\":{\"spec\":{\"containers\":[{\"ports\":[{}]}]}}}}"),
            NULL, &web, NULL),
        0);
    assert_int_equal(cor_apps_v1_deployment_own_fill(pool, &web), 0);
    assert_int_equal(web.spec.replicas.value, 0);
    assert_int_equal(web.spec.revision_history_limit.value, 10);
    assert_str(web.spec.strategy.type, "RollingUpdate");
    assert_int_equal(web.spec.strategy.rolling_update->max_surge.number, 1);
    assert_str(web.spec.strategy.rolling_update->max_unavailable.text, "25%");
    assert_str(web.spec.template_.spec.restart_policy, "Always");
    assert_str(web.spec.template_.spec.containers.p[0].ports.p[0].protocol, "TCP");
    assert_null(web.spec.template_.spec.containers.p[0].liveness_probe);

    assert_int_equal(
        cor_core_v1_service_own_decode(pool, COR_STR("{\"spec\":{\"ports\":[{\"port\":80}]}}"),
                                       NULL, &service, NULL),
        0);
    assert_int_equal(cor_core_v1_service_own_fill(pool, &service), 0);
    assert_int_equal(service.spec.ports.p[0].target_port.number, 80);
    assert_int_equal(service.spec.ports.p[0].target_port.type, COR_INT_OR_STR_INT);
    assert_str(service.spec.internal_traffic_policy, "Cluster");
    assert_null(service.spec.external_traffic_policy.p);
    assert_int_equal(
        cor_core_v1_service_list_own_decode(
            pool, COR_STR("{\"items\":[{\"spec\":{}},{\"spec\":{}}]}"), NULL, &list, NULL),
        0);
    assert_int_equal(cor_core_v1_service_list_own_fill(pool, &list), 0);
    assert_str(list.items.p[1].spec.session_affinity, "None");
    assert_int_equal(cor_core_v1_service_own_encode(pool, &service, &json), 0);
    assert_str(json, "{\"spec\":{\"internalTrafficPolicy\":\"Cluster\",\"ports\":[{\"port\":80,"
                     "\"protocol\":\"TCP\",\"targetPort\":80}],\"sessionAffinity\":\"None\","
                     "\"type\":\"ClusterIP\"}}");
    cor_pool_free(pool);
}

TEST(struct_values, get_the_defaults_of_a_schema)
{
    struct cor_pool *pool = pool_new();
    struct example_v1_website_own site;
    struct cor_str json;

    assert_int_equal(example_v1_website_own_decode(
                         pool, COR_STR("{\"spec\":{\"image\":\"i\",\"ports\":[{},{\"port\":0}]}}"),
                         NULL, &site, NULL),
                     0);
    assert_int_equal(example_v1_website_own_fill(pool, &site), 0);
    assert_int_equal(example_v1_website_own_encode(pool, &site, &json), 0);
    assert_str(json,
               "{\"spec\":{\"hosts\":[\"localhost\"],\"image\":\"i\",\"ports\":[{\"port\":80},"
               "{\"port\":0}],\"tier\":\"free\"}}");
    cor_pool_free(pool);
}

/* A program may add a key twice, also by the same literal: the last one counts, everywhere. */
TEST(struct_values, of_equal_keys_of_a_map_the_last_counts)
{
    struct cor_str_entry entries[40];
    struct cor_core_v1_config_map_own map, same;
    struct cor_pool *pool;
    struct cor_str json;

    assert_int_equal(cor_pool_new(0, &pool), 0);
    cor_core_v1_config_map_own_init(&map);
    cor_core_v1_config_map_own_init(&same);
    for (size_t i = 0; i < COR_ARRAY_LEN(entries); i++) {
        static const char *const keys[] = {"b", "a"};
        struct cor_str value = i + 2 < COR_ARRAY_LEN(entries) ? COR_STR("old") : COR_STR("new");

        entries[i] = (struct cor_str_entry){cor_strz(keys[i % 2]), value};
    }
    map.data = (struct cor_str_map){entries, COR_ARRAY_LEN(entries), COR_ARRAY_LEN(entries)};
    assert_int_equal(cor_core_v1_config_map_own_encode(pool, &map, &json), 0);
    assert_str(json, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"data\":{\"a\":\"new\","
                     "\"b\":\"new\"}}");
    assert_str(*cor_str_map_get(&map.data, COR_STR("a")), "new");
    assert_int_equal(cor_str_map_set(pool, &same.data, COR_STR("a"), COR_STR("new")), 0);
    assert_false(cor_core_v1_config_map_own_equal(&map, &same));
    assert_false(cor_core_v1_config_map_own_equal(&same, &map));
    assert_int_equal(cor_str_map_set(pool, &same.data, COR_STR("b"), COR_STR("new")), 0);
    assert_true(cor_core_v1_config_map_own_equal(&map, &same));
    assert_true(cor_core_v1_config_map_own_equal(&same, &map));
    cor_pool_free(pool);
}
