/* A waiter is a flag with a condition variable. The thread that waits is either another thread,
 * which sleeps on the condition, or the loop's own thread between two turns, which runs turns until
 * the flag is set. Inside a callback of the loop neither is possible: -COR_EINVAL. Thread: see the
 * header. */
#include "client/runtime/waiter.h"

#include "base/deadline.h"
#include "base/err.h"

/* A century: forever, and still small enough to be added to a clock. */
#define LONGEST_MS (UINT64_C(1000) * 86400 * 36500)

void cor_waiter_init(struct cor_waiter *w)
{
    cor_lock_init(&w->lock, COR_LOCK_WAITER);
    cor_cond_init(&w->changed);
    w->is_set = false;
}

void cor_waiter_deinit(struct cor_waiter *w)
{
    cor_cond_deinit(&w->changed);
    cor_lock_deinit(&w->lock);
}

/* The signal is sent with the lock held: the thread that waits takes the lock before it returns, so
 * the waiter is not destroyed before this function has left it. */
void cor_waiter_set(struct cor_waiter *w)
{
    cor_lock_acquire(&w->lock);
    w->is_set = true;
    cor_cond_broadcast(&w->changed);
    cor_lock_release(&w->lock);
}

static bool waiter_is_set(void *arg)
{
    struct cor_waiter *w = arg;
    bool set;

    cor_lock_acquire(&w->lock);
    set = w->is_set;
    cor_lock_release(&w->lock);
    return set;
}

static int wait_for_other_thread(struct cor_waiter *w, uint64_t timeout_ms)
{
    struct timespec until = cor_deadline_in_ms(timeout_ms);
    int r = 0;

    cor_lock_acquire(&w->lock);
    while (!w->is_set && r == 0)
        r = cor_cond_wait_until(&w->changed, &w->lock, &until) ? 0 : -COR_ETIMEOUT;
    if (w->is_set)
        r = 0;
    cor_lock_release(&w->lock);
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
    done = cor_loop_run_until(loop, waiter_is_set, w, timeout_ms);
    if (pump)
        cor_pump_rearm(pump);
    return done ? 0 : -COR_ETIMEOUT;
}
