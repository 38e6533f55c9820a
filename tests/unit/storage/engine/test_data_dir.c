#include "storage/engine/data_dir.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static mode_t mode_of(const char *path)
{
    struct stat st;

    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

TEST(data_dir, makes_folder_and_files_for_the_owner_only_whatever_the_umask)
{
    static const mode_t masks[] = {0, 022, 0777};

    for (size_t i = 0; i < COR_ARRAY_LEN(masks); i++) {
        struct cor_data_dir *dir;
        char path[100], lock[128];
        mode_t old;
        int r;

        snprintf(path, sizeof(path), "%s/data", test_tmpdir());
        snprintf(lock, sizeof(lock), "%s/lock", path);
        old = umask(masks[i]);
        r = cor_data_dir_open(path, false, &dir, NULL);
        umask(old);
        assert_int_equal(r, 0);
        assert_int_equal(mode_of(path), 0700);
        assert_int_equal(mode_of(lock), 0600);
        assert_int_equal(mode_of(cor_data_dir_store(dir)), 0600);
        unlink(cor_data_dir_store(dir));
        cor_data_dir_free(dir);
        unlink(lock);
        rmdir(path);
    }
}

TEST(data_dir, a_second_opener_is_told_who_holds_it)
{
    const char *path = test_tmpdir();
    struct cor_data_dir *dir, *second;
    struct cor_status st;
    char want[128];

    cor_status_init(&st);
    assert_int_equal(cor_data_dir_open(path, false, &dir, &st), 0);
    assert_int_equal(cor_data_dir_open(path, false, &second, &st), -COR_ELOCKED);
    snprintf(want, sizeof(want), "%s is held by process %ld", path, (long)getpid());
    assert_string_equal(cor_status_message(&st), want);
    assert_int_equal(cor_data_dir_open(path, true, &second, &st), 0);
    cor_data_dir_free(second);
    cor_data_dir_free(dir);
    assert_int_equal(cor_data_dir_open(path, false, &dir, &st), 0);
    cor_data_dir_free(dir);
    cor_status_deinit(&st);
}

TEST(data_dir, a_lock_ends_with_its_process)
{
    const char *path = test_tmpdir();
    struct cor_data_dir *dir;
    int status;
    pid_t pid = fork();

    if (pid == 0)
        _exit(cor_data_dir_open(path, false, &dir, NULL) == 0 ? 0 : 1);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(cor_data_dir_open(path, false, &dir, NULL), 0);
    cor_data_dir_free(dir);
}

TEST(data_dir, says_which_path_was_wrong)
{
    struct cor_data_dir *dir;
    struct cor_status st;
    char path[128], want[256];
    FILE *file;

    cor_status_init(&st);
    snprintf(path, sizeof(path), "%s/none/data", test_tmpdir());
    assert_int_equal(cor_data_dir_open(path, false, &dir, &st), -COR_ENOTFOUND);
    snprintf(want, sizeof(want), "create the data folder %s: No such file or directory", path);
    assert_string_equal(cor_status_message(&st), want);

    snprintf(path, sizeof(path), "%s/file", test_tmpdir());
    file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(cor_data_dir_open(path, false, &dir, &st), -COR_EIO);
    snprintf(want, sizeof(want), "data folder %s is not a folder", path);
    assert_string_equal(cor_status_message(&st), want);
    cor_status_deinit(&st);
}

/* In a process that is not root, because root may write everywhere. */
TEST(data_dir, a_folder_without_write_permission_is_read_only)
{
    const char *path = test_tmpdir();
    struct cor_data_dir *dir;
    int status;
    pid_t pid;

    assert_int_equal(chmod(path, 0555), 0);
    pid = fork();
    if (pid == 0) {
        struct cor_status st;
        int r;

        if (geteuid() == 0 && setuid(65534) < 0)
            _exit(2);
        cor_status_init(&st);
        r = cor_data_dir_open(path, false, &dir, &st);
        _exit(r == -COR_EREADONLY && strstr(cor_status_message(&st), path) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    chmod(path, 0700);
}

TEST(data_dir, survives_failed_allocations)
{
    const char *path = test_tmpdir();

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_data_dir *dir = NULL;
        int r = cor_data_dir_open(path, false, &dir, NULL);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        cor_data_dir_free(dir);
    }
}
