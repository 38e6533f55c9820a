/* The requests of ./dev bench types: Pods with forty fields set, and ConfigMaps of as many bytes.
 * Each function is a `write` of struct requests; `arg` is a struct pods. Thread: the client's. */
#ifndef COR_BENCH_PODS_H
#define COR_BENCH_PODS_H

#include <stddef.h>

#include "base/buf.h"

#define PODS_PROTOBUF "application/vnd.kubernetes.protobuf"
#define PODS_TABLE    "application/json;as=Table;v=v1;g=meta.k8s.io"

struct pods {
    const char *ns, *prefix; /* an object is called PREFIX-I */
    const char *accept;      /* of a list; NULL: JSON */
    size_t limit;            /* of a list; 0: none */
};

void pods_write_create(struct cor_buf *out, size_t i, void *arg);

/* A ConfigMap whose data is as long as the Pod's JSON. */
void pods_write_config_map(struct cor_buf *out, size_t i, void *arg);

/* A Service with one port, whose address the server chooses. */
void pods_write_service(struct cor_buf *out, size_t i, void *arg);
/* A strategic merge patch of a container's image and an annotation. */
void pods_write_patch(struct cor_buf *out, size_t i, void *arg);

/* GET of all Pods of the namespace, or of the first one. */
void pods_write_list(struct cor_buf *out, size_t i, void *arg);
void pods_write_get(struct cor_buf *out, size_t i, void *arg);

#endif
