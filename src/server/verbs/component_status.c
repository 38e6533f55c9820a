/* GET and LIST of ComponentStatuses: the store is the only component. The object is made for each
 * request from the health check "etcd", and is listed through a cursor of one item.
 * Thread: the call's loop. */
#include <assert.h>

#include "base/err.h"
#include "server/verbs/list.h"
#include "json/write/writer.h"

#define STORE            "etcd-0"
#define OBJECT_BYTES_MAX 4096

struct component_call {
    struct cor_list_call list;
    struct cor_list_cursor cursor;
    struct cor_object *object;
    bool is_given;
};

static struct component_call *component_of(struct cor_call *call)
{
    assert(call->verb == &cor_verb_component_status);
    return COR_CONTAINER_OF(call, struct component_call, list.call);
}

static struct cor_object *cursor_next(struct cor_list_cursor *cursor)
{
    struct component_call *c = COR_CONTAINER_OF(cursor, struct component_call, cursor);
    bool is_due = !c->is_given && cor_predicate_matches(&c->list.predicate, c->object);

    c->is_given = true;
    return is_due ? c->object : NULL;
}

static void cursor_rewind(struct cor_list_cursor *cursor)
{
    COR_CONTAINER_OF(cursor, struct component_call, cursor)->is_given = false;
}

static void cursor_free(struct cor_list_cursor *cursor)
{
}

static const struct cor_list_cursor_ops cursor_ops = {cursor_next, cursor_rewind, cursor_free};

static bool is_store_ok(const struct cor_api *api, char reterr_why[COR_READY_MESSAGE_MAX])
{
    for (size_t i = 0; i < cor_api_settings(api)->nchecks; i++) {
        if (cor_str_eqz(COR_STR("etcd"), cor_api_settings(api)->checks[i].name))
            return cor_api_settings(api)->checks[i].is_ok(cor_api_settings(api)->checks[i].arg,
                                                          reterr_why);
    }
    return true;
}

static int component_make_object(struct component_call *c)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    struct cor_call *call = &c->list.call;
    char message[COR_READY_MESSAGE_MAX] = "ok";
    bool ok = is_store_ok(call->loop->api, message);
    int r;

    cor_buf_init(&json, OBJECT_BYTES_MAX);
    r = cor_buf_addf(&json,
                     "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",\"conditions\":[{\"message\":",
                     COR_STR_ARG(call->res->kind), COR_STR_ARG(call->res->api_version));
    if (r == 0)
        r = cor_json_quote(&json, cor_strz(message));
    if (r == 0)
        r = cor_buf_addf(&json,
                         ",\"status\":\"%s\",\"type\":\"Healthy\"}],"
                         "\"metadata\":{\"name\":\"" STORE "\"}}",
                         ok ? "True" : "False");
    if (r < 0)
        return cor_status_set_err(&call->status, r);
    return cor_object_from_stored(cor_buf_str(&json), 0, &c->object, NULL, &call->status);
}

static void component_reply_one(struct component_call *c)
{
    struct cor_call *call = &c->list.call;
    const struct cor_gr gr = {call->res->group, call->res->singular};

    if (cor_str_eq(call->name, COR_STR(STORE))) {
        cor_call_reply_object(call, 200, c->object);
        return;
    }
    cor_status_not_found(&call->status, &gr, call->name);
    cor_call_fail(call);
}

static void component_reply_list(struct component_call *c)
{
    struct cor_call *call = &c->list.call;
    int r = cor_call_predicate(call, &c->list.predicate);

    if (r == 0 && call->accept.view == COR_VIEW_TABLE)
        r = cor_table_include_parse(call->opts.include_object, &c->list.include, &call->status);
    if (r < 0) {
        cor_call_fail(call);
        return;
    }
    c->cursor = (struct cor_list_cursor){.ops = &cursor_ops, .continue_token = "", .remaining = -1};
    c->list.cursor = &c->cursor;
    cor_list_call_reply(&c->list);
}

static void component_run(struct cor_call *call)
{
    struct component_call *c = component_of(call);
    int r = cor_call_set_key(call);

    if (r == 0)
        r = component_make_object(c);
    if (r < 0)
        cor_call_fail(call);
    else if (call->name.n > 0)
        component_reply_one(c);
    else
        component_reply_list(c);
}

static void component_deinit(struct cor_call *call)
{
    cor_list_call_deinit(call);
    cor_object_unref(component_of(call)->object);
}

const struct cor_verb_ops cor_verb_component_status = {.size = sizeof(struct component_call),
                                                       .spans_max = COR_LIST_SPANS_MAX,
                                                       .run = component_run,
                                                       .deinit = component_deinit};
