#include "requests.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "client.h"
#include "measure.h"
#include "process.h"
#include "target.h"

#define REQUEST_MAX (4u << 20)
#define OBJECT_MAX  8192
#define PAYLOAD     1024
#define PAYLOAD_MAX 4096
#define LABELS      100
#define OPEN_MS     60000
#define RUN_MS      1800000

struct run {
    const struct requests *opts;
    size_t opened, next, answered;
    uint64_t body_bytes;
    uint64_t *latency_ns;
};

struct lane {
    struct run *run;
    struct conn *conn;
    size_t number;
    uint64_t sent_ns;
    struct cor_buf text;
};

static void add(struct cor_buf *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void add(struct cor_buf *out, const char *fmt, ...)
{
    va_list ap;
    int r;

    va_start(ap, fmt);
    r = cor_buf_addv(out, fmt, ap);
    va_end(ap);
    if (r < 0)
        die("a request does not fit");
}

static const char common[] = "Host: localhost\r\nAccept: application/json\r\n"
                             "Authorization: Bearer " TARGET_TOKEN "\r\n";

void request_write_get(struct cor_buf *out, size_t i, void *arg)
{
    add(out, "GET %s HTTP/1.1\r\n%s\r\n", ((struct request_path *)arg)->path, common);
}

static void write_object(struct cor_buf *out, const struct request_object *o, size_t number,
                         bool is_update)
{
    char payload[PAYLOAD_MAX + 1] = "";
    char body[OBJECT_MAX], name[96] = "";
    int n;

    memset(payload, 'x', o->payload ? o->payload : PAYLOAD);
    n = snprintf(body, sizeof(body),
                 "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s-%zu\","
                 "\"labels\":{\"app\":\"a%zu\",\"tier\":\"t%zu\"}},"
                 "\"data\":{\"k\":\"%s\",\"t\":\"%" PRIu64 "\"}}",
                 o->prefix, number, number % LABELS, number % 3, payload, measure_now_ns());
    if (is_update)
        snprintf(name, sizeof(name), "/%s-%zu", o->prefix, number);
    add(out,
        "%s /api/v1/namespaces/%s/configmaps%s HTTP/1.1\r\n%s"
        "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
        is_update ? "PUT" : "POST", o->ns, name, common, n, body);
}

void request_write_create(struct cor_buf *out, size_t i, void *arg)
{
    const struct request_object *o = arg;

    write_object(out, o, o->first + i, false);
}

void request_write_update(struct cor_buf *out, size_t i, void *arg)
{
    const struct request_object *o = arg;

    write_object(out, o, o->first + i, true);
}

void request_write_namespace(struct cor_buf *out, size_t i, void *arg)
{
    const struct request_object *o = arg;
    char body[256];
    int n = snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", o->ns);

    add(out,
        "POST /api/v1/namespaces HTTP/1.1\r\n%sContent-Type: application/json\r\n"
        "Content-Length: %d\r\n\r\n%s",
        common, n, body);
}

static void send_next(struct lane *lane)
{
    struct run *run = lane->run;

    if (run->next == run->opts->n)
        return;
    lane->number = run->next++;
    cor_buf_reset(&lane->text);
    run->opts->write(&lane->text, lane->number, run->opts->arg);
    lane->sent_ns = measure_now_ns();
    conn_send(lane->conn, cor_buf_str(&lane->text));
}

static void on_open(void *arg)
{
    ((struct lane *)arg)->run->opened++;
}

static void on_body(struct cor_str piece, void *arg)
{
    struct run *run = ((struct lane *)arg)->run;

    run->body_bytes += piece.n;
    if (run->opts->save && cor_buf_adds(run->opts->save, piece) < 0)
        die("an answer is too large to keep");
}

static void on_response(int status, void *arg)
{
    struct lane *lane = arg;
    struct run *run = lane->run;

    if (status < 200 || status > 299)
        die("request %zu was answered with %d:\n%s", lane->number, status, cor_buf_z(&lane->text));
    run->latency_ns[lane->number] = measure_now_ns() - lane->sent_ns;
    run->answered++;
    send_next(lane);
}

static bool is_open(void *arg)
{
    const struct run *run = arg;

    return run->opened == run->opts->conns;
}

static bool is_answered(void *arg)
{
    const struct run *run = arg;

    return run->answered == run->opts->n;
}

static void open_lanes(struct client *client, struct run *run, struct lane *lanes)
{
    static const struct conn_cbs cbs = {
        .on_open = on_open, .on_body = on_body, .on_response = on_response};
    const struct target *t = run->opts->target;

    for (size_t i = 0; i < run->opts->conns; i++) {
        lanes[i].run = run;
        cor_buf_init(&lanes[i].text, REQUEST_MAX);
        lanes[i].conn = conn_open(client, t->port, t->is_plain, &cbs, &lanes[i]);
    }
    if (!client_run(client, is_open, run, OPEN_MS))
        die("connections do not open");
}

struct requests_result requests_run(struct client *client, const struct requests *r)
{
    struct run run = {.opts = r, .latency_ns = cor_calloc(r->n, sizeof(uint64_t))};
    struct lane *lanes = cor_calloc(r->conns, sizeof(*lanes));
    struct requests_result result;
    uint64_t began, cpu, ns;

    if (!run.latency_ns || !lanes)
        die("out of memory");
    open_lanes(client, &run, lanes);
    cpu = target_cpu_ns(r->target);
    began = measure_now_ns();
    for (size_t i = 0; i < r->conns; i++)
        send_next(&lanes[i]);
    if (!client_run(client, is_answered, &run, RUN_MS))
        die("requests are not answered");
    ns = measure_now_ns() - began;
    cpu = target_cpu_ns(r->target) - cpu;
    for (size_t i = 0; i < r->conns; i++) {
        conn_close(lanes[i].conn);
        cor_buf_deinit(&lanes[i].text);
    }
    result = (struct requests_result){
        .per_second = (double)r->n * 1e9 / (double)ns,
        .cpu_us = (double)cpu / 1e3 / (double)r->n,
        .p50_ms = (double)measure_percentile(run.latency_ns, r->n, 50) / 1e6,
        .p99_ms = (double)measure_percentile(run.latency_ns, r->n, 99) / 1e6,
        .body_bytes = run.body_bytes,
    };
    cor_free(run.latency_ns);
    cor_free(lanes);
    return result;
}
