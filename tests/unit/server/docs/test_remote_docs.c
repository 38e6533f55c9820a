/* Documents of a snapshot in which other servers have told about themselves. */
#include "base/limits.h"
#include "server/catalog/remote_docs.h"

#include <stdio.h>

#include "api_fixture.h"

#include "base/err.h"
#include "server/catalog/served.h"
#include "server/docs/discovery_docs.h"
#include "server/docs/openapi_docs.h"

static struct cor_api_service *service_of(const char *group, const char *version, int priority)
{
    struct cor_object *stored, *object;
    struct cor_api_service *service;
    char json[1024];

    snprintf(
        json, sizeof(json),
        "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\",\"metadata\":{\"name\":"
        "\"%s.%s\",\"uid\":\"u\"},\"spec\":{\"group\":\"%s\",\"version\":\"%s\",\"groupPriorityMinimum\":"
        "%d,\"versionPriority\":15,\"service\":{\"namespace\":\"wardle\",\"name\":\"api\"}}}",
        version, group, group, version, priority);
    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &stored, NULL), 0);
    assert_int_equal(cor_object_at(stored, 7, &object), 0);
    assert_int_equal(cor_api_service_new(object, &service), 0);
    cor_object_unref(stored);
    cor_object_unref(object);
    return service;
}

static struct cor_remote_text *text_of(const char *bytes)
{
    struct cor_remote_text *text;

    assert_int_equal(cor_remote_text_new(cor_strz(bytes), &text), 0);
    return text;
}

#define OPENAPI_2(group)                                                                           \
    "{\"definitions\":{\"" group                                                                   \
    ".A\":{\"type\":\"object\"}},\"parameters\":{},\"paths\":{\"/apis/" group                      \
    "/v1/as\":{\"get\":{\"responses\":{}}}},\"swagger\":\"2.0\"}"

static struct cor_served *serve(struct cor_remote_docs *docs)
{
    struct cor_api_service *services[] = {service_of("low.example.com", "v1", 10),
                                          service_of("high.example.com", "v1", 20000),
                                          service_of("silent.example.com", "v1", 500),
                                          service_of("apiregistration.k8s.io", "v1", 100)};
    const struct cor_resource_row *rows[256], *builtins;
    struct cor_served_opts opts = {.rows = rows,
                                   .services = services,
                                   .nservices = COR_ARRAY_LEN(services),
                                   .remote_docs = docs,
                                   .generation = 2};
    struct cor_served *served;

    builtins = cor_api_builtins(&opts.nrows);
    for (size_t i = 0; i < opts.nrows; i++)
        rows[i] = &builtins[i];
    assert_int_equal(cor_served_new(&opts, &served), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(services); i++)
        cor_api_service_unref(services[i]);
    return served;
}

/* Two servers have told, one has not, and one has told that is not served any more. */
static struct cor_remote_docs *docs_new(bool is_changed)
{
    struct cor_remote_version versions[] = {
        {.group = COR_STR("low.example.com"),
         .version = COR_STR("v1"),
         .is_current = true,
         .resources = text_of("[{\"resource\":\"as\"}]"),
         .openapi_2 = text_of(OPENAPI_2("low.example.com")),
         .openapi_3 = text_of("{\"openapi\":\"3.0.0\"}")},
        {.group = COR_STR("high.example.com"),
         .version = COR_STR("v1"),
         .resources = text_of("[{\"resource\":\"never\"}]"),
         .openapi_2 =
             text_of(is_changed ? OPENAPI_2("other.example.com") : OPENAPI_2("high.example.com")),
         .openapi_3_group = text_of("{\"openapi\":\"3.0.0\",\"info\":{\"title\":\"group\"}}")},
        {.group = COR_STR("gone.example.com"),
         .version = COR_STR("v1"),
         .is_current = true,
         .openapi_2 = text_of(OPENAPI_2("gone.example.com")),
         .openapi_3 = text_of("{}")},
    };
    struct cor_remote_docs *docs;

    assert_int_equal(cor_remote_docs_new(versions, COR_ARRAY_LEN(versions), &docs), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(versions); i++) {
        cor_remote_text_unref(versions[i].resources);
        cor_remote_text_unref(versions[i].openapi_2);
        cor_remote_text_unref(versions[i].openapi_3);
        cor_remote_text_unref(versions[i].openapi_3_group);
    }
    return docs;
}

/* Contract extension 4.5.1 to 4.5.3: every APIService is in the plain list; the aggregated one has
 * those whose servers were asked, in the order of their priorities. */
TEST(remote_docs, are_in_discovery)
{
    struct cor_remote_docs *docs = docs_new(false);
    struct cor_served *served = serve(docs);
    const struct cor_served_doc *doc;
    const char *high, *low;

    assert_int_equal(cor_discovery_doc(served, COR_DOC_GROUPS_ALL, NULL, &doc), 0);
    high = strstr(cor_buf_z(&doc->json),
                  "{\"metadata\":{\"name\":\"high.example.com\"},\"versions\":[{"
                  "\"version\":\"v1\",\"freshness\":\"Stale\"}]}");
    low = strstr(
        cor_buf_z(&doc->json),
        "{\"metadata\":{\"name\":\"low.example.com\"},\"versions\":[{\"version\":\"v1\",\"resources\":"
        "[{\"resource\":\"as\"}],\"freshness\":\"Current\"}]}");
    assert_non_null(high);
    assert_non_null(low);
    assert_true(high < low);
    assert_null(strstr(cor_buf_z(&doc->json), "silent.example.com"));
    assert_null(strstr(cor_buf_z(&doc->json), "gone.example.com"));
    /* Nobody takes the APIServices themselves away, nor hides them. */
    assert_non_null(
        strstr(cor_buf_z(&doc->json), "{\"metadata\":{\"name\":\"apiregistration.k8s.io\"}"));
    assert_non_null(strstr(cor_buf_z(&doc->json), "{\"resource\":\"apiservices\""));
    assert_int_equal(cor_discovery_doc(served, COR_DOC_GROUPS, NULL, &doc), 0);
    assert_non_null(strstr(cor_buf_z(&doc->json), "silent.example.com"));
    cor_served_unref(served);
    cor_remote_docs_unref(docs);
}

static void check_has(const struct cor_served *served, const char *path, const char *text)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = COR_OPENAPI_BYTES_MAX};
    char hash[COR_OPENAPI_HASH_MAX];
    int r = cor_openapi_hash(served, cor_strz(path), hash);

    if (!text) {
        assert_int_equal(r, -COR_ENOTFOUND);
        return;
    }
    assert_int_equal(r, 0);
    assert_int_equal(path[0] ? cor_openapi_write_3(served, cor_strz(path), &out)
                             : cor_openapi_write_2(served, &out),
                     0);
    assert_non_null(strstr(cor_buf_z(&out), text));
}

TEST(remote_docs, are_in_openapi)
{
    struct cor_remote_docs *docs = docs_new(false), *next = docs_new(true);
    struct cor_served *served = serve(docs), *changed = serve(next), *none = serve(NULL);
    char hashes[3][COR_OPENAPI_HASH_MAX];
    COR_CLEANUP(cor_buf_deinit) struct cor_buf index = {.max = 1 << 20};

    check_has(served, "", "\"/apis/low.example.com/v1/as\":{\"get\":");
    check_has(served, "", "\"high.example.com.A\":{");
    check_has(served, "apis/low.example.com/v1", "{\"openapi\":\"3.0.0\"}");
    check_has(served, "apis/high.example.com", "group");
    check_has(served, "apis/high.example.com/v1", NULL);
    check_has(served, "apis/gone.example.com/v1", NULL);
    assert_int_equal(cor_openapi_index(served, &index), 0);
    assert_non_null(strstr(cor_buf_z(&index), "\"apis/low.example.com/v1\":{\"serverRelativeURL\":"
                                              "\"/openapi/v3/apis/low.example.com/v1?hash="));
    assert_null(strstr(cor_buf_z(&index), "gone.example.com"));
    /* Other bytes have another hash. */
    assert_int_equal(cor_openapi_hash(served, COR_STR(""), hashes[0]), 0);
    assert_int_equal(cor_openapi_hash(changed, COR_STR(""), hashes[1]), 0);
    assert_int_equal(cor_openapi_hash(none, COR_STR(""), hashes[2]), 0);
    assert_string_not_equal(hashes[0], hashes[1]);
    assert_string_not_equal(hashes[0], hashes[2]);
    assert_true(cor_openapi_weigh(served, COR_STR("")) > cor_openapi_weigh(none, COR_STR("")));
    assert_int_equal(cor_openapi_weigh(served, COR_STR("apis/low.example.com/v1")), 19);
    cor_served_unref(served);
    cor_served_unref(changed);
    cor_served_unref(none);
    cor_remote_docs_unref(docs);
    cor_remote_docs_unref(next);
}

TEST(remote_docs, survive_every_failed_allocation)
{
    struct cor_remote_docs *docs = docs_new(false);
    struct cor_served *served = serve(docs);
    size_t nversions;
    const struct cor_remote_version *versions = cor_remote_docs_all(docs, &nversions);

    FOR_EACH_FAILED_ALLOC(n) {
        COR_CLEANUP(cor_buf_deinit) struct cor_buf out = {.max = COR_OPENAPI_BYTES_MAX};
        struct cor_remote_docs *copy = NULL;
        int r = cor_openapi_write_2(served, &out);

        if (r == 0)
            r = cor_remote_docs_new(versions, nversions, &copy);
        assert_true(r == 0 || r == -COR_ENOMEM);
        cor_remote_docs_unref(copy);
    }
    cor_served_unref(served);
    cor_remote_docs_unref(docs);
}
