#include "versus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "measure.h"
#include "process.h"
#include "requests.h"

struct versus versus_read(int argc, char **argv)
{
    struct versus v = {0};

    for (int i = 3; i < argc; i++) {
        v.is_short |= strcmp(argv[i], "--short") == 0;
        v.is_strict |= strcmp(argv[i], "--strict") == 0;
    }
    if (argc < 3 || argc > 3 + v.is_short + v.is_strict) {
        fprintf(stderr, "usage: %s CORACLE DATA_DIR [--short] [--strict]\n", argv[0]);
        exit(2);
    }
    v.program = argv[1];
    v.dir = argv[2];
    return v;
}

int versus_status(const struct versus *v)
{
    return v->missed && v->is_strict ? 1 : 0;
}

void versus_say(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
}

double versus_run(const struct target *t, size_t conns, size_t n, versus_write_cb write, void *arg)
{
    const struct requests r = {.target = t, .conns = conns, .n = n, .write = write, .arg = arg};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return result.cpu_us;
}

double versus_write(const struct target *t, size_t n, versus_write_cb write, void *arg)
{
    return versus_run(t, n < VERSUS_WRITERS ? n : VERSUS_WRITERS, n, write, arg);
}

void versus_make_namespace(const struct target *t, const char *ns)
{
    struct request_object o = {.ns = ns};

    (void)versus_run(t, 1, 1, request_write_namespace, &o);
}

void versus_save(const struct target *t, versus_write_cb write, void *arg, struct cor_buf *body)
{
    const struct requests r = {
        .target = t, .conns = 1, .n = 1, .write = write, .arg = arg, .save = body};
    struct client *client = client_open();

    (void)requests_run(client, &r);
    client_close(client);
}

double versus_median(const double *v, size_t n)
{
    uint64_t ns[VERSUS_ROUNDS_MAX];

    if (n > VERSUS_ROUNDS_MAX)
        die("a median of %zu values", n);
    for (size_t i = 0; i < n; i++)
        ns[i] = (uint64_t)(v[i] * 1e3);
    return (double)measure_percentile(ns, n, 50) / 1e3;
}

void versus_start_coracle(const struct versus *v, struct target *ret)
{
    const struct target_program program = {.program = v->program};
    char own[VERSUS_DIR_MAX];

    snprintf(own, sizeof(own), "%s/coracle", v->dir);
    target_start_coracle(&program, own, ret);
}

bool versus_start_kube(const struct versus *v, struct target *ret)
{
    const struct target_program program = {.program = process_named("COR_KUBE_APISERVER"),
                                           .helper = process_named("COR_ETCD")};
    char own[VERSUS_DIR_MAX];

    if (!program.program || !program.helper) {
        versus_say("kube-apiserver: skipped; name it and etcd by COR_KUBE_APISERVER and COR_ETCD");
        return false;
    }
    versus_say("kube-apiserver");
    snprintf(own, sizeof(own), "%s/kube", v->dir);
    target_start_kube(&program, own, ret);
    return true;
}

void versus_print_head(const char *what)
{
    printf("%-54s %10s %10s %12s %6s\n", what, "coracle", "peer", "", "ratio");
}

void versus_print(struct versus *v, const char *what, double value, double peer,
                  const char *peer_name, double bar)
{
    bool missed = !v->is_short && !isnan(value) && !isnan(peer) && value / peer > bar;

    v->missed |= missed;
    printf("%-54s", what);
    if (isnan(value)) {
        printf(" is not there yet\n");
        return;
    }
    printf(" %10.2f", value);
    if (isnan(peer))
        printf(" %10s %-12s", "-", peer_name);
    else
        printf(" %10.2f %-12s %6.3f", peer, peer_name, value / peer);
    if (!isnan(bar))
        printf("  <= %.3g%s", bar, missed ? "  MISSED" : isnan(peer) || v->is_short ? "" : "  ok");
    putchar('\n');
}
