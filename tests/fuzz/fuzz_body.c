/* Input: a byte for the request, one for the content type, then the body; or AS_PATH, a byte for
 * the method, and a path with its query. The API answers it over an engine in memory, as a dry run
 * so that nothing stays: always once, never with a 500, twice the same, with an object or a Status
 * that can be read back. (The options in the body of a DELETE take the place of the query's, so
 * that one may do what it says; what it deleted is made again.) */
#include <string.h>

#include "base/clock.h"
#include "fuzz.h"
#include "loop/loop.h"
#include "meta/status/status.h"
#include "meta/value/time_text.h"
#include "server/api/api.h"
#include "server/request/buffer_sink.h"
#include "storage/engine/engine.h"
#include "json/path/path.h"
#include "json/text/json.h"
#include "json/text/scan.h"

#define PATIENCE_MS 10000
#define CONFIG_MAPS "/api/v1/namespaces/default/configmaps"
#define PODS        "/api/v1/namespaces/default/pods"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/default/deployments"
#define SCALERS     "/apis/autoscaling/v"
#define SCALERS_END "/namespaces/default/horizontalpodautoscalers"

static const struct {
    enum cor_http_method method;
    const char *path;
} requests[] = {
    {COR_HTTP_POST, CONFIG_MAPS},
    {COR_HTTP_PUT, CONFIG_MAPS "/x"},
    {COR_HTTP_PATCH, CONFIG_MAPS "/x"},
    {COR_HTTP_DELETE, CONFIG_MAPS "/x"},
    {COR_HTTP_DELETE, CONFIG_MAPS},
    {COR_HTTP_POST, PODS},
    {COR_HTTP_PUT, PODS "/x"},
    {COR_HTTP_PATCH, PODS "/x"},
    {COR_HTTP_PATCH, PODS "/x/status"},
    {COR_HTTP_POST, "/api/v1/namespaces"},
    {COR_HTTP_PUT, "/api/v1/namespaces/default"},
    {COR_HTTP_PATCH, DEPLOYMENTS "/x"},
    {COR_HTTP_PUT, DEPLOYMENTS "/x/scale"},
    {COR_HTTP_PATCH, DEPLOYMENTS "/x/scale"},
    {COR_HTTP_POST, PODS "/x/eviction"},
    {COR_HTTP_POST, PODS "/x/binding"},
    {COR_HTTP_POST, SCALERS "1" SCALERS_END},
    {COR_HTTP_POST, SCALERS "2" SCALERS_END},
};

/* The byte for the request that makes the rest of the input a path with its query. */
#define AS_PATH 0xff

static const char *const types[] = {
    "application/json",
    "application/yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "",
};

static const char *const objects[][2] = {
    {CONFIG_MAPS, "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"},"
                  "\"data\":{\"a\":\"1\"}}"},
    {PODS,
     "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"},\"spec\":"
     "{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":80}]}]}}"},
    {DEPLOYMENTS, "{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{\"name\":"
                  "\"x\"},\"spec\":{\"replicas\":1,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"
                  "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":"
                  "[{\"name\":\"c\",\"image\":\"i\"}]}}}}"},
};

static struct cor_engine *engine;
static struct cor_loop *loop;
static struct cor_api *api;
static struct cor_clock_manual clock_;

struct answer {
    struct cor_buffer_sink sink;
    struct cor_server_request request;
};

static bool is_done(void *arg)
{
    return ((struct answer *)arg)->sink.is_done;
}

static void ask(struct answer *a, enum cor_http_method method, const char *path, const char *query,
                const char *type, struct cor_str body)
{
    *a = (struct answer){.request = {.method = method,
                                     .query = cor_strz(query),
                                     .content_type = cor_strz(type),
                                     .body = body}};
    cor_buffer_sink_init(&a->sink, 64u << 20, NULL);
    FUZZ_CHECK(cor_request_info_init(&a->request.info, method, cor_strz(path), a->request.query) ==
               0);
    cor_api_call(cor_api_loop(api, 0), &a->request, &a->sink.sink);
    FUZZ_CHECK(cor_loop_run_until(loop, is_done, a, PATIENCE_MS));
}

static void answer_deinit(struct answer *a)
{
    cor_buffer_sink_deinit(&a->sink);
    cor_request_info_deinit(&a->request.info);
}

static void on_bootstrapped(void *arg, int err, const struct cor_status *status)
{
    FUZZ_CHECK(err == 0);
    *(bool *)arg = true;
}

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static void set_up(void)
{
    struct cor_engine_config config = {.backend = "sqlite", .data_dir = ":memory:"};
    struct cor_api_opts opts = {
        .loops = &loop, .nloops = 1, .clock = &clock_.clock, .random_seed = 1};
    struct cor_status status;
    bool done = false;

    cor_status_init(&status);
    FUZZ_CHECK(cor_engine_open(&config, &engine, &status) == 0);
    FUZZ_CHECK(cor_loop_new(4096, &loop) == 0);
    cor_clock_manual_init(&clock_, 1000, 1735689600000);
    opts.engine = engine;
    FUZZ_CHECK(cor_api_new(&opts, &api, &status) == 0);
    FUZZ_CHECK(cor_api_bootstrap(cor_api_loop(api, 0), on_bootstrapped, &done, &status) == 0);
    FUZZ_CHECK(cor_loop_run_until(loop, is_set, &done, PATIENCE_MS));
    for (size_t i = 0; i < COR_ARRAY_LEN(objects); i++) {
        struct answer a;

        ask(&a, COR_HTTP_POST, objects[i][0], "", types[0], cor_strz(objects[i][1]));
        FUZZ_CHECK(a.sink.status == 201);
        answer_deinit(&a);
    }
}

static void tear_down(void)
{
    cor_api_free(api);
    cor_engine_close(engine);
    cor_loop_free(loop);
}

static struct cor_str value_at(struct cor_str json, const char *path)
{
    struct cor_json_path *compiled;
    struct cor_str value = {0};

    FUZZ_CHECK(cor_json_path_new(cor_strz(path), &compiled, NULL) == 0);
    (void)cor_json_path_first(compiled, json, COR_JSON_ANY_ORDER, &value);
    cor_json_path_free(compiled);
    return value;
}

/* A client with types must be able to read what is there. */
static void check_metadata(struct cor_str body)
{
    static const char *const times[] = {"metadata.creationTimestamp", "metadata.deletionTimestamp"};
    static const char *const integers[] = {"metadata.generation",
                                           "metadata.deletionGracePeriodSeconds"};

    for (size_t i = 0; i < 2; i++) {
        struct cor_str time = value_at(body, times[i]), raw, integer = value_at(body, integers[i]);
        int64_t n;

        FUZZ_CHECK(!time.p || cor_json_type(time) == COR_JSON_NULL ||
                   (cor_json_to_raw(time, &raw) == 0 && cor_time_parse(raw, &n) == 0));
        FUZZ_CHECK(!integer.p || cor_json_type(integer) == COR_JSON_NULL ||
                   (cor_json_to_i64(integer, &n) == 0 && n >= 0));
    }
}

static void check(const struct answer *a)
{
    struct cor_json_limits limits = {.bytes_max = 64u << 20, .depth_max = COR_JSON_DEPTH_MAX};
    struct cor_str body = cor_buf_str(&a->sink.body);
    uint64_t code;
    bool canonical;

    FUZZ_CHECK(!a->sink.is_aborted && a->sink.status >= 200);
    /* Upstream's untyped answers: a resourceVersion that is no number, options that are none. */
    FUZZ_CHECK(a->sink.status != 500 || !memmem(body.p, body.n, "InternalError", 13));
    FUZZ_CHECK(cor_json_check(body, &limits, &canonical, NULL) == 0);
    if (a->sink.status < 300) {
        FUZZ_CHECK(value_at(body, "kind").n > 0);
        check_metadata(body);
        return;
    }
    FUZZ_CHECK(cor_str_eq(value_at(body, "kind"), COR_STR("\"Status\"")));
    FUZZ_CHECK(cor_str_to_u64(value_at(body, "code"), &code) == 0);
    FUZZ_CHECK(code == (uint64_t)a->sink.status);
}

/* Any path and query: never a failure of the server. A watch has no end, and is left out. */
static void try_path(enum cor_http_method method, struct cor_str target)
{
    struct answer a = {.request = {.method = method, .content_type = COR_STR("application/json")}};
    struct cor_str query = target, path = cor_str_cut(&query, '?'), body;

    a.request.query = query.p ? query : COR_STR("");
    a.request.body = method == COR_HTTP_GET ? COR_STR("") : COR_STR("{\"dryRun\":[\"All\"]}");
    cor_buffer_sink_init(&a.sink, 64u << 20, NULL);
    if (cor_request_info_init(&a.request.info, method, path, a.request.query) == 0 &&
        a.request.info.verb != COR_API_VERB_WATCH) {
        cor_api_call(cor_api_loop(api, 0), &a.request, &a.sink.sink);
        FUZZ_CHECK(cor_loop_run_until(loop, is_done, &a, PATIENCE_MS));
        body = cor_buf_str(&a.sink.body);
        FUZZ_CHECK(a.sink.status < 500 || a.sink.status == 504 ||
                   memmem(body.p, body.n, "strconv.ParseUint", 17));
    }
    answer_deinit(&a);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct answer first, second;
    struct cor_str body;
    size_t r, t;

    if (size < 2)
        return 0;
    if (!api) {
        set_up();
        atexit(tear_down);
    }
    if (data[0] == AS_PATH) {
        try_path(data[1] % 2 ? COR_HTTP_GET : COR_HTTP_DELETE,
                 cor_str((const char *)data + 2, size - 2));
        return 0;
    }
    r = data[0] % COR_ARRAY_LEN(requests);
    t = data[1] % COR_ARRAY_LEN(types);
    body = cor_str((const char *)data + 2, size - 2);
    ask(&first, requests[r].method, requests[r].path, "dryRun=All", types[t], body);
    check(&first);
    if (requests[r].method == COR_HTTP_DELETE) {
        ask(&second, COR_HTTP_POST, objects[0][0], "", types[0], cor_strz(objects[0][1]));
    } else {
        ask(&second, requests[r].method, requests[r].path, "dryRun=All", types[t], body);
        FUZZ_CHECK(first.sink.status == second.sink.status);
    }
    answer_deinit(&first);
    answer_deinit(&second);
    return 0;
}
