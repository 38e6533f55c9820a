/* A read of one key or of a page of keys at a revision, in one read transaction, so that the
 * revision, the compaction mark, the values and the count belong together. A page ends at its
 * limit, at COR_PAGE_KEYS_MAX keys or at COR_PAGE_BYTES_MAX bytes; `ret_more` says whether keys
 * are left. A failure is the request's result, with the database's message. Thread: the one that
 * has the connection (a reader's; in memory the engine's). */
#include "storage/sqlite/sqlite_range.h"

#include <assert.h>

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"
#include "storage/sqlite/sqlite_log.h"

struct page {
    size_t max;
    size_t cap;
    size_t bytes;
};

/* -COR_ENOMEM leaves what is there for cor_range_req_deinit(). */
static int range_add(struct cor_range_req *req, struct page *page, struct cor_kv *take_kv)
{
    int r = COR_ARRAY_RESERVE(&req->ret_kvs, req->ret_nkvs, &page->cap, COR_ARRAY_NO_MAX);

    if (r < 0) {
        cor_kv_unref(take_kv);
        return r;
    }
    req->ret_kvs[req->ret_nkvs++] = take_kv;
    page->bytes += take_kv->key_len + take_kv->value_len;
    return 0;
}

static bool range_is_full(const struct cor_range_req *req, const struct page *page)
{
    return req->ret_nkvs >= page->max || page->bytes >= COR_PAGE_BYTES_MAX;
}

static int range_read_one(struct cor_sqlite_db *db, struct cor_range_req *req, cor_rev at)
{
    struct page page = {.max = 1};
    struct cor_kv *kv;
    int r = cor_log_get(db, req->key, at, &kv);

    if (r < 0)
        return r;
    req->ret_count = req->count && kv ? 1 : 0;
    if (!kv || req->keys_only) {
        cor_kv_unref(kv);
        return 0;
    }
    r = range_add(req, &page, kv);
    return r < 0 ? cor_sqlite_db_failed(db, SQLITE_NOMEM) : 0;
}

static void range_bind(sqlite3_stmt *st, struct cor_str key, struct cor_str end, cor_rev at)
{
    cor_sqlite_bind_str(st, 1, key);
    cor_sqlite_bind_str(st, 2, end);
    sqlite3_bind_int64(st, 3, (int64_t)at);
}

static int range_read_page(struct cor_sqlite_db *db, struct cor_range_req *req, cor_rev at)
{
    struct page page = {.max = COR_PAGE_KEYS_MAX};
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_KEYS);
    int r;

    if (!st)
        return cor_sqlite_db_err(db);
    if (req->limit > 0 && req->limit < page.max)
        page.max = req->limit;
    range_bind(st, req->key, req->end, at);
    while ((r = cor_sqlite_db_step(db, st)) > 0) {
        struct cor_kv *kv;

        if (sqlite3_column_int(st, 2))
            continue;
        if (range_is_full(req, &page)) {
            req->ret_more = true;
            break;
        }
        r = cor_log_by_rev(db, (cor_rev)sqlite3_column_int64(st, 1), &kv);
        if (r == 0 && range_add(req, &page, kv) < 0)
            r = cor_sqlite_db_failed(db, SQLITE_NOMEM);
        if (r < 0)
            break;
    }
    sqlite3_reset(st);
    return r < 0 ? r : 0;
}

/* What the page has need not be counted again: the count goes on behind its last key. */
static int count_rest(struct cor_sqlite_db *db, struct cor_range_req *req, cor_rev at)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_COUNT);
    struct cor_str from = req->key;
    int64_t n;
    int r;

    if (!st)
        return cor_sqlite_db_err(db);
    if (req->ret_nkvs > 0) {
        from = cor_kv_key(req->ret_kvs[req->ret_nkvs - 1]);
        from.n++; /* with the NUL after it: the first key after this one */
    }
    range_bind(st, from, req->end, at);
    r = cor_sqlite_db_int(db, st, &n);
    if (r < 0)
        return r;
    req->ret_count = req->ret_nkvs + (uint64_t)n;
    return 0;
}

static int read_range(struct cor_sqlite_db *db, struct cor_range_req *req, cor_rev at)
{
    int r = 0;

    if (req->end.n == 0)
        return range_read_one(db, req, at);
    if (!req->keys_only)
        r = range_read_page(db, req, at);
    if (r < 0 || !req->count)
        return r;
    if (!req->keys_only && !req->ret_more) {
        req->ret_count = req->ret_nkvs;
        return 0;
    }
    return count_rest(db, req, at);
}

static int check_at(struct cor_sqlite_db *db, struct cor_range_req *req)
{
    cor_rev compacted;
    int r;

    if (req->at == 0)
        return 0;
    if (req->at > req->ret_rev)
        return cor_status_set(&req->req.status, -COR_EFUTURE,
                              "revision %llu is in the future: the store is at %llu",
                              (unsigned long long)req->at, (unsigned long long)req->ret_rev);
    r = cor_log_meta(db, COR_LOG_COMPACT_REV, &compacted);
    if (r < 0)
        return cor_sqlite_db_status(db, r, &req->req.status);
    if (req->at < compacted)
        return cor_status_set(&req->req.status, -COR_EEXPIRED,
                              "revision %llu has been compacted, the oldest is %llu",
                              (unsigned long long)req->at, (unsigned long long)compacted);
    return 0;
}

int cor_sqlite_range(struct cor_sqlite_db *db, struct cor_range_req *req)
{
    int r;

    assert(req->at <= COR_REV_MAX);
    r = cor_sqlite_db_run(db, COR_SQL_BEGIN);
    if (r < 0)
        return cor_sqlite_db_status(db, r, &req->req.status);
    r = cor_log_rev(db, &req->ret_rev);
    if (r < 0)
        cor_sqlite_db_status(db, r, &req->req.status);
    else
        r = check_at(db, req);
    if (r == 0) {
        r = read_range(db, req, req->at ? req->at : COR_REV_MAX);
        if (r < 0)
            cor_sqlite_db_status(db, r, &req->req.status);
    }
    cor_sqlite_db_run(db, COR_SQL_COMMIT);
    return r;
}
