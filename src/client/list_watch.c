#include "client/list_watch.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "coracle/version.h"
#include "http/url.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "meta/object_received.h"
#include "meta/status.h"
#include "json/scan.h"
#include "json/splitter.h"

#define TARGET_MAX (64u * 1024)
#define ERROR_MAX  (64u * 1024)
#define TYPE_MAX   256
#define RV_MAX     COR_REFLECTOR_RV_MAX
#define TOKEN_MAX  (64u * 1024)

enum request { NONE, LIST, WATCH };

struct cor_list_watch {
    struct cor_reflector_driver driver;
    struct cor_reflector *reflector;
    struct cor_list_watch_opts opts; /* with copies of the strings, in `strings` */
    char *strings;
    struct cor_buf authorization;
    struct cor_timer timer; /* the reflector's; both are always set, so that moving cannot fail */
    struct cor_timer soon;  /* a request that could not be sent is told */
    struct cor_list_watch_stats stats;

    /* The request under way. */
    enum request request;
    struct cor_http_call *call;
    uint64_t serial; /* changes with each request: tells a callback that its own was cancelled */
    int status;
    struct cor_json_splitter splitter;
    struct cor_buf error; /* the body of an answer that is none of 200 */
    struct cor_object *objects[COR_LIST_WATCH_BATCH];
    size_t nobjects;
    struct cor_buf kind, api_version; /* of a list's items */
    struct cor_buf rv, token;         /* of the list */
    struct cor_status why;            /* what was wrong with an object */
};

static struct cor_list_watch *of(struct cor_reflector_driver *d)
{
    return COR_CONTAINER_OF(d, struct cor_list_watch, driver);
}

struct cor_list_watch *cor_list_watch_of(struct cor_reflector_driver *driver)
{
    return of(driver);
}

static uint64_t now_ms(const struct cor_list_watch *lw)
{
    return cor_loop_now_ms(lw->opts.loop);
}

static void drop_objects(struct cor_list_watch *lw)
{
    while (lw->nobjects > 0)
        cor_object_unref(lw->objects[--lw->nobjects]);
}

/* Forgets what the last answer brought. */
static void clear(struct cor_list_watch *lw)
{
    lw->status = 0;
    drop_objects(lw);
    cor_json_splitter_deinit(&lw->splitter);
    cor_buf_reset(&lw->error);
    cor_buf_reset(&lw->kind);
    cor_buf_reset(&lw->api_version);
    cor_buf_reset(&lw->rv);
    cor_buf_reset(&lw->token);
}

static void end_request(struct cor_list_watch *lw)
{
    lw->request = NONE;
    lw->call = NULL;
    lw->serial++;
    clear(lw);
}

/* Ends the request and tells the reflector why. */
static void fail(struct cor_list_watch *lw, struct cor_status *take_why)
{
    struct cor_status why = *take_why;
    enum request request = lw->request;

    cor_status_init(take_why);
    end_request(lw);
    if (request == LIST)
        cor_reflector_list_failed(lw->reflector, now_ms(lw), &why);
    else
        cor_reflector_watch_ended(lw->reflector, now_ms(lw), &why);
    cor_status_deinit(&why);
}

/* Hands what was gathered to the reflector. False: that led to a cancel. */
static bool give_page(struct cor_list_watch *lw, bool more_parts)
{
    uint64_t serial = lw->serial;
    struct cor_object *objects[COR_LIST_WATCH_BATCH];
    struct cor_list_page page = {
        .objects = objects,
        .n = lw->nobjects,
        .more_parts = more_parts,
        .resource_version = cor_buf_str(&lw->rv),
        .continue_token = cor_buf_str(&lw->token),
    };

    memcpy(objects, lw->objects, page.n * sizeof(objects[0]));
    lw->nobjects = 0;
    cor_reflector_list_page(lw->reflector, now_ms(lw), &page);
    for (size_t i = 0; i < page.n; i++)
        cor_object_unref(objects[i]);
    return lw->serial == serial;
}

static int on_item(void *arg, struct cor_str json)
{
    struct cor_list_watch *lw = arg;
    struct cor_object *object;
    int r = cor_object_received(json, cor_buf_str(&lw->kind), cor_buf_str(&lw->api_version),
                                    &object, &lw->why);

    if (r < 0)
        return r;
    lw->objects[lw->nobjects++] = object;
    if (lw->nobjects == COR_LIST_WATCH_BATCH && !give_page(lw, true))
        return -COR_ECANCELED;
    return 0;
}

static int keep_text(struct cor_buf *to, struct cor_str value)
{
    struct cor_str raw;

    cor_buf_reset(to);
    return cor_json_to_raw(value, &raw) == 0 ? cor_buf_adds(to, raw) : 0;
}

/* "PodList" is a list of "Pod"; a list of another name says nothing of its items. */
static int keep_kind(struct cor_list_watch *lw, struct cor_str value)
{
    int r = keep_text(&lw->kind, value);
    size_t n = lw->kind.n, tail = sizeof("List") - 1;

    if (r == 0)
        cor_buf_truncate(&lw->kind,
                         cor_str_ends(cor_buf_str(&lw->kind), COR_STR("List")) ? n - tail : 0);
    return r;
}

static int on_member(void *arg, struct cor_str raw_key, struct cor_str value)
{
    struct cor_list_watch *lw = arg;
    struct cor_str field;
    int r = 0;

    if (cor_str_eqz(raw_key, "kind"))
        return keep_kind(lw, value);
    if (cor_str_eqz(raw_key, "apiVersion"))
        return keep_text(&lw->api_version, value);
    if (!cor_str_eqz(raw_key, "metadata"))
        return 0;
    if (cor_json_get(value, COR_STR("resourceVersion"), COR_JSON_ANY_ORDER, &field) == 0)
        r = keep_text(&lw->rv, field);
    if (r == 0 && cor_json_get(value, COR_STR("continue"), COR_JSON_ANY_ORDER, &field) == 0)
        r = keep_text(&lw->token, field);
    return r;
}

static enum cor_watch_type type_of(struct cor_str raw)
{
    static const struct {
        const char *name;
        enum cor_watch_type type;
    } types[] = {
        {"ADDED", COR_WATCH_ADDED},     {"MODIFIED", COR_WATCH_MODIFIED},
        {"DELETED", COR_WATCH_DELETED}, {"BOOKMARK", COR_WATCH_BOOKMARK},
        {"ERROR", COR_WATCH_ERROR},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(types); i++)
        if (cor_str_eqz(raw, types[i].name))
            return types[i].type;
    return COR_WATCH_UNKNOWN;
}

/* One document of a watch: {"type":…,"object":…}. */
static int on_document(void *arg, struct cor_str json)
{
    struct cor_list_watch *lw = arg;
    uint64_t serial = lw->serial;
    struct cor_reflector_event event = {.type = COR_WATCH_UNKNOWN};
    struct cor_str type, raw, body;
    int r = 0;

    if (cor_json_get(json, COR_STR("type"), COR_JSON_ANY_ORDER, &type) < 0 ||
        cor_json_to_raw(type, &raw) < 0 ||
        cor_json_get(json, COR_STR("object"), COR_JSON_ANY_ORDER, &body) < 0)
        return cor_status_set(
            &lw->why, -COR_EINVAL,
            "unable to decode an event from the watch stream: type and object are "
            "expected");
    event.type = type_of(raw);
    if (event.type == COR_WATCH_ERROR) {
        cor_status_read(&lw->why, 500, body);
        event.status = &lw->why;
    } else {
        r = cor_object_received(body, COR_STR(""), COR_STR(""), &event.object, &lw->why);
    }
    if (r < 0)
        return r;
    cor_reflector_watch_event(lw->reflector, now_ms(lw), &event);
    cor_object_unref(event.object);
    return lw->serial == serial ? 0 : -COR_ECANCELED;
}

static const struct cor_json_splitter_cbs list_cbs = {on_item, on_member};
static const struct cor_json_splitter_cbs watch_cbs = {on_document, NULL};

static int on_head(void *arg, int status, const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_list_watch *lw = arg;
    uint64_t serial = lw->serial;

    lw->status = status;
    if (status != 200 || lw->request != WATCH)
        return 0;
    cor_reflector_watch_opened(lw->reflector, now_ms(lw));
    return lw->serial == serial ? 0 : -COR_ECANCELED;
}

static int on_body(void *arg, struct cor_str piece)
{
    struct cor_list_watch *lw = arg;
    size_t room = ERROR_MAX - lw->error.n;

    if (lw->status == 200)
        return cor_json_splitter_feed(&lw->splitter, piece);
    return cor_buf_adds(&lw->error, cor_str(piece.p, piece.n < room ? piece.n : room));
}

/* A stream that broke is a plain end, as client-go's; so is one that a silent server left open. */
static bool is_plain_end(const struct cor_list_watch *lw, int r)
{
    return lw->request == WATCH && lw->status == 200 &&
           (r == 0 || r == -COR_EIO || r == -COR_ETIMEOUT);
}

static void on_done(void *arg, int r, const char *text)
{
    struct cor_list_watch *lw = arg;
    struct cor_status why = {0};

    lw->call = NULL;
    if (is_plain_end(lw, r)) {
        end_request(lw);
        cor_reflector_watch_ended(lw->reflector, now_ms(lw), NULL);
        return;
    }
    if (r == 0 && lw->status == 200)
        r = cor_json_splitter_end(&lw->splitter);
    else if (r == 0)
        r = cor_status_read(&why, lw->status, cor_buf_str(&lw->error));
    if (r == 0) {
        bool ended = give_page(lw, false);

        if (ended)
            end_request(lw);
        return;
    }
    if (lw->why.err != 0)
        cor_status_move(&why, &lw->why);
    else if (why.err == 0)
        cor_status_untyped(&why, r, "%s: %.*s", text[0] ? text : cor_err_text(r),
                           COR_STR_ARG(lw->opts.path));
    fail(lw, &why);
}

static const struct cor_http_call_cbs call_cbs = {on_head, on_body, on_done};

static int add_param(struct cor_buf *to, const char *name, struct cor_str value)
{
    int r;

    if (value.n == 0)
        return 0;
    r = cor_buf_addf(to, "%c%s=", memchr(to->p, '?', to->n) ? '&' : '?', name);
    return r < 0 ? r : cor_url_escape(value, COR_URL_QUERY, to);
}

static int add_number(struct cor_buf *to, const char *name, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)value);

    return value ? add_param(to, name, cor_str(text, (size_t)n)) : 0;
}

static int write_target(struct cor_list_watch *lw, const struct cor_list_options *opts,
                        uint32_t timeout_s, struct cor_buf *to)
{
    struct cor_str yes = COR_STR("true"), none = COR_STR("");
    int r = cor_buf_adds(to, lw->opts.path);

    if (r == 0)
        r = add_param(to, "labelSelector", lw->opts.label_selector);
    if (r == 0)
        r = add_param(to, "fieldSelector", lw->opts.field_selector);
    if (r == 0)
        r = add_param(to, "watch", opts->watch ? yes : none);
    if (r == 0)
        r = add_param(to, "allowWatchBookmarks", opts->allow_bookmarks ? yes : none);
    if (r == 0)
        r = add_param(to, "sendInitialEvents", opts->send_initial_events == COR_TRUE ? yes : none);
    if (r == 0)
        r = add_param(to, "resourceVersion", opts->resource_version);
    if (r == 0)
        r = add_param(to, "resourceVersionMatch", opts->resource_version_match);
    if (r == 0)
        r = add_number(to, "limit", (uint64_t)opts->limit);
    if (r == 0)
        r = add_param(to, "continue", opts->continue_token);
    return r < 0 ? r : add_number(to, "timeoutSeconds", timeout_s);
}

/* client-go's metadata client asks so; a server that knows no such form sends whole objects. */
static struct cor_str accept(const struct cor_list_watch *lw)
{
    if (!lw->opts.metadata_only)
        return COR_STR("application/json");
    return lw->request == LIST
               ? COR_STR("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
                         "application/json")
               : COR_STR("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,"
                         "application/json");
}

static int open_call(struct cor_list_watch *lw, struct cor_str target, uint64_t deadline_ms)
{
    struct cor_http_header headers[3] = {
        {COR_STR("Accept"), accept(lw)},
        {COR_STR("User-Agent"), lw->opts.user_agent},
        {COR_STR("Authorization"), cor_buf_str(&lw->authorization)},
    };
    struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                      .target = target,
                                      .headers = headers,
                                      .nheaders = lw->authorization.n > 0 ? 3 : 2,
                                      .deadline_ms = deadline_ms,
                                      .cbs = &call_cbs,
                                      .arg = lw};

    return cor_http_call_open(lw->opts.client, &opts, &lw->call);
}

static void ask(struct cor_list_watch *lw, enum request request,
                const struct cor_list_options *opts, uint32_t timeout_s)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf target;
    uint64_t deadline_ms = request == LIST ? COR_LIST_WATCH_LIST_TIMEOUT_MS
                                           : (uint64_t)timeout_s * 1000 + COR_LIST_WATCH_SLACK_MS;
    int r;

    cor_buf_init(&target, TARGET_MAX);
    lw->request = request;
    lw->serial++;
    cor_status_deinit(&lw->why);
    r = write_target(lw, opts, timeout_s, &target);
    /* After that: the options may point into the answer that they follow from. */
    clear(lw);
    cor_json_splitter_init(&lw->splitter,
                           request == LIST ? COR_JSON_SPLIT_ITEMS : COR_JSON_SPLIT_DOCUMENTS,
                           COR_LIST_WATCH_OBJECT_MAX, request == LIST ? &list_cbs : &watch_cbs, lw);
    if (r == 0)
        r = open_call(lw, cor_buf_str(&target), deadline_ms);
    /* A driver must not answer before it returns. */
    if (r < 0) {
        cor_status_set(&lw->why, r, "the request could not be sent: %s", cor_err_text(r));
        cor_timer_set(&lw->soon, 0);
    }
}

static void on_list(struct cor_reflector_driver *d, const struct cor_list_options *opts)
{
    of(d)->stats.lists++;
    ask(of(d), LIST, opts, 0);
}

static void on_watch(struct cor_reflector_driver *d, const struct cor_list_options *opts,
                     uint32_t timeout_s)
{
    of(d)->stats.watches++;
    ask(of(d), WATCH, opts, timeout_s);
}

static void on_cancel(struct cor_reflector_driver *d)
{
    struct cor_list_watch *lw = of(d);
    struct cor_http_call *call = lw->call;

    end_request(lw);
    if (call)
        cor_http_call_cancel(call);
}

static void on_wake_at(struct cor_reflector_driver *d, uint64_t at_ms)
{
    struct cor_list_watch *lw = of(d);
    uint64_t now = now_ms(lw);

    cor_timer_set(&lw->timer, at_ms == COR_REFLECTOR_NEVER ? UINT64_MAX
                              : at_ms > now                ? at_ms - now
                                                           : 0);
}

static const struct cor_reflector_driver_ops driver_ops = {on_list, on_watch, on_cancel,
                                                           on_wake_at};

static void on_timer(struct cor_timer *timer)
{
    struct cor_list_watch *lw = COR_CONTAINER_OF(timer, struct cor_list_watch, timer);

    cor_timer_set(&lw->timer, UINT64_MAX);
    cor_reflector_tick(lw->reflector, now_ms(lw));
}

static void on_soon(struct cor_timer *timer)
{
    struct cor_list_watch *lw = COR_CONTAINER_OF(timer, struct cor_list_watch, soon);
    struct cor_status why = {0};

    cor_timer_set(&lw->soon, UINT64_MAX);
    if (lw->request == NONE || lw->call)
        return;
    cor_status_move(&why, &lw->why);
    fail(lw, &why);
}

/* One allocation for all strings. */
static int copy_strings(struct cor_list_watch *lw, const struct cor_list_watch_opts *from)
{
    struct cor_str *to[] = {&lw->opts.path, &lw->opts.label_selector, &lw->opts.field_selector,
                            &lw->opts.user_agent};
    size_t n = 0;
    char *p;

    lw->opts = *from;
    if (lw->opts.user_agent.n == 0)
        lw->opts.user_agent = COR_STR("coracle/" COR_VERSION);
    for (size_t i = 0; i < COR_ARRAY_LEN(to); i++)
        n += to[i]->n;
    p = lw->strings = cor_alloc(n + 1);
    if (!p)
        return -COR_ENOMEM;
    for (size_t i = 0; i < COR_ARRAY_LEN(to); i++) {
        if (to[i]->n > 0)
            memcpy(p, to[i]->p, to[i]->n);
        *to[i] = cor_str(p, to[i]->n);
        p += to[i]->n;
    }
    if (from->token.n == 0)
        return 0;
    lw->opts.token = COR_STR("");
    return cor_buf_addf(&lw->authorization, "Bearer %.*s", COR_STR_ARG(from->token));
}

int cor_list_watch_new(const struct cor_list_watch_opts *opts, struct cor_list_watch **ret_lw)
{
    struct cor_list_watch *lw = cor_calloc(1, sizeof(*lw));
    int r;

    if (!lw)
        return -COR_ENOMEM;
    lw->driver.ops = &driver_ops;
    cor_buf_init(&lw->authorization, TOKEN_MAX);
    cor_buf_init(&lw->error, ERROR_MAX);
    cor_buf_init(&lw->kind, TYPE_MAX);
    cor_buf_init(&lw->api_version, TYPE_MAX);
    cor_buf_init(&lw->rv, RV_MAX);
    cor_buf_init(&lw->token, TOKEN_MAX);
    cor_timer_init(&lw->timer, opts->loop, on_timer);
    cor_timer_init(&lw->soon, opts->loop, on_soon);
    r = copy_strings(lw, opts);
    if (r == 0)
        r = cor_timer_set(&lw->timer, UINT64_MAX);
    if (r == 0)
        r = cor_timer_set(&lw->soon, UINT64_MAX);
    if (r < 0) {
        cor_list_watch_free(lw);
        return r;
    }
    *ret_lw = lw;
    return 0;
}

struct cor_list_watch *cor_list_watch_free(struct cor_list_watch *lw)
{
    if (!lw)
        return NULL;
    cor_timer_cancel(&lw->timer);
    cor_timer_cancel(&lw->soon);
    if (lw->call)
        cor_http_call_cancel(lw->call);
    end_request(lw);
    if (lw->authorization.n > 0)
        explicit_bzero(lw->authorization.p, lw->authorization.n);
    cor_buf_deinit(&lw->authorization);
    cor_buf_deinit(&lw->error);
    cor_buf_deinit(&lw->kind);
    cor_buf_deinit(&lw->api_version);
    cor_buf_deinit(&lw->rv);
    cor_buf_deinit(&lw->token);
    cor_status_deinit(&lw->why);
    cor_free(lw->strings);
    return cor_free(lw);
}

struct cor_reflector_driver *cor_list_watch_driver(struct cor_list_watch *lw)
{
    return &lw->driver;
}

void cor_list_watch_set_reflector(struct cor_list_watch *lw, struct cor_reflector *reflector)
{
    lw->reflector = reflector;
}

struct cor_list_watch_stats cor_list_watch_stats(const struct cor_list_watch *lw)
{
    return lw->stats;
}
