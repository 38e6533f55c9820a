#include "client/handler_pool.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"

struct cor_handler_pool {
    pthread_mutex_t lock; /* a leaf */
    pthread_cond_t ready;
    struct cor_list queue;
    bool stopping;
    unsigned nthreads; /* that were started */
    pthread_t threads[];
};

void cor_handler_task_init(struct cor_handler_task *task,
                           bool (*run)(struct cor_handler_task *task),
                           void (*on_retired)(struct cor_handler_task *task))
{
    *task = (struct cor_handler_task){
        .state = COR_HANDLER_TASK_HELD, .run = run, .on_retired = on_retired};
    cor_list_init(&task->link);
}

static void enqueue_locked(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    task->state = COR_HANDLER_TASK_QUEUED;
    cor_list_push(&pool->queue, &task->link);
    pthread_cond_signal(&pool->ready);
}

/* The lock is not held while it runs. */
static void run_locked(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    bool more = false;

    task->state = COR_HANDLER_TASK_RUNNING;
    task->woken = false;
    if (!task->retired) {
        pthread_mutex_unlock(&pool->lock);
        more = task->run(task);
        pthread_mutex_lock(&pool->lock);
    }
    task->state = COR_HANDLER_TASK_IDLE;
    if (task->retired) {
        pthread_mutex_unlock(&pool->lock);
        task->on_retired(task);
        pthread_mutex_lock(&pool->lock);
    } else if (more || task->woken) {
        enqueue_locked(pool, task);
    }
}

static void *thread_main(void *arg)
{
    struct cor_handler_pool *pool = arg;
    struct cor_list *link;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stopping) {
        link = cor_list_pop(&pool->queue);
        if (link)
            run_locked(pool, COR_CONTAINER_OF(link, struct cor_handler_task, link));
        else
            pthread_cond_wait(&pool->ready, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* The program's signals are handled by the program's threads. */
static int start_thread(struct cor_handler_pool *pool, unsigned i)
{
    sigset_t all, old;
    char name[16];
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&pool->threads[i], NULL, thread_main, pool);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (r != 0)
        return -COR_EIO;
    snprintf(name, sizeof(name), "coracle-h%u", i);
    pthread_setname_np(pool->threads[i], name);
    pool->nthreads++;
    return 0;
}

int cor_handler_pool_new(unsigned nthreads, struct cor_handler_pool **ret_pool)
{
    struct cor_handler_pool *pool =
        cor_calloc(1, sizeof(*pool) + nthreads * sizeof(pool->threads[0]));

    if (!pool)
        return -COR_ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->ready, NULL);
    cor_list_init(&pool->queue);
    for (unsigned i = 0; i < nthreads; i++) {
        int r = start_thread(pool, i);

        if (r < 0) {
            cor_handler_pool_free(pool);
            return r;
        }
    }
    *ret_pool = pool;
    return 0;
}

struct cor_handler_pool *cor_handler_pool_free(struct cor_handler_pool *pool)
{
    if (!pool)
        return NULL;
    pthread_mutex_lock(&pool->lock);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->ready);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->nthreads; i++)
        pthread_join(pool->threads[i], NULL);
    assert(cor_list_empty(&pool->queue));
    pthread_cond_destroy(&pool->ready);
    pthread_mutex_destroy(&pool->lock);
    return cor_free(pool);
}

bool cor_handler_pool_is_current(const struct cor_handler_pool *pool)
{
    for (unsigned i = 0; i < pool->nthreads; i++)
        if (pthread_equal(pool->threads[i], pthread_self()))
            return true;
    return false;
}

void cor_handler_pool_wake(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    pthread_mutex_lock(&pool->lock);
    if (task->state == COR_HANDLER_TASK_IDLE && !task->retired)
        enqueue_locked(pool, task);
    else
        task->woken = true;
    pthread_mutex_unlock(&pool->lock);
}

void cor_handler_pool_release(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    pthread_mutex_lock(&pool->lock);
    assert(task->state == COR_HANDLER_TASK_HELD);
    task->state = COR_HANDLER_TASK_IDLE;
    if (task->woken)
        enqueue_locked(pool, task);
    pthread_mutex_unlock(&pool->lock);
}

void cor_handler_pool_retire(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    pthread_mutex_lock(&pool->lock);
    assert(!task->retired && task->state != COR_HANDLER_TASK_HELD);
    task->retired = true;
    if (task->state == COR_HANDLER_TASK_IDLE)
        enqueue_locked(pool, task);
    pthread_mutex_unlock(&pool->lock);
}
