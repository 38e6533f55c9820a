/* The families of metrics about the process, with the names that Prometheus' clients use.
 * Thread: any, by the scrape. */
#ifndef COR_SERVER_PROCESS_METRICS_H
#define COR_SERVER_PROCESS_METRICS_H

#include "server/metrics/metrics.h"

/* 0, -COR_ENOMEM. */
int cor_process_metrics_add(struct cor_metrics *metrics);

#endif
