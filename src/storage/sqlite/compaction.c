#include "storage/sqlite/engine_int.h"
#include "storage/sqlite/log.h"

/* Rows that one step looks at: a writer waits for one step at most. */
#define STEP_ROWS 128
/* Free pages stay for the next writes until they are this many, and an eighth of the file. */
#define FREE_PAGES_KEPT 256

struct step {
    cor_rev revs[STEP_ROWS];
    cor_rev prevs[STEP_ROWS];
    bool dead[STEP_ROWS];
    size_t n;
};

static int collect(struct cor_sqlite_engine *e, struct step *step)
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

static int delete_row(struct cor_sqlite_engine *e, cor_rev rev)
{
    sqlite3_stmt *st = cor_sqlite_db_statement(e->db, COR_SQL_DELETE);

    if (!st)
        return cor_sqlite_db_err(e->db);
    sqlite3_bind_int64(st, 1, (int64_t)rev);
    return cor_sqlite_db_step(e->db, st);
}

/* The newest row holds the store's revision: it stays, even a tombstone, until a newer one comes.
 */
static int sweep_rows(struct cor_sqlite_engine *e, const struct step *step, cor_rev *ret_swept)
{
    cor_rev swept = step->n < STEP_ROWS ? e->compact_rev : step->revs[step->n - 1];
    int r = 0;

    for (size_t i = 0; i < step->n && r == 0; i++) {
        if (step->prevs[i])
            r = delete_row(e, step->prevs[i]);
        if (r == 0 && step->dead[i] && step->revs[i] == e->rev)
            swept = e->rev - 1;
        else if (r == 0 && step->dead[i])
            r = delete_row(e, step->revs[i]);
    }
    *ret_swept = swept;
    return r;
}

static int sweep(struct cor_sqlite_engine *e)
{
    struct step step = {.n = 0};
    cor_rev swept = e->swept_rev;
    int r = cor_sqlite_db_run(e->db, COR_SQL_BEGIN_WRITE);

    if (r < 0)
        return r;
    r = collect(e, &step);
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

static int vacuum(struct cor_sqlite_engine *e)
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

static bool sweeps(const struct cor_sqlite_engine *e)
{
    return e->swept_rev < e->compact_rev && !e->sweep_waits;
}

bool cor_compaction_step(struct cor_sqlite_engine *e)
{
    int r = 0;

    if (e->failure < 0 || e->read_only)
        return false;
    if (sweeps(e))
        r = sweep(e);
    else if (e->vacuuming)
        r = vacuum(e);
    if (r < 0) {
        cor_sqlite_engine_failed(e, r);
        /* A full disk passes; the next commit tries again. */
        e->sweep_waits = true;
        e->vacuuming = false;
    }
    return sweeps(e) || e->vacuuming;
}
