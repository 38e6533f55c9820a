/* The quality of service class of a Pod. Thread: any (pure). */
#ifndef COR_SCHEMA_POD_QOS_H
#define COR_SCHEMA_POD_QOS_H

#include "base/str.h"

/* "Guaranteed", "Burstable" or "BestEffort", of a canonical spec with its defaults. 0,
 * -COR_ENOMEM. */
int cor_pod_qos(struct cor_str spec, const char **ret_class);

#endif
