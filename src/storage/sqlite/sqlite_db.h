/* One SQLite connection to a store, with the statements it has prepared so far. What went wrong
 * last is kept here until it goes into a request's status. Thread: one at a time.  Owner: its
 * maker. */
#ifndef COR_STORAGE_SQLITE_SQLITE_DB_H
#define COR_STORAGE_SQLITE_SQLITE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "meta/status/status.h"

/* The schema. Every write is one row; see docs/internals/sqlite-engine.md. */
#define COR_SQLITE_APPLICATION_ID 0x434f5241 /* "CORA" */
#define COR_SQLITE_SCHEMA_VERSION 1
#define COR_SQLITE_PAGE_BYTES     4096

enum cor_sql {
    COR_SQL_BEGIN,
    COR_SQL_BEGIN_WRITE,
    COR_SQL_COMMIT,
    COR_SQL_ROLLBACK,
    COR_SQL_MAX_REV,
    COR_SQL_APPEND,
    COR_SQL_LATEST,
    COR_SQL_BY_REV,
    COR_SQL_KEYS,
    COR_SQL_COUNT,
    COR_SQL_HISTORY,
    COR_SQL_SWEEP,
    COR_SQL_DELETE,
    COR_SQL_META_GET,
    COR_SQL_META_SET,
    COR_SQL_LEASE_ADD,
    COR_SQL_LEASE_HAS,
    COR_SQL_LEASE_FIRST,
    COR_SQL_LEASE_KEYS,
    COR_SQL_LEASE_DELETE,
    COR_SQL_PAGE_COUNT,
    COR_SQL_FREE_COUNT,
    COR_SQL_VACUUM,
    COR_SQL_STATEMENTS
};

enum cor_sqlite_mode {
    COR_SQLITE_OWNER,  /* the writer: makes or checks the schema */
    COR_SQLITE_HELPER, /* another connection of the owner: readers, checkpoints */
    COR_SQLITE_GUEST,  /* beside an owner, or without one: changes nothing */
    COR_SQLITE_TARGET, /* an empty file that a backup fills */
};

struct cor_sqlite_db {
    sqlite3 *db;
    char *path;
    sqlite3_stmt *statements[COR_SQL_STATEMENTS];
    int rc;            /* SQLite's extended code of the last failure */
    char message[256]; /* what it said */
};

/* `path` may be ":memory:" for an owner. -COR_ESCHEMA, -COR_ECORRUPT, -COR_EREADONLY, -COR_ENOSPC,
 * -COR_EIO, -COR_ENOMEM; the message names the file. */
int cor_sqlite_db_open(const char *path, enum cor_sqlite_mode mode, struct cor_sqlite_db **ret_db,
                       struct cor_status *reterr_status);
struct cor_sqlite_db *cor_sqlite_db_free(struct cor_sqlite_db *db);
COR_DEFINE_CLEANUP(struct cor_sqlite_db, cor_sqlite_db_free)

/* The prepared statement, reset, without bindings to keep; NULL: the failure is in db->rc. */
sqlite3_stmt *cor_sqlite_db_statement(struct cor_sqlite_db *db, enum cor_sql sql);

/* 1: a row, 0: done, negative: failed and reset. */
int cor_sqlite_db_step(struct cor_sqlite_db *db, sqlite3_stmt *statement);

/* Runs a statement without parameters or rows to its end. */
int cor_sqlite_db_run(struct cor_sqlite_db *db, enum cor_sql sql);

/* The first column of the first row, 0 when there is none. */
int cor_sqlite_db_int(struct cor_sqlite_db *db, sqlite3_stmt *statement, int64_t *ret);

/* One or more statements as text, rows thrown away. */
int cor_sqlite_db_exec(struct cor_sqlite_db *db, const char *sql);

/* The text is borrowed until the statement is stepped or reset again. */
void cor_sqlite_bind_str(sqlite3_stmt *statement, int at, struct cor_str s);
struct cor_str cor_sqlite_column_str(sqlite3_stmt *statement, int at);

/* The last failure as a negative COR_E…. */
int cor_sqlite_db_err(const struct cor_sqlite_db *db);

/* Keeps `rc` as the connection's failure; returns it as a negative COR_E…. */
int cor_sqlite_db_failed(struct cor_sqlite_db *db, int rc);

/* Fills `status` from the last failure, as `<file>: <what SQLite said>`; returns `err`. */
int cor_sqlite_db_status(const struct cor_sqlite_db *db, int err, struct cor_status *status);

#endif
