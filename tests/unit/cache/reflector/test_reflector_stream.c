#include "script.h"

#include "cache/reflector/reflector_int.h"

/* The streamed initial list, after client-go's reflector_watchlist_test.go. */

static void init(struct script *s)
{
    script_init(s);
    s->opts.stream_initial = true;
    script_start(s);
}

/* Streamed a@1 at rv 7 and watching; outputs forgotten. */
static void to_watching(struct script *s)
{
    init(s);
    script_opened(s);
    script_event(s, COR_WATCH_ADDED, "a", 1);
    script_end_bookmark(s, 7);
    script_forget(s);
}

/* Contract client 1.16.1, 1.16.4. */
TEST(reflector_stream, the_state_is_replaced_at_the_end_bookmark_and_the_stream_goes_on)
{
    struct script s;

    init(&s);
    script_expect(&s, "S()");
    assert_uint_in_range(s.timeout_s, 300, 599);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_expect(&s, "");
    assert_str(cor_reflector_last_sync_rv(s.r), "");
    script_end_bookmark(&s, 7);
    script_expect(&s, "begin stage(a@1) commit(7)");
    assert_str(cor_reflector_last_sync_rv(s.r), "7");
    script_event(&s, COR_WATCH_ADDED, "b", 8);
    script_expect(&s, "add(b@8)");
    assert_int_equal(s.request, SCRIPT_STREAM);
    script_deinit(&s);
}

TEST(reflector_stream, an_empty_state_is_replaced_too)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_end_bookmark(&s, 7);
    script_expect(&s, "S() begin commit(7)");
    script_deinit(&s);
}

/* Contract client 1.16.3. */
TEST(reflector_stream, updates_and_deletes_during_streaming_are_honoured)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_event(&s, COR_WATCH_ADDED, "n/a", 2);
    script_event(&s, COR_WATCH_ADDED, "b", 3);
    script_event(&s, COR_WATCH_MODIFIED, "n/a", 4);
    script_event(&s, COR_WATCH_DELETED, "a", 5);
    script_event(&s, COR_WATCH_DELETED, "b", 6);
    script_end_bookmark(&s, 7);
    script_expect(&s, "S() begin stage(n/a@4) commit(7)");
    script_deinit(&s);
}

/* Contract client 1.16.2. */
TEST(reflector_stream, only_the_annotation_true_ends_it)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_event(&s, COR_WATCH_BOOKMARK, "", 5);
    script_event_json(&s, COR_WATCH_BOOKMARK,
                      "{\"metadata\":{\"annotations\":{\"k8s.io/initial-events-end\":\"false\"}}}",
                      6);
    script_expect(&s, "S()");
    assert_int_equal(cor_reflector_state(s.r), COR_REFLECTOR_STREAMING);
    script_deinit(&s);
}

/* Contract client 1.16.9. */
TEST(reflector_stream, a_server_without_it_is_listed_in_the_same_round)
{
    static const int errors[] = {-COR_EINVALID, -COR_EINVAL, -COR_EINTERNAL, -COR_ENOTSUP};

    for (size_t i = 0; i < COR_ARRAY_LEN(errors); i++) {
        struct script s;

        init(&s);
        script_ended(&s, errors[i]);
        script_expect(&s, "S() say(STREAM_FAILED) L(0,500)");
        script_page(&s, "a@1", "10", "");
        script_expect(&s, "begin stage(a@1) commit(10) W(10)");
        script_opened(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_forget(&s);
        script_tick(&s);
        script_expect(&s, "S(10)"); /* the fall-back is not for ever */
        script_deinit(&s);
    }
}

/* Contract client 1.16.9. */
TEST(reflector_stream, any_other_error_within_the_stream_falls_back_too)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_error_event(&s, -COR_EINTERNAL);
    script_expect(&s, "S() say(STREAM_FAILED) cancel L(0,500)");
    script_deinit(&s);
}

/* Contract client 1.16.9. */
TEST(reflector_stream, a_very_short_stream_falls_back)
{
    struct script s;

    init(&s);
    script_opened(&s);
    s.now += 999;
    script_ended(&s, 0);
    script_expect(&s, "S() say(STREAM_FAILED) L(0,500)");
    script_deinit(&s);
}

/* Contract client 1.16.7. */
TEST(reflector_stream, retries_429_and_refused_connections_with_backoff)
{
    struct script s;

    init(&s);
    script_ended(&s, -COR_EBUSY);
    script_expect(&s, "S() say(STREAM_RETRY)");
    assert_uint_in_range(script_tick(&s), 800, 1599);
    script_expect(&s, "S()");
    script_ended(&s, -COR_EUNREACHABLE);
    assert_uint_in_range(script_tick(&s), 1600, 3199);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_error_event(&s, -COR_EBUSY);
    script_expect(&s, "say(STREAM_RETRY) S() say(STREAM_RETRY) cancel");
    assert_uint_in_range(script_tick(&s), 3200, 6399);
    script_opened(&s);
    script_end_bookmark(&s, 7);
    script_expect(&s, "S() begin commit(7)");
    script_deinit(&s);
}

/* Contract client 1.16.6. */
TEST(reflector_stream, stopping_a_watcher_before_sync_starts_from_scratch)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_ended(&s, 0);
    script_expect(&s, "S() S()");
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "b", 2);
    script_end_bookmark(&s, 7);
    script_expect(&s, "begin stage(b@2) commit(7)");
    script_deinit(&s);
}

TEST(reflector_stream, streams_that_keep_ending_too_soon_are_asked_for_with_backoff)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_ended(&s, 0);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_ended(&s, 0);
    script_expect(&s, "S() S()");
    assert_uint_in_range(script_tick(&s), 800, 1599);
    script_expect(&s, "S()");
    script_deinit(&s);
}

TEST(reflector_stream, each_round_may_start_from_scratch_at_once)
{
    struct script s;

    init(&s);
    for (int i = 0; i < 2; i++) {
        script_opened(&s);
        script_event(&s, COR_WATCH_ADDED, "a", 1);
        script_ended(&s, 0);
        assert_int_equal(s.request, SCRIPT_STREAM);
        script_opened(&s);
        script_end_bookmark(&s, 7);
        script_error_event(&s, -COR_EEXPIRED);
        script_tick(&s);
    }
    script_deinit(&s);
}

/* Contract client 1.16.15. */
TEST(reflector_stream, after_sync_an_ended_stream_is_an_ordinary_watch)
{
    struct script s;

    to_watching(&s);
    s.now += 1000;
    script_ended(&s, 0);
    script_expect(&s, "W(7)");
    script_ended(&s, -COR_EEXPIRED);
    script_expect(&s, "end(EEXPIRED)");
    script_tick(&s);
    script_expect(&s, "S(7)");
    script_deinit(&s);
}

TEST(reflector_stream, the_watchs_clock_and_count_start_anew_at_the_bookmark)
{
    struct script s;

    to_watching(&s);
    s.now += 999;
    script_ended(&s, 0);
    script_expect(&s, "say(WATCH_FAILED) end()");
    script_deinit(&s);
}

TEST(reflector_stream, resync_starts_at_the_bookmark)
{
    struct script s;

    script_init(&s);
    s.opts.stream_initial = true;
    s.opts.resync_ms = 5000;
    script_start(&s);
    script_opened(&s);
    s.now += 3000;
    script_end_bookmark(&s, 7);
    script_forget(&s);
    assert_int_equal(script_tick(&s), 5000);
    script_expect(&s, "resync");
    script_deinit(&s);
}

/* Contract client 1.16.8. */
TEST(reflector_stream, an_expired_or_too_large_rv_is_asked_for_again_without_one_at_once)
{
    static const int errors[] = {-COR_EEXPIRED, -COR_EFUTURE};

    for (size_t i = 0; i < COR_ARRAY_LEN(errors); i++) {
        struct script s;

        to_watching(&s);
        script_error_event(&s, -COR_EEXPIRED);
        script_tick(&s);
        script_forget(&s);
        script_ended(&s, errors[i]);
        script_expect(&s, "S()");
        script_opened(&s);
        script_end_bookmark(&s, 20);
        script_expect(&s, "begin commit(20)");
        script_error_event(&s, -COR_EEXPIRED);
        script_forget(&s);
        script_tick(&s);
        script_expect(&s, "S(20)"); /* success took the mark away */
        script_deinit(&s);
    }
}

TEST(reflector_stream, a_stream_that_expires_without_a_revision_falls_back)
{
    struct script s;

    init(&s);
    script_ended(&s, -COR_EEXPIRED);
    script_expect(&s, "S() S()");
    script_ended(&s, -COR_EEXPIRED);
    script_expect(&s, "say(STREAM_FAILED) L(,500)");
    script_deinit(&s);
}

TEST(reflector_stream, a_refused_replace_cancels_the_stream_and_falls_back)
{
    static const char *const ops[] = {"begin", "stage", "commit"};
    static const char *const logs[] = {
        "S() begin say(STREAM_FAILED) cancel L(0,500)",
        "S() begin stage(a@1) abort say(STREAM_FAILED) cancel L(0,500)",
        "S() begin stage(a@1) commit(7) say(STREAM_FAILED) cancel L(0,500)",
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(ops); i++) {
        struct script s;

        init(&s);
        script_opened(&s);
        script_event(&s, COR_WATCH_ADDED, "a", 1);
        s.fail_op = ops[i];
        s.fail_err = -COR_EINVALID;
        script_end_bookmark(&s, 7);
        script_expect(&s, logs[i]);
        s.fail_op = NULL;
        script_page(&s, "a@1", "8", "");
        script_expect(&s, "begin stage(a@1) commit(8) W(8)");
        script_deinit(&s);
    }
}

TEST(reflector_stream, more_objects_than_the_maximum_fall_back)
{
    struct script s;

    script_init(&s);
    s.opts.stream_initial = true;
    s.opts.objects_max = 1;
    script_start(&s);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    script_event(&s, COR_WATCH_ADDED, "b", 2);
    script_expect(&s, "S() say(STREAM_FAILED) cancel L(0,500)");
    script_deinit(&s);
}

TEST(reflector_stream, events_of_other_types_are_skipped)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_event_json(&s, COR_WATCH_ADDED,
                      "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{}}", 1);
    script_event_json(&s, COR_WATCH_ADDED,
                      "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1beta1\",\"metadata\":{}}",
                      1);
    script_event_json(
        &s, COR_WATCH_ADDED,
        "{\"kind\":\"Table\",\"apiVersion\":\"example.com/v1\",\"metadata\":{\"name\":\"t\"}}", 1);
    script_event(&s, COR_WATCH_UNKNOWN, "a", 2);
    script_end_bookmark(&s, 7);
    script_expect(&s, "S() say(UNEXPECTED_TYPE) say(UNEXPECTED_TYPE) say(UNKNOWN_EVENT) begin "
                      "stage(t@1) commit(7)");
    script_deinit(&s);
}

/* Contract client 1.16.11. */
TEST(reflector_stream, a_missing_bookmark_is_told_every_ten_silent_seconds)
{
    struct script s;

    init(&s);
    script_opened(&s);
    cor_reflector_tick(s.r, s.now); /* too early */
    script_expect(&s, "S()");
    assert_int_equal(script_tick(&s), 10000);
    script_expect(&s, "say(STREAM_LATE)");
    s.now += 1000;
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    assert_int_equal(script_tick(&s), 9000);
    script_expect(&s, "");
    assert_int_equal(script_tick(&s), 10000);
    script_expect(&s, "say(STREAM_LATE)");
    script_end_bookmark(&s, 7);
    script_expect(&s, "say(SLOW) begin stage(a@1) commit(7)");
    assert_true(s.wake_ms == COR_REFLECTOR_NEVER);
    script_deinit(&s);
}

/* Contract client 1.16.16. */
TEST(reflector_stream, one_of_more_than_ten_seconds_is_told)
{
    for (uint64_t over = 0; over <= 1; over++) {
        struct script s;

        init(&s);
        script_opened(&s);
        script_event(&s, COR_WATCH_ADDED, "a", 1);
        s.now += 10000 + over;
        script_end_bookmark(&s, 7);
        script_expect(&s, over ? "S() say(SLOW) begin stage(a@1) commit(7)"
                               : "S() begin stage(a@1) commit(7)");
        script_deinit(&s);
    }
}

TEST(reflector_stream, one_that_falls_silent_twice_is_left_to_a_list)
{
    struct script s;

    script_init(&s);
    s.opts.stream_initial = true;
    s.opts.watch_silence_ms = 7000;
    script_start(&s);
    assert_int_equal(script_tick(&s), 7000); /* not even opened */
    script_expect(&s, "S() say(WATCH_SILENT) cancel S()");
    script_opened(&s);
    s.now += 1000;
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    assert_int_equal(script_tick(&s), 7000);
    script_expect(&s, "say(WATCH_SILENT) say(STREAM_FAILED) cancel L(0,500)");
    script_deinit(&s);
}

/* Contract client 1.16.5, 1.16.10. */
TEST(reflector_stream, stop_during_streaming_leaves_the_store_alone)
{
    struct script s;

    init(&s);
    script_opened(&s);
    script_event(&s, COR_WATCH_ADDED, "a", 1);
    assert_int_equal(cor_object_set_len(&s.r->stream.set), 1);
    cor_reflector_stop(s.r, s.now);
    script_expect(&s, "S() cancel");
    /* One that has stopped may be kept for long: it holds no object. */
    assert_int_equal(cor_object_set_len(&s.r->stream.set), 0);
    script_deinit(&s);

    init(&s);
    script_ended(&s, -COR_EBUSY);
    cor_reflector_stop(s.r, s.now);
    script_expect(&s, "S() say(STREAM_RETRY)");
    script_deinit(&s);
}

TEST(reflector_stream, stop_from_inside_its_callbacks)
{
    static const char *const ops[] = {"watch", "begin", "stage", "commit", "say", "wake_at"};

    for (size_t i = 0; i < COR_ARRAY_LEN(ops); i++) {
        struct script s;

        script_init(&s);
        s.opts.stream_initial = true;
        s.stop_op = ops[i];
        script_start(&s);
        if (s.request == SCRIPT_STREAM)
            script_opened(&s);
        if (s.request == SCRIPT_STREAM)
            script_event(&s, COR_WATCH_ADDED, "a", 1);
        if (s.request == SCRIPT_STREAM)
            script_event(&s, COR_WATCH_UNKNOWN, "a", 1);
        if (s.request == SCRIPT_STREAM)
            script_end_bookmark(&s, 7);
        assert_int_equal(cor_reflector_state(s.r), COR_REFLECTOR_STOPPED);
        script_deinit(&s);
    }
}
