#include "base/clock.h"
#include "loop/loop.h"
#include "storage/engine/engine_int.h"
#include "storage/store/lease_manager.h"
#include "test.h"

/* An engine that only grants leases: 1, 2, 3 …, or fails. */
struct grantor {
    struct cor_engine engine;
    int64_t granted, last_ttl_s;
    int fail;
};

static void grant(struct cor_engine *engine, struct cor_engine_req *req)
{
    struct grantor *g = COR_CONTAINER_OF(engine, struct grantor, engine);
    struct cor_lease_req *lease = COR_CONTAINER_OF(req, struct cor_lease_req, req);

    g->last_ttl_s = lease->ttl_s;
    if (g->fail < 0) {
        cor_engine_req_fail(req, g->fail, "no leases today");
        return;
    }
    lease->ret_id = ++g->granted;
    cor_engine_req_done(req, 0);
}

static const struct cor_engine_ops grantor_ops = {.submit = grant};

struct bed {
    struct grantor grantor;
    struct cor_loop *loop;
    struct cor_clock_manual clock;
    struct cor_lease_manager lm;
};

static void bed_open(struct bed *b, int64_t objects_max)
{
    struct cor_lease_limits limits = {.objects_max = objects_max};

    *b = (struct bed){.grantor.engine.ops = &grantor_ops};
    assert_int_equal(cor_loop_new(64, &b->loop), 0);
    cor_clock_manual_init(&b->clock, 1000000, 0);
    cor_lease_manager_init(&b->lm, &b->grantor.engine, b->loop, &b->clock.clock, &limits);
}

static void bed_close(struct bed *b)
{
    cor_lease_manager_deinit(&b->lm);
    cor_loop_free(b->loop);
}

struct wish {
    struct cor_lease_want want;
    bool done;
    struct bed *bed;
    struct wish *next; /* asked from within on_lease */
};

static void on_lease(struct cor_lease_want *want);

static void ask(struct bed *b, struct wish *w, int64_t ttl_s)
{
    w->bed = b;
    w->want = (struct cor_lease_want){.ttl_s = ttl_s, .on_lease = on_lease};
    w->done = cor_lease_manager_acquire(&b->lm, &w->want);
}

static void on_lease(struct cor_lease_want *want)
{
    struct wish *w = COR_CONTAINER_OF(want, struct wish, want);

    assert_false(w->done);
    w->done = true;
    if (w->next)
        ask(w->bed, w->next, want->ttl_s);
}

static bool is_done(void *arg)
{
    return ((struct wish *)arg)->done;
}

static int64_t lease_for(struct bed *b, int64_t ttl_s)
{
    struct wish w = {0};

    ask(b, &w, ttl_s);
    assert_true(cor_loop_run_until(b->loop, is_done, &w, 60000));
    assert_int_equal(w.want.result, 0);
    return w.want.id;
}

/* TestGetReuseDurationSeconds */
TEST(lease_manager, window_is_five_percent_and_at_most_a_minute)
{
    struct bed b;

    bed_open(&b, 0);
    assert_int_equal(cor_lease_manager_window(&b.lm, 3600), 60);
    assert_int_equal(cor_lease_manager_window(&b.lm, 1000), 50);
    assert_int_equal(cor_lease_manager_window(&b.lm, 1200), 60);
    assert_int_equal(cor_lease_manager_window(&b.lm, 19), 0);
    bed_close(&b);
}

TEST(lease_manager, grant_is_longer_by_the_window)
{
    struct bed b;

    bed_open(&b, 0);
    assert_int_equal(lease_for(&b, 3600), 1);
    assert_int_equal(b.grantor.last_ttl_s, 3660);
    assert_int_equal(lease_for(&b, 1), 2);
    assert_int_equal(b.grantor.last_ttl_s, 1);
    bed_close(&b);
}

TEST(lease_manager, lease_is_used_again_within_the_window_only)
{
    struct bed b;

    bed_open(&b, 0);
    assert_int_equal(lease_for(&b, 3600), 1);
    /* now + ttl + window is not after the expiry: the same instant asks for a lease of its own */
    assert_int_equal(lease_for(&b, 3600), 2);
    cor_clock_manual_advance(&b.clock, 1);
    assert_int_equal(lease_for(&b, 3600), 2);
    cor_clock_manual_advance(&b.clock, 59000);
    assert_int_equal(lease_for(&b, 3600), 2);
    cor_clock_manual_advance(&b.clock, 1000);
    assert_int_equal(lease_for(&b, 3600), 3);
    bed_close(&b);
}

TEST(lease_manager, lease_that_is_too_long_for_the_object_is_not_used)
{
    struct bed b;

    bed_open(&b, 0);
    assert_int_equal(lease_for(&b, 3600), 1);
    cor_clock_manual_advance(&b.clock, 1000);
    assert_int_equal(lease_for(&b, 100), 2);
    assert_int_equal(b.grantor.last_ttl_s, 105);
    bed_close(&b);
}

/* TestLeaseMaxObjectCount */
TEST(lease_manager, lease_serves_at_most_so_many_objects)
{
    struct bed b;

    bed_open(&b, 2);
    assert_int_equal(lease_for(&b, 1000), 1);
    cor_clock_manual_advance(&b.clock, 10);
    assert_int_equal(lease_for(&b, 1000), 1);
    assert_int_equal(lease_for(&b, 1000), 2);
    cor_clock_manual_advance(&b.clock, 10);
    assert_int_equal(lease_for(&b, 1000), 2);
    assert_int_equal(lease_for(&b, 1000), 3);
    bed_close(&b);
}

TEST(lease_manager, who_comes_while_a_grant_is_under_way_shares_it)
{
    struct wish first = {0}, second = {0}, third = {0};
    struct bed b;

    bed_open(&b, 0);
    first.next = &third;
    ask(&b, &first, 1000);
    cor_clock_manual_advance(&b.clock, 1);
    ask(&b, &second, 1000);
    assert_false(first.done || second.done);
    assert_true(cor_loop_run_until(b.loop, is_done, &third, 60000));
    assert_true(first.done && second.done);
    assert_int_equal(first.want.id, 1);
    assert_int_equal(second.want.id, 1);
    assert_int_equal(third.want.id, 1);
    assert_int_equal(b.grantor.granted, 1);
    bed_close(&b);
}

TEST(lease_manager, failed_grant_is_told_and_the_next_one_asks_again)
{
    struct wish first = {0}, second = {0};
    struct bed b;

    bed_open(&b, 0);
    b.grantor.fail = -COR_EIO;
    ask(&b, &first, 1000);
    ask(&b, &second, 1000);
    b.grantor.fail = 0;
    assert_true(cor_loop_run_until(b.loop, is_done, &second, 60000));
    assert_int_equal(first.want.result, -COR_EIO);
    assert_int_equal(first.want.id, 0);
    assert_int_equal(second.want.result, 0);
    assert_int_equal(second.want.id, 1);
    bed_close(&b);
}
