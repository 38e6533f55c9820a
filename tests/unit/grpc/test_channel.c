#include "test.h"

#include <unistd.h>

#include "grpc_fixture.h"
#include "identities.h"

static void ask_for(struct world *w, const char *method, enum cor_grpc_code code)
{
    ask(w, method, COR_STR("x"));
    if (w->last.code != code)
        fail_msg("got %s \"%s\"", code_name(w->last.code), w->text);
}

static bool is_down(void *arg)
{
    return ((struct world *)arg)->downs > 0;
}

static bool is_up_twice(void *arg)
{
    return ((struct world *)arg)->ups >= 2;
}

/* A port that refuses. */
static uint16_t dead_port(struct world *w)
{
    struct cor_listener *l;
    uint16_t port;

    assert_int_equal(cor_listener_open(w->net, "127.0.0.1", 0, world_on_accept, w, &l), 0);
    port = cor_listener_port(l);
    cor_listener_close(l, NULL, NULL);
    return port;
}

TEST(grpc_channel, calls_before_the_connection_wait_for_it)
{
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_false(is_up(&w));
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    assert_true(is_up(&w));
    assert_int_equal(w.ups, 1);
    world_deinit(&w);
}

TEST(grpc_channel, a_name_is_looked_up_and_each_address_tried)
{
    struct cor_grpc_endpoint endpoint = {.host = "localhost"};
    struct world w;

    world_init(&w);
    endpoint.port = w.port;
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.endpoints = &endpoint,
                                                                        .nendpoints = 1}),
                     0);
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    assert_non_null(strstr(w.head, "POST localhost:"));
    world_deinit(&w);
}

TEST(grpc_channel, a_name_that_nobody_knows_is_unavailable)
{
    struct cor_grpc_endpoint endpoint = {.host = "no-such-host.invalid", .port = 1};
    struct world w;

    world_init(&w);
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.endpoints = &endpoint,
                                                                        .nendpoints = 1}),
                     0);
    ask_for(&w, "/t/Echo", COR_GRPC_UNAVAILABLE);
    assert_true(w.last.is_untouched);
    world_deinit(&w);
}

TEST(grpc_channel, a_unix_socket_serves_too)
{
    struct cor_grpc_endpoint endpoint = {.unix_path = NULL};
    struct cor_listener *l;
    struct world w;
    char path[100];

    world_init(&w);
    snprintf(path, sizeof(path), "%s/grpc.sock", test_tmpdir());
    endpoint.unix_path = path;
    assert_int_equal(cor_listener_open_unix(w.net, path, 0600, world_on_accept, &w, &l), 0);
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.endpoints = &endpoint,
                                                                        .nendpoints = 1}),
                     0);
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    world_close_channel(&w);
    cor_listener_close(l, NULL, NULL);
    world_deinit(&w);
}

TEST(grpc_channel, when_nobody_answers_calls_fail_until_somebody_does)
{
    struct cor_grpc_endpoint endpoints[2] = {{.host = "127.0.0.1"}, {.host = "127.0.0.1"}};
    struct world w;

    world_init(&w);
    endpoints[0].port = endpoints[1].port = dead_port(&w);
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.endpoints = endpoints,
                                                                        .nendpoints = 2}),
                     0);
    ask_for(&w, "/t/Echo", COR_GRPC_UNAVAILABLE);
    assert_true(w.last.is_untouched);
    assert_non_null(strstr(w.text, "refused"));
    ask_for(&w, "/t/Echo", COR_GRPC_UNAVAILABLE);
    cor_listener_close(w.listener, NULL, NULL);
    assert_int_equal(
        cor_listener_open(w.net, "127.0.0.1", endpoints[0].port, world_on_accept, &w, &w.listener),
        0);
    world_run(&w, is_up);
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    world_deinit(&w);
}

TEST(grpc_channel, an_address_that_refuses_is_passed_over)
{
    struct cor_grpc_endpoint endpoints[3] = {
        {.host = "127.0.0.1"}, {.host = "127.0.0.1"}, {.host = "127.0.0.1"}};
    struct world w;

    world_init(&w);
    endpoints[0].port = endpoints[1].port = dead_port(&w);
    endpoints[2].port = w.port;
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.endpoints = endpoints,
                                                                        .nendpoints = 3}),
                     0);
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    assert_int_equal(w.downs, 0);
    world_deinit(&w);
}

static bool three_served(void *arg)
{
    return ((struct world *)arg)->served >= 3;
}

static bool three_done(void *arg)
{
    return ((struct world *)arg)->done >= 3;
}

TEST(grpc_channel, when_the_connection_drops_every_call_ends_unavailable)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Hang")};
    struct cor_str x = COR_STR("x");
    struct cor_grpc_call *call;
    struct world w;

    world_init(&w);
    world_open(&w);
    for (int i = 0; i < 2; i++)
        assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, NULL), 0);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    world_run(&w, three_served);
    world_drop_peers(&w);
    world_run(&w, three_done);
    assert_int_equal(w.last.code, COR_GRPC_UNAVAILABLE);
    assert_false(w.last.is_untouched);
    world_run(&w, is_up_twice);
    assert_int_equal(w.downs, 1);
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    world_deinit(&w);
}

TEST(grpc_channel, a_server_that_goes_away_gracefully_loses_no_call)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Echo")};
    struct cor_str x = COR_STR("x");
    struct cor_grpc_call *call;
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_call_open(w.ch, &opts, &call_cbs, &w, &call), 0);
    world_run(&w, is_up);
    cor_h2_shutdown(COR_CONTAINER_OF(w.peers.next, struct peer, link)->h2);
    world_run(&w, is_up_twice);
    assert_int_equal(w.accepted, 2);
    assert_int_equal(w.done, 0);
    assert_int_equal(cor_grpc_call_send(call, &x, 1), 0);
    cor_grpc_call_end(call);
    world_run(&w, one_done);
    assert_int_equal(w.last.code, COR_GRPC_OK);
    assert_int_equal(w.messages, 1);
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    world_deinit(&w);
}

TEST(grpc_channel, a_server_that_says_nothing_is_given_up)
{
    struct world w;

    world_init(&w);
    w.says_nothing = true;
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.connect_timeout_ms = 50}),
                     0);
    ask_for(&w, "/t/Echo", COR_GRPC_UNAVAILABLE);
    assert_non_null(strstr(w.text, "took too long"));
    world_deinit(&w);
}

TEST(grpc_channel, what_is_not_http2_is_given_up)
{
    struct world w;

    world_init(&w);
    w.raw = COR_STR("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
    world_open(&w);
    ask_for(&w, "/t/Echo", COR_GRPC_UNAVAILABLE);
    world_deinit(&w);
}

TEST(grpc_channel, a_server_that_falls_silent_is_pinged_and_given_up)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Hang")};
    struct cor_str x = COR_STR("x");
    struct world w;

    world_init(&w);
    assert_int_equal(
        world_open_with(
            &w, (struct cor_grpc_channel_opts){.keepalive_ms = 30, .keepalive_timeout_ms = 30}),
        0);
    world_run(&w, is_up);
    w.says_nothing = true;
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, NULL), 0);
    world_run(&w, one_done);
    assert_int_equal(w.last.code, COR_GRPC_UNAVAILABLE);
    world_run(&w, is_down);
    assert_non_null(strstr(w.why, "pings"));
    world_deinit(&w);
}

static void tls_world(struct world *w, struct identities *ids, const char *const *alpn,
                      struct cor_tls **ret_client)
{
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER,
                                .cert_pem = cor_buf_str(&ids->server.cert_pem),
                                .key_pem = cor_buf_str(&ids->server.key_pem),
                                .alpn = alpn,
                                .nalpn = 1};
    static const char *const h2[] = {"h2"};

    world_init(w);
    assert_int_equal(cor_tls_new(&opts, &w->server_tls), 0);
    opts = (struct cor_tls_opts){
        .role = COR_TLS_CLIENT, .ca_pem = cor_buf_str(&ids->ca.cert_pem), .alpn = h2, .nalpn = 1};
    assert_int_equal(cor_tls_new(&opts, ret_client), 0);
}

TEST(grpc_channel, tls_agrees_on_http2)
{
    static const char *const alpn[] = {"h2"};
    struct cor_tls *tls;
    struct identities ids;
    struct world w;

    identities_init(&ids);
    tls_world(&w, &ids, alpn, &tls);
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.tls = tls}), 0);
    ask_for(&w, "/t/Echo", COR_GRPC_OK);
    world_deinit(&w);
    cor_tls_unref(tls);
    identities_deinit(&ids);
}

TEST(grpc_channel, a_tls_server_without_http2_is_refused)
{
    static const char *const alpn[] = {"http/1.1"};
    struct cor_tls *tls;
    struct identities ids;
    struct world w;

    identities_init(&ids);
    tls_world(&w, &ids, alpn, &tls);
    assert_int_equal(world_open_with(&w, (struct cor_grpc_channel_opts){.tls = tls}), 0);
    ask_for(&w, "/t/Echo", COR_GRPC_UNAVAILABLE);
    world_deinit(&w);
    cor_tls_unref(tls);
    identities_deinit(&ids);
}

TEST(grpc_channel, a_closed_channel_cancels_its_calls)
{
    struct cor_grpc_call_opts opts = {.method = COR_STR("/t/Hang")};
    struct cor_str x = COR_STR("x");
    struct world w;

    world_init(&w);
    world_open(&w);
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, NULL), 0);
    world_run(&w, is_up);
    assert_int_equal(cor_grpc_unary(w.ch, &opts, &x, 1, on_reply, &w, NULL), 0);
    cor_grpc_channel_close(COR_STEAL(w.ch), on_channel_closed, &w);
    assert_int_equal(w.done, 0);
    world_run(&w, channel_is_closed);
    assert_int_equal(w.done, 2);
    assert_int_equal(w.last.code, COR_GRPC_CANCELLED);
    world_deinit(&w);
}

TEST(grpc_channel, endpoints_are_one_to_sixteen)
{
    struct cor_grpc_endpoint endpoints[COR_GRPC_ENDPOINTS_MAX + 1] = {{.host = "127.0.0.1"}};
    struct cor_grpc_channel_opts opts = {.endpoints = endpoints};
    struct world w;

    world_init(&w);
    assert_int_equal(cor_grpc_channel_open(w.net, &opts, &w.ch), -COR_EINVAL);
    opts.nendpoints = COR_GRPC_ENDPOINTS_MAX + 1;
    assert_int_equal(cor_grpc_channel_open(w.net, &opts, &w.ch), -COR_EINVAL);
    opts.nendpoints = 2;
    assert_int_equal(cor_grpc_channel_open(w.net, &opts, &w.ch), -COR_EINVAL);
    w.ch = NULL;
    world_deinit(&w);
}

TEST(grpc_channel, opening_survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct world w;
        int r;

        test_fail_alloc(0, false);
        world_init(&w);
        test_fail_alloc(n, false);
        r = world_open_with(&w, (struct cor_grpc_channel_opts){.server_name = "localhost"});
        test_fail_alloc(0, false);
        if (r < 0) {
            assert_int_equal(r, -COR_ENOMEM);
            w.ch = NULL;
        }
        world_deinit(&w);
        if (r == 0)
            break;
    }
}
