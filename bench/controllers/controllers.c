/* ./dev bench controllers: what the controllers inside the server cost, and how long deletions take
 * that they finish. When the environment names them, kube-apiserver, kube-controller-manager and
 * etcd do the same in the same run. docs/internals/performance.md describes the rows.
 *
 *   bench_controllers CORACLE DATA_DIR [--short] [--strict]
 *
 * The flow: empty servers are started with and without controllers; one with controllers then
 * deletes a small namespace and a small family of objects, so that every controller has synced;
 * then come the deletions that are measured. The peer does the same after Coracle has ended. A
 * failure ends the program with a message (process.h). Thread: one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asker.h"
#include "base/cleanup.h"
#include "client.h"
#include "measure.h"
#include "process.h"
#include "requests.h"
#include "target.h"
#include "versus.h"

#define TEXT_MAX 1024
#define POLL_NS  5000000
#define DELETE_S 1800
/* What must hold. */
#define NAMESPACE_BAR_S  2.0
#define DEPENDENTS_BAR_S 3.0
#define ALL_MB           16.0
#define ALL_MS           30.0
#define NONE_MB          12.0
#define NONE_MS          20.0

struct sizes {
    size_t objects, rounds, starts;
};

static const struct sizes whole = {.objects = 10000, .rounds = 3, .starts = 9};
/* For the peer, which takes longer. */
static const struct sizes slow = {.objects = 10000, .rounds = 1, .starts = 1};
static const struct sizes brief = {.objects = 100, .rounds = 1, .starts = 1};

/* From before fork() to /readyz, and the memory of the server when it rests. NAN: not measured. */
struct empty_figures {
    double ms, cpu_ms, mb;
};

struct empty_server {
    struct target_program program;
    const char *dir;
    struct empty_figures *ret;
};

struct figures {
    struct empty_figures all, none; /* an empty server with all controllers, and with none */
    double namespace_s, namespace_cpu_s;
    double dependents_s, dependents_cpu_s;
};

static const struct figures nothing = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, NAN, NAN, NAN, NAN};

/* What it took until a deletion was finished: time, and CPU of all processes of the server. */
struct taken {
    double s, cpu_s;
};

/* Sends the DELETE and asks for `watched` until `is_over` says that nothing is left. */
static struct taken delete_and_wait(const struct target *t, struct asker *a, const char *path,
                                    const char *watched, bool (*is_over)(struct asker *a))
{
    uint64_t cpu = target_cpu_ns(t), began = measure_now_ns(), now;

    asker_must(a, "DELETE", path, "{\"propagationPolicy\":\"Background\"}");
    while ((void)asker_ask(a, "GET", watched, ""), now = measure_now_ns(), !is_over(a)) {
        if (now - began > DELETE_S * UINT64_C(1000000000))
            die("the deletion of %s does not end", path);
        asker_pause(POLL_NS);
    }
    return (struct taken){(double)(now - began) / 1e9, (double)(target_cpu_ns(t) - cpu) / 1e9};
}

static void make_namespace(struct asker *a, const char *ns)
{
    char body[TEXT_MAX];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", ns);
    asker_must(a, "POST", "/api/v1/namespaces", body);
}

static void create(const struct target *t, size_t n,
                   void (*write)(struct cor_buf *out, size_t i, void *arg), void *arg)
{
    const struct requests r = {
        .target = t, .conns = VERSUS_WRITERS, .n = n, .write = write, .arg = arg};
    struct client *client = client_open();

    (void)requests_run(client, &r);
    client_close(client);
}

static bool is_not_found(struct asker *a)
{
    return a->status == 404;
}

/* A namespace with `n` ConfigMaps of 1 KB is deleted. */
static struct taken delete_namespace(const struct target *t, const char *ns, size_t n)
{
    struct request_object o = {.ns = ns, .prefix = "o"};
    char path[TEXT_MAX];
    struct taken taken;
    struct asker a;

    asker_open(&a, t);
    make_namespace(&a, ns);
    create(t, n, request_write_create, &o);
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s", ns);
    taken = delete_and_wait(t, &a, path, path, is_not_found);
    asker_close(&a);
    return taken;
}

struct family {
    const char *ns;
    char uid[64]; /* of the owner */
};

static void write_dependent(struct cor_buf *out, size_t i, void *arg)
{
    const struct family *f = arg;
    char body[TEXT_MAX];
    int n = snprintf(body, sizeof(body),
                     "{\"metadata\":{\"name\":\"dependent-%zu\",\"ownerReferences\":[{"
                     "\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"owner\","
                     "\"uid\":\"%s\"}]},\"data\":{\"k\":\"v\"}}",
                     i, f->uid);

    if (cor_buf_addf(out,
                     "POST /api/v1/namespaces/%s/configmaps HTTP/1.1\r\nHost: localhost\r\n"
                     "Accept: application/json\r\nAuthorization: Bearer " TARGET_TOKEN "\r\n"
                     "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                     f->ns, n, body) < 0)
        die("a request does not fit");
}

static void make_owner(struct asker *a, const char *configmaps, struct family *f)
{
    asker_must(a, "POST", configmaps, "{\"metadata\":{\"name\":\"owner\"}}");
    asker_uid(a, f->uid, sizeof(f->uid));
}

/* The page of one object that was asked for begins with a dependent as long as there is one: of the
 * ConfigMaps of the namespace only kube-root-ca.crt, which comes later, is not a dependent. */
static bool has_no_dependent(struct asker *a)
{
    if (a->status != 200)
        die("a list was answered with %d: %s", a->status, cor_buf_z(&a->body));
    return !strstr(cor_buf_z(&a->body), "\"dependent-");
}

/* The owner of `n` ConfigMaps is deleted in the background. */
static struct taken delete_owner(const struct target *t, const char *ns, size_t n)
{
    char configmaps[TEXT_MAX], page[2 * TEXT_MAX], owner[2 * TEXT_MAX];
    struct family f = {.ns = ns};
    struct taken taken;
    struct asker a;

    snprintf(configmaps, sizeof(configmaps), "/api/v1/namespaces/%s/configmaps", ns);
    snprintf(page, sizeof(page), "%s?limit=1", configmaps);
    snprintf(owner, sizeof(owner), "%s/owner", configmaps);
    asker_open(&a, t);
    make_namespace(&a, ns);
    make_owner(&a, configmaps, &f);
    create(t, n, write_dependent, &f);
    taken = delete_and_wait(t, &a, owner, page, has_no_dependent);
    asker_close(&a);
    return taken;
}

static void deletions(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    double s[VERSUS_ROUNDS_MAX], cpu[VERSUS_ROUNDS_MAX], owner_s[VERSUS_ROUNDS_MAX],
        owner_cpu[VERSUS_ROUNDS_MAX];

    /* The first deletion waits until the controllers have synced. */
    (void)delete_namespace(t, "first-namespace", 1);
    (void)delete_owner(t, "first-owner", 1);
    for (size_t i = 0; i < sizes->rounds; i++) {
        struct taken taken;
        char ns[32];

        snprintf(ns, sizeof(ns), "namespace-%zu", i);
        taken = delete_namespace(t, ns, sizes->objects);
        s[i] = taken.s;
        cpu[i] = taken.cpu_s;
        snprintf(ns, sizeof(ns), "owner-%zu", i);
        taken = delete_owner(t, ns, sizes->objects);
        owner_s[i] = taken.s;
        owner_cpu[i] = taken.cpu_s;
    }
    f->namespace_s = versus_median(s, sizes->rounds);
    f->namespace_cpu_s = versus_median(cpu, sizes->rounds);
    f->dependents_s = versus_median(owner_s, sizes->rounds);
    f->dependents_cpu_s = versus_median(owner_cpu, sizes->rounds);
}

/* Starts on folders that another start has filled: with all controllers and with none in turns, so
 * that what else the machine does falls on both. */
static void starts(const struct sizes *sizes, const struct empty_server *servers, size_t n)
{
    double ms[2][VERSUS_ROUNDS_MAX], cpu_ms[2][VERSUS_ROUNDS_MAX], mb[2][VERSUS_ROUNDS_MAX];
    struct target t;

    for (size_t i = 0; i < n; i++) {
        target_start_coracle(&servers[i].program, servers[i].dir, &t);
        (void)asker_memory_at_rest(&t);
        target_stop(&t);
    }
    for (size_t round = 0; round < sizes->starts; round++)
        for (size_t i = 0; i < n; i++) {
            target_start_coracle(&servers[i].program, servers[i].dir, &t);
            ms[i][round] = t.start_ms;
            cpu_ms[i][round] = (double)target_cpu_ns(&t) / 1e6;
            mb[i][round] = asker_memory_at_rest(&t);
            target_stop(&t);
        }
    for (size_t i = 0; i < n; i++)
        *servers[i].ret = (struct empty_figures){versus_median(ms[i], sizes->starts),
                                                 versus_median(cpu_ms[i], sizes->starts),
                                                 versus_median(mb[i], sizes->starts)};
}

static void measure_coracle(const struct sizes *sizes, const char *path, const char *dir,
                            struct figures *f)
{
    char all[VERSUS_DIR_MAX], without[VERSUS_DIR_MAX];
    const struct empty_server servers[] = {
        {.program = {.program = path, .has_controllers = true}, .dir = all, .ret = &f->all},
        {.program = {.program = path}, .dir = without, .ret = &f->none},
    };
    struct target t;

    versus_say("coracle");
    *f = nothing;
    snprintf(all, sizeof(all), "%s/all", dir);
    snprintf(without, sizeof(without), "%s/none", dir);
    starts(sizes, servers, COR_ARRAY_LEN(servers));
    target_start_coracle(&servers[0].program, all, &t);
    deletions(sizes, &t, f);
    target_stop(&t);
}

static void measure_kube(const struct sizes *sizes, const char *dir, struct figures *f)
{
    const char *manager = process_named("COR_KUBE_CONTROLLER_MANAGER");
    const struct target_program program = {.program = process_named("COR_KUBE_APISERVER"),
                                           .helper = process_named("COR_ETCD")};
    char own[VERSUS_DIR_MAX];
    struct target t;
    uint64_t cpu;

    *f = nothing;
    if (!program.program || !program.helper || !manager) {
        versus_say("kube-controller-manager: skipped; name it, kube-apiserver and etcd by "
                   "COR_KUBE_CONTROLLER_MANAGER, COR_KUBE_APISERVER and COR_ETCD");
        return;
    }
    versus_say("kube-apiserver and kube-controller-manager");
    snprintf(own, sizeof(own), "%s/kube", dir);
    target_start_kube(&program, own, &t);
    target_stop(&t);
    target_start_kube(&program, own, &t);
    f->none = (struct empty_figures){t.start_ms, (double)target_cpu_ns(&t) / 1e6,
                                     asker_memory_at_rest(&t)};
    cpu = target_cpu_ns(&t);
    f->all.ms = f->none.ms + target_add_controller_manager(manager, own, &t);
    f->all.cpu_ms = f->none.cpu_ms + (double)(target_cpu_ns(&t) - cpu) / 1e6;
    f->all.mb = asker_memory_at_rest(&t);
    deletions(sizes, &t, f);
    target_stop(&t);
}

/* A NAN as `bar`: there is none. True when the bar was missed; a short run judges nothing. */
static bool print_row(bool is_short, const char *what, double value, double peer, double bar)
{
    bool missed = !is_short && value > bar;

    printf("%-58s %10.2f", what, value);
    if (isnan(peer))
        printf(" %10s %8s", "-", "-");
    else
        printf(" %10.2f %8.4f", peer, value / peer);
    if (!isnan(bar))
        printf("  <= %-4g %s", bar, is_short ? "not judged" : missed ? "MISSED" : "ok");
    putchar('\n');
    return missed;
}

static bool print(bool is_short, const struct figures *c, const struct figures *k)
{
    const struct {
        const char *what;
        double value, peer, bar;
    } rows[] = {
        {"a namespace with 10,000 ConfigMaps, DELETE to 404, s", c->namespace_s, k->namespace_s,
         NAMESPACE_BAR_S},
        {"  server CPU, s", c->namespace_cpu_s, k->namespace_cpu_s, NAN},
        {"an owner of 10,000, DELETE until no dependent is left, s", c->dependents_s,
         k->dependents_s, DEPENDENTS_BAR_S},
        {"  server CPU, s", c->dependents_cpu_s, k->dependents_cpu_s, NAN},
        {"empty, all controllers: start to /readyz, ms", c->all.ms, k->all.ms, ALL_MS},
        {"  server CPU, ms", c->all.cpu_ms, k->all.cpu_ms, NAN},
        {"  memory (VmRSS), MB", c->all.mb, k->all.mb, ALL_MB},
        {"empty, no controllers: start to /readyz, ms", c->none.ms, k->none.ms, NONE_MS},
        {"  server CPU, ms", c->none.cpu_ms, k->none.cpu_ms, NAN},
        {"  memory (VmRSS), MB", c->none.mb, k->none.mb, NONE_MB},
    };
    double load[1] = {0};
    bool missed = false;

    getloadavg(load, 1);
    printf("%ld CPUs, load average %.2f: on a busy machine read the ratios and the CPU, not the "
           "clock\n\n%-58s %10s %10s %8s\n",
           sysconf(_SC_NPROCESSORS_ONLN), load[0], "", "coracle", "kube", "ratio");
    for (size_t i = 0; i < COR_ARRAY_LEN(rows); i++)
        missed |= print_row(is_short, rows[i].what, rows[i].value, rows[i].peer, rows[i].bar);
    return missed;
}

int main(int argc, char **argv)
{
    struct versus v = versus_read(argc, argv);
    struct figures coracle, kube;

    measure_coracle(v.is_short ? &brief : &whole, v.program, v.dir, &coracle);
    measure_kube(v.is_short ? &brief : &slow, v.dir, &kube);
    v.missed = print(v.is_short, &coracle, &kube);
    return versus_status(&v);
}
