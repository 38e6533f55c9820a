/* A key that is there as long as its process. */
#include "storage/etcd/etcd_presence.h"

#include "base/err.h"
#include "etcd_fake_session.h"
#include "loop/loop.h"
#include "storage/etcd/etcd_messages.h"
#include "test.h"

#define TTL_S      1
#define TIMEOUT_MS 60000

static struct etcd_session session;
static struct etcd_presence presence;
static int noff;

static void on_off(void *arg)
{
    (void)arg;
    noff++;
}

static void begin(void)
{
    noff = 0;
    fake_session_open(&session);
    cor_etcd_presence_init(&presence);
}

static void end(void)
{
    assert_int_equal(presence.state, ETCD_PRESENCE_OFF);
    assert_false(presence.session && cor_timer_is_set(&presence.timer));
    cor_etcd_presence_deinit(&presence);
    fake_session_close(&session);
}

static bool has_state(void *arg)
{
    return presence.state == *(enum etcd_presence_state *)arg;
}

static void wait_for(enum etcd_presence_state state)
{
    assert_true(cor_loop_run_until(session.loop, has_state, &state, TIMEOUT_MS));
}

static bool was_kept(void *arg)
{
    return ((struct etcd_stream *)arg)->nkept > 1;
}

static void assert_asked(const char *method, struct cor_buf *take_message)
{
    struct etcd_stream *stream = fake_session_stream(&session, 0);

    assert_non_null(stream);
    assert_string_equal(stream->method, method);
    assert_int_equal(stream->request_len, take_message->n);
    assert_memory_equal(stream->request, take_message->p, take_message->n);
    cor_buf_deinit(take_message);
}

static void assert_grants(void)
{
    struct cor_buf m;

    cor_buf_init(&m, 64);
    assert_int_equal(cor_etcd_encode_grant(TTL_S, &m), 0);
    assert_asked("/etcdserverpb.Lease/LeaseGrant", &m);
}

static void assert_puts(int64_t lease)
{
    struct cor_buf m;

    cor_buf_init(&m, 64);
    assert_int_equal(cor_etcd_encode_put(COR_STR("k"), COR_STR("v"), lease, &m), 0);
    assert_asked("/etcdserverpb.KV/Put", &m);
}

static void assert_keeps(int64_t lease)
{
    struct cor_buf m;

    cor_buf_init(&m, 64);
    assert_int_equal(cor_etcd_encode_keep_alive(lease, &m), 0);
    assert_asked("/etcdserverpb.Lease/LeaseKeepAlive", &m);
}

static void assert_revokes(int64_t lease)
{
    struct cor_buf m;

    cor_buf_init(&m, 64);
    assert_int_equal(cor_etcd_encode_revoke(lease, &m), 0);
    assert_asked("/etcdserverpb.Lease/LeaseRevoke", &m);
}

static void start(void)
{
    assert_int_equal(cor_etcd_presence_set(&presence, COR_STR("k"), COR_STR("v")), 0);
    cor_etcd_presence_start(&presence, &session, TTL_S);
}

/* A lease with this id, which is below 128. */
static void answer_grant(char id)
{
    const char message[] = {0x10, id};

    fake_session_turn(&session);
    assert_grants();
    fake_stream_reply(fake_session_stream(&session, 0), cor_str(message, sizeof(message)));
}

static void answer_put(char id)
{
    fake_session_turn(&session);
    assert_puts(id);
    fake_stream_reply(fake_session_stream(&session, 0), cor_str("", 0));
}

static struct etcd_stream *open_stream(char id)
{
    fake_session_turn(&session);
    assert_keeps(id);
    assert_int_equal(presence.state, ETCD_PRESENCE_KEEPING);
    return fake_session_stream(&session, 0);
}

static struct etcd_stream *be_present(void)
{
    begin();
    start();
    answer_grant(7);
    answer_put(7);
    return open_stream(7);
}

static void say_ttl(struct etcd_stream *stream, char ttl_s)
{
    const char message[] = {0x10, 7, 0x18, ttl_s};

    stream->cbs->on_message(stream->arg, cor_str(message, ttl_s ? 4 : 2));
}

static void stop(char id)
{
    assert_false(cor_etcd_presence_stop(&presence, on_off, NULL));
    fake_session_turn(&session);
    assert_revokes(id);
    fake_stream_reply(fake_session_stream(&session, 0), cor_str("", 0));
    assert_int_equal(noff, 1);
    end();
}

TEST(etcd_presence, the_lease_is_kept_and_revoked_at_the_end)
{
    struct etcd_stream *stream = be_present();

    assert_int_equal(stream->nkept, 1);
    say_ttl(stream, TTL_S);
    assert_true(cor_loop_run_until(session.loop, was_kept, stream, TIMEOUT_MS));
    assert_keeps(7);
    stop(7);
}

TEST(etcd_presence, a_lease_that_expired_is_replaced_and_the_key_put_again)
{
    say_ttl(be_present(), 0);
    wait_for(ETCD_PRESENCE_GRANTING);
    answer_grant(8);
    answer_put(8);
    open_stream(8);
    stop(8);
}

TEST(etcd_presence, a_lost_stream_goes_on_with_the_same_lease)
{
    fake_stream_fail(be_present(), COR_GRPC_UNAVAILABLE, "connection lost", false);
    wait_for(ETCD_PRESENCE_OPENING);
    assert_int_equal(session.when, ETCD_WAIT_CONNECTION);
    say_ttl(open_stream(7), TTL_S);
    stop(7);
}

TEST(etcd_presence, an_expired_login_is_renewed)
{
    struct etcd_stream *stream = be_present();

    session.has_user = true;
    fake_stream_fail(stream, COR_GRPC_UNAUTHENTICATED, "etcdserver: invalid auth token", false);
    wait_for(ETCD_PRESENCE_OPENING);
    assert_int_equal(session.when, ETCD_WAIT_LOGIN);
    open_stream(7);
    stop(7);
}

TEST(etcd_presence, a_stream_that_does_not_answer_is_left)
{
    be_present();
    wait_for(ETCD_PRESENCE_PAUSED);
    assert_null(fake_session_stream(&session, 0));
    wait_for(ETCD_PRESENCE_OPENING);
    open_stream(7);
    stop(7);
}

TEST(etcd_presence, who_may_not_write_the_key_is_off_and_leaves_no_lease)
{
    begin();
    start();
    answer_grant(7);
    fake_session_turn(&session);
    fake_stream_fail(fake_session_stream(&session, 0), COR_GRPC_PERMISSION_DENIED,
                     "etcdserver: permission denied", false);
    fake_session_turn(&session);
    assert_revokes(7);
    fake_stream_reply(fake_session_stream(&session, 0), cor_str("", 0));
    assert_int_equal(presence.state, ETCD_PRESENCE_OFF);
    assert_true(cor_etcd_presence_stop(&presence, on_off, NULL));
    assert_int_equal(noff, 0);
    end();
}

TEST(etcd_presence, what_failed_is_tried_again)
{
    begin();
    start();
    fake_session_turn(&session);
    fake_stream_fail(fake_session_stream(&session, 0), COR_GRPC_UNKNOWN, "what?", false);
    wait_for(ETCD_PRESENCE_GRANTING);
    answer_grant(7);
    fake_session_turn(&session);
    fake_stream_fail(fake_session_stream(&session, 0), COR_GRPC_NOT_FOUND,
                     "etcdserver: requested lease not found", false);
    wait_for(ETCD_PRESENCE_GRANTING);
    answer_grant(8);
    answer_put(8);
    open_stream(8);
    stop(8);
}

TEST(etcd_presence, without_a_lease_it_ends_at_once)
{
    begin();
    assert_true(cor_etcd_presence_stop(&presence, on_off, NULL));
    start();
    fake_session_turn(&session);
    assert_grants();
    assert_true(cor_etcd_presence_stop(&presence, on_off, NULL));
    assert_int_equal(noff, 0);
    end();
}

/* Nobody turns the session: there is no connection. */
TEST(etcd_presence, an_etcd_that_is_away_does_not_hold_the_end_up)
{
    be_present();
    assert_false(cor_etcd_presence_stop(&presence, on_off, NULL));
    wait_for(ETCD_PRESENCE_OFF);
    assert_int_equal(noff, 1);
    end();
}

TEST(etcd_presence, bytes_have_a_maximum)
{
    static const char many[ETCD_PRESENCE_BYTES_MAX];

    begin();
    assert_int_equal(cor_etcd_presence_set(&presence, COR_STR("k"), cor_str(many, sizeof(many))),
                     -COR_ETOOBIG);
    end();
}

/* Plays etcd until the stream is there. */
static bool play(void)
{
    struct etcd_stream *stream = fake_session_stream(&session, 0);

    if (presence.state == ETCD_PRESENCE_KEEPING)
        return true;
    if (!stream)
        return false;
    if (strstr(stream->method, "Grant"))
        fake_stream_reply(stream, COR_STR("\x10\x07"));
    else if (strstr(stream->method, "Put"))
        fake_stream_reply(stream, cor_str("", 0));
    return false;
}

static bool is_due(void *arg)
{
    (void)arg;
    return !cor_dlist_empty(&session.waiting) || fake_session_stream(&session, 0);
}

TEST(etcd_presence, a_failed_allocation_delays_it_only)
{
    FOR_EACH_FAILED_ALLOC(n) {
        test_fail_alloc(0, false);
        begin();
        test_fail_alloc(n, false);
        if (cor_etcd_presence_set(&presence, COR_STR("k"), COR_STR("v")) == 0)
            cor_etcd_presence_start(&presence, &session, TTL_S);
        while (presence.state != ETCD_PRESENCE_OFF && !play()) {
            assert_true(cor_loop_run_until(session.loop, is_due, NULL, TIMEOUT_MS));
            fake_session_turn(&session);
        }
        if (presence.state == ETCD_PRESENCE_OFF)
            assert_true(test_alloc_failed());
        else if (!cor_etcd_presence_stop(&presence, on_off, NULL)) {
            fake_session_turn(&session);
            if (fake_session_stream(&session, 0))
                fake_stream_reply(fake_session_stream(&session, 0), cor_str("", 0));
        }
        end();
    }
}
