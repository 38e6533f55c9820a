#include "test.h"

#include "http_fixture.h"
#include "identities.h"

TEST_BOTH(shutdown, shutdown_ends_watches_and_lets_requests_finish)
{
    struct http h;
    struct client watch, idle;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    h.ends_on_drain = true;
    client_open(&idle, &h, NULL);
    client_ask(&idle, "GET", "/", NULL);
    await(&h, client_has_response, &idle);
    client_open(&watch, &h, NULL);
    client_ask(&watch, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    cor_http_server_close(h.server, 10000, http_on_closed, &h);
    await(&h, client_has_ended, &watch);
    await(&h, client_has_ended, &idle);
    assert_string_equal(cor_buf_z(&watch.text), "200 .");
    assert_int_equal(h.ndrained, 1);
    assert_int_equal(h.ngone, 0);
    client_close(&watch, &h);
    client_close(&idle, &h);
    http_deinit(&h);
}

TEST_BOTH(shutdown, shutdown_cuts_what_does_not_end_in_time)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/hold", NULL);
    await(&h, has_held, &h);
    cor_http_server_close(h.server, 30, http_on_closed, &h);
    await(&h, http_is_closed, &h);
    assert_int_equal(h.ndrained, 1);
    assert_int_equal(h.ngone, 1);
    assert_int_equal(h.why, -COR_ECANCELED);
    part(&h, &cl);
}

TEST_BOTH(shutdown, a_request_in_flight_at_shutdown_is_answered_with_close)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/hold", NULL);
    await(&h, has_held, &h);
    cor_http_server_close(h.server, 10000, http_on_closed, &h);
    assert_false(cor_loop_run_until(h.loop, http_is_closed, &h, 30));
    cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR("late"));
    await(&h, client_has_ended, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 late.");
    if (protocol == H1)
        assert_non_null(strstr(cor_buf_z(&cl.headers), "connection: close\n"));
    part(&h, &cl);
}

TEST(shutdown, a_watch_that_begins_during_shutdown_is_told_at_once)
{
    struct http h;
    struct client cl;

    http_init(&h, (struct cor_http_limits){0}, NULL);
    h.ends_on_drain = true;
    client_open(&cl, &h, NULL);
    client_ask(&cl, "GET", "/", NULL);
    await(&h, client_has_response, &cl);
    client_send(&cl, COR_STR("GET /watch HTTP/1.1\r\nHost"));
    assert_false(cor_loop_run_until(h.loop, client_has_ended, &cl, 30));
    cor_http_server_close(h.server, 10000, http_on_closed, &h);
    assert_false(cor_loop_run_until(h.loop, client_has_ended, &cl, 30));
    client_send(&cl, COR_STR(": x\r\n\r\n"));
    await(&h, client_has_ended, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 .200 .");
    assert_non_null(strstr(cor_buf_z(&cl.headers), "connection: close\n"));
    assert_int_equal(h.ndrained, 1);
    part(&h, &cl);
}

TEST(shutdown, a_handshake_that_does_not_come_is_not_waited_for)
{
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER};
    struct cor_tls *tls;
    struct identities ids;
    struct client cl;
    struct http h;

    identities_init(&ids);
    opts.cert_pem = cor_buf_str(&ids.server.cert_pem);
    opts.key_pem = cor_buf_str(&ids.server.key_pem);
    assert_int_equal(cor_tls_new(&opts, &tls), 0);
    http_init(&h, (struct cor_http_limits){0}, tls);
    client_open(&cl, &h, NULL);
    assert_false(cor_loop_run_until(h.loop, client_has_ended, &cl, 20));
    cor_http_server_close(h.server, 10 * PATIENCE_MS, http_on_closed, &h);
    await(&h, http_is_closed, &h);
    part(&h, &cl);
    cor_tls_unref(tls);
    identities_deinit(&ids);
}
