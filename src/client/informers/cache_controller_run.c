/* clang-format off */
/* A reflector, a queue and a consumer on a runtime's loop.
 *
 *   reflector_run ──► `front` ──► the queue's store       on the loop
 *                        └─ wakes the stepper ──► controller_step() ──► try_pop ──► the consumer
 *
 * The reflector writes through `front`, a store that passes every call on and asks for a step, so
 * that any queue will do: a delta FIFO and a FIFO are wrapped as if they were a program's own.
 *
 * A step pops until nothing waits, or STEP_MAX pieces were processed, or only pieces wait that were
 * put back in this very step: to try them again at once would be to spin.
 *
 * Who waits for the first list is in `waits`, which only the loop touches; a step that finds the
 * queue synced ends them all. Nothing here allocates after the making.
 * Thread: the loop's, but for what cache_controller.h allows to any. */
/* clang-format on */
#include "coracle/cache_controller.h"

#include <assert.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "cache/reflector/reflector_ops.h"
#include "client/informers/stepper.h"
#include "client/runtime/runtime_int.h"

#define STEP_MAX 256 /* pieces of one turn of the loop */

_Static_assert(COR_DELTA_REQUEUE == COR_CACHE_QUEUE_PUT_BACK &&
                   COR_FIFO_REQUEUE == COR_CACHE_QUEUE_PUT_BACK,
               "one meaning, three names");

struct cor_cache_controller_run {
    struct cor_runtime *runtime;
    struct cor_cache_controller_run_opts opts;
    struct cor_cache_queue_fns queue;
    struct cor_reflector_store front;
    struct cor_reflector_run *reflector;
    struct cor_stepper stepper;
    struct cor_dlist waits; /* of struct sync_wait */
    bool is_ending;         /* nothing is processed any more */
    bool was_called;        /* the consumer, in the pop under way; with: */
    size_t npopped;         /* how many changes */
};

struct sync_wait {
    struct cor_cache_controller_run *run;
    struct cor_dlist link;
    struct cor_waiter done;
};

/* The store in front of the queue's. */

static struct cor_cache_controller_run *run_of(struct cor_reflector_store *front)
{
    return COR_CONTAINER_OF(front, struct cor_cache_controller_run, front);
}

static struct cor_reflector_store *store_of(struct cor_reflector_store *front)
{
    return run_of(front)->queue.store;
}

static int front_wake(struct cor_reflector_store *front, int r)
{
    cor_stepper_wake(&run_of(front)->stepper);
    return r;
}

static int front_on_add(struct cor_reflector_store *front, struct cor_str key,
                        struct cor_object *object, struct cor_reflector_at at,
                        struct cor_status *reterr)
{
    struct cor_reflector_store *store = store_of(front);

    return front_wake(front, store->ops->add(store, key, object, at, reterr));
}

static int front_on_update(struct cor_reflector_store *front, struct cor_str key,
                           struct cor_object *object, struct cor_reflector_at at,
                           struct cor_status *reterr)
{
    struct cor_reflector_store *store = store_of(front);

    return front_wake(front, store->ops->update(store, key, object, at, reterr));
}

static int front_on_del(struct cor_reflector_store *front, struct cor_str key,
                        struct cor_object *object, struct cor_reflector_at at,
                        struct cor_status *reterr)
{
    struct cor_reflector_store *store = store_of(front);

    return front_wake(front, store->ops->del(store, key, object, at, reterr));
}

static void front_on_skip(struct cor_reflector_store *front, struct cor_str key,
                          struct cor_object *object, int err)
{
    struct cor_reflector_store *store = store_of(front);

    if (store->ops->skip)
        store->ops->skip(store, key, object, err);
}

static void front_on_bookmark(struct cor_reflector_store *front, struct cor_reflector_at at)
{
    struct cor_reflector_store *store = store_of(front);

    if (store->ops->bookmark)
        store->ops->bookmark(store, at);
}

static int front_on_replace_begin(struct cor_reflector_store *front, struct cor_status *reterr)
{
    struct cor_reflector_store *store = store_of(front);

    return store->ops->replace_begin(store, reterr);
}

static int front_on_replace_add(struct cor_reflector_store *front, struct cor_str key,
                                struct cor_object *object, struct cor_status *reterr)
{
    struct cor_reflector_store *store = store_of(front);

    return store->ops->replace_add(store, key, object, reterr);
}

static int front_on_replace_commit(struct cor_reflector_store *front, struct cor_reflector_at at,
                                   struct cor_status *reterr)
{
    struct cor_reflector_store *store = store_of(front);

    return front_wake(front, store->ops->replace_commit(store, at, reterr));
}

static void front_on_replace_abort(struct cor_reflector_store *front)
{
    struct cor_reflector_store *store = store_of(front);

    if (store->ops->replace_abort)
        store->ops->replace_abort(store);
}

static int front_on_resync(struct cor_reflector_store *front, struct cor_status *reterr)
{
    return front_wake(front, cor_reflector_store_resync(store_of(front), reterr));
}

static const struct cor_reflector_store_ops front_ops = {
    .add = front_on_add,
    .update = front_on_update,
    .del = front_on_del,
    .skip = front_on_skip,
    .bookmark = front_on_bookmark,
    .replace_begin = front_on_replace_begin,
    .replace_add = front_on_replace_add,
    .replace_commit = front_on_replace_commit,
    .replace_abort = front_on_replace_abort,
    .resync = front_on_resync,
};

/* The library's queues. Codes that a consumer returns must not be taken for the queue's: a queue
 * that calls nobody is empty. */

static int answer_of(const struct cor_cache_controller_run *run, int r)
{
    bool is_queues = r == -COR_EBUSY || r == -COR_ECANCELED;

    return run->was_called && is_queues ? 0 : r;
}

static int on_deltas(void *arg, struct cor_str key, const struct cor_delta *deltas, size_t n,
                     bool in_initial_list)
{
    struct cor_cache_controller_run *run = arg;

    run->was_called = true;
    run->npopped = n;
    return run->opts.process_deltas(run->opts.arg, key, deltas, n, in_initial_list);
}

static int deltas_try_pop(void *arg)
{
    struct cor_cache_controller_run *run = arg;

    run->was_called = false;
    return answer_of(run, cor_delta_fifo_try_pop(run->opts.delta_fifo, on_deltas, run));
}

static size_t deltas_len(void *arg)
{
    return cor_delta_fifo_len(((struct cor_cache_controller_run *)arg)->opts.delta_fifo);
}

static bool deltas_has_synced(void *arg)
{
    return cor_delta_fifo_has_synced(((struct cor_cache_controller_run *)arg)->opts.delta_fifo);
}

static void deltas_close(void *arg)
{
    cor_delta_fifo_close(((struct cor_cache_controller_run *)arg)->opts.delta_fifo);
}

static int on_object(void *arg, struct cor_str key, struct cor_object *object, bool in_initial_list)
{
    struct cor_cache_controller_run *run = arg;

    run->was_called = true;
    return run->opts.process_object(run->opts.arg, key, object, in_initial_list);
}

/* A FIFO drops what its consumer refuses, also for want of memory. */
static int fifo_try_pop(void *arg)
{
    struct cor_cache_controller_run *run = arg;
    int r;

    run->was_called = false;
    r = answer_of(run, cor_fifo_try_pop(run->opts.fifo, on_object, run));
    return r == -COR_ENOMEM ? 0 : r;
}

static size_t fifo_len(void *arg)
{
    return cor_fifo_len(((struct cor_cache_controller_run *)arg)->opts.fifo);
}

static bool fifo_has_synced(void *arg)
{
    return cor_fifo_has_synced(((struct cor_cache_controller_run *)arg)->opts.fifo);
}

static void fifo_close(void *arg)
{
    cor_fifo_close(((struct cor_cache_controller_run *)arg)->opts.fifo);
}

/* The queue of the options, as functions. */
static int controller_choose_queue(struct cor_cache_controller_run *run)
{
    const struct cor_cache_controller_run_opts *o = &run->opts;
    struct cor_cache_queue_fns *q = &run->queue;
    int r = 0;

    if ((o->delta_fifo != NULL) + (o->fifo != NULL) + (o->queue != NULL) != 1)
        return -COR_EINVAL;
    if (o->delta_fifo && o->process_deltas)
        *q = (struct cor_cache_queue_fns){COR_CACHE_QUEUE_FNS,
                                          cor_delta_fifo_store(o->delta_fifo),
                                          deltas_try_pop,
                                          deltas_len,
                                          deltas_has_synced,
                                          deltas_close,
                                          run};
    else if (o->fifo && o->process_object)
        *q = (struct cor_cache_queue_fns){COR_CACHE_QUEUE_FNS,
                                          cor_fifo_store(o->fifo),
                                          fifo_try_pop,
                                          fifo_len,
                                          fifo_has_synced,
                                          fifo_close,
                                          run};
    else if (o->queue)
        r = cor_sized_copy(q, sizeof(*q), o->queue);
    run->opts.queue = NULL; /* the program's */
    if (r == 0 && (!q->store || !q->try_pop || !q->len || !q->has_synced || !q->close))
        r = -COR_EINVAL;
    return r;
}

/* Steps. */

static void controller_end_waits(struct cor_cache_controller_run *run)
{
    struct cor_dlist *link;

    if (cor_dlist_empty(&run->waits) || !run->queue.has_synced(run->queue.arg))
        return;
    while ((link = cor_dlist_pop(&run->waits)))
        cor_waiter_set(&COR_CONTAINER_OF(link, struct sync_wait, link)->done);
}

static enum cor_step controller_pop(struct cor_cache_controller_run *run)
{
    const struct cor_cache_queue_fns *q = &run->queue;
    size_t nback = 0;

    for (size_t i = 0; i < STEP_MAX; i++) {
        int r;

        run->npopped = 1;
        r = q->try_pop(q->arg);
        if (r == -COR_EBUSY || r == -COR_ECANCELED)
            return COR_STEP_DONE;
        if (r == -COR_ENOMEM)
            return COR_STEP_LATER;
        if (r == COR_CACHE_QUEUE_PUT_BACK)
            nback += run->npopped;
        if (nback > 0 && nback >= q->len(q->arg))
            return q->len(q->arg) > 0 ? COR_STEP_LATER : COR_STEP_DONE;
    }
    return COR_STEP_MORE;
}

static enum cor_step controller_step(struct cor_stepper *s)
{
    struct cor_cache_controller_run *run =
        COR_CONTAINER_OF(s, struct cor_cache_controller_run, stepper);
    enum cor_step next = run->is_ending ? COR_STEP_DONE : controller_pop(run);

    controller_end_waits(run);
    return next;
}

/* Its life. */

static void controller_stop(void *arg)
{
    cor_stepper_stop(&((struct cor_cache_controller_run *)arg)->stepper);
}

static int controller_start(struct cor_cache_controller_run *run, struct cor_list_watch *lw)
{
    int r;

    cor_stepper_init(&run->stepper, run->runtime, controller_step);
    r = cor_reflector_run_new(run->runtime, run->opts.reflector, lw, &run->front, &run->reflector);
    run->opts.reflector = NULL;
    if (r < 0) {
        cor_runtime_run(run->runtime, controller_stop, run);
        cor_stepper_deinit(&run->stepper);
    }
    return r;
}

int cor_cache_controller_run_new(struct cor_runtime *runtime,
                                 const struct cor_cache_controller_run_opts *opts,
                                 struct cor_list_watch *lw,
                                 struct cor_cache_controller_run **ret_run)
{
    struct cor_cache_controller_run *run = cor_calloc(1, sizeof(*run));
    int r = run ? cor_sized_copy(&run->opts, sizeof(run->opts), opts) : -COR_ENOMEM;

    if (r == 0) {
        run->runtime = runtime;
        run->front.ops = &front_ops;
        cor_dlist_init(&run->waits);
        r = cor_runtime_is_forked(runtime) ? -COR_EINVAL : controller_choose_queue(run);
    }
    if (r == 0)
        r = controller_start(run, lw);
    if (r < 0) {
        cor_free(run);
        return r;
    }
    *ret_run = run;
    return 0;
}

static void controller_end(void *arg)
{
    ((struct cor_cache_controller_run *)arg)->is_ending = true;
}

/* The close may wake the stepper: only then is it stopped. */
static void controller_close(void *arg)
{
    struct cor_cache_controller_run *run = arg;

    run->queue.close(run->queue.arg);
    controller_stop(run);
}

struct cor_cache_controller_run *cor_cache_controller_run_free(struct cor_cache_controller_run *run)
{
    if (!run || cor_runtime_is_forked(run->runtime))
        return NULL;
    assert(!cor_runtime_is_inside(run->runtime) && "freed inside a callback");
    cor_runtime_run(run->runtime, controller_end, run);
    cor_reflector_run_free(run->reflector);
    cor_runtime_run(run->runtime, controller_close, run);
    cor_stepper_deinit(&run->stepper);
    return cor_free(run);
}

void cor_cache_controller_run_wake(struct cor_cache_controller_run *run)
{
    cor_stepper_wake(&run->stepper);
}

bool cor_cache_controller_run_has_synced(struct cor_cache_controller_run *run)
{
    return run->queue.has_synced(run->queue.arg);
}

static void sync_wait_begin(void *arg)
{
    struct sync_wait *w = arg;

    cor_dlist_push(&w->run->waits, &w->link);
    controller_end_waits(w->run);
}

static void sync_wait_give_up(void *arg)
{
    cor_dlist_remove(&((struct sync_wait *)arg)->link);
}

int cor_cache_controller_run_wait_for_sync(struct cor_cache_controller_run *run,
                                           uint64_t timeout_ms)
{
    struct sync_wait w = {.run = run};
    int r = cor_runtime_may_wait(run->runtime, NULL);

    if (r < 0)
        return r;
    cor_dlist_init(&w.link);
    cor_waiter_init(&w.done);
    cor_runtime_run(run->runtime, sync_wait_begin, &w);
    r = cor_runtime_wait(run->runtime, &w.done, timeout_ms);
    if (r < 0)
        cor_runtime_run(run->runtime, sync_wait_give_up, &w);
    cor_waiter_deinit(&w.done);
    return r;
}

void cor_cache_controller_run_last_version(struct cor_cache_controller_run *run,
                                           char to[COR_REFLECTOR_VERSION_MAX])
{
    cor_reflector_run_last_version(run->reflector, to);
}

void cor_cache_controller_run_stats(struct cor_cache_controller_run *run,
                                    struct cor_reflector_stats *ret)
{
    cor_reflector_run_stats(run->reflector, ret);
    ret->backlog = run->queue.len(run->queue.arg);
}
