/* clang-format off */
/* The public event recorder: the event sender of the kit on the client's API port, with a timer of
 * the loop and the hops from other threads.
 *
 *   any thread                                    the loop
 *   cor_events_record() ── queued ── one mail ──► the sender steps: create or patch through the
 * port cor_events_free() ────── mail ──────────────► shutdown: each queued event is tried once
 *                 waits ◄── `gone` ────────────── nothing is left to send, or the time of the end
 * is over ──── run on the loop ─────────► the sender is freed; a request under way is cancelled
 *
 * A timer that is always set can be moved without memory, so nothing fails after the start.
 * Thread: the loop, except for the public functions. */
/* clang-format on */
#include "coracle/events.h"

#include <assert.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "client/client_int.h"
#include "kit/events/event_sender.h"
#include "loop/timer.h"

/* Of a request, where the client has no timeout: the events behind it wait. */
#define REQUEST_MS   30000
#define INSTANCE_MAX 128

struct cor_events {
    struct cor_client *client;
    struct cor_loop *loop;
    struct cor_event_sender *sender;
    struct cor_timer timer; /* the sender's; always set, so that moving it cannot fail */
    struct cor_events_opts opts;
    struct cor_mail ready, close;
    atomic_bool ready_is_posted;
    struct cor_timer last_words;
    struct cor_waiter gone;
};

static void on_given_up(void *arg, const struct cor_event *event, int r)
{
    const struct cor_events *ev = arg;
    const struct cor_lost_event lost = {.about_kind = event->about.kind,
                                        .about_ns = event->about.ns,
                                        .about_name = event->about.name,
                                        .reason = event->reason,
                                        .message = event->message};

    cor_runtime_log(ev->client->runtime, COR_SEVERITY_ERROR,
                    "an Event of %.*s %.*s was not written: %s", COR_STR_ARG(lost.about_kind),
                    COR_STR_ARG(lost.about_name), cor_err_text(r));
    if (ev->opts.on_given_up)
        ev->opts.on_given_up(ev->opts.arg, &lost, r);
}

static void on_wake_at(void *arg, uint64_t at_ms)
{
    struct cor_events *ev = arg;
    uint64_t now = cor_clock_mono_ms(ev->client->runtime->clock);

    cor_timer_set(&ev->timer, at_ms > now ? at_ms - now : 0);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_events *ev = COR_CONTAINER_OF(timer, struct cor_events, timer);

    cor_timer_set(&ev->timer, UINT64_MAX);
    cor_event_sender_tick(ev->sender);
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
    cor_event_sender_step(ev->sender);
}

/* A mail that is posted must be delivered before the memory is freed; its step comes here again. */
static void on_idle(void *arg)
{
    struct cor_events *ev = arg;

    if (!atomic_load(&ev->ready_is_posted))
        cor_waiter_set(&ev->gone);
}

static void on_last_words_over(struct cor_timer *timer)
{
    cor_waiter_set(&COR_CONTAINER_OF(timer, struct cor_events, last_words)->gone);
}

static void on_close_mail(struct cor_mail *mail)
{
    struct cor_events *ev = COR_CONTAINER_OF(mail, struct cor_events, close);

    cor_timer_set(&ev->last_words, cor_client_end_left_ms(ev->client));
    cor_event_sender_shutdown(ev->sender);
}

/* On the loop. */
static void events_free_parts(void *arg)
{
    struct cor_events *ev = arg;

    cor_timer_cancel(&ev->timer);
    cor_timer_cancel(&ev->last_words);
    ev->sender = cor_event_sender_free(ev->sender);
}

static void events_free_rest(struct cor_events *ev)
{
    cor_runtime_run(ev->client->runtime, events_free_parts, ev);
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

/* On the loop. */
static int events_start(void *arg, struct cor_status *reterr)
{
    struct cor_events *ev = arg;
    uint64_t timeout_ms = ev->client->timeout_ms;
    char instance[INSTANCE_MAX + 1];
    const struct cor_event_sender_opts opts = {
        .port = &ev->client->port.port,
        .clock = ev->client->runtime->clock,
        .timeout_ms = timeout_ms > 0 ? timeout_ms : REQUEST_MS,
        .component = cor_strz(ev->opts.component),
        .host = cor_strz(ev->opts.host),
        .instance = name_instance(&ev->opts, instance),
        .series = ev->opts.series,
        .wake_at = on_wake_at,
        .on_ready = on_ready,
        .on_given_up = on_given_up,
        .on_idle = on_idle,
        .arg = ev,
    };
    int r = cor_timer_set(&ev->timer, UINT64_MAX);

    if (r == 0)
        r = cor_timer_set(&ev->last_words, UINT64_MAX);
    return r < 0 ? r : cor_event_sender_new(&opts, &ev->sender);
}

int cor_events_new(struct cor_client *client, const struct cor_events_opts *opts,
                   struct cor_events **ret_events)
{
    struct cor_events_opts o;
    struct cor_events *ev;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return r;
    if (atomic_load(&client->is_stopped))
        return -COR_ECANCELED;
    ev = cor_calloc(1, sizeof(*ev));
    if (!ev)
        return -COR_ENOMEM;
    ev->client = client;
    ev->opts = o;
    ev->loop = client->runtime->loop;
    ev->ready.on_mail = on_ready_mail;
    ev->close.on_mail = on_close_mail;
    cor_waiter_init(&ev->gone);
    cor_timer_init(&ev->timer, ev->loop, on_timer);
    cor_timer_init(&ev->last_words, ev->loop, on_last_words_over);
    r = cor_runtime_try(client->runtime, events_start, ev, NULL);
    if (r < 0) {
        events_free_rest(ev);
        return r;
    }
    atomic_fetch_add(&client->nusers, 1);
    *ret_events = ev;
    return 0;
}

struct cor_events *cor_events_free(struct cor_events *ev)
{
    struct cor_client *client;
    int r;

    if (!ev || cor_runtime_is_forked(ev->client->runtime))
        return NULL;
    client = ev->client;
    assert(!cor_runtime_is_inside(client->runtime) &&
           "cor_events_free() was called inside a callback");
    cor_loop_post_always(ev->loop, &ev->close);
    r = cor_runtime_wait(client->runtime, &ev->gone, COR_WAIT_FOREVER);
    assert(r == 0);
    (void)r;
    events_free_rest(ev);
    atomic_fetch_sub(&client->nusers, 1);
    return NULL;
}

static int record(struct cor_events *ev, const struct cor_event_told *told, const char *fmt,
                  va_list args)
{
    struct cor_event_told whole = *told;
    char message[COR_EVENT_MESSAGE_MAX + 1];

    if (cor_runtime_is_forked(ev->client->runtime))
        return -COR_EINVAL;
    vsnprintf(message, sizeof(message), fmt, args);
    whole.message = message;
    return cor_event_sender_record(ev->sender, &whole);
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
