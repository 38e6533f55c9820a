/* What follows a resource in process: objects go to the handler, keys to tasks, and the end waits
 * for what is under way. */
#include "port_fixture.h"

#include "server/port/inner_follower.h"

#define CONFIGMAPS  "/api/v1/namespaces/default/configmaps"
#define NAMED(name) "{\"metadata\":{\"name\":\"" name "\"}}"

struct following {
    struct pfx p;
    struct cor_inner_follower f;
    size_t nlists;         /* that were complete */
    size_t nbegun, nended; /* tasks */
    size_t nasked;         /* whether the owner is busy, and it was */
    size_t nshown, ngone;  /* objects that the test has made */
    int err;               /* of the last task */
    bool is_busy, is_stopped;
};

static struct following *of_handler(struct cor_feed_handler *h)
{
    return COR_CONTAINER_OF(h, struct following, f.handler);
}

static int note(struct cor_feed_handler *h, struct cor_object *object, size_t *count)
{
    if (!cor_str_starts(cor_object_name(object), COR_STR("our-")))
        return 0;
    ++*count;
    return cor_reconciler_enqueue(&of_handler(h)->f.reconciler, COR_STR("default"),
                                  cor_object_name(object), 0);
}

static int on_show(struct cor_feed_handler *h, struct cor_object *object)
{
    return note(h, object, &of_handler(h)->nshown);
}

static int on_gone(struct cor_feed_handler *h, struct cor_object *object)
{
    return note(h, object, &of_handler(h)->ngone);
}

static int on_listed(struct cor_feed_handler *h)
{
    of_handler(h)->nlists++;
    cor_reconciler_synced(&of_handler(h)->f.reconciler);
    return 0;
}

static void on_answer(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    cor_task_end_with(COR_CONTAINER_OF(req, struct cor_task, req), answer);
}

static void reconcile(struct cor_task *task)
{
    static const struct cor_api_request_cbs cbs = {.on_done = on_answer};

    COR_CONTAINER_OF(task->reconciler, struct following, f.reconciler)->nbegun++;
    task->req =
        (struct cor_api_request){.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")},
                                        .ns = task->rec->ns,
                                        .name = task->rec->name},
                                 .cbs = &cbs};
    cor_api_get(cor_task_port(task), &task->req, COR_STR(""));
}

static void on_end(struct cor_task *task, struct cor_reconcile_result *result)
{
    struct following *w = COR_CONTAINER_OF(task->reconciler, struct following, f.reconciler);

    w->nended++;
    w->err = result->err;
}

static bool is_busy(struct cor_inner_follower *f)
{
    struct following *w = COR_CONTAINER_OF(f, struct following, f);

    w->nasked += w->is_busy;
    return w->is_busy;
}

static void on_stopped(struct cor_inner_follower *f)
{
    COR_CONTAINER_OF(f, struct following, f)->is_stopped = true;
}

static int make(struct following *w)
{
    static const struct cor_gvr resource = {COR_STR_INIT(""), COR_STR_INIT("v1"),
                                            COR_STR_INIT("configmaps")};
    static const struct cor_feed_handler_ops handler = {
        .show = on_show, .gone = on_gone, .listed = on_listed};
    static const struct cor_reconciler_opts reconciler = {.name = "test",
                                                          .task_size = sizeof(struct cor_task),
                                                          .is_fed_by_owner = true,
                                                          .reconcile = reconcile,
                                                          .on_end = on_end};
    const struct cor_inner_follower_opts opts = {.home = cor_api_loop(w->p.a.fx.api, 0),
                                                 .user_agent = COR_STR("test"),
                                                 .clock = cor_clock_real(),
                                                 .resource = &resource,
                                                 .handler = &handler,
                                                 .reconciler = &reconciler,
                                                 .is_busy = is_busy};

    return cor_inner_follower_init(&w->f, &opts, NULL);
}

static bool has_ended_one(void *arg)
{
    return ((struct following *)arg)->nended == 1;
}

static bool has_ended_two(void *arg)
{
    return ((struct following *)arg)->nended == 2;
}

static bool has_listed(void *arg)
{
    return ((struct following *)arg)->nlists > 0;
}

static bool is_stopped(void *arg)
{
    return ((struct following *)arg)->is_stopped;
}

static bool has_begun(void *arg)
{
    return ((struct following *)arg)->nbegun > 0;
}

static bool was_asked_again(void *arg)
{
    return ((struct following *)arg)->nasked > 3;
}

static void begin(struct following *w, bool is_cached)
{
    pfx_open(&w->p, is_cached);
    assert_int_equal(make(w), 0);
    assert_int_equal(cor_inner_follower_start(&w->f, NULL), 0);
    pfx_wait(&w->p, has_listed, w);
}

static void end(struct following *w)
{
    cor_inner_follower_stop(&w->f, 1000, on_stopped);
    pfx_wait(&w->p, is_stopped, w);
    cor_inner_follower_deinit(&w->f);
    pfx_close(&w->p);
}

TEST(inner_follower, what_comes_and_goes_is_shown_and_worked_on)
{
    struct following w = {.err = 0};

    begin(&w, true);
    fx_do(&w.p.a.fx, 201, "POST", CONFIGMAPS, NAMED("our-map"));
    pfx_wait(&w.p, has_ended_one, &w);
    assert_int_equal(w.err, 0);
    fx_do(&w.p.a.fx, 200, "DELETE", CONFIGMAPS "/our-map", "");
    pfx_wait(&w.p, has_ended_two, &w);
    assert_int_equal(w.err, 0);
    assert_int_equal(w.nshown, 1);
    assert_int_equal(w.ngone, 1);
    end(&w);
}

TEST(inner_follower, the_end_waits_for_its_owner)
{
    struct following w = {.is_busy = true};

    begin(&w, true);
    cor_inner_follower_stop(&w.f, 1000, on_stopped);
    pfx_wait(&w.p, was_asked_again, &w);
    assert_false(w.is_stopped);
    w.is_busy = false;
    pfx_wait(&w.p, is_stopped, &w);
    cor_inner_follower_deinit(&w.f);
    pfx_close(&w.p);
}

TEST(inner_follower, a_stop_cancels_the_task_under_way)
{
    struct following w = {.err = 0};

    begin(&w, false); /* a read reaches the store */
    pfx_hold(&w.p, COR_ENGINE_RANGE, "/our-map");
    fx_do(&w.p.a.fx, 201, "POST", CONFIGMAPS, NAMED("our-map"));
    pfx_wait(&w.p, has_begun, &w);
    assert_int_equal(w.nended, 0);
    cor_inner_follower_stop(&w.f, 1000, on_stopped);
    pfx_wait(&w.p, has_ended_one, &w);
    assert_int_equal(w.err, -COR_ECANCELED);
    pfx_let_go(&w.p);
    pfx_wait(&w.p, is_stopped, &w);
    cor_inner_follower_deinit(&w.f);
    pfx_close(&w.p);
}

TEST(inner_follower, one_that_was_not_started_may_be_stopped_and_freed)
{
    struct following w = {.err = 0};

    pfx_open(&w.p, true);
    assert_int_equal(make(&w), 0);
    end(&w);
}

TEST(inner_follower, init_survives_failed_allocations)
{
    struct following w = {.err = 0};

    pfx_open(&w.p, true);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = make(&w);

        assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
        cor_inner_follower_deinit(&w.f);
    }
    pfx_close(&w.p);
}
