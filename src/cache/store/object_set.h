/* Objects by namespace and name, for what must be gathered before it may be shown: the temporary
 * store of a streamed list. Holds a reference to each.
 * Owner: whoever embeds it.  Thread: one at a time. */
#ifndef COR_CACHE_OBJECT_SET_H
#define COR_CACHE_OBJECT_SET_H

#include <stddef.h>

#include "base/buf.h"
#include "base/map.h"
#include "meta/object/object.h"

struct cor_object_set {
    struct cor_map map; /* "namespace/name", or "name" -> entry */
    struct cor_buf key; /* of the call under way */
};

/* Cannot fail; `max` objects at most. */
void cor_object_set_init(struct cor_object_set *set, size_t max);
void cor_object_set_deinit(struct cor_object_set *set); /* safe on a zeroed struct */

/* Drops all objects and most memory. */
void cor_object_set_clear(struct cor_object_set *set);

static inline size_t cor_object_set_len(const struct cor_object_set *set)
{
    return cor_map_len(&set->map);
}

/* Adds it, or puts it in place of the one with its key. 0, -COR_ENOMEM, -COR_ETOOBIG (the maximum,
 * or the key); unchanged on failure. */
int cor_object_set_put(struct cor_object_set *set, struct cor_object *object);

/* Removes what has the object's key, if anything does. Errors as above. */
int cor_object_set_remove(struct cor_object_set *set, const struct cor_object *object);

/* Calls back for each until one call fails, in no stated order; returns what failed. */
int cor_object_set_each(const struct cor_object_set *set,
                        int (*fn)(void *arg, struct cor_object *object), void *arg);

#endif
