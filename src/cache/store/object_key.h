/* The key of an object, for the caches; what a key is stands in its public header.
 * Thread: any (pure). */
#ifndef COR_CACHE_OBJECT_KEY_H
#define COR_CACHE_OBJECT_KEY_H

#include "base/buf.h"
#include "coracle/object_key.h"
#include "meta/object.h"

/* Appends. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (no name). */
int cor_object_key(const struct cor_object *object, struct cor_buf *out);

#endif
