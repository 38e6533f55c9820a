/* What namespaces mean for the objects in them.
 * Thread: the call's loop. */
#ifndef COR_SERVER_NAMESPACES_H
#define COR_SERVER_NAMESPACES_H

#include "server/api/call.h"

/* Is this the resource of namespaces itself? */
bool cor_is_namespaces(const struct cor_resource_row *resource);

/* May `name` be deleted? The cluster's own namespaces may not. */
bool cor_namespace_is_immortal(struct cor_str name);

/* Looks whether `name` (which lives as long as the call) may be created in the call's namespace,
 * and calls `then` (never when the reader went). `err` < 0: no, and the call's status says why.
 * Cannot fail at once. */
void cor_namespace_check(struct cor_call *call, struct cor_str name,
                         void (*then)(struct cor_call *call, int err));

#endif
