/* The fields of its objects that an informer keeps. Other fields use no memory: a cached object is
 * as large as its kept fields, and a lookup of another field finds nothing.
 *
 * metadata.name, metadata.namespace and metadata.resourceVersion are always kept, because the cache
 * needs them. A projection is the transform of an informer, or is applied to single objects.
 * Thread: any (immutable).  Owner: the program that made it; it must outlive the informer. */
#ifndef CORACLE_PROJECTION_H
#define CORACLE_PROJECTION_H

#include <stdbool.h>
#include <stddef.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/status.h"
#include "coracle/str.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_projection;

struct cor_projection_opts {
    size_t size;              /* of this struct: COR_PROJECTION_OPTS sets it (coracle/api.h) */
    bool keep_type;           /* keep kind and apiVersion, too, when there are fields */
    bool keep_labels;         /* keep metadata.labels, too: label selectors need them */
    bool drop_managed_fields; /* without fields: keep everything except metadata.managedFields */
    /* Paths of coracle/json_path.h, keys only: "spec.nodeName", "metadata.labels['a/b']". A path
     * of an object or array keeps all of it. None: everything is kept. */
    const struct cor_str *fields;
    size_t nfields;
};

#define COR_PROJECTION_OPTS .size = sizeof(struct cor_projection_opts)

/* Makes a projection; the paths are copied. 0, -COR_ENOMEM, -COR_EINVAL (a path that cannot be
 * read, or with more than keys: the message names it), -COR_ETOOBIG (more than COR_VIEW_SET_MAX - 6
 * fields). */
COR_API int cor_projection_new(const struct cor_projection_opts *opts,
                               struct cor_projection **ret_projection, struct cor_status *reterr);
COR_API struct cor_projection *cor_projection_free(struct cor_projection *p); /* NULL is fine */

/* Returns a new object with the kept fields, or another reference to `object` when all of its
 * fields are kept. 0 or -COR_ENOMEM. */
COR_API int cor_projection_apply(const struct cor_projection *p, struct cor_object *object,
                                 struct cor_object **ret_object, struct cor_status *reterr);

/* The same as the transform of an informer: `projection` is the transform's argument, and `*object`
 * is replaced. */
COR_API int cor_projection_transform(void *projection, struct cor_object **object,
                                     struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
