/* The requests of ./dev bench apply: Deployments with forty fields set. Each function is a `write`
 * of struct requests; `arg` is a struct deployments. Thread: the client's. */
#ifndef COR_BENCH_DEPLOYMENTS_H
#define COR_BENCH_DEPLOYMENTS_H

#include <stddef.h>

#include "base/buf.h"

struct deployments {
    const char *ns;
    size_t first; /* added to the number of a request */
    size_t turn;  /* the tag of the image: another turn changes one field */
};

/* Created and replaced as a whole, by a client called "bench". */
void deployments_write_create(struct cor_buf *out, size_t i, void *arg);
void deployments_write_update(struct cor_buf *out, size_t i, void *arg);

/* The same fields as a configuration, applied by "deployer". */
void deployments_write_apply(struct cor_buf *out, size_t i, void *arg);

/* What a controller writes: a merge patch of the status, by "controller". */
void deployments_write_status(struct cor_buf *out, size_t i, void *arg);

/* GET of the first one. */
void deployments_write_get(struct cor_buf *out, size_t i, void *arg);

#endif
