/* The OpenAPI documents: what schemas and operations say, how documents are asked for, and their
 * protobuf. tests/differential/openapi.py compares all of them with upstream's. */
#include "api_fixture.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "busy_thread.h"
#include "codec/gzip.h"
#include "schema/print/openapi.h"
#include "schema/protobuf/protobuf_wire.h"
#include "server/catalog/served.h"
#include "server/docs/openapi_docs.h"
#include "server/docs/openapi_protobuf.h"
#include "json/text/scan.h"

#define APPS       "/openapi/v3/apis/apps/v1"
#define OBJECT     "paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}']"
#define COLLECTION "paths['/apis/apps/v1/namespaces/{namespace}/deployments']"
#define SCHEMA(n)  "components.schemas['io.k8s.api." n "']"
#define REF(n)     "#/components/schemas/io.k8s." n
#define PB_OLD     "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

/* The URL of a document in the index. */
static const char *url_of(struct fx *fx, const char *path)
{
    static char key[128];

    snprintf(key, sizeof(key), "paths['%s'].serverRelativeURL", path);
    return fx_at(fx_do(fx, 200, "GET", "/openapi/v3", ""), key);
}

/* Contract server 3.23.2. */
TEST(openapi, the_index_has_a_document_for_every_group_and_version)
{
    static const char *const paths[] = {"api",       "api/v1",       "apis",
                                        "apis/apps", "apis/apps/v1", "apis/autoscaling/v1",
                                        "version",   "apis/policy",  "apis/autoscaling/v2"};
    struct fx fx = {0};

    fx_open(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(paths); i++) {
        const char *url = url_of(&fx, paths[i]);
        char begin[64];

        snprintf(begin, sizeof(begin), "/openapi/v3/%s?hash=", paths[i]);
        assert_memory_equal(url, begin, strlen(begin));
        assert_at(fx_do(&fx, 200, "GET", url, ""), "openapi", "3.0.0");
    }
    assert_string_not_equal(strchr(url_of(&fx, "apis/autoscaling/v1"), '='),
                            strchr(url_of(&fx, "apis/autoscaling/v2"), '='));
    fx_close(&fx);
}

/* Contract server 3.23.2. */
TEST(openapi, a_document_is_sent_once_to_a_client_that_keeps_it)
{
    struct fx_headers headers = {0};
    char etag[80], url[256];
    struct fx fx = {0};

    fx_open(&fx);
    snprintf(url, sizeof(url), "%s", url_of(&fx, "apis/apps/v1"));
    {
        FX_CALL call;

        fx_start(&fx, &call, "GET", url, "", NULL);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 200);
        assert_str(sink_header(&call.sink, "Content-Type"), "application/json");
        assert_str(sink_header(&call.sink, "Cache-Control"), "public, immutable");
        assert_str(sink_header(&call.sink, "Expires"), "Thu, 01 Jan 2026 00:00:00 UTC");
        snprintf(etag, sizeof(etag), "%.*s", COR_STR_ARG(sink_header(&call.sink, "Etag")));
        /* The ETag is the hash of the URL. */
        assert_memory_equal(etag + 1, strchr(url, '=') + 1, strlen(etag) - 2);
    }
    headers.if_none_match = etag;
    {
        FX_CALL call;

        fx_start(&fx, &call, "GET", APPS, "", &headers);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 304);
        assert_int_equal(call.sink.body.n, 0);
        assert_str(sink_header(&call.sink, "Cache-Control"), "no-cache, private");
    }
    {
        FX_CALL call;

        fx_start(&fx, &call, "GET", APPS "?hash=0123", "", NULL);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 301);
        assert_str(sink_header(&call.sink, "Location"), url);
    }
    headers = (struct fx_headers){.accept = "application/yaml"};
    assert_string_equal(fx_do_with(&fx, 406, "GET", APPS, "", &headers), "");
    assert_string_equal(fx_do_with(&fx, 406, "GET", "/openapi/v3", "", &headers), "");
    assert_string_equal(fx_do_with(&fx, 406, "GET", "/openapi/v2", "", &headers), "");
    assert_string_equal(fx_do(&fx, 404, "GET", "/openapi/v3/apis/nope/v1", ""), "");
    assert_string_equal(fx_do(&fx, 404, "GET", "/openapi/v3/apis/apps/v2", ""), "");
    fx_close(&fx);
}

/* kubectl explain finds a kind by its three names, and goes on by references. */
TEST(openapi, schemas_have_what_the_declarations_say)
{
    struct fx fx = {0};
    const char *doc;

    fx_open(&fx);
    doc = fx_do(&fx, 200, "GET", APPS, "");
    assert_at(doc, SCHEMA("apps.v1.Deployment") ".x-kubernetes-group-version-kind",
              "[{\"group\":\"apps\",\"kind\":\"Deployment\",\"version\":\"v1\"}]");
    assert_at(doc, SCHEMA("apps.v1.Deployment") ".properties.spec.allOf[0]['$ref']",
              REF("api.apps.v1.DeploymentSpec"));
    assert_at(doc, SCHEMA("apps.v1.Deployment") ".properties.spec.default", "{}");
    assert_at(doc, SCHEMA("apps.v1.DeploymentSpec") ".required", "[\"selector\",\"template\"]");
    assert_at(doc, SCHEMA("apps.v1.DeploymentSpec") ".properties.replicas.format", "int32");
    assert_at(doc, SCHEMA("apps.v1.DeploymentSpec") ".properties.replicas.default", "");
    assert_at(doc,
              SCHEMA("apps.v1.DeploymentSpec") ".properties.strategy.x-kubernetes-patch-strategy",
              "retainKeys");
    assert_at(doc, SCHEMA("apps.v1.DeploymentStrategy") ".properties.type.enum",
              "[\"Recreate\",\"RollingUpdate\"]");
    assert_at(doc, SCHEMA("core.v1.Container") ".properties.ports.x-kubernetes-list-map-keys",
              "[\"containerPort\",\"protocol\"]");
    assert_at(doc, SCHEMA("core.v1.Container") ".properties.ports.x-kubernetes-patch-merge-key",
              "containerPort");
    assert_at(doc, SCHEMA("core.v1.ContainerPort") ".properties.protocol.default", "TCP");
    assert_at(doc, SCHEMA("core.v1.ContainerPort") ".properties.protocol.enum",
              "[\"SCTP\",\"TCP\",\"UDP\"]");
    assert_at(doc, SCHEMA("core.v1.ContainerPort") ".properties.containerPort.default", "0");
    assert_at(doc, SCHEMA("core.v1.LocalObjectReference") ".x-kubernetes-map-type", "atomic");
    assert_at(doc, SCHEMA("core.v1.SeccompProfile") ".x-kubernetes-unions[0].discriminator",
              "type");
    assert_at(doc, SCHEMA("core.v1.ContainerRestartRule") ".required", "[\"action\"]");
    assert_at(doc, SCHEMA("autoscaling.v1.Scale") ".x-kubernetes-group-version-kind[0].group",
              "autoscaling");
    assert_at(doc, "components.schemas['io.k8s.apimachinery.pkg.util.intstr.IntOrString'].format",
              "int-or-string");
    assert_at(doc, "components.schemas['io.k8s.apimachinery.pkg.api.resource.Quantity'].oneOf",
              "[{\"type\":\"string\"},{\"type\":\"number\"}]");
    doc = fx_do(&fx, 200, "GET", "/openapi/v3/apis/admissionregistration.k8s.io/v1", "");
    assert_at(doc,
              SCHEMA("admissionregistration.v1.MutatingWebhook") ".properties.failurePolicy.enum",
              "[\"Fail\",\"Ignore\"]");
    assert_at(doc,
              SCHEMA("admissionregistration.v1.MutatingWebhook") ".properties."
                                                                 "reinvocationPolicy.enum",
              "");
    fx_close(&fx);
}

/* Generated clients have their names from operationId. */
TEST(openapi, operations_have_upstreams_names_parameters_and_answers)
{
    struct fx fx = {0};
    const char *doc;

    fx_open(&fx);
    doc = fx_do(&fx, 200, "GET", APPS, "");
    assert_at(doc, OBJECT ".patch.operationId", "patchAppsV1NamespacedDeployment");
    assert_at(doc, OBJECT ".patch.parameters[1].name", "fieldManager");
    assert_at(doc, OBJECT ".patch.parameters[2].name", "fieldValidation");
    assert_at(doc, OBJECT ".patch.x-kubernetes-group-version-kind",
              "{\"group\":\"apps\",\"kind\":\"Deployment\",\"version\":\"v1\"}");
    assert_at(doc,
              OBJECT
              ".patch.requestBody.content['application/strategic-merge-patch+json'].schema['$ref']",
              REF("apimachinery.pkg.apis.meta.v1.Patch"));
    assert_at(doc, OBJECT ".delete.responses['202'].content['application/json'].schema['$ref']",
              REF("apimachinery.pkg.apis.meta.v1.Status"));
    assert_at(doc, OBJECT ".get.parameters", ""); /* all are the path's */
    assert_at(doc, OBJECT ".parameters[0].name", "name");
    assert_at(doc, OBJECT ".parameters[0].required", "true");
    assert_at(doc, OBJECT ".parameters[2].name", "pretty");
    assert_at(doc, COLLECTION ".post.operationId", "createAppsV1NamespacedDeployment");
    assert_at(doc, COLLECTION ".delete.operationId", "deleteAppsV1CollectionNamespacedDeployment");
    assert_at(doc, COLLECTION ".get.x-kubernetes-action", "list");
    assert_at(doc, "paths['/apis/apps/v1/deployments'].get.operationId",
              "listAppsV1DeploymentForAllNamespaces");
    assert_at(doc, "paths['/apis/apps/v1/watch/deployments'].get.operationId",
              "watchAppsV1DeploymentListForAllNamespaces");
    assert_at(doc,
              "paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale'].put."
              "x-kubernetes-group-version-kind.kind",
              "Scale");
    assert_at(doc, "paths['/apis/apps/v1/'].get.operationId", "getAppsV1APIResources");
    doc = fx_do(&fx, 200, "GET", "/openapi/v3/apis/rbac.authorization.k8s.io/v1", "");
    assert_at(doc, "paths['/apis/rbac.authorization.k8s.io/v1/clusterroles'].get.operationId",
              "listRbacAuthorizationV1ClusterRole");
    assert_at(doc, "paths['/apis/rbac.authorization.k8s.io/v1/clusterroles'].get.tags[0]",
              "rbacAuthorization_v1");
    doc = fx_do(&fx, 200, "GET", "/openapi/v3/api/v1", "");
    assert_at(doc,
              "paths['/api/v1/namespaces/{namespace}/pods/{name}'].delete.responses['200']."
              "content['application/json'].schema['$ref']",
              REF("api.core.v1.Pod"));
    assert_at(doc, "paths['/api/v1/namespaces/{name}/finalize'].put.operationId",
              "replaceCoreV1NamespaceFinalize");
    /* What this server does not have. */
    assert_at(doc, "paths['/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token']", "");
    fx_close(&fx);
}

/* Every reference of a document is to a schema or a parameter that the document has. */
static void check_references(struct cor_str doc)
{
    static const char begin[] = "\"$ref\":\"#/";
    const char *at = doc.p;
    size_t n = 0;

    while ((at = memmem(at, (size_t)(doc.p + doc.n - at), begin, sizeof(begin) - 1))) {
        const char *from = at + sizeof(begin) - 1, *to = memchr(from, '"', 640);
        const char *name = to;
        char key[640];

        assert_non_null(to);
        while (name[-1] != '/')
            name--;
        snprintf(key, sizeof(key), "\"%.*s\":{", (int)(to - name), name);
        if (!memmem(doc.p, doc.n, key, strlen(key)))
            fail_msg("%s is not in the document", key);
        at = to;
        n++;
    }
    assert_true(n > 0);
}

/* The paths that connect with a node. Their query is that of a kind of options. */
TEST(openapi, connections_have_upstreams_methods_and_queries)
{
#define POD     "paths['/api/v1/namespaces/{namespace}/pods/{name}"
#define BY_PATH "paths['/api/v1/nodes/{name}/proxy/{path}']"
    static const char *const forwarded[] = {"delete", "get",  "head", "options",
                                            "patch",  "post", "put"};
    struct fx fx = {0};
    const char *doc;
    char path[160];

    fx_open(&fx);
    doc = fx_do(&fx, 200, "GET", "/openapi/v3/api/v1", "");
    assert_at(doc, POD "/exec'].post.operationId", "connectCoreV1PostNamespacedPodExec");
    assert_at(doc, POD "/exec'].get.x-kubernetes-action", "connect");
    assert_at(doc, POD "/exec'].get.x-kubernetes-group-version-kind.kind", "PodExecOptions");
    assert_at(doc, POD "/exec'].get.responses['200'].content['*/*'].schema.type", "string");
    assert_at(doc, POD "/exec'].put", "");
    assert_at(doc, POD "/exec'].parameters[2].name", "command");
    assert_at(doc, POD "/exec'].parameters[2].schema",
              "{\"type\":\"string\",\"uniqueItems\":true}");
    assert_at(doc, POD "/exec'].parameters[7].name", "tty");
    assert_at(doc, POD "/exec'].parameters[8]", "");
    assert_at(doc, POD "/portforward'].parameters[2].schema.type", "integer");
    /* A log is read as an object is, and a time is no parameter. */
    assert_at(doc, POD "/log'].get.operationId", "readCoreV1NamespacedPodLog");
    assert_at(doc, POD "/log'].get.x-kubernetes-action", "get");
    assert_at(doc, POD "/log'].get.x-kubernetes-group-version-kind.kind", "Pod");
    assert_at(doc, POD "/log'].get.responses['200'].content['text/plain'].schema.type", "string");
    assert_at(doc, POD "/log'].post", "");
    assert_at(doc, POD "/log'].parameters[8].name", "sinceSeconds");
    assert_at(doc, POD "/log'].parameters[9].name", "stream");
    for (size_t i = 0; i < COR_ARRAY_LEN(forwarded); i++) {
        snprintf(path, sizeof(path), BY_PATH ".%s.x-kubernetes-group-version-kind.kind",
                 forwarded[i]);
        assert_at(doc, path, "NodeProxyOptions");
    }
    assert_at(doc, BY_PATH ".head.operationId", "connectCoreV1HeadNodeProxyWithPath");
    assert_at(doc, BY_PATH ".parameters[1].in", "path");
    assert_at(doc, BY_PATH ".parameters[2].in", "query");
    doc = fx_do(&fx, 200, "GET", "/openapi/v2", "");
    assert_at(doc, POD "/log'].get.produces[0]", "text/plain");
    assert_at(doc, POD "/attach'].get.produces", "[\"*/*\"]");
    assert_at(doc, BY_PATH ".options.responses['200'].schema.type", "string");
    assert_at(doc, BY_PATH ".parameters[1].required", "true");
    fx_close(&fx);
#undef POD
#undef BY_PATH
}

TEST(openapi, every_reference_is_to_something_that_is_there)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf index = {.max = 1 << 20}, doc = {.max = 16 << 20};
    struct cor_served *served;
    struct cor_json_iter it;
    struct cor_str paths, path;

    assert_int_equal(cor_served_new_builtins(&served), 0);
    assert_int_equal(cor_openapi_index(served, &index), 0);
    assert_int_equal(
        cor_json_get(cor_buf_str(&index), COR_STR("paths"), COR_JSON_ANY_ORDER, &paths), 0);
    for (it = cor_json_iter(paths); cor_json_iter_member(&it, &path);) {
        (void)cor_json_iter_value(&it);
        cor_buf_reset(&doc);
        assert_int_equal(cor_openapi_write_3(served, path, &doc), 0);
        check_references(cor_buf_str(&doc));
    }
    cor_buf_reset(&doc);
    assert_int_equal(cor_openapi_write_2(served, &doc), 0);
    check_references(cor_buf_str(&doc));
    cor_served_unref(served);
}

static void widget_free(const struct cor_resource_row *row)
{
}

/* Contract crd 7.1, 7.9. */
TEST(openapi, a_kind_without_a_schema_is_an_object)
{
    struct cor_row_life life = {.free_row = widget_free};
    const struct cor_resource_row widget = {
        .life = &life,
        .group = COR_STR("shop.example.org"),
        .version = COR_STR("v1"),
        .kind = COR_STR("Kettle"),
        .plural = COR_STR("kettles"),
        .singular = COR_STR("kettle"),
        .api_version = COR_STR("shop.example.org/v1"),
        .list_kind = COR_STR("KettleList"),
        .flags = COR_API_NAMESPACED,
        .verbs = COR_API_VERBS_ALL,
    };
    const struct cor_resource_row *rows[] = {&widget};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf doc = {.max = 1 << 20};
    char hash[2][COR_OPENAPI_HASH_MAX];
    struct cor_served *served;

#define KETTLE "paths['/apis/shop.example.org/v1/namespaces/{namespace}/kettles/{name}'].patch."
    cor_ref_init(&life.refs);
    life.place = 1000;
    assert_int_equal(
        cor_served_new(&(struct cor_served_opts){.rows = rows, .nrows = 1, .generation = 1},
                       &served),
        0);
    assert_int_equal(cor_openapi_write_3(served, COR_STR("apis/shop.example.org/v1"), &doc), 0);
    check_references(cor_buf_str(&doc));
    assert_at(cor_buf_z(&doc), KETTLE "operationId", "patchShopExampleOrgV1NamespacedKettle");
    assert_at(cor_buf_z(&doc), KETTLE "responses['200'].content['application/json'].schema['$ref']",
              "#/components/schemas/org.example.shop.v1.Kettle");
    assert_at(cor_buf_z(&doc),
              KETTLE "requestBody.content['application/strategic-merge-patch+json']", "");
    assert_at(cor_buf_z(&doc), "components.schemas['org.example.shop.v1.Kettle'].type", "object");
    /* Another form of the same resource is another document. */
    assert_int_equal(cor_openapi_hash(served, COR_STR("apis/shop.example.org/v1"), hash[0]), 0);
    life.place = 1001;
    assert_int_equal(cor_openapi_hash(served, COR_STR("apis/shop.example.org/v1"), hash[1]), 0);
    assert_string_not_equal(hash[0], hash[1]);
    assert_int_equal(cor_openapi_hash(served, COR_STR("apis/nope"), hash[0]), -COR_ENOTFOUND);
    cor_served_unref(served);
#undef KETTLE
}

/* The longest names that a custom resource can have. */
TEST(openapi, long_names_are_whole)
{
    static char group[254], label[64], kind[64], api_version[254 + 64], path[512], want[1024];
    struct cor_row_life life = {.free_row = widget_free};
    struct cor_resource_row row = {
        .life = &life, .flags = COR_API_NAMESPACED, .verbs = COR_API_VERBS_ALL};
    const struct cor_resource_row *rows[] = {&row};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf doc = {.max = 1 << 20};
    char hash[COR_OPENAPI_HASH_MAX];
    struct cor_served *served;

    memset(group, 'g', 253);
    for (size_t i = 63; i < 253; i += 64)
        group[i] = '.';
    memset(label, 'v', 63);
    memset(kind, 'K', 63);
    snprintf(api_version, sizeof(api_version), "%s/%s", group, label);
    snprintf(path, sizeof(path), "apis/%s", api_version);
    row.group = cor_strz(group);
    row.version = row.plural = row.singular = cor_strz(label);
    row.kind = row.list_kind = cor_strz(kind);
    row.api_version = cor_strz(api_version);
    cor_ref_init(&life.refs);
    assert_int_equal(
        cor_served_new(&(struct cor_served_opts){.rows = rows, .nrows = 1, .generation = 1},
                       &served),
        0);
    assert_int_equal(cor_openapi_hash(served, cor_strz(path), hash), 0);
    assert_int_equal(cor_openapi_write_3(served, cor_strz(path), &doc), 0);
    check_references(cor_buf_str(&doc));
    snprintf(want, sizeof(want), "\"/%s/namespaces/{namespace}/%s/{name}\":{", path, label);
    assert_non_null(strstr(cor_buf_z(&doc), want));
    snprintf(want, sizeof(want), ".%s.%s\":{\"type\":\"object\"", label, kind);
    assert_non_null(strstr(cor_buf_z(&doc), want));
    cor_buf_reset(&doc);
    assert_int_equal(cor_openapi_index(served, &doc), 0);
    assert_non_null(strstr(cor_buf_z(&doc), hash));
    cor_served_unref(served);
}

/* The first field of this number; fails the test when there is none. */
static struct cor_str field_of(struct cor_str message, unsigned number)
{
    struct cor_wire_item item;

    while (cor_pb_take_item(&message, "", &item, NULL) == 1) {
        if (item.number == number)
            return item.bytes;
    }
    fail_msg("there is no field %u", number);
    return COR_STR("");
}

static size_t count_fields(struct cor_str message, unsigned number)
{
    struct cor_wire_item item;
    size_t n = 0;
    int r;

    while ((r = cor_pb_take_item(&message, "", &item, NULL)) == 1)
        n += item.number == number;
    assert_int_equal(r, 0);
    return n;
}

static size_t count_members(struct cor_str json, const char *key)
{
    struct cor_json_iter it;
    struct cor_str value;
    size_t n = 0;

    assert_int_equal(cor_json_get(json, cor_strz(key), COR_JSON_ANY_ORDER, &value), 0);
    for (it = cor_json_iter(value); cor_json_iter_member(&it, &value); n++)
        (void)cor_json_iter_value(&it);
    return n;
}

/* The value of an entry {1: name, 2: value}. */
static struct cor_str entry_of(struct cor_str map, unsigned number, const char *name)
{
    struct cor_wire_item item;

    while (cor_pb_take_item(&map, "", &item, NULL) == 1) {
        if (item.number == number && cor_str_eqz(field_of(item.bytes, 1), name))
            return field_of(item.bytes, 2);
    }
    fail_msg("there is no entry %s", name);
    return COR_STR("");
}

/* kubectl reads version 2 in protobuf. The numbers are those of gnostic's messages. */
TEST(openapi, version_2_in_protobuf_says_what_its_json_says)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 16 << 20}, out = {.max = 16 << 20};
    struct cor_str doc, paths, definitions, schema, operation, value;
    struct cor_served *served;

    assert_int_equal(cor_served_new_builtins(&served), 0);
    assert_int_equal(cor_openapi_write_2(served, &json), 0);
    assert_int_equal(cor_openapi_to_protobuf(cor_buf_str(&json), COR_OPENAPI_2, &out), 0);
    doc = cor_buf_str(&out);
    assert_str(field_of(doc, 1), "2.0");
    assert_str(field_of(field_of(doc, 2), 1), "Kubernetes");
    paths = field_of(doc, 8);
    definitions = field_of(doc, 9);
    assert_int_equal(count_fields(paths, 2), count_members(cor_buf_str(&json), "paths"));
    assert_int_equal(count_fields(definitions, 1),
                     count_members(cor_buf_str(&json), "definitions"));
    assert_int_equal(count_fields(field_of(doc, 10), 1),
                     count_members(cor_buf_str(&json), "parameters"));
    schema = entry_of(definitions, 1, "io.k8s.api.core.v1.ContainerPort");
    assert_str(field_of(schema, 19), "containerPort");          /* required */
    assert_str(field_of(field_of(schema, 22), 1), "object");    /* type */
    value = entry_of(field_of(schema, 25), 1, "protocol");      /* properties */
    assert_int_equal(count_fields(value, 20), 3);               /* enum */
    assert_str(field_of(field_of(value, 20), 2), "\"SCTP\"\n"); /* as YAML */
    schema = entry_of(definitions, 1, "io.k8s.api.core.v1.PodSpec");
    value = entry_of(field_of(schema, 25), 1, "containers");
    assert_str(field_of(field_of(field_of(value, 23), 1), 1),
               "#/definitions/io.k8s.api.core.v1.Container"); /* items */
    assert_str(field_of(entry_of(value, 31, "x-kubernetes-list-map-keys"), 2), "[\"name\"]\n");
    value = entry_of(paths, 2, "/api/v1/namespaces/{namespace}/pods");
    operation = field_of(value, 4); /* post */
    assert_str(field_of(operation, 5), "createCoreV1NamespacedPod");
    assert_str(field_of(operation, 1), "core_v1");
    assert_str(field_of(entry_of(operation, 13, "x-kubernetes-action"), 2), "\"post\"\n");
    /* parameters: item, parameter, body, schema, reference */
    assert_str(field_of(field_of(field_of(field_of(field_of(operation, 8), 1), 1), 5), 1),
               "#/definitions/io.k8s.api.core.v1.Pod");
    /* responses: entry, response, schema item, schema, reference */
    assert_str(
        field_of(field_of(field_of(field_of(entry_of(field_of(operation, 9), 1, "201"), 1), 2), 1),
                 1),
        "#/definitions/io.k8s.api.core.v1.Pod");
    cor_served_unref(served);
}

/* The numbers are those of gnostic's messages. Contract server 3.23.2. */
TEST(openapi, version_3_in_protobuf_says_what_its_json_says)
{
    static const struct fx_headers accept = {
        .accept = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 16 << 20};
    struct cor_str doc, paths, schemas, schema, operation, value;
    struct cor_served *served;
    struct fx fx = {0};
    FX_CALL call;

    fx_open(&fx);
    assert_int_equal(cor_served_new_builtins(&served), 0);
    assert_int_equal(cor_openapi_write_3(served, COR_STR("apis/apps/v1"), &json), 0);
    cor_served_unref(served);
    fx_start(&fx, &call, "GET", APPS, "", &accept);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 200);
    assert_str(sink_header(&call.sink, "Content-Type"), COR_OPENAPI_V3_PROTOBUF);
    doc = cor_buf_str(&call.sink.body);
    assert_str(field_of(doc, 1), "3.0.0");
    assert_str(field_of(field_of(doc, 2), 6), "1.34");
    paths = field_of(doc, 4);
    schemas = field_of(field_of(doc, 5), 1);
    assert_int_equal(count_fields(paths, 1), count_members(cor_buf_str(&json), "paths"));
    schema = field_of(entry_of(schemas, 1, "io.k8s.api.core.v1.ContainerPort"), 1);
    assert_str(field_of(schema, 23), "containerPort"); /* required */
    assert_str(field_of(schema, 25), "object");
    value = field_of(entry_of(field_of(schema, 31), 1, "protocol"), 1);
    assert_int_equal(count_fields(value, 24), 3);        /* enum */
    assert_str(field_of(field_of(value, 33), 3), "TCP"); /* default */
    value = field_of(entry_of(field_of(schema, 31), 1, "containerPort"), 1);
    assert_int_equal(field_of(value, 33).n, 9); /* a double */
    schema = field_of(entry_of(schemas, 1, "io.k8s.api.apps.v1.Deployment"), 1);
    value = field_of(entry_of(field_of(schema, 31), 1, "spec"), 1);
    assert_str(field_of(field_of(field_of(value, 26), 2), 1),
               "#/components/schemas/io.k8s.api.apps.v1.DeploymentSpec"); /* allOf */
    assert_int_equal(field_of(value, 33).n, 0);                           /* an object */
    value = entry_of(paths, 1, "/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
    operation = field_of(value, 10); /* patch */
    assert_str(field_of(operation, 5), "patchAppsV1NamespacedDeployment");
    assert_str(field_of(field_of(field_of(operation, 6), 1), 1), "dryRun");
    assert_int_equal(count_fields(field_of(field_of(field_of(operation, 7), 1), 2), 1), 4);
    value = field_of(entry_of(field_of(operation, 8), 2, "200"), 1); /* responses */
    assert_str(
        field_of(field_of(field_of(entry_of(field_of(value, 3), 1, "application/json"), 1), 2), 1),
        "#/components/schemas/io.k8s.api.apps.v1.Deployment");
    fx_close(&fx);
}

/* Contract server 3.23.1. */
TEST(openapi, version_2_is_sent_in_the_form_that_the_client_names)
{
    static const struct {
        const char *accept, *type;
    } cases[] = {
        {PB_OLD, COR_OPENAPI_V2_PROTOBUF},
        {COR_OPENAPI_V2_PROTOBUF ", application/json", COR_OPENAPI_V2_PROTOBUF},
        {"application/json, " PB_OLD, "application/json"},
        {"*/*", "application/json"},
        {"", "application/json"},
    };
    struct fx fx = {0};

    fx_open(&fx);
    assert_non_null(strstr(fx_do(&fx, 200, "GET", "/", ""), "\"/openapi/v2\""));
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct fx_headers headers = {.accept = cases[i].accept};
        FX_CALL call;

        fx_start(&fx, &call, "GET", "/openapi/v2", "", &headers);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 200);
        assert_str(sink_header(&call.sink, "Content-Type"), cases[i].type);
        assert_true(sink_header(&call.sink, "Etag").n > 20);
        assert_memory_equal(call.sink.body.p,
                            cases[i].type[12] == 'j' ? "{\"swagger\":"
                                                     : "\n\3"
                                                       "2.0\x12",
                            6);
    }
    fx_close(&fx);
}

static int add_piece(void *arg, struct cor_str piece)
{
    return cor_buf_adds(arg, piece);
}

/* Version 2 is compressed for who accepts it, version 3 never is, as upstream. Without memory the
 * answer is a failure, or whole. */
TEST(openapi, version_2_is_sent_compressed_to_who_accepts_it)
{
    struct fx fx = {.has_no_offload = true};

    fx_open(&fx);
    for (int i = 0; i < 3; i++) {
        const char *url = i == 2 ? APPS : "/openapi/v2", *accept = i == 1 ? PB_OLD : NULL;
        struct fx_headers plain_headers = {.accept = accept};
        struct fx_headers headers = {.accept = accept, .takes_gzip_docs = true};
        FX_CALL plain;

        fx_start(&fx, &plain, "GET", url, "", &plain_headers);
        fx_wait(&plain);
        assert_int_equal(sink_header(&plain.sink, "Content-Encoding").n, 0);
        FOR_EACH_FAILED_ALLOC(n) {
            COR_CLEANUP(cor_gzip_reader_freep) struct cor_gzip_reader *reader = NULL;
            COR_CLEANUP(cor_buf_deinit) struct cor_buf text = {0};
            FX_CALL call;

            fx_start(&fx, &call, "GET", url, "", &headers);
            fx_wait(&call);
            if (call.is_bare || call.sink.status != 200 || call.sink.is_aborted)
                continue;
            test_fail_alloc(0, false);
            cor_buf_init(&text, COR_OPENAPI_BYTES_MAX);
            if (i == 2) {
                assert_true(
                    cor_str_eq(cor_buf_str(&call.sink.body), cor_buf_str(&plain.sink.body)));
                continue;
            }
            assert_str(sink_header(&call.sink, "Content-Encoding"), "gzip");
            assert_int_equal(cor_gzip_reader_new(COR_OPENAPI_BYTES_MAX, &reader), 0);
            assert_int_equal(cor_gzip_read(reader, cor_buf_str(&call.sink.body), add_piece, &text),
                             0);
            assert_true(cor_gzip_reader_is_whole(reader));
            assert_true(cor_str_eq(cor_buf_str(&text), cor_buf_str(&plain.sink.body)));
            assert_true(call.sink.body.n < text.n / 5);
        }
    }
    fx_close(&fx);
}

TEST(openapi, documents_are_whole_or_fail_without_memory)
{
    struct fx_headers protobuf = {.accept = PB_OLD};
    struct fx fx = {0};

    fx_open(&fx);
    fx_fail_each_alloc(&fx, "GET", "/openapi/v2", "", &protobuf);
    fx_fail_each_alloc(&fx, "GET", "/openapi/v2", "", NULL);
    fx_fail_each_alloc(&fx, "GET", "/openapi/v3", "", NULL);
    fx_fail_each_alloc(&fx, "GET", APPS, "", NULL);
    protobuf.accept = COR_OPENAPI_V3_PROTOBUF;
    fx_fail_each_alloc(&fx, "GET", APPS, "", &protobuf);
    fx_close(&fx);
}

/* --- Where documents are made -------------------------------------------------------------------
 */

static const struct cor_offload_opts one_thread = {
    .nthreads = 1, .jobs_max = 4, .bytes_max = 64u << 20};

/* An API whose only offload thread is busy. */
struct busy_fx {
    struct fx fx;
    struct cor_offload *offload;
    struct busy_thread busy;
};

static void busy_open(struct busy_fx *busy, const struct cor_offload_opts *opts)
{
    busy->fx = (struct fx){.has_no_offload = false};
    assert_int_equal(cor_offload_new(opts, &busy->offload), 0);
    busy->fx.opts.offload = busy->offload;
    fx_open(&busy->fx);
    busy_thread_begin(&busy->busy, busy->offload, busy->fx.loop, 0);
}

static void busy_close(struct busy_fx *busy)
{
    fx_close(&busy->fx);
    cor_offload_free(busy->offload);
}

static uint64_t jobs_of(const struct busy_fx *busy)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(busy->offload, &stats);
    return stats.jobs;
}

TEST(openapi, a_loop_answers_others_while_a_document_is_made)
{
    static const char *const targets[] = {"/openapi/v2", "/openapi/v3/api/v1", APPS};
    struct busy_fx busy;
    struct fx_call calls[COR_ARRAY_LEN(targets)];

    busy_open(&busy, &one_thread);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        fx_start(&busy.fx, &calls[i], "GET", targets[i], "", NULL);
        assert_int_equal(jobs_of(&busy), 2 + i);
    }
    /* The thread has not begun with any of them. Small documents do not wait for it. */
    (void)fx_do(&busy.fx, 200, "GET", "/version", "");
    (void)fx_do(&busy.fx, 200, "GET", "/openapi/v3", "");
    (void)fx_do(&busy.fx, 200, "GET", "/openapi/v3/apis/apps", "");
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++)
        assert_false(calls[i].sink.is_done);
    busy_thread_end(&busy.busy);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        fx_wait(&calls[i]);
        assert_int_equal(calls[i].sink.status, 200);
        assert_at(cor_buf_z(&calls[i].sink.body), "info.title", "Kubernetes");
        fx_call_deinit(&calls[i]);
    }
    busy_close(&busy);
}

TEST(openapi, a_document_is_made_once_for_all_who_wait_for_it)
{
    const struct fx_headers protobuf = {.accept = COR_OPENAPI_V3_PROTOBUF};
    struct busy_fx busy;
    struct fx_call calls[12], other;

    busy_open(&busy, &one_thread);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++)
        fx_start(&busy.fx, &calls[i], "GET", APPS, "", NULL);
    fx_start(&busy.fx, &other, "GET", APPS, "", &protobuf);
    assert_int_equal(jobs_of(&busy), 3);
    busy_thread_end(&busy.busy);
    fx_wait(&other);
    assert_int_equal(other.sink.status, 200);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++) {
        fx_wait(&calls[i]);
        assert_int_equal(calls[i].sink.status, 200);
        assert_string_equal(cor_buf_z(&calls[i].sink.body), cor_buf_z(&calls[0].sink.body));
        assert_true(calls[i].sink.body.n != other.sink.body.n);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++)
        fx_call_deinit(&calls[i]);
    fx_call_deinit(&other);
    /* From now on it is kept. */
    (void)fx_do(&busy.fx, 200, "GET", APPS, "");
    assert_int_equal(jobs_of(&busy), 3);
    busy_close(&busy);
}

TEST(openapi, readers_may_go_while_their_document_is_made)
{
    struct busy_fx busy;
    struct fx_call first, second, third;

    busy_open(&busy, &one_thread);
    fx_start(&busy.fx, &first, "GET", APPS, "", NULL);
    fx_start(&busy.fx, &second, "GET", APPS, "", NULL);
    fx_start(&busy.fx, &third, "GET", APPS, "", NULL);
    /* The one whose call makes the document, and one who waits for it. */
    fx_call_deinit(&first);
    fx_call_deinit(&second);
    busy_thread_end(&busy.busy);
    fx_wait(&third);
    assert_int_equal(third.sink.status, 200);
    assert_at(cor_buf_z(&third.sink.body), "info.title", "Kubernetes");
    fx_call_deinit(&third);
    assert_int_equal(jobs_of(&busy), 2);
    busy_close(&busy);
}

TEST(openapi, documents_count_against_the_share_of_their_user)
{
    static const struct cor_offload_opts two = {
        .nthreads = 2, .jobs_max = 2, .bytes_max = 64u << 20};
    const struct cor_user ann = {.name = COR_STR("ann")}, bob = {.name = COR_STR("bob")};
    const struct fx_headers of_ann = {.user = &ann}, of_bob = {.user = &bob};
    struct fx fx = {.has_no_offload = false};
    struct cor_offload *offload;
    struct busy_thread busy;

    assert_int_equal(cor_offload_new(&two, &offload), 0);
    fx.opts.offload = offload;
    fx_open(&fx);
    busy_thread_begin(&busy, offload, fx.loop, cor_str_hash(ann.name));
    assert_at(fx_do_with(&fx, 429, "GET", APPS, "", &of_ann), ".reason", "TooManyRequests");
    (void)fx_do_with(&fx, 200, "GET", APPS, "", &of_bob);
    /* What is kept costs nobody anything. */
    (void)fx_do_with(&fx, 200, "GET", APPS, "", &of_ann);
    (void)fx_do_with(&fx, 429, "GET", "/openapi/v2", "", &of_ann);
    busy_thread_end(&busy);
    (void)fx_do_with(&fx, 200, "GET", "/openapi/v2", "", &of_ann);
    fx_close(&fx);
    cor_offload_free(offload);
}
