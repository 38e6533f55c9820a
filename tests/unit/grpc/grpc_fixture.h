/* A loop with a scripted gRPC server on it (HTTP/2's server role over real sockets), and a log of
 * what the client's calls were told. The method's name is the script. */
#ifndef COR_TEST_GRPC_FIXTURE_H
#define COR_TEST_GRPC_FIXTURE_H

#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"
#include "grpc/grpc_call.h"
#include "grpc/grpc_channel_int.h"
#include "grpc/grpc_message_reader.h"
#include "loop/loop.h"
#include "net/session/h2.h"
#include "net/stream/listener.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"

#define PATIENCE_MS 60000

struct world;
struct served;

/* A connection at the server. */
struct peer {
    struct world *w;
    struct cor_dlist link;
    struct cor_stream *stream;
    struct cor_h2 *h2;
};

/* A call at the server. */
struct served {
    struct peer *peer;
    struct cor_h2_stream *s;
    char path[64];
    struct cor_message_reader reader;
    struct cor_buf out; /* echoed messages that wait for room */
    bool ends;
};

struct world {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_listener *listener;
    uint16_t port;
    struct cor_dlist peers;
    struct cor_tls *server_tls;
    size_t npeers, accepted, served;
    char head[2048];    /* the last request's, "name=value|" */
    bool says_nothing;  /* accepts, and then is silent */
    struct cor_str raw; /* says this instead of HTTP/2 */
    /* Answers a call instead of the script of the method's name; NULL: that script. */
    void (*answer)(struct served *c);
    struct cor_grpc_channel *ch;
    bool channel_closed, listener_closed, net_closed;
    int ups, downs;
    char why[200];
    struct cor_buf log;
    size_t messages, message_bytes, done, writable;
    struct cor_grpc_status last; /* without the text */
    char text[300];
};

static const struct cor_h2_limits server_limits = {
    .streams_max = 1000, .window = 65536, .head_max = 65536, .headers_max = 100};

static size_t peer_room(void *arg)
{
    struct peer *p = arg;
    size_t room = p->stream ? cor_stream_room(p->stream) : 0;

    return room > 65536 ? room - 65536 : 0;
}

static int peer_send(const struct cor_str *spans, size_t n, void *arg)
{
    struct peer *p = arg;

    return p->stream ? cor_stream_write(p->stream, spans, n) : -COR_ECANCELED;
}

static void peer_want_turn(void *arg)
{
    struct peer *p = arg;

    if (p->stream)
        cor_stream_want_writable(p->stream);
}

static void served_free(struct served *c)
{
    cor_message_reader_deinit(&c->reader);
    cor_buf_deinit(&c->out);
    cor_free(c);
}

static bool served_is(const struct served *c, const char *name)
{
    return strcmp(c->path, name) == 0;
}

/* The server's memory may fail too: it gives the call up. */
static void served_drop(struct served *c)
{
    cor_h2_reset(c->s, COR_H2_INTERNAL_ERROR);
    served_free(c);
}

static int served_head(struct served *c, const char *type)
{
    struct cor_http_header h = {COR_STR("content-type"), cor_strz(type)};

    return cor_h2_respond(c->s, 200, &h, 1, true);
}

static void served_status(struct served *c, const char *code, const char *message)
{
    struct cor_http_header h[] = {{COR_STR("grpc-status"), cor_strz(code)},
                                  {COR_STR("grpc-message"), cor_strz(message)}};

    if (cor_h2_write_trailers(c->s, h, *message ? 2 : 1) < 0)
        served_drop(c);
    else
        served_free(c);
}

static void served_bytes(struct served *c, struct cor_str bytes)
{
    assert_int_equal(cor_h2_write(c->s, &bytes, 1, 0, false), bytes.n);
}

static void served_pour(struct served *c)
{
    struct cor_str rest = cor_buf_str(&c->out);
    size_t took = cor_h2_write(c->s, &rest, 1, 0, false);

    memmove(c->out.p, c->out.p + took, c->out.n - took);
    cor_buf_truncate(&c->out, c->out.n - took);
    if (c->out.n == 0 && c->ends)
        served_status(c, "0", "");
}

static void served_by_name(struct served *c)
{
    static const struct cor_http_header trailers_only[] = {
        {COR_STR("content-type"), COR_STR("application/grpc")},
        {COR_STR("grpc-status"), COR_STR("9")},
        {COR_STR("grpc-message"), COR_STR("a%20b%C3%A9 %")}};

    if (served_is(c, "/t/TrailersOnly")) {
        assert_int_equal(cor_h2_respond(c->s, 200, trailers_only, 3, false), 0);
        served_free(c);
    } else if (served_is(c, "/t/Status")) {
        served_head(c, "application/grpc");
        served_status(c, "11", "etcdserver: mvcc: required revision has been compacted");
    } else if (served_is(c, "/t/Percent")) {
        served_head(c, "application/grpc+proto");
        served_status(c, "5", "caf%C3%A9 %25");
    } else if (served_is(c, "/t/NotUtf8")) {
        served_head(c, "application/grpc");
        served_status(c, "77", "%ff");
    } else if (served_is(c, "/t/Http503")) {
        assert_int_equal(cor_h2_respond(c->s, 503, NULL, 0, false), 0);
        served_free(c);
    } else if (served_is(c, "/t/Html")) {
        served_head(c, "text/html");
        served_bytes(c, COR_STR("<html>"));
        served_status(c, "0", "");
    } else if (served_is(c, "/t/NoStatus")) {
        served_head(c, "application/grpc");
        cor_h2_write(c->s, NULL, 0, 0, true);
        served_free(c);
    } else if (served_is(c, "/t/Cut")) {
        served_head(c, "application/grpc");
        served_bytes(c, COR_STR("\0\0\0\0\5abc"));
        served_status(c, "0", "");
    } else if (served_is(c, "/t/Compressed")) {
        served_head(c, "application/grpc");
        served_bytes(c, COR_STR("\1\0\0\0\1a"));
        served_status(c, "0", "");
    } else if (served_is(c, "/t/Huge")) {
        served_head(c, "application/grpc");
        served_bytes(c, COR_STR("\0\x7f\0\0\0abc"));
    } else if (served_is(c, "/t/Two")) {
        served_head(c, "application/grpc");
        served_bytes(c, COR_STR("\0\0\0\0\1a\0\0\0\0\1b"));
        served_status(c, "0", "");
    } else if (served_is(c, "/t/None")) {
        served_head(c, "application/grpc");
        served_status(c, "0", "");
    } else if (served_is(c, "/t/Reset")) {
        cor_h2_reset(c->s, COR_H2_ENHANCE_YOUR_CALM);
        served_free(c);
    } else if (served_is(c, "/t/Many")) {
        served_head(c, "application/grpc");
        c->ends = true;
        for (int i = 0; i < 4000; i++) {
            static const char kb[1000];

            assert_int_equal(cor_buf_add(&c->out, "\0\0\0\3\xe8", 5), 0);
            assert_int_equal(cor_buf_add(&c->out, kb, 1000), 0);
        }
        served_pour(c);
    } else if (served_is(c, "/t/Echo")) {
        c->ends = true;
        served_pour(c);
    }
}

static void served_whole(struct served *c)
{
    if (c->peer->w->answer)
        c->peer->w->answer(c);
    else
        served_by_name(c);
}

static int served_on_head(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    return 0;
}

static int served_on_body(struct cor_h2_stream *s, struct cor_str piece, void *arg)
{
    struct served *c = arg;

    if (served_is(c, "/t/Unread"))
        return 0;
    if (served_is(c, "/t/Echo")) {
        if (cor_buf_adds(&c->out, piece) < 0) {
            served_drop(c);
            return 0;
        }
        served_pour(c);
    }
    cor_h2_consume(s, piece.n);
    return 0;
}

static void served_on_end(struct cor_h2_stream *s, void *arg)
{
    struct served *c = arg;

    served_whole(c);
}

static void served_on_writable(struct cor_h2_stream *s, void *arg)
{
    served_pour(arg);
}

static void served_on_closed(struct cor_h2_stream *s, uint32_t code, void *arg)
{
    served_free(arg);
}

static const struct cor_h2_stream_cbs served_cbs = {
    served_on_head, served_on_body, NULL, served_on_end, served_on_writable, served_on_closed};

static int peer_on_request(struct cor_h2_stream *s, const struct cor_h2_head *head, void *arg)
{
    struct peer *p = arg;
    struct served *c;
    size_t n = 0;

    p->w->served++;
    n += (size_t)snprintf(p->w->head, sizeof(p->w->head), "%.*s %.*s %.*s|",
                          COR_STR_ARG(head->method), COR_STR_ARG(head->authority),
                          COR_STR_ARG(head->path));
    for (size_t i = 0; i < head->nheaders; i++)
        n += (size_t)snprintf(p->w->head + n, sizeof(p->w->head) - n, "%.*s=%.*s|",
                              COR_STR_ARG(head->headers[i].name),
                              COR_STR_ARG(head->headers[i].value));
    if (cor_str_eqz(head->path, "/t/Refuse"))
        return -COR_EBUSY;
    c = cor_calloc(1, sizeof(*c));
    if (!c)
        return -COR_ENOMEM;
    c->peer = p;
    c->s = s;
    snprintf(c->path, sizeof(c->path), "%.*s", COR_STR_ARG(head->path));
    cor_buf_init(&c->out, 16u << 20);
    cor_message_reader_init(&c->reader, 1 << 20, 1 << 20);
    cor_h2_stream_set_cbs(s, &served_cbs, c);
    if (served_is(c, "/t/Echo") && served_head(c, "application/grpc") < 0)
        served_drop(c);
    return 0;
}

static const struct cor_h2_cbs peer_cbs = {.room = peer_room,
                                           .send = peer_send,
                                           .want_turn = peer_want_turn,
                                           .on_request = peer_on_request};

static void peer_on_stream_closed(void *arg)
{
    struct peer *p = arg;

    if (p->h2)
        cor_h2_drop_all(p->h2, COR_H2_LOST);
    cor_h2_free(p->h2);
    cor_dlist_remove(&p->link);
    p->w->npeers--;
    cor_free(p);
}

static void peer_close(struct peer *p)
{
    if (p->stream)
        cor_stream_close(COR_STEAL(p->stream), peer_on_stream_closed, p);
}

static void peer_on_open(struct cor_stream *s, void *arg)
{
    struct peer *p = arg;

    if (p->w->raw.n > 0)
        cor_stream_write(s, &p->w->raw, 1);
    else if (!p->w->says_nothing && cor_h2_turn(p->h2, 0) < 0)
        peer_close(p);
}

static void peer_on_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct peer *p = arg;

    if (p->w->says_nothing || p->w->raw.n > 0)
        return;
    if (cor_h2_feed(p->h2, bytes, 0) < 0)
        peer_close(p);
}

static void peer_on_writable(struct cor_stream *s, void *arg)
{
    struct peer *p = arg;

    if (!p->w->says_nothing && cor_h2_turn(p->h2, 0) < 0)
        peer_close(p);
}

static void peer_on_end(struct cor_stream *s, int why, void *arg)
{
    peer_close(arg);
}

static void peer_on_drained(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs peer_stream_cbs = {peer_on_open, peer_on_data, peer_on_writable,
                                                      peer_on_end, peer_on_drained};

static void world_on_accept(int fd, void *arg)
{
    struct world *w = arg;
    struct peer *p = cor_calloc(1, sizeof(*p));
    struct cor_stream_opts opts = {
        .cbs = &peer_stream_cbs, .arg = p, .tls = w->server_tls, .out_max = 512 * 1024};

    if (!p) {
        close(fd);
        return;
    }
    w->accepted++;
    w->npeers++;
    p->w = w;
    cor_dlist_push(&w->peers, &p->link);
    if (cor_stream_open(w->net, fd, &opts, &p->stream) < 0)
        peer_on_stream_closed(p);
    else if (cor_h2_new(COR_H2_SERVER, &server_limits, &peer_cbs, p, &p->h2) < 0)
        peer_close(p);
}

static void world_init(struct world *w)
{
    memset(w, 0, sizeof(*w));
    cor_dlist_init(&w->peers);
    cor_buf_init(&w->log, 1 << 20);
    assert_int_equal(cor_loop_new(64, &w->loop), 0);
    assert_int_equal(cor_net_open(w->loop, &w->net), 0);
    assert_int_equal(cor_listener_open(w->net, "127.0.0.1", 0, world_on_accept, w, &w->listener),
                     0);
    w->port = cor_listener_port(w->listener);
}

static void world_on_state(struct cor_grpc_channel *ch, int r, const char *why, void *arg)
{
    struct world *w = arg;

    if (r == 0)
        w->ups++;
    else
        w->downs++;
    assert_int_equal(why[0] == '\0', r == 0);
    snprintf(w->why, sizeof(w->why), "%s", why);
}

static int world_open_with(struct world *w, struct cor_grpc_channel_opts opts)
{
    struct cor_grpc_endpoint endpoint = {.host = "127.0.0.1", .port = w->port};

    if (opts.nendpoints == 0) {
        opts.endpoints = &endpoint;
        opts.nendpoints = 1;
    }
    opts.on_state = world_on_state;
    opts.arg = w;
    return cor_grpc_channel_open(w->net, &opts, &w->ch);
}

static inline void world_open(struct world *w)
{
    assert_int_equal(world_open_with(w, (struct cor_grpc_channel_opts){.recv_max = 8u << 20}), 0);
}

static inline const char *code_name(enum cor_grpc_code code)
{
    switch (code) {
#define COR_GRPC_ROW(name, number)                                                                 \
    case number:                                                                                   \
        return #name;
        COR_GRPC_CODES(COR_GRPC_ROW)
#undef COR_GRPC_ROW
    }
    return "no code";
}

static inline bool is_up(void *arg)
{
    struct world *w = arg;

    return w->ch && w->ch->state == COR_GRPC_CHANNEL_READY;
}

static bool no_peers(void *arg)
{
    return ((struct world *)arg)->npeers == 0;
}

static bool channel_is_closed(void *arg)
{
    return ((struct world *)arg)->channel_closed;
}

static bool net_is_closed(void *arg)
{
    return ((struct world *)arg)->net_closed;
}

static void on_channel_closed(void *arg)
{
    ((struct world *)arg)->channel_closed = true;
}

static bool listener_is_closed(void *arg)
{
    return ((struct world *)arg)->listener_closed;
}

static void on_listener_closed(void *arg)
{
    ((struct world *)arg)->listener_closed = true;
}

static void on_net_closed(void *arg)
{
    ((struct world *)arg)->net_closed = true;
}

static void world_run(struct world *w, bool (*done)(void *arg))
{
    assert_true(cor_loop_run_until(w->loop, done, w, PATIENCE_MS));
}

static void world_drop_peers(struct world *w)
{
    COR_DLIST_FOREACH_SAFE(link, &w->peers)
        peer_close(COR_CONTAINER_OF(link, struct peer, link));
}

static void world_close_channel(struct world *w)
{
    if (!w->ch)
        return;
    cor_grpc_channel_close(COR_STEAL(w->ch), on_channel_closed, w);
    world_run(w, channel_is_closed);
}

static void world_deinit(struct world *w)
{
    world_close_channel(w);
    world_drop_peers(w);
    world_run(w, no_peers);
    cor_listener_close(w->listener, on_listener_closed, w);
    world_run(w, listener_is_closed);
    cor_net_close(w->net, on_net_closed, w);
    world_run(w, net_is_closed);
    cor_loop_free(w->loop);
    cor_tls_unref(w->server_tls);
    cor_buf_deinit(&w->log);
}

static void keep_status(struct world *w, const struct cor_grpc_status *status)
{
    w->done++;
    w->last = *status;
    snprintf(w->text, sizeof(w->text), "%.*s", COR_STR_ARG(status->message));
}

static void on_reply(const struct cor_grpc_status *status, struct cor_str message, void *arg)
{
    struct world *w = arg;

    keep_status(w, status);
    w->message_bytes += message.n;
    cor_buf_adds(&w->log, message);
}

static void on_message(struct cor_grpc_call *call, struct cor_str message, void *arg)
{
    struct world *w = arg;

    w->messages++;
    w->message_bytes += message.n;
    if (message.n < 100)
        cor_buf_adds(&w->log, message);
}

static void on_writable(struct cor_grpc_call *call, void *arg)
{
    ((struct world *)arg)->writable++;
}

static void on_done(struct cor_grpc_call *call, const struct cor_grpc_status *status, void *arg)
{
    keep_status(arg, status);
}

static const struct cor_grpc_call_cbs call_cbs = {on_message, on_writable, on_done};

static bool one_done(void *arg)
{
    return ((struct world *)arg)->done >= 1;
}

/* A unary call to its end. */
static inline void ask(struct world *w, const char *method, struct cor_str message)
{
    struct cor_grpc_call_opts opts = {.method = cor_strz(method), .timeout_ms = PATIENCE_MS};

    w->done = 0;
    cor_buf_reset(&w->log);
    assert_int_equal(cor_grpc_unary(w->ch, &opts, &message, 1, on_reply, w, NULL), 0);
    assert_int_equal(w->done, 0);
    world_run(w, one_done);
}

#endif
