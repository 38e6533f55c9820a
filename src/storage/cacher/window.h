/* The recent events of one resource, oldest first.
 *
 * Events are numbered without gaps and kept in segments of 128. An event is never changed once it
 * is written, so a reader needs no lock for the events of a segment that it holds a reference to.
 * Whole segments leave at the old end. When the last event of a segment that leaves belongs to a
 * revision that goes on in the next segment, the rest of that revision leaves with it: a window
 * never begins inside a revision. Thread: whoever holds the watch cache's lock; a segment: any.
 * Owner: its embedder. */
#ifndef COR_STORAGE_CACHER_WINDOW_H
#define COR_STORAGE_CACHER_WINDOW_H

#include "storage/cacher/cache_entry.h"

#define COR_WINDOW_SEGMENT_EVENTS 128
/* Eviction leaves at least so many events. */
#define COR_WINDOW_EVENTS_MIN 100
/* Numbers begin here, so that history can be put in front of the first event. */
#define COR_WINDOW_FIRST_NUMBER (UINT64_C(1) << 40)

/* The place of a change in its revision, counted from 0 among all changes of the resource, also
 * those that made no event. A larger one is not known. */
#define COR_WINDOW_NTH_MAX ((1u << 24) - 1)

struct cor_window_event {
    struct cor_cache_entry *now; /* NULL: deleted */
    struct cor_cache_entry *old; /* NULL: created */
    cor_rev rev;
    uint64_t at_ms : 40; /* when it came, monotonic */
    uint64_t nth : 24;   /* COR_WINDOW_NTH_MAX: that one, or a later one */
};

/* The place of the change after the one of `rev` and `nth`; `next_rev` is that change's revision.
 */
static inline unsigned cor_window_next_nth(cor_rev rev, unsigned nth, cor_rev next_rev)
{
    return next_rev != rev ? 0 : nth < COR_WINDOW_NTH_MAX ? nth + 1 : nth;
}

struct cor_window_segment {
    struct cor_ref ref;
    uint64_t number; /* of events[0] */
    unsigned begin;  /* slots in use: [begin, end) */
    unsigned end;
    size_t bytes;                     /* of the segment and of what only its events hold */
    struct cor_window_segment *chain; /* the next of the segments that left the window together */
    struct cor_window_event events[COR_WINDOW_SEGMENT_EVENTS];
};

struct cor_window_segment *cor_window_segment_unref(struct cor_window_segment *segment);
COR_DEFINE_CLEANUP(struct cor_window_segment, cor_window_segment_unref)

static inline const struct cor_window_event *
cor_window_segment_at(const struct cor_window_segment *segment, uint64_t number)
{
    return &segment->events[number - segment->number];
}

struct cor_window {
    struct cor_window_segment **segments; /* a ring of `cap`, `n` in use from `head` on */
    size_t head, n, cap;
    uint64_t first, next; /* events [first, next) are in the window; the segment of `first` may hold
                           * earlier ones, of the revision `base`, which have left */
    size_t bytes;
    cor_rev base; /* every event after this revision is in the window, and none of it */
};

/* Cannot fail. Deinit is safe on a zeroed struct. */
void cor_window_init(struct cor_window *w);
void cor_window_deinit(struct cor_window *w);

/* Drops all events: a list at `base` has replaced the content. */
void cor_window_reset(struct cor_window *w, cor_rev base);

/* Makes room for one more event at the young or the old end. 0 or -COR_ENOMEM. */
int cor_window_reserve(struct cor_window *w);
int cor_window_reserve_front(struct cor_window *w);

/* Adds an event after a successful reserve; cannot fail. The event's references are taken over.
 * `bytes`: the memory that only this event holds. */
void cor_window_push(struct cor_window *w, struct cor_window_event take_event, size_t bytes);
/* The same at the old end. The caller sets `base` afterwards. */
void cor_window_push_front(struct cor_window *w, struct cor_window_event take_event, size_t bytes);
/* Takes back the last push_front(), with the same `bytes`, before the lock is released: the event's
 * references are the caller's again. */
void cor_window_unpush_front(struct cor_window *w, size_t bytes);

/* The oldest segment, if it may leave; NULL: fewer than COR_WINDOW_EVENTS_MIN events would be left.
 * A revision with more events than that stays whole until as many have followed it. */
struct cor_window_segment *cor_window_peek_oldest(const struct cor_window *w);
/* The same, for events that are so old that every loop has dispatched them: the rest of the
 * segment's last revision counts among those that are left, although it leaves too. */
struct cor_window_segment *cor_window_peek_stale(const struct cor_window *w);
/* Number of the first event that is left when the oldest segment and the rest of its last revision
 * have gone. */
uint64_t cor_window_oldest_end(const struct cor_window *w);
/* Removes the oldest segment, which a peek has returned, and the segments that hold nothing but the
 * rest of its last revision. Returns them as a chain, which the caller unrefs without the lock. */
struct cor_window_segment *cor_window_pop_oldest(struct cor_window *w);
struct cor_window_segment *cor_window_chain_unref(struct cor_window_segment *first);
COR_DEFINE_CLEANUP(struct cor_window_segment, cor_window_chain_unref)

/* The segment of an event that is in the window, with a reference for the caller. */
struct cor_window_segment *cor_window_get(const struct cor_window *w, uint64_t number);

/* Number of the first event after `rev`, which is not below `base`; `next` when there is none. */
uint64_t cor_window_after(const struct cor_window *w, cor_rev rev);

#endif
