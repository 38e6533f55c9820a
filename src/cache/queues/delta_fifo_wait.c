/* Waiting for the queue's consumer, and putting back what it did not want yet. */
#include <string.h>

#include "base/err.h"
#include "cache/queues/delta_fifo_int.h"

static int wait_for(struct cor_delta_fifo *f, const struct cor_str *rv, cor_cache_wait_fn fn,
                    void *arg, uint64_t *ret_id)
{
    bool is_so;
    int r;

    cor_lock_acquire(&f->lock);
    is_so = rv ? rv->n > 0 && f->n == 0 && cor_cache_waiters_is_at(&f->waiters, *rv) &&
                     cor_cache_waiters_refusal(&f->waiters, *rv) == 0
               : cor_delta_has_synced_locked(f);
    if (is_so)
        r = 1;
    else if (f->closed)
        r = -COR_ECANCELED;
    else
        r = cor_cache_waiters_add(&f->waiters, rv, f->last_seq, fn, arg, ret_id);
    cor_lock_release(&f->lock);
    return r;
}

int cor_delta_fifo_wait_synced(struct cor_delta_fifo *f, cor_cache_wait_fn fn, void *arg,
                               uint64_t *ret_id)
{
    return wait_for(f, NULL, fn, arg, ret_id);
}

int cor_delta_fifo_wait_rv(struct cor_delta_fifo *f, struct cor_str rv, cor_cache_wait_fn fn,
                           void *arg, uint64_t *ret_id)
{
    return wait_for(f, &rv, fn, arg, ret_id);
}

bool cor_delta_fifo_cancel_wait(struct cor_delta_fifo *f, uint64_t id)
{
    return COR_LOCKED(&f->lock, cor_cache_waiters_remove(&f->waiters, id));
}

void cor_delta_fifo_last_rv(struct cor_delta_fifo *f, char to[COR_CACHE_WAITER_RV_MAX + 1])
{
    cor_lock_acquire(&f->lock);
    memcpy(to, f->waiters.rv, f->waiters.rv_len);
    to[f->waiters.rv_len] = '\0';
    cor_lock_release(&f->lock);
}

static int put_back_locked(struct cor_delta_fifo *f, struct cor_str key,
                           const struct cor_delta *deltas, size_t n)
{
    int r = cor_delta_fifo_unpack(f);
    const struct cor_dlist *before = f->order.prev;

    f->populated = true;
    if (r < 0 || cor_delta_peek(f, key))
        return r;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = cor_delta_enqueue(f, deltas[i].type, key, deltas[i].object, deltas[i].is_tombstone);
    if (r < 0)
        cor_delta_truncate(f, before);
    return r;
}

int cor_delta_fifo_add_if_not_present(struct cor_delta_fifo *f, struct cor_str key,
                                      const struct cor_delta *deltas, size_t n)
{
    int r;

    cor_lock_acquire(&f->lock);
    r = put_back_locked(f, key, deltas, n);
    cor_cond_broadcast(&f->ready);
    cor_delta_fifo_unlock(f);
    if (f->opts.on_ready)
        f->opts.on_ready(f->opts.arg);
    return r;
}
