/* cor_store_check(): SQLite's own integrity check, then the invariants of the log that
 * docs/internals/sqlite-engine.md lists. One pass over the key index sees every row beside its
 * predecessor. */
#include <stdarg.h>
#include <stdio.h>

#include "storage/engine/data_dir.h"
#include "storage/engine/maintenance.h"
#include "storage/sqlite/sqlite_log.h"

#define TOLD_MAX 100

struct check {
    struct cor_sqlite_db *db;
    void (*on_finding)(void *arg, const char *finding);
    void *arg;
    struct cor_store_summary sum;
    cor_rev swept_rev;
};

struct seen {
    cor_rev rev, prev_rev, create_rev;
    int64_t lease;
    bool dead, has_value, has_lease;
    struct cor_str key; /* borrowed from the statement */
};

static void found(struct check *ck, const char *fmt, ...) COR_PRINTF(2, 3);

static void found(struct check *ck, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    if (ck->sum.findings++ >= TOLD_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    ck->on_finding(ck->arg, text);
}

/* Calls `row` for each row; prepares for this one use. */
static int each_row(struct check *ck, const char *sql,
                    void (*row)(struct check *ck, sqlite3_stmt *st, void *arg), void *arg)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(ck->db->db, sql, -1, &st, NULL);
    int r;

    if (rc != SQLITE_OK)
        return cor_sqlite_db_failed(ck->db, rc);
    while ((r = cor_sqlite_db_step(ck->db, st)) > 0)
        row(ck, st, arg);
    sqlite3_finalize(st);
    return r;
}

static void integrity_row(struct check *ck, sqlite3_stmt *st, void *arg)
{
    struct cor_str text = cor_sqlite_column_str(st, 0);

    if (!cor_str_eqz(text, "ok"))
        found(ck, "integrity: %.*s", COR_STR_ARG(text));
}

static void check_tombstone(struct check *ck, const struct seen *row)
{
    unsigned long long rev = row->rev;

    if (row->prev_rev == 0)
        found(ck, "revision %llu deletes a key that was not there", rev);
    if (row->create_rev != 0 || row->lease != 0 || row->has_value)
        found(ck, "revision %llu is a deletion with content", rev);
    if (row->rev <= ck->swept_rev)
        found(ck, "revision %llu is a deletion that compaction left behind", rev);
}

static void check_creation(struct check *ck, const struct seen *row, const struct seen *before)
{
    unsigned long long rev = row->rev;

    if (row->create_rev != row->rev)
        found(ck, "revision %llu creates its key but says it was created at %llu", rev,
              (unsigned long long)row->create_rev);
    if (before && !before->dead)
        found(ck, "revision %llu creates a key that revision %llu already holds", rev,
              (unsigned long long)before->rev);
}

static void check_successor(struct check *ck, const struct seen *row, const struct seen *before)
{
    unsigned long long rev = row->rev, prev = row->prev_rev;

    if (row->prev_rev >= row->rev)
        found(ck, "revision %llu replaces revision %llu, which is not before it", rev, prev);
    if (!before || before->rev < row->prev_rev) {
        if (row->rev > ck->sum.compact_rev)
            found(ck, "revision %llu replaces revision %llu, which is missing", rev, prev);
        return;
    }
    if (before->rev != row->prev_rev || before->dead)
        found(ck, "revision %llu replaces revision %llu, but %llu is the version before it", rev,
              prev, (unsigned long long)before->rev);
    else if (!row->dead && before->create_rev != row->create_rev)
        found(ck, "revision %llu and the version before it differ about the key's creation", rev);
}

static void check_pair(struct check *ck, const struct seen *row, const struct seen *before)
{
    if (row->dead)
        check_tombstone(ck, row);
    if (row->prev_rev == 0)
        check_creation(ck, row, before);
    else
        check_successor(ck, row, before);
    if (before && row->rev <= ck->swept_rev)
        found(ck, "revision %llu is history that compaction left behind",
              (unsigned long long)before->rev);
}

struct walk {
    struct seen last;
    bool any;
    char key[4097];
};

static void end_key(struct check *ck, const struct walk *walk)
{
    if (!walk->any || walk->last.dead)
        return;
    ck->sum.keys++;
    if (walk->last.lease && !walk->last.has_lease)
        found(ck, "key %.*s has lease %lld, which is missing: it would never expire",
              COR_STR_ARG(walk->last.key), (long long)walk->last.lease);
}

static void log_row(struct check *ck, sqlite3_stmt *st, void *arg)
{
    struct walk *walk = arg;
    struct cor_str key = cor_sqlite_column_str(st, 0);
    struct seen row = {
        .rev = (cor_rev)sqlite3_column_int64(st, 1),
        .prev_rev = (cor_rev)sqlite3_column_int64(st, 2),
        .create_rev = (cor_rev)sqlite3_column_int64(st, 3),
        .lease = sqlite3_column_int64(st, 4),
        .dead = sqlite3_column_int(st, 5) != 0,
        .has_value = sqlite3_column_int(st, 6) != 0,
        .has_lease = sqlite3_column_int(st, 7) != 0,
    };
    bool same = walk->any && cor_str_eq(key, walk->last.key);

    ck->sum.rows++;
    if (key.n == 0 || key.n >= sizeof(walk->key)) {
        found(ck, "revision %llu has a key of %zu bytes", (unsigned long long)row.rev, key.n);
        return;
    }
    if (!same)
        end_key(ck, walk);
    check_pair(ck, &row, same ? &walk->last : NULL);
    memcpy(walk->key, key.p, key.n);
    row.key = cor_str(walk->key, key.n);
    walk->last = row;
    walk->any = true;
}

static int check_log(struct check *ck)
{
    struct walk walk = {.any = false};
    int r = each_row(ck,
                     "SELECT key, rev, prev_rev, create_rev, lease, dead, value IS NOT NULL,"
                     " lease <> 0 AND EXISTS(SELECT 1 FROM lease WHERE id = log.lease)"
                     " FROM log INDEXED BY log_key ORDER BY key, rev",
                     log_row, &walk);

    if (r == 0)
        end_key(ck, &walk);
    return r;
}

static int number(struct check *ck, const char *sql, int64_t *ret)
{
    sqlite3_stmt *st;
    int rc = sqlite3_prepare_v2(ck->db->db, sql, -1, &st, NULL);
    int r;

    if (rc != SQLITE_OK)
        return cor_sqlite_db_failed(ck->db, rc);
    r = cor_sqlite_db_int(ck->db, st, ret);
    sqlite3_finalize(st);
    return r;
}

/* A revision that compaction may not touch has its row, and there is none beyond the newest. */
static int check_numbers(struct check *ck)
{
    int64_t above = 0, leases = 0, pages = 0;
    cor_rev floor =
        ck->sum.compact_rev > COR_LOG_FIRST_REV ? ck->sum.compact_rev : COR_LOG_FIRST_REV;
    int r = number(ck,
                   "SELECT COUNT(*) FROM log WHERE rev > MAX(1, COALESCE((SELECT value FROM meta"
                   " WHERE name = 'compact_rev'), 0))",
                   &above);

    if (r == 0)
        r = number(ck, "SELECT COUNT(*) FROM lease", &leases);
    if (r == 0)
        r = number(ck, "PRAGMA page_count", &pages);
    if (r < 0)
        return r;
    ck->sum.leases = (uint64_t)leases;
    ck->sum.file_bytes = (uint64_t)pages * COR_SQLITE_PAGE_BYTES;
    if (ck->sum.compact_rev > ck->sum.rev)
        found(ck, "compacted up to revision %llu, but the newest is %llu",
              (unsigned long long)ck->sum.compact_rev, (unsigned long long)ck->sum.rev);
    else if ((cor_rev)above != ck->sum.rev - floor)
        found(ck, "%llu of the revisions %llu to %llu are missing",
              (unsigned long long)(ck->sum.rev - floor - (cor_rev)above),
              (unsigned long long)floor + 1, (unsigned long long)ck->sum.rev);
    if (ck->swept_rev > ck->sum.compact_rev)
        found(ck, "swept up to revision %llu, but compacted up to %llu only",
              (unsigned long long)ck->swept_rev, (unsigned long long)ck->sum.compact_rev);
    return 0;
}

static int check_all(struct check *ck)
{
    int r = cor_sqlite_db_run(ck->db, COR_SQL_BEGIN);

    if (r == 0)
        r = each_row(ck, "PRAGMA integrity_check(100)", integrity_row, NULL);
    if (r == 0)
        r = cor_log_rev(ck->db, &ck->sum.rev);
    if (r == 0)
        r = cor_log_meta(ck->db, COR_LOG_COMPACT_REV, &ck->sum.compact_rev);
    if (r == 0)
        r = cor_log_meta(ck->db, COR_LOG_SWEPT_REV, &ck->swept_rev);
    if (r == 0)
        r = check_numbers(ck);
    if (r == 0)
        r = check_log(ck);
    if (r == -COR_ECORRUPT)
        found(ck, "%s", ck->db->message);
    return r == -COR_ECORRUPT ? 0 : r;
}

int cor_store_check(const char *dir, void (*on_finding)(void *arg, const char *finding), void *arg,
                    struct cor_store_summary *ret_summary, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_data_dir_freep) struct cor_data_dir *folder = NULL;
    COR_CLEANUP(cor_sqlite_db_freep) struct cor_sqlite_db *db = NULL;
    struct check ck = {.on_finding = on_finding, .arg = arg};
    int r = cor_data_dir_open(dir, true, &folder, reterr_status);

    if (r < 0)
        return r;
    r = cor_sqlite_db_open(cor_data_dir_store(folder), COR_SQLITE_GUEST, &db, reterr_status);
    if (r < 0)
        return r;
    ck.db = db;
    r = check_all(&ck);
    if (r < 0)
        return cor_sqlite_db_status(db, r, reterr_status);
    *ret_summary = ck.sum;
    if (ck.sum.findings == 0)
        return 0;
    return cor_status_set(reterr_status, -COR_ECORRUPT, "%s is not sound: %llu findings",
                          cor_data_dir_store(folder), (unsigned long long)ck.sum.findings);
}
