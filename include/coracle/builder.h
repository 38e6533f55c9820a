/* Builds a new object, or a changed copy of an existing one, which is not modified. Fields are set
 * and removed by path, and cor_builder_finish() returns an immutable object in canonical form.
 *
 *   cor_builder_new(NULL, &b);
 *   cor_builder_set_text(b, "apiVersion", COR_STR("v1"));
 *   cor_builder_set_text(b, "kind", COR_STR("ConfigMap"));
 *   cor_builder_set_text(b, "metadata.name", COR_STR("settings"));
 *   cor_builder_set_label(b, "app.kubernetes.io/name", COR_STR("web"));
 *   cor_builder_set_text(b, "data['config.json']", text);
 *   r = cor_builder_finish(b, &object, &why);
 *   cor_builder_free(b);
 *
 * The builder remembers the first failure: later calls do nothing and return the same code, and
 * cor_builder_finish() returns it with its message, so that one check at the end is enough.
 * Messages begin with the path. Paths are those of coracle/json_path.h with keys and indexes only;
 * [-1] is the last element. Owner: the program that made it.  Thread: one at a time. */
#ifndef CORACLE_BUILDER_H
#define CORACLE_BUILDER_H

#include <stdbool.h>
#include <stdint.h>

#include "coracle/api.h"
#include "coracle/object.h"
#include "coracle/status.h"
#include "coracle/str.h"
#include "coracle/view.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cor_builder;

/* The maximum of an object's bytes. */
#define COR_BUILDER_BYTES_MAX (8u << 20)

/* Begins with the content of `object`, or with an empty object (NULL). 0, -COR_ENOMEM,
 * -COR_ETOOBIG. */
COR_API int cor_builder_new(const struct cor_object *object, struct cor_builder **ret_builder);
COR_API struct cor_builder *cor_builder_free(struct cor_builder *b); /* NULL is fine */

/* Each returns 0 or the first failure: -COR_EINVAL (a path that cannot be read, or that leads
 * through a value that is neither missing nor null nor of the right kind; a path that leads into a
 * label or an annotation, since its key has dots and is not quoted; text that is not JSON),
 * -COR_ENOTFOUND (no such element of an array), -COR_ETOOBIG, -COR_ENOMEM.
 *
 * Setting a field adds the objects that lead to it where they are missing. */
COR_API int cor_builder_set_text(struct cor_builder *b, const char *path, struct cor_str text);
COR_API int cor_builder_set_int(struct cor_builder *b, const char *path, int64_t value);
COR_API int cor_builder_set_bool(struct cor_builder *b, const char *path, bool value);
COR_API int cor_builder_set_json(struct cor_builder *b, const char *path, struct cor_str json);

/* Appends an element to an array, which is added when it is missing. */
COR_API int cor_builder_append_text(struct cor_builder *b, const char *path, struct cor_str text);
COR_API int cor_builder_append_json(struct cor_builder *b, const char *path, struct cor_str json);

/* Removes a field. It is not a failure when there is no such field. */
COR_API int cor_builder_remove(struct cor_builder *b, const char *path);

/* Set or remove a text in the map at `path`; setting one adds the map when it is missing. `key` is
 * the member's name as it is, and not a path: dots in it have no meaning.
 *
 *   cor_builder_set_text_in(b, "data", "config.json", text); */
COR_API int cor_builder_set_text_in(struct cor_builder *b, const char *path, const char *key,
                                    struct cor_str text);
COR_API int cor_builder_remove_in(struct cor_builder *b, const char *path, const char *key);

/* The same with a JSON value, and with bytes that are written as base64, as a Secret has them:
 *
 *   cor_builder_set_base64_in(b, "data", "tls.key", key); */
COR_API int cor_builder_set_json_in(struct cor_builder *b, const char *path, const char *key,
                                    struct cor_str json);
COR_API int cor_builder_set_base64_in(struct cor_builder *b, const char *path, const char *key,
                                      struct cor_str bytes);

/* The same in metadata.labels and metadata.annotations. */
COR_API int cor_builder_set_label(struct cor_builder *b, const char *key, struct cor_str value);
COR_API int cor_builder_remove_label(struct cor_builder *b, const char *key);
COR_API int cor_builder_set_annotation(struct cor_builder *b, const char *key,
                                       struct cor_str value);
COR_API int cor_builder_remove_annotation(struct cor_builder *b, const char *key);

/* The object as it is now, for reading; valid until the builder is changed or freed. The changes
 * before a failure are visible, the failed change is not. */
COR_API struct cor_view cor_builder_view(const struct cor_builder *b);

/* Returns the object as it is now, with one reference; the builder can be used further. Errors as
 * above, and -COR_EINVAL when it is not a valid object (metadata is not an object). */
COR_API int cor_builder_finish(struct cor_builder *b, struct cor_object **ret_object,
                               struct cor_status *reterr);

#ifdef __cplusplus
}
#endif

#endif
