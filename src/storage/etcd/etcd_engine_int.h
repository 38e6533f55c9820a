/* The etcd engine's insides, shared by the files of this folder.
 *
 * One loop of its own, the engine's, owns the session with etcd, every request under way and every
 * feed; what other threads ask for comes to it by mail.
 * Owner: etcd_engine.c.  Thread: the engine's loop, unless a field says otherwise. */
#ifndef COR_STORAGE_ETCD_ETCD_ENGINE_INT_H
#define COR_STORAGE_ETCD_ETCD_ENGINE_INT_H

#include <semaphore.h>
#include <stdatomic.h>

#include "base/dlist.h"
#include "base/lock.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/feed_index.h"
#include "storage/etcd/etcd_call.h"
#include "storage/etcd/etcd_presence.h"
#include "storage/etcd/etcd_session.h"
#include "storage/etcd/etcd_watch.h"

/* A page whose size is left to the engine; it learns from there. */
#define ETCD_PAGE_KEYS_FIRST 1000

/* The main watch: all keys of the store, or of `prefix`, for all feeds that are in step with it. */
enum etcd_main_state {
    ETCD_MAIN_OFF,
    ETCD_MAIN_ASKING, /* which revision to begin at */
    ETCD_MAIN_ON,
};

struct etcd_engine {
    struct cor_engine base;
    struct cor_loop *loop;
    struct etcd_session *session;
    _Atomic size_t nrequests, request_bytes; /* any thread */
    _Atomic size_t nfeeds;                   /* any thread */
    struct cor_lock lock;                    /* a leaf: what feeds were told */
    struct cor_mail mail;                    /* to open, then to stop */
    sem_t done;                              /* opened, then closed */
    bool is_stopping;
    unsigned open_tries;
    int open_err;
    struct cor_status *open_status; /* while it opens */

    struct etcd_presence presence;
    struct cor_mail presence_mail;

    struct cor_feed_range prefix; /* what etcd's user can read at least; its bytes are ours */

    struct cor_dlist all_feeds;
    struct cor_feed_index feeds; /* those that are open */
    enum etcd_main_state main_state;
    struct etcd_watch_streams streams;
    struct etcd_watch main;
    bool is_narrow; /* all keys are refused: it is over the prefix, and behind the store unless
                     * progress says how far it is */
    struct etcd_call *main_asks; /* while ASKING */
    struct cor_timer main_timer; /* to the next question, after one that failed */
    size_t nprev;                /* feeds in step that want previous versions */
    cor_rev compact_rev;         /* the highest that is known to be compacted */
    size_t page_keys;            /* of the next page whose size is left to the engine */
};

/* A key that can be read, for its answer's revision. */
struct cor_str cor_etcd_engine_probe_key(const struct etcd_engine *e);

/* In etcd_request.c, from any thread: takes the request to the engine's loop, or answers it. */
void cor_etcd_request(struct etcd_engine *e, struct cor_engine_req *req);

/* In etcd_engine.c: a request was answered or a feed closed; a closing engine waits for the last.
 */
void cor_etcd_engine_check_quiet(struct etcd_engine *e);

#endif
