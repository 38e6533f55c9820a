/* What the library does not write to any log is told to who asks: informers' reports, and errors of
 * an election. On both kinds of runtime, with a server of the test's own. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "configmap_words.h"
#include "script.h"
#include "world.h"

struct reports {
    atomic_int n[COR_REFLECTOR_SLOW_CHANGE + 1];
    char refused[128], failed[128];
};

static void on_report(void *arg, struct cor_str plural, enum cor_reflector_report what,
                      const struct cor_status *status)
{
    struct reports *r = arg;

    assert_str(plural, "configmaps");
    if (what == COR_REFLECTOR_CHANGE_REFUSED)
        snprintf(r->refused, sizeof(r->refused), "%s", cor_status_message(status));
    if (what == COR_REFLECTOR_STORE_FAILED)
        snprintf(r->failed, sizeof(r->failed), "%s", cor_status_message(status));
    atomic_fetch_add(&r->n[what], 1);
}

static int refuse_bad(void *arg, struct cor_object **object, struct cor_status *reterr)
{
    return cor_str_eqz(cor_object_name(*object), "bad") ? -COR_EINVALID : 0;
}

static int by_name(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    if (cor_str_eqz(cor_object_name(object), "odd"))
        return -COR_EINVALID;
    return cor_index_values_add(out, cor_object_name(object));
}

static bool has_all(void *arg)
{
    struct reports *r = arg;

    return atomic_load(&r->n[COR_REFLECTOR_STORE_FAILED]) > 0 &&
           atomic_load(&r->n[COR_REFLECTOR_CHANGE_REFUSED]) > 0;
}

static bool has_good(void *arg)
{
    return cor_informer_len(arg) == 2;
}

TEST(reports, objects_that_are_left_out_are_told_of)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true",
         .body = EVENT("ADDED", MAP("bad", "6")) EVENT("ADDED", MAP("odd", "7"))
             EVENT("ADDED", MAP("two", "8")),
         .stays_open = true},
        {.to = "configmaps",
         .body = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"metadata\":{"
                 "\"resourceVersion\":\"5\"},\"items\":[" MAP("one", "4") "]}"},
    };
    const struct cor_index_def index = {COR_STR("name"), by_name, NULL};
    const struct cor_informer_opts of_configmaps = {COR_INFORMER_OPTS, .resource = configmaps,
                                                    .transform = refuse_bad};

    FOR_EACH_KIND(kind)
    {
        struct reports reports = {0};
        const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .on_report = on_report,
                                                .arg = &reports};
        struct cor_informers *set;
        struct cor_informer *inf;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_informers_new(w.client, &opts, &set), 0);
        assert_int_equal(cor_informers_for_resource(set, &of_configmaps, &inf, NULL), 0);
        assert_int_equal(cor_informer_add_indexes(inf, &index, 1), 0);
        cor_informers_start(set);
        world_run(&w, has_all, &reports);
        world_run(&w, has_good, inf);
        assert_non_null(strstr(reports.refused, "default/odd"));
        assert_true(reports.failed[0] != '\0');
        cor_informers_free(set);
        world_end(&w);
        script_end(&s);
    }
}

struct candidate {
    atomic_int nerrors;
    int code;
};

static void ignore(void *arg)
{
}

static void on_error(void *arg, const struct cor_status *error)
{
    struct candidate *c = arg;

    c->code = error->code;
    atomic_fetch_add(&c->nerrors, 1);
}

static bool has_errors(void *arg)
{
    return atomic_load(&((struct candidate *)arg)->nerrors) >= 2;
}

/* Contract client 4.2.20: a request on a Lease has half of the renew deadline. */
TEST(reports, a_lease_that_is_forbidden_is_told_of)
{
    static const struct script_answer answers[] = {
        {.to = "leases",
         .body = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\","
                 "\"code\":403}",
         .status = 403},
    };

    FOR_EACH_KIND(kind)
    {
        struct candidate c = {0};
        const struct cor_election_opts opts = {
            COR_ELECTION_OPTS,    .ns = "default",      .name = "lock",
            .identity = "a",      .retry_ms = 10,       .on_started = ignore,
            .on_stopped = ignore, .on_error = on_error, .arg = &c};
        struct cor_election *election;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_election_new(w.client, &opts, &election, NULL), 0);
        world_run(&w, has_errors, &c);
        assert_int_equal(c.code, 403);
        assert_true(script_count(&s, "timeout=5s") >= 2);
        assert_false(cor_election_is_stale(election, 0));
        cor_election_free(election);
        world_end(&w);
        script_end(&s);
    }
}

static void on_flag(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

static bool is_set(void *arg)
{
    return atomic_load((atomic_bool *)arg);
}

static bool is_stale(void *arg)
{
    return cor_election_is_stale(arg, 0);
}

/* Contract client 4.2.16, 4.2.17, 4.2.20. The lease is made, as often as it takes until the answer
 * comes in time, and cannot be renewed. */
TEST(reports, a_leader_that_cannot_renew_is_known_and_becomes_stale)
{
    static const struct script_answer answers[] = {
        {.to = "POST",
         .body = "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
                 "\"name\":\"lock\",\"namespace\":\"default\",\"resourceVersion\":\"1\"}}",
         .status = 201},
        {.to = "PUT", .body = "", .status = 500},
        {.to = "GET", .body = "", .status = 500, .after = "PUT"},
        {.to = "GET", .body = "{}", .status = 404},
    };

    FOR_EACH_KIND(kind)
    {
        atomic_bool over = false;
        const struct cor_election_opts opts = {
            COR_ELECTION_OPTS,     .ns = "default", .name = "lock", .identity = "candidate",
            .lease_ms = 1000,      .renew_ms = 500, .retry_ms = 50, .on_started = ignore,
            .on_stopped = on_flag, .arg = &over};
        struct cor_election *election;
        char leader[5], whole[32];
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_election_new(w.client, &opts, &election, NULL), 0);
        world_run(&w, is_set, (void *)&over);
        assert_false(cor_election_is_leader(election));
        assert_int_equal(cor_election_leader(election, whole, sizeof(whole)), 9);
        assert_string_equal(whole, "candidate");
        assert_int_equal(cor_election_leader(election, leader, sizeof(leader)), 9);
        assert_string_equal(leader, "cand");
        assert_int_equal(script_count(&s, "timeout=1s"), script_count(&s, "leases"));
        world_run(&w, is_stale, election);
        assert_false(cor_election_is_stale(election, 10 * PATIENCE_MS));
        cor_election_free(election);
        world_end(&w);
        script_end(&s);
    }
}

struct resyncs {
    atomic_int n;
};

static void on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    atomic_fetch_add(&((struct resyncs *)arg)->n, 1);
}

static bool is_resynced(void *arg)
{
    return atomic_load(&((struct resyncs *)arg)->n) > 1;
}

/* Contract client 3.1.2: a period of its own, where the set has none. */
TEST(reports, an_informer_may_have_a_resync_of_its_own)
{
    static const struct script_answer answers[] = {
        {.to = "watch=true", .body = "", .stays_open = true},
        {.to = "configmaps",
         .body = "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"metadata\":{"
                 "\"resourceVersion\":\"5\"},\"items\":[" MAP("one", "4") "]}"},
    };
    const struct cor_informer_opts of_configmaps = {COR_INFORMER_OPTS, .resource = configmaps,
                                                    .resync_ms = 1000};

    FOR_EACH_KIND(kind)
    {
        struct resyncs resyncs = {0};
        struct cor_handler_opts handler = cor_handler_defaults();
        struct cor_informers *set;
        struct cor_informer *inf;
        struct script s;
        struct world w;

        SCRIPT_BEGIN(&s, answers);
        world_begin_at(&w, kind, s.url);
        assert_int_equal(cor_informers_new(w.client, NULL, &set), 0);
        assert_int_equal(cor_informers_for_resource(set, &of_configmaps, &inf, NULL), 0);
        handler.on.on_update = on_update;
        handler.on.arg = &resyncs;
        assert_int_equal(cor_informer_add_handler(inf, &handler, NULL), 0);
        cor_informers_start(set);
        world_run(&w, is_resynced, &resyncs);
        assert_int_equal(script_count(&s, "limit=500"), 1);
        cor_informers_free(set);
        world_end(&w);
        script_end(&s);
    }
}

struct lines {
    pthread_mutex_t lock;
    char text[1 << 14];
};

static void on_log(void *arg, enum cor_severity severity, const char *line)
{
    struct lines *l = arg;
    size_t n;

    pthread_mutex_lock(&l->lock);
    n = strlen(l->text);
    snprintf(l->text + n, sizeof(l->text) - n, "%c %s\n", "DIWE"[severity], line);
    pthread_mutex_unlock(&l->lock);
}

static bool has_lines(void *arg)
{
    static const char *const wanted[] = {
        "E informer of configmaps in default: change refused: ",
        "W informer of boats.example.com: failed to list boats: ",
        "W the server warns: unknown field \"sea\"",
        "I lease default/boat: the leader is me",
    };
    struct lines *l = arg;
    bool has_all_lines = true;

    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < COR_ARRAY_LEN(wanted); i++)
        has_all_lines = has_all_lines && strstr(l->text, wanted[i]);
    pthread_mutex_unlock(&l->lock);
    return has_all_lines;
}

static void send_unknown_field(struct cor_client *client)
{
    const struct cor_raw_request req = {
        COR_RAW_REQUEST, .method = "POST", .path = "/api/v1/namespaces/default/configmaps",
        .body = COR_STR("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
                        "\"odd\"},\"sea\":1}")};

    assert_int_equal(cor_client_raw(client, &req, NULL, NULL, NULL, NULL), 0);
}

/* One function of the runtime hears of its informers, clients and elections. */
TEST(reports, the_log_of_a_runtime_has_what_client_go_logs)
{
    FOR_EACH_KIND(kind)
    {
        struct lines lines = {.lock = PTHREAD_MUTEX_INITIALIZER};
        const struct cor_runtime_opts logs = {COR_RUNTIME_OPTS, .kind = kind, .on_log = on_log,
                                              .log_arg = &lines};
        const struct cor_informer_opts maps = {COR_INFORMER_OPTS, .resource = configmaps,
                                               .ns = "default"};
        const struct cor_informer_opts boats = {COR_INFORMER_OPTS,
                                                .resource = {"example.com", "v1", "boats"}};
        const struct cor_election_opts lease = {COR_ELECTION_OPTS,    .ns = "default",
                                                .name = "boat",       .identity = "me",
                                                .on_started = ignore, .on_stopped = ignore};
        const struct cor_index_def index = {COR_STR("name"), by_name, NULL};
        struct cor_client_opts opts = {COR_CLIENT_OPTS, .qps = -1};
        struct cor_election *election;
        struct cor_informers *set;
        struct cor_informer *inf;
        struct world w, logged;

        world_begin(&w, kind);
        opts.config = &w.config;
        logged = w;
        assert_int_equal(cor_runtime_new(&logs, &logged.rt), 0);
        assert_int_equal(cor_client_new(logged.rt, &opts, &logged.client, NULL), 0);
        assert_int_equal(cor_informers_new(logged.client, NULL, &set), 0);
        assert_int_equal(cor_informers_for_resource(set, &maps, &inf, NULL), 0);
        assert_int_equal(cor_informer_add_indexes(inf, &index, 1), 0);
        assert_int_equal(cor_informers_for_resource(set, &boats, &inf, NULL), 0);
        cor_informers_start(set);
        assert_int_equal(cor_election_new(logged.client, &lease, &election, NULL), 0);
        send_unknown_field(logged.client);
        world_run(&logged, has_lines, &lines);
        cor_election_free(election);
        cor_informers_free(set);
        cor_client_free(logged.client);
        cor_runtime_free(logged.rt);
        world_end(&w);
    }
}
