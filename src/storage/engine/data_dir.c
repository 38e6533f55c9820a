/* The data folder: made when it is not there, locked by one process, and the path of its store
 * file. A step that fails leaves what was made before it on the disk, and returns the file and the
 * reason. A lock that another process holds is reported with its pid. A read-only opener takes no
 * lock and makes nothing. What is made is synced, with the folder it is in. Thread: any; blocking.
 */
#include "storage/engine/data_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define STORE_FILE "store.db"

struct cor_data_dir {
    int lock_fd; /* -1: read-only, no lock */
    char *store;
};

static int dir_fail(struct cor_status *reterr_status, const char *doing, const char *path)
{
    int e = errno;
    int err;

    switch (e) {
    case ENOSPC:
    case EDQUOT:
        err = -COR_ENOSPC;
        break;
    case EROFS:
    case EACCES:
    case EPERM:
        err = -COR_EREADONLY;
        break;
    case ENOENT:
        err = -COR_ENOTFOUND;
        break;
    case EEXIST:
        err = -COR_EEXIST;
        break;
    case ENOMEM:
        err = -COR_ENOMEM;
        break;
    default:
        err = -COR_EIO;
    }
    return cor_status_set(reterr_status, err, "%s %s: %s", doing, path, strerror(e));
}

static int dir_sync_parent(const char *path, struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_freep) char *copy = cor_strdup(path);
    int fd, r = 0;

    if (!copy)
        return cor_status_no_memory(reterr_status);
    fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return dir_fail(reterr_status, "open the folder of", path);
    if (fsync(fd) < 0)
        r = dir_fail(reterr_status, "sync the folder of", path);
    close(fd);
    return r;
}

int cor_data_dir_create_file(const char *path, bool exclusive, struct cor_status *reterr_status)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int r = 0;

    if (fd < 0 && errno == EEXIST && !exclusive)
        return 0;
    if (fd < 0)
        return dir_fail(reterr_status, "create", path);
    if (fchmod(fd, 0600) < 0)
        r = dir_fail(reterr_status, "set the mode of", path);
    close(fd);
    return r < 0 ? r : dir_sync_parent(path, reterr_status);
}

static int dir_make(const char *path, struct cor_status *reterr_status)
{
    struct stat st;

    if (mkdir(path, 0700) == 0) {
        if (chmod(path, 0700) < 0)
            return dir_fail(reterr_status, "set the mode of", path);
        return dir_sync_parent(path, reterr_status);
    }
    if (errno != EEXIST)
        return dir_fail(reterr_status, "create the data folder", path);
    if (stat(path, &st) < 0)
        return dir_fail(reterr_status, "open the data folder", path);
    if (!S_ISDIR(st.st_mode))
        return cor_status_set(reterr_status, -COR_EIO, "data folder %s is not a folder", path);
    return 0;
}

static int dir_locked_error(int fd, const char *path, struct cor_status *reterr_status)
{
    char pid[24] = "";
    ssize_t n = pread(fd, pid, sizeof(pid) - 1, 0);

    if (n <= 0)
        return cor_status_set(reterr_status, -COR_ELOCKED, "%s is held by another process", path);
    pid[strcspn(pid, "\n")] = '\0';
    return cor_status_set(reterr_status, -COR_ELOCKED, "%s is held by process %s", path, pid);
}

/* The file stays when the lock is released: removing it would let two processes lock two files of
 * the same name. */
static int dir_take_lock(const char *dir, const char *file, int *ret_fd,
                         struct cor_status *reterr_status)
{
    char pid[24];
    int n = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    int fd, r;

    r = cor_data_dir_create_file(file, false, reterr_status);
    if (r < 0)
        return r;
    fd = open(file, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return dir_fail(reterr_status, "open", file);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        r = errno == EWOULDBLOCK ? dir_locked_error(fd, dir, reterr_status)
                                 : dir_fail(reterr_status, "lock", file);
    else if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)n, 0) != n)
        r = dir_fail(reterr_status, "write", file);
    if (r < 0) {
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

static char *dir_join(const char *dir, const char *name)
{
    struct cor_buf b;

    cor_buf_init(&b, 4096);
    if (cor_buf_addf(&b, "%s/%s", dir, name) < 0) {
        cor_buf_deinit(&b);
        return NULL;
    }
    return cor_buf_steal(&b, NULL);
}

bool cor_data_dir_has_store(const char *path)
{
    COR_CLEANUP(cor_freep) char *store = dir_join(path, STORE_FILE);

    /* Without memory the opening says so. */
    return !store || access(store, F_OK) == 0;
}

int cor_data_dir_open(const char *path, bool read_only, struct cor_data_dir **ret_dir,
                      struct cor_status *reterr_status)
{
    COR_CLEANUP(cor_data_dir_freep) struct cor_data_dir *dir = cor_calloc(1, sizeof(*dir));
    COR_CLEANUP(cor_freep) char *lock = dir_join(path, "lock");
    int r;

    if (dir) {
        dir->lock_fd = -1;
        dir->store = dir_join(path, STORE_FILE);
    }
    if (!dir || !lock || !dir->store)
        return cor_status_no_memory(reterr_status);
    if (read_only) {
        if (access(dir->store, F_OK) < 0)
            return dir_fail(reterr_status, "open", dir->store);
    } else {
        r = dir_make(path, reterr_status);
        if (r < 0)
            return r;
        r = dir_take_lock(path, lock, &dir->lock_fd, reterr_status);
        if (r < 0)
            return r;
        r = cor_data_dir_create_file(dir->store, false, reterr_status);
        if (r < 0)
            return r;
    }
    *ret_dir = COR_STEAL(dir);
    return 0;
}

struct cor_data_dir *cor_data_dir_free(struct cor_data_dir *dir)
{
    if (dir) {
        if (dir->lock_fd >= 0)
            close(dir->lock_fd);
        cor_free(dir->store);
        cor_free(dir);
    }
    return NULL;
}

const char *cor_data_dir_store(const struct cor_data_dir *dir)
{
    return dir->store;
}
