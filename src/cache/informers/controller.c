/* A controller joins a reflector and a delta FIFO: the driver's answers go into the reflector, the
 * reflector writes changes into the queue, the queue calls on_work, and cor_cache_controller_step()
 * pops the changes and passes them to `process`.
 *
 * Failures: changes that `process` refuses are dropped, or put back with retry_on_error; a step
 * tries each of those once, and ends when only such changes are left. After -COR_ENOMEM the queue
 * keeps the changes, and the next step tries them first. What is to be reported is noted under the
 * queue's lock and reported when the lock is released. Thread: the controller's, except for what
 * controller.h allows to any. */
#include "cache/informers/controller.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/err.h"
#include "base/mem.h"

#define SLOW_MS    100
#define SLOW_DEPTH 10

struct cor_cache_controller {
    struct cor_delta_consumer consumer;
    const struct cor_clock *clock;
    bool retry_on_error;
    void (*on_report)(void *arg, enum cor_reflector_report what, const struct cor_status *status);
    void *report_arg;
    struct cor_delta_fifo *fifo;
    struct cor_reflector *reflector;
    struct cor_rand rand;
    struct cor_status refused; /* by `process`, and not told of yet */
    struct cor_status slow;    /* as above: what took its time */
    atomic_bool stopped;
    bool started;
    size_t tried; /* changes that were refused in the step under way */
};

static int controller_make_fifo(struct cor_cache_controller *c,
                                const struct cor_cache_controller_opts *opts)
{
    const struct cor_delta_fifo_opts fifo = {
        COR_DELTA_FIFO_OPTS,          .by_key = opts->by_key,    .known = c->consumer.known,
        .transform = opts->transform, .on_ready = opts->on_work, .arg = opts->arg,
    };

    return cor_delta_fifo_new(&fifo, &c->fifo);
}

static int controller_make_reflector(struct cor_cache_controller *c,
                                     const struct cor_cache_controller_opts *opts)
{
    struct cor_reflector_opts reflector = opts->reflector;

    assert(!reflector.should_resync);
    reflector.should_resync = c->consumer.should_resync;
    reflector.resync_arg = c->consumer.arg;
    if (!reflector.rand)
        reflector.rand = &c->rand;
    return cor_reflector_new(&reflector, opts->driver, cor_delta_fifo_store(c->fifo),
                             &c->reflector);
}

int cor_cache_controller_new(const struct cor_cache_controller_opts *opts,
                             const struct cor_delta_consumer *consumer,
                             struct cor_cache_controller **ret_controller)
{
    COR_CLEANUP(cor_cache_controller_freep)
    struct cor_cache_controller *c = cor_calloc(1, sizeof(*c));
    int r;

    assert(consumer->process);
    if (!c)
        return -COR_ENOMEM;
    c->consumer = *consumer;
    c->clock = opts->clock ? opts->clock : cor_clock_real();
    c->retry_on_error = opts->retry_on_error;
    c->on_report = opts->reflector.on_report;
    c->report_arg = opts->reflector.arg;
    cor_rand_init(&c->rand);
    r = controller_make_fifo(c, opts);
    if (r == 0)
        r = controller_make_reflector(c, opts);
    if (r == 0)
        *ret_controller = COR_STEAL(c);
    return r;
}

struct cor_cache_controller *cor_cache_controller_free(struct cor_cache_controller *c)
{
    if (!c)
        return NULL;
    assert(!c->started || c->stopped);
    cor_reflector_free(c->reflector);
    cor_delta_fifo_free(c->fifo);
    cor_status_deinit(&c->refused);
    cor_status_deinit(&c->slow);
    return cor_free(c);
}

static uint64_t now_ms(const struct cor_cache_controller *c)
{
    return cor_clock_mono_ms(c->clock);
}

void cor_cache_controller_start(struct cor_cache_controller *c, uint64_t resync_ms)
{
    if (c->started || c->stopped)
        return;
    c->started = true;
    cor_reflector_set_resync(c->reflector, resync_ms);
    cor_reflector_start(c->reflector, now_ms(c));
}

void cor_cache_controller_stop(struct cor_cache_controller *c)
{
    cor_reflector_stop(c->reflector, now_ms(c));
    c->stopped = true;
    cor_delta_fifo_close(c->fifo);
}

struct cor_reflector *cor_cache_controller_reflector(struct cor_cache_controller *c)
{
    return c->reflector;
}

struct cor_delta_fifo *cor_cache_controller_queue(struct cor_cache_controller *c)
{
    return c->fifo;
}

/* How many wait can be asked when the queue's lock is left. */
static void controller_note_slowness(struct cor_cache_controller *c, struct cor_str key,
                                     uint64_t took)
{
    if (took > SLOW_MS)
        cor_status_set(&c->slow, -COR_ETIMEOUT, "%.*s took %llu ms to be applied", COR_STR_ARG(key),
                       (unsigned long long)took);
}

/* What a refusal was does not matter to the loop, except for memory, which may come back: the queue
 * tells those who wait for the change. It is reported when the queue's lock is left. */
static int controller_process(void *arg, struct cor_str key, const struct cor_delta *deltas,
                              size_t n, bool in_initial_list)
{
    struct cor_cache_controller *c = arg;
    uint64_t began_ms = now_ms(c);
    int r = c->consumer.process(c->consumer.arg, key, deltas, n, in_initial_list);

    controller_note_slowness(c, key, now_ms(c) - began_ms);
    if (r >= 0 || r == -COR_ENOMEM)
        return r;
    cor_status_untyped(&c->refused, r, "the cache did not take %.*s: %s", COR_STR_ARG(key),
                       cor_err_text(r));
    c->tried += n;
    return c->retry_on_error ? COR_DELTA_REQUEUE : r;
}

static void controller_report(const struct cor_cache_controller *c, enum cor_reflector_report what,
                              const struct cor_status *status)
{
    if (c->on_report)
        c->on_report(c->report_arg, what, status);
}

/* Reports the refusal that controller_process() noted. True: there was one. */
static bool controller_report_refusal(struct cor_cache_controller *c)
{
    if (c->refused.err == 0)
        return false;
    controller_report(c, COR_REFLECTOR_CHANGE_REFUSED, &c->refused);
    cor_status_deinit(&c->refused);
    return true;
}

static void controller_report_slowness(struct cor_cache_controller *c)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status told = {0};
    size_t depth;

    if (c->slow.err == 0)
        return;
    depth = cor_delta_fifo_len(c->fifo);
    if (depth > SLOW_DEPTH) {
        cor_status_set(&told, -COR_ETIMEOUT, "%s, %zu changes wait behind it",
                       cor_status_message(&c->slow), depth);
        controller_report(c, COR_REFLECTOR_SLOW_CHANGE, &told);
    }
    cor_status_deinit(&c->slow);
}

/* Are all that wait such as were refused in this step? To try them again at once would be to spin.
 */
static bool controller_has_tried_all(struct cor_cache_controller *c)
{
    return c->retry_on_error && cor_delta_fifo_fresh(c->fifo) == 0 &&
           c->tried >= cor_delta_fifo_len(c->fifo);
}

bool cor_cache_controller_step(struct cor_cache_controller *c, size_t max)
{
    assert(max > 0);
    c->tried = 0;
    /* What is queued at stop is not processed any more. */
    for (size_t i = 0; i < max && !c->stopped; i++) {
        int r = cor_delta_fifo_try_pop(c->fifo, controller_process, c);
        bool refused = controller_report_refusal(c);

        controller_report_slowness(c);
        if (r == -COR_ENOMEM)
            return true;
        if (controller_has_tried_all(c))
            return false;
        if (!refused && (r == -COR_EBUSY || r == -COR_ECANCELED))
            return false;
    }
    return !c->stopped && cor_delta_fifo_fresh(c->fifo) > 0;
}

bool cor_controller_has_retries(struct cor_cache_controller *c)
{
    return !c->stopped && cor_delta_fifo_retries(c->fifo) > 0;
}

void cor_cache_controller_stats(struct cor_cache_controller *c, struct cor_reflector_stats *ret)
{
    cor_reflector_stats(c->reflector, ret);
    ret->backlog = cor_delta_fifo_len(c->fifo);
}

bool cor_controller_has_synced(struct cor_cache_controller *c)
{
    return cor_delta_fifo_has_synced(c->fifo);
}

bool cor_controller_is_stopped(struct cor_cache_controller *c)
{
    return c->stopped;
}
