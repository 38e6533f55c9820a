/* clang-format off */
/* A runtime: a loop with its net, and either a thread for it and a pool for handlers, or a pump.
 *
 *   cor_runtime_new()  ──► loop, net ──► THREADS: patrol timer, pool, the loop's thread
 *                                    ──► PUMPED: a pump over the loop
 *   cor_runtime_free() ──► THREADS: the loop's thread ends, then the pool
 *                      ──► both: the caller's thread owns the loop now; net closes in its turns
 *
 * Other threads reach the loop by cor_runtime_run() (an errand: a mail on the caller's stack, and a
 * waiter) and by mails of their own.
 * Failures of making one release what was made, in the opposite order. Freeing cannot fail.
 * Thread: any, as each function says; a pumped runtime belongs to the thread that made it. */
/* clang-format on */
#include "coracle/runtime.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/runtime/runtime_int.h"
#include "meta/status/status.h"

/* Mails of other threads that may wait. What they ask for is bounded where it is accepted. */
#define MAIL_MAX     (1u << 16)
#define CLOSE_MAX_MS (60 * 1000u)
#define NO_PATROL_MS (UINT64_C(1000) * 86400 * 365)

static int runtime_make_pumped(struct cor_runtime *rt)
{
    cor_net_use_dns(rt->net, NULL);
    return cor_pump_new(rt->loop, &rt->pump);
}

/* The thread blocks all signals: the program's own threads handle the program's signals. */
static int runtime_start_loop(struct cor_runtime *rt)
{
    sigset_t all, old;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = cor_loop_start(rt->loop, "coracle-io");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r;
}

static void on_crowded(void *arg)
{
    struct cor_runtime *rt = arg;

    cor_loop_post_always(rt->loop, &rt->crowded);
}

/* Moving a timer that is set cannot fail. */
static void on_crowded_mail(struct cor_mail *mail)
{
    struct cor_runtime *rt = COR_CONTAINER_OF(mail, struct cor_runtime, crowded);

    if (rt->pool)
        cor_timer_set(&rt->patrol, COR_HANDLER_PATROL_MS);
}

/* Setting the timer again cannot fail: the heap of timers still has the room of this one. */
static void on_patrol(struct cor_timer *timer)
{
    struct cor_runtime *rt = COR_CONTAINER_OF(timer, struct cor_runtime, patrol);

    cor_timer_set(&rt->patrol, NO_PATROL_MS);
    if (cor_handler_pool_patrol(rt->pool))
        cor_timer_set(&rt->patrol, COR_HANDLER_PATROL_MS);
}

/* The loop has not been started, or has been stopped. */
static void runtime_free_pool(struct cor_runtime *rt)
{
    cor_timer_cancel(&rt->patrol);
    rt->pool = cor_handler_pool_free(rt->pool);
}

static int runtime_make_threaded(struct cor_runtime *rt, const struct cor_runtime_opts *opts)
{
    const struct cor_handler_pool_opts pool = {
        .nthreads = opts->handler_threads,
        .nthreads_max = opts->handler_threads_max,
        .on_crowded = on_crowded,
        .arg = rt,
    };
    int r;

    rt->crowded.on_mail = on_crowded_mail;
    cor_timer_init(&rt->patrol, rt->loop, on_patrol);
    r = cor_timer_set(&rt->patrol, NO_PATROL_MS);
    if (r == 0)
        r = cor_handler_pool_new(&pool, &rt->pool);
    if (r == 0)
        r = runtime_start_loop(rt);
    if (r < 0)
        runtime_free_pool(rt);
    return r;
}

static void on_net_closed(void *arg)
{
    *(bool *)arg = true;
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

/* The loop does not run, and the calling thread owns it. */
static void runtime_free_idle(struct cor_runtime *rt)
{
    bool closed = false;

    if (rt->net) {
        cor_net_close(rt->net, on_net_closed, &closed);
        cor_loop_run_until(rt->loop, is_true, &closed, CLOSE_MAX_MS);
    }
    cor_pump_free(rt->pump);
    cor_loop_free(rt->loop);
    cor_free(rt);
}

int cor_runtime_new(const struct cor_runtime_opts *opts, struct cor_runtime **ret_runtime)
{
    struct cor_runtime_opts o;
    struct cor_runtime *rt;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return r;
    if (o.handler_threads_max == 0)
        o.handler_threads_max = COR_RUNTIME_HANDLER_THREADS_MAX;
    if (o.handler_threads == 0)
        o.handler_threads = o.handler_threads_max < COR_RUNTIME_HANDLER_THREADS
                                ? o.handler_threads_max
                                : COR_RUNTIME_HANDLER_THREADS;
    if (o.handler_threads_max > COR_RUNTIME_HANDLER_THREADS_MAX ||
        o.handler_threads > o.handler_threads_max)
        return -COR_EINVAL;
    if (o.clock && o.kind != COR_RUNTIME_PUMPED)
        return -COR_EINVAL;
    rt = cor_calloc(1, sizeof(*rt));
    if (!rt)
        return -COR_ENOMEM;
    rt->kind = o.kind;
    rt->pid = getpid();
    rt->resolve = o.resolve;
    rt->resolve_arg = o.resolve_arg;
    rt->on_log = o.on_log;
    rt->log_arg = o.log_arg;
    atomic_init(&rt->nusers, 0);
    r = cor_loop_new(MAIL_MAX, &rt->loop);
    if (r == 0 && o.clock)
        cor_loop_use_clock(rt->loop, o.clock);
    rt->clock = o.clock ? o.clock : cor_clock_real();
    if (r == 0)
        r = cor_net_open(rt->loop, &rt->net);
    if (r == 0)
        r = rt->kind == COR_RUNTIME_PUMPED ? runtime_make_pumped(rt)
                                           : runtime_make_threaded(rt, &o);
    if (r < 0)
        runtime_free_idle(rt);
    else
        *ret_runtime = rt;
    return r;
}

struct cor_runtime *cor_runtime_free(struct cor_runtime *rt)
{
    if (!rt || cor_runtime_is_forked(rt))
        return NULL;
    assert(!cor_runtime_is_inside(rt) && !cor_runtime_is_in_handler(rt) &&
           "cor_runtime_free() was called inside a callback or a handler");
    assert(atomic_load(&rt->nusers) == 0 && "a client of the runtime was not freed");
    if (rt->kind == COR_RUNTIME_THREADS) {
        cor_loop_stop(rt->loop);
        runtime_free_pool(rt);
    }
    runtime_free_idle(rt);
    return NULL;
}

int cor_runtime_fd(const struct cor_runtime *rt)
{
    return rt->pump ? cor_pump_fd(rt->pump) : -COR_ENOTSUP;
}

int cor_runtime_pump(struct cor_runtime *rt)
{
    if (!rt->pump)
        return -COR_ENOTSUP;
    if (cor_runtime_is_forked(rt) || !cor_loop_is_current(rt->loop) ||
        cor_loop_is_running(rt->loop))
        return -COR_EINVAL;
    cor_pump_run(rt->pump);
    return 0;
}

void cor_runtime_enter(struct cor_runtime *rt)
{
    atomic_fetch_add(&rt->nusers, 1);
}

void cor_runtime_leave(struct cor_runtime *rt)
{
    atomic_fetch_sub(&rt->nusers, 1);
}

bool cor_runtime_is_inside(const struct cor_runtime *rt)
{
    return cor_loop_is_running(rt->loop);
}

bool cor_runtime_is_in_handler(const struct cor_runtime *rt)
{
    return rt->pool && cor_handler_pool_is_current(rt->pool);
}

bool cor_runtime_is_forked(const struct cor_runtime *rt)
{
    return getpid() != rt->pid;
}

int cor_runtime_may_wait(const struct cor_runtime *rt, struct cor_status *reterr)
{
    if (cor_runtime_is_forked(rt))
        return cor_status_set(reterr, -COR_EINVAL,
                              "the runtime was made before fork(): this process needs its own");
    if (cor_runtime_is_inside(rt))
        return cor_status_set(reterr, -COR_EINVAL,
                              "a call that waits cannot be made inside a callback of its runtime");
    return 0;
}

int cor_runtime_wait(struct cor_runtime *rt, struct cor_waiter *w, uint64_t timeout_ms)
{
    if (cor_runtime_is_forked(rt))
        return -COR_EINVAL;
    return cor_waiter_wait(w, rt->loop, rt->pump, timeout_ms);
}

struct errand {
    struct cor_mail mail;
    void (*fn)(void *arg);
    void *arg;
    struct cor_waiter done;
};

static void on_errand(struct cor_mail *mail)
{
    struct errand *e = COR_CONTAINER_OF(mail, struct errand, mail);

    e->fn(e->arg);
    cor_waiter_set(&e->done);
}

void cor_runtime_log(const struct cor_runtime *rt, enum cor_severity severity, const char *fmt, ...)
{
    char line[COR_RUNTIME_LOG_MAX];
    va_list args;

    assert(cor_loop_is_current(rt->loop));
    if (!rt->on_log)
        return;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    for (char *p = line; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    rt->on_log(rt->log_arg, severity, line);
}

/* On the loop's own thread `fn` is called at once, also between turns; the pump then looks again at
 * what is due. */
int cor_runtime_run(struct cor_runtime *rt, void (*fn)(void *arg), void *arg)
{
    struct errand e = {.mail.on_mail = on_errand, .fn = fn, .arg = arg};

    if (cor_runtime_is_forked(rt))
        return -COR_EINVAL;
    if (cor_loop_is_current(rt->loop)) {
        fn(arg);
        if (rt->pump && !cor_loop_is_running(rt->loop))
            cor_pump_rearm(rt->pump);
        return 0;
    }
    cor_waiter_init(&e.done);
    cor_loop_post_always(rt->loop, &e.mail);
    cor_runtime_wait(rt, &e.done, COR_WAIT_FOREVER);
    cor_waiter_deinit(&e.done);
    return 0;
}

struct attempt {
    int (*fn)(void *arg, struct cor_status *reterr);
    void *arg;
    struct cor_status *reterr;
    int r;
};

static void on_attempt(void *arg)
{
    struct attempt *a = arg;

    a->r = a->fn(a->arg, a->reterr);
}

int cor_runtime_try(struct cor_runtime *rt, int (*fn)(void *arg, struct cor_status *reterr),
                    void *arg, struct cor_status *reterr)
{
    struct attempt a = {.fn = fn, .arg = arg, .reterr = reterr};

    return cor_runtime_run(rt, on_attempt, &a) < 0 ? cor_runtime_may_wait(rt, reterr) : a.r;
}
