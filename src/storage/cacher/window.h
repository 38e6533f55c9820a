/* The recent events of one resource, oldest first. An event has a number, one more than the one
 * before it, and stands in a segment of 128 that is never changed once written: a reader holds the
 * segment while it looks at an event. Whole segments leave at the old end, and with the last of
 * them what the next ones hold of its last revision: a window never begins inside a revision.
 * Thread: whoever holds the watch cache's lock; a segment: any (immutable).  Owner: its embedder.
 */
#ifndef COR_STORAGE_CACHER_WINDOW_H
#define COR_STORAGE_CACHER_WINDOW_H

#include "storage/cacher/cache_entry.h"

#define COR_WINDOW_SEGMENT_EVENTS 128
/* A window that is larger never shrinks below this. */
#define COR_WINDOW_EVENTS_MIN 100
/* Numbers begin here, so that history can be put in front of the first event. */
#define COR_WINDOW_FIRST_NUMBER (UINT64_C(1) << 40)

struct cor_window_event {
    struct cor_cache_entry *now; /* NULL: deleted */
    struct cor_cache_entry *old; /* NULL: created */
    cor_rev rev;
    uint64_t at_ms; /* when it came, monotonic */
};

struct cor_window_segment {
    struct cor_ref ref;
    uint64_t number; /* of events[0] */
    unsigned begin;  /* slots in use: [begin, end) */
    unsigned end;
    size_t bytes;                     /* of the segment and of what only its events hold */
    struct cor_window_segment *chain; /* the next of those that left the window together */
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
    uint64_t first, next; /* events [first, next) are here; the segment of `first` may hold earlier
                           * ones, which have left and are of the revision `base` */
    size_t bytes;
    cor_rev base; /* every event after this revision is here */
};

/* Cannot fail. Deinit is safe on a zeroed struct. */
void cor_window_init(struct cor_window *w);
void cor_window_deinit(struct cor_window *w);

/* Forgets all events: the state is now that of a list at `base`. */
void cor_window_reset(struct cor_window *w, cor_rev base);

/* Room for one more event at the young or the old end. 0 or -COR_ENOMEM. */
int cor_window_reserve(struct cor_window *w);
int cor_window_reserve_front(struct cor_window *w);

/* After a successful reserve; cannot fail. The references are taken over. `bytes`: what only this
 * event holds. */
void cor_window_push(struct cor_window *w, struct cor_window_event take_event, size_t bytes);
/* The caller sets `base`: the window now holds every event after it. */
void cor_window_push_front(struct cor_window *w, struct cor_window_event take_event, size_t bytes);
/* Takes back the last push_front() with the same `bytes`, before anybody has seen it: the event's
 * references are the caller's again. */
void cor_window_unpush_front(struct cor_window *w, size_t bytes);

/* The oldest segment, as far as it may leave: NULL when too few events would be left. A revision
 * that is larger than that stays whole until it is followed by as many events. */
struct cor_window_segment *cor_window_peek_oldest(const struct cor_window *w);
/* The same, where the rest of its last revision counts as left: for events that are so old that
 * every loop has dispatched them. */
struct cor_window_segment *cor_window_peek_stale(const struct cor_window *w);
/* Number of the first event that is left when the oldest segment goes with its last revision. */
uint64_t cor_window_oldest_end(const struct cor_window *w);
/* Takes it out, of which a peek has said that it may leave, and with it the segments that hold
 * nothing but the rest of its last revision: a chain, which the caller unrefs without the lock. */
struct cor_window_segment *cor_window_pop_oldest(struct cor_window *w);
struct cor_window_segment *cor_window_chain_unref(struct cor_window_segment *first);
COR_DEFINE_CLEANUP(struct cor_window_segment, cor_window_chain_unref)

/* The segment of an event that is here, with a reference for the caller. */
struct cor_window_segment *cor_window_get(const struct cor_window *w, uint64_t number);

/* Number of the first event after `rev`, which is not below `base`; `next` when there is none. */
uint64_t cor_window_after(const struct cor_window *w, cor_rev rev);

#endif
