/* clang-format off */
/* Streams of etcd's Watch call, each of which carries many watches: one that all share, and some
 * for those that want to be alone. Nobody stops reading a stream, so no watch waits for another
 * one's consumer: a consumer that cannot go on leaves, and what is still on its way to it is
 * dropped.
 *
 *   join ──► created ──► events …, progress … ──► leave │ on_end │ on_lost
 *
 * A progress answer speaks for all watches of its stream. It is believed for a watch that etcd had
 * announced before it, and when it cannot be the answer to a question from before the watch: etcd
 * sends answers in the order of the questions and drops some, so the n-th one answers the n-th
 * question or a later one; and an answer with a revision above that of the announcement was made
 * after it. Etcd is silent while one of them lags: see on_held_up.
 * Thread: the engine's loop.  Owner: the engine. */
/* clang-format on */
#ifndef COR_STORAGE_ETCD_ETCD_WATCH_STREAM_H
#define COR_STORAGE_ETCD_ETCD_WATCH_STREAM_H

#include "base/map.h"
#include "storage/etcd/etcd_messages.h"
#include "storage/etcd/etcd_session.h"

/* Streams for watches that were held up by others. */
#define ETCD_LONE_STREAMS_MAX 64

struct etcd_watch_stream;

struct etcd_watch_streams {
    struct etcd_session *session;
    struct etcd_watch_stream *shared; /* NULL: nobody needs it */
    size_t nlone;
};

/* A watch's place in a stream. After on_end, on_lost and on_held_up it has none. From all but
 * on_lost any function here may be called. */
struct etcd_place;
struct etcd_place_cbs {
    /* What is taken out of the answer's events stays. */
    void (*on_events)(struct etcd_place *place, struct etcd_watch_answer *answer);
    /* Everything up to `rev` was delivered. Once for each question. */
    void (*on_progress)(struct etcd_place *place, cor_rev rev);
    /* Etcd says that it cannot go on: -COR_EEXPIRED (compacted), -COR_EFORBIDDEN. */
    void (*on_end)(struct etcd_place *place, int err, const char *message);
    /* It may join again. */
    void (*on_lost)(struct etcd_place *place, enum etcd_wait_when when);
    /* It waits for progress, possibly because of others on the stream: it should have a stream of
     * its own. */
    void (*on_held_up)(struct etcd_place *place);
};

/* Zeroed: has no place. */
struct etcd_place {
    struct etcd_watch_stream *stream;
    const struct etcd_place_cbs *cbs;
    struct cor_dlist link;
    int64_t id;
    cor_rev created_rev;   /* of the announcement; 0: not yet */
    uint64_t asked_before; /* questions for progress of the stream, from before the watch */
    bool wants_progress;
    unsigned asked; /* again, since it wants it */
};

void cor_etcd_watch_streams_init(struct etcd_watch_streams *streams, struct etcd_session *session);

/* While the session is up, or -COR_ECANCELED. Nothing is called back before it returns. Also
 * -COR_ENOMEM, -COR_EBUSY. `create->id` does not count. */
int cor_etcd_watch_streams_join(struct etcd_watch_streams *streams, bool alone,
                                const struct etcd_watch_create *create,
                                const struct etcd_place_cbs *cbs, struct etcd_place *place);

/* Nothing is called back after it. Harmless without a place. */
void cor_etcd_place_leave(struct etcd_place *place);

/* on_progress comes when etcd has delivered all it has; needs a member whose progress answers can
 * be trusted. */
void cor_etcd_place_ask_progress(struct etcd_place *place);

#endif
