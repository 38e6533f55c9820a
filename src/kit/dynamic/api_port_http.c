/* clang-format off */
/* A request of the port becomes a request of the dynamic client (`serves` becomes one of the REST
 * client, `resources` a question to discovery), and the answer goes back:
 *
 *   cor_api_get() ──► http_get() ──► cor_dynamic_get() ──► on_object_done() ──► cor_api_finish()
 *                        │ cannot be sent
 *                        └──► cor_api_refuse() ── the port's mail ──► cor_api_deliver_refusals()
 *
 * `req->sent` is the request of the dynamic or the REST client, or the waiter of discovery;
 * `req->kind` says which of the three.
 * Thread: the REST client's loop. */
/* clang-format on */
#include "kit/dynamic/api_port_http.h"

#include <assert.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "kit/dynamic/dynamic_client.h"
#include "loop/loop.h"

enum { SENT_DYNAMIC, SENT_REST, SENT_DISCOVERY };

static struct cor_http_port *http_port_of(struct cor_api_port *port)
{
    return COR_CONTAINER_OF(port, struct cor_http_port, port);
}

/* With a code of HTTP the server has answered. */
static enum cor_api_end end_of(const struct cor_status *error)
{
    return !error || error->code != 0 ? COR_API_ANSWERED : COR_API_UNANSWERED;
}

static void on_object_done(void *arg, struct cor_object *object, const struct cor_status *error)
{
    const struct cor_api_answer answer = {
        .end = end_of(error), .error = error, .object = object, .remaining = -1};

    cor_api_finish(arg, &answer);
}

static int on_list_item(void *arg, struct cor_object *object)
{
    struct cor_api_request *req = arg;

    return req->cbs->on_item(req, object);
}

static void on_list_done(void *arg, const struct cor_list_meta *meta,
                         const struct cor_status *error)
{
    struct cor_api_answer answer = {.end = end_of(error), .error = error, .remaining = -1};

    if (meta) {
        answer.resource_version = meta->resource_version;
        answer.continue_token = meta->continue_token;
        answer.remaining = meta->remaining;
    }
    cor_api_finish(arg, &answer);
}

static int on_watch_open(void *arg)
{
    struct cor_api_request *req = arg;

    return req->cbs->on_open ? req->cbs->on_open(req) : 0;
}

static int on_watch_event(void *arg, const struct cor_watch_event *event)
{
    struct cor_api_request *req = arg;

    return req->cbs->on_event(req, event);
}

static void on_watch_done(void *arg, const struct cor_status *error)
{
    const struct cor_api_answer answer = {.end = end_of(error), .error = error, .remaining = -1};

    cor_api_finish(arg, &answer);
}

static void on_serves_done(void *arg, const struct cor_rest_result *result)
{
    on_watch_done(arg, result->error);
}

/* Keeps the handle of what was sent, or refuses the request when `r` says that nothing was. */
static void http_keep(struct cor_api_port *port, struct cor_api_request *req, int r, unsigned kind,
                      void *sent)
{
    if (r < 0) {
        if (req->refusal.err == 0)
            cor_status_set(&req->refusal, r, "the request could not be sent: %s", cor_err_text(r));
        cor_api_refuse(port, req);
        return;
    }
    req->kind = kind;
    req->sent = sent;
}

static struct cor_dynamic_call http_call(struct cor_api_port *port, struct cor_api_request *req)
{
    return (struct cor_dynamic_call){.client = http_port_of(port)->rest,
                                     .at = req->at,
                                     .timeout_ms = req->timeout_ms,
                                     .deadline_ms = req->deadline_ms,
                                     .metadata_only = req->metadata_only,
                                     .on_done = on_object_done,
                                     .arg = req};
}

static void http_get(struct cor_api_port *port, struct cor_api_request *req,
                     struct cor_str resource_version)
{
    const struct cor_dynamic_call call = http_call(port, req);
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_get(&call, resource_version, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

static void http_list(struct cor_api_port *port, struct cor_api_request *req,
                      const struct cor_list_query *query)
{
    const struct cor_dynamic_list_call call = {.client = http_port_of(port)->rest,
                                               .at = req->at,
                                               .timeout_ms = req->timeout_ms,
                                               .deadline_ms = req->deadline_ms,
                                               .on_item = on_list_item,
                                               .on_done = on_list_done,
                                               .arg = req};
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_list(&call, query, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

static void http_watch(struct cor_api_port *port, struct cor_api_request *req,
                       const struct cor_list_query *query)
{
    const struct cor_dynamic_watch_call call = {.client = http_port_of(port)->rest,
                                                .at = req->at,
                                                .deadline_ms = req->deadline_ms,
                                                .on_open = on_watch_open,
                                                .on_event = on_watch_event,
                                                .on_done = on_watch_done,
                                                .arg = req};
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_watch(&call, query, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

static void http_create(struct cor_api_port *port, struct cor_api_request *req,
                        struct cor_object *object, const struct cor_write_options *opts)
{
    const struct cor_dynamic_call call = http_call(port, req);
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_create(&call, object, opts, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

static void http_update(struct cor_api_port *port, struct cor_api_request *req,
                        struct cor_object *object, const struct cor_write_options *opts)
{
    const struct cor_dynamic_call call = http_call(port, req);
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_update(&call, object, opts, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

static void http_patch(struct cor_api_port *port, struct cor_api_request *req,
                       enum cor_patch_type type, struct cor_str patch,
                       const struct cor_write_options *opts)
{
    const struct cor_dynamic_call call = http_call(port, req);
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_patch(&call, type, patch, opts, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

static void http_remove(struct cor_api_port *port, struct cor_api_request *req,
                        const struct cor_removal_options *opts)
{
    const struct cor_dynamic_call call = http_call(port, req);
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_delete(&call, opts, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

static void http_remove_collection(struct cor_api_port *port, struct cor_api_request *req,
                                   const struct cor_removal_options *opts,
                                   const struct cor_list_query *which)
{
    const struct cor_dynamic_call call = http_call(port, req);
    struct cor_dynamic_request *sent = NULL;
    int r = cor_dynamic_delete_collection(&call, opts, which, &sent, &req->refusal);

    http_keep(port, req, r, SENT_DYNAMIC, sent);
}

/* The document of a group and version exists exactly when the server serves it. Groups and versions
 * are names of the caller's program, not input. */
static void http_serves(struct cor_api_port *port, struct cor_api_request *req)
{
    static const struct cor_rest_cbs cbs = {.on_done = on_serves_done};
    const struct cor_gvr *gvr = &req->at.gvr;
    char target[600];
    int n = gvr->group.n > 0
                ? snprintf(target, sizeof(target), "/apis/%.*s/%.*s", COR_STR_ARG(gvr->group),
                           COR_STR_ARG(gvr->version))
                : snprintf(target, sizeof(target), "/api/%.*s", COR_STR_ARG(gvr->version));
    const struct cor_rest_request_opts opts = {.is_discovery = true,
                                               .target = cor_str(target, (size_t)n),
                                               .timeout_ms = req->timeout_ms,
                                               .deadline_ms = req->deadline_ms,
                                               .cbs = &cbs,
                                               .arg = req};
    struct cor_rest_request *sent = NULL;
    int r = (size_t)n < sizeof(target)
                ? cor_rest_request_open(http_port_of(port)->rest, &opts, &sent)
                : -COR_ETOOBIG;

    http_keep(port, req, r, SENT_REST, sent);
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
    http_keep(port, req, r, SENT_DISCOVERY, waiter);
}

static void http_cancel(struct cor_api_port *port, struct cor_api_request *req)
{
    if (req->kind == SENT_DISCOVERY)
        cor_discovery_cancel(req->sent);
    else if (req->kind == SENT_REST)
        cor_rest_request_cancel(req->sent);
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
    .get = http_get,
    .list = http_list,
    .watch = http_watch,
    .create = http_create,
    .update = http_update,
    .patch = http_patch,
    .remove = http_remove,
    .remove_collection = http_remove_collection,
    .serves = http_serves,
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
