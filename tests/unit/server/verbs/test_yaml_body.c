#include "api_fixture.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static const struct fx_headers yaml = {.accept = "application/yaml",
                                       .content_type = "application/yaml"};

TEST(yaml_body, objects_go_in_and_out)
{
    struct fx fx = {0};
    const char *text;

    fx_open(&fx);
    fx_bootstrap(&fx);
    text = fx_do_with(&fx, 201, "POST", CONFIGMAPS, "metadata:\n  name: a\ndata:\n  k: \"1\"\n",
                      &yaml);
    assert_non_null(strstr(text, "kind: ConfigMap"));
    assert_non_null(strstr(text, "  k: \"1\""));
    text = fx_do_with(&fx, 200, "GET", CONFIGMAPS, "", &yaml);
    assert_non_null(strstr(text, "kind: ConfigMapList"));
    assert_non_null(strstr(text, "    name: a"));
    assert_non_null(
        strstr(fx_do_with(&fx, 404, "GET", CONFIGMAPS "/x", "", &yaml), "reason: NotFound"));
    fx_do_with(&fx, 406, "GET", CONFIGMAPS "?watch=1", "", &yaml);
    fx_do_with(&fx, 200, "DELETE", CONFIGMAPS "/a", "propagationPolicy: Background\n", &yaml);
    fx_close(&fx);
}

TEST(yaml_body, repeated_keys_are_a_warning_or_an_error)
{
    static const char body[] = "metadata:\n  name: a\ndata:\n  k: x\n  k: z\n";
    static const struct fx_headers in = {.content_type = "application/yaml"};
    struct fx fx = {0};

    fx_open(&fx);
    fx_bootstrap(&fx);
    assert_at(fx_do_with(&fx, 400, "POST", CONFIGMAPS "?fieldValidation=Strict", body, &in),
              "message",
              "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding "
              "error: yaml: unmarshal errors:\n  line 5: key \"k\" already set in map");
    {
        FX_CALL call;

        fx_start(&fx, &call, "POST", CONFIGMAPS, body, &in);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 201);
        assert_str(sink_header(&call.sink, "Warning"),
                   "299 - \"line 5: key \\\"k\\\" already set in map\"");
    }
    fx_do_with(&fx, 400, "POST", CONFIGMAPS, "a: [", &in);
    fx_close(&fx);
}

TEST(yaml_body, an_apply_that_is_nested_too_deep_is_refused_in_words)
{
    static const struct fx_headers apply = {.content_type = "application/apply-patch+yaml"};
    struct fx fx = {0};
    char body[600];

    memset(body, '[', 300);
    memset(body + 300, ']', 299);
    body[599] = '\0';
    fx_open(&fx);
    fx_bootstrap(&fx);
    assert_at(
        fx_do_with(&fx, 413, "PATCH", CONFIGMAPS "/a?fieldManager=m", body, &apply), "message",
        "error decoding YAML: error converting YAML to JSON: yaml: exceeded max depth of 128 flow "
        "collections");
    fx_close(&fx);
}
