/* Handlers of an informer on a runtime: with threads, each is a task of the pool; without, the
 * informer's step runs it on the loop.
 *
 *   held ──► added ──► removing ──► gone: on_removed, the memory
 *   by whoever adds it, until the handle is written
 *                      no call begins any more; one may be under way */
#include "base/err.h"
#include "base/mem.h"
#include "client/informers_int.h"

/* Notifications that a thread of the pool takes before it looks at the other handlers. */
#define RUN_MAX 64

struct cor_handler {
    struct cor_informers *set;
    struct cor_shared_informer *shared;
    struct cor_list link; /* in set->handlers, until it is removed */
    struct cor_registration *registration;
    struct cor_handler_task task; /* COR_RUNTIME_THREADS */
    struct cor_mail removed;      /* COR_RUNTIME_PUMPED */
    void (*on_removed)(void *arg);
    void *arg;
};

static void end_handler(struct cor_handler *h)
{
    struct cor_informers *set = h->set;

    if (h->on_removed)
        h->on_removed(h->arg);
    cor_free(h);
    pthread_mutex_lock(&set->lock);
    if (--set->nhandlers == 0 && set->is_removing)
        cor_waiter_set(&set->no_handlers);
    pthread_mutex_unlock(&set->lock);
}

static bool run_task(struct cor_handler_task *task)
{
    struct cor_handler *h = COR_CONTAINER_OF(task, struct cor_handler, task);

    return cor_registration_drain(h->registration, RUN_MAX) == RUN_MAX;
}

static void on_task_retired(struct cor_handler_task *task)
{
    struct cor_handler *h = COR_CONTAINER_OF(task, struct cor_handler, task);

    cor_shared_informer_remove_handler(h->shared, h->registration);
    end_handler(h);
}

/* From a turn of the loop, in which no call of the handler can be under way. */
static void on_removed_mail(struct cor_mail *mail)
{
    end_handler(COR_CONTAINER_OF(mail, struct cor_handler, removed));
}

static void on_ready(void *arg)
{
    struct cor_handler *h = arg;

    cor_handler_pool_wake(h->set->runtime->pool, &h->task);
}

static struct cor_registration_opts registration_opts(struct cor_handler *h,
                                                      const struct cor_handler_opts *opts)
{
    struct cor_registration_opts ro = cor_registration_defaults();

    ro.handler = opts->on;
    if (opts->never_resync)
        ro.resync_ms = 0;
    else if (opts->resync_ms > 0)
        ro.resync_ms = opts->resync_ms;
    ro.bytes_max = opts->bytes_max;
    if (h->set->runtime->pool) {
        ro.on_ready = on_ready;
        ro.arg = h;
    } else {
        ro.is_held = true;
    }
    return ro;
}

static void link_handler(struct cor_handler *h)
{
    pthread_mutex_lock(&h->set->lock);
    cor_list_push(&h->set->handlers, &h->link);
    h->set->nhandlers++;
    pthread_mutex_unlock(&h->set->lock);
}

int cor_informer_add_held_handler(struct cor_informer *inf, const struct cor_handler_opts *opts,
                                  struct cor_handler **ret_handler)
{
    struct cor_handler *h = cor_calloc(1, sizeof(*h));
    struct cor_registration_opts ro;
    int r;

    if (!h)
        return -COR_ENOMEM;
    h->set = inf->set;
    h->shared = inf->shared;
    h->on_removed = opts->on_removed;
    h->arg = opts->on.arg;
    h->removed.on_mail = on_removed_mail;
    cor_handler_task_init(&h->task, run_task, on_task_retired);
    ro = registration_opts(h, opts);
    r = cor_shared_informer_add_handler(inf->shared, &ro, &h->registration);
    if (r < 0) {
        cor_free(h);
        return r;
    }
    link_handler(h);
    *ret_handler = h;
    return 0;
}

void cor_handler_release(struct cor_handler *h)
{
    if (h->set->runtime->pool)
        cor_handler_pool_release(h->set->runtime->pool, &h->task);
    else
        cor_registration_release(h->registration);
}

int cor_informer_add_handler(struct cor_informer *inf, const struct cor_handler_opts *opts,
                             struct cor_handler **ret_handler)
{
    struct cor_handler *h;
    int r = cor_informer_add_held_handler(inf, opts, &h);

    if (r < 0)
        return r;
    if (ret_handler)
        *ret_handler = h;
    cor_handler_release(h);
    return 0;
}

/* It is out of the list. */
static void remove_handler(struct cor_handler *h)
{
    struct cor_runtime *rt = h->set->runtime;

    if (rt->pool) {
        cor_registration_close(h->registration);
        cor_handler_pool_retire(rt->pool, &h->task);
    } else {
        cor_shared_informer_remove_handler(h->shared, h->registration);
        cor_loop_reply(rt->loop, &h->removed);
    }
}

void cor_handler_remove(struct cor_handler *h)
{
    pthread_mutex_lock(&h->set->lock);
    cor_list_remove(&h->link);
    pthread_mutex_unlock(&h->set->lock);
    remove_handler(h);
}

bool cor_handler_has_synced(struct cor_handler *h)
{
    return cor_registration_has_synced(h->registration);
}

static struct cor_handler *take_first(struct cor_informers *set)
{
    struct cor_list *link;

    pthread_mutex_lock(&set->lock);
    link = cor_list_pop(&set->handlers);
    pthread_mutex_unlock(&set->lock);
    return link ? COR_CONTAINER_OF(link, struct cor_handler, link) : NULL;
}

void cor_informers_remove_handlers(struct cor_informers *set)
{
    struct cor_handler *h;
    bool wait;

    while ((h = take_first(set)))
        remove_handler(h);
    pthread_mutex_lock(&set->lock);
    wait = set->is_removing = set->nhandlers > 0;
    pthread_mutex_unlock(&set->lock);
    if (wait)
        cor_runtime_wait(set->runtime, &set->no_handlers, COR_WAIT_FOREVER);
    /* Whoever told has left the lock then. */
    pthread_mutex_lock(&set->lock);
    pthread_mutex_unlock(&set->lock);
}
