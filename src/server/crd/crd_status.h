/* Inside server/crd/: one reconcile of a CustomResourceDefinition.
 * Thread: the first loop of the API. */
#ifndef COR_SERVER_CRD_STATUS_H
#define COR_SERVER_CRD_STATUS_H

#include <assert.h>

#include "server/crd/crds_int.h"

struct cor_crd_task {
    struct cor_task task; /* first */
    struct cor_crds *crds;
    bool has_named; /* the last write changed names */
    /* Of a deletion (crd_deletion.c). */
    struct cor_buf namespaces; /* that have instances: each with a NUL after it */
    size_t last, at;           /* the last of them, and the next one to empty */
    bool is_deleting;          /* `namespaces` is set up */
    bool has_instances;
    bool is_quiet;    /* nothing was being created when the list was sent */
    bool has_checked; /* the deletion was asked for, and it is checked what is left */
};

static inline struct cor_crd_task *cor_crd_task_of(struct cor_task *task)
{
    struct cor_crd_task *own = COR_CONTAINER_OF(task, struct cor_crd_task, task);

    assert(cor_task_size(task) == sizeof(*own));
    return own;
}

/* Writes the status of `crd` with this change; `cbs` get the answer. */
void cor_crd_task_write(struct cor_crd_task *w, const struct cor_crd *crd,
                        const struct cor_crd_change *change, const struct cor_api_request_cbs *cbs);

struct cor_resource_path cor_crd_path(struct cor_str name, const char *subresource);

/* In crd_deletion.c. `crd` is being deleted: deletes its instances, then its finalizer, and ends
 * the task. */
void cor_crd_delete_instances(struct cor_crd_task *w, const struct cor_crd *crd);
void cor_crd_task_deinit(struct cor_task *task);

#endif
