/* clang-format off */
/* What small controllers have in common: a port controller whose reconciles send one request after
 * the other. The controller gives a const description; here are its life (the functions of struct
 * cor_server_controller_ops) and the memory of each reconcile.
 *
 *   cor_reconciler_new ──► a key is due: a zeroed `struct cor_work` of `work_size` bytes, `reconcile(work)` ──►
 *   requests through work->req … ──► cor_work_done() or cor_work_end(): `work_deinit`, the memory is freed
 *
 * A reconcile that is cancelled has its request cancelled, and ends at once. Without memory for a
 * work the key is tried again by the limiter.
 * Thread: the host's loop.  Owner: the host of controllers. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_HOST_RECONCILER_H
#define COR_SERVER_CONTROLLERS_HOST_RECONCILER_H

#include "kit/controller/port_controller.h"
#include "server/controllers/host/server_controller.h"
#include "server/controllers/host/shared_list.h"

struct cor_reconciler;

/* One reconcile: the first member of what the controller needs for it. */
struct cor_work {
    struct cor_reconciler *reconciler;
    struct cor_reconcile *rec;
    struct cor_api_request req; /* the one that is under way */
};

/* Must stay valid, with everything that it points to. */
struct cor_reconciler_opts {
    const char *name;        /* upstream's */
    size_t work_size;        /* of the controller's own work */
    uint32_t reconciles_max; /* at once */
    const struct cor_port_source *sources;
    size_t nsources;
    /* Sends a request, or ends the work. */
    void (*reconcile)(struct cor_work *work);
    void (*work_deinit)(struct cor_work *work); /* NULL: there is nothing to release */
};

struct cor_reconciler {
    struct cor_server_controller_env env;
    const struct cor_reconciler_opts *opts;
    struct cor_port_controller *controller;
    struct cor_shared_lists lists; /* of its works; empty when none is under way */
};

/* 0, -COR_ENOMEM, -COR_EINVAL (a source that cannot be added). */
int cor_reconciler_new(const struct cor_server_controller_env *env,
                       const struct cor_reconciler_opts *opts, void **ret_controller,
                       struct cor_status *reterr);

/* For struct cor_server_controller_ops. */
int cor_reconciler_start(void *controller, struct cor_status *reterr);
void cor_reconciler_stop(void *controller, uint64_t max_ms);
void cor_reconciler_release(void *controller);
/* It has one queue: the first. */
struct cor_control_loop *cor_reconciler_loop(void *controller, size_t queue);

/* The port, and the time of the wall clock. */
static inline struct cor_api_port *cor_work_port(const struct cor_work *work)
{
    return work->reconciler->env.port;
}

static inline int64_t cor_work_now_ms(const struct cor_work *work)
{
    return cor_clock_wall_ms(work->reconciler->env.clock);
}

/* Ends the work. No request of it is under way. `work` is freed. */
void cor_work_done(struct cor_work *work, const struct cor_reconcile_result *result);

/* Ends the work with success, or with an error that the limiter makes good (0: success). */
void cor_work_end(struct cor_work *work, int err, const struct cor_status *why);

/* Ends the work by the answer to its last write: 404 and success are the end, after a conflict the
 * key is tried again without an error, and every other answer is an error. */
void cor_work_end_with(struct cor_work *work, const struct cor_api_answer *answer);

/* Was it answered with this HTTP status? */
bool cor_answer_is(const struct cor_api_answer *answer, int code);

#endif
