#include "coracle/runtime.h"

#include <assert.h>
#include <signal.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/runtime_int.h"

/* Other threads' mail; what it asks for is bounded where it is taken. */
#define MAIL_MAX     (1u << 16)
#define CLOSE_MAX_MS (60 * 1000u)

static int make_pumped(struct cor_runtime *rt)
{
    return cor_pump_new(rt->loop, &rt->pump);
}

/* The program's signals are handled by the program's threads. */
static int start_loop(struct cor_runtime *rt)
{
    sigset_t all, old;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = cor_loop_start(rt->loop, "coracle-io");
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r;
}

static int make_threaded(struct cor_runtime *rt, unsigned handler_threads)
{
    int r;

    if (handler_threads == 0)
        handler_threads = COR_RUNTIME_HANDLER_THREADS;
    r = cor_handler_pool_new(handler_threads, &rt->pool);
    if (r < 0)
        return r;
    r = start_loop(rt);
    if (r < 0)
        rt->pool = cor_handler_pool_free(rt->pool);
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

/* The loop is idle and the caller's. */
static void free_idle(struct cor_runtime *rt)
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
    static const struct cor_runtime_opts defaults;
    struct cor_runtime *rt;
    int r;

    if (!opts)
        opts = &defaults;
    if (opts->handler_threads > COR_RUNTIME_HANDLER_THREADS_MAX)
        return -COR_EINVAL;
    rt = cor_calloc(1, sizeof(*rt));
    if (!rt)
        return -COR_ENOMEM;
    rt->kind = opts->kind;
    rt->resolve = opts->resolve;
    rt->resolve_arg = opts->resolve_arg;
    atomic_init(&rt->nusers, 0);
    r = cor_loop_new(MAIL_MAX, &rt->loop);
    if (r == 0)
        r = cor_net_open(rt->loop, &rt->net);
    if (r == 0)
        r = rt->kind == COR_RUNTIME_PUMPED ? make_pumped(rt)
                                           : make_threaded(rt, opts->handler_threads);
    if (r < 0)
        free_idle(rt);
    else
        *ret_runtime = rt;
    return r;
}

struct cor_runtime *cor_runtime_free(struct cor_runtime *rt)
{
    if (!rt)
        return NULL;
    assert(atomic_load(&rt->nusers) == 0);
    assert(!cor_loop_is_running(rt->loop));
    cor_handler_pool_free(rt->pool);
    if (rt->kind == COR_RUNTIME_THREADS)
        cor_loop_stop(rt->loop);
    free_idle(rt);
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
    if (!cor_loop_is_current(rt->loop) || cor_loop_is_running(rt->loop))
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

int cor_runtime_wait(struct cor_runtime *rt, struct cor_waiter *w, uint64_t timeout_ms)
{
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

/* The loop's own thread may touch it between turns; the pump then looks at it again. */
void cor_runtime_run(struct cor_runtime *rt, void (*fn)(void *arg), void *arg)
{
    struct errand e = {.mail.on_mail = on_errand, .fn = fn, .arg = arg};

    if (cor_loop_is_current(rt->loop)) {
        fn(arg);
        if (rt->pump && !cor_loop_is_running(rt->loop))
            cor_pump_rearm(rt->pump);
        return;
    }
    cor_waiter_init(&e.done);
    cor_loop_reply(rt->loop, &e.mail);
    cor_runtime_wait(rt, &e.done, COR_WAIT_FOREVER);
    cor_waiter_deinit(&e.done);
}
