/* clang-format off */
/* The deletion of a CustomResourceDefinition: its instances go first (contract crd 5.4 to 5.7).
 *
 *   Terminating is True, InstanceDeletionInProgress ──► it was never Established: no instances
 *   ──► list all instances, by their metadata ──► DELETE of each namespace that has one ──► list again:
 *   some are left ──► again after POLL_MS;  none, but some were being created ──► again after CREATION_MS;
 *   none ──► the finalizer goes, and Terminating is False, in one write
 *
 * What cannot be listed or deleted is InstanceDeletionFailed in the condition, and is tried again by
 * the limiter. Instances that have finalizers wait for those: the definition stays until they are
 * gone.
 * Thread: the first loop of the API. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "meta/names/key.h"
#include "server/api/api_loop.h"
#include "server/crd/crd_status.h"

#define FAILED         "InstanceDeletionFailed"
#define POLL_MS        1000
#define CREATION_MS    10
#define OTHERS_MS      250
#define NAMESPACES_MAX (16u << 20)

void cor_crd_task_deinit(struct cor_task *task)
{
    struct cor_crd_task *w = cor_crd_task_of(task);

    if (w->is_deleting)
        cor_buf_deinit(&w->namespaces);
}

static void deletion_end(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    cor_task_end_followed(COR_CONTAINER_OF(req, struct cor_task, req), answer);
}

/* The last write: the finalizer goes, and with it the object, if it has no other. */
static void deletion_finish(struct cor_crd_task *w, const char *reason, const char *message)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_end};
    const struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    const struct cor_crd_change change = {
        .conditions = {{.type = "Terminating", .reason = reason, .message = cor_strz(message)}},
        .nconditions = 1,
        .drops_finalizer = true,
    };

    if (entry)
        cor_crd_task_write(w, &entry->crd, &change, &cbs);
    else
        cor_task_end(&w->task, 0, NULL);
}

/* The failure is in the condition, then the limiter tries again. */
static void deletion_on_failed(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    cor_task_end(COR_CONTAINER_OF(req, struct cor_task, req), -COR_EIO, answer->error);
}

static void deletion_refuse(struct cor_crd_task *w, const char *what,
                            const struct cor_status *error)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_on_failed};
    const struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    char message[512];
    struct cor_crd_change change = {
        .conditions = {{.type = "Terminating", .reason = FAILED, .is_true = true}},
        .nconditions = 1,
    };

    snprintf(message, sizeof(message), "%s: %s", what, cor_status_message(error));
    change.conditions[0].message = cor_strz(message);
    if (entry && !cor_crd_has_condition(&entry->crd, &change.conditions[0]))
        cor_crd_task_write(w, &entry->crd, &change, &cbs);
    else
        cor_task_end(&w->task, entry ? -COR_EIO : 0, entry ? error : NULL);
}

/* A version that can be reached; NULL: there is none. */
static const struct cor_resource_row *deletion_row(const struct cor_crd_task *w)
{
    const struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    const struct cor_definition *d = entry ? entry->served : NULL;

    for (size_t i = 0; d && i < cor_definition_n(d); i++) {
        if (!cor_definition_row(d, i)->custom->is_hidden)
            return cor_definition_row(d, i);
    }
    return NULL;
}

static struct cor_resource_path deletion_path(const struct cor_resource_row *row, struct cor_str ns)
{
    return (struct cor_resource_path){.gvr = {row->group, row->version, row->plural}, .ns = ns};
}

static void deletion_list(struct cor_crd_task *w);
static void deletion_next(struct cor_crd_task *w);

/* A list is in the order of keys: the instances of a namespace follow one another. */
static int deletion_on_item(struct cor_api_request *req, struct cor_object *item)
{
    struct cor_crd_task *w = COR_CONTAINER_OF(req, struct cor_crd_task, task.req);
    struct cor_str ns = cor_object_namespace(item);
    bool is_known =
        w->has_checked || (w->has_instances && cor_str_eqz(ns, w->namespaces.p + w->last));
    int r;

    w->has_instances = true;
    if (is_known)
        return 0;
    r = cor_buf_reserve(&w->namespaces, ns.n + 1);
    if (r < 0)
        return r;
    w->last = w->namespaces.n;
    (void)cor_buf_adds(&w->namespaces, ns);
    return cor_buf_addc(&w->namespaces, '\0');
}

static void deletion_on_listed(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_task *w = COR_CONTAINER_OF(req, struct cor_crd_task, task.req);
    const struct cor_reconcile_result again = {.again_after_ms = POLL_MS};
    const struct cor_reconcile_result soon = {.again_after_ms = CREATION_MS};

    if (answer->error)
        deletion_refuse(w, "could not list instances", answer->error);
    else if (!w->has_instances && w->is_quiet)
        deletion_finish(w, "InstanceDeletionCompleted", "removed all instances");
    else if (!w->has_instances)
        cor_task_done(&w->task, &soon);
    else if (w->has_checked)
        cor_task_done(&w->task, &again);
    else
        deletion_next(w);
}

/* A definition that is not served may have instances in the store: it stays until it is served
 * again. One that is served, but in versions of built-in groups alone, cannot be reached, and has
 * none. */
static void deletion_without_row(struct cor_crd_task *w)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    int r = 0;

    if (entry && entry->served && !entry->next) {
        deletion_finish(w, "InstanceDeletionCompleted", "removed all instances");
        return;
    }
    if (entry && !entry->next)
        r = cor_crds_serve(w->crds, entry);
    if (!entry || r < 0 || entry->next) {
        cor_task_end(&w->task, entry && r == 0 ? -COR_EBUSY : r, NULL);
        return;
    }
    cor_status_set(&why, -COR_EUNAVAILABLE, "the custom resource cannot be served");
    deletion_refuse(w, "could not list instances", &why);
}

/* Returns whether a list sent now would show all instances that will ever exist. Requests of this
 * server that entered the gate before it was closed are awaited. Other servers that share the store
 * close their gates when they see the deletion; they have OTHERS_MS for that, and for the requests
 * of before. */
static bool is_quiet(const struct cor_crd_task *w)
{
    const struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    struct cor_api *api = w->crds->api;

    return entry && cor_creation_gate_is_empty(entry->gate) &&
           (!cor_engine_shares_store(cor_api_settings(api)->engine) ||
            cor_loop_now_ms(cor_api_home(api)->loop) >= entry->closed_ms + OTHERS_MS);
}

static void deletion_list(struct cor_crd_task *w)
{
    static const struct cor_api_request_cbs cbs = {.on_item = deletion_on_item,
                                                   .on_done = deletion_on_listed};
    const struct cor_resource_row *row = deletion_row(w);

    if (!row) {
        deletion_without_row(w);
        return;
    }
    w->has_instances = false;
    w->is_quiet = is_quiet(w);
    w->task.req = (struct cor_api_request){
        .at = deletion_path(row, COR_STR("")), .metadata_only = true, .cbs = &cbs};
    cor_api_list(cor_task_port(&w->task), &w->task.req, &(struct cor_list_query){0});
}

static void deletion_on_deleted(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_task *w = COR_CONTAINER_OF(req, struct cor_crd_task, task.req);

    if (answer->error)
        deletion_refuse(w, "could not issue all deletes", answer->error);
    else
        deletion_next(w);
}

/* Deletes the instances of the next namespace, and checks after the last one what is left. */
static void deletion_next(struct cor_crd_task *w)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_on_deleted};
    const struct cor_resource_row *row = deletion_row(w);
    struct cor_str ns;

    if (w->at == w->namespaces.n || !row) {
        w->has_checked = true;
        deletion_list(w);
        return;
    }
    ns = cor_strz(w->namespaces.p + w->at);
    w->at += ns.n + 1;
    w->task.req = (struct cor_api_request){.at = deletion_path(row, ns), .cbs = &cbs};
    cor_api_remove_collection(cor_task_port(&w->task), &w->task.req, NULL, NULL);
}

static void deletion_begin(struct cor_crd_task *w)
{
    const struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    struct cor_gr gr;

    if (!entry) {
        cor_task_end(&w->task, 0, NULL);
        return;
    }
    gr = (struct cor_gr){
        cor_crd_group(&entry->crd),
        cor_view_text_or(cor_view_member(cor_crd_spec(&entry->crd, "names"), COR_STR("plural")),
                         NULL, 0, "")};
    if (cor_key_is_builtin(&gr)) {
        deletion_finish(w, "OverlappingBuiltInResource",
                        "instances overlap with built-in resources in storage");
        return;
    }
    /* It is served before that can be read in its condition. */
    if (!cor_crd_is_true(&entry->crd, "Established") && !entry->served && !entry->next) {
        deletion_finish(w, "NeverEstablished", "resource was never established");
        return;
    }
    if (!w->is_deleting) {
        cor_buf_init(&w->namespaces, NAMESPACES_MAX);
        w->is_deleting = true;
    }
    deletion_list(w);
}

static void deletion_on_begun(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_task *w = COR_CONTAINER_OF(req, struct cor_crd_task, task.req);
    int r;

    /* The definition may be gone by now, and its deletion seen: the answer must not bring it back.
     */
    if (answer->error || !cor_crds_find(w->crds, w->task.rec->name)) {
        deletion_end(req, answer);
        return;
    }
    r = cor_crds_take(w->crds, answer->object);
    if (r < 0)
        cor_task_end(&w->task, r, NULL);
    else
        deletion_begin(w);
}

/* A try that has failed stays in the condition: each write of it would begin the next try at once.
 */
static bool has_failed(const struct cor_crd *crd)
{
    struct cor_view condition = cor_crd_condition(crd, "Terminating");

    return cor_str_eqz(cor_view_text_or(cor_view_member(condition, COR_STR("reason")), NULL, 0, ""),
                       FAILED);
}

void cor_crd_delete_instances(struct cor_crd_task *w, const struct cor_crd *crd)
{
    static const struct cor_api_request_cbs cbs = {.on_done = deletion_on_begun};
    static const struct cor_crd_change begun = {
        .conditions = {{.type = "Terminating",
                        .reason = "InstanceDeletionInProgress",
                        .message = COR_STR_INIT("CustomResource deletion is in progress"),
                        .is_true = true}},
        .nconditions = 1,
    };

    if (!cor_crd_has_finalizer(crd->object))
        cor_task_end(&w->task, 0, NULL);
    else if (cor_crd_has_condition(crd, &begun.conditions[0]) || has_failed(crd))
        deletion_begin(w);
    else
        cor_crd_task_write(w, crd, &begun, &cbs);
}
