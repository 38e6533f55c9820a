/* Waits for events of watches and of caches, on both kinds of runtime. The servers are the test's
 * own.
 */
#include <semaphore.h>
#include <stdio.h>

#include "configmap_words.h"
#include "script.h"
#include "world.h"

/* What was shown to which condition: "1one ". */
struct shown {
    char text[256];
    int fails;                 /* what the first returns below 0 */
    struct cor_client *client; /* of has_two */
};

static int judge(struct shown *s, int which, const struct cor_watch_event *event, bool is_it)
{
    size_t n = strlen(s->text);

    snprintf(s->text + n, sizeof(s->text) - n, "%d%.*s ", which,
             COR_STR_ARG(cor_object_name(event->object)));
    return is_it;
}

static int is_added(void *arg, const struct cor_watch_event *event)
{
    struct shown *s = arg;
    int r = judge(s, 1, event, event->type == COR_WATCH_ADDED);

    return s->fails ? s->fails : r;
}

static int is_any(void *arg, const struct cor_watch_event *event)
{
    return judge(arg, 2, event, true);
}

static int is_deleted(void *arg, const struct cor_watch_event *event)
{
    return judge(arg, 3, event, event->type == COR_WATCH_DELETED);
}

static const cor_watch_condition_fn conditions[] = {is_added, is_any, is_deleted};

/* Contract client 1.25.1: client-go's TestUntilMultipleConditions. */
TEST(until, conditions_are_met_one_after_the_other)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true",
         .body = EVENT("MODIFIED", MAP("one", "6")) EVENT("ADDED", MAP("two", "7"))
             EVENT("MODIFIED", MAP("two", "8")) EVENT("DELETED", MAP("two", "9"))
                 EVENT("ADDED", MAP("three", "10")),
         .stays_open = true},
    };

    FOR_EACH_KIND(kind)
    {
        const struct cor_request req = watch_from("5", false);
        struct shown shown = {0}, failed = {.fails = -COR_ETOOBIG};
        struct cor_object *last = NULL;
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_watch_until(w.client, &req, conditions, 3, &shown, &last, NULL),
                         0);
        assert_string_equal(shown.text, "1one 1two 2two 3two 3two 3two ");
        assert_str(cor_object_resource_version(last), "9");
        cor_object_unref(last);
        assert_int_equal(
            cor_client_watch_until(w.client, &req, conditions, 3, &failed, &last, NULL),
            -COR_ETOOBIG);
        assert_string_equal(failed.text, "1one ");
        assert_int_equal(cor_client_watch_until(w.client, &req, conditions, 0, &shown, NULL, NULL),
                         -COR_EINVAL);
        world_end(&w);
        script_end(&script);
    }
}

/* Contract client 1.25.1: a closed stream, an error, a deadline. */
TEST(until, a_wait_ends_with_its_watch)
{
    static const struct script_answer answers[] = {
        {.to = "resourceVersion=5", .body = EVENT("MODIFIED", MAP("one", "6"))},
        {.to = "resourceVersion=6", .body = EVENT("MODIFIED", MAP("one", "7")) EXPIRED},
        {.to = "resourceVersion=7", .body = "", .stays_open = true},
    };

    FOR_EACH_KIND(kind)
    {
        struct cor_request closed = watch_from("5", false), expired = watch_from("6", false),
                           late = watch_from("7", false);
        struct shown shown = {0};
        struct cor_status why;
        struct script script;
        struct world w;

        cor_status_init(&why);
        late.timeout_ms = 20;
        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(
            cor_client_watch_until(w.client, &closed, conditions, 3, &shown, NULL, &why),
            -COR_EBROKEN);
        assert_string_equal(cor_status_message(&why),
                            "the watch ended before its conditions were met");
        assert_int_equal(
            cor_client_watch_until(w.client, &expired, conditions, 3, &shown, NULL, &why),
            -COR_EEXPIRED);
        assert_string_equal(cor_status_message(&why), "as the test wants it");
        assert_int_equal(cor_client_watch_until(w.client, &late, conditions, 3, &shown, NULL, &why),
                         -COR_ETIMEOUT);
        assert_string_equal(shown.text, "1one 1one ");
        cor_status_deinit(&why);
        world_end(&w);
        script_end(&script);
    }
}

/* Contract client 1.25.2. */
TEST(until, a_wait_that_resumes_sees_every_event_or_fails)
{
    static const struct script_answer answers[] = {
        {.to = "resourceVersion=5", .body = EVENT("ADDED", MAP("one", "6"))},
        {.to = "resourceVersion=6", .body = EVENT("DELETED", MAP("one", "7"))},
        {.to = "resourceVersion=8", .body = EVENT("MODIFIED", MAP("one", "9"))},
        {.to = "resourceVersion=9", .body = EXPIRED},
    };

    FOR_EACH_KIND(kind)
    {
        const struct cor_request req = watch_from("5", true), old = watch_from("8", true);
        struct shown shown = {0}, failed = {0};
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_watch_until(w.client, &req, conditions, 3, &shown, NULL, NULL),
                         0);
        assert_string_equal(shown.text, "1one 2one 3one 3one ");
        assert_int_equal(cor_client_watch_until(w.client, &old, conditions, 3, &failed, NULL, NULL),
                         -COR_EEXPIRED);
        assert_string_equal(failed.text, "1one ");
        world_end(&w);
        script_end(&script);
    }
}

static const struct cor_informer_opts all_maps = {
    COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"}, .ns = "default"};

static const struct cor_informer_opts no_resource = {COR_INFORMER_OPTS, .ns = "default"};

static struct cor_sync_until_opts sync_opts(struct shown *shown)
{
    return (struct cor_sync_until_opts){
        COR_SYNC_UNTIL_OPTS, .scope = &all_maps,       .conditions = conditions, .n = 3,
        .arg = shown,        .timeout_ms = PATIENCE_MS};
}

static int count(void *arg, struct cor_object *object)
{
    ++*(int *)arg;
    return 0;
}

static int read_nothing(void *arg, struct cor_str body)
{
    return 0;
}

/* Its answer is `fails`, or whether the cache has two objects; while it looks, the only one is
 * deleted: the server tells of it after it was asked for the mark, and not before. */
static int has_two(void *arg, struct cor_informer *informer)
{
    struct shown *s = arg;
    int n = 0;

    cor_informer_each(informer, COR_STR(""), NULL, count, &n);
    snprintf(s->text, sizeof(s->text), "%d of %zu ", n, cor_informer_len(informer));
    if (n == 1)
        assert_int_equal(cor_client_get_path(s->client, "/mark", 0, read_nothing, NULL, NULL), 0);
    if (n == 1)
        assert_int_equal(cor_informer_wait_for_version(informer, COR_STR("18"), PATIENCE_MS), 0);
    return s->fails ? s->fails : n == 2;
}

/* Contract client 1.25.3: client-go's TestUntilWithSync. What happens meanwhile is not missed. */
TEST(until, a_precondition_looks_at_the_cache_before_any_condition)
{
    static const struct script_answer answers[] = {
        {.to = "resourceVersion=17",
         .body = EVENT("DELETED", MAP("one", "18")),
         .stays_open = true,
         .after = "/mark"},
        {.to = "resourceVersion=17", .status = 429, .body = STATUS("429", "TooManyRequests")},
        {.to = "/mark", .body = "{}"},
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5") "," MAP("two", "6")), .times = 2},
        {.to = "configmaps", .body = LIST("17", MAP("one", "5"))},
    };

    FOR_EACH_KIND(kind)
    {
        struct shown enough = {0}, failed = {.fails = -COR_ECORRUPT}, waited = {0},
                     refused = {.fails = -COR_ETOOBIG};
        struct cor_sync_until_opts opts = sync_opts(&enough);
        struct cor_object *last = NULL;
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        waited.client = w.client;
        opts.precondition = has_two;
        assert_int_equal(cor_client_sync_until(w.client, &opts, &last, NULL), 0);
        assert_null(last);
        assert_string_equal(enough.text, "2 of 2 ");
        opts.arg = &failed;
        assert_int_equal(cor_client_sync_until(w.client, &opts, &last, NULL), -COR_ECORRUPT);
        opts.arg = &waited;
        assert_int_equal(cor_client_sync_until(w.client, &opts, &last, NULL), 0);
        assert_string_equal(waited.text, "1 of 1 1one 2one 3one 3one ");
        assert_str(cor_object_resource_version(last), "18");
        cor_object_unref(last);
        opts.arg = &refused;
        opts.precondition = NULL;
        assert_int_equal(cor_client_sync_until(w.client, &opts, &last, NULL), -COR_ETOOBIG);
        assert_string_equal(refused.text, "1one ");
        world_end(&w);
        script_end(&script);
    }
}

/* Contract client 1.25.3, 1.25.4: the deletion was missed, and is told with the last state that was
 * known. Bookmarks are not told. */
TEST(until, a_cache_survives_what_a_watch_does_not)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true",
         .body = EVENT("BOOKMARK", MAP("", "8")) EVENT("MODIFIED", MAP("one", "9")) EXPIRED,
         .times = 1},
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5")), .times = 1},
        {.to = "configmaps", .body = LIST("20", "")},
    };

    FOR_EACH_KIND(kind)
    {
        struct shown shown = {0};
        struct cor_sync_until_opts opts = sync_opts(&shown);
        struct cor_object *last = NULL;
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_sync_until(w.client, &opts, &last, NULL), 0);
        assert_string_equal(shown.text, "1one 2one 3one 3one 3one ");
        assert_str(cor_object_resource_version(last), "9");
        cor_object_unref(last);
        world_end(&w);
        script_end(&script);
    }
}

#define MANY 1000

static int is_last_in_order(void *arg, const struct cor_watch_event *event)
{
    long rv = strtol(cor_object_resource_version(event->object).p, NULL, 10);
    long *before = arg;

    if (rv != *before + 1)
        return -COR_ECORRUPT;
    *before = rv;
    return rv == 100 + MANY - 10;
}

/* Contract client 1.25.4: client-go's OrdersEvents and TestEventProcessorExit; some are left over.
 */
TEST(until, events_of_a_cache_come_in_order_and_an_end_leaves_the_rest)
{
    static const cor_watch_condition_fn in_order[] = {is_last_in_order};
    static char body[MANY * 160];
    const struct script_answer answers[] = {
        {.to = "watch=true", .body = body, .stays_open = true},
        {.to = "configmaps", .body = LIST("100", MAP("one", "100"))},
    };
    size_t at = 0;

    for (int i = 1; i <= MANY; i++)
        at += (size_t)snprintf(body + at, sizeof(body) - at, EVENT("MODIFIED", MAP("one", "%d")),
                               100 + i);
    assert_true(at < sizeof(body));
    FOR_EACH_KIND(kind)
    {
        long before = 99;
        struct cor_sync_until_opts opts = sync_opts(NULL);
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        opts.conditions = in_order;
        opts.n = 1;
        opts.arg = &before;
        assert_int_equal(cor_client_sync_until(w.client, &opts, NULL, NULL), 0);
        assert_int_equal(before, 100 + MANY - 10);
        world_end(&w);
        script_end(&script);
    }
}

/* Who waits in vain learns why. */
TEST(until, a_wait_for_a_cache_has_a_deadline)
{
    static const struct script_answer answers[] = {
        {.to = "configmaps", .status = 403, .body = STATUS("403", "Forbidden")}};

    FOR_EACH_KIND(kind)
    {
        struct shown shown = {0};
        struct cor_sync_until_opts opts = sync_opts(&shown);
        struct cor_status why;
        struct script script;
        struct world w;

        cor_status_init(&why);
        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        for (int i = 0; i < 2; i++) {
            opts.precondition = i == 0 ? has_two : NULL;
            opts.timeout_ms = 10;
            do {
                opts.timeout_ms *= 2;
                assert_true(opts.timeout_ms < PATIENCE_MS);
                assert_int_equal(cor_client_sync_until(w.client, &opts, NULL, &why), -COR_ETIMEOUT);
                assert_non_null(
                    strstr(cor_status_message(&why), "conditions were not met in time"));
            } while (!strstr(cor_status_message(&why), "the last failure: "));
        }
        assert_string_equal(shown.text, "");
        opts.n = 0;
        assert_int_equal(cor_client_sync_until(w.client, &opts, NULL, &why), -COR_EINVAL);
        opts = sync_opts(&shown);
        opts.scope = &no_resource;
        assert_int_equal(cor_client_sync_until(w.client, &opts, NULL, &why), -COR_EINVAL);
        opts.scope = NULL;
        assert_int_equal(cor_client_sync_until(w.client, &opts, NULL, &why), -COR_EINVAL);
        cor_status_deinit(&why);
        world_end(&w);
        script_end(&script);
    }
}

static int wait_inside(void *arg, const struct cor_watch_event *event)
{
    struct cor_sync_until_opts opts = sync_opts(NULL);

    return cor_client_sync_until(((struct world *)arg)->client, &opts, NULL, NULL);
}

TEST(until, a_wait_inside_a_callback_is_refused)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = EVENT("ADDED", MAP("one", "6")), .stays_open = true}};
    static const cor_watch_condition_fn inside[] = {wait_inside};

    FOR_EACH_KIND(kind)
    {
        const struct cor_request req = watch_from("5", false);
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        assert_int_equal(cor_client_watch_until(w.client, &req, inside, 1, &w, NULL, NULL),
                         -COR_EINVAL);
        world_end(&w);
        script_end(&script);
    }
}

struct inside {
    struct cor_client *client;
    struct shown shown;
    sem_t told;
    int r;
};

static void wait_in_handler(void *arg, struct cor_object *object, bool in_initial_list)
{
    struct inside *in = arg;
    struct cor_sync_until_opts opts = sync_opts(&in->shown);

    opts.timeout_ms = 1;
    in->r = cor_client_sync_until(in->client, &opts, NULL, NULL);
    sem_post(&in->told);
}

/* It has the only thread that the handler of its own cache could run on. */
TEST(until, a_wait_for_a_cache_inside_a_handler_is_refused)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    };
    const struct cor_runtime_opts one_thread = {COR_RUNTIME_OPTS, .handler_threads = 1};
    const struct cor_informer_opts scope = {COR_INFORMER_OPTS, .resource = configmaps,
                                            .ns = "default"};
    struct inside in = {0};
    const struct cor_handler_opts on = {COR_HANDLER_DEFAULTS,
                                        .on = {.on_add = wait_in_handler, .arg = &in}};
    struct cor_informers *set;
    struct cor_informer *informer;
    struct cor_runtime *rt;
    struct script script;

    SCRIPT_BEGIN(&script, answers);
    const struct cor_client_config config = {.server = script.url};
    const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};

    sem_init(&in.told, 0, 0);
    assert_int_equal(cor_runtime_new(&one_thread, &rt), 0);
    assert_int_equal(cor_client_new(rt, &opts, &in.client, NULL), 0);
    assert_int_equal(cor_informers_new(in.client, NULL, &set), 0);
    assert_int_equal(cor_informers_for_resource(set, &scope, &informer, NULL), 0);
    assert_int_equal(cor_informer_add_handler(informer, &on, NULL), 0);
    cor_informers_start(set);
    sem_wait(&in.told);
    assert_int_equal(in.r, -COR_EINVAL);
    cor_informers_free(set);
    cor_client_free(in.client);
    cor_runtime_free(rt);
    sem_destroy(&in.told);
    script_end(&script);
}

TEST(until, the_longest_timeout_of_a_wait_for_a_cache_does_not_pass_at_once)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = EVENT("DELETED", MAP("one", "18")), .stays_open = true},
        {.to = "configmaps", .body = LIST("17", MAP("one", "5"))},
    };

    FOR_EACH_KIND(kind)
    {
        struct shown shown = {0};
        struct cor_sync_until_opts opts = sync_opts(&shown);
        struct script script;
        struct world w;

        SCRIPT_BEGIN(&script, answers);
        world_begin_at(&w, kind, script.url);
        opts.timeout_ms = UINT64_MAX - 1;
        assert_int_equal(cor_client_sync_until(w.client, &opts, NULL, NULL), 0);
        world_end(&w);
        script_end(&script);
    }
}

TEST(until, a_wait_for_a_cache_begins_or_not_when_memory_runs_out)
{
    static const struct script_answer answers[] = {{.to = "configmaps", .is_silent = true}};
    struct shown shown = {0};
    struct cor_sync_until_opts opts = sync_opts(&shown);
    struct script script;
    struct world w;

    SCRIPT_BEGIN(&script, answers);
    world_begin_at(&w, COR_RUNTIME_PUMPED, script.url);
    opts.timeout_ms = 1;
    for (int i = 0; i < 2; i++) {
        opts.precondition = i == 0 ? NULL : has_two;
        FOR_EACH_FAILED_ALLOC(n) {
            struct cor_status why;
            int r;

            cor_status_init(&why);
            r = cor_client_sync_until(w.client, &opts, NULL, &why);
            test_fail_alloc(0, false);
            assert_true(r == -COR_ETIMEOUT || (r == -COR_ENOMEM && test_alloc_failed()));
            assert_int_equal(why.err, r);
            cor_status_deinit(&why);
        }
    }
    world_end(&w);
    script_end(&script);
}
