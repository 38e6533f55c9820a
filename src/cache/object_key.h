/* The name of an object in a cache: "namespace/name", or "name" without a namespace. Equal for an
 * object and the one that is created in its place: uids do not count.
 * Thread: any (pure). */
#ifndef COR_CACHE_OBJECT_KEY_H
#define COR_CACHE_OBJECT_KEY_H

#include "base/buf.h"
#include "base/str.h"
#include "meta/object.h"

/* Upstream's longest valid names and namespaces make 317 bytes. */
#define COR_OBJECT_KEY_MAX 4096

/* Appends. 0, -COR_ENOMEM, -COR_ETOOBIG, -COR_EINVAL (no name). */
int cor_object_key(const struct cor_object *object, struct cor_buf *out);

/* Both are borrowed from `key`; `ret_ns` is empty when there is none. Keys are split at their one
 * slash: "/x" is the name x, and the empty key an empty name. 0, or -COR_EINVAL (two slashes). */
int cor_object_key_split(struct cor_str key, struct cor_str *ret_ns, struct cor_str *ret_name);

#endif
