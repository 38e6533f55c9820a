/* PEM files on disk. A file is read whole. It is written beside the old one (`.new`), synced,
 * given its mode and renamed, and its folder is synced, so that after a crash there is the old one
 * or the new one. A failure before that removes the new file. The buffer that is read into may
 * have held a key, and is wiped. Thread: any; the calls block. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "net/crypto/cert.h"

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

int cor_pem_load(const char *path, struct cor_buf *out)
{
    COR_CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
    char piece[4096]; /* it may hold a key */
    ssize_t n = 1;
    int r = 0;

    if (fd < 0)
        return errno == ENOENT ? -COR_ENOTFOUND : -COR_EIO;
    while (r == 0 && n != 0) {
        n = read(fd, piece, sizeof(piece));
        if (n > 0)
            r = cor_buf_add(out, piece, (size_t)n);
        else if (n < 0 && errno != EINTR)
            r = -COR_EIO;
    }
    explicit_bzero(piece, sizeof(piece));
    return r;
}

static int write_all(int fd, struct cor_str s)
{
    while (s.n > 0) {
        ssize_t n = write(fd, s.p, s.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -COR_EIO;
        s = cor_str_from(s, (size_t)n);
    }
    return fsync(fd) == 0 ? 0 : -COR_EIO;
}

static int sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    COR_CLEANUP(cor_freep)
    char *folder =
        slash ? cor_strndup(path, slash == path ? 1 : (size_t)(slash - path)) : cor_strdup(".");
    COR_CLEANUP(close_fd) int fd = -1;

    if (!folder)
        return -COR_ENOMEM;
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 && fsync(fd) == 0 ? 0 : -COR_EIO;
}

int cor_pem_save(const char *path, struct cor_str pem, unsigned mode)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf temp;
    COR_CLEANUP(close_fd) int fd = -1;
    int r;

    cor_buf_init(&temp, PATH_MAX);
    r = cor_buf_addf(&temp, "%s.new", path);
    if (r < 0)
        return r == -COR_ENOMEM ? r : -COR_EIO;
    unlink(temp.p);
    fd = open(temp.p, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return -COR_EIO;
    r = write_all(fd, pem);
    if (r == 0 && (fchmod(fd, mode) != 0 || rename(temp.p, path) != 0))
        r = -COR_EIO;
    if (r < 0) {
        unlink(temp.p);
        return r;
    }
    return sync_folder_of(path);
}
