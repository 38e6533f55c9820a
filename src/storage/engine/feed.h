/* What the feeds of both engines have in common: what they were told from other threads, their
 * credit, and the events they gather for one batch. Who gets which event and how one that is behind
 * catches up is the engine's.
 * Thread: the engine's, but for what engine.h allows.  Owner: the engine, which embeds it first. */
#ifndef COR_STORAGE_FEED_H
#define COR_STORAGE_FEED_H

#include "base/dlist.h"
#include "base/lock.h"
#include "storage/engine/engine.h"
#include "storage/engine/feed_index.h"

struct cor_feed {
    struct cor_feed_opts opts;   /* key and end are `range`'s */
    struct cor_feed_range range; /* its bytes stand behind the engine's struct */
    struct cor_lock *lock;       /* the engine's */
    /* Under the lock, from any thread: the engine thread takes the orders soon. */
    void (*tell)(struct cor_feed *feed);

    /* Under the lock. */
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

/* With the lock held. True: it is to be closed. */
bool cor_feed_take_orders(struct cor_feed *feed);

/* A batch; `pos` is `upto` then. */
void cor_feed_deliver(struct cor_feed *feed, const struct cor_feed_event *events, size_t n,
                      cor_rev upto);

/* Takes credit for so many, or what there is. */
void cor_feed_spend(struct cor_feed *feed, size_t events);

/* Adds to the batch, borrowed until it is delivered, and takes credit. False: out of memory. */
bool cor_feed_gather(struct cor_feed *feed, const struct cor_feed_event *event);

/* After the batch was delivered or dropped. Room for some events is kept. */
void cor_feed_release(struct cor_feed *feed);

#endif
