/* clang-format off */
/* A manager: it makes what controllers need, starts it in order, and ends it within one bound.
 *
 *   NEW ──start──► RUNNING ──stop, lost lease, failure──► STOPPING ──all controllers over──► OVER
 *    └─────────────────────────── stop, free ────────────────▲
 *
 *   start: worker threads ──► endpoint ──► informers ──► controllers without election ──► election
 *          ──► the others
 *   end:   client stopped (calls and informers end), control loops stop ──► runs end ──► OVER
 *          ──► finish: worker threads ──► endpoint ──► election (the lease is given back)
 *          ──► last Events
 *
 * The end begins on the loop and needs no thread that waits. Finishing waits; cor_manager_run() and
 * cor_manager_free() do it. `end_ms` is counted from the stop: runs, lease and Events share it,
 * because the client's own end has the same bound and begins at the same time.
 *
 * Failures: a failure of the setup is remembered and returned by the start. A failure later (a
 * first list that does not come, a change that cannot be queued, a lost lease) ends the manager and
 * is returned by cor_manager_run(). After a lost lease nothing waits, and the other process may
 * lead. When a run does not end in time, nothing is freed: its thread may still use everything.
 * Thread: as coracle/controller.h says; the state is the loop's. */
/* clang-format on */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/sized.h"
#include "client/controller/manager_int.h"

#define LOG_LINE_MAX 4096
#define HOST_MAX     64

void cor_manager_log(const struct cor_manager *m, const char *fmt, ...)
{
    char line[LOG_LINE_MAX];
    int n = snprintf(line, sizeof(line), "%s: ", m->name);
    va_list args;

    if (!m->opts.on_log || n < 0 || (size_t)n >= sizeof(line))
        return;
    va_start(args, fmt);
    vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, args);
    va_end(args);
    m->opts.on_log(m->opts.arg, line);
}

/* The callbacks of what the manager owns. */

static void on_warning(void *arg, struct cor_str text)
{
    cor_manager_log(arg, "the server warns: %.*s", COR_STR_ARG(text));
}

static void on_watch_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    cor_manager_log(arg, "watch %.*s: %s", COR_STR_ARG(plural), cor_status_message(error));
}

static void on_event_given_up(void *arg, const struct cor_lost_event *event, int r)
{
    cor_manager_log(arg, "an Event of %.*s %.*s was not written: %s",
                    COR_STR_ARG(event->about_kind), COR_STR_ARG(event->about_name),
                    cor_err_text(r));
}

/* Starts the controllers that wait for the election, or those that do not. */
static void manager_start_loops(struct cor_manager *m, bool elected)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    for (size_t i = 0; i < m->ncontrollers && m->state == MANAGER_RUNNING; i++) {
        struct cor_controller *c = m->controllers[i];

        if (m->opts.lease_name && c->opts.without_election == elected)
            continue;
        if (cor_control_loop_start(c->loop, &why) < 0)
            cor_manager_end(m, &why, 0);
    }
}

static void on_elected(void *arg)
{
    struct cor_manager *m = arg;

    if (m->state != MANAGER_RUNNING)
        return;
    atomic_store(&m->is_leader, true);
    manager_start_loops(m, true);
}

static void on_election_over(void *arg)
{
    struct cor_manager *m = arg;
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};

    atomic_store(&m->is_leader, false);
    if (m->state != MANAGER_RUNNING)
        return;
    atomic_store(&m->is_lost, true);
    cor_status_set(&why, -COR_ECANCELED, "leader election lost");
    cor_manager_end(m, &why, 0);
}

static void on_new_leader(void *arg, const char *identity)
{
    cor_manager_log(arg, "the leader is %s", identity);
}

static void on_election_error(void *arg, const struct cor_status *error)
{
    cor_manager_log(arg, "leader election: %s", cor_status_message(error));
}

/* The end. */

void cor_manager_check_over(struct cor_manager *m)
{
    if (m->state == MANAGER_STOPPING && m->nleft == 0) {
        m->state = MANAGER_OVER;
        if (m->opts.on_stopped)
            m->opts.on_stopped(m->opts.arg, m->why.err < 0 ? &m->why : NULL);
        cor_waiter_set(&m->over);
        if (m->nruns == 0)
            cor_waiter_set(&m->idle);
    } else if (m->state == MANAGER_OVER && m->nruns == 0) {
        cor_waiter_set(&m->idle);
    }
}

void cor_manager_end(struct cor_manager *m, const struct cor_status *why, uint64_t max_ms)
{
    uint64_t now = cor_clock_mono_ms(m->runtime->clock);

    assert(cor_loop_is_current(m->runtime->loop));
    if (m->state >= MANAGER_STOPPING) {
        if (m->state == MANAGER_STOPPING && why && m->why.err == 0)
            cor_status_copy(&m->why, why);
        return;
    }
    m->state = MANAGER_STOPPING;
    m->end_at_ms = m->opts.end_ms < UINT64_MAX - now ? now + m->opts.end_ms : UINT64_MAX;
    atomic_store(&m->is_stopping, true);
    if (why)
        cor_status_copy(&m->why, why);
    cor_client_stop(m->client);
    for (size_t i = 0; i < m->ncontrollers; i++)
        cor_control_loop_stop(m->controllers[i]->loop, max_ms);
    cor_manager_check_over(m);
}

static void on_stop_fired(struct cor_trigger *trigger)
{
    struct cor_manager *m = COR_CONTAINER_OF(trigger, struct cor_manager, stop);

    cor_manager_end(m, NULL, m->opts.end_ms);
}

void cor_manager_stop(struct cor_manager *m)
{
    atomic_store(&m->is_stopping, true);
    cor_trigger_fire(&m->stop);
}

/* Waits for the last runs, and ends what the loop has left. 0, or -COR_ETIMEOUT: a run has not
 * ended, and everything stays as it is. */
static int manager_finish(struct cor_manager *m)
{
    uint64_t now = cor_clock_mono_ms(m->runtime->clock);
    uint64_t left_ms = m->end_at_ms > now ? m->end_at_ms - now : 0;

    if (m->is_finished)
        return 0;
    if (cor_runtime_wait(m->runtime, &m->idle, left_ms) < 0)
        return -COR_ETIMEOUT;
    m->workers = cor_offload_free(m->workers);
    cor_endpoint_close(m);
    m->election = cor_election_free(m->election);
    m->events = cor_events_free(m->events);
    m->is_finished = true;
    return 0;
}

/* On the loop: what is left is the loop's. */
static void manager_free_parts(void *arg)
{
    struct cor_manager *m = arg;

    cor_trigger_deinit(&m->stop);
    for (size_t i = 0; i < m->ncontrollers; i++)
        cor_controller_detach(m->controllers[i]);
}

static void manager_free_controllers(void *arg)
{
    struct cor_manager *m = arg;

    while (m->ncontrollers > 0)
        cor_controller_free(m->controllers[--m->ncontrollers]);
}

/* No run is left; also for a manager that is half made. */
static void manager_free_all(struct cor_manager *m)
{
    if (m->runtime)
        cor_runtime_run(m->runtime, manager_free_parts, m);
    cor_events_free(m->events);
    /* The informers call on_synced of controllers that still wait for it, so they go first. */
    cor_informers_free(m->informers);
    if (m->runtime)
        cor_runtime_run(m->runtime, manager_free_controllers, m);
    cor_client_free(m->client);
    if (m->owns_runtime)
        cor_runtime_free(m->runtime);
    cor_waiter_deinit(&m->over);
    cor_waiter_deinit(&m->idle);
    cor_waiter_deinit(&m->endpoint_closed);
    cor_status_deinit(&m->setup);
    cor_status_deinit(&m->why);
    cor_free(m->name);
    cor_free(m->lease_name);
    cor_free(m->lease_ns);
    cor_free(m->identity);
    cor_free(m->endpoint_text);
    cor_free(m);
}

struct cor_manager *cor_manager_free(struct cor_manager *m)
{
    if (!m || cor_runtime_is_forked(m->runtime))
        return NULL;
    assert(!cor_runtime_is_inside(m->runtime) && !cor_runtime_is_in_handler(m->runtime) &&
           "cor_manager_free() was called inside a callback or a handler");
    cor_manager_stop(m);
    cor_runtime_wait(m->runtime, &m->over, COR_WAIT_FOREVER);
    if (manager_finish(m) < 0)
        return m;
    manager_free_all(m);
    return NULL;
}

/* Making. */

/* Copies a text of the options; NULL stays NULL. 0 or -COR_ENOMEM. */
static int copy_text(const char **text, char **ret)
{
    if (!*text)
        return 0;
    *ret = cor_strdup(*text);
    *text = *ret;
    return *ret ? 0 : -COR_ENOMEM;
}

/* The machine's name and a random number: two processes never have the same identity. */
static int manager_make_identity(struct cor_manager *m)
{
    char text[HOST_MAX + 40], host[HOST_MAX + 1] = "";
    struct cor_rand rand;

    cor_rand_init(&rand);
    if (gethostname(host, HOST_MAX) < 0)
        snprintf(host, sizeof(host), "unknown");
    snprintf(text, sizeof(text), "%s_%016" PRIx64 "%016" PRIx64, host, cor_rand_u64(&rand),
             cor_rand_u64(&rand));
    m->opts.identity = text;
    return copy_text(&m->opts.identity, &m->identity);
}

static int manager_copy_texts(struct cor_manager *m, const struct cor_client_config *config)
{
    int r = copy_text(&m->opts.name, &m->name);

    if (r == 0)
        r = copy_text(&m->opts.endpoint, &m->endpoint_text);
    if (r < 0 || !m->opts.lease_name)
        return r;
    if (!m->opts.lease_ns)
        m->opts.lease_ns = config->ns ? config->ns : "default";
    r = copy_text(&m->opts.lease_name, &m->lease_name);
    if (r == 0)
        r = copy_text(&m->opts.lease_ns, &m->lease_ns);
    if (r == 0)
        r = m->opts.identity ? copy_text(&m->opts.identity, &m->identity)
                             : manager_make_identity(m);
    return r;
}

static void manager_init_trigger(void *arg)
{
    struct cor_manager *m = arg;

    cor_trigger_init(&m->stop, m->runtime->loop, on_stop_fired);
}

static int manager_make_client(struct cor_manager *m, const struct cor_client_config *config,
                               struct cor_status *reterr)
{
    const struct cor_client_opts opts = {
        COR_CLIENT_OPTS,
        .config = config,
        .timeout_ms = m->opts.timeout_ms ? m->opts.timeout_ms : COR_MANAGER_TIMEOUT_MS,
        .qps = m->opts.qps,
        .burst = m->opts.burst,
        .on_warning = on_warning,
        .arg = m,
        .end_ms = m->opts.end_ms,
    };
    const struct cor_informers_opts informers = {COR_INFORMERS_OPTS,
                                                 .on_watch_error = on_watch_error, .arg = m};
    const struct cor_events_opts events = {COR_EVENTS_OPTS, .component = m->name,
                                           .on_given_up = on_event_given_up, .arg = m};
    int r = cor_client_new(m->runtime, &opts, &m->client, reterr);

    if (r < 0)
        return r;
    r = cor_informers_new(m->client, &informers, &m->informers);
    if (r == 0)
        r = cor_events_new(m->client, &events, &m->events);
    return r < 0 ? cor_status_set(reterr, r, "make a manager: %s", cor_err_text(r)) : 0;
}

/* 0, or an error: then the caller frees what is there. */
static int manager_make(struct cor_manager *m, struct cor_status *reterr)
{
    COR_CLEANUP(cor_client_config_deinit) struct cor_client_config loaded = {0};
    const struct cor_client_config *config = m->opts.config;
    int r = 0;

    if (!config)
        r = cor_client_config_load(NULL, NULL, &loaded, reterr);
    if (r < 0)
        return r;
    if (!config)
        config = &loaded;
    r = manager_copy_texts(m, config);
    if (r == 0 && !m->runtime) {
        r = cor_runtime_new(NULL, &m->runtime);
        m->owns_runtime = r == 0;
    }
    if (r == 0)
        r = cor_runtime_run(m->runtime, manager_init_trigger, m);
    if (r < 0)
        return cor_status_set(reterr, r, "make a manager: %s", cor_err_text(r));
    return manager_make_client(m, config, reterr);
}

int cor_manager_new(const struct cor_manager_opts *opts, struct cor_manager **ret_manager,
                    struct cor_status *reterr)
{
    struct cor_manager_opts o;
    struct cor_manager *m;
    int r = cor_sized_copy(&o, sizeof(o), opts);

    if (r < 0)
        return cor_status_set(reterr, r, "make a manager: %s", cor_sized_text(r));
    if (!o.name || !*o.name)
        return cor_status_set(reterr, -COR_EINVAL, "make a manager: name is not set");
    if (o.runtime && cor_runtime_is_forked(o.runtime))
        return cor_runtime_may_wait(o.runtime, reterr);
    m = cor_calloc(1, sizeof(*m));
    if (!m)
        return cor_status_no_memory(reterr);
    if (o.end_ms == 0)
        o.end_ms = COR_MANAGER_END_MS;
    m->opts = o;
    m->runtime = o.runtime;
    cor_status_init(&m->setup);
    cor_status_init(&m->why);
    cor_waiter_init(&m->over);
    cor_waiter_init(&m->idle);
    cor_endpoint_init(m);
    r = manager_make(m, reterr);
    m->opts.config = NULL;
    if (r < 0)
        manager_free_all(m);
    else
        *ret_manager = m;
    return r;
}

struct cor_informer *cor_manager_informer(struct cor_manager *m,
                                          const struct cor_informer_opts *opts)
{
    struct cor_informer *informer = NULL;

    if (m->setup.err < 0)
        return NULL;
    return cor_informers_for_resource(m->informers, opts, &informer, &m->setup) < 0 ? NULL
                                                                                    : informer;
}

struct cor_controller *cor_manager_add(struct cor_manager *m,
                                       const struct cor_controller_opts *opts)
{
    struct cor_controller_opts refused = {0};
    struct cor_controller *c = NULL;

    if (m->setup.err < 0 || m->is_started) {
        if (m->setup.err == 0)
            cor_status_set(&m->setup, -COR_EINVAL,
                           "a controller is added before the manager is started");
        if (cor_sized_copy(&refused, sizeof(refused), opts) == 0)
            cor_rate_limiter_free(refused.take_limiter);
        return NULL;
    }
    if (cor_controller_make(m, opts, &c, &m->setup) < 0)
        return NULL;
    m->controllers[m->ncontrollers++] = c;
    m->nleft++;
    return c;
}

/* Starting. */

/* Each controller could be started, and no two have the same name. On the loop. */
static int manager_check_controllers(struct cor_manager *m, struct cor_status *reterr)
{
    for (size_t i = 0; i < m->ncontrollers; i++) {
        int r = cor_control_loop_check(m->controllers[i]->loop, reterr);

        if (r < 0)
            return r;
        for (size_t j = 0; j < i; j++) {
            const char *name = cor_control_loop_name(m->controllers[i]->loop);

            if (strcmp(name, cor_control_loop_name(m->controllers[j]->loop)) == 0)
                return cor_status_set(
                    reterr, -COR_EINVAL,
                    "controller with name %s already exists. Controller names must be unique to "
                    "avoid multiple controllers reporting the same metric",
                    name);
        }
    }
    return 0;
}

static int manager_begin_election(struct cor_manager *m, struct cor_status *reterr)
{
    const struct cor_election_opts opts = {
        COR_ELECTION_OPTS,
        .ns = m->opts.lease_ns,
        .name = m->opts.lease_name,
        .identity = m->opts.identity,
        .lease_ms = m->opts.lease_ms,
        .renew_ms = m->opts.renew_ms,
        .retry_ms = m->opts.retry_ms,
        .release_on_cancel = m->opts.release_on_cancel,
        .events = m->events,
        .on_started = on_elected,
        .on_stopped = on_election_over,
        .on_new_leader = on_new_leader,
        .on_error = on_election_error,
        .arg = m,
    };

    return cor_election_new(m->client, &opts, &m->election, reterr);
}

static int manager_start_on_loop(void *arg, struct cor_status *reterr)
{
    struct cor_manager *m = arg;
    int r;

    if (m->state != MANAGER_NEW)
        return cor_status_set(reterr, -COR_ECANCELED, "the manager was stopped");
    r = manager_check_controllers(m, reterr);
    for (size_t i = 0; i < m->ncontrollers && r == 0; i++)
        r = cor_controller_watch_sync(m->controllers[i], reterr);
    if (r == 0)
        r = cor_endpoint_open(m, reterr);
    if (r < 0)
        return r;
    m->state = MANAGER_RUNNING;
    cor_informers_start(m->informers);
    manager_start_loops(m, false);
    if (m->opts.lease_name)
        r = manager_begin_election(m, reterr);
    else
        atomic_store(&m->is_leader, true);
    if (r < 0)
        cor_manager_end(m, NULL, 0);
    return r;
}

/* A thread for each run that may block. */
static int manager_make_workers(struct cor_manager *m, struct cor_status *reterr)
{
    struct cor_offload_opts opts = {.bytes_max = 1};
    int r;

    for (size_t i = 0; i < m->ncontrollers; i++)
        if (m->controllers[i]->opts.reconcile)
            opts.nthreads += m->controllers[i]->opts.runs_max;
    opts.jobs_max = opts.nthreads;
    if (opts.nthreads == 0)
        return 0;
    r = cor_offload_new(&opts, &m->workers);
    return r < 0 ? cor_status_set(reterr, r, "make %zu worker threads: %s", opts.nthreads,
                                  cor_err_text(r))
                 : 0;
}

int cor_manager_start(struct cor_manager *m, struct cor_status *reterr)
{
    int r = m->setup.err;

    if (r < 0) {
        if (reterr)
            cor_status_copy(reterr, &m->setup);
        return r;
    }
    if (m->is_started)
        return cor_status_set(reterr, -COR_EINVAL, "manager already started");
    m->is_started = true;
    r = manager_make_workers(m, reterr);
    return r < 0 ? r : cor_runtime_try(m->runtime, manager_start_on_loop, m, reterr);
}

/* The manager was started, or stopped before. */
static int manager_wait(struct cor_manager *m, struct cor_status *reterr)
{
    int r = cor_runtime_wait(m->runtime, &m->over, COR_WAIT_FOREVER);

    if (r < 0)
        return cor_runtime_may_wait(m->runtime, reterr);
    /* The other process may lead already: this one is to exit, and waits for nothing. */
    if (!atomic_load(&m->is_lost))
        r = manager_finish(m);
    if (m->why.err < 0) {
        if (reterr)
            cor_status_copy(reterr, &m->why);
        return m->why.err;
    }
    return r < 0 ? cor_status_set(reterr, r, "a reconcile has not ended in time") : 0;
}

int cor_manager_run(struct cor_manager *m, struct cor_status *reterr)
{
    int r = cor_runtime_may_wait(m->runtime, reterr);

    if (r == 0)
        r = cor_manager_start(m, reterr);
    if (r == 0 || (r == -COR_ECANCELED && atomic_load(&m->is_stopping)))
        r = manager_wait(m, reterr);
    return r;
}

/* Reading. */

struct cor_client *cor_manager_client(struct cor_manager *m)
{
    return m->client;
}

struct cor_informers *cor_manager_informers(struct cor_manager *m)
{
    return m->informers;
}

struct cor_events *cor_manager_events(struct cor_manager *m)
{
    return m->events;
}

bool cor_manager_is_leader(const struct cor_manager *m)
{
    return atomic_load(&m->is_leader);
}
