/* clang-format off */
/* The life of a small controller and of its works. A key that is due becomes a work; the controller
 * sends the work's requests one after the other, and ends the work, which ends the reconcile.
 *
 *   reconciler_on_key ──► opts.reconcile ──► requests ──► cor_work_done ──► cor_reconcile_done ──► freed
 *                                              └── reconciler_on_cancel: the request is cancelled ──┘
 *
 * Failures: a key for which there is no memory fails, and the limiter tries it again. A controller
 * that cannot add one of its sources is released before it starts.
 * Thread: the host's loop. */
/* clang-format on */
#include "server/controllers/host/reconciler.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

static void work_free(struct cor_work *work)
{
    if (work->reconciler->opts->work_deinit)
        work->reconciler->opts->work_deinit(work);
    cor_free(work);
}

void cor_work_done(struct cor_work *work, const struct cor_reconcile_result *result)
{
    struct cor_reconcile *rec = work->rec;

    assert(!cor_api_is_under_way(&work->req) && rec->work == work);
    rec->work = NULL;
    /* The result may point into the work. */
    cor_reconcile_done(rec, result);
    work_free(work);
}

void cor_work_end(struct cor_work *work, int err, const struct cor_status *why)
{
    const struct cor_reconcile_result result = {.err = err, .why = why};

    cor_work_done(work, &result);
}

bool cor_answer_is(const struct cor_api_answer *answer, int code)
{
    return answer->end == COR_API_ANSWERED && answer->error && answer->error->code == code;
}

void cor_work_end_with(struct cor_work *work, const struct cor_api_answer *answer)
{
    const struct cor_reconcile_result again = {.again = true};

    if (cor_answer_is(answer, 409))
        cor_work_done(work, &again);
    else if (answer->error && !cor_answer_is(answer, 404))
        cor_work_end(work, answer->error->err, answer->error);
    else
        cor_work_end(work, 0, NULL);
}

/* ---- callbacks of the control loop ---- */

static void reconciler_on_key(void *arg, struct cor_reconcile *rec)
{
    static const struct cor_reconcile_result no_memory = {.err = -COR_ENOMEM};
    struct cor_reconciler *r = arg;
    struct cor_work *work = cor_calloc(1, r->opts->work_size);

    if (!work) {
        cor_reconcile_done(rec, &no_memory);
        return;
    }
    work->reconciler = r;
    work->rec = rec;
    rec->work = work;
    r->opts->reconcile(work);
}

static void reconciler_on_cancel(void *arg, struct cor_reconcile *rec)
{
    struct cor_work *work = rec->work;

    cor_api_cancel(cor_work_port(work), &work->req);
    cor_work_end(work, -COR_ECANCELED, NULL);
}

static void reconciler_on_stopped(void *arg, const struct cor_status *why)
{
    struct cor_reconciler *r = arg;

    r->env.on_stopped(r->env.arg, why);
}

/* ---- life ---- */

int cor_reconciler_new(const struct cor_server_controller_env *env,
                       const struct cor_reconciler_opts *opts, void **ret_controller,
                       struct cor_status *reterr)
{
    struct cor_reconciler *r = cor_calloc(1, sizeof(*r));
    const struct cor_port_controller_opts controller_opts = {
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

    assert(opts->work_size >= sizeof(struct cor_work));
    if (!r)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    r->env = *env;
    r->opts = opts;
    cor_shared_lists_init(&r->lists);
    err = cor_port_controller_new(&controller_opts, &r->controller, reterr);
    for (size_t i = 0; err == 0 && i < opts->nsources; i++)
        err = cor_port_controller_add(r->controller, &opts->sources[i], NULL, reterr);
    if (err < 0) {
        cor_reconciler_release(r);
        return err;
    }
    *ret_controller = r;
    return 0;
}

int cor_reconciler_start(void *controller, struct cor_status *reterr)
{
    return cor_port_controller_start(((struct cor_reconciler *)controller)->controller, reterr);
}

void cor_reconciler_stop(void *controller, uint64_t max_ms)
{
    cor_port_controller_stop(((struct cor_reconciler *)controller)->controller, max_ms);
}

void cor_reconciler_release(void *controller)
{
    struct cor_reconciler *r = controller;

    cor_port_controller_free(r->controller);
    cor_free(r);
}

struct cor_control_loop *cor_reconciler_loop(void *controller, size_t queue)
{
    assert(queue == 0);
    return cor_port_controller_loop(((struct cor_reconciler *)controller)->controller);
}
