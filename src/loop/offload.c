/* clang-format off */
/* Two queues under one lock, and a few threads that take jobs from them in turns. The thread that
 * has run a job gives its bytes back and mails it to its loop; mail that answers a request is never
 * refused.
 *
 *   loop: submit ──► queue ──┐
 *   loop: submit_owed ──► owed ──┴──► thread: run ──► mailbox of the loop ──► loop: on_done
 *
 * A job that waits can be withdrawn, as that of a client who has left: it goes straight into the
 * mailbox.
 *
 * Failures: a full queue refuses; `owed` has no maximum. Shutdown: free() sets `stopping`; the
 * threads leave when both are empty, so that every job that was accepted, and not withdrawn, runs.
 * Locks: `lock` is a leaf. A job's memory goes over from the loop to the thread under it, and back under the mailbox's
 * lock. */
/* clang-format on */
#include "loop/offload.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"
#include "loop/loop.h"

/* The jobs that wait or run, and their bytes, of one owner or of the few owners that share a slot.
 */
struct share {
    size_t jobs, bytes;
};

struct cor_offload {
    struct cor_offload_opts opts;
    struct cor_lock lock; /* guards all that follows, except for the threads */
    struct cor_cond more; /* there is a job, or it is time to stop */
    struct cor_dlist queue, owed;
    bool owed_is_next; /* when both have jobs */
    bool stopping;
    size_t nqueued, bytes; /* what the maxima count: jobs in `queue`; bytes that wait or run */
    struct cor_offload_stats stats;
    struct share shares[COR_OFFLOAD_OWNERS];
    size_t nstarted;
    pthread_t threads[];
};

static void on_job_mail(struct cor_mail *mail)
{
    struct cor_job *job = COR_CONTAINER_OF(mail, struct cor_job, mail);

    job->on_done(job);
}

/* The job leaves its queue, with the lock held. */
static void offload_unqueue(struct cor_offload *o, struct cor_job *job)
{
    cor_dlist_remove(&job->link);
    job->is_waiting = false;
    o->stats.waiting--;
    o->nqueued -= !job->is_owed;
}

/* The first job of the queue whose turn it is, or of the other one; NULL: both are empty. */
static struct cor_job *offload_pop(struct cor_offload *o)
{
    bool takes_owed = !cor_dlist_empty(&o->owed) && (o->owed_is_next || cor_dlist_empty(&o->queue));
    struct cor_dlist *from = takes_owed ? &o->owed : &o->queue;
    struct cor_job *job;

    if (cor_dlist_empty(from))
        return NULL;
    job = COR_CONTAINER_OF(from->next, struct cor_job, link);
    o->owed_is_next = !takes_owed;
    offload_unqueue(o, job);
    return job;
}

/* The next job, or NULL when there is none and none will come. */
static struct cor_job *offload_take_job(struct cor_offload *o)
{
    struct cor_job *job;

    cor_lock_acquire(&o->lock);
    while (!(job = offload_pop(o)) && !o->stopping)
        cor_cond_wait(&o->more, &o->lock);
    cor_lock_release(&o->lock);
    return job;
}

/* Has a name of its own so that a profile shows what jobs cost. */
__attribute__((noinline)) static void offload_run_job(struct cor_job *job)
{
    cor_lock_assert_none();
    job->run(job);
}

static struct share *offload_share_of(struct cor_offload *o, const struct cor_job *job)
{
    return &o->shares[job->owner % COR_OFFLOAD_OWNERS];
}

static void offload_give_back_locked(struct cor_offload *o, const struct cor_job *job)
{
    struct share *share = offload_share_of(o, job);

    o->stats.bytes -= job->bytes;
    if (!job->is_owed)
        o->bytes -= job->bytes;
    if (!job->is_owed && job->owner != 0) {
        share->bytes -= job->bytes;
        share->jobs--;
    }
}

static void offload_give_back(struct cor_offload *o, const struct cor_job *job)
{
    if (job->bytes == 0 && job->owner == 0)
        return;
    cor_lock_acquire(&o->lock);
    offload_give_back_locked(o, job);
    cor_lock_release(&o->lock);
}

static void offload_answer(struct cor_job *job)
{
    job->mail.on_mail = on_job_mail;
    cor_loop_post_always(job->loop, &job->mail);
}

static void *offload_thread_main(void *arg)
{
    struct cor_offload *o = arg;
    struct cor_job *job;

    pthread_setname_np(pthread_self(), "cor-offload");
    while ((job = offload_take_job(o))) {
        offload_run_job(job);
        offload_give_back(o, job);
        offload_answer(job);
    }
    return NULL;
}

/* The threads take no signals: those are for the program's main thread. */
static int offload_start_threads(struct cor_offload *o)
{
    sigset_t all, old;
    int r = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    while (r == 0 && o->nstarted < o->opts.nthreads) {
        if (pthread_create(&o->threads[o->nstarted], NULL, offload_thread_main, o) != 0)
            r = -COR_EIO;
        else
            o->nstarted++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r;
}

int cor_offload_new(const struct cor_offload_opts *opts, struct cor_offload **ret_offload)
{
    struct cor_offload *o;
    int r;

    assert(opts->nthreads > 0);
    o = cor_calloc(1, sizeof(*o) + opts->nthreads * sizeof(o->threads[0]));
    if (!o)
        return -COR_ENOMEM;
    o->opts = *opts;
    cor_lock_init(&o->lock, COR_LOCK_OFFLOAD);
    cor_cond_init(&o->more);
    cor_dlist_init(&o->queue);
    cor_dlist_init(&o->owed);
    r = offload_start_threads(o);
    if (r < 0) {
        cor_offload_free(o);
        return r;
    }
    *ret_offload = o;
    return 0;
}

struct cor_offload *cor_offload_free(struct cor_offload *o)
{
    if (!o)
        return NULL;
    cor_lock_acquire(&o->lock);
    o->stopping = true;
    cor_cond_broadcast(&o->more);
    cor_lock_release(&o->lock);
    for (size_t i = 0; i < o->nstarted; i++)
        pthread_join(o->threads[i], NULL);
    assert(cor_dlist_empty(&o->queue) && cor_dlist_empty(&o->owed) && o->stats.bytes == 0);
    cor_cond_deinit(&o->more);
    cor_lock_deinit(&o->lock);
    return cor_free(o);
}

/* A job that is alone may have more than the maximum. */
static bool offload_has_room(size_t used, size_t n, size_t max)
{
    return used == 0 || (n <= max && used <= max - n);
}

static bool offload_is_within_share(struct cor_offload *o, const struct cor_job *job)
{
    const struct share *share = offload_share_of(o, job);

    return job->owner == 0 || (share->jobs < (o->opts.jobs_max + 1) / 2 &&
                               offload_has_room(share->bytes, job->bytes, o->opts.bytes_max / 2));
}

static bool offload_has_place(struct cor_offload *o, const struct cor_job *job)
{
    return o->nqueued < o->opts.jobs_max && offload_is_within_share(o, job) &&
           offload_has_room(o->bytes, job->bytes, o->opts.bytes_max);
}

static void offload_charge(struct cor_offload *o, const struct cor_job *job)
{
    o->nqueued++;
    o->bytes += job->bytes;
    if (job->owner != 0) {
        offload_share_of(o, job)->bytes += job->bytes;
        offload_share_of(o, job)->jobs++;
    }
}

static int offload_submit(struct cor_offload *o, struct cor_job *job)
{
    int r = 0;

    assert(job->run && job->on_done && cor_loop_is_current(job->loop));
    cor_lock_acquire(&o->lock);
    assert(!o->stopping);
    if (job->is_owed || offload_has_place(o, job)) {
        cor_dlist_push(job->is_owed ? &o->owed : &o->queue, &job->link);
        job->is_waiting = true;
        o->stats.jobs++;
        o->stats.waiting++;
        o->stats.bytes += job->bytes;
        if (!job->is_owed)
            offload_charge(o, job);
    } else {
        o->stats.refused++;
        r = -COR_EBUSY;
    }
    cor_lock_release(&o->lock);
    /* After the lock is free, so that the thread does not wake only to wait for it. The queue
     * cannot be freed meanwhile: the job's end needs a turn of this loop. */
    if (r == 0)
        cor_cond_signal(&o->more);
    return r;
}

int cor_offload_submit(struct cor_offload *o, struct cor_job *job)
{
    job->is_owed = false;
    return offload_submit(o, job);
}

void cor_offload_submit_owed(struct cor_offload *o, struct cor_job *job)
{
    job->is_owed = true;
    (void)offload_submit(o, job);
}

bool cor_offload_withdraw(struct cor_offload *o, struct cor_job *job)
{
    bool waited;

    assert(cor_loop_is_current(job->loop));
    cor_lock_acquire(&o->lock);
    waited = job->is_waiting;
    if (waited) {
        offload_unqueue(o, job);
        offload_give_back_locked(o, job);
        o->stats.unrun++;
    }
    cor_lock_release(&o->lock);
    if (waited)
        offload_answer(job);
    return waited;
}

void cor_offload_get_stats(struct cor_offload *o, struct cor_offload_stats *ret_stats)
{
    cor_lock_acquire(&o->lock);
    *ret_stats = o->stats;
    cor_lock_release(&o->lock);
}
