/* The meter stands before the loop's sleep (a prepare handle). The thread's CPU clock does not run
 * while the thread sleeps, so one reading there ends a turn and begins the next one; the system
 * calls of the sleep itself count as the next turn's.
 *
 * libuv calls prepare handles from the one that was started last to the first. The meter is started
 * first, so that what others do before the sleep (net sends) belongs to the turn that asked for it.
 * Thread: only the loop writes; readers see each number whole. */
#include "loop/turns.h"

#include <assert.h>
#include <time.h>

#include "loop/loop_int.h"

const uint64_t cor_loop_turn_buckets[COR_LOOP_TURN_BUCKETS] = {
    50, 100, 250, 500, 1000, 2500, 5000, 10000, 20000, 50000, 100000, 1000000};

static uint64_t thread_cpu_us(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* One writer: a load and a store will do. */
static void bump(_Atomic uint64_t *v, uint64_t by)
{
    atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

static void on_turn_end(uv_prepare_t *prepare)
{
    struct cor_loop *loop = prepare->data;
    struct cor_turn_meter *meter = &loop->turns;
    uint64_t now_us = thread_cpu_us(), took_us = now_us - meter->last_us;
    size_t i = 0;

    /* Another thread's clock has another zero: the first reading on a thread only begins a turn. */
    if (meter->home == atomic_load_explicit(&loop->home, memory_order_relaxed)) {
        while (i < COR_LOOP_TURN_BUCKETS && took_us > cor_loop_turn_buckets[i])
            i++;
        bump(&meter->counts[i], 1);
        bump(&meter->sum_us, took_us);
        if (took_us > atomic_load_explicit(&meter->max_us, memory_order_relaxed))
            atomic_store_explicit(&meter->max_us, took_us, memory_order_relaxed);
    }
    meter->home = atomic_load_explicit(&loop->home, memory_order_relaxed);
    meter->last_us = now_us;
}

void cor_loop_measure_turns(struct cor_loop *loop)
{
    assert(cor_loop_is_current(loop) && !loop->started);
    uv_prepare_start(&loop->turn_end, on_turn_end);
}

void cor_loop_get_turns(const struct cor_loop *loop, struct cor_loop_turns *ret_turns)
{
    const struct cor_turn_meter *meter = &loop->turns;

    for (size_t i = 0; i <= COR_LOOP_TURN_BUCKETS; i++)
        ret_turns->counts[i] = atomic_load_explicit(&meter->counts[i], memory_order_relaxed);
    ret_turns->sum_us = atomic_load_explicit(&meter->sum_us, memory_order_relaxed);
    ret_turns->max_us = atomic_load_explicit(&meter->max_us, memory_order_relaxed);
}
