#include "pods.h"

#include <string.h>

#include "process.h"
#include "target.h"

#define HEAD                                                                                       \
    " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TARGET_TOKEN                          \
    "\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n%s"
#define COLLECTION "/api/v1/namespaces/" PODS_NS "/pods"
#define NAME       "web-6c7d9f5b8d-%05zu"
#define BODY_MAX   8192

static const char spec[] =
    "{\"containers\":[{\"env\":[{\"name\":\"A\",\"value\":\"b\"}],"
    "\"image\":\"registry.example.com/web:v2\",\"imagePullPolicy\":\"IfNotPresent\",\"name\":\"web\","
    "\"ports\":[{\"containerPort\":8080,\"name\":\"http\",\"protocol\":\"TCP\"}],"
    "\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"128Mi\"},"
    "\"requests\":{\"cpu\":\"100m\",\"memory\":\"64Mi\"}},"
    "\"volumeMounts\":[{\"mountPath\":\"/var/run/secrets/kubernetes.io/serviceaccount\","
    "\"name\":\"access\",\"readOnly\":true}]}],"
    "\"enableServiceLinks\":true,\"nodeName\":\"node-17\",\"priority\":0,"
    "\"tolerations\":[{\"effect\":\"NoExecute\",\"key\":\"node.kubernetes.io/not-ready\","
    "\"operator\":\"Exists\",\"tolerationSeconds\":300}],"
    "\"volumes\":[{\"emptyDir\":{},\"name\":\"access\"}]}";

static const char status[] =
    "{\"status\":{\"conditions\":[{\"lastTransitionTime\":\"2026-11-16T10:00:01Z\","
    "\"status\":\"True\",\"type\":\"Initialized\"},{\"lastTransitionTime\":\"2026-11-16T10:00:05Z\","
    "\"status\":\"True\",\"type\":\"Ready\"}],"
    "\"containerStatuses\":[{\"containerID\":\"containerd://abcdef\","
    "\"image\":\"registry.example.com/web:v2\",\"imageID\":\"\",\"name\":\"web\",\"ready\":true,"
    "\"restartCount\":0,\"started\":true,"
    "\"state\":{\"running\":{\"startedAt\":\"2026-11-16T10:00:04Z\"}}}],"
    "\"hostIP\":\"10.0.0.17\",\"phase\":\"Running\",\"podIP\":\"10.244.3.12\","
    "\"podIPs\":[{\"ip\":\"10.244.3.12\"}],\"startTime\":\"2026-11-16T10:00:00Z\"}}";

void pods_write_create(struct cor_buf *out, size_t i, void *arg)
{
    COR_CLEANUP(cor_buf_deinit) struct cor_buf body;
    int r;

    cor_buf_init(&body, BODY_MAX);
    r = cor_buf_addf(&body,
                     "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"" NAME "\","
                     "\"labels\":{\"app\":\"web\",\"pod-template-hash\":\"6c7d9f5b8d\"},"
                     "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"controller\":true,"
                     "\"kind\":\"ReplicaSet\",\"name\":\"web-6c7d9f5b8d\","
                     "\"uid\":\"0e5e6f3c-9a1b-4b0e-8f0a-0d7f0c1b2a3c\"}]},\"spec\":%s}",
                     i, spec);
    if (r == 0)
        r = cor_buf_addf(out, "POST " COLLECTION HEAD, "application/json", body.n,
                         cor_buf_z(&body));
    if (r < 0)
        die("a pod does not fit");
}

void pods_write_status(struct cor_buf *out, size_t i, void *arg)
{
    if (cor_buf_addf(out, "PATCH " COLLECTION "/" NAME "/status" HEAD, i,
                     "application/merge-patch+json", strlen(status), status) < 0)
        die("a status does not fit");
}
