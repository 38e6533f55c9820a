#include "api_fixture.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

TEST(get, a_missing_object_is_404)
{
    struct fx fx;

    open_ready(&fx);
    assert_string_equal(fx_do(&fx, 404, "GET", CONFIGMAPS "/x", ""),
                        "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":"
                        "\"Failure\",\"message\":\"configmaps \\\"x\\\" not found\",\"reason\":"
                        "\"NotFound\",\"details\":{\"name\":\"x\",\"kind\":\"configmaps\"},"
                        "\"code\":404}");
    fx_close(&fx);
}

TEST(get, a_browser_gets_indented_json)
{
    static const struct fx_headers curl = {.user_agent = "curl/8"};
    struct fx fx;
    const char *text;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    text = fx_do_with(&fx, 200, "GET", CONFIGMAPS "/a", "", &curl);
    assert_memory_equal(text, "{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n", 43);
    text = fx_do_with(&fx, 200, "GET", CONFIGMAPS "/a?pretty=false", "", &curl);
    assert_memory_equal(text, "{\"kind\":", 8);
    text = fx_do(&fx, 200, "GET", CONFIGMAPS "/a?pretty=true", "");
    assert_memory_equal(text, "{\n  \"kind\"", 10);
    fx_close(&fx);
}

TEST(get, shows_only_metadata_or_a_table_on_demand)
{
    static const struct fx_headers partial = {
        .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
    static const struct fx_headers partial_list = {
        .accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"};
    static const struct fx_headers table = {
        .accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"};
    struct fx fx;
    const char *text;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    text = fx_do_with(&fx, 200, "GET", CONFIGMAPS "/a", "", &partial);
    assert_at(text, "kind", "PartialObjectMetadata");
    assert_at(text, "apiVersion", "meta.k8s.io/v1");
    assert_at(text, "metadata.name", "a");
    assert_at(text, "data", "");
    fx_do_with(&fx, 406, "GET", CONFIGMAPS "/a", "", &partial_list);
    cor_clock_manual_advance(&fx.clock, 200 * 1000);
    text = fx_do_with(&fx, 200, "GET", CONFIGMAPS "/a", "", &table);
    assert_at(text, "kind", "Table");
    assert_at(text, "columnDefinitions[0].name", "Name");
    assert_at(text, "columnDefinitions[0].format", "name");
    assert_at(text, "rows[0].cells", "[\"a\",1,\"3m20s\"]");
    assert_at(text, "rows[0].object.kind", "PartialObjectMetadata");
    fx_close(&fx);
}

/* Contract types 1.4.1 and 1.4.6. */
TEST(get, answers_single_objects_and_errors_in_protobuf)
{
    static const char proto[] = "application/vnd.kubernetes.protobuf";
    static const char first[] = "application/vnd.kubernetes.protobuf,application/json";
    struct fx fx;
    const char *text, *json;

    open_ready(&fx);
    json = fx_do_protobuf(&fx, 201, "POST", CONFIGMAPS,
                          "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}", first);
    text = fx_do(&fx, 200, "GET", CONFIGMAPS "/a", "");
    assert_string_equal(json, text);
    assert_string_equal(fx_do_protobuf(&fx, 200, "GET", CONFIGMAPS "/a", "", proto), text);
    json = fx_do_protobuf(&fx, 404, "GET", CONFIGMAPS "/b", "", first);
    assert_at(json, "message", "configmaps \"b\" not found");
    assert_at(json, "details.name", "b");
    assert_at(json, "code", "404");
    json = fx_do_protobuf(
        &fx, 200, "GET", CONFIGMAPS "/a", "",
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
    assert_at(json, "kind", "PartialObjectMetadata");
    assert_at(json, "apiVersion", "meta.k8s.io/v1");
    assert_at(json, "metadata.name", "a");
    json = fx_do_protobuf(
        &fx, 200, "GET", CONFIGMAPS "/a", "",
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1");
    assert_at(json, "apiVersion", "meta.k8s.io/v1beta1");
    assert_at(json, "metadata.name", "a");
    json = fx_do_protobuf(&fx, 200, "DELETE", CONFIGMAPS "/a", "", first);
    assert_at(json, "status", "Success");
    fx_close(&fx);
}

/* Another program may have left such an object in the store. */
TEST(get, tells_of_an_object_that_has_no_form_in_protobuf)
{
    struct fx fx;
    const char *json;

    open_ready(&fx);
    fx_put_raw(&fx, "/registry/deployments/default/d",
               "{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":\"d\","
               "\"namespace\":\"default\"},\"spec\":{\"paused\":\"many\"}}");
    json = fx_do_protobuf(&fx, 500, "GET", "/apis/apps/v1/namespaces/default/deployments/d", "",
                          "application/vnd.kubernetes.protobuf");
    assert_at(json, "reason", "InternalError");
    assert_at(json, "message",
              "Internal error occurred: unable to encode key "
              "\"/registry/deployments/default/d\": cannot encode string as field Paused of type "
              "bool");
    json = fx_do_protobuf(&fx, 500, "GET", "/apis/apps/v1/deployments", "",
                          "application/vnd.kubernetes.protobuf");
    assert_at(json, "reason", "InternalError");
    assert_at(json, "message",
              "Internal error occurred: unable to encode key "
              "\"/registry/deployments/default/d\": cannot encode string as field Paused of type "
              "bool");
    fx_close(&fx);
}

TEST(get, knows_its_resource_versions)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 200, "GET", CONFIGMAPS "/a?resourceVersion=0", "");
    fx_do(&fx, 200, "GET", CONFIGMAPS "/a?resourceVersion=1", "");
    assert_at(fx_do(&fx, 504, "GET", CONFIGMAPS "/a?resourceVersion=999999", ""), "reason",
              "Timeout");
    fx_close(&fx);
}

TEST(get, that_says_success_without_memory_is_whole)
{
    static const struct fx_headers table = {.accept =
                                                "application/json;as=Table;v=v1;g=meta.k8s.io"};
    static const struct fx_headers partial = {
        .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
    static const struct fx_headers yaml = {.accept = "application/yaml"};
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "/a", "", NULL);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "/a?pretty=1", "", NULL);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "/a", "", &table);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "/a", "", &partial);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "/a", "", &yaml);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "/none", "", NULL);
    fx_close(&fx);
}
