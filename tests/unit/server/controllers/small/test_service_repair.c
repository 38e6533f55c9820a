/* The controller that has the reservations of Services repaired: when it asks the allocators for a
 * pass, and what a client sees of the pass. The times are tried with a port of the test's, on a
 * loop whose timers follow a clock of the test's. */
#include "../host_fixture.h"

#include "base/err.h"
#include "base/rand.h"
#include "scripted_port.h"
#include "server/alloc/repair.h"
#include "server/controllers/host/builtin.h"

#define NAME "ipallocator-repair-controller"
#define LOST                                                                                       \
    "{\"metadata\":{\"name\":\"10.0.0.50\",\"labels\":{\"ipaddress.kubernetes.io/ip-family\":"     \
    "\"IPv4\",\"ipaddress.kubernetes.io/managed-by\":\"ipallocator.k8s.io\"}},\"spec\":"           \
    "{\"parentRef\":{\"resource\":\"services\",\"namespace\":\"default\",\"name\":\"lost\"}}}"

/* ---- times ---- */

struct stage {
    struct scripted_port sp;
    struct cor_loop *loop;
    struct cor_rand rand;
    struct cor_repair_port repair;
    uint64_t due_in_ms;
    struct cor_repair_ask *ask; /* not answered yet */
    uint64_t asked_ms[8];
    size_t nasks;
    void *controller;
    bool is_stopped;
};

static void on_ask(struct cor_repair_port *port, struct cor_repair_ask *ask)
{
    struct stage *s = COR_CONTAINER_OF(port, struct stage, repair);

    assert_null(s->ask);
    assert_ptr_equal(ask->loop, s->loop);
    assert_true(s->nasks < COR_ARRAY_LEN(s->asked_ms));
    s->asked_ms[s->nasks++] = cor_clock_mono_ms(&s->sp.clock.clock);
    s->ask = ask;
}

static uint64_t due_in_ms(struct cor_repair_port *port)
{
    return COR_CONTAINER_OF(port, struct stage, repair)->due_in_ms;
}

static void answer(struct stage *s, int err, uint64_t next_ms)
{
    struct cor_repair_ask *ask = COR_STEAL(s->ask);

    assert_non_null(ask);
    ask->err = err;
    ask->next_ms = next_ms;
    ask->on_done(ask);
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    assert_null(why);
    ((struct stage *)arg)->is_stopped = true;
}

/* Lets `ms` pass, a hundredth of a second at a time. */
static void pass(struct stage *s, uint64_t ms)
{
    for (uint64_t passed = 0; passed <= ms; passed += 10) {
        scripted_run(&s->sp, passed == 0 ? 0 : 10);
        (void)cor_loop_run_ready(s->loop, 8);
    }
}

static int make_controller(struct stage *s)
{
    const struct cor_server_controller_env env = {.port = &s->sp.port,
                                                  .clock = &s->sp.clock.clock,
                                                  .rand = &s->rand,
                                                  .repair = &s->repair,
                                                  .on_stopped = on_stopped,
                                                  .arg = s};

    return cor_service_repair_ops.new(&env, &s->controller, NULL);
}

static void open_stage(struct stage *s)
{
    *s = (struct stage){.repair = {on_ask, due_in_ms}};
    scripted_port_init(&s->sp);
    assert_int_equal(cor_loop_new(64, &s->loop), 0);
    cor_loop_use_clock(s->loop, &s->sp.clock.clock);
    s->sp.port.loop = s->loop;
    cor_rand_init_seeded(&s->rand, 1);
}

static void start(struct stage *s)
{
    assert_int_equal(make_controller(s), 0);
    assert_int_equal(cor_service_repair_ops.start(s->controller, NULL), 0);
    pass(s, 0);
}

static void stop(struct stage *s)
{
    cor_service_repair_ops.stop(s->controller, 1000);
    pass(s, 10);
    assert_true(s->is_stopped);
    cor_service_repair_ops.free(s->controller);
}

static void close_stage(struct stage *s)
{
    scripted_port_deinit(&s->sp);
    s->loop = cor_loop_free(s->loop);
}

/* The pass of the server's start is not repeated: the first one follows when that says so. Times
 * that are more than a second away are rounded up to a second. */
TEST(service_repair, asks_for_a_pass_when_the_last_one_says_so)
{
    struct stage s;
    uint64_t began;

    open_stage(&s);
    s.due_in_ms = COR_REPAIR_INTERVAL_MS;
    began = cor_clock_mono_ms(&s.sp.clock.clock);
    start(&s);
    pass(&s, COR_REPAIR_INTERVAL_MS - 1000);
    assert_int_equal(s.nasks, 0);
    pass(&s, 2100);
    assert_int_equal(s.nasks, 1);
    assert_true(s.asked_ms[0] >= began + COR_REPAIR_INTERVAL_MS);
    /* A pass takes as long as it takes: nobody asks meanwhile. */
    pass(&s, 2 * COR_REPAIR_GRACE_MS);
    assert_int_equal(s.nasks, 1);
    answer(&s, 0, COR_REPAIR_GRACE_MS);
    began = cor_clock_mono_ms(&s.sp.clock.clock);
    pass(&s, COR_REPAIR_GRACE_MS + 1100);
    assert_int_equal(s.nasks, 2);
    assert_uint_in_range(s.asked_ms[1], began + COR_REPAIR_GRACE_MS,
                         began + COR_REPAIR_GRACE_MS + 1100);
    /* A failure has a time too. */
    answer(&s, -COR_EIO, 10000);
    began = cor_clock_mono_ms(&s.sp.clock.clock);
    pass(&s, 11100);
    assert_int_equal(s.nasks, 3);
    assert_uint_in_range(s.asked_ms[2], began + 10000, began + 11100);
    answer(&s, 0, COR_REPAIR_INTERVAL_MS);
    stop(&s);
    close_stage(&s);
}

/* A pass cannot be cancelled: its answer comes when the controller is freed already. */
TEST(service_repair, does_not_wait_for_a_pass_when_it_is_stopped)
{
    struct stage s;

    open_stage(&s);
    start(&s);
    assert_int_equal(s.nasks, 1);
    stop(&s);
    answer(&s, -COR_ECANCELED, 0);
    close_stage(&s);
}

TEST(service_repair, fails_cleanly_without_memory)
{
    struct stage s;

    open_stage(&s);
    FOR_EACH_FAILED_ALLOC(n) {
        s.is_stopped = false;
        s.nasks = 0;
        if (make_controller(&s) < 0)
            continue;
        if (cor_service_repair_ops.start(s.controller, NULL) < 0) {
            cor_service_repair_ops.free(s.controller);
            continue;
        }
        pass(&s, 2000); /* the limiter tries a key again for which there was no memory */
        assert_int_equal(s.nasks, 1);
        answer(&s, 0, COR_REPAIR_INTERVAL_MS);
        stop(&s);
    }
    close_stage(&s);
}

/* ---- over the allocators ---- */

static void open_with_leak(struct hfx *h)
{
    pfx_open(&h->p, false);
    hfx_do(h, 201, "POST", ADDRESSES, LOST);
    afx_repair(&h->p.a);
    cor_clock_manual_advance_us(&h->p.a.fx.clock, (uint64_t)COR_REPAIR_GRACE_MS * 1000);
}

/* Contract types 4.5.6. */
TEST(service_repair, releases_an_address_that_no_service_has)
{
    struct hfx h;

    open_with_leak(&h);
    hfx_start(&h, NAME);
    hfx_await(&h, ADDRESSES "/10.0.0.50", "spec.parentRef.name", "");
    hfx_do(&h, 404, "GET", ADDRESSES "/10.0.0.50", "");
    hfx_close(&h);
}

TEST(service_repair, a_host_that_stops_leaves_the_pass_to_the_allocators)
{
    struct hfx h;

    open_with_leak(&h);
    pfx_hold(&h.p, COR_ENGINE_RANGE, "services/specs");
    hfx_start(&h, NAME);
    afx_wait_held(&h.p.a, &h.p.hold);
    hfx_stop(&h);
    pfx_let_go(&h.p);
    hfx_await(&h, ADDRESSES "/10.0.0.50", "spec.parentRef.name", "");
    pfx_close(&h.p);
}

struct seen {
    bool has_repair;
    size_t n;
};

static void on_queue(void *arg, const char *queue, const struct cor_workqueue_stats *stats)
{
    struct seen *seen = arg;

    seen->n++;
    seen->has_repair |= strcmp(queue, NAME) == 0;
}

static bool has_queues(void *arg)
{
    struct seen seen = {0};

    cor_controller_host_each_queue(((struct hfx *)arg)->host, on_queue, &seen);
    return seen.n > 0;
}

static bool runs(const char *list)
{
    struct hfx h;
    struct seen seen = {0};

    hfx_open(&h, list);
    pfx_wait(&h.p, has_queues, &h);
    cor_controller_host_each_queue(h.host, on_queue, &seen);
    hfx_close(&h);
    return seen.has_repair;
}

TEST(service_repair, the_list_of_controllers_switches_it_off)
{
    assert_true(runs(NULL));
    assert_false(runs("*,-" NAME));
}
