/* The manager of controllers against a real server: its setup, its end, and who leads. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "program.h"

/* Contract controllers 6.2.8, 8.4. */
TEST(managers, wait_for_a_run_under_way_when_they_stop)
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
TEST(managers, do_not_wait_for_ever_for_a_run_that_does_not_end)
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

/* Contract controllers 6.6.5, 6.6.6: one of two processes works, and the next takes over. */
TEST(managers, work_only_in_the_process_that_leads)
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

TEST(managers, end_at_once_when_the_lease_is_lost)
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
TEST(managers, stop_in_a_signal_handler)
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
TEST(managers, fail_when_a_first_list_does_not_come)
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
TEST(managers, return_the_first_failure_of_the_setup)
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

/* Every allocation of making, starting and ending fails once. */
TEST(managers, are_made_and_end_without_memory)
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
