/* clang-format off */
/* cor_client_change(): get, change, update, and again after a conflict, run on the loop by
 * retry_on_conflict.h while the caller waits.
 *
 *   caller: cor_client_wait_for() ──► loop: begin_change() ──► on_changed() ──► change_finish()
 *           waits ◄────────────────────────────────────────────────────────────────┘
 *
 * Every failure (of a request, of the program's function, no try left, the client was stopped, the
 * request's cancel handle) ends in change_finish() with its status. The struct is on the caller's stack, which waits.
 * Thread: the loop, except for cor_client_change(). */
/* clang-format on */
#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "client/client_int.h"
#include "client/request_object.h"
#include "client/waited_cancel.h"
#include "kit/dynamic/retry_on_conflict.h"

struct change {
    struct cor_client *client;
    struct cor_dlist link; /* in its changes, with `retry` */
    struct cor_conflict_retry *retry;
    const struct cor_request *req;
    cor_change_fn fn;
    void *arg;
    struct cor_rand rand;
    struct cor_object *object;
    struct cor_status *reterr;
    struct cor_waiter done;
    int r;
    struct cor_waited_cancel cancel;
};

static void change_on_gone(struct cor_waited_cancel *cancel)
{
    struct change *c = COR_CONTAINER_OF(cancel, struct change, cancel);

    cor_client_leave(c->client);
    cor_waiter_set(&c->done);
}

static void change_finish(struct change *c)
{
    cor_dlist_remove(&c->link);
    cor_waited_cancel_end(&c->cancel);
}

static void on_changed(void *arg, struct cor_object *object, const struct cor_status *error)
{
    struct change *c = arg;

    if (error) {
        c->r = error->err;
        if (c->reterr)
            cor_status_copy(c->reterr, error);
    } else {
        c->object = cor_object_ref(object);
    }
    change_finish(c);
}

static int change_make(void *arg, struct cor_object *current, struct cor_object **ret_object,
                       struct cor_status *reterr)
{
    struct change *c = arg;

    return c->fn(c->arg, current, ret_object, reterr);
}

static void change_cancel(struct change *c, const char *text)
{
    c->r = cor_client_give_up(c->reterr, -COR_ECANCELED, text,
                              c->retry ? cor_conflict_retry_failure(c->retry) : "");
    if (c->retry)
        cor_conflict_retry_cancel(c->retry);
    change_finish(c);
}

static void change_on_cancel(struct cor_waited_cancel *cancel)
{
    change_cancel(COR_CONTAINER_OF(cancel, struct change, cancel), "the request was canceled");
}

static void begin_change(void *arg)
{
    struct change *c = arg;
    const struct cor_request *req = c->req;
    const struct cor_conflict_retry_opts opts = {
        .client = c->client->rest,
        .at = {.gvr = {cor_strz(req->resource.group), cor_strz(req->resource.version),
                       cor_strz(req->resource.plural)},
               .ns = cor_strz(req->ns),
               .name = cor_strz(req->name),
               .subresource = cor_strz(req->subresource)},
        .backoff = COR_RETRY_DEFAULT,
        .rand = &c->rand,
        .write = {.dry_run = req->dry_run,
                  .field_manager = cor_strz(req->field_manager),
                  .field_validation = cor_strz(req->field_validation)},
        .timeout_ms = req->timeout_ms,
        .change = change_make,
        .on_done = on_changed,
        .arg = c,
    };

    cor_dlist_push(&c->client->changes, &c->link);
    if (!cor_waited_cancel_begin(&c->cancel, req->cancel)) {
        change_cancel(c, "the request was canceled");
        return;
    }
    c->r = cor_conflict_retry_open(&opts, &c->retry, c->reterr);
    if (c->r < 0)
        change_finish(c);
}

void cor_client_cancel_changes(struct cor_client *client)
{
    while (!cor_dlist_empty(&client->changes))
        change_cancel(COR_CONTAINER_OF(client->changes.next, struct change, link),
                      COR_CLIENT_STOPPED);
}

int cor_client_change(struct cor_client *client, const struct cor_request *req, cor_change_fn fn,
                      void *arg, struct cor_object **ret_object, struct cor_status *reterr)
{
    struct cor_request own;
    struct change c = {.client = client,
                       .req = &own,
                       .fn = fn,
                       .arg = arg,
                       .reterr = reterr,
                       .cancel = {.on_cancel = change_on_cancel,
                                  .on_gone = change_on_gone,
                                  .loop = client->runtime->loop}};
    COR_CLEANUP(cor_request_texts_deinit) struct cor_request_texts texts = {0};
    int r = cor_client_copy_request(&own, req, reterr);

    if (r < 0)
        return r;
    own.verb = COR_VERB_UPDATE;
    r = cor_request_take_object(&own, &texts);
    if (r < 0)
        return cor_status_set(reterr, r, "change an object: %s", cor_err_text(r));
    own.timeout_ms = cor_client_timeout_ms(client, own.timeout_ms);
    cor_rand_init(&c.rand);
    r = cor_client_wait_for(client, begin_change, &c, &c.done, reterr);
    if (r < 0)
        return r;
    if (c.r == 0 && ret_object)
        *ret_object = COR_STEAL(c.object);
    cor_object_unref(c.object);
    return c.r;
}
