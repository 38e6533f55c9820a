/* clang-format off */
/* The record of what wrote a store: its format and the version of Coracle, in the table `meta`.
 *
 *   1   no record: objects are as clients sent them, without defaults
 *   2   objects that are written follow the schema (normalised, with defaults). `old_rev` is the
 *       revision up to which there may be objects of format 1
 *
 * An older store is read, and its record is brought up to date by the first process that writes to
 * it; a newer one is refused. A backup is a copy of the file, so it has the record.
 * Thread: the connection's. */
/* clang-format on */
#ifndef COR_STORAGE_SQLITE_SQLITE_FORMAT_H
#define COR_STORAGE_SQLITE_SQLITE_FORMAT_H

#include "storage/sqlite/sqlite_log.h"

#define COR_SQLITE_FORMAT 2

/* Refuses a store of a newer format: -COR_ESCHEMA, and the message names both formats and versions.
 * Also what the store fails with. Every process that opens a store calls this. */
int cor_sqlite_format_check(struct cor_sqlite_db *db, struct cor_status *reterr_status);

/* The format of the store as it is recorded; 1 without a record. 0, or what the store fails with.
 */
int cor_sqlite_format_get(struct cor_sqlite_db *db, unsigned *ret_format);

/* Brings the record of a store at revision `rev` up to date, unless `read_only`. `ret_old_rev`:
 * values up to this revision may be of format 1; 0: none is. 0, or what the store fails with. */
int cor_sqlite_format_open(struct cor_sqlite_db *db, bool read_only, cor_rev rev,
                           cor_rev *ret_old_rev, struct cor_status *reterr_status);

#endif
