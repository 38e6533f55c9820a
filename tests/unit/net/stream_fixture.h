/* Two ends of a connection on one loop, with what each of them saw. */
#ifndef COR_TEST_STREAM_FIXTURE_H
#define COR_TEST_STREAM_FIXTURE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "loop/loop.h"
#include "net/stream/listener.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"
#include "test.h"

#define PATIENCE_MS 60000

struct end {
    struct cor_stream *stream;
    struct cor_buf got;
    size_t got_n; /* also counts what `got` was told to forget */
    bool forgets; /* keeps no bytes */
    bool is_open, has_ended, is_drained, is_closed;
    int why;
    int writable;
    void (*on_data)(struct end *end, struct cor_str bytes);
    void (*on_writable)(struct end *end);
    uint64_t left; /* for on_writable */
};

struct pair {
    struct cor_loop *loop;
    struct cor_net *net;
    struct cor_listener *listener;
    struct cor_stream_opts server_opts;
    struct end server, client;
    bool listener_closed, net_closed;
    bool refused; /* the server's end could not be opened */
};

static void end_on_open(struct cor_stream *s, void *arg)
{
    struct end *end = arg;

    assert_false(end->is_open);
    end->is_open = true;
}

static void end_on_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct end *end = arg;

    assert_true(end->is_open && !end->has_ended && bytes.n <= COR_STREAM_READ_MAX);
    end->got_n += bytes.n;
    if (!end->forgets)
        assert_int_equal(cor_buf_adds(&end->got, bytes), 0);
    if (end->on_data)
        end->on_data(end, bytes);
}

static void end_on_writable(struct cor_stream *s, void *arg)
{
    struct end *end = arg;

    end->writable++;
    if (end->on_writable)
        end->on_writable(end);
}

static void end_on_end(struct cor_stream *s, int why, void *arg)
{
    struct end *end = arg;

    assert_false(end->has_ended);
    end->has_ended = true;
    end->why = why;
}

static void end_on_drained(struct cor_stream *s, void *arg)
{
    struct end *end = arg;

    assert_false(end->is_drained);
    end->is_drained = true;
}

static const struct cor_stream_cbs end_cbs = {end_on_open, end_on_data, end_on_writable, end_on_end,
                                              end_on_drained};

static void pair_on_accept(int fd, void *arg)
{
    struct pair *p = arg;

    if (cor_stream_open(p->net, fd, &p->server_opts, &p->server.stream) < 0)
        p->refused = true;
}

static void pair_init(struct pair *p)
{
    memset(p, 0, sizeof(*p));
    cor_buf_init(&p->server.got, 64u << 20);
    cor_buf_init(&p->client.got, 64u << 20);
    assert_int_equal(cor_loop_new(64, &p->loop), 0);
    assert_int_equal(cor_net_open(p->loop, &p->net), 0);
    p->server_opts =
        (struct cor_stream_opts){.cbs = &end_cbs, .arg = &p->server, .out_max = 256 * 1024};
}

/* Both ends, connected over TCP; TLS where a role has it. */
static int pair_connect(struct pair *p, struct cor_tls *server_tls, struct cor_tls *client_tls,
                        const char *server_name)
{
    struct cor_stream_opts opts = {.cbs = &end_cbs,
                                   .arg = &p->client,
                                   .out_max = 256 * 1024,
                                   .tls = client_tls,
                                   .server_name = server_name};

    p->server_opts.tls = server_tls;
    assert_int_equal(cor_listener_open(p->net, "127.0.0.1", 0, pair_on_accept, p, &p->listener), 0);
    return cor_stream_connect(p->net, "127.0.0.1", cor_listener_port(p->listener), &opts,
                              &p->client.stream);
}

static bool both_open(void *arg)
{
    struct pair *p = arg;

    return p->server.is_open && p->client.is_open;
}

static bool both_ended(void *arg)
{
    struct pair *p = arg;

    return p->server.has_ended && p->client.has_ended;
}

static bool net_is_closed(void *arg)
{
    return ((struct pair *)arg)->net_closed;
}

static void on_end_closed(void *arg)
{
    ((struct end *)arg)->is_closed = true;
}

static void on_net_closed(void *arg)
{
    ((struct pair *)arg)->net_closed = true;
}

static void on_listener_closed(void *arg)
{
    ((struct pair *)arg)->listener_closed = true;
}

static bool ends_are_closed(void *arg)
{
    struct pair *p = arg;

    return (!p->listener || p->listener_closed) && (!p->server.stream || p->server.is_closed) &&
           (!p->client.stream || p->client.is_closed);
}

static void pair_deinit(struct pair *p)
{
    if (p->client.stream)
        cor_stream_close(p->client.stream, on_end_closed, &p->client);
    if (p->server.stream)
        cor_stream_close(p->server.stream, on_end_closed, &p->server);
    if (p->listener)
        cor_listener_close(p->listener, on_listener_closed, p);
    assert_true(cor_loop_run_until(p->loop, ends_are_closed, p, PATIENCE_MS));
    cor_net_close(p->net, on_net_closed, p);
    assert_true(cor_loop_run_until(p->loop, net_is_closed, p, PATIENCE_MS));
    cor_loop_free(p->loop);
    cor_buf_deinit(&p->server.got);
    cor_buf_deinit(&p->client.got);
}

#endif
