/* Clients and handlers that do whatever they like, in an order drawn from the test's seed. Each
 * response is over exactly once, whatever happens to its connection, and the server closes clean.
 */
#include "test.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_server.h"
#include "http/http_server_int.h"
#include "identities.h"
#include "loop/loop.h"
#include "net/session/h2.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"

#define CLIENTS     24
#define HELD_MAX    1000
#define STEPS       4000
#define PATIENCE_MS 60000

struct peer {
    struct cor_stream *stream; /* NULL: not connected */
    bool has_ended, is_stopped;
    uint32_t next_id; /* of an HTTP/2 stream; 0: HTTP/1.1 */
};

struct held {
    struct cor_http_response *resp;
    bool is_started;
};

struct world {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_http_server *server;
    struct cor_tls *server_tls, *client_tls;
    uint16_t plain_port, tls_port;
    struct peer peers[CLIENTS];
    size_t nopen; /* streams whose on_closed is to come */
    struct held held[HELD_MAX];
    size_t nheld, ngone, nended;
    bool closed, net_closed;
};

static const char *const inputs[] = {
    "GET /now HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /later HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /now HTTP/1.1\r\nHost: x\r\n\r\n",
    "HEAD /later HTTP/1.1\r\nHost: x\r\n\r\n",
    "GET /later HTTP/1.0\r\n\r\n",
    "GET /now HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    "PUT /later HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n",
    "abc",
    "POST /now HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
    "0\r\n\r\n",
    "POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\n\r\n",
    "GET /lat",
    "\r\n",
};

static void forget(struct world *w, struct cor_http_response *resp)
{
    for (size_t i = 0; i < w->nheld; i++) {
        if (w->held[i].resp == resp) {
            w->held[i] = w->held[--w->nheld];
            return;
        }
    }
    fail_msg("a response that nobody holds");
}

static void on_gone(struct cor_http_response *resp, int why, void *arg)
{
    struct world *w = arg;

    assert_true(why == -COR_ECANCELED || why == -COR_ETIMEOUT);
    forget(w, resp);
    w->ngone++;
}

static void on_writable(struct cor_http_response *resp, void *arg)
{
    assert_true(resp->ops->room(resp) > 0);
}

static const struct cor_http_response_cbs cbs = {.on_writable = on_writable, .on_gone = on_gone};

static void on_request(const struct cor_http_request *req, struct cor_http_response *resp,
                       void *arg)
{
    struct world *w = arg;

    if (!cor_str_eqz(req->path, "/later") || w->nheld == HELD_MAX) {
        cor_http_response_send(resp, 200, NULL, 0, req->body);
        return;
    }
    cor_http_response_set_cbs(resp, &cbs, w);
    w->held[w->nheld++] = (struct held){.resp = resp};
}

static void answer(struct world *w)
{
    static char bytes[100000];
    struct held *h;

    if (w->nheld == 0)
        return;
    h = &w->held[test_random() % w->nheld];
    if (!h->is_started && test_random() % 3 == 0) {
        w->nended++;
        cor_http_response_send(h->resp, 200, NULL, 0,
                               cor_str(bytes, test_random() % 1000000 % sizeof(bytes)));
        forget(w, h->resp);
    } else if (!h->is_started) {
        cor_http_response_start(h->resp, 200, NULL, 0, COR_HTTP_LENGTH_UNKNOWN);
        h->is_started = true;
    } else if (test_random() % 4 > 0) {
        cor_http_response_write(h->resp, cor_str(bytes, test_random() % sizeof(bytes)));
    } else {
        struct cor_http_response *resp = h->resp;

        w->nended++;
        forget(w, resp);
        if (test_random() % 4 > 0)
            cor_http_response_end(resp);
        else
            cor_http_response_abort(resp);
    }
}

static void peer_on_event(struct cor_stream *s, void *arg)
{
}

static void peer_on_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
}

static void peer_on_end(struct cor_stream *s, int why, void *arg)
{
    ((struct peer *)arg)->has_ended = true;
}

static const struct cor_stream_cbs peer_cbs = {peer_on_event, peer_on_data, peer_on_event,
                                               peer_on_end, peer_on_event};

static const struct cor_str preface = COR_STR(COR_H2_PREFACE "\0\0\0\4\0\0\0\0\0");

static void open_peer(struct world *w, struct peer *p)
{
    bool tls = test_random() % 2;
    struct cor_stream_opts opts = {.cbs = &peer_cbs,
                                   .arg = p,
                                   .out_max = 100000,
                                   .tls = tls ? w->client_tls : NULL,
                                   .server_name = "localhost"};

    p->has_ended = p->is_stopped = false;
    p->next_id = test_random() % 2;
    assert_int_equal(cor_stream_connect(w->net, "127.0.0.1", tls ? w->tls_port : w->plain_port,
                                        &opts, &p->stream),
                     0);
    w->nopen++;
    if (p->next_id > 0)
        cor_stream_write(p->stream, &preface, 1);
}

static void on_peer_closed(void *arg)
{
    ((struct world *)arg)->nopen--;
}

static void close_peer(struct world *w, struct peer *p)
{
    cor_stream_close(COR_STEAL(p->stream), on_peer_closed, w);
}

static void send_piece(struct peer *p)
{
    struct cor_str in = cor_strz(inputs[test_random() % COR_ARRAY_LEN(inputs)]);
    size_t from = test_random() % 8 ? 0 : test_random() % in.n;
    size_t to = test_random() % 8 ? in.n : from + test_random() % (in.n - from + 1);
    struct cor_str piece = cor_str(in.p + from, to - from);

    cor_stream_write(p->stream, &piece, 1);
}

static void send_frame(struct peer *p, char type, char flags, uint32_t id, struct cor_str payload)
{
    char head[] = {0, (char)(payload.n >> 8), (char)payload.n, type, flags, 0,
                   0, (char)(id >> 8),        (char)id};
    struct cor_str spans[] = {{head, sizeof(head)}, payload};

    cor_stream_write(p->stream, spans, 2);
}

/* Mostly what a client might send: requests, bodies, resets, windows that open or stay shut. */
static void send_some_frame(struct peer *p)
{
    static const struct cor_str heads[] = {COR_STR("\x82\x86\4\6/later\1\1x"),
                                           COR_STR("\x83\x86\4\6/later\1\1x"),
                                           COR_STR("\x83\x86\4\4/now\1\1x")};
    static const struct cor_str windows[] = {COR_STR("\0\4\0\0\0\0"), COR_STR("\0\4\0\0\0\x0a"),
                                             COR_STR("\0\4\0\x10\0\0")};
    uint32_t id = p->next_id > 1 ? 1 + test_random() % (p->next_id / 2) * 2 : 0;
    char is_last = test_random() % 4 > 0;

    switch (test_random() % 24) {
    case 0:
        send_frame(p, 4, 0, 0, windows[test_random() % COR_ARRAY_LEN(windows)]);
        break;
    case 1:
        send_frame(p, 6, 0, 0, COR_STR("pingpong"));
        break;
    case 2:
    case 3:
        send_frame(p, 3, 0, id, COR_STR("\0\0\0\x8"));
        break;
    case 4:
    case 5:
    case 6:
        send_frame(p, 8, 0, test_random() % 2 ? 0 : id, COR_STR("\0\1\0\0"));
        break;
    case 7:
    case 8:
    case 9:
        send_frame(p, 0, is_last, id, COR_STR("abc"));
        break;
    case 10:
        if (test_random() % 8 == 0)
            send_frame(p, (char)test_random(), (char)test_random(), id, COR_STR("garbage"));
        break;
    default:
        send_frame(p, 1, (char)(4 | is_last), p->next_id, heads[test_random() % 3]);
        p->next_id += 2;
    }
}

static void act(struct world *w)
{
    struct peer *p = &w->peers[test_random() % CLIENTS];

    if (!p->stream) {
        open_peer(w, p);
        return;
    }
    switch (test_random() % 16) {
    case 0:
        close_peer(w, p);
        break;
    case 1:
        cor_stream_end(p->stream);
        break;
    case 2:
        if (p->is_stopped)
            cor_stream_read_start(p->stream);
        else
            cor_stream_read_stop(p->stream);
        p->is_stopped = !p->is_stopped;
        break;
    default:
        if (p->has_ended)
            close_peer(w, p);
        else if (p->next_id > 0)
            send_some_frame(p);
        else
            send_piece(p);
    }
}

static bool never(void *arg)
{
    return false;
}

static bool server_is_closed(void *arg)
{
    return ((struct world *)arg)->closed;
}

static bool peers_are_closed(void *arg)
{
    return ((struct world *)arg)->nopen == 0;
}

static bool net_is_closed(void *arg)
{
    return ((struct world *)arg)->net_closed;
}

static void on_server_closed(void *arg)
{
    ((struct world *)arg)->closed = true;
}

static void on_net_closed(void *arg)
{
    ((struct world *)arg)->net_closed = true;
}

static void world_init(struct world *w, const struct identities *ids)
{
    struct cor_tls_opts server = {.role = COR_TLS_SERVER,
                                  .cert_pem = cor_buf_str(&ids->server.cert_pem),
                                  .key_pem = cor_buf_str(&ids->server.key_pem)};
    struct cor_tls_opts client = {.role = COR_TLS_CLIENT, .ca_pem = cor_buf_str(&ids->ca.cert_pem)};
    struct cor_http_server_opts opts = {
        .nloops = 1, .on_request = on_request, .arg = w, .limits = {.request_timeout_ms = 200}};

    memset(w, 0, sizeof(*w));
    assert_int_equal(cor_tls_new(&server, &w->server_tls), 0);
    assert_int_equal(cor_tls_new(&client, &w->client_tls), 0);
    assert_int_equal(cor_loop_new(100, &w->loop), 0);
    assert_int_equal(cor_net_open(w->loop, &w->net), 0);
    opts.loops = &w->loop;
    assert_int_equal(cor_http_server_new(&opts, &w->server), 0);
    assert_int_equal(cor_http_server_listen(w->server, "127.0.0.1", 0, NULL, &w->plain_port), 0);
    assert_int_equal(cor_http_server_listen(w->server, "::1", 0, NULL, NULL), 0);
    assert_int_equal(cor_http_server_listen(w->server, "127.0.0.1", 0, w->server_tls, &w->tls_port),
                     0);
}

static void world_deinit(struct world *w)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        if (w->peers[i].stream)
            close_peer(w, &w->peers[i]);
    }
    assert_true(cor_loop_run_until(w->loop, peers_are_closed, w, PATIENCE_MS));
    cor_http_server_free(w->server);
    cor_net_close(w->net, on_net_closed, w);
    assert_true(cor_loop_run_until(w->loop, net_is_closed, w, PATIENCE_MS));
    cor_loop_free(w->loop);
    cor_tls_unref(w->server_tls);
    cor_tls_unref(w->client_tls);
}

TEST(server, survives_whatever_clients_and_handlers_do)
{
    struct identities ids;
    struct world *w = cor_calloc(1, sizeof(*w));

    identities_init(&ids);
    world_init(w, &ids);
    for (int i = 0; i < STEPS; i++) {
        act(w);
        answer(w);
        if (test_random() % 4 == 0)
            cor_loop_run_until(w->loop, never, NULL, test_random() % 8 == 0);
    }
    cor_http_server_close(w->server, 50, on_server_closed, w);
    assert_true(cor_loop_run_until(w->loop, server_is_closed, w, PATIENCE_MS));
    assert_int_equal(w->nheld, 0);
    assert_true(w->ngone > 0 && w->nended > 0);
    world_deinit(w);
    cor_free(w);
    identities_deinit(&ids);
}
