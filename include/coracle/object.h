/* An API object: immutable bytes, JSON or protobuf, with a reference count. The object is not
 * decoded; functions read fields in its bytes. This header has the fields that every object has,
 * coracle/view.h reads any other. To copy an object, take a reference; to change it, build a new
 * one (coracle/builder.h). Thread: any (immutable).  Owner: whoever holds a reference. */
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

/* Makes an object from its JSON, such as a server's answer; the bytes are copied. An object always
 * has `metadata`: an empty one is added when it is missing. 0, -COR_ENOMEM, -COR_ETOOBIG (1 GB),
 * -COR_EINVAL (not a JSON object, bad UTF-8, nested too deep, metadata not an object, a
 * resourceVersion that is not a number: the message says where). */
COR_API int cor_object_from_json(struct cor_str json, struct cor_object **ret_object,
                                 struct cor_status *reterr);

COR_API struct cor_object *cor_object_ref(struct cor_object *object);   /* returns it */
COR_API struct cor_object *cor_object_unref(struct cor_object *object); /* NULL is fine; returns
                                                                           NULL */

/* The functions below return what they read as borrowed from the object. */

/* The object's bytes, which are valid JSON, followed by a NUL that is not counted. Of an object
 * that a typed informer received as protobuf the JSON is made by the first call and kept with the
 * object; it is empty when there is no memory for that, and so is the view below. */
COR_API struct cor_str cor_object_json(const struct cor_object *object);

/* Is the object kept as protobuf? */
COR_API bool cor_object_is_protobuf(const struct cor_object *object);

/* Makes that JSON if it is not there yet. 0, or -COR_ENOMEM; after 0 the two functions cannot fail
 * for this object. */
COR_API int cor_object_make_json(const struct cor_object *object);

/* The whole object, to read any of its fields. */
COR_API struct cor_view cor_object_view(const struct cor_object *object);

/* Empty when the field is absent or not a string. Valid names and uids contain no escapes; a value
 * with escapes is returned as it is written. */
COR_API struct cor_str cor_object_kind(const struct cor_object *object);
COR_API struct cor_str cor_object_api_version(const struct cor_object *object);
COR_API struct cor_str cor_object_name(const struct cor_object *object);
COR_API struct cor_str cor_object_namespace(const struct cor_object *object);
COR_API struct cor_str cor_object_uid(const struct cor_object *object);
COR_API struct cor_str cor_object_resource_version(const struct cor_object *object);

/* metadata.labels as JSON, braces included; empty when absent. */
COR_API struct cor_str cor_object_labels(const struct cor_object *object);

/* The value of one label; false when it is absent. `key` is compared with the unescaped name. */
COR_API bool cor_object_label(const struct cor_object *object, struct cor_str key,
                              struct cor_str *ret);

/* The value of one annotation, as a view; a view of nothing when it is absent. `key` is the whole
 * key, with its dots and slashes. Annotations often contain JSON: cor_view_text() decodes the
 * escapes. */
COR_API struct cor_view cor_object_annotation(const struct cor_object *object, struct cor_str key);

#ifdef __cplusplus
}
#endif

#endif
