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
    bool generates;            /* its name is made up here */
    unsigned attempts;
};

static void attempt(struct create_call *create);

static void fail(struct create_call *create)
{
    cor_call_fail(&create->call);
}

/* Tells an object that is going apart from one that stays. */
static void on_existing(void *arg, const struct cor_store_reply *reply)
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
    fail(create);
}

static void look_at_existing(struct create_call *create)
{
    static const struct cor_store_get_opts any = {.ignore_not_found = false};
    struct cor_call *call = &create->call;
    int r = cor_store_get(call->backing->store, cor_buf_str(&call->key), &any, on_existing, create,
                          &call->status);

    if (r < 0)
        fail(create);
    else
        cor_call_begin_op(call);
}

static void exists(struct create_call *create)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status plain = {0};
    struct cor_call *call = &create->call;
    struct cor_gr gr = cor_api_gr(call->res);
    struct cor_str name = cor_object_name(create->object);

    if (create->generates && create->attempts < GENERATE_ATTEMPTS) {
        attempt(create);
        return;
    }
    if (!create->generates) {
        look_at_existing(create);
        return;
    }
    cor_status_already_exists(&plain, &gr, name);
    cor_status_set(&call->status, -COR_EEXIST,
                   "%s, the server was not able to generate a unique name for the object",
                   cor_status_message(&plain));
    (void)cor_status_set_details(&call->status, name, gr.group, gr.resource);
    call->status.retry_after_s = 1;
    fail(create);
}

static void on_created(void *arg, const struct cor_store_reply *reply)
{
    struct create_call *create = arg;
    struct cor_call *call = &create->call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err == -COR_EEXIST) {
        exists(create);
        return;
    }
    if (reply->err < 0) {
        struct cor_gr gr = cor_api_gr(call->res);

        cor_status_move(&call->status, reply->status);
        cor_storage_error_to_api(&call->status, COR_STORAGE_OP_CREATE, &gr,
                                 cor_object_name(create->object));
        fail(create);
        return;
    }
    cor_call_reply_object(call, 201, reply->object);
}

/* A dry run only looks whether the name is free. */
static void on_dry_run(void *arg, const struct cor_store_reply *reply)
{
    struct create_call *create = arg;
    struct cor_call *call = &create->call;

    if (!cor_call_end_op(call))
        return;
    if (reply->err < 0) {
        cor_status_move(&call->status, reply->status);
        cor_call_fail_storage(call, COR_STORAGE_OP_CREATE);
    } else if (reply->object) {
        exists(create);
    } else {
        cor_call_reply_object(call, 201, create->object);
    }
}

static int store(struct create_call *create)
{
    static const struct cor_store_get_opts maybe = {.ignore_not_found = true};
    struct cor_call *call = &create->call;
    struct cor_str key = cor_buf_str(&call->key);

    if (cor_call_is_dry_run(call))
        return cor_store_get(call->backing->store, key, &maybe, on_dry_run, create, &call->status);
    return cor_store_create(call->backing->store, key, create->object,
                            call->res->flags & COR_API_TTL ? call->loop->api->event_ttl_s : 0,
                            on_created, create, &call->status);
}

/* A stage (server/api/heavy.h). */
static int make_object(struct cor_call *call)
{
    struct create_call *create = (struct create_call *)call;

    return cor_strategy_create(call, create->body.object, &create->object);
}

static void on_made(struct cor_call *call, int r)
{
    struct create_call *create = (struct create_call *)call;

    if (call->is_over)
        return;
    if (r == 0)
        r = cor_key_of_object(cor_buf_str(&call->backing->prefix), cor_api_is_namespaced(call->res),
                              call->ns, cor_object_name(create->object), &call->key, &call->status);
    if (r == 0)
        r = store(create);
    if (r < 0)
        fail(create);
    else
        cor_call_begin_op(call);
}

static void attempt(struct create_call *create)
{
    struct cor_call *call = &create->call;

    create->attempts++;
    create->object = cor_object_unref(create->object);
    cor_buf_reset(&call->key);
    cor_heavy_run(call, cor_object_json(create->body.object).n, make_object, on_made);
}

static void on_namespace(struct cor_call *call, int err)
{
    if (err < 0)
        cor_call_fail(call);
    else
        attempt((struct create_call *)call);
}

/* A stage (server/api/heavy.h). */
static int read_body(struct cor_call *call)
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

static void on_body(struct cor_call *call, int r)
{
    struct create_call *create = (struct create_call *)call;

    if (call->is_over)
        return;
    if (r < 0)
        fail(create);
    else if (cor_api_is_namespaced(call->res))
        cor_namespace_check(call, cor_object_name(create->body.object), on_namespace);
    else
        attempt(create);
}

static void run(struct cor_call *call)
{
    int r = cor_write_options_validate(call, "CreateOptions");

    if (r == 0)
        r = cor_call_set_key(call);
    if (r < 0)
        cor_call_fail(call);
    else
        cor_heavy_run(call, call->req->body.n, read_body, on_body);
}

static void deinit(struct cor_call *call)
{
    struct create_call *create = (struct create_call *)call;

    cor_body_deinit(&create->body);
    cor_object_unref(create->object);
}

const struct cor_verb cor_verb_create = {
    .size = sizeof(struct create_call), .run = run, .deinit = deinit};
