/* ./dev bench crd: what custom resources cost. Objects with 200 fields are created under a schema
 * that has them all and under one that keeps what it does not know; definitions are created and
 * listed at once; 500 definitions of real size are kept. kube-apiserver and etcd do the same when
 * they are named in the environment, which also says how many definitions are kept if that is
 * another number (COR_BENCH_DEFINITIONS). docs/internals/performance.md says how to read it.
 *
 *   bench_crd CORACLE DATA_DIR [--short] [--strict]
 *
 * The flow: both schemas, then rounds of creates in turns; definitions, each until its first list
 * is answered; then a server of its own gets the large ones, and is started again with them: a
 * start has ended when the last of them is listed. A failure ends the program with words
 * (process.h). Thread: one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "asker.h"
#include "client.h"
#include "definitions.h"
#include "measure.h"
#include "process.h"
#include "requests.h"
#include "versus.h"

#define TEXT_MAX   (4u << 20)
#define PATH_BYTES 256
#define POLL_NS    200000 /* between two lists of a resource that is not served yet */
#define SERVED_S   600
#define MB         1e6
/* What must hold. */
#define LOOSE_BAR   1.6
#define CREATE_BAR  (1.0 / 8)
#define FIRST_BAR   (1.0 / 20)
#define BESIDE_MB   60.0
#define START_MS    200.0
#define MEMORY_BAR  (1.0 / 10)
#define FIRST_KINDS 100000 /* numbers of definitions that are listed at once */

/* `rounds`: how often creates are measured; `firsts`: definitions that are listed at once; the
 * median counts. There are five sizes of definitions, so that both servers have the same median. */
struct sizes {
    size_t objects, rounds, firsts, large, starts;
};

static const struct sizes whole = {
    .objects = 2000, .rounds = 5, .firsts = 5, .large = 500, .starts = 5};
/* For kube-apiserver, which takes longer. */
static const struct sizes slow = {
    .objects = 500, .rounds = 1, .firsts = 5, .large = 500, .starts = 1};
static const struct sizes brief = {
    .objects = 20, .rounds = 1, .firsts = 1, .large = 3, .starts = 1};

/* NAN: not measured. */
struct figures {
    double typed_us, loose_us;       /* server CPU of a create */
    double first_ms;                 /* from a POST to the first list */
    double empty_mb, memory_mb;      /* at rest, without and with the large definitions */
    double bytes_mb;                 /* of the definitions as JSON */
    double empty_start_ms, start_ms; /* until the last definition is listed */
    double define_ms;                /* server CPU of a large definition */
};

static const struct figures none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* Asks until the resource is listed, and returns the time. */
static uint64_t wait_listed(struct asker *a, const char *plural)
{
    uint64_t began = measure_now_ns(), now;
    char path[PATH_BYTES];
    int status;

    definitions_print_path(path, sizeof(path), plural);
    while (status = asker_ask(a, "GET", path, ""), now = measure_now_ns(), status != 200) {
        if (now - began > SERVED_S * UINT64_C(1000000000))
            die("%s is not served", plural);
        asker_pause(POLL_NS);
    }
    return now;
}

static void define(struct asker *a, void (*add)(struct cor_buf *out), const char *plural)
{
    struct cor_buf body;

    cor_buf_init(&body, TEXT_MAX);
    add(&body);
    asker_must(a, "POST", DEFINITIONS_PATH, cor_buf_z(&body));
    cor_buf_deinit(&body);
    (void)wait_listed(a, plural);
}

static void creates(const struct sizes *sizes, const struct target *t, struct asker *a,
                    struct figures *f)
{
    double typed_us[VERSUS_ROUNDS_MAX], loose_us[VERSUS_ROUNDS_MAX];

    define(a, definitions_add_typed, DEFINITIONS_TYPED);
    define(a, definitions_add_loose, DEFINITIONS_LOOSE);
    for (size_t i = 0; i < sizes->rounds; i++) {
        char prefix[16];
        struct definitions_object typed = {DEFINITIONS_TYPED, prefix};
        struct definitions_object loose = {DEFINITIONS_LOOSE, prefix};

        snprintf(prefix, sizeof(prefix), "o%zu", i);
        typed_us[i] = versus_write(t, sizes->objects, definitions_write_object, &typed);
        loose_us[i] = versus_write(t, sizes->objects, definitions_write_object, &loose);
    }
    f->typed_us = versus_median(typed_us, sizes->rounds);
    f->loose_us = versus_median(loose_us, sizes->rounds);
}

/* From before the POST of a definition until its resource is listed. */
static double first_list_ms(struct asker *a, size_t i)
{
    struct cor_buf body;
    char plural[32];
    uint64_t began, listed;

    cor_buf_init(&body, TEXT_MAX);
    definitions_add_large(&body, i);
    definitions_print_plural(plural, sizeof(plural), i);
    began = measure_now_ns();
    asker_must(a, "POST", DEFINITIONS_PATH, cor_buf_z(&body));
    listed = wait_listed(a, plural);
    cor_buf_deinit(&body);
    return (double)(listed - began) / 1e6;
}

static void first_lists(const struct sizes *sizes, struct asker *a, struct figures *f)
{
    double ms[VERSUS_ROUNDS_MAX];

    for (size_t i = 0; i < sizes->firsts; i++)
        ms[i] = first_list_ms(a, FIRST_KINDS + i);
    f->first_ms = versus_median(ms, sizes->firsts);
}

/* What a list of all definitions is long. */
static double bytes_of_definitions(const struct target *t)
{
    struct request_path path = {DEFINITIONS_PATH};
    const struct requests r = {
        .target = t, .conns = 1, .n = 1, .write = request_write_get, .arg = &path};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return (double)result.body_bytes;
}

/* From before the start until the last large definition is listed, in ms. */
static double served_ms(const struct target *t, size_t large)
{
    uint64_t ready = measure_now_ns(), listed;
    char plural[32];
    struct asker a;

    definitions_print_plural(plural, sizeof(plural), large - 1);
    asker_open(&a, t);
    listed = wait_listed(&a, plural);
    asker_close(&a);
    return t->start_ms + (double)(listed - ready) / 1e6;
}

/* Creates and first lists, on a server with nothing else. */
static void few_definitions(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    struct asker a;

    asker_open(&a, t);
    creates(sizes, t, &a, f);
    first_lists(sizes, &a, f);
    asker_close(&a);
}

/* Stops a server and starts it with what it has stored. */
typedef void (*restart_cb)(const struct versus *v, struct target *t);

static void restart_coracle(const struct versus *v, struct target *t)
{
    target_stop(t);
    versus_start_coracle(v, t);
}

static void restart_kube(const struct versus *v, struct target *t)
{
    target_stop(t);
    (void)versus_start_kube(v, t);
}

/* Starts in turns would need two folders: first those of the empty server, then those of the one
 * with its definitions. */
static void many_definitions(const struct versus *v, const struct sizes *sizes, struct target *t,
                             restart_cb restart, struct figures *f)
{
    double empty_ms[VERSUS_ROUNDS_MAX], ms[VERSUS_ROUNDS_MAX];
    double empty_mb[VERSUS_ROUNDS_MAX], mb[VERSUS_ROUNDS_MAX];

    for (size_t i = 0; i < sizes->starts; i++) {
        restart(v, t);
        empty_ms[i] = t->start_ms;
        empty_mb[i] = asker_memory_at_rest(t);
    }
    f->define_ms = versus_run(t, 1, sizes->large, definitions_write_large, NULL) / 1e3;
    f->bytes_mb = bytes_of_definitions(t) / MB;
    for (size_t i = 0; i < sizes->starts; i++) {
        restart(v, t);
        ms[i] = served_ms(t, sizes->large);
        mb[i] = asker_memory_at_rest(t);
    }
    f->empty_start_ms = versus_median(empty_ms, sizes->starts);
    f->start_ms = versus_median(ms, sizes->starts);
    f->empty_mb = versus_median(empty_mb, sizes->starts);
    f->memory_mb = versus_median(mb, sizes->starts);
}

/* The same benchmark in a folder of its own, for a server with many definitions. */
static struct versus beside(const struct versus *v, char *dir, size_t n)
{
    struct versus many = *v;

    snprintf(dir, n, "%s/many", v->dir);
    mkdir(dir, 0755);
    many.dir = dir;
    return many;
}

static void measure_coracle(const struct versus *v, const struct sizes *sizes, struct figures *f)
{
    char dir[VERSUS_DIR_MAX];
    struct versus many = beside(v, dir, sizeof(dir));
    struct target t;

    versus_say("coracle");
    *f = none;
    versus_start_coracle(v, &t);
    few_definitions(sizes, &t, f);
    target_stop(&t);
    versus_start_coracle(&many, &t);
    many_definitions(&many, sizes, &t, restart_coracle, f);
    target_stop(&t);
}

static void measure_kube(const struct versus *v, const struct sizes *sizes, struct figures *f)
{
    char dir[VERSUS_DIR_MAX];
    struct versus many = beside(v, dir, sizeof(dir));
    struct target t;

    *f = none;
    if (!versus_start_kube(v, &t))
        return;
    few_definitions(sizes, &t, f);
    target_stop(&t);
    (void)versus_start_kube(&many, &t);
    many_definitions(&many, sizes, &t, restart_kube, f);
    target_stop(&t);
}

static void print(struct versus *v, size_t large, const struct figures *c, const struct figures *k)
{
    versus_print_head("server CPU");
    versus_print(v, "create of an object with 200 fields, 16 writers, us", c->typed_us, k->typed_us,
                 "kube", CREATE_BAR);
    versus_print(v, "  beside a schema that keeps unknown fields, us", c->typed_us, c->loose_us,
                 "no schema", LOOSE_BAR);
    if (!isnan(k->typed_us))
        versus_print(v, "  the peer's, us", k->typed_us, k->loose_us, "no schema", NAN);
    versus_print(v, "a definition, POST to first list, ms on the clock", c->first_ms, k->first_ms,
                 "kube", FIRST_BAR);
    versus_print(v, "create of a definition of 1,000 to 5,000 lines, ms", c->define_ms,
                 k->define_ms, "kube", NAN);
    printf("the %zu definitions of the following rows are %.1f MB of JSON\n", large, c->bytes_mb);
    versus_print(v, "memory of the definitions beside their bytes, MB",
                 c->memory_mb - c->empty_mb - c->bytes_mb, BESIDE_MB, "at most", 1);
    versus_print(v, "  of the server with them, MB", c->memory_mb, k->memory_mb, "kube",
                 MEMORY_BAR);
    versus_print(v, "what they add to a start, ms on the clock", c->start_ms - c->empty_start_ms,
                 START_MS, "at most", 1);
    versus_print(v, "  a start with them, until the last is listed, ms", c->start_ms, k->start_ms,
                 "kube", NAN);
}

/* `sizes` with as many large definitions as the environment asks for. */
static struct sizes asked(struct sizes sizes)
{
    const char *text = getenv("COR_BENCH_DEFINITIONS");
    unsigned long n = text ? strtoul(text, NULL, 10) : 0;

    if (text && n == 0)
        die("COR_BENCH_DEFINITIONS is not a number: %s", text);
    if (text)
        sizes.large = n;
    return sizes;
}

int main(int argc, char **argv)
{
    struct versus v = versus_read(argc, argv);
    const struct sizes own = asked(v.is_short ? brief : whole),
                       peers = asked(v.is_short ? brief : slow);
    struct figures coracle, kube;

    measure_coracle(&v, &own, &coracle);
    measure_kube(&v, &peers, &kube);
    print(&v, own.large, &coracle, &kube);
    return versus_status(&v);
}
