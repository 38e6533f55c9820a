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
 * catalog, kept until the snapshot has another generation. Its on_done is called by the port's mail
 * too, so that the answer comes in a later turn and needs no memory then; `req->sent` is the port.
 * Thread: the loop of the sender. */
/* clang-format on */
#include "server/port/inner_port.h"

#include <assert.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "server/api/api_loop.h"
#include "server/catalog/served.h"

#define STALE_TEXT_MAX (8u << 20) /* a line for each APIService that there may be */

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

/* Resources by group and name; of one in several versions the rows keep their order, which is that
 * of preference. */
static int order_resources(const void *a, const void *b)
{
    const struct cor_port_resource *x = *(struct cor_port_resource *const *)a;
    const struct cor_port_resource *y = *(struct cor_port_resource *const *)b;
    int order = cor_str_cmp(x->gvr.resource, y->gvr.resource);

    if (order == 0)
        order = cor_str_cmp(x->gvr.group, y->gvr.group);
    return order ? order : (x > y) - (x < y);
}

/* Marks the best version of each resource. 0, -COR_ENOMEM. */
static int inner_prefer(struct cor_port_resource *list, size_t n)
{
    struct cor_port_resource **sorted = cor_calloc(n ? n : 1, sizeof(struct cor_port_resource *));

    if (!sorted)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        sorted[i] = &list[i];
    qsort(sorted, n, sizeof(sorted[0]), order_resources);
    for (size_t i = 0; i < n; i++)
        sorted[i]->is_preferred =
            i == 0 || !cor_str_eq(sorted[i]->gvr.resource, sorted[i - 1]->gvr.resource) ||
            !cor_str_eq(sorted[i]->gvr.group, sorted[i - 1]->gvr.group);
    cor_free(sorted);
    return 0;
}

/* The versions of remote services that are not available, as a discovery client sees them: what
 * they serve is not known (contract extension 4.5.4). The texts are in `text`. 0, -COR_ENOMEM. */
static int inner_stale(const struct cor_served *served, struct cor_buf *text,
                       struct cor_api_resources_failure **ret_failures, size_t *ret_n)
{
    size_t nservices, n = 0;
    struct cor_api_service *const *services = cor_served_services(served, &nservices);
    struct cor_api_resources_failure *failures =
        cor_calloc(nservices ? nservices : 1, sizeof(failures[0]));
    int r = failures ? 0 : -COR_ENOMEM;

    *ret_failures = failures;
    for (size_t i = 0; i < nservices && r == 0; i++) {
        const struct cor_api_service *s = services[i];
        size_t at = text->n;

        if (!s->is_remote || cor_api_service_is_available(s))
            continue;
        r = cor_buf_addf(text, "stale GroupVersion discovery: %.*s", COR_STR_ARG(s->api_version));
        /* The lengths first: the text may move. */
        if (r == 0)
            failures[n++] = (struct cor_api_resources_failure){.gv = {s->group, s->version},
                                                               .message = {.n = text->n - at}};
    }
    for (size_t i = 0, at = 0; i < n; at += failures[i++].message.n)
        failures[i].message.p = text->p + at;
    *ret_n = n;
    return r;
}

static bool has_remote(const struct cor_served *served)
{
    size_t n;
    struct cor_api_service *const *services = cor_served_services(served, &n);

    for (size_t i = 0; i < n; i++) {
        if (services[i]->is_remote)
            return true;
    }
    return false;
}

/* Makes the enumeration of the current snapshot, unless the port has it. The availability of remote
 * services changes without another snapshot. 0, -COR_ENOMEM. */
static int inner_enumerate(struct cor_inner_port *ip)
{
    const struct cor_served *served = ip->sender.api->served;
    COR_CLEANUP(cor_freep) struct cor_api_resources_failure *failures = NULL;
    COR_CLEANUP(cor_freep) struct cor_port_resource *list = NULL;
    COR_CLEANUP(cor_buf_deinit) struct cor_buf text;
    const struct cor_resource_row *const *rows;
    struct cor_api_resources *resources;
    size_t n, nfailures = 0;
    int r;

    cor_buf_init(&text, STALE_TEXT_MAX);
    if (ip->resources && ip->generation == cor_served_generation(served) && !has_remote(served))
        return 0;
    rows = cor_served_rows(served, &n);
    list = cor_calloc(n ? n : 1, sizeof(list[0]));
    if (!list)
        return -COR_ENOMEM;
    for (size_t i = 0; i < n; i++)
        list[i] = (struct cor_port_resource){
            .gvr = {rows[i]->group, rows[i]->version, rows[i]->plural},
            .kind = rows[i]->kind,
            .is_namespaced = cor_api_is_namespaced(rows[i]),
            .verbs = rows[i]->verbs,
        };
    r = inner_prefer(list, n);
    if (r == 0)
        r = inner_stale(served, &text, &failures, &nfailures);
    if (r == 0)
        r = cor_api_resources_new(list, n, failures, nfailures, &resources);
    if (r < 0)
        return r;
    cor_api_resources_unref(ip->resources);
    ip->resources = resources;
    ip->generation = cor_served_generation(served);
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
