/* Reads a range request on a connection. Thread: the connection's. */
#ifndef COR_STORAGE_SQLITE_SQLITE_RANGE_H
#define COR_STORAGE_SQLITE_SQLITE_RANGE_H

#include "storage/engine/engine.h"
#include "storage/sqlite/sqlite_db.h"

/* Fills the request's results in one read transaction, or its status. Returns its result: 0, or
 * -COR_EEXPIRED, -COR_EFUTURE, -COR_ENOMEM, -COR_EIO, -COR_ECORRUPT. */
int cor_sqlite_range(struct cor_sqlite_db *db, struct cor_range_req *req);

#endif
