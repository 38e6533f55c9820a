/* Calls whose callers write bodies piece by piece, and pause answers. */
#include "test.h"

#include "raw_server.h"
#include "stream_fixture.h"

static const struct cor_http_limits usual = {.body_max = 100000};
/* Most that may be on its way between two ends that do not move: what the sockets of both hold, and
 * what is kept in either program. */
#define UNDER_WAY_MAX (24u << 20)

/* A GET of `target` whose answer is checked against nothing. */
static int get(struct fix *f, struct giver *g, const char *target, bool pauses)
{
    struct cor_http_call_opts opts = {
        .method = COR_STR("GET"), .target = cor_strz(target), .cbs = &giver_cbs, .arg = g};

    *g = (struct giver){.pauses = pauses};
    cor_buf_init(&g->a.text, 64u << 20);
    return cor_http_call_open(f->client, &opts, &g->a.call);
}

TEST_WAYS(client_body, a_paused_call_holds_the_server_back_and_delays_no_other)
{
    const uint64_t much = 64u << 20;
    struct fix f;
    struct giver g;

    fix_init_opts(&f, way, usual, (struct cor_http_client_opts){.window = 256 * 1024});
    assert_int_equal(get(&f, &g, "/big/67108864", true), 0);
    g.a.forgets = true;
    await(&f.h, giver_is_paused, &g);
    giver_rest(&f, &g);
    assert_true(f.h.left > much - UNDER_WAY_MAX);
    assert_answer(&f, "POST", "/echo", "x", 0, "200 x");
    assert_int_equal(accepted(&f), way_is_h2(way) ? 1 : 2);
    assert_false(g.a.is_done);
    g.pauses = false;
    giver_resume(&g);
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_int_equal(g.a.got, much);
    giver_deinit(&g);
    fix_deinit(&f);
}

#define KEPT_MAX 100000

static int refuse_much(void *arg, size_t bytes)
{
    return bytes > KEPT_MAX ? -COR_EBUSY : 0;
}

/* What HTTP/1.1 keeps is one read at most: there it may be nothing. */
TEST(client_body, a_caller_that_does_not_want_more_to_be_kept_ends_its_call_alone)
{
    const struct cor_http_call_cbs cbs = {.on_head = giver_on_head,
                                          .on_body = giver_on_body,
                                          .on_done = ask_on_done,
                                          .on_kept = refuse_much};
    struct cor_http_call_opts opts = {
        .method = COR_STR("GET"), .target = COR_STR("/big/67108864"), .cbs = &cbs};
    struct giver g = {.pauses = true};
    struct fix f;

    fix_init_opts(&f, PLAIN_H2, usual, (struct cor_http_client_opts){.window = 256 * 1024});
    cor_buf_init(&g.a.text, 1u << 20);
    opts.arg = &g;
    assert_int_equal(cor_http_call_open(f.client, &opts, &g.a.call), 0);
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, -COR_EBUSY);
    assert_answer(&f, "POST", "/echo", "x", 0, "200 x");
    assert_int_equal(accepted(&f), 1);
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(client_body, an_answer_is_taken_piece_by_piece)
{
    static const char *const targets[] = {"/send/1", "/big/200000", "/big/200000?chunked"};
    static const size_t lengths[] = {1, 200000, 200000};
    struct fix f;

    fix_init_opts(&f, way, usual, (struct cor_http_client_opts){.window = 65535});
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++) {
        struct giver g;

        assert_int_equal(get(&f, &g, targets[i], true), 0);
        while (!g.a.is_done) {
            await(&f.h, giver_is_paused, &g);
            if (!g.a.is_done)
                giver_resume(&g);
        }
        assert_int_equal(g.a.r, 0);
        assert_int_equal(g.a.got, lengths[i]);
        giver_deinit(&g);
    }
    assert_int_equal(accepted(&f), 1);
    fix_deinit(&f);
}

/* Over HTTP/2 the answer has come whole and needs its connection no more. */
TEST_WAYS(client_body, a_paused_call_is_not_done_before_it_is_resumed)
{
    struct fix f;
    struct giver g;

    fix_init(&f, way, usual);
    assert_int_equal(get(&f, &g, "/big/100000", true), 0);
    await(&f.h, giver_is_paused, &g);
    giver_rest(&f, &g);
    assert_false(g.a.is_done);
    if (way_is_h2(way)) {
        cor_http_server_close(f.h.server, 0, http_on_closed, &f.h);
        await(&f.h, http_is_closed, &f.h);
    }
    g.pauses = false;
    giver_resume(&g);
    assert_false(g.a.is_done);
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_int_equal(g.a.got, 100000);
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(client_body, a_call_may_be_paused_before_it_has_a_connection)
{
    struct fix f;
    struct giver g;

    fix_init(&f, way, usual);
    assert_int_equal(get(&f, &g, "/send/3000", false), 0);
    cor_http_call_pause(g.a.call);
    await(&f.h, ask_has_head, &g.a);
    giver_rest(&f, &g);
    assert_string_equal(cor_buf_z(&g.a.text), "200 ");
    assert_false(g.a.is_done);
    cor_http_call_resume(g.a.call);
    cor_http_call_pause(g.a.call);
    giver_rest(&f, &g);
    assert_int_equal(g.a.got, 0);
    cor_http_call_resume(g.a.call);
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.got, 3000);
    giver_deinit(&g);
    fix_deinit(&f);
}

/* At each state of a call. */
TEST_WAYS(client_body, a_call_may_be_cancelled_at_any_time)
{
    struct fix f;

    bodies_init(&f, way, usual);
    for (int state = 0; state < 6; state++) {
        struct giver g;

        taker = (struct taker){.takes = UINT64_MAX};
        assert_int_equal(give(&f, &g, state == 5 ? "/echo" : "/stream", 10u << 20, true), 0);
        g.forgets = true;
        g.pauses = state == 5;
        if (state == 1)
            await(&f.h, taker_has_head, NULL);
        if (state == 2)
            await(&f.h, taker_has, &(uint64_t){100000});
        if (state == 3 || state == 4)
            await(&f.h, taker_has_ended, NULL);
        if (state == 4) {
            cor_http_response_start(taker.resp, 200, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
            await(&f.h, ask_has_head, &g.a);
        }
        if (state == 5)
            await(&f.h, giver_is_paused, &g);
        cor_http_call_cancel(g.a.call);
        if (taker.nheads > 0)
            await(&f.h, taker_is_gone, NULL);
        giver_deinit(&g);
    }
    fix_deinit(&f);
}

/* Answers the first request of a connection, and ends the connection at the second. */
static void answer_one(struct raw_conn *c, struct cor_str bytes)
{
    if (c->user) {
        raw_close(c);
        return;
    }
    c->user = c;
    raw_say(c, COR_STR("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
}

/* The idle connection is closed by the server just as the next call is written to it. */
TEST(client_body, a_streamed_call_is_sent_again_only_before_its_first_byte_is_taken)
{
    for (int writes = 0; writes < 2; writes++) {
        struct raw_server s = {.on_data = answer_one};
        struct fix f;
        struct giver g = {.left = 3};
        struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                          .target = COR_STR("/"),
                                          .streams_body = true,
                                          .body_length = 3,
                                          .cbs = &giver_cbs,
                                          .arg = &g};

        fix_init(&f, PLAIN_H1, usual);
        raw_listen(&s, f.h.loop, f.h.net);
        fix_close_client(&f);
        f.opts.port = s.port;
        assert_int_equal(cor_http_client_open(f.h.net, &f.opts, &f.client), 0);
        assert_answer(&f, "GET", "/", "", 0, "200 ");
        cor_buf_init(&g.a.text, 1000);
        assert_int_equal(cor_http_call_open(f.client, &opts, &g.a.call), 0);
        if (writes)
            assert_int_equal(cor_http_call_write(g.a.call, COR_STR("abc")), 3);
        await(&f.h, ask_is_done, &g.a);
        assert_int_equal(g.a.r, writes ? -COR_EBROKEN : 0);
        assert_int_equal(s.nconns, writes ? 1 : 2);
        giver_deinit(&g);
        raw_deinit(&s);
        fix_deinit(&f);
    }
}

TEST_WAYS(client_body, a_redirection_is_an_answer_when_the_caller_wants_it)
{
    struct fix f;
    struct giver g;
    struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                      .target = COR_STR("/redirect/302?/echo"),
                                      .keeps_redirects = true,
                                      .cbs = &giver_cbs,
                                      .arg = &g};

    fix_init(&f, way, usual);
    g = (struct giver){0};
    cor_buf_init(&g.a.text, 1000);
    assert_int_equal(cor_http_call_open(f.client, &opts, &g.a.call), 0);
    await(&f.h, ask_is_done, &g.a);
    assert_string_equal(cor_buf_z(&g.a.text), "302 go away");
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(client_body, a_target_that_could_smuggle_is_not_sent)
{
    static const char *const targets[] = {"", "/a b", "/ HTTP/1.1\r\nX: y", "/\t", "/\x7f"};
    struct fix f;
    struct ask a;

    fix_init(&f, way, usual);
    for (size_t i = 0; i < COR_ARRAY_LEN(targets); i++)
        assert_int_equal(ask(&f, &a, "GET", targets[i], "", 0), -COR_EINVAL);
    assert_int_equal(ask(&f, &a, "GET /x HTTP/1.1\r\n", "/", "", 0), -COR_EINVAL);
    assert_int_equal(ask(&f, &a, "", "/", "", 0), -COR_EINVAL);
    fix_deinit(&f);
}

TEST_WAYS(client_body, calls_and_connections_have_a_maximum)
{
    struct fix f;
    struct giver g[3];
    struct cor_http_limits limits = {.h2_streams_max = 1};
    struct ask a;

    fix_init_opts(&f, way, limits,
                  (struct cor_http_client_opts){.calls_max = 3, .connections_max = 2});
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(get(&f, &g[i], "/watch", false), 0);
        await(&f.h, ask_has_head, &g[i].a);
    }
    assert_int_equal(get(&f, &g[2], "/watch", false), 0);
    assert_int_equal(ask(&f, &a, "GET", "/x", "", 0), -COR_EBUSY);
    await(&f.h, ask_is_done, &g[2].a);
    assert_int_equal(g[2].a.r, -COR_EBUSY);
    cor_http_call_cancel(g[0].a.call);
    assert_answer(&f, "POST", "/echo", "x", 0, "200 x");
    cor_http_call_cancel(g[1].a.call);
    for (size_t i = 0; i < 3; i++)
        giver_deinit(&g[i]);
    fix_deinit(&f);
}

/* What the server had no memory for is a 503, or the end of the stream or connection. */
TEST_WAYS(client_body, any_allocation_of_a_streamed_call_may_fail)
{
    struct fix f;

    bodies_init(&f, way, usual);
    FOR_EACH_FAILED_ALLOC(n) {
        struct giver g;
        int r;

        test_fail_alloc(0, false);
        assert_answer(&f, "GET", "/x", "", 0, "200 ");
        taker = (struct taker){.takes = UINT64_MAX};
        test_fail_alloc(n, false);
        r = give(&f, &g, "/echo", 300000, n % 2);
        g.forgets = true;
        if (r == 0)
            await(&f.h, ask_is_done, &g.a);
        assert_true((r == 0 && g.a.r == 0) || test_alloc_failed());
        test_fail_alloc(0, false);
        if (r == 0 && g.a.r == 0 && !cor_str_starts(cor_buf_str(&g.a.text), COR_STR("503 "))) {
            assert_int_equal(g.a.got, 300000);
            assert_false(g.is_wrong);
        }
        taker_let_go(&f);
        giver_deinit(&g);
    }
    fix_deinit(&f);
}

/* Held, then streamed, with a handler and a caller that both stop in between. */
TEST_WAYS(client_body, any_allocation_of_a_slow_exchange_may_fail)
{
    struct fix f;

    bodies_init(&f, way, usual);
    FOR_EACH_FAILED_ALLOC(n) {
        struct giver g;
        int r;

        test_fail_alloc(0, false);
        assert_answer(&f, "GET", "/x", "", 0, "200 ");
        taker = (struct taker){.takes = 1000};
        test_fail_alloc(n, false);
        r = give(&f, &g, "/hold", 90000, n % 2);
        g.pauses = g.forgets = true;
        while (r == 0 && !g.a.is_done) {
            cor_loop_run_until(f.h.loop, giver_is_paused, &g, 1);
            if (taker.resp && taker.npieces == 0 && taker.nheads == 1) {
                taker.nheads++;
                taker.echoes = true;
                cor_http_response_start(taker.resp, 200, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
                taker_stream();
            } else if (taker.resp && taker.takes == taker.got) {
                taker.takes += 44500;
                cor_http_response_resume_body(taker.resp);
            }
            if (g.is_paused && !g.a.is_done)
                giver_resume(&g);
        }
        assert_true((r == 0 && g.a.r == 0) || test_alloc_failed());
        test_fail_alloc(0, false);
        if (r == 0 && g.a.r == 0 && !cor_str_starts(cor_buf_str(&g.a.text), COR_STR("503 "))) {
            assert_int_equal(g.a.got, 90000);
            assert_false(g.is_wrong);
        }
        taker_let_go(&f);
        giver_deinit(&g);
    }
    fix_deinit(&f);
}
