#include "loop/offload.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "loop/loop.h"
#include "test.h"

#define PATIENCE_MS 60000

struct work {
    struct cor_job job;
    sem_t *gate; /* waited for by `run`; NULL: none */
    pthread_t ran_on;
    unsigned runs, ends;
    size_t ended_as; /* the how many-th */
    size_t *nended;
};

static void run(struct cor_job *job)
{
    struct work *work = COR_CONTAINER_OF(job, struct work, job);

    if (work->gate)
        while (sem_wait(work->gate) != 0)
            ;
    work->ran_on = pthread_self();
    work->runs++;
}

static void on_done(struct cor_job *job)
{
    struct work *work = COR_CONTAINER_OF(job, struct work, job);

    assert_true(cor_loop_is_current(job->loop));
    work->ends++;
    work->ended_as = ++*work->nended;
}

static struct work work_for(struct cor_loop *loop, size_t bytes, size_t *nended)
{
    return (struct work){.job = {.run = run, .on_done = on_done, .loop = loop, .bytes = bytes},
                         .nended = nended};
}

struct goal {
    const size_t *n;
    size_t want;
};

static bool is_reached(void *arg)
{
    const struct goal *goal = arg;

    return *goal->n >= goal->want;
}

static void open_both(struct cor_loop **loop, struct cor_offload **offload, size_t jobs_max,
                      size_t bytes_max)
{
    struct cor_offload_opts opts = {.nthreads = 2, .jobs_max = jobs_max, .bytes_max = bytes_max};

    assert_int_equal(cor_loop_new(4, loop), 0);
    assert_int_equal(cor_offload_new(&opts, offload), 0);
}

TEST(offload, runs_jobs_on_other_threads_and_ends_them_on_the_loop)
{
    enum { JOBS = 100 };
    struct work works[JOBS];
    struct cor_offload *offload;
    struct cor_loop *loop;
    size_t nended = 0;
    struct goal all = {&nended, JOBS};
    struct cor_offload_stats stats;

    open_both(&loop, &offload, JOBS, 1 << 20);
    for (size_t i = 0; i < JOBS; i++) {
        works[i] = work_for(loop, 10, &nended);
        assert_int_equal(cor_offload_submit(offload, &works[i].job), 0);
    }
    assert_true(cor_loop_run_until(loop, is_reached, &all, PATIENCE_MS));
    for (size_t i = 0; i < JOBS; i++) {
        assert_int_equal(works[i].runs, 1);
        assert_int_equal(works[i].ends, 1);
        assert_false(pthread_equal(works[i].ran_on, pthread_self()));
    }
    cor_offload_get_stats(offload, &stats);
    assert_int_equal(stats.jobs, JOBS);
    assert_int_equal(stats.bytes, 0);
    assert_null(cor_offload_free(offload));
    cor_loop_free(loop);
}

TEST(offload, one_owner_has_half_of_the_maxima)
{
    struct cor_offload *offload;
    struct cor_loop *loop;
    size_t nended = 0, n = 0;
    struct work works[8], mine, large;
    sem_t gate;

    sem_init(&gate, 0, 0);
    open_both(&loop, &offload, 8, 100);
    /* By bytes: 50 for one, and the rest stays for others. */
    for (; n < 3; n++) {
        works[n] = work_for(loop, n == 2 ? 11 : 20, &nended);
        works[n].gate = &gate;
        works[n].job.owner = 1;
        assert_int_equal(cor_offload_submit(offload, &works[n].job), n < 2 ? 0 : -COR_EBUSY);
    }
    large = work_for(loop, 60, &nended);
    large.job.owner = 2; /* its only one may have more than half */
    assert_int_equal(cor_offload_submit(offload, &large.job), 0);
    sem_post(&gate);
    sem_post(&gate);
    assert_true(cor_loop_run_until(loop, is_reached, &(struct goal){&nended, 3}, PATIENCE_MS));

    /* By number: four that wait or run. */
    for (n = 0; n < 5; n++) {
        works[n] = work_for(loop, 1, &nended);
        works[n].gate = &gate;
        works[n].job.owner = 1;
        assert_int_equal(cor_offload_submit(offload, &works[n].job), n < 4 ? 0 : -COR_EBUSY);
    }
    mine = work_for(loop, 1, &nended); /* nobody's */
    assert_int_equal(cor_offload_submit(offload, &mine.job), 0);
    for (n = 0; n < 4; n++)
        sem_post(&gate);
    assert_true(cor_loop_run_until(loop, is_reached, &(struct goal){&nended, 8}, PATIENCE_MS));
    cor_offload_free(offload);
    cor_loop_free(loop);
    sem_destroy(&gate);
}

TEST(offload, refuses_more_than_its_maxima)
{
    struct cor_offload *offload;
    struct cor_loop *loop;
    size_t nended = 0;
    struct work large, other, works[6];
    struct cor_offload_stats stats;
    struct goal all = {&nended, 6};
    sem_t gate;

    sem_init(&gate, 0, 0);
    open_both(&loop, &offload, 2, 100);
    large = work_for(loop, 1000, &nended); /* alone it may have more than the maximum */
    large.gate = &gate;
    other = work_for(loop, 1, &nended);
    assert_int_equal(cor_offload_submit(offload, &large.job), 0);
    assert_int_equal(cor_offload_submit(offload, &other.job), -COR_EBUSY);
    sem_post(&gate);
    assert_true(cor_loop_run_until(loop, is_reached, &(struct goal){&nended, 1}, PATIENCE_MS));

    /* Two run, two wait: there is no place for the fifth. */
    for (size_t i = 0; i < 4; i++) {
        works[i] = work_for(loop, 1, &nended);
        works[i].gate = &gate;
        while (cor_offload_submit(offload, &works[i].job) == -COR_EBUSY)
            sched_yield(); /* until a thread has taken one of the first two */
    }
    do {
        sched_yield();
        cor_offload_get_stats(offload, &stats);
    } while (stats.waiting < 2);
    works[4] = work_for(loop, 1, &nended);
    assert_int_equal(cor_offload_submit(offload, &works[4].job), -COR_EBUSY);
    cor_offload_get_stats(offload, &stats);
    assert_true(stats.refused >= 2);
    for (size_t i = 0; i < 4; i++)
        sem_post(&gate);
    assert_true(cor_loop_run_until(loop, is_reached, &(struct goal){&nended, 5}, PATIENCE_MS));
    assert_int_equal(cor_offload_submit(offload, &works[4].job), 0);
    assert_true(cor_loop_run_until(loop, is_reached, &all, PATIENCE_MS));
    cor_offload_free(offload);
    cor_loop_free(loop);
    sem_destroy(&gate);
}

/* One thread, which is held by its first job while the others arrive. */
TEST(offload, what_is_owed_is_never_refused_and_takes_turns_with_the_rest)
{
    struct cor_offload_opts opts = {.nthreads = 1, .jobs_max = 2, .bytes_max = 100};
    struct cor_offload_stats stats;
    struct cor_offload *offload;
    struct work first, works[2], owed[4];
    struct cor_loop *loop;
    size_t nended = 0;
    struct goal all = {&nended, 7};
    sem_t gate;

    sem_init(&gate, 0, 0);
    assert_int_equal(cor_loop_new(4, &loop), 0);
    assert_int_equal(cor_offload_new(&opts, &offload), 0);
    first = work_for(loop, 1, &nended);
    first.gate = &gate;
    assert_int_equal(cor_offload_submit(offload, &first.job), 0);
    do {
        sched_yield();
        cor_offload_get_stats(offload, &stats);
    } while (stats.waiting > 0);
    for (size_t i = 0; i < 4; i++) {
        owed[i] = work_for(loop, 1000, &nended);
        owed[i].job.owner = 1;
        cor_offload_submit_owed(offload, &owed[i].job);
    }
    /* They leave the places of others alone. */
    for (size_t i = 0; i < 2; i++) {
        works[i] = work_for(loop, 1, &nended);
        works[i].job.owner = 1 + i;
        assert_int_equal(cor_offload_submit(offload, &works[i].job), 0);
    }
    cor_offload_get_stats(offload, &stats);
    assert_int_equal(stats.waiting, 6);
    assert_int_equal(stats.bytes, 4003);
    sem_post(&gate);
    assert_true(cor_loop_run_until(loop, is_reached, &all, PATIENCE_MS));
    /* owed, queue, owed, queue, owed, owed */
    assert_true(owed[0].ended_as < works[0].ended_as && works[0].ended_as < owed[1].ended_as);
    assert_true(owed[1].ended_as < works[1].ended_as && works[1].ended_as < owed[2].ended_as);
    assert_int_equal(owed[3].ended_as, 7);
    cor_offload_get_stats(offload, &stats);
    assert_int_equal(stats.bytes, 0);
    assert_int_equal(stats.refused, 0);
    cor_offload_free(offload);
    cor_loop_free(loop);
    sem_destroy(&gate);
}

TEST(offload, finishes_what_it_accepted_before_it_goes)
{
    struct cor_offload *offload;
    struct cor_loop *loop;
    size_t nended = 0;
    struct work works[20];

    open_both(&loop, &offload, 20, 1000);
    for (size_t i = 0; i < 20; i++) {
        works[i] = work_for(loop, 1, &nended);
        if (i % 2)
            cor_offload_submit_owed(offload, &works[i].job);
        else
            assert_int_equal(cor_offload_submit(offload, &works[i].job), 0);
    }
    cor_offload_free(offload);
    for (size_t i = 0; i < 20; i++)
        assert_int_equal(works[i].runs, 1);
    cor_loop_free(loop); /* delivers the mail that is left */
    assert_int_equal(nended, 20);
}

TEST(offload, needs_memory_and_takes_null)
{
    struct cor_offload_opts opts = {.nthreads = 1, .jobs_max = 1, .bytes_max = 1};
    struct cor_offload *offload;

    FOR_EACH_FAILED_ALLOC(fail) {
        int r = cor_offload_new(&opts, &offload);

        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        if (r == 0)
            cor_offload_free(offload);
    }
    assert_null(cor_offload_free(NULL));
}

/* What a client that has left would have waited for. */
TEST(offload, what_is_withdrawn_before_a_thread_has_it_does_not_run)
{
    struct cor_offload *offload;
    struct cor_loop *loop;
    size_t nended = 0;
    struct work running[2], waiting[4], next;
    struct cor_offload_stats stats;
    sem_t gate;

    sem_init(&gate, 0, 0);
    open_both(&loop, &offload, 4, 100);
    for (size_t i = 0; i < 2; i++) {
        running[i] = work_for(loop, 10, &nended);
        running[i].gate = &gate;
        cor_offload_submit_owed(offload, &running[i].job);
    }
    do
        cor_offload_get_stats(offload, &stats);
    while (stats.waiting > 0);
    for (size_t i = 0; i < 4; i++) {
        waiting[i] = work_for(loop, 20, &nended);
        waiting[i].job.owner = 1 + i / 2;
        if (i < 3)
            assert_int_equal(cor_offload_submit(offload, &waiting[i].job), 0);
        else
            cor_offload_submit_owed(offload, &waiting[i].job);
    }
    assert_false(cor_offload_withdraw(offload, &running[0].job)); /* A thread has it. */
    assert_true(cor_offload_withdraw(offload, &waiting[0].job));
    assert_true(cor_offload_withdraw(offload, &waiting[3].job));
    assert_false(cor_offload_withdraw(offload, &waiting[3].job));
    assert_int_equal(nended, 0); /* in a later turn, as always */
    cor_offload_get_stats(offload, &stats);
    assert_int_equal(stats.waiting, 2);
    assert_int_equal(stats.unrun, 2);
    assert_int_equal(stats.bytes, 60);
    assert_true(cor_loop_run_until(loop, is_reached, &(struct goal){&nended, 2}, PATIENCE_MS));
    assert_int_equal(waiting[0].ends, 1);
    assert_int_equal(waiting[3].ends, 1);
    /* Its place is free for the same owner. */
    next = work_for(loop, 20, &nended);
    next.job.owner = 1;
    assert_int_equal(cor_offload_submit(offload, &next.job), 0);
    sem_post(&gate);
    sem_post(&gate);
    assert_true(cor_loop_run_until(loop, is_reached, &(struct goal){&nended, 7}, PATIENCE_MS));
    assert_int_equal(waiting[0].runs, 0);
    assert_int_equal(waiting[3].runs, 0);
    assert_int_equal(waiting[1].runs, 1);
    assert_int_equal(next.runs, 1);
    assert_false(cor_offload_withdraw(offload, &next.job)); /* It is over. */
    cor_offload_get_stats(offload, &stats);
    assert_int_equal(stats.bytes, 0);
    cor_offload_free(offload);
    cor_loop_free(loop);
    sem_destroy(&gate);
}
