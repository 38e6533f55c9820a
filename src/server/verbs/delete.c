#include "server/verbs/delete.h"

#include "base/err.h"
#include "meta/key.h"
#include "server/api/heavy.h"
#include "json/writer.h"

/* Between removing and marking; each round another writer has changed the object. */
#define ROUNDS_MAX 16

struct delete_call {
    struct cor_call call;
    struct cor_delete_options options;
    struct cor_delete_op op;
};

static void forget_decision(struct cor_delete_op *op)
{
    op->last.marked = cor_object_unref(op->last.marked);
    op->last.step = COR_DELETION_NOW;
}

void cor_delete_op_deinit(struct cor_delete_op *op)
{
    forget_decision(op);
    op->object = cor_object_unref(op->object);
    cor_buf_deinit(&op->key);
}

static void start(struct cor_delete_op *op);

static void keep_object(struct cor_delete_op *op, struct cor_object *object)
{
    struct cor_object *old = op->object;

    op->object = cor_object_ref(object);
    cor_object_unref(old);
}

/* A stage (server/api/heavy.h). */
static int decide(struct cor_call *call)
{
    struct cor_delete_op *op = call->stage_arg;

    return cor_deletion_decide(call, op->options, op->object, &op->last);
}

/* Judges what is there, and then goes on with `done`, which finds the change in the operation. */
static void judge(struct cor_delete_op *op, struct cor_store_change *change,
                  struct cor_object *current, cor_heavy_done done)
{
    forget_decision(op);
    keep_object(op, current);
    op->change = change;
    op->call->stage_arg = op;
    if (op->call->is_over)
        done(op->call, 0);
    else
        cor_heavy_run(op->call, cor_object_json(current).n, decide, done);
}

/* What was decided is void when nobody waits for it any more. */
static struct cor_delete_op *take_decision(struct cor_call *call, int r,
                                           struct cor_store_change **ret_change)
{
    struct cor_delete_op *op = COR_STEAL(call->stage_arg);

    op->decided =
        call->is_over ? cor_status_set(&call->status, -COR_ECANCELED, "the client is gone") : r;
    *ret_change = COR_STEAL(op->change);
    return op;
}

static void on_judged_delete(struct cor_call *call, int r)
{
    struct cor_store_change *change;
    struct cor_delete_op *op = take_decision(call, r, &change);

    if (op->decided == 0 && op->last.step == COR_DELETION_NOW && !op->options->is_dry_run)
        cor_store_change_accept(change);
    else
        cor_store_change_stop(change);
}

static void delete_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    judge(arg, change, current, on_judged_delete);
}

static void on_judged_mark(struct cor_call *call, int r)
{
    struct cor_store_change *change;
    struct cor_delete_op *op = take_decision(call, r, &change);

    if (op->decided == 0 && op->last.step == COR_DELETION_MARK)
        cor_store_change_write(change, cor_object_ref(op->last.marked), 0);
    else
        cor_store_change_stop(change);
}

static void mark_step(void *arg, struct cor_store_change *change, struct cor_object *current)
{
    judge(arg, change, current, on_judged_mark);
}

/* A mark that was not stored shows in the answer all the same. -COR_ENOMEM: it does not; that is a
 * failure of a dry run, but not of a deletion that was done. */
static int show_mark(struct cor_delete_op *op)
{
    bool is_stored = op->last.step == COR_DELETION_MARK && !op->options->is_dry_run;
    struct cor_object *marked;
    int r;

    op->was_removed = op->last.step == COR_DELETION_NOW;
    if (!op->last.marked || is_stored)
        return 0;
    r = cor_object_at(op->last.marked, op->object->rev, &marked);
    if (r < 0)
        return cor_status_set(&op->call->status, r, "%s", cor_err_text(r));
    cor_object_unref(op->object);
    op->object = marked;
    return 0;
}

static void on_changed(void *arg, const struct cor_store_reply *reply)
{
    struct cor_delete_op *op = arg;
    struct cor_call *call = op->call;
    struct cor_gr gr = cor_api_gr(call->res);

    if (!cor_call_end_op(call))
        return;
    if (reply->err == 0) {
        keep_object(op, reply->object);
        (void)show_mark(op);
        op->on_done(op, 0);
    } else if (!reply->was_stopped) {
        cor_status_move(&call->status, reply->status);
        op->on_done(
            op, cor_storage_error_to_api(&call->status, COR_STORAGE_OP_DELETE, &gr, call->name));
    } else if (op->decided < 0) {
        op->on_done(op, op->decided);
    } else if (op->last.step == COR_DELETION_PENDING) {
        op->on_done(op, 0);
    } else if (op->options->is_dry_run) {
        op->on_done(op, show_mark(op));
    } else if (++op->rounds >= ROUNDS_MAX) {
        op->on_done(op, cor_status_conflict(&call->status, &gr, call->name,
                                            "the object has been modified; please apply your "
                                            "changes to the latest version and try again"));
    } else {
        start(op);
    }
}

static int start_marking(struct cor_delete_op *op)
{
    struct cor_store_update_opts opts = {
        .suggestion = op->object,
        .deadline_ms = op->call->req->deadline_ms,
        .step = mark_step,
        .on_done = on_changed,
        .arg = op,
    };

    return cor_store_update(op->call->backing->store, cor_buf_str(&op->key), &opts,
                            &op->call->status);
}

static int start_removing(struct cor_delete_op *op)
{
    COR_CLEANUP(cor_object_unrefp)
    struct cor_object *suggestion =
        cor_reader_suggest(op->call->backing->reader, cor_buf_str(&op->key));
    struct cor_store_delete_opts opts = {
        .suggestion = op->object ? op->object : suggestion,
        .deadline_ms = op->call->req->deadline_ms,
        .step = delete_step,
        .on_done = on_changed,
        .arg = op,
    };

    return cor_store_delete(op->call->backing->store, cor_buf_str(&op->key), &opts,
                            &op->call->status);
}

static void start(struct cor_delete_op *op)
{
    struct cor_gr gr = cor_api_gr(op->call->res);
    bool mark = op->last.step == COR_DELETION_MARK && !op->options->is_dry_run;
    int r = mark ? start_marking(op) : start_removing(op);

    if (r < 0)
        op->on_done(op, cor_storage_error_to_api(&op->call->status, COR_STORAGE_OP_DELETE, &gr,
                                                 op->call->name));
    else
        cor_call_begin_op(op->call);
}

void cor_delete_op_run(struct cor_delete_op *op, struct cor_str name)
{
    op->call->name = name;
    op->rounds = 0;
    op->was_removed = false;
    op->object = cor_object_unref(op->object);
    forget_decision(op);
    start(op);
}

static int write_success(struct cor_call *call, const struct cor_object *object)
{
    struct cor_json_writer w;

    cor_json_writer_init(&w, &call->out);
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("kind"), COR_STR("Status"));
    cor_json_member(&w, COR_STR("apiVersion"), COR_STR("v1"));
    cor_json_key(&w, COR_STR("metadata"));
    cor_json_begin_object(&w);
    cor_json_end_object(&w);
    cor_json_member(&w, COR_STR("status"), COR_STR("Success"));
    cor_json_key(&w, COR_STR("details"));
    cor_json_begin_object(&w);
    cor_json_member(&w, COR_STR("name"), cor_object_name(object));
    if (call->res->group.n > 0)
        cor_json_member(&w, COR_STR("group"), call->res->group);
    cor_json_member(&w, COR_STR("kind"), call->res->plural);
    cor_json_member(&w, COR_STR("uid"), cor_object_uid(object));
    cor_json_end_object(&w);
    cor_json_end_object(&w);
    return cor_json_writer_finish(&w);
}

static void on_deleted(struct cor_delete_op *op, int err)
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
    r = write_success(call, op->object);
    if (r == 0) {
        cor_call_reply_json(call, 200);
        return;
    }
    cor_status_set(&call->status, r, "%s", cor_err_text(r));
    cor_call_fail(call);
}

/* A stage (server/api/heavy.h). */
static int read_options(struct cor_call *call)
{
    return cor_delete_options_read(call, &((struct delete_call *)call)->options);
}

static void on_options(struct cor_call *call, int r)
{
    struct delete_call *del = (struct delete_call *)call;

    if (call->is_over)
        return;
    if (r == 0) {
        r = cor_buf_adds(&del->op.key, cor_buf_str(&call->key));
        if (r < 0)
            cor_status_set(&call->status, r, "%s", cor_err_text(r));
    }
    if (r < 0) {
        cor_call_fail(call);
        return;
    }
    del->op.call = call;
    del->op.options = &del->options;
    del->op.on_done = on_deleted;
    cor_delete_op_run(&del->op, call->name);
}

static void run(struct cor_call *call)
{
    struct delete_call *del = (struct delete_call *)call;

    cor_buf_init(&del->op.key, COR_KEY_BYTES_MAX);
    if (cor_call_set_key(call) < 0)
        cor_call_fail(call);
    else
        cor_heavy_run(call, call->req->body.n, read_options, on_options);
}

static void deinit(struct cor_call *call)
{
    struct delete_call *del = (struct delete_call *)call;

    cor_delete_op_deinit(&del->op);
    cor_delete_options_deinit(&del->options);
}

const struct cor_verb cor_verb_delete = {
    .size = sizeof(struct delete_call), .run = run, .deinit = deinit};
