/* The write of a guaranteed update; store_change.c has the walk around it. The step's object is
 * compared with the stored one first: when the bytes would stay the same, nothing is written. When
 * that was found against a suggestion, one read confirms it. Thread: the loop's. */
#include "storage/store/store_change.h"

static void update_fail(struct cor_store_change *change, int err, struct cor_status *status)
{
    cor_store_change_finish(change, err, status, NULL);
}

static void update_on_lease(struct cor_lease_want *want)
{
    struct cor_store_change *change = COR_CONTAINER_OF(want, struct cor_store_change, lease);
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    cor_status_init(&status);
    if (want->result == 0) {
        cor_store_change_submit(change);
        return;
    }
    r = cor_store_engine_failure(&change->key, &change->store->leases.grant.req, &status);
    update_fail(change, r, &status);
}

void cor_store_update_write(struct cor_store_change *change)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;
    int r;

    cor_status_init(&status);
    r = cor_store_encode(change->store, &change->key, change->next, &change->scratch,
                         &change->value, &status);
    if (r < 0) {
        update_fail(change, r, &status);
        return;
    }
    change->lease.id = 0;
    if (change->lease.ttl_s <= 0 ||
        cor_lease_manager_acquire(&change->store->leases, &change->lease))
        cor_store_change_submit(change);
}

static bool update_is_noop(const struct cor_store_change *change)
{
    return change->object && cor_object_same_stored(change->next, change->object);
}

static void update_reply_unchanged(struct cor_store_change *change)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = cor_object_ref(change->object);

    cor_store_change_finish(change, 0, NULL, object);
}

void cor_store_update_confirmed(struct cor_store_change *change)
{
    change->confirm = false;
    if (!update_is_noop(change))
        cor_store_change_judge(change);
    else if (change->rewrite)
        cor_store_update_write(change);
    else
        update_reply_unchanged(change);
}

/* Keeps the stored form of the object that the step gave. */
static int update_take_next(struct cor_store_change *change, struct cor_object *take_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = take_object;

    change->next = cor_object_unref(change->next);
    if (object->rev != 0)
        return cor_object_at(object, 0, &change->next);
    change->next = COR_STEAL(object);
    return 0;
}

void cor_store_change_write(struct cor_store_change *change, struct cor_object *take_object,
                            int64_t ttl_s)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status;

    assert(!change->is_delete && cor_loop_is_current(change->store->loop));
    cor_status_init(&status);
    change->lease.ttl_s = ttl_s;
    if (update_take_next(change, take_object) < 0) {
        update_fail(change, cor_store_no_memory(&status), &status);
    } else if (change->rewrite || !update_is_noop(change)) {
        cor_store_update_write(change);
    } else if (!change->current) {
        change->confirm = true;
        cor_store_change_read(change);
    } else {
        update_reply_unchanged(change);
    }
}

int cor_store_update(struct cor_store *store, struct cor_str key,
                     const struct cor_store_update_opts *opts, struct cor_status *reterr_status)
{
    struct cor_store_change *change;
    int r = cor_store_change_new(store, key, &opts->preconditions, opts->suggestion, &change,
                                 reterr_status);

    if (r < 0)
        return r;
    change->ignore_not_found = opts->ignore_not_found;
    change->deadline_ms = opts->deadline_ms;
    change->step = opts->step;
    change->on_done = opts->on_done;
    change->arg = opts->arg;
    change->lease.on_lease = update_on_lease;
    cor_store_change_start(change);
    return 0;
}
