/* clang-format off */
/* What changes in the namespaces, for quotas: a feed for each resource that some quota counts. Contract controllers 3.3.5, 3.3.6.
 *
 *   a quota came, changed or went, other resources are served, or 30 s have passed ──► enumerate ──► names of all quotas ──► follow each resource that
 *   one of them counts; follow the others no more
 *   an object was created or deleted, or what it uses has changed ──► the quotas of its namespace that count it are queued
 *   a list is complete ──► all quotas that count the resource: there may be deletions that no watch has shown
 *
 * Upstream follows every resource, and computes nothing before all are listed. Here a server without quotas follows
 * nothing and enumerates nothing, and a quota is computed from lists of its own; the first list of a feed queues it once
 * more, so that no change between the two is lost. Creations count because no admission step adds them to the status.
 *
 * Of pods, Services and claims a fingerprint is kept, because most of their updates do not change what they use; of all
 * other objects nothing. A change that could not be queued makes the feed list again.
 * Thread: the host's loop. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cache/store/object_key.h"
#include "server/controllers/host/controller_tools.h"
#include "server/controllers/quota/quota_int.h"

#define OBJECTS_MAX  (16u * 1024 * 1024)
#define NAMES_MAX    1024 /* different ones of all quotas; with more every resource is followed */
#define KEY_MAX      1024
#define MONITORS_KEY "monitors"

/* An object whose updates are followed. */
struct quota_seen {
    uint64_t fingerprint;
    uint32_t list; /* the last list that had it */
    uint32_t len;
    char key[];
};

struct quota_monitor {
    struct cor_reflector_store store;
    struct cor_dlist link; /* in the controller's `monitors` */
    struct cor_quota_controller *c;
    struct cor_control_feed *feed;
    struct cor_gvr gvr; /* the texts are in `strings` */
    char *strings;
    struct cor_str resource; /* its key in `by_resource`, in `strings` */
    enum cor_quota_kind kind;
    struct cor_map seen; /* "namespace/name" -> struct quota_seen */
    struct cor_buf key;  /* of the call under way */
    uint32_t list;       /* counts the lists */
    bool is_kept;        /* by the enumeration that is looked at */
};

static struct quota_monitor *monitor_of(struct cor_reflector_store *store)
{
    return COR_CONTAINER_OF(store, struct quota_monitor, store);
}

static struct quota_monitor *monitor_at(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct quota_monitor, link);
}

/* ---- which quotas are queued ---- */

bool cor_quota_concerns(const struct cor_object *quota, const struct cor_gvr *gvr)
{
    struct cor_view_iter it = cor_view_iter(cor_quota_part(quota, "spec", "hard"));

    while (cor_view_next(&it))
        if (cor_quota_rule_of(gvr, it.key).counter != COR_QUOTA_NOTHING)
            return true;
    return false;
}

static int monitor_queue_in(const struct quota_monitor *m, struct cor_quota_ns *ns)
{
    int r = 0;

    COR_DLIST_FOREACH(link, &ns->quotas) {
        const struct cor_object *quota =
            COR_CONTAINER_OF(link, struct cor_quota_entry, link)->quota;

        if (r == 0 && cor_quota_concerns(quota, &m->gvr))
            r = cor_quota_enqueue(m->c, COR_QUOTA_PRIMARY, cor_strz(ns->name),
                                  cor_object_name(quota), COR_QUOTA_REPLENISH_MS);
    }
    return r;
}

static int monitor_replenish(const struct quota_monitor *m, struct cor_str ns,
                             struct cor_status *reterr)
{
    struct cor_quota_ns *in = cor_quota_table_in(&m->c->quotas, ns);
    int r = in ? monitor_queue_in(m, in) : 0;

    return r < 0 ? cor_status_set_err(reterr, r) : 0;
}

/* ---- fingerprints ---- */

/* Keeps what the object uses now. 1: it is something else than before, or the object is new. 0: it
 * is the same. -COR_ENOMEM, -COR_ETOOBIG. */
static int monitor_note(struct quota_monitor *m, struct cor_object *object)
{
    uint64_t fingerprint =
        cor_quota_fingerprint(m->kind, object, cor_clock_wall_ms(m->c->env.clock));
    struct quota_seen *seen;
    int r;

    cor_buf_reset(&m->key);
    r = cor_object_key(object, &m->key);
    if (r < 0)
        return r;
    seen = cor_map_peek(&m->seen, cor_buf_str(&m->key));
    if (!seen) {
        seen = cor_calloc(1, sizeof(*seen) + m->key.n);
        if (!seen)
            return -COR_ENOMEM;
        seen->fingerprint = ~fingerprint;
        seen->len = (uint32_t)m->key.n;
        memcpy(seen->key, m->key.p, m->key.n);
        r = cor_map_put(&m->seen, cor_str(seen->key, seen->len), seen, NULL);
        if (r < 0) {
            cor_free(seen);
            return r;
        }
    }
    seen->list = m->list;
    r = seen->fingerprint != fingerprint;
    seen->fingerprint = fingerprint;
    return r;
}

static void monitor_forget(struct quota_monitor *m, struct quota_seen *seen)
{
    cor_map_remove(&m->seen, cor_str(seen->key, seen->len));
    cor_free(seen);
}

/* ---- what the feed delivers ---- */

static int monitor_add(struct cor_reflector_store *store, struct cor_str key,
                       struct cor_object *object, struct cor_reflector_at at,
                       struct cor_status *reterr)
{
    struct quota_monitor *m = monitor_of(store);
    int r = cor_quota_follows_updates(m->kind) ? monitor_note(m, object) : 1;

    if (r < 0)
        return cor_status_set_err(reterr, r);
    return r == 0 ? 0 : monitor_replenish(m, cor_object_namespace(object), reterr);
}

static int monitor_update(struct cor_reflector_store *store, struct cor_str key,
                          struct cor_object *object, struct cor_reflector_at at,
                          struct cor_status *reterr)
{
    return cor_quota_follows_updates(monitor_of(store)->kind)
               ? monitor_add(store, key, object, at, reterr)
               : 0;
}

static int monitor_del(struct cor_reflector_store *store, struct cor_str key,
                       struct cor_object *object, struct cor_reflector_at at,
                       struct cor_status *reterr)
{
    struct quota_monitor *m = monitor_of(store);
    struct quota_seen *seen;

    /* Without an object the namespace is not known: a new list queues all quotas. */
    if (!object)
        return cor_status_set_err(reterr, -COR_EBUSY);
    cor_buf_reset(&m->key);
    if (cor_quota_follows_updates(m->kind) && cor_object_key(object, &m->key) == 0) {
        seen = cor_map_peek(&m->seen, cor_buf_str(&m->key));
        if (seen)
            monitor_forget(m, seen);
    }
    return monitor_replenish(m, cor_object_namespace(object), reterr);
}

static int monitor_begin(struct cor_reflector_store *store, struct cor_status *reterr)
{
    monitor_of(store)->list++;
    return 0;
}

static int monitor_list_item(struct cor_reflector_store *store, struct cor_str key,
                             struct cor_object *object, struct cor_status *reterr)
{
    struct quota_monitor *m = monitor_of(store);
    int r = cor_quota_follows_updates(m->kind) ? monitor_note(m, object) : 0;

    return r < 0 ? cor_status_set_err(reterr, r) : 0;
}

static int monitor_commit(struct cor_reflector_store *store, struct cor_reflector_at at,
                          struct cor_status *reterr)
{
    struct quota_monitor *m = monitor_of(store);
    int r = 0;

    COR_MAP_FOREACH(it, &m->seen) {
        struct quota_seen *seen = it.value;

        if (seen->list != m->list)
            monitor_forget(m, seen);
    }
    COR_MAP_FOREACH(it, &m->c->quotas.namespaces)
        if (r == 0)
            r = monitor_queue_in(m, it.value);
    return r < 0 ? cor_status_set_err(reterr, r) : 0;
}

static const struct cor_reflector_store_ops monitor_ops = {
    .add = monitor_add,
    .update = monitor_update,
    .del = monitor_del,
    .replace_begin = monitor_begin,
    .replace_add = monitor_list_item,
    .replace_commit = monitor_commit,
};

/* ---- which resources are followed ---- */

static struct cor_port_controller *feeds_of(const struct cor_quota_controller *c)
{
    return c->queues[COR_QUOTA_PRIMARY].reconciler.controller;
}

static void monitor_free(struct quota_monitor *m)
{
    COR_MAP_FOREACH(it, &m->seen)
        cor_free(it.value);
    cor_map_remove(&m->c->by_resource, m->resource);
    cor_map_deinit(&m->seen);
    cor_buf_deinit(&m->key);
    cor_dlist_remove(&m->link);
    cor_free(m->strings);
    cor_free(m);
}

static void monitor_end(struct quota_monitor *m)
{
    cor_port_controller_unfollow(feeds_of(m->c), m->feed);
    monitor_free(m);
}

void cor_quota_monitors_deinit(struct cor_quota_controller *c)
{
    COR_DLIST_FOREACH_SAFE(link, &c->monitors)
        monitor_free(monitor_at(link));
}

static int monitor_new(struct cor_quota_controller *c, const struct cor_gvr *gvr)
{
    const struct cor_feed_what what = {.of = {.at = {.gvr = *gvr}}};
    struct quota_monitor *m = cor_calloc(1, sizeof(*m));
    int r;

    if (!m)
        return -COR_ENOMEM;
    m->store.ops = &monitor_ops;
    m->c = c;
    m->gvr = *gvr;
    m->kind = cor_quota_kind_of(gvr);
    m->is_kept = true;
    cor_map_init(&m->seen, OBJECTS_MAX);
    cor_buf_init(&m->key, KEY_MAX);
    cor_dlist_push(&c->monitors, &m->link);
    r = cor_gvr_keep(&m->gvr, &m->strings, &m->resource);
    if (r == 0)
        r = cor_map_put(&c->by_resource, m->resource, m, NULL);
    if (r == 0)
        r = cor_port_controller_follow(feeds_of(c), &what, &m->store, &m->feed, NULL);
    if (r < 0)
        monitor_free(m);
    return r;
}

/* Follows the resource, unless it is followed. `key` is for this call. */
static int monitor_keep(struct cor_quota_controller *c, const struct cor_gvr *gvr,
                        struct cor_buf *key)
{
    struct quota_monitor *m;
    int r = cor_gvr_key(gvr, key);

    if (r < 0)
        return r;
    m = cor_map_peek(&c->by_resource, cor_buf_str(key));
    if (!m)
        return monitor_new(c, gvr);
    m->is_kept = true;
    return 0;
}

/* Puts the names of all quotas into `names`, each once. The keys are in the quotas' bytes. 0,
 * -COR_ENOMEM, -COR_ETOOBIG (NAMES_MAX). */
static int gather_names(const struct cor_quota_controller *c, struct cor_map *names)
{
    int r = 0;

    COR_MAP_FOREACH(it, &c->quotas.namespaces) {
        struct cor_quota_ns *ns = it.value;

        COR_DLIST_FOREACH(link, &ns->quotas) {
            struct cor_quota_entry *entry = COR_CONTAINER_OF(link, struct cor_quota_entry, link);
            struct cor_view_iter hard = cor_view_iter(cor_quota_part(entry->quota, "spec", "hard"));

            while (r == 0 && cor_view_next(&hard))
                if (!cor_map_peek(names, hard.key))
                    r = cor_map_put(names, hard.key, entry, NULL);
        }
    }
    return r;
}

static bool counts_one_of(const struct cor_gvr *gvr, const struct cor_map *names)
{
    COR_MAP_FOREACH(it, names)
        if (cor_quota_rule_of(gvr, it.key).counter != COR_QUOTA_NOTHING)
            return true;
    return false;
}

/* Follows what the quotas count now. Without memory nothing that was followed is lost, and the next
 * try does the rest. */
static int monitors_update(struct cor_quota_controller *c, struct cor_api_resources *resources)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf key = {.max = KEY_MAX};
    struct cor_map names;
    bool follows_all;
    int r;

    cor_map_init(&names, NAMES_MAX);
    r = gather_names(c, &names);
    follows_all = r == -COR_ETOOBIG;
    if (follows_all)
        r = 0;
    COR_DLIST_FOREACH(link, &c->monitors)
        monitor_at(link)->is_kept = cor_api_resources_has_failed(resources, &monitor_at(link)->gvr);
    for (size_t i = 0; i < resources->n && r == 0; i++) {
        const struct cor_port_resource *resource = &resources->list[i];

        if (cor_quota_is_countable(resource) &&
            (follows_all || counts_one_of(&resource->gvr, &names)))
            r = monitor_keep(c, &resource->gvr, &key);
    }
    cor_map_deinit(&names);
    COR_DLIST_FOREACH_SAFE(link, &c->monitors)
        if (!monitor_at(link)->is_kept && r == 0)
            monitor_end(monitor_at(link));
    return r;
}

static void monitors_on_enumerated(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_task *task = COR_CONTAINER_OF(req, struct cor_task, req);
    struct cor_quota_controller *c = cor_quota_of(task);
    struct cor_reconcile_result result = {.again_after_ms = COR_QUOTA_ENUMERATE_MS};

    if (answer->error) {
        cor_task_end(task, answer->error->err, answer->error);
        return;
    }
    if (answer->resources->n > 0) { /* an enumeration of nothing is a mistake: nothing changes */
        cor_api_resources_unref(c->resources);
        c->resources = cor_api_resources_ref(answer->resources);
        result.err = monitors_update(c, answer->resources);
        if (result.err < 0)
            result.again_after_ms = 0;
    }
    cor_task_done(task, &result);
}

int cor_quota_monitors_enqueue(struct cor_quota_controller *c)
{
    return cor_quota_enqueue(c, COR_QUOTA_PRIMARY, COR_STR(""), COR_STR(MONITORS_KEY), 0);
}

void cor_quota_monitors_sync(struct cor_quota_task *w)
{
    static const struct cor_api_request_cbs cbs = {.on_done = monitors_on_enumerated};
    struct cor_quota_controller *c = cor_quota_of(&w->task);

    assert(w->task.rec->ns.n == 0);
    if (cor_map_len(&c->quotas.namespaces) > 0) {
        w->task.req = (struct cor_api_request){.cbs = &cbs};
        cor_api_resources(cor_task_port(&w->task), &w->task.req);
        return;
    }
    COR_DLIST_FOREACH_SAFE(link, &c->monitors)
        monitor_end(monitor_at(link));
    c->resources = cor_api_resources_unref(c->resources);
    cor_task_end(&w->task, 0, NULL);
}
