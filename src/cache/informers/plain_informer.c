/* A plain informer is a controller whose consumer applies changes to an indexer (delta_applier.h)
 * and calls the one handler for each. When an index function refuses an object, the controller
 * decides whether the change is tried again; when memory runs out, the change stays the oldest of
 * the queue. Thread: the controller's. */
#include "cache/informers/plain_informer.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/informers/delta_applier.h"

struct cor_plain_informer {
    struct cor_delta_applier applier;
    struct cor_handler_fns handler;
    uint64_t resync_ms;
    struct cor_indexer *indexer;
    struct cor_cache_controller *controller;
};

static void plain_publish(struct cor_delta_applier *a, const struct cor_change *change)
{
    const struct cor_plain_informer *inf = COR_CONTAINER_OF(a, struct cor_plain_informer, applier);

    cor_handler_fns_call(&inf->handler, change);
}

static const struct cor_delta_applier_ops applier_ops = {.publish = plain_publish};

static int plain_process(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                         bool in_initial_list)
{
    struct cor_plain_informer *inf = arg;

    return cor_delta_applier_run(&inf->applier, key, deltas, n, in_initial_list);
}

int cor_plain_informer_new(const struct cor_cache_controller_opts *opts,
                           const struct cor_handler_fns *handler,
                           struct cor_plain_informer **ret_informer)
{
    COR_CLEANUP(cor_plain_informer_freep)
    struct cor_plain_informer *inf = cor_calloc(1, sizeof(*inf));
    struct cor_delta_consumer consumer = {.process = plain_process, .arg = inf};
    int r;

    if (!inf)
        return -COR_ENOMEM;
    inf->handler = *handler;
    inf->resync_ms = opts->reflector.resync_ms;
    r = cor_indexer_new(opts->indexes, opts->nindexes, &inf->indexer);
    if (r < 0)
        return r;
    cor_delta_applier_init(&inf->applier, &applier_ops, inf->indexer);
    consumer.known = inf->indexer;
    r = cor_cache_controller_new(opts, &consumer, &inf->controller);
    if (r == 0)
        *ret_informer = COR_STEAL(inf);
    return r;
}

struct cor_plain_informer *cor_plain_informer_free(struct cor_plain_informer *inf)
{
    if (!inf)
        return NULL;
    cor_cache_controller_free(inf->controller);
    cor_delta_applier_deinit(&inf->applier);
    cor_indexer_free(inf->indexer);
    return cor_free(inf);
}

struct cor_cache_controller *cor_plain_informer_controller(struct cor_plain_informer *inf)
{
    return inf->controller;
}

struct cor_indexer *cor_plain_informer_indexer(struct cor_plain_informer *inf)
{
    return inf->indexer;
}

void cor_plain_informer_start(struct cor_plain_informer *inf)
{
    cor_cache_controller_start(inf->controller, inf->resync_ms);
}
