/* Steps of the schema of a custom resource over an object.
 * Thread: the thread that has the call (pure). */
#ifndef COR_SERVER_WRITE_CUSTOM_REWRITE_H
#define COR_SERVER_WRITE_CUSTOM_REWRITE_H

#include "schema/structural/structural.h"
#include "server/write/write.h"

/* Runs steps of the schema of `row` (enum cor_structural_step) over `*object`, and replaces it if
 * they change something. 0; -COR_EINVAL, of EMBEDDED_REQUEST, is left to the caller: `unknown` says
 * why; COR_WORK_YIELD: the object is more than a loop has time for; another failure is in the
 * status. */
int cor_custom_rewrite(struct cor_write *write, const struct cor_resource_row *row, unsigned steps,
                       struct cor_structural_unknown *unknown, struct cor_object **object);

#endif
