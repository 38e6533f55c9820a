/* clang-format off */
/* Feeds of the etcd engine. All that are in step share the main watch, which is over all keys:
 * every revision of the store is in it, so its position is the store's. One that is behind reads on
 * by a watch of its own until it has caught up.
 *
 *   NEW ──► LIVE ◄──► BEHIND ◄──► CATCHING        any ──► closed
 *    └────────┴──────────┴────────────┴──► BROKEN
 *
 * LIVE: everything up to the main watch's position was delivered, or up to its own when that is
 * ahead. A feed of keys that the main watch is not over is CATCHING at its best. BEHIND: everything
 * up to `pos` was, and it has no credit for more. Thread: the engine's loop, but for the four calls
 * of engine.h.  Owner: the engine. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_FEED_H
#define COR_STORAGE_ETCD_FEED_H

#include "storage/engine/feed.h"
#include "storage/etcd/engine_int.h"

enum etcd_feed_state {
    ETCD_FEED_NEW,
    ETCD_FEED_LIVE,
    ETCD_FEED_BEHIND,
    ETCD_FEED_CATCHING,
    ETCD_FEED_BROKEN,
};

struct etcd_feed {
    struct cor_feed base;
    struct etcd_engine *engine;

    /* Under the engine's lock. */
    bool told; /* `command` is on its way */
    struct cor_mail command;

    /* The engine's loop's. */
    struct cor_dlist link; /* in all_feeds */
    enum etcd_feed_state state;
    bool indexed;
    bool wants_more;         /* progress was asked for, and etcd has not said how far it is */
    struct etcd_watch watch; /* CATCHING */
};

int cor_etcd_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                       struct cor_feed **ret_feed);

void cor_etcd_feeds_init(struct etcd_engine *e);
/* On the loop's thread, before the first feed is opened. 0, -COR_ENOMEM. */
int cor_etcd_feeds_start(struct etcd_engine *e);
/* Etcd is at `rev`: who is in step hears when they have all up to it. */
void cor_etcd_feeds_saw(struct etcd_engine *e, cor_rev rev);
/* All are closed. */
void cor_etcd_feeds_deinit(struct etcd_engine *e);

#endif
