/* clang-format off */
/* The life of a controller whose reconciles send one request after the other, over an API port: a
 * port controller (port_controller.h), and the memory of each reconcile. The controller gives a
 * description; the rest is here.
 *
 *   cor_reconciler_init ──► start ──► a key is due: a zeroed `struct cor_task` of `task_size` bytes, `reconcile(task)` ──►
 *   requests through task->req … ──► cor_task_done(), or one of the ends below ──► on_end, task_deinit, the memory is freed
 *
 * A reconcile that is cancelled has its request cancelled, and ends at once. Without memory for a
 * task the key is tried again by the limiter.
 * Inside the server a controller of one file is a small controller (server/controllers/host/), which
 * is a reconciler too.
 * Thread: the port's loop, for every function and callback.  Owner: whoever embeds it. */
/* clang-format on */
#ifndef COR_KIT_RECONCILER_H
#define COR_KIT_RECONCILER_H

#include "kit/api_port.h"
#include "kit/controller/port_controller.h"

#define COR_RECONCILER_SOURCES_MAX 4

struct cor_reconciler;

/* One reconcile: the first member of what the controller needs for it. */
struct cor_task {
    struct cor_reconciler *reconciler;
    struct cor_reconcile *rec;
    struct cor_api_request req; /* the one that is under way */
};

/* Copied; what it points to must stay valid, but the sources. */
struct cor_reconciler_opts {
    const char *name;        /* of the controller, for reports */
    size_t task_size;        /* of the controller's own task */
    uint32_t reconciles_max; /* at once; 0: 1 */
    /* Of failures; it may return NULL when there is no memory. NULL: the controller's default. */
    struct cor_rate_limiter *(*make_limiter)(void);
    const struct cor_port_source *sources; /* their feeds are `feeds` of the reconciler */
    size_t nsources;                       /* at most COR_RECONCILER_SOURCES_MAX */
    /* Keys come from cor_reconciler_enqueue(). No reconcile begins before cor_reconciler_synced().
     */
    bool is_fed_by_owner;
    /* Sends a request, or ends the task. */
    void (*reconcile)(struct cor_task *task);
    /* The task ends with this result, whatever has ended it; the result may be changed. May be
     * NULL. */
    void (*on_end)(struct cor_task *task, struct cor_reconcile_result *result);
    /* Releases what the task has; its `rec` is not valid any more. NULL: there is nothing. */
    void (*task_deinit)(struct cor_task *task);
};

/* Where it runs. All must stay valid. */
struct cor_reconciler_env {
    struct cor_api_port *port; /* with a loop */
    const struct cor_clock *clock;
    struct cor_rand *rand;
    /* The end, as of cor_control_loop_opts; it may deinit the reconciler as the last thing. */
    void (*on_stopped)(void *arg, const struct cor_status *why);
    void *arg;
};

struct cor_reconciler {
    struct cor_reconciler_opts opts;
    struct cor_reconciler_env env;
    struct cor_port_controller *controller;
    struct cor_control_feed *feeds[COR_RECONCILER_SOURCES_MAX]; /* the controller's */
    struct cor_control_source *fed; /* by the owner; NULL: there is none */
};

/* 0, -COR_ENOMEM, -COR_EINVAL (a source that cannot be added). After an error nothing is left to
 * release. */
int cor_reconciler_init(struct cor_reconciler *r, const struct cor_reconciler_opts *opts,
                        const struct cor_reconciler_env *env, struct cor_status *reterr);
/* Before the start, or from on_stopped on. Safe on a zeroed struct. */
void cor_reconciler_deinit(struct cor_reconciler *r);

/* As of a port controller; `start` is called once. */
int cor_reconciler_start(struct cor_reconciler *r, struct cor_status *reterr);
void cor_reconciler_stop(struct cor_reconciler *r, uint64_t max_ms);
struct cor_control_loop *cor_reconciler_loop(struct cor_reconciler *r);

/* Adds a key. Errors as of cor_control_loop_enqueue(). */
int cor_reconciler_enqueue(struct cor_reconciler *r, struct cor_str ns, struct cor_str name,
                           uint64_t delay_ms);
/* The owner has enqueued what there is at the start. Only if it feeds the reconciler; a second call
 * does nothing. */
void cor_reconciler_synced(struct cor_reconciler *r);

/* ---- tasks ---- */

/* The port, and the time of the wall clock. */
/* What the controller says that its own task has: its function `x_of()` checks it before it casts.
 */
static inline size_t cor_task_size(const struct cor_task *task)
{
    return task->reconciler->opts.task_size;
}

static inline struct cor_api_port *cor_task_port(const struct cor_task *task)
{
    return task->reconciler->env.port;
}

static inline int64_t cor_task_now_ms(const struct cor_task *task)
{
    return cor_clock_wall_ms(task->reconciler->env.clock);
}

/* Ends the task. No request of it is under way. `task` is freed. */
void cor_task_done(struct cor_task *task, const struct cor_reconcile_result *result);

/* Ends the task with success, or with an error that the limiter makes good (0: success). */
void cor_task_end(struct cor_task *task, int err, const struct cor_status *why);

/* Ends the task by the answer to its last write: 404 and success are the end, after a conflict the
 * key is tried again without an error, and every other answer is an error. */
void cor_task_end_with(struct cor_task *task, const struct cor_api_answer *answer);

/* The same for a reconciler that follows the object: after a conflict nothing is tried again,
 * because the newer state comes by the watch, and with it the next key. */
void cor_task_end_followed(struct cor_task *task, const struct cor_api_answer *answer);

#endif
