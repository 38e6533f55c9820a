/* The numbers of work queues as families of metrics, with client-go's names and words: one list for
 * the server's metrics and the library's. The two histograms are not in it: a queue of the server
 * keeps sums only.
 * Thread: any (const). */
#ifndef COR_QUEUE_WORKQUEUE_FAMILIES_H
#define COR_QUEUE_WORKQUEUE_FAMILIES_H

#include <stdint.h>

#include "coracle/workqueue.h"

#define COR_WORKQUEUE_US 1000000 /* of a second */

/* X(member of struct cor_workqueue_stats, name, help, GAUGE or COUNTER, units of a second or 1).
 * The first is the depth. */
#define COR_WORKQUEUE_FAMILIES(X)                                                                  \
    X(depth, "workqueue_depth", "Current depth of workqueue", GAUGE, 1)                            \
    X(adds, "workqueue_adds_total", "Total number of adds handled by workqueue", COUNTER, 1)       \
    X(retries, "workqueue_retries_total", "Total number of retries handled by workqueue", COUNTER, \
      1)                                                                                           \
    X(unfinished_us, "workqueue_unfinished_work_seconds",                                          \
      "How many seconds of work has done that is in progress and hasn't been observed by "         \
      "work_duration. Large values indicate stuck threads. One can deduce the number of stuck "    \
      "threads by observing the rate at which this increases.",                                    \
      GAUGE, COR_WORKQUEUE_US)                                                                     \
    X(longest_run_us, "workqueue_longest_running_processor_seconds",                               \
      "How many seconds has the longest running processor for workqueue been running.", GAUGE,     \
      COR_WORKQUEUE_US)

/* Defines the function that reads a member. */
#define COR_WORKQUEUE_READ(member, name, help, type, scale)                                        \
    static uint64_t read_##member(const struct cor_workqueue_stats *stats)                         \
    {                                                                                              \
        return stats->member;                                                                      \
    }

#endif
