#include "cache/informers/plain_informer.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/informers/delta_applier.h"

struct cor_plain_informer {
    struct cor_delta_applier applier;
    struct cor_plain_informer_opts opts;
    struct cor_indexer *indexer;
    struct cor_controller *controller;
};

static void plain_publish(struct cor_delta_applier *a, const struct cor_change *change)
{
    const struct cor_plain_informer *inf = COR_CONTAINER_OF(a, struct cor_plain_informer, applier);

    cor_handler_fns_call(&inf->opts.handler, change);
}

static const struct cor_delta_applier_ops applier_ops = {.publish = plain_publish};

static int plain_process(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                         bool in_initial_list)
{
    struct cor_plain_informer *inf = arg;

    return cor_delta_applier_run(&inf->applier, key, deltas, n, in_initial_list);
}

static int plain_make_controller(struct cor_plain_informer *inf)
{
    struct cor_controller_opts opts = inf->opts.controller;

    assert(!opts.known && !opts.process && !opts.should_resync);
    opts.known = inf->indexer;
    opts.process = plain_process;
    opts.owner = inf;
    return cor_controller_new(&opts, &inf->controller);
}

int cor_plain_informer_new(const struct cor_plain_informer_opts *opts,
                           struct cor_plain_informer **ret_informer)
{
    COR_CLEANUP(cor_plain_informer_freep)
    struct cor_plain_informer *inf = cor_calloc(1, sizeof(*inf));
    int r;

    if (!inf)
        return -COR_ENOMEM;
    inf->opts = *opts;
    r = cor_indexer_new(opts->indexes, opts->nindexes, &inf->indexer);
    if (r < 0)
        return r;
    cor_delta_applier_init(&inf->applier, &applier_ops, inf->indexer);
    r = plain_make_controller(inf);
    if (r == 0)
        *ret_informer = COR_STEAL(inf);
    return r;
}

struct cor_plain_informer *cor_plain_informer_free(struct cor_plain_informer *inf)
{
    if (!inf)
        return NULL;
    cor_controller_free(inf->controller);
    cor_delta_applier_deinit(&inf->applier);
    cor_indexer_free(inf->indexer);
    return cor_free(inf);
}

struct cor_controller *cor_plain_informer_controller(struct cor_plain_informer *inf)
{
    return inf->controller;
}

struct cor_indexer *cor_plain_informer_indexer(struct cor_plain_informer *inf)
{
    return inf->indexer;
}

void cor_plain_informer_start(struct cor_plain_informer *inf)
{
    cor_controller_start(inf->controller, inf->opts.controller.reflector.resync_ms);
}
