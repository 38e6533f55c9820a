/* A job that keeps an offload thread busy until the test lets it go: how a test shows what happens
 * while the threads have no time. The job is the caller's memory, from its begin to its end.
 * Thread: the one of the loop. A failure ends the test. */
#ifndef COR_TEST_BUSY_THREAD_H
#define COR_TEST_BUSY_THREAD_H

#include "base/cleanup.h"
#include "loop/loop.h"
#include "loop/offload.h"
#include "test.h"

#include <semaphore.h>

#define BUSY_THREAD_TIMEOUT_MS 60000

struct busy_thread {
    struct cor_job job;
    sem_t begun, gate;
    bool is_done;
};

static inline void busy_thread_wait(sem_t *sem)
{
    while (sem_wait(sem) != 0)
        ;
}

static inline void busy_thread_run(struct cor_job *job)
{
    struct busy_thread *busy = COR_CONTAINER_OF(job, struct busy_thread, job);

    sem_post(&busy->begun);
    busy_thread_wait(&busy->gate);
}

static inline void busy_thread_on_done(struct cor_job *job)
{
    COR_CONTAINER_OF(job, struct busy_thread, job)->is_done = true;
}

static inline bool busy_thread_is_done(void *arg)
{
    return ((struct busy_thread *)arg)->is_done;
}

/* Takes a place among the jobs of that owner (0: of nobody). The job waits in the queue while
 * every thread is busy with others. */
static inline void busy_thread_queue(struct busy_thread *busy, struct cor_offload *offload,
                                     struct cor_loop *loop, uint64_t owner)
{
    *busy = (struct busy_thread){.job = {.run = busy_thread_run,
                                         .on_done = busy_thread_on_done,
                                         .loop = loop,
                                         .bytes = 1,
                                         .owner = owner}};
    assert_int_equal(sem_init(&busy->begun, 0, 0), 0);
    assert_int_equal(sem_init(&busy->gate, 0, 0), 0);
    assert_int_equal(cor_offload_submit(offload, &busy->job), 0);
}

/* As busy_thread_queue(), and returns when a thread has taken the job. */
static inline void busy_thread_begin(struct busy_thread *busy, struct cor_offload *offload,
                                     struct cor_loop *loop, uint64_t owner)
{
    busy_thread_queue(busy, offload, loop, owner);
    busy_thread_wait(&busy->begun);
}

/* Lets the thread go; the loop learns of it later. */
static inline void busy_thread_let_go(struct busy_thread *busy)
{
    sem_post(&busy->gate);
}

/* Runs the loop until a job that was let go has ended, and frees what it held. */
static inline void busy_thread_join(struct busy_thread *busy)
{
    assert_true(
        cor_loop_run_until(busy->job.loop, busy_thread_is_done, busy, BUSY_THREAD_TIMEOUT_MS));
    assert_int_equal(sem_destroy(&busy->gate), 0);
    assert_int_equal(sem_destroy(&busy->begun), 0);
}

static inline void busy_thread_end(struct busy_thread *busy)
{
    busy_thread_let_go(busy);
    busy_thread_join(busy);
}

#endif
