/* clang-format off */
/* Controllers: controller-runtime's manager and its controllers. A manager owns everything that a
 * controller program needs: the client, the informers, the leader election, the recorder of Events
 * and the worker threads, and it performs the shutdown. A controller turns changes of objects into
 * keys, and calls its reconcile function for each key, until the cluster is as it should be.
 *
 *   changes ──► predicates ──► for, owns, watches ──► keys ──► work queue ──► reconcile(arg, run)
 *                                                                  ▲                 │ its result
 *                                                                  └─ again, after ──┘
 *
 *   static int reconcile(void *arg, struct cor_run *run)
 *   {
 *       struct cor_object *object = cor_run_object(run);
 *
 *       return object ? bring_about(arg, run, object) : 0;
 *   }
 *
 *   cor_manager_new(&manager_opts, &manager, &why);
 *   configmaps = cor_manager_informer(manager, &configmap_opts);
 *   controller = cor_manager_add(manager, &controller_opts);
 *   cor_controller_for(controller, configmaps, NULL);
 *   r = cor_manager_run(manager, &why);
 *   cor_manager_free(manager);
 *
 * The library takes no signals. A handler of the program's may call cor_manager_stop().
 *
 * A manager remembers the first failure of its setup: later calls of the setup do nothing, and
 * cor_manager_start() and cor_manager_run() return the failure. One check is therefore enough.
 *
 * A reconcile function gets a namespace and a name, and nothing else. It reads the state itself, so
 * that it does not matter which change was the cause, or how many were. No key is reconciled twice
 * at the same time; a key that changes meanwhile is reconciled once more afterwards.
 *
 * There are two forms of the function. `reconcile` blocks: it runs on a worker thread of the
 * manager's and may make calls that wait. `begin` does not block: it runs on the runtime's I/O
 * thread or inside the pump, sends requests, returns, and cor_run_done() ends the run. A runtime
 * without threads has the second form only.
 * Owner: the program that made it.  Thread: as each function says. */
/* clang-format on */
#ifndef CORACLE_CONTROLLER_H
#define CORACLE_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/client_config.h"
#include "coracle/control_event.h"
#include "coracle/events.h"
#include "coracle/informer.h"
#include "coracle/informers.h"
#include "coracle/rate_limiter.h"
#include "coracle/runtime.h"
#include "coracle/status.h"

#ifdef __cplusplus
extern "C" {
COR_STRUCT_NAMES_BEGIN
#endif

struct cor_manager;
struct cor_controller;
struct cor_run;

#define COR_MANAGER_END_MS          30000
#define COR_MANAGER_TIMEOUT_MS      30000
#define COR_MANAGER_CONTROLLERS_MAX 64
#define COR_CONTROLLER_SOURCES_MAX  32
#define COR_CONTROLLER_RUNS_MAX     256 /* at once */
#define COR_CONTROLLER_NAME_MAX     63
#define COR_CONTROLLER_SYNC_MS      120000
#define COR_CONTROLLER_SLOW_MS      30000
#define COR_MANAGER_CHECKS_MAX      32 /* of /healthz, and of /readyz */
#define COR_MANAGER_CHECK_NAME_MAX  63

/* The manager. */

struct cor_manager_opts {
    size_t size;      /* of this struct: COR_MANAGER_OPTS sets it (coracle/api.h) */
    const char *name; /* of the program: in its Events and log lines; must be set */
    /* Where the manager runs; it must outlive the manager. NULL: a runtime of the manager's own,
     * with threads. */
    struct cor_runtime *runtime;
    /* The server and the credentials; copied. NULL: as cor_client_config_load(NULL, NULL). */
    const struct cor_client_config *config;
    /* Requests per second, and how many at once. 0: no limit, as controller-runtime. */
    double qps;
    uint32_t burst;
    /* The timeout of requests that set none themselves; watches have none. 0:
     * COR_MANAGER_TIMEOUT_MS. */
    uint64_t timeout_ms;

    /* The Lease that decides which of several processes runs its controllers; NULL: there is no
     * election. The namespace is by default that of the configuration. The identity is by default
     * the machine's name and a random number. The times are those of coracle/election.h. */
    const char *lease_name, *lease_ns, *identity;
    uint64_t lease_ms, renew_ms, retry_ms;
    /* Releases the lease at shutdown, after the last reconcile, so that the next leader need not
     * wait. */
    bool release_on_cancel;

    /* How long the whole shutdown may take: finishing reconciles, releasing the lease, and sending
     * the last Events. 0: COR_MANAGER_END_MS. */
    uint64_t end_ms;
    /* Receives what the manager logs, one line of text without its newline at a time: a reconcile
     * that failed or is slow, a watch that failed, which process leads. Called on the I/O thread or
     * inside the pump: it must not block. NULL: nothing is logged. */
    void (*on_log)(void *arg, const char *line);
    /* The controllers have ended, once, after a stop or because of an error (`why`, else NULL); for
     * a program that does not use cor_manager_run(). Called on the I/O thread or inside the pump:
     * it must not block, nor free the manager. May be NULL. */
    void (*on_stopped)(void *arg, const struct cor_status *why);
    void *arg;

    /* Where the manager answers /healthz, /readyz and /metrics, in plain HTTP without
     * authentication: a numeric address and a port, as "0.0.0.0:8080" or "[::1]:8080". Without the
     * address (":8080") it listens on 127.0.0.1 only. Port 0 takes a free one, which
     * cor_manager_endpoint_port() returns. NULL: there is no endpoint. */
    const char *endpoint;
};

#define COR_MANAGER_OPTS .size = sizeof(struct cor_manager_opts)

/* Makes a manager with its client and its set of informers; nothing is sent yet. `opts` is copied,
 * with its texts. 0, -COR_EINVAL (no name, or as cor_client_new()), -COR_ENOTFOUND (there is no
 * configuration), -COR_ENOTSUP (coracle/api.h), -COR_ENOMEM, -COR_EIO. */
COR_API int cor_manager_new(const struct cor_manager_opts *opts, struct cor_manager **ret_manager,
                            struct cor_status *reterr);

/* Waits: stops the manager, if it runs, and frees it with all that it owns, its controllers and
 * informers included. Not inside a callback or a handler. Returns NULL; NULL is allowed. When a run
 * does not end in time, nothing is freed and the manager is returned: that run may still act, so
 * the election keeps its lease. The process should then exit, or call this again. */
COR_API struct cor_manager *cor_manager_free(struct cor_manager *manager);

/* Setup, before the start, on one thread.
 *
 * The informer of a scope, as cor_informers_for_resource(); controllers that ask for the same scope
 * share it. NULL after a failure, which the manager remembers. */
COR_API struct cor_informer *cor_manager_informer(struct cor_manager *manager,
                                                  const struct cor_informer_opts *opts);

struct cor_controller_opts {
    size_t size;      /* of this struct: COR_CONTROLLER_OPTS sets it (coracle/api.h) */
    const char *name; /* copied; unique in a manager; NULL: the kind of `for` in lower case */
    /* Exactly one of `reconcile` and `begin` must be set. `reconcile` returns 0 or a negative
     * COR_E…; after an error the key is reconciled again when the limiter's delay has passed. The
     * functions cor_run_again(), cor_run_again_after() and cor_run_terminal() change what follows.
     */
    int (*reconcile)(void *arg, struct cor_run *run);
    void (*begin)(void *arg, struct cor_run *run);
    /* For controllers with `begin`: the run is cancelled and should end soon, by cor_run_done() as
     * always. Called at most once for each run, on the I/O thread or inside the pump. May be NULL.
     */
    void (*on_cancel)(void *arg, struct cor_run *run);
    void *arg;
    uint32_t runs_max;     /* at once, of different keys; 0: 1; at most COR_CONTROLLER_RUNS_MAX */
    bool without_election; /* runs in every process, not only in the leader */
    uint64_t sync_ms; /* for the first lists; 0: COR_CONTROLLER_SYNC_MS. Then the manager fails */
    uint64_t slow_ms; /* after which a run is logged; 0: COR_CONTROLLER_SLOW_MS */
    uint64_t run_max_ms; /* after which a run is cancelled; 0: never */
    /* NULL: that of cor_rate_limiter_new_controller(). The manager takes it, even when the setup
     * fails. */
    struct cor_rate_limiter *take_limiter;
    /* Predicates of all sources; they are asked before the predicates of the source itself. The
     * array must stay valid. */
    struct cor_control_predicates predicates;
    /* Keys that the queue holds: that wait, are delayed, or run; 0: COR_WORKQUEUE_KEYS_MAX. Changes
     * beyond it wait until there is room. */
    size_t keys_max;
};

#define COR_CONTROLLER_OPTS .size = sizeof(struct cor_controller_opts)

/* Adds a controller. The manager owns it. NULL after a failure, which the manager remembers; the
 * functions on a controller take the NULL. */
COR_API struct cor_controller *cor_manager_add(struct cor_manager *manager,
                                               const struct cor_controller_opts *opts);

struct cor_source_opts {
    size_t size; /* of this struct: COR_SOURCE_OPTS sets it (coracle/api.h) */
    struct cor_control_predicates predicates; /* all must pass; the array must stay valid */
    bool
        is_cluster_scoped; /* for: its objects have no namespace, so the keys of owners have none */
    bool every_owner;      /* owns: also owners that do not control the object */
    /* watches: adds the keys that concern `object`; must be set. It is called for the old and the
     * new object of an update, on the I/O thread or inside the pump. It may read informers; it must
     * not block. */
    void (*map)(void *arg, const struct cor_object *object, struct cor_control_keys *keys);
    void *arg;
};

#define COR_SOURCE_OPTS .size = sizeof(struct cor_source_opts)

/* Sources of keys; `opts` may be NULL. The informer is one of cor_manager_informer(); for `for` its
 * options have the kind. `for` takes the key of the object itself, at most once in a controller.
 * `owns` comes after `for`, and takes the key of the owner that is of that group and kind and has
 * `controller: true`. `watches` takes the keys that a function finds. A failure is remembered by
 * the manager; the messages are those of controller-runtime where it has one. */
COR_API void cor_controller_for(struct cor_controller *controller, struct cor_informer *informer,
                                const struct cor_source_opts *opts);
COR_API void cor_controller_owns(struct cor_controller *controller, struct cor_informer *informer,
                                 const struct cor_source_opts *opts);
COR_API void cor_controller_watches(struct cor_controller *controller,
                                    struct cor_informer *informer,
                                    const struct cor_source_opts *opts);

/* Adds a named check of /healthz (the process works) or /readyz (it can do its work). A path
 * answers "ok" when all its checks return 0, else 500 with the list of its checks; ?verbose lists
 * them always, ?exclude=NAME leaves one out. /readyz/NAME is one check; when it returns an error,
 * it shows what the function wrote to `why` (`n` bytes, the NUL included), or the text of the
 * error. /readyz has a check of the manager's: "informers", the first lists of all controllers are
 * cached. The function is called for each request, on the I/O thread or inside the pump: it must
 * not block. The name is copied; it is unique, and has no slash. A failure is remembered by the
 * manager. Without an endpoint nobody calls the check. */
COR_API void cor_manager_add_healthz(struct cor_manager *manager, const char *name,
                                     int (*check)(void *arg, char *why, size_t n), void *arg);
COR_API void cor_manager_add_readyz(struct cor_manager *manager, const char *name,
                                    int (*check)(void *arg, char *why, size_t n), void *arg);

/* Running. */

/* Opens the endpoint, starts the informers and the election. Controllers begin when they lead, if
 * there is an election, and when the first lists of their sources are cached. Returns at once. 0,
 * the failure of the setup, -COR_EINVAL (started before; a controller without a source or a name,
 * or two of one name), -COR_EEXIST (the port of the endpoint is in use), -COR_ECANCELED (stopped
 * before), -COR_ENOMEM, -COR_EIO (no thread could be created). */
COR_API int cor_manager_start(struct cor_manager *manager, struct cor_status *reterr);

/* Starts the manager and waits until it has ended, with the end included: last Events, and the
 * lease. 0 after a stop; the errors of the start; -COR_ETIMEOUT (a run has not ended in time, or
 * the first lists did not come in time); -COR_ECANCELED with the message "leader election lost",
 * which is returned at once: the process should exit; or what made the manager fail. Not inside a
 * callback (-COR_EINVAL). */
COR_API int cor_manager_run(struct cor_manager *manager, struct cor_status *reterr);

/* Begins the shutdown and returns at once: no new run begins, runs in progress are cancelled, and
 * the client's calls end with -COR_ECANCELED. Any thread, callbacks, and signal handlers: it is
 * async-signal-safe. A second call does nothing. */
COR_API void cor_manager_stop(struct cor_manager *manager);

/* Valid as long as the manager; the Events until the end, which cor_manager_run() and
 * cor_manager_free() wait for: NULL afterwards. Any thread. */
COR_API struct cor_client *cor_manager_client(struct cor_manager *manager);
COR_API struct cor_informers *cor_manager_informers(struct cor_manager *manager);
COR_API struct cor_events *cor_manager_events(struct cor_manager *manager);

/* Returns whether this process leads. Without an election it does from the start. Any thread. */
COR_API bool cor_manager_is_leader(const struct cor_manager *manager);

/* The port of the endpoint; 0 before the start, and without one. Any thread. */
COR_API uint16_t cor_manager_endpoint_port(const struct cor_manager *manager);

/* Adds a key from outside the cluster, after `delay_ms`, on any thread. 0, -COR_EINVAL (the name is
 * empty, or there is a slash in it or in the namespace; there is no controller), -COR_ENOMEM,
 * -COR_ECANCELED (the manager was stopped). */
COR_API int cor_controller_enqueue(struct cor_controller *controller, const char *ns,
                                   const char *name, uint64_t delay_ms);

/* For metrics; the first four are controller-runtime's results. */
struct cor_controller_stats {
    size_t size; /* of this struct, set by the caller (coracle/api.h) */
    uint64_t success, error, requeue, requeue_after;
    uint64_t terminal;  /* of `error` */
    size_t active, max; /* runs under way, and how many may be */
    size_t depth;       /* keys that wait */
    uint64_t adds, retries;
};

#define COR_CONTROLLER_STATS .size = sizeof(struct cor_controller_stats)

/* Waits for an iteration of the event loop. 0, -COR_EINVAL, -COR_ENOTSUP (coracle/api.h). */
COR_API int cor_controller_stats(struct cor_controller *controller,
                                 struct cor_controller_stats *ret);

/* One run of a reconcile function. It belongs to the controller, and is valid until the function
 * returns, or until cor_run_done(). Thread: the run's; cor_run_is_cancelled() any. */

COR_API const char *cor_run_ns(const struct cor_run *run); /* "": it has no namespace */
COR_API const char *cor_run_name(const struct cor_run *run);
COR_API uint64_t cor_run_id(const struct cor_run *run); /* different for each run, from 1 */
COR_API struct cor_manager *cor_run_manager(const struct cor_run *run);

/* The manager stops, or run_max_ms has passed: end soon. Calls of the client that wait on the
 * worker's thread end by themselves: with -COR_ECANCELED, or with -COR_ETIMEOUT at that time. */
COR_API bool cor_run_is_cancelled(const struct cor_run *run);

/* The object of the key, as the informer of `for` had it when the run began; borrowed until the run
 * ends. NULL: it does not exist, or the controller has no `for`. */
COR_API struct cor_object *cor_run_object(struct cor_run *run);

/* Reads another object from an informer; it is borrowed until the run ends. 0, -COR_ENOTFOUND,
 * -COR_ENOMEM. */
COR_API int cor_run_get(struct cor_run *run, struct cor_informer *informer, const char *ns,
                        const char *name, struct cor_object **ret_object);

/* Releases the object when the run ends. 0; or -COR_ENOMEM, and then it is released at once. */
COR_API int cor_run_keep(struct cor_run *run, struct cor_object *take_object);

/* Where a call may describe its failure. When the run fails with an error, its message is logged.
 */
COR_API struct cor_status *cor_run_why(struct cor_run *run);

/* clang-format off */
/* What happens after the run:
 *
 *   the function returns        | the key is reconciled again       | its failures
 *   any, after _terminal()      | not until a change comes          | unchanged
 *   an error                    | after the limiter's delay         | one more
 *   0, after _again_after()     | after this time, or a change      | forgotten
 *   0, after _again()           | after the limiter's delay         | one more
 *   0                           | not until a change comes          | forgotten
 *
 * The first matching row applies. cor_run_terminal() returns `r`. */
/* clang-format on */
COR_API int cor_run_terminal(struct cor_run *run, int r);
COR_API void cor_run_again_after(struct cor_run *run, uint64_t ms);
COR_API void cor_run_again(struct cor_run *run);

/* Ends a run of `begin`; called once, on any thread. `r` is what `reconcile` would return. */
COR_API void cor_run_done(struct cor_run *run, int r);

#ifdef __cplusplus
COR_STRUCT_NAMES_END
}
#endif

#endif
