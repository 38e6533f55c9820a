#include "deployments.h"

#include <stdio.h>
#include <string.h>

#include "process.h"
#include "target.h"

#define BODY_MAX       4096
#define PATH_MAX_BYTES 256

static const char common[] =
    "Host: localhost\r\nUser-Agent: bench/1\r\nAuthorization: Bearer " TARGET_TOKEN "\r\n";

/* Forty values that a client sets; the server adds about thirty defaults. */
static void deployment(char *out, const struct deployments *d, size_t i)
{
    int n = snprintf(
        out, BODY_MAX,
        "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":\"d-%zu\","
        "\"labels\":{\"app\":\"a%zu\",\"tier\":\"t\"}},\"spec\":{\"replicas\":3,"
        "\"minReadySeconds\":5,\"revisionHistoryLimit\":4,"
        "\"selector\":{\"matchLabels\":{\"app\":\"a\"}},"
        "\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":1,"
        "\"maxUnavailable\":0}},\"template\":{\"metadata\":{\"labels\":{\"app\":\"a\"}},"
        "\"spec\":{\"serviceAccountName\":\"default\",\"terminationGracePeriodSeconds\":30,"
        "\"securityContext\":{\"runAsUser\":1000,\"fsGroup\":2000},"
        "\"containers\":[{\"name\":\"main\",\"image\":\"registry.example.com/app:%zu\","
        "\"command\":[\"/bin/app\"],\"args\":[\"--port=8080\"],"
        "\"ports\":[{\"name\":\"http\",\"containerPort\":8080},{\"name\":\"metrics\","
        "\"containerPort\":9090}],"
        "\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"POD\",\"valueFrom\":{\"fieldRef\":"
        "{\"fieldPath\":\"metadata.name\"}}}],\"resources\":{\"requests\":{\"cpu\":\"100m\","
        "\"memory\":\"128Mi\"},\"limits\":{\"cpu\":\"1\",\"memory\":\"256Mi\"}},"
        "\"livenessProbe\":{\"httpGet\":{\"path\":\"/healthz\",\"port\":8080},"
        "\"periodSeconds\":10},\"readinessProbe\":{\"tcpSocket\":{\"port\":8080}},"
        "\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/data\"},{\"name\":\"config\","
        "\"mountPath\":\"/etc/app\",\"readOnly\":true}]}],"
        "\"volumes\":[{\"name\":\"data\",\"emptyDir\":{}},{\"name\":\"config\",\"configMap\":"
        "{\"name\":\"app\",\"defaultMode\":420}}]}}}}",
        d->first + i, i % 100, d->turn);

    if (n < 0 || n >= BODY_MAX)
        die("a Deployment does not fit");
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

/* Sends to one Deployment; `rest` follows its name in the path. */
static void send_one(struct cor_buf *out, const struct deployments *d, size_t i, const char *rest,
                     const char *method, const char *type, const char *body)
{
    char path[PATH_MAX_BYTES];

    snprintf(path, sizeof(path), "/apis/apps/v1/namespaces/%s/deployments/d-%zu%s", d->ns,
             d->first + i, rest);
    send(out, method, path, type, body);
}

void deployments_write_create(struct cor_buf *out, size_t i, void *arg)
{
    const struct deployments *d = arg;
    char path[PATH_MAX_BYTES], body[BODY_MAX];

    snprintf(path, sizeof(path), "/apis/apps/v1/namespaces/%s/deployments", d->ns);
    deployment(body, d, i);
    send(out, "POST", path, "application/json", body);
}

void deployments_write_update(struct cor_buf *out, size_t i, void *arg)
{
    char body[BODY_MAX];

    deployment(body, arg, i);
    send_one(out, arg, i, "", "PUT", "application/json", body);
}

void deployments_write_apply(struct cor_buf *out, size_t i, void *arg)
{
    char body[BODY_MAX];

    deployment(body, arg, i);
    send_one(out, arg, i, "?fieldManager=deployer", "PATCH", "application/apply-patch+yaml", body);
}

void deployments_write_status(struct cor_buf *out, size_t i, void *arg)
{
    send_one(out, arg, i, "/status?fieldManager=controller", "PATCH",
             "application/merge-patch+json",
             "{\"status\":{\"observedGeneration\":1,\"replicas\":3,\"updatedReplicas\":3,"
             "\"readyReplicas\":3,\"availableReplicas\":3,\"conditions\":[{\"type\":\"Available\","
             "\"status\":\"True\",\"reason\":\"MinimumReplicasAvailable\",\"message\":\"Deployment "
             "has minimum availability.\",\"lastUpdateTime\":\"2026-01-01T00:00:00Z\","
             "\"lastTransitionTime\":\"2026-01-01T00:00:00Z\"}]}}");
}

void deployments_write_get(struct cor_buf *out, size_t i, void *arg)
{
    const struct deployments *d = arg;

    if (cor_buf_addf(out, "GET /apis/apps/v1/namespaces/%s/deployments/d-%zu HTTP/1.1\r\n%s\r\n",
                     d->ns, i, common) < 0)
        die("a request does not fit");
}
