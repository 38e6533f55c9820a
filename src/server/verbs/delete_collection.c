/* clang-format off */
/* DELETECOLLECTION: lists the objects, deletes them, and answers with the list as it was before.
 *
 *   read the options (a stage) ──► list ──► collection_fill: the next objects of the cursor, up to
 *   DELETIONS_MAX at a time ──► delete each (delete.c) ──► collection_fill ... ──► no more, and all
 *   are deleted: replay the objects as the answer's list
 *
 * Deletions that are under way together share a commit of the engine. An object that is too large
 * to be judged on the loop is deleted alone, because a call can lend itself to one thread only.
 *
 * An object that is gone already (404) counts as deleted. After any other failure no further
 * deletion begins; the call ends with the first failure when those under way have ended, and what
 * was deleted stays deleted. After a selector has looked at many objects without a match the work
 * goes on in the loop's next turn.
 * The cursor holds the objects: `items` borrows them until the answer is written.
 * Thread: the call's loop, except reading the options. */
/* clang-format on */
#include <assert.h>

#include "base/array.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "meta/names/key.h"
#include "server/api/heavy.h"
#include "server/verbs/delete.h"
#include "server/verbs/list.h"
#include "server/write/write_body.h"
#include "server/write/write_options.h"

/* Deletions of one call that are under way at a time: enough to fill commits of the engine, and few
 * enough to leave room in them for others. */
#define DELETIONS_MAX 64

struct collection_call;

struct collection_slot {
    struct collection_call *call;
    struct cor_delete_op op;
    bool is_busy;
};

struct collection_call {
    struct cor_list_call list;
    struct cor_store_list_opts list_opts;
    struct cor_mail turn; /* to itself: goes on in the next turn */
    struct cor_delete_options options;
    struct collection_slot *slots; /* DELETIONS_MAX; NULL before the first deletion */
    size_t nbusy;
    struct cor_object *next;  /* is to be deleted alone, when no other deletion is under way */
    struct cor_status failed; /* the first failure, while others are under way */
    bool is_alone;            /* a large object is being deleted */
    bool is_filling;          /* collection_fill() is on the stack */
    bool is_turning;          /* the mail is under way */
    bool is_exhausted;        /* the cursor has no more objects */
    struct cor_list_cursor *source;
    struct cor_list_cursor replay; /* gives the source's items once more, for the answer */
    struct cor_object **items;     /* borrowed from the source */
    size_t nitems, cap, at;
};

static struct collection_call *collection_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_delete_collection);
    return COR_CONTAINER_OF(call, struct collection_call, list.call);
}

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

static void collection_fill(struct collection_call *c);

static void collection_on_turn(struct cor_mail *mail)
{
    struct collection_call *c = COR_CONTAINER_OF(mail, struct collection_call, turn);

    if (!cor_call_takes_slice(&c->list.call, mail))
        return;
    c->is_turning = false;
    if (cor_call_end_op(&c->list.call))
        collection_fill(c);
}

static void collection_on_deleted(struct cor_delete_op *op, int err)
{
    struct collection_slot *slot = COR_CONTAINER_OF(op, struct collection_slot, op);
    struct collection_call *c = slot->call;

    assert(slot->is_busy && c->nbusy > 0);
    slot->is_busy = false;
    c->nbusy--;
    if (err < 0 && err != -COR_ENOTFOUND && c->failed.err == 0)
        cor_status_move(&c->failed, &op->call->status);
    cor_status_deinit(&op->call->status);
    collection_fill(c);
}

/* A slot that is free. 0, or -COR_ENOMEM. There is one, because fewer than all are busy. */
static int collection_take_slot(struct collection_call *c, struct collection_slot **ret_slot)
{
    size_t i = 0;

    assert(c->nbusy < DELETIONS_MAX);
    if (!c->slots)
        c->slots = cor_calloc(DELETIONS_MAX, sizeof(c->slots[0]));
    if (!c->slots)
        return -COR_ENOMEM;
    while (c->slots[i].is_busy)
        i++;
    *ret_slot = &c->slots[i];
    if (!c->slots[i].call) {
        c->slots[i].call = c;
        cor_buf_init(&c->slots[i].op.key, COR_KEY_BYTES_MAX);
        c->slots[i].op.call = &c->list.call;
        c->slots[i].op.options = &c->options;
        c->slots[i].op.on_done = collection_on_deleted;
    }
    return 0;
}

/* The next object of the cursor; NULL: there is none at the moment, `is_turning` or `is_exhausted`
 * says why. */
static struct cor_object *collection_next(struct collection_call *c)
{
    struct cor_call *call = &c->list.call;
    struct cor_object *object;

    c->source->is_bounded = true;
    c->source->is_paused = false;
    c->source->looks_left = COR_LIST_LOOKS_AT_ONCE;
    object = cor_list_cursor_next(c->source);
    if (object)
        return object;
    c->is_turning = c->source->is_paused;
    c->is_exhausted = !c->is_turning;
    if (c->is_turning) {
        c->turn.on_mail = collection_on_turn;
        cor_call_begin_op(call);
        cor_loop_post_always(call->loop->loop, &c->turn);
    }
    return NULL;
}

/* Begins the deletion of one object. A failure to begin is in the call's status. */
static int collection_delete(struct collection_call *c, struct cor_object *object)
{
    struct cor_call *call = &c->list.call;
    struct collection_slot *slot;
    int r = collection_take_slot(c, &slot);

    if (r == 0)
        r = collection_keep_item(c, object);
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    cor_buf_reset(&slot->op.key);
    r = cor_key_of_object(cor_buf_str(&call->backing->prefix), cor_api_is_namespaced(call->res),
                          cor_object_namespace(object), cor_object_name(object), &slot->op.key,
                          &call->status);
    if (r < 0)
        return r;
    slot->is_busy = true;
    slot->op.stays_on_loop = !c->is_alone;
    c->nbusy++;
    cor_delete_op_run(&slot->op, cor_object_name(object));
    return 0;
}

static void collection_reply(struct collection_call *c)
{
    c->replay = *c->source;
    c->replay.ops = &replay_ops;
    c->source->on_lost = cor_list_call_lost;
    c->source->lost_arg = &c->list;
    c->list.cursor = &c->replay;
    cor_list_call_reply(&c->list);
}

/* Begins as many deletions as may be under way, or answers when all have ended. A deletion may end
 * before it has returned; the loop below then finds its slot free. */
static void collection_fill(struct collection_call *c)
{
    struct cor_call *call = &c->list.call;

    if (c->is_filling)
        return;
    c->is_filling = true;
    while (c->failed.err == 0 && !c->is_turning && c->nbusy < DELETIONS_MAX &&
           !(c->is_alone && c->nbusy > 0)) {
        struct cor_object *object = c->next ? c->next : collection_next(c);

        if (!object)
            break;
        c->is_alone = cor_object_json(object).n > COR_HEAVY_BYTES;
        c->next = c->is_alone && c->nbusy > 0 ? object : NULL;
        if (c->next)
            break;
        if (collection_delete(c, object) < 0)
            cor_status_move(&c->failed, &call->status);
    }
    c->is_filling = false;
    if (c->nbusy > 0 || c->is_turning)
        return;
    if (c->failed.err < 0) {
        cor_status_move(&call->status, &c->failed);
        cor_call_fail(call);
        return;
    }
    assert(c->is_exhausted);
    collection_reply(c);
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
    collection_fill(c);
}

/* A stage (server/api/heavy.h). */
static int collection_read_options(struct cor_call *call)
{
    return cor_delete_options_read(call, &collection_of(call)->options);
}

static void collection_on_options(struct cor_call *call)
{
    struct collection_call *c = collection_of(call);

    if (cor_reader_list(call->backing->reader, cor_buf_str(&call->key), &c->list_opts,
                        collection_on_listed, c, &call->status) < 0)
        cor_call_fail_storage(call, COR_STORAGE_OP_LIST);
    else
        cor_call_begin_op(call);
}

static void collection_run(struct cor_call *call)
{
    struct collection_call *c = collection_of(call);

    if (cor_list_call_options(&c->list, &c->list_opts) < 0)
        cor_call_fail(call);
    else
        cor_heavy_then(call, cor_body_weight(call), collection_read_options, collection_on_options);
}

static void collection_deinit(struct cor_call *call)
{
    struct collection_call *c = collection_of(call);

    cor_list_call_deinit(call);
    cor_list_cursor_free(c->source);
    cor_free(c->items);
    for (size_t i = 0; c->slots && i < DELETIONS_MAX; i++)
        cor_delete_op_deinit(&c->slots[i].op);
    cor_free(c->slots);
    cor_status_deinit(&c->failed);
    cor_delete_options_deinit(&c->options);
}

const struct cor_verb_ops cor_verb_delete_collection = {.size = sizeof(struct collection_call),
                                                        .spans_max = COR_LIST_SPANS_MAX,
                                                        .run = collection_run,
                                                        .deinit = collection_deinit,
                                                        .held = cor_list_call_held,
                                                        .may_cut = cor_list_call_may_cut};
