/* The log's rows through prepared statements: append, the version of a key at a revision, the row
 * of a revision, and the numbers in the meta table. Each function binds, steps and resets one
 * statement. A long value is read straight into its place: a statement would make a copy of it
 * first. An error is SQLite's, as cor_sqlite_db_err() has it; the caller, which owns the
 * transaction, rolls back. Thread: the one that uses the connection. */
#include "storage/sqlite/sqlite_log.h"

#include <string.h>

/* Values up to so many bytes come with their row; opening a longer one for itself costs less than a
 * copy of it. */
#define SHORT_MAX 16384

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

/* Reads the value of a row whose length is known. */
static int log_read_value(struct cor_sqlite_db *db, cor_rev rev, char *out, size_t n)
{
    sqlite3_blob *blob = NULL;
    int rc = sqlite3_blob_open(db->db, "main", "log", "value", (int64_t)rev, 0, &blob);

    if (rc == SQLITE_OK)
        rc = (size_t)sqlite3_blob_bytes(blob) == n ? sqlite3_blob_read(blob, out, (int)n, 0)
                                                   : SQLITE_CORRUPT;
    sqlite3_blob_close(blob);
    return rc == SQLITE_OK ? 0 : cor_sqlite_db_failed(db, rc);
}

/* What the statement's row says; its value is read in one way or the other. */
static int log_read_row(struct cor_sqlite_db *db, sqlite3_stmt *st, cor_rev rev,
                        struct cor_kv **ret_kv)
{
    size_t n = (size_t)sqlite3_column_int64(st, 3);
    char *room;
    struct cor_kv *kv =
        cor_kv_new_room(cor_sqlite_column_str(st, 2), n, (cor_rev)sqlite3_column_int64(st, 0), rev,
                        sqlite3_column_int64(st, 1), &room);
    int r = kv ? 0 : cor_sqlite_db_failed(db, SQLITE_NOMEM);

    if (r == 0 && n > SHORT_MAX) {
        r = log_read_value(db, rev, room, n);
    } else if (r == 0 && n > 0) {
        struct cor_str value = cor_sqlite_column_str(st, 4);

        if (value.n == n)
            memcpy(room, value.p, n);
        else
            r = cor_sqlite_db_failed(db, SQLITE_NOMEM);
    }
    if (r < 0)
        kv = cor_kv_unref(kv);
    *ret_kv = kv;
    return r;
}

int cor_log_by_rev(struct cor_sqlite_db *db, cor_rev rev, struct cor_kv **ret_kv)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_BY_REV);
    int r;

    if (!st)
        return cor_sqlite_db_err(db);
    sqlite3_bind_int64(st, 1, (int64_t)rev);
    sqlite3_bind_int64(st, 2, SHORT_MAX);
    r = cor_sqlite_db_step(db, st);
    if (r < 0)
        return r;
    r = r == 0 ? cor_sqlite_db_failed(db, SQLITE_CORRUPT) : log_read_row(db, st, rev, ret_kv);
    sqlite3_reset(st);
    return r;
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
