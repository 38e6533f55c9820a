/* The key of an object in caches and work queues: "namespace/name", or "name" without a namespace;
 * client-go's MetaNamespaceKeyFunc and SplitMetaNamespaceKey. An object that is deleted and created
 * again has the same key: the uid is not a part of it. Thread: any (pure). */
#ifndef CORACLE_OBJECT_KEY_H
#define CORACLE_OBJECT_KEY_H

#include <stddef.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Objects with a longer key are not cached. The longest valid key of Kubernetes has 317 bytes. */
#define COR_OBJECT_KEY_MAX 4096

/* A key function of the program: writes the key of an object, 1 to COR_OBJECT_KEY_MAX bytes without
 * a NUL, to `to`, and returns its length. A negative return refuses the object, and the call that
 * needed the key returns it. The key of an object must not change while it is in a store. Called
 * with the store's lock held: it must not call the store. */
typedef int (*cor_key_fn)(void *arg, const struct cor_object *object, char *to);

/* Splits a key at its slash. Both results are borrowed from `key`; `ret_ns` is empty when there is
 * no namespace. "/x" is the name x, and the empty key is an empty name. 0, or -COR_EINVAL (two
 * slashes). */
COR_API int cor_object_key_split(struct cor_str key, struct cor_str *ret_ns,
                                 struct cor_str *ret_name);

/* Writes the key to `to`, truncated to `cap` bytes with its NUL. Returns the length of the whole
 * key. */
COR_API size_t cor_object_key_join(struct cor_str ns, struct cor_str name, char *to, size_t cap);

#ifdef __cplusplus
}
#endif

#endif
