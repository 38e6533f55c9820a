/* The shim itself, on raw SQLite: a fault that is not injected would make every crash test lie. */
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "fault_vfs.h"
#include "test.h"

static sqlite3 *open_db(const char *dir, const char *sync)
{
    char path[256], pragma[64];
    sqlite3 *db = NULL;

    snprintf(path, sizeof(path), "%s/x.db", dir);
    snprintf(pragma, sizeof(pragma), "PRAGMA synchronous=%s", sync);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_extended_result_codes(db, 1);
    assert_int_equal(sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, pragma, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS t(v)", NULL, NULL, NULL),
                     SQLITE_OK);
    return db;
}

static int insert(sqlite3 *db)
{
    return sqlite3_exec(db, "INSERT INTO t VALUES(randomblob(2000))", NULL, NULL, NULL);
}

static int64_t rows(sqlite3 *db)
{
    sqlite3_stmt *stmt = NULL;
    int64_t n = -1;

    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM t", -1, &stmt, NULL), SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        n = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return n;
}

/* The insert that meets the fault fails with `rc`, the ones before are kept, and a reopened
 * database is sound. */
static void expect_failing_insert(struct fault_plan plan, int rc)
{
    const char *dir = test_tmpdir();
    sqlite3 *db;

    assert_true(fault_vfs_install());
    db = open_db(dir, "FULL");
    assert_int_equal(insert(db), SQLITE_OK);
    fault_vfs_plan(&plan);
    assert_int_equal(insert(db), rc);
    assert_true(fault_vfs_fired() > 0);
    if (!plan.persistent) {
        assert_int_equal(insert(db), SQLITE_OK);
        assert_int_equal(fault_vfs_fired(), 1);
    } else {
        assert_int_equal(insert(db), rc);
    }
    fault_vfs_plan(NULL);
    sqlite3_close(db);
    db = open_db(dir, "FULL");
    assert_int_equal(rows(db), plan.persistent ? 1 : 2);
    sqlite3_close(db);
    fault_vfs_uninstall();
}

TEST(fault_vfs, counts_one_wal_sync_per_commit_with_full_and_none_with_off)
{
    static const struct {
        const char *sync;
        uint64_t expected;
    } cases[] = {{"FULL", 10}, {"OFF", 0}};

    assert_true(fault_vfs_install());
    for (size_t i = 0; i < 2; i++) {
        sqlite3 *db = open_db(test_tmpdir(), cases[i].sync);
        uint64_t before;

        assert_int_equal(insert(db), SQLITE_OK);
        before = fault_vfs_count(FAULT_SYNC, FAULT_WAL);
        for (int n = 0; n < 10; n++)
            assert_int_equal(insert(db), SQLITE_OK);
        assert_int_equal(fault_vfs_count(FAULT_SYNC, FAULT_WAL) - before, cases[i].expected);
        sqlite3_close(db);
    }
    fault_vfs_uninstall();
}

TEST(fault_vfs, a_write_error_fails_one_commit)
{
    expect_failing_insert(
        (struct fault_plan){
            .action = FAULT_ERROR, .on = FAULT_WRITE, .files = 1 << FAULT_WAL, .nth = 2},
        SQLITE_IOERR_WRITE);
}

TEST(fault_vfs, a_short_write_fails_one_commit_and_leaves_no_half)
{
    expect_failing_insert((struct fault_plan){.action = FAULT_SHORT, .on = FAULT_WRITE, .nth = 1},
                          SQLITE_IOERR_WRITE);
}

TEST(fault_vfs, a_full_disk_stays_full_while_persistent)
{
    expect_failing_insert(
        (struct fault_plan){.action = FAULT_FULL, .on = FAULT_WRITE, .nth = 1, .persistent = true},
        SQLITE_FULL);
}

TEST(fault_vfs, a_sync_error_fails_one_commit)
{
    expect_failing_insert(
        (struct fault_plan){
            .action = FAULT_ERROR, .on = FAULT_SYNC, .files = 1 << FAULT_WAL, .nth = 1},
        SQLITE_IOERR_FSYNC);
}

TEST(fault_vfs, a_read_error_fails_a_read)
{
    const struct fault_plan plan = {.action = FAULT_ERROR, .on = FAULT_READ, .nth = 1};
    const char *dir = test_tmpdir();
    sqlite3_stmt *stmt = NULL;
    sqlite3 *db;

    assert_true(fault_vfs_install());
    db = open_db(dir, "FULL");
    assert_int_equal(insert(db), SQLITE_OK);
    sqlite3_close(db);
    db = open_db(dir, "FULL");
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT sum(length(v)) FROM t", -1, &stmt, NULL),
                     SQLITE_OK);
    fault_vfs_plan(&plan);
    assert_int_equal(sqlite3_step(stmt), SQLITE_IOERR_READ);
    assert_int_equal(fault_vfs_fired(), 1);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    fault_vfs_uninstall();
}

/* Inserts rows in a child until the planned death; what it was told was committed comes back
 * through a pipe. */
static int64_t rows_acknowledged_before_death(const char *dir, const char *sync, const char *plan)
{
    int fds[2], status;
    int64_t acked = 0;
    char byte;
    pid_t pid;

    assert_int_equal(pipe(fds), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        sqlite3 *db;

        setenv(FAULT_VFS_ENV, plan, 1);
        if (!fault_vfs_install())
            _exit(3);
        db = open_db(dir, sync);
        for (int n = 0; n < 1000 && insert(db) == SQLITE_OK; n++) {
            if (write(fds[1], "+", 1) != 1)
                _exit(4);
        }
        _exit(5);
    }
    close(fds[1]);
    while (read(fds[0], &byte, 1) == 1)
        acked++;
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGKILL);
    return acked;
}

static int64_t rows_after_death(const char *dir)
{
    sqlite3 *db = open_db(dir, "FULL");
    int64_t n = rows(db);

    sqlite3_close(db);
    return n;
}

TEST(fault_vfs, a_kill_keeps_what_was_committed)
{
    static const char *const plans[] = {
        "action=kill,on=write,nth=40",
        "action=kill,on=sync,files=wal,nth=9",
        "action=torn-kill,on=write,files=wal,nth=33",
    };

    for (size_t i = 0; i < sizeof(plans) / sizeof(plans[0]); i++) {
        const char *dir = test_tmpdir();
        int64_t acked = rows_acknowledged_before_death(dir, "FULL", plans[i]);
        int64_t found = rows_after_death(dir);

        assert_true(acked > 0);
        assert_true(found == acked || found == acked + 1);
    }
}

TEST(fault_vfs, a_power_cut_takes_what_was_not_synced_and_nothing_else)
{
    static const char plan[] = "action=power-cut,on=write,files=wal,nth=40";
    const char *dir = test_tmpdir();
    int64_t acked = rows_acknowledged_before_death(dir, "FULL", plan);

    assert_true(acked > 0);
    assert_int_equal(rows_after_death(dir), acked);

    dir = test_tmpdir();
    acked = rows_acknowledged_before_death(dir, "OFF", plan);
    assert_true(acked > 0);
    assert_true(rows_after_death(dir) < acked);
}

TEST(fault_vfs, a_plan_that_is_not_understood_is_refused)
{
    static const char *const bad[] = {"action=burn", "on=fsync",     "files=x",
                                      "nth=0",       "persistent=1", "what"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        setenv(FAULT_VFS_ENV, bad[i], 1);
        assert_false(fault_vfs_install());
    }
    unsetenv(FAULT_VFS_ENV);
    assert_true(fault_vfs_install());
    fault_vfs_uninstall();
}
