/* What a new Pod's status follows from. Thread: any (pure). */
#ifndef COR_SCHEMA_POD_QOS_H
#define COR_SCHEMA_POD_QOS_H

#include <stdbool.h>

#include "base/str.h"

struct cor_pod_look {
    const char *qos_class; /* "Guaranteed", "Burstable" or "BestEffort" */
    bool is_gated;         /* it has scheduling gates */
};

/* Looks through a canonical spec that has its defaults, in one pass. 0, -COR_ENOMEM. */
int cor_pod_look(struct cor_str spec, struct cor_pod_look *ret_look);

#endif
