/* What runs a list of stages, over lists of the test's own. */
#include <stdio.h>
#include <string.h>

#include "api_fixture.h"
#include "base/mem.h"
#include "meta/object/object.h"
#include "server/api/api_int.h"
#include "server/write/stage_later.h"
#include "server/write/write.h"

/* What has run, a letter for each stage, and how the list ended. */
static char trail[64];
static int ended;
static struct cor_call *waiting;

static void note(const char *what)
{
    size_t n = strlen(trail);

    assert_true(snprintf(trail + n, sizeof(trail) - n, "%s", what) < (int)(sizeof(trail) - n));
}

static int run_a(const struct cor_storing *write)
{
    note("a");
    return 0;
}

static int run_b(const struct cor_receiving *write)
{
    note("b");
    return 0;
}

static int run_refusal(const struct cor_judging *write)
{
    note("!");
    return cor_status_bad_request(&write->call->status, "no");
}

static void start_at_once(const struct cor_admitting *write)
{
    note("n");
    cor_write_resume(write->call, 0);
}

static void start_later(const struct cor_storing *write)
{
    note("l");
    waiting = write->call;
}

static bool never(const struct cor_judging *write)
{
    return false;
}

static void on_done(struct cor_write *write, int r)
{
    note(".");
    ended = r;
}

struct run {
    struct fx fx;
    struct cor_write write;
};

static void run_open(struct run *run)
{
    static const struct cor_verb_ops verb = {.size = sizeof(struct cor_write)};
    static const struct cor_stage_list none = {NULL, 0};
    static const char json[] = "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{}}";

    *run = (struct run){.write = {.call = {.verb = &verb}, .list = &none}};
    fx_open(&run->fx);
    run->write.call.loop = cor_api_loop(run->fx.api, 0);
    assert_int_equal(cor_object_from_sorted(cor_strz(json), &run->write.received.body), 0);
    trail[0] = '\0';
    ended = 1;
}

static void run_close(struct run *run)
{
    cor_status_deinit(&run->write.call.status);
    run->write.received.body = cor_object_unref(run->write.received.body);
    fx_close(&run->fx);
}

static const struct cor_stage_row rows[] = {
    {COR_STAGE_TO_HUB, .store = run_a},
    {COR_STAGE_MANAGE_FIELDS, .store = run_a, .applies = never},
    {COR_STAGE_ADMIT_MUTATING, .start_admit = start_at_once},
    {COR_STAGE_PREPARE, .receive = run_b},
    {COR_STAGE_VALIDATE, .start_store = start_later},
    {COR_STAGE_PUT_MANAGED_FIELDS, .store = run_a},
};
static const struct cor_stage_list list = {rows, COR_ARRAY_LEN(rows)};

TEST(write_run, runs_the_rows_that_apply_between_two_named_stages)
{
    struct run run;

    run_open(&run);
    cor_stage_list_run(&run.write, &list, COR_STAGE_TO_HUB, COR_STAGE_VALIDATE, on_done);
    assert_string_equal(trail, "anb.");
    assert_int_equal(ended, 0);
    /* A stage that the list does not have stands for the next one that it has. */
    cor_stage_list_run(&run.write, &list, COR_STAGE_ALLOCATE, COR_STAGE_CHECK_UID, on_done);
    assert_string_equal(trail, "anb.b.");
    run_close(&run);
}

TEST(write_run, waits_for_a_stage_that_finishes_later)
{
    struct run run;

    run_open(&run);
    cor_stage_list_run(&run.write, &list, COR_STAGE_PREPARE, COR_STAGE_STORE, on_done);
    assert_string_equal(trail, "bl");
    assert_int_equal(run.write.call.pending, 1);
    cor_write_resume(waiting, 0);
    assert_string_equal(trail, "bla.");
    assert_int_equal(run.write.call.pending, 0);
    run_close(&run);
}

TEST(write_run, goes_back_to_a_named_stage)
{
    struct run run;

    run_open(&run);
    cor_stage_list_run(&run.write, &list, COR_STAGE_TO_HUB, COR_STAGE_VALIDATE, on_done);
    cor_stage_list_run(&run.write, &list, COR_STAGE_MANAGE_FIELDS, COR_STAGE_VALIDATE, on_done);
    assert_string_equal(trail, "anb.nb.");
    assert_int_equal(ended, 0);
    run_close(&run);
}

TEST(write_run, ends_with_the_first_refusal)
{
    static const struct cor_stage_row refusing[] = {
        {COR_STAGE_PREPARE, .store = run_a},
        {COR_STAGE_VALIDATE, .judge = run_refusal},
        {COR_STAGE_PUT_MANAGED_FIELDS, .receive = run_b},
    };
    static const struct cor_stage_list refuses = {refusing, COR_ARRAY_LEN(refusing)};
    struct run run;

    run_open(&run);
    cor_stage_list_run(&run.write, &refuses, COR_STAGE_PREPARE, COR_STAGE_STORE, on_done);
    assert_string_equal(trail, "a!.");
    assert_int_equal(ended, -COR_EINVAL);
    run_close(&run);
}

TEST(write_run, a_later_refusal_ends_the_list_too)
{
    struct run run;

    run_open(&run);
    cor_stage_list_run(&run.write, &list, COR_STAGE_PREPARE, COR_STAGE_STORE, on_done);
    cor_write_resume(waiting, cor_status_bad_request(&run.write.call.status, "no"));
    assert_string_equal(trail, "bl.");
    assert_int_equal(ended, -COR_EINVAL);
    run_close(&run);
}
