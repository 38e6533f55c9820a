#include "api_fixture.h"

#include <stdio.h>

#include "storage/engine/engine_int.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

static void add(struct fx *fx, const char *name, const char *label)
{
    char body[256];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"%s\"}}}",
             name, label);
    fx_do(fx, 201, "POST", CONFIGMAPS, body);
}

TEST(list, an_empty_one_has_items)
{
    struct fx fx;
    const char *list;

    open_ready(&fx);
    list = fx_do(&fx, 200, "GET", CONFIGMAPS, "");
    assert_at(list, "kind", "ConfigMapList");
    assert_at(list, "apiVersion", "v1");
    assert_at(list, "items", "[]");
    assert_string_not_equal(fx_at(list, "metadata.resourceVersion"), "");
    assert_string_equal(fx_do(&fx, 200, "GET", CONFIGMAPS "?pretty=1", "") +
                            strlen(fx_do(&fx, 200, "GET", CONFIGMAPS "?pretty=1", "")) - 15,
                        "  \"items\": []\n}");
    fx_close(&fx);
}

TEST(list, items_of_built_ins_have_no_type)
{
    struct fx fx;
    const char *list;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "y");
    list = fx_do(&fx, 200, "GET", CONFIGMAPS, "");
    assert_at(list, "items[0].metadata.name", "a");
    assert_at(list, "items[1].metadata.name", "b");
    assert_at(list, "items[2]", "");
    assert_at(list, "items[0].kind", "");
    assert_at(list, "items[0].apiVersion", "");
    assert_memory_equal(list,
                        "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                        "\"resourceVersion\":\"",
                        70);
    list = fx_do(&fx, 200, "GET", "/api/v1/configmaps", "");
    assert_at(list, "items[1].metadata.name", "b");
    list = fx_do(&fx, 200, "GET", CONFIGMAPS "?pretty=true", "");
    assert_at(list, "items[1].metadata.name", "b");
    fx_close(&fx);
}

TEST(list, pages_with_a_token_and_a_count)
{
    struct fx fx;
    char target[1024];
    const char *list;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "y");
    add(&fx, "c", "x");
    list = fx_do(&fx, 200, "GET", CONFIGMAPS "?limit=2", "");
    assert_at(list, "metadata.remainingItemCount", "1");
    assert_at(list, "items[1].metadata.name", "b");
    assert_at(list, "items[2]", "");
    snprintf(target, sizeof(target), CONFIGMAPS "?limit=2&continue=%s",
             fx_at(list, "metadata.continue"));
    list = fx_do(&fx, 200, "GET", target, "");
    assert_at(list, "items[0].metadata.name", "c");
    assert_at(list, "metadata.continue", "");
    assert_at(list, "metadata.remainingItemCount", "");
    fx_close(&fx);
}

TEST(list, selects_by_labels_and_fields)
{
    struct fx fx;
    const char *list;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "y");
    list = fx_do(&fx, 200, "GET", CONFIGMAPS "?labelSelector=app%3Dy", "");
    assert_at(list, "items[0].metadata.name", "b");
    assert_at(list, "items[1]", "");
    list = fx_do(&fx, 200, "GET", CONFIGMAPS "?fieldSelector=metadata.name%3Da", "");
    assert_at(list, "items[0].metadata.name", "a");
    assert_at(list, "items[1]", "");
    list =
        fx_do(&fx, 200, "GET", CONFIGMAPS "?fieldSelector=metadata.name=a&labelSelector=app=y", "");
    assert_at(list, "items", "[]");
    list = fx_do(&fx, 200, "GET", "/api/v1/configmaps?fieldSelector=metadata.namespace=other", "");
    assert_at(list, "items", "[]");
    assert_at(fx_do(&fx, 400, "GET", CONFIGMAPS "?fieldSelector=spec.x=1", ""), "reason",
              "BadRequest");
    assert_at(fx_do(&fx, 400, "GET", CONFIGMAPS "?labelSelector=a%20b", ""), "reason",
              "BadRequest");
    assert_at(fx_do(&fx, 422, "GET", CONFIGMAPS "?resourceVersionMatch=Exact", ""), "reason",
              "Invalid");
    fx_close(&fx);
}

TEST(list, shows_tables_and_metadata)
{
    static const struct fx_headers table = {.accept =
                                                "application/json;as=Table;v=v1;g=meta.k8s.io"};
    static const struct fx_headers partial = {
        .accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"};
    static const struct fx_headers wrong = {
        .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
    struct fx fx;
    const char *list;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "y");
    list = fx_do_with(&fx, 200, "GET", CONFIGMAPS, "", &table);
    assert_at(list, "kind", "Table");
    assert_at(list, "rows[1].cells", "[\"b\",0,\"0s\"]");
    assert_at(list, "rows[1].object.metadata.name", "b");
    list = fx_do_with(&fx, 200, "GET", CONFIGMAPS "?includeObject=None", "", &table);
    assert_at(list, "rows[0].object", "null");
    list = fx_do_with(&fx, 200, "GET", CONFIGMAPS "?includeObject=Object", "", &table);
    assert_at(list, "rows[0].object.kind", "ConfigMap");
    fx_do_with(&fx, 400, "GET", CONFIGMAPS "?includeObject=Some", "", &table);
    list = fx_do_with(&fx, 200, "GET", CONFIGMAPS, "", &partial);
    assert_at(list, "kind", "PartialObjectMetadataList");
    assert_at(list, "items[0].kind", "PartialObjectMetadata");
    assert_at(list, "items[1].metadata.name", "b");
    fx_do_with(&fx, 406, "GET", CONFIGMAPS, "", &wrong);
    fx_close(&fx);
}

static bool is_full(void *arg)
{
    return ((struct fx_call *)arg)->sink.room == 0;
}

/* More items than are written at once, to a reader that takes a few bytes at a time. */
TEST(list, goes_on_where_a_slow_reader_stopped)
{
    struct fx fx;
    const char *whole, *target[] = {CONFIGMAPS, CONFIGMAPS "?pretty=true"};

    open_ready(&fx);
    for (int i = 0; i < 100; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%03d", i);
        add(&fx, name, "x");
    }
    for (size_t t = 0; t < 2; t++) {
        FX_CALL call;

        whole = fx_do(&fx, 200, "GET", target[t], "");
        assert_at(whole, "items[99].metadata.name", "n099");
        fx_start(&fx, &call, "GET", target[t], "", NULL);
        call.sink.room = 10;
        assert_true(cor_loop_run_until(fx.loop, is_full, &call, FX_TIMEOUT_MS));
        while (!call.sink.is_done)
            sink_drain(&call.sink, 777);
        assert_memory_equal(call.sink.body.p, whole, strlen(whole));
    }
    fx_close(&fx);
}

#define PROTOBUF "application/vnd.kubernetes.protobuf"

/* A list in protobuf says what the list in JSON says. Contract types 1.1.3, 1.1.7 and 1.4.1. */
TEST(list, is_the_same_in_protobuf)
{
    static const char *const targets[] = {
        CONFIGMAPS, CONFIGMAPS "?limit=2", CONFIGMAPS "?labelSelector=app%3Dx",
        CONFIGMAPS "?fieldSelector=metadata.name%3Db", CONFIGMAPS "?labelSelector=app%3Dnone"};
    struct fx fx;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "y");
    add(&fx, "c", "x");
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        const char *json = fx_do(&fx, 200, "GET", targets[i], "");
        const char *list = fx_do_protobuf(&fx, 200, "GET", targets[i], "", PROTOBUF);

        assert_at(list, "kind", "ConfigMapList");
        assert_at(list, "apiVersion", "v1");
        assert_at(list, "metadata.resourceVersion", fx_at(json, "metadata.resourceVersion"));
        assert_at(list, "metadata.continue", fx_at(json, "metadata.continue"));
        assert_at(list, "metadata.remainingItemCount", fx_at(json, "metadata.remainingItemCount"));
        /* Go makes null of a list without items, and Go's clients do not see the difference. */
        assert_at(list, "items",
                  strcmp(fx_at(json, "items"), "[]") == 0 ? "null" : fx_at(json, "items"));
    }
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS, "", &(struct fx_headers){.accept = PROTOBUF});
    fx_close(&fx);
}

/* The message of v1beta1 has its metadata after its items. Contract types 1.1.7. */
TEST(list, of_metadata_is_the_same_in_protobuf)
{
    static const char of_v1[] = PROTOBUF ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    static const struct fx_headers of_v1beta1 = {
        .accept = PROTOBUF ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"};
    static const struct fx_headers table = {.accept = PROTOBUF ";as=Table;g=meta.k8s.io;v=v1"};
    struct fx fx;
    const char *list;
    FX_CALL call;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "y");
    list = fx_do_protobuf(&fx, 200, "GET", CONFIGMAPS, "", of_v1);
    assert_at(list, "kind", "PartialObjectMetadataList");
    assert_at(list, "apiVersion", "meta.k8s.io/v1");
    assert_at(list, "items[0].kind", "");
    assert_at(list, "items[1].metadata.name", "b");
    assert_at(list, "items[1].metadata.labels.app", "y");
    assert_string_not_equal(fx_at(list, "metadata.resourceVersion"), "");
    list = fx_do_with(&fx, 406, "GET", CONFIGMAPS, "", &table);
    assert_at(list, "message",
              "only the following media types are accepted: application/json, application/yaml, "
              "application/vnd.kubernetes.protobuf");
    fx_start(&fx, &call, "GET", CONFIGMAPS, "", &of_v1beta1);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 200);
    assert_memory_equal(call.sink.body.p,
                        "k8s\0\x0a\x30\x0a\x13meta.k8s.io/v1beta1\x12\x19PartialObjectMetadataList",
                        54);
    /* ListMeta with a resourceVersion of one digit, and the end of the envelope. */
    assert_memory_equal(call.sink.body.p + call.sink.body.n - 13, "\x12\x07\x0a\0\x12\x01", 6);
    assert_memory_equal(call.sink.body.p + call.sink.body.n - 6, "\x1a\0\x1a\0\x22\0", 6);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS, "", &(struct fx_headers){.accept = of_v1});
    fx_close(&fx);
}

/* More than is kept while it is counted, with an item that a thread writes among the others. */
TEST(list, of_any_length_is_sent_in_protobuf)
{
    static char body[200 * 1024];
    struct fx fx;
    const char *json, *list;

    open_ready(&fx);
    for (int i = 0; i < 40; i++) {
        int data = i == 7 || i == 8 || i == 39 ? 150 * 1024 : 20 * 1024;

        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"n%02d\"},\"data\":{\"k\":\"%0*d\"}}", i, data, i);
        fx_do(&fx, 201, "POST", CONFIGMAPS, body);
    }
    json = fx_do(&fx, 200, "GET", CONFIGMAPS, "");
    list = fx_do_protobuf(&fx, 200, "GET", CONFIGMAPS, "", PROTOBUF);
    assert_true(strcmp(fx_at(list, "items"), fx_at(json, "items")) == 0);
    fx_close(&fx);
}

static uint64_t largest_range;

static const struct cor_engine_ops *real_ops;

static void note_range(struct cor_engine *engine, struct cor_range_req *req)
{
    if (req->end.n > 0 && (req->limit == 0 || req->limit > largest_range))
        largest_range = req->limit ? req->limit : UINT64_MAX;
    real_ops->range(engine, req);
}

/* A page costs the store a page, not all that there is. */
TEST(list, of_a_page_reads_no_more_than_the_page)
{
    struct cor_engine_ops ops;
    struct fx fx;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "x");
    add(&fx, "c", "x");
    real_ops = fx.engine->ops;
    ops = *real_ops;
    ops.range = note_range;
    fx.engine->ops = &ops;
    largest_range = 0;
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS "?limit=1", ""), "items[0].metadata.name", "a");
    fx.engine->ops = real_ops;
    assert_uint_in_range(largest_range, 1, 2);
    fx_close(&fx);
}

TEST(list, that_says_success_without_memory_is_whole)
{
    static const struct fx_headers table = {.accept =
                                                "application/json;as=Table;v=v1;g=meta.k8s.io"};
    static const struct fx_headers partial = {
        .accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"};
    static const struct fx_headers yaml = {.accept = "application/yaml"};
    struct fx fx;

    open_ready(&fx);
    add(&fx, "a", "x");
    add(&fx, "b", "x");
    add(&fx, "c", "y");
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "?labelSelector=app=x&limit=1", "", NULL);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "?fieldSelector=metadata.name=a", "", NULL);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "?pretty=1", "", NULL);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS, "", &table);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "?pretty=1", "", &table);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS, "", &partial);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS "?pretty=1", "", &partial);
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS, "", &yaml);
    fx_close(&fx);
}
