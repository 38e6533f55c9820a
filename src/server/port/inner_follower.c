/* The life of what follows a resource in process. Its end has two parts: the reconciles end, then
 * the port frees what was cancelled, which may take one more turn and is not reported; so it is
 * looked at each millisecond.
 * Thread: the loop of the API's part. */
#include "server/port/inner_follower.h"

#include <assert.h>

#include "base/err.h"
#include "loop/loop.h"

#define NEVER         UINT64_MAX
#define IDLE_CHECK_MS 1

static void follower_check_idle(struct cor_inner_follower *f)
{
    if (!cor_inner_port_is_idle(&f->port) || f->is_busy(f)) {
        (void)cor_timer_set(&f->idle, IDLE_CHECK_MS);
        return;
    }
    cor_timer_cancel(&f->idle);
    f->on_stopped(f);
}

static void follower_on_timer(struct cor_timer *timer)
{
    follower_check_idle(COR_CONTAINER_OF(timer, struct cor_inner_follower, idle));
}

/* Without a stop the first list took too long: nothing is followed any more. */
static void follower_on_ended(void *arg, const struct cor_status *why)
{
    struct cor_inner_follower *f = arg;

    f->is_following = false;
    cor_inner_port_drain(&f->port);
    if (f->on_stopped)
        follower_check_idle(f);
}

int cor_inner_follower_init(struct cor_inner_follower *f,
                            const struct cor_inner_follower_opts *opts, struct cor_status *reterr)
{
    const struct cor_feed_what what = {.of = {.at = {.gvr = *opts->resource}}};
    const struct cor_reconciler_env env = {.port = &f->port.port,
                                           .clock = opts->clock,
                                           .rand = &f->rand,
                                           .on_stopped = follower_on_ended,
                                           .arg = f};
    int r;

    assert(opts->reconciler->is_fed_by_owner && opts->is_busy);
    *f = (struct cor_inner_follower){.is_busy = opts->is_busy};
    cor_rand_init(&f->rand);
    cor_feed_handler_init(&f->handler, opts->handler);
    cor_inner_port_init(&f->port, opts->home, COR_STR(""), opts->user_agent, 0);
    cor_timer_init(&f->idle, f->port.port.loop, follower_on_timer);
    r = cor_timer_set(&f->idle, NEVER);
    if (r < 0)
        return cor_status_set_err(reterr, r);
    r = cor_reconciler_init(&f->reconciler, opts->reconciler, &env, reterr);
    return r < 0 ? r
                 : cor_port_controller_follow(f->reconciler.controller, &what, &f->handler.store,
                                              NULL, reterr);
}

void cor_inner_follower_deinit(struct cor_inner_follower *f)
{
    if (!f->is_busy)
        return;
    cor_timer_cancel(&f->idle);
    cor_reconciler_deinit(&f->reconciler);
    cor_inner_port_deinit(&f->port);
}

int cor_inner_follower_start(struct cor_inner_follower *f, struct cor_status *reterr)
{
    assert(!f->is_following);
    f->is_following = true;
    return cor_reconciler_start(&f->reconciler, reterr);
}

void cor_inner_follower_stop(struct cor_inner_follower *f, uint64_t max_ms,
                             void (*on_stopped)(struct cor_inner_follower *f))
{
    assert(on_stopped && !f->on_stopped && cor_loop_is_current(f->port.port.loop));
    f->on_stopped = on_stopped;
    if (f->is_following)
        cor_reconciler_stop(&f->reconciler, max_ms);
    else
        follower_on_ended(f, NULL);
}
