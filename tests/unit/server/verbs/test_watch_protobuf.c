/* Watches in protobuf: frames of WatchEvents. Contract types 1.4.3 and 1.4.5. */
#include "api_fixture.h"

#include <stdio.h>

#include "base/limits.h"
#include "busy_thread.h"
#include "loop/offload.h"
#include "schema/protobuf/protobuf.h"
#include "server/api/api_loop.h"
#include "server/api/event_maker.h"
#include "server/api/heavy.h"

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
    struct cor_wire_item type, object, raw;
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
    assert_str(sink_header(&call.sink, "Content-Type"), PROTOBUF ";stream=watch");
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
    fx_do(
        &fx, 201, "POST", hpas,
        "{\"metadata\":{\"name\":\"h\"},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{"
        "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"d\"},\"targetCPUUtilizationPercentage\":70}}");
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
    sink_drain(&slow.sink, 1 << 20);
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

        cor_frames_deinit(&cor_api_home(fx.api)->frames);
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

/* Events of large objects, which threads make. */

#define HPAS "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"

static uint64_t jobs(const struct fx *fx)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(fx->offload, &stats);
    return stats.jobs;
}

/* With one thread, a large config map and a large autoscaler of the version that is stored. */
static void open_large(struct fx *fx, size_t jobs_max)
{
    const struct cor_offload_opts one = {
        .nthreads = 1, .jobs_max = jobs_max, .bytes_max = 64 << 20};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body = {.max = 1 << 20};

    *fx = (struct fx){0};
    assert_int_equal(cor_offload_new(&one, &fx->offload), 0);
    fx->opts.offload = fx->offload;
    fx_open(fx);
    fx_bootstrap(fx);
    assert_int_equal(cor_buf_addz(&body, "{\"metadata\":{\"name\":\"m\"},\"data\":{\"k\":\""), 0);
    for (size_t i = 0; i < COR_HEAVY_BYTES; i++)
        assert_int_equal(cor_buf_addc(&body, 'x'), 0);
    assert_int_equal(cor_buf_addz(&body, "\"}}"), 0);
    fx_do(fx, 201, "POST", CONFIGMAPS, cor_buf_z(&body));
    cor_buf_truncate(&body, 0);
    assert_int_equal(
        cor_buf_addz(
            &body,
            "{\"kind\":\"HorizontalPodAutoscaler\",\"apiVersion\":\"autoscaling/v2\","
            "\"metadata\":{\"name\":\"h\",\"namespace\":\"default\",\"annotations\":{\"k\":\""),
        0);
    for (size_t i = 0; i < COR_HEAVY_BYTES; i++)
        assert_int_equal(cor_buf_addc(&body, 'x'), 0);
    assert_int_equal(
        cor_buf_addz(
            &body,
            "\"}},\"spec\":{\"maxReplicas\":3,\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":{\"type\":\"Utilization\",\"averageUtilization\":70}}}],"
            "\"scaleTargetRef\":{\"kind\":\"Deployment\",\"name\":\"d\"}}}"),
        0);
    fx_put_raw(fx, "/registry/horizontalpodautoscalers/default/h", cor_buf_z(&body));
}

static bool has_bytes(void *arg)
{
    struct fx_call *call = arg;

    return call->sink.body.n > COR_HEAVY_BYTES || call->sink.is_done;
}

static void wait_for_event(struct fx_call *call)
{
    assert_true(cor_loop_run_until(call->fx->loop, has_bytes, call, FX_TIMEOUT_MS));
    assert_int_equal(call->sink.status, 200);
    assert_true(call->sink.body.n > COR_HEAVY_BYTES);
}

static void end_call(struct fx_call *call)
{
    call->sink.cbs->on_drain(call->sink.cb_arg);
    fx_wait(call);
    assert_false(call->sink.is_aborted);
    fx_call_deinit(call);
}

TEST(watch_protobuf, frames_of_large_objects_are_made_by_a_thread)
{
    struct fx_call first, second, later;
    struct busy_thread busy;
    struct fx fx;
    uint64_t before;

    open_large(&fx, 8);
    before = jobs(&fx);
    busy_thread_begin(&busy, fx.offload, fx.loop, 0);
    fx_start(&fx, &first, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    fx_start(&fx, &second, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    /* The loop goes on meanwhile, and answers. */
    fx_do(&fx, 404, "GET", CONFIGMAPS "/none", "");
    assert_int_equal(first.sink.body.n, 0);
    busy_thread_end(&busy);
    wait_for_event(&first);
    wait_for_event(&second);
    /* The busy one, and one for each object: without a cache each watch has its own. */
    assert_int_equal(jobs(&fx) - before, 3);
    assert_int_equal(first.sink.body.n, second.sink.body.n);
    assert_memory_equal(first.sink.body.p, second.sink.body.p, first.sink.body.n);
    /* What follows comes after it: a small event, and the large object once more. */
    add(&fx, "small");
    assert_true(has_frames(&(struct want){&first, 1}));
    assert_true(cor_loop_run_until(fx.loop, has_frames, &(struct want){&first, 2}, FX_TIMEOUT_MS));
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/m", "");
    assert_true(cor_loop_run_until(fx.loop, has_frames, &(struct want){&first, 3}, FX_TIMEOUT_MS));
    fx_start(&fx, &later, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    assert_true(cor_loop_run_until(fx.loop, has_frames, &(struct want){&later, 1}, FX_TIMEOUT_MS));
    end_call(&first);
    end_call(&second);
    end_call(&later);
    fx_close(&fx);
}

struct order {
    struct cor_event_wait wait;
    struct cor_frame *frame;
    size_t made;
};

static void note_made(struct cor_event_wait *wait, const struct cor_event_made *made)
{
    struct order *order = COR_CONTAINER_OF(wait, struct order, wait);

    assert_int_equal(made->err, 0);
    order->frame = cor_frame_ref(made->frame);
    order->made++;
}

static bool is_made(void *arg)
{
    return ((struct order *)arg)->made > 0;
}

/* A thousand watches of a cache have the same object: one job serves all that wait for it. */
TEST(watch_protobuf, a_frame_that_several_wait_for_is_made_once)
{
    struct order orders[3] = {
        {.wait.on_made = note_made}, {.wait.on_made = note_made}, {.wait.on_made = note_made}};
    struct cor_event_order what = {.product = COR_EVENT_FRAME};
    struct cor_api_loop *loop;
    struct busy_thread busy;
    struct fx fx;
    uint64_t before;

    open_large(&fx, 8);
    loop = cor_api_home(fx.api);
    assert_int_equal(
        cor_object_from_stored(COR_STR("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":"
                                       "{\"name\":\"a\"}}"),
                               7, &what.key.source, NULL, NULL),
        0);
    what.key.rev = 7;
    what.key.event = COR_WATCH_ADDED;
    what.key.type = cor_api_builtin(COR_STR(""), COR_STR("v1"), COR_STR("configmaps"));
    what.schema = cor_row_schema(what.key.type);
    busy_thread_begin(&busy, fx.offload, fx.loop, 0);
    before = jobs(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(orders); i++)
        assert_int_equal(cor_event_order(loop, &what, &orders[i].wait), 0);
    cor_event_wait_cancel(&orders[1].wait);
    busy_thread_end(&busy);
    assert_true(cor_loop_run_until(fx.loop, is_made, &orders[2], FX_TIMEOUT_MS));
    assert_int_equal(jobs(&fx) - before, 1);
    assert_int_equal(orders[1].made, 0);
    assert_ptr_equal(orders[0].frame, orders[2].frame);
    assert_ptr_equal(cor_frames_find(&loop->frames, &what.key), orders[0].frame);
    cor_frame_unref(orders[0].frame);
    cor_frame_unref(orders[2].frame);
    cor_object_unref(what.key.source);
    fx_close(&fx);
}

/* A watch that comes meanwhile orders anew. */
TEST(watch_protobuf, a_frame_that_nobody_waits_for_any_more_is_not_made)
{
    struct busy_thread busy;
    struct cor_offload_stats stats;
    struct fx_call call, next;
    struct fx fx;

    open_large(&fx, 8);
    busy_thread_begin(&busy, fx.offload, fx.loop, 0);
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    fx_do(&fx, 404, "GET", CONFIGMAPS "/none", "");
    cor_offload_get_stats(fx.offload, &stats);
    assert_int_equal(stats.waiting, 1);
    fx_call_deinit(&call);
    cor_offload_get_stats(fx.offload, &stats);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.unrun, 1);
    fx_start(&fx, &next, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    busy_thread_end(&busy);
    wait_for_event(&next);
    assert_true(has_frames(&(struct want){&next, 1}));
    fx_call_deinit(&next);
    fx_close(&fx);
}

/* Another version of a large object is made by a thread, for every kind of answer. */
TEST(watch_protobuf, large_objects_are_converted_by_a_thread)
{
    static const char *const accepts[] = {
        "application/json", PROTOBUF,
        "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
        "application/json;as=Table;v=v1;g=meta.k8s.io"};
    struct fx fx;

    open_large(&fx, 8);
    for (size_t i = 0; i < COR_ARRAY_LEN(accepts); i++) {
        const struct fx_headers headers = {.accept = accepts[i]};
        uint64_t before = jobs(&fx);
        struct fx_call call;

        fx_start(&fx, &call, "GET", HPAS "?watch=1&includeObject=Object", "", &headers);
        wait_for_event(&call);
        if (jobs(&fx) == before)
            fail_msg("a watch of %s converted on the loop", accepts[i]);
        end_call(&call);
        before = jobs(&fx);
        fx_start(&fx, &call, "GET", HPAS "/h?includeObject=Object", "", &headers);
        fx_wait(&call);
        assert_int_equal(call.sink.status, 200);
        assert_true(call.sink.body.n > COR_HEAVY_BYTES);
        if (i == 0)
            assert_at(cor_buf_z(&call.sink.body), ".spec.targetCPUUtilizationPercentage", "70");
        if (jobs(&fx) == before)
            fail_msg("a get of %s converted on the loop", accepts[i]);
        fx_call_deinit(&call);
    }
    fx_close(&fx);
}

/* The reader goes, or the server shuts down, while a thread makes the event. */
TEST(watch_protobuf, may_end_while_a_thread_makes_its_event)
{
    struct fx_call gone, drained;
    struct busy_thread busy;
    struct fx fx;

    open_large(&fx, 8);
    busy_thread_begin(&busy, fx.offload, fx.loop, 0);
    fx_start(&fx, &gone, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    fx_start(&fx, &drained, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    fx_do(&fx, 404, "GET", CONFIGMAPS "/none", "");
    fx_call_deinit(&gone);
    drained.sink.cbs->on_drain(drained.sink.cb_arg);
    fx_do(&fx, 404, "GET", CONFIGMAPS "/none", "");
    assert_false(drained.sink.is_done);
    busy_thread_end(&busy);
    fx_wait(&drained);
    assert_false(drained.sink.is_aborted);
    assert_true(has_frames(&(struct want){&drained, 1}));
    assert_true(drained.sink.body.n > COR_HEAVY_BYTES);
    fx_call_deinit(&drained);
    fx_close(&fx);
}

/* When the threads are full, the event waits; it is neither lost nor made on the loop. */
TEST(watch_protobuf, waits_for_a_place_among_the_threads)
{
    struct busy_thread busy, second;
    struct fx_call call;
    struct fx fx;

    open_large(&fx, 1);
    busy_thread_begin(&busy, fx.offload, fx.loop, 0);
    busy_thread_queue(&second, fx.offload, fx.loop, 0);
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    fx_do(&fx, 404, "GET", CONFIGMAPS "/none", "");
    assert_int_equal(call.sink.body.n, 0);
    busy_thread_end(&busy);
    busy_thread_end(&second);
    wait_for_event(&call);
    end_call(&call);
    fx_close(&fx);
}

TEST(watch_protobuf, of_large_objects_survives_every_failed_allocation)
{
    struct fx_call whole;
    struct fx fx;

    open_large(&fx, 8);
    fx_start(&fx, &whole, "GET", CONFIGMAPS "?watch=1", "", &protobuf);
    wait_for_event(&whole);
    FOR_EACH_FAILED_ALLOC(n) {
        struct want want;
        struct cor_str rest, frame;
        FX_CALL call;

        cor_frames_deinit(&cor_api_home(fx.api)->frames);
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
