/* clang-format off */
/* POST: stores a new object.
 *
 *   the stages of a write (server/write/write.h) ──► store it under its key, if the key is free ──►
 *   201 with the object
 *
 * A name that is generated here and is taken already is generated again, up to GENERATE_ATTEMPTS
 * times: the write begins again at the stage that allocates. When a given name is taken, the object
 * is read once more to say whether it is being deleted (409 both ways). A dry run makes and checks
 * the same object, and then only reads whether the key is free. Every other failure of a step ends
 * the call with its Status.
 * Thread: the call's loop. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/names/key.h"
#include "meta/object/object_edit.h"
#include "server/write/write_options.h"
#include "server/write/write_store.h"

#define GENERATE_ATTEMPTS 8

struct create_call {
    struct cor_write write;
    bool generates; /* the name is generated here, from generateName */
    unsigned attempts;
};

static struct create_call *create_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_create);
    return COR_CONTAINER_OF(call, struct create_call, write.call);
}

static void create_again(struct create_call *create);

/* The object that has the name was read: the refusal says whether it is being deleted. */
static void create_on_existing(void *arg, const struct cor_store_reply *reply)
{
    struct create_call *create = arg;
    struct cor_call *call = &create->write.call;
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_status again = {0};

    if (!cor_call_end_op(call))
        return;
    cor_status_already_exists(&call->status, &gr, cor_object_name(create->write.to_store.object));
    if (reply->err == 0 && cor_object_meta_member(reply->object, COR_STR("deletionTimestamp")).p &&
        cor_status_copy(&again, &call->status) == 0) {
        cor_status_set(&call->status, -COR_EEXIST, "object is being deleted: %s",
                       cor_status_message(&again));
        (void)cor_status_set_details(&call->status, cor_object_name(create->write.to_store.object),
                                     gr.group, gr.resource);
    }
    cor_status_deinit(&again);
    cor_call_fail(call);
}

static void create_look_at_existing(struct create_call *create)
{
    static const struct cor_store_get_opts any = {.ignore_not_found = false};
    struct cor_call *call = &create->write.call;
    int r = cor_store_get(call->backing->store, cor_buf_str(&call->key), &any, create_on_existing,
                          create, &call->status);

    if (r < 0)
        cor_call_fail(call);
    else
        cor_call_begin_op(call);
}

/* The name is taken: another one is generated, or the request is refused. */
static void create_on_taken(struct create_call *create)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status plain = {0};
    struct cor_call *call = &create->write.call;
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_str name = cor_object_name(create->write.to_store.object);

    if (create->generates && create->attempts < GENERATE_ATTEMPTS) {
        create_again(create);
        return;
    }
    if (!create->generates) {
        create_look_at_existing(create);
        return;
    }
    cor_status_already_exists(&plain, &gr, name);
    cor_status_set(&call->status, -COR_EEXIST,
                   "%s, the server was not able to generate a unique name for the object",
                   cor_status_message(&plain));
    (void)cor_status_set_details(&call->status, name, gr.group, gr.resource);
    call->status.retry_after_s = 1;
    cor_call_fail(call);
}

static void create_on_stored(void *arg, const struct cor_store_reply *reply)
{
    struct create_call *create = arg;
    struct cor_call *call = &create->write.call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err == -COR_EEXIST) {
        create_on_taken(create);
        return;
    }
    if (reply->err < 0) {
        struct cor_gr gr = cor_api_gr(call->res);

        cor_status_move(&call->status, reply->status);
        cor_storage_error_to_api(&call->status, COR_STORAGE_OP_CREATE, &gr,
                                 cor_object_name(create->write.to_store.object));
        cor_call_fail(call);
        return;
    }
    cor_call_reply_object(call, 201, reply->object);
}

/* A dry run only reads whether the name is free. */
static void create_on_dry_run(void *arg, const struct cor_store_reply *reply)
{
    struct create_call *create = arg;
    struct cor_call *call = &create->write.call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err < 0) {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_CREATE);
    } else if (reply->object) {
        create_on_taken(create);
    } else {
        cor_call_reply_object(call, 201, create->write.to_store.object);
    }
}

static int create_store(struct create_call *create)
{
    static const struct cor_store_get_opts maybe = {.ignore_not_found = true};
    struct cor_call *call = &create->write.call;
    struct cor_str key = cor_buf_str(&call->key);

    if (cor_call_is_dry_run(call))
        return cor_store_get(call->backing->store, key, &maybe, create_on_dry_run, create,
                             &call->status);
    return cor_write_store_new(&create->write, create_on_stored, create);
}

/* Gives the object the resourceVersion that the client sent. Only the store refuses it, after
 * everything else has been checked: a dry run does not ask the store, and answers with it. */
static int create_keep_revision(struct create_call *create)
{
    struct cor_write *write = &create->write;
    struct cor_object *sent;
    int r = cor_object_at(write->to_store.object, write->received.rev, &sent);

    if (r < 0)
        return cor_status_set(&write->call.status, r, "out of memory");
    cor_object_unref(write->to_store.object);
    write->to_store.object = sent;
    return 0;
}

/* The stages have ended: `object` is what will be stored. */
static void create_on_made(struct cor_write *write, int r)
{
    struct create_call *create = create_of(&write->call);
    struct cor_call *call = &write->call;

    if (r == 0 && write->received.rev > 0 && !call->is_over)
        r = create_keep_revision(create);
    if (!cor_write_goes_on(write, r))
        return;
    cor_buf_reset(&call->key);
    r = cor_key_of_object(cor_buf_str(&call->backing->prefix), cor_api_is_namespaced(call->res),
                          call->ns, cor_object_name(write->to_store.object), &call->key,
                          &call->status);
    if (r == 0)
        r = create_store(create);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_call_begin_op(call);
}

static void create_again(struct create_call *create)
{
    assert(create->generates && create->attempts < GENERATE_ATTEMPTS);
    create->attempts++;
    cor_write_run(&create->write, COR_STAGE_ALLOCATE, COR_STAGE_STORE, create_on_made);
}

static void create_on_read(struct cor_write *write, int r)
{
    struct create_call *create = create_of(&write->call);

    if (!cor_write_goes_on(write, r))
        return;
    create->generates = cor_object_name(write->received.body).n == 0;
    create->attempts = 1;
    cor_write_run(write, COR_STAGE_MANAGE_FIELDS, COR_STAGE_STORE, create_on_made);
}

static void create_run(struct cor_call *call)
{
    struct create_call *create = create_of(call);

    cor_write_init(&create->write);
    create->write.present.is_create = true;
    cor_write_begin(&create->write, "CreateOptions", COR_STAGE_MANAGE_FIELDS, create_on_read);
}

static void create_deinit(struct cor_call *call)
{
    cor_write_deinit(&create_of(call)->write);
}

const struct cor_verb_ops cor_verb_create = {
    .size = sizeof(struct create_call), .run = create_run, .deinit = create_deinit};
