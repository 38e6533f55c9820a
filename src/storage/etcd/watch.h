/* clang-format off */
/* One watch of etcd that survives its connection: it goes on after the last revision that was
 * delivered whole, on whichever member the session finds next.
 *
 *   WAITING ──► OPEN ──► BROKEN
 *      ▲          │
 *      └──────────┘ the stream ended, or a message could not be taken
 *
 * Thread: the engine's loop.  Owner: whoever embeds it. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_WATCH_H
#define COR_STORAGE_ETCD_WATCH_H

#include "storage/engine/engine.h"
#include "storage/etcd/watch_stream.h"

/* Etcd's own words for all keys, as `key` and as `end`. In a watch over them no revision may be
 * missing: where one is, the watch is broken as compacted. */
#define ETCD_ALL_KEYS COR_STR("\0")

enum etcd_watch_state { ETCD_WATCH_CLOSED, ETCD_WATCH_WAITING, ETCD_WATCH_OPEN, ETCD_WATCH_BROKEN };

struct etcd_watch {
    struct etcd_watch_streams *streams;
    struct cor_str key, end; /* must stay; `end` empty: the one key */
    bool with_prev;
    bool is_alone; /* on a stream of its own, from the start or because others held it up */
    cor_rev pos;   /* everything up to here was delivered */
    cor_rev lacked_prev_at; /* the event of this revision has come without its previous value */

    /* Whole revisions after the last ones; afterwards `pos` is that of the last event. The watch
     * may be closed from inside. */
    void (*on_events)(struct etcd_watch *w, const struct cor_feed_event *events, size_t n);
    /* etcd has nothing more up to `pos`. */
    void (*on_progress)(struct etcd_watch *w);
    /* -COR_EEXPIRED (compacted), -COR_EFORBIDDEN; nothing follows. */
    void (*on_broken)(struct etcd_watch *w, int err, const char *message);

    enum etcd_watch_state state;
    struct etcd_waiter waiter;
    struct etcd_place place;
    bool wants_progress;
    struct cor_feed_event *held; /* of a revision that may not be whole yet */
    size_t nheld, held_cap;
};

/* Once, on a zeroed struct; the public fields are set afterwards. */
void cor_etcd_watch_init(struct etcd_watch *w, struct etcd_watch_streams *streams);

/* Events after `pos`, from a closed watch. Nothing is called back before it returns. */
void cor_etcd_watch_open(struct etcd_watch *w);

/* Nothing is called back after it. Harmless when it is closed. */
void cor_etcd_watch_close(struct etcd_watch *w);

/* on_progress comes when etcd has delivered all it has; needs a member whose progress answers can
 * be trusted. Once for each question. */
void cor_etcd_watch_ask_progress(struct etcd_watch *w);

#endif
