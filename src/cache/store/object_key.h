/* The key of an object, for the caches; its public header says what a key is.
 * Thread: any (pure, except for a program's key function). */
#ifndef COR_CACHE_OBJECT_KEY_H
#define COR_CACHE_OBJECT_KEY_H

#include "base/buf.h"
#include "coracle/object_key.h"
#include "meta/object/object.h"

/* Which keys a store uses. Zeroed: "namespace/name". */
struct cor_keyer {
    cor_key_fn fn;
    void *arg;
};

/* Appends "namespace/name". 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (no name). */
int cor_object_key(const struct cor_object *object, struct cor_buf *out);

/* Appends the object's key in the keyer's store. Errors as above, or what its function returned;
 * -COR_EINVAL also for a function that returned no key or one that is too long. */
int cor_keyer_print(const struct cor_keyer *keyer, const struct cor_object *object,
                    struct cor_buf *out);

/* A reference to the object, or to a copy, that carries its key in the keyer's store. Errors as
 * above. */
int cor_keyer_apply(const struct cor_keyer *keyer, struct cor_object *object,
                    struct cor_object **ret_object);

#endif
