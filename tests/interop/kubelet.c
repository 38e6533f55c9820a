/* clang-format off */
/* Nodes without machines, for real controllers and a real scheduler: kubelet NODE... It does of a
 * kubelet's work what the others look at, for all of its nodes in one process.
 *
 *   heartbeat ──► registers each node, renews its lease, reports it as ready
 *   informer of pods ──keys──► work queue ──► pod_sync: a pod of ours that is new runs (or, if it
 *                                             does not restart, has run); one that is being deleted
 *                                             is gone
 *
 * It says "ready" when its nodes are registered and its pods are known, and runs until SIGTERM. What
 * fails is reported and tried again. Threads: main sends the heartbeats, one worker takes the keys. */
/* clang-format on */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <coracle.h>

#define HEARTBEAT_S        5
#define REQUEST_TIMEOUT_MS 30000
#define SYNC_TIMEOUT_MS    60000
#define KEY_MAX            512
#define BODY_MAX           4096

static const struct cor_resource nodes = {"", "v1", "nodes"};
static const struct cor_resource leases = {"coordination.k8s.io", "v1", "leases"};
static const struct cor_resource pods = {"", "v1", "pods"};

struct kubelet {
    char **names;
    int nnames;
    struct cor_client *client;
    struct cor_informers *informers;
    struct cor_informer *pods;
    struct cor_workqueue *queue;
    int last_ip; /* of a pod; the worker's */
};

static struct cor_view field(struct cor_object *object, const char *section, const char *name)
{
    struct cor_view part = cor_view_member(cor_object_view(object), cor_strz(section));

    return cor_view_member(part, cor_strz(name));
}

static struct cor_str text_of(struct cor_object *object, const char *section, const char *name)
{
    return cor_view_text_or(field(object, section, name), NULL, 0, "");
}

static void format_now(char *ret, size_t cap, const char *format)
{
    time_t now = time(NULL);
    struct tm tm;

    gmtime_r(&now, &tm);
    strftime(ret, cap, format, &tm);
}

/* Creates the object of `json`. That it exists is fine. */
static int create(struct kubelet *k, struct cor_resource resource, const char *ns, const char *json,
                  struct cor_status *why)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_CREATE, .resource = resource, .ns = ns,
                              .timeout_ms = REQUEST_TIMEOUT_MS};
    int r = cor_object_from_json(cor_strz(json), &req.object, why);

    if (r < 0)
        return r;
    r = cor_client_do(k->client, &req, NULL, why);
    cor_object_unref(req.object);
    return r == -COR_EEXIST ? 0 : r;
}

static int merge(struct kubelet *k, struct cor_resource resource, const char *ns, const char *name,
                 const char *subresource, const char *patch, struct cor_status *why)
{
    const struct cor_request req = {COR_REQUEST,
                                    .verb = COR_VERB_PATCH,
                                    .resource = resource,
                                    .ns = ns,
                                    .name = name,
                                    .subresource = subresource,
                                    .patch_type = COR_PATCH_MERGE,
                                    .patch = cor_strz(patch),
                                    .timeout_ms = REQUEST_TIMEOUT_MS};

    return cor_client_do(k->client, &req, NULL, why);
}

static int node_register(struct kubelet *k, const char *name, struct cor_status *why)
{
    char json[BODY_MAX];
    int r;

    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":"
             "{\"kubernetes.io/hostname\":\"%s\",\"kubernetes.io/os\":\"linux\"}}}",
             name, name);
    r = create(k, nodes, NULL, json, why);
    if (r < 0)
        return r;
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\",\"metadata\":{\"name\":"
             "\"%s\"},\"spec\":{\"holderIdentity\":\"%s\",\"leaseDurationSeconds\":40}}",
             name, name);
    return create(k, leases, "kube-node-lease", json, why);
}

/* The node is ready, and was so a moment ago. */
static int node_report(struct kubelet *k, const char *name, struct cor_status *why)
{
    char json[BODY_MAX], now[64], precise[64];
    int r;

    format_now(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ");
    format_now(precise, sizeof(precise), "%Y-%m-%dT%H:%M:%S.000000Z");
    snprintf(json, sizeof(json), "{\"spec\":{\"renewTime\":\"%s\"}}", precise);
    r = merge(k, leases, "kube-node-lease", name, NULL, json, why);
    if (r < 0)
        return r;
    snprintf(json, sizeof(json),
             "{\"status\":{\"capacity\":{\"cpu\":\"8\",\"memory\":\"16Gi\",\"pods\":\"110\"},"
             "\"allocatable\":{\"cpu\":\"8\",\"memory\":\"16Gi\",\"pods\":\"110\"},"
             "\"addresses\":[{\"type\":\"InternalIP\",\"address\":\"192.0.2.1\"}],"
             "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\",\"reason\":\"KubeletReady\","
             "\"message\":\"a node without a machine\",\"lastHeartbeatTime\":\"%s\","
             "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}",
             now);
    return merge(k, nodes, NULL, name, "status", json, why);
}

static bool is_ours(struct kubelet *k, struct cor_str node)
{
    for (int i = 0; i < k->nnames; i++)
        if (cor_str_eqz(node, k->names[i]))
            return true;
    return false;
}

/* The statuses of the pod's containers: each runs, or has ended without an error. */
static void pod_add_containers(struct cor_builder *b, struct cor_object *pod, bool runs,
                               const char *now)
{
    struct cor_view_iter it = cor_view_iter(field(pod, "spec", "containers"));

    while (cor_view_next(&it)) {
        struct cor_view name = cor_view_member(it.value, COR_STR("name"));
        struct cor_view image = cor_view_member(it.value, COR_STR("image"));
        char state[BODY_MAX];

        snprintf(state, sizeof(state),
                 runs ? "{\"name\":%.*s,\"image\":%.*s,\"imageID\":\"none\",\"ready\":true,"
                        "\"started\":true,\"restartCount\":0,"
                        "\"state\":{\"running\":{\"startedAt\":\"%s\"}}}"
                      : "{\"name\":%.*s,\"image\":%.*s,\"imageID\":\"none\",\"ready\":false,"
                        "\"restartCount\":0,\"state\":{\"terminated\":{\"exitCode\":0,"
                        "\"reason\":\"Completed\",\"finishedAt\":\"%s\"}}}",
                 COR_STR_ARG(name.json), COR_STR_ARG(image.json), now);
        cor_builder_append_json(b, "status.containerStatuses", cor_strz(state));
    }
}

static void pod_add_conditions(struct cor_builder *b, bool runs, const char *now)
{
    static const char *const types[] = {"PodReadyToStartContainers", "Initialized", "Ready",
                                        "ContainersReady", "PodScheduled"};

    cor_builder_remove(b, "status.conditions");
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        bool is_true = runs || i == 1 || i == 4;
        char json[BODY_MAX];

        snprintf(json, sizeof(json),
                 "{\"type\":\"%s\",\"status\":\"%s\",%s\"lastTransitionTime\":\"%s\"}", types[i],
                 is_true ? "True" : "False", is_true ? "" : "\"reason\":\"PodCompleted\",", now);
        cor_builder_append_json(b, "status.conditions", cor_strz(json));
    }
}

static int pod_start(struct kubelet *k, struct cor_object *pod, struct cor_request *req,
                     struct cor_status *why)
{
    bool runs = cor_str_eqz(text_of(pod, "spec", "restartPolicy"), "Always");
    char now[64], ip[64];
    struct cor_builder *b;
    int r = cor_builder_new(pod, &b);

    if (r < 0)
        return r;
    k->last_ip++;
    format_now(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ");
    snprintf(ip, sizeof(ip), "198.18.%d.%d", k->last_ip / 250 % 250, k->last_ip % 250 + 1);
    cor_builder_set_text(b, "status.phase", runs ? COR_STR("Running") : COR_STR("Succeeded"));
    cor_builder_set_text(b, "status.hostIP", COR_STR("192.0.2.1"));
    cor_builder_set_text(b, "status.podIP", cor_strz(ip));
    cor_builder_append_json(b, "status.podIPs", COR_STR("{}"));
    cor_builder_set_text(b, "status.podIPs[0].ip", cor_strz(ip));
    cor_builder_set_text(b, "status.startTime", cor_strz(now));
    pod_add_conditions(b, runs, now);
    pod_add_containers(b, pod, runs, now);
    r = cor_builder_finish(b, &req->object, why);
    cor_builder_free(b);
    if (r < 0)
        return r;
    req->verb = COR_VERB_UPDATE;
    req->subresource = "status";
    r = cor_client_do(k->client, req, NULL, why);
    cor_object_unref(req->object);
    return r;
}

/* Makes of the pod what a kubelet would. */
static int pod_sync(struct kubelet *k, const char *key, struct cor_status *why)
{
    char ns[KEY_MAX], name[KEY_MAX], uid[KEY_MAX];
    struct cor_request req = {COR_REQUEST, .resource = pods, .ns = ns, .name = name,
                              .timeout_ms = REQUEST_TIMEOUT_MS};
    struct cor_object *pod;
    struct cor_str phase;
    int r = cor_informer_get_by_key(k->pods, cor_strz(key), &pod);

    if (r < 0)
        return r == -COR_ENOTFOUND ? 0 : r;
    snprintf(ns, sizeof(ns), "%.*s", COR_STR_ARG(cor_object_namespace(pod)));
    snprintf(name, sizeof(name), "%.*s", COR_STR_ARG(cor_object_name(pod)));
    snprintf(uid, sizeof(uid), "%.*s", COR_STR_ARG(cor_object_uid(pod)));
    phase = text_of(pod, "status", "phase");
    if (!is_ours(k, text_of(pod, "spec", "nodeName"))) {
        r = 0;
    } else if (cor_view_exists(field(pod, "metadata", "deletionTimestamp"))) {
        req.verb = COR_VERB_DELETE;
        req.has_grace = true;
        req.uid_is = uid;
        r = cor_client_do(k->client, &req, NULL, why);
        r = r == -COR_ENOTFOUND || r == -COR_ECONFLICT ? 0 : r;
    } else if (phase.n == 0 || cor_str_eqz(phase, "Pending")) {
        r = pod_start(k, pod, &req, why);
    }
    cor_object_unref(pod);
    return r;
}

static void *work(void *arg)
{
    struct kubelet *k = arg;
    const char *key;

    while (cor_workqueue_get(k->queue, &key) == 0) {
        struct cor_status why;
        int r;

        cor_status_init(&why);
        r = pod_sync(k, key, &why);
        if (r == 0) {
            cor_workqueue_forget(k->queue, key);
        } else {
            /* Another writer was faster: its change comes, and with it the key. */
            if (r != -COR_ECONFLICT && r != -COR_ECANCELED)
                fprintf(stderr, "kubelet: %s: %s\n", key,
                        why.err ? cor_status_message(&why) : cor_err_text(r));
            cor_workqueue_add_rate_limited(k->queue, key);
        }
        cor_workqueue_done(k->queue, key);
        cor_status_deinit(&why);
    }
    return NULL;
}

static void on_pod(void *arg, struct cor_object *pod, bool in_initial_list)
{
    struct kubelet *k = arg;
    char key[KEY_MAX];

    (void)in_initial_list;
    snprintf(key, sizeof(key), "%.*s/%.*s", COR_STR_ARG(cor_object_namespace(pod)),
             COR_STR_ARG(cor_object_name(pod)));
    cor_workqueue_add(k->queue, key);
}

static void on_pod_update(void *arg, struct cor_object *old, struct cor_object *pod)
{
    (void)old;
    on_pod(arg, pod, false);
}

static void heartbeat(struct kubelet *k,
                      int (*beat)(struct kubelet *k, const char *name, struct cor_status *why))
{
    for (int i = 0; i < k->nnames; i++) {
        struct cor_status why;
        int r;

        cor_status_init(&why);
        r = beat(k, k->names[i], &why);
        if (r < 0)
            fprintf(stderr, "kubelet: node %s: %s\n", k->names[i],
                    why.err ? cor_status_message(&why) : cor_err_text(r));
        cor_status_deinit(&why);
    }
}

/* Until SIGTERM, which is blocked in every thread. */
static void beat_until_signal(struct kubelet *k, const sigset_t *signals)
{
    const struct timespec pause = {.tv_sec = HEARTBEAT_S};

    do
        heartbeat(k, node_report);
    while (sigtimedwait(signals, NULL, &pause) < 0 && (errno == EAGAIN || errno == EINTR));
}

static int run(struct kubelet *k, const sigset_t *signals, struct cor_status *why)
{
    const struct cor_informer_opts of_pods = {COR_INFORMER_OPTS, .resource = pods,
                                              .field_selector = "spec.nodeName!="};
    const struct cor_handler_opts handler = {COR_HANDLER_DEFAULTS,
                                             .on = {on_pod, on_pod_update, NULL, NULL, k}};
    pthread_t worker;
    int r = cor_workqueue_new(NULL, &k->queue);

    if (r == 0)
        r = cor_informers_new(k->client, NULL, &k->informers);
    if (r == 0)
        r = cor_informers_for_resource(k->informers, &of_pods, &k->pods, why);
    if (r == 0)
        r = cor_informer_add_handler(k->pods, &handler, NULL);
    if (r < 0)
        return r;
    heartbeat(k, node_register);
    cor_informers_start(k->informers);
    r = cor_informers_wait_for_sync(k->informers, SYNC_TIMEOUT_MS, why);
    if (r < 0)
        return r;
    if (pthread_create(&worker, NULL, work, k) != 0)
        return -COR_ENOMEM;
    printf("ready\n");
    fflush(stdout);
    beat_until_signal(k, signals);
    cor_client_stop(k->client);
    cor_workqueue_shutdown(k->queue);
    pthread_join(worker, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    struct kubelet k = {.names = argv + 1, .nnames = argc - 1};
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config, .qps = -1};
    struct cor_runtime *runtime = NULL;
    struct cor_status why;
    sigset_t signals;
    int r;

    if (argc < 2)
        return fprintf(stderr, "usage: kubelet NODE...\n"), 2;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    cor_status_init(&why);
    r = cor_client_config_load(NULL, NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &k.client, &why);
    if (r == 0)
        r = run(&k, &signals, &why);
    if (r < 0)
        fprintf(stderr, "kubelet: %s\n", why.err ? cor_status_message(&why) : cor_err_text(r));
    cor_informers_free(k.informers);
    cor_workqueue_free(k.queue);
    cor_client_free(k.client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0;
}
