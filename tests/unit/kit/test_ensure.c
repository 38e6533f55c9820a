/* One object that is made as it should be: what is asked for, and what is done after which answer.
 */
#include "kit/ensure.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "scripted_port.h"
#include "test.h"

#define OBJECT "{\"metadata\":{\"name\":\"a\",\"namespace\":\"n\",\"resourceVersion\":\"7\"}}"

/* Lines of the log. */
#define CACHED "GET v1 configmaps n/a 0\n"
#define LIVE   "GET v1 configmaps n/a\n"
#define CREATE "CREATE v1 configmaps n/a " OBJECT "\n"
#define PATCH  "MERGE-PATCH v1 configmaps n/a " OBJECT "\n"

struct keeper {
    struct scripted_port sp;
    struct cor_ensure e;
    const char *answers[8]; /* in their order, as of `respond` */
    size_t nanswered;
    int verdict;
    unsigned nfound, nmissing;
    int err;
    bool is_done, had_why;
};

static const char *respond(void *arg, const char *line)
{
    struct keeper *k = arg;

    assert_true(k->nanswered < COR_ARRAY_LEN(k->answers));
    return k->answers[k->nanswered++];
}

static int judge(struct cor_ensure *e, const struct cor_object *found)
{
    struct keeper *k = COR_CONTAINER_OF(e, struct keeper, e);

    *(found ? &k->nfound : &k->nmissing) += 1;
    assert_int_equal(e->body.n, 0);
    if (k->verdict == COR_ENSURE_WRITE && cor_buf_adds(&e->body, COR_STR(OBJECT)) < 0)
        return -COR_ENOMEM;
    return k->verdict;
}

static void on_done(struct cor_ensure *e, int err, const struct cor_status *why)
{
    struct keeper *k = COR_CONTAINER_OF(e, struct keeper, e);

    assert_false(k->is_done);
    k->is_done = true;
    k->err = err;
    k->had_why = why != NULL;
}

static void open_keeper(struct keeper *k, int verdict)
{
    static const struct cor_ensure_ops ops = {.judge = judge, .on_done = on_done};

    *k = (struct keeper){.verdict = verdict};
    scripted_port_init(&k->sp);
    k->sp.respond = respond;
    k->sp.respond_arg = k;
    cor_ensure_init(&k->e, &k->sp.port, &ops, 4096, 1000);
}

static void run(struct keeper *k)
{
    const struct cor_resource_path at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("configmaps")},
                                         .ns = COR_STR("n"),
                                         .name = COR_STR("a")};

    cor_ensure_start(&k->e, &at, COR_STR("0"));
    assert_false(k->is_done);
    for (int i = 0; i < 20 && !k->is_done; i++)
        scripted_run(&k->sp, 0);
    assert_true(k->is_done);
}

static void close_keeper(struct keeper *k)
{
    cor_ensure_deinit(&k->e);
    scripted_port_deinit(&k->sp);
}

TEST(ensure, what_is_right_is_not_written)
{
    struct keeper k;

    open_keeper(&k, COR_ENSURE_RIGHT);
    k.answers[0] = OBJECT;
    run(&k);
    assert_int_equal(k.err, 0);
    assert_int_equal(k.nfound, 1);
    scripted_assert_log(&k.sp, CACHED);
    close_keeper(&k);
}

TEST(ensure, what_is_missing_is_created_and_what_differs_is_patched)
{
    struct keeper k;

    open_keeper(&k, COR_ENSURE_WRITE);
    k.answers[0] = "404";
    k.answers[1] = OBJECT;
    run(&k);
    assert_int_equal(k.err, 0);
    assert_int_equal(k.nmissing, 1);
    scripted_assert_log(&k.sp, CACHED CREATE);
    k.is_done = false;
    k.answers[2] = OBJECT;
    k.answers[3] = OBJECT;
    run(&k);
    assert_int_equal(k.err, 0);
    assert_int_equal(k.nfound, 1);
    scripted_assert_log(&k.sp, CACHED PATCH);
    close_keeper(&k);
}

TEST(ensure, a_write_that_comes_too_late_is_followed_by_a_look_at_the_store)
{
    struct keeper k;

    open_keeper(&k, COR_ENSURE_WRITE);
    k.answers[0] = "404";  /* from the cache */
    k.answers[1] = "409";  /* the creation */
    k.answers[2] = OBJECT; /* from the store */
    k.answers[3] = "404";  /* the patch: it is gone again */
    k.answers[4] = "404";
    k.answers[5] = OBJECT;
    run(&k);
    assert_int_equal(k.err, 0);
    assert_int_equal(k.nanswered, 6);
    scripted_assert_log(&k.sp, CACHED CREATE LIVE PATCH LIVE CREATE);
    close_keeper(&k);
}

TEST(ensure, whoever_is_always_faster_wins_in_the_end)
{
    struct keeper k;

    open_keeper(&k, COR_ENSURE_WRITE);
    for (size_t i = 0; i < COR_ARRAY_LEN(k.answers); i++)
        k.answers[i] = i % 2 == 0 ? OBJECT : "409";
    run(&k);
    assert_int_equal(k.err, -COR_ECONFLICT);
    assert_true(k.had_why);
    assert_int_equal(k.nfound, 1 + COR_ENSURE_TRIES);
    close_keeper(&k);
}

TEST(ensure, a_removal_of_what_is_gone_has_succeeded)
{
    struct keeper k;

    open_keeper(&k, COR_ENSURE_REMOVE);
    k.answers[0] = OBJECT;
    k.answers[1] = "404";
    run(&k);
    assert_int_equal(k.err, 0);
    scripted_assert_log(&k.sp, CACHED "DELETE v1 configmaps n/a\n");
    close_keeper(&k);
}

/* Of a creation 404 means that there is no such namespace. */
TEST(ensure, other_errors_are_the_end)
{
    static const char *const answers[][2] = {{"500", NULL}, {"404", "404"}, {OBJECT, "500"}};

    for (size_t i = 0; i < COR_ARRAY_LEN(answers); i++) {
        struct keeper k;

        open_keeper(&k, COR_ENSURE_WRITE);
        k.answers[0] = answers[i][0];
        k.answers[1] = answers[i][1];
        run(&k);
        assert_true(k.err < 0 && k.had_why);
        assert_int_equal(k.nanswered, answers[i][1] ? 2 : 1);
        close_keeper(&k);
    }
}

TEST(ensure, a_failure_of_the_judge_is_the_end)
{
    struct keeper k;

    open_keeper(&k, -COR_EINVAL);
    k.answers[0] = OBJECT;
    run(&k);
    assert_int_equal(k.err, -COR_EINVAL);
    assert_false(k.had_why);
    close_keeper(&k);
}

TEST(ensure, a_cancelled_one_does_not_call_back)
{
    const struct cor_resource_path at = {.name = COR_STR("a")};
    struct keeper k;

    open_keeper(&k, COR_ENSURE_WRITE);
    scripted_answer(&k.sp, 10, OBJECT);
    cor_ensure_start(&k.e, &at, COR_STR(""));
    cor_ensure_cancel(&k.e);
    scripted_run(&k.sp, 20);
    assert_false(k.is_done);
    close_keeper(&k);
}

TEST(ensure, each_allocation_may_fail)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct keeper k;

        open_keeper(&k, COR_ENSURE_WRITE);
        k.answers[0] = "404";
        k.answers[1] = OBJECT;
        run(&k);
        assert_true(k.err == 0 || (k.err == -COR_ENOMEM && test_alloc_failed()));
        close_keeper(&k);
    }
}
