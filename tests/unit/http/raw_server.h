/* A listener whose connections a test answers by itself, byte by byte; on the test's loop. */
#ifndef COR_TEST_RAW_SERVER_H
#define COR_TEST_RAW_SERVER_H

#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/stream/listener.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"

#define RAW_CONNS_MAX 2000

struct raw_server;

struct raw_conn {
    struct raw_server *server;
    struct cor_stream *stream; /* NULL: closed */
    struct cor_buf in;         /* what came, unless the test takes it */
    void *user;                /* the test's */
};

struct raw_server {
    struct cor_net *net;
    struct cor_loop *loop;
    struct cor_listener *listener;
    struct cor_tls *tls;
    uint16_t port;
    size_t nconns, nclosing;
    struct raw_conn *conns[RAW_CONNS_MAX];
    bool is_listener_closed;
    void (*on_open)(struct raw_conn *c);
    void (*on_data)(struct raw_conn *c, struct cor_str bytes);
    void (*on_end)(struct raw_conn *c);
    void (*on_writable)(struct raw_conn *c);
    void *arg;
};

static void raw_on_closed(void *arg)
{
    ((struct raw_server *)arg)->nclosing--;
}

static inline void raw_close(struct raw_conn *c)
{
    if (!c->stream)
        return;
    c->server->nclosing++;
    cor_stream_close(COR_STEAL(c->stream), raw_on_closed, c->server);
}

static inline void raw_say(struct raw_conn *c, struct cor_str bytes)
{
    if (c->stream && cor_stream_write(c->stream, &bytes, 1) < 0)
        cor_stream_fail(c->stream, -COR_EIO);
}

static void raw_on_stream_open(struct cor_stream *s, void *arg)
{
    struct raw_conn *c = arg;

    if (c->server->on_open)
        c->server->on_open(c);
}

static void raw_on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct raw_conn *c = arg;

    if (c->server->on_data)
        c->server->on_data(c, bytes);
}

static void raw_on_stream_writable(struct cor_stream *s, void *arg)
{
    struct raw_conn *c = arg;

    if (c->server->on_writable)
        c->server->on_writable(c);
}

static void raw_on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct raw_conn *c = arg;

    if (c->server->on_end)
        c->server->on_end(c);
    raw_close(c);
}

static void raw_on_stream_drained(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs raw_cbs = {raw_on_stream_open, raw_on_stream_data,
                                              raw_on_stream_writable, raw_on_stream_end,
                                              raw_on_stream_drained};

static void raw_on_accept(int fd, void *arg)
{
    struct raw_server *s = arg;
    struct raw_conn *c = s->nconns < RAW_CONNS_MAX ? cor_calloc(1, sizeof(*c)) : NULL;
    struct cor_stream_opts opts = {.cbs = &raw_cbs, .arg = c, .out_max = 1u << 20, .tls = s->tls};

    if (!c) {
        close(fd);
        return;
    }
    c->server = s;
    cor_buf_init(&c->in, 64u << 20);
    if (cor_stream_open(s->net, fd, &opts, &c->stream) < 0) {
        cor_free(c);
        return;
    }
    s->conns[s->nconns++] = c;
}

/* `s` has its callbacks already. */
static inline void raw_listen(struct raw_server *s, struct cor_loop *loop, struct cor_net *net)
{
    s->loop = loop;
    s->net = net;
    assert_int_equal(cor_listener_open(net, "127.0.0.1", 0, raw_on_accept, s, &s->listener), 0);
    s->port = cor_listener_port(s->listener);
}

static void raw_on_listener_closed(void *arg)
{
    ((struct raw_server *)arg)->is_listener_closed = true;
}

static bool raw_is_closed(void *arg)
{
    struct raw_server *s = arg;

    return s->is_listener_closed && s->nclosing == 0;
}

static inline void raw_deinit(struct raw_server *s)
{
    for (size_t i = 0; i < s->nconns; i++)
        raw_close(s->conns[i]);
    cor_listener_close(s->listener, raw_on_listener_closed, s);
    assert_true(cor_loop_run_until(s->loop, raw_is_closed, s, 30000));
    for (size_t i = 0; i < s->nconns; i++) {
        cor_buf_deinit(&s->conns[i]->in);
        cor_free(s->conns[i]);
    }
}

static inline struct raw_conn *raw_last(struct raw_server *s)
{
    return s->nconns > 0 ? s->conns[s->nconns - 1] : NULL;
}

#endif
