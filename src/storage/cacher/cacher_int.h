/* Inside cacher/: one cacher, and the steps between the files that work on it. */
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

/* What the writer does with the changes of a cacher. The reflector has a state of its own, but the
 * writer may not look at it before the list is complete: until then the reflector belongs to the
 * home loop. */
enum cacher_phase {
    PHASE_OFF,      /* drops them: a list will be begun, or the cacher is closing */
    PHASE_KEEPING,  /* keeps them until the list is complete */
    PHASE_APPLYING, /* hands them to the reflector, which is the writer's now */
};

/* A change that came while the list was read. */
struct pending_change {
    struct cor_kv *kv;
    bool deleted;
};

/* The list that the reflector asked for; see source.c. */
struct source_part;

struct source_list {
    bool under_way;
    bool cancelled;           /* by the reflector, from inside an input */
    struct cor_mail mail;     /* a command, its answer, or the next turn */
    struct store_pages pages; /* the page that is being read, or that was read ahead */
    bool is_reading;          /* it is with the engine */
    bool is_waiting;          /* nothing is left to decode before it is answered */
    bool is_over;             /* the list has ended, except for that answer */
    bool has_failed;          /* how it ended */
    struct cor_kv **kvs;      /* the page that is being decoded */
    size_t nkvs, at;          /* its length, and the next key to decode */
    bool more;                /* another page follows it */
    struct source_part *part; /* what a thread decodes; NULL: nothing */
    cor_rev rev;              /* of the whole list; 0: no page was read yet */
    int err;                  /* of a command to the writer */
};

/* The comparison with the store; see consistency.c. */
struct consistency_check {
    bool under_way;
    uint64_t due_ms;
    struct cor_rand rand;
    struct cor_mail turn;
    struct cor_cache_snapshot snapshot; /* until its digest is made */
    struct cor_cache_iter iter;
    cor_rev rev;              /* of the snapshot */
    struct store_pages pages; /* of the store */
    uint64_t ours, theirs;
    _Atomic bool agrees; /* the last verdict; false: past revisions are read from the store */
    _Atomic uint64_t passed, failed, errors;
};

/* Readings of history, by number; see cache_history.c. The failure of a reading is for the watches
 * that waited for it. Only `floor` and `fits` stay until the next list. */
struct history_wants {
    uint64_t asked; /* number of the last reading that was asked for */
    uint64_t done;  /* number of the last reading that is over; the same: none is under way */
    cor_rev from;   /* the revision that the last one must reach back to */
    cor_rev floor;  /* nothing before it can be read: it was compacted */
    cor_rev fits;   /* what is before it does not fit in front of the window, and is replayed */
    int err;        /* of the last reading that is over; 0: none */
    cor_rev err_at; /* `err` is for watches that want this revision or an earlier one */
};

struct cor_cacher {
    struct cor_cachers *cachers;
    struct cor_store *store;
    struct store_key prefix; /* of all its keys */
    bool namespaced;
    struct cor_triggers triggers;
    struct cor_watch_cache cache;
    struct cor_ready ready;         /* under cache.lock */
    struct cacher_reader **readers; /* one place per loop; under cache.lock */
    struct history_wants history;   /* under cache.lock */

    /* The writer's while it installs a list or is APPLYING, else the home loop's: see source.c. */
    struct cor_reflector *reflector;
    struct cor_reflector_driver driver;
    struct cor_reflector_store sink;
    struct cor_rand rand;
    uint64_t now_ms;                /* of the reflector's last input */
    uint64_t wake_ms;               /* when the reflector wants its next round to begin */
    struct cor_btree_entry *staged; /* the list so far */
    size_t nstaged, staged_cap, staged_bytes;
    struct cor_unreadable staged_unreadable; /* values of the list that cannot be decoded */
    char why[COR_READY_MESSAGE_MAX];         /* the reflector's last report */

    /* The writer's. */
    enum cacher_phase phase;
    struct pending_change *pending; /* while KEEPING */
    size_t npending, pending_cap;
    int pending_err;                  /* why not all of them could be kept; 0: they are complete */
    struct cor_kv *change_unreadable; /* what was written, if it cannot be decoded; borrowed */
    bool ends_rev;                    /* it is the last change of its revision to this cacher */
    bool locked;                      /* cache.lock is held, between changes of one revision */
    bool added;                       /* to the cachers' sorted table */
    bool touched;                     /* its readers are to be notified */
    bool changed;                     /* since its history was weighed */
    size_t bytes;                     /* of its history then */

    /* The home loop's. */
    void (*on_filled)(void *arg); /* NULL: nobody wants to know */
    void *on_filled_arg;
    bool is_closing;
    struct cor_mail fail_mail; /* from the writer: the round is over */
    struct cor_mail close_mail;
    struct cor_mail reread_mail; /* to the writer and back: see cor_cacher_unreadable_tick() */
    bool is_rereading;           /* it is on its way */
    struct cor_dlist member;     /* in the cachers' members */
    struct cor_dlist retry;      /* in the cachers' retries */
    struct consistency_check check;
    struct source_list list;
    struct history_reading *reading; /* NULL: no history is being read */
    bool reads_again;                /* when this one is over */
    struct cor_mail history_mail;    /* from a reader, when a reading is asked for */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

/* The writer's, in cacher.c. */

/* Takes in one committed change. `last`: no further change of its revision is for this cacher. */
void cor_cacher_change(struct cor_cacher *cacher, const struct cor_feed_event *event, bool last);
/* The feed broke: the cache must not be read until it has been listed again, and its watches end.
 */
void cor_cacher_fail(struct cor_cacher *cacher, const char *message);
/* Its readers are notified, and its history is weighed, when the batch ends. */
void cor_cacher_touch(struct cor_cacher *cacher);
/* The first command of a list: changes are kept from now on. 0, -COR_EUNREACHABLE (no feed),
 * -COR_ENOMEM. */
int cor_cacher_begin_list(struct cor_cacher *cacher);
/* The second: hands the end of the list at `rev`, and then the kept changes, to the reflector. 0:
 * the cache is ready; negative: the round is over. */
int cor_cacher_install(struct cor_cacher *cacher, cor_rev rev);

/* The home loop's, in cacher.c: a list, a check or a reading has ended. A close may have waited for
 * it. */
void cor_cacher_ended(struct cor_cacher *cacher);

/* In source.c: the engine as a reflector's driver. Makes the reflector. 0 or -COR_ENOMEM. */
int cor_cacher_source_init(struct cor_cacher *cacher);
/* The time for an input of the reflector. Thread: the reflector's owner. */
uint64_t cor_cacher_source_now_ms(struct cor_cacher *cacher);
/* The home loop's: the round is over; the next begins with the cachers' next tick. */
void cor_cacher_source_retry(struct cor_cacher *cacher);
/* The cacher closes: what a thread decodes for it ends soon. */
void cor_cacher_source_stop(struct cor_cacher *cacher);
void cor_cacher_source_tick(struct cor_cacher *cacher);

/* In cache_sink.c: the watch cache as the reflector's store. */
extern const struct cor_reflector_store_ops cor_cacher_sink_ops;
/* Frees the list that was gathered. */
void cor_cacher_drop_staged(struct cor_cacher *cacher);
/* Releases the lock that changes of one revision share, if it is held. */
void cor_cacher_unlock(struct cor_cacher *cacher);

/* In consistency.c, on the home loop. */
void cor_cacher_consistency_init(struct cor_cacher *cacher);
/* False: a check cannot begin now. */
bool cor_cacher_consistency_begin(struct cor_cacher *cacher);
/* Begins a check when it is due. */
void cor_cacher_consistency_tick(struct cor_cacher *cacher);

/* The home loop's, in cacher.c: tries values again that could not be decoded. When one can be
 * decoded now, the cache is filled again. */
void cor_cacher_unreadable_tick(struct cor_cacher *cacher);

/* In cache_history.c. */
void cor_cacher_history_init(struct cor_cacher *cacher);
/* Asks for the engine's history after `from` to be put in front of the window. Returns the number
 * of the reading to wait for. From any thread, with the cache's lock held. */
uint64_t cor_cacher_history_want_locked(struct cor_cacher *cacher, cor_rev from);
/* A watch that begins after `from`, which is before the window, is replayed: that much history does
 * not fit in front of the window, or nothing does. From any thread, with the cache's lock held. */
bool cor_cacher_history_must_replay_locked(const struct cor_cacher *cacher, cor_rev from);
/* The home loop's: stops the reading that is under way, if any; cor_cacher_ended() follows. */
void cor_cacher_history_stop(struct cor_cacher *cacher);

/* In cache_reader.c. */

/* The writer's, with the cache's lock held: some of the reader's snapshots are wanted back. */
void cor_cacher_reader_ask_back(struct cacher_reader *reader);
/* On the reader's loop: its cacher has new events, or wants snapshots back. */
void cor_cacher_reader_update(struct cacher_reader *reader);
/* The lowest number of an event that one of its watches has still to see; UINT64_MAX: none. From
 * any thread. */
uint64_t cor_cacher_reader_needs(const struct cacher_reader *reader);

#endif
