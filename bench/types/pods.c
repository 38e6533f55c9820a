#include "pods.h"

#include <stdio.h>
#include <string.h>

#include "process.h"
#include "target.h"

#define BODY_MAX 4096

static const char common[] = "Host: localhost\r\nAuthorization: Bearer " TARGET_TOKEN "\r\n";

/* Forty values that a client sets; the server adds about twenty defaults. */
static int pod(char *out, const struct pods *p, size_t i)
{
    return snprintf(
        out, BODY_MAX,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s-%zu\","
        "\"labels\":{\"app\":\"a%zu\",\"tier\":\"t%zu\"}},\"spec\":{\"restartPolicy\":\"Always\","
        "\"serviceAccountName\":\"default\",\"terminationGracePeriodSeconds\":30,"
        "\"tolerations\":[{\"key\":\"k\",\"operator\":\"Equal\",\"value\":\"v\","
        "\"effect\":\"NoSchedule\"}],\"securityContext\":{\"runAsUser\":1000,\"fsGroup\":2000},"
        "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example.com/app:1.2.3\","
        "\"command\":[\"/bin/app\"],\"args\":[\"--port=8080\"],"
        "\"ports\":[{\"name\":\"http\",\"containerPort\":8080}],"
        "\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"POD\",\"valueFrom\":{\"fieldRef\":"
        "{\"fieldPath\":\"metadata.name\"}}}],\"resources\":{\"requests\":{\"cpu\":\"100m\","
        "\"memory\":\"128Mi\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"256Mi\"}},"
        "\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":8080},"
        "\"periodSeconds\":10},\"readinessProbe\":{\"tcpSocket\":{\"port\":8080}},"
        "\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/data\"},{\"name\":\"config\","
        "\"mountPath\":\"/etc/app\",\"readOnly\":true}],"
        "\"securityContext\":{\"readOnlyRootFilesystem\":true}}],"
        "\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}},{\"name\":\"config\",\"configMap\":"
        "{\"name\":\"app\",\"defaultMode\":420}}]}}",
        p->prefix, i, i % 100, i % 3);
}

static void send(struct cor_buf *out, const char *method, const char *path, const char *type,
                 const char *body)
{
    if (cor_buf_addf(out,
                     "%s %s HTTP/1.1\r\n%sAccept: application/json\r\nContent-Type: %s\r\n"
                     "Content-Length: %zu\r\n\r\n%s",
                     method, path, common, type, strlen(body), body) < 0)
        die("a request does not fit");
}

void pods_write_create(struct cor_buf *out, size_t i, void *arg)
{
    const struct pods *p = arg;
    char path[128], body[BODY_MAX];

    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", p->ns);
    pod(body, p, i);
    send(out, "POST", path, "application/json", body);
}

void pods_write_config_map(struct cor_buf *out, size_t i, void *arg)
{
    const struct pods *p = arg;
    char path[128], body[BODY_MAX + 512], data[BODY_MAX];
    int n = pod(data, p, i);

    memset(data, 'x', (size_t)n);
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/configmaps", p->ns);
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s-%zu\","
             "\"labels\":{\"app\":\"a%zu\",\"tier\":\"t%zu\"}},\"data\":{\"k\":\"%s\"}}",
             p->prefix, i, i % 100, i % 3, data);
    send(out, "POST", path, "application/json", body);
}

void pods_write_service(struct cor_buf *out, size_t i, void *arg)
{
    const struct pods *p = arg;
    char path[128], body[BODY_MAX];

    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/services", p->ns);
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"%s-%zu\"},"
             "\"spec\":{\"selector\":{\"app\":\"a%zu\"},\"ports\":[{\"port\":80}]}}",
             p->prefix, i, i % 100);
    send(out, "POST", path, "application/json", body);
}

void pods_write_patch(struct cor_buf *out, size_t i, void *arg)
{
    const struct pods *p = arg;
    char path[128], body[256];

    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods/%s-%zu", p->ns, p->prefix, i);
    snprintf(body, sizeof(body),
             "{\"metadata\":{\"annotations\":{\"by\":\"bench\"}},\"spec\":{\"containers\":["
             "{\"name\":\"main\",\"image\":\"registry.example.com/app:1.2.4\"}]}}");
    send(out, "PATCH", path, "application/strategic-merge-patch+json", body);
}

static void read(struct cor_buf *out, const struct pods *p, const char *name)
{
    char limit[32] = "";

    if (p->limit > 0)
        snprintf(limit, sizeof(limit), "?limit=%zu", p->limit);
    if (cor_buf_addf(out, "GET /api/v1/namespaces/%s/pods%s%s%s%s HTTP/1.1\r\n%sAccept: %s\r\n\r\n",
                     p->ns, *name ? "/" : "", *name ? p->prefix : "", name, limit, common,
                     p->accept ? p->accept : "application/json") < 0)
        die("a request does not fit");
}

void pods_write_list(struct cor_buf *out, size_t i, void *arg)
{
    read(out, arg, "");
}

void pods_write_get(struct cor_buf *out, size_t i, void *arg)
{
    read(out, arg, "-0");
}
