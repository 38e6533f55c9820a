#include "load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fault_vfs.h"
#include "measure.h"
#include "raw.h"
#include "storage/store/store_list.h"

#define BATCH_MAX 256
#define WAIT_MS   (10 * 60 * 1000)

_Noreturn void load_die(const char *what, const struct cor_status *status)
{
    fprintf(stderr, "bench: %s: %s\n", what, status ? cor_status_message(status) : "failed");
    exit(1);
}

void load_row_fill(struct load_row *row, size_t number)
{
    static const char tail[] = "\"}}";
    int n = snprintf(row->json, sizeof(row->json),
                     "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                     "\"creationTimestamp\":\"2025-01-01T00:00:00Z\",\"labels\":{\"app\":\"bench\","
                     "\"shard\":\"s%zu\"},\"name\":\"cm-%08zu\",\"namespace\":\"default\","
                     "\"uid\":\"00000000-0000-4000-8000-%012zu\"},\"data\":{\"payload\":\"",
                     number % 100, number, number);

    snprintf(row->key, sizeof(row->key), LOAD_PREFIX "/default/cm-%08zu", number);
    memset(row->json + n, 'x', sizeof(row->json) - (size_t)n);
    memcpy(row->json + sizeof(row->json) - sizeof(tail), tail, sizeof(tail));
}

void load_store_new(struct cor_engine *engine, struct cor_loop *loop, struct cor_store **ret_store)
{
    const struct cor_store_opts opts = {
        .engine = engine,
        .loop = loop,
        .resource_prefix = LOAD_PREFIX,
    };
    struct cor_status status;

    cor_status_init(&status);
    if (cor_store_new(&opts, ret_store, &status) < 0)
        load_die("store", &status);
}

void load_open(struct load *load, const char *dir)
{
    const struct cor_engine_config config = {.backend = "sqlite", .data_dir = dir};
    struct cor_status status;

    cor_status_init(&status);
    if (cor_loop_new(4096, &load->loop) < 0)
        load_die("loop", NULL);
    if (cor_engine_open(&config, &load->engine, &status) < 0)
        load_die("open", &status);
    load_store_new(load->engine, load->loop, &load->store);
}

void load_close(struct load *load)
{
    load->store = cor_store_free(load->store);
    load->engine = cor_engine_close(load->engine);
    load->loop = cor_loop_free(load->loop);
}

/* One writer: creates an object, and the next when that is done. */
struct writer {
    struct creates *all;
    struct load_row row;
    uint64_t began_ns;
};

struct creates {
    struct load *load;
    struct writer *writers;
    uint64_t *latencies;
    size_t first, begun, done, max, busy;
    uint64_t end_ns;
};

static void begin(struct writer *w);

static void on_created(void *arg, const struct cor_store_reply *reply)
{
    struct writer *w = arg;
    struct creates *all = w->all;
    uint64_t now = measure_now_ns();

    if (reply->err < 0)
        load_die("create", reply->status);
    all->latencies[all->done++] = now - w->began_ns;
    all->busy--;
    if (all->begun < all->max && now < all->end_ns)
        begin(w);
}

static void begin(struct writer *w)
{
    struct creates *all = w->all;
    struct cor_object *object;
    struct cor_status status;

    w->began_ns = measure_now_ns();
    cor_status_init(&status);
    load_row_fill(&w->row, all->first + all->begun++);
    all->busy++;
    if (cor_object_parse(cor_strz(w->row.json), NULL, NULL, NULL, &object, &status) < 0 ||
        cor_store_create(all->load->store, cor_strz(w->row.key), object, 0, on_created, w,
                         &status) < 0)
        load_die("create", &status);
    cor_object_unref(object);
}

static bool all_done(void *arg)
{
    return ((struct creates *)arg)->busy == 0;
}

/* What stands on the clocks when a round begins. */
struct start {
    uint64_t wall_ns, cpu_ns, syncs;
};

static struct start start_now(void)
{
    return (struct start){measure_now_ns(), measure_cpu_ns(),
                          fault_vfs_count(FAULT_SYNC, FAULT_WAL)};
}

static struct load_result finish(struct start start, uint64_t *latencies, size_t writes)
{
    double wall_ns = (double)(measure_now_ns() - start.wall_ns);
    double cpu_ns = (double)(measure_cpu_ns() - start.cpu_ns), n = (double)writes;
    double syncs = (double)(fault_vfs_count(FAULT_SYNC, FAULT_WAL) - start.syncs);
    struct load_result res = {
        .writes = writes,
        .per_second = n / (wall_ns / 1e9),
        .cpu_us = cpu_ns / 1e3 / n,
        .p50_ms = (double)measure_percentile(latencies, writes, 50) / 1e6,
        .p99_ms = (double)measure_percentile(latencies, writes, 99) / 1e6,
        .batch = n / syncs,
    };

    cor_free(latencies);
    return res;
}

struct load_result load_create(struct load *load, size_t writers, size_t first, size_t max,
                               uint64_t ms)
{
    struct creates all = {.load = load, .first = first, .max = max};
    struct load_result res;
    struct start start;

    all.writers = cor_calloc(writers, sizeof(*all.writers));
    all.latencies = cor_calloc(max, sizeof(*all.latencies));
    if (!all.writers || !all.latencies)
        load_die("memory", NULL);
    start = start_now();
    all.end_ns = start.wall_ns + ms * 1000000;
    for (size_t i = 0; i < writers && i < max; i++) {
        all.writers[i].all = &all;
        begin(&all.writers[i]);
    }
    if (!cor_loop_run_until(load->loop, all_done, &all, WAIT_MS))
        load_die("create: no answer", NULL);
    res = finish(start, all.latencies, all.done);
    cor_free(all.writers);
    return res;
}

/* One transaction; every row of it waited for all of it. */
static void create_batch(struct raw *raw, struct load_row *rows, size_t first, size_t n,
                         uint64_t *latencies)
{
    struct cor_str keys[BATCH_MAX], values[BATCH_MAX];
    uint64_t began = measure_now_ns(), took;

    for (size_t i = 0; i < n; i++) {
        load_row_fill(&rows[i], first + i);
        keys[i] = cor_strz(rows[i].key);
        values[i] = cor_strz(rows[i].json);
    }
    raw_insert(raw, keys, values, n);
    took = measure_now_ns() - began;
    for (size_t i = 0; i < n; i++)
        latencies[i] = took;
}

struct load_result load_create_raw(struct raw *raw, size_t batch, size_t first, size_t max,
                                   uint64_t ms)
{
    struct load_row *rows = cor_calloc(batch, sizeof(*rows));
    uint64_t *latencies = cor_calloc(max, sizeof(*latencies));
    struct load_result res;
    struct start start = start_now();
    size_t done = 0;

    if (!rows || !latencies || batch > BATCH_MAX)
        load_die("memory", NULL);
    while (done < max && measure_now_ns() < start.wall_ns + ms * 1000000) {
        size_t n = max - done < batch ? max - done : batch;

        create_batch(raw, rows, first + done, n, latencies + done);
        done += n;
    }
    res = finish(start, latencies, done);
    cor_free(rows);
    return res;
}

struct listing {
    struct cor_object **items;
    size_t n;
    bool done;
};

static void on_listed(void *arg, struct cor_store_list_reply *reply)
{
    struct listing *l = arg;

    if (reply->err < 0)
        load_die("list", reply->status);
    l->n = reply->nitems;
    l->items = COR_STEAL(reply->items);
    l->done = true;
}

static bool is_listed(void *arg)
{
    return ((struct listing *)arg)->done;
}

struct cor_object **load_list(struct load *load, size_t *ret_n)
{
    const struct cor_store_list_opts opts = {.options = {.recursive = true}};
    struct listing l = {.done = false};
    struct cor_status status;

    cor_status_init(&status);
    if (cor_store_list(load->store, COR_STR(LOAD_PREFIX), &opts, on_listed, &l, &status) < 0)
        load_die("list", &status);
    if (!cor_loop_run_until(load->loop, is_listed, &l, WAIT_MS))
        load_die("list: no answer", NULL);
    *ret_n = l.n;
    return l.items;
}

void load_list_free(struct cor_object **items, size_t n)
{
    for (size_t i = 0; i < n; i++)
        cor_object_unref(items[i]);
    cor_free(items);
}
