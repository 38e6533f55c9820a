/* Objects in another form than the stored one: made on first demand, and kept for as long as they
 * are likely to be asked for again. All watchers of a loop are given an event in turn, so that a
 * few are enough.
 * Thread: its loop.  Owner: the API's loop. */
#ifndef COR_SERVER_VARIANTS_H
#define COR_SERVER_VARIANTS_H

#include "meta/object.h"
#include "schema/resource_row.h"

#define COR_VARIANTS_MAX 16
/* Of an object and what was made of it, which are kept together. Larger ones are made each time. */
#define COR_VARIANT_BYTES_MAX (128u * 1024)

struct cor_variant {
    struct cor_object *source, *made; /* references; NULL: unused */
    const struct cor_conversion *conversion;
};

struct cor_variants {
    struct cor_variant v[COR_VARIANTS_MAX];
    size_t next; /* the oldest */
};

/* `source`, a stored object, as `type`: a new reference. 0, -COR_ENOMEM, -COR_ETOOBIG. */
int cor_variants_get(struct cor_variants *variants, const struct cor_conversion *conversion,
                     const struct cor_resource_row *type, struct cor_object *source,
                     struct cor_object **ret_object);

void cor_variants_deinit(struct cor_variants *variants); /* safe on a zeroed struct */

#endif
