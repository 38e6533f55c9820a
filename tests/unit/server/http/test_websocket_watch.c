/* Watches over WebSocket on a connection, with memory that fails. The server's loop is the test's
 * thread; the client has a thread of its own. */
#include "served.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define HEAD_101                                                                                   \
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"            \
    "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"

/* The client: a plain socket and what it has received, on a thread of its own. */
struct peer {
    struct cor_mail mail;       /* to the server's loop, when it is done */
    struct cor_mail close_mail; /* to the server's loop, which then closes the server */
    struct served *s;
    const char *query;
    void (*play)(struct peer *peer); /* what the client does */
    int fd;
    char got[600 * 1024];
    size_t n;
    bool is_ended; /* the server has closed its side, or has broken the connection */
    bool is_done;
};

/* Receives what there is, and waits for it. */
static void peer_receive(struct peer *peer)
{
    ssize_t n = recv(peer->fd, peer->got + peer->n, sizeof(peer->got) - peer->n, 0);

    if (n > 0)
        peer->n += (size_t)n;
    /* A refusal has a body, and nothing follows it. */
    peer->is_ended = n <= 0 || (peer->n >= 12 && memcmp(peer->got, "HTTP/1.1 101", 12) != 0);
}

/* Receives until the bytes have come, or until the end. NULL: until the end. */
static void peer_wait(struct peer *peer, const char *text, size_t ntext)
{
    while (!peer->is_ended &&
           (!text || peer->n < ntext || !memmem(peer->got, peer->n, text, ntext)))
        peer_receive(peer);
}

static void peer_send(struct peer *peer, const char *bytes, size_t n)
{
    /* A server that has closed already may not be there to take it. */
    (void)send(peer->fd, bytes, n, MSG_NOSIGNAL);
}

#define PEER_SEND(peer, bytes) peer_send((peer), (bytes), sizeof(bytes) - 1)

static void peer_on_done(struct cor_mail *mail)
{
    ((struct peer *)mail)->is_done = true;
}

static void *peer_run(void *arg)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const struct timeval patience = {.tv_sec = FX_TIMEOUT_MS / 1000};
    struct peer *peer = arg;
    char head[1024];
    int n = snprintf(head, sizeof(head),
                     "GET " CONFIGMAPS "?watch=1%s HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n"
                     "Upgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                     "Sec-WebSocket-Version: 13\r\nOrigin: http://x\r\n\r\n",
                     peer->query);

    peer->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memcpy(address.sun_path, peer->s->path, sizeof(peer->s->path));
    if (peer->fd < 0 ||
        setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) < 0 ||
        connect(peer->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
        abort();
    peer_send(peer, head, (size_t)n);
    peer->play(peer);
    close(peer->fd);
    cor_loop_post_always(peer->s->fx.loop, &peer->mail);
    return NULL;
}

static bool has_no_calls(void *arg)
{
    return cor_api_loop_calls(cor_api_loop(((struct served *)arg)->fx.api, 0)) == 0;
}

/* Lets a client play, and waits until the server has ended what it did for the client. */
static void peer_watch(struct peer *peer, struct served *s, const char *query,
                       void (*play)(struct peer *peer))
{
    pthread_t thread;

    *peer = (struct peer){.mail.on_mail = peer_on_done, .s = s, .query = query, .play = play};
    assert_int_equal(pthread_create(&thread, NULL, peer_run, peer), 0);
    assert_true(cor_loop_run_until(s->fx.loop, served_is_true, &peer->is_done, 2 * FX_TIMEOUT_MS));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(cor_loop_run_until(s->fx.loop, has_no_calls, s, FX_TIMEOUT_MS));
}

/* An event, a ping, the client's end. */
static void play_session(struct peer *peer)
{
    peer_wait(peer, "}}}\n", 4);
    PEER_SEND(peer, "\x89\x82\x01\x02\x03\x04\x60\x60");
    peer_wait(peer,
              "\x8a\x02"
              "ab",
              4);
    PEER_SEND(peer, "\x88\x82\x00\x00\x00\x00\x03\xe8");
    peer_wait(peer, NULL, 0);
}

/* Has the server said the end of the session? */
static bool is_whole(const struct peer *peer)
{
    return peer->n > 4 && memcmp(peer->got + peer->n - 4, "\x88\x02\x03\xe8", 4) == 0;
}

TEST(websocket_watch, is_whole_or_refused_or_broken_without_memory)
{
    static struct peer whole, one;
    struct served s = {0};
    size_t nwhole = 0;

    served_open(&s);
    fx_do(&s.fx, 201, "POST", CONFIGMAPS, "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"v\"}}");
    peer_watch(&whole, &s, "", play_session);
    assert_true(is_whole(&whole));
    assert_memory_equal(whole.got, HEAD_101 "\x81", sizeof(HEAD_101));
    FOR_EACH_FAILED_ALLOC(n) {
        peer_watch(&one, &s, "", play_session);
        /* Without memory for an event, or for what follows it, the watch ends with an ERROR. */
        if (is_whole(&one) && !memmem(one.got, one.n, "\"ERROR\"", 7)) {
            nwhole++;
            assert_int_equal(one.n, whole.n);
            assert_memory_equal(one.got, whole.got, whole.n);
        }
    }
    assert_true(nwhole > 0);
    served_close(&s);
}

#define NPINGS 100

static size_t count_pongs(const struct peer *peer)
{
    const char *at = peer->got, *end = peer->got + peer->n;
    size_t n = 0;

    while ((at = memmem(at, (size_t)(end - at), "\x8a\x01z", 3))) {
        at += 3;
        n++;
    }
    return n;
}

static void play_pings(struct peer *peer)
{
    /* Together with the request, before the server has said anything. */
    for (int i = 0; i < NPINGS; i++)
        PEER_SEND(peer, "\x89\x81\x00\x00\x00\x00z");
    peer_wait(peer, "}}}\n", 4);
    while (!peer->is_ended && count_pongs(peer) < NPINGS)
        peer_receive(peer);
    PEER_SEND(peer, "\x88\x82\x00\x00\x00\x00\x03\xe8");
    peer_wait(peer, NULL, 0);
}

/* An event that is more than a response holds: what the client has sent waits until the message is
 * complete, and its answer does not come in between. */
TEST(websocket_watch, answers_never_come_between_the_bytes_of_a_message)
{
    static char body[400 * 1024];
    static struct peer peer;
    struct served s = {0};
    char *at;
    size_t n;

    served_open(&s);
    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"a\"},\"data\":{\"k\":\"%0*d\"}}",
             380 * 1024, 0);
    fx_do(&s.fx, 201, "POST", CONFIGMAPS, body);
    peer_watch(&peer, &s, "", play_pings);
    at = memmem(peer.got, peer.n, "\x81\x7f", 2);
    assert_non_null(at);
    n = 0;
    for (int i = 2; i < 10; i++)
        n = n << 8 | (unsigned char)at[i];
    assert_true(n > 380 * 1024);
    assert_memory_equal(at + 10, "{\"type\":\"ADDED\"", 15);
    assert_memory_equal(at + 10 + n - 4, "}}}\n", 4);
    /* Of the pongs some may come before the message, the others come after it. */
    assert_int_equal(peer.n, sizeof(HEAD_101) - 1 + 10 + n + NPINGS * 3 + 4);
    assert_true(is_whole(&peer));
    served_close(&s);
}

static void on_mail_close(struct cor_mail *mail)
{
    struct served *s = COR_CONTAINER_OF(mail, struct peer, close_mail)->s;

    cor_http_server_close(cor_server_http(s->server), 60000, served_set_true, &s->is_closed);
}

static void play_shutdown(struct peer *peer)
{
    peer_wait(peer, HEAD_101, sizeof(HEAD_101) - 1);
    peer->close_mail.on_mail = on_mail_close;
    cor_loop_post_always(peer->s->fx.loop, &peer->close_mail);
    peer_wait(peer, NULL, 0);
}

/* Contract server 3.12.5. */
TEST(websocket_watch, ends_when_the_server_does)
{
    static struct peer peer;
    struct served s = {0};

    served_open(&s);
    peer_watch(&peer, &s, "&resourceVersion=0", play_shutdown);
    assert_true(is_whole(&peer));
    assert_true(cor_loop_run_until(s.fx.loop, served_is_true, &s.is_closed, FX_TIMEOUT_MS));
    served_free(&s);
}
