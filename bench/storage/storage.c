/* ./dev bench storage: what the storage layer costs, beside the same rows written by hand with raw
 * SQLite in the same run. docs/internals/performance.md says how to read it.
 *
 *   bench_storage DATA_DIR [--strict] */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/btree.h"
#include "base/mem.h"
#include "base/rand.h"
#include "fault_vfs.h"
#include "load.h"
#include "measure.h"
#include "meta/object/object.h"
#include "raw.h"
#include "subscriber.h"

#define OBJECTS     100000
#define ROUNDS      3
#define ROUND_MS    2000
#define FILL_MS     60000
#define RATE        1000
#define RATE_FOR_S  5
#define WRITERS_TOP 64

static bool missed;

static void row(const char *what, const char *unit, double value, double peer)
{
    measure_row(&(struct measure_row){what, unit, value, peer, NAN, false, false});
}

static void judged_row(struct measure_row r)
{
    missed |= measure_row(&r);
}

static double ms(uint64_t ns)
{
    return (double)ns / 1e6;
}

/* The middle of the rounds, for each figure by itself. */
static double median(const double *v)
{
    double a = v[0], b = v[1], c = v[2];

    return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

static struct load_result middle(const struct load_result *r)
{
    return (struct load_result){
        .writes = r[0].writes + r[1].writes + r[2].writes,
        .per_second = median((double[]){r[0].per_second, r[1].per_second, r[2].per_second}),
        .cpu_us = median((double[]){r[0].cpu_us, r[1].cpu_us, r[2].cpu_us}),
        .p50_ms = median((double[]){r[0].p50_ms, r[1].p50_ms, r[2].p50_ms}),
        .p99_ms = median((double[]){r[0].p99_ms, r[1].p99_ms, r[2].p99_ms}),
        .batch = median((double[]){r[0].batch, r[1].batch, r[2].batch}),
    };
}

static void print_creates(size_t writers, const struct load_result *cor,
                          const struct load_result *raw)
{
    bool top = writers == WRITERS_TOP;
    char what[64];

    snprintf(what, sizeof(what), "durable creates, %zu writers", writers);
    judged_row((struct measure_row){what, "1/s", cor->per_second, raw->per_second,
                                    top ? 20000 : NAN, false, true});
    judged_row((struct measure_row){"  CPU per write", "us", cor->cpu_us, raw->cpu_us,
                                    top ? 2 : NAN, true, false});
    row("  latency p50", "ms", cor->p50_ms, raw->p50_ms);
    row("  latency p99", "ms", cor->p99_ms, raw->p99_ms);
    row("  writes per commit", "", cor->batch, raw->batch);
}

/* Rounds take turns, so that a busy moment of the machine does not hit one side only. The peer
 * commits as many rows at a time as the store just did. */
static void creates(const char *dir, size_t writers)
{
    struct load_result cor[ROUNDS], raw[ROUNDS], cor_mid, raw_mid;
    size_t cor_n = 0, raw_n = 0;
    struct load load;
    struct raw *peer;
    char path[512];

    snprintf(path, sizeof(path), "%s/raw-%zu", dir, writers);
    peer = raw_open(path);
    snprintf(path, sizeof(path), "%s/store-%zu", dir, writers);
    load_open(&load, path);
    for (size_t i = 0; i < ROUNDS; i++) {
        size_t most = OBJECTS / ROUNDS;

        cor[i] = load_create(&load, writers, cor_n, most, ROUND_MS);
        cor_n += cor[i].writes;
        raw[i] = load_create_raw(peer, (size_t)fmax(1, round(cor[i].batch)), raw_n, most, ROUND_MS);
        raw_n += raw[i].writes;
    }
    cor_mid = middle(cor);
    raw_mid = middle(raw);
    print_creates(writers, &cor_mid, &raw_mid);
    if (writers == WRITERS_TOP) {
        load_create(&load, writers, cor_n, OBJECTS - cor_n, FILL_MS);
        load_create_raw(peer, writers, raw_n, OBJECTS - raw_n, FILL_MS);
    }
    load_close(&load);
    raw_close(peer);
}

static void subscriber(const char *dir)
{
    struct subscriber_result r;
    char path[512];

    snprintf(path, sizeof(path), "%s/subscriber", dir);
    r = subscriber_measure(path, RATE, RATE_FOR_S);
    row("commit to subscriber at 1,000/s, p50", "ms", ms(r.p50_ns), NAN);
    judged_row((struct measure_row){"commit to subscriber at 1,000/s, p99", "ms", ms(r.p99_ns), NAN,
                                    1, false, false});
}

static struct cor_str object_key(const void *item)
{
    return cor_object_name(item);
}

static void object_ref(void *item)
{
    cor_object_ref(item);
}

static void object_unref(void *item)
{
    cor_object_unref(item);
}

/* In random order, the way a cache meets its objects over time; a tree that is filled in order is
 * denser. */
static void tree(struct cor_object **items, size_t n)
{
    static const struct cor_btree_type type = {object_key, object_ref, object_unref};
    struct cor_btree *t = cor_btree_new(&type);
    struct cor_rand rand;
    uint64_t before = measure_heap_bytes();

    if (!t)
        load_die("tree", NULL);
    cor_rand_init_seeded(&rand, 1);
    for (size_t i = n; i > 0; i--) {
        size_t j = cor_rand_below(&rand, i);
        struct cor_object *item = items[j];

        items[j] = items[i - 1];
        items[i - 1] = item;
        if (cor_btree_put(t, item, item->fingerprint, NULL) < 0)
            load_die("tree", NULL);
    }
    judged_row((struct measure_row){"tree, 100,000 entries, beside the objects", "bytes/entry",
                                    (double)(measure_heap_bytes() - before) / (double)n, NAN, 120,
                                    false, false});
    cor_btree_free(t);
}

/* Opens the stores that the creates left behind. */
static void read_back(const char *dir)
{
    uint64_t began = measure_now_ns(), opened, cpu, heap, raw_ns, raw_cpu, raw_open_ns, bytes;
    struct cor_object **items;
    struct load load;
    struct raw *raw;
    size_t n, raw_n;
    char path[512];

    snprintf(path, sizeof(path), "%s/raw-%d", dir, WRITERS_TOP);
    raw = raw_open(path);
    raw_open_ns = measure_now_ns() - began;
    raw_cpu = measure_cpu_ns();
    raw_n = raw_read_all(raw, &bytes);
    raw_cpu = measure_cpu_ns() - raw_cpu;
    raw_ns = measure_now_ns() - began;
    raw_close(raw);

    snprintf(path, sizeof(path), "%s/store-%d", dir, WRITERS_TOP);
    began = measure_now_ns();
    load_open(&load, path);
    opened = measure_now_ns() - began;
    heap = measure_heap_bytes();
    cpu = measure_cpu_ns();
    items = load_list(&load, &n);
    cpu = measure_cpu_ns() - cpu;
    row("list of 100,000", "ms", ms(measure_now_ns() - began - opened), ms(raw_ns - raw_open_ns));
    row("  CPU per object", "us", (double)cpu / 1e3 / (double)n,
        (double)raw_cpu / 1e3 / (double)raw_n);
    row("start with 100,000 objects: open", "ms", ms(opened), ms(raw_open_ns));
    row("  open and list", "ms", ms(measure_now_ns() - began), ms(raw_ns));
    heap = measure_heap_bytes() - heap;
    row("memory per listed object (1,024 bytes of JSON)", "bytes", (double)heap / (double)n, NAN);
    if (n != OBJECTS || raw_n != OBJECTS)
        printf("note: %zu and %zu objects: the disk was too slow for %d\n", n, raw_n, OBJECTS);
    tree(items, n);
    load_list_free(items, n);
    load_close(&load);
}

int main(int argc, char **argv)
{
    bool strict = argc == 3 && strcmp(argv[2], "--strict") == 0;

    if (argc < 2 || argc > 3 || (argc == 3 && !strict)) {
        fprintf(stderr, "usage: bench_storage DATA_DIR [--strict]\n");
        return 2;
    }
    if (!fault_vfs_install())
        load_die("VFS", NULL);
    measure_header();
    creates(argv[1], 1);
    creates(argv[1], 16);
    creates(argv[1], WRITERS_TOP);
    read_back(argv[1]);
    subscriber(argv[1]);
    return strict && missed ? 1 : 0;
}
