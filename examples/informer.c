/* One cache of the pods of a cluster, and three handlers that share it: one prints, one counts, one
 * looks for pods without an owner. Each runs on its own time: a slow one delays no other. Ends when
 * it is interrupted, and prints what is cached. */
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>

#include <coracle.h>

#include "usage.h"

static sem_t news; /* synced, or interrupted */
static atomic_bool is_synced, is_over;

static void on_signal(int signo)
{
    atomic_store(&is_over, true);
    sem_post(&news);
}

static void on_synced(void *arg, int r)
{
    atomic_store(&is_synced, r == 0);
    sem_post(&news);
}

/* No server, no permission: the informer goes on trying. */
static void on_watch_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    fprintf(stderr, "informer: %.*s: %s\n", COR_STR_ARG(plural), cor_status_message(error));
}

static void print(const char *what, struct cor_object *pod)
{
    printf("%s %.*s/%.*s\n", what, COR_STR_ARG(cor_object_namespace(pod)),
           COR_STR_ARG(cor_object_name(pod)));
    fflush(stdout);
}

static void print_add(void *arg, struct cor_object *pod, bool in_initial_list)
{
    print(in_initial_list ? "listed" : "added", pod);
}

static void print_update(void *arg, struct cor_object *old, struct cor_object *pod)
{
    print("updated", pod);
}

/* `pod` may be NULL: a deletion that was missed, of a pod that is not known any more. */
static void print_delete(void *arg, struct cor_str key, struct cor_object *pod, bool unknown)
{
    printf("deleted %.*s\n", COR_STR_ARG(key));
    fflush(stdout);
}

static void count_add(void *arg, struct cor_object *pod, bool in_initial_list)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void count_delete(void *arg, struct cor_str key, struct cor_object *pod, bool unknown)
{
    atomic_fetch_sub((atomic_int *)arg, 1);
}

static void audit_add(void *arg, struct cor_object *pod, bool in_initial_list)
{
    struct cor_view meta = cor_view_member(cor_object_view(pod), COR_STR("metadata"));

    if (!cor_view_exists(cor_view_member(meta, COR_STR("ownerReferences"))))
        print("without an owner:", pod);
}

static int add_handlers(struct cor_informer *pods, atomic_int *count)
{
    const struct cor_handler_opts handlers[] = {
        {COR_HANDLER_DEFAULTS,
         .on = {.on_add = print_add, .on_update = print_update, .on_delete = print_delete}},
        {COR_HANDLER_DEFAULTS,
         .on = {.on_add = count_add, .on_delete = count_delete, .arg = count}},
        {COR_HANDLER_DEFAULTS, .on = {.on_add = audit_add}},
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(handlers) / sizeof(handlers[0]); i++)
        r = cor_informer_add_handler(pods, &handlers[i], NULL);
    return r;
}

static void follow(struct cor_informer *pods, atomic_int *count)
{
    while (!atomic_load(&is_synced) && !atomic_load(&is_over))
        sem_wait(&news);
    if (!atomic_load(&is_synced))
        return;
    printf("synced: %zu pods\n", cor_informer_len(pods));
    fflush(stdout);
    while (!atomic_load(&is_over))
        sem_wait(&news);
    printf("counted: %d pods\n", atomic_load(count));
}

static int run(struct cor_client *client, struct cor_status *why)
{
    const struct cor_informers_opts set = {COR_INFORMERS_OPTS, .on_watch_error = on_watch_error};
    const struct cor_informer_opts of_pods = {COR_INFORMER_OPTS, .resource = {"", "v1", "pods"}};
    struct cor_informers *informers;
    struct cor_informer *pods;
    atomic_int count = 0;
    int r = cor_informers_new(client, &set, &informers);

    if (r < 0)
        return r;
    r = cor_informers_for_resource(informers, &of_pods, &pods, why);
    if (r == 0)
        r = add_handlers(pods, &count);
    if (r == 0)
        r = cor_informer_on_sync(pods, on_synced, NULL);
    if (r == 0) {
        cor_informers_start(informers);
        follow(pods, &count);
    }
    cor_informers_free(informers);
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    struct cor_status why;
    int r;

    usage(argc, argv, 0, 0, "informer\nShows the pods of a cluster until it is interrupted.");
    sem_init(&news, 0, 0);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);

    cor_status_init(&why);
    r = cor_client_config_load(NULL, NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &client, &why);
    if (r == 0)
        r = run(client, &why);
    if (r < 0)
        fprintf(stderr, "informer: %s\n", why.err ? cor_status_message(&why) : cor_err_text(r));

    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0;
}
