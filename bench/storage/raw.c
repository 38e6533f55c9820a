#include "raw.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <sqlite3.h>

#include "base/mem.h"

struct raw {
    sqlite3 *db;
    sqlite3_stmt *begin, *insert, *commit;
    int64_t rev;
};

/* As src/storage/sqlite/sqlite_db.c has them. */
static const char pragmas[] =
    "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL;"
    "PRAGMA journal_size_limit = 16777216; PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF;"
    "PRAGMA cache_size = -16384";
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS log(rev INTEGER PRIMARY KEY, key TEXT NOT NULL,"
    " create_rev INTEGER NOT NULL, prev_rev INTEGER NOT NULL, lease INTEGER NOT NULL,"
    " dead INTEGER NOT NULL, value BLOB);"
    "CREATE INDEX IF NOT EXISTS log_key ON log(key, rev, dead);"
    "CREATE INDEX IF NOT EXISTS log_lease ON log(lease) WHERE lease <> 0";

static void check(struct raw *raw, int rc, const char *what)
{
    if (rc == SQLITE_OK || rc == SQLITE_DONE || rc == SQLITE_ROW)
        return;
    fprintf(stderr, "raw SQLite: %s: %s\n", what, sqlite3_errmsg(raw->db));
    exit(1);
}

static sqlite3_stmt *prepare(struct raw *raw, const char *sql)
{
    sqlite3_stmt *stmt = NULL;

    check(raw, sqlite3_prepare_v3(raw->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &stmt, NULL), sql);
    return stmt;
}

struct raw *raw_open(const char *dir)
{
    struct raw *raw = cor_calloc(1, sizeof(*raw));
    char path[512];

    if (!raw)
        exit(1);
    mkdir(dir, 0700);
    snprintf(path, sizeof(path), "%s/raw.db", dir);
    check(raw,
          sqlite3_open_v2(path, &raw->db,
                          SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL),
          "open");
    check(raw, sqlite3_exec(raw->db, pragmas, NULL, NULL, NULL), "pragmas");
    check(raw, sqlite3_exec(raw->db, schema, NULL, NULL, NULL), "schema");
    raw->begin = prepare(raw, "BEGIN IMMEDIATE");
    raw->commit = prepare(raw, "COMMIT");
    raw->insert = prepare(raw, "INSERT INTO log(rev, key, create_rev, prev_rev, lease, dead, value)"
                               " VALUES(?1, ?2, ?1, 0, 0, 0, ?3)");
    return raw;
}

void raw_close(struct raw *raw)
{
    sqlite3_finalize(raw->begin);
    sqlite3_finalize(raw->commit);
    sqlite3_finalize(raw->insert);
    sqlite3_close(raw->db);
    cor_free(raw);
}

static void step(struct raw *raw, sqlite3_stmt *stmt, const char *what)
{
    check(raw, sqlite3_step(stmt), what);
    sqlite3_reset(stmt);
}

void raw_insert(struct raw *raw, const struct cor_str *keys, const struct cor_str *values, size_t n)
{
    step(raw, raw->begin, "begin");
    for (size_t i = 0; i < n; i++) {
        sqlite3_bind_int64(raw->insert, 1, ++raw->rev);
        sqlite3_bind_text(raw->insert, 2, keys[i].p, (int)keys[i].n, SQLITE_STATIC);
        sqlite3_bind_blob(raw->insert, 3, values[i].p, (int)values[i].n, SQLITE_STATIC);
        step(raw, raw->insert, "insert");
    }
    step(raw, raw->commit, "commit");
}

size_t raw_read_all(struct raw *raw, uint64_t *ret_bytes)
{
    sqlite3_stmt *stmt = prepare(raw, "SELECT key, MAX(rev), dead, value FROM log GROUP BY key");
    size_t n = 0;

    *ret_bytes = 0;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        n += sqlite3_column_blob(stmt, 3) != NULL;
        *ret_bytes += (uint64_t)sqlite3_column_bytes(stmt, 3);
    }
    sqlite3_finalize(stmt);
    return n;
}
