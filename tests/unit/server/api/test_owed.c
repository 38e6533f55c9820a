/* Answers of what has been written, while the threads have more to do than they may be given. */
#include "base/limits.h"
#include "server/api/heavy.h"

#include <sched.h>
#include <stdio.h>

#include "api_fixture.h"
#include "busy_thread.h"
#include "server/admission/admission.h"

#define MAPS "/api/v1/namespaces/default/configmaps"
#define HPAS "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers"
#define PODS "/api/v1/namespaces/default/pods"

/* No stage that may be refused finds a place here. */
static void open_full(struct fx *fx)
{
    static const struct cor_offload_opts none = {.nthreads = 1, .jobs_max = 0, .bytes_max = 1};

    assert_int_equal(cor_offload_new(&none, &fx->opts.offload), 0);
    fx_open(fx);
    fx_bootstrap(fx);
}

static void close_full(struct fx *fx)
{
    fx_close(fx);
    cor_offload_free(fx->opts.offload);
}

static uint64_t jobs(struct fx *fx)
{
    struct cor_offload_stats stats;

    cor_offload_get_stats(fx->opts.offload, &stats);
    return stats.jobs;
}

/* `before`, then `n` members, then `after`. */
static void make_body(struct cor_buf *b, const char *before, size_t n, const char *after)
{
    cor_buf_init(b, 4 * COR_HEAVY_BYTES);
    assert_int_equal(cor_buf_addz(b, before), 0);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(cor_buf_addf(b, "%s\"key%05zu\":\"value\"", i ? "," : "", i), 0);
    assert_int_equal(cor_buf_addz(b, after), 0);
}

/* Creates an object that is judged on the loop, and has more than COR_HEAVY_BYTES with what its
 * manager owns. */
static void create(struct fx *fx, struct fx_call *call, const char *path, const char *before,
                   const char *after, const char *accept)
{
    struct fx_headers headers = {.accept = accept};
    struct cor_buf body;

    make_body(&body, before, 2200, after);
    assert_true(body.n < COR_HEAVY_BYTES);
    fx_start(fx, call, "POST", path, cor_buf_z(&body), &headers);
    fx_wait(call);
    cor_buf_deinit(&body);
}

TEST(owed, a_stored_object_is_answered_in_every_form_when_too_many_are_at_work)
{
    static const struct {
        const char *accept, *part;
    } forms[] = {
        {"application/yaml", "  key02199: value\n"},
        {"application/json;pretty=1", "\"key02199\": \"value\""},
        {"application/vnd.kubernetes.protobuf", "key02199"},
        {"application/json;as=Table;v=v1;g=meta.k8s.io", "\"cells\":[\"m3\",2200,"},
    };
    struct fx fx = {0};

    open_full(&fx);
    for (size_t i = 0; i < COR_ARRAY_LEN(forms); i++) {
        uint64_t before = jobs(&fx);
        char head[64], item[128];
        FX_CALL call = {0}, get = {0};

        snprintf(head, sizeof(head), "{\"metadata\":{\"name\":\"m%zu\"},\"data\":{", i);
        snprintf(item, sizeof(item), "%s/m%zu", MAPS, i);
        create(&fx, &call, MAPS, head, "}}", forms[i].accept);
        assert_int_equal(call.sink.status, 201);
        assert_non_null(
            memmem(call.sink.body.p, call.sink.body.n, forms[i].part, strlen(forms[i].part)));
        assert_int_equal(jobs(&fx), before + 1);
        /* Who only reads comes again. */
        fx_start(&fx, &get, "GET", item, "", &(struct fx_headers){.accept = forms[i].accept});
        fx_wait(&get);
        assert_int_equal(get.sink.status, 429);
    }
    close_full(&fx);
}

TEST(owed, a_stored_object_is_converted_on_a_thread_when_too_many_are_at_work)
{
    struct fx fx = {0};
    FX_CALL call = {0}, get = {0};

    open_full(&fx);
    create(
        &fx, &call, HPAS, "{\"metadata\":{\"name\":\"h\",\"annotations\":{",
        "}},\"spec\":{\"maxReplicas\":3,\"scaleTargetRef\":{\"kind\":\"K\",\"name\":\"n\",\"apiVersion\":\"g/v1\"}}}",
        NULL);
    assert_int_equal(call.sink.status, 201);
    assert_at(cor_buf_z(&call.sink.body), ".apiVersion", "autoscaling/v1");
    assert_int_equal(jobs(&fx), 1);
    fx_start(&fx, &get, "GET", HPAS "/h", "", NULL);
    fx_wait(&get);
    assert_int_equal(get.sink.status, 429);
    close_full(&fx);
}

TEST(owed, a_deleted_collection_is_answered_when_too_many_are_at_work)
{
    struct fx fx = {0};
    const char *text;

    open_full(&fx);
    for (size_t i = 0; i < 4; i++) {
        struct cor_buf body;
        char head[64];

        snprintf(head, sizeof(head), "{\"metadata\":{\"name\":\"m%zu\"},\"data\":{", i);
        make_body(&body, head, 900, "}}");
        (void)fx_do(&fx, 201, "POST", MAPS, cor_buf_z(&body));
        cor_buf_deinit(&body);
    }
    text = fx_do_with(&fx, 200, "DELETE", MAPS, "",
                      &(struct fx_headers){.accept = "application/yaml"});
    assert_non_null(strstr(text, "name: m3\n"));
    (void)fx_do(&fx, 404, "GET", MAPS "/m3", "");
    close_full(&fx);
}

struct goal {
    struct fx *fx;
    uint64_t jobs;
};

static bool has_jobs(void *arg)
{
    const struct goal *goal = arg;

    return jobs(goal->fx) >= goal->jobs;
}

/* Until the thread has ended what it was given; its loop has not learned of it. */
static void wait_for_thread(struct cor_offload *offload)
{
    struct cor_offload_stats stats;

    do {
        sched_yield();
        cor_offload_get_stats(offload, &stats);
    } while (stats.bytes > 0);
}

/* Its mark was stored, and watches have seen that it is removed now. */
TEST(owed, a_marked_pod_is_removed_when_too_many_are_at_work)
{
    static const struct cor_offload_opts one = {
        .nthreads = 1, .jobs_max = 1, .bytes_max = 64 << 20};
    struct busy_thread busy, waiting;
    struct fx fx = {0};
    struct goal marked = {.fx = &fx};
    struct cor_buf body;
    FX_CALL call = {0};

    assert_int_equal(cor_offload_new(&one, &fx.opts.offload), 0);
    fx_open(&fx);
    fx_bootstrap(&fx);
    make_body(&body, "{\"metadata\":{\"name\":\"p\",\"annotations\":{", 5000,
              "}},\"spec\":{" FX_CONTAINERS "}}");
    (void)fx_do(&fx, 201, "POST", PODS, cor_buf_z(&body));
    cor_buf_deinit(&body);
    /* Judged for its removal, and again for the mark that must come first. */
    marked.jobs = jobs(&fx) + 2;
    fx_start(&fx, &call, "DELETE", PODS "/p", "", NULL);
    assert_true(cor_loop_run_until(fx.loop, has_jobs, &marked, FX_TIMEOUT_MS));
    wait_for_thread(fx.opts.offload);
    busy_thread_begin(&busy, fx.opts.offload, fx.loop, 0);
    busy_thread_queue(&waiting, fx.opts.offload, fx.loop, 0);
    marked.jobs += 3;
    assert_true(cor_loop_run_until(fx.loop, has_jobs, &marked, FX_TIMEOUT_MS));
    assert_false(call.sink.is_done);
    busy_thread_let_go(&waiting);
    busy_thread_end(&busy);
    busy_thread_join(&waiting);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 200);
    (void)fx_do(&fx, 404, "GET", PODS "/p", "");
    close_full(&fx);
}

/* Plugins of the test's own: before the second looks at a pod whose mark was stored, the first one
 * gives the threads more to do than they may be given. */
static struct crowding {
    struct cor_offload *offload;
    struct busy_thread busy, waiting;
    bool is_crowded;
    unsigned nmarked; /* visits of the second, with a marked pod */
} crowding;

static bool is_marked(const struct cor_object *object)
{
    struct cor_str json = cor_object_json(object);

    return memmem(json.p, json.n, "\"deletionTimestamp\"", 19) != NULL;
}

static void crowd(struct cor_admission *ad)
{
    if (is_marked(ad->old)) {
        crowding.is_crowded = true;
        busy_thread_begin(&crowding.busy, crowding.offload, ad->call->loop->loop, 0);
        busy_thread_queue(&crowding.waiting, crowding.offload, ad->call->loop->loop, 0);
    }
    cor_admission_resume(ad, 0);
}

static int look(struct cor_admission *ad)
{
    crowding.nmarked += is_marked(ad->old);
    return 0;
}

static bool is_crowded(void *arg)
{
    return crowding.is_crowded;
}

TEST(owed, a_plugin_judges_the_removal_of_a_marked_pod_when_too_many_are_at_work)
{
    static const struct cor_offload_opts one = {
        .nthreads = 1, .jobs_max = 1, .bytes_max = 64 << 20};
    static const struct cor_admission_row rows[] = {
        {.plugin = "a", .ops = COR_ADMISSION_DELETE, .start = crowd},
        {.plugin = "b", .ops = COR_ADMISSION_DELETE, .run = look}};
    static const struct cor_admission_list list = {rows, COR_ARRAY_LEN(rows)};
    struct fx fx = {.opts.admission = &list};
    struct cor_buf body;
    FX_CALL call = {0};

    assert_int_equal(cor_offload_new(&one, &fx.opts.offload), 0);
    crowding = (struct crowding){.offload = fx.opts.offload};
    fx_open(&fx);
    fx_bootstrap(&fx);
    make_body(&body, "{\"metadata\":{\"name\":\"p\",\"annotations\":{", 5000,
              "}},\"spec\":{" FX_CONTAINERS "}}");
    (void)fx_do(&fx, 201, "POST", PODS, cor_buf_z(&body));
    cor_buf_deinit(&body);
    fx_start(&fx, &call, "DELETE", PODS "/p", "", NULL);
    assert_true(cor_loop_run_until(fx.loop, is_crowded, NULL, FX_TIMEOUT_MS));
    assert_false(call.sink.is_done);
    busy_thread_let_go(&crowding.waiting);
    busy_thread_end(&crowding.busy);
    busy_thread_join(&crowding.waiting);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 200);
    assert_int_equal(crowding.nmarked, 1);
    (void)fx_do(&fx, 404, "GET", PODS "/p", "");
    close_full(&fx);
}
