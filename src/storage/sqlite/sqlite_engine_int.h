/* The SQLite engine's insides, shared by the files of this folder.
 *
 * One engine thread owns the writing connection and every feed. A turn of it: take what is queued,
 * commit it as one transaction, hand the changes to live feeds, answer; then one step each of
 * sweeping history and of feeds that are behind. Reader threads serve ranges and pages of history;
 * a checkpoint thread folds the log back into the file. In memory there is only the engine thread.
 * Owner: sqlite_engine.c.  Thread: as each group of fields says. */
#ifndef COR_STORAGE_SQLITE_SQLITE_ENGINE_INT_H
#define COR_STORAGE_SQLITE_SQLITE_ENGINE_INT_H

#include <pthread.h>

#include "base/dlist.h"
#include "base/lock.h"
#include "storage/engine/data_dir.h"
#include "storage/engine/engine_int.h"
#include "storage/engine/feed_index.h"
#include "storage/sqlite/sqlite_checkpointer.h"
#include "storage/sqlite/sqlite_db.h"
#include "storage/sqlite/sqlite_readers.h"

/* A batch takes at most this much. */
#define COR_BATCH_WRITES_MAX 256
#define COR_BATCH_BYTES_MAX  (4u << 20)
/* Expired keys that one batch deletes. */
#define COR_BATCH_EXPIRED_MAX 256

/* One committed row, on its way to the feeds. */
struct cor_sqlite_change {
    struct cor_str key, value; /* the request's, or prev's */
    cor_rev rev, create_rev;
    int64_t lease;
    bool deleted;
    struct cor_object *object; /* the request's; NULL: none */
    struct cor_kv *prev;       /* a reference; NULL: a creation */
    struct cor_kv *kv;         /* made when the first feed wants it */
};

struct cor_sqlite_engine {
    struct cor_engine base;
    bool read_only;
    struct cor_data_dir *dir; /* NULL: in memory */
    const struct cor_clock *clock;
    struct cor_readers *readers;           /* NULL: in memory */
    struct cor_checkpointer *checkpointer; /* NULL: in memory or read-only */
    pthread_t thread;
    struct cor_turn_meter turns; /* of the thread */

    struct cor_lock lock; /* a leaf; guards the fields down to nfeeds */
    struct cor_cond wake; /* CLOCK_MONOTONIC */
    bool sleeping, stopping;
    struct cor_dlist requests; /* writes, leases, compactions, status */
    size_t nrequests, request_bytes;
    struct cor_dlist ranges; /* in memory only */
    size_t nranges;
    struct cor_dlist feed_commands; /* feeds that were told something */
    struct cor_dlist feed_pages;    /* feeds whose page of history is there */
    size_t nfeeds;

    /* The engine thread's. */
    struct cor_sqlite_db *db;
    cor_rev rev; /* of the last commit */
    cor_rev compact_rev, swept_rev;
    bool sweep_waits; /* only the newest row is left, and it is a tombstone */
    bool vacuuming;
    int64_t next_expiry_ms; /* wall time; INT64_MAX: no lease */
    cor_rev expiry_cursor;  /* rows of the first lease up to here were looked at */
    int failure;            /* negative: no write is taken any more */
    char failure_message[640];
    struct cor_feed_index feeds;
    struct cor_dlist behind; /* feeds that have credit and history to read */
    size_t wal_pages;        /* after the last commit */
    size_t wal_asked;        /* wal_pages when a checkpoint was last asked for */
    size_t wal_wait;         /* from here on the writer waits for a checkpoint */

    /* The batch under way. */
    cor_rev batch_rev, batch_compact_rev;
    size_t nchanges;
    struct cor_sqlite_change changes[COR_BATCH_WRITES_MAX + COR_BATCH_EXPIRED_MAX];
};

/* Wakes the engine thread if it sleeps. Call with the lock held. */
void cor_sqlite_engine_wake_locked(struct cor_sqlite_engine *e);

/* Appends a row in the batch's transaction; on success `take_prev` goes to the change. */
int cor_batch_append(struct cor_sqlite_engine *e, struct cor_str key, struct cor_str value,
                     bool is_delete, int64_t lease, struct cor_kv *take_prev);

/* Runs the requests, and what has expired, as one transaction; publishes and answers. */
void cor_batch_run(struct cor_sqlite_engine *e, struct cor_dlist *requests);

/* Is there a lease to expire at this time? */
bool cor_leases_due(struct cor_sqlite_engine *e);

/* In the batch's transaction: deletes keys of expired leases, up to a bound. */
int cor_leases_expire(struct cor_sqlite_engine *e);

/* In the batch's transaction, or outside one: reads next_expiry_ms. */
int cor_leases_load(struct cor_sqlite_engine *e);

/* In the batch's transaction. 0 or the database's failure; the request's own in req->result. */
int cor_leases_grant(struct cor_sqlite_engine *e, struct cor_lease_req *req);

/* Between batches: removes some of what compaction made unreadable, then gives free pages back.
 * True: there is more to do. */
bool cor_compaction_step(struct cor_sqlite_engine *e);

/* Decides whether the database's failure ends all writing, and keeps the reason. */
void cor_sqlite_engine_failed(struct cor_sqlite_engine *e, int err);

#endif
