/* ./dev bench types: what typed objects cost. Pods are created, patched, listed and watched, in
 * JSON and in protobuf, beside nginx serving the same bytes and, when named in the environment,
 * kube-apiserver and etcd, in the same run. docs/internals/performance.md says how to read it.
 *
 *   bench_types CORACLE DATA_DIR [--short] [--strict]
 *
 * The flow: a Coracle gets the Pods, then patches, then watchers in both forms, then lists; it is
 * started again so that the first list in protobuf finds nothing kept. The peer then does the same.
 * A failure ends the program with words (process.h). Thread: one. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "measure.h"
#include "pods.h"
#include "process.h"
#include "requests.h"
#include "target.h"
#include "watchers.h"

#define WRITERS    16
#define ROUNDS_MAX 5
#define DIR_MAX    1024
#define LIST_MAX   (256u * 1024 * 1024)
#define PROBE_MS   60000
#define NS         "bench"
/* What must hold. */
#define CREATE_BAR     (1.0 / 10)
#define CONFIG_MAP_BAR 1.5
#define TRANSCODE_BAR  (1.0 / 2)
#define KEPT_BAR       1.3
#define WATCH_BAR      1.2
#define PATCH_BAR      (1.0 / 8)
#define SERVICE_BAR    (1.0 / 8) /* of the time between two answers: the rate is 8 times as high */
#define TABLE_BAR      (1.0 / 8)
#define TABLE_PODS     500
#define OPENAPI_MS     10.0 /* of the first document, wherever it runs */
#define OPENAPI_BAR    1.3
#define OPENAPI_PATH   "/openapi/v3/apis/apps/v1"

struct sizes {
    size_t pods, patches, services, lists, tables, documents, watchers, burst, rounds;
};

static const struct sizes whole = {.pods = 10000,
                                   .patches = 5000,
                                   .services = 20000,
                                   .lists = 10,
                                   .tables = 200,
                                   .documents = 500,
                                   .watchers = 1000,
                                   .burst = 200,
                                   .rounds = 5};
/* For kube-apiserver, which takes longer. */
static const struct sizes slow = {.pods = 10000,
                                  .patches = 2000,
                                  .services = 3000,
                                  .lists = 5,
                                  .tables = 50,
                                  .documents = 100,
                                  .watchers = 1000,
                                  .burst = 50,
                                  .rounds = 1};
static const struct sizes brief = {.pods = 100,
                                   .patches = 50,
                                   .services = 50,
                                   .lists = 2,
                                   .tables = 2,
                                   .documents = 5,
                                   .watchers = 10,
                                   .burst = 10,
                                   .rounds = 1};

/* NAN: not measured, or not there yet. */
struct figures {
    double create_us, config_map_us, patch_us;
    double service_us;             /* time between two answers, not CPU */
    double list_ms;                /* in JSON */
    double table_ms;               /* of TABLE_PODS Pods */
    double transcoded_ms, kept_ms; /* in protobuf: the first one, and those after it */
    double json_watch_us, protobuf_watch_us;
    double openapi_first_ms, openapi_us; /* a document: the first time, and from what is kept */
};

static const struct figures none = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};

/* The same bytes from nginx; NAN: it is not installed. */
struct nginx_figures {
    double kept_ms, openapi_us;
};

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

/* Server CPU of one request in µs. */
static double run(const struct target *t, size_t conns, size_t n, write_cb write, void *arg)
{
    const struct requests r = {.target = t, .conns = conns, .n = n, .write = write, .arg = arg};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return result.cpu_us;
}

/* Creates Services with 16 writers: the time between two answers in µs. */
static double create_services(const struct target *t, size_t n)
{
    struct pods p = {.ns = NS, .prefix = "s"};
    const struct requests r = {
        .target = t, .conns = WRITERS, .n = n, .write = pods_write_service, .arg = &p};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return 1e6 / result.per_second;
}

static void make_namespace(const struct target *t, const char *ns)
{
    struct request_object o = {.ns = ns};

    (void)run(t, 1, 1, request_write_namespace, &o);
}

struct probe {
    int status, first; /* byte of the answer; -1: it has none */
    bool is_over;
};

static void on_probe_body(struct cor_str piece, void *arg)
{
    struct probe *probe = arg;

    if (probe->first < 0 && piece.n > 0)
        probe->first = (unsigned char)piece.p[0];
}

static void on_probe_response(int status, void *arg)
{
    struct probe *probe = arg;

    probe->status = status;
    probe->is_over = true;
}

static bool probe_is_over(void *arg)
{
    return ((struct probe *)arg)->is_over;
}

/* Does the server answer this request in protobuf, with something? A server that cannot says 406,
 * or answers in JSON. */
static bool answers_protobuf(const struct target *t, const char *path, const char *accept)
{
    static const struct conn_cbs cbs = {.on_body = on_probe_body, .on_response = on_probe_response};
    struct client *client = client_open();
    struct probe probe = {.first = -1};
    struct conn *conn = conn_open(client, t->port, t->is_plain, &cbs, &probe);
    char text[512];
    int n = snprintf(text, sizeof(text),
                     "GET %s HTTP/1.1\r\nHost: localhost\r\nAccept: %s\r\n"
                     "Authorization: Bearer " TARGET_TOKEN "\r\n\r\n",
                     path, accept);

    conn_send(conn, cor_str(text, (size_t)n));
    if (!client_run(client, probe_is_over, &probe, PROBE_MS))
        die("%s is not answered", path);
    conn_close(conn);
    client_close(client);
    return probe.status == 200 && probe.first != '{';
}

static bool lists_protobuf(const struct target *t)
{
    return answers_protobuf(t, "/api/v1/namespaces", PODS_PROTOBUF);
}

/* The watch begins with the namespaces that are there. */
static bool watches_protobuf(const struct target *t)
{
    return answers_protobuf(t, "/api/v1/namespaces?watch=1&timeoutSeconds=1",
                            PODS_PROTOBUF ";stream=watch");
}

/* The first of the Pods are in `ns` for good; those of the other rounds cost as much. */
static void writes(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    double pods_us[ROUNDS_MAX], maps_us[ROUNDS_MAX];
    struct pods p = {.ns = NS, .prefix = "p"};

    make_namespace(t, NS);
    for (size_t i = 0; i < sizes->rounds; i++) {
        char prefix[16];

        snprintf(prefix, sizeof(prefix), "p%zu", i);
        p.prefix = prefix;
        pods_us[i] = run(t, WRITERS, sizes->pods / sizes->rounds, pods_write_create, &p);
        maps_us[i] = run(t, WRITERS, sizes->pods / sizes->rounds, pods_write_config_map, &p);
    }
    f->create_us = median(pods_us, sizes->rounds);
    f->config_map_us = median(maps_us, sizes->rounds);
    f->service_us = create_services(t, sizes->services);
    p.prefix = "patched";
    make_namespace(t, "patches");
    p.ns = "patches";
    (void)run(t, WRITERS, sizes->patches, pods_write_create, &p);
    f->patch_us = run(t, WRITERS, sizes->patches, pods_write_patch, &p);
}

/* Each round has a namespace of its own: a watch begins with what is there. */
static double deliver(const struct sizes *sizes, const struct target *t, bool is_protobuf,
                      size_t round)
{
    char ns[32], path[128];
    struct pods p = {.ns = ns, .prefix = "f"};
    const struct requests r = {
        .target = t, .conns = WRITERS, .n = sizes->burst, .write = pods_write_create, .arg = &p};
    struct client *client = client_open();
    struct watchers *w;
    double us;

    snprintf(ns, sizeof(ns), "fan-%zu-%s", round, is_protobuf ? "protobuf" : "json");
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", ns);
    make_namespace(t, ns);
    w = watchers_open_at(client, t, path, is_protobuf, sizes->watchers);
    us = fanout_burst(w, &r).cpu_us;
    watchers_close(w);
    client_close(client);
    return us;
}

/* In turns, so that what else the machine does falls on both forms. */
static void deliveries(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    double json[ROUNDS_MAX] = {0}, protobuf[ROUNDS_MAX] = {0};
    bool has_protobuf = watches_protobuf(t);

    for (size_t i = 0; i < sizes->rounds; i++) {
        json[i] = deliver(sizes, t, false, i);
        protobuf[i] = has_protobuf ? deliver(sizes, t, true, i) : NAN;
    }
    f->json_watch_us = median(json, sizes->rounds);
    if (has_protobuf)
        f->protobuf_watch_us = median(protobuf, sizes->rounds);
}

static double list_ms(const struct target *t, size_t n, const char *accept)
{
    struct pods p = {.ns = NS, .accept = accept};

    return run(t, 1, n, pods_write_list, &p) / 1e3;
}

/* A list as kubectl asks for it: a page of Pods as a Table. */
static double table_ms(const struct target *t, size_t n)
{
    struct pods p = {.ns = NS, .accept = PODS_TABLE, .limit = TABLE_PODS};

    (void)run(t, 1, 1, pods_write_list, &p);
    return run(t, 1, n, pods_write_list, &p) / 1e3;
}

static void save(const struct target *t, write_cb write, void *arg, const char *dir,
                 const char *name)
{
    struct cor_buf body;
    const struct requests r = {
        .target = t, .conns = 1, .n = 1, .write = write, .arg = arg, .save = &body};
    struct client *client = client_open();
    char file[2 * DIR_MAX];
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

static const char *find_nginx(void)
{
    static const char *const places[] = {"/usr/sbin/nginx", "/usr/bin/nginx",
                                         "/usr/local/sbin/nginx"};

    for (size_t i = 0; i < COR_ARRAY_LEN(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    say("nginx: skipped; it is not installed");
    return NULL;
}

/* Lists and OpenAPI documents from what is kept, in turns with nginx. */
static struct nginx_figures kept_bytes(const struct sizes *sizes, const char *dir,
                                       const struct target *t, struct figures *f)
{
    const struct target_program program = {.program = find_nginx()};
    double lists[ROUNDS_MAX], their_lists[ROUNDS_MAX], docs[ROUNDS_MAX], their_docs[ROUNDS_MAX];
    char own[DIR_MAX], www[DIR_MAX + 8], pki[DIR_MAX + 32];
    struct pods pods = {.ns = NS, .prefix = "p0", .accept = PODS_PROTOBUF};
    struct request_path list = {"/list"}, doc = {"/openapi"}, openapi = {OPENAPI_PATH};
    struct target nginx;

    snprintf(own, sizeof(own), "%s/nginx", dir);
    snprintf(www, sizeof(www), "%s/www", own);
    snprintf(pki, sizeof(pki), "%s/coracle/data/pki", dir);
    mkdir(own, 0755);
    mkdir(www, 0755);
    save(t, pods_write_list, &pods, own, "list");
    save(t, pods_write_get, &pods, own, "get");
    save(t, request_write_get, &openapi, own, "openapi");
    if (program.program)
        target_start_nginx(&program, own, pki, &nginx);
    for (size_t i = 0; i < sizes->rounds; i++) {
        lists[i] = list_ms(t, sizes->lists, PODS_PROTOBUF);
        docs[i] = run(t, 1, sizes->documents, request_write_get, &openapi);
        if (program.program) {
            their_lists[i] = run(&nginx, 1, sizes->lists, request_write_get, &list) / 1e3;
            their_docs[i] = run(&nginx, 1, sizes->documents, request_write_get, &doc);
        }
    }
    f->kept_ms = median(lists, sizes->rounds);
    f->openapi_us = median(docs, sizes->rounds);
    if (!program.program)
        return (struct nginx_figures){NAN, NAN};
    target_stop(&nginx);
    return (struct nginx_figures){median(their_lists, sizes->rounds),
                                  median(their_docs, sizes->rounds)};
}

/* A server that has just read its store keeps no protobuf of the Pods, and no documents. */
static void first_answers(const struct sizes *sizes, const struct target_program *program,
                          const char *dir, struct target *t, struct figures *f)
{
    struct request_path openapi = {OPENAPI_PATH};
    double ms[ROUNDS_MAX], openapi_ms[ROUNDS_MAX];

    for (size_t i = 0; i < sizes->rounds; i++) {
        target_stop(t);
        target_start_coracle(program, dir, t);
        /* A list in JSON comes first: it does the work that a server does only once after its
         * start, which is not to be measured. */
        (void)list_ms(t, 1, NULL);
        ms[i] = list_ms(t, 1, PODS_PROTOBUF);
        openapi_ms[i] = run(t, 1, 1, request_write_get, &openapi) / 1e3;
    }
    f->transcoded_ms = median(ms, sizes->rounds);
    f->openapi_first_ms = median(openapi_ms, sizes->rounds);
}

static struct nginx_figures measure_coracle(const struct sizes *sizes, const char *program_path,
                                            const char *dir, struct figures *f)
{
    const struct target_program program = {.program = program_path};
    struct nginx_figures nginx = {NAN, NAN};
    char own[DIR_MAX];
    struct target t;

    say("coracle");
    *f = none;
    snprintf(own, sizeof(own), "%s/coracle", dir);
    target_start_coracle(&program, own, &t);
    writes(sizes, &t, f);
    deliveries(sizes, &t, f);
    f->list_ms = list_ms(&t, sizes->lists, NULL);
    f->table_ms = table_ms(&t, sizes->tables);
    if (lists_protobuf(&t)) {
        first_answers(sizes, &program, own, &t, f);
        nginx = kept_bytes(sizes, dir, &t, f);
    }
    target_stop(&t);
    return nginx;
}

static void measure_kube(const struct sizes *sizes, const char *dir, struct figures *f)
{
    struct request_path openapi = {OPENAPI_PATH};
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
    deliveries(sizes, &t, f);
    f->list_ms = list_ms(&t, sizes->lists, NULL);
    f->table_ms = table_ms(&t, sizes->tables);
    f->transcoded_ms = f->kept_ms = list_ms(&t, sizes->lists, PODS_PROTOBUF);
    f->openapi_us = run(&t, 1, sizes->documents, request_write_get, &openapi);
    target_stop(&t);
}

/* `peer` is what `value` is held against; `bar` is the largest ratio, NAN: none. True when it was
 * missed. A short run judges nothing. */
static bool print_row(bool is_short, const char *what, double value, double peer,
                      const char *peer_name, double bar)
{
    bool missed = !is_short && !isnan(value) && !isnan(peer) && value / peer > bar;

    printf("%-54s", what);
    if (isnan(value)) {
        printf(" is not there yet\n");
        return false;
    }
    printf(" %10.2f", value);
    if (isnan(peer))
        printf(" %10s %-12s", "-", peer_name);
    else
        printf(" %10.2f %-12s %6.3f", peer, peer_name, value / peer);
    if (!isnan(bar))
        printf("  <= %.3g%s", bar, missed ? "  MISSED" : isnan(peer) || is_short ? "" : "  ok");
    putchar('\n');
    return missed;
}

static bool print(bool is_short, const struct figures *c, const struct figures *k,
                  struct nginx_figures nginx)
{
    bool missed;

    printf("%-54s %10s %10s %12s %6s\n", "server CPU", "coracle", "peer", "", "ratio");
    missed = print_row(is_short, "create of a Pod with 40 fields, 16 writers, us", c->create_us,
                       k->create_us, "kube", CREATE_BAR);
    missed |= print_row(is_short, "  beside a ConfigMap of as many bytes, us", c->create_us,
                        c->config_map_us, "ConfigMap", CONFIG_MAP_BAR);
    missed |= print_row(is_short, "strategic merge patch of a Pod, 16 writers, us", c->patch_us,
                        k->patch_us, "kube", PATCH_BAR);
    missed |= print_row(is_short, "create of a Service, 16 writers, us on the clock", c->service_us,
                        k->service_us, "kube", SERVICE_BAR);
    missed |=
        print_row(is_short, "LIST of the Pods in JSON, ms", c->list_ms, k->list_ms, "kube", NAN);
    missed |= print_row(is_short, "LIST of 500 Pods as a Table, ms", c->table_ms, k->table_ms,
                        "kube", TABLE_BAR);
    missed |= print_row(is_short, "LIST in protobuf, transcoded, ms", c->transcoded_ms,
                        k->transcoded_ms, "kube", TRANSCODE_BAR);
    missed |= print_row(is_short, "LIST in protobuf, from what is kept, ms", c->kept_ms,
                        nginx.kept_ms, "nginx", KEPT_BAR);
    missed |= print_row(is_short, "a delivery to 1,000 watchers in JSON, us", c->json_watch_us,
                        k->json_watch_us, "kube", NAN);
    missed |= print_row(is_short, "a delivery to 1,000 watchers in protobuf, us",
                        c->protobuf_watch_us, c->json_watch_us, "in JSON", WATCH_BAR);
    missed |= print_row(is_short, "an OpenAPI document, the first time, ms", c->openapi_first_ms,
                        OPENAPI_MS, "at most", 1);
    missed |= print_row(is_short, "  from what is kept, us", c->openapi_us, nginx.openapi_us,
                        "nginx", OPENAPI_BAR);
    missed |= print_row(is_short, "  beside another server's, us", c->openapi_us, k->openapi_us,
                        "kube", NAN);
    return missed;
}

static void raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    bool is_short = false, is_strict = false;
    struct figures coracle, kube;
    struct nginx_figures nginx;

    for (int i = 3; i < argc; i++) {
        is_short |= strcmp(argv[i], "--short") == 0;
        is_strict |= strcmp(argv[i], "--strict") == 0;
    }
    if (argc < 3 || argc > 3 + is_short + is_strict) {
        fprintf(stderr, "usage: bench_types CORACLE DATA_DIR [--short] [--strict]\n");
        return 2;
    }
    raise_file_limit();
    nginx = measure_coracle(is_short ? &brief : &whole, argv[1], argv[2], &coracle);
    measure_kube(is_short ? &brief : &slow, argv[2], &kube);
    return print(is_short, &coracle, &kube, nginx) && is_strict ? 1 : 0;
}
