#include "api_fixture.h"

#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/protobuf/protobuf.h"
#include "json/path/path.h"

#define TEXTS 64

static char *texts[TEXTS];
static size_t next_text;

/* Kept outside of the counting allocator. */
static const char *keep(struct cor_str s)
{
    char **slot = &texts[next_text++ % TEXTS];

    free(*slot);
    *slot = malloc(s.n + 1);
    assert_non_null(*slot);
    if (s.n > 0)
        memcpy(*slot, s.p, s.n);
    (*slot)[s.n] = 0;
    return *slot;
}

void fx_open(struct fx *fx)
{
    struct cor_engine_config config = {.backend = "sqlite", .data_dir = ":memory:"};
    struct cor_status status;

    cor_status_init(&status);
    if (fx->config.backend)
        config = fx->config;
    if (cor_engine_open(&config, &fx->engine, &status) < 0)
        fail_msg("%s", cor_status_message(&status));
    assert_int_equal(cor_loop_new(4096, &fx->loop), 0);
    cor_clock_manual_init(&fx->clock, 1000, (int64_t)FX_NOW_S * 1000);
    fx->opts.engine = fx->engine;
    fx->opts.loops = &fx->loop;
    fx->opts.nloops = 1;
    fx->opts.clock = &fx->clock.clock;
    if (fx->opts.protobuf_cache_bytes == 0)
        fx->opts.protobuf_cache_bytes = 64u << 20;
    if (fx->opts.random_seed == 0)
        fx->opts.random_seed = 1;
    if (!fx->opts.offload && !fx->has_no_offload) {
        static const struct cor_offload_opts two = {
            .nthreads = 2, .jobs_max = 64, .bytes_max = 64u << 20};

        assert_int_equal(cor_offload_new(&two, &fx->offload), 0);
        fx->opts.offload = fx->offload;
    }
    if (cor_api_new(&fx->opts, &fx->api, &status) < 0)
        fail_msg("%s", cor_status_message(&status));
}

static bool no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct fx *)arg)->api, 0)) == 0;
}

void fx_close(struct fx *fx)
{
    assert_true(cor_loop_run_until(fx->loop, no_calls, fx, FX_TIMEOUT_MS));
    cor_offload_free(fx->offload);
    cor_api_free(fx->api);
    cor_engine_close(fx->engine);
    cor_loop_free(fx->loop);
}

static enum cor_http_method method_of(const char *name)
{
    static const char *const names[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return (enum cor_http_method)i;
    }
    return COR_HTTP_OTHER;
}

static const char *default_type(const char *method)
{
    return strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "";
}

void fx_start(struct fx *fx, struct fx_call *call, const char *method, const char *target,
              const char *body, const struct fx_headers *headers)
{
    fx_start_with_body(fx, call, method, target, cor_strz(body), headers);
}

void fx_start_with_body(struct fx *fx, struct fx_call *call, const char *method, const char *target,
                        struct cor_str body, const struct fx_headers *headers)
{
    struct cor_str query = cor_strz(target), path = cor_str_cut(&query, '?');
    const char *type =
        headers && headers->content_type ? headers->content_type : default_type(method);

    *call = (struct fx_call){.fx = fx};
    cor_buffer_sink_init(&call->sink, 64u << 20, NULL);
    call->request.method = method_of(method);
    call->request.query = query.p ? query : COR_STR("");
    call->request.accept = cor_strz(headers ? headers->accept : NULL);
    call->request.content_type = cor_strz(type);
    call->request.user_agent = cor_strz(headers ? headers->user_agent : NULL);
    call->request.user = headers ? headers->user : NULL;
    call->request.takes_gzip_docs = headers && headers->takes_gzip_docs;
    call->request.if_none_match = cor_strz(headers ? headers->if_none_match : NULL);
    call->request.deadline_ms = headers ? headers->deadline_ms : 0;
    call->request.body = body;
    if (cor_request_info_init(&call->request.info, call->request.method, path,
                              call->request.query) < 0) {
        call->is_bare = true;
        return;
    }
    cor_api_call(cor_api_loop(fx->api, 0), &call->request, &call->sink.sink);
}

static bool is_done(void *arg)
{
    struct fx_call *call = arg;

    return call->is_bare || call->sink.is_done;
}

void fx_wait(struct fx_call *call)
{
    if (!cor_loop_run_until(call->fx->loop, is_done, call, FX_TIMEOUT_MS))
        fail_msg("no answer after %d ms", FX_TIMEOUT_MS);
}

void fx_call_deinit(struct fx_call *call)
{
    sink_cancel(&call->sink);
    cor_buffer_sink_deinit(&call->sink);
    cor_request_info_deinit(&call->request.info);
}

const char *fx_do_with(struct fx *fx, int status, const char *method, const char *target,
                       const char *body, const struct fx_headers *headers)
{
    FX_CALL call;
    struct cor_str answer;

    fx_start(fx, &call, method, target, body, headers);
    fx_wait(&call);
    answer = cor_buf_str(&call.sink.body);
    if (status != 0 && call.sink.status != status)
        fail_msg("%s %s: %d instead of %d: %.*s", method, target, call.sink.status, status,
                 COR_STR_ARG(answer));
    if (answer.n > 0 && answer.p[answer.n - 1] == '\n')
        answer.n--;
    return keep(answer);
}

const char *fx_do(struct fx *fx, int status, const char *method, const char *target,
                  const char *body)
{
    return fx_do_with(fx, status, method, target, body, NULL);
}

const char *fx_do_protobuf(struct fx *fx, int status, const char *method, const char *target,
                           const char *body, const char *accept)
{
    const struct fx_headers headers = {.accept = accept};
    const struct cor_gvk none = {COR_STR(""), COR_STR(""), COR_STR("")};
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json = {.max = 64u << 20};
    struct cor_protobuf object;
    struct cor_pb_error why = {.message = ""};
    FX_CALL call;

    fx_start(fx, &call, method, target, body, &headers);
    fx_wait(&call);
    assert_int_equal(call.sink.status, status);
    assert_false(call.sink.is_aborted);
    assert_str(sink_header(&call.sink, "Content-Type"), "application/vnd.kubernetes.protobuf");
    if (cor_protobuf_open(cor_buf_str(&call.sink.body), &object, &why) < 0 ||
        cor_protobuf_to_json(&object, cor_protobuf_type(&object, &none), &json, &why) < 0)
        fail_msg("%s %s: %s", method, target, why.message);
    return keep(cor_buf_str(&json));
}

/* Is it a UUID: digits of base 16, with dashes at four places? */
static bool is_uuid(const char *text)
{
    for (size_t i = 0; i < 36; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? text[i] != '-'
                    : !((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
    }
    return true;
}

/* Identities are drawn anew by each request. Answers are long, so nothing here looks for the end of
 * the text at each of its bytes, as sanitizers do in the functions of strings. */
static void hide_uuids(char *text, size_t n)
{
    for (size_t i = 0; n >= 36 && i <= n - 36; i++) {
        if (is_uuid(text + i))
            memset(text + i, 'u', 36);
    }
}

static char *text_of(struct cor_str answer)
{
    char *text = calloc(1, answer.n + 1);

    assert_non_null(text);
    if (answer.n > 0)
        memcpy(text, answer.p, answer.n);
    hide_uuids(text, answer.n);
    return text;
}

static bool has(struct cor_str answer, const char *part)
{
    return answer.n > 0 && memmem(answer.p, answer.n, part, strlen(part));
}

/* A failure whose words or details there was no memory for is still the same failure. */
static bool is_same_failure(int status, struct cor_str answer)
{
    return (status == 500 && cor_str_eq(answer, COR_STR("out of memory\n"))) ||
           (status >= 400 && has(answer, "Failure"));
}

void fx_fail_each_alloc(struct fx *fx, const char *method, const char *target, const char *body,
                        const struct fx_headers *headers)
{
    FX_CALL first;
    char *whole;

    fx_start(fx, &first, method, target, body, headers);
    fx_wait(&first);
    assert_false(first.is_bare || first.sink.is_aborted);
    whole = text_of(cor_buf_str(&first.sink.body));
    FOR_EACH_FAILED_ALLOC(n) {
        FX_CALL call;
        struct cor_str answer;
        char *text;
        bool is_same;

        fx_start(fx, &call, method, target, body, headers);
        fx_wait(&call);
        answer = cor_buf_str(&call.sink.body);
        if (call.is_bare || call.sink.is_aborted)
            continue;
        text = text_of(answer);
        is_same = call.sink.status == first.sink.status && answer.n == first.sink.body.n &&
                  memcmp(text, whole, answer.n) == 0;
        if (!is_same && ((call.sink.status != 500 && call.sink.status != first.sink.status) ||
                         !is_same_failure(call.sink.status, answer)))
            fail_msg("%s %s without allocation %zu: %d %s\ninstead of: %d %s", method, target, n,
                     call.sink.status, text, first.sink.status, whole);
        free(text);
    }
    free(whole);
}

const char *fx_at(const char *json, const char *path)
{
    COR_CLEANUP(cor_json_path_freep) struct cor_json_path *compiled = NULL;
    struct cor_json_error why;
    struct cor_str value, raw;

    if (cor_json_path_new(cor_strz(path), &compiled, &why) < 0)
        fail_msg("%s: %s", path, why.message);
    if (cor_json_path_first(compiled, cor_strz(json), COR_JSON_ANY_ORDER, &value) < 0)
        return "";
    if (cor_json_to_raw(value, &raw) == 0) {
        char text[64 * 1024];

        assert_int_equal(cor_json_unescape(raw, text, sizeof(text), &raw), 0);
        return keep(raw);
    }
    return keep(value);
}

struct boot {
    bool done;
    int err;
};

static void on_bootstrapped(void *arg, int err, const struct cor_status *status)
{
    struct boot *boot = arg;

    boot->done = true;
    boot->err = err;
    if (err < 0)
        fail_msg("%s", cor_status_message(status));
}

static bool is_booted(void *arg)
{
    return ((struct boot *)arg)->done;
}

void fx_bootstrap(struct fx *fx)
{
    struct boot boot = {0};

    assert_int_equal(cor_api_bootstrap(cor_api_loop(fx->api, 0), on_bootstrapped, &boot, NULL), 0);
    assert_true(cor_loop_run_until(fx->loop, is_booted, &boot, FX_TIMEOUT_MS));
}

struct raw_put {
    struct cor_write_req write;
    bool is_done;
};

static void on_raw_put(struct cor_engine_req *req)
{
    COR_CONTAINER_OF(req, struct raw_put, write.req)->is_done = true;
}

static bool raw_put_is_done(void *arg)
{
    return *(bool *)arg;
}

void fx_put_raw(struct fx *fx, const char *key, const char *json)
{
    struct raw_put put = {.is_done = false};

    cor_write_req_init(&put.write, fx->loop, on_raw_put);
    put.write.key = cor_strz(key);
    put.write.value = cor_strz(json);
    cor_engine_write(fx->engine, &put.write);
    assert_true(cor_loop_run_until(fx->loop, raw_put_is_done, &put.is_done, FX_TIMEOUT_MS));
    assert_int_equal(put.write.req.result, 0);
    cor_write_req_deinit(&put.write);
}
