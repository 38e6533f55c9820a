/* What only HTTP/2 has: streams side by side, windows, frames that attack. What both protocols
 * have is in the other files. */
#include "base/limits.h"
#include "test.h"

#include "base/clock.h"
#include "http/http_server_int.h"
#include "http_fixture.h"
#include "identities.h"

static void meet_h2(struct http *h, struct client *cl, struct cor_http_limits limits)
{
    protocol = H2;
    meet(h, cl, limits);
}

static void part_h2(struct http *h, struct client *cl)
{
    part(h, cl);
    protocol = H1;
}

static bool client_has_hundred(void *arg)
{
    return ((struct client *)arg)->nresponses == 100;
}

/* Many requests that come in one read, and how many of them the handler gets in one turn. */
static struct {
    struct cor_net *net; /* of the server */
    uint64_t turn;
    size_t in_turn, most, total;
    uint64_t spin_us;
} burst;

static void burst_handler(const struct cor_http_request *req, struct cor_http_response *resp,
                          void *arg)
{
    uint64_t until_us = cor_clock_mono_us(cor_clock_real()) + burst.spin_us;

    if (burst.turn != cor_net_turn(burst.net))
        burst.in_turn = 0;
    burst.turn = cor_net_turn(burst.net);
    burst.total++;
    if (++burst.in_turn > burst.most)
        burst.most = burst.in_turn;
    while (cor_clock_mono_us(cor_clock_real()) < until_us)
        ;
    cor_http_response_send(resp, 200, NULL, 0, COR_STR("hi"));
}

static bool burst_is_answered(void *arg)
{
    return ((struct client *)arg)->nresponses == burst.total;
}

static void check_burst(bool is_at_head, size_t n, uint64_t spin_us, size_t at_most)
{
    struct http h;
    struct client cl;

    memset(&burst, 0, sizeof(burst));
    burst.spin_us = spin_us;
    protocol = H2;
    head_handler = is_at_head ? burst_handler : NULL;
    http_init(&h, (struct cor_http_limits){0}, NULL);
    if (!is_at_head)
        h.server->opts.on_request = burst_handler;
    head_handler = NULL;
    burst.net = h.server->workers[0].net;
    client_open(&cl, &h, NULL);
    client_ask(&cl, "GET", "/x", NULL);
    await(&h, client_has_response, &cl);
    for (size_t i = 1; i < n; i++)
        client_ask(&cl, "GET", "/x", NULL);
    while (burst.total < n)
        cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
    await(&h, burst_is_answered, &cl);
    assert_int_equal(burst.total, n);
    assert_uint_in_range(burst.most, 2, at_most);
    part(&h, &cl);
    protocol = H1;
}

TEST(h2, many_requests_at_once_are_run_in_many_turns)
{
    check_burst(false, 600, 0, 64);
}

TEST(h2, slow_requests_at_once_are_run_two_in_a_turn)
{
    check_burst(false, 12, 5000, 2);
}

/* What on_head answers is not put off; the input is, slice by slice. */
TEST(h2, many_requests_at_once_that_on_head_answers_are_answered_in_many_turns)
{
    check_burst(true, 600, 0, 64 + 4096 / 13);
}

static void leave_early(const struct cor_http_request *req, struct cor_http_response *resp,
                        void *arg)
{
    burst_handler(req, resp, arg);
    if (burst.total == 2)
        cor_http_server_close(((struct http *)arg)->server, 0, http_on_closed, arg);
}

TEST(h2, requests_that_wait_for_a_turn_end_with_their_server)
{
    struct http h;
    struct client cl;

    memset(&burst, 0, sizeof(burst));
    burst.spin_us = 5000;
    meet_h2(&h, &cl, (struct cor_http_limits){0});
    h.server->opts.on_request = leave_early;
    burst.net = h.server->workers[0].net;
    for (int i = 0; i < 12; i++)
        client_ask(&cl, "GET", "/x", NULL);
    await(&h, http_is_closed, &h);
    assert_uint_in_range(burst.total, 2, 12);
    part_h2(&h, &cl);
}

static bool burst_is_over(void *arg)
{
    return ((struct client *)arg)->nclosed == 12;
}

/* The answer that tells of the deadline finds no window, so that its exchange lives on. */
TEST(h2, a_request_whose_time_is_up_while_it_waits_for_a_turn_is_not_run)
{
    struct http h;
    struct client cl;

    memset(&burst, 0, sizeof(burst));
    burst.spin_us = 5000;
    client_h2_limits.window = 1;
    meet_h2(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 1});
    client_h2_limits.window = COR_H2_WINDOW;
    cl.hoards = true;
    h.server->opts.on_request = burst_handler;
    burst.net = h.server->workers[0].net;
    for (int i = 0; i < 12; i++)
        client_ask(&cl, "GET", "/x", NULL);
    await(&h, burst_is_over, &cl);
    part_h2(&h, &cl);
}

TEST(h2, streams_are_answered_side_by_side)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/hold", NULL);
    await(&h, has_held, &h);
    for (int i = 0; i < 100; i++)
        client_ask(&cl, i % 2 ? "GET" : "POST", "/echo", i % 2 ? NULL : "b");
    await(&h, client_has_hundred, &cl);
    assert_int_equal(h.ngone, 0);
    cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR("last"));
    while (cl.nresponses < 101)
        cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
    assert_non_null(strstr(cor_buf_z(&cl.text), "200 last."));
    part_h2(&h, &cl);
}

/* The first bytes tell the protocol of a plain socket, however they are cut. */
TEST(h2, prior_knowledge_is_recognised_byte_by_byte)
{
    static const char frames[] = COR_H2_PREFACE "\0\0\0\4\0\0\0\0\0"
                                                "\0\0\6\1\5\0\0\0\1"
                                                "\x82\x86\x84\1\1x";
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    cl.is_raw = true;
    for (size_t i = 0; i < sizeof(frames) - 1; i++) {
        client_send(&cl, cor_str(frames + i, 1));
        cor_loop_run_until(h.loop, http_has_seen, &h, 1);
    }
    await(&h, http_has_seen, &h);
    assert_string_equal(cor_buf_z(&h.seen), "GET /? \n");
    part(&h, &cl);
}

TEST(h2, what_only_begins_like_a_preface_is_http_1)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    client_send(&cl, COR_STR("P"));
    cor_loop_run_until(h.loop, http_has_seen, &h, 5);
    client_send(&cl, COR_STR("OST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"));
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 hi.");
    part(&h, &cl);
    meet(&h, &cl, (struct cor_http_limits){.head_timeout_ms = 30});
    client_send(&cl, COR_STR("PRI * HTTP/2.0\r\n"));
    await(&h, client_has_ended, &cl);
    part(&h, &cl);
}

TEST(h2, alpn_chooses_the_protocol)
{
    static const char *const both[] = {"h2", "http/1.1"};
    struct cor_tls_opts opts = {.role = COR_TLS_SERVER, .alpn = both, .nalpn = 2};
    struct cor_tls *server, *client;
    struct identities ids;
    struct client cl;
    struct http h;

    identities_init(&ids);
    opts.cert_pem = cor_buf_str(&ids.server.cert_pem);
    opts.key_pem = cor_buf_str(&ids.server.key_pem);
    assert_int_equal(cor_tls_new(&opts, &server), 0);
    http_init(&h, (struct cor_http_limits){0}, server);
    for (int i = 0; i < 3; i++) {
        /* h2, then http/1.1, then nothing is offered. */
        opts = (struct cor_tls_opts){.role = COR_TLS_CLIENT,
                                     .ca_pem = cor_buf_str(&ids.ca.cert_pem),
                                     .alpn = i == 1 ? both + 1 : both,
                                     .nalpn = i == 2   ? 0
                                              : i == 1 ? 1
                                                       : 2};
        assert_int_equal(cor_tls_new(&opts, &client), 0);
        protocol = i == 0 ? H2 : H1;
        client_open(&cl, &h, client);
        client_ask(&cl, "POST", "/echo", "hi");
        await(&h, client_has_response, &cl);
        assert_string_equal(cor_buf_z(&cl.text), "200 hi.");
        client_close(&cl, &h);
        cor_tls_unref(client);
    }
    protocol = H1;
    http_deinit(&h);
    cor_tls_unref(server);
    identities_deinit(&ids);
}

/* But for a rest that is not worth a frame. */
static bool window_is_full(void *arg)
{
    return ((struct client *)arg)->body_bytes > COR_H2_WINDOW - 16384;
}

TEST(h2, a_stream_that_is_not_read_stops_only_itself)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    cl.forgets = cl.hoards = true;
    client_ask(&cl, "GET", "/big/10000000?c", NULL);
    await(&h, window_is_full, &cl);
    assert_true(h.left > 9000000);
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_response, &cl);
    assert_int_equal(h.ngone, 0);
    part_h2(&h, &cl);
}

TEST(h2, a_stream_that_is_not_read_is_reset_after_the_request_timeout)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 100});
    cl.forgets = cl.hoards = true;
    client_ask(&cl, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    h.left = 1u << 30;
    stream_out(&h);
    await(&h, someone_is_gone, &h);
    assert_int_equal(h.why, -COR_ETIMEOUT);
    await(&h, client_is_broken, &cl);
    assert_int_equal(cl.code, COR_H2_INTERNAL_ERROR);
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_response, &cl);
    part_h2(&h, &cl);
}

/* Slow, but never idle for as long as a request may take. */
TEST(h2, a_stream_that_is_read_in_steps_is_not_reset)
{
    size_t consumed = 0;
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 2000});
    cl.forgets = cl.hoards = true;
    client_ask(&cl, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    h.left = 1u << 30;
    stream_out(&h);
    for (int i = 0; i < 5; i++) {
        assert_false(cor_loop_run_until(h.loop, someone_is_gone, &h, 500));
        assert_true(cl.body_bytes > consumed);
        cor_h2_consume(cl.last, cl.body_bytes - consumed);
        consumed = cl.body_bytes;
    }
    part_h2(&h, &cl);
}

TEST(h2, a_watch_whose_reader_keeps_up_outlives_the_request_timeout)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 40});
    client_ask(&cl, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    assert_false(cor_loop_run_until(h.loop, someone_is_gone, &h, 150));
    cor_http_response_write(h.held, COR_STR("event"));
    cor_http_response_end(COR_STEAL(h.held));
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 event.");
    part_h2(&h, &cl);
}

TEST(h2, a_request_that_is_reset_is_told_to_its_handler_only)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/hold", NULL);
    await(&h, has_held, &h);
    cor_h2_reset(COR_STEAL(cl.last), COR_H2_CANCEL);
    await(&h, someone_is_gone, &h);
    assert_int_equal(h.why, -COR_ECANCELED);
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_response, &cl);
    assert_int_equal(h.ngone, 1);
    part_h2(&h, &cl);
}

/* Opens a stream whose body is still to come. */
static void ask_for_more(struct client *cl, const char *target,
                         const struct cor_http_header *headers, size_t nheaders)
{
    struct cor_h2_request req = {.method = COR_STR("PUT"),
                                 .scheme = COR_STR("http"),
                                 .authority = COR_STR("x"),
                                 .path = cor_strz(target),
                                 .headers = headers,
                                 .nheaders = nheaders,
                                 .has_body = true};

    assert_int_equal(cor_h2_open(cl->h2, &req, &client_h2_cbs, cl, &cl->last), 0);
}

static void send_more(struct client *cl, struct cor_str bytes)
{
    assert_int_equal(cor_h2_write(cl->last, &bytes, 1, 0, false), bytes.n);
}

TEST(h2, bodies_keep_their_limits)
{
    static const struct cor_http_header lengths[] = {{COR_STR("content-length"), COR_STR("1001")}};
    char body[1001] = {0};
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){.body_max = 1000});
    ask_for_more(&cl, "/p", lengths, 1);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "413 {\"code\":413,\"path\":\"/p\"}.");
    cl.nresponses = 0;
    ask_for_more(&cl, "/q", NULL, 0);
    send_more(&cl, cor_str(body, 1001));
    await(&h, client_has_response, &cl);
    assert_non_null(strstr(cor_buf_z(&cl.text), "413 {\"code\":413,\"path\":\"/q\"}."));
    assert_int_equal(h.seen.n, 0);
    cl.nresponses = 0;
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_response, &cl);
    part_h2(&h, &cl);
}

static bool client_has_eight_hundred(void *arg)
{
    return ((struct client *)arg)->nresponses >= 811;
}

TEST(h2, a_client_that_does_not_read_is_answered_when_it_does)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    cl.forgets = true;
    client_ask(&cl, "GET", "/big/20000000?c", NULL);
    await(&h, has_held, &h);
    cor_stream_read_stop(cl.stream);
    while (!cor_loop_run_until(h.loop, is_full, &h, 10))
        ;
    for (int i = 0; i < 800; i++)
        client_ask(&cl, "GET", "/", NULL);
    cor_loop_run_until(h.loop, client_has_eight_hundred, &cl, 50);
    for (int i = 0; i < 10; i++)
        client_ask(&cl, "GET", "/", NULL);
    cor_loop_run_until(h.loop, client_has_eight_hundred, &cl, 20);
    cor_stream_read_start(cl.stream);
    await(&h, client_has_eight_hundred, &cl);
    part_h2(&h, &cl);
}

/* The peer's reset and another stream's request arrive together, and that request's handler ends
 * the response before anybody is told. */
TEST(h2, a_response_may_end_when_its_stream_is_gone_already)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/watch", NULL);
    await(&h, has_held, &h);
    client_ask(&cl, "GET", "/release", NULL);
    cor_h2_reset(cl.first_stream, COR_H2_CANCEL);
    await(&h, client_has_response, &cl);
    assert_int_equal(h.ngone, 0);
    part_h2(&h, &cl);
}

TEST(h2, a_slow_body_is_answered_and_only_its_stream_ends)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){.request_timeout_ms = 40});
    ask_for_more(&cl, "/p", NULL, 0);
    send_more(&cl, COR_STR("ab"));
    await(&h, client_has_response, &cl);
    assert_string_equal(
        cor_buf_z(&cl.text),
        "504 504 Gateway Timeout: request did not complete within the allotted timeout\n.");
    cl.nresponses = 0;
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_response, &cl);
    part_h2(&h, &cl);
}

TEST(h2, head_has_the_length_and_no_body)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "HEAD", "/send/77", NULL);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 .");
    assert_non_null(strstr(cor_buf_z(&cl.headers), "content-length: 77\n"));
    part_h2(&h, &cl);
}

TEST(h2, a_bad_target_is_a_400)
{
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "OPTIONS", "*", NULL);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "400 400 Bad Request: malformed request target\n.");
    part_h2(&h, &cl);
}

static bool client_lost_one(void *arg)
{
    return ((struct client *)arg)->nclosed > 0;
}

/* What could become another message when a proxy writes it as HTTP/1.1. */
TEST(h2, heads_that_could_smuggle_reset_their_stream)
{
    static const struct {
        const char *path;
        struct cor_http_header header;
        const char *body;
    } bad[] = {
        {"/a b", {{0}, {0}}, ""},
        {"/ HTTP/1.1\r\nx: y", {{0}, {0}}, ""},
        {"/", {COR_STR("transfer-encoding"), COR_STR("chunked")}, ""},
        {"/", {COR_STR("connection"), COR_STR("close")}, ""},
        {"/", {COR_STR("a b"), COR_STR("c")}, ""},
        {"/", {COR_STR("a\r\nb"), COR_STR("c")}, ""},
        {"/", {COR_STR("a:b"), COR_STR("c")}, ""},
        {"/", {COR_STR("a"), COR_STR("b\x01")}, ""},
        {"/", {COR_STR("content-length"), COR_STR("3")}, ""},
        {"/", {COR_STR("content-length"), COR_STR("3")}, "ab"},
        {"/", {COR_STR("content-length"), COR_STR("3")}, "abcd"},
        {"/", {COR_STR("content-length"), COR_STR("3, 3")}, "abc"},
    };

    for (size_t i = 0; i < COR_ARRAY_LEN(bad); i++) {
        struct http h;
        struct client cl;
        struct cor_h2_request req = {.method = COR_STR("POST"),
                                     .scheme = COR_STR("http"),
                                     .authority = COR_STR("x"),
                                     .path = cor_strz(bad[i].path),
                                     .headers = &bad[i].header,
                                     .nheaders = bad[i].header.name.n > 0 ? 1 : 0,
                                     .has_body = bad[i].body[0] != '\0'};
        struct cor_str body = cor_strz(bad[i].body);

        meet_h2(&h, &cl, (struct cor_http_limits){0});
        assert_int_equal(cor_h2_open(cl.h2, &req, &client_h2_cbs, &cl, &cl.last), 0);
        if (body.n > 0)
            cor_h2_write(cl.last, &body, 1, 0, true);
        await(&h, client_lost_one, &cl);
        assert_int_equal(cl.code, COR_H2_PROTOCOL_ERROR);
        assert_int_equal(h.seen.n, 0);
        part_h2(&h, &cl);
    }
}

TEST(h2, expect_continue_is_answered)
{
    static const struct cor_http_header expect[] = {{COR_STR("expect"), COR_STR("100-continue")}};
    struct http h;
    struct client cl;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    ask_for_more(&cl, "/echo", expect, 1);
    cor_loop_run_until(h.loop, client_has_response, &cl, 20);
    assert_int_equal(cor_h2_write(cl.last, (struct cor_str[]){COR_STR("hi")}, 1, 0, true), 2);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 hi.");
    part_h2(&h, &cl);
}

TEST(h2, shutdown_says_goaway_and_lets_streams_end)
{
    struct http h;
    struct client cl;
    struct cor_h2_request req = {.method = COR_STR("GET"),
                                 .scheme = COR_STR("http"),
                                 .authority = COR_STR("x"),
                                 .path = COR_STR("/")};
    struct cor_h2_stream *s;

    meet_h2(&h, &cl, (struct cor_http_limits){0});
    client_ask(&cl, "GET", "/hold", NULL);
    await(&h, has_held, &h);
    cor_http_server_close(h.server, 10 * PATIENCE_MS, http_on_closed, &h);
    assert_false(cor_loop_run_until(h.loop, http_is_closed, &h, 30));
    assert_int_equal(cor_h2_open(cl.h2, &req, &client_h2_cbs, &cl, &s), -COR_ECANCELED);
    cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR("late"));
    await(&h, client_has_ended, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 late.");
    assert_int_equal(cl.why, 0);
    await(&h, http_is_closed, &h);
    part_h2(&h, &cl);
}

/* A peer that answers nothing does not hold the server. */
TEST(h2, shutdown_does_not_wait_for_a_deaf_peer)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    cl.is_raw = true;
    client_send(&cl, COR_STR(COR_H2_PREFACE "\0\0\0\4\0\0\0\0\0"));
    assert_false(cor_loop_run_until(h.loop, client_has_ended, &cl, 20));
    cor_http_server_close(h.server, 10 * PATIENCE_MS, http_on_closed, &h);
    await(&h, http_is_closed, &h);
    part(&h, &cl);
}

static void add_frame(struct cor_buf *out, char type, char flags, uint32_t id, struct cor_str body)
{
    cor_buf_add(out, (char[]){(char)(body.n >> 16), (char)(body.n >> 8), (char)body.n, type, flags},
                5);
    cor_buf_add(out, (char[]){(char)(id >> 24), (char)(id >> 16), (char)(id >> 8), (char)id}, 4);
    cor_buf_adds(out, body);
}

enum { DATA = 0, HEADERS = 1, PRIORITY = 2, RST_STREAM = 3, SETTINGS = 4, PING = 6, GOAWAY = 7 };
enum { WINDOW_UPDATE = 8, CONTINUATION = 9 };
#define END_STREAM  1
#define END_HEADERS 4
/* GET / over http from x */
#define GET_HEAD "\x82\x86\x84\1\1x"

/* The code of the GOAWAY among the frames that a raw client got; -1: none. */
static int64_t goaway_code(const struct client *cl)
{
    const unsigned char *p = (const unsigned char *)cor_buf_z(&cl->text);
    size_t left = cl->text.n;
    int64_t code = -1;

    while (left >= 9) {
        size_t n = (size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2];

        assert_true(left >= 9 + n);
        if (p[3] == GOAWAY)
            code = (int64_t)p[13] << 24 | p[14] << 16 | p[15] << 8 | p[16];
        p += 9 + n;
        left -= 9 + n;
    }
    return code;
}

static size_t count_frames(const struct client *cl, unsigned char type)
{
    const unsigned char *p = (const unsigned char *)cor_buf_z(&cl->text);
    size_t left = cl->text.n, count = 0;

    while (left >= 9) {
        size_t n = 9 + ((size_t)p[0] << 16 | (size_t)p[1] << 8 | p[2]);

        count += p[3] == type;
        p += n;
        left -= n;
    }
    return count;
}

static bool has_a_head(void *arg)
{
    return count_frames(arg, HEADERS) > 0;
}

static bool has_two_heads(void *arg)
{
    return count_frames(arg, HEADERS) > 1;
}

static bool has_data(void *arg)
{
    return count_frames(arg, DATA) > 0;
}

static void send_frame(struct client *cl, char type, char flags, uint32_t id, struct cor_str body)
{
    struct cor_buf out;

    cor_buf_init(&out, 1u << 20);
    add_frame(&out, type, flags, id, body);
    client_send(cl, cor_buf_str(&out));
    cor_buf_deinit(&out);
}

TEST(h2, continue_comes_before_the_body)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    cl.is_raw = true;
    client_send(&cl, COR_STR(COR_H2_PREFACE "\0\0\0\4\0\0\0\0\0"));
    send_frame(&cl, HEADERS, END_HEADERS, 1,
               COR_STR("\x83\x86\x84\1\1x\0\6expect\x0c"
                       "100-continue"));
    await(&h, has_a_head, &cl);
    assert_int_equal(h.seen.n, 0);
    send_frame(&cl, DATA, END_STREAM, 1, COR_STR("hi"));
    await(&h, has_two_heads, &cl);
    assert_string_equal(cor_buf_z(&h.seen), "POST /? hi\n");
    part(&h, &cl);
}

/* There is nothing to go on with. */
TEST(h2, continue_is_not_said_to_a_request_without_a_body)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){0});
    cl.is_raw = true;
    client_send(&cl, COR_STR(COR_H2_PREFACE "\0\0\0\4\0\0\0\0\0"));
    send_frame(&cl, HEADERS, END_HEADERS | END_STREAM, 1,
               COR_STR("\x82\x86\x84\1\1x\0\6expect\x0c"
                       "100-continue"));
    await(&h, has_a_head, &cl);
    assert_string_equal(cor_buf_z(&h.seen), "GET /? \n");
    assert_false(cor_loop_run_until(h.loop, has_two_heads, &cl, 5));
    part(&h, &cl);
}

/* The refusal waits for a window while the client goes on sending, and ends the request all the
 * same: it comes once, and no handler sees the rest. */
TEST(h2, a_refused_body_is_answered_once)
{
    struct http h;
    struct client cl;

    meet(&h, &cl, (struct cor_http_limits){.body_max = 10});
    cl.is_raw = true;
    client_send(&cl, COR_STR(COR_H2_PREFACE "\0\0\6\4\0\0\0\0\0\0\4\0\0\0\0"));
    send_frame(&cl, HEADERS, END_HEADERS, 1, COR_STR("\x83\x86\x84\1\1x"));
    send_frame(&cl, DATA, 0, 1, COR_STR("01234567890"));
    await(&h, has_a_head, &cl);
    send_frame(&cl, DATA, 0, 1, COR_STR("01234567890"));
    send_frame(&cl, DATA, END_STREAM, 1, COR_STR("0"));
    assert_false(cor_loop_run_until(h.loop, has_data, &cl, 30));
    send_frame(&cl, WINDOW_UPDATE, 0, 1, COR_STR("\0\0\xff\0"));
    await(&h, has_data, &cl);
    assert_int_equal(count_frames(&cl, HEADERS), 1);
    assert_int_equal(h.seen.n, 0);
    part(&h, &cl);
}

/* Sends what `next` makes for each new stream id to a server, which must end the connection with
 * GOAWAY(`code`, or any for 0) after at most `max` of them, and go on to serve others. */
static void attack(void (*next)(struct cor_buf *out, uint32_t id), uint32_t max, uint32_t code)
{
    struct cor_buf out;
    struct http h;
    struct client cl;

    cor_buf_init(&out, 1u << 20);
    meet(&h, &cl, (struct cor_http_limits){0});
    cl.is_raw = true;
    client_send(&cl, COR_STR(COR_H2_PREFACE "\0\0\0\4\0\0\0\0\0"));
    for (uint32_t i = 0; i < max; i++) {
        cor_buf_reset(&out);
        next(&out, 2 * i + 1);
        client_send(&cl, cor_buf_str(&out));
        if (i % 64 == 63)
            cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
        if (cl.has_ended)
            break;
    }
    await(&h, client_has_ended, &cl);
    assert_true(goaway_code(&cl) > 0);
    if (code != 0)
        assert_int_equal(goaway_code(&cl), code);
    client_close(&cl, &h);
    cor_buf_deinit(&out);
    protocol = H2;
    client_open(&cl, &h, NULL);
    client_ask(&cl, "POST", "/echo", "hi");
    await(&h, client_has_response, &cl);
    part_h2(&h, &cl);
}

static void next_ping(struct cor_buf *out, uint32_t id)
{
    add_frame(out, PING, 0, 0, COR_STR("abcdefgh"));
}

static void next_settings(struct cor_buf *out, uint32_t id)
{
    add_frame(out, SETTINGS, 0, 0, COR_STR(""));
}

static void next_priority(struct cor_buf *out, uint32_t id)
{
    add_frame(out, PRIORITY, 0, id, COR_STR("\0\0\0\0\x10"));
}

static void next_window(struct cor_buf *out, uint32_t id)
{
    add_frame(out, WINDOW_UPDATE, 0, 0, COR_STR("\0\0\0\1"));
}

TEST(h2, a_flood_of_control_frames_ends_the_connection)
{
    attack(next_ping, COR_H2_CONTROL_BURST * 2, COR_H2_ENHANCE_YOUR_CALM);
    attack(next_settings, COR_H2_CONTROL_BURST * 2, COR_H2_ENHANCE_YOUR_CALM);
    attack(next_priority, COR_H2_CONTROL_BURST * 2, COR_H2_ENHANCE_YOUR_CALM);
    attack(next_window, COR_H2_CONTROL_BURST * 2, COR_H2_ENHANCE_YOUR_CALM);
}

static void next_reset(struct cor_buf *out, uint32_t id)
{
    add_frame(out, HEADERS, END_STREAM | END_HEADERS, id, COR_STR(GET_HEAD));
    add_frame(out, RST_STREAM, 0, id, COR_STR("\0\0\0\x8"));
}

/* A window that overflows is an error of the stream: the server resets it. */
static void next_cause(struct cor_buf *out, uint32_t id)
{
    add_frame(out, HEADERS, END_HEADERS, id, COR_STR(GET_HEAD));
    add_frame(out, WINDOW_UPDATE, 0, id, COR_STR("\x7f\xff\xff\xff"));
}

/* CVE-2023-44487, and its mirror image CVE-2025-8671. nghttp2 has the same limit for the first, in
 * whole seconds and with a code of its own: on a slow machine it may come before ours. */
TEST(h2, rapid_resets_end_the_connection)
{
    attack(next_reset, COR_H2_RESETS_BURST * 2, 0);
    attack(next_cause, COR_H2_RESETS_BURST * 2, COR_H2_ENHANCE_YOUR_CALM);
}

static void next_continuation(struct cor_buf *out, uint32_t id)
{
    if (id == 1)
        add_frame(out, HEADERS, 0, 1, COR_STR(GET_HEAD));
    else
        add_frame(out, CONTINUATION, 0, 1, COR_STR(""));
}

/* CVE-2024-27316 and its siblings. */
TEST(h2, a_header_block_without_end_ends_the_connection)
{
    /* nghttp2 has such a limit too, in newer versions; it is a broken protocol to it. */
    attack(next_continuation, 2 * COR_H2_CONTINUATIONS_MAX, 0);
}

/* A field of 4,000 bytes, and then 12,000 times one byte that means it again. */
static void next_bomb(struct cor_buf *out, uint32_t id)
{
    static char block[16384];
    size_t n = 0;

    memcpy(block, GET_HEAD "\x40\1a\x7f\xa1\x1e", 12);
    memset(block + 12, 'x', 4000);
    memset(block + 12 + 4000, '\xbe', 12000);
    n = 12 + 4000 + 12000;
    add_frame(out, HEADERS, END_STREAM | END_HEADERS, id, cor_str(block, n));
}

TEST(h2, a_header_block_that_grows_when_decoded_ends_the_connection)
{
    attack(next_bomb, 2, COR_H2_ENHANCE_YOUR_CALM);
}

TEST(h2, a_head_that_is_too_large_is_a_431)
{
    static char value[COR_H2_HEAD_MAX - 186];
    struct cor_http_header header = {COR_STR("a"), {value, sizeof(value)}};
    struct http h;
    struct client cl;

    memset(value, 'v', sizeof(value));
    meet_h2(&h, &cl, (struct cor_http_limits){0});
    ask_for_more(&cl, "/p", &header, 1);
    await(&h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "431 .");
    part_h2(&h, &cl);
}

/* One allocation fails somewhere between accept and answer: the client gets its answer, an error,
 * or a closed connection, and nothing is left behind. */
TEST(h2, failed_allocations_cost_a_connection_at_most)
{
    protocol = H2;
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
        client_ask(&cl, "POST", "/echo", "hello");
        client_ask(&cl, "GET", "/big/1000?c", NULL);
        test_fail_alloc(i, false);
        for (int k = 0; k < 1000 && cl.nclosed < 2 && !cl.has_ended; k++)
            cor_loop_run_until(h.loop, client_has_ended, &cl, 1);
        assert_true(test_alloc_failed() || cl.nresponses == 2);
        client_close(&cl, &h);
        http_deinit(&h);
    }
    protocol = H1;
}
