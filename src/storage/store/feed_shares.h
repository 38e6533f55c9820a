/* How many feeds of the store each user may hold, of those that are for one purpose. A user may
 * take one more while more are free than the user holds: a single user gets half of them, the next
 * one half of the rest, and so on down to the last one.
 *
 * The watches that have a feed to themselves share one such number: those of a resource without a
 * watch cache (events, or --watch-cache=false), and those over a value that their cache cannot
 * decode. The readings of history for watches from before a window (cacher/replay.h) share another.
 * The server's own feeds (caches, history, compaction) are not among those shared out.
 * Thread: any (a lock inside).  Owner: its embedder. */
#ifndef COR_STORAGE_STORE_FEED_SHARES_H
#define COR_STORAGE_STORE_FEED_SHARES_H

#include <stdatomic.h>

#include "base/lock.h"
#include "base/map.h"
#include "meta/status/status.h"

struct cor_feed_share;

struct cor_feed_shares {
    struct cor_lock lock; /* a leaf */
    struct cor_map users; /* by name */
    _Atomic size_t used;  /* changes under the lock */
    size_t max;
    const char *refusal; /* what a user who gets none is told */
};

/* `refusal` is a literal. */
void cor_feed_shares_init(struct cor_feed_shares *shares, size_t max, const char *refusal);
/* All feeds must have been given back. */
void cor_feed_shares_deinit(struct cor_feed_shares *shares);

/* One feed for the user of that name. 0, -COR_ENOMEM, or -COR_EBUSY: 429 with Retry-After. */
int cor_feed_share_take(struct cor_feed_shares *shares, struct cor_str user,
                        struct cor_feed_share **ret_share, struct cor_status *reterr_status);
/* Would that be refused now? */
bool cor_feed_shares_are_out(struct cor_feed_shares *shares, struct cor_str user);
/* The answer to a user who gets none. Returns -COR_EBUSY. */
int cor_feed_shares_refuse(const struct cor_feed_shares *shares, struct cor_status *reterr_status);
/* The feed is that user's from now on, however many the user has. 0, or -COR_ENOMEM: it stays with
 * the one who had it. */
int cor_feed_share_move(struct cor_feed_shares *shares, struct cor_feed_share **share,
                        struct cor_str user);
/* Gives one feed back. Returns NULL; NULL is fine. */
struct cor_feed_share *cor_feed_share_give(struct cor_feed_shares *shares,
                                           struct cor_feed_share *share);
static inline size_t cor_feed_shares_used(const struct cor_feed_shares *shares)
{
    return atomic_load(&shares->used);
}

#endif
