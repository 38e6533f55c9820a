/* clang-format off */
/* Keeps the status of CustomResourceDefinitions: one reconcile per definition at a time, which writes
 * until nothing is left to write (contract crd 2.1.3).
 *
 *   status_step: its names are not those that it asks for ──► names judged ──► PUT status ──┐
 *                its names are accepted, it is served, it is not Established ──► PUT status ┤
 *                the condition about its approval is another ──► PUT status ────────────────┤
 *                that about defaults of stored objects is another ──► PUT status ───────────┤
 *                nothing, or it is not served yet ──► the reconcile ends                    │
 *   status_on_written: the answer is the newest state, which is served at once ◄────────────┘ ──► status_step
 *
 * Whoever sees that a definition is Established can use what it defines, and finds it in discovery.
 * While names are being written they count as used, so that two definitions that are judged at the
 * same time do not both get a name. The answer 409 or 404 ends the reconcile: a newer state comes by
 * the watch, and with it the next one. Other failures are tried again by the limiter.
 * Thread: the first loop of the API. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "schema/kinds/crd_approval.h"
#include "schema/kinds/custom_row.h"
#include "schema/kinds/custom_schema.h"
#include "server/api/api_cachers.h"
#include "server/crd/crd_status.h"
#include "server/crd/naming.h"

#define RECONCILES_MAX  16
#define SHORT_NAMES_FEW 16         /* each of which is looked for in all definitions */
#define GROUP_NAMES_MAX (1u << 24) /* more than the definitions of a group have room for */

struct cor_resource_path cor_crd_path(struct cor_str name, const char *subresource)
{
    /* names a kind: whose status is written */
    return (struct cor_resource_path){
        .gvr = {COR_STR("apiextensions.k8s.io"), COR_STR("v1"),
                COR_STR("customresourcedefinitions")},
        .name = name,
        .subresource = cor_strz(subresource),
    };
}

/* Does a definition of the group have this name? */
struct use {
    const struct cor_crds *crds;
    struct cor_str group;
    struct cor_str_set resources; /* all of that pool, if has_resources */
    bool has_resources;
};

/* A definition that asks for many short names is compared with a set of those that are used. */
static int use_gather(struct use *use)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < use->crds->nentries; i++) {
        const struct crd_entry *entry = use->crds->entries[i];

        if (!cor_str_eq(entry->group, use->group))
            continue;
        r = cor_names_add(entry->accepted, &use->resources);
        if (r == 0 && entry->claimed.n > 0)
            r = cor_names_add(cor_view(cor_buf_str(&entry->claimed)), &use->resources);
    }
    use->has_resources = r == 0;
    return r;
}

static bool is_used(void *arg, enum cor_name_pool pool, struct cor_str name)
{
    const struct use *use = arg;

    if (pool == COR_POOL_RESOURCES && use->has_resources)
        return cor_str_set_has(&use->resources, name);
    for (size_t i = 0; i < use->crds->nentries; i++) {
        const struct crd_entry *entry = use->crds->entries[i];

        if (!cor_str_eq(entry->group, use->group))
            continue;
        if (cor_names_have(entry->accepted, pool, name) ||
            (entry->claimed.n > 0 &&
             cor_names_have(cor_view(cor_buf_str(&entry->claimed)), pool, name)))
            return true;
    }
    return false;
}

static void status_step(struct cor_crd_task *w);

static void status_on_written(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_crd_task *w = COR_CONTAINER_OF(req, struct cor_crd_task, task.req);
    struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    int r;

    if (entry)
        cor_buf_reset(&entry->claimed);
    if (answer->error || !entry) {
        cor_task_end_followed(&w->task, answer);
        return;
    }
    r = cor_crds_take(w->crds, answer->object);
    /* The status may have released a name. */
    if (r == 0 && w->has_named)
        cor_crds_requeue_group(w->crds, entry->group, w->task.rec->name);
    if (r < 0)
        cor_task_end(&w->task, r, NULL);
    else
        status_step(w);
}

void cor_crd_task_write(struct cor_crd_task *w, const struct cor_crd *crd,
                        const struct cor_crd_change *change, const struct cor_api_request_cbs *cbs)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *next = NULL;
    int r = cor_crd_change(crd, change, cor_clock_wall_ms(w->crds->clock), &next);

    if (r < 0) {
        cor_task_end(&w->task, r, NULL);
        return;
    }
    w->task.req =
        (struct cor_api_request){.at = cor_crd_path(w->task.rec->name, "status"), .cbs = cbs};
    cor_api_update(cor_task_port(&w->task), &w->task.req, next, NULL);
}

static const struct cor_api_request_cbs status_cbs = {.on_done = status_on_written};

/* What is to be said of stored objects whose defaults are too large; 0: nothing else than what the
 * status says, 1: `ret_condition`. It is known once the cache of the definition was filled. Without
 * caches the objects are read when somebody asks for them, and another server may have read what
 * this one has not: it takes back once, when the schema has changed, what was said. */
static int status_judge_defaults(struct cor_crds *crds, struct crd_entry *entry,
                                 struct cor_crd_condition *ret_condition)
{
    static const struct cor_crd_condition too_large = {
        .type = "DefaultsTooLarge",
        .reason = "StoredObjectsTooLarge",
        .message = COR_STR_INIT("the defaults of the schema would make stored objects larger than "
                                "an object may be: these are served as they are stored"),
        .is_true = true};
    static const struct cor_crd_condition fit = {
        .type = "DefaultsTooLarge",
        .reason = "StoredObjectsFit",
        .message = COR_STR_INIT("no stored object that was read lacks the defaults of the schema")};
    const struct cor_resource_row *stored;
    bool was_too_large;

    if (!cor_crds_shows(crds, entry) || !entry->served)
        return 0;
    stored = cor_definition_stored(entry->served);
    was_too_large = cor_crd_is_true(&entry->crd, too_large.type);
    if (!was_too_large)
        entry->may_fit = cor_api_shared(crds->api)->cachers != NULL;
    if (cor_custom_schema_has_undefaulted(stored->custom->schema))
        *ret_condition = too_large;
    else if (was_too_large && entry->may_fit)
        *ret_condition = fit;
    else
        return 0;
    return !cor_crd_has_condition(&entry->crd, ret_condition);
}

static void status_tell_defaults(struct cor_crd_task *w, struct crd_entry *entry)
{
    struct cor_crd_change change = {.nconditions = 1};

    if (status_judge_defaults(w->crds, entry, &change.conditions[0]) == 1)
        cor_crd_task_write(w, &entry->crd, &change, &status_cbs);
    else
        cor_task_end(&w->task, 0, NULL);
}

/* What the group says of the definition, and then the last step. */
static void status_approve(struct cor_crd_task *w, struct crd_entry *entry)
{
    const struct cor_crd *crd = &entry->crd;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf message = {.max = COR_CRD_STATUS_MAX};
    struct cor_crd_change change = {.nconditions = 1};
    int r = cor_crd_judge_approval(crd, &message, &change.conditions[0]);

    if (r == 1)
        cor_crd_task_write(w, crd, &change, &status_cbs);
    else if (r == 0)
        status_tell_defaults(w, entry);
    else
        cor_task_end(&w->task, r, NULL);
}

static bool asks_for_many(const struct cor_crd *crd)
{
    return cor_view_len(cor_view_member(cor_crd_spec(crd, "names"), COR_STR("shortNames"))) >
           SHORT_NAMES_FEW;
}

static void status_step(struct cor_crd_task *w)
{
    static const struct cor_crd_change established = {
        .conditions = {{.type = "Established",
                        .reason = "InitialNamesAccepted",
                        .message = COR_STR_INIT("the initial names have been accepted"),
                        .is_true = true}},
        .nconditions = 1,
    };
    struct crd_entry *entry = cor_crds_find(w->crds, w->task.rec->name);
    struct cor_naming naming = {0};
    struct use use;
    int r = 0;

    if (!entry) {
        cor_task_end(&w->task, 0, NULL);
        return;
    }
    if (cor_crd_is_deleted(entry->object)) {
        cor_crd_delete_instances(w, &entry->crd);
        return;
    }
    /* A failed write has left its claim, which would count as that of another definition. */
    cor_buf_reset(&entry->claimed);
    use = (struct use){w->crds, entry->group};
    cor_str_set_init(&use.resources, GROUP_NAMES_MAX);
    if (!entry->is_named && asks_for_many(&entry->crd))
        r = use_gather(&use);
    if (r == 0)
        r = cor_naming_judge(&entry->crd, is_used, &use, &naming);
    cor_str_set_deinit(&use.resources);
    w->has_named = r == 1;
    if (r == 1)
        r = cor_buf_adds(&entry->claimed, naming.change.accepted_names);
    if (r < 0)
        cor_task_end(&w->task, r, NULL);
    else if (w->has_named)
        cor_crd_task_write(w, &entry->crd, &naming.change, &status_cbs);
    else if (cor_crd_is_true(&entry->crd, "NamesAccepted") &&
             !cor_crd_is_true(&entry->crd, "Established") && cor_crds_shows(w->crds, entry))
        cor_crd_task_write(w, &entry->crd, &established, &status_cbs);
    else
        status_approve(w, entry);
    cor_naming_deinit(&naming);
}

static void status_reconcile(struct cor_task *task)
{
    struct cor_crd_task *w = cor_crd_task_of(task);

    w->crds = COR_CONTAINER_OF(task->reconciler, struct cor_crds, follower.reconciler);
    status_step(w);
}

/* What was being written is not claimed any more. */
static void status_on_end(struct cor_task *task, struct cor_reconcile_result *result)
{
    struct cor_crd_task *w = cor_crd_task_of(task);
    struct crd_entry *entry = cor_crds_find(w->crds, task->rec->name);

    if (entry)
        cor_buf_reset(&entry->claimed);
}

/* names a kind: the name of its queue */
const struct cor_reconciler_opts cor_crd_status_opts = {
    .name = "customresourcedefinitions",
    .task_size = sizeof(struct cor_crd_task),
    .reconciles_max = RECONCILES_MAX,
    .is_fed_by_owner = true,
    .reconcile = status_reconcile,
    .on_end = status_on_end,
    .task_deinit = cor_crd_task_deinit,
};
