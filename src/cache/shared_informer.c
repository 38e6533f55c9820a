#include "cache/shared_informer.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/object_key.h"
#include "cache/shared_informer_int.h"

static uint64_t now_ms(const struct cor_shared_informer *inf)
{
    return cor_clock_mono_ms(inf->opts.clock);
}

static void tell_work(void *arg)
{
    struct cor_shared_informer *inf = arg;

    if (inf->opts.on_work)
        inf->opts.on_work(inf->opts.arg);
}

static int run_transform(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    struct cor_shared_informer *inf = arg;

    return inf->opts.transform(inf->opts.arg, object, reterr);
}

static void on_round_end(void *arg, const struct cor_status *error)
{
    struct cor_shared_informer *inf = arg;

    if (error && inf->opts.on_watch_error)
        inf->opts.on_watch_error(inf->opts.arg, error);
}

static int make_fifo(struct cor_shared_informer *inf)
{
    const struct cor_delta_fifo_opts opts = {
        .by_key = inf->opts.by_key,
        .known = inf->indexer,
        .transform = inf->opts.transform ? run_transform : NULL,
        .on_ready = tell_work,
        .arg = inf,
    };

    return cor_delta_fifo_new(&opts, &inf->fifo);
}

static int make_reflector(struct cor_shared_informer *inf)
{
    struct cor_reflector_opts opts = inf->opts.reflector;

    assert(!opts.should_resync && !opts.on_round_end && !opts.on_report);
    opts.should_resync = cor_informer_should_resync;
    opts.on_round_end = on_round_end;
    opts.arg = inf;
    if (!opts.rand)
        opts.rand = &inf->rand;
    return cor_reflector_new(&opts, inf->opts.driver, cor_delta_fifo_store(inf->fifo),
                             &inf->reflector);
}

int cor_shared_informer_new(const struct cor_shared_informer_opts *opts,
                            struct cor_shared_informer **ret_informer)
{
    struct cor_shared_informer *inf = cor_calloc(1, sizeof(*inf));
    int r;

    if (!inf)
        return -COR_ENOMEM;
    inf->opts = *opts;
    if (!inf->opts.clock)
        inf->opts.clock = cor_clock_real();
    inf->resync_check_ms = opts->reflector.resync_ms;
    cor_rand_init(&inf->rand);
    pthread_mutex_init(&inf->lock, NULL);
    cor_list_init(&inf->handlers);
    cor_buf_init(&inf->key, COR_OBJECT_KEY_MAX);
    r = cor_indexer_new(opts->indexes, opts->nindexes, &inf->indexer);
    if (r == 0)
        r = make_fifo(inf);
    if (r == 0)
        r = make_reflector(inf);
    if (r < 0) {
        cor_shared_informer_free(inf);
        return r;
    }
    *ret_informer = inf;
    return 0;
}

struct cor_shared_informer *cor_shared_informer_free(struct cor_shared_informer *inf)
{
    struct cor_list *link;

    if (!inf)
        return NULL;
    while ((link = cor_list_pop(&inf->handlers)))
        cor_registration_unref(COR_CONTAINER_OF(link, struct cor_registration, link));
    cor_reflector_free(inf->reflector);
    cor_delta_fifo_free(inf->fifo);
    cor_indexer_free(inf->indexer);
    cor_buf_deinit(&inf->key);
    pthread_mutex_destroy(&inf->lock);
    return cor_free(inf);
}

void cor_shared_informer_start(struct cor_shared_informer *inf)
{
    bool first;

    pthread_mutex_lock(&inf->lock);
    first = !inf->started && !inf->stopped;
    inf->started = true;
    pthread_mutex_unlock(&inf->lock);
    if (!first)
        return;
    cor_reflector_set_resync(inf->reflector, inf->resync_check_ms);
    cor_reflector_start(inf->reflector, now_ms(inf));
}

void cor_shared_informer_stop(struct cor_shared_informer *inf)
{
    cor_reflector_stop(inf->reflector, now_ms(inf));
    cor_delta_fifo_close(inf->fifo);
    pthread_mutex_lock(&inf->lock);
    inf->stopped = true;
    COR_LIST_FOREACH(it, &inf->handlers)
        cor_processor_listener_close(COR_CONTAINER_OF(it, struct cor_registration, link)->listener);
    pthread_mutex_unlock(&inf->lock);
}

struct cor_reflector *cor_shared_informer_reflector(struct cor_shared_informer *inf)
{
    return inf->reflector;
}

struct cor_indexer *cor_shared_informer_indexer(struct cor_shared_informer *inf)
{
    return inf->indexer;
}

int cor_shared_informer_add_indexes(struct cor_shared_informer *inf,
                                    const struct cor_index_def *defs, size_t n)
{
    return inf->stopped ? -COR_ECANCELED : cor_indexer_add_indexes(inf->indexer, defs, n);
}

bool cor_shared_informer_has_synced(struct cor_shared_informer *inf)
{
    return cor_delta_fifo_has_synced(inf->fifo);
}

bool cor_shared_informer_is_stopped(struct cor_shared_informer *inf)
{
    return inf->stopped;
}

/* The handler after the one with this id that step drains, with a reference; NULL: no more. A
 * handler may remove itself or others while it runs, so no link is kept meanwhile. */
static struct cor_registration *next_in_step(struct cor_shared_informer *inf, uint64_t id)
{
    struct cor_registration *found = NULL;

    pthread_mutex_lock(&inf->lock);
    COR_LIST_FOREACH(it, &inf->handlers) {
        struct cor_registration *reg = COR_CONTAINER_OF(it, struct cor_registration, link);

        if (reg->id <= id || !reg->in_step)
            continue;
        cor_ref_get(&reg->ref);
        found = reg;
        break;
    }
    pthread_mutex_unlock(&inf->lock);
    return found;
}

static bool drain_handlers(struct cor_shared_informer *inf, size_t max)
{
    struct cor_registration *reg;
    uint64_t id = 0;
    bool more = false;

    while ((reg = next_in_step(inf, id))) {
        id = reg->id;
        more |= cor_processor_listener_drain(reg->listener, max) == max;
        cor_registration_unref(reg);
    }
    return more;
}

bool cor_shared_informer_step(struct cor_shared_informer *inf, size_t max)
{
    bool more = false;

    /* What is queued at stop is not applied any more. */
    for (size_t i = 0; i < max && !inf->stopped; i++) {
        int r = cor_delta_fifo_try_pop(inf->fifo, cor_informer_apply, inf);

        if (r == -COR_EBUSY || r == -COR_ECANCELED)
            break;
        more = i + 1 == max || r == -COR_ENOMEM;
        if (r == -COR_ENOMEM)
            break;
    }
    return drain_handlers(inf, max) || more;
}
