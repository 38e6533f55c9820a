/* clang-format off */
/* Metrics of clients, informers and work queues as Prometheus text, with client-go's names, so that
 * dashboards made for programs in Go work. A manager with an endpoint shows those of its own
 * client, informers and controllers (coracle/controller.h); this is for programs that have an HTTP
 * server, or a file that a node exporter reads.
 *
 *   const struct cor_named_queue queues[] = {{"pods", queue}};
 *   const struct cor_prometheus_of of = {COR_PROMETHEUS_OF,
 *                                     .clients = &client, .nclients = 1,
 *                                     .informers = &informers, .ninformers = 1,
 *                                     .queues = queues, .nqueues = 1};
 *   r = cor_prometheus_write(&of, on_text, NULL, &why);
 *
 *   rest_client_requests_total{code,host,method}           answers; <error>: there was none
 *   rest_client_request_retries_total{code,host,verb}      attempts that were repeated
 *   rest_client_request_duration_seconds{host,verb}        requests, watches left out
 *   reflector_lists_total, reflector_list_duration_seconds, reflector_items_per_list,
 *   reflector_watches_total, reflector_short_watches_total, reflector_watch_duration_seconds,
 *   reflector_items_per_watch, coracle_informer_objects, coracle_informer_backlog
 *                                                          {name,namespace}: apps/v1/deployments
 *   workqueue_depth, workqueue_adds_total, …               {name}
 *
 * Clients of one host, and informers of one resource and namespace, are shown as their sum.
 * Thread: any; it waits.  Owner: the caller of the struct. */
/* clang-format on */
#ifndef CORACLE_PROMETHEUS_H
#define CORACLE_PROMETHEUS_H

#include <stddef.h>

#include "coracle/api.h"
#include "coracle/client.h"
#include "coracle/informers.h"
#include "coracle/status.h"
#include "coracle/str.h"
#include "coracle/workqueue.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_named_queue {
    const char *name; /* each once */
    struct cor_workqueue *queue;
};

struct cor_prometheus_of {
    size_t size; /* of this struct: COR_PROMETHEUS_OF sets it (coracle/api.h) */
    struct cor_client *const *clients;
    size_t nclients;
    struct cor_informers *const *informers;
    size_t ninformers;
    const struct cor_named_queue *queues;
    size_t nqueues;
};

#define COR_PROMETHEUS_OF .size = sizeof(struct cor_prometheus_of)

/* Gathers the figures and calls `fn` once with the whole text, on this thread. 0 or what `fn`
 * returned; -COR_EINVAL (inside a callback of a runtime, in a forked child), -COR_ENOTSUP
 * (coracle/api.h), -COR_ETOOBIG (more than 16 MB), -COR_ENOMEM. */
COR_API int cor_prometheus_write(const struct cor_prometheus_of *of,
                                 int (*fn)(void *arg, struct cor_str text), void *arg,
                                 struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
