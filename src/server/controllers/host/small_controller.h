/* clang-format off */
/* A controller inside the server that is one file: a reconciler (kit/controller/reconciler.h) on the
 * heap, with what the host gives. The controller's `new` calls cor_small_controller_new() with a
 * description; the other functions of its struct cor_server_controller_ops are those below.
 * A controller with a state of its own embeds the struct as its first member, and has a `new` and a
 * `free` of its own around _init and _deinit; see namespace_controller.c.
 * Thread: the host's loop.  Owner: the host of controllers. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_HOST_SMALL_CONTROLLER_H
#define COR_SERVER_CONTROLLERS_HOST_SMALL_CONTROLLER_H

#include "kit/controller/reconciler.h"
#include "server/controllers/host/server_controller.h"
#include "server/controllers/host/shared_list.h"

struct cor_small_controller {
    struct cor_reconciler reconciler; /* first */
    struct cor_server_controller_env env;
    struct cor_shared_lists lists; /* of its tasks; empty when none is under way */
};

/* Errors as of cor_reconciler_init(). */
int cor_small_controller_init(struct cor_small_controller *c,
                              const struct cor_server_controller_env *env,
                              const struct cor_reconciler_opts *opts, struct cor_status *reterr);
void cor_small_controller_deinit(struct cor_small_controller *c);

/* Errors as above. */
int cor_small_controller_new(const struct cor_server_controller_env *env,
                             const struct cor_reconciler_opts *opts, void **ret_controller,
                             struct cor_status *reterr);

/* For struct cor_server_controller_ops. */
int cor_small_controller_start(void *controller, struct cor_status *reterr);
void cor_small_controller_stop(void *controller, uint64_t max_ms);
void cor_small_controller_release(void *controller);
/* It has one queue: the first. */
struct cor_control_loop *cor_small_controller_loop(void *controller, size_t queue);

/* The controller of a task. */
static inline struct cor_small_controller *cor_small_controller_of(const struct cor_task *task)
{
    return COR_CONTAINER_OF(task->reconciler, struct cor_small_controller, reconciler);
}

#endif
