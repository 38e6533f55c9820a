/* Contract client 4.3.1 to 4.3.8, 4.4.1 to 4.4.3. */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/err.h"
#include "kit/events/event_recorder.h"
#include "kit/events/event_series.h"
#include "test.h"

struct fake {
    struct cor_event_recorder *rec;
    struct cor_clock_manual clk;
    char sent[64 * 1024]; /* "POST ns body\n", "PATCH ns/name body\n" */
    int sends, given_up, why;
    uint64_t wake_ms;
};

static void on_send(void *arg, const struct cor_event_request *q)
{
    struct fake *f = arg;
    size_t n = strlen(f->sent);

    f->sends++;
    snprintf(f->sent + n, sizeof(f->sent) - n, "%s%s %.*s%s%.*s %.*s\n",
             q->is_patch ? "PATCH" : "POST", q->is_series ? " series" : "", COR_STR_ARG(q->ns),
             q->is_patch ? "/" : "", q->is_patch ? (int)q->name.n : 0, q->name.p,
             COR_STR_ARG(q->body));
}

static void on_wake_at(void *arg, uint64_t at_ms)
{
    ((struct fake *)arg)->wake_ms = at_ms;
}

static void on_given_up(void *arg, const struct cor_event *event, int r)
{
    struct fake *f = arg;

    f->given_up++;
    f->why = r;
}

static void begin_of(struct fake *f, bool series)
{
    struct cor_event_recorder_opts opts = {.component = COR_STR("sample"),
                                           .host = COR_STR("n1"),
                                           .series = series,
                                           .instance = COR_STR("sample-n1"),
                                           .send = on_send,
                                           .wake_at = on_wake_at,
                                           .on_given_up = on_given_up,
                                           .arg = f};

    *f = (struct fake){0};
    cor_clock_manual_init(&f->clk, 1000, 1700000000000);
    opts.clock = &f->clk.clock;
    assert_int_equal(cor_event_recorder_new(&opts, &f->rec), 0);
}

static void begin(struct fake *f)
{
    begin_of(f, false);
}

static struct cor_object *parse(const char *json)
{
    COR_CLEANUP(cor_status_deinit) struct cor_status status = {0};
    struct cor_object *o;

    assert_int_equal(cor_object_parse(cor_strz(json), NULL, NULL, NULL, &o, &status), 0);
    return o;
}

static struct cor_object *pod(const char *name)
{
    char json[200];

    snprintf(json, sizeof(json),
             "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"default\",\"uid\":\"u1\"}}",
             name);
    return parse(json);
}

__attribute__((format(printf, 5, 6))) static int tell(struct cor_event_recorder *rec,
                                                      const struct cor_object *about,
                                                      enum cor_event_type type, const char *reason,
                                                      const char *fmt, ...)
{
    char message[100];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    return cor_event_record(
        rec, &(struct cor_event_told){
                 .about = about, .type = type, .reason = reason, .message = message});
}

static void record(struct fake *f, const char *name, const char *message)
{
    struct cor_object *o = pod(name);

    assert_int_equal(tell(f->rec, o, COR_EVENT_NORMAL, "Synced", "%s", message), 0);
    cor_object_unref(o);
    cor_event_recorder_step(f->rec);
}

/* Contract client 4.3.1, 4.3.2. */
TEST(event_recorder, creates_an_event_about_an_object)
{
    struct fake f;

    begin(&f);
    record(&f, "web", "made 3 of 3");
    assert_string_equal(
        f.sent,
        "POST default {\"kind\":\"Event\",\"apiVersion\":\"v1\",\"count\":1,"
        "\"firstTimestamp\":\"2023-11-14T22:13:20Z\",\"involvedObject\":{\"apiVersion\":\"v1\","
        "\"kind\":\"Pod\",\"name\":\"web\",\"namespace\":\"default\",\"uid\":\"u1\"},"
        "\"lastTimestamp\":\"2023-11-14T22:13:20Z\",\"message\":\"made 3 of 3\",\"metadata\":{"
        "\"name\":\"web.17979cfe362a0000\",\"namespace\":\"default\"},\"reason\":\"Synced\","
        "\"reportingComponent\":\"sample\",\"reportingInstance\":\"n1\",\"source\":{"
        "\"component\":\"sample\",\"host\":\"n1\"},\"type\":\"Normal\"}\n");
    cor_event_recorder_answered(f.rec, 0, false);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.3.8. */
TEST(event_recorder, patches_the_count_of_an_equal_one)
{
    struct fake f;

    begin(&f);
    record(&f, "web", "hello");
    cor_event_recorder_answered(f.rec, 0, false);
    f.sent[0] = '\0';
    cor_clock_manual_advance(&f.clk, 1000);
    record(&f, "web", "hello");
    assert_string_equal(f.sent, "PATCH default/web.17979cfe362a0000 {\"count\":2,\"lastTimestamp\":"
                                "\"2023-11-14T22:13:21Z\",\"message\":\"hello\"}\n");
    /* The server has let it expire. */
    cor_event_recorder_answered(f.rec, -COR_ENOTFOUND, true);
    assert_non_null(strstr(f.sent, "POST default {"));
    assert_non_null(strstr(f.sent, "\"count\":2,\"firstTimestamp\":\"2023-11-14T22:13:20Z\""));
    cor_event_recorder_answered(f.rec, 0, false);
    assert_int_equal(f.given_up, 0);
    cor_event_recorder_free(f.rec);
}

/* Its namespace is gone, or is going. */
TEST(event_recorder, a_new_event_that_is_not_found_is_given_up)
{
    struct fake f;

    begin(&f);
    record(&f, "web", "hello");
    cor_event_recorder_answered(f.rec, -COR_ENOTFOUND, true);
    assert_int_equal(f.sends, 1);
    assert_int_equal(f.given_up, 1);
    assert_int_equal(f.why, -COR_ENOTFOUND);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.3.6. */
TEST(event_recorder, sends_one_at_a_time_in_order)
{
    for (int series = 0; series < 2; series++) {
        struct fake f;

        begin_of(&f, series);
        record(&f, "a", "one");
        record(&f, "b", "two");
        assert_int_equal(f.sends, 1);
        cor_event_recorder_answered(f.rec, 0, false);
        assert_int_equal(f.sends, 2);
        assert_true(strstr(f.sent, "one") < strstr(f.sent, "two"));
        cor_event_recorder_answered(f.rec, 0, false);
        cor_event_recorder_free(f.rec);
    }
}

/* Contract client 4.3.6. */
TEST(event_recorder, tries_a_lost_server_twelve_times)
{
    struct fake f;

    begin(&f);
    record(&f, "a", "one");
    for (int i = 1; i < 12; i++) {
        uint64_t now = cor_clock_mono_ms(&f.clk.clock);

        cor_event_recorder_answered(f.rec, -COR_EUNREACHABLE, false);
        cor_event_recorder_step(f.rec);
        assert_int_equal(f.sends, i);
        if (i == 1)
            assert_true(f.wake_ms - now < 10000);
        else
            assert_int_equal(f.wake_ms - now, 10000);
        /* A timer that is early is set again. */
        if (f.wake_ms > now) {
            uint64_t at = f.wake_ms;

            cor_clock_manual_advance(&f.clk, at - now - 1);
            f.wake_ms = 0;
            cor_event_recorder_step(f.rec);
            assert_int_equal(f.sends, i);
            assert_int_equal(f.wake_ms, at);
            cor_clock_manual_advance(&f.clk, 1);
        }
        cor_event_recorder_step(f.rec);
        assert_int_equal(f.sends, i + 1);
    }
    cor_event_recorder_answered(f.rec, -COR_EUNREACHABLE, false);
    assert_int_equal(f.given_up, 1);
    assert_int_equal(f.why, -COR_EUNREACHABLE);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.3.7. */
TEST(event_recorder, gives_up_what_a_server_refuses)
{
    struct fake f;

    begin(&f);
    record(&f, "a", "one");
    cor_event_recorder_answered(f.rec, -COR_EFORBIDDEN, true);
    assert_int_equal(f.given_up, 1);
    assert_int_equal(f.why, -COR_EFORBIDDEN);
    record(&f, "a", "two");
    assert_int_equal(f.sends, 2);
    cor_event_recorder_answered(f.rec, 0, false);
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.3.2. */
TEST(event_recorder, an_object_without_a_namespace_is_told_of_in_default)
{
    struct cor_object *node = parse("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
                                    "\"name\":\"n1\"}}");
    struct cor_object *role = parse("{\"kind\":\"ClusterRole\",\"apiVersion\":\"v1\",\"metadata\":{"
                                    "\"name\":\"system:x\"}}");
    struct cor_object *nothing = parse("{\"metadata\":{\"name\":\"n1\"}}");
    struct fake f;

    begin(&f);
    assert_int_equal(tell(f.rec, nothing, COR_EVENT_NORMAL, "R", "m"), -COR_EINVAL);
    assert_int_equal(tell(f.rec, node, COR_EVENT_WARNING, "R", "m"), 0);
    cor_event_recorder_step(f.rec);
    assert_true(strncmp(f.sent, "POST default {", 14) == 0);
    assert_non_null(strstr(f.sent, "\"type\":\"Warning\""));
    cor_event_recorder_answered(f.rec, 0, false);
    assert_int_equal(tell(f.rec, role, COR_EVENT_NORMAL, "R", "m"), 0);
    cor_event_recorder_step(f.rec);
    assert_null(strstr(f.sent, "\"name\":\"system:x."));
    cor_event_recorder_answered(f.rec, 0, false);
    cor_object_unref(node);
    cor_object_unref(role);
    cor_object_unref(nothing);
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.3.4: client-go's TestMultiSinkCache. */
TEST(event_recorder, counts_by_itself_what_another_has_counted_too)
{
    struct fake f[2];

    for (int i = 0; i < 2; i++)
        begin(&f[i]);
    for (int n = 0; n < 2; n++) {
        for (int i = 0; i < 2; i++) {
            f[i].sent[0] = '\0';
            record(&f[i], "a", "one");
            assert_int_equal(strncmp(f[i].sent, n == 0 ? "POST " : "PATCH ", 5), 0);
            cor_event_recorder_answered(f[i].rec, 0, false);
        }
    }
    for (int i = 0; i < 2; i++)
        cor_event_recorder_free(f[i].rec);
}

/* Contract client 4.3.3 to 4.3.5. */
TEST(event_recorder, refuses_more_than_it_may_queue_and_all_after_shutdown)
{
    struct cor_object *o = pod("a");
    struct fake f;

    begin(&f);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(tell(f.rec, o, COR_EVENT_NORMAL, "R", "m%d", i), 0);
    assert_int_equal(tell(f.rec, o, COR_EVENT_NORMAL, "R", "m"), -COR_EBUSY);
    cor_event_recorder_shutdown(f.rec);
    assert_int_equal(tell(f.rec, o, COR_EVENT_NORMAL, "R", "m"), -COR_ECANCELED);
    cor_object_unref(o);
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.3.6. */
TEST(event_recorder, tries_once_after_shutdown)
{
    struct fake f;

    begin(&f);
    record(&f, "a", "one");
    record(&f, "b", "two");
    cor_event_recorder_answered(f.rec, -COR_EUNREACHABLE, false);
    cor_event_recorder_shutdown(f.rec);
    cor_event_recorder_step(f.rec);
    assert_int_equal(f.given_up, 1);
    assert_int_equal(f.sends, 2);
    cor_event_recorder_answered(f.rec, -COR_EUNREACHABLE, false);
    assert_int_equal(f.given_up, 2);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_event_recorder_free(f.rec);
}

static void *record_many(void *arg)
{
    struct cor_object *o = pod("a");

    for (int i = 0; i < 100; i++)
        tell(arg, o, COR_EVENT_NORMAL, "R", "m%d", i);
    cor_object_unref(o);
    return NULL;
}

TEST(event_recorder, takes_events_from_any_thread)
{
    pthread_t threads[4];
    struct fake f;

    begin(&f);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_many, f.rec), 0);
    for (int i = 0; i < 100; i++) {
        cor_event_recorder_step(f.rec);
        cor_event_recorder_answered(f.rec, 0, false);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    while (!cor_event_recorder_is_idle(f.rec)) {
        cor_event_recorder_step(f.rec);
        cor_event_recorder_answered(f.rec, 0, false);
    }
    cor_event_recorder_free(f.rec);
}

static void record_action(struct fake *f, const char *message, const struct cor_object *related)
{
    struct cor_object *o = pod("web");

    assert_int_equal(cor_event_record(f->rec, &(struct cor_event_told){.about = o,
                                                                       .related = related,
                                                                       .type = COR_EVENT_NORMAL,
                                                                       .reason = "Scheduled",
                                                                       .action = "Binding",
                                                                       .message = message}),
                     0);
    cor_object_unref(o);
    cor_event_recorder_step(f->rec);
}

/* Contract client 4.4.1, 4.4.3. */
TEST(event_recorder, tells_of_series_as_events_k8s_io)
{
    struct cor_object *node = parse("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
                                    "\"name\":\"n1\"}}");
    struct fake f;

    begin_of(&f, true);
    record_action(&f, "to n1", node);
    assert_string_equal(
        f.sent, "POST series default {\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\","
                "\"action\":\"Binding\",\"eventTime\":\"2023-11-14T22:13:20.000000Z\","
                "\"metadata\":{\"name\":\"web.17979cfe362a0000\",\"namespace\":\"default\"},"
                "\"note\":\"to n1\",\"reason\":\"Scheduled\",\"regarding\":{\"apiVersion\":"
                "\"v1\",\"kind\":\"Pod\",\"name\":\"web\",\"namespace\":\"default\",\"uid\":"
                "\"u1\"},\"related\":{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"name\":\"n1\"},"
                "\"reportingController\":\"sample\",\"reportingInstance\":\"sample-n1\","
                "\"type\":\"Normal\"}\n");
    cor_event_recorder_answered(f.rec, 0, false);
    f.sent[0] = '\0';
    cor_clock_manual_advance(&f.clk, 1500);
    record_action(&f, "again", node);
    assert_string_equal(f.sent,
                        "PATCH series default/web.17979cfe362a0000 {\"series\":{\"count\":2,"
                        "\"lastObservedTime\":\"2023-11-14T22:13:21.500000Z\"}}\n");
    cor_event_recorder_answered(f.rec, 0, false);
    record_action(&f, "again", node);
    assert_int_equal(f.sends, 2);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_object_unref(node);
    cor_event_recorder_free(f.rec);
}

/* A related object that nothing can refer to. */
TEST(event_recorder, leaves_out_what_has_no_name_and_takes_the_reason_for_the_action)
{
    struct cor_object *nothing = parse("{\"metadata\":{\"name\":\"n1\"}}");
    struct fake f;

    begin_of(&f, true);
    record_action(&f, "m", nothing);
    assert_null(strstr(f.sent, "\"related\""));
    cor_event_recorder_answered(f.rec, 0, false);
    record(&f, "other", "m");
    assert_non_null(strstr(f.sent, "\"action\":\"Synced\""));
    cor_event_recorder_answered(f.rec, 0, false);
    cor_object_unref(nothing);
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.4.2. */
TEST(event_recorder, writes_the_last_count_of_a_series_that_ended)
{
    struct fake f;

    begin_of(&f, true);
    for (int i = 0; i < 5; i++) {
        record_action(&f, "m", NULL);
        cor_event_recorder_answered(f.rec, 0, false);
    }
    assert_int_equal(f.sends, 2);
    f.sent[0] = '\0';
    assert_int_equal(f.wake_ms, 1000 + COR_EVENT_SERIES_FINISH_MS);
    cor_clock_manual_advance(&f.clk, COR_EVENT_SERIES_FINISH_MS + 1);
    cor_event_recorder_step(f.rec);
    assert_non_null(strstr(f.sent, "PATCH series default/web.17979cfe362a0000 {\"series\":{"
                                   "\"count\":5,"));
    /* The server has let it expire; then it cannot be reached, which waits for the next round. */
    cor_event_recorder_answered(f.rec, -COR_ENOTFOUND, true);
    assert_non_null(strstr(f.sent, "POST series default"));
    assert_non_null(strstr(f.sent, "\"series\":{\"count\":5,"));
    cor_event_recorder_answered(f.rec, -COR_EUNREACHABLE, false);
    assert_int_equal(f.sends, 4);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_clock_manual_advance(&f.clk, COR_EVENT_SERIES_FINISH_MS);
    cor_event_recorder_step(f.rec);
    assert_int_equal(f.sends, 5);
    cor_event_recorder_answered(f.rec, 0, false);
    assert_int_equal(f.given_up, 0);
    f.sent[0] = '\0';
    record_action(&f, "m", NULL);
    assert_true(strncmp(f.sent, "POST", 4) == 0);
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.4.2. */
TEST(event_recorder, tells_of_a_last_count_that_is_refused)
{
    struct fake f;

    begin_of(&f, true);
    for (int i = 0; i < 2; i++) {
        record_action(&f, "m", NULL);
        cor_event_recorder_answered(f.rec, 0, false);
    }
    cor_clock_manual_advance(&f.clk, COR_EVENT_SERIES_FINISH_MS + 1);
    cor_event_recorder_step(f.rec);
    assert_int_equal(f.sends, 3);
    cor_event_recorder_answered(f.rec, -COR_EFORBIDDEN, true);
    assert_int_equal(f.given_up, 1);
    assert_int_equal(f.why, -COR_EFORBIDDEN);
    cor_clock_manual_advance(&f.clk, COR_EVENT_SERIES_FINISH_MS + 1);
    cor_event_recorder_step(f.rec);
    assert_int_equal(f.sends, 3);
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.4.3. */
TEST(event_recorder, tries_a_series_twelve_times_and_draws_a_quarter_of_each_wait)
{
    struct fake f;

    begin_of(&f, true);
    record_action(&f, "m", NULL);
    for (int i = 1; i < 12; i++) {
        uint64_t now = cor_clock_mono_ms(&f.clk.clock);

        cor_event_recorder_answered(f.rec, -COR_EUNREACHABLE, false);
        assert_true(f.wake_ms - now >= 10000 && f.wake_ms - now <= 12500);
        cor_clock_manual_advance(&f.clk, f.wake_ms - now);
        cor_event_recorder_step(f.rec);
        assert_int_equal(f.sends, i + 1);
    }
    cor_event_recorder_answered(f.rec, -COR_EUNREACHABLE, false);
    assert_int_equal(f.given_up, 1);
    assert_int_equal(f.why, -COR_EUNREACHABLE);
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.4.3: it was made between the patch that did not find it and the create. */
TEST(event_recorder, patches_again_a_series_that_exists_after_all)
{
    struct fake f;

    begin_of(&f, true);
    record_action(&f, "m", NULL);
    cor_event_recorder_answered(f.rec, -COR_EEXIST, true);
    assert_int_equal(f.given_up, 1);
    record_action(&f, "m", NULL);
    cor_event_recorder_answered(f.rec, -COR_ENOTFOUND, true);
    cor_event_recorder_answered(f.rec, -COR_EEXIST, true);
    assert_int_equal(f.given_up, 1);
    assert_int_equal(f.sends, 3);
    f.sent[0] = '\0';
    cor_clock_manual_advance(&f.clk, 12500);
    cor_event_recorder_step(f.rec);
    assert_true(strncmp(f.sent, "PATCH series", 12) == 0);
    cor_event_recorder_answered(f.rec, 0, false);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_event_recorder_free(f.rec);
}

/* Contract client 4.4.3. */
TEST(event_recorder, falls_back_to_core_where_there_are_no_series)
{
    struct fake f;

    begin_of(&f, true);
    cor_event_recorder_fall_back(f.rec);
    record_action(&f, "to n1", NULL);
    assert_true(strncmp(f.sent, "POST default {\"kind\":\"Event\",\"apiVersion\":\"v1\"", 46) == 0);
    assert_null(strstr(f.sent, "Binding"));
    assert_non_null(strstr(f.sent, "\"reportingInstance\":\"n1\""));
    cor_event_recorder_answered(f.rec, 0, false);
    cor_event_recorder_free(f.rec);
}

/* What is counted is not waited for. */
TEST(event_recorder, writes_no_counts_after_shutdown)
{
    struct fake f;

    begin_of(&f, true);
    for (int i = 0; i < 3; i++) {
        record_action(&f, "m", NULL);
        cor_event_recorder_answered(f.rec, 0, false);
    }
    cor_event_recorder_shutdown(f.rec);
    cor_clock_manual_advance(&f.clk, COR_EVENT_SERIES_FINISH_MS + 1);
    cor_event_recorder_step(f.rec);
    assert_int_equal(f.sends, 2);
    assert_true(cor_event_recorder_is_idle(f.rec));
    cor_event_recorder_free(f.rec);
}

static void lack_memory(bool series)
{
    struct cor_object *o = pod("a");

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_event_recorder_opts opts = {.component = COR_STR("sample"),
                                               .series = series,
                                               .send = on_send,
                                               .wake_at = on_wake_at,
                                               .on_given_up = on_given_up};
        struct fake f = {0};

        opts.arg = &f;
        if (cor_event_recorder_new(&opts, &f.rec) < 0) {
            assert_true(test_alloc_failed());
            continue;
        }
        for (int i = 0; i < 2; i++)
            if (tell(f.rec, o, COR_EVENT_NORMAL, "R", "m") == 0) {
                cor_event_recorder_step(f.rec);
                cor_event_recorder_answered(f.rec, 0, false);
            } else {
                assert_true(test_alloc_failed());
            }
        /* One allocation fails, so that one event is lost at most. */
        assert_true(f.sends == 2 || (f.sends == 1 && test_alloc_failed()));
        assert_true(cor_event_recorder_is_idle(f.rec));
        cor_event_recorder_free(f.rec);
    }
    cor_object_unref(o);
}

TEST(event_recorder, loses_an_event_and_nothing_else_when_memory_runs_out)
{
    lack_memory(false);
    lack_memory(true);
}
