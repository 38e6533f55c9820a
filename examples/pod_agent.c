/* What a node agent keeps of its node's pods: pod_agent NODE. It runs in its own epoll loop,
 * without any other thread, and keeps three fields of each pod. Prints "NAMESPACE/NAME IP APP" for
 * what it learns, and the number of pods when they are all known. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <coracle.h>
#include <coracle/types/core_v1.h>

#include "usage.h"

struct agent {
    struct cor_runtime *runtime;
    struct cor_client *client;
    struct cor_projection *projection;
    struct cor_informers *informers;
    struct cor_informer *pods;
    int signals;
    struct cor_status why;
};

static void print(const char *what, struct cor_object *pod)
{
    struct cor_core_v1_pod_status status = cor_core_v1_pod_status(cor_core_v1_pod(pod));
    struct cor_text ip = cor_core_v1_pod_status_pod_ip(status);
    struct cor_str app = COR_STR("-");

    cor_object_label(pod, COR_STR("app"), &app);
    printf("%s %.*s/%.*s %.*s %.*s\n", what, COR_STR_ARG(cor_object_namespace(pod)),
           COR_STR_ARG(cor_object_name(pod)),
           COR_STR_ARG(cor_text_exists(ip) ? ip.raw : COR_STR("-")), COR_STR_ARG(app));
    fflush(stdout);
}

static void on_add(void *arg, struct cor_object *pod, bool in_initial_list)
{
    if (!in_initial_list)
        print("+", pod);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *pod)
{
    print("~", pod);
}

static void on_delete(void *arg, struct cor_str key, struct cor_object *pod, bool unknown)
{
    printf("- %.*s\n", COR_STR_ARG(key));
    fflush(stdout);
}

static void on_synced(void *arg, int r)
{
    struct agent *a = arg;

    if (r == 0)
        printf("synced: %zu pods\n", cor_informer_len(a->pods));
    fflush(stdout);
}

/* No server, no permission: the informer goes on trying. */
static void on_watch_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    fprintf(stderr, "pod_agent: %.*s: %s\n", COR_STR_ARG(plural), cor_status_message(error));
}

static int watch_pods(struct agent *a, const char *node)
{
    static const struct cor_str fields[] = {COR_STR_INIT("metadata.labels"),
                                            COR_STR_INIT("metadata.uid"),
                                            COR_STR_INIT("status.podIP")};
    const struct cor_informers_opts set = {COR_INFORMERS_OPTS, .on_watch_error = on_watch_error};
    const struct cor_projection_opts projection = {COR_PROJECTION_OPTS, .fields = fields,
                                                   .nfields = 3};
    const struct cor_handler_opts handler = {
        COR_HANDLER_DEFAULTS,
        .on = {.on_add = on_add, .on_update = on_update, .on_delete = on_delete}};
    char selector[300];
    struct cor_informer_opts of_pods = {COR_INFORMER_OPTS, .resource = COR_CORE_V1_POD_RESOURCE,
                                        .field_selector = selector,
                                        .transform = cor_projection_transform};
    int r = cor_projection_new(&projection, &a->projection, &a->why);

    snprintf(selector, sizeof(selector), "spec.nodeName=%s", node);
    of_pods.transform_arg = a->projection;
    if (r == 0)
        r = cor_informers_new(a->client, &set, &a->informers);
    if (r == 0)
        r = cor_informers_for_resource(a->informers, &of_pods, &a->pods, &a->why);
    if (r == 0)
        r = cor_informer_add_handler(a->pods, &handler, NULL);
    if (r == 0)
        r = cor_informer_on_sync(a->pods, on_synced, a);
    if (r == 0)
        cor_informers_start(a->informers);
    return r;
}

/* The program's own loop. The library is one descriptor in it, and needs no timeout. */
static int loop(struct agent *a)
{
    struct epoll_event runtime = {.events = EPOLLIN, .data.fd = cor_runtime_fd(a->runtime)};
    struct epoll_event signals = {.events = EPOLLIN, .data.fd = a->signals};
    struct epoll_event ready;
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, runtime.data.fd, &runtime) < 0 ||
        epoll_ctl(epoll, EPOLL_CTL_ADD, signals.data.fd, &signals) < 0)
        return -COR_EIO;
    do {
        if (epoll_wait(epoll, &ready, 1, -1) < 0) {
            if (errno != EINTR)
                break;
            continue;
        }
        if (ready.data.fd == runtime.data.fd)
            cor_runtime_pump(a->runtime);
    } while (ready.data.fd != a->signals);
    close(epoll);
    return 0;
}

static int open_signals(struct agent *a)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    a->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return a->signals < 0 ? -COR_EIO : 0;
}

int main(int argc, char **argv)
{
    const struct cor_runtime_opts pumped = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_PUMPED};
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};
    struct agent a = {.signals = -1};
    int r;

    usage(argc, argv, 1, 1, "pod_agent NODE\nPrints name, address and app of the pods of a node.");
    cor_status_init(&a.why);
    r = open_signals(&a);
    if (r == 0)
        r = cor_client_config_load(NULL, NULL, &config, &a.why);
    if (r == 0)
        r = cor_runtime_new(&pumped, &a.runtime);
    if (r == 0)
        r = cor_client_new(a.runtime, &opts, &a.client, &a.why);
    cor_client_config_deinit(&config);
    if (r == 0)
        r = watch_pods(&a, argv[1]);
    if (r == 0)
        r = loop(&a);
    if (r < 0)
        fprintf(stderr, "pod_agent: %s\n",
                a.why.err ? cor_status_message(&a.why) : cor_err_text(r));

    cor_informers_free(a.informers);
    cor_projection_free(a.projection);
    cor_client_free(a.client);
    cor_runtime_free(a.runtime);
    cor_status_deinit(&a.why);
    return r < 0;
}
