/* ./dev bench client: what the library costs a program, beside client-go in the same run against
 * the same server. docs/internals/performance.md says how to read it.
 *
 *   bench_client CORACLE SUBJECT DATA_DIR [--peer PROGRAM] [--rust PROGRAM] [--official PROGRAM]
 *     [--short] [--strict] */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "client.h"
#include "figures.h"
#include "pods.h"
#include "process.h"
#include "replay.h"
#include "requests.h"
#include "target.h"

#define WRITERS    16
#define PAYLOAD    1240
#define LOOKUPS    100000 /* the subjects' */
#define ANSWER_MAX (1u << 20)
#define PATH_MAX_  1024
#define PAUSE_US   500 /* between the events of reconciles */
#define EMPTY_NS   "empty"
#define SMALL_NS   "small"
#define LARGE_NS   "large"
#define ONE_OBJECT "/api/v1/namespaces/" SMALL_NS "/configmaps/o-1"

struct sizes {
    size_t small, large, events, queue, pods, reconciles, reads, rounds;
};

static const struct sizes whole = {10000, 100000, 100000, 1000000, 1000, 10000, 100000, 3};
static const struct sizes brief = {200, 300, 1000, 1000, 20, 1000, 100, 1};

struct bench {
    const struct sizes *sizes;
    const char *dir, *subject, *peer;
    const char *rust, *official; /* may be NULL, as `peer` */
    struct target_program coracle;
    char url[64], events_url[64], paced_url[64];
    struct figures figures;
};

/* What a subject printed; NAN where it did not. */
struct answer {
    double wall_ms, cpu_ms, running_bytes, bytes, peak_bytes, p50_us, p99_us;
};

/* One who is measured: which program, which of its informers, and where the figures go. */
struct side {
    const char *program, *kind;
    double *figures;
};

static void say(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
}

static void read_answer(const char *path, struct answer *ret)
{
    const struct {
        const char *name;
        double *to;
    } fields[] = {{"wall_ms", &ret->wall_ms},
                  {"cpu_ms", &ret->cpu_ms},
                  {"running_bytes", &ret->running_bytes},
                  {"bytes", &ret->bytes},
                  {"peak_bytes", &ret->peak_bytes},
                  {"p50_us", &ret->p50_us},
                  {"p99_us", &ret->p99_us}};
    char name[64], number[64];
    FILE *f = fopen(path, "re");

    *ret = (struct answer){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    while (f && fscanf(f, "%63s %63s", name, number) == 2)
        for (size_t i = 0; i < COR_ARRAY_LEN(fields); i++)
            if (strcmp(name, fields[i].name) == 0)
                *fields[i].to = strtod(number, NULL);
    if (f)
        fclose(f);
}

static struct answer ask(const struct bench *b, const struct side *side, const char *work,
                         const char *ns, size_t n)
{
    char log[PATH_MAX_], count[32];
    const char *url = strcmp(work, "events") == 0 || strcmp(work, "watch") == 0 ? b->events_url
                      : strcmp(work, "reconcile") == 0                          ? b->paced_url
                                                                                : b->url;
    const char *argv[] = {side->program, work, side->kind, url, TARGET_TOKEN, ns, count, NULL};
    struct answer answer;
    int status;
    pid_t pid;

    snprintf(log, sizeof(log), "%s/answer", b->dir);
    snprintf(count, sizeof(count), "%zu", n);
    remove(log);
    pid = process_start(argv, log);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    read_answer(log, &answer);
    if (status != 0 || isnan(answer.cpu_ms))
        die("%s %s %s failed; see %s", side->program, work, side->kind, log);
    return answer;
}

static void take_least(double *figure, double v)
{
    if (isnan(*figure) || v < *figure)
        *figure = v;
}

static void take_most(double *figure, double v)
{
    if (isnan(*figure) || v > *figure)
        *figure = v;
}

static void sync_whole(const struct bench *b, const struct side *side)
{
    const struct sizes *sizes = b->sizes;
    struct answer none = ask(b, side, "sync", EMPTY_NS, 0);
    struct answer small = ask(b, side, "sync", SMALL_NS, sizes->small);
    struct answer large = ask(b, side, "sync", LARGE_NS, sizes->large);
    double n = (double)sizes->large;

    take_least(&side->figures[SMALL_CPU], small.cpu_ms);
    take_least(&side->figures[SMALL_WALL], small.wall_ms);
    take_least(&side->figures[LARGE_CPU], large.cpu_ms);
    take_least(&side->figures[LARGE_WALL], large.wall_ms);
    take_least(&side->figures[OBJECT_BYTES], (large.bytes - none.bytes) / n);
    take_least(&side->figures[RUNNING_BYTES], (large.running_bytes - none.running_bytes) / n);
}

static void sync_part(const struct bench *b, const struct side *side, enum figure cpu,
                      enum figure bytes)
{
    struct answer none = ask(b, side, "sync", EMPTY_NS, 0);
    struct answer large = ask(b, side, "sync", LARGE_NS, b->sizes->large);

    take_least(&side->figures[cpu], large.cpu_ms);
    take_least(&side->figures[bytes], (large.bytes - none.bytes) / (double)b->sizes->large);
}

/* Pods by the typed informer. */
static void sync_pods(const struct bench *b, const struct side *side)
{
    struct answer none = ask(b, side, "sync", EMPTY_NS, 0);
    struct answer pods = ask(b, side, "sync", PODS_NS, b->sizes->small);

    take_least(&side->figures[PODS_CPU], pods.cpu_ms);
    take_least(&side->figures[PODS_BYTES], (pods.bytes - none.bytes) / (double)b->sizes->small);
}

static void events(const struct bench *b, const struct side *side)
{
    size_t n = b->sizes->events;
    struct answer answer = ask(b, side, "events", "bench", n);

    take_most(&side->figures[EVENT_RATE], (double)n * 1e3 / answer.wall_ms);
    take_least(&side->figures[EVENT_CPU], answer.cpu_ms * 1e3 / (double)n);
}

static void reconciles(const struct bench *b, const struct side *side)
{
    size_t n = b->sizes->reconciles;
    struct answer answer = ask(b, side, "reconcile", "bench", n);

    take_least(&side->figures[RECONCILE_P50], answer.p50_us);
    take_least(&side->figures[RECONCILE_P99], answer.p99_us);
    take_least(&side->figures[RECONCILE_CPU], answer.cpu_ms * 1e3 / (double)n);
}

static void lookups_and_queue(const struct bench *b, const struct side *side)
{
    struct answer lookups = ask(b, side, "lookups", SMALL_NS, b->sizes->small);
    struct answer queue = ask(b, side, "queue", "", b->sizes->queue);

    take_most(&side->figures[LOOKUP_RATE], LOOKUPS * 1e3 / lookups.wall_ms);
    take_most(&side->figures[QUEUE_RATE], (double)b->sizes->queue * 1e3 / queue.wall_ms);
}

/* Ten fields of a pod of 2 KB: through views, or by decoding the pod. */
static void fields(const struct bench *b, const struct side *side)
{
    size_t n = b->sizes->reads;
    struct answer answer = ask(b, side, "fields", POD_FILE, n);

    take_least(&side->figures[FIELDS_CPU], answer.cpu_ms * 1e3 / (double)n);
}

/* The same pod into a struct of the language. */
static void decode(const struct bench *b, const struct side *side, enum figure figure)
{
    size_t n = b->sizes->reads / 10;
    struct answer answer = ask(b, side, "decode", POD_FILE, n);

    take_least(&side->figures[figure], answer.cpu_ms * 1e3 / (double)n);
}

/* What a program without an informer does: three figures from `cpu` on. */
static void short_program(const struct bench *b, const struct side *side, const char *work,
                          const char *ns, size_t n, enum figure cpu)
{
    struct answer answer = ask(b, side, work, ns, n);

    take_least(&side->figures[cpu], answer.cpu_ms);
    take_least(&side->figures[cpu + 1], answer.wall_ms);
    take_least(&side->figures[cpu + 2], answer.peak_bytes / 1e6);
}

static void short_programs(const struct bench *b, const struct side *side)
{
    short_program(b, side, "list", PODS_NS, b->sizes->small, LIST_CPU);
    short_program(b, side, "pages", PODS_NS, b->sizes->small, PAGES_CPU);
    short_program(b, side, "watch", "bench", b->sizes->events, WATCH_CPU);
}

/* The sides take turns, so that a busy moment of the machine does not hit one only. */
static void measure(struct bench *b)
{
    struct figures *f = &b->figures;
    const struct side coracle = {b->subject, "whole", f->coracle};
    const struct side pods = {b->subject, "pods", f->coracle};
    const struct side peer_pods = {b->peer, "pods", f->typed};
    const struct side projected = {b->subject, "projected", f->coracle};
    const struct side metadata = {b->subject, "metadata", f->coracle};
    const struct side typed = {b->peer, "typed", f->typed};
    const struct side dynamic = {b->peer, "dynamic", f->dynamic};
    const struct side rust = {b->rust, "typed", f->typed};
    const struct side official = {b->official, "pods", f->typed};
    const struct side peer_metadata = {b->peer, "metadata", f->typed};
    const struct side *const sides[] = {&coracle, &typed, &dynamic};

    for (size_t round = 0; round < b->sizes->rounds; round++) {
        /* The dynamic informer has no bar, and is slow: once. */
        size_t nsides = !b->peer ? 1 : round > 0 ? 2 : COR_ARRAY_LEN(sides);

        say("a round of syncs, events, reconciles, lookups and queues");
        for (size_t i = 0; i < nsides; i++) {
            sync_whole(b, sides[i]);
            events(b, sides[i]);
        }
        sync_pods(b, &pods);
        if (b->peer)
            sync_pods(b, &peer_pods);
        reconciles(b, &coracle);
        lookups_and_queue(b, &coracle);
        fields(b, &coracle);
        decode(b, &coracle, DECODE_CPU);
        f->coracle[SERDE_CPU] = f->coracle[DECODE_CPU];
        if (b->rust)
            decode(b, &rust, SERDE_CPU);
        short_programs(b, &pods);
        if (b->official)
            short_programs(b, &official);
        if (b->peer) {
            fields(b, &typed);
            decode(b, &typed, DECODE_CPU);
            reconciles(b, &typed);
            lookups_and_queue(b, &typed);
        }
    }
    say("projection and metadata only");
    sync_part(b, &projected, PROJECTED_CPU, PROJECTED_BYTES);
    sync_part(b, &metadata, METADATA_CPU, METADATA_BYTES);
    if (b->peer)
        sync_part(b, &peer_metadata, METADATA_CPU, METADATA_BYTES);
    f->coracle[AGENT_MB] = ask(b, &projected, "agent", "", b->sizes->pods).running_bytes / 1e6;
}

static void write_pod(struct cor_buf *out, size_t i, void *arg)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body;
    char padding[PAYLOAD] = "";
    int r;

    memset(padding, 'x', sizeof(padding) - 1);
    cor_buf_init(&body, ANSWER_MAX);
    r = cor_buf_addf(&body,
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p-%zu\","
                     "\"labels\":{\"app\":\"a%zu\"},\"annotations\":{\"note\":\"%s\"}},"
                     "\"spec\":{\"nodeName\":\"node-1\",\"containers\":[{\"name\":\"c\","
                     "\"image\":\"registry.example/app:1\"}]}}",
                     i, i % 100, padding);
    if (r == 0)
        r = cor_buf_addf(out,
                         "POST /api/v1/namespaces/default/pods HTTP/1.1\r\nHost: localhost\r\n"
                         "Authorization: Bearer " TARGET_TOKEN "\r\n"
                         "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                         body.n, cor_buf_z(&body));
    if (r < 0)
        die("a pod does not fit");
}

static void send_all(struct client *client, const struct target *t, size_t n,
                     void (*write)(struct cor_buf *out, size_t i, void *arg), void *arg)
{
    const struct requests r = {
        .target = t, .conns = n < WRITERS ? 1 : WRITERS, .n = n, .write = write, .arg = arg};

    (void)requests_run(client, &r);
}

static void fill_namespace(struct client *client, const struct target *t, const char *ns, size_t n)
{
    struct request_object o = {.ns = ns, .prefix = "o", .payload = PAYLOAD};

    send_all(client, t, 1, request_write_namespace, &o);
    if (n > 0)
        send_all(client, t, n, request_write_create, &o);
}

static void fill(struct bench *b, const struct target *t)
{
    struct client *client = client_open();
    struct request_path path = {ONE_OBJECT};
    const struct requests get = {
        .target = t, .conns = 1, .n = 1, .write = request_write_get, .arg = &path};

    say("filling the server");
    fill_namespace(client, t, EMPTY_NS, 0);
    fill_namespace(client, t, SMALL_NS, b->sizes->small);
    fill_namespace(client, t, LARGE_NS, b->sizes->large);
    fill_namespace(client, t, PODS_NS, 0);
    send_all(client, t, b->sizes->small, pods_write_create, NULL);
    send_all(client, t, b->sizes->small, pods_write_status, NULL);
    send_all(client, t, b->sizes->pods, write_pod, NULL);
    b->figures.json_bytes = (double)requests_run(client, &get).body_bytes;
    client_close(client);
}

static bool read_args(int argc, char **argv, struct bench *b, bool *ret_strict)
{
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "--strict") == 0)
            *ret_strict = true;
        else if (strcmp(argv[i], "--short") == 0)
            b->figures.is_short = true;
        else if (strcmp(argv[i], "--peer") == 0 && i + 1 < argc)
            b->peer = argv[++i];
        else if (strcmp(argv[i], "--rust") == 0 && i + 1 < argc)
            b->rust = argv[++i];
        else if (strcmp(argv[i], "--official") == 0 && i + 1 < argc)
            b->official = argv[++i];
        else
            return false;
    }
    return argc >= 4;
}

int main(int argc, char **argv)
{
    struct bench b = {.sizes = &whole};
    struct target server, replay, paced;
    bool strict = false, missed;
    char dir[PATH_MAX_];

    if (!read_args(argc, argv, &b, &strict)) {
        fprintf(stderr,
                "usage: bench_client CORACLE SUBJECT DATA_DIR [--peer PROGRAM] [--rust PROGRAM] "
                "[--official PROGRAM] [--short] [--strict]\n");
        return 2;
    }
    if (b.figures.is_short)
        b.sizes = &brief;
    b.coracle.program = argv[1];
    b.subject = argv[2];
    b.dir = argv[3];
    figures_clear(&b.figures);
    snprintf(dir, sizeof(dir), "%s/coracle", b.dir);
    target_start_coracle(&b.coracle, dir, &server);
    replay_start(b.sizes->events, PAYLOAD, 0, &replay);
    /* The first round is for warming up. */
    replay_start(b.sizes->reconciles + REPLAY_OBJECTS, PAYLOAD, PAUSE_US, &paced);
    snprintf(b.url, sizeof(b.url), "https://127.0.0.1:%u", server.port);
    snprintf(b.events_url, sizeof(b.events_url), "http://127.0.0.1:%u", replay.port);
    snprintf(b.paced_url, sizeof(b.paced_url), "http://127.0.0.1:%u", paced.port);
    fill(&b, &server);
    measure(&b);
    target_stop(&paced);
    target_stop(&replay);
    target_stop(&server);
    missed = figures_print(&b.figures);
    return strict && missed ? 1 : 0;
}
