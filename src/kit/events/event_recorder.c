/* clang-format off */
/* Queue on one side, one event at a time on the other:
 *
 *   any thread: cor_event_record() ──► queue (bounded, under the lock) ──► on_ready
 *
 *   recorder's thread: step ──► IDLE: take the next event ──► correlator or series decides
 *                                 │                               ├──► skip: the next one
 *                                 │                               └──► event_send(): SENDING
 *                                 └──► none, and series: counts that are due
 *   answered ──► success, or a final error: event_finish(), IDLE, the next one
 *            ├─► no answer: WAITING for about 10 s, and again, COR_EVENT_TRIES_MAX times in all
 *            └─► a patch whose Event does not exist (404): a create instead
 *
 * What fails: a full queue refuses the event (-COR_EBUSY); an event that was given up is reported
 * to on_given_up; a count that could not be written stays for the next round. After shutdown a
 * waiting event is given up, and each queued event is tried once.
 *
 * Lock: `lock` guards the queue, the sequence of names, the random numbers and is_shut. It is a
 * leaf: nothing is called while it is held. */
/* clang-format on */
#include "kit/events/event_recorder.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "kit/events/event_correlator.h"
#include "kit/events/event_series.h"
#include "meta/names/validation.h"

#define BODY_MAX (16u * 1024)
#define NAME_MAX 320

struct queued {
    struct cor_dlist link;
    struct cor_event event;
    char *strings;
};

struct cor_event_recorder {
    struct cor_event_recorder_opts opts;
    struct cor_rand rand;
    char *component, *host, *instance;
    struct cor_lock lock; /* of the queue; a leaf */
    struct cor_dlist queue;
    size_t n;
    uint64_t seq; /* of names; under the lock, as are the random numbers */
    bool is_shut;

    /* The event under way, on the recorder's thread. */
    enum { IDLE, SENDING, WAITING } state;
    struct cor_event_correlator *correlator;
    struct cor_event_series *series; /* in place of the correlator; NULL: core/v1 */
    struct queued *current;          /* NULL: a count that is due */
    struct cor_event event;          /* what is sent for it */
    struct cor_buf body;
    bool is_patch;
    unsigned tries;
    uint64_t retry_ms;
};

static char *copy_text(struct cor_str text)
{
    return cor_strndup(text.n ? text.p : "", text.n);
}

int cor_event_recorder_new(const struct cor_event_recorder_opts *opts,
                           struct cor_event_recorder **ret_recorder)
{
    COR_CLEANUP(cor_event_recorder_freep)
    struct cor_event_recorder *rec = cor_calloc(1, sizeof(*rec));

    assert(opts->send && opts->wake_at);
    if (!rec)
        return -COR_ENOMEM;
    cor_lock_init(&rec->lock, COR_LOCK_EVENT_RECORDER);
    cor_dlist_init(&rec->queue);
    cor_buf_init(&rec->body, BODY_MAX);
    rec->opts = *opts;
    if (!rec->opts.clock)
        rec->opts.clock = cor_clock_real();
    cor_rand_init(&rec->rand);
    if (!rec->opts.rand)
        rec->opts.rand = &rec->rand;
    rec->component = copy_text(opts->component);
    rec->host = copy_text(opts->host);
    rec->instance = copy_text(opts->instance);
    if (!rec->component || !rec->host || !rec->instance ||
        cor_event_correlator_new(&rec->correlator) < 0)
        return -COR_ENOMEM;
    if (opts->series && cor_event_series_new(&rec->series) < 0)
        return -COR_ENOMEM;
    *ret_recorder = COR_STEAL(rec);
    return 0;
}

static void queued_free(struct queued *q)
{
    if (!q)
        return;
    cor_free(q->strings);
    cor_free(q);
}

struct cor_event_recorder *cor_event_recorder_free(struct cor_event_recorder *rec)
{
    struct cor_dlist *link;

    if (!rec)
        return NULL;
    while ((link = cor_dlist_pop(&rec->queue)))
        queued_free(COR_CONTAINER_OF(link, struct queued, link));
    queued_free(rec->current);
    cor_event_correlator_free(rec->correlator);
    cor_event_series_free(rec->series);
    cor_buf_deinit(&rec->body);
    cor_free(rec->component);
    cor_free(rec->host);
    cor_free(rec->instance);
    cor_lock_deinit(&rec->lock);
    return cor_free(rec);
}

/* Makes the name of an Event of the object's name and the time, in which a sequence number makes
 * names differ that are made in the same millisecond. When the object's name is not allowed in the
 * name of an Event, a random number takes its place. */
static struct cor_str make_name(struct cor_event_recorder *rec, struct cor_str object,
                                int64_t wall_ms, char to[NAME_MAX])
{
    unsigned long long stamp = (unsigned long long)wall_ms * 1000000 + rec->seq++ % 1000000;
    int n = snprintf(to, NAME_MAX, "%.*s.%llx", COR_STR_ARG(object), stamp);

    if (n > 0 && n < NAME_MAX && cor_name_ok(COR_NAME_DNS1123_SUBDOMAIN, cor_str(to, (size_t)n)))
        return cor_str(to, (size_t)n);
    n = snprintf(to, NAME_MAX, "%016llx.%llx", (unsigned long long)cor_rand_u64(rec->opts.rand),
                 stamp);
    return cor_str(to, (size_t)n);
}

static int queue_add_locked(struct cor_event_recorder *rec, const struct cor_event *event)
{
    struct cor_event named = *event;
    char name[NAME_MAX];
    struct queued *q;

    if (rec->is_shut)
        return -COR_ECANCELED;
    if (rec->n >= COR_EVENT_QUEUE_MAX)
        return -COR_EBUSY;
    named.event_name = make_name(rec, event->about.name, event->first_ms, name);
    q = cor_alloc(sizeof(*q));
    if (!q)
        return -COR_ENOMEM;
    if (cor_event_copy(&named, &q->event, &q->strings) < 0) {
        cor_free(q);
        return -COR_ENOMEM;
    }
    cor_dlist_push(&rec->queue, &q->link);
    rec->n++;
    return 0;
}

static int queue_add(struct cor_event_recorder *rec, const struct cor_event *event)
{
    int r;

    cor_lock_acquire(&rec->lock);
    r = queue_add_locked(rec, event);
    cor_lock_release(&rec->lock);
    if (r == 0 && rec->opts.on_ready)
        rec->opts.on_ready(rec->opts.arg);
    return r;
}

static struct cor_str cut_text(const char *text, size_t max)
{
    return cor_str(text, strnlen(text, max));
}

int cor_event_record(struct cor_event_recorder *rec, const struct cor_event_told *told)
{
    struct cor_event event = {
        .type = told->type == COR_EVENT_WARNING ? COR_STR("Warning") : COR_STR("Normal"),
        .reason = cut_text(told->reason, COR_EVENT_REASON_MAX),
        .message = cut_text(told->message, COR_EVENT_MESSAGE_MAX),
        .action = cut_text(told->action ? told->action : told->reason, COR_EVENT_ACTION_MAX),
        .component = cor_strz(rec->component),
        .host = cor_strz(rec->host),
        .count = 1,
    };
    int r = cor_event_ref_to(told->about, &event.about);

    assert(told->reason && told->message);
    if (r < 0)
        return r;
    if (told->related)
        (void)cor_event_ref_to(told->related, &event.related);
    event.first_ms = event.last_ms = cor_clock_wall_ms(rec->opts.clock);
    return queue_add(rec, &event);
}

void cor_event_recorder_fall_back(struct cor_event_recorder *rec)
{
    assert(rec->state == IDLE && !rec->current);
    rec->series = cor_event_series_free(rec->series);
}

static void event_finish(struct cor_event_recorder *rec, int r)
{
    const struct cor_event *told = rec->current ? &rec->current->event : &rec->event;

    if (r < 0 && rec->opts.on_given_up)
        rec->opts.on_given_up(rec->opts.arg, told, r);
    if (!rec->current)
        cor_event_series_written(rec->series, true);
    queued_free(COR_STEAL(rec->current));
    rec->state = IDLE;
}

static int write_body(struct cor_event_recorder *rec)
{
    cor_buf_reset(&rec->body);
    if (rec->series)
        return rec->is_patch ? cor_event_write_v1_patch(&rec->event, &rec->body)
                             : cor_event_write_v1(&rec->event, &rec->body);
    return rec->is_patch ? cor_event_write_patch(&rec->event, &rec->body)
                         : cor_event_write(&rec->event, &rec->body);
}

static void event_send(struct cor_event_recorder *rec)
{
    struct cor_event_request request = {.is_series = rec->series != NULL,
                                        .is_patch = rec->is_patch,
                                        .ns = cor_event_namespace(&rec->event),
                                        .name = rec->event.event_name};
    int r = write_body(rec);

    if (r < 0) {
        event_finish(rec, r);
        return;
    }
    request.body = cor_buf_str(&rec->body);
    rec->state = SENDING;
    rec->opts.send(rec->opts.arg, &request);
}

static bool queue_take(struct cor_event_recorder *rec)
{
    struct cor_dlist *link;

    cor_lock_acquire(&rec->lock);
    link = cor_dlist_pop(&rec->queue);
    rec->n -= link != NULL;
    cor_lock_release(&rec->lock);
    rec->current = link ? COR_CONTAINER_OF(link, struct queued, link) : NULL;
    return link != NULL;
}

static int correlate(struct cor_event_recorder *rec)
{
    uint64_t now_ms = cor_clock_mono_ms(rec->opts.clock);
    struct cor_event event = rec->current->event;

    if (!rec->series)
        return cor_event_correlate(rec->correlator, &rec->current->event, now_ms, &rec->event);
    event.host = cor_strz(rec->instance);
    return cor_event_series_add(rec->series, &event, now_ms, &rec->event);
}

static void event_send_first(struct cor_event_recorder *rec)
{
    rec->tries = 0;
    rec->is_patch = rec->event.count > 1;
    event_send(rec);
}

static void event_begin(struct cor_event_recorder *rec)
{
    int r = correlate(rec);

    if (r == 0)
        event_send_first(rec);
    else
        event_finish(rec, r < 0 ? r : 0);
}

static bool is_shut(struct cor_event_recorder *rec)
{
    return COR_LOCKED(&rec->lock, rec->is_shut);
}

/* Writes the counts of series that are due; only when no event waits. */
static void write_counts(struct cor_event_recorder *rec)
{
    uint64_t now_ms = cor_clock_mono_ms(rec->opts.clock);
    uint64_t due_ms;

    while (rec->state == IDLE && cor_event_series_take_due(rec->series, now_ms, &rec->event))
        event_send_first(rec);
    due_ms = cor_event_series_due_ms(rec->series);
    if (rec->state == IDLE && due_ms != UINT64_MAX)
        rec->opts.wake_at(rec->opts.arg, due_ms);
}

void cor_event_recorder_step(struct cor_event_recorder *rec)
{
    if (rec->state == WAITING && is_shut(rec))
        event_finish(rec, -COR_ECANCELED);
    else if (rec->state == WAITING && cor_clock_mono_ms(rec->opts.clock) >= rec->retry_ms)
        event_send(rec);
    else if (rec->state == WAITING)
        rec->opts.wake_at(rec->opts.arg, rec->retry_ms);
    while (rec->state == IDLE && queue_take(rec))
        event_begin(rec);
    if (rec->state == IDLE && rec->series && !is_shut(rec))
        write_counts(rec);
}

/* Many programs that lost the same server must not return at once. So the first wait of an event of
 * core/v1 is a random share of 10 s, and each wait of a series is longer by a random quarter at
 * most. */
static void wait_for_retry(struct cor_event_recorder *rec)
{
    double share = 1;

    cor_lock_acquire(&rec->lock);
    if (rec->series)
        share = 1 + cor_rand_unit(rec->opts.rand) / 4;
    else if (rec->tries == 1)
        share = cor_rand_unit(rec->opts.rand);
    cor_lock_release(&rec->lock);
    rec->is_patch = rec->event.count > 1;
    rec->retry_ms =
        cor_clock_mono_ms(rec->opts.clock) + (uint64_t)(share * (double)COR_EVENT_RETRY_MS);
    rec->state = WAITING;
    rec->opts.wake_at(rec->opts.arg, rec->retry_ms);
}

void cor_event_recorder_answered(struct cor_event_recorder *rec, int r, bool is_final)
{
    if (rec->state != SENDING)
        return;
    if (r == -COR_ENOTFOUND && rec->is_patch) {
        rec->is_patch = false;
        event_send(rec);
        return;
    }
    /* A patch did not find the Event, and now a create finds one: it is patched again. */
    if (r == -COR_EEXIST && rec->series && rec->event.count > 1)
        is_final = false;
    if (r < 0 && !is_final && !rec->current) {
        cor_event_series_written(rec->series, false);
        rec->state = IDLE;
        cor_event_recorder_step(rec);
        return;
    }
    rec->tries++;
    if (r < 0 && !is_final && rec->tries < COR_EVENT_TRIES_MAX && !is_shut(rec)) {
        wait_for_retry(rec);
        return;
    }
    event_finish(rec, r);
    cor_event_recorder_step(rec);
}

void cor_event_recorder_shutdown(struct cor_event_recorder *rec)
{
    cor_lock_acquire(&rec->lock);
    rec->is_shut = true;
    cor_lock_release(&rec->lock);
    if (rec->opts.on_ready)
        rec->opts.on_ready(rec->opts.arg);
}

bool cor_event_recorder_is_idle(struct cor_event_recorder *rec)
{
    bool idle;

    cor_lock_acquire(&rec->lock);
    idle = rec->n == 0;
    cor_lock_release(&rec->lock);
    return idle && rec->state == IDLE;
}
