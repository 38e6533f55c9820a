/* clang-format off */
/* Registers what this server serves: each built-in group version, once after the start, and each group version of custom resources
 * for as long as it is served (contract extension 4.2).
 *
 *   what is wanted \ what there is   | nothing     | not labelled | onstart, since the start | onstart, from before | true
 *   nothing                          | -           | -            | -                        | deleted once         | deleted
 *   a built-in version               | made once   | -            | -                        | updated once         | updated once
 *   a custom version                 | made        | -            | -                        | updated once         | updated
 *
 * What there is has the label of LABEL, or it belongs to a user and is never touched. Every server
 * does this: the answers 409 and 404 mean that another one was first, and a newer state comes by the
 * watch.
 * Failures: what could not be written is tried again by the limiter. Without memory for what is
 * wanted, the next snapshot of the catalog is looked at.
 * Thread: the first loop of the API. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/aggregation/api_services_int.h"
#include "server/api/api_loop.h"
#include "json/write/print.h"

#define LABEL          "kube-aggregator.kubernetes.io/automanaged"
#define ONSTART        "onstart"
#define ALWAYS         "true"
#define TEXT_MAX       4096
#define LATER_MS       1000
#define RECONCILES_MAX 64

/* ---- what is wanted ---- */

static int order_registrations(const void *a, const void *b)
{
    return strcmp(((const struct cor_registration *)a)->name,
                  ((const struct cor_registration *)b)->name);
}

static struct cor_registration *registrations_find(const struct cor_registrations *rs,
                                                   struct cor_str name)
{
    struct cor_registration key;

    if (rs->n == 0 || name.n >= sizeof(key.name))
        return NULL;
    snprintf(key.name, sizeof(key.name), "%.*s", COR_STR_ARG(name));
    return bsearch(&key, rs->v, rs->n, sizeof(rs->v[0]), order_registrations);
}

/* Fills one entry. False: its name is too long for an object. */
static bool registration_set(struct cor_registration *r, const struct cor_resource_row *row,
                             struct cor_group_priority priority)
{
    *r = (struct cor_registration){.version_n = row->version.n, .priority = priority};
    return snprintf(r->name, sizeof(r->name), "%.*s.%.*s", COR_STR_ARG(row->version),
                    COR_STR_ARG(row->group)) < (int)sizeof(r->name);
}

static bool is_same_version(const struct cor_resource_row *a, const struct cor_resource_row *b)
{
    return cor_str_eq(a->group, b->group) && cor_str_eq(a->version, b->version);
}

/* The built-in versions that have a priority. */
int cor_auto_register_init(struct cor_api_services *as)
{
    struct cor_registrations *rs = &as->builtins;
    const struct cor_resource_row *rows;
    struct cor_group_priority priority;
    size_t n;

    rows = cor_api_builtins(&n);
    rs->v = cor_calloc(n, sizeof(rs->v[0]));
    if (!rs->v)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && is_same_version(&rows[i - 1], &rows[i]))
            continue;
        if (cor_group_priority(rows[i].group, rows[i].version, &priority))
            rs->n += registration_set(&rs->v[rs->n], &rows[i], priority);
    }
    qsort(rs->v, rs->n, sizeof(rs->v[0]), order_registrations);
    return 0;
}

void cor_auto_register_deinit(struct cor_api_services *as)
{
    cor_free(as->builtins.v);
    cor_free(as->customs.v);
}

/* The versions of custom resources that are served now. 0, -COR_ENOMEM. */
static int customs_make(struct cor_api_services *as, struct cor_registrations *ret)
{
    COR_CLEANUP(cor_freep) const struct cor_resource_row **rows = NULL;
    size_t n;
    int r = cor_publisher_custom_rows(as->publisher, &rows, &n);

    *ret = (struct cor_registrations){0};
    if (r < 0 || n == 0)
        return r;
    ret->v = cor_calloc(n, sizeof(ret->v[0]));
    if (!ret->v)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && is_same_version(rows[i - 1], rows[i]))
            continue;
        if (registration_set(&ret->v[ret->n], rows[i], COR_CUSTOM_PRIORITY) &&
            !registrations_find(&as->builtins, cor_strz(ret->v[ret->n].name)))
            ret->n++;
    }
    qsort(ret->v, ret->n, sizeof(ret->v[0]), order_registrations);
    return 0;
}

static int enqueue(struct cor_api_services *as, struct cor_str name)
{
    return cor_reconciler_enqueue(&as->follower.reconciler, COR_STR(""), name, 0);
}

/* Has the names looked at that only one of the two lists has. */
static int enqueue_differences(struct cor_api_services *as, const struct cor_registrations *a,
                               const struct cor_registrations *b)
{
    size_t i = 0, k = 0;
    int r = 0;

    while (r == 0 && (i < a->n || k < b->n)) {
        int order = i == a->n ? 1 : k == b->n ? -1 : strcmp(a->v[i].name, b->v[k].name);

        if (order != 0)
            r = enqueue(as, cor_strz(order < 0 ? a->v[i].name : b->v[k].name));
        i += order <= 0;
        k += order >= 0;
    }
    return r;
}

void cor_auto_register_follow(struct cor_api_services *as)
{
    struct cor_registrations next;
    int r;

    /* Before the definitions are read, nothing is known to be gone. */
    if (!as->has_listed || atomic_load(&cor_api_shared(as->api)->awaits_definitions))
        return;
    r = customs_make(as, &next);
    if (r == 0)
        r = enqueue_differences(as, &as->customs, &next);
    if (r < 0) {
        COR_LOG_ERROR("custom resources could not be registered",
                      COR_F_STR("err", cor_err_text(r)));
        cor_free(next.v);
        return;
    }
    cor_free(as->customs.v);
    as->customs = next;
    as->knows_customs = true;
}

static bool is_built_in_registered(const struct cor_api_services *as)
{
    for (size_t i = 0; i < as->builtins.n; i++) {
        if (!as->builtins.v[i].has_synced)
            return false;
    }
    return true;
}

void cor_auto_register_begin(struct cor_api_services *as)
{
    assert(as->has_listed);
    for (size_t i = 0; i < as->builtins.n; i++) {
        /* The next start registers what there is no memory for. */
        if (enqueue(as, cor_strz(as->builtins.v[i].name)) < 0)
            cor_api_services_settle(as);
    }
    cor_auto_register_follow(as);
}

void cor_auto_register_look(struct cor_api_services *as, const struct api_entry *entry)
{
    struct cor_registration *wanted;

    if (atomic_load(&as->are_registered))
        return;
    wanted = registrations_find(&as->builtins, cor_object_name(entry->object));
    if (!wanted || wanted->was_seen || !cor_api_service_says_available(entry->object))
        return;
    wanted->was_seen = true;
    for (size_t i = 0; i < as->builtins.n; i++) {
        if (!as->builtins.v[i].was_seen)
            return;
    }
    atomic_store(&as->are_registered, true);
}

/* ---- what there is ---- */

static struct cor_api_services *services_of(const struct cor_task *task)
{
    return COR_CONTAINER_OF(task->reconciler, struct cor_api_services, follower.reconciler);
}

static struct cor_str label_of(const struct cor_object *object)
{
    struct cor_view metadata = cor_view_member(cor_object_view(object), COR_STR("metadata"));

    return cor_view_text_or(
        cor_view_member(cor_view_member(metadata, COR_STR("labels")), COR_STR(LABEL)), NULL, 0, "");
}

static void write_spec(struct cor_json_writer *w, const struct cor_registration *wanted,
                       bool is_patch)
{
    struct cor_str name = cor_strz(wanted->name);

    cor_json_print(w, "spec:{");
    if (is_patch)
        cor_json_print(w, "caBundle:null,insecureSkipTLSVerify:null,service:null");
    cor_json_print(w, "group:%s,groupPriorityMinimum:%d,version:%s,versionPriority:%d}",
                   cor_str_from(name, wanted->version_n + 1), (uint64_t)wanted->priority.group,
                   cor_str(name.p, wanted->version_n), (uint64_t)wanted->priority.version);
}

static int make_object(const struct cor_registration *wanted, bool is_always,
                       struct cor_object **ret_object)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    struct cor_json_writer w;
    int r;

    cor_buf_init(&text, TEXT_MAX);
    cor_json_writer_init(&w, &text);
    /* names a kind: what is made */
    cor_json_print(&w,
                   "{kind:'APIService',apiVersion:'" COR_GROUP_REGISTRATION
                   "/v1',metadata:{labels:{" LABEL ":%s},name:%s}",
                   is_always ? ALWAYS : ONSTART, wanted->name);
    write_spec(&w, wanted, false);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    return r < 0 ? r : cor_object_parse(cor_buf_str(&text), NULL, NULL, NULL, ret_object, NULL);
}

/* Does the entry say what is wanted? */
static bool is_as_wanted(const struct api_entry *entry, const struct cor_registration *wanted)
{
    const struct cor_api_service *s = entry->service;

    return s && !s->is_remote && s->group_priority == wanted->priority.group &&
           s->version_priority == wanted->priority.version;
}

/* The state of a name is as it should be, or could not be made so. */
static void register_on_end(struct cor_task *task, struct cor_reconcile_result *result)
{
    struct cor_api_services *as = services_of(task);
    struct cor_registration *wanted = registrations_find(&as->builtins, task->rec->name);
    struct api_entry *entry = cor_api_services_find(as, task->rec->name);
    bool is_right = result->err == 0 && result->again_after_ms == 0;

    if (is_right && wanted)
        wanted->has_synced = true;
    if (is_right && entry)
        entry->has_synced = true;
    /* A failure is no reason to hold back what others have registered. */
    if (result->err < 0 || is_built_in_registered(as))
        cor_api_services_settle(as);
}

static void register_on_written(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    cor_task_end_followed(COR_CONTAINER_OF(req, struct cor_task, req), answer);
}

static void register_create(struct cor_task *task, const struct cor_registration *wanted,
                            bool is_always)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    int r = make_object(wanted, is_always, &object);

    if (r < 0) {
        cor_task_end(task, r, NULL);
        return;
    }
    task->req.at.name = COR_STR("");
    cor_api_create(cor_task_port(task), &task->req, object, NULL);
}

static void register_update(struct cor_task *task, const struct api_entry *entry,
                            const struct cor_registration *wanted)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf patch;
    struct cor_json_writer w;
    int r;

    cor_buf_init(&patch, TEXT_MAX);
    cor_json_writer_init(&w, &patch);
    cor_json_print(&w, "{metadata:{uid:%s}", cor_object_uid(entry->object));
    write_spec(&w, wanted, true);
    cor_json_end_object(&w);
    r = cor_json_writer_finish(&w);
    if (r < 0)
        cor_task_end(task, r, NULL);
    else
        cor_api_patch(cor_task_port(task), &task->req, COR_PATCH_MERGE, cor_buf_str(&patch), NULL);
}

/* It is not known yet which custom resources there are. */
static void register_later(struct cor_task *task)
{
    static const struct cor_reconcile_result later = {.again_after_ms = LATER_MS};

    cor_auto_register_follow(services_of(task));
    cor_task_done(task, &later);
}

/* The rows of the table above, from top to bottom and from left to right. */
static void register_reconcile(struct cor_task *task)
{
    static const struct cor_api_request_cbs cbs = {.on_done = register_on_written};
    struct cor_api_services *as = services_of(task);
    struct cor_str name = task->rec->name;
    const struct api_entry *entry = cor_api_services_find(as, name);
    const struct cor_registration *builtin = registrations_find(&as->builtins, name);
    const struct cor_registration *custom = registrations_find(&as->customs, name);
    const struct cor_registration *wanted = builtin ? builtin : custom;
    struct cor_str label = entry ? label_of(entry->object) : COR_STR("");
    bool is_onstart = cor_str_eqz(label, ONSTART), is_always = cor_str_eqz(label, ALWAYS);

    task->req = (struct cor_api_request){.at = cor_api_service_path(name, ""), .cbs = &cbs};
    if (builtin && builtin->has_synced)
        cor_task_end(task, 0, NULL);
    else if (!entry && wanted)
        register_create(task, wanted, !builtin);
    else if (!entry || (!is_onstart && !is_always) ||
             (is_onstart && (!entry->was_at_start || entry->has_synced)) ||
             (wanted && is_as_wanted(entry, wanted)))
        cor_task_end(task, 0, NULL);
    else if (wanted)
        register_update(task, entry, wanted);
    else if (as->knows_customs)
        cor_api_remove(cor_task_port(task), &task->req,
                       &(struct cor_removal_options){.uid = cor_object_uid(entry->object)});
    else
        register_later(task);
}

const struct cor_reconciler_opts cor_auto_register_opts = {
    .name = "autoregister",
    .task_size = sizeof(struct cor_task),
    .reconciles_max = RECONCILES_MAX,
    .is_fed_by_owner = true,
    .reconcile = register_reconcile,
    .on_end = register_on_end,
};
