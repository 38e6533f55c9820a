/* clang-format off */
/* The namespace controller: a namespace that is being deleted loses its content, then itself. Contract controllers 1.
 *
 *   a Namespace with a deletionTimestamp was created or updated ──► (5 s, if other servers share the store) ──► a pass
 *   over it (namespace_pass.c) ──► done, or content remains: again after half of the estimate, or a failure: again after
 *   the limiter's delay
 *
 * The delay lets other servers see the deletion before the content is looked at, so that they create nothing in the
 * namespace any more. A server that is alone needs none: its own cache has the deletion before the deletion is answered.
 * Requests to create objects that were admitted before are awaited first, because nobody would look for an object that
 * is stored after its namespace. They are awaited for a minute at most, in which every request ends: creations in other
 * namespaces are counted together with them, and these may never pause.
 * Each namespace is looked at again every five minutes.
 * Thread: the host's loop. */
/* clang-format on */
#include <string.h>

#include "base/err.h"

#include "base/map.h"
#include "base/mem.h"
#include "coracle/metadata.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/small_controller.h"
#include "server/controllers/namespace/namespace_pass.h"
#include <assert.h>

#define WORKERS          10
#define CREATION_MS      10
#define CREATIONS_MAX_MS 60000
#define WAITS_MAX        (1u << 24)
#define HA_DELAY_MS      5000
#define RESYNC_MS        300000
/* Of the limiter: the cap is 60 s here, 1000 s elsewhere. */
#define RETRY_MIN_MS 5
#define RETRY_MAX_MS 60000
#define RETRY_QPS    10
#define RETRY_BURST  100

struct namespace_controller {
    struct cor_small_controller small; /* first */
    struct cor_map waits;              /* name -> struct namespace_wait */
};

struct namespace_task {
    struct cor_task task;            /* first; it sends no request itself */
    struct cor_namespace_pass *pass; /* under way; NULL: none */
};

static struct namespace_task *namespace_task_of(struct cor_task *task)
{
    struct namespace_task *own = COR_CONTAINER_OF(task, struct namespace_task, task);

    assert(cor_task_size(task) == sizeof(*own));
    return own;
}

static void namespaces_on_pass(void *arg, const struct cor_namespace_pass_result *pass)
{
    struct namespace_task *w = arg;
    struct cor_reconcile_result result = {0};
    int64_t remains_s;

    w->pass = NULL;
    if (pass->error) {
        result.err = pass->error->err;
        result.why = pass->error;
    } else if (pass->remains_s > 0) {
        /* The estimate is the grace period of a pod, which may be any number. */
        remains_s = pass->remains_s < INT32_MAX ? pass->remains_s : INT32_MAX;
        result.again_after_ms = (remains_s / 2 + 1) * 1000;
        result.keeps_failures = true;
    }
    cor_task_done(&w->task, &result);
}

static void namespaces_task_deinit(struct cor_task *task)
{
    struct namespace_task *w = namespace_task_of(task);

    if (w->pass)
        cor_namespace_pass_cancel(w->pass);
}

/* A namespace that waits for creations. */
struct namespace_wait {
    uint64_t until_ms;
    size_t len;
    char name[];
};

static void namespaces_end_wait(struct namespace_controller *c, struct cor_str name)
{
    cor_free(cor_map_remove(&c->waits, name));
}

/* Notes until when the namespace waits. 0, -COR_ENOMEM, -COR_ETOOBIG. */
static int namespaces_begin_wait(struct namespace_controller *c, struct cor_str name)
{
    struct namespace_wait *wait = cor_alloc(sizeof(*wait) + name.n);
    int r;

    if (!wait)
        return -COR_ENOMEM;
    wait->until_ms = cor_clock_mono_ms(c->small.env.clock) + CREATIONS_MAX_MS;
    wait->len = name.n;
    memcpy(wait->name, name.p, name.n);
    r = cor_map_put(&c->waits, cor_str(wait->name, wait->len), wait, NULL);
    if (r < 0)
        cor_free(wait);
    return r;
}

/* Returns whether the pass must wait, because an object whose request was admitted before the
 * deletion may still be stored in the namespace. Negative: there is no memory to wait. */
static int namespaces_must_wait(struct namespace_controller *c, struct cor_str name)
{
    const struct cor_server_controller_env *env = &c->small.env;
    const struct namespace_wait *wait = cor_map_peek(&c->waits, name);
    int r;

    if (!env->creates_in || !env->creates_in(env->arg, name))
        return 0;
    if (wait)
        return cor_clock_mono_ms(c->small.env.clock) < wait->until_ms;
    r = namespaces_begin_wait(c, name);
    return r < 0 ? r : 1;
}

static void namespaces_reconcile(struct cor_task *task)
{
    static const struct cor_reconcile_result soon = {.again_after_ms = CREATION_MS,
                                                     .keeps_failures = true};
    struct namespace_task *w = namespace_task_of(task);
    struct namespace_controller *c =
        COR_CONTAINER_OF(cor_small_controller_of(task), struct namespace_controller, small);
    struct cor_str name = task->rec->name;
    const struct cor_namespace_pass_opts opts = {.port = cor_task_port(task),
                                                 .clock = c->small.env.clock,
                                                 .name = name,
                                                 .on_done = namespaces_on_pass,
                                                 .arg = w};
    int r = namespaces_must_wait(c, name);

    if (r > 0) {
        cor_task_done(task, &soon);
        return;
    }
    if (r == 0)
        namespaces_end_wait(c, name);
    if (r == 0 && cor_control_feed_has(task->reconciler->feeds[0], COR_STR(""), name)) {
        r = cor_namespace_pass_start(&opts, &w->pass);
        if (r == 0)
            return;
    }
    cor_task_end(task, r, NULL);
}

static bool is_deletion_asked_for(const void *arg, const struct cor_control_event *event)
{
    return event->kind != COR_CONTROL_DELETED && cor_object_is_being_deleted(event->object);
}

static struct cor_rate_limiter *namespaces_limiter(void)
{
    return cor_rate_limiter_new_max_of(cor_rate_limiter_new_exponential(RETRY_MIN_MS, RETRY_MAX_MS),
                                       cor_rate_limiter_new_bucket(RETRY_QPS, RETRY_BURST));
}

static void namespaces_free(void *controller)
{
    struct namespace_controller *c = controller;

    cor_small_controller_deinit(&c->small);
    COR_MAP_FOREACH(it, &c->waits)
        cor_free(it.value);
    cor_map_deinit(&c->waits);
    cor_free(c);
}

static int namespaces_new(const struct cor_server_controller_env *env, void **ret_controller,
                          struct cor_status *reterr)
{
    static const struct cor_control_predicate wanted = {is_deletion_asked_for, NULL};
    const struct cor_port_source source = {
        .source = {.kind = COR_CONTROL_FOR,
                   .gk = {COR_STR(""), COR_STR("Namespace")},
                   .is_cluster_scoped = true,
                   .delay_ms = env->has_others ? HA_DELAY_MS : 0,
                   .predicates = {&wanted, 1}},
        .what = {.of = {.at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("namespaces")}}},
                 .keeps_objects = true,
                 .resync_ms = RESYNC_MS},
    };
    const struct cor_reconciler_opts opts = {.name = "namespace",
                                             .task_size = sizeof(struct namespace_task),
                                             .reconciles_max = WORKERS,
                                             .make_limiter = namespaces_limiter,
                                             .sources = &source,
                                             .nsources = 1,
                                             .reconcile = namespaces_reconcile,
                                             .task_deinit = namespaces_task_deinit};
    struct namespace_controller *c = cor_calloc(1, sizeof(*c));
    int r;

    if (!c)
        return cor_status_set_err(reterr, -COR_ENOMEM);
    cor_map_init(&c->waits, WAITS_MAX);
    r = cor_small_controller_init(&c->small, env, &opts, reterr);
    if (r < 0) {
        namespaces_free(c);
        return r;
    }
    *ret_controller = c;
    return 0;
}

const struct cor_server_controller_ops cor_namespaces_ops = {
    .name = "namespace-controller",
    .account = "namespace-controller",
    .queues = {"namespace"},
    .new = namespaces_new,
    .start = cor_small_controller_start,
    .stop = cor_small_controller_stop,
    .free = namespaces_free,
    .loop = cor_small_controller_loop,
};
