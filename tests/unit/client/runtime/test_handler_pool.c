#include <dirent.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "base/err.h"
#include "base/mem.h"
#include "client/runtime/handler_pool.h"
#include "test.h"

struct job {
    struct cor_handler_task task;
    atomic_int left; /* calls of run() that are wanted */
    atomic_int inside, nruns, nstuck;
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

static void on_stuck(struct cor_handler_task *task, uint64_t ms)
{
    struct job *j = COR_CONTAINER_OF(task, struct job, task);

    assert_true(ms >= 100);
    atomic_fetch_add(&j->nstuck, 1);
}

static const struct cor_handler_task_ops job_ops = {run, on_retired, on_stuck};

/* Nobody patrols. */
static int new_pool(unsigned nthreads, struct cor_handler_pool **ret_pool)
{
    const struct cor_handler_pool_opts opts = {.nthreads = nthreads, .nthreads_max = nthreads};

    return cor_handler_pool_new(&opts, ret_pool);
}

static void job_init(struct job *j, int left, sem_t *gate)
{
    memset(j, 0, sizeof(*j));
    cor_handler_task_init(&j->task, &job_ops);
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

    assert_int_equal(new_pool(2, &pool), 0);
    job_start(pool, &j, 5, NULL);
    cor_handler_pool_wake(pool, &j.task);
    sem_wait(&j.drained);
    assert_int_equal(j.nruns, 5);
    job_retire(pool, &j);
    cor_handler_pool_free(pool);
}

/* Contract client 1.17.32. */
TEST(handler_pool, a_task_that_blocks_keeps_no_other_waiting)
{
    struct cor_handler_pool *pool;
    struct job slow, fast;
    sem_t gate;

    sem_init(&gate, 0, 0);
    assert_int_equal(new_pool(2, &pool), 0);
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
    assert_int_equal(new_pool(2, &pool), 0);
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
    assert_int_equal(new_pool(1, &pool), 0);
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
    assert_int_equal(new_pool(1, &pool), 0);
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

    assert_int_equal(new_pool(1, &pool), 0);
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

    assert_int_equal(new_pool(1, &pool), 0);
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

/* Contract client 1.17.32. */
TEST(handler_pool, a_task_is_on_one_thread_at_a_time)
{
    struct cor_handler_pool *pool;
    struct waker wakers[WAKERS];
    struct job jobs[3];

    assert_int_equal(new_pool(4, &pool), 0);
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

/* A pool whose patrols are the test's to make. */
struct patrolled {
    struct cor_handler_pool *pool;
    atomic_int nasked;
};

static void on_crowded(void *arg)
{
    atomic_fetch_add(&((struct patrolled *)arg)->nasked, 1);
}

static void patrolled_begin(struct patrolled *p, unsigned nthreads, unsigned max, uint64_t idle_ms)
{
    const struct cor_handler_pool_opts opts = {.nthreads = nthreads,
                                               .nthreads_max = max,
                                               .idle_ms = idle_ms,
                                               .on_crowded = on_crowded,
                                               .arg = p};

    atomic_init(&p->nasked, 0);
    assert_int_equal(cor_handler_pool_new(&opts, &p->pool), 0);
}

/* Patrols, as a timer would, until the semaphore can be had. */
static void patrol_until(struct patrolled *p, sem_t *done)
{
    time_t end = time(NULL) + 60;

    while (sem_trywait(done) != 0) {
        assert_true(time(NULL) < end);
        cor_handler_pool_patrol(p->pool);
        test_spend_ms(2); /* the timer's period */
    }
}

static int threads(void)
{
    DIR *d = opendir("/proc/self/task");
    const struct dirent *e;
    int n = 0;

    assert_non_null(d);
    while ((e = readdir(d)))
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

TEST(handler_pool, threads_are_added_while_all_are_blocked_and_go_when_they_are_idle)
{
    time_t end = time(NULL) + 60;
    struct patrolled p;
    struct job slow[3], fast;
    int before = threads();
    sem_t gate;

    sem_init(&gate, 0, 0);
    patrolled_begin(&p, 1, 8, 20);
    for (int i = 0; i < 3; i++) {
        job_start(p.pool, &slow[i], 1, &gate);
        cor_handler_pool_wake(p.pool, &slow[i].task);
        if (i == 0)
            sem_wait(&slow[i].entered);
        else
            patrol_until(&p, &slow[i].entered);
    }
    assert_true(atomic_load(&p.nasked) > 0);
    assert_true(threads() >= before + 3);
    job_start(p.pool, &fast, 3, NULL);
    cor_handler_pool_wake(p.pool, &fast.task);
    patrol_until(&p, &fast.drained);
    for (int i = 0; i < 3; i++)
        sem_post(&gate);
    while (threads() > before + 1) {
        assert_true(time(NULL) < end);
        test_spend_ms(2); /* between two looks */
    }
    for (int i = 0; i < 3; i++)
        job_retire(p.pool, &slow[i]);
    job_retire(p.pool, &fast);
    cor_handler_pool_free(p.pool);
}

TEST(handler_pool, no_more_threads_are_added_than_its_bound)
{
    struct patrolled p;
    struct job jobs[4];
    int before = threads();
    sem_t gate;

    sem_init(&gate, 0, 0);
    patrolled_begin(&p, 1, 2, 0);
    for (int i = 0; i < 4; i++) {
        job_start(p.pool, &jobs[i], 1, &gate);
        cor_handler_pool_wake(p.pool, &jobs[i].task);
    }
    patrol_until(&p, &jobs[0].entered);
    patrol_until(&p, &jobs[1].entered);
    /* Nothing is left to look for once both were told of. */
    while (cor_handler_pool_patrol(p.pool))
        ;
    assert_int_equal(atomic_load(&jobs[0].nstuck), 1);
    assert_int_equal(atomic_load(&jobs[1].nstuck), 1);
    assert_int_equal(threads(), before + 2);
    assert_int_equal(atomic_load(&jobs[2].nruns) + atomic_load(&jobs[3].nruns), 0);
    for (int i = 0; i < 4; i++)
        sem_post(&gate);
    for (int i = 0; i < 4; i++)
        sem_wait(&jobs[i].drained);
    for (int i = 0; i < 4; i++)
        job_retire(p.pool, &jobs[i]);
    cor_handler_pool_free(p.pool);
}

static void *do_nothing(void *arg)
{
    return arg;
}

/* A stack of half the address space is what no thread can have. Under a sanitizer that gives
 * threads stacks of its own there is nothing to see. */
TEST(handler_pool, is_not_there_when_no_thread_can_be_had)
{
    struct cor_handler_pool *pool = NULL;
    pthread_attr_t usual, vast;
    pthread_t thread;
    int r;

    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    assert_int_equal(pthread_getattr_default_np(&vast), 0);
    assert_int_equal(pthread_attr_setstacksize(&vast, (size_t)1 << 47), 0);
    assert_int_equal(pthread_setattr_default_np(&vast), 0);
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) {
        pthread_join(thread, NULL);
        r = -COR_EIO;
    } else {
        r = new_pool(2, &pool);
    }
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    pthread_attr_destroy(&usual);
    pthread_attr_destroy(&vast);
    assert_int_equal(r, -COR_EIO);
    assert_null(pool);
}

TEST(handler_pool, survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_handler_pool *pool;
        struct job j;

        if (new_pool(2, &pool) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        job_start(pool, &j, 2, NULL);
        cor_handler_pool_wake(pool, &j.task);
        sem_wait(&j.drained);
        assert_int_equal(j.nruns, 2);
        job_retire(pool, &j);
        cor_handler_pool_free(pool);
    }
    assert_null(cor_handler_pool_free(NULL));
}
