/* clang-format off */
/* cor_client_change(): get, change, update, and again after a conflict, run on the loop by
 * retry_on_conflict.h while the caller waits.
 *
 *   caller: cor_waited_work_run() ──► loop: begin_change() ──► on_changed() ──► cor_waited_work_finish()
 *           waits ◄──────────────────────────────────────────────────────────────────────┘
 *
 * Every failure (of a request, of the program's function, no try left, the client was stopped, the
 * request's cancel handle) ends there too, with its status. The struct is on the caller's stack, which waits.
 * Thread: the loop, except for cor_client_change(). */
/* clang-format on */
#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "client/client_int.h"
#include "client/client_work.h"
#include "client/request_object.h"
#include "kit/dynamic/retry_on_conflict.h"

struct change {
    struct cor_waited_work waited;
    struct cor_conflict_retry *retry;
    const struct cor_request *req;
    cor_change_fn fn;
    void *arg;
    struct cor_rand rand;
    struct cor_object *object;
    struct cor_status *reterr;
    int r;
};

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
    cor_waited_work_finish(&c->waited);
}

static int change_make(void *arg, struct cor_object *current, struct cor_object **ret_object,
                       struct cor_status *reterr)
{
    struct change *c = arg;

    return c->fn(c->arg, current, ret_object, reterr);
}

static void change_give_up(struct cor_client_work *work, const char *text)
{
    struct change *c = COR_CONTAINER_OF(work, struct change, waited.work);

    c->r = cor_client_give_up(c->reterr, -COR_ECANCELED, text,
                              c->retry ? cor_conflict_retry_failure(c->retry) : "");
    if (c->retry)
        cor_conflict_retry_cancel(c->retry);
    cor_waited_work_finish(&c->waited);
}

static void begin_change(void *arg)
{
    struct change *c = arg;
    const struct cor_request *req = c->req;
    const struct cor_conflict_retry_opts opts = {
        .client = c->waited.work.client->rest,
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

    if (!cor_client_work_begin(&c->waited.work, req->cancel))
        return;
    c->r = cor_conflict_retry_open(&opts, &c->retry, c->reterr);
    if (c->r < 0)
        cor_waited_work_finish(&c->waited);
}

int cor_client_change(struct cor_client *client, const struct cor_request *req, cor_change_fn fn,
                      void *arg, struct cor_object **ret_object, struct cor_status *reterr)
{
    struct cor_request own;
    struct change c = {
        .waited.work.give_up = change_give_up, .req = &own, .fn = fn, .arg = arg, .reterr = reterr};
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
    r = cor_waited_work_run(&c.waited, client, begin_change, &c, reterr);
    if (r < 0)
        return r;
    if (c.r == 0 && ret_object)
        *ret_object = COR_STEAL(c.object);
    cor_object_unref(c.object);
    return c.r;
}
