/* clang-format off */
/* Feeds of the SQLite engine: who gets which change, and how one that is behind catches up.
 *
 *   NEW ──► LIVE ◄──► BEHIND ◄──► READING        any but READING ──► closed
 *    └────────┴─────────┴────────────┴──► BROKEN
 *
 * LIVE: everything up to the engine's revision was delivered. BEHIND: everything up to `pos` was;
 * it is in the engine's list `behind` unless it has no credit. READING: a reader has its page.
 * Thread: the engine's, except for cor_sqlite_feed_open().  Owner: the engine. */
/* clang-format on */
#ifndef COR_STORAGE_SQLITE_SQLITE_FEED_H
#define COR_STORAGE_SQLITE_SQLITE_FEED_H

#include "storage/engine/feed.h"
#include "storage/sqlite/sqlite_engine_int.h"
#include "storage/sqlite/sqlite_history.h"

enum cor_feed_state {
    COR_FEED_NEW,
    COR_FEED_LIVE,
    COR_FEED_BEHIND,
    COR_FEED_READING,
    COR_FEED_BROKEN
};

struct cor_sqlite_feed {
    struct cor_feed base;
    struct cor_sqlite_engine *engine;

    struct cor_dlist command; /* in feed_commands; under the engine's lock */

    /* The engine thread's. */
    enum cor_feed_state state;
    bool indexed, closing;
    struct cor_dlist link; /* in `behind` */

    /* The reader's while READING. */
    struct cor_dlist job; /* in the readers' queue, then in feed_pages */
    struct cor_history_page page;
    size_t page_max;
};

int cor_sqlite_feed_open(struct cor_engine *engine, const struct cor_feed_opts *opts,
                         struct cor_feed **ret_feed);

/* Does what feeds were told, and takes the pages that readers brought. */
void cor_feeds_commands(struct cor_sqlite_engine *e);

/* Hands the batch's changes to live feeds. */
void cor_feeds_publish(struct cor_sqlite_engine *e);

/* Reads on for feeds that are behind, up to a bound. True: there is more to do. */
bool cor_feeds_turn(struct cor_sqlite_engine *e);

/* On a reader's thread: reads the feed's page and gives it back. */
void cor_feed_read_page(struct cor_sqlite_feed *feed, struct cor_sqlite_db *db);

#endif
