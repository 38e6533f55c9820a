/* A plain informer of `cache` on a runtime's loop. Its queue announces work on any thread; one mail
 * brings the loop to step the controller, and a timer does when changes were refused and are to be
 * tried again. The mail is on its way at most once. When the informer is freed while it is, the
 * mail finishes the freeing. */
#include "coracle/plain_informer.h"

#include <assert.h>
#include <stdatomic.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "cache/informers/plain_informer.h"
#include "client/informers/list_watch_int.h"
#include "client/runtime/runtime_int.h"

#define STEP_MAX 256  /* changes of one turn of the loop */
#define RETRY_MS 1000 /* between two tries of changes that an index refused */

struct cor_plain_informer_run {
    struct cor_runtime *runtime;
    struct cor_plain_informer_run_opts opts;
    struct cor_list_watch *lw;
    struct cor_plain_informer *informer;
    struct cor_mail work;
    atomic_bool is_posted;
    struct cor_timer retry;
    bool is_closing; /* the loop's */
    struct cor_waiter closed;
    int r; /* of the making */
};

static void plain_on_work(void *arg)
{
    struct cor_plain_informer_run *run = arg;

    if (!atomic_exchange(&run->is_posted, true))
        cor_loop_post_always(run->runtime->loop, &run->work);
}

static void plain_on_mail(struct cor_mail *mail)
{
    struct cor_plain_informer_run *run =
        COR_CONTAINER_OF(mail, struct cor_plain_informer_run, work);
    struct cor_cache_controller *c;

    atomic_store(&run->is_posted, false);
    if (run->is_closing) {
        cor_waiter_set(&run->closed);
        return;
    }
    c = cor_plain_informer_controller(run->informer);
    if (cor_cache_controller_step(c, STEP_MAX))
        plain_on_work(run);
    if (cor_controller_has_retries(c) && cor_timer_set(&run->retry, RETRY_MS) < 0)
        plain_on_work(run);
}

static void plain_on_retry(struct cor_timer *timer)
{
    plain_on_work(COR_CONTAINER_OF(timer, struct cor_plain_informer_run, retry));
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
                      .learns_expected = true,
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
    cor_timer_init(&run->retry, run->runtime->loop, plain_on_retry);
    run->lw->reflector =
        cor_cache_controller_reflector(cor_plain_informer_controller(run->informer));
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
        run->work.on_mail = plain_on_mail;
        atomic_init(&run->is_posted, false);
        r = cor_runtime_run(runtime, plain_start, run);
        r = r < 0 ? r : run->r;
    }
    if (r < 0) {
        cor_free(run);
        return r;
    }
    cor_waiter_init(&run->closed);
    cor_runtime_enter(runtime);
    *ret_run = run;
    return 0;
}

/* Work that is on its way sets `closed` when it arrives. */
static void plain_stop(void *arg)
{
    struct cor_plain_informer_run *run = arg;

    run->is_closing = true;
    cor_timer_cancel(&run->retry);
    cor_cache_controller_stop(cor_plain_informer_controller(run->informer));
    cor_list_watch_detach(run->lw);
    if (!atomic_load(&run->is_posted))
        cor_waiter_set(&run->closed);
}

struct cor_plain_informer_run *cor_plain_informer_run_free(struct cor_plain_informer_run *run)
{
    if (!run || cor_runtime_is_forked(run->runtime))
        return NULL;
    assert(!cor_runtime_is_inside(run->runtime) && "freed inside a callback");
    cor_runtime_run(run->runtime, plain_stop, run);
    cor_runtime_wait(run->runtime, &run->closed, COR_WAIT_FOREVER);
    cor_plain_informer_free(run->informer);
    cor_waiter_deinit(&run->closed);
    cor_runtime_leave(run->runtime);
    return cor_free(run);
}

struct cor_indexer *cor_plain_informer_run_indexer(struct cor_plain_informer_run *run)
{
    return cor_plain_informer_indexer(run->informer);
}

bool cor_plain_informer_run_has_synced(struct cor_plain_informer_run *run)
{
    return cor_controller_has_synced(cor_plain_informer_controller(run->informer));
}

struct plain_stats {
    struct cor_plain_informer_run *run;
    struct cor_reflector_stats *ret;
};

static void plain_read_stats(void *arg)
{
    const struct plain_stats *s = arg;

    cor_cache_controller_stats(cor_plain_informer_controller(s->run->informer), s->ret);
}

void cor_plain_informer_run_stats(struct cor_plain_informer_run *run,
                                  struct cor_reflector_stats *ret)
{
    struct plain_stats s = {run, ret};

    *ret = (struct cor_reflector_stats){0};
    cor_runtime_run(run->runtime, plain_read_stats, &s);
}
