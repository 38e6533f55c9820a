/* Producers and workers on real threads; the other behaviours are in test_workqueue.c. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/err.h"
#include "coracle/workqueue.h"
#include "test.h"

#define PRODUCERS 8
#define WORKERS   4
#define KEYS      50
#define ADDS      200

static struct cor_workqueue *queue;
static atomic_int inside[KEYS];  /* workers that hold the key: never above 1 */
static atomic_int pending[KEYS]; /* adds that no get has followed yet */
static atomic_int overlaps;

static void *produce(void *arg)
{
    char key[16];

    for (int i = 0; i < ADDS; i++) {
        int k = (i * 7 + (int)(intptr_t)arg) % KEYS;

        snprintf(key, sizeof(key), "%d", k);
        atomic_fetch_add(&pending[k], 1);
        if (i % 3)
            cor_workqueue_add(queue, key);
        else
            cor_workqueue_add_after(queue, key, 1);
    }
    return NULL;
}

static void *work(void *arg)
{
    const char *key;
    unsigned long long n = 0;

    while (cor_workqueue_get(queue, &key) == 0) {
        long k = strtol(key, NULL, 10);

        if (atomic_fetch_add(&inside[k], 1) != 0)
            atomic_fetch_add(&overlaps, 1);
        atomic_store(&pending[k], 0);
        atomic_fetch_sub(&inside[k], 1);
        cor_workqueue_done(queue, key);
        n++;
    }
    return (void *)(uintptr_t)n;
}

static bool is_settled(void)
{
    struct cor_workqueue_stats s;

    cor_workqueue_stats(queue, &s);
    return s.depth == 0 && s.delayed == 0 && s.processing == 0;
}

/* Contract client 2.1.6, 2.1.17. */
TEST(workqueue_threads, every_add_is_followed_by_work_and_no_key_is_with_two_workers)
{
    pthread_t producers[PRODUCERS], workers[WORKERS];
    uintptr_t handled = 0;

    assert_int_equal(cor_workqueue_new(NULL, &queue), 0);
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, work, NULL), 0);
    for (size_t i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_create(&producers[i], NULL, produce, (void *)(intptr_t)i), 0);
    for (size_t i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    while (!is_settled())
        sched_yield();
    cor_workqueue_shutdown_with_drain(queue);
    for (size_t i = 0; i < WORKERS; i++) {
        void *n;

        pthread_join(workers[i], &n);
        handled += (uintptr_t)n;
    }
    assert_int_equal(atomic_load(&overlaps), 0);
    for (size_t k = 0; k < KEYS; k++)
        assert_int_equal(atomic_load(&pending[k]), 0);
    assert_true(handled >= KEYS && handled <= PRODUCERS * ADDS);
    queue = cor_workqueue_free(queue);
}

static void *fail_and_forget(void *arg)
{
    char own[16];

    snprintf(own, sizeof(own), "own-%d", (int)(intptr_t)arg);
    for (uint32_t i = 1; i <= ADDS; i++) {
        cor_workqueue_add_rate_limited(queue, own);
        cor_workqueue_add_rate_limited(queue, "shared");
        if (cor_workqueue_requeues(queue, own) != i)
            atomic_fetch_add(&overlaps, 1);
    }
    cor_workqueue_forget(queue, own);
    return NULL;
}

/* Contract client 2.3.1: a limiter is asked by every thread that has its queue. */
TEST(workqueue_threads, failures_of_a_key_are_counted_whoever_tells_of_them)
{
    struct cor_workqueue_opts opts = {
        COR_WORKQUEUE_OPTS, .take_limiter = cor_rate_limiter_new_exponential(60000, 60000)};
    pthread_t producers[PRODUCERS];

    assert_int_equal(cor_workqueue_new(&opts, &queue), 0);
    for (size_t i = 0; i < PRODUCERS; i++)
        assert_int_equal(pthread_create(&producers[i], NULL, fail_and_forget, (void *)(intptr_t)i),
                         0);
    for (size_t i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    assert_int_equal(atomic_load(&overlaps), 0);
    assert_int_equal(cor_workqueue_requeues(queue, "shared"), PRODUCERS * ADDS);
    assert_int_equal(cor_workqueue_requeues(queue, "own-3"), 0);
    queue = cor_workqueue_free(queue);
}

/* What `arg` says when the drain is over. */
static void *drain(void *arg)
{
    cor_workqueue_shutdown_with_drain(queue);
    return arg && atomic_load((atomic_bool *)arg) ? arg : NULL;
}

/* Contract client 2.1.10, 2.1.13 and sequence 48. */
TEST(workqueue_threads, a_drain_waits_for_the_worker)
{
    atomic_bool is_done = false;
    const char *key;
    pthread_t drainer;
    void *was_done;

    assert_int_equal(cor_workqueue_new(NULL, &queue), 0);
    cor_workqueue_add(queue, "a");
    assert_int_equal(cor_workqueue_get(queue, &key), 0);
    assert_int_equal(pthread_create(&drainer, NULL, drain, &is_done), 0);
    while (!cor_workqueue_is_shutting_down(queue))
        sched_yield();
    for (int i = 0; i < 100; i++)
        sched_yield();
    atomic_store(&is_done, true);
    cor_workqueue_done(queue, key);
    pthread_join(drainer, &was_done);
    assert_ptr_equal(was_done, &is_done);
    queue = cor_workqueue_free(queue);
}

/* Contract client 2.1.9 and sequence 48. */
TEST(workqueue_threads, a_shutdown_ends_a_drain_that_waits)
{
    const char *key;
    pthread_t drainer;

    assert_int_equal(cor_workqueue_new(NULL, &queue), 0);
    cor_workqueue_add(queue, "a");
    assert_int_equal(cor_workqueue_get(queue, &key), 0);
    assert_int_equal(pthread_create(&drainer, NULL, drain, NULL), 0);
    while (!cor_workqueue_is_shutting_down(queue))
        sched_yield();
    cor_workqueue_shutdown(queue);
    pthread_join(drainer, NULL);
    queue = cor_workqueue_free(queue);
}

static void *get_one(void *arg)
{
    const char *key;

    return cor_workqueue_get(queue, &key) == 0 ? (void *)1 : NULL;
}

/* Contract client 2.2.5. */
TEST(workqueue_threads, a_waiting_worker_wakes_for_a_key_whose_delay_ends)
{
    pthread_t worker;
    void *got;

    assert_int_equal(cor_workqueue_new(NULL, &queue), 0);
    assert_int_equal(pthread_create(&worker, NULL, get_one, NULL), 0);
    cor_workqueue_add_after(queue, "late", 60000);
    cor_workqueue_add_after(queue, "soon", 5);
    pthread_join(worker, &got);
    assert_non_null(got);
    queue = cor_workqueue_free(queue);
}

/* Contract client 2.1.9. */
TEST(workqueue_threads, shutdown_wakes_all_who_wait)
{
    pthread_t workers[WORKERS];

    assert_int_equal(cor_workqueue_new(NULL, &queue), 0);
    for (size_t i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, get_one, NULL), 0);
    cor_workqueue_shutdown(queue);
    for (size_t i = 0; i < WORKERS; i++) {
        void *got;

        pthread_join(workers[i], &got);
        assert_null(got);
    }
    queue = cor_workqueue_free(queue);
}
