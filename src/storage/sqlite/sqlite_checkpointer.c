/* One thread with a connection of its own that copies the write-ahead log back into the file, so
 * that the writer never does. Checkpoints have numbers: `asked` is the last that was asked for,
 * `finished` the last that is done; one run serves all that were asked for before it began.
 *
 * Failures. A full disk, or a reader that still needs the log, ends one checkpoint; the next one
 * tries again. An I/O error or corruption is kept in `err`: no checkpoint runs any more, and the
 * engine takes no more writes when it sees it (cor_checkpointer_error()).
 *
 * Thread: checkpointer_main() on its own; the rest from the engine's. */
#include "storage/sqlite/sqlite_checkpointer.h"

#include <pthread.h>
#include <stdio.h>

#include "base/deadline.h"
#include "base/lock.h"
#include "base/mem.h"

/* A checkpoint is repeated over what was written during the pass before, until nothing is left.
 * Only then does SQLite write from the start of the log again, which keeps the log short. */
#define PASSES_MAX 4

struct cor_checkpointer {
    struct cor_sqlite_db *db; /* the thread's */
    pthread_t thread;
    struct cor_lock lock; /* guards the fields below */
    struct cor_cond wake, done;
    uint64_t asked, finished; /* numbers of checkpoints */
    bool stopping;
    int err;
    char message[640];
};

/* A full disk or a blocking reader is temporary: the next checkpoint may succeed. */
static bool checkpointer_error_lasts(int err)
{
    return err == -COR_EIO || err == -COR_ECORRUPT;
}

static void checkpointer_finish_locked(struct cor_checkpointer *cp, uint64_t number, int err)
{
    cp->finished = number;
    if (err < 0 && checkpointer_error_lasts(err)) {
        cp->err = err;
        snprintf(cp->message, sizeof(cp->message), "%s: checkpoint: %s", cp->db->path,
                 cp->db->message);
    }
    cor_cond_broadcast(&cp->done);
}

static int checkpointer_run(struct cor_sqlite_db *db)
{
    int log = 0, done = 0, rc = SQLITE_OK;

    for (int pass = 0; pass < PASSES_MAX && rc == SQLITE_OK && (pass == 0 || done < log); pass++)
        rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &done);
    return rc == SQLITE_OK ? 0 : cor_sqlite_db_failed(db, rc);
}

static void *checkpointer_main(void *arg)
{
    struct cor_checkpointer *cp = arg;

    pthread_setname_np(pthread_self(), "cor-checkpoint");
    cor_lock_acquire(&cp->lock);
    for (;;) {
        uint64_t number;
        int r;

        while (!cp->stopping && (cp->err < 0 || cp->finished == cp->asked))
            cor_cond_wait(&cp->wake, &cp->lock);
        if (cp->stopping)
            break;
        number = cp->asked;
        cor_lock_release(&cp->lock);
        r = checkpointer_run(cp->db);
        cor_lock_acquire(&cp->lock);
        checkpointer_finish_locked(cp, number, r);
    }
    cor_lock_release(&cp->lock);
    return NULL;
}

int cor_checkpointer_new(const char *path, struct cor_checkpointer **ret_checkpointer,
                         struct cor_status *reterr_status)
{
    struct cor_checkpointer *cp = cor_calloc(1, sizeof(*cp));
    int r;

    if (!cp)
        return cor_status_no_memory(reterr_status);
    r = cor_sqlite_db_open(path, COR_SQLITE_HELPER, &cp->db, reterr_status);
    if (r < 0) {
        cor_free(cp);
        return r;
    }
    cor_lock_init(&cp->lock, COR_LOCK_CHECKPOINTER);
    cor_cond_init(&cp->wake);
    cor_cond_init(&cp->done);
    if (pthread_create(&cp->thread, NULL, checkpointer_main, cp) != 0) {
        cor_cond_deinit(&cp->wake);
        cor_cond_deinit(&cp->done);
        cor_lock_deinit(&cp->lock);
        cor_sqlite_db_free(cp->db);
        cor_free(cp);
        return cor_status_set(reterr_status, -COR_EIO, "start a checkpoint thread for %s", path);
    }
    *ret_checkpointer = cp;
    return 0;
}

void cor_checkpointer_stop(struct cor_checkpointer *cp)
{
    if (cp->stopping)
        return;
    cor_lock_acquire(&cp->lock);
    cp->stopping = true;
    cor_cond_signal(&cp->wake);
    cor_lock_release(&cp->lock);
    pthread_join(cp->thread, NULL);
}

struct cor_checkpointer *cor_checkpointer_free(struct cor_checkpointer *cp)
{
    if (!cp)
        return NULL;
    cor_checkpointer_stop(cp);
    cor_sqlite_db_free(cp->db);
    cor_cond_deinit(&cp->wake);
    cor_cond_deinit(&cp->done);
    cor_lock_deinit(&cp->lock);
    return cor_free(cp);
}

void cor_checkpointer_ask(struct cor_checkpointer *cp)
{
    cor_lock_acquire(&cp->lock);
    cp->asked++;
    cor_cond_signal(&cp->wake);
    cor_lock_release(&cp->lock);
}

void cor_checkpointer_wait(struct cor_checkpointer *cp, uint64_t timeout_ms)
{
    struct timespec until = cor_deadline_in_ms(timeout_ms);
    uint64_t number;
    bool in_time = true;

    cor_lock_acquire(&cp->lock);
    number = ++cp->asked;
    cor_cond_signal(&cp->wake);
    while (in_time && cp->err == 0 && cp->finished < number)
        in_time = cor_cond_wait_until(&cp->done, &cp->lock, &until);
    cor_lock_release(&cp->lock);
}

int cor_checkpointer_error(struct cor_checkpointer *cp, char *ret_message, size_t n)
{
    int err;

    cor_lock_acquire(&cp->lock);
    err = cp->err;
    if (err < 0)
        snprintf(ret_message, n, "%s", cp->message);
    cor_lock_release(&cp->lock);
    return err;
}
