/* The order of the stages of a write, as a client sees it: a request that is wrong in several ways
 * is refused by the first stage that finds something. */
#include "api_fixture.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define NOWHERE    "/api/v1/namespaces/nowhere/configmaps"
#define TWICE      "\"data\":{\"k\":\"1\",\"k\":\"2\"}"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

TEST(write, a_create_is_refused_by_the_first_stage_that_finds_something)
{
    struct fx fx;

    open_ready(&fx);
    /* Decode comes before strict. */
    assert_at(fx_do(&fx, 400, "POST", CONFIGMAPS "?fieldValidation=Strict",
                    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"spec\":{},\"spec\":{}}"),
              "message",
              "Pod in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Pod) to "
              "(core.ConfigMap): unknown conversion");
    /* Strict comes before match. */
    assert_at(fx_do(&fx, 400, "POST", CONFIGMAPS "?fieldValidation=Strict",
                    "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}," TWICE "}"),
              "message",
              "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
              "error: duplicate field \"data.k\"");
    /* Match comes before the check of the namespace. */
    assert_at(
        fx_do(&fx, 400, "POST", NOWHERE, "{\"metadata\":{\"name\":\"a\",\"namespace\":\"other\"}}"),
        "message",
        "the namespace of the provided object does not match the namespace sent on the "
        "request");
    /* The check of the namespace comes before validate. */
    assert_at(fx_do(&fx, 404, "POST", NOWHERE, "{\"metadata\":{\"name\":\"A/\"}}"), "message",
              "namespaces \"nowhere\" not found");
    /* Validate comes before store. */
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 422, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"-\":\"v\"}}}");
    fx_do(&fx, 409, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_close(&fx);
}

TEST(write, an_update_is_refused_by_the_first_stage_that_finds_something)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    struct fx fx;
    const char *answer;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    /* Strict comes before match, match before the present object is read. */
    assert_at(fx_do(&fx, 400, "PUT", CONFIGMAPS "/b?fieldValidation=Strict",
                    "{\"metadata\":{\"name\":\"a\"}," TWICE "}"),
              "message",
              "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
              "error: duplicate field \"data.k\"");
    assert_at(fx_do(&fx, 400, "PUT", CONFIGMAPS "/b", "{\"metadata\":{\"name\":\"a\"}}"), "message",
              "the name of the object (a) does not match the name on the URL (b)");
    /* The resourceVersion is compared before the object is validated. */
    fx_do(&fx, 409, "PUT", CONFIGMAPS "/a",
          "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"1\",\"labels\":{\"-\":\"v\"}}}");
    fx_do(&fx, 422, "PUT", CONFIGMAPS "/a",
          "{\"metadata\":{\"name\":\"a\",\"labels\":{\"-\":\"v\"}}}");
    /* What a patch makes is decoded before its repeated fields are refused, and matched after. */
    answer = fx_do_with(&fx, 422, "PATCH", CONFIGMAPS "/a?fieldValidation=Strict",
                        "{\"kind\":\"Pod\"," TWICE "}", &merge);
    assert_non_null(strstr(fx_at(answer, "message"), "unknown conversion"));
    answer = fx_do_with(&fx, 422, "PATCH", CONFIGMAPS "/a?fieldValidation=Strict",
                        "{\"metadata\":{\"name\":\"b\"}," TWICE "}", &merge);
    assert_non_null(strstr(fx_at(answer, "message"), "duplicate field \"data.k\""));
    assert_at(
        fx_do_with(&fx, 400, "PATCH", CONFIGMAPS "/a", "{\"metadata\":{\"name\":\"b\"}}", &merge),
        "message", "the name of the object (b) does not match the name on the URL (a)");
    fx_close(&fx);
}
