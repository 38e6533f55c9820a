/* The rate limit, through the client. Contract client 4.9.1, 4.9.2. */
#include "rest_fixture.h"

#include "kit/rest/rest_throttle.h"

struct crowd {
    size_t ndone;
    int order[16];
};

struct one {
    struct crowd *crowd;
    int id;
};

static void on_one_done(void *arg, const struct cor_rest_result *result)
{
    struct one *o = arg;

    assert_null(result->error);
    o->crowd->order[o->crowd->ndone++] = o->id;
}

static const struct cor_rest_cbs one_cbs = {NULL, NULL, on_one_done};

static bool is_crowd_done(void *arg)
{
    return ((struct crowd *)arg)->ndone == 6;
}

TEST(rest_throttle, a_burst_goes_at_once_and_the_rest_in_order_by_the_rate)
{
    struct crowd crowd = {0};
    struct one ones[6];
    struct world w;
    uint64_t began;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 20, .burst = 2});
    began = cor_loop_now_ms(w.loop);
    for (int i = 0; i < 6; i++) {
        struct cor_rest_request_opts opts = {
            .target = COR_STR("/x"), .cbs = &one_cbs, .arg = &ones[i]};
        struct cor_rest_request *req;

        ones[i] = (struct one){&crowd, i};
        assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    }
    world_until(&w, is_crowd_done, &crowd);
    /* Four of them waited for a token each. */
    assert_true(cor_loop_now_ms(w.loop) - began >= 4 * 50 - 5);
    for (int i = 2; i < 6; i++)
        assert_int_equal(crowd.order[i], i);
    world_end(&w);
}

/* Contract client 4.9.1. */
TEST(rest_throttle, a_watch_does_not_wait)
{
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001, .burst = 1});
    ask(&w, "/x", &h);
    heard_deinit(&h);
    ask_with(&w, (struct cor_rest_request_opts){.kind = COR_REST_WATCH, .target = COR_STR("/x")},
             &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_throttle, all_api_groups_have_one_limit)
{
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001, .burst = 1});
    ask(&w, "/api/v1/pods", &h);
    heard_deinit(&h);
    ask_with(&w,
             (struct cor_rest_request_opts){.target = COR_STR("/apis/apps/v1/deployments"),
                                            .deadline_ms = 100000},
             &h);
    assert_int_equal(h.err, -COR_ETIMEOUT);
    assert_int_equal(w.nasked, 1);
    heard_deinit(&h);
    world_end(&w);
}

/* Many documents are asked for at once. */
TEST(rest_throttle, discovery_has_a_line_and_a_burst_of_its_own)
{
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001});
    for (int i = 0; i < 30; i++) {
        ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .is_discovery = true},
                 &h);
        assert_int_equal(h.err, 0);
        heard_deinit(&h);
    }
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.2. */
TEST(rest_throttle, who_cannot_get_a_turn_in_time_is_told_at_once)
{
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001, .burst = 1});
    ask(&w, "/x", &h);
    heard_deinit(&h);
    /* The next token is 1,000 s away, the deadline 100. */
    ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .deadline_ms = 100000},
             &h);
    assert_int_equal(h.err, -COR_ETIMEOUT);
    assert_non_null(strstr(cor_status_message(&h.error), "client rate limiter Wait returned"));
    assert_int_equal(w.nasked, 1);
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_throttle, at_zero_and_below_there_is_no_limit)
{
    static const double none[] = {0, -1};

    for (size_t i = 0; i < COR_ARRAY_LEN(none); i++) {
        struct cor_rest_throttle t = {0};
        struct cor_rest_turn turn = {0};
        struct cor_loop *loop;

        assert_int_equal(cor_loop_new(8, &loop), 0);
        assert_int_equal(cor_rest_throttle_init(&t, loop, none[i], 1), 0);
        for (int request = 0; request < 100; request++)
            assert_true(cor_rest_throttle_enter(&t, &turn));
        cor_rest_throttle_deinit(&t);
        cor_loop_free(loop);
    }
}

/* Contract client 4.8.8, 4.9.1: waiting for a turn is no part of the request's own time. */
TEST(rest_throttle, a_timeout_begins_after_the_wait)
{
    struct world w;
    struct heard h;
    uint64_t began_ms;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 5, .burst = 1});
    began_ms = cor_loop_now_ms(w.loop);
    ask(&w, "/x", &h);
    heard_deinit(&h);
    ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .timeout_ms = 100}, &h);
    /* On a slow machine it may be late, but not before it had its turn. */
    assert_true(h.err == 0 || h.err == -COR_ETIMEOUT);
    assert_true(h.err == 0 || cor_loop_now_ms(w.loop) - began_ms >= 200);
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_throttle, a_newcomer_stands_behind_those_who_wait)
{
    struct cor_rest_turn first = {0}, second = {0}, third = {0};
    struct cor_rest_throttle t = {0};
    struct cor_loop *loop;

    cor_dlist_init(&first.link);
    cor_dlist_init(&second.link);
    cor_dlist_init(&third.link);
    assert_int_equal(cor_loop_new(8, &loop), 0);
    assert_int_equal(cor_rest_throttle_init(&t, loop, 0.001, 1), 0);
    assert_true(cor_rest_throttle_enter(&t, &first));
    assert_false(cor_rest_throttle_enter(&t, &second));
    /* The next token is 1,000 s away, and the second's. */
    assert_false(cor_rest_throttle_has_turn(&t, 1500 * 1000));
    assert_true(cor_rest_throttle_has_turn(&t, 2500 * 1000));
    t.bucket.tokens = 1; /* it has come, and the loop has not seen it yet */
    assert_false(cor_rest_throttle_enter(&t, &third));
    cor_rest_throttle_leave(&t, &third);
    cor_rest_throttle_leave(&t, &second);
    assert_true(cor_rest_throttle_enter(&t, &third));
    cor_rest_throttle_deinit(&t);
    cor_loop_free(loop);
}
