/* clang-format off */
/* A controller of a manager: the control loop of the kit, with a timer of the runtime's loop, the
 * handlers of informers that feed it, and the runs.
 *
 *   informer's step, on the loop ──► on_add … ──► cor_control_loop_event() ──► keys
 *   the timer ──► cor_control_loop_tick() ──► on_reconcile(rec) ──► a free run ──► run.c
 *
 * The handlers run on the loop in both kinds of runtime, so that a change reaches the queue without
 * another thread. Predicates and mapping functions are called there, too. Failures: a change for
 * which the queue has no room waits (held_changes.h). One that cannot be queued for another reason
 * ends the manager with the error, because nobody would bring that change again; a new process
 * lists everything. A key that a mapping function made and that is not a key is logged and dropped.
 * Thread: the loop, except for the public functions. */
/* clang-format on */
#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/controller/manager_int.h"

#define LOG_LINE_MAX 4096

_Static_assert(COR_CONTROLLER_SOURCES_MAX == COR_CONTROL_SOURCES_MAX, "one bound, two names");
_Static_assert(COR_CONTROLLER_RUNS_MAX == COR_CONTROL_RECONCILES_MAX, "one bound, two names");
_Static_assert(COR_CONTROLLER_NAME_MAX == COR_CONTROL_NAME_MAX, "one bound, two names");

/* The callbacks of the control loop. */

static void on_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_controller *c = arg;
    uint64_t now = cor_clock_mono_ms(c->manager->runtime->clock);
    uint64_t delay_ms = at_ms == UINT64_MAX ? UINT64_MAX : at_ms > now ? at_ms - now : 0;

    cor_timer_set(&c->timer, delay_ms);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_controller *c = COR_CONTAINER_OF(timer, struct cor_controller, timer);

    cor_timer_set(&c->timer, UINT64_MAX);
    cor_control_loop_tick(c->loop);
}

static void on_reconcile(void *arg, struct cor_reconcile *rec)
{
    struct cor_controller *c = arg;
    struct cor_dlist *link = cor_dlist_pop(&c->free);

    /* There is a run for each slot of the control loop, and a run is free when its slot is. */
    assert(link);
    cor_run_begin(COR_CONTAINER_OF(link, struct cor_run, link), rec);
    cor_controller_feed_held(c);
}

static void on_cancel(void *arg, struct cor_reconcile *rec)
{
    (void)arg;
    cor_run_cancel(rec->work);
}

static void on_report(void *arg, const struct cor_control_report *report)
{
    const struct cor_controller *c = arg;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf line;

    cor_buf_init(&line, LOG_LINE_MAX);
    if (cor_control_report_print(report, &line) == 0)
        cor_manager_log(c->manager, "%s", cor_buf_z(&line));
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    struct cor_controller *c = arg;
    struct cor_manager *m = c->manager;

    c->is_over = true;
    m->nleft--;
    if (why)
        cor_manager_end(m, why, m->opts.end_ms);
    cor_manager_check_over(m);
}

/* Feeding. */

void cor_controller_judge(struct cor_controller *c, const struct cor_controller_source *source,
                          int r)
{
    struct cor_manager *m = c->manager;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    if (r == 0 || r == -COR_ECANCELED)
        return;
    if (source)
        cor_status_set(&why, r, "controller %s: a change of %s could not be queued: %s",
                       cor_control_loop_name(c->loop), source->informer->plural, cor_err_text(r));
    else
        cor_status_set(&why, r, "controller %s: a key could not be queued: %s",
                       cor_control_loop_name(c->loop), cor_err_text(r));
    if (r == -COR_EINVAL)
        cor_manager_log(m, "%s", cor_status_message(&why));
    else
        cor_manager_end(m, &why, m->opts.end_ms);
}

static void source_event(struct cor_controller_source *source,
                         const struct cor_control_event *event)
{
    cor_controller_judge(source->controller, source, cor_controller_feed_event(source, event));
}

static void on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    const struct cor_control_event event = {
        .kind = COR_CONTROL_CREATED, .object = object, .in_initial_list = in_initial_list};

    source_event(arg, &event);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    const struct cor_control_event event = {
        .kind = COR_CONTROL_UPDATED, .object = object, .old = old};

    source_event(arg, &event);
}

static void on_delete(void *arg, struct cor_str key, struct cor_object *object,
                      bool final_state_unknown)
{
    struct cor_controller_source *source = arg;
    const struct cor_control_event event = {
        .kind = COR_CONTROL_DELETED, .object = object, .final_state_unknown = final_state_unknown};
    struct cor_str ns, name;

    if (object) {
        source_event(source, &event);
        return;
    }
    /* Only the key is known. Owners and mappings need the object. */
    if (source->kit->opts.kind == COR_CONTROL_FOR && cor_object_key_split(key, &ns, &name) == 0)
        cor_controller_judge(source->controller, source,
                             cor_controller_feed_key(source->controller, ns, name, 0));
}

static void on_synced(void *arg, int r)
{
    struct cor_controller_source *source = arg;

    if (r == 0)
        cor_control_loop_source_synced(source->controller->loop, source->kit);
}

int cor_controller_watch_sync(struct cor_controller *c, struct cor_status *reterr)
{
    for (size_t i = 0; i < c->nsources; i++) {
        struct cor_controller_source *source = &c->sources[i];
        int r = cor_informer_on_sync(source->informer, on_synced, source);

        if (r < 0)
            return cor_status_set(reterr, r, "watch %s: %s", source->informer->plural,
                                  cor_err_text(r));
        if (r == 1)
            on_synced(source, 0);
    }
    return 0;
}

/* Making. */

static int controller_check_opts(const struct cor_manager *m,
                                 const struct cor_controller_opts *opts, struct cor_status *reterr)
{
    if (!opts->reconcile == !opts->begin)
        return cor_status_set(reterr, -COR_EINVAL,
                              "a controller has one of `reconcile` and `begin`");
    if (opts->reconcile && m->runtime->kind == COR_RUNTIME_PUMPED)
        return cor_status_set(reterr, -COR_EINVAL,
                              "a runtime without threads cannot run `reconcile`, which may block: "
                              "use `begin`");
    if (m->ncontrollers == COR_MANAGER_CONTROLLERS_MAX)
        return cor_status_set(reterr, -COR_ETOOBIG, "a manager has at most %d controllers",
                              COR_MANAGER_CONTROLLERS_MAX);
    return 0;
}

/* On the loop. */
static int controller_make_loop(void *arg, struct cor_status *reterr)
{
    struct cor_controller *c = arg;
    struct cor_runtime *rt = c->manager->runtime;
    const struct cor_control_loop_opts opts = {
        .name = c->opts.name,
        .reconciles_max = c->opts.runs_max,
        .sync_max_ms = c->opts.sync_ms,
        .slow_ms = c->opts.slow_ms,
        .reconcile_max_ms = c->opts.run_max_ms,
        .keys_max = c->opts.keys_max,
        .take_limiter = COR_STEAL(c->opts.take_limiter),
        .predicates = c->opts.predicates,
        .clock = rt->clock,
        .loop = rt->loop,
        .wake_at = on_wake_at,
        .reconcile = on_reconcile,
        .on_cancel = on_cancel,
        .on_report = on_report,
        .on_stopped = on_stopped,
        .arg = c,
    };
    int r = cor_control_loop_new(&opts, &c->loop, reterr);

    if (r == 0 && cor_timer_set(&c->timer, UINT64_MAX) < 0)
        r = cor_status_no_memory(reterr);
    if (r < 0)
        cor_controller_free(c);
    return r;
}

int cor_controller_make(struct cor_manager *m, const struct cor_controller_opts *opts,
                        struct cor_controller **ret_controller, struct cor_status *reterr)
{
    struct cor_controller_opts o;
    struct cor_controller *c;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "make a controller: %s", cor_sized_text(r));
    r = controller_check_opts(m, &o, reterr);
    if (o.runs_max == 0)
        o.runs_max = 1;
    if (r == 0 && o.runs_max > COR_CONTROLLER_RUNS_MAX)
        r = cor_status_set(reterr, -COR_EINVAL, "runs_max is at most %d", COR_CONTROLLER_RUNS_MAX);
    c = r < 0 ? NULL : cor_calloc(1, sizeof(*c) + o.runs_max * sizeof(c->runs[0]));
    if (!c) {
        cor_rate_limiter_free(o.take_limiter);
        return r < 0 ? r : cor_status_no_memory(reterr);
    }
    c->manager = m;
    c->opts = o;
    cor_timer_init(&c->timer, m->runtime->loop, on_timer);
    cor_dlist_init(&c->free);
    cor_held_changes_init(&c->held);
    for (uint32_t i = 0; i < o.runs_max; i++) {
        cor_run_init(&c->runs[i], c);
        cor_dlist_push(&c->free, &c->runs[i].link);
    }
    r = cor_runtime_try(m->runtime, controller_make_loop, c, reterr);
    if (r == 0)
        *ret_controller = c;
    return r;
}

void cor_controller_detach(struct cor_controller *c)
{
    while (c->nsources > 0) {
        struct cor_controller_source *source = &c->sources[--c->nsources];

        cor_shared_informer_remove_handler(source->informer->shared, source->registration);
    }
}

struct cor_controller *cor_controller_free(struct cor_controller *c)
{
    if (!c)
        return NULL;
    assert(c->nsources == 0);
    cor_timer_cancel(&c->timer);
    cor_held_changes_deinit(&c->held);
    cor_control_loop_free(c->loop);
    for (uint32_t i = 0; i < c->opts.runs_max; i++)
        cor_run_deinit(&c->runs[i]);
    return cor_free(c);
}

/* Sources. */

struct adding {
    struct cor_controller *controller;
    struct cor_informer *informer;
    struct cor_control_source_opts opts;
    struct cor_status *reterr;
};

/* On the loop. The registration is made first, because a source of the control loop stays. */
static void controller_add_source(void *arg)
{
    const struct adding *a = arg;
    struct cor_controller *c = a->controller;
    struct cor_controller_source *source = &c->sources[c->nsources];
    struct cor_registration_opts ro = cor_registration_defaults();
    int r;

    if (c->nsources == COR_CONTROLLER_SOURCES_MAX) {
        cor_status_set(a->reterr, -COR_ETOOBIG, "a controller has at most %d sources",
                       COR_CONTROLLER_SOURCES_MAX);
        return;
    }
    *source = (struct cor_controller_source){.controller = c, .informer = a->informer};
    ro.handler = (struct cor_handler_fns){
        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .arg = source};
    ro.is_held = true;
    r = cor_shared_informer_add_handler(a->informer->shared, &ro, &source->registration);
    if (r < 0) {
        cor_status_set(a->reterr, r, "watch %s: %s", a->informer->plural, cor_err_text(r));
        return;
    }
    if (cor_control_loop_add_source(c->loop, &a->opts, &source->kit, a->reterr) < 0) {
        cor_shared_informer_remove_handler(a->informer->shared, source->registration);
        return;
    }
    c->nsources++;
    if (a->opts.kind == COR_CONTROL_FOR)
        c->main = a->informer;
    cor_registration_release(source->registration);
}

static void controller_add(struct cor_controller *c, struct cor_informer *informer,
                           const struct cor_source_opts *opts, enum cor_control_source_kind kind)
{
    struct cor_source_opts o;
    struct cor_manager *m;
    int r;

    /* The failure that led to a controller of NULL is remembered already; that of an informer is
     * when the manager made it. */
    if (!c || c->manager->setup.err < 0)
        return;
    m = c->manager;
    r = cor_sized_copy(&o, sizeof(o), opts);
    if (r < 0) {
        cor_status_set(&m->setup, r, "add a source: %s", cor_sized_text(r));
    } else if (!informer) {
        cor_status_set(&m->setup, -COR_EINVAL, "a source of controller %s has no informer",
                       cor_control_loop_name(c->loop));
    } else if (m->is_started) {
        cor_status_set(&m->setup, -COR_EINVAL, "a source is added before the manager is started");
    } else if (kind == COR_CONTROL_FOR && informer->kind[0] == '\0') {
        cor_status_set(&m->setup, -COR_EINVAL,
                       "the informer of %s has no kind in its options, which `for` needs",
                       informer->plural);
    } else {
        struct adding adding = {
            .controller = c,
            .informer = informer,
            .opts = {.kind = kind,
                     .gk = {cor_strz(informer->group), cor_strz(informer->kind)},
                     .is_cluster_scoped = o.is_cluster_scoped,
                     .every_owner = o.every_owner,
                     .map = o.map,
                     .arg = o.arg,
                     .predicates = o.predicates},
            .reterr = &m->setup,
        };

        cor_runtime_run(m->runtime, controller_add_source, &adding);
    }
}

void cor_controller_for(struct cor_controller *c, struct cor_informer *informer,
                        const struct cor_source_opts *opts)
{
    controller_add(c, informer, opts, COR_CONTROL_FOR);
}

void cor_controller_owns(struct cor_controller *c, struct cor_informer *informer,
                         const struct cor_source_opts *opts)
{
    controller_add(c, informer, opts, COR_CONTROL_OWNS);
}

void cor_controller_watches(struct cor_controller *c, struct cor_informer *informer,
                            const struct cor_source_opts *opts)
{
    controller_add(c, informer, opts, COR_CONTROL_WATCHES);
}

/* Keys from outside, and figures. */

struct enqueuing {
    struct cor_mail mail;
    struct cor_controller *controller;
    uint64_t delay_ms;
    size_t ns_n, name_n;
    char text[]; /* ns, then name */
};

static void on_enqueue_mail(struct cor_mail *mail)
{
    struct enqueuing *e = COR_CONTAINER_OF(mail, struct enqueuing, mail);
    struct cor_controller *c = e->controller;
    int r = cor_controller_feed_key(c, cor_str(e->text, e->ns_n),
                                    cor_str(e->text + e->ns_n, e->name_n), e->delay_ms);

    cor_free(e);
    cor_controller_judge(c, NULL, r);
}

int cor_controller_enqueue(struct cor_controller *c, const char *ns, const char *name,
                           uint64_t delay_ms)
{
    size_t ns_n = ns ? strlen(ns) : 0, name_n = name ? strlen(name) : 0;
    struct enqueuing *e;

    if (!c || name_n == 0 || strchr(name, '/') || (ns && strchr(ns, '/')) ||
        ns_n + 1 + name_n > COR_OBJECT_KEY_MAX || cor_runtime_is_forked(c->manager->runtime))
        return -COR_EINVAL;
    if (atomic_load(&c->manager->is_stopping))
        return -COR_ECANCELED;
    e = cor_calloc(1, sizeof(*e) + ns_n + name_n);
    if (!e)
        return -COR_ENOMEM;
    *e = (struct enqueuing){.mail.on_mail = on_enqueue_mail,
                            .controller = c,
                            .delay_ms = delay_ms,
                            .ns_n = ns_n,
                            .name_n = name_n};
    if (ns_n > 0)
        memcpy(e->text, ns, ns_n);
    memcpy(e->text + ns_n, name, name_n);
    cor_loop_post_always(c->manager->runtime->loop, &e->mail);
    return 0;
}

struct counting {
    struct cor_controller *controller;
    struct cor_control_loop_stats stats;
};

static void controller_read_stats(void *arg)
{
    struct counting *counting = arg;

    cor_control_loop_stats(counting->controller->loop, &counting->stats);
}

int cor_controller_stats(struct cor_controller *c, struct cor_controller_stats *ret)
{
    struct counting counting = {.controller = c};
    const struct cor_control_loop_stats *s = &counting.stats;
    struct cor_controller_stats all;
    int r = c ? cor_sized_copy(&all, sizeof(all), ret) : -COR_EINVAL;

    if (r == 0)
        r = cor_runtime_run(c->manager->runtime, controller_read_stats, &counting);
    if (r < 0)
        return r;
    all = (struct cor_controller_stats){
        .success = s->success,
        .error = s->error,
        .requeue = s->requeue,
        .requeue_after = s->requeue_after,
        .terminal = s->terminal,
        .active = s->active,
        .max = s->max,
        .depth = s->queue.depth,
        .adds = s->queue.adds,
        .retries = s->queue.retries,
    };
    cor_sized_answer(ret, &all, sizeof(all));
    return 0;
}
