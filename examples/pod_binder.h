/* A small scheduler: binds each pod that names it as its scheduler to the ready node with the
 * fewest pods. The program is binder.c, its unit test binder_test.c.
 * Owner: the manager.  Thread: any. */
#ifndef EXAMPLES_POD_BINDER_H
#define EXAMPLES_POD_BINDER_H

#include <coracle.h>
#include <coracle/types/core_v1_client.h>

#define BINDER_NAME "binder" /* spec.schedulerName of its pods */

struct pod_binder {
    struct cor_client *client;
    struct cor_core_v1_pod_informer pods; /* indexed by node; "": those that wait for one */
    struct cor_core_v1_node_informer nodes;
    struct cor_core_v1_pod_index by_node;
};

/* Adds the controller to a manager, before its start. The binder must outlive the manager. 0 or a
 * negative code. */
int pod_binder_add(struct pod_binder *binder, struct cor_manager *manager, struct cor_status *why);

#endif
