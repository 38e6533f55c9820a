/* A key has one entry from its first add until nothing needs it any more: it is dirty (needs work),
 * with a worker, delayed, or several of these. There is no timer: whoever asks for a key first
 * moves the delayed entries that are due into the order. Failures: no memory and the maximum refuse
 * an add, and leave the queue as it was. Thread: any; one lock, under which only the limiter and
 * the clock are called. */
#include "coracle/workqueue.h"
#include "base/lock.h"

#include <assert.h>
#include <string.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/dlist.h"
#include "base/due_heap.h"
#include "base/err.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/sized.h"
#include "queue/workqueue_durations.h"

/* A key is here while it is dirty, with a worker, or delayed. It is in `order` exactly when it is
 * dirty and not with a worker. */
struct entry {
    struct cor_dlist link; /* in order */
    struct cor_due due;    /* in delayed */
    bool dirty;            /* needs work */
    bool processing;
    uint64_t added_us;   /* first add since the last get */
    uint64_t started_us; /* last get */
    char key[];
};

struct cor_workqueue {
    struct cor_lock lock;  /* a leaf: only the limiter and the clock are called under it */
    struct cor_cond ready; /* a key was queued, a delay became the earliest, or shutdown */
    struct cor_cond idle;  /* nothing is processing any more, or the drain was ended */
    struct cor_map entries;
    struct cor_dlist order;
    struct cor_due_heap delayed;
    struct cor_rate_limiter *limiter;
    const struct cor_clock *clock;
    void (*on_ready)(void *arg);
    void *arg;
    bool shut, draining;
    size_t queued;
    struct cor_workqueue_stats stats; /* depth, processing and the sums that only grow */
    struct cor_workqueue_durations durations;
};

static uint64_t now_us(const struct cor_workqueue *q)
{
    return cor_clock_mono_us(q->clock);
}

/* The first two bounds are below a microsecond, so that only 0 is within them. */
static void durations_count(uint64_t counts[COR_WORKQUEUE_DECADES + 1], uint64_t us)
{
    size_t i = us == 0 ? 0 : 2;

    for (uint64_t bound = 1; i < COR_WORKQUEUE_DECADES && us > bound; bound *= 10)
        i++;
    counts[i]++;
}

static struct entry *delayed_entry(const struct cor_workqueue *q)
{
    struct cor_due *due = cor_due_heap_peek(&q->delayed);

    return due ? COR_CONTAINER_OF(due, struct entry, due) : NULL;
}

int cor_workqueue_new(const struct cor_workqueue_opts *opts, struct cor_workqueue **ret_q)
{
    struct cor_workqueue_opts o;
    struct cor_workqueue *q;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return r;
    q = cor_calloc(1, sizeof(*q));
    if (!q) {
        cor_rate_limiter_free(o.take_limiter);
        return -COR_ENOMEM;
    }
    q->limiter = o.take_limiter ? o.take_limiter : cor_rate_limiter_new_controller();
    if (!q->limiter) {
        cor_free(q);
        return -COR_ENOMEM;
    }
    cor_cond_init(&q->ready);
    cor_cond_init(&q->idle);
    cor_lock_init(&q->lock, COR_LOCK_WORKQUEUE);
    cor_map_init(&q->entries, o.keys_max ? o.keys_max : COR_WORKQUEUE_KEYS_MAX);
    cor_dlist_init(&q->order);
    q->clock = o.clock ? o.clock : cor_clock_real();
    q->on_ready = o.on_ready;
    q->arg = o.arg;
    *ret_q = q;
    return 0;
}

struct cor_workqueue *cor_workqueue_free(struct cor_workqueue *q)
{
    if (!q)
        return NULL;
    COR_MAP_FOREACH(it, &q->entries)
        cor_free(it.value);
    cor_map_deinit(&q->entries);
    cor_due_heap_deinit(&q->delayed);
    cor_rate_limiter_free(q->limiter);
    cor_cond_deinit(&q->ready);
    cor_cond_deinit(&q->idle);
    cor_lock_deinit(&q->lock);
    return cor_free(q);
}

static int entry_get_locked(struct cor_workqueue *q, const char *key, struct entry **ret)
{
    size_t n = strlen(key);
    struct entry *e = cor_map_peek(&q->entries, cor_str(key, n));
    int r;

    if (!e) {
        e = cor_calloc(1, sizeof(*e) + n + 1);
        if (!e)
            return -COR_ENOMEM;
        cor_dlist_init(&e->link);
        cor_due_init(&e->due);
        memcpy(e->key, key, n);
        r = cor_map_put(&q->entries, cor_str(e->key, n), e, NULL);
        if (r < 0) {
            cor_free(e);
            return r == -COR_ETOOBIG ? -COR_EBUSY : r;
        }
    }
    *ret = e;
    return 0;
}

static void entry_drop_locked(struct cor_workqueue *q, struct entry *e)
{
    if (e->dirty || e->processing || cor_due_is_set(&e->due))
        return;
    cor_map_remove(&q->entries, cor_strz(e->key));
    cor_free(e);
}

static void enqueue_locked(struct cor_workqueue *q, struct entry *e)
{
    cor_dlist_push(&q->order, &e->link);
    q->queued++;
    cor_cond_signal(&q->ready);
}

/* True when a key was queued by it. */
static bool add_locked(struct cor_workqueue *q, struct entry *e)
{
    if (e->dirty)
        return false;
    e->dirty = true;
    e->added_us = now_us(q);
    q->stats.adds++;
    q->stats.depth++;
    if (e->processing)
        return false;
    enqueue_locked(q, e);
    return true;
}

static int add_after_locked(struct cor_workqueue *q, struct entry *e, uint64_t delay_ms,
                            bool *ret_sooner)
{
    uint64_t now_ms = now_us(q) / 1000, at;
    int r;

    if (delay_ms == 0) {
        *ret_sooner = add_locked(q, e);
        return 0;
    }
    at = delay_ms < UINT64_MAX - now_ms ? now_ms + delay_ms : UINT64_MAX;
    if (cor_due_is_set(&e->due) && e->due.at <= at)
        return 0;
    r = cor_due_heap_put(&q->delayed, &e->due, at);
    if (r == 0 && cor_due_heap_peek(&q->delayed) == &e->due) {
        cor_cond_broadcast(&q->ready);
        *ret_sooner = true;
    }
    return r;
}

enum delay { DELAY_GIVEN, DELAY_LIMITED };

static int add(struct cor_workqueue *q, const char *key, enum delay how, uint64_t delay_ms,
               bool is_retry)
{
    bool sooner = false;
    struct entry *e;
    int r = -COR_ECANCELED;

    cor_lock_acquire(&q->lock);
    if (!q->shut)
        r = entry_get_locked(q, key, &e);
    if (r == 0) {
        q->stats.retries += is_retry;
        if (how == DELAY_LIMITED)
            delay_ms = cor_rate_limiter_when(q->limiter, key, now_us(q) / 1000);
        r = add_after_locked(q, e, delay_ms, &sooner);
        entry_drop_locked(q, e);
    }
    cor_lock_release(&q->lock);
    if (sooner && q->on_ready)
        q->on_ready(q->arg);
    return r;
}

int cor_workqueue_add(struct cor_workqueue *q, const char *key)
{
    assert(key);
    return add(q, key, DELAY_GIVEN, 0, false);
}

int cor_workqueue_add_after(struct cor_workqueue *q, const char *key, uint64_t delay_ms)
{
    assert(key);
    return add(q, key, DELAY_GIVEN, delay_ms, true);
}

int cor_workqueue_add_rate_limited(struct cor_workqueue *q, const char *key)
{
    assert(key);
    return add(q, key, DELAY_LIMITED, 0, true);
}

void cor_workqueue_forget(struct cor_workqueue *q, const char *key)
{
    cor_lock_acquire(&q->lock);
    cor_rate_limiter_forget(q->limiter, key);
    cor_lock_release(&q->lock);
}

uint32_t cor_workqueue_requeues(struct cor_workqueue *q, const char *key)
{
    return COR_LOCKED(&q->lock, cor_rate_limiter_requeues(q->limiter, key));
}

static void queue_due_locked(struct cor_workqueue *q)
{
    struct entry *e;

    while ((e = delayed_entry(q)) && e->due.at <= now_us(q) / 1000) {
        cor_due_heap_remove(&q->delayed, &e->due);
        add_locked(q, e);
    }
}

static bool take_locked(struct cor_workqueue *q, const char **ret_key)
{
    struct cor_dlist *link = cor_dlist_pop(&q->order);
    uint64_t now = now_us(q);
    struct entry *e;

    if (!link)
        return false;
    e = COR_CONTAINER_OF(link, struct entry, link);
    assert(e->dirty && !e->processing);
    e->dirty = false;
    e->processing = true;
    e->started_us = now;
    q->queued--;
    q->stats.depth--;
    q->stats.processing++;
    q->stats.gets++;
    q->stats.queue_us += now - e->added_us;
    durations_count(q->durations.queued, now - e->added_us);
    *ret_key = e->key;
    return true;
}

static uint64_t next_due_locked(const struct cor_workqueue *q)
{
    const struct cor_due *due = cor_due_heap_peek(&q->delayed);

    return due ? due->at : COR_WORKQUEUE_NEVER;
}

static void wait_locked(struct cor_workqueue *q)
{
    uint64_t at = next_due_locked(q), now_ms = now_us(q) / 1000, ms;
    struct timespec until;

    if (at == COR_WORKQUEUE_NEVER) {
        cor_cond_wait(&q->ready, &q->lock);
        return;
    }
    ms = at > now_ms ? at - now_ms : 0;
    until = cor_deadline_in_ms(ms);
    cor_cond_wait_until(&q->ready, &q->lock, &until);
}

int cor_workqueue_get(struct cor_workqueue *q, const char **ret_key)
{
    int r = 0;

    cor_lock_acquire(&q->lock);
    for (;;) {
        queue_due_locked(q);
        if (take_locked(q, ret_key))
            break;
        if (q->shut) {
            r = -COR_ECANCELED;
            break;
        }
        wait_locked(q);
    }
    cor_lock_release(&q->lock);
    return r;
}

int cor_workqueue_try_get(struct cor_workqueue *q, const char **ret_key, uint64_t *reterr_at_ms)
{
    int r = 0;

    cor_lock_acquire(&q->lock);
    queue_due_locked(q);
    if (!take_locked(q, ret_key)) {
        r = q->shut ? -COR_ECANCELED : -COR_EBUSY;
        *reterr_at_ms = next_due_locked(q);
    }
    cor_lock_release(&q->lock);
    return r;
}

void cor_workqueue_done(struct cor_workqueue *q, const char *key)
{
    bool requeued;
    struct entry *e;
    uint64_t work_us;

    cor_lock_acquire(&q->lock);
    e = cor_map_peek(&q->entries, cor_strz(key));
    if (!e || !e->processing) {
        cor_lock_release(&q->lock);
        return;
    }
    e->processing = false;
    q->stats.processing--;
    q->stats.done++;
    work_us = now_us(q) - e->started_us;
    q->stats.work_us += work_us;
    durations_count(q->durations.worked, work_us);
    requeued = e->dirty;
    if (requeued)
        enqueue_locked(q, e);
    else
        entry_drop_locked(q, e);
    if (q->stats.processing == 0)
        cor_cond_broadcast(&q->idle);
    cor_lock_release(&q->lock);
    if (requeued && q->on_ready)
        q->on_ready(q->arg);
}

size_t cor_workqueue_len(struct cor_workqueue *q)
{
    return COR_LOCKED(&q->lock, q->queued);
}

static void drop_delayed_locked(struct cor_workqueue *q)
{
    struct entry *e;

    while ((e = delayed_entry(q))) {
        cor_due_heap_remove(&q->delayed, &e->due);
        entry_drop_locked(q, e);
    }
}

static void shut_locked(struct cor_workqueue *q, bool drain)
{
    q->shut = true;
    q->draining = drain;
    drop_delayed_locked(q);
    cor_cond_broadcast(&q->ready);
    cor_cond_broadcast(&q->idle);
}

void cor_workqueue_shutdown(struct cor_workqueue *q)
{
    cor_lock_acquire(&q->lock);
    shut_locked(q, false);
    cor_lock_release(&q->lock);
    if (q->on_ready)
        q->on_ready(q->arg);
}

void cor_workqueue_shutdown_with_drain(struct cor_workqueue *q)
{
    cor_lock_acquire(&q->lock);
    shut_locked(q, true);
    cor_lock_release(&q->lock);
    if (q->on_ready)
        q->on_ready(q->arg);
    cor_lock_acquire(&q->lock);
    while (q->draining && q->stats.processing > 0)
        cor_cond_wait(&q->idle, &q->lock);
    cor_lock_release(&q->lock);
}

bool cor_workqueue_is_shutting_down(struct cor_workqueue *q)
{
    return COR_LOCKED(&q->lock, q->shut);
}

void cor_workqueue_stats(struct cor_workqueue *q, struct cor_workqueue_stats *ret)
{
    cor_lock_acquire(&q->lock);
    *ret = q->stats;
    ret->delayed = q->delayed.n;
    COR_MAP_FOREACH(it, &q->entries) {
        const struct entry *e = it.value;
        uint64_t age_us = e->processing ? now_us(q) - e->started_us : 0;

        ret->unfinished_us += age_us;
        if (age_us > ret->longest_run_us)
            ret->longest_run_us = age_us;
    }
    cor_lock_release(&q->lock);
}

void cor_workqueue_durations(struct cor_workqueue *q, struct cor_workqueue_durations *ret)
{
    *ret = COR_LOCKED(&q->lock, q->durations);
}
