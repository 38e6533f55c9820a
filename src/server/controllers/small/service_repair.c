/* clang-format off */
/* The repair controller of Services: it decides when the reservations of addresses and node ports
 * are compared with the Services. The allocators make the pass (server/api/repair_port.h), since they
 * have what it needs. Upstream has two such controllers in kube-apiserver, ipallocator-repair-controller
 * and portallocator-repair-controller; one pass does the work of both.
 *
 *   start: the key is due when the pass of the server's start says so ──► ask for a pass ──► answered:
 *   the key is due again when this pass says so (repair.h has the times)
 *
 * The pass cannot be cancelled, so that an ask has memory of its own: a reconcile that is cancelled
 * leaves its ask, whose answer then frees it. The allocators answer every ask before the loops stop.
 * Failures: a pass that fails is logged by the allocators, and its answer has a shorter time; without
 * memory for an ask the limiter tries again.
 * Thread: the host's loop. */
/* clang-format on */
#include "base/err.h"

#include "base/mem.h"
#include "server/api/repair_port.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/small_controller.h"
#include <assert.h>

#define NAME "ipallocator-repair-controller"
/* There is one key: all Services. */
#define KEY COR_STR("services")

struct repair_ask;

struct repair_task {
    struct cor_task task;   /* first */
    struct repair_ask *ask; /* under way; NULL: none */
};

static struct repair_task *repair_task_of(struct cor_task *task)
{
    struct repair_task *own = COR_CONTAINER_OF(task, struct repair_task, task);

    assert(cor_task_size(task) == sizeof(*own));
    return own;
}

struct repair_ask {
    struct cor_repair_ask ask;
    struct repair_task *task; /* NULL: it was cancelled */
};

static void repair_on_done(struct cor_repair_ask *answered)
{
    struct repair_ask *ask = COR_CONTAINER_OF(answered, struct repair_ask, ask);
    const struct cor_reconcile_result result = {.again_after_ms = (int64_t)answered->next_ms};

    if (ask->task) {
        ask->task->ask = NULL;
        cor_task_done(&ask->task->task, &result);
    }
    cor_free(ask);
}

static void repair_reconcile(struct cor_task *task)
{
    struct repair_task *w = repair_task_of(task);
    struct cor_repair_port *port = cor_small_controller_of(task)->env.repair;
    struct repair_ask *ask = cor_calloc(1, sizeof(*ask));

    if (!ask) {
        cor_task_end(task, -COR_ENOMEM, NULL);
        return;
    }
    ask->task = w;
    w->ask = ask;
    ask->ask.loop = task->reconciler->env.port->loop;
    ask->ask.on_done = repair_on_done;
    port->ask(port, &ask->ask);
}

static void repair_task_deinit(struct cor_task *task)
{
    struct repair_task *w = repair_task_of(task);

    if (w->ask)
        w->ask->task = NULL;
}

static int repair_new(const struct cor_server_controller_env *env, void **ret_controller,
                      struct cor_status *reterr)
{
    static const struct cor_reconciler_opts opts = {.name = NAME,
                                                    .task_size = sizeof(struct repair_task),
                                                    .reconciles_max = 1,
                                                    .is_fed_by_owner = true,
                                                    .reconcile = repair_reconcile,
                                                    .task_deinit = repair_task_deinit};

    return cor_small_controller_new(env, &opts, ret_controller, reterr);
}

/* Without allocators there is nothing to repair, and the queue stays empty. */
static int repair_start(void *controller, struct cor_status *reterr)
{
    struct cor_small_controller *c = controller;
    struct cor_repair_port *port = c->env.repair;
    int r =
        port ? cor_reconciler_enqueue(&c->reconciler, COR_STR(""), KEY, port->due_in_ms(port)) : 0;

    cor_reconciler_synced(&c->reconciler);
    return r < 0 ? cor_status_set_err(reterr, r) : cor_small_controller_start(controller, reterr);
}

const struct cor_server_controller_ops cor_service_repair_ops = {
    .name = NAME,
    .account = "", /* it sends no requests */
    .new = repair_new,
    .start = repair_start,
    .stop = cor_small_controller_stop,
    .free = cor_small_controller_release,
    .loop = cor_small_controller_loop,
};
