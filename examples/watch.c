/* Prints what happens to the objects of one resource, until it is interrupted or the server ends
 * the watch: watch [GROUP/]VERSION PLURAL [NAMESPACE], such as "watch v1 pods default" or "watch
 * apps/v1 deployments". An informer would go on by itself; see informer.c. */
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <coracle.h>

#include "usage.h"

static sem_t over;

static void on_signal(int signo)
{
    sem_post(&over);
}

/* On the library's thread. */
static int on_event(void *arg, const struct cor_watch_event *event)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "?"};

    if (event->status)
        printf("%s %s\n", names[event->type], cor_status_message(event->status));
    else
        printf("%s %.*s/%.*s\n", names[event->type],
               COR_STR_ARG(cor_object_namespace(event->object)),
               COR_STR_ARG(cor_object_name(event->object)));
    fflush(stdout);
    return 0;
}

static void on_done(void *arg, const struct cor_response *response)
{
    if (response->error && response->error->err != -COR_ECANCELED) {
        fprintf(stderr, "watch: %s\n", cor_status_message(response->error));
        *(atomic_bool *)arg = true;
    }
    sem_post(&over);
}

static int watch(struct cor_client *client, struct cor_resource resource, const char *ns,
                 atomic_bool *failed)
{
    static const struct cor_request_cbs cbs = {.on_event = on_event, .on_done = on_done};
    const struct cor_request req = {COR_REQUEST, .verb = COR_VERB_WATCH, .resource = resource,
                                    .ns = ns};
    int r = cor_client_send(client, &req, &cbs, failed, NULL);

    if (r == 0)
        sem_wait(&over);
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    struct cor_resource resource;
    atomic_bool failed = false;
    char *slash;
    struct cor_status why;
    int r;

    usage(argc, argv, 2, 3,
          "watch [GROUP/]VERSION PLURAL [NAMESPACE]\nPrints what happens to the objects.");
    resource = (struct cor_resource){"", argv[1], argv[2]};
    slash = strchr(argv[1], '/');
    if (slash) {
        *slash = '\0';
        resource = (struct cor_resource){argv[1], slash + 1, argv[2]};
    }
    sem_init(&over, 0, 0);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);

    cor_status_init(&why);
    r = cor_client_config_load(NULL, NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &client, &why);
    if (r == 0)
        r = watch(client, resource, argv[3], &failed);
    if (r < 0)
        fprintf(stderr, "watch: %s\n", why.err ? cor_status_message(&why) : cor_err_text(r));

    /* Ends the watch, if it has not ended. */
    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0 || failed;
}
