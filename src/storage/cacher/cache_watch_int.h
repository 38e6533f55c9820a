/* clang-format off */
/* Inside cacher/: one watch on a watch cache.
 *
 *   STARTING ──► FRESHENING ──► SYNCING ──► SYNCED ──► WALKING ──► IDLE ◄──► LAGGING
 *       │            │                                    ▲
 *       ├────────────┴────────────────────────────────────┤ without the initial state
 *       ├──► EXTENDING (the window, backwards) ───────────┤
 *       └──► REPLAYING (what does not fit there) ─────────┘
 *   WALKING, IDLE, LAGGING ──► REPLAYING (the rest of a revision that was evicted) ──► ENDING
 *   any ──► ENDING ──► ENDED        any ──► CLOSED
 *
 *   STARTING    on_open is due
 *   FRESHENING  waits until the cache is as young as was asked for
 *   EXTENDING   waits for history in front of the window
 *   REPLAYING   is given the events of history before the window (replay.h); while it is paused, it
 *               may be in no replay
 *   SYNCING     the objects of its snapshot are being delivered
 *   SYNCED      the bookmark after them is due
 *   WALKING     looks at the events of the window from `from` on, until it reaches those that its
 *               loop has not dispatched yet; it is in no list of its bucket
 *   IDLE        has seen everything; a matching event is delivered as the loop dispatches it
 *   LAGGING     event `from` is its next one, and was not delivered because the watch was paused
 *   ENDING      the last event is due
 *
 * A plain end makes a client go on after the revision that it saw last. So a stream ends plainly
 * between two revisions only. What is evicted inside a revision is read for the watch, which then
 * ends. A stream that has to end there nevertheless ends with 410, and its client lists again.
 *
 * Thread: the reader's loop.  Owner: whoever opened the watch, until on_closed. */
/* clang-format on */
#ifndef COR_STORAGE_CACHER_CACHE_WATCH_INT_H
#define COR_STORAGE_CACHER_CACHE_WATCH_INT_H

#include "storage/cacher/cache_reader_int.h"
#include "storage/cacher/replay.h"

enum watch_state {
    WATCH_STARTING,
    WATCH_FRESHENING,
    WATCH_EXTENDING,
    WATCH_REPLAYING,
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
    bool has_error;        /* ENDING: the last event is the ERROR in sync->status */
    bool is_cut;           /* ENDING: inside a revision, so the last event is a 410 */
    bool is_inside;        /* WALKING, LAGGING: event `from` may be of the revision `rev` */
    bool started;          /* counted in reader->started */
    bool is_open;          /* on_open has said so */
    bool is_gone;          /* CLOSED: freed with the last of `nreplays` */
    uint64_t generation;   /* of the cache that it watches */
    struct cor_dlist link; /* in a list of the bucket */
    struct cor_dlist all;  /* in the reader's watches */
    struct watch_bucket *bucket;
    struct store_key key;
    struct cor_str client;                 /* whose it is */
    const struct cor_predicate *predicate; /* NULL: everything */
    struct cor_field_places places;        /* of its fields in the notes of the entries */
    struct cor_watch_plan plan;
    uint64_t from;      /* number of the first event it has not seen */
    uint64_t place;     /* `from`, as the reader's `needs` knows it; UINT64_MAX: none */
    cor_rev min_rev;    /* events up to this are not for it */
    cor_rev rev;        /* of the last event that was delivered; 0: none */
    cor_rev finish_rev; /* it ends when it has been given everything up to it; 0: it goes on */
    unsigned nth;       /* its place in that revision */
    uint64_t reading;   /* EXTENDING: number of the reading of history that it waits for */
    unsigned tries;     /* readings that did not reach back far enough */
    unsigned nreplays;  /* that are closing since it left them last */
    uint64_t deadline_ms;
    struct cor_timer bookmark_timer;
    struct cacher_sync
        *sync; /* from the open until SYNCED is over, or until the end; or REPLAYING */
    struct store_turn turn;
    struct cor_mail closed_mail;
    void (*on_open)(void *arg, int err, struct cor_status *status);
    cor_watch_cb on_event;
    void *arg;
    void (*on_held)(void *arg); /* NULL: not wanted */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* What only a watch that begins needs, or one that is replayed. */
struct cacher_sync {
    struct cacher_watch *watch;
    struct fresh_wait wait;
    struct cor_cache_snapshot snapshot;
    struct cor_cache_iter iter;
    struct cor_status status; /* of the ERROR that ends it */
    /* REPLAYING. */
    struct replay *replay;      /* NULL: the watch is put aside */
    struct cor_dlist of_replay; /* in the replay's watches */
    struct replay_place place;  /* the first event that it was not given, or an earlier one of the
                                 * replay's */
    bool is_held;               /* it is paused before an event of its own */
};

/* Returns whether it is at an event of the window that it has not examined yet. */
static inline bool is_behind(const struct cacher_watch *w)
{
    return w->state == WATCH_WALKING || w->state == WATCH_LAGGING;
}

/* In cache_watch.c. */

/* Posts a turn, unless the watch has ended. */
void cor_cacher_watch_schedule(struct cacher_watch *w);
/* Ends the stream: plainly, or with an ERROR event (`status`, which is moved out of; only while
 * `sync` is there). Inside a revision the plain end becomes a 410. Again is harmless. */
void cor_cacher_watch_end(struct cacher_watch *w, struct cor_status *status);
/* In cache_finish.c. The watch ends when it has been given everything up to `rev`; 0: it goes on.
 */
void cor_cacher_watch_set_finish(struct cacher_watch *w, cor_rev rev);
/* After a dispatch: ends the idle watches that have been given what they finish with. */
void cor_cacher_watches_end_finished(struct cacher_reader *reader);
/* What it has to see next is not in the cache any more: it ends, or is given the rest of its
 * revision first (REPLAYING). */
void cor_cacher_watch_lose_place(struct cacher_watch *w);
/* cache_bookmark.c. Sends the bookmark that is due, if the watch can take it now. */
void cor_cacher_watch_bookmark(struct cacher_watch *w);
void cor_cacher_watch_set_bookmark_timer(struct cacher_watch *w);
void cor_cacher_watch_on_bookmark_timer(struct cor_timer *timer);
/* A replay that it was the last to leave is closed. */
void cor_cacher_watch_replay_closed(struct cacher_watch *w);

/* In cache_watch_begin.c. */

/* Puts the watch into its bucket. 0 or -COR_ENOMEM. */
int cor_cacher_watch_join(struct cacher_watch *w);
/* FRESHENING or EXTENDING: what it waited for is here, or cannot be had. REPLAYING, and in no
 * replay: it has been given everything up to `plan.rev`. */
void cor_cacher_watch_begin(struct cacher_watch *w);
/* The revision that the watch begins after; UINT64_MAX: the present one. */
cor_rev cor_cacher_watch_first_rev(const struct cacher_watch *w);
/* One step of each of these states. */
void cor_cacher_watch_step_starting(struct cacher_watch *w);
void cor_cacher_watch_step_syncing(struct cacher_watch *w);
void cor_cacher_watch_step_synced(struct cacher_watch *w);
int cor_cacher_watch_sync_init(struct cacher_watch *w);
void cor_cacher_watch_sync_deinit(struct cacher_watch *w);

/* In dispatch.c. */

/* Is the key one that it watches, whatever it selects? */
bool cor_cacher_watch_covers(const struct cacher_watch *w, struct cor_str key);
/* What the watch sees of a change; false: nothing. */
bool cor_cacher_watch_sees(const struct cacher_watch *w, const struct cor_window_event *change,
                           struct cor_reader_event *ret_event);
void cor_cacher_watch_deliver(struct cacher_watch *w, const struct cor_window_event *change,
                              const struct cor_reader_event *event);
/* Removes it from the lists of its bucket. */
void cor_cacher_watch_unlink(struct cacher_watch *w);
/* WALKING or LAGGING: delivers until it is paused, has caught up, or has looked at `max` events.
 * True: there is more. */
bool cor_cacher_watch_catch_up(struct cacher_watch *w, size_t max);
/* Its state or its place in the window has changed, so what the window must keep is found again. */
void cor_cacher_watch_moved(struct cacher_watch *w);

#endif
