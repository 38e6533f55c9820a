#include "watchers.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client.h"
#include "measure.h"
#include "process.h"
#include "requests.h"
#include "target.h"

#define REQUEST_MAX 8192
#define OPENING_MAX 16
#define OPEN_MS     120000
#define DELIVERY_MS 120000
#define PATH_MAX_   128
#define FRAME_HEAD  4 /* its length, the highest byte first */

struct watcher {
    struct watchers *all;
    struct conn *conn;
    uint64_t events;
    bool is_lost;
    /* The protobuf frame that is being received: bytes of its head so far, the length that they
     * tell, and bytes of its content that are still to come. */
    unsigned head_n;
    uint32_t head, left;
};

struct watchers {
    struct client *client;
    const struct target *target;
    char request[512];
    bool is_protobuf;
    size_t n, begun, opened;
    size_t done, lost;      /* those that have `each`; those that the server ended */
    uint64_t each;          /* events that every watcher shall have */
    uint64_t events, bytes; /* of all */
    uint64_t last_ns;       /* when the last event came */
    struct watcher v[];
};

static void open_next(struct watchers *w);

static void on_head(int status, void *arg)
{
    struct watchers *w = ((struct watcher *)arg)->all;

    if (status != 200)
        die("a watch was answered with %d", status);
    w->opened++;
    open_next(w);
}

static size_t count_lines(struct cor_str s)
{
    size_t n = 0;

    for (const char *p = s.p, *end = p + s.n; p < end; p++, n++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p)
            break;
    }
    return n;
}

/* Frames that end in `s`. */
static size_t count_frames(struct watcher *watcher, struct cor_str s)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n;) {
        uint32_t take = (uint32_t)(s.n - i < watcher->left ? s.n - i : watcher->left);

        if (watcher->left == 0) {
            watcher->head = watcher->head << 8 | (unsigned char)s.p[i++];
            watcher->head_n++;
            if (watcher->head_n == FRAME_HEAD) {
                watcher->left = watcher->head;
                watcher->head_n = 0;
            }
            continue;
        }
        i += take;
        watcher->left -= take;
        n += watcher->left == 0;
    }
    return n;
}

static void on_body(struct cor_str piece, void *arg)
{
    struct watcher *watcher = arg;
    struct watchers *w = watcher->all;
    size_t n = w->is_protobuf ? count_frames(watcher, piece) : count_lines(piece);

    w->done += watcher->events < w->each && watcher->events + n >= w->each;
    watcher->events += n;
    w->events += n;
    w->bytes += piece.n;
    w->last_ns = measure_now_ns();
}

/* kube-apiserver ends watches that are slow. */
static void on_lost(int why, void *arg)
{
    struct watcher *watcher = arg;
    struct watchers *w = watcher->all;

    if (w->opened < w->n)
        die("a watch was ended before all were open");
    w->done -= watcher->events >= w->each;
    w->lost++;
    watcher->is_lost = true;
}

static void open_next(struct watchers *w)
{
    static const struct conn_cbs cbs = {.on_head = on_head, .on_body = on_body, .on_lost = on_lost};
    struct watcher *watcher = &w->v[w->begun];

    if (w->begun == w->n)
        return;
    w->begun++;
    watcher->all = w;
    watcher->conn = conn_open(w->client, w->target->port, w->target->is_plain, &cbs, watcher);
    conn_send(watcher->conn, cor_strz(w->request));
}

static bool all_open(void *arg)
{
    const struct watchers *w = arg;

    return w->opened == w->n;
}

struct watchers *watchers_open_at(struct client *client, const struct target *target,
                                  const char *path, bool is_protobuf, size_t n)
{
    struct watchers *w = cor_calloc(1, sizeof(*w) + n * sizeof(struct watcher));

    if (!w)
        die("out of memory");
    w->client = client;
    w->target = target;
    w->is_protobuf = is_protobuf;
    w->n = n;
    snprintf(w->request, sizeof(w->request),
             "GET %s?watch=1 HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\n"
             "Authorization: Bearer " TARGET_TOKEN "\r\n\r\n",
             path,
             is_protobuf ? "application/vnd.kubernetes.protobuf;stream=watch" : "application/json");
    for (size_t i = 0; i < OPENING_MAX; i++)
        open_next(w);
    if (!client_run(client, all_open, w, OPEN_MS))
        die("only %zu of %zu watches are open", w->opened, n);
    return w;
}

struct watchers *watchers_open(struct client *client, const struct target *target, const char *ns,
                               size_t n)
{
    char path[PATH_MAX_];

    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps", ns);
    return watchers_open_at(client, target, path, false, n);
}

void watchers_close(struct watchers *w)
{
    if (w->lost > 0)
        fprintf(stderr, "bench: the server ended %zu of %zu watches\n", w->lost, w->n);
    for (size_t i = 0; i < w->n; i++)
        conn_close(w->v[i].conn);
    cor_free(w);
}

static bool all_delivered(void *arg)
{
    const struct watchers *w = arg;

    return w->done + w->lost >= w->n;
}

static void expect_more(struct watchers *w, uint64_t n)
{
    w->each += n;
    w->done = 0;
    for (size_t i = 0; i < w->n; i++)
        w->done += !w->v[i].is_lost && w->v[i].events >= w->each;
}

static void await_deliveries(struct watchers *w, bool (*done)(void *arg), void *arg)
{
    if (!client_run(w->client, done, arg, DELIVERY_MS))
        die("only %zu of %zu watches have their %llu events", w->done, w->n,
            (unsigned long long)w->each);
}

/* What all watchers have got so far. */
struct before {
    uint64_t cpu_ns, events, bytes;
};

static struct before look(const struct watchers *w)
{
    return (struct before){target_cpu_ns(w->target), w->events, w->bytes};
}

static struct fanout summary(const struct watchers *w, const struct before *b)
{
    double deliveries = (double)(w->events - b->events);

    return (struct fanout){.cpu_us =
                               (double)(target_cpu_ns(w->target) - b->cpu_ns) / 1e3 / deliveries,
                           .event_bytes = (double)(w->bytes - b->bytes) / deliveries};
}

struct fanout fanout_burst(struct watchers *w, const struct requests *writes)
{
    struct before before = look(w);

    expect_more(w, writes->n);
    (void)requests_run(w->client, writes);
    await_deliveries(w, all_delivered, w);
    return summary(w, &before);
}

/* The writer of fanout_step. */
struct writer {
    struct watchers *watchers;
    struct conn *conn;
    bool is_open, is_answered;
};

static void on_writer_open(void *arg)
{
    ((struct writer *)arg)->is_open = true;
}

static void on_writer_response(int status, void *arg)
{
    if (status < 200 || status > 299)
        die("a write was answered with %d", status);
    ((struct writer *)arg)->is_answered = true;
}

static bool writer_is_open(void *arg)
{
    return ((struct writer *)arg)->is_open;
}

static bool step_is_done(void *arg)
{
    const struct writer *writer = arg;

    return writer->is_answered && all_delivered(writer->watchers);
}

static uint64_t step(struct writer *writer, struct cor_str request)
{
    struct watchers *w = writer->watchers;
    uint64_t sent_ns = measure_now_ns();

    writer->is_answered = false;
    expect_more(w, 1);
    conn_send(writer->conn, request);
    await_deliveries(w, step_is_done, writer);
    return w->last_ns - sent_ns;
}

struct fanout fanout_step(struct watchers *w, const struct requests *writes)
{
    static const struct conn_cbs cbs = {.on_open = on_writer_open,
                                        .on_response = on_writer_response};
    struct writer writer = {.watchers = w};
    uint64_t *latency_ns = cor_calloc(writes->n, sizeof(*latency_ns));
    struct before before;
    struct fanout result;
    struct cor_buf text;

    if (!latency_ns)
        die("out of memory");
    cor_buf_init(&text, REQUEST_MAX);
    writer.conn = conn_open(w->client, w->target->port, w->target->is_plain, &cbs, &writer);
    if (!client_run(w->client, writer_is_open, &writer, OPEN_MS))
        die("connections do not open");
    before = look(w);
    for (size_t i = 0; i < writes->n; i++) {
        cor_buf_reset(&text);
        writes->write(&text, i, writes->arg);
        latency_ns[i] = step(&writer, cor_buf_str(&text));
    }
    result = summary(w, &before);
    result.p50_ms = (double)measure_percentile(latency_ns, writes->n, 50) / 1e6;
    result.p99_ms = (double)measure_percentile(latency_ns, writes->n, 99) / 1e6;
    conn_close(writer.conn);
    cor_buf_deinit(&text);
    cor_free(latency_ns);
    return result;
}
