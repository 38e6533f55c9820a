/* TAP: what the server behind libcoracle-testing does that client-go's tracker does not: objects
 * are stored, defaulted, validated, selected, patched and applied as by a real one (section 5.3 of
 * controllers.md). */
#include <coracle/discovery.h>
#include <stdio.h>
#include <stdlib.h>

#include "fixture.h"

static const char definition[] =
    "kind: CustomResourceDefinition\n"
    "apiVersion: apiextensions.k8s.io/v1\n"
    "metadata: {name: boats.example.com}\n"
    "spec:\n"
    "  group: example.com\n"
    "  scope: Namespaced\n"
    "  names: {kind: Boat, plural: boats}\n"
    "  versions:\n"
    "  - name: v1\n"
    "    served: true\n"
    "    storage: true\n"
    "    subresources: {status: {}}\n"
    "    schema:\n"
    "      openAPIV3Schema:\n"
    "        type: object\n"
    "        properties:\n"
    "          spec: {type: object, properties: {crew: {type: integer, "
    "default: 2}}}\n"
    "          status: {type: object, properties: {afloat: {type: "
    "boolean}}}\n";

/* Objects of the test are stored with their status, whatever their namespace; a definition's
 * resource is served at once, with defaults and validation. */
static void stores_objects_of_the_test(void)
{
    const struct cor_request get = {COR_REQUEST, .verb = COR_VERB_GET,
                                    .resource = {"example.com", "v1", "boats"}, .ns = "harbour",
                                    .name = "argo"};
    struct cor_core_v1_pod_object pod;
    struct cor_object *boat = NULL;
    struct cor_view status, spec;

    CHECK(cor_testing_add(fx.fake,
                          COR_STR("{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{"
                                  "\"name\":\"p\",\"namespace\":\"shop\"},\"spec\":{"
                                  "\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]},"
                                  "\"status\":{\"phase\":\"Running\"}}"),
                          &fx.wrong) == 0);
    CHECK(cor_core_v1_pods_get(fx.client, "shop", "p", NULL, &pod, &fx.why) == 0);
    CHECK(cor_text_is(
        cor_core_v1_pod_status_phase(cor_core_v1_pod_status(cor_core_v1_pod_object_view(pod))),
        COR_CORE_V1_POD_PHASE_RUNNING));
    cor_core_v1_pod_object_unref(&pod);

    CHECK(cor_testing_add(fx.fake, COR_STR("kind: Boat\napiVersion: example.com/v1\n"),
                          &fx.wrong) == -COR_EINVAL);
    CHECK(strcmp(fx.wrong.message, "Boat of example.com/v1 is not served") == 0);
    CHECK(cor_testing_add(fx.fake, cor_strz(definition), &fx.wrong) == 0);
    CHECK(cor_testing_add(fx.fake,
                          COR_STR("kind: Boat\napiVersion: example.com/v1\nmetadata: {name: argo, "
                                  "namespace: harbour}\nspec: {}\nstatus: {afloat: true}\n"),
                          &fx.wrong) == 0);
    CHECK(cor_client_do(fx.client, &get, &boat, &fx.why) == 0);
    spec = cor_view_member(cor_object_view(boat), COR_STR("spec"));
    status = cor_view_member(cor_object_view(boat), COR_STR("status"));
    CHECK(cor_view_int_or(cor_view_member(spec, COR_STR("crew")), 0) == 2);
    CHECK(cor_view_bool_or(cor_view_member(status, COR_STR("afloat")), false));
    cor_object_unref(boat);
    CHECK(cor_testing_add(fx.fake,
                          COR_STR("kind: Boat\napiVersion: example.com/v1\nmetadata: {name: "
                                  "argo, namespace: harbour}\n"),
                          &fx.wrong) == -COR_EEXIST);
    CHECK(cor_testing_add(fx.fake,
                          COR_STR("kind: Boat\napiVersion: example.com/v1\nmetadata: {name: "
                                  "odd}\nspec: {crew: many}\n"),
                          &fx.wrong) == -COR_EINVAL);
    CHECK(cor_testing_add(fx.fake, COR_STR("{"), &fx.wrong) == -COR_EINVAL);
    CHECK(strcmp(fx.wrong.message, "unexpected end of JSON input") == 0);
    CHECK(cor_testing_add(fx.fake, COR_STR("a: b: c\n"), &fx.wrong) == -COR_EINVAL);
    CHECK(strcmp(fx.wrong.message, "yaml: mapping values are not allowed in this context") == 0);
    CHECK(cor_testing_add(fx.fake,
                          COR_STR("{kind: Boat, apiVersion: example.com/v1, metadata: {name: b}}"),
                          &fx.wrong) == 0);
    CHECK(cor_testing_count(fx.fake, "create", "*") == 0);
}

/* Services get addresses, as on a real server, and finalizers keep objects: 5.3.6 has neither. */
static void behaves_as_a_server(void)
{
    struct cor_core_v1_service_object service;
    struct cor_core_v1_config_map_object map;

    CHECK(cor_testing_add(fx.fake,
                          COR_STR("{\"kind\":\"Service\",\"apiVersion\":\"v1\",\"metadata\":{"
                                  "\"name\":\"web\"},\"spec\":{\"ports\":[{\"port\":80}]}}"),
                          &fx.wrong) == 0);
    CHECK(cor_core_v1_services_get(fx.client, "default", "web", NULL, &service, &fx.why) == 0);
    CHECK(cor_text_exists(cor_core_v1_service_spec_cluster_ip(
        cor_core_v1_service_spec(cor_core_v1_service_object_view(service)))));
    cor_core_v1_service_object_unref(&service);
    CHECK(cor_testing_add(fx.fake,
                          COR_STR("{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{"
                                  "\"name\":\"kept\",\"finalizers\":[\"example.com/keep\"]}}"),
                          &fx.wrong) == 0);
    CHECK(cor_core_v1_configmaps_delete(fx.client, "default", "kept", NULL, &fx.why) == 0);
    CHECK(cor_core_v1_configmaps_get(fx.client, "default", "kept", NULL, &map, &fx.why) == 0);
    CHECK(cor_object_is_being_deleted(map.object));
    cor_core_v1_config_map_object_unref(&map);
}

static size_t count_maps(const char *ns, const struct cor_request *opts)
{
    struct cor_core_v1_config_map_items maps;
    size_t n;

    CHECK(cor_core_v1_configmaps_list(fx.client, ns, opts, &maps, &fx.why) == 0);
    n = maps.list.n;
    cor_core_v1_config_map_items_deinit(&maps);
    return n;
}

/* Contract controllers 5.3.1, 5.3.7, 5.3.8, 5.3.10, 5.2.4, 5.2.6: an apply creates, and has
 * managers; lists select by namespace, labels and, other than client-go's, by fields; each type of
 * patch and the deletion of a collection do what they say. An object that was not made stays as it
 * was. */
static void selects_patches_and_applies(void)
{
    const struct cor_request applier = {COR_REQUEST, .field_manager = "me"};
    const struct cor_request blue = {COR_REQUEST, .label_selector = "tier=blue"};
    const struct cor_request named = {COR_REQUEST, .field_selector = "metadata.name=a"};
    struct cor_core_v1_config_map_object map = config_map("a", "red"), got = {NULL};

    CHECK(cor_core_v1_configmaps_get(fx.client, "default", "a", NULL, &got, &fx.why) ==
              -COR_ENOTFOUND &&
          !got.object);
    CHECK(cor_core_v1_configmaps_apply(fx.client, "default", map, &applier, &got, &fx.why) == 0);
    CHECK(is_color(got, "red") &&
          cor_view_exists(
              cor_view_member(cor_view_member(cor_object_view(got.object), COR_STR("metadata")),
                              COR_STR("managedFields"))));
    cor_core_v1_config_map_object_unref(&got);
    CHECK(cor_core_v1_configmaps_patch(
              fx.client, "default", "a", COR_PATCH_JSON,
              COR_STR(
                  "[{\"op\":\"add\",\"path\":\"/metadata/labels\",\"value\":{\"tier\":\"blue\"}}]"),
              NULL, NULL, &fx.why) == 0);
    CHECK(cor_core_v1_configmaps_patch(fx.client, "default", "a", COR_PATCH_STRATEGIC,
                                       COR_STR("{\"data\":{\"color\":null}}"), NULL, &got,
                                       &fx.why) == 0);
    CHECK(!cor_text_exists(cor_text_map_get(
        cor_core_v1_config_map_data(cor_core_v1_config_map_object_view(got)), COR_STR("color"))));
    cor_core_v1_config_map_object_unref(&got);
    cor_core_v1_config_map_object_unref(&map);
    map = config_map("b", "red");
    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, NULL, &fx.why) == 0);
    CHECK(cor_core_v1_configmaps_create(fx.client, "kube-system", map, NULL, NULL, &fx.why) == 0);
    CHECK(count_maps("default", NULL) == 2 && count_maps("kube-system", NULL) == 1);
    CHECK(count_maps(NULL, NULL) == 3 && count_maps(NULL, &blue) == 1 &&
          count_maps(NULL, &named) == 1);
    CHECK(cor_core_v1_configmaps_get(fx.client, NULL, "b", NULL, NULL, &fx.why) < 0);
    CHECK(cor_core_v1_configmaps_delete_collection(fx.client, "default", &blue, &fx.why) == 0);
    CHECK(count_maps("default", NULL) == 1);
    cor_core_v1_config_map_object_unref(&map);
}

static int find_boats(void *arg, const struct cor_api_resource *resource)
{
    *(bool *)arg |= cor_str_eqz(resource->plural, "boats");
    return 0;
}

/* Contract controllers 5.3.5, 5.3.11, 5.3.13: an object of another namespace than the request's is
 * refused; a binding binds, where client-go's tracker stores nothing; discovery has what is served.
 */
static void binds_and_discovers(void)
{
    struct cor_core_v1_config_map_object map;
    struct cor_core_v1_binding_object binding;
    struct cor_core_v1_pod_object pod;
    struct cor_builder *b = NULL;
    bool found = false;

    CHECK(cor_builder_new(NULL, &b) == 0);
    cor_builder_set_text(b, "metadata.name", COR_STR("a"));
    cor_builder_set_text(b, "metadata.namespace", COR_STR("kube-system"));
    CHECK(cor_core_v1_config_map_object_build(b, &map, &fx.why) == 0);
    cor_builder_free(b);
    CHECK(cor_core_v1_configmaps_create(fx.client, "default", map, NULL, NULL, &fx.why) ==
          -COR_EINVAL);
    CHECK(strcmp(cor_status_message(&fx.why),
                 "the namespace of the provided object does not match the namespace sent on the "
                 "request") == 0);
    cor_core_v1_config_map_object_unref(&map);

    CHECK(cor_testing_add(fx.fake,
                          COR_STR("kind: Pod\napiVersion: v1\nmetadata: {name: p}\n"
                                  "spec: {containers: [{name: c, image: i}]}\n"),
                          &fx.wrong) == 0);
    CHECK(cor_builder_new(NULL, &b) == 0);
    cor_builder_set_text(b, "metadata.name", COR_STR("p"));
    cor_builder_set_json(b, "target", COR_STR("{\"kind\":\"Node\",\"name\":\"n-1\"}"));
    CHECK(cor_core_v1_binding_object_build(b, &binding, &fx.why) == 0);
    cor_builder_free(b);
    CHECK(cor_core_v1_pods_create_binding(fx.client, "default", "p", binding, NULL, NULL,
                                          &fx.why) == 0);
    cor_core_v1_binding_object_unref(&binding);
    CHECK(cor_core_v1_pods_get(fx.client, "default", "p", NULL, &pod, &fx.why) == 0);
    CHECK(cor_text_is(
        cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(cor_core_v1_pod_object_view(pod))),
        "n-1"));
    cor_core_v1_pod_object_unref(&pod);

    CHECK(cor_client_each_resource(fx.client, true, find_boats, &found, &fx.why) == 0 && !found);
    CHECK(cor_testing_add(fx.fake, cor_strz(definition), &fx.wrong) == 0);
    CHECK(cor_client_each_resource(fx.client, true, find_boats, &found, &fx.why) == 0 && found);
}

int main(void)
{
    static const struct test_case cases[] = {
        {"stores objects of the test", stores_objects_of_the_test},
        {"behaves as a server", behaves_as_a_server},
        {"selects, patches and applies", selects_patches_and_applies},
        {"binds and discovers", binds_and_discovers},
    };

    return run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
