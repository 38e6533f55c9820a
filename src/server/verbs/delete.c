/* clang-format off */
/* DELETE, and the deletion of one object for DELETECOLLECTION and evictions (struct cor_delete_op).
 *
 *   start ──► store delete: the step judges (a stage, deletion.c), and plugins are asked
 *               NOW      ──► removed ──► done
 *               PENDING  ──► the step stops; the object stays ──► done
 *               MARK     ──► the step stops ──► store update: its step judges again
 *                              MARK     ──► the marked object is stored ──► done, or, when nothing
 *                                           keeps it, store delete, as above
 *                              NOW      ──► the step stops ──► store delete, as above
 *
 * What a step judges last, and is to become of the object, passes both points of admission (the
 * object as the old one, no new one), in a dry run as well: so exactly the state is admitted that is
 * removed or marked. An eviction has passed them as an eviction.
 *
 * When somebody else removes what was marked here, the operation has succeeded too, with the object
 * as it was marked.
 *
 * Each change between removing and marking means that another writer came between; after ROUNDS_MAX
 * changes the answer is 409. In a dry run a step never writes, and the answer shows the object as
 * it would be. A step that fails, or whose reader has gone, stops with its failure in the status.
 *
 * on_done is called exactly once, unless the call is over: then the operation ends silently.
 * Thread: the call's loop, except the judging of large objects (delete_op_decide) and reading of
 * the options. */
/* clang-format on */
#include "server/verbs/delete.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/names/key.h"
#include "schema/kinds/bootstrap_objects.h"
#include "server/api/heavy.h"
#include "server/write/write_body.h"
#include "server/write/write_options.h"
#include "server/write/write_store.h"
#include "json/write/print.h"

/* How often one request may change between removing and marking. */
#define ROUNDS_MAX 16

struct delete_call {
    struct cor_call call;
    struct cor_delete_options options;
    struct cor_delete_op op;
};

static struct delete_call *delete_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_delete);
    return COR_CONTAINER_OF(call, struct delete_call, call);
}

static void delete_op_forget(struct cor_delete_op *op)
{
    op->last.marked = cor_object_unref(op->last.marked);
    op->last.step = COR_DELETION_NOW;
    op->last.ends = false;
}

void cor_delete_op_deinit(struct cor_delete_op *op)
{
    delete_op_forget(op);
    cor_admission_deinit(&op->admission);
    op->marked = cor_object_unref(op->marked);
    op->object = cor_object_unref(op->object);
    cor_status_deinit(&op->why);
    cor_buf_deinit(&op->key);
}

static void delete_op_start(struct cor_delete_op *op);

static void delete_op_keep_object(struct cor_delete_op *op, struct cor_object *object)
{
    struct cor_object *old = op->object;

    op->object = cor_object_ref(object);
    cor_object_unref(old);
}

/* A stage (server/api/heavy.h). */
static int delete_op_decide(struct cor_call *call)
{
    struct cor_delete_op *op = call->stage_arg;
    struct cor_delete_options options = *op->options;
    char marked_rv[24];

    /* The client's precondition held for the state that was marked. */
    if (op->marked && options.resource_version) {
        snprintf(marked_rv, sizeof(marked_rv), "%llu", (unsigned long long)op->marked->rev);
        options.resource_version = marked_rv;
    }
    return cor_deletion_decide(call, &options, op->object, &op->last);
}

/* Keeps the decision about the operation. When nobody waits for it any more it becomes a failure,
 * so that nothing is written. */
static void delete_op_note(struct cor_delete_op *op, int r)
{
    struct cor_call *call = op->call;

    op->decided =
        call->is_over ? cor_status_set(&call->status, -COR_ECANCELED, "the client is gone") : r;
    if (op->decided < 0)
        cor_status_move(&op->why, &call->status);
}

/* Lets the store do what was decided, or nothing. */
static void delete_op_settle(struct cor_delete_op *op)
{
    struct cor_store_change *change = COR_STEAL(op->change);
    bool writes = op->decided == 0 && !op->options->is_dry_run;

    assert(change);
    if (writes && op->marks && op->last.step == COR_DELETION_MARK)
        cor_store_change_write(change, cor_object_ref(op->last.marked), 0);
    else if (writes && !op->marks && op->last.step == COR_DELETION_NOW)
        cor_store_change_accept(change);
    else
        cor_store_change_stop(change);
}

static void delete_op_on_admitted(struct cor_admission *ad, int r);

static void delete_op_admit(struct cor_delete_op *op, enum cor_admission_point point)
{
    struct cor_admission *ad = &op->admission;

    ad->call = op->call;
    ad->op = COR_ADMISSION_DELETE;
    cor_object_unref(ad->old);
    ad->old = cor_object_ref(op->object);
    ad->deletion = op->options;
    ad->is_dry_run = op->options->is_dry_run;
    ad->is_owed = op->marked != NULL;
    ad->stays_on_loop = op->stays_on_loop;
    cor_admission_run(ad, point, delete_op_on_admitted);
}

static void delete_op_on_admitted(struct cor_admission *ad, int r)
{
    struct cor_delete_op *op = COR_CONTAINER_OF(ad, struct cor_delete_op, admission);

    op->call->name = op->name;
    if (r == 0 && ad->point == COR_ADMISSION_MUTATES) {
        delete_op_admit(op, COR_ADMISSION_VALIDATES);
        return;
    }
    delete_op_note(op, r);
    delete_op_settle(op);
}

/* Returns whether the decision is about to be carried out, so that plugins must be asked. A mark is
 * judged again where it is stored, and a removal where the object is removed. */
static bool delete_op_is_final(const struct cor_delete_op *op)
{
    switch (op->last.step) {
    case COR_DELETION_NOW:
        return !op->marks;
    case COR_DELETION_MARK:
        return op->marks || op->options->is_dry_run;
    case COR_DELETION_PENDING:
        return !op->last.is_under_way;
    }
    return false;
}

static void delete_op_on_judged(struct cor_call *call, int r)
{
    struct cor_delete_op *op = COR_STEAL(call->stage_arg);

    assert(op && op->change);
    delete_op_note(op, r);
    if (op->decided < 0 || op->is_admitted || !delete_op_is_final(op)) {
        delete_op_settle(op);
        return;
    }
    delete_op_admit(op, COR_ADMISSION_MUTATES);
}

/* A step of the store: judges the present object as a stage. */
static void delete_op_judge(struct cor_delete_op *op, struct cor_store_change *change,
                            struct cor_object *current)
{
    delete_op_forget(op);
    delete_op_keep_object(op, current);
    op->change = change;
    op->call->stage_arg = op;
    op->call->name = op->name;
    if (op->call->is_over)
        delete_op_on_judged(op->call, 0);
    else if (op->stays_on_loop)
        delete_op_on_judged(op->call, delete_op_decide(op->call));
    else if (op->marked)
        cor_heavy_owe(op->call, cor_object_json(current).n, delete_op_decide, delete_op_on_judged);
    else
        cor_heavy_run(op->call, cor_object_json(current).n, delete_op_decide, delete_op_on_judged);
}

static void delete_op_removal_step(void *arg, struct cor_store_change *change,
                                   struct cor_object *current)
{
    struct cor_delete_op *op = arg;

    op->marks = false;
    delete_op_judge(op, change, current);
}

static void delete_op_mark_step(void *arg, struct cor_store_change *change,
                                struct cor_object *current)
{
    struct cor_delete_op *op = arg;

    op->marks = true;
    delete_op_judge(op, change, current);
}

/* Lets the answer of a dry run show the mark that was not stored. 0, -COR_ENOMEM. */
static int delete_op_show_mark(struct cor_delete_op *op)
{
    struct cor_object *marked;
    int r;

    op->was_removed = op->last.step == COR_DELETION_NOW || op->last.ends;
    if (!op->last.marked)
        return 0;
    r = cor_object_at(op->last.marked, op->object->rev, &marked);
    if (r < 0)
        return cor_status_set_err(&op->call->status, r);
    cor_object_unref(op->object);
    op->object = marked;
    return 0;
}

/* The marked object was stored, or the object was removed. */
static void delete_op_on_written(struct cor_delete_op *op, struct cor_object *object)
{
    bool ends = op->last.ends;

    delete_op_keep_object(op, object);
    if (!ends) {
        op->was_removed = op->last.step == COR_DELETION_NOW;
        op->on_done(op, 0);
        return;
    }
    cor_object_unref(op->marked);
    op->marked = cor_object_ref(object);
    delete_op_forget(op);
    delete_op_start(op);
}

/* Another client, for example the pod's node, has removed first what was marked here. Its last
 * state is not known: it may have been written again after the mark. */
static bool delete_op_was_overtaken(const struct cor_delete_op *op,
                                    const struct cor_store_reply *reply)
{
    return op->marked && reply->err == -COR_ENOTFOUND;
}

static void delete_op_on_changed(void *arg, const struct cor_store_reply *reply)
{
    struct cor_delete_op *op = arg;
    struct cor_call *call = op->call;
    struct cor_gr gr = cor_api_gr(call->res);

    if (!cor_call_end_op(call))
        return;
    call->name = op->name;
    if (reply->err == 0) {
        delete_op_on_written(op, reply->object);
    } else if (delete_op_was_overtaken(op, reply)) {
        delete_op_keep_object(op, op->marked);
        op->was_removed = true;
        op->on_done(op, 0);
    } else if (!reply->was_stopped) {
        cor_status_move(&call->status, reply->status);
        op->on_done(
            op, cor_storage_error_to_api(&call->status, COR_STORAGE_OP_DELETE, &gr, call->name));
    } else if (op->decided < 0) {
        cor_status_move(&call->status, &op->why);
        op->on_done(op, op->decided);
    } else if (op->last.step == COR_DELETION_PENDING) {
        op->on_done(op, 0);
    } else if (op->options->is_dry_run) {
        op->on_done(op, delete_op_show_mark(op));
    } else if (++op->rounds >= ROUNDS_MAX) {
        op->on_done(op, cor_status_conflict(&call->status, &gr, call->name,
                                            "the object has been modified; please apply your "
                                            "changes to the latest version and try again"));
    } else {
        delete_op_start(op);
    }
}

static int delete_op_mark(struct cor_delete_op *op)
{
    struct cor_store_update_opts opts = {
        .suggestion = op->object,
        .deadline_ms = op->call->req->deadline_ms,
        .step = delete_op_mark_step,
        .on_done = delete_op_on_changed,
        .arg = op,
    };

    return cor_store_update(op->call->backing->store, cor_buf_str(&op->key), &opts,
                            &op->call->status);
}

static int delete_op_remove(struct cor_delete_op *op)
{
    COR_CLEANUP(cor_object_unrefp)
    struct cor_object *suggestion =
        cor_reader_suggest(op->call->backing->reader, cor_buf_str(&op->key));
    struct cor_store_delete_opts opts = {
        .suggestion = op->object ? op->object : suggestion,
        .deadline_ms = op->call->req->deadline_ms,
        .step = delete_op_removal_step,
        .on_done = delete_op_on_changed,
        .arg = op,
    };

    return cor_write_store_delete(op->call, cor_buf_str(&op->key), &opts);
}

static void delete_op_start(struct cor_delete_op *op)
{
    struct cor_gr gr = cor_api_gr(op->call->res);
    bool mark = op->last.step == COR_DELETION_MARK && !op->options->is_dry_run;
    int r = mark ? delete_op_mark(op) : delete_op_remove(op);

    if (r < 0)
        op->on_done(op, cor_storage_error_to_api(&op->call->status, COR_STORAGE_OP_DELETE, &gr,
                                                 op->call->name));
    else
        cor_call_begin_op(op->call);
}

void cor_delete_op_run(struct cor_delete_op *op, struct cor_str name)
{
    assert(op->call && op->options && op->on_done && op->key.n > 0 && !op->change);
    op->call->name = op->name = name;
    op->rounds = 0;
    op->marked = cor_object_unref(op->marked);
    op->was_removed = false;
    op->object = cor_object_unref(op->object);
    delete_op_forget(op);
    delete_op_start(op);
}

static int delete_write_success(struct cor_call *call, const struct cor_object *object)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, &call->out);
    cor_json_print(&w,
                   "{kind:'Status',apiVersion:'v1',metadata:{},status:'Success',details:{name:%s,"
                   "group?:%s,kind:%s,uid:%s}}",
                   cor_object_name(object), call->res->group, call->res->plural,
                   cor_object_uid(object));
    return cor_json_writer_finish(&w);
}

static void delete_on_deleted(struct cor_delete_op *op, int err)
{
    struct cor_call *call = op->call;
    int r;

    if (err < 0) {
        cor_call_fail(call);
        return;
    }
    if (!op->was_removed || (call->res->flags & COR_API_RETURN_DELETED)) {
        bool accepted = !op->was_removed && op->options->orphan_dependents == COR_FALSE;

        cor_call_reply_object(call, accepted ? 202 : 200, op->object);
        return;
    }
    cor_buf_reset(&call->out);
    r = delete_write_success(call, op->object);
    if (r == 0) {
        cor_call_reply_json(call, 200);
        return;
    }
    cor_status_set_err(&call->status, r);
    cor_call_fail(call);
}

/* A stage (server/api/heavy.h). */
static int delete_read_options(struct cor_call *call)
{
    return cor_delete_options_read(call, &delete_of(call)->options);
}

static void delete_on_options(struct cor_call *call)
{
    struct delete_call *del = delete_of(call);
    const struct cor_bootstrap_object *own = cor_bootstrap_object_find(call->res->kind, call->name);
    struct cor_gr gr = cor_api_gr(call->res);
    int r = cor_buf_adds(&del->op.key, cor_buf_str(&call->key));

    if (r < 0)
        cor_status_set_err(&call->status, r);
    else if (own && own->undeletable && cor_str_eq(own->gvr.group, gr.group))
        r = cor_status_forbidden(&call->status, &gr, call->name, "%s", own->undeletable);
    if (r < 0) {
        cor_call_fail(call);
        return;
    }
    del->op.call = call;
    del->op.options = &del->options;
    del->op.on_done = delete_on_deleted;
    cor_delete_op_run(&del->op, call->name);
}

static void delete_run(struct cor_call *call)
{
    struct delete_call *del = delete_of(call);

    cor_buf_init(&del->op.key, COR_KEY_BYTES_MAX);
    if (cor_call_set_key(call) < 0)
        cor_call_fail(call);
    else
        cor_heavy_then(call, cor_body_weight(call), delete_read_options, delete_on_options);
}

static void delete_deinit(struct cor_call *call)
{
    struct delete_call *del = delete_of(call);

    cor_delete_op_deinit(&del->op);
    cor_delete_options_deinit(&del->options);
}

const struct cor_verb_ops cor_verb_delete = {
    .size = sizeof(struct delete_call), .run = delete_run, .deinit = delete_deinit};
