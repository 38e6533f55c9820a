#include "test.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/err.h"
#include "http/http_server.h"
#include "loop/loop.h"

#define LOOPS    3
#define CLIENTS  4
#define CONNS    30
#define REQUESTS 10

struct load {
    uint16_t port;
    _Atomic int bad;
    _Atomic unsigned per_loop[LOOPS];
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool closed;
};

static void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg)
{
    struct load *load = arg;

    atomic_fetch_add(&load->per_loop[req->loop], 1);
    if (!cor_loop_is_current(cor_http_response_loop(resp)))
        atomic_fetch_add(&load->bad, 1);
    cor_http_response_send(resp, 200, NULL, 0, COR_STR("fine"));
}

/* The same for a server that takes bodies piece by piece and echoes them. */
static void on_gone(struct cor_http_response *resp, int why, void *arg)
{
}

static size_t on_body(struct cor_http_response *resp, struct cor_str piece, void *arg)
{
    return cor_http_response_write(resp, piece);
}

static void on_body_end(struct cor_http_response *resp, void *arg)
{
    cor_http_response_end(resp);
}

static void on_head(const struct cor_http_request *req, struct cor_http_response *resp, void *arg)
{
    static const struct cor_http_response_cbs cbs = {.on_gone = on_gone};
    static const struct cor_http_body_cbs body_cbs = {on_body, on_body_end};
    struct load *load = arg;

    atomic_fetch_add(&load->per_loop[req->loop], 1);
    cor_http_response_set_cbs(resp, &cbs, NULL);
    cor_http_response_start(resp, 200, NULL, 0, 4);
    cor_http_response_stream_body(resp, &body_cbs, load);
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in addr = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd >= 0 && connect(fd, (struct sockaddr *)&addr, sizeof(addr)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* False unless a whole response ending in "fine" arrives. */
static bool ask(int fd)
{
    static const char request[] = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nfine";
    char got[1000] = {0};
    size_t n = 0;

    if (write(fd, request, sizeof(request) - 1) != sizeof(request) - 1)
        return false;
    while (n < 8 || memcmp(got + n - 8, "\r\n\r\nfine", 8) != 0) {
        ssize_t r = n < sizeof(got) ? read(fd, got + n, sizeof(got) - n) : -1;

        if (r <= 0)
            return false;
        n += (size_t)r;
    }
    return true;
}

static void *client_main(void *arg)
{
    struct load *load = arg;
    int fds[CONNS];

    for (int i = 0; i < CONNS; i++)
        fds[i] = connect_to(load->port);
    for (int k = 0; k < REQUESTS; k++) {
        for (int i = 0; i < CONNS; i++) {
            if (!ask(fds[i]))
                atomic_fetch_add(&load->bad, 1);
        }
    }
    /* Half of them stay open for the shutdown to close. */
    for (int i = 0; i < CONNS; i += 2)
        close(fds[i]);
    for (int i = 1; i < CONNS; i += 2) {
        char c;

        if (read(fds[i], &c, 1) != 0)
            atomic_fetch_add(&load->bad, 1);
        close(fds[i]);
    }
    return NULL;
}

static void on_closed(void *arg)
{
    struct load *load = arg;

    pthread_mutex_lock(&load->lock);
    load->closed = true;
    pthread_cond_signal(&load->cond);
    pthread_mutex_unlock(&load->lock);
}

static void wait_closed(struct load *load)
{
    pthread_mutex_lock(&load->lock);
    while (!load->closed)
        pthread_cond_wait(&load->cond, &load->lock);
    pthread_mutex_unlock(&load->lock);
}

static uint64_t requests_of(struct cor_http_server *server)
{
    struct cor_http_server_stats stats;

    cor_http_server_stats(server, &stats);
    return stats.requests;
}

static void check_loops(bool streams)
{
    struct load load = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct cor_loop *loops[LOOPS];
    struct cor_http_server_opts opts = {
        .loops = loops, .nloops = LOOPS, .on_request = on_request, .arg = &load};
    struct cor_http_server *server;
    pthread_t clients[CLIENTS];

    opts.on_head = streams ? on_head : NULL;
    for (int i = 0; i < LOOPS; i++)
        assert_int_equal(cor_loop_new(1000, &loops[i]), 0);
    assert_int_equal(cor_http_server_new(&opts, &server), 0);
    assert_int_equal(cor_http_server_listen(server, "127.0.0.1", 0, NULL, &load.port), 0);
    for (int i = 0; i < LOOPS; i++)
        assert_int_equal(cor_loop_start(loops[i], "http"), 0);
    for (int i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&clients[i], NULL, client_main, &load), 0);
    while (requests_of(server) < CLIENTS * CONNS * REQUESTS && atomic_load(&load.bad) == 0)
        sched_yield();
    cor_http_server_close(server, 5000, on_closed, &load);
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(clients[i], NULL);
    wait_closed(&load);
    for (int i = 0; i < LOOPS; i++)
        cor_loop_stop(loops[i]);
    cor_http_server_free(server);
    for (int i = 0; i < LOOPS; i++)
        cor_loop_free(loops[i]);
    assert_int_equal(atomic_load(&load.bad), 0);
    for (int i = 0; i < LOOPS; i++)
        assert_true(atomic_load(&load.per_loop[i]) >= CLIENTS * CONNS * REQUESTS / LOOPS / 2);
}

TEST(server, loops_share_the_connections_and_close_together)
{
    check_loops(false);
}

TEST(server, loops_share_streamed_bodies)
{
    check_loops(true);
}
