/* The controller of pod_binder.h. A pod is looked at when it changes, and when a node does; a node
 * that fills up or goes away while a pod is bound to it is the next scheduler's problem, as it is
 * kube-scheduler's. */
#include "pod_binder.h"

#include <stdio.h>
#include <string.h>

static int index_by_node(void *arg, struct cor_core_v1_pod pod, struct cor_index_values *out)
{
    struct cor_text node = cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(pod));

    return cor_index_values_add(out, cor_text_exists(node) ? node.raw : COR_STR(""));
}

static bool is_waiting(struct cor_core_v1_pod pod)
{
    struct cor_core_v1_pod_spec spec = cor_core_v1_pod_spec(pod);

    return cor_text_is(cor_core_v1_pod_spec_scheduler_name(spec), BINDER_NAME) &&
           !cor_text_exists(cor_core_v1_pod_spec_node_name(spec)) &&
           !cor_text_exists(
               cor_meta_v1_object_meta_deletion_timestamp(cor_core_v1_pod_metadata(pod)));
}

struct choice {
    struct pod_binder *binder;
    struct cor_str name; /* of the best node, borrowed from the cache */
    int npods;
};

static int count(void *arg, struct cor_core_v1_pod pod)
{
    ++*(int *)arg;
    return 0;
}

static int consider(void *arg, struct cor_core_v1_node node)
{
    struct choice *best = arg;
    struct cor_str name = cor_meta_v1_object_meta_name(cor_core_v1_node_metadata(node)).raw;
    struct cor_core_v1_node_condition ready =
        cor_core_v1_node_status_conditions_by_type(cor_core_v1_node_status(node), COR_STR("Ready"));
    int npods = 0, r;

    if (!cor_text_is(cor_core_v1_node_condition_status(ready), "True") ||
        cor_core_v1_node_spec_unschedulable(cor_core_v1_node_spec(node)))
        return 0;
    r = cor_core_v1_pod_informer_each_by_index(best->binder->pods, COR_STR("node"), name, count,
                                               &npods);
    if (r == 0 && (!best->name.p || npods < best->npods)) {
        best->name = name;
        best->npods = npods;
    }
    return r;
}

static int bind_pod(struct pod_binder *binder, struct cor_run *run, struct cor_str node)
{
    struct cor_core_v1_binding_object binding = {NULL};
    struct cor_builder *b;
    int r = cor_builder_new(NULL, &b);

    if (r < 0)
        return r;
    cor_builder_set_text(b, "metadata.name", cor_strz(cor_run_name(run)));
    cor_builder_set_text(b, "target.kind", COR_STR("Node"));
    cor_builder_set_text(b, "target.name", node);
    r = cor_core_v1_binding_object_build(b, &binding, cor_run_why(run));
    cor_builder_free(b);
    if (r == 0)
        r = cor_core_v1_pods_create_binding(binder->client, cor_run_ns(run), cor_run_name(run),
                                            binding, NULL, NULL, cor_run_why(run));
    cor_core_v1_binding_object_unref(&binding);
    /* The cache was behind: another client has bound or deleted the pod. */
    return r == -COR_ECONFLICT || r == -COR_ENOTFOUND ? 0 : r;
}

static int reconcile(void *arg, struct cor_run *run)
{
    struct pod_binder *binder = arg;
    struct cor_object *pod = cor_run_object(run);
    struct choice best = {.binder = binder};
    char node[256];
    int r;

    if (!pod || !is_waiting(cor_core_v1_pod(pod)))
        return 0;
    r = cor_core_v1_node_informer_each(binder->nodes, NULL, consider, &best);
    if (r < 0 || !best.name.p)
        return r; /* a node that becomes ready brings the pod back */
    snprintf(node, sizeof(node), "%.*s", COR_STR_ARG(best.name));
    r = bind_pod(binder, run, cor_strz(node));
    if (r == 0)
        printf("%s/%s runs on %s\n", cor_run_ns(run), cor_run_name(run), node);
    fflush(stdout);
    return r;
}

static int add_key(void *arg, struct cor_core_v1_pod pod)
{
    struct cor_meta_v1_object_meta meta = cor_core_v1_pod_metadata(pod);

    cor_control_keys_add(arg, cor_meta_v1_object_meta_namespace(meta).raw,
                         cor_meta_v1_object_meta_name(meta).raw);
    return 0;
}

/* Any change of a node concerns the pods that wait for one. */
static void map_node(void *arg, const struct cor_object *node, struct cor_control_keys *keys)
{
    struct pod_binder *binder = arg;

    cor_core_v1_pod_informer_each_by_index(binder->pods, COR_STR("node"), COR_STR(""), add_key,
                                           keys);
}

int pod_binder_add(struct pod_binder *binder, struct cor_manager *manager, struct cor_status *why)
{
    const struct cor_controller_opts opts = {COR_CONTROLLER_OPTS, .reconcile = reconcile,
                                             .arg = binder};
    const struct cor_source_opts of_nodes = {COR_SOURCE_OPTS, .map = map_node, .arg = binder};
    struct cor_informers *informers = cor_manager_informers(manager);
    struct cor_controller *controller;
    int r = cor_core_v1_pods_informer(informers, NULL, NULL, &binder->pods, why);

    binder->client = cor_manager_client(manager);
    binder->by_node.name = COR_STR("node");
    binder->by_node.fn = index_by_node;
    if (r == 0)
        r = cor_core_v1_nodes_informer(informers, NULL, &binder->nodes, why);
    if (r == 0)
        r = cor_core_v1_pod_informer_add_index(binder->pods, &binder->by_node);
    if (r < 0)
        return r;
    controller = cor_manager_add(manager, &opts);
    cor_controller_for(controller, binder->pods.informer, NULL);
    cor_controller_watches(controller, binder->nodes.informer, &of_nodes);
    return 0;
}
