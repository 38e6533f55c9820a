/* Steps of the schema of a custom resource over an object.
 * Thread: the thread that has the call (pure). */
#ifndef COR_SERVER_WRITE_CUSTOM_REWRITE_H
#define COR_SERVER_WRITE_CUSTOM_REWRITE_H

#include "schema/structural/structural.h"
#include "server/api/heavy.h"

struct cor_custom_steps {
    const struct cor_resource_row *row;     /* whose schema it is */
    unsigned steps;                         /* enum cor_structural_step */
    struct cor_structural_unknown *unknown; /* gets what was dropped; NULL: nobody asks */
    /* Set when the object is left without defaults, which would make it too large; NULL: such an
     * object is refused. */
    bool *ret_lacks_defaults;
};

/* Runs the steps over `*object`, and replaces it if they change something. 0; -COR_EINVAL, of
 * EMBEDDED_REQUEST, is left to the caller: `unknown` says why; COR_WORK_YIELD: the object is more
 * than a loop has time for; another failure is in the status. */
int cor_custom_rewrite(struct cor_call *call, struct cor_work *work,
                       const struct cor_custom_steps *steps, struct cor_object **object);

#endif
