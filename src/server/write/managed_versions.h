/* A write as the managers of an object see it (schema/apply/field_managers.h): who writes, in which
 * version, through which endpoint.
 * Owner: the stage that runs.  Thread: the thread that has the call. */
#ifndef COR_SERVER_WRITE_MANAGED_VERSIONS_H
#define COR_SERVER_WRITE_MANAGED_VERSIONS_H

#include "base/arena.h"
#include "meta/value/time_text.h"
#include "schema/apply/scale_managers.h"
#include "server/write/write_phases.h"

struct cor_managed {
    const struct cor_managing *write;
    struct cor_arena arena;   /* of all sets */
    struct cor_fieldset mask; /* of the endpoint; the same in all versions */
    bool has_mask;            /* it was read, when it was first needed */
    struct cor_apply_versions versions;
    struct cor_apply_request request;
    /* Of a write to a scale: how its managers are translated, and the managers of the object. */
    struct cor_scale_managers scale;
    struct cor_field_managers parent;
    char time[COR_TIME_TEXT_MAX];
};

/* Fills in all that comes from the request. It must not move, is deinitialised in any case, and
 * borrows `write`. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_managed_init(struct cor_managed *m, const struct cor_managing *write);
void cor_managed_deinit(struct cor_managed *m);

/* Reads a list of managedFields of the object; a write to a scale gets the managers of the scale.
 * Errors as of cor_field_managers_read(). */
int cor_managed_read(struct cor_managed *m, struct cor_str list, struct cor_field_managers *ret,
                     struct cor_buf *words);

/* Sets `managed` of the write to the managers; those of a scale go back into the object's. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_managed_write(struct cor_managed *m, struct cor_field_managers *managers);

/* Appends an object as it is, without managedFields and resourceVersion. 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
int cor_managed_add_bare(const struct cor_object *object, struct cor_buf *out);

/* Appends an object of the hub's version as it is compared: in the version of the request, without
 * managedFields and resourceVersion. 0, or a negative error, perhaps in the call's status. */
int cor_managed_add_object(struct cor_call *call, struct cor_object *object, struct cor_buf *out);

/* Appends the zero object of the kind: what Go writes of an object in which nothing is set. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
int cor_managed_add_zero(const struct cor_call *call, struct cor_buf *out);

#endif
