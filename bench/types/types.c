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
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"
#include "pods.h"
#include "process.h"
#include "requests.h"
#include "versus.h"
#include "watchers.h"

#define LIST_MAX (256u * 1024 * 1024)
#define PROBE_MS 60000
#define NS       "bench"
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

/* Creates Services with 16 writers: the time between two answers in µs. */
static double create_services(const struct target *t, size_t n)
{
    struct pods p = {.ns = NS, .prefix = "s"};
    const struct requests r = {
        .target = t, .conns = VERSUS_WRITERS, .n = n, .write = pods_write_service, .arg = &p};
    struct client *client = client_open();
    struct requests_result result = requests_run(client, &r);

    client_close(client);
    return 1e6 / result.per_second;
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
    double pods_us[VERSUS_ROUNDS_MAX], maps_us[VERSUS_ROUNDS_MAX];
    struct pods p = {.ns = NS, .prefix = "p"};

    versus_make_namespace(t, NS);
    for (size_t i = 0; i < sizes->rounds; i++) {
        char prefix[16];

        snprintf(prefix, sizeof(prefix), "p%zu", i);
        p.prefix = prefix;
        pods_us[i] =
            versus_run(t, VERSUS_WRITERS, sizes->pods / sizes->rounds, pods_write_create, &p);
        maps_us[i] =
            versus_run(t, VERSUS_WRITERS, sizes->pods / sizes->rounds, pods_write_config_map, &p);
    }
    f->create_us = versus_median(pods_us, sizes->rounds);
    f->config_map_us = versus_median(maps_us, sizes->rounds);
    f->service_us = create_services(t, sizes->services);
    p.prefix = "patched";
    versus_make_namespace(t, "patches");
    p.ns = "patches";
    (void)versus_run(t, VERSUS_WRITERS, sizes->patches, pods_write_create, &p);
    f->patch_us = versus_run(t, VERSUS_WRITERS, sizes->patches, pods_write_patch, &p);
}

/* Each round has a namespace of its own: a watch begins with what is there. */
static double deliver(const struct sizes *sizes, const struct target *t, bool is_protobuf,
                      size_t round)
{
    char ns[32], path[128];
    struct pods p = {.ns = ns, .prefix = "f"};
    const struct requests r = {.target = t,
                               .conns = VERSUS_WRITERS,
                               .n = sizes->burst,
                               .write = pods_write_create,
                               .arg = &p};
    struct client *client = client_open();
    struct watchers *w;
    double us;

    snprintf(ns, sizeof(ns), "fan-%zu-%s", round, is_protobuf ? "protobuf" : "json");
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", ns);
    versus_make_namespace(t, ns);
    w = watchers_open_at(client, t, path, is_protobuf, sizes->watchers);
    us = fanout_burst(w, &r).cpu_us;
    watchers_close(w);
    client_close(client);
    return us;
}

/* In turns, so that what else the machine does falls on both forms. */
static void deliveries(const struct sizes *sizes, const struct target *t, struct figures *f)
{
    double json[VERSUS_ROUNDS_MAX] = {0}, protobuf[VERSUS_ROUNDS_MAX] = {0};
    bool has_protobuf = watches_protobuf(t);

    for (size_t i = 0; i < sizes->rounds; i++) {
        json[i] = deliver(sizes, t, false, i);
        protobuf[i] = has_protobuf ? deliver(sizes, t, true, i) : NAN;
    }
    f->json_watch_us = versus_median(json, sizes->rounds);
    if (has_protobuf)
        f->protobuf_watch_us = versus_median(protobuf, sizes->rounds);
}

static double list_ms(const struct target *t, size_t n, const char *accept)
{
    struct pods p = {.ns = NS, .accept = accept};

    return versus_run(t, 1, n, pods_write_list, &p) / 1e3;
}

/* A list as kubectl asks for it: a page of Pods as a Table. */
static double table_ms(const struct target *t, size_t n)
{
    struct pods p = {.ns = NS, .accept = PODS_TABLE, .limit = TABLE_PODS};

    (void)versus_run(t, 1, 1, pods_write_list, &p);
    return versus_run(t, 1, n, pods_write_list, &p) / 1e3;
}

static void save(const struct target *t, versus_write_cb write, void *arg, const char *dir,
                 const char *name)
{
    struct cor_buf body;
    char file[2 * VERSUS_DIR_MAX];
    FILE *f;

    cor_buf_init(&body, LIST_MAX);
    versus_save(t, write, arg, &body);
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
    versus_say("nginx: skipped; it is not installed");
    return NULL;
}

/* Lists and OpenAPI documents from what is kept, in turns with nginx. */
static struct nginx_figures kept_bytes(const struct sizes *sizes, const char *dir,
                                       const struct target *t, struct figures *f)
{
    const struct target_program program = {.program = find_nginx()};
    double lists[VERSUS_ROUNDS_MAX], their_lists[VERSUS_ROUNDS_MAX], docs[VERSUS_ROUNDS_MAX],
        their_docs[VERSUS_ROUNDS_MAX];
    char own[VERSUS_DIR_MAX], www[VERSUS_DIR_MAX + 8], pki[VERSUS_DIR_MAX + 32];
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
        docs[i] = versus_run(t, 1, sizes->documents, request_write_get, &openapi);
        if (program.program) {
            their_lists[i] = versus_run(&nginx, 1, sizes->lists, request_write_get, &list) / 1e3;
            their_docs[i] = versus_run(&nginx, 1, sizes->documents, request_write_get, &doc);
        }
    }
    f->kept_ms = versus_median(lists, sizes->rounds);
    f->openapi_us = versus_median(docs, sizes->rounds);
    if (!program.program)
        return (struct nginx_figures){NAN, NAN};
    target_stop(&nginx);
    return (struct nginx_figures){versus_median(their_lists, sizes->rounds),
                                  versus_median(their_docs, sizes->rounds)};
}

/* A server that has just read its store keeps no protobuf of the Pods, and no documents. */
static void first_answers(const struct versus *v, const struct sizes *sizes, struct target *t,
                          struct figures *f)
{
    struct request_path openapi = {OPENAPI_PATH};
    double ms[VERSUS_ROUNDS_MAX], openapi_ms[VERSUS_ROUNDS_MAX];

    for (size_t i = 0; i < sizes->rounds; i++) {
        target_stop(t);
        versus_start_coracle(v, t);
        /* A list in JSON comes first: it does the work that a server does only once after its
         * start, which is not to be measured. */
        (void)list_ms(t, 1, NULL);
        ms[i] = list_ms(t, 1, PODS_PROTOBUF);
        openapi_ms[i] = versus_run(t, 1, 1, request_write_get, &openapi) / 1e3;
    }
    f->transcoded_ms = versus_median(ms, sizes->rounds);
    f->openapi_first_ms = versus_median(openapi_ms, sizes->rounds);
}

static struct nginx_figures measure_coracle(const struct versus *v, const struct sizes *sizes,
                                            struct figures *f)
{
    struct nginx_figures nginx = {NAN, NAN};
    struct target t;

    versus_say("coracle");
    *f = none;
    versus_start_coracle(v, &t);
    writes(sizes, &t, f);
    deliveries(sizes, &t, f);
    f->list_ms = list_ms(&t, sizes->lists, NULL);
    f->table_ms = table_ms(&t, sizes->tables);
    if (lists_protobuf(&t)) {
        first_answers(v, sizes, &t, f);
        nginx = kept_bytes(sizes, v->dir, &t, f);
    }
    target_stop(&t);
    return nginx;
}

static void measure_kube(const struct versus *v, const struct sizes *sizes, struct figures *f)
{
    struct request_path openapi = {OPENAPI_PATH};
    struct target t;

    *f = none;
    if (!versus_start_kube(v, &t))
        return;
    writes(sizes, &t, f);
    deliveries(sizes, &t, f);
    f->list_ms = list_ms(&t, sizes->lists, NULL);
    f->table_ms = table_ms(&t, sizes->tables);
    f->transcoded_ms = f->kept_ms = list_ms(&t, sizes->lists, PODS_PROTOBUF);
    f->openapi_us = versus_run(&t, 1, sizes->documents, request_write_get, &openapi);
    target_stop(&t);
}

static void print(struct versus *v, const struct figures *c, const struct figures *k,
                  struct nginx_figures nginx)
{
    versus_print_head("server CPU");
    versus_print(v, "create of a Pod with 40 fields, 16 writers, us", c->create_us, k->create_us,
                 "kube", CREATE_BAR);
    versus_print(v, "  beside a ConfigMap of as many bytes, us", c->create_us, c->config_map_us,
                 "ConfigMap", CONFIG_MAP_BAR);
    versus_print(v, "strategic merge patch of a Pod, 16 writers, us", c->patch_us, k->patch_us,
                 "kube", PATCH_BAR);
    versus_print(v, "create of a Service, 16 writers, us on the clock", c->service_us,
                 k->service_us, "kube", SERVICE_BAR);
    versus_print(v, "LIST of the Pods in JSON, ms", c->list_ms, k->list_ms, "kube", NAN);
    versus_print(v, "LIST of 500 Pods as a Table, ms", c->table_ms, k->table_ms, "kube", TABLE_BAR);
    versus_print(v, "LIST in protobuf, transcoded, ms", c->transcoded_ms, k->transcoded_ms, "kube",
                 TRANSCODE_BAR);
    versus_print(v, "LIST in protobuf, from what is kept, ms", c->kept_ms, nginx.kept_ms, "nginx",
                 KEPT_BAR);
    versus_print(v, "a delivery to 1,000 watchers in JSON, us", c->json_watch_us, k->json_watch_us,
                 "kube", NAN);
    versus_print(v, "a delivery to 1,000 watchers in protobuf, us", c->protobuf_watch_us,
                 c->json_watch_us, "in JSON", WATCH_BAR);
    versus_print(v, "an OpenAPI document, the first time, ms", c->openapi_first_ms, OPENAPI_MS,
                 "at most", 1);
    versus_print(v, "  from what is kept, us", c->openapi_us, nginx.openapi_us, "nginx",
                 OPENAPI_BAR);
    versus_print(v, "  beside another server's, us", c->openapi_us, k->openapi_us, "kube", NAN);
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
    struct versus v = versus_read(argc, argv);
    struct figures coracle, kube;
    struct nginx_figures nginx;

    raise_file_limit();
    nginx = measure_coracle(&v, v.is_short ? &brief : &whole, &coracle);
    measure_kube(&v, v.is_short ? &brief : &slow, &kube);
    print(&v, &coracle, &kube, nginx);
    return versus_status(&v);
}
