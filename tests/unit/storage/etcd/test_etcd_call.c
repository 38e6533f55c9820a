/* What is sent again, and what is not. */
#include "storage/etcd/etcd_call.h"

#include "base/err.h"
#include "etcd_fake_session.h"
#include "loop/loop.h"
#include "test.h"

#define PATIENCE_MS 60000

static struct etcd_session session;

struct outcome {
    int n, err;
    char text[256];
};

static void on_done(struct etcd_call *call, const struct etcd_reply *reply)
{
    struct outcome *o = call->arg;

    o->n++;
    o->err = reply->err;
    if (reply->err == 0)
        memcpy(o->text, reply->message.p, reply->message.n);
    else
        strncpy(o->text, reply->text, sizeof(o->text) - 1);
}

static struct etcd_stream *start(const struct etcd_method *method, struct outcome *o)
{
    struct cor_buf request;

    *o = (struct outcome){0};
    cor_buf_init(&request, 64);
    assert_int_equal(cor_buf_addz(&request, "q"), 0);
    assert_int_equal(cor_etcd_call_start(&session, method, &request, on_done, o, NULL), 0);
    assert_int_equal(request.n, 0);
    assert_null(fake_session_stream(&session, 0));
    fake_session_turn(&session);
    assert_int_equal(o->n, 0);
    return fake_session_stream(&session, 0);
}

static void assert_ended(const struct outcome *o, int err)
{
    assert_int_equal(o->n, 1);
    assert_int_equal(o->err, err);
    assert_null(fake_session_stream(&session, 0));
}

TEST(etcd_call, the_answer_comes_back)
{
    struct outcome o;

    fake_session_open(&session);
    fake_stream_reply(start(&cor_etcd_method_txn, &o), COR_STR("a"));
    assert_ended(&o, 0);
    assert_string_equal(o.text, "a");
    fake_session_close(&session);
}

TEST(etcd_call, a_write_whose_answer_was_lost_is_not_sent_again)
{
    struct outcome o;

    fake_session_open(&session);
    fake_stream_fail(start(&cor_etcd_method_txn, &o), COR_GRPC_UNAVAILABLE, "connection lost",
                     false);
    assert_ended(&o, -COR_ETIMEOUT);
    fake_stream_fail(start(&cor_etcd_method_txn, &o), COR_GRPC_UNAVAILABLE,
                     "etcdserver: request timed out", false);
    assert_ended(&o, -COR_ETIMEOUT);
    fake_stream_fail(start(&cor_etcd_method_txn, &o), COR_GRPC_DEADLINE_EXCEEDED, "too late",
                     false);
    assert_ended(&o, -COR_ETIMEOUT);
    fake_session_close(&session);
}

TEST(etcd_call, who_waits_for_a_write_is_told_that_it_may_have_been_made)
{
    static const uint32_t lost[] = {COR_GRPC_UNAVAILABLE, COR_GRPC_CANCELLED};
    struct outcome o;

    fake_session_open(&session);
    for (size_t i = 0; i < COR_ARRAY_LEN(lost); i++) {
        fake_stream_fail(start(&cor_etcd_method_txn, &o), lost[i], "given up", false);
        assert_ended(&o, -COR_ETIMEOUT);
        assert_string_equal(
            o.text, "the answer of etcd was lost (given up), and the write may have been made");
    }
    fake_stream_fail(start(&cor_etcd_method_txn, &o), COR_GRPC_UNAVAILABLE,
                     "etcdserver: request timed out", false);
    assert_string_equal(o.text, "etcdserver: request timed out");
    fake_session_close(&session);
}

TEST(etcd_call, a_write_that_etcd_has_not_seen_is_sent_again)
{
    struct outcome o;

    fake_session_open(&session);
    fake_stream_fail(start(&cor_etcd_method_txn, &o), COR_GRPC_UNAVAILABLE, "refused", true);
    assert_int_equal(session.when, ETCD_WAIT_RETRY);
    fake_session_turn(&session);
    fake_stream_fail(fake_session_stream(&session, 0), COR_GRPC_UNAVAILABLE,
                     "etcdserver: no leader", false);
    fake_session_turn(&session);
    fake_stream_reply(fake_session_stream(&session, 0), COR_STR("a"));
    assert_ended(&o, 0);
    assert_int_equal(session.blamed, 2);
    fake_session_close(&session);
}

TEST(etcd_call, a_read_is_sent_again_until_it_is_answered)
{
    struct outcome o;

    fake_session_open(&session);
    start(&cor_etcd_method_range, &o);
    for (int i = 0; i < 5; i++) {
        fake_stream_fail(fake_session_stream(&session, 0), COR_GRPC_UNAVAILABLE, "lost", false);
        fake_session_turn(&session);
    }
    fake_stream_reply(fake_session_stream(&session, 0), COR_STR("a"));
    assert_ended(&o, 0);
    fake_session_close(&session);
}

TEST(etcd_call, an_expired_login_is_renewed_but_not_for_ever)
{
    struct outcome o;

    fake_session_open(&session);
    session.has_user = true;
    start(&cor_etcd_method_txn, &o);
    for (int i = 0; i < 2; i++) {
        fake_stream_fail(fake_session_stream(&session, 0), COR_GRPC_UNAUTHENTICATED,
                         "etcdserver: invalid auth token", false);
        assert_int_equal(session.when, ETCD_WAIT_LOGIN);
        fake_session_turn(&session);
    }
    fake_stream_fail(fake_session_stream(&session, 0), COR_GRPC_UNAUTHENTICATED,
                     "etcdserver: invalid auth token", false);
    assert_ended(&o, -COR_EINTERNAL);
    fake_session_close(&session);
}

static bool is_over(void *arg)
{
    return ((struct outcome *)arg)->n > 0;
}

TEST(etcd_call, without_a_connection_it_ends_undone)
{
    struct cor_buf request = {.max = 64};
    struct outcome o = {0};

    fake_session_open(&session);
    assert_int_equal(
        cor_etcd_call_start(&session, &cor_etcd_method_txn, &request, on_done, &o, NULL), 0);
    assert_true(cor_loop_run_until(session.loop, is_over, &o, PATIENCE_MS));
    assert_ended(&o, -COR_EUNREACHABLE);
    assert_non_null(strstr(o.text, "etcd cannot be reached"));
    fake_session_close(&session);
}

TEST(etcd_call, etcds_words_become_codes)
{
    static const struct {
        enum cor_grpc_code code;
        const char *message;
        int err;
    } rows[] = {
        {COR_GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision has been compacted",
         -COR_EEXPIRED},
        {COR_GRPC_OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision",
         -COR_EFUTURE},
        {COR_GRPC_NOT_FOUND, "etcdserver: requested lease not found", -COR_ENOTFOUND},
        {COR_GRPC_INVALID_ARGUMENT, "etcdserver: request is too large", -COR_ETOOBIG},
        {COR_GRPC_RESOURCE_EXHAUSTED, "a message of 99 bytes is too large", -COR_ETOOBIG},
        {COR_GRPC_RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded", -COR_ENOSPC},
        {COR_GRPC_RESOURCE_EXHAUSTED, "etcdserver: too many requests", -COR_EBUSY},
        {COR_GRPC_PERMISSION_DENIED, "etcdserver: permission denied", -COR_EFORBIDDEN},
        {COR_GRPC_UNKNOWN, "something else", -COR_EINTERNAL},
    };

    fake_session_open(&session);
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++) {
        struct outcome o;

        fake_stream_fail(start(&cor_etcd_method_range, &o), rows[i].code, rows[i].message, false);
        assert_ended(&o, rows[i].err);
        assert_string_equal(o.text, rows[i].message);
    }
    fake_session_close(&session);
}

TEST(etcd_call, a_canceled_call_says_nothing)
{
    struct cor_buf request = {.max = 64};
    struct etcd_call *call;
    struct outcome o = {0};

    fake_session_open(&session);
    for (int sent = 0; sent < 2; sent++) {
        assert_int_equal(
            cor_etcd_call_start(&session, &cor_etcd_method_txn, &request, on_done, &o, &call), 0);
        if (sent)
            fake_session_turn(&session);
        cor_etcd_call_cancel(call);
        assert_null(fake_session_stream(&session, 0));
    }
    fake_session_turn(&session);
    assert_int_equal(o.n, 0);
    fake_session_close(&session);
}
