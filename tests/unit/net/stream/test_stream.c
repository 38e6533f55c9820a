#include "test.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../stream_fixture.h"
#include "base/clock.h"
#include "loop/turns.h"
#include "net/crypto/cert.h"

static bool client_got_five(void *arg)
{
    return ((struct pair *)arg)->client.got_n >= 5;
}

static bool server_got_five(void *arg)
{
    return ((struct pair *)arg)->server.got_n >= 5;
}

static int write_one(struct cor_stream *s, struct cor_str bytes)
{
    return cor_stream_write(s, &bytes, 1);
}

TEST(stream, bytes_cross_and_an_end_is_told)
{
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    assert_int_equal(write_one(p.client.stream, COR_STR("hello")), 0);
    assert_int_equal(write_one(p.server.stream, COR_STR("world")), 0);
    assert_true(cor_loop_run_until(p.loop, client_got_five, &p, PATIENCE_MS));
    assert_true(cor_loop_run_until(p.loop, server_got_five, &p, PATIENCE_MS));
    assert_str(cor_buf_str(&p.server.got), "hello");
    assert_str(cor_buf_str(&p.client.got), "world");
    assert_true(strncmp(cor_stream_peer(p.server.stream)->address, "127.0.0.1:", 10) == 0);
    assert_false(cor_stream_peer(p.server.stream)->is_tls);
    cor_stream_end(p.client.stream);
    assert_int_equal(write_one(p.client.stream, COR_STR("x")), -COR_ECANCELED);
    cor_stream_end(p.server.stream);
    assert_true(cor_loop_run_until(p.loop, both_ended, &p, PATIENCE_MS));
    assert_int_equal(p.server.why, 0);
    assert_int_equal(p.client.why, 0);
    assert_true(p.server.is_drained && p.client.is_drained);
    pair_deinit(&p);
}

TEST(stream, what_is_written_before_the_connection_stands_waits)
{
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_int_equal(write_one(p.client.stream, COR_STR("early")), 0);
    assert_true(cor_loop_run_until(p.loop, server_got_five, &p, PATIENCE_MS));
    pair_deinit(&p);
}

static bool client_ended(void *arg)
{
    return ((struct pair *)arg)->client.has_ended;
}

TEST(stream, a_refused_connection_is_told)
{
    struct cor_stream_opts opts = {.cbs = &end_cbs, .out_max = 1000};
    struct cor_listener *l;
    struct pair p;
    uint16_t port;

    pair_init(&p);
    assert_int_equal(cor_listener_open(p.net, "127.0.0.1", 0, pair_on_accept, &p, &l), 0);
    port = cor_listener_port(l);
    cor_listener_close(l, NULL, NULL);
    opts.arg = &p.client;
    assert_int_equal(cor_stream_connect(p.net, "localhost", port, &opts, &p.client.stream),
                     -COR_EINVAL);
    assert_int_equal(cor_stream_connect(p.net, "127.0.0.1", port, &opts, &p.client.stream), 0);
    assert_true(cor_loop_run_until(p.loop, client_ended, &p, PATIENCE_MS));
    assert_int_equal(p.client.why, -COR_EUNREACHABLE);
    pair_deinit(&p);
}

/* The socket of this process that is bound to the port. */
static int socket_at(unsigned port)
{
    for (int fd = 3; fd < 1024; fd++) {
        struct sockaddr_in at = {0};
        socklen_t n = sizeof(at);

        if (getsockname(fd, (struct sockaddr *)&at, &n) == 0 && at.sin_family == AF_INET &&
            ntohs(at.sin_port) == port)
            return fd;
    }
    return -1;
}

/* Contract client 4.12.2. */
TEST(stream, a_client_probes_a_silent_server_as_client_go_does)
{
    socklen_t int_n = sizeof(int);
    int idle_s = 0;
    const char *colon;
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    colon = strchr(cor_stream_peer(p.server.stream)->address, ':');
    assert_non_null(colon);
    assert_int_equal(getsockopt(socket_at((unsigned)strtoul(colon + 1, NULL, 10)), IPPROTO_TCP,
                                TCP_KEEPIDLE, &idle_s, &int_n),
                     0);
    assert_int_equal(idle_s, 30);
    pair_deinit(&p);
}

/* A peer that vanished without a word would hold its watch for ever. */
TEST(stream, a_silent_tcp_peer_is_probed)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(any), int_n = sizeof(int);
    int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0), on = 0;
    int idle_s = 0;
    struct pair p;

    pair_init(&p);
    assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&any, &n), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(cor_stream_open(p.net, fd, &p.server_opts, &p.server.stream), 0);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, &int_n), 0);
    assert_true(on);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, &int_n), 0);
    assert_int_equal(idle_s, 180);
    pair_deinit(&p);
    close(listener);
}

TEST(stream, a_peer_that_is_gone_already_has_no_address)
{
    struct pair p;

    pair_init(&p);
    assert_int_equal(
        cor_stream_open(p.net, socket(AF_INET, SOCK_STREAM, 0), &p.server_opts, &p.server.stream),
        0);
    assert_string_equal(cor_stream_peer(p.server.stream)->address, "");
    pair_deinit(&p);
}

TEST(stream, tcp_peers_have_an_address_and_a_port)
{
    union {
        struct sockaddr any;
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
    } addrs[] = {{.in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}},
                 {.in6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT}}};

    for (size_t i = 0; i < COR_ARRAY_LEN(addrs); i++) {
        int family = addrs[i].any.sa_family, fd = socket(family, SOCK_STREAM, 0);
        int listener = socket(family, SOCK_STREAM, 0), accepted;
        socklen_t n = sizeof(addrs[i]);
        char expected[64];
        struct pair p;

        /* There are machines without IPv6. */
        if (family == AF_INET6 && (fd < 0 || bind(listener, &addrs[i].any, n) < 0)) {
            close(fd);
            close(listener);
            break;
        }
        if (family == AF_INET)
            assert_int_equal(bind(listener, &addrs[i].any, n), 0);
        pair_init(&p);
        assert_int_equal(listen(listener, 1), 0);
        assert_int_equal(getsockname(listener, &addrs[i].any, &n), 0);
        assert_int_equal(connect(fd, &addrs[i].any, n), 0);
        accepted = accept(listener, &addrs[i].any, &n);
        snprintf(expected, sizeof(expected), "%s:%u", i == 0 ? "127.0.0.1" : "[::1]",
                 ntohs(i == 0 ? addrs[i].in.sin_port : addrs[i].in6.sin6_port));
        assert_int_equal(cor_stream_open(p.net, accepted, &p.server_opts, &p.server.stream), 0);
        assert_string_equal(cor_stream_peer(p.server.stream)->address, expected);
        pair_deinit(&p);
        close(fd);
        close(listener);
    }
}

TEST(stream, unix_peers_have_credentials)
{
    struct cor_stream_opts opts = {.cbs = &end_cbs, .out_max = 1000};
    char path[100];
    struct stat st;
    struct pair p;

    pair_init(&p);
    opts.arg = &p.client;
    snprintf(path, sizeof(path), "%s/sock", test_tmpdir());
    assert_int_equal(cor_listener_open_unix(p.net, path, 0600, pair_on_accept, &p, &p.listener), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(cor_stream_connect_unix(p.net, path, &opts, &p.client.stream), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    assert_true(cor_stream_peer(p.server.stream)->is_unix);
    assert_int_equal(cor_stream_peer(p.server.stream)->uid, getuid());
    assert_int_equal(cor_stream_peer(p.server.stream)->gid, getgid());
    assert_int_equal(cor_stream_peer(p.server.stream)->pid, getpid());
    assert_string_equal(cor_stream_peer(p.server.stream)->address, "@");
    pair_deinit(&p);
    assert_int_not_equal(stat(path, &st), 0);
}

TEST(listener, a_stale_unix_socket_is_replaced_and_a_live_one_is_not)
{
    struct cor_listener *second;
    char path[80], file[100], stale[100];
    struct pair p;

    pair_init(&p);
    snprintf(path, sizeof(path), "%s/sock", test_tmpdir());
    snprintf(stale, sizeof(stale), "%s.stale", path);
    snprintf(file, sizeof(file), "%s.file", path);
    assert_int_equal(cor_pem_save(file, COR_STR("x"), 0600), 0);
    assert_int_equal(cor_listener_open_unix(p.net, file, 0600, pair_on_accept, &p, &second),
                     -COR_EEXIST);
    assert_int_equal(cor_listener_open_unix(p.net, path, 0600, pair_on_accept, &p, &p.listener), 0);
    assert_int_equal(cor_listener_open_unix(p.net, path, 0600, pair_on_accept, &p, &second),
                     -COR_EEXIST);
    assert_int_equal(link(path, stale), 0);
    cor_listener_close(p.listener, NULL, NULL);
    assert_int_equal(cor_listener_open_unix(p.net, stale, 0600, pair_on_accept, &p, &p.listener),
                     0);
    pair_deinit(&p);
}

TEST(listener, a_port_in_use_is_told)
{
    struct cor_listener *second;
    struct pair p;

    pair_init(&p);
    assert_int_equal(cor_listener_open(p.net, "127.0.0.1", 0, pair_on_accept, &p, &p.listener), 0);
    assert_int_equal(cor_listener_open(p.net, "127.0.0.1", cor_listener_port(p.listener),
                                       pair_on_accept, &p, &second),
                     -COR_EEXIST);
    assert_int_equal(cor_listener_open(p.net, "localhost", 0, pair_on_accept, &p, &second),
                     -COR_EINVAL);
    pair_deinit(&p);
}

/* Sends end->left bytes, each the low byte of its place. */
static void pour(struct end *end)
{
    char piece[10000];

    while (end->left > 0) {
        size_t n = end->left < sizeof(piece) ? (size_t)end->left : sizeof(piece);
        int r;

        for (size_t i = 0; i < n; i++)
            piece[i] = (char)((end->left - i) * 31 >> 3);
        r = write_one(end->stream, cor_str(piece, n));
        if (r == -COR_EBUSY) {
            cor_stream_want_writable(end->stream);
            return;
        }
        assert_int_equal(r, 0);
        end->left -= n;
    }
    cor_stream_end(end->stream);
}

static uint64_t total;

static void check_poured(struct end *end, struct cor_str bytes)
{
    uint64_t left = total - (end->got_n - bytes.n);

    for (size_t i = 0; i < bytes.n; i++) {
        if (bytes.p[i] != (char)((left - i) * 31 >> 3))
            fail_msg("byte %zu differs", end->got_n - bytes.n + i);
    }
}

static void run_big(struct pair *p)
{
    total = 20u << 20;
    p->client.forgets = true;
    p->client.on_data = check_poured;
    p->server.left = total;
    p->server.on_writable = pour;
    assert_true(cor_loop_run_until(p->loop, both_open, p, PATIENCE_MS));
    pour(&p->server);
    assert_true(p->server.left > total - 300 * 1024);
    assert_true(cor_loop_run_until(p->loop, client_ended, p, PATIENCE_MS));
    assert_int_equal(p->client.got_n, total);
    assert_int_equal(p->client.why, 0);
    assert_true(p->server.writable > 10);
}

TEST(stream, much_output_is_held_back_and_all_arrives)
{
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    run_big(&p);
    pair_deinit(&p);
}

static bool server_ended(void *arg)
{
    return ((struct pair *)arg)->server.has_ended;
}

TEST(stream, a_reader_that_stops_is_cut)
{
    struct pair p;

    pair_init(&p);
    p.server_opts.stall_ms = 50;
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    cor_stream_read_stop(p.client.stream);
    p.server.left = UINT64_MAX;
    p.server.on_writable = pour;
    pour(&p.server);
    assert_true(cor_loop_run_until(p.loop, server_ended, &p, PATIENCE_MS));
    assert_int_equal(p.server.why, -COR_ETIMEOUT);
    assert_int_equal(write_one(p.server.stream, COR_STR("x")), -COR_ECANCELED);
    assert_int_equal(cor_stream_room(p.server.stream), 0);
    pair_deinit(&p);
}

/* What the server's end was told of its output that waits. */
static size_t told, ntold;

static void note_waiting(struct cor_stream *s, size_t n, void *arg)
{
    assert_true(n <= 256 * 1024 + 1024);
    told = n;
    ntold++;
}

static bool half_of_it_waits(void *arg)
{
    return told > 128 * 1024;
}

static bool nothing_waits(void *arg)
{
    struct pair *p = arg;

    return p->server.left == 0 && told == 0;
}

/* However much the sockets take: a stream that is less than half full asks for more output. */
TEST(stream, output_that_the_socket_does_not_take_is_told_until_it_is_read)
{
    struct cor_stream_cbs cbs = end_cbs;
    struct pair p;

    told = ntold = 0;
    cbs.on_waiting = note_waiting;
    pair_init(&p);
    p.server_opts.cbs = &cbs;
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    p.client.forgets = true;
    assert_int_equal(write_one(p.server.stream, COR_STR("hello")), 0);
    assert_true(cor_loop_run_until(p.loop, client_got_five, &p, PATIENCE_MS));
    assert_int_equal(ntold, 0);
    cor_stream_read_stop(p.client.stream);
    p.server.left = UINT64_MAX;
    p.server.on_writable = pour;
    pour(&p.server);
    assert_true(cor_loop_run_until(p.loop, half_of_it_waits, &p, PATIENCE_MS));
    p.server.left = 0;
    cor_stream_read_start(p.client.stream);
    assert_true(cor_loop_run_until(p.loop, nothing_waits, &p, PATIENCE_MS));
    assert_true(ntold >= 2);
    pair_deinit(&p);
}

TEST(stream, the_buffer_keeps_its_maximum_and_refuses_as_a_whole)
{
    struct pair p;
    char piece[1000] = {0};
    size_t room;

    pair_init(&p);
    p.server_opts.out_max = 1500;
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    assert_int_equal(cor_stream_room(p.server.stream), 1500);
    assert_int_equal(write_one(p.server.stream, cor_str(piece, 1000)), 0);
    room = cor_stream_room(p.server.stream);
    assert_int_equal(room, 500);
    assert_int_equal(write_one(p.server.stream, cor_str(piece, 501)), -COR_EBUSY);
    assert_int_equal(cor_stream_room(p.server.stream), room);
    assert_int_equal(write_one(p.server.stream, cor_str(piece, 500)), 0);
    pair_deinit(&p);
}

static void close_client(struct end *end, struct cor_str bytes)
{
    struct pair *p = COR_CONTAINER_OF(end, struct pair, server);

    cor_stream_close(p->client.stream, on_end_closed, &p->client);
    p->client.stream = NULL;
}

static bool client_closed(void *arg)
{
    return ((struct pair *)arg)->client.is_closed;
}

TEST(stream, a_stream_may_be_closed_from_another_s_callback)
{
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    p.server.on_data = close_client;
    assert_int_equal(write_one(p.client.stream, COR_STR("hello")), 0);
    assert_int_equal(write_one(p.server.stream, COR_STR("hello")), 0);
    assert_true(cor_loop_run_until(p.loop, client_closed, &p, PATIENCE_MS));
    assert_true(cor_loop_run_until(p.loop, server_ended, &p, PATIENCE_MS));
    pair_deinit(&p);
}

TEST(stream, reading_may_be_stopped)
{
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    cor_stream_read_stop(p.server.stream);
    assert_int_equal(write_one(p.client.stream, COR_STR("hello")), 0);
    assert_false(cor_loop_run_until(p.loop, server_got_five, &p, 30));
    cor_stream_read_start(p.server.stream);
    assert_true(cor_loop_run_until(p.loop, server_got_five, &p, PATIENCE_MS));
    pair_deinit(&p);
}

static bool got_five_or_failed(void *arg)
{
    return server_got_five(arg) || test_alloc_failed();
}

TEST(stream, failed_allocations_end_it_cleanly)
{
    FOR_EACH_FAILED_ALLOC(i) {
        struct pair p;
        int r;

        test_fail_alloc(0, false);
        pair_init(&p);
        test_fail_alloc(i, false);
        p.server_opts.stall_ms = 1000;
        p.server.forgets = true;
        r = cor_listener_open(p.net, "127.0.0.1", 0, pair_on_accept, &p, &p.listener);
        if (r == 0) {
            struct cor_stream_opts opts = {.cbs = &end_cbs, .arg = &p.client, .out_max = 1 << 20};

            r = cor_stream_connect(p.net, "127.0.0.1", cor_listener_port(p.listener), &opts,
                                   &p.client.stream);
        }
        if (r == 0)
            r = write_one(p.client.stream, COR_STR("hello"));
        assert_true(r == 0 || r == -COR_ENOMEM);
        if (r == 0) {
            assert_true(cor_loop_run_until(p.loop, got_five_or_failed, &p, PATIENCE_MS));
            cor_loop_run_until(p.loop, server_got_five, &p, 100);
        }
        assert_true(test_alloc_failed() || p.server.got_n == 5);
        pair_deinit(&p);
    }
}

#define CROWD 40

static bool is_released(void *arg)
{
    return test_live_bytes() < *(size_t *)arg;
}

/* An event for ten thousand watchers must not need a block for each of them at once. */
TEST(stream, a_turn_with_much_output_sends_early_and_gives_its_memory_back)
{
    static char much[250 * 1024];
    struct cor_stream_opts opts = {.cbs = &end_cbs, .out_max = 256 * 1024};
    struct cor_stream *streams[CROWD];
    struct end ends[CROWD] = {0};
    int fds[CROWD][2];
    size_t before, most;
    struct pair p;

    pair_init(&p);
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[i]), 0);
        opts.arg = &ends[i];
        assert_int_equal(cor_stream_open(p.net, fds[i][0], &opts, &streams[i]), 0);
    }
    before = test_live_bytes();
    for (size_t i = 0; i < CROWD; i++)
        assert_int_equal(write_one(streams[i], cor_str(much, sizeof(much))), 0);
    assert_true(test_live_bytes() - before < 8u << 20);
    for (size_t i = 0; i < CROWD; i++)
        cor_stream_close(streams[i], NULL, NULL);
    most = before + (5u << 18);
    assert_true(cor_loop_run_until(p.loop, is_released, &most, PATIENCE_MS));
    for (size_t i = 0; i < CROWD; i++)
        close(fds[i][1]);
    pair_deinit(&p);
}

static uint64_t turn_of(struct cor_loop *loop)
{
    struct cor_loop_turns turns;
    uint64_t n = 0;

    cor_loop_get_turns(loop, &turns);
    for (size_t i = 0; i <= COR_LOOP_TURN_BUCKETS; i++)
        n += turns.cpu.counts[i];
    return n;
}

/* What happens in the turns of a loop. */
static struct crowd {
    struct cor_loop *loop;
    struct end ends[CROWD];
    size_t n, in_turn, most_in_turn;
    uint64_t turn;
} crowd;

/* Takes a millisecond, and writes. */
static void write_slowly(struct end *end)
{
    static char much[250 * 1024];
    uint64_t until_us = cor_clock_mono_us(cor_clock_real()) + 1000;

    crowd.in_turn = turn_of(crowd.loop) == crowd.turn ? crowd.in_turn + 1 : 1;
    crowd.turn = turn_of(crowd.loop);
    if (crowd.in_turn > crowd.most_in_turn)
        crowd.most_in_turn = crowd.in_turn;
    crowd.n++;
    assert_int_equal(write_one(end->stream, cor_str(much, sizeof(much))), 0);
    while (cor_clock_mono_us(cor_clock_real()) < until_us)
        ;
}

static bool crowd_has_written(void *arg)
{
    return crowd.n == CROWD;
}

static bool crowd_is_closed(void *arg)
{
    for (size_t i = 0; i < CROWD; i++) {
        if (!crowd.ends[i].is_closed)
            return false;
    }
    return true;
}

TEST(stream, many_streams_that_may_write_share_the_turns_of_a_loop)
{
    struct cor_stream_opts opts = {.cbs = &end_cbs, .out_max = 256 * 1024};
    int fds[CROWD][2];
    struct pair p;

    pair_init(&p);
    cor_loop_measure_turns(p.loop);
    crowd = (struct crowd){.loop = p.loop};
    for (size_t i = 0; i < CROWD; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds[i]), 0);
        crowd.ends[i].on_writable = write_slowly;
        opts.arg = &crowd.ends[i];
        assert_int_equal(cor_stream_open(p.net, fds[i][0], &opts, &crowd.ends[i].stream), 0);
        cor_stream_want_turn(crowd.ends[i].stream);
    }
    assert_true(cor_loop_run_until(p.loop, crowd_has_written, NULL, PATIENCE_MS));
    assert_true(crowd.most_in_turn <= CROWD / 4);
    for (size_t i = 0; i < CROWD; i++) {
        cor_stream_close(crowd.ends[i].stream, on_end_closed, &crowd.ends[i]);
        close(fds[i][1]);
    }
    assert_true(cor_loop_run_until(p.loop, crowd_is_closed, NULL, PATIENCE_MS));
    pair_deinit(&p);
}

static bool server_is_drained(void *arg)
{
    return ((struct pair *)arg)->server.is_drained;
}

TEST(stream, output_that_will_never_be_sent_counts_as_drained)
{
    static char much[200 * 1024];
    struct pair p;

    pair_init(&p);
    p.server_opts.out_max = 64u << 20;
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    cor_stream_read_stop(p.client.stream);
    for (int i = 0; i < 200; i++)
        assert_int_equal(write_one(p.server.stream, cor_str(much, sizeof(much))), 0);
    cor_stream_end(p.server.stream);
    assert_false(cor_loop_run_until(p.loop, server_is_drained, &p, 30));
    cor_stream_close(p.client.stream, on_end_closed, &p.client);
    p.client.stream = NULL;
    assert_true(cor_loop_run_until(p.loop, server_is_drained, &p, PATIENCE_MS));
    pair_deinit(&p);
}

static bool count_turns(void *arg)
{
    ++*(unsigned *)arg;
    return false;
}

TEST(listener, running_out_of_descriptors_is_waited_out_without_spinning)
{
    struct rlimit own, none;
    unsigned turns = 0;
    struct pair p;

    pair_init(&p);
    assert_int_equal(pair_connect(&p, NULL, NULL, NULL), 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &own), 0);
    none = (struct rlimit){.rlim_cur = 3, .rlim_max = own.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    cor_loop_run_until(p.loop, count_turns, &turns, 60);
    assert_false(p.server.is_open);
    assert_true(turns < 100);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &own), 0);
    assert_true(cor_loop_run_until(p.loop, both_open, &p, PATIENCE_MS));
    pair_deinit(&p);
}
