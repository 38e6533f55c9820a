/* A page of history: the rows of the log after a revision, in one read transaction, so that the
 * page is consistent while the writer goes on.
 *
 * The page ends at the first of four bounds: the feed's credit, COR_HISTORY_EVENTS_MAX events,
 * COR_HISTORY_BYTES_MAX bytes of values, COR_HISTORY_REVS_MAX revisions. The last one bounds the
 * time of a page for a range in which little happens: such a page may have no event and still move
 * the feed on, because `upto` says how far it has looked. A revision writes one key, so a page
 * never splits one.
 *
 * A start below the compacted revision is -COR_EEXPIRED; the mark is read in the same transaction
 * as the rows, so no row that the page needs can be swept away meanwhile. Any failure leaves an
 * empty page with `err` and `message`.
 *
 * Thread: the one that has the connection. */
#include "storage/sqlite/sqlite_history.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "storage/sqlite/sqlite_log.h"

struct reading {
    struct cor_sqlite_db *db;
    struct cor_history_page *page;
    size_t max;
    size_t bytes;
};

static void release_events(struct cor_history_page *page)
{
    for (size_t i = 0; i < page->nevents; i++) {
        cor_kv_unref(page->events[i].kv);
        cor_kv_unref(page->events[i].prev);
    }
    page->nevents = 0;
}

void cor_history_page_deinit(struct cor_history_page *page)
{
    release_events(page);
    page->events = cor_free(page->events);
    page->cap = 0;
}

static int page_grow(struct reading *rd)
{
    struct cor_history_page *page = rd->page;

    if (COR_ARRAY_RESERVE(&page->events, page->nevents, &page->cap, COR_ARRAY_NO_MAX) < 0)
        return cor_sqlite_db_failed(rd->db, SQLITE_NOMEM);
    return 0;
}

/* The columns are those of COR_SQL_HISTORY. The previous version is a second look-up, by revision.
 */
static int page_add_row(struct reading *rd, sqlite3_stmt *st)
{
    struct cor_feed_event event = {.deleted = sqlite3_column_int(st, 1) != 0};
    cor_rev rev = (cor_rev)sqlite3_column_int64(st, 0);
    cor_rev prev_rev = (cor_rev)sqlite3_column_int64(st, 3);
    int r = page_grow(rd);

    if (r < 0)
        return r;
    if (prev_rev) {
        r = cor_log_by_rev(rd->db, prev_rev, &event.prev);
        if (r < 0)
            return r;
    }
    event.kv = cor_kv_new(cor_sqlite_column_str(st, 5), cor_sqlite_column_str(st, 6),
                          (cor_rev)sqlite3_column_int64(st, 2), rev, sqlite3_column_int64(st, 4));
    if (!event.kv) {
        cor_kv_unref(event.prev);
        return cor_sqlite_db_failed(rd->db, SQLITE_NOMEM);
    }
    rd->page->events[rd->page->nevents++] = event;
    rd->bytes += event.kv->value_len + (event.prev ? event.prev->value_len : 0);
    rd->page->upto = rev;
    return 0;
}

/* A full page is complete up to its last event, any other page up to `last`. */
static int page_read_rows(struct reading *rd, struct cor_str key, struct cor_str end, cor_rev from,
                          cor_rev last)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(rd->db, COR_SQL_HISTORY);
    bool full = false;
    int r = 0;

    if (!st)
        return cor_sqlite_db_err(rd->db);
    sqlite3_bind_int64(st, 1, (int64_t)from);
    sqlite3_bind_int64(st, 2, (int64_t)last);
    cor_sqlite_bind_str(st, 3, key);
    cor_sqlite_bind_str(st, 4, end);
    while (!full && (r = cor_sqlite_db_step(rd->db, st)) > 0) {
        r = page_add_row(rd, st);
        if (r < 0)
            break;
        full = rd->page->nevents >= rd->max || rd->bytes >= COR_HISTORY_BYTES_MAX;
    }
    sqlite3_reset(st);
    if (r < 0)
        return r;
    if (!full)
        rd->page->upto = last;
    return 0;
}

static int page_read(struct reading *rd, struct cor_str key, struct cor_str end, cor_rev from)
{
    struct cor_history_page *page = rd->page;
    cor_rev now, compacted;
    int r = cor_log_rev(rd->db, &now);

    if (r == 0)
        r = cor_log_meta(rd->db, COR_LOG_COMPACT_REV, &compacted);
    if (r == 0 && from < compacted) {
        snprintf(page->message, sizeof(page->message),
                 "revision %llu has been compacted, the oldest is %llu", (unsigned long long)from,
                 (unsigned long long)compacted);
        return -COR_EEXPIRED;
    }
    if (r == 0)
        r = page_read_rows(rd, key, end, from,
                           now - from > COR_HISTORY_REVS_MAX ? from + COR_HISTORY_REVS_MAX : now);
    if (r < 0)
        snprintf(page->message, sizeof(page->message), "%s: %s", rd->db->path, rd->db->message);
    return r;
}

int cor_history_read(struct cor_sqlite_db *db, struct cor_str key, struct cor_str end, cor_rev from,
                     size_t max, struct cor_history_page *ret_page)
{
    struct reading rd = {
        .db = db,
        .page = ret_page,
        .max = max < COR_HISTORY_EVENTS_MAX ? max : COR_HISTORY_EVENTS_MAX,
    };
    int r;

    assert(max > 0);
    memset(ret_page, 0, sizeof(*ret_page));
    r = cor_sqlite_db_run(db, COR_SQL_BEGIN);
    if (r < 0) {
        snprintf(ret_page->message, sizeof(ret_page->message), "%s: %s", db->path, db->message);
        return ret_page->err = r;
    }
    r = page_read(&rd, key, end, from);
    cor_sqlite_db_run(db, COR_SQL_COMMIT);
    if (r < 0)
        cor_history_page_deinit(ret_page);
    return ret_page->err = r;
}
