/* The name of an object in a cache and in work queues: "namespace/name", or "name" without a
 * namespace; client-go's MetaNamespaceKeyFunc and SplitMetaNamespaceKey. Equal for an object and
 * the one that is created in its place: uids do not count. Thread: any (pure). */
#ifndef CORACLE_OBJECT_KEY_H
#define CORACLE_OBJECT_KEY_H

#include <stddef.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Longer ones are not cached. Kubernetes' longest valid names and namespaces make 317 bytes. */
#define COR_OBJECT_KEY_MAX 4096

/* A key function of the program's own: writes the key of an object, 1 to COR_OBJECT_KEY_MAX bytes
 * without a NUL, to `to`, and returns its length. A negative return refuses the object, and the
 * call that needed the key returns it. The key of an object must not change while it is in a store.
 * Called with the store's lock held: it must not call the store. */
typedef int (*cor_key_fn)(void *arg, const struct cor_object *object, char *to);

/* Both are borrowed from `key`; `ret_ns` is empty when there is none. Keys are split at their one
 * slash: "/x" is the name x, and the empty key an empty name. 0, or -COR_EINVAL (two slashes). */
COR_API int cor_object_key_split(struct cor_str key, struct cor_str *ret_ns,
                                 struct cor_str *ret_name);

/* Writes the key to `to`, cut to `cap` bytes with its NUL. Returns its whole length. */
COR_API size_t cor_object_key_join(struct cor_str ns, struct cor_str name, char *to, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
