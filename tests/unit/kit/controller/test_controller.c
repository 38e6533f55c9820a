/* The control loop: results, reconciles under way, start, stop, and what happens without memory. */
#include "kit/controller/control_loop.h"

#include "control_fixture.h"

/* Contract controllers 6.1.1, 6.4.1, 6.4.4: each kind of event is the key of its object, and
 * nothing else. */
TEST(controller, reconciles_get_namespace_and_name_alone)
{
    struct bench b;

    bench_begin(&b);
    b.ends_at_once = true;
    assert_int_equal(feed(&b, b.main, COR_CONTROL_CREATED, NULL, POD("a")), 0);
    assert_said(&b, ""); /* no callback before the call has returned */
    turn(&b);
    assert_said(&b, "ns/a ");
    assert_int_equal(feed(&b, b.main, COR_CONTROL_UPDATED, POD("old"), POD("b")), 0);
    assert_int_equal(feed(&b, b.main, COR_CONTROL_DELETED, NULL, POD("c")), 0);
    assert_int_equal(feed(&b, b.main, COR_CONTROL_GENERIC, NULL, "{\"metadata\":{\"name\":\"d\"}}"),
                     0);
    turn(&b);
    assert_said(&b, "ns/b ns/c d ");
    bench_end(&b);
}

/* Contract controllers 6.1.2, 6.2.1: an error is tried again after 5 ms, 10 ms, 20 ms …, at most
 * 1000 s, and a success forgets the failures. */
TEST(controller, an_error_is_tried_again_with_the_limiters_delay)
{
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    for (uint64_t delay_ms = 5; delay_ms < 2000000; delay_ms *= 2) {
        uint64_t bounded_ms = delay_ms < 1000000 ? delay_ms : 1000000;

        b.said[0] = '\0';
        finish(&b, FAILURE);
        b.said[0] = '\0';
        scripted_run(&b.sp, bounded_ms - 1);
        assert_said(&b, "");
        scripted_run(&b.sp, 1);
        assert_said(&b, "ns/a ");
    }
    finish(&b, OK);
    assert_int_equal(queued(&b), 0);
    add(&b, "a");
    turn(&b);
    finish(&b, FAILURE);
    b.said[0] = '\0';
    scripted_run(&b.sp, 5);
    assert_said(&b, "ns/a ");
    finish(&b, OK);
    bench_end(&b);
}

/* Contract controllers 6.1.2, 6.1.4: a terminal error is not tried again, and is not forgotten. */
TEST(controller, a_terminal_error_ends_the_key_and_keeps_its_failures)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_control_loop_stats stats;
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    finish(&b, FAILURE);
    scripted_run(&b.sp, 5);
    b.said[0] = '\0';
    cor_status_set(&why, -COR_EINVALID, "the spec is wrong");
    finish(&b,
           (struct cor_reconcile_result){.err = -COR_EINVALID, .is_terminal = true, .why = &why});
    assert_said(&b, "[controller pod: ns/a: reconcile 2: terminal error: the spec is wrong] ");
    scripted_run(&b.sp, 2000000);
    assert_said(&b, "");
    add(&b, "a");
    turn(&b);
    finish(&b, (struct cor_reconcile_result){.is_terminal = true});
    assert_said(&b, "ns/a [controller pod: ns/a: reconcile 3: nil terminal error] ");
    add(&b, "a");
    turn(&b);
    finish(&b, FAILURE);
    b.said[0] = '\0';
    scripted_run(&b.sp, 9); /* one failure was kept: 10 ms, not 5 */
    assert_said(&b, "");
    scripted_run(&b.sp, 1);
    assert_said(&b, "ns/a ");
    finish(&b, OK);
    cor_control_loop_stats(b.l, &stats);
    assert_int_equal(stats.error, 4);
    assert_int_equal(stats.terminal, 2);
    assert_int_equal(stats.success, 1);
    bench_end(&b);
}

/* Contract controllers 6.1.2, 6.1.3, 6.1.5. */
TEST(controller, again_after_forgets_failures_and_an_event_comes_earlier)
{
    struct cor_control_loop_stats stats;
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    finish(&b, FAILURE);
    scripted_run(&b.sp, 5);
    b.said[0] = '\0';
    finish(&b, (struct cor_reconcile_result){.again = true, .again_after_ms = 1000});
    scripted_run(&b.sp, 999);
    assert_said(&b, "");
    scripted_run(&b.sp, 1);
    assert_said(&b, "ns/a ");
    finish(&b, (struct cor_reconcile_result){.again = true});
    scripted_run(&b.sp, 5); /* the failures were forgotten */
    assert_said(&b, "ns/a ");
    finish(&b, (struct cor_reconcile_result){.again_after_ms = 1000});
    scripted_run(&b.sp, 10);
    add(&b, "a");
    turn(&b);
    assert_said(&b, "ns/a ");
    finish(&b, OK);
    scripted_run(&b.sp, 990); /* the delayed entry is still there */
    assert_said(&b, "ns/a ");
    finish(&b, (struct cor_reconcile_result){.again_after_ms = -5});
    assert_int_equal(queued(&b), 0);
    cor_control_loop_stats(b.l, &stats);
    assert_int_equal(stats.requeue_after, 2);
    assert_int_equal(stats.requeue, 1);
    assert_int_equal(stats.success, 2);
    assert_int_equal(stats.error, 1);
    bench_end(&b);
}

#define DELAYED_POD                                                                                \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\",\"namespace\":\"ns\"}}"

static void map_to_itself(void *arg, const struct cor_object *object, struct cor_control_keys *keys)
{
    cor_control_keys_add(keys, cor_object_namespace(object), cor_object_name(object));
}

/* Contract controllers 1.1.7. */
TEST(controller, again_after_may_keep_the_failures)
{
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    finish(&b, FAILURE);
    scripted_run(&b.sp, 5);
    b.said[0] = '\0';
    finish(&b, (struct cor_reconcile_result){.again_after_ms = 1000, .keeps_failures = true});
    scripted_run(&b.sp, 1000);
    assert_said(&b, "ns/a ");
    finish(&b, (struct cor_reconcile_result){.again = true});
    scripted_run(&b.sp, 9); /* the second failure: 10 ms */
    assert_said(&b, "");
    scripted_run(&b.sp, 1);
    assert_said(&b, "ns/a ");
    finish(&b, OK);
    bench_end(&b);
}

/* Contract controllers 1.1.2: of two events of a key the earlier time counts. */
TEST(controller, keys_of_a_source_with_a_delay_come_after_it)
{
    const struct cor_control_source_opts opts = {.kind = COR_CONTROL_WATCHES,
                                                 .map = map_to_itself,
                                                 .gk = {COR_STR(""), COR_STR("Pod")},
                                                 .delay_ms = 5000};
    struct cor_control_source *source;
    struct bench b;

    bench_begin(&b);
    assert_int_equal(cor_control_loop_add_source(b.l, &opts, &source, NULL), 0);
    assert_int_equal(feed(&b, source, COR_CONTROL_CREATED, NULL, DELAYED_POD), 0);
    scripted_run(&b.sp, 3000);
    assert_int_equal(feed(&b, source, COR_CONTROL_CREATED, NULL, DELAYED_POD), 0);
    scripted_run(&b.sp, 1999);
    assert_said(&b, "");
    scripted_run(&b.sp, 1);
    assert_said(&b, "ns/a ");
    finish(&b, OK);
    bench_end(&b);
}

/* Contract controllers 6.1.3, 8.5. */
TEST(controller, an_error_with_a_result_ignores_the_result_and_reports_it)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    b.said[0] = '\0';
    cor_status_set(&why, -COR_ECONFLICT, "too old");
    finish(&b, (struct cor_reconcile_result){
                   .err = -COR_ECONFLICT, .again_after_ms = 60000, .why = &why});
    assert_said(&b, "[controller pod: ns/a: reconcile 1: too old] [controller pod: ns/a: "
                    "reconcile 1: the result is ignored because there is an error] ");
    scripted_run(&b.sp, 5);
    assert_said(&b, "ns/a ");
    bench_end(&b);
}

/* Contract controllers 6.1.7: the time of a reconcile cancels it, and nothing is killed. */
TEST(controller, a_reconcile_that_passes_its_time_is_cancelled_once)
{
    struct bench b;

    bench_init(&b);
    b.opts.reconcile_max_ms = 200;
    bench_run(&b);
    add(&b, "a");
    scripted_run(&b.sp, 199);
    assert_said(&b, "ns/a ");
    assert_false(b.under_way[0]->is_cancelled);
    scripted_run(&b.sp, 1000);
    assert_said(&b, "cancel:a ");
    finish(&b, OK);
    cor_control_loop_stop(b.l, 0);
    turn(&b);
    assert_said(&b, "stopped ");
    bench_end(&b);
}

/* Contract controllers 6.1.8. */
TEST(controller, every_reconcile_has_another_id)
{
    struct bench b;
    uint64_t first;

    bench_init(&b);
    b.opts.reconciles_max = 2;
    bench_run(&b);
    add(&b, "a");
    add(&b, "b");
    turn(&b);
    first = b.under_way[0]->id;
    assert_true(b.under_way[1]->id != first);
    finish(&b, (struct cor_reconcile_result){.again_after_ms = 1});
    scripted_run(&b.sp, 1);
    assert_true(b.under_way[1]->id != first && b.under_way[1]->id != b.under_way[0]->id);
    bench_end(&b);
}

TEST(controller, a_slow_reconcile_is_reported_at_each_doubling)
{
    struct bench b;

    bench_init(&b);
    b.opts.slow_ms = 1000;
    bench_run(&b);
    add(&b, "a");
    scripted_run(&b.sp, 999);
    assert_said(&b, "ns/a ");
    scripted_run(&b.sp, 2001);
    assert_said(&b, "[controller pod: ns/a: reconcile 1: has not ended after 1000 ms] "
                    "[controller pod: ns/a: reconcile 1: has not ended after 2000 ms] ");
    /* The machine slept: one report, not one for each doubling. */
    cor_clock_manual_advance(&b.sp.clock, 30000);
    turn(&b);
    assert_said(&b, "[controller pod: ns/a: reconcile 1: has not ended after 33000 ms] ");
    finish(&b, OK);
    bench_end(&b);
}

/* Contract controllers 6.2.1, 6.2.3, 8.2. */
TEST(controller, a_key_is_reconciled_once_at_a_time_and_once_more_for_all_events_meanwhile)
{
    struct bench b;

    bench_init(&b);
    b.opts.reconciles_max = 3;
    bench_run(&b);
    add(&b, "a");
    add(&b, "a");
    turn(&b);
    assert_said(&b, "ns/a ");
    add(&b, "a");
    add(&b, "a");
    turn(&b);
    assert_said(&b, "");
    finish(&b, OK);
    turn(&b);
    assert_said(&b, "ns/a ");
    finish(&b, OK);
    turn(&b);
    assert_said(&b, "");
    bench_end(&b);
}

TEST(controller, as_many_reconciles_are_under_way_as_the_options_allow)
{
    struct cor_control_loop_stats stats;
    struct bench b;

    bench_begin(&b); /* one unless set */
    add(&b, "a");
    add(&b, "b");
    turn(&b);
    assert_said(&b, "ns/a ");
    bench_end(&b);
    bench_init(&b);
    b.opts.reconciles_max = 2;
    bench_run(&b);
    add(&b, "a");
    add(&b, "b");
    add(&b, "c");
    turn(&b);
    assert_said(&b, "ns/a ns/b ");
    cor_control_loop_stats(b.l, &stats);
    assert_int_equal(stats.active, 2);
    assert_int_equal(stats.max, 2);
    finish(&b, OK);
    turn(&b);
    assert_said(&b, "ns/c ");
    bench_end(&b);
}

TEST(controller, a_tick_begins_a_bounded_number_of_reconciles)
{
    struct cor_control_loop_stats stats;
    struct bench b;

    bench_begin(&b);
    b.ends_at_once = true;
    for (int i = 0; i < COR_CONTROL_TURN_MAX + 1; i++) {
        char name[16];

        snprintf(name, sizeof(name), "p%d", i);
        add(&b, name);
    }
    scripted_wake_at(&b.sp, UINT64_MAX); /* the tick must ask for the next one itself */
    cor_control_loop_tick(b.l);
    cor_control_loop_stats(b.l, &stats);
    assert_int_equal(stats.success, COR_CONTROL_TURN_MAX);
    turn(&b);
    cor_control_loop_stats(b.l, &stats);
    assert_int_equal(stats.success, COR_CONTROL_TURN_MAX + 1);
    bench_end(&b);
}

/* Contract controllers 6.2.5, 6.2.10: events before the sync and before the start wait. */
TEST(controller, nothing_is_reconciled_before_every_source_has_synced)
{
    const struct cor_control_source_opts owned = {.kind = COR_CONTROL_OWNS,
                                                  .gk = {COR_STR(""), COR_STR("Secret")}};
    struct cor_control_source *secrets;
    struct bench b;

    bench_init(&b);
    b.ends_at_once = true;
    bench_make(&b);
    assert_int_equal(cor_control_loop_add_source(b.l, &owned, &secrets, NULL), 0);
    add(&b, "a");
    cor_control_loop_source_synced(b.l, b.main);
    turn(&b);
    assert_int_equal(cor_control_loop_start(b.l, NULL), 0);
    scripted_run(&b.sp, COR_CONTROL_SYNC_MS - 1);
    assert_said(&b, "");
    assert_false(cor_control_loop_is_synced(b.l));
    cor_control_loop_source_synced(b.l, secrets);
    assert_true(cor_control_loop_is_synced(b.l));
    turn(&b);
    assert_said(&b, "ns/a ");
    bench_end(&b);
}

/* Contract controllers 6.2.5. */
TEST(controller, a_first_sync_that_takes_too_long_ends_the_loop)
{
    struct bench b;

    bench_init(&b);
    bench_make(&b);
    add(&b, "a");
    assert_int_equal(cor_control_loop_start(b.l, NULL), 0);
    scripted_run(&b.sp, COR_CONTROL_SYNC_MS - 1);
    assert_said(&b, "");
    scripted_run(&b.sp, 1);
    assert_said(&b, "stopped: failed to wait for pod caches to sync kind source: Pod: timed out "
                    "waiting for cache to be synced for Kind Pod ");
    assert_int_equal(feed(&b, b.main, COR_CONTROL_CREATED, NULL, POD("a")), -COR_ECANCELED);
    bench_end(&b);
}

/* Contract controllers 6.2.9. */
TEST(controller, a_source_that_is_added_after_the_start_holds_nothing_back)
{
    struct cor_control_source *late;
    const struct cor_control_source_opts raw = {.kind = COR_CONTROL_RAW};
    struct bench b;

    bench_begin(&b);
    assert_int_equal(cor_control_loop_add_source(b.l, &raw, &late, NULL), 0);
    assert_true(cor_control_loop_is_synced(b.l));
    add(&b, "a");
    turn(&b);
    assert_said(&b, "ns/a ");
    bench_end(&b);
}

/* Contract controllers 6.2.4, 6.2.7, 6.3.1, 6.3.2, 6.3.5. */
TEST(controller, what_is_wired_wrongly_is_refused_in_upstreams_words)
{
    const struct cor_control_source_opts owns = {.kind = COR_CONTROL_OWNS};
    const struct cor_control_source_opts watches = {.kind = COR_CONTROL_WATCHES};
    const struct cor_control_source_opts raw = {.kind = COR_CONTROL_RAW};
    COR_CLEANUP(cor_status_deinit) struct cor_status why = {0};
    struct cor_control_source *source;
    struct bench b;

    bench_init(&b);
    assert_int_equal(cor_control_loop_new(&b.opts, &b.l, &why), 0);
    assert_int_equal(cor_control_loop_start(b.l, &why), -COR_EINVAL);
    assert_string_equal(why.message,
                        "there are no watches configured, controller will never get triggered. Use "
                        "For(), Owns(), Watches() or WatchesRawSource() to set them up");
    assert_int_equal(cor_control_loop_add_source(b.l, &owns, &source, &why), -COR_EINVAL);
    assert_string_equal(why.message, "Owns() can only be used together with For()");
    assert_int_equal(cor_control_loop_add_source(b.l, &watches, &source, &why), -COR_EINVAL);
    assert_int_equal(cor_control_loop_add_source(b.l, &raw, &source, &why), 0);
    assert_int_equal(cor_control_loop_start(b.l, &why), -COR_EINVAL);
    assert_string_equal(why.message, "one of For() or Named() must be called");
    assert_int_equal(cor_control_loop_add_source(b.l, &for_pods, &b.main, &why), 0);
    assert_int_equal(cor_control_loop_add_source(b.l, &for_pods, &b.main, &why), -COR_EINVAL);
    assert_string_equal(why.message, "For(...) should only be called once, could not assign "
                                     "multiple objects for reconciliation");
    for (size_t i = 2; i < COR_CONTROL_SOURCES_MAX; i++)
        assert_int_equal(cor_control_loop_add_source(b.l, &raw, &source, &why), 0);
    assert_int_equal(cor_control_loop_add_source(b.l, &raw, &source, &why), -COR_ETOOBIG);
    assert_string_equal(cor_control_loop_name(b.l), "");
    assert_int_equal(cor_control_loop_start(b.l, &why), 0);
    assert_string_equal(cor_control_loop_name(b.l), "pod");
    assert_int_equal(cor_control_loop_start(b.l, &why), -COR_EINVAL);
    assert_string_equal(why.message, "controller was started more than once. This is likely to be "
                                     "caused by being added to a manager multiple times");
    bench_end(&b);
    bench_init(&b);
    b.opts.reconciles_max = COR_CONTROL_RECONCILES_MAX + 1;
    b.opts.take_limiter = cor_rate_limiter_new_controller(); /* is taken by a failure, too */
    assert_int_equal(cor_control_loop_new(&b.opts, &b.l, &why), -COR_EINVAL);
    scripted_port_deinit(&b.sp);
}

/* Contract controllers 6.2.8, 6.12.2, 8.4: delayed and queued keys are dropped, reconciles under
 * way are cancelled and end. */
TEST(controller, a_stop_waits_for_what_is_under_way_alone)
{
    struct bench b;

    bench_init(&b);
    b.opts.reconciles_max = 2;
    bench_run(&b);
    add(&b, "a");
    add(&b, "b");
    add(&b, "c");
    assert_int_equal(cor_control_loop_enqueue(b.l, COR_STR("ns"), COR_STR("d"), 50), 0);
    turn(&b);
    assert_said(&b, "ns/a ns/b ");
    cor_control_loop_stop(b.l, 1000);
    assert_said(&b, "");
    assert_true(b.under_way[0]->is_cancelled); /* at once */
    assert_int_equal(feed(&b, b.main, COR_CONTROL_CREATED, NULL, POD("e")), -COR_ECANCELED);
    assert_int_equal(cor_control_loop_enqueue(b.l, COR_STR("ns"), COR_STR("e"), 0), -COR_ECANCELED);
    turn(&b);
    assert_said(&b, "cancel:a cancel:b ");
    finish(&b, OK);
    scripted_run(&b.sp, 500);
    assert_said(&b, "");
    finish(&b, (struct cor_reconcile_result){.again = true}); /* is dropped */
    turn(&b);
    assert_said(&b, "stopped ");
    scripted_run(&b.sp, 5000);
    assert_said(&b, "");
    bench_end(&b);
}

TEST(controller, a_stop_has_one_bound_that_a_second_stop_can_shorten)
{
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    cor_control_loop_stop(b.l, 30000);
    cor_control_loop_stop(b.l, 60000);
    scripted_run(&b.sp, 5000);
    assert_said(&b, "ns/a cancel:a ");
    cor_control_loop_stop(b.l, 1000);
    scripted_run(&b.sp, 999);
    assert_said(&b, "");
    scripted_run(&b.sp, 1);
    assert_said(&b, "stopped: controller pod: 1 reconciles have not ended within the time of the "
                    "stop ");
    finish(&b, OK); /* may still end before the loop is freed */
    bench_end(&b);
}

static void free_on_stopped(void *arg, const struct cor_status *why)
{
    struct bench *b = arg;

    on_stopped(b, why);
    b->l = cor_control_loop_free(b->l);
}

TEST(controller, on_stopped_may_free_the_loop_and_abandon_what_is_under_way)
{
    struct bench b;

    bench_init(&b);
    b.opts.on_stopped = free_on_stopped;
    bench_run(&b);
    add(&b, "a");
    add(&b, "b");
    turn(&b);
    cor_control_loop_stop(b.l, 10);
    scripted_run(&b.sp, 10000);
    assert_said(&b, "ns/a cancel:a stopped: controller pod: 1 reconciles have not ended within the "
                    "time of the stop ");
    scripted_port_deinit(&b.sp);
}

TEST(controller, a_reconcile_may_stop_the_loop_without_time_and_is_cancelled_first)
{
    struct bench b;

    bench_begin(&b);
    b.stops_itself = true;
    add(&b, "a");
    turn(&b);
    assert_said(&b, "ns/a cancel:a stopped: controller pod: 1 reconciles have not ended within the "
                    "time of the stop ");
    b.n = 0; /* abandoned */
    bench_end(&b);
    bench_init(&b);
    bench_make(&b);
    cor_control_loop_stop(b.l, 10); /* before the start */
    turn(&b);
    assert_said(&b, "stopped ");
    bench_end(&b);
}

static void on_got(struct cor_api_request *req, const struct cor_api_answer *answer)
{
    struct bench *b = COR_CONTAINER_OF(req, struct bench, request);

    finish(b, (struct cor_reconcile_result){.err = answer->error ? answer->error->err : 0,
                                            .why = answer->error});
}

static const struct cor_api_request_cbs get_cbs = {.on_done = on_got};

static void reconcile_by_get(void *arg, struct cor_reconcile *rec)
{
    struct bench *b = arg;

    b->under_way[b->n++] = rec;
    b->request = (struct cor_api_request){
        .at = {.gvr = {COR_STR(""), COR_STR("v1"), COR_STR("pods")}, rec->ns, rec->name},
        .cbs = &get_cbs};
    cor_api_get(&b->sp.port, &b->request, COR_STR(""));
}

TEST(controller, a_reconcile_over_the_port_ends_with_its_answer)
{
    struct bench b;

    bench_init(&b);
    b.opts.reconcile = reconcile_by_get;
    bench_run(&b);
    scripted_fail(&b.sp, 20, -COR_ECONFLICT);
    scripted_answer(&b.sp, 20, POD("a"));
    add(&b, "a");
    scripted_run(&b.sp, 20 + 5 + 19);
    assert_int_equal(b.n, 1);
    scripted_run(&b.sp, 1);
    assert_int_equal(b.n, 0);
    scripted_assert_log(&b.sp, "GET v1 pods ns/a\nGET v1 pods ns/a\n");
    bench_end(&b);
}

TEST(controller, a_queue_that_is_full_refuses_the_event)
{
    struct bench b;

    bench_init(&b);
    b.opts.keys_max = 1;
    bench_make(&b);
    add(&b, "a");
    assert_int_equal(feed(&b, b.main, COR_CONTROL_CREATED, NULL, POD("b")), -COR_EBUSY);
    assert_int_equal(feed(&b, b.main, COR_CONTROL_CREATED, NULL, POD("a")), 0);
    cor_control_loop_free(b.l);
    scripted_port_deinit(&b.sp);
}

TEST(controller, no_key_is_lost_when_memory_is_short)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct bench b;
        int r;

        bench_init(&b);
        b.opts.take_limiter = cor_rate_limiter_new_exponential(5, 1000);
        b.opts.on_report = NULL;
        if (!b.opts.take_limiter)
            continue;
        if (cor_control_loop_new(&b.opts, &b.l, NULL) < 0) {
            assert_true(test_alloc_failed());
            scripted_port_deinit(&b.sp);
            continue;
        }
        assert_int_equal(cor_control_loop_add_source(b.l, &for_pods, &b.main, NULL), 0);
        cor_control_loop_source_synced(b.l, b.main);
        assert_int_equal(cor_control_loop_start(b.l, NULL), 0);
        r = cor_control_loop_enqueue(b.l, COR_STR("ns"), COR_STR("a"), 0);
        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            r = cor_control_loop_enqueue(b.l, COR_STR("ns"), COR_STR("a"), 0); /* feeds it again */
        }
        assert_int_equal(r, 0);
        turn(&b);
        assert_said(&b, "ns/a ");
        finish(&b, FAILURE);
        scripted_run(&b.sp, COR_CONTROL_PARK_MS);
        assert_said(&b, "ns/a ");
        finish(&b, (struct cor_reconcile_result){.again_after_ms = 700});
        scripted_run(&b.sp, COR_CONTROL_PARK_MS);
        assert_said(&b, "ns/a ");
        finish(&b, OK);
        assert_int_equal(queued(&b), 0);
        bench_end(&b);
    }
}

TEST(controller, a_key_without_memory_for_its_delay_keeps_its_slot_for_a_second)
{
    struct cor_control_loop_stats stats;
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    b.said[0] = '\0';
    test_fail_alloc(1, false);
    finish(&b, (struct cor_reconcile_result){.again_after_ms = 3600000});
    assert_true(test_alloc_failed());
    test_fail_alloc(0, false);
    cor_control_loop_stats(b.l, &stats);
    assert_int_equal(stats.active, 1);
    assert_said(&b, "[controller pod: ns/a: reconcile 1: no memory for the delay; it runs again "
                    "after 1000 ms] ");
    scripted_run(&b.sp, COR_CONTROL_PARK_MS - 1);
    assert_said(&b, "");
    scripted_run(&b.sp, 1);
    assert_said(&b, "ns/a ");
    bench_end(&b);
}

TEST(controller, a_stop_does_not_wait_for_a_key_that_keeps_its_slot_without_memory)
{
    struct bench b;

    bench_begin(&b);
    add(&b, "a");
    turn(&b);
    test_fail_alloc(1, false);
    finish(&b, (struct cor_reconcile_result){.again_after_ms = 3600000});
    assert_true(test_alloc_failed());
    test_fail_alloc(0, false);
    b.said[0] = '\0';
    cor_control_loop_stop(b.l, 30000);
    turn(&b);
    assert_said(&b, "stopped ");
    bench_end(&b);
}
