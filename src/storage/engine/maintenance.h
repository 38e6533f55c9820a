/* Maintenance of a store on disk: a check, a backup, and a purge of everything that was deleted.
 * The first two work beside a process that holds the store, change nothing in it, and see it at one
 * revision; the third holds the store.
 * Thread: any; they block for as long as it takes. */
#ifndef COR_STORAGE_MAINTENANCE_H
#define COR_STORAGE_MAINTENANCE_H

#include <stdint.h>

#include "meta/status/revision.h"
#include "meta/status/status.h"

/* What a check saw. */
struct cor_store_summary {
    cor_rev rev, compact_rev;
    uint64_t keys; /* that exist now */
    uint64_t rows; /* versions and tombstones, history included */
    uint64_t leases;
    uint64_t file_bytes;
    uint64_t findings; /* faults; at most the first 100 are told one by one */
};

/* Reads everything once. 0: sound; -COR_ECORRUPT: it is not, or not a database, and `on_finding`
 * was called for each fault; -COR_ENOTFOUND, -COR_ESCHEMA, -COR_EIO, -COR_ENOMEM: it could not be
 * read. The summary is filled for 0 and for findings. */
int cor_store_check(const char *dir, void (*on_finding)(void *arg, const char *finding), void *arg,
                    struct cor_store_summary *ret_summary, struct cor_status *reterr_status);

/* Copies the store to the new file `dest` (mode 0600), which is a whole store.db: put under that
 * name into an empty folder it is the store again. `on_progress` may be NULL. -COR_EEXIST (`dest`
 * is never overwritten), -COR_ENOTFOUND, -COR_ENOSPC, -COR_EREADONLY, -COR_EIO, -COR_ENOMEM; `dest`
 * is removed then. */
int cor_store_backup(const char *dir, const char *dest,
                     void (*on_progress)(void *arg, uint64_t done_bytes, uint64_t total_bytes),
                     void *arg, struct cor_status *reterr_status);

/* Drops all history and writes the file anew, so that no byte of an old value is left in the
 * store's files (what the disk below keeps is another matter). The revision stays. Needs room for a
 * copy beside it and for one in SQLite's folder for temporary files. A folder without a store
 * becomes an empty one. -COR_ELOCKED, -COR_ESCHEMA, -COR_ECORRUPT, -COR_EBUSY (somebody reads the
 * old state: try again), -COR_ENOSPC, -COR_EREADONLY, -COR_EIO, -COR_ENOMEM; the store is whole
 * then too. */
int cor_store_scrub(const char *dir, struct cor_status *reterr_status);

#endif
