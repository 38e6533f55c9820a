/* clang-format off */
/* What a controller inside the server is to the host of controllers (controllers.h), and what the
 * host gives it. A controller is one file of this folder with one ops struct, which has a row in
 * controller_table.c. Most are a small controller (small_controller.h) with a reconcile function;
 * docs/internals/recipes.md has the steps.
 *
 *   new ──► start ──► … ──► stop ──► env.on_stopped ──► free
 *                      └── it ends by itself (its first sync took too long) ──► env.on_stopped ──► free ──► new, a second later
 *
 * The host calls `free` in a later turn than on_stopped.
 * Thread: the host's loop, for every function and callback. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_HOST_SERVER_CONTROLLER_H
#define COR_SERVER_CONTROLLERS_HOST_SERVER_CONTROLLER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/rand.h"
#include "base/str.h"
#include "kit/api_port.h"
#include "kit/controller/control_loop.h"
#include "kit/events/event_recorder.h"
#include "meta/status/status.h"

struct cor_repair_port;

/* All must stay valid until `free` has returned. */
struct cor_server_controller_env {
    /* It acts as system:serviceaccount:kube-system:<account> in group system:masters, with
     * upstream's manager name. Its `loop` is the host's. */
    struct cor_api_port *port;
    const struct cor_clock *clock;
    struct cor_rand *rand;
    struct cor_str root_ca;         /* PEM: what verifies this server */
    bool has_others;                /* other servers may share the store */
    struct cor_repair_port *repair; /* of the allocators of Services; NULL: there are none */
    /* Is an object being created in the namespace whose request was admitted before this call?
     * NULL: that is not known. */
    bool (*creates_in)(void *arg, struct cor_str ns);
    /* Records an Event about an object, with the controller's name as its source; may be lost. */
    void (*record)(void *arg, const struct cor_event_told *told);
    /* The controller has ended, and uses the port no more. Called once, after `stop` or without it.
     * `why` is NULL after a stop; it is borrowed. */
    void (*on_stopped)(void *arg, const struct cor_status *why);
    void *arg; /* of all three */
};

#define COR_SERVER_CONTROLLER_QUEUES_MAX 2

struct cor_server_controller_ops {
    const char *name;    /* upstream's, as in --controllers: "namespace-controller" */
    const char *account; /* upstream's service account in kube-system */
    /* Upstream's names of its work queues, for metrics; none: one queue with the name `name`. */
    const char *queues[COR_SERVER_CONTROLLER_QUEUES_MAX];
    /* Makes a controller; nothing is sent yet. 0, or an error: it is tried again later. */
    int (*new)(const struct cor_server_controller_env *env, void **ret_controller,
               struct cor_status *reterr);
    /* 0, or an error: `free` follows, and another try later. */
    int (*start)(void *controller, struct cor_status *reterr);
    /* The server serves other resources than at the last enumeration. Only while it runs; may be
     * NULL. */
    void (*resources_changed)(void *controller);
    /* Ends it: on_stopped is called in a later turn, `max_ms` later at most. Called once at most,
     * and not after on_stopped. */
    void (*stop)(void *controller, uint64_t max_ms);
    /* Before the start, or after on_stopped. */
    void (*free)(void *controller);
    /* For metrics: the control loop that has the numbers of the queue at this place. May be NULL.
     */
    struct cor_control_loop *(*loop)(void *controller, size_t queue);
};

#endif
