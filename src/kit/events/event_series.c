/* clang-format off */
/* One memory of series in the order of their last event, and two rounds that look through it:
 *
 *   add ──► new: remembered, and sent as a create (count 1)
 *       ├─► second: sent at once as a series of 2
 *       └─► more: counted, COR_EVENT_SKIP
 *   every 30 minutes: each series with a count above 1 becomes due (series_refresh_all)
 *   every 6 minutes: a series without an event for that long becomes due a last time, or is
 *       forgotten when it is a single event (series_finish_silent)
 *   take_due ──► the caller writes the count ──► written: a finished series is forgotten
 *
 * The rounds begin with the first series that is remembered, and end when none is left. A series
 * that was taken stays in the memory while it is written, so a failed write loses nothing.
 * Thread: one at a time. */
/* clang-format on */
#include "kit/events/event_series.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/lru.h"
#include "base/mem.h"

#define KEY_MAX (16u * 1024)

struct series {
    struct cor_lru_link link;
    struct cor_dlist due; /* in the list of series to write, or in none */
    struct cor_event
        event; /* the first event; with a count above 1 it has the time of the last one */
    char *strings;
    uint64_t last_ms; /* of the monotonic clock, when the last event came */
    char key[];
};

struct cor_event_series {
    struct cor_lru all;
    struct cor_dlist due;
    struct series *writing; /* was due, and is not written yet */
    bool is_last;           /* the series is forgotten after this write */
    uint64_t refresh_ms, finish_ms;
    struct cor_buf key;
};

static void series_drop(struct cor_lru_link *take)
{
    struct series *one = COR_CONTAINER_OF(take, struct series, link);

    cor_dlist_remove(&one->due);
    cor_free(one->strings);
    cor_free(one);
}

int cor_event_series_new(struct cor_event_series **ret_series)
{
    struct cor_event_series *s = cor_calloc(1, sizeof(*s));

    if (!s)
        return -COR_ENOMEM;
    cor_lru_init(&s->all, COR_EVENT_SERIES_MAX, series_drop);
    cor_dlist_init(&s->due);
    cor_buf_init(&s->key, KEY_MAX);
    *ret_series = s;
    return 0;
}

struct cor_event_series *cor_event_series_free(struct cor_event_series *s)
{
    if (!s)
        return NULL;
    cor_lru_deinit(&s->all);
    cor_buf_deinit(&s->key);
    return cor_free(s);
}

static int key_add_ref(struct cor_event_series *s, const struct cor_event_ref *ref)
{
    const struct cor_str parts[] = {ref->kind, ref->api_version,      ref->ns,        ref->name,
                                    ref->uid,  ref->resource_version, ref->field_path};

    return cor_event_add_key(&s->key, parts, COR_ARRAY_LEN(parts));
}

/* The key has all parts but the note, which may differ from event to event. */
static int key_set(struct cor_event_series *s, const struct cor_event *e)
{
    const struct cor_str parts[] = {e->type, e->action, e->reason, e->component, e->host};
    int r;

    cor_buf_reset(&s->key);
    r = cor_event_add_key(&s->key, parts, COR_ARRAY_LEN(parts));
    if (r == 0)
        r = key_add_ref(s, &e->about);
    return r < 0 ? r : key_add_ref(s, &e->related);
}

static void rounds_begin(struct cor_event_series *s, uint64_t now_ms)
{
    s->refresh_ms = now_ms + COR_EVENT_SERIES_REFRESH_MS;
    s->finish_ms = now_ms + COR_EVENT_SERIES_FINISH_MS;
}

/* Adds a series under the key that is set. */
static int series_remember(struct cor_event_series *s, const struct cor_event *event,
                           uint64_t now_ms, struct cor_event *ret_event)
{
    struct series *one = cor_calloc(1, sizeof(*one) + s->key.n);

    if (!one)
        return -COR_ENOMEM;
    cor_dlist_init(&one->due);
    memcpy(one->key, s->key.p, s->key.n);
    one->link.key = cor_str(one->key, s->key.n);
    one->last_ms = now_ms;
    if (cor_lru_len(&s->all) == 0)
        rounds_begin(s, now_ms);
    if (cor_event_copy(event, &one->event, &one->strings) < 0 ||
        cor_lru_add(&s->all, &one->link) < 0) {
        series_drop(&one->link);
        return -COR_ENOMEM;
    }
    *ret_event = one->event;
    return 0;
}

int cor_event_series_add(struct cor_event_series *s, const struct cor_event *event, uint64_t now_ms,
                         struct cor_event *ret_event)
{
    struct cor_lru_link *link;
    struct series *one;
    int r = key_set(s, event);

    if (r < 0)
        return r;
    link = cor_lru_use(&s->all, cor_buf_str(&s->key));
    if (!link)
        return series_remember(s, event, now_ms, ret_event);
    one = COR_CONTAINER_OF(link, struct series, link);
    one->event.last_ms = event->last_ms;
    one->last_ms = now_ms;
    if (one->event.count < UINT32_MAX)
        one->event.count++;
    if (one->event.count > 2)
        return COR_EVENT_SKIP;
    *ret_event = one->event;
    return 0;
}

static bool is_silent(const struct series *one, uint64_t now_ms)
{
    return now_ms - one->last_ms > COR_EVENT_SERIES_FINISH_MS;
}

static void series_make_due(struct cor_event_series *s, struct series *one)
{
    cor_dlist_remove(&one->due);
    cor_dlist_push(&s->due, &one->due);
}

static void series_refresh_all(struct cor_event_series *s)
{
    COR_DLIST_FOREACH(it, &s->all.order) {
        struct series *one = COR_CONTAINER_OF(it, struct series, link.link);

        if (one->event.count > 1)
            series_make_due(s, one);
    }
}

/* The memory is in the order of the last events, so the silent series are the first. */
static void series_finish_silent(struct cor_event_series *s, uint64_t now_ms)
{
    COR_DLIST_FOREACH_SAFE(it, &s->all.order) {
        struct series *one = COR_CONTAINER_OF(it, struct series, link.link);

        if (!is_silent(one, now_ms))
            return;
        if (one->event.count > 1)
            series_make_due(s, one);
        else
            cor_lru_drop(&s->all, &one->link);
    }
}

bool cor_event_series_take_due(struct cor_event_series *s, uint64_t now_ms,
                               struct cor_event *ret_event)
{
    struct cor_dlist *link;

    assert(!s->writing);
    if (now_ms >= s->refresh_ms) {
        s->refresh_ms = now_ms + COR_EVENT_SERIES_REFRESH_MS;
        series_refresh_all(s);
    }
    if (now_ms >= s->finish_ms) {
        s->finish_ms = now_ms + COR_EVENT_SERIES_FINISH_MS;
        series_finish_silent(s, now_ms);
    }
    link = cor_dlist_pop(&s->due);
    if (!link)
        return false;
    s->writing = COR_CONTAINER_OF(link, struct series, due);
    s->is_last = is_silent(s->writing, now_ms);
    *ret_event = s->writing->event;
    return true;
}

void cor_event_series_written(struct cor_event_series *s, bool is_done)
{
    struct series *one = COR_STEAL(s->writing);

    assert(one);
    if (is_done && s->is_last)
        cor_lru_drop(&s->all, &one->link);
}

uint64_t cor_event_series_due_ms(const struct cor_event_series *s)
{
    if (!cor_dlist_empty(&s->due))
        return 0;
    if (cor_lru_len(&s->all) == 0)
        return UINT64_MAX;
    return s->refresh_ms < s->finish_ms ? s->refresh_ms : s->finish_ms;
}
