#include "protocols.h"

#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "http/http_client.h"
#include "loop/loop.h"
#include "measure.h"
#include "net/stream/net.h"
#include "net/stream/tls.h"
#include "process.h"
#include "target.h"

#define ROUNDS    25
#define LANES_MAX 64
#define MAIL_MAX  1024
#define RUN_MS    600000
#define CLOSE_MS  30000

struct world {
    struct cor_loop *loop;
    struct cor_net *net;
    bool is_net_closed;
};

struct batch;

/* One request after the other. */
struct lane {
    struct batch *batch;
    struct cor_http_client *client;
    int status;
};

struct batch {
    const char *path;
    size_t sent, answered, n;
    size_t nclosed, nclients;
    struct lane lanes[LANES_MAX];
};

static void check(int r, const char *what)
{
    if (r < 0)
        die("%s: %s", what, cor_err_text(r));
}

static void send_next(struct lane *lane);

static int on_head(void *arg, int status, const struct cor_http_header *headers, size_t nheaders)
{
    ((struct lane *)arg)->status = status;
    return 0;
}

static int on_body(void *arg, struct cor_str piece)
{
    return 0;
}

static void on_done(void *arg, int r, const char *text)
{
    struct lane *lane = arg;

    if (r < 0 || lane->status != 200)
        die("GET %s: status %d, %s", lane->batch->path, lane->status, text ? text : "no error");
    lane->batch->answered++;
    send_next(lane);
}

static void send_next(struct lane *lane)
{
    static const struct cor_http_call_cbs cbs = {on_head, on_body, on_done};
    const struct cor_http_header headers[] = {
        {COR_STR("accept"), COR_STR("application/json")},
        {COR_STR("authorization"), COR_STR("Bearer " TARGET_TOKEN)},
    };
    const struct cor_http_call_opts opts = {.method = COR_STR("GET"),
                                            .target = cor_strz(lane->batch->path),
                                            .headers = headers,
                                            .nheaders = COR_ARRAY_LEN(headers),
                                            .cbs = &cbs,
                                            .arg = lane};
    struct cor_http_call *call;

    if (lane->batch->sent == lane->batch->n)
        return;
    lane->batch->sent++;
    check(cor_http_call_open(lane->client, &opts, &call), "call");
}

static bool is_answered(void *arg)
{
    const struct batch *b = arg;

    return b->answered == b->n;
}

/* Also connects: the first requests are not measured. */
static void run(struct world *w, struct batch *b, size_t n, size_t lanes)
{
    b->sent = b->answered = 0;
    b->n = n;
    for (size_t i = 0; i < lanes; i++)
        send_next(&b->lanes[i]);
    if (!cor_loop_run_until(w->loop, is_answered, b, RUN_MS))
        die("requests are not answered");
}

static void on_client_closed(void *arg)
{
    ((struct batch *)arg)->nclosed++;
}

static bool is_closed(void *arg)
{
    const struct batch *b = arg;

    return b->nclosed == b->nclients;
}

static uint64_t round_ns(struct world *w, const struct target *t, struct batch *b, const char *alpn,
                         size_t n, size_t lanes)
{
    const struct cor_tls_opts tls_opts = {
        .role = COR_TLS_CLIENT, .is_insecure = true, .alpn = &alpn, .nalpn = 1};
    struct cor_http_client_opts opts = {.host = "127.0.0.1", .port = t->port};
    uint64_t cpu;

    check(cor_tls_new(&tls_opts, &opts.tls), "TLS");
    b->nclosed = 0;
    for (size_t i = 0; i < lanes; i++) {
        b->lanes[i] = (struct lane){.batch = b, .client = b->lanes[0].client};
        if (i < b->nclients)
            check(cor_http_client_open(w->net, &opts, &b->lanes[i].client), "client");
    }
    cor_tls_unref(opts.tls);
    run(w, b, lanes * 4, lanes);
    cpu = target_cpu_ns(t);
    run(w, b, n, lanes);
    cpu = target_cpu_ns(t) - cpu;
    for (size_t i = 0; i < b->nclients; i++)
        cor_http_client_close(b->lanes[i].client, on_client_closed, b);
    if (!cor_loop_run_until(w->loop, is_closed, b, CLOSE_MS))
        die("connections do not close");
    return cpu / n;
}

static void on_net_closed(void *arg)
{
    ((struct world *)arg)->is_net_closed = true;
}

static bool is_net_closed(void *arg)
{
    return ((struct world *)arg)->is_net_closed;
}

static double median_us(uint64_t *ns)
{
    return (double)measure_percentile(ns, ROUNDS, 50) / 1e3;
}

struct protocols protocols_measure(const struct target *t, const char *path, size_t n, size_t lanes)
{
    uint64_t h1[ROUNDS], h2[ROUNDS], streams[ROUNDS];
    struct batch each = {.path = path, .nclients = lanes}, one = {.path = path, .nclients = 1};
    struct world w = {0};

    if (lanes > LANES_MAX)
        die("at most %d requests at a time", LANES_MAX);
    check(cor_loop_new(MAIL_MAX, &w.loop), "loop");
    check(cor_net_open(w.loop, &w.net), "net");
    for (size_t i = 0; i < ROUNDS; i++) {
        h1[i] = round_ns(&w, t, &each, "http/1.1", n, lanes);
        h2[i] = round_ns(&w, t, &each, "h2", n, lanes);
        streams[i] = round_ns(&w, t, &one, "h2", n, lanes);
    }
    cor_net_close(w.net, on_net_closed, &w);
    (void)cor_loop_run_until(w.loop, is_net_closed, &w, CLOSE_MS);
    cor_loop_free(w.loop);
    return (struct protocols){median_us(h1), median_us(h2), median_us(streams)};
}
