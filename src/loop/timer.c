/* All timers of a loop share one libuv timer, the handle, which is armed for the earliest of them.
 * A heap keeps the timers by due time, and equal ones in the order in which they were set.
 *
 * Setting a timer puts it into the heap (-COR_ENOMEM when the heap cannot grow; a timer that is set
 * already only moves, which cannot fail), and arms the handle if the new timer is the earliest.
 * Cancelling takes it out of the heap and leaves the handle: it may fire for nothing, and is armed
 * again then. With a clock of the program's (cor_loop_use_clock()) the handle is armed only for
 * timers that are due, and cor_timers_rearm() looks again before each run of turns.
 *
 * Thread: the loop's. */
#include "loop/timer.h"

#include <assert.h>

#include "base/cleanup.h"
#include "loop/loop_int.h"

static struct cor_timer *timers_earliest(const struct cor_timers *ts)
{
    struct cor_due *due = cor_due_heap_peek(&ts->heap);

    return due ? COR_CONTAINER_OF(due, struct cor_timer, due) : NULL;
}

static void on_handle(uv_timer_t *handle);

static uint64_t timers_now_ms(const struct cor_loop *loop)
{
    return loop->clock ? cor_clock_mono_ms(loop->clock) : uv_now(&loop->uv);
}

/* A timer that a timer callback sets for now waits for the next turn: libuv would run it in this
 * one, and a timer that sets itself again and again would keep the loop from its other work. */
static void timers_arm(struct cor_loop *loop, uint64_t delay_min_ms)
{
    struct cor_timers *ts = &loop->timers;
    uint64_t now_ms = timers_now_ms(loop), delay_ms;
    const struct cor_due *first = cor_due_heap_peek(&ts->heap);

    if (!first)
        return;
    /* Nothing sleeps until a clock that the program moves: the next run of turns looks again. */
    if (loop->clock && first->at > now_ms)
        return;
    if (uv_is_active((uv_handle_t *)&ts->handle) && ts->armed_ms <= first->at)
        return;
    delay_ms = first->at > now_ms ? first->at - now_ms : 0;
    ts->armed_ms = first->at;
    uv_timer_start(&ts->handle, on_handle, delay_ms > delay_min_ms ? delay_ms : delay_min_ms, 0);
}

/* Timers that are set while this runs have a later number and due time than those that were due, so
 * the first of them at the top of the heap ends the round. */
static void on_handle(uv_timer_t *handle)
{
    struct cor_loop *loop = handle->data;
    struct cor_timers *ts = &loop->timers;
    uint64_t now_ms = timers_now_ms(loop), end_seq = ts->heap.next_seq;
    struct cor_timer *timer;

    assert(!ts->firing);
    ts->firing = true;
    while ((timer = timers_earliest(ts)) && timer->due.at <= now_ms && timer->due.seq < end_seq) {
        cor_due_heap_remove(&ts->heap, &timer->due);
        timer->on_timer(timer);
    }
    ts->firing = false;
    if (!loop->clock)
        timers_arm(loop, 1);
}

void cor_timers_rearm(struct cor_loop *loop)
{
    if (loop->clock)
        timers_arm(loop, 0);
}

void cor_timers_init(struct cor_loop *loop)
{
    uv_timer_init(&loop->uv, &loop->timers.handle);
    loop->timers.handle.data = loop;
}

void cor_timers_close(struct cor_loop *loop)
{
    assert(!timers_earliest(&loop->timers));
    uv_close((uv_handle_t *)&loop->timers.handle, NULL);
}

void cor_timers_deinit(struct cor_loop *loop)
{
    cor_due_heap_deinit(&loop->timers.heap);
}

void cor_timer_init(struct cor_timer *timer, struct cor_loop *loop,
                    void (*on_timer)(struct cor_timer *timer))
{
    assert(loop && on_timer);
    *timer = (struct cor_timer){.loop = loop, .on_timer = on_timer};
    cor_due_init(&timer->due);
}

int cor_timer_set(struct cor_timer *timer, uint64_t delay_ms)
{
    struct cor_timers *ts = &timer->loop->timers;
    uint64_t now_ms;
    int r;

    assert(cor_loop_is_current(timer->loop));
    if (!timer->loop->running)
        uv_update_time(&timer->loop->uv);
    now_ms = timers_now_ms(timer->loop);
    r = cor_due_heap_put(&ts->heap, &timer->due,
                         delay_ms < UINT64_MAX - now_ms ? now_ms + delay_ms : UINT64_MAX);
    if (r < 0)
        return r;
    if (!ts->firing)
        timers_arm(timer->loop, 0);
    return 0;
}

void cor_timer_cancel(struct cor_timer *timer)
{
    if (!cor_timer_is_set(timer))
        return;
    assert(cor_loop_is_current(timer->loop));
    cor_due_heap_remove(&timer->loop->timers.heap, &timer->due);
}

bool cor_timer_is_set(const struct cor_timer *timer)
{
    return cor_due_is_set(&timer->due);
}
