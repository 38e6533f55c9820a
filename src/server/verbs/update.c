/* clang-format off */
/* PUT, and the shared part of PATCH: one guaranteed update of the store.
 *
 *   read the body (PUT, a stage) ──► update_start ──► the store reads the object (or takes the
 *   cache's as a suggestion) ──► update_step: judge (a stage) ──► write over exactly that revision
 *
 * A step makes the next state (PATCH: applies the patch to the present object), checks the client's
 * resourceVersion, and runs the strategy. The store runs the step again when another writer came
 * first. The step stops instead of writing in four cases, and update_on_updated() goes on:
 *   - the step refused (its Status is the answer), or the reader has gone (nothing is answered);
 *   - dry run: answers with the object that would have been written;
 *   - the next state has nothing left to wait for (deletion began, no finalizers): it is removed,
 *     with the judged revision as precondition. If that revision has passed, all begins again.
 * An object that does not exist is created where the resource allows this for PUT; if somebody else
 * creates it first, all begins again. Beginning again is bounded by ROUNDS_MAX, then 409.
 * Thread: the call's loop, except the stages (update_judge, update_make_object, update_read_body).
 */
/* clang-format on */
#include "server/verbs/update.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "meta/field_error.h"
#include "server/api/heavy.h"
#include "server/strategy/namespaces.h"
#include "server/strategy/strategy.h"

/* How often one request begins again because the object came or went between two operations. */
#define ROUNDS_MAX 16
#define MODIFIED                                                                                   \
    "the object has been modified; please apply your changes to the latest version and try again"

static void update_start(struct cor_update_call *update);

static int64_t ttl_of(const struct cor_call *call)
{
    return call->res->flags & COR_API_TTL ? call->loop->api->event_ttl_s : 0;
}

static void update_again(struct cor_update_call *update)
{
    struct cor_call *call = &update->call;
    struct cor_gr gr = cor_api_gr(call->res);

    if (++update->rounds < ROUNDS_MAX) {
        update_start(update);
        return;
    }
    cor_status_conflict(&call->status, &gr, call->name, MODIFIED);
    cor_call_fail(call);
}

static int update_check_revision(struct cor_update_call *update, const struct cor_object *current)
{
    static const struct cor_field_path meta = {.name = COR_STR("metadata")};
    COR_CLEANUP(cor_field_errors_deinit) struct cor_field_errors errs = {0};
    struct cor_call *call = &update->call;
    struct cor_field_path path = cor_field_child(&meta, COR_STR("resourceVersion"));
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_gk gk = {call->res->group, call->res->plural};

    if (update->body.rev == current->rev)
        return 0;
    if (update->body.rev > 0)
        return cor_status_conflict(&call->status, &gr, call->name, MODIFIED);
    if (call->res->flags & COR_API_UNCONDITIONAL)
        return 0;
    cor_field_errors_add(&errs, COR_FIELD_INVALID, &path, cor_field_json(COR_STR("0")),
                         "must be specified for an update");
    return cor_status_invalid(&call->status, &gk, call->name, &errs);
}

/* A stage (server/api/heavy.h). */
static int update_judge(struct cor_call *call)
{
    struct cor_update_call *update = (struct cor_update_call *)call;
    struct cor_object *current = update->current;
    int r = 0;

    update->next = cor_object_unref(update->next);
    update->removes = false;
    update->judged = current->rev;
    if (update->apply)
        r = update->apply(update, current);
    if (r == 0)
        r = update_check_revision(update, current);
    if (r == 0)
        r = cor_strategy_update(call, current, update->body.object, &update->next);
    if (r == 0)
        update->removes = cor_strategy_is_finished(call, update->next);
    return r;
}

static void update_on_judged(struct cor_call *call, int r)
{
    struct cor_update_call *update = (struct cor_update_call *)call;
    struct cor_store_change *change = COR_STEAL(update->change);

    update->current = cor_object_unref(update->current);
    update->decided =
        call->is_over ? cor_status_set(&call->status, -COR_ECANCELED, "the client is gone") : r;
    if (update->decided == 0 && !update->removes && !cor_call_is_dry_run(&update->call))
        cor_store_change_write(change, cor_object_ref(update->next), ttl_of(&update->call));
    else
        cor_store_change_stop(change);
}

static void update_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    struct cor_update_call *update = arg;
    /* A step goes over the present object and what the client sent. */
    size_t bytes = cor_object_json(current).n +
                   (update->apply ? update->patch_bytes : cor_object_json(update->body.object).n);

    assert(!update->change && !update->current);
    update->change = change;
    update->current = cor_object_ref(current);
    if (update->call.is_over)
        update_on_judged(&update->call, 0);
    else
        cor_heavy_run(&update->call, bytes, update_judge, update_on_judged);
}

/* Answers with what would have been written, at the revision it would have been written over. */
static void update_reply_next(struct cor_update_call *update, int code)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_call *call = &update->call;
    int r = cor_object_at(update->next, update->judged, &object);

    if (r == 0) {
        cor_call_reply_object(call, code, object);
        return;
    }
    cor_status_set_err(&call->status, r);
    cor_call_fail(call);
}

static void update_on_removed(void *arg, const struct cor_store_reply *reply)
{
    struct cor_update_call *update = arg;
    struct cor_call *call = &update->call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0) {
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
    struct cor_call *call = &update->call;
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
    r = cor_store_delete(call->backing->store, cor_buf_str(&call->key), &opts, &call->status);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_DELETE);
    else
        cor_call_begin_op(call);
}

static void update_on_created(void *arg, const struct cor_store_reply *reply)
{
    struct cor_update_call *update = arg;
    struct cor_call *call = &update->call;

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

/* A stage (server/api/heavy.h). */
static int update_make_object(struct cor_call *call)
{
    struct cor_update_call *update = (struct cor_update_call *)call;

    return cor_strategy_create(call, update->body.object, &update->next);
}

static void update_on_made(struct cor_call *call)
{
    struct cor_update_call *update = (struct cor_update_call *)call;

    if (cor_call_is_dry_run(call)) {
        update_reply_next(update, 201);
        return;
    }
    if (cor_store_create(call->backing->store, cor_buf_str(&call->key), update->next, ttl_of(call),
                         update_on_created, update, &call->status) < 0)
        cor_call_fail(call);
    else
        cor_call_begin_op(call);
}

static void update_create_object(struct cor_call *call, int err)
{
    struct cor_update_call *update = (struct cor_update_call *)call;

    update->next = cor_object_unref(update->next);
    update->judged = 0;
    if (err < 0)
        cor_call_fail(call);
    else
        cor_heavy_then(call, cor_object_json(update->body.object).n, update_make_object,
                       update_on_made);
}

static void update_on_updated(void *arg, const struct cor_store_reply *reply)
{
    struct cor_update_call *update = arg;
    struct cor_call *call = &update->call;
    bool may_create = !update->apply && !call->sub && (call->res->flags & COR_API_CREATE_ON_UPDATE);

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0) {
        cor_call_reply_object(call, 200, reply->object);
    } else if (reply->err == -COR_ENOTFOUND && may_create) {
        if (cor_api_is_namespaced(call->res))
            cor_namespace_check(call, call->name, update_create_object);
        else
            update_create_object(call, 0);
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
    struct cor_call *call = &update->call;
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

    if (!update->apply && cor_object_uid(update->body.object).n > 0)
        opts.preconditions.uid = cor_object_uid(update->body.object);
    r = cor_store_update(call->backing->store, cor_buf_str(&call->key), &opts, &call->status);
    if (r < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_UPDATE);
    else
        cor_call_begin_op(call);
}

void cor_update_call_start(struct cor_update_call *update)
{
    assert(update->call.key.n > 0 && !update->change);
    update_start(update);
}

/* A stage (server/api/heavy.h). */
static int update_read_body(struct cor_call *call)
{
    return cor_body_read(call, &((struct cor_update_call *)call)->body);
}

static void update_on_body(struct cor_call *call)
{
    update_start((struct cor_update_call *)call);
}

static void update_run(struct cor_call *call)
{
    cor_write_begin(call, "UpdateOptions", update_read_body, update_on_body);
}

void cor_update_call_deinit(struct cor_call *call)
{
    struct cor_update_call *update = (struct cor_update_call *)call;

    cor_body_deinit(&update->body);
    cor_object_unref(update->next);
}

const struct cor_verb cor_verb_update = {
    .size = sizeof(struct cor_update_call), .run = update_run, .deinit = cor_update_call_deinit};
