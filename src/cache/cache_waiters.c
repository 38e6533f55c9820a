#include "cache/cache_waiters.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct waiter {
    struct cor_list link;
    uint64_t id;
    uint64_t upto; /* the change to be consumed, once placed */
    struct cor_cache_call call;
    bool for_sync;
    size_t rv_len;
    char rv[];
};

static struct waiter *of(struct cor_list *link)
{
    return COR_CONTAINER_OF(link, struct waiter, link);
}

void cor_cache_waiters_init(struct cor_cache_waiters *w)
{
    *w = (struct cor_cache_waiters){0};
    cor_list_init(&w->waiting);
    cor_list_init(&w->placed);
    cor_list_init(&w->due);
}

void cor_cache_waiters_deinit(struct cor_cache_waiters *w)
{
    struct cor_list *link;

    cor_list_splice(&w->due, &w->waiting);
    cor_list_splice(&w->due, &w->placed);
    while ((link = cor_list_pop(&w->due)))
        cor_free(of(link));
    w->n = 0;
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
    cor_list_remove(&it->link);
    it->upto = upto;
    cor_list_push(&w->placed, &it->link);
}

static void make_due(struct cor_cache_waiters *w, struct waiter *it, int r)
{
    cor_list_remove(&it->link);
    it->call.r = r;
    cor_list_push(&w->due, &it->link);
}

int cor_cache_waiters_add(struct cor_cache_waiters *w, const struct cor_str *rv, uint64_t last,
                          cor_cache_wait_fn fn, void *arg, uint64_t *ret_id)
{
    size_t rv_len = rv ? rv->n : 0;
    struct waiter *it;

    if (rv && (rv_len == 0 || rv_len > COR_CACHE_WAITER_RV_MAX))
        return -COR_EINVAL;
    if (w->n >= COR_CACHE_WAITERS_MAX)
        return -COR_EBUSY;
    it = cor_alloc(sizeof(*it) + rv_len);
    if (!it)
        return -COR_ENOMEM;
    *it = (struct waiter){
        .id = ++w->next_id, .call = {fn, arg, 0}, .for_sync = !rv, .rv_len = rv_len};
    if (rv)
        memcpy(it->rv, rv->p, rv_len);
    cor_list_push(&w->waiting, &it->link);
    if (rv && cor_cache_waiters_is_at(w, *rv))
        place(w, it, last);
    w->n++;
    *ret_id = it->id;
    return 0;
}

static bool remove_from(struct cor_cache_waiters *w, struct cor_list *list, uint64_t id)
{
    COR_LIST_FOREACH(link, list) {
        if (of(link)->id != id)
            continue;
        cor_list_remove(link);
        cor_free(of(link));
        w->n--;
        return true;
    }
    return false;
}

bool cor_cache_waiters_remove(struct cor_cache_waiters *w, uint64_t id)
{
    return remove_from(w, &w->waiting, id) || remove_from(w, &w->placed, id) ||
           remove_from(w, &w->due, id);
}

void cor_cache_waiters_reached(struct cor_cache_waiters *w, struct cor_str rv, uint64_t last)
{
    if (rv.n == 0 || rv.n > sizeof(w->rv))
        return;
    memcpy(w->rv, rv.p, rv.n);
    w->rv_len = rv.n;
    COR_LIST_FOREACH_SAFE(link, &w->waiting) {
        struct waiter *it = of(link);

        if (!it->for_sync && is_reached(rv, cor_str(it->rv, it->rv_len)))
            place(w, it, last);
    }
}

void cor_cache_waiters_consumed(struct cor_cache_waiters *w, uint64_t upto, bool synced)
{
    COR_LIST_FOREACH_SAFE(link, &w->placed)
        if (of(link)->upto <= upto)
            make_due(w, of(link), 0);
    if (!synced)
        return;
    COR_LIST_FOREACH_SAFE(link, &w->waiting)
        if (of(link)->for_sync)
            make_due(w, of(link), 0);
}

void cor_cache_waiters_cancel(struct cor_cache_waiters *w)
{
    COR_LIST_FOREACH_SAFE(link, &w->placed)
        make_due(w, of(link), -COR_ECANCELED);
    COR_LIST_FOREACH_SAFE(link, &w->waiting)
        make_due(w, of(link), -COR_ECANCELED);
}

bool cor_cache_waiters_take(struct cor_cache_waiters *w, struct cor_cache_call *ret_call)
{
    struct cor_list *link = cor_list_pop(&w->due);

    if (!link)
        return false;
    *ret_call = of(link)->call;
    cor_free(of(link));
    w->n--;
    return true;
}
