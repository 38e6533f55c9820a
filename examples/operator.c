/* An operator with a finalizer and a status: for each Service of type LoadBalancer it keeps a file
 * in a folder, which represents a load balancer outside the cluster, and describes it in the status
 * of the Service. The finalizer keeps a deleted Service until its file is removed. operator FOLDER
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include <coracle.h>

#include "usage.h"

#define FINALIZER "example.com/balancer"
#define ADDRESS   "192.0.2.10"

static struct cor_manager *manager;
static const char *folder;

static void on_signal(int signo)
{
    cor_manager_stop(manager);
}

static void on_log(void *arg, const char *line)
{
    fprintf(stderr, "%s\n", line);
}

/* Writes the object of the builder, or its status; nothing when the builder has not changed it. */
static int write_service(struct cor_run *run, struct cor_builder *b, int changed,
                         const char *subresource)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_UPDATE,
                              .resource = {"", "v1", "services"}, .ns = cor_run_ns(run),
                              .subresource = subresource};
    int r = changed < 0 ? changed : 0;

    if (changed > 0)
        r = cor_builder_finish(b, &req.object, cor_run_why(run));
    if (changed > 0 && r == 0)
        r = cor_client_do(cor_manager_client(manager), &req, NULL, cor_run_why(run));
    cor_object_unref(req.object);
    return r;
}

/* The work outside the cluster. Doing it twice is harmless. */
static int make_balancer(const char *path)
{
    FILE *file = fopen(path, "w");

    if (!file)
        return -COR_EIO;
    return fprintf(file, "%s\n", ADDRESS) < 0 || fclose(file) != 0 ? -COR_EIO : 0;
}

static int remove_balancer(const char *path)
{
    return remove(path) == 0 || errno == ENOENT ? 0 : -COR_EIO;
}

static int describe(struct cor_run *run, struct cor_object *service, struct cor_builder *b,
                    int made)
{
    struct cor_condition ready = {COR_CONDITION, .type = "example.com/Balanced",
                                  .status = made == 0 ? "True" : "False",
                                  .reason = made == 0 ? "Made" : "Failed",
                                  .message = made == 0 ? "the balancer is there" : "no balancer"};
    bool was_ready = cor_object_condition_is(service, ready.type, "True");
    int changed = cor_builder_set_condition(b, &ready), r;

    if (changed > 0 && made == 0)
        cor_builder_set_json(b, "status.loadBalancer.ingress",
                             COR_STR("[{\"ip\":\"" ADDRESS "\"}]"));
    r = write_service(run, b, changed, "status");
    if (r == 0 && made == 0 && !was_ready)
        cor_events_record(cor_manager_events(manager), service, COR_EVENT_NORMAL, "Balanced",
                          "the balancer has address %s", ADDRESS);
    return made < 0 ? made : r;
}

static int reconcile_with(struct cor_run *run, struct cor_object *service, struct cor_builder *b)
{
    struct cor_view spec = cor_view_member(cor_object_view(service), COR_STR("spec"));
    struct cor_str type = cor_view_text_or(cor_view_member(spec, COR_STR("type")), NULL, 0, "");
    bool is_wanted = cor_str_eqz(type, "LoadBalancer") && !cor_object_is_being_deleted(service);
    char path[4096];
    int r;

    snprintf(path, sizeof(path), "%s/%s.%s", folder, cor_run_ns(run), cor_run_name(run));
    if (!is_wanted) {
        if (!cor_object_has_finalizer(service, FINALIZER))
            return 0; /* never ours, or no longer */
        r = remove_balancer(path);
        return r < 0 ? r : write_service(run, b, cor_builder_remove_finalizer(b, FINALIZER), NULL);
    }
    /* The finalizer is written before there is anything to clean up. Its own change brings the key
     * back. */
    if (!cor_object_has_finalizer(service, FINALIZER))
        return write_service(run, b, cor_builder_add_finalizer(b, FINALIZER), NULL);
    return describe(run, service, b, make_balancer(path));
}

static int reconcile(void *arg, struct cor_run *run)
{
    struct cor_object *service = cor_run_object(run);
    struct cor_builder *b;
    int r = service ? cor_builder_new(service, &b) : 0;

    if (r < 0 || !service)
        return r;
    r = reconcile_with(run, service, b);
    cor_builder_free(b);
    return r;
}

int main(int argc, char **argv)
{
    const struct cor_manager_opts opts = {COR_MANAGER_OPTS, .name = "operator", .on_log = on_log};
    const struct cor_informer_opts of_services = {
        COR_INFORMER_OPTS, .resource = {"", "v1", "services"}, .kind = "Service"};
    const struct cor_controller_opts controller_opts = {COR_CONTROLLER_OPTS,
                                                        .reconcile = reconcile};
    struct cor_status why;
    int r;

    usage(argc, argv, 1, 1,
          "operator FOLDER\nKeeps a file in FOLDER for each Service of type LoadBalancer.");
    folder = argv[1];
    cor_status_init(&why);
    r = cor_manager_new(&opts, &manager, &why);
    if (r == 0) {
        cor_controller_for(cor_manager_add(manager, &controller_opts),
                           cor_manager_informer(manager, &of_services), NULL);
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        r = cor_manager_run(manager, &why);
        cor_manager_free(manager);
    }
    if (r < 0)
        fprintf(stderr, "operator: %s\n", cor_status_message(&why));
    cor_status_deinit(&why);
    return r < 0;
}
