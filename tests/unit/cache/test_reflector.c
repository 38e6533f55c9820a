#include "script.h"

#include <stdio.h>

/* The list and watch phases as scripts, after client-go's reflector_test.go and the worked
 * sequences of its behaviour catalogue. */

/* --- start-up and steady state --- */

TEST(reflector, cold_start_lists_from_zero_in_pages_of_500_and_watches_from_the_lists_rv)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_expect(&s, "L(0,500)");
    assert_str(cor_reflector_last_sync_rv(s.r), "");
    script_page(&s, "a@1 b@2", "10", "");
    script_expect(&s, "begin stage(a@1) stage(b@2) commit(10) W(10)");
    assert_str(cor_reflector_last_sync_rv(s.r), "10");
    assert_in_range(s.timeout_s, 300, 600);
    script_opened(&s);
    assert_int_equal(cor_reflector_state(s.r), COR_REFLECTOR_WATCHING);
    script_expect(&s, "");
    script_deinit(&s);
}

TEST(reflector, an_empty_collection_is_replaced_by_nothing)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "", "10", "");
    script_expect(&s, "L(0,500) begin commit(10) W(10)");
    script_deinit(&s);
}

TEST(reflector, events_go_to_the_store_by_their_type_and_move_the_rv)
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

TEST(reflector, the_last_event_wins_even_with_a_smaller_rv)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 55);
    script_event(&s, COR_WATCH_MODIFIED, "b", 32);
    assert_str(cor_reflector_last_sync_rv(s.r), "32");
    script_deinit(&s);
}

TEST(reflector, a_progress_bookmark_needs_no_object_and_its_rv_is_opaque)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    cor_reflector_watch_event(
        s.r, s.now,
        &(struct cor_watch_event){.type = COR_WATCH_BOOKMARK, .resource_version = COR_STR("x-50")});
    script_ended(&s, 0);
    script_expect(&s, "bookmark(x-50) W(x-50)");
    script_deinit(&s);
}

TEST(reflector, an_event_of_a_foreign_type_is_skipped_and_does_not_move_the_rv)
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

TEST(reflector, the_expected_type_has_a_group)
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

TEST(reflector, list_items_are_not_checked_against_the_expected_type)
{
    struct script s;

    script_init(&s);
    s.opts.expected = (struct cor_gvk){COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    script_start(&s);
    script_page(&s, "a@1", "10", "");
    script_expect(&s, "L(0,500) begin stage(a@1) commit(10) W(10)");
    script_deinit(&s);
}

TEST(reflector, a_table_is_no_object)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event_json(&s, COR_WATCH_ADDED,
                      "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{}}", 12);
    script_expect(&s, "say(UNEXPECTED_TYPE)");
    script_deinit(&s);
}

TEST(reflector, an_unknown_event_type_is_told_and_moves_the_rv)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_UNKNOWN, "b", 11);
    script_ended(&s, 0);
    script_expect(&s, "say(UNKNOWN_EVENT) W(11)");
    script_deinit(&s);
}

TEST(reflector, an_event_without_object_or_with_a_monstrous_rv_is_skipped)
{
    char big[COR_REFLECTOR_RV_MAX + 2];
    struct cor_watch_event event = {.type = COR_WATCH_ADDED};
    struct script s;

    memset(big, 'x', sizeof(big));
    script_init(&s);
    script_to_watching(&s);
    cor_reflector_watch_event(s.r, s.now, &event);
    event = (struct cor_watch_event){.type = COR_WATCH_BOOKMARK,

                                     .resource_version = cor_str(big, COR_REFLECTOR_RV_MAX)};
    cor_reflector_watch_event(s.r, s.now, &event);
    assert_int_equal(cor_reflector_last_sync_rv(s.r).n, COR_REFLECTOR_RV_MAX);
    script_forget(&s);
    event.resource_version.n++;
    cor_reflector_watch_event(s.r, s.now, &event);
    script_expect(&s, "say(UNREADABLE)");
    script_deinit(&s);
}

TEST(reflector, an_event_without_an_rv_leaves_the_rv_where_it_is)
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
TEST(reflector, initial_events_of_a_watch_without_revision_do_not_move_the_rv)
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

/* --- ends of a watch --- */

TEST(reflector, a_watch_that_ends_after_a_second_goes_on_at_once)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    s.now += 1000;
    script_ended(&s, 0);
    script_expect(&s, "W(10)");
    script_deinit(&s);
}

TEST(reflector, a_watch_that_ends_within_a_second_but_had_an_event_goes_on_at_once)
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

TEST(reflector, a_very_short_watch_backs_off_and_relists_without_an_error)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    s.now += 999;
    script_ended(&s, 0);
    script_expect(&s, "say(WATCH_FAILED) end()");
    assert_in_range(script_tick(&s), 800, 1599);
    script_expect(&s, "L(10,0)");
    script_deinit(&s);
}

/* Some proxies hold the headers back until the first event: the clock starts with the request. */
TEST(reflector, the_watchs_clock_starts_with_the_request)
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

TEST(reflector, a_skipped_event_does_not_make_a_watch_longer)
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

TEST(reflector, a_410_event_relists_from_the_last_rv_without_an_error)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 11);
    script_error_event(&s, -COR_EEXPIRED);
    script_expect(&s, "add(b@11) say(WATCH_EXPIRED) end() cancel");
    assert_in_range(script_tick(&s), 800, 1599);
    script_expect(&s, "L(11,0)");
    script_page(&s, "b@11", "12", "");
    script_expect(&s, "begin stage(b@11) commit(12) W(12)");
    script_deinit(&s);
}

TEST(reflector, a_410_on_opening_a_watch_is_an_error_and_relists_from_the_last_rv)
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

TEST(reflector, a_403_on_every_watch_loops_over_list_and_watch_with_growing_pauses)
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
        assert_in_range(script_tick(&s), base[i], 2 * base[i] - 1);
        script_expect(&s, "L(10,0)");
    }
    assert_int_equal(s.commits, COR_ARRAY_LEN(base));
    script_deinit(&s);
}

TEST(reflector, the_backoff_starts_over_when_the_last_one_is_two_minutes_ago)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_list_fails(&s, -COR_EINTERNAL);
    script_tick(&s);
    script_list_fails(&s, -COR_EINTERNAL);
    assert_in_range(script_tick(&s), 1600, 3199);
    s.now += 120001;
    script_list_fails(&s, -COR_EINTERNAL);
    assert_in_range(script_tick(&s), 800, 1599);
    script_deinit(&s);
}

TEST(reflector, no_relist_on_too_many_requests)
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
            assert_in_range(script_tick(&s), base, 2 * base - 1);
            script_expect(&s, "W(10)");
        }
        script_deinit(&s);
    }
}

TEST(reflector, backoff_on_too_many_requests_when_opening_and_within_the_stream)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "");
    script_forget(&s);
    script_ended(&s, -COR_EBUSY);
    assert_in_range(script_tick(&s), 800, 1599);
    script_opened(&s);
    script_error_event(&s, -COR_EBUSY);
    script_expect(&s, "say(WATCH_RETRY) W(10) say(WATCH_RETRY) cancel");
    assert_in_range(script_tick(&s), 1600, 3199);
    script_expect(&s, "W(10)");
    script_deinit(&s);
}

TEST(reflector, a_refused_connection_on_a_list_is_an_error)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_list_fails(&s, -COR_EUNREACHABLE);
    script_expect(&s, "L(0,500) end(failed to list <unspecified>: EUNREACHABLE)");
    assert_in_range(script_tick(&s), 800, 1599);
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

TEST(reflector, retry_internal_error_within_its_window)
{
    assert_int_equal(internal_retries(0, 0), 0);
    assert_int_equal(internal_retries(30000, 0), 31);
    assert_int_equal(internal_retries(30000, 10), 40);
}

TEST(reflector, internal_errors_that_come_at_once_are_retried_a_second_apart)
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

TEST(reflector, an_internal_error_relists_when_the_window_is_off)
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

/* An object that cannot be read ends the watch with StoreReadError: the list without it mends. */
TEST(reflector, replaces_the_store_on_unsafe_delete)
{
    struct cor_status st = {.err = -COR_EINTERNAL, .code = 500, .reason = "StoreReadError"};
    struct script s;

    script_init(&s);
    s.opts.internal_retry_ms = 30000;
    script_to_watching(&s);
    cor_reflector_watch_event(s.r, s.now,
                              &(struct cor_watch_event){.type = COR_WATCH_ERROR, .status = &st});
    script_expect(&s, "say(WATCH_FAILED) end() cancel");
    script_tick(&s);
    script_page(&s, "", "12", "");
    script_expect(&s, "L(10,0) begin commit(12) W(12)");
    assert_int_equal(s.content.n, 0);
    script_deinit(&s);
}

TEST(reflector, a_refused_connection_within_a_stream_relists)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_ended(&s, -COR_EUNREACHABLE);
    script_expect(&s, "say(WATCH_FAILED) end()");
    script_deinit(&s);
}

TEST(reflector, rounds_can_be_a_fixed_time_apart)
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

TEST(reflector, watch_timeout)
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
            assert_in_range(s.timeout_s, cases[i].low, cases[i].high - 1);
            least = s.timeout_s < least ? s.timeout_s : least;
            most = s.timeout_s > most ? s.timeout_s : most;
        }
        assert_true(most - least > (cases[i].high - cases[i].low) / 2);
        script_deinit(&s);
    }
}

/* --- lists --- */

TEST(reflector, pages_are_staged_one_after_the_other_under_the_first_ones_rv)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "next");
    script_expect(&s, "L(0,500) begin stage(a@1) L(,500,next)");
    assert_int_equal(s.content.n, 0);
    script_page(&s, "b@2", "11", "last");
    script_page(&s, "c@3", "12", "");
    script_expect(&s, "stage(b@2) L(,500,last) stage(c@3) commit(10) W(10)");
    assert_int_equal(s.content.n, 3);
    script_deinit(&s);
}

TEST(reflector, an_answer_may_come_in_parts)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_part(&s, "a@1");
    script_part(&s, "");
    script_expect(&s, "L(0,500) begin stage(a@1)");
    script_page(&s, "b@2", "10", "");
    script_expect(&s, "stage(b@2) commit(10) W(10)");
    script_deinit(&s);
}

TEST(reflector, watch_list_page_size_is_used_for_every_list)
{
    struct script s;

    script_init(&s);
    s.opts.page_size = 4;
    script_start(&s);
    script_page(&s, "a@1", "10", "t");
    script_page(&s, "b@1", "10", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,4)");
    script_deinit(&s);
}

TEST(reflector, not_paginating_not_consistent_reads)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    script_deinit(&s);
}

TEST(reflector, paginating_non_consistent_reads_if_the_watch_cache_is_disabled)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "10", "t");
    script_page(&s, "b@2", "10", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,500)");
    script_deinit(&s);
}

/* A consistent list comes in pages also from servers with a watch cache. */
TEST(reflector, pages_of_a_consistent_list_do_not_switch_paging_on)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_tick(&s);
    script_list_fails(&s, -COR_EEXPIRED);
    script_list_fails(&s, -COR_EINTERNAL);
    script_tick(&s);
    script_forget(&s);
    script_page(&s, "a@1", "20", "t");
    script_page(&s, "b@2", "20", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(20,0)");
    script_deinit(&s);
}

TEST(reflector, resync_with_resource_version_lists_zero_then_the_last)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_expect(&s, "L(0,500)");
    script_page(&s, "a@1", "10", "");
    script_opened(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(10,0)");
    script_page(&s, "b@2", "20", "");
    script_expect(&s, "begin stage(b@2) commit(20) W(20)");
    script_deinit(&s);
}

static void too_large(struct cor_status *st)
{
    cor_status_too_large_rv(st, 20, 10, 1);
}

static void too_large_1_17(struct cor_status *st)
{
    cor_status_timeout(st, 1, "Timeout: Too large");
    assert_int_equal(cor_status_add_cause(st, "", "Too large resource version", ""), 0);
}

static void too_large_1_16(struct cor_status *st)
{
    cor_status_timeout(st, 1, "Too large resource version: 20, current: 10");
}

static void expired(struct cor_status *st)
{
    cor_status_expired(st, "The resourceVersion for the provided list is too old.");
}

static void gone(struct cor_status *st)
{
    cor_status_untyped(st, -COR_EINTERNAL, "gone");
    st->code = 410;
    st->reason = "Gone";
}

/* RVs "0", "10", "": for 410 and for a revision ahead of the server's, in every server's words. */
TEST(reflector, expired_or_too_large_revision_is_listed_again_without_one_at_once)
{
    static void (*const fill[])(struct cor_status *) = {expired, gone, too_large, too_large_1_17,
                                                        too_large_1_16};

    for (size_t i = 0; i < COR_ARRAY_LEN(fill); i++) {
        struct cor_status st = {0};
        struct script s;

        script_init(&s);
        script_to_watching(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_forget(&s);
        script_tick(&s);
        fill[i](&st);
        script_list_fails_with(&s, &st);
        script_expect(&s, "L(10,0) L(,0)");
        script_page(&s, "b@2", "20", "");
        script_opened(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_forget(&s);
        script_tick(&s);
        script_expect(&s, "L(20,0)");
        cor_status_deinit(&st);
        script_deinit(&s);
    }
}

TEST(reflector, while_the_rv_is_unavailable_lists_have_none_and_are_paged)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_list_fails(&s, -COR_EEXPIRED);
    script_list_fails(&s, -COR_EEXPIRED);
    script_expect(&s, "L(10,0) L(,0) end(failed to list <unspecified>: EEXPIRED)");
    script_tick(&s);
    script_expect(&s, "L(,500)");
    script_list_fails(&s, -COR_EINTERNAL);
    script_forget(&s);
    script_tick(&s);
    script_expect(&s, "L(,500)");
    script_page(&s, "", "20", "");
    script_expect(&s, "begin commit(20) W(20)");
    script_deinit(&s);
}

TEST(reflector, a_first_list_that_expires_keeps_its_page_size_in_the_second_try)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_list_fails(&s, -COR_EFUTURE);
    script_expect(&s, "L(0,500) L(,500)");
    script_deinit(&s);
}

/* RVs "0", "10", "", "10". */
TEST(reflector, full_list_if_a_later_page_expired)
{
    struct script s;

    script_init(&s);
    s.opts.page_size = 4;
    script_to_watching(&s);
    script_error_event(&s, -COR_EEXPIRED);
    script_forget(&s);
    script_tick(&s);
    script_page(&s, "a@1", "11", "t");
    script_expect(&s, "L(10,4) begin stage(a@1) L(,4,t)");
    script_list_fails(&s, -COR_EEXPIRED);
    script_expect(&s, "abort L(10,0)");
    script_page(&s, "b@2", "12", "not followed");
    script_expect(&s, "begin stage(b@2) commit(12) W(12)");
    script_deinit(&s);
}

TEST(reflector, a_full_list_that_expires_too_is_tried_without_a_revision)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "11", "t");
    script_list_fails(&s, -COR_EEXPIRED);
    script_list_fails(&s, -COR_EEXPIRED);
    script_expect(&s, "L(0,500) begin stage(a@1) L(,500,t) abort L(0,0) L(,500)");
    script_page(&s, "a@1", "12", "");
    script_expect(&s, "begin stage(a@1) commit(12) W(12)");
    script_deinit(&s);
}

TEST(reflector, gone_on_a_later_page_starts_again_without_a_revision)
{
    struct cor_status st = {0};
    struct script s;

    script_init(&s);
    script_start(&s);
    script_page(&s, "a@1", "11", "t");
    gone(&st);
    script_list_fails_with(&s, &st);
    script_expect(&s, "L(0,500) begin stage(a@1) L(,500,t) abort L(,500)");
    cor_status_deinit(&st);
    script_deinit(&s);
}

TEST(reflector, list_failures_name_the_type_and_keep_the_cause)
{
    struct script s;

    script_init(&s);
    s.opts.expected = (struct cor_gvk){COR_STR("apps"), COR_STR("v1"), COR_STR("Deployment")};
    script_start(&s);
    script_list_fails(&s, -COR_EINTERNAL);
    script_expect(&s, "L(0,500) end(failed to list apps/v1, Kind=Deployment: EINTERNAL)");
    script_deinit(&s);

    script_init(&s);
    s.opts.type_description = COR_STR("*v1.Pod");
    script_start(&s);
    script_page(&s, "a@1", "10", "t");
    script_forget(&s);
    script_list_fails(&s, -COR_EINTERNAL);
    script_expect(&s, "abort end(failed to list *v1.Pod: EINTERNAL)");
    script_deinit(&s);
}

TEST(reflector, a_refused_replace_is_an_error_and_leaves_the_store)
{
    static const char *const ops[] = {"begin", "stage", "commit"};
    static const char *const logs[] = {
        "begin end(unable to sync list result: begin refused)",
        "begin stage(a@1) abort end(unable to sync list result: stage refused)",
        "begin stage(a@1) stage(b@2) commit(20) end(unable to sync list result: commit refused)",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(ops); i++) {
        struct script s;

        script_init(&s);
        script_to_watching(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_tick(&s);
        script_forget(&s);
        s.fail_op = ops[i];
        s.fail_err = -COR_EINVALID;
        script_page(&s, "a@1 b@2", "20", "");
        script_expect(&s, logs[i]);
        assert_int_equal(s.content.n, 1);
        assert_str(cor_reflector_last_sync_rv(s.r), "10");
        s.fail_op = NULL;
        script_tick(&s);
        script_page(&s, "a@1 b@2", "20", "");
        assert_int_equal(s.content.n, 2);
        script_deinit(&s);
    }
}

TEST(reflector, a_refused_part_cancels_the_rest_of_the_answer)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    s.fail_op = "stage";
    s.fail_err = -COR_ENOMEM;
    script_part(&s, "a@1");
    script_expect(&s, "L(0,500) begin stage(a@1) abort "
                      "end(unable to sync list result: stage refused) cancel");
    script_deinit(&s);
}

TEST(reflector, a_list_above_the_maximum_fails)
{
    struct script s;

    script_init(&s);
    s.opts.objects_max = 2;
    script_start(&s);
    script_page(&s, "a@1 b@2 c@3", "10", "");
    script_expect(&s, "L(0,500) begin stage(a@1) stage(b@2) abort "
                      "end(unable to sync list result: more than 2 objects)");
    script_deinit(&s);
}

TEST(reflector, a_list_with_a_monstrous_rv_fails)
{
    char big[COR_REFLECTOR_RV_MAX + 2];
    struct script s;

    memset(big, 'x', sizeof(big));
    big[sizeof(big) - 1] = '\0';
    script_init(&s);
    script_start(&s);
    script_page(&s, "", big, "");
    script_expect(&s, "L(0,500) end(unable to understand list result: resourceVersion of 128 "
                      "bytes)");
    script_deinit(&s);
}

TEST(reflector, a_list_of_more_than_ten_seconds_is_told)
{
    struct script s;

    script_init(&s);
    script_start(&s);
    s.now += 10001;
    script_page(&s, "", "10", "");
    script_expect(&s, "L(0,500) say(SLOW) begin commit(10) W(10)");
    script_deinit(&s);
}

/* --- the store's refusals --- */

/* Upstream's quirk, kept: the event is lost, the stream goes on, the rv moves. */
TEST(reflector, an_event_that_the_store_refuses_for_good_is_lost)
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

TEST(reflector, an_event_that_the_store_cannot_take_now_is_brought_by_a_relist)
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

/* --- resync --- */

TEST(reflector, without_a_period_there_is_no_resync)
{
    struct script s;

    script_init(&s);
    script_to_watching(&s);
    assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
    script_deinit(&s);
}

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

/* --- stop --- */

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
    cor_reflector_watch_event(s.r, s.now, &(struct cor_watch_event){0});
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

TEST(reflector, free_of_nothing_is_fine)
{
    assert_null(cor_reflector_free(NULL));
}
