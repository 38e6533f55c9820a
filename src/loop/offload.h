/* Threads for work that would keep a loop from its sockets: a large body is decoded, a large object
 * is patched or printed. A job is a function without I/O over memory that it alone has while it
 * runs, or that never changes. Its end is a mail to the loop that submitted it.
 *
 * Jobs wait in one queue, first come, first served, within a maximum of jobs and of bytes: what
 * they work on stays in memory meanwhile. A job may say whose work it is, and then this owner has
 * no more than half of both maxima, so that the others find a place.
 *
 * Work that is owed, because what it belongs to has happened already, is never refused. It waits in
 * a queue of its own, and the threads take from both queues in turns, so that neither can hold up
 * the other. Owner: the server.  Thread: new and free on the maker's; submit on the job's loop. */
#ifndef COR_LOOP_OFFLOAD_H
#define COR_LOOP_OFFLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/mailbox.h"

struct cor_loop;
struct cor_offload;

/* The number of owners that are distinguished; of two that share a place, each may be refused
 * because of the other. */
#define COR_OFFLOAD_OWNERS 256

struct cor_offload_opts {
    size_t nthreads;  /* at least 1 */
    size_t jobs_max;  /* that wait */
    size_t bytes_max; /* of all jobs that wait or run; one job alone may have more */
};

/* Embedded in what it works for, which stays until on_done. */
struct cor_job {
    void (*run)(struct cor_job *job);     /* on one of the threads */
    void (*on_done)(struct cor_job *job); /* on the loop, in a later turn; the job is free again */
    struct cor_loop *loop;
    size_t bytes;    /* what it is charged with */
    uint64_t owner;  /* whose work it is, by a hash; 0: nobody's, only the maxima of all count */
    bool is_owed;    /* set by submit */
    bool is_waiting; /* under the queues' lock: no thread has it yet */
    struct cor_dlist link;
    struct cor_mail mail;
};

/* 0, -COR_ENOMEM, -COR_EIO (no thread could be created). */
int cor_offload_new(const struct cor_offload_opts *opts, struct cor_offload **ret_offload);

/* Finishes the jobs that are there, joins the threads. No job may be submitted any more; those
 * whose on_done has not run yet are in the mailboxes of their loops, which must outlive this. NULL
 * is fine; returns NULL. */
struct cor_offload *cor_offload_free(struct cor_offload *offload);

/* `run`, `on_done`, `loop`, `bytes` and `owner` are set. 0: on_done follows; or -COR_EBUSY (one of
 * the maxima is reached; nothing follows). */
int cor_offload_submit(struct cor_offload *offload, struct cor_job *job);

/* As cor_offload_submit(), for work that is owed: on_done follows. The maxima do not count it; the
 * caller has a bound for the number of such jobs. */
void cor_offload_submit_owed(struct cor_offload *offload, struct cor_job *job);

/* Withdraws a job that was submitted and whose on_done has not run, because nobody wants its
 * result any more. True: it still waited, and `run` is not called; on_done follows as it does
 * otherwise. False: a thread has it, or has ended it. On the job's loop. */
bool cor_offload_withdraw(struct cor_offload *offload, struct cor_job *job);

struct cor_offload_stats {
    uint64_t jobs;    /* submitted since the start */
    uint64_t refused; /* with -COR_EBUSY */
    uint64_t unrun;   /* that were withdrawn */
    uint64_t waiting; /* now, in both queues */
    uint64_t bytes;   /* now, of jobs that wait or run */
};

/* From any thread. */
void cor_offload_get_stats(struct cor_offload *offload, struct cor_offload_stats *ret_stats);

#endif
