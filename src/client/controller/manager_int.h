/* Internals of a manager and of its controllers.
 * Owner: the program, through coracle/controller.h.  Thread: the runtime's loop, unless a comment
 * says otherwise. */
#ifndef COR_CLIENT_MANAGER_INT_H
#define COR_CLIENT_MANAGER_INT_H

#include <stdatomic.h>

#include "base/dlist.h"
#include "client/client_int.h"
#include "client/controller/held_changes.h"
#include "client/informers/informers_int.h"
#include "coracle/controller.h"
#include "coracle/election.h"
#include "coracle/object_key.h"
#include "kit/controller/control_loop.h"
#include "loop/offload.h"
#include "loop/timer.h"
#include "loop/trigger.h"
#include "meta/status/status.h"
#include "queue/workqueue_durations.h"

struct cor_http_server;

/* How long runs took, as controller-runtime's histogram counts it; not cumulative. The last count
 * is of those that took longer than the highest bound, a minute. */
#define COR_RUN_TIMES 40
struct cor_run_times {
    uint64_t counts[COR_RUN_TIMES + 1];
    uint64_t sum_us;
};

/* One run. It is used again for the next key. */
struct cor_run {
    struct cor_controller *controller;
    struct cor_dlist link;     /* in the controller's `free` */
    struct cor_reconcile *rec; /* the control loop's; NULL: the run has ended */
    uint64_t id;
    char ns[COR_OBJECT_KEY_MAX + 1], name[COR_OBJECT_KEY_MAX + 1];
    struct cor_object *object; /* of `for`; NULL: there is none */
    struct cor_object **kept;
    size_t nkept, kept_cap;
    struct cor_status why;
    uint64_t began_us;    /* of the runtime's clock */
    uint64_t deadline_ms; /* of the runtime's clock; UINT64_MAX: none */
    bool is_terminal, again;
    uint64_t again_after_ms;
    int r;
    atomic_bool is_cancelled, is_done; /* any thread */
    struct cor_job job;                /* of `reconcile` */
    struct cor_mail done;              /* of `begin` */
};

/* One source: what an informer's handler feeds. */
struct cor_controller_source {
    struct cor_controller *controller;
    struct cor_informer *informer;
    struct cor_control_source *kit;
    struct cor_registration *registration;
};

struct cor_controller {
    struct cor_manager *manager;
    struct cor_controller_opts opts;
    struct cor_control_loop *loop; /* NULL before it was made */
    struct cor_timer timer;        /* always set, so that moving it cannot fail */
    struct cor_informer *main;     /* of `for` */
    struct cor_controller_source sources[COR_CONTROLLER_SOURCES_MAX];
    size_t nsources;
    struct cor_held_changes held; /* the loop's */
    bool is_over; /* on_stopped was called: no run is ended in the control loop any more */
    struct cor_dlist free;
    struct cor_run_times times; /* of runs that have ended */
    struct cor_run runs[];      /* opts.runs_max */
};

/* A check of the endpoint. */
struct cor_check {
    char name[COR_MANAGER_CHECK_NAME_MAX + 1];
    int (*fn)(void *arg, char *why, size_t n);
    void *arg;
};

/* The checks of a path, by name. */
struct cor_checks {
    struct cor_check list[COR_MANAGER_CHECKS_MAX];
    size_t n;
};

enum manager_state { MANAGER_NEW, MANAGER_RUNNING, MANAGER_STOPPING, MANAGER_OVER };

struct cor_manager {
    struct cor_manager_opts opts; /* its texts are those below */
    char *name, *lease_name, *lease_ns, *identity, *endpoint_text;
    struct cor_runtime *runtime;
    bool owns_runtime;
    struct cor_client *client;
    struct cor_informers *informers;
    struct cor_events *events;
    struct cor_election *election; /* NULL: none, or not begun */
    struct cor_offload *workers;   /* NULL: no controller has `reconcile` */
    struct cor_controller *controllers[COR_MANAGER_CONTROLLERS_MAX];
    size_t ncontrollers;
    struct cor_checks healthz, readyz; /* unchanged after the start */
    struct cor_status setup;           /* the first failure of the setup; the program's thread */

    /* The loop's: */
    enum manager_state state;
    size_t nleft;          /* controllers that are not over */
    size_t nruns;          /* runs that have not ended */
    uint64_t end_at_ms;    /* by the runtime's clock, from STOPPING on */
    struct cor_status why; /* of the end; unchanged from OVER on */
    struct cor_trigger stop;
    struct cor_http_server *endpoint; /* NULL: none, or closed */

    /* Any thread: */
    atomic_bool is_leader, is_stopping, is_lost;
    atomic_uint endpoint_port; /* 0: it does not listen */
    struct cor_waiter over;    /* is set in the state OVER */
    struct cor_waiter idle;    /* and when no run is left, too */
    struct cor_waiter endpoint_closed;

    /* The thread of run and free: */
    bool is_started, is_finished;
};

/* Formats one line for opts.on_log. On the loop, or in the setup. */
void cor_manager_log(const struct cor_manager *m, const char *fmt, ...) COR_PRINTF(2, 3);

/* Begins the end. `why` is NULL after a stop, else copied; the first cause is kept. Reconciles
 * under way have `max_ms`. On the loop. */
void cor_manager_end(struct cor_manager *m, const struct cor_status *why, uint64_t max_ms);

/* A controller is over, or a run has ended. On the loop. */
void cor_manager_check_over(struct cor_manager *m);

/* Makes a controller. 0, -COR_EINVAL, -COR_ENOTSUP, -COR_ENOMEM; the limiter was taken. */
int cor_controller_make(struct cor_manager *m, const struct cor_controller_opts *opts,
                        struct cor_controller **ret_controller, struct cor_status *reterr);

/* What follows from an attempt to queue a change of `source` (NULL: a key of the program's): 0 and
 * -COR_ECANCELED are fine, -COR_EINVAL (no key) is logged, and everything else ends the manager. */
void cor_controller_judge(struct cor_controller *c, const struct cor_controller_source *source,
                          int r);

/* Watches for the first lists, and is then ready for cor_control_loop_start(). On the loop. 0, or
 * an error. */
int cor_controller_watch_sync(struct cor_controller *c, struct cor_status *reterr);

/* Removes the handlers of the informers. On the loop. */
void cor_controller_detach(struct cor_controller *c);

/* After detach, when the control loop is over or was not started, and no run is left. On the loop.
 * Returns NULL; NULL is allowed. */
struct cor_controller *cor_controller_free(struct cor_controller *c);

/* The endpoint (manager_endpoint.c). Init cannot fail, and is called once, in the making. */
void cor_endpoint_init(struct cor_manager *m);

/* Listens, if the options have an address. On the loop. 0, -COR_EINVAL, -COR_EEXIST (in use),
 * -COR_EIO, -COR_ENOMEM; close is called in every case. */
int cor_endpoint_open(struct cor_manager *m, struct cor_status *reterr);

/* Waits until nothing of the endpoint happens any more. Not on the loop. */
void cor_endpoint_close(struct cor_manager *m);

/* Appends the metrics of all controllers and of the election. On the loop. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_manager_write_metrics(const struct cor_manager *m, struct cor_buf *out);

void cor_run_times_count(struct cor_run_times *times, uint64_t us);

/* Before the first use of a run. */
void cor_run_init(struct cor_run *run, struct cor_controller *c);
void cor_run_deinit(struct cor_run *run);

/* Begins a run for `rec`. On the loop, inside a tick. */
void cor_run_begin(struct cor_run *run, struct cor_reconcile *rec);

/* The control loop cancels the run. On the loop. */
void cor_run_cancel(struct cor_run *run);

#endif
