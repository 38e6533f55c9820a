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
#include "server/controllers/host/reconciler.h"

#define NAME "ipallocator-repair-controller"
/* There is one key: all Services. */
#define KEY COR_STR("services")

struct repair_ask;

struct repair_work {
    struct cor_work work;   /* first */
    struct repair_ask *ask; /* under way; NULL: none */
};

struct repair_ask {
    struct cor_repair_ask ask;
    struct repair_work *work; /* NULL: it was cancelled */
};

static void repair_on_done(struct cor_repair_ask *answered)
{
    struct repair_ask *ask = COR_CONTAINER_OF(answered, struct repair_ask, ask);
    const struct cor_reconcile_result result = {.again_after_ms = (int64_t)answered->next_ms};

    if (ask->work) {
        ask->work->ask = NULL;
        cor_work_done(&ask->work->work, &result);
    }
    cor_free(ask);
}

static void repair_reconcile(struct cor_work *work)
{
    struct repair_work *w = (struct repair_work *)work;
    struct cor_repair_port *port = work->reconciler->env.repair;
    struct repair_ask *ask = cor_calloc(1, sizeof(*ask));

    if (!ask) {
        cor_work_end(work, -COR_ENOMEM, NULL);
        return;
    }
    ask->work = w;
    w->ask = ask;
    ask->ask.loop = work->reconciler->env.port->loop;
    ask->ask.on_done = repair_on_done;
    port->ask(port, &ask->ask);
}

static void repair_work_deinit(struct cor_work *work)
{
    struct repair_work *w = (struct repair_work *)work;

    if (w->ask)
        w->ask->work = NULL;
}

static int repair_new(const struct cor_server_controller_env *env, void **ret_controller,
                      struct cor_status *reterr)
{
    static const struct cor_reconciler_opts opts = {.name = NAME,
                                                    .work_size = sizeof(struct repair_work),
                                                    .reconciles_max = 1,
                                                    .reconcile = repair_reconcile,
                                                    .work_deinit = repair_work_deinit};
    static const struct cor_control_source_opts raw = {.kind = COR_CONTROL_RAW};
    struct cor_control_source *source;
    void *controller;
    int r = cor_reconciler_new(env, &opts, &controller, reterr);

    if (r < 0)
        return r;
    r = cor_control_loop_add_source(cor_reconciler_loop(controller, 0), &raw, &source, reterr);
    if (r < 0) {
        cor_reconciler_release(controller);
        return r;
    }
    cor_control_loop_source_synced(cor_reconciler_loop(controller, 0), source);
    *ret_controller = controller;
    return 0;
}

/* Without allocators there is nothing to repair, and the queue stays empty. */
static int repair_start(void *controller, struct cor_status *reterr)
{
    struct cor_repair_port *port = ((struct cor_reconciler *)controller)->env.repair;
    int r = port ? cor_control_loop_enqueue(cor_reconciler_loop(controller, 0), COR_STR(""), KEY,
                                            port->due_in_ms(port))
                 : 0;

    return r < 0 ? cor_status_set_err(reterr, r) : cor_reconciler_start(controller, reterr);
}

const struct cor_server_controller_ops cor_service_repair_ops = {
    .name = NAME,
    .account = "", /* it sends no requests */
    .new = repair_new,
    .start = repair_start,
    .stop = cor_reconciler_stop,
    .free = cor_reconciler_release,
    .loop = cor_reconciler_loop,
};
