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

/* Writes that are under way together read the same state of the object. The one that is stored
 * first makes the other lose its compare: a patch applies itself to the newer object, so that
 * nothing of the first is lost, and a PUT is judged against the newer object. Which comes first
 * does not matter here. */
TEST(write, after_a_lost_compare_a_patch_applies_itself_again_and_a_put_is_judged_again)
{
    static const struct fx_headers merge = {.content_type = "application/merge-patch+json"};
    static const char deployments[] = "/apis/apps/v1/namespaces/default/deployments";
    static const char path[] = "/apis/apps/v1/namespaces/default/deployments/a";
    struct fx fx;
    const char *now;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", deployments,
          "{\"metadata\":{\"name\":\"a\"},\"spec\":{" FX_WORKLOAD "}}");
    {
        FX_CALL one, two;

        fx_start(&fx, &one, "PATCH", path, "{\"spec\":{\"replicas\":3}}", &merge);
        fx_start(&fx, &two, "PATCH", path, "{\"metadata\":{\"labels\":{\"two\":\"2\"}}}", &merge);
        fx_wait(&one);
        fx_wait(&two);
        assert_int_equal(one.sink.status, 200);
        assert_int_equal(two.sink.status, 200);
    }
    now = fx_do(&fx, 200, "GET", path, "");
    assert_at(now, "spec.replicas", "3");
    assert_at(now, "metadata.labels.two", "2");
    assert_at(now, "metadata.generation", "2");
    {
        FX_CALL patch, put;

        fx_start(&fx, &patch, "PATCH", path, "{\"spec\":{\"replicas\":5}}", &merge);
        fx_start(&fx, &put, "PUT", path,
                 "{\"metadata\":{\"name\":\"a\",\"labels\":{\"put\":\"1\"}},"
                 "\"spec\":{\"replicas\":5," FX_WORKLOAD "}}",
                 NULL);
        fx_wait(&patch);
        fx_wait(&put);
        assert_int_equal(patch.sink.status, 200);
        assert_int_equal(put.sink.status, 200);
    }
    /* Both have the same spec: the one that came second made no new generation. */
    now = fx_do(&fx, 200, "GET", path, "");
    assert_at(now, "spec.replicas", "5");
    assert_at(now, "metadata.labels", "{\"put\":\"1\"}");
    assert_at(now, "metadata.generation", "3");
    fx_close(&fx);
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct fx *)arg)->api, 0)) == 0;
}

/* The list is ended when a reader goes while a stage waits, and the object is not stored. */
TEST(write, a_reader_that_goes_between_two_stages_stores_nothing)
{
    struct fx fx;

    open_ready(&fx);
    {
        FX_CALL gone;

        fx_start(&fx, &gone, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}", NULL);
    }
    assert_true(cor_loop_run_until(fx.loop, has_no_calls, &fx, FX_TIMEOUT_MS));
    fx_do(&fx, 404, "GET", CONFIGMAPS "/a", "");
    fx_close(&fx);
}

/* A body of more than 64 KB is with a thread when its reader goes: no verb answers after that. */
TEST(write, a_reader_that_goes_while_a_thread_has_the_body_is_not_answered)
{
    static const char *const targets[] = {
        CONFIGMAPS,
        "/apis/authentication.k8s.io/v1/selfsubjectreviews",
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
        "/api/v1/namespaces/default/bindings",
        "/api/v1/namespaces/default/pods/p/eviction",
    };
    struct cor_buf body = {.max = 1u << 20};
    struct fx fx;

    assert_int_equal(cor_buf_addz(&body, "{\"metadata\":{\"name\":\"p\",\"annotations\":{\"a\":\""),
                     0);
    for (size_t i = 0; i < 100000; i++)
        assert_int_equal(cor_buf_addc(&body, 'x'), 0);
    assert_int_equal(cor_buf_addz(&body, "\"}},\"spec\":{\"namespace\":\"default\"}}"), 0);
    open_ready(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        {
            FX_CALL gone;

            fx_start(&fx, &gone, "POST", targets[i], cor_buf_z(&body), NULL);
        }
        assert_true(cor_loop_run_until(fx.loop, has_no_calls, &fx, FX_TIMEOUT_MS));
    }
    fx_do(&fx, 404, "GET", CONFIGMAPS "/p", "");
    cor_buf_deinit(&body);
    fx_close(&fx);
}
