/* A loop inside another loop: here the other one is a bare poll(). */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/pump.h"
#include "loop/timer.h"
#include "test.h"

#define PATIENCE_MS 60000

struct world {
    struct cor_loop *loop;
    struct cor_pump *pump;
    struct cor_timer timer;
    struct cor_mail mail;
    int nmails, nfired, again;
    bool was_running;
};

static void on_timer(struct cor_timer *timer)
{
    struct world *w = COR_CONTAINER_OF(timer, struct world, timer);

    w->nfired++;
    w->was_running = cor_loop_is_running(w->loop);
    if (w->again-- > 0)
        assert_int_equal(cor_timer_set(timer, 0), 0);
}

static void on_mail(struct cor_mail *mail)
{
    struct world *w = COR_CONTAINER_OF(mail, struct world, mail);

    w->nmails++;
    if (w->again-- > 0)
        cor_loop_post_always(w->loop, mail);
}

static void begin(struct world *w)
{
    *w = (struct world){.mail.on_mail = on_mail};
    assert_int_equal(cor_loop_new(8, &w->loop), 0);
    assert_int_equal(cor_pump_new(w->loop, &w->pump), 0);
    cor_timer_init(&w->timer, w->loop, on_timer);
}

static void end(struct world *w)
{
    cor_timer_cancel(&w->timer);
    assert_null(cor_pump_free(w->pump));
    cor_loop_free(w->loop);
}

static bool is_readable(struct world *w, int timeout_ms)
{
    struct pollfd p = {.fd = cor_pump_fd(w->pump), .events = POLLIN};
    int r;

    do
        r = poll(&p, 1, timeout_ms);
    while (r < 0 && errno == EINTR);
    assert_true(r >= 0);
    return r > 0;
}

/* What a program does: sleeps until the descriptor is readable, then pumps. */
static void pump_until(struct world *w, const int *counter, int n)
{
    while (*counter < n) {
        assert_true(is_readable(w, PATIENCE_MS));
        cor_pump_run(w->pump);
    }
}

static void settle(struct world *w)
{
    while (is_readable(w, 0))
        cor_pump_run(w->pump);
}

TEST(pump, is_quiet_when_there_is_nothing_to_do)
{
    struct world w;

    begin(&w);
    settle(&w);
    assert_false(is_readable(&w, 0));
    assert_false(cor_loop_is_running(w.loop));
    end(&w);
}

TEST(pump, wakes_for_a_timer_without_a_timeout_of_the_programs)
{
    struct world w;
    uint64_t before_ms;

    begin(&w);
    settle(&w);
    before_ms = cor_loop_now_ms(w.loop);
    assert_int_equal(cor_timer_set(&w.timer, 20), 0);
    cor_pump_rearm(w.pump);
    pump_until(&w, &w.nfired, 1);
    assert_true(cor_loop_now_ms(w.loop) >= before_ms + 20);
    assert_true(w.was_running);
    settle(&w);
    end(&w);
}

TEST(pump, a_timer_that_sets_itself_again_goes_on)
{
    struct world w;

    begin(&w);
    w.again = 50;
    assert_int_equal(cor_timer_set(&w.timer, 0), 0);
    cor_pump_rearm(w.pump);
    pump_until(&w, &w.nfired, 51);
    end(&w);
}

TEST(pump, mail_from_its_own_thread_wakes_it)
{
    struct world w;

    begin(&w);
    settle(&w);
    assert_int_equal(cor_loop_post(w.loop, &w.mail), 0);
    assert_true(is_readable(&w, PATIENCE_MS));
    cor_pump_run(w.pump);
    assert_int_equal(w.nmails, 1);
    end(&w);
}

TEST(pump, mail_without_end_leaves_the_program_its_turn)
{
    struct world w;

    begin(&w);
    settle(&w);
    w.again = 1000;
    assert_int_equal(cor_loop_post(w.loop, &w.mail), 0);
    cor_pump_run(w.pump);
    assert_uint_in_range(w.nmails, 1, 999);
    assert_true(is_readable(&w, PATIENCE_MS));
    pump_until(&w, &w.nmails, 1001);
    end(&w);
}

static void *post_mail(void *arg)
{
    struct world *w = arg;

    assert_int_equal(cor_loop_post(w->loop, &w->mail), 0);
    return NULL;
}

TEST(pump, mail_from_another_thread_wakes_it)
{
    struct world w;
    pthread_t thread;

    begin(&w);
    settle(&w);
    assert_int_equal(pthread_create(&thread, NULL, post_mail, &w), 0);
    pump_until(&w, &w.nmails, 1);
    pthread_join(thread, NULL);
    end(&w);
}

static bool has_fired(void *arg)
{
    return ((struct world *)arg)->nfired > 0;
}

TEST(pump, goes_on_after_turns_that_it_has_not_run)
{
    struct world w;

    begin(&w);
    w.again = 1;
    assert_int_equal(cor_timer_set(&w.timer, 1), 0);
    assert_true(cor_loop_run_until(w.loop, has_fired, &w, PATIENCE_MS));
    cor_pump_rearm(w.pump);
    pump_until(&w, &w.nfired, 2);
    end(&w);
}

/* Neither sleeps nor depends on how fast the machine is: one run fires all that the clock has
 * reached, those that callbacks set for now too, and nothing else. */
TEST(pump, runs_the_timers_that_a_clock_of_the_programs_has_reached)
{
    struct cor_clock_manual clk;
    struct world w;

    cor_clock_manual_init(&clk, 1000, 0);
    begin(&w);
    cor_loop_use_clock(w.loop, &clk.clock);
    assert_int_equal(cor_loop_now_ms(w.loop), 1000);
    w.again = 100;
    assert_int_equal(cor_timer_set(&w.timer, 3600000), 0);
    cor_pump_run(w.pump);
    assert_int_equal(w.nfired, 0);
    assert_int_equal(cor_loop_next_ms(w.loop), UINT64_MAX);
    cor_clock_manual_advance(&clk, 3599999);
    cor_pump_run(w.pump);
    assert_int_equal(w.nfired, 0);
    cor_clock_manual_advance(&clk, 1);
    cor_pump_run(w.pump);
    assert_int_equal(w.nfired, 101);
    assert_int_equal(cor_loop_now_ms(w.loop), 3601000);
    end(&w);
}

/* Also in the run of a wait. */
TEST(pump, a_wait_runs_the_timers_that_a_clock_has_reached)
{
    struct cor_clock_manual clk;
    struct world w;

    cor_clock_manual_init(&clk, 1000, 0);
    begin(&w);
    cor_loop_use_clock(w.loop, &clk.clock);
    w.again = 1;
    assert_int_equal(cor_timer_set(&w.timer, 500), 0);
    cor_clock_manual_advance(&clk, 500);
    assert_true(cor_loop_run_until(w.loop, has_fired, &w, PATIENCE_MS));
    cor_pump_run(w.pump);
    assert_int_equal(w.nfired, 2);
    end(&w);
}

TEST(pump, survives_failed_allocations)
{
    struct cor_loop *loop;

    assert_int_equal(cor_loop_new(8, &loop), 0);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_pump *pump = NULL;

        int r = cor_pump_new(loop, &pump);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(r == 0, pump != NULL);
        if (r == 0)
            cor_pump_free(pump);
    }
    assert_null(cor_pump_free(NULL));
    cor_loop_free(loop);
}
