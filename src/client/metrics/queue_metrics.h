/* The metrics of work queues, with client-go's names.
 * Owner: the caller.  Thread: any (values). */
#ifndef COR_CLIENT_METRICS_QUEUE_METRICS_H
#define COR_CLIENT_METRICS_QUEUE_METRICS_H

#include "base/buf.h"
#include "queue/workqueue_durations.h"

struct cor_queue_figures {
    const char *labels;       /* without braces; borrowed */
    const char *depth_labels; /* those of the depth, which has one more in some programs */
    struct cor_workqueue_stats stats;
    struct cor_workqueue_durations durations;
};

/* Writes every family with the samples of all queues; nothing without queues. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_queue_metrics_write(struct cor_buf *out, const struct cor_queue_figures *figures, size_t n);

#endif
