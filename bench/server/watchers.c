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
#define WATCH_FORMAT                                                                               \
    "GET /api/v1/namespaces/%s/configmaps?watch=1 HTTP/1.1\r\nHost: localhost\r\n"                 \
    "Accept: application/json\r\nAuthorization: Bearer " TARGET_TOKEN "\r\n\r\n"

struct watchers {
    struct client *client;
    const struct target *target;
    char request[512];
    size_t n, begun, opened;
    uint64_t events, goal, bytes;
    uint64_t last_ns; /* when the last event came */
    struct conn *conns[];
};

static void open_next(struct watchers *w);

static void on_head(int status, void *arg)
{
    struct watchers *w = arg;

    if (status != 200)
        die("a watch was answered with %d", status);
    w->opened++;
    open_next(w);
}

static void on_body(struct cor_str piece, void *arg)
{
    struct watchers *w = arg;

    w->bytes += piece.n;
    for (const char *p = piece.p, *end = p + piece.n; p && p < end; w->events += p != NULL) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (p)
            p++;
    }
    w->last_ns = measure_now_ns();
}

static void open_next(struct watchers *w)
{
    static const struct conn_cbs cbs = {.on_head = on_head, .on_body = on_body};
    struct conn *conn;

    if (w->begun == w->n)
        return;
    conn = conn_open(w->client, w->target->port, w->target->is_plain, &cbs, w);
    conn_send(conn, cor_strz(w->request));
    w->conns[w->begun++] = conn;
}

static bool all_open(void *arg)
{
    const struct watchers *w = arg;

    return w->opened == w->n;
}

struct watchers *watchers_open(struct client *client, const struct target *target, const char *ns,
                               size_t n)
{
    struct watchers *w = cor_calloc(1, sizeof(*w) + n * sizeof(struct conn *));

    if (!w)
        die("out of memory");
    w->client = client;
    w->target = target;
    w->n = n;
    snprintf(w->request, sizeof(w->request), WATCH_FORMAT, ns);
    for (size_t i = 0; i < OPENING_MAX; i++)
        open_next(w);
    if (!client_run(client, all_open, w, OPEN_MS))
        die("watches do not open: %zu of %zu", w->opened, n);
    return w;
}

void watchers_close(struct watchers *w)
{
    for (size_t i = 0; i < w->n; i++)
        conn_close(w->conns[i]);
    cor_free(w);
}

static bool all_delivered(void *arg)
{
    const struct watchers *w = arg;

    return w->events >= w->goal;
}

static void await_deliveries(struct watchers *w, uint64_t goal)
{
    w->goal = goal;
    if (!client_run(w->client, all_delivered, w, DELIVERY_MS))
        die("only %llu of %llu events were delivered", (unsigned long long)w->events,
            (unsigned long long)goal);
}

static struct fanout summary(const struct watchers *w, uint64_t cpu_ns, uint64_t deliveries,
                             uint64_t bytes)
{
    return (struct fanout){.cpu_us = (double)cpu_ns / 1e3 / (double)deliveries,
                           .event_bytes = (double)(w->bytes - bytes) / (double)deliveries};
}

struct fanout fanout_burst(struct watchers *w, const struct requests *writes)
{
    uint64_t cpu = target_cpu_ns(w->target), bytes = w->bytes, deliveries = w->n * writes->n;
    uint64_t goal = w->events + deliveries;

    (void)requests_run(w->client, writes);
    await_deliveries(w, goal);
    return summary(w, target_cpu_ns(w->target) - cpu, deliveries, bytes);
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
    w->goal = w->events + w->n;
    conn_send(writer->conn, request);
    if (!client_run(w->client, step_is_done, writer, DELIVERY_MS))
        die("only %llu of %llu events were delivered", (unsigned long long)w->events,
            (unsigned long long)w->goal);
    return w->last_ns - sent_ns;
}

struct fanout fanout_step(struct watchers *w, const struct requests *writes)
{
    static const struct conn_cbs cbs = {.on_open = on_writer_open,
                                        .on_response = on_writer_response};
    struct writer writer = {.watchers = w};
    uint64_t *latency_ns = cor_calloc(writes->n, sizeof(*latency_ns));
    uint64_t cpu, bytes = w->bytes;
    struct fanout result;
    struct cor_buf text;

    if (!latency_ns)
        die("out of memory");
    cor_buf_init(&text, REQUEST_MAX);
    writer.conn = conn_open(w->client, w->target->port, w->target->is_plain, &cbs, &writer);
    if (!client_run(w->client, writer_is_open, &writer, OPEN_MS))
        die("connections do not open");
    cpu = target_cpu_ns(w->target);
    for (size_t i = 0; i < writes->n; i++) {
        cor_buf_reset(&text);
        writes->write(&text, i, writes->arg);
        latency_ns[i] = step(&writer, cor_buf_str(&text));
    }
    result = summary(w, target_cpu_ns(w->target) - cpu, w->n * writes->n, bytes);
    result.p50_ms = (double)measure_percentile(latency_ns, writes->n, 50) / 1e6;
    result.p99_ms = (double)measure_percentile(latency_ns, writes->n, 99) / 1e6;
    conn_close(writer.conn);
    cor_buf_deinit(&text);
    cor_free(latency_ns);
    return result;
}
