/* Objects in another version than the stored one: converted when they are first asked for, and kept
 * while they are likely to be asked for again. A loop delivers an event to all its watchers in
 * turn, so that a few kept objects are enough. Thread: its loop.  Owner: the API's loop. */
#ifndef COR_SERVER_VARIANTS_H
#define COR_SERVER_VARIANTS_H

#include "base/limits.h"
#include "meta/object/object.h"
#include "schema/kinds/resource_row.h"

/* Of an object and its converted form together. Larger ones are not kept. */

struct cor_variant {
    struct cor_object *source, *made;        /* references; NULL: unused */
    const struct cor_resource_row *type;     /* of `made`, a reference */
    const struct cor_conversion *conversion; /* lives as long as the row */
};

struct cor_variants {
    struct cor_variant v[COR_VARIANTS_MAX];
    size_t next; /* the oldest */
};

/* `source`, a stored object, as `type`: a new reference. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_variants_get(struct cor_variants *variants, const struct cor_conversion *conversion,
                     const struct cor_resource_row *type, struct cor_object *source,
                     struct cor_object **ret_object);

/* Drops the variants of custom resources whose definition is retired. */
void cor_variants_drop_retired(struct cor_variants *variants);
void cor_variants_deinit(struct cor_variants *variants); /* safe on a zeroed struct */

#endif
