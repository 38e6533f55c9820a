/* The handlers of a shared informer, the way of a change to them, and their resyncs. For each
 * change, under `lock`: prepare makes one notification for each handler that is to hear of it (all
 * that may fail), the delta applier changes the indexer, and publish pushes the notifications to
 * the listeners. When the indexer refuses the change, or memory is missing, the notifications are
 * dropped, so that a handler never hears of a change that the cache does not have. Thread: changes
 * on the informer's; handlers are added and removed on any. */
#include "base/err.h"
#include "base/mem.h"
#include "cache/informers/shared_informer_int.h"

void cor_registration_unref(struct cor_registration *reg)
{
    if (!cor_ref_put(&reg->ref))
        return;
    cor_processor_listener_free(reg->listener);
    cor_free(reg);
}

static uint64_t fitting_period(uint64_t asked_ms, uint64_t check_ms)
{
    if (asked_ms == 0 || check_ms == 0)
        return 0;
    return asked_ms > check_ms ? asked_ms : check_ms;
}

void cor_informer_set_resync(struct cor_shared_informer *inf, struct cor_registration *reg)
{
    uint64_t asked = reg->asked_ms;

    if (asked > 0 && asked < COR_RESYNC_MIN_MS)
        asked = COR_RESYNC_MIN_MS;
    reg->asked_ms = asked;
    if (asked > 0 && asked < inf->resync_check_ms && !inf->started) {
        inf->resync_check_ms = asked;
        COR_DLIST_FOREACH(it, &inf->handlers) {
            struct cor_registration *other = COR_CONTAINER_OF(it, struct cor_registration, link);

            other->resync_ms = fitting_period(other->asked_ms, asked);
        }
    }
    reg->resync_ms = fitting_period(asked, inf->resync_check_ms);
    reg->resync_at_ms = cor_clock_mono_ms(inf->clock) + reg->resync_ms;
}

bool cor_informer_should_resync(void *arg)
{
    struct cor_shared_informer *inf = arg;
    uint64_t now_ms = cor_clock_mono_ms(inf->clock);
    bool any = false;

    cor_lock_acquire(&inf->lock);
    COR_DLIST_FOREACH(it, &inf->handlers) {
        struct cor_registration *reg = COR_CONTAINER_OF(it, struct cor_registration, link);

        reg->is_syncing = reg->resync_ms > 0 && now_ms >= reg->resync_at_ms;
        if (reg->is_syncing)
            reg->resync_at_ms = now_ms + reg->resync_ms;
        any |= reg->is_syncing;
    }
    cor_lock_release(&inf->lock);
    return any;
}

static void free_notifications(struct cor_dlist *notifications)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(notifications)))
        cor_notification_free(COR_CONTAINER_OF(link, struct cor_notification, link));
}

static void push_notifications(struct cor_dlist *notifications)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(notifications)))
        cor_notification_push(COR_CONTAINER_OF(link, struct cor_notification, link));
}

static struct cor_shared_informer *informer_of(struct cor_delta_applier *a)
{
    return COR_CONTAINER_OF(a, struct cor_shared_informer, applier);
}

/* An update that a relist or a resync repeats. */
static bool is_repetition(const struct cor_change *change)
{
    return change->kind == COR_CHANGE_UPDATE &&
           cor_str_eq(cor_object_resource_version(change->old),
                      cor_object_resource_version(change->object));
}

/* A notification of one change for every handler that is to hear of it. */
static int make_notifications(struct cor_shared_informer *inf, const struct cor_change *change)
{
    bool repeats = is_repetition(change);

    COR_DLIST_FOREACH(it, &inf->handlers) {
        struct cor_registration *reg = COR_CONTAINER_OF(it, struct cor_registration, link);
        struct cor_notification *n;

        if (repeats && !reg->is_syncing)
            continue;
        n = cor_notification_new(reg->listener, change);
        if (!n)
            return -COR_ENOMEM;
        cor_dlist_push(&inf->notifications, &n->link);
    }
    return 0;
}

static int informer_prepare(struct cor_delta_applier *a, const struct cor_change *change)
{
    struct cor_shared_informer *inf = informer_of(a);
    int r = make_notifications(inf, change);

    if (r == 0 && inf->detector && change->kind != COR_CHANGE_DELETE)
        r = cor_mutation_detector_add(inf->detector, change->object);
    return r;
}

static void informer_publish(struct cor_delta_applier *a, const struct cor_change *change)
{
    push_notifications(&informer_of(a)->notifications);
}

static void informer_drop(struct cor_delta_applier *a)
{
    free_notifications(&informer_of(a)->notifications);
}

const struct cor_delta_applier_ops cor_informer_applier_ops = {informer_prepare, informer_publish,
                                                               informer_drop};

/* A change that finds no memory stays the oldest of the queue and is tried again; one that an index
 * refuses is dropped, as client-go's store errors are, unless it is to be retried. */
int cor_informer_apply(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                       bool in_initial_list)
{
    struct cor_shared_informer *inf = arg;
    int r;

    cor_lock_acquire(&inf->lock);
    r = cor_delta_applier_run(&inf->applier, key, deltas, n, in_initial_list);
    cor_lock_release(&inf->lock);
    return r;
}

static int register_locked(struct cor_shared_informer *inf, struct cor_registration *reg)
{
    struct cor_object_iter snapshot;

    if (cor_controller_is_stopped(inf->controller))
        return -COR_ECANCELED;
    if (inf->started && cor_indexer_list(inf->indexer, &snapshot) < 0)
        return -COR_ENOMEM;
    cor_informer_set_resync(inf, reg);
    reg->is_syncing = true;
    reg->id = ++inf->next_id;
    cor_dlist_push(&inf->handlers, &reg->link);
    if (inf->started)
        cor_processor_listener_begin_with(reg->listener, &snapshot);
    return 0;
}

static void tell_step(void *arg)
{
    struct cor_registration *reg = arg;

    if (reg->informer->on_work)
        reg->informer->on_work(reg->informer->arg);
}

static struct cor_registration *registration_new(struct cor_shared_informer *inf,
                                                 const struct cor_registration_opts *opts)
{
    struct cor_registration *reg = cor_calloc(1, sizeof(*reg));
    void (*on_ready)(void *arg) = opts->on_ready ? opts->on_ready : tell_step;

    if (!reg)
        return NULL;
    cor_ref_init(&reg->ref);
    cor_dlist_init(&reg->link);
    reg->informer = inf;
    reg->in_step = !opts->on_ready && !opts->is_held;
    reg->on_slow = opts->on_slow;
    reg->arg = opts->arg;
    reg->asked_ms = opts->resync_ms == COR_RESYNC_DEFAULT ? inf->resync_ms : opts->resync_ms;
    if (cor_processor_listener_new(&opts->handler, opts->bytes_max, on_ready,
                                   opts->on_ready ? opts->arg : reg, &reg->listener) < 0)
        return cor_free(reg);
    return reg;
}

int cor_shared_informer_add_handler(struct cor_shared_informer *inf,
                                    const struct cor_registration_opts *opts,
                                    struct cor_registration **ret_registration)
{
    struct cor_registration *reg = registration_new(inf, opts);
    int r;

    if (!reg)
        return -COR_ENOMEM;
    cor_lock_acquire(&inf->lock);
    r = register_locked(inf, reg);
    cor_lock_release(&inf->lock);
    if (r < 0)
        cor_registration_unref(reg);
    else
        *ret_registration = reg;
    return r;
}

void cor_shared_informer_remove_handler(struct cor_shared_informer *inf,
                                        struct cor_registration *registration)
{
    cor_lock_acquire(&inf->lock);
    cor_dlist_remove(&registration->link);
    cor_lock_release(&inf->lock);
    cor_processor_listener_close(registration->listener);
    cor_registration_unref(registration);
}

/* Told under the lock: the handler may run and be gone as soon as it is free. */
void cor_registration_release(struct cor_registration *registration)
{
    struct cor_shared_informer *inf = registration->informer;

    cor_lock_acquire(&inf->lock);
    registration->in_step = true;
    tell_step(registration);
    cor_lock_release(&inf->lock);
}

void cor_registration_close(struct cor_registration *registration)
{
    cor_processor_listener_close(registration->listener);
}

bool cor_registration_has_synced(struct cor_registration *registration)
{
    return cor_shared_informer_has_synced(registration->informer) &&
           cor_processor_listener_saw_initial(registration->listener);
}

void cor_registration_turn(struct cor_registration *registration, struct cor_turn *turn)
{
    cor_ref_get(&registration->ref);
    cor_processor_listener_turn(registration->listener, turn);
    cor_registration_unref(registration);
}
