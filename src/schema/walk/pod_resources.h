/* The defaults of a Pod's resources: what containers and the pod as a whole request.
 * Thread: any.  Owner: the draft. */
#ifndef COR_SCHEMA_WALK_POD_RESOURCES_H
#define COR_SCHEMA_WALK_POD_RESOURCES_H

#include "schema/walk/draft.h"

/* `spec` is the opened spec of a Pod, not of a template. A failed allocation sticks to the draft.
 */
void cor_pod_resources_default(struct cor_draft *draft, struct cor_draft_value *spec);

#endif
