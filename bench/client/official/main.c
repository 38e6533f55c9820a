/* The peer of `list`, `pages` and `watch` in ../subject.c: the official C client, with the same
 * arguments and the same answer. It does what that client's own examples do.
 *
 *   bench-official list|pages|watch KIND URL TOKEN NAMESPACE N */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <api/CoreV1API.h>
#include <include/apiClient.h>
#include <include/keyValuePair.h>
#include <watch/watch_util.h>

#define PAGE 500
/* Of the list that ../replay.c answers with. */
#define FIRST_VERSION "1000000000"

static struct timespec began, began_cpu;
static size_t wanted, seen, total;

static double ms_since(clockid_t clock, const struct timespec *since)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)(now.tv_sec - since->tv_sec) * 1e3 +
           (double)(now.tv_nsec - since->tv_nsec) / 1e6;
}

static void begin(void)
{
    clock_gettime(CLOCK_MONOTONIC, &began);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &began_cpu);
}

static void show(void)
{
    double cpu = ms_since(CLOCK_PROCESS_CPUTIME_ID, &began_cpu);
    double wall = ms_since(CLOCK_MONOTONIC, &began);
    unsigned long long peak_kb = 0;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof(line), f))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak_kb = strtoull(line + 6, NULL, 10);
    if (f)
        fclose(f);
    printf("wall_ms %f\ncpu_ms %f\npeak_bytes %llu\nfound %zu\n", wall, cpu, peak_kb * 1024, total);
}

static void die(const char *why)
{
    fprintf(stderr, "bench-official: %s\n", why);
    exit(1);
}

static apiClient_t *open_client(const char *url, const char *token)
{
    static char bearer[256];
    sslConfig_t *ssl = strncmp(url, "https", 5) == 0 ? sslConfig_create(NULL, NULL, NULL, 1) : NULL;
    list_t *keys = list_createList();
    apiClient_t *client;

    snprintf(bearer, sizeof(bearer), "Bearer %s", token);
    list_addElement(keys, keyValuePair_create(strdup("Authorization"), strdup(bearer)));
    client = apiClient_create_with_base_path(url, ssl, keys);
    if (!client)
        die("no client");
    return client;
}

static void list_pods(apiClient_t *client, char *ns, int *limit)
{
    char *continue_token = NULL;

    do {
        v1_pod_list_t *pods =
            CoreV1API_listNamespacedPod(client, ns, NULL, NULL, continue_token, NULL, NULL, limit,
                                        NULL, NULL, NULL, NULL, NULL);
        listEntry_t *entry;

        free(continue_token);
        continue_token = NULL;
        if (!pods || client->response_code != 200)
            die("the list failed");
        list_ForEach(entry, pods->items)
        {
            v1_pod_t *pod = entry->data;

            total += strlen(pod->metadata->name);
            seen++;
        }
        if (pods->metadata->_continue && pods->metadata->_continue[0])
            continue_token = strdup(pods->metadata->_continue);
        v1_pod_list_free(pods);
    } while (continue_token);
    if (seen != wanted)
        die("the list has another number of pods");
}

static void on_event(const char *text)
{
    cJSON *event = cJSON_Parse(text);
    cJSON *object = event ? cJSON_GetObjectItem(event, "object") : NULL;
    v1_config_map_t *map = object ? v1_config_map_parseFromJSON(object) : NULL;

    if (!map)
        die("an event is no config map");
    total += strlen(map->metadata->name);
    v1_config_map_free(map);
    cJSON_Delete(event);
    if (++seen == wanted) {
        show();
        exit(0);
    }
}

static void on_data(void **data, long *n)
{
    kubernets_watch_handler(data, n, on_event);
}

int main(int argc, char **argv)
{
    int page = PAGE, yes = 1;
    apiClient_t *client;

    if (argc != 7) {
        fputs("usage: bench-official list|pages|watch KIND URL TOKEN NAMESPACE N\n", stderr);
        return 2;
    }
    wanted = strtoul(argv[6], NULL, 10);
    begin();
    client = open_client(argv[3], argv[4]);
    if (strcmp(argv[1], "watch") == 0) {
        client->data_callback_func = on_data;
        CoreV1API_listNamespacedConfigMap(client, argv[5], NULL, NULL, NULL, NULL, NULL, NULL,
                                          FIRST_VERSION, NULL, NULL, NULL, &yes);
        die("the watch ended");
    }
    list_pods(client, argv[5], strcmp(argv[1], "pages") == 0 ? &page : NULL);
    show();
    return 0;
}
