/* Requests over large bytes, whose stages run on other threads. */
#include "base/limits.h"
#include "server/api/heavy.h"

#include <stdio.h>

#include "api_fixture.h"
#include "base/mem.h"
#include "busy_thread.h"
#include "server/verbs/list.h"

#define MAPS  "/api/v1/namespaces/default/configmaps"
#define LARGE (3 * COR_HEAVY_BYTES)

static void add(struct cor_buf *b, const char *fmt, ...) COR_PRINTF(2, 3);
static void add(struct cor_buf *b, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    assert_int_equal(cor_buf_addv(b, fmt, ap), 0);
    va_end(ap);
}

/* A config map with this much data. */
static void make_map(struct cor_buf *b, const char *name, size_t bytes, const char *value)
{
    cor_buf_init(b, 16u << 20);
    add(b, "{\"metadata\":{\"name\":\"%s\"},\"data\":{", name);
    for (size_t i = 0; b->n < bytes; i++)
        add(b, "%s\"key%zu\":\"%s\"", i ? "," : "", i, value);
    add(b, "}}");
}

static uint64_t jobs(struct fx *fx)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(fx->offload, &stats);
    return stats.jobs;
}

/* Every way of writing and reading a large object; returns what is stored in the end. */
static const char *write_and_read(struct fx *fx)
{
    struct cor_buf body, patch;
    const char *text;

    make_map(&body, "x", LARGE, "first");
    (void)fx_do(fx, 201, "POST", MAPS, cor_buf_z(&body));
    (void)fx_do(fx, 409, "POST", MAPS, cor_buf_z(&body));
    cor_buf_deinit(&body);
    make_map(&body, "x", LARGE, "second");
    (void)fx_do(fx, 200, "PUT", MAPS "/x", cor_buf_z(&body));
    cor_buf_deinit(&body);
    /* A small patch of a large object, and a large one. */
    (void)fx_do(fx, 200, "PATCH", MAPS "/x", "{\"data\":{\"key7\":\"patched\"}}");
    make_map(&patch, "x", LARGE, "third");
    (void)fx_do_with(
        fx, 200, "PATCH", MAPS "/x", cor_buf_z(&patch),
        &(struct fx_headers){.content_type = "application/strategic-merge-patch+json"});
    cor_buf_deinit(&patch);
    (void)fx_do_with(fx, 200, "PATCH", MAPS "/x",
                     "[{\"op\":\"replace\",\"path\":\"/data/key8\",\"value\":\"json\"}]",
                     &(struct fx_headers){.content_type = "application/json-patch+json"});
    (void)fx_do(fx, 422, "PATCH", MAPS "/x", "{\"metadata\":{\"labels\":{\"-\":\"-\"}}}");
    text = fx_do_with(fx, 200, "GET", MAPS "/x", "",
                      &(struct fx_headers){.accept = "application/yaml"});
    assert_non_null(strstr(text, "  key8: json\n"));
    /* What was read as YAML is written as YAML. */
    text = fx_do_with(fx, 200, "PUT", MAPS "/x", text,
                      &(struct fx_headers){.content_type = "application/yaml"});
    assert_at(text, ".data.key8", "json");
    assert_at(text, ".data.key7", "third");
    return fx_do_with(fx, 200, "GET", MAPS "/x", "",
                      &(struct fx_headers){.accept = "application/json;pretty=1"});
}

TEST(heavy, large_requests_give_what_they_give_on_the_loop)
{
    struct fx on_threads = {.has_no_offload = false}, on_loop = {.has_no_offload = true};
    const char *a, *b;
    size_t n;

    fx_open(&on_threads);
    fx_bootstrap(&on_threads);
    fx_open(&on_loop);
    fx_bootstrap(&on_loop);
    assert_int_equal(jobs(&on_threads), 0);
    a = write_and_read(&on_threads);
    assert_true(jobs(&on_threads) >= 10);
    b = write_and_read(&on_loop);
    /* Kind, version and data; the rest has random numbers in it. */
    n = (size_t)(strstr(a, "\"metadata\"") - a);
    assert_true(n > LARGE && strlen(b) > n);
    assert_memory_equal(a, b, n);
    fx_close(&on_threads);
    fx_close(&on_loop);
}

TEST(heavy, an_object_may_be_metadata_for_the_most_part)
{
    struct fx fx = {.has_no_offload = false};
    struct cor_buf body;
    const char *made;

    fx_open(&fx);
    fx_bootstrap(&fx);
    cor_buf_init(&body, 2u << 20);
    add(&body, "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[");
    for (size_t i = 0; body.n < 1200000; i++)
        add(&body, "%s{\"apiVersion\":\"v1\",\"kind\":\"P\",\"name\":\"n\",\"uid\":\"u%zu\"}",
            i ? "," : "", i);
    add(&body, "]}}");
    made = fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    assert_at(made, ".metadata.ownerReferences[10000].uid", "u10000");
    cor_buf_deinit(&body);
    fx_close(&fx);
}

TEST(heavy, small_requests_stay_on_the_loop)
{
    struct fx fx = {.has_no_offload = false};
    struct cor_buf body;

    fx_open(&fx);
    fx_bootstrap(&fx);
    make_map(&body, "x", 20000, "v");
    (void)fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    (void)fx_do(&fx, 200, "PUT", MAPS "/x", cor_buf_z(&body));
    (void)fx_do(&fx, 200, "PATCH", MAPS "/x", "{\"data\":{\"key1\":\"w\"}}");
    (void)fx_do_with(&fx, 200, "GET", MAPS "/x", "",
                     &(struct fx_headers){.accept = "application/yaml"});
    /* What a client has read has managedFields, which are longer than the data here. */
    cor_buf_reset(&body);
    add(&body, "%s", fx_do(&fx, 200, "GET", MAPS "/x", ""));
    assert_true(body.n > 40000);
    (void)fx_do(&fx, 200, "PUT", MAPS "/x", cor_buf_z(&body));
    assert_int_equal(jobs(&fx), 0);
    cor_buf_deinit(&body);
    fx_close(&fx);
}

static void repeat(struct cor_buf *b, const char *first, const char *each, size_t n,
                   const char *last)
{
    add(b, "%s", first);
    for (size_t i = 0; i < n; i++)
        add(b, "%s", each);
    add(b, "%s", last);
}

/* A pod with `n` empty containers, 2 bytes each, in its envelope. */
static void make_protobuf_pod(struct cor_buf *b, size_t n)
{
    const size_t list = 2 * n;

    assert_true(list >= 128 && list < 16000);
    /* The envelope has the type, and the message with the spec and its containers as fields 2. */
    assert_int_equal(cor_buf_adds(b, COR_STR("k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12")), 0);
    assert_int_equal(cor_buf_addc(b, (char)(0x80 | ((list + 3) & 0x7f))), 0);
    assert_int_equal(cor_buf_addc(b, (char)((list + 3) >> 7)), 0);
    assert_int_equal(cor_buf_addc(b, 0x12), 0);
    assert_int_equal(cor_buf_addc(b, (char)(0x80 | (list & 0x7f))), 0);
    assert_int_equal(cor_buf_addc(b, (char)(list >> 7)), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_adds(b, COR_STR("\x12\0")), 0);
}

/* Sends the request and returns how many stages of it ran on threads. */
static uint64_t jobs_of(struct fx *fx, const char *method, const char *target, const char *type,
                        struct cor_buf *body, int *ret_status, size_t *ret_bytes)
{
    struct fx_headers headers = {.content_type = type};
    uint64_t before = fx->has_no_offload ? 0 : jobs(fx);
    struct fx_call call;

    fx_start_with_body(fx, &call, method, target, cor_buf_str(body), &headers);
    fx_wait(&call);
    *ret_status = call.sink.status;
    *ret_bytes = call.sink.body.n;
    fx_call_deinit(&call);
    return fx->has_no_offload ? 0 : jobs(fx) - before;
}

/* Defaults, copies and aliases make much of few bytes. An element costs as much as some plain
 * bytes, whatever the body is written in. */
TEST(heavy, small_bodies_that_grow_leave_the_loop)
{
    static const char json[] = "application/json", yaml[] = "application/yaml",
                      patch[] = "application/json-patch+json",
                      pods[] = "/api/v1/namespaces/default/pods";
    struct fx on_threads = {.has_no_offload = false}, on_loop = {.has_no_offload = true};
    struct cor_buf map;
    struct {
        const char *method, *target, *type;
        struct cor_buf body;
    } cases[] = {{"POST", pods, json},
                 {"POST", pods, yaml},
                 {"POST", MAPS, yaml},
                 {"POST", pods, "application/vnd.kubernetes.protobuf"},
                 {"PATCH", MAPS "/m", patch}};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++)
        cor_buf_init(&cases[i].body, COR_HEAVY_BYTES);
    repeat(&cases[0].body,
           "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"ports\":[{}", ",{}", 5000,
           "]}]}}");
    repeat(&cases[1].body, "metadata: {name: b}\nspec:\n  containers:\n  - name: c\n    ports:\n",
           "    - {}\n", 3000, "");
    repeat(&cases[2].body, "metadata: {name: y}\na: &a [1", ",1", 500,
           "]\nb: &b [*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b,*b,*b]\n");
    make_protobuf_pod(&cases[3].body, 1500);
    repeat(&cases[4].body, "[{\"op\":\"test\",\"path\":\"/data/no\",\"value\":null}",
           ",{\"op\":\"cop\\u0079\",\"from\":\"/data\",\"path\":\"/data/x\"}", 6, "]");
    make_map(&map, "m", 10000, "v");
    fx_open(&on_threads);
    fx_bootstrap(&on_threads);
    fx_open(&on_loop);
    fx_bootstrap(&on_loop);
    (void)fx_do(&on_threads, 201, "POST", MAPS, cor_buf_z(&map));
    (void)fx_do(&on_loop, 201, "POST", MAPS, cor_buf_z(&map));
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        int status, want_status;
        size_t bytes, want_bytes;

        if (jobs_of(&on_threads, cases[i].method, cases[i].target, cases[i].type, &cases[i].body,
                    &status, &bytes) == 0)
            fail_msg("body %zu ran on the loop", i);
        (void)jobs_of(&on_loop, cases[i].method, cases[i].target, cases[i].type, &cases[i].body,
                      &want_status, &want_bytes);
        assert_int_equal(status, want_status);
        assert_int_equal(bytes, want_bytes);
        cor_buf_deinit(&cases[i].body);
    }
    cor_buf_deinit(&map);
    fx_close(&on_threads);
    fx_close(&on_loop);
}

/* A body with the elements that bodies of its size have. */
TEST(heavy, usual_bodies_stay_on_the_loop)
{
    struct fx fx = {.has_no_offload = false};
    struct cor_buf body;

    cor_buf_init(&body, COR_HEAVY_BYTES);
    repeat(
        &body,
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"env\":[{\"name\":\"A\"}",
        ",{\"name\":\"SOME_NAME_OF_A_VARIABLE\",\"value\":\"with some value that is not so short\"}",
        200, "]}]}}");
    fx_open(&fx);
    fx_bootstrap(&fx);
    (void)fx_do(&fx, 201, "POST", "/api/v1/namespaces/default/pods", cor_buf_z(&body));
    assert_int_equal(jobs(&fx), 0);
    cor_buf_deinit(&body);
    fx_close(&fx);
}

TEST(heavy, a_create_makes_names_and_uids_on_a_thread)
{
    struct fx fx = {.has_no_offload = false};
    struct cor_buf body;
    const char *one, *two;

    fx_open(&fx);
    fx_bootstrap(&fx);
    cor_buf_init(&body, 1u << 20);
    add(&body, "{\"metadata\":{\"generateName\":\"g-\"},\"data\":{\"k\":\"%0*d\"}}", (int)LARGE, 0);
    one = fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    two = fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    assert_int_equal(strlen(fx_at(one, ".metadata.name")), 7);
    assert_string_not_equal(fx_at(one, ".metadata.name"), fx_at(two, ".metadata.name"));
    assert_int_equal(strlen(fx_at(one, ".metadata.uid")), 36);
    assert_string_not_equal(fx_at(one, ".metadata.uid"), fx_at(two, ".metadata.uid"));
    cor_buf_deinit(&body);
    fx_close(&fx);
}

TEST(heavy, a_large_object_is_marked_and_removed)
{
    struct fx fx = {.has_no_offload = false};
    struct cor_buf body;
    uint64_t before;

    fx_open(&fx);
    fx_bootstrap(&fx);
    cor_buf_init(&body, 1u << 20);
    add(&body,
        "{\"metadata\":{\"name\":\"x\",\"finalizers\":[\"a.io/b\"]},\"data\":{\"k\":\"%0*d\"}}",
        (int)LARGE, 0);
    (void)fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    before = jobs(&fx);
    assert_true(fx_at(fx_do(&fx, 200, "DELETE", MAPS "/x", ""), ".metadata.deletionTimestamp")[0]);
    assert_true(jobs(&fx) > before);
    assert_true(fx_at(fx_do(&fx, 200, "GET", MAPS "/x", ""), ".metadata.deletionTimestamp")[0]);
    (void)fx_do(&fx, 200, "PATCH", MAPS "/x", "{\"metadata\":{\"finalizers\":null}}");
    (void)fx_do(&fx, 404, "GET", MAPS "/x", "");
    cor_buf_deinit(&body);
    fx_close(&fx);
}

/* The request's memory goes with its reader, while a thread may be at it. */
TEST(heavy, a_reader_may_go_while_a_thread_has_its_request)
{
    struct fx fx = {.has_no_offload = false};
    struct cor_buf body, small;

    fx_open(&fx);
    fx_bootstrap(&fx);
    make_map(&body, "x", 4 * LARGE, "v");
    (void)fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    cor_buf_deinit(&body);
    for (unsigned i = 0; i < 20; i++) {
        static const char *const methods[] = {"POST", "PUT", "PATCH", "GET", "DELETE"};
        const char *method = methods[i % 5];
        struct fx_headers headers = {.accept = "application/yaml"};
        struct fx_call call;

        make_map(&body, i % 5 ? "x" : "y", LARGE, i % 10 < 5 ? "a" : "b");
        fx_start(&fx, &call, method, i % 5 ? MAPS "/x" : MAPS, i % 5 >= 3 ? "" : cor_buf_z(&body),
                 &headers);
        fx_call_deinit(&call);
        cor_buf_deinit(&body);
    }
    make_map(&small, "z", 10, "v");
    (void)fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&small));
    cor_buf_deinit(&small);
    fx_close(&fx); /* waits for the calls */
}

TEST(heavy, too_many_are_told_to_come_again)
{
    static const struct cor_offload_opts none = {.nthreads = 1, .jobs_max = 0, .bytes_max = 1};
    struct fx fx = {.has_no_offload = false};
    struct cor_offload *full;
    struct cor_buf body;
    FX_CALL call = {0};

    assert_int_equal(cor_offload_new(&none, &full), 0);
    fx.opts.offload = full;
    fx_open(&fx);
    fx_bootstrap(&fx);
    make_map(&body, "x", LARGE, "v");
    fx_start(&fx, &call, "POST", MAPS, cor_buf_z(&body), NULL);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 429);
    assert_str(sink_header(&call.sink, "Retry-After"), "1");
    assert_at(cor_buf_z(&call.sink.body), ".reason", "TooManyRequests");
    /* Nothing was written, and what is small goes on. */
    (void)fx_do(&fx, 404, "GET", MAPS "/x", "");
    (void)fx_do(&fx, 201, "POST", MAPS, "{\"metadata\":{\"name\":\"x\"}}");
    cor_buf_deinit(&body);
    fx_close(&fx);
    cor_offload_free(full);
}

/* The status of a large request of that user. */
static int post_as(struct fx *fx, const struct cor_user *user, const char *name)
{
    struct fx_headers headers = {.user = user};
    struct cor_buf body;
    FX_CALL call = {0};

    make_map(&body, name, LARGE, "v");
    fx_start(fx, &call, "POST", MAPS, cor_buf_z(&body), &headers);
    fx_wait(&call);
    cor_buf_deinit(&body);
    return call.sink.status;
}

static bool call_is_done(void *arg)
{
    return ((struct fx_call *)arg)->sink.is_done;
}

/* Its head is out when the first large item comes, so that there is no 429 any more. */
TEST(heavy, a_list_waits_for_a_thread_when_too_many_are_at_work)
{
    static const struct cor_offload_opts one = {
        .nthreads = 1, .jobs_max = 1, .bytes_max = 64 << 20};
    const struct fx_headers pretty = {.accept = "application/json;pretty=1"};
    struct fx fx = {.has_no_offload = false};
    struct cor_offload *offload;
    struct busy_thread busy, waiting;
    struct cor_buf body;
    FX_CALL call = {0};
    const char *text;

    assert_int_equal(cor_offload_new(&one, &offload), 0);
    fx.opts.offload = offload;
    fx_open(&fx);
    fx_bootstrap(&fx);
    make_map(&body, "x", LARGE, "v");
    (void)fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    cor_buf_deinit(&body);
    busy_thread_begin(&busy, offload, fx.loop, 0);
    busy_thread_queue(&waiting, offload, fx.loop, 0);
    fx_start(&fx, &call, "GET", MAPS, NULL, &pretty);
    /* It asks again and again meanwhile. */
    assert_false(cor_loop_run_until(fx.loop, call_is_done, &call, 100));
    assert_int_equal(call.sink.status, 200);
    busy_thread_end(&busy);
    busy_thread_end(&waiting);
    fx_wait(&call);
    text = cor_buf_z(&call.sink.body);
    assert_non_null(strstr(text, "\"name\": \"x\""));
    assert_true(call.sink.body.n > LARGE);
    fx_close(&fx);
    cor_offload_free(offload);
}

TEST(heavy, one_user_leaves_places_for_others)
{
    static const struct cor_offload_opts two = {
        .nthreads = 2, .jobs_max = 2, .bytes_max = 64 << 20};
    static const struct cor_str masters[] = {COR_STR("system:masters")};
    const struct cor_user ann = {.name = COR_STR("ann")}, bob = {.name = COR_STR("bob")};
    const struct cor_user root = {.name = COR_STR("ann"), .groups = masters, .ngroups = 1};
    struct fx fx = {.has_no_offload = false};
    struct cor_offload *offload;
    struct busy_thread busy;

    assert_int_equal(cor_offload_new(&two, &offload), 0);
    fx.opts.offload = offload;
    fx_open(&fx);
    fx_bootstrap(&fx);
    busy_thread_begin(&busy, offload, fx.loop, cor_str_hash(ann.name));
    assert_int_equal(post_as(&fx, &ann, "a"), 429);
    assert_int_equal(post_as(&fx, &bob, "b"), 201);
    assert_int_equal(post_as(&fx, &root, "c"), 201);
    busy_thread_end(&busy);
    assert_int_equal(post_as(&fx, &ann, "a"), 201);
    fx_close(&fx);
    cor_offload_free(offload);
}

TEST(heavy, a_failed_allocation_is_a_failure_or_leaves_a_whole_object)
{
    struct fx fx = {.has_no_offload = false};
    struct cor_buf body;

    fx_open(&fx);
    fx_bootstrap(&fx);
    make_map(&body, "x", COR_HEAVY_BYTES + 1, "value");
    FOR_EACH_FAILED_ALLOC(fail) {
        struct fx_call call;
        const char *stored;

        fx_start(&fx, &call, "POST", MAPS, cor_buf_z(&body), NULL);
        fx_wait(&call);
        test_fail_alloc(0, false);
        if (call.sink.status == 201) {
            stored = fx_do(&fx, 200, "GET", MAPS "/x", "");
            assert_non_null(strstr(stored, "\"key1000\":\"value\""));
            (void)fx_do(&fx, 200, "DELETE", MAPS "/x", "");
        } else {
            (void)fx_do(&fx, 0, "DELETE", MAPS "/x", "");
        }
        fx_call_deinit(&call);
    }
    cor_buf_deinit(&body);
    fx_close(&fx);
}

static bool is_synced(void *arg)
{
    return cor_api_is_synced(((struct fx *)arg)->api);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void set_true(void *arg)
{
    *(bool *)arg = true;
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct fx *)arg)->api, 0)) == 0;
}

static void open_cached(struct fx *fx)
{
    static const struct cor_api_cachers_opts opts = {.bytes_max = 0};

    fx_open(fx);
    assert_int_equal(cor_api_open_cachers(fx->api, &opts, NULL), 0);
    assert_true(cor_loop_run_until(fx->loop, is_synced, fx, FX_TIMEOUT_MS));
    fx_bootstrap(fx);
}

static void close_cached(struct fx *fx)
{
    bool is_closed = false;

    assert_true(cor_loop_run_until(fx->loop, has_no_calls, fx, FX_TIMEOUT_MS));
    cor_api_loop_release(cor_api_loop(fx->api, 0));
    if (cor_api_close_cachers(fx->api, set_true, &is_closed))
        assert_true(cor_loop_run_until(fx->loop, is_true, &is_closed, FX_TIMEOUT_MS));
    fx_close(fx);
}

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

/* More objects than a selector looks at in one turn; `chosen` says whether one is selected. */
static void store_objects(struct fx *fx, size_t n, bool (*chosen)(size_t i))
{
    for (size_t i = 0; i < n; i++) {
        char body[128];

        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"m%05zu\",\"labels\":{\"pick\":\"%s\"}}}", i,
                 chosen(i) ? "yes" : "no");
        (void)fx_do(fx, 201, "POST", MAPS, body);
    }
}

static bool is_one_of_three(size_t i)
{
    return i == 5 || i == COR_LIST_LOOKS_AT_ONCE || i == COR_LIST_LOOKS_AT_ONCE + 90;
}

TEST(heavy, a_selector_that_passes_over_many_objects_finds_those_behind_them)
{
    static const char *const forms[] = {"", "application/json;pretty=1", "application/yaml",
                                        "application/json;as=Table;v=v1;g=meta.k8s.io"};
    struct fx fx = {.has_no_offload = false};

    open_cached(&fx);
    store_objects(&fx, COR_LIST_LOOKS_AT_ONCE + 100, is_one_of_three);
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        const char *list =
            fx_do_with(&fx, 200, "GET", MAPS "?labelSelector=pick!=no&resourceVersion=0", "",
                       &(struct fx_headers){.accept = forms[i]});

        assert_int_equal(count(list, "m00005"), count(list, "m04096"));
        assert_int_equal(count(list, "m00005"), count(list, "m04186"));
        assert_true(count(list, "m00005") >= 1);
        assert_int_equal(count(list, "m0000"), count(list, "m00005"));
    }
    (void)fx_do(&fx, 200, "DELETE", MAPS "?labelSelector=pick!=no", "");
    (void)fx_do(&fx, 404, "GET", MAPS "/m04186", "");
    (void)fx_do(&fx, 200, "GET", MAPS "/m04185", "");
    close_cached(&fx);
}

static const char *list_large(struct fx *fx, const char *accept)
{
    return fx_do_with(fx, 200, "GET", MAPS, "", &(struct fx_headers){.accept = accept});
}

TEST(heavy, lists_of_large_objects_are_made_on_threads)
{
    static const char *const forms[] = {"application/json;pretty=1", "application/yaml"};
    struct fx on_threads = {.opts.random_seed = 7};
    struct fx on_loop = {.opts.random_seed = 7, .has_no_offload = true};
    struct fx *both[] = {&on_threads, &on_loop};
    uint64_t before;

    for (size_t i = 0; i < 2; i++) {
        fx_open(both[i]);
        fx_bootstrap(both[i]);
        for (size_t n = 0; n < 6; n++) {
            struct cor_buf body;
            char name[8];

            snprintf(name, sizeof(name), "m%zu", n);
            make_map(&body, name, n % 2 ? 100 : LARGE, "v");
            (void)fx_do(both[i], 201, "POST", MAPS, cor_buf_z(&body));
            cor_buf_deinit(&body);
        }
    }
    before = jobs(&on_threads);
    for (size_t f = 0; f < COR_ARRAY_LEN(forms); f++) {
        const char *a = list_large(&on_threads, forms[f]), *b = list_large(&on_loop, forms[f]);

        assert_int_equal(strlen(a), strlen(b)); /* but for the uids */
        assert_int_equal(count(a, "key100"), count(b, "key100"));
        assert_int_equal(count(a, "m5"), 1);
    }
    assert_true(jobs(&on_threads) >= before + 4);
    for (size_t i = 0; i < 12; i++) {
        struct fx_headers headers = {.accept = forms[i % 2]};
        struct fx_call call;

        fx_start(&on_threads, &call, "GET", MAPS, "", &headers);
        for (size_t turns = 0; turns < i; turns++)
            (void)fx_do(&on_threads, 404, "GET", MAPS "/none", "");
        fx_call_deinit(&call); /* the reader goes, perhaps while a thread has its list */
    }
    fx_close(&on_threads);
    fx_close(&on_loop);
}

static bool has_waiting(void *arg)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(arg, &stats);
    return stats.waiting > 0;
}

/* The client leaves while its request, of which nothing has been done yet, waits for a thread. As
 * kube-apiserver, whose context ends with the client, it then does nothing of it. */
TEST(heavy, a_client_that_leaves_the_queue_has_nothing_computed_or_written_for_it)
{
    static const struct {
        const char *method, *target, *type, *accept;
        bool has_body;
    } ways[] = {
        {"POST", MAPS, "application/json", NULL, true},
        {"POST", MAPS, "application/yaml", NULL, true},
        {"PUT", MAPS "/x", "application/json", NULL, true},
        {"PATCH", MAPS "/x", "application/merge-patch+json", NULL, true},
        {"PATCH", MAPS "/x?fieldManager=m&force=true", "application/apply-patch+yaml", NULL, true},
        {"DELETE", MAPS "/x", NULL, NULL, false},
        {"DELETE", MAPS, NULL, NULL, false},
        {"GET", MAPS "/x", NULL, "application/yaml", false},
        {"GET", MAPS, NULL, "application/json;as=Table;v=v1;g=meta.k8s.io", false},
    };
    struct fx fx = {.has_no_offload = false};
    struct cor_offload_stats stats, last = {0};
    struct cor_buf body, other;
    struct fx_headers headers;
    const char *stored;

    fx_open(&fx);
    fx_bootstrap(&fx);
    make_map(&body, "x", LARGE, "first");
    make_map(&other, "x", LARGE, "second");
    fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
    stored = strdup(fx_do(&fx, 200, "GET", MAPS "/x", ""));
    for (size_t i = 0; i < COR_ARRAY_LEN(ways); i++) {
        struct busy_thread busy[2];
        struct fx_call call = {0};

        for (size_t k = 0; k < 2; k++)
            busy_thread_begin(&busy[k], fx.offload, fx.loop, 0);
        headers = (struct fx_headers){.content_type = ways[i].type, .accept = ways[i].accept};
        cor_offload_get_stats(fx.offload, &last);
        fx_start(&fx, &call, ways[i].method, ways[i].target,
                 ways[i].has_body ? cor_buf_z(&other) : "", &headers);
        if (!cor_loop_run_until(fx.loop, has_waiting, fx.offload, FX_TIMEOUT_MS))
            fail_msg("%s %s does not wait for a thread", ways[i].method, ways[i].target);
        fx_call_deinit(&call);
        assert_true(cor_loop_run_until(fx.loop, has_no_calls, &fx, FX_TIMEOUT_MS));
        cor_offload_get_stats(fx.offload, &stats);
        assert_int_equal(stats.waiting, 0);
        assert_int_equal(stats.unrun, last.unrun + 1);
        for (size_t k = 0; k < 2; k++)
            busy_thread_end(&busy[k]);
        assert_string_equal(fx_do(&fx, 200, "GET", MAPS "/x", ""), stored);
    }
    free((char *)(uintptr_t)stored);
    cor_buf_deinit(&body);
    cor_buf_deinit(&other);
    fx_close(&fx);
}
