/* clang-format off */
/* The heart of a controller in the pattern of Kubernetes' sample-controller, for both programs that
 * run it (controller.c with threads, uv_controller.c in a libuv loop): it keeps one ReplicaSet for
 * each Deployment and reports in the Deployment's status what it saw.
 *
 *   informers ──keys──► work queue ──a key──► reconcile: read the caches, make the cluster so
 *
 * Thread: any; a key is with one worker at a time.  Owner: the program. */
/* clang-format on */
#ifndef EXAMPLES_DEPLOYMENT_CONTROLLER_H
#define EXAMPLES_DEPLOYMENT_CONTROLLER_H

#include <coracle.h>

struct deployment_controller {
    const char *program;
    struct cor_client *client;
    struct cor_informers *informers;
    struct cor_informer *deployments, *replicasets;
    struct cor_workqueue *queue;
    struct cor_events *events;
};

struct deployment_controller_opts {
    const char *program;                 /* for messages */
    void (*on_ready)(void *arg);         /* as in cor_workqueue_opts; may be NULL */
    void (*on_synced)(void *arg, int r); /* once for each of the two informers */
    void *arg;
};

/* Makes the informers and the queue; nothing is started. 0 or a negative code, with `why` where
 * there is more to say; close it also then. */
int deployment_controller_open(struct deployment_controller *c, struct cor_client *client,
                               const struct deployment_controller_opts *opts,
                               struct cor_status *why);

/* No worker may be inside. */
void deployment_controller_close(struct deployment_controller *c);

/* Works on a key from the queue, and returns it: a failure is retried later. */
void deployment_controller_work(struct deployment_controller *c, const char *key);

#endif
