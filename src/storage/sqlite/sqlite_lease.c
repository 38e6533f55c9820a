/* Leases: rows of a table with the wall time at which each ends. `next_expiry_ms` is the earliest
 * of them, so that the engine thread knows how long it may sleep.
 *
 * A lease that is over is removed at the end of a batch, in its transaction: its keys are deleted,
 * COR_BATCH_EXPIRED_MAX of all leases together at most, then the lease itself. `expiry_cursor`
 * remembers how far the first lease's keys were deleted when one batch was not enough. Each
 * deletion is a change like any other: it has a revision, and feeds get it.
 *
 * A failure of the database ends the batch (sqlite_group_commit.c), which resets the cursor and
 * tries again later. Thread: the engine's. */
#include <limits.h>

#include "base/clock.h"
#include "storage/sqlite/sqlite_engine_int.h"
#include "storage/sqlite/sqlite_log.h"

#define TTL_MAX_S 9000000000 /* the maximum of etcd */

int cor_leases_grant(struct cor_sqlite_engine *e, struct cor_lease_req *req)
{
    int64_t expires, id;
    sqlite3_stmt *st;
    int r;

    if (req->ttl_s <= 0 || req->ttl_s > TTL_MAX_S) {
        req->req.result =
            cor_status_set(&req->req.status, -COR_EINVAL, "a lease lasts 1 to %lld s, not %lld",
                           (long long)TTL_MAX_S, (long long)req->ttl_s);
        return 0;
    }
    st = cor_sqlite_db_statement(e->db, COR_SQL_LEASE_ADD);
    if (!st)
        return cor_sqlite_db_err(e->db);
    expires = cor_clock_wall_ms(e->clock) + req->ttl_s * 1000;
    sqlite3_randomness(sizeof(id), &id);
    id = (id & INT64_MAX) | 1;
    sqlite3_bind_int64(st, 1, id);
    sqlite3_bind_int64(st, 2, expires);
    r = cor_sqlite_db_step(e->db, st);
    if (r < 0)
        return r;
    req->ret_id = id;
    if (expires < e->next_expiry_ms)
        e->next_expiry_ms = expires;
    return 0;
}

static int lease_first(struct cor_sqlite_engine *e, int64_t *ret_id)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(e->db, COR_SQL_LEASE_FIRST);
    int r;

    if (!st)
        return cor_sqlite_db_err(e->db);
    r = cor_sqlite_db_step(e->db, st);
    if (r < 0)
        return r;
    e->next_expiry_ms = r > 0 ? sqlite3_column_int64(st, 0) : INT64_MAX;
    *ret_id = r > 0 ? sqlite3_column_int64(st, 1) : 0;
    sqlite3_reset(st);
    return 0;
}

int cor_leases_load(struct cor_sqlite_engine *e)
{
    int64_t id;

    return lease_first(e, &id);
}

bool cor_leases_due(struct cor_sqlite_engine *e)
{
    return e->next_expiry_ms != INT64_MAX && e->next_expiry_ms <= cor_clock_wall_ms(e->clock);
}

/* Deletes the key, unless a newer row has replaced the one that had the lease. */
static int lease_expire_row(struct cor_sqlite_engine *e, struct cor_str key, cor_rev rev)
{
    struct cor_kv *kv;
    int r = cor_log_get(e->db, key, COR_REV_MAX, &kv);

    if (r < 0)
        return r;
    if (!kv || kv->mod_rev != rev) {
        cor_kv_unref(kv);
        return 0;
    }
    return cor_batch_append(e, cor_kv_key(kv), cor_str("", 0), true, 0, kv);
}

/* Deletes keys of one lease, up to `budget`. `ret_all`: none is left. */
static int lease_expire_some(struct cor_sqlite_engine *e, int64_t id, size_t *budget, bool *ret_all)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(e->db, COR_SQL_LEASE_KEYS);
    size_t n = 0;
    int r;

    if (!st)
        return cor_sqlite_db_err(e->db);
    sqlite3_bind_int64(st, 1, id);
    sqlite3_bind_int64(st, 2, (int64_t)e->expiry_cursor);
    sqlite3_bind_int64(st, 3, (int64_t)*budget);
    while ((r = cor_sqlite_db_step(e->db, st)) > 0) {
        cor_rev rev = (cor_rev)sqlite3_column_int64(st, 0);

        r = lease_expire_row(e, cor_sqlite_column_str(st, 1), rev);
        if (r < 0)
            break;
        e->expiry_cursor = rev;
        n++;
    }
    sqlite3_reset(st);
    if (r < 0)
        return r;
    *ret_all = n < *budget;
    *budget -= n;
    return 0;
}

static int lease_forget(struct cor_sqlite_engine *e, int64_t id)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(e->db, COR_SQL_LEASE_DELETE);

    if (!st)
        return cor_sqlite_db_err(e->db);
    sqlite3_bind_int64(st, 1, id);
    e->expiry_cursor = 0;
    return cor_sqlite_db_step(e->db, st);
}

int cor_leases_expire(struct cor_sqlite_engine *e)
{
    size_t budget = COR_BATCH_EXPIRED_MAX;
    bool all = true;
    int64_t id = 0;
    int r = lease_first(e, &id);

    while (r == 0 && budget > 0 && cor_leases_due(e)) {
        r = lease_expire_some(e, id, &budget, &all);
        if (r < 0 || !all)
            break;
        r = lease_forget(e, id);
        if (r == 0)
            r = lease_first(e, &id);
    }
    return r;
}
