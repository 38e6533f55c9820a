/* clang-format off */
/* POST: stores a new object.
 *
 *   read the body (a stage) ──► does the namespace accept objects? ──► make the object (a stage)
 *   ──► store it under its key, if the key is free ──► 201 with the object
 *
 * A name that is generated here and is taken already is generated again, up to GENERATE_ATTEMPTS
 * times. When a given name is taken, the object is read once more to say whether it is being
 * deleted (409 both ways). A dry run makes and checks the same object, and then only reads whether
 * the key is free. Every other failure of a step ends the call with its Status.
 * Thread: the call's loop, except the two stages. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "meta/key.h"
#include "meta/object_edit.h"
#include "server/api/call.h"
#include "server/api/heavy.h"
#include "server/strategy/namespaces.h"
#include "server/strategy/strategy.h"
#include "server/verbs/body.h"

#define GENERATE_ATTEMPTS 8

struct create_call {
    struct cor_call call;
    struct cor_body body;
    struct cor_object *object; /* as it will be stored */
    bool generates;            /* the name is generated here, from generateName */
    unsigned attempts;
};

static void create_attempt(struct create_call *create);

/* The object that has the name was read: the refusal says whether it is being deleted. */
static void create_on_existing(void *arg, const struct cor_store_reply *reply)
{
    struct create_call *create = arg;
    struct cor_call *call = &create->call;
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_status again = {0};

    if (!cor_call_end_op(call))
        return;
    cor_status_already_exists(&call->status, &gr, cor_object_name(create->object));
    if (reply->err == 0 && cor_object_meta_member(reply->object, COR_STR("deletionTimestamp")).p &&
        cor_status_copy(&again, &call->status) == 0) {
        cor_status_set(&call->status, -COR_EEXIST, "object is being deleted: %s",
                       cor_status_message(&again));
        (void)cor_status_set_details(&call->status, cor_object_name(create->object), gr.group,
                                     gr.resource);
    }
    cor_status_deinit(&again);
    cor_call_fail(call);
}

static void create_look_at_existing(struct create_call *create)
{
    static const struct cor_store_get_opts any = {.ignore_not_found = false};
    struct cor_call *call = &create->call;
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
    struct cor_call *call = &create->call;
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_str name = cor_object_name(create->object);

    if (create->generates && create->attempts < GENERATE_ATTEMPTS) {
        create_attempt(create);
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
    struct cor_call *call = &create->call;

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
                                 cor_object_name(create->object));
        cor_call_fail(call);
        return;
    }
    cor_call_reply_object(call, 201, reply->object);
}

/* A dry run only reads whether the name is free. */
static void create_on_dry_run(void *arg, const struct cor_store_reply *reply)
{
    struct create_call *create = arg;
    struct cor_call *call = &create->call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err < 0) {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_CREATE);
    } else if (reply->object) {
        create_on_taken(create);
    } else {
        cor_call_reply_object(call, 201, create->object);
    }
}

static int create_store(struct create_call *create)
{
    static const struct cor_store_get_opts maybe = {.ignore_not_found = true};
    struct cor_call *call = &create->call;
    struct cor_str key = cor_buf_str(&call->key);

    if (cor_call_is_dry_run(call))
        return cor_store_get(call->backing->store, key, &maybe, create_on_dry_run, create,
                             &call->status);
    return cor_store_create(call->backing->store, key, create->object,
                            call->res->flags & COR_API_TTL ? call->loop->api->event_ttl_s : 0,
                            create_on_stored, create, &call->status);
}

/* A stage (server/api/heavy.h). */
static int create_make_object(struct cor_call *call)
{
    struct create_call *create = (struct create_call *)call;

    return cor_strategy_create(call, create->body.object, &create->object);
}

static void create_on_made(struct cor_call *call)
{
    struct create_call *create = (struct create_call *)call;
    int r = cor_key_of_object(cor_buf_str(&call->backing->prefix), cor_api_is_namespaced(call->res),
                              call->ns, cor_object_name(create->object), &call->key, &call->status);

    if (r == 0)
        r = create_store(create);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_call_begin_op(call);
}

static void create_attempt(struct create_call *create)
{
    struct cor_call *call = &create->call;

    assert(create->body.object && create->attempts < GENERATE_ATTEMPTS);
    create->attempts++;
    create->object = cor_object_unref(create->object);
    cor_buf_reset(&call->key);
    cor_heavy_then(call, cor_object_json(create->body.object).n, create_make_object,
                   create_on_made);
}

static void create_on_namespace(struct cor_call *call, int err)
{
    if (err < 0)
        cor_call_fail(call);
    else
        create_attempt((struct create_call *)call);
}

/* A stage (server/api/heavy.h). */
static int create_read_body(struct cor_call *call)
{
    struct create_call *create = (struct create_call *)call;
    int r = cor_body_read(call, &create->body);

    if (r == 0 && create->body.rev > 0)
        r = cor_status_untyped(&call->status, -COR_EINVAL,
                               "resourceVersion should not be set on objects to be created");
    if (r < 0)
        return r;
    create->generates = cor_object_name(create->body.object).n == 0;
    return 0;
}

static void create_on_body(struct cor_call *call)
{
    struct create_call *create = (struct create_call *)call;

    if (cor_api_is_namespaced(call->res))
        cor_namespace_check(call, cor_object_name(create->body.object), create_on_namespace);
    else
        create_attempt(create);
}

static void create_run(struct cor_call *call)
{
    cor_write_begin(call, "CreateOptions", create_read_body, create_on_body);
}

static void create_deinit(struct cor_call *call)
{
    struct create_call *create = (struct create_call *)call;

    cor_body_deinit(&create->body);
    cor_object_unref(create->object);
}

const struct cor_verb cor_verb_create = {
    .size = sizeof(struct create_call), .run = create_run, .deinit = create_deinit};
