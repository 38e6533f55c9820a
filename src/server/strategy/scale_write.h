/* Writes to the subresource scale: a Scale becomes the next state of the object that it scales.
 * Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_STRATEGY_SCALE_WRITE_H
#define COR_SERVER_STRATEGY_SCALE_WRITE_H

#include "server/api/call.h"

/* Is the call's subresource a scale? */
static inline bool cor_scale_is_written(const struct cor_call *call)
{
    return call->sub && call->sub->part == COR_PART_SCALE;
}

/* The object `old` (served form) with the replicas of `scale`, as if a client had sent it. 0, or a
 * failure in the call's status: 422 for a number of replicas below zero, and no memory. */
int cor_scale_apply(struct cor_call *call, const struct cor_object *old,
                    const struct cor_object *scale, struct cor_object **ret_object);

#endif
