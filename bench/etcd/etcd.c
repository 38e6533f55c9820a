/* ./dev bench etcd: Coracle on etcd and, when COR_KUBE_APISERVER names it, kube-apiserver on the
 * same etcd. CPU is the API server's alone. docs/internals/performance.md says how to read it.
 *
 *   bench_etcd CORACLE ETCD DATA_DIR [--short] */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "measure.h"
#include "process.h"
#include "protocols.h"
#include "puts.h"
#include "requests.h"
#include "target.h"
#include "watchers.h"

#define WRITERS   16
#define ROUNDS    7
#define DIR_MAX   1024
#define NS        "bench"
#define LIST_PATH "/api/v1/namespaces/" NS "/configmaps"
/* What must hold. */
#define CREATE_BAR (1.0 / 8)
#define PUT_BAR_US 60
#define H2_BAR     1.3

struct sizes {
    size_t objects, gets, lists, latencies, puts, rounds;
};

static const struct sizes whole = {
    .objects = 5000, .gets = 5000, .lists = 20, .latencies = 500, .puts = 10000, .rounds = ROUNDS};
static const struct sizes brief = {
    .objects = 100, .gets = 100, .lists = 2, .latencies = 10, .puts = 100, .rounds = 1};

struct figures {
    double create_us, create_rate, create_p50_ms;
    double get_us, get_p50_ms;
    double list_ms, list_wall_ms;
    double watch_p50_ms, watch_p99_ms;
};

struct side {
    const struct target *target;
    struct figures *figures;
};

static struct requests_result run(const struct target *t, size_t conns, size_t n,
                                  void (*write)(struct cor_buf *out, size_t i, void *arg),
                                  void *arg)
{
    const struct requests r = {.target = t, .conns = conns, .n = n, .write = write, .arg = arg};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return result;
}

static void latency(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    struct client *client = client_open();
    struct request_object o = {.ns = "default", .prefix = "latency"};
    struct requests r = {
        .target = t, .n = sizes->latencies, .write = request_write_create, .arg = &o};
    struct watchers *w = watchers_open(client, t, "default", 1);
    struct fanout result = fanout_step(w, &r);

    f->watch_p50_ms = result.p50_ms;
    f->watch_p99_ms = result.p99_ms;
    watchers_close(w);
    client_close(client);
}

static struct requests_result create(const struct sizes *sizes, const struct target *t,
                                     const char *ns)
{
    struct request_object o = {.ns = ns, .prefix = "o"};

    (void)run(t, 1, 1, request_write_namespace, &o);
    return run(t, WRITERS, sizes->objects, request_write_create, &o);
}

static struct figures measure(const struct sizes *sizes, const struct target *t)
{
    struct request_path one = {LIST_PATH "/o-1"}, all = {LIST_PATH};
    struct figures f = {0};
    struct requests_result r;

    latency(sizes, t, &f);
    (void)create(sizes, t, NS);
    r = run(t, WRITERS, sizes->gets, request_write_get, &one);
    f.get_us = r.cpu_us;
    f.get_p50_ms = r.p50_ms;
    r = run(t, 1, sizes->lists, request_write_get, &all);
    f.list_ms = r.cpu_us / 1e3;
    f.list_wall_ms = r.p50_ms;
    return f;
}

static void take_creates(struct figures *f, const struct requests_result *results, size_t n)
{
    uint64_t cpu[ROUNDS], rate[ROUNDS], p50[ROUNDS];

    for (size_t i = 0; i < n; i++) {
        cpu[i] = (uint64_t)(results[i].cpu_us * 1e3);
        rate[i] = (uint64_t)results[i].per_second;
        p50[i] = (uint64_t)(results[i].p50_ms * 1e3);
    }
    f->create_us = (double)measure_percentile(cpu, n, 50) / 1e3;
    f->create_rate = (double)measure_percentile(rate, n, 50);
    f->create_p50_ms = (double)measure_percentile(p50, n, 50) / 1e3;
}

/* In turns, so that what else the machine does falls on both; the medians count. */
static void compare_creates(const struct sizes *sizes, const struct side *sides, size_t n)
{
    struct requests_result results[2][ROUNDS];

    for (size_t i = 0; i < sizes->rounds; i++) {
        char ns[32];

        snprintf(ns, sizeof(ns), NS "-%zu", i);
        for (size_t j = 0; j < n; j++)
            results[j][i] = create(sizes, sides[j].target, ns);
    }
    for (size_t j = 0; j < n; j++)
        take_creates(sides[j].figures, results[j], sizes->rounds);
}

static void print_row(const char *what, double coracle, double kube)
{
    if (isnan(kube))
        printf("%-44s %10.2f %10s\n", what, coracle, "-");
    else
        printf("%-44s %10.2f %10.2f   %5.2fx\n", what, coracle, kube, coracle / kube);
}

static void print(const struct sizes *sizes, const struct figures *c, const struct figures *k)
{
    char list[64];

    snprintf(list, sizeof(list), "consistent LIST of %zu, server CPU ms", sizes->objects);
    printf("%-44s %10s %10s\n", "on one etcd, 16 connections, 1 KB", "coracle", "kube");
    print_row("creates/s", c->create_rate, k->create_rate);
    print_row("create, server CPU us", c->create_us, k->create_us);
    print_row("create, p50 ms", c->create_p50_ms, k->create_p50_ms);
    print_row("consistent GET, server CPU us", c->get_us, k->get_us);
    print_row("consistent GET, p50 ms", c->get_p50_ms, k->get_p50_ms);
    print_row(list, c->list_ms, k->list_ms);
    print_row("the same, p50 ms", c->list_wall_ms, k->list_wall_ms);
    print_row("write to watcher, p50 ms", c->watch_p50_ms, k->watch_p50_ms);
    print_row("write to watcher, p99 ms", c->watch_p99_ms, k->watch_p99_ms);
}

/* Beside kube-apiserver, if there is one. */
static void measure_both(const struct sizes *sizes, const char *dir, const char *url,
                         const struct target *coracle, struct figures *c, struct figures *k)
{
    const struct target_program program = {.program = process_named("COR_KUBE_APISERVER"),
                                           .etcd_url = url};
    char own[DIR_MAX];
    struct target kube;
    const struct side sides[] = {{coracle, c}, {&kube, k}};

    *c = measure(sizes, coracle);
    *k = (struct figures){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    if (!program.program) {
        fprintf(stderr, "bench: kube-apiserver: skipped; name it by COR_KUBE_APISERVER\n");
        compare_creates(sizes, sides, 1);
        return;
    }
    snprintf(own, sizeof(own), "%s/kube", dir);
    target_start_kube(&program, own, &kube);
    *k = measure(sizes, &kube);
    compare_creates(sizes, sides, 2);
    target_stop(&kube);
}

/* True when it was missed; `short` runs judge nothing. */
static bool judge(bool is_short, const char *what, double value, double bar)
{
    bool missed = !is_short && value > bar;

    printf("%-44s %10.2f   bar %.3g%s\n", what, value, bar, missed ? "   MISSED" : "");
    return missed;
}

static bool print_bars(bool is_short, const struct figures *c, const struct figures *k,
                       const struct protocols *p, double put_us, double bare_us)
{
    bool missed;

    printf("%-44s %10.2f\n", "GET from the cache, HTTP/1.1, server CPU us", p->h1);
    printf("%-44s %10.2f\n", "  HTTP/2, a connection each", p->h2);
    printf("%-44s %10.2f\n", "  HTTP/2, streams of one connection", p->h2_streams);
    printf("%-44s %10.2f\n\n", "a Put's bytes by a bare loop, client CPU us", bare_us);
    missed = judge(is_short, "Put by the engine, client CPU us", put_us, PUT_BAR_US);
    missed |=
        judge(is_short, "HTTP/2 GET to HTTP/1.1 GET, a connection each", p->h2 / p->h1, H2_BAR);
    missed |= judge(is_short, "  streams of one connection", p->h2_streams / p->h1, H2_BAR);
    if (!isnan(k->create_us))
        missed |= judge(is_short, "CPU per create to kube-apiserver's", c->create_us / k->create_us,
                        CREATE_BAR);
    return missed;
}

int main(int argc, char **argv)
{
    bool is_short = argc > 4 && strcmp(argv[4], "--short") == 0;
    const struct sizes *sizes = is_short ? &brief : &whole;
    struct target_program coracle;
    struct protocols protocols;
    struct figures c, k;
    struct target etcd, t;
    char url[64], dir[DIR_MAX];
    double put_us, bare_us;

    if (argc < 4)
        die("usage: bench_etcd CORACLE ETCD DATA_DIR [--short]");
    target_start_etcd(argv[2], argv[3], url, sizeof(url), &etcd);
    put_us = puts_engine_us(url, sizes->puts, WRITERS);
    bare_us = puts_bare_us(sizes->puts);
    coracle = (struct target_program){.program = argv[1], .etcd_url = url};
    snprintf(dir, sizeof(dir), "%s/coracle", argv[3]);
    target_start_coracle(&coracle, dir, &t);
    measure_both(sizes, argv[3], url, &t, &c, &k);
    protocols = protocols_measure(&t, LIST_PATH "/o-1?resourceVersion=0", sizes->gets, WRITERS);
    target_stop(&t);
    target_stop(&etcd);
    print(sizes, &c, &k);
    return print_bars(is_short, &c, &k, &protocols, put_us, bare_us);
}
