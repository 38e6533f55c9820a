/* clang-format off */
/* What follows one resource through the port in process, to serve something else by it: the objects
 * go into a handler (kit/controller/feed_handler.h), which enqueues keys; a reconciler
 * (kit/controller/reconciler.h) works on the keys, with requests through the same port.
 *
 *   cor_inner_follower_init ──► start ──► list, watch ──► handler ──► cor_reconciler_enqueue ──► reconciles …
 *   ──► stop ──► the reconciles have ended, the port is idle, the owner is not busy ──► on_stopped ──► deinit
 *
 * The owner calls cor_reconciler_synced() when the first list is complete.
 * Thread: the loop of the API's part, for every function and callback, except init and deinit, which
 * are for the maker's thread while that loop does not run.  Owner: whoever embeds it. */
/* clang-format on */
#ifndef COR_SERVER_INNER_FOLLOWER_H
#define COR_SERVER_INNER_FOLLOWER_H

#include "base/rand.h"
#include "kit/controller/feed_handler.h"
#include "kit/controller/reconciler.h"
#include "loop/timer.h"
#include "server/port/inner_port.h"

struct cor_inner_follower;

struct cor_inner_follower_opts {
    struct cor_api_loop *home;
    struct cor_str user_agent;
    const struct cor_clock *clock;  /* must stay valid */
    const struct cor_gvr *resource; /* copied */
    const struct cor_feed_handler_ops *handler;
    const struct cor_reconciler_opts *reconciler; /* `is_fed_by_owner` */
    /* Returns whether the end must still wait for work of the owner. It is called again each
     * millisecond. */
    bool (*is_busy)(struct cor_inner_follower *f);
};

struct cor_inner_follower {
    struct cor_inner_port port;
    struct cor_rand rand;
    struct cor_reconciler reconciler;
    struct cor_feed_handler handler;
    struct cor_timer idle; /* set from the beginning, so that moving it cannot fail */
    bool is_following;     /* started, and not ended: also not by itself */
    bool (*is_busy)(struct cor_inner_follower *f);
    void (*on_stopped)(struct cor_inner_follower *f); /* NULL: no stop was asked for */
};

/* 0, -COR_ENOMEM; then the follower is to be deinitialised all the same. */
int cor_inner_follower_init(struct cor_inner_follower *f,
                            const struct cor_inner_follower_opts *opts, struct cor_status *reterr);
/* Before the start, or after on_stopped. Safe on a zeroed struct. */
void cor_inner_follower_deinit(struct cor_inner_follower *f);

/* Errors as of cor_reconciler_start(). Once. */
int cor_inner_follower_start(struct cor_inner_follower *f, struct cor_status *reterr);

/* Ends it, `max_ms` later at most: `on_stopped` follows, perhaps at once. Once, also before the
 * start and after an end by itself (the first list took too long). */
void cor_inner_follower_stop(struct cor_inner_follower *f, uint64_t max_ms,
                             void (*on_stopped)(struct cor_inner_follower *f));

#endif
