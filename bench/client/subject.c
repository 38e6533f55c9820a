/* The program that ./dev bench client measures: informers, work queues and a controller by the
 * library's public API. go/ has the same by client-go and controller-runtime.
 *
 *   bench_client_subject sync|events|reconcile|lookups|queue|agent|fields|decode|list|pages|watch
 *     KIND URL TOKEN NAMESPACE N
 *
 * NAMESPACE is the file of a pod for `fields` and `decode`. KIND is whole, projected (three fields)
 * or metadata, of config maps, or pods, which are read by the typed informer. `list`, `pages` and
 * `watch` have no informer: what a short program does, beside official/. Prints lines of "NAME
 * VALUE". */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <coracle.h>
#include <coracle/types/core_v1.h>
#include <coracle/types/core_v1_client.h>
#include <coracle/types/core_v1_structs.h>

#include "measure.h"
#include "process.h"
#include "replay.h"

#define HANDLERS    3
#define LABELS      100
#define LOOKUPS     100000
#define QUEUE_KEYS  1000
#define WAIT_MAX_MS 600000

#define LIST_PAGE 500

#define RECONCILES_MAX 100000

struct subject {
    const char *kind, *url, *token, *ns;
    size_t n;
    struct cor_runtime *runtime;
    struct cor_client *client;
    struct cor_projection *projection;
    struct cor_informers *informers;
    struct cor_informer *informer;
    struct cor_status why;
    uint64_t began_ns, began_cpu_ns;
};

static void must(struct subject *s, int r, const char *doing)
{
    if (r < 0)
        die("%s: %s", doing, s->why.err ? cor_status_message(&s->why) : cor_err_text(r));
}

static void begin(struct subject *s)
{
    s->began_ns = measure_now_ns();
    s->began_cpu_ns = measure_cpu_ns();
}

static void show_time(const struct subject *s)
{
    uint64_t cpu = measure_cpu_ns() - s->began_cpu_ns, wall = measure_now_ns() - s->began_ns;

    printf("wall_ms %f\ncpu_ms %f\n", (double)wall / 1e6, (double)cpu / 1e6);
}

static void show_memory(void)
{
    unsigned long long bytes = process_memory(getpid(), "RssAnon");

    printf("running_bytes %llu\nbytes %llu\n", bytes, bytes);
}

static void open_client(struct subject *s, enum cor_runtime_kind kind)
{
    const struct cor_runtime_opts runtime = {COR_RUNTIME_OPTS, .kind = kind};
    struct cor_client_config config = {.insecure_skip_tls_verify =
                                           strncmp(s->url, "https", strlen("https")) == 0};
    const struct cor_client_opts client = {COR_CLIENT_OPTS, .config = &config, .qps = -1};

    must(s, cor_client_config_set(&config.server, s->url), "server");
    must(s, cor_client_config_set(&config.token, s->token), "token");
    must(s, cor_runtime_new(&runtime, &s->runtime), "runtime");
    must(s, cor_client_new(s->runtime, &client, &s->client, &s->why), "client");
    must(s, cor_informers_new(s->client, NULL, &s->informers), "informers");
    cor_client_config_deinit(&config);
}

static void open_informer(struct subject *s, struct cor_informer_opts *opts,
                          const struct cor_str *fields, size_t nfields)
{
    const struct cor_projection_opts projection = {COR_PROJECTION_OPTS, .fields = fields,
                                                   .nfields = nfields};

    opts->metadata_only = strcmp(s->kind, "metadata") == 0;
    if (strcmp(s->kind, "projected") == 0) {
        must(s, cor_projection_new(&projection, &s->projection, &s->why), "projection");
        opts->transform = cor_projection_transform;
        opts->transform_arg = s->projection;
    }
    must(s, cor_informers_for_resource(s->informers, opts, &s->informer, &s->why), "informer");
}

static bool wants_pods(const struct subject *s)
{
    return strncmp(s->kind, "pods", strlen("pods")) == 0;
}

static void open_pods(struct subject *s)
{
    struct cor_core_v1_pod_informer informer;

    open_client(s, COR_RUNTIME_THREADS);
    must(s, cor_core_v1_pods_informer(s->informers, s->ns, NULL, &informer, &s->why), "informer");
    s->informer = informer.informer;
}

static void open_maps(struct subject *s)
{
    static const struct cor_str fields[] = {COR_STR("metadata.labels.app"),
                                            COR_STR("metadata.labels.tier"), COR_STR("data.t")};
    struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"},
                                     .ns = s->ns};

    open_client(s, COR_RUNTIME_THREADS);
    open_informer(s, &opts, fields, 3);
}

static void run_until_synced(struct subject *s)
{
    cor_informers_start(s->informers);
    must(s, cor_informers_wait_for_sync(s->informers, WAIT_MAX_MS, NULL), "sync");
}

static void close_client(struct subject *s)
{
    cor_informers_free(s->informers);
    cor_projection_free(s->projection);
    cor_client_free(s->client);
    cor_runtime_free(s->runtime);
}

static void check_len(const struct subject *s)
{
    size_t n = cor_informer_len(s->informer);

    if (n != s->n)
        die("%zu objects are cached, not %zu", n, s->n);
}

static void do_sync(struct subject *s)
{
    begin(s);
    if (wants_pods(s))
        open_pods(s);
    else
        open_maps(s);
    run_until_synced(s);
    show_time(s);
    check_len(s);
    show_memory();
    close_client(s);
}

/* What a node agent is: no threads, the pods of one node, three fields of each. */
static void do_agent(struct subject *s)
{
    static const struct cor_str fields[] = {COR_STR("metadata.labels"), COR_STR("metadata.uid"),
                                            COR_STR("status.podIP")};
    struct cor_informer_opts opts = {COR_INFORMER_OPTS, .resource = {"", "v1", "pods"},
                                     .field_selector = "spec.nodeName=node-1"};

    begin(s);
    open_client(s, COR_RUNTIME_PUMPED);
    open_informer(s, &opts, fields, 3);
    run_until_synced(s);
    show_time(s);
    check_len(s);
    show_memory();
    close_client(s);
}

/* What `list`, `pages` and `watch` have seen; the length of all names, so that each is read. */
struct counted {
    size_t n, wanted, total;
    sem_t over, ended;
};

struct counter {
    atomic_size_t calls;
    size_t wanted;
    sem_t first, last;
};

static void on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    struct counter *c = arg;
    size_t n = atomic_fetch_add(&c->calls, 1) + 1;

    if (n == 1)
        sem_post(&c->first);
    if (n == c->wanted)
        sem_post(&c->last);
}

static void do_events(struct subject *s)
{
    struct counter c = {.wanted = s->n * HANDLERS};
    const struct cor_handler_opts handler = {
        COR_HANDLER_OPTS, .on = {.on_update = on_update, .arg = &c}, .bytes_max = 0};

    sem_init(&c.first, 0, 0);
    sem_init(&c.last, 0, 0);
    open_maps(s);
    for (int i = 0; i < HANDLERS; i++)
        must(s, cor_informer_add_handler(s->informer, &handler, NULL), "handler");
    cor_informers_start(s->informers);
    sem_wait(&c.first);
    begin(s);
    sem_wait(&c.last);
    show_time(s);
    close_client(s);
}

/* A controller, as a program has it: one worker thread, which looks at the cached object. */
struct reconciling {
    struct subject *subject;
    struct cor_manager *manager;
    uint64_t last; /* version */
    double *us;    /* from the time that the event was sent to the call */
    size_t n;
};

static int note_time(void *arg, struct cor_run *run)
{
    struct reconciling *rec = arg;
    struct cor_object *object = cor_run_object(run);
    struct cor_view sent;
    struct cor_str text;
    struct timespec now;
    uint64_t version;
    int64_t sent_ns;
    char buf[32];

    clock_gettime(CLOCK_REALTIME, &now);
    if (!object)
        return 0;
    sent = cor_view_member(cor_view_member(cor_object_view(object), COR_STR("data")), COR_STR("t"));
    must(rec->subject, cor_view_text(sent, buf, sizeof(buf), &text), "time");
    sent_ns = strtoll(text.p, NULL, 10); /* a quote follows, or a NUL */
    version = strtoull(cor_object_resource_version(object).p, NULL, 10);
    if (version <= REPLAY_FIRST_VERSION + REPLAY_OBJECTS)
        return 0;
    if (rec->n == 0)
        begin(rec->subject);
    if (rec->n < rec->subject->n)
        rec->us[rec->n++] =
            (double)((int64_t)now.tv_sec * 1000000000 + now.tv_nsec - sent_ns) / 1e3;
    if (version == rec->last) {
        show_time(rec->subject);
        cor_manager_stop(rec->manager);
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void do_reconcile(struct subject *s)
{
    static double times[RECONCILES_MAX];
    struct reconciling rec = {
        .subject = s, .last = REPLAY_FIRST_VERSION + REPLAY_OBJECTS + s->n, .us = times};
    struct cor_client_config config = {0};
    const struct cor_manager_opts manager = {COR_MANAGER_OPTS, .name = "bench", .config = &config};
    const struct cor_controller_opts controller = {COR_CONTROLLER_OPTS, .reconcile = note_time,
                                                   .arg = &rec};
    const struct cor_informer_opts maps = {COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"},
                                           .ns = s->ns, .kind = "ConfigMap"};

    must(s, s->n <= RECONCILES_MAX ? 0 : -COR_ETOOBIG, "times");
    must(s, cor_client_config_set(&config.server, s->url), "server");
    must(s, cor_manager_new(&manager, &rec.manager, &s->why), "manager");
    cor_controller_for(cor_manager_add(rec.manager, &controller),
                       cor_manager_informer(rec.manager, &maps), NULL);
    must(s, cor_manager_run(rec.manager, &s->why), "run");
    qsort(rec.us, rec.n, sizeof(rec.us[0]), by_value);
    printf("runs %zu\np50_us %f\np99_us %f\n", rec.n, rec.us[rec.n / 2], rec.us[rec.n * 99 / 100]);
    cor_manager_free(rec.manager);
    cor_client_config_deinit(&config);
}

static int index_app(void *arg, const struct cor_object *object, struct cor_index_values *out)
{
    struct cor_str app;

    return cor_object_label(object, COR_STR("app"), &app) ? cor_index_values_add(out, app) : 0;
}

static int count(void *arg, struct cor_object *object)
{
    ++*(size_t *)arg;
    return 0;
}

static void do_lookups(struct subject *s)
{
    const struct cor_index_def def = {.name = COR_STR("app"), .fn = index_app};
    size_t found = 0;
    char value[16];

    open_maps(s);
    must(s, cor_informer_add_indexes(s->informer, &def, 1), "index");
    run_until_synced(s);
    begin(s);
    for (int i = 0; i < LOOKUPS; i++) {
        snprintf(value, sizeof(value), "a%d", i % LABELS);
        must(
            s,
            cor_informer_each_by_index(s->informer, COR_STR("app"), cor_strz(value), count, &found),
            "lookup");
    }
    show_time(s);
    printf("found %zu\n", found);
    close_client(s);
}

static void do_queue(struct subject *s)
{
    static char keys[QUEUE_KEYS][24];
    struct cor_workqueue *q;
    const char *key;

    must(s, cor_workqueue_new(NULL, &q), "queue");
    for (int i = 0; i < QUEUE_KEYS; i++)
        snprintf(keys[i], sizeof(keys[i]), "bench/o-%d", i);
    begin(s);
    for (size_t round = 0; round < s->n / QUEUE_KEYS; round++) {
        for (int i = 0; i < QUEUE_KEYS; i++)
            must(s, cor_workqueue_add(q, keys[i]), "add");
        for (int i = 0; i < QUEUE_KEYS; i++) {
            must(s, cor_workqueue_get(q, &key), "get");
            cor_workqueue_done(q, key);
        }
    }
    show_time(s);
    cor_workqueue_free(q);
}

/* The total length of ten fields, so that no compiler leaves one out. */
static size_t read_ten(const struct cor_object *object)
{
    struct cor_core_v1_pod pod = cor_core_v1_pod(object);
    struct cor_meta_v1_object_meta meta = cor_core_v1_pod_metadata(pod);
    struct cor_core_v1_pod_spec spec = cor_core_v1_pod_spec(pod);
    struct cor_core_v1_pod_status status = cor_core_v1_pod_status(pod);
    struct cor_core_v1_pod_condition ready =
        cor_core_v1_pod_status_conditions_by_type(status, COR_STR("Ready"));
    struct cor_core_v1_container web =
        cor_core_v1_pod_spec_containers_by_name(spec, COR_STR("web"));

    return cor_meta_v1_object_meta_name(meta).raw.n +
           cor_meta_v1_object_meta_namespace(meta).raw.n + cor_meta_v1_object_meta_uid(meta).raw.n +
           cor_text_map_get(cor_meta_v1_object_meta_labels(meta), COR_STR("app")).raw.n +
           cor_core_v1_pod_spec_node_name(spec).raw.n +
           cor_core_v1_pod_spec_restart_policy(spec).raw.n +
           cor_core_v1_container_image(web).raw.n + cor_core_v1_pod_status_phase(status).raw.n +
           cor_core_v1_pod_status_pod_ip(status).raw.n +
           cor_core_v1_pod_condition_status(ready).raw.n;
}

/* The file of a pod. */
static struct cor_str read_pod(const char *path)
{
    static char json[16384];
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(json, 1, sizeof(json), f) : 0;

    if (f)
        fclose(f);
    return cor_str(json, n);
}

static void do_fields(struct subject *s)
{
    struct cor_object *pod;
    size_t total = 0;

    must(s, cor_object_from_json(read_pod(s->ns), &pod, &s->why), s->ns);
    begin(s);
    for (size_t i = 0; i < s->n; i++)
        total += read_ten(pod);
    show_time(s);
    printf("found %zu\n", total);
    cor_object_unref(pod);
}

/* Into a struct, with the memory of each pod taken and freed. */
static void do_decode(struct subject *s)
{
    struct cor_str json = read_pod(s->ns);
    size_t total = 0;

    begin(s);
    for (size_t i = 0; i < s->n; i++) {
        struct cor_core_v1_pod_own pod;
        struct cor_pool *pool;

        must(s, cor_pool_new(0, &pool), "pool");
        must(s, cor_core_v1_pod_own_decode(pool, json, NULL, &pod, NULL), s->ns);
        total += pod.metadata.name.n;
        cor_pool_free(pool);
    }
    show_time(s);
    printf("found %zu\n", total);
}

static void show_peak(const struct counted *counted)
{
    printf("peak_bytes %llu\nfound %zu\n", (unsigned long long)process_memory(getpid(), "VmHWM"),
           counted->total);
}

/* As examples/list_pods.c; all at once, or page by page. */
static void list_pods(struct subject *s, int64_t limit)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_LIST, .resource = {"", "v1", "pods"},
                              .ns = s->ns, .limit = limit,        .timeout_ms = WAIT_MAX_MS};
    struct cor_object_list page = {0}, last;
    struct counted counted = {0};

    begin(s);
    open_client(s, COR_RUNTIME_THREADS);
    do {
        last = page;
        req.continue_token = last.continue_token;
        must(s, cor_client_list(s->client, &req, &page, &s->why), "list");
        cor_object_list_deinit(&last);
        for (size_t i = 0; i < page.n; i++)
            counted.total += cor_object_name(page.items[i]).n;
        counted.n += page.n;
    } while (page.continue_token[0]);
    cor_object_list_deinit(&page);
    if (counted.n != s->n)
        die("%zu objects were listed, not %zu", counted.n, s->n);
    show_time(s);
    show_peak(&counted);
    close_client(s);
}

static void do_list(struct subject *s)
{
    list_pods(s, 0);
}

static void do_pages(struct subject *s)
{
    list_pods(s, LIST_PAGE);
}

static int on_watched(void *arg, const struct cor_watch_event *event)
{
    struct counted *counted = arg;

    counted->total += event->object ? cor_object_name(event->object).n : 0;
    if (++counted->n == counted->wanted)
        sem_post(&counted->over);
    return 0;
}

static void on_watch_done(void *arg, const struct cor_response *response)
{
    struct counted *counted = arg;

    sem_post(&counted->ended);
}

/* As examples/watch.c, until all events have come. */
static void do_watch(struct subject *s)
{
    static const struct cor_request_cbs cbs = {.on_event = on_watched, .on_done = on_watch_done};
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_WATCH,
                                    .resource = {"", "v1", "configmaps"}, .ns = s->ns,
                                    .resource_version = REPLAY_FIRST_VERSION_TEXT};
    struct counted counted = {.wanted = s->n};
    struct cor_client_call *call;

    sem_init(&counted.over, 0, 0);
    sem_init(&counted.ended, 0, 0);
    begin(s);
    open_client(s, COR_RUNTIME_THREADS);
    must(s, cor_client_send(s->client, &req, &cbs, &counted, &call), "watch");
    sem_wait(&counted.over);
    show_time(s);
    show_peak(&counted);
    cor_client_call_cancel(call);
    sem_wait(&counted.ended);
    close_client(s);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(struct subject *s);
    } works[] = {{"sync", do_sync},       {"events", do_events}, {"reconcile", do_reconcile},
                 {"lookups", do_lookups}, {"queue", do_queue},   {"agent", do_agent},
                 {"fields", do_fields},   {"decode", do_decode}, {"list", do_list},
                 {"pages", do_pages},     {"watch", do_watch}};

    for (size_t i = 0; argc == 7 && i < sizeof(works) / sizeof(works[0]); i++)
        if (strcmp(argv[1], works[i].name) == 0) {
            struct subject s = {.kind = argv[2], .url = argv[3], .token = argv[4], .ns = argv[5]};

            s.n = strtoul(argv[6], NULL, 10);
            cor_status_init(&s.why);
            works[i].run(&s);
            cor_status_deinit(&s.why);
            return 0;
        }
    fprintf(
        stderr,
        "usage: bench_client_subject sync|events|reconcile|lookups|queue|agent|fields|decode|list|"
        "pages|watch KIND URL TOKEN NAMESPACE N\n");
    return 2;
}
