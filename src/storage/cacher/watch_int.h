/* clang-format off */
/* Inside cacher/: one watch on a cache.
 *
 *   STARTING ──► FRESHENING ──► SYNCING ──► SYNCED ──► WALKING ──► IDLE ◄──► LAGGING
 *       │            │                                    ▲
 *       ├────────────┴────────────────────────────────────┤ without the initial state
 *       └──► EXTENDING (the window, backwards) ───────────┘
 *   any ──► ENDING ──► ENDED        any ──► CLOSED
 *
 * STARTING: on_open is due. FRESHENING: waits until the cache is as young as asked for. EXTENDING:
 * waits for history in front of the window. SYNCING: the present state is being delivered. SYNCED:
 * the bookmark after it is due. WALKING: looks at the window's events from `from` on until those
 * that its loop has dispatched; it stands in no bucket's list. IDLE: has seen everything; a
 * matching event is delivered as it comes. LAGGING: event `from` is its next one and was not
 * delivered, because it was paused. ENDING: the last event is due.
 *
 * A plain end makes a client go on after the revision that it saw last. So a stream ends plainly
 * between two revisions only; one that has to end inside of one ends with 410, and its client lists
 * anew. */
/* clang-format on */
#ifndef COR_STORAGE_CACHER_WATCH_INT_H
#define COR_STORAGE_CACHER_WATCH_INT_H

#include "storage/cacher/reader_int.h"

enum watch_state {
    WATCH_STARTING,
    WATCH_FRESHENING,
    WATCH_EXTENDING,
    WATCH_SYNCING,
    WATCH_SYNCED,
    WATCH_WALKING,
    WATCH_IDLE,
    WATCH_LAGGING,
    WATCH_ENDING,
    WATCH_ENDED,
    WATCH_CLOSED,
};

struct cacher_watch {
    struct cor_watch base;
    struct cacher_reader *reader;
    enum watch_state state;
    bool paused;
    bool recursive;
    bool bookmarks;
    bool bookmark_due;
    bool has_error;    /* of ENDING: an ERROR event; else the plain end */
    bool is_cut;       /* of ENDING: inside a revision, which is an ERROR event too */
    bool is_inside;    /* WALKING, LAGGING: `from` may be of the revision `rev` */
    bool is_finishing; /* it ends with that revision */
    bool turn_posted;
    bool started;          /* counted in reader->started */
    uint64_t generation;   /* of the cache that it watches */
    struct cor_dlist link; /* in a list of the bucket */
    struct cor_dlist all;  /* in the reader's watches */
    struct watch_bucket *bucket;
    struct store_key key;
    const struct cor_predicate *predicate; /* NULL: everything */
    struct cor_watch_plan plan;
    uint64_t from;    /* number of the first event it has not seen */
    uint64_t place;   /* `from`, as the reader's `needs` knows it; UINT64_MAX: none */
    cor_rev min_rev;  /* events up to this are not for it */
    cor_rev rev;      /* of the last event that was delivered; 0: none */
    uint64_t reading; /* EXTENDING: of history, that it waits for */
    unsigned tries;   /* readings that did not help */
    uint64_t deadline_ms;
    struct cor_timer bookmark_timer;
    struct cacher_sync *sync; /* while FRESHENING to SYNCED */
    struct cor_mail turn, closed_mail;
    void (*on_open)(void *arg, int err, struct cor_status *status);
    cor_watch_cb on_event;
    void *arg;
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* What only a watch that begins needs. */
struct cacher_sync {
    struct cacher_watch *watch;
    struct fresh_wait wait;
    struct cor_cache_snapshot snapshot;
    struct cor_cache_iter iter;
    struct cor_status status; /* of the ERROR that ends it */
};

/* Has it a place in the window? */
static inline bool is_behind(const struct cacher_watch *w)
{
    return w->state == WATCH_WALKING || w->state == WATCH_LAGGING;
}

/* In watch.c. */
void cor_cacher_watch_schedule(struct cacher_watch *w);
/* The stream ends: plainly, or (status, moved out of) with an ERROR event. Inside a revision the
 * plain end becomes a 410. */
void cor_cacher_watch_end(struct cacher_watch *w, struct cor_status *status);
/* EXTENDING: history was put in front of the window, or could not be. */
void cor_cacher_watch_begin(struct cacher_watch *w);
/* Sends the bookmark that is due, if the watch can take it now. */
void cor_cacher_watch_bookmark(struct cacher_watch *w);

/* In dispatch.c. What the watch sees of a change; false: nothing. */
bool cor_cacher_watch_sees(const struct cacher_watch *w, const struct cor_window_event *change,
                           struct cor_reader_event *ret_event);
void cor_cacher_watch_deliver(struct cacher_watch *w, const struct cor_reader_event *event);
/* Out of its bucket's lists. */
void cor_cacher_watch_unlink(struct cacher_watch *w);
/* WALKING or LAGGING: delivers until it is paused, has caught up, or `max` events were looked at.
 * True: there is more. */
bool cor_cacher_watch_catch_up(struct cacher_watch *w, size_t max);
/* Where the watch stands in the window has changed: what the window must keep is found anew. */
void cor_cacher_watch_moved(struct cacher_watch *w);

#endif
