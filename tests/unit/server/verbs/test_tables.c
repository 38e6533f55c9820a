/* Answers as tables, beyond what one row shows (tests/cases/tables.cases, schema/cells). */
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"
#include "base/limits.h"
#include "server/api/heavy.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define RANGES     "/api/v1/namespaces/default/limitranges"
#define SCHEMAS    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
#define SCALERS(v) "/apis/autoscaling/" v "/namespaces/default/horizontalpodautoscalers"

static const struct fx_headers table = {.accept = "application/json;as=Table;v=v1;g=meta.k8s.io"};

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

/* As upstream's two converters. Contract server 3.21.3. */
TEST(tables, without_objects_have_null_rows_when_the_kind_has_no_columns)
{
    static const struct fx_headers yaml = {.accept =
                                               "application/yaml;as=Table;v=v1;g=meta.k8s.io"};
    struct fx fx;
    const char *text;

    open_ready(&fx);
    text = fx_do_with(&fx, 200, "GET", RANGES, "", &table);
    assert_at(text, "kind", "Table");
    assert_at(text, "columnDefinitions[1].name", "Created At");
    assert_at(text, "columnDefinitions[1].type", "date");
    assert_at(text, "rows", "null");
    assert_non_null(
        strstr(fx_do_with(&fx, 200, "GET", RANGES "?pretty=1", "", &table), "\"rows\": null\n}"));
    assert_non_null(strstr(fx_do_with(&fx, 200, "GET", RANGES, "", &yaml), "rows: null"));
    assert_at(fx_do_with(&fx, 200, "GET", CONFIGMAPS "?labelSelector=none", "", &table), "rows",
              "[]");
    fx_do(&fx, 201, "POST", RANGES, "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"limits\":[]}}");
    text = fx_do_with(&fx, 200, "GET", RANGES "?includeObject=None", "", &table);
    assert_at(text, "rows[0].cells[0]", "a");
    assert_at(text, "rows[0].object", "null");
    fx_fail_each_alloc(&fx, "GET", RANGES "?labelSelector=none", "", &table);
    fx_close(&fx);
}

static void add_schema(struct fx *fx, const char *name, int precedence)
{
    char body[256];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"matchingPrecedence\":%d,"
             "\"priorityLevelConfiguration\":{\"name\":\"exempt\"}}}",
             name, precedence);
    fx_do(fx, 201, "POST", SCHEMAS, body);
}

TEST(tables, of_flow_schemas_are_in_the_order_of_their_precedence)
{
    static const char *const names[] = {"d", "b", "c", "a"};
    struct fx fx;
    const char *text;

    open_ready(&fx);
    add_schema(&fx, "a", 900);
    add_schema(&fx, "b", 50);
    add_schema(&fx, "c", 50);
    add_schema(&fx, "d", 7);
    text = fx_do_with(&fx, 200, "GET", SCHEMAS "?includeObject=None", "", &table);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        char path[32];

        snprintf(path, sizeof(path), "rows[%zu].cells[0]", i);
        assert_at(text, path, names[i]);
    }
    /* A page is sorted by itself, and the next page begins after its last key. */
    text = fx_do_with(&fx, 200, "GET", SCHEMAS "?limit=2", "", &table);
    assert_at(text, "rows[0].cells[0]", "b");
    assert_at(text, "rows[1].cells[0]", "a");
    assert_at(text, "metadata.remainingItemCount", "2");
    /* Only tables have the order. */
    assert_at(fx_do(&fx, 200, "GET", SCHEMAS, ""), "items[0].metadata.name", "a");
    fx_fail_each_alloc(&fx, "GET", SCHEMAS, "", &table);
    fx_close(&fx);
}

/* Contract server 3.21.5. */
TEST(tables, of_reviews_are_not_acceptable)
{
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do_with(&fx, 406, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                         "{\"spec\":{\"nonResourceAttributes\":{\"path\":\"/\"}}}", &table),
              "message",
              "only the following media types are accepted: application/json, application/yaml, "
              "application/vnd.kubernetes.protobuf");
    fx_close(&fx);
}

/* Cells are those of the stored object; the object of a row has the version of the request. */
TEST(tables, have_cells_of_the_stored_version_and_objects_of_the_requested_one)
{
    struct fx fx;
    const char *text;

    open_ready(&fx);
    fx_do(
        &fx, 201, "POST", SCALERS("v2"),
        "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{"
        "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\"},\"metrics\":[{\"type\":\"Pods\",\"pods\":{"
        "\"metric\":{\"name\":\"p\"},\"target\":{\"type\":\"AverageValue\",\"averageValue\":"
        "\"5\"}}}]}}");
    text = fx_do_with(&fx, 200, "GET", SCALERS("v1") "/h", "", &table);
    assert_at(text, "rows[0].cells[2]", "<unknown>/5");
    assert_at(text, "rows[0].object.metadata.annotations", "");
    text = fx_do_with(&fx, 200, "GET", SCALERS("v1") "?includeObject=Object", "", &table);
    assert_at(text, "rows[0].cells[2]", "<unknown>/5");
    assert_at(text, "rows[0].object.apiVersion", "autoscaling/v1");
    text = fx_do_with(&fx, 200, "GET", SCALERS("v1") "/h?includeObject=Object", "", &table);
    assert_at(text, "rows[0].object.apiVersion", "autoscaling/v1");
    fx_fail_each_alloc(&fx, "GET", SCALERS("v1") "/h?includeObject=Object", "", &table);
    fx_fail_each_alloc(&fx, "GET", SCALERS("v1") "?includeObject=Object", "", &table);
    fx_close(&fx);
}

static bool has_two_events(void *arg)
{
    const struct cor_buf *body = &((struct fx_call *)arg)->sink.body;
    const char *first = memchr(cor_buf_z(body), '\n', body->n);

    return first && strchr(first + 1, '\n');
}

/* What a thread has made of a large object has the revision of the deletion in its row. */
TEST(tables, of_large_objects_show_the_revision_of_a_deletion)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1 << 20};
    struct fx_call call;
    struct fx fx;
    const char *line;
    char rev[64];

    open_ready(&fx);
    assert_int_equal(cor_buf_addz(&body, "{\"kind\":\"HorizontalPodAutoscaler\",\"apiVersion\":"
                                         "\"autoscaling/v2\",\"metadata\":{\"annotations\":{"
                                         "\"k\":\""),
                     0);
    for (size_t i = 0; i < COR_HEAVY_BYTES; i++)
        assert_int_equal(cor_buf_addc(&body, 'x'), 0);
    assert_int_equal(cor_buf_addz(&body, "\"},\"name\":\"h\",\"namespace\":\"default\"},"
                                         "\"spec\":{\"maxReplicas\":3}}"),
                     0);
    fx_put_raw(&fx, "/registry/horizontalpodautoscalers/default/h", cor_buf_z(&body));
    fx_start(&fx, &call, "GET", SCALERS("v1") "?watch=1&includeObject=Object", "", &table);
    fx_do(&fx, 200, "DELETE", SCALERS("v1") "/h", "");
    assert_true(cor_loop_run_until(fx.loop, has_two_events, &call, FX_TIMEOUT_MS));
    line = strchr(cor_buf_z(&call.sink.body), '\n') + 1;
    assert_at(line, "type", "DELETED");
    assert_at(line, "object.rows[0].object.apiVersion", "autoscaling/v1");
    assert_at(line, "object.columnDefinitions", "null");
    snprintf(rev, sizeof(rev), "%s", fx_at(line, "object.metadata.resourceVersion"));
    assert_at(line, "object.rows[0].object.metadata.resourceVersion", rev);
    fx_call_deinit(&call);
    fx_do(&fx, 404, "GET", SCALERS("v1") "/h", "");
    fx_put_raw(&fx, "/registry/horizontalpodautoscalers/default/h", cor_buf_z(&body));
    fx_fail_each_alloc(&fx, "GET", SCALERS("v1") "/h?includeObject=Object", "", &table);
    fx_fail_each_alloc(&fx, "GET", SCALERS("v1") "?includeObject=Object", "", &table);
    fx_close(&fx);
}

static bool has_head(void *arg)
{
    return ((struct fx_call *)arg)->sink.status != 0;
}

/* Rows are short, the objects that they are made of are not: the loop turns in between. */
TEST(tables, of_many_bytes_leave_the_loop_its_turns)
{
    enum { OBJECTS = 30, BYTES = 50000 };
    static char body[BYTES + 256];
    struct fx_call call;
    struct fx fx;

    open_ready(&fx);
    for (int i = 0; i < OBJECTS; i++) {
        int n = snprintf(body, 256, "{\"metadata\":{\"name\":\"m%02d\"},\"data\":{\"k\":\"", i);

        memset(body + n, 'x', BYTES);
        memcpy(body + n + BYTES, "\"}}", 4);
        fx_do(&fx, 201, "POST", CONFIGMAPS, body);
    }
    fx_start(&fx, &call, "GET", CONFIGMAPS "?includeObject=None&fieldSelector=metadata.name!=x", "",
             &table);
    assert_true(cor_loop_run_until(fx.loop, has_head, &call, FX_TIMEOUT_MS));
    assert_false(call.sink.is_done);
    fx_wait(&call);
    assert_at(cor_buf_z(&call.sink.body), "rows[29].cells[0]", "m29");
    fx_call_deinit(&call);
    fx_close(&fx);
}
