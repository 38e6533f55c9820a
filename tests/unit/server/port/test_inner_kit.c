/* Programs of the kit that run inside of the server: the same election and the same sender of
 * events as over HTTP, with the server's own port. */
#include "port_fixture.h"

#include <stdio.h>

#include "base/err.h"
#include "kit/election/lease_election.h"
#include "kit/events/event_sender.h"

#define LEASE  "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/sample"
#define EVENTS "/api/v1/namespaces/default/events"

struct candidate {
    struct pfx *p;
    struct cor_lease_election *e;
    uint64_t wake_at_ms;
    char leader[32];
    bool has_started, has_stopped;
    int err;
};

static void candidate_on_wake_at(void *arg, uint64_t at_ms)
{
    ((struct candidate *)arg)->wake_at_ms = at_ms;
}

static void candidate_on_started(void *arg)
{
    ((struct candidate *)arg)->has_started = true;
}

static void candidate_on_stopped(void *arg)
{
    ((struct candidate *)arg)->has_stopped = true;
}

static void candidate_on_new_leader(void *arg, const char *identity)
{
    snprintf(((struct candidate *)arg)->leader, sizeof(((struct candidate *)arg)->leader), "%s",
             identity);
}

static void candidate_on_error(void *arg, const struct cor_status *error)
{
    ((struct candidate *)arg)->err = error->err;
}

static void candidate_begin(struct candidate *c, struct pfx *p, const char *identity)
{
    const struct cor_lease_election_opts opts = {.port = &p->ip.port,
                                                 .clock = &p->a.fx.clock.clock,
                                                 .ns = COR_STR("kube-system"),
                                                 .name = COR_STR("sample"),
                                                 .identity = identity,
                                                 .release_on_cancel = true,
                                                 .wake_at = candidate_on_wake_at,
                                                 .on_started = candidate_on_started,
                                                 .on_stopped = candidate_on_stopped,
                                                 .on_new_leader = candidate_on_new_leader,
                                                 .on_error = candidate_on_error,
                                                 .arg = c};

    *c = (struct candidate){.p = p, .wake_at_ms = UINT64_MAX};
    assert_int_equal(cor_lease_election_new(&opts, &c->e, NULL), 0);
    cor_lease_election_start(c->e);
}

static bool has_started(void *arg)
{
    return ((struct candidate *)arg)->has_started;
}

static bool has_stopped(void *arg)
{
    return ((struct candidate *)arg)->has_stopped;
}

static bool knows_leader(void *arg)
{
    return ((struct candidate *)arg)->leader[0] != '\0';
}

/* Moves the clock to the time at which the candidate wants to be called, and lets it act. */
static void candidate_run_next(struct candidate *c)
{
    uint64_t now_ms = cor_clock_mono_us(&c->p->a.fx.clock.clock) / 1000;

    pfx_wait(c->p, pfx_is_idle, c->p);
    assert_true(c->wake_at_ms != UINT64_MAX);
    if (c->wake_at_ms > now_ms)
        cor_clock_manual_advance_us(&c->p->a.fx.clock, (c->wake_at_ms - now_ms) * 1000);
    cor_lease_election_tick(c->e);
    pfx_wait(c->p, pfx_is_idle, c->p);
}

TEST(inner_kit, a_leader_is_elected_renews_its_lease_and_gives_it_back)
{
    struct candidate one, two;
    struct pfx p;
    const char *before;

    pfx_open(&p, false);
    candidate_begin(&one, &p, "one");
    pfx_wait(&p, has_started, &one);
    before = fx_do(&p.a.fx, 200, "GET", LEASE, "");
    assert_string_equal(fx_at(before, "spec.holderIdentity"), "one");
    candidate_begin(&two, &p, "two");
    pfx_wait(&p, knows_leader, &two);
    assert_string_equal(two.leader, "one");
    assert_false(two.has_started);

    candidate_run_next(&one);
    assert_string_not_equal(
        fx_at(fx_do(&p.a.fx, 200, "GET", LEASE, ""), "metadata.resourceVersion"),
        fx_at(before, "metadata.resourceVersion"));
    assert_true(cor_lease_election_is_leader(one.e));

    cor_lease_election_cancel(one.e, 0);
    pfx_wait(&p, has_stopped, &one);
    assert_string_equal(fx_at(fx_do(&p.a.fx, 200, "GET", LEASE, ""), "spec.holderIdentity"), "");
    for (int i = 0; i < 5 && !two.has_started; i++)
        candidate_run_next(&two);
    assert_true(two.has_started);
    assert_string_equal(fx_at(fx_do(&p.a.fx, 200, "GET", LEASE, ""), "spec.holderIdentity"), "two");
    assert_int_equal(one.err, 0);
    cor_lease_election_cancel(two.e, 0);
    pfx_wait(&p, has_stopped, &two);
    cor_lease_election_free(one.e);
    cor_lease_election_free(two.e);
    pfx_close(&p);
}

TEST(inner_kit, an_election_ends_while_the_server_shuts_down)
{
    struct candidate one;
    struct pfx p;

    pfx_open(&p, false);
    candidate_begin(&one, &p, "one");
    pfx_wait(&p, has_started, &one);
    cor_inner_port_drain(&p.ip);
    cor_lease_election_cancel(one.e, 1);
    if (!one.has_stopped) {
        pfx_wait(&p, pfx_is_idle, &p);
        cor_clock_manual_advance_us(&p.a.fx.clock, 60000 * 1000);
        cor_lease_election_tick(one.e);
    }
    pfx_wait(&p, has_stopped, &one);
    cor_lease_election_free(one.e);
    pfx_close(&p);
}

struct recorder {
    struct cor_event_sender *sender;
    int ngiven_up;
    bool is_idle;
};

static void recorder_on_wake_at(void *arg, uint64_t at_ms)
{
}

static void recorder_on_ready(void *arg)
{
}

static void recorder_on_given_up(void *arg, const struct cor_event *event, int r)
{
    ((struct recorder *)arg)->ngiven_up++;
}

static void recorder_on_idle(void *arg)
{
    ((struct recorder *)arg)->is_idle = true;
}

static bool is_idle(void *arg)
{
    return ((struct recorder *)arg)->is_idle;
}

static void record_twice(struct pfx *p, bool series)
{
    struct recorder r = {0};
    const struct cor_event_sender_opts opts = {.port = &p->ip.port,
                                               .timeout_ms = 30000,
                                               .component = COR_STR("sample"),
                                               .host = COR_STR("n1"),
                                               .instance = COR_STR("sample-n1"),
                                               .series = series,
                                               .clock = &p->a.fx.clock.clock,
                                               .wake_at = recorder_on_wake_at,
                                               .on_ready = recorder_on_ready,
                                               .on_given_up = recorder_on_given_up,
                                               .on_idle = recorder_on_idle,
                                               .arg = &r};
    struct cor_object *about = NULL;
    struct cor_event_told told = {
        .reason = "Synced", .message = "made", .action = "Sync", .type = COR_EVENT_NORMAL};

    assert_int_equal(
        cor_object_from_json(COR_STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                                     "\"name\":\"web\",\"namespace\":\"default\"}}"),
                             &about, NULL),
        0);
    told.about = about;
    assert_int_equal(cor_event_sender_new(&opts, &r.sender), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cor_event_sender_record(r.sender, &told), 0);
    cor_event_sender_step(r.sender);
    pfx_wait(p, pfx_is_idle, p);
    cor_event_sender_shutdown(r.sender);
    cor_event_sender_step(r.sender);
    pfx_wait(p, is_idle, &r);
    assert_int_equal(r.ngiven_up, 0);
    cor_event_sender_free(r.sender);
    cor_object_unref(about);
}

TEST(inner_kit, events_are_created_and_counted)
{
    const char *list;
    struct pfx p;

    pfx_open(&p, false);
    record_twice(&p, false);
    list = fx_do(&p.a.fx, 200, "GET", EVENTS, "");
    assert_string_equal(fx_at(list, "items[0].reason"), "Synced");
    assert_string_equal(fx_at(list, "items[0].count"), "2");
    assert_string_equal(fx_at(list, "items[1].reason"), "");
    pfx_close(&p);
}

TEST(inner_kit, a_series_of_events_is_one_object)
{
    const char *list;
    struct pfx p;

    pfx_open(&p, false);
    record_twice(&p, true);
    list = fx_do(&p.a.fx, 200, "GET", "/apis/events.k8s.io/v1/namespaces/default/events", "");
    assert_string_equal(fx_at(list, "items[0].reason"), "Synced");
    assert_string_equal(fx_at(list, "items[0].reportingController"), "sample");
    assert_string_equal(fx_at(list, "items[0].series.count"), "2");
    assert_string_equal(fx_at(list, "items[1].reason"), "");
    pfx_close(&p);
}
