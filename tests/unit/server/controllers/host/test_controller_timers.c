/* What the controllers do when time passes: the retries, the workers and the resync of the
 * namespace controller, and the enumerations of the garbage collector. They run over a scripted
 * port, on a loop whose timers follow the script's clock, so that minutes pass at once. */
#include "base/err.h"
#include "base/rand.h"
#include "kit/events/event_recorder.h"
#include "loop/loop.h"
#include "scripted_port.h"
#include "server/controllers/host/builtin.h"
#include "test.h"

#include <stdio.h>

struct stage {
    struct scripted_port sp;
    struct cor_loop *loop;
    struct cor_rand rand;
    const struct cor_server_controller_ops *ops;
    void *controller;
    bool is_stopped;
    /* What a GET is answered with, and when those came. */
    const char *answer;
    uint64_t get_ms[64];
    size_t ngets;
};

static void on_record(void *arg, const struct cor_event_told *told)
{
}

static void on_stopped(void *arg, const struct cor_status *why)
{
    ((struct stage *)arg)->is_stopped = true;
}

/* Answers the requests of a pass over a namespace. */
static const char *respond(void *arg, const char *line)
{
    struct stage *s = arg;

    assert_int_equal(strncmp(line, "GET v1 namespaces ", 18), 0);
    assert_true(s->ngets < COR_ARRAY_LEN(s->get_ms));
    s->get_ms[s->ngets++] = cor_clock_mono_ms(&s->sp.clock.clock);
    return s->answer;
}

static void open_stage(struct stage *s, const struct cor_server_controller_ops *ops)
{
    *s = (struct stage){.ops = ops};
    scripted_port_init(&s->sp);
    assert_int_equal(cor_loop_new(64, &s->loop), 0);
    cor_loop_use_clock(s->loop, &s->sp.clock.clock);
    s->sp.port.loop = s->loop;
    cor_rand_init_seeded(&s->rand, 1);
}

/* Lets `ms` pass, `step_ms` at a time. */
static void pass(struct stage *s, uint64_t ms, uint64_t step_ms)
{
    for (uint64_t passed = 0; passed <= ms; passed += step_ms) {
        scripted_run(&s->sp, passed == 0 ? 0 : step_ms);
        /* A timer and the answers that it leads to may follow each other at the same time. */
        for (int i = 0; i < 4; i++) {
            (void)cor_loop_run_ready(s->loop, 8);
            scripted_run(&s->sp, 0);
        }
    }
}

static int make_controller(struct stage *s)
{
    const struct cor_server_controller_env env = {.port = &s->sp.port,
                                                  .clock = &s->sp.clock.clock,
                                                  .rand = &s->rand,
                                                  .record = on_record,
                                                  .on_stopped = on_stopped,
                                                  .arg = s};

    return s->ops->new (&env, &s->controller, NULL);
}

static void start(struct stage *s)
{
    assert_int_equal(make_controller(s), 0);
    assert_int_equal(s->ops->start(s->controller, NULL), 0);
    pass(s, 0, 1);
}

static void close_stage(struct stage *s)
{
    s->ops->stop(s->controller, 1000);
    pass(s, 10, 1);
    assert_true(s->is_stopped);
    s->ops->free(s->controller);
    scripted_port_deinit(&s->sp);
    s->loop = cor_loop_free(s->loop);
}

#define ENDING(name)                                                                               \
    "{\"kind\":\"Namespace\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name "\","           \
    "\"deletionTimestamp\":\"2023-11-14T22:13:20Z\",\"resourceVersion\":\"7\",\"uid\":\"u\"},"     \
    "\"spec\":{\"finalizers\":[\"kubernetes\"]}}"

/* Contract controllers 1.1.6, 1.1.7: 5 ms, 10 ms … 60 s. */
TEST(controller_timers, a_pass_over_a_namespace_that_fails_is_repeated_within_a_minute)
{
    static const char *items[] = {ENDING("x"), NULL}, *none[] = {NULL};
    struct stage s;
    uint64_t expected_ms = 5;

    open_stage(&s, &cor_namespaces_ops);
    scripted_items(&s.sp, 0, items, false);
    scripted_items(&s.sp, 0, none, true);
    s.sp.respond = respond;
    s.sp.respond_arg = &s;
    s.answer = "500";
    start(&s);
    pass(&s, 2000, 1);
    pass(&s, 218000, 100);
    assert_int_equal(s.ngets, 17);
    for (size_t i = 1; i < s.ngets; i++) {
        uint64_t paused_ms = s.get_ms[i] - s.get_ms[i - 1];

        /* Times that are more than a second away are rounded up to a second. */
        assert_uint_in_range(paused_ms, expected_ms, expected_ms + (expected_ms < 1000 ? 0 : 1100));
        expected_ms = expected_ms * 2 < 60000 ? expected_ms * 2 : 60000;
    }
    close_stage(&s);
}

/* Contract controllers 1.1.4: nothing happens to the namespace, and it is looked at every five
 * minutes. */
TEST(controller_timers, a_namespace_is_looked_at_every_five_minutes)
{
    static const char *items[] = {ENDING("x"), NULL}, *none[] = {NULL};
    struct stage s;

    open_stage(&s, &cor_namespaces_ops);
    scripted_items(&s.sp, 0, items, false);
    scripted_items(&s.sp, 0, none, true);
    s.sp.respond = respond;
    s.sp.respond_arg = &s;
    s.answer = "404"; /* The pass has nothing to do, and the feed still has the namespace. */
    start(&s);
    pass(&s, 299000, 1000);
    assert_int_equal(s.ngets, 1);
    pass(&s, 2000, 1000);
    assert_int_equal(s.ngets, 2);
    close_stage(&s);
}

/* Contract controllers 1.1.5. */
TEST(controller_timers, ten_namespaces_are_worked_on_at_once_and_each_by_one_worker)
{
    static const char *items[] = {ENDING("a"), ENDING("b"), ENDING("c"), ENDING("d"), ENDING("e"),
                                  ENDING("f"), ENDING("g"), ENDING("h"), ENDING("i"), ENDING("j"),
                                  ENDING("k"), ENDING("l"), NULL};
    static const char *again[] = {"MODIFIED " ENDING("a"), "MODIFIED " ENDING("b"), NULL};
    struct stage s;
    size_t ngets = 0;

    open_stage(&s, &cor_namespaces_ops);
    scripted_items(&s.sp, 0, items, false);
    scripted_items(&s.sp, 100, again, true);
    start(&s);
    pass(&s, 1000, 10); /* No GET is answered. */
    for (const char *at = s.sp.log; (at = strstr(at, "GET v1 namespaces ")); at++)
        ngets++;
    assert_int_equal(ngets, 10);
    close_stage(&s);
}

#define CLAIM(name)                                                                                \
    "{\"kind\":\"PersistentVolumeClaim\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name     \
    "\",\"namespace\":\"default\",\"resourceVersion\":\"7\",\"uid\":\"u\",\"deletionTimestamp\":"  \
    "\"2023-11-14T22:13:20Z\",\"finalizers\":[\"kubernetes.io/pvc-protection\"]}}"

static const char *respond_with_a_claim(void *arg, const char *line)
{
    return CLAIM("any");
}

static size_t count_lines(const struct stage *s, const char *line)
{
    size_t n = 0;

    for (const char *at = s->sp.log; (at = strstr(at, line)); at++)
        n++;
    return n;
}

/* Contract controllers 3.9: the pods of a namespace are listed once for all of its claims that are
 * looked at together. */
TEST(controller_timers, claims_of_a_namespace_share_the_lists_of_its_pods)
{
    static const char *claims[] = {CLAIM("a"), CLAIM("b"), CLAIM("c"), CLAIM("d"), CLAIM("e"),
                                   CLAIM("f"), CLAIM("g"), CLAIM("h"), CLAIM("i"), NULL};
    static const char *none[] = {NULL};
    struct stage s;

    open_stage(&s, &cor_claim_protection_ops);
    scripted_items(&s.sp, 0, claims, false);
    scripted_items(&s.sp, 0, none, false);
    scripted_items(&s.sp, 0, none, true);
    scripted_items(&s.sp, 0, none, true);
    for (int i = 0; i < 9; i++)
        scripted_answer(&s.sp, 5, CLAIM("any"));
    scripted_items(&s.sp, 10, none, false);
    scripted_items(&s.sp, 10, none, false);
    s.sp.respond = respond_with_a_claim;
    start(&s);
    pass(&s, 100, 10);
    assert_int_equal(count_lines(&s, "GET v1 persistentvolumeclaims default/"), 9);
    assert_int_equal(count_lines(&s, "UPDATE v1 persistentvolumeclaims default/"), 9);
    /* One for the first, and one for those who came meanwhile. */
    assert_int_equal(count_lines(&s, "LIST v1 pods default/"), 2);
    close_stage(&s);
}

/* The resources of the collector. */

#define VERBS (COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(LIST) | COR_API_VERB_BIT(WATCH))
#define RESOURCE(group_, version_, plural_, kind_, verbs_, is_preferred_)                          \
    {                                                                                              \
        .gvr = {COR_STR_INIT(group_), COR_STR_INIT(version_), COR_STR_INIT(plural_)},              \
        .kind = COR_STR_INIT(kind_), .is_namespaced = true, .is_preferred = is_preferred_,         \
        .verbs = verbs_                                                                            \
    }
#define MAPS      RESOURCE("", "v1", "configmaps", "ConfigMap", VERBS, true)
#define THINGS(v) RESOURCE("a.io", v, "things", "Thing", VERBS, true)

static struct cor_api_resources *resources_of(const struct cor_port_resource *list, size_t n,
                                              const struct cor_api_resources_failure *failures,
                                              size_t nfailures)
{
    struct cor_api_resources *resources;

    assert_int_equal(cor_api_resources_new(list, n, failures, nfailures, &resources), 0);
    return resources;
}

/* Contract controllers 2.2.1, 2.2.2: preferred versions that can be deleted, listed and watched,
 * without events. Contract controllers 2.2.4, 2.2.5, 2.2.8, 2.2.9: each 30 seconds. */
TEST(controller_timers, the_collector_follows_the_resources_as_they_come_and_go)
{
    static const struct cor_port_resource first[] = {
        MAPS,
        RESOURCE("", "v1", "events", "Event", VERBS, true),
        RESOURCE("events.k8s.io", "v1", "events", "Event", VERBS, true),
        RESOURCE("", "v1", "bindings", "Binding", COR_API_VERB_BIT(CREATE), true),
        RESOURCE("", "v1", "unwatched", "Unwatched",
                 COR_API_VERB_BIT(DELETE) | COR_API_VERB_BIT(LIST), true),
        RESOURCE("a.io", "v1beta1", "olds", "Old", VERBS, false),
    };
    static const struct cor_port_resource both[] = {MAPS, THINGS("v1")};
    static const struct cor_port_resource newer[] = {MAPS, THINGS("v2")};
    static const struct cor_port_resource maps[] = {MAPS};
    static const char *none[] = {NULL};
    const struct cor_api_resources_failure failed = {.gv = {COR_STR("a.io"), COR_STR("v1")}};
    struct cor_api_resources *rounds[] = {
        resources_of(first, COR_ARRAY_LEN(first), NULL, 0),
        resources_of(first, 6, NULL, 0),
        resources_of(both, 2, NULL, 0),
        resources_of(maps, 1, &failed, 1),
        resources_of(newer, 2, NULL, 0),
        resources_of(maps, 1, NULL, 0),
        resources_of(NULL, 0, NULL, 0),
    };
    struct stage s;

    open_stage(&s, &cor_garbage_collector_ops);
    scripted_resources(&s.sp, 0, rounds[0]);
    scripted_items(&s.sp, 0, none, false);
    scripted_items(&s.sp, 0, none, true);
    start(&s);
    scripted_assert_log(&s.sp, "RESOURCES\nLIST v1 configmaps \nWATCH v1 configmaps  100\n");
    pass(&s, 29000, 100);
    scripted_assert_log(&s.sp, "");
    scripted_resources(&s.sp, 0, rounds[1]); /* unchanged */
    pass(&s, 1100, 100);
    scripted_assert_log(&s.sp, "RESOURCES\n");
    scripted_resources(&s.sp, 0, rounds[2]); /* a new one */
    scripted_items(&s.sp, 0, none, false);
    scripted_items(&s.sp, 0, none, true);
    pass(&s, 30000, 100);
    scripted_assert_log(&s.sp, "RESOURCES\nLIST a.io/v1 things \nWATCH a.io/v1 things  100\n");
    scripted_resources(&s.sp, 0, rounds[3]); /* its version cannot be enumerated: it is kept */
    pass(&s, 30000, 100);
    scripted_assert_log(&s.sp, "RESOURCES\n");
    scripted_resources(&s.sp, 0, rounds[4]); /* another version: removed and added */
    scripted_items(&s.sp, 0, none, false);
    scripted_items(&s.sp, 0, none, true);
    pass(&s, 30000, 100);
    assert_non_null(strstr(s.sp.log, "CANCEL a.io/v1 things"));
    assert_non_null(strstr(s.sp.log, "LIST a.io/v2 things"));
    s.sp.log[0] = '\0';
    scripted_resources(&s.sp, 0, rounds[5]); /* gone */
    pass(&s, 30000, 100);
    scripted_assert_log(&s.sp, "RESOURCES\nCANCEL a.io/v2 things \n");
    scripted_resources(&s.sp, 0, rounds[6]); /* No resources, or an error: the round is skipped. */
    scripted_fail(&s.sp, 0, -COR_EINTERNAL);
    pass(&s, 60000, 100);
    scripted_assert_log(&s.sp, "RESOURCES\nRESOURCES\n");
    close_stage(&s);
    for (size_t i = 0; i < COR_ARRAY_LEN(rounds); i++)
        cor_api_resources_unref(rounds[i]);
}

/* A custom resource comes and goes: the host tells it, and no time passes. */
TEST(controller_timers, the_collector_enumerates_at_once_when_it_is_told)
{
    static const struct cor_port_resource both[] = {MAPS, THINGS("v1")};
    static const char *none[] = {NULL};
    struct cor_api_resources *with = resources_of(both, 2, NULL, 0);
    struct cor_api_resources *without = resources_of(both, 1, NULL, 0);
    struct stage s;

    open_stage(&s, &cor_garbage_collector_ops);
    scripted_resources(&s.sp, 0, without);
    scripted_items(&s.sp, 0, none, false);
    scripted_items(&s.sp, 0, none, true);
    start(&s);
    scripted_assert_log(&s.sp, "RESOURCES\nLIST v1 configmaps \nWATCH v1 configmaps  100\n");
    scripted_resources(&s.sp, 0, with);
    scripted_items(&s.sp, 0, none, false);
    scripted_items(&s.sp, 0, none, true);
    s.ops->resources_changed(s.controller);
    pass(&s, 0, 100);
    scripted_assert_log(&s.sp, "RESOURCES\nLIST a.io/v1 things \nWATCH a.io/v1 things  100\n");
    scripted_resources(&s.sp, 0, without);
    s.ops->resources_changed(s.controller);
    pass(&s, 0, 100);
    scripted_assert_log(&s.sp, "RESOURCES\nCANCEL a.io/v1 things \n");
    close_stage(&s);
    cor_api_resources_unref(with);
    cor_api_resources_unref(without);
}

#define ORPHANED                                                                                   \
    "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"d\","                  \
    "\"namespace\":\"default\",\"resourceVersion\":\"5\",\"uid\":\"u-d\",\"ownerReferences\":[{"   \
    "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"o\",\"uid\":\"u-o\"}]}}"

static const char *respond_with_orphaned(void *arg, const char *line)
{
    if (strncmp(line, "GET", 3) != 0)
        return NULL;
    return strstr(line, "default/d") ? ORPHANED : "404";
}

/* The enumeration, the feed, the graph and the attempts: a dependent without an owner is deleted,
 * whichever allocation fails. */
TEST(controller_timers, the_collector_deletes_although_an_allocation_fails)
{
    static const struct cor_port_resource maps[] = {MAPS};
    static const char *items[] = {ORPHANED, NULL};
    struct cor_api_resources *resources = resources_of(maps, 1, NULL, 0);

    FOR_EACH_FAILED_ALLOC(n) {
        struct stage s;

        test_fail_alloc(0, false);
        open_stage(&s, &cor_garbage_collector_ops);
        s.sp.respond = respond_with_orphaned;
        s.sp.respond_items = items;
        s.sp.respond_resources = resources;
        test_fail_alloc(n, false);
        if (make_controller(&s) < 0) {
            assert_true(test_alloc_failed());
            scripted_port_deinit(&s.sp);
            s.loop = cor_loop_free(s.loop);
            continue;
        }
        assert_int_equal(s.ops->start(s.controller, NULL), 0);
        for (int i = 0; i < 60 && !strstr(s.sp.log, "DELETE v1 configmaps default/d Back"); i++)
            pass(&s, 1000, 50);
        assert_non_null(strstr(s.sp.log, "DELETE v1 configmaps default/d Background uid=u-d"));
        close_stage(&s);
    }
    cor_api_resources_unref(resources);
}
