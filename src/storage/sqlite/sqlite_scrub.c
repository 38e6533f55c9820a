/* cor_store_scrub(): history goes, then SQLite writes the file anew of what is left, so that
 * neither a free page nor the unused end of one keeps a value that is gone; the log is cut to
 * nothing. */
#include "base/err.h"
#include "storage/engine/data_dir.h"
#include "storage/engine/maintenance.h"
#include "storage/sqlite/sqlite_db.h"

/* What a compaction to the newest revision and the sweep after it leave. */
static const char drop_history[] =
    "BEGIN IMMEDIATE;"
    "DELETE FROM log WHERE rev NOT IN (SELECT MAX(rev) FROM log GROUP BY key);"
    "DELETE FROM log WHERE dead AND rev < (SELECT MAX(rev) FROM log);"
    "INSERT OR REPLACE INTO meta SELECT 'compact_rev', rev FROM log ORDER BY rev DESC LIMIT 1;"
    "INSERT OR REPLACE INTO meta SELECT 'swept_rev', rev - dead FROM log ORDER BY rev DESC LIMIT 1;"
    "COMMIT";

/* Readers that look at the old file keep its pages from being overwritten. */
static int cut_log(struct cor_sqlite_db *db)
{
    int rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);

    return rc == SQLITE_OK ? 0 : cor_sqlite_db_failed(db, rc);
}

int cor_store_scrub(const char *dir, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_data_dir_freep) struct cor_data_dir *folder = NULL;
    COR_CLEANUP(cor_sqlite_db_freep) struct cor_sqlite_db *db = NULL;
    int r = cor_data_dir_open(dir, false, &folder, reterr_status);

    if (r < 0)
        return r;
    r = cor_sqlite_db_open(cor_data_dir_store(folder), COR_SQLITE_OWNER, &db, reterr_status);
    if (r < 0)
        return r;
    r = cor_sqlite_db_exec(db, drop_history);
    if (r == 0)
        r = cor_sqlite_db_exec(db, "VACUUM");
    if (r == 0)
        r = cut_log(db);
    return r < 0 ? cor_sqlite_db_status(db, r, reterr_status) : 0;
}
