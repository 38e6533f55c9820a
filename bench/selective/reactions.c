#include "reactions.h"

#include <stdio.h>
#include <string.h>

#include "asker.h"
#include "measure.h"
#include "process.h"

#define QUOTAS     20
#define PODS       15 /* of the namespace of a quota */
#define OWNERS     20
#define DEPENDENTS 5
#define UID_MAX    64
#define PATH_BYTES 256
#define BODY_BYTES 1024
#define PAUSE_NS   20000000
#define WAIT_MS    120000
#define FAMILY     "/api/v1/namespaces/family"

static const char spec[] = "\"spec\":{\"containers\":[{\"name\":\"main\",\"image\":\"i\"}]}";

/* Asks for `path` until the answer shows `text` so many times. */
static void wait_for(struct asker *a, const char *path, const char *text, size_t times)
{
    uint64_t began = measure_now_ns();

    for (;;) {
        size_t n = 0;

        asker_must(a, "GET", path, "");
        for (const char *at = cor_buf_z(&a->body); (at = strstr(at, text)); at += strlen(text))
            n++;
        if (n == times)
            return;
        if (measure_now_ns() - began > WAIT_MS * UINT64_C(1000000))
            die("%s does not show %s", path, text);
        asker_pause(PAUSE_NS);
    }
}

static void make_namespace(struct asker *a, const char *name)
{
    char body[BODY_BYTES];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", name);
    asker_must(a, "POST", "/api/v1/namespaces", body);
}

static void send_quota(struct asker *a, const char *method, const char *path, size_t pods)
{
    char body[BODY_BYTES];

    snprintf(body, sizeof(body),
             "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"hard\":{\"pods\":\"%zu\"}}}", pods);
    asker_must(a, method, path, body);
}

static void make_quota(struct asker *a, size_t i)
{
    char name[32], path[PATH_BYTES], body[BODY_BYTES];

    snprintf(name, sizeof(name), "quota%zu", i);
    make_namespace(a, name);
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/pods", name);
    for (size_t pod = 0; pod < PODS; pod++) {
        snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"p%zu\"},%s}", pod, spec);
        asker_must(a, "POST", path, body);
    }
    snprintf(path, sizeof(path), "/api/v1/namespaces/%s/resourcequotas", name);
    send_quota(a, "POST", path, 1);
}

void reactions_make(const struct target *t)
{
    struct asker a;

    asker_open(&a, t);
    make_namespace(&a, "family");
    for (size_t i = 0; i < QUOTAS; i++)
        make_quota(&a, i);
    asker_close(&a);
}

double reactions_count(const struct target *t)
{
    static size_t pods = 100; /* another limit each time */
    char path[PATH_BYTES], status[BODY_BYTES];
    struct asker a;
    uint64_t cpu;

    asker_open(&a, t);
    asker_must(&a, "GET", FAMILY, ""); /* connects */
    (void)asker_memory_at_rest(t);
    pods++;
    snprintf(status, sizeof(status),
             "\"status\":{\"hard\":{\"pods\":\"%zu\"},\"used\":{\"pods\":\"%d\"}}", pods, PODS);
    cpu = target_cpu_ns(t);
    for (size_t i = 0; i < QUOTAS; i++) {
        snprintf(path, sizeof(path), "/api/v1/namespaces/quota%zu/resourcequotas/q", i);
        send_quota(&a, "PUT", path, pods);
    }
    wait_for(&a, "/api/v1/resourcequotas", status, QUOTAS);
    cpu = target_cpu_ns(t) - cpu;
    asker_close(&a);
    return (double)cpu / 1e3 / QUOTAS;
}

static void make_family(struct asker *a, size_t i)
{
    char uid[UID_MAX], body[BODY_BYTES];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"owner%zu\"}}", i);
    asker_must(a, "POST", FAMILY "/configmaps", body);
    asker_uid(a, uid, sizeof(uid));
    for (size_t pod = 0; pod < DEPENDENTS; pod++) {
        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"p%zu-%zu\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
                 "\"kind\":\"ConfigMap\",\"name\":\"owner%zu\",\"uid\":\"%s\"}]},%s}",
                 i, pod, i, uid, spec);
        asker_must(a, "POST", FAMILY "/pods", body);
    }
}

double reactions_collect(const struct target *t)
{
    char path[PATH_BYTES];
    struct asker a;
    uint64_t cpu;

    asker_open(&a, t);
    for (size_t i = 0; i < OWNERS; i++)
        make_family(&a, i);
    (void)asker_memory_at_rest(t);
    cpu = target_cpu_ns(t);
    for (size_t i = 0; i < OWNERS; i++) {
        snprintf(path, sizeof(path), FAMILY "/configmaps/owner%zu", i);
        asker_must(&a, "DELETE", path, "{\"propagationPolicy\":\"Background\"}");
    }
    wait_for(&a, FAMILY "/pods?limit=1", "\"items\":[]", 1);
    cpu = target_cpu_ns(t) - cpu;
    asker_close(&a);
    return (double)cpu / 1e3 / OWNERS;
}
