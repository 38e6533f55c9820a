/* clang-format off */
/* Inside server/aggregation/: the metrics about the availability of APIServices, with upstream's
 * names and labels:
 *
 *   aggregator_unavailable_apiservice{name}               1: it is judged to be unavailable; else 0
 *   aggregator_unavailable_apiservice_total{name,reason}  how often it has become so
 *
 * What there is no memory for is not shown.
 * Thread: init before the loops start; the others on the first loop, whose shard this is. */
/* clang-format on */
#ifndef COR_SERVER_AVAILABLE_METRICS_H
#define COR_SERVER_AVAILABLE_METRICS_H

#include <stdbool.h>

#include "base/str.h"

struct cor_metric;
struct cor_metrics;

struct cor_available_metrics {
    struct cor_metric *now, *total; /* NULL: nobody asks for them */
};

/* `metrics` NULL: nothing is shown. 0, -COR_ENOMEM. */
int cor_available_metrics_init(struct cor_available_metrics *m, struct cor_metrics *metrics);

/* The APIService was judged. */
void cor_available_metrics_set(const struct cor_available_metrics *m, struct cor_str name,
                               bool is_available);
/* It was available, and is not any more. */
void cor_available_metrics_count(const struct cor_available_metrics *m, struct cor_str name,
                                 const char *reason);
/* There is no such APIService any more: it is not shown. What was counted stays. */
void cor_available_metrics_forget(const struct cor_available_metrics *m, struct cor_str name);

#endif
