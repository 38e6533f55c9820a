/* What the feeds of both engines have in common: the orders that other threads give, the credit,
 * and the events that are gathered for one batch. The engine decides which feed gets which event,
 * and how a feed that is behind catches up. Thread: the engine's, except the calls of engine.h.
 * Owner: the engine, which embeds this first. */
#ifndef COR_STORAGE_FEED_H
#define COR_STORAGE_FEED_H

#include "base/dlist.h"
#include "base/lock.h"
#include "storage/engine/engine.h"
#include "storage/engine/feed_index.h"

struct cor_feed {
    struct cor_feed_opts opts;   /* key and end are `range`'s */
    struct cor_feed_range range; /* its bytes follow the engine's struct in memory */
    struct cor_lock *lock;       /* the engine's */
    /* Called under the lock, on any thread: makes the engine thread take the orders soon. */
    void (*tell)(struct cor_feed *feed);

    /* Orders that were not taken yet; under the lock. */
    size_t credit_added;
    bool progress_asked, close_asked;

    /* The engine thread's. */
    cor_rev pos;   /* everything up to here was delivered */
    size_t credit; /* SIZE_MAX: without bound */
    bool wants_progress;
    struct cor_dlist touched; /* in the list of one publication */
    struct cor_feed_event *pending;
    size_t npending, pending_cap;
};

/* A zeroed feed. `bytes` has room for the key, the end and one more. */
void cor_feed_init(struct cor_feed *feed, const struct cor_feed_opts *opts, char *bytes,
                   struct cor_lock *lock, void (*tell)(struct cor_feed *feed));
void cor_feed_deinit(struct cor_feed *feed);

/* Called with the lock held. True: the feed is to be closed. */
bool cor_feed_take_orders(struct cor_feed *feed);

/* Calls on_batch; `pos` becomes `upto`. No lock may be held. */
void cor_feed_deliver(struct cor_feed *feed, const struct cor_feed_event *events, size_t n,
                      cor_rev upto);

/* Takes credit for so many events, or all that is left. */
void cor_feed_spend(struct cor_feed *feed, size_t events);

/* Adds an event to the batch and takes credit for it. The event is borrowed until the batch is
 * delivered. False: out of memory, and nothing has changed. */
bool cor_feed_gather(struct cor_feed *feed, const struct cor_feed_event *event);

/* Empties the batch after it was delivered or dropped. Room for some events is kept. */
void cor_feed_release(struct cor_feed *feed);

#endif
