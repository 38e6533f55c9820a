/* The public set of informers over the factory of `cache`, which lives on the runtime's loop. Its
 * informers announce work on any thread; one mail brings the loop to step them all. */
#include "coracle/informers.h"

#include <assert.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/informers/http_list_watch.h"
#include "client/informers/informers_int.h"

/* Changes of an informer, and notifications of a handler, that one step takes. */
#define STEP_MAX 256
#define RETRY_MS 1000 /* between two tries of what an index refused, when nothing else happens */

void cor_informers_wake(struct cor_informers *set)
{
    if (!atomic_exchange(&set->work_is_posted, true))
        cor_loop_post_always(set->runtime->loop, &set->work);
}

static void informers_on_work(void *arg)
{
    cor_informers_wake(arg);
}

static void informers_finish_closing(struct cor_informers *set)
{
    set->factory = cor_informer_factory_free(set->factory);
    cor_waiter_set(&set->closed);
}

static void informers_on_work_mail(struct cor_mail *mail)
{
    struct cor_informers *set = COR_CONTAINER_OF(mail, struct cor_informers, work);

    atomic_store(&set->work_is_posted, false);
    if (set->is_closing) {
        informers_finish_closing(set);
        return;
    }
    cor_informers_tell_slow(set);
    if (cor_informer_factory_step(set->factory, STEP_MAX))
        informers_on_work(set);
    if (set->opts.retry_on_error && !cor_timer_is_set(&set->retry) &&
        cor_informer_factory_has_retries(set->factory) && cor_timer_set(&set->retry, RETRY_MS) < 0)
        informers_on_work(set);
}

/* The heap of timers has the room that this one left. */
static void informers_on_look(struct cor_timer *timer)
{
    struct cor_informers *set = COR_CONTAINER_OF(timer, struct cor_informers, look);

    cor_timer_set(&set->look, COR_MUTATION_PERIOD_MS);
    cor_informer_factory_check_mutations(set->factory);
}

static void informers_on_retry(struct cor_timer *timer)
{
    informers_on_work(COR_CONTAINER_OF(timer, struct cor_informers, retry));
}

/* Over HTTP, as the set's client does its requests. */
static int informers_make_http_list_watch(struct cor_informers *set,
                                          const struct cor_informer_scope *scope,
                                          struct cor_list_watch **ret_lw)
{
    const struct cor_http_list_watch_opts opts = {
        .loop = set->runtime->loop,
        .client = set->client->rest,
        .at = {.gvr = scope->resource, .ns = scope->ns},
        .label_selector = scope->label_selector,
        .field_selector = scope->field_selector,
        .metadata_only = scope->metadata_only,
        .wire = set->opts.transform || scope->transform || scope->metadata_only ? NULL
                                                                                : set->asked->wire,
        .tweaks = {{set->opts.tweak, set->opts.arg}, {scope->tweak, scope->tweak_arg}}};
    struct cor_http_list_watch *lw;
    int r = cor_http_list_watch_new(&opts, &lw);

    if (r == 0)
        *ret_lw = cor_http_list_watch_base(lw);
    return r;
}

/* The informer's own constructor goes before the set's, and that before the client's server. */
static int informers_make_driver(void *arg, const struct cor_informer_scope *scope,
                                 struct cor_reflector_driver **ret_driver)
{
    struct cor_informers *set = arg;
    COR_CLEANUP(cor_list_watch_freep) struct cor_list_watch *lw = NULL;
    int r;

    if (scope->make_list_watch)
        r = scope->make_list_watch(scope->make_arg, set->asked, &lw);
    else if (set->opts.make_list_watch)
        r = set->opts.make_list_watch(set->opts.arg, set->asked, &lw);
    else if (set->client)
        r = informers_make_http_list_watch(set, scope, &lw);
    else
        r = -COR_EINVAL;
    if (r == 0 && !lw)
        r = -COR_EINVAL;
    if (r == 0)
        r = lw->ops->attach(lw, set->runtime);
    if (r == 0)
        *ret_driver = &COR_STEAL(lw)->driver;
    return r;
}

static void informers_set_reflector(void *arg, struct cor_reflector_driver *driver,
                                    struct cor_reflector *reflector)
{
    cor_list_watch_of(driver)->reflector = reflector;
}

static void informers_free_driver(void *arg, struct cor_reflector_driver *driver)
{
    struct cor_list_watch *lw = cor_list_watch_of(driver);

    cor_list_watch_detach(lw);
    cor_list_watch_free(lw);
}

/* "configmaps", or "deployments.apps"; with the namespace that is followed. */
static void informers_log(const struct cor_informers *set, enum cor_severity severity,
                          const struct cor_informer_scope *scope, const char *what,
                          const struct cor_status *status)
{
    const struct cor_gvr *of = &scope->resource;

    cor_runtime_log(set->runtime, severity, "informer of %.*s%s%.*s%s%.*s: %s%s%s",
                    COR_STR_ARG(of->resource), of->group.n ? "." : "", COR_STR_ARG(of->group),
                    scope->ns.n ? " in " : "", COR_STR_ARG(scope->ns), what,
                    *what && status ? ": " : "", status ? cor_status_message(status) : "");
}

static void informers_on_watch_error(void *arg, const struct cor_informer_scope *scope,
                                     const struct cor_status *error)
{
    informers_log(arg, COR_SEVERITY_WARNING, scope, "", error);
}

static enum cor_severity severity_of(enum cor_reflector_report what)
{
    switch (what) {
    case COR_REFLECTOR_UNEXPECTED_TYPE:
    case COR_REFLECTOR_UNREADABLE:
    case COR_REFLECTOR_UNKNOWN_EVENT:
    case COR_REFLECTOR_STORE_FAILED:
    case COR_REFLECTOR_CHANGE_REFUSED:
    case COR_REFLECTOR_RESYNC_FAILED:
        return COR_SEVERITY_ERROR;
    case COR_REFLECTOR_STREAM_LATE:
    case COR_REFLECTOR_SLOW:
    case COR_REFLECTOR_SLOW_CHANGE:
    case COR_REFLECTOR_SLOW_HANDLER:
        return COR_SEVERITY_WARNING;
    default:
        return COR_SEVERITY_INFO;
    }
}

static void informers_on_report(void *arg, const struct cor_informer_scope *scope,
                                enum cor_reflector_report what, const struct cor_status *status)
{
    informers_log(arg, severity_of(what), scope, cor_reflector_report_name(what), status);
}

static int informers_make_factory(struct cor_informers *set)
{
    bool has_log = set->runtime->on_log;
    const struct cor_informer_factory_opts opts = {
        .maker = {informers_make_driver, informers_set_reflector, informers_free_driver, set},
        .set = set->opts,
        .clock = set->runtime->clock,
        .on_work = informers_on_work,
        .on_watch_error = has_log ? informers_on_watch_error : NULL,
        .on_report = has_log ? informers_on_report : NULL,
        .arg = set,
    };

    return cor_informer_factory_new(&opts, &set->factory);
}

static void informers_stop_all(void *arg);

static void informers_on_client_stop(struct cor_client_hook *hook)
{
    informers_stop_all(COR_CONTAINER_OF(hook, struct cor_informers, hook));
}

struct starting {
    struct cor_informers *set;
    int r;
};

/* On the loop. */
static void informers_join_client(void *arg)
{
    struct starting *s = arg;
    struct cor_informers *set = s->set;

    if (set->opts.on_mutation)
        s->r = cor_timer_set(&set->look, COR_MUTATION_PERIOD_MS);
    if (s->r < 0)
        return;
    if (set->client)
        s->r = cor_client_hook_add(set->client, &set->hook);
    if (s->r < 0)
        cor_timer_cancel(&set->look);
}

/* 0, -COR_ENOMEM, -COR_ECANCELED (the client was stopped), -COR_EINVAL (in a forked child). */
static int informers_begin(struct cor_informers *set)
{
    struct starting s = {.set = set};
    int r = informers_make_factory(set);

    cor_timer_init(&set->look, set->runtime->loop, informers_on_look);
    cor_timer_init(&set->retry, set->runtime->loop, informers_on_retry);
    set->hook.on_stop = informers_on_client_stop;
    if (r == 0)
        r = cor_runtime_run(set->runtime, informers_join_client, &s);
    return r < 0 ? r : s.r;
}

/* `client` may be NULL. */
static int informers_make(struct cor_client *client, struct cor_runtime *runtime,
                          const struct cor_informers_opts *opts,
                          struct cor_informers **ret_informers)
{
    struct cor_informers_opts o;
    struct cor_informers *set;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return r;
    set = cor_calloc(1, sizeof(*set));
    if (!set)
        return -COR_ENOMEM;
    set->opts = o;
    set->client = client;
    set->runtime = runtime;
    r = informers_begin(set);
    if (r < 0) {
        cor_informer_factory_free(set->factory);
        cor_free(set);
        return r;
    }
    cor_dlist_init(&set->informers);
    cor_dlist_init(&set->handlers);
    cor_dlist_init(&set->slow);
    set->work.on_mail = informers_on_work_mail;
    atomic_init(&set->work_is_posted, false);
    atomic_init(&set->is_stopped, false);
    cor_waiter_init(&set->closed);
    cor_waiter_init(&set->no_handlers);
    cor_lock_init(&set->lock, COR_LOCK_CLIENT_INFORMERS);
    if (client)
        atomic_fetch_add(&client->nusers, 1);
    else
        cor_runtime_enter(runtime);
    *ret_informers = set;
    return 0;
}

int cor_informers_new(struct cor_client *client, const struct cor_informers_opts *opts,
                      struct cor_informers **ret_informers)
{
    return informers_make(client, client->runtime, opts, ret_informers);
}

int cor_informers_new_on(struct cor_runtime *runtime, const struct cor_informers_opts *opts,
                         struct cor_informers **ret_informers)
{
    assert(runtime);
    return informers_make(NULL, runtime, opts, ret_informers);
}

static void free_informer(struct cor_informer *inf)
{
    cor_dlist_remove(&inf->link);
    cor_free(inf->group);
    cor_free(inf->version);
    cor_free(inf->plural);
    cor_free(inf->ns);
    cor_free(inf->kind);
    cor_free(inf);
}

static void informers_stop_all(void *arg)
{
    struct cor_informers *set = arg;

    atomic_store(&set->is_stopped, true);
    cor_timer_cancel(&set->look);
    cor_timer_cancel(&set->retry);
    cor_informer_factory_stop(set->factory);
}

/* Work that is on its way finds the factory here; it finishes the closing then. */
static void informers_begin_closing(void *arg)
{
    struct cor_informers *set = arg;

    set->is_closing = true;
    if (set->client)
        cor_client_hook_remove(&set->hook);
    informers_stop_all(set);
    if (!atomic_load(&set->work_is_posted))
        informers_finish_closing(set);
}

struct cor_informers *cor_informers_free(struct cor_informers *set)
{
    int r;

    if (!set || cor_runtime_is_forked(set->runtime))
        return NULL;
    assert(!cor_runtime_is_inside(set->runtime) && !cor_runtime_is_in_handler(set->runtime) &&
           "cor_informers_free() was called inside a callback or a handler");
    cor_informers_remove_handlers(set);
    cor_runtime_run(set->runtime, informers_begin_closing, set);
    r = cor_runtime_wait(set->runtime, &set->closed, COR_WAIT_FOREVER);
    assert(r == 0);
    (void)r;
    while (!cor_dlist_empty(&set->informers))
        free_informer(COR_CONTAINER_OF(set->informers.next, struct cor_informer, link));
    if (set->client)
        atomic_fetch_sub(&set->client->nusers, 1);
    else
        cor_runtime_leave(set->runtime);
    cor_waiter_deinit(&set->closed);
    cor_waiter_deinit(&set->no_handlers);
    cor_lock_deinit(&set->lock);
    return cor_free(set);
}

struct getting {
    struct cor_informers *set;
    const struct cor_informer_opts *opts;
    struct cor_informer *informer;
    int r;
};

static struct cor_informer *informers_known(struct cor_informers *set,
                                            struct cor_shared_informer *shared)
{
    COR_DLIST_FOREACH(it, &set->informers) {
        struct cor_informer *inf = COR_CONTAINER_OF(it, struct cor_informer, link);

        if (inf->shared == shared)
            return inf;
    }
    return NULL;
}

static struct cor_informer *informers_make_informer(struct cor_informers *set,
                                                    const struct cor_informer_opts *opts,
                                                    struct cor_shared_informer *shared)
{
    struct cor_informer *inf = cor_calloc(1, sizeof(*inf));

    if (!inf)
        return NULL;
    inf->set = set;
    inf->shared = shared;
    inf->group = cor_strdup(opts->resource.group ? opts->resource.group : "");
    inf->version = cor_strdup(opts->resource.version);
    inf->plural = cor_strdup(opts->resource.plural);
    inf->ns = cor_strdup(opts->ns ? opts->ns : "");
    inf->kind = cor_strdup(opts->kind ? opts->kind : "");
    cor_dlist_push(&set->informers, &inf->link);
    if (inf->group && inf->version && inf->plural && inf->ns && inf->kind)
        return inf;
    free_informer(inf);
    return NULL;
}

static void informers_get_informer(void *arg)
{
    struct getting *g = arg;
    const struct cor_informer_opts *o = g->opts;
    const struct cor_informer_scope scope = {
        .resource = {cor_strz(o->resource.group), cor_strz(o->resource.version),
                     cor_strz(o->resource.plural)},
        .kind = cor_strz(o->kind),
        .ns = cor_strz(o->ns),
        .label_selector = cor_strz(o->label_selector),
        .field_selector = cor_strz(o->field_selector),
        .resync_ms = o->resync_ms,
        .metadata_only = o->metadata_only,
        .transform = o->transform,
        .transform_arg = o->transform_arg,
        .tweak = o->tweak,
        .tweak_arg = o->tweak_arg,
        .make_list_watch = o->make_list_watch,
        .make_arg = o->make_arg,
    };
    struct cor_shared_informer *shared;

    g->set->asked = o;
    g->r = cor_informer_factory_informer_for(g->set->factory, &scope, &shared);
    if (g->r < 0)
        return;
    g->informer = informers_known(g->set, shared);
    if (!g->informer)
        g->informer = informers_make_informer(g->set, o, shared);
    if (!g->informer)
        g->r = -COR_ENOMEM;
}

static bool is_empty(const char *s)
{
    return !s || !*s;
}

int cor_informers_for_resource(struct cor_informers *set, const struct cor_informer_opts *opts,
                               struct cor_informer **ret_informer, struct cor_status *reterr)
{
    struct cor_informer_opts o;
    struct getting g = {.set = set, .opts = &o};
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "make an informer: %s", cor_sized_text(r));
    if (is_empty(o.resource.version) || is_empty(o.resource.plural))
        return cor_status_set(reterr, -COR_EINVAL, "an informer needs a version and a resource");
    if (cor_runtime_run(set->runtime, informers_get_informer, &g) < 0)
        return cor_runtime_may_wait(set->runtime, reterr);
    if (g.r < 0)
        return cor_status_set(reterr, g.r, "make an informer of %s", o.resource.plural);
    *ret_informer = g.informer;
    return 0;
}

static void informers_start_all(void *arg)
{
    cor_informer_factory_start(((struct cor_informers *)arg)->factory);
}

void cor_informers_start(struct cor_informers *set)
{
    cor_runtime_run(set->runtime, informers_start_all, set);
}

void cor_informers_stop(struct cor_informers *set)
{
    cor_runtime_run(set->runtime, informers_stop_all, set);
}

static bool informers_all_synced(void *arg)
{
    return cor_informer_factory_wait_for_sync(((struct cor_informers *)arg)->factory, 0, NULL,
                                              NULL);
}

static bool informers_is_synced_or_stopped(void *arg)
{
    return atomic_load(&((struct cor_informers *)arg)->is_stopped) || informers_all_synced(arg);
}

/* The informers of a set, which are the loop's to look at. */
struct gathering {
    struct cor_informers *set;
    struct cor_informer **informers;
    size_t n;
    int r;
};

static void informers_gather(void *arg)
{
    struct gathering *g = arg;
    size_t n = 0;

    COR_DLIST_FOREACH(it, &g->set->informers)
        n++;
    g->informers = cor_calloc(n > 0 ? n : 1, sizeof(g->informers[0]));
    if (!g->informers) {
        g->r = -COR_ENOMEM;
        return;
    }
    COR_DLIST_FOREACH(it, &g->set->informers)
        g->informers[g->n++] = COR_CONTAINER_OF(it, struct cor_informer, link);
}

static void informers_tell_sync(struct cor_informer *inf,
                                void (*fn)(void *arg, const struct cor_informer_sync *sync),
                                void *arg)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_informer_sync sync = {
        .informer = inf, .group = cor_strz(inf->group), .plural = cor_strz(inf->plural)};

    if (!cor_shared_informer_is_started(inf->shared))
        return;
    sync.r = cor_informer_sync_error(inf, &why);
    sync.why = sync.r < 0 ? &why : NULL;
    fn(arg, &sync);
}

/* 0, -COR_ETIMEOUT, -COR_ECANCELED. */
static int informers_wait_until_synced(struct cor_informers *set, uint64_t timeout_ms)
{
    struct cor_loop *loop = set->runtime->loop;
    bool synced;

    if (cor_loop_is_current(loop)) {
        cor_loop_run_until(loop, informers_is_synced_or_stopped, set, timeout_ms);
        synced = informers_all_synced(set);
        cor_pump_rearm(set->runtime->pump);
    } else {
        synced = cor_informer_factory_wait_for_sync(set->factory, timeout_ms, NULL, NULL);
    }
    if (synced)
        return 0;
    return atomic_load(&set->is_stopped) ? -COR_ECANCELED : -COR_ETIMEOUT;
}

/* One entry of the message: "; pods: why". */
static void informers_add_missing(void *arg, const struct cor_informer_sync *sync)
{
    struct cor_buf *text = arg;

    if (sync->r < 0 && text->n < COR_STATUS_MESSAGE_MAX)
        (void)cor_buf_addf(text, "; %.*s: %s", COR_STR_ARG(sync->plural),
                           cor_status_message(sync->why));
}

int cor_informers_wait_for_sync(struct cor_informers *set, uint64_t timeout_ms,
                                struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf missing;
    struct gathering g = {.set = set};
    int r = cor_runtime_may_wait(set->runtime, reterr);

    cor_buf_init(&missing, 4 * COR_STATUS_MESSAGE_MAX);
    if (r < 0)
        return r;
    r = informers_wait_until_synced(set, timeout_ms);
    if (r == 0 || !reterr)
        return r;
    cor_runtime_run(set->runtime, informers_gather, &g);
    for (size_t i = 0; i < g.n; i++)
        informers_tell_sync(g.informers[i], informers_add_missing, &missing);
    cor_free(g.informers);
    return cor_status_set(reterr, r, "%s%s",
                          r == -COR_ECANCELED ? "the informers were stopped"
                                              : "not all informers are synced",
                          missing.n > 0 ? cor_buf_z(&missing) : "");
}

int cor_informers_wait_for_each(struct cor_informers *set, uint64_t timeout_ms,
                                void (*fn)(void *arg, const struct cor_informer_sync *sync),
                                void *arg)
{
    struct gathering g = {.set = set};
    int r = cor_runtime_may_wait(set->runtime, NULL);

    if (r < 0)
        return r;
    cor_runtime_run(set->runtime, informers_gather, &g);
    if (g.r < 0)
        return g.r;
    r = informers_wait_until_synced(set, timeout_ms);
    for (size_t i = 0; i < g.n; i++)
        informers_tell_sync(g.informers[i], fn, arg);
    cor_free(g.informers);
    return r;
}
