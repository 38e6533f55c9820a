/* Contract 4.3.1 to 4.3.8. */
#include <pthread.h>
#include <stdio.h>

#include "base/err.h"
#include "client/event_recorder.h"
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
    snprintf(f->sent + n, sizeof(f->sent) - n, "%s %.*s%s%.*s %.*s\n",
             q->is_patch ? "PATCH" : "POST", COR_STR_ARG(q->ns), q->is_patch ? "/" : "",
             q->is_patch ? (int)q->name.n : 0, q->name.p, COR_STR_ARG(q->body));
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

static void begin(struct fake *f)
{
    struct cor_event_recorder_opts opts = {.component = COR_STR("sample"),
                                           .host = COR_STR("n1"),
                                           .send = on_send,
                                           .wake_at = on_wake_at,
                                           .on_given_up = on_given_up,
                                           .arg = f};

    *f = (struct fake){0};
    cor_clock_manual_init(&f->clk, 1000, 1700000000000);
    opts.clock = &f->clk.clock;
    assert_int_equal(cor_event_recorder_new(&opts, &f->rec), 0);
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

static void record(struct fake *f, const char *name, const char *message)
{
    struct cor_object *o = pod(name);

    assert_int_equal(cor_event_record(f->rec, o, COR_EVENT_NORMAL, "Synced", "%s", message), 0);
    cor_object_unref(o);
    cor_event_recorder_step(f->rec);
}

/* Contract 4.3.1, 4.3.2. */
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

/* Contract 4.3.8. */
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

/* Contract 4.3.6. */
TEST(event_recorder, sends_one_at_a_time_in_order)
{
    struct fake f;

    begin(&f);
    record(&f, "a", "one");
    record(&f, "b", "two");
    assert_int_equal(f.sends, 1);
    cor_event_recorder_answered(f.rec, 0, false);
    assert_int_equal(f.sends, 2);
    assert_true(strstr(f.sent, "one") < strstr(f.sent, "two"));
    cor_event_recorder_answered(f.rec, 0, false);
    cor_event_recorder_free(f.rec);
}

/* Contract 4.3.6. */
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

/* Contract 4.3.7. */
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

/* Contract 4.3.2. */
TEST(event_recorder, an_object_without_a_namespace_is_told_of_in_default)
{
    struct cor_object *node = parse("{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"
                                    "\"name\":\"n1\"}}");
    struct cor_object *role = parse("{\"kind\":\"ClusterRole\",\"apiVersion\":\"v1\",\"metadata\":{"
                                    "\"name\":\"system:x\"}}");
    struct cor_object *nothing = parse("{\"metadata\":{\"name\":\"n1\"}}");
    struct fake f;

    begin(&f);
    assert_int_equal(cor_event_record(f.rec, nothing, COR_EVENT_NORMAL, "R", "m"), -COR_EINVAL);
    assert_int_equal(cor_event_record(f.rec, node, COR_EVENT_WARNING, "R", "m"), 0);
    cor_event_recorder_step(f.rec);
    assert_true(strncmp(f.sent, "POST default {", 14) == 0);
    assert_non_null(strstr(f.sent, "\"type\":\"Warning\""));
    cor_event_recorder_answered(f.rec, 0, false);
    assert_int_equal(cor_event_record(f.rec, role, COR_EVENT_NORMAL, "R", "m"), 0);
    cor_event_recorder_step(f.rec);
    assert_null(strstr(f.sent, "\"name\":\"system:x."));
    cor_event_recorder_answered(f.rec, 0, false);
    cor_object_unref(node);
    cor_object_unref(role);
    cor_object_unref(nothing);
    cor_event_recorder_free(f.rec);
}

/* Contract 4.3.3. */
TEST(event_recorder, refuses_more_than_it_may_queue_and_all_after_shutdown)
{
    struct cor_object *o = pod("a");
    struct fake f;

    begin(&f);
    for (int i = 0; i < COR_EVENT_QUEUE_MAX; i++)
        assert_int_equal(cor_event_record(f.rec, o, COR_EVENT_NORMAL, "R", "m%d", i), 0);
    assert_int_equal(cor_event_record(f.rec, o, COR_EVENT_NORMAL, "R", "m"), -COR_EBUSY);
    cor_event_recorder_shutdown(f.rec);
    assert_int_equal(cor_event_record(f.rec, o, COR_EVENT_NORMAL, "R", "m"), -COR_ECANCELED);
    cor_object_unref(o);
    cor_event_recorder_free(f.rec);
}

/* Contract 4.3.6. */
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
        cor_event_record(arg, o, COR_EVENT_NORMAL, "R", "m%d", i);
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

TEST(event_recorder, loses_an_event_and_nothing_else_when_memory_runs_out)
{
    struct cor_object *o = pod("a");

    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_event_recorder_opts opts = {.component = COR_STR("sample"),
                                               .send = on_send,
                                               .wake_at = on_wake_at,
                                               .on_given_up = on_given_up};
        struct fake f = {0};

        opts.arg = &f;
        if (cor_event_recorder_new(&opts, &f.rec) < 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (cor_event_record(f.rec, o, COR_EVENT_NORMAL, "R", "m") == 0) {
                cor_event_recorder_step(f.rec);
                cor_event_recorder_answered(f.rec, 0, false);
            }
        assert_true(cor_event_recorder_is_idle(f.rec));
        cor_event_recorder_free(f.rec);
    }
    cor_object_unref(o);
}
