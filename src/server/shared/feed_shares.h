/* How many feeds of the store each user may hold. A watch of a resource without a watch cache
 * (events, or --watch-cache=false) has a feed of its own, and so has a watch over a value that its
 * cache cannot decode. The engine has COR_ENGINE_FEEDS_MAX of them for everybody. A user may take
 * one more feed while more feeds are free than the user holds: a single user gets half of them, the
 * next one half of the rest, and so on down to the last feed. The server's own feeds (caches,
 * history, compaction) are not among those shared out. Thread: any (a lock inside).  Owner: the
 * API. */
#ifndef COR_SERVER_FEED_SHARES_H
#define COR_SERVER_FEED_SHARES_H

#include "base/lock.h"
#include "base/map.h"
#include "meta/status/status.h"

struct cor_feed_share;

struct cor_feed_shares {
    struct cor_lock lock; /* a leaf */
    struct cor_map users; /* by name */
    size_t used, max;
};

void cor_feed_shares_init(struct cor_feed_shares *shares, size_t max);
/* All feeds must have been given back. */
void cor_feed_shares_deinit(struct cor_feed_shares *shares);

/* One feed for the user of that name. 0, -COR_ENOMEM, or -COR_EBUSY: 429 with Retry-After. */
int cor_feed_share_take(struct cor_feed_shares *shares, struct cor_str user,
                        struct cor_feed_share **ret_share, struct cor_status *reterr_status);
/* Gives one feed back. Returns NULL; NULL is fine. */
struct cor_feed_share *cor_feed_share_give(struct cor_feed_shares *shares,
                                           struct cor_feed_share *share);

#endif
