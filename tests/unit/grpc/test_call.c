#include "test.h"

#include "grpc_fixture.h"

static void check_status(struct world *w, const char *method, enum cor_grpc_code code,
                         const char *text)
{
    ask(w, method, COR_STR("x"));
    if (w->last.code != code || (text && strcmp(w->text, text) != 0))
        fail_msg("%s: got %s \"%s\"", method, code_name(w->last.code), w->text);
}

TEST(grpc_call, a_unary_call_gets_its_reply)
{
    struct world w;

    world_init(&w);
    world_open(&w);
    ask(&w, "/t/Echo", COR_STR("hello"));
    assert_int_equal(w.last.code, COR_GRPC_OK);
    assert_string_equal(cor_buf_z(&w.log), "hello");
    assert_non_null(strstr(w.head, "POST 127.0.0.1:"));
    assert_non_null(
        strstr(w.head, "|content-type=application/grpc|te=trailers|user-agent=coracle/"));
    assert_non_null(strstr(w.head, "|grpc-timeout="));
    ask(&w, "/t/Echo", COR_STR(""));
    assert_int_equal(w.last.code, COR_GRPC_OK);
    assert_string_equal(cor_buf_z(&w.log), "");
    world_deinit(&w);
}

TEST(grpc_call, every_way_a_server_can_end_a_call_has_its_status)
{
    struct world w;

    world_init(&w);
    world_open(&w);
    check_status(&w, "/t/TrailersOnly", COR_GRPC_FAILED_PRECONDITION, "a%20b%C3%A9 %");
    check_status(&w, "/t/Status", COR_GRPC_OUT_OF_RANGE,
                 "etcdserver: mvcc: required revision has been compacted");
    check_status(&w, "/t/Percent", COR_GRPC_NOT_FOUND, "caf\xc3\xa9 %");
    check_status(&w, "/t/NotUtf8", COR_GRPC_UNKNOWN, "%ff");
    check_status(&w, "/t/Http503", COR_GRPC_UNAVAILABLE,
                 "the server answered with HTTP status 503");
    check_status(&w, "/t/Html", COR_GRPC_UNKNOWN, "the server does not answer with gRPC");
    check_status(&w, "/t/NoStatus", COR_GRPC_INTERNAL,
                 "the server ended the call without a status");
    check_status(&w, "/t/Cut", COR_GRPC_INTERNAL, "a reply without a message");
    check_status(&w, "/t/Compressed", COR_GRPC_INTERNAL,
                 "a compressed message that was not asked for");
    check_status(&w, "/t/Two", COR_GRPC_INTERNAL, "more than one message in a reply");
    check_status(&w, "/t/None", COR_GRPC_INTERNAL, "a reply without a message");
    check_status(&w, "/t/Reset", COR_GRPC_RESOURCE_EXHAUSTED, NULL);
    assert_false(w.last.is_untouched);
    check_status(&w, "/t/Refuse", COR_GRPC_UNAVAILABLE, NULL);
    assert_true(w.last.is_untouched);
    assert_int_equal(w.accepted, 1);
    world_deinit(&w);
}

static bool two_messages(void *arg)
{
    return ((struct world *)arg)->messages >= 2;
}

TEST(grpc_call, a_bidirectional_stream_goes_both_ways_until_both_have_ended)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Echo")};
    struct cor_str parts[] = {COR_STR("one"), COR_STR("+"), COR_STR("more")};
    struct cor_grpc_call *call;
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    assert_int_equal(cor_grpc_call_send(call, parts, 3), 0);
    assert_int_equal(cor_grpc_call_send(call, parts, 1), 0);
    world_run(&w, two_messages);
    assert_string_equal(cor_buf_z(&w.log), "one+moreone");
    assert_int_equal(w.done, 0);
    assert_int_equal(cor_grpc_call_send(call, parts, 1), 0);
    cor_grpc_call_end(call);
    world_run(&w, one_done);
    assert_int_equal(w.messages, 3);
    assert_int_equal(w.last.code, COR_GRPC_OK);
    assert_null(strstr(w.head, "grpc-timeout"));
    world_deinit(&w);
}

TEST(grpc_call, a_server_stream_of_many_messages_comes_whole)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Many")};
    struct cor_grpc_call *call;
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    cor_grpc_call_end(call);
    world_run(&w, one_done);
    assert_int_equal(w.messages, 4000);
    assert_int_equal(w.message_bytes, 4000 * 1000);
    assert_int_equal(w.last.code, COR_GRPC_OK);
    world_deinit(&w);
}

static bool became_writable(void *arg)
{
    return ((struct world *)arg)->writable > 0;
}

TEST(grpc_call, messages_that_the_server_does_not_read_wait_within_a_bound)
{
    static const char kb16[16384];
    struct cor_str message = {kb16, sizeof(kb16)};
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Unread")};
    struct cor_grpc_call *call;
    struct world w;
    int n = 0;

    world_init(&w);
    world_open(&w);
    world_run(&w, is_up);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    while (cor_grpc_call_send(call, &message, 1) == 0)
        assert_true(++n < 100);
    assert_true(n >= 16 && n <= 40);
    assert_int_equal(cor_grpc_call_send(call, &message, 1), -COR_EBUSY);
    cor_grpc_call_cancel(call);
    opts.method = COR_STR("/t/Echo");
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    for (n = 0; cor_grpc_call_send(call, &message, 1) == 0; n++)
        ;
    world_run(&w, became_writable);
    cor_grpc_call_end(call);
    world_run(&w, one_done);
    assert_int_equal(w.messages, n);
    world_deinit(&w);
}

TEST(grpc_call, the_largest_message_crosses_and_a_larger_one_is_refused)
{
    char *big = cor_calloc(1, COR_GRPC_SEND_MAX + 1);
    struct cor_str message = {big, COR_GRPC_SEND_MAX + 1};
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Echo")};
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &message, 1, on_reply, &w, NULL), -COR_ETOOBIG);
    message.n--;
    ask(&w, "/t/Echo", message);
    assert_int_equal(w.last.code, COR_GRPC_OK);
    assert_int_equal(w.message_bytes, COR_GRPC_SEND_MAX);
    cor_free(big);
    world_deinit(&w);
}

TEST(grpc_call, a_received_message_above_the_maximum_ends_the_call)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Huge")};
    struct cor_grpc_call *call;
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    cor_grpc_call_end(call);
    world_run(&w, one_done);
    assert_int_equal(w.last.code, COR_GRPC_RESOURCE_EXHAUSTED);
    ask(&w, "/t/Echo", COR_STR("next"));
    assert_int_equal(w.last.code, COR_GRPC_OK);
    world_deinit(&w);
}

TEST(grpc_call, a_unary_reply_above_the_maximum_ends_the_call)
{
    char *big = cor_calloc(1, 100000);
    struct world w;

    world_init(&w);
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.recv_max = 5000}), 0);
    ask(&w, "/t/Echo", cor_str(big, 5000));
    assert_int_equal(w.last.code, COR_GRPC_OK);
    ask(&w, "/t/Echo", cor_str(big, 5001));
    assert_int_equal(w.last.code, COR_GRPC_RESOURCE_EXHAUSTED);
    cor_free(big);
    world_deinit(&w);
}

static bool has_head(void *arg)
{
    return ((struct world *)arg)->head[0] != '\0';
}

TEST(grpc_call, a_deadline_ends_the_call_here_and_is_told_to_the_server)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Hang"), .timeout_ms = 30};
    struct cor_str x = COR_STR("x");
    struct world w;

    world_init(&w);
    world_open(&w);
    world_run(&w, is_up);
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, NULL), 0);
    world_run(&w, one_done);
    assert_int_equal(w.last.code, COR_GRPC_DEADLINE_EXCEEDED);
    assert_false(w.last.is_untouched);
    world_run(&w, has_head);
    assert_non_null(strstr(w.head, "|grpc-timeout=30m|"));
    world_deinit(&w);
}

TEST(grpc_call, metadata_reaches_the_server)
{
    struct cor_http_header metadata[] = {{COR_STR("token"), COR_STR("s3cret.7")},
                                         {COR_STR("hasleader"), COR_STR("true")}};
    struct cor_grpc_call_opts opts = {
        .method = COR_STR("/t/Echo"), .metadata = metadata, .nmetadata = 2};
    struct cor_str x = COR_STR("x");
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, NULL), 0);
    world_run(&w, one_done);
    assert_non_null(strstr(w.head, "|token=s3cret.7|hasleader=true|"));
    opts.nmetadata = COR_GRPC_METADATA_MAX + 1;
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, NULL), -COR_ETOOBIG);
    world_deinit(&w);
}

static bool one_served(void *arg)
{
    return ((struct world *)arg)->served >= 1;
}

TEST(grpc_call, a_cancelled_call_says_nothing_more)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Hang")};
    struct cor_str x = COR_STR("x");
    struct cor_grpc_call *waiting, *running;
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, &waiting), 0);
    cor_grpc_call_cancel(waiting);
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, &running), 0);
    world_run(&w, one_served);
    cor_grpc_call_cancel(running);
    ask(&w, "/t/Echo", COR_STR("y"));
    assert_int_equal(w.done, 1);
    assert_int_equal(w.served, 2);
    world_deinit(&w);
}

static bool one_message(void *arg)
{
    return ((struct world *)arg)->messages >= 1;
}

static void cancel_at_once(struct cor_grpc_call *call, struct cor_str message, void *arg)
{
    on_message(call, message, arg);
    cor_grpc_call_cancel(call);
}

TEST(grpc_call, a_call_may_be_cancelled_from_its_own_message)
{
    static const struct cor_grpc_call_cbs cbs = {cancel_at_once, NULL, on_done};
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Many")};
    struct cor_grpc_call *call;
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &cbs, &w, &call), 0);
    cor_grpc_call_end(call);
    world_run(&w, one_message);
    ask(&w, "/t/Echo", COR_STR("y"));
    assert_int_equal(w.messages, 1);
    world_deinit(&w);
}

static void close_channel_at_once(struct cor_grpc_call *call, struct cor_str message, void *arg)
{
    struct world *w = arg;

    on_message(call, message, arg);
    if (w->ch)
        cor_grpc_channel_close(COR_STEAL(w->ch), on_channel_closed, w);
}

TEST(grpc_call, the_channel_may_be_closed_from_a_message)
{
    static const struct cor_grpc_call_cbs cbs = {close_channel_at_once, NULL, on_done};
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Many")};
    struct cor_grpc_call *call;
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &cbs, &w, &call), 0);
    cor_grpc_call_end(call);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    world_run(&w, channel_is_closed);
    assert_int_equal(w.done, 2);
    assert_int_equal(w.last.code, COR_GRPC_CANCELLED);
    world_deinit(&w);
}

TEST(grpc_call, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Echo"), .timeout_ms = 10000};
        struct cor_str message = COR_STR("x");
        struct world w;
        int r;

        test_fail_alloc(0, false);
        world_init(&w);
        world_open(&w);
        ask(&w, "/t/Echo", COR_STR("warm"));
        w.done = 0;
        test_fail_alloc(n, false);
        r = cor_grpc_unary(w.ch, &opts, &message, 1, on_reply, &w, NULL);
        if (r == 0) {
            world_run(&w, one_done);
            if (!test_alloc_failed())
                assert_int_equal(w.last.code, COR_GRPC_OK);
            /* A call that is said to have succeeded has its whole answer. */
            if (w.last.code == COR_GRPC_OK)
                assert_string_equal(cor_buf_z(&w.log), "warmx");
        } else {
            assert_int_equal(r, -COR_ENOMEM);
        }
        world_deinit(&w);
    }
}
