/* Controllers of the public API against a real server, on both kinds of runtime: which keys run,
 * and how a run ends. */
#include <stdio.h>

#include "program.h"
#include "script.h"

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
