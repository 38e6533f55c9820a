/* A server with a scripted handler, and a client on the same loop that sends requests and reads
 * responses with the project's own sessions, of either protocol. */
#ifndef COR_TEST_HTTP_FIXTURE_H
#define COR_TEST_HTTP_FIXTURE_H

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "http/http_server.h"
#include "http/http_server_int.h"
#include "loop/loop.h"
#include "net/session/h1.h"
#include "net/session/h2.h"
#include "net/stream/net.h"
#include "net/stream/peer.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"

#define PATIENCE_MS 60000

enum protocol { H1, H2 };

/* What clients speak that are opened from now on. */
static enum protocol protocol;

/* The on_head of servers that are made from now on; NULL: they have none. */
static void (*head_handler)(const struct cor_http_request *req, struct cor_http_response *resp,
                            void *arg);

/* A test that must hold over both protocols. */
#define TEST_BOTH(suite, name)                                                                     \
    static void both_##suite##_##name(void);                                                       \
    TEST(suite, name)                                                                              \
    {                                                                                              \
        protocol = H1;                                                                             \
        both_##suite##_##name();                                                                   \
    }                                                                                              \
    TEST(suite, name##_over_h2)                                                                    \
    {                                                                                              \
        protocol = H2;                                                                             \
        both_##suite##_##name();                                                                   \
        protocol = H1;                                                                             \
    }                                                                                              \
    static void both_##suite##_##name(void)

/* What a client has got: "200 body." per response, "!" when a message was broken off. */
struct client {
    struct cor_stream *stream;
    struct cor_h1 *h1; /* or */
    struct cor_h2 *h2;
    struct cor_h2_stream *first_stream, *last; /* of the first and the last request */
    bool hoards;                               /* does not open its windows again */
    bool is_raw;                               /* keeps the bytes that come as they are in `text` */
    struct cor_buf text;
    struct cor_buf headers; /* "name: value\n" of all responses, names in lower case */
    char first[32];         /* bytes of the connection */
    size_t body_bytes;
    bool forgets; /* only counts body bytes */
    size_t nresponses, nclosed;
    uint32_t code; /* of the last stream that was closed */
    bool has_ended, is_closed;
    int why;
};

struct http {
    struct cor_loop *loop;
    struct cor_net *net; /* of the clients */
    struct cor_http_server *server;
    uint16_t port;
    bool closed, net_closed;

    /* The handler's notes. */
    struct cor_buf seen; /* "METHOD path?query body\n" */
    struct cor_http_response *held;
    size_t nheld, ngone, ndrained, nwritable;
    int why;
    bool ends_on_drain;
    bool holds;    /* a server with an on_head: holds requests, instead of echoing them */
    uint64_t left; /* what stream_out() has still to write */
};

static void client_note_headers(struct client *cl, const struct cor_http_header *headers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < headers[i].name.n; k++)
            cor_buf_addc(&cl->headers, (char)tolower((unsigned char)headers[i].name.p[k]));
        cor_buf_addf(&cl->headers, ": %.*s\n", COR_STR_ARG(headers[i].value));
    }
}

static int client_on_head(const struct cor_h1_head *head, void *arg)
{
    struct client *cl = arg;

    cor_buf_addf(&cl->text, "%d ", head->status);
    client_note_headers(cl, head->headers, head->nheaders);
    return 0;
}

static int client_on_body(struct cor_str piece, void *arg)
{
    struct client *cl = arg;

    cl->body_bytes += piece.n;
    return cl->forgets ? 0 : cor_buf_adds(&cl->text, piece);
}

static int client_on_message_end(void *arg)
{
    struct client *cl = arg;

    cl->nresponses++;
    return cor_buf_addc(&cl->text, '.');
}

static const struct cor_h1_limits client_limits = {
    .head_max = COR_H1_HEAD_MAX, .headers_max = COR_H1_HEADERS_MAX, .body_max = UINT64_MAX};
static const struct cor_h1_cbs client_h1_cbs = {client_on_head, client_on_body,
                                                client_on_message_end};

static int client_on_h2_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct client *cl = arg;

    cor_buf_addf(&cl->text, "%d ", head->status);
    client_note_headers(cl, head->headers, head->nheaders);
    return 0;
}

static int client_on_h2_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct client *cl = arg;

    client_on_body(piece, cl);
    if (!cl->hoards)
        cor_h2_consume(s, piece.n);
    return 0;
}

static void client_on_h2_end(struct cor_h2_stream *s, void *arg)
{
    client_on_message_end(arg);
}

static void client_on_h2_writable(struct cor_h2_stream *s, void *arg)
{
}

static void client_on_h2_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    struct client *cl = arg;

    if (cl->last == s)
        cl->last = NULL;
    cl->nclosed++;
    cl->code = code;
    if (code != COR_H2_NO_ERROR)
        cor_buf_addc(&cl->text, '!');
}

static const struct cor_h2_stream_cbs client_h2_cbs = {
    client_on_h2_head, client_on_h2_body,     NULL,
    client_on_h2_end,  client_on_h2_writable, client_on_h2_closed};

static size_t client_h2_room(void *arg)
{
    size_t room = cor_stream_room(((struct client *)arg)->stream);

    return room > 10000 ? room - 10000 : 0;
}

static int client_h2_send(const struct cor_str *spans, size_t nspans, void *arg)
{
    return cor_stream_write(((struct client *)arg)->stream, spans, nspans);
}

static void client_h2_want_turn(void *arg)
{
    cor_stream_want_writable(((struct client *)arg)->stream);
}

static const struct cor_h2_cbs client_session_cbs = {
    .room = client_h2_room, .send = client_h2_send, .want_turn = client_h2_want_turn};
/* A test may change what its next client announces. */
static struct cor_h2_limits client_h2_limits = {.streams_max = COR_H2_STREAMS_MAX,
                                                .window = COR_H2_WINDOW,
                                                .head_max = COR_H2_HEAD_MAX,
                                                .headers_max = COR_H2_HEADERS_MAX};

static void client_on_open(struct cor_stream *s, void *arg)
{
}

static void client_on_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct client *cl = arg;
    size_t used;

    if (!cl->first[0])
        memcpy(cl->first, bytes.p, bytes.n < sizeof(cl->first) ? bytes.n : sizeof(cl->first) - 1);
    if (cl->is_raw) {
        cor_buf_adds(&cl->text, bytes);
        return;
    }
    if (cl->h2) {
        if (cor_h2_feed(cl->h2, bytes, 0) < 0)
            cl->has_ended = true;
        return;
    }
    while (bytes.n > 0 && !cl->has_ended) {
        int r = cor_h1_feed(cl->h1, bytes, &used);

        if (r == -COR_ENOMEM && test_alloc_failed()) {
            cl->has_ended = true;
            return;
        }
        assert_int_equal(r, 0);
        bytes = cor_str_from(bytes, used);
        if (cor_h1_is_done(cl->h1))
            cor_h1_next(cl->h1, false);
    }
}

static void client_on_writable(struct cor_stream *s, void *arg)
{
    struct client *cl = arg;

    if (cl->h2)
        cor_h2_turn(cl->h2, 0);
}

static void client_on_end(struct cor_stream *s, int why, void *arg)
{
    struct client *cl = arg;

    if (cl->has_ended)
        return;
    cl->has_ended = true;
    cl->why = why;
    if (cl->h2)
        cor_h2_drop_all(cl->h2, COR_H2_CANCEL);
    else if (cor_h1_finish(cl->h1) < 0)
        cor_buf_addc(&cl->text, '!');
}

static const struct cor_stream_cbs client_cbs = {client_on_open, client_on_data, client_on_writable,
                                                 client_on_end, client_on_open};

static void client_init(struct client *cl)
{
    memset(cl, 0, sizeof(*cl));
    cor_buf_init(&cl->text, 64u << 20);
    cor_buf_init(&cl->headers, 1u << 20);
    if (protocol == H1) {
        cl->h1 = cor_h1_new(COR_H1_CLIENT, &client_limits, &client_h1_cbs, cl);
        assert_non_null(cl->h1);
    } else {
        assert_int_equal(
            cor_h2_new(COR_H2_CLIENT, &client_h2_limits, &client_session_cbs, cl, &cl->h2), 0);
    }
}

static void client_open(struct client *cl, struct http *h, struct cor_tls *tls)
{
    struct cor_stream_opts opts = {
        .cbs = &client_cbs, .arg = cl, .out_max = 8u << 20, .tls = tls, .server_name = "localhost"};

    client_init(cl);
    assert_int_equal(cor_stream_connect(h->net, "127.0.0.1", h->port, &opts, &cl->stream), 0);
}

static inline void client_send(struct client *cl, struct cor_str bytes)
{
    assert_int_equal(cor_stream_write(cl->stream, &bytes, 1), 0);
}

static void client_on_closed(void *arg)
{
    ((struct client *)arg)->is_closed = true;
}

static bool client_is_closed(void *arg)
{
    return ((struct client *)arg)->is_closed;
}

static void client_close(struct client *cl, struct http *h)
{
    cor_stream_close(cl->stream, client_on_closed, cl);
    assert_true(cor_loop_run_until(h->loop, client_is_closed, cl, PATIENCE_MS));
    cor_h1_free(cl->h1);
    cor_h2_free(cl->h2);
    cor_buf_deinit(&cl->text);
    cor_buf_deinit(&cl->headers);
}

/* A request with what every request has; `body` may be NULL. */
static inline void client_ask(struct client *cl, const char *method, const char *target,
                              const char *body)
{
    struct cor_h2_request req = {
        cor_strz(method),       COR_STR("http"), COR_STR("x"), cor_strz(target), NULL, 0,
        body && body[0] != '\0'};
    struct cor_str bytes = cor_strz(body);
    struct cor_buf in;

    if (cl->h2) {
        assert_int_equal(cor_h2_open(cl->h2, &req, &client_h2_cbs, cl, &cl->last), 0);
        if (!cl->first_stream)
            cl->first_stream = cl->last;
        if (req.has_body)
            assert_int_equal(cor_h2_write(cl->last, &bytes, 1, 0, true), bytes.n);
        return;
    }
    cor_buf_init(&in, 1u << 20);
    cor_buf_addf(&in, "%s %s HTTP/1.1\r\nHost: x\r\n", method, target);
    if (body)
        cor_buf_addf(&in, "Content-Length: %zu\r\n", strlen(body));
    cor_buf_addf(&in, "\r\n%s", body ? body : "");
    client_send(cl, cor_buf_str(&in));
    cor_buf_deinit(&in);
}

static inline bool client_has_response(void *arg)
{
    return ((struct client *)arg)->nresponses > 0;
}

static inline bool client_has_two(void *arg)
{
    return ((struct client *)arg)->nresponses == 2;
}

static inline bool client_has_three(void *arg)
{
    return ((struct client *)arg)->nresponses == 3;
}

/* A broken response: the end of its stream, or of its connection. */
static inline bool client_is_broken(void *arg)
{
    struct client *cl = arg;

    return cl->h2 ? cl->nclosed > 0 : cl->has_ended;
}

static inline bool client_has_ended(void *arg)
{
    return ((struct client *)arg)->has_ended;
}

static void handler_on_gone(struct cor_http_response *resp, int why, void *arg)
{
    struct http *h = arg;

    h->ngone++;
    h->why = why;
    h->held = NULL;
}

static void stream_out(struct http *h)
{
    static char piece[20000];

    memset(piece, 'x', sizeof(piece));
    while (h->held && h->left > 0) {
        size_t n = h->left < sizeof(piece) ? (size_t)h->left : sizeof(piece);
        size_t taken = cor_http_response_write(h->held, cor_str(piece, n));

        h->left -= taken;
        if (taken < n)
            return;
    }
    if (h->held)
        cor_http_response_end(h->held);
    h->held = NULL;
}

static void handler_on_writable(struct cor_http_response *resp, void *arg)
{
    struct http *h = arg;

    h->nwritable++;
    stream_out(h);
}

static void handler_on_drain(struct cor_http_response *resp, void *arg)
{
    struct http *h = arg;

    h->ndrained++;
    if (h->ends_on_drain) {
        cor_http_response_end(resp);
        h->held = NULL;
    }
}

static const struct cor_http_response_cbs handler_cbs = {handler_on_writable, handler_on_gone,
                                                         handler_on_drain};
static const struct cor_http_header handler_headers[] = {
    {COR_STR("Content-Type"), COR_STR("text/plain")}};

/* By path: /echo answers with the body, /who with the peer, /hold keeps the response, /watch starts
 * a stream and keeps it, /big/N streams N bytes, /send/N sends N at once, /abort breaks off,
 * /release ends what is held, /redirect/N?TARGET answers N and sends there, /loop to itself. */
static void handler(const struct cor_http_request *req, struct cor_http_response *resp, void *arg)
{
    struct http *h = arg;
    struct cor_str rest = req->path;
    uint64_t n = 0;

    cor_buf_addf(&h->seen, "%.*s %.*s?%.*s %.*s\n", COR_STR_ARG(req->method_name),
                 COR_STR_ARG(req->path),
                 COR_STR_ARG(cor_str(req->query.p ? req->query.p : "", req->query.n)),
                 COR_STR_ARG(req->body));
    cor_str_cut(&rest, '/');
    rest = (cor_str_cut(&rest, '/'), rest);
    if (rest.p)
        cor_str_to_u64(rest, &n);
    if (cor_str_starts(req->path, COR_STR("/hold"))) {
        cor_http_response_set_cbs(resp, &handler_cbs, h);
        h->held = resp;
        h->nheld++;
    } else if (cor_str_starts(req->path, COR_STR("/watch"))) {
        cor_http_response_set_cbs(resp, &handler_cbs, h);
        cor_http_response_set_deadline(resp, COR_HTTP_NO_DEADLINE);
        cor_http_response_start(resp, 200, handler_headers, 1, COR_HTTP_LENGTH_UNKNOWN);
        h->held = resp;
        h->nheld++;
    } else if (cor_str_starts(req->path, COR_STR("/big/"))) {
        cor_http_response_set_cbs(resp, &handler_cbs, h);
        cor_http_response_start(resp, 200, handler_headers, 1,
                                req->query.n ? COR_HTTP_LENGTH_UNKNOWN : n);
        h->held = resp;
        h->left = n;
        stream_out(h);
    } else if (cor_str_starts(req->path, COR_STR("/send/"))) {
        char *body = cor_alloc(n);

        memset(body, 'y', n);
        cor_http_response_send(resp, 200, handler_headers, 1, cor_str(body, n));
        cor_free(body);
    } else if (cor_str_eqz(req->path, "/release")) {
        cor_http_response_end(COR_STEAL(h->held));
        cor_http_response_send(resp, 200, NULL, 0, COR_STR(""));
    } else if (cor_str_starts(req->path, COR_STR("/redirect/")) ||
               cor_str_eqz(req->path, "/loop")) {
        struct cor_http_header location = {COR_STR("Location"), n ? req->query : req->path};

        cor_http_response_send(resp, n ? (int)n : 302, &location, 1, COR_STR("go away"));
    } else if (cor_str_eqz(req->path, "/abort")) {
        cor_http_response_abort(resp);
    } else if (cor_str_eqz(req->path, "/who")) {
        cor_http_response_send(resp, 200, NULL, 0,
                               req->peer->cert ? req->peer->cert->common_name : COR_STR("nobody"));
    } else {
        cor_http_response_send(resp, 200, handler_headers, 1, req->body);
    }
}

/* The same for a request whose head was seen before and is gone: it is held or echoed. */
static void handle_whole(const struct cor_http_request *req, struct cor_http_response *resp,
                         void *arg)
{
    struct http *h = arg;
    struct cor_http_request as = *req;

    assert_int_equal(req->path.n + req->target.n + req->query.n + req->nheaders, 0);
    as.path = h->holds ? COR_STR("/hold") : COR_STR("/echo");
    handler(&as, resp, arg);
}

static const char *handler_on_error(const struct cor_http_request *req, int status,
                                    const char *message, struct cor_buf *out, void *arg)
{
    if (status != 413)
        return NULL;
    cor_buf_addf(out, "{\"code\":413,\"path\":\"%.*s\"}", COR_STR_ARG(req->path));
    return "application/json";
}

static inline void http_init(struct http *h, struct cor_http_limits limits, struct cor_tls *tls)
{
    struct cor_http_server_opts opts = {.nloops = 1,
                                        .limits = limits,
                                        .on_head = head_handler,
                                        .on_request = head_handler ? handle_whole : handler,
                                        .on_error = handler_on_error,
                                        .arg = h};

    memset(h, 0, sizeof(*h));
    cor_buf_init(&h->seen, 8u << 20);
    assert_int_equal(cor_loop_new(64, &h->loop), 0);
    opts.loops = &h->loop;
    assert_int_equal(cor_net_open(h->loop, &h->net), 0);
    assert_int_equal(cor_http_server_new(&opts, &h->server), 0);
    assert_int_equal(cor_http_server_listen(h->server, "127.0.0.1", 0, tls, &h->port), 0);
}

static inline void http_on_closed(void *arg)
{
    ((struct http *)arg)->closed = true;
}

static inline void http_on_net_closed(void *arg)
{
    ((struct http *)arg)->net_closed = true;
}

static inline bool http_is_closed(void *arg)
{
    return ((struct http *)arg)->closed;
}

static inline bool http_net_is_closed(void *arg)
{
    return ((struct http *)arg)->net_closed;
}

static inline void http_deinit(struct http *h)
{
    if (!h->closed)
        cor_http_server_close(h->server, 0, http_on_closed, h);
    assert_true(cor_loop_run_until(h->loop, http_is_closed, h, PATIENCE_MS));
    cor_http_server_free(h->server);
    cor_net_close(h->net, http_on_net_closed, h);
    assert_true(cor_loop_run_until(h->loop, http_net_is_closed, h, PATIENCE_MS));
    cor_loop_free(h->loop);
    cor_buf_deinit(&h->seen);
}

/* What a test waits for. */
static inline bool http_has_seen(void *arg)
{
    return ((struct http *)arg)->seen.n > 0;
}

static inline bool has_held(void *arg)
{
    return ((struct http *)arg)->held;
}

static inline bool someone_is_gone(void *arg)
{
    return ((struct http *)arg)->ngone > 0;
}

static inline bool is_full(void *arg)
{
    struct http *h = arg;

    return h->held && h->held->ops->room(h->held) == 0;
}

static inline void await(struct http *h, bool (*is_so)(void *arg), void *arg)
{
    assert_true(cor_loop_run_until(h->loop, is_so, arg, PATIENCE_MS));
}

/* A server and one client of it. */
static inline void meet(struct http *h, struct client *cl, struct cor_http_limits limits)
{
    http_init(h, limits, NULL);
    client_open(cl, h, NULL);
}

static inline void part(struct http *h, struct client *cl)
{
    client_close(cl, h);
    http_deinit(h);
}

/* Sends `in` on a fresh connection and waits for one response, */
static inline void check(struct http *h, const char *in, const char *want)
{
    struct client cl;

    client_open(&cl, h, NULL);
    client_send(&cl, cor_strz(in));
    await(h, client_has_response, &cl);
    assert_string_equal(cor_buf_z(&cl.text), want);
    client_close(&cl, h);
}

/* or for the connection's end. */
static inline void check_end(struct http *h, const char *in, const char *want)
{
    struct client cl;

    client_open(&cl, h, NULL);
    client_send(&cl, cor_strz(in));
    await(h, client_has_ended, &cl);
    assert_string_equal(cor_buf_z(&cl.text), want);
    client_close(&cl, h);
}

#endif
