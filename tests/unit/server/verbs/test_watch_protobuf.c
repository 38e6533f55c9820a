/* Watches in protobuf: frames of WatchEvents. Contract types 1.4.3 and 1.4.5. */
#include "api_fixture.h"

#include <stdio.h>

#include "schema/protobuf.h"
#include "server/api/api_int.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define PROTOBUF   "application/vnd.kubernetes.protobuf"

static const struct fx_headers protobuf = {.accept = PROTOBUF};

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

static void add(struct fx *fx, const char *name)
{
    char body[256];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"k\":\"v\"}}", name);
    fx_do(fx, 201, "POST", CONFIGMAPS, body);
}

/* Cuts a frame off what was sent. False: it is not whole. */
static bool take_frame(struct cor_str *rest, struct cor_str *ret_frame)
{
    size_t n = 0;

    for (size_t i = 0; i < 4 && rest->n >= 4; i++)
        n = n << 8 | (unsigned char)rest->p[i];
    if (rest->n < 4 || rest->n - 4 < n)
        return false;
    *ret_frame = cor_str(rest->p + 4, n);
    *rest = cor_str_from(*rest, 4 + n);
    return true;
}

struct want {
    struct fx_call *call;
    size_t frames;
};

static bool has_frames(void *arg)
{
    struct want *want = arg;
    struct cor_str rest = cor_buf_str(&want->call->sink.body), frame;
    size_t n = 0;

    while (take_frame(&rest, &frame))
        n++;
    return n >= want->frames || want->call->sink.is_done || want->call->sink.is_aborted;
}

/* The i-th event once it is there, as a watch in JSON has it. */
static const char *event(struct fx_call *call, size_t i)
{
    static char text[8][16 * 1024];
    static size_t turn;
    char *out = text[turn++ % 8];
    const struct cor_gvk none = {COR_STR(""), COR_STR(""), COR_STR("")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 1 << 20};
    struct want want = {call, i + 1};
    struct cor_str rest, frame = COR_STR("");
    struct cor_pb_item type, object, raw;
    struct cor_protobuf opened;

    if (!cor_loop_run_until(call->fx->loop, has_frames, &want, FX_TIMEOUT_MS))
        fail_msg("no event %zu", i);
    rest = cor_buf_str(&call->sink.body);
    for (size_t n = 0; n <= i; n++)
        assert_true(take_frame(&rest, &frame));
    assert_int_equal(cor_pb_take_item(&frame, "WatchEvent", &type, NULL), 1);
    assert_int_equal(cor_pb_take_item(&frame, "WatchEvent", &object, NULL), 1);
    assert_int_equal(frame.n, 0);
    assert_true(type.number == 1 && object.number == 2);
    assert_int_equal(cor_pb_take_item(&object.bytes, "RawExtension", &raw, NULL), 1);
    assert_true(raw.number == 1 && object.bytes.n == 0);
    assert_int_equal(cor_protobuf_open(raw.bytes, &opened, NULL), 0);
    assert_int_equal(cor_protobuf_to_json(&opened, cor_protobuf_type(&opened, &none), &json, NULL),
                     0);
    snprintf(out, sizeof(text[0]), "{\"type\":\"%.*s\",\"object\":%s}", COR_STR_ARG(type.bytes),
             cor_buf_z(&json));
    return out;
}

TEST(watch_protobuf, begins_with_the_state_and_goes_on_with_changes)
{
    struct fx fx;
    struct fx_call call;
    const char *deleted;

    open_ready(&fx);
    add(&fx, "a");
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=true", "", &protobuf);
    assert_at(event(&call, 0), "type", "ADDED");
    assert_int_equal(call.sink.status, 200);
    assert_str(cor_buffer_sink_header(&call.sink, "Content-Type"), PROTOBUF ";stream=watch");
    assert_string_equal(fx_at(event(&call, 0), "object"),
                        fx_do(&fx, 200, "GET", CONFIGMAPS "/a", ""));
    add(&fx, "b");
    assert_at(event(&call, 1), "object.metadata.name", "b");
    fx_do(&fx, 200, "PATCH", CONFIGMAPS "/a", "{\"data\":{\"k\":\"w\"}}");
    assert_at(event(&call, 2), "type", "MODIFIED");
    assert_at(event(&call, 2), "object.data.k", "w");
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/a", "");
    deleted = event(&call, 3);
    assert_at(deleted, "type", "DELETED");
    assert_at(deleted, "object.data.k", "w");
    assert_true(strtoull(fx_at(deleted, "object.metadata.resourceVersion"), NULL, 10) >
                strtoull(fx_at(event(&call, 2), "object.metadata.resourceVersion"), NULL, 10));
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch_protobuf, streams_the_initial_state_and_says_where_it_ends)
{
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    add(&fx, "a");
    fx_start(&fx, &call, "GET",
             CONFIGMAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                        "allowWatchBookmarks=true",
             "", &protobuf);
    assert_at(event(&call, 0), "object.metadata.name", "a");
    assert_at(event(&call, 1), "type", "BOOKMARK");
    assert_at(event(&call, 1), "object.kind", "ConfigMap");
    assert_at(event(&call, 1), "object.metadata.annotations['k8s.io/initial-events-end']", "true");
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch_protobuf, shows_metadata_and_other_versions)
{
    static const struct fx_headers partial = {.accept = PROTOBUF
                                              ";as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
    static const char hpas[] = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
    struct fx fx;
    struct fx_call call;
    char target[128];

    open_ready(&fx);
    add(&fx, "a");
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1", "", &partial);
    assert_at(event(&call, 0), "object.kind", "PartialObjectMetadata");
    assert_at(event(&call, 0), "object.apiVersion", "meta.k8s.io/v1");
    assert_at(event(&call, 0), "object.metadata.name", "a");
    assert_at(event(&call, 0), "object.data", "");
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/a", "");
    assert_at(event(&call, 1), "type", "DELETED");
    assert_true(strtoull(fx_at(event(&call, 1), "object.metadata.resourceVersion"), NULL, 10) >
                strtoull(fx_at(event(&call, 0), "object.metadata.resourceVersion"), NULL, 10));
    fx_call_deinit(&call);
    fx_do(&fx, 201, "POST", hpas,
          "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{\"kind\":"
          "\"Deployment\",\"name\":\"d\"},\"targetCPUUtilizationPercentage\":70}}");
    snprintf(target, sizeof(target), "%s?watch=1", hpas);
    fx_start(&fx, &call, "GET", target, "", &protobuf);
    assert_at(event(&call, 0), "object.apiVersion", "autoscaling/v1");
    assert_at(event(&call, 0), "object.spec.targetCPUUtilizationPercentage", "70");
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch_protobuf, waits_for_a_slow_reader)
{
    struct fx_call quick, slow;
    struct fx fx;

    open_ready(&fx);
    fx_start(&fx, &quick, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    fx_start(&fx, &slow, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    slow.sink.room = 5;
    for (int i = 0; i < 2 * COR_FRAMES_MAX; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%03d", i);
        add(&fx, name);
    }
    (void)event(&quick, 2 * COR_FRAMES_MAX - 1);
    assert_int_equal(slow.sink.body.n, 5);
    cor_buffer_sink_drain(&slow.sink, 1 << 20);
    (void)event(&slow, 2 * COR_FRAMES_MAX - 1);
    assert_int_equal(slow.sink.body.n, quick.sink.body.n);
    assert_memory_equal(slow.sink.body.p, quick.sink.body.p, quick.sink.body.n);
    fx_call_deinit(&quick);
    fx_call_deinit(&slow);
    fx_close(&fx);
}

/* An event that cannot be encoded must not be left out. */
TEST(watch_protobuf, an_error_is_a_frame_with_a_status)
{
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    fx_put_raw(&fx, "/registry/deployments/default/d",
               "{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":\"d\","
               "\"namespace\":\"default\"},\"spec\":{\"paused\":\"many\"}}");
    fx_start(&fx, &call, "GET", "/apis/apps/v1/deployments?watch=1", "", &protobuf);
    assert_at(event(&call, 0), "type", "ERROR");
    assert_at(event(&call, 0), "object.kind", "Status");
    assert_at(event(&call, 0), "object.apiVersion", "v1");
    assert_at(event(&call, 0), "object.code", "500");
    assert_at(event(&call, 0), "object.message",
              "Internal error occurred: unable to encode key "
              "\"/registry/deployments/default/d\": cannot encode string as field Paused of type "
              "bool");
    fx_wait(&call);
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch_protobuf, survives_every_failed_allocation)
{
    struct cor_str rest, frame;
    struct fx_call whole;
    struct fx fx;

    open_ready(&fx);
    add(&fx, "a");
    fx_start(&fx, &whole, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    assert_at(event(&whole, 0), "object.data.k", "v");
    FOR_EACH_FAILED_ALLOC(n) {
        struct want want;
        FX_CALL call;

        cor_frames_deinit(&fx.api->loops[0].frames);
        fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
        want = (struct want){&call, 1};
        if (call.is_bare || call.sink.is_done)
            continue;
        assert_true(cor_loop_run_until(fx.loop, has_frames, &want, FX_TIMEOUT_MS));
        rest = cor_buf_str(&call.sink.body);
        if (call.sink.status != 200 || call.sink.is_aborted || !take_frame(&rest, &frame))
            continue;
        if (cor_str_starts(frame, COR_STR("\x0a\x05"
                                          "ADDED")))
            assert_memory_equal(call.sink.body.p, whole.sink.body.p, frame.n + 4);
        else
            assert_true(cor_str_starts(frame, COR_STR("\x0a\x05"
                                                      "ERROR")));
    }
    fx_call_deinit(&whole);
    fx_close(&fx);
}
