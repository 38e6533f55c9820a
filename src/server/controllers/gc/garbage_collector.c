/* clang-format off */
/* Joins the graph, the two queues and the attempts.
 *
 *   NEW ── start ──► SYNCING ── all listed, or 30 s ──► RUNS ── stop ──► STOPPING ──► STOPPED, on_stopped
 *
 * A tick does, in this order: it ends the wait for the first lists, puts due nodes into the queues
 * (a bounded number; the next tick has the rest), wakes attempts that sleep, and ticks the control
 * loops whose time has come. A node that cannot be queued, because memory is short or the queue is
 * full, stays due and is tried again after PUMP_RETRY_MS. */
/* clang-format on */
#include "server/controllers/gc/garbage_collector.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "server/controllers/gc/gc_int.h"

#define PUMP_MAX      256 /* due nodes that one tick puts into the queues */
#define PUMP_RETRY_MS 100

static uint64_t gc_now(const struct cor_gc *gc)
{
    return cor_clock_mono_ms(gc->opts.clock);
}

/* Asks for the next tick. */
static void gc_schedule(struct cor_gc *gc)
{
    const struct cor_due *sleeping = cor_due_heap_peek(&gc->sleeping);
    uint64_t at_ms = gc->pump_at_ms;

    if (gc->in_tick || gc->state == COR_GC_STOPPED)
        return;
    if (gc->deletes.wake_at_ms < at_ms)
        at_ms = gc->deletes.wake_at_ms;
    if (gc->orphans.wake_at_ms < at_ms)
        at_ms = gc->orphans.wake_at_ms;
    if (sleeping && sleeping->at < at_ms)
        at_ms = sleeping->at;
    if (gc->state == COR_GC_SYNCING && gc->sync_by_ms < at_ms)
        at_ms = gc->sync_by_ms;
    if (at_ms == gc->asked_for_ms)
        return;
    gc->asked_for_ms = at_ms;
    gc->opts.wake_at(gc->opts.arg, at_ms);
}

/* The queues. */

static void queue_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_gc_queue *q = arg;

    q->wake_at_ms = at_ms;
    gc_schedule(q->gc);
}

static void queue_on_cancel(void *arg, struct cor_reconcile *rec)
{
    struct cor_gc_attempt *a = rec->work;

    (void)arg;
    cor_api_cancel(a->gc->opts.port, &a->req);
    if (a->orphaning)
        cor_gc_orphaning_cancel(a);
    cor_gc_attempt_fail(a, -COR_ECANCELED, NULL);
}

static void queue_on_report(void *arg, const struct cor_control_report *report)
{
    struct cor_gc_queue *q = arg;

    if (q->gc->opts.on_report && report->err != -COR_ECANCELED)
        q->gc->opts.on_report(q->gc->opts.arg, report);
}

static void queue_on_stopped(void *arg, const struct cor_status *why)
{
    struct cor_gc_queue *q = arg;

    q->is_stopped = true;
    q->gc->is_late |= why != NULL;
}

static int queue_init(struct cor_gc *gc, struct cor_gc_queue *q, const char *name, uint32_t max,
                      void (*reconcile)(void *arg, struct cor_reconcile *rec),
                      struct cor_status *reterr)
{
    const struct cor_control_source_opts source = {.kind = COR_CONTROL_RAW};
    int r;

    q->gc = gc;
    q->wake_at_ms = UINT64_MAX;
    r = cor_control_loop_new(
        &(struct cor_control_loop_opts){
            .name = name,
            .reconciles_max = max,
            .sync_max_ms = 2 * COR_GC_SYNC_MS, /* the sync ends after COR_GC_SYNC_MS */
            .clock = gc->opts.clock,
            .loop = gc->opts.loop,
            .wake_at = queue_wake_at,
            .reconcile = reconcile,
            .on_cancel = queue_on_cancel,
            .on_report = queue_on_report,
            .on_stopped = queue_on_stopped,
            .arg = q,
        },
        &q->loop, reterr);
    if (r < 0)
        return r;
    return cor_control_loop_add_source(q->loop, &source, &q->source, reterr);
}

static void queue_tick(struct cor_gc_queue *q, uint64_t now_ms)
{
    if (now_ms < q->wake_at_ms || q->is_stopped)
        return;
    q->wake_at_ms = UINT64_MAX; /* The loop names the next time. */
    cor_control_loop_tick(q->loop);
}

/* 0, or -COR_ENOMEM, -COR_EBUSY: the node must be queued later. */
static int queue_add(struct cor_gc_queue *q, struct cor_str uid)
{
    int r = cor_control_loop_enqueue(q->loop, COR_STR(""), uid, 0);

    /* A node's uid is a valid key: cor_gc_uid_is_usable(). */
    assert(r != -COR_EINVAL);
    return r == -COR_ECANCELED ? 0 : r;
}

void cor_gc_pump_soon(struct cor_gc *gc)
{
    uint64_t now_ms;

    if (!cor_gc_graph_due(&gc->graph) || gc->state == COR_GC_NEW)
        return;
    now_ms = gc_now(gc);
    if (gc->pump_at_ms > now_ms) {
        gc->pump_at_ms = now_ms;
        gc_schedule(gc);
    }
}

static void gc_pump(struct cor_gc *gc)
{
    struct cor_gc_node *node;

    gc->pump_at_ms = UINT64_MAX;
    for (size_t n = 0; n < PUMP_MAX && (node = cor_gc_graph_due(&gc->graph)); n++) {
        int r = node->wants_delete ? queue_add(&gc->deletes, node->id.uid) : 0;

        if (r == 0 && node->wants_orphan)
            r = queue_add(&gc->orphans, node->id.uid);
        if (r < 0) {
            gc->pump_at_ms = gc_now(gc) + PUMP_RETRY_MS;
            return;
        }
        cor_gc_graph_taken(&gc->graph, node);
    }
    if (cor_gc_graph_due(&gc->graph))
        gc->pump_at_ms = gc_now(gc);
}

/* Sleeping attempts. */

int cor_gc_attempt_sleep(struct cor_gc_attempt *a, uint64_t ms)
{
    int r = cor_due_heap_put(&a->gc->sleeping, &a->sleep, gc_now(a->gc) + ms);

    if (r == 0)
        gc_schedule(a->gc);
    return r;
}

static void gc_wake_sleeping(struct cor_gc *gc, uint64_t now_ms)
{
    struct cor_due *due;

    while ((due = cor_due_heap_peek(&gc->sleeping)) && due->at <= now_ms) {
        cor_due_heap_remove(&gc->sleeping, due);
        cor_gc_finalizer_woken(COR_CONTAINER_OF(due, struct cor_gc_attempt, sleep));
    }
}

/* What is followed. */

int cor_gc_follow(struct cor_gc *gc, const struct cor_port_resource *resource,
                  struct cor_gc_followed **ret_followed)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf api_version;
    const struct cor_gv gv = cor_gvr_gv(&resource->gvr);
    struct cor_gc_followed *f;
    uint32_t number = 0;

    cor_buf_init(&api_version, 4096);
    while (number < COR_GC_RESOURCES_MAX && cor_gc_followed_by_number(gc, number))
        number++;
    if (number == COR_GC_RESOURCES_MAX)
        return -COR_ETOOBIG;
    if (cor_gv_print(&gv, &api_version) < 0)
        return -COR_ENOMEM;
    f = cor_calloc(1, sizeof(*f));
    if (!f)
        return -COR_ENOMEM;
    f->gc = gc;
    f->gvr = resource->gvr;
    f->origin = (struct cor_gc_origin){
        .api_version = cor_buf_str(&api_version),
        .kind = resource->kind,
        .resource = number,
        .is_remote = resource->is_remote,
    };
    if (cor_str_gather((struct cor_str *const[]){&f->gvr.group, &f->gvr.version, &f->gvr.resource,
                                                 &f->origin.api_version, &f->origin.kind},
                       5, &f->strings) < 0) {
        cor_free(f);
        return -COR_ENOMEM;
    }
    f->is_unchecked = gc->state != COR_GC_NEW;
    cor_dlist_push(&gc->followed, &f->link);
    *ret_followed = f;
    return 0;
}

static void followed_free(struct cor_gc_followed *f)
{
    cor_dlist_remove(&f->link);
    cor_free(f->strings);
    cor_free(f);
}

void cor_gc_unfollow(struct cor_gc *gc, struct cor_gc_followed *f)
{
    /* Its uids leave the table: no deletion of them will be shown. */
    cor_gc_uids_sweep(&gc->graph.uids, f->origin.resource, !(f->origin.list & 1));
    cor_gc_uids_sweep(&gc->graph.uids, f->origin.resource, f->origin.list & 1);
    followed_free(f);
    cor_gc_pump_soon(gc);
}

void cor_gc_list_begun(struct cor_gc_followed *f)
{
    f->origin.list++;
    /* The list before this one has failed, and has marked some of its uids with the mark of the
     * list before it. */
    if (f->is_listing)
        cor_gc_uids_set_mark(&f->gc->graph.uids, f->origin.resource, !(f->origin.list & 1));
    f->is_listing = true;
}

void cor_gc_list_done(struct cor_gc_followed *f)
{
    assert(f->is_listing);
    f->is_listing = false;
    f->was_listed = true;
    cor_gc_graph_relisted(&f->gc->graph, &f->origin);
    cor_gc_pump_soon(f->gc);
    if (f->gc->state == COR_GC_SYNCING) {
        f->gc->pump_at_ms = gc_now(f->gc); /* The tick looks whether this was the last one. */
        gc_schedule(f->gc);
    }
}

int cor_gc_show(struct cor_gc_followed *f, const struct cor_object *object)
{
    int r = cor_gc_graph_observe(&f->gc->graph, &f->origin, object);

    cor_gc_pump_soon(f->gc);
    return r;
}

void cor_gc_gone(struct cor_gc_followed *f, const struct cor_object *object)
{
    cor_gc_graph_forget(&f->gc->graph, &f->origin, object);
    cor_gc_pump_soon(f->gc);
}

/* The collector itself. */

static void gc_on_wrong_namespace(void *arg, const struct cor_gc_identity *dependent,
                                  const struct cor_gc_identity *named)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf message;
    struct cor_gc *gc = arg;

    cor_buf_init(&message, 4096);
    /* Without memory the event is not recorded, as it is when the server refuses it. */
    if (cor_buf_addz(&message, "ownerRef ") < 0 || cor_gc_identity_print(named, &message) < 0 ||
        cor_buf_addf(&message, " does not exist in namespace \"%.*s\"", COR_STR_ARG(named->ns)) < 0)
        return;
    gc->opts.on_wrong_namespace(gc->opts.arg, dependent, cor_buf_str(&message));
}

int cor_gc_new(const struct cor_gc_opts *opts, struct cor_gc **ret_gc, struct cor_status *reterr)
{
    COR_CLEANUP(cor_gc_freep) struct cor_gc *gc = cor_calloc(1, sizeof(*gc));
    int r;

    assert(opts->port && opts->wake_at && opts->on_wrong_namespace && opts->on_stopped);
    if (!gc)
        return cor_status_no_memory(reterr);
    gc->opts = *opts;
    if (!gc->opts.clock)
        gc->opts.clock = cor_clock_real();
    gc->pump_at_ms = gc->asked_for_ms = UINT64_MAX;
    cor_dlist_init(&gc->followed);
    cor_gc_graph_init(&gc->graph);
    gc->graph.on_wrong_namespace = gc_on_wrong_namespace;
    gc->graph.arg = gc;
    r = queue_init(gc, &gc->deletes, "garbage_collector_attempt_to_delete", COR_GC_DELETES_MAX,
                   cor_gc_delete, reterr);
    if (r == 0)
        r = queue_init(gc, &gc->orphans, "garbage_collector_attempt_to_orphan", COR_GC_ORPHANS_MAX,
                       cor_gc_orphan, reterr);
    if (r < 0)
        return r;
    *ret_gc = COR_STEAL(gc);
    return 0;
}

struct cor_gc *cor_gc_free(struct cor_gc *gc)
{
    if (!gc)
        return NULL;
    assert(gc->state == COR_GC_NEW || gc->state == COR_GC_STOPPED);
    cor_control_loop_free(gc->deletes.loop);
    cor_control_loop_free(gc->orphans.loop);
    COR_DLIST_FOREACH_SAFE(link, &gc->followed)
        followed_free(COR_CONTAINER_OF(link, struct cor_gc_followed, link));
    cor_due_heap_deinit(&gc->sleeping);
    cor_gc_graph_deinit(&gc->graph);
    cor_api_resources_unref(gc->resources);
    cor_free(gc);
    return NULL;
}

void cor_gc_set_resources(struct cor_gc *gc, struct cor_api_resources *resources)
{
    struct cor_api_resources *old = gc->resources;

    gc->resources = cor_api_resources_ref(resources);
    cor_api_resources_unref(old);
}

int cor_gc_start(struct cor_gc *gc, struct cor_status *reterr)
{
    int r = cor_control_loop_start(gc->deletes.loop, reterr);

    assert(gc->state == COR_GC_NEW);
    if (r == 0)
        r = cor_control_loop_start(gc->orphans.loop, reterr);
    if (r < 0)
        return r;
    gc->state = COR_GC_SYNCING;
    gc->sync_by_ms = gc_now(gc) + COR_GC_SYNC_MS;
    gc->pump_at_ms = gc_now(gc);
    gc_schedule(gc);
    return 0;
}

static bool gc_is_listed(const struct cor_gc *gc)
{
    COR_DLIST_FOREACH(link, &gc->followed) {
        const struct cor_gc_followed *f = COR_CONTAINER_OF(link, struct cor_gc_followed, link);

        if (!f->was_listed && !f->is_unchecked)
            return false;
    }
    return true;
}

void cor_gc_tick(struct cor_gc *gc)
{
    uint64_t now_ms = gc_now(gc);
    struct cor_status why = {0};

    assert(!gc->in_tick && gc->state != COR_GC_NEW);
    if (gc->state == COR_GC_STOPPED)
        return;
    gc->in_tick = true;
    gc->asked_for_ms = UINT64_MAX;
    if (gc->state == COR_GC_SYNCING && (gc_is_listed(gc) || now_ms >= gc->sync_by_ms)) {
        gc->state = COR_GC_RUNS;
        cor_control_loop_source_synced(gc->deletes.loop, gc->deletes.source);
        cor_control_loop_source_synced(gc->orphans.loop, gc->orphans.source);
    }
    if (now_ms >= gc->pump_at_ms)
        gc_pump(gc);
    gc_wake_sleeping(gc, now_ms);
    queue_tick(&gc->deletes, now_ms);
    queue_tick(&gc->orphans, now_ms);
    gc->in_tick = false;

    if (gc->state != COR_GC_STOPPING || !gc->deletes.is_stopped || !gc->orphans.is_stopped) {
        gc_schedule(gc);
        return;
    }
    gc->state = COR_GC_STOPPED;
    gc->opts.wake_at(gc->opts.arg, UINT64_MAX);
    if (gc->is_late)
        cor_status_set(&why, -COR_ETIMEOUT, "attempts of the garbage collector have not ended");
    gc->opts.on_stopped(gc->opts.arg, gc->is_late ? &why : NULL);
    cor_status_deinit(&why);
}

void cor_gc_stop(struct cor_gc *gc, uint64_t max_ms)
{
    assert(gc->state == COR_GC_SYNCING || gc->state == COR_GC_RUNS);
    gc->state = COR_GC_STOPPING;
    cor_control_loop_stop(gc->deletes.loop, max_ms);
    cor_control_loop_stop(gc->orphans.loop, max_ms);
}

void cor_gc_stats(struct cor_gc *gc, struct cor_gc_stats *ret)
{
    cor_control_loop_stats(gc->deletes.loop, &ret->deletes);
    cor_control_loop_stats(gc->orphans.loop, &ret->orphans);
    ret->nodes = cor_map_len(&gc->graph.nodes);
    ret->uids = gc->graph.uids.n;
    ret->uid_bytes = cor_gc_uids_bytes(&gc->graph.uids);
    ret->absent = cor_lru_len(&gc->graph.absent);
}

struct cor_control_loop *cor_gc_delete_loop(struct cor_gc *gc)
{
    return gc->deletes.loop;
}

struct cor_control_loop *cor_gc_orphan_loop(struct cor_gc *gc)
{
    return gc->orphans.loop;
}
