/* Prometheus' text form (version 0.0.4), as metrics are written in it.
 * Owner: of the buffer, the caller.  Thread: any (values). Each returns 0, -COR_ENOMEM or
 * -COR_ETOOBIG. */
#ifndef COR_CLIENT_METRICS_PROMETHEUS_H
#define COR_CLIENT_METRICS_PROMETHEUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* The two lines before the samples of a family. */
int cor_prometheus_head(struct cor_buf *out, const char *name, const char *type, const char *help);

/* `text` as the value of a label, quotes included. */
int cor_prometheus_label(struct cor_buf *out, const char *text);

/* Seconds, and the end of the line. */
int cor_prometheus_seconds(struct cor_buf *out, uint64_t us);

struct cor_prometheus_histogram {
    const char *name;
    const char *labels; /* without braces */
    /* How many values were up to each bound and above the one before it; the last count is of the
     * values above all bounds. */
    const uint64_t *counts;
    size_t nbounds;
    uint64_t sum_us;
    int (*bound)(struct cor_buf *out, size_t i); /* prints a bound, in seconds */
};

/* The samples of one histogram. */
int cor_prometheus_histogram(struct cor_buf *out, const struct cor_prometheus_histogram *h);

#endif
