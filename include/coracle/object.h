/* An API object: an immutable, reference-counted run of JSON. Nothing is decoded: fields are read
 * out of the bytes (coracle/view.h has them all, this header what every object has), and a deep
 * copy is a reference. A changed object is a new one (coracle/builder.h).
 * Thread: any (immutable).  Owner: its references. */
#ifndef CORACLE_OBJECT_H
#define CORACLE_OBJECT_H

#include <stdbool.h>

#include "coracle/api.h"
#include "coracle/status.h"
#include "coracle/str.h"
#include "coracle/view.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_object;

/* From the JSON of one object, such as a server's answer; the bytes are copied. An object has
 * `metadata`, if only as {}. 0, -COR_ENOMEM, -COR_ETOOBIG (1 GB), -COR_EINVAL (not a JSON object,
 * bad UTF-8, nested too deep, metadata not an object, a resourceVersion that is not a number: the
 * message says where). */
COR_API int cor_object_from_json(struct cor_str json, struct cor_object **ret_object,
                                 struct cor_status *reterr);

COR_API struct cor_object *cor_object_ref(struct cor_object *object);   /* returns it */
COR_API struct cor_object *cor_object_unref(struct cor_object *object); /* NULL is fine; returns
                                                                           NULL */

/* All of these are borrowed from the object. */

/* The object's bytes, valid JSON; a NUL that is not counted follows them. */
COR_API struct cor_str cor_object_json(const struct cor_object *object);

/* All of it, for reading any field. */
COR_API struct cor_view cor_object_view(const struct cor_object *object);

/* Empty when absent or not a string. Names and uids need no unescaping; a value that has escapes is
 * returned as written. */
COR_API struct cor_str cor_object_kind(const struct cor_object *object);
COR_API struct cor_str cor_object_api_version(const struct cor_object *object);
COR_API struct cor_str cor_object_name(const struct cor_object *object);
COR_API struct cor_str cor_object_namespace(const struct cor_object *object);
COR_API struct cor_str cor_object_uid(const struct cor_object *object);
COR_API struct cor_str cor_object_resource_version(const struct cor_object *object);

/* metadata.labels as JSON, braces included; empty when absent. */
COR_API struct cor_str cor_object_labels(const struct cor_object *object);

/* Value of one label; false when absent. `key` is compared with the unescaped name. */
COR_API bool cor_object_label(const struct cor_object *object, struct cor_str key,
                              struct cor_str *ret);

/* One annotation, by its key as it is, dots and slashes included; a view of nothing when absent.
 * Annotations are often JSON themselves: cor_view_text() decodes the escapes. */
COR_API struct cor_view cor_object_annotation(const struct cor_object *object, struct cor_str key);

#ifdef __cplusplus
}
#endif

#endif
