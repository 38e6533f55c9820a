#include "api_fixture.h"

#include <stdio.h>

#define CORE   "/api/v1/namespaces/default/events"
#define EVENTS "/apis/events.k8s.io/v1/namespaces/default/events"
/* What every autoscaler needs. */
#define SCALER                                                                                     \
    "\"maxReplicas\":3,\"scaleTargetRef\":{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\"}"
#define V1 "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
#define V2 "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
/* What an Event of events.k8s.io must have. */
#define STRICT(controller)                                                                         \
    "\"eventTime\":\"2026-01-02T03:04:05.000000Z\",\"reportingController\":\"" controller          \
    "\",\"reportingInstance\":\"i\",\"action\":\"A\",\"reason\":\"R\""
#define NEW_EVENT(name, note)                                                                      \
    "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":\"" name       \
    "\"},\"note\":\"" note "\",\"regarding\":{\"kind\":\"Pod\",\"name\":\"" name                   \
    "\"},\"type\":\"Normal\"," STRICT("example.com/c") "}"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

TEST(versions, an_event_written_in_one_is_read_in_both)
{
    struct fx fx;
    const char *made, *core;

    open_ready(&fx);
    made = fx_do(&fx, 201, "POST", EVENTS, NEW_EVENT("a", "n"));
    assert_at(made, "apiVersion", "events.k8s.io/v1");
    assert_at(made, "note", "n");
    core = fx_do(&fx, 200, "GET", CORE "/a", "");
    assert_at(core, "apiVersion", "v1");
    assert_at(core, "message", "n");
    assert_at(core, "involvedObject.kind", "Pod");
    assert_at(core, "note", "");
    assert_at(core, "type", "Normal");
    /* What Go always writes of this version, although the other leaves it out. */
    assert_non_null(strstr(core, "\"firstTimestamp\":null"));
    assert_at(core, "metadata.uid", fx_at(made, "metadata.uid"));
    assert_at(core, "metadata.resourceVersion", fx_at(made, "metadata.resourceVersion"));
    fx_do(&fx, 201, "POST", CORE,
          "{\"metadata\":{\"name\":\"b\"},\"message\":\"m\",\"count\":2,\"source\":{\"component\":"
          "\"c\"}}");
    core = fx_do(&fx, 200, "GET", CORE "/b", "");
    assert_non_null(strstr(core, "\"reportingComponent\":\"\""));
    made = fx_do(&fx, 200, "GET", EVENTS "/b", "");
    assert_at(made, "note", "m");
    assert_at(made, "deprecatedCount", "2");
    assert_at(made, "deprecatedSource.component", "c");
    assert_at(made, "count", "");
    fx_close(&fx);
}

TEST(versions, lists_pages_and_selectors_speak_the_version_that_was_asked_for)
{
    struct fx fx;
    const char *list;
    char next[1024];

    open_ready(&fx);
    fx_do(&fx, 201, "POST", EVENTS, NEW_EVENT("a", "1"));
    fx_do(&fx, 201, "POST", EVENTS, NEW_EVENT("b", "2"));
    fx_do(&fx, 201, "POST", EVENTS, NEW_EVENT("c", "3"));
    list = fx_do(&fx, 200, "GET", EVENTS "?limit=2", "");
    assert_at(list, "kind", "EventList");
    assert_at(list, "apiVersion", "events.k8s.io/v1");
    assert_at(list, "items[0].note", "1");
    assert_at(list, "items[1].note", "2");
    assert_at(list, "items[0].kind", "");
    assert_at(list, "items[0].message", "");
    assert_at(list, "metadata.remainingItemCount", "1");
    snprintf(next, sizeof(next), EVENTS "?limit=2&continue=%s", fx_at(list, "metadata.continue"));
    assert_at(fx_do(&fx, 200, "GET", next, ""), "items[0].note", "3");
    snprintf(next, sizeof(next), CORE "?limit=2&continue=%s", fx_at(list, "metadata.continue"));
    assert_at(fx_do(&fx, 200, "GET", next, ""), "items[0].message", "3");
    list = fx_do(&fx, 200, "GET", EVENTS "?fieldSelector=regarding.name%3Db", "");
    assert_at(list, "items[0].note", "2");
    assert_at(list, "items[1]", "");
    list = fx_do(&fx, 200, "GET", CORE "?fieldSelector=involvedObject.name%3Dc", "");
    assert_at(list, "items[0].message", "3");
    assert_at(fx_do(&fx, 400, "GET", EVENTS "?fieldSelector=involvedObject.name%3Dc", ""),
              "message", "field label not supported: involvedObject.name");
    list = fx_do(&fx, 200, "GET", EVENTS "?pretty=1", "");
    assert_at(list, "items[2].note", "3");
    fx_close(&fx);
}

TEST(versions, the_source_of_an_event_is_its_component_or_its_controller)
{
    struct fx fx;
    const char *list;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CORE,
          "{\"metadata\":{\"name\":\"a\"},\"source\":{\"component\":\"x\"}}");
    fx_do(&fx, 201, "POST", EVENTS,
          "{\"metadata\":{\"name\":\"b\"},\"type\":\"Normal\"," STRICT("x") "}");
    fx_do(&fx, 201, "POST", CORE,
          "{\"metadata\":{\"name\":\"c\"},\"source\":{\"component\":\"y\"},\"reportingComponent\":"
          "\"x\"}");
    list = fx_do(&fx, 200, "GET", CORE "?fieldSelector=source%3Dx", "");
    assert_at(list, "items[0].metadata.name", "a");
    assert_at(list, "items[1].metadata.name", "b");
    assert_at(list, "items[2]", "");
    fx_close(&fx);
}

TEST(versions, tables_metadata_and_yaml_are_made_of_the_version)
{
    static const struct fx_headers table = {.accept =
                                                "application/json;as=Table;v=v1;g=meta.k8s.io"};
    static const struct fx_headers partial = {
        .accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"};
    static const struct fx_headers yaml = {.accept = "application/yaml"};
    static const char annotation[] =
        "items[0].metadata.annotations['autoscaling.alpha.kubernetes.io/metrics']";
    struct fx fx;

    open_ready(&fx);
    fx_do(
        &fx, 201, "POST", V2,
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{" SCALER
        ",\"metrics\":[{\"type\":\"Pods\",\"pods\":{\"metric\":{\"name\":\"p\"},\"target\":{\"type\":\"AverageValue\",\"averageValue\":\"1\"}}}]}}");
    assert_at(fx_do_with(&fx, 200, "GET", V1 "?includeObject=Object", "", &table),
              "rows[0].object.apiVersion", "autoscaling/v1");
    assert_string_not_equal(fx_at(fx_do_with(&fx, 200, "GET", V1, "", &partial), annotation), "");
    assert_string_equal(fx_at(fx_do_with(&fx, 200, "GET", V2, "", &partial), annotation), "");
    assert_non_null(
        strstr(fx_do_with(&fx, 200, "GET", V1, "", &yaml), "apiVersion: autoscaling/v1"));
    assert_non_null(
        strstr(fx_do_with(&fx, 200, "GET", V1 "/a", "", &yaml), "apiVersion: autoscaling/v1"));
    fx_close(&fx);
}

TEST(versions, updates_and_patches_are_made_in_the_version_that_was_asked_for)
{
    static const struct fx_headers json_patch = {.content_type = "application/json-patch+json"};
    struct fx fx;
    const char *v1, *v2;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", V2,
          "{\"metadata\":{\"name\":\"a\"},\"spec\":{" SCALER ",\"metrics\":[{\"type\":"
          "\"Pods\",\"pods\":{\"metric\":{\"name\":\"p\"},\"target\":{\"type\":\"AverageValue\","
          "\"averageValue\":\"1\"}}}]}}");
    v1 = fx_do_with(&fx, 200, "PATCH", V1 "/a",
                    "[{\"op\":\"add\",\"path\":\"/spec/targetCPUUtilizationPercentage\",\"value\":"
                    "50}]",
                    &json_patch);
    assert_at(v1, "apiVersion", "autoscaling/v1");
    assert_at(v1, "spec.targetCPUUtilizationPercentage", "50");
    v2 = fx_do(&fx, 200, "GET", V2 "/a", "");
    assert_at(v2, "spec.metrics[0].pods.metric.name", "p");
    assert_at(v2, "spec.metrics[1].resource.target.averageUtilization", "50");
    assert_at(v2, "spec.scaleTargetRef.kind", "Deployment");
    assert_at(v2, "spec.targetCPUUtilizationPercentage", "");
    assert_at(v2, "metadata.annotations", "");
    v1 = fx_do(&fx, 200, "GET", V1 "/a", "");
    fx_do(&fx, 200, "PUT", V1 "/a", v1);
    assert_string_equal(fx_do(&fx, 200, "GET", V2 "/a", ""), v2);
    fx_do(&fx, 200, "PATCH", V1 "/a/status",
          "{\"status\":{\"currentCPUUtilizationPercentage\":7}}");
    v2 = fx_do(&fx, 200, "GET", V2 "/a", "");
    assert_at(v2, "status.currentMetrics[0].resource.current.averageUtilization", "7");
    fx_close(&fx);
}

TEST(versions, an_update_creates_an_event)
{
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do(&fx, 201, "PUT", EVENTS "/a", NEW_EVENT("a", "1")), "note", "1");
    assert_at(fx_do(&fx, 200, "PUT", EVENTS "/a", NEW_EVENT("a", "1")), "note", "1");
    fx_do(&fx, 422, "PUT", EVENTS "/a", NEW_EVENT("a", "2"));
    assert_at(
        fx_do(&fx, 200, "PATCH", EVENTS "/a",
              "{\"series\":{\"count\":2,\"lastObservedTime\":\"2026-01-02T03:04:06.000000Z\"}}"),
        "series.count", "2");
    assert_at(fx_do(&fx, 200, "PATCH", CORE "/a", "{\"message\":\"3\"}"), "series.count", "2");
    assert_at(fx_do(&fx, 200, "GET", EVENTS "/a", ""), "note", "3");
    assert_at(fx_do(&fx, 201, "POST", EVENTS "?dryRun=All", NEW_EVENT("b", "1")), "note", "1");
    fx_close(&fx);
}

TEST(versions, errors_name_the_group_that_was_asked_for)
{
    struct fx fx;
    const char *status;

    open_ready(&fx);
    status = fx_do(&fx, 404, "GET", EVENTS "/none", "");
    assert_at(status, "message", "events.events.k8s.io \"none\" not found");
    assert_at(status, "details.group", "events.k8s.io");
    fx_do(&fx, 201, "POST", CORE, "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(fx_do(&fx, 409, "POST", EVENTS, NEW_EVENT("a", "1")), "message",
              "events.events.k8s.io \"a\" already exists");
    assert_at(fx_do(&fx, 400, "POST", EVENTS, "{\"kind\":\"Event\",\"apiVersion\":\"v1\"}"),
              "message",
              "the API version in the data (v1) does not match the expected API version "
              "(events.k8s.io/v1)");
    fx_close(&fx);
}

TEST(versions, deletions_answer_in_the_version_that_was_asked_for)
{
    struct fx fx;
    const char *gone;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", V2,
          "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"x.y/z\"]},\"spec\":{" SCALER "}}");
    gone = fx_do(&fx, 200, "DELETE", V1 "/a", "");
    assert_at(gone, "apiVersion", "autoscaling/v1");
    assert_string_not_equal(fx_at(gone, "metadata.deletionTimestamp"), "");
    gone = fx_do(&fx, 200, "PATCH", V1 "/a", "{\"metadata\":{\"finalizers\":null}}");
    assert_at(gone, "apiVersion", "autoscaling/v1");
    fx_do(&fx, 404, "GET", V2 "/a", "");
    fx_do(&fx, 201, "POST", EVENTS, NEW_EVENT("a", "1"));
    gone = fx_do(&fx, 200, "DELETE", EVENTS, "");
    assert_at(gone, "apiVersion", "events.k8s.io/v1");
    assert_at(gone, "items[0].note", "1");
    assert_at(fx_do(&fx, 200, "GET", CORE, ""), "items", "[]");
    fx_close(&fx);
}

static bool has_events(void *arg)
{
    struct fx_call *call = arg;
    struct cor_str text = cor_buf_str(&call->sink.body);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n >= 5;
}

TEST(versions, a_watch_speaks_the_version_that_was_asked_for)
{
    struct fx fx;
    struct fx_call call;
    struct cor_str rest;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", CORE, "{\"metadata\":{\"name\":\"a\"},\"message\":\"1\"}");
    fx_start(&fx, &call, "GET",
             EVENTS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                    "allowWatchBookmarks=true",
             "", NULL);
    fx_do(&fx, 200, "PATCH", CORE "/a", "{\"message\":\"2\"}");
    fx_do(&fx, 201, "POST", EVENTS, NEW_EVENT("b", "3"));
    fx_do(&fx, 200, "DELETE", CORE "/a", "");
    assert_true(cor_loop_run_until(fx.loop, has_events, &call, FX_TIMEOUT_MS));
    rest = cor_buf_str(&call.sink.body);
    for (size_t i = 0; i < 5; i++) {
        static const struct {
            const char *type, *note;
        } want[] = {
            {"ADDED", "1"}, {"BOOKMARK", ""}, {"MODIFIED", "2"}, {"ADDED", "3"}, {"DELETED", "2"}};
        struct cor_str event = cor_str_cut(&rest, '\n');
        char line[4096];

        snprintf(line, sizeof(line), "%.*s", COR_STR_ARG(event));
        assert_at(line, "type", want[i].type);
        assert_at(line, "object.apiVersion", "events.k8s.io/v1");
        assert_at(line, "object.note", want[i].note);
        assert_at(line, "object.message", "");
        if (i == 1)
            assert_at(line, "object.metadata.annotations['k8s.io/initial-events-end']", "true");
    }
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(versions, a_failed_allocation_is_an_answer)
{
    static const char *const targets[] = {V1 "/a", V1, V1 "?pretty=1"};
    static const struct fx_headers table = {.accept =
                                                "application/json;as=Table;v=v1;g=meta.k8s.io"};
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", V2,
          "{\"metadata\":{\"name\":\"a\"},\"spec\":{" SCALER ",\"behavior\":{\"a\":1}}}");
    fx_do(&fx, 200, "GET", V1 "/a", "");
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        fx_fail_each_alloc(&fx, "GET", targets[i], "", NULL);
        fx_fail_each_alloc(&fx, "GET", targets[i], "", &table);
    }
    fx_close(&fx);
}
