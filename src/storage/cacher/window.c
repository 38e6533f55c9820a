/* clang-format off */
/* Segments in a ring, so that both ends grow and shrink in constant time. The number of an event
 * says in which segment and at which slot it is: slot = number % 128.
 *
 *   push         reserve makes the last segment when it is needed; push fills its next slot
 *   push_front   the same at the old end, where slots are filled downwards
 *   pop_oldest   removes whole segments. When a revision goes on in the segment that stays, `first`
 *                moves into it, and its earlier slots are dead: readers may still hold them, but they
 *                are not part of the window. Before history is put in front of them, the segment is
 *                replaced by a copy without them (drop_dead_events())
 *
 * What fails: only reserve, with -COR_ENOMEM, and then the window is as before. */
/* clang-format on */
#include "storage/cacher/window.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"

#define SLOT(number) ((unsigned)((number) % COR_WINDOW_SEGMENT_EVENTS))

static struct cor_window_segment *segment_new(uint64_t number)
{
    struct cor_window_segment *s = cor_alloc(sizeof(*s));

    if (!s)
        return NULL;
    cor_ref_init(&s->ref);
    s->number = number - SLOT(number);
    s->begin = s->end = SLOT(number);
    s->bytes = sizeof(*s);
    s->chain = NULL;
    return s;
}

struct cor_window_segment *cor_window_segment_unref(struct cor_window_segment *s)
{
    if (!s || !cor_ref_put(&s->ref))
        return NULL;
    for (unsigned i = s->begin; i < s->end; i++) {
        cor_cache_entry_unref(s->events[i].now);
        cor_cache_entry_unref(s->events[i].old);
    }
    return cor_free(s);
}

struct cor_window_segment *cor_window_chain_unref(struct cor_window_segment *first)
{
    while (first) {
        struct cor_window_segment *next = first->chain;

        cor_window_segment_unref(first);
        first = next;
    }
    return NULL;
}

static struct cor_window_segment **slot_of(const struct cor_window *w, size_t i)
{
    return &w->segments[(w->head + i) & (w->cap - 1)];
}

static struct cor_window_segment *segment_of(const struct cor_window *w, uint64_t number)
{
    uint64_t i = number / COR_WINDOW_SEGMENT_EVENTS - w->first / COR_WINDOW_SEGMENT_EVENTS;

    assert(number >= w->first && number < w->next);
    return *slot_of(w, (size_t)i);
}

void cor_window_init(struct cor_window *w)
{
    *w = (struct cor_window){.first = COR_WINDOW_FIRST_NUMBER, .next = COR_WINDOW_FIRST_NUMBER};
}

void cor_window_reset(struct cor_window *w, cor_rev base)
{
    for (size_t i = 0; i < w->n; i++)
        cor_window_segment_unref(*slot_of(w, i));
    w->n = 0;
    w->bytes = 0;
    w->first = w->next;
    w->base = base;
}

void cor_window_deinit(struct cor_window *w)
{
    cor_window_reset(w, 0);
    w->segments = cor_free(w->segments);
    w->cap = 0;
}

static int grow(struct cor_window *w)
{
    size_t cap = w->cap ? w->cap * 2 : 4;
    struct cor_window_segment **segments;

    if (w->n < w->cap)
        return 0;
    segments = cor_alloc(cap * sizeof(struct cor_window_segment *));
    if (!segments)
        return -COR_ENOMEM;
    for (size_t i = 0; i < w->n; i++)
        segments[i] = *slot_of(w, i);
    cor_free(w->segments);
    w->segments = segments;
    w->cap = cap;
    w->head = 0;
    return 0;
}

/* A segment that was reserved stays when its event does not come: it may be empty. */
static struct cor_window_segment *last_segment(const struct cor_window *w)
{
    return w->n > 0 ? *slot_of(w, w->n - 1) : NULL;
}

int cor_window_reserve(struct cor_window *w)
{
    struct cor_window_segment *last = last_segment(w);
    int r;

    if (last && last->number == w->next - SLOT(w->next))
        return 0;
    r = grow(w);
    if (r < 0)
        return r;
    last = segment_new(w->next);
    if (!last)
        return -COR_ENOMEM;
    w->n++;
    *slot_of(w, w->n - 1) = last;
    w->bytes += last->bytes;
    return 0;
}

/* Replaces the oldest segment by a copy without the events that have left. Readers may still hold
 * the original. The bytes of the dropped events stay counted until the segment leaves. */
static int drop_dead_events(struct cor_window *w)
{
    struct cor_window_segment *s = *slot_of(w, 0), *copy = segment_new(w->first);

    if (!copy)
        return -COR_ENOMEM;
    copy->end = s->end;
    copy->bytes = s->bytes;
    for (unsigned i = copy->begin; i < copy->end; i++) {
        copy->events[i] = s->events[i];
        if (s->events[i].now)
            cor_cache_entry_ref(s->events[i].now);
        if (s->events[i].old)
            cor_cache_entry_ref(s->events[i].old);
    }
    *slot_of(w, 0) = copy;
    cor_window_segment_unref(s);
    return 0;
}

int cor_window_reserve_front(struct cor_window *w)
{
    struct cor_window_segment *front = w->n > 0 ? *slot_of(w, 0) : NULL;
    int r;

    if (front && front->number == (w->first - 1) - SLOT(w->first - 1))
        return front->number + front->begin < w->first ? drop_dead_events(w) : 0;
    r = grow(w);
    if (r < 0)
        return r;
    front = segment_new(w->first - 1);
    if (!front)
        return -COR_ENOMEM;
    front->begin = front->end = SLOT(w->first - 1) + 1;
    w->head = (w->head + w->cap - 1) & (w->cap - 1);
    w->n++;
    *slot_of(w, 0) = front;
    w->bytes += front->bytes;
    return 0;
}

void cor_window_push(struct cor_window *w, struct cor_window_event take_event, size_t bytes)
{
    struct cor_window_segment *s = last_segment(w);

    assert(s && s->number + s->end == w->next && s->end < COR_WINDOW_SEGMENT_EVENTS);
    s->events[s->end++] = take_event;
    s->bytes += bytes;
    w->bytes += bytes;
    w->next++;
}

void cor_window_push_front(struct cor_window *w, struct cor_window_event take_event, size_t bytes)
{
    struct cor_window_segment *s = *slot_of(w, 0);

    assert(s->begin > 0 && s->number + s->begin == w->first);
    s->events[--s->begin] = take_event;
    s->bytes += bytes;
    w->bytes += bytes;
    w->first--;
}

static struct cor_window_segment *shift(struct cor_window *w)
{
    struct cor_window_segment *s = *slot_of(w, 0);

    w->head = (w->head + 1) & (w->cap - 1);
    w->n--;
    w->bytes -= s->bytes;
    return s;
}

void cor_window_unpush_front(struct cor_window *w, size_t bytes)
{
    struct cor_window_segment *s = *slot_of(w, 0);

    assert(s->number + s->begin == w->first && s->begin < s->end);
    s->begin++;
    s->bytes -= bytes;
    w->bytes -= bytes;
    w->first++;
    if (s->begin < s->end || w->first % COR_WINDOW_SEGMENT_EVENTS != 0)
        return;
    cor_window_segment_unref(shift(w));
}

/* The next segment mostly begins with another revision: then no search is needed. */
uint64_t cor_window_oldest_end(const struct cor_window *w)
{
    const struct cor_window_segment *s = *slot_of(w, 0);
    uint64_t end = s->number + s->end;
    cor_rev rev = s->events[s->end - 1].rev;

    if (end >= w->next || cor_window_segment_at(*slot_of(w, 1), end)->rev != rev)
        return end;
    return cor_window_after(w, rev);
}

struct cor_window_segment *cor_window_peek_stale(const struct cor_window *w)
{
    struct cor_window_segment *s;

    if (w->n < 2)
        return NULL;
    s = *slot_of(w, 0);
    return w->next - (s->number + s->end) >= COR_WINDOW_EVENTS_MIN ? s : NULL;
}

struct cor_window_segment *cor_window_peek_oldest(const struct cor_window *w)
{
    struct cor_window_segment *s = cor_window_peek_stale(w);

    return s && w->next - cor_window_oldest_end(w) >= COR_WINDOW_EVENTS_MIN ? s : NULL;
}

struct cor_window_segment *cor_window_pop_oldest(struct cor_window *w)
{
    uint64_t first = cor_window_oldest_end(w);
    struct cor_window_segment *chain = shift(w), *last = chain;

    assert(chain->end == COR_WINDOW_SEGMENT_EVENTS);
    w->base = chain->events[chain->end - 1].rev;
    while (w->n > 0 && (*slot_of(w, 0))->number + COR_WINDOW_SEGMENT_EVENTS <= first) {
        last->chain = shift(w);
        last = last->chain;
    }
    w->first = first;
    return chain;
}

struct cor_window_segment *cor_window_get(const struct cor_window *w, uint64_t number)
{
    struct cor_window_segment *s = segment_of(w, number);

    cor_ref_get(&s->ref);
    return s;
}

uint64_t cor_window_after(const struct cor_window *w, cor_rev rev)
{
    uint64_t lo = w->first, hi = w->next;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (cor_window_segment_at(segment_of(w, mid), mid)->rev > rev)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}
