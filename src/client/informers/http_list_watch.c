/* A list-watch over HTTP, for one reflector. The reflector asks (list, watch, cancel, wake_at), the
 * dynamic client sends, and its callbacks hand items and events to the reflector as they arrive.
 *
 * Each request changes `serial`: a callback that finds another serial after the reflector has
 * returned knows that its request was cancelled, and ends with -COR_ECANCELED. A request that
 * cannot be sent is reported from a timer, because a driver must not answer inside its call. Both
 * timers are always set, far away when idle, so that moving them needs no memory. Thread: the
 * loop's of its client. */
#include "client/informers/http_list_watch.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "client/runtime/runtime_int.h"
#include "coracle/informers.h"
#include "kit/dynamic/dynamic_client.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "meta/status/status.h"

struct cor_http_list_watch {
    struct cor_list_watch base;
    struct cor_http_list_watch_opts opts; /* with copies of the strings, in `strings` */
    char *strings;
    struct cor_timer timer; /* the reflector's; both are always set, so that moving cannot fail */
    struct cor_timer soon;  /* a request that could not be sent is told */

    /* The request under way. */
    enum { NONE, LIST, WATCH } request;
    struct cor_dynamic_request *call; /* NULL: none was sent, or it is over */
    uint64_t serial; /* changes with each request: tells a callback that its own was cancelled */
    struct cor_object *objects[COR_HTTP_LIST_WATCH_BATCH];
    size_t nobjects;
    struct cor_status why; /* a request that could not be sent */
};

static struct cor_http_list_watch *http_of(struct cor_reflector_driver *d)
{
    return COR_CONTAINER_OF(cor_list_watch_of(d), struct cor_http_list_watch, base);
}

static uint64_t http_now_ms(const struct cor_http_list_watch *lw)
{
    return cor_loop_now_ms(lw->opts.loop);
}

static void http_drop_objects(struct cor_http_list_watch *lw)
{
    while (lw->nobjects > 0)
        cor_object_unref(lw->objects[--lw->nobjects]);
}

static void http_end_request(struct cor_http_list_watch *lw)
{
    lw->request = NONE;
    lw->call = NULL;
    lw->serial++;
    http_drop_objects(lw);
}

/* Hands what was gathered to the reflector; `end` NULL: there is more to come. */
static void http_give_page(struct cor_http_list_watch *lw, const struct cor_response *end)
{
    struct cor_object *objects[COR_HTTP_LIST_WATCH_BATCH];
    struct cor_list_page page = {.objects = objects, .n = lw->nobjects, .more_parts = !end};

    if (end) {
        page.resource_version = end->resource_version;
        page.continue_token = end->continue_token;
    }
    memcpy(objects, lw->objects, page.n * sizeof(objects[0]));
    lw->nobjects = 0;
    cor_reflector_list_page(lw->base.reflector, http_now_ms(lw), &page);
    for (size_t i = 0; i < page.n; i++)
        cor_object_unref(objects[i]);
}

static int http_on_item(void *arg, struct cor_object *object)
{
    struct cor_http_list_watch *lw = arg;
    uint64_t serial = lw->serial;

    lw->objects[lw->nobjects++] = cor_object_ref(object);
    if (lw->nobjects == COR_HTTP_LIST_WATCH_BATCH)
        http_give_page(lw, NULL);
    return lw->serial == serial ? 0 : -COR_ECANCELED;
}

static void http_on_list_done(void *arg, const struct cor_response *response)
{
    struct cor_http_list_watch *lw = arg;
    uint64_t serial = lw->serial;

    lw->call = NULL;
    if (response->error) {
        http_end_request(lw);
        cor_reflector_list_failed(lw->base.reflector, http_now_ms(lw), response->error);
        return;
    }
    http_give_page(lw, response);
    if (lw->serial == serial)
        http_end_request(lw);
}

static int http_on_open(void *arg)
{
    struct cor_http_list_watch *lw = arg;
    uint64_t serial = lw->serial;

    cor_reflector_watch_opened(lw->base.reflector, http_now_ms(lw));
    return lw->serial == serial ? 0 : -COR_ECANCELED;
}

static int http_on_event(void *arg, const struct cor_watch_event *event)
{
    struct cor_http_list_watch *lw = arg;
    const struct cor_reflector_event told = {
        .type = event->type, .object = event->object, .status = event->status};
    uint64_t serial = lw->serial;

    cor_reflector_watch_event(lw->base.reflector, http_now_ms(lw), &told);
    return lw->serial == serial ? 0 : -COR_ECANCELED;
}

static void http_on_watch_done(void *arg, const struct cor_response *response)
{
    struct cor_http_list_watch *lw = arg;

    http_end_request(lw);
    cor_reflector_watch_ended(lw->base.reflector, http_now_ms(lw), response->error);
}

/* What the reflector asks for, as the program wants it. */
static struct cor_list_query http_query_of(const struct cor_http_list_watch *lw,
                                           const struct cor_list_options *opts, uint32_t timeout_s)
{
    struct cor_informer_request req =
        cor_informer_request_of(lw->request == LIST ? COR_VERB_LIST : COR_VERB_WATCH, opts,
                                lw->opts.label_selector, lw->opts.field_selector, timeout_s);
    struct cor_list_query query = {.list = *opts};

    for (size_t i = 0; i < COR_ARRAY_LEN(lw->opts.tweaks); i++)
        if (lw->opts.tweaks[i].fn)
            lw->opts.tweaks[i].fn(lw->opts.tweaks[i].arg, &req);
    query.label_selector = req.label_selector;
    query.field_selector = req.field_selector;
    query.list.resource_version = req.resource_version;
    query.list.resource_version_match = req.resource_version_match;
    query.list.continue_token = req.continue_token;
    query.list.limit = req.limit;
    query.list.allow_bookmarks = req.allow_bookmarks;
    query.timeout_s = req.server_timeout;
    return query;
}

/* A server that was not told when to end is given `untold_ms`. */
static uint64_t http_deadline_of(const struct cor_list_query *query, uint64_t untold_ms)
{
    return query->timeout_s ? (uint64_t)query->timeout_s * 1000 + COR_HTTP_LIST_WATCH_SLACK_MS
                            : untold_ms;
}

/* Sends what the reflector asks for. `untold_ms` is for http_deadline_of(). */
static void http_send(struct cor_http_list_watch *lw, const struct cor_list_options *opts,
                      uint32_t timeout_s, uint64_t untold_ms, const struct cor_dynamic_cbs *cbs)
{
    const struct cor_api_operation op = {.verb = lw->request == LIST ? COR_API_VERB_LIST
                                                                     : COR_API_VERB_WATCH,
                                         .at = lw->opts.at,
                                         .metadata_only = lw->opts.metadata_only,
                                         .query = http_query_of(lw, opts, timeout_s)};
    const struct cor_dynamic_call call = {.client = lw->opts.client,
                                          .wire = lw->opts.wire,
                                          .deadline_ms = http_deadline_of(&op.query, untold_ms),
                                          .cbs = cbs,
                                          .arg = lw};

    /* A driver must not answer before it returns. */
    if (cor_dynamic_send(&call, &op, &lw->call, &lw->why) < 0)
        cor_timer_set(&lw->soon, 0);
}

static void http_on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    static const struct cor_dynamic_cbs cbs = {.on_item = http_on_item,
                                               .on_done = http_on_list_done};
    struct cor_http_list_watch *lw = http_of(d);

    http_end_request(lw);
    lw->request = LIST;
    http_send(lw, opts, 0, COR_HTTP_LIST_WATCH_LIST_TIMEOUT_MS, &cbs);
}

static void http_on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                          uint32_t timeout_s)
{
    static const struct cor_dynamic_cbs cbs = {
        .on_open = http_on_open, .on_event = http_on_event, .on_done = http_on_watch_done};
    struct cor_http_list_watch *lw = http_of(d);

    http_end_request(lw);
    lw->request = WATCH;
    http_send(lw, opts, timeout_s, 0, &cbs);
}

static void http_on_cancel(struct cor_reflector_driver *d)
{
    struct cor_http_list_watch *lw = http_of(d);
    struct cor_dynamic_request *call = lw->call;

    http_end_request(lw);
    if (call)
        cor_dynamic_cancel(call);
}

static void http_on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    struct cor_http_list_watch *lw = http_of(d);
    uint64_t now = http_now_ms(lw);

    cor_timer_set(&lw->timer, at_ms == COR_REFLECTOR_NEVER ? UINT64_MAX
                              : at_ms > now                ? at_ms - now
                                                           : 0);
}

static const struct cor_reflector_driver_ops driver_ops = {http_on_list, http_on_watch,
                                                           http_on_cancel, http_on_wake_at};

static void http_on_timer(struct cor_timer *timer)
{
    struct cor_http_list_watch *lw = COR_CONTAINER_OF(timer, struct cor_http_list_watch, timer);

    cor_timer_set(&lw->timer, UINT64_MAX);
    cor_reflector_tick(lw->base.reflector, http_now_ms(lw));
}

static void http_on_soon(struct cor_timer *timer)
{
    struct cor_http_list_watch *lw = COR_CONTAINER_OF(timer, struct cor_http_list_watch, soon);
    struct cor_status why = {0};
    bool is_list = lw->request == LIST;

    cor_timer_set(&lw->soon, UINT64_MAX);
    if (lw->request == NONE || lw->call)
        return;
    cor_status_move(&why, &lw->why);
    http_end_request(lw);
    if (is_list)
        cor_reflector_list_failed(lw->base.reflector, http_now_ms(lw), &why);
    else
        cor_reflector_watch_ended(lw->base.reflector, http_now_ms(lw), &why);
    cor_status_deinit(&why);
}

static int http_copy_strings(struct cor_http_list_watch *lw,
                             const struct cor_http_list_watch_opts *from)
{
    struct cor_str *to[] = {&lw->opts.at.gvr.group,    &lw->opts.at.gvr.version,
                            &lw->opts.at.gvr.resource, &lw->opts.at.ns,
                            &lw->opts.label_selector,  &lw->opts.field_selector};

    lw->opts = *from;
    return cor_str_gather(to, COR_ARRAY_LEN(to), &lw->strings);
}

/* The loop is the client's; the two timers are set from the beginning, far away. */
static int http_attach(struct cor_list_watch *base, struct cor_runtime *runtime)
{
    const struct cor_http_list_watch *lw = COR_CONTAINER_OF(base, struct cor_http_list_watch, base);

    return runtime->loop == lw->opts.loop ? 0 : -COR_EINVAL;
}

static void http_detach(struct cor_list_watch *base)
{
}

static void http_free_on_loop(void *arg)
{
    cor_http_list_watch_free(arg);
}

static void http_free(struct cor_list_watch *base)
{
    struct cor_http_list_watch *lw = COR_CONTAINER_OF(base, struct cor_http_list_watch, base);

    if (lw->opts.runtime)
        cor_runtime_run(lw->opts.runtime, http_free_on_loop, lw);
    else
        cor_http_list_watch_free(lw);
}

static const struct cor_list_watch_ops http_ops = {http_attach, http_detach, http_free};

int cor_http_list_watch_new(const struct cor_http_list_watch_opts *opts,
                            struct cor_http_list_watch **ret_lw)
{
    struct cor_http_list_watch *lw = cor_calloc(1, sizeof(*lw));
    int r;

    if (!lw)
        return -COR_ENOMEM;
    lw->base.driver.ops = &driver_ops;
    lw->base.ops = &http_ops;
    cor_timer_init(&lw->timer, opts->loop, http_on_timer);
    cor_timer_init(&lw->soon, opts->loop, http_on_soon);
    r = http_copy_strings(lw, opts);
    if (r == 0)
        r = cor_timer_set(&lw->timer, UINT64_MAX);
    if (r == 0)
        r = cor_timer_set(&lw->soon, UINT64_MAX);
    if (r < 0) {
        cor_http_list_watch_free(lw);
        return r;
    }
    *ret_lw = lw;
    return 0;
}

struct cor_http_list_watch *cor_http_list_watch_free(struct cor_http_list_watch *lw)
{
    if (!lw)
        return NULL;
    cor_timer_cancel(&lw->timer);
    cor_timer_cancel(&lw->soon);
    http_on_cancel(&lw->base.driver);
    cor_status_deinit(&lw->why);
    cor_free(lw->strings);
    return cor_free(lw);
}

struct cor_list_watch *cor_http_list_watch_base(struct cor_http_list_watch *lw)
{
    return &lw->base;
}

struct making {
    struct cor_http_list_watch_opts opts;
    struct cor_http_list_watch *lw;
    int r;
};

static void http_make_on_loop(void *arg)
{
    struct making *m = arg;

    m->r = cor_http_list_watch_new(&m->opts, &m->lw);
}

int cor_list_watch_from_client(struct cor_client *client, const struct cor_informer_opts *opts,
                               struct cor_list_watch **ret_list_watch)
{
    struct cor_informer_opts o;
    struct making m = {.opts = {.loop = client->runtime->loop,
                                .runtime = client->runtime,
                                .client = client->rest}};
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return r;
    if (cor_strz(o.resource.version).n == 0 || cor_strz(o.resource.plural).n == 0)
        return -COR_EINVAL;
    m.opts.at.gvr = (struct cor_gvr){cor_strz(o.resource.group), cor_strz(o.resource.version),
                                     cor_strz(o.resource.plural)};
    m.opts.at.ns = cor_strz(o.ns);
    m.opts.label_selector = cor_strz(o.label_selector);
    m.opts.field_selector = cor_strz(o.field_selector);
    m.opts.metadata_only = o.metadata_only;
    m.opts.wire = o.transform || o.metadata_only ? NULL : o.wire;
    m.opts.tweaks[0] = (struct cor_list_tweak){o.tweak, o.tweak_arg};
    r = cor_runtime_run(client->runtime, http_make_on_loop, &m);
    r = r < 0 ? r : m.r;
    if (r == 0)
        *ret_list_watch = &m.lw->base;
    return r;
}
