/* clang-format off */
/* DELETECOLLECTION: lists the objects, deletes one after the other, and answers with the list as it
 * was before.
 *
 *   read the options (a stage) ──► list ──► delete_next: the next object of the cursor ──► delete
 *   it (delete.c) ──► delete_next ... ──► no more: replay the objects as the answer's list
 *
 * An object that is gone already (404) counts as deleted; any other failure ends the call with that
 * failure, and what was deleted before stays deleted. After a selector has looked at many objects
 * without a match the work goes on in the loop's next turn.
 * The cursor holds the objects: `items` borrows them until the answer is written.
 * Thread: the call's loop, except reading the options. */
/* clang-format on */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "meta/key.h"
#include "server/api/heavy.h"
#include "server/verbs/delete.h"
#include "server/verbs/list.h"
#include "server/write/body.h"
#include "server/write/options.h"

struct collection_call {
    struct cor_list_call list;
    struct cor_store_list_opts list_opts;
    struct cor_mail turn; /* to itself: goes on in the next turn */
    struct cor_delete_options options;
    struct cor_delete_op op;
    struct cor_list_cursor *source;
    struct cor_list_cursor replay; /* gives the source's items once more, for the answer */
    struct cor_object **items;     /* borrowed from the source */
    size_t nitems, cap, at;
};

static struct cor_object *replay_next(struct cor_list_cursor *cursor)
{
    struct collection_call *c = COR_CONTAINER_OF(cursor, struct collection_call, replay);

    return c->at < c->nitems ? c->items[c->at++] : NULL;
}

static void replay_rewind(struct cor_list_cursor *cursor)
{
    COR_CONTAINER_OF(cursor, struct collection_call, replay)->at = 0;
}

static void replay_free(struct cor_list_cursor *cursor)
{
}

static const struct cor_list_cursor_ops replay_ops = {replay_next, replay_rewind, replay_free};

static int collection_keep_item(struct collection_call *c, struct cor_object *object)
{
    int r = COR_ARRAY_RESERVE(&c->items, c->nitems, &c->cap, COR_ARRAY_NO_MAX);

    if (r < 0)
        return r;
    c->items[c->nitems++] = object;
    return 0;
}

static void collection_delete_next(struct collection_call *c);

static void collection_on_turn(struct cor_mail *mail)
{
    struct collection_call *c = COR_CONTAINER_OF(mail, struct collection_call, turn);

    if (cor_call_end_op(&c->list.call))
        collection_delete_next(c);
}

static void collection_delete_next(struct collection_call *c)
{
    struct cor_call *call = &c->list.call;
    struct cor_object *object;
    int r;

    c->source->is_bounded = true;
    c->source->is_paused = false;
    c->source->looks_left = COR_LIST_LOOKS_AT_ONCE;
    object = cor_list_cursor_next(c->source);
    if (!object && c->source->is_paused) {
        c->turn.on_mail = collection_on_turn;
        cor_call_begin_op(call);
        cor_loop_post_always(call->loop->loop, &c->turn);
        return;
    }
    if (!object) {
        c->replay = *c->source;
        c->replay.ops = &replay_ops;
        c->source->on_lost = cor_list_call_lost;
        c->source->lost_arg = &c->list;
        c->list.cursor = &c->replay;
        cor_list_call_reply(&c->list);
        return;
    }
    r = collection_keep_item(c, object);
    cor_buf_reset(&c->op.key);
    if (r < 0)
        cor_status_set_err(&call->status, r);
    else
        r = cor_key_of_object(cor_buf_str(&call->backing->prefix), cor_api_is_namespaced(call->res),
                              cor_object_namespace(object), cor_object_name(object), &c->op.key,
                              &call->status);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_delete_op_run(&c->op, cor_object_name(object));
}

static void collection_on_deleted(struct cor_delete_op *op, int err)
{
    struct collection_call *c = COR_CONTAINER_OF(op, struct collection_call, op);

    if (err < 0 && err != -COR_ENOTFOUND) {
        cor_call_fail(op->call);
        return;
    }
    cor_status_deinit(&op->call->status);
    collection_delete_next(c);
}

static void collection_on_listed(void *arg, int err, struct cor_status *status,
                                 struct cor_list_cursor *take_cursor)
{
    struct collection_call *c = arg;

    c->source = take_cursor;
    if (!cor_call_end_op(&c->list.call))
        return;
    if (err < 0) {
        cor_status_move(&c->list.call.status, status);
        cor_call_fail_storage(&c->list.call, COR_STORAGE_OP_LIST);
        return;
    }
    collection_delete_next(c);
}

/* A stage (server/api/heavy.h). */
static int collection_read_options(struct cor_call *call)
{
    return cor_delete_options_read(call, &((struct collection_call *)call)->options);
}

static void collection_on_options(struct cor_call *call)
{
    struct collection_call *c = (struct collection_call *)call;

    if (cor_reader_list(call->backing->reader, cor_buf_str(&call->key), &c->list_opts,
                        collection_on_listed, c, &call->status) < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_LIST);
    else
        cor_call_begin_op(call);
}

static void collection_run(struct cor_call *call)
{
    struct collection_call *c = (struct collection_call *)call;

    cor_buf_init(&c->op.key, COR_KEY_BYTES_MAX);
    c->op.call = call;
    c->op.options = &c->options;
    c->op.on_done = collection_on_deleted;
    if (cor_list_call_options(&c->list, &c->list_opts) < 0)
        cor_call_fail(call);
    else
        cor_heavy_then(call, cor_body_weight(call), collection_read_options, collection_on_options);
}

static void collection_deinit(struct cor_call *call)
{
    struct collection_call *c = (struct collection_call *)call;

    cor_list_call_deinit(call);
    cor_list_cursor_free(c->source);
    cor_free(c->items);
    cor_delete_op_deinit(&c->op);
    cor_delete_options_deinit(&c->options);
}

const struct cor_verb_ops cor_verb_delete_collection = {.size = sizeof(struct collection_call),
                                                        .spans_max = COR_LIST_SPANS_MAX,
                                                        .run = collection_run,
                                                        .deinit = collection_deinit,
                                                        .held = cor_list_call_held,
                                                        .may_cut = cor_list_call_may_cut};
