#include "client/runtime/waiter.h"

#include <errno.h>

#include "base/deadline.h"
#include "base/err.h"

/* Far enough to be forever, near enough to be added to a clock. */
#define LONGEST_MS (UINT64_C(1000) * 86400 * 36500)

void cor_waiter_init(struct cor_waiter *w)
{
    pthread_condattr_t attr;

    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &attr);
    pthread_condattr_destroy(&attr);
    w->is_set = false;
}

void cor_waiter_deinit(struct cor_waiter *w)
{
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

/* Signals under the lock: whoever waits takes it before the waiter goes. */
void cor_waiter_set(struct cor_waiter *w)
{
    pthread_mutex_lock(&w->lock);
    w->is_set = true;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
}

static bool is_set(void *arg)
{
    struct cor_waiter *w = arg;
    bool set;

    pthread_mutex_lock(&w->lock);
    set = w->is_set;
    pthread_mutex_unlock(&w->lock);
    return set;
}

static int wait_for_other_thread(struct cor_waiter *w, uint64_t timeout_ms)
{
    struct timespec until = cor_deadline_in_ms(timeout_ms);
    int r = 0;

    pthread_mutex_lock(&w->lock);
    while (!w->is_set && r == 0)
        r = pthread_cond_timedwait(&w->changed, &w->lock, &until) == ETIMEDOUT ? -COR_ETIMEOUT : 0;
    if (w->is_set)
        r = 0;
    pthread_mutex_unlock(&w->lock);
    return r;
}

int cor_waiter_wait(struct cor_waiter *w, struct cor_loop *loop, struct cor_pump *pump,
                    uint64_t timeout_ms)
{
    bool done;

    if (timeout_ms > LONGEST_MS)
        timeout_ms = LONGEST_MS;
    if (!cor_loop_is_current(loop))
        return wait_for_other_thread(w, timeout_ms);
    if (cor_loop_is_running(loop))
        return -COR_EINVAL;
    done = cor_loop_run_until(loop, is_set, w, timeout_ms);
    if (pump)
        cor_pump_rearm(pump);
    return done ? 0 : -COR_ETIMEOUT;
}
