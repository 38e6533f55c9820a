/* A callback on a loop that a signal handler asks for. */
#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/cleanup.h"
#include "loop/loop.h"
#include "loop/pump.h"
#include "loop/trigger.h"
#include "test.h"

#define PATIENCE_MS 60000

struct world {
    struct cor_loop *loop;
    struct cor_trigger trigger;
    int nfired;
    bool removes_itself;
};

static struct world *signalled;

static void on_fired(struct cor_trigger *trigger)
{
    struct world *w = COR_CONTAINER_OF(trigger, struct world, trigger);

    assert_true(cor_loop_is_running(w->loop));
    w->nfired++;
    if (w->removes_itself)
        cor_trigger_deinit(trigger);
}

static void on_signal(int signo)
{
    (void)signo;
    cor_trigger_fire(&signalled->trigger);
}

static void begin(struct world *w)
{
    *w = (struct world){0};
    assert_int_equal(cor_loop_new(8, &w->loop), 0);
    cor_trigger_init(&w->trigger, w->loop, on_fired);
}

static void end(struct world *w)
{
    cor_trigger_deinit(&w->trigger);
    cor_loop_free(w->loop);
}

static bool has_fired(void *arg)
{
    return ((struct world *)arg)->nfired > 0;
}

TEST(trigger, fires_on_the_loop_after_a_signal)
{
    struct sigaction action = {.sa_handler = on_signal}, old;
    struct world w;

    begin(&w);
    signalled = &w;
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    raise(SIGUSR1);
    assert_int_equal(w.nfired, 0);
    assert_true(cor_loop_run_until(w.loop, has_fired, &w, PATIENCE_MS));
    assert_int_equal(sigaction(SIGUSR1, &old, NULL), 0);
    end(&w);
}

TEST(trigger, that_is_fired_twice_calls_once_and_keeps_errno)
{
    struct world w;

    begin(&w);
    errno = EDOM;
    cor_trigger_fire(&w.trigger);
    cor_trigger_fire(&w.trigger);
    assert_int_equal(errno, EDOM);
    cor_loop_run_ready(w.loop, 16);
    assert_int_equal(w.nfired, 1);
    cor_trigger_fire(&w.trigger);
    cor_loop_run_ready(w.loop, 16);
    assert_int_equal(w.nfired, 2);
    end(&w);
}

TEST(trigger, makes_the_descriptor_of_a_pump_readable)
{
    struct world w;
    struct cor_pump *pump;
    struct pollfd p = {.events = POLLIN};

    begin(&w);
    w.removes_itself = true;
    assert_int_equal(cor_pump_new(w.loop, &pump), 0);
    cor_pump_run(pump);
    p.fd = cor_pump_fd(pump);
    assert_int_equal(poll(&p, 1, 0), 0);
    cor_trigger_fire(&w.trigger);
    assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
    cor_pump_run(pump);
    assert_int_equal(w.nfired, 1);
    cor_pump_free(pump);
    end(&w);
}
