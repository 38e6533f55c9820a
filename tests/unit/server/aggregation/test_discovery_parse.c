/* Discovery documents of other servers. Expected values are those of kube-apiserver 1.34.1 with the
 * same answers behind it, or follow from the named contract line. */
#include "base/limits.h"
#include "server/aggregation/discovery_parse.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "test.h"

#define LIST                                                                                       \
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"items\":"

static void check_resources(const char *json, const char *group, const char *version,
                            const char *expected)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
    struct cor_discovery_list list;
    const struct cor_discovery_entry *entry;

    assert_int_equal(cor_discovery_list_init(&list, cor_strz(json)), 0);
    entry = cor_discovery_list_find(&list, cor_strz(group), cor_strz(version));
    if (expected) {
        assert_non_null(entry);
        assert_int_equal(cor_discovery_write_resources(entry, &out), 0);
        assert_string_equal(cor_buf_z(&out), expected);
    } else {
        assert_null(entry);
    }
    cor_discovery_list_deinit(&list);
}

/* Contract extension 4.5.2 and 4.5.3: of v2 and v2beta1 the known members are kept, in upstream's
 * order, and a missing responseKind is an empty one. */
TEST(discovery_parse, takes_known_members_of_a_version)
{
    static const char json[] = LIST
        "[{\"metadata\":{\"name\":\"wardle.example.com\",\"creationTimestamp\":null},\"versions\":["
        "{\"freshness\":\"Current\",\"version\":\"v1alpha1\",\"resources\":["
        "{\"verbs\":[\"get\",\"list\"],\"scope\":\"Namespaced\",\"resource\":\"flunders\","
        "\"odd\":{\"x\":1},\"singularResource\":\"flunder\",\"shortNames\":[],\"categories\":[\"all\"],"
        "\"responseKind\":{\"kind\":\"Flunder\",\"group\":\"wardle.example.com\",\"version\":\"\"},"
        "\"subresources\":[{\"subresource\":\"status\",\"verbs\":[\"get\"],\"acceptedTypes\":["
        "{\"kind\":\"Scale\",\"group\":\"autoscaling\",\"version\":\"v1\"}]}]},"
        "{\"resource\":\"fischers\",\"scope\":\"Cluster\",\"responseKind\":null}]},"
        "{\"version\":\"v1beta1\"}]},{\"metadata\":{\"name\":\"apps\"},\"versions\":null},{}]}";

    check_resources(
        json, "wardle.example.com", "v1alpha1",
        "[{\"resource\":\"flunders\",\"responseKind\":{\"group\":\"wardle.example.com\","
        "\"version\":\"\",\"kind\":\"Flunder\"},\"scope\":\"Namespaced\",\"singularResource\":"
        "\"flunder\",\"verbs\":[\"get\",\"list\"],\"categories\":[\"all\"],\"subresources\":["
        "{\"subresource\":\"status\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"\"},"
        "\"acceptedTypes\":[{\"group\":\"autoscaling\",\"version\":\"v1\",\"kind\":\"Scale\"}],"
        "\"verbs\":[\"get\"]}]},{\"resource\":\"fischers\",\"responseKind\":{\"group\":\"\","
        "\"version\":\"\",\"kind\":\"\"},\"scope\":\"Cluster\",\"singularResource\":\"\","
        "\"verbs\":null}]");
    check_resources(json, "wardle.example.com", "v1beta1", "[]");
    check_resources(json, "apps", "v1", NULL);
    check_resources(json, "wardle.example.com", "v1", NULL);
}

TEST(discovery_parse, takes_the_last_of_equal_versions)
{
    check_resources(
        LIST "[{\"metadata\":{\"name\":\"g\"},\"versions\":[{\"version\":\"v1\",\"resources\":"
             "[{\"resource\":\"a\"}]},{\"version\":\"v\\u0031\"}]}]}",
        "g", "v1", "[]");
}

TEST(discovery_parse, refuses_what_is_no_list_of_groups)
{
    static const char *const wrong[] = {
        "",
        "x",
        "[]",
        "{}",
        "{\"kind\":\"APIGroupList\"}",
        "{\"kind\":\"APIGroupDiscoveryList\",\"items\":{}}",
        LIST "[7]}",
        LIST "[{\"metadata\":[]}]}",
        LIST "[{\"metadata\":{\"name\":7}}]}",
        LIST "[{\"versions\":[7]}]}",
        LIST "[{\"versions\":[{\"version\":{}}]}]}",
        LIST "[{\"versions\":[{\"version\":\"v1\",\"resources\":{}}]}]}",
        LIST "[]",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(wrong); i++) {
        struct cor_discovery_list list;

        assert_int_equal(cor_discovery_list_init(&list, cor_strz(wrong[i])), -COR_EINVAL);
        cor_discovery_list_deinit(&list);
    }
}

TEST(discovery_parse, refuses_resources_with_members_of_other_types)
{
    static const char *const wrong[] = {
        "7",
        "null",
        "{\"resource\":7}",
        "{\"scope\":{}}",
        "{\"verbs\":\"get\"}",
        "{\"verbs\":[7]}",
        "{\"shortNames\":[null]}",
        "{\"responseKind\":[]}",
        "{\"responseKind\":{\"kind\":7}}",
        "{\"subresources\":{}}",
        "{\"subresources\":[7]}",
        "{\"subresources\":[{\"verbs\":{}}]}",
        "{\"subresources\":[{\"acceptedTypes\":[7]}]}",
        "{\"subresources\":[{\"acceptedTypes\":[{\"kind\":7}]}]}",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(wrong); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        struct cor_discovery_list list;
        char json[512];

        snprintf(json, sizeof(json),
                 LIST "[{\"versions\":[{\"version\":\"v1\",\"resources\":[%s]}]}]}", wrong[i]);
        assert_int_equal(cor_discovery_list_init(&list, cor_strz(json)), 0);
        assert_int_equal(cor_discovery_write_resources(&list.v[0], &out), -COR_EINVAL);
        cor_discovery_list_deinit(&list);
    }
}

/* What upstream's ConvertGroupVersionIntoToDiscovery() makes of the list. */
TEST(discovery_parse, converts_the_list_of_a_version)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};

    assert_int_equal(
        cor_discovery_write_legacy(
            COR_STR(
                "{\"kind\":\"APIResourceList\",\"groupVersion\":\"g/v1\",\"resources\":["
                "{\"name\":\"b/status\",\"namespaced\":true,\"kind\":\"B\",\"verbs\":[\"get\"]},"
                "{\"name\":\"a/scale\",\"group\":\"autoscaling\",\"version\":\"v1\",\"kind\":"
                "\"Scale\",\"namespaced\":false,\"verbs\":[\"get\"]},"
                "{\"name\":\"b\",\"singularName\":\"bee\",\"namespaced\":true,\"kind\":\"B\","
                "\"verbs\":[\"list\"],\"shortNames\":[\"bb\"],\"storageVersionHash\":\"x\"},"
                "{\"name\":\"a/x/y\",\"kind\":\"\",\"namespaced\":false}]}"),
            &out),
        0);
    assert_string_equal(
        cor_buf_z(&out),
        "[{\"resource\":\"b\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"B\"},"
        "\"scope\":\"Namespaced\",\"singularResource\":\"bee\",\"verbs\":[\"list\"],\"shortNames\":"
        "[\"bb\"],\"subresources\":[{\"subresource\":\"status\",\"responseKind\":{\"group\":\"\","
        "\"version\":\"\",\"kind\":\"B\"},\"verbs\":[\"get\"]}]},"
        "{\"resource\":\"a\",\"responseKind\":{\"group\":\"\",\"version\":\"\",\"kind\":\"\"},"
        "\"scope\":\"Cluster\",\"singularResource\":\"\",\"verbs\":null,\"subresources\":["
        "{\"subresource\":\"scale\",\"responseKind\":{\"group\":\"autoscaling\",\"version\":\"v1\","
        "\"kind\":\"Scale\"},\"verbs\":[\"get\"]},{\"subresource\":\"x/y\",\"responseKind\":"
        "{\"group\":\"\",\"version\":\"\",\"kind\":\"\"},\"verbs\":null}]}]");
}

TEST(discovery_parse, refuses_lists_of_a_version_that_contradict_themselves)
{
    static const char *const wrong[] = {
        "{\"kind\":\"Status\"}",
        "{\"kind\":\"APIResourceList\",\"resources\":{}}",
        "{\"kind\":\"APIResourceList\",\"resources\":[7]}",
        "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":7}]}",
        "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"a\",\"verbs\":[7]}]}",
        ("{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"a\"},{\"name\":\"a/b\","
         "\"namespaced\":true}]}"),
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(wrong); i++) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};

        assert_int_equal(cor_discovery_write_legacy(cor_strz(wrong[i]), &out), -COR_EINVAL);
    }
}

static void add_many(struct cor_buf *json, const char *head, const char *each, size_t n,
                     const char *tail)
{
    cor_buf_init(json, 8u << 20);
    assert_int_equal(cor_buf_addz(json, head), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addf(json, "%s%s", i > 0 ? "," : "", each), 0);
    assert_int_equal(cor_buf_addz(json, tail), 0);
}

TEST(discovery_parse, holds_to_its_maxima)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20}, json = {0};
    struct cor_discovery_list list;

    add_many(&json, LIST "[{\"versions\":[", "{\"version\":\"v1\"}",
             COR_REMOTE_DISCOVERY_VERSIONS + 1, "]}]}");
    assert_int_equal(cor_discovery_list_init(&list, cor_buf_str(&json)), -COR_ETOOBIG);
    cor_discovery_list_deinit(&list);
    cor_buf_deinit(&json);

    add_many(&json, LIST "[{\"versions\":[{\"resources\":[{\"subresources\":[", "{}",
             COR_REMOTE_DISCOVERY_RESOURCES, "]}]}]}]}");
    assert_int_equal(cor_discovery_list_init(&list, cor_buf_str(&json)), 0);
    assert_int_equal(cor_discovery_write_resources(&list.v[0], &out), -COR_ETOOBIG);
    cor_discovery_list_deinit(&list);
    cor_buf_deinit(&json);

    add_many(&json, "{\"kind\":\"APIResourceList\",\"resources\":[", "{}",
             COR_REMOTE_DISCOVERY_RESOURCES + 1, "]}");
    assert_int_equal(cor_discovery_write_legacy(cor_buf_str(&json), &out), -COR_ETOOBIG);
    cor_buf_deinit(&json);

    add_many(&json, LIST "[", "{\"metadata\":{\"name\":\"0123456789abcdef0123456789abcdef\"}}",
             COR_REMOTE_DISCOVERY_BYTES / 50, "]}");
    assert_int_equal(cor_discovery_list_init(&list, cor_buf_str(&json)), -COR_ETOOBIG);
    cor_discovery_list_deinit(&list);
}

TEST(discovery_parse, knows_aggregated_documents_by_their_type)
{
    static const struct {
        const char *type;
        bool is_aggregated;
    } cases[] = {
        {"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", true},
        {"application/json; as=APIGroupDiscoveryList; v=v2beta1; g=apidiscovery.k8s.io", true},
        {"application/json", false},
        {"application/json;g=apidiscovery.k8s.io;v=v3;as=APIGroupDiscoveryList", false},
        {"application/yaml;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", false},
        {"", false},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++)
        assert_int_equal(cor_discovery_is_aggregated(cor_strz(cases[i].type)),
                         cases[i].is_aggregated);
}

TEST(discovery_parse, survives_every_failed_allocation)
{
    static const char legacy[] = "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":\"a\"},"
                                 "{\"name\":\"a/b\"},{\"name\":\"c/d\"}]}";
    static const char json[] =
        LIST "[{\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"a\"}]},"
             "{\"version\":\"v2\"},{\"version\":\"v3\"}]}]}";

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = 1 << 20};
        struct cor_discovery_list list;
        int r = cor_discovery_list_init(&list, cor_strz(json));

        if (r == 0)
            r = cor_discovery_write_resources(&list.v[0], &out);
        if (r == 0)
            r = cor_discovery_write_legacy(cor_strz(legacy), &out);
        assert_true(r == 0 || r == -COR_ENOMEM);
        cor_discovery_list_deinit(&list);
    }
}
