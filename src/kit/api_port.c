/* clang-format off */
/* What every API port shares: the states of a request, the assertions about them, and the delivery
 * of requests that could not be sent.
 *
 *            cor_api_send()                   cor_api_finish()
 *   IDLE ──────────────────────► SENT ──────────────────────────► IDLE, then on_done
 *    ▲ │                          │ cor_api_cancel()
 *    │ │ cor_api_refuse()         └─────────────────────────────► IDLE
 *    │ └───────────► REFUSING, in port->refused ── wake, a later turn ──► IDLE, then on_done
 *    └───────────────────┘ cor_api_cancel()
 *
 * A refusal needs no memory: the request is linked into the port's list, and the implementation's
 * `wake` uses a mail of its own. So the one failure that cannot be reported does not exist.
 * Thread: the port's loop. */
/* clang-format on */
#include "kit/api_port.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"

void cor_api_port_init(struct cor_api_port *port, const struct cor_api_port_ops *ops,
                       struct cor_loop *loop)
{
    port->ops = ops;
    port->loop = loop;
    cor_dlist_init(&port->refused);
}

void cor_api_port_deinit(struct cor_api_port *port)
{
    assert(cor_dlist_empty(&port->refused));
}

bool cor_api_is_under_way(const struct cor_api_request *req)
{
    return req->state != COR_API_IDLE;
}

static void assert_on_loop(const struct cor_api_port *port)
{
    assert(!port->loop || cor_loop_is_current(port->loop));
    (void)port;
}

/* The state is SENT before the implementation is called, which may refuse the request. */
static void request_begin(struct cor_api_port *port, struct cor_api_request *req)
{
    assert_on_loop(port);
    assert(req->cbs && req->cbs->on_done);
    assert(req->state == COR_API_IDLE && !req->sent);
    req->state = COR_API_SENT;
}

void cor_api_send(struct cor_api_port *port, struct cor_api_request *req,
                  const struct cor_api_operation *op)
{
    assert(op->verb != COR_API_VERB_LIST || req->cbs->on_item);
    assert(op->verb != COR_API_VERB_WATCH || req->cbs->on_event);
    assert((op->verb != COR_API_VERB_CREATE && op->verb != COR_API_VERB_UPDATE) || op->object);
    request_begin(port, req);
    port->ops->send(port, req, op);
}

static struct cor_api_operation operation_of(const struct cor_api_request *req,
                                             enum cor_api_verb verb)
{
    return (struct cor_api_operation){
        .verb = verb, .at = req->at, .metadata_only = req->metadata_only};
}

void cor_api_get(struct cor_api_port *port, struct cor_api_request *req,
                 struct cor_str resource_version)
{
    struct cor_api_operation op = operation_of(req, COR_API_VERB_GET);

    op.query.list.resource_version = resource_version;
    cor_api_send(port, req, &op);
}

void cor_api_list(struct cor_api_port *port, struct cor_api_request *req,
                  const struct cor_list_query *query)
{
    struct cor_api_operation op = operation_of(req, COR_API_VERB_LIST);

    op.query = *query;
    cor_api_send(port, req, &op);
}

void cor_api_watch(struct cor_api_port *port, struct cor_api_request *req,
                   const struct cor_list_query *query)
{
    struct cor_api_operation op = operation_of(req, COR_API_VERB_WATCH);

    op.query = *query;
    cor_api_send(port, req, &op);
}

static void send_object(struct cor_api_port *port, struct cor_api_request *req,
                        enum cor_api_verb verb, struct cor_object *object,
                        const struct cor_write_options *opts)
{
    struct cor_api_operation op = operation_of(req, verb);

    op.object = object;
    if (opts)
        op.write = *opts;
    cor_api_send(port, req, &op);
}

void cor_api_create(struct cor_api_port *port, struct cor_api_request *req,
                    struct cor_object *object, const struct cor_write_options *opts)
{
    send_object(port, req, COR_API_VERB_CREATE, object, opts);
}

void cor_api_update(struct cor_api_port *port, struct cor_api_request *req,
                    struct cor_object *object, const struct cor_write_options *opts)
{
    send_object(port, req, COR_API_VERB_UPDATE, object, opts);
}

void cor_api_patch(struct cor_api_port *port, struct cor_api_request *req, enum cor_patch_type type,
                   struct cor_str patch, const struct cor_write_options *opts)
{
    struct cor_api_operation op = operation_of(req, COR_API_VERB_PATCH);

    op.patch_type = type;
    op.patch = patch;
    if (opts)
        op.write = *opts;
    cor_api_send(port, req, &op);
}

void cor_api_remove(struct cor_api_port *port, struct cor_api_request *req,
                    const struct cor_removal_options *opts)
{
    struct cor_api_operation op = operation_of(req, COR_API_VERB_DELETE);

    if (opts)
        op.removal = *opts;
    cor_api_send(port, req, &op);
}

void cor_api_remove_collection(struct cor_api_port *port, struct cor_api_request *req,
                               const struct cor_removal_options *opts,
                               const struct cor_list_query *which)
{
    struct cor_api_operation op = operation_of(req, COR_API_VERB_DELETECOLLECTION);

    if (opts)
        op.removal = *opts;
    if (which)
        op.query = *which;
    cor_api_send(port, req, &op);
}

void cor_api_serves(struct cor_api_port *port, struct cor_api_request *req)
{
    struct cor_api_operation op = operation_of(req, COR_API_VERB_GET);

    op.is_discovery = true;
    cor_api_send(port, req, &op);
}

void cor_api_resources(struct cor_api_port *port, struct cor_api_request *req)
{
    request_begin(port, req);
    port->ops->resources(port, req);
}

void cor_api_refuse(struct cor_api_port *port, struct cor_api_request *req)
{
    assert_on_loop(port);
    assert(req->cbs && req->cbs->on_done);
    assert(req->state != COR_API_REFUSING && !req->sent && req->refusal.err < 0);
    req->state = COR_API_REFUSING;
    if (cor_dlist_empty(&port->refused))
        port->ops->wake(port);
    cor_dlist_push(&port->refused, &req->link);
}

void cor_api_cancel(struct cor_api_port *port, struct cor_api_request *req)
{
    assert_on_loop(port);
    if (req->state == COR_API_REFUSING) {
        cor_dlist_remove(&req->link);
        cor_status_deinit(&req->refusal);
    } else if (req->state == COR_API_SENT) {
        port->ops->cancel(port, req);
        req->sent = NULL;
    }
    req->state = COR_API_IDLE;
}

bool cor_api_answer_is(const struct cor_api_answer *answer, int code)
{
    return answer->end == COR_API_ANSWERED && answer->error && answer->error->code == code;
}

bool cor_api_answer_is_late(const struct cor_api_answer *answer)
{
    return cor_api_answer_is(answer, 409) || cor_api_answer_is(answer, 404);
}

void cor_api_finish(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    assert(req->state == COR_API_SENT);
    req->state = COR_API_IDLE;
    req->sent = NULL;
    req->cbs->on_done(req, answer);
}

/* A callback may refuse the next request and may cancel any that is in the list, so the list is
 * read again after each call. What was refused meanwhile stays for the next turn. */
void cor_api_deliver_refusals(struct cor_api_port *port)
{
    struct cor_dlist due, *link;

    assert_on_loop(port);
    cor_dlist_init(&due);
    cor_dlist_splice(&due, &port->refused);
    while ((link = cor_dlist_pop(&due))) {
        struct cor_api_request *req = COR_CONTAINER_OF(link, struct cor_api_request, link);
        COR_CLEANUP(cor_status_deinit) struct cor_status why = req->refusal;
        const struct cor_api_answer answer = {
            .end = COR_API_REFUSED, .error = &why, .remaining = -1};

        req->refusal = (struct cor_status){0};
        req->state = COR_API_IDLE;
        req->cbs->on_done(req, &answer);
    }
}
