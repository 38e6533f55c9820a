#include "engine_fixture.h"

#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "fault_vfs.h"
#include "storage/engine/maintenance.h"

struct findings {
    char text[4096];
    size_t n;
};

static void on_finding(void *arg, const char *finding)
{
    struct findings *f = arg;
    size_t used = strlen(f->text);

    snprintf(f->text + used, sizeof(f->text) - used, "%s\n", finding);
    f->n++;
}

static int check(const char *dir, struct findings *f, struct cor_store_summary *sum)
{
    struct cor_status st;
    int r;

    memset(f, 0, sizeof(*f));
    cor_status_init(&st);
    r = cor_store_check(dir, on_finding, f, sum, &st);
    cor_status_deinit(&st);
    return r;
}

static void assert_sound(const char *dir, struct cor_store_summary *sum)
{
    struct findings f;
    int r = check(dir, &f, sum);

    assert_string_equal(f.text, "");
    assert_int_equal(r, 0);
}

static void fill(struct fx *fx)
{
    cor_rev rev;
    int64_t lease = fx_lease(fx, 100);

    fx_put(fx, "/a", "1", 0, &rev);
    fx_put(fx, "/a", "2", rev, &rev);
    fx_put(fx, "/b", "1", 0, &rev);
    fx_delete(fx, "/b", rev, NULL);
    fx_put_lease(fx, "/c", "1", 0, lease, NULL);
    fx_put(fx, "/b", "2", 0, NULL);
}

TEST(sqlite_maintenance, a_store_is_sound_while_it_is_held_and_after_it_was_closed)
{
    struct fx fx;
    struct cor_store_summary sum;

    fx_open(&fx, test_tmpdir());
    fill(&fx);
    assert_sound(fx.dir, &sum);
    assert_int_equal(sum.rev, 7);
    assert_int_equal(sum.keys, 3);
    assert_int_equal(sum.rows, 6);
    assert_int_equal(sum.leases, 1);
    assert_int_equal(fx_compact(&fx, 6), 0);
    assert_sound(fx.dir, &sum);
    fx_close(&fx);
    assert_sound(fx.dir, &sum);
    assert_int_equal(sum.compact_rev, 6);
}

static void spoil(const char *dir, const char *sql)
{
    char path[128];
    sqlite3 *db;

    snprintf(path, sizeof(path), "%s/store.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

TEST(sqlite_maintenance, a_check_names_each_broken_invariant)
{
    static const struct {
        const char *sql, *finding;
    } cases[] = {
        {"DELETE FROM log WHERE rev = 2", "1 of the revisions 2 to 7 are missing\n"
                                          "revision 3 replaces revision 2, which is missing\n"},
        {"UPDATE log SET prev_rev = 0 WHERE rev = 3",
         "revision 3 creates its key but says it was created at 2\n"
         "revision 3 creates a key that revision 2 already holds\n"},
        {"UPDATE log SET create_rev = 1 WHERE rev = 3",
         "revision 3 and the version before it differ about the key's creation\n"},
        {"UPDATE log SET value = 'x' WHERE rev = 5", "revision 5 is a deletion with content\n"},
        {"DELETE FROM lease", "key /c has lease %lld, which is missing: it would never expire\n"},
        {"INSERT INTO meta VALUES('compact_rev', 9)",
         "compacted up to revision 9, but the newest is 7\n"},
        {"INSERT INTO meta VALUES('compact_rev', 5), ('swept_rev', 5)",
         "revision 2 is history that compaction left behind\n"
         "revision 5 is a deletion that compaction left behind\n"
         "revision 4 is history that compaction left behind\n"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        struct cor_store_summary sum;
        struct findings f;
        struct fx fx;

        fx_open(&fx, test_tmpdir());
        fill(&fx);
        fx_close(&fx);
        spoil(fx.dir, cases[i].sql);
        assert_int_equal(check(fx.dir, &f, &sum), -COR_ECORRUPT);
        if (strchr(cases[i].finding, '%'))
            assert_non_null(strstr(f.text, "which is missing: it would never expire"));
        else
            assert_string_equal(f.text, cases[i].finding);
        assert_int_equal(sum.findings, f.n);
    }
}

TEST(sqlite_maintenance, a_check_of_nothing_is_not_found)
{
    struct cor_store_summary sum;
    struct findings f;

    assert_int_equal(check(test_tmpdir(), &f, &sum), -COR_ENOTFOUND);
}

static void on_progress(void *arg, uint64_t done_bytes, uint64_t total_bytes)
{
    uint64_t *last = arg;

    assert_true(done_bytes >= *last && done_bytes <= total_bytes);
    *last = done_bytes;
}

TEST(sqlite_maintenance, a_backup_beside_the_holder_is_a_store_of_its_own)
{
    const char *other = test_tmpdir();
    char dest[128];
    struct cor_store_summary sum;
    struct cor_status st;
    struct stat file;
    struct fx fx;
    uint64_t last = 0;

    cor_status_init(&st);
    snprintf(dest, sizeof(dest), "%s/store.db", other);
    fx_open(&fx, test_tmpdir());
    fill(&fx);
    umask(0);
    assert_int_equal(cor_store_backup(fx.dir, dest, on_progress, &last, &st), 0);
    umask(022);
    assert_true(last > 0);
    assert_int_equal(stat(dest, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_int_equal(cor_store_backup(fx.dir, dest, NULL, NULL, &st), -COR_EEXIST);
    cor_status_deinit(&st);
    fx_put(&fx, "/after", "1", 0, NULL);
    fx_close(&fx);
    assert_sound(other, &sum);
    fx_open(&fx, other);
    assert_int_equal(fx_rev(&fx), 7);
    assert_string_equal(fx_list(&fx, "/", "0", 3), "/a=2@3");
    assert_string_equal(fx_list(&fx, "/", "0", 0), "/a=2@3 /b=2@7 /c=1@6");
    assert_int_equal(fx_put(&fx, "/after", "2", 0, NULL), 0);
    fx_close(&fx);
}

TEST(sqlite_maintenance, a_backup_that_fails_leaves_no_file)
{
    struct cor_status st;
    char dest[128];

    cor_status_init(&st);
    snprintf(dest, sizeof(dest), "%s/copy.db", test_tmpdir());
    assert_int_equal(cor_store_backup(test_tmpdir(), dest, NULL, NULL, &st), -COR_ENOTFOUND);
    assert_int_equal(access(dest, F_OK), -1);
    cor_status_deinit(&st);
}

/* Does any file of the folder have these bytes? */
static bool on_disk(const char *dir, const char *text)
{
    static const char *const names[] = {"store.db", "store.db-wal"};
    bool found = false;

    for (size_t i = 0; i < COR_ARRAY_LEN(names); i++) {
        char path[128];
        FILE *file;

        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        file = fopen(path, "rb");
        if (!file)
            continue;
        for (size_t matched = 0; !found;) {
            int c = fgetc(file);

            if (c == EOF)
                break;
            matched = c == text[matched] ? matched + 1 : (size_t)(c == text[0]);
            found = text[matched] == '\0';
        }
        fclose(file);
    }
    return found;
}

static void fill_with_secrets(struct fx *fx)
{
    cor_rev rev;

    for (int i = 0; i < 50; i++) {
        char key[16];

        snprintf(key, sizeof(key), "/s%d", i);
        fx_put(fx, key, "a clear secret that is long enough to be found", 0, &rev);
        if (i % 2)
            fx_put(fx, key, "sealed", rev, &rev);
        else
            fx_delete(fx, key, rev, &rev);
    }
    assert_int_equal(fx_compact(fx, rev - 10), 0);
}

static int scrub(const char *dir)
{
    struct cor_status st;
    int r;

    cor_status_init(&st);
    r = cor_store_scrub(dir, &st);
    cor_status_deinit(&st);
    return r;
}

TEST(sqlite_maintenance, a_scrubbed_store_has_the_present_state_and_nothing_else)
{
    struct cor_store_summary before, after;
    struct fx fx;

    fx_open(&fx, test_tmpdir());
    fill_with_secrets(&fx);
    assert_int_equal(scrub(fx.dir), -COR_ELOCKED);
    fx_close(&fx);
    assert_sound(fx.dir, &before);
    assert_true(on_disk(fx.dir, "a clear secret"));
    assert_int_equal(scrub(fx.dir), 0);
    assert_sound(fx.dir, &after);
    assert_false(on_disk(fx.dir, "a clear secret"));
    assert_true(on_disk(fx.dir, "sealed"));
    assert_int_equal(after.rev, before.rev);
    assert_int_equal(after.compact_rev, before.rev);
    assert_int_equal(after.keys, before.keys);
    assert_int_equal(after.rows, before.keys);
    fx_open(&fx, fx.dir);
    assert_int_equal(fx_put(&fx, "/next", "1", 0, NULL), 0);
    assert_int_equal(fx_rev(&fx), before.rev + 1);
    fx_close(&fx);
    assert_sound(fx.dir, &after);
}

TEST(sqlite_maintenance, a_scrub_keeps_the_revision_of_a_last_deletion)
{
    struct cor_store_summary sum;
    struct fx fx;
    cor_rev rev;

    fx_open(&fx, test_tmpdir());
    fx_close(&fx);
    assert_int_equal(scrub(fx.dir), 0);
    fx_open(&fx, fx.dir);
    fx_put(&fx, "/a", "1", 0, &rev);
    fx_delete(&fx, "/a", rev, &rev);
    fx_close(&fx);
    assert_int_equal(scrub(fx.dir), 0);
    assert_sound(fx.dir, &sum);
    assert_int_equal(sum.rev, rev);
    assert_int_equal(sum.rows, 1);
    assert_int_equal(sum.keys, 0);
}

/* What somebody still reads in the old file cannot be overwritten: the secrets are still there. */
TEST(sqlite_maintenance, a_scrub_beside_a_reader_says_that_the_store_is_busy)
{
    struct cor_status st = {0};
    char path[256];
    struct fx fx;
    sqlite3 *db;

    fx_open(&fx, test_tmpdir());
    fill_with_secrets(&fx);
    fx_close(&fx);
    snprintf(path, sizeof(path), "%s/store.db", fx.dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT COUNT(*) FROM log", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(cor_store_scrub(fx.dir, &st), -COR_EBUSY);
    assert_non_null(strstr(cor_status_message(&st), "locked"));
    cor_status_deinit(&st);
    assert_true(on_disk(fx.dir, "a clear secret"));
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(scrub(fx.dir), 0);
    assert_false(on_disk(fx.dir, "a clear secret"));
}

/* Each write of a scrub meets a full disk once; what is there afterwards is the store. */
TEST(sqlite_maintenance, a_scrub_that_the_disk_has_no_room_for_leaves_the_store_whole)
{
    struct cor_store_summary before, after;
    struct fx fx;
    int r = -1;

    fx_open(&fx, test_tmpdir());
    fill_with_secrets(&fx);
    fx_close(&fx);
    assert_sound(fx.dir, &before);
    assert_true(fault_vfs_install());
    for (uint64_t n = 1; r < 0; n++) {
        const struct fault_plan plan = {
            .action = FAULT_FULL, .on = FAULT_WRITE, .nth = n, .persistent = true};

        fault_vfs_plan(&plan);
        r = scrub(fx.dir);
        assert_true(r == 0 || r == -COR_ENOSPC);
        fault_vfs_plan(NULL);
        assert_sound(fx.dir, &after);
        assert_int_equal(after.rev, before.rev);
        assert_int_equal(after.keys, before.keys);
    }
    fault_vfs_uninstall();
    assert_false(on_disk(fx.dir, "a clear secret"));
}

TEST(sqlite_maintenance, a_scrub_survives_failed_allocations)
{
    struct cor_store_summary sum;
    struct fx fx;

    fx_open(&fx, test_tmpdir());
    fill_with_secrets(&fx);
    fx_close(&fx);
    FOR_EACH_FAILED_ALLOC(n) {
        int r = scrub(fx.dir);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
    }
    assert_sound(fx.dir, &sum);
}
