/* The life of a shared informer, and its steps: a step applies pending changes (the controller's
 * part), and then gives handlers their turns, beginning after the handler that had the last one. A
 * step ends after COR_TURN_MS of handlers' time, so that whoever runs it can do other work between.
 * Thread: the informer's for start, stop and step; any for reading. */
#include "cache/informers/shared_informer.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "cache/informers/shared_informer_int.h"

static uint64_t now_ms(const struct cor_shared_informer *inf)
{
    return cor_clock_mono_ms(inf->clock);
}

static int informer_make_controller(struct cor_shared_informer *inf,
                                    const struct cor_cache_controller_opts *opts)
{
    const struct cor_delta_consumer consumer = {.known = inf->indexer,
                                                .process = cor_informer_apply,
                                                .should_resync = cor_informer_should_resync,
                                                .arg = inf};

    return cor_cache_controller_new(opts, &consumer, &inf->controller);
}

static int informer_make_detector(struct cor_shared_informer *inf,
                                  const struct cor_cache_controller_opts *opts)
{
    const struct cor_mutation_detector_opts detector = {.on_mutation = opts->on_mutation,
                                                        .arg = opts->arg};

    return opts->on_mutation ? cor_mutation_detector_new(&detector, now_ms(inf), &inf->detector)
                             : 0;
}

int cor_shared_informer_new(const struct cor_cache_controller_opts *opts,
                            struct cor_shared_informer **ret_informer)
{
    struct cor_shared_informer *inf = cor_calloc(1, sizeof(*inf));
    int r;

    if (!inf)
        return -COR_ENOMEM;
    inf->clock = opts->clock ? opts->clock : cor_clock_real();
    inf->on_work = opts->on_work;
    inf->arg = opts->arg;
    inf->resync_ms = inf->resync_check_ms = opts->reflector.resync_ms;
    cor_lock_init(&inf->lock, COR_LOCK_SHARED_INFORMER);
    cor_dlist_init(&inf->handlers);
    cor_dlist_init(&inf->notifications);
    r = cor_indexer_new(opts->indexes, opts->nindexes, &inf->indexer);
    cor_delta_applier_init(&inf->applier, &cor_informer_applier_ops, inf->indexer);
    if (r == 0)
        r = informer_make_controller(inf, opts);
    if (r == 0)
        r = informer_make_detector(inf, opts);
    if (r < 0) {
        cor_shared_informer_free(inf);
        return r;
    }
    *ret_informer = inf;
    return 0;
}

struct cor_shared_informer *cor_shared_informer_free(struct cor_shared_informer *inf)
{
    struct cor_dlist *link;

    if (!inf)
        return NULL;
    while ((link = cor_dlist_pop(&inf->handlers)))
        cor_registration_unref(COR_CONTAINER_OF(link, struct cor_registration, link));
    cor_cache_controller_free(inf->controller);
    cor_mutation_detector_free(inf->detector);
    cor_indexer_free(inf->indexer);
    cor_delta_applier_deinit(&inf->applier);
    cor_lock_deinit(&inf->lock);
    return cor_free(inf);
}

void cor_shared_informer_start(struct cor_shared_informer *inf)
{
    uint64_t resync_ms;

    cor_lock_acquire(&inf->lock);
    inf->started = true;
    resync_ms = inf->resync_check_ms;
    cor_lock_release(&inf->lock);
    cor_cache_controller_start(inf->controller, resync_ms);
}

void cor_shared_informer_stop(struct cor_shared_informer *inf)
{
    cor_cache_controller_stop(inf->controller);
    cor_lock_acquire(&inf->lock);
    COR_DLIST_FOREACH(it, &inf->handlers)
        cor_processor_listener_close(COR_CONTAINER_OF(it, struct cor_registration, link)->listener);
    cor_lock_release(&inf->lock);
}

struct cor_reflector *cor_shared_informer_reflector(struct cor_shared_informer *inf)
{
    return cor_cache_controller_reflector(inf->controller);
}

void cor_shared_informer_stats(struct cor_shared_informer *inf, struct cor_reflector_stats *ret)
{
    cor_cache_controller_stats(inf->controller, ret);
}

struct cor_indexer *cor_shared_informer_indexer(struct cor_shared_informer *inf)
{
    return inf->indexer;
}

int cor_shared_informer_add_indexes(struct cor_shared_informer *inf,
                                    const struct cor_index_def *defs, size_t n)
{
    if (cor_controller_is_stopped(inf->controller))
        return -COR_ECANCELED;
    return cor_indexer_add_indexes(inf->indexer, defs, n);
}

bool cor_shared_informer_has_synced(struct cor_shared_informer *inf)
{
    return cor_controller_has_synced(inf->controller);
}

bool cor_shared_informer_is_started(struct cor_shared_informer *inf)
{
    return COR_LOCKED(&inf->lock, inf->started);
}

bool cor_shared_informer_is_stopped(struct cor_shared_informer *inf)
{
    return cor_controller_is_stopped(inf->controller);
}

/* The handler after the one with this id that step runs, with a reference, and after the last the
 * first again; NULL: there is none. A handler may remove itself or others while it runs, so no link
 * is kept meanwhile. */
static struct cor_registration *informer_next_in_step(struct cor_shared_informer *inf, uint64_t id)
{
    struct cor_registration *first = NULL, *found = NULL;

    cor_lock_acquire(&inf->lock);
    COR_DLIST_FOREACH(it, &inf->handlers) {
        struct cor_registration *reg = COR_CONTAINER_OF(it, struct cor_registration, link);

        if (!reg->in_step)
            continue;
        if (!first)
            first = reg;
        if (reg->id <= id)
            continue;
        found = reg;
        break;
    }
    if (!found)
        found = first;
    if (found)
        cor_ref_get(&found->ref);
    cor_lock_release(&inf->lock);
    return found;
}

/* True: the handler may have more to hear. `now_ms` is moved to the end of its turn. */
static bool informer_run_handler(struct cor_shared_informer *inf, struct cor_registration *reg,
                                 size_t max, uint64_t *now_ms)
{
    struct cor_turn turn = {.max = max, .clock = inf->clock, .began_ms = *now_ms};

    cor_processor_listener_turn(reg->listener, &turn);
    if (turn.longest_ms >= COR_SLOW_HANDLER_MS && reg->on_slow)
        reg->on_slow(reg->arg, turn.longest_ms);
    *now_ms = turn.at_ms;
    return turn.has_more;
}

/* Once around, beginning after the handler that was served last, which may be gone: handlers have
 * ids that grow, so the round is over when it has passed the id that it began with, or would begin
 * at the first one for a second time. */
static bool informer_run_handlers(struct cor_shared_informer *inf, size_t max)
{
    uint64_t began_ms = 0, now_ms = 0, from = inf->served_id;
    bool more = false, wrapped = false, wraps;
    struct cor_registration *reg;

    while ((reg = informer_next_in_step(inf, inf->served_id))) {
        wraps = reg->id <= inf->served_id;
        if ((wraps && wrapped) || ((wraps || wrapped) && reg->id > from)) {
            cor_registration_unref(reg);
            break;
        }
        wrapped |= wraps;
        if (began_ms == 0)
            began_ms = now_ms = cor_clock_coarse_ms(inf->clock);
        inf->served_id = reg->id;
        more |= informer_run_handler(inf, reg, max, &now_ms);
        cor_registration_unref(reg);
        if (now_ms - began_ms >= COR_TURN_MS)
            return true;
    }
    return more;
}

bool cor_shared_informer_step(struct cor_shared_informer *inf, size_t max)
{
    bool more = cor_cache_controller_step(inf->controller, max);

    more |= informer_run_handlers(inf, max);
    return more;
}

bool cor_shared_informer_has_retries(struct cor_shared_informer *inf)
{
    return cor_controller_has_retries(inf->controller);
}

void cor_shared_informer_check_mutations(struct cor_shared_informer *inf)
{
    if (!inf->detector)
        return;
    cor_lock_acquire(&inf->lock);
    cor_mutation_detector_look(inf->detector, now_ms(inf));
    cor_lock_release(&inf->lock);
}
