/* An informer over the ConfigMaps of a namespace that tells what its handler hears, one line a
 * call, and, for each byte 'c' on standard input, what is cached. Ends with the input. Only the
 * public API. follow threads|pumped KUBECONFIG NAMESPACE */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <coracle.h>

static void on_add(void *arg, struct cor_object *object, bool in_initial_list)
{
    printf("add %.*s %.*s %s\n", COR_STR_ARG(cor_object_name(object)),
           COR_STR_ARG(cor_object_resource_version(object)), in_initial_list ? "initial" : "later");
    fflush(stdout);
}

static void on_update(void *arg, struct cor_object *old, struct cor_object *object)
{
    printf("update %.*s %.*s %.*s\n", COR_STR_ARG(cor_object_name(object)),
           COR_STR_ARG(cor_object_resource_version(old)),
           COR_STR_ARG(cor_object_resource_version(object)));
    fflush(stdout);
}

static void on_delete(void *arg, struct cor_str key, struct cor_object *object, bool unknown)
{
    const char *slash = memchr(key.p, '/', key.n);
    struct cor_str name = {slash + 1, key.n - (size_t)(slash + 1 - key.p)};

    printf("delete %.*s %.*s %s\n", COR_STR_ARG(name),
           COR_STR_ARG(object ? cor_object_resource_version(object) : COR_STR("0")),
           unknown ? "missed" : "seen");
    fflush(stdout);
}

static void on_watch_error(void *arg, struct cor_str plural, const struct cor_status *error)
{
    printf("error %d %s\n", error->code, cor_status_message(error));
    fflush(stdout);
}

static int print_one(void *arg, struct cor_object *object)
{
    printf(" %.*s@%.*s", COR_STR_ARG(cor_object_name(object)),
           COR_STR_ARG(cor_object_resource_version(object)));
    return 0;
}

static void print_cache(struct cor_informer *informer)
{
    flockfile(stdout);
    printf("cache");
    cor_informer_each(informer, COR_STR(""), NULL, print_one, NULL);
    printf("\n");
    fflush(stdout);
    funlockfile(stdout);
}

/* A runtime with threads has no descriptor, and poll() passes over what is negative. */
static int serve(struct cor_runtime *runtime, struct cor_informer *informer)
{
    struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                           {.fd = cor_runtime_fd(runtime), .events = POLLIN}};

    for (;;) {
        char byte;

        if (poll(fds, 2, -1) < 0)
            return -COR_EIO;
        if (fds[1].revents)
            cor_runtime_pump(runtime);
        if (!fds[0].revents)
            continue;
        if (read(STDIN_FILENO, &byte, 1) != 1)
            return 0;
        print_cache(informer);
    }
}

static int follow(struct cor_runtime *runtime, struct cor_client *client, const char *ns,
                  struct cor_status *why)
{
    const struct cor_informers_opts opts = {COR_INFORMERS_OPTS, .on_watch_error = on_watch_error};
    const struct cor_informer_opts maps = {COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"},
                                           .ns = ns};
    const struct cor_handler_opts handler = {
        COR_HANDLER_DEFAULTS,
        .on = {.on_add = on_add, .on_update = on_update, .on_delete = on_delete}};
    struct cor_informers *informers;
    struct cor_informer *informer;
    int r = cor_informers_new(client, &opts, &informers);

    if (r < 0)
        return r;
    r = cor_informers_for_resource(informers, &maps, &informer, why);
    if (r == 0)
        r = cor_informer_add_handler(informer, &handler, NULL);
    if (r == 0) {
        cor_informers_start(informers);
        r = serve(runtime, informer);
    }
    cor_informers_free(informers);
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};
    struct cor_runtime_opts kind = {COR_RUNTIME_OPTS, .kind = COR_RUNTIME_THREADS};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    struct cor_status why;
    int r;

    if (argc != 4)
        return 2;
    if (strcmp(argv[1], "pumped") == 0)
        kind.kind = COR_RUNTIME_PUMPED;
    cor_status_init(&why);
    r = cor_client_config_load(argv[2], NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(&kind, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &client, &why);
    if (r == 0)
        r = follow(runtime, client, argv[3], &why);
    if (r < 0)
        fprintf(stderr, "follow: %s\n", why.err ? cor_status_message(&why) : cor_err_text(r));

    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0;
}
