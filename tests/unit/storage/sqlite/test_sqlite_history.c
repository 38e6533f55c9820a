#include "storage/sqlite/sqlite_history.h"

#include <stdio.h>

#include "base/mem.h"
#include "storage/sqlite/sqlite_log.h"
#include "storage/sqlite/sqlite_range.h"
#include "test.h"

static struct cor_sqlite_db *filled(size_t rows)
{
    struct cor_sqlite_db *db;

    assert_int_equal(cor_sqlite_db_open(":memory:", COR_SQLITE_OWNER, &db, NULL), 0);
    assert_int_equal(cor_sqlite_db_run(db, COR_SQL_BEGIN_WRITE), 0);
    for (size_t i = 0; i < rows; i++) {
        struct cor_log_row row = {
            .rev = i + 2,
            .create_rev = 2 + i % 2,
            .prev_rev = i < 2 ? 0 : i,
            .key = i % 2 ? COR_STR("/b") : COR_STR("/a"),
            .value = COR_STR("v"),
        };

        assert_int_equal(cor_log_append(db, &row), 0);
    }
    assert_int_equal(cor_sqlite_db_run(db, COR_SQL_COMMIT), 0);
    return db;
}

TEST(sqlite_history, a_full_page_ends_at_its_last_event)
{
    struct cor_sqlite_db *db = filled(100);
    struct cor_history_page page;

    assert_int_equal(cor_history_read(db, COR_STR("/a"), COR_STR("/b"), 1, 10, &page), 0);
    assert_int_equal(page.nevents, 10);
    assert_int_equal(page.upto, 20);
    assert_null(page.events[0].prev);
    assert_int_equal(page.events[1].prev->mod_rev, 2);
    cor_history_page_deinit(&page);
    cor_sqlite_db_free(db);
}

TEST(sqlite_history, a_page_that_is_not_full_reaches_the_newest_revision)
{
    struct cor_sqlite_db *db = filled(100);
    struct cor_history_page page;

    assert_int_equal(cor_history_read(db, COR_STR("/a"), COR_STR("/b"), 90, SIZE_MAX, &page), 0);
    assert_int_equal(page.nevents, 5);
    assert_int_equal(page.upto, 101);
    cor_history_page_deinit(&page);
    assert_int_equal(cor_history_read(db, COR_STR("/c"), COR_STR("/d"), 1, SIZE_MAX, &page), 0);
    assert_int_equal(page.nevents, 0);
    assert_int_equal(page.upto, 101);
    cor_history_page_deinit(&page);
    cor_sqlite_db_free(db);
}

TEST(sqlite_history, a_page_looks_at_a_bounded_stretch_of_revisions)
{
    struct cor_sqlite_db *db = filled(COR_HISTORY_REVS_MAX + 500);
    struct cor_history_page page;

    assert_int_equal(cor_history_read(db, COR_STR("/c"), COR_STR("/d"), 1, SIZE_MAX, &page), 0);
    assert_int_equal(page.nevents, 0);
    assert_int_equal(page.upto, 1 + COR_HISTORY_REVS_MAX);
    cor_history_page_deinit(&page);
    cor_sqlite_db_free(db);
}

TEST(sqlite_history, is_empty_when_memory_runs_out)
{
    struct cor_sqlite_db *db = filled(40);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_history_page page;
        int r = cor_history_read(db, COR_STR("/a"), COR_STR("/c"), 1, SIZE_MAX, &page);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        assert_int_equal(page.nevents, r < 0 ? 0 : 40);
        cor_history_page_deinit(&page);
    }
    cor_sqlite_db_free(db);
}

TEST(sqlite_range, fails_whole_when_memory_runs_out)
{
    struct cor_sqlite_db *db = filled(40);

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_range_req req;
        int r;

        cor_range_req_init(&req, NULL, NULL);
        req.key = COR_STR("/");
        req.end = COR_STR("0");
        r = cor_sqlite_range(db, &req);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            assert_int_equal(req.ret_nkvs, 2);
        cor_range_req_deinit(&req);
    }
    cor_sqlite_db_free(db);
}
