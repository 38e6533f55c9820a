/* clang-format off */
/* One run of a reconcile function.
 *
 *   control loop: reconcile(rec) ──► cor_run_begin()
 *                                       │ `reconcile`: a job ──► worker thread: the function
 *                                       │                             └── mail ──► run_end()
 *                                       └ `begin`: the function … cor_run_done() ──► run_end()
 *   run_end(): the result goes to cor_reconcile_done(), what was borrowed is released
 *
 * While a worker thread has the run, the loop reads and writes its atomic members only.
 * Failures: without memory for the key's object the run ends with that error, and the function is
 * not called. A run that ends after its control loop has given up is only released. */
/* clang-format on */
#include <assert.h>
#include <stdio.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "client/controller/manager_int.h"

static void on_done_mail(struct cor_mail *mail);
static void run_on_worker(struct cor_job *job);
static void on_job_done(struct cor_job *job);

void cor_run_init(struct cor_run *run, struct cor_controller *c)
{
    run->controller = c;
    cor_dlist_init(&run->link);
    cor_status_init(&run->why);
    run->job = (struct cor_job){
        .run = run_on_worker, .on_done = on_job_done, .loop = c->manager->runtime->loop};
    run->done.on_mail = on_done_mail;
}

static void run_release_objects(struct cor_run *run)
{
    while (run->nkept > 0)
        cor_object_unref(run->kept[--run->nkept]);
    run->object = cor_object_unref(run->object);
    cor_status_deinit(&run->why);
}

void cor_run_deinit(struct cor_run *run)
{
    assert(!run->rec);
    run_release_objects(run);
    cor_free(run->kept);
}

/* On the loop. */
static void run_end(struct cor_run *run)
{
    struct cor_controller *c = run->controller;
    struct cor_manager *m = c->manager;
    int64_t after_ms = run->again_after_ms > INT64_MAX ? INT64_MAX : (int64_t)run->again_after_ms;
    const struct cor_reconcile_result result = {
        .err = run->r,
        .is_terminal = run->is_terminal,
        .again = run->again,
        .again_after_ms = after_ms,
        .why = run->r < 0 && run->why.err < 0 ? &run->why : NULL,
    };
    struct cor_reconcile *rec = run->rec;

    assert(rec && run->r <= 0 && cor_loop_is_current(m->runtime->loop));
    run->rec = NULL;
    cor_run_times_count(&c->times, cor_clock_mono_us(m->runtime->clock) - run->began_us);
    if (!c->is_over) {
        cor_reconcile_done(rec, &result);
        cor_controller_feed_held(c);
    }
    run_release_objects(run);
    cor_dlist_push(&c->free, &run->link);
    m->nruns--;
    cor_manager_check_over(m);
}

/* On a worker thread. Calls of the client that set no timeout end when the run's time is over. */
static void run_on_worker(struct cor_job *job)
{
    struct cor_run *run = COR_CONTAINER_OF(job, struct cor_run, job);
    const struct cor_controller_opts *opts = &run->controller->opts;

    cor_client_thread_deadline_ms = run->deadline_ms;
    run->r = opts->reconcile(opts->arg, run);
    cor_client_thread_deadline_ms = UINT64_MAX;
    assert(run->r <= 0 && "a reconcile function returns 0 or a negative error");
}

static void on_job_done(struct cor_job *job)
{
    run_end(COR_CONTAINER_OF(job, struct cor_run, job));
}

void cor_run_begin(struct cor_run *run, struct cor_reconcile *rec)
{
    struct cor_controller *c = run->controller;
    struct cor_manager *m = c->manager;
    uint64_t now_us = cor_clock_mono_us(m->runtime->clock), now = now_us / 1000;
    uint64_t max_ms = c->opts.run_max_ms;
    int r = 0;

    assert(!run->rec && run->nkept == 0);
    run->rec = rec;
    rec->work = run;
    run->id = rec->id;
    run->began_us = now_us;
    snprintf(run->ns, sizeof(run->ns), "%.*s", COR_STR_ARG(rec->ns));
    snprintf(run->name, sizeof(run->name), "%.*s", COR_STR_ARG(rec->name));
    run->deadline_ms = max_ms > 0 && max_ms < UINT64_MAX - now ? now + max_ms : UINT64_MAX;
    run->is_terminal = run->again = false;
    run->again_after_ms = 0;
    run->r = 0;
    atomic_store(&run->is_cancelled, false);
    atomic_store(&run->is_done, false);
    m->nruns++;
    if (c->main)
        r = cor_informer_get(c->main, rec->ns, rec->name, &run->object, NULL);
    if (r < 0 && r != -COR_ENOTFOUND) {
        run->r = r;
        run_end(run);
    } else if (c->opts.reconcile) {
        /* There is a thread and a place for each run. */
        r = cor_offload_submit(m->workers, &run->job);
        assert(r == 0);
    } else {
        c->opts.begin(c->opts.arg, run);
    }
}

void cor_run_cancel(struct cor_run *run)
{
    const struct cor_controller_opts *opts = &run->controller->opts;

    atomic_store(&run->is_cancelled, true);
    if (opts->begin && opts->on_cancel && !atomic_load(&run->is_done))
        opts->on_cancel(opts->arg, run);
}

static void on_done_mail(struct cor_mail *mail)
{
    run_end(COR_CONTAINER_OF(mail, struct cor_run, done));
}

void cor_run_done(struct cor_run *run, int r)
{
    bool was_done = atomic_exchange(&run->is_done, true);

    assert(run->controller->opts.begin && "only a run of `begin` is ended by cor_run_done()");
    assert(!was_done && r <= 0);
    /* Without assertions a second call has no effect: its mail would be in the mailbox twice. */
    if (was_done)
        return;
    run->r = r;
    cor_loop_post_always(run->controller->manager->runtime->loop, &run->done);
}

const char *cor_run_ns(const struct cor_run *run)
{
    return run->ns;
}

const char *cor_run_name(const struct cor_run *run)
{
    return run->name;
}

uint64_t cor_run_id(const struct cor_run *run)
{
    return run->id;
}

struct cor_manager *cor_run_manager(const struct cor_run *run)
{
    return run->controller->manager;
}

bool cor_run_is_cancelled(const struct cor_run *run)
{
    return atomic_load(&run->is_cancelled) || atomic_load(&run->controller->manager->is_stopping);
}

struct cor_object *cor_run_object(struct cor_run *run)
{
    return run->object;
}

int cor_run_keep(struct cor_run *run, struct cor_object *take_object)
{
    int r = COR_ARRAY_RESERVE(&run->kept, run->nkept, &run->kept_cap, COR_ARRAY_NO_MAX);

    if (r < 0) {
        cor_object_unref(take_object);
        return r;
    }
    run->kept[run->nkept++] = take_object;
    return 0;
}

int cor_run_get(struct cor_run *run, struct cor_informer *informer, const char *ns,
                const char *name, struct cor_object **ret_object)
{
    struct cor_object *object;
    int r = cor_informer_get(informer, cor_strz(ns), cor_strz(name), &object, NULL);

    if (r == 0)
        r = cor_run_keep(run, object);
    if (r == 0)
        *ret_object = object;
    return r;
}

struct cor_status *cor_run_why(struct cor_run *run)
{
    return &run->why;
}

int cor_run_terminal(struct cor_run *run, int r)
{
    run->is_terminal = true;
    return r;
}

void cor_run_again_after(struct cor_run *run, uint64_t ms)
{
    run->again_after_ms = ms;
}

void cor_run_again(struct cor_run *run)
{
    run->again = true;
}
