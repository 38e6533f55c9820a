/* Events of the public API on a real server, on both kinds of runtime. */
#include <stdatomic.h>
#include <stdio.h>

#include "loop/timer.h"
#include "script.h"
#include "world.h"

#define LAST_WORDS_MS 10000 /* as src/client/events.c has it, also between questions */

/* The linker brings the library's calls here. Last words that nobody takes are given no end: one
 * that waits for their time waits for good, however fast the machine is. */
int __wrap_cor_timer_set(struct cor_timer *timer, uint64_t delay_ms);
int __real_cor_timer_set(struct cor_timer *timer, uint64_t delay_ms);

static atomic_int nlast_words;
static atomic_bool hastens; /* such a time is over at once */

int __wrap_cor_timer_set(struct cor_timer *timer, uint64_t delay_ms)
{
    if (delay_ms != LAST_WORDS_MS)
        return __real_cor_timer_set(timer, delay_ms);
    atomic_fetch_add(&nlast_words, 1);
    return __real_cor_timer_set(timer, atomic_load(&hastens) ? 0 : UINT64_MAX);
}

static struct cor_object *get(struct world *w, const char *name)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_GET, .resource = configmaps,
                                    .ns = "default", .name = name};
    struct cor_object *object;

    assert_int_equal(cor_client_do(w->client, &req, &object, NULL), 0);
    return object;
}

static struct cor_object *some_object(void)
{
    struct cor_object *one;

    assert_int_equal(
        cor_object_from_json(COR_STR("{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                                     "\"metadata\":{\"namespace\":\"a\",\"name\":\"b\"}}"),
                             &one, NULL),
        0);
    return one;
}

static void check_events_of(struct world *w, const char *group, size_t n, const char *text)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST,
                                    .resource = {group, "v1", "events"}, .ns = "default"};
    struct cor_object_list list;
    bool found = false;

    assert_int_equal(cor_client_list(w->client, &req, &list, NULL), 0);
    assert_int_equal(list.n, n);
    for (size_t i = 0; i < list.n; i++)
        found |= strstr(cor_object_json(list.items[i]).p, text) != NULL;
    assert_true(found);
    cor_object_list_deinit(&list);
}

static void check_events(struct world *w, size_t n, const char *text)
{
    check_events_of(w, "", n, text);
}

TEST(events, are_told_to_the_server_before_the_end)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct cor_events *events;
        struct cor_object *one;

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        one = get(&w, "one");
        assert_int_equal(
            cor_events_new(w.client,
                           &(struct cor_events_opts){COR_EVENTS_OPTS, .component = "tester"},
                           &events),
            0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(
                cor_events_record(events, one, COR_EVENT_NORMAL, "Seen", "seen by %s", "us"), 0);
        assert_int_equal(cor_events_record(events, one, COR_EVENT_WARNING, "Bad", "%d%%", 7), 0);
        assert_null(cor_events_free(events));
        assert_null(cor_events_free(NULL));
        check_events(&w, 2, "\"count\":3");
        check_events(&w, 2, "\"message\":\"7%\"");
        cor_object_unref(one);
        world_end(&w);
    }
}

TEST(events, that_nobody_takes_do_not_hold_up_the_end)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct cor_events *events;
        struct cor_object *one;

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        one = get(&w, "one");
        server_process_kill(&w.server);
        atomic_store(&nlast_words, 0);
        assert_int_equal(
            cor_events_new(w.client,
                           &(struct cor_events_opts){COR_EVENTS_OPTS, .component = "tester"},
                           &events),
            0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(cor_events_record(events, one, COR_EVENT_NORMAL, "Seen", "seen %d", i),
                             0);
        cor_events_free(events);
        assert_int_equal(atomic_load(&nlast_words), 1);
        cor_object_unref(one);
        world_end(&w);
    }
}

struct losses {
    atomic_int n;
    int why;
    char text[128];
};

static void on_given_up(void *arg, const struct cor_lost_event *event, int r)
{
    struct losses *l = arg;

    l->why = r;
    snprintf(l->text, sizeof(l->text), "%.*s %.*s/%.*s %.*s: %.*s", COR_STR_ARG(event->about_kind),
             COR_STR_ARG(event->about_ns), COR_STR_ARG(event->about_name),
             COR_STR_ARG(event->reason), COR_STR_ARG(event->message));
    atomic_fetch_add(&l->n, 1);
}

static bool is_lost(void *arg)
{
    return atomic_load(&((struct losses *)arg)->n) > 0;
}

static const struct script_answer busy[] = {
    {.to = "POST",
     .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"TooManyRequests\"}",
     .status = 429,
     .times = 1},
    {.to = "POST",
     .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Timeout\"}",
     .status = 504,
     .times = 1},
    {.to = "POST", .body = "", .status = 503},
};

/* One after the other: an event that is tried again would hold up those behind it. */
TEST(events, that_a_busy_server_refuses_are_given_up_and_told_of)
{
    static const int whys[] = {-COR_EBUSY, -COR_ETIMEOUT, -COR_EUNAVAILABLE};

    FOR_EACH_KIND(kind)
    {
        struct losses lost = {0};
        const struct cor_events_opts opts = {COR_EVENTS_OPTS, .component = "tester",
                                             .on_given_up = on_given_up, .arg = &lost};
        struct cor_events *events;
        struct cor_object *one;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, busy);
        world_begin_at(&w, kind, s.url);
        one = some_object();
        assert_int_equal(cor_events_new(w.client, &opts, &events), 0);
        for (int i = 0; i < 3; i++) {
            atomic_store(&lost.n, 0);
            assert_int_equal(cor_events_record(events, one, COR_EVENT_NORMAL, "Seen", "%d", i), 0);
            world_run(&w, is_lost, &lost);
            assert_int_equal(lost.why, whys[i]);
            assert_int_equal(lost.text[strlen(lost.text) - 1], '0' + i);
            assert_int_equal(script_count(&s, "POST"), i + 1);
        }
        assert_string_equal(lost.text, "ConfigMap a/b Seen: 2");
        cor_events_free(events);
        cor_object_unref(one);
        world_end(&w);
        script_end(&s);
    }
}

/* The first request is never answered. */
TEST(events, that_a_server_takes_and_says_nothing_of_are_given_up_in_time)
{
    static const struct script_answer silent[] = {{.to = "POST", .is_silent = true}};

    FOR_EACH_KIND(kind)
    {
        struct losses lost = {0};
        const struct cor_events_opts opts = {COR_EVENTS_OPTS, .component = "tester",
                                             .on_given_up = on_given_up, .arg = &lost};
        struct cor_client_opts hasty = {COR_CLIENT_OPTS, .timeout_ms = 100, .qps = -1};
        struct cor_client *client;
        struct cor_events *events;
        struct cor_object *one;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, silent);
        world_begin_at(&w, kind, s.url);
        hasty.config = &w.config;
        assert_int_equal(cor_client_new(w.rt, &hasty, &client, NULL), 0);
        one = some_object();
        assert_int_equal(cor_events_new(client, &opts, &events), 0);
        assert_int_equal(cor_events_record(events, one, COR_EVENT_NORMAL, "Seen", "it"), 0);
        cor_events_free(events);
        assert_int_equal(atomic_load(&lost.n), 1);
        assert_int_equal(lost.why, -COR_ETIMEOUT);
        cor_object_unref(one);
        cor_client_free(client);
        world_end(&w);
        script_end(&s);
    }
}

/* Contract client 4.4.1, 4.4.3. */
TEST(events, of_a_series_are_seen_in_both_groups)
{
    FOR_EACH_KIND(kind)
    {
        const struct cor_events_opts opts = {COR_EVENTS_OPTS, .component = "tester", .host = "h1",
                                             .series = true};
        struct cor_object *one, *two;
        struct cor_events *events;
        struct world w;

        world_begin(&w, kind);
        world_create(&w, "one", "{}", "1");
        world_create(&w, "two", "{}", "1");
        one = get(&w, "one");
        two = get(&w, "two");
        assert_int_equal(cor_events_new(w.client, &opts, &events), 0);
        for (int i = 0; i < 2; i++)
            assert_int_equal(cor_events_record_action(events, one, two, COR_EVENT_NORMAL, "Seen",
                                                      "Looking", "time %d", i),
                             0);
        assert_int_equal(cor_events_record(events, one, COR_EVENT_WARNING, "Bad", "%d%%", 7), 0);
        cor_events_free(events);
        check_events_of(&w, "events.k8s.io", 2, "\"series\":{\"count\":2,");
        check_events_of(&w, "events.k8s.io", 2, "\"note\":\"time 0\"");
        check_events_of(&w, "events.k8s.io", 2, "\"reportingInstance\":\"tester-h1\"");
        check_events_of(&w, "events.k8s.io", 2, "\"reportingController\":\"tester\"");
        check_events_of(&w, "events.k8s.io", 2, "\"action\":\"Bad\"");
        check_events_of(&w, "events.k8s.io", 2, "\"related\":{\"apiVersion\":\"v1\"");
        check_events(&w, 2, "\"series\":{\"count\":2,");
        check_events(&w, 2, "\"action\":\"Looking\"");
        check_events(&w, 2, "\"message\":\"time 0\"");
        check_events(&w, 2, "\"reportingComponent\":\"tester\"");
        check_events(&w, 2, "\"message\":\"7%\"");
        cor_object_unref(one);
        cor_object_unref(two);
        world_end(&w);
    }
}

static const struct cor_events_opts of_series = {COR_EVENTS_OPTS, .component = "tester",
                                                 .series = true};

/* Contract client 4.4.3: neither a server without the API, nor one that may not be asked. */
TEST(events, of_a_series_are_core_events_where_the_server_has_no_other)
{
    static const struct script_answer old[][2] = {
        {{.to = "GET /apis/events.k8s.io/v1", .body = "404 page not found", .status = 404},
         {.to = "POST /api/v1/namespaces/a/events", .body = "{}", .status = 201}},
        {{.to = "GET /apis/events.k8s.io/v1",
          .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\"}",
          .status = 403},
         {.to = "POST /api/v1/namespaces/a/events", .body = "{}", .status = 201}},
    };

    FOR_EACH_KIND(kind)
    {
        for (int i = 0; i < 2; i++) {
            struct cor_object *one = some_object();
            struct cor_events *events;
            struct script s;
            struct world w;

            SCRIPT_BEGIN(&s, old[i]);
            world_begin_at(&w, kind, s.url);
            assert_int_equal(cor_events_new(w.client, &of_series, &events), 0);
            for (int j = 0; j < 2; j++)
                assert_int_equal(cor_events_record_action(events, one, NULL, COR_EVENT_NORMAL,
                                                          "Seen", "Looking", "%d", j),
                                 0);
            cor_events_free(events);
            assert_int_equal(script_count(&s, "GET /apis/events.k8s.io/v1"), 1);
            assert_int_equal(script_count(&s, "POST /api/v1/namespaces/a/events"), 2);
            assert_int_equal(script_count(&s, "POST /apis"), 0);
            cor_object_unref(one);
            world_end(&w);
            script_end(&s);
        }
    }
}

/* Contract client 4.4.3: the API is there, and what is refused is told of. */
TEST(events, of_a_series_that_a_server_refuses_are_told_of)
{
    static const struct script_answer strict[] = {
        {.to = "GET /apis/events.k8s.io/v1", .body = "{\"kind\":\"APIResourceList\"}"},
        {.to = "POST /apis/events.k8s.io/v1/namespaces/a/events",
         .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\"}",
         .status = 403},
    };

    FOR_EACH_KIND(kind)
    {
        struct cor_object *one = some_object();
        struct losses lost = {0};
        struct cor_events_opts opts = of_series;
        struct cor_events *events;
        struct script s;
        struct world w;

        opts.on_given_up = on_given_up;
        opts.arg = &lost;
        SCRIPT_BEGIN(&s, strict);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_events_new(w.client, &opts, &events), 0);
        assert_int_equal(cor_events_record(events, one, COR_EVENT_NORMAL, "Seen", "it"), 0);
        world_run(&w, is_lost, &lost);
        assert_int_equal(lost.why, -COR_EFORBIDDEN);
        assert_string_equal(lost.text, "ConfigMap a/b Seen: it");
        cor_events_free(events);
        cor_object_unref(one);
        world_end(&w);
        script_end(&s);
    }
}

/* The question is not answered either. */
TEST(events, of_a_series_that_nobody_takes_do_not_hold_up_the_end)
{
    FOR_EACH_KIND(kind)
    {
        struct cor_object *one = some_object();
        struct losses lost = {0};
        struct cor_events_opts opts = of_series;
        struct cor_events *events;
        struct world w;

        opts.on_given_up = on_given_up;
        opts.arg = &lost;
        world_begin(&w, kind);
        server_process_kill(&w.server);
        assert_int_equal(cor_events_new(w.client, &opts, &events), 0);
        assert_null(cor_events_free(events));
        assert_int_equal(cor_events_new(w.client, &opts, &events), 0);
        for (int i = 0; i < 3; i++)
            assert_int_equal(cor_events_record(events, one, COR_EVENT_NORMAL, "Seen", "%d", i), 0);
        cor_events_free(events);
        assert_int_equal(atomic_load(&lost.n), 3);
        cor_object_unref(one);
        world_end(&w);
    }
}

struct silence {
    struct script script;
    struct cor_client *client;
    struct world w;
    struct losses lost;
    struct cor_events *events;
};

/* Each question ends after a moment, without an answer. */
static void silence_begin(struct silence *q, enum cor_runtime_kind kind,
                          const struct script_answer *answers, size_t n)
{
    struct cor_client_opts hasty = {COR_CLIENT_OPTS, .timeout_ms = 100, .qps = -1,
                                    .config = &q->w.config};
    struct cor_events_opts opts = of_series;
    struct cor_object *one = some_object();

    *q = (struct silence){0};
    opts.on_given_up = on_given_up;
    opts.arg = &q->lost;
    script_begin(&q->script, answers, n);
    world_begin_at(&q->w, kind, q->script.url);
    assert_int_equal(cor_client_new(q->w.rt, &hasty, &q->client, NULL), 0);
    assert_int_equal(cor_events_new(q->client, &opts, &q->events), 0);
    assert_int_equal(cor_events_record(q->events, one, COR_EVENT_NORMAL, "Seen", "it"), 0);
    cor_object_unref(one);
}

static void silence_end(struct silence *q)
{
    cor_events_free(q->events);
    cor_client_free(q->client);
    world_end(&q->w);
    script_end(&q->script);
}

static bool is_posted(void *arg)
{
    return script_count(arg, "POST") > 0;
}

/* Contract client 4.4.3. */
TEST(events, of_a_series_ask_for_their_api_until_they_know)
{
    static const struct script_answer slow[] = {
        {.to = "GET /apis/events.k8s.io/v1", .is_silent = true, .times = 2},
        {.to = "GET /apis/events.k8s.io/v1", .body = "{\"kind\":\"APIResourceList\"}"},
        {.to = "POST /apis/events.k8s.io/v1/namespaces/a/events", .body = "{}", .status = 201},
    };
    static const struct script_answer dumb[] = {
        {.to = "GET /apis/events.k8s.io/v1", .is_silent = true},
        {.to = "POST /api/v1/namespaces/a/events", .body = "{}", .status = 201},
    };

    FOR_EACH_KIND(kind)
    {
        for (int knows = 0; knows < 2; knows++) {
            struct silence q;

            atomic_store(&hastens, true);
            silence_begin(&q, kind, knows ? slow : dumb, knows ? 3 : 2);
            world_run(&q.w, is_posted, &q.script);
            atomic_store(&hastens, false);
            assert_int_equal(script_count(&q.script, "GET /apis"), knows ? 3 : 12);
            assert_int_equal(script_count(&q.script, "POST /apis"), knows);
            silence_end(&q);
        }
    }
}

static bool is_waiting(void *arg)
{
    return atomic_load(&nlast_words) > 0;
}

TEST(events, of_a_series_that_wait_to_ask_are_tried_once_at_the_end)
{
    static const struct script_answer dumb[] = {
        {.to = "GET /apis/events.k8s.io/v1", .is_silent = true},
        {.to = "POST /api/v1/namespaces/a/events", .body = "{}", .status = 201},
    };

    FOR_EACH_KIND(kind)
    {
        struct silence q;

        atomic_store(&nlast_words, 0);
        silence_begin(&q, kind, dumb, 2);
        world_run(&q.w, is_waiting, NULL);
        q.events = cor_events_free(q.events);
        assert_int_equal(script_count(&q.script, "GET /apis"), 1);
        assert_int_equal(script_count(&q.script, "POST /api/v1/namespaces/a/events"), 1);
        assert_int_equal(atomic_load(&q.lost.n), 0);
        silence_end(&q);
    }
}
