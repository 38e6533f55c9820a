/* The log table, row by row: one row per write, none ever changed.
 * Thread: the connection's.  Failures are in the connection (cor_sqlite_db_status). */
#ifndef COR_STORAGE_SQLITE_SQLITE_LOG_H
#define COR_STORAGE_SQLITE_SQLITE_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "meta/status/revision.h"
#include "storage/engine/kv.h"
#include "storage/sqlite/sqlite_db.h"

/* The revision of a store without writes. */
#define COR_LOG_FIRST_REV 1

struct cor_log_row {
    cor_rev rev;
    cor_rev create_rev; /* of the key's present life; 0 in a tombstone */
    cor_rev prev_rev;   /* the version this one replaces; 0: a creation */
    int64_t lease;
    bool dead; /* a tombstone; its value is empty */
    struct cor_str key, value;
};

int cor_log_append(struct cor_sqlite_db *db, const struct cor_log_row *row);

/* The version of `key` at `at` (COR_REV_MAX: the latest); NULL when it is absent or deleted. */
int cor_log_get(struct cor_sqlite_db *db, struct cor_str key, cor_rev at, struct cor_kv **ret_kv);

/* The row with that revision as a kv. A row that is not there is -COR_ECORRUPT. */
int cor_log_by_rev(struct cor_sqlite_db *db, cor_rev rev, struct cor_kv **ret_kv);

/* The store's revision. */
int cor_log_rev(struct cor_sqlite_db *db, cor_rev *ret_rev);

/* History before it cannot be read. */
#define COR_LOG_COMPACT_REV "compact_rev"
/* Rows up to it that compaction made unreadable are gone. */
#define COR_LOG_SWEPT_REV "swept_rev"

/* A number in the table `meta`; 0 when it was never set. */
int cor_log_meta(struct cor_sqlite_db *db, const char *name, cor_rev *ret_value);
int cor_log_set_meta(struct cor_sqlite_db *db, const char *name, cor_rev value);

#endif
