/* clang-format off */
/* One connection to the store's file: the schema, the text of every statement, and what its user
 * sets a connection to.
 *
 *   OWNER   the engine's writer: makes a new file, WAL, synchronous=FULL; checkpoints run elsewhere
 *   HELPER  readers and the checkpointer of the same process
 *   GUEST   a process that only reads, beside an owner or alone: refuses a file that is not a store
 *   TARGET  the file of a backup: set to nothing
 *
 * The schema is one transaction with the application id and the version, so a process that dies while
 * it makes a file leaves an empty one, which the next process takes for new. Statements are prepared
 * when they are first used and kept until the connection is closed.
 *
 * A failure is kept in the connection (`rc`, `message`) and returned as the error that its code means;
 * the caller adds the path (cor_sqlite_db_status()).
 *
 * Thread: one at a time; connections are opened without a mutex of SQLite's. */
/* clang-format on */
#include "storage/sqlite/sqlite_db.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "coracle/version.h"
#include "storage/sqlite/sqlite_format.h"

#define BUSY_TIMEOUT_MS 5000

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "PRAGMA application_id = 1129271873;"
    "PRAGMA user_version = 1;"
    "CREATE TABLE log(rev INTEGER PRIMARY KEY, key TEXT NOT NULL, create_rev INTEGER NOT NULL,"
    " prev_rev INTEGER NOT NULL, lease INTEGER NOT NULL, dead INTEGER NOT NULL, value BLOB);"
    "CREATE INDEX log_key ON log(key, rev, dead);"
    "CREATE INDEX log_lease ON log(lease) WHERE lease <> 0;"
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "INSERT INTO meta VALUES('format', 2), ('old_rev', 0), ('written_by', '" COR_VERSION "');"
    "CREATE TABLE lease(id INTEGER PRIMARY KEY, expires_wall_ms INTEGER NOT NULL);"
    "CREATE INDEX lease_expiry ON lease(expires_wall_ms);"
    "COMMIT";

_Static_assert(COR_SQLITE_APPLICATION_ID == 1129271873 && COR_SQLITE_SCHEMA_VERSION == 1 &&
                   COR_SQLITE_FORMAT == 2,
               "the schema text carries these numbers");

static const char *const texts[COR_SQL_STATEMENTS] = {
    [COR_SQL_BEGIN] = "BEGIN",
    [COR_SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [COR_SQL_COMMIT] = "COMMIT",
    [COR_SQL_ROLLBACK] = "ROLLBACK",
    [COR_SQL_MAX_REV] = "SELECT MAX(rev) FROM log",
    [COR_SQL_APPEND] = "INSERT INTO log(rev, key, create_rev, prev_rev, lease, dead, value)"
                       " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    [COR_SQL_LATEST] = "SELECT rev, dead, create_rev, lease, value FROM log INDEXED BY log_key"
                       " WHERE key = ?1 AND rev <= ?2 ORDER BY rev DESC LIMIT 1",
    [COR_SQL_BY_REV] = "SELECT create_rev, lease, key, length(value),"
                       " CASE WHEN length(value) <= ?2 THEN value END FROM log WHERE rev = ?1",
    [COR_SQL_KEYS] = "SELECT key, MAX(rev), dead FROM log INDEXED BY log_key"
                     " WHERE key >= ?1 AND key < ?2 AND rev <= ?3 GROUP BY key ORDER BY key",
    [COR_SQL_COUNT] = "SELECT COUNT(*) FROM (SELECT MAX(rev), dead FROM log INDEXED BY log_key"
                      " WHERE key >= ?1 AND key < ?2 AND rev <= ?3 GROUP BY key) WHERE NOT dead",
    [COR_SQL_HISTORY] = "SELECT rev, dead, create_rev, prev_rev, lease, key, value"
                        " FROM log NOT INDEXED WHERE rev > ?1 AND rev <= ?2"
                        " AND key >= ?3 AND key < ?4 ORDER BY rev",
    [COR_SQL_SWEEP] = "SELECT rev, prev_rev, dead FROM log WHERE rev > ?1 AND rev <= ?2"
                      " ORDER BY rev LIMIT ?3",
    [COR_SQL_DELETE] = "DELETE FROM log WHERE rev = ?1",
    [COR_SQL_META_GET] = "SELECT value FROM meta WHERE name = ?1",
    [COR_SQL_META_SET] = "INSERT INTO meta(name, value) VALUES(?1, ?2)"
                         " ON CONFLICT(name) DO UPDATE SET value = ?2",
    [COR_SQL_LEASE_ADD] = "INSERT INTO lease(id, expires_wall_ms) VALUES(?1, ?2)",
    [COR_SQL_LEASE_HAS] = "SELECT 1 FROM lease WHERE id = ?1 AND expires_wall_ms > ?2",
    [COR_SQL_LEASE_FIRST] = "SELECT expires_wall_ms, id FROM lease ORDER BY 1, 2 LIMIT 1",
    [COR_SQL_LEASE_KEYS] = "SELECT rev, key FROM log INDEXED BY log_lease WHERE lease = ?1"
                           " AND lease <> 0 AND rev > ?2 ORDER BY rev LIMIT ?3",
    [COR_SQL_LEASE_DELETE] = "DELETE FROM lease WHERE id = ?1",
    [COR_SQL_PAGE_COUNT] = "PRAGMA page_count",
    [COR_SQL_FREE_COUNT] = "PRAGMA freelist_count",
    [COR_SQL_VACUUM] = "PRAGMA incremental_vacuum(256)",
};

static int db_err_of(int rc)
{
    if (rc == SQLITE_IOERR_NOMEM)
        return -COR_ENOMEM;
    switch (rc & 0xff) {
    case SQLITE_OK:
        return 0;
    case SQLITE_NOMEM:
        return -COR_ENOMEM;
    case SQLITE_FULL:
        return -COR_ENOSPC;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return -COR_EREADONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return -COR_ECORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return -COR_EBUSY;
    case SQLITE_TOOBIG:
        return -COR_ETOOBIG;
    case SQLITE_INTERRUPT:
        return -COR_ECANCELED;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
        return -COR_EIO;
    default:
        return -COR_EINTERNAL;
    }
}

int cor_sqlite_db_failed(struct cor_sqlite_db *db, int rc)
{
    bool own = db->db && sqlite3_extended_errcode(db->db) == rc;
    const char *said = own ? sqlite3_errmsg(db->db) : sqlite3_errstr(rc);
    int e = own ? sqlite3_system_errno(db->db) : 0;

    db->rc = rc;
    if ((rc & 0xff) == SQLITE_IOERR || (rc & 0xff) == SQLITE_CANTOPEN)
        snprintf(db->message, sizeof(db->message), "%s (%d): %s", said, rc,
                 e ? strerror(e) : "no further cause");
    else
        snprintf(db->message, sizeof(db->message), "%s", said);
    return db_err_of(rc);
}

int cor_sqlite_db_err(const struct cor_sqlite_db *db)
{
    return db_err_of(db->rc);
}

int cor_sqlite_db_status(const struct cor_sqlite_db *db, int err, struct cor_status *status)
{
    return cor_status_set(status, err, "%s: %s", db->path, db->message);
}

sqlite3_stmt *cor_sqlite_db_statement(struct cor_sqlite_db *db, enum cor_sql sql)
{
    int rc;

    assert(sql < COR_SQL_STATEMENTS);
    if (db->statements[sql]) {
        sqlite3_reset(db->statements[sql]);
        return db->statements[sql];
    }
    rc = sqlite3_prepare_v3(db->db, texts[sql], -1, SQLITE_PREPARE_PERSISTENT, &db->statements[sql],
                            NULL);
    if (rc != SQLITE_OK)
        cor_sqlite_db_failed(db, rc);
    return db->statements[sql];
}

int cor_sqlite_db_step(struct cor_sqlite_db *db, sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_ROW)
        return 1;
    if (rc != SQLITE_DONE)
        cor_sqlite_db_failed(db, rc);
    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? 0 : db_err_of(rc);
}

int cor_sqlite_db_run(struct cor_sqlite_db *db, enum cor_sql sql)
{
    sqlite3_stmt *statement = cor_sqlite_db_statement(db, sql);
    int r;

    if (!statement)
        return db_err_of(db->rc);
    do
        r = cor_sqlite_db_step(db, statement);
    while (r > 0);
    return r;
}

int cor_sqlite_db_int(struct cor_sqlite_db *db, sqlite3_stmt *statement, int64_t *ret)
{
    int r;

    if (!statement)
        return db_err_of(db->rc);
    r = cor_sqlite_db_step(db, statement);
    if (r < 0)
        return r;
    *ret = r > 0 ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_reset(statement);
    return 0;
}

int cor_sqlite_db_exec(struct cor_sqlite_db *db, const char *sql)
{
    int rc = sqlite3_exec(db->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? 0 : cor_sqlite_db_failed(db, rc);
}

void cor_sqlite_bind_str(sqlite3_stmt *statement, int at, struct cor_str s)
{
    sqlite3_bind_text(statement, at, s.n ? s.p : "", (int)s.n, SQLITE_STATIC);
}

struct cor_str cor_sqlite_column_str(sqlite3_stmt *statement, int at)
{
    const char *p = sqlite3_column_blob(statement, at);

    return cor_str(p ? p : "", (size_t)sqlite3_column_bytes(statement, at));
}

static int db_pragma_int(struct cor_sqlite_db *db, const char *sql, int64_t *ret)
{
    sqlite3_stmt *statement;
    int rc = sqlite3_prepare_v2(db->db, sql, -1, &statement, NULL);
    int r;

    if (rc != SQLITE_OK)
        return cor_sqlite_db_failed(db, rc);
    r = cor_sqlite_db_int(db, statement, ret);
    sqlite3_finalize(statement);
    return r;
}

/* Is the file empty? Refuses a file that is not a store, or one of another version. */
static int db_is_new(struct cor_sqlite_db *db, bool *ret_new, struct cor_status *reterr_status)
{
    int64_t tables = 0, application = 0, version = 0;
    int r = db_pragma_int(db, "SELECT COUNT(*) FROM sqlite_schema", &tables);

    if (r == 0)
        r = db_pragma_int(db, "PRAGMA application_id", &application);
    if (r == 0)
        r = db_pragma_int(db, "PRAGMA user_version", &version);
    if (r < 0)
        return cor_sqlite_db_status(db, r, reterr_status);
    *ret_new = tables == 0 && application == 0 && version == 0;
    if (*ret_new)
        return 0;
    if (application != COR_SQLITE_APPLICATION_ID)
        return cor_status_set(reterr_status, -COR_ESCHEMA,
                              "%s is not a Coracle store: it has application id 0x%llx, expected "
                              "0x%x",
                              db->path, (unsigned long long)application, COR_SQLITE_APPLICATION_ID);
    if (version != COR_SQLITE_SCHEMA_VERSION)
        return cor_status_set(reterr_status, -COR_ESCHEMA,
                              "%s has schema version %lld, expected %d: it was written by another "
                              "version of Coracle",
                              db->path, (long long)version, COR_SQLITE_SCHEMA_VERSION);
    return 0;
}

/* page_size and auto_vacuum have an effect only before the first page is written, and setting
 * journal_mode writes it. secure_delete is on by default in some builds of SQLite, and would write
 * every page that a sweep frees. */
static int db_set_up_owner(struct cor_sqlite_db *db, struct cor_status *reterr_status)
{
    bool memory = strcmp(db->path, ":memory:") == 0;
    bool fresh = false;
    int r = db_is_new(db, &fresh, reterr_status);

    if (r == 0 && !fresh)
        r = cor_sqlite_format_check(db, reterr_status);
    if (r < 0)
        return r;
    if (fresh)
        r = cor_sqlite_db_exec(db, "PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL");
    if (r == 0)
        r = cor_sqlite_db_exec(db, memory ? "PRAGMA journal_mode = MEMORY"
                                          : "PRAGMA journal_mode = WAL;"
                                            "PRAGMA journal_size_limit = 41943040");
    if (r == 0)
        r = cor_sqlite_db_exec(db, "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF;"
                                   "PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -16384");
    if (r == 0 && fresh)
        r = cor_sqlite_db_exec(db, schema);
    return r < 0 ? cor_sqlite_db_status(db, r, reterr_status) : 0;
}

static int db_set_up_guest(struct cor_sqlite_db *db, struct cor_status *reterr_status)
{
    bool fresh = false;
    int r = db_is_new(db, &fresh, reterr_status);

    if (r < 0)
        return r;
    if (fresh)
        return cor_status_set(reterr_status, -COR_ESCHEMA, "%s is empty: no store was made there",
                              db->path);
    r = cor_sqlite_format_check(db, reterr_status);
    if (r < 0)
        return r;
    r = cor_sqlite_db_exec(db, "PRAGMA query_only = ON");
    return r < 0 ? cor_sqlite_db_status(db, r, reterr_status) : 0;
}

static int db_set_up(struct cor_sqlite_db *db, enum cor_sqlite_mode mode,
                     struct cor_status *reterr_status)
{
    int r;

    sqlite3_extended_result_codes(db->db, 1);
    sqlite3_busy_timeout(db->db, BUSY_TIMEOUT_MS);
    if (mode == COR_SQLITE_OWNER)
        return db_set_up_owner(db, reterr_status);
    if (mode == COR_SQLITE_TARGET)
        return 0;
    /* SQLite runs a checkpoint when the last connection closes; only the owner may do that. */
    sqlite3_db_config(db->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (mode == COR_SQLITE_GUEST)
        return db_set_up_guest(db, reterr_status);
    r = cor_sqlite_db_exec(db, "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0;"
                               "PRAGMA cache_size = -4096");
    return r < 0 ? cor_sqlite_db_status(db, r, reterr_status) : 0;
}

/* With SQLite's memory statistics every allocation of every connection takes one global lock. By
 * default every connection also allocates 20 pages at once, and writes into each of them to link
 * them: 87 KB per connection, of which a small store needs a few. Both cannot be turned off any
 * more when the program has used SQLite before, which costs speed and memory only. */
static void db_configure_once(void)
{
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
}

int cor_sqlite_db_open(const char *path, enum cor_sqlite_mode mode, struct cor_sqlite_db **ret_db,
                       struct cor_status *reterr_status)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    COR_CLEANUP(cor_sqlite_db_freep) struct cor_sqlite_db *db = cor_calloc(1, sizeof(*db));
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    int rc, r;

    pthread_once(&once, db_configure_once);
    if (db)
        db->path = cor_strdup(path);
    if (!db || !db->path)
        return cor_status_no_memory(reterr_status);
    rc = sqlite3_open_v2(path, &db->db, flags, NULL);
    if (rc != SQLITE_OK)
        return cor_sqlite_db_status(db, cor_sqlite_db_failed(db, rc), reterr_status);
    r = db_set_up(db, mode, reterr_status);
    if (r < 0)
        return r;
    *ret_db = COR_STEAL(db);
    return 0;
}

struct cor_sqlite_db *cor_sqlite_db_free(struct cor_sqlite_db *db)
{
    if (!db)
        return NULL;
    for (size_t i = 0; i < COR_SQL_STATEMENTS; i++)
        sqlite3_finalize(db->statements[i]);
    sqlite3_close(db->db);
    cor_free(db->path);
    return cor_free(db);
}
