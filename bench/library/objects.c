/* clang-format off */
/* What a cached object costs a client: CPU from a list's bytes to the cache, and memory, whole and
 * with three projected fields. No network: an informer is fed from bytes in memory, in the pieces
 * in which a connection gives them.
 *
 *   objects [--memory] [N]     --memory: exit status 1 when a bar is missed */
/* clang-format on */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "cache/informers/shared_informer.h"
#include "coracle/projection.h"
#include "measure.h"
#include "meta/object/object_received.h"
#include "json/text/splitter.h"

#define BATCH       128
#define PIECE       16384
#define WHOLE_MAX   1800.0
#define KEPT_MAX    300.0
#define CPU_MAX_US  5.0
#define PADDING_MAX 2048

struct feed {
    struct cor_reflector_driver driver;
    struct cor_shared_informer *inf;
    struct cor_object *objects[BATCH];
    size_t n;
    bool is_asked;
};

static void on_list(struct cor_reflector_driver *driver, const struct cor_list_options *opts)
{
    ((struct feed *)driver)->is_asked = true;
}

static void on_watch(struct cor_reflector_driver *driver, const struct cor_list_options *opts,
                     uint32_t timeout_s)
{
}

static void on_cancel(struct cor_reflector_driver *driver)
{
}

static void on_wake_at(struct cor_reflector_driver *driver, uint64_t at_ms)
{
}

static const struct cor_reflector_driver_ops ops = {on_list, on_watch, on_cancel, on_wake_at};

static void must(int r, const char *what)
{
    if (r < 0) {
        fprintf(stderr, "%s: %d\n", what, r);
        exit(2);
    }
}

static void give_page(struct feed *f, bool more)
{
    struct cor_list_page page = {.objects = f->objects,
                                 .n = f->n,
                                 .more_parts = more,
                                 .resource_version = COR_STR("1000000"),
                                 .continue_token = COR_STR("")};

    cor_reflector_list_page(cor_shared_informer_reflector(f->inf),
                            cor_clock_mono_ms(cor_clock_real()), &page);
    for (size_t i = 0; i < f->n; i++)
        cor_object_unref(f->objects[i]);
    f->n = 0;
}

static int on_item(void *arg, struct cor_str json)
{
    struct feed *f = arg;

    must(cor_object_received(json, COR_STR("Pod"), COR_STR("v1"), &f->objects[f->n++], NULL),
         "receive");
    if (f->n == BATCH)
        give_page(f, true);
    return 0;
}

static int on_member(void *arg, struct cor_str key, struct cor_str value)
{
    return 0;
}

/* A pod of about 1.5 KB in the order in which kube-apiserver writes it. */
static void add_pod(struct cor_buf *out, unsigned i)
{
    must(
        cor_buf_addf(
            out,
            "{\"metadata\":{\"name\":\"pod-%06u\",\"generateName\":\"pod-\",\"namespace\":\"default\","
            "\"uid\":\"%08x-1c6e-4d3c-9d5e-3b0a51c1f001\",\"resourceVersion\":\"%u\","
            "\"creationTimestamp\":\"2026-11-15T09:00:00Z\",\"labels\":{\"app\":\"web-%u\","
            "\"pod-template-hash\":\"6d4cf56db6\"},\"annotations\":{\"note\":\"%.*s\"}},"
            "\"spec\":{\"volumes\":[{\"name\":\"token\",\"projected\":{\"sources\":[{\"serviceAccountToken\":"
            "{\"expirationSeconds\":3607,\"path\":\"token\"}}],\"defaultMode\":420}}],\"containers\":[{"
            "\"name\":\"web\",\"image\":\"registry.k8s.io/nginx:1.27\",\"ports\":[{\"containerPort\":80,"
            "\"protocol\":\"TCP\"}],\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"128Mi\"}},"
            "\"imagePullPolicy\":\"IfNotPresent\"}],\"restartPolicy\":\"Always\",\"dnsPolicy\":\"ClusterFirst\","
            "\"serviceAccountName\":\"default\",\"nodeName\":\"node-%03u\",\"schedulerName\":"
            "\"default-scheduler\",\"priority\":0,\"enableServiceLinks\":true},\"status\":{\"phase\":\"Running\","
            "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"lastProbeTime\":null}],\"hostIP\":"
            "\"10.1.0.%u\",\"podIP\":\"10.0.%u.%u\"}},",
            i, i, i + 1000, i % 100, 360,
            "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore "
            "et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut "
            "aliquip ex ea commodo consequat. Duis aute irure dolor in reprehenderit in voluptate velit esse "
            "cillum dolore eu fugiat nulla pariatur. Excepteur sint occaecat cupidatat non proident, sunt in.",
            i % 250, i % 250, i / 250 % 250, i % 250),
        "pod");
}

static uint64_t rss_anon(void)
{
    char line[256];
    unsigned long kb = 0;
    FILE *in = fopen("/proc/self/status", "re");

    while (in && fgets(line, sizeof(line), in))
        if (strncmp(line, "RssAnon:", 8) == 0)
            kb = strtoul(line + 8, NULL, 10);
    if (in)
        fclose(in);
    return (uint64_t)kb * 1024;
}

struct result {
    double bytes, cpu_us, json_bytes;
};

/* The bytes of the list are made piece by piece, so that they are not in the measurement. */
static struct result sync_with(struct feed *f, unsigned n)
{
    static const struct cor_json_splitter_cbs cbs = {on_item, on_member};
    struct cor_json_splitter splitter;
    struct cor_buf text;
    struct result res = {0};
    uint64_t cpu = 0, before;

    cor_json_splitter_init(&splitter, COR_JSON_SPLIT_ITEMS, 1 << 20, &cbs, f);
    cor_buf_init(&text, PIECE + PADDING_MAX);
    must(cor_buf_addz(&text, "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"items\":["), "text");
    for (unsigned i = 0; i < n; i++) {
        add_pod(&text, i);
        if (text.n < PIECE && i + 1 < n)
            continue;
        if (i + 1 == n)
            text.n--;
        res.json_bytes += (double)text.n / n;
        before = measure_cpu_ns();
        must(cor_json_splitter_feed(&splitter, cor_buf_str(&text)), "split");
        cpu += measure_cpu_ns() - before;
        cor_buf_reset(&text);
    }
    before = measure_cpu_ns();
    must(cor_json_splitter_feed(&splitter, COR_STR("]}")), "split");
    give_page(f, false);
    while (cor_shared_informer_step(f->inf, 1000))
        ;
    cpu += measure_cpu_ns() - before;
    cor_json_splitter_deinit(&splitter);
    cor_buf_deinit(&text);
    res.cpu_us = (double)cpu / 1000 / n;
    return res;
}

static struct result measure(const struct cor_projection *projection, unsigned n)
{
    struct feed f = {.driver = {&ops}};
    struct cor_cache_controller_opts opts = {.driver = &f.driver};
    struct result res;
    uint64_t empty;

    if (projection) {
        opts.transform = cor_projection_transform;
        opts.arg = (void *)projection;
    }
    must(cor_shared_informer_new(&opts, &f.inf), "informer");
    cor_shared_informer_start(f.inf);
    empty = rss_anon();
    res = sync_with(&f, n);
    res.bytes = (double)(rss_anon() - empty) / n;
    if (!f.is_asked || cor_indexer_len(cor_shared_informer_indexer(f.inf)) != n)
        must(-1, "sync");
    cor_shared_informer_stop(f.inf);
    cor_shared_informer_free(f.inf);
    return res;
}

/* In a process of its own: what one run leaves behind is not the other's. */
static struct result measure_apart(const struct cor_projection *projection, unsigned n)
{
    struct result res = {0};
    int fds[2], status;
    pid_t pid;

    must(pipe(fds), "pipe");
    pid = fork();
    must(pid, "fork");
    if (pid == 0) {
        res = measure(projection, n);
        _exit(write(fds[1], &res, sizeof(res)) == sizeof(res) ? 0 : 1);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0 ||
        read(fds[0], &res, sizeof(res)) != sizeof(res))
        must(-1, "measure");
    return res;
}

int main(int argc, char **argv)
{
    static const struct cor_str fields[] = {COR_STR("spec.nodeName"), COR_STR("status.phase"),
                                            COR_STR("status.podIP")};
    const struct cor_projection_opts opts = {COR_PROJECTION_OPTS, .fields = fields, .nfields = 3};
    bool memory_only = argc > 1 && strcmp(argv[1], "--memory") == 0;
    unsigned n =
        argc > 1 + memory_only ? (unsigned)strtoul(argv[1 + memory_only], NULL, 10) : 100000;
    struct cor_projection *projection;
    struct result whole, kept;
    bool missed;

    must(cor_projection_new(&opts, &projection, NULL), "projection");
    whole = measure_apart(NULL, n);
    kept = measure_apart(projection, n);
    cor_projection_free(projection);
    printf("# %u objects, %.0f bytes of JSON each\n", n, whole.json_bytes);
    measure_header();
    missed = measure_row(&(struct measure_row){.what = "memory per object, whole",
                                               .unit = "B",
                                               .value = whole.bytes,
                                               .peer = NAN,
                                               .bar = WHOLE_MAX});
    missed |= measure_row(&(struct measure_row){.what = "memory per object, three fields",
                                                .unit = "B",
                                                .value = kept.bytes,
                                                .peer = NAN,
                                                .bar = KEPT_MAX});
    if (!memory_only) {
        measure_row(&(struct measure_row){.what = "sync, CPU per object, whole",
                                          .unit = "us",
                                          .value = whole.cpu_us,
                                          .peer = NAN,
                                          .bar = CPU_MAX_US});
        measure_row(&(struct measure_row){.what = "sync, CPU per object, three fields",
                                          .unit = "us",
                                          .value = kept.cpu_us,
                                          .peer = NAN,
                                          .bar = CPU_MAX_US});
    }
    return memory_only && missed;
}
