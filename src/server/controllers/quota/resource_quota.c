/* clang-format off */
/* The ResourceQuota controller: status.used of each quota is what its namespace uses. Contract controllers 3.3.
 *
 *   quotas ──► quota_table.c ──► new, or spec.hard changed ──┬─► queue PRIORITY: the status lacks what the spec has
 *   objects ──► quota_monitors.c ──► what is used changed ───┴─► queue PRIMARY ◄── every 5 minutes
 *                                                                     └──► quota_sync.c: count, PUT status
 *
 * Each queue has five reconciles at once, so that a new quota does not wait for those that are only computed again. A
 * quota may be in both: the write that comes later is a conflict, and is tried again.
 * The quotas are kept by reference, all other objects are not kept. A quota event that could not be queued makes the
 * feed list again.
 * Thread: the host's loop. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/quota/quota_int.h"

#define RECONCILES_MAX 5 /* upstream's workers */
#define MONITORS_MAX   (1u << 16)

static struct cor_quota_controller *controller_of(struct cor_feed_handler *h)
{
    return COR_CONTAINER_OF(h, struct cor_quota_controller, handler);
}

/* ---- queues ---- */

int cor_quota_enqueue(struct cor_quota_controller *c, enum cor_quota_queue_kind queue,
                      struct cor_str ns, struct cor_str name, uint64_t delay_ms)
{
    int r = cor_reconciler_enqueue(&c->queues[queue].reconciler, ns, name, delay_ms);

    return r == -COR_ECANCELED ? 0 : r;
}

static bool is_counted(const struct cor_quota_controller *c, struct cor_str name)
{
    for (size_t i = 0; c->resources && i < c->resources->n; i++)
        if (cor_quota_is_countable(&c->resources->list[i]) &&
            cor_quota_rule_of(&c->resources->list[i].gvr, name).counter != COR_QUOTA_NOTHING)
            return true;
    return !c->resources; /* before the first enumeration every name may be */
}

/* Contract controllers 3.3.1: does the status lack a limit of the spec, or a number that can be
 * computed? */
static bool quota_is_urgent(const struct cor_quota_controller *c, const struct cor_object *quota)
{
    struct cor_view hard = cor_quota_part(quota, "status", "hard");
    struct cor_view_iter used = cor_view_iter(cor_quota_part(quota, "status", "used"));
    struct cor_view_iter it = cor_view_iter(hard);
    bool has = cor_view_next(&used);

    if (!cor_quota_lists_equal(cor_quota_part(quota, "spec", "hard"), hard))
        return true;
    /* Both are in the order of their names. */
    while (cor_view_next(&it)) {
        while (has && cor_str_cmp(used.key, it.key) < 0)
            has = cor_view_next(&used);
        if (!(has && cor_str_eq(used.key, it.key)) && is_counted(c, it.key))
            return true;
    }
    return false;
}

/* ---- the feed of quotas ---- */

/* The key is queued before the quota is kept: after a failure the next list queues it again. */
static int quotas_show(struct cor_feed_handler *h, struct cor_object *quota)
{
    struct cor_quota_controller *c = controller_of(h);
    struct cor_str ns = cor_object_namespace(quota), name = cor_object_name(quota);
    const struct cor_quota_entry *old = cor_quota_table_find(&c->quotas, ns, name);
    int r;

    if (!old || !cor_quota_lists_equal(cor_quota_part(old->quota, "spec", "hard"),
                                       cor_quota_part(quota, "spec", "hard"))) {
        r = cor_quota_enqueue(c, quota_is_urgent(c, quota) ? COR_QUOTA_PRIORITY : COR_QUOTA_PRIMARY,
                              ns, name, 0);
        if (r == 0)
            r = cor_quota_monitors_enqueue(c);
        if (r < 0)
            return r;
    }
    return cor_quota_table_put(&c->quotas, quota);
}

static int quotas_gone(struct cor_feed_handler *h, struct cor_object *quota)
{
    struct cor_quota_controller *c = controller_of(h);
    struct cor_quota_entry *entry =
        cor_quota_table_find(&c->quotas, cor_object_namespace(quota), cor_object_name(quota));

    if (entry)
        cor_quota_table_remove(&c->quotas, entry);
    return cor_quota_monitors_enqueue(c);
}

static void quotas_begin(struct cor_feed_handler *h)
{
    controller_of(h)->quotas.list++;
}

static int quotas_listed(struct cor_feed_handler *h)
{
    struct cor_quota_controller *c = controller_of(h);
    int r = cor_quota_monitors_enqueue(c);

    if (r < 0)
        return r;
    cor_quota_table_remove_unlisted(&c->quotas);
    for (size_t i = 0; i < COR_QUOTA_QUEUES; i++)
        cor_reconciler_synced(&c->queues[i].reconciler);
    return 0;
}

/* ---- life ---- */

static void quota_reconcile(struct cor_task *task)
{
    struct cor_quota_task *w = cor_quota_task_of(task);

    if (task->rec->ns.n == 0)
        cor_quota_monitors_sync(w);
    else
        cor_quota_sync(w);
}

/* One queue has ended, after the stop or because the first list of quotas took too long; then the
 * other ends, too. */
static void queue_on_stopped(void *arg, const struct cor_status *why)
{
    struct cor_quota_queue *queue = arg;
    struct cor_quota_controller *c = queue->c;
    struct cor_quota_queue *other =
        &c->queues[queue == &c->queues[COR_QUOTA_PRIMARY] ? COR_QUOTA_PRIORITY : COR_QUOTA_PRIMARY];

    assert(!queue->is_stopped);
    queue->is_stopped = true;
    if (other->is_stopped) {
        c->env.on_stopped(c->env.arg, c->failure.err < 0 ? &c->failure : why);
    } else if (!c->is_stopping) {
        c->is_stopping = true;
        if (why && cor_status_copy(&c->failure, why) < 0)
            (void)cor_status_set_err(&c->failure, why->err);
        cor_reconciler_stop(&other->reconciler, 0);
    }
}

static void quota_controller_free(void *controller)
{
    struct cor_quota_controller *c = controller;

    for (size_t i = 0; i < COR_QUOTA_QUEUES; i++)
        cor_reconciler_deinit(&c->queues[i].reconciler);
    cor_quota_monitors_deinit(c);
    cor_map_deinit(&c->by_resource);
    cor_quota_table_deinit(&c->quotas);
    cor_api_resources_unref(c->resources);
    cor_status_deinit(&c->failure);
    cor_free(c);
}

static int quota_queue_new(struct cor_quota_controller *c, struct cor_quota_queue *queue,
                           const struct cor_reconciler_opts *opts, struct cor_status *reterr)
{
    const struct cor_reconciler_env env = {.port = c->env.port,
                                           .clock = c->env.clock,
                                           .rand = c->env.rand,
                                           .on_stopped = queue_on_stopped,
                                           .arg = queue};

    queue->c = c;
    return cor_reconciler_init(&queue->reconciler, opts, &env, reterr);
}

static int quota_controller_new(const struct cor_server_controller_env *env, void **ret_controller,
                                struct cor_status *reterr)
{
    static const struct cor_reconciler_opts queues[COR_QUOTA_QUEUES] = {
        [COR_QUOTA_PRIMARY] = {.name = "resourcequota_primary",
                               .task_size = sizeof(struct cor_quota_task),
                               .reconciles_max = RECONCILES_MAX,
                               .is_fed_by_owner = true,
                               .reconcile = quota_reconcile,
                               .task_deinit = cor_quota_task_deinit},
        [COR_QUOTA_PRIORITY] = {.name = "resourcequota_priority",
                                .task_size = sizeof(struct cor_quota_task),
                                .reconciles_max = RECONCILES_MAX,
                                .is_fed_by_owner = true,
                                .reconcile = quota_reconcile,
                                .task_deinit = cor_quota_task_deinit},
    };
    /* names a kind: what the controller follows */
    static const struct cor_feed_what quotas = {
        .of = {
            .at = {.gvr = {COR_STR_INIT(""), COR_STR_INIT("v1"), COR_STR_INIT("resourcequotas")}}}};
    static const struct cor_feed_handler_ops handler = {
        .show = quotas_show, .gone = quotas_gone, .begin = quotas_begin, .listed = quotas_listed};
    struct cor_quota_controller *c = cor_calloc(1, sizeof(*c));
    int r = 0;

    if (!c)
        return cor_status_no_memory(reterr);
    c->env = *env;
    cor_feed_handler_init(&c->handler, &handler);
    cor_quota_table_init(&c->quotas);
    cor_dlist_init(&c->monitors);
    cor_map_init(&c->by_resource, MONITORS_MAX);
    for (size_t i = 0; i < COR_QUOTA_QUEUES && r == 0; i++)
        r = quota_queue_new(c, &c->queues[i], &queues[i], reterr);
    if (r == 0)
        r = cor_port_controller_follow(c->queues[COR_QUOTA_PRIMARY].reconciler.controller, &quotas,
                                       &c->handler.store, NULL, reterr);
    if (r < 0) {
        quota_controller_free(c);
        return r;
    }
    *ret_controller = c;
    return 0;
}

static int quota_controller_start(void *controller, struct cor_status *reterr)
{
    struct cor_quota_controller *c = controller;
    int r = 0;

    for (size_t i = 0; i < COR_QUOTA_QUEUES && r == 0; i++)
        r = cor_reconciler_start(&c->queues[i].reconciler, reterr);
    return r;
}

/* Without quotas nothing is followed. Without memory the next enumeration follows in 30 s. */
static void quota_controller_resources_changed(void *controller)
{
    struct cor_quota_controller *c = controller;

    if (cor_map_len(&c->quotas.namespaces) > 0)
        (void)cor_quota_monitors_enqueue(c);
}

static void quota_controller_stop(void *controller, uint64_t max_ms)
{
    struct cor_quota_controller *c = controller;

    if (c->is_stopping) /* it ends by itself already */
        return;
    c->is_stopping = true;
    for (size_t i = 0; i < COR_QUOTA_QUEUES; i++)
        cor_reconciler_stop(&c->queues[i].reconciler, max_ms);
}

static struct cor_control_loop *quota_controller_loop(void *controller, size_t queue)
{
    static const size_t places[] = {COR_QUOTA_PRIMARY, COR_QUOTA_PRIORITY};

    return cor_reconciler_loop(
        &((struct cor_quota_controller *)controller)->queues[places[queue]].reconciler);
}

const struct cor_server_controller_ops cor_resource_quota_ops = {
    .name = "resourcequota-controller",
    .account = "resourcequota-controller",
    .queues = {"resourcequota_primary", "resourcequota_priority"},
    .new = quota_controller_new,
    .start = quota_controller_start,
    .resources_changed = quota_controller_resources_changed,
    .stop = quota_controller_stop,
    .free = quota_controller_free,
    .loop = quota_controller_loop};
