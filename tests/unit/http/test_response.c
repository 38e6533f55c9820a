#include "test.h"

#include "http_fixture.h"
#include "identities.h"

TEST_BOTH(response, a_response_carries_the_fixed_headers)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_response, &cl);
    assert_non_null(strstr(cor_buf_z(&cl.headers), "content-type: text/plain\n"));
    assert_non_null(strstr(cor_buf_z(&cl.headers), "content-length: 2\n"));
    assert_non_null(strstr(cor_buf_z(&cl.headers), " GMT\n"));
    assert_null(strstr(cor_buf_z(&cl.headers), "connection"));
    part(&h, &cl);
}

TEST(response, head_has_the_length_and_no_body)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    cor_h1_next(cl.h1, true);
    client_send(
        &cl,
        COR_STR(
            "HEAD /send/77 HTTP/1.1\r\nHost: x\r\n\r\nGET /send/3 HTTP/1.1\r\nHost: x\r\n\r\n"));
    await(&h, client_has_response, &cl);
    assert_non_null(strstr(cor_buf_z(&cl.headers), "content-length: 77\n"));
    await(&h, client_has_two, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 .200 yyy.");
    part(&h, &cl);
}

static void check_big(struct cor_tls *server_tls, struct cor_tls *client_tls, const char *target)
{
    struct http h;
    struct client cl;
    http_init(&h, (struct cor_http_limits){0}, server_tls);
    client_open(&cl, &h, client_tls);
    cl.forgets = true;
    client_ask(&cl, "GET", target, NULL);
    await(&h, client_has_response, &cl);
    assert_int_equal(cl.body_bytes, 10000000);
    assert_string_equal(cor_buf_z(&cl.text), "200 .");
    part(&h, &cl);
}

TEST_BOTH(response, big_responses_arrive_whole)
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

TEST_BOTH(response, a_slow_reader_holds_the_writer_back)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    cl.forgets = true;
    client_ask(&cl, "GET", "/big/50000000?c", NULL);
    while (!h.held)
        cor_loop_run_until(h.loop, is_full, &h, 1);
    cor_stream_read_stop(cl.stream);
    /* The sockets' own buffers fill, then the response's. */
    while (!cor_loop_run_until(h.loop, is_full, &h, 10))
        ;
    assert_false(cor_loop_run_until(h.loop, client_has_response, &cl, 50));
    assert_true(h.left > 1000000);
    cor_stream_read_start(cl.stream);
    await(&h, client_has_response, &cl);
    assert_int_equal(cl.body_bytes, 50000000);
    part(&h, &cl);
}

TEST_BOTH(response, a_client_that_leaves_is_told_to_the_handler)
{
    static const char *const targets[] = {"/hold", "/watch"};

    for (size_t i = 0; i < 2; i++) {
        struct http h;
        struct client cl;

        meet(&h, &cl, (struct cor_http_limits){0});
        client_ask(&cl, "GET", targets[i], NULL);
        await(&h, has_held, &h);
        client_close(&cl, &h);
        await(&h, someone_is_gone, &h);
        assert_int_equal(h.why, -COR_ECANCELED);
        assert_int_equal(h.ngone, 1);
        http_deinit(&h);
    }
}

TEST_BOTH(response, a_late_handler_is_answered_for)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 30});
    client_ask(&cl, "GET", "/hold", NULL);
    await(&h, client_has_response, &cl);
    assert_int_equal(strncmp(cor_buf_z(&cl.text), "504 ", 4), 0);
    assert_int_equal(h.ngone, 1);
    assert_int_equal(h.why, -COR_ETIMEOUT);
    client_ask(&cl, "GET", "/", NULL);
    cl.nresponses = 0;
    await(&h, client_has_response, &cl);
    part(&h, &cl);
}

TEST_BOTH(response, a_started_response_is_broken_off_at_its_deadline)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    assert_int_equal(cor_http_response_write(h.held, COR_STR("part")), 4);
    cor_http_response_set_deadline(h.held, cor_loop_now_ms(h.loop) + 20);
    await(&h, client_is_broken, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 part!");
    assert_int_equal(h.why, -COR_ETIMEOUT);
    part(&h, &cl);
}

TEST_BOTH(response, a_watch_s_spans_arrive_as_they_are_written)
{
    struct cor_str spans[] = {COR_STR("abc"), COR_STR(""), COR_STR("defg"), COR_STR("hi")};
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    assert_int_equal(cor_http_response_writev(h.held, spans, 4, 0), 9);
    assert_int_equal(cor_http_response_writev(h.held, spans, 4, 5), 4);
    assert_int_equal(cor_http_response_writev(h.held, spans, 4, 9), 0);
    cor_http_response_end(COR_STEAL(h.held));
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 abcdefghifghi.");
    part(&h, &cl);
}

TEST_BOTH(response, many_spans_make_one_run)
{
    struct cor_str spans[200];
    struct http h;
    struct client cl;

    for (size_t i = 0; i < 200; i++)
        spans[i] = COR_STR("0123456789");
    meet(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    assert_int_equal(cor_http_response_writev(h.held, spans, 200, 3), 1997);
    cor_http_response_end(COR_STEAL(h.held));
    await(&h, client_has_response, &cl);
    assert_int_equal(cl.body_bytes, 1997);
    part(&h, &cl);
}

TEST_BOTH(response, a_broken_promise_of_length_breaks_the_response)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/hold", NULL);
    await(&h, has_held, &h);
    cor_http_response_start(h.held, 200, NULL, 0, 10);
    assert_int_equal(cor_http_response_write(h.held, COR_STR("abc")), 3);
    cor_http_response_end(COR_STEAL(h.held));
    await(&h, client_is_broken, &cl);
    assert_int_equal(cl.nresponses, 0);
    part(&h, &cl);
}

TEST_BOTH(response, a_status_without_a_body_says_no_length)
{
    static const int statuses[] = {204, 304};

    for (size_t i = 0; i < 2; i++) {
        struct http h;
        struct client cl;

        meet(&h, &cl, (struct cor_http_limits){0});
        client_ask(&cl, "GET", "/hold", NULL);
        await(&h, has_held, &h);
        cor_http_response_send(COR_STEAL(h.held), statuses[i], NULL, 0, COR_STR("swallowed"));
        await(&h, client_has_response, &cl);
        assert_null(strstr(cor_buf_z(&cl.headers), "content-length"));
        assert_null(strstr(cor_buf_z(&cl.text), "swallowed"));
        part(&h, &cl);
    }
}
