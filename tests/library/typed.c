/* A program on libcoracle-types, compiled as C and as C++ with what pkg-config says. It prints the
 * node of a pod, how many containers the pod has, the image of one, and a condition, as views show
 * them. Then it gives a struct of the pod another node and prints that, and how many blocks the
 * structs have left in the allocator that the program has set for libcoracle. */
#include <coracle/mem.h>
#include <coracle/types/core_v1.h>
#include <coracle/types/core_v1_structs.h>
#include <stdio.h>
#include <stdlib.h>

static const char json[] =
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"web-0\"},"
    "\"spec\":{\"containers\":[{\"name\":\"a\"},{\"image\":\"web:v2\",\"name\":\"web\"},{}],"
    "\"nodeName\":\"node-1\"},"
    "\"status\":{\"conditions\":[{\"status\":\"True\",\"type\":\"Ready\"}]}}";

static int blocks, calls;

static void *count_alloc(size_t n)
{
    blocks++;
    calls++;
    return malloc(n);
}

static void *count_realloc(void *p, size_t n)
{
    blocks += p ? 0 : 1;
    return realloc(p, n);
}

static void count_free(void *p)
{
    blocks--;
    free(p);
}

static const struct cor_mem_fns counting = {count_alloc, count_realloc, count_free};

static int move_pod(void)
{
    struct cor_core_v1_pod_own pod;
    struct cor_pool *pool = NULL;
    struct cor_str again = {NULL, 0};
    int r;

    cor_mem_set(&counting);
    r = cor_pool_new(0, &pool);
    if (r == 0)
        r = cor_core_v1_pod_own_decode(pool, cor_strz(json), NULL, &pod, NULL);
    if (r == 0)
        pod.spec.node_name = COR_STR("node-2");
    if (r == 0)
        r = cor_core_v1_pod_own_encode(pool, &pod, &again);
    if (r == 0)
        r = cor_core_v1_pod_own_decode(pool, again, NULL, &pod, NULL);
    if (r == 0 && calls > 0)
        printf("%.*s ", COR_STR_ARG(pod.spec.node_name));
    cor_pool_free(pool);
    printf("%d\n", blocks);
    return r;
}

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
    return move_pod() < 0;
}
