/* Clients that leave before they are answered, in every way that a connection ends: nothing of them
 * stays. What they send, and their end, is there before the server looks, so that its answer meets
 * a connection that is gone. */
#include "test.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "http_fixture.h"

enum leaving { CLOSES, RESETS, ENDS_ITS_SIDE, ENDS_ITS_SIDE_AND_CLOSES, NWAYS };

static const char *const way_names[] = {"closes", "resets", "ends its side",
                                        "ends its side, and closes"};

#define UPGRADE                                                                                    \
    "GET /hold HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"               \
    "Sec-WebSocket-Version: 13\r\n\r\n"

static const char *const requests[] = {
    "",
    "GET /wh",
    "GET /who HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /who HTTP/1.1\r\nHost: x\r\n\r\nGET /who HTTP/1.1\r\nHost: x\r\n\r\nGET /who",
    "GET /who HTTP/1.0\r\n\r\n",
    "nonsense\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf of it",
    "POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n",
    "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\ntoo large",
    "GET /hold HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /big/10000000 HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /send/10000000 HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /abort HTTP/1.1\r\nHost: x\r\n\r\n",
    UPGRADE,
    UPGRADE "\x88\x82",
    COR_H2_PREFACE,
    COR_H2_PREFACE "nonsense that is no frame",
};

static int dial(const struct http *h, const char *path)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET, .sin_port = htons(h->port)};
    int fd = socket(path ? AF_UNIX : AF_INET, SOCK_STREAM, 0);

    tcp.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (path)
        snprintf(local.sun_path, sizeof(local.sun_path), "%s", path);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, path ? (struct sockaddr *)&local : (struct sockaddr *)&tcp,
                             path ? sizeof(local) : sizeof(tcp)),
                     0);
    return fd;
}

static void ask(int fd, const char *request)
{
    size_t n = strlen(request);

    assert_int_equal(send(fd, request, n, MSG_NOSIGNAL), n);
}

/* The descriptor that is still open; -1: none. */
static int leave(int fd, enum leaving way)
{
    const struct linger resets = {.l_onoff = 1};

    if (way == RESETS)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &resets, sizeof(resets)), 0);
    if (way >= ENDS_ITS_SIDE)
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
    if (way == ENDS_ITS_SIDE)
        return fd;
    close(fd);
    return -1;
}

static bool is_left(void *arg)
{
    struct cor_http_server_stats stats;
    struct http *h = arg;

    cor_http_server_stats(h->server, &stats);
    return stats.accepted > 0 && stats.connections == 0 && stats.held[COR_HTTP_UNKNOWN] == 0;
}

/* A server, and a connection to it. No limit of time may help: they are longer than the patience.
 */
static int begin(struct http *h, bool is_unix)
{
    char path[100];

    http_init(h,
              (struct cor_http_limits){.request_timeout_ms = 4 * PATIENCE_MS,
                                       .head_timeout_ms = 4 * PATIENCE_MS,
                                       .idle_timeout_ms = 4 * PATIENCE_MS},
              NULL);
    snprintf(path, sizeof(path), "%s/leaving.sock", test_tmpdir());
    if (is_unix)
        assert_int_equal(cor_http_server_listen_unix(h->server, path, 0600), 0);
    return dial(h, is_unix ? path : NULL);
}

/* Nothing is left of a client that asked for `what` and left so. */
static void end(struct http *h, int fd, const char *what, enum leaving way, bool is_unix)
{
    fd = leave(fd, way);
    /* Who has only ended its side may still read; a large answer waits until it has gone. */
    if (fd >= 0) {
        cor_loop_run_until(h->loop, is_left, h, 20);
        close(fd);
    }
    if (!cor_loop_run_until(h->loop, is_left, h, PATIENCE_MS / 2))
        fail_msg("a client that %s stays in the server, over %s: %s", way_names[way],
                 is_unix ? "Unix" : "TCP", what);
    http_deinit(h);
}

static void ask_and_leave(const char *request, enum leaving way, bool is_unix)
{
    struct http h;
    int fd = begin(&h, is_unix);

    ask(fd, request);
    end(&h, fd, request, way, is_unix);
}

TEST(leaving, a_client_that_leaves_before_it_is_answered_leaves_nothing)
{
    for (size_t i = 0; i < COR_ARRAY_LEN(requests); i++) {
        for (enum leaving way = 0; way < NWAYS; way++) {
            ask_and_leave(requests[i], way, false);
            ask_and_leave(requests[i], way, true);
        }
    }
}

/* A client that sends more than waits for its answer: its socket is not read any more. */
TEST(leaving, a_client_that_leaves_while_its_input_waits_leaves_nothing)
{
    static char much[150 * 1024 + 1];

    memset(much, 'G', sizeof(much) - 1);
    for (enum leaving way = 0; way < NWAYS; way++) {
        for (int is_unix = 0; is_unix < 2; is_unix++) {
            struct http h;
            int fd = begin(&h, is_unix);

            ask(fd, "GET /watch HTTP/1.1\r\nHost: x\r\n\r\n");
            await(&h, has_held, &h);
            ask(fd, much);
            cor_loop_run_until(h.loop, someone_is_gone, &h, 50);
            assert_int_equal(h.ngone, 0);
            end(&h, fd, "a watch with input that waits", way, is_unix);
        }
    }
}
