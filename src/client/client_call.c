/* clang-format off */
/* A request of the public client on its way: it is copied on the caller's thread, mailed to the
 * loop, run there by the dynamic client (or pager, or resuming watch), and ended there.
 *
 *   cor_client_send(): one allocation ── mail ──► on_start() ──► under way (client_work.h)
 *        on_done() … (an answer)         ──┐
 *        on_deadline() (its own timer)   ──┼──► call_finish(): on_done, once and last
 *        cor_client_call_cancel() (mail) ──┤      also by the request's cancel handle
 *        cor_client_stop(), _free()      ──┘
 *
 * A request that cannot be begun (no memory, no verb, a name that is not a path segment) ends the
 * same way, with the reason. The handle is counted, because a cancel from another thread may cross
 * the answer; it may outlive the call and the client, but not the runtime.
 * Thread: the loop, except for sending, cancelling and releasing the handle. */
/* clang-format on */
#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/ref.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "client/client_work.h"
#include "client/request_object.h"
#include "kit/dynamic/dynamic_client.h"
#include "kit/dynamic/pager.h"
#include "kit/dynamic/resuming_watch.h"
#include "loop/timer.h"

struct cor_client_call {
    struct cor_ref ref; /* the loop's, the caller's, and that of cancel_mail */
    struct cor_client_work work;
    struct cor_runtime *runtime; /* outlives the client */
    struct cor_request req;      /* its strings are in `text`, its object is a reference */
    const struct cor_request_cbs *cbs;
    void *arg;
    struct cor_mail mail, cancel_mail;
    atomic_bool cancel_asked;
    /* The loop's. */
    struct cor_dynamic_request *dynamic; /* while under way, one of these three is set */
    struct cor_pager *pager;
    struct cor_resuming_watch *resuming;
    struct cor_timer deadline;
    char text[];
};

static const size_t request_texts[] = {
    offsetof(struct cor_request, resource.group),
    offsetof(struct cor_request, resource.version),
    offsetof(struct cor_request, resource.plural),
    offsetof(struct cor_request, ns),
    offsetof(struct cor_request, name),
    offsetof(struct cor_request, subresource),
    offsetof(struct cor_request, label_selector),
    offsetof(struct cor_request, field_selector),
    offsetof(struct cor_request, resource_version),
    offsetof(struct cor_request, resource_version_match),
    offsetof(struct cor_request, continue_token),
    offsetof(struct cor_request, field_manager),
    offsetof(struct cor_request, field_validation),
    offsetof(struct cor_request, propagation),
    offsetof(struct cor_request, uid_is),
    offsetof(struct cor_request, resource_version_is),
};

static const char **request_text_at(const struct cor_request *req, size_t i)
{
    return (const char **)((char *)req + request_texts[i]);
}

static size_t request_text_bytes(const struct cor_request *req)
{
    size_t n = req->patch.n;

    for (size_t i = 0; i < COR_ARRAY_LEN(request_texts); i++)
        n += *request_text_at(req, i) ? strlen(*request_text_at(req, i)) + 1 : 0;
    return n;
}

static void copy_request(struct cor_client_call *call, const struct cor_request *req)
{
    char *to = call->text;
    size_t n;

    call->req = *req;
    for (size_t i = 0; i < COR_ARRAY_LEN(request_texts); i++) {
        const char *from = *request_text_at(req, i);

        if (!from)
            continue;
        n = strlen(from) + 1;
        *request_text_at(&call->req, i) = memcpy(to, from, n);
        to += n;
    }
    if (req->patch.n > 0)
        memcpy(to, req->patch.p, req->patch.n);
    call->req.patch = cor_str(to, req->patch.n);
    if (req->object)
        cor_object_ref(req->object);
}

struct cor_client_call *cor_client_call_unref(struct cor_client_call *call)
{
    if (!call || !cor_ref_put(&call->ref))
        return NULL;
    cor_object_unref(call->req.object);
    return cor_free(call);
}

static void call_on_gone(struct cor_client_work *work)
{
    cor_client_call_unref(COR_CONTAINER_OF(work, struct cor_client_call, work));
}

static void call_finish(struct cor_client_call *call, const struct cor_response *response)
{
    call->dynamic = NULL;
    call->pager = NULL;
    call->resuming = NULL;
    cor_timer_cancel(&call->deadline);
    cor_client_work_end(&call->work);
    cor_client_leave(call->work.client);
    call->cbs->on_done(call->arg, response);
    cor_client_work_release(&call->work);
}

static void call_fail(struct cor_client_call *call, const struct cor_status *error)
{
    const struct cor_response response = {.error = error, .remaining = -1};

    call_finish(call, &response);
}

int cor_client_give_up(struct cor_status *st, int r, const char *text, const char *failure)
{
    return cor_status_set(st, r, "%s%s%s", text, failure[0] ? "; the last failure: " : "", failure);
}

static const char *failure_of(const struct cor_client_call *call)
{
    return call->dynamic    ? cor_dynamic_failure(call->dynamic)
           : call->pager    ? cor_pager_failure(call->pager)
           : call->resuming ? cor_resuming_watch_failure(call->resuming)
                            : "";
}

/* Ends a call that is under way, without an answer. */
static void call_break_off(struct cor_client_call *call, int r, const char *text)
{
    struct cor_status why;

    cor_status_init(&why);
    cor_client_give_up(&why, r, text, failure_of(call));
    if (call->dynamic)
        cor_dynamic_cancel(call->dynamic);
    if (call->pager)
        cor_pager_cancel(call->pager);
    if (call->resuming)
        cor_resuming_watch_cancel(call->resuming);
    call_fail(call, &why);
    cor_status_deinit(&why);
}

static void call_give_up(struct cor_client_work *work, const char *text)
{
    call_break_off(COR_CONTAINER_OF(work, struct cor_client_call, work), -COR_ECANCELED, text);
}

static void on_deadline(struct cor_timer *timer)
{
    call_break_off(COR_CONTAINER_OF(timer, struct cor_client_call, deadline), -COR_ETIMEOUT,
                   "the deadline of the request has passed");
}

static void on_done(void *arg, const struct cor_response *response)
{
    call_finish(arg, response);
}

static void on_watch_done(void *arg, const struct cor_status *error)
{
    call_fail(arg, error);
}

static int on_item(void *arg, struct cor_object *object)
{
    struct cor_client_call *call = arg;

    return call->cbs->on_item ? call->cbs->on_item(call->arg, object) : 0;
}

static int on_event(void *arg, const struct cor_watch_event *event)
{
    struct cor_client_call *call = arg;

    return call->cbs->on_event ? call->cbs->on_event(call->arg, event) : 0;
}

/* `verb` is that of the request, which is a public one. */
static struct cor_api_operation operation_of(const struct cor_request *req, enum cor_api_verb verb)
{
    bool has_object = verb == COR_API_VERB_CREATE || verb == COR_API_VERB_UPDATE;

    return (struct cor_api_operation){
        .verb = verb,
        .at = {.gvr = {cor_strz(req->resource.group), cor_strz(req->resource.version),
                       cor_strz(req->resource.plural)},
               .ns = cor_strz(req->ns),
               .name = cor_strz(req->name),
               .subresource = cor_strz(req->subresource)},
        .metadata_only = req->metadata_only,
        .query = {.label_selector = cor_strz(req->label_selector),
                  .field_selector = cor_strz(req->field_selector),
                  .list = {.resource_version = cor_strz(req->resource_version),
                           .resource_version_match = cor_strz(req->resource_version_match),
                           .continue_token = cor_strz(req->continue_token),
                           .limit = req->limit,
                           .allow_bookmarks = req->allow_bookmarks,
                           .send_initial_events = req->send_initial_events ? COR_TRUE : COR_UNSET},
                  .timeout_s = req->server_timeout},
        .object = has_object ? req->object : NULL,
        .patch_type = req->patch_type,
        .patch = req->patch,
        .write = {.dry_run = req->dry_run,
                  .field_manager = cor_strz(req->field_manager),
                  .field_validation = cor_strz(req->field_validation),
                  .force = req->force ? COR_TRUE : COR_UNSET},
        .removal = {.dry_run = req->dry_run,
                    .has_grace = req->has_grace,
                    .grace_s = req->grace_s,
                    .propagation = cor_strz(req->propagation),
                    .uid = cor_strz(req->uid_is),
                    .resource_version = cor_strz(req->resource_version_is)},
    };
}

/* A pager pauses when this returns a positive number, which the public on_item may not ask for. */
static int on_page_item(void *arg, struct cor_object *object)
{
    int r = on_item(arg, object);

    return r < 0 ? r : 0;
}

static void on_pages_done(void *arg, struct cor_str resource_version,
                          const struct cor_status *error)
{
    const struct cor_response response = {
        .error = error, .resource_version = resource_version, .remaining = -1};

    call_finish(arg, &response);
}

static void on_whole_list(void *arg, const struct cor_paged_list *list,
                          const struct cor_status *error)
{
    struct cor_status why = {0};
    int r = 0;

    for (size_t i = 0; list && r == 0 && i < list->n; i++)
        r = on_page_item(arg, list->objects[i]);
    if (r < 0) {
        cor_status_set(&why, r, "%s", cor_err_text(r));
        error = &why;
    }
    on_pages_done(arg, list ? list->resource_version : COR_STR(""), error);
    cor_status_deinit(&why);
}

static int call_begin_pages(struct cor_client_call *call, const struct cor_api_operation *op,
                            struct cor_status *reterr)
{
    static const struct cor_pager_each_cbs each = {on_page_item, on_pages_done};
    const struct cor_pager_opts opts = {
        .client = call->work.client->rest, .op = *op, .timeout_ms = call->req.timeout_ms};

    return call->req.paging == COR_PAGING_EACH
               ? cor_pager_each(&opts, COR_PAGER_PREFETCH, &each, call, &call->pager, reterr)
               : cor_pager_list(&opts, on_whole_list, call, &call->pager, reterr);
}

static int call_begin_resuming(struct cor_client_call *call, const struct cor_api_operation *op,
                               struct cor_status *reterr)
{
    const struct cor_resuming_watch_opts opts = {.client = call->work.client->rest,
                                                 .op = *op,
                                                 .tells_bookmarks = call->req.allow_bookmarks,
                                                 .on_event = on_event,
                                                 .on_done = on_watch_done,
                                                 .arg = call};

    return cor_resuming_watch_open(&opts, &call->resuming, reterr);
}

static int call_begin(struct cor_client_call *call, struct cor_status *reterr)
{
    static const enum cor_api_verb verbs[] = {
        [COR_VERB_GET] = COR_API_VERB_GET,
        [COR_VERB_LIST] = COR_API_VERB_LIST,
        [COR_VERB_WATCH] = COR_API_VERB_WATCH,
        [COR_VERB_CREATE] = COR_API_VERB_CREATE,
        [COR_VERB_UPDATE] = COR_API_VERB_UPDATE,
        [COR_VERB_PATCH] = COR_API_VERB_PATCH,
        [COR_VERB_DELETE] = COR_API_VERB_DELETE,
        [COR_VERB_DELETE_COLLECTION] = COR_API_VERB_DELETECOLLECTION,
    };
    static const struct cor_dynamic_cbs cbs = {
        .on_item = on_item, .on_event = on_event, .on_done = on_done};
    const struct cor_request *req = &call->req;
    const struct cor_dynamic_call to = {.client = call->work.client->rest,
                                        .timeout_ms = req->timeout_ms,
                                        .deadline_ms =
                                            req->verb == COR_VERB_WATCH ? 0 : req->timeout_ms,
                                        .cbs = &cbs,
                                        .arg = call};
    struct cor_api_operation op;

    if ((size_t)req->verb >= COR_ARRAY_LEN(verbs))
        return cor_status_set(reterr, -COR_EINVAL, "there is no verb %d", (int)req->verb);
    if (!req->object && (req->verb == COR_VERB_CREATE || req->verb == COR_VERB_UPDATE))
        return cor_status_set(reterr, -COR_EINVAL, "the request has no object");
    op = operation_of(req, verbs[req->verb]);
    if (req->verb == COR_VERB_LIST && req->paging != COR_PAGING_NONE)
        return call_begin_pages(call, &op, reterr);
    if (req->verb == COR_VERB_WATCH && req->resumes)
        return call_begin_resuming(call, &op, reterr);
    return cor_dynamic_send(&to, &op, &call->dynamic, reterr);
}

static void on_start(struct cor_mail *mail)
{
    struct cor_client_call *call = COR_CONTAINER_OF(mail, struct cor_client_call, mail);
    COR_CLEANUP(cor_cancel_unrefp) struct cor_cancel *cancel = COR_STEAL(call->req.cancel);
    uint64_t deadline_ms = call->req.timeout_ms;
    struct cor_status why;
    int r = 0;

    cor_timer_init(&call->deadline, call->runtime->loop, on_deadline);
    if (!cor_client_work_begin(&call->work, cancel))
        return;
    if (atomic_load(&call->cancel_asked)) {
        call_give_up(&call->work, COR_CLIENT_CANCELED);
        return;
    }
    cor_status_init(&why);
    if (deadline_ms > 0)
        r = cor_timer_set(&call->deadline, deadline_ms);
    if (r < 0)
        cor_status_set(&why, r, "%s", cor_err_text(r));
    else
        r = call_begin(call, &why);
    if (r < 0)
        call_fail(call, &why);
    cor_status_deinit(&why);
}

static void on_cancel(struct cor_mail *mail)
{
    struct cor_client_call *call = COR_CONTAINER_OF(mail, struct cor_client_call, cancel_mail);

    if (!call->work.is_over)
        call_give_up(&call->work, COR_CLIENT_CANCELED);
    cor_client_call_unref(call);
}

void cor_client_call_cancel(struct cor_client_call *call)
{
    if (cor_runtime_is_forked(call->runtime) || atomic_exchange(&call->cancel_asked, true))
        return;
    cor_ref_get(&call->ref);
    cor_loop_post_always(call->runtime->loop, &call->cancel_mail);
}

int cor_client_send(struct cor_client *client, const struct cor_request *req,
                    const struct cor_request_cbs *cbs, void *arg, struct cor_client_call **ret_call)
{
    struct cor_client_call *call;
    COR_CLEANUP(cor_request_texts_deinit) struct cor_request_texts texts = {0};
    struct cor_request own;
    int r = cor_sized_copy(&own, sizeof(own), req);

    if (r == 0)
        r = cor_request_take_object(&own, &texts);
    if (r == 0)
        r = cor_client_enter(client);
    if (r < 0)
        return r;
    /* The server is told of the timeout, too, except for a watch, which has server_timeout. */
    if (own.verb != COR_VERB_WATCH)
        own.timeout_ms = cor_client_timeout_ms(client, own.timeout_ms);
    call = cor_calloc(1, sizeof(*call) + request_text_bytes(&own) + 1);
    if (!call) {
        cor_client_leave(client);
        return -COR_ENOMEM;
    }
    cor_ref_init(&call->ref);
    call->work.client = client;
    call->work.give_up = call_give_up;
    call->work.on_gone = call_on_gone;
    call->runtime = client->runtime;
    copy_request(call, &own);
    call->cbs = cbs;
    call->arg = arg;
    call->mail.on_mail = on_start;
    call->cancel_mail.on_mail = on_cancel;
    atomic_init(&call->cancel_asked, false);
    /* The call has what it needs of the object. The handle must be there when the mail arrives. */
    call->req.of = NULL;
    if (call->req.cancel)
        cor_cancel_ref(call->req.cancel);
    if (ret_call) {
        cor_ref_get(&call->ref);
        *ret_call = call;
    }
    cor_loop_post_always(call->runtime->loop, &call->mail);
    return 0;
}
