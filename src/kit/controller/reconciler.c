/* clang-format off */
/* The life of a reconciler and of its tasks. A key that is due becomes a task; the controller
 * sends the task's requests one after the other, and ends the task, which ends the reconcile.
 *
 *   reconciler_on_key ──► opts.reconcile ──► requests ──► cor_task_done ──► opts.on_end ──► cor_reconcile_done ──► freed
 *                                              └── reconciler_on_cancel: the request is cancelled ──┘
 *
 * Failures: a key for which there is no memory fails, and the limiter tries it again.
 * Thread: the port's loop. */
/* clang-format on */
#include "kit/controller/reconciler.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

void cor_task_done(struct cor_task *task, const struct cor_reconcile_result *result)
{
    const struct cor_reconciler_opts *opts = &task->reconciler->opts;
    struct cor_reconcile_result end = *result;
    struct cor_reconcile *rec = task->rec;

    assert(!cor_api_is_under_way(&task->req) && rec->work == task);
    if (opts->on_end)
        opts->on_end(task, &end);
    rec->work = NULL;
    /* The result may point into the task. */
    cor_reconcile_done(rec, &end);
    if (opts->task_deinit)
        opts->task_deinit(task);
    cor_free(task);
}

void cor_task_end(struct cor_task *task, int err, const struct cor_status *why)
{
    const struct cor_reconcile_result result = {.err = err, .why = why};

    cor_task_done(task, &result);
}

void cor_task_end_followed(struct cor_task *task, const struct cor_api_answer *answer)
{
    if (answer->error && !cor_api_answer_is_late(answer))
        cor_task_end(task, answer->error->err, answer->error);
    else
        cor_task_end(task, 0, NULL);
}

void cor_task_end_with(struct cor_task *task, const struct cor_api_answer *answer)
{
    const struct cor_reconcile_result again = {.again = true};

    if (cor_api_answer_is(answer, 409))
        cor_task_done(task, &again);
    else
        cor_task_end_followed(task, answer);
}

/* ---- callbacks of the control loop ---- */

static void reconciler_on_key(void *arg, struct cor_reconcile *rec)
{
    static const struct cor_reconcile_result no_memory = {.err = -COR_ENOMEM};
    struct cor_reconciler *r = arg;
    struct cor_task *task = cor_calloc(1, r->opts.task_size);

    if (!task) {
        cor_reconcile_done(rec, &no_memory);
        return;
    }
    task->reconciler = r;
    task->rec = rec;
    rec->work = task;
    r->opts.reconcile(task);
}

static void reconciler_on_cancel(void *arg, struct cor_reconcile *rec)
{
    struct cor_task *task = rec->work;

    cor_api_cancel(cor_task_port(task), &task->req);
    cor_task_end(task, -COR_ECANCELED, NULL);
}

static void reconciler_on_stopped(void *arg, const struct cor_status *why)
{
    struct cor_reconciler *r = arg;

    r->env.on_stopped(r->env.arg, why);
}

/* ---- life ---- */

static int reconciler_add_sources(struct cor_reconciler *r, struct cor_status *reterr)
{
    static const struct cor_control_source_opts raw = {.kind = COR_CONTROL_RAW};
    int err = 0;

    for (size_t i = 0; err == 0 && i < r->opts.nsources; i++)
        err = cor_port_controller_add(r->controller, &r->opts.sources[i], &r->feeds[i], reterr);
    if (err == 0 && r->opts.is_fed_by_owner)
        err = cor_control_loop_add_source(cor_reconciler_loop(r), &raw, &r->fed, reterr);
    r->opts.sources = NULL; /* they need not stay valid */
    return err;
}

int cor_reconciler_init(struct cor_reconciler *r, const struct cor_reconciler_opts *opts,
                        const struct cor_reconciler_env *env, struct cor_status *reterr)
{
    struct cor_port_controller_opts controller_opts = {
        .port = env->port,
        .rand = env->rand,
        .control = {.name = opts->name,
                    .clock = env->clock,
                    .reconciles_max = opts->reconciles_max,
                    .reconcile = reconciler_on_key,
                    .on_cancel = reconciler_on_cancel,
                    .on_stopped = reconciler_on_stopped,
                    .arg = r},
    };
    int err;

    assert(opts->task_size >= sizeof(struct cor_task) && opts->reconcile && env->clock);
    assert(opts->nsources <= COR_RECONCILER_SOURCES_MAX);
    *r = (struct cor_reconciler){.opts = *opts, .env = *env};
    if (opts->make_limiter) {
        controller_opts.control.take_limiter = opts->make_limiter();
        if (!controller_opts.control.take_limiter)
            return cor_status_set_err(reterr, -COR_ENOMEM);
    }
    err = cor_port_controller_new(&controller_opts, &r->controller, reterr);
    if (err == 0)
        err = reconciler_add_sources(r, reterr);
    if (err < 0)
        cor_reconciler_deinit(r);
    return err;
}

void cor_reconciler_deinit(struct cor_reconciler *r)
{
    r->controller = cor_port_controller_free(r->controller);
}

int cor_reconciler_start(struct cor_reconciler *r, struct cor_status *reterr)
{
    return cor_port_controller_start(r->controller, reterr);
}

void cor_reconciler_stop(struct cor_reconciler *r, uint64_t max_ms)
{
    cor_port_controller_stop(r->controller, max_ms);
}

struct cor_control_loop *cor_reconciler_loop(struct cor_reconciler *r)
{
    return cor_port_controller_loop(r->controller);
}

int cor_reconciler_enqueue(struct cor_reconciler *r, struct cor_str ns, struct cor_str name,
                           uint64_t delay_ms)
{
    return cor_control_loop_enqueue(cor_reconciler_loop(r), ns, name, delay_ms);
}

void cor_reconciler_synced(struct cor_reconciler *r)
{
    assert(r->fed);
    cor_control_loop_source_synced(cor_reconciler_loop(r), r->fed);
}
