#include "loop/timer.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "loop/loop_int.h"

#define HEAP_FIRST_CAP 16

static bool is_before(const struct cor_timer *a, const struct cor_timer *b)
{
    return a->due_ms < b->due_ms || (a->due_ms == b->due_ms && a->seq < b->seq);
}

static void place(struct cor_timers *ts, size_t slot, struct cor_timer *timer)
{
    ts->heap[slot] = timer;
    timer->slot = slot;
}

static void sift_up(struct cor_timers *ts, struct cor_timer *timer)
{
    size_t slot = timer->slot;

    while (slot > 0 && is_before(timer, ts->heap[(slot - 1) / 2])) {
        place(ts, slot, ts->heap[(slot - 1) / 2]);
        slot = (slot - 1) / 2;
    }
    place(ts, slot, timer);
}

static void sift_down(struct cor_timers *ts, struct cor_timer *timer)
{
    size_t slot = timer->slot, child;

    while ((child = 2 * slot + 1) < ts->n) {
        if (child + 1 < ts->n && is_before(ts->heap[child + 1], ts->heap[child]))
            child++;
        if (!is_before(ts->heap[child], timer))
            break;
        place(ts, slot, ts->heap[child]);
        slot = child;
    }
    place(ts, slot, timer);
}

static void sift(struct cor_timers *ts, struct cor_timer *timer)
{
    sift_up(ts, timer);
    sift_down(ts, timer);
}

static int insert(struct cor_timers *ts, struct cor_timer *timer)
{
    if (ts->n == ts->cap) {
        size_t cap = ts->cap ? ts->cap * 2 : HEAP_FIRST_CAP;
        struct cor_timer **heap = cor_realloc(ts->heap, cap * sizeof(struct cor_timer *));

        if (!heap)
            return -COR_ENOMEM;
        ts->heap = heap;
        ts->cap = cap;
    }
    place(ts, ts->n++, timer);
    return 0;
}

static void drop(struct cor_timers *ts, struct cor_timer *timer)
{
    struct cor_timer *last = ts->heap[--ts->n];

    if (last != timer) {
        place(ts, timer->slot, last);
        sift(ts, last);
    }
    timer->slot = SIZE_MAX;
}

static void on_handle(uv_timer_t *handle);

/* A timer that a timer callback sets for now waits for the next turn: libuv would run it in this
 * one, and a timer that sets itself again and again would keep the loop from its other work. */
static void arm(struct cor_loop *loop, uint64_t delay_min_ms)
{
    struct cor_timers *ts = &loop->timers;
    uint64_t now_ms = uv_now(&loop->uv), delay_ms;

    if (ts->n == 0)
        return;
    if (uv_is_active((uv_handle_t *)&ts->handle) && ts->armed_ms <= ts->heap[0]->due_ms)
        return;
    delay_ms = ts->heap[0]->due_ms > now_ms ? ts->heap[0]->due_ms - now_ms : 0;
    ts->armed_ms = ts->heap[0]->due_ms;
    uv_timer_start(&ts->handle, on_handle, delay_ms > delay_min_ms ? delay_ms : delay_min_ms, 0);
}

/* Timers that are set while this runs have a later number and due time than those that were due, so
 * the first of them at the top of the heap ends the round. */
static void on_handle(uv_timer_t *handle)
{
    struct cor_loop *loop = handle->data;
    struct cor_timers *ts = &loop->timers;
    uint64_t now_ms = uv_now(&loop->uv), end_seq = ts->next_seq;

    ts->firing = true;
    while (ts->n > 0 && ts->heap[0]->due_ms <= now_ms && ts->heap[0]->seq < end_seq) {
        struct cor_timer *timer = ts->heap[0];

        drop(ts, timer);
        timer->on_timer(timer);
    }
    ts->firing = false;
    arm(loop, 1);
}

void cor_timers_init(struct cor_loop *loop)
{
    uv_timer_init(&loop->uv, &loop->timers.handle);
    loop->timers.handle.data = loop;
}

void cor_timers_close(struct cor_loop *loop)
{
    assert(loop->timers.n == 0);
    uv_close((uv_handle_t *)&loop->timers.handle, NULL);
}

void cor_timers_deinit(struct cor_loop *loop)
{
    loop->timers.heap = cor_free(loop->timers.heap);
}

void cor_timer_init(struct cor_timer *timer, struct cor_loop *loop,
                    void (*on_timer)(struct cor_timer *timer))
{
    *timer = (struct cor_timer){.loop = loop, .on_timer = on_timer, .slot = SIZE_MAX};
}

int cor_timer_set(struct cor_timer *timer, uint64_t delay_ms)
{
    struct cor_timers *ts = &timer->loop->timers;
    uint64_t now_ms;
    int r;

    assert(cor_loop_is_current(timer->loop));
    if (!cor_timer_is_set(timer)) {
        r = insert(ts, timer);
        if (r < 0)
            return r;
    }
    if (!timer->loop->running)
        uv_update_time(&timer->loop->uv);
    now_ms = uv_now(&timer->loop->uv);
    timer->due_ms = delay_ms < UINT64_MAX - now_ms ? now_ms + delay_ms : UINT64_MAX;
    timer->seq = ts->next_seq++;
    sift(ts, timer);
    if (!ts->firing)
        arm(timer->loop, 0);
    return 0;
}

void cor_timer_cancel(struct cor_timer *timer)
{
    if (!cor_timer_is_set(timer))
        return;
    assert(cor_loop_is_current(timer->loop));
    drop(&timer->loop->timers, timer);
}

bool cor_timer_is_set(const struct cor_timer *timer)
{
    return timer->slot != SIZE_MAX;
}
