#include "test.h"

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/client_conn.h"
#include "loop/loop.h"
#include "net/stream/listener.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"

#define PATIENCE_MS 60000
#define SETTINGS    "\0\0\0\4\0\0\0\0\0"
#define GOAWAY      "\0\0\x08\7\0\0\0\0\0\0\0\0\0\0\0\0\0"

/* A server that says fixed bytes, and the client's side of it. */
struct wire {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_listener *listener;
    struct cor_stream *server;
    struct cor_str greeting;
    struct cor_client_conn *conn;
    int opens, drains, ends, closed_streams;
    int why;
    char text[100];
    size_t got;
    bool conn_closed, server_closed, listener_closed, net_closed;
    bool closes_in_end;
};

static void on_conn_closed(void *arg)
{
    ((struct wire *)arg)->conn_closed = true;
}

static void close_conn(struct wire *w)
{
    if (w->conn)
        cor_client_conn_close(COR_STEAL(w->conn), on_conn_closed, w);
}

static void on_open(struct cor_client_conn *c, void *arg)
{
    ((struct wire *)arg)->opens++;
}

static void on_drain(struct cor_client_conn *c, void *arg)
{
    ((struct wire *)arg)->drains++;
}

static void on_end(struct cor_client_conn *c, int why, const char *text, void *arg)
{
    struct wire *w = arg;

    w->ends++;
    w->why = why;
    snprintf(w->text, sizeof(w->text), "%s", text);
    if (w->closes_in_end)
        close_conn(w);
}

static const struct cor_client_conn_cbs conn_cbs = {on_open, on_drain, on_end};

static void on_server_open(struct cor_stream *s, void *arg)
{
    struct wire *w = arg;

    if (w->greeting.n > 0)
        cor_stream_write(s, &w->greeting, 1);
}

static void on_server_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    ((struct wire *)arg)->got += bytes.n;
}

static void on_server_writable(struct cor_stream *s, void *arg)
{
}

static void on_server_end(struct cor_stream *s, int why, void *arg)
{
}

static void on_server_drained(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs server_cbs = {on_server_open, on_server_data, on_server_writable,
                                                 on_server_end, on_server_drained};

static void on_accept(int fd, void *arg)
{
    struct wire *w = arg;
    struct cor_stream_opts opts = {.cbs = &server_cbs, .arg = w, .out_max = 65536};

    if (w->server)
        close(fd);
    else
        cor_stream_open(w->net, fd, &opts, &w->server);
}

static void wire_init(struct wire *w, struct cor_str greeting)
{
    *w = (struct wire){.greeting = greeting};
    assert_int_equal(cor_loop_new(64, &w->loop), 0);
    assert_int_equal(cor_net_open(w->loop, &w->net), 0);
    assert_int_equal(cor_listener_open(w->net, "127.0.0.1", 0, on_accept, w, &w->listener), 0);
}

static int wire_connect(struct wire *w, const char *host, uint64_t timeout_ms)
{
    static const struct cor_h2_limits limits = {
        .streams_max = 10, .window = 65536, .head_max = 4096, .headers_max = 20};
    struct cor_client_conn_opts opts = {.host = host,
                                        .port = cor_listener_port(w->listener),
                                        .connect_timeout_ms = timeout_ms,
                                        .keepalive_ms = 30,
                                        .keepalive_timeout_ms = 30,
                                        .limits = &limits,
                                        .cbs = &conn_cbs,
                                        .arg = w};

    return cor_client_conn_open(w->net, &opts, &w->conn);
}

static bool conn_is_closed(void *arg)
{
    return ((struct wire *)arg)->conn_closed;
}

static void on_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool flag_is_set(void *arg)
{
    return *(bool *)arg;
}

static void wire_deinit(struct wire *w)
{
    bool had_conn = w->conn || w->closes_in_end;

    close_conn(w);
    if (had_conn)
        assert_true(cor_loop_run_until(w->loop, conn_is_closed, w, PATIENCE_MS));
    if (w->server) {
        cor_stream_close(w->server, on_flag, &w->server_closed);
        assert_true(cor_loop_run_until(w->loop, flag_is_set, &w->server_closed, PATIENCE_MS));
    }
    cor_listener_close(w->listener, on_flag, &w->listener_closed);
    assert_true(cor_loop_run_until(w->loop, flag_is_set, &w->listener_closed, PATIENCE_MS));
    cor_net_close(w->net, on_flag, &w->net_closed);
    assert_true(cor_loop_run_until(w->loop, flag_is_set, &w->net_closed, PATIENCE_MS));
    cor_loop_free(w->loop);
}

static bool is_open(void *arg)
{
    return ((struct wire *)arg)->opens > 0;
}

static bool has_ended(void *arg)
{
    return ((struct wire *)arg)->ends > 0;
}

static bool has_server(void *arg)
{
    return ((struct wire *)arg)->server != NULL;
}

TEST(client_conn, is_open_when_the_server_has_spoken)
{
    struct wire w;

    wire_init(&w, COR_STR(SETTINGS));
    assert_int_equal(wire_connect(&w, "127.0.0.1", 5000), 0);
    assert_int_equal(w.opens, 0);
    assert_true(cor_loop_run_until(w.loop, is_open, &w, PATIENCE_MS));
    assert_int_equal(w.ends, 0);
    assert_true(w.got >= sizeof(COR_H2_PREFACE) - 1);
    wire_deinit(&w);
    assert_int_equal(w.ends, 0);
}

TEST(client_conn, may_be_closed_in_every_state)
{
    for (int i = 0; i < 5; i++) {
        struct wire w;

        wire_init(&w, i < 3 ? COR_STR("") : COR_STR(SETTINGS));
        assert_int_equal(wire_connect(&w, "localhost", 5000), 0);
        if (i == 1)
            cor_loop_run_until(w.loop, has_server, &w, 0);
        else if (i == 2)
            assert_true(cor_loop_run_until(w.loop, has_server, &w, PATIENCE_MS));
        else if (i >= 3)
            assert_true(cor_loop_run_until(w.loop, is_open, &w, PATIENCE_MS));
        if (i == 4) {
            cor_stream_close(COR_STEAL(w.server), NULL, NULL);
            assert_true(cor_loop_run_until(w.loop, has_ended, &w, PATIENCE_MS));
        }
        wire_deinit(&w);
        assert_int_equal(w.ends, i == 4);
    }
}

TEST(client_conn, may_be_closed_from_its_end)
{
    struct wire w;

    wire_init(&w, COR_STR("HTTP/1.1 400 Bad Request\r\n\r\n"));
    w.closes_in_end = true;
    assert_int_equal(wire_connect(&w, "127.0.0.1", 5000), 0);
    assert_true(cor_loop_run_until(w.loop, has_ended, &w, PATIENCE_MS));
    assert_int_equal(w.why, -COR_EINVAL);
    assert_true(w.text[0]);
    wire_deinit(&w);
}

TEST(client_conn, a_server_that_never_speaks_is_too_slow)
{
    struct wire w;

    wire_init(&w, COR_STR(""));
    assert_int_equal(wire_connect(&w, "127.0.0.1", 20), 0);
    assert_true(cor_loop_run_until(w.loop, has_ended, &w, PATIENCE_MS));
    assert_int_equal(w.why, -COR_ETIMEOUT);
    wire_deinit(&w);
}

static void on_stream_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct wire *w = arg;

    assert_int_equal(code, COR_H2_LOST);
    assert_int_equal(w->ends, 0);
    w->closed_streams++;
}

static const struct cor_h2_stream_cbs stream_cbs = {.on_closed = on_stream_closed};

static void open_stream(struct wire *w)
{
    struct cor_h2_request req = {.method = COR_STR("GET"),
                                 .scheme = COR_STR("http"),
                                 .authority = COR_STR("a"),
                                 .path = COR_STR("/")};
    struct cor_h2_stream *s;

    assert_int_equal(cor_h2_open(cor_client_conn_h2(w->conn), &req, &stream_cbs, w, &s), 0);
}

TEST(client_conn, pings_only_while_streams_are_open)
{
    struct wire w;

    wire_init(&w, COR_STR(SETTINGS));
    assert_int_equal(wire_connect(&w, "127.0.0.1", 5000), 0);
    assert_true(cor_loop_run_until(w.loop, is_open, &w, PATIENCE_MS));
    assert_false(cor_loop_run_until(w.loop, has_ended, &w, 150));
    open_stream(&w);
    assert_true(cor_loop_run_until(w.loop, has_ended, &w, PATIENCE_MS));
    assert_int_equal(w.why, -COR_ETIMEOUT);
    assert_int_equal(w.closed_streams, 1);
    wire_deinit(&w);
}

TEST(client_conn, a_goaway_is_told_and_the_end_comes_after_the_last_stream)
{
    struct cor_str goaway = COR_STR(GOAWAY);
    struct wire w;

    wire_init(&w, COR_STR(SETTINGS));
    assert_int_equal(wire_connect(&w, "127.0.0.1", 5000), 0);
    assert_true(cor_loop_run_until(w.loop, is_open, &w, PATIENCE_MS));
    assert_int_equal(cor_stream_write(w.server, &goaway, 1), 0);
    assert_true(cor_loop_run_until(w.loop, has_ended, &w, PATIENCE_MS));
    assert_int_equal(w.drains, 1);
    assert_int_equal(w.why, 0);
    wire_deinit(&w);
}

TEST(client_conn, streams_are_told_when_their_connection_is_closed_or_lost)
{
    struct wire w;

    for (int lost = 0; lost < 2; lost++) {
        wire_init(&w, COR_STR(SETTINGS));
        assert_int_equal(wire_connect(&w, "127.0.0.1", 5000), 0);
        assert_true(cor_loop_run_until(w.loop, is_open, &w, PATIENCE_MS));
        open_stream(&w);
        open_stream(&w);
        if (lost) {
            cor_stream_close(COR_STEAL(w.server), NULL, NULL);
            assert_true(cor_loop_run_until(w.loop, has_ended, &w, PATIENCE_MS));
            assert_int_equal(w.why, -COR_EIO);
        }
        wire_deinit(&w);
        assert_int_equal(w.closed_streams, 2);
    }
}

static bool is_open_or_ended(void *arg)
{
    return is_open(arg) || has_ended(arg);
}

TEST(client_conn, survives_every_failed_allocation)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct wire w;
        int r;

        test_fail_alloc(0, false);
        wire_init(&w, COR_STR(SETTINGS));
        test_fail_alloc(n, false);
        r = wire_connect(&w, "127.0.0.1", 500);
        if (r == 0)
            assert_true(cor_loop_run_until(w.loop, is_open_or_ended, &w, PATIENCE_MS));
        else
            w.conn = NULL;
        wire_deinit(&w);
    }
}
