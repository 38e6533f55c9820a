#include "script.h"

#include <stdio.h>

/* The watch phase as scripts, after client-go's reflector_test.go and the worked sequences of its
 * behaviour catalogue. */

/* Contract client 1.14.5, 1.15.1. */
TEST(reflector_watch, cold_start_lists_from_zero_in_pages_of_500_and_watches_from_the_lists_rv)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_expect(&s, "L(0,500)");
    assert_str(cor_reflector_last_sync_rv(s.r), "");
    script_page(&s, "a@1 b@2", "10", "");
    script_expect(&s, "begin stage(a@1) stage(b@2) commit(10) W(10)");
    assert_str(cor_reflector_last_sync_rv(s.r), "10");
    assert_uint_in_range(s.timeout_s, 300, 600);
    script_opened(&s);
    assert_int_equal(cor_reflector_state(s.r), COR_REFLECTOR_WATCHING);
    script_expect(&s, "");
    script_deinit(&s);
}

TEST(reflector_watch, an_empty_collection_is_replaced_by_nothing)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "", "10", "");
    script_expect(&s, "L(0,500) begin commit(10) W(10)");
    script_deinit(&s);
}

/* Contract client 1.15.8, 1.15.9, 1.15.14. */
TEST(reflector_watch, events_go_to_the_store_by_their_type_and_move_the_rv)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_ADDED, "n/b", 10);
    assert_str(cor_reflector_last_sync_rv(s.r), "10");
    script_event(&s, COR_WATCH_MODIFIED, "n/b", 20);
    assert_str(cor_reflector_last_sync_rv(s.r), "20");
    script_event(&s, COR_WATCH_DELETED, "n/b", 30);
    assert_str(cor_reflector_last_sync_rv(s.r), "30");
    script_event(&s, COR_WATCH_BOOKMARK, "", 40);
    assert_str(cor_reflector_last_sync_rv(s.r), "40");
    script_expect(&s, "add(n/b@10) update(n/b@20) del(n/b@30) bookmark(40)");
    assert_string_equal(s.store_rv, "40");
    script_ended(&s, 0);
    script_expect(&s, "W(40)");
    script_deinit(&s);
}

TEST(reflector_watch, the_store_is_given_the_numbers_that_the_source_has)
{
    struct script s;
    struct cor_list_page page = {.rev = 10};
    struct cor_reflector_event event = {.type = COR_WATCH_MODIFIED, .rev = 11};

    script_init(&s);
    script_start(&s);
    s.request = SCRIPT_NONE;
    cor_reflector_list_page(s.r, s.now, &page);
    assert_int_equal(s.store_rev, 10);
    assert_string_equal(s.store_rv, "");
    script_opened(&s);
    event.object = script_object("n/a", 7);
    cor_reflector_watch_event(s.r, s.now, &event);
    cor_object_unref(event.object);
    assert_int_equal(s.store_rev, 11);
    /* A deletion may be a key and a number. */
    event =
        (struct cor_reflector_event){.type = COR_WATCH_DELETED, .key = COR_STR("n/a"), .rev = 12};
    cor_reflector_watch_event(s.r, s.now, &event);
    assert_int_equal(s.store_rev, 12);
    /* A source of texts has none. */
    script_event(&s, COR_WATCH_MODIFIED, "n/b", 20);
    assert_int_equal(s.store_rev, 0);
    assert_string_equal(s.store_rv, "20");
    script_deinit(&s);
}

/* Contract client 1.15.12. */
TEST(reflector_watch, the_last_event_wins_even_with_a_smaller_rv)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 55);
    script_event(&s, COR_WATCH_MODIFIED, "b", 32);
    assert_str(cor_reflector_last_sync_rv(s.r), "32");
    script_deinit(&s);
}

TEST(reflector_watch, a_progress_bookmark_needs_no_object_and_its_rv_is_opaque)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    cor_reflector_watch_event(s.r, s.now,
                              &(struct cor_reflector_event){.type = COR_WATCH_BOOKMARK,
                                                            .resource_version = COR_STR("x-50")});
    script_ended(&s, 0);
    script_expect(&s, "bookmark(x-50) W(x-50)");
    script_deinit(&s);
}

/* Contract client 1.15.11. */
TEST(reflector_watch, an_event_of_a_foreign_type_is_skipped_and_does_not_move_the_rv)
{
    struct script s;

    script_init(&s);
    s.opts.expected = (struct cor_gvk){COR_STR(""), COR_STR("v1"), COR_STR("ConfigMap")};
    script_to_watching(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 11);
    script_event_json(&s, COR_WATCH_ADDED,
                      "{\"kind\":\"Secret\",\"apiVersion\":\"v1\",\"metadata\":{}}", 12);
    script_event_json(&s, COR_WATCH_BOOKMARK,
                      "{\"kind\":\"ConfigMap\",\"apiVersion\":\"apps/v1\",\"metadata\":{}}", 13);
    assert_str(cor_reflector_last_sync_rv(s.r), "11");
    script_event(&s, COR_WATCH_ADDED, "c", 14);
    script_expect(&s, "add(b@11) say(UNEXPECTED_TYPE) say(UNEXPECTED_TYPE) add(c@14)");
    script_deinit(&s);
}

/* Contract client 1.12.4, 1.15.11. */
TEST(reflector_watch, the_expected_type_has_a_group)
{
    struct script s;

    script_init(&s);
    s.opts.expected = (struct cor_gvk){COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    script_to_watching(&s);
    script_event_json(&s, COR_WATCH_ADDED,
                      "{\"kind\":\"Deployment\",\"apiVersion\":\"apps/v1\",\"metadata\":{"
                      "\"name\":\"d\"}}",
                      11);
    script_expect(&s, "add(d@11)");
    script_deinit(&s);
}

/* Contract client 1.14.13. */
TEST(reflector_watch, list_items_are_not_checked_against_the_expected_type)
{
    struct script s;

    script_init(&s);
    s.opts.expected = (struct cor_gvk){COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    script_start(&s);
    script_page(&s, "a@1", "10", "");
    script_expect(&s, "L(0,500) begin stage(a@1) commit(10) W(10)");
    script_deinit(&s);
}

TEST(reflector_watch, a_table_is_no_object)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event_json(&s, COR_WATCH_ADDED,
                      "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{}}", 12);
    script_expect(&s, "say(UNEXPECTED_TYPE)");
    script_deinit(&s);
}

/* Contract client 1.15.8, 1.15.9. */
TEST(reflector_watch, an_unknown_event_type_is_told_and_moves_the_rv)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_UNKNOWN, "b", 11);
    script_ended(&s, 0);
    script_expect(&s, "say(UNKNOWN_EVENT) W(11)");
    script_deinit(&s);
}

/* Contract client 1.15.13. */
TEST(reflector_watch, an_event_without_object_or_with_a_monstrous_rv_is_skipped)
{
    char big[COR_REFLECTOR_RV_MAX + 2];
    struct cor_reflector_event event = {.type = COR_WATCH_ADDED};
    struct script s;

    memset(big, 'x', sizeof(big));
    script_init(&s);
    script_to_watching(&s);
    cor_reflector_watch_event(s.r, s.now, &event);
    event = (struct cor_reflector_event){.type = COR_WATCH_BOOKMARK,

                                         .resource_version = cor_str(big, COR_REFLECTOR_RV_MAX)};
    cor_reflector_watch_event(s.r, s.now, &event);
    assert_int_equal(cor_reflector_last_sync_rv(s.r).n, COR_REFLECTOR_RV_MAX);
    script_forget(&s);
    event.resource_version.n++;
    cor_reflector_watch_event(s.r, s.now, &event);
    script_expect(&s, "say(UNREADABLE)");
    script_deinit(&s);
}

TEST(reflector_watch, an_event_without_an_rv_leaves_the_rv_where_it_is)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 0);
    script_ended(&s, 0);
    script_expect(&s, "add(b@0) W(10)");
    assert_string_equal(s.store_rv, "10");
    script_deinit(&s);
}

/* A watch from "" or "0" begins with the state in no order: upstream lost objects here before it
 * waited for the first event that is not ADDED. */
TEST(reflector_watch, initial_events_of_a_watch_without_revision_do_not_move_the_rv)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "", "", "");
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 20);
    script_event(&s, COR_WATCH_ADDED, "c", 12);
    assert_str(cor_reflector_last_sync_rv(s.r), "");
    script_event(&s, COR_WATCH_MODIFIED, "b", 21);
    script_event(&s, COR_WATCH_ADDED, "d", 22);
    assert_str(cor_reflector_last_sync_rv(s.r), "22");
    script_deinit(&s);
}

/* Contract client 1.15.4. */
TEST(reflector_watch, a_watch_that_ends_after_a_second_goes_on_at_once)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    s.now += 1000;
    script_ended(&s, 0);
    script_expect(&s, "W(10)");
    script_deinit(&s);
}

/* Contract client 1.15.4. */
TEST(reflector_watch, a_watch_that_ends_within_a_second_but_had_an_event_goes_on_at_once)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    s.now += 999;
    script_event(&s, COR_WATCH_ADDED, "b", 11);
    script_ended(&s, 0);
    script_expect(&s, "add(b@11) W(11)");
    script_deinit(&s);
}

/* Contract client 1.13.1, 1.15.5. */
TEST(reflector_watch, a_very_short_watch_backs_off_and_relists_without_an_error)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    s.now += 999;
    script_ended(&s, 0);
    script_expect(&s, "say(WATCH_FAILED) end()");
    assert_uint_in_range(script_tick(&s), 800, 1599);
    script_expect(&s, "L(10,0)");
    script_deinit(&s);
}

/* Contract client 1.15.5: some proxies hold the headers back until the first event: the clock
 * starts with the request. */
TEST(reflector_watch, the_watchs_clock_starts_with_the_request)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "", "10", "");
    script_forget(&s);
    s.now += 1000;
    script_opened(&s);
    script_ended(&s, 0);
    script_expect(&s, "W(10)");
    s.now += 1000;
    script_ended(&s, 0); /* never opened */
    script_expect(&s, "W(10)");
    script_deinit(&s);
}

TEST(reflector_watch, a_skipped_event_does_not_make_a_watch_longer)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event_json(&s, COR_WATCH_ADDED,
                      "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":{}}",
                      12);
    script_ended(&s, 0);
    script_expect(&s, "say(UNEXPECTED_TYPE) say(WATCH_FAILED) end()");
    script_deinit(&s);
}

/* Contract client 1.13.4, 1.15.6. */
TEST(reflector_watch, a_410_event_relists_from_the_last_rv_without_an_error)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 11);
    script_error_event(&s, -COR_EEXPIRED);
    script_expect(&s, "add(b@11) say(WATCH_EXPIRED) end() cancel");
    assert_uint_in_range(script_tick(&s), 800, 1599);
    script_expect(&s, "L(11,0)");
    script_page(&s, "b@11", "12", "");
    script_expect(&s, "begin stage(b@11) commit(12) W(12)");
    script_deinit(&s);
}

/* Contract client 1.11.4, 1.15.3: nothing is cancelled, there is no watch. */
TEST(reflector_watch, a_410_on_opening_a_watch_is_an_error_and_relists_from_the_last_rv)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "");
    script_forget(&s);
    script_ended(&s, -COR_EEXPIRED);
    script_expect(&s, "end(EEXPIRED)");
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    script_deinit(&s);
}

/* Contract client 1.12.7, 1.15.3. */
TEST(reflector_watch, a_403_on_every_watch_loops_over_list_and_watch_with_growing_pauses)
{
    static const uint64_t base[] = {800, 1600, 3200, 6400, 12800, 25600, 30000, 30000};
    struct script s;

    script_init(&s);
    script_start(&s);
    for (size_t i = 0; i < COR_ARRAY_LEN(base); i++) {
        script_page(&s, "a@1", "10", "");
        script_forget(&s);
        script_ended(&s, -COR_ENOTSUP);
        script_expect(&s, "end(ENOTSUP)");
        assert_uint_in_range(script_tick(&s), base[i], 2 * base[i] - 1);
        script_expect(&s, "L(10,0)");
    }
    assert_int_equal(s.commits, COR_ARRAY_LEN(base));
    script_deinit(&s);
}

/* Contract client 1.12.7. */
TEST(reflector_watch, the_backoff_starts_over_when_the_last_one_is_two_minutes_ago)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_list_fails(&s, -COR_EINTERNAL);
    script_tick(&s);
    script_list_fails(&s, -COR_EINTERNAL);
    assert_uint_in_range(script_tick(&s), 1600, 3199);
    s.now += 120001;
    script_list_fails(&s, -COR_EINTERNAL);
    assert_uint_in_range(script_tick(&s), 800, 1599);
    script_deinit(&s);
}

/* Contract client 1.15.2. */
TEST(reflector_watch, no_relist_on_too_many_requests)
{
    static const int errors[] = {-COR_EBUSY, -COR_EUNREACHABLE};

    for (size_t e = 0; e < COR_ARRAY_LEN(errors); e++) {
        struct script s;
        uint64_t base = 800;

        script_init(&s);
        script_start(&s);
        script_page(&s, "a@1", "10", "");
        script_forget(&s);
        for (int i = 0; i < 5; i++, base *= 2) {
            script_ended(&s, errors[e]);
            script_expect(&s, "say(WATCH_RETRY)");
            assert_uint_in_range(script_tick(&s), base, 2 * base - 1);
            script_expect(&s, "W(10)");
        }
        script_deinit(&s);
    }
}

/* Contract client 1.15.2, 1.15.6. */
TEST(reflector_watch, backoff_on_too_many_requests_when_opening_and_within_the_stream)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "");
    script_forget(&s);
    script_ended(&s, -COR_EBUSY);
    assert_uint_in_range(script_tick(&s), 800, 1599);
    script_opened(&s);
    script_error_event(&s, -COR_EBUSY);
    script_expect(&s, "say(WATCH_RETRY) W(10) say(WATCH_RETRY) cancel");
    assert_uint_in_range(script_tick(&s), 1600, 3199);
    script_expect(&s, "W(10)");
    script_deinit(&s);
}

TEST(reflector_watch, a_refused_connection_on_a_list_is_an_error)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_list_fails(&s, -COR_EUNREACHABLE);
    script_expect(&s, "L(0,500) end(failed to list <unspecified>: EUNREACHABLE)");
    assert_uint_in_range(script_tick(&s), 800, 1599);
    script_expect(&s, "L(0,500)");
    script_deinit(&s);
}

static unsigned internal_retries(uint64_t window_ms, unsigned rewind_at)
{
    unsigned watches = 0;
    struct script s;

    script_init(&s);
    s.opts.internal_retry_ms = window_ms;
    script_start(&s);
    script_page(&s, "", "1", "");
    while (cor_reflector_state(s.r) != COR_REFLECTOR_ROUND_PAUSE) {
        watches++;
        if (watches == rewind_at)
            s.now += 60000;
        s.now += 1000;
        script_opened(&s);
        script_error_event(&s, -COR_EINTERNAL);
        script_forget(&s);
    }
    script_deinit(&s);
    return watches - 1;
}

/* Contract client 1.15.6. */
TEST(reflector_watch, retry_internal_error_within_its_window)
{
    assert_int_equal(internal_retries(0, 0), 0);
    assert_int_equal(internal_retries(30000, 0), 31);
    assert_int_equal(internal_retries(30000, 10), 40);
}

TEST(reflector_watch, internal_errors_that_come_at_once_are_retried_a_second_apart)
{
    unsigned watches = 1;
    struct script s;

    script_init(&s);
    s.opts.internal_retry_ms = 30000;
    script_to_watching(&s);
    script_error_event(&s, -COR_EINTERNAL);
    script_expect(&s, "say(WATCH_RETRY) cancel");
    while (cor_reflector_state(s.r) == COR_REFLECTOR_WATCH_PAUSE) {
        assert_int_equal(script_tick(&s), 1000);
        script_opened(&s);
        script_error_event(&s, -COR_EINTERNAL);
        watches++;
    }
    assert_int_equal(watches, 32);
    script_deinit(&s);
}

/* Contract client 1.15.7. */
TEST(reflector_watch, other_errors_do_not_touch_the_window_of_internal_ones)
{
    struct script s;

    script_init(&s);
    s.opts.internal_retry_ms = 30000;
    script_to_watching(&s);
    s.now += 1000;
    script_error_event(&s, -COR_EINTERNAL);
    script_opened(&s);
    s.now += 50000;
    script_error_event(&s, -COR_EBUSY);
    script_tick(&s);
    script_opened(&s);
    script_forget(&s);
    s.now += 20000;
    script_error_event(&s, -COR_EINTERNAL); /* more than a minute after the first */
    script_expect(&s, "say(WATCH_RETRY) cancel W(10)");
    script_deinit(&s);
}

/* Contract client 1.12.8. */
TEST(reflector_watch, an_internal_error_relists_when_the_window_is_off)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_error_event(&s, -COR_EINTERNAL);
    script_expect(&s, "say(WATCH_FAILED) end() cancel");
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    script_deinit(&s);
}

/* Contract client 1.15.6: an object that cannot be read ends the watch with StoreReadError: the
 * list without it mends. */
TEST(reflector_watch, replaces_the_store_on_unsafe_delete)
{
    struct cor_status st = {.err = -COR_EINTERNAL, .code = 500, .reason = "StoreReadError"};
    struct script s;

    script_init(&s);
    s.opts.internal_retry_ms = 30000;
    script_to_watching(&s);
    cor_reflector_watch_event(
        s.r, s.now, &(struct cor_reflector_event){.type = COR_WATCH_ERROR, .status = &st});
    script_expect(&s, "say(WATCH_FAILED) end() cancel");
    script_tick(&s);
    script_page(&s, "", "12", "");
    script_expect(&s, "L(10,0) begin commit(12) W(12)");
    assert_int_equal(s.content.n, 0);
    script_deinit(&s);
}

TEST(reflector_watch, a_refused_connection_within_a_stream_relists)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_ended(&s, -COR_EUNREACHABLE);
    script_expect(&s, "say(WATCH_FAILED) end()");
    script_deinit(&s);
}

TEST(reflector_watch, rounds_can_be_a_fixed_time_apart)
{
    struct script s;

    script_init(&s);
    s.opts.round_delay_ms = 1000;
    script_start(&s);
    for (int i = 0; i < 5; i++) {
        script_list_fails(&s, -COR_EINTERNAL);
        assert_int_equal(script_tick(&s), 1000);
    }
    script_deinit(&s);
}

/* Contract client 1.12.5, 1.12.6. */
TEST(reflector_watch, watch_timeout)
{
    static const struct {
        uint64_t min_ms;
        uint32_t low, high;
    } cases[] = {{0, 300, 600}, {1000, 300, 600}, {30u * 60 * 1000, 1800, 3600}};

    for (size_t i = 0; i < COR_ARRAY_LEN(cases); i++) {
        uint32_t least = UINT32_MAX, most = 0;
        struct script s;

        script_init(&s);
        s.opts.watch_timeout_min_ms = cases[i].min_ms;
        script_to_watching(&s);
        for (int k = 0; k < 200; k++) {
            s.now += 1000;
            script_ended(&s, 0);
            assert_uint_in_range(s.timeout_s, cases[i].low, cases[i].high - 1);
            least = s.timeout_s < least ? s.timeout_s : least;
            most = s.timeout_s > most ? s.timeout_s : most;
        }
        assert_true(most - least > (cases[i].high - cases[i].low) / 2);
        script_deinit(&s);
    }
}

/* Contract client 1.15.10: upstream's quirk, kept: the event is lost, the stream goes on, the rv
 * moves. */
TEST(reflector_watch, an_event_that_the_store_refuses_for_good_is_lost)
{
    static const enum cor_watch_type types[] = {COR_WATCH_ADDED, COR_WATCH_MODIFIED,
                                                COR_WATCH_DELETED};
    static const char *const ops[] = {"add", "update", "del"};

    for (size_t i = 0; i < COR_ARRAY_LEN(ops); i++) {
        char want[80];
        struct script s;

        script_init(&s);
        script_to_watching(&s);
        s.fail_op = ops[i];
        s.fail_err = -COR_EINVALID;
        script_event(&s, types[i], "b", 11);
        script_ended(&s, 0);
        snprintf(want, sizeof(want), "%s(b@11) say(STORE_FAILED) W(11)", ops[i]);
        script_expect(&s, want);
        script_deinit(&s);
    }
}

TEST(reflector_watch, an_event_that_the_store_cannot_take_now_is_brought_by_a_relist)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    s.fail_op = "add";
    s.fail_err = -COR_ENOMEM;
    script_event(&s, COR_WATCH_ADDED, "b", 11);
    script_expect(&s, "add(b@11) say(STORE_FAILED) end() cancel");
    s.fail_op = NULL;
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    script_deinit(&s);
}

/* A storage engine names what it deletes and has no object for it. */
TEST(reflector_watch, a_deletion_may_be_only_a_key_with_a_revision)
{
    struct cor_reflector_event event = {
        .type = COR_WATCH_DELETED, .key = COR_STR("/pods/a"), .resource_version = COR_STR("12")};
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    cor_reflector_watch_event(s.r, s.now, &event);
    script_expect(&s, "del(/pods/a)");
    assert_str(cor_reflector_last_sync_rv(s.r), "12");
    event.type = COR_WATCH_MODIFIED;
    cor_reflector_watch_event(s.r, s.now, &event);
    script_expect(&s, "say(UNREADABLE)");
    script_deinit(&s);
}

/* The set that a streamed list gathers in knows objects by their names. */
TEST(reflector_watch, a_streamed_list_takes_no_deletion_that_is_only_a_key)
{
    struct cor_reflector_event event = {.type = COR_WATCH_DELETED, .key = COR_STR("/pods/a")};
    struct script s;

    script_init(&s);
    s.opts.stream_initial = true;
    script_start(&s);
    script_opened(&s);
    script_forget(&s);
    cor_reflector_watch_event(s.r, s.now, &event);
    script_expect(&s, "say(UNREADABLE)");
    script_deinit(&s);
}

/* A server sends a bookmark about every minute: one that sends nothing at all may be gone. */
TEST(reflector_watch, a_silent_watch_is_given_up_for_a_new_one)
{
    struct script s;

    script_init(&s);
    s.opts.watch_silence_ms = 90000;
    script_to_watching(&s);
    assert_int_equal(script_tick(&s), 90000);
    script_expect(&s, "say(WATCH_SILENT) cancel W(10)");
    script_opened(&s);
    s.now += 60000;
    script_event(&s, COR_WATCH_MODIFIED, "a", 11);
    script_expect(&s, "update(a@11)");
    assert_int_equal(script_tick(&s), 90000);
    script_expect(&s, "say(WATCH_SILENT) cancel W(11)");
    script_deinit(&s);
}

TEST(reflector_watch, periods_beyond_the_clock_never_pass)
{
    struct script s;

    script_init(&s);
    s.opts.watch_silence_ms = s.opts.resync_ms = UINT64_MAX - 1;
    script_to_watching(&s);
    s.now += 1000;
    cor_reflector_tick(s.r, s.now);
    script_expect(&s, "");
    assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
    script_deinit(&s);
}

TEST(reflector_watch, a_watch_that_is_not_answered_is_given_up_as_a_silent_one)
{
    struct script s;

    script_init(&s);
    s.opts.watch_silence_ms = 90000;
    script_to_watching(&s);
    s.now += 2000;
    script_ended(&s, 0);
    script_expect(&s, "W(10)");
    assert_int_equal(script_tick(&s), 90000);
    script_expect(&s, "say(WATCH_SILENT) cancel W(10)");
    assert_int_equal(script_tick(&s), 90000);
    script_expect(&s, "say(WATCH_SILENT) cancel W(10)");
    script_opened(&s);
    script_event(&s, COR_WATCH_MODIFIED, "a", 11);
    script_expect(&s, "update(a@11)");
    script_deinit(&s);
}
