/* clang-format off */
/* The SQLite engine: its thread, its queue, its opening and its end. sqlite_engine_int.h has the struct.
 *
 *   any thread: submit, range ──► queue (bounded: -COR_EBUSY) ──► engine thread, one turn:
 *     1. cor_feeds_commands()      carry out what feeds were asked, take pages from the readers
 *     2. engine_check_checkpointer()  a checkpoint that failed ends all writing
 *     3. cor_batch_run()           requests as one transaction; publish; answer
 *     4. engine_run_ranges()       in memory only: on disk the reader threads read
 *     5. cor_compaction_step()     one step of sweeping history
 *     6. cor_feeds_turn()          some pages for feeds that are behind
 *     7. engine_bound_wal()        ask for a checkpoint, or wait for it
 *   and sleep when there is nothing left: forever, or until a lease may expire.
 *
 * Failures. What the database refuses for a reason that passes (a full disk, no memory) fails the
 * batch alone. After an I/O error, corruption or an internal error the state of the file is not
 * known: `failure` is set, every later write is refused with its message, reads go on, and the log
 * is left as it is when the engine closes. Opening fails as a whole and releases what it has.
 *
 * End. engine_close() sets `stopping`. The thread answers what is queued with -COR_ECANCELED, goes
 * on until the last feed is closed, and ends; then readers, checkpointer and files follow.
 *
 * Thread: as each function says; all that says nothing is the engine thread's. */
/* clang-format on */
#include "storage/sqlite/sqlite_engine.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/limits.h"
#include "base/mem.h"
#include "storage/sqlite/sqlite_engine_int.h"
#include "storage/sqlite/sqlite_feed.h"
#include "storage/sqlite/sqlite_format.h"
#include "storage/sqlite/sqlite_log.h"
#include "storage/sqlite/sqlite_range.h"

/* A checkpoint is asked for every 8 MB of log. At 32 MB, and every 8 MB from there, the writer
 * waits for the checkpoint, for WAL_WAIT_MS at most. A reader that pins the log (a backup) can
 * still make the log grow, because writes go on after the wait. */
#define WAL_ASK_PAGES  2048
#define WAL_WAIT_PAGES 8192
#define WAL_WAIT_MS    5000
/* Leases are checked at least this often while there are any, because wall time may jump. */
#define EXPIRY_CHECK_MS 1000
/* In memory the engine thread runs at most this many ranges between two batches. */
#define TURN_RANGES 64

static struct cor_sqlite_engine *engine_of(struct cor_engine *engine)
{
    return (struct cor_sqlite_engine *)engine;
}

void cor_sqlite_engine_wake_locked(struct cor_sqlite_engine *e)
{
    if (e->sleeping)
        cor_cond_signal(&e->wake);
}

/* A retry would fail the same way, or worse: what is on the disk is not known any more. */
static bool is_lasting(int err)
{
    return err == -COR_EIO || err == -COR_ECORRUPT || err == -COR_EINTERNAL;
}

void cor_sqlite_engine_failed(struct cor_sqlite_engine *e, int err)
{
    assert(err < 0);
    if (is_lasting(err) && e->failure == 0) {
        e->failure = err;
        snprintf(e->failure_message, sizeof(e->failure_message),
                 "%s: %s; no write is taken until the process is restarted", e->db->path,
                 e->db->message);
    }
    if (!sqlite3_get_autocommit(e->db->db))
        cor_sqlite_db_run(e->db, COR_SQL_ROLLBACK);
}

/* The checkpointer has a connection of its own: a sync that failed there concerns the same file. */
static void engine_check_checkpointer(struct cor_sqlite_engine *e)
{
    char message[560];
    int err;

    if (!e->checkpointer || e->failure < 0)
        return;
    err = cor_checkpointer_error(e->checkpointer, message, sizeof(message));
    if (err == 0)
        return;
    e->failure = err;
    snprintf(e->failure_message, sizeof(e->failure_message),
             "%s; no write is taken until the process is restarted", message);
}

/* Called by SQLite after each commit. */
static int on_wal(void *arg, sqlite3 *db, const char *name, int pages)
{
    struct cor_sqlite_engine *e = arg;

    e->wal_pages = (size_t)pages;
    return SQLITE_OK;
}

static void engine_bound_wal(struct cor_sqlite_engine *e)
{
    if (!e->checkpointer)
        return;
    /* A shorter log than last time: a checkpoint was whole, and the log began again. */
    if (e->wal_pages < e->wal_asked) {
        e->wal_asked = 0;
        e->wal_wait = WAL_WAIT_PAGES;
    }
    if (e->wal_pages >= e->wal_wait) {
        cor_checkpointer_wait(e->checkpointer, WAL_WAIT_MS);
        e->wal_asked = e->wal_pages;
        e->wal_wait = e->wal_pages + WAL_ASK_PAGES;
    } else if (e->wal_pages - e->wal_asked >= WAL_ASK_PAGES) {
        cor_checkpointer_ask(e->checkpointer);
        e->wal_asked = e->wal_pages;
    }
}

/* What a turn takes from the queue. */
struct work {
    struct cor_dlist requests;
    struct cor_dlist ranges;
    bool stopping;
};

static bool engine_has_work_locked(const struct cor_sqlite_engine *e)
{
    return !cor_dlist_empty(&e->requests) || !cor_dlist_empty(&e->ranges) ||
           !cor_dlist_empty(&e->feed_commands) || !cor_dlist_empty(&e->feed_pages) ||
           (e->stopping && e->nfeeds == 0);
}

/* Gives the lock back until the thread is woken. False: a lease may have expired instead. */
static bool engine_sleep_locked(struct cor_sqlite_engine *e)
{
    struct timespec until;
    bool woken = true;

    e->sleeping = true;
    if (e->next_expiry_ms == INT64_MAX || e->failure < 0) {
        cor_cond_wait(&e->wake, &e->lock);
    } else {
        int64_t left = e->next_expiry_ms - cor_clock_wall_ms(e->clock);
        int64_t ms = left < 0 ? 0 : left > EXPIRY_CHECK_MS ? EXPIRY_CHECK_MS : left;

        until = cor_deadline_in_ms((uint64_t)ms);
        woken = cor_cond_wait_until(&e->wake, &e->lock, &until);
    }
    e->sleeping = false;
    return woken;
}

static size_t request_cost(const struct cor_engine_req *req)
{
    const struct cor_write_req *w = COR_CONTAINER_OF(req, const struct cor_write_req, req);

    return req->op == COR_ENGINE_WRITE ? w->key.n + w->value.n : 0;
}

/* The head of the queue, up to a batch's bounds; one request is taken whatever its size. */
static void engine_take_requests_locked(struct cor_sqlite_engine *e, struct work *work)
{
    size_t bytes = 0;

    for (size_t n = 0; n < COR_BATCH_WRITES_MAX && !cor_dlist_empty(&e->requests); n++) {
        struct cor_dlist *link = e->requests.next;
        size_t c = request_cost(COR_CONTAINER_OF(link, struct cor_engine_req, mail.link));

        if (n > 0 && bytes + c > COR_BATCH_BYTES_MAX)
            return;
        bytes += c;
        cor_dlist_remove(link);
        cor_dlist_push(&work->requests, link);
        e->nrequests--;
        e->request_bytes -= c;
    }
}

/* Waits for work, unless `busy` (there is work that is not queued), and takes it. False: the engine
 * stops, with nothing queued and no feed left. */
static bool engine_take_work(struct cor_sqlite_engine *e, bool busy, struct work *work)
{
    bool go;

    cor_dlist_init(&work->requests);
    cor_dlist_init(&work->ranges);
    cor_lock_acquire(&e->lock);
    while (!busy && !engine_has_work_locked(e) && engine_sleep_locked(e))
        ;
    engine_take_requests_locked(e, work);
    for (size_t n = 0; n < TURN_RANGES && !cor_dlist_empty(&e->ranges); n++) {
        cor_dlist_push(&work->ranges, cor_dlist_pop(&e->ranges));
        e->nranges--;
    }
    work->stopping = e->stopping;
    go = !e->stopping || e->nfeeds > 0 || !cor_dlist_empty(&work->requests) ||
         !cor_dlist_empty(&work->ranges);
    cor_lock_release(&e->lock);
    return go;
}

static void engine_cancel(struct cor_dlist *requests)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(requests)))
        cor_engine_req_fail(COR_CONTAINER_OF(link, struct cor_engine_req, mail.link),
                            -COR_ECANCELED, "the store is closing");
}

static void engine_run_ranges(struct cor_sqlite_engine *e, struct cor_dlist *ranges)
{
    struct cor_dlist *link;

    while ((link = cor_dlist_pop(ranges))) {
        struct cor_range_req *req = COR_CONTAINER_OF(link, struct cor_range_req, req.mail.link);

        cor_engine_req_done(&req->req, cor_sqlite_range(e->db, req));
    }
}

static void *engine_main(void *arg)
{
    struct cor_sqlite_engine *e = arg;
    struct work work;
    bool busy = false;

    pthread_setname_np(pthread_self(), "cor-engine");
    while (engine_take_work(e, busy, &work)) {
        if (work.stopping) {
            engine_cancel(&work.requests);
            engine_cancel(&work.ranges);
        }
        cor_turn_meter_begin(&e->turns);
        cor_feeds_commands(e);
        engine_check_checkpointer(e);
        cor_batch_run(e, &work.requests);
        engine_run_ranges(e, &work.ranges);
        busy = cor_compaction_step(e);
        busy |= cor_feeds_turn(e);
        engine_bound_wal(e);
        cor_turn_meter_end(&e->turns);
    }
    return NULL;
}

/* Any thread: answers a request that can never succeed, without queueing it. True: it did. */
static bool engine_refuses(struct cor_sqlite_engine *e, struct cor_engine_req *req)
{
    const char *message = "the store is open read-only";
    int r = 0;

    if (e->read_only && req->op != COR_ENGINE_STATUS)
        r = -COR_EREADONLY;
    else if (req->op == COR_ENGINE_WRITE)
        r = cor_write_req_check(COR_CONTAINER_OF(req, struct cor_write_req, req), &message);
    if (r < 0)
        cor_engine_req_fail(req, r, message);
    return r < 0;
}

/* Any thread. The request is answered by mail in every case. */
static void engine_submit(struct cor_engine *engine, struct cor_engine_req *req)
{
    struct cor_sqlite_engine *e = engine_of(engine);
    size_t c = request_cost(req);
    bool full;

    if (engine_refuses(e, req))
        return;
    cor_lock_acquire(&e->lock);
    full =
        e->nrequests >= COR_ENGINE_WRITES_MAX || e->request_bytes + c > COR_ENGINE_WRITE_BYTES_MAX;
    if (!full) {
        cor_dlist_push(&e->requests, &req->mail.link);
        e->nrequests++;
        e->request_bytes += c;
        cor_sqlite_engine_wake_locked(e);
    }
    cor_lock_release(&e->lock);
    if (full)
        cor_engine_req_fail(req, -COR_EBUSY, "too many requests wait for the store");
}

/* Any thread. */
static void engine_range(struct cor_engine *engine, struct cor_range_req *req)
{
    struct cor_sqlite_engine *e = engine_of(engine);
    bool full;

    if (e->readers) {
        cor_readers_range(e->readers, req);
        return;
    }
    cor_lock_acquire(&e->lock);
    full = e->nranges >= COR_ENGINE_READS_MAX;
    if (!full) {
        cor_dlist_push(&e->ranges, &req->req.mail.link);
        e->nranges++;
        cor_sqlite_engine_wake_locked(e);
    }
    cor_lock_release(&e->lock);
    if (full)
        cor_engine_req_fail(&req->req, -COR_EBUSY, "too many reads wait for the store");
}

static void engine_release(struct cor_sqlite_engine *e)
{
    cor_readers_free(e->readers);
    cor_checkpointer_free(e->checkpointer);
    cor_sqlite_db_free(e->db);
    cor_data_dir_free(e->dir);
    cor_feed_index_deinit(&e->feeds);
    cor_cond_deinit(&e->wake);
    cor_lock_deinit(&e->lock);
    cor_free(e);
}

/* Leaves a short file behind. After a failed sync the log must stay as it is, because it is the
 * only whole copy of what the kernel may have lost of the file; SQLite itself would run a
 * checkpoint when the connection closes, so that is turned off. */
static void engine_last_checkpoint(struct cor_sqlite_engine *e)
{
    int rc = SQLITE_ERROR;

    sqlite3_busy_timeout(e->db->db, 0);
    if (e->failure == 0)
        rc = sqlite3_wal_checkpoint_v2(e->db->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    if (rc != SQLITE_OK)
        sqlite3_db_config(e->db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}

/* Any thread but the engine's; blocks until the engine is closed. All feeds were asked to close. */
static void engine_close(struct cor_engine *engine)
{
    struct cor_sqlite_engine *e = engine_of(engine);

    assert(!pthread_equal(pthread_self(), e->thread));
    cor_lock_acquire(&e->lock);
    assert(!e->stopping);
    e->stopping = true;
    cor_cond_signal(&e->wake);
    cor_lock_release(&e->lock);
    pthread_join(e->thread, NULL);
    e->readers = cor_readers_free(e->readers);
    if (e->checkpointer)
        cor_checkpointer_stop(e->checkpointer);
    engine_check_checkpointer(e);
    if (e->dir && !e->read_only)
        engine_last_checkpoint(e);
    engine_release(e);
}

static const struct cor_engine_ops ops = {
    .range = engine_range,
    .submit = engine_submit,
    .feed_open = cor_sqlite_feed_open,
    .close = engine_close,
};

/* The state that the thread goes on from. */
static int engine_load(struct cor_sqlite_engine *e, struct cor_status *reterr_status)
{
    int r = cor_log_rev(e->db, &e->rev);

    if (r == 0)
        r = cor_log_meta(e->db, COR_LOG_COMPACT_REV, &e->compact_rev);
    if (r == 0)
        r = cor_log_meta(e->db, COR_LOG_SWEPT_REV, &e->swept_rev);
    if (r == 0)
        r = cor_leases_load(e);
    if (r < 0)
        return cor_sqlite_db_status(e->db, r, reterr_status);
    r = cor_sqlite_format_open(e->db, e->read_only, e->rev, &e->base.old_rev, reterr_status);
    if (r < 0)
        return r;
    if (e->read_only)
        e->next_expiry_ms = INT64_MAX;
    e->wal_wait = WAL_WAIT_PAGES;
    sqlite3_wal_hook(e->db->db, on_wal, e);
    return 0;
}

static int engine_open_files(struct cor_sqlite_engine *e, const char *data_dir,
                             struct cor_status *reterr_status)
{
    enum cor_sqlite_mode helper = e->read_only ? COR_SQLITE_GUEST : COR_SQLITE_HELPER;
    enum cor_sqlite_mode own = e->read_only ? COR_SQLITE_GUEST : COR_SQLITE_OWNER;
    const char *path;
    int r = cor_data_dir_open(data_dir, e->read_only, &e->dir, reterr_status);

    if (r < 0)
        return r;
    path = cor_data_dir_store(e->dir);
    r = cor_sqlite_db_open(path, own, &e->db, reterr_status);
    if (r == 0)
        r = engine_load(e, reterr_status);
    if (r == 0)
        r = cor_readers_new(path, helper, COR_ENGINE_READS_MAX, &e->readers, reterr_status);
    if (r == 0 && !e->read_only)
        r = cor_checkpointer_new(path, &e->checkpointer, reterr_status);
    return r;
}

static int engine_open_memory(struct cor_sqlite_engine *e, struct cor_status *reterr_status)
{
    int r;

    if (e->read_only)
        return cor_status_set(reterr_status, -COR_EINVAL, "a store in memory cannot be read-only");
    r = cor_sqlite_db_open(":memory:", COR_SQLITE_OWNER, &e->db, reterr_status);
    return r < 0 ? r : engine_load(e, reterr_status);
}

static struct cor_sqlite_engine *engine_new(const struct cor_engine_config *config)
{
    struct cor_sqlite_engine *e = cor_calloc(1, sizeof(*e));

    if (!e)
        return NULL;
    e->base.ops = &ops;
    e->base.turns = &e->turns;
    e->read_only = config->read_only;
    e->clock = config->clock ? config->clock : cor_clock_real();
    cor_lock_init(&e->lock, COR_LOCK_SQLITE_ENGINE);
    cor_cond_init(&e->wake);
    cor_dlist_init(&e->requests);
    cor_dlist_init(&e->ranges);
    cor_dlist_init(&e->feed_commands);
    cor_dlist_init(&e->feed_pages);
    cor_dlist_init(&e->behind);
    return e;
}

int cor_sqlite_engine_open(const struct cor_engine_config *config, struct cor_engine **ret_engine,
                           struct cor_status *reterr_status)
{
    struct cor_sqlite_engine *e = engine_new(config);
    int r;

    if (!e)
        return cor_status_no_memory(reterr_status);
    r = strcmp(config->data_dir, ":memory:") == 0
            ? engine_open_memory(e, reterr_status)
            : engine_open_files(e, config->data_dir, reterr_status);
    if (r == 0 && pthread_create(&e->thread, NULL, engine_main, e) != 0)
        r = cor_status_set(reterr_status, -COR_EIO, "start the engine thread");
    if (r < 0) {
        engine_release(e);
        return r;
    }
    *ret_engine = &e->base;
    return 0;
}
