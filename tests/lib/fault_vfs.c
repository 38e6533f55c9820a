#include "fault_vfs.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#define TRACKED_MAX 16

/* What one unsynced write or truncation replaced. */
struct undo {
    struct undo *older;
    sqlite3_int64 at, size_before;
    int len;
    char bytes[];
};

/* A file by name, because one connection's sync also covers what another has written to it. */
struct tracked {
    char *path;
    struct undo *newest;
};

struct shim_file {
    sqlite3_file base;
    sqlite3_file *real;
    enum fault_file kind;
    const char *name; /* SQLite's, valid until xClose; NULL for temporary files */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* plan, countdown, tracked files */
static struct fault_plan plan;
static uint64_t countdown;
static struct tracked tracked[TRACKED_MAX];
static _Atomic uint64_t fired, counts[FAULT_OPS][FAULT_FILES];
static _Thread_local uint64_t synced_ns;
static sqlite3_vfs shim, *real_vfs;
static sqlite3_io_methods shim_methods;

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((struct shim_file *)f)->real;
}

/* What is to be done with this operation; FAULT_NONE: just do it. */
static enum fault_action next_action(struct shim_file *f, enum fault_op op)
{
    enum fault_action action = FAULT_NONE;

    atomic_fetch_add(&counts[op][f->kind], 1);
    pthread_mutex_lock(&lock);
    if (plan.action != FAULT_NONE && plan.on == op &&
        (plan.files == 0 || (plan.files & (1u << f->kind)))) {
        if (countdown > 1) {
            countdown--;
        } else {
            action = plan.action;
            if (!plan.persistent)
                plan.action = FAULT_NONE;
            atomic_fetch_add(&fired, 1);
        }
    }
    pthread_mutex_unlock(&lock);
    return action;
}

/* NULL: never written while a power cut was planned, or (with `add`) too many files. */
static struct tracked *track_locked(const char *path, bool add)
{
    struct tracked *free_slot = NULL;

    for (size_t i = 0; path && i < TRACKED_MAX; i++) {
        if (tracked[i].path && strcmp(tracked[i].path, path) == 0)
            return &tracked[i];
        if (!tracked[i].path && !free_slot)
            free_slot = &tracked[i];
    }
    if (!path || !add || !free_slot)
        return NULL;
    free_slot->path = strdup(path);
    return free_slot;
}

static void forget_undo_locked(struct tracked *t)
{
    while (t && t->newest) {
        struct undo *u = t->newest;

        t->newest = u->older;
        free(u);
    }
}

static bool wants_undo(void)
{
    bool wanted;

    pthread_mutex_lock(&lock);
    wanted = plan.action == FAULT_POWER_CUT;
    pthread_mutex_unlock(&lock);
    return wanted;
}

/* Keeps what stands in [at, at + len) before it is overwritten or cut off. */
static void remember(struct shim_file *f, sqlite3_int64 at, sqlite3_int64 len)
{
    struct tracked *t;
    struct undo *u;
    sqlite3_int64 size = 0, there;

    if (!f->name || !wants_undo() || f->real->pMethods->xFileSize(f->real, &size) != SQLITE_OK)
        return;
    there = size > at ? size - at : 0;
    if (there > len)
        there = len;
    u = malloc(sizeof(*u) + (size_t)there);
    assert(u);
    u->at = at;
    u->size_before = size;
    u->len = (int)there;
    if (there)
        f->real->pMethods->xRead(f->real, u->bytes, u->len, at);
    pthread_mutex_lock(&lock);
    t = track_locked(f->name, true);
    assert(t);
    u->older = t->newest;
    t->newest = u;
    pthread_mutex_unlock(&lock);
}

static void undo_file(struct tracked *t)
{
    FILE *f = t->newest ? fopen(t->path, "r+b") : NULL;

    for (struct undo *u = t->newest; u && f; u = u->older) {
        if (pwrite(fileno(f), u->bytes, (size_t)u->len, u->at) != u->len ||
            ftruncate(fileno(f), u->size_before) != 0)
            perror("fault_vfs: undo");
    }
    if (f)
        fclose(f);
}

/* The lock stays held: no other thread may write between the undo and the end. */
_Noreturn static void power_cut(void)
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < TRACKED_MAX; i++)
        undo_file(&tracked[i]);
    raise(SIGKILL);
    abort();
}

static int shim_close(sqlite3_file *file)
{
    struct shim_file *f = (struct shim_file *)file;

    return f->real->pMethods->xClose(f->real);
}

static int shim_read(sqlite3_file *file, void *p, int n, sqlite3_int64 at)
{
    struct shim_file *f = (struct shim_file *)file;
    enum fault_action action = next_action(f, FAULT_READ);
    int rc;

    if (action == FAULT_ERROR)
        return SQLITE_IOERR_READ;
    if (action == FAULT_POWER_CUT)
        power_cut();
    rc = f->real->pMethods->xRead(f->real, p, n, at);
    if (action == FAULT_KILL)
        raise(SIGKILL);
    return rc;
}

static int shim_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
    struct shim_file *f = (struct shim_file *)file;
    enum fault_action action = next_action(f, FAULT_WRITE);
    bool half = action == FAULT_SHORT || action == FAULT_TORN_KILL;
    int rc;

    if (action == FAULT_POWER_CUT)
        power_cut();
    if (action == FAULT_ERROR)
        return SQLITE_IOERR_WRITE;
    if (action == FAULT_FULL)
        return SQLITE_FULL;
    remember(f, at, n);
    rc = f->real->pMethods->xWrite(f->real, p, half ? n / 2 : n, at);
    if (action == FAULT_KILL || action == FAULT_TORN_KILL)
        raise(SIGKILL);
    return action == FAULT_SHORT ? SQLITE_IOERR_WRITE : rc;
}

static int shim_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    struct shim_file *f = (struct shim_file *)file;

    remember(f, size, INT32_MAX);
    return f->real->pMethods->xTruncate(f->real, size);
}

static uint64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int shim_sync(sqlite3_file *file, int flags)
{
    struct shim_file *f = (struct shim_file *)file;
    enum fault_action action = next_action(f, FAULT_SYNC);
    int rc;

    if (action == FAULT_ERROR)
        return SQLITE_IOERR_FSYNC;
    if (action == FAULT_POWER_CUT)
        power_cut();
    rc = f->real->pMethods->xSync(f->real, flags);
    if (action == FAULT_KILL)
        raise(SIGKILL);
    if (f->kind == FAULT_WAL)
        synced_ns = now_ns();
    pthread_mutex_lock(&lock);
    forget_undo_locked(track_locked(f->name, false));
    pthread_mutex_unlock(&lock);
    return rc;
}

static int shim_file_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), ret);
}

static int shim_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int shim_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int shim_check_reserved_lock(sqlite3_file *f, int *ret)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), ret);
}

static int shim_file_control(sqlite3_file *f, int op, void *arg)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int shim_sector_size(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int shim_device_characteristics(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int shim_shm_map(sqlite3_file *f, int page, int size, int extend, void volatile **ret)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, ret);
}

static int shim_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void shim_shm_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int shim_shm_unmap(sqlite3_file *f, int delete_it)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), delete_it);
}

static int shim_fetch(sqlite3_file *f, sqlite3_int64 at, int n, void **ret)
{
    return real_of(f)->pMethods->xFetch(real_of(f), at, n, ret);
}

static int shim_unfetch(sqlite3_file *f, sqlite3_int64 at, void *p)
{
    return real_of(f)->pMethods->xUnfetch(real_of(f), at, p);
}

static sqlite3_io_methods shim_methods = {
    .iVersion = 3,
    .xClose = shim_close,
    .xRead = shim_read,
    .xWrite = shim_write,
    .xTruncate = shim_truncate,
    .xSync = shim_sync,
    .xFileSize = shim_file_size,
    .xLock = shim_lock,
    .xUnlock = shim_unlock,
    .xCheckReservedLock = shim_check_reserved_lock,
    .xFileControl = shim_file_control,
    .xSectorSize = shim_sector_size,
    .xDeviceCharacteristics = shim_device_characteristics,
    .xShmMap = shim_shm_map,
    .xShmLock = shim_shm_lock,
    .xShmBarrier = shim_shm_barrier,
    .xShmUnmap = shim_shm_unmap,
    .xFetch = shim_fetch,
    .xUnfetch = shim_unfetch,
};

static enum fault_file kind_of(int flags)
{
    if (flags & SQLITE_OPEN_MAIN_DB)
        return FAULT_MAIN;
    if (flags & SQLITE_OPEN_WAL)
        return FAULT_WAL;
    return flags & SQLITE_OPEN_MAIN_JOURNAL ? FAULT_JOURNAL : FAULT_OTHER;
}

static int shim_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                     int *ret_flags)
{
    struct shim_file *f = (struct shim_file *)file;
    int rc;

    (void)vfs;
    f->real = (sqlite3_file *)(f + 1);
    f->kind = kind_of(flags);
    f->name = name;
    rc = real_vfs->xOpen(real_vfs, name, f->real, flags, ret_flags);
    f->base.pMethods = f->real->pMethods ? &shim_methods : NULL;
    return rc;
}

/* A deleted file has nothing left to undo. */
static int shim_delete(sqlite3_vfs *vfs, const char *name, int sync_dir)
{
    (void)vfs;
    pthread_mutex_lock(&lock);
    forget_undo_locked(track_locked(name, false));
    pthread_mutex_unlock(&lock);
    return real_vfs->xDelete(real_vfs, name, sync_dir);
}

static const char *const action_words[FAULT_ACTIONS] = {
    "none", "error", "short", "full", "kill", "torn-kill", "power-cut",
};
static const char *const op_words[FAULT_OPS] = {"read", "write", "sync"};
static const char *const file_words[FAULT_FILES] = {"main", "wal", "journal", "other"};

static int word_index(const char *word, size_t len, const char *const *words, int nwords)
{
    for (int i = 0; i < nwords; i++) {
        if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
            return i;
    }
    return -1;
}

static bool parse_files(const char *text, size_t len, unsigned *ret)
{
    *ret = 0;
    while (len) {
        const char *plus = memchr(text, '+', len);
        size_t n = plus ? (size_t)(plus - text) : len;
        int i = word_index(text, n, file_words, FAULT_FILES);

        if (i < 0)
            return false;
        *ret |= 1u << i;
        text += n + (plus ? 1 : 0);
        len -= n + (plus ? 1 : 0);
    }
    return true;
}

static bool parse_field(const char *text, size_t len, struct fault_plan *p)
{
    const char *eq = memchr(text, '=', len);
    const char *value = eq ? eq + 1 : text + len;
    size_t name_len = eq ? (size_t)(eq - text) : len;
    size_t n = len - (size_t)(value - text);
    int i = -1;

    switch (word_index(text, name_len,
                       (const char *const[]){"action", "on", "files", "nth", "persistent"}, 5)) {
    case 0:
        i = word_index(value, n, action_words, FAULT_ACTIONS);
        p->action = i < 0 ? FAULT_NONE : (enum fault_action)i;
        return i > 0;
    case 1:
        i = word_index(value, n, op_words, FAULT_OPS);
        p->on = i < 0 ? FAULT_READ : (enum fault_op)i;
        return i >= 0;
    case 2:
        return parse_files(value, n, &p->files);
    case 3:
        p->nth = strtoull(value, NULL, 10);
        return p->nth > 0;
    case 4:
        p->persistent = true;
        return !eq;
    default:
        return false;
    }
}

static bool parse_plan(const char *text, struct fault_plan *ret)
{
    *ret = (struct fault_plan){.nth = 1, .on = FAULT_WRITE};
    while (*text) {
        size_t len = strcspn(text, ",");

        if (!parse_field(text, len, ret)) {
            fprintf(stderr, "%s: not understood: %.*s\n", FAULT_VFS_ENV, (int)len, text);
            return false;
        }
        text += len + (text[len] ? 1 : 0);
    }
    return true;
}

bool fault_vfs_install(void)
{
    const char *text = getenv(FAULT_VFS_ENV);
    struct fault_plan p = {.action = FAULT_NONE};

    if (text && !parse_plan(text, &p))
        return false;
    if (!real_vfs) {
        real_vfs = sqlite3_vfs_find(NULL);
        if (!real_vfs)
            return false;
        shim = *real_vfs;
        shim.zName = "fault";
        shim.szOsFile = (int)sizeof(struct shim_file) + real_vfs->szOsFile;
        shim.pNext = NULL;
        shim.xOpen = shim_open;
        shim.xDelete = shim_delete;
    }
    fault_vfs_plan(&p);
    return sqlite3_vfs_register(&shim, 1) == SQLITE_OK;
}

void fault_vfs_uninstall(void)
{
    fault_vfs_plan(NULL);
    sqlite3_vfs_register(real_vfs, 1);
}

void fault_vfs_plan(const struct fault_plan *p)
{
    pthread_mutex_lock(&lock);
    plan = p ? *p : (struct fault_plan){.action = FAULT_NONE};
    countdown = plan.nth ? plan.nth : 1;
    atomic_store(&fired, 0);
    for (size_t i = 0; i < TRACKED_MAX; i++)
        forget_undo_locked(&tracked[i]);
    pthread_mutex_unlock(&lock);
}

uint64_t fault_vfs_fired(void)
{
    return atomic_load(&fired);
}

uint64_t fault_vfs_count(enum fault_op op, enum fault_file file)
{
    return atomic_load(&counts[op][file]);
}

uint64_t fault_vfs_synced_ns(void)
{
    return synced_ns;
}
