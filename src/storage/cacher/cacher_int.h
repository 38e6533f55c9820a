/* Inside cacher/: the caches, one cacher, and the steps between their files. */
#ifndef COR_STORAGE_CACHER_CACHER_INT_H
#define COR_STORAGE_CACHER_CACHER_INT_H

#include "base/rand.h"
#include "cache/reflector/reflector.h"
#include "storage/cacher/cacher.h"
#include "storage/cacher/cachers_int.h"
#include "storage/cacher/ready.h"
#include "storage/cacher/snapshot.h"
#include "storage/cacher/watch_cache.h"
#include "storage/store/store_feed.h"
#include "storage/store/store_int.h"

struct cacher_reader;

enum fill_state {
    FILL_IDLE,    /* to be listed, or no more */
    FILL_LISTING, /* changes are kept until the list is in */
    FILL_LIVE,    /* changes are applied */
};

/* A change that came while the list was read. */
struct pending_change {
    struct cor_kv *kv;
    bool deleted;
};

/* The list that the reflector asked for; see source.c. */
struct source_list {
    bool under_way;
    bool cancelled;       /* by the reflector, from inside an input */
    struct cor_mail mail; /* a command, its answer, or the next turn */
    struct cor_range_req
        range;           /* a page that is being read, or waits until the one before is done */
    struct cor_buf from; /* where it begins */
    bool is_reading;
    bool is_waiting; /* for that page: all of the one before is in */
    bool is_over;    /* it is waited for only to end the list, which has_failed or not */
    bool has_failed;
    struct cor_kv **kvs; /* the page that is being decoded */
    size_t nkvs, at;     /* its keys, and the next of them */
    bool more;           /* another page follows */
    cor_rev rev;
    int err; /* of a command */
};

/* The comparison with the store; see consistency.c. */
struct consistency_check {
    bool under_way;
    uint64_t due_ms;
    struct cor_rand rand;
    struct cor_mail turn;
    struct cor_cache_snapshot snapshot; /* until its digest is made */
    struct cor_cache_iter iter;
    cor_rev rev; /* of the snapshot */
    struct cor_range_req range;
    struct cor_buf from; /* where its page begins */
    uint64_t ours, theirs;
    _Atomic bool agrees; /* the last verdict: the past may be read from the cache */
    _Atomic uint64_t passed, failed, errors;
};

/* Readings of history, by number; see history.c. What one meets concerns those who waited for it;
 * what stays is only that there is nothing below a revision. */
struct history_wants {
    uint64_t asked; /* the last reading that was asked for */
    uint64_t done;  /* the last one that is over; the same: none is under way */
    cor_rev from;   /* what the last one must reach */
    cor_rev floor;  /* before this there is nothing: compacted, or more than the budget allows */
    int err;        /* of the last one that is over; 0: none */
    bool is_fresh;  /* something was put in front of the window and is all there, and nobody has
                     * begun there yet */
    cor_rev err_at; /* whom that concerns: who wants this revision or an earlier one */
};

struct cor_cacher {
    struct cor_cachers *cachers;
    struct cor_store *store;
    struct store_key prefix; /* of all its keys */
    bool namespaced;
    struct cor_str trigger_field; /* empty: none */
    struct cor_json_path *trigger;
    struct cor_watch_cache cache;
    struct cor_ready ready;         /* under cache.lock */
    struct cacher_reader **readers; /* one place per loop; under cache.lock */
    struct history_wants history;   /* under cache.lock */

    /* The writer's while it is LIVE or installs a list, else the home loop's: see source.c. */
    struct cor_reflector *reflector;
    struct cor_reflector_driver driver;
    struct cor_reflector_store sink;
    struct cor_rand rand;
    uint64_t now_ms, wake_ms;       /* of the reflector */
    struct cor_btree_entry *staged; /* the list so far */
    size_t nstaged, staged_cap, staged_bytes;
    char why[COR_READY_MESSAGE_MAX]; /* its last report */

    /* The writer's. */
    enum fill_state fill;
    struct pending_change *pending;
    size_t npending, pending_cap;
    int pending_err;
    bool locked;   /* cache.lock is held, between changes of one revision */
    bool ends_rev; /* the change under way is the last of its revision */
    bool added;    /* to the caches */
    bool touched;  /* readers are to be told */
    bool changed;  /* since its history was weighed */
    size_t bytes;  /* of its history then */

    /* The home loop's. */
    bool is_closing;
    struct cor_mail fail_mail; /* from the writer: list anew */
    struct cor_mail close_mail;
    struct cor_dlist member; /* in the caches' members */
    struct cor_dlist retry;  /* in the caches' retries */
    struct consistency_check check;
    struct source_list list;
    struct history_reading *reading; /* NULL: no history is being read */
    struct cor_mail history_mail;    /* from a reader, when a reading is asked for */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* The writer's. */
void cor_cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event, bool last);
/* The cache is not to be read any more until it is listed anew; watchers end. */
void cor_cacher_fail(struct cor_cacher *cacher, const char *message);
/* Marks its readers as having news. */
void cor_cacher_touch(struct cor_cacher *cacher);

/* The writer's: the two commands of a list. Changes are kept from the first on. The second hands in
 * the end of the list at `rev` and those changes; negative: the round is over. */
int cor_cacher_begin_list(struct cor_cacher *cacher);
int cor_cacher_install(struct cor_cacher *cacher, cor_rev rev);

/* In source.c: the engine as a reflector's driver. Makes the reflector. 0 or -COR_ENOMEM. */
int cor_cacher_source_init(struct cor_cacher *cacher);
uint64_t cor_cacher_source_now_ms(struct cor_cacher *cacher);
/* The home loop's: the round is over, the next begins after a while; it begins. */
void cor_cacher_source_retry(struct cor_cacher *cacher);
void cor_cacher_source_tick(struct cor_cacher *cacher);

/* In sink.c: the watch cache as its store. */
extern const struct cor_reflector_store_ops cor_cacher_sink_ops;
void cor_cacher_drop_staged(struct cor_cacher *cacher);
/* Lets the lock go that changes of one revision share, if it is held. */
void cor_cacher_unlock(struct cor_cacher *cacher);

/* In consistency.c, on the home loop. Begin: false, it cannot be now. Tick: begins when it is due.
 */
void cor_cacher_consistency_init(struct cor_cacher *cacher);
bool cor_cacher_consistency_begin(struct cor_cacher *cacher);
void cor_cacher_consistency_tick(struct cor_cacher *cacher);
/* In history.c: puts what the engine still has in front of the window. From any thread, with the
 * cache's lock held. Returns the number of the reading to wait for. */
void cor_cacher_history_init(struct cor_cacher *cacher);
uint64_t cor_cacher_history_want_locked(struct cor_cacher *cacher, cor_rev from);
/* Ends what is under way, if anything is; cor_cacher_ended() follows then. */
void cor_cacher_history_stop(struct cor_cacher *cacher);
void cor_cacher_ended(struct cor_cacher *cacher);

/* The writer's, with the cache's lock held: some of the reader's snapshots are to be let go. */
void cor_cacher_reader_ask_back(struct cacher_reader *reader);
/* In reader.c, on the reader's loop: its cacher has new events, or wants snapshots back. */
void cor_cacher_reader_update(struct cacher_reader *reader);
/* The lowest number of an event that its watchers have still to see; UINT64_MAX: none. Any thread.
 */
uint64_t cor_cacher_reader_needs(const struct cacher_reader *reader);

#endif
