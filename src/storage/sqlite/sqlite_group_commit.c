/* clang-format off */
/* Group commit: the requests that were queued are a batch, run in their order in one transaction
 * with one sync.
 *
 *   BEGIN ──► each request ──► keys of expired leases ──► COMMIT ──► publish to feeds ──► answer
 *     │            │                   │                     │
 *     └────────────┴───────────────────┴─────────────────────┴──► ROLLBACK, refuse all, answer
 *
 * Two kinds of failure are kept apart. A request's own failure (a lost compare, an unknown lease, a
 * revision in the future) is its `result`: the request changes nothing, and the others go on. A
 * failure of the database (the return values here) ends the transaction: nothing of the batch was
 * written, what the requests had found is taken back, and all of them fail with the database's
 * message. When that failure lasts (sqlite_engine.c), this and every later batch is refused.
 *
 * The feeds get their events before the writers get their answers: a writer that hears of its write
 * finds it in every cache. The answers give back the keys and values that `changes` points to, so
 * nothing may look at `changes` after them.
 *
 * Thread: the engine's. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/clock.h"
#include "storage/sqlite/sqlite_engine_int.h"
#include "storage/sqlite/sqlite_feed.h"
#include "storage/sqlite/sqlite_format.h"
#include "storage/sqlite/sqlite_log.h"

/* After a batch that failed, leases are checked again this much later. */
#define EXPIRY_RETRY_MS 1000

static struct cor_engine_req *request_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct cor_engine_req, mail.link);
}

int cor_batch_append(struct cor_sqlite_engine *e, struct cor_str key, struct cor_str value,
                     bool is_delete, int64_t lease, struct cor_kv *take_prev)
{
    struct cor_log_row row = {
        .rev = e->batch_rev + 1,
        .prev_rev = take_prev ? take_prev->mod_rev : 0,
        .lease = lease,
        .dead = is_delete,
        .key = key,
        .value = value,
    };
    int r;

    assert(e->nchanges < COR_ARRAY_LEN(e->changes));
    if (!is_delete)
        row.create_rev = take_prev ? take_prev->create_rev : row.rev;
    r = cor_log_append(e->db, &row);
    if (r < 0) {
        cor_kv_unref(take_prev);
        return r;
    }
    e->batch_rev = row.rev;
    e->changes[e->nchanges++] = (struct cor_sqlite_change){
        .key = key,
        .value = value,
        .rev = row.rev,
        .create_rev = row.create_rev,
        .lease = lease,
        .deleted = is_delete,
        .prev = take_prev,
    };
    return 0;
}

/* 1, 0, or the database's failure. A lease whose time is over counts as gone, although its keys are
 * deleted only at the end of this batch. */
static int batch_has_lease(struct cor_sqlite_engine *e, int64_t id)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(e->db, COR_SQL_LEASE_HAS);
    int64_t found;
    int r;

    if (!st)
        return cor_sqlite_db_err(e->db);
    sqlite3_bind_int64(st, 1, id);
    sqlite3_bind_int64(st, 2, cor_clock_wall_ms(e->clock));
    r = cor_sqlite_db_int(e->db, st, &found);
    return r < 0 ? r : found != 0;
}

/* The compare-and-swap of one key. A lost compare returns the current version with it, so that the
 * caller can try again without a read. */
static int batch_run_write(struct cor_sqlite_engine *e, struct cor_write_req *w)
{
    COR_CLEANUP(cor_kv_unrefp) struct cor_kv *current = NULL;
    int r = cor_log_get(e->db, w->key, COR_REV_MAX, &current);

    if (r < 0)
        return r;
    if ((current ? current->mod_rev : 0) != w->expected) {
        w->req.result = -COR_ECONFLICT;
        w->ret_prev = COR_STEAL(current);
        return 0;
    }
    if (w->lease) {
        r = batch_has_lease(e, w->lease);
        if (r < 0)
            return r;
        if (r == 0) {
            w->req.result =
                cor_status_set(&w->req.status, -COR_ENOTFOUND, "requested lease not found");
            return 0;
        }
    }
    r = cor_batch_append(e, w->key, w->is_delete ? cor_str("", 0) : w->value, w->is_delete,
                         w->is_delete ? 0 : w->lease, current ? cor_kv_ref(current) : NULL);
    if (r < 0)
        return r;
    e->changes[e->nchanges - 1].object = w->is_delete ? NULL : w->object;
    w->ret_rev = e->batch_rev;
    w->ret_prev = COR_STEAL(current);
    return 0;
}

/* Only moves the mark; cor_compaction_step() removes the rows below it later. */
static int batch_run_compact(struct cor_sqlite_engine *e, struct cor_compact_req *req)
{
    int r;

    if (req->rev > e->batch_rev) {
        req->req.result = cor_status_set(
            &req->req.status, -COR_EFUTURE, "revision %llu is in the future: the store is at %llu",
            (unsigned long long)req->rev, (unsigned long long)e->batch_rev);
        return 0;
    }
    if (req->rev <= e->batch_compact_rev)
        return 0;
    r = cor_log_set_meta(e->db, COR_LOG_COMPACT_REV, req->rev);
    if (r == 0)
        e->batch_compact_rev = req->rev;
    return r;
}

static int batch_run_request(struct cor_sqlite_engine *e, struct cor_engine_req *req)
{
    req->result = 0;
    switch (req->op) {
    case COR_ENGINE_WRITE:
        return batch_run_write(e, COR_CONTAINER_OF(req, struct cor_write_req, req));
    case COR_ENGINE_LEASE:
        return cor_leases_grant(e, COR_CONTAINER_OF(req, struct cor_lease_req, req));
    case COR_ENGINE_COMPACT:
        return batch_run_compact(e, COR_CONTAINER_OF(req, struct cor_compact_req, req));
    case COR_ENGINE_STATUS: /* answered after the commit */
    case COR_ENGINE_RANGE:
        break;
    }
    return 0;
}

static int batch_run_transaction(struct cor_sqlite_engine *e, struct cor_dlist *requests)
{
    int r = cor_sqlite_db_run(e->db, COR_SQL_BEGIN_WRITE);

    COR_DLIST_FOREACH(link, requests) {
        if (r == 0)
            r = batch_run_request(e, request_of(link));
    }
    if (r == 0 && cor_leases_due(e))
        r = cor_leases_expire(e);
    return r < 0 ? r : cor_sqlite_db_run(e->db, COR_SQL_COMMIT);
}

static int batch_read_status(struct cor_sqlite_engine *e, struct cor_engine_status_req *req)
{
    int64_t pages = 0, free_pages = 0;
    int r = cor_log_rev(e->db, &req->ret_rev);

    if (r == 0)
        r = cor_log_meta(e->db, COR_LOG_COMPACT_REV, &req->ret_compact_rev);
    if (r == 0)
        r = cor_sqlite_format_get(e->db, &req->ret_format);
    if (r == 0)
        r = cor_sqlite_db_int(e->db, cor_sqlite_db_statement(e->db, COR_SQL_PAGE_COUNT), &pages);
    if (r == 0)
        r = cor_sqlite_db_int(e->db, cor_sqlite_db_statement(e->db, COR_SQL_FREE_COUNT),
                              &free_pages);
    if (r < 0)
        return cor_sqlite_db_status(e->db, r, &req->req.status);
    req->ret_file_bytes = (uint64_t)pages * COR_SQLITE_PAGE_BYTES;
    req->ret_used_bytes = (uint64_t)(pages - free_pages) * COR_SQLITE_PAGE_BYTES;
    if (e->failure < 0)
        return cor_status_set(&req->req.status, e->failure, "%s", e->failure_message);
    return 0;
}

static void batch_answer(struct cor_sqlite_engine *e, struct cor_dlist *requests)
{
    COR_DLIST_FOREACH(link, requests) {
        struct cor_engine_req *req = request_of(link);

        if (req->op == COR_ENGINE_STATUS)
            req->result =
                batch_read_status(e, COR_CONTAINER_OF(req, struct cor_engine_status_req, req));
    }
    cor_engine_reqs_done(requests);
}

/* Nothing of the batch was written: results that requests have already are taken back. A status is
 * not refused; it is answered with the reason. */
static void batch_refuse(struct cor_dlist *requests, int err, const char *message)
{
    COR_DLIST_FOREACH_SAFE(link, requests) {
        struct cor_engine_req *req = request_of(link);

        if (req->op == COR_ENGINE_STATUS)
            continue;
        if (req->op == COR_ENGINE_WRITE) {
            struct cor_write_req *w = COR_CONTAINER_OF(req, struct cor_write_req, req);

            w->ret_prev = cor_kv_unref(w->ret_prev);
            w->ret_rev = 0;
        } else if (req->op == COR_ENGINE_LEASE) {
            COR_CONTAINER_OF(req, struct cor_lease_req, req)->ret_id = 0;
        }
        cor_dlist_remove(link);
        cor_engine_req_fail(req, err, message);
    }
}

static bool batch_has_writes(struct cor_dlist *requests)
{
    COR_DLIST_FOREACH(link, requests) {
        if (request_of(link)->op != COR_ENGINE_STATUS)
            return true;
    }
    return false;
}

static void batch_release_changes(struct cor_sqlite_engine *e)
{
    for (size_t i = 0; i < e->nchanges; i++) {
        cor_kv_unref(e->changes[i].prev);
        cor_kv_unref(e->changes[i].kv);
    }
    e->nchanges = 0;
}

static void batch_committed(struct cor_sqlite_engine *e)
{
    assert(e->batch_rev >= e->rev && e->batch_compact_rev >= e->compact_rev);
    e->rev = e->batch_rev;
    if (e->nchanges > 0 || e->compact_rev != e->batch_compact_rev)
        e->sweep_waits = false;
    e->compact_rev = e->batch_compact_rev;
    cor_feeds_publish(e);
}

/* The message is copied first, because the rollback overwrites the connection's. */
static void batch_not_committed(struct cor_sqlite_engine *e, struct cor_dlist *requests, int err)
{
    char message[640];

    snprintf(message, sizeof(message), "%s: %s", e->db->path, e->db->message);
    cor_sqlite_engine_failed(e, err);
    e->expiry_cursor = 0;
    e->next_expiry_ms = cor_clock_wall_ms(e->clock) + EXPIRY_RETRY_MS;
    batch_refuse(requests, err, e->failure < 0 ? e->failure_message : message);
}

void cor_batch_run(struct cor_sqlite_engine *e, struct cor_dlist *requests)
{
    bool due = e->failure == 0 && !e->read_only && cor_leases_due(e);
    int r;

    assert(e->nchanges == 0);
    if (e->failure < 0) {
        batch_refuse(requests, e->failure, e->failure_message);
    } else if (due || batch_has_writes(requests)) {
        e->batch_rev = e->rev;
        e->batch_compact_rev = e->compact_rev;
        r = batch_run_transaction(e, requests);
        if (r < 0)
            batch_not_committed(e, requests, r);
        else
            batch_committed(e);
    }
    batch_answer(e, requests);
    batch_release_changes(e);
}
