/* clang-format off */
/* An operation of the port becomes a request of the dynamic client (`resources` a question to
 * discovery), and the answer goes back:
 *
 *   cor_api_send() ──► http_send() ──► cor_dynamic_send() ──► on_done() ──► cor_api_finish()
 *                         │ cannot be sent
 *                         └──► cor_api_refuse() ── the port's mail ──► cor_api_deliver_refusals()
 *
 * `req->sent` is the request of the dynamic client, or the waiter of discovery; `req->kind` says
 * which of the two.
 * Thread: the REST client's loop. */
/* clang-format on */
#include "kit/dynamic/api_port_http.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "kit/dynamic/dynamic_client.h"
#include "loop/loop.h"

enum { SENT_DYNAMIC, SENT_DISCOVERY };

static struct cor_http_port *http_port_of(struct cor_api_port *port)
{
    return COR_CONTAINER_OF(port, struct cor_http_port, port);
}

/* With a code of HTTP the server has answered. */
static enum cor_api_end end_of(const struct cor_status *error)
{
    return !error || error->code != 0 ? COR_API_ANSWERED : COR_API_UNANSWERED;
}

static int on_open(void *arg)
{
    struct cor_api_request *req = arg;

    return req->cbs->on_open ? req->cbs->on_open(req) : 0;
}

static int on_item(void *arg, struct cor_object *item)
{
    struct cor_api_request *req = arg;

    return req->cbs->on_item(req, item);
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct cor_api_request *req = arg;

    return req->cbs->on_event(req, event);
}

static void on_done(void *arg, const struct cor_response *response)
{
    const struct cor_api_answer answer = {.end = end_of(response->error),
                                          .error = response->error,
                                          .object = response->object,
                                          .resource_version = response->resource_version,
                                          .continue_token = response->continue_token,
                                          .remaining = response->remaining};

    cor_api_finish(arg, &answer);
}

/* Refuses a request of which nothing was sent because of `r`. */
static void http_refuse(struct cor_api_port *port, struct cor_api_request *req, int r)
{
    if (req->refusal.err == 0)
        cor_api_cannot_send(r, &req->refusal);
    cor_api_refuse(port, req);
}

static void http_send(struct cor_api_port *port, struct cor_api_request *req,
                      const struct cor_api_operation *op)
{
    static const struct cor_dynamic_cbs cbs = {on_open, on_item, on_event, on_done};
    const struct cor_dynamic_call call = {.client = http_port_of(port)->rest,
                                          .timeout_ms = req->timeout_ms,
                                          .deadline_ms = req->deadline_ms,
                                          .cbs = &cbs,
                                          .arg = req};
    struct cor_dynamic_request *sent;
    int r = cor_dynamic_send(&call, op, &sent, &req->refusal);

    if (r < 0) {
        http_refuse(port, req, r);
        return;
    }
    req->kind = SENT_DYNAMIC;
    req->sent = sent;
}

static unsigned verbs_of(const struct cor_catalog_resource *resource)
{
    unsigned verbs = 0;

    for (int i = 0; i < COR_API_VERB_COUNT; i++) {
        if (cor_catalog_has_word(resource->verbs,
                                 cor_strz(cor_api_verb_name((enum cor_api_verb)i))))
            verbs |= 1u << i;
    }
    return verbs;
}

/* Turns what discovery found into an enumeration: all resources but the subresources, and all
 * versions that have an error. 0, -COR_ENOMEM. */
static int enumerate(const struct cor_catalog *catalog, struct cor_api_resources **ret_resources)
{
    COR_CLEANUP(cor_freep) struct cor_port_resource *list = NULL;
    COR_CLEANUP(cor_freep) struct cor_api_resources_failure *failures = NULL;
    size_t n = 0, nfailures = 0, nresources = 0, nversions = 0;

    for (size_t i = 0; i < catalog->ngroups; i++) {
        nversions += catalog->groups[i].nversions;
        for (size_t j = 0; j < catalog->groups[i].nversions; j++)
            nresources += catalog->groups[i].versions[j].nresources;
    }
    list = cor_calloc(nresources ? nresources : 1, sizeof(list[0]));
    failures = cor_calloc(nversions ? nversions : 1, sizeof(failures[0]));
    if (!list || !failures)
        return -COR_ENOMEM;
    for (size_t i = 0; i < catalog->ngroups; i++) {
        const struct cor_catalog_group *group = &catalog->groups[i];

        for (size_t j = 0; j < group->nversions; j++) {
            const struct cor_catalog_version *version = &group->versions[j];

            if (version->error.err < 0)
                failures[nfailures++] = (struct cor_api_resources_failure){
                    {group->name, version->version}, cor_strz(cor_status_message(&version->error))};
            for (size_t k = 0; k < version->nresources; k++) {
                const struct cor_catalog_resource *resource = &version->resources[k];

                if (resource->subresource.n > 0)
                    continue;
                list[n++] = (struct cor_port_resource){
                    .gvr = {group->name, version->version, resource->name},
                    .kind = resource->kind.kind,
                    .is_namespaced = resource->is_namespaced,
                    .is_preferred = resource->is_chosen,
                    .verbs = verbs_of(resource),
                };
            }
        }
    }
    return cor_api_resources_new(list, n, failures, nfailures, ret_resources);
}

static void on_catalog(void *arg, const struct cor_catalog *catalog, bool was_cached,
                       const struct cor_status *error)
{
    COR_CLEANUP(cor_api_resources_unrefp) struct cor_api_resources *resources = NULL;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_api_answer answer = {.end = end_of(error), .error = error, .remaining = -1};
    int r = error ? 0 : enumerate(catalog, &resources);

    if (r < 0) {
        cor_status_set_err(&why, r);
        why.code = 0;
        answer.end = COR_API_UNANSWERED;
        answer.error = &why;
    }
    answer.resources = resources;
    cor_api_finish(arg, &answer);
}

/* Requests that wait at the same time share one question to the server. */
static void http_resources(struct cor_api_port *port, struct cor_api_request *req)
{
    struct cor_http_port *hp = http_port_of(port);
    const struct cor_discovery_opts opts = {.client = hp->rest};
    struct cor_discovery_waiter *waiter = NULL;
    int r = hp->discovery ? 0 : cor_discovery_new(&opts, &hp->discovery);

    if (r == 0 && cor_discovery_is_fresh(hp->discovery))
        cor_discovery_invalidate(hp->discovery);
    if (r == 0)
        r = cor_discovery_fetch(hp->discovery, on_catalog, req, &waiter);
    if (r < 0) {
        http_refuse(port, req, r);
        return;
    }
    req->kind = SENT_DISCOVERY;
    req->sent = waiter;
}

static void http_cancel(struct cor_api_port *port, struct cor_api_request *req)
{
    if (req->kind == SENT_DISCOVERY)
        cor_discovery_cancel(req->sent);
    else
        cor_dynamic_cancel(req->sent);
}

static void on_wake_mail(struct cor_mail *mail)
{
    struct cor_http_port *hp = COR_CONTAINER_OF(mail, struct cor_http_port, wake);

    hp->is_posted = false;
    cor_api_deliver_refusals(&hp->port);
}

static void http_wake(struct cor_api_port *port)
{
    struct cor_http_port *hp = http_port_of(port);

    if (hp->is_posted)
        return;
    hp->is_posted = true;
    cor_loop_post_always(port->loop, &hp->wake);
}

static const struct cor_api_port_ops http_ops = {
    .send = http_send,
    .resources = http_resources,
    .cancel = http_cancel,
    .wake = http_wake,
};

void cor_http_port_init(struct cor_http_port *hp, struct cor_rest_client *rest)
{
    *hp = (struct cor_http_port){.rest = rest, .wake.on_mail = on_wake_mail};
    cor_api_port_init(&hp->port, &http_ops, cor_rest_client_loop(rest));
}

void cor_http_port_deinit(struct cor_http_port *hp)
{
    assert(!hp->is_posted);
    hp->discovery = cor_discovery_free(hp->discovery);
    cor_api_port_deinit(&hp->port);
}
