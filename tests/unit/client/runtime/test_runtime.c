/* Both kinds of runtime, and both at once. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/runtime/runtime_int.h"
#include "loop/timer.h"
#include "test.h"

#define PATIENCE_MS 60000

static const struct cor_runtime_opts pumped = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};

/* Something asked of a runtime's loop. */
struct ask {
    struct cor_mail mail;
    struct cor_runtime *rt;
    struct cor_waiter done;
    bool on_loop;
    int r_wait, r_pump;
};

static void on_ask(struct cor_mail *mail)
{
    struct ask *a = COR_CONTAINER_OF(mail, struct ask, mail);
    struct cor_waiter never;

    a->on_loop = cor_loop_is_running(a->rt->loop);
    cor_waiter_init(&never);
    a->r_wait = cor_runtime_wait(a->rt, &never, PATIENCE_MS);
    cor_waiter_deinit(&never);
    a->r_pump = cor_runtime_pump(a->rt);
    cor_waiter_set(&a->done);
}

static void ask(struct ask *a, struct cor_runtime *rt)
{
    *a = (struct ask){.mail.on_mail = on_ask, .rt = rt};
    cor_waiter_init(&a->done);
    cor_loop_post_always(rt->loop, &a->mail);
}

static void check_refused_inside(struct cor_runtime *rt)
{
    struct ask a;

    ask(&a, rt);
    assert_int_equal(cor_runtime_wait(rt, &a.done, PATIENCE_MS), 0);
    cor_waiter_deinit(&a.done);
    assert_true(a.on_loop);
    assert_int_equal(a.r_wait, -COR_EINVAL);
    assert_int_equal(a.r_pump, rt->kind == COR_RUNTIME_PUMPED ? -COR_EINVAL : -COR_ENOTSUP);
}

TEST(runtime, waiting_is_refused_inside_a_callback)
{
    struct cor_runtime *rt;

    assert_int_equal(cor_runtime_new(NULL, &rt), 0);
    check_refused_inside(rt);
    cor_runtime_free(rt);
    assert_int_equal(cor_runtime_new(&pumped, &rt), 0);
    check_refused_inside(rt);
    cor_runtime_free(rt);
    assert_null(cor_runtime_free(NULL));
}

TEST(runtime, only_a_pumped_one_has_a_descriptor)
{
    struct cor_runtime *rt;

    assert_int_equal(cor_runtime_new(NULL, &rt), 0);
    assert_int_equal(cor_runtime_fd(rt), -COR_ENOTSUP);
    assert_int_equal(cor_runtime_pump(rt), -COR_ENOTSUP);
    cor_runtime_free(rt);
    assert_int_equal(cor_runtime_new(&pumped, &rt), 0);
    assert_true(cor_runtime_fd(rt) >= 0);
    assert_int_equal(cor_runtime_pump(rt), 0);
    cor_runtime_free(rt);
}

TEST(runtime, refuses_more_handler_threads_than_its_maximum)
{
    struct cor_runtime_opts opts = {COR_RUNTIME_OPTS,
                                    .handler_threads = COR_RUNTIME_HANDLER_THREADS_MAX + 1};
    struct cor_runtime *rt;

    assert_int_equal(cor_runtime_new(&opts, &rt), -COR_EINVAL);
}

TEST(runtime, a_wait_ends_at_its_deadline)
{
    struct cor_runtime *threaded, *mine;
    struct cor_waiter never;

    cor_waiter_init(&never);
    assert_int_equal(cor_runtime_new(NULL, &threaded), 0);
    assert_int_equal(cor_runtime_new(&pumped, &mine), 0);
    assert_int_equal(cor_runtime_wait(threaded, &never, 5), -COR_ETIMEOUT);
    assert_int_equal(cor_runtime_wait(mine, &never, 5), -COR_ETIMEOUT);
    cor_runtime_free(threaded);
    cor_runtime_free(mine);
    cor_waiter_deinit(&never);
}

/* The program's loop: sleeps on the descriptor, then pumps. */
static void pump_until(struct cor_runtime *rt, atomic_int *counter, int n)
{
    struct pollfd p = {.fd = cor_runtime_fd(rt), .events = POLLIN};

    while (atomic_load(counter) < n) {
        int r = poll(&p, 1, PATIENCE_MS);

        assert_true(r > 0 || (r < 0 && errno == EINTR));
        assert_int_equal(cor_runtime_pump(rt), 0);
    }
}

#define CALLERS 6
#define CALLS   300

struct callers {
    struct cor_runtime *threaded, *pumped;
    atomic_int finished;
    int nthreaded, npumped; /* each on its loop only */
};

static void count_threaded(void *arg)
{
    ((struct callers *)arg)->nthreaded++;
}

static void count_pumped(void *arg)
{
    ((struct callers *)arg)->npumped++;
}

static void *call_much(void *arg)
{
    struct callers *c = arg;

    for (int i = 0; i < CALLS; i++) {
        cor_runtime_run(c->threaded, count_threaded, c);
        cor_runtime_run(c->pumped, count_pumped, c);
        assert_int_equal(cor_runtime_pump(c->pumped), -COR_EINVAL);
    }
    atomic_fetch_add(&c->finished, 1);
    return NULL;
}

static void finish(void *arg)
{
}

TEST(runtime, both_kinds_serve_many_threads_at_once)
{
    struct callers c = {.nthreaded = 0};
    pthread_t threads[CALLERS];

    assert_int_equal(cor_runtime_new(NULL, &c.threaded), 0);
    assert_int_equal(cor_runtime_new(&pumped, &c.pumped), 0);
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, call_much, &c), 0);
    while (atomic_load(&c.finished) < CALLERS) {
        struct pollfd p = {.fd = cor_runtime_fd(c.pumped), .events = POLLIN};

        poll(&p, 1, 10);
        assert_int_equal(cor_runtime_pump(c.pumped), 0);
    }
    for (int i = 0; i < CALLERS; i++)
        pthread_join(threads[i], NULL);
    cor_runtime_run(c.threaded, finish, NULL);
    assert_int_equal(c.nthreaded, CALLERS * CALLS);
    assert_int_equal(c.npumped, CALLERS * CALLS);
    cor_runtime_free(c.threaded);
    cor_runtime_free(c.pumped);
}

struct tick {
    struct cor_timer timer;
    atomic_int n;
};

static void on_tick(struct cor_timer *timer)
{
    struct tick *t = COR_CONTAINER_OF(timer, struct tick, timer);

    if (atomic_fetch_add(&t->n, 1) < 4)
        cor_timer_set(timer, 1);
}

static void start_ticking(void *arg)
{
    cor_timer_set(&((struct tick *)arg)->timer, 1);
}

TEST(runtime, timers_wake_a_program_that_only_waits_for_the_descriptor)
{
    struct cor_runtime *rt;
    struct tick t = {.n = 0};

    assert_int_equal(cor_runtime_new(&pumped, &rt), 0);
    cor_timer_init(&t.timer, rt->loop, on_tick);
    cor_runtime_run(rt, start_ticking, &t);
    pump_until(rt, &t.n, 5);
    cor_runtime_free(rt);
}

TEST(runtime, survives_failed_allocations)
{
    for (int kind = COR_RUNTIME_THREADS; kind <= COR_RUNTIME_PUMPED; kind++) {
        struct cor_runtime_opts opts = {COR_RUNTIME_OPTS, .kind = (enum cor_runtime_kind)kind};

        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_runtime *rt;
            int r = cor_runtime_new(&opts, &rt);

            assert_true(r == 0 || (r == -COR_ENOMEM && test_alloc_failed()));
            if (r < 0)
                continue;
            assert_int_equal(cor_runtime_fd(rt) >= 0, opts.kind == COR_RUNTIME_PUMPED);
            assert_int_equal(cor_runtime_pump(rt),
                             opts.kind == COR_RUNTIME_PUMPED ? 0 : -COR_ENOTSUP);
            cor_runtime_free(rt);
        }
    }
}

static void on_timer(struct cor_timer *timer)
{
    timer->on_timer = NULL;
}

/* A clock that the program moves drives every timer of a runtime that it pumps; a runtime whose
 * threads would sleep for it is refused. */
TEST(runtime, a_pumped_one_may_have_a_clock_of_the_programs)
{
    struct cor_clock_manual *clock;
    struct cor_runtime_opts opts = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_THREADS};
    struct cor_runtime *rt = NULL;
    struct cor_timer timer;

    assert_int_equal(cor_clock_manual_new(&clock), 0);
    opts.clock = cor_clock_manual_peek(clock);
    assert_int_equal(cor_runtime_new(&opts, &rt), -COR_EINVAL);
    opts.kind = COR_RUNTIME_PUMPED;
    assert_int_equal(cor_runtime_new(&opts, &rt), 0);
    cor_timer_init(&timer, rt->loop, on_timer);
    assert_int_equal(cor_timer_set(&timer, 86400000), 0);
    assert_int_equal(cor_runtime_pump(rt), 0);
    assert_non_null(timer.on_timer);
    cor_clock_manual_advance(clock, 86400000);
    assert_int_equal(cor_runtime_pump(rt), 0);
    assert_null(timer.on_timer);
    cor_runtime_free(rt);
    assert_null(cor_clock_manual_free(clock));
}

TEST(runtime, a_manual_clock_is_made_or_not)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_clock_manual *clock = NULL;
        int r = cor_clock_manual_new(&clock);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_clock_manual_free(clock);
    }
}
