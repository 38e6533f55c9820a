/* Attempts, retries and what they wait for. Contract client 4.9. */
#include "rest_fixture.h"

#include "kit/rest/rest_int.h"

static const char busy[] = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
                           "\"TooManyRequests\",\"code\":429,\"message\":\"later\",\"details\":{"
                           "\"retryAfterSeconds\":1}}";

/* Contract client 4.9.3. */
TEST(rest_attempt, an_answer_with_retry_after_is_tried_again_with_any_verb)
{
    static const struct answer script[] = {
        {.status = 429, .body = busy, .header = "Retry-After", .value = "0"},
        {.status = 503, .body = "x", .header = "Retry-After", .value = "0"},
        {.status = 500, .body = "x", .header = "Retry-After", .value = "0"},
        {.status = 201, .body = "{}"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w,
             (struct cor_rest_request_opts){
                 .method = COR_STR("POST"), .target = COR_STR("/x"), .body = COR_STR("B")},
             &h);
    assert_int_equal(h.code, 201);
    assert_int_equal(h.err, 0);
    assert_int_equal(w.nasked, 4);
    assert_str(cor_buf_str(&w.bodies), "BBBB");
    heard_deinit(&h);
    world_end(&w);
}

/* The first attempt did nothing; of the second nobody knows. */
TEST(rest_attempt, a_write_that_broke_after_a_retry_is_not_tried_again)
{
    static const struct answer script[] = {
        {.status = 503, .body = "x", .header = "Retry-After", .value = "0"},
        {.move = CUT},
        {.body = "{}"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w, (struct cor_rest_request_opts){.method = COR_STR("POST"), .target = COR_STR("/x")},
             &h);
    assert_int_equal(h.err, -COR_EBROKEN);
    assert_int_equal(w.nasked, 2);
    heard_deinit(&h);
    world_end(&w);
}

static void count_warning(void *arg, struct cor_str text)
{
    ++*(int *)arg;
}

TEST(rest_attempt, only_the_last_attempt_warns)
{
    static const struct answer script[] = {
        {.status = 503,
         .body = "x",
         .header = "Retry-After",
         .value = "0",
         .more_header = "Warning",
         .more_value = "299 - \"early\""},
        {.body = "{}", .header = "Warning", .value = "299 - \"late\""}};
    int nwarnings = 0;
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w,
                  &(struct cor_rest_client_opts){.on_warning = count_warning, .arg = &nwarnings});
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    assert_int_equal(nwarnings, 1);
    heard_deinit(&h);
    world_end(&w);
}

static void note_retry(void *arg, struct cor_str method, struct cor_str target, const char *why,
                       uint64_t wait_ms)
{
    snprintf(arg, 128, "%.*s %.*s, %s, %llu", COR_STR_ARG(method), COR_STR_ARG(target), why,
             (unsigned long long)wait_ms);
}

TEST(rest_attempt, a_repeated_attempt_is_told_of_and_counted)
{
    static const struct answer script[] = {
        {.status = 429, .body = busy, .header = "Retry-After", .value = "0"}, {.body = "{}"}};
    const struct cor_rest_metrics *metrics;
    char told[128] = "";
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.on_retry = note_retry, .arg = told});
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    assert_string_equal(told, "GET /x, the server answered 429, 0");
    metrics = cor_rest_client_metrics(w.rc);
    assert_int_equal(metrics->nanswers, 2);
    assert_int_equal(metrics->answers[0].code, 429);
    assert_int_equal(metrics->answers[0].retries, 1);
    assert_int_equal(metrics->answers[1].code, 200);
    assert_int_equal(metrics->answers[1].retries, 0);
    heard_deinit(&h);
    world_end(&w);
}

/* As client-go's, which sleeps for it. */
TEST(rest_attempt, a_negative_retry_after_is_no_wait)
{
    static const struct answer script[] = {
        {.status = 429, .body = busy, .header = "Retry-After", .value = "-3"}, {.body = "{}"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    assert_int_equal(w.nasked, 2);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.6: the answer is read to its end before the next attempt. */
TEST(rest_attempt, retries_stay_on_their_connection)
{
    char large[3 * 1024];
    const struct answer script[] = {
        {.status = 503, .body = large, .header = "Retry-After", .value = "0"},
        {.status = 503, .body = large, .header = "Retry-After", .value = "0"},
        {.body = "{}"}};
    struct cor_http_server_stats stats;
    struct world w;
    struct heard h;

    memset(large, 'x', sizeof(large) - 1);
    large[sizeof(large) - 1] = '\0';
    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    assert_int_equal(w.nasked, 3);
    cor_http_server_stats(w.server, &stats);
    assert_int_equal(stats.accepted, 1);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.5, 4.9.9: turn, call, decision; and from the turn again. The second is 1,000
 * s away.
 */
TEST(rest_attempt, a_retry_needs_another_turn)
{
    static const struct answer script[] = {
        {.status = 503, .body = "x", .header = "Retry-After", .value = "0"}, {.body = "{}"}};
    static const enum cor_rest_kind kinds[] = {COR_REST_WHOLE, COR_REST_STREAM};
    struct world w;
    struct heard h;

    for (size_t i = 0; i < COR_ARRAY_LEN(kinds); i++) {
        world_begin(&w, NULL);
        world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001, .burst = 1});
        WORLD_SCRIPT(&w, script);
        ask_with(&w,
                 (struct cor_rest_request_opts){
                     .kind = kinds[i], .target = COR_STR("/x"), .deadline_ms = 100000},
                 &h);
        assert_int_equal(h.err, -COR_ETIMEOUT);
        assert_non_null(strstr(cor_status_message(&h.error), "client rate limiter Wait returned"));
        assert_int_equal(w.nasked, 1);
        heard_deinit(&h);
        world_end(&w);
    }
}

static bool is_delayed(void *arg)
{
    return ((struct cor_rest_request *)arg)->state == COR_REST_DELAYED;
}

/* The first is 384 ms when its milliseconds overflow. */
TEST(rest_attempt, an_endless_retry_after_is_not_a_short_one)
{
    static const struct answer script[] = {
        {.status = 503, .body = "x", .header = "Retry-After", .value = "18446744073709552"},
        {.status = 503, .body = "x", .header = "Retry-After", .value = "9223372036854775807"}};
    struct world w;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    for (size_t i = 0; i < 2; i++) {
        struct heard h;
        struct cor_rest_request *req;
        const struct cor_rest_request_opts opts = {
            .target = COR_STR("/x"), .cbs = &heard_cbs, .arg = &h};

        heard_init(&h);
        assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
        world_until(&w, is_delayed, req);
        assert_true(req->timer.due.at > cor_loop_now_ms(w.loop) + UINT64_C(86400000));
        cor_rest_request_cancel(req);
        heard_deinit(&h);
    }
    world_end(&w);
}

/* After so many questions the request waits so long. */
struct step {
    size_t nasked;
    uint64_t wait_ms;
};

struct backing_off {
    struct world *w;
    struct cor_rest_request *req;
    size_t nasked;
};

static bool is_backing_off(void *arg)
{
    const struct backing_off *b = arg;

    return b->w->nasked == b->nasked && b->req->state == COR_REST_DELAYED;
}

/* Waits are not waited for. */
static void expect_steps(const struct answer *script, size_t nscript, const struct step *steps,
                         size_t n)
{
    struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &heard_cbs};
    struct backing_off b;
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = -1});
    world_script(&w, script, nscript);
    heard_init(&h);
    opts.arg = &h;
    b = (struct backing_off){.w = &w};
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &b.req), 0);
    for (size_t i = 0; i < n; i++) {
        uint64_t before = cor_loop_now_ms(w.loop);

        if (i > 0)
            cor_timer_set(&b.req->timer, 0);
        b.nasked = steps[i].nasked;
        world_until(&w, is_backing_off, &b);
        assert_uint_in_range(b.req->timer.due.at, before + steps[i].wait_ms,
                             cor_loop_now_ms(w.loop) + steps[i].wait_ms);
    }
    cor_rest_request_cancel(b.req);
    heard_deinit(&h);
    world_end(&w);
}

#define LATER(seconds)                                                                             \
    {                                                                                              \
        .status = 503, .body = "x", .header = "Retry-After", .value = seconds                      \
    }

/* Contract client 4.9.5, 4.9.7: it doubles up to its maximum, what the server asks for may be
 * longer, and an attempt that broke begins it anew (which needs two cuts: a reused connection that
 * breaks is replaced first). */
TEST(rest_attempt, the_environment_may_turn_a_backoff_on)
{
    static const struct answer script[] = {
        LATER("0"), LATER("0"), LATER("0"), LATER("900"), {.move = CUT}, {.move = CUT}, LATER("0"),
    };
    static const struct answer in_a_second[] = {LATER("1")};
    static const struct step doubles[] = {{1, 100000}, {2, 200000}, {3, 250000},
                                          {4, 900000}, {6, 1000},   {7, 100000}};
    static const struct step stays[] = {{1, 100000}, {2, 100000}};
    static const struct step none[] = {{1, 1000}};

    setenv("KUBE_CLIENT_BACKOFF_BASE", "100", 1);
    setenv("KUBE_CLIENT_BACKOFF_DURATION", "250", 1);
    expect_steps(script, COR_ARRAY_LEN(script), doubles, COR_ARRAY_LEN(doubles));
    setenv("KUBE_CLIENT_BACKOFF_DURATION", "0", 1);
    expect_steps(script, COR_ARRAY_LEN(script), stays, COR_ARRAY_LEN(stays));
    setenv("KUBE_CLIENT_BACKOFF_DURATION", "4m", 1);
    expect_steps(in_a_second, 1, none, COR_ARRAY_LEN(none));
    unsetenv("KUBE_CLIENT_BACKOFF_BASE");
    unsetenv("KUBE_CLIENT_BACKOFF_DURATION");
}

/* Contract client 4.9.3 and sequence 53. */
TEST(rest_attempt, no_number_of_seconds_means_no_other_attempt)
{
    static const struct answer script[] = {
        {.status = 429, .body = busy},
        {.status = 429, .body = busy, .header = "Retry-After", .value = "soon"},
        {.status = 404, .body = "x", .header = "Retry-After", .value = "0"}};
    static const int errs[] = {-COR_EBUSY, -COR_EBUSY, -COR_ENOTFOUND};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    for (size_t i = 0; i < COR_ARRAY_LEN(script); i++) {
        ask(&w, "/x", &h);
        assert_int_equal(h.err, errs[i]);
        assert_int_equal(w.nasked, i + 1);
        heard_deinit(&h);
    }
    world_end(&w);
}

/* `n` refusals that ask to be asked again. */
static void refuse_times(struct answer *script, size_t n, int status)
{
    for (size_t i = 0; i < n; i++)
        script[i] =
            (struct answer){.status = status, .body = busy, .header = "Retry-After", .value = "0"};
}

/* Contract client 4.9.3. */
TEST(rest_attempt, ends_after_ten_retries_with_the_last_answer)
{
    struct answer script[11];
    struct world w;
    struct heard h;

    refuse_times(script, 11, 429);
    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = -1});
    WORLD_SCRIPT(&w, script);
    ask(&w, "/x", &h);
    assert_int_equal(w.nasked, 11);
    assert_int_equal(h.err, -COR_EBUSY);
    assert_int_equal(h.code, 429);
    assert_int_equal(h.error.retry_after_s, 1);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract, sequence 53. */
TEST(rest_attempt, succeeds_at_the_eleventh_attempt_with_any_verb)
{
    static const char *const verbs[] = {"GET", "POST"};
    struct answer script[22];
    struct world w;
    struct heard h;

    refuse_times(script, 22, 503);
    script[10] = script[21] = (struct answer){.body = "{}"};
    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = -1});
    WORLD_SCRIPT(&w, script);
    for (size_t i = 0; i < COR_ARRAY_LEN(verbs); i++) {
        ask_with(
            &w,
            (struct cor_rest_request_opts){.method = cor_strz(verbs[i]), .target = COR_STR("/x")},
            &h);
        assert_int_equal(h.err, 0);
        assert_int_equal(h.code, 200);
        assert_int_equal(w.nasked, 11 * (i + 1));
        heard_deinit(&h);
    }
    world_end(&w);
}

/* Contract client 4.9.4 and sequence 54. */
TEST(rest_attempt, a_read_that_broke_is_tried_again_after_a_second)
{
    static const struct answer script[] = {{.move = CUT}, {.body = "{}"}};
    struct world w;
    struct heard h;
    uint64_t began;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    began = cor_loop_now_ms(w.loop);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, 0);
    assert_int_equal(w.nasked, 2);
    assert_true(cor_loop_now_ms(w.loop) - began >= 1000);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.4 and sequence 54. */
TEST(rest_attempt, a_write_that_broke_is_not)
{
    static const struct answer script[] = {{.move = CUT}, {.body = "{}"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w, (struct cor_rest_request_opts){.method = COR_STR("POST"), .target = COR_STR("/x")},
             &h);
    assert_int_equal(h.err, -COR_EBROKEN);
    assert_int_equal(w.nasked, 1);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.4. */
TEST(rest_attempt, a_refused_connection_is_told_at_once)
{
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    w.config.server = (char *)"http://127.0.0.1:1";
    world_connect(&w, NULL);
    ask(&w, "/x", &h);
    assert_int_equal(h.err, -COR_EUNREACHABLE);
    assert_non_null(strstr(cor_status_message(&h.error), "Get \"http://127.0.0.1:1/x\": "));
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.5. */
TEST(rest_attempt, a_deadline_ends_the_wait_for_another_attempt)
{
    static const struct answer script[] = {
        {.status = 503, .body = "x", .header = "Retry-After", .value = "3600"}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .deadline_ms = 300}, &h);
    assert_int_equal(h.err, -COR_ETIMEOUT);
    assert_non_null(strstr(cor_status_message(&h.error), "the server answered 503"));
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.5. */
TEST(rest_attempt, the_last_failure_tells_of_the_one_before)
{
    static const struct answer script[] = {{.move = CUT}, {.move = HOLD}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, NULL);
    WORLD_SCRIPT(&w, script);
    ask_with(&w, (struct cor_rest_request_opts){.target = COR_STR("/x"), .deadline_ms = 2500}, &h);
    assert_int_equal(h.err, -COR_ETIMEOUT);
    assert_non_null(strstr(cor_status_message(&h.error), " - error from a previous attempt: "));
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.8. */
TEST(rest_attempt, a_watch_that_never_opens_ends_empty)
{
    static const struct answer script[] = {{.move = CUT}, {.move = CUT}};
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.retries_max = 1});
    WORLD_SCRIPT(&w, script);
    ask_with(&w, (struct cor_rest_request_opts){.kind = COR_REST_WATCH, .target = COR_STR("/x")},
             &h);
    assert_int_equal(w.nasked, 2);
    assert_int_equal(h.err, 0);
    assert_int_equal(h.code, 0);
    assert_int_equal(h.head, 0);
    heard_deinit(&h);
    world_end(&w);
}

/* Contract client 4.9.5. */
TEST(rest_attempt, a_cancel_ends_every_wait)
{
    static const struct answer script[] = {
        {.status = 429, .body = busy, .header = "Retry-After", .value = "3600"}};
    struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &heard_cbs};
    struct cor_rest_request *delayed, *throttled;
    struct world w;
    struct heard h;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001, .burst = 1});
    WORLD_SCRIPT(&w, script);
    heard_init(&h);
    opts.arg = &h;
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &delayed), 0);
    while (w.nasked == 0)
        cor_loop_run_until(w.loop, is_flag, &h.is_done, 10);
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &throttled), 0);
    cor_rest_request_cancel(delayed);
    cor_rest_request_cancel(throttled);
    assert_false(h.is_done);
    heard_deinit(&h);
    world_end(&w);
}

TEST(rest_attempt, closing_ends_every_wait)
{
    struct cor_rest_request_opts opts = {.target = COR_STR("/x"), .cbs = &heard_cbs};
    struct cor_rest_request *req;
    struct world w;
    struct heard a, b;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = 0.001, .burst = 1});
    heard_init(&a);
    heard_init(&b);
    opts.arg = &a;
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    opts.arg = &b;
    assert_int_equal(cor_rest_request_open(w.rc, &opts, &req), 0);
    cor_rest_client_close(w.rc, set_flag, &w.rest_closed);
    world_until(&w, is_flag, &w.rest_closed);
    assert_int_equal(a.err, -COR_ECANCELED);
    assert_int_equal(b.err, -COR_ECANCELED);
    w.rc = NULL;
    heard_deinit(&a);
    heard_deinit(&b);
    world_end(&w);
}

TEST(rest_attempt, survives_every_failed_allocation_of_a_retry)
{
    static const struct answer script[] = {
        {.status = 429, .body = busy, .header = "Retry-After", .value = "0"},
        {.status = 404, .body = "no", .content_type = "text/plain"}};
    struct world w;

    world_begin(&w, NULL);
    world_connect(&w, &(struct cor_rest_client_opts){.qps = -1});
    FOR_EACH_FAILED_ALLOC(n) {
        struct heard h;
        struct cor_rest_request_opts opts = {
            .target = COR_STR("/x"), .cbs = &heard_cbs, .arg = &h, .deadline_ms = PATIENCE_MS};
        struct cor_rest_request *req;
        int r;

        world_arm(&w, n);
        WORLD_SCRIPT(&w, script);
        heard_init(&h);
        r = cor_rest_request_open(w.rc, &opts, &req);
        if (r == 0)
            world_until(&w, is_flag, &h.is_done);
        assert_true((r == 0 && h.err == -COR_ENOTFOUND) || test_alloc_failed());
        if (r == 0 && h.err == -COR_ENOTFOUND)
            assert_int_equal(h.code, 404);
        heard_deinit(&h);
    }
    world_end(&w);
}
