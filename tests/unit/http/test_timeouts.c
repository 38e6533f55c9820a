#include "test.h"

#include "http_fixture.h"

TEST_BOTH(timeouts, a_reader_that_stops_is_cut_after_the_request_timeout)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 50});
    client_ask(&cl, "GET", "/watch", NULL);
    while (!h.held)
        cor_loop_run_until(h.loop, is_full, &h, 1);
    cor_stream_read_stop(cl.stream);
    h.left = 1u << 30;
    stream_out(&h);
    await(&h, someone_is_gone, &h);
    assert_int_equal(h.why, -COR_ETIMEOUT);
    part(&h, &cl);
}

TEST(timeouts, slow_heads_and_slow_bodies_are_cut)
{
    struct http h;

    /* The time begins when the connection is accepted: the first bytes must come within it. */
    http_init(&h, (struct cor_http_limits){.head_timeout_ms = 500}, NULL);
    check_end(&h, "GET / HTTP/1.1\r\nHost: x\r\n",
              "408 408 Request Timeout: the request's head took too long\n.");
    check_end(&h, "\r\n", "");
    assert_int_equal(h.seen.n, 0);
    http_deinit(&h);
    http_init(&h, (struct cor_http_limits){.request_timeout_ms = 60}, NULL);
    check_end(&h, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nab",
              "504 504 Gateway Timeout: request did not complete within the allotted timeout\n.");
    assert_int_equal(h.seen.n, 0);
    http_deinit(&h);
}

static void hold_with_a_text(const struct cor_http_request *req, struct cor_http_response *resp,
                             void *arg)
{
    ((struct http *)arg)->holds = true;
    cor_http_response_set_cbs(resp, &handler_cbs, arg);
    cor_http_response_set_deadline(resp, cor_loop_now_ms(cor_http_response_loop(resp)) + 20);
    cor_http_response_set_timeout_text(resp, "the handler ran out of its own time");
}

TEST_BOTH(timeouts, a_handler_names_the_deadline_that_it_has_set)
{
    struct http h;
    struct client cl;

    head_handler = hold_with_a_text;
    http_init(&h, (struct cor_http_limits){0}, NULL);
    head_handler = NULL;
    client_open(&cl, &h, NULL);
    client_ask(&cl, "POST", "/x", "hi");
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text),
                        "504 504 Gateway Timeout: the handler ran out of its own time\n.");
    assert_int_equal(h.ngone, 1);
    assert_int_equal(h.why, -COR_ETIMEOUT);
    part(&h, &cl);
}

TEST_BOTH(timeouts, an_idle_connection_is_closed)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){.idle_timeout_ms = 30});
    client_ask(&cl, "GET", "/", NULL);
    await(&h, client_has_ended, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 .");
    part(&h, &cl);
}

static bool has_no_connection(void *arg)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(((struct http *)arg)->server, &stats);
    return stats.connections == 0;
}

TEST(timeouts, a_client_that_does_not_hang_up_is_cut)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_send(&cl, COR_STR("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"));
    await(&h, client_has_ended, &cl);
    await(&h, has_no_connection, &h);
    part(&h, &cl);
}

TEST(timeouts, blank_lines_do_not_keep_a_connection_open)
{
    struct http h;
    struct client cl;
    int sent = 0;

    meet(&h, &cl, (struct cor_http_limits){.idle_timeout_ms = 200, .head_timeout_ms = 200});
    client_ask(&cl, "GET", "/", NULL);
    await(&h, client_has_response, &cl);
    for (; sent < 500 && !cl.has_ended; sent++) {
        client_send(&cl, COR_STR("\r\n"));
        cor_loop_run_until(h.loop, client_has_ended, &cl, 10);
    }
    assert_true(cl.has_ended);
    part(&h, &cl);
}
