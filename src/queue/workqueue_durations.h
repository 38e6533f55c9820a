/* How long keys of a work queue waited and were worked on, as client-go's two histograms count it
 * (workqueue_queue_duration_seconds, workqueue_work_duration_seconds). The sums are in
 * coracle/workqueue.h. Owner: the queue.  Thread: any. */
#ifndef COR_QUEUE_WORKQUEUE_DURATIONS_H
#define COR_QUEUE_WORKQUEUE_DURATIONS_H

#include <stdint.h>

#include "coracle/workqueue.h"

/* Upper bounds of the buckets: 10 ns, 100 ns, … 1000 s. */
#define COR_WORKQUEUE_DECADES 12

/* Not cumulative. The last element of each counts what is above the highest bound. */
struct cor_workqueue_durations {
    uint64_t queued[COR_WORKQUEUE_DECADES + 1]; /* from the first add to get */
    uint64_t worked[COR_WORKQUEUE_DECADES + 1]; /* from get to done */
};

void cor_workqueue_durations(struct cor_workqueue *q, struct cor_workqueue_durations *ret);

#endif
