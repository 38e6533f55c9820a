/* What namespaces mean for the objects in them.
 * Thread: the call's loop. */
#ifndef COR_SERVER_NAMESPACES_H
#define COR_SERVER_NAMESPACES_H

#include "server/api/call.h"

/* Is this the resource of namespaces itself? */
bool cor_is_namespaces(const struct cor_resource_row *resource);

/* Is this one of the cluster's own namespaces, which may not be deleted? */
bool cor_namespace_is_immortal(struct cor_str name);

/* Checks whether an object called `name` (a string that lives as long as the call) may be created
 * in the call's namespace, and calls `then`, now or later, but not when the reader has gone
 * meanwhile. `err` < 0: it may not, and the call's status says why. */
void cor_namespace_check(struct cor_call *call, struct cor_str name,
                         void (*then)(struct cor_call *call, int err));

#endif
