/* Pods as a cluster has them: one container, tolerations, conditions, the state of the container;
 * 4 KB of JSON, of which the server's managedFields are nearly half. Functions for struct requests.
 * Thread: any (pure). */
#ifndef COR_BENCH_PODS_H
#define COR_BENCH_PODS_H

#include <stddef.h>

#include "base/buf.h"

#define PODS_NS "pods"

/* Creates the i-th pod, and gives it its status. `arg` is not used. */
void pods_write_create(struct cor_buf *out, size_t i, void *arg);
void pods_write_status(struct cor_buf *out, size_t i, void *arg);

#endif
