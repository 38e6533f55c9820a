/* The record is three rows of the table `meta`. Opening a store:
 *
 *   1. cor_sqlite_format_check() reads format and version, and refuses a newer format before
 *      anything else of the store is read;
 *   2. cor_sqlite_format_open() returns the revision up to which objects may be old: the recorded
 *      one, or for a store without a record its present revision;
 *   3. a process that may write brings the rows up to date in one transaction, when the format is
 *      older or another version of Coracle wrote last.
 *
 * Failures: those of SQLite, with its message; the record is then as it was.
 * Thread: the connection's. */
#include "storage/sqlite/sqlite_format.h"

#include <assert.h>
#include <stdio.h>

#include "coracle/version.h"

#define META_FORMAT     "format"
#define META_OLD_REV    "old_rev"
#define META_WRITTEN_BY "written_by"
#define VERSION_MAX     64

/* A text of the table `meta`; "" when it was never set. */
static int format_read_text(struct cor_sqlite_db *db, const char *name, char ret_text[VERSION_MAX])
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_META_GET);
    int r;

    if (!st)
        return cor_sqlite_db_err(db);
    cor_sqlite_bind_str(st, 1, cor_strz(name));
    r = cor_sqlite_db_step(db, st);
    if (r < 0)
        return r;
    ret_text[0] = '\0';
    if (r > 0)
        snprintf(ret_text, VERSION_MAX, "%.*s", COR_STR_ARG(cor_sqlite_column_str(st, 0)));
    sqlite3_reset(st);
    return 0;
}

static int format_write_version(struct cor_sqlite_db *db)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(db, COR_SQL_META_SET);

    if (!st)
        return cor_sqlite_db_err(db);
    cor_sqlite_bind_str(st, 1, COR_STR(META_WRITTEN_BY));
    cor_sqlite_bind_str(st, 2, COR_STR(COR_VERSION));
    return cor_sqlite_db_step(db, st);
}

/* All three in one transaction: a process that dies leaves the old record or the new one. */
static int format_write(struct cor_sqlite_db *db, cor_rev old_rev)
{
    int r = cor_sqlite_db_run(db, COR_SQL_BEGIN_WRITE);

    if (r < 0)
        return r;
    r = cor_log_set_meta(db, META_FORMAT, COR_SQLITE_FORMAT);
    if (r == 0)
        r = cor_log_set_meta(db, META_OLD_REV, old_rev);
    if (r == 0)
        r = format_write_version(db);
    if (r == 0)
        r = cor_sqlite_db_run(db, COR_SQL_COMMIT);
    if (r < 0)
        (void)sqlite3_exec(db->db, "ROLLBACK", NULL, NULL, NULL);
    return r;
}

int cor_sqlite_format_check(struct cor_sqlite_db *db, struct cor_status *reterr_status)
{
    char written_by[VERSION_MAX] = "";
    cor_rev format = 0;
    int r = cor_log_meta(db, META_FORMAT, &format);

    if (r == 0)
        r = format_read_text(db, META_WRITTEN_BY, written_by);
    if (r < 0)
        return cor_sqlite_db_status(db, r, reterr_status);
    if (format <= COR_SQLITE_FORMAT)
        return 0;
    return cor_status_set(reterr_status, -COR_ESCHEMA,
                          "%s has format %llu and was written by coracle %s; this is coracle %s, "
                          "which reads formats up to %d",
                          db->path, (unsigned long long)format, written_by, COR_VERSION,
                          COR_SQLITE_FORMAT);
}

int cor_sqlite_format_get(struct cor_sqlite_db *db, unsigned *ret_format)
{
    cor_rev format = 0;
    int r = cor_log_meta(db, META_FORMAT, &format);

    assert(r < 0 || format <= COR_SQLITE_FORMAT);
    *ret_format = format > 0 ? (unsigned)format : 1;
    return r;
}

int cor_sqlite_format_open(struct cor_sqlite_db *db, bool read_only, cor_rev rev,
                           cor_rev *ret_old_rev, struct cor_status *reterr_status)
{
    char written_by[VERSION_MAX] = "";
    cor_rev format = 0;
    int r = cor_log_meta(db, META_FORMAT, &format);

    if (r == 0)
        r = format_read_text(db, META_WRITTEN_BY, written_by);
    *ret_old_rev = rev;
    if (r == 0 && format == COR_SQLITE_FORMAT)
        r = cor_log_meta(db, META_OLD_REV, ret_old_rev);
    if (r == 0 && !read_only &&
        (format < COR_SQLITE_FORMAT || !cor_str_eqz(COR_STR(COR_VERSION), written_by)))
        r = format_write(db, *ret_old_rev);
    return r < 0 ? cor_sqlite_db_status(db, r, reterr_status) : 0;
}
