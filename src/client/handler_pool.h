/* The threads that run informers' handlers. A task runs on one thread at a time, and a task that
 * blocks keeps one thread and no other task.
 * Owner: the runtime.  Thread: any. */
#ifndef COR_CLIENT_HANDLER_POOL_H
#define COR_CLIENT_HANDLER_POOL_H

#include <stdbool.h>

#include "base/list.h"

struct cor_handler_pool;

/*   release      wake            a thread takes it        run() has no more
 * HELD ──► IDLE ────► QUEUED ──────────────────► RUNNING ──────────────────► IDLE
 *                        ▲                           │ wake, or run() has more
 *                        └───────────────────────────┘ when it returns
 * A retired task is QUEUED or RUNNING, and goes from there to on_retired. */
enum cor_handler_task_state {
    COR_HANDLER_TASK_HELD,
    COR_HANDLER_TASK_IDLE,
    COR_HANDLER_TASK_QUEUED,
    COR_HANDLER_TASK_RUNNING,
};

/* Embedded by its owner; all under the pool's lock, but for the functions. */
struct cor_handler_task {
    struct cor_list link;
    enum cor_handler_task_state state;
    bool woken;   /* while it is held or runs */
    bool retired; /* no run begins any more */
    /* Does a part of the work. True: there is more. */
    bool (*run)(struct cor_handler_task *task);
    /* On a thread of the pool: no run is under way and none will be; the owner may free it. */
    void (*on_retired)(struct cor_handler_task *task);
};

/* It is held. */
void cor_handler_task_init(struct cor_handler_task *task,
                           bool (*run)(struct cor_handler_task *task),
                           void (*on_retired)(struct cor_handler_task *task));

/* 0, -COR_ENOMEM, -COR_EIO (no thread could be had). */
int cor_handler_pool_new(unsigned nthreads, struct cor_handler_pool **ret_pool);

/* Joins the threads. Every task is retired, and its on_retired has been called. Returns NULL. */
struct cor_handler_pool *cor_handler_pool_free(struct cor_handler_pool *pool);

/* Is this one of its threads, which is inside a task then? */
bool cor_handler_pool_is_current(const struct cor_handler_pool *pool);

/* There is work for the task. Takes the pool's lock only, so locks may be held. */
void cor_handler_pool_wake(struct cor_handler_pool *pool, struct cor_handler_task *task);

/* It may run from now on, and may be gone when this returns. Once. */
void cor_handler_pool_release(struct cor_handler_pool *pool, struct cor_handler_task *task);

/* Of one that was released: a thread of the pool calls on_retired, after a run that is under way.
 * Once. */
void cor_handler_pool_retire(struct cor_handler_pool *pool, struct cor_handler_task *task);

#endif
