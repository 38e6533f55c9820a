/* Internals of a loop, for this folder only. */
#ifndef COR_LOOP_LOOP_INT_H
#define COR_LOOP_LOOP_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include <uv.h>

#include "base/clock.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "loop/trigger.h"
#include "loop/turns.h"

/* The timers that are set: earliest first, equal ones in the order of setting. */
struct cor_timers {
    uv_timer_t handle; /* armed for the earliest, or for one that was cancelled since */
    struct cor_due_heap heap;
    uint64_t armed_ms; /* when the handle fires, while it is active */
    bool firing;       /* callbacks are running; the handle is armed after them */
};

struct cor_loop {
    uv_loop_t uv;
    uv_poll_t wake;           /* on wake_fd */
    int wake_fd;              /* an eventfd; written by any other thread */
    uv_idle_t own_wake;       /* active: the loop's own thread has posted mail; no sleep */
    uv_prepare_t before_poll; /* cor_loop_run_until: looks at `done` before the loop would sleep */
    uv_timer_t deadline;      /* cor_loop_run_until */
    uv_prepare_t turn_end;    /* cor_loop_measure_turns */
    uv_check_t woken;         /* likewise */
    uint64_t woke_ms;         /* libuv's time when the turn began */
    bool is_awake;            /* the turn began in this run of the loop */
    uint64_t nturns;          /* that have begun since they are measured; 0: they are not */
    struct cor_turn_meter turns;
    struct cor_turn_share mail_share; /* what mail takes of each turn */
    struct cor_timers timers;
    const struct cor_clock *clock; /* the timers' and now_ms(); NULL: libuv's */
    struct cor_mailbox mailbox;
    struct cor_dlist triggers; /* each looked at when wake_fd is readable */
    pthread_t thread;
    bool started;
    bool running; /* inside uv_run(), whose time is the turn's */
    char name[16];
    _Atomic uintptr_t home; /* the thread that runs the loop; 0 while a thread starts */
    atomic_bool stopping;
};

void cor_timers_init(struct cor_loop *loop);

/* Before a run of turns: the clock of cor_loop_use_clock() may have reached timers. */
void cor_timers_rearm(struct cor_loop *loop);

/* No timer may be set. Closes the handle; the memory goes in cor_timers_deinit() after that. */
void cor_timers_close(struct cor_loop *loop);
void cor_timers_deinit(struct cor_loop *loop);

#endif
