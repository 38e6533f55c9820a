/* The threads that run informers' handlers. A task runs on one thread at a time. A task that blocks
 * occupies its thread and delays no other task: while every thread is inside a task and others
 * wait, threads are added up to a bound, and they end when they have been idle. The pool has no
 * timer: it asks for a patrol, which its owner calls from a timer. Owner: the runtime.  Thread:
 * any. */
#ifndef COR_CLIENT_HANDLER_POOL_H
#define COR_CLIENT_HANDLER_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dlist.h"

struct cor_handler_pool;

#define COR_HANDLER_PATROL_MS 10
#define COR_HANDLER_IDLE_MS   1000 /* after this an added thread ends */

/* clang-format off */
/*   release      wake            a thread takes it        run() has no more
 * HELD ──► IDLE ────► QUEUED ──────────────────► RUNNING ──────────────────► IDLE
 *                        ▲                           │ wake, or run() has more
 *                        └───────────────────────────┘ when it returns
 * A retired task is QUEUED or RUNNING, and goes from there to on_retired. */
/* clang-format on */
enum cor_handler_task_state {
    COR_HANDLER_TASK_HELD,
    COR_HANDLER_TASK_IDLE,
    COR_HANDLER_TASK_QUEUED,
    COR_HANDLER_TASK_RUNNING,
};

struct cor_handler_task;

struct cor_handler_task_ops {
    /* Does a part of the work, for some milliseconds unless it blocks. True: there is more work. */
    bool (*run)(struct cor_handler_task *task);
    /* On a thread of the pool: no run is under way and none will begin; the owner may free the
     * task. */
    void (*on_retired)(struct cor_handler_task *task);
    /* A patrol found that a run has been under way for `ms`; at most once for a run. Called with
     * the pool's lock held: it must not call the pool. May be NULL. */
    void (*on_stuck)(struct cor_handler_task *task, uint64_t ms);
};

/* Embedded by its owner. Everything but `ops` is under the pool's lock. */
struct cor_handler_task {
    struct cor_dlist link;
    const struct cor_handler_task_ops *ops;
    enum cor_handler_task_state state;
    bool woken;        /* while it is held or runs */
    bool retired;      /* no run begins any more */
    uint64_t began_ms; /* when the run under way did, by the real clock's coarse time; run() may
                          read it, too */
};

/* The task is HELD. `ops` must stay valid. */
void cor_handler_task_init(struct cor_handler_task *task, const struct cor_handler_task_ops *ops);

struct cor_handler_pool_opts {
    unsigned nthreads;     /* that always exist; at least 1 */
    unsigned nthreads_max; /* together with those that are added; at least nthreads */
    uint64_t idle_ms;      /* 0: COR_HANDLER_IDLE_MS */
    /* Tasks may have to wait for tasks that run: the owner is to call cor_handler_pool_patrol() in
     * COR_HANDLER_PATROL_MS. Called on any thread, with the pool's lock held: it must not call the
     * pool. NULL: there are no patrols, and the pool keeps its size. */
    void (*on_crowded)(void *arg);
    void *arg;
};

/* 0, -COR_ENOMEM, -COR_EIO (a thread could not be created). */
int cor_handler_pool_new(const struct cor_handler_pool_opts *opts,
                         struct cor_handler_pool **ret_pool);

/* Joins the threads. Before this every task was retired and its on_retired called, and patrols have
 * ended. Not on a thread of the pool. Returns NULL. */
struct cor_handler_pool *cor_handler_pool_free(struct cor_handler_pool *pool);

/* Adds a thread when tasks wait and none has been taken for a while, and reports runs that take
 * long. One caller at a time. True: call this again after COR_HANDLER_PATROL_MS; false: call it
 * when on_crowded asks for it. */
bool cor_handler_pool_patrol(struct cor_handler_pool *pool);

/* Is the calling thread one of the pool's, and so inside a task? */
bool cor_handler_pool_is_current(const struct cor_handler_pool *pool);

/* There is work for the task. Takes the pool's lock only, so locks may be held. */
void cor_handler_pool_wake(struct cor_handler_pool *pool, struct cor_handler_task *task);

/* It may run from now on, and may be gone when this returns. Once. */
void cor_handler_pool_release(struct cor_handler_pool *pool, struct cor_handler_task *task);

/* Of one that was released: a thread of the pool calls on_retired, after a run that is under way.
 * Once. */
void cor_handler_pool_retire(struct cor_handler_pool *pool, struct cor_handler_task *task);

#endif
