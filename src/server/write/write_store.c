/* clang-format off */
/* The end of the list, in its two forms: a new object is created under its key, and a step of a
 * guaranteed update writes over exactly the state that it was judged for. Objects of kinds that
 * expire get their time to live here.
 *
 * What the stage ALLOCATE has reserved is settled here, between the store and the verb:
 *
 *   the store's answer is kept ──► stored: what the object gave up is released; refused: what was
 *   reserved is released ──► the verb gets the answer
 *
 * so that a client that has its answer can use what was released. A deletion releases all that its
 * object had. When nobody knows whether the object was stored, reservations stay for the repair.
 *
 * Failures: the store's, in its reply; the verb answers them.
 * Thread: the call's loop. */
/* clang-format on */
#include "server/write/write_store.h"

#include <assert.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "server/alloc/allocation.h"
#include "server/write/write_options.h"

static int64_t store_ttl(const struct cor_call *call)
{
    return call->res->flags & COR_API_TTL ? call->loop->settings->event_ttl_s : 0;
}

/* The verb gets the answer that was kept. */
static void store_on_settled(void *arg)
{
    struct cor_write *write = arg;
    struct cor_write_reply kept = write->reply;
    struct cor_store_reply reply = {.err = kept.err,
                                    .status = kept.err < 0 ? &kept.status : NULL,
                                    .object = kept.object,
                                    .was_stopped = kept.was_stopped};

    write->reply = (struct cor_write_reply){.on_done = NULL};
    kept.on_done(write, &reply);
    cor_status_deinit(&kept.status);
    cor_object_unref(kept.object);
}

/* How reservations end with the answer of the store. After the failures that are not named here the
 * object may be stored all the same: a commit whose answer there was no time or no memory for. */
static enum cor_allocation_end store_end(const struct cor_store_reply *reply)
{
    if (reply->was_stopped)
        return COR_ALLOCATION_UNDO;
    switch (reply->err) {
    case 0:
        return COR_ALLOCATION_KEEP;
    case -COR_EEXIST:
    case -COR_ENOTFOUND:
    case -COR_ECONFLICT:
    case -COR_EPRECONDITION:
    case -COR_ETOOBIG:
    case -COR_EINVAL:
    case -COR_EBUSY:
    case -COR_ENOSPC:
    case -COR_EREADONLY:
        return COR_ALLOCATION_UNDO;
    default:
        return COR_ALLOCATION_UNKNOWN;
    }
}

/* Keeps the answer, and settles what was reserved. */
static void store_on_answer(void *arg, const struct cor_store_reply *reply)
{
    struct cor_write *write = arg;

    if (!write->to_store.allocation) {
        write->reply.on_done(arg, reply);
        return;
    }
    write->reply.err = reply->err;
    write->reply.was_stopped = reply->was_stopped;
    write->reply.object = reply->object ? cor_object_ref(reply->object) : NULL;
    cor_status_init(&write->reply.status);
    if (reply->status)
        cor_status_move(&write->reply.status, reply->status);
    cor_allocation_settle(COR_STEAL(write->to_store.allocation), store_end(reply), store_on_settled,
                          write);
}

static void store_on_undone(void *arg)
{
}

int cor_write_store_new(struct cor_write *write, cor_store_cb on_stored, void *arg)
{
    struct cor_call *call = &write->call;
    int r;

    assert(write->to_store.object && write->present.is_create && !cor_call_is_dry_run(call) &&
           arg == write);
    if (write->to_store.allocation) {
        write->reply.on_done = on_stored;
        on_stored = store_on_answer;
    }
    r = cor_store_create(call->backing->store, cor_buf_str(&call->key), write->to_store.object,
                         store_ttl(call), on_stored, arg, &call->status);
    /* Nothing was asked of the store: the answer does not wait for this. */
    if (r < 0 && write->to_store.allocation)
        cor_allocation_settle(COR_STEAL(write->to_store.allocation), COR_ALLOCATION_UNDO,
                              store_on_undone, NULL);
    return r;
}

int cor_write_store_update(struct cor_write *write, const struct cor_store_update_opts *opts)
{
    struct cor_call *call = &write->call;
    struct cor_store_update_opts settled = *opts;

    assert(opts->arg == write);
    if (cor_call_reserves(call) && !call->sub) {
        write->reply.on_done = opts->on_done;
        settled.on_done = store_on_answer;
    }
    return cor_store_update(call->backing->store, cor_buf_str(&call->key), &settled, &call->status);
}

/* A deletion whose object may have something reserved. */
struct store_removal {
    struct cor_call *call;
    cor_store_step step;
    cor_store_cb on_done;
    void *arg;
    struct cor_object *object; /* as it was */
};

static void removal_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct store_removal *removal = arg;

    if (removal->step)
        removal->step(removal->arg, change, current);
    else
        cor_store_change_accept(change);
}

static void removal_on_settled(void *arg)
{
    struct store_removal *removal = arg;
    const struct cor_store_reply reply = {.object = removal->object};

    removal->on_done(removal->arg, &reply);
    cor_object_unref(removal->object);
    cor_free(removal);
}

static void removal_on_answer(void *arg, const struct cor_store_reply *reply)
{
    struct store_removal *removal = arg;
    struct cor_api_loop *loop = removal->call->loop;
    struct cor_allocation *allocation = NULL;

    if (reply->err < 0) {
        removal->on_done(removal->arg, reply);
        cor_free(removal);
        return;
    }
    removal->object = cor_object_ref(reply->object);
    if (cor_allocation_of_removed(loop->shared->alloc, loop, reply->object, &allocation) == 0) {
        cor_allocation_settle(allocation, COR_ALLOCATION_KEEP, removal_on_settled, removal);
        return;
    }
    COR_LOG_WARN("there is no memory to release what an object had; it is left to the repair");
    removal_on_settled(removal);
}

int cor_write_store_delete(struct cor_call *call, struct cor_str key,
                           const struct cor_store_delete_opts *opts)
{
    struct cor_store_delete_opts settled = *opts;
    struct store_removal *removal;
    int r;

    if (!cor_call_reserves(call))
        return cor_store_delete(call->backing->store, key, opts, &call->status);
    removal = cor_calloc(1, sizeof(*removal));
    if (!removal)
        return cor_status_set(&call->status, -COR_ENOMEM, "out of memory");
    *removal = (struct store_removal){call, opts->step, opts->on_done, opts->arg, NULL};
    settled.step = removal_step;
    settled.on_done = removal_on_answer;
    settled.arg = removal;
    r = cor_store_delete(call->backing->store, key, &settled, &call->status);
    if (r < 0)
        cor_free(removal);
    return r;
}

void cor_write_store_change(struct cor_write *write, int r, struct cor_store_change *change)
{
    assert(change && cor_loop_is_current(write->call.loop->loop));
    if (r == 0 && !write->to_store.removes && !cor_call_is_dry_run(&write->call))
        cor_store_change_write(change, cor_object_ref(write->to_store.object),
                               store_ttl(&write->call));
    else
        cor_store_change_stop(change);
}
