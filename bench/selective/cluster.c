#include "cluster.h"

#include <stdio.h>
#include <string.h>

#include "process.h"
#include "versus.h"

#define BODY_MAX       4096
#define PATH_MAX_BYTES 512
/* Numbers that follow each other ask about nodes and namespaces that are far from each other. */
#define STRIDE 7919

static const char common[] = "Host: localhost\r\nAuthorization: Bearer " TARGET_TOKEN "\r\n";

static void post(struct cor_buf *out, const char *path, const char *body)
{
    if (cor_buf_addf(out,
                     "POST %s HTTP/1.1\r\n%sAccept: application/json\r\n"
                     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                     path, common, strlen(body), body) < 0)
        die("a request does not fit");
}

static void write_space(struct cor_buf *out, size_t i, void *arg)
{
    char body[128];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"ns%zu\"}}", *(size_t *)arg + i);
    post(out, "/api/v1/namespaces", body);
}

static size_t node_of(size_t pod)
{
    size_t nodes = CLUSTER_BLOCK / CLUSTER_NODE_PODS;

    return pod / CLUSTER_BLOCK * nodes + pod % nodes;
}

/* Nothing in it needs an escape. */
struct pod {
    char space[32], name[32], labels[64], node[32];
};

static void post_pod(struct cor_buf *out, const struct pod *pod)
{
    char path[128], body[BODY_MAX];

    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", pod->space);
    snprintf(
        body, sizeof(body),
        "{\"metadata\":{\"name\":\"%s\",\"labels\":{%s}},"
        "\"spec\":{\"nodeName\":\"%s\",\"serviceAccountName\":\"default\","
        "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example.com/app:1.2.3\","
        "\"args\":[\"--port=8080\"],\"ports\":[{\"name\":\"http\",\"containerPort\":8080}],"
        "\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"POD\",\"valueFrom\":{\"fieldRef\":"
        "{\"fieldPath\":\"metadata.name\"}}}],\"resources\":{\"requests\":{\"cpu\":\"100m\","
        "\"memory\":\"128Mi\"}},\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/data\"}]}],"
        "\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}}]}}",
        pod->name, pod->labels, pod->node);
    post(out, path, body);
}

static void write_pod(struct cor_buf *out, size_t i, void *arg)
{
    size_t number = *(size_t *)arg + i;
    struct pod pod;

    snprintf(pod.space, sizeof(pod.space), "ns%zu", number / CLUSTER_SPACE_PODS);
    snprintf(pod.name, sizeof(pod.name), "pod-%zu", number);
    snprintf(pod.labels, sizeof(pod.labels), "\"app\":\"a%zu\",\"one\":\"o%zu\"", number % 100,
             number / CLUSTER_NODE_PODS);
    snprintf(pod.node, sizeof(pod.node), "node-%zu", node_of(number));
    post_pod(out, &pod);
}

/* The pods of the namespaces from which some are deleted: those that stay. */
static void write_pod_that_stays(struct cor_buf *out, size_t i, void *arg)
{
    struct pod pod = {.labels = "\"goes\":\"no\"", .node = "node-of-some"};

    snprintf(pod.space, sizeof(pod.space), "spent%zu", i % CLUSTER_SPENT);
    snprintf(pod.name, sizeof(pod.name), "stays-%zu", i);
    post_pod(out, &pod);
}

static void write_pod_that_goes(struct cor_buf *out, size_t i, void *arg)
{
    struct pod pod = {.labels = "\"goes\":\"yes\"", .node = "node-of-those"};

    snprintf(pod.space, sizeof(pod.space), "spent%zu", i % CLUSTER_SPENT);
    snprintf(pod.name, sizeof(pod.name), "goes-%zu", i);
    post_pod(out, &pod);
}

static void write_spent_space(struct cor_buf *out, size_t i, void *arg)
{
    char body[128];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"spent%zu\"}}", i);
    post(out, "/api/v1/namespaces", body);
}

static void post_event(struct cor_buf *out, const char *space, size_t event, size_t pod)
{
    char path[128], body[BODY_MAX];

    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/events", space);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"e-%zu\"},\"reason\":\"Started\",\"type\":\"Normal\","
             "\"message\":\"Started container main\",\"involvedObject\":{\"kind\":\"Pod\","
             "\"apiVersion\":\"v1\",\"namespace\":\"%s\",\"name\":\"pod-%zu\"}}",
             event, space, pod);
    post(out, path, body);
}

static void write_event(struct cor_buf *out, size_t i, void *arg)
{
    size_t event = *(size_t *)arg + i, space = event / CLUSTER_SPACE_EVENTS;
    char name[32];

    snprintf(name, sizeof(name), "ns%zu", space);
    post_event(out, name, event, space * CLUSTER_SPACE_PODS + event % CLUSTER_SPACE_EVENTS);
}

static void write_busy_event(struct cor_buf *out, size_t i, void *arg)
{
    size_t event = *(size_t *)arg + i;

    post_event(out, "busy", event, event);
}

static void make(const struct target *t, versus_write_cb write, size_t from, size_t to)
{
    if (to > from)
        (void)versus_write(t, to - from, write, &from);
}

static void make_once(const struct target *t)
{
    (void)versus_write(t, CLUSTER_SPENT, write_spent_space, NULL);
    (void)versus_write(t, CLUSTER_SPENT * CLUSTER_SPACE_PODS, write_pod_that_stays, NULL);
    versus_make_namespace(t, "busy");
}

void cluster_spend(const struct target *t)
{
    (void)versus_write(t, CLUSTER_SPENT * CLUSTER_GOING, write_pod_that_goes, NULL);
}

void cluster_grow(const struct target *t, size_t from, size_t to)
{
    if (from == 0)
        make_once(t);
    make(t, write_busy_event, cluster_spaces(from), cluster_spaces(to));
    make(t, write_space, cluster_spaces(from), cluster_spaces(to));
    make(t, write_pod, from, to);
    make(t, write_event, cluster_spaces(from) * CLUSTER_SPACE_EVENTS,
         cluster_spaces(to) * CLUSTER_SPACE_EVENTS);
}

/* Not written by printf(), because the format is data. */
static void print_path(char *out, size_t size, const char *path, size_t number)
{
    const char *hole = strchr(path, '#');

    if (hole)
        snprintf(out, size, "%.*s%zu%s", (int)(hole - path), path, number, hole + 1);
    else
        snprintf(out, size, "%s", path);
}

void cluster_write_ask(struct cor_buf *out, size_t i, void *arg)
{
    const struct cluster_ask *ask = arg;
    char path[PATH_MAX_BYTES];

    print_path(path, sizeof(path), ask->path, i * STRIDE % ask->n);
    if (cor_buf_addf(out, "%s %s HTTP/1.1\r\n%sAccept: %s\r\n\r\n", ask->method, path, common,
                     ask->accept) < 0)
        die("a request does not fit");
}
