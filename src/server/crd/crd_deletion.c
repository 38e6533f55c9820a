/* clang-format off */
/* The deletion of a CustomResourceDefinition: its instances go first (contract crd 5.4 to 5.7).
 *
 *   Terminating is True, InstanceDeletionInProgress ──► it was never Established: no instances
 *   ──► list all instances, by their metadata ──► DELETE of each namespace that has one ──► list again:
 *   some are left ──► again after POLL_MS;  none ──► the finalizer goes, and Terminating is False, in one write
 *
 * What cannot be listed or deleted is InstanceDeletionFailed in the condition, and is tried again by
 * the limiter. Instances that have finalizers wait for those: the definition stays until they are
 * gone.
 * Thread: the first loop of the API. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "server/crd/crd_status.h"

#define POLL_MS        1000
#define NAMESPACES_MAX (16u << 20)

void cor_crd_work_deinit_deletion(struct cor_crd_work *work)
{
    if (!work->is_deleting)
        return;
    cor_buf_deinit(&work->namespaces);
}

static void deletion_end(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_work *work = COR_CONTAINER_OF(req, struct cor_crd_work, req);
    const struct cor_status *error = answer->error;
    bool is_over =
        !error || (answer->end == COR_API_ANSWERED && (error->code == 409 || error->code == 404));

    if (!is_over)
        cor_crd_work_fail(work, error->err, error);
    else
        cor_crd_work_fail(work, 0, NULL);
}

/* The last write: the finalizer goes, and with it the object, if it has no other. */
static void deletion_finish(struct cor_crd_work *work, const char *reason, const char *message)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_end};
    const struct crd_entry *entry = cor_crds_find(work->crds, work->rec->name);
    const struct cor_crd_change change = {
        .conditions = {{.type = "Terminating", .reason = reason, .message = cor_strz(message)}},
        .nconditions = 1,
        .drops_finalizer = true,
    };

    if (entry)
        cor_crd_work_write(work, entry->crd, &change, &cbs);
    else
        cor_crd_work_fail(work, 0, NULL);
}

/* The failure is in the condition, then the limiter tries again. */
static void deletion_on_failed(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    cor_crd_work_fail(COR_CONTAINER_OF(req, struct cor_crd_work, req), -COR_EIO, answer->error);
}

static void deletion_refuse(struct cor_crd_work *work, const char *what,
                            const struct cor_status *error)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_on_failed};
    const struct crd_entry *entry = cor_crds_find(work->crds, work->rec->name);
    char message[512];
    struct cor_crd_change change = {
        .conditions = {{.type = "Terminating",
                        .reason = "InstanceDeletionFailed",
                        .is_true = true}},
        .nconditions = 1,
    };

    snprintf(message, sizeof(message), "%s: %s", what, cor_status_message(error));
    change.conditions[0].message = cor_strz(message);
    if (entry && !cor_crd_has_condition(entry->crd, &change.conditions[0]))
        cor_crd_work_write(work, entry->crd, &change, &cbs);
    else
        cor_crd_work_fail(work, entry ? -COR_EIO : 0, entry ? error : NULL);
}

/* The collection of the stored version, or of any that is served. */
static const struct cor_resource_row *deletion_row(const struct cor_crd_work *work)
{
    const struct crd_entry *entry = cor_crds_find(work->crds, work->rec->name);
    const struct cor_definition *d = entry ? entry->served : NULL;

    for (size_t i = 0; d && i < cor_definition_n(d); i++) {
        if (!cor_definition_row(d, i)->custom->is_hidden)
            return cor_definition_row(d, i);
    }
    return NULL;
}

static bool is_about_to_be_served(const struct cor_crd_work *work)
{
    const struct crd_entry *entry = cor_crds_find(work->crds, work->rec->name);

    return entry && entry->next;
}

static struct cor_resource_path deletion_path(const struct cor_resource_row *row, struct cor_str ns)
{
    return (struct cor_resource_path){.gvr = {row->group, row->version, row->plural}, .ns = ns};
}

static void deletion_list(struct cor_crd_work *work);
static void deletion_next(struct cor_crd_work *work);

/* A list is in the order of keys: the instances of a namespace follow one another. */
static int deletion_on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_crd_work *work = COR_CONTAINER_OF(req, struct cor_crd_work, req);
    struct cor_str ns = cor_object_namespace(item);
    bool is_known = work->has_checked ||
                    (work->has_instances && cor_str_eqz(ns, work->namespaces.p + work->last));
    int r;

    work->has_instances = true;
    if (is_known)
        return 0;
    r = cor_buf_reserve(&work->namespaces, ns.n + 1);
    if (r < 0)
        return r;
    work->last = work->namespaces.n;
    (void)cor_buf_adds(&work->namespaces, ns);
    return cor_buf_addc(&work->namespaces, '\0');
}

static void deletion_on_listed(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_work *work = COR_CONTAINER_OF(req, struct cor_crd_work, req);
    const struct cor_reconcile_result again = {.again_after_ms = POLL_MS};

    if (answer->error)
        deletion_refuse(work, "could not list instances", answer->error);
    else if (!work->has_instances)
        deletion_finish(work, "InstanceDeletionCompleted", "removed all instances");
    else if (work->has_checked)
        cor_crd_work_end(work, &again);
    else
        deletion_next(work);
}

static void deletion_list(struct cor_crd_work *work)
{
    static const struct cor_api_request_cbs cbs = {.on_item = deletion_on_item,
                                                   .on_done = deletion_on_listed};
    const struct cor_resource_row *row = deletion_row(work);
    const struct cor_list_query query = {.metadata_only = true};

    work->has_instances = false;
    if (!row && is_about_to_be_served(work)) {
        cor_crd_work_fail(work, -COR_EBUSY, NULL);
        return;
    }
    if (!row) {
        /* Nothing of it is served, so that nothing can be reached. */
        deletion_finish(work, "InstanceDeletionCompleted", "removed all instances");
        return;
    }
    work->req = (struct cor_api_request){.at = deletion_path(row, COR_STR("")), .cbs = &cbs};
    cor_api_list(&work->crds->port.port, &work->req, &query);
}

static void deletion_on_deleted(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_work *work = COR_CONTAINER_OF(req, struct cor_crd_work, req);

    if (answer->error)
        deletion_refuse(work, "could not issue all deletes", answer->error);
    else
        deletion_next(work);
}

/* Deletes the instances of the next namespace, and checks after the last one what is left. */
static void deletion_next(struct cor_crd_work *work)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_on_deleted};
    const struct cor_resource_row *row = deletion_row(work);
    struct cor_str ns;

    if (work->at == work->namespaces.n || !row) {
        work->has_checked = true;
        deletion_list(work);
        return;
    }
    ns = cor_strz(work->namespaces.p + work->at);
    work->at += ns.n + 1;
    work->req = (struct cor_api_request){.at = deletion_path(row, ns), .cbs = &cbs};
    cor_api_remove_collection(&work->crds->port.port, &work->req, NULL, NULL);
}

static void deletion_begin(struct cor_crd_work *work)
{
    const struct crd_entry *entry = cor_crds_find(work->crds, work->rec->name);

    if (!entry) {
        cor_crd_work_fail(work, 0, NULL);
        return;
    }
    if (!cor_crd_is_true(entry->crd, "Established")) {
        deletion_finish(work, "NeverEstablished", "resource was never established");
        return;
    }
    if (!work->is_deleting) {
        cor_buf_init(&work->namespaces, NAMESPACES_MAX);
        work->is_deleting = true;
    }
    deletion_list(work);
}

static void deletion_on_begun(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_work *work = COR_CONTAINER_OF(req, struct cor_crd_work, req);
    int r;

    /* The definition may be gone by now, and its deletion seen: the answer must not bring it back. */
    if (answer->error || !cor_crds_find(work->crds, work->rec->name)) {
        deletion_end(req, answer);
        return;
    }
    r = cor_crds_take(work->crds, answer->object);
    if (r < 0)
        cor_crd_work_fail(work, r, NULL);
    else
        deletion_begin(work);
}

void cor_crd_delete_instances(struct cor_crd_work *work, const struct cor_object *crd)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_on_begun};
    static const struct cor_crd_change begun = {
        .conditions = {{.type = "Terminating",
                        .reason = "InstanceDeletionInProgress",
                        .message = COR_STR_INIT("CustomResource deletion is in progress"),
                        .is_true = true}},
        .nconditions = 1,
    };

    if (!cor_crd_has_finalizer(crd))
        cor_crd_work_fail(work, 0, NULL);
    else if (cor_crd_has_condition(crd, &begun.conditions[0]))
        deletion_begin(work);
    else
        cor_crd_work_write(work, crd, &begun, &cbs);
}
