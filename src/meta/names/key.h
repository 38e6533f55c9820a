/* Where objects live in an engine, as kube-apiserver lays them out:
 *
 *   /registry/ + pods + / + default/ + web
 *   path prefix  resource prefix  namespace  name
 *
 * A *logical* key begins at the resource prefix (`/pods/default/web`), a *physical* key at the path
 * prefix. All functions append to `out`, which is as before on failure; besides the errors they
 * name, all return -COR_ENOMEM and -COR_ETOOBIG.
 * Thread: any (pure). */
#ifndef COR_META_NAMES_KEY_H
#define COR_META_NAMES_KEY_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/status/gvk.h"
#include "meta/status/status.h"

/* `registry`, `/registry` and `/registry/` all give `/registry/`; the empty prefix is `/`. */
int cor_key_path_prefix(struct cor_str prefix, struct cor_buf *out);

/* `/pods`; the group is in it only for custom resources, CRDs and APIServices. */
int cor_key_resource_prefix(const struct cor_gr *gr, bool is_custom, struct cor_buf *out);
/* Would a custom resource of this name have the keys of a built-in one? */
bool cor_key_is_builtin(const struct cor_gr *gr);

/* The logical key of one object, or of all objects of a namespace ("": all of them). The name is
 * checked: -COR_EINVAL with upstream's 400. */
int cor_key_of_object(struct cor_str resource_prefix, bool is_namespaced, struct cor_str ns,
                      struct cor_str name, struct cor_buf *out, struct cor_status *reterr_status);
int cor_key_of_namespace(struct cor_str resource_prefix, struct cor_str ns, struct cor_buf *out);

/* The physical key. `path_prefix` comes from cor_key_path_prefix(). A recursive key ends in a
 * slash, so that `/a` does not match `/ab`. -COR_EINVAL: empty, or with a `.` or `..` segment. */
int cor_key_prepare(struct cor_str path_prefix, struct cor_str key, bool recursive,
                    struct cor_buf *out, struct cor_status *reterr_status);

/* The end of the range [prefix, end) that holds exactly the keys with this prefix. -COR_EINVAL when
 * there is no such key (the prefix is empty or all 0xff). */
int cor_key_range_end(struct cor_str prefix, struct cor_buf *out);

/* Is a path that begins with a slash what Go's path.Clean() would leave? */
bool cor_key_is_clean(struct cor_str path);

#endif
