/* A whole controller: it keeps a Secret with the content of each ConfigMap that has the label
 * copy=secret, in the process that leads, until it is interrupted. */
#include <coracle.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "usage.h"

static struct cor_manager *manager;
static struct cor_informer *secrets;

static void on_signal(int signo)
{
    cor_manager_stop(manager);
}

static void on_log(void *arg, const char *line)
{
    fprintf(stderr, "%s\n", line);
}

static struct cor_view data_of(const struct cor_object *object)
{
    return cor_view_member(cor_object_view(object), COR_STR("data"));
}

/* The Secret as it should be: a new one, or a changed copy of `old`. */
static int make_secret(struct cor_object *configmap, struct cor_object *old,
                       struct cor_object **ret, struct cor_status *why)
{
    struct cor_view_iter it = cor_view_iter(data_of(configmap));
    struct cor_builder *b;
    int r = cor_builder_new(old, &b);

    if (r < 0)
        return r;
    cor_builder_set_text(b, "apiVersion", COR_STR("v1"));
    cor_builder_set_text(b, "kind", COR_STR("Secret"));
    cor_builder_set_text(b, "metadata.name", cor_object_name(configmap));
    cor_builder_set_text(b, "metadata.namespace", cor_object_namespace(configmap));
    cor_builder_set_controller(b, configmap);
    cor_builder_set_json(b, "data", COR_STR("{}"));
    while (r == 0 && cor_view_next(&it)) {
        char key[254], *buf = malloc(it.value.json.n);
        struct cor_str text;

        snprintf(key, sizeof(key), "%.*s", COR_STR_ARG(it.key));
        r = buf ? cor_view_text(it.value, buf, it.value.json.n, &text) : -COR_ENOMEM;
        if (r == 0)
            r = cor_builder_set_base64_in(b, "data", key, text);
        free(buf);
    }
    if (r == 0)
        r = cor_builder_finish(b, ret, why);
    cor_builder_free(b);
    return r;
}

static int reconcile(void *arg, struct cor_run *run)
{
    struct cor_object *configmap = cor_run_object(run), *old = NULL;
    struct cor_request req = {COR_REQUEST, .resource = {"", "v1", "secrets"},
                              .ns = cor_run_ns(run)};
    int r;

    if (!configmap)
        return 0; /* deleted; the garbage collector deletes its Secret */
    r = cor_run_get(run, secrets, cor_run_ns(run), cor_run_name(run), &old);
    if (r < 0 && r != -COR_ENOTFOUND)
        return r;
    if (old && !cor_object_is_controlled_by(old, configmap)) {
        cor_events_record(cor_manager_events(manager), configmap, COR_EVENT_WARNING, "NameTaken",
                          "Secret %s belongs to somebody else", cor_run_name(run));
        return cor_run_terminal(run, -COR_EEXIST);
    }
    r = make_secret(configmap, old, &req.object, cor_run_why(run));
    if (r == 0)
        r = cor_run_keep(run, req.object);
    if (r < 0 || (old && cor_str_eq(data_of(old).json, data_of(req.object).json)))
        return r;
    req.verb = old ? COR_VERB_UPDATE : COR_VERB_CREATE;
    r = cor_client_do(cor_manager_client(manager), &req, NULL, cor_run_why(run));
    if (r == 0)
        cor_events_record(cor_manager_events(manager), configmap, COR_EVENT_NORMAL, "Copied",
                          "copied to Secret %s", cor_run_name(run));
    return r;
}

int main(int argc, char **argv)
{
    const struct cor_manager_opts opts = {COR_MANAGER_OPTS, .name = "secret-keeper",
                                          .lease_name = "secret-keeper", .release_on_cancel = true,
                                          .on_log = on_log};
    const struct cor_informer_opts maps = {COR_INFORMER_OPTS, .resource = {"", "v1", "configmaps"},
                                           .kind = "ConfigMap", .label_selector = "copy=secret"};
    const struct cor_informer_opts copy = {COR_INFORMER_OPTS, .resource = {"", "v1", "secrets"}};
    const struct cor_controller_opts controller_opts = {COR_CONTROLLER_OPTS, .reconcile = reconcile,
                                                        .runs_max = 4};
    struct cor_controller *controller;
    struct cor_status why = {0};
    int r;

    usage(argc, argv, 0, 0, "secret_keeper\nCopies labelled ConfigMaps to Secrets.");
    r = cor_manager_new(&opts, &manager, &why);
    if (r == 0) {
        secrets = cor_manager_informer(manager, &copy);
        controller = cor_manager_add(manager, &controller_opts);
        cor_controller_for(controller, cor_manager_informer(manager, &maps), NULL);
        cor_controller_owns(controller, secrets, NULL);
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        r = cor_manager_run(manager, &why);
        cor_manager_free(manager);
    }
    if (r < 0)
        fprintf(stderr, "secret-keeper: %s\n", cor_status_message(&why));
    cor_status_deinit(&why);
    return r < 0;
}
