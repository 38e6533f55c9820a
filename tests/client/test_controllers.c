/* Managers and controllers of the public API against a real server, on both kinds of runtime. */
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "script.h"
#include "world.h"

static const struct cor_resource secrets = {"", "v1", "secrets"};
/* The server's own controllers make a ConfigMap in each namespace. */
static const struct cor_informer_opts of_configmaps = {
    COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"}, .ns = "default", .kind = "ConfigMap",
    .field_selector = "metadata.name!=kube-root-ca.crt"};
static const struct cor_informer_opts of_secrets = {
    COR_INFORMER_OPTS, .resource = {"", "v1", "secrets"}, .ns = "default", .kind = "Secret"};

/* What a program under test has: a manager with one controller, and what its function has seen. */
struct program {
    struct world *w;
    struct cor_manager *manager;
    struct cor_controller *controller;
    struct cor_informer *configmaps, *secrets;
    struct cor_run *run; /* that a test ends; see `holds` */
    atomic_int nruns, nmissing, nstopped, ncancelled;
    atomic_int fails; /* so many runs return an error */
    atomic_bool holds, is_terminal, is_slow_seen;
    uint64_t again_after_ms;
    sem_t entered, may_leave;
    int stopped_with, last_r;
    char log[8192];
    pthread_t thread;
};

static void on_log(void *arg, const char *line)
{
    struct program *p = arg;
    size_t n = strlen(p->log);

    snprintf(p->log + n, sizeof(p->log) - n, "%s\n", line);
    if (strstr(line, "has not ended after"))
        atomic_store(&p->is_slow_seen, true);
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    struct program *p = arg;

    p->stopped_with = why ? why->err : 0;
    atomic_fetch_add(&p->nstopped, 1);
}

/* A Secret of the ConfigMap's name, which the ConfigMap controls. */
static struct cor_object *secret_of(struct cor_object *configmap)
{
    struct cor_object *object = NULL;
    struct cor_builder *b;

    assert_int_equal(cor_builder_new(NULL, &b), 0);
    cor_builder_set_text(b, "apiVersion", COR_STR("v1"));
    cor_builder_set_text(b, "kind", COR_STR("Secret"));
    cor_builder_set_text(b, "metadata.name", cor_object_name(configmap));
    cor_builder_append_json(b, "metadata.ownerReferences", COR_STR("{\"controller\":true}"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].apiVersion", COR_STR("v1"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].kind", COR_STR("ConfigMap"));
    cor_builder_set_text(b, "metadata.ownerReferences[0].name", cor_object_name(configmap));
    cor_builder_set_text(b, "metadata.ownerReferences[0].uid", cor_object_uid(configmap));
    assert_int_equal(cor_builder_finish(b, &object, NULL), 0);
    cor_builder_free(b);
    return object;
}

/* Keeps a Secret for each ConfigMap; on a worker thread. */
static int keep_secret(void *arg, struct cor_run *run)
{
    struct program *p = arg;
    struct cor_object *configmap = cor_run_object(run), *secret;
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = secrets,
                              .ns = cor_run_ns(run)};
    int r;

    assert_string_equal(cor_run_ns(run), "default");
    assert_ptr_equal(cor_run_manager(run), p->manager);
    atomic_fetch_add(&p->nruns, 1);
    if (!configmap) {
        atomic_fetch_add(&p->nmissing, 1);
        return 0;
    }
    r = cor_run_get(run, p->secrets, cor_run_ns(run), cor_run_name(run), &secret);
    if (r != -COR_ENOTFOUND)
        return r;
    req.object = secret_of(configmap);
    if (cor_run_keep(run, req.object) < 0)
        return -COR_ENOMEM;
    r = cor_client_do(cor_manager_client(p->manager), &req, NULL, cor_run_why(run));
    if (r == 0)
        cor_events_record(cor_manager_events(p->manager), configmap, COR_EVENT_NORMAL, "Made",
                          "made Secret %s", cor_run_name(run));
    return r == -COR_EEXIST ? 0 : r;
}

static struct cor_manager_opts manager_opts(struct program *p)
{
    return (struct cor_manager_opts){
        COR_MANAGER_OPTS,      .name = "keeper", .runtime = p->w->rt,      .config = &p->w->config,
        .end_ms = PATIENCE_MS, .on_log = on_log, .on_stopped = on_stopped, .arg = p};
}

static void program_init(struct program *p, struct world *w)
{
    memset(p, 0, sizeof(*p));
    p->w = w;
    sem_init(&p->entered, 0, 0);
    sem_init(&p->may_leave, 0, 0);
}

static void program_make(struct program *p, const struct cor_manager_opts *mo,
                         const struct cor_controller_opts *co)
{
    assert_int_equal(cor_manager_new(mo, &p->manager, NULL), 0);
    p->configmaps = cor_manager_informer(p->manager, &of_configmaps);
    p->secrets = cor_manager_informer(p->manager, &of_secrets);
    assert_non_null(p->configmaps);
    p->controller = cor_manager_add(p->manager, co);
    cor_controller_for(p->controller, p->configmaps, NULL);
    cor_controller_owns(p->controller, p->secrets, NULL);
}

static void *program_main(void *arg)
{
    struct program *p = arg;
    struct cor_status why = {0};

    p->last_r = cor_manager_run(p->manager, &why);
    if (p->last_r < 0)
        on_log(p, cor_status_message(&why));
    cor_status_deinit(&why);
    return NULL;
}

/* On a thread of its own, so that the test can look at it. */
static void program_run(struct program *p)
{
    assert_int_equal(pthread_create(&p->thread, NULL, program_main, p), 0);
}

static void program_end(struct program *p, int r)
{
    cor_manager_stop(p->manager);
    pthread_join(p->thread, NULL);
    if (p->last_r != r)
        print_message("%s", p->log);
    assert_int_equal(p->last_r, r);
    assert_int_equal(p->nstopped, 1);
    assert_null(cor_manager_free(p->manager));
}

static int get(struct world *w, struct cor_resource resource, const char *name,
               struct cor_object **ret)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = resource,
                                    .ns = "default", .name = name};

    return cor_client_do(w->client, &req, ret, NULL);
}

struct sought {
    struct world *w;
    struct cor_resource resource;
    const char *name, *text; /* the object exists, with this text in it; NULL: it does not exist */
};

static bool is_found(void *arg)
{
    const struct sought *s = arg;
    struct cor_object *object = NULL;
    int r = get(s->w, s->resource, s->name, &object);
    bool found =
        s->text ? r == 0 && strstr(cor_object_json(object).p, s->text) : r == -COR_ENOTFOUND;

    cor_object_unref(object);
    return found;
}

static void wait_for_secret(struct world *w, const char *name, const char *text)
{
    struct sought sought = {w, secrets, name, text};

    world_run(w, is_found, &sought);
}

static bool is_positive(void *arg)
{
    return atomic_load((atomic_int *)arg) > 0;
}

static bool is_true(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

static void remove_object(struct world *w, struct cor_resource resource, const char *name)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_DELETE, .resource = resource,
                                    .ns = "default", .name = name};

    assert_int_equal(cor_client_do(w->client, &req, NULL, NULL), 0);
}

/* Contract controllers 6.1.1, 6.1.9, 6.3.1, 6.3.2, 6.4.1, 6.7.1, 6.8.1, 6.12.4. */
TEST(controllers, keep_a_secret_for_each_configmap)
{
    struct cor_manager_opts mo;
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "before", "{}", "1");
    program_init(&p, &w);
    mo = manager_opts(&p);
    program_make(&p, &mo,
                 &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = keep_secret,
                                               .arg = &p, .runs_max = 4});
    program_run(&p);
    wait_for_secret(&w, "before", "\"kind\":\"ConfigMap\"");
    world_create(&w, "after", "{}", "1");
    wait_for_secret(&w, "after", "\"controller\":true");
    /* The Secret's owner is reconciled when somebody deletes the Secret. */
    remove_object(&w, secrets, "after");
    wait_for_secret(&w, "after", "\"controller\":true");
    world_delete(&w, "before");
    world_run(&w, is_positive, &p.nmissing);
    program_end(&p, 0);
    assert_string_equal(p.log, "");
    world_end(&w);
}

/* Contract controllers 6.4.8: a full queue holds nobody up, and ends nothing. */
TEST(controllers, let_changes_wait_for_room_in_a_full_queue)
{
    static const char *const names[] = {"a", "b", "c", "d"};
    struct cor_manager_opts mo;
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    for (size_t i = 0; i < 3; i++)
        world_create(&w, names[i], "{}", "1");
    program_init(&p, &w);
    mo = manager_opts(&p);
    program_make(&p, &mo,
                 &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = keep_secret,
                                               .arg = &p, .keys_max = 1});
    program_run(&p);
    for (size_t i = 0; i < 3; i++)
        wait_for_secret(&w, names[i], "\"controller\":true");
    /* Changes of each kind while the queue is full, and keys of the program's. */
    world_create(&w, "d", "{}", "1");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(cor_controller_enqueue(p.controller, "default", names[i], 0), 0);
        remove_object(&w, secrets, names[i]);
    }
    world_delete(&w, "a");
    for (size_t i = 1; i < 4; i++)
        wait_for_secret(&w, names[i], "\"controller\":true");
    world_run(&w, is_positive, &p.nmissing);
    program_end(&p, 0);
    assert_non_null(strstr(p.log, "controller configmap: the queue is full"));
    world_end(&w);
}

/* A run that fails a few times, waits where the test wants it, and says how it ended. */
static int run_as_told(void *arg, struct cor_run *run)
{
    struct program *p = arg;

    atomic_fetch_add(&p->nruns, 1);
    if (atomic_load(&p->holds)) {
        sem_post(&p->entered);
        sem_wait(&p->may_leave);
    }
    if (cor_run_is_cancelled(run))
        atomic_fetch_add(&p->ncancelled, 1);
    if (atomic_load(&p->is_terminal))
        return cor_run_terminal(run, -COR_EINVALID);
    if (p->again_after_ms > 0 && atomic_load(&p->nruns) < 3)
        cor_run_again_after(run, p->again_after_ms);
    return atomic_fetch_sub(&p->fails, 1) > 0 ? -COR_EBUSY : 0;
}

static void program_begin(struct program *p, struct world *w, struct cor_controller_opts co)
{
    struct cor_manager_opts mo;

    program_init(p, w);
    mo = manager_opts(p);
    co.size = sizeof(co);
    co.reconcile = run_as_told;
    co.arg = p;
    program_make(p, &mo, &co);
}

static bool has_run_three_times(void *arg)
{
    return atomic_load((atomic_int *)arg) >= 3;
}

/* Contract controllers 6.1.2. */
TEST(controllers, try_a_run_that_failed_again)
{
    struct cor_controller_stats stats = {COR_CONTROLLER_STATS};
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    program_begin(&p, &w, (struct cor_controller_opts){.name = "told"});
    atomic_store(&p.fails, 2);
    program_run(&p);
    world_run(&w, has_run_three_times, &p.nruns);
    program_end(&p, 0);
    assert_non_null(strstr(p.log, "keeper: controller told: default/one: reconcile 1: "));
    world_end(&w);

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    program_begin(&p, &w, (struct cor_controller_opts){.name = "told"});
    p.again_after_ms = 1;
    program_run(&p);
    world_run(&w, has_run_three_times, &p.nruns);
    do {
        assert_int_equal(cor_controller_stats(p.controller, &stats), 0);
    } while (stats.success == 0);
    assert_int_equal(stats.requeue_after, 2);
    assert_int_equal(stats.error, 0);
    program_end(&p, 0);
    world_end(&w);
}

/* Contract controllers 6.1.2, 6.1.4, 6.12.1; and a key from outside, contract controllers 8. */
TEST(controllers, leave_a_terminal_error_until_something_happens)
{
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    program_begin(&p, &w, (struct cor_controller_opts){0});
    atomic_store(&p.is_terminal, true);
    program_run(&p);
    world_run(&w, is_positive, &p.nruns);
    assert_int_equal(cor_controller_enqueue(p.controller, "default", "a/b", 0), -COR_EINVAL);
    assert_int_equal(cor_controller_enqueue(p.controller, "default", "", 0), -COR_EINVAL);
    while (atomic_load(&p.nruns) < 2)
        assert_int_equal(cor_controller_enqueue(p.controller, "default", "one", 0), 0);
    program_end(&p, 0);
    assert_non_null(
        strstr(p.log, "controller configmap: default/one: reconcile 1: terminal error"));
    world_end(&w);
}

/* Contract controllers 6.2.8, 8.4. */
TEST(controllers, wait_for_a_run_under_way_when_they_stop)
{
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    program_begin(&p, &w, (struct cor_controller_opts){.slow_ms = 1});
    atomic_store(&p.holds, true);
    program_run(&p);
    sem_wait(&p.entered);
    world_run(&w, is_true, &p.is_slow_seen);
    cor_manager_stop(p.manager);
    assert_int_equal(cor_controller_enqueue(p.controller, "default", "one", 0), -COR_ECANCELED);
    sem_post(&p.may_leave);
    program_end(&p, 0);
    assert_int_equal(p.ncancelled, 1);
    assert_int_equal(p.nruns, 1);
    world_end(&w);
}

static bool is_freed(void *arg)
{
    return !cor_manager_free(((struct program *)arg)->manager);
}

/* Contract controllers 6.6.4: the end has one bound. */
TEST(controllers, do_not_wait_for_ever_for_a_run_that_does_not_end)
{
    struct cor_manager_opts mo;
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    program_init(&p, &w);
    mo = manager_opts(&p);
    mo.end_ms = 50;
    program_make(
        &p, &mo,
        &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = run_as_told, .arg = &p});
    atomic_store(&p.holds, true);
    program_run(&p);
    sem_wait(&p.entered);
    cor_manager_stop(p.manager);
    pthread_join(p.thread, NULL);
    assert_int_equal(p.last_r, -COR_ETIMEOUT);
    assert_non_null(strstr(p.log, "1 reconciles have not ended within the time of the stop"));
    /* The run has not ended, so nothing is freed. */
    assert_ptr_equal(cor_manager_free(p.manager), p.manager);
    sem_post(&p.may_leave);
    world_run(&w, is_freed, &p);
    assert_int_equal(p.ncancelled, 1);
    world_end(&w);
}

/* A call of the client's that waits ends when the manager stops. */
static int call_a_silent_server(void *arg, struct cor_run *run)
{
    struct program *p = arg;
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = secrets,
                                    .ns = "default", .name = "silent"};

    atomic_fetch_add(&p->nruns, 1);
    sem_post(&p->entered);
    p->last_r = cor_client_do(cor_manager_client(p->manager), &req, NULL, cor_run_why(run));
    return p->last_r;
}

/* A function of the other form, whose run is not on the loop. */
static void on_cancel_of_a_thread(void *arg, struct cor_run *run)
{
    fail_msg("a run on a worker thread was cancelled by a callback");
}

static const struct script_answer one_configmap_and_silence[] = {
    {.to = "secrets/silent", .is_silent = true},
    {.to = "watch=", .stays_open = true, .body = ""},
    {.to = "configmaps",
     .body = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{\"resourceVersion\":"
             "\"7\"},\"items\":[{\"metadata\":{\"name\":\"one\",\"namespace\":\"default\","
             "\"resourceVersion\":\"5\"}}]}"},
};

static void begin_silent(struct program *p, struct world *w, struct script *script,
                         uint64_t run_max_ms)
{
    struct cor_manager_opts mo;

    SCRIPT_BEGIN(script, one_configmap_and_silence);
    world_begin_at(w, COR_RUNTIME_THREADS, script->url);
    program_init(p, w);
    mo = manager_opts(p);
    assert_int_equal(cor_manager_new(&mo, &p->manager, NULL), 0);
    p->configmaps = cor_manager_informer(p->manager, &of_configmaps);
    p->controller = cor_manager_add(
        p->manager, &(struct cor_controller_opts){
                        COR_CONTROLLER_OPTS, .reconcile = call_a_silent_server, .arg = p,
                        .run_max_ms = run_max_ms, .on_cancel = on_cancel_of_a_thread});
    cor_controller_for(p->controller, p->configmaps, NULL);
}

TEST(controllers, end_the_calls_of_their_runs_when_they_stop)
{
    struct world w;
    struct program p;
    struct script script;

    begin_silent(&p, &w, &script, 0);
    program_run(&p);
    sem_wait(&p.entered);
    program_end(&p, 0);
    world_end(&w);
    script_end(&script);
}

/* Contract controllers 6.1.7, 8.6. */
TEST(controllers, end_the_calls_of_a_run_whose_time_is_over)
{
    struct world w;
    struct program p;
    struct script script;

    begin_silent(&p, &w, &script, 20);
    program_run(&p);
    sem_wait(&p.entered);
    sem_wait(&p.entered);
    program_end(&p, 0);
    assert_non_null(strstr(p.log, "default/one: reconcile 1: "));
    world_end(&w);
    script_end(&script);
}

static int is_never_met(void *arg, const struct cor_watch_event *event)
{
    return 0;
}

/* Each run waits in another way for what never comes, and sets no timeout. */
static int wait_for_nothing(void *arg, struct cor_run *run)
{
    static const cor_watch_condition_fn never[] = {is_never_met};
    struct program *p = arg;
    struct cor_client *client = cor_manager_client(p->manager);
    const struct cor_request watch = {COR_REQUEST, .verb = COR_VERB_WATCH,
                                      .resource = {"", "v1", "configmaps"}, .ns = "default"};
    const struct cor_sync_until_opts sync = {COR_SYNC_UNTIL_OPTS, .scope = &of_configmaps,
                                             .conditions = never, .n = 1};
    const struct cor_deletion_wait deletion = {
        COR_DELETION_WAIT, .resource = {"", "v1", "configmaps"}, .of = cor_run_object(run)};
    int n = atomic_fetch_add(&p->nruns, 1), r;

    sem_post(&p->entered);
    r = n == 0   ? cor_client_watch_until(client, &watch, never, 1, NULL, NULL, NULL)
        : n == 1 ? cor_client_sync_until(client, &sync, NULL, NULL)
                 : cor_client_wait_deleted(client, &deletion, NULL);
    assert_true(r == -COR_ETIMEOUT || atomic_load(&p->holds));
    return r;
}

TEST(controllers, end_the_waits_of_a_run_whose_time_is_over)
{
    static const struct script_answer answers[] = {
        {.to = "watch=", .stays_open = true, .body = ""},
        {.to = "configmaps/one",
         .body = "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"one\","
                 "\"namespace\":\"default\",\"resourceVersion\":\"5\"}}"},
        {.to = "configmaps",
         .body = "{\"kind\":\"ConfigMapList\",\"apiVersion\":\"v1\",\"metadata\":{"
                 "\"resourceVersion\":\"7\"},\"items\":[{\"metadata\":{\"name\":\"one\","
                 "\"namespace\":\"default\",\"resourceVersion\":\"5\"}}]}"},
    };
    struct cor_manager_opts mo;
    struct script script;
    struct world w;
    struct program p;

    SCRIPT_BEGIN(&script, answers);
    world_begin_at(&w, COR_RUNTIME_THREADS, script.url);
    program_init(&p, &w);
    mo = manager_opts(&p);
    assert_int_equal(cor_manager_new(&mo, &p.manager, NULL), 0);
    p.configmaps = cor_manager_informer(p.manager, &of_configmaps);
    p.controller = cor_manager_add(
        p.manager, &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = wait_for_nothing,
                                                 .arg = &p, .run_max_ms = 100});
    cor_controller_for(p.controller, p.configmaps, NULL);
    program_run(&p);
    for (int i = 0; i < 4; i++)
        sem_wait(&p.entered);
    atomic_store(&p.holds, true); /* the last one is cancelled */
    program_end(&p, 0);
    world_end(&w);
    script_end(&script);
}

/* The form without threads: the run sends a request and ends in its callback. */
static void on_made(void *arg, const struct cor_response *response)
{
    int r = response->error ? response->error->err : 0;

    cor_run_done(arg, r == -COR_EEXIST ? 0 : r);
}

static void begin_secret(void *arg, struct cor_run *run)
{
    static const struct cor_request_cbs cbs = {.on_done = on_made};
    struct program *p = arg;
    struct cor_object *configmap = cor_run_object(run), *secret;
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = secrets,
                              .ns = cor_run_ns(run)};
    int r;

    atomic_fetch_add(&p->nruns, 1);
    if (!configmap) {
        atomic_fetch_add(&p->nmissing, 1);
        cor_run_done(run, 0);
        return;
    }
    r = cor_run_get(run, p->secrets, cor_run_ns(run), cor_run_name(run), &secret);
    if (r == -COR_ENOTFOUND) {
        req.object = secret_of(configmap);
        r = cor_client_send(cor_manager_client(p->manager), &req, &cbs, run, NULL);
        cor_object_unref(req.object);
        if (r == 0)
            return;
    }
    cor_run_done(run, r);
}

static bool is_stopped(void *arg)
{
    return atomic_load(&((struct program *)arg)->nstopped) > 0;
}

/* Contract controllers 6.6.3: a manager is started once, and a stop is no error. */
TEST(controllers, run_without_threads)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct program p;
        struct cor_manager_opts mo;

        world_begin(&w, kind);
        world_create(&w, "before", "{}", "1");
        program_init(&p, &w);
        mo = manager_opts(&p);
        program_make(
            &p, &mo,
            &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .begin = begin_secret, .arg = &p});
        assert_int_equal(cor_manager_start(p.manager, NULL), 0);
        assert_int_equal(cor_manager_start(p.manager, NULL), -COR_EINVAL);
        wait_for_secret(&w, "before", "\"controller\":true");
        remove_object(&w, secrets, "before");
        wait_for_secret(&w, "before", "\"controller\":true");
        world_delete(&w, "before");
        world_run(&w, is_positive, &p.nmissing);
        cor_manager_stop(p.manager);
        cor_manager_stop(p.manager);
        world_run(&w, is_stopped, &p);
        assert_int_equal(p.stopped_with, 0);
        assert_null(cor_manager_free(p.manager));
        world_end(&w);
    }
}

static void hold_run(void *arg, struct cor_run *run)
{
    struct program *p = arg;

    p->run = run;
    atomic_fetch_add(&p->nruns, 1);
}

static void end_held_run(void *arg, struct cor_run *run)
{
    struct program *p = arg;

    assert_ptr_equal(p->run, run);
    assert_true(cor_run_is_cancelled(run));
    atomic_fetch_add(&p->ncancelled, 1);
    cor_run_done(run, -COR_ECANCELED);
}

TEST(controllers, cancel_a_run_of_the_form_without_threads)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct program p;
        struct cor_manager_opts mo;

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        program_init(&p, &w);
        mo = manager_opts(&p);
        program_make(&p, &mo,
                     &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .begin = hold_run,
                                                   .on_cancel = end_held_run, .arg = &p});
        assert_int_equal(cor_manager_start(p.manager, NULL), 0);
        world_run(&w, is_positive, &p.nruns);
        assert_null(cor_manager_free(p.manager));
        assert_int_equal(p.ncancelled, 1);
        assert_int_equal(p.nstopped, 1);
        world_end(&w);
    }
}

/* Contract controllers 6.6.5, 6.6.6: one of two processes works, and the next takes over. */
TEST(controllers, work_only_in_the_process_that_leads)
{
    struct world w;
    struct program p[2];

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    for (int i = 0; i < 2; i++) {
        struct cor_manager_opts mo;

        program_init(&p[i], &w);
        mo = manager_opts(&p[i]);
        mo.lease_name = "keeper";
        mo.lease_ms = 2 * PATIENCE_MS;
        mo.renew_ms = PATIENCE_MS;
        mo.retry_ms = 50;
        mo.release_on_cancel = true;
        program_make(&p[i], &mo,
                     &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = keep_secret,
                                                   .arg = &p[i]});
        program_run(&p[i]);
        if (i == 0)
            wait_for_secret(&w, "one", "\"controller\":true");
    }
    assert_true(cor_manager_is_leader(p[0].manager));
    assert_false(cor_manager_is_leader(p[1].manager));
    assert_int_equal(p[1].nruns, 0);
    program_end(&p[0], 0);
    world_create(&w, "two", "{}", "1");
    wait_for_secret(&w, "two", "\"controller\":true");
    assert_true(cor_manager_is_leader(p[1].manager));
    program_end(&p[1], 0);
    world_end(&w);
}

static bool has_led(void *arg)
{
    struct program *p = arg;

    return cor_manager_is_leader(p->manager) || atomic_load(&p->nstopped) > 0;
}

TEST(controllers, end_at_once_when_the_lease_is_lost)
{
    const struct cor_request theft = {
        COR_REQUEST,
        .verb = COR_VERB_PATCH,
        .resource = {"coordination.k8s.io", "v1", "leases"},
        .ns = "default",
        .name = "keeper",
        .patch_type = COR_PATCH_MERGE,
        .patch = COR_STR("{\"spec\":{\"holderIdentity\":\"thief\",\"leaseDurationSeconds\":600}}")};
    struct cor_manager_opts mo;
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    program_init(&p, &w);
    mo = manager_opts(&p);
    mo.lease_name = "keeper";
    mo.lease_ms = 3000;
    mo.renew_ms = 200;
    mo.retry_ms = 50;
    program_make(
        &p, &mo,
        &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = keep_secret, .arg = &p});
    program_run(&p);
    world_run(&w, has_led, &p);
    while (atomic_load(&p.nstopped) == 0)
        (void)cor_client_do(w.client, &theft, NULL, NULL);
    pthread_join(p.thread, NULL);
    assert_int_equal(p.last_r, -COR_ECANCELED);
    assert_non_null(strstr(p.log, "leader election lost"));
    assert_null(cor_manager_free(p.manager));
    world_end(&w);
}

static struct cor_manager *signalled;

static void on_signal(int signo)
{
    (void)signo;
    cor_manager_stop(signalled);
}

static int signal_myself(void *arg, struct cor_run *run)
{
    struct program *p = arg;

    (void)run;
    if (atomic_fetch_add(&p->nruns, 1) == 0)
        kill(getpid(), SIGTERM);
    return 0;
}

/* Contract controllers 6.6.10. A manager with a runtime of its own, stopped by a signal. */
TEST(controllers, stop_in_a_signal_handler)
{
    struct sigaction action = {.sa_handler = on_signal}, old;
    struct cor_manager_opts mo;
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{}", "1");
    program_init(&p, &w);
    mo = manager_opts(&p);
    mo.runtime = NULL;
    program_make(
        &p, &mo,
        &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = signal_myself, .arg = &p});
    signalled = p.manager;
    assert_int_equal(sigaction(SIGTERM, &action, &old), 0);
    assert_int_equal(cor_manager_run(p.manager, NULL), 0);
    assert_int_equal(sigaction(SIGTERM, &old, NULL), 0);
    assert_null(cor_manager_free(p.manager));
    assert_int_equal(p.nstopped, 1);
    world_end(&w);
}

/* Contract controllers 6.2.5: a first list that does not come ends the manager. */
TEST(controllers, fail_when_a_first_list_does_not_come)
{
    static const struct cor_informer_opts of_nothing = {
        COR_INFORMER_OPTS, .resource = {"example.com", "v1", "nothings"}, .kind = "Nothing"};
    struct cor_manager_opts mo;
    struct world w;
    struct program p;
    struct cor_controller *c;

    world_begin(&w, COR_RUNTIME_THREADS);
    program_init(&p, &w);
    mo = manager_opts(&p);
    assert_int_equal(cor_manager_new(&mo, &p.manager, NULL), 0);
    c = cor_manager_add(p.manager,
                        &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = run_as_told,
                                                      .arg = &p, .sync_ms = 50});
    cor_controller_for(c, cor_manager_informer(p.manager, &of_nothing), NULL);
    program_run(&p);
    pthread_join(p.thread, NULL);
    assert_int_equal(p.last_r, -COR_ETIMEOUT);
    assert_non_null(strstr(p.log, "failed to wait for nothing caches to sync"));
    assert_int_equal(p.stopped_with, -COR_ETIMEOUT);
    assert_null(cor_manager_free(p.manager));
    world_end(&w);
}

static void expect_setup(struct program *p, const char *message)
{
    struct cor_status why = {0};

    assert_int_equal(cor_manager_start(p->manager, &why), -COR_EINVAL);
    assert_non_null(strstr(cor_status_message(&why), message));
    cor_status_deinit(&why);
    assert_null(cor_manager_free(p->manager));
}

static struct cor_controller *setup_with(struct program *p, const char *name)
{
    const struct cor_controller_opts co = {COR_CONTROLLER_OPTS, .name = name,
                                           .reconcile = run_as_told, .arg = p};
    struct cor_manager_opts mo = manager_opts(p);

    assert_int_equal(cor_manager_new(&mo, &p->manager, NULL), 0);
    p->configmaps = cor_manager_informer(p->manager, &of_configmaps);
    return cor_manager_add(p->manager, &co);
}

/* Contract controllers 6.2.4, 6.3.1, 6.3.2, 6.3.5. */
TEST(controllers, return_the_first_failure_of_the_setup)
{
    const struct cor_controller_opts none = {COR_CONTROLLER_OPTS};
    struct cor_controller_stats stats = {COR_CONTROLLER_STATS};
    const struct cor_informer_opts unnamed = {COR_INFORMER_OPTS,
                                              .resource = {"", "v1", "configmaps"}};
    struct cor_controller_opts of_kind = {COR_CONTROLLER_OPTS, .reconcile = run_as_told};
    struct cor_manager_opts mo;
    struct cor_controller *c;
    struct world w;
    struct program p;

    world_begin(&w, COR_RUNTIME_THREADS);
    program_init(&p, &w);
    mo = manager_opts(&p);
    mo.name = NULL;
    assert_int_equal(cor_manager_new(&mo, &p.manager, NULL), -COR_EINVAL);

    setup_with(&p, "lonely");
    expect_setup(&p, "there are no watches configured");

    c = setup_with(&p, NULL);
    cor_controller_owns(c, p.configmaps, NULL);
    cor_controller_for(c, p.configmaps, NULL); /* comes too late to help */
    assert_null(cor_manager_add(p.manager, &of_kind));
    assert_null(cor_manager_informer(p.manager, &of_secrets));
    expect_setup(&p, "Owns() can only be used together with For()");

    c = setup_with(&p, NULL);
    cor_controller_for(c, p.configmaps, NULL);
    cor_controller_for(c, p.configmaps, NULL);
    expect_setup(&p, "For(...) should only be called once");

    c = setup_with(&p, NULL);
    cor_controller_for(c, cor_manager_informer(p.manager, &unnamed), NULL);
    expect_setup(&p, "has no kind in its options");

    c = setup_with(&p, "twice");
    cor_controller_for(c, p.configmaps, NULL);
    of_kind.name = "twice";
    cor_controller_for(cor_manager_add(p.manager, &of_kind), p.configmaps, NULL);
    expect_setup(&p, "controller with name twice already exists");

    c = setup_with(&p, "half");
    cor_controller_for(c, p.configmaps, NULL);
    cor_controller_owns(c, NULL, NULL);
    expect_setup(&p, "a source of controller half has no informer");

    setup_with(&p, "x");
    assert_null(cor_manager_add(p.manager, &none));
    /* What follows a failure does nothing. */
    assert_null(cor_manager_add(p.manager, NULL));
    cor_controller_for(NULL, p.configmaps, NULL);
    assert_int_equal(cor_controller_enqueue(NULL, "default", "one", 0), -COR_EINVAL);
    assert_int_equal(cor_controller_stats(NULL, &stats), -COR_EINVAL);
    expect_setup(&p, "one of `reconcile` and `begin`");
    world_end(&w);

    world_begin(&w, COR_RUNTIME_PUMPED);
    assert_null(setup_with(&p, "blocks"));
    expect_setup(&p, "a runtime without threads cannot run `reconcile`");
    world_end(&w);
}

static void on_secret(void *arg, const struct cor_object *object, struct cor_control_keys *keys)
{
    (void)arg;
    cor_control_keys_add(keys, cor_object_namespace(object), COR_STR("mapped"));
}

static int note_names(void *arg, struct cor_run *run)
{
    struct program *p = arg;

    if (strcmp(cor_run_name(run), "mapped") == 0)
        atomic_fetch_add(&p->nmissing, 1);
    else
        atomic_fetch_add(&p->nruns, 1);
    return 0;
}

/* Contract controllers 6.3.3, 6.3.4, 6.4.2, 6.4.6; two controllers share an informer (6.7.1). */
TEST(controllers, share_informers_and_have_predicates_of_their_own)
{
    static const struct cor_control_predicate versions = {cor_control_version_changed, NULL};
    struct cor_label_selector *chosen;
    struct world w;
    struct program p, other;
    struct cor_control_predicate by_label;
    struct cor_manager_opts mo;
    struct cor_source_opts source = {COR_SOURCE_OPTS, .map = on_secret};
    char rv[32];

    assert_int_equal(cor_label_selector_parse(COR_STR("app=chosen"), &chosen, NULL), 0);
    by_label = (struct cor_control_predicate){cor_control_labels_match, chosen};
    world_begin(&w, COR_RUNTIME_THREADS);
    world_create(&w, "one", "{\"app\":\"chosen\"}", "1");
    world_create(&w, "two", "{}", "1");
    program_init(&other, &w);
    program_init(&p, &w);
    mo = manager_opts(&p);
    program_make(&p, &mo,
                 &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .reconcile = keep_secret,
                                               .arg = &p,
                                               .predicates = {.list = &versions, .n = 1}});
    other.controller = cor_manager_add(
        p.manager, &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .name = "other",
                                                 .reconcile = note_names, .arg = &other});
    assert_ptr_equal(cor_manager_informer(p.manager, &of_configmaps), p.configmaps);
    cor_controller_for(
        other.controller, p.configmaps,
        &(struct cor_source_opts){COR_SOURCE_OPTS, .predicates = {.list = &by_label, .n = 1}});
    cor_controller_watches(other.controller, p.secrets, &source);
    program_run(&p);
    wait_for_secret(&w, "two", "\"controller\":true");
    wait_for_secret(&w, "one", "\"controller\":true");
    world_run(&w, is_positive, &other.nmissing);
    world_run(&w, is_positive, &other.nruns);
    world_update(&w, "two", "2", rv);
    world_run(&w, has_run_three_times, &p.nruns);
    program_end(&p, 0);
    assert_int_equal(other.nruns, 1);
    cor_label_selector_free(chosen);
    world_end(&w);
}

/* Every allocation of making, starting and ending fails once. */
TEST(controllers, are_made_and_end_without_memory)
{
    struct world w;

    world_begin(&w, COR_RUNTIME_PUMPED);
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_manager_opts mo;
        struct program p;
        int r;

        test_fail_alloc(0, false);
        program_init(&p, &w);
        mo = manager_opts(&p);
        mo.lease_name = "keeper";
        mo.endpoint = ":0";
        test_fail_alloc(n, false);
        r = cor_manager_new(&mo, &p.manager, NULL);
        if (r == 0) {
            p.configmaps = cor_manager_informer(p.manager, &of_configmaps);
            p.secrets = cor_manager_informer(p.manager, &of_secrets);
            p.controller = cor_manager_add(
                p.manager, &(struct cor_controller_opts){COR_CONTROLLER_OPTS, .begin = begin_secret,
                                                         .arg = &p});
            cor_controller_for(p.controller, p.configmaps, NULL);
            cor_controller_owns(p.controller, p.secrets, NULL);
            r = cor_manager_start(p.manager, NULL);
            cor_manager_free(p.manager);
        }
        test_fail_alloc(0, false);
        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            assert_true(test_alloc_failed());
        }
    }
    world_end(&w);
}
