/* clang-format off */
/* One watch of etcd that survives its connection: after a failure it goes on after the last revision
 * that was delivered whole, on the member that the session finds next.
 *
 *   WAITING ──► OPEN ──► BROKEN
 *      ▲          │
 *      └──────────┘ the stream ended, or a message could not be taken
 *
 * Thread: the engine's loop.  Owner: whoever embeds it. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_ETCD_WATCH_H
#define COR_STORAGE_ETCD_ETCD_WATCH_H

#include "storage/engine/engine.h"
#include "storage/etcd/etcd_watch_stream.h"

/* etcd's notation for all keys, as `key` and as `end`. A watch over all keys has an event of every
 * revision; when one is missing, etcd has lost it, and the watch breaks as compacted. */
#define ETCD_ALL_KEYS COR_STR("\0")

enum etcd_watch_state { ETCD_WATCH_CLOSED, ETCD_WATCH_WAITING, ETCD_WATCH_OPEN, ETCD_WATCH_BROKEN };

struct etcd_watch {
    struct etcd_watch_streams *streams;
    struct cor_str key, end; /* the owner keeps the bytes; an empty `end` means the one key */
    bool with_prev;
    bool is_alone; /* on a stream of its own, from the start or because others held it up */
    cor_rev pos;   /* everything up to here was delivered */
    cor_rev lacked_prev_at; /* the event of this revision has come without its previous value */

    /* The events of whole revisions, in order; `pos` is the revision of the last one. The watch may
     * be closed from inside the call. */
    void (*on_events)(struct etcd_watch *w, const struct cor_feed_event *events, size_t n);
    /* etcd has nothing more up to `pos`. */
    void (*on_progress)(struct etcd_watch *w);
    /* -COR_EEXPIRED (compacted) or -COR_EFORBIDDEN. The last call. */
    void (*on_broken)(struct etcd_watch *w, int err, const char *message);

    enum etcd_watch_state state;
    struct etcd_waiter waiter;
    struct etcd_place place;
    bool wants_progress;
    struct cor_feed_event *held; /* events of a revision that may not be whole yet */
    size_t nheld, held_cap;
};

/* Once, on a zeroed struct; the public fields are set afterwards. */
void cor_etcd_watch_init(struct etcd_watch *w, struct etcd_watch_streams *streams);

/* Opens a closed watch: events after `pos` follow. Nothing is called back before it returns. */
void cor_etcd_watch_open(struct etcd_watch *w);

/* Nothing is called back afterwards. Closing a closed watch is allowed. */
void cor_etcd_watch_close(struct etcd_watch *w);

/* Asks etcd whether everything was delivered; on_progress is called once when it was. The member
 * must be one whose progress answers can be trusted (cor_etcd_session_has_progress()). */
void cor_etcd_watch_ask_progress(struct etcd_watch *w);

#endif
