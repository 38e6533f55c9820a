/* clang-format off */
/* A waiter is in one of four lists:
 *
 *   waiting   for the first list, or for the queue to reach its revision
 *   placed    the revision is reached: for the change with number `upto` to be consumed
 *   held      its write was refused and is tried again
 *   due       its call is to be made, with the result in `call`
 *
 * It is freed when its call is taken off, or when it is removed. Only an add can fail.
 * Thread: one at a time, under the queue's lock. */
/* clang-format on */
#include "cache/queues/cache_waiters.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct waiter {
    struct cor_dlist link;
    uint64_t id;
    uint64_t upto; /* the change to be consumed, once placed */
    struct cor_cache_call call;
    bool for_sync;
    const struct cor_refusal *held_by;
    size_t rv_len;
    char rv[];
};

static struct waiter *waiter_of(struct cor_dlist *link)
{
    return COR_CONTAINER_OF(link, struct waiter, link);
}

void cor_cache_waiters_init(struct cor_cache_waiters *w)
{
    *w = (struct cor_cache_waiters){0};
    cor_dlist_init(&w->waiting);
    cor_dlist_init(&w->placed);
    cor_dlist_init(&w->held);
    cor_dlist_init(&w->due);
    cor_refusals_init(&w->refusals);
}

void cor_cache_waiters_deinit(struct cor_cache_waiters *w)
{
    struct cor_dlist *link;

    cor_dlist_splice(&w->due, &w->waiting);
    cor_dlist_splice(&w->due, &w->placed);
    cor_dlist_splice(&w->due, &w->held);
    while ((link = cor_dlist_pop(&w->due)))
        cor_free(waiter_of(link));
    w->n = 0;
    cor_refusals_deinit(&w->refusals);
}

static bool is_reached(struct cor_str at, struct cor_str rv)
{
    uint64_t have, want;

    if (at.n == 0)
        return false;
    if (cor_str_to_u64(at, &have) == 0 && cor_str_to_u64(rv, &want) == 0)
        return have >= want;
    return cor_str_eq(at, rv);
}

bool cor_cache_waiters_is_at(const struct cor_cache_waiters *w, struct cor_str rv)
{
    return is_reached(cor_str(w->rv, w->rv_len), rv);
}

static void place(struct cor_cache_waiters *w, struct waiter *it, uint64_t upto)
{
    cor_dlist_remove(&it->link);
    it->upto = upto;
    cor_dlist_push(&w->placed, &it->link);
}

static void make_due(struct cor_cache_waiters *w, struct waiter *it, int r)
{
    cor_dlist_remove(&it->link);
    it->call.r = r;
    cor_dlist_push(&w->due, &it->link);
}

static void hold(struct cor_cache_waiters *w, struct waiter *it, const struct cor_refusal *by)
{
    cor_dlist_remove(&it->link);
    it->held_by = by;
    cor_dlist_push(&w->held, &it->link);
}

int cor_cache_waiters_refusal(const struct cor_cache_waiters *w, struct cor_str rv)
{
    const struct cor_refusal *refusal = cor_refusals_of_version(&w->refusals, rv);

    return refusal ? cor_refusal_err(refusal) : 0;
}

int cor_cache_waiters_add(struct cor_cache_waiters *w, const struct cor_str *rv, uint64_t last,
                          cor_cache_wait_fn fn, void *arg, uint64_t *ret_id)
{
    const struct cor_refusal *refusal = rv ? cor_refusals_of_version(&w->refusals, *rv) : NULL;
    size_t rv_len = rv ? rv->n : 0;
    struct waiter *it;

    if (rv && (rv_len == 0 || rv_len > COR_CACHE_WAITER_RV_MAX))
        return -COR_EINVAL;
    if (refusal && !cor_refusal_is_retried(refusal))
        return cor_refusal_err(refusal);
    if (w->n >= COR_CACHE_WAITERS_MAX)
        return -COR_EBUSY;
    it = cor_alloc(sizeof(*it) + rv_len);
    if (!it)
        return -COR_ENOMEM;
    *it = (struct waiter){
        .id = ++w->next_id, .call = {fn, arg, 0}, .for_sync = !rv, .rv_len = rv_len};
    if (rv)
        memcpy(it->rv, rv->p, rv_len);
    cor_dlist_push(&w->waiting, &it->link);
    if (refusal)
        hold(w, it, refusal);
    else if (rv && cor_cache_waiters_is_at(w, *rv))
        place(w, it, last);
    w->n++;
    *ret_id = it->id;
    return 0;
}

static bool remove_from(struct cor_cache_waiters *w, struct cor_dlist *list, uint64_t id)
{
    COR_DLIST_FOREACH(link, list) {
        if (waiter_of(link)->id != id)
            continue;
        cor_dlist_remove(link);
        cor_free(waiter_of(link));
        w->n--;
        return true;
    }
    return false;
}

bool cor_cache_waiters_remove(struct cor_cache_waiters *w, uint64_t id)
{
    return remove_from(w, &w->waiting, id) || remove_from(w, &w->placed, id) ||
           remove_from(w, &w->held, id) || remove_from(w, &w->due, id);
}

void cor_cache_waiters_reached(struct cor_cache_waiters *w, struct cor_str rv, uint64_t last)
{
    if (rv.n == 0 || rv.n > sizeof(w->rv))
        return;
    memcpy(w->rv, rv.p, rv.n);
    w->rv_len = rv.n;
    COR_DLIST_FOREACH_SAFE(link, &w->waiting) {
        struct waiter *it = waiter_of(link);

        if (!it->for_sync && is_reached(rv, cor_str(it->rv, it->rv_len)))
            place(w, it, last);
    }
}

void cor_cache_waiters_consumed(struct cor_cache_waiters *w, uint64_t upto, bool synced)
{
    COR_DLIST_FOREACH_SAFE(link, &w->placed)
        if (waiter_of(link)->upto <= upto)
            make_due(w, waiter_of(link), 0);
    if (!synced)
        return;
    COR_DLIST_FOREACH_SAFE(link, &w->waiting)
        if (waiter_of(link)->for_sync)
            make_due(w, waiter_of(link), 0);
}

/* Who waits for the revision; those that are held already stay where they are. */
static void tell_refusal(struct cor_cache_waiters *w, struct cor_dlist *list, struct cor_str rv,
                         const struct cor_refusal *by, int err)
{
    COR_DLIST_FOREACH_SAFE(link, list) {
        struct waiter *it = waiter_of(link);

        if (it->for_sync || !cor_str_eq(cor_str(it->rv, it->rv_len), rv))
            continue;
        if (by)
            hold(w, it, by);
        else
            make_due(w, it, err);
    }
}

int cor_cache_waiters_refused(struct cor_cache_waiters *w, struct cor_str key, struct cor_str rv,
                              int err, bool is_retried)
{
    const struct cor_refusal *by;
    int r = cor_refusals_add(&w->refusals, key, rv, err, is_retried);

    if (r < 0)
        return r;
    by = is_retried ? cor_refusals_of_key(&w->refusals, key) : NULL;
    tell_refusal(w, &w->waiting, rv, by, err);
    tell_refusal(w, &w->placed, rv, by, err);
    return 0;
}

void cor_cache_waiters_taken(struct cor_cache_waiters *w, struct cor_str key)
{
    const struct cor_refusal *refusal = cor_refusals_of_key(&w->refusals, key);

    if (!refusal)
        return;
    COR_DLIST_FOREACH_SAFE(link, &w->held)
        if (waiter_of(link)->held_by == refusal)
            make_due(w, waiter_of(link), 0);
    cor_refusals_remove(&w->refusals, key);
}

void cor_cache_waiters_sweep(struct cor_cache_waiters *w)
{
    COR_MAP_FOREACH(it, &w->refusals.by_key)
        if (!cor_refusal_is_marked(it.value))
            cor_cache_waiters_taken(w, it.key);
}

void cor_cache_waiters_cancel(struct cor_cache_waiters *w)
{
    COR_DLIST_FOREACH_SAFE(link, &w->placed)
        make_due(w, waiter_of(link), -COR_ECANCELED);
    COR_DLIST_FOREACH_SAFE(link, &w->waiting)
        make_due(w, waiter_of(link), -COR_ECANCELED);
    COR_DLIST_FOREACH_SAFE(link, &w->held)
        make_due(w, waiter_of(link), -COR_ECANCELED);
}

bool cor_cache_waiters_take(struct cor_cache_waiters *w, struct cor_cache_call *ret_call)
{
    struct cor_dlist *link = cor_dlist_pop(&w->due);

    if (!link)
        return false;
    *ret_call = waiter_of(link)->call;
    cor_free(waiter_of(link));
    w->n--;
    return true;
}
