#include "api_fixture.h"
#include "base/limits.h"

#include <stdio.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static void open_ready(struct fx *fx)
{
    *fx = (struct fx){0};
    fx_open(fx);
    fx_bootstrap(fx);
}

struct want {
    struct fx_call *call;
    size_t lines;
};

static bool has_lines(void *arg)
{
    struct want *want = arg;
    struct cor_str text = cor_buf_str(&want->call->sink.body);
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == '\n';
    return n >= want->lines || want->call->sink.is_done || want->call->sink.is_aborted;
}

/* The i-th event once it is there. */
static const char *event(struct fx_call *call, size_t i)
{
    static char text[8][16 * 1024];
    static size_t turn;
    char *out = text[turn++ % 8];
    struct want want = {call, i + 1};
    struct cor_str rest, line = COR_STR("");

    if (!cor_loop_run_until(call->fx->loop, has_lines, &want, FX_TIMEOUT_MS))
        fail_msg("no event %zu: %s", i, cor_buf_z(&call->sink.body));
    rest = cor_buf_str(&call->sink.body);
    for (size_t n = 0; n <= i; n++)
        line = cor_str_cut(&rest, '\n');
    assert_true(line.n < sizeof(text[0]));
    memcpy(out, line.p, line.n);
    out[line.n] = 0;
    return out;
}

static void add(struct fx *fx, const char *name, const char *label)
{
    char body[256];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"app\":\"%s\"}}}",
             name, label);
    fx_do(fx, 201, "POST", CONFIGMAPS, body);
}

TEST(watch, begins_with_the_state_and_goes_on_with_changes)
{
    struct fx fx;
    struct fx_call call;
    const char *deleted;

    open_ready(&fx);
    add(&fx, "a", "x");
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=true", "", NULL);
    assert_at(event(&call, 0), "type", "ADDED");
    assert_int_equal(call.sink.status, 200);
    assert_str(sink_header(&call.sink, "Content-Type"), "application/json");
    assert_at(event(&call, 0), "object.kind", "ConfigMap");
    add(&fx, "b", "x");
    assert_at(event(&call, 1), "object.metadata.name", "b");
    fx_do(&fx, 200, "PATCH", CONFIGMAPS "/a", "{\"data\":{\"k\":\"v\"}}");
    assert_at(event(&call, 2), "type", "MODIFIED");
    assert_at(event(&call, 2), "object.data.k", "v");
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/a", "");
    deleted = event(&call, 3);
    assert_at(deleted, "type", "DELETED");
    assert_at(deleted, "object.data.k", "v");
    assert_true(strtoull(fx_at(deleted, "object.metadata.resourceVersion"), NULL, 10) >
                strtoull(fx_at(event(&call, 2), "object.metadata.resourceVersion"), NULL, 10));
    fx_call_deinit(&call);
    fx_close(&fx);
}

#define PODS "/api/v1/namespaces/default/pods"

static void add_pod(struct fx *fx, const char *name)
{
    char body[256];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS "}}",
             name);
    fx_do(fx, 201, "POST", PODS, body);
}

/* Two events from the i-th on: the pod is marked, and then it is gone. */
static void assert_ends(struct fx_call *call, size_t i, const char *name)
{
    const char *marked = event(call, i), *deleted = event(call, i + 1);

    assert_at(marked, "type", "MODIFIED");
    assert_at(deleted, "type", "DELETED");
    assert_at(marked, "object.metadata.name", name);
    assert_at(deleted, "object.metadata.name", name);
    assert_at(marked, "object.metadata.deletionGracePeriodSeconds", "0");
    assert_at(deleted, "object.metadata.deletionGracePeriodSeconds", "0");
    assert_at(deleted, "object.metadata.deletionTimestamp",
              fx_at(marked, "object.metadata.deletionTimestamp"));
    assert_string_not_equal(fx_at(deleted, "object.metadata.deletionTimestamp"), "");
    assert_true(strtoull(fx_at(deleted, "object.metadata.resourceVersion"), NULL, 10) >
                strtoull(fx_at(marked, "object.metadata.resourceVersion"), NULL, 10));
}

/* Who runs pods decides by these members whether a pod was deleted or has failed. */
TEST(watch, a_pod_that_is_deleted_at_once_is_marked_before_it_goes)
{
    char body[128];
    const char *pod;
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    fx_start(&fx, &call, "GET", PODS "?watch=true", "", NULL);
    add_pod(&fx, "a");
    pod = fx_do(&fx, 200, "DELETE", PODS "/a?gracePeriodSeconds=0", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "0");
    assert_at(pod, "metadata.generation", "2");
    assert_ends(&call, 1, "a");
    add_pod(&fx, "b");
    fx_do(&fx, 200, "DELETE", PODS "/b", "");
    assert_at(event(&call, 4), "object.metadata.deletionGracePeriodSeconds", "30");
    cor_clock_manual_advance(&fx.clock, 5000);
    fx_do(&fx, 200, "DELETE", PODS "/b?gracePeriodSeconds=0", "");
    assert_ends(&call, 5, "b");
    add_pod(&fx, "c");
    fx_do(&fx, 200, "DELETE", PODS "?gracePeriodSeconds=0", "");
    assert_ends(&call, 8, "c");
    fx_do(&fx, 201, "POST", PODS, "{\"metadata\":{\"name\":\"d\"},\"spec\":{" FX_CONTAINERS "}}");
    fx_do(&fx, 201, "POST", PODS "/d/eviction", "{\"metadata\":{\"name\":\"d\"}}");
    assert_ends(&call, 12, "d"); /* after a condition */
    add_pod(&fx, "e");
    pod = fx_do(&fx, 200, "GET", PODS "/e", "");
    snprintf(body, sizeof(body),
             "{\"gracePeriodSeconds\":0,\"preconditions\":{\"resourceVersion\":\"%s\"}}",
             fx_at(pod, "metadata.resourceVersion"));
    pod = fx_do(&fx, 200, "DELETE", PODS "/e?dryRun=All&gracePeriodSeconds=0", "");
    assert_at(pod, "metadata.deletionGracePeriodSeconds", "0");
    fx_do(&fx, 200, "DELETE", PODS "/e", body);
    assert_ends(&call, 15, "e");
    fx_do(&fx, 404, "GET", PODS "/e", "");
    fx_call_deinit(&call);
    fx_close(&fx);
}

/* As kube-apiserver: the finalizers that only say what becomes of dependents follow the last
 * options, and whoever removes the pod at the end finds none that keeps it. */
TEST(watch, a_pod_whose_deletion_no_longer_waits_for_dependents_loses_the_finalizer_with_the_mark)
{
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    fx_start(&fx, &call, "GET", PODS "?watch=true", "", NULL);
    add_pod(&fx, "a");
    fx_do(&fx, 200, "DELETE", PODS "/a?propagationPolicy=Foreground", "");
    assert_at(event(&call, 1), "object.metadata.finalizers[0]", "foregroundDeletion");
    fx_do(&fx, 200, "DELETE", PODS "/a?gracePeriodSeconds=10&propagationPolicy=Background", "");
    assert_at(event(&call, 2), "object.metadata.deletionGracePeriodSeconds", "10");
    assert_at(event(&call, 2), "object.metadata.finalizers", "");
    fx_do(&fx, 200, "DELETE", PODS "/a?gracePeriodSeconds=0", "");
    assert_ends(&call, 3, "a");
    add_pod(&fx, "b");
    fx_do(&fx, 200, "DELETE", PODS "/b?propagationPolicy=Foreground", "");
    fx_do(&fx, 200, "DELETE", PODS "/b?gracePeriodSeconds=0&propagationPolicy=Background", "");
    assert_ends(&call, 7, "b");
    assert_at(event(&call, 7), "object.metadata.finalizers", "");
    assert_at(event(&call, 8), "object.metadata.finalizers", "");
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch, a_second_deletion_at_once_of_a_pod_that_a_finalizer_keeps_is_no_event)
{
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    fx_start(&fx, &call, "GET", PODS "?watch=true", "", NULL);
    fx_do(
        &fx, 201, "POST", PODS,
        "{\"metadata\":{\"name\":\"a\",\"finalizers\":[\"a.io/b\"]},\"spec\":{\"nodeName\":\"n\"," FX_CONTAINERS
        "}}");
    fx_do(&fx, 200, "DELETE", PODS "/a?gracePeriodSeconds=0", "");
    cor_clock_manual_advance(&fx.clock, 5000);
    fx_do(&fx, 200, "DELETE", PODS "/a?gracePeriodSeconds=0", "");
    fx_do(&fx, 200, "DELETE", PODS "/a", "");
    fx_do(&fx, 200, "PATCH", PODS "/a", "{\"metadata\":{\"finalizers\":null}}");
    assert_ends(&call, 1, "a");
    fx_call_deinit(&call);
    fx_close(&fx);
}

/* Contract apply 8.4.1, 8.4.3, 8.4.4: not even a time of managedFields changes; a manager who joins
 * is an event. */
TEST(watch, an_apply_that_changes_nothing_is_no_event)
{
    static const struct fx_headers apply = {.content_type = "application/apply-patch+yaml"};
    static const char config[] = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
                                 "\"name\":\"a\"},\"data\":{\"k\":\"v\"}}";
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=true", "", NULL);
    fx_do_with(&fx, 201, "PATCH", CONFIGMAPS "/a?fieldManager=m", config, &apply);
    assert_at(event(&call, 0), "type", "ADDED");
    cor_clock_manual_advance(&fx.clock, 1000);
    fx_do_with(&fx, 200, "PATCH", CONFIGMAPS "/a?fieldManager=m", config, &apply);
    fx_do_with(&fx, 200, "PATCH", CONFIGMAPS "/a?fieldManager=m&force=true", config, &apply);
    fx_do_with(&fx, 200, "PATCH", CONFIGMAPS "/a?fieldManager=n", config, &apply);
    assert_at(event(&call, 1), "type", "MODIFIED");
    assert_at(event(&call, 1), "object.metadata.managedFields[0].manager", "n");
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch, a_selector_makes_entries_and_exits)
{
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    add(&fx, "a", "x");
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1&labelSelector=app%3Dy&resourceVersion=1", "",
             NULL);
    fx_do(&fx, 200, "PATCH", CONFIGMAPS "/a", "{\"metadata\":{\"labels\":{\"app\":\"y\"}}}");
    assert_at(event(&call, 0), "type", "ADDED");
    fx_do(&fx, 200, "PATCH", CONFIGMAPS "/a", "{\"metadata\":{\"labels\":{\"app\":\"z\"}}}");
    assert_at(event(&call, 1), "type", "DELETED");
    assert_at(event(&call, 1), "object.metadata.labels.app", "y");
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch, streams_the_initial_state_and_says_where_it_ends)
{
    struct fx fx;
    struct fx_call call;

    open_ready(&fx);
    add(&fx, "a", "x");
    fx_start(&fx, &call, "GET",
             CONFIGMAPS "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&"
                        "allowWatchBookmarks=true",
             "", NULL);
    assert_at(event(&call, 0), "object.metadata.name", "a");
    assert_at(event(&call, 1), "type", "BOOKMARK");
    assert_at(event(&call, 1), "object.kind", "ConfigMap");
    assert_at(event(&call, 1), "object.metadata.annotations['k8s.io/initial-events-end']", "true");
    fx_call_deinit(&call);
    fx_close(&fx);
}

TEST(watch, one_object_by_name_or_by_the_old_path)
{
    static const char *const targets[] = {
        CONFIGMAPS "?watch=1&fieldSelector=metadata.name%3Db",
        "/api/v1/watch/namespaces/default/configmaps/b",
    };

    for (size_t i = 0; i < 2; i++) {
        struct fx fx;
        struct fx_call call;

        open_ready(&fx);
        fx_start(&fx, &call, "GET", targets[i], "", NULL);
        add(&fx, "a", "x");
        add(&fx, "b", "x");
        assert_at(event(&call, 0), "object.metadata.name", "b");
        fx_call_deinit(&call);
        fx_close(&fx);
    }
}

TEST(watch, ends_after_its_time)
{
    struct fx fx;
    FX_CALL call;

    open_ready(&fx);
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1&timeoutSeconds=1", "", NULL);
    fx_wait(&call);
    assert_false(call.sink.is_aborted);
    assert_int_equal(call.sink.status, 200);
    assert_int_equal(call.sink.body.n, 0);
    fx_close(&fx);
}

/* Upstream's deadline is in the past then. */
TEST(watch, ends_at_once_when_its_time_is_negative)
{
    struct fx fx;
    FX_CALL call;

    open_ready(&fx);
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1&timeoutSeconds=-1", "", NULL);
    fx_wait(&call);
    assert_false(call.sink.is_aborted);
    assert_int_equal(call.sink.status, 200);
    assert_int_equal(call.sink.body.n, 0);
    /* A list has no such time. */
    (void)fx_do(&fx, 200, "GET", CONFIGMAPS "?timeoutSeconds=-1", "");
    fx_close(&fx);
}

TEST(watch, ends_when_the_server_drains)
{
    struct fx fx;
    FX_CALL call;

    open_ready(&fx);
    add(&fx, "a", "x");
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1", "", NULL);
    (void)event(&call, 0);
    call.sink.cbs->on_drain(call.sink.cb_arg);
    assert_true(call.sink.is_done);
    assert_false(call.sink.is_aborted);
    fx_close(&fx);
}

static bool is_full(void *arg)
{
    return ((struct fx_call *)arg)->sink.room == 0;
}

TEST(watch, waits_for_a_slow_reader)
{
    struct fx fx;
    struct fx_call slow, quick;

    open_ready(&fx);
    fx_start(&fx, &slow, "GET", CONFIGMAPS "?watch=1", "", NULL);
    fx_start(&fx, &quick, "GET", CONFIGMAPS "?watch=1", "", NULL);
    slow.sink.room = 100;
    for (int i = 0; i < 300; i++) {
        char name[16];

        snprintf(name, sizeof(name), "n%03d", i);
        add(&fx, name, "x");
    }
    assert_at(event(&quick, 299), "object.metadata.name", "n299");
    assert_true(is_full(&slow));
    assert_int_equal(slow.sink.body.n, 100);
    sink_drain(&slow.sink, 1 << 20);
    assert_at(event(&slow, 299), "object.metadata.name", "n299");
    assert_int_equal(slow.sink.body.n, quick.sink.body.n);
    assert_memory_equal(slow.sink.body.p, quick.sink.body.p, quick.sink.body.n);
    fx_call_deinit(&slow);
    fx_call_deinit(&quick);
    fx_close(&fx);
}

TEST(watch, tables_have_columns_once)
{
    static const struct fx_headers table = {
        .accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"};
    static const struct fx_headers partial = {
        .accept = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
    struct fx fx;
    struct fx_call call, metadata;

    open_ready(&fx);
    add(&fx, "a", "x");
    fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1", "", &table);
    fx_start(&fx, &metadata, "GET", CONFIGMAPS "?watch=1", "", &partial);
    assert_at(event(&call, 0), "object.kind", "Table");
    assert_at(event(&call, 0), "object.columnDefinitions[0].name", "Name");
    add(&fx, "b", "x");
    assert_at(event(&call, 1), "object.columnDefinitions", "null");
    assert_at(event(&call, 1), "object.rows[0].cells[0]", "b");
    assert_at(event(&metadata, 1), "object.kind", "PartialObjectMetadata");
    fx_do(&fx, 200, "DELETE", CONFIGMAPS "/b", "");
    assert_at(event(&metadata, 2), "type", "DELETED");
    fx_call_deinit(&call);
    fx_call_deinit(&metadata);
    fx_close(&fx);
}

/* Rows of a bookmark have what tells the end of the initial events, whatever else is left out. */
TEST(watch, rows_have_the_object_that_was_asked_for)
{
    static const struct fx_headers table = {.accept =
                                                "application/json;as=Table;v=v1;g=meta.k8s.io"};
    static const struct {
        const char *include, *kind, *bookmark_kind;
    } cases[] = {{"None", "", "PartialObjectMetadata"},
                 {"Metadata", "PartialObjectMetadata", "PartialObjectMetadata"},
                 {"Object", "ConfigMap", "ConfigMap"}};
    struct fx fx;

    open_ready(&fx);
    add(&fx, "a", "x");
    for (size_t i = 0; i < 3; i++) {
        char target[256];
        FX_CALL call;

        snprintf(target, sizeof(target),
                 CONFIGMAPS "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
                            "&resourceVersionMatch=NotOlderThan&includeObject=%s",
                 cases[i].include);
        fx_start(&fx, &call, "GET", target, "", &table);
        assert_at(event(&call, 0), "type", "ADDED");
        assert_at(event(&call, 0), "object.rows[0].object.kind", cases[i].kind);
        assert_at(event(&call, 1), "type", "BOOKMARK");
        assert_at(event(&call, 1), "object.rows[0].object.kind", cases[i].bookmark_kind);
        assert_at(event(&call, 1),
                  "object.rows[0].object.metadata.annotations['k8s.io/initial-events-end']",
                  "true");
    }
    fx_close(&fx);
}

TEST(watch, a_bad_request_is_no_stream)
{
    struct fx fx;

    open_ready(&fx);
    assert_at(fx_do(&fx, 422, "GET", CONFIGMAPS "?watch=1&sendInitialEvents=true", ""), "reason",
              "Invalid");
    fx_do(&fx, 400, "GET", CONFIGMAPS "?watch=1&labelSelector=a%20b", "");
    fx_do(&fx, 0, "GET", CONFIGMAPS "?watch=1&resourceVersion=abc", "");
    fx_close(&fx);
}

TEST(watch, survives_every_failed_allocation)
{
    struct fx fx;

    open_ready(&fx);
    add(&fx, "a", "x");
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        fx_start(&fx, &call, "GET", CONFIGMAPS "?watch=1&labelSelector=app=x", "", NULL);
        if (!call.is_bare && !call.sink.is_done) {
            struct want want = {&call, 1};

            assert_true(cor_loop_run_until(fx.loop, has_lines, &want, FX_TIMEOUT_MS) ||
                        call.sink.is_done);
            if (call.sink.status == 200 && !call.sink.is_done && !call.sink.is_aborted) {
                const char *first = event(&call, 0);

                if (!strstr(first, "\"type\":\"ADDED\"") && !strstr(first, "ERROR"))
                    fail_msg("without allocation %zu: %s", n, first);
                assert_true(strstr(first, "ERROR") || strstr(first, "\"name\":\"a\""));
            }
        }
    }
    fx_close(&fx);
}

/* How often the one event could not be made, and what was sent instead. */
static size_t try_converted_watch(struct fx *fx, const char *target)
{
    size_t untold = 0;

    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;
        const char *first;

        fx_start(fx, &call, "GET", target, "", NULL);
        if (call.is_bare)
            continue;
        first = event(&call, 0);
        if (call.sink.status != 200 || call.sink.is_aborted || strstr(first, "ADDED"))
            continue;
        assert_at(first, "type", "ERROR");
        assert_at(first, "object.kind", "Status");
        assert_at(first, "object.code", "500");
        if (!strstr(fx_at(first, "object.message"), "unable to encode watch object"))
            continue;
        assert_at(first, "object.reason", "InternalError");
        fx_wait(&call);
        assert_false(call.sink.is_aborted);
        untold++;
    }
    return untold;
}

TEST(watch, an_event_that_cannot_be_made_ends_it_with_an_error)
{
    struct fx fx;

    open_ready(&fx);
    fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/events",
          "{\"metadata\":{\"name\":\"e\"},\"message\":\"m\"}");
    assert_true(
        try_converted_watch(&fx, "/apis/events.k8s.io/v1/namespaces/default/events?watch=1") > 0);
    fx_close(&fx);
}

#define EVENTS "/api/v1/namespaces/default/events?watch=1"
#define FEEDS  (COR_ENGINE_FEEDS_MAX - COR_ENGINE_FEEDS_OWN)

static bool has_status(void *arg)
{
    return ((struct fx_call *)arg)->sink.status != 0;
}

/* The status of a watch of events, each of which has a feed of the store. */
static int watch_events(struct fx *fx, struct fx_call *call, const char *name)
{
    struct cor_user user = {.name = cor_strz(name)};
    struct fx_headers headers = {.user = &user};

    fx_start(fx, call, "GET", EVENTS, "", &headers);
    assert_true(cor_loop_run_until(fx->loop, has_status, call, FX_TIMEOUT_MS));
    return call->sink.status;
}

static void end_watch(struct fx_call *call)
{
    call->sink.cbs->on_drain(call->sink.cb_arg);
    fx_wait(call);
    fx_call_deinit(call);
}

TEST(watch, one_user_who_takes_all_feeds_that_can_be_had_leaves_enough_for_others)
{
    static struct fx_call calls[FEEDS];
    struct fx_call refused;
    struct fx fx;
    size_t n = 0, more;

    open_ready(&fx);
    while (n < FEEDS && watch_events(&fx, &calls[n], "greedy") == 200)
        n++;
    assert_int_equal(n, FEEDS / 2);
    assert_str(sink_header(&calls[n].sink, "Retry-After"), "1");
    assert_int_equal(calls[n].sink.status, 429);
    fx_call_deinit(&calls[n]);
    /* A second one gets half of what is left, and so on. */
    more = n;
    while (more < FEEDS && watch_events(&fx, &calls[more], "second") == 200)
        more++;
    assert_int_equal(more - n, FEEDS / 4);
    fx_call_deinit(&calls[more]);
    assert_int_equal(watch_events(&fx, &calls[more], "modest"), 200);
    assert_int_equal(watch_events(&fx, &refused, "greedy"), 429);
    fx_call_deinit(&refused);
    for (size_t i = 0; i <= more; i++)
        end_watch(&calls[i]);
    /* What was given back can be had again, when its feeds are closed. */
    for (size_t i = 0; i < 100; i++)
        fx_do(&fx, 200, "GET", CONFIGMAPS "?resourceVersionMatch=NotOlderThan&resourceVersion=1",
              "");
    assert_int_equal(watch_events(&fx, &calls[0], "greedy"), 200);
    end_watch(&calls[0]);
    fx_close(&fx);
}
