/* clang-format off */
/* Handlers of an informer on a runtime: with threads, each is a task of the pool; without, the
 * informer's step runs it on the loop.
 *
 *   held ──► added ──► removing ──► gone
 *
 * held: by whoever adds the handler, until the handle is written. removing: no call begins any more;
 * one may be under way. gone: on_removed is called and the memory is freed. */
/* clang-format on */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/informers/informers_int.h"

/* Notifications that a thread of the pool takes before it looks at the other handlers. */
#define RUN_MAX 64

struct cor_handler {
    struct cor_informers *set;
    struct cor_informer *informer;
    struct cor_dlist link; /* in set->handlers, until it is removed */
    struct cor_dlist slow; /* in set->slow */
    uint64_t slow_ms;      /* the longest call that was not reported yet; under set->lock */
    bool is_inside;        /* that call, when it was seen; likewise */
    struct cor_registration *registration;
    struct cor_handler_task task; /* COR_RUNTIME_THREADS */
    struct cor_mail removed;      /* COR_RUNTIME_PUMPED */
    void (*on_removed)(void *arg);
    void *arg;
    char name[]; /* for reports */
};

static void handler_end(struct cor_handler *h)
{
    struct cor_informers *set = h->set;

    if (h->on_removed)
        h->on_removed(h->arg);
    cor_lock_acquire(&set->lock);
    cor_dlist_remove(&h->slow);
    cor_free(h);
    if (--set->nhandlers == 0 && set->is_removing)
        cor_waiter_set(&set->no_handlers);
    cor_lock_release(&set->lock);
}

/* The report is the loop's to make. */
static void handler_note_slow(struct cor_handler *h, uint64_t ms, bool is_inside)
{
    cor_lock_acquire(&h->set->lock);
    if (ms >= h->slow_ms) {
        h->slow_ms = ms;
        h->is_inside = is_inside;
    }
    if (cor_dlist_empty(&h->slow))
        cor_dlist_push(&h->set->slow, &h->slow);
    cor_lock_release(&h->set->lock);
    cor_informers_wake(h->set);
}

static void handler_on_slow(void *arg, uint64_t ms)
{
    handler_note_slow(arg, ms, false);
}

/* Takes one off and says what is to be said of it. False: there is none. */
static bool handler_take_slow(struct cor_informers *set, struct cor_informer **ret_informer,
                              struct cor_status *ret)
{
    struct cor_handler *h = NULL;
    struct cor_dlist *link;

    cor_lock_acquire(&set->lock);
    link = cor_dlist_pop(&set->slow);
    if (link) {
        h = COR_CONTAINER_OF(link, struct cor_handler, slow);
        *ret_informer = h->informer;
        cor_status_set(ret, -COR_ETIMEOUT,
                       h->is_inside ? "handler %s of %s has been in one call for %llu ms"
                                    : "handler %s of %s took %llu ms for one call",
                       h->name, h->informer->plural, (unsigned long long)h->slow_ms);
        h->slow_ms = 0;
    }
    cor_lock_release(&set->lock);
    return h;
}

void cor_informers_tell_slow(struct cor_informers *set)
{
    struct cor_informer *inf;
    struct cor_status st;

    cor_status_init(&st);
    while (handler_take_slow(set, &inf, &st)) {
        cor_runtime_log(set->runtime, COR_SEVERITY_WARNING, "%s", cor_status_message(&st));
        if (set->opts.on_report)
            set->opts.on_report(set->opts.arg, cor_strz(inf->plural), COR_REFLECTOR_SLOW_HANDLER,
                                &st);
        cor_status_deinit(&st);
    }
}

static bool handler_run_task(struct cor_handler_task *task)
{
    struct cor_handler *h = COR_CONTAINER_OF(task, struct cor_handler, task);
    struct cor_turn turn = {.max = RUN_MAX, .clock = cor_clock_real(), .began_ms = task->began_ms};

    cor_registration_turn(h->registration, &turn);
    if (turn.longest_ms >= COR_SLOW_HANDLER_MS)
        handler_note_slow(h, turn.longest_ms, false);
    return turn.has_more;
}

static void handler_on_task_stuck(struct cor_handler_task *task, uint64_t ms)
{
    handler_note_slow(COR_CONTAINER_OF(task, struct cor_handler, task), ms, true);
}

static void handler_on_task_retired(struct cor_handler_task *task)
{
    struct cor_handler *h = COR_CONTAINER_OF(task, struct cor_handler, task);

    cor_shared_informer_remove_handler(h->informer->shared, h->registration);
    handler_end(h);
}

static const struct cor_handler_task_ops task_ops = {
    .run = handler_run_task,
    .on_retired = handler_on_task_retired,
    .on_stuck = handler_on_task_stuck,
};

/* From a turn of the loop, in which no call of the handler can be under way. */
static void handler_on_removed_mail(struct cor_mail *mail)
{
    handler_end(COR_CONTAINER_OF(mail, struct cor_handler, removed));
}

static void handler_on_ready(void *arg)
{
    struct cor_handler *h = arg;

    cor_handler_pool_wake(h->set->runtime->pool, &h->task);
}

static struct cor_registration_opts handler_registration_opts(struct cor_handler *h,
                                                              const struct cor_handler_opts *opts)
{
    struct cor_registration_opts ro = cor_registration_defaults();

    ro.handler = opts->on;
    if (opts->never_resync)
        ro.resync_ms = 0;
    else if (opts->resync_ms > 0)
        ro.resync_ms = opts->resync_ms;
    ro.bytes_max = opts->bytes_max;
    ro.on_slow = handler_on_slow;
    ro.arg = h;
    if (h->set->runtime->pool)
        ro.on_ready = handler_on_ready;
    else
        ro.is_held = true;
    return ro;
}

static void handler_link(struct cor_handler *h)
{
    cor_lock_acquire(&h->set->lock);
    cor_dlist_push(&h->set->handlers, &h->link);
    h->set->nhandlers++;
    cor_lock_release(&h->set->lock);
}

static struct cor_handler *handler_new(struct cor_informer *inf, const char *name)
{
    size_t room = name ? strlen(name) + 1 : sizeof("#4294967295");
    struct cor_handler *h = cor_calloc(1, sizeof(*h) + room);
    unsigned number = atomic_fetch_add(&inf->nadded, 1) + 1;

    if (!h)
        return NULL;
    if (name)
        memcpy(h->name, name, room);
    else
        snprintf(h->name, room, "#%u", number);
    h->set = inf->set;
    h->informer = inf;
    cor_dlist_init(&h->slow);
    return h;
}

int cor_informer_add_held_handler(struct cor_informer *inf, const struct cor_handler_opts *opts,
                                  struct cor_handler **ret_handler)
{
    struct cor_handler_opts o;
    struct cor_registration_opts ro;
    struct cor_handler *h;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return r;
    h = handler_new(inf, o.name);
    if (!h)
        return -COR_ENOMEM;
    h->on_removed = o.on_removed;
    h->arg = o.on.arg;
    h->removed.on_mail = handler_on_removed_mail;
    cor_handler_task_init(&h->task, &task_ops);
    ro = handler_registration_opts(h, &o);
    r = cor_shared_informer_add_handler(inf->shared, &ro, &h->registration);
    if (r < 0) {
        cor_free(h);
        return r;
    }
    handler_link(h);
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
static void handler_remove(struct cor_handler *h)
{
    struct cor_runtime *rt = h->set->runtime;

    if (rt->pool) {
        cor_registration_close(h->registration);
        cor_handler_pool_retire(rt->pool, &h->task);
    } else {
        cor_shared_informer_remove_handler(h->informer->shared, h->registration);
        cor_loop_post_always(rt->loop, &h->removed);
    }
}

void cor_handler_remove(struct cor_handler *h)
{
    cor_lock_acquire(&h->set->lock);
    cor_dlist_remove(&h->link);
    cor_lock_release(&h->set->lock);
    handler_remove(h);
}

bool cor_handler_has_synced(struct cor_handler *h)
{
    return cor_registration_has_synced(h->registration);
}

static struct cor_handler *handler_take_first(struct cor_informers *set)
{
    struct cor_dlist *link;

    cor_lock_acquire(&set->lock);
    link = cor_dlist_pop(&set->handlers);
    cor_lock_release(&set->lock);
    return link ? COR_CONTAINER_OF(link, struct cor_handler, link) : NULL;
}

void cor_informers_remove_handlers(struct cor_informers *set)
{
    struct cor_handler *h;
    bool wait;

    while ((h = handler_take_first(set)))
        handler_remove(h);
    cor_lock_acquire(&set->lock);
    wait = set->is_removing = set->nhandlers > 0;
    cor_lock_release(&set->lock);
    if (wait)
        cor_runtime_wait(set->runtime, &set->no_handlers, COR_WAIT_FOREVER);
    /* Whoever told has left the lock then. */
    cor_lock_acquire(&set->lock);
    cor_lock_release(&set->lock);
}
