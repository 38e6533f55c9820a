#include "http/dial.h"

#include <assert.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "http/http_proxy.h"
#include "loop/loop.h"
#include "loop/timer.h"
#include "net/host/host.h"
#include "net/session/h1.h"
#include "net/stream/net.h"
#include "net/stream/stream.h"
#include "net/stream/tls.h"

#define FAR_MS (UINT64_C(1) << 40)
/* Output until the stream is handed over, and how long the server may ever leave any untouched. */
#define OUT_MAX  4096
#define STALL_MS 30000
/* An address gets this much even when many others wait. */
#define SHARE_MIN_MS 2000

/* clang-format off */
/*   RESOLVING ──► CONNECTING (each address, with TLS) ──────────────► DONE ──► CLOSING
 *                        └──► TUNNELLING ──► SECURING (TLS) ──┘
 * and from everywhere to DONE and CLOSING. With a proxy the first two are about the proxy. */
/* clang-format on */
enum state { RESOLVING, CONNECTING, TUNNELLING, SECURING, DONE, CLOSING };

struct cor_dial {
    struct cor_net *net;
    struct cor_dial_opts opts;
    enum state state;
    struct cor_resolver *resolver;
    struct cor_addresses addresses;
    size_t next_address;
    struct cor_stream *stream;
    struct cor_h1 *h1; /* TUNNELLING: the proxy's answer */
    int proxy_status;
    size_t nclosing;        /* streams of earlier addresses */
    uint64_t deadline_ms;   /* on the loop's clock */
    struct cor_timer timer; /* always set, so that moving it cannot fail */
    int r;                  /* a failure that is told from the timer */
    void (*on_closed)(void *arg);
    void *closed_arg;
};

static uint64_t now_ms(const struct cor_dial *d)
{
    return cor_loop_now_ms(cor_net_loop(d->net));
}

static void finish_close(struct cor_dial *d)
{
    void (*on_closed)(void *arg) = d->on_closed;
    void *arg = d->closed_arg;

    if (d->state != CLOSING || d->nclosing > 0 || d->resolver)
        return;
    cor_timer_cancel(&d->timer);
    cor_h1_free(d->h1);
    cor_tls_unref(d->opts.tls);
    cor_free(d);
    if (on_closed)
        on_closed(arg);
}

static void on_stream_closed(void *arg)
{
    struct cor_dial *d = arg;

    d->nclosing--;
    finish_close(d);
}

static void close_stream(struct cor_dial *d)
{
    d->nclosing++;
    cor_stream_close(d->stream, on_stream_closed, d);
    d->stream = NULL;
}

static void fail(struct cor_dial *d, int r, const char *text)
{
    if (d->state >= DONE)
        return;
    d->state = DONE;
    cor_timer_set(&d->timer, FAR_MS);
    if (d->stream)
        close_stream(d);
    d->opts.on_done(r, text, NULL, d->opts.arg);
}

static void succeed(struct cor_dial *d)
{
    struct cor_stream *s = COR_STEAL(d->stream);

    d->state = DONE;
    cor_timer_set(&d->timer, FAR_MS);
    d->opts.on_done(0, "", s, d->opts.arg);
}

static const char *server_name(const struct cor_dial *d)
{
    return d->opts.server_name ? d->opts.server_name : d->opts.host;
}

static int on_proxy_head(const struct cor_h1_head *head, void *arg)
{
    struct cor_dial *d = arg;

    d->proxy_status = head->status;
    return 0;
}

static int on_proxy_body(struct cor_str piece, void *arg)
{
    return 0;
}

static int on_proxy_end(void *arg)
{
    return 0;
}

static const struct cor_h1_limits h1_limits = {.head_max = COR_H1_HEAD_MAX,
                                               .headers_max = COR_H1_HEADERS_MAX};
static const struct cor_h1_cbs h1_cbs = {on_proxy_head, on_proxy_body, on_proxy_end};

static int ask_for_tunnel(struct cor_dial *d)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf head;
    struct cor_str bytes;
    int r;

    cor_buf_init_secret(&head, OUT_MAX);
    d->h1 = cor_h1_new(COR_H1_CLIENT, &h1_limits, &h1_cbs, d);
    if (!d->h1)
        return -COR_ENOMEM;
    cor_h1_next(d->h1, true); /* An answer to CONNECT has no body either. */
    r = cor_proxy_write_connect(d->opts.proxy, d->opts.host, d->opts.port, &head);
    if (r < 0)
        return r;
    bytes = cor_buf_str(&head);
    d->state = TUNNELLING;
    return cor_stream_write(d->stream, &bytes, 1);
}

static void on_stream_open(struct cor_stream *s, void *arg)
{
    struct cor_dial *d = arg;
    int r;

    if (!d->opts.proxy || d->state == SECURING) {
        succeed(d);
        return;
    }
    r = ask_for_tunnel(d);
    if (r < 0)
        fail(d, r, cor_err_text(r));
}

static void take_tunnel(struct cor_dial *d)
{
    char text[100];
    int r;

    if (d->proxy_status != 200) {
        snprintf(text, sizeof(text), "the proxy answered %d %s", d->proxy_status,
                 cor_h1_status_text(d->proxy_status));
        fail(d, -COR_EUNREACHABLE, text);
        return;
    }
    if (!d->opts.tls) {
        succeed(d);
        return;
    }
    d->state = SECURING;
    r = cor_stream_start_tls(d->stream, d->opts.tls, server_name(d), d->opts.is_h1_only);
    if (r < 0)
        fail(d, r, cor_err_text(r));
}

static void on_stream_data(struct cor_stream *s, struct cor_str bytes, void *arg)
{
    struct cor_dial *d = arg;
    size_t used = 0;
    int r = d->state == TUNNELLING ? cor_h1_feed(d->h1, bytes, &used) : -COR_EINVAL;

    if (r < 0 || (cor_h1_is_done(d->h1) && d->proxy_status == 200 && used < bytes.n))
        fail(d, r == -COR_ENOMEM ? r : -COR_EPROTOCOL, "what the proxy answers is no HTTP");
    else if (cor_h1_is_done(d->h1))
        take_tunnel(d);
}

static void on_stream_writable(struct cor_stream *s, void *arg)
{
}

static void say_failure(const struct cor_dial *d, int why, char *out, size_t n)
{
    const char *error = cor_stream_error(d->stream);
    const char *what = why == -COR_ETLS ? "the TLS handshake failed" : "no connection";

    if (why == -COR_EUNREACHABLE && error)
        snprintf(out, n, "%s", error);
    else if (error)
        snprintf(out, n, "%s: %s", what, error);
    else
        snprintf(out, n, "%s", why == -COR_ETLS ? what : "the connection broke");
}

static void connect_next(struct cor_dial *d);

static void on_stream_end(struct cor_stream *s, int why, void *arg)
{
    struct cor_dial *d = arg;
    char text[160];

    if (d->state == CONNECTING && d->next_address < d->addresses.n) {
        close_stream(d);
        connect_next(d);
        return;
    }
    say_failure(d, why, text, sizeof(text));
    fail(d, why == 0 ? -COR_EIO : why, text);
}

static void on_stream_drained(struct cor_stream *s, void *arg)
{
}

static const struct cor_stream_cbs stream_cbs = {on_stream_open, on_stream_data, on_stream_writable,
                                                 on_stream_end, on_stream_drained};

/* As Go's dialer: what is left, in equal parts for the addresses that are left. */
static void set_share(struct cor_dial *d, size_t naddresses)
{
    uint64_t now = now_ms(d);
    uint64_t left = d->deadline_ms > now ? d->deadline_ms - now : 0;
    uint64_t share = naddresses > 1 ? left / naddresses : left;

    share = share < SHARE_MIN_MS ? SHARE_MIN_MS : share;
    cor_timer_set(&d->timer, share < left ? share : left);
}

static int connect_stream(struct cor_dial *d, const char *address)
{
    const struct cor_dial_opts *o = &d->opts;
    struct cor_stream_opts opts = {.cbs = &stream_cbs,
                                   .arg = d,
                                   .tls = o->tls,
                                   .is_h1_only = o->is_h1_only,
                                   .server_name = server_name(d),
                                   .out_max = OUT_MAX,
                                   .stall_ms = STALL_MS};

    d->state = CONNECTING;
    if (o->unix_path)
        return cor_stream_connect_unix(d->net, o->unix_path, &opts, &d->stream);
    if (!o->proxy)
        return cor_stream_connect(d->net, address, o->port, &opts, &d->stream);
    opts.tls = o->proxy->is_tls ? o->tls : NULL;
    opts.server_name = o->proxy->host;
    opts.is_h1_only = true;
    return cor_stream_connect(d->net, address, o->proxy->port, &opts, &d->stream);
}

static void connect_next(struct cor_dial *d)
{
    int r;

    set_share(d, d->addresses.n - d->next_address);
    r = connect_stream(d, d->addresses.at[d->next_address++]);
    if (r < 0)
        fail(d, r, cor_err_text(r));
}

static void on_resolved(int r, const struct cor_addresses *found, void *arg)
{
    struct cor_dial *d = arg;

    d->resolver = NULL;
    if (d->state == CLOSING) {
        finish_close(d);
        return;
    }
    if (d->state != RESOLVING)
        return;
    if (r < 0) {
        fail(d, r == -COR_ENOMEM ? r : -COR_EUNREACHABLE,
             r == -COR_ENOMEM     ? cor_err_text(r)
             : r == -COR_ETIMEOUT ? "no name server answers"
                                  : "the host name is not known");
        return;
    }
    d->addresses = *found;
    connect_next(d);
}

static void on_timer(struct cor_timer *timer)
{
    struct cor_dial *d = COR_CONTAINER_OF(timer, struct cor_dial, timer);

    cor_timer_set(timer, FAR_MS);
    if (d->state == CLOSING)
        finish_close(d);
    else if (d->r < 0)
        fail(d, d->r,
             d->r == -COR_EUNREACHABLE ? "the host name is not known" : cor_err_text(d->r));
    else if (d->state == CONNECTING && d->next_address < d->addresses.n) {
        close_stream(d);
        connect_next(d);
    } else
        fail(d, -COR_ETIMEOUT, "the connection took too long");
}

/* A target that needs no look-up is dialled at once; failures are reported from the timer. */
static int start(struct cor_dial *d)
{
    struct cor_addresses *found = &d->addresses;
    const char *host = d->opts.proxy ? d->opts.proxy->host : d->opts.host;

    if (d->opts.unix_path)
        return connect_stream(d, NULL);
    if (cor_host_is_numeric(host))
        found->n = (snprintf(found->at[0], sizeof(found->at[0]), "%s", host), 1);
    else if (!d->opts.resolve)
        return cor_resolver_open(d->net, host, on_resolved, d, &d->resolver);
    else if (d->opts.resolve(d->opts.resolve_arg, host, found) < 0 || found->n == 0)
        d->r = -COR_EUNREACHABLE;
    if (d->r == 0) {
        set_share(d, found->n);
        d->r = connect_stream(d, found->at[d->next_address++]);
    }
    if (d->r < 0)
        cor_timer_set(&d->timer, 0);
    return 0;
}

int cor_dial_open(struct cor_net *net, const struct cor_dial_opts *opts, struct cor_dial **ret_dial)
{
    struct cor_dial *d = cor_calloc(1, sizeof(*d));
    int r;

    assert(opts->host || opts->unix_path);
    assert(!opts->proxy || (opts->host && (opts->tls || !opts->proxy->is_tls)));
    if (!d)
        return -COR_ENOMEM;
    d->net = net;
    d->opts = *opts;
    if (opts->tls)
        cor_tls_ref(opts->tls);
    d->deadline_ms = now_ms(d) + opts->timeout_ms;
    cor_timer_init(&d->timer, cor_net_loop(net), on_timer);
    r = cor_timer_set(&d->timer, opts->timeout_ms);
    if (r == 0)
        r = start(d);
    if (r < 0) {
        cor_timer_cancel(&d->timer);
        cor_tls_unref(d->opts.tls);
        cor_free(d);
        return r;
    }
    *ret_dial = d;
    return 0;
}

void cor_dial_close(struct cor_dial *d, void (*on_closed)(void *arg), void *arg)
{
    assert(d->state != CLOSING && cor_loop_is_current(cor_net_loop(d->net)));
    d->state = CLOSING;
    d->on_closed = on_closed;
    d->closed_arg = arg;
    if (d->resolver)
        cor_resolver_cancel(d->resolver);
    if (d->stream)
        close_stream(d);
    if (!d->resolver && d->nclosing == 0)
        cor_timer_set(&d->timer, 0);
}
