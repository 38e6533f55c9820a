/* clang-format off */
/* A request of the port becomes a request of the server to itself, and the answer goes back:
 *
 *   cor_api_send() ──► inner_send() ──► cor_inner_request_open() ──► … ──► cor_api_finish()
 *                         │ cannot be sent
 *                         └──► cor_api_refuse() ── the port's mail ──► cor_api_deliver_refusals()
 *
 * `req->sent` is the request.
 *
 * An enumeration of resources is not a request: it is a list made from the loop's snapshot of the
 * catalog (inner_resources.h), kept until the snapshot has another generation, or another aggregated
 * server can be enumerated. Its on_done is called by the port's mail
 * too, so that the answer comes in a later turn and needs no memory then; `req->sent` is the port.
 * Thread: the loop of the sender. */
/* clang-format on */
#include "server/port/inner_port.h"

#include <assert.h>

#include "base/buf.h"
#include "base/err.h"
#include "loop/loop.h"
#include "server/api/api_loop.h"
#include "server/catalog/served.h"
#include "server/port/inner_resources.h"

static struct cor_inner_port *inner_port_of(struct cor_api_port *port)
{
    return COR_CONTAINER_OF(port, struct cor_inner_port, port);
}

/* The shorter of the request's two times, or the port's own when it has none. */
static uint64_t inner_timeout_ms(const struct cor_api_request *req, const struct cor_api_form *form)
{
    bool is_read = form->method == COR_HTTP_GET || form->result == COR_API_RESULT_NOTHING;
    uint64_t own = is_read ? COR_INNER_READ_MS : COR_INNER_WRITE_MS;
    uint64_t ms = req->timeout_ms > 0 ? req->timeout_ms : own;

    if (form->result == COR_API_RESULT_WATCH)
        return req->deadline_ms;
    return req->deadline_ms > 0 && req->deadline_ms < ms ? req->deadline_ms : ms;
}

static void inner_send(struct cor_api_port *port, struct cor_api_request *req,
                       const struct cor_api_operation *op)
{
    COR_CLEANUP(cor_api_form_deinit) struct cor_api_form form;
    struct cor_inner_opts opts;
    int r = cor_api_form_init(&form, op, &req->refusal);

    opts = (struct cor_inner_opts){.result = form.result,
                                   .method = form.method,
                                   .target = cor_buf_str(&form.target),
                                   .content_type = form.content_type,
                                   .body = form.body,
                                   .object = op->object,
                                   .metadata_only = form.metadata_only,
                                   .timeout_ms = inner_timeout_ms(req, &form)};
    if (r == 0)
        r = cor_inner_request_open(&inner_port_of(port)->sender, &opts, req);
    if (r < 0)
        cor_api_refuse(port, req);
}

/* Makes the enumeration of the current snapshot, unless the port has it. 0, -COR_ENOMEM. */
static int inner_enumerate(struct cor_inner_port *ip)
{
    const struct cor_served *served = ip->sender.api->served;
    uint64_t generation = cor_served_generation(served);
    uint64_t mark = cor_inner_resources_mark(served);
    struct cor_api_resources *resources;
    int r;

    if (ip->resources && ip->generation == generation && ip->mark == mark)
        return 0;
    r = cor_inner_resources_new(served, &resources);
    if (r < 0)
        return r;
    cor_api_resources_unref(ip->resources);
    ip->resources = resources;
    ip->generation = generation;
    ip->mark = mark;
    return 0;
}

static void inner_wake(struct cor_api_port *port);

static void inner_resources(struct cor_api_port *port, struct cor_api_request *req)
{
    struct cor_inner_port *ip = inner_port_of(port);
    int r;

    if (ip->sender.is_draining)
        r = cor_status_set(&req->refusal, -COR_EUNREACHABLE, "the server is shutting down");
    else
        r = inner_enumerate(ip);
    if (r < 0) {
        if (req->refusal.err == 0)
            cor_status_set_err(&req->refusal, r);
        cor_api_refuse(port, req);
        return;
    }
    req->sent = ip;
    cor_dlist_push(&ip->enumerations, &req->link);
    inner_wake(port);
}

/* Each on_done may send or cancel others, so the list is read again after each call. What was asked
 * for meanwhile stays for the next turn. */
static void inner_deliver_enumerations(struct cor_inner_port *ip)
{
    COR_CLEANUP(cor_api_resources_unrefp) struct cor_api_resources *resources = NULL;
    struct cor_dlist due, *link;

    cor_dlist_init(&due);
    cor_dlist_splice(&due, &ip->enumerations);
    if (ip->resources)
        resources = cor_api_resources_ref(ip->resources);
    while ((link = cor_dlist_pop(&due))) {
        const struct cor_api_answer answer = {
            .end = COR_API_ANSWERED, .remaining = -1, .resources = resources};

        cor_api_finish(COR_CONTAINER_OF(link, struct cor_api_request, link), &answer);
    }
}

static void inner_cancel(struct cor_api_port *port, struct cor_api_request *req)
{
    if (req->sent == inner_port_of(port))
        cor_dlist_remove(&req->link);
    else
        cor_inner_request_cancel(req->sent);
}

static void on_wake_mail(struct cor_mail *mail)
{
    struct cor_inner_port *ip = COR_CONTAINER_OF(mail, struct cor_inner_port, wake);

    ip->is_posted = false;
    inner_deliver_enumerations(ip);
    cor_api_deliver_refusals(&ip->port);
}

static void inner_wake(struct cor_api_port *port)
{
    struct cor_inner_port *ip = inner_port_of(port);

    if (ip->is_posted)
        return;
    ip->is_posted = true;
    cor_loop_post_always(port->loop, &ip->wake);
}

static const struct cor_api_port_ops inner_ops = {
    .send = inner_send,
    .resources = inner_resources,
    .cancel = inner_cancel,
    .wake = inner_wake,
};

void cor_inner_port_init(struct cor_inner_port *ip, struct cor_api_loop *api,
                         struct cor_str account, struct cor_str user_agent, size_t requests_max)
{
    *ip = (struct cor_inner_port){.wake.on_mail = on_wake_mail};
    cor_dlist_init(&ip->enumerations);
    cor_inner_sender_init(&ip->sender, api, account, user_agent, requests_max);
    cor_api_port_init(&ip->port, &inner_ops, cor_inner_sender_loop(&ip->sender));
}

void cor_inner_port_drain(struct cor_inner_port *ip)
{
    cor_inner_sender_drain(&ip->sender);
}

void cor_inner_port_deinit(struct cor_inner_port *ip)
{
    assert(cor_inner_port_is_idle(ip));
    assert(cor_dlist_empty(&ip->enumerations));
    ip->resources = cor_api_resources_unref(ip->resources);
    cor_inner_sender_deinit(&ip->sender);
    cor_api_port_deinit(&ip->port);
}
