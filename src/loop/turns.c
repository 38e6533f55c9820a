/* The meter of a loop precedes the loop's sleep (a prepare handle). The thread's CPU clock does not
 * run while the thread sleeps, so one reading there ends a turn and begins the next one; the system
 * calls of the sleep itself count as the next turn's. The wall clock does run: what it showed when
 * the loop woke up is libuv's own time, which a check handle behind the sockets keeps. That time
 * has milliseconds, and so has a turn's.
 *
 * libuv calls prepare handles from the one that was started last to the first. The meter is started
 * first, so that the work of others before the sleep (net sends) counts for the turn that caused
 * it.
 * Thread: only the one that is measured writes; readers see each number whole. */
#include "loop/turns.h"

#include <assert.h>
#include <time.h>

#include "loop/loop_int.h"

/* Pieces that are alike, and took less time than this together, are short: the clock is read once
 * for GROWTH times as many next, up to GROUP_MAX. */
#define GROUP_SHORT_US 100
#define GROUP_MAX      16
#define GROWTH         4

const uint64_t cor_loop_turn_buckets[COR_LOOP_TURN_BUCKETS] = {
    50, 100, 250, 500, 1000, 2500, 5000, 10000, 20000, 50000, 100000, 1000000};

static uint64_t clock_us(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* One writer: a load and a store will do. */
static void bump(_Atomic uint64_t *v, uint64_t by)
{
    atomic_store_explicit(v, atomic_load_explicit(v, memory_order_relaxed) + by,
                          memory_order_relaxed);
}

static void count_turn(struct cor_turn_series *series, uint64_t took_us)
{
    size_t i = 0;

    while (i < COR_LOOP_TURN_BUCKETS && took_us > cor_loop_turn_buckets[i])
        i++;
    bump(&series->counts[i], 1);
    bump(&series->sum_us, took_us);
    if (took_us > atomic_load_explicit(&series->max_us, memory_order_relaxed))
        atomic_store_explicit(&series->max_us, took_us, memory_order_relaxed);
}

void cor_turn_meter_begin(struct cor_turn_meter *meter)
{
    meter->wall_us = clock_us(CLOCK_MONOTONIC);
    meter->cpu_us = clock_us(CLOCK_THREAD_CPUTIME_ID);
}

void cor_turn_meter_end(struct cor_turn_meter *meter)
{
    count_turn(&meter->cpu, clock_us(CLOCK_THREAD_CPUTIME_ID) - meter->cpu_us);
    count_turn(&meter->wall, clock_us(CLOCK_MONOTONIC) - meter->wall_us);
}

static void get_figures(const struct cor_turn_series *series, struct cor_turn_figures *ret)
{
    for (size_t i = 0; i <= COR_LOOP_TURN_BUCKETS; i++)
        ret->counts[i] = atomic_load_explicit(&series->counts[i], memory_order_relaxed);
    ret->sum_us = atomic_load_explicit(&series->sum_us, memory_order_relaxed);
    ret->max_us = atomic_load_explicit(&series->max_us, memory_order_relaxed);
}

void cor_turn_meter_get(const struct cor_turn_meter *meter, struct cor_loop_turns *ret_turns)
{
    get_figures(&meter->cpu, &ret_turns->cpu);
    get_figures(&meter->wall, &ret_turns->wall);
}

static void on_woken(uv_check_t *check)
{
    struct cor_loop *loop = check->data;

    loop->woke_ms = uv_now(check->loop);
    loop->is_awake = true;
}

static void on_turn_end(uv_prepare_t *prepare)
{
    struct cor_loop *loop = prepare->data;
    struct cor_turn_meter *meter = &loop->turns;
    uint64_t now_us = clock_us(CLOCK_THREAD_CPUTIME_ID), now_ms = uv_hrtime() / 1000000;

    /* The first turn of a run begins in the middle of what the thread did before. */
    if (loop->is_awake) {
        count_turn(&meter->cpu, now_us - meter->cpu_us);
        count_turn(&meter->wall, now_ms > loop->woke_ms ? (now_ms - loop->woke_ms) * 1000 : 0);
    }
    loop->is_awake = false;
    loop->nturns++;
    meter->cpu_us = now_us;
}

void cor_loop_measure_turns(struct cor_loop *loop)
{
    assert(cor_loop_is_current(loop) && !loop->started);
    loop->nturns = 1;
    uv_prepare_start(&loop->turn_end, on_turn_end);
    uv_check_start(&loop->woken, on_woken);
}

/* The clock was read between two groups of pieces: how many are in the next one? */
static void begin_group(struct cor_turn_share *share, uint64_t now_us)
{
    bool is_short = share->are_alike && now_us - share->looked_us < GROUP_SHORT_US;

    share->group = !is_short ? 1 : share->group < GROUP_MAX ? GROWTH * share->group : GROUP_MAX;
    share->left = share->group - 1;
    share->looked_us = now_us;
}

/* Most turns have one piece, and read no clock. */
bool cor_turn_share_take(struct cor_turn_share *share, const struct cor_loop *loop, uint64_t max_us,
                         bool has_waited)
{
    uint64_t turn = loop->nturns, now_us;

    if (turn == 0)
        return true;
    if (!has_waited && share->crowded > 0 && turn - share->crowded <= 1)
        return false;
    if (share->turn != turn) {
        share->turn = turn;
        share->n = share->left = 0;
    }
    if (share->left > 0) {
        share->left--;
        return true;
    }
    if (share->n++ == 0) {
        share->since_us = share->counts_first ? uv_hrtime() / 1000 : 0;
        share->looked_us = share->group = 0;
        return true;
    }
    now_us = uv_hrtime() / 1000;
    if (share->n == 2 && !share->counts_first)
        share->since_us = now_us;
    if (now_us - share->since_us < max_us) {
        begin_group(share, now_us);
        return true;
    }
    share->crowded = turn;
    return false;
}

const struct cor_turn_meter *cor_loop_turn_meter(const struct cor_loop *loop)
{
    return &loop->turns;
}

void cor_loop_get_turns(const struct cor_loop *loop, struct cor_loop_turns *ret_turns)
{
    cor_turn_meter_get(&loop->turns, ret_turns);
}
