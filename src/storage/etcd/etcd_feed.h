/* clang-format off */
/* Feeds of the etcd engine. All feeds that have caught up share the main watch, which is over all
 * keys: every revision of the store changes some key, so the main watch's position is the store's
 * revision. A feed that is behind has a watch of its own until it has caught up.
 *
 *   NEW ──► LIVE ◄──► BEHIND ◄──► CATCHING        any ──► closed
 *    └────────┴──────────┴────────────┴──► BROKEN
 *
 * LIVE: everything up to the main watch's position was delivered, or up to the feed's `pos` when
 * that is higher. CATCHING: everything up to `pos` was delivered, and the feed's own watch goes on
 * from there; a feed of keys that the main watch does not cover stays CATCHING. BEHIND: everything
 * up to `pos` was delivered, and there is no credit for more.
 * Thread: the engine's loop, except the four calls of etcd_engine.h.  Owner: the engine. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_ETCD_FEED_H
#define COR_STORAGE_ETCD_ETCD_FEED_H

#include "storage/engine/feed.h"
#include "storage/etcd/etcd_engine_int.h"

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
    bool told; /* `command` is posted and not delivered yet */
    struct cor_mail command;

    /* The engine's loop's. */
    struct cor_dlist link; /* in all_feeds */
    enum etcd_feed_state state;
    bool indexed;
    bool wants_more;         /* progress was asked for, and etcd has not answered how far it is */
    struct etcd_watch watch; /* open while CATCHING */
};

int cor_etcd_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                       struct cor_feed **ret_feed);

void cor_etcd_feeds_init(struct etcd_engine *e);
/* On the loop's thread, before the first feed is opened. 0, -COR_ENOMEM. */
int cor_etcd_feeds_start(struct etcd_engine *e);
/* An answer of etcd showed that the store is at `rev`. Feeds that are in step get progress when
 * they have everything up to it. */
void cor_etcd_feeds_saw(struct etcd_engine *e, cor_rev rev);
/* All feeds are closed. */
void cor_etcd_feeds_deinit(struct etcd_engine *e);

#endif
