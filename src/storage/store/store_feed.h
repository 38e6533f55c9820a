/* A feed of the engine brought to a loop. The engine thread puts references to the events into
 * mails, and the loop gets the mails in the same order. Thread: the loop's.  Owner: whoever embeds
 * it, until on_closed. */
#ifndef COR_STORAGE_STORE_FEED_H
#define COR_STORAGE_STORE_FEED_H

#include "base/dlist.h"
#include "loop/mailbox.h"
#include "storage/engine/engine.h"

struct store_feed;

struct store_feed_batch {
    struct cor_mail mail;
    struct cor_dlist link; /* the receiver's */
    struct store_feed *feed;
    cor_rev upto;
    size_t nevents;
    struct cor_feed_event events[]; /* with references of their own */
};

struct store_feed_batch *cor_store_feed_batch_free(struct store_feed_batch *batch);

struct store_feed {
    struct cor_feed *feed; /* NULL: not open */
    bool is_closing;
    struct cor_loop *loop;
    bool with_prev; /* set before the open, as the callbacks are */
    void (*on_batch)(struct store_feed *feed, struct store_feed_batch *take_batch);
    /* The feed broke, and no batch follows. `message` is borrowed. */
    void (*on_broken)(struct store_feed *feed, int err, const char *message);
    void (*on_closed)(struct store_feed *feed);

    struct cor_mail broken_mail, closed_mail;
    /* Written by the engine thread before broken_mail, read by the loop after it. */
    bool broken;
    int err;
    char *message; /* NULL: out of memory */
};

/* The three callbacks must be set. Errors are cor_feed_open()'s; on_closed does not follow then. */
int cor_store_feed_open(struct store_feed *feed, struct cor_engine *engine, struct cor_loop *loop,
                        struct cor_str key, struct cor_str end, cor_rev from, size_t credit);

/* After a successful open; calling it again is harmless. on_batch and on_broken may still be called
 * until on_closed. */
void cor_store_feed_close(struct store_feed *feed);

#endif
