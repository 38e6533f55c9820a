/* ./dev bench apply: what server-side apply and managedFields cost. Deployments with forty fields
 * are applied, and replaced by PUT, in the same run; kube-apiserver and etcd do the same when they
 * are named in the environment. docs/internals/performance.md says how to read it.
 *
 *   bench_apply CORACLE DATA_DIR [--short] [--strict]
 *
 * The flow: Deployments are created by a POST and others by an apply; all get a status from a
 * second manager. Rounds follow of a PUT of the first, an apply with a change and an apply without
 * one of the others. Coracle is then started again: what it holds beyond an empty server is the
 * memory of the Deployments. A failure ends the program with words (process.h). Thread: one. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "deployments.h"
#include "measure.h"
#include "process.h"
#include "requests.h"
#include "target.h"
#include "json/scan.h"

#define WRITERS    16
#define ROUNDS_MAX 5
#define DIR_MAX    1024
#define BODY_MAX   (1u << 20)
#define NS         "applied"
#define PUT_NS     "replaced"
/* What must hold. */
#define KUBE_BAR   (1.0 / 8)
#define PUT_BAR    4.0
#define MEMORY_BAR 2.2 /* bytes of memory for each byte of payload */

/* `rounds`: how often each write is measured, with another change; the median counts. */
struct sizes {
    size_t objects, rounds;
};

static const struct sizes whole = {.objects = 5000, .rounds = 3};
/* For kube-apiserver, which takes longer. */
static const struct sizes slow = {.objects = 1000, .rounds = 1};
static const struct sizes brief = {.objects = 50, .rounds = 1};

/* Server CPU of a request in us, and bytes; NAN: not measured. */
struct figures {
    double create_us, put_us, apply_create_us, apply_us, apply_same_us, status_us;
    double payload_bytes, memory_bytes; /* of an object with two managers */
};

static const struct figures none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

static void say(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
}

static double median(const double *v, size_t n)
{
    uint64_t ns[ROUNDS_MAX];

    for (size_t i = 0; i < n; i++)
        ns[i] = (uint64_t)(v[i] * 1e3);
    return (double)measure_percentile(ns, n, 50) / 1e3;
}

typedef void (*write_cb)(struct cor_buf *out, size_t i, void *arg);

/* Server CPU of one request in us. */
static double run(const struct target *t, size_t n, write_cb write, void *arg)
{
    const struct requests r = {
        .target = t, .conns = n < WRITERS ? n : WRITERS, .n = n, .write = write, .arg = arg};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return result.cpu_us;
}

static void make_namespace(const struct target *t, const char *ns)
{
    struct request_object o = {.ns = ns};

    (void)run(t, 1, request_write_namespace, &o);
}

/* Each round changes one field of every object, in turns, so that what else the machine does falls
 * on both. */
static void writes(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    double put_us[ROUNDS_MAX], apply_us[ROUNDS_MAX], same_us[ROUNDS_MAX];
    struct deployments replaced = {.ns = PUT_NS}, applied = {.ns = NS};

    make_namespace(t, PUT_NS);
    make_namespace(t, NS);
    f->create_us = run(t, sizes->objects, deployments_write_create, &replaced);
    f->apply_create_us = run(t, sizes->objects, deployments_write_apply, &applied);
    f->status_us = run(t, sizes->objects, deployments_write_status, &applied);
    (void)run(t, sizes->objects, deployments_write_status, &replaced);
    for (size_t i = 0; i < sizes->rounds; i++) {
        replaced.turn = applied.turn = i + 1;
        put_us[i] = run(t, sizes->objects, deployments_write_update, &replaced);
        apply_us[i] = run(t, sizes->objects, deployments_write_apply, &applied);
        same_us[i] = run(t, sizes->objects, deployments_write_apply, &applied);
    }
    f->put_us = median(put_us, sizes->rounds);
    f->apply_us = median(apply_us, sizes->rounds);
    f->apply_same_us = median(same_us, sizes->rounds);
}

/* The bytes of an object of a namespace without its managedFields. */
static double payload(const struct target *t, const char *ns)
{
    struct deployments d = {.ns = ns};
    struct cor_buf body;
    const struct requests r = {
        .target = t, .conns = 1, .n = 1, .write = deployments_write_get, .arg = &d, .save = &body};
    struct client *client = client_open();
    struct cor_str metadata, list;
    size_t n;

    cor_buf_init(&body, BODY_MAX);
    (void)requests_run(client, &r);
    client_close(client);
    if (cor_json_get(cor_buf_str(&body), COR_STR("metadata"), COR_JSON_ANY_ORDER, &metadata) < 0 ||
        cor_json_get(metadata, COR_STR("managedFields"), COR_JSON_ANY_ORDER, &list) < 0)
        die("a Deployment has no managedFields");
    n = body.n - list.n - (sizeof("\"managedFields\":,") - 1);
    cor_buf_deinit(&body);
    return (double)n;
}

/* What the objects add to a server that has read its store. */
static void memory(const struct sizes *sizes, const struct target *t, double idle,
                   struct figures *f)
{
    f->memory_bytes = ((double)target_memory(t, "VmRSS") - idle) / (2.0 * (double)sizes->objects);
    f->payload_bytes = (payload(t, NS) + payload(t, PUT_NS)) / 2;
}

static void measure_coracle(const struct sizes *sizes, const char *program_path, const char *dir,
                            struct figures *f)
{
    const struct target_program program = {.program = program_path};
    char own[DIR_MAX];
    struct target t;
    double idle;

    say("coracle");
    *f = none;
    snprintf(own, sizeof(own), "%s/coracle", dir);
    /* A second start: the first one makes certificates, whose memory stays. */
    target_start_coracle(&program, own, &t);
    target_stop(&t);
    target_start_coracle(&program, own, &t);
    idle = (double)target_memory(&t, "VmRSS");
    writes(sizes, &t, f);
    target_stop(&t);
    target_start_coracle(&program, own, &t);
    memory(sizes, &t, idle, f);
    target_stop(&t);
}

static void measure_kube(const struct sizes *sizes, const char *dir, struct figures *f)
{
    const struct target_program program = {.program = process_named("COR_KUBE_APISERVER"),
                                           .helper = process_named("COR_ETCD")};
    char own[DIR_MAX];
    struct target t;

    *f = none;
    if (!program.program || !program.helper) {
        say("kube-apiserver: skipped; name it and etcd by COR_KUBE_APISERVER and COR_ETCD");
        return;
    }
    say("kube-apiserver");
    snprintf(own, sizeof(own), "%s/kube", dir);
    target_start_kube(&program, own, &t);
    writes(sizes, &t, f);
    target_stop(&t);
}

/* `peer` is what `value` is held against; `bar` is the largest ratio, NAN: none. True when it was
 * missed. A short run judges nothing. */
static bool print_row(bool is_short, const char *what, double value, double peer,
                      const char *peer_name, double bar)
{
    bool missed = !is_short && !isnan(peer) && value / peer > bar;

    printf("%-54s %10.2f", what, value);
    if (isnan(peer))
        printf(" %10s %-12s", "-", peer_name);
    else
        printf(" %10.2f %-12s %6.3f", peer, peer_name, value / peer);
    if (!isnan(bar))
        printf("  <= %.3g%s", bar, missed ? "  MISSED" : isnan(peer) || is_short ? "" : "  ok");
    putchar('\n');
    return missed;
}

static bool print(bool is_short, const struct figures *c, const struct figures *k)
{
    bool missed;

    printf("%-54s %10s %10s %12s %6s\n", "server CPU", "coracle", "peer", "", "ratio");
    missed = print_row(is_short, "apply of a Deployment with 40 fields, 16 writers, us",
                       c->apply_us, k->apply_us, "kube", KUBE_BAR);
    missed |= print_row(is_short, "  beside a PUT of the same fields, us", c->apply_us, c->put_us,
                        "PUT", PUT_BAR);
    missed |= print_row(is_short, "apply that changes nothing, us", c->apply_same_us,
                        k->apply_same_us, "kube", KUBE_BAR);
    missed |= print_row(is_short, "apply that creates, us", c->apply_create_us, k->apply_create_us,
                        "kube", KUBE_BAR);
    missed |= print_row(is_short, "POST that creates, us", c->create_us, k->create_us, "kube", NAN);
    missed |= print_row(is_short, "PUT that moves no field, us", c->put_us, k->put_us, "kube", NAN);
    missed |= print_row(is_short, "merge patch of a status by a second manager, us", c->status_us,
                        k->status_us, "kube", NAN);
    missed |= print_row(is_short, "memory of a Deployment, bytes", c->memory_bytes,
                        c->payload_bytes, "payload", MEMORY_BAR);
    return missed;
}

int main(int argc, char **argv)
{
    bool is_short = false, is_strict = false;
    struct figures coracle, kube;

    for (int i = 3; i < argc; i++) {
        is_short |= strcmp(argv[i], "--short") == 0;
        is_strict |= strcmp(argv[i], "--strict") == 0;
    }
    if (argc < 3 || argc > 3 + is_short + is_strict) {
        fprintf(stderr, "usage: bench_apply CORACLE DATA_DIR [--short] [--strict]\n");
        return 2;
    }
    measure_coracle(is_short ? &brief : &whole, argv[1], argv[2], &coracle);
    measure_kube(is_short ? &brief : &slow, argv[2], &kube);
    return print(is_short, &coracle, &kube) && is_strict ? 1 : 0;
}
