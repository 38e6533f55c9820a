/* A PodDisruptionBudget as an eviction sees it: whether it selects the pod, and whether a
 * disruption is left to take. Thread: any (pure). */
#ifndef COR_SERVER_DISRUPTION_H
#define COR_SERVER_DISRUPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "meta/object/object.h"
#include "meta/status/status.h"

/* Does the budget select the pod? A selector that cannot be read selects nothing. 0, -COR_ENOMEM.
 */
int cor_disruption_selects(const struct cor_object *budget, const struct cor_object *pod,
                           bool *ret_selects);

/* May a pod that is not ready be evicted without taking a disruption? */
bool cor_disruption_spares_unready(const struct cor_object *budget);

/* The budget (stored form) after the pod named `pod` took a disruption. 0; in `reterr_status`, in
 * upstream's words: -COR_EBUSY (none is left, or the budget is behind), -COR_EFORBIDDEN,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_disruption_take(const struct cor_object *budget, struct cor_str pod, int64_t now_s,
                        struct cor_object **ret_budget, struct cor_status *reterr_status);

/* 429: the budget's status is older than its spec. Returns -COR_EBUSY. */
int cor_disruption_is_behind(struct cor_str budget, struct cor_status *reterr_status);

#endif
