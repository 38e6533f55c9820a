/* A reconciler: how its tasks end, and what is said of an end, over a scripted port and its clock.
 */
#include "kit/controller/reconciler.h"

#include <stdio.h>

#include "base/err.h"
#include "loop/loop.h"
#include "scripted_port.h"
#include "test.h"

struct stage {
    struct scripted_port sp;
    struct cor_loop *loop;
    struct cor_rand rand;
    struct cor_reconciler r;
    /* Ends the task with the answer to its GET. NULL: at once, with success. */
    void (*end)(struct cor_task *task, const struct cor_api_answer *answer);
    const char *answers[4]; /* to the next GETs, as of `respond` of the port */
    size_t nanswered;
    char said[512];
    bool is_stopped;
};

static struct stage *stage_of(const struct cor_task *task)
{
    return COR_CONTAINER_OF(task->reconciler, struct stage, r);
}

static void say(struct stage *s, const char *what, struct cor_str name)
{
    size_t n = strlen(s->said);

    snprintf(s->said + n, sizeof(s->said) - n, "%s(%.*s) ", what, COR_STR_ARG(name));
}

static void assert_said(struct stage *s, const char *expected)
{
    assert_string_equal(s->said, expected);
    s->said[0] = '\0';
}

static void on_answer(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_task *task = COR_CONTAINER_OF(req, struct cor_task, req);

    stage_of(task)->end(task, answer);
}

static void reconcile(struct cor_task *task)
{
    static const struct cor_api_request_cbs cbs = {.on_done = on_answer};
    struct stage *s = stage_of(task);

    say(s, "began", task->rec->name);
    if (!s->end) {
        cor_task_end(task, 0, NULL);
        return;
    }
    task->req = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")}, .name = task->rec->name},
        .cbs = &cbs};
    cor_api_get(cor_task_port(task), &task->req, COR_STR(""));
}

static void on_end(struct cor_task *task, struct cor_reconcile_result *result)
{
    say(stage_of(task),
        result->again                   ? "again"
        : result->err == -COR_ECANCELED ? "cancelled"
        : result->err < 0               ? "failed"
                                        : "done",
        task->rec->name);
    if (cor_str_eqz(task->rec->name, "later"))
        result->again_after_ms = 50;
}

static void task_deinit(struct cor_task *task)
{
    say(stage_of(task), "freed", COR_STR(""));
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    ((struct stage *)arg)->is_stopped = true;
}

static int make(struct stage *s)
{
    static const struct cor_reconciler_opts opts = {.name = "test",
                                                    .task_size = sizeof(struct cor_task),
                                                    .is_fed_by_owner = true,
                                                    .reconcile = reconcile,
                                                    .on_end = on_end,
                                                    .task_deinit = task_deinit};
    const struct cor_reconciler_env env = {.port = &s->sp.port,
                                           .clock = &s->sp.clock.clock,
                                           .rand = &s->rand,
                                           .on_stopped = on_stopped,
                                           .arg = s};

    return cor_reconciler_init(&s->r, &opts, &env, NULL);
}

static const char *respond(void *arg, const char *line)
{
    struct stage *s = arg;

    return s->answers[s->nanswered++ % COR_ARRAY_LEN(s->answers)];
}

/* 0, -COR_ENOMEM. */
static int open_stage(struct stage *s)
{
    *s = (struct stage){.is_stopped = false};
    scripted_port_init(&s->sp);
    s->sp.respond = respond;
    s->sp.respond_arg = s;
    if (cor_loop_new(64, &s->loop) < 0)
        return -COR_ENOMEM;
    cor_loop_use_clock(s->loop, &s->sp.clock.clock);
    s->sp.port.loop = s->loop;
    cor_rand_init_seeded(&s->rand, 1);
    return 0;
}

static void pass(struct stage *s, uint64_t ms)
{
    for (uint64_t passed = 0; passed <= ms; passed++) {
        scripted_run(&s->sp, passed == 0 ? 0 : 1);
        for (int i = 0; i < 4; i++) {
            (void)cor_loop_run_ready(s->loop, 8);
            scripted_run(&s->sp, 0);
        }
    }
}

static void begin(struct stage *s)
{
    assert_int_equal(open_stage(s), 0);
    assert_int_equal(make(s), 0);
    assert_int_equal(cor_reconciler_start(&s->r, NULL), 0);
    cor_reconciler_synced(&s->r);
}

static void add(struct stage *s, const char *name)
{
    assert_int_equal(cor_reconciler_enqueue(&s->r, COR_STR(""), cor_strz(name), 0), 0);
    pass(s, 0);
}

static void end(struct stage *s)
{
    cor_reconciler_stop(&s->r, 1000);
    pass(s, 2);
    assert_true(s->is_stopped);
    cor_reconciler_deinit(&s->r);
    scripted_port_deinit(&s->sp);
    s->loop = cor_loop_free(s->loop);
}

TEST(reconciler, no_key_is_looked_at_before_the_owner_says_that_it_has_fed_all)
{
    struct stage s;

    assert_int_equal(open_stage(&s), 0);
    assert_int_equal(make(&s), 0);
    assert_int_equal(cor_reconciler_start(&s.r, NULL), 0);
    add(&s, "a");
    assert_said(&s, "");
    cor_reconciler_synced(&s.r);
    pass(&s, 0);
    assert_said(&s, "began(a) done(a) freed() ");
    end(&s);
}

/* What the answer to a last write means: for who does not see the next state by himself … */
TEST(reconciler, after_a_conflict_the_key_is_tried_again_without_an_error)
{
    struct stage s;

    begin(&s);
    s.end = cor_task_end_with;
    s.answers[0] = "409";
    s.answers[1] = "404";
    s.answers[2] = "500";
    s.answers[3] = "{\"metadata\":{\"name\":\"a\"}}";
    add(&s, "a");
    assert_said(&s, "began(a) again(a) freed() ");
    pass(&s, 5);
    assert_said(&s, "began(a) done(a) freed() ");
    add(&s, "a");
    assert_said(&s, "began(a) failed(a) freed() ");
    pass(&s, 5);
    assert_said(&s, "began(a) done(a) freed() ");
    end(&s);
}

/* … and for who does. */
TEST(reconciler, who_follows_the_object_leaves_a_conflict_to_the_next_event)
{
    struct stage s;

    begin(&s);
    s.end = cor_task_end_followed;
    s.answers[0] = "409";
    s.answers[1] = "404";
    s.answers[2] = "500";
    add(&s, "a");
    assert_said(&s, "began(a) done(a) freed() ");
    add(&s, "b");
    assert_said(&s, "began(b) done(b) freed() ");
    add(&s, "c");
    assert_said(&s, "began(c) failed(c) freed() ");
    end(&s);
}

TEST(reconciler, the_look_at_an_end_may_change_the_result)
{
    struct stage s;

    begin(&s);
    add(&s, "later");
    assert_said(&s, "began(later) done(later) freed() ");
    pass(&s, 49);
    assert_said(&s, "");
    pass(&s, 1);
    assert_said(&s, "began(later) done(later) freed() ");
    end(&s);
}

TEST(reconciler, a_stop_cancels_the_request_under_way_and_ends_its_task)
{
    struct stage s;

    begin(&s);
    s.end = cor_task_end_with;
    scripted_answer(&s.sp, 1000, "{\"metadata\":{\"name\":\"a\"}}");
    add(&s, "a");
    assert_said(&s, "began(a) ");
    end(&s);
    assert_said(&s, "cancelled(a) freed() ");
}

TEST(reconciler, each_allocation_may_fail)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct stage s;
        int r;

        if (open_stage(&s) < 0) {
            scripted_port_deinit(&s.sp);
            continue;
        }
        r = make(&s);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0) {
            assert_int_equal(cor_reconciler_start(&s.r, NULL), 0);
            cor_reconciler_synced(&s.r);
            pass(&s, 0);
            while (cor_reconciler_enqueue(&s.r, COR_STR(""), COR_STR("a"), 0) < 0)
                assert_true(test_alloc_failed());
            pass(&s, 10);
            assert_said(&s, "began(a) done(a) freed() ");
            cor_reconciler_stop(&s.r, 1000);
            pass(&s, 2);
            assert_true(s.is_stopped);
        }
        cor_reconciler_deinit(&s.r);
        scripted_port_deinit(&s.sp);
        s.loop = cor_loop_free(s.loop);
    }
}
