/* Leader election of the public API on Leases of a real server, on both kinds of runtime. */
#include <stdatomic.h>
#include <stdio.h>

#include "script.h"
#include "world.h"

struct candidate {
    struct cor_election *election;
    atomic_int started, stopped, heard;
    char leader[64];
};

static void on_started(void *arg)
{
    atomic_fetch_add(&((struct candidate *)arg)->started, 1);
}

static void on_stopped(void *arg)
{
    atomic_fetch_add(&((struct candidate *)arg)->stopped, 1);
}

static void on_new_leader(void *arg, const char *identity)
{
    struct candidate *c = arg;

    snprintf(c->leader, sizeof(c->leader), "%s", identity);
    atomic_fetch_add(&c->heard, 1);
}

static struct cor_election_opts candidacy(struct candidate *c, const char *identity)
{
    return (struct cor_election_opts){COR_ELECTION_OPTS,
                                      .ns = "default",
                                      .name = "lock",
                                      .identity = identity,
                                      .lease_ms = 2 * PATIENCE_MS,
                                      .renew_ms = PATIENCE_MS,
                                      .retry_ms = 50,
                                      .release_on_cancel = true,
                                      .on_started = on_started,
                                      .on_stopped = on_stopped,
                                      .on_new_leader = on_new_leader,
                                      .arg = c};
}

static void begin(struct world *w, struct candidate *c, const char *identity)
{
    const struct cor_election_opts opts = candidacy(c, identity);

    memset(c, 0, sizeof(*c));
    assert_int_equal(cor_election_new(w->client, &opts, &c->election, NULL), 0);
}

static bool leads(void *arg)
{
    return atomic_load(&((struct candidate *)arg)->started) > 0;
}

static bool has_heard(void *arg)
{
    return atomic_load(&((struct candidate *)arg)->heard) > 0;
}

static bool is_asked_twice(void *arg)
{
    return script_count(arg, "GET") >= 2;
}

TEST(elections, one_leads_and_the_next_takes_over)
{
    FOR_EACH_KIND(kind)
    {
        struct world w;
        struct candidate a, b;

        world_begin(&w, kind);
        begin(&w, &a, "a \"quoted\"");
        world_run(&w, leads, &a);
        assert_true(cor_election_is_leader(a.election));
        begin(&w, &b, "b");
        world_run(&w, has_heard, &b);
        assert_string_equal(b.leader, "a \"quoted\"");
        assert_false(cor_election_is_leader(b.election));
        assert_int_equal(b.started, 0);
        assert_null(cor_election_free(a.election));
        assert_int_equal(a.stopped, 1);
        world_run(&w, leads, &b);
        cor_election_cancel(b.election);
        cor_election_cancel(b.election);
        assert_null(cor_election_free(b.election));
        assert_int_equal(b.stopped, 1);
        world_end(&w);
    }
}

TEST(elections, a_lease_says_who_leads)
{
    struct world w;
    struct candidate a;
    struct cor_object *lease;
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET,
                                    .resource = {"coordination.k8s.io", "v1", "leases"},
                                    .ns = "default", .name = "lock"};

    world_begin(&w, COR_RUNTIME_THREADS);
    begin(&w, &a, "a");
    world_run(&w, leads, &a);
    assert_int_equal(cor_client_do(w.client, &get, &lease, NULL), 0);
    assert_non_null(strstr(cor_object_json(lease).p, "\"holderIdentity\":\"a\""));
    assert_non_null(strstr(cor_object_json(lease).p, "\"leaseDurationSeconds\":120"));
    cor_object_unref(lease);
    cor_election_free(a.election);
    assert_int_equal(cor_client_do(w.client, &get, &lease, NULL), 0);
    assert_non_null(strstr(cor_object_json(lease).p, "\"holderIdentity\":\"\""));
    cor_object_unref(lease);
    world_end(&w);
}

static size_t count(struct world *w, const char *text)
{
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST,
                                    .resource = {"", "v1", "events"}, .ns = "default"};
    struct cor_object_list list;
    size_t n = 0;

    assert_int_equal(cor_client_list(w->client, &req, &list, NULL), 0);
    for (size_t i = 0; i < list.n; i++)
        n += strstr(cor_object_json(list.items[i]).p, text) != NULL;
    cor_object_list_deinit(&list);
    return n;
}

/* Contract client 4.2.18, 4.2.19. */
TEST(elections, label_the_lease_and_tell_of_themselves)
{
    static const struct cor_string_pair labels[] = {{(char *)"app", (char *)"test"}};
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET,
                                    .resource = {"coordination.k8s.io", "v1", "leases"},
                                    .ns = "default", .name = "lock"};
    struct world w;
    struct candidate a = {0};
    struct cor_election_opts opts = candidacy(&a, "a");
    struct cor_object *lease;

    world_begin(&w, COR_RUNTIME_THREADS);
    opts.labels = labels;
    opts.nlabels = 1;
    assert_int_equal(
        cor_events_new(w.client, &(struct cor_events_opts){COR_EVENTS_OPTS, .component = "elector"},
                       &opts.events),
        0);
    assert_int_equal(cor_election_new(w.client, &opts, &a.election, NULL), 0);
    world_run(&w, leads, &a);
    assert_int_equal(cor_client_do(w.client, &get, &lease, NULL), 0);
    assert_non_null(strstr(cor_object_json(lease).p, "\"labels\":{\"app\":\"test\"}"));
    cor_object_unref(lease);
    cor_election_free(a.election);
    cor_events_free(opts.events);
    assert_int_equal(count(&w, "\"message\":\"a became leader\""), 1);
    assert_int_equal(count(&w, "\"message\":\"a stopped leading\""), 1);
    world_end(&w);
}

TEST(elections, options_that_cannot_be_are_refused)
{
    struct world w;
    struct candidate c;
    struct cor_election *election;
    struct cor_election_opts opts = candidacy(&c, "a");
    struct cor_status why;

    cor_status_init(&why);
    world_begin(&w, COR_RUNTIME_THREADS);
    opts.renew_ms = opts.lease_ms;
    assert_int_equal(cor_election_new(w.client, &opts, &election, &why), -COR_EINVAL);
    opts = candidacy(&c, "a");
    opts.name = NULL;
    assert_int_equal(cor_election_new(w.client, &opts, &election, &why), -COR_EINVAL);
    opts = candidacy(&c, "a");
    opts.on_stopped = NULL;
    assert_int_equal(cor_election_new(w.client, &opts, &election, &why), -COR_EINVAL);
    assert_null(cor_election_free(NULL));
    cor_status_deinit(&why);
    world_end(&w);
}

/* The pauses of an election are by the runtime's clock, here one that only the test moves. */
TEST(elections, wait_by_the_clock_of_their_runtime)
{
    static const struct script_answer answers[] = {
        {.to = "leases/lock",
         .body = "{\"kind\":\"Lease\",\"apiVersion\":\"coordination.k8s.io/v1\",\"metadata\":{"
                 "\"name\":\"lock\",\"namespace\":\"default\",\"resourceVersion\":\"5\"},"
                 "\"spec\":{\"holderIdentity\":\"other\",\"leaseDurationSeconds\":3600}}"},
    };
    struct cor_runtime_opts runtime = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};
    struct cor_client_opts client = {COR_CLIENT_OPTS, .qps = -1};
    struct cor_clock_manual *clock;
    struct candidate a = {0};
    struct cor_election_opts opts = candidacy(&a, "a");
    struct script script;
    struct world w = {0};

    SCRIPT_BEGIN(&script, answers);
    assert_int_equal(cor_clock_manual_new(&clock), 0);
    runtime.clock = cor_clock_manual_peek(clock);
    assert_int_equal(cor_runtime_new(&runtime, &w.rt), 0);
    assert_int_equal(cor_client_config_set(&w.config.server, script.url), 0);
    client.config = &w.config;
    assert_int_equal(cor_client_new(w.rt, &client, &w.client, NULL), 0);
    opts.retry_ms = PATIENCE_MS / 2;
    assert_int_equal(cor_election_new(w.client, &opts, &a.election, NULL), 0);
    world_run(&w, has_heard, &a);
    assert_string_equal(a.leader, "other");
    assert_int_equal(script_count(&script, "GET"), 1);
    cor_clock_manual_advance(clock, 3 * opts.retry_ms); /* more than 2.2 of them */
    world_run(&w, is_asked_twice, &script);
    cor_election_free(a.election);
    cor_client_free(w.client);
    cor_runtime_free(w.rt);
    cor_client_config_deinit(&w.config);
    cor_clock_manual_free(clock);
    script_end(&script);
}
