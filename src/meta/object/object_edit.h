/* A new object out of the bytes of old ones: members of it and of its metadata are replaced, added
 * or dropped, and the result is canonical again.
 * Thread: any (pure). */
#ifndef COR_META_OBJECT_OBJECT_EDIT_H
#define COR_META_OBJECT_OBJECT_EDIT_H

#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "meta/object/object.h"
#include "json/write/edits.h"

/* `top` without its kind, apiVersion and metadata, of which the first two are given and the third
 * is `metadata` edited: an object in stored form. `metadata` may be from another object. 0,
 * -COR_ENOMEM, -COR_ETOOBIG. */
struct cor_object_edit {
    struct cor_str kind, api_version;
    struct cor_str top, metadata;
    struct cor_edits top_edits, meta_edits;
};
int cor_object_edit(const struct cor_object_edit *edit, struct cor_object **ret_object,
                    struct cor_status *reterr_status);

/* The value of metadata; "{}" when there is none. */
struct cor_str cor_object_metadata(const struct cor_object *object);
/* A member of the object, or of its metadata; empty (p == NULL) when absent or null. */
struct cor_str cor_object_member(const struct cor_object *object, struct cor_str key);
struct cor_str cor_object_meta_member(const struct cor_object *object, struct cor_str key);
/* Several members of the metadata of a sorted form, in one walk; `keys` are in byte order. */
void cor_object_meta_members(const struct cor_object *object, const struct cor_str *keys, size_t n,
                             struct cor_str *ret_values);
/* A number in metadata; `otherwise` when it is not a number. */
int64_t cor_object_meta_int(const struct cor_object *object, struct cor_str key, int64_t otherwise);

/* The generation after that of `object`, as text. It stays at the largest int64, which a client may
 * have set when it created the object: Kubernetes would wrap to a negative number there, and then
 * refuse every update. After a negative one comes 1. `out` has room for COR_GENERATION_TEXT_MAX
 * bytes. */
#define COR_GENERATION_TEXT_MAX 24
struct cor_str cor_object_next_generation(const struct cor_object *object, char *out);

#endif
