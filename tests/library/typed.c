/* A program on libcoracle-types, compiled as C and as C++ with what pkg-config says. It prints the
 * node of a pod, how many containers the pod has, the image of one, and a condition. */
#include <coracle/types/core_v1.h>
#include <stdio.h>

static const char json[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-0\"},"
    "\"spec\":{\"containers\":[{\"name\":\"a\"},{\"image\":\"web:v2\",\"name\":\"web\"},{}],"
    "\"nodeName\":\"node-1\"},"
    "\"status\":{\"conditions\":[{\"status\":\"True\",\"type\":\"Ready\"}]}}";

int main(void)
{
    struct cor_object *object = NULL;
    struct cor_status why;
    struct cor_core_v1_pod pod;
    struct cor_core_v1_pod_spec spec;
    struct cor_core_v1_container web;
    struct cor_core_v1_pod_condition ready;

    cor_status_init(&why);
    if (cor_object_from_json(cor_strz(json), &object, &why) < 0)
        return 1;
    pod = cor_core_v1_pod(object);
    spec = cor_core_v1_pod_spec(pod);
    web = cor_core_v1_pod_spec_containers_by_name(spec, COR_STR("web"));
    ready =
        cor_core_v1_pod_status_conditions_by_type(cor_core_v1_pod_status(pod), COR_STR("Ready"));
    printf("%.*s %u %.*s %.*s\n", COR_STR_ARG(cor_core_v1_pod_spec_node_name(spec).raw),
           (unsigned)cor_value_len(cor_core_v1_pod_spec_containers(spec).at),
           COR_STR_ARG(cor_core_v1_container_image(web).raw),
           COR_STR_ARG(cor_core_v1_pod_condition_status(ready).raw));
    cor_object_unref(object);
    return 0;
}
