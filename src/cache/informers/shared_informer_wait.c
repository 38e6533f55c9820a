/* Waiting for an informer's cache: by a callback, or on a thread of the program's. */
#include "base/deadline.h"
#include "base/err.h"
#include "base/lock.h"
#include "cache/informers/shared_informer_int.h"

int cor_shared_informer_on_synced(struct cor_shared_informer *inf, cor_cache_wait_fn fn, void *arg,
                                  uint64_t *ret_id)
{
    return cor_delta_fifo_wait_synced(cor_cache_controller_queue(inf->controller), fn, arg, ret_id);
}

int cor_shared_informer_on_rv(struct cor_shared_informer *inf, struct cor_str rv,
                              cor_cache_wait_fn fn, void *arg, uint64_t *ret_id)
{
    return cor_delta_fifo_wait_rv(cor_cache_controller_queue(inf->controller), rv, fn, arg, ret_id);
}

bool cor_shared_informer_cancel_wait(struct cor_shared_informer *inf, uint64_t id)
{
    return cor_delta_fifo_cancel_wait(cor_cache_controller_queue(inf->controller), id);
}

void cor_shared_informer_last_rv(struct cor_shared_informer *inf,
                                 char to[COR_CACHE_WAITER_RV_MAX + 1])
{
    cor_delta_fifo_last_rv(cor_cache_controller_queue(inf->controller), to);
}

/* A thread that sleeps until it is called. */
struct sleeper {
    struct cor_lock lock;
    struct cor_cond called;
    bool is_called;
    int r;
};

static void sleeper_init(struct sleeper *s)
{
    *s = (struct sleeper){0};
    cor_lock_init(&s->lock, COR_LOCK_SYNC_WAIT);
    cor_cond_init(&s->called);
}

static void sleeper_deinit(struct sleeper *s)
{
    cor_cond_deinit(&s->called);
    cor_lock_deinit(&s->lock);
}

static void wake(void *arg, int r)
{
    struct sleeper *s = arg;

    cor_lock_acquire(&s->lock);
    s->is_called = true;
    s->r = r;
    cor_cond_signal(&s->called);
    cor_lock_release(&s->lock);
}

static bool sleep_until(struct sleeper *s, const struct timespec *until)
{
    bool called;

    cor_lock_acquire(&s->lock);
    while (!s->is_called) {
        if (!until)
            cor_cond_wait(&s->called, &s->lock);
        else if (!cor_cond_wait_until(&s->called, &s->lock, until))
            break;
    }
    called = s->is_called;
    cor_lock_release(&s->lock);
    return called;
}

/* A wait that cannot be taken back any more is about to be called: the stack it points to must live
 * until then. */
static int sleep_for(struct cor_shared_informer *inf, struct sleeper *s, uint64_t id,
                     uint64_t timeout_ms)
{
    struct timespec until = cor_deadline_in_ms(timeout_ms < INT32_MAX ? timeout_ms : INT32_MAX);

    if (sleep_until(s, &until))
        return s->r;
    if (cor_shared_informer_cancel_wait(inf, id))
        return -COR_ETIMEOUT;
    sleep_until(s, NULL);
    return s->r;
}

int cor_shared_informer_wait_synced(struct cor_shared_informer *inf, uint64_t timeout_ms)
{
    struct sleeper s;
    uint64_t id;
    int r;

    sleeper_init(&s);
    r = cor_shared_informer_on_synced(inf, wake, &s, &id);
    if (r == 0)
        r = sleep_for(inf, &s, id, timeout_ms);
    sleeper_deinit(&s);
    return r < 0 ? r : 0;
}

int cor_shared_informer_wait_rv(struct cor_shared_informer *inf, struct cor_str rv,
                                uint64_t timeout_ms)
{
    struct sleeper s;
    uint64_t id;
    int r;

    sleeper_init(&s);
    r = cor_shared_informer_on_rv(inf, rv, wake, &s, &id);
    if (r == 0)
        r = sleep_for(inf, &s, id, timeout_ms);
    sleeper_deinit(&s);
    return r < 0 ? r : 0;
}
