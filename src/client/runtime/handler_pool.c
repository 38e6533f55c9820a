/* clang-format off */
/* Workers take tasks from one queue, oldest first. A worker without a task waits on a condition of
 * its own in a stack, so that the one that was busy last is busy next and the others stay idle long
 * enough to end.
 *
 *   task queued ──► a worker waits: it is woken
 *               └─► none does: on_crowded ──► a patrol each COR_HANDLER_PATROL_MS ──► no task was
 *                   taken since the last ones: a worker is added
 *
 * Failures: a worker that cannot be created is tried again by the next patrol, and tasks wait.
 * A worker that ends joins the one that ended before it, so that at most one is not joined.
 * Thread: any; everything is under the pool's lock, which is not held while a task runs. */
/* clang-format on */
#include "client/runtime/handler_pool.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/err.h"
#include "base/lock.h"
#include "base/mem.h"

/* How long no task may be taken before a thread is added. The first addition waits longer, because
 * a thread may only be late on a busy machine; once a thread was added, handlers are known to
 * block. */
#define STALLED_FIRST_MS 50
#define STALLED_NEXT_MS  10
#define STUCK_MS         100

struct worker {
    struct cor_dlist link; /* in workers */
    struct cor_dlist idle; /* in idle, while it waits */
    struct cor_handler_pool *pool;
    struct cor_handler_task *task; /* that it runs, or NULL */
    bool told;                     /* on_stuck was called for this run */
    bool is_wanted;                /* while it waits: a task is there for it */
    struct cor_cond wanted;
    pthread_t thread;
};

struct cor_handler_pool {
    struct cor_handler_pool_opts opts;
    struct cor_lock lock; /* a leaf, except for the locks that on_crowded and on_stuck take */
    struct cor_dlist queue, workers, idle;
    unsigned nthreads; /* of workers */
    unsigned next_name;
    uint64_t ntaken; /* tasks */
    uint64_t seen;   /* ntaken, when it was last seen to move, */
    uint64_t seen_ms;
    bool patrols; /* a patrol is asked for */
    bool stopping;
    struct worker *left; /* to be joined */
};

static _Thread_local const struct cor_handler_pool *current;

static uint64_t now_ms(void)
{
    return cor_clock_coarse_ms(cor_clock_real());
}

void cor_handler_task_init(struct cor_handler_task *task, const struct cor_handler_task_ops *ops)
{
    *task = (struct cor_handler_task){.state = COR_HANDLER_TASK_HELD, .ops = ops};
    cor_dlist_init(&task->link);
}

static void pool_ask_for_patrol_locked(struct cor_handler_pool *pool)
{
    if (pool->patrols || !pool->opts.on_crowded)
        return;
    pool->patrols = true;
    pool->seen = pool->ntaken;
    pool->seen_ms = now_ms();
    pool->opts.on_crowded(pool->opts.arg);
}

static void pool_enqueue_locked(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    struct worker *w;

    task->state = COR_HANDLER_TASK_QUEUED;
    cor_dlist_push(&pool->queue, &task->link);
    if (cor_dlist_empty(&pool->idle)) {
        pool_ask_for_patrol_locked(pool);
        return;
    }
    w = COR_CONTAINER_OF(pool->idle.prev, struct worker, idle);
    cor_dlist_remove(&w->idle);
    w->is_wanted = true;
    cor_cond_signal(&w->wanted);
}

/* Runs one task; the lock is released meanwhile. */
static void worker_run_locked(struct worker *w, struct cor_handler_task *task)
{
    struct cor_handler_pool *pool = w->pool;
    bool more = false;

    task->state = COR_HANDLER_TASK_RUNNING;
    task->woken = false;
    pool->ntaken++;
    if (!task->retired) {
        w->task = task;
        w->told = false;
        task->began_ms = now_ms();
        cor_lock_release(&pool->lock);
        cor_lock_assert_none();
        more = task->ops->run(task);
        cor_lock_acquire(&pool->lock);
        w->task = NULL;
    }
    task->state = COR_HANDLER_TASK_IDLE;
    if (task->retired) {
        cor_lock_release(&pool->lock);
        cor_lock_assert_none();
        task->ops->on_retired(task);
        cor_lock_acquire(&pool->lock);
    } else if (more || task->woken) {
        pool_enqueue_locked(pool, task);
    }
}

/* False: this worker was added, has been idle for idle_ms, and is to end. */
static bool worker_wait_locked(struct worker *w)
{
    struct cor_handler_pool *pool = w->pool;
    struct timespec until = cor_deadline_in_ms(pool->opts.idle_ms);
    bool late = false;

    w->is_wanted = false;
    cor_dlist_push(&pool->idle, &w->idle);
    while (!w->is_wanted && !pool->stopping && !(late && pool->nthreads > pool->opts.nthreads)) {
        if (pool->nthreads > pool->opts.nthreads)
            late = !cor_cond_wait_until(&w->wanted, &pool->lock, &until);
        else
            cor_cond_wait(&w->wanted, &pool->lock);
    }
    cor_dlist_remove(&w->idle);
    return w->is_wanted || pool->stopping;
}

static void worker_join(struct worker *w)
{
    if (!w)
        return;
    pthread_join(w->thread, NULL);
    cor_cond_deinit(&w->wanted);
    cor_free(w);
}

static void *worker_main(void *arg)
{
    struct worker *w = arg, *before = NULL;
    struct cor_handler_pool *pool = w->pool;
    struct cor_dlist *link;
    bool stays = true;

    current = pool;
    cor_lock_acquire(&pool->lock);
    while (stays && !pool->stopping) {
        link = cor_dlist_pop(&pool->queue);
        if (link)
            worker_run_locked(w, COR_CONTAINER_OF(link, struct cor_handler_task, link));
        else
            stays = worker_wait_locked(w);
    }
    if (!stays) {
        cor_dlist_remove(&w->link);
        pool->nthreads--;
        before = pool->left;
        pool->left = w;
    }
    cor_lock_release(&pool->lock);
    worker_join(before);
    return NULL;
}

static struct worker *worker_new(struct cor_handler_pool *pool)
{
    struct worker *w = cor_calloc(1, sizeof(*w));

    if (!w)
        return NULL;
    w->pool = pool;
    cor_dlist_init(&w->link);
    cor_dlist_init(&w->idle);
    cor_cond_init(&w->wanted);
    return w;
}

/* The thread blocks all signals: the program's own threads handle the program's signals. */
static int worker_create_thread(struct worker *w)
{
    sigset_t all, old;
    int r;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    r = pthread_create(&w->thread, NULL, worker_main, w);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return r == 0 ? 0 : -COR_EIO;
}

static int pool_add_worker_locked(struct cor_handler_pool *pool)
{
    struct worker *w = worker_new(pool);
    char name[16];

    if (!w)
        return -COR_ENOMEM;
    if (worker_create_thread(w) < 0) {
        cor_cond_deinit(&w->wanted);
        cor_free(w);
        return -COR_EIO;
    }
    snprintf(name, sizeof(name), "coracle-h%u", pool->next_name++ % 10000);
    pthread_setname_np(w->thread, name);
    cor_dlist_push(&pool->workers, &w->link);
    pool->nthreads++;
    return 0;
}

int cor_handler_pool_new(const struct cor_handler_pool_opts *opts,
                         struct cor_handler_pool **ret_pool)
{
    struct cor_handler_pool *pool = cor_calloc(1, sizeof(*pool));
    int r = 0;

    assert(opts->nthreads > 0 && opts->nthreads_max >= opts->nthreads);
    if (!pool)
        return -COR_ENOMEM;
    pool->opts = *opts;
    if (pool->opts.idle_ms == 0)
        pool->opts.idle_ms = COR_HANDLER_IDLE_MS;
    cor_lock_init(&pool->lock, COR_LOCK_HANDLER_POOL);
    cor_dlist_init(&pool->queue);
    cor_dlist_init(&pool->workers);
    cor_dlist_init(&pool->idle);
    cor_lock_acquire(&pool->lock);
    while (r == 0 && pool->nthreads < opts->nthreads)
        r = pool_add_worker_locked(pool);
    cor_lock_release(&pool->lock);
    if (r < 0)
        cor_handler_pool_free(pool);
    else
        *ret_pool = pool;
    return r;
}

struct cor_handler_pool *cor_handler_pool_free(struct cor_handler_pool *pool)
{
    struct cor_dlist *link;

    if (!pool)
        return NULL;
    assert(!cor_handler_pool_is_current(pool));
    cor_lock_acquire(&pool->lock);
    pool->stopping = true;
    COR_DLIST_FOREACH(it, &pool->workers)
        cor_cond_signal(&COR_CONTAINER_OF(it, struct worker, link)->wanted);
    cor_lock_release(&pool->lock);
    /* No worker leaves the list by itself after this. */
    while ((link = cor_dlist_pop(&pool->workers)))
        worker_join(COR_CONTAINER_OF(link, struct worker, link));
    worker_join(pool->left);
    assert(cor_dlist_empty(&pool->queue));
    cor_lock_deinit(&pool->lock);
    return cor_free(pool);
}

/* Reports runs that take long. True: there are others that may have to be reported later. */
static bool pool_report_stuck_locked(struct cor_handler_pool *pool, uint64_t now)
{
    bool any = false;

    COR_DLIST_FOREACH(it, &pool->workers) {
        struct worker *w = COR_CONTAINER_OF(it, struct worker, link);

        if (!w->task || w->told || !w->task->ops->on_stuck)
            continue;
        w->told = now - w->task->began_ms >= STUCK_MS;
        if (w->told)
            w->task->ops->on_stuck(w->task, now - w->task->began_ms);
        any |= !w->told;
    }
    return any;
}

/* Do tasks wait that another thread could take? */
static bool pool_is_crowded_locked(const struct cor_handler_pool *pool)
{
    return !cor_dlist_empty(&pool->queue) && cor_dlist_empty(&pool->idle) &&
           pool->nthreads < pool->opts.nthreads_max;
}

static void pool_grow_if_stalled_locked(struct cor_handler_pool *pool, uint64_t now)
{
    bool has_more = pool->nthreads > pool->opts.nthreads;

    if (pool->ntaken != pool->seen) {
        pool->seen = pool->ntaken;
        pool->seen_ms = now;
    } else if (now - pool->seen_ms >= (has_more ? STALLED_NEXT_MS : STALLED_FIRST_MS)) {
        pool_add_worker_locked(pool);
    }
}

bool cor_handler_pool_patrol(struct cor_handler_pool *pool)
{
    uint64_t now = now_ms();
    bool again;

    cor_lock_acquire(&pool->lock);
    again = pool_is_crowded_locked(pool);
    if (again)
        pool_grow_if_stalled_locked(pool, now);
    again |= pool_report_stuck_locked(pool, now);
    pool->patrols = again;
    cor_lock_release(&pool->lock);
    return again;
}

bool cor_handler_pool_is_current(const struct cor_handler_pool *pool)
{
    return current == pool;
}

/* A task that is woken while it runs may be stuck; a patrol finds out. */
void cor_handler_pool_wake(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    cor_lock_acquire(&pool->lock);
    if (task->state == COR_HANDLER_TASK_IDLE && !task->retired) {
        pool_enqueue_locked(pool, task);
    } else {
        task->woken = true;
        if (task->state == COR_HANDLER_TASK_RUNNING)
            pool_ask_for_patrol_locked(pool);
    }
    cor_lock_release(&pool->lock);
}

void cor_handler_pool_release(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    cor_lock_acquire(&pool->lock);
    assert(task->state == COR_HANDLER_TASK_HELD);
    task->state = COR_HANDLER_TASK_IDLE;
    if (task->woken)
        pool_enqueue_locked(pool, task);
    cor_lock_release(&pool->lock);
}

void cor_handler_pool_retire(struct cor_handler_pool *pool, struct cor_handler_task *task)
{
    cor_lock_acquire(&pool->lock);
    assert(!task->retired && task->state != COR_HANDLER_TASK_HELD);
    task->retired = true;
    if (task->state == COR_HANDLER_TASK_IDLE)
        pool_enqueue_locked(pool, task);
    cor_lock_release(&pool->lock);
}
