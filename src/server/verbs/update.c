/* clang-format off */
/* PUT, and the shared part of PATCH: one guaranteed update of the store.
 *
 *   PUT: the stages decode to convert ──► update_start ──► the store reads the object (or takes the
 *   cache's as a suggestion) ──► update_step: the other stages (server/write/write.h) ──► write
 *   over exactly that revision
 *
 * A step runs the stages on the present object: a PUT from managed fields on, a PATCH from applying
 * itself on. The store runs the step again when another writer came first. The step stops instead
 * of writing in four cases, and update_on_updated() goes on:
 *   - a stage refused (its Status is the answer), or the reader has gone (nothing is answered);
 *   - dry run: answers with the object that would have been written;
 *   - the next state has nothing left to wait for (deletion began, no finalizers): it is removed,
 *     with the judged revision as precondition. If that revision has passed, all begins again; if
 *     somebody else has removed the object, that is a success too.
 * An object that does not exist is created by an apply, and where the resource allows this for PUT;
 * if somebody else creates it first, all begins again. Beginning again is bounded by ROUNDS_MAX, then 409.
 * Thread: the call's loop. */
/* clang-format on */
#include "server/verbs/update.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "server/write/write_options.h"
#include "server/write/write_store.h"

/* How often one request begins again because the object came or went between two operations. */
#define ROUNDS_MAX 16

static void update_start(struct cor_update_call *update);

static struct cor_update_call *update_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_update || call->verb == &cor_verb_patch);
    return COR_CONTAINER_OF(call, struct cor_update_call, write.call);
}

static void update_again(struct cor_update_call *update)
{
    struct cor_call *call = &update->write.call;
    struct cor_gr gr = cor_api_gr(call->res);

    if (++update->rounds < ROUNDS_MAX) {
        update_start(update);
        return;
    }
    cor_status_conflict(&call->status, &gr, call->name, COR_WRITE_MODIFIED);
    cor_call_fail(call);
}

static void update_on_judged(struct cor_write *write, int r)
{
    struct cor_update_call *update = update_of(&write->call);
    struct cor_store_change *change = COR_STEAL(update->change);

    write->present.current = cor_object_unref(write->present.current);
    update->decided = write->call.is_over ? cor_status_set(&write->call.status, -COR_ECANCELED,
                                                           "the client is gone")
                                          : r;
    cor_write_store_change(write, update->decided, change);
}

static void update_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct cor_update_call *update = arg;
    struct cor_write *write = &update->write;

    assert(!update->change && !write->present.current);
    update->change = change;
    update->judged = current->rev;
    write->present.current = cor_object_ref(current);
    if (write->call.is_over)
        update_on_judged(write, 0);
    else
        cor_write_run(write, write->asked.apply ? COR_STAGE_APPLY_PATCH : COR_STAGE_MANAGE_FIELDS,
                      COR_STAGE_STORE, update_on_judged);
}

/* Answers with what would have been written, at the revision it would have been written over. */
static void update_reply_next(struct cor_update_call *update, int code)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_call *call = &update->write.call;
    int r = cor_object_at(update->write.to_store.object, update->judged, &object);

    if (r == 0) {
        cor_call_reply_object(call, code, object);
        return;
    }
    cor_status_set_err(&call->status, r);
    cor_call_fail(call);
}

/* Another client may have removed the object first: it is gone, as this update wanted. */
static void update_on_removed(void *arg, const struct cor_store_reply *reply)
{
    struct cor_update_call *update = arg;
    struct cor_call *call = &update->write.call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0 || reply->err == -COR_ENOTFOUND) {
        update_reply_next(update, 200);
    } else if (reply->err == -COR_EPRECONDITION) {
        update_again(update);
    } else {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_DELETE);
    }
}

static void update_remove_object(struct cor_update_call *update)
{
    struct cor_call *call = &update->write.call;
    char rv[24];
    struct cor_store_delete_opts opts = {
        .preconditions.resource_version = {rv, 0},
        .deadline_ms = call->req->deadline_ms,
        .on_done = update_on_removed,
        .arg = update,
    };
    int r;

    opts.preconditions.resource_version.n =
        (size_t)snprintf(rv, sizeof(rv), "%llu", (unsigned long long)update->judged);
    r = cor_write_store_delete(call, cor_buf_str(&call->key), &opts);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_DELETE);
    else
        cor_call_begin_op(call);
}

static void update_on_created(void *arg, const struct cor_store_reply *reply)
{
    struct cor_update_call *update = arg;
    struct cor_call *call = &update->write.call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0) {
        cor_call_reply_object(call, 201, reply->object);
    } else if (reply->err == -COR_EEXIST) {
        update_again(update);
    } else {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_CREATE);
    }
}

static void update_on_made(struct cor_write *write, int r)
{
    struct cor_update_call *update = update_of(&write->call);
    struct cor_call *call = &write->call;

    if (!cor_write_goes_on(write, r))
        return;
    if (cor_call_is_dry_run(call))
        update_reply_next(update, 201);
    else if (cor_write_store_new(write, update_on_created, update) < 0)
        cor_call_fail(call);
    else
        cor_call_begin_op(call);
}

/* The object of a PUT or of an apply does not exist: makes a new one of the body. */
static void update_create_object(struct cor_update_call *update)
{
    struct cor_write *write = &update->write;

    write->present.is_create = true;
    update->judged = 0;
    cor_write_run(write, write->asked.apply ? COR_STAGE_APPLY_PATCH : COR_STAGE_MANAGE_FIELDS,
                  COR_STAGE_STORE, update_on_made);
}

static void update_on_updated(void *arg, const struct cor_store_reply *reply)
{
    struct cor_update_call *update = arg;
    struct cor_call *call = &update->write.call;
    bool may_create = !call->sub && (update->write.asked.apply
                                         ? update->write.asked.is_applied
                                         : (call->res->flags & COR_API_CREATE_ON_UPDATE) != 0);

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0) {
        cor_call_reply_object(call, 200, reply->object);
    } else if (reply->err == -COR_ENOTFOUND && may_create) {
        update_create_object(update);
    } else if (!reply->was_stopped) {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_UPDATE);
    } else if (update->decided < 0) {
        cor_call_fail(call);
    } else if (cor_call_is_dry_run(call)) {
        update_reply_next(update, 200);
    } else {
        update_remove_object(update);
    }
}

static void update_start(struct cor_update_call *update)
{
    struct cor_call *call = &update->write.call;
    COR_CLEANUP(cor_object_unrefp)
    struct cor_object *suggestion =
        cor_reader_suggest(call->backing->reader, cor_buf_str(&call->key));
    struct cor_store_update_opts opts = {
        .suggestion = suggestion,
        .deadline_ms = call->req->deadline_ms,
        .step = update_step,
        .on_done = update_on_updated,
        .arg = update,
    };
    int r;

    update->write.present.is_create = false;
    if (!update->write.asked.apply && cor_object_uid(update->write.received.body).n > 0)
        opts.preconditions.uid = cor_object_uid(update->write.received.body);
    r = cor_write_store_update(&update->write, &opts);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_UPDATE);
    else
        cor_call_begin_op(call);
}

void cor_update_call_start(struct cor_update_call *update)
{
    assert(update->write.call.key.n > 0 && !update->change);
    update_start(update);
}

static void update_on_read(struct cor_write *write, int r)
{
    if (cor_write_goes_on(write, r))
        update_start(update_of(&write->call));
}

static void update_run(struct cor_call *call)
{
    struct cor_write *write = &update_of(call)->write;

    cor_write_init(write);
    cor_write_begin(write, "UpdateOptions", COR_STAGE_MANAGE_FIELDS, update_on_read);
}

void cor_update_call_deinit(struct cor_call *call)
{
    cor_write_deinit(&update_of(call)->write);
}

const struct cor_verb_ops cor_verb_update = {
    .size = sizeof(struct cor_update_call), .run = update_run, .deinit = cor_update_call_deinit};
