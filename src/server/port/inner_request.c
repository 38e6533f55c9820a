/* clang-format off */
/* A request of the server to itself. It is the sink of its own answer:
 *
 *   cor_inner_request_open ──► cor_api_call ──► the verb: start, take_object, writev, end
 *                                                  │ all of it is only noted here, and the mail posted
 *   a later turn: inner_on_mail ──► on_open, on_item, on_event for what waits ──► room again:
 *   the verb's on_writable ──► … ──► the answer has ended and nothing waits: on_done
 *
 * No callback runs while a verb is on the stack, so a callback may cancel any request and send
 * others. At most COR_INNER_WAITING_MAX objects wait, or COR_INNER_WAITING_BYTES of them; then the
 * verb waits (a list stops reading its cursor, a watch is paused). Waiting objects are references,
 * so nothing is copied.
 *
 * The bytes of an answer are a Status, the head and tail of a list (a list without items, whose
 * metadata is read at the end), or the ERROR event of a watch. They are gathered in `body`.
 *
 * How a request ends (inner_finish), besides the end of its answer:
 *   - cancelled: no callback; the verb gets on_gone;
 *   - its time is over: -COR_ETIMEOUT; of a watch that was open this is a plain end;
 *   - the verb breaks the answer off, or there is no memory for the bytes: -COR_EBROKEN,
 *     -COR_ENOMEM; of a watch that was open a broken stream is a plain end;
 *   - a callback returns an error: that error.
 * The struct is freed when it has ended, its mail is not in the loop's mailbox, and none of its
 * callbacks is on the stack.
 * Thread: the loop of the sender. */
/* clang-format on */
#include "server/port/inner_request.h"

#include <assert.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "loop/mailbox.h"
#include "loop/timer.h"
#include "meta/object/object_edit.h"
#include "meta/object/object_received.h"
#include "server/access/authenticator.h"
#include "server/api/api_loop.h"
#include "server/docs/table.h"
#include "json/text/json.h"
#include "json/text/scan.h"

/* Of an answer that comes as bytes; objects are not among them. */
#define BODY_MAX (8u << 20)
/* Objects that are dropped in one turn, when only the success of the answer counts. */
#define DROPPED_AT_ONCE 1024
/* Of each turn of the loop: callbacks of lists and watches, which may do much with an object. */
#define GIVEN_US 4000

struct waiting {
    enum cor_watch_type event;
    struct cor_object *object; /* a reference */
    size_t bytes;              /* of its JSON, when it came */
};

struct cor_inner_request {
    struct cor_sink sink; /* the first member */
    struct cor_inner_sender *sender;
    struct cor_dlist link; /* in the sender's requests */
    struct cor_inner_opts opts;
    struct cor_api_request *origin; /* whose callbacks get the answer; until it is over */
    struct cor_server_request request;
    struct cor_buf text;                 /* the target and the body that were copied */
    struct cor_object *in_object;        /* the body that was not; NULL: there is none */
    const struct cor_sink_cbs *verb_cbs; /* NULL: the verb has let go of the sink */
    void *verb_arg;
    struct cor_mail mail;
    struct cor_timer timer; /* the end of its time */
    int code;               /* of the answer; 0: not begun */
    struct cor_buf body;
    struct cor_status why;                         /* what ended it, other than the answer */
    struct waiting waiting[COR_INNER_WAITING_MAX]; /* a ring */
    size_t first, nwaiting, waiting_bytes;
    size_t ndropped;  /* objects of an answer of which only the success counts */
    bool is_posted;   /* the mail is in the loop's mailbox */
    bool is_open;     /* on_open was called */
    bool is_full;     /* the verb waits for on_writable */
    bool is_complete; /* the verb has ended the answer */
    bool is_broken;   /* the verb has broken the answer off */
    bool is_busy;     /* a callback is on the stack */
    bool is_over;     /* on_done was called, or it was cancelled */
};

static const struct cor_sink_ops inner_ops;

static struct cor_inner_request *inner_of(struct cor_sink *sink)
{
    struct cor_inner_request *req = COR_CONTAINER_OF(sink, struct cor_inner_request, sink);

    assert(sink->ops == &inner_ops);
    return req;
}

static void inner_free_if_over(struct cor_inner_request *req)
{
    if (!req->is_over || req->is_posted || req->is_busy)
        return;
    assert(!req->verb_cbs && !cor_timer_is_set(&req->timer));
    while (req->nwaiting > 0) {
        cor_object_unref(req->waiting[req->first].object);
        req->first = (req->first + 1) % COR_INNER_WAITING_MAX;
        req->nwaiting--;
    }
    if (!cor_dlist_empty(&req->link)) {
        cor_dlist_remove(&req->link);
        req->sender->nrequests--;
    }
    cor_request_info_deinit(&req->request.info);
    cor_object_unref(req->in_object);
    cor_buf_deinit(&req->text);
    cor_buf_deinit(&req->body);
    cor_status_deinit(&req->why);
    cor_free(req);
}

static void inner_post(struct cor_inner_request *req)
{
    if (req->is_posted)
        return;
    req->is_posted = true;
    cor_loop_post_always(cor_inner_sender_loop(req->sender), &req->mail);
}

/* Takes the sink away from a verb that has not ended its answer. */
static void inner_leave_verb(struct cor_inner_request *req)
{
    const struct cor_sink_cbs *cbs = COR_STEAL(req->verb_cbs);

    cor_timer_cancel(&req->timer);
    if (cbs)
        cbs->on_gone(req->verb_arg);
}

static void inner_set_cbs(struct cor_sink *sink, const struct cor_sink_cbs *cbs, void *arg)
{
    inner_of(sink)->verb_cbs = cbs;
    inner_of(sink)->verb_arg = arg;
}

static void inner_start(struct cor_sink *sink, int status, const struct cor_http_header *headers,
                        size_t nheaders, uint64_t length)
{
    struct cor_inner_request *req = inner_of(sink);

    assert(req->code == 0 && status >= 200);
    req->code = status;
    inner_post(req);
}

/* Takes all bytes. Of an answer of which only the success counts they are dropped. */
static size_t inner_writev(struct cor_sink *sink, const struct cor_str *spans, size_t nspans,
                           size_t skip)
{
    struct cor_inner_request *req = inner_of(sink);
    bool is_kept = req->opts.result != COR_API_RESULT_NOTHING || req->code >= 400;
    size_t taken = 0;

    for (size_t i = 0; i < nspans; i++) {
        struct cor_str span = spans[i];
        int r;

        if (skip >= span.n) {
            skip -= span.n;
            continue;
        }
        span = cor_str_from(span, skip);
        skip = 0;
        taken += span.n;
        r = is_kept && req->why.err == 0 ? cor_buf_adds(&req->body, span) : 0;
        if (r < 0)
            cor_status_set_err(&req->why, r);
    }
    return taken;
}

static bool inner_take_object(struct cor_sink *sink, enum cor_watch_type event,
                              struct cor_object *object)
{
    struct cor_inner_request *req = inner_of(sink);

    assert(req->code > 0 && object && !req->is_full);
    if (req->opts.result == COR_API_RESULT_NOTHING) {
        /* Nobody wants the objects, but the loop has others to serve. */
        if (++req->ndropped % DROPPED_AT_ONCE != 0)
            return true;
        req->is_full = true;
        inner_post(req);
        return false;
    }
    req->waiting[(req->first + req->nwaiting++) % COR_INNER_WAITING_MAX] =
        (struct waiting){event, cor_object_ref(object), object->len};
    req->waiting_bytes += object->len;
    req->is_full =
        req->nwaiting == COR_INNER_WAITING_MAX || req->waiting_bytes >= COR_INNER_WAITING_BYTES;
    inner_post(req);
    return !req->is_full;
}

static void inner_complete(struct cor_sink *sink)
{
    struct cor_inner_request *req = inner_of(sink);

    assert(!req->is_complete);
    req->is_complete = true;
    req->verb_cbs = NULL;
    cor_timer_cancel(&req->timer);
    inner_post(req);
}

static void inner_break(struct cor_sink *sink)
{
    inner_of(sink)->is_broken = true;
    inner_complete(sink);
}

/* Only a watch has its own end, and its timer is what its sender asked for. */
static void inner_no_deadline(struct cor_sink *sink)
{
}

static const struct cor_sink_ops inner_ops = {
    .set_cbs = inner_set_cbs,
    .start = inner_start,
    .writev = inner_writev,
    .end = inner_complete,
    .abort = inner_break,
    .no_deadline = inner_no_deadline,
    .take_object = inner_take_object,
};

/* The object as its receiver wants it: a new reference. */
static int inner_show(const struct cor_inner_request *req, struct cor_object *object,
                      struct cor_object **ret_object, struct cor_status *reterr)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf json;
    int r;

    cor_buf_init(&json, BODY_MAX);
    if (!req->opts.metadata_only) {
        *ret_object = cor_object_ref(object);
        return 0;
    }
    r = cor_buf_adds(&json, cor_partial_head(false));
    if (r == 0)
        r = cor_buf_adds(&json, cor_object_metadata(object));
    if (r == 0)
        r = cor_buf_addc(&json, '}');
    return r < 0 ? cor_status_set_err(reterr, r)
                 : cor_object_received(cor_buf_str(&json), COR_STR(""), COR_STR(""), ret_object,
                                       reterr);
}

static struct cor_object *inner_next_waiting(struct cor_inner_request *req,
                                             enum cor_watch_type *ret_event)
{
    struct waiting *w = &req->waiting[req->first];

    assert(req->nwaiting > 0);
    req->first = (req->first + 1) % COR_INNER_WAITING_MAX;
    req->nwaiting--;
    req->waiting_bytes -= w->bytes;
    *ret_event = w->event;
    return COR_STEAL(w->object);
}

/* Calls on_item or on_event for the object that has waited longest. 0, or the failure that ends the
 * request, in `why`. */
static int inner_give_object(struct cor_inner_request *req)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL, *shown = NULL;
    enum cor_watch_type type;
    int r;

    object = inner_next_waiting(req, &type);
    r = inner_show(req, object, &shown, &req->why);
    if (r < 0)
        return r;
    if (req->opts.result == COR_API_RESULT_LIST)
        r = req->origin->cbs->on_item(req->origin, shown);
    else
        r = req->origin->cbs->on_event(req->origin,
                                       &(struct cor_watch_event){.type = type, .object = shown});
    return r < 0 ? cor_status_set_err(&req->why, r) : 0;
}

/* The bytes of a watch are its last event, an ERROR. */
static int inner_give_error_event(struct cor_inner_request *req)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_str json = cor_buf_str(&req->body);
    int r;

    (void)cor_json_get(json, COR_STR("object"), COR_JSON_ANY_ORDER, &json);
    cor_status_read(&status, 500, json);
    r = req->origin->cbs->on_event(
        req->origin, &(struct cor_watch_event){.type = COR_WATCH_ERROR, .status = &status});
    return r < 0 ? cor_status_set_err(&req->why, r) : 0;
}

/* May one more object be given in this turn of the loop? One alone may take longer than all may. */
static bool inner_has_time(const struct cor_inner_request *req)
{
    struct cor_api_loop *api = req->sender->api;

    api->given.counts_first = true;
    return cor_turn_share_take(&api->given, api->loop, GIVEN_US, true);
}

/* Gives what waits to the callbacks, but not what comes meanwhile; what the turn
 * has no time for comes in the next one. 0, or a failure in `why`. */
static int inner_give(struct cor_inner_request *req)
{
    enum cor_api_result result = req->opts.result;
    size_t n = result == COR_API_RESULT_LIST || result == COR_API_RESULT_WATCH ? req->nwaiting : 0;
    int r = 0;

    if (result == COR_API_RESULT_WATCH && req->code > 0 && req->code < 400 && !req->is_open) {
        req->is_open = true;
        r = req->origin->cbs->on_open ? req->origin->cbs->on_open(req->origin) : 0;
        if (r < 0)
            cor_status_set_err(&req->why, r);
    }
    for (; r == 0 && n > 0 && !req->is_over && inner_has_time(req); n--)
        r = inner_give_object(req);
    if (r == 0 && n > 0 && !req->is_over)
        inner_post(req);
    if (r == 0 && !req->is_over && req->is_open && req->is_complete && req->nwaiting == 0 &&
        req->body.n > 0 && req->why.err == 0)
        r = inner_give_error_event(req);
    return r;
}

/* A value of the list's metadata as a raw text; "" when it is absent. None has escapes. */
static struct cor_str inner_list_member(struct cor_str metadata, struct cor_str name)
{
    struct cor_str value, raw;

    if (cor_json_get(metadata, name, COR_JSON_ANY_ORDER, &value) < 0)
        return COR_STR("");
    return cor_json_to_raw(value, &raw) < 0 ? value : raw;
}

static void inner_read_list(const struct cor_inner_request *req, struct cor_api_answer *answer)
{
    struct cor_str metadata, count;

    if (cor_json_get(cor_buf_str(&req->body), COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) <
        0)
        return;
    answer->resource_version = inner_list_member(metadata, COR_STR("resourceVersion"));
    answer->continue_token = inner_list_member(metadata, COR_STR("continue"));
    count = inner_list_member(metadata, COR_STR("remainingItemCount"));
    if (count.n > 0 && cor_str_to_i64(count, &answer->remaining) < 0)
        answer->remaining = -1;
}

/* The object of an answer that succeeded: taken as it was, or read from the bytes of a kind that is
 * not stored (a review, the Status of a deletion). */
static int inner_read_object(struct cor_inner_request *req, struct cor_object **ret_object)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    enum cor_watch_type event;

    if (req->nwaiting == 0)
        return cor_status_received(&req->why,
                                   cor_object_received(cor_buf_str(&req->body), COR_STR(""),
                                                       COR_STR(""), ret_object, &req->why));
    object = inner_next_waiting(req, &event);
    return inner_show(req, object, ret_object, &req->why);
}

/* Calls on_done: with `why`, or else with the answer, which is complete. */
static void inner_finish(struct cor_inner_request *req)
{
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;
    struct cor_api_answer answer = {.end = COR_API_ANSWERED, .remaining = -1};

    assert(!req->is_over && !req->is_busy && (req->is_complete || req->why.err < 0));
    inner_leave_verb(req);
    if (req->why.err == 0 && req->is_broken && !req->is_open)
        cor_status_set(&req->why, -COR_EBROKEN, "the server broke off its answer");
    if (req->why.err < 0) {
        answer.end = COR_API_UNANSWERED;
    } else if (req->code >= 400) {
        cor_status_read(&req->why, req->code, cor_buf_str(&req->body));
    } else if (req->opts.result == COR_API_RESULT_OBJECT) {
        if (inner_read_object(req, &object) < 0)
            answer.end = COR_API_UNANSWERED;
    } else if (req->opts.result == COR_API_RESULT_LIST) {
        inner_read_list(req, &answer);
    }
    /* An error with a code of HTTP is one that the server answered with. */
    if (answer.end == COR_API_UNANSWERED)
        req->why.code = 0;
    answer.error = req->why.err < 0 ? &req->why : NULL;
    answer.object = object;
    req->is_over = true;
    req->is_busy = true;
    cor_api_finish(COR_STEAL(req->origin), &answer);
    req->is_busy = false;
    inner_free_if_over(req);
}

static void inner_on_mail(struct cor_mail *mail)
{
    struct cor_inner_request *req = COR_CONTAINER_OF(mail, struct cor_inner_request, mail);
    int r = 0;

    req->is_posted = false;
    if (!req->is_over) {
        req->is_busy = true;
        r = inner_give(req);
        req->is_busy = false;
    }
    if (req->is_over) {
        inner_free_if_over(req);
    } else if (r < 0 || (req->is_complete &&
                         (req->nwaiting == 0 || req->opts.result == COR_API_RESULT_OBJECT))) {
        inner_finish(req);
    } else if (req->is_full && req->nwaiting == 0 && req->verb_cbs) {
        req->is_full = false;
        req->verb_cbs->on_writable(req->verb_arg);
    }
}

static void inner_on_timer(struct cor_timer *timer)
{
    struct cor_inner_request *req = COR_CONTAINER_OF(timer, struct cor_inner_request, timer);

    assert(!req->is_over && !req->is_complete);
    /* What waits is still delivered, by the mail that is under way. */
    if (req->is_open) {
        inner_leave_verb(req);
        req->is_complete = true;
        inner_post(req);
        return;
    }
    cor_status_set(&req->why, -COR_ETIMEOUT, "the time of the request is over");
    inner_finish(req);
}

void cor_inner_request_cancel(struct cor_inner_request *req)
{
    assert(cor_loop_is_current(cor_inner_sender_loop(req->sender)) && !req->is_over);
    req->is_over = true;
    req->origin = NULL;
    inner_leave_verb(req);
    inner_free_if_over(req);
}

/* Copies what the request is made of. */
static int inner_fill(struct cor_inner_request *req)
{
    const struct cor_inner_opts *opts = &req->opts;
    struct cor_str query, path;
    int r = cor_buf_adds(&req->text, opts->target);

    if (r == 0)
        r = cor_buf_adds(&req->text, opts->body);
    if (r < 0)
        return r;
    query = cor_str(cor_buf_str(&req->text).p, opts->target.n);
    path = cor_str_cut(&query, '?');
    req->request.method = opts->method;
    req->request.query = query.p ? query : COR_STR("");
    req->request.content_type = opts->content_type;
    req->request.user_agent = req->sender->user_agent;
    req->request.user = &req->sender->user;
    req->request.metadata_only = opts->metadata_only;
    req->request.reaches_remote = req->sender->reaches_remote;
    req->request.body = cor_str_from(cor_buf_str(&req->text), opts->target.n);
    if (opts->object) {
        req->in_object = cor_object_ref(opts->object);
        req->request.body = cor_object_json(opts->object);
    }
    r = cor_request_info_init(&req->request.info, opts->method, path, req->request.query);
    if (r == 0 && opts->timeout_ms > 0)
        r = cor_timer_set(&req->timer, opts->timeout_ms);
    if (opts->timeout_ms > 0 && opts->result != COR_API_RESULT_WATCH)
        req->request.deadline_ms = cor_loop_now_ms(req->timer.loop) + opts->timeout_ms;
    return r;
}

int cor_inner_request_open(struct cor_inner_sender *s, const struct cor_inner_opts *opts,
                           struct cor_api_request *origin)
{
    struct cor_inner_request *req;
    int r;

    assert(cor_loop_is_current(cor_inner_sender_loop(s)) && origin->state == COR_API_SENT);
    assert(opts->result != COR_API_RESULT_LIST || origin->cbs->on_item);
    assert(opts->result != COR_API_RESULT_WATCH || origin->cbs->on_event);
    if (s->is_draining)
        return cor_status_set(&origin->refusal, -COR_EUNREACHABLE, "the server is shutting down");
    if (s->nrequests >= s->requests_max)
        return cor_status_set(&origin->refusal, -COR_EBUSY, "too many requests of %.*s",
                              COR_STR_ARG(s->user.name));
    req = cor_calloc(1, sizeof(*req));
    if (!req)
        return cor_status_set_err(&origin->refusal, -COR_ENOMEM);
    req->sink.ops = &inner_ops;
    req->sender = s;
    req->opts = *opts;
    req->origin = origin;
    req->mail.on_mail = inner_on_mail;
    cor_dlist_init(&req->link);
    cor_buf_init(&req->text, COR_INNER_TARGET_MAX + opts->body.n);
    cor_buf_init(&req->body, BODY_MAX);
    cor_status_init(&req->why);
    cor_timer_init(&req->timer, cor_inner_sender_loop(s), inner_on_timer);
    r = inner_fill(req);
    req->opts.target = req->opts.body = COR_STR(""); /* the sender's, from here on */
    req->opts.object = NULL;
    if (r < 0) {
        cor_timer_cancel(&req->timer);
        req->is_over = true;
        inner_free_if_over(req);
        return cor_status_set(&origin->refusal, r, "the request could not be sent: %s",
                              cor_err_text(r));
    }
    cor_dlist_push(&s->requests, &req->link);
    s->nrequests++;
    origin->sent = req;
    cor_api_call(s->api, &req->request, &req->sink);
    return 0;
}

void cor_inner_sender_init(struct cor_inner_sender *s, struct cor_api_loop *api,
                           struct cor_str account, struct cor_str user_agent, size_t requests_max)
{
    static const struct cor_str masters[] = {COR_STR(COR_GROUP_MASTERS)};
    int n;

    assert(account.n < 90);
    *s = (struct cor_inner_sender){
        .api = api,
        .user_agent = user_agent,
        .reaches_remote = account.n > 0,
        .requests_max = requests_max ? requests_max : COR_INNER_REQUESTS_MAX,
    };
    n = snprintf(s->name, sizeof(s->name), "system:serviceaccount:kube-system:%.*s",
                 COR_STR_ARG(account));
    s->user = account.n == 0 ? *cor_user_or_server(NULL)
                             : (struct cor_user){.name = cor_str(s->name, (size_t)n),
                                                 .groups = masters,
                                                 .ngroups = COR_ARRAY_LEN(masters)};
    cor_dlist_init(&s->requests);
}

void cor_inner_sender_deinit(struct cor_inner_sender *s)
{
    assert(cor_inner_sender_is_idle(s));
    (void)s;
}

struct cor_loop *cor_inner_sender_loop(const struct cor_inner_sender *s)
{
    return s->api->loop;
}

void cor_inner_sender_drain(struct cor_inner_sender *s)
{
    assert(cor_loop_is_current(cor_inner_sender_loop(s)));
    if (s->is_draining)
        return;
    s->is_draining = true;
    /* A verb ends its answer at most, which is only noted: the list stays as it is. */
    COR_DLIST_FOREACH(link, &s->requests) {
        struct cor_inner_request *req = COR_CONTAINER_OF(link, struct cor_inner_request, link);

        if (req->verb_cbs)
            req->verb_cbs->on_drain(req->verb_arg);
    }
}
