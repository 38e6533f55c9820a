/* The watch caches behind the API, from their opening to their close. */
#include "api_fixture.h"

#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "server/api/api_cachers.h"
#include "server/api/api_loop.h"
#include "server/metrics/metrics.h"
#include "storage/cacher/cacher_int.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static bool is_synced(void *arg)
{
    return cor_api_is_synced(((struct fx *)arg)->api);
}

static bool no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct fx *)arg)->api, 0)) == 0;
}

/* As a server's shutdown does; it must come to its end. */
static void close_all(struct fx *fx)
{
    bool is_closed = false;

    assert_true(cor_loop_run_until(fx->loop, no_calls, fx, FX_TIMEOUT_MS));
    cor_api_loop_release(cor_api_loop(fx->api, 0));
    if (cor_api_close_cachers(fx->api, set_true, &is_closed))
        assert_true(cor_loop_run_until(fx->loop, is_true, &is_closed, FX_TIMEOUT_MS));
    fx_close(fx);
}

/* "pods#0,deployments.apps#0,…": no resource has a cache, or all but one of them. */
static void write_sizes(const struct cor_api *api, const char *but, struct cor_buf *out)
{
    cor_buf_init(out, 1u << 16);
    size_t n;
    const struct cor_resource_row *rows = cor_api_builtins(&n);

    for (size_t i = 0; i < n; i++) {
        const struct cor_resource_row *res = &rows[i];

        if (but && res->group.n == 0 && cor_str_eqz(res->plural, but))
            continue;
        assert_int_equal(cor_buf_addf(out, "%s%.*s%s%.*s#0", out->n > 0 ? "," : "",
                                      COR_STR_ARG(res->plural), res->group.n > 0 ? "." : "",
                                      COR_STR_ARG(res->group)),
                         0);
    }
}

static void open_with(struct fx *fx, const char *but)
{
    struct cor_api_cachers_opts opts = {0};
    struct cor_buf sizes;

    *fx = (struct fx){0};
    fx_open(fx);
    write_sizes(fx->api, but, &sizes);
    opts.sizes = cor_buf_z(&sizes);
    assert_int_equal(cor_api_open_cachers(fx->api, &opts, NULL), 0);
    cor_buf_deinit(&sizes);
    assert_true(cor_loop_run_until(fx->loop, is_synced, fx, FX_TIMEOUT_MS));
}

TEST(api_cachers, a_shutdown_completes_when_no_resource_has_a_cache)
{
    struct fx fx;

    open_with(&fx, NULL);
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS, ""), "items[0].metadata.name", "a");
    close_all(&fx);
}

TEST(api_cachers, a_shutdown_completes_when_one_resource_has_a_cache)
{
    struct fx fx;

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    assert_at(fx_do(&fx, 200, "GET", CONFIGMAPS "?resourceVersion=0", ""), "items[0].metadata.name",
              "a");
    close_all(&fx);
}

TEST(api_cachers, a_shutdown_completes_after_sizes_were_refused)
{
    static const char *const sizes[] = {"pods", "pods#", "pods#-1", "pods#1,services"};

    for (size_t i = 0; i < COR_ARRAY_LEN(sizes); i++) {
        const struct cor_api_cachers_opts opts = {.sizes = sizes[i]};
        struct cor_status st = {0};
        struct fx fx = {0};

        fx_open(&fx);
        assert_int_equal(cor_api_open_cachers(fx.api, &opts, &st), -COR_EINVAL);
        assert_non_null(strstr(cor_status_message(&st), "is not resource[.group]#size"));
        cor_status_deinit(&st);
        close_all(&fx);
    }
}

static struct cor_cacher *cacher_at(struct fx *fx, size_t n)
{
    const struct cor_resource_row *row;

    for (size_t i = 0;; i++) {
        struct cor_cacher *cacher = cor_api_cachers_at(cor_api_shared(fx->api)->cachers, i, &row);

        if (!row)
            break;
        if (cacher && n-- == 0)
            return cacher;
    }
    return NULL;
}

static void lose(struct cor_cacher *cacher, const char *why)
{
    cor_lock_acquire(&cacher->cache.lock);
    cor_ready_fail(&cacher->ready, why, 1);
    cor_lock_release(&cacher->cache.lock);
}

/* A server gives up waiting for its caches only when all that it waits for have failed. */
TEST(api_cachers, have_failed_when_each_that_is_not_ready_failed)
{
    const struct cor_api_cachers_opts opts = {0};
    char why[COR_READY_MESSAGE_MAX] = "";
    struct fx fx = {0};

    fx_open(&fx);
    assert_int_equal(cor_api_open_cachers(fx.api, &opts, NULL), 0);
    assert_true(cor_loop_run_until(fx.loop, is_synced, &fx, FX_TIMEOUT_MS));
    assert_false(cor_api_cachers_failed(cor_api_shared(fx.api)->cachers, why));
    lose(cacher_at(&fx, 0), "the first is lost");
    assert_true(cor_api_cachers_failed(cor_api_shared(fx.api)->cachers, why));
    assert_string_equal(why, "the first is lost");
    assert_false(cor_api_cachers_are_ready(cor_api_shared(fx.api)->cachers));
    lose(cacher_at(&fx, 1), "");
    assert_false(cor_api_cachers_failed(cor_api_shared(fx.api)->cachers, why));
    close_all(&fx);
}

/* Every family, for a resource with a cache and for no other. */
TEST(api_cachers, tell_of_each_cache_in_metrics)
{
    static const char *const lines[] = {
        "apiserver_watch_cache_resource_version{group=\"\",resource=\"configmaps\"} ",
        "apiserver_watch_cache_events_received_total{group=\"\",resource=\"configmaps\"} 1\n",
        "apiserver_watch_cache_initializations_total{group=\"\",resource=\"configmaps\"} 1\n",
        "coracle_watch_cache_window_events{group=\"\",resource=\"configmaps\"} 1\n",
        "apiserver_terminated_watchers_total{group=\"\",resource=\"configmaps\"} 0\n",
        "coracle_watch_cache_window_bytes{group=\"\",resource=\"configmaps\"} ",
        "coracle_watch_cache_deliveries_total{group=\"\",resource=\"configmaps\"} 0\n",
        "coracle_watchers{group=\"\",resource=\"configmaps\",state=\"idle\"} 0\n",
        "coracle_watchers{group=\"\",resource=\"configmaps\",state=\"lagging\"} 0\n",
        "apiserver_storage_consistency_checks_total{group=\"\",resource=\"configmaps\",status="
        "\"success\"} 0\n",
        "apiserver_storage_consistency_checks_total{group=\"\",resource=\"configmaps\",status="
        "\"failure\"} 0\n",
        "apiserver_storage_consistency_checks_total{group=\"\",resource=\"configmaps\",status="
        "\"error\"} 0\n",
    };
    struct cor_metrics *metrics;
    struct cor_buf out;
    struct fx fx;

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_api_add_cache_metrics(fx.api, metrics), 0);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    cor_buf_init(&out, 1u << 20);
    assert_int_equal(cor_metrics_write(metrics, &out), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(lines); i++)
        if (!strstr(cor_buf_z(&out), lines[i]))
            fail_msg("no %s in %s", lines[i], cor_buf_z(&out));
    assert_null(strstr(cor_buf_z(&out), "resource=\"pods\""));
    cor_buf_deinit(&out);
    cor_metrics_free(metrics);
    close_all(&fx);
}

struct raw_write {
    struct cor_write_req req;
    bool done;
};

static void on_raw_write(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct raw_write, req.req)->done = true;
}

/* Writes a value past the API, under a key that does not exist. */
static void write_raw(struct fx *fx, const char *key, struct cor_str value)
{
    struct raw_write w = {0};

    cor_write_req_init(&w.req, fx->loop, on_raw_write);
    w.req.key = cor_strz(key);
    w.req.value = value;
    cor_engine_write(fx->engine, &w.req);
    assert_true(cor_loop_run_until(fx->loop, is_true, &w.done, FX_TIMEOUT_MS));
    assert_int_equal(w.req.req.result, 0);
    cor_write_req_deinit(&w.req);
}

/* What a client is told of values that cannot be decoded, with a cache and without: 500 with the
 * key, where they are; nothing anywhere else. */
static void check_unreadable(struct fx *fx)
{
    static const char *const keys[] = {"/registry/configmaps/default/broken",
                                       "/registry/configmaps/default/encrypted",
                                       "/registry/configmaps/default/unknown"};
    const struct cor_str values[] = {COR_STR("{\"kind\":\"Conf"),
                                     COR_STR("k8s:enc:aescbc:v1:lost:xyz"),
                                     COR_STR("k8s\0\x0a\x0b\x0a\x02v1\x12\x05Thing\x12\0")};
    static const char *const words[] = {"unable to decode key", "unable to transform key",
                                        "unable to decode key"};
    struct cor_metrics *metrics;
    struct cor_buf out;

    fx_bootstrap(fx);
    assert_int_equal(cor_metrics_new(1, &metrics), 0);
    assert_int_equal(cor_api_add_cache_metrics(fx->api, metrics), 0);
    fx_do(fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    for (size_t i = 0; i < COR_ARRAY_LEN(keys); i++) {
        const char *name = strrchr(keys[i], '/') + 1, *answer;
        char target[128], body[128];

        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", name);
        write_raw(fx, keys[i], values[i]);
        snprintf(target, sizeof(target), CONFIGMAPS "/%s", name);
        answer = fx_do(fx, 500, "GET", target, "");
        assert_at(answer, "reason", "InternalError");
        assert_non_null(strstr(fx_at(answer, "message"), keys[i]));
        assert_non_null(strstr(fx_at(answer, "message"), words[i]));
        answer = fx_do(fx, 500, "GET", CONFIGMAPS, "");
        assert_at(answer, "reason", "InternalError");
        assert_non_null(strstr(fx_at(answer, "message"), "/registry/configmaps/default/"));
        fx_do(fx, 500, "GET", "/api/v1/configmaps?resourceVersion=0", "");
        fx_do(fx, 500, "DELETE", target, "");
        fx_do(fx, 500, "PUT", target, body);
    }
    fx_do(fx, 200, "GET", CONFIGMAPS "/a", "");
    fx_do(fx, 200, "GET", "/api/v1/namespaces/kube-system/configmaps", "");
    fx_do(fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\"}}");
    cor_buf_init(&out, 1u << 20);
    assert_int_equal(cor_metrics_write(metrics, &out), 0);
    assert_non_null(
        strstr(cor_buf_z(&out),
               "apiserver_storage_decode_errors_total{group=\"\",resource=\"configmaps\"} "));
    assert_null(strstr(cor_buf_z(&out), "decode_errors_total{group=\"\",resource=\"secrets\"} "));
    cor_buf_deinit(&out);
    cor_metrics_free(metrics);
}

TEST(api_cachers, values_that_cannot_be_decoded_fail_what_contains_them)
{
    struct fx cached = {0}, uncached = {0};

    open_with(&cached, "configmaps");
    check_unreadable(&cached);
    assert_true(cor_api_cachers_are_ready(cor_api_shared(cached.api)->cachers));
    close_all(&cached);
    fx_open(&uncached);
    check_unreadable(&uncached);
    close_all(&uncached);
}

static bool has_status(void *arg)
{
    return ((struct fx_call *)arg)->sink.status != 0;
}

/* The status of a watch of configmaps by a user, from `rv` on. */
static int watch_as_user(struct fx *fx, struct fx_call *call, const char *ns, const char *rv)
{
    static const struct cor_user user = {.name = {"one", 3}};
    struct fx_headers headers = {.user = &user};
    char target[128];

    snprintf(target, sizeof(target), "/api/v1/namespaces/%s/configmaps?watch=1&resourceVersion=%s",
             ns, rv);
    fx_start(fx, call, "GET", target, "", &headers);
    assert_true(cor_loop_run_until(fx->loop, has_status, call, FX_TIMEOUT_MS));
    return call->sink.status;
}

/* A watch that a cache gives to the store has a feed of the engine, of which there are few: it
 * counts like the watches of resources without a cache. */
TEST(api_cachers, a_watch_over_a_value_that_cannot_be_decoded_has_a_share_of_the_feeds)
{
    struct fx_call blind, other, refused;
    struct fx fx = {0};
    char rv[24];

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    write_raw(&fx, "/registry/configmaps/default/broken", COR_STR("junk"));
    snprintf(rv, sizeof(rv), "%s",
             fx_at(fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}"),
                   "metadata.resourceVersion"));
    assert_int_equal(watch_as_user(&fx, &other, "kube-system", rv), 200);
    assert_int_equal(cor_api_shared(fx.api)->feeds.used, 0);
    assert_int_equal(watch_as_user(&fx, &blind, "default", rv), 200);
    assert_int_equal(cor_api_shared(fx.api)->feeds.used, 1);
    /* The user has as many feeds as are free. */
    cor_api_shared(fx.api)->feeds.max = 2;
    assert_int_equal(watch_as_user(&fx, &refused, "default", rv), 429);
    assert_str(sink_header(&refused.sink, "Retry-After"), "1");
    fx_call_deinit(&refused);
    fx_call_deinit(&blind);
    fx_call_deinit(&other);
    assert_true(cor_loop_run_until(fx.loop, no_calls, &fx, FX_TIMEOUT_MS));
    assert_int_equal(cor_api_shared(fx.api)->feeds.used, 0);
    close_all(&fx);
}

/* Whatever was opened before memory ran out is closed. What says success has every cache, and each
 * of them is filled: a first list that failed is repeated. There are thousands of allocations, and
 * those of one cache are like those of the next. */
TEST(api_cachers, are_opened_whole_or_fail_without_memory)
{
    const struct cor_api_cachers_opts opts = {0};
    bool has_failed = true;

    for (size_t n = 1; has_failed; n += n < 40 ? 1 : 37) {
        struct fx fx = {0};
        int r;

        fx_open(&fx);
        test_fail_alloc(n, false);
        r = cor_api_open_cachers(fx.api, &opts, NULL);
        test_fail_alloc(0, false);
        has_failed = test_alloc_failed();
        assert_true(r == 0 || (r == -COR_ENOMEM && has_failed));
        if (r == 0)
            assert_true(cor_loop_run_until(fx.loop, is_synced, &fx, FX_TIMEOUT_MS));
        close_all(&fx);
    }
}

static size_t frames_kept(const struct fx *fx)
{
    const struct cor_frames *frames = &cor_api_home(fx->api)->frames;
    size_t n = 0;

    for (size_t i = 0; i < COR_FRAMES_MAX; i++)
        n += frames->v[i].frame != NULL;
    return n;
}

static bool has_answer(void *arg)
{
    return ((struct fx_call *)arg)->sink.body.n > 0;
}

/* Two watches of a loop send the same bytes, and a third in another form has its own. */
TEST(api_cachers, an_event_in_protobuf_is_made_once_for_all_watches)
{
    static const char *const accepts[] = {
        "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf",
        "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"};
    struct fx_call calls[3];
    struct fx fx;

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    for (size_t i = 0; i < 3; i++)
        fx_start(&fx, &calls[i], "GET", CONFIGMAPS "?watch=1", "",
                 &(struct fx_headers){.accept = accepts[i]});
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    for (size_t i = 0; i < 3; i++)
        assert_true(cor_loop_run_until(fx.loop, has_answer, &calls[i], FX_TIMEOUT_MS));
    assert_int_equal(frames_kept(&fx), 2);
    assert_int_equal(calls[0].sink.body.n, calls[1].sink.body.n);
    assert_memory_equal(calls[0].sink.body.p, calls[1].sink.body.p, calls[0].sink.body.n);
    for (size_t i = 0; i < 3; i++)
        fx_call_deinit(&calls[i]);
    close_all(&fx);
}

/* The cursor of a cache goes back to its first object, with and without a page. */
TEST(api_cachers, a_list_in_protobuf_is_read_twice)
{
    static const char *const targets[] = {
        CONFIGMAPS, CONFIGMAPS "?limit=5", CONFIGMAPS "?limit=5&labelSelector=app%3Dx",
        CONFIGMAPS "?labelSelector=app%3Dx", CONFIGMAPS "?fieldSelector=metadata.name%3Dn3"};
    static char body[100 * 1024];
    struct fx fx;

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    for (int i = 0; i < 8; i++) {
        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"n%d\",\"labels\":{\"app\":\"%s\"}},\"data\":{\"k\":"
                 "\"%090000d\"}}",
                 i, i % 4 == 1 ? "y" : "x", i);
        fx_do(&fx, 201, "POST", CONFIGMAPS, body);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        const char *json = fx_do(&fx, 200, "GET", targets[i], "");
        const char *list =
            fx_do_protobuf(&fx, 200, "GET", targets[i], "", "application/vnd.kubernetes.protobuf");

        assert_true(strcmp(fx_at(list, "items"), fx_at(json, "items")) == 0);
        assert_at(list, "metadata.continue", fx_at(json, "metadata.continue"));
        assert_at(list, "metadata.remainingItemCount", fx_at(json, "metadata.remainingItemCount"));
    }
    close_all(&fx);
}

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define METADATA PROTOBUF ";as=PartialObjectMetadataList;g=meta.k8s.io;v="

/* The bytes of a list in protobuf are equal to those of `first`. */
static void assert_same_list(struct fx *fx, const char *target, const char *accept,
                             const struct cor_buffer_sink *first)
{
    const struct fx_headers headers = {.accept = accept};
    FX_CALL call;

    fx_start(fx, &call, "GET", target, "", &headers);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 200);
    assert_false(call.sink.is_aborted);
    assert_int_equal(call.sink.body.n, first->body.n);
    assert_memory_equal(call.sink.body.p, first->body.p, first->body.n);
}

/* The list as it is made when nothing is kept, and then twice with kept items: the first of these
 * makes each item at most once, the second makes none. */
static void check_kept_list(struct fx *fx, const char *target, const char *accept, size_t nitems)
{
    struct cor_protobuf_cache *cache = &cor_api_shared(fx->api)->protobuf_cache;
    const struct fx_headers headers = {.accept = accept};
    struct cor_api_protobuf_cache_stats before, cold, warm;
    size_t bytes_max = cache->bytes_max;
    FX_CALL call;

    cache->bytes_max = 0;
    before = cor_api_protobuf_cache_stats(fx->api);
    fx_start(fx, &call, "GET", target, "", &headers);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 200);
    cold = cor_api_protobuf_cache_stats(fx->api);
    assert_int_equal(cold.misses + cold.hits, before.misses + before.hits);

    cache->bytes_max = bytes_max;
    assert_same_list(fx, target, accept, &call.sink);
    cold = cor_api_protobuf_cache_stats(fx->api);
    assert_true(cold.misses - before.misses <= nitems);
    assert_same_list(fx, target, accept, &call.sink);
    warm = cor_api_protobuf_cache_stats(fx->api);
    assert_int_equal(warm.misses, cold.misses);
    assert_true(warm.hits - cold.hits >= nitems);
    assert_int_equal(warm.bytes, cold.bytes);
}

/* Small items, which the loop makes, and large ones, which threads make; lists that are kept while
 * they are counted, and longer ones. */
TEST(api_cachers, a_list_in_protobuf_is_sent_from_kept_items)
{
    static char body[100 * 1024];
    struct cor_api_protobuf_cache_stats before, after;
    struct fx fx;

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    for (int i = 0; i < 16; i++) {
        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"n%02d\",\"labels\":{\"app\":\"%s\"}},\"data\":{\"k\":"
                 "\"%0*d\"}}",
                 i, i < 4 ? "x" : "y", i % 5 == 0 ? 90000 : 25000, i);
        fx_do(&fx, 201, "POST", CONFIGMAPS, body);
    }
    check_kept_list(&fx, CONFIGMAPS, PROTOBUF, 16);
    check_kept_list(&fx, CONFIGMAPS "?limit=3", PROTOBUF, 3);
    check_kept_list(&fx, CONFIGMAPS "?labelSelector=app%3Dx", PROTOBUF, 4);
    check_kept_list(&fx, CONFIGMAPS, METADATA "v1", 16);
    check_kept_list(&fx, CONFIGMAPS, METADATA "v1beta1", 16);

    /* Of all items, only the one of the object that was replaced is made. */
    fx_do(&fx, 200, "PUT", CONFIGMAPS "/n07", "{\"metadata\":{\"name\":\"n07\"}}");
    before = cor_api_protobuf_cache_stats(fx.api);
    assert_non_null(strstr(fx_do_protobuf(&fx, 200, "GET", CONFIGMAPS, "", PROTOBUF), "n07"));
    after = cor_api_protobuf_cache_stats(fx.api);
    assert_int_equal(after.misses - before.misses, 1);
    check_kept_list(&fx, CONFIGMAPS, PROTOBUF, 16);
    close_all(&fx);
}

/* An object has one item for each version in which it is asked for. Its metadata depends on the
 * version, too: annotations of autoscaling/v1 have what only v2 has fields for. */
TEST(api_cachers, items_are_kept_by_version)
{
    static const char *const hpas[] = {
        "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers",
        "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"};
    const struct cor_api_cachers_opts opts = {0};
    struct fx fx = {0};

    fx_open(&fx);
    assert_int_equal(cor_api_open_cachers(fx.api, &opts, NULL), 0);
    assert_true(cor_loop_run_until(fx.loop, is_synced, &fx, FX_TIMEOUT_MS));
    fx_bootstrap(&fx);
    fx_do(
        &fx, 201, "POST", hpas[1],
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{"
        "\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"name\":\"a\"},\"metrics\":[{\"type\":\"Resource\","
        "\"resource\":{\"name\":\"memory\",\"target\":{\"type\":\"Utilization\","
        "\"averageUtilization\":50}}}]}}");
    assert_non_null(strstr(fx_do_protobuf(&fx, 200, "GET", hpas[0], "", METADATA "v1"),
                           "autoscaling.alpha.kubernetes.io/metrics"));
    for (size_t i = 0; i < 4; i++) {
        check_kept_list(&fx, hpas[i % 2], PROTOBUF, 1);
        check_kept_list(&fx, hpas[i % 2], METADATA "v1", 1);
    }
    close_all(&fx);
}

/* Without a watch cache, each list reads objects of its own, and nothing is kept. */
TEST(api_cachers, items_of_objects_without_a_cache_are_not_kept)
{
    struct fx fx;

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    assert_non_null(
        strstr(fx_do_protobuf(&fx, 200, "GET", "/api/v1/namespaces", "", PROTOBUF), "kube-system"));
    assert_int_equal(cor_api_protobuf_cache_stats(fx.api).bytes, 0);
    assert_int_equal(cor_api_protobuf_cache_stats(fx.api).misses, 0);
    close_all(&fx);
}

/* An item for which there is no memory is not kept, and is sent all the same. */
TEST(api_cachers, a_list_in_protobuf_survives_failed_allocations)
{
    static const struct fx_headers headers = {.accept = PROTOBUF};
    struct fx fx;
    FX_CALL first;

    open_with(&fx, "configmaps");
    fx_bootstrap(&fx);
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"}}");
    fx_do(&fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"b\"}}");
    fx_start(&fx, &first, "GET", CONFIGMAPS, "", &headers);
    fx_wait(&first);
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;

        cor_protobuf_cache_drop_unused(&cor_api_shared(fx.api)->protobuf_cache, UINT64_MAX,
                                       SIZE_MAX);
        fx_start(&fx, &call, "GET", CONFIGMAPS, "", &headers);
        fx_wait(&call);
        if (call.is_bare || call.sink.is_aborted || call.sink.status == 500)
            continue;
        assert_int_equal(call.sink.status, 200);
        assert_int_equal(call.sink.body.n, first.sink.body.n);
        assert_memory_equal(call.sink.body.p, first.sink.body.p, first.sink.body.n);
    }
    fx_fail_each_alloc(&fx, "GET", CONFIGMAPS, "", &headers);
    close_all(&fx);
}

TEST(api_cachers, an_api_without_memory_leaves_nothing)
{
    struct fx fx = {0};

    fx_open(&fx);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_api *api = NULL;
        int r = cor_api_new(&fx.opts, &api, NULL);

        assert_true(r == 0 ? api != NULL : r == -COR_ENOMEM && !api);
        cor_api_free(api);
    }
    close_all(&fx);
}
