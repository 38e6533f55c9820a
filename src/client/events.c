/* The event recorder of this folder over HTTP: requests by the dynamic client, a timer of the loop,
 * and the hops from other threads. For series the server is first asked for their API; the recorder
 * takes no step before that. */
#include "coracle/events.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/client_int.h"
#include "client/dynamic/dynamic_client.h"
#include "kit/events/event_recorder.h"
#include "loop/timer.h"

#define LAST_WORDS_MS 10000
/* Of a request, where the client has no timeout: those behind it wait. */
#define REQUEST_MS   30000
#define INSTANCE_MAX 128

struct cor_events {
    struct cor_client *client;
    struct cor_loop *loop;
    struct cor_event_recorder *recorder;
    struct cor_dynamic_request *request;
    /* Does the server have the API of series? With core/v1 it is known at once. */
    enum { API_KNOWN, API_UNKNOWN, API_ASKED, API_WAITING } api;
    struct cor_rest_request *question;
    unsigned nasked;
    struct cor_timer timer; /* the recorder's; both are always set, so that moving cannot fail */
    struct cor_timer soon;  /* a request that could not be sent is told */
    int unsent;             /* why it could not */
    struct cor_events_opts opts;
    struct cor_mail ready, close;
    atomic_bool ready_is_posted;
    bool is_closing;
    struct cor_timer last_words;
    struct cor_waiter gone;
};

static uint64_t timeout_ms(const struct cor_events *ev)
{
    return ev->client->timeout_ms ? ev->client->timeout_ms : REQUEST_MS;
}

static void end_if_idle(struct cor_events *ev)
{
    if (ev->is_closing && cor_event_recorder_is_idle(ev->recorder) &&
        !atomic_load(&ev->ready_is_posted))
        cor_waiter_set(&ev->gone);
}

static void learn_api(struct cor_events *ev, bool has_it)
{
    if (!has_it)
        cor_event_recorder_fall_back(ev->recorder);
    ev->api = API_KNOWN;
}

static void ask_later(struct cor_events *ev)
{
    if (ev->is_closing || ++ev->nasked >= COR_EVENT_TRIES_MAX) {
        learn_api(ev, false);
        return;
    }
    ev->api = API_WAITING;
    cor_timer_set(&ev->timer, COR_EVENT_RETRY_MS);
}

static void step(struct cor_events *ev);

static void on_api(void *arg, const struct cor_rest_result *result)
{
    struct cor_events *ev = arg;

    ev->question = NULL;
    if (!result->error || result->error->code != 0)
        learn_api(ev, !result->error);
    else
        ask_later(ev);
    step(ev);
}

static void ask(struct cor_events *ev)
{
    static const struct cor_rest_cbs cbs = {.on_done = on_api};
    const struct cor_rest_request_opts opts = {.is_discovery = true,
                                               .target = COR_STR("/apis/events.k8s.io/v1"),
                                               .timeout_ms = timeout_ms(ev),
                                               .cbs = &cbs,
                                               .arg = ev};

    if (cor_rest_request_open(ev->client->rest, &opts, &ev->question) == 0)
        ev->api = API_ASKED;
    else
        ask_later(ev);
}

static void step(struct cor_events *ev)
{
    if (ev->api == API_UNKNOWN && !cor_event_recorder_is_idle(ev->recorder))
        ask(ev);
    if (ev->api == API_KNOWN)
        cor_event_recorder_step(ev->recorder);
    end_if_idle(ev);
}

static void answer(struct cor_events *ev, int r, bool is_final)
{
    cor_event_recorder_answered(ev->recorder, r, is_final);
    step(ev);
}

static void on_answer(void *arg, struct cor_object *object, const struct cor_status *error)
{
    struct cor_events *ev = arg;

    ev->request = NULL;
    /* With a code the server has answered; what it refuses now it is not asked for again, not even
     * when it is too busy. */
    answer(ev, error ? error->err : 0, error && error->code != 0);
}

static void on_soon(struct cor_timer *timer)
{
    struct cor_events *ev = COR_CONTAINER_OF(timer, struct cor_events, soon);

    cor_timer_set(&ev->soon, UINT64_MAX);
    answer(ev, ev->unsent, ev->unsent != -COR_ENOMEM && ev->unsent != -COR_EBUSY);
}

static void send_event(void *arg, const struct cor_event_request *request)
{
    struct cor_events *ev = arg;
    struct cor_dynamic_call call = {
        .client = ev->client->rest,
        .at = {.gvr = {request->is_series ? COR_STR("events.k8s.io") : COR_STR(""), COR_STR("v1"),
                       COR_STR("events")},
               .ns = request->ns},
        .timeout_ms = timeout_ms(ev),
        .on_done = on_answer,
        .arg = ev};
    COR_CLEANUP(cor_object_unrefp) struct cor_object *event = NULL;
    int r;

    if (request->is_patch) {
        call.at.name = request->name;
        r = cor_dynamic_patch(&call, COR_PATCH_STRATEGIC, request->body, NULL, &ev->request, NULL);
    } else {
        r = cor_object_from_json(request->body, &event, NULL);
        if (r == 0)
            r = cor_dynamic_create(&call, event, NULL, &ev->request, NULL);
    }
    if (r < 0) {
        ev->unsent = r;
        cor_timer_set(&ev->soon, 0);
    }
}

static void on_given_up(void *arg, const struct cor_event *event, int r)
{
    const struct cor_events *ev = arg;
    const struct cor_lost_event lost = {.about_kind = event->about.kind,
                                        .about_ns = event->about.ns,
                                        .about_name = event->about.name,
                                        .reason = event->reason,
                                        .message = event->message};

    if (ev->opts.on_given_up)
        ev->opts.on_given_up(ev->opts.arg, &lost, r);
}

static void wake_at(void *arg, uint64_t at_ms)
{
    struct cor_events *ev = arg;
    uint64_t now = cor_clock_mono_ms(cor_clock_real());

    cor_timer_set(&ev->timer, at_ms > now ? at_ms - now : 0);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_events *ev = COR_CONTAINER_OF(timer, struct cor_events, timer);

    cor_timer_set(&ev->timer, UINT64_MAX);
    if (ev->api == API_WAITING)
        ev->api = API_UNKNOWN;
    step(ev);
}

static void on_ready(void *arg)
{
    struct cor_events *ev = arg;

    if (!atomic_exchange(&ev->ready_is_posted, true))
        cor_loop_post_always(ev->loop, &ev->ready);
}

static void on_ready_mail(struct cor_mail *mail)
{
    struct cor_events *ev = COR_CONTAINER_OF(mail, struct cor_events, ready);

    atomic_store(&ev->ready_is_posted, false);
    step(ev);
}

static void on_last_words_over(struct cor_timer *timer)
{
    cor_waiter_set(&COR_CONTAINER_OF(timer, struct cor_events, last_words)->gone);
}

/* Without memory for its timer the last words are not waited for. */
static void on_close_mail(struct cor_mail *mail)
{
    struct cor_events *ev = COR_CONTAINER_OF(mail, struct cor_events, close);

    ev->is_closing = true;
    cor_event_recorder_shutdown(ev->recorder);
    if (cor_timer_set(&ev->last_words, LAST_WORDS_MS) < 0) {
        cor_waiter_set(&ev->gone);
        return;
    }
    if (ev->api == API_WAITING)
        learn_api(ev, false);
    step(ev);
}

/* On the loop. */
static void free_parts(void *arg)
{
    struct cor_events *ev = arg;

    if (ev->request)
        cor_dynamic_cancel(ev->request);
    if (ev->question)
        cor_rest_request_cancel(ev->question);
    cor_timer_cancel(&ev->timer);
    cor_timer_cancel(&ev->soon);
    cor_timer_cancel(&ev->last_words);
    ev->recorder = cor_event_recorder_free(ev->recorder);
}

struct starting {
    struct cor_events *events;
    int r;
};

static void set_timers(void *arg)
{
    struct starting *s = arg;

    s->r = cor_timer_set(&s->events->timer, UINT64_MAX);
    if (s->r == 0)
        s->r = cor_timer_set(&s->events->soon, UINT64_MAX);
}

static void free_events(struct cor_events *ev)
{
    cor_runtime_run(ev->client->runtime, free_parts, ev);
    cor_waiter_deinit(&ev->gone);
    cor_free(ev);
}

/* "component-host", of which a server takes 128 bytes. */
static struct cor_str name_instance(const struct cor_events_opts *opts, char to[INSTANCE_MAX + 1])
{
    char host[INSTANCE_MAX + 1] = "";

    if (opts->host)
        snprintf(host, sizeof(host), "%s", opts->host);
    else
        (void)gethostname(host, sizeof(host) - 1);
    snprintf(to, INSTANCE_MAX + 1, "%s-%s", opts->component, host);
    return cor_strz(to);
}

int cor_events_new(struct cor_client *client, const struct cor_events_opts *opts,
                   struct cor_events **ret_events)
{
    struct cor_events *ev = cor_calloc(1, sizeof(*ev));
    char instance[INSTANCE_MAX + 1];
    const struct cor_event_recorder_opts recorder = {.component = cor_strz(opts->component),
                                                     .host = cor_strz(opts->host),
                                                     .series = opts->series,
                                                     .instance = name_instance(opts, instance),
                                                     .send = send_event,
                                                     .wake_at = wake_at,
                                                     .on_ready = on_ready,
                                                     .on_given_up = on_given_up,
                                                     .arg = ev};
    struct starting starting = {.events = ev};

    if (!ev)
        return -COR_ENOMEM;
    ev->client = client;
    ev->opts = *opts;
    ev->api = opts->series ? API_UNKNOWN : API_KNOWN;
    ev->loop = client->runtime->loop;
    ev->ready.on_mail = on_ready_mail;
    ev->close.on_mail = on_close_mail;
    cor_waiter_init(&ev->gone);
    cor_timer_init(&ev->timer, ev->loop, on_timer);
    cor_timer_init(&ev->soon, ev->loop, on_soon);
    cor_timer_init(&ev->last_words, ev->loop, on_last_words_over);
    starting.r = cor_event_recorder_new(&recorder, &ev->recorder);
    if (starting.r == 0)
        cor_runtime_run(client->runtime, set_timers, &starting);
    if (starting.r < 0) {
        free_events(ev);
        return starting.r;
    }
    atomic_fetch_add(&client->nusers, 1);
    *ret_events = ev;
    return 0;
}

struct cor_events *cor_events_free(struct cor_events *ev)
{
    struct cor_client *client;
    int r;

    if (!ev)
        return NULL;
    client = ev->client;
    cor_loop_post_always(ev->loop, &ev->close);
    r = cor_runtime_wait(client->runtime, &ev->gone, COR_WAIT_FOREVER);
    assert(r == 0); /* inside a callback it would wait for itself */
    (void)r;
    free_events(ev);
    atomic_fetch_sub(&client->nusers, 1);
    return NULL;
}

static int record(struct cor_events *ev, const struct cor_event_told *told, const char *fmt,
                  va_list args)
{
    struct cor_event_told whole = *told;
    char message[COR_EVENT_MESSAGE_MAX + 1];

    vsnprintf(message, sizeof(message), fmt, args);
    whole.message = message;
    return cor_event_record(ev->recorder, &whole);
}

int cor_events_record(struct cor_events *ev, const struct cor_object *about,
                      enum cor_event_type type, const char *reason, const char *fmt, ...)
{
    const struct cor_event_told told = {.about = about, .type = type, .reason = reason};
    va_list args;
    int r;

    va_start(args, fmt);
    r = record(ev, &told, fmt, args);
    va_end(args);
    return r;
}

int cor_events_record_action(struct cor_events *ev, const struct cor_object *about,
                             const struct cor_object *related, enum cor_event_type type,
                             const char *reason, const char *action, const char *fmt, ...)
{
    const struct cor_event_told told = {
        .about = about, .related = related, .type = type, .reason = reason, .action = action};
    va_list args;
    int r;

    va_start(args, fmt);
    r = record(ev, &told, fmt, args);
    va_end(args);
    return r;
}
