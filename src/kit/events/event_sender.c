/* clang-format off */
/* The recorder decides what is sent and when; this file sends it through the API port.
 *
 *   step ──► series, and it is not known whether the server has their API?
 *     │        yes: cor_api_serves() ──► API_ASKED ──► an answer: API_KNOWN ──► step
 *     │                                    └─► none: API_WAITING, tick in 10 s ──► API_UNKNOWN
 *     └─ no: cor_event_recorder_step() ──► send_event() ──► on_event_done() ──► step
 *
 * When a step fails:
 * - the question is not answered COR_EVENT_TRIES_MAX times, or not before the shutdown: the events
 *   are of core/v1;
 * - a request is not answered: the recorder waits and tries again;
 * - the server answers with an error, or the event cannot be sent at all (a name that is not a path
 *   segment): the recorder gives the event up;
 * - no memory, or too many requests: as a request that is not answered.
 * Thread: the port's loop. */
/* clang-format on */
#include "kit/events/event_sender.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

struct cor_event_sender {
    struct cor_event_sender_opts opts;
    struct cor_event_recorder *recorder;
    struct cor_api_request request; /* the one under way: a question, a create or a patch */
    /* Does the server have the API of series? With core/v1 the question does not arise. */
    enum { API_KNOWN, API_UNKNOWN, API_ASKED, API_WAITING } api;
    unsigned nasked; /* questions that were not answered */
    bool is_shut;
};

static struct cor_event_sender *sender_of(struct cor_api_request *req)
{
    return COR_CONTAINER_OF(req, struct cor_event_sender, request);
}

static void learn_api(struct cor_event_sender *s, bool has_series)
{
    if (!has_series)
        cor_event_recorder_fall_back(s->recorder);
    s->api = API_KNOWN;
}

static void on_api_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_event_sender *s = sender_of(req);

    if (answer->end == COR_API_ANSWERED) {
        learn_api(s, !answer->error);
    } else if (s->is_shut || ++s->nasked >= COR_EVENT_TRIES_MAX) {
        learn_api(s, false);
    } else {
        s->api = API_WAITING;
        s->opts.wake_at(s->opts.arg, cor_clock_mono_ms(s->opts.clock) + COR_EVENT_RETRY_MS);
    }
    cor_event_sender_step(s);
}

static void ask_for_api(struct cor_event_sender *s)
{
    static const struct cor_api_request_cbs cbs = {.on_done = on_api_done};

    s->request = (struct cor_api_request){
        .at.gvr = {COR_STR("events.k8s.io"), COR_STR("v1"), COR_STR("events")},
        .timeout_ms = s->opts.timeout_ms,
        .cbs = &cbs,
    };
    s->api = API_ASKED;
    cor_api_serves(s->opts.port, &s->request);
}

void cor_event_sender_step(struct cor_event_sender *s)
{
    if (s->api == API_UNKNOWN && !cor_event_recorder_is_idle(s->recorder))
        ask_for_api(s);
    if (s->api == API_KNOWN)
        cor_event_recorder_step(s->recorder);
    if (s->is_shut && cor_event_recorder_is_idle(s->recorder))
        s->opts.on_idle(s->opts.arg);
}

void cor_event_sender_tick(struct cor_event_sender *s)
{
    if (s->api == API_WAITING)
        s->api = API_UNKNOWN;
    cor_event_sender_step(s);
}

/* A server that has answered is not asked for the same event again, not even when it was too busy.
 */
static void on_event_done(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct cor_event_sender *s = sender_of(req);
    int r = answer->error ? answer->error->err : 0;
    bool is_final = answer->end == COR_API_ANSWERED ||
                    (answer->end == COR_API_REFUSED && r != -COR_ENOMEM && r != -COR_EBUSY);

    cor_event_recorder_answered(s->recorder, r, r < 0 && is_final);
    cor_event_sender_step(s);
}

/* Called by the recorder, which has at most one request under way. */
static void send_event(void *arg, const struct cor_event_request *event)
{
    static const struct cor_api_request_cbs cbs = {.on_done = on_event_done};
    struct cor_event_sender *s = arg;
    struct cor_api_request *req = &s->request;
    COR_CLEANUP(cor_object_unrefp) struct cor_object *object = NULL;

    assert(!cor_api_is_under_way(req));
    *req = (struct cor_api_request){
        .at = {.gvr = {event->is_series ? COR_STR("events.k8s.io") : COR_STR(""), COR_STR("v1"),
                       COR_STR("events")},
               .ns = event->ns,
               .name = event->is_patch ? event->name : COR_STR("")},
        .timeout_ms = s->opts.timeout_ms,
        .cbs = &cbs,
    };
    if (event->is_patch)
        cor_api_patch(s->opts.port, req, COR_PATCH_STRATEGIC, event->body, NULL);
    else if (cor_object_from_json(event->body, &object, &req->refusal) < 0)
        cor_api_refuse(s->opts.port, req);
    else
        cor_api_create(s->opts.port, req, object, NULL);
}

static void on_recorder_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_event_sender *s = arg;

    s->opts.wake_at(s->opts.arg, at_ms);
}

static void on_recorder_ready(void *arg)
{
    struct cor_event_sender *s = arg;

    s->opts.on_ready(s->opts.arg);
}

static void on_recorder_given_up(void *arg, const struct cor_event *event, int r)
{
    struct cor_event_sender *s = arg;

    if (s->opts.on_given_up)
        s->opts.on_given_up(s->opts.arg, event, r);
}

int cor_event_sender_new(const struct cor_event_sender_opts *opts,
                         struct cor_event_sender **ret_sender)
{
    struct cor_event_sender *s = cor_calloc(1, sizeof(*s));
    const struct cor_event_recorder_opts recorder = {.component = opts->component,
                                                     .host = opts->host,
                                                     .series = opts->series,
                                                     .instance = opts->instance,
                                                     .clock = opts->clock,
                                                     .rand = opts->rand,
                                                     .send = send_event,
                                                     .wake_at = on_recorder_wake_at,
                                                     .on_ready = on_recorder_ready,
                                                     .on_given_up = on_recorder_given_up,
                                                     .arg = s};
    int r;

    assert(opts->port && opts->wake_at && opts->on_ready && opts->on_idle && opts->timeout_ms > 0);
    if (!s)
        return -COR_ENOMEM;
    s->opts = *opts;
    if (!s->opts.clock)
        s->opts.clock = cor_clock_real();
    s->api = opts->series ? API_UNKNOWN : API_KNOWN;
    r = cor_event_recorder_new(&recorder, &s->recorder);
    if (r < 0) {
        cor_free(s);
        return r;
    }
    *ret_sender = s;
    return 0;
}

struct cor_event_sender *cor_event_sender_free(struct cor_event_sender *s)
{
    if (!s)
        return NULL;
    cor_api_cancel(s->opts.port, &s->request);
    cor_event_recorder_free(s->recorder);
    return cor_free(s);
}

int cor_event_sender_record(struct cor_event_sender *s, const struct cor_event_told *told)
{
    return cor_event_record(s->recorder, told);
}

/* The end does not wait for the next question. */
void cor_event_sender_shutdown(struct cor_event_sender *s)
{
    s->is_shut = true;
    cor_event_recorder_shutdown(s->recorder);
    if (s->api == API_WAITING)
        learn_api(s, false);
    cor_event_sender_step(s);
}
