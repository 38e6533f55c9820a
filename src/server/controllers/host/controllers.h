/* clang-format off */
/* The host of the controllers inside the server. It makes, starts, restarts and stops them, each
 * with a port of its own identity, all on one loop.
 *
 * When other servers share the store, one server at a time runs all controllers: they are elected by
 * one Lease, kube-system/coracle-controllers. The name is not kube-controller-manager's, so that one
 * may run beside them with controllers that are not in this server.
 *
 * docs/internals/controllers.md has the picture.
 * Thread: the loop of `opts.api`, except new and free, which are for the maker's thread while that
 * loop does not run.  Owner: its maker. */
/* clang-format on */
#ifndef COR_SERVER_CONTROLLERS_HOST_CONTROLLERS_H
#define COR_SERVER_CONTROLLERS_HOST_CONTROLLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "coracle/workqueue.h"
#include "meta/status/status.h"

#define COR_CONTROLLERS_LEASE "coracle-controllers"

struct cor_api_loop;
struct cor_controller_host;
struct cor_metrics;
struct cor_server_controller_ops;

struct cor_controller_host_opts {
    struct cor_api_loop *api;
    const char *controllers; /* --controllers; NULL: all. Must stay valid, as must the CA */
    bool has_others;         /* other servers may share the store */
    struct cor_str root_ca;  /* PEM */
    /* For tests: other controllers than the built-in ones (must stay valid), and the pause before
     * one that has ended is started again. Zeroed: those of this server, and a second. */
    const struct cor_server_controller_ops *const *table;
    size_t ntable;
    uint64_t restart_ms;
};

/* The list is checked before (cor_server_controllers_check()). 0, -COR_ENOMEM. */
int cor_controller_host_new(const struct cor_controller_host_opts *opts,
                            struct cor_controller_host **ret_host, struct cor_status *reterr);

/* Before the start, or after on_stopped. Returns NULL; NULL is allowed. */
struct cor_controller_host *cor_controller_host_free(struct cor_controller_host *host);
COR_DEFINE_CLEANUP(struct cor_controller_host, cor_controller_host_free)

/* Starts the controllers, or the election. Nothing is waited for. Once. */
void cor_controller_host_start(struct cor_controller_host *host);

/* Ends all controllers, and gives back the Lease; `on_stopped` follows in a later turn, about
 * `max_ms` later at most. Once. */
void cor_controller_host_stop(struct cor_controller_host *host, uint64_t max_ms,
                              void (*on_stopped)(void *arg), void *arg);

/* Calls `fn` with the numbers of each work queue of a controller that runs now. From any thread;
 * `fn` must not call the host. */
void cor_controller_host_each_queue(struct cor_controller_host *host,
                                    void (*fn)(void *arg, const char *queue,
                                               const struct cor_workqueue_stats *stats),
                                    void *arg);

/* Adds the families about work queues, with upstream's names; the host must outlive the metrics'
 * last scrape. Before the loops start. 0, -COR_ENOMEM. */
int cor_controller_host_add_metrics(struct cor_controller_host *host, struct cor_metrics *metrics);

#endif
