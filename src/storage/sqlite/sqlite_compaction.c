/* Removes what compaction made unreadable, one small transaction between two batches:
 *
 *   1. sweep: the rows in (swept_rev, compact_rev], STEP_ROWS at a time. Such a row makes the row
 *      before it of the same key unreadable, which is deleted; a tombstone is deleted too.
 *   2. vacuum: when the sweep is done and many pages of the file are free, some are released to
 *      the file system, step by step.
 *
 * `swept_rev` is written in the same transaction as the deletions, so a crash repeats no step and
 * skips none. A step that fails is rolled back and tried again after the next commit, because a
 * full disk passes; a failure that lasts ends all writing (sqlite_engine.c).
 *
 * Thread: the engine's. */
#include <assert.h>

#include "storage/sqlite/sqlite_engine_int.h"
#include "storage/sqlite/sqlite_log.h"

/* One step reads at most this many rows, because a writer may have to wait for it. */
#define STEP_ROWS 128
/* Free pages are kept for the next writes, up to this many or an eighth of the file. */
#define FREE_PAGES_KEPT 256

struct step {
    cor_rev revs[STEP_ROWS];
    cor_rev prevs[STEP_ROWS];
    bool dead[STEP_ROWS];
    size_t n;
};

static int sweep_collect(struct cor_sqlite_engine *e, struct step *step)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(e->db, COR_SQL_SWEEP);
    int r;

    if (!st)
        return cor_sqlite_db_err(e->db);
    sqlite3_bind_int64(st, 1, (int64_t)e->swept_rev);
    sqlite3_bind_int64(st, 2, (int64_t)e->compact_rev);
    sqlite3_bind_int64(st, 3, STEP_ROWS);
    while ((r = cor_sqlite_db_step(e->db, st)) > 0) {
        step->revs[step->n] = (cor_rev)sqlite3_column_int64(st, 0);
        step->prevs[step->n] = (cor_rev)sqlite3_column_int64(st, 1);
        step->dead[step->n++] = sqlite3_column_int(st, 2) != 0;
    }
    return r;
}

static int sweep_delete_row(struct cor_sqlite_engine *e, cor_rev rev)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(e->db, COR_SQL_DELETE);

    if (!st)
        return cor_sqlite_db_err(e->db);
    sqlite3_bind_int64(st, 1, (int64_t)rev);
    return cor_sqlite_db_step(e->db, st);
}

/* The store's revision is that of its newest row. So the newest row stays even if it is a
 * tombstone, and the sweep stops before it until a newer row comes. */
static int sweep_rows(struct cor_sqlite_engine *e, const struct step *step, cor_rev *ret_swept)
{
    cor_rev swept = step->n < STEP_ROWS ? e->compact_rev : step->revs[step->n - 1];
    int r = 0;

    for (size_t i = 0; i < step->n && r == 0; i++) {
        if (step->prevs[i])
            r = sweep_delete_row(e, step->prevs[i]);
        if (r == 0 && step->dead[i] && step->revs[i] == e->rev)
            swept = e->rev - 1;
        else if (r == 0 && step->dead[i])
            r = sweep_delete_row(e, step->revs[i]);
    }
    *ret_swept = swept;
    return r;
}

static int sweep_run(struct cor_sqlite_engine *e)
{
    struct step step = {.n = 0};
    cor_rev swept = e->swept_rev;
    int r = cor_sqlite_db_run(e->db, COR_SQL_BEGIN_WRITE);

    assert(e->nchanges == 0 && e->swept_rev < e->compact_rev);
    if (r < 0)
        return r;
    r = sweep_collect(e, &step);
    if (r == 0)
        r = sweep_rows(e, &step, &swept);
    if (r == 0)
        r = cor_log_set_meta(e->db, COR_LOG_SWEPT_REV, swept);
    if (r == 0)
        r = cor_sqlite_db_run(e->db, COR_SQL_COMMIT);
    if (r < 0)
        return r;
    e->sweep_waits = swept < e->compact_rev && swept == e->rev - 1;
    e->vacuuming = swept == e->compact_rev || e->sweep_waits;
    e->swept_rev = swept;
    return 0;
}

static int vacuum_run(struct cor_sqlite_engine *e)
{
    int64_t pages = 0, free_pages = 0;
    int r = cor_sqlite_db_int(e->db, cor_sqlite_db_statement(e->db, COR_SQL_PAGE_COUNT), &pages);

    if (r == 0)
        r = cor_sqlite_db_int(e->db, cor_sqlite_db_statement(e->db, COR_SQL_FREE_COUNT),
                              &free_pages);
    if (r < 0)
        return r;
    if (free_pages <= FREE_PAGES_KEPT || free_pages <= pages / 8) {
        e->vacuuming = false;
        return 0;
    }
    return cor_sqlite_db_run(e->db, COR_SQL_VACUUM);
}

static bool sweep_is_due(const struct cor_sqlite_engine *e)
{
    return e->swept_rev < e->compact_rev && !e->sweep_waits;
}

bool cor_compaction_step(struct cor_sqlite_engine *e)
{
    int r = 0;

    if (e->failure < 0 || e->read_only)
        return false;
    if (sweep_is_due(e))
        r = sweep_run(e);
    else if (e->vacuuming)
        r = vacuum_run(e);
    if (r < 0) {
        cor_sqlite_engine_failed(e, r);
        /* The next commit resets sweep_waits, and the sweep is tried again. */
        e->sweep_waits = true;
        e->vacuuming = false;
    }
    return sweep_is_due(e) || e->vacuuming;
}
