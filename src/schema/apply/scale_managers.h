/* The managers of an object as its scale has them, and the way back. A write to the scale is judged
 * like a write to any other object, on a Scale and on the managers who own its replicas; this
 * translates them.
 * Thread: one at a time for an arena.  Owner: the caller; the results borrow from the parent's
 * managers and from the arena. */
#ifndef COR_SCHEMA_APPLY_SCALE_MANAGERS_H
#define COR_SCHEMA_APPLY_SCALE_MANAGERS_H

#include "schema/apply/field_managers.h"

struct cor_scale_managers {
    struct cor_arena *arena;
    struct cor_str parent_version;     /* of the object that is scaled, in the request */
    struct cor_str scale_version;      /* autoscaling/v1 */
    struct cor_fieldset parent_fields; /* the path of the number of replicas in the object */
    struct cor_fieldset scale_fields;  /* and in the scale */
};

/* The managers who own the replicas of the object. Each owns the replicas of the scale, in the
 * scale's version. 0 or the arena's error. */
int cor_scale_managers_show(const struct cor_scale_managers *scale,
                            const struct cor_field_managers *parent,
                            struct cor_field_managers *ret_scale);

/* The managers of the object after a write to its scale has made `after` of the managers that
 * cor_scale_managers_show() gave. 0 or the arena's error. */
int cor_scale_managers_return(const struct cor_scale_managers *scale,
                              const struct cor_field_managers *parent,
                              const struct cor_field_managers *after,
                              struct cor_field_managers *ret_parent);

#endif
