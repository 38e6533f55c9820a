/* Waits until conditions hold for the events of a watch, or of an informer that is made for the
 * wait.
 *
 * The caller blocks on a waiter. Each event is passed to the first condition that is not met yet;
 * if the event meets that condition, it is passed to the next one too, and so on. The wait ends
 * when the last condition is met, when a condition returns an error, at the deadline, or when the
 * client is stopped. A watch that ends before that is resumed, where the options say so,
 * and else ends the wait. The first failure is the result.
 *
 * Thread: the caller's waits; conditions run on the runtime's I/O thread, where handlers run, or
 * inside the pump. */
#include "coracle/until.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/sized.h"
#include "client/informers/informers_int.h"

/* A wait, of either kind; it is on the stack of its caller. */
struct until {
    const cor_watch_condition_fn *conditions;
    size_t n, met;
    void *arg;
    struct cor_object *object; /* of the last event */
    struct cor_status *reterr;
    int r;
    bool is_deaf; /* events of a cache are ignored: the precondition has decided */
    struct cor_waiter done;
    /* The following members are used only by a wait with a cache. */
    struct cor_status failure; /* the last one of a list or watch */
    struct cor_client *client;
    struct cor_client_hook hook; /* the loop's */
    int join_r;                  /* what came of adding the hook */
    atomic_bool is_stopped;      /* the client was stopped */
};

static void until_take_error(struct until *u, const struct cor_status *error)
{
    u->r = error->err;
    if (u->reterr)
        cor_status_copy(u->reterr, error);
}

static bool until_is_over(const struct until *u)
{
    return u->met == u->n || u->r < 0;
}

static void until_judge(struct until *u, const struct cor_watch_event *event)
{
    int r = 1;

    cor_object_unref(u->object);
    u->object = cor_object_ref(event->object);
    while (r > 0 && u->met < u->n) {
        r = u->conditions[u->met](u->arg, event);
        u->met += r > 0;
    }
    if (r < 0)
        u->r = cor_status_set(u->reterr, r, "a condition of the wait");
}

static int until_finish(struct until *u, int r, struct cor_object **ret_object)
{
    cor_waiter_deinit(&u->done);
    cor_status_deinit(&u->failure);
    if (r == 0 && ret_object)
        *ret_object = u->object;
    else
        cor_object_unref(u->object);
    return r;
}

static int until_on_event(void *arg, const struct cor_watch_event *event)
{
    struct until *u = arg;

    if (event->type == COR_WATCH_ERROR)
        until_take_error(u, event->status);
    else
        until_judge(u, event);
    return until_is_over(u) ? -COR_ECANCELED : 0;
}

static void until_on_watch_done(void *arg, const struct cor_response *response)
{
    struct until *u = arg;

    if (!until_is_over(u)) {
        if (response->error)
            until_take_error(u, response->error);
        else
            u->r = cor_status_set(u->reterr, -COR_EBROKEN,
                                  "the watch ended before its conditions were met");
    }
    cor_waiter_set(&u->done);
}

int cor_client_watch_until(struct cor_client *client, const struct cor_request *req,
                           const cor_watch_condition_fn *conditions, size_t n, void *arg,
                           struct cor_object **ret_object, struct cor_status *reterr)
{
    static const struct cor_request_cbs cbs = {.on_event = until_on_event,
                                               .on_done = until_on_watch_done};
    struct until u = {.conditions = conditions, .n = n, .arg = arg, .reterr = reterr};
    struct cor_request own;
    int r = cor_client_copy_request(&own, req, reterr);

    if (r < 0)
        return r;
    if (own.verb != COR_VERB_WATCH || n == 0)
        return cor_status_set(reterr, -COR_EINVAL,
                              "a watch and at least one condition are expected");
    own.timeout_ms = cor_client_wait_ms(client, own.timeout_ms);
    cor_waiter_init(&u.done);
    r = cor_client_send_and_wait(client, &own, &cbs, &u, &u.done, reterr);
    return until_finish(&u, r < 0 ? r : u.r, ret_object);
}

static void until_hear(struct until *u, enum cor_watch_type type, struct cor_object *object)
{
    const struct cor_watch_event event = {.type = type, .object = object};

    if (!object || u->is_deaf || until_is_over(u))
        return;
    until_judge(u, &event);
    if (until_is_over(u))
        cor_waiter_set(&u->done);
}

static void until_on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    until_hear(arg, COR_WATCH_ADDED, object);
}

static void until_on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    until_hear(arg, COR_WATCH_MODIFIED, object);
}

static void until_on_delete(void *arg, struct cor_str key, struct cor_object *object,
                            bool final_state_unknown)
{
    until_hear(arg, COR_WATCH_DELETED, object);
}

static void until_on_failure(void *arg, struct cor_str plural, const struct cor_status *error)
{
    cor_status_copy(&((struct until *)arg)->failure, error);
}

static uint64_t end_of(uint64_t timeout_ms)
{
    uint64_t now = cor_clock_mono_ms(cor_clock_real());

    return timeout_ms > 0 && timeout_ms < UINT64_MAX - now ? now + timeout_ms : UINT64_MAX;
}

static uint64_t left_ms(uint64_t end_ms)
{
    uint64_t now = cor_clock_mono_ms(cor_clock_real());

    if (end_ms == UINT64_MAX)
        return COR_WAIT_FOREVER;
    return end_ms > now ? end_ms - now : 0;
}

/* Waits for the first list and asks the precondition. 0: conditions are needed; 1: the precondition
 * was enough; or a failure. */
static int until_look_first(const struct until *u, const struct cor_sync_until_opts *opts,
                            struct cor_informer *informer, uint64_t end_ms)
{
    int r = cor_informer_wait_for_sync(informer, left_ms(end_ms));

    if (r < 0)
        return cor_status_set(u->reterr, r, "wait for the first list of a cache");
    r = opts->precondition(opts->arg, informer);
    if (r < 0)
        cor_status_set(u->reterr, r, "the precondition of the wait");
    return r;
}

static void until_on_client_stop(struct cor_client_hook *hook)
{
    struct until *u = COR_CONTAINER_OF(hook, struct until, hook);

    atomic_store(&u->is_stopped, true);
    cor_waiter_set(&u->done);
}

/* Both on the loop. */
static void until_join_client(void *arg)
{
    struct until *u = arg;

    u->hook.on_stop = until_on_client_stop;
    u->join_r = cor_client_hook_add(u->client, &u->hook);
}

static void until_leave_client(void *arg)
{
    cor_client_hook_remove(&((struct until *)arg)->hook);
}

static int until_follow(struct until *u, const struct cor_sync_until_opts *opts,
                        struct cor_informers *set)
{
    const struct cor_handler_opts on = {COR_HANDLER_DEFAULTS,
                                        .on = {.on_add = until_on_add,
                                               .on_update = until_on_update,
                                               .on_delete = until_on_delete,
                                               .arg = u},
                                        .never_resync = true};
    uint64_t end_ms = end_of(opts->timeout_ms);
    struct cor_informer *informer;
    struct cor_handler *handler;
    int r = cor_informers_for_resource(set, opts->scope, &informer, u->reterr);

    if (r < 0)
        return r;
    r = cor_informer_add_held_handler(informer, &on, &handler);
    if (r < 0)
        return cor_status_set(u->reterr, r, "listen to a cache");
    cor_informers_start(set);
    if (opts->precondition)
        r = until_look_first(u, opts, informer, end_ms);
    u->is_deaf = r != 0;
    cor_handler_release(handler);
    if (r == 0)
        r = cor_runtime_run(set->runtime, until_join_client, u);
    if (r != 0)
        return r;
    if (u->join_r < 0)
        return cor_status_set(u->reterr, u->join_r, COR_CLIENT_STOPPED);
    r = cor_runtime_wait(set->runtime, &u->done, left_ms(end_ms));
    cor_runtime_run(set->runtime, until_leave_client, u);
    if (atomic_load(&u->is_stopped))
        return cor_status_set(u->reterr, -COR_ECANCELED, COR_CLIENT_STOPPED);
    return r;
}

/* The wait's cache has a handler that needs a thread of the pool, also to be removed; a wait inside
 * another handler could take the last one. */
static int until_may_sync(const struct cor_client *client, struct cor_status *reterr)
{
    if (cor_runtime_is_in_handler(client->runtime))
        return cor_status_set(reterr, -COR_EINVAL,
                              "a wait for a cache cannot be made inside a handler of its runtime");
    return cor_runtime_may_wait(client->runtime, reterr);
}

int cor_client_sync_until(struct cor_client *client, const struct cor_sync_until_opts *opts,
                          struct cor_object **ret_object, struct cor_status *reterr)
{
    struct cor_sync_until_opts o;
    struct until u = {.reterr = reterr, .client = client};
    const struct cor_informers_opts of_set = {COR_INFORMERS_OPTS,
                                              .on_watch_error = until_on_failure, .arg = &u};
    struct cor_informers *set = NULL;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "wait for a cache: %s", cor_sized_text(r));
    r = until_may_sync(client, reterr);
    if (r < 0)
        return r;
    if (o.n == 0)
        return cor_status_set(reterr, -COR_EINVAL, "at least one condition is expected");
    if (!o.scope)
        return cor_status_set(reterr, -COR_EINVAL, "wait for a cache: scope is not set");
    u.conditions = o.conditions;
    u.n = o.n;
    u.arg = o.arg;
    o.timeout_ms = cor_client_wait_ms(client, o.timeout_ms);
    cor_waiter_init(&u.done);
    r = cor_informers_new(client, &of_set, &set);
    if (r < 0)
        cor_status_set(reterr, r, r == -COR_ECANCELED ? COR_CLIENT_STOPPED : "make a cache");
    else
        r = until_follow(&u, &o, set);
    cor_informers_free(set); /* what follows is this thread's alone */
    if (until_is_over(&u))
        r = u.r;
    else if (r == -COR_ETIMEOUT)
        cor_status_set(reterr, r, "the conditions were not met in time%s%s",
                       u.failure.err ? "; the last failure: " : "",
                       u.failure.err ? cor_status_message(&u.failure) : "");
    return until_finish(&u, r > 0 ? 0 : r, ret_object);
}
