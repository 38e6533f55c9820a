/* Writes to a subresource that change one part of the object only: scale, ephemeralcontainers,
 * resize and approval. Metadata stays as it is. Thread: the thread that has the call
 * (server/api/heavy.h). */
#ifndef COR_SERVER_PARTS_H
#define COR_SERVER_PARTS_H

#include "server/api/call.h"

/* Is the call's subresource one of these? */
bool cor_part_is_written(const struct cor_call *call);

/* The next state of `old` (served form) when a client sends `body`, an object of the call's type.
 * Only when cor_part_is_written(). 0, or a failure in the call's status. */
int cor_part_update(struct cor_call *call, const struct cor_object *old,
                    const struct cor_object *body, struct cor_object **ret_object);

#endif
