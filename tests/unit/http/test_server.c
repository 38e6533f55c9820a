#include "test.h"

#include "http_fixture.h"
#include "identities.h"

/* Sends `in` on a fresh connection and waits for one response. */
static void check(struct http *h, struct cor_str in, const char *want)
{
    struct client cl;

    client_open(&cl, h, NULL);
    client_send(&cl, in);
    assert_true(cor_loop_run_until(h->loop, client_has_response, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), want);
    client_close(&cl, h);
}

#define CHECK(h, in, want) check(h, COR_STR(in), want)

TEST(server, requests_reach_the_handler_and_are_answered)
{
    struct http h;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    CHECK(&h, "GET /a/b?x=1&y HTTP/1.1\r\nHost: x\r\n\r\n", "200 .");
    CHECK(&h, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "200 hello.");
    CHECK(
        &h,
        "PUT /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
        "200 abcde.");
    CHECK(&h, "GET https://host:1/abs?q HTTP/1.1\r\nHost: x\r\n\r\n", "200 .");
    CHECK(&h, "GET http://host HTTP/1.0\r\n\r\n", "200 .");
    assert_string_equal(
        cor_buf_z(&h.seen),
        "GET /a/b?x=1&y \nPOST /echo? hello\nPUT /echo? abcde\nGET /abs?q \nGET /? \n");
    http_deinit(&h);
}

TEST(server, a_response_carries_the_fixed_headers)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_non_null(strstr(cor_buf_z(&cl.headers), "Content-Type: text/plain\n"));
    assert_non_null(strstr(cor_buf_z(&cl.headers), "Content-Length: 2\n"));
    assert_non_null(strstr(cor_buf_z(&cl.headers), " GMT\n"));
    assert_null(strstr(cor_buf_z(&cl.headers), "Connection"));
    client_close(&cl, &h);
    http_deinit(&h);
}

static bool has_three(void *arg)
{
    return ((struct client *)arg)->nresponses == 3;
}

TEST(server, pipelined_requests_are_answered_in_order)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(
        &cl,
        COR_STR(
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\noneGET /hold HTTP/1.1\r\nHost: x\r\n\r\n"
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nthree"));
    assert_false(cor_loop_run_until(h.loop, has_three, &cl, 50));
    assert_string_equal(cor_buf_z(&cl.text), "200 one.");
    assert_string_equal(cor_buf_z(&h.seen), "POST /echo? one\nGET /hold? \n");
    cor_http_response_send(h.held, 201, NULL, 0, COR_STR("two"));
    assert_true(cor_loop_run_until(h.loop, has_three, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 one.201 two.200 three.");
    client_close(&cl, &h);
    http_deinit(&h);
}

static bool has_seen(void *arg)
{
    return ((struct http *)arg)->seen.n > 0;
}

TEST(server, a_flood_of_pipelined_requests_is_held_back)
{
    struct http h;
    struct client cl;
    struct cor_str one = COR_STR("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n");
    char body[900] = {0};

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    for (int i = 0; i < 1000; i++) {
        client_send(&cl, one);
        client_send(&cl, cor_str(body, sizeof(body)));
    }
    assert_true(cor_loop_run_until(h.loop, has_seen, &h, PATIENCE_MS));
    for (size_t i = 1; i <= 1000; i++) {
        while (!h.held)
            cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
        assert_int_equal(h.nheld, i);
        cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR(""));
    }
    while (cl.nresponses < 1000)
        cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
    client_close(&cl, &h);
    http_deinit(&h);
}

static bool has_held(void *arg)
{
    return ((struct http *)arg)->held;
}

/* One connection that must end after `in`; what came is `want`. */
static void check_end(struct http *h, struct cor_str in, const char *want)
{
    struct client cl;

    client_open(&cl, h, NULL);
    client_send(&cl, in);
    assert_true(cor_loop_run_until(h->loop, client_has_ended, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), want);
    client_close(&cl, h);
}

TEST(server, a_connection_ends_when_it_should)
{
    struct http h;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    check_end(&h,
              COR_STR("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n"),
              "200 .");
    check_end(&h, COR_STR("GET / HTTP/1.0\r\n\r\n"), "200 .");
    check_end(
        &h, COR_STR("GET /big/100?chunked HTTP/1.0\r\n\r\n"),
        "200 xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx.");
    check_end(&h, COR_STR("GET /abort HTTP/1.1\r\nHost: x\r\n\r\n"), "");
    http_deinit(&h);
}

TEST(server, protocol_errors_are_answered_and_end_the_connection)
{
    struct http h;

    http_init(&h, (struct cor_http_limits){.body_max = 10}, NULL);
    check_end(&h, COR_STR("GET / HTTP/1.1\r\n\r\n"),
              "400 400 Bad Request: missing required Host header\n.");
    check_end(&h, COR_STR("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
              "400 400 Bad Request: malformed request target\n.");
    check_end(&h, COR_STR("GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
              "505 505 HTTP Version Not Supported: unsupported protocol version\n.");
    check_end(&h, COR_STR("POST /p HTTP/1.1\r\nHost: x\r\nContent-Length: 11\r\n\r\n"),
              "413 {\"code\":413,\"path\":\"/p\"}.");
    check_end(
        &h,
        COR_STR(
            "POST /p HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n01234567890\r\n0\r\n\r\n"),
        "413 {\"code\":413,\"path\":\"/p\"}.");
    assert_int_equal(h.seen.n, 0);
    http_deinit(&h);
}

TEST(server, bodies_share_a_budget)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){.bodies_max = 100}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n"
                             "012345678901234567890123456789012345678901234567890123456789"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    check_end(&h,
              COR_STR("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 41\r\n\r\n"
                      "01234567890123456789012345678901234567890"),
              "429 429 Too Many Requests: too many request bodies at once\n.");
    cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR(""));
    CHECK(&h, "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab", "200 ab.");
    client_close(&cl, &h);
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
    assert_true(cor_loop_run_until(h.loop, client_has_ended, &cl, PATIENCE_MS));
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

    http_init(&h, (struct cor_http_limits){.body_max = 1000}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("PUT /p HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n"));
    for (int i = 0; i < 50; i++)
        client_send(&cl, cor_str(piece, sizeof(piece)));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "413 {\"code\":413,\"path\":\"/p\"}.");
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, continue_is_said_only_for_a_body_that_will_be_read)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){.body_max = 10}, NULL);
    client_open(&cl, &h, NULL);
    client_send(
        &cl,
        COR_STR(
            "PUT /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"));
    assert_false(cor_loop_run_until(h.loop, client_has_response, &cl, 30));
    client_send(&cl, COR_STR("ab"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 ab.");
    client_close(&cl, &h);
    check_end(
        &h,
        COR_STR("PUT /e HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n"),
        "413 {\"code\":413,\"path\":\"/e\"}.");
    http_deinit(&h);
}

static bool has_two(void *arg)
{
    return ((struct client *)arg)->nresponses == 2;
}

TEST(server, head_has_the_length_and_no_body)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    cor_h1_next(cl.h1, true);
    client_send(
        &cl,
        COR_STR(
            "HEAD /send/77 HTTP/1.1\r\nHost: x\r\n\r\nGET /send/3 HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_non_null(strstr(cor_buf_z(&cl.headers), "Content-Length: 77\n"));
    assert_true(cor_loop_run_until(h.loop, has_two, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 .200 yyy.");
    client_close(&cl, &h);
    http_deinit(&h);
}

static void check_big(struct cor_tls *server_tls, struct cor_tls *client_tls, const char *target)
{
    struct http h;
    struct client cl;
    char in[200];

    http_init(&h, (struct cor_http_limits){0}, server_tls);
    client_open(&cl, &h, client_tls);
    cl.forgets = true;
    snprintf(in, sizeof(in), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    client_send(&cl, cor_strz(in));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_int_equal(cl.body_bytes, 10000000);
    assert_string_equal(cor_buf_z(&cl.text), "200 .");
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, big_responses_arrive_whole)
{
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER};
    struct cor_tls *server, *client;
    struct identities ids;

    identities_init(&ids);
    opts.cert_pem = cor_buf_str(&ids.server.cert_pem);
    opts.key_pem = cor_buf_str(&ids.server.key_pem);
    assert_int_equal(cor_tls_new(&opts, &server), 0);
    opts = (struct cor_tls_opts){.role = COR_TLS_CLIENT, .ca_pem = cor_buf_str(&ids.ca.cert_pem)};
    assert_int_equal(cor_tls_new(&opts, &client), 0);
    check_big(NULL, NULL, "/big/10000000");
    check_big(NULL, NULL, "/big/10000000?chunked");
    check_big(NULL, NULL, "/send/10000000");
    check_big(server, client, "/big/10000000?chunked");
    check_big(server, client, "/send/10000000");
    cor_tls_unref(client);
    cor_tls_unref(server);
    identities_deinit(&ids);
}

static bool is_full(void *arg)
{
    struct http *h = arg;

    return h->held && cor_http_response_room(h->held) == 0;
}

TEST(server, a_slow_reader_holds_the_writer_back)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    cl.forgets = true;
    client_send(&cl, COR_STR("GET /big/50000000?c HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (!h.held)
        cor_loop_run_until(h.loop, is_full, &h, 1);
    cor_stream_read_stop(cl.stream);
    /* The sockets' own buffers fill, then the response's. */
    while (!cor_loop_run_until(h.loop, is_full, &h, 10))
        ;
    assert_false(cor_loop_run_until(h.loop, client_has_response, &cl, 50));
    assert_true(h.left > 1000000);
    cor_stream_read_start(cl.stream);
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_int_equal(cl.body_bytes, 50000000);
    client_close(&cl, &h);
    http_deinit(&h);
}

static bool someone_is_gone(void *arg)
{
    return ((struct http *)arg)->ngone > 0;
}

TEST(server, a_reader_that_stops_is_cut_after_the_request_timeout)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){.request_timeout_ms = 50}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
    while (!h.held)
        cor_loop_run_until(h.loop, is_full, &h, 1);
    cor_stream_read_stop(cl.stream);
    h.left = 1u << 30;
    stream_out(&h);
    assert_true(cor_loop_run_until(h.loop, someone_is_gone, &h, PATIENCE_MS));
    assert_int_equal(h.why, -COR_ETIMEOUT);
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, a_client_that_leaves_is_told_to_the_handler)
{
    static const char *const targets[] = {"GET /hold HTTP/1.1\r\nHost: x\r\n\r\n",
                                          "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"};

    for (size_t i = 0; i < 2; i++) {
        struct http h;
        struct client cl;

        http_init(&h, (struct cor_http_limits){0}, NULL);
        client_open(&cl, &h, NULL);
        client_send(&cl, cor_strz(targets[i]));
        assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
        client_close(&cl, &h);
        assert_true(cor_loop_run_until(h.loop, someone_is_gone, &h, PATIENCE_MS));
        assert_int_equal(h.why, -COR_ECANCELED);
        assert_int_equal(h.ngone, 1);
        http_deinit(&h);
    }
}

TEST(server, a_late_handler_is_answered_for)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){.request_timeout_ms = 30}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_int_equal(strncmp(cor_buf_z(&cl.text), "504 ", 4), 0);
    assert_int_equal(h.ngone, 1);
    assert_int_equal(h.why, -COR_ETIMEOUT);
    client_send(&cl, COR_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    cl.nresponses = 0;
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, a_started_response_is_broken_off_at_its_deadline)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    assert_int_equal(cor_http_response_write(h.held, COR_STR("part")), 4);
    cor_http_response_set_deadline(h.held, cor_loop_now_ms(h.loop) + 20);
    assert_true(cor_loop_run_until(h.loop, client_has_ended, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 part!");
    assert_int_equal(h.why, -COR_ETIMEOUT);
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, slow_heads_and_slow_bodies_are_cut)
{
    struct http h;

    http_init(&h, (struct cor_http_limits){.head_timeout_ms = 30, .request_timeout_ms = 60}, NULL);
    check_end(&h, COR_STR("GET / HTTP/1.1\r\nHost: x\r\n"),
              "408 408 Request Timeout: the request's head took too long\n.");
    check_end(&h, COR_STR("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab"),
              "504 504 Gateway Timeout: request did not complete within the allotted timeout\n.");
    check_end(&h, COR_STR("\r\n"), "");
    assert_int_equal(h.seen.n, 0);
    http_deinit(&h);
}

TEST(server, an_idle_connection_is_closed)
{
    struct http h;

    http_init(&h, (struct cor_http_limits){.idle_timeout_ms = 30}, NULL);
    check_end(&h, COR_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "200 .");
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
        client_send(&cl[i], COR_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_true(cor_loop_run_until(h.loop, i < 3 ? client_has_response : client_has_ended,
                                       &cl[i], PATIENCE_MS));
    }
    cor_http_server_stats(h.server, &stats);
    assert_int_equal(stats.connections, 3);
    assert_int_equal(stats.accepted, 3);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.requests, 3);
    for (int i = 0; i < 4; i++)
        client_close(&cl[i], &h);
    http_deinit(&h);
}

TEST(server, a_watch_s_spans_arrive_as_they_are_written)
{
    struct cor_str spans[] = {COR_STR("abc"), COR_STR(""), COR_STR("defg"), COR_STR("hi")};
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    assert_int_equal(cor_http_response_writev(h.held, spans, 4, 0), 9);
    assert_int_equal(cor_http_response_writev(h.held, spans, 4, 5), 4);
    assert_int_equal(cor_http_response_writev(h.held, spans, 4, 9), 0);
    assert_int_equal(cor_http_response_bytes(h.held), 13);
    cor_http_response_end(COR_STEAL(h.held));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 abcdefghifghi.");
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, many_spans_make_one_run)
{
    struct cor_str spans[200];
    struct http h;
    struct client cl;

    for (size_t i = 0; i < 200; i++)
        spans[i] = COR_STR("0123456789");
    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    assert_int_equal(cor_http_response_writev(h.held, spans, 200, 3), 1997);
    cor_http_response_end(COR_STEAL(h.held));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_int_equal(cl.body_bytes, 1997);
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, a_broken_promise_of_length_breaks_the_connection)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    cor_http_response_start(h.held, 200, NULL, 0, 10);
    assert_true(cor_http_response_is_started(h.held));
    assert_int_equal(cor_http_response_write(h.held, COR_STR("abc")), 3);
    cor_http_response_end(COR_STEAL(h.held));
    assert_true(cor_loop_run_until(h.loop, client_has_ended, &cl, PATIENCE_MS));
    assert_int_equal(cl.nresponses, 0);
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, shutdown_ends_watches_and_lets_requests_finish)
{
    struct http h;
    struct client watch, idle;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    h.ends_on_drain = true;
    client_open(&idle, &h, NULL);
    client_send(&idle, COR_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &idle, PATIENCE_MS));
    client_open(&watch, &h, NULL);
    client_send(&watch, COR_STR("GET /watch HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    cor_http_server_close(h.server, 10000, http_on_closed, &h);
    assert_true(cor_loop_run_until(h.loop, client_has_ended, &watch, PATIENCE_MS));
    assert_true(cor_loop_run_until(h.loop, client_has_ended, &idle, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&watch.text), "200 .");
    assert_int_equal(h.ndrained, 1);
    assert_int_equal(h.ngone, 0);
    client_close(&watch, &h);
    client_close(&idle, &h);
    http_deinit(&h);
}

TEST(server, shutdown_cuts_what_does_not_end_in_time)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    cor_http_server_close(h.server, 30, http_on_closed, &h);
    assert_true(cor_loop_run_until(h.loop, http_is_closed, &h, PATIENCE_MS));
    assert_int_equal(h.ndrained, 1);
    assert_int_equal(h.ngone, 1);
    assert_int_equal(h.why, -COR_ECANCELED);
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, a_request_in_flight_at_shutdown_is_answered_with_close)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, has_held, &h, PATIENCE_MS));
    cor_http_server_close(h.server, 10000, http_on_closed, &h);
    assert_false(cor_loop_run_until(h.loop, http_is_closed, &h, 30));
    cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR("late"));
    assert_true(cor_loop_run_until(h.loop, client_has_ended, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 late.");
    assert_non_null(strstr(cor_buf_z(&cl.headers), "Connection: close\n"));
    client_close(&cl, &h);
    http_deinit(&h);
}

TEST(server, a_watch_that_begins_during_shutdown_is_told_at_once)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    h.ends_on_drain = true;
    client_open(&cl, &h, NULL);
    client_send(&cl, COR_STR("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    client_send(&cl, COR_STR("GET /watch HTTP/1.1\r\nHost"));
    assert_false(cor_loop_run_until(h.loop, client_has_ended, &cl, 30));
    cor_http_server_close(h.server, 10000, http_on_closed, &h);
    assert_false(cor_loop_run_until(h.loop, client_has_ended, &cl, 30));
    client_send(&cl, COR_STR(": x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, client_has_ended, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 .200 .");
    assert_int_equal(h.ndrained, 1);
    client_close(&cl, &h);
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
    client_send(&cl, COR_STR("GET /who HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 nobody.");
    client_close(&cl, &h);
    http_deinit(&h);
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
    client_send(&cl, COR_STR("GET /who HTTP/1.1\r\nHost: x\r\n\r\n"));
    assert_true(cor_loop_run_until(h.loop, client_has_response, &cl, PATIENCE_MS));
    assert_string_equal(cor_buf_z(&cl.text), "200 admin.");
    client_close(&cl, &h);
    http_deinit(&h);
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
        http_init(&h, (struct cor_http_limits){0}, NULL);
        client_open(&cl, &h, NULL);
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
