/* What the options of a set of informers change, seen in what is asked and heard, on both kinds of
 * runtime. The server is the test's own, but where an option needs none. */
#include <stdio.h>

#include "configmap_words.h"
#include "ear.h"
#include "script.h"

#define END_OF_INITIAL                                                                             \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"resourceVersion\":\"7\","       \
    "\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}"

struct set {
    struct world w;
    struct script script;
    struct cor_informers *informers;
    struct cor_informer *inf;
    struct ear ear;
};

static void start(struct set *s, const struct cor_informers_opts *opts)
{
    const struct cor_informer_opts of_configmaps = {COR_INFORMER_OPTS, .resource = configmaps,
                                                    .ns = "default"};
    struct cor_handler_opts handler;

    ear_init(&s->ear);
    handler = ear_opts(&s->ear);
    assert_int_equal(cor_informers_new(s->w.client, opts, &s->informers), 0);
    assert_int_equal(cor_informers_for_resource(s->informers, &of_configmaps, &s->inf, NULL), 0);
    assert_int_equal(cor_informer_add_handler(s->inf, &handler, NULL), 0);
    cor_informers_start(s->informers);
}

static void end(struct set *s)
{
    cor_informers_free(s->informers);
    world_end(&s->w);
    if (s->script.server)
        script_end(&s->script);
}

TEST(informer_options, a_silent_watch_is_given_up_without_a_list)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = "", .stays_open = true, .times = 1},
        {.to = "watch=true", .is_silent = true, .times = 1},
        {.to = "watch=true", .body = EVENT("ADDED", MAP("two", "8")), .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    };
    const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .watch_silence_ms = 100};

    FOR_EACH_KIND(kind)
    {
        struct set s;

        SCRIPT_BEGIN(&s.script, answers);
        world_begin_at(&s.w, kind, s.script.url);
        start(&s, &opts);
        ear_await_part(&s.ear, &s.w, "!one +two ");
        assert_int_equal(script_count(&s.script, "limit=500"), 1);
        end(&s);
    }
}

TEST(informer_options, the_first_state_is_streamed_when_that_is_wanted)
{
    static const struct script_answer answers[] = {
        {.to = "sendInitialEvents=true",
         .body = EVENT("ADDED", MAP("one", "5")) EVENT("BOOKMARK", END_OF_INITIAL),
         .stays_open = true},
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    };

    FOR_EACH_KIND(kind)
    {
        for (int streamed = 0; streamed <= 1; streamed++) {
            const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .stream_initial = streamed};
            struct set s;

            SCRIPT_BEGIN(&s.script, answers);
            world_begin_at(&s.w, kind, s.script.url);
            start(&s, &opts);
            ear_await(&s.ear, &s.w, "!one ");
            assert_int_equal(cor_informers_wait_for_sync(s.informers, PATIENCE_MS, NULL), 0);
            assert_int_equal(script_count(&s.script, "sendInitialEvents=true"), streamed);
            assert_int_equal(script_count(&s.script, "limit=500"), !streamed);
            end(&s);
        }
    }
}

TEST(informer_options, a_server_that_cannot_stream_the_first_state_is_listed)
{
    static const struct script_answer answers[] = {
        {.to = "sendInitialEvents=true", .body = STATUS("422", "Invalid"), .status = 422},
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5"))},
    };
    const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .stream_initial = true};

    FOR_EACH_KIND(kind)
    {
        struct set s;

        SCRIPT_BEGIN(&s.script, answers);
        world_begin_at(&s.w, kind, s.script.url);
        start(&s, &opts);
        ear_await(&s.ear, &s.w, "!one ");
        assert_int_equal(script_count(&s.script, "sendInitialEvents=true"), 1);
        assert_int_equal(script_count(&s.script, "limit=500"), 1);
        end(&s);
    }
}

/* Of what a second list lacks, the deletions come before it in order, and after it by key. */
TEST(informer_options, changes_wait_in_order_or_gathered_by_key)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = EVENT("ERROR", STATUS("410", "Expired")), .times = 1},
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "5")), .times = 1},
        {.to = "configmaps", .body = LIST("9", MAP("two", "8"))},
    };

    FOR_EACH_KIND(kind)
    {
        for (enum cor_informer_fifo fifo = COR_INFORMER_FIFO_IN_ORDER;
             fifo <= COR_INFORMER_FIFO_DELTA; fifo++) {
            const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .fifo = fifo};
            struct set s;

            SCRIPT_BEGIN(&s.script, answers);
            world_begin_at(&s.w, kind, s.script.url);
            start(&s, &opts);
            ear_await(&s.ear, &s.w,
                      fifo == COR_INFORMER_FIFO_DELTA ? "!one +two -one " : "!one -one +two ");
            end(&s);
        }
    }
}

struct mutations {
    atomic_int none, ntwo; /* how often each object was told of */
};

static void on_mutation(void *arg, const struct cor_object *object)
{
    struct mutations *m = arg;
    bool is_one = cor_str_eqz(cor_object_name(object), "one");

    atomic_fetch_add(is_one ? &m->none : &m->ntwo, 1);
}

static bool one_is_told(void *arg)
{
    return atomic_load(&((struct mutations *)arg)->none) > 0;
}

static bool two_is_told(void *arg)
{
    return atomic_load(&((struct mutations *)arg)->ntwo) > 0;
}

static void write_into(struct set *s, const char *key, const char *rv)
{
    struct cor_object *object;
    char *at;

    assert_int_equal(cor_informer_get_by_key(s->inf, cor_strz(key), &object), 0);
    at = (char *)strstr(cor_object_json(object).p, rv); /* what a program must not do */
    assert_non_null(at);
    at[1]++;
    cor_object_unref(object);
}

/* Contract client 1.21.2: of a cache into which nothing comes, too; and of each object once. The
 * objects are looked at in the order in which they came. */
TEST(informer_options, a_program_that_writes_into_the_cache_is_found)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps", .body = LIST("7", MAP("one", "4") "," MAP("two", "8"))},
    };

    FOR_EACH_KIND(kind)
    {
        struct mutations m = {.none = 0};
        const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .on_mutation = on_mutation,
                                                .arg = &m};
        struct set s;

        SCRIPT_BEGIN(&s.script, answers);
        world_begin_at(&s.w, kind, s.script.url);
        start(&s, &opts);
        ear_await(&s.ear, &s.w, "!one !two ");
        write_into(&s, "default/one", "\"4\"");
        world_run(&s.w, one_is_told, &m);
        write_into(&s, "default/one", "\"5\"");
        write_into(&s, "default/two", "\"8\"");
        world_run(&s.w, two_is_told, &m);
        assert_int_equal(atomic_load(&m.none), 1);
        assert_int_equal(atomic_load(&m.ntwo), 1);
        end(&s);
    }
}
