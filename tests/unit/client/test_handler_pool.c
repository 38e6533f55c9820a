#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "base/mem.h"
#include "client/handler_pool.h"
#include "test.h"

struct job {
    struct cor_handler_task task;
    atomic_int left; /* calls of run() that are wanted */
    atomic_int inside, nruns;
    atomic_bool overlapped;
    sem_t *gate; /* NULL: run() does not block */
    sem_t entered, drained, retired;
    pthread_t retired_on;
};

static bool run(struct cor_handler_task *task)
{
    struct job *j = COR_CONTAINER_OF(task, struct job, task);
    int left;

    if (atomic_fetch_add(&j->inside, 1) > 0)
        atomic_store(&j->overlapped, true);
    atomic_fetch_add(&j->nruns, 1);
    sem_post(&j->entered);
    if (j->gate)
        sem_wait(j->gate);
    atomic_fetch_sub(&j->inside, 1);
    left = atomic_load(&j->left);
    if (left > 0)
        left = atomic_fetch_sub(&j->left, 1) - 1;
    if (left <= 0)
        sem_post(&j->drained);
    return left > 0;
}

static void on_retired(struct cor_handler_task *task)
{
    struct job *j = COR_CONTAINER_OF(task, struct job, task);

    j->retired_on = pthread_self();
    sem_post(&j->retired);
}

static void job_init(struct job *j, int left, sem_t *gate)
{
    memset(j, 0, sizeof(*j));
    cor_handler_task_init(&j->task, run, on_retired);
    atomic_init(&j->left, left);
    j->gate = gate;
    sem_init(&j->entered, 0, 0);
    sem_init(&j->drained, 0, 0);
    sem_init(&j->retired, 0, 0);
}

static void job_start(struct cor_handler_pool *pool, struct job *j, int left, sem_t *gate)
{
    job_init(j, left, gate);
    cor_handler_pool_release(pool, &j->task);
}

static void job_retire(struct cor_handler_pool *pool, struct job *j)
{
    cor_handler_pool_retire(pool, &j->task);
    sem_wait(&j->retired);
}

TEST(handler_pool, a_task_with_more_to_do_runs_again)
{
    struct cor_handler_pool *pool;
    struct job j;

    assert_int_equal(cor_handler_pool_new(2, &pool), 0);
    job_start(pool, &j, 5, NULL);
    cor_handler_pool_wake(pool, &j.task);
    sem_wait(&j.drained);
    assert_int_equal(j.nruns, 5);
    job_retire(pool, &j);
    cor_handler_pool_free(pool);
}

/* Contract 1.17.32. */
TEST(handler_pool, a_task_that_blocks_keeps_no_other_waiting)
{
    struct cor_handler_pool *pool;
    struct job slow, fast;
    sem_t gate;

    sem_init(&gate, 0, 0);
    assert_int_equal(cor_handler_pool_new(2, &pool), 0);
    job_start(pool, &slow, 1, &gate);
    job_start(pool, &fast, 3, NULL);
    cor_handler_pool_wake(pool, &slow.task);
    sem_wait(&slow.entered);
    cor_handler_pool_wake(pool, &fast.task);
    sem_wait(&fast.drained);
    sem_post(&gate);
    sem_wait(&slow.drained);
    job_retire(pool, &slow);
    job_retire(pool, &fast);
    cor_handler_pool_free(pool);
}

TEST(handler_pool, a_wake_while_it_runs_is_not_lost)
{
    struct cor_handler_pool *pool;
    struct job j;
    sem_t gate;

    sem_init(&gate, 0, 0);
    assert_int_equal(cor_handler_pool_new(2, &pool), 0);
    job_start(pool, &j, 1, &gate);
    cor_handler_pool_wake(pool, &j.task);
    sem_wait(&j.entered);
    cor_handler_pool_wake(pool, &j.task);
    sem_post(&gate);
    sem_post(&gate);
    sem_wait(&j.entered);
    sem_wait(&j.drained);
    sem_wait(&j.drained);
    assert_int_equal(j.nruns, 2);
    job_retire(pool, &j);
    cor_handler_pool_free(pool);
}

TEST(handler_pool, a_task_that_runs_is_retired_when_it_returns)
{
    struct cor_handler_pool *pool;
    struct job j;
    sem_t gate;

    sem_init(&gate, 0, 0);
    assert_int_equal(cor_handler_pool_new(1, &pool), 0);
    job_start(pool, &j, 10, &gate);
    cor_handler_pool_wake(pool, &j.task);
    sem_wait(&j.entered);
    cor_handler_pool_retire(pool, &j.task);
    assert_int_equal(sem_trywait(&j.retired), -1);
    sem_post(&gate);
    sem_wait(&j.retired);
    cor_handler_pool_wake(pool, &j.task);
    assert_int_equal(j.nruns, 1);
    cor_handler_pool_free(pool);
}

TEST(handler_pool, a_queued_task_is_retired_by_a_thread_of_the_pool)
{
    struct cor_handler_pool *pool;
    struct job first, second;
    sem_t gate;

    sem_init(&gate, 0, 0);
    assert_int_equal(cor_handler_pool_new(1, &pool), 0);
    job_start(pool, &first, 1, &gate);
    job_start(pool, &second, 1, NULL);
    cor_handler_pool_wake(pool, &first.task);
    sem_wait(&first.entered);
    cor_handler_pool_wake(pool, &second.task);
    cor_handler_pool_retire(pool, &second.task);
    assert_int_equal(sem_trywait(&second.retired), -1);
    sem_post(&gate);
    sem_wait(&second.retired);
    assert_false(pthread_equal(second.retired_on, pthread_self()));
    job_retire(pool, &first);
    assert_int_equal(second.nruns, 0);
    cor_handler_pool_free(pool);
}

TEST(handler_pool, an_idle_task_is_retired_by_a_thread_of_the_pool)
{
    struct cor_handler_pool *pool;
    struct job j;

    assert_int_equal(cor_handler_pool_new(1, &pool), 0);
    job_start(pool, &j, 1, NULL);
    job_retire(pool, &j);
    assert_false(pthread_equal(j.retired_on, pthread_self()));
    assert_int_equal(j.nruns, 0);
    cor_handler_pool_free(pool);
}

TEST(handler_pool, a_held_task_runs_only_when_it_is_released)
{
    struct cor_handler_pool *pool;
    struct job held, other;

    assert_int_equal(cor_handler_pool_new(1, &pool), 0);
    job_init(&held, 1, NULL);
    job_start(pool, &other, 1, NULL);
    cor_handler_pool_wake(pool, &held.task);
    cor_handler_pool_wake(pool, &other.task);
    sem_wait(&other.drained);
    job_retire(pool, &other);
    assert_int_equal(held.nruns, 0);
    cor_handler_pool_release(pool, &held.task);
    sem_wait(&held.drained);
    job_retire(pool, &held);
    cor_handler_pool_free(pool);
}

#define WAKERS 4
#define WAKES  2000

struct waker {
    pthread_t thread;
    struct cor_handler_pool *pool;
    struct job *jobs;
};

static void *wake_much(void *arg)
{
    struct waker *w = arg;

    for (int i = 0; i < WAKES; i++)
        cor_handler_pool_wake(w->pool, &w->jobs[i % 3].task);
    return NULL;
}

/* Contract 1.17.32. */
TEST(handler_pool, a_task_is_on_one_thread_at_a_time)
{
    struct cor_handler_pool *pool;
    struct waker wakers[WAKERS];
    struct job jobs[3];

    assert_int_equal(cor_handler_pool_new(4, &pool), 0);
    for (int i = 0; i < 3; i++)
        job_start(pool, &jobs[i], 0, NULL);
    for (int i = 0; i < WAKERS; i++) {
        wakers[i] = (struct waker){.pool = pool, .jobs = jobs};
        assert_int_equal(pthread_create(&wakers[i].thread, NULL, wake_much, &wakers[i]), 0);
    }
    for (int i = 0; i < WAKERS; i++)
        pthread_join(wakers[i].thread, NULL);
    for (int i = 0; i < 3; i++) {
        sem_wait(&jobs[i].drained);
        job_retire(pool, &jobs[i]);
        assert_false(jobs[i].overlapped);
    }
    cor_handler_pool_free(pool);
}

TEST(handler_pool, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_handler_pool *pool;

        if (cor_handler_pool_new(2, &pool) == 0)
            cor_handler_pool_free(pool);
    }
    assert_null(cor_handler_pool_free(NULL));
}
