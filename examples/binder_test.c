/* The unit test of a controller, the binder of pod_binder.h, without a server: libcoracle-testing
 * runs one inside the test. The test stores objects, lets a request fail, and checks what the
 * controller did: binder_test */
#include <coracle/testing.h>
#include <stdio.h>
#include <stdlib.h>

#include "pod_binder.h"
#include "usage.h"

#define WAIT_MS 60000

static struct cor_testing *fake;
static struct cor_testing_error wrong;

static void check(bool is_so, const char *what)
{
    printf("%s - %s%s%s\n", is_so ? "ok" : "not ok", what, is_so ? "" : ": ",
           is_so ? "" : wrong.message);
    if (!is_so)
        exit(1);
}

static void add_node(const char *name, const char *is_ready)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"},\"status\":{"
             "\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
             name, is_ready);
    check(cor_testing_add(fake, cor_strz(json), &wrong) == 0, "a node");
}

static void add_pod(const char *name, const char *scheduler)
{
    char json[512];

    snprintf(json, sizeof(json),
             "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
             "\"schedulerName\":\"%s\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
             name, scheduler);
    check(cor_testing_add(fake, cor_strz(json), &wrong) == 0, "a pod");
}

static int has_node(void *arg, const struct cor_watch_event *event)
{
    return cor_text_exists(
        cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(cor_core_v1_pod(event->object))));
}

/* Waits until a pod is bound and the controller knows it; returns whether the pod is on this node.
 */
static bool is_bound_to(struct cor_client *client, struct pod_binder *binder, const char *name,
                        const char *node)
{
    static const cor_watch_condition_fn conditions[] = {has_node};
    struct cor_request req = {COR_REQUEST, .verb = COR_VERB_WATCH,
                              .resource = COR_CORE_V1_POD_RESOURCE, .ns = "default",
                              .timeout_ms = WAIT_MS};
    struct cor_object *pod = NULL;
    char selector[64];
    bool is_so;

    snprintf(selector, sizeof(selector), "metadata.name=%s", name);
    req.field_selector = selector;
    if (cor_client_watch_until(client, &req, conditions, 1, NULL, &pod, NULL) < 0)
        return false;
    is_so = cor_text_is(cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(cor_core_v1_pod(pod))),
                        node) &&
            cor_informer_wait_for_version(binder->pods.informer, cor_object_resource_version(pod),
                                          WAIT_MS) == 0;
    cor_object_unref(pod);
    return is_so;
}

/* The server fails once. */
static int fail_once(void *arg, const struct cor_testing_action *action,
                     struct cor_testing_answer *answer)
{
    bool *has_failed = arg;
    bool fails = !*has_failed;

    *has_failed = true;
    return fails ? -COR_EUNAVAILABLE : 0;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    struct cor_manager_opts opts = {COR_MANAGER_OPTS, .name = BINDER_NAME, .config = &config};
    struct pod_binder binder = {NULL};
    struct cor_core_v1_pod_object other;
    struct cor_manager *manager = NULL;
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    bool has_failed = false;

    usage(argc, argv, 0, 0, "binder_test\nTests the binder without a server.");
    check(cor_testing_new(&fake, &wrong) == 0, "a fake");
    check(cor_runtime_new(NULL, &runtime) == 0 &&
              cor_testing_client(fake, runtime, &client, NULL) == 0,
          "a client of it");
    check(cor_client_config_set(&config.server, cor_testing_url(fake)) == 0, "its address");
    add_node("away", "False");
    add_node("one", "True");
    add_node("two", "True");
    add_pod("web", BINDER_NAME);
    add_pod("other", "default-scheduler");
    check(cor_testing_prepend_reactor(fake, "create", "pods/binding", fail_once, &has_failed) == 0,
          "a request that will fail");

    check(cor_manager_new(&opts, &manager, NULL) == 0 &&
              pod_binder_add(&binder, manager, NULL) == 0 && cor_manager_start(manager, NULL) == 0,
          "the controller runs");
    check(is_bound_to(client, &binder, "web", "one"), "a pod is bound to a node that is ready");
    check(cor_testing_count(fake, "create", "pods/binding") == 2,
          "a binding that failed is tried again");
    add_pod("web-2", BINDER_NAME);
    check(is_bound_to(client, &binder, "web-2", "two"), "the next pod is on the emptier node");
    check(cor_manager_free(manager) == NULL, "the controller ends");

    check(cor_core_v1_pods_get(client, "default", "other", NULL, &other, NULL) == 0 &&
              !cor_text_exists(cor_core_v1_pod_spec_node_name(
                  cor_core_v1_pod_spec(cor_core_v1_pod_object_view(other)))),
          "a pod of another scheduler is left alone");
    cor_core_v1_pod_object_unref(&other);
    check(cor_testing_count(fake, "update", "pods") == 0, "nothing else is written");
    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_testing_free(fake);
    cor_client_config_deinit(&config);
    return 0;
}
