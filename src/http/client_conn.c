#include "http/client_conn.h"

#include <assert.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/dial.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"

/* Output that may wait for the server to read, and the part of it that is left to control frames.
 */
#define OUT_MAX   (512u * 1024)
#define OUT_SLACK (64u * 1024)
#define FAR_MS    (UINT64_C(1) << 40)
/* How long the answer to a ping may wait for company. */
#define PONG_MS 10
/* A loop that is late meets its timers before what has come: that is read first. */
#define LATE_MS 100

/* clang-format off */
/*   DIALLING ──► GREETING (SETTINGS) ──► OPEN ──► ENDED ──► CLOSING
 * and from everywhere to ENDED and CLOSING. */
/* clang-format on */
enum state { DIALLING, GREETING, OPEN, ENDED, CLOSING };

struct cor_client_conn {
    struct cor_net *net;
    struct cor_client_conn_opts opts;
    enum state state;
    struct cor_dial *dial;
    struct cor_stream *stream;
    struct cor_h2 *h2;
    struct cor_timer timer; /* GREETING: the deadline; OPEN: the keepalive. Always set */
    struct cor_timer pong;
    uint64_t heard_ms;
    bool is_pinging;
    bool is_draining;
    bool is_stopped; /* reading, while the output is full */
    bool drain_is_told;
    size_t nclosing; /* of dial and stream, what is being closed */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

static uint64_t now_ms(const struct cor_client_conn *c)
{
    return cor_loop_now_ms(cor_net_loop(c->net));
}

static void free_conn(struct cor_client_conn *c)
{
    cor_h2_free(c->h2);
    cor_tls_unref(c->opts.tls);
    cor_free(c);
}

static void finish_close(struct cor_client_conn *c)
{
    void (*on_closed)(void *arg) = c->on_closed;
    void *arg = c->closed_arg;

    if (c->state != CLOSING || c->nclosing > 0)
        return;
    cor_timer_cancel(&c->timer);
    cor_timer_cancel(&c->pong);
    if (c->h2)
        cor_h2_drop_all(c->h2, COR_H2_LOST);
    free_conn(c);
    if (on_closed)
        on_closed(arg);
}

static void on_part_closed(void *arg)
{
    struct cor_client_conn *c = arg;

    c->nclosing--;
    finish_close(c);
}

static void close_dial(struct cor_client_conn *c)
{
    c->nclosing++;
    cor_dial_close(COR_STEAL(c->dial), on_part_closed, c);
}

static void end(struct cor_client_conn *c, int why, const char *text)
{
    if (c->state >= ENDED)
        return;
    c->state = ENDED;
    cor_timer_set(&c->timer, FAR_MS);
    if (c->h2)
        cor_h2_drop_all(c->h2, COR_H2_LOST);
    if (c->state == ENDED)
        c->opts.cbs->on_end(c, why, text, c->opts.arg);
}

static size_t on_room(void *arg)
{
    struct cor_client_conn *c = arg;
    size_t room = c->stream ? cor_stream_room(c->stream) : 0;

    return room > OUT_SLACK ? room - OUT_SLACK : 0;
}

static int on_send(const struct cor_str *spans, size_t n, void *arg)
{
    struct cor_client_conn *c = arg;

    return c->stream ? cor_stream_write(c->stream, spans, n) : -COR_ECANCELED;
}

static void want_turn(void *arg)
{
    struct cor_client_conn *c = arg;

    if (c->stream)
        cor_stream_want_writable(c->stream);
}

static void on_goaway(uint32_t code, void *arg)
{
    ((struct cor_client_conn *)arg)->is_draining = true;
}

static const struct cor_h2_cbs h2_cbs = {
    .room = on_room,
    .send = on_send,
    .want_turn = want_turn,
    .on_goaway = on_goaway,
};

/* After each step of the session: what it has come to. */
static void look(struct cor_client_conn *c, int r)
{
    if (c->state >= ENDED)
        return;
    if (r < 0) {
        end(c, r, cor_h2_error(c->h2));
        return;
    }
    if (c->state == GREETING && cor_h2_is_greeted(c->h2)) {
        c->state = OPEN;
        cor_timer_set(&c->timer, c->opts.keepalive_ms);
        c->opts.cbs->on_open(c, c->opts.arg);
    }
    if (c->state == OPEN && c->is_draining && !c->drain_is_told) {
        c->drain_is_told = true;
        c->opts.cbs->on_drain(c, c->opts.arg);
    }
    if (c->state < ENDED && cor_h2_is_done(c->h2))
        end(c, 0, cor_h2_error(c->h2));
}

/* While the output is full nothing is read: each frame that comes may want an answer. */
static void throttle(struct cor_client_conn *c)
{
    if (c->state >= ENDED || !c->stream)
        return;
    c->is_stopped = cor_stream_room(c->stream) < OUT_SLACK / 2;
    if (c->is_stopped) {
        cor_stream_read_stop(c->stream);
        cor_stream_want_writable(c->stream);
    } else {
        cor_stream_read_start(c->stream);
    }
}

static void on_stream_open(struct cor_stream *s, void *arg)
{
}

static void on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct cor_client_conn *c = arg;

    if (c->state != GREETING && c->state != OPEN)
        return;
    c->heard_ms = now_ms(c);
    if (c->is_pinging)
        cor_timer_set(&c->timer, c->opts.keepalive_ms);
    c->is_pinging = false;
    look(c, cor_h2_feed(c->h2, bytes, c->heard_ms));
    throttle(c);
    if (c->state < ENDED && cor_h2_owes_pong(c->h2) && !cor_timer_is_set(&c->pong) &&
        cor_timer_set(&c->pong, PONG_MS) < 0)
        cor_stream_want_writable(c->stream);
}

static void on_stream_writable(struct cor_stream *s, void *arg)
{
    struct cor_client_conn *c = arg;

    if (c->state != GREETING && c->state != OPEN)
        return;
    look(c, cor_h2_turn(c->h2, now_ms(c)));
    throttle(c);
}

static const char *end_text(int why)
{
    switch (why) {
    case 0:
        return "the server closed the connection";
    case -COR_ETLS:
        return "TLS failed";
    case -COR_ETIMEOUT:
        return "the server took no data";
    default:
        return "the connection broke";
    }
}

static void on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct cor_client_conn *c = arg;

    if (c->state < ENDED)
        end(c, why == 0 ? -COR_EIO : why, end_text(why));
}

static void on_stream_drained(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs stream_cbs = {on_stream_open, on_stream_data, on_stream_writable,
                                                 on_stream_end, on_stream_drained};

/* The first frames leave with the stream's next turn. */
static int speak(struct cor_client_conn *c, struct cor_stream *stream)
{
    if (cor_h2_new(COR_H2_CLIENT, c->opts.limits, &h2_cbs, c, &c->h2) < 0)
        return -COR_ENOMEM;
    c->stream = stream;
    cor_stream_hand_over(stream, &stream_cbs, c, OUT_MAX);
    c->state = GREETING;
    c->heard_ms = now_ms(c);
    cor_timer_set(&c->timer, c->opts.connect_timeout_ms);
    cor_stream_want_writable(stream);
    return 0;
}

static void on_dialled(int r, const char *text, struct cor_stream *take_stream, void *arg)
{
    struct cor_client_conn *c = arg;

    close_dial(c);
    if (r < 0) {
        end(c, r, text);
        return;
    }
    if (speak(c, take_stream) < 0) {
        c->nclosing++;
        cor_stream_close(take_stream, on_part_closed, c);
        end(c, -COR_ENOMEM, "out of memory");
    } else if (c->opts.tls && !cor_str_eqz(cor_stream_alpn(take_stream), "h2")) {
        end(c, -COR_EPROTOCOL, "the server does not speak HTTP/2 over TLS");
    }
}

static void keep_alive(struct cor_client_conn *c)
{
    uint64_t silent_ms = now_ms(c) - c->heard_ms;

    if (c->is_pinging && !cor_stream_is_quiet(c->stream)) {
        cor_timer_set(&c->timer, LATE_MS);
        return;
    }
    if (c->is_pinging) {
        end(c, -COR_ETIMEOUT, "the server does not answer pings");
        return;
    }
    if (cor_h2_nstreams(c->h2) == 0 || silent_ms < c->opts.keepalive_ms) {
        silent_ms = silent_ms < c->opts.keepalive_ms ? silent_ms : 0;
        cor_timer_set(&c->timer, c->opts.keepalive_ms - silent_ms);
        return;
    }
    c->is_pinging = true;
    cor_timer_set(&c->timer, c->opts.keepalive_timeout_ms);
    if (cor_h2_ping(c->h2) < 0)
        end(c, -COR_ENOMEM, "out of memory");
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_client_conn *c = COR_CONTAINER_OF(timer, struct cor_client_conn, timer);

    cor_timer_set(timer, FAR_MS);
    if (c->state == CLOSING)
        finish_close(c);
    else if (c->state == OPEN)
        keep_alive(c);
    else
        end(c, -COR_ETIMEOUT, "the connection took too long");
}

static void on_pong_due(struct cor_timer *timer)
{
    struct cor_client_conn *c = COR_CONTAINER_OF(timer, struct cor_client_conn, pong);

    if (c->state < ENDED)
        look(c, cor_h2_turn(c->h2, now_ms(c)));
}

static int dial(struct cor_client_conn *c)
{
    struct cor_dial_opts opts = {.host = c->opts.host,
                                 .port = c->opts.port,
                                 .unix_path = c->opts.unix_path,
                                 .tls = c->opts.tls,
                                 .server_name = c->opts.server_name,
                                 .timeout_ms = c->opts.connect_timeout_ms,
                                 .on_done = on_dialled,
                                 .arg = c};

    return cor_dial_open(c->net, &opts, &c->dial);
}

static int new_conn(struct cor_net *net, const struct cor_client_conn_opts *opts,
                    struct cor_client_conn **ret)
{
    struct cor_client_conn *c = cor_calloc(1, sizeof(*c));

    assert(opts->cbs && opts->limits);
    if (!c)
        return -COR_ENOMEM;
    c->net = net;
    c->opts = *opts;
    if (c->opts.tls)
        cor_tls_ref(c->opts.tls);
    cor_timer_init(&c->timer, cor_net_loop(net), on_timer);
    cor_timer_init(&c->pong, cor_net_loop(net), on_pong_due);
    *ret = c;
    return 0;
}

static void discard(struct cor_client_conn *c)
{
    cor_timer_cancel(&c->timer);
    free_conn(c);
}

int cor_client_conn_open(struct cor_net *net, const struct cor_client_conn_opts *opts,
                         struct cor_client_conn **ret_conn)
{
    struct cor_client_conn *c;
    int r = new_conn(net, opts, &c);

    assert(opts->host || opts->unix_path);
    if (r < 0)
        return r;
    r = cor_timer_set(&c->timer, FAR_MS);
    if (r == 0)
        r = dial(c);
    if (r < 0) {
        discard(c);
        return r;
    }
    *ret_conn = c;
    return 0;
}

int cor_client_conn_adopt(struct cor_net *net, const struct cor_client_conn_opts *opts,
                          struct cor_stream *stream, struct cor_client_conn **ret_conn)
{
    struct cor_client_conn *c;
    int r = new_conn(net, opts, &c);

    if (r < 0)
        return r;
    r = cor_timer_set(&c->timer, FAR_MS);
    if (r == 0)
        r = speak(c, stream);
    if (r < 0) {
        discard(c);
        return r;
    }
    *ret_conn = c;
    return 0;
}

void cor_client_conn_close(struct cor_client_conn *c, void (*on_closed)(void *arg), void *arg)
{
    assert(c->state != CLOSING && cor_loop_is_current(cor_net_loop(c->net)));
    c->state = CLOSING;
    c->on_closed = on_closed;
    c->closed_arg = arg;
    if (c->dial)
        close_dial(c);
    if (c->stream) {
        c->nclosing++;
        cor_stream_close(COR_STEAL(c->stream), on_part_closed, c);
    }
    if (c->nclosing == 0)
        cor_timer_set(&c->timer, 0);
}

struct cor_h2 *cor_client_conn_h2(const struct cor_client_conn *c)
{
    return c->h2;
}

bool cor_client_conn_is_draining(const struct cor_client_conn *c)
{
    return c->is_draining;
}
