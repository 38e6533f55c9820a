/* An operator of a custom resource, the Boat of boats.yaml: it keeps the line of each boat in the
 * ConfigMap "harbour" of its namespace, and describes that in the status of the boat. Boats share
 * the ConfigMap, so that no owner reference can clean up: a finalizer keeps a deleted boat until
 * its line is removed. */
#include <coracle.h>
#include <signal.h>
#include <stdio.h>

#include "usage.h"

#define FINALIZER "harbour.example.com/line"

static const struct cor_resource boats = {"harbour.example.com", "v1", "boats"};
static struct cor_manager *manager;

static void on_signal(int signo)
{
    cor_manager_stop(manager);
}

static void on_log(void *arg, const char *line)
{
    fprintf(stderr, "%s\n", line);
}

static struct cor_view spec_of(const struct cor_object *boat, const char *field)
{
    struct cor_view spec = cor_view_member(cor_object_view(boat), COR_STR("spec"));

    return cor_view_member(spec, cor_strz(field));
}

/* Sets the line of a boat; a boat that is being deleted has none. */
static int set_line(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    const struct cor_object *boat = arg;
    struct cor_str colour = cor_view_text_or(spec_of(boat, "colour"), NULL, 0, "");
    struct cor_str crew = spec_of(boat, "crew").json;
    char name[254], line[128];
    int n = snprintf(line, sizeof(line), "%.*s, %.*s at the oars", COR_STR_ARG(colour),
                     COR_STR_ARG(crew));

    if (cor_object_is_being_deleted(boat))
        return 0;
    snprintf(name, sizeof(name), "%.*s", COR_STR_ARG(cor_object_name(boat)));
    return cor_builder_set_text_in(b, "data", name, cor_str(line, (size_t)n));
}

/* Server-side apply with a manager for each boat: the server removes the line that this manager has
 * applied before and no longer applies. */
static int apply_line(struct cor_run *run, struct cor_object *boat)
{
    char field_manager[128];
    const struct cor_apply apply = {COR_APPLY,
                                    .how = COR_APPLY_FIELDS,
                                    .resource = {"", "v1", "configmaps"},
                                    .ns = cor_run_ns(run),
                                    .name = "harbour",
                                    .kind = "ConfigMap",
                                    .mutate = set_line,
                                    .arg = boat,
                                    .field_manager = field_manager};
    enum cor_apply_result result;

    snprintf(field_manager, sizeof(field_manager), "boat-%.*s", COR_STR_ARG(cor_object_uid(boat)));
    return cor_client_apply(cor_manager_client(manager), &apply, &result, NULL, cor_run_why(run));
}

static int set_status(void *arg, const struct cor_object *current, struct cor_builder *b)
{
    const struct cor_condition listed = {COR_CONDITION,
                                         .type = "Listed",
                                         .status = "True",
                                         .reason = "LineWritten",
                                         .message = "the harbour knows the boat",
                                         .observed_generation = cor_object_generation(arg)};
    int r = cor_builder_set_json(b, "status.crew", spec_of(arg, "crew").json);

    return r < 0 ? r : cor_builder_set_condition(b, &listed);
}

static int apply_status(struct cor_run *run, struct cor_object *boat)
{
    const struct cor_apply apply = {
        COR_APPLY,      .how = COR_APPLY_STATUS, .retry = COR_RETRY_QUICKLY, .resource = boats,
        .kind = "Boat", .ns = cor_run_ns(run),   .name = cor_run_name(run),  .mutate = set_status,
        .arg = boat};
    enum cor_apply_result result;

    return cor_client_apply(cor_manager_client(manager), &apply, &result, NULL, cor_run_why(run));
}

/* Writes the boat with the finalizer, or without it; its change brings the key back. */
static int write_finalizer(struct cor_run *run, struct cor_object *boat, bool is_wanted)
{
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_UPDATE, .resource = boats,
                              .ns = cor_run_ns(run)};
    struct cor_builder *b;
    int r = cor_builder_new(boat, &b);

    if (r < 0)
        return r;
    if (is_wanted)
        cor_builder_add_finalizer(b, FINALIZER);
    else
        cor_builder_remove_finalizer(b, FINALIZER);
    r = cor_builder_finish(b, &req.object, cor_run_why(run));
    if (r == 0)
        r = cor_client_do(cor_manager_client(manager), &req, NULL, cor_run_why(run));
    cor_object_unref(req.object);
    cor_builder_free(b);
    return r;
}

static int reconcile(void *arg, struct cor_run *run)
{
    struct cor_object *boat = cor_run_object(run);
    bool is_ours = boat && cor_object_has_finalizer(boat, FINALIZER);
    int r;

    if (!boat || (cor_object_is_being_deleted(boat) && !is_ours))
        return 0;
    /* The finalizer is written before there is anything to clean up. */
    if (!is_ours)
        return write_finalizer(run, boat, true);
    r = apply_line(run, boat);
    if (r < 0)
        return r;
    return cor_object_is_being_deleted(boat) ? write_finalizer(run, boat, false)
                                             : apply_status(run, boat);
}

int main(int argc, char **argv)
{
    const struct cor_manager_opts opts = {COR_MANAGER_OPTS, .name = "boat-operator",
                                          .on_log = on_log};
    const struct cor_informer_opts of_boats = {COR_INFORMER_OPTS, .resource = boats,
                                               .kind = "Boat"};
    const struct cor_controller_opts controller_opts = {COR_CONTROLLER_OPTS,
                                                        .reconcile = reconcile};
    struct cor_status why;
    int r;

    usage(argc, argv, 0, 0, "boat_operator\nLists each Boat in the ConfigMap \"harbour\".");
    cor_status_init(&why);
    r = cor_manager_new(&opts, &manager, &why);
    if (r == 0) {
        cor_controller_for(cor_manager_add(manager, &controller_opts),
                           cor_manager_informer(manager, &of_boats), NULL);
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        r = cor_manager_run(manager, &why);
        cor_manager_free(manager);
    }
    if (r < 0)
        fprintf(stderr, "boat-operator: %s\n", cor_status_message(&why));
    cor_status_deinit(&why);
    return r < 0;
}
