#include "server/api/held.h"

#include <stdio.h>
#include <stdlib.h>

#include "api_fixture.h"
#include "busy_thread.h"

#define MAPS   "/api/v1/namespaces/default/configmaps"
#define OBJECT 100000
#define ROOM   1000
#define BUDGET (5 * OBJECT)

static struct fx fx;

static void put(const char *method, const char *path, const char *name, char fill)
{
    char *body = malloc(OBJECT + 200);
    int n = snprintf(body, 200, "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"k\":\"", name);

    assert_non_null(body);
    memset(body + n, fill, OBJECT);
    memcpy(body + n + OBJECT, "\"}}", 4);
    fx_do(&fx, strcmp(method, "POST") == 0 ? 201 : 200, method, path, body);
    free(body);
}

/* Two objects of 100 KB. */
static void open_with(size_t budget)
{
    fx = (struct fx){.opts.held_bytes_max = budget};
    fx_open(&fx);
    cor_loop_use_clock(fx.loop, &fx.clock.clock);
    fx_bootstrap(&fx);
    put("POST", MAPS, "a", 'x');
    put("POST", MAPS, "b", 'x');
}

static bool waits(void *arg)
{
    const struct fx_call *call = arg;

    return call->sink.room == 0;
}

/* Its reader takes 1000 bytes and no more. */
static void begin(struct fx_call *call, const char *target, const char *accept)
{
    fx_start(&fx, call, "GET", target, "", &(struct fx_headers){.accept = accept});
    call->sink.room = ROOM;
    assert_true(cor_loop_run_until(fx.loop, waits, call, FX_TIMEOUT_MS));
}

/* A turn of the loop, and more. */
static void turn(void)
{
    fx_do(&fx, 404, "GET", MAPS "/none", "");
}

static size_t held(void)
{
    return cor_api_held_stats(fx.api).bytes;
}

static uint64_t ended(void)
{
    return cor_api_held_stats(fx.api).ended;
}

static void expect_whole(struct fx_call *call)
{
    sink_drain(&call->sink, 64u << 20);
    fx_wait(call);
    assert_int_equal(call->sink.status, 200);
    assert_false(call->sink.is_aborted);
    assert_true(call->sink.body.n > OBJECT);
}

TEST(held, answers_that_wait_count_with_what_they_hold)
{
    static const struct {
        const char *target, *accept;
        size_t least;
    } cases[] = {
        {MAPS "/a", NULL, OBJECT},
        {MAPS "/a?pretty=1", NULL, OBJECT},
        {MAPS "/a", "application/yaml", OBJECT},
        {MAPS, NULL, 2 * OBJECT},
        {MAPS "?pretty=1", NULL, 3 * OBJECT},
        {MAPS, "application/yaml", 2 * OBJECT},
        {MAPS "?limit=1", NULL, OBJECT},
    };

    open_with(0);
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        FX_CALL call;

        begin(&call, cases[i].target, cases[i].accept);
        assert_true(held() >= cases[i].least);
        assert_true(held() < cases[i].least + 2 * OBJECT);
        sink_drain(&call.sink, ROOM); /* one that goes on waiting */
        assert_true(held() >= cases[i].least);
        expect_whole(&call);
        assert_int_equal(held(), 0);
    }
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        FX_CALL call;

        begin(&call, cases[i].target, cases[i].accept);
        sink_cancel(&call.sink);
        turn();
        assert_int_equal(held(), 0);
    }
    fx_close(&fx);
}

TEST(held, a_watch_counts_with_its_event_its_page_and_its_queue)
{
    FX_CALL call;
    size_t before;

    open_with(0);
    begin(&call, MAPS "?watch=1&resourceVersion=0", NULL);
    assert_true(held() >= 3 * OBJECT); /* the event and the page of both objects */
    sink_drain(&call.sink, 3 * OBJECT);
    turn();
    assert_int_equal(held(), 0);
    call.sink.room = ROOM;
    put("PUT", MAPS "/a", "a", 'y');
    assert_true(cor_loop_run_until(fx.loop, waits, &call, FX_TIMEOUT_MS));
    before = held();
    assert_true(before >= OBJECT);
    put("PUT", MAPS "/a", "a", 'z');
    turn();
    assert_true(held() >= before + OBJECT);
    sink_cancel(&call.sink);
    turn();
    assert_int_equal(held(), 0);
    fx_close(&fx);
}

TEST(held, the_answers_that_waited_longest_are_cut_when_the_budget_is_full)
{
    struct fx_call calls[5];

    open_with(BUDGET);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++) {
        begin(&calls[i], MAPS, NULL);
        cor_clock_manual_advance(&fx.clock, COR_HELD_GRACE_MS);
    }
    turn();
    assert_true(held() <= BUDGET);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++)
        assert_int_equal(calls[i].sink.is_aborted, i < 3);
    assert_int_equal(ended(), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(calls[i].sink.is_done);
        assert_int_equal(calls[i].sink.body.n, ROOM);
    }
    expect_whole(&calls[3]);
    expect_whole(&calls[4]);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++)
        fx_call_deinit(&calls[i]);
    assert_int_equal(held(), 0);
    fx_close(&fx);
}

TEST(held, an_answer_is_not_cut_in_its_first_second)
{
    struct fx_call calls[5];

    open_with(BUDGET);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++)
        begin(&calls[i], MAPS, NULL);
    cor_clock_manual_advance(&fx.clock, COR_HELD_GRACE_MS - 1);
    sink_drain(&calls[0].sink, 1);
    turn();
    assert_true(held() > BUDGET);
    assert_int_equal(ended(), 0);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++) {
        expect_whole(&calls[i]);
        fx_call_deinit(&calls[i]);
    }
    fx_close(&fx);
}

TEST(held, answers_are_cut_after_their_first_second_although_no_reader_moves)
{
    struct fx_call calls[5];

    open_with(BUDGET);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++)
        begin(&calls[i], MAPS, NULL);
    turn();
    assert_int_equal(ended(), 0);
    for (unsigned second = 1; second <= 2; second++) {
        cor_clock_manual_advance(&fx.clock, COR_HELD_GRACE_MS);
        turn();
        assert_int_equal(ended(), 3);
    }
    assert_true(held() <= BUDGET);
    for (size_t i = 0; i < COR_ARRAY_LEN(calls); i++) {
        if (!calls[i].sink.is_aborted)
            expect_whole(&calls[i]);
        fx_call_deinit(&calls[i]);
    }
    fx_close(&fx);
}

TEST(held, a_single_answer_of_any_size_comes_to_its_end)
{
    FX_CALL call, small;
    char body[3000];
    int n;

    open_with(OBJECT);
    n = snprintf(body, 100, "{\"metadata\":{\"name\":\"s\"},\"data\":{\"k\":\"");
    memset(body + n, 'x', 2 * ROOM);
    memcpy(body + n + 2 * ROOM, "\"}}", 4);
    begin(&call, MAPS, NULL);
    fx_do(&fx, 201, "POST", MAPS, body);
    cor_clock_manual_advance(&fx.clock, 10 * COR_HELD_GRACE_MS);
    begin(&small, MAPS "/s", NULL);
    turn();
    assert_true(held() > OBJECT);
    assert_int_equal(ended(), 0);
    sink_cancel(&small.sink);
    expect_whole(&call);
    fx_close(&fx);
}

TEST(held, a_watch_is_cut_like_any_answer)
{
    FX_CALL watch, first, second;

    open_with(BUDGET);
    begin(&watch, MAPS "?watch=1&resourceVersion=0", NULL);
    cor_clock_manual_advance(&fx.clock, COR_HELD_GRACE_MS);
    begin(&first, MAPS "/a", NULL);
    put("PUT", MAPS "/a", "a", 'y');
    assert_int_equal(ended(), 0);
    begin(&second, MAPS, NULL);
    turn();
    assert_true(watch.sink.is_aborted);
    assert_int_equal(ended(), 1);
    put("PUT", MAPS "/a", "a", 'z');
    turn();
    assert_int_equal(watch.sink.body.n, ROOM);
    expect_whole(&first);
    expect_whole(&second);
    fx_close(&fx);
}

/* Lists in protobuf that are counted, before their answer begins. */

#define PROTOBUF "application/vnd.kubernetes.protobuf"

/* As open_with(), with a single thread for large items, which is busy. */
static void open_busy(size_t budget, struct busy_thread *busy)
{
    static const struct cor_offload_opts one = {
        .nthreads = 1, .jobs_max = 8, .bytes_max = 64 << 20};

    fx = (struct fx){.opts.held_bytes_max = budget};
    assert_int_equal(cor_offload_new(&one, &fx.offload), 0);
    fx.opts.offload = fx.offload;
    fx_open(&fx);
    cor_loop_use_clock(fx.loop, &fx.clock.clock);
    fx_bootstrap(&fx);
    put("POST", MAPS, "a", 'x');
    put("POST", MAPS, "b", 'x');
    busy_thread_begin(busy, fx.offload, fx.loop, 0);
}

static bool is_held(void *arg)
{
    return held() > 0;
}

/* Begins a list in protobuf, which waits for the thread with its first item. */
static void begin_counted(struct fx_call *call)
{
    fx_start(&fx, call, "GET", MAPS, "", &(struct fx_headers){.accept = PROTOBUF});
    assert_true(cor_loop_run_until(fx.loop, is_held, NULL, FX_TIMEOUT_MS));
}

TEST(held, a_list_that_is_counted_counts_with_its_items)
{
    struct busy_thread busy;
    FX_CALL call;

    open_busy(0, &busy);
    begin_counted(&call);
    assert_true(held() >= 2 * OBJECT);
    assert_int_equal(call.sink.status, 0);
    busy_thread_end(&busy);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 200);
    assert_true(call.sink.body.n > 2 * OBJECT);
    assert_int_equal(held(), 0);
    /* One whose reader goes meanwhile holds nothing any more when its stage has ended. */
    fx_call_deinit(&call);
    busy_thread_begin(&busy, fx.offload, fx.loop, 0);
    begin_counted(&call);
    sink_cancel(&call.sink);
    busy_thread_end(&busy);
    turn();
    fx_close(&fx);
}

/* Nothing of its answer is out: it is refused, and its client knows when to come again. */
TEST(held, a_list_that_is_counted_is_refused_when_the_budget_is_full)
{
    struct fx_call young[2];
    struct busy_thread busy;
    FX_CALL call;

    open_busy(BUDGET, &busy);
    begin_counted(&call);
    cor_clock_manual_advance(&fx.clock, COR_HELD_GRACE_MS);
    begin(&young[0], MAPS, NULL);
    begin(&young[1], MAPS, NULL);
    turn();
    assert_true(held() > BUDGET);
    assert_int_equal(call.sink.status, 0);
    busy_thread_end(&busy);
    fx_wait(&call);
    assert_int_equal(call.sink.status, 429);
    assert_str(sink_header(&call.sink, "Retry-After"), "1");
    assert_false(call.sink.is_aborted);
    assert_int_equal(ended(), 1);
    assert_true(held() <= BUDGET);
    expect_whole(&young[0]);
    expect_whole(&young[1]);
    fx_call_deinit(&young[0]);
    fx_call_deinit(&young[1]);
    assert_int_equal(held(), 0);
    fx_close(&fx);
}
