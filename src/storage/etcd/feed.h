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
#ifndef COR_STORAGE_ETCD_FEED_H
#define COR_STORAGE_ETCD_FEED_H

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
    struct cor_feed_opts opts;   /* key and end are `range`'s */
    struct cor_feed_range range; /* its bytes stand behind the struct */

    /* Under the engine's lock. */
    bool told; /* `command` is on its way */
    struct cor_mail command;
    size_t credit_added;
    bool progress_asked, close_asked;

    /* The engine's loop's. */
    struct cor_list link; /* in all_feeds */
    enum etcd_feed_state state;
    cor_rev pos;
    size_t credit; /* SIZE_MAX: without bound */
    bool indexed, wants_progress;
    bool wants_more;         /* progress was asked for, and etcd has not said how far it is */
    struct cor_list touched; /* in the list of one publication */
    struct cor_feed_event *pending;
    size_t npending, pending_cap;
    struct etcd_watch watch; /* CATCHING */
};

int etcd_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                   struct cor_feed **ret_feed);
void etcd_feed_credit(struct cor_feed *feed, size_t events);
void etcd_feed_progress(struct cor_feed *feed);
void etcd_feed_close(struct cor_feed *feed);

void etcd_feeds_init(struct etcd_engine *e);
/* Etcd is at `rev`: who is in step hears when they have all up to it. */
void etcd_feeds_saw(struct etcd_engine *e, cor_rev rev);
/* All are closed. */
void etcd_feeds_deinit(struct etcd_engine *e);

#endif
