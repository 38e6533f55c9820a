#include "api_fixture.h"

#define SECRETS "/api/v1/namespaces/default/secrets"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

/* What is answered, and what is kept. */
static void assert_data(struct fx *fx, const char *answer, const char *target, const char *data)
{
    const char *kept = fx_do(fx, 200, "GET", target, "");

    assert_at(answer, "data", data);
    assert_at(answer, "stringData", "");
    assert_at(kept, "data", data);
    assert_at(kept, "stringData", "");
}

TEST(secrets, a_new_ones_string_data_becomes_data)
{
    struct fx fx;

    open_ready(&fx);
    assert_data(
        &fx,
        fx_do(
            &fx, 201, "POST", SECRETS,
            "{\"metadata\":{\"name\":\"a\"},\"type\":\"x/y\",\"data\":{\"k\":\"b2xk\",\"l\":\"bA==\"},"
            "\"stringData\":{\"k\":\"new\",\"a\":\"\\u00e9\\n\\\"\",\"n\":null,\"z\":\"\"}}"),
        SECRETS "/a", "{\"a\":\"w6kKIg==\",\"k\":\"bmV3\",\"l\":\"bA==\",\"n\":\"\",\"z\":\"\"}");
    assert_data(&fx,
                fx_do(&fx, 201, "POST", SECRETS,
                      "{\"metadata\":{\"name\":\"b\"},\"data\":null,\"stringData\":{\"k\":\"v\"}}"),
                SECRETS "/b", "{\"k\":\"dg==\"}");
    assert_data(
        &fx, fx_do(&fx, 201, "POST", SECRETS, "{\"metadata\":{\"name\":\"c\"},\"stringData\":{}}"),
        SECRETS "/c", "");
    assert_data(
        &fx,
        fx_do(&fx, 201, "POST", SECRETS, "{\"metadata\":{\"name\":\"d\"},\"stringData\":null}"),
        SECRETS "/d", "");
    fx_close(&fx);
}

TEST(secrets, an_updates_string_data_becomes_data)
{
    static const char *const types[] = {"application/merge-patch+json",
                                        "application/strategic-merge-patch+json"};
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", SECRETS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"b2xk\"}}");
    assert_data(&fx,
                fx_do(&fx, 200, "PUT", SECRETS "/a",
                      "{\"metadata\":{\"name\":\"a\"},\"stringData\":{\"p\":\"put\"}}"),
                SECRETS "/a", "{\"p\":\"cHV0\"}");
    for (size_t i = 0; i < COR_ARRAY_LEN(types); i++) {
        struct fx_headers headers = {.content_type = types[i]};

        fx_do(&fx, 200, "PUT", SECRETS "/a",
              "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"b2xk\",\"l\":\"bA==\"}}");
        assert_data(&fx,
                    fx_do_with(&fx, 200, "PATCH", SECRETS "/a",
                               "{\"data\":{\"l\":null},\"stringData\":{\"k\":\"new\",\"m\":\"m\"}}",
                               &headers),
                    SECRETS "/a", "{\"k\":\"bmV3\",\"m\":\"bQ==\"}");
    }
    assert_data(&fx,
                fx_do_with(&fx, 200, "PATCH", SECRETS "/a",
                           "[{\"op\":\"add\",\"path\":\"/stringData\",\"value\":{\"j\":\"json\"}}]",
                           &(struct fx_headers){.content_type = "application/json-patch+json"}),
                SECRETS "/a", "{\"j\":\"anNvbg==\",\"k\":\"bmV3\",\"m\":\"bQ==\"}");
    fx_close(&fx);
}

TEST(secrets, string_data_of_another_type_is_refused)
{
    static const char message[] =
        "Secret in version \"v1\" cannot be handled as a Secret: json: cannot unmarshal number into "
        "Go struct field Secret.stringData of type string";
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do(&fx, 400, "POST", SECRETS,
                    "{\"metadata\":{\"name\":\"a\"},\"stringData\":{\"k\":5}}"),
              "message", message);
    assert_at(
        fx_do(&fx, 400, "POST", SECRETS, "{\"metadata\":{\"name\":\"a\"},\"stringData\":[]}"),
        "message",
        "Secret in version \"v1\" cannot be handled as a Secret: json: cannot unmarshal array into Go "
        "struct field Secret.stringData of type map[string]string");
    assert_at(
        fx_do(&fx, 400, "POST", SECRETS,
              "{\"metadata\":{\"name\":\"a\"},\"data\":[],\"stringData\":{\"k\":\"v\"}}"),
        "message",
        "Secret in version \"v1\" cannot be handled as a Secret: json: cannot unmarshal array "
        "into Go struct field Secret.data of type map[string][]uint8");
    fx_do(&fx, 201, "POST", SECRETS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 422, "PATCH", SECRETS "/a", "{\"stringData\":{\"k\":5}}");
    fx_close(&fx);
}

TEST(secrets, other_kinds_have_no_member_of_that_name)
{
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/configmaps",
                    "{\"metadata\":{\"name\":\"a\"},\"stringData\":{\"k\":\"v\"}}"),
              "stringData.k", "");
    fx_close(&fx);
}

TEST(secrets, survive_failed_allocations)
{
    struct fx fx;

    open_ready(&fx);
    fx_fail_each_alloc(
        &fx, "POST", SECRETS "?dryRun=All",
        "{\"metadata\":{\"name\":\"a\"},\"data\":{\"a\":\"\"},\"stringData\":{\"k\":\"\\n\"}}",
        NULL);
    fx_close(&fx);
}
