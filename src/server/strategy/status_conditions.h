/* The conditions in an object's status: a list with one entry per type.
 * Thread: any (pure). */
#ifndef COR_SERVER_STRATEGY_STATUS_CONDITIONS_H
#define COR_SERVER_STRATEGY_STATUS_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

struct cor_condition {
    const char *type, *status;
    const char *reason, *message; /* NULL: none */
    int64_t observed_generation;  /* 0: none */
    bool is_probed;               /* a pod's: it has a lastProbeTime, which is null */
};

/* Appends the canonical list `conditions` (p == NULL: none) to `out`, with `condition` in place of
 * the entry of the same type, or at the end. lastTransitionTime stays when the status is unchanged.
 * 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_condition_set(struct cor_str conditions, const struct cor_condition *condition,
                      int64_t now_s, struct cor_buf *out);

/* Appends the canonical status of an object (p == NULL: none) with `condition` among its
 * conditions. Results as of cor_condition_set(). */
int cor_condition_set_in(struct cor_str status, const struct cor_condition *condition,
                         int64_t now_s, struct cor_buf *out);

/* The status of the condition of this type as JSON; p == NULL: there is none. */
struct cor_str cor_condition_status(struct cor_str conditions, const char *type);

#endif
