/* The connection's statements are static: the file under test is included. */
#include "storage/sqlite/sqlite_db.c" /* NOLINT(bugprone-suspicious-include) */

#include <fcntl.h>
#include <unistd.h>

#include "test.h"

static struct cor_sqlite_db *open_owner(const char *path)
{
    struct cor_sqlite_db *db = NULL;

    if (cor_sqlite_db_open(path, COR_SQLITE_OWNER, &db, NULL) < 0)
        abort();
    return db;
}

static void assert_plan(struct cor_sqlite_db *db, const char *sql)
{
    char text[1024];
    sqlite3_stmt *st = NULL;

    snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", sql);
    assert_int_equal(sqlite3_prepare_v2(db->db, text, -1, &st, NULL), SQLITE_OK);
    while (sqlite3_step(st) == SQLITE_ROW) {
        const char *detail = (const char *)sqlite3_column_text(st, 3);

        if (strstr(detail, "TEMP B-TREE") || strstr(detail, "SCAN log") ||
            strstr(detail, "AUTOMATIC"))
            fail_msg("%s: %s", sql, detail);
    }
    sqlite3_finalize(st);
}

TEST(sqlite_db, no_statement_sorts_or_scans_the_log)
{
    struct cor_sqlite_db *db = open_owner(":memory:");

    for (size_t i = 0; i < COR_SQL_STATEMENTS; i++)
        assert_plan(db, texts[i]);
    cor_sqlite_db_free(db);
}

TEST(sqlite_db, the_keys_of_a_range_come_from_the_index_alone)
{
    struct cor_sqlite_db *db = open_owner(":memory:");
    sqlite3_stmt *st = NULL;
    char text[1024];

    snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", texts[COR_SQL_KEYS]);
    assert_int_equal(sqlite3_prepare_v2(db->db, text, -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 3),
                        "SEARCH log USING COVERING INDEX log_key (key>? AND key<?)");
    assert_int_equal(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
    cor_sqlite_db_free(db);
}

TEST(sqlite_db, the_file_is_a_log_in_wal_mode_that_can_shrink)
{
    static const struct {
        const char *pragma;
        int64_t want;
    } numbers[] = {
        {"PRAGMA application_id", 0x434f5241},
        {"PRAGMA user_version", 1},
        {"PRAGMA page_size", 4096},
        {"PRAGMA auto_vacuum", 2},
        {"PRAGMA synchronous", 2},
        {"PRAGMA wal_autocheckpoint", 0},
    };
    char path[128];
    struct cor_sqlite_db *db;
    sqlite3_stmt *st = NULL;
    int64_t value = 0;

    snprintf(path, sizeof(path), "%s/store.db", test_tmpdir());
    fclose(fopen(path, "w"));
    db = open_owner(path);
    for (size_t i = 0; i < COR_ARRAY_LEN(numbers); i++) {
        assert_int_equal(db_pragma_int(db, numbers[i].pragma, &value), 0);
        assert_int_equal(value, numbers[i].want);
    }
    assert_int_equal(sqlite3_prepare_v2(db->db, "PRAGMA journal_mode", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "wal");
    sqlite3_finalize(st);
    cor_sqlite_db_free(db);
}

TEST(sqlite_db, opens_a_file_behind_a_linked_folder)
{
    struct cor_sqlite_db *db;
    char link[128], path[160], file[160];
    const char *real = test_tmpdir();

    snprintf(link, sizeof(link), "%s/link", test_tmpdir());
    snprintf(path, sizeof(path), "%s/store.db", link);
    snprintf(file, sizeof(file), "%s/store.db", real);
    assert_int_equal(symlink(real, link), 0);
    fclose(fopen(file, "w"));
    db = open_owner(path);
    cor_sqlite_db_free(db);
}

TEST(sqlite_db, a_guest_can_write_nothing)
{
    struct cor_sqlite_db *owner, *guest = NULL;
    char path[128];

    snprintf(path, sizeof(path), "%s/store.db", test_tmpdir());
    assert_int_equal(close(open(path, O_CREAT | O_WRONLY, 0600)), 0);
    owner = open_owner(path);
    assert_int_equal(cor_sqlite_db_open(path, COR_SQLITE_GUEST, &guest, NULL), 0);
    assert_int_equal(cor_sqlite_db_exec(guest, "DELETE FROM log"), -COR_EREADONLY);
    cor_sqlite_db_free(guest);
    cor_sqlite_db_free(owner);
}

/* A store without a record gets one, whole or not at all; a new store has one from the beginning.
 */
TEST(sqlite_db, the_record_of_an_older_store_is_brought_up_to_date)
{
    struct cor_sqlite_db *db = open_owner(":memory:");
    cor_rev old_rev = 77;

    assert_int_equal(cor_sqlite_format_open(db, false, 9, &old_rev, NULL), 0);
    assert_int_equal(old_rev, 0);
    FOR_EACH_FAILED_ALLOC(n) {
        int r;

        test_fail_alloc(0, false);
        assert_int_equal(cor_sqlite_db_exec(db, "DELETE FROM meta"), 0);
        test_fail_alloc(n, false);
        r = cor_sqlite_format_open(db, true, 9, &old_rev, NULL);
        if (r == 0) {
            assert_int_equal(old_rev, 9);
            r = cor_sqlite_format_open(db, false, 9, &old_rev, NULL);
        }
        test_fail_alloc(0, false);
        if (r < 0)
            continue;
        assert_int_equal(old_rev, 9);
        assert_int_equal(cor_sqlite_format_open(db, false, 12, &old_rev, NULL), 0);
        assert_int_equal(old_rev, 9);
    }
    cor_sqlite_db_free(db);
}

TEST(sqlite_db, a_store_of_a_newer_format_is_refused_with_both_formats)
{
    struct cor_sqlite_db *db = open_owner(":memory:");
    struct cor_status status = {0};

    assert_int_equal(cor_sqlite_format_check(db, NULL), 0);
    assert_int_equal(cor_sqlite_db_exec(db, "UPDATE meta SET value = 3 WHERE name = 'format';"
                                            "UPDATE meta SET value = '9.8.7' WHERE name = "
                                            "'written_by'"),
                     0);
    assert_int_equal(cor_sqlite_format_check(db, &status), -COR_ESCHEMA);
    assert_string_equal(cor_status_message(&status),
                        ":memory: has format 3 and was written by coracle 9.8.7; this is "
                        "coracle " COR_VERSION ", which reads formats up to 2");
    cor_status_deinit(&status);
    cor_sqlite_db_free(db);
}
