/* cor_store_backup(): SQLite's online backup inside one read transaction, so that writes beside it
 * neither show nor make it begin again. */
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "storage/engine/data_dir.h"
#include "storage/engine/maintenance.h"
#include "storage/sqlite/sqlite_log.h"

#define STEP_PAGES 1024

struct progress {
    void (*fn)(void *arg, uint64_t done_bytes, uint64_t total_bytes);
    void *arg;
};

static int copy_pages(struct cor_sqlite_db *from, struct cor_sqlite_db *to,
                      const struct progress *progress)
{
    sqlite3_backup *backup = sqlite3_backup_init(to->db, "main", from->db, "main");
    int rc;

    if (!backup)
        return cor_sqlite_db_failed(to, sqlite3_extended_errcode(to->db));
    do {
        rc = sqlite3_backup_step(backup, STEP_PAGES);
        if (progress->fn && (rc == SQLITE_OK || rc == SQLITE_DONE)) {
            uint64_t total = (uint64_t)sqlite3_backup_pagecount(backup);
            uint64_t left = (uint64_t)sqlite3_backup_remaining(backup);

            progress->fn(progress->arg, (total - left) * COR_SQLITE_PAGE_BYTES,
                         total * COR_SQLITE_PAGE_BYTES);
        }
    } while (rc == SQLITE_OK);
    if (rc != SQLITE_DONE) {
        sqlite3_backup_finish(backup);
        return cor_sqlite_db_failed(to, rc);
    }
    rc = sqlite3_backup_finish(backup);
    return rc == SQLITE_OK ? 0 : cor_sqlite_db_failed(to, rc);
}

static int copy(struct cor_sqlite_db *from, const char *dest, const struct progress *progress,
                struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_sqlite_db_freep) struct cor_sqlite_db *to = NULL;
    cor_rev rev;
    int r = cor_sqlite_db_open(dest, COR_SQLITE_TARGET, &to, reterr_status);

    if (r < 0)
        return r;
    r = cor_sqlite_db_run(from, COR_SQL_BEGIN);
    if (r == 0)
        r = cor_log_rev(from, &rev); /* the read that fixes what the transaction sees */
    if (r < 0)
        return cor_sqlite_db_status(from, r, reterr_status);
    r = copy_pages(from, to, progress);
    cor_sqlite_db_run(from, COR_SQL_COMMIT);
    return r < 0 ? cor_sqlite_db_status(to, r, reterr_status) : 0;
}

int cor_store_backup(const char *dir, const char *dest,
                     void (*on_progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes),
                     void *arg, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_data_dir_freep) struct cor_data_dir *folder = NULL;
    COR_CLEANUP(cor_sqlite_db_freep) struct cor_sqlite_db *from = NULL;
    struct progress progress = {on_progress, arg};
    int r = cor_data_dir_open(dir, true, &folder, reterr_status);

    if (r < 0)
        return r;
    r = cor_sqlite_db_open(cor_data_dir_store(folder), COR_SQLITE_GUEST, &from, reterr_status);
    if (r < 0)
        return r;
    r = cor_data_dir_create_file(dest, true, reterr_status);
    if (r < 0)
        return r;
    r = copy(from, dest, &progress, reterr_status);
    if (r < 0)
        unlink(dest);
    return r;
}
