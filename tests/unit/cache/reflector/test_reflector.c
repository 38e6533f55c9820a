#include "script.h"

#include <stdio.h>

/* Resync, stop and life. */

/* Contract client 1.13.9. */
TEST(reflector, without_a_period_there_is_no_resync)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
    script_deinit(&s);
}

/* Contract client 1.13.9. */
TEST(reflector, resync_runs_each_period_beside_the_watch)
{
    struct script s;

    script_init(&s);
    s.opts.resync_ms = 5000;
    script_to_watching(&s);
    assert_int_equal(script_tick(&s), 5000);
    script_expect(&s, "resync");
    s.now += 2000;
    script_event(&s, COR_WATCH_ADDED, "b", 11);
    script_ended(&s, 0);
    script_expect(&s, "add(b@11) W(11)");
    assert_int_equal(script_tick(&s), 3000);
    script_expect(&s, "resync");
    script_deinit(&s);
}

TEST(reflector, resync_goes_on_while_a_watch_waits)
{
    struct script s;

    script_init(&s);
    s.opts.resync_ms = 300;
    script_start(&s);
    script_page(&s, "", "10", "");
    script_ended(&s, -COR_EBUSY);
    script_forget(&s);
    assert_int_equal(script_tick(&s), 300);
    assert_int_equal(script_tick(&s), 300);
    script_expect(&s, "resync resync");
    while (s.request == SCRIPT_NONE)
        script_tick(&s);
    assert_int_equal(s.request, SCRIPT_WATCH);
    script_deinit(&s);
}

/* Contract client 1.12.8, 1.13.9. */
TEST(reflector, should_resync_decides)
{
    struct script s;

    script_init(&s);
    s.opts.resync_ms = 5000;
    s.refuse_resync = true;
    script_to_watching(&s);
    assert_int_equal(script_tick(&s), 5000);
    script_expect(&s, "");
    s.refuse_resync = false;
    assert_int_equal(script_tick(&s), 5000);
    script_expect(&s, "resync");
    script_deinit(&s);
}

/* Contract client 1.13.10. */
TEST(reflector, a_failed_resync_ends_the_watch_and_is_no_error)
{
    struct script s;

    script_init(&s);
    s.opts.resync_ms = 100;
    script_to_watching(&s);
    script_tick(&s);
    s.fail_op = "resync";
    s.fail_err = -COR_EINTERNAL;
    script_tick(&s);
    script_expect(&s, "resync resync say(RESYNC_FAILED) end() cancel");
    s.fail_op = NULL;
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
    script_page(&s, "", "11", "");
    assert_int_equal(s.wake_ms, s.now + 100); /* a relist restarts the period */
    script_deinit(&s);
}

TEST(reflector, a_failed_resync_while_a_watch_waits_ends_the_round)
{
    struct script s;

    script_init(&s);
    s.opts.resync_ms = 100;
    script_to_watching(&s);
    script_error_event(&s, -COR_EBUSY);
    s.fail_op = "resync";
    s.fail_err = -COR_EINTERNAL;
    script_tick(&s);
    script_expect(&s, "say(WATCH_RETRY) cancel resync say(RESYNC_FAILED) end()");
    script_deinit(&s);
}

TEST(reflector, an_early_tick_does_no_harm)
{
    struct script s;

    script_init(&s);
    s.opts.resync_ms = 5000;
    script_to_watching(&s);
    s.now += 10;
    cor_reflector_tick(s.r, s.now);
    script_expect(&s, "");
    assert_int_equal(s.wake_ms, s.now + 4990);
    script_error_event(&s, -COR_EBUSY);
    script_forget(&s);
    s.now += 10;
    cor_reflector_tick(s.r, s.now);
    script_expect(&s, "");
    script_deinit(&s);
}

/* Contract client 1.13.7. */
TEST(reflector, stopped_before_start_neither_lists_nor_watches)
{
    struct script s;

    script_init(&s);
    assert_int_equal(script_new(&s), 0);
    cor_reflector_stop(s.r, s.now);
    cor_reflector_start(s.r, s.now);
    script_expect(&s, "");
    script_deinit(&s);
}

/* Contract client 1.13.2, 1.13.7, 1.14.15, 1.27.11. */
TEST(reflector, stop_cancels_what_is_under_way_exactly_once_and_tells_no_error)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_part(&s, "a@1");
    script_forget(&s);
    cor_reflector_stop(s.r, s.now);
    cor_reflector_stop(s.r, s.now);
    script_expect(&s, "abort cancel");
    script_deinit(&s);

    script_init(&s);
    script_to_watching(&s);
    cor_reflector_stop(s.r, s.now);
    script_expect(&s, "cancel");
    script_deinit(&s);

    script_init(&s);
    s.opts.resync_ms = 1000;
    script_to_watching(&s);
    script_error_event(&s, -COR_EBUSY);
    script_forget(&s);
    cor_reflector_stop(s.r, s.now);
    script_expect(&s, "");
    assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
    script_deinit(&s);
}

/* Contract client 1.27.11; also between pages and in the back-off of a streamed list, where
 * client-go does not look. */
TEST(reflector, a_stop_is_heard_wherever_it_waits)
{
    enum { PAGES, BACKOFF, OPENING, STREAM_BACKOFF, PLACES };

    for (int place = 0; place < PLACES; place++) {
        struct script s;

        script_init(&s);
        s.opts.stream_initial = place == STREAM_BACKOFF;
        script_start(&s);
        if (place == PAGES)
            script_page(&s, "a@1", "10", "t");
        else if (place == BACKOFF)
            script_list_fails(&s, -COR_EUNREACHABLE);
        else if (place == OPENING)
            script_page(&s, "", "10", "");
        else
            script_ended(&s, -COR_EBUSY);
        assert_int_equal(s.wake_ms != COR_REFLECTOR_NEVER,
                         place == BACKOFF || place == STREAM_BACKOFF);
        script_forget(&s);
        cor_reflector_stop(s.r, s.now);
        script_expect(&s, place == PAGES ? "abort cancel" : place == OPENING ? "cancel" : "");
        assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
        assert_int_equal(cor_reflector_state(s.r), COR_REFLECTOR_STOPPED);
        script_deinit(&s);
    }
}

TEST(reflector, inputs_after_stop_are_ignored)
{
    struct cor_status st = {.err = -COR_EINTERNAL, .reason = ""};
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    cor_reflector_stop(s.r, s.now);
    script_forget(&s);
    cor_reflector_list_page(s.r, s.now, &(struct cor_list_page){0});
    cor_reflector_list_failed(s.r, s.now, &st);
    cor_reflector_watch_opened(s.r, s.now);
    cor_reflector_watch_event(s.r, s.now, &(struct cor_reflector_event){0});
    cor_reflector_watch_ended(s.r, s.now, NULL);
    cor_reflector_tick(s.r, s.now);
    script_expect(&s, "");
    script_deinit(&s);
}

/* A run that passes every callback, however far the stop lets it come. */
static void run_through(struct script *s)
{
    script_start(s);
    if (s->request == SCRIPT_LIST)
        script_page(s, "a@1", "10", "t");
    if (s->request == SCRIPT_LIST)
        script_part(s, "b@2");
    if (s->request == SCRIPT_LIST)
        script_page(s, "", "10", "");
    if (s->request == SCRIPT_WATCH)
        script_opened(s);
    if (s->request == SCRIPT_WATCH)
        script_event(s, COR_WATCH_ADDED, "c", 11);
    if (s->request == SCRIPT_WATCH)
        script_event(s, COR_WATCH_MODIFIED, "c", 12);
    if (s->request == SCRIPT_WATCH)
        script_event(s, COR_WATCH_DELETED, "c", 13);
    if (s->request == SCRIPT_WATCH)
        script_event(s, COR_WATCH_BOOKMARK, "", 14);
    if (s->wake_ms != COR_REFLECTOR_NEVER)
        script_tick(s);
    if (s->request == SCRIPT_WATCH)
        script_error_event(s, -COR_EEXPIRED);
}

TEST(reflector, stop_from_inside_any_callback_takes_effect_when_the_input_returns)
{
    static const char *const ops[] = {"list",     "watch",  "cancel", "wake_at", "begin",
                                      "stage",    "commit", "add",    "update",  "del",
                                      "bookmark", "resync", "say",    "end"};

    for (size_t i = 0; i < COR_ARRAY_LEN(ops); i++) {
        struct script s;

        script_init(&s);
        s.opts.resync_ms = 100;
        s.stop_op = ops[i];
        run_through(&s);
        assert_int_equal(cor_reflector_state(s.r), COR_REFLECTOR_STOPPED);
        assert_int_equal(s.request, SCRIPT_NONE);
        assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
        script_deinit(&s);
    }
}

TEST(reflector, after_a_stop_from_inside_nothing_more_is_asked_for_or_told)
{
    struct script s;

    script_init(&s);
    s.stop_op = "commit";
    script_start(&s);
    script_page(&s, "", "10", "");
    script_expect(&s, "L(0,500) begin commit(10)");
    script_deinit(&s);

    script_init(&s);
    script_to_watching(&s);
    s.stop_op = "say";
    script_error_event(&s, -COR_EEXPIRED);
    script_expect(&s, "say(WATCH_EXPIRED) cancel");
    script_deinit(&s);

    script_init(&s);
    s.opts.resync_ms = 100;
    script_to_watching(&s);
    s.stop_op = s.fail_op = "resync";
    s.fail_err = -COR_EINTERNAL;
    script_tick(&s);
    script_expect(&s, "resync cancel");
    script_deinit(&s);
}

TEST(reflector, callbacks_are_optional)
{
    struct script s;

    script_init(&s);
    s.opts.should_resync = NULL;
    s.opts.on_round_end = NULL;
    s.opts.on_report = NULL;
    s.opts.resync_ms = 100;
    script_to_watching(&s);
    script_tick(&s);
    script_expect(&s, "resync");
    script_error_event(&s, -COR_EINTERNAL);
    script_tick(&s);
    script_expect(&s, "cancel L(10,0)");
    script_deinit(&s);
}

static void note_message(void *arg, enum cor_reflector_report what, const struct cor_status *status)
{
    struct script *s = arg;

    snprintf(s->log, sizeof(s->log), "%s", cor_status_message(status));
}

static void assert_message(struct script *s, const char *name, const char *expected)
{
    s->opts.name = cor_strz(name);
    s->opts.on_report = note_message;
    script_start(s);
    script_page(s, "", "10", "");
    script_opened(s);
    script_event(s, COR_WATCH_UNKNOWN, "a", 11);
    assert_string_equal(s->log, expected);
    s->log_n = 0;
    script_deinit(s);
}

TEST(reflector, one_without_a_name_goes_by_its_types_description)
{
    struct script s;

    script_init(&s);
    assert_message(&s, "pods of a test", "pods of a test: unknown watch event");
    script_init(&s);
    s.opts.type_description = COR_STR("*v1.Pod");
    assert_message(&s, "", "*v1.Pod: unknown watch event");
}

/* Contract client 1.12.1, 1.12.9: what it was made with holds for its life. */
TEST(reflector, options_are_copied_when_it_is_made)
{
    char kind[] = "ConfigMap", name[] = "maps";
    struct script s;

    script_init(&s);
    s.opts = (struct cor_reflector_opts){
        .name = cor_strz(name),
        .expected = {COR_STR(""), COR_STR("v1"), cor_strz(kind)},
        .resync_ms = 5000,
        .watch_timeout_min_ms = 1800000,
        .stream_initial = true,
        .rand = s.opts.rand,
        .on_report = s.opts.on_report,
        .arg = s.opts.arg,
    };
    assert_int_equal(script_new(&s), 0);
    memset(kind, '?', sizeof(kind) - 1);
    memset(name, '?', sizeof(name) - 1);
    s.opts = (struct cor_reflector_opts){0};
    cor_reflector_start(s.r, s.now);
    script_expect(&s, "S()");
    assert_uint_in_range(s.timeout_s, 1800, 3599);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_end_bookmark(&s, 7);
    script_expect(&s, "begin stage(a@1) commit(7)");
    assert_int_equal(s.wake_ms, s.now + 5000);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "S(7)");
    script_deinit(&s);
}

TEST(reflector, a_store_need_not_have_bookmark_abort_and_resync)
{
    struct cor_reflector_store_ops ops;
    struct script s;

    script_init(&s);
    ops = *s.store.ops;
    ops.bookmark = NULL;
    ops.replace_abort = NULL;
    ops.resync = NULL;
    s.store.ops = &ops;
    s.opts.resync_ms = 100;
    script_start(&s);
    script_part(&s, "b@2");
    script_list_fails(&s, -COR_EIO);
    assert_true(s.staging);
    s.staging = false; /* nobody has told it */
    script_forget(&s);
    while (s.request == SCRIPT_NONE)
        script_tick(&s);
    script_page(&s, "a@1", "10", "");
    script_opened(&s);
    script_forget(&s);
    assert_int_equal(script_tick(&s), 100);
    script_event(&s, COR_WATCH_BOOKMARK, "", 12);
    script_expect(&s, "");
    script_ended(&s, 0);
    script_expect(&s, "W(12)");
    script_deinit(&s);
}

TEST(reflector, new_survives_failed_allocations)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct script s;
        int r;

        script_init(&s);
        s.opts.expected = (struct cor_gvk){COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
        r = script_new(&s);
        assert_int_equal(r, test_alloc_failed() ? -COR_ENOMEM : 0);
        script_deinit(&s);
    }
}

TEST(reflector, free_of_nothing_is_fine)
{
    assert_null(cor_reflector_free(NULL));
}
