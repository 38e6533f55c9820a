/* Runs the generated clients against the server of the kubeconfig: every verb, subresources of the
 * kind itself and of others, lists, watches, informers with listers and indexes, for built-in kinds
 * and for one of a CustomResourceDefinition (website.yaml), which the server has already.
 * clients NAMESPACE. It ends with 0, or says which line was not as expected. */
#include <coracle/equality.h>
#include <coracle/types/clients.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "example_v1_client.h"

#define WAIT_MS 60000

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, cor_status_message(&why));  \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static struct cor_status why;
static const char *ns;

static struct cor_builder *named(const char *name)
{
    struct cor_builder *b = NULL;

    CHECK(cor_builder_new(NULL, &b) == 0);
    cor_builder_set_text(b, "metadata.name", cor_strz(name));
    return b;
}

static struct cor_core_v1_pod_object make_pod(const char *name, const char *app)
{
    struct cor_core_v1_pod_object pod;
    struct cor_builder *b = named(name);

    cor_builder_set_label(b, "app", cor_strz(app));
    cor_builder_append_json(b, "spec.containers",
                            COR_STR("{\"name\":\"web\",\"image\":\"web:v1\"}"));
    CHECK(cor_core_v1_pod_object_build(b, &pod, &why) == 0);
    cor_builder_free(b);
    return pod;
}

static void create_pod(struct cor_client *client, const char *name, const char *app)
{
    struct cor_core_v1_pod_object pod = make_pod(name, app), made;

    CHECK(cor_core_v1_pods_create(client, ns, pod, NULL, &made, &why) == 0);
    CHECK(cor_text_is(
        cor_core_v1_pod_status_phase(cor_core_v1_pod_status(cor_core_v1_pod_object_view(made))),
        COR_CORE_V1_POD_PHASE_PENDING));
    cor_core_v1_pod_object_unref(&made);
    cor_core_v1_pod_object_unref(&pod);
}

static struct cor_str image_of(struct cor_core_v1_pod pod)
{
    return cor_core_v1_container_image(
               cor_core_v1_pod_spec_containers_by_name(cor_core_v1_pod_spec(pod), COR_STR("web")))
        .raw;
}

/* Contract controllers 5.2.5: what each verb takes and gives. */
static void writes_and_reads(struct cor_client *client)
{
    const struct cor_request dry = {COR_REQUEST, .dry_run = true};
    struct cor_core_v1_pod_object pod, changed;
    struct cor_core_v1_service_object service = {NULL};
    struct cor_builder *b;

    create_pod(client, "a", "web");
    pod = make_pod("a", "web");
    CHECK(cor_core_v1_pods_create(client, ns, pod, NULL, NULL, &why) == -COR_EEXIST);
    cor_core_v1_pod_object_unref(&pod);
    CHECK(cor_core_v1_pods_get(client, ns, "none", NULL, &pod, &why) == -COR_ENOTFOUND);
    CHECK(cor_core_v1_pods_get(client, ns, "a", NULL, &pod, &why) == 0);
    CHECK(cor_core_v1_service_object_of(pod.object, &service) == -COR_EINVAL && !service.object);

    CHECK(cor_builder_new(pod.object, &b) == 0);
    cor_builder_set_text(b, "spec.containers[0].image", COR_STR("web:v2"));
    CHECK(cor_core_v1_pod_object_build(b, &changed, &why) == 0);
    cor_builder_free(b);
    cor_core_v1_pod_object_unref(&pod);
    CHECK(cor_core_v1_pods_update(client, ns, changed, NULL, &pod, &why) == 0);
    CHECK(cor_str_eqz(image_of(cor_core_v1_pod_object_view(pod)), "web:v2"));
    CHECK(cor_core_v1_pods_update(client, NULL, changed, NULL, NULL, &why) == -COR_ECONFLICT);
    cor_core_v1_pod_object_unref(&changed);
    cor_core_v1_pod_object_unref(&pod);

    CHECK(cor_core_v1_pods_patch(client, ns, "a", COR_PATCH_STRATEGIC,
                                 COR_STR("{\"metadata\":{\"labels\":{\"tier\":\"front\"}}}"), &dry,
                                 &pod, &why) == 0);
    CHECK(cor_text_is(cor_text_map_get(cor_meta_v1_object_meta_labels(cor_core_v1_pod_metadata(
                                           cor_core_v1_pod_object_view(pod))),
                                       COR_STR("tier")),
                      "front"));
    cor_core_v1_pod_object_unref(&pod);
    CHECK(cor_core_v1_pods_get(client, ns, "a", NULL, &pod, &why) == 0);
    CHECK(!cor_text_exists(cor_text_map_get(
        cor_meta_v1_object_meta_labels(cor_core_v1_pod_metadata(cor_core_v1_pod_object_view(pod))),
        COR_STR("tier"))));
    cor_core_v1_pod_object_unref(&pod);
}

static void applies(struct cor_client *client)
{
    const struct cor_request opts = {COR_REQUEST, .field_manager = "typed"};
    struct cor_core_v1_config_map_object map, made;
    struct cor_builder *b = named("settings");

    cor_builder_set_text_in(b, "data", "color", COR_STR("blue"));
    CHECK(cor_core_v1_config_map_object_build(b, &map, &why) == 0);
    cor_builder_free(b);
    CHECK(cor_core_v1_configmaps_apply(client, ns, map, &opts, &made, &why) == 0);
    CHECK(cor_text_is(
        cor_text_map_get(cor_core_v1_config_map_data(cor_core_v1_config_map_object_view(made)),
                         COR_STR("color")),
        "blue"));
    cor_core_v1_config_map_object_unref(&made);
    CHECK(cor_core_v1_configmaps_apply(client, ns, map, NULL, NULL, &why) < 0);
    cor_core_v1_config_map_object_unref(&map);
}

/* Contract controllers 5.2.9: subresources of the kind itself (status), and those that speak of
 * other kinds (scale, binding, eviction), which client-go has as expansions. */
static void uses_subresources(struct cor_client *client)
{
    const struct cor_request opts = {COR_REQUEST, .field_manager = "typed"};
    struct cor_apps_v1_deployment_object deployment, made;
    struct cor_autoscaling_v1_scale_object scale, scaled;
    struct cor_core_v1_binding_object binding;
    struct cor_policy_v1_eviction_object eviction;
    struct cor_core_v1_pod_object pod;
    struct cor_builder *b = named("d");

    cor_builder_set_int(b, "spec.replicas", 1);
    cor_builder_set_json(b, "spec.selector", COR_STR("{\"matchLabels\":{\"app\":\"d\"}}"));
    cor_builder_set_json(b, "spec.template",
                         COR_STR("{\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{"
                                 "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}"));
    CHECK(cor_apps_v1_deployment_object_build(b, &deployment, &why) == 0);
    cor_builder_free(b);
    CHECK(cor_apps_v1_deployments_create(client, ns, deployment, NULL, NULL, &why) == 0);
    cor_apps_v1_deployment_object_unref(&deployment);

    CHECK(cor_apps_v1_deployments_get_scale(client, ns, "d", NULL, &scale, &why) == 0);
    CHECK(cor_builder_new(scale.object, &b) == 0);
    cor_builder_set_int(b, "spec.replicas", 3);
    cor_autoscaling_v1_scale_object_unref(&scale);
    CHECK(cor_autoscaling_v1_scale_object_build(b, &scale, &why) == 0);
    cor_builder_free(b);
    CHECK(cor_apps_v1_deployments_update_scale(client, ns, scale, NULL, &scaled, &why) == 0);
    CHECK(cor_autoscaling_v1_scale_spec_replicas(
              cor_autoscaling_v1_scale_spec(cor_autoscaling_v1_scale_object_view(scaled))) == 3);
    cor_autoscaling_v1_scale_object_unref(&scale);
    cor_autoscaling_v1_scale_object_unref(&scaled);

    b = named("d");
    cor_builder_set_int(b, "status.readyReplicas", 2);
    cor_builder_set_int(b, "status.replicas", 2);
    CHECK(cor_apps_v1_deployment_object_build(b, &deployment, &why) == 0);
    cor_builder_free(b);
    CHECK(cor_apps_v1_deployments_apply_status(client, ns, deployment, &opts, &made, &why) == 0);
    CHECK(cor_apps_v1_deployment_spec_replicas(
              cor_apps_v1_deployment_spec(cor_apps_v1_deployment_object_view(made))) == 3);
    CHECK(cor_apps_v1_deployment_status_ready_replicas(
              cor_apps_v1_deployment_status(cor_apps_v1_deployment_object_view(made))) == 2);
    cor_apps_v1_deployment_object_unref(&made);
    cor_apps_v1_deployment_object_unref(&deployment);

    b = named("a");
    cor_builder_set_json(b, "target", COR_STR("{\"kind\":\"Node\",\"name\":\"node-1\"}"));
    CHECK(cor_core_v1_binding_object_build(b, &binding, &why) == 0);
    cor_builder_free(b);
    CHECK(cor_core_v1_pods_create_binding(client, ns, "a", binding, NULL, NULL, &why) == 0);
    cor_core_v1_binding_object_unref(&binding);
    CHECK(cor_core_v1_pods_get(client, ns, "a", NULL, &pod, &why) == 0);
    CHECK(cor_text_is(
        cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(cor_core_v1_pod_object_view(pod))),
        "node-1"));
    cor_core_v1_pod_object_unref(&pod);

    create_pod(client, "evicted", "e");
    b = named("evicted");
    CHECK(cor_policy_v1_eviction_object_build(b, &eviction, &why) == 0);
    cor_builder_free(b);
    CHECK(cor_core_v1_pods_create_eviction(client, ns, "evicted", eviction, NULL, NULL, &why) == 0);
    cor_policy_v1_eviction_object_unref(&eviction);
    CHECK(cor_core_v1_pods_get(client, ns, "evicted", NULL, NULL, &why) == -COR_ENOTFOUND);
}

static void lists(struct cor_client *client)
{
    const struct cor_request web = {COR_REQUEST, .label_selector = "app=web"};
    struct cor_core_v1_pod_items pods;

    create_pod(client, "b", "web");
    create_pod(client, "c", "other");
    CHECK(cor_core_v1_pods_list(client, ns, &web, &pods, &why) == 0);
    CHECK(pods.list.n == 2);
    CHECK(cor_str_eqz(image_of(cor_core_v1_pod_items_at(&pods, 0)), "web:v2"));
    CHECK(cor_str_eqz(image_of(cor_core_v1_pod_items_at(&pods, 1)), "web:v1"));
    cor_core_v1_pod_items_deinit(&pods);
}

/* What handlers and a watch have seen; the lock guards it. */
struct seen {
    int added, updated, deleted, events, done;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static int set(int *number, int value)
{
    pthread_mutex_lock(&lock);
    *number = value;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return value;
}

/* The test's own timeout ends a wait that is in vain. */
static void await(const int *number, int value)
{
    pthread_mutex_lock(&lock);
    while (*number != value)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
}

static void on_add(void *arg, struct cor_core_v1_pod pod, bool in_initial_list)
{
    struct seen *seen = arg;

    CHECK(image_of(pod).n > 0 && in_initial_list);
    set(&seen->added, seen->added + 1);
}

static void on_update(void *arg, struct cor_core_v1_pod old, struct cor_core_v1_pod pod)
{
    struct seen *seen = arg;

    /* A kube-apiserver marks a pod before it deletes the pod. */
    if (cor_text_exists(cor_meta_v1_object_meta_deletion_timestamp(cor_core_v1_pod_metadata(pod))))
        return;
    CHECK(cor_str_eqz(image_of(old), "web:v1") && cor_str_eqz(image_of(pod), "web:v3"));
    set(&seen->updated, seen->updated + 1);
}

static void on_delete(void *arg, struct cor_str key, struct cor_core_v1_pod pod,
                      bool final_state_unknown)
{
    struct seen *seen = arg;

    CHECK(key.n > 0 && image_of(pod).n > 0 && !final_state_unknown);
    set(&seen->deleted, seen->deleted + 1);
}

static int by_image(void *arg, struct cor_core_v1_pod pod, struct cor_index_values *out)
{
    (void)arg;
    return cor_index_values_add(out, image_of(pod));
}

static int count(void *arg, struct cor_core_v1_pod pod)
{
    CHECK(image_of(pod).n > 0);
    *(int *)arg += 1;
    return 0;
}

static int on_event(void *arg, struct cor_core_v1_pod pod, const struct cor_watch_event *event)
{
    struct seen *seen = arg;

    CHECK(event->type == COR_WATCH_ADDED && image_of(pod).n > 0);
    return set(&seen->events, seen->events + 1) == 3 ? -COR_ECANCELED : 0;
}

static void on_done(void *arg, const struct cor_response *response)
{
    struct seen *seen = arg;

    set(&seen->done, response->error ? response->error->err : 1);
}

/* What the informer has as protobuf is what the server has in JSON. */
static void check_protobuf(struct cor_client *client, struct cor_core_v1_pod_object cached)
{
    struct cor_core_v1_pod_object got;
    bool is_equal = false;

    CHECK(cor_object_is_protobuf(cached.object));
    CHECK(cor_core_v1_pods_get(client, ns, "b", NULL, &got, &why) == 0);
    CHECK(!cor_object_is_protobuf(got.object));
    CHECK(cor_object_equal(cached.object, got.object, &is_equal) == 0 && is_equal);
    cor_core_v1_pod_object_unref(&got);
}

/* Contract controllers 5.4.3, 5.4.4: an informer that was asked for, and its lister by namespace,
 * selector and index. */
static void follows(struct cor_client *client)
{
    struct seen seen = {0};
    struct cor_core_v1_pod_handler handler = {
        .on_add = on_add, .on_update = on_update, .on_delete = on_delete, .arg = &seen};
    struct cor_core_v1_pod_index index = {COR_STR_INIT("image"), by_image, NULL};
    struct cor_core_v1_pod_watch watch = {on_event, on_done, &seen};
    struct cor_core_v1_pod_informer informer;
    struct cor_label_selector *selector = NULL;
    struct cor_core_v1_pod_object pod;
    struct cor_informers *set = NULL;
    int n = 0;

    CHECK(cor_core_v1_pods_watch(client, ns, NULL, &watch, NULL) == 0);
    await(&seen.done, -COR_ECANCELED);

    CHECK(cor_informers_new(client, NULL, &set) == 0);
    CHECK(cor_core_v1_pods_informer(set, ns, NULL, &informer, &why) == 0);
    CHECK(cor_core_v1_pod_informer_add_index(informer, &index) == 0);
    CHECK(cor_core_v1_pod_informer_add_handler(informer, &handler, NULL, NULL) == 0);
    cor_informers_start(set);
    CHECK(cor_informers_wait_for_sync(set, WAIT_MS, &why) == 0);
    await(&seen.added, 3);
    CHECK(cor_core_v1_pod_informer_get(informer, cor_strz(ns), COR_STR("b"), &pod, &why) == 0);
    CHECK(cor_str_eqz(image_of(cor_core_v1_pod_object_view(pod)), "web:v1"));
    check_protobuf(client, pod);
    cor_core_v1_pod_object_unref(&pod);
    CHECK(cor_core_v1_pod_informer_get(informer, cor_strz(ns), COR_STR("none"), &pod, &why) ==
          -COR_ENOTFOUND);
    CHECK(strcmp(cor_status_message(&why), "pods \"none\" not found") == 0);
    CHECK(cor_label_selector_parse(COR_STR("app=web"), &selector, &why) == 0);
    CHECK(cor_core_v1_pod_informer_each(informer, cor_strz(ns), selector, count, &n) == 0 &&
          n == 2);
    cor_label_selector_free(selector);
    n = 0;
    CHECK(cor_core_v1_pod_informer_each_by_index(informer, COR_STR("image"), COR_STR("web:v1"),
                                                 count, &n) == 0 &&
          n == 2);
    CHECK(cor_core_v1_pod_informer_get_by_index(informer, COR_STR("image"), COR_STR("web:v2"),
                                                &pod) == 0);
    cor_core_v1_pod_object_unref(&pod);

    CHECK(cor_core_v1_pods_patch(
              client, ns, "b", COR_PATCH_STRATEGIC,
              COR_STR("{\"spec\":{\"containers\":[{\"name\":\"web\",\"image\":\"web:v3\"}]}}"),
              NULL, NULL, &why) == 0);
    await(&seen.updated, 1);
    CHECK(cor_core_v1_pod_informer_get(informer, cor_strz(ns), COR_STR("b"), &pod, &why) == 0);
    CHECK(cor_str_eqz(image_of(cor_core_v1_pod_object_view(pod)), "web:v3"));
    check_protobuf(client, pod);
    cor_core_v1_pod_object_unref(&pod);
    CHECK(cor_core_v1_pods_delete(client, ns, "c", NULL, &why) == 0);
    await(&seen.deleted, 1);
    cor_informers_free(set);
}

/* The kind of website.yaml. */
static void serves_a_kind_of_ones_own(struct cor_client *client)
{
    struct example_v1_website_object site, made;
    struct example_v1_website_items sites;
    struct cor_builder *b = named("home");

    cor_builder_set_text(b, "spec.image", COR_STR("web:v1"));
    cor_builder_set_int(b, "spec.replicas", 2);
    CHECK(example_v1_website_object_build(b, &site, &why) == 0);
    cor_builder_free(b);
    CHECK(example_v1_websites_create(client, ns, site, NULL, NULL, &why) == 0);
    example_v1_website_object_unref(&site);
    CHECK(example_v1_websites_patch_status(client, ns, "home", COR_PATCH_MERGE,
                                           COR_STR("{\"status\":{\"readyReplicas\":2}}"), NULL,
                                           &made, &why) == 0);
    CHECK(example_v1_website_status_ready_replicas(
              example_v1_website_status(example_v1_website_object_view(made))) == 2);
    example_v1_website_object_unref(&made);
    CHECK(example_v1_websites_list(client, ns, NULL, &sites, &why) == 0 && sites.list.n == 1);
    example_v1_website_items_deinit(&sites);
    CHECK(example_v1_websites_delete_collection(client, ns, NULL, &why) == 0);
    CHECK(example_v1_websites_get(client, ns, "home", NULL, NULL, &why) == -COR_ENOTFOUND);
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config, .qps = -1};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;

    cor_status_init(&why);
    ns = argc > 1 ? argv[1] : "default";
    CHECK(cor_client_config_load(NULL, NULL, &config, &why) == 0);
    CHECK(cor_runtime_new(NULL, &runtime) == 0);
    CHECK(cor_client_new(runtime, &opts, &client, &why) == 0);
    writes_and_reads(client);
    applies(client);
    uses_subresources(client);
    lists(client);
    follows(client);
    serves_a_kind_of_ones_own(client);
    CHECK(cor_core_v1_pods_delete_collection(client, ns, NULL, &why) == 0);
    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    puts("done");
    return 0;
}
