/* ./dev bench server: what the API server costs, beside nginx serving the same bytes and, when
 * named in the environment, kube-apiserver and etcd, in the same run. docs/internals/performance.md
 * says how to read it.
 *
 *   bench_server CORACLE DATA_DIR [--short] [--strict] [--only starts|deliveries|objects] */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "client.h"
#include "measure.h"
#include "process.h"
#include "requests.h"
#include "sender.h"
#include "table.h"
#include "target.h"
#include "watchers.h"

#define WRITERS    16
#define SYNCS      25
#define ROUNDS_MAX 9
#define LIST_MAX   (64u * 1024 * 1024)
#define PATH_MAX_  1024
#define NS         "bench"
#define FAN_NS     "fan"
#define FULL_NS    "full"
#define LIST_PATH  "/api/v1/namespaces/" NS "/configmaps"

/* How much work each row is. */
struct sizes {
    size_t objects, full_objects, gets, lists, pages, selections;
    size_t watchers, burst, singles, latencies, starts, rounds;
};

static const struct sizes whole = {.objects = 10000,
                                   .full_objects = 90000,
                                   .gets = 10000,
                                   .lists = 10,
                                   .pages = 100,
                                   .selections = 400,
                                   .watchers = 1000,
                                   .burst = 500,
                                   .singles = 50,
                                   .latencies = 1000,
                                   .starts = 9,
                                   .rounds = 5};
/* For kube-apiserver, which takes fifty times as long. */
static const struct sizes slow = {.objects = 10000,
                                  .gets = 2000,
                                  .lists = 5,
                                  .pages = 20,
                                  .selections = 50,
                                  .watchers = 1000,
                                  .burst = 100,
                                  .singles = 20,
                                  .latencies = 300,
                                  .starts = 1,
                                  .rounds = 1};
static const struct sizes brief = {.objects = 200,
                                   .full_objects = 200,
                                   .gets = 200,
                                   .lists = 2,
                                   .pages = 2,
                                   .selections = 10,
                                   .watchers = 20,
                                   .burst = 20,
                                   .singles = 5,
                                   .latencies = 20,
                                   .starts = 1,
                                   .rounds = 1};

/* The parts of a run. */
static const char *const parts[] = {"starts", "deliveries", "objects"};
enum { STARTS = 1, DELIVERIES = 2, OBJECTS = 4 };

struct bench {
    const struct sizes *sizes;
    unsigned parts;
    const char *dir;
    struct target_program coracle, nginx, kube;
    struct table table;
};

static void say(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
}

static double median(double *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && v[j - 1] > v[j]; j--) {
            double t = v[j];

            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    return v[n / 2];
}

typedef void (*write_cb)(struct cor_buf *out, size_t i, void *arg);

static struct requests_result run(const struct target *t, size_t conns, size_t n, write_cb write,
                                  void *arg)
{
    const struct requests r = {.target = t, .conns = conns, .n = n, .write = write, .arg = arg};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return result;
}

static struct requests_result get(const struct target *t, size_t conns, size_t n, const char *path)
{
    struct request_path p = {path};

    return run(t, conns, n, request_write_get, &p);
}

static void make_namespace(const struct target *t, const char *ns)
{
    struct request_object o = {.ns = ns};

    (void)run(t, 1, 1, request_write_namespace, &o);
}

static void starts(struct bench *b,
                   void (*start)(const struct target_program *, const char *, struct target *),
                   const struct target_program *p, const char *name, struct figures *f)
{
    double first[ROUNDS_MAX], again[ROUNDS_MAX];
    size_t n = b->sizes->starts;
    char dir[PATH_MAX_];
    struct target t;

    for (size_t i = 0; i < n; i++) {
        snprintf(dir, sizeof(dir), "%s/%s-%zu", b->dir, name, i);
        start(p, dir, &t);
        first[i] = t.start_ms;
        target_stop(&t);
        start(p, dir, &t);
        again[i] = t.start_ms;
        target_stop(&t);
    }
    f->first_start_ms = median(first, n);
    f->start_ms = median(again, n);
}

/* On a server that has served nothing yet, so that no freed memory hides what they take. */
static void idle_memory(const struct bench *b, const struct target *t, struct figures *f)
{
    struct client *client = client_open();
    uint64_t before = target_memory(t, "VmRSS");
    struct watchers *w;

    f->idle_mb = (double)before / 1e6;
    f->idle_anon_mb = (double)target_memory(t, "RssAnon") / 1e6;
    make_namespace(t, FAN_NS);
    before = target_memory(t, "VmRSS");
    w = watchers_open(client, t, FAN_NS, b->sizes->watchers);
    f->watch_bytes = (double)(target_memory(t, "VmRSS") - before) / (double)b->sizes->watchers;
    watchers_close(w);
    client_close(client);
}

static void writes(const struct bench *b, const struct target *t, struct figures *f)
{
    struct request_object o = {.ns = NS, .prefix = "o"};
    struct requests_result r;

    make_namespace(t, NS);
    r = run(t, WRITERS, b->sizes->objects, request_write_create, &o);
    f->create_us = r.cpu_us;
    f->create_rate = r.per_second;
    r = run(t, WRITERS, b->sizes->objects, request_write_update, &o);
    f->update_us = r.cpu_us;
    f->update_rate = r.per_second;
}

/* The rest of the objects: what they add to the server's memory while events are remembered. */
static void fill(const struct bench *b, const struct target *t, struct figures *f)
{
    struct request_object o = {.ns = FULL_NS, .prefix = "o"};
    uint64_t before = target_memory(t, "VmRSS");

    make_namespace(t, FULL_NS);
    (void)run(t, WRITERS, b->sizes->full_objects, request_write_create, &o);
    f->written_object_bytes =
        (double)(target_memory(t, "VmRSS") - before) / (double)b->sizes->full_objects;
}

static void save_answer(const struct target *t, const char *path, const char *dir, const char *name)
{
    struct request_path p = {path};
    struct cor_buf body;
    const struct requests r = {
        .target = t, .conns = 1, .n = 1, .write = request_write_get, .arg = &p, .save = &body};
    struct client *client = client_open();
    char file[PATH_MAX_];
    FILE *f;

    cor_buf_init(&body, LIST_MAX);
    (void)requests_run(client, &r);
    client_close(client);
    snprintf(file, sizeof(file), "%s/www/%s", dir, name);
    f = fopen(file, "we");
    if (!f || fwrite(body.p, 1, body.n, f) != body.n || fclose(f) != 0)
        die("cannot write %s", file);
    cor_buf_deinit(&body);
}

static bool start_nginx(const struct bench *b, const struct target *t, struct target *ret)
{
    char dir[PATH_MAX_ / 2], www[PATH_MAX_], pki[PATH_MAX_];

    if (!b->nginx.program)
        return false;
    snprintf(dir, sizeof(dir), "%s/nginx", b->dir);
    snprintf(www, sizeof(www), "%s/www", dir);
    snprintf(pki, sizeof(pki), "%s/coracle/data/pki", b->dir);
    mkdir(dir, 0755);
    mkdir(www, 0755);
    save_answer(t, LIST_PATH "/o-1", dir, "get");
    save_answer(t, LIST_PATH, dir, "list");
    target_start_nginx(&b->nginx, dir, pki, ret);
    return true;
}

/* Rounds take turns, so that a busy moment of the machine does not hit one side only. */
static void reads(const struct bench *b, const struct target *t, const struct target *nginx,
                  struct figures *f, struct figures *nginx_f)
{
    double v[6][ROUNDS_MAX];
    size_t n = b->sizes->rounds;

    for (size_t i = 0; i < n; i++) {
        v[0][i] = get(t, WRITERS, b->sizes->gets, LIST_PATH "/o-1").cpu_us;
        v[1][i] = get(t, 1, b->sizes->lists, LIST_PATH).cpu_us / 1e3;
        v[2][i] = get(t, 1, b->sizes->pages, LIST_PATH "?limit=500").cpu_us / 1e3;
        v[3][i] = get(t, 1, b->sizes->selections, LIST_PATH "?labelSelector=app%3Da5").cpu_us / 1e3;
        v[4][i] = nginx ? get(nginx, WRITERS, b->sizes->gets, "/get").cpu_us : NAN;
        v[5][i] = nginx ? get(nginx, 1, b->sizes->lists, "/list").cpu_us / 1e3 : NAN;
    }
    f->get_us = median(v[0], n);
    f->list_ms = median(v[1], n);
    f->page_ms = median(v[2], n);
    f->label_ms = median(v[3], n);
    if (nginx) {
        nginx_f->get_us = median(v[4], n);
        nginx_f->list_ms = median(v[5], n);
    }
}

static struct requests fan_writes(const struct target *t, size_t n, struct request_object *o,
                                  const char *prefix)
{
    *o = (struct request_object){.ns = FAN_NS, .prefix = prefix};
    return (struct requests){
        .target = t, .conns = WRITERS, .n = n, .write = request_write_create, .arg = o};
}

/* The watches begin before the first event: their namespace is empty. Returns an event's bytes. */
static double deliveries(const struct bench *b, const struct target *t, struct figures *f)
{
    struct client *client = client_open();
    struct watchers *w = watchers_open(client, t, FAN_NS, b->sizes->watchers);
    struct request_object o;
    struct requests r = fan_writes(t, b->sizes->singles, &o, "single");
    struct fanout result = fanout_step(w, &r);
    double event_bytes = result.event_bytes;

    f->single_us = result.cpu_us;
    r = fan_writes(t, b->sizes->burst, &o, "burst");
    f->burst_us = fanout_burst(w, &r).cpu_us;
    watchers_close(w);
    client_close(client);
    return event_bytes;
}

static void latency(const struct bench *b, const struct target *t, struct figures *f)
{
    struct client *client = client_open();
    struct request_object o = {.ns = "default", .prefix = "latency"};
    struct requests r = {
        .target = t, .n = b->sizes->latencies, .write = request_write_create, .arg = &o};
    struct watchers *w = watchers_open(client, t, "default", 1);
    struct fanout result = fanout_step(w, &r);

    f->write_to_watch_p50_ms = result.p50_ms;
    f->write_to_watch_p99_ms = result.p99_ms;
    watchers_close(w);
    client_close(client);
}

static double bare_sends(const struct bench *b, double event_bytes)
{
    struct client *client = client_open();
    struct request_object o;
    struct watchers *w;
    struct requests r;
    struct fanout result;
    struct target t;

    sender_start((size_t)event_bytes, &t);
    w = watchers_open(client, &t, FAN_NS, b->sizes->watchers);
    r = fan_writes(&t, b->sizes->singles, &o, "x");
    result = fanout_step(w, &r);
    watchers_close(w);
    client_close(client);
    target_stop(&t);
    return result.cpu_us;
}

/* Writes, reads beside nginx, and a start with everything that was written. */
static void objects(struct bench *b, const char *dir, struct target *t)
{
    struct figures *f = &b->table.coracle;
    struct target nginx;
    bool has_nginx;

    say("coracle: writes and reads");
    writes(b, t, f);
    has_nginx = start_nginx(b, t, &nginx);
    reads(b, t, has_nginx ? &nginx : NULL, f, &b->table.nginx);
    if (has_nginx)
        target_stop(&nginx);
    fill(b, t, f);
    target_stop(t);
    say("coracle: a full start");
    target_start_coracle(&b->coracle, dir, t);
    f->full_start_ms = t->start_ms;
    f->object_bytes = ((double)target_memory(t, "VmRSS") - f->idle_mb * 1e6) /
                      (double)(b->sizes->objects + b->sizes->full_objects);
}

static double bare_syncs(const struct bench *b)
{
    static const char page[4096];
    double ms[SYNCS];
    char path[PATH_MAX_];
    int fd;

    snprintf(path, sizeof(path), "%s/sync", b->dir);
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    for (size_t i = 0; i < SYNCS; i++) {
        uint64_t began = measure_now_ns();

        if (write(fd, page, sizeof(page)) != (ssize_t)sizeof(page) || fdatasync(fd) != 0)
            die("%s: %s", path, strerror(errno));
        ms[i] = (double)(measure_now_ns() - began) / 1e6;
    }
    close(fd);
    return median(ms, SYNCS);
}

static void measure_coracle(struct bench *b)
{
    struct figures *f = &b->table.coracle;
    char dir[PATH_MAX_];
    struct target t;

    if (b->parts & STARTS) {
        say("coracle: starts");
        starts(b, target_start_coracle, &b->coracle, "start", f);
    }
    snprintf(dir, sizeof(dir), "%s/coracle", b->dir);
    target_start_coracle(&b->coracle, dir, &t);
    idle_memory(b, &t, f);
    if (b->parts & DELIVERIES) {
        say("coracle: deliveries");
        latency(b, &t, f);
        b->table.send_us = bare_sends(b, deliveries(b, &t, f));
    }
    if (b->parts & OBJECTS)
        objects(b, dir, &t);
    target_stop(&t);
}

/* Not filled with as many objects: that takes minutes. */
static void measure_kube(struct bench *b)
{
    struct figures *f = &b->table.kube;
    char dir[PATH_MAX_];
    struct target t;

    if (!b->kube.program || !b->kube.helper) {
        say("kube-apiserver: skipped; name it and etcd by COR_KUBE_APISERVER and COR_ETCD");
        return;
    }
    say("kube-apiserver");
    if (!b->table.is_short)
        b->sizes = &slow;
    if (b->parts & STARTS)
        starts(b, target_start_kube, &b->kube, "kube-start", f);
    snprintf(dir, sizeof(dir), "%s/kube", b->dir);
    target_start_kube(&b->kube, dir, &t);
    idle_memory(b, &t, f);
    if (b->parts & DELIVERIES) {
        latency(b, &t, f);
        (void)deliveries(b, &t, f);
    }
    if (b->parts & OBJECTS) {
        writes(b, &t, f);
        reads(b, &t, NULL, f, NULL);
    }
    target_stop(&t);
}

static void find_peers(struct bench *b)
{
    b->nginx.program = target_find_nginx();
    if (!b->nginx.program)
        say("nginx: skipped; it is not installed");
    b->kube.program = process_named("COR_KUBE_APISERVER");
    b->kube.helper = process_named("COR_ETCD");
}

static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static bool read_part(const char *name, struct bench *b)
{
    b->parts = 0;
    for (size_t i = 0; name && i < COR_ARRAY_LEN(parts); i++)
        if (strcmp(name, parts[i]) == 0)
            b->parts = 1u << i;
    return b->parts != 0;
}

static bool read_args(int argc, char **argv, struct bench *b, bool *ret_strict)
{
    for (int i = 3; i < argc; i++) {
        if (strcmp(argv[i], "--strict") == 0)
            *ret_strict = true;
        else if (strcmp(argv[i], "--short") == 0)
            b->table.is_short = true;
        else if (strcmp(argv[i], "--only") != 0 || !read_part(argv[++i], b))
            return false;
    }
    return argc >= 3;
}

int main(int argc, char **argv)
{
    struct bench b = {.sizes = &whole, .parts = STARTS | DELIVERIES | OBJECTS};
    bool strict = false, missed;

    b.table.send_us = NAN;
    if (!read_args(argc, argv, &b, &strict)) {
        fprintf(stderr, "usage: bench_server CORACLE DATA_DIR [--short] [--strict] "
                        "[--only starts|deliveries|objects]\n");
        return 2;
    }
    if (b.table.is_short)
        b.sizes = &brief;
    b.coracle.program = argv[1];
    b.dir = argv[2];
    figures_clear(&b.table.coracle);
    figures_clear(&b.table.nginx);
    figures_clear(&b.table.kube);
    raise_file_limit();
    find_peers(&b);
    b.table.sync_ms = bare_syncs(&b);
    measure_coracle(&b);
    measure_kube(&b);
    missed = table_print(&b.table);
    return strict && missed ? 1 : 0;
}
