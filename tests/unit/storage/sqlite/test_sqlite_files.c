#include "engine_fixture.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fault_vfs.h"

static const char *store_file(const char *dir)
{
    static char path[128];

    snprintf(path, sizeof(path), "%s/store.db", dir);
    return path;
}

static void assert_open_fails(const char *dir, int err, const char *part)
{
    struct cor_status st;

    assert_int_equal(fx_open_fails(dir, false, &st), err);
    if (!strstr(cor_status_message(&st), part) || !strstr(cor_status_message(&st), "store.db"))
        fail_msg("message: %s", cor_status_message(&st));
    cor_status_deinit(&st);
}

static void spoil(const char *dir, const char *sql)
{
    sqlite3 *db;

    assert_int_equal(sqlite3_open(store_file(dir), &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

TEST(sqlite_files, refuses_a_file_of_another_schema_or_another_program)
{
    struct fx fx;

    fx_open(&fx, test_tmpdir());
    fx_close(&fx);
    spoil(fx.dir, "PRAGMA user_version = 2");
    assert_open_fails(fx.dir, -COR_ESCHEMA, "has schema version 2, expected 1");
    spoil(fx.dir, "PRAGMA user_version = 1; PRAGMA application_id = 17");
    assert_open_fails(fx.dir, -COR_ESCHEMA, "application id 0x11, expected 0x434f5241");
}

TEST(sqlite_files, refuses_a_file_that_is_no_database)
{
    const char *dir = test_tmpdir();
    FILE *file = fopen(store_file(dir), "w");

    for (int i = 0; i < 1000; i++)
        fputs("this is not a database\n", file);
    fclose(file);
    assert_open_fails(dir, -COR_ECORRUPT, "file is not a database");
}

TEST(sqlite_files, refuses_a_folder_in_the_files_place)
{
    const char *dir = test_tmpdir();

    assert_int_equal(mkdir(store_file(dir), 0700), 0);
    assert_open_fails(dir, -COR_EIO, "unable to open database file");
    rmdir(store_file(dir));
}

TEST(sqlite_files, makes_the_schema_when_the_first_process_died_before_it_did)
{
    const char *dir = test_tmpdir();
    struct fx fx;

    spoil(dir, "PRAGMA journal_mode = WAL");
    fx_open(&fx, dir);
    assert_int_equal(fx_put(&fx, "/a", "1", 0, NULL), 0);
    fx_close(&fx);
}

TEST(sqlite_files, refuses_a_database_with_broken_pages)
{
    struct fx fx;
    char junk[4096];
    char key[16];
    int fd;

    fx_open(&fx, test_tmpdir());
    for (int i = 0; i < 200; i++) {
        snprintf(key, sizeof(key), "/%03d", i);
        fx_put(&fx, key, "some value that fills pages", 0, NULL);
    }
    fx_close(&fx);
    memset(junk, 0xee, sizeof(junk));
    fd = open(store_file(fx.dir), O_RDWR);
    for (off_t page = 2; page < 12; page++)
        assert_int_equal(pwrite(fd, junk, sizeof(junk), page * 4096), sizeof(junk));
    close(fd);
    assert_open_fails(fx.dir, -COR_ECORRUPT, "malformed");
}

TEST(sqlite_files, is_only_for_its_owner_whatever_the_umask)
{
    static const char *const names[] = {"", "-wal", "-shm"};
    struct fx fx;
    mode_t old = umask(0);

    fx_open(&fx, test_tmpdir());
    fx_put(&fx, "/a", "1", 0, NULL);
    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        char path[160];
        struct stat st;

        snprintf(path, sizeof(path), "%s%s", store_file(fx.dir), names[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    umask(old);
    fx_close(&fx);
}

TEST(sqlite_files, a_second_engine_is_refused_and_a_read_only_one_reads_beside_it)
{
    struct cor_engine_config config = {.backend = "sqlite", .read_only = true};
    struct cor_engine_status_req st;
    struct fx fx, guest;
    struct sink sink;
    struct cor_status refused;
    char want[128];

    fx_open(&fx, test_tmpdir());
    fx_put(&fx, "/a", "1", 0, NULL);
    assert_int_equal(fx_open_fails(fx.dir, false, &refused), -COR_ELOCKED);
    snprintf(want, sizeof(want), "%s is held by process %ld", fx.dir, (long)getpid());
    assert_string_equal(cor_status_message(&refused), want);
    cor_status_deinit(&refused);

    guest = fx;
    config.data_dir = fx.dir;
    assert_int_equal(cor_engine_open(&config, &guest.engine, NULL), 0);
    assert_string_equal(fx_list(&guest, "/", "0", 0), "/a=1@2");
    fx_put(&fx, "/b", "1", 0, NULL);
    assert_string_equal(fx_list(&guest, "/", "0", 0), "/a=1@2 /b=1@3");
    assert_int_equal(fx_put(&guest, "/c", "1", 0, NULL), -COR_EREADONLY);
    assert_int_equal(fx_compact(&guest, 2), -COR_EREADONLY);
    assert_int_equal(fx_status(&guest, &st), 0);
    assert_int_equal(st.ret_rev, 3);
    cor_engine_req_deinit(&st.req);
    sink_open(&sink, &guest, "/a", NULL, 0, SIZE_MAX);
    sink_wait_broken(&sink, -COR_ENOTSUP);
    sink_close(&sink);
    cor_engine_close(guest.engine);
    assert_int_equal(fx_put(&fx, "/c", "1", 0, NULL), 0);
    fx_close(&fx);
}

TEST(sqlite_files, the_log_is_folded_back_while_writes_go_on)
{
    enum { VALUE = 500000, N = 150 };
    static char value[VALUE];
    struct fx fx;
    char wal[160];
    struct stat st;
    cor_rev rev = 0;

    fx_open(&fx, test_tmpdir());
    snprintf(wal, sizeof(wal), "%s-wal", store_file(fx.dir));
    for (int i = 0; i < N; i++) {
        struct cor_write_req w;

        cor_write_req_init(&w, fx.loop, fx_on_done);
        w.key = COR_STR("/a");
        w.value = cor_str(value, VALUE);
        w.expected = rev;
        fx_submit_write(&fx, &w);
        fx_wait(&fx);
        assert_int_equal(w.req.result, 0);
        rev = w.ret_rev;
        cor_write_req_deinit(&w);
    }
    assert_int_equal(stat(wal, &st), 0);
    assert_true(st.st_size < 60 << 20);
    fx_close(&fx);
    assert_int_equal(stat(wal, &st), -1);
}

static void plan(enum fault_action action, enum fault_op on, unsigned files, bool persistent)
{
    fault_vfs_plan(&(struct fault_plan){
        .action = action, .on = on, .files = files, .nth = 1, .persistent = persistent});
}

TEST(sqlite_files, a_commit_syncs_the_log_once)
{
    struct fx fx;
    uint64_t before;

    assert_true(fault_vfs_install());
    fx_open(&fx, test_tmpdir());
    fx_put(&fx, "/warm", "1", 0, NULL);
    before = fault_vfs_count(FAULT_SYNC, FAULT_WAL);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(fx_put(&fx, "/warm", "1", (cor_rev)i + 2, NULL), 0);
        assert_int_equal(fault_vfs_count(FAULT_SYNC, FAULT_WAL), before + 1 + (uint64_t)i);
    }
    fx_put(&fx, "/warm", "lost", 1, NULL);
    assert_int_equal(fault_vfs_count(FAULT_SYNC, FAULT_WAL), before + 10);
    fx_close(&fx);
    fault_vfs_uninstall();
}

TEST(sqlite_files, after_a_sync_error_nothing_more_is_written_and_reads_go_on)
{
    static const struct {
        enum fault_action action;
        enum fault_op on;
    } cases[] = {{FAULT_ERROR, FAULT_SYNC}, {FAULT_ERROR, FAULT_WRITE}, {FAULT_SHORT, FAULT_WRITE}};

    assert_true(fault_vfs_install());
    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_engine_status_req st;
        struct cor_write_req w;
        struct fx fx;

        fx_open(&fx, test_tmpdir());
        assert_int_equal(fx_put(&fx, "/a", "1", 0, NULL), 0);
        plan(cases[i].action, cases[i].on, 1 << FAULT_WAL, false);
        cor_write_req_init(&w, fx.loop, fx_on_done);
        w.key = COR_STR("/a");
        w.value = COR_STR("2");
        w.expected = 2;
        fx_submit_write(&fx, &w);
        fx_wait(&fx);
        assert_int_equal(fault_vfs_fired(), 1);
        assert_int_equal(w.req.result, -COR_EIO);
        assert_non_null(strstr(cor_status_message(&w.req.status), "store.db: disk I/O error"));
        assert_non_null(strstr(cor_status_message(&w.req.status),
                               "no write is taken until the process is restarted"));
        assert_null(w.ret_prev);
        assert_int_equal(w.ret_rev, 0);
        cor_write_req_deinit(&w);
        fault_vfs_plan(NULL);
        assert_int_equal(fx_put(&fx, "/b", "1", 0, NULL), -COR_EIO);
        assert_int_equal(fx_compact(&fx, 2), -COR_EIO);
        assert_int_equal(fx_status(&fx, &st), -COR_EIO);
        /* What it is asked for is known all the same. */
        assert_int_equal(st.ret_rev, 2);
        assert_true(st.ret_file_bytes > 0);
        cor_engine_req_deinit(&st.req);
        assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=1@2");
        fx_reopen(&fx);
        assert_int_equal(fx_rev(&fx) <= 3, 1);
        assert_int_equal(fx_put(&fx, "/b", "1", 0, NULL), 0);
        fx_close(&fx);
    }
    fault_vfs_uninstall();
}

TEST(sqlite_files, a_full_disk_fails_the_batch_and_later_writes_succeed_again)
{
    struct fx fx;
    struct cor_engine_status_req st;
    struct cor_write_req w;

    assert_true(fault_vfs_install());
    fx_open(&fx, test_tmpdir());
    assert_int_equal(fx_put(&fx, "/a", "1", 0, NULL), 0);
    plan(FAULT_FULL, FAULT_WRITE, 1 << FAULT_WAL, true);
    cor_write_req_init(&w, fx.loop, fx_on_done);
    w.key = COR_STR("/a");
    w.value = COR_STR("2");
    w.expected = 2;
    fx_submit_write(&fx, &w);
    fx_wait(&fx);
    assert_int_equal(w.req.result, -COR_ENOSPC);
    assert_non_null(strstr(cor_status_message(&w.req.status), "database or disk is full"));
    cor_write_req_deinit(&w);
    assert_int_equal(fx_put(&fx, "/b", "1", 0, NULL), -COR_ENOSPC);
    assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=1@2");
    fault_vfs_plan(NULL);
    assert_int_equal(fx_status(&fx, &st), 0);
    assert_int_equal(st.ret_rev, 2);
    cor_engine_req_deinit(&st.req);
    assert_int_equal(fx_put(&fx, "/a", "2", 2, NULL), 0);
    fx_reopen(&fx);
    assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=2@3");
    fx_close(&fx);
    fault_vfs_uninstall();
}

static void assert_log_kept(const char *dir)
{
    char wal[160];
    struct stat st;

    snprintf(wal, sizeof(wal), "%s-wal", store_file(dir));
    assert_int_equal(stat(wal, &st), 0);
    assert_true(st.st_size > 0);
}

TEST(sqlite_files, a_failed_checkpoint_ends_writing_and_loses_nothing)
{
    enum { VALUE = 2 << 20 };
    static char value[VALUE];
    struct fx fx;
    cor_rev rev = 0, acknowledged = 0;

    assert_true(fault_vfs_install());
    fx_open(&fx, test_tmpdir());
    plan(FAULT_ERROR, FAULT_SYNC, 1 << FAULT_MAIN, false);
    for (int i = 0; i < 200 && acknowledged == rev; i++) {
        struct cor_write_req w;

        cor_write_req_init(&w, fx.loop, fx_on_done);
        w.key = COR_STR("/a");
        w.value = cor_str(value, VALUE);
        w.expected = rev;
        fx_submit_write(&fx, &w);
        fx_wait(&fx);
        if (w.req.result == 0)
            acknowledged = rev = w.ret_rev;
        else
            rev = 0;
        cor_write_req_deinit(&w);
    }
    assert_int_equal(fault_vfs_fired(), 1);
    assert_int_equal(rev, 0);
    fault_vfs_plan(NULL);
    fx_close(&fx);
    assert_log_kept(fx.dir);
    fx_open(&fx, fx.dir);
    assert_int_equal(fx_rev(&fx), acknowledged);
    fx_close(&fx);
    fault_vfs_uninstall();
}

/* A second sync would report success for pages that never reached the disk. With much in the log
 * a checkpoint may be under way, with little there is only the one of the closing itself. */
TEST(sqlite_files, a_sync_error_while_closing_keeps_the_log)
{
    enum { VALUE = 2 << 20, MUCH = 5 };
    static char value[VALUE];

    assert_true(fault_vfs_install());
    for (int n = 1; n <= MUCH; n += MUCH - 1) {
        struct cor_write_req w[MUCH];
        cor_rev acknowledged = 0;
        struct fx fx;

        fx_open(&fx, test_tmpdir());
        plan(FAULT_ERROR, FAULT_SYNC, 1u << FAULT_MAIN, false);
        for (int i = 0; i < n; i++) {
            cor_write_req_init(&w[i], fx.loop, fx_on_done);
            w[i].key = COR_STR("/a");
            w[i].value = cor_str(value, n == 1 ? 1 : VALUE);
            w[i].expected = i == 0 ? 0 : (cor_rev)i + 1;
            fx_submit_write(&fx, &w[i]);
        }
        fx_wait(&fx);
        fx_close(&fx);
        for (int i = 0; i < n; i++) {
            /* A checkpoint that fails before the last write ends the writing. */
            assert_true(w[i].req.result == 0 || (n > 1 && w[i].req.result == -COR_EIO));
            acknowledged += w[i].req.result == 0;
            cor_write_req_deinit(&w[i]);
        }
        assert_true(acknowledged > 0);
        assert_int_equal(fault_vfs_fired(), 1);
        fault_vfs_plan(NULL);
        assert_log_kept(fx.dir);
        fx_open(&fx, fx.dir);
        assert_int_equal(fx_rev(&fx), acknowledged + 1);
        fx_close(&fx);
    }
    fault_vfs_uninstall();
}

TEST(sqlite_files, a_lease_that_was_not_committed_has_no_id)
{
    struct fx fx;

    assert_true(fault_vfs_install());
    fx_open(&fx, test_tmpdir());
    plan(FAULT_FULL, FAULT_WRITE, 1u << FAULT_WAL, true);
    assert_int_equal(fx_lease(&fx, 10), -COR_ENOSPC);
    fault_vfs_plan(NULL);
    fx_close(&fx);
    fault_vfs_uninstall();
}
