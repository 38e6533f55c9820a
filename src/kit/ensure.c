/* The steps of ensure.h: one request at a time, each sent from the answer to the one before.
 * Failures: an error that is not a write's coming too late is the end; so is the last write that
 * comes too late. A body for whose object there is no memory is refused like a request.
 * Thread: that of the port. */
#include "kit/ensure.h"

#include <assert.h>

#include "base/cleanup.h"

static void ensure_on_answer(struct cor_api_request *req, const struct cor_api_answer *answer);

void cor_ensure_init(struct cor_ensure *e, struct cor_api_port *port,
                     const struct cor_ensure_ops *ops, size_t body_max, uint64_t timeout_ms)
{
    static const struct cor_api_request_cbs cbs = {.on_done = ensure_on_answer};

    assert(ops->judge && ops->on_done);
    *e = (struct cor_ensure){
        .port = port, .ops = ops, .req = {.timeout_ms = timeout_ms, .cbs = &cbs}};
    cor_buf_init(&e->body, body_max);
}

void cor_ensure_deinit(struct cor_ensure *e)
{
    assert(!cor_api_is_under_way(&e->req));
    cor_buf_deinit(&e->body);
}

static void ensure_read(struct cor_ensure *e, struct cor_str resource_version)
{
    e->step = COR_ENSURE_READS;
    cor_api_get(e->port, &e->req, resource_version);
}

static void ensure_create(struct cor_ensure *e)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;

    e->step = COR_ENSURE_CREATES;
    if (cor_object_from_json(cor_buf_str(&e->body), &object, &e->req.refusal) < 0)
        cor_api_refuse(e->port, &e->req);
    else
        cor_api_create(e->port, &e->req, object, NULL);
}

static void ensure_judge(struct cor_ensure *e, const struct cor_object *found)
{
    int verdict;

    cor_buf_reset(&e->body);
    verdict = e->ops->judge(e, found);
    if (verdict <= COR_ENSURE_RIGHT) {
        e->ops->on_done(e, verdict, NULL);
    } else if (verdict == COR_ENSURE_REMOVE) {
        assert(found);
        e->step = COR_ENSURE_REMOVES;
        cor_api_remove(e->port, &e->req, NULL);
    } else if (!found) {
        ensure_create(e);
    } else {
        e->step = COR_ENSURE_CHANGES;
        cor_api_patch(e->port, &e->req, COR_PATCH_MERGE, cor_buf_str(&e->body), NULL);
    }
}

static void ensure_on_written(struct cor_ensure *e, const struct cor_api_answer *answer)
{
    const struct cor_status *error = answer->error;
    bool is_gone = cor_api_answer_is(answer, 404) && e->step != COR_ENSURE_CREATES;

    if (is_gone && e->step == COR_ENSURE_REMOVES)
        error = NULL;
    /* A cache may still have what the write was judged by. */
    if (error && (is_gone || cor_api_answer_is(answer, 409)) && e->late < COR_ENSURE_TRIES) {
        e->late++;
        ensure_read(e, COR_STR(""));
        return;
    }
    e->ops->on_done(e, error ? error->err : 0, error);
}

static void ensure_on_answer(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_ensure *e = COR_CONTAINER_OF(req, struct cor_ensure, req);

    if (e->step != COR_ENSURE_READS)
        ensure_on_written(e, answer);
    else if (!answer->error)
        ensure_judge(e, answer->object);
    else if (cor_api_answer_is(answer, 404))
        ensure_judge(e, NULL);
    else
        e->ops->on_done(e, answer->error->err, answer->error);
}

void cor_ensure_start(struct cor_ensure *e, const struct cor_resource_path *at,
                      struct cor_str resource_version)
{
    assert(!cor_api_is_under_way(&e->req) && at->name.n > 0);
    e->req.at = *at;
    e->late = 0;
    ensure_read(e, resource_version);
}

void cor_ensure_cancel(struct cor_ensure *e)
{
    cor_api_cancel(e->port, &e->req);
}
