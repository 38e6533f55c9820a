/* The operator of a custom resource, with generated types: keeps a Deployment for each Website
 * (website.yaml), and shows in its status how many replicas are ready. The Deployment goes with its
 * Website, by its owner reference. website_operator */
#include <coracle.h>
#include <coracle/types/apps_v1_client.h>
#include <coracle/types/owner.h>
#include <signal.h>
#include <stdio.h>

#include "example_v1_client.h"
#include "usage.h"

static struct cor_manager *manager;

static void on_signal(int signo)
{
    cor_manager_stop(manager);
}

static void on_log(void *arg, const char *line)
{
    fprintf(stderr, "%s\n", line);
}

/* The Deployment that a Website should have: this operator owns what is set here. */
static int apply_deployment(struct cor_run *run, struct cor_pool *pool,
                            struct example_v1_website site)
{
    const struct cor_request opts = {COR_REQUEST, .field_manager = "website-operator",
                                     .force = true};
    struct example_v1_website_spec spec = example_v1_website_spec(site);
    struct cor_meta_v1_object_meta meta = example_v1_website_metadata(site);
    struct cor_str name = cor_meta_v1_object_meta_name(meta).raw;
    struct cor_core_v1_container_own container = {.name = COR_STR("web"),
                                                  .image = example_v1_website_spec_image(spec).raw};
    struct cor_str_entry label = {COR_STR("website"), name};
    struct cor_meta_v1_label_selector_own selector = {.match_labels = {&label, 1, 1}};
    struct cor_apps_v1_deployment_own d;
    struct cor_apps_v1_deployment_object object = {NULL};
    int r;

    cor_apps_v1_deployment_own_init(&d);
    d.metadata.name = name;
    d.metadata.namespace_ = cor_strz(cor_run_ns(run));
    d.spec.replicas = cor_opt_int32(example_v1_website_spec_replicas(spec));
    d.spec.selector = &selector;
    d.spec.template_.metadata.labels = selector.match_labels;
    d.spec.template_.spec.containers.p = &container;
    d.spec.template_.spec.containers.n = 1;
    r = cor_own_set_controller(pool, &d.metadata, cor_run_object(run));
    if (r == 0)
        r = cor_apps_v1_deployment_object_of_own(pool, &d, &object, cor_run_why(run));
    if (r == 0)
        r = cor_apps_v1_deployments_apply(cor_manager_client(manager), cor_run_ns(run), object,
                                          &opts, NULL, cor_run_why(run));
    cor_apps_v1_deployment_object_unref(&object);
    return r;
}

static int show_status(struct cor_run *run, struct example_v1_website site,
                       struct cor_informer *deployments)
{
    int32_t was = example_v1_website_status_ready_replicas(example_v1_website_status(site)), is = 0;
    struct cor_object *deployment;
    char patch[64];
    int r = cor_run_get(run, deployments, cor_run_ns(run), cor_run_name(run), &deployment);

    if (r == 0)
        is = cor_apps_v1_deployment_status_ready_replicas(
            cor_apps_v1_deployment_status(cor_apps_v1_deployment(deployment)));
    if (is == was)
        return r == -COR_ENOTFOUND ? 0 : r; /* its creation brings the key back */
    snprintf(patch, sizeof(patch), "{\"status\":{\"readyReplicas\":%d}}", (int)is);
    r = example_v1_websites_patch_status(cor_manager_client(manager), cor_run_ns(run),
                                         cor_run_name(run), COR_PATCH_MERGE, cor_strz(patch), NULL,
                                         NULL, cor_run_why(run));
    if (r == 0)
        printf("%s/%s has %d ready\n", cor_run_ns(run), cor_run_name(run), (int)is);
    fflush(stdout);
    return r;
}

static int reconcile(void *arg, struct cor_run *run)
{
    struct cor_object *object = cor_run_object(run);
    struct cor_pool *pool = NULL;
    int r = object && !cor_object_is_being_deleted(object) ? cor_pool_new(0, &pool) : 0;

    if (!pool)
        return r;
    r = apply_deployment(run, pool, example_v1_website(object));
    if (r == 0)
        r = show_status(run, example_v1_website(object), arg);
    cor_pool_free(pool);
    return r;
}

static int set_up(struct cor_status *why)
{
    struct cor_informers *informers = cor_manager_informers(manager);
    struct cor_controller_opts opts = {COR_CONTROLLER_OPTS, .reconcile = reconcile};
    struct cor_apps_v1_deployment_informer deployments;
    struct example_v1_website_informer websites;
    struct cor_controller *controller;
    int r = example_v1_websites_informer(informers, NULL, NULL, &websites, why);

    if (r == 0)
        r = cor_apps_v1_deployments_informer(informers, NULL, NULL, &deployments, why);
    if (r < 0)
        return r;
    opts.arg = deployments.informer;
    controller = cor_manager_add(manager, &opts);
    cor_controller_for(controller, websites.informer, NULL);
    cor_controller_owns(controller, deployments.informer, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    const struct cor_manager_opts opts = {COR_MANAGER_OPTS, .name = "website-operator",
                                          .on_log = on_log};
    struct cor_status why;
    int r;

    usage(argc, argv, 0, 0, "website_operator\nKeeps a Deployment for each Website.");
    cor_status_init(&why);
    r = cor_manager_new(&opts, &manager, &why);
    if (r == 0)
        r = set_up(&why);
    if (r == 0) {
        signal(SIGINT, on_signal);
        signal(SIGTERM, on_signal);
        r = cor_manager_run(manager, &why);
    }
    cor_manager_free(manager);
    if (r < 0)
        fprintf(stderr, "website_operator: %s\n", cor_status_message(&why));
    cor_status_deinit(&why);
    return r < 0;
}
