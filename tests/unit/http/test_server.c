#include "test.h"

#include "http_fixture.h"
#include "identities.h"

TEST(server, requests_reach_the_handler_and_are_answered)
{
    struct http h;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    check(&h, "GET /a/b?x=1&y HTTP/1.1\r\nHost: x\r\n\r\n", "200 .");
    check(&h, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "200 hello.");
    check(
        &h,
        "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "200 abcde.");
    check(&h, "GET https://host:1/abs?q HTTP/1.1\r\nHost: x\r\n\r\n", "200 .");
    check(&h, "GET http://host HTTP/1.0\r\n\r\n", "200 .");
    check(&h, "GET http://host?a=/b HTTP/1.0\r\n\r\n", "200 .");
    assert_string_equal(
        cor_buf_z(&h.seen),
        "GET /a/b?x=1&y \nPOST /echo? hello\nPUT /echo? abcde\nGET /abs?q \nGET /? \nGET /?a=/b \n");
    http_deinit(&h);
}

TEST(server, a_connection_ends_when_it_should)
{
    struct http h;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    check_end(&h, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n",
              "200 .");
    check_end(&h, "GET / HTTP/1.0\r\n\r\n", "200 .");
    check_end(
        &h, "GET /big/100?chunked HTTP/1.0\r\n\r\n",
        "200 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.");
    check_end(&h, "GET /big/3?chunked HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "200 xxx.");
    check_end(&h, "GET /abort HTTP/1.1\r\nHost: x\r\n\r\n", "");
    http_deinit(&h);
}

TEST(server, protocol_errors_are_answered_and_end_the_connection)
{
    struct http h;

    /* The body that is announced and not sent is waited for as long as a head. */
    http_init(&h, (struct cor_http_limits){.body_max = 10, .head_timeout_ms = 5000}, NULL);
    check_end(&h, "GET / HTTP/1.1\r\n\r\n", "400 400 Bad Request: missing required Host header\n.");
    check_end(&h, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n",
              "400 400 Bad Request: malformed request target\n.");
    check_end(&h, "GET / HTTP/2.0\r\nHost: x\r\n\r\n",
              "505 505 HTTP Version Not Supported: unsupported protocol version\n.");
    check_end(&h, "POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n",
              "413 {\"code\":413,\"path\":\"/p\"}.");
    check_end(
        &h,

        "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n",
        "413 {\"code\":413,\"path\":\"/p\"}.");
    assert_int_equal(h.seen.n, 0);
    http_deinit(&h);
}

TEST(server, headers_that_are_too_large_are_a_431)
{
    struct http h;
    struct cor_buf in;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    cor_buf_init(&in, 1 << 20);
    cor_buf_addf(&in, "GET / HTTP/1.1\r\nHost: x\r\nA: %070000d\r\n\r\n", 0);
    client_open(&cl, &h, NULL);
    client_send(&cl, cor_buf_str(&in));
    await(&h, client_has_ended, &cl);
    assert_int_equal(strncmp(cor_buf_z(&cl.text), "431 ", 4), 0);
    client_close(&cl, &h);
    cor_buf_deinit(&in);
    http_deinit(&h);
}

TEST(server, a_refused_upload_gets_its_answer_while_it_is_still_sending)
{
    struct http h;
    struct client cl;
    char piece[100000] = {0};

    meet(&h, &cl, (struct cor_http_limits){.body_max = 1000});
    client_send(&cl, COR_STR("PUT /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"));
    for (int i = 0; i < 50; i++)
        client_send(&cl, cor_str(piece, sizeof(piece)));
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "413 {\"code\":413,\"path\":\"/p\"}.");
    part(&h, &cl);
}

TEST(server, continue_is_said_only_for_a_body_that_will_be_read)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){.body_max = 10});
    client_send(
        &cl,
        COR_STR(
            "PUT /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    assert_false(cor_loop_run_until(h.loop, client_has_response, &cl, 30));
    client_send(&cl, COR_STR("ab"));
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 ab.");
    assert_memory_equal(cl.first, "HTTP/1.1 100", 12);
    client_close(&cl, &h);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("PUT /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                             "Content-Length: 2\r\n\r\nab"));
    await(&h, client_has_response, &cl);
    assert_memory_equal(cl.first, "HTTP/1.1 200", 12);
    client_close(&cl, &h);
    check_end(&h,
              "PUT /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n",
              "413 {\"code\":413,\"path\":\"/e\"}.");
    http_deinit(&h);
}

TEST(server, connections_have_a_maximum)
{
    struct cor_http_server_stats stats;
    struct http h;
    struct client cl[4];

    http_init(&h, (struct cor_http_limits){.connections_max = 3}, NULL);
    for (int i = 0; i < 4; i++) {
        client_open(&cl[i], &h, NULL);
        client_send(&cl[i], COR_STR("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
        if (i < 3)
            await(&h, has_held, &h);
        else
            await(&h, client_has_ended, &cl[i]);
        h.held = NULL;
    }
    cor_http_server_stats(h.server, &stats);
    assert_int_equal(stats.connections, 3);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.requests, 3);
    for (int i = 0; i < 4; i++)
        client_close(&cl[i], &h);
    http_deinit(&h);
}

TEST(server, unix_sockets_serve_too)
{
    struct http h;
    struct client cl;
    char path[100];
    struct cor_stream_opts opts = {.cbs = &client_cbs, .arg = &cl, .out_max = 1000};

    http_init(&h, (struct cor_http_limits){0}, NULL);
    snprintf(path, sizeof(path), "%s/api.sock", test_tmpdir());
    assert_int_equal(cor_http_server_listen_unix(h.server, path, 0600), 0);
    client_open(&cl, &h, NULL);
    client_close(&cl, &h);
    memset(&cl, 0, sizeof(cl));
    cor_buf_init(&cl.text, 1000);
    cor_buf_init(&cl.headers, 1000);
    cl.h1 = cor_h1_new(COR_H1_CLIENT, &client_limits, &client_h1_cbs, &cl);
    assert_int_equal(cor_stream_connect_unix(h.net, path, &opts, &cl.stream), 0);
    client_ask(&cl, "GET", "/who", NULL);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 nobody.");
    part(&h, &cl);
}

TEST(server, a_client_certificate_names_the_peer)
{
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER};
    struct cor_tls *server, *client;
    struct identities ids;
    struct client cl;
    struct http h;

    identities_init(&ids);
    opts.cert_pem = cor_buf_str(&ids.server.cert_pem);
    opts.key_pem = cor_buf_str(&ids.server.key_pem);
    opts.ca_pem = cor_buf_str(&ids.ca.cert_pem);
    assert_int_equal(cor_tls_new(&opts, &server), 0);
    opts.role = COR_TLS_CLIENT;
    opts.cert_pem = cor_buf_str(&ids.client.cert_pem);
    opts.key_pem = cor_buf_str(&ids.client.key_pem);
    assert_int_equal(cor_tls_new(&opts, &client), 0);
    http_init(&h, (struct cor_http_limits){0}, server);
    client_open(&cl, &h, client);
    client_ask(&cl, "GET", "/who", NULL);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 admin.");
    part(&h, &cl);
    cor_tls_unref(server);
    cor_tls_unref(client);
    identities_deinit(&ids);
}

/* One allocation fails somewhere between accept and answer: the client gets its answer, an error,
 * or a closed connection, and nothing is left behind. */
TEST(server, failed_allocations_cost_a_connection_at_most)
{
    FOR_EACH_FAILED_ALLOC(i) {
        struct http h;
        struct client cl;

        test_fail_alloc(0, false);
        meet(&h, &cl, (struct cor_http_limits){0});
        cl.forgets = true;
        cor_buf_reserve(&cl.text, 1000);
        cor_buf_reserve(&cl.headers, 1000);
        cor_buf_reserve(&h.seen, 1000);
        client_send(
            &cl,
            COR_STR(
                "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        test_fail_alloc(i, false);
        for (int k = 0; k < 1000 && cl.nresponses < 2 && !cl.has_ended; k++)
            cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
        assert_true(test_alloc_failed() || cl.nresponses == 2);
        client_close(&cl, &h);
        http_deinit(&h);
    }
}
