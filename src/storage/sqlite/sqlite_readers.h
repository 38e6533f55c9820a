/* Reader threads: each has a connection of its own and serves ranges and pages of feeds' history. A
 * read begins its transaction after it was asked for, so it sees every acknowledged write.
 * Thread: any.  Owner: the engine. */
#ifndef COR_STORAGE_SQLITE_SQLITE_READERS_H
#define COR_STORAGE_SQLITE_SQLITE_READERS_H

#include <stddef.h>

#include "storage/engine/engine.h"
#include "storage/sqlite/sqlite_db.h"

struct cor_readers;
struct cor_sqlite_feed;

/* Opens the connections and starts the threads. The errors of cor_sqlite_db_open(). */
int cor_readers_new(const char *path, enum cor_sqlite_mode mode, size_t ranges_max,
                    struct cor_readers **ret_readers, struct cor_status *reterr_status);

/* Finishes what was begun, answers waiting ranges with -COR_ECANCELED. No feed may be reading. */
struct cor_readers *cor_readers_free(struct cor_readers *readers);

/* Answers through the request; -COR_EBUSY when too many wait. */
void cor_readers_range(struct cor_readers *readers, struct cor_range_req *req);

/* Reads the feed's next page and gives it back to the engine thread. Feeds are bounded, so this is
 * never refused. */
void cor_readers_feed(struct cor_readers *readers, struct cor_sqlite_feed *feed);

#endif
