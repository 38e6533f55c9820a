/* A plain informer of `cache` on a runtime's loop. Its queue announces work on any thread, and the
 * stepper (stepper.h) then steps the controller on the loop; it does again a second later when
 * changes were refused and are to be tried again. */
#include "coracle/plain_informer.h"

#include <assert.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "cache/informers/plain_informer.h"
#include "client/informers/list_watch_int.h"
#include "client/informers/stepper.h"
#include "client/runtime/runtime_int.h"

#define STEP_MAX 256 /* changes of one turn of the loop */

_Static_assert(COR_REFLECTOR_VERSION_MAX == COR_CACHE_WAITER_RV_MAX + 1, "one bound, two names");

struct cor_plain_informer_run {
    struct cor_runtime *runtime;
    struct cor_plain_informer_run_opts opts;
    struct cor_list_watch *lw;
    struct cor_plain_informer *informer;
    struct cor_stepper stepper;
    int r; /* of the making */
};

static struct cor_cache_controller *plain_controller(struct cor_plain_informer_run *run)
{
    return cor_plain_informer_controller(run->informer);
}

static void plain_on_work(void *arg)
{
    cor_stepper_wake(&((struct cor_plain_informer_run *)arg)->stepper);
}

static enum cor_step plain_step(struct cor_stepper *s)
{
    struct cor_plain_informer_run *run =
        COR_CONTAINER_OF(s, struct cor_plain_informer_run, stepper);
    struct cor_cache_controller *c = plain_controller(run);

    if (cor_cache_controller_step(c, STEP_MAX))
        return COR_STEP_MORE;
    return cor_controller_has_retries(c) ? COR_STEP_LATER : COR_STEP_DONE;
}

static int plain_on_transform(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    const struct cor_plain_informer_run *run = arg;

    return run->opts.transform(run->opts.arg, object, reterr);
}

static int plain_make(struct cor_plain_informer_run *run)
{
    const struct cor_plain_informer_run_opts *o = &run->opts;
    const struct cor_cache_controller_opts opts = {
        .reflector = {.name = o->name ? cor_strz(o->name) : COR_STR("informer"),
                      .expected = cor_expected_gvk(o->api_version, o->kind),
                      .learns_expected = !o->kind,
                      .page_size = o->page_size,
                      .resync_ms = o->resync_ms,
                      .watch_silence_ms = o->watch_silence_ms,
                      .stream_initial = o->stream_initial,
                      .on_watch_error = o->on_watch_error,
                      .on_report = o->on_report,
                      .arg = o->arg},
        .driver = &run->lw->driver,
        .clock = run->runtime->clock,
        .by_key = o->by_key,
        .retry_on_error = o->retry_on_error,
        .transform = o->transform ? plain_on_transform : NULL,
        .on_work = plain_on_work,
        .arg = run,
        .indexes = o->indexes,
        .nindexes = o->nindexes,
    };

    return cor_plain_informer_new(&opts, &o->handler, &run->informer);
}

static void plain_start(void *arg)
{
    struct cor_plain_informer_run *run = arg;

    run->r = cor_list_watch_attach(run->lw, run->runtime);
    if (run->r < 0)
        return;
    run->r = plain_make(run);
    if (run->r < 0) {
        cor_list_watch_detach(run->lw);
        return;
    }
    cor_stepper_init(&run->stepper, run->runtime, plain_step);
    run->lw->reflector = cor_cache_controller_reflector(plain_controller(run));
    cor_plain_informer_start(run->informer);
}

int cor_plain_informer_run_new(struct cor_runtime *runtime,
                               const struct cor_plain_informer_run_opts *opts,
                               struct cor_list_watch *lw, struct cor_plain_informer_run **ret_run)
{
    struct cor_plain_informer_run *run = cor_calloc(1, sizeof(*run));
    int r = run ? cor_sized_copy(&run->opts, sizeof(run->opts), opts) : -COR_ENOMEM;

    if (r == 0) {
        run->runtime = runtime;
        run->lw = lw;
        r = cor_runtime_run(runtime, plain_start, run);
        r = r < 0 ? r : run->r;
    }
    if (r < 0) {
        cor_free(run);
        return r;
    }
    run->opts.name = run->opts.api_version = run->opts.kind = NULL; /* the reflector has copies */
    cor_runtime_enter(runtime);
    *ret_run = run;
    return 0;
}

static void plain_stop(void *arg)
{
    struct cor_plain_informer_run *run = arg;

    cor_cache_controller_stop(plain_controller(run));
    cor_list_watch_detach(run->lw);
    cor_stepper_stop(&run->stepper);
}

struct cor_plain_informer_run *cor_plain_informer_run_free(struct cor_plain_informer_run *run)
{
    if (!run || cor_runtime_is_forked(run->runtime))
        return NULL;
    assert(!cor_runtime_is_inside(run->runtime) && "freed inside a callback");
    cor_runtime_run(run->runtime, plain_stop, run);
    cor_stepper_deinit(&run->stepper);
    cor_plain_informer_free(run->informer);
    cor_runtime_leave(run->runtime);
    return cor_free(run);
}

struct cor_indexer *cor_plain_informer_run_indexer(struct cor_plain_informer_run *run)
{
    return cor_plain_informer_indexer(run->informer);
}

bool cor_plain_informer_run_has_synced(struct cor_plain_informer_run *run)
{
    return cor_controller_has_synced(plain_controller(run));
}

struct sync_wait {
    struct cor_waiter done;
    int r;
};

static void on_sync_wait_over(void *arg, int r)
{
    struct sync_wait *w = arg;

    w->r = r;
    cor_waiter_set(&w->done);
}

/* A wait that cannot be taken back any more is about to be ended: the stack that it points to must
 * live until then. */
static int plain_wait(struct cor_plain_informer_run *run, struct sync_wait *w, uint64_t timeout_ms)
{
    struct cor_delta_fifo *queue = cor_cache_controller_queue(plain_controller(run));
    uint64_t id;
    int r = cor_delta_fifo_wait_synced(queue, on_sync_wait_over, w, &id);

    if (r != 0)
        return r < 0 ? r : 0;
    r = cor_runtime_wait(run->runtime, &w->done, timeout_ms);
    if (r < 0 && cor_delta_fifo_cancel_wait(queue, id))
        return r;
    cor_runtime_wait(run->runtime, &w->done, COR_WAIT_FOREVER);
    return w->r;
}

int cor_plain_informer_run_wait_for_sync(struct cor_plain_informer_run *run, uint64_t timeout_ms)
{
    struct sync_wait w = {.r = 0};
    int r = cor_runtime_may_wait(run->runtime, NULL);

    if (r < 0)
        return r;
    cor_waiter_init(&w.done);
    r = plain_wait(run, &w, timeout_ms);
    cor_waiter_deinit(&w.done);
    return r;
}

void cor_plain_informer_run_last_version(struct cor_plain_informer_run *run,
                                         char to[COR_REFLECTOR_VERSION_MAX])
{
    cor_delta_fifo_last_rv(cor_cache_controller_queue(plain_controller(run)), to);
}

struct plain_stats {
    struct cor_plain_informer_run *run;
    struct cor_reflector_stats *ret;
};

static void plain_read_stats(void *arg)
{
    const struct plain_stats *s = arg;

    cor_cache_controller_stats(plain_controller(s->run), s->ret);
}

void cor_plain_informer_run_stats(struct cor_plain_informer_run *run,
                                  struct cor_reflector_stats *ret)
{
    struct plain_stats s = {run, ret};

    *ret = (struct cor_reflector_stats){0};
    cor_runtime_run(run->runtime, plain_read_stats, &s);
}
