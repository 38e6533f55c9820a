/* Reads past changes for a feed, a page at a time. Thread: the connection's. */
#ifndef COR_STORAGE_SQLITE_SQLITE_HISTORY_H
#define COR_STORAGE_SQLITE_SQLITE_HISTORY_H

#include "storage/engine/engine.h"
#include "storage/sqlite/sqlite_db.h"

/* A page's bounds: events in it, bytes of their values, revisions looked at. */
#define COR_HISTORY_EVENTS_MAX 512
#define COR_HISTORY_BYTES_MAX  (4u << 20)
#define COR_HISTORY_REVS_MAX   16384

struct cor_history_page {
    struct cor_feed_event *events; /* own their references */
    size_t nevents, cap;
    cor_rev upto; /* everything up to here is in it */
    int err;
    char message[320];
};

/* Changes to keys in [key, end) after `from`, at most `max`. Returns page->err: 0, or
 * -COR_EEXPIRED, -COR_ENOMEM, -COR_EIO, -COR_ECORRUPT with a message; the page is empty then. */
int cor_history_read(struct cor_sqlite_db *db, struct cor_str key, struct cor_str end, cor_rev from,
                     size_t max, struct cor_history_page *ret_page);

void cor_history_page_deinit(struct cor_history_page *page);

#endif
