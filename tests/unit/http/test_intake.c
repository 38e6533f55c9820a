/* Request bodies that a handler holds back or takes piece by piece, in every way that the client
 * and the server may meet. */
#include "base/limits.h"
#include "test.h"

#include "stream_fixture.h"

#define LONG_BYTES 3000000u

static const struct cor_http_limits usual = {.body_max = 100000};

static void echo(struct fix *f, uint64_t n, bool is_unknown)
{
    struct giver g;

    taker = (struct taker){.takes = UINT64_MAX};
    assert_int_equal(give(f, &g, "/echo", n, is_unknown), 0);
    g.forgets = true;
    await(&f->h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_int_equal(g.a.got, n);
    assert_false(g.is_wrong || taker.is_wrong);
    assert_int_equal(taker.got, n);
    assert_int_equal(taker.ngone, 0);
    assert_int_equal(taker.length, n > 0 || is_unknown ? (is_unknown ? UINT64_MAX : n) : 0);
    giver_deinit(&g);
}

TEST_WAYS(intake, a_body_is_echoed_while_it_comes)
{
    struct fix f;

    bodies_init(&f, way, usual);
    for (int is_unknown = 0; is_unknown < 2; is_unknown++) {
        echo(&f, 0, is_unknown);
        echo(&f, 1, is_unknown);
        echo(&f, 100, is_unknown);
        echo(&f, LONG_BYTES, is_unknown);
    }
    fix_deinit(&f);
}

static bool client_has_text(void *arg)
{
    return ((struct client *)arg)->text.n > 0;
}

static bool taker_is_drained(void *arg)
{
    return taker.ndrained > 0;
}

/* The answer begins when all of the body has come, so that the connection is kept. */
TEST_WAYS(intake, a_streamed_body_is_not_bounded_by_body_max_and_keeps_the_connection)
{
    struct fix f;

    bodies_init(&f, way, usual);
    for (int i = 0; i < 4; i++) {
        struct giver g;

        taker = (struct taker){.takes = UINT64_MAX};
        assert_int_equal(give(&f, &g, "/stream", LONG_BYTES, i % 2), 0);
        await(&f.h, taker_has_ended, NULL);
        assert_int_equal(taker.got, LONG_BYTES);
        assert_false(taker.is_wrong);
        cor_http_response_send(COR_STEAL(taker.resp), 200, NULL, 0, COR_STR("ok"));
        await(&f.h, ask_is_done, &g.a);
        assert_int_equal(g.a.r, 0);
        assert_string_equal(cor_buf_z(&g.a.text), "200 ok");
        giver_deinit(&g);
    }
    assert_int_equal(accepted(&f), 1);
    assert_int_equal(held_bytes(&f), 0);
    fix_deinit(&f);
}

TEST_WAYS(intake, a_handler_that_takes_no_more_stops_the_client_and_holds_little)
{
    const uint64_t much = 64u << 20;
    struct fix f;
    struct giver g;

    bodies_init(&f, way, usual);
    taker.takes = 70001;
    assert_int_equal(give(&f, &g, "/stream", much, true), 0);
    await(&f.h, taker_has, &taker.takes);
    giver_rest(&f, &g);
    assert_int_equal(taker.got, 70001);
    assert_true(g.given < much);
    assert_true(held_bytes(&f) <= 2 * COR_H2_WINDOW + 200000);
    taker.takes = 500000;
    cor_http_response_resume_body(taker.resp);
    await(&f.h, taker_has, &taker.takes);
    giver_rest(&f, &g);
    assert_int_equal(taker.got, 500000);
    assert_true(held_bytes(&f) <= 2 * COR_H2_WINDOW + 200000);
    taker.takes = UINT64_MAX;
    cor_http_response_resume_body(taker.resp);
    await(&f.h, taker_has_ended, NULL);
    assert_int_equal(taker.got, much);
    assert_false(taker.is_wrong);
    cor_http_response_send(COR_STEAL(taker.resp), 200, NULL, 0, COR_STR("ok"));
    await(&f.h, ask_is_done, &g.a);
    assert_string_equal(cor_buf_z(&g.a.text), "200 ok");
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(intake, a_body_that_is_held_back_is_collected_later)
{
    static const uint64_t lengths[] = {0, 5, 90000};
    struct fix f;

    bodies_init(&f, way, usual);
    for (size_t i = 0; i < 2 * COR_ARRAY_LEN(lengths); i++) {
        struct giver g;

        taker = (struct taker){.takes = UINT64_MAX};
        assert_int_equal(give(&f, &g, "/hold", lengths[i / 2], i % 2), 0);
        g.forgets = true;
        await(&f.h, taker_has_head, NULL);
        assert_false(cor_loop_run_until(f.h.loop, ask_is_done, &g.a, 5));
        assert_int_equal(f.h.seen.n, 0);
        cor_http_response_collect_body(taker.resp);
        await(&f.h, ask_is_done, &g.a);
        assert_int_equal(g.a.r, 0);
        assert_int_equal(g.a.got, lengths[i / 2]);
        assert_false(g.is_wrong);
        assert_true(f.h.seen.n > lengths[i / 2]);
        cor_buf_reset(&f.h.seen);
        giver_deinit(&g);
    }
    assert_int_equal(accepted(&f), 1);
    assert_int_equal(taker.ngone, 0);
    fix_deinit(&f);
}

TEST_WAYS(intake, a_collected_body_that_is_too_large_is_a_413)
{
    struct fix f;

    bodies_init(&f, way, usual);
    for (int is_unknown = 0; is_unknown < 2; is_unknown++) {
        struct giver g;

        taker = (struct taker){.takes = UINT64_MAX};
        assert_int_equal(give(&f, &g, "/hold", 150000, is_unknown), 0);
        await(&f.h, taker_has_head, NULL);
        cor_http_response_collect_body(taker.resp);
        await(&f.h, taker_is_gone, NULL);
        assert_int_equal(taker.why, -COR_ECANCELED);
        await(&f.h, ask_is_done, &g.a);
        if (g.a.r == 0)
            assert_true(cor_str_starts(cor_buf_str(&g.a.text), COR_STR("413 ")));
        else
            assert_int_equal(g.a.r, -COR_EBROKEN); /* it was still writing when that was closed */
        giver_deinit(&g);
    }
    fix_deinit(&f);
}

TEST_WAYS(intake, a_body_that_is_held_back_is_streamed_later)
{
    struct fix f;

    bodies_init(&f, way, usual);
    for (int i = 0; i < 4; i++) {
        struct giver g;
        uint64_t n = i < 2 ? 0 : LONG_BYTES;

        taker = (struct taker){.takes = UINT64_MAX};
        assert_int_equal(give(&f, &g, "/hold", n, i % 2), 0);
        await(&f.h, taker_has_head, NULL);
        giver_rest(&f, &g);
        assert_int_equal(taker.npieces, 0);
        taker_stream();
        assert_int_equal(taker.npieces, 0);
        await(&f.h, taker_has_ended, NULL);
        assert_int_equal(taker.got, n);
        assert_false(taker.is_wrong);
        cor_http_response_send(COR_STEAL(taker.resp), 200, NULL, 0, COR_STR("ok"));
        await(&f.h, ask_is_done, &g.a);
        assert_string_equal(cor_buf_z(&g.a.text), "200 ok");
        giver_deinit(&g);
    }
    assert_int_equal(accepted(&f), 1);
    fix_deinit(&f);
}

TEST_WAYS(intake, a_request_that_is_held_back_is_answered_without_its_body)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, usual);
    for (int i = 0; i < 4; i++) {
        taker = (struct taker){.takes = UINT64_MAX};
        assert_int_equal(give(&f, &g, "/hold", i < 2 ? 1000 : LONG_BYTES, i % 2), 0);
        await(&f.h, taker_has_head, NULL);
        cor_http_response_send(COR_STEAL(taker.resp), 403, NULL, 0, COR_STR("no"));
        await(&f.h, ask_is_done, &g.a);
        if (g.a.r == 0)
            assert_string_equal(cor_buf_z(&g.a.text), "403 no");
        else
            assert_int_equal(g.a.r, -COR_EBROKEN);
        assert_int_equal(taker.npieces + taker.ngone, 0);
        giver_deinit(&g);
    }
    fix_deinit(&f);
}

TEST_WAYS(intake, an_answer_may_end_before_the_body_has_ended)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, usual);
    for (int i = 0; i < 4; i++) {
        taker = (struct taker){.takes = UINT64_MAX, .ends_early = true};
        assert_int_equal(give(&f, &g, "/stream", i < 2 ? 1000 : 60000, i % 2), 0);
        await(&f.h, ask_is_done, &g.a);
        assert_int_equal(g.a.r, 0);
        assert_string_equal(cor_buf_z(&g.a.text), "200 enough");
        assert_int_equal(taker.npieces, 1);
        assert_int_equal(taker.ngone, 0);
        giver_deinit(&g);
        assert_answer(&f, "GET", "/x", "", 0, "200 ");
    }
    fix_deinit(&f);
}

TEST_WAYS(intake, the_deadline_ends_a_request_that_is_held_back_or_streamed)
{
    static const char *const targets[] = {"/hold", "/stream"};
    struct fix f;

    bodies_init(&f, way, (struct cor_http_limits){.request_timeout_ms = 30});
    for (size_t i = 0; i < 2; i++) {
        struct giver g;

        taker = (struct taker){.takes = 0};
        assert_int_equal(give(&f, &g, targets[i], 200000, false), 0);
        await(&f.h, taker_is_gone, NULL);
        assert_int_equal(taker.why, -COR_ETIMEOUT);
        await(&f.h, ask_is_done, &g.a);
        if (g.a.r == 0)
            assert_true(cor_str_starts(cor_buf_str(&g.a.text), COR_STR("504 ")));
        giver_deinit(&g);
    }
    fix_deinit(&f);
}

/* 100 Continue is sent when the body is wanted. */
TEST(intake, a_client_that_expects_it_is_told_to_go_on_when_the_body_is_wanted)
{
    for (int i = 0; i < 3; i++) {
        struct http h;
        struct client cl;

        taker = (struct taker){.takes = UINT64_MAX};
        head_handler = taker_on_head;
        http_init(&h, usual, NULL);
        head_handler = NULL;
        client_open(&cl, &h, NULL);
        cl.is_raw = true;
        client_send(&cl, i == 2
                             ? COR_STR("POST /stream HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                                       "Expect: 100-continue\r\n\r\n")
                             : COR_STR("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
                                       "Expect: 100-continue\r\n\r\n"));
        await(&h, taker_has_head, NULL);
        if (i < 2) {
            assert_false(cor_loop_run_until(h.loop, client_has_text, &cl, 10));
            if (i == 0)
                cor_http_response_collect_body(taker.resp);
            else
                taker_stream();
        }
        await(&h, client_has_text, &cl);
        assert_string_equal(cor_buf_z(&cl.text), COR_H1_CONTINUE);
        client_send(&cl, cor_str(pattern(0, 3).p, 3));
        if (i == 0)
            await(&h, http_has_seen, &h);
        else
            await(&h, taker_has_ended, NULL);
        if (i > 0)
            cor_http_response_send(COR_STEAL(taker.resp), 200, NULL, 0, COR_STR(""));
        part(&h, &cl);
    }
}

TEST_WAYS(intake, a_server_that_shuts_down_tells_who_holds_or_streams)
{
    static const char *const targets[] = {"/hold", "/stream"};

    for (size_t i = 0; i < 2; i++) {
        struct fix f;
        struct giver g;

        bodies_init(&f, way, usual);
        assert_int_equal(give(&f, &g, targets[i], 1000, false), 0);
        await(&f.h, taker_has_head, NULL);
        cor_http_server_close(f.h.server, 30000, http_on_closed, &f.h);
        await(&f.h, taker_is_drained, NULL);
        if (i == 0)
            taker_stream();
        await(&f.h, taker_has_ended, NULL);
        cor_http_response_send(COR_STEAL(taker.resp), 200, NULL, 0, COR_STR("last"));
        await(&f.h, ask_is_done, &g.a);
        assert_string_equal(cor_buf_z(&g.a.text), "200 last");
        await(&f.h, http_is_closed, &f.h);
        giver_deinit(&g);
        fix_deinit(&f);
    }
}

/* A client's account has no room for what it sends before anybody wants it. */
TEST_WAYS(intake, what_waits_of_a_body_is_charged)
{
    struct cor_http_limits limits = {.bodies_max = 256u << 10, .body_max = 1000};
    struct fix f;
    struct giver g;
    static const char *const targets[] = {"/hold", "/stream", "/echo"};

    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        bodies_init(&f, way, limits);
        taker.takes = 0;
        assert_int_equal(give(&f, &g, targets[i], 10u << 20, true), 0);
        await(&f.h, taker_is_gone, NULL);
        assert_int_equal(taker.why, -COR_ECANCELED);
        await(&f.h, ask_is_done, &g.a);
        if (i < 2 && g.a.r == 0)
            assert_true(cor_str_starts(cor_buf_str(&g.a.text), COR_STR("429 ")));
        giver_deinit(&g);
        fix_deinit(&f);
    }
}

/* The states in which a client may go away. */
TEST_WAYS(intake, a_client_that_goes_away_is_told_of)
{
    static const char *const targets[] = {"/hold", "/stream", "/stream", "/echo"};
    struct fix f;

    bodies_init(&f, way, usual);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        struct giver g;

        taker = (struct taker){.takes = i == 2 ? UINT64_MAX : 10};
        assert_int_equal(give(&f, &g, targets[i], i == 3 ? 1000000 : 1000, true), 0);
        await(&f.h, taker_has_head, NULL);
        if (i > 0)
            await(&f.h, taker_has, &(uint64_t){i == 2 ? 1000 : 10});
        if (i == 1 && !way_is_h2(way)) {
            /* The socket is not read, so it is noticed when it is. */
            cor_http_call_cancel(g.a.call);
            taker.takes = UINT64_MAX;
            cor_http_response_resume_body(taker.resp);
        } else if (i == 3 && !way_is_h2(way)) {
            cor_http_call_cancel(g.a.call);
            taker.takes = UINT64_MAX;
            cor_http_response_resume_body(taker.resp);
        } else {
            cor_http_call_cancel(g.a.call);
        }
        await(&f.h, taker_is_gone, NULL);
        assert_int_equal(taker.why, -COR_ECANCELED);
        giver_deinit(&g);
    }
    fix_deinit(&f);
}
