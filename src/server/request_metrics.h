/* The families of numbers about requests, with upstream's names and labels.
 * Owner: the server.  Thread: the shard's loop. */
#ifndef COR_SERVER_REQUEST_METRICS_H
#define COR_SERVER_REQUEST_METRICS_H

#include <stdbool.h>
#include <stdint.h>

#include "server/metrics.h"
#include "server/request_info.h"

struct cor_request_metrics {
    struct cor_metric *total, *duration, *long_running, *terminations, *aborts;
};

/* Adds the families. 0, -COR_ENOMEM. */
int cor_request_metrics_init(struct cor_request_metrics *rm, struct cor_metrics *metrics);

/* A request has been answered with `code`; 0: its client went away first. `method` is the HTTP
 * method, the verb of what is no resource. */
void cor_request_metrics_done(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info, struct cor_str method,
                              bool is_dry_run, int code, uint64_t duration_us);

/* A watch begins (1) or has ended (-1). */
void cor_request_metrics_long(struct cor_request_metrics *rm, size_t shard,
                              const struct cor_request_info *info, int delta);

/* A request was refused in self-defence. */
void cor_request_metrics_refused(struct cor_request_metrics *rm, size_t shard,
                                 const struct cor_request_info *info, struct cor_str method,
                                 int code);

#endif
