/* The log's rows through prepared statements: append, the version of a key at a revision, the row
 * of a revision, and the numbers in the meta table. Each function binds, steps and resets one
 * statement. An error is SQLite's, as cor_sqlite_db_err() has it; the caller, which owns the
 * transaction, rolls back. Thread: the one that uses the connection. */
#include "storage/sqlite/log.h"

int cor_log_append(struct cor_sqlite_db *db, const struct cor_log_row *row)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_APPEND);

    if (!st)
        return cor_sqlite_db_err(db);
    sqlite3_bind_int64(st, 1, (int64_t)row->rev);
    cor_sqlite_bind_str(st, 2, row->key);
    sqlite3_bind_int64(st, 3, (int64_t)row->create_rev);
    sqlite3_bind_int64(st, 4, (int64_t)row->prev_rev);
    sqlite3_bind_int64(st, 5, row->lease);
    sqlite3_bind_int(st, 6, row->dead);
    if (row->dead)
        sqlite3_bind_null(st, 7);
    else
        sqlite3_bind_blob64(st, 7, row->value.n ? row->value.p : "", row->value.n, SQLITE_STATIC);
    return cor_sqlite_db_step(db, st);
}

int cor_log_get(struct cor_sqlite_db *db, struct cor_str key, cor_rev at, struct cor_kv **ret_kv)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_LATEST);
    struct cor_kv *kv = NULL;
    int r;

    if (!st)
        return cor_sqlite_db_err(db);
    cor_sqlite_bind_str(st, 1, key);
    sqlite3_bind_int64(st, 2, (int64_t)at);
    r = cor_sqlite_db_step(db, st);
    if (r < 0)
        return r;
    if (r > 0 && !sqlite3_column_int(st, 1)) {
        kv = cor_kv_new(key, cor_sqlite_column_str(st, 4), (cor_rev)sqlite3_column_int64(st, 2),
                        (cor_rev)sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 3));
        if (!kv)
            r = cor_sqlite_db_failed(db, SQLITE_NOMEM);
    }
    sqlite3_reset(st);
    if (r < 0)
        return r;
    *ret_kv = kv;
    return 0;
}

int cor_log_by_rev(struct cor_sqlite_db *db, cor_rev rev, struct cor_kv **ret_kv)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_BY_REV);
    int r;

    if (!st)
        return cor_sqlite_db_err(db);
    sqlite3_bind_int64(st, 1, (int64_t)rev);
    r = cor_sqlite_db_step(db, st);
    if (r < 0)
        return r;
    if (r == 0)
        return cor_sqlite_db_failed(db, SQLITE_CORRUPT);
    *ret_kv = cor_kv_new(cor_sqlite_column_str(st, 2), cor_sqlite_column_str(st, 3),
                         (cor_rev)sqlite3_column_int64(st, 0), rev, sqlite3_column_int64(st, 1));
    sqlite3_reset(st);
    return *ret_kv ? 0 : cor_sqlite_db_failed(db, SQLITE_NOMEM);
}

int cor_log_rev(struct cor_sqlite_db *db, cor_rev *ret_rev)
{
    int64_t rev;
    int r = cor_sqlite_db_int(db, cor_sqlite_db_statement(db, COR_SQL_MAX_REV), &rev);

    if (r < 0)
        return r;
    *ret_rev = rev > COR_LOG_FIRST_REV ? (cor_rev)rev : COR_LOG_FIRST_REV;
    return 0;
}

int cor_log_meta(struct cor_sqlite_db *db, const char *name, cor_rev *ret_value)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_META_GET);
    int64_t value;
    int r;

    if (!st)
        return cor_sqlite_db_err(db);
    cor_sqlite_bind_str(st, 1, cor_strz(name));
    r = cor_sqlite_db_int(db, st, &value);
    if (r < 0)
        return r;
    *ret_value = (cor_rev)value;
    return 0;
}

int cor_log_set_meta(struct cor_sqlite_db *db, const char *name, cor_rev value)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_META_SET);

    if (!st)
        return cor_sqlite_db_err(db);
    cor_sqlite_bind_str(st, 1, cor_strz(name));
    sqlite3_bind_int64(st, 2, (int64_t)value);
    return cor_sqlite_db_step(db, st);
}
