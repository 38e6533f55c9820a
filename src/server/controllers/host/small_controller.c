/* The functions of small controllers that the host calls. A controller that cannot add one of its
 * sources is released before it starts.
 * Thread: the host's loop. */
#include "server/controllers/host/small_controller.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

int cor_small_controller_init(struct cor_small_controller *c,
                              const struct cor_server_controller_env *env,
                              const struct cor_reconciler_opts *opts, struct cor_status *reterr)
{
    const struct cor_reconciler_env reconciler_env = {.port = env->port,
                                                      .clock = env->clock,
                                                      .rand = env->rand,
                                                      .on_stopped = env->on_stopped,
                                                      .arg = env->arg};

    c->env = *env;
    cor_shared_lists_init(&c->lists);
    return cor_reconciler_init(&c->reconciler, opts, &reconciler_env, reterr);
}

void cor_small_controller_deinit(struct cor_small_controller *c)
{
    cor_reconciler_deinit(&c->reconciler);
}

int cor_small_controller_new(const struct cor_server_controller_env *env,
                             const struct cor_reconciler_opts *opts, void **ret_controller,
                             struct cor_status *reterr)
{
    struct cor_small_controller *c = cor_calloc(1, sizeof(*c));
    int r;

    if (!c)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    r = cor_small_controller_init(c, env, opts, reterr);
    if (r < 0) {
        cor_free(c);
        return r;
    }
    *ret_controller = c;
    return 0;
}

/* What the host keeps: the struct itself, or one whose first member it is. */
static struct cor_small_controller *small_of(void *controller)
{
    struct cor_small_controller *c = controller;

    assert(c->reconciler.opts.reconcile);
    return c;
}

int cor_small_controller_start(void *controller, struct cor_status *reterr)
{
    return cor_reconciler_start(&small_of(controller)->reconciler, reterr);
}

void cor_small_controller_stop(void *controller, uint64_t max_ms)
{
    cor_reconciler_stop(&small_of(controller)->reconciler, max_ms);
}

void cor_small_controller_release(void *controller)
{
    cor_small_controller_deinit(controller);
    cor_free(controller);
}

struct cor_control_loop *cor_small_controller_loop(void *controller, size_t queue)
{
    assert(queue == 0);
    return cor_reconciler_loop(&small_of(controller)->reconciler);
}
