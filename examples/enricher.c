/* The enricher of a log shipper: adds to each line that begins with the address of a pod the pod's
 * namespace, name, node and label "app". It reads from the standard input and writes to the
 * standard output; the pods are those of one node, or all. Lookups cost no request and no
 * allocation, whatever the state of the server. enricher [NODE] */
#include <coracle.h>
#include <coracle/types/core_v1_client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "usage.h"

#define SYNC_MS 60000

static int index_by_ip(void *arg, struct cor_core_v1_pod pod, struct cor_index_values *out)
{
    struct cor_core_v1_pod_ip_array ips =
        cor_core_v1_pod_status_pod_ips(cor_core_v1_pod_status(pod));
    struct cor_core_v1_pod_ip ip;
    int r = 0;

    /* Pods on the host's network share its address, so they do not identify a line. */
    if (cor_core_v1_pod_spec_host_network(cor_core_v1_pod_spec(pod)))
        return 0;
    while (r == 0 && cor_core_v1_pod_ip_array_next(&ips, &ip))
        r = cor_index_values_add(out, cor_core_v1_pod_ip_ip(ip).raw);
    return r;
}

static int print_pod(void *arg, struct cor_core_v1_pod pod)
{
    struct cor_meta_v1_object_meta meta = cor_core_v1_pod_metadata(pod);
    struct cor_text node = cor_core_v1_pod_spec_node_name(cor_core_v1_pod_spec(pod));
    struct cor_text app = cor_text_map_get(cor_meta_v1_object_meta_labels(meta), COR_STR("app"));

    printf("%.*s/%.*s node=%.*s app=%.*s ",
           COR_STR_ARG(cor_meta_v1_object_meta_namespace(meta).raw),
           COR_STR_ARG(cor_meta_v1_object_meta_name(meta).raw), COR_STR_ARG(node.raw),
           COR_STR_ARG(app.raw));
    return 1; /* one is enough */
}

static void enrich(struct cor_core_v1_pod_informer pods, const char *line)
{
    struct cor_str ip = cor_str(line, strcspn(line, " \n"));

    cor_core_v1_pod_informer_each_by_index(pods, COR_STR("ip"), ip, print_pod, NULL);
    printf("%s", line);
    fflush(stdout);
}

static int run(struct cor_informers *informers, const char *node, struct cor_status *why)
{
    struct cor_core_v1_pod_index by_ip = {COR_STR("ip"), index_by_ip, NULL};
    struct cor_informer_opts opts = {COR_INFORMER_OPTS};
    struct cor_core_v1_pod_informer pods;
    char of_node[300], *line = NULL;
    size_t cap = 0;
    int r;

    if (node) {
        snprintf(of_node, sizeof(of_node), "spec.nodeName=%s", node);
        opts.field_selector = of_node;
    }
    r = cor_core_v1_pods_informer(informers, NULL, &opts, &pods, why);
    if (r == 0)
        r = cor_core_v1_pod_informer_add_index(pods, &by_ip);
    if (r == 0) {
        cor_informers_start(informers);
        r = cor_informers_wait_for_sync(informers, SYNC_MS, why);
    }
    while (r == 0 && getline(&line, &cap, stdin) >= 0)
        enrich(pods, line);
    free(line);
    cor_informers_free(informers); /* before the index, which it uses */
    return r;
}

int main(int argc, char **argv)
{
    struct cor_client_config config = {0};
    const struct cor_client_opts opts = {COR_CLIENT_OPTS, .config = &config};
    struct cor_runtime *runtime = NULL;
    struct cor_client *client = NULL;
    struct cor_informers *informers = NULL;
    struct cor_status why;
    int r;

    usage(argc, argv, 0, 1, "enricher [NODE]\nAdds pods to lines that begin with their address.");
    cor_status_init(&why);
    r = cor_client_config_load(NULL, NULL, &config, &why);
    if (r == 0)
        r = cor_runtime_new(NULL, &runtime);
    if (r == 0)
        r = cor_client_new(runtime, &opts, &client, &why);
    if (r == 0)
        r = cor_informers_new(client, NULL, &informers);
    if (r == 0)
        r = run(informers, argc > 1 ? argv[1] : NULL, &why);
    if (r < 0)
        fprintf(stderr, "enricher: %s\n", cor_status_message(&why));
    cor_client_free(client);
    cor_runtime_free(runtime);
    cor_client_config_deinit(&config);
    cor_status_deinit(&why);
    return r < 0;
}
