/* A reflector of `cache` on a runtime's loop. Making, freeing and reading it are errands to the
 * loop, so that they are for any thread. When a step of the making fails, the steps before it are
 * undone on the loop, and the list-watch can be used again. */
#include "coracle/reflector.h"

#include <assert.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/sized.h"
#include "cache/reflector/reflector.h"
#include "client/informers/list_watch_int.h"
#include "client/runtime/runtime_int.h"

_Static_assert(COR_REFLECTOR_VERSION_MAX == COR_REFLECTOR_RV_MAX + 1, "one bound, two names");

struct cor_reflector_run {
    struct cor_runtime *runtime;
    struct cor_reflector_run_opts opts;
    struct cor_list_watch *lw;
    struct cor_reflector_store *store;
    struct cor_reflector *reflector;
    struct cor_rand rand;
    int r; /* of the making */
};

struct cor_gvk cor_expected_gvk(const char *api_version, const char *kind)
{
    struct cor_str version = cor_strz(api_version), group = COR_STR("");

    if (!kind)
        return (struct cor_gvk){0};
    if (cor_str_find(version, '/') >= 0)
        group = cor_str_cut(&version, '/');
    return (struct cor_gvk){group, version, cor_strz(kind)};
}

static int run_make_reflector(struct cor_reflector_run *run)
{
    const struct cor_reflector_opts opts = {
        .name = run->opts.name ? cor_strz(run->opts.name) : COR_STR("reflector"),
        .expected = cor_expected_gvk(run->opts.api_version, run->opts.kind),
        .learns_expected = !run->opts.kind,
        .page_size = run->opts.page_size,
        .resync_ms = run->opts.resync_ms,
        .watch_silence_ms = run->opts.watch_silence_ms,
        .stream_initial = run->opts.stream_initial,
        .should_resync = run->opts.should_resync,
        .resync_arg = run->opts.arg,
        .rand = &run->rand,
        .on_watch_error = run->opts.on_watch_error,
        .on_report = run->opts.on_report,
        .arg = run->opts.arg,
    };

    return cor_reflector_new(&opts, &run->lw->driver, run->store, &run->reflector);
}

static void run_start(void *arg)
{
    struct cor_reflector_run *run = arg;

    run->r = cor_list_watch_attach(run->lw, run->runtime);
    if (run->r < 0)
        return;
    run->r = run_make_reflector(run);
    if (run->r < 0) {
        cor_list_watch_detach(run->lw);
        return;
    }
    run->lw->reflector = run->reflector;
    cor_reflector_start(run->reflector, cor_loop_now_ms(run->runtime->loop));
}

int cor_reflector_run_new(struct cor_runtime *runtime, const struct cor_reflector_run_opts *opts,
                          struct cor_list_watch *lw, struct cor_reflector_store *store,
                          struct cor_reflector_run **ret_run)
{
    struct cor_reflector_run *run = cor_calloc(1, sizeof(*run));
    int r = run ? cor_sized_copy(&run->opts, sizeof(run->opts), opts) : -COR_ENOMEM;

    if (r == 0) {
        run->runtime = runtime;
        run->lw = lw;
        run->store = store;
        cor_rand_init(&run->rand);
        r = cor_runtime_run(runtime, run_start, run);
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

static void run_stop(void *arg)
{
    struct cor_reflector_run *run = arg;

    cor_reflector_stop(run->reflector, cor_loop_now_ms(run->runtime->loop));
    cor_list_watch_detach(run->lw);
    run->reflector = cor_reflector_free(run->reflector);
}

struct cor_reflector_run *cor_reflector_run_free(struct cor_reflector_run *run)
{
    if (!run || cor_runtime_is_forked(run->runtime))
        return NULL;
    assert(!cor_runtime_is_inside(run->runtime) && "freed inside a callback");
    cor_runtime_run(run->runtime, run_stop, run);
    cor_runtime_leave(run->runtime);
    return cor_free(run);
}

struct version_errand {
    struct cor_reflector_run *run;
    char *to;
};

static void run_read_version(void *arg)
{
    const struct version_errand *e = arg;
    struct cor_str rv = cor_reflector_last_sync_rv(e->run->reflector);

    memcpy(e->to, rv.p, rv.n);
    e->to[rv.n] = '\0';
}

void cor_reflector_run_last_version(struct cor_reflector_run *run,
                                    char to[COR_REFLECTOR_VERSION_MAX])
{
    struct version_errand e = {run, to};

    to[0] = '\0';
    cor_runtime_run(run->runtime, run_read_version, &e);
}

struct stats_errand {
    struct cor_reflector_run *run;
    struct cor_reflector_stats *ret;
};

static void run_read_stats(void *arg)
{
    const struct stats_errand *e = arg;

    cor_reflector_stats(e->run->reflector, e->ret);
}

void cor_reflector_run_stats(struct cor_reflector_run *run, struct cor_reflector_stats *ret)
{
    struct stats_errand e = {run, ret};

    *ret = (struct cor_reflector_stats){0};
    cor_runtime_run(run->runtime, run_read_stats, &e);
}
