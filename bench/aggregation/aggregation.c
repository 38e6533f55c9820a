/* clang-format off */
/* ./dev bench aggregation: what it costs to proxy for another API server, beside an nginx that
 * proxies for the same one. docs/internals/performance.md says how to read it.
 *
 *   bench_aggregation CORACLE DATA_DIR [--short] [--strict]
 *
 *   client ──TLS──► Coracle, as the front ──TLS──► nginx with a group of files     GET, LIST
 *   client ──TLS──► nginx, as a proxy     ──TLS──► the same nginx
 *   client ──TLS──► Coracle, as the front ──TLS──► Coracle with a custom resource  idle watches
 *
 * Everything speaks HTTP/1.1: nginx 1.22 proxies nothing else. Connections to the server behind are
 * kept by both. A failure ends the program with words (process.h). Thread: one. */
/* clang-format on */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "asker.h"
#include "client.h"
#include "process.h"
#include "requests.h"
#include "versus.h"
#include "watchers.h"

#define PATH_BYTES   1200
#define TEXT_MAX     (32u << 20)
#define GROUP_PATH   "/apis/bench.example.com/v1"
#define SERVICES     "/apis/apiregistration.k8s.io/v1/apiservices"
#define OBJECT_BYTES 1200
#define POLL_NS      2000000
#define POLLS_MAX    15000
/* What must hold. */
#define PROXY_BAR    1.5
#define WATCH_KB_BAR 45.0

struct sizes {
    size_t rounds, gets, pages, lists, objects, page, watches;
};

static const struct sizes whole = {.rounds = 5,
                                   .gets = 20000,
                                   .pages = 400,
                                   .lists = 30,
                                   .objects = 10000,
                                   .page = 500,
                                   .watches = 2000};
static const struct sizes brief = {
    .rounds = 1, .gets = 20, .pages = 2, .lists = 1, .objects = 100, .page = 10, .watches = 20};

/* NAN: not measured. Server CPU of a request, in us. */
struct figures {
    double get_us, page_us, list_us;
};

static void write_list(const char *path, size_t n)
{
    FILE *f = fopen(path, "we");

    if (!f)
        die("cannot write %s", path);
    fprintf(f, "{\"kind\":\"ThingList\",\"apiVersion\":\"bench.example.com/v1\","
               "\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[");
    for (size_t i = 0; i < n; i++)
        fprintf(f, "%s{\"metadata\":{\"name\":\"thing-%06zu\"},\"text\":\"%0*d\"}", i ? "," : "", i,
                OBJECT_BYTES - 60, 0);
    fprintf(f, "]}");
    if (fclose(f) != 0)
        die("cannot write %s", path);
}

/* The server behind: a group version whose lists are files. */
static void start_behind(const struct versus *v, const struct sizes *sizes, const char *nginx,
                         const char *pki, struct target *ret)
{
    const struct target_program program = {.program = nginx};
    char dir[PATH_BYTES], www[PATH_BYTES + 64], path[2 * PATH_BYTES], server[2 * PATH_BYTES];
    const struct target_nginx what = {.http = "", .server = server, .probe = GROUP_PATH};

    snprintf(dir, sizeof(dir), "%s/behind", v->dir);
    snprintf(www, sizeof(www), "%s/www", dir);
    mkdir(dir, 0700);
    mkdir(www, 0700);
    snprintf(path, sizeof(path), "%s/get", www);
    write_list(path, 1);
    snprintf(path, sizeof(path), "%s/page", www);
    write_list(path, sizes->page);
    snprintf(path, sizeof(path), "%s/list", www);
    write_list(path, sizes->objects);
    snprintf(server, sizeof(server),
             "  location = " GROUP_PATH " { return 200 '{\"kind\":\"APIResourceList\","
             "\"apiVersion\":\"v1\",\"groupVersion\":\"bench.example.com/v1\",\"resources\":[]}'; "
             "}\n  location " GROUP_PATH "/ { alias \"%s/\"; }\n",
             www);
    target_start_nginx_as(&program, &what, dir, pki, ret);
}

static void start_nginx_front(const struct versus *v, const char *nginx, const char *pki,
                              const struct target *behind, struct target *ret)
{
    const struct target_program program = {.program = nginx};
    char dir[PATH_BYTES], http[PATH_BYTES];
    const struct target_nginx what = {
        .http = http,
        .server = "  location / { proxy_pass https://behind; proxy_http_version 1.1;\n"
                  "   proxy_set_header Connection ''; proxy_ssl_session_reuse on; }\n",
        .probe = GROUP_PATH};

    snprintf(dir, sizeof(dir), "%s/nginx", v->dir);
    snprintf(http, sizeof(http),
             " upstream behind { server 127.0.0.1:%u; keepalive 64; "
             "keepalive_requests 100000000; }\n",
             behind->port);
    target_start_nginx_as(&program, &what, dir, pki, ret);
}

/* Registers the group at the front, with a name that stands for this machine as its service, and
 * returns when it is proxied. */
static void aggregate(struct asker *front, const struct target *behind)
{
    char body[PATH_BYTES];

    asker_must(front, "POST", "/api/v1/namespaces/default/services",
               "{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"behind\"},"
               "\"spec\":{\"type\":\"ExternalName\",\"externalName\":\"localhost\"}}");
    snprintf(body, sizeof(body),
             "{\"kind\":\"APIService\",\"apiVersion\":\"apiregistration.k8s.io/v1\",\"metadata\":{"
             "\"name\":\"v1.bench.example.com\"},\"spec\":{\"group\":\"bench.example.com\","
             "\"version\":\"v1\",\"groupPriorityMinimum\":1000,\"versionPriority\":10,"
             "\"insecureSkipTLSVerify\":true,\"service\":{\"namespace\":\"default\","
             "\"name\":\"behind\",\"port\":%u}}}",
             behind->port);
    asker_must(front, "POST", SERVICES, body);
    for (size_t i = 0; asker_ask(front, "GET", GROUP_PATH, "") != 200; i++) {
        if (i == POLLS_MAX)
            die("the group is not proxied: %d", front->status);
        asker_pause(POLL_NS);
    }
}

static double get(const struct target *t, size_t conns, size_t n, const char *name)
{
    char text[PATH_BYTES];
    struct request_path path = {text};

    snprintf(text, sizeof(text), GROUP_PATH "/%s", name);
    return versus_run(t, conns, n, request_write_get, &path);
}

static void measure_reads(const struct sizes *sizes, const struct target *const *fronts,
                          struct figures *ret)
{
    double v[2][3][VERSUS_ROUNDS_MAX];

    for (size_t i = 0; i < sizes->rounds; i++) {
        for (size_t k = 0; k < 2; k++) {
            v[k][0][i] = get(fronts[k], VERSUS_WRITERS, sizes->gets, "get");
            v[k][1][i] = get(fronts[k], 1, sizes->pages, "page");
            v[k][2][i] = get(fronts[k], 1, sizes->lists, "list");
        }
    }
    for (size_t k = 0; k < 2; k++)
        ret[k] = (struct figures){versus_median(v[k][0], sizes->rounds),
                                  versus_median(v[k][1], sizes->rounds),
                                  versus_median(v[k][2], sizes->rounds)};
}

static void reads(struct versus *v, const struct sizes *sizes)
{
    const char *nginx = target_find_nginx();
    struct target front, behind, peer;
    const struct target *const fronts[] = {&front, &peer};
    struct figures f[2];
    struct asker asker;
    char pki[PATH_BYTES];

    if (!nginx) {
        versus_say("GET and LIST: skipped; nginx is not installed");
        return;
    }
    versus_say("GET and LIST");
    versus_start_coracle(v, &front);
    snprintf(pki, sizeof(pki), "%s/coracle/data/pki", v->dir);
    start_behind(v, sizes, nginx, pki, &behind);
    start_nginx_front(v, nginx, pki, &behind, &peer);
    asker_open(&asker, &front);
    aggregate(&asker, &behind);
    measure_reads(sizes, fronts, f);
    asker_close(&asker);
    target_stop(&front);
    target_stop(&peer);
    target_stop(&behind);
    versus_print_head("proxied, server CPU in us");
    versus_print(v, "GET", f[0].get_us, f[1].get_us, "nginx", PROXY_BAR);
    versus_print(v, "LIST limit=500", f[0].page_us, f[1].page_us, "nginx", PROXY_BAR);
    versus_print(v, "LIST 10,000", f[0].list_us, f[1].list_us, "nginx", PROXY_BAR);
}

static void define(struct asker *behind)
{
    asker_must(behind, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
               "{\"kind\":\"CustomResourceDefinition\",\"apiVersion\":\"apiextensions.k8s.io/v1\","
               "\"metadata\":{\"name\":\"things.bench.example.com\"},\"spec\":{"
               "\"group\":\"bench.example.com\",\"scope\":\"Cluster\",\"names\":{"
               "\"plural\":\"things\",\"kind\":\"Thing\"},\"versions\":[{\"name\":\"v1\","
               "\"served\":true,\"storage\":true,\"schema\":{\"openAPIV3Schema\":{"
               "\"type\":\"object\"}}}]}}");
    for (size_t i = 0; asker_ask(behind, "GET", GROUP_PATH "/things", "") != 200; i++) {
        if (i == POLLS_MAX)
            die("the custom resource is not served: %d", behind->status);
        asker_pause(POLL_NS);
    }
}

/* The server behind believes the users that the front names. */
static void watches(struct versus *v, const struct sizes *sizes)
{
    char dir[PATH_BYTES], flag[2 * PATH_BYTES];
    const struct target_program front_program = {.program = v->program};
    const struct target_program behind_program = {.program = v->program, .flag = flag};
    struct target front, behind;
    struct asker asker, behind_asker;
    struct client *client;
    struct watchers *watchers;
    double before_mb, kb;

    versus_say("idle watches");
    snprintf(dir, sizeof(dir), "%s/watch-front", v->dir);
    target_start_coracle(&front_program, dir, &front);
    snprintf(flag, sizeof(flag), "--requestheader-client-ca-file=%s/data/pki/front-proxy-ca.crt",
             dir);
    snprintf(dir, sizeof(dir), "%s/watch-behind", v->dir);
    target_start_coracle(&behind_program, dir, &behind);
    asker_open(&asker, &front);
    asker_open(&behind_asker, &behind);
    define(&behind_asker);
    aggregate(&asker, &behind);
    before_mb = asker_memory_at_rest(&front);
    client = client_open();
    watchers = watchers_open_at(client, &front, GROUP_PATH "/things", false, sizes->watches);
    kb = (asker_memory_at_rest(&front) - before_mb) * 1e3 / (double)sizes->watches;
    watchers_close(watchers);
    client_close(client);
    asker_close(&behind_asker);
    asker_close(&asker);
    target_stop(&front);
    target_stop(&behind);
    versus_print_head("memory in KB");
    versus_print(v, "a proxied idle watch", kb, WATCH_KB_BAR, "bar", 1);
}

int main(int argc, char **argv)
{
    struct versus v = versus_read(argc, argv);
    const struct sizes *sizes = v.is_short ? &brief : &whole;

    reads(&v, sizes);
    watches(&v, sizes);
    return versus_status(&v);
}
