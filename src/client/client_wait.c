/* clang-format off */
/* The calls that wait: a request with callbacks, whose on_done sets a waiter on the caller's stack.
 *
 *   caller: cor_client_send() ──► loop: on_item() … ──► on_object() or on_list(): the waiter is set
 *           waits ◄───────────────────────────────────────────────────────────────┘
 *
 * Refused before anything is sent: inside a callback and in a forked child (-COR_EINVAL), after a
 * stop (-COR_ECANCELED), too many calls (-COR_EBUSY). A list that grows too large, or for which
 * there is no memory, ends with that error, and what was gathered is released.
 * Thread: the caller's; the on_ functions run on the loop. */
/* clang-format on */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/client_int.h"

struct wait {
    struct cor_waiter done;
    struct cor_object *object;
    struct cor_object_list list;
    size_t cap;
    struct cor_status *reterr;
    int r;
};

static void take_error(struct wait *w, const struct cor_status *error)
{
    w->r = error->err;
    if (w->reterr)
        cor_status_copy(w->reterr, error);
}

static void on_object(void *arg, const struct cor_response *response)
{
    struct wait *w = arg;

    if (response->error)
        take_error(w, response->error);
    else if (response->object)
        w->object = cor_object_ref(response->object);
    cor_waiter_set(&w->done);
}

static int on_item(void *arg, struct cor_object *item)
{
    struct wait *w = arg;
    struct cor_object_list *list = &w->list;

    int r = COR_ARRAY_RESERVE(&list->items, list->n, &w->cap, COR_CLIENT_LIST_MAX);

    if (r < 0)
        return r;
    list->items[list->n++] = cor_object_ref(item);
    return 0;
}

static void on_list(void *arg, const struct cor_response *response)
{
    struct wait *w = arg;
    struct cor_str rv = response->resource_version, token = response->continue_token;

    if (response->error) {
        take_error(w, response->error);
    } else {
        w->list.resource_version = cor_strndup(rv.p, rv.n);
        w->list.continue_token = cor_strndup(token.p, token.n);
        w->list.remaining = response->remaining;
        if (!w->list.resource_version || !w->list.continue_token)
            w->r = cor_status_set(w->reterr, -COR_ENOMEM, "keep the list");
    }
    cor_waiter_set(&w->done);
}

int cor_client_send_and_wait(struct cor_client *client, const struct cor_request *req,
                             const struct cor_request_cbs *cbs, void *arg, struct cor_waiter *done,
                             struct cor_status *reterr)
{
    struct cor_runtime *rt = client->runtime; /* the client may be freed before the wait begins */
    int r = cor_runtime_may_wait(rt, reterr);

    if (r < 0)
        return r;
    r = cor_client_send(client, req, cbs, arg, NULL);
    if (r < 0)
        return cor_status_set(reterr, r,
                              r == -COR_ECANCELED ? COR_CLIENT_STOPPED : "send a request");
    return cor_runtime_wait(rt, done, COR_WAIT_FOREVER);
}

static int send_and_wait(struct cor_client *client, const struct cor_request *req,
                         const struct cor_request_cbs *cbs, struct wait *w)
{
    int r;

    cor_waiter_init(&w->done);
    r = cor_client_send_and_wait(client, req, cbs, w, &w->done, w->reterr);
    cor_waiter_deinit(&w->done);
    return r < 0 ? r : w->r;
}

int cor_client_wait_for(struct cor_client *client, void (*begin)(void *arg), void *arg,
                        struct cor_waiter *done, struct cor_status *reterr)
{
    struct cor_runtime *rt = client->runtime; /* the client may be freed before the wait begins */
    int r = cor_runtime_may_wait(rt, reterr);

    if (r < 0)
        return r;
    r = cor_client_enter(client);
    if (r < 0)
        return cor_status_set(reterr, r, r == -COR_ECANCELED ? COR_CLIENT_STOPPED : "begin a call");
    cor_waiter_init(done);
    cor_runtime_run(rt, begin, arg);
    cor_runtime_wait(rt, done, COR_WAIT_FOREVER);
    cor_waiter_deinit(done);
    return 0;
}

int cor_client_copy_request(struct cor_request *to, const struct cor_request *from,
                            struct cor_status *reterr)
{
    int r = cor_sized_copy(to, sizeof(*to), from);

    return r < 0 ? cor_status_set(reterr, r, "send a request: %s", cor_sized_text(r)) : 0;
}

int cor_client_do(struct cor_client *client, const struct cor_request *req,
                  struct cor_object **ret_object, struct cor_status *reterr)
{
    static const struct cor_request_cbs cbs = {.on_done = on_object};
    struct wait w = {.reterr = reterr};
    struct cor_request own;
    int r = cor_client_copy_request(&own, req, reterr);

    if (r < 0)
        return r;
    if (own.verb == COR_VERB_LIST || own.verb == COR_VERB_WATCH)
        return cor_status_set(reterr, -COR_EINVAL, "a list or watch has no single answer");
    r = send_and_wait(client, &own, &cbs, &w);
    if (r == 0 && ret_object)
        *ret_object = w.object;
    else
        cor_object_unref(w.object);
    return r;
}

int cor_client_list(struct cor_client *client, const struct cor_request *req,
                    struct cor_object_list *ret_list, struct cor_status *reterr)
{
    static const struct cor_request_cbs cbs = {.on_item = on_item, .on_done = on_list};
    struct wait w = {.reterr = reterr};
    struct cor_request own;
    int r = cor_client_copy_request(&own, req, reterr);

    if (r < 0)
        return r;
    if (own.verb != COR_VERB_LIST)
        return cor_status_set(reterr, -COR_EINVAL, "only a list has items");
    r = send_and_wait(client, &own, &cbs, &w);
    if (r == 0)
        *ret_list = w.list;
    else
        cor_object_list_deinit(&w.list);
    return r;
}

void cor_object_list_deinit(struct cor_object_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        cor_object_unref(list->items[i]);
    cor_free(list->items);
    cor_free(list->resource_version);
    cor_free(list->continue_token);
    *list = (struct cor_object_list){0};
}
