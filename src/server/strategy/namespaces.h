/* What namespaces mean for the objects in them.
 * Thread: any (pure). */
#ifndef COR_SERVER_NAMESPACES_H
#define COR_SERVER_NAMESPACES_H

#include "schema/resource_row.h"

/* Is this the resource of namespaces itself? */
bool cor_is_namespaces(const struct cor_resource_row *resource);

/* Is this one of the cluster's own namespaces, which may not be deleted? */
bool cor_namespace_is_immortal(struct cor_str name);

#endif
