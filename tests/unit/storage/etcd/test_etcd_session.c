/* The session with etcd over real connections, to two members that the test plays. */
#include "test.h"

#include "../grpc/grpc_fixture.h"
#include "storage/etcd/etcd_session.h"

#define STATUS "/etcdserverpb.Maintenance/Status"
#define RANGE  "/etcdserverpb.KV/Range"
#define WATCH  "/etcdserverpb.Watch/Watch"

/* The members share the first one's loop. */
struct cluster {
    struct world members[2];
    bool has_no_leader[2];
    size_t nranges[2]; /* questions that reached each of them */
    struct etcd_session *session;
    struct etcd_waiter waiter;
    struct etcd_stream *stream;
    bool is_up, is_answered, has_failed, is_closed;
    char text[128]; /* of the answer, or of the failure */
};

static struct cluster c;

static size_t number_of(const struct served *call)
{
    return (size_t)(call->peer->w - c.members);
}

/* A member knows its own version without a leader; it can read nothing. */
static void answer(struct served *call)
{
    size_t n = number_of(call);

    assert_int_equal(served_head(call, "application/grpc"), 0);
    if (served_is(call, STATUS)) {
        served_bytes(call, COR_STR("\0\0\0\0\7\22\0053.5.9"));
        served_status(call, "0", "");
        return;
    }
    assert_true(served_is(call, RANGE));
    c.nranges[n]++;
    if (c.has_no_leader[n]) {
        served_status(call, "14", "etcdserver: no leader");
        return;
    }
    served_bytes(call, n == 0 ? COR_STR("\0\0\0\0\1a") : COR_STR("\0\0\0\0\1b"));
    served_status(call, "0", "");
}

static void on_up(struct etcd_waiter *waiter)
{
    c.is_up = true;
}

static void on_range(void *arg, const struct etcd_failure *why, struct cor_str message)
{
    c.stream = NULL;
    c.is_answered = true;
    c.has_failed = why != NULL;
    snprintf(c.text, sizeof(c.text), "%.*s", why ? (int)strlen(why->message) : (int)message.n,
             why ? why->message : message.p);
    if (why)
        cor_etcd_session_blame_member(c.session, why);
}

static bool is_true(void *arg)
{
    return *(bool *)arg;
}

static void wait_until(bool *what)
{
    assert_true(cor_loop_run_until(c.members[0].loop, is_true, what, PATIENCE_MS));
}

static void wait_for_session(enum etcd_wait_when when)
{
    c.is_up = false;
    cor_etcd_waiter_init(&c.waiter, on_up);
    cor_etcd_session_wait(c.session, &c.waiter, when);
    wait_until(&c.is_up);
}

static void ask_range(void)
{
    c.is_answered = false;
    assert_int_equal(cor_etcd_session_unary(c.session, RANGE, COR_STR(""), PATIENCE_MS, on_range,
                                            NULL, &c.stream),
                     0);
    wait_until(&c.is_answered);
}

static void cluster_open(void)
{
    struct world *a = &c.members[0], *b = &c.members[1];
    struct cor_etcd_config config;
    char servers[128];

    memset(&c, 0, sizeof(c));
    world_init(a);
    cor_dlist_init(&b->peers);
    b->loop = a->loop;
    b->net = a->net;
    assert_int_equal(cor_listener_open(b->net, "127.0.0.1", 0, world_on_accept, b, &b->listener),
                     0);
    b->port = cor_listener_port(b->listener);
    a->answer = b->answer = answer;
    snprintf(servers, sizeof(servers), "http://127.0.0.1:%u,http://127.0.0.1:%u", a->port, b->port);
    config = (struct cor_etcd_config){.servers = servers};
    assert_int_equal(cor_etcd_session_new(&config, a->loop, &c.session, NULL), 0);
    assert_int_equal(cor_etcd_session_start(c.session), 0);
    wait_for_session(ETCD_WAIT_CONNECTION);
}

static void on_session_closed(void *arg)
{
    c.is_closed = true;
}

static void cluster_close(void)
{
    struct world *a = &c.members[0], *b = &c.members[1];

    cor_etcd_session_close(c.session, on_session_closed, NULL);
    wait_until(&c.is_closed);
    world_drop_peers(b);
    world_run(b, no_peers);
    cor_listener_close(b->listener, on_listener_closed, b);
    world_run(b, listener_is_closed);
    world_deinit(a);
}

/* The number of the member that the session is connected to. */
static size_t member_in_use(void)
{
    size_t before = c.nranges[0];

    ask_range();
    return c.nranges[0] > before ? 0 : 1;
}

TEST(etcd_session, leaves_a_member_that_has_no_leader)
{
    size_t first;

    cluster_open();
    first = member_in_use();
    assert_false(c.has_failed);
    c.has_no_leader[first] = true;
    ask_range();
    assert_true(c.has_failed);
    assert_string_equal(c.text, "etcdserver: no leader");
    assert_string_equal(cor_etcd_session_trouble(c.session), "etcdserver: no leader");
    wait_for_session(ETCD_WAIT_RETRY);
    ask_range();
    assert_false(c.has_failed);
    assert_string_equal(c.text, first == 0 ? "b" : "a");
    assert_int_equal(c.nranges[first], 2);
    cluster_close();
}

/* When the other one cannot serve either, the session comes back to the first. */
TEST(etcd_session, tries_its_members_in_turn_until_one_can_serve)
{
    size_t first;

    cluster_open();
    first = member_in_use();
    c.has_no_leader[0] = c.has_no_leader[1] = true;
    for (int i = 0; i < 3; i++) {
        ask_range();
        assert_true(c.has_failed);
        wait_for_session(ETCD_WAIT_RETRY);
    }
    assert_int_equal(c.nranges[first], 3);
    assert_int_equal(c.nranges[!first], 1);
    c.has_no_leader[0] = c.has_no_leader[1] = false;
    ask_range();
    assert_false(c.has_failed);
    cluster_close();
}

/* Any other answer is the caller's: the member is as good as another. */
TEST(etcd_session, stays_with_a_member_that_refuses_a_call)
{
    const struct etcd_failure why = {.code = COR_GRPC_UNAVAILABLE,
                                     .message = "etcdserver: request timed out"};
    size_t first;

    cluster_open();
    first = member_in_use();
    cor_etcd_session_blame_member(c.session, &why);
    assert_int_equal(member_in_use(), first);
    cluster_close();
}
