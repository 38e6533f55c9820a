/* Reading an informer, and waiting for it. */
#include "coracle/informer.h"

#include "base/err.h"
#include "cache/store/lister.h"
#include "client/informers/informers_int.h"

_Static_assert(COR_INFORMER_VERSION_MAX == COR_CACHE_WAITER_RV_MAX + 1, "one bound, two names");

static struct cor_lister lister(const struct cor_informer *inf)
{
    return (struct cor_lister){
        .indexer = cor_shared_informer_indexer(inf->shared),
        .resource = {cor_strz(inf->group), cor_strz(inf->plural)},
    };
}

size_t cor_informer_len(struct cor_informer *inf)
{
    return cor_indexer_len(cor_shared_informer_indexer(inf->shared));
}

int cor_informer_get(struct cor_informer *inf, struct cor_str ns, struct cor_str name,
                     struct cor_object **ret_object, struct cor_status *reterr)
{
    const struct cor_lister l = lister(inf);

    return cor_lister_get(&l, ns, name, ret_object, reterr);
}

int cor_informer_get_by_key(struct cor_informer *inf, struct cor_str key,
                            struct cor_object **ret_object)
{
    return cor_indexer_get(cor_shared_informer_indexer(inf->shared), key, ret_object);
}

int cor_informer_each(struct cor_informer *inf, struct cor_str ns,
                      const struct cor_label_selector *selector, cor_each_fn fn, void *arg)
{
    return cor_indexer_each(cor_shared_informer_indexer(inf->shared), ns, selector, fn, arg);
}

int cor_informer_each_by_index(struct cor_informer *inf, struct cor_str index, struct cor_str value,
                               cor_each_fn fn, void *arg)
{
    return cor_indexer_each_by_index(cor_shared_informer_indexer(inf->shared), index, value, fn,
                                     arg);
}

int cor_informer_get_by_index(struct cor_informer *inf, struct cor_str index, struct cor_str value,
                              struct cor_object **ret_object)
{
    return cor_indexer_get_by_index(cor_shared_informer_indexer(inf->shared), index, value,
                                    ret_object);
}

int cor_informer_each_sharing(struct cor_informer *inf, struct cor_str index,
                              const struct cor_object *object, cor_each_fn fn, void *arg)
{
    return cor_indexer_each_sharing(cor_shared_informer_indexer(inf->shared), index, object, fn,
                                    arg);
}

int cor_informer_each_value(struct cor_informer *inf, struct cor_str index,
                            int (*fn)(void *arg, struct cor_str value), void *arg)
{
    return cor_indexer_each_value(cor_shared_informer_indexer(inf->shared), index, fn, arg);
}

int cor_informer_add_indexes(struct cor_informer *inf, const struct cor_index_def *defs, size_t n)
{
    return cor_shared_informer_add_indexes(inf->shared, defs, n);
}

void cor_informer_last_version(struct cor_informer *inf, char to[COR_INFORMER_VERSION_MAX])
{
    cor_shared_informer_last_rv(inf->shared, to);
}

bool cor_informer_has_synced(struct cor_informer *inf)
{
    return cor_shared_informer_has_synced(inf->shared);
}

int cor_informer_sync_error(struct cor_informer *inf, struct cor_status *reterr)
{
    return cor_informer_factory_sync_error(inf->set->factory, inf->shared, reterr);
}

int cor_informer_on_sync(struct cor_informer *inf, void (*fn)(void *arg, int r), void *arg)
{
    uint64_t id;

    return cor_shared_informer_on_synced(inf->shared, fn, arg, &id);
}

int cor_informer_on_version(struct cor_informer *inf, struct cor_str version,
                            void (*fn)(void *arg, int r), void *arg)
{
    uint64_t id;

    return cor_shared_informer_on_rv(inf->shared, version, fn, arg, &id);
}

struct stats_errand {
    struct cor_informer *inf;
    struct cor_reflector_stats *ret;
};

static void informer_read_stats(void *arg)
{
    const struct stats_errand *e = arg;

    cor_shared_informer_stats(e->inf->shared, e->ret);
}

void cor_informer_stats(struct cor_informer *inf, struct cor_reflector_stats *ret)
{
    struct stats_errand e = {inf, ret};

    *ret = (struct cor_reflector_stats){0};
    cor_runtime_run(inf->set->runtime, informer_read_stats, &e);
}

struct wait {
    struct cor_waiter done;
    int r;
};

static void on_wait_over(void *arg, int r)
{
    struct wait *w = arg;

    w->r = r;
    cor_waiter_set(&w->done);
}

/* On the loop's own thread, between its turns: what is waited for comes of them. */
static int wait_in_turns(struct cor_informer *inf, const struct cor_str *version,
                         uint64_t timeout_ms)
{
    struct wait w = {.r = 0};
    uint64_t id;
    int r;

    cor_waiter_init(&w.done);
    r = version ? cor_shared_informer_on_rv(inf->shared, *version, on_wait_over, &w, &id)
                : cor_shared_informer_on_synced(inf->shared, on_wait_over, &w, &id);
    if (r == 0) {
        r = cor_runtime_wait(inf->set->runtime, &w.done, timeout_ms);
        if (r < 0)
            cor_shared_informer_cancel_wait(inf->shared, id);
        else
            r = w.r;
    }
    cor_waiter_deinit(&w.done);
    return r < 0 ? r : 0;
}

int cor_informer_wait_for_sync(struct cor_informer *inf, uint64_t timeout_ms)
{
    int r = cor_runtime_may_wait(inf->set->runtime, NULL);

    if (r < 0)
        return r;
    if (cor_loop_is_current(inf->set->runtime->loop))
        return wait_in_turns(inf, NULL, timeout_ms);
    return cor_shared_informer_wait_synced(inf->shared, timeout_ms);
}

int cor_informer_wait_for_version(struct cor_informer *inf, struct cor_str version,
                                  uint64_t timeout_ms)
{
    int r = cor_runtime_may_wait(inf->set->runtime, NULL);

    if (r < 0)
        return r;
    if (cor_loop_is_current(inf->set->runtime->loop))
        return wait_in_turns(inf, &version, timeout_ms);
    return cor_shared_informer_wait_rv(inf->shared, version, timeout_ms);
}
