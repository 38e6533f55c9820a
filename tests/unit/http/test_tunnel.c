/* Upgrades that nobody looks into: bytes go both ways between a call and a handler. */
#include "test.h"

#include "stream_fixture.h"

#define MUCH 8000000u

static const struct cor_http_header upgrade_headers[] = {
    {COR_STR("Connection"), COR_STR("Upgrade")}, {COR_STR("Upgrade"), COR_STR("echo")}};

static int open_tunnel(struct fix *f, struct giver *g, const char *target)
{
    struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                      .target = cor_strz(target),
                                      .headers = upgrade_headers,
                                      .nheaders = 2,
                                      .wants_upgrade = true,
                                      .cbs = &giver_cbs,
                                      .arg = g};

    *g = (struct giver){.is_tunnel = true};
    cor_buf_init(&g->a.text, 64u << 20);
    return cor_http_call_open(f->client, &opts, &g->a.call);
}

/* Until both ends know of it. */
static void make_tunnel(struct fix *f, struct giver *g)
{
    taker = (struct taker){.takes = UINT64_MAX};
    assert_int_equal(open_tunnel(f, g, "/tunnel"), 0);
    await(&f->h, taker_has_head, NULL);
    assert_true(cor_http_response_can_upgrade(taker.resp));
    cor_http_response_set_deadline(taker.resp, COR_HTTP_NO_DEADLINE);
    taker_stream();
    cor_http_response_tunnel(taker.resp, upgrade_headers, 2);
    await(&f->h, ask_has_head, &g->a);
    assert_string_equal(cor_buf_z(&g->a.text), "101 ");
    cor_buf_reset(&g->a.text);
}

TEST_WAYS(tunnel, bytes_go_both_ways)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    make_tunnel(&f, &g);
    assert_int_equal(cor_http_response_write(taker.resp, COR_STR("hello")), 5);
    await(&f.h, giver_has, &g);
    assert_string_equal(cor_buf_z(&g.a.text), "hello");
    g.left = 7;
    giver_give(&g);
    await(&f.h, taker_has, &(uint64_t){7});
    assert_false(taker.is_wrong || taker.has_ended);
    cor_http_response_end(COR_STEAL(taker.resp));
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_string_equal(cor_buf_z(&g.a.text), "hello");
    giver_deinit(&g);
    fix_deinit(&f);
}

/* A caller that passes on what a client sends too early has to wait. */
TEST_WAYS(tunnel, nothing_is_taken_before_there_is_a_tunnel)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    assert_int_equal(open_tunnel(&f, &g, "/tunnel"), 0);
    g.left = 5;
    giver_give(&g);
    await(&f.h, taker_has_head, NULL);
    giver_give(&g);
    assert_int_equal(g.given, 0);
    taker_stream();
    cor_http_response_tunnel(taker.resp, upgrade_headers, 2);
    await(&f.h, taker_has, &(uint64_t){5});
    assert_false(taker.is_wrong);
    cor_http_call_cancel(g.a.call);
    giver_deinit(&g);
    fix_deinit(&f);
}

/* What would be the body, and what the other protocol? */
TEST(tunnel, a_request_with_a_body_cannot_become_one)
{
    struct http h;
    struct client cl;

    taker = (struct taker){.takes = UINT64_MAX};
    head_handler = taker_on_head;
    http_init(&h, (struct cor_http_limits){0}, NULL);
    head_handler = NULL;
    client_open(&cl, &h, NULL);
    client_send(&cl,
                COR_STR("GET /tunnel HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: a\r\n"
                        "Content-Length: 3\r\n\r\nabc"));
    await(&h, taker_has_head, NULL);
    assert_false(cor_http_response_can_upgrade(taker.resp));
    cor_http_response_send(COR_STEAL(taker.resp), 400, NULL, 0, COR_STR(""));
    await(&h, client_has_response, &cl);
    part(&h, &cl);
}

TEST_WAYS(tunnel, much_is_echoed_with_back_pressure)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    make_tunnel(&f, &g);
    taker.echoes = g.forgets = g.pauses = true;
    g.left = MUCH;
    giver_give(&g);
    while (g.a.got < MUCH) {
        await(&f.h, giver_is_paused, &g);
        assert_false(g.a.is_done);
        giver_resume(&g);
    }
    assert_false(g.is_wrong || taker.is_wrong);
    assert_int_equal(taker.got, MUCH);
    cor_http_call_end_body(g.a.call);
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_int_equal(g.a.got, MUCH);
    giver_deinit(&g);
    fix_deinit(&f);
}

/* The client's end reaches the handler, who goes on for a while. */
TEST_WAYS(tunnel, either_side_may_end_first)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    make_tunnel(&f, &g);
    g.left = 100000;
    giver_give(&g);
    assert_int_equal(g.left, 0);
    cor_http_call_end_body(g.a.call);
    await(&f.h, taker_has_ended, NULL);
    assert_int_equal(taker.got, 100000);
    assert_int_equal(cor_http_response_write(taker.resp, COR_STR("after")), 5);
    await(&f.h, giver_has, &g);
    assert_int_equal(taker.ngone, 0);
    cor_http_response_end(COR_STEAL(taker.resp));
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_string_equal(cor_buf_z(&g.a.text), "after");
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(tunnel, a_handler_that_takes_no_more_gets_the_rest_and_the_end_later)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    make_tunnel(&f, &g);
    taker.takes = 10;
    g.left = 50000;
    giver_give(&g);
    cor_http_call_end_body(g.a.call);
    await(&f.h, taker_has, &taker.takes);
    giver_rest(&f, &g);
    assert_false(taker.has_ended);
    taker.takes = UINT64_MAX;
    cor_http_response_resume_body(taker.resp);
    await(&f.h, taker_has_ended, NULL);
    assert_int_equal(taker.got, 50000);
    assert_false(taker.is_wrong);
    cor_http_response_end(COR_STEAL(taker.resp));
    await(&f.h, ask_is_done, &g.a);
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(tunnel, a_paused_caller_gets_the_rest_before_the_end)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    make_tunnel(&f, &g);
    cor_http_call_pause(g.a.call);
    g.forgets = true;
    assert_int_equal(cor_http_response_write(taker.resp, pattern(0, 40000)), 40000);
    cor_http_response_end(COR_STEAL(taker.resp));
    giver_rest(&f, &g);
    assert_int_equal(g.a.got, 0);
    assert_false(g.a.is_done);
    cor_http_call_resume(g.a.call);
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_int_equal(g.a.got, 40000);
    assert_false(g.is_wrong);
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(tunnel, another_answer_is_an_ordinary_one)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    taker = (struct taker){.takes = UINT64_MAX};
    assert_int_equal(open_tunnel(&f, &g, "/tunnel"), 0);
    await(&f.h, taker_has_head, NULL);
    cor_http_response_send(COR_STEAL(taker.resp), 403, NULL, 0, COR_STR("no"));
    await(&f.h, ask_is_done, &g.a);
    assert_int_equal(g.a.r, 0);
    assert_string_equal(cor_buf_z(&g.a.text), "403 no");
    assert_answer(&f, "GET", "/x", "", 0, "200 ");
    giver_deinit(&g);
    fix_deinit(&f);
}

static bool taker_has_heard(void *arg)
{
    return taker.has_ended || taker.ngone > 0;
}

/* Over TCP a caller that gives a tunnel up and one that ends its side look alike. */
TEST_WAYS(tunnel, each_end_may_give_up_at_any_time)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){0});
    for (int state = 0; state < 5; state++) {
        if (state < 2) {
            taker = (struct taker){.takes = UINT64_MAX};
            assert_int_equal(open_tunnel(&f, &g, "/tunnel"), 0);
            if (state == 1)
                await(&f.h, taker_has_head, NULL);
        } else {
            make_tunnel(&f, &g);
        }
        if (state < 3) {
            cor_http_call_cancel(g.a.call);
            if (taker.nheads > 0)
                await(&f.h, taker_has_heard, NULL);
            if (taker.resp)
                cor_http_response_end(COR_STEAL(taker.resp));
        } else if (state == 3) {
            cor_http_response_abort(COR_STEAL(taker.resp));
            await(&f.h, ask_is_done, &g.a);
        } else {
            cor_http_server_close(f.h.server, 10, http_on_closed, &f.h);
            await(&f.h, taker_is_gone, NULL);
            assert_int_equal(taker.ndrained, 1);
            await(&f.h, ask_is_done, &g.a);
        }
        giver_deinit(&g);
    }
    fix_deinit(&f);
}

TEST_WAYS(tunnel, a_deadline_ends_it)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){.request_timeout_ms = 100});
    make_tunnel(&f, &g);
    cor_http_response_set_deadline(taker.resp, 0);
    await(&f.h, taker_is_gone, NULL);
    assert_int_equal(taker.why, -COR_ETIMEOUT);
    await(&f.h, ask_is_done, &g.a);
    giver_deinit(&g);
    fix_deinit(&f);
}

/* Writes for as long as something is taken. */
static bool taker_is_gone_or_writes(void *arg)
{
    while (taker.ngone == 0 && cor_http_response_write(taker.resp, pattern(0, PATTERN_MAX)) > 0)
        ;
    return taker.ngone > 0;
}

TEST_WAYS(tunnel, a_client_that_reads_nothing_of_what_waits_is_cut_in_time)
{
    struct fix f;
    struct giver g;

    bodies_init(&f, way, (struct cor_http_limits){.request_timeout_ms = 100});
    make_tunnel(&f, &g);
    cor_http_call_pause(g.a.call);
    await(&f.h, taker_is_gone_or_writes, NULL);
    assert_int_equal(taker.why, -COR_ETIMEOUT);
    cor_http_call_cancel(g.a.call);
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(tunnel, tunnels_are_connections_and_have_their_maximum)
{
    struct fix f;
    struct giver g, second;

    bodies_init_opts(&f, way, (struct cor_http_limits){0},
                     (struct cor_http_client_opts){.connections_max = 1});
    make_tunnel(&f, &g);
    assert_int_equal(open_tunnel(&f, &second, "/tunnel"), -COR_EBUSY);
    giver_deinit(&second);
    cor_http_call_cancel(g.a.call);
    giver_deinit(&g);
    fix_deinit(&f);
}

TEST_WAYS(tunnel, any_allocation_may_fail)
{
    struct fix f;

    bodies_init(&f, way, (struct cor_http_limits){0});
    FOR_EACH_FAILED_ALLOC(n) {
        struct giver g;
        int r;

        test_fail_alloc(0, false);
        assert_answer(&f, "GET", "/x", "", 0, "200 ");
        taker = (struct taker){.takes = 100};
        test_fail_alloc(n, false);
        r = open_tunnel(&f, &g, "/tunnel");
        g.forgets = true;
        while (r == 0 && !g.a.is_done) {
            cor_loop_run_until(f.h.loop, ask_is_done, &g.a, 1);
            if (taker.resp && taker.nheads == 1) {
                taker.nheads++;
                taker_stream();
                cor_http_response_tunnel(taker.resp, upgrade_headers, 2);
                taker.echoes = true;
            } else if (taker.resp && taker.got == 100) {
                taker.takes = UINT64_MAX;
                cor_http_response_resume_body(taker.resp);
            }
            if (!g.a.is_done && cor_str_eqz(cor_buf_str(&g.a.text), "101 ") && g.given == 0) {
                g.left = 30000;
                giver_give(&g);
            }
            if (!g.a.is_done && g.a.got == 30000 && !g.has_ended) {
                g.has_ended = true;
                cor_http_call_end_body(g.a.call);
            }
        }
        assert_true((r == 0 && g.a.r == 0 && g.a.got == 30000 && !g.is_wrong) ||
                    test_alloc_failed());
        test_fail_alloc(0, false);
        taker_let_go(&f);
        giver_deinit(&g);
    }
    fix_deinit(&f);
}
