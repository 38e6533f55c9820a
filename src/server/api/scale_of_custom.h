/* The Scale of a custom resource's object, for calls to its scale subresource.
 * Thread: the thread that has the call (server/api/heavy.h). */
#ifndef COR_SERVER_API_SCALE_OF_CUSTOM_H
#define COR_SERVER_API_SCALE_OF_CUSTOM_H

#include "server/api/call.h"

/* Is the call about the scale of a custom resource? */
bool cor_call_has_custom_scale(const struct cor_call *call);

/* Makes the Scale of `object`, at its revision. A reader gets a failure when the object has no
 * number of replicas; a writer gets a number in its place that no object can have. 0, or a failure
 * in the call's status: 500 with upstream's words, and no memory. */
int cor_call_make_custom_scale(struct cor_call *call, const struct cor_object *object,
                               struct cor_object **ret_scale);

#endif
