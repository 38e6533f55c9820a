/* clang-format off */
/* The garbage collector as a controller inside the server: which resources are followed, their
 * feeds, and one timer for all of them.
 *
 *   start ──► enumerate the server's resources ──► follow each that can be deleted, listed and watched, but events
 *                 ▲            │                     ──► the collector starts with the first enumeration
 *                 └────────────┘ when the server serves others, and every 30 s: new resources are followed, those that are gone are not
 *
 * An enumeration that fails, or that has no resources, changes nothing; a version that could not be
 * enumerated keeps the feeds of its resources. Resources of aggregated servers come after ours, and are
 * REMOTE_MAX at most: what another server has never keeps ours from being followed.
 * The feeds deliver objects by reference. The collector keeps no object: see gc_graph.h.
 * Thread: the host's loop. */
/* clang-format on */
#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "kit/controller/control_feed.h"
#include "kit/controller/feed_handler.h"
#include "loop/timer.h"
#include "server/controllers/gc/garbage_collector.h"
#include "server/controllers/host/builtin.h"
#include "server/controllers/host/controller_tools.h"
#include "json/write/print.h"

#define NEVER        UINT64_MAX
#define ENUMERATE_MS 30000
#define REPORT_MAX   4096
#define ABOUT_MAX    (16u * 1024)
#define FEEDS_MAX    (1u << 16)
#define KEY_MAX      1024
#define REMOTE_MAX   256 /* resources of aggregated servers */

struct gc_feed {
    struct cor_feed_handler handler;
    struct cor_dlist link;
    struct gc_controller *c;
    struct cor_gc_followed *followed;
    struct cor_control_feed *feed;
    struct cor_gvr gvr; /* the texts are in `strings` */
    char *strings;
    struct cor_str key; /* in `strings`; empty: it is not known by its resource */
    uint64_t wake_ms;
    bool is_kept; /* by the enumeration that is looked at */
};

struct gc_controller {
    struct cor_server_controller_env env;
    struct cor_gc *gc;
    struct cor_dlist feeds;
    struct cor_map by_resource; /* cor_gvr_key() -> struct gc_feed */
    struct cor_buf key;         /* of the call under way */
    struct cor_api_request enumerate;
    struct cor_timer timer; /* set from the beginning, so that moving it cannot fail */
    uint64_t gc_wake_ms, enumerate_ms;
    bool is_running; /* the collector was started */
    bool is_stopping;
};

/* ---- time ---- */

static void gc_controller_set_timer(struct gc_controller *c)
{
    uint64_t now = cor_clock_mono_ms(c->env.clock);
    uint64_t at = c->gc_wake_ms < c->enumerate_ms ? c->gc_wake_ms : c->enumerate_ms;

    COR_DLIST_FOREACH(it, &c->feeds) {
        const struct gc_feed *f = COR_CONTAINER_OF(it, struct gc_feed, link);

        at = f->wake_ms < at ? f->wake_ms : at;
    }
    if (c->is_stopping && !c->is_running)
        at = 0;
    (void)cor_timer_set(&c->timer, at == NEVER ? NEVER : at > now ? at - now : 0);
}

/* ---- feeds ---- */

static struct cor_gc_followed *followed_of(struct cor_feed_handler *h)
{
    return COR_CONTAINER_OF(h, struct gc_feed, handler)->followed;
}

static int feed_show(struct cor_feed_handler *h, struct cor_object *object)
{
    return cor_gc_show(followed_of(h), object);
}

static int feed_gone(struct cor_feed_handler *h, struct cor_object *object)
{
    cor_gc_gone(followed_of(h), object);
    return 0;
}

static void feed_begin(struct cor_feed_handler *h)
{
    cor_gc_list_begun(followed_of(h));
}

static int feed_listed(struct cor_feed_handler *h)
{
    cor_gc_list_done(followed_of(h));
    return 0;
}

static void feed_wake_at(void *arg, uint64_t at_ms)
{
    struct gc_feed *f = arg;

    f->wake_ms = at_ms;
    gc_controller_set_timer(f->c);
}

static void feed_on_error(void *arg, const struct cor_status *error)
{
    const struct gc_feed *f = arg;

    COR_LOG_DEBUG("the garbage collector could not list or watch; it tries again",
                  COR_F_STR("resource", f->gvr.resource),
                  COR_F_STR("answer", cor_status_message(error)), COR_F_ERR(error->err));
}

static void feed_free(struct gc_feed *f)
{
    cor_map_remove(&f->c->by_resource, f->key);
    cor_control_feed_free(f->feed);
    if (f->followed)
        cor_gc_unfollow(f->c->gc, f->followed);
    cor_dlist_remove(&f->link);
    cor_free(f->strings);
    cor_free(f);
}

/* Begins to follow the resource. Without memory the next enumeration tries again. */
static int feed_new(struct gc_controller *c, const struct cor_port_resource *resource)
{
    static const struct cor_feed_handler_ops handler = {
        .show = feed_show, .gone = feed_gone, .begin = feed_begin, .listed = feed_listed};
    struct gc_feed *f = cor_calloc(1, sizeof(*f));
    struct cor_control_feed_opts opts = {
        .what = {.of = {.at = {.gvr = resource->gvr}, .metadata_only = resource->is_remote}},
        .port = c->env.port,
        .clock = c->env.clock,
        .rand = c->env.rand,
        .wake_at = feed_wake_at,
        .on_error = feed_on_error,
        .arg = f,
    };
    int r;

    if (!f)
        return -COR_ENOMEM;
    f->c = c;
    cor_feed_handler_init(&f->handler, &handler);
    f->gvr = resource->gvr;
    f->wake_ms = NEVER;
    f->is_kept = true;
    opts.store = &f->handler.store;
    cor_dlist_push(&c->feeds, &f->link);
    r = cor_gvr_keep(&f->gvr, &f->strings, &f->key);
    if (r == 0)
        r = cor_map_put(&c->by_resource, f->key, f, NULL);
    if (r == 0)
        r = cor_gc_follow(c->gc, resource, &f->followed);
    if (r == 0)
        r = cor_control_feed_new(&opts, &f->feed, NULL);
    if (r < 0) {
        feed_free(f);
        return r;
    }
    cor_control_feed_start(f->feed);
    return 0;
}

/* ---- resources ---- */

/* Contract controllers 2.2.1, 2.2.2. */
static bool is_collectable(const struct cor_port_resource *resource)
{
    const unsigned wanted =
        COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(LIST) | COR_API_VERB_BIT(WATCH);
    bool is_event =
        cor_str_eqz(resource->gvr.resource, "events") &&
        (resource->gvr.group.n == 0 || cor_str_eqz(resource->gvr.group, "events.k8s.io"));

    return resource->is_preferred && (resource->verbs & wanted) == wanted && !is_event;
}

/* Follows the resource, unless it is followed. */
static int keep_feed(struct gc_controller *c, const struct cor_port_resource *resource)
{
    struct gc_feed *f;
    int r = cor_gvr_key(&resource->gvr, &c->key);

    if (r < 0)
        return r;
    f = cor_map_peek(&c->by_resource, cor_buf_str(&c->key));
    if (!f)
        return feed_new(c, resource);
    f->is_kept = true;
    return 0;
}

/* Contract controllers 2.2.4, 2.2.5. */
static int sync_feeds(struct gc_controller *c, struct cor_api_resources *resources)
{
    int r = 0;

    cor_gc_set_resources(c->gc, resources);
    COR_DLIST_FOREACH(it, &c->feeds) {
        struct gc_feed *f = COR_CONTAINER_OF(it, struct gc_feed, link);

        f->is_kept = cor_api_resources_has_failed(resources, &f->gvr);
    }
    for (size_t i = 0; i < resources->n && r == 0; i++)
        if (is_collectable(&resources->list[i]) && !resources->list[i].is_remote)
            r = keep_feed(c, &resources->list[i]);
    for (size_t i = 0, n = 0; i < resources->n && r == 0 && n < REMOTE_MAX; i++)
        if (is_collectable(&resources->list[i]) && resources->list[i].is_remote) {
            r = keep_feed(c, &resources->list[i]);
            n++;
        }
    COR_DLIST_FOREACH_SAFE(it, &c->feeds) {
        struct gc_feed *f = COR_CONTAINER_OF(it, struct gc_feed, link);

        if (!f->is_kept && r == 0)
            feed_free(f);
    }
    return r;
}

static void on_enumerated(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct gc_controller *c = COR_CONTAINER_OF(req, struct gc_controller, enumerate);
    int r = -COR_EUNAVAILABLE;

    if (!answer->error && answer->resources->n > 0)
        r = sync_feeds(c, answer->resources);
    if (r == 0 && !c->is_running) {
        r = cor_gc_start(c->gc, NULL);
        c->is_running = r == 0;
    }
    if (r < 0)
        COR_LOG_WARN("the garbage collector could not enumerate the resources; it tries again",
                     COR_F_ERR(r));
    c->enumerate_ms =
        cor_clock_mono_ms(c->env.clock) + (c->is_running ? ENUMERATE_MS : ENUMERATE_MS / 30);
    gc_controller_set_timer(c);
}

static void gc_controller_enumerate(struct gc_controller *c)
{
    static const struct cor_api_request_cbs cbs = {.on_done = on_enumerated};

    c->enumerate_ms = NEVER;
    c->enumerate = (struct cor_api_request){.cbs = &cbs};
    cor_api_resources(c->env.port, &c->enumerate);
}

/* What is under way shows the resources of before. */
static void gc_controller_resources_changed(void *controller)
{
    struct gc_controller *c = controller;

    cor_api_cancel(c->env.port, &c->enumerate);
    gc_controller_enumerate(c);
}

/* ---- callbacks of the collector ---- */

static void gc_controller_wake_at(void *arg, uint64_t at_ms)
{
    struct gc_controller *c = arg;

    c->gc_wake_ms = at_ms;
    gc_controller_set_timer(c);
}

static void gc_controller_on_report(void *arg, const struct cor_control_report *report)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf line;

    cor_buf_init(&line, REPORT_MAX);
    (void)cor_control_report_print(report, &line); /* what fits is logged */
    COR_LOG_DEBUG("the garbage collector reports", COR_F_STR("report", cor_buf_str(&line)));
}

/* The event is about an object that is known by its coordinates only. */
static void gc_controller_on_wrong_namespace(void *arg, const struct cor_gc_identity *dependent,
                                             struct cor_str message)
{
    struct gc_controller *c = arg;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *about = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_json_writer w;

    cor_buf_init(&json, ABOUT_MAX);
    cor_json_writer_init(&w, &json);
    cor_json_print(&w, "{apiVersion:%s,kind:%s,metadata:{name:%s,namespace?:%s,uid:%s}}",
                   dependent->api_version, dependent->kind, dependent->name, dependent->ns,
                   dependent->uid);
    /* Without memory there is no event; the dependent is verified all the same. */
    if (cor_json_writer_finish(&w) < 0 ||
        cor_object_from_json(cor_buf_str(&json), &about, NULL) < 0)
        return;
    c->env.record(c->env.arg, &(struct cor_event_told){
                                  .about = about,
                                  .type = COR_EVENT_WARNING,
                                  .reason = "OwnerRefInvalidNamespace",
                                  .message = message.p,
                              });
}

static void gc_controller_on_stopped(void *arg, const struct cor_status *why)
{
    struct gc_controller *c = arg;

    c->env.on_stopped(c->env.arg, why);
}

static void gc_controller_on_timer(struct cor_timer *timer)
{
    struct gc_controller *c = COR_CONTAINER_OF(timer, struct gc_controller, timer);
    uint64_t now = cor_clock_mono_ms(c->env.clock);

    if (c->is_stopping && !c->is_running) {
        c->is_running = true; /* on_stopped is called once */
        c->env.on_stopped(c->env.arg, NULL);
        return;
    }
    COR_DLIST_FOREACH(it, &c->feeds) {
        struct gc_feed *f = COR_CONTAINER_OF(it, struct gc_feed, link);

        if (f->wake_ms > now)
            continue;
        f->wake_ms = NEVER;
        cor_control_feed_tick(f->feed);
    }
    if (c->enumerate_ms <= now && !c->is_stopping)
        gc_controller_enumerate(c);
    if (c->gc_wake_ms > now) {
        gc_controller_set_timer(c);
        return;
    }
    c->gc_wake_ms = NEVER;
    gc_controller_set_timer(c);
    cor_gc_tick(c->gc); /* on_stopped may be called, last of all */
}

/* ---- what the host calls ---- */

static void gc_controller_free(void *controller)
{
    struct gc_controller *c = controller;

    COR_DLIST_FOREACH_SAFE(it, &c->feeds)
        feed_free(COR_CONTAINER_OF(it, struct gc_feed, link));
    cor_api_cancel(c->env.port, &c->enumerate);
    cor_gc_free(c->gc);
    cor_map_deinit(&c->by_resource);
    cor_buf_deinit(&c->key);
    cor_timer_cancel(&c->timer);
    cor_free(c);
}

static int gc_controller_new(const struct cor_server_controller_env *env, void **ret_controller,
                             struct cor_status *reterr)
{
    struct gc_controller *c = cor_calloc(1, sizeof(*c));
    int r;

    if (!c)
        return cor_status_no_memory(reterr);
    c->env = *env;
    c->gc_wake_ms = c->enumerate_ms = NEVER;
    cor_dlist_init(&c->feeds);
    cor_map_init(&c->by_resource, FEEDS_MAX);
    cor_buf_init(&c->key, KEY_MAX);
    cor_timer_init(&c->timer, env->port->loop, gc_controller_on_timer);
    r = cor_timer_set(&c->timer, NEVER);
    if (r == 0)
        r = cor_gc_new(
            &(struct cor_gc_opts){
                .port = env->port,
                .clock = env->clock,
                .loop = env->port->loop,
                .wake_at = gc_controller_wake_at,
                .on_wrong_namespace = gc_controller_on_wrong_namespace,
                .on_report = gc_controller_on_report,
                .on_stopped = gc_controller_on_stopped,
                .arg = c,
            },
            &c->gc, reterr);
    if (r < 0) {
        gc_controller_free(c);
        return cor_status_set_err(reterr, r);
    }
    *ret_controller = c;
    return 0;
}

static int gc_controller_start(void *controller, struct cor_status *reterr)
{
    gc_controller_enumerate(controller);
    return 0;
}

static void gc_controller_stop(void *controller, uint64_t max_ms)
{
    struct gc_controller *c = controller;

    assert(!c->is_stopping);
    c->is_stopping = true;
    cor_api_cancel(c->env.port, &c->enumerate);
    c->enumerate_ms = NEVER;
    COR_DLIST_FOREACH(it, &c->feeds) {
        struct gc_feed *f = COR_CONTAINER_OF(it, struct gc_feed, link);

        cor_control_feed_stop(f->feed);
        f->wake_ms = NEVER;
    }
    if (c->is_running)
        cor_gc_stop(c->gc, max_ms);
    gc_controller_set_timer(c);
}

static struct cor_control_loop *gc_controller_loop(void *controller, size_t queue)
{
    struct cor_gc *gc = ((struct gc_controller *)controller)->gc;

    return queue == 0 ? cor_gc_delete_loop(gc) : cor_gc_orphan_loop(gc);
}

const struct cor_server_controller_ops cor_garbage_collector_ops = {
    .name = "garbage-collector-controller",
    .account = "generic-garbage-collector",
    .queues = {"garbage_collector_attempt_to_delete", "garbage_collector_attempt_to_orphan"},
    .new = gc_controller_new,
    .start = gc_controller_start,
    .resources_changed = gc_controller_resources_changed,
    .stop = gc_controller_stop,
    .free = gc_controller_free,
    .loop = gc_controller_loop,
};
