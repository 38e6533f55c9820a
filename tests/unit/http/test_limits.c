/* What clients can make a server hold, and who is refused then, over both protocols: requests of
 * others go on. */
#include "base/limits.h"
#include "test.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "http/http_server_int.h"
#include "http_fixture.h"
#include "net/stream/net_int.h"

/* Of this 64 MB an address may have 4, a connection of it 1 (or one body), a user 16. */
#define BUDGET (64u << 20)
#define BODY   (600u * 1024)

/* An answer without end, of which the connection's output holds what is not read. */
static void big_writable(struct cor_http_response *resp, void *arg)
{
    static char piece[20000];
    struct cor_str bytes = cor_str(piece, sizeof(piece));

    memset(piece, 'x', sizeof(piece));
    while (cor_http_response_write(resp, bytes) == bytes.n)
        ;
}

static void big_gone(struct cor_http_response *resp, int why, void *arg)
{
    ((struct http *)arg)->ngone++;
}

static void big_drain(struct cor_http_response *resp, void *arg)
{
}

static const struct cor_http_response_cbs big_cbs = {big_writable, big_gone, big_drain};

static void answer_big(struct cor_http_response *resp, void *arg)
{
    cor_http_response_set_cbs(resp, &big_cbs, arg);
    cor_http_response_start(resp, 200, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
    big_writable(resp, arg);
}

/* The sender is in the path: /u/NAME/..., /m/NAME/... of a master, anything else is nobody's. */
static void guard(const struct cor_http_request *req, struct cor_http_response *resp, void *arg)
{
    struct cor_str rest = req->path, kind, name;
    int r;

    cor_str_cut(&rest, '/');
    kind = cor_str_cut(&rest, '/');
    name = cor_str_cut(&rest, '/');
    r = cor_http_response_set_sender(resp,
                                     cor_str_eqz(kind, "m")   ? COR_HTTP_MASTER
                                     : cor_str_eqz(kind, "u") ? COR_HTTP_USER
                                                              : COR_HTTP_UNKNOWN,
                                     name);
    if (r < 0) {
        cor_http_response_send(resp, r == -COR_EBUSY ? 429 : 500, NULL, 0, COR_STR("busy"));
        return;
    }
    if (cor_str_eqz(rest, "big")) {
        answer_big(resp, arg);
        return;
    }
    ((struct http *)arg)->holds = cor_str_eqz(rest, "hold");
    cor_http_response_set_cbs(resp, &handler_cbs, arg);
}

static void limits_init(struct http *h, struct cor_http_limits limits)
{
    head_handler = guard;
    http_init(h, limits, NULL);
    head_handler = NULL;
}

static const struct cor_http_limits small = {.bodies_max = BUDGET, .body_max = 700u << 10};

static char body[1u << 20];
static size_t sent; /* of the last body that was begun */

/* A request whose body does not end: all but its last byte is sent. */
static void begin_body(struct client *cl, const char *target, size_t n)
{
    struct cor_h2_request req = {.method = COR_STR("POST"),
                                 .scheme = COR_STR("http"),
                                 .authority = COR_STR("x"),
                                 .path = cor_strz(target),
                                 .has_body = true};
    struct cor_str bytes = cor_str(body, n - 1);
    char head[200];

    if (!cl->h2) {
        snprintf(head, sizeof(head), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %zu\r\n\r\n",
                 target, n);
        client_send(cl, cor_strz(head));
        client_send(cl, bytes);
        return;
    }
    assert_int_equal(cor_h2_open(cl->h2, &req, &client_h2_cbs, cl, &cl->last), 0);
    sent = cor_h2_write(cl->last, &bytes, 1, 0, false);
}

/* Over HTTP/2, what the windows had no room for. */
static void go_on(struct client *cl, size_t n)
{
    struct cor_str bytes = cor_str(body, n - 1);

    if (cl->h2 && cl->last && cl->nresponses == 0 && sent < bytes.n)
        sent += cor_h2_write(cl->last, &bytes, 1, sent, false);
}

static uint64_t held(struct http *h, enum cor_http_rank rank)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(h->server, &stats);
    return stats.held[rank];
}

static uint64_t refusals(struct http *h, unsigned limit)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(h->server, &stats);
    return stats.refusals[limit];
}

/* One who works beside an attack: each of the requests is answered. */
static void work_beside(struct http *h, const char *target)
{
    struct client cl;
    struct cor_buf want;

    h->ngone = 0;
    client_open(&cl, h, NULL);
    cor_buf_init(&want, 1000);
    for (int i = 0; i < 3; i++) {
        cl.nresponses = 0;
        client_ask(&cl, "POST", target, "hi");
        await(h, client_has_response, &cl);
        cor_buf_addz(&want, "200 hi.");
    }
    assert_string_equal(cor_buf_z(&cl.text), cor_buf_z(&want));
    client_close(&cl, h);
    cor_buf_deinit(&want);
}

/* Attackers until one of them is refused; each has a body that does not end. */
static size_t attack(struct http *h, struct client *cl, size_t n, const char *target, size_t size)
{
    size_t i;

    for (i = 0; i < n; i++) {
        uint64_t before = held(h, COR_HTTP_MASTER);

        client_open(&cl[i], h, NULL);
        begin_body(&cl[i], target, size);
        while (held(h, COR_HTTP_MASTER) < before + size - 20000 && cl[i].nresponses == 0) {
            cor_loop_run_until(h->loop, client_has_response, &cl[i], 1);
            go_on(&cl[i], size);
        }
        if (cl[i].nresponses > 0)
            return i + 1;
    }
    return i;
}

static void check_attack(const char *target, unsigned limit, const char *const *beside)
{
    static struct client cl[100];
    struct http h;
    size_t n;

    limits_init(&h, small);
    n = attack(&h, cl, 100, target, BODY);
    assert_uint_in_range(n, 2, 99);
    assert_int_equal(strncmp(cor_buf_z(&cl[n - 1].text), "429 ", 4), 0);
    assert_non_null(strstr(cor_buf_z(&cl[n - 1].headers), "retry-after: 1\n"));
    assert_true(refusals(&h, limit) > 0);
    for (; *beside; beside++)
        work_beside(&h, *beside);
    for (size_t i = 0; i < n; i++)
        client_close(&cl[i], &h);
    /* All of it is given back. */
    while (held(&h, COR_HTTP_MASTER) > 0)
        cor_loop_run_until(h.loop, client_is_closed, &h, 1);
    http_deinit(&h);
}

TEST_BOTH(limits, bodies_of_an_address_leave_room_for_those_who_authenticate)
{
    static const char *const beside[] = {"/u/ann/x", "/m/root/x", "/x", NULL};

    check_attack("/x", COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_UNKNOWN, beside);
}

TEST_BOTH(limits, bodies_of_a_user_leave_room_for_other_users)
{
    static const char *const beside[] = {"/u/ann/x", "/m/root/x", NULL};

    check_attack("/u/eve/x", COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_USER, beside);
}

/* One address cannot be told from its users: the heads of new connections are free of charge. */
TEST_BOTH(limits, users_together_leave_room_for_masters)
{
    static struct client cl[5][40];
    char target[] = "/u/0/x";
    struct http h;
    size_t n[5];

    limits_init(&h, small);
    for (int i = 0; i < 5; i++, target[3]++)
        n[i] = attack(&h, cl[i], 40, target, BODY);
    assert_true(refusals(&h, COR_BUDGET_POOL_BYTES + COR_HTTP_USER) > 0);
    work_beside(&h, "/m/root/x");
    for (int i = 0; i < 5; i++) {
        for (size_t k = 0; k < n[i]; k++)
            client_close(&cl[i][k], &h);
    }
    http_deinit(&h);
}

/* A stream that waits for its only byte. */
static void open_stream(struct client *cl, const char *target)
{
    static const struct cor_http_header length = {COR_STR("content-length"), COR_STR("1")};
    struct cor_h2_request req = {.method = COR_STR("POST"),
                                 .scheme = COR_STR("http"),
                                 .authority = COR_STR("x"),
                                 .path = cor_strz(target),
                                 .headers = &length,
                                 .nheaders = 1,
                                 .has_body = true};

    assert_int_equal(cor_h2_open(cl->h2, &req, &client_h2_cbs, cl, &cl->last), 0);
}

static const struct cor_http_limits tiny = {.bodies_max = BUDGET / 8, .body_max = 20000};

TEST(limits, streams_of_an_unknown_connection_are_refused_and_then_the_connection_ends)
{
    struct http h;
    struct client cl;

    protocol = H2;
    limits_init(&h, tiny);
    client_open(&cl, &h, NULL);
    for (int i = 0; i < COR_H2_STREAMS_MAX && !cl.has_ended; i++) {
        if (cor_h2_takes_stream(cl.h2))
            open_stream(&cl, "/x");
        cor_loop_run_until(h.loop, client_has_ended, &cl, cl.nclosed > 0 ? 1 : 0);
    }
    await(&h, client_has_ended, &cl);
    assert_non_null(strstr(cor_h2_error(cl.h2), "ENHANCE_YOUR_CALM"));
    assert_true(refusals(&h, COR_BUDGET_CONNECTION_BYTES) > COR_H2_STREAMS_MAX / 20);
    work_beside(&h, "/u/ann/x");
    client_close(&cl, &h);
    http_deinit(&h);
    protocol = H1;
}

TEST(limits, streams_of_a_user_that_have_no_room_are_answered_with_a_429)
{
    struct http h;
    struct client cl;

    protocol = H2;
    limits_init(&h, tiny);
    client_open(&cl, &h, NULL);
    client_ask(&cl, "POST", "/u/eve/x", "hi");
    await(&h, client_has_response, &cl);
    for (int i = 0; i < COR_H2_STREAMS_MAX && cl.nresponses == 1; i++) {
        assert_true(cor_h2_takes_stream(cl.h2));
        open_stream(&cl, "/u/eve/x");
        cor_loop_run_until(h.loop, client_has_two, &cl, 0);
    }
    await(&h, client_has_two, &cl);
    assert_string_equal(cor_buf_z(&cl.text), "200 hi.429 .");
    assert_non_null(strstr(cor_buf_z(&cl.headers), "retry-after: 1\n"));
    work_beside(&h, "/u/ann/x");
    client_close(&cl, &h);
    http_deinit(&h);
    protocol = H1;
}

TEST(limits, a_head_that_does_not_end_is_charged_while_it_is_read)
{
    static char a[60000];
    static struct client cl[300];
    struct cor_http_limits limits = {.bodies_max = BUDGET, .body_max = 700u << 10};
    struct http h;
    size_t n = 0;

    memset(a, 'a', sizeof(a));
    limits_init(&h, limits);
    for (; n < 300; n++) {
        uint64_t before = held(&h, COR_HTTP_UNKNOWN);

        client_open(&cl[n], &h, NULL);
        client_send(&cl[n], COR_STR("GET / HTTP/1.1\r\nHost: x\r\nA: "));
        client_send(&cl[n], cor_str(a, sizeof(a)));
        while (held(&h, COR_HTTP_UNKNOWN) < before + 50000 && !cl[n].has_ended)
            cor_loop_run_until(h.loop, client_has_ended, &cl[n], 1);
        if (cl[n].has_ended)
            break;
    }
    assert_uint_in_range(n, 40, 299);
    assert_int_equal(strncmp(cor_buf_z(&cl[n].text), "429 ", 4), 0);
    work_beside(&h, "/u/ann/x");
    work_beside(&h, "/x");
    for (size_t i = 0; i <= n; i++)
        client_close(&cl[i], &h);
    http_deinit(&h);
}

/* What a pipelining client sends ahead is charged; when there is no room, it is served to the end
 * of the present request. */
TEST(limits, pipelined_input_that_has_no_room_is_dropped_after_the_present_answer)
{
    static struct client cl[100];
    static char ahead[60000];
    struct client pipelining;
    struct http h;
    uint64_t before;
    size_t n;

    memset(ahead, 'G', sizeof(ahead));
    limits_init(&h, small);
    n = attack(&h, cl, 100, "/x", 60000);
    before = refusals(&h, COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_UNKNOWN);
    client_open(&pipelining, &h, NULL);
    client_send(&pipelining, COR_STR("GET /x/y/hold HTTP/1.1\r\nHost: x\r\n\r\n"));
    await(&h, has_held, &h);
    client_send(&pipelining, cor_str(ahead, sizeof(ahead)));
    client_send(&pipelining, cor_str(ahead, sizeof(ahead)));
    while (refusals(&h, COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_UNKNOWN) == before)
        cor_loop_run_until(h.loop, client_has_ended, &pipelining, 1);
    cor_http_response_send(COR_STEAL(h.held), 200, NULL, 0, COR_STR("last"));
    await(&h, client_has_ended, &pipelining);
    assert_string_equal(cor_buf_z(&pipelining.text), "200 last.");
    assert_non_null(strstr(cor_buf_z(&pipelining.headers), "connection: close"));
    client_close(&pipelining, &h);
    for (size_t i = 0; i < n; i++)
        client_close(&cl[i], &h);
    http_deinit(&h);
}

/* Both sockets of a connection whose client does not read have fixed, small buffers, so that the
 * kernel takes little. How much it takes decides nothing: the answer has no end, and a stream whose
 * output is less than half full asks its writer for more. So more than half of what a connection
 * may hold waits in the end, whatever the sockets took. */
#define WAITS_AT_LEAST ((COR_OUTPUT_WAITING_MAX + COR_HTTP_OUT_SLACK) / 2)
#define SOCKET_BYTES   4096

static void set_socket_bytes(int fd, int option)
{
    int n = SOCKET_BYTES;

    assert_int_equal(setsockopt(fd, SOL_SOCKET, option, &n, sizeof(n)), 0);
}

static struct cor_http_server_stats stats_of(struct http *h)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(h->server, &stats);
    return stats;
}

/* A client that does not read, as the server's side of it. */
struct unread {
    struct http *h;
    struct cor_dlist *last; /* of the server's connections before it came */
    struct cor_conn *conn;
};

static bool is_accepted(void *arg)
{
    struct unread *u = arg;
    struct cor_dlist *last = u->h->server->workers[0].conns.prev;

    if (last == u->last)
        return false;
    u->conn = COR_CONTAINER_OF(last, struct cor_conn, link);
    return true;
}

static bool waits_or_someone_was_ended(void *arg)
{
    struct unread *u = arg;

    return stats_of(u->h).replaced > 0 || u->conn->out_charged > WAITS_AT_LEAST;
}

static void client_open_unread(struct client *cl, struct unread *u)
{
    struct cor_stream_opts opts = {.cbs = &client_cbs, .arg = cl, .out_max = 1u << 20};
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(u->h->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    uv_os_fd_t accepted;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    set_socket_bytes(fd, SO_RCVBUF);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    client_init(cl);
    assert_int_equal(cor_stream_open(u->h->net, fd, &opts, &cl->stream), 0);
    cor_stream_read_stop(cl->stream);
    u->last = u->h->server->workers[0].conns.prev;
    await(u->h, is_accepted, u);
    assert_int_equal(uv_fileno(&u->conn->stream->uv.handle, &accepted), 0);
    set_socket_bytes(accepted, SO_SNDBUF);
}

/* Asks for answers without end until one connection's output is full; over HTTP/2 four, since the
 * window of one stream is smaller than the output. False: a connection was ended meanwhile. */
static bool ask_and_not_read(struct http *h, struct client *cl, const char *target)
{
    struct unread u = {.h = h};

    client_open_unread(cl, &u);
    for (int i = 0; i < (protocol == H2 ? 4 : 1); i++)
        client_ask(cl, "GET", target, "");
    await(h, waits_or_someone_was_ended, &u);
    return stats_of(h).replaced == 0;
}

TEST_BOTH(limits, output_that_an_address_does_not_read_is_charged_and_the_oldest_is_ended)
{
    struct client cl[10];
    struct http h;
    size_t n = 0;

    limits_init(&h, tiny);
    while (n < 10 && ask_and_not_read(&h, &cl[n++], "/x/y/big"))
        assert_true(held(&h, COR_HTTP_UNKNOWN) >= n * (WAITS_AT_LEAST - COR_BUDGET_FREE));
    assert_uint_in_range(n, 2, 5);
    assert_true(h.ngone > 0);
    assert_true(held(&h, COR_HTTP_UNKNOWN) <= BUDGET / 8 / 16);
    assert_true(stats_of(&h).connections > 0);
    cor_stream_read_start(cl[0].stream);
    await(&h, client_has_ended, &cl[0]);
    work_beside(&h, "/u/ann/x");
    work_beside(&h, "/x");
    for (size_t i = 0; i < n; i++)
        client_close(&cl[i], &h);
    http_deinit(&h);
}

static bool holds_nothing(void *arg)
{
    return held(arg, COR_HTTP_USER) == 0;
}

TEST_BOTH(limits, output_that_a_user_does_not_read_is_charged_and_the_next_request_refused)
{
    static struct client cl[20];
    struct client next;
    struct http h;
    size_t n = 0;

    limits_init(&h, tiny);
    client_open(&next, &h, NULL);
    client_ask(&next, "POST", "/u/eve/x", "hi");
    await(&h, client_has_response, &next);
    while (n < 20 && held(&h, COR_HTTP_USER) <= BUDGET / 8 / 4)
        assert_true(ask_and_not_read(&h, &cl[n++], "/u/eve/big"));
    assert_uint_in_range(n, 5, 19);
    client_ask(&next, "POST", "/u/eve/x", "hi");
    await(&h, client_has_two, &next);
    /* The guard answers this one by itself. */
    client_ask(&next, "GET", "/u/eve/big", "");
    await(&h, client_has_three, &next);
    assert_string_equal(cor_buf_z(&next.text), "200 hi.429 busy.429 busy.");
    assert_true(refusals(&h, COR_BUDGET_ACCOUNT_BYTES + COR_HTTP_USER) >= 2);
    work_beside(&h, "/u/ann/x");
    client_close(&next, &h);
    for (size_t i = 0; i < n; i++)
        client_close(&cl[i], &h);
    await(&h, holds_nothing, &h);
    work_beside(&h, "/u/eve/x");
    http_deinit(&h);
}

static void open_idle(struct http *h, struct client *cl, size_t n)
{
    struct cor_http_server_stats stats;

    for (size_t i = 0; i < n; i++) {
        uint64_t before;

        cor_http_server_stats(h->server, &stats);
        before = stats.accepted;
        client_open(&cl[i], h, NULL);
        while (stats.accepted == before) {
            cor_loop_run_until(h->loop, client_has_ended, &cl[i], 1);
            cor_http_server_stats(h->server, &stats);
        }
    }
}

TEST_BOTH(limits, idle_connections_make_room_for_new_ones_before_they_authenticate)
{
    struct cor_http_server_stats stats;
    struct client idle[20], known;
    struct http h;

    limits_init(&h, (struct cor_http_limits){.connections_max = 16});
    client_open(&known, &h, NULL);
    client_ask(&known, "POST", "/u/ann/x", "hi");
    await(&h, client_has_response, &known);
    open_idle(&h, idle, 20);
    /* An address has three quarters of the places; the oldest of its connections are gone. */
    await(&h, client_has_ended, &idle[7]);
    assert_true(idle[0].has_ended && !idle[8].has_ended && !known.has_ended);
    cor_http_server_stats(h.server, &stats);
    assert_int_equal(stats.replaced, 8);
    assert_int_equal(stats.refused, 0);
    work_beside(&h, "/u/ann/x");
    work_beside(&h, "/x");
    for (int i = 0; i < 20; i++)
        client_close(&idle[i], &h);
    client_close(&known, &h);
    http_deinit(&h);
}

TEST_BOTH(limits, bodies_that_do_not_end_keep_nobody_out_before_they_authenticate)
{
    struct cor_http_server_stats stats = {0};
    struct client slow[12];
    struct http h;

    limits_init(&h, (struct cor_http_limits){.connections_max = 16});
    for (size_t i = 0; i < 12; i++) {
        client_open(&slow[i], &h, NULL);
        begin_body(&slow[i], "/x", 1000);
        while (stats.requests <= i) {
            cor_loop_run_until(h.loop, client_has_ended, &slow[i], 1);
            cor_http_server_stats(h.server, &stats);
        }
    }
    work_beside(&h, "/u/ann/x");
    await(&h, client_has_ended, &slow[0]);
    cor_http_server_stats(h.server, &stats);
    assert_int_equal(stats.refused, 0);
    assert_int_equal(stats.replaced, 1);
    assert_false(slow[1].has_ended);
    for (int i = 0; i < 12; i++)
        client_close(&slow[i], &h);
    http_deinit(&h);
}

TEST_BOTH(limits, connections_of_one_user_leave_places_for_others)
{
    struct client cl[16];
    struct http h;
    int n = 0;

    limits_init(&h, (struct cor_http_limits){.connections_max = 16});
    for (; n < 16; n++) {
        client_open(&cl[n], &h, NULL);
        client_ask(&cl[n], "POST", "/u/eve/x", "hi");
        await(&h, client_has_response, &cl[n]);
        if (strncmp(cor_buf_z(&cl[n].text), "429 ", 4) == 0)
            break;
    }
    assert_int_equal(n, 12);
    work_beside(&h, "/u/ann/x");
    work_beside(&h, "/m/root/x");
    for (int i = 0; i <= n; i++)
        client_close(&cl[i], &h);
    http_deinit(&h);
}

TEST_BOTH(limits, a_connection_too_many_is_refused_when_all_others_have_authenticated)
{
    struct cor_http_server_stats stats;
    struct client cl[16], late;
    struct http h;

    limits_init(&h, (struct cor_http_limits){.connections_max = 16});
    for (int i = 0; i < 16; i++) {
        client_open(&cl[i], &h, NULL);
        client_ask(&cl[i], "POST", "/m/root/x", "hi");
        await(&h, client_has_response, &cl[i]);
    }
    client_open(&late, &h, NULL);
    await(&h, client_has_ended, &late);
    cor_http_server_stats(h.server, &stats);
    assert_int_equal(stats.refused, 1);
    assert_int_equal(stats.replaced, 0);
    assert_int_equal(stats.connections, 16);
    client_close(&late, &h);
    for (int i = 0; i < 16; i++)
        client_close(&cl[i], &h);
    http_deinit(&h);
}

TEST(limits, every_allocation_of_a_connection_that_opens_may_fail)
{
    FOR_EACH_FAILED_ALLOC(n) {
        struct http h;
        struct client cl;

        test_fail_alloc(0, false);
        limits_init(&h, (struct cor_http_limits){0});
        client_open(&cl, &h, NULL);
        client_ask(&cl, "POST", "/u/ann/x", "hi");
        test_fail_alloc(n, false);
        while (cl.nresponses == 0 && !cl.has_ended)
            cor_loop_run_until(h.loop, client_has_response, &cl, 1);
        if (cl.nresponses > 0 &&
            (!test_alloc_failed() || strncmp(cor_buf_z(&cl.text), "200", 3) == 0))
            assert_string_equal(cor_buf_z(&cl.text), "200 hi.");
        client_close(&cl, &h);
        http_deinit(&h);
    }
}
