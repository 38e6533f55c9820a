#include "storage/sqlite/checkpointer.h"

#include <pthread.h>
#include <stdio.h>

#include "base/deadline.h"
#include "base/lock.h"
#include "base/mem.h"

/* A checkpoint goes over what was written during the one before, until nothing is left: only then
 * does the log begin again at its start, where writing is cheapest. */
#define PASSES_MAX 4

struct cor_checkpointer {
    struct cor_sqlite_db *db; /* the thread's */
    pthread_t thread;
    struct cor_lock lock;       /* a leaf; guards what follows */
    struct cor_cond wake, done; /* CLOCK_MONOTONIC */
    uint64_t asked, finished;   /* numbers of checkpoints */
    bool stopping;
    int err;
    char message[640];
};

/* A full disk or a reader in the way passes; the next one tries again. */
static bool is_lasting(int err)
{
    return err == -COR_EIO || err == -COR_ECORRUPT;
}

static void finish_locked(struct cor_checkpointer *cp, uint64_t number, int err)
{
    cp->finished = number;
    if (err < 0 && is_lasting(err)) {
        cp->err = err;
        snprintf(cp->message, sizeof(cp->message), "%s: checkpoint: %s", cp->db->path,
                 cp->db->message);
    }
    cor_cond_broadcast(&cp->done);
}

static int checkpoint(struct cor_sqlite_db *db)
{
    int log = 0, done = 0, rc = SQLITE_OK;

    for (int pass = 0; pass < PASSES_MAX && rc == SQLITE_OK && (pass == 0 || done < log); pass++)
        rc = sqlite3_wal_checkpoint_v2(db->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &log, &done);
    return rc == SQLITE_OK ? 0 : cor_sqlite_db_failed(db, rc);
}

static void *checkpoint_main(void *arg)
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
        r = checkpoint(cp->db);
        cor_lock_acquire(&cp->lock);
        finish_locked(cp, number, r);
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
        return cor_status_set(reterr_status, -COR_ENOMEM, "%s", cor_err_text(-COR_ENOMEM));
    r = cor_sqlite_db_open(path, COR_SQLITE_HELPER, &cp->db, reterr_status);
    if (r < 0) {
        cor_free(cp);
        return r;
    }
    cor_lock_init(&cp->lock, COR_LOCK_CHECKPOINTER);
    cor_cond_init(&cp->wake);
    cor_cond_init(&cp->done);
    if (pthread_create(&cp->thread, NULL, checkpoint_main, cp) != 0) {
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
