/* Input: a byte that chooses the protocol, how the answer is cut, whether the first call is paused
 * after each piece, the second's body streamed and the third an upgrade; then what a server says on
 * every connection as soon as it has heard something; then it ends. Whatever it says: each call is
 * shown at most one head, body only after it, and its end once; and nothing is left. */
#include <string.h>
#include <unistd.h>

#include "base/dlist.h"
#include "base/err.h"
#include "base/mem.h"
#include "fuzz.h"
#include "http/http_client.h"
#include "loop/loop.h"
#include "net/stream/listener.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"

#define PATIENCE_MS 9000
#define CALLS       3

struct run;

/* A connection of the server's. */
struct peer {
    struct run *run;
    struct cor_dlist link;
    struct cor_stream *stream;
    size_t said;
    bool has_heard, has_ended;
};

struct call {
    struct cor_http_call *call;
    bool has_head, is_done;
    bool pauses, is_paused, wants_upgrade;
    size_t left; /* of a streamed body */
};

struct run {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_listener *listener;
    struct cor_http_client *client;
    struct cor_dlist peers;
    struct cor_str answer;
    size_t piece;
    struct call calls[CALLS];
    bool client_closed, listener_closed, net_closed;
};

static void on_peer_closed(void *arg)
{
    struct peer *p = arg;

    cor_dlist_remove(&p->link);
    cor_free(p);
}

static void close_peer(struct peer *p)
{
    if (p->stream)
        cor_stream_close(COR_STEAL(p->stream), on_peer_closed, p);
}

static void say(struct peer *p)
{
    struct cor_str rest = cor_str_from(p->run->answer, p->said);
    struct cor_str piece = cor_str(rest.p, rest.n < p->run->piece ? rest.n : p->run->piece);

    if (p->has_ended)
        return;
    cor_stream_write(p->stream, &piece, 1);
    p->said += piece.n;
    p->has_ended = piece.n == rest.n;
    if (p->has_ended)
        cor_stream_end(p->stream);
    else
        cor_stream_want_writable(p->stream);
}

static void on_nothing(struct cor_stream *s, void *arg)
{
}

static void on_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct peer *p = arg;

    if (!p->has_heard)
        say(p);
    p->has_heard = true;
}

static void on_writable(struct cor_stream *s, void *arg)
{
    say(arg);
}

static void on_end(struct cor_stream *s, int why, void *arg)
{
    close_peer(arg);
}

static const struct cor_stream_cbs peer_cbs = {on_nothing, on_data, on_writable, on_end,
                                               on_nothing};

static void on_accept(int fd, void *arg)
{
    struct peer *p = cor_calloc(1, sizeof(*p));
    struct cor_stream_opts opts = {.cbs = &peer_cbs, .arg = p, .out_max = 1u << 20};

    FUZZ_CHECK(p);
    p->run = arg;
    cor_dlist_push(&p->run->peers, &p->link);
    FUZZ_CHECK(cor_stream_open(p->run->net, fd, &opts, &p->stream) == 0);
}

static int on_call_head(void *arg, int status, const struct cor_http_header *headers, size_t n)
{
    struct call *c = arg;

    FUZZ_CHECK(!c->has_head && !c->is_done && status <= 999);
    FUZZ_CHECK(status >= 200 || (status == 101 && c->wants_upgrade));
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(headers[i].name.n > 0 && !memchr(headers[i].value.p, '\n', headers[i].value.n));
    c->has_head = true;
    return 0;
}

static int on_call_body(void *arg, struct cor_str piece)
{
    struct call *c = arg;

    FUZZ_CHECK(c->has_head && !c->is_done && piece.n > 0 && !c->is_paused);
    c->is_paused = c->pauses;
    if (c->pauses)
        cor_http_call_pause(c->call);
    return 0;
}

static void give(struct call *c)
{
    static const char body[100];
    bool had = c->left > 0;

    if (c->left > 0)
        c->left -= cor_http_call_write(c->call, cor_str(body, c->left));
    if (had && c->left == 0)
        cor_http_call_end_body(c->call);
}

static void on_call_writable(void *arg)
{
    struct call *c = arg;

    FUZZ_CHECK(!c->is_done && c->left > 0);
    give(c);
}

static void on_call_done(void *arg, int r, const char *text)
{
    struct call *c = arg;

    FUZZ_CHECK(!c->is_done && r <= 0 && text && (r < 0 || c->has_head));
    c->is_done = true;
}

static const struct cor_http_call_cbs call_cbs = {on_call_head, on_call_body, on_call_done,
                                                  on_call_writable};

static void ask(struct run *r, struct call *c, struct cor_str method, struct cor_str body)
{
    struct cor_http_call_opts opts = {.method = method,
                                      .target = COR_STR("/x"),
                                      .body = c->left > 0 ? (struct cor_str){0} : body,
                                      .streams_body = c->left > 0,
                                      .body_length = COR_HTTP_LENGTH_UNKNOWN,
                                      .wants_upgrade = c->wants_upgrade,
                                      .cbs = &call_cbs,
                                      .arg = c};

    FUZZ_CHECK(cor_http_call_open(r->client, &opts, &c->call) == 0);
    give(c);
}

static bool all_done(void *arg)
{
    struct run *r = arg;

    if (r->calls[0].is_paused && !r->calls[0].is_done) {
        r->calls[0].is_paused = false;
        cor_http_call_resume(r->calls[0].call);
    }
    return r->calls[0].is_done && r->calls[1].is_done && r->calls[2].is_done;
}

static void on_flag(void *arg)
{
    *(bool *)arg = true;
}

static bool is_set(void *arg)
{
    return *(bool *)arg;
}

static bool no_peers(void *arg)
{
    return cor_dlist_empty(&((struct run *)arg)->peers);
}

static void until(struct run *r, bool (*is_so)(void *arg), void *arg)
{
    FUZZ_CHECK(cor_loop_run_until(r->loop, is_so, arg, PATIENCE_MS));
}

static void end(struct run *r)
{
    cor_http_client_close(r->client, on_flag, &r->client_closed);
    until(r, is_set, &r->client_closed);
    COR_DLIST_FOREACH_SAFE(it, &r->peers)
        close_peer(COR_CONTAINER_OF(it, struct peer, link));
    until(r, no_peers, r);
    cor_listener_close(r->listener, on_flag, &r->listener_closed);
    until(r, is_set, &r->listener_closed);
    cor_net_close(r->net, on_flag, &r->net_closed);
    until(r, is_set, &r->net_closed);
    cor_loop_free(r->loop);
}

FUZZ_TARGET(const uint8_t *data, size_t size)
{
    struct run r = {0};
    struct cor_http_client_opts opts = {.host = "127.0.0.1"};

    if (size == 0)
        return 0;
    r.answer = cor_str((const char *)data + 1, size - 1);
    r.piece = data[0] & 2 ? SIZE_MAX : 1u + (data[0] >> 2);
    if (size / 64 > r.piece)
        r.piece = size / 64;
    cor_dlist_init(&r.peers);
    FUZZ_CHECK(cor_loop_new(64, &r.loop) == 0 && cor_net_open(r.loop, &r.net) == 0);
    FUZZ_CHECK(cor_listener_open(r.net, "127.0.0.1", 0, on_accept, &r, &r.listener) == 0);
    opts.port = cor_listener_port(r.listener);
    opts.knows_h2 = data[0] & 1;
    FUZZ_CHECK(cor_http_client_open(r.net, &opts, &r.client) == 0);
    r.calls[0].pauses = data[0] & 4;
    r.calls[1].left = data[0] & 8 ? 100 : 0;
    r.calls[2].wants_upgrade = data[0] & 16;
    ask(&r, &r.calls[0], COR_STR("GET"), COR_STR(""));
    ask(&r, &r.calls[1], COR_STR("POST"), COR_STR("body"));
    ask(&r, &r.calls[2], r.calls[2].wants_upgrade ? COR_STR("GET") : COR_STR("HEAD"), COR_STR(""));
    until(&r, all_done, &r);
    end(&r);
    return 0;
}
